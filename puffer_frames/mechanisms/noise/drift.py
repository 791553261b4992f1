"""What rows lose at the scales of a plan of noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError, PufferError
from puffer_frames.frames.columns import NativeFrame, as_names
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.frames.table import open_table
from puffer_frames.loss.engine import Laws, belief_loss
from puffer_frames.loss.outcome import Verification, excess_text
from puffer_frames.mechanisms.batch_report import (
    BEYOND,
    RECALIBRATE,
    REFUSED,
    WITHIN,
    Finding,
    beyond,
    drift_finding,
    finding,
    new_secrets,
    rows_found,
)
from puffer_frames.mechanisms.file_checks import agree, check_columns, is_close
from puffer_frames.mechanisms.noise.fitted import (
    NoiseFit,
    as_columns,
    choices_of,
    factor_of,
    for_parts,
    kind_of_stratum,
    larger,
)
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen, constants_of
from puffer_frames.mechanisms.request import Request, as_planned
from puffer_frames.noise.column_noise import unknown_stratum
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.records import refused
from puffer_frames.papers.catalogue import (
    BERNOULLI,
    BOUNDED,
    GAUSSIAN,
    KANTOROVICH,
    MIXTURE,
    MIXTURES,
    PUBLISHED_FOR,
    THEOREMS,
    TRANSLATION,
    UBM,
)
from puffer_frames.priors.fitting import group_moments
from puffer_frames.priors.law_set import is_refuted, is_too_wide
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Counts, JointCounts, Summary
from puffer_frames.scales.beliefs import ONLY, learn
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.columns import again, choose_columns, loss_on_range, measure_observed, range_of
from puffer_frames.scales.drift import Batch, is_within, protected_here
from puffer_frames.scales.joint.columns import bounded_labels
from puffer_frames.scales.joint.coupled import measured, prior_of, unrounded, varies_in
from puffer_frames.scales.learned import OtherTable, observed_belief
from puffer_frames.scales.strata import Strata, StrataChoices, Stratum

F = TypeVar("F", bound=NoiseFit)
L = TypeVar("L", Verification, Verification | None)
_ROUNDING = 1 + 1e-9
_WIDER = 1.001
"""A plan is not refused where the bracket of the loss of a belief ends so much above what was asked for: that of all
beliefs together was confirmed. The certificate says that the loss under this one was not computed again."""
_FIT = 1e-3
"""The moments of a fitted law may differ from those of the rows by this share of the spread of the column."""


def measure_rows(plan: NoiseFit, seen: RowsSeen, /) -> Batch:
    """The loss under the frequencies of rows that were counted as those of the plan.

    Raises CalibrationError for a secret or a stratum that the plan does not know.
    """
    if plan.strata is None:
        for_range = has_noise_for_range(plan.request, plan.choices)
        return measure_part(plan, seen.protected(plan.request), plan.scales, for_range=for_range)
    known, found, own = plan.strata.scales, [], len(plan.request.secret)
    for z, part in seen.by_stratum(own).items():
        if z not in known:
            raise unknown_stratum("others")
        for_range = has_noise_for_range(plan.request, plan.strata.choices[z], small=z in plan.strata.small)
        found.append(measure_part(plan, part.protected(plan.request), known[z], for_range=for_range))
    return Batch.of_strata(found)


def target_of(plan: NoiseFit, /) -> Target:
    """What the noise of one value must meet."""
    request = plan.request
    return request.repeats.asked(request.target, noise=request.noise, columns=len(plan.scales))


def of_one_copy(plan: NoiseFit, scales: Mapping[str, float], /) -> dict[str, float]:
    """The scales of one noisy copy of a value, where there are several."""
    factors = {name: factor_of(plan.request, name) for name in scales}
    return {name: s / factors[name] * (1 - 2.0**-50) if factors[name] > 1 else s for name, s in scales.items()}


def has_noise_for_range(request: Request, choices: Mapping[str, Choice], /, *, small: bool = False) -> bool:
    """Whether the noise of columns is for their ranges, whatever the law, and not the least that some beliefs need."""
    bounded = all(choice.theorem is BOUNDED for choice in choices.values())
    return bounded and (small or len(choices) > 1 or request.calibration == "theorem")


def measure_part(plan: NoiseFit, seen: RowsSeen, scales: Mapping[str, float], /, *, for_range: bool = False) -> Batch:
    """The same for all rows or those of a stratum, by what is protected, at the scales that they have.

    With `for_range` their values are held to the range that the noise is for.
    """
    request = plan.request
    repeats, used = request.repeats, of_one_copy(plan, scales)
    target = repeats.asked(request.target, noise=request.noise, columns=len(scales))
    if seen.joint is None:
        return _measure_columns(plan, seen, used, target, for_range=for_range)
    all_scales = {n: s / repeats.copies for n, s in plan.all_scales.items() if n in plan.levels} | used
    if plan.is_joint:
        return _measure_rows(plan, seen.joint, all_scales, target)
    found = _measure_labels(plan, seen.joint, all_scales, target)
    if seen.summaries:
        found = _measure_columns(plan, seen, all_scales, target, for_range=for_range).beside(found)
    if request.noise != PUBLISHED_FOR:  # of which no loss of whole rows is known
        return found
    together = _measure_rows(plan, seen.joint, all_scales, target)
    # noise for ranges covers every law on them: a bracket that ends just above epsilon is no reason against it
    exceeded = {**found.exceeded, **together.exceeded} if found.exceeded else {}
    return replace(found, observed=together.observed, exceeded=exceeded)


_OF_ONE_COPY = 2.0**-48
"""More than rounding takes off the scale of one of several noisy copies."""


def _measure_columns(
    plan: NoiseFit, seen: RowsSeen, scales: Mapping[str, float], target: Target, *, for_range: bool
) -> Batch:
    """Each column of numbers by itself, in cells as narrow as those of the plan; all that have scales share the target.

    Noise for ranges holds for values within them: several columns are held to these too, beside their shares.
    """
    known = {name: choice.empirical.values() for name, choice in plan.choices.items() if name in seen.summaries}
    seen = seen.in_widths({name: 2 * max(prior.radius for prior in priors) for name, priors in known.items()})
    first, noise, rows = next(iter(seen.summaries.values())), plan.request.noise, plan.request.repeats.measured
    for_range |= len(scales) > 1
    present, listed, _ = protected_here(first.counts, known=plan.rows_per_secret, pairs=plan.pairs)
    observed, exceeded, ranges = {}, {}, {}
    share = target.share(len(scales))
    asked = noise.unrounded(share)
    for name, summary in seen.summaries.items():
        counts = {secret: summary.counts[secret] for secret in present}
        width = range_of(counts, plan.clipped.get(name), radius=summary.radius) if for_range and counts else 0.0
        if noise.hide_on_grid(width, share) > scales[name] * (1 + _OF_ONE_COPY):
            exceeded[name] = "a wider range than the plan was made for"
            ratio = math.inf if is_too_wide(0.0, width) else _ratio_on_range(width, scales[name], asked, noise, rows)
            ranges[name] = plan.request.target.most / len(scales) * ratio
        if len(present) < 2 or not listed:
            continue
        belief = observed_belief(counts, radius=summary.radius)
        found = measure_observed(belief, scales[name], asked, pairs=listed, noise=noise, rows=rows)
        if found is not None:
            observed[name] = found
        if for_range:  # holds under any law
            continue
        if found is None:
            exceeded[name] = "a loss that cannot be computed: too many pairs of secrets"
        elif not found.confirms(asked):
            exceeded[name] = excess_text(found, asked, rows=plan.request.repeats.shares)
    return Batch(observed=observed, exceeded=exceeded, ranges=ranges)


def _measure_labels(plan: NoiseFit, joint: JointCounts, scales: Mapping[str, float], target: Target) -> Batch:
    """Each column of labels by itself, beside noise for ranges: its share is for any law on its levels."""
    share, found = target.share(len(scales)), Batch(observed={}, exceeded={})
    for k, labels in joint.labels.items():
        name, laws = joint.columns[k], {secret: prior_of(rows, k) for secret, rows in joint.counts.items()}
        counts = {secret: (law.means[:, None], law.levels[0]) for secret, law in laws.items()}
        alone = JointCounts(columns=(name,), counts=counts, labels={0: labels})
        exceeded = {}
        if varies_in((joint,), k) and scales[name] * share.epsilon * (1 + _OF_ONE_COPY) < 1:
            exceeded = {name: "fewer changed labels than the levels need"}
        own = Batch(observed=_measure_rows(plan, alone, scales, share).observed, exceeded=exceeded)
        found = found.beside(own)
    return found


def _ratio_on_range(width: float, scale: float, asked: Target, noise: NoiseFamily, rows: int) -> float:
    """How many times what was asked for any law on a wider range loses: what the grid costs is paid in proportion."""
    found = loss_on_range(width, scale, asked, noise=noise, rows=rows).loss(delta=asked.delta)
    return max(1.0, found.upper / asked.most)


def _measure_rows(plan: NoiseFit, joint: JointCounts, scales: Mapping[str, float], target: Target) -> Batch:
    """Whole rows, of columns whose scales were found together."""
    present, listed, _ = protected_here(joint.counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not listed:
        return Batch(observed={}, exceeded={})
    counted = replace(joint, counts={secret: joint.counts[secret] for secret in present})
    asked = unrounded(target, noise=plan.request.noise, columns=len(joint.columns))
    levels = {k: len(plan.levels[name]) for k, name in enumerate(joint.columns) if name in plan.levels}
    used, rows = [scales[name] for name in joint.columns], plan.request.repeats.measured
    found, _ = measured(counted, used, asked, pairs=listed, levels=levels, rows=rows)
    text = excess_text(found, asked, rows=plan.request.repeats.shares)
    exceeded = {} if found.confirms(asked) else {", ".join(joint.columns): text}
    return Batch(observed=dict.fromkeys(joint.columns, found), exceeded=exceeded)


def restated(plan: F, /) -> F:
    """A plan from a file, with what a release states of its scales: computed anew from the counts in the file.

    The file holds no whole rows of strata, and of columns whose scales were found together: each column alone loses at
    most what all do, and `Plan.release` measures the rows of the plan.

    Raises PlanFileError where the observed frequencies, or a belief that follows from them, lose more than the file
    says, or anything else that is stated is not so.
    """
    if plan.strata is not None:
        return plan
    if plan.is_joint:
        _check_each(plan)
        return plan
    restate = _restated_ranges if len(plan.choices) > 1 else _restated_column
    return replace(plan, choices=restate(plan))


def unproved_beliefs(plan: NoiseFit, seen: RowsSeen, /, *, own_rows: bool) -> tuple[str, ...]:
    """Beliefs of a plan from a file under which the loss was not computed again, neither by the file nor by its rows.

    Raises PlanFileError where these are the rows of the plan, and it says something else than they do.
    """
    near = _check_own_rows(plan, seen) if own_rows else set[str]()
    named = dict.fromkeys(belief for choice in plan.choices.values() for belief in choice.words)
    if not own_rows and (plan.strata is not None or plan.is_joint):
        return tuple(named)
    return tuple(name for name in named if name in near or name.startswith(("given ", "other table")))


def _check_own_rows(plan: NoiseFit, seen: RowsSeen) -> set[str]:
    """Raise PlanFileError where a plan from a file says something else than the rows that it was made from.

    Gives the beliefs under which these do not prove what was asked for, nor refute it.
    """
    near = set[str]()
    batch, alone = measure_rows(plan, seen), seen.joint is None or plan.is_joint
    if batch.ranges or (batch.exceeded and not alone):
        raise refused("noise that is not for the range of its own rows")
    for name, found in batch.observed.items() if alone else ():
        same = agree(plan.choices[name].observed, found)
        if not same and not found.confirms(target_of(plan)):
            raise refused("a scale at which its own rows lose more than was asked for")
        if not same and plan.strata is None:
            raise refused("another loss than that of its own rows")
    if plan.strata is None:
        own = seen.protected(plan.request)
        _check_values(plan, own)
        _check_remaps(plan, seen)
        if plan.is_joint:
            near = _check_needs(plan, plan.request, own, plan.choices, pairs=plan.pairs, named=plan.secrets)
    counts: Mapping[Secret, int] = seen.protected(plan.request).rows_per_secret
    if plan.strata is not None:
        counts, near = _check_strata(plan, plan.strata, seen.by_stratum(len(plan.request.secret)))
        radii = {name: summary.radius for name, summary in seen.summaries.items() if name in plan.scales}
        if any(plan.summaries[name].radius != radius for name, radius in radii.items()):
            raise refused("values in other cells than those of its own rows")
    if counts != dict(plan.rows_per_secret):
        raise refused("other numbers of rows than its own")
    return near


def _check_needs(
    plan: NoiseFit,
    request: Request,
    rows: RowsSeen,
    choices: Mapping[str, Choice],
    *,
    pairs: Pairs,
    named: Sequence[Secret],
) -> set[str]:
    """Raise PlanFileError where all rows, or those of a stratum, need more noise under a belief that follows from them,
    or do not have the coupling that the scales are said to rest on.

    Gives the beliefs under which the bracket of the loss ends just above what was asked for.
    """
    near = set[str]()
    beliefs = [entry for entry in request.beliefs if not isinstance(entry, JointCounts)]
    whole_rows = all(choice.theorem.whole_rows for choice in choices.values())
    if beliefs == [ONLY] or (len(choices) > 1 and not whole_rows):  # of other tables alone; the range was measured
        return near
    known = of_one_copy(plan, {name: choice.scale for name, choice in choices.items()}) if whole_rows else None
    asked = replace(request, beliefs=beliefs)
    try:
        found = choices_of(asked, rows, pairs=pairs, named=list(named), known=known)
    except CalibrationError:
        raise refused("a scale that its own rows do not lead to") from None
    for name, one in found.items():
        if not whole_rows:
            if choices[name].scale < one.scale / _ROUNDING:
                raise refused("a smaller scale than its own rows need")
            continue
        if one.theorem is not choices[name].theorem:
            raise refused("a coupling that its own rows do not have")
        for belief, loss in one.verified.items():
            stored = plan.choices[name].verified[belief]
            same = is_within(loss, stored, delta=0.0) and is_within(loss, stored, delta=1.0)
            if not same or not (one.theorem.coupled or _nearly_confirms(loss, target_of(plan))):
                raise refused("a scale at which its own rows lose more than the file says")
            if not (one.theorem.coupled or loss.confirms(target_of(plan))):
                near.add(belief)
    return near


def _nearly_confirms(loss: Verification, target: Target) -> bool:
    pure, stick = (found.upper / _WIDER for found in (loss.pure_loss, loss.hockey_stick))
    return pure <= target.epsilon or stick <= target.delta


def _check_values(plan: NoiseFit, seen: RowsSeen) -> None:
    """Raise PlanFileError where a value or label occurs more or less often than the file says; cells may be wider."""
    for name, stored in plan.summaries.items():
        found = seen.summaries.get(name)
        if found is None:
            continue
        found = seen.in_widths({name: 2 * stored.radius}).summaries[name]
        if found.radius > stored.radius or (stored.radius and not found.radius):
            raise refused("values in other cells than those of its own rows")
        for secret, (values, often) in stored.counts.items() if found.radius == stored.radius else ():
            own, counts = found.counts[secret]
            if not (np.array_equal(own, values) and np.array_equal(counts, often)):
                raise refused("other values than those of its own rows")
    if seen.joint is None:
        return
    for k in seen.joint.labels:
        laws = plan.choices[seen.joint.columns[k]].empirical
        for secret, law in laws.items():  # of listed pairs their secrets alone
            held = prior_of(seen.joint.counts[secret], k)
            if law.means.tolist() != held.means.tolist() or law.levels[0].tolist() != held.levels[0].tolist():
                raise refused("other labels than those of its own rows")


def _check_remaps(plan: NoiseFit, seen: RowsSeen) -> None:
    """Raise PlanFileError where all rows, of which the file of listed pairs has some, lead to another remap."""
    for name, remap in plan.remaps.items() if plan.lists_some else ():
        noise = plan.noise(plan.scales[name])
        if noise is not None and not remap.is_that_of(seen.summaries[name], noise):
            raise refused("noisy values that are replaced by others than its own rows lead to")


def _check_strata(
    plan: NoiseFit, strata: StrataChoices, parts: Mapping[Stratum, RowsSeen]
) -> tuple[Mapping[Secret, int], set[str]]:
    """Raise PlanFileError for other strata than these, or smaller scales than theirs; the rows of each secret, and the
    beliefs that `_check_needs` gives.
    """
    merged = RowsSeen.merged(list(parts.values())).protected(plan.request)
    whole, asked, everywhere = merged.rows_per_secret, for_parts(plan.request, merged), replace(merged, joint=None)
    least, rows = 0 if strata.one_scale else strata.minimum, {}
    kinds, constants, near = {}, {}, set[str]()
    for z, part in parts.items():
        own = part.protected(plan.request)
        rows[z] = sum(part.rows_per_secret.values())
        kind = kinds[z] = kind_of_stratum(own.rows_per_secret, whole, pairs=plan.pairs, minimum=least)
        if kind.small and merged.summaries:
            if measure_part(plan, everywhere, strata.scales[z], for_range=True).ranges:
                raise refused("noise that is not for the range of its own rows")
        elif not (kind.small or kind.unbound):
            near |= _check_needs(plan, asked, own, strata.choices[z], pairs=kind.pairs, named=kind.secrets)
            constants[z] = constants_of(own, kind.secrets, request=plan.request)
    small, unbound = ({z for z, kind in kinds.items() if getattr(kind, name)} for name in ("small", "unbound"))
    said = (dict(strata.rows), set(strata.small), set(strata.unbound), strata.lacking)
    if said != (rows, small, unbound, sum(kind.lacks for kind in kinds.values())):
        raise refused("other strata than those of its own rows")
    for z, stated in strata.constants.items():
        if not all(is_close(stated[name], constant) for name, constant in constants[z].items()):
            raise refused("other constants than those of its own rows")
    return whole, near


def _restated_column(plan: NoiseFit) -> dict[str, Choice]:
    """The only column."""
    request, factor = plan.request, plan.request.repeats.factor(plan.request.noise)
    ((name, choice),) = plan.choices.items()
    summary = plan.summaries[name]
    if not _is_model(choice, request, summary):
        raise refused("a model that is not one of these rows")
    exact, published = request.calibration == "exact", choice.published_scale
    anew, is_least = again(
        replace(
            choice,
            scale=of_one_copy(plan, plan.scales)[name],
            published_scale=None if published is None else published / factor,
        ),
        summary.counts,
        target_of(plan),
        as_columns(request, {name: summary}, plan.pairs)[name],
        needed=choice.scale_per_belief.get("fitted", 0.0) / factor,
    )
    if choice.left_out is not None:
        theorem, fitted, _ = learn(summary.counts, theorem=request.theorem, radius=summary.radius)
        laws = len(summary.counts)
        if theorem.discrete or not any(is_refuted(fitted[s], pair, laws=laws) for s, pair in summary.counts.items()):
            raise refused("a fitted model that is left out, and that its rows do not refute")
    anew = replace(anew, published_scale=larger(anew, factor).published_scale, none_needed=_needs_none(plan, anew))
    if not is_least or (not exact and choice.scale < (anew.published_scale or 0.0) / _ROUNDING):
        raise refused("a scale that is not the one that was asked for")
    return {name: _agreed(choice, anew)}


def _restated_ranges(plan: NoiseFit) -> dict[str, Choice]:
    """Several columns, each with noise for its range."""
    request = plan.request
    target, summaries = target_of(plan), plan.summaries
    found = {}
    if summaries:
        columns = as_columns(replace(request, allow_zero_noise=True), summaries, plan.pairs)
        columns = {name: replace(one, extent=plan.choices[name].bounds or one.extent) for name, one in columns.items()}
        counts = {name: summary.counts for name, summary in summaries.items()}
        found = choose_columns(counts, target, columns, others=len(plan.levels))
    found |= bounded_labels(_labels_alone(plan), target.share(len(plan.choices))) if plan.levels else {}
    restated = {}
    for name, choice in plan.choices.items():
        one = larger(found[name], factor_of(request, name))
        if not one.scale / _ROUNDING <= choice.scale <= one.scale * _ROUNDING:
            raise refused("a scale that is not that of the range of the column")
        restated[name] = replace(one, scale=choice.scale, none_needed=_needs_none(plan, one))
    return restated


def _needs_none(plan: NoiseFit, choice: Choice) -> bool:
    """Whether no noise is needed; what one row needs says nothing of a unit whose rows may be anything."""
    return not choice.scale if plan.request.repeats.assumed == "any" else choice.none_needed


def _labels_alone(plan: NoiseFit) -> JointCounts:
    """Rows with the labels of the plan, each column as often as it has them; not side by side as in the table."""
    names = list(plan.levels)
    counts = {}
    for secret in plan.secrets:
        priors = [plan.choices[name].empirical[secret] for name in names]
        points = np.stack([np.repeat(prior.means, prior.levels[0].astype(np.intp)) for prior in priors], axis=1)
        counts[secret] = points, np.ones(len(points), dtype=np.int64)
    return JointCounts(columns=tuple(names), counts=counts, labels=dict(enumerate(plan.levels.values())))


def _is_model(choice: Choice, request: Request, summary: Summary) -> bool:
    """Whether the theorem is one that was asked for, and its fitted priors have the moments of the rows."""
    theorem, auto = choice.theorem, request.theorem == "auto"
    if theorem.discrete:
        two = len({float(value) for values, _ in summary.counts.values() for value in values}) == 2
        named = (BERNOULLI if two else KANTOROVICH) if auto else THEOREMS[request.theorem]
        return theorem is named and choice.priors in ({}, choice.empirical)
    named_ones = (TRANSLATION, GAUSSIAN, MIXTURE) if auto else (THEOREMS[request.theorem],)
    if theorem not in named_ones or set(choice.priors) != set(summary.counts):
        return False
    means, stds = group_moments(list(summary.counts.values()))
    if theorem is UBM:  # whose priors have one variance per component, not that of the rows
        own = learn(summary.counts, theorem=UBM.name, components=request.components)[1].values()
        means, stds = (np.array([getattr(prior, name) for prior in own]) for name in ("mean", "std"))
    spread = max(float(np.ptp(means)), float(stds.max()))
    fits = [abs(prior.mean - mean) <= _FIT * spread for prior, mean in zip(choice.priors.values(), means, strict=True)]
    if theorem is not TRANSLATION:
        fits += [abs(prior.std - std) <= _FIT * spread for prior, std in zip(choice.priors.values(), stds, strict=True)]
    single = all(prior.means.size == 1 for prior in choice.priors.values())
    return all(fits) and (single or theorem in MIXTURES)


def _agreed(stored: Choice, found: Choice) -> Choice:
    """A choice from a file where it says what was found; of losses that agree up to rounding those of the file."""
    lacking = set(found.words) - set(found.verified)
    same = set(stored.beliefs) == set(found.words) == set(stored.verified)
    same = same and stored.none_needed == found.none_needed and stored.remarks == found.remarks
    same = same and (stored.adds_up == found.adds_up or bool(lacking)) and set(stored.wider) == set(found.wider)
    if not same or not is_close(stored.published_scale, found.published_scale):
        raise refused("something else of a scale than what follows from it")
    verified = dict(stored.verified) | {
        name: _restated_loss(stored.verified[name], one) for name, one in found.verified.items()
    }
    return replace(
        stored,
        words=found.words,
        priors=found.priors,
        adds_up=stored.adds_up and found.adds_up,
        verified=verified,
        wider={name: _restated_loss(stored.wider[name], one) for name, one in found.wider.items()},
        observed=_restated_loss(stored.observed, found.observed),
        published_loss=_restated_loss(stored.published_loss, found.published_loss),
    )


def _restated_loss(stored: L, found: L) -> L:
    """A loss from a file where it is what was found up to rounding, else what was found; raises PlanFileError for one
    that cannot be the same.
    """
    if not agree(stored, found):
        raise refused("a scale at which more is lost than the file says, or less")
    if stored is None or found is None:
        return found
    ends = [
        (getattr(getattr(stored, kind), end), getattr(getattr(found, kind), end))
        for kind in ("pure_loss", "hockey_stick")
        for end in ("lower", "upper")
    ]
    return stored if all(math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) for one, other in ends) else found


def _check_each(plan: NoiseFit) -> None:
    """Raise PlanFileError where a column alone loses more than the file says that all do."""
    for name, levels in plan.levels.items():
        stored = plan.choices[name].observed
        if stored is None or _least_loss(plan, name, len(levels)) > stored.pure_loss.upper * _ROUNDING + _ROUNDING - 1:
            raise refused("a share of changed labels at which the observed frequencies lose more than the file says")
    for name, summary in plan.summaries.items():
        batch = measure_part(plan, RowsSeen(summaries={name: summary}), {name: plan.scales[name]})
        for column, found in batch.observed.items():
            stored = plan.choices[column].observed
            if stored is None or not is_within(found, stored, delta=plan.request.target.delta):
                raise refused("a scale at which the observed frequencies lose more than the file says")


def _least_loss(plan: NoiseFit, name: str, levels: int) -> float:
    """The loss of a column of labels by itself, under the observed frequencies."""
    choice, copies = plan.choices[name], plan.request.repeats.factor(plan.request.noise)
    other = math.exp(-copies / choice.scale) if choice.scale else 0.0
    laws = {}
    for secret, prior in choice.empirical.items():  # the law of a changed label, but for a factor common to all secrets
        shares = np.zeros(levels)
        shares[prior.means.astype(np.intp)] = prior.weights
        laws[secret] = shares * (1 - other) + other
    pairs = list(combinations(laws, 2)) if plan.pairs == "all" else plan.pairs
    return max(_log_ratio(laws[first], laws[second]) for first, second in pairs)


def _log_ratio(one: FloatArray, two: FloatArray) -> float:
    """The largest of the ratio of two laws, whichever is above."""
    held = (one > 0) | (two > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(one[held]) - np.log(two[held])).max())


MOST_STRATA = 10_000
"""Different values of the columns together, at most."""


def losses_given(
    plan: NoiseFit, frame: NativeFrame, columns: str | Sequence[str], /, *, kinds: Mapping[str, str]
) -> Mapping[str, list[Any]]:
    """The loss to a reader who sees further columns: as `Plan.loss_given`."""
    request = plan.request
    frame = as_planned(request, frame)
    table = open_table(frame)
    names = tuple(dict.fromkeys(as_names(columns, table.labels, role="columns")))
    more = tuple(name for name in names if name not in request.given_columns)
    if request.repeats.assumed == "any" and request.repeats.rows > 1:
        raise ArgumentError(
            "the plan whose loss_given() is called",
            rule='without Unit(..., rows="any"): its loss is within epsilon whatever other columns tell',
            got="one",
            hint="Take epsilon.",
        )
    if not more:
        raise ArgumentError(
            "columns",
            rule="columns on which the guarantee does not condition already",
            got="given columns alone" if names else "none",
            hint="Name a column that is to be kept.",
        )
    given = (*request.given_columns, *more)
    roles = Roles.of(secret=request.secret, public=request.public, given=given)
    check_columns(table, request, roles, kinds=kinds)
    asked = replace(request, given=Strata(given), given_columns=given)
    rows = table.complete(asked.counting(roles), nulls=request.nulls, layout=None)
    seen = RowsSeen.for_plan(rows, asked, plan.clipped, joint=plan.is_joint)
    strata = seen.by_stratum(len(request.secret))
    if len(strata) > MOST_STRATA:
        raise ArgumentError(
            "columns", rule=f"of at most {MOST_STRATA:,} values together", got="more", hint="Take coarser columns."
        )
    found = [(z, *_measured(plan, part, z[: len(request.given_columns)])) for z, part in strata.items()]
    whole = _by_own(plan, strata)
    # rows of a unit that have this value each tell as much, as far as they are independent
    times = request.repeats.rows if request.repeats.assumed == "independent" else 1
    told = {z: times * _told(plan, counts, whole[z[: len(request.given_columns)]]) for z, _, counts, _ in found}
    own = [(z, n, loss, told[z]) for z, n, _, loss in found]
    own.sort(key=lambda row: (-1.0 if math.isnan(row[2]) else row[2], row[3]), reverse=True)
    shown: dict[str, list[Any]] = {name: [str(row[0][k]) for row in own] for k, name in enumerate(given)}
    return shown | {"rows": [row[1] for row in own], "loss": [row[2] for row in own], "told": [row[3] for row in own]}


def _measured(plan: NoiseFit, part: RowsSeen, given: tuple[Any, ...]) -> tuple[int, dict[Secret, int], float]:
    """Rows, rows per secret, and the loss of the noisy values among them, of all rows of a unit together."""
    scales = plan.scales
    if plan.strata is not None:
        if given not in plan.strata.scales:
            raise CalibrationError(
                "the strata of the frame", rule="strata of the plan", got="others", hint="Calibrate this frame."
            )
        scales = dict(plan.strata.scales[given])
    protected = part.protected(plan.request)
    counts = protected.rows_per_secret
    batch = measure_part(plan, protected, scales)
    delta, repeats = plan.request.target.delta, plan.request.repeats
    losses = [repeats.of_unit(each.loss(delta=delta).upper, delta=delta) for each in batch.observed.values()]
    return sum(part.rows_per_secret.values()), counts, max(losses, default=math.nan)


def _by_own(plan: NoiseFit, strata: dict[Any, RowsSeen]) -> dict[tuple[Any, ...], dict[Secret, int]]:
    """Rows per secret of each stratum of the plan's own given columns."""
    found: dict[tuple[Any, ...], dict[Secret, int]] = {}
    for z, part in strata.items():
        counts = found.setdefault(z[: len(plan.request.given_columns)], {})
        for secret, rows in part.protected(plan.request).rows_per_secret.items():
            counts[secret] = counts.get(secret, 0) + rows
    return found


def _told(plan: NoiseFit, counts: dict[Secret, int], whole: dict[Secret, int]) -> float:
    """How far the columns alone change the log-odds of a protected pair."""
    pairs = combinations(whole, 2) if plan.pairs == "all" else plan.pairs
    told = 0.0
    for one, two in pairs:
        here = counts.get(one, 0), counts.get(two, 0)
        if not any(here) or not (whole.get(one) and whole.get(two)):
            continue
        if not all(here):
            return math.inf
        told = max(told, abs(math.log(here[0] / here[1]) - math.log(whole[one] / whole[two])))
    return told


def findings_of(plan: NoiseFit, seen: RowsSeen, raw: Mapping[str, Summary], /) -> list[Finding]:
    """What there is to say of rows that were counted as those of the plan.

    - `seen`: The rows, their values clipped as a release clips them.
    - `raw` (mapping of column to Summary): The same without clipping.
    """
    whole, column = _whole(plan, seen), ", ".join(plan.request.secret)
    new = new_secrets(column, plan.rows_per_secret, whole.rows_per_secret)
    strange = [*new, *_new_strata(plan, seen), *_new_levels(plan, seen)]
    findings = [*strange, *rows_found(column, plan.rows_per_secret, whole.rows_per_secret)]
    if not strange:
        findings += _losses(plan, measure_rows(plan, seen))
        findings += _other_beliefs(plan, whole)
    return [*findings, *_drift(plan, whole), *_beyond(plan, raw)]


def _whole(plan: NoiseFit, seen: RowsSeen) -> RowsSeen:
    """All rows, by what is protected."""
    if plan.request.given is not None:
        seen = RowsSeen.merged(list(seen.by_stratum(len(plan.request.secret)).values()))
    return seen.protected(plan.request)


def _new_strata(plan: NoiseFit, seen: RowsSeen) -> Iterator[Finding]:
    if plan.strata is None:
        return
    parts = seen.by_stratum(len(plan.request.secret))
    new = {z: sum(part.rows_per_secret.values()) for z, part in parts.items() if z not in plan.strata.choices}
    if new:
        column = ", ".join(plan.strata.given)
        yield finding("new stratum", column, f"{len(new)} strata", sum(new.values()), verdict=REFUSED)


def _new_levels(plan: NoiseFit, seen: RowsSeen) -> Iterator[Finding]:
    if seen.joint is None:
        return
    for name, known in plan.levels.items():
        place = seen.joint.columns.index(name)
        typed = {(type(level), level) for level in known}
        new = [k for k, level in enumerate(seen.joint.labels[place]) if (type(level), level) not in typed]
        if new:
            rows = sum(int(often[np.isin(points[:, place], new)].sum()) for points, often in seen.joint.counts.values())
            yield finding("new level", name, f"{len(new)} levels", rows, verdict=REFUSED)


def _check(plan: NoiseFit) -> str:
    """What a loss is of: one row where the rows of a unit share epsilon."""
    return "loss of a row" if plan.request.repeats.shares > 1 else "loss"


def _losses(plan: NoiseFit, batch: Batch) -> Iterator[Finding]:
    """Under the frequencies of the rows themselves, which decide: of each column, or of whole rows."""
    target, columns = target_of(plan), list(plan.choices)
    of_rows = plan.is_joint or (bool(plan.levels) and plan.request.noise == PUBLISHED_FOR)
    limit = target.delta or target.share(1 if of_rows else len(columns)).epsilon
    wider, check = [name for name in columns if name in batch.ranges], _check(plan)
    exceeded = set(batch.exceeded) - set(wider)
    for name in [", ".join(plan.request.public)] if of_rows else columns:
        measured = batch.observed.get(columns[0] if of_rows else name)
        more = bool(exceeded) if of_rows else name in exceeded
        figure = math.nan if measured is None else measured.loss(delta=target.delta).upper
        if measured is not None or more:
            beyond = more or (bool(wider) and figure > limit)
            yield finding(check, name, "empirical", figure, limit=limit, verdict=RECALIBRATE if beyond else WITHIN)
    for name in wider:
        most = plan.request.target.most / len(columns)
        yield finding("range", name, "any law", batch.ranges[name], limit=most, verdict=RECALIBRATE)


def _other_beliefs(plan: NoiseFit, whole: RowsSeen) -> Iterator[Finding]:
    """Under the other beliefs of a plan of one column, learned from these rows."""
    if len(plan.choices) > 1 or plan.strata is not None or whole.joint is not None:
        return
    ((name, choice),) = plan.choices.items()
    summary = whole.summaries[name]
    present, pairs, _ = protected_here(summary.counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not pairs:
        return
    counts = {secret: summary.counts[secret] for secret in present}
    noise = plan.request.noise
    asked = noise.unrounded(target_of(plan))
    scale = of_one_copy(plan, plan.scales)[name]
    for belief, laws in _learned_anew(plan, choice, counts, summary.radius):
        with suppress(PufferError):  # too many pairs
            engine = belief_loss(laws, pairs=pairs, noise=noise, rows=plan.request.repeats.measured)
            found = measure(engine, scale, asked)[0]
            verdict = WITHIN if found.confirms(asked) else BEYOND
            figure = found.loss(delta=asked.delta).upper
            yield finding(_check(plan), name, belief, figure, limit=asked.most, verdict=verdict)


def _learned_anew(
    plan: NoiseFit, choice: Choice, counts: Mapping[Secret, Counts], radius: float
) -> Iterator[tuple[str, Laws | Sequence[Laws]]]:
    """The beliefs that these rows give under the names of the plan's; none of side knowledge and other tables."""
    if "fitted" in choice.beliefs:
        with suppress(PufferError):
            request = plan.request
            yield "fitted", learn(counts, theorem=choice.theorem.name, components=request.components, radius=radius)[1]
    named = [name for name in choice.beliefs if name not in ("fitted", "empirical") and not name.startswith("given")]
    for name, learned in zip(named, choice.learned, strict=False):
        if isinstance(learned, OtherTable):
            continue
        with suppress(PufferError):
            yield name, learned.laws(counts, bounds=choice.bounds, radius=radius)


def _drift(plan: NoiseFit, whole: RowsSeen) -> Iterator[Finding]:
    """How far the law of each column given each secret is from that of the plan."""
    for name, choice in plan.choices.items():
        if name in plan.levels and whole.joint is None:
            continue
        for secret, prior in choice.empirical.items():
            known: Counts = (prior.means, prior.levels[0])
            radius = prior.radius, 0.0
            if name in plan.levels:
                assert whole.joint is not None
                if secret not in whole.joint.counts:
                    continue
                known, found = _on_one_order(plan.levels[name], known, whole.joint, name, secret)
            else:
                summary = whole.summaries[name]
                if secret not in summary.counts:
                    continue
                found, radius = summary.counts[secret], (prior.radius, summary.radius)
            yield drift_finding(name, secret, known, found, radius=radius, secrets=len(choice.empirical))


def _on_one_order(
    levels: Sequence[Any], known: Counts, joint: JointCounts, name: str, secret: Secret
) -> tuple[Counts, Counts]:
    """Rows of labels as numbers of places in one order of all of them, which does not depend on the rows."""
    place = joint.columns.index(name)
    own = joint.labels[place]
    places = {(type(level), level): k for k, level in enumerate(sorted_levels([*levels, *own]))}
    points, often = joint.counts[secret]
    before = np.zeros(len(places), dtype=np.int64)
    after = np.zeros(len(places), dtype=np.int64)
    for code, rows in zip(known[0].astype(int).tolist(), known[1].tolist(), strict=True):
        before[places[type(levels[code]), levels[code]]] += rows
    for code, rows in zip(points[:, place].astype(int).tolist(), often.tolist(), strict=True):
        after[places[type(own[code]), own[code]]] += rows
    order = np.arange(len(places), dtype=np.float64)
    return (order, before), (order, after)


def _beyond(plan: NoiseFit, raw: Mapping[str, Summary]) -> Iterator[Finding]:
    for name, summary in raw.items():
        bounds = plan.choices[name].bounds
        if bounds is not None:
            yield beyond(name, summary, bounds, public=name in plan.request.domain, clips=name in plan.clipped)
