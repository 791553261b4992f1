"""Cells of several columns in which two densities are known from their corners, and their halving."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_LEVELS = 40
_MOST_BOXES = 200_000
"""Beyond so many halvings at once the bounds are left as they are."""
_MOST_NARROWED = 60_000
"""The same where boxes are cut until the ratio is nearly constant."""
_LEAST_MASS = 1e-14
NEAR = 3e-3
"""Bounds are near where they differ by this part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    r"""Boxes that no row lies inside of along any axis.

    Along an axis of width h, in units of the scale, a density is :math:`A e^y + B e^{-y}`. So in the middle it is the
    sum of both ends divided by :math:`2 \cosh(h/2)`.
    """

    first: FloatArray
    """The density of the first law at the corners, up to a constant; shape (2**axes, boxes), the last axis fastest."""
    second: FloatArray
    """That of the second law."""
    widths: FloatArray
    """Shape (axes, boxes); 0 along an axis where both ends are one."""
    weights: FloatArray
    """The probability of a box is this times the sum over its corners."""
    error: float
    """Largest relative rounding error of a ratio of densities."""

    def cells(self) -> RatioCells:
        """What is known of the two laws, from above."""
        ratio = np.log(self.first) - np.log(self.second)
        grown = self.error + 64 * UNIT_ROUNDOFF
        mass, other = self.weights * self.first.sum(axis=0), self.weights * self.second.sum(axis=0)
        return RatioCells(
            mass=mass * (1 + grown),
            mass_low=mass * (1 - grown),
            other=other * (1 - grown),
            other_high=other * (1 + grown),
            low=ratio.min(axis=0) - grown,
            high=ratio.max(axis=0) + grown,
        )

    @property
    def swapped(self) -> Boxes:
        """The second law against the first."""
        return replace(self, first=self.second, second=self.first)

    def narrowed(self, width: float, /) -> Boxes:
        """Boxes cut until the log-ratio changes by at most `width` in each, those of next to no probability aside."""
        boxes, settled = self, list[Boxes]()
        for _ in range(_LEVELS):
            ratio = np.log(boxes.first) - np.log(boxes.second)
            mass = boxes.weights * np.maximum(boxes.first.sum(axis=0), boxes.second.sum(axis=0))
            split = (np.ptp(ratio, axis=0) > width) & (mass > _LEAST_MASS) & (boxes.widths > 0).any(axis=0)
            if not split.any() or 2 * int(split.sum()) > _MOST_NARROWED:
                break
            settled.append(boxes._take(~split))
            boxes = boxes._take(split)._halves()
        return _joined([*settled, boxes])

    def hockey_stick(
        self, epsilon: float, /, *, near: float = NEAR, enough: float = 0.0, refuted: float = 1.0
    ) -> Bracket:
        """Bounds of the integral of the positive part over the boxes.

        They are made tighter until they differ by this part, the upper one is at most `enough`, or the lower one is
        more than `refuted`.
        """
        boxes, settled = self, (0.0, 0.0)
        for level in range(_LEVELS):
            lower, upper = boxes._bounds(epsilon)
            low, high = settled[0] + float(lower.sum()), settled[1] + float(upper.sum())
            apart = upper - lower
            if high <= enough or low > refuted or level == _LEVELS - 1:
                break
            goal = near * max(enough, low)
            split = (apart > 0.25 * goal / max(1, apart.size)) & (boxes.widths > 0).any(axis=0)
            if float(apart.sum()) <= goal or not split.any() or 2 * int(split.sum()) > _MOST_BOXES:
                break
            settled = settled[0] + float(lower[~split].sum()), settled[1] + float(upper[~split].sum())
            boxes = boxes._take(split)._halves()
        slack = UNIT_ROUNDOFF * (lower.size + self.weights.size + 64)
        upper_end = min(1.0, high * (1 + slack))
        return Bracket(lower=min(max(0.0, low * (1 - slack)), upper_end), upper=upper_end)

    def _bounds(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """What each box contributes: from below the difference of its probabilities, from above its chord."""
        cells = self.cells()
        lower = np.maximum(cells.mass_low - math.exp(epsilon) * cells.other_high, 0.0)
        logs, masses = cells.points()
        upper = (masses * np.maximum(-np.expm1(epsilon - logs), 0.0)).reshape(2, -1).sum(axis=0)
        upper *= 1 + 16 * UNIT_ROUNDOFF
        return np.minimum(lower, upper), upper

    def _take(self, chosen: NDArray[np.bool_]) -> Boxes:
        return replace(
            self,
            first=self.first[:, chosen],
            second=self.second[:, chosen],
            widths=self.widths[:, chosen],
            weights=self.weights[chosen],
        )

    def _halves(self) -> Boxes:
        """Both halves of every box, across the axis along which the ratio changes most."""
        axes = len(self.widths)
        ratio = (np.log(self.first) - np.log(self.second)).reshape((2,) * axes + (-1,))
        changes = np.stack([np.abs(np.diff(ratio, axis=k)).max(axis=tuple(range(axes))) for k in range(axes)])
        chosen = np.where(self.widths > 0, changes, -1.0).argmax(axis=0)
        parts = [self._take(chosen == k)._across(k) for k in range(axes) if (chosen == k).any()]
        return replace(_joined(parts), error=self.error + 8 * UNIT_ROUNDOFF)

    def _across(self, axis: int) -> Boxes:
        axes, width = len(self.widths), self.widths[axis]
        grown = 2 * np.cosh(0.5 * width)
        sides = []
        for corners in (self.first, self.second):
            table = np.moveaxis(corners.reshape((2,) * axes + (-1,)), axis, 0)
            middle = (table[0] + table[1]) / grown
            halves = [np.stack(pair) for pair in ((table[0], middle), (middle, table[1]))]
            joined = np.concatenate([np.moveaxis(half, 0, axis) for half in halves], axis=-1)
            sides.append(joined.reshape(2**axes, -1))
        widths = self.widths.copy()
        widths[axis] = 0.5 * width
        weights = self.weights * (np.tanh(0.25 * width) / np.tanh(0.5 * width))
        return replace(
            self,
            first=sides[0],
            second=sides[1],
            widths=np.concatenate([widths, widths], axis=1),
            weights=np.concatenate([weights, weights]),
        )


def _joined(parts: Sequence[Boxes]) -> Boxes:
    return Boxes(
        first=np.concatenate([part.first for part in parts], axis=1),
        second=np.concatenate([part.second for part in parts], axis=1),
        widths=np.concatenate([part.widths for part in parts], axis=1),
        weights=np.concatenate([part.weights for part in parts]),
        error=max(part.error for part in parts),
    )
