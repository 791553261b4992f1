"""Arrow batches of rows, each with its number, and the noise of a release on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa

from puffer_frames.frames.arrow import as_kept
from puffer_frames.frames.coded import Change, SeriesMove, series_move
from puffer_frames.noise.channel import LabelChannel
from puffer_frames.noise.stream import Numbers

NUMBER = "number"
"""Column beside the released ones: of the row's number."""
PLACE_BITS = 33
"""Spark numbers rows by partition, shifted by so many bits, plus the place in the partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseStep:
    """Adds the noise of a release. Spark sends it to the tasks, and with it the key.

    Expects the column `NUMBER` and gives the others, in their order.
    """

    mechanisms: Mapping[str, Change]
    """What is done to columns, by their plain names."""
    firsts: Sequence[int] | None
    """Number of the first row of each partition, where rows are numbered by partition; None for final numbers."""

    def noise(self, batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The batches with noise: a function of each row and its number alone."""
        moves = {name: _arrow_move(change) for name, change in self.mechanisms.items()}
        for batch in batches:
            rows = self._numbers(batch.column(NUMBER))
            names = [name for name in batch.schema.names if name != NUMBER]
            columns = [batch.column(name) for name in names]
            for k, name in enumerate(names):
                if name in moves:
                    columns[k] = moves[name](columns[k], rows)
            yield pa.RecordBatch.from_arrays(columns, names)

    def _numbers(self, column: pa.Array) -> Numbers:
        numbers: Numbers = np.array(column.to_numpy(zero_copy_only=False), dtype=np.int64)
        if self.firsts is None:
            return numbers
        firsts: Numbers = np.array(self.firsts, dtype=np.int64)
        final: Numbers = firsts[numbers >> PLACE_BITS] + (numbers & ((1 << PLACE_BITS) - 1))
        return final


def _arrow_move(change: Change) -> Callable[[pa.Array, Numbers], pa.Array]:
    """From a column of a batch, and the numbers of its rows, to the released one."""
    if isinstance(change, LabelChannel):
        relabelled = series_move(change)
        return lambda column, rows: _labels(relabelled, column, rows)
    move = change.prepared()

    def moved(column: pa.Array, rows: Numbers) -> pa.Array:
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return pa.array(move(np.array(values, dtype=np.float64), rows))

    return moved


def _labels(move: SeriesMove, column: pa.Array, rows: Numbers) -> pa.Array:
    entries = pl.from_arrow(column)
    assert isinstance(entries, pl.Series)
    found = move(entries, rows).to_arrow(compat_level=pl.CompatLevel.oldest())
    return as_kept(found, column.type)
