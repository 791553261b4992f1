r"""Quantiles and histograms of a released column, from its unfolded law.

The law behind noisy values by expectation maximisation (Richardson–Lucy), stopped where it fits other rows best.

From the uniform law on the support, with counts c of bins and the probability K of each bin given a point:

.. math:: p \leftarrow p \odot K^\top (c / Kp) / n

Every step makes the rows more likely, and in the end fits their noise. The number of steps is the one after which the
law of one half of the rows makes the other half most likely, and vice versa. It is found anew for every column.

So stopped, the law is smoother than the rows', which its own resamples do not show. They take ten times as many steps:
rougher, and spread so that their quantiles cover what the estimate smooths too, but for laws of a few sharp peaks. The
rows themselves are unfolded as roughly too: how far the resamples are from the law that they were drawn from is how far
this rough law is from the rows', and intervals hold what that leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.released_columns import NoisyColumn

MOST_POINTS = 1024
"""Support points of a grid that nobody has asked for."""
MOST_BINS = 2048
"""Bins of one law of noise."""
_POINTS = 128
"""A grid over the noisy values has so many points, unless the noise resolves more."""
_PER_SCALE = 4
"""Bins, and points of a grid, per scale of the noise."""
_TAIL = 1e-3
"""Share of the noisy values that a grid leaves out at each end: they are noise."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinnedColumn:
    """Counts of a noisy column, and what they are of."""

    support: FloatArray
    """Values that there may be behind the noise, ascending, shape (points,)."""
    counts: FloatArray
    """Rows per bin, those of each law of noise after those of the one before, shape (bins,)."""
    kernel: FloatArray
    """Probability of a bin, given the support point and the law of noise, shape (bins, points)."""
    sizes: tuple[tuple[int, int], ...]
    """Bins, and rows, of each law of noise."""

    @classmethod
    def of(cls, column: NoisyColumn, support: FloatArray, /) -> BinnedColumn:
        """Count the column: bins times points values of the noise's distribution function for each law of noise."""
        counts, kernels, sizes = [], [], []
        step = float(np.diff(support).min()) if support.size > 1 else math.inf
        for place, noise in enumerate(column.noises):
            values = column.values[column.places == place]
            if not values.size:
                continue
            edges = _edges(values, noise, column, support, step)
            found = np.bincount(_bins_of(values, edges, column), minlength=edges.size + 1)
            counts.append(found.astype(np.float64))
            kernels.append(_probabilities(edges, support, noise))
            sizes.append((edges.size + 1, values.size))
        return cls(support=support, counts=np.concatenate(counts), kernel=np.concatenate(kernels), sizes=tuple(sizes))


def even_support(column: NoisyColumn, /, *, step: float | None = None) -> FloatArray:
    """Points that cover the noisy values, but for one in a thousand at each end: multiples of a step, or an even grid.

    Raises OverflowError for a step that gives more than 1,024 points.
    """
    low, high = np.quantile(column.values, [_TAIL, 1 - _TAIL], method="inverted_cdf").tolist()
    if step is not None:
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first >= MOST_POINTS:
            raise OverflowError
        return np.arange(first, last + 1) * step
    scales = [noise.scale for noise in column.noises if noise is not None]
    wanted = _PER_SCALE * (high - low) / min(scales) if scales else 0.0
    return np.linspace(low, high, int(min(max(_POINTS, wanted), MOST_POINTS))) if high > low else np.array([low])


def _edges(
    values: FloatArray, noise: NoiseFamily | None, column: NoisyColumn, support: FloatArray, step: float
) -> FloatArray:
    """The ends of the bins; the first one has no lower end and the last one no upper one."""
    low, high = np.quantile(values, [_TAIL / 4, 1 - _TAIL / 4]).tolist()
    if noise is not None:
        step = min(step, noise.scale / _PER_SCALE)
    if noise is None and not column.to_integers:
        edges: FloatArray = 0.5 * (support[1:] + support[:-1])
    elif column.to_integers:
        width = max(1, math.ceil((high - low) / MOST_BINS))
        edges = np.arange(math.floor(low) - 0.5, math.ceil(high) + 0.5 + width, width)
    else:
        edges = np.linspace(low, high, max(2, min(math.ceil((high - low) / step) + 1, MOST_BINS)))
    low, high = column.bounds or (-math.inf, math.inf)
    if column.to_integers:  # rounded first: where the last integer ends that is moved to the bound
        low = math.floor(low) + 0.5 if math.isfinite(low) else low
        high = math.ceil(high) - 0.5 if math.isfinite(high) else high
    inner = edges[(edges > low) & (edges < high)].tolist()
    return np.unique([end for end in (low, *inner, high) if math.isfinite(end)])


def _bins_of(values: FloatArray, edges: FloatArray, column: NoisyColumn) -> IndexArray:
    """The number of each value's bin: of values at a bound the first or the last one."""
    found = np.searchsorted(edges, values)
    if column.bounds is not None:
        found[values <= column.bounds[0]] = 0
        found[values >= column.bounds[1]] = edges.size
    return found


def _probabilities(edges: FloatArray, support: FloatArray, noise: NoiseFamily | None) -> FloatArray:
    """P(bin | point): differences of the distribution function, from the side on which it is small."""
    distances = edges[:, None] - support[None, :]
    if noise is None:
        below, above = (distances >= 0).astype(np.float64), (distances < 0).astype(np.float64)
    else:
        different, back = np.unique(distances, return_inverse=True)
        tail = noise.survival(np.abs(different))
        inside = np.where(different < 0, tail, 1.0 - tail)
        outside = np.where(different < 0, 1.0 - tail, tail)
        below, above = inside[back].reshape(distances.shape), outside[back].reshape(distances.shape)
    ends = np.zeros((1, support.size)), np.ones((1, support.size))
    below, above = np.concatenate([ends[0], below, ends[1]]), np.concatenate([ends[1], above, ends[0]])
    found: FloatArray = np.where(below[1:] < 0.5, below[1:] - below[:-1], above[:-1] - above[1:])
    return found.clip(0.0)


MOST_STEPS = 2000
"""The most steps that are tried."""
_PATIENCE = 2.0
"""The search ends at so many times the best number of steps so far, and 30 more."""
_ROUGHER = 10
_LEAST_ROUGH = 100
"""Resamples take ten times as many steps as the estimate, and at least a hundred."""
_SPLITS = 4
_AS_GOOD = 0.5
"""A difference of log-likelihood; a smaller one tells two numbers of steps no better apart than chance."""
_LEAST = 1e-300
_ROUNDING = 1e-12
"""Rounding of sums of shares."""


class Unfolded(NamedTuple):
    """Figures of an unfolded law."""

    values: FloatArray
    rough: FloatArray
    """After more steps, shaped as the values."""
    resamples: FloatArray
    """Shape (resamples, figures)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnfoldedLaw:
    """What the law of the values behind a column is estimated to be."""

    support: FloatArray
    """Ascending, shape (points,)."""
    shares: FloatArray
    """Summing to 1, shape (points,)."""
    draws: FloatArray
    """From rows drawn from this law, after more steps, shape (resamples, points)."""
    rough: FloatArray
    """The shares after as many steps, shape (points,)."""
    steps: int
    """How many steps were taken."""
    is_grid: bool
    """Whether a point stands for the values about it."""
    gain: float
    """Twice by how much the law makes the rows more likely than any single value behind all of them does."""

    def below(self, ends: FloatArray, /) -> Unfolded:
        """The share of values up to each end."""
        return self._each(self._below, ends)

    def quantiles(self, q: FloatArray, /) -> Unfolded:
        """The value below which a share q lies."""
        return self._each(self._quantiles, q)

    def _each(self, statistic: Callable[[FloatArray, FloatArray], FloatArray], at: FloatArray) -> Unfolded:
        found = np.array([statistic(law, at) for law in (self.shares, self.rough, *self.draws)])
        return Unfolded(found[0], found[1], found[2:].reshape(len(self.draws), at.size))

    def _edges(self) -> FloatArray:
        half = 0.5 * (self.support[1] - self.support[0])
        return np.append(self.support - half, self.support[-1] + half)

    def _below(self, law: FloatArray, ends: FloatArray) -> FloatArray:
        whole = np.append(0.0, np.cumsum(law))
        if self.is_grid and self.support.size > 1:
            return np.interp(ends, self._edges(), whole)
        return whole[np.searchsorted(self.support, ends, side="right")]

    def _quantiles(self, law: FloatArray, q: FloatArray) -> FloatArray:
        whole = np.cumsum(law)
        if self.is_grid and self.support.size > 1:
            return np.interp(q, np.append(0.0, whole), self._edges())
        return self.support[np.searchsorted(whole, q - _ROUNDING).clip(0, self.support.size - 1)]


def unfold(
    binned: BinnedColumn,
    /,
    *,
    is_grid: bool,
    population: bool,
    resamples: int,
    rng: np.random.Generator,
    most: int = MOST_STEPS,
) -> UnfoldedLaw:
    """Estimate the law, and draw resamples of the estimate.

    - `is_grid`: Whether a support point stands for the values about it.
    - `population`: Whether resamples are of rows and noise, as draws of a population; else only of the noise, for rows
      whose shares are the estimated ones.
    - `rng`: Halves the rows for the number of steps, and draws the resamples.
    - `most`: At most so many steps.

    **Cost**: bins x points x resamples multiplications and additions, four times a step.
    """
    steps = best_steps(binned, rng=rng, most=most)
    shares = _law(binned.kernel, binned.counts[:, None], steps)[:, 0]
    again = _resampled(binned, shares, population=population, resamples=resamples, rng=rng)
    more = min(max(_ROUGHER * steps, _LEAST_ROUGH), most)
    again = np.column_stack([binned.counts, again])
    rough, *draws = _law(binned.kernel.astype(np.float32), again.astype(np.float32), more).T.astype(np.float64)
    chances = np.log(np.maximum(np.column_stack([binned.kernel @ shares, binned.kernel]), _LEAST))
    fits = binned.counts @ chances
    gain = 2 * float(fits[0] - fits[1:].max())
    return UnfoldedLaw(
        support=binned.support,
        shares=shares,
        draws=np.array(draws),
        rough=rough,
        steps=steps,
        is_grid=is_grid,
        gain=gain,
    )


def law_of_rows(values: FloatArray, /, *, population: bool, resamples: int, rng: np.random.Generator) -> UnfoldedLaw:
    """The law of values without noise, which need no unfolding; resamples of a table are the table."""
    support, counts = np.unique(values, return_counts=True)
    shares = counts / values.size
    draws = np.broadcast_to(shares, (resamples, support.size))
    if population:
        draws = rng.multinomial(values.size, shares, size=resamples) / values.size
    return UnfoldedLaw(support=support, shares=shares, draws=draws, rough=shares, steps=0, is_grid=False, gain=math.inf)


def best_steps(binned: BinnedColumn, /, *, rng: np.random.Generator, most: int = MOST_STEPS) -> int:
    """The number of steps after which each half of the rows makes the other one most likely.

    Halves are drawn four times, and their likelihoods averaged. It is the smallest number of steps whose log-likelihood
    is within half a unit of the best.
    """
    rows = binned.counts.astype(np.int64)
    half = np.column_stack([rng.binomial(rows, 0.5) for _ in range(_SPLITS)]).astype(np.float64)
    halves = np.concatenate([half, binned.counts[:, None] - half], axis=1)
    others = np.roll(halves, _SPLITS, axis=1)
    law = np.full((binned.support.size, 2 * _SPLITS), 1.0 / binned.support.size)
    fits: list[float] = []
    best = 0
    for step in range(most + 1):
        mixed = np.maximum(binned.kernel @ law, _LEAST)
        fits.append(float((others * np.log(mixed)).sum()) / _SPLITS)
        if fits[step] > fits[best]:
            best = step
        elif step > _PATIENCE * best + 30:
            break
        law *= binned.kernel.T @ (halves / mixed)
        law /= np.maximum(law.sum(axis=0), _LEAST)  # a half may be empty
    return int(np.argmax(np.array(fits) >= fits[best] - _AS_GOOD))


@np.errstate(over="ignore", invalid="ignore")
def _law(kernel: FloatArray, counts: FloatArray, steps: int) -> FloatArray:
    """The law after so many steps, for each column of counts."""
    law = np.full((kernel.shape[1], counts.shape[1]), 1.0 / kernel.shape[1], dtype=kernel.dtype)
    for _ in range(steps):
        law *= kernel.T @ (counts / np.maximum(kernel @ law, np.finfo(kernel.dtype).tiny))
        law /= law.sum(axis=0)
    if not np.isfinite(law).all():  # some rows are far from every point for the noise that they have
        raise _swamped()
    return law


def _resampled(
    binned: BinnedColumn, shares: FloatArray, *, population: bool, resamples: int, rng: np.random.Generator
) -> FloatArray:
    """Counts of resamples, shape (bins, resamples)."""
    parts, start = [], 0
    for bins, rows in binned.sizes:
        kernel = binned.kernel[start : start + bins]
        start += bins
        if population:
            mixed = kernel @ shares
            drawn = rng.multinomial(rows, mixed / mixed.sum(), size=resamples)
        else:
            drawn = np.zeros((resamples, bins), dtype=np.int64)
            for point, held in enumerate(_rounded(shares, rows).tolist()):
                if held:
                    law = kernel[:, point]
                    drawn += rng.multinomial(held, law / law.sum(), size=resamples)
        parts.append(drawn.T.astype(np.float64))
    return np.concatenate(parts)


def _rounded(shares: FloatArray, rows: int) -> FloatArray:
    """Whole numbers of rows with these shares, which sum to the number of rows."""
    ends = np.rint(np.cumsum(shares) * rows)
    ends[-1] = rows
    return np.diff(ends, prepend=0.0).astype(np.int64)


_MOST_RESAMPLES = 100_000
_CLEAR = 9.0
"""Three standard errors, squared: of twice a difference of log-likelihoods."""
_FEWEST = 2
"""The fewest rows whose law can be told from the noise."""
_REFUTED = 1e-6
"""The chance that a right support is refused."""
_UNFITTED = 0.01
"""What the law of so many steps may lack of the best fit: of three peaks in 400,000 rows 0.006."""
_OUTSIDE = 1e-3
"""Share of rows beyond each end of bins that only have a number."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unfolding:
    """How a law is to be unfolded."""

    step: float | None
    """Values are multiples of it."""
    points: FloatArray | None
    """All values that there may be, ascending."""
    resamples: int
    rng: np.random.Generator
    population: bool

    @classmethod
    def of(cls, *, support: Any, resamples: Any, rng: Any, population: bool) -> Unfolding:
        """From arguments; raises ArgumentError for those that cannot be."""
        if isinstance(resamples, bool) or not isinstance(resamples, (int, np.integer)) or not resamples >= 2:
            raise ArgumentError(
                "resamples", rule="an integer of at least 2", got="another", hint="Leave it out for 100."
            )
        if resamples > _MOST_RESAMPLES:
            raise ArgumentError(
                "resamples", rule=f"at most {_MOST_RESAMPLES:,}", got="more", hint="100 to 2,000 are usual."
            )
        if isinstance(rng, bool) or not isinstance(rng, (int, np.integer, np.random.Generator)):
            raise ArgumentError(
                "rng", rule="an integer or a NumPy Generator", got="another", hint="Leave it out for 0."
            )
        step, points = None, None
        if isinstance(support, Real) and not isinstance(support, bool):
            step = float(support)
            if not (np.isfinite(step) and step > 0):
                raise _bad_support("another number")
        elif support is not None:
            points = _as_numbers(support)
            if points is not None and points.size == 2 and points[0] > points[1]:
                raise _bad_support("a pair with the larger value first")
            if points is None or not points.size or not np.isfinite(points).all():
                raise _bad_support("something else")
            points = np.unique(points)
        return cls(
            step=step, points=points, resamples=int(resamples), rng=np.random.default_rng(rng), population=population
        )

    def law(self, column: NoisyColumn, /) -> UnfoldedLaw:
        """The law behind a column.

        Raises ArgumentError for too many points, for a support that the released values refute, and where the noise
        swamps the spread.
        """
        points, is_free = self.points, self.points is None and self.step is None
        if column.is_exact:
            if not np.allclose(self._nearest(column.values), column.values, rtol=1e-9, atol=1e-12):
                raise _refuted()
            return law_of_rows(column.values, population=self.population, resamples=self.resamples, rng=self.rng)
        if points is None:
            try:
                points = even_support(column, step=self.step)
            except OverflowError:
                points = np.empty(0)
        if not 0 < points.size <= MOST_POINTS:
            raise _bad_support(f"one of more than {MOST_POINTS:,} points")
        binned = BinnedColumn.of(column, points)
        try:
            law = unfold(binned, is_grid=is_free, population=self.population, resamples=self.resamples, rng=self.rng)
        except ArgumentError as error:  # rows far from every point
            raise (error if is_free else _refuted()) from None
        if not is_free and _is_refuted(binned, law):
            raise _refuted()
        if column.values.size < _FEWEST or (
            points.size > 1 and law.gain < _CLEAR
        ):  # else it is mostly the law that unfolding starts from
            raise _swamped()
        return law

    def _nearest(self, values: FloatArray) -> FloatArray:
        """The values of the support that are nearest to these."""
        if self.points is None:
            return values if self.step is None else self.step * np.rint(values / self.step)
        return self.points[np.searchsorted(0.5 * (self.points[1:] + self.points[:-1]), values)]


def _is_refuted(binned: BinnedColumn, law: UnfoldedLaw) -> bool:
    """Whether no law on the support explains the rows: a Kolmogorov-Smirnov band about those of each law of noise.

    Where there are several, each is fitted by itself: strata may have different laws.
    """
    start = 0
    for bins, rows in binned.sizes:
        kernel, counts = binned.kernel[start : start + bins], binned.counts[start : start + bins]
        start += bins
        one = len(binned.sizes) == 1
        shares = law.rough if one else _law(kernel, counts[:, None], max(_ROUGHER * law.steps, _LEAST_ROUGH))[:, 0]
        apart = float(np.abs(np.cumsum(counts / rows - kernel @ shares)).max())
        if apart > math.sqrt(math.log(2 * len(binned.sizes) / _REFUTED) / (2 * rows)) + _UNFITTED:
            return True
    return False


def _swamped() -> ArgumentError:
    return ArgumentError(
        "the spread of the column",
        rule="clear of the noise, for quantiles and histograms",
        got="rows that a single value behind all of them explains as well",
        hint="The noise swamps it, or there are too few rows: leave out by=, or ask the issuer for a larger epsilon.",
    )


def check_shares(q: Any, /) -> FloatArray:
    """Shares as an array; raises ArgumentError unless all are from 0 to 1."""
    shares = _as_numbers(q)
    if shares is None or not shares.size or not ((shares >= 0) & (shares <= 1)).all():
        raise ArgumentError("q", rule="shares from 0 to 1", got="something else", hint="Write q=0.5 for the median.")
    return shares


def histogram_of(column: NoisyColumn, bins: int | Sequence[float], asked: Unfolding, /) -> tuple[FloatArray, Unfolded]:
    """The ends of bins, and the rows in each."""
    edges = check_bins(bins)
    law = asked.law(column)
    if edges.ndim == 0:
        low, high = law.quantiles(np.array([_OUTSIDE, 1 - _OUTSIDE])).values.tolist()
        edges = np.linspace(low, high if high > low else low + 1.0, int(edges) + 1)
    # a bin holds its lower end, and the last one both
    below = np.append(np.nextafter(edges[:-1], -np.inf), edges[-1])
    return edges, Unfolded(*(column.values.size * np.diff(part) for part in law.below(below)))


def check_bins(bins: Any) -> FloatArray:
    """Ends, or a number of bins as an array without an axis."""
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool) and 1 <= bins <= MOST_POINTS:
        return np.array(float(bins))
    edges = None if isinstance(bins, Real) else _as_numbers(bins)
    if edges is None or edges.size < 2 or not (np.diff(edges) > 0).all() or not np.isfinite(edges).all():
        rule = f"a number from 1 to {MOST_POINTS:,}, or ascending ends of bins"
        raise ArgumentError("bins", rule=rule, got="something else", hint="Write bins=range(15, 95, 5).")
    return edges


def _as_numbers(given: Any) -> FloatArray | None:
    """One axis of floats, or None."""
    try:
        found = np.atleast_1d(np.asarray(given if np.ndim(given) or isinstance(given, Real) else list(given)))
        return found.astype(np.float64) if found.ndim == 1 and found.dtype.kind in "iuf" else None
    except (TypeError, ValueError):
        return None


def _bad_support(got: str) -> ArgumentError:
    return ArgumentError(
        "support",
        rule=f"the step of which values are multiples, or at most {MOST_POINTS:,} values that there may be",
        got=got,
        hint="Write support=1 for whole numbers, support=range(LOWEST, HIGHEST + 1) where their range is known too. "
        f"Leave it out where these are more than {MOST_POINTS:,}.",
    )


def _refuted() -> ArgumentError:
    return ArgumentError(
        "support",
        rule="all values that there may be, or the step of which they are multiples",
        got="one that the released values refute",
        hint="Write support=range(LOWEST, HIGHEST + 1) for whole numbers of a range: a pair is these two values alone. "
        "Or leave it out.",
    )
