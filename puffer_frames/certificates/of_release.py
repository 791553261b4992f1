"""The sentences of a release of one noisy value, or several, per record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import cast

from puffer_frames.certificates.facts import CELLS, Facts, Joint, RowsOfUnit, ends_text
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.text import odds_of
from puffer_frames.errors import KeptColumnWarning, PufferWarning, RowOrderWarning, UnreadColumnWarning
from puffer_frames.frames.stamps.fingerprint import fingerprint_text
from puffer_frames.loss.outcome import excess_text, measured_text
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.refining import on_first_grid
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import rounded_up, shown, shown_names, upper_text
from puffer_frames.priors.pairs import ProtectedPairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import FEWEST_ROWS, LARGE_EPSILON, few_rows
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.drift import Batch
from puffer_frames.scales.joint.coupled import any_joint_loss
from puffer_frames.scales.learned import LearnedBelief, Population
from puffer_frames.scales.repeats import Repeats
from puffer_frames.scales.strata import StrataChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """What the sentences of a release depend on."""

    choices: Mapping[str, Choice]
    """The scale and why, per column."""
    target: Target
    noise: NoiseFamily
    pairs: ProtectedPairs
    domain: Mapping[str, Bounds]
    nulls: str
    secrets: int
    """How many secrets the plan has."""
    batch: Batch | None
    """What was measured on other rows than those that the plan was made from."""
    remapped: Sequence[str]
    """Names of the columns whose noisy values were replaced by values of the column."""
    keep: Sequence[str]
    """Names of the kept columns, and of the kept levels of an index."""
    warnings: Sequence[PufferWarning]
    """What was seen of the order of the rows and of kept columns."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each protected secret that are released."""
    unproved: Sequence[str]
    """Beliefs whose laws a plan from a file lacks."""
    done: str
    """What was done after the noise, in words."""
    seeded: bool
    """Whether the noise came from a seed."""
    responses: Mapping[str, tuple[int, float, float]]
    """For columns of labels with randomised response: the number of levels, and the least and largest share of changed
    labels in any stratum."""
    repeats: Repeats
    """How many rows of a unit and how many releases the guarantee is for."""
    unit: str
    """Name of the unit's column, or empty."""
    merged: int
    """How many strata were merged into one."""
    sampled: bool
    """Whether rows of units beyond those were left out."""
    strata: StrataChoices | None
    """The scales per stratum, where the guarantee conditions on columns."""
    shuffled: bool = False
    """Whether the rows were put into a random order."""
    refines: Sequence[str] = ()
    """Fingerprints of earlier releases with more noise."""
    order_noted: bool = True
    """Whether it is certain that the rows stood in the same order in these."""

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return sum(self.rows_per_secret.values())

    @property
    def several(self) -> bool:
        """Whether there are several columns."""
        return len(self.choices) > 1

    @property
    def joint(self) -> bool:
        """Whether the scales of several columns were found together, for whole rows."""
        return any(choice.theorem.whole_rows for choice in self.choices.values())

    @property
    def coupled(self) -> bool:
        """Whether these rest on a coupling."""
        return self.joint and all(choice.theorem.coupled for choice in self.choices.values())

    @property
    def joint_any_law(self) -> float:
        """The pure loss of a row under any law on the ranges, rounded up to two digits."""
        return rounded_up(any_joint_loss(self.choices.values()), digits=2)

    @property
    def any_law_of_rows(self) -> float | None:
        """The pure loss of a row under any law on the ranges, in any stratum, rounded up to two digits.

        None where it is not known.
        """
        if not isinstance(self.noise, Laplace) or self.repeats.shares > 1:
            return None
        listed = [self.choices]
        if self.strata is not None and not self.strata.one_scale:
            ends = {name: choice.bounds for name, choice in self.choices.items()}
            listed = [
                {name: replace(choice, bounds=ends[name]) for name, choice in choices.items()}
                for choices in self.strata.choices.values()
            ]
        copies = self.repeats.factor(self.noise) * self.repeats.measured
        return rounded_up(copies * max(any_joint_loss(choices.values()) for choices in listed), digits=2)

    @property
    def noisy(self) -> bool:
        """Whether any column has noise."""
        return any(choice.scale for choice in self.choices.values())

    @property
    def coarse(self) -> bool:
        """Whether values that take the place of noisy ones are centres of cells."""
        return any(prior.radius for name in self.remapped for prior in self.choices[name].empirical.values())

    @property
    def ranged(self) -> list[str]:
        """Columns that were clipped to the range of the table of the plan."""
        return [name for name, choice in self.choices.items() if choice.clips and name not in self.domain]

    @property
    def exceeding(self) -> Mapping[str, str]:
        """Columns that are not known to be within what was asked for under the observed frequencies, in words.

        Only side knowledge alone can lead to that: every other belief is held to what was asked for.
        """
        if self.batch is not None:
            return self.batch.exceeded
        found, target = {}, self.repeats.asked(self.target, noise=self.noise, columns=len(self.choices))
        for name, choice in self.choices.items():
            bounded = self.several and not self.joint
            if bounded or "empirical" in choice.verified or choice.observed is None:
                continue
            if not choice.observed.confirms(target):
                found[name] = excess_text(choice.observed, target)
            if self.joint:  # one loss of all columns
                break
        return found

    @property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        by_delta = any("by delta" in choice.remarks for choice in self.choices.values())
        whole: Joint = "coupled" if self.coupled else "delta" if by_delta else "exact"
        return Facts(
            seeded=self.seeded and self.noisy,
            clipped={**self.domain, **dict.fromkeys(self.ranged)},
            replaced=("cells" if self.coarse else "values") if self.remapped else None,
            processed=bool(self.done),
            joint=whole if self.joint else "rule" if self.several else None,
            other_rows=self.batch is not None,
            exceeds=bool(self.exceeding),
            unmeasured=self.batch is None and any(choice.observed is None for choice in self.choices.values()),
            rows_of_unit=cast(RowsOfUnit, self.repeats.assumed) if self.unit else None,
            sampled=self.sampled,
            dropped=self.nulls == "drop",
            shuffled=self.shuffled,
            order_tells=is_warned(self.warnings, RowOrderWarning),
            kept_tells=is_warned(self.warnings, KeptColumnWarning),
            order_assumed=bool(self.refines) and not self.order_noted,
        )


def is_warned(warnings: Sequence[PufferWarning], kind: type[PufferWarning], /) -> bool:
    """Whether there is a warning of this kind."""
    return any(isinstance(warning, kind) for warning in warnings)


_MOST_NAMED = 6


def release_statements(facts: ReleaseFacts, /) -> tuple[Statement, ...]:
    """What the guarantee of a release rests on and leaves out."""
    parts = (_assumed, _composition, _seen, _losses, _wider, _kept_and_dropped, _done)
    return tuple(statement for part in parts for statement in part(facts))


def _assumed(facts: ReleaseFacts) -> Iterator[Statement]:
    stated = facts.stated
    if stated.seeded:
        yield say("warning-seed")
    if facts.unit:
        yield from _of_units(facts)
    else:
        yield say("records")
    strata = "" if facts.strata is None else f" and {shown_names(facts.strata.given)}"
    yield say("beliefs", strata=strata, beliefs=_beliefs_text(list(facts.choices.values())))
    if facts.strata is not None:
        yield from _of_strata(facts, facts.strata)
    for belief in _learned(facts):
        if isinstance(belief, Population):
            yield say("population-rows")
            yield say("population", confidence=f"{100 * belief.confidence:.6g}")
    if stated.other_rows:
        yield say("other-rows")
    if facts.unproved:
        yield say("from-file", beliefs=", ".join(facts.unproved))
    if stated.whole_rows:
        yield say(f"joint-{stated.joint}")
        if facts.target.delta and stated.joint != "delta":
            yield say("pure-only")
        if facts.strata is None:
            yield say("joint-any-law", range=_range_text(facts), loss=f"{facts.joint_any_law:.2g}")
    elif stated.joint == "rule":
        yield say("joint-rule", range=_range_text(facts))
        yield say("shares")


def _of_units(facts: ReleaseFacts) -> Iterator[Statement]:
    """What is assumed of the rows of a unit."""
    unit, assumed = shown(facts.unit), facts.repeats.assumed
    yield say("units")
    yield say(f"unit-{assumed}", unit=unit)
    yield say("unit-rows-most", unit=unit, rows=f"{facts.repeats.rows:,}")
    yield say("unit-numbers", unit=unit)
    if facts.repeats.shares > 1:
        yield say("measured-of-one", unit=unit)
    if facts.repeats.measured > 1:
        yield say("measured-of-unit", unit=unit, rows=f"{facts.repeats.rows:,}")


def _of_strata(facts: ReleaseFacts, strata: StrataChoices) -> Iterator[Statement]:
    """What follows from conditioning on columns."""
    given, count = shown_names(strata.given), f"{len(strata.choices):,}"
    yield say("given", given=given)
    yield say("given-alone", given=given)
    lacking, present = strata.lacking, len(strata.choices)
    if facts.batch is not None:
        lacking, present = facts.batch.lacking, facts.batch.parts
    if lacking:
        yield say("given-lacking", given=given, lacking=f"{lacking:,}", strata=f"{present:,}")
    if facts.merged:
        yield say("strata-merged", merged=f"{facts.merged:,}", minimum=f"{strata.minimum:,}", given=given)
    if strata.small:
        yield say("strata-small", minimum=f"{strata.minimum:,}", small=f"{len(strata.small):,}", strata=count)
    if strata.unbound:
        yield say("strata-unbound")


def _range_text(facts: ReleaseFacts) -> str:
    if not facts.domain:
        there = "" if facts.strata is None else " of its stratum, or of the whole table"
        return f"the observed ranges{there}" if facts.batch is None else "the ranges of the table of the plan"
    whole = set(facts.domain) == set(facts.choices)
    return "the domain" if whole else "the domain, or the observed range of a column without one"


def _composition(facts: ReleaseFacts) -> Iterator[Statement]:
    what, whose = "these columns" if facts.several else "this column", "units" if facts.unit else "records"
    of_a_draw = facts.sampled and facts.repeats.assumed != "any"  # another release may use other rows of a unit
    if facts.coupled and not of_a_draw:
        yield say("adds-up-rows")
    elif all(choice.adds_up for choice in facts.choices.values()) and not of_a_draw:
        same = whose + " and listed pairs" * (not isinstance(facts.pairs, str))
        yield say("adds-up", what=what, rows=same, deltas=" and deltas" * (facts.target.delta > 0))
    elif facts.repeats.releases == 1:
        yield say("one-release", what=what, rows=whose, whose="the values themselves")
    if facts.repeats.releases > 1:
        count, factor = facts.repeats.releases, facts.repeats.of_releases(facts.noise)
        yield say("planned-releases", releases=f"{count:,}", rows=whose, factor=f"{factor:,.6g}")
    if facts.repeats.copies > 1:
        yield say("measured-of-all", whose="these rows" if facts.repeats.measured > 1 else "one row")
    if facts.refines:
        count, named = len(facts.refines), ", ".join(map(fingerprint_text, facts.refines))
        if facts.stated.order_assumed:
            yield say("refined-order")
        yield say("refines", earlier=f"the {count} releases" if count > 1 else "the release", fingerprints=named)
    yield say("other-columns")
    if not facts.unit:
        yield say("per-record")
    yield say("learned")
    if any(isinstance(belief, Population) for belief in _learned(facts)):
        yield say("one-confidence")
    if facts.joint or not facts.several:
        yield say("other-knowledge")


def _seen(facts: ReleaseFacts) -> Iterator[Statement]:
    yield from seen(facts.warnings)
    yield from weak(facts.target, facts.rows_per_secret, rows=facts.rows)


def weak(target: Target, rows_per_secret: Mapping[Secret, int], /, *, rows: int) -> Iterator[Statement]:
    """Sentences that say when the guarantee is weak: a large epsilon or delta, or secrets in few rows."""
    few = few_rows(rows_per_secret)
    if few:
        more = f" and {len(few) - _MOST_NAMED:,} more" if len(few) > _MOST_NAMED else ""
        named = ", ".join(shown(repr(secret)) for secret in few[:_MOST_NAMED]) + more
        yield say("few-rows", fewest=FEWEST_ROWS, secrets=named)
    if target.epsilon > LARGE_EPSILON:
        yield say("weak-epsilon")
    if target.delta * rows >= 1:
        yield say("weak-delta")


def seen(warnings: Sequence[PufferWarning], /) -> Iterator[Statement]:
    """What was seen of the order of the rows and of kept columns."""
    for warning in warnings:
        if isinstance(warning, KeptColumnWarning):
            kept, determines = shown(warning.kept), shown(warning.determines)
            yield say("kept-tells", kept=kept, determines=determines, measured=warning.measured)
        elif isinstance(warning, UnreadColumnWarning):
            yield say("kept-unread", kept=shown(warning.kept))
        elif isinstance(warning, RowOrderWarning):
            yield say("order-tells", reasons=shown(warning.found))


def _losses(facts: ReleaseFacts) -> Iterator[Statement]:
    for name, choice in facts.choices.items():
        found = choice.published_loss
        if found is not None and found.refutes(Target(epsilon=found.epsilon, delta=facts.target.delta)):
            yield say("refuted", what=shown(name), loss=measured_text(found, delta=facts.target.delta))
    yield from _of_fits(facts)
    batch = facts.batch
    for name, loss in facts.exceeding.items():
        yield say("observed-exceeds", what="a row of these columns" if facts.joint else shown(name), found=loss)
    if facts.stated.unmeasured:
        yield say("observed-unknown")
    if batch is not None:
        yield from absent_secrets(batch, of=facts.secrets)


def _of_fits(facts: ReleaseFacts) -> Iterator[Statement]:
    """Sentences about fitted models that are left out, or that decide the noise."""
    for name, choice in facts.choices.items():
        if choice.left_out is not None:
            yield say("fit-left-out", what=shown(name))
        if "wide fit" in choice.remarks:
            refuted = ", and the table of the plan refutes it at 95 %" if "refuted fit" in choice.remarks else ""
            yield say("fit-decides", what=shown(name), refuted=refuted)


def absent_secrets(batch: Batch, /, *, of: int) -> Iterator[Statement]:
    """A sentence for rows that the plan was not made from and that lack some of its secrets."""
    if batch.absent:
        rest = "the loss was measured for the others" if batch.observed else "no two are left to compare"
        yield say("absent-secrets", absent=f"{batch.absent:,}", of=f"{of:,}", rest=rest)


def left_out(
    pairs: ProtectedPairs, keep: Sequence[str], nulls: str, /, *, entry: str = "secret or public value"
) -> Iterator[Statement]:
    """Pairs, columns and rows beyond the guarantee."""
    if pairs == "each":
        yield say("secrets-each")
    elif pairs != "all":
        yield say("listed-pairs")
    if keep:
        yield say("kept", kept=shown_names(keep))
    if nulls == "drop":
        yield say("nulls", entry=entry)


def _kept_and_dropped(facts: ReleaseFacts) -> Iterator[Statement]:
    entry = "secret, given or public value" if facts.strata is not None else "secret or public value"
    yield from left_out(facts.pairs, facts.keep, facts.nulls, entry=entry)
    if any(prior.radius for choice in facts.choices.values() for prior in choice.empirical.values()):
        yield say("cells")


def _done(facts: ReleaseFacts) -> Iterator[Statement]:
    if all(choice.none_needed for choice in facts.choices.values()):
        yield say("no-noise")
    else:
        bare = [name for name, choice in facts.choices.items() if not choice.scale]
        yield from (say("without-noise", what=shown(name)) for name in bare)
    if facts.domain:
        yield say("clipped", ends="; ".join(starmap(ends_text, facts.domain.items())))
    if facts.ranged:
        yield say("clipped-to-range", what=shown_names(facts.ranged))
    yield from _remapped(facts)
    for name, (levels, least, most) in facts.responses.items() if facts.noisy else ():
        if not most:
            continue
        kept = f"{1 - most:.6g}" + (f" to {1 - least:.6g}, by its stratum" if least < most else "")
        yield say("randomised", what=shown(name), kept=kept, levels=f"{levels:,}")
    if facts.sampled:
        yield say("unit-sampled", unit=shown(facts.unit), rows=f"{facts.repeats.rows:,}")
    if facts.shuffled:
        yield say("shuffled")
    if facts.done:
        yield say("after", done=facts.done)
    if any(choice.scale for name, choice in facts.choices.items() if name not in facts.responses):
        yield say("grid", grid=on_first_grid(len(facts.refines)) if facts.refines else facts.noise.on_grid)


def _remapped(facts: ReleaseFacts) -> Iterator[Statement]:
    if facts.remapped:
        table = "the table" if facts.batch is None else "the table of the plan"
        yield say("remap", what=shown_names(facts.remapped), table=table, cells=CELLS * facts.coarse)
        yield say("remap-values", what=shown_names(facts.remapped), table=table)


def _learned(facts: ReleaseFacts) -> list[LearnedBelief]:
    return [belief for choice in facts.choices.values() for belief in choice.learned]


def _beliefs_text(choices: Sequence[Choice]) -> str:
    """The beliefs in words."""
    found = list(dict.fromkeys(words for choice in choices for words in choice.words.values()))
    return found[0] if len(found) == 1 else f"one of these: {'; '.join(found)}"


def wider_losses(facts: ReleaseFacts, /) -> dict[str, dict[str, float]]:
    """The losses under laws beyond the beliefs, per column, rounded up: they are statistics of the table.

    Of strata, and of columns whose scales were found together, the largest under any law alone is known, and of pure
    privacy: within a stratum the loss of the whole range at its scales.
    """
    delta = facts.target.delta
    if facts.joint or facts.strata is not None:
        most = facts.any_law_of_rows
        return {} if delta or most is None else {name: {"any law": most} for name in facts.choices}
    return {
        name: {
            laws: rounded_up((found.hockey_stick if delta else found.pure_loss).upper, digits=2)
            for laws, found in choice.wider.items()
        }
        for name, choice in facts.choices.items()
    }


def _wider(facts: ReleaseFacts) -> Iterator[Statement]:
    """The loss at the scale under wider laws, per column; of whole rows where their scales were found together."""
    delta, losses = facts.target.delta, wider_losses(facts)
    table = "the table" if facts.batch is None else "the table of the plan"
    whole = facts.joint or facts.strata is not None
    parts = []
    for name, choice in list(facts.choices.items())[: 1 if whole else None]:
        where = "on the domain" if name in facts.domain and not whole else f"on the range of {table}"
        of = f", of {shown(name)} alone" if facts.several and not whole else ""
        of += ", of a row of these columns" * (facts.several and whole) + ", of one row" * (facts.repeats.shares > 1)
        for laws, words in (
            ("population", f"any law that {table} does not refute at 95 %"),
            ("any law", f"any law {where}"),
        ):
            loss = losses.get(name, {}).get(laws)
            if loss is None:
                most = "not computed"
            elif delta:
                most = f"delta at most {loss:g} at epsilon {upper_text(choice.wider[laws].epsilon)}"
            else:
                most = odds_of(loss)
            parts.append(f"under {words}{of}: {most}")
    yield say("wider", losses="; ".join(parts))
