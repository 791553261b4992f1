"""Quick bounds for every pair of many priors: their curves on the same cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from puffer_frames.loss.mixtures.curve import Curve
from puffer_frames.loss.mixtures.refine import TAIL_ERROR, Cells, is_lost
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_MOST_POINTS = 1500
"""Ends of cells; atoms, which have to be ends, are counted apart."""
_MOST_ATOMS = 500


class SharedCells:
    """Curves of one scale and centre, evaluated once each.

    A pair costs the comparison of two rows of numbers. Its bounds are a few parts in a thousand wide, or wider: enough
    to see that most pairs are not the worst.

    References
    ----------
    docs/theory.md, section 3, "Gaussian components".
    """

    def __init__(self, curves: Sequence[Curve], y: FloatArray, /) -> None:
        self._scale = curves[0].scale
        self._points, self._bounds, masses = [], [], []
        before, after = np.arange(y.size - 1), np.arange(1, y.size)
        for curve in curves:
            points = curve.at(y)
            self._bounds.append(curve.bounds(points.take(before), points.take(after)))
            self._points.append(points.without_components())
            masses.append(curve.masses(points))
        self._left = [points.take(before) for points in self._points]
        self._right = [points.take(after) for points in self._points]
        self._mass = np.array([mass for mass, _ in masses]).clip(min=0.0)
        self._error = np.array([error for _, error in masses])
        self._rounding = 4 * (y.size + 16) * UNIT_ROUNDOFF

    @classmethod
    def of(
        cls, curves: Sequence[Curve], /, *, more: FloatArray | None = None, width: float = 0.0
    ) -> SharedCells | None:
        """With `more` ends of cells, and without most of those that are nearer together than a width; None where the
        curves have too many atoms, or leave the floats.
        """
        reaches = np.array([curve.reach() if curve.scale else curve.extent() for curve in curves])
        low, high = reaches[:, 0].min(), reaches[:, 1].max()
        atoms = np.unique(np.concatenate([curve.means[curve.stds == 0] for curve in curves]))
        if not np.isfinite([low, high]).all() or atoms.size > _MOST_ATOMS:
            return None
        marks = np.unique(np.concatenate([curve.marks() for curve in curves]))
        marks = marks[(marks > low) & (marks < high)]
        if width:
            marks = marks[np.flatnonzero(np.diff(np.floor(marks / width), prepend=-np.inf))]
        marks = marks[:: marks.size // _MOST_POINTS + 1]
        more = np.zeros(0) if more is None else more[(more > low) & (more < high)]
        found = cls(curves, np.unique(np.concatenate([marks, atoms, more, [low, high]])))
        return None if any(is_lost(points.error) for points in found._points) else found

    def largest_log_ratio(self, i: int, j: int, /) -> tuple[float, float]:
        """Bounds of sup |log f_i/f_j| under Laplace noise."""
        p, q = self._points[i], self._points[j]
        ratio, error = np.abs(p.log_f - q.log_f), p.error + q.error
        low, high = self._log_ratios(i, j)
        return max(0.0, float((ratio - error).max())), max(float(high.max()), -float(low.min()))

    def positive_mass(self, i: int, j: int, /, *, epsilon: float) -> tuple[float, float]:
        """Bounds of the integral of [f_i - e^epsilon f_j]_+, of the larger one of both orders.

        On a cell it is at least P_i - e^epsilon P_j, and no more where the ratio is above e^epsilon throughout; it is
        at most P_i (1 - e^epsilon inf f_j/f_i).
        """
        low, high = self._log_ratios(i, j)
        orders = [self._positive_mass(i, j, low, high, epsilon), self._positive_mass(j, i, -high, -low, epsilon)]
        return max(lower for lower, _ in orders), max(upper for _, upper in orders)

    def _positive_mass(self, i: int, j: int, low: FloatArray, high: FloatArray, epsilon: float) -> tuple[float, float]:
        factor = float(np.exp(epsilon))
        mass, other = self._mass[i], factor * self._mass[j]
        difference = mass - other
        error = self._error[i] + factor * self._error[j] + 8 * UNIT_ROUNDOFF * (mass + other)
        lower = np.maximum(difference - error, 0.0)
        most = np.maximum(difference + error, 0.0)
        undecided = low <= epsilon
        share = -np.expm1(np.minimum(epsilon - high[undecided], 0.0))
        most[undecided] = (mass + self._error[i])[undecided] * share
        return float(lower.sum()) * (1 - self._rounding), min(1.0, float(most.sum()) * (1 + self._rounding))

    def _log_ratios(self, i: int, j: int) -> tuple[FloatArray, FloatArray]:
        """Bounds of log f_i/f_j on the tail to the left, on each cell, and on the tail to the right."""
        cells = Cells(p_left=self._left[i], p_right=self._right[i], q_left=self._left[j], q_right=self._right[j])
        low, high = cells.log_ratio(self._bounds[i], self._bounds[j])
        low, high = low - cells.error, high + cells.error
        ends = [0, -1]
        p, q = self._points[i], self._points[j]
        ratio = p.log_f[ends] - q.log_f[ends]
        error = p.error[ends] + q.error[ends] + (TAIL_ERROR if self._scale else np.inf)
        return (
            np.concatenate([(ratio - error)[:1], low, (ratio - error)[1:]]),
            np.concatenate([(ratio + error)[:1], high, (ratio + error)[1:]]),
        )
