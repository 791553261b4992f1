"""Arrow batches of rows, each with its number, and the noise of a release on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from puffer_frames.frames.arrow import as_kept, own_entries
from puffer_frames.frames.coded import Change, SeriesMove, series_move
from puffer_frames.frames.strata import strata_of
from puffer_frames.noise.channel import LabelChannel
from puffer_frames.noise.stream import Numbers
from puffer_frames.priors.prior import IndexArray

NUMBER = "number"
"""Column beside the released ones: of the row's number."""
PLACE_BITS = 33
"""Spark numbers rows by partition, shifted by so many bits, plus the place in the partition."""
TOGETHER, MOST_BYTES = 1 << 16, 1 << 24
"""Batches are put together to so many rows, or bytes: a call of NumPy costs as much as many of its values."""


def gathered(batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer and larger batches."""
    held, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= TOGETHER or size >= MOST_BYTES:
            yield from _joined(held)
            held, rows, size = [], 0, 0
    yield from _joined(held)


def _joined(batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    found: Sequence[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseStep:
    """Adds the noise of a release. Spark sends it to the tasks, and with it the key.

    Expects the column `NUMBER` and gives the others, in their order.
    """

    mechanisms: Mapping[str, Change]
    """What is done to columns, by their plain names."""
    given: Sequence[str]
    """Plain names of the columns whose joint value is the stratum of a row."""
    firsts: Sequence[int] | None
    """Number of the first row of each partition, where rows are numbered by partition; None for final numbers."""

    def noise(self, batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The batches with noise: a function of each row and its number alone."""
        moves = {name: _arrow_move(change) for name, change in self.mechanisms.items()}
        for batch in gathered(batches):
            rows = self._numbers(batch.column(NUMBER))
            names = [name for name in batch.schema.names if name != NUMBER]
            columns = [batch.column(name) for name in names]
            strata = strata_of(self.mechanisms.values(), {name: _entries(batch.column(name)) for name in self.given})
            for k, name in enumerate(names):
                columns[k] = moves[name](columns[k], rows, strata) if name in moves else own_entries(columns[k])
            yield pa.RecordBatch.from_arrays(columns, names)

    def _numbers(self, column: pa.Array) -> Numbers:
        numbers: Numbers = np.array(column.to_numpy(zero_copy_only=False), dtype=np.int64)
        if self.firsts is None:
            return numbers
        firsts: Numbers = np.array(self.firsts, dtype=np.int64)
        final: Numbers = firsts[numbers >> PLACE_BITS] + (numbers & ((1 << PLACE_BITS) - 1))
        return final


ArrowMove: TypeAlias = Callable[[pa.Array, Numbers, IndexArray | None], pa.Array]
"""From a column of a batch, the numbers of its rows and those of their strata to the released one."""


def _arrow_move(change: Change) -> ArrowMove:
    moved = series_move(change)
    if isinstance(change, LabelChannel):
        return lambda column, rows, strata: _labels(moved, column, rows, strata)

    def numbers(column: pa.Array, rows: Numbers, strata: IndexArray | None) -> pa.Array:
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return pa.array(moved(pl.Series(np.array(values, dtype=np.float64)), rows, strata).to_numpy())

    return numbers


def _labels(move: SeriesMove, column: pa.Array, rows: Numbers, strata: IndexArray | None) -> pa.Array:
    found = move(_entries(column), rows, strata).to_arrow(compat_level=pl.CompatLevel.oldest())
    return as_kept(found, column.type)


def _entries(column: pa.Array) -> pl.Series:
    entries = pl.from_arrow(column)
    assert isinstance(entries, pl.Series)
    return entries
