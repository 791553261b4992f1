"""Few atoms in the place of many: groups of neighbours by their means, for which smooth noise pays little."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.log_ratio import Shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, slots=True)
class FewerNodes:
    """The means of groups of neighbouring atoms."""

    weights: FloatArray
    """Weight of each group."""
    means: FloatArray
    """Its mean."""
    deviation: float
    """Largest standard deviation within a group."""
    extent: float
    """Largest distance between two atoms of a group."""
    moved: float
    """By how much rounding may have moved a mean."""

    @classmethod
    def all_of(cls, weights: FloatArray, means: FloatArray, /) -> FewerNodes:
        """Each atom by itself."""
        return cls(weights=weights, means=means, deviation=0.0, extent=0.0, moved=0.0)

    def cost(self, shape: Shape, scale: float, /) -> tuple[float, float]:
        """As `cost_of_means`, of groups in units of the atoms."""
        variance = (self.deviation / scale) ** 2
        return cost_of_means(shape, variance=variance, extent=self.extent / scale, moved=self.moved / scale)


def number_of_nodes(means: FloatArray, /, *, width: float) -> int:
    """How many groups `fewer_nodes` makes."""
    return int(np.count_nonzero(_begins(means, width)))


def fewer_nodes(weights: FloatArray, means: FloatArray, /, *, width: float) -> FewerNodes:
    """Atoms, ascending, in groups that are not wider than about this; the widths are at least 1e-120."""
    starts = np.flatnonzero(_begins(means, width))
    sizes = np.diff(starts, append=means.size)
    total = np.add.reduceat(weights, starts)
    shares, offsets = weights / np.repeat(total, sizes), means - np.repeat(means[starts], sizes)
    middle = np.add.reduceat(shares * offsets, starts)
    variances = np.add.reduceat(shares * np.square(offsets - np.repeat(middle, sizes)), starts)
    nodes = means[starts] + middle
    extent = float(offsets.max())
    moved = UNIT_ROUNDOFF * (2 * (int(sizes.max()) + 4) * extent + float(np.abs(nodes).max()))
    return FewerNodes(
        weights=total,
        means=nodes,
        deviation=math.sqrt(float(variances.max())) * _ROUND_UP + moved,
        extent=extent * _ROUND_UP,
        moved=moved,
    )


def _begins(means: FloatArray, width: float) -> NDArray[np.bool_]:
    """Whether a group begins at each of the atoms."""
    return np.append(True, np.diff(np.floor((means - means[0]) / width)) > 0)


def cost_of_means(shape: Shape, /, *, variance: float, extent: float, moved: float = 0.0) -> tuple[float, float]:
    r"""By how much a log-density may be below and above that of groups of values at their means, in units of the scale.

    Let X be the values of a group and m their mean, known up to `moved`. With K a bound of :math:`|(\log f)''|` and of
    :math:`|f''/f|`, and L one of :math:`|f'/f|`,

    .. math:: e^{-K V/2} \le \frac{E f(y - X)}{f(y - m)} \le 1 + \tfrac{1}{2} K V e^{L D}

    for the variance V and the extent D of the group: below by Jensen's inequality, above by Taylor's formula. In both
    the term of first order has the mean 0.

    References
    ----------
    docs/theory.md, section 13.
    """
    slope, unsure = shape.steepest * extent, shape.steepest * moved
    if slope > 1.0:
        return math.inf, math.inf
    below = 0.5 * shape.most_curved * variance
    return (below + unsure) * _ROUND_UP, (below * math.exp(slope) + unsure) * _ROUND_UP
