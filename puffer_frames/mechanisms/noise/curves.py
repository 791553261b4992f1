"""How a plan changes with epsilon: its scale and error, and the delta that it has at other epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.loss.engine import belief_loss
from puffer_frames.mechanisms.channel.best import empirical_laws, find
from puffer_frames.mechanisms.channel.column import number_column
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.figures import NO_BOUND, CurvePoint, ProfilePoint, as_epsilons, as_points, from_file
from puffer_frames.mechanisms.noise.fitted import LAWS, NoiseFit
from puffer_frames.mechanisms.seam import Owner
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.target import Target
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.choice import Choice, confirmed
from puffer_frames.scales.columns import hidden_range
from puffer_frames.scales.drift import all_laws
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import times
from puffer_frames.scales.search import smallest_of_each

MOST_LEVELS_BOUND = 64
"""Of columns of more different values the bound, a linear program for each epsilon, takes more than seconds."""


def curve_of(owner: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
    """Scale and error against epsilon: as `Plan.curve`."""
    plan: NoiseFit = owner.fitted
    name, choice = _one_column(owner)
    asked = as_epsilons(epsilons, plan.request.target.epsilon)
    for epsilon in asked:
        plan.request.noise.check(Target.of(epsilon, plan.request.target.delta))
    engines = {
        belief: belief_loss(laws, pairs=plan.pairs, noise=plan.request.noise, rows=plan.request.repeats.measured)
        for belief, laws in choice.beliefs.items()
    }
    points = []
    for epsilon in asked:
        target = Target.of(epsilon, plan.request.target.delta)
        published, scale = _scales_at(plan, choice, engines, target)
        points.append(
            CurvePoint(
                column=name,
                epsilon=epsilon,
                delta=target.delta,
                published_scale=published,
                scale=scale,
                published_error=_error(plan, name, published),
                error=_error(plan, name, scale),
                bound=_bound(plan, name, choice, target),
            )
        )
    return as_points(points, CurvePoint, owner.library)


def profile_of(owner: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
    """The delta of the scale that is used, at every epsilon: as `Plan.privacy_profile`."""
    plan: NoiseFit = owner.fitted
    name, choice = _one_column(owner)
    noise, repeats = plan.request.noise, plan.request.repeats
    asked, factor = as_epsilons(epsilons, plan.request.target.epsilon), repeats.factor(noise)
    used = choice.scale / factor * (1 - 2.0**-50) if factor > 1 else choice.scale
    points = []
    for belief, laws in all_laws(choice).items():
        try:
            engine = belief_loss(
                laws, pairs="all" if belief == "any law" else plan.pairs, noise=noise, rows=repeats.measured
            )
        except CalibrationError:  # too many pairs
            continue
        for epsilon in asked:
            lower, upper = _delta(engine, used, epsilon, noise, values=repeats.measured * repeats.copies)
            points.append(
                ProfilePoint(
                    column=name,
                    belief=belief,
                    covered=belief in choice.beliefs,
                    epsilon=epsilon,
                    lower=lower,
                    upper=upper,
                )
            )
    return as_points(points, ProfilePoint, owner.library)


def _one_column(owner: Owner) -> tuple[str, Choice]:
    """The column of a plan that has its laws; raises CalibrationError."""
    if owner.fitted.strata is not None or len(owner.fitted.choices) > 1:
        raise CalibrationError(
            "the plan",
            rule="one of a single column without given columns, for what it would be at other epsilons",
            got="another one",
            hint="Say puffer_frames.compare(frame, secret=..., public=..., epsilon=[0.5, 1, 2]).",
        )
    if LAWS in owner.left_out:
        raise from_file(LAWS)
    choices: Mapping[str, Choice] = owner.fitted.choices
    return next(iter(choices.items()))


def _scales_at(plan: NoiseFit, choice: Choice, engines: Mapping[str, Any], target: Target) -> tuple[float, float]:
    """The published scale, and the one that a plan of this request would use."""
    noise, repeats, theorem = plan.request.noise, plan.request.repeats, choice.theorem
    held, factor = repeats.asked(target, noise=noise, columns=1), repeats.factor(noise)
    asked = noise.unrounded(held)
    hidden = hidden_range(theorem, [choice.priors, *choice.beliefs.values()], choice.bounds if choice.clips else None)
    how: dict[str, Any] = {"noise": noise, "pairs": plan.pairs, "distance": hidden}
    published = theorem.scale_for(choice.priors, held.share(repeats.measured), **how)
    if plan.calibration == "theorem":
        on_grid = theorem.scale_for(choice.priors, asked, **how)
        proposed = max(published or 0.0, on_grid or 0.0)
        scale = max(confirmed(engine, proposed, asked) for engine in engines.values())
    else:
        scale = max(scale for scale, _ in smallest_of_each(engines, asked, near=0.0).values())
    return math.nan if published is None else times(published, factor), times(scale, factor)


def _error(plan: NoiseFit, name: str, scale: float) -> float:
    """Mean absolute error at a scale, after the posterior median where the plan has one."""
    if math.isnan(scale) or not scale:
        return scale
    noise = plan.request.noise.at(scale)
    if plan.request.mechanism == "remap":
        return Remap.pooled(plan.summaries[name], noise).expected_error
    return noise.expected_absolute_error


def _bound(plan: NoiseFit, name: str, choice: Choice, target: Target) -> float:
    """The error of the best channel under the observed law, where that is among the beliefs."""
    summary = plan.summaries[name]
    values = {float(value) for own, _ in summary.counts.values() for value in own}
    if "empirical" not in choice.beliefs or summary.radius or not 2 <= len(values) <= MOST_LEVELS_BOUND:
        return NO_BOUND
    return least_error(summary, target, pairs=plan.pairs)


def least_error(summary: Summary, target: Target, /, *, pairs: Any) -> float:
    """A lower bound of the mean absolute error of what is private under the observed law and sees the value alone."""
    options = Channel(radius=0, cap=None)
    column = number_column(summary, options, declared=None)
    found = find(
        (empirical_laws(column.counts, options),),
        column.pooled,
        levels=column.levels,
        cost=column.cost,
        target=target,
        pairs=pairs,
        options=options,
        table=column.counts,
    )
    return found.lower_bound


def _delta(engine: Any, scale: float, epsilon: float, noise: NoiseFamily, *, values: int) -> tuple[float, float]:
    """Bounds of the delta at an epsilon; rounding the values to the grid costs a little of both."""
    lost, share = noise.rounding
    lower = engine.hockey_stick(scale, epsilon=epsilon).bracket.lower
    within = math.nextafter(epsilon - values * lost, 0.0)
    if within <= 0:
        return lower, 1.0
    upper = engine.hockey_stick(scale, epsilon=within).bracket.upper / (1.0 - share) ** values
    return lower, min(1.0, upper)
