"""The sentences of histograms of series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.of_release import weak
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import pairs_text
from puffer_frames.papers.catalogue import EXACT_COUNT, NEIGHBOURS, WASSERSTEIN
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.markov import ChainBox
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import Population
from puffer_frames.scales.series_counts import ReleasedCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFacts:
    """What the sentences of a histogram depend on."""

    rows: SeriesRows
    choice: Choice
    released: ReleasedCounts
    target: Target
    noise: NoiseFamily
    chains: Sequence[Chain]
    """None for any dependence."""
    networks: Sequence[BayesianNetwork]
    """In the place of chains."""
    estimated: bool
    """Whether the chain was estimated."""
    population: Population | None
    """Set where the chains are all those that the series do not refute."""
    start_estimated: bool
    """Whether the law of the first state was."""
    counts: bool
    """Whether counts or sums are released, not frequencies or means."""
    query: str
    """Counts, or the sum or mean of states that are numbers."""
    states_read: bool
    """Whether the list of states is that of the table."""
    impossible: bool
    """Whether what is believed does not allow what the series are."""
    both: bool
    """Whether the pooled histogram and those of the units are."""
    nulls: str
    seeded: bool
    """Whether the noise came from a seed."""

    @property
    def pairs(self) -> tuple[tuple[Secret, Secret], ...]:
        """The listed pairs of states; none for all."""
        return tuple((self.rows.states[a], self.rows.states[b]) for a, b in self.released.pairs)

    @property
    def covered(self) -> tuple[Secret, ...]:
        """The states of these pairs, or all."""
        named = {state for pair in self.pairs for state in pair}
        return tuple(state for state in self.rows.states if not named or state in named)

    @property
    def kind(self) -> str:
        """What the rows are, in a word."""
        return "network" if self.networks else "series"

    @property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        return Facts(seeded=self.seeded, dropped=self.nulls == "drop")


def series_subject(facts: SeriesFacts, state: str, /, *, unit: str | None) -> str:
    """What of a series, or of the nodes of a network, is protected."""
    if facts.networks:
        pairs = pairs_text(facts.pairs) if facts.pairs else "every pair of states"
        return f"the {state} of each {unit}, {pairs}"
    where = "" if unit is None else f" of each {unit}"
    return f"the {state} at each time{where}, every pair of states"


def series_statements(facts: SeriesFacts, /) -> tuple[Statement, ...]:
    """What the guarantee of a histogram rests on and leaves out."""
    parts = (_assumed, _counted, _composition, _left_out)
    return tuple(statement for part in parts for statement in part(facts))


def _assumed(facts: SeriesFacts) -> Iterator[Statement]:
    if facts.stated.seeded:
        yield say("warning-seed")
    if facts.networks:
        yield say("network", nodes=len(facts.networks[0]))
        if isinstance(facts.networks, NetworkRange):
            yield say("range-of-networks")
        elif len(facts.networks) > 1:
            yield say("several-networks", networks=len(facts.networks))
        yield say("nodes-public")
        return
    if facts.chains:
        given = "estimated" if facts.start_estimated else "given"
        starts = dict.fromkeys(chain.initial if isinstance(chain.initial, str) else given for chain in facts.chains)
        yield say("chain", start=" or ".join(starts), law=_law(facts))
        if facts.population is not None:
            yield say("one-matrix")
            yield say("population-chain", confidence=f"{100 * facts.population.confidence:.6g}")
        if len(facts.chains) > 1:
            yield say("several-chains", chains=len(facts.chains))
        no_pieces = facts.choice.theorem in (EXACT_COUNT, WASSERSTEIN, NEIGHBOURS)
        started = any(not isinstance(chain.initial, str) for chain in facts.chains)
        yield _gaps(facts.rows, only_bridged=started or no_pieces)
    else:
        yield say("any-dependence")
        if not facts.rows.bridged and (facts.rows.skipped > 0).any():
            yield _gaps(facts.rows, only_bridged=False)
    yield say("series-public")
    if facts.states_read:
        yield say("states-read")


def _law(facts: SeriesFacts) -> str:
    if facts.population is not None:
        return facts.population.words
    return "estimated from the table" if facts.estimated else "given"


def _counted(facts: SeriesFacts) -> Iterator[Statement]:
    released = facts.released
    yield from weak(facts.target, {}, rows=0)
    if released.several and not released.derived:
        how = ": one count less, another one more"
        yield say("lipschitz", what="the counts of a histogram together", most=released.lipschitz, how=how)
        if facts.noise.unproved_counts:
            yield say("stable-counts")
    elif released.reach:
        how = ": the largest state less the smallest"
        yield say("lipschitz", what="the sum that gets noise", most=released.lipschitz, how=how)
    else:
        yield say("lipschitz", what="the count that gets noise", most=released.lipschitz, how="")
    if released.derived:
        yield say("derived-count")
    if facts.both:
        answers = f"The pooled {'sum' if released.reach else 'histogram'} and those of the units"
        yield say("shared", answers=answers, deltas=" and delta" * (facts.target.delta > 0))
    if "group noise" in facts.choice.remarks:
        yield say(
            "group-noise",
            some="nodes" if facts.networks else "series",
            all="the network" if facts.networks else "such a series",
        )


def _composition(facts: SeriesFacts) -> Iterator[Statement]:
    chains = len(facts.chains)
    if facts.choice.adds_up:
        several = chains > 1 or facts.population is not None
        under = " under the same chains" if several else " under the same chain" if chains else ""
        if facts.networks:
            under = " under the same network" + "s" * (len(facts.networks) > 1)
        yield say("adds-up-series", rows=facts.kind, under=under, deltas=" and deltas" * (facts.target.delta > 0))
    else:
        yield say("one-release", what="this histogram", rows=facts.kind, whose="the other states")
    yield say("other-answers", rows=facts.kind)
    yield say("per-node") if facts.networks else say("per-time")


def _left_out(facts: SeriesFacts) -> Iterator[Statement]:
    if facts.chains and (facts.estimated or facts.start_estimated or facts.population is not None):
        yield say("learned")
    if facts.population is not None:
        yield say("one-confidence")
    if facts.impossible:
        yield say("impossible-table", laws=f"{'network' if facts.networks else 'chain'} makes")
    if any(map(_leaves_out_states, facts.chains)):
        yield say("impossible-starts")
    if facts.released.pairs:
        yield say("listed-states")
    if any(not network.joint([k]).all() for network in facts.networks for k in range(len(network))):
        yield say("impossible-states")
    if facts.nulls == "drop":
        yield say("nulls", entry="state")
    if not facts.counts:
        yield say("frequencies" if facts.query == "counts" else "mean-of-series")
    yield say("grid", grid=facts.noise.on_grid)


def _leaves_out_states(chain: Chain) -> bool:
    """Whether a given start makes a state impossible at some time."""
    if isinstance(chain, ChainBox):
        return False
    return not isinstance(chain.initial, str) and not (chain.initial.all() and chain.transition.any(axis=0).all())


def _gaps(rows: SeriesRows, *, only_bridged: bool) -> Statement:
    """What is assumed of times without a row; of pieces that start anew nothing is known `only_bridged`."""
    units, gaps = len(rows.units), int((rows.skipped > 0).sum())
    series = f"{units:,} series"
    if not gaps:
        return say("no-gaps", series=series)
    times = int(rows.skipped.sum())
    found = f"{gaps:,} gap{'s' * (gaps > 1)} ({times:,} time{'s' * (times > 1)})"
    if not rows.bridged:
        return say("independent-gaps", series=series, gaps=found)
    return say("bridged", series=series, gaps=found, too="" if only_bridged else ", or starts anew after them")
