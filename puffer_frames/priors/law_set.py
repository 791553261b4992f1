"""Sets of laws: every law of a value that lies in a random interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray

WIDEST = 1e300
"""Domains are narrower than this, so that distances and their sums are floats."""


def is_too_wide(low: float, high: float, /) -> bool:
    """Whether distances on a domain leave the floats."""
    return 0.5 * high - 0.5 * low >= 0.5 * WIDEST


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawSet:
    r"""Every law of a variable X with :math:`X \in [l_J, h_J]`, where :math:`P(J = j) = w_j`.

    Of this form are a band of distribution functions, :math:`L \le F \le U` (the intervals between the quantiles of U
    and L), contaminated frequencies (an atom per value, and the whole domain with the share that may be anything), and
    values known up to a radius.
    """

    weights: FloatArray
    """Positive weights, shape (intervals,), summing to 1."""
    lows: FloatArray
    """Lower ends, shape (intervals,), in units of the column."""
    highs: FloatArray
    """Upper ends, at least the lower ones."""
    weights_error: float = 0.0
    """Relative error of each weight."""

    def __post_init__(self) -> None:
        for array in (self.weights, self.lows, self.highs):
            array.setflags(write=False)

    @classmethod
    def of(cls, weights: FloatArray, lows: FloatArray, highs: FloatArray, /, *, weights_error: float = 0.0) -> LawSet:
        """The same with equal intervals merged, sorted by their lower ends, and without those of weight 0."""
        held = weights > 0
        weights, lows, highs = weights[held], lows[held] + 0.0, highs[held] + 0.0
        order = np.lexsort((highs, lows))
        weights, lows, highs = weights[order], lows[order], highs[order]
        starts = np.flatnonzero(np.append(True, (np.diff(lows) != 0) | (np.diff(highs) != 0)))
        return cls(
            weights=np.add.reduceat(weights, starts),
            lows=lows[starts],
            highs=highs[starts],
            weights_error=weights_error,
        )

    @classmethod
    def anything(cls, low: float, high: float, /) -> LawSet:
        """Every law on the domain."""
        return cls(weights=np.ones(1), lows=np.array([float(low)]), highs=np.array([float(high)]))

    @property
    def ends(self) -> tuple[float, float]:
        """No value is below the first number or above the second one."""
        return float(self.lows.min()), float(self.highs.max())

    def __repr__(self) -> str:
        return f"LawSet({self.weights.size} intervals)"
