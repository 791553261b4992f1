"""The sentences of answers: of sums, counts and means over units, and of histograms of series and networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from puffer_frames.certificates.build import weak
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.numbers.presentation import pairs_text, plain, shown
from puffer_frames.papers.catalogue import EXACT_COUNT, NEIGHBOURS, WASSERSTEIN
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.markov import ChainBox
from puffer_frames.priors.network import NetworkRange
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import LearnedBelief, Population
from puffer_frames.scales.series_counts import ReleasedCounts
from puffer_frames.verbs.answers.aggregate_request import AggregateRequest
from puffer_frames.verbs.answers.series_request import SeriesRequest

_NEAR = 1e-6
"""Bounds of a loss that are as near as this are called exact."""
_LAWS = {"empirical": "the observed frequencies of its rows", "gaussian": "a Gaussian with the moments of its rows"}
_MOST_NAMED = 8
"""The most units that a sentence names."""


def aggregate_subject(request: AggregateRequest, /) -> str:
    """What the answers protect of a unit."""
    unit, value, listed, domain = request.unit, request.value, request.listed, request.domain
    where = f"; in the {' and the '.join(request.queries)}" + (f" of {shown(value)}" if value is not None else "")
    who = f"each {shown(unit)}" if unit is not None else "each row"
    values = (
        "the declared pairs of values"
        if listed or domain is None
        else f"any two values of [{plain(domain[0])}, {plain(domain[1])}]"
    )
    kinds = {
        "value": f"the value that {who} reports, {values}",
        "value-or-absence": f"whether {who} reports a {'declared ' * bool(listed)}value or is absent",
        "presence": f"whether {who} is in the table at all"
        if not listed
        else f"whether each of these units of {shown(str(unit))} is in the table at all: {_named(listed)}",
        "replacement": f"which of two laws {who} has, {'the listed pairs' if listed else 'every pair'} of them",
    }
    return kinds[request.protect] + where


def aggregate_statements(
    request: AggregateRequest, choices: Mapping[str, Choice], /, *, impossible: bool
) -> tuple[Statement, ...]:
    """What the guarantee of an aggregate rests on and leaves out; `impossible`: given laws do not allow the table."""
    return (
        *_assumed_of_units(request, choices),
        *_losses(request, choices),
        *_added(request, choices),
        *_left_out_of_units(request, choices, impossible=impossible),
    )


def _assumed_of_units(request: AggregateRequest, choices: Mapping[str, Choice]) -> Iterator[Statement]:
    if request.drawing.seeded and _noisy(choices):
        yield say("warning-seed")
    yield say("units")
    if "sum" in choices and request.by_law and isinstance(request.laws, Mapping):
        yield say("given-law")
    elif "sum" in choices:
        yield say(("all-rows" if request.by_law else "equal-rows") if request.added else "draw")
    if "count" in choices:
        yield say("counted", what="rows" if request.added else "units, not of rows")
    if "sum" in choices and request.by_law and not isinstance(request.laws, Mapping):
        yield say("law", law=_law_of_units(request))
    if "sum" in choices and request.by_law and isinstance(request.laws, Population):
        yield say("unit-rows")
        yield say("population-units", confidence=f"{100 * request.laws.confidence:.6g}")
    if request.by:
        yield say("groups")
    if request.divisor is not None:
        yield say("divisor", divisor=plain(request.divisor))
    if "mean" in request.queries and request.divisor is None:
        yield say("quotient")


def _law_of_units(request: AggregateRequest) -> str:
    if isinstance(request.laws, LearnedBelief):
        return request.laws.words + (" on the range of the table" if request.domain is None else " on the domain")
    return _LAWS[str(request.laws)]


def _losses(request: AggregateRequest, choices: Mapping[str, Choice]) -> Iterator[Statement]:
    delta, noisy = request.target.delta, _noisy(choices)
    yield from weak(request.target, {}, rows=0)
    if len(noisy) > 1:
        yield say("shared", answers=_listed(noisy).capitalize(), deltas=" and delta" * (delta > 0))
    bare = [name for name, choice in choices.items() if not choice.scale]
    yield from (say("without-noise", what=f"the {name}") for name in bare)
    if delta and any("pure only" in choice.remarks for choice in choices.values()):
        yield say("pure-only")
    if not delta and any(map(_is_bound, choices.values())):
        yield say("upper-bound")


def _added(request: AggregateRequest, choices: Mapping[str, Choice]) -> Iterator[Statement]:
    adding = [name for name in _noisy(choices) if choices[name].adds_up]
    alone = [name for name in _noisy(choices) if not choices[name].adds_up]
    if adding:
        deltas = " and deltas" * (request.target.delta > 0)
        yield say(
            "adds-up", what=_listed(adding), rows="rows and listed pairs" if request.listed else "rows", deltas=deltas
        )
    if alone:
        yield say("one-release", what=_listed(alone), rows="rows", whose="what a unit adds")
    yield say("other-answers", rows="rows")


def _left_out_of_units(
    request: AggregateRequest, choices: Mapping[str, Choice], *, impossible: bool
) -> Iterator[Statement]:
    learned = request.by_law and "sum" in choices and not isinstance(request.laws, Mapping)
    if request.protect == "presence" and request.listed:
        yield say("other-units")
    if request.unit is not None and not request.added and learned:
        yield say("class")
    if learned and isinstance(request.laws, Population):
        yield say("one-confidence")
    if impossible:
        yield say("impossible-table", laws="laws make")
    if request.added or learned:
        yield say("learned", what="scale and losses")
    if request.nulls == "drop":
        yield say("nulls", entry="entry")
    if request.domain is not None and "sum" in choices:
        low, high = request.domain
        yield say("clipped-answers", ends=f"to [{plain(low)}, {plain(high)}]")
    if _noisy(choices):
        yield say("integer-noise") if request.integer else say("grid", grid=request.noise.on_grid)


def _noisy(choices: Mapping[str, Choice]) -> list[str]:
    """Statistics with noise."""
    return [name for name, choice in choices.items() if choice.scale]


def _named(pairs: Sequence[Sequence[object]]) -> str:
    """The units of pairs of a unit and None."""
    units = list(dict.fromkeys(entry for pair in pairs for entry in pair if entry is not None))
    more = [f"{len(units) - _MOST_NAMED:,} more"] if len(units) > _MOST_NAMED else []
    return ", ".join([*(shown(str(unit)) for unit in units[:_MOST_NAMED]), *more])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"the {name}" for name in names)


def _is_bound(choice: Choice) -> bool:
    found = next(iter(choice.verified.values())).pure_loss
    return "upper bound" in choice.remarks and found.lower < found.upper * (1 - _NEAR)


def series_subject(request: SeriesRequest, pairs: Sequence[tuple[Secret, Secret]], /) -> str:
    """What is protected of a series, or of the nodes of a network; no pairs: every pair of states."""
    state, unit = request.columns.state, request.columns.unit
    if request.networks:
        return f"the {state} of each {unit}, {pairs_text(pairs) if pairs else 'every pair of states'}"
    where = "" if unit is None else f" of each {unit}"
    return f"the {state} at each time{where}, every pair of states"


def series_statements(
    request: SeriesRequest,
    rows: SeriesRows,
    chains: Sequence[Chain],
    released: ReleasedCounts,
    choice: Choice,
    /,
    *,
    impossible: bool,
) -> tuple[Statement, ...]:
    """What the guarantee of a histogram rests on and leaves out; `impossible`: what is believed denies the series."""
    return (
        *_assumed(request, rows, chains, choice),
        *_counted(request, released, choice),
        *_composition(request, chains, choice),
        *_left_out(request, chains, released, impossible=impossible),
    )


def _assumed(request: SeriesRequest, rows: SeriesRows, chains: Sequence[Chain], choice: Choice) -> Iterator[Statement]:
    if request.drawing.seeded:
        yield say("warning-seed")
    if request.networks:
        yield say("network", nodes=len(request.networks[0]))
        if isinstance(request.networks, NetworkRange):
            yield say("range-of-networks")
        elif len(request.networks) > 1:
            yield say("several-networks", networks=len(request.networks))
        yield say("nodes-public")
        return
    if chains:
        given = "estimated" if request.start_estimated else "given"
        starts = dict.fromkeys(chain.initial if isinstance(chain.initial, str) else given for chain in chains)
        yield say("chain", start=" or ".join(starts), law=_law(request))
        if request.population is not None:
            yield say("one-matrix")
            yield say("population-chain", confidence=f"{100 * request.population.confidence:.6g}")
        if len(chains) > 1:
            yield say("several-chains", chains=len(chains))
        no_pieces = choice.theorem in (EXACT_COUNT, WASSERSTEIN, NEIGHBOURS)
        started = any(not isinstance(chain.initial, str) for chain in chains)
        yield _gaps(rows, only_bridged=started or no_pieces)
    else:
        yield say("any-dependence")
        if not rows.bridged and (rows.skipped > 0).any():
            yield _gaps(rows, only_bridged=False)
    yield say("series-public")
    if request.columns.states is None:
        yield say("states-read")


def _law(request: SeriesRequest) -> str:
    if request.population is not None:
        return request.population.words
    return "estimated from the table" if request.estimated else "given"


def _counted(request: SeriesRequest, released: ReleasedCounts, choice: Choice) -> Iterator[Statement]:
    yield from weak(request.target, {}, rows=0)
    if released.several and not released.derived:
        how = ": one count less, another one more"
        yield say("lipschitz", what="the counts of a histogram together", most=released.lipschitz, how=how)
        if request.noise.unproved_counts:
            yield say("stable-counts")
    elif released.reach:
        how = ": the largest state less the smallest"
        yield say("lipschitz", what="the sum that gets noise", most=released.lipschitz, how=how)
    else:
        yield say("lipschitz", what="the count that gets noise", most=released.lipschitz, how="")
    if released.derived:
        yield say("derived-count")
    if request.both:
        answers = f"The pooled {'sum' if released.reach else 'histogram'} and those of the units"
        yield say("shared", answers=answers, deltas=" and delta" * (request.target.delta > 0))
    if "group noise" in choice.remarks:
        yield say(
            "group-noise",
            some="nodes" if request.networks else "series",
            all="the network" if request.networks else "such a series",
        )


def _composition(request: SeriesRequest, chains: Sequence[Chain], choice: Choice) -> Iterator[Statement]:
    if choice.adds_up:
        several = len(chains) > 1 or request.population is not None
        under = " under the same chains" if several else " under the same chain" if chains else ""
        if request.networks:
            under = " under the same network" + "s" * (len(request.networks) > 1)
        yield say("adds-up-series", rows=request.kind, under=under, deltas=" and deltas" * (request.target.delta > 0))
    else:
        yield say("one-release", what="this histogram", rows=request.kind, whose="the other states")
    yield say("other-answers", rows=request.kind)
    yield say("per-node") if request.networks else say("per-time")


def _left_out(
    request: SeriesRequest, chains: Sequence[Chain], released: ReleasedCounts, *, impossible: bool
) -> Iterator[Statement]:
    if chains and (request.estimated or request.start_estimated or request.population is not None):
        yield say("learned", what="scale and losses")
    if request.population is not None:
        yield say("one-confidence")
    if impossible:
        yield say("impossible-table", laws=f"{'network' if request.networks else 'chain'} makes")
    if any(map(_leaves_out_states, chains)):
        yield say("impossible-starts")
    if released.pairs:
        yield say("listed-states")
    if any(not network.joint([k]).all() for network in request.networks for k in range(len(network))):
        yield say("impossible-states")
    if request.columns.nulls == "drop":
        yield say("nulls", entry="state")
    if not request.counts:
        yield say("frequencies" if request.query == "counts" else "mean-of-series")
    yield say("grid", grid=request.noise.on_grid)


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
