"""Noise on a grid, one random word per value: a table of cells, uniform within a cell, with exact correction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.adding import Open
from puffer_frames.noise.stream import Numbers, Rows, Stream, Words, Workspace
from puffer_frames.priors import FloatArray

INDEX_BITS = 16
CHECK_BITS = 13
LOW_BITS = 64 - 1 - INDEX_BITS
"""Bits of a word below its sign and its index: the check, then the place within the cell."""
MOST_CELL_BITS = LOW_BITS - CHECK_BITS

_ONE = 2.0**-64
_FURTHER_CELLS = 1 << 32
"""Attempts from here on are for cells, those below for places within the cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    r"""A symmetric, unimodal law on the half-integers k + 1/2 in units of a grid, prepared for sampling.

    The half-line is cut into cells of 2**bits grid points. A magnitude is drawn as (cell, place in the cell): the cell
    with its probability, the place by rejection from the uniform law with the relative density exp(-drop).

    A word of 64 bits holds, from its top, a sign, an index of 16 bits, a check of 13 bits and the place. The index
    leaves the cell open where a boundary of two cells falls between it and the next one; the check leaves the
    rejection open where it is below a bound of 2**13 (1 - exp(-drop)). Such rows, 2 to 4 in 100, are decided with
    further words; nothing else is.

    Notes
    -----
    **Distance** to the law given by `bounds` and `drop`, in total variation, with n cells: the cell, at most
    n 2**-65 (every bound is a multiple of 2**-64, rounded); the rejection, at most 2**-50 of the chance to reach it,
    which is under 2**-4 (its probability is computed in floats, with a relative error below 2**-50).
    """

    grid: float
    """Width of the grid, in units of the column."""
    bits: int
    """log2 of the grid points of a cell."""
    bounds: Words
    """Cumulative probabilities of the cells, times 2**64: cell h is drawn for bounds[h - 1] <= word < bounds[h]."""
    endless: bool
    """Whether a word beyond the last bound starts anew after the last cell (a law without memory); otherwise one more
    cell stands for all that is left."""
    slope: float
    """drop of place f in the cell from k on = slope f (2 k + f + 1) + rate f."""
    rate: float
    table: FloatArray
    """Smallest half-integer of the cell per sign and index; NaN where the index leaves the cell open."""
    check: tuple[float, float]
    """The rejection is open where the check is below check[0] + check[1] |half-integer|."""

    @classmethod
    def prepare(
        cls, *, grid: float, bits: int, bounds: Words, endless: bool, slope: float = 0.0, rate: float = 0.0
    ) -> Cells:
        """Fill the table."""
        if not 0 <= bits <= MOST_CELL_BITS:
            raise ValueError(f"bits must be from 0 to {MOST_CELL_BITS}; got {bits}.")
        firsts = np.arange(1 << INDEX_BITS, dtype=np.uint64) << np.uint64(64 - INDEX_BITS)
        lasts = firsts + np.uint64((1 << (64 - INDEX_BITS)) - 1)
        low, high = (np.searchsorted(bounds, ends, side="right") for ends in (firsts, lasts))
        open_ = (low != high) | (endless & (high == bounds.size))
        size = float(1 << bits)
        upward = np.where(open_, np.nan, low * size + 0.5)
        unit = 2.0**LOW_BITS * (1 + 2.0**-30)  # rounds up; drop <= size (rate + slope (2 |half-integer| + size))
        return cls(
            grid=grid,
            bits=bits,
            bounds=bounds,
            endless=endless,
            slope=slope,
            rate=rate,
            table=np.concatenate((upward, 1.0 - size - upward)),
            check=(unit * (rate + slope * size), unit * 2 * slope),
        )

    def draw(self, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, /) -> Open:
        """Write the noise of the rows; that of rows whose cell or rejection is open is not the last word."""
        words, scratch = stream.words(rows, workspace), workspace.places[: out.size]
        np.right_shift(words, np.uint64(LOW_BITS), out=scratch)
        self.table.take(scratch.view(np.int64), out=out, mode="wrap")
        np.bitwise_and(words, np.uint64((1 << LOW_BITS) - 1), out=scratch)
        if self.slope:
            np.right_shift(scratch, np.uint64(self.bits), out=scratch)
            undecided = scratch < self._bound(out)
        else:
            undecided = scratch < np.uint64(math.ceil(self.check[0]) << self.bits)
        np.bitwise_and(words, np.uint64((1 << self.bits) - 1), out=scratch)
        out += scratch.view(np.int64)
        undecided |= np.isnan(out)
        places = np.flatnonzero(undecided)
        numbers = rows.start + places if isinstance(rows, range) else rows[places]
        return Open(places=places, rows=numbers, words=words[places], drawn=out[places])

    def settle(self, left: Open, stream: Stream, /) -> FloatArray:
        """The noise of rows that `draw` left open."""
        words, rows, size = left.words, left.rows, 1 << self.bits
        upward = words >> np.uint64(63) == 0
        place = (words & np.uint64(size - 1)).astype(np.int64)
        place = np.where(upward, place, size - 1 - place)
        magnitude = np.abs(left.drawn)
        unknown = np.flatnonzero(np.isnan(magnitude))
        magnitude[unknown] = self._cells(words[unknown], rows[unknown], stream) * size + place[unknown] + 0.5
        check = words << np.uint64(64 - LOW_BITS) >> np.uint64(64 - LOW_BITS + self.bits)
        bound = np.ceil(self._bound(magnitude - place + (size - 1) * ~upward))
        risky = np.flatnonzero(check < bound)
        rejected = self._rejected(magnitude[risky], place[risky]) * (2.0 ** (LOW_BITS - self.bits) / bound[risky])
        pending = risky[stream.pairs(rows[risky], 0)[:, 1] * _ONE < rejected]
        attempt = 1
        while pending.size:
            pair = stream.pairs(rows[pending], attempt)
            fresh = (pair[:, 0] & np.uint64(size - 1)).astype(np.int64)
            magnitude[pending] += fresh - place[pending]
            place[pending] = fresh
            pending = pending[pair[:, 1] * _ONE < self._rejected(magnitude[pending], fresh)]
            attempt += 1
        return np.where(upward, magnitude, -magnitude)

    def _bound(self, half_integers: FloatArray) -> FloatArray:
        bound: FloatArray = self.check[0] + self.check[1] * np.abs(half_integers)
        return bound

    def _cells(self, words: Words, rows: Numbers, stream: Stream) -> FloatArray:
        """The cell of words whose index leaves it open; a law without memory goes on after the last cell."""
        index = words << np.uint64(1) >> np.uint64(LOW_BITS + 1) << np.uint64(64 - INDEX_BITS)
        further = stream.pairs(rows, 0)[:, 0] >> np.uint64(INDEX_BITS)
        found = np.searchsorted(self.bounds, index | further, side="right")
        cell = found.astype(float)
        beyond, attempt = np.flatnonzero(self.endless & (found == self.bounds.size)), _FURTHER_CELLS
        while beyond.size:
            fresh = np.searchsorted(self.bounds, stream.pairs(rows[beyond], attempt)[:, 0], side="right")
            cell[beyond] += fresh
            beyond, attempt = beyond[fresh == self.bounds.size], attempt + 1
        return cell

    def _rejected(self, magnitude: FloatArray, place: Numbers) -> FloatArray:
        """1 - exp(-drop)."""
        drop = place * (self.rate + self.slope * (2.0 * magnitude - place))
        rejected: FloatArray = -np.expm1(-drop)
        return rejected
