"""Noisy values counted in bins, and the exact probability of every bin given the value behind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.family import Noise
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.noisy import NoisyColumn

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
        """Count the column for these support points.

        Notes
        -----
        **Cost**: bins times points values of the noise's distribution function for each law of noise.
        """
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
        points: FloatArray = np.arange(first, last + 1) * step
        return points
    scales = [noise.scale for noise in column.noises if noise is not None]
    wanted = _PER_SCALE * (high - low) / min(scales) if scales else 0.0
    return np.linspace(low, high, int(min(max(_POINTS, wanted), MOST_POINTS))) if high > low else np.array([low])


def _edges(
    values: FloatArray, noise: Noise | None, column: NoisyColumn, support: FloatArray, step: float
) -> FloatArray:
    """Where bins end; the first one has no lower end and the last one no upper one."""
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


def _probabilities(edges: FloatArray, support: FloatArray, noise: Noise | None) -> FloatArray:
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
