"""Noise on a grid, one random word per value: a table of cells, uniform within a cell, with exact correction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.adding import Open
from puffer_frames.noise.stream import Numbers, Rows, Stream, Words, Workspace
from puffer_frames.priors.prior import FloatArray, IndexArray

INDEX_BITS = 16
LOW_BITS = 64 - 1 - INDEX_BITS
"""Bits of a word below its sign and its index; the lowest of them are the place within the cell."""

_OPEN = np.iinfo(np.int16).min
_HALF_BITS = 52
_HALF = 2.0**_HALF_BITS
"""From here to its double the floats are the whole numbers, which are their lowest bits."""
_HALF_WORD = np.float64(_HALF).view(np.uint64)
_ONE = 2.0**-64
_TOGETHER = 1 << 10
"""Further pairs of words that are drawn together, several for a row where few are left: a draw costs more than they."""
_FURTHER_CELLS = 1 << 32
"""Attempts from here on are for cells, those below for places within the cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    r"""A symmetric, unimodal law on the half-integers k + 1/2 in units of a grid, prepared for sampling.

    The half-line is cut into cells of 2**bits grid points, on which the law falls by a few hundredths. It is a mixture:
    of every cell's flat part, the uniform law on the cell as high as its far end, and of every cell's rest. A word of
    64 bits holds, from its top, a sign and an index of 16 bits, and at its end a place. The index names a flat part and
    the place the point in it. Where the boundary of two parts falls between the index and the next one, or where the
    index names a rest, a further word decides: 1 to 2 rows in 100. A place in a rest is drawn by rejection, from
    further words.

    **Distance** to the law that was prepared, in total variation, with n cells: every bound of a part is a multiple of
    2**-64, rounded: at most n 2**-64. The rejection compares a word with a float of a relative error below 2**-50, and
    is reached with probability below 2**-6.
    """

    grid: float
    """Width of the grid, in units of the column."""
    bits: int
    """log2 of the grid points of a cell."""
    bounds: Words
    """Cumulative probabilities, times 2**64, of the flat parts of all cells, then of their rests."""
    count: int
    """Number of cells."""
    slope: float
    """The law falls from the first point of the cell from k on to its f-th by exp(-slope f (2 k + f + 1) - rate f)."""
    rate: float
    table: NDArray[np.int16]
    """Cells from 0 to the lowest point of the flat part per sign and index; `_OPEN` where the index leaves it open."""
    first: NDArray[np.uint16]
    """The part that an index begins in."""
    crowded: NDArray[np.bool_]
    """Whether more than one boundary falls between an index and the next one."""

    @classmethod
    def prepare(
        cls,
        *,
        grid: float,
        bits: int,
        flat: Sequence[Fraction] | Sequence[int],
        rest: Sequence[Fraction] | Sequence[int],
        beyond: int = 0,
        slope: float = 0.0,
        rate: float = 0.0,
    ) -> Cells:
        """Fill the table.

        - `grid`, `bits`, `slope`, `rate`: The attributes.
        - `flat`, `rest` (sequence, one number per cell): Probabilities of the flat part and of the rest of every cell,
          in any unit, exact.
        - `beyond`: What is left after the last cell, in the same unit: a law without memory starts anew there. With 0
          the last rest stands for it.
        Raises ValueError for more cells, or points of a cell, than the table and floats hold.
        """
        parts = [*flat, *rest]
        total = sum(parts) + beyond
        ends = list(accumulate(parts)) if beyond else list(accumulate(parts))[:-1]
        bounds = np.array([min(int((end << 64) // total), (1 << 64) - 1) for end in ends], dtype=np.uint64)
        firsts = np.arange(1 << INDEX_BITS, dtype=np.uint64) << np.uint64(64 - INDEX_BITS)
        lasts = firsts + np.uint64((1 << (64 - INDEX_BITS)) - 1)
        low, high = (np.searchsorted(bounds, ends, side="right") for ends in (firsts, lasts))
        if len(flat) >= -_OPEN or bits >= _HALF_BITS:
            raise ValueError(f"a law has fewer than {-_OPEN} cells of less than 2**{_HALF_BITS} points.")
        open_ = (low != high) | (high >= len(flat))
        return cls(
            grid=grid,
            bits=bits,
            bounds=bounds,
            count=len(flat),
            slope=slope,
            rate=rate,
            table=np.concatenate([np.where(open_, _OPEN, cells) for cells in (low, -1 - low)]).astype(np.int16),
            first=low.astype(np.uint16),
            crowded=high - low > 1,
        )

    def draw(self, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, /) -> Open:
        words, scratch = stream.words(rows, workspace), workspace.places[: out.size]
        cells = workspace.cells[: out.size]
        np.right_shift(words, np.uint64(LOW_BITS), out=scratch)
        self.table.take(scratch.view(np.int64), out=cells, mode="wrap")
        left = Open.of(np.flatnonzero(cells == _OPEN), rows, words)
        np.bitwise_and(words, np.uint64((1 << self.bits) - 1), out=scratch)
        np.bitwise_or(scratch, _HALF_WORD, out=scratch)  # the bits of the float _HALF + place
        np.subtract(scratch.view(np.float64), _HALF - 0.5, out=out)
        np.multiply(cells, float(1 << self.bits), out=scratch.view(np.float64))
        out += scratch.view(np.float64)
        return left

    def settle(self, left: Open, stream: Stream, /) -> FloatArray:
        words, rows, size = left.words, left.rows, 1 << self.bits
        index = words << np.uint64(1) >> np.uint64(LOW_BITS + 1)
        further = stream.pairs(rows, 0)[:, 0] >> np.uint64(INDEX_BITS)
        part, skipped = self._parts(index.astype(np.int64), index << np.uint64(64 - INDEX_BITS) | further, rows, stream)
        place = (words & np.uint64(size - 1)).astype(np.int64)
        cell = np.where(part < self.count, part, part - self.count)
        pending, attempt = np.flatnonzero(part >= self.count), 1
        while pending.size:
            tried = np.arange(attempt, attempt + 1 + _TOGETHER // pending.size)[:, None]
            pairs = stream.pairs(rows[pending], tried)
            places = (pairs[..., 0] & np.uint64(size - 1)).astype(np.int64)
            taken = pairs[..., 1] * _ONE < self._height(cell[pending], places)
            found, attempt = taken.any(axis=0), attempt + len(tried)
            place[pending[found]] = places[taken.argmax(axis=0)[found], np.flatnonzero(found)]
            pending = pending[~found]
        magnitude = (cell + skipped).astype(float) * size + place + 0.5
        return np.where(words >> np.uint64(63) == 0, magnitude, -magnitude)

    def _parts(self, index: Numbers, words: Words, rows: Numbers, stream: Stream) -> tuple[IndexArray, IndexArray]:
        """The part that every word names, and the cells to skip before it: a law without memory starts anew."""
        part: IndexArray = self.first[index].astype(np.intp)
        part += words >= self.bounds[np.minimum(part, self.bounds.size - 1)]
        crowded = np.flatnonzero(self.crowded[index])
        part[crowded] = np.searchsorted(self.bounds, words[crowded], side="right")
        np.minimum(part, self.bounds.size, out=part)
        skipped, attempt = np.zeros_like(part), _FURTHER_CELLS
        beyond = np.flatnonzero(part == 2 * self.count)
        while beyond.size:
            part[beyond] = np.searchsorted(self.bounds, stream.pairs(rows[beyond], attempt)[:, 0], side="right")
            skipped[beyond] += self.count
            beyond, attempt = beyond[part[beyond] == 2 * self.count], attempt + 1
        return part, skipped

    def _height(self, cell: IndexArray, place: Numbers) -> FloatArray:
        """The rest of a cell at a place, relative to that at its first: expm1(D_last - D_f) / expm1(D_last)."""
        last, start = (1 << self.bits) - 1.0, 2.0 * cell * (1 << self.bits)
        fall = (last - place) * (self.rate + self.slope * (start + last + place + 1.0))
        return np.expm1(fall) / np.expm1(last * (self.rate + self.slope * (start + last + 1.0)))
