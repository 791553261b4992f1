r"""The law behind noisy values by expectation maximisation (Richardson–Lucy), stopped where it fits other rows best.

From the uniform law on the support, with counts c of bins and the probability K of each bin given a point:

.. math:: p \leftarrow p \odot K^\top (c / Kp) / n

Every step makes the rows more likely, and in the end fits their noise. The number of steps is the one after which the
law of one half of the rows makes the other half most likely, and vice versa. It is found anew for every column.

So stopped, the law is smoother than the rows', which its own resamples do not show. They take ten times as many steps:
rougher, and spread so that their quantiles cover what the estimate smooths too, but for laws of a few sharp peaks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.bins import BinnedColumn

MOST_STEPS = 2000
"""So many steps are tried."""
_PATIENCE = 2.0
"""The search ends at so many times the best number of steps so far, and 30 more."""
_ROUGHER = 10
_LEAST_ROUGH = 100
"""Resamples take ten times as many steps as the estimate, and at least a hundred."""
_SPLITS = 4
_AS_GOOD = 0.5
"""Of the log-likelihood: less tells two numbers of steps no better apart than chance."""
_LEAST = 1e-300
_ROUNDING = 1e-12
"""Of sums of shares."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnfoldedLaw:
    """What the law of the values behind a column is estimated to be."""

    support: FloatArray
    """Ascending, shape (points,)."""
    shares: FloatArray
    """Summing to 1, shape (points,)."""
    draws: FloatArray
    """From rows drawn from this law, after more steps, shape (resamples, points)."""
    steps: int
    """How many steps were taken."""
    is_grid: bool
    """Whether a point stands for the values about it."""
    gain: float
    """Twice by how much the law makes the rows more likely than any single value behind all of them does."""

    def below(self, ends: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """The share of values up to each end, shape (ends,), and that in each resample, (resamples, ends)."""
        found = [self._below(law, ends) for law in (self.shares, *self.draws)]
        return found[0], np.array(found[1:]).reshape(len(self.draws), ends.size)

    def quantiles(self, q: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """The value below which a share q lies, shape (q,), and that in each resample, (resamples, q)."""
        found = [self._quantiles(law, q) for law in (self.shares, *self.draws)]
        return found[0], np.array(found[1:]).reshape(len(self.draws), q.size)

    def _edges(self) -> FloatArray:
        half = 0.5 * (self.support[1] - self.support[0])
        return np.append(self.support - half, self.support[-1] + half)

    def _below(self, law: FloatArray, ends: FloatArray) -> FloatArray:
        whole = np.append(0.0, np.cumsum(law))
        if self.is_grid and self.support.size > 1:
            found: FloatArray = np.interp(ends, self._edges(), whole)
            return found
        steps: FloatArray = whole[np.searchsorted(self.support, ends, side="right")]
        return steps

    def _quantiles(self, law: FloatArray, q: FloatArray) -> FloatArray:
        whole = np.cumsum(law)
        if self.is_grid and self.support.size > 1:
            found: FloatArray = np.interp(q, np.append(0.0, whole), self._edges())
            return found
        points: FloatArray = self.support[np.searchsorted(whole, q - _ROUNDING).clip(0, self.support.size - 1)]
        return points


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

    Parameters
    ----------
    binned : BinnedColumn
    is_grid : bool
        Whether a support point stands for the values about it.
    population : bool
        Whether resamples are of rows and noise, as draws of a population; else only of the noise, for rows whose shares
        are the estimated ones.
    resamples : int
    rng : Generator
        Halves the rows for the number of steps, and draws the resamples.
    most : int
        At most so many steps.

    Notes
    -----
    **Cost**: bins x points x resamples multiplications and additions, four times a step.
    """
    steps = best_steps(binned, rng=rng, most=most)
    shares = _law(binned.kernel, binned.counts[:, None], steps)[:, 0]
    again = _resampled(binned, shares, population=population, resamples=resamples, rng=rng)
    more = min(max(_ROUGHER * steps, _LEAST_ROUGH), most)
    draws = _law(binned.kernel.astype(np.float32), again.astype(np.float32), more).T.astype(np.float64)
    chances = np.log(np.maximum(np.column_stack([binned.kernel @ shares, binned.kernel]), _LEAST))
    fits = binned.counts @ chances
    gain = 2 * float(fits[0] - fits[1:].max())
    return UnfoldedLaw(support=binned.support, shares=shares, draws=draws, steps=steps, is_grid=is_grid, gain=gain)


def law_of_rows(values: FloatArray, /, *, population: bool, resamples: int, rng: np.random.Generator) -> UnfoldedLaw:
    """The law of values without noise, which need no unfolding; resamples of a table are the table."""
    support, counts = np.unique(values, return_counts=True)
    shares = counts / values.size
    draws = np.broadcast_to(shares, (resamples, support.size))
    if population:
        draws = rng.multinomial(values.size, shares, size=resamples) / values.size
    return UnfoldedLaw(support=support, shares=shares, draws=draws, steps=0, is_grid=False, gain=math.inf)


def best_steps(binned: BinnedColumn, /, *, rng: np.random.Generator, most: int = MOST_STEPS) -> int:
    """The number of steps after which each half of the rows makes the other one most likely.

    Halves are drawn four times, and their likelihoods averaged. Of numbers of steps that are as good as the best one,
    up to half a unit of the log-likelihood, it is the smallest.
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


def _law(kernel: FloatArray, counts: FloatArray, steps: int) -> FloatArray:
    """The law after so many steps, for each column of counts."""
    law = np.full((kernel.shape[1], counts.shape[1]), 1.0 / kernel.shape[1], dtype=kernel.dtype)
    for _ in range(steps):
        law *= kernel.T @ (counts / np.maximum(kernel @ law, np.finfo(kernel.dtype).tiny))
        law /= law.sum(axis=0)
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
