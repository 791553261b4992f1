"""How a plan changes with epsilon: its scale and error, and the delta that it has at other epsilons."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.engine import belief_loss
from puffer_frames.mechanisms.channel.best import least_error
from puffer_frames.mechanisms.noise.fitted import LAWS, NoiseFit
from puffer_frames.mechanisms.seam import NO_BOUND, CurvePoint, Fitted, from_file
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.scales.choice import Choice, confirmed
from puffer_frames.scales.columns import hidden_range
from puffer_frames.scales.drift import all_laws
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import times
from puffer_frames.scales.search import smallest_of_each

POINTS = 601
REACH = 4.0
"""Noisy values are drawn this many scales beyond the values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLaws:
    """The laws of a column of numbers of a plan, and its noise."""

    name: str
    laws: Mapping[Secret, Prior]
    """The observed frequencies of each secret."""
    noise: NoiseFamily | None
    """With its scale; None for none."""
    worst: tuple[Secret, Secret]
    """The pair of secrets with the largest loss."""

    @classmethod
    def of(cls, plan: Fitted[Any], column: str | None, /) -> ColumnLaws:
        """Raises ArgumentError for a plan without such a column, and for one from which the frequencies are missing."""
        names = list(plan.scales)
        name = column if column is not None else next(iter(names), "")
        if name not in names:
            listed = f": {', '.join(names)}" if names else ""
            raise ArgumentError(
                "column",
                rule=f"a column of numbers that the plan releases with noise{listed}",
                got=repr(name) if name else "none",
                hint="Name one of these." if names else "Draw pictures.channel(plan) for a channel.",
            )
        assert isinstance(plan, NoiseFit)
        choice, noise = plan.choices[name], plan.noise(plan.scales[name])
        laws = choice.empirical
        if not laws:
            raise ArgumentError(
                "the plan", rule="one that knows its table", got="one without frequencies", hint="Calibrate the table."
            )
        known = list(laws)
        worst = choice.worst_pair if set(choice.worst_pair) <= set(known) else (known[0], known[-1])
        return cls(name=name, laws=laws, noise=noise, worst=worst)

    @property
    def extent(self) -> tuple[float, float]:
        """Ends of the values."""
        return (
            min(float(law.means[0]) for law in self.laws.values()),
            max(float(law.means[-1]) for law in self.laws.values()),
        )

    @property
    def released(self) -> FloatArray:
        """Values that may be released, for the x axis."""
        low, high = self.extent
        reach = 0.0 if self.noise is None else REACH * self.noise.scale
        return np.linspace(low - reach, high + reach, POINTS)

    def shown(self, most: int, /) -> list[Secret]:
        """The secrets of the worst pair first, then the others in their order."""
        others = [secret for secret in self.laws if secret not in self.worst]
        return [*dict.fromkeys(self.worst), *others][:most]

    def log_density(self, secret: Secret, y: FloatArray, /) -> FloatArray:
        """Log of the density of the noisy value given a secret."""
        assert self.noise is not None
        law = self.laws[secret]
        with np.errstate(divide="ignore"):
            weights = np.log(law.weights)
        found: FloatArray = np.empty(y.size)
        for part in np.array_split(np.arange(y.size), max(1, y.size * law.means.size // 2_000_000)):
            found[part] = logsumexp(weights + self.noise.log_density(y[part, None] - law.means), axis=1)
        return found

    def shares(self, secret: Secret, edges: FloatArray, /) -> FloatArray:
        """Share of the values of a secret in each bin."""
        law = self.laws[secret]
        found, _ = np.histogram(law.means, bins=edges, weights=law.weights)
        return found


def coupling(p: Prior, q: Prior, /) -> FloatArray:
    """The monotone coupling of two discrete laws, shape (atoms of p, atoms of q): its largest step is the least."""
    ends_p, ends_q = np.cumsum(p.weights), np.cumsum(q.weights)
    starts_p, starts_q = ends_p - p.weights, ends_q - q.weights
    overlap = np.minimum(ends_p[:, None], ends_q) - np.maximum(starts_p[:, None], starts_q)
    return overlap.clip(0.0)


def coarse(values: FloatArray, most: int, /) -> FloatArray:
    """Edges of bins for so many values at most: a bin for each where they are few."""
    atoms = np.unique(values)
    if atoms.size == 1:
        return np.array([atoms[0] - 0.5, atoms[0] + 0.5])
    if atoms.size <= most:
        middle = 0.5 * (atoms[1:] + atoms[:-1])
        return np.concatenate([[2 * atoms[0] - middle[0]], middle, [2 * atoms[-1] - middle[-1]]])
    return np.linspace(atoms[0], atoms[-1], most + 1)


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str], /) -> dict[str, FloatArray]:
    """Columns of numbers of the rows of a small frame; None is not a number."""
    return {name: np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float) for name in names}


MOST_LEVELS_BOUND = 64
"""Beyond this many different values the bound, a linear program for each epsilon, takes more than seconds."""


def curve_of(plan: NoiseFit, epsilons: Sequence[float], /, *, left_out: Sequence[str]) -> Iterator[CurvePoint]:
    """Scale and error at each epsilon."""
    name, choice = _one_column(plan, left_out)
    targets = [Target.of(epsilon, plan.request.target.delta) for epsilon in epsilons]
    for target in targets:
        plan.request.noise.check(target)
    engines = {
        belief: belief_loss(laws, pairs=plan.pairs, noise=plan.request.noise, rows=plan.request.repeats.measured)
        for belief, laws in choice.beliefs.items()
    }
    for target in targets:
        published, scale = _scales_at(plan, choice, engines, target)
        yield CurvePoint(
            column=name,
            epsilon=target.epsilon,
            delta=target.delta,
            published_scale=published,
            scale=scale,
            published_error=_error(plan, name, published),
            error=_error(plan, name, scale),
            bound=_bound(plan, name, choice, target),
        )


def deltas_of(
    plan: NoiseFit, /, *, left_out: Sequence[str]
) -> Iterator[tuple[str, bool, Callable[[float], tuple[float, float]]]]:
    """The delta of the scale that is used, under each belief and at any epsilon."""
    _, choice = _one_column(plan, left_out)
    noise, repeats = plan.request.noise, plan.request.repeats
    factor, rows = repeats.factor(noise), max(repeats.measured, repeats.shares)
    values = rows * repeats.copies
    used = choice.scale / factor * (1 - 2.0**-50) if factor > 1 else choice.scale
    if rows > 1 and repeats.assumed == "any":
        raise CalibrationError(
            "the plan",
            rule='without Unit(..., rows="any"), of whose rows no law is known',
            got="one with it",
            hint="Print the plan: it has epsilon whatever the law.",
        )
    for belief, laws in all_laws(choice).items():
        pairs = "all" if belief == "any law" else plan.pairs
        with suppress(CalibrationError):  # too many pairs
            engine = belief_loss(laws, pairs=pairs, noise=noise, rows=rows)
            yield belief, belief in choice.beliefs, partial(_delta, engine, used, noise=noise, values=values)


def _one_column(plan: NoiseFit, left_out: Sequence[str]) -> tuple[str, Choice]:
    """The column of a plan that has its laws; raises CalibrationError."""
    if plan.strata is not None or len(plan.choices) > 1:
        raise CalibrationError(
            "the plan",
            rule="one of a single column without given columns, for what it would be at other epsilons",
            got="another one",
            hint="Say puffer_frames.compare(frame, secret=..., public=..., epsilon=[0.5, 1, 2]).",
        )
    if LAWS in left_out:
        raise from_file(LAWS)
    return next(iter(plan.choices.items()))


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
        if plan.lists_some:  # the rows of other secrets are remapped too, and the plan has no counts of them
            return plan.expected_error[name] if math.isclose(scale, plan.scales[name], rel_tol=1e-6) else math.nan
        return Remap.pooled(plan.summaries[name], noise).expected_error
    return noise.expected_absolute_error


def _bound(plan: NoiseFit, name: str, choice: Choice, target: Target) -> float:
    """The error of the best channel under the observed law, where that is among the beliefs."""
    summary = plan.summaries[name]
    values = {float(value) for own, _ in summary.counts.values() for value in own}
    if "empirical" not in choice.beliefs or summary.radius or not 2 <= len(values) <= MOST_LEVELS_BOUND:
        return NO_BOUND
    share = sum(plan.rows_per_secret[secret] for secret in summary.counts) / sum(plan.rows_per_secret.values())
    return least_error(summary, target, pairs=plan.pairs) * share  # rows of secrets that are not listed may have none


def _delta(engine: Any, scale: float, epsilon: float, *, noise: NoiseFamily, values: int) -> tuple[float, float]:
    """Bounds of the delta at an epsilon; rounding the values to the grid costs a little of both."""
    lost, share = noise.rounding
    lower = engine.hockey_stick(scale, epsilon=epsilon).bracket.lower
    within = math.nextafter(epsilon - values * lost, 0.0)
    if within <= 0:
        return lower, 1.0
    upper = engine.hockey_stick(scale, epsilon=within).bracket.upper / (1.0 - share) ** values
    return lower, min(1.0, upper)
