"""Rows of a plan in a later run, compared with those of an earlier one while they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl
from polars.io.plugins import register_io_source

from puffer_frames.frames.plans import blocks
from puffer_frames.frames.plans.blocks import in_batches
from puffer_frames.frames.plans.trace import Guard, Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan, and what an earlier run of it left."""

    rows: pl.LazyFrame
    checked: int
    """How many of its first columns the trace is of."""
    trace: Trace

    def batches(self, columns: Sequence[str], /, *, most: int | None = None) -> Iterator[tuple[int, pl.DataFrame]]:
        """Some columns, and how many rows so far are sure to be those of the earlier run; all of its columns are
        compared.

        Of all rows, or of blocks that hold the first `most`. Raises CalibrationError where the rows are others.
        """
        rows = self.rows if most is None else self.rows.head(blocks.BLOCK * -(-most // blocks.BLOCK))
        guard, first, sure = Guard(self.trace), 0, 0
        for sure, batch in self._seen(rows, columns, guard=guard, places=range(self.checked)):
            first += len(batch)
            yield sure, batch
        if most is None or sure < first or first < min(most, self.trace.rows):
            guard.end()

    def plan(
        self, columns: Sequence[str], /, *, over: Callable[[Iterator[pl.DataFrame]], Iterator[pl.DataFrame]]
    ) -> pl.LazyFrame:
        """Some columns of the trace, for group-bys of the streaming engine; `over` is given the batches of a run.

        A run raises CalibrationError at the first block of other rows, or at its end.
        """
        schema = self.rows.collect_schema()

        def read(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch: int | None
        ) -> Iterator[pl.DataFrame]:
            assert predicate is None
            assert n_rows is None  # a group-by takes all rows
            for batch in over(self._whole(columns)):
                yield batch if with_columns is None else batch.select(with_columns)

        return register_io_source(read, schema={name: schema[name] for name in columns}, is_pure=True)

    def _whole(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows; of rows in order, these alone are compared."""
        names = self.rows.collect_schema().names()
        places = [names.index(name) for name in columns] if self.trace.marker.ordered else None
        guard = Guard(self.trace, places=places)
        for _, batch in self._seen(self.rows, columns, guard=guard, places=places or range(self.checked)):
            yield batch
        guard.end()

    def _seen(
        self, rows: pl.LazyFrame, columns: Sequence[str], /, *, guard: Guard, places: Sequence[int]
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        marker, names = self.trace.marker, self.rows.collect_schema().names()
        checked = [names[k] for k in places]
        marks, marked = marker.beside(rows, checked)
        own = [name for k, name in enumerate(checked) if marked[k] == k]
        for batch in in_batches(rows.select(*marks, *own, *(name for name in columns if name not in own))):
            held = {name: batch[name].rechunk() for name in own}  # copied once, for both
            seen = [
                held[name] if name in held else batch[:, place - len(checked)]
                for name, place in zip(checked, marked, strict=True)
            ]
            sure = guard.see([marker.bits(entries) for entries in seen])
            yield sure, pl.DataFrame([held[name] if name in held else batch[name] for name in columns])
