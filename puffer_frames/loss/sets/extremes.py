"""Largest and smallest density of a set of laws plus Laplace noise, in closed form between neighbouring positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.loss.atoms.recursion import AtomDensities, log_densities
from puffer_frames.loss.atoms.scaled import LEAST, filled
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.prior import FloatArray, IndexArray

_LOG_LEAST = float(np.log(LEAST))
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    r"""Both densities of several sets of laws, as coefficients per cell between neighbouring positions.

    At a distance s b from the left end of a cell of width g b, with the largest density f_max and the smallest f_min
    that a law of the set can have there,

    .. math::
        2b f_{\max} = A + B e^{s - g} + C e^{-s}, \qquad 2b f_{\min} = D e^{s - g} + E e^{-s},

    for an interval gives its largest density where it is nearest, and its smallest from its farther end: an atom at its
    midpoint, times :math:`e^{-h/b}` with half its length h.
    """

    gaps: FloatArray
    """Widths g of the cells, shape (cells,)."""
    log_a: FloatArray
    """log A rounded up: weight of the intervals that hold the cell, shape (sets, cells), as the others."""
    slack_a: FloatArray
    """By how much log A may be too large."""
    log_b: FloatArray
    log_c: FloatArray
    log_d: FloatArray
    log_e: FloatArray
    units: float
    """Rounding error: a logarithm v of a density is right within UNIT_ROUNDOFF * units * (|v| + 12) + fixed."""
    fixed: float

    def error(self, value: FloatArray) -> FloatArray:
        """Bound of the absolute error of the logarithm of a density, given the logarithm."""
        return UNIT_ROUNDOFF * self.units * (np.abs(value) + 12.0) + self.fixed

    def largest(self) -> tuple[FloatArray, FloatArray]:
        """Log f_max at the left and the right ends of the cells."""
        left = np.logaddexp(self.log_a, np.logaddexp(self.log_c, self.log_b - self.gaps))
        right = np.logaddexp(self.log_a, np.logaddexp(self.log_c - self.gaps, self.log_b))
        return left, right

    def smallest(self) -> tuple[FloatArray, FloatArray]:
        """Log f_min there."""
        left = np.logaddexp(self.log_e, self.log_d - self.gaps)
        right = np.logaddexp(self.log_e - self.gaps, self.log_d)
        return left, right


def positions_of(sets: Sequence[LawSet], /) -> FloatArray:
    """The ends and midpoints of all intervals."""
    lows, highs = (np.concatenate([getattr(each, name) for each in sets]) for name in ("lows", "highs"))
    return np.unique(np.concatenate([lows, highs, lows + _halves(lows, highs)]))


def _halves(lows: FloatArray, highs: FloatArray) -> FloatArray:
    return 0.5 * highs - 0.5 * lows


class Intervals:
    """The intervals of several sets of laws, prepared once for many scales."""

    def __init__(self, sets: Sequence[LawSet], /) -> None:
        self._sizes = np.array([each.weights.size for each in sets])
        self._weights, lows, highs = (
            np.concatenate([getattr(each, name) for each in sets]) for name in ("weights", "lows", "highs")
        )
        self._halves = _halves(lows, highs)
        ends, places = np.unique(np.concatenate([lows, highs, lows + self._halves]), return_inverse=True)
        self.positions = ends
        self._lows, self._highs, self._middles = np.split(places, 3)
        self._rows = np.repeat(np.arange(len(sets)), self._sizes)
        self._weights_error = max(each.weights_error for each in sets)
        self._moved = 2.0 * float(np.spacing(np.abs(ends).max()))
        self._log_weights = np.log(self._weights)
        self._near_high, self._near_low = self._table(self._highs), self._table(self._lows)
        self._held, self._slack = self._holding()

    def at(self, scale: float, /) -> Extremes:
        """The densities under Laplace noise of a scale above 0, for which no cell is infinitely wide.

        Notes
        -----
        **Cost**: linear in sets times positions.
        """
        near_high, near_low = (
            log_densities(self.positions, table, scale=scale) for table in (self._near_high, self._near_low)
        )
        far = self._far(scale)
        tables = near_high, near_low, far
        return Extremes(
            gaps=far.gaps,
            log_a=self._held,
            slack_a=self._slack,
            log_b=near_low.log_b[:, 1:],
            log_c=near_high.log_a[:, :-1],
            log_d=far.log_b[:, 1:],
            log_e=far.log_a[:, :-1],
            units=max(table.roundoffs for table in tables) + 8.0,
            fixed=far.weights_error + self._moved / scale,
        )

    def _table(self, places: IndexArray) -> FloatArray:
        """Weights at these places, shape (sets, positions)."""
        table = np.zeros((self._sizes.size, self.positions.size))
        np.add.at(table, (self._rows, places), self._weights)
        return table

    def _holding(self) -> tuple[FloatArray, FloatArray]:
        """Log of the weight of the intervals that hold each cell, rounded up, and by how much it may be too large.

        Summed from whichever side has the smaller error: a running sum has that of all the sums before it.
        """
        wide = self._lows < self._highs
        rows, weights = self._rows[wide], self._weights[wide]
        changes, size = np.zeros((2, self._sizes.size, self.positions.size))
        for places, sign in ((self._lows[wide], 1.0), (self._highs[wide], -1.0)):
            np.add.at(changes, (rows, places), sign * weights)
            np.add.at(size, (rows, places), weights)
        meeting = np.bincount(np.concatenate([self._lows[wide], self._highs[wide]]), minlength=1).max()
        forward = np.cumsum(changes[:, :-1], axis=1)
        backward = -np.cumsum(changes[:, :0:-1], axis=1)[:, ::-1]
        unit = UNIT_ROUNDOFF * (2.0 + float(meeting))
        from_left = unit * np.cumsum(np.abs(forward) + size[:, :-1], axis=1)
        from_right = unit * np.cumsum((np.abs(backward) + size[:, 1:])[:, ::-1], axis=1)[:, ::-1]
        nearer = from_left < from_right
        held, error = np.where(nearer, forward, backward), np.where(nearer, from_left, from_right)
        most, least = np.maximum(held + error, 0.0), np.maximum(held - error, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = np.where(most > 0, np.log(most) - np.log(least), 0.0)
            return np.log(most), slack

    def _far(self, scale: float) -> AtomDensities:
        """The smallest densities: atoms at the midpoints."""
        halves = self._halves / scale
        logs = self._log_weights - halves
        error = self._weights_error + 4 * UNIT_ROUNDOFF * (4.0 - float(logs.min()))
        key = self._rows * self.positions.size + self._middles
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
        logs = np.logaddexp.reduceat(logs[order], starts)
        rows, places = np.divmod(key[order][starts], self.positions.size)
        table = np.zeros((self._sizes.size, self.positions.size))
        if logs.min() > _LOG_LEAST:
            table[rows, places] = np.exp(logs)
            return log_densities(self.positions, table, scale=scale, weights_error=error)
        exponents = np.zeros(table.shape, dtype=np.intp)
        powers = np.floor(logs / _LOG_2)
        table[rows, places] = np.exp(logs - powers * _LOG_2)
        exponents[rows, places] = powers.astype(np.intp)
        return log_densities(self.positions, table, filled(table, exponents), scale=scale, weights_error=error)
