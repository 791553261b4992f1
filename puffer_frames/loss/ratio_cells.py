"""The law of a privacy loss, in cells: how likely each is under two laws, and bounds of their log-ratio in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray

_LEAST_LOG = -650.0
"""Below it, e^log leaves the range of floats."""
_FARTHEST = 700.0
_NARROW = 1e-9
"""A cell whose bounds are nearer than this counts as one at the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioCells:
    """A partition of what may be released into cells, for two laws P and Q in this order. Arrays: shape (cells,)."""

    mass: FloatArray
    """At least the probability of a cell under P."""
    mass_low: FloatArray
    """At most that."""
    other: FloatArray
    """At most the probability under Q."""
    other_high: FloatArray
    """At least that."""
    low: FloatArray
    """At most log(P/Q) anywhere in the cell."""
    high: FloatArray
    """At least that."""
    beyond: float = 0.0
    """At least the probability of all else under P, where nothing is known of the ratio."""

    def least_points(self) -> tuple[FloatArray, FloatArray]:
        r"""Log-ratios and masses p with :math:`\int [P - x Q]_+ \ge \sum p (1 - x e^{-\ell})_+`.

        Those of whole cells, which tell less than what is in them; the same holds of several independent rows.
        """
        held = self.mass_low > 0
        with np.errstate(divide="ignore"):
            logs = np.log(self.mass_low[held]) - np.log(self.other_high[held])
        return np.minimum(logs, _FARTHEST) - 8 * UNIT_ROUNDOFF * (1 + _FARTHEST), self.mass_low[held]

    def least_stick(self, epsilon: float, /) -> float:
        """At most the hockey stick."""
        lost = self.mass_low - math.exp(min(epsilon, _FARTHEST)) * self.other_high
        return float(np.maximum(lost, 0.0).sum()) * (1 - UNIT_ROUNDOFF * (lost.size + 16))

    def beside(self, other: RatioCells, /) -> RatioCells:
        """The cells of two parts of a partition."""
        return RatioCells(
            mass=np.concatenate([self.mass, other.mass]),
            mass_low=np.concatenate([self.mass_low, other.mass_low]),
            other=np.concatenate([self.other, other.other]),
            other_high=np.concatenate([self.other_high, other.other_high]),
            low=np.concatenate([self.low, other.low]),
            high=np.concatenate([self.high, other.high]),
            beyond=(self.beyond + other.beyond) * (1 + UNIT_ROUNDOFF),
        )

    def points(self) -> tuple[FloatArray, FloatArray]:
        r"""Log-ratios and masses p with :math:`\int [P - x Q]_+ \le \mathrm{beyond} + \sum p (1 - x e^{-\ell})_+`.

        A cell with the probabilities P and Q contributes a convex function of x, which is P - x Q up to
        :math:`e^{low}` and 0 from :math:`e^{high}` on. Its chord between these is that of two masses at both ends with
        the sums P and Q. **Rounding**: towards the upper end.
        """
        width = self.high - self.low
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            share = -np.expm1(-width)
            kept = self.other * np.exp(np.maximum(self.low, _LEAST_LOG))
            up = (self.mass - kept + 8 * UNIT_ROUNDOFF * (self.mass + kept)) / share
        up = np.where((width > _NARROW) & np.isfinite(up), np.clip(up, 0.0, self.mass), self.mass)
        down = (self.mass - up) * (1 + 2 * UNIT_ROUNDOFF)
        return np.concatenate([self.low, self.high]), np.concatenate([down, up])


@runtime_checkable
class KnownInCells(Protocol):
    """An engine that knows the law of the loss of one row, not only its hockey stick."""

    def ratio_cells(self, scale: float, /) -> Sequence[tuple[Pair, RatioCells]] | None:
        """For every pair in both orders; None where it is not known, or there are too many pairs."""
