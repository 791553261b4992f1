"""How a plan changes with epsilon: its scale and error, and the delta that it has at other epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import small_frame
from puffer_frames.loss.engine import belief_loss
from puffer_frames.mechanisms.channel.best import empirical_laws, find
from puffer_frames.mechanisms.channel.column import number_column
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.noise.lean import LAWS
from puffer_frames.noise.family import Noise
from puffer_frames.numbers.target import Target
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.choice import Choice, confirmed
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import times
from puffer_frames.scales.robustness import all_laws
from puffer_frames.scales.search import smallest_of_each

MOST_LEVELS_BOUND = 64
"""Of columns of more different values the bound, a linear program for each epsilon, takes more than seconds."""
_STEPS = tuple(2.0 ** (k / 2) for k in range(-4, 5))
NO_BOUND = math.nan


class NoisePlan(Protocol):
    """A plan of noise, as `Calibration` is one."""

    @property
    def plan(self) -> Plan:
        """What is to be released."""

    @property
    def library(self) -> str:
        """Library of the frame that it was made from."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """What a plan from a file lacks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What a release costs at one epsilon."""

    column: str
    epsilon: float
    delta: float
    published_scale: float
    """What the theorem asks for; not a number where it has no condition."""
    scale: float
    """What a plan would use; not a number for a channel."""
    published_error: float
    error: float
    bound: float
    """No mechanism that sees the value alone has a smaller error; not a number where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePoint:
    """A delta at one epsilon under one belief, from both sides."""

    column: str
    belief: str
    covered: bool
    epsilon: float
    lower: float
    upper: float


def curve_of(self: NoisePlan, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
    """Scale and error against epsilon: published, as this plan would use it, and the bound for the value alone.

    Parameters
    ----------
    epsilons : iterable of float, optional
        By default nine from a quarter of the plan's to four times it.

    Returns
    -------
    frame
        Of the library of the frame that the plan was made from, a row per epsilon: "column", "epsilon", "delta" (that
        of the plan), "published_scale", "scale", "published_error", "error" (with `mechanism="remap"` after it) and
        "bound": no mechanism that has the guarantee under the observed law, and sees this column's value alone, has a
        smaller error. Where something is not known it is not a number: the published scale without a condition, the
        bound of more than 64 different values, or where the observed law is none of the beliefs.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an epsilon out of range, and none.
    CalibrationError
        For several columns, given columns, a plan from a file, and where no scale is found.

    Notes
    -----
    It holds exact statistics of the table, as the plan does. **Cost**: a search per epsilon and belief, and for the
    bound a linear program per epsilon.

    References
    ----------
    docs/theory.md, section 16, for the bound.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> plan.curve([0.2, 0.5])[["published_scale", "scale", "bound"]].round(3).values.tolist()
    [[5.0, 1.189, 0.216], [2.0, 0.47, 0.055]]
    """
    plan = self.plan
    name, choice = _one_column(self)
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
    return as_points(points, CurvePoint, self.library)


def profile_of(self: NoisePlan, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
    """The privacy profile of the scale that is used: the delta at every epsilon, from both sides, per belief.

    Parameters
    ----------
    epsilons : iterable of float, optional
        By default nine from a quarter of the plan's to four times it.

    Returns
    -------
    frame
        Of the library of the frame that the plan was made from, a row per belief and epsilon: "column", "belief" (those
        of the guarantee, and beside them those of `robustness`), "covered" (whether the guarantee is under it),
        "epsilon", and "lower" and "upper", between which the smallest delta is: of the pair of secrets and the order
        with the largest. The upper one holds for the noise on its grid.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an epsilon out of range, and none.
    CalibrationError
        For several columns, given columns, and a plan from a file.

    Notes
    -----
    It holds exact statistics of the table, as the plan does. **Cost**: a loss per belief and epsilon.

    References
    ----------
    docs/theory.md, section 3.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> found = plan.privacy_profile([0.1, 0.5])
    >>> found[found["belief"] == "empirical"][["epsilon", "upper"]].round(3).values.tolist()
    [[0.1, 0.06], [0.5, 0.0]]
    """
    plan = self.plan
    name, choice = _one_column(self)
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
    return as_points(points, ProfilePoint, self.library)


def as_epsilons(given: Iterable[float] | None, own: float) -> list[float]:
    """Ascending, each once."""
    if given is None:
        return [own * step for step in _STEPS]
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            "epsilons", rule="several numbers", got=f"a {type(given).__name__}", hint="Write [0.5, 1, 2]."
        )
    found = sorted({Target.of(epsilon, 0.0).epsilon for epsilon in given})
    if not found:
        raise ArgumentError("epsilons", rule="one number or more", got="none", hint="Leave them out.")
    return found


def _one_column(self: NoisePlan) -> tuple[str, Choice]:
    """The column of a plan that has its laws; raises CalibrationError."""
    if self.plan.strata is not None or len(self.plan.choices) > 1:
        raise CalibrationError(
            "the plan",
            rule="one of a single column without given columns, for what it would be at other epsilons",
            got="another one",
            hint="Say puffer_frames.compare(frame, secret=..., public=..., epsilon=[0.5, 1, 2]).",
        )
    if LAWS in self.left_out:
        raise from_file(LAWS)
    return next(iter(self.plan.choices.items()))


def from_file(lacks: str, /) -> CalibrationError:
    """The error for a plan from a file that lacks something."""
    return CalibrationError(
        "the plan",
        rule="one that was made from a table, for other epsilons",
        got=f"one from a file, without {lacks}",
        hint="Calibrate the table again with the same request.",
    )


def _scales_at(plan: Plan, choice: Choice, engines: Mapping[str, Any], target: Target) -> tuple[float, float]:
    """The published scale, and the one that a plan of this request would use."""
    noise, repeats, theorem = plan.request.noise, plan.request.repeats, choice.theorem
    held, factor = repeats.asked(target, noise=noise, columns=1), repeats.factor(noise)
    asked = noise.unrounded(held)
    published = theorem.scale_for(choice.priors, held.share(repeats.measured), noise=noise, pairs=plan.pairs)
    if plan.calibration == "theorem":
        on_grid = theorem.scale_for(choice.priors, asked, noise=noise, pairs=plan.pairs)
        proposed = max(published or 0.0, on_grid or 0.0)
        scale = max(confirmed(engine, proposed, asked) for engine in engines.values())
    else:
        scale = max(scale for scale, _ in smallest_of_each(engines, asked, near=0.0).values())
    return math.nan if published is None else times(published, factor), times(scale, factor)


def _error(plan: Plan, name: str, scale: float) -> float:
    """Mean absolute error at a scale, after the posterior median where the plan has one."""
    if math.isnan(scale) or not scale:
        return scale
    noise = plan.request.noise.at(scale)
    if plan.request.mechanism == "remap":
        return Remap.pooled(plan.summaries[name], noise).expected_error
    return noise.expected_absolute_error


def _bound(plan: Plan, name: str, choice: Choice, target: Target) -> float:
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
    )
    return found.lower_bound


def _delta(engine: Any, scale: float, epsilon: float, noise: Noise, *, values: int) -> tuple[float, float]:
    """Bounds of the delta at an epsilon; rounding the values to the grid costs a little of both."""
    lost, share = noise.rounding
    lower = engine.hockey_stick(scale, epsilon=epsilon).bracket.lower
    within = math.nextafter(epsilon - values * lost, 0.0)
    if within <= 0:
        return lower, 1.0
    upper = engine.hockey_stick(scale, epsilon=within).bracket.upper / (1.0 - share) ** values
    return lower, min(1.0, upper)


def as_points(points: Sequence[Any], kind: type, library: str) -> NativeFrame:
    """Records of one kind as a frame."""
    names = [each.name for each in fields(kind)]
    return small_frame({name: [getattr(point, name) for point in points] for name in names}, library=library)
