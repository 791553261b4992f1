"""Pure privacy loss between the laws of many units, from their rows, under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from puffer_frames.loss.atoms.discrete import MOST_PAIRS_IN_CELLS, DiscreteLoss
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.equal_rows import first_of_equals, rows_of
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret

CELLS = 1 << 22
"""Entries of the table units x positions; more positions than it holds are put on a grid."""
FEWEST = 64
"""The grid has at least so many cells."""


class RowsLoss(DiscreteLoss):
    r"""Pure loss of all pairs of units, whose laws are the observed frequencies of their rows.

    Units with the same rows have one law, and are looked at once. Values of too many different sizes are moved to the
    centres of a grid of width h, by at most h/2; then :math:`|\varepsilon^* - \hat\varepsilon^*| \le h/b`, which the
    bracket holds.

    Parameters
    ----------
    units : sequence, shape (units,)
    values : array, shape (rows,)
        Unit after unit.
    starts : array, shape (units + 1,)
        Where each unit's rows begin, and the end of the last.

    References
    ----------
    docs/theory.md, section 3, "All pairs at once"; docs/theory.md, section 13.
    """

    def __init__(self, units: Sequence[Secret], values: FloatArray, starts: IndexArray, /) -> None:
        positions, cells = np.unique(values, return_inverse=True)
        self._moved = 0.0
        most = max(FEWEST, CELLS // len(units))
        if positions.size > most:
            low, width = float(positions[0]), float(positions[-1] - positions[0]) / most
            cells = np.minimum(((values - low) / width).astype(np.intp), most - 1)
            positions = np.asarray(low + (np.arange(most) + 0.5) * width, dtype=np.float64)
            rounding = 8 * UNIT_ROUNDOFF * (abs(low) + most * width)
            self._moved = float(np.abs(values - positions[cells]).max()) + rounding
        self._units, first = len(units), np.arange(len(units))
        if self._units > MOST_PAIRS_IN_CELLS:
            first = first_of_equals(cells, starts, positions.size)
            first = first if first.size > 1 else np.arange(2)  # a pair has two ends, where all say the same
        if first.size < self._units:
            rows, starts = rows_of(first, starts)
            cells = cells[rows]
        named = [units[k] for k in first.tolist()]
        self._prepare(named, positions, partial(_frequencies, cells, starts, positions.size), "all")

    def only(self, pair: Pair, /) -> DiscreteLoss:
        """The same for two of the units, on the same grid."""
        two = RowsLoss.__new__(RowsLoss)
        two._moved, two._units = self._moved, 2
        table = np.concatenate([self._weights(slice(self._numbers[s], self._numbers[s] + 1)) for s in pair])
        two._prepare(list(pair), self._positions, lambda rows: table[rows], "all")
        return two

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over all pairs and over y."""
        found = super().pure(scale)
        if not self._moved:
            return found
        if scale == 0:
            return WorstCase(bracket=Bracket(lower=0.0, upper=math.inf), pair=found.pair)
        moved = 2 * self._moved / scale * (1 + 4 * UNIT_ROUNDOFF)
        lower = max(0.0, math.nextafter(found.bracket.lower - moved, 0.0))
        upper = math.nextafter(found.bracket.upper + moved, math.inf)
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def ratio_cells(self, scale: float, /) -> list[tuple[Pair, RatioCells]] | None:
        """As for all units, also those whose rows are those of another."""
        return None if self._units > MOST_PAIRS_IN_CELLS else super().ratio_cells(scale)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """What the pure loss says: 0 where it is at most epsilon, otherwise between 0 and 1."""
        found = self.pure(scale)
        upper = 0.0 if found.bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=found.pair)


def _frequencies(cells: IndexArray, starts: IndexArray, width: int, rows: slice) -> FloatArray:
    """Table of the frequencies of some units, shape (units, width)."""
    first, last, _ = rows.indices(starts.size - 1)
    ends = starts[first : last + 1]
    sizes = np.diff(ends)
    flat = np.repeat(np.arange(sizes.size), sizes) * width + cells[ends[0] : ends[-1]]
    table: FloatArray = np.bincount(flat, minlength=sizes.size * width).reshape(-1, width) / sizes[:, None]
    return table
