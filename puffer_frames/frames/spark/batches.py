"""What is done to a partition of a Spark frame, Arrow batch by Arrow batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame
from puffer_frames.frames.draws import NoiseStep, gathered
from puffer_frames.frames.stamps.fingerprint import RowSums

CHECK = "check"
"""Column beside the released ones: of a hash of the original row."""
SUMS = "sums"
"""Column beside the released ones: in the last row of a partition, what identifies its rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SumStep:
    """Adds up what identifies the rows of a partition: one row of numbers."""

    names: Sequence[str]
    """Names of the released columns; a column `CHECK` may follow them."""
    noise: NoiseStep | None = None
    """The noise that a release first adds in the same task, so that the rows go to Python and back once."""

    def sums(self, batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """One row of the columns `rows`, `check` and the sums of the lanes."""
        parts, check = [RowSums.of(_opened([], []))], 0
        for batch in gathered(batches) if self.noise is None else self.noise.noise(batches):
            columns = batch.columns
            if len(columns) > len(self.names):
                check ^= int(np.bitwise_xor.reduce(columns.pop().to_numpy(zero_copy_only=False), initial=0))
            parts.append(RowSums.of(_opened(columns, self.names)))
        rows, *sums = _numbers(RowSums.joined(parts))
        numbers = (rows, check, *sums)
        yield pa.RecordBatch.from_pydict({k: [value] for k, value in zip(self.columns(), numbers, strict=True)})

    @staticmethod
    def columns() -> list[str]:
        """Names of the numbers."""
        return ["rows", CHECK, *(f"sum_{k}" for k in range(len(RowSums.joined([]).sums)))]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedNoise:
    """Adds the noise of a release, and beside it, in a column `SUMS`, what identifies the rows of a partition."""

    names: Sequence[str]
    """Names of the released columns."""
    noise: NoiseStep

    def batches(self, batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The noisy rows; the last one has the number of rows and the sums of the lanes, the others have null."""
        parts, held = list[RowSums](), None
        for batch in self.noise.noise(batches):
            if batch.num_rows:
                if held is not None:
                    yield _beside(held, None)
                parts.append(RowSums.of(_opened(batch.columns, self.names)))
                held = batch
        if held is not None:
            yield _beside(held, _numbers(RowSums.joined(parts)))


def _beside(batch: pa.RecordBatch, last: Sequence[int] | None) -> pa.RecordBatch:
    sums = pa.array([None] * (batch.num_rows - 1) + [last], type=pa.list_(pa.int64()))
    return pa.RecordBatch.from_arrays([*batch.columns, sums], [*batch.schema.names, SUMS])


def totals(numbers: pa.Table, /) -> tuple[RowSums, int]:
    """The sums of all partitions, and the check of the original rows."""
    found = [_row_sums([rows, *sums]) for rows, _, *sums in zip(*numbers.to_pydict().values(), strict=True)]
    check: NDArray[np.int64] = numbers.column(CHECK).to_numpy()
    return RowSums.joined(found), int(np.bitwise_xor.reduce(check, initial=0))


def total_of(sums: pa.ChunkedArray, /) -> RowSums:
    """The sums of all partitions, from the column `SUMS` without its nulls."""
    return RowSums.joined([_row_sums(numbers) for numbers in sums.to_pylist()])


def _numbers(sums: RowSums) -> list[int]:
    """As columns of Spark hold them."""
    return [sums.rows, *(value - 2**64 if value >= 2**63 else value for value in sums.sums)]


def _row_sums(numbers: Sequence[int]) -> RowSums:
    rows, *sums = numbers
    return RowSums(rows, tuple(value % 2**64 for value in sums))


def _opened(columns: Sequence[pa.Array], names: Sequence[str]) -> Frame:
    frame: Any = pl.from_arrow(pa.Table.from_arrays(list(columns), names=list(names)))
    return nw.from_native(frame, eager_only=True)
