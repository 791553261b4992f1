"""A channel: a random output for each input, with exact probabilities in units of 2**-62."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.adding import BLOCK_ROWS, CHUNK_ROWS, MANY_ROWS, Reals
from puffer_frames.noise.stratified import numbered, places_of
from puffer_frames.noise.stream import Purpose, ReleaseKey, Rows, Stream, Workspace
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray, IndexArray

TOTAL_BITS = 62
"""The weights of a row of a channel sum to 2 to the power of this."""
MOST_LEVELS = 256
_GUIDE_BITS = 12

Codes: TypeAlias = NDArray[np.uint16]
"""Numbers of levels, from 0."""
Draw: TypeAlias = Callable[[Codes, Rows | None, IndexArray | None], Codes]
"""From numbers of inputs, those of their rows (by default 0, ..., n - 1) and of their strata to numbers of outputs."""


class ChannelTable:
    """The weights of a channel, ready to be drawn from.

    Parameters
    ----------
    weights : array of int, shape (inputs, outputs)
        Not negative; each row sums to 2**62: the probability of output j given input i is weights[i, j] / 2**62.

    Raises
    ------
    ValueError
        For anything else.

    Notes
    -----
    A row's output is the number of cumulative weights that are at most its word of 62 bits, so its law is that of the
    weights exactly. A table of the first 12 bits of the word finds most outputs; a search finds the others.
    """

    __slots__ = ("_cumulative", "_guide", "outputs")

    def __init__(self, weights: NDArray[np.int64], /) -> None:
        weights = np.asarray(weights, dtype=np.int64)
        total = 1 << TOTAL_BITS
        if weights.ndim != 2 or not weights.size or (weights < 0).any() or max(weights.shape) > MOST_LEVELS:
            raise ValueError(
                f"the weights of a channel must be a table of at most {MOST_LEVELS} levels, none negative."
            )
        if any(sum(row) != total for row in weights.tolist()):
            raise ValueError(f"each row of weights must sum to 2**{TOTAL_BITS}.")
        self.outputs = weights.shape[1]
        self._cumulative = np.cumsum(weights, axis=1).astype(np.uint64)
        starts = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(TOTAL_BITS - _GUIDE_BITS)
        lasts = starts + np.uint64((1 << (TOTAL_BITS - _GUIDE_BITS)) - 1)
        first = np.stack([np.searchsorted(row, starts, side="right") for row in self._cumulative])
        last = np.stack([np.searchsorted(row, lasts, side="right") for row in self._cumulative])
        self._guide = np.where(first == last, first, self.outputs).astype(np.uint16)

    def draw(self, codes: Codes, stream: Stream, rows: Rows | None = None, /) -> Codes:
        """An output for each row: a function of its input, its word and the weights.

        **Cost**: some nanoseconds a row; two threads from about two million rows on.
        """
        out = np.empty(codes.size, dtype=np.uint16)
        numbered: Rows = range(codes.size) if rows is None else rows
        threads = min(2, os.cpu_count() or 1) if codes.size >= MANY_ROWS else 1
        starts = range(0, codes.size, BLOCK_ROWS)

        def work(mine: range) -> None:
            workspace = Workspace(min(CHUNK_ROWS, codes.size))
            for begin in mine:
                for start in range(begin, min(begin + BLOCK_ROWS, codes.size), CHUNK_ROWS):
                    part = slice(start, min(start + CHUNK_ROWS, codes.size))
                    self._draw(codes[part], stream.words(numbered[part], workspace), out[part])

        if threads == 1:
            work(starts)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(work, [starts[k::threads] for k in range(threads)]))
        return out

    def _draw(self, codes: Codes, words: NDArray[np.uint64], out: Codes) -> None:
        words = words >> np.uint64(64 - TOTAL_BITS)
        places = codes.astype(np.intp) << _GUIDE_BITS
        places += (words >> np.uint64(TOTAL_BITS - _GUIDE_BITS)).view(np.int64)
        np.take(self._guide.ravel(), places, out=out)
        open_ = np.flatnonzero(out == self.outputs)
        inputs = codes[open_]
        for code in np.unique(inputs):
            mine = open_[inputs == code]
            out[mine] = np.searchsorted(self._cumulative[code], words[mine], side="right")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChannel:
    """What a release does to a column of labels; it can be sent to another process, and holds the key."""

    column: str
    """Name of the column."""
    key: ReleaseKey
    """Key of the release."""
    codes: Mapping[Level, int]
    """Number of the input of each level: several levels may be one input. Other levels are an error."""
    outputs: tuple[Level, ...]
    """The released levels."""
    tables: tuple[ChannelTable, ...]
    """One for all rows, or one per stratum."""
    given: tuple[str, ...] = ()
    """Names of the columns whose joint value is the stratum, where there are strata."""
    strata: tuple[tuple[Level, ...], ...] = ()
    """Their values, per stratum."""
    drawn_by: str | None = None
    """Name of the column whose stream draws, where several columns are one draw; None for the column itself."""
    parts: tuple[int, ...] | None = None
    """Of several columns that are one draw: number of the output of this column for each number that is drawn."""

    def prepared(self) -> Draw:
        """The function from numbers of inputs to numbers of outputs."""
        stream = self.key.stream(Purpose.NOISE, self.drawn_by or self.column)
        parts = None if self.parts is None else np.array(self.parts, dtype=np.uint16)

        def draw(codes: Codes, rows: Rows | None, strata: IndexArray | None) -> Codes:
            if strata is None:
                return self.tables[0].draw(codes, stream, rows)
            numbers = numbered(len(codes), rows)
            drawn = np.empty(len(codes), dtype=np.uint16)
            for table, places in zip(self.tables, places_of(strata, len(self.tables)), strict=True):
                drawn[places] = table.draw(codes[places], stream, numbers[places])
            return drawn if parts is None else parts[drawn]

        return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberChannel:
    """What a release does to a column of numbers; it can be sent to another process, and holds the key."""

    column: str
    """Name of the column."""
    key: ReleaseKey
    """Key of the release."""
    edges: FloatArray
    """The input of a value is the number of edges that are at most the value, shape (inputs - 1,)."""
    outputs: FloatArray
    """The released values."""
    table: ChannelTable

    @classmethod
    def of(
        cls, column: str, /, *, key: ReleaseKey, edges: FloatArray, outputs: Sequence[float], table: ChannelTable
    ) -> NumberChannel:
        """From plain numbers."""
        return cls(column=column, key=key, edges=edges, outputs=np.array(outputs, dtype=np.float64), table=table)

    def prepared(self) -> Callable[[Reals, Rows | None], FloatArray]:
        """The function from values to released ones."""
        stream = self.key.stream(Purpose.NOISE, self.column)

        def move(values: Reals, rows: Rows | None) -> FloatArray:
            codes = np.searchsorted(self.edges, values, side="right").astype(np.uint16)
            moved: FloatArray = self.outputs[self.table.draw(codes, stream, rows)]
            return moved

        return move
