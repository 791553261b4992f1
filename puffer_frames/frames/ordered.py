"""Rows of a Polars plan in its order: what identifies them, so that a plan that changes between two runs is noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError

BLOCK = 1 << 17
"""Rows that are checked together."""
NUMBER = "number"
"""Column of the row's number, where a column of the frame gives it."""
_COMPUTED = "computed"
"""A column that the engine has to compute: then it works on batches of 100,000 rows, otherwise on whole row groups of a
file, several of which take twice the memory."""
_ODD = np.arange(1, 2 * BLOCK, 2, dtype=np.uint64)
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_MASK = 2**64 - 1

Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one run of a plan left: the same for every run that gives the same rows, in the same order if it matters."""

    rows: int
    """Number of rows."""
    blocks: tuple[int, ...]
    """Check of each block of `BLOCK` rows, in order; one check of all rows, in any order, where they have numbers."""
    runs: int
    """Number of runs of equal secrets."""


def trace_of(plan: pl.LazyFrame, /, *, secrets: int, numbered: bool) -> Trace:
    """Run a plan once, in its order and batch by batch; its first columns are the secrets."""
    rows, runs, blocks = 0, 0, list[int]()
    last = np.zeros((secrets, 0), dtype=np.uint64)
    for block in in_blocks(plan):
        bits = [_bits(column) for column in block]
        keys = np.concatenate([last, bits[:secrets]], axis=1)
        runs += int((keys[:, 1:] != keys[:, :-1]).any(axis=0).sum())
        last = keys[:, -1:]
        rows += len(block)
        blocks.append(_check(bits, ordered=not numbered))
    return Trace(rows=rows, blocks=(_joined(blocks),) if numbered else tuple(blocks), runs=1 + runs)


def in_blocks(plan: pl.LazyFrame, /) -> Iterator[pl.DataFrame]:
    """The rows in blocks of `BLOCK`, the last one perhaps shorter."""
    rest: pl.DataFrame | None = None
    small = plan.with_columns(pl.lit(0, dtype=pl.UInt8).alias(_COMPUTED))
    for batch in (wide.drop(_COMPUTED) for wide in small.collect_batches(engine="streaming", maintain_order=True)):
        rows = batch if rest is None or not len(rest) else pl.concat([rest, batch])
        whole = len(rows) - len(rows) % BLOCK
        for start in range(0, whole, BLOCK):
            yield rows.slice(start, BLOCK)
        rest = rows.slice(whole)
    if rest is not None and len(rest):
        yield rest


class Guard:
    """Compares a run of a plan with the trace of an earlier one, before its rows are used."""

    def __init__(self, trace: Trace, /, *, numbered: bool) -> None:
        self._trace, self._numbered = trace, numbered
        self._blocks: list[int] = []
        self._rows = 0

    def see(self, block: pl.DataFrame, /) -> None:
        """Take in the next block; raises CalibrationError where it is another one than in the earlier run."""
        check = _check([_bits(column) for column in block], ordered=not self._numbered)
        place = len(self._blocks)
        self._blocks.append(check)
        self._rows += len(block)
        if not self._numbered and (place >= len(self._trace.blocks) or self._trace.blocks[place] != check):
            raise _changed(numbered=False)

    def end(self) -> None:
        """Raise CalibrationError where rows are missing, or, in no order, others than in the earlier run."""
        same = self._rows == self._trace.rows
        if not same or (self._numbered and (_joined(self._blocks),) != self._trace.blocks):
            raise _changed(numbered=self._numbered)


def _changed(*, numbered: bool) -> CalibrationError:
    rows = "rows" if numbered else "rows in the same order"
    other_way = "" if numbered else ', or name a column that numbers the rows (row_id="id")'
    return CalibrationError(
        "the plan",
        rule=f"one that gives the same {rows} in every run",
        got="other rows than when the noise was calibrated",
        hint=f"Collect the frame first{other_way}.",
    )


def _joined(blocks: Sequence[int]) -> int:
    return sum(blocks) & _MASK


def _check(bits: Sequence[Hashes], *, ordered: bool) -> int:
    """64 bits that depend on every entry of a block: a sum over the rows, by their places where the order matters."""
    mixed = bits[0] * _FACTOR
    for more in bits[1:]:
        mixed ^= mixed >> _SHIFT
        mixed += more
        mixed *= _FACTOR
    mixed ^= mixed >> _SHIFT
    mixed *= _ODD[: mixed.size] if ordered else _FACTOR
    return int(mixed.sum(dtype=np.uint64))


def _bits(column: pl.Series) -> Hashes:
    """64 bits for each entry; those of equal entries are equal."""
    if column.dtype.is_float() or column.dtype.is_integer():
        plain = column.cast(pl.Float64) if column.dtype.is_float() else column.cast(pl.Int64, strict=False)
        values = plain.fill_null(0).to_numpy().view(np.uint64)
        return values + column.is_null().to_numpy() if column.null_count() else values
    return (column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column).hash().to_numpy()
