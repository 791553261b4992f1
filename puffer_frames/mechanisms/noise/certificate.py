"""What the certificate of a release of noise says."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import starmap
from typing import Any, cast

from puffer_frames.certificates.build import left_out, of_choices
from puffer_frames.certificates.facts import CELLS, Facts, Joint, RowsOfUnit, ends_text
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement, how_given
from puffer_frames.certificates.text import ANY_LAW_OF_ROWS, odds_of, stated_loss
from puffer_frames.frames.stamps.fingerprint import fingerprint_text
from puffer_frames.loss.outcome import measured_text
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.mechanisms.seam import Release
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.refining import on_first_grid
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import rounded_up, shown, shown_names, upper_text
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import ANY_LAW
from puffer_frames.scales.drift import Batch
from puffer_frames.scales.joint.coupled import any_joint_loss
from puffer_frames.scales.learned import LearnedBelief, Population, said_of
from puffer_frames.scales.repeats import Repeats
from puffer_frames.scales.strata import StrataChoices
from puffer_frames.scales.utility import SHIFTED, TIMES


def release_certificate(plan: NoiseFit, release: Release, /, **refined: Any) -> Certificate:
    """The certificate of a release, its values not known yet; `refined` are further facts of a refinement."""
    facts, request = ReleaseFacts(plan, release, **refined), plan.request
    parts = (_assumed, _composition, _cautions, _losses, _wider, _kept_and_dropped, _done)
    return release.certificate(
        plan,
        statements=tuple(statement for part in parts for statement in part(facts)),
        whose=_whose(plan),
        facts=facts.stated,
        **_of_noise(facts),
        unit=None if request.unit is None else request.unit.column,
        unit_rows=request.repeats.rows,
        releases=request.repeats.releases,
        strata=_strata_scales(plan.strata, plan.levels),
        channels=_responses_said(plan),
        processed=_processed(plan, release.asked),
        wider=wider_losses(facts),
        beliefs=tuple(dict.fromkeys(belief for choice in plan.choices.values() for belief in choice.beliefs)),
        observed=plan.observed if release.batch is None else release.batch.observed,
    )


def _of_noise(facts: ReleaseFacts) -> dict[str, Any]:
    """Fields that follow from the scales; a column of labels has none."""
    plan = facts.plan
    fields = of_choices(
        plan.choices,
        plan.request.target,
        noises={name: plan.noise(scale) for name, scale in plan.all_scales.items()},
        family=plan.request.noise.title,
        calibration=plan.calibration,
        seeded=facts.release.asked.seeded,
    )
    fields["adds_up"] &= not facts.of_a_draw and facts.batch is None
    if plan.strata is not None:
        fields["expected_error"] = plan.expected_error
    for name in ("scales", "published_scales", "expected_error") if plan.levels else ():
        fields[name] = {column: value for column, value in fields[name].items() if column not in plan.levels}
    return fields


def _whose(plan: NoiseFit) -> str:
    return "record" if plan.request.unit is None else shown(plan.request.unit.column)


def _strata_scales(strata: StrataChoices | None, labels: Collection[str]) -> tuple[Mapping[str, Any], ...]:
    """What a certificate says of them: the strata are public."""
    if strata is None or strata.one_scale:
        return ()
    found = []
    for z, scales in strata.scales.items():
        numbers = {name: scale for name, scale in scales.items() if name not in labels}
        caps = {name: _cap(scale) for name, scale in scales.items() if name in labels}
        found.append({"given": z, "scales": numbers} | ({"caps": caps} if caps else {}))
    return tuple(found)


def _responses_said(plan: NoiseFit) -> dict[str, dict[str, Any]]:
    """What a certificate says of them."""
    scales = [plan.all_scales] if plan.strata is None else list(plan.strata.scales.values())
    return {
        name: {
            "cost": "change",
            "radius": None,
            "cap": _cap(min(one[name] for one in scales)),
            "preserve": None,
            "count": len(levels),
        }
        for name, levels in plan.levels.items()
    }


def _processed(plan: NoiseFit, asked: RowsRequest) -> dict[str, dict[str, Any]]:
    """What is done to the noisy values of each column of numbers, where anything is."""
    return {
        name: {"round": asked.rounds(name), "clip": asked.bounds.get(name)}
        for name in plan.scales
        if asked.rounds(name) or name in asked.bounds
    }


def _cap(scale: float) -> float | None:
    """The largest loss of a label under any law; None of labels that stay as they are."""
    return 1 / scale if scale else None


@dataclass(frozen=True)
class ReleaseFacts:
    """A release of noise, as far as its sentences depend on it."""

    plan: NoiseFit
    release: Release
    refines: Sequence[str] = ()
    """Fingerprints of earlier releases with more noise."""
    order_noted: bool = True
    """Whether it is certain that the rows stood in the same order in these."""

    @property
    def choices(self) -> Mapping[str, Choice]:
        return self.plan.choices

    @property
    def request(self) -> Request:
        return self.plan.request

    @property
    def batch(self) -> Batch | None:
        return self.release.batch

    @property
    def ranges(self) -> Mapping[str, float]:
        """What the columns whose rows lie on a wider range than the noise is for lose under any law on it."""
        return {} if self.batch is None else self.batch.ranges

    @property
    def repeats(self) -> Repeats:
        return self.request.repeats

    @property
    def sampled(self) -> bool:
        """Whether rows of units beyond those were left out."""
        return self.request.unit is not None and self.request.unit.over == "sample"

    @property
    def of_a_draw(self) -> bool:
        """Whether the guarantee rests on the law of some rows of each unit, of which another release may use others."""
        return self.sampled and self.repeats.assumed != "any"

    @property
    def several(self) -> bool:
        """Whether there are several columns."""
        return len(self.choices) > 1

    @property
    def coupled(self) -> bool:
        """Whether scales for whole rows rest on a coupling."""
        return self.plan.is_joint and all(choice.theorem.coupled for choice in self.choices.values())

    @property
    def joint_any_law(self) -> float:
        """The pure loss of a row, or of all rows of a unit, under any law on the ranges, rounded up to two digits."""
        return rounded_up(self.repeats.of_all(any_joint_loss(self.choices.values())), digits=2)

    @property
    def any_law_of_rows(self) -> float | None:
        """The pure loss of a row, or of all rows of a unit, under any law on the ranges, in any stratum, rounded up to
        two digits. None where it is not known.
        """
        if not isinstance(self.request.noise, Laplace):
            return None
        if self.repeats.shares > 1:  # a unit has no strata
            return self.joint_any_law if self.plan.is_joint else None
        listed = [self.choices]
        if self.plan.strata is not None and not self.plan.strata.one_scale:
            ends = {name: choice.bounds for name, choice in self.choices.items()}
            listed = [
                {name: replace(choice, bounds=ends[name]) for name, choice in choices.items()}
                for choices in self.plan.strata.choices.values()
            ]
        copies = self.repeats.factor(self.request.noise) * self.repeats.measured
        return rounded_up(copies * max(any_joint_loss(choices.values()) for choices in listed), digits=2)

    @property
    def noisy(self) -> bool:
        """Whether any column has noise."""
        return any(choice.scale for choice in self.choices.values())

    @property
    def coarse(self) -> bool:
        """Whether values that take the place of noisy ones are centres of cells."""
        return any(prior.radius for name in self.plan.remaps for prior in self.choices[name].empirical.values())

    @property
    def ranged(self) -> list[str]:
        """Columns that were clipped to the range of the table of the plan."""
        return [name for name, choice in self.choices.items() if choice.clips and name not in self.request.domain]

    @cached_property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        by_delta = any("by delta" in choice.remarks for choice in self.choices.values())
        whole: Joint = "coupled" if self.coupled else "delta" if by_delta else "exact"
        return replace(
            self.release.facts(self.plan),
            seeded=self.release.asked.seeded and self.noisy,
            clipped={**self.request.domain, **dict.fromkeys(self.ranged)},
            replaced=("cells" if self.coarse else "values") if self.plan.remaps else None,
            processed=bool(self.release.asked.done),
            joint=whole if self.plan.is_joint else "rule" if self.several else None,
            unmeasured=self.batch is None and any(choice.observed is None for choice in self.choices.values()),
            rows_of_unit=None if self.request.unit is None else cast(RowsOfUnit, self.repeats.assumed),
            sampled=self.sampled,
            order_assumed=bool(self.refines) and not self.order_noted,
            useless=tuple(self.plan.useless_columns()),
        )


def _assumed(facts: ReleaseFacts) -> Iterator[Statement]:
    stated = facts.stated
    if stated.seeded:
        yield say("warning-seed")
    if facts.request.unit is not None:
        yield from _of_units(facts)
    else:
        yield say("records")
    strata = "" if facts.plan.strata is None else f" and {shown_names(facts.plan.strata.given)}"
    yield say("beliefs", strata=strata, beliefs=_beliefs_text(facts))
    if facts.plan.strata is not None:
        yield from _of_strata(facts, facts.plan.strata)
    for belief in _learned(facts):
        if isinstance(belief, Population):
            yield say("population-rows")
            yield say("population", confidence=f"{100 * belief.confidence:.6g}")
    if stated.other_rows:
        yield say("other-rows")
    if facts.release.unproved:
        yield say("from-file", beliefs=", ".join(facts.release.unproved))
    if stated.whole_rows:
        yield say(f"joint-{stated.joint}")
        if facts.request.target.delta and stated.joint != "delta":
            yield say("pure-only")
        if facts.plan.strata is None:
            of = "a row" if facts.request.unit is None else f"all rows of a {_whose(facts.plan)} together"
            yield say("joint-any-law", range=_range_text(facts), of=of, loss=f"{facts.joint_any_law:.2g}")
    elif stated.joint == "rule":
        yield say("joint-rule", range=_range_text(facts))
        yield say("shares")


def _of_units(facts: ReleaseFacts) -> Iterator[Statement]:
    """What is assumed of the rows of a unit."""
    unit, assumed = _whose(facts.plan), facts.repeats.assumed
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
    yield say("given", given=given, how=how_given(merged=bool(facts.request.merged)))
    yield say("given-alone", given=given)
    if strata.lacking:  # of a batch this would tell that the records of a stratum share their secret
        yield say("given-lacking", given=given, lacking=f"{strata.lacking:,}", strata=count)
    if len(facts.request.merged):
        merged, label = f"{len(facts.request.merged):,}", repr(facts.request.merged_as)
        yield say("strata-merged", merged=merged, minimum=f"{strata.minimum:,}", label=label, given=given)
    if strata.small:
        yield say("strata-small", minimum=f"{strata.minimum:,}", small=f"{len(strata.small):,}", strata=count)
    if strata.unbound:
        yield say("strata-unbound")


def _range_text(facts: ReleaseFacts) -> str:
    if not facts.request.domain:
        there = "" if facts.plan.strata is None else " of its stratum, or of the whole table"
        return f"the observed ranges{there}" if facts.batch is None else "the ranges of the table of the plan"
    whole = set(facts.request.domain) == set(facts.choices)
    return "the domain" if whole else "the domain, or the observed range of a column without one"


def _again(facts: ReleaseFacts, *, what: str, whose: str) -> Iterator[Statement]:
    """What is known of several releases of the same rows."""
    adds_up = (facts.coupled or all(choice.adds_up for choice in facts.choices.values())) and not facts.of_a_draw
    again, other = facts.repeats.releases > 1, facts.batch is not None
    planned = again and not (other and facts.stated.exceeds)  # of other rows, all planned releases were measured
    if other and (again or adds_up):
        if not planned:
            yield say("other-rows-again", what=what, rows=whose)
    elif adds_up and facts.coupled:
        yield say("adds-up-rows")
    elif adds_up:
        same = whose + " and listed pairs" * (not isinstance(facts.plan.protected_pairs, str))
        yield say("adds-up", what=what, rows=same, deltas=" and deltas" * (facts.request.target.delta > 0))
    elif not again:
        yield say("one-release", what=what, rows=whose, whose="the values themselves")
    if planned:
        count, factor = facts.repeats.releases, facts.repeats.of_releases(facts.request.noise)
        yield say("planned-releases", releases=f"{count:,}", rows=whose, factor=f"{factor:,.6g}")


def _composition(facts: ReleaseFacts) -> Iterator[Statement]:
    what = "these columns" if facts.several else "this column"
    whose = "records" if facts.request.unit is None else "units"
    yield from _again(facts, what=what, whose=whose)
    if facts.repeats.copies > 1:
        yield say("measured-of-all", whose="these rows" if facts.repeats.measured > 1 else "one row")
    if facts.refines:
        count, named = len(facts.refines), ", ".join(map(fingerprint_text, facts.refines))
        if facts.stated.order_assumed:
            yield say("refined-order")
        yield say("refines", earlier=f"the {count} releases" if count > 1 else "the release", fingerprints=named)
    yield say("other-columns")
    if facts.request.unit is None:
        yield say("per-record")
    yield say("learned", what="scale and losses")
    if any(isinstance(belief, Population) for belief in _learned(facts)):
        yield say("one-confidence")
    if facts.plan.is_joint or not facts.several:
        yield say("other-knowledge")


def _cautions(facts: ReleaseFacts) -> Iterator[Statement]:
    return facts.release.cautions(facts.plan)


def _losses(facts: ReleaseFacts) -> Iterator[Statement]:
    for name, choice in facts.choices.items():
        found = choice.published_loss
        if found is not None and found.refutes(Target(epsilon=found.epsilon, delta=facts.request.target.delta)):
            yield say("refuted", what=shown(name), loss=measured_text(found, delta=facts.request.target.delta))
    yield from _of_fits(facts)
    yield from _of_little_use(facts)
    for name in facts.ranges:
        yield say("range-exceeds", what=shown(name), loss=_on_own_range(facts, name))
    for name, loss in facts.release.exceeded(facts.plan).items():
        if name in facts.ranges:
            continue
        what = "a row of these columns" if facts.plan.is_joint else shown(name)
        what += f", all rows of a {_whose(facts.plan)} together," * (facts.request.unit is not None)
        yield say("observed-exceeds", what=what, found=loss)
    if facts.stated.unmeasured:
        yield say("observed-unknown")


def _of_little_use(facts: ReleaseFacts) -> Iterator[Statement]:
    """What the plan, and its bounds, warn of, which its own figures decide: nothing is said of other rows."""
    plan = facts.plan
    rows = f"the rows {'of the protected secrets ' * plan.lists_some}that the plan was made from"
    if facts.stated.useless:
        yield say("useless", columns=shown_names(facts.stated.useless))
    # of a batch nothing is said of how many rows the strata of the plan's table have
    if partly := plan.partly_useless(shares_too=facts.batch is None):
        yield say("useless-strata", parts="; ".join(f"{shown(name)} in {where}" for name, where in partly.items()))
    if off := plan.shifted_labels():
        yield say("response-shares", columns=shown_names(off), most=f"{SHIFTED:g}", times=f"{TIMES:g}")
    for key, found in (plan.little_use() | plan.worse_after(facts.release.asked)).items():
        yield say(key, columns=shown_names(found), rows=rows)


def _on_own_range(facts: ReleaseFacts, name: str) -> str:
    """What a column tells under any law on the range of rows that is wider than the one the noise is for."""
    loss, target = facts.ranges[name], facts.request.target
    of = ", of this column alone" * facts.several
    if math.isinf(loss):
        return "no bound is known"
    loss = rounded_up(loss, digits=2)
    if target.delta:
        return f"delta at most {min(1.0, loss):g} at epsilon {upper_text(target.epsilon / len(facts.choices))}{of}"
    return odds_of(loss) + of


def _of_fits(facts: ReleaseFacts) -> Iterator[Statement]:
    """Sentences about fitted models that are left out, or that decide the noise."""
    at_most = ": it needs at most twice the noise of the observed frequencies" * (facts.plan.calibration == "exact")
    of = facts.plan.strata
    strata = " of some strata" * (of is not None and not of.one_scale)
    for name, choice in facts.choices.items():
        if choice.left_out is not None:
            yield say("fit-left-out", what=shown(name))
        wide = "wide fit" in choice.remarks
        if wide and choice.binding_belief in ("fitted", "empirical"):  # "empirical": a model decides in other strata
            refuted = "refuted fit" in choice.remarks or name in facts.plan.refuted_fits
            text = ", and the table of the plan refutes it at 95 %" * refuted
            yield say("fit-decides", what=shown(name), strata=strata, refuted=text)
        elif name in facts.plan.refuted_fits:
            yield say("fit-refuted", what=shown(name), strata=strata, most=at_most * (not wide))


def _kept_and_dropped(facts: ReleaseFacts) -> Iterator[Statement]:
    entry = "secret, given or public value" if facts.plan.strata is not None else "secret or public value"
    yield from left_out(facts.plan.protected_pairs, facts.release.kept, facts.request.nulls, entry=entry)
    if any(prior.radius for choice in facts.choices.values() for prior in choice.empirical.values()):
        yield say("cells")


def _done(facts: ReleaseFacts) -> Iterator[Statement]:
    own = facts.batch is None  # what a plan needed says nothing of other rows
    if own and all(choice.none_needed for choice in facts.choices.values()):
        yield say("no-noise")
    else:
        bare = [shown(name) for name, choice in facts.choices.items() if not choice.scale]
        yield from (say("without-noise", what=name if own else f"{name} in the table of the plan") for name in bare)
    if facts.request.domain:
        ends = starmap(partial(ends_text, dates=facts.release.asked.days), facts.request.domain.items())
        yield say("clipped", ends="; ".join(ends))
    if facts.ranged:
        yield say("clipped-to-range", what=shown_names(facts.ranged))
    yield from _remapped(facts)
    for name, levels in facts.plan.levels.items() if facts.noisy else ():
        least, most = facts.plan.changed_in_strata(name)
        if not most:
            continue
        kept = f"{1 - most:.6g}" + (f" to {1 - least:.6g}, by its stratum" if least < most else "")
        yield say("randomised", what=shown(name), kept=kept, levels=f"{len(levels):,}")
    if facts.sampled:
        yield say("unit-sampled", unit=_whose(facts.plan), rows=f"{facts.repeats.rows:,}")
    if facts.release.asked.layout.shuffle:
        yield say("shuffled")
    if facts.release.asked.done:
        yield say("after", done=facts.release.asked.done)
    if any(choice.scale for name, choice in facts.choices.items() if name not in facts.plan.levels):
        yield say("grid", grid=on_first_grid(len(facts.refines)) if facts.refines else facts.request.noise.on_grid)


def _remapped(facts: ReleaseFacts) -> Iterator[Statement]:
    if facts.plan.remaps:
        table = "the table" if facts.batch is None else "the table of the plan"
        yield say("remap", what=shown_names(facts.plan.remaps), table=table, cells=CELLS * facts.coarse)
        yield say("remap-values", what=shown_names(facts.plan.remaps), table=table)


def _learned(facts: ReleaseFacts) -> list[LearnedBelief]:
    return [belief for choice in facts.choices.values() for belief in choice.learned]


def _beliefs_text(facts: ReleaseFacts) -> str:
    """The beliefs in words."""
    words = dict.fromkeys(words for choice in facts.choices.values() for words in choice.words.values())
    found = [said_of(each, others=facts.batch is not None) for each in words]
    return found[0] if len(found) == 1 else f"one of these: {'; '.join(found)}"


def wider_losses(facts: ReleaseFacts, /) -> dict[str, dict[str, float]]:
    """The losses under laws beyond the beliefs, per column, rounded up: they are statistics of the table."""
    found = _losses_of_plan(facts)
    for name, loss in facts.ranges.items():
        if loss < math.inf:
            found.setdefault(name, {})[ANY_LAW_OF_ROWS] = rounded_up(loss, digits=2)
    return found


def _losses_of_plan(facts: ReleaseFacts) -> dict[str, dict[str, float]]:
    """Under laws beyond its beliefs.

    For strata, and for columns whose scales were found together, only the largest loss under any law is known, and only
    for pure privacy: within a stratum the loss of the whole range at its scales. Of independent rows of a unit the pure
    losses add; where nothing is assumed of them, those of any law.
    """
    target = facts.request.target
    delta = target.delta
    if facts.plan.is_joint or facts.plan.strata is not None:
        most = facts.any_law_of_rows
        return {} if delta or most is None else {name: {"any law": most} for name in facts.choices}
    losses = {
        name: {
            laws: facts.repeats.of_unit(found.loss(delta=delta).upper, any_law=laws == ANY_LAW, delta=delta)
            for laws, found in choice.wider.items()
        }
        for name, choice in facts.choices.items()
    }
    return {
        name: {laws: stated_loss(loss, target.most) for laws, loss in found.items() if not math.isnan(loss)}
        for name, found in losses.items()
    }


def _wider(facts: ReleaseFacts) -> Iterator[Statement]:
    """The loss at the scale under wider laws, per column; of whole rows where their scales were found together."""
    delta, losses = facts.request.target.delta, wider_losses(facts)
    table = "the table" if facts.batch is None else "the table of the plan"
    whole = facts.plan.is_joint or facts.plan.strata is not None
    parts = []
    for name, choice in list(facts.choices.items())[: 1 if whole else None]:
        where = "on the domain" if name in facts.request.domain and not whole else f"on the range of {table}"
        of = f", of {shown(name)} alone" if facts.several and not whole else ""
        of += ", of a row of these columns" * (facts.several and whole and facts.repeats.shares == 1)
        of += f", of all rows of a {_whose(facts.plan)} together" * (facts.repeats.shares > 1)
        for laws, words in (
            ("population", f"any law that {table} does not refute at 95 %"),
            ("any law", f"any law {where}"),
        ):
            loss = losses.get(name, {}).get(laws)
            if loss is None and laws == "any law" and facts.plan.is_joint and facts.plan.strata is None:
                most = odds_of(facts.joint_any_law)  # as "joint-any-law" says
            elif loss is None:
                most = "not computed"
            elif delta:
                at = facts.repeats.shares * choice.wider[laws].epsilon
                most = f"delta at most {loss:g} at epsilon {upper_text(at)}"
            else:
                most = odds_of(loss)
            parts.append(f"under {words}{of}: {most}")
    yield say("wider", losses="; ".join(parts))
