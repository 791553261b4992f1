"""The hockey stick of several columns with independent Gaussian noise, between proved bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
from scipy.special import ndtr

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.joint.lines import JointLaw, Scales
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_REACH = 7.5
"""In standard deviations beyond the outermost rows: what lies outside is paid for."""
_FARTHEST = 600.0
"""Squares of distances over twice the variances add up to at most this: beyond, densities leave the range of floats."""
_MOST_ROWS = 4_000_000
"""Different rows that the coordinates could make."""


def gaussian_stick(first: JointLaw, second: JointLaw, stds: Scales, /, *, epsilon: float, cells: int = 200) -> Bracket:
    r"""Bounds of :math:`\int [f_s - e^\varepsilon f_t]_+` for rows with independent Gaussian noise on each column.

    Parameters
    ----------
    first, second : JointLaw
        P_s and P_t.
    stds : sequence of float
        Standard deviation theta of the noise, per column.
    epsilon : float
    cells : int
        Of each axis. The bounds are near one another where a cell is much narrower than the noise.

    Returns
    -------
    Bracket
        From 0 to 1 where the densities leave the range of floats.

    Notes
    -----
    :math:`\phi(y) = \log f(y) + \sum_k y_k^2 / 2 \theta_k^2` is convex, for it is the log of a sum of exponentials of
    linear functions, with the gradient :math:`E[X_k | y] / \theta_k^2`. So in a cell with the middle m the first one is
    at most the interpolation of its values at the corners c, the second at least its tangent at m, and

    .. math:: \log f_s / f_t \le \max_c \Big[ \log f_s(c) - \log f_t(m) + \sum_k \frac{(c_k - m_k)^2 / 2
        + (m_k - E_t[X_k | m]) (c_k - m_k)}{\theta_k^2} \Big]

    The infimum is bounded alike. A cell contributes from :math:`[P - e^\varepsilon Q]_+` to its chord
    (`RatioCells.points`), and P(outside) is added to the upper end. **Rounding**: counted, in both ends. **Cost**:
    cells to the power of the columns, times the coordinates of an axis.

    References
    ----------
    docs/theory.md, section 17.
    """
    axes = [_Axis(first.points[:, k], second.points[:, k], float(std), cells) for k, std in enumerate(stds)]
    sizes = [axis.coordinates.size for axis in axes]
    if sum(axis.farthest for axis in axes) > _FARTHEST or math.prod(sizes) > _MOST_ROWS:
        return Bracket(lower=0.0, upper=1.0)
    tables = [_table(law, axes) for law in (first, second)]
    p, q = (_joined(table, [axis.masses for axis in axes]).ravel() for table in tables)
    rows = max(first.weights.size, second.weights.size)
    error = UNIT_ROUNDOFF * (64 * (sum(sizes) + len(axes) * cells) + 32 * _FARTHEST + 4 * rows)
    found = RatioCells(
        mass=p * (1 + error),
        mass_low=p * (1 - error),
        other=q * (1 - error),
        other_high=q * (1 + error),
        low=-_highest(axes, *tables[::-1]).ravel() - error,
        high=_highest(axes, *tables).ravel() + error,
        beyond=len(axes) * 2 * float(ndtr(-_REACH)) * (1 + 1e-9),
    )
    logs, masses = found.points()
    slack = UNIT_ROUNDOFF * (p.size + 64)
    upper = (found.beyond + float((masses * np.maximum(-np.expm1(epsilon - logs), 0.0)).sum())) * (1 + slack)
    lower = found.least_stick(epsilon)
    return Bracket(lower=min(lower, 1.0), upper=min(max(lower, upper), 1.0))


class _Axis:
    """The lines of one axis, and the noise between them around each coordinate of a row."""

    def __init__(self, first: FloatArray, second: FloatArray, std: float, cells: int) -> None:
        self.coordinates = np.unique(np.concatenate([first, second]))
        low, high = self.coordinates[[0, -1]] + np.array([-1, 1]) * _REACH * std
        self.std, self.lines = std, np.linspace(low, high, cells + 1)
        self.middles = 0.5 * (self.lines[1:] + self.lines[:-1])
        self.farthest = 0.5 * float((high - low) / std) ** 2
        ends = (self.lines[:, None] - self.coordinates) / std
        right = ends[:-1] > 0  # a tail is not computed from its complement
        self.masses: FloatArray = np.where(right, ndtr(-ends[:-1]) - ndtr(-ends[1:]), ndtr(ends[1:]) - ndtr(ends[:-1]))
        """Probability of a cell given a coordinate, shape (cells, coordinates)."""

    def kernel(self, at: FloatArray, /) -> FloatArray:
        """But for a constant the density at some positions given a coordinate."""
        found: FloatArray = np.exp(-0.5 * ((at[:, None] - self.coordinates) / self.std) ** 2)
        return found


def _table(law: JointLaw, axes: Sequence[_Axis]) -> FloatArray:
    """The weights of a law on the product of all coordinates."""
    places = tuple(np.searchsorted(axis.coordinates, law.points[:, k]) for k, axis in enumerate(axes))
    table = np.zeros([axis.coordinates.size for axis in axes])
    np.add.at(table, places, law.weights)
    return table


def _joined(table: FloatArray, parts: Sequence[FloatArray]) -> FloatArray:
    """Sums over all rows of the products of one part per axis."""
    for k, part in enumerate(parts):
        table = np.moveaxis(np.tensordot(part, table, axes=(1, k)), 0, k)
    return table


def _highest(axes: Sequence[_Axis], first: FloatArray, second: FloatArray) -> FloatArray:
    """The bound of the log-ratio in each cell."""
    at_lines = np.log(_joined(first, [axis.kernel(axis.lines) for axis in axes]))
    middles = [axis.kernel(axis.middles) for axis in axes]
    density = _joined(second, middles)
    slopes = []
    for k, axis in enumerate(axes):
        coordinate = axis.coordinates.reshape([-1 if j == k else 1 for j in range(len(axes))])
        mean = _joined(second * coordinate, middles) / density
        middle = axis.middles.reshape([-1 if j == k else 1 for j in range(len(axes))])
        slopes.append((middle - mean) / axis.std**2)
    steps = [0.5 * np.diff(axis.lines) for axis in axes]
    highest = np.full(density.shape, -np.inf)
    for corner in product((0, 1), repeat=len(axes)):
        part = at_lines[tuple(slice(bit, bit + size) for bit, size in zip(corner, density.shape, strict=True))]
        found = part.copy()
        for k, (bit, axis) in enumerate(zip(corner, axes, strict=True)):
            step = ((2 * bit - 1) * steps[k]).reshape([-1 if j == k else 1 for j in range(len(axes))])
            found += 0.5 * (step / axis.std) ** 2 + slopes[k] * step
        highest = np.maximum(highest, found)
    bound: FloatArray = highest - np.log(density)
    return bound
