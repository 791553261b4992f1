"""Branch and bound over the real line: the supremum of a log-ratio, and the integral of its positive part."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.mixtures.curve import CellBounds, Curve, Points, parabola, wedge
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_LARGEST_EPSILON = 700.0
_TINY = 5e-324
_MOST_LEVELS = 90
_MOST_CELLS = 1 << 18
TAIL_ERROR = 1e-17
_NARROW = 1 / 128
"""Half the width of the cell about an estimated crossing, in widths of the cell that it was in."""
_HOPELESS = 0.999
"""A bound below this share of the floor is not made tighter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells between neighbouring points, for two curves."""

    p_left: Points
    p_right: Points
    q_left: Points
    q_right: Points

    @classmethod
    def between(cls, p: Points, q: Points, /) -> Cells:
        """All cells between sorted points."""
        before, after = np.arange(p.y.size - 1), np.arange(1, p.y.size)
        return cls(p_left=p.take(before), p_right=p.take(after), q_left=q.take(before), q_right=q.take(after))

    def take(self, index: IndexArray, /) -> Cells:
        return Cells(**{name: getattr(self, name).take(index) for name in _ENDS})

    def halves(self, p: Curve, q: Curve, /) -> tuple[Cells, Points, Points]:
        """Both halves of every cell, and the curves at the midpoints."""
        middle = 0.5 * (self.p_left.y + self.p_right.y)
        p_middle, q_middle = p.at(middle), q.at(middle)
        halves = Cells(
            p_left=self.p_left.join(p_middle),
            p_right=p_middle.join(self.p_right),
            q_left=self.q_left.join(q_middle),
            q_right=q_middle.join(self.q_right),
        )
        return halves, p_middle, q_middle

    def around(self, roots: FloatArray, p: Curve, q: Curve, /) -> Cells:
        """Every cell in four, by its middle and by a narrow cell about its root: none is wider than half of it."""
        width = self.width
        near = width * _NARROW
        roots = np.clip(roots, self.p_left.y + 2.0 * near, self.p_right.y - 2.0 * near)
        middle = 0.5 * (self.p_left.y + self.p_right.y)
        cuts = np.sort(np.stack((roots - near, roots + near, middle)), axis=0)
        p_cuts, q_cuts = [p.at(cut) for cut in cuts], [q.at(cut) for cut in cuts]
        p_points, q_points = (self.p_left, *p_cuts, self.p_right), (self.q_left, *q_cuts, self.q_right)
        parts = (
            Cells(p_left=p_points[k], p_right=p_points[k + 1], q_left=q_points[k], q_right=q_points[k + 1])
            for k in range(4)
        )
        return reduce(Cells.join, parts)

    def join(self, other: Cells, /) -> Cells:
        """These cells and others."""
        return Cells(**{name: getattr(self, name).join(getattr(other, name)) for name in _ENDS})

    def split_at(self, level: float, p: Curve, q: Curve, /) -> Cells:
        """Every cell in four where the log-ratio crosses the level between its ends, else in halves."""
        left, right = self.p_left.log_f - self.q_left.log_f - level, self.p_right.log_f - self.q_right.log_f - level
        width = self.width
        crossed = (left < 0) != (right < 0)
        crossed &= width * _NARROW > 64.0 * UNIT_ROUNDOFF * (np.abs(self.p_left.y) + np.abs(self.p_right.y))
        if not crossed.any():
            return self.halves(p, q)[0]
        inner = self.take(np.flatnonzero(crossed))
        share = left[crossed] / (left[crossed] - right[crossed])
        parts = inner.around(inner.p_left.y + share * width[crossed], p, q)
        if crossed.all():
            return parts
        return parts.join(self.take(np.flatnonzero(~crossed)).halves(p, q)[0])

    @property
    def width(self) -> FloatArray:
        return self.p_right.y - self.p_left.y

    @property
    def error(self) -> FloatArray:
        """Rounding error of the log-ratio at the worse end."""
        return np.maximum(self.p_left.error + self.q_left.error, self.p_right.error + self.q_right.error)

    def splittable(self) -> NDArray[np.bool_]:
        middle = 0.5 * (self.p_left.y + self.p_right.y)
        return (middle > self.p_left.y) & (middle < self.p_right.y)

    def log_ratio(self, p: CellBounds, q: CellBounds, /) -> tuple[FloatArray, FloatArray]:
        """Bounds of log f_p/f_q on each cell, rounding errors of the end values left out."""
        h = self.width
        left, right = self.p_left.log_f - self.q_left.log_f, self.p_right.log_f - self.q_right.log_f
        same = (p.main_mean == q.main_mean) & (p.main_std == q.main_std)  # its score cancels
        rest = np.where(same, p.rest + q.rest, np.inf)
        slopes = np.maximum(p.least_slope - q.most_slope, -rest), np.minimum(p.most_slope - q.least_slope, rest)
        upper = np.minimum(wedge(left, right, *slopes, h), parabola(left, right, q.most_bend - p.least_bend, h))
        lower = -np.minimum(
            wedge(-left, -right, -slopes[1], -slopes[0], h), parabola(-left, -right, p.most_bend - q.least_bend, h)
        )
        return lower, upper


_ENDS = ("p_left", "p_right", "q_left", "q_right")


def _start(p: Curve, q: Curve, reaches: tuple[tuple[float, float], tuple[float, float]]) -> tuple[Points, Points]:
    """Both curves at the marks of both, from one outer end to the other."""
    low, high = min(r[0] for r in reaches), max(r[1] for r in reaches)
    marks = np.concatenate([p.marks(), q.marks()])
    y = np.unique(np.concatenate([marks[(marks > low) & (marks < high)], [low, high]]))
    return p.at(y), q.at(y)


def largest_log_ratio(p: Curve, q: Curve, /, *, tolerance: float, floor: float = 0.0) -> tuple[float, float]:
    """Bounds of sup |log f_p/f_q| under Laplace noise.

    - `p`, `q`: Both have the same scale > 0 and the same centre.
    - `tolerance`: Width to reach, relative to the supremum.
    - `floor`: Where the supremum is below this, the upper bound need only be below it too.

    A cell is dropped once its upper bound is within the tolerance of the largest value seen, else it is halved.
    Beyond the outermost points the ratio is constant to 1e-17.
    """
    reaches = p.reach(), q.reach()
    if math.inf in (reaches[0][1], reaches[1][1]):
        return 0.0, math.inf
    at_p, at_q = _start(p, q, reaches)
    if is_lost(at_p.error + at_q.error):
        return 0.0, math.inf
    ratio, error = np.abs(at_p.log_f - at_q.log_f), at_p.error + at_q.error + TAIL_ERROR
    seen, lower, settled = float(ratio.max()), float((ratio - error).max()), float((ratio + error).max())
    cells = Cells.between(at_p, at_q)
    for level in range(_MOST_LEVELS):
        if is_lost(cells.error):
            return max(0.0, lower), math.inf
        low, high = cells.log_ratio(p.bounds(cells.p_left, cells.p_right), q.bounds(cells.q_left, cells.q_right))
        bound = np.maximum(high, -low)
        goal = max(seen, floor) * (1 + tolerance)
        split = (bound > goal) & cells.splittable()
        if level == _MOST_LEVELS - 1 or int(split.sum()) > _MOST_CELLS:
            split[:] = False
        done = bound + cells.error
        if not split.all():
            settled = max(settled, float(done[~split].max()))
        if not split.any():
            break
        cells, p_middle, q_middle = cells.take(np.flatnonzero(split)).halves(p, q)
        ratio, error = np.abs(p_middle.log_f - q_middle.log_f), p_middle.error + q_middle.error
        seen, lower = max(seen, float(ratio.max())), max(lower, float((ratio - error).max()))
        settled = max(settled, float((ratio + error).max()))
    return max(0.0, lower), settled


def is_lost(error: FloatArray, /) -> bool:
    """Whether a density is somewhere too small for its logarithm to be a float: nothing is known of a ratio then."""
    return bool(np.isnan(error).any())


def first_points(p: Curve, q: Curve, /) -> tuple[Points, Points]:
    """Both curves where `positive_mass` begins, in either order of the two."""
    return _start(p, q, (p.reach(), q.reach()) if p.scale else (p.extent(), q.extent()))


def positive_mass(
    p: Curve,
    q: Curve,
    /,
    *,
    epsilon: float,
    tolerance: float,
    floor: float = 0.0,
    first: tuple[Points, Points] | None = None,
) -> tuple[float, float]:
    r"""Bounds of the integral of [f_p - e^epsilon f_q]_+, not tighter than it takes to see that it is below the floor.

    Cells where the sign is certain contribute their exact mass (neighbours are joined first). An undecided cell
    contributes at most :math:`P_p(cell)(1 - e^{\varepsilon - \sup \log f_p/f_q})`, which falls with the square of its
    width, and is split until the sum of these is within the tolerance or rounding hides the sign: about the crossing
    that a straight line between its ends has, and in halves.
    """
    if epsilon > _LARGEST_EPSILON:  # of which e is no float
        return 0.0, positive_mass(p, q, epsilon=_LARGEST_EPSILON, tolerance=tolerance, floor=floor, first=first)[1]
    at_p, at_q = first or first_points(p, q)
    if is_lost(at_p.error + at_q.error):
        return 0.0, 1.0
    cells = Cells.between(at_p, at_q)
    starts, ends, undecided = _tails(p, at_p, at_q, epsilon)
    factor = math.exp(epsilon)
    decided = [(p.mass(a, b) - factor * q.mass(a, b)).sum() for a, b in zip(starts[1:], ends[1:], strict=True)]
    measured = float(sum(decided))
    for level in range(_MOST_LEVELS):
        if is_lost(cells.error):
            return 0.0, 1.0
        p_bounds = p.bounds(cells.p_left, cells.p_right)
        low, high = cells.log_ratio(p_bounds, q.bounds(cells.q_left, cells.q_right))
        blurred = high - epsilon <= cells.error
        high, low = high + cells.error, low - cells.error
        positive = low > epsilon
        starts.append(cells.p_left.y[positive])
        ends.append(cells.p_right.y[positive])
        measured += float((p.mass(starts[-1], ends[-1]) - factor * q.mass(starts[-1], ends[-1])).sum())
        open_ = ~positive & (high > epsilon)
        most = _mass_above(p, cells, p_bounds) * -np.expm1(np.minimum(epsilon - high, 0.0))
        goal = max(1e-17, tolerance * max(measured, floor))
        small = most <= goal / (4.0 * max(1, int(open_.sum())))
        split = open_ & ~small & ~blurred & cells.splittable()
        total = float(most[open_].sum())
        hopeless = measured + undecided + total <= _HOPELESS * floor
        if total <= goal or hopeless or level == _MOST_LEVELS - 1 or int(split.sum()) > _MOST_CELLS:
            split[:] = False
        undecided += float(most[open_ & ~split].sum())
        if not split.any():
            break
        cells = cells.take(np.flatnonzero(split)).split_at(epsilon, p, q)
    a, b = _joined(np.concatenate(starts), np.concatenate(ends))
    p_mass, q_mass = p.mass(a, b), factor * q.mass(a, b)
    integral = float((p_mass - q_mass).sum())
    error = p.mass_error(a, b) + factor * q.mass_error(a, b) + 8 * UNIT_ROUNDOFF * float((p_mass + q_mass).sum())
    upper = min(1.0, max(0.0, integral) + error + undecided)
    return min(max(0.0, integral - error), upper), upper


def _tails(p: Curve, at_p: Points, at_q: Points, epsilon: float) -> tuple[list[FloatArray], list[FloatArray], float]:
    """The decided tails as intervals, and the most that an undecided one contributes."""
    starts, ends, undecided = [np.empty(0)], [np.empty(0)], 0.0
    for k, (a, b) in ((0, (-np.inf, float(at_p.y[0]))), (-1, (float(at_p.y[-1]), np.inf))):
        ratio = float(at_p.log_f[k] - at_q.log_f[k])
        error = float(at_p.error[k] + at_q.error[k]) + TAIL_ERROR
        if p.scale and ratio - error > epsilon:
            starts.append(np.array([a]))
            ends.append(np.array([b]))
        elif not p.scale or ratio + error > epsilon:
            share = 1.0 if not p.scale else -math.expm1(epsilon - ratio - error)
            tail = (np.array([a]), np.array([b]))
            undecided += share * (float(p.mass(*tail)[0]) * (1 + 1e-9) + 1e-300)
    return starts, ends, undecided


def _mass_above(p: Curve, cells: Cells, bounds: CellBounds) -> FloatArray:
    """Upper bound of the mass of each cell under p: its width times its largest density."""
    slopes = bounds.least_slope, bounds.most_slope
    peak = wedge(cells.p_left.log_f, cells.p_right.log_f, *slopes, cells.width) + cells.error
    log_mass = peak + np.log(np.maximum(cells.width / p.normaliser, _TINY))
    return np.exp(np.minimum(log_mass, 0.0))


def _joined(starts: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Intervals with touching neighbours made one."""
    order = np.argsort(starts)
    starts, ends = starts[order], ends[order]
    fresh = np.ones(starts.size, dtype=bool)
    fresh[1:] = starts[1:] != ends[:-1]
    last = np.append(fresh[1:], np.ones(min(1, starts.size), dtype=bool))
    return starts[fresh], ends[last]
