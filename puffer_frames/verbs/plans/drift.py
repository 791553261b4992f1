"""What rows lose at the scales of a plan of noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from puffer_frames.frames.strata import unknown_stratum
from puffer_frames.numbers.records import refused
from puffer_frames.numbers.target import Target
from puffer_frames.priors.apart import by_column
from puffer_frames.priors.prior import FloatArray, Prior
from puffer_frames.scales.drift import Batch, is_within, measure_batch, measure_joint_batch
from puffer_frames.verbs.plans.plan import Plan
from puffer_frames.verbs.requests.rows_seen import RowsSeen

_ROUNDING = 1 + 1e-9


def measure_rows(plan: Plan, seen: RowsSeen, /) -> Batch:
    """The loss under the frequencies of rows that were counted as those of the plan.

    Raises
    ------
    CalibrationError
        For a secret or a stratum that the plan does not know.
    """
    if plan.strata is None:
        return measure_part(plan, seen.protected(plan.request), plan.scales)
    known, found, own = plan.strata.scales, [], len(plan.request.secret)
    for z, part in seen.by_stratum(own).items():
        if z not in known:
            raise unknown_stratum("others")
        found.append(measure_part(plan, part.protected(plan.request), known[z]))
    present = set(seen.rows_of_secrets(own, given=True))
    if plan.request.apart:
        present = set(by_column(present, plan.request.secret))
    return Batch.of_strata(found, absent=sum(secret not in present for secret in plan.secrets))


def target_of(plan: Plan, /) -> Target:
    """What the noise of one value must meet."""
    request = plan.request
    return request.repeats.asked(request.target, noise=request.noise, columns=len(plan.scales))


def of_one_copy(plan: Plan, scales: Mapping[str, float], /) -> dict[str, float]:
    """The scales of one noisy copy of a value, where there are several."""
    factor = plan.request.repeats.factor(plan.request.noise)
    return {name: scale / factor * (1 - 2.0**-50) if factor > 1 else scale for name, scale in scales.items()}


def measure_part(plan: Plan, seen: RowsSeen, scales: Mapping[str, float], /) -> Batch:
    """The same for all rows or those of a stratum, by what is protected, at the scales that they have."""
    request = plan.request
    factor, used = request.repeats.factor(request.noise), of_one_copy(plan, scales)
    target = request.repeats.asked(request.target, noise=request.noise, columns=len(scales))
    if seen.joint is None:
        return _measure_columns(plan, seen, used, target)
    all_scales = {n: s / factor for n, s in plan.all_scales.items() if n in plan.levels} | used
    found = measure_joint_batch(
        seen.joint,
        scales=all_scales,
        known=plan.rows_per_secret,
        pairs=plan.pairs,
        target=target,
        noise=request.noise,
        levels={name: len(found) for name, found in plan.levels.items()},
        rows=request.repeats.measured,
    )
    for_ranges = bool(seen.summaries) and not plan.is_joint
    return found.also(_measure_columns(plan, seen, all_scales, target)) if for_ranges else found


def _measure_columns(plan: Plan, seen: RowsSeen, scales: Mapping[str, float], target: Target) -> Batch:
    """Each column by itself, in cells as narrow as those of the plan."""
    known = {name: choice.empirical.values() for name, choice in plan.choices.items() if name in seen.summaries}
    seen = seen.in_widths({name: 2 * max(prior.radius for prior in priors) for name, priors in known.items()})
    return measure_batch(
        seen.summaries,
        scales=scales,
        known=plan.rows_per_secret,
        pairs=plan.pairs,
        domain=plan.clipped,
        target=target,
        noise=plan.request.noise,
        rows=plan.request.repeats.measured,
    )


def check_scales(plan: Plan, /) -> None:
    """Raise PlanFileError where the observed frequencies of a plan lose more at its scales than it says.

    Of columns whose scales were found together each alone loses at most what all do. The frequencies of strata are not
    in a file.
    """
    if plan.strata is not None:
        return
    for name, levels in plan.levels.items():
        stored = plan.choices[name].observed
        if stored is None or _least_loss(plan, name, len(levels)) > stored.pure_loss.upper * _ROUNDING + _ROUNDING - 1:
            raise refused("a share of changed labels at which the observed frequencies lose more than the file says")
    columns = plan.summaries
    listed = [{name: found} for name, found in columns.items()] if plan.is_joint else [columns]
    for some in listed if columns else []:
        batch = measure_part(plan, RowsSeen(summaries=some), {name: plan.scales[name] for name in some})
        for name, found in batch.observed.items():
            stored = plan.choices[name].observed
            if stored is None or not is_within(found, stored, delta=plan.request.target.delta):
                raise refused("a scale at which the observed frequencies lose more than the file says")


def _least_loss(plan: Plan, name: str, levels: int) -> float:
    """The loss of a column of labels by itself, under the observed frequencies."""
    choice, copies = plan.choices[name], plan.request.repeats.factor(plan.request.noise)
    other = math.exp(-copies / choice.scale) if choice.scale else 0.0
    laws = {secret: _randomised(prior, levels, other) for secret, prior in choice.empirical.items()}
    pairs = list(combinations(laws, 2)) if plan.pairs == "all" else plan.pairs
    return max(_log_ratio(laws[one], laws[two]) for one, two in pairs)


def _randomised(prior: Prior, levels: int, other: float) -> FloatArray:
    """The law of a label that is changed, but for a factor that is the same for all secrets."""
    found: FloatArray = np.zeros(levels)
    found[prior.means.astype(np.intp)] = prior.weights
    return found * (1 - other) + other


def _log_ratio(one: FloatArray, two: FloatArray) -> float:
    """The largest of the ratio of two laws, whichever is above."""
    held = (one > 0) | (two > 0)
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(one[held]) - np.log(two[held])).max())
