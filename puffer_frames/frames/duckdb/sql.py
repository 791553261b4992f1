"""Pieces of SQL for DuckDB, and how the rows of a relation are read."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa

from puffer_frames.frames.cells import PLACES
from puffer_frames.frames.extensions import readable
from puffer_frames.frames.found import Cells

BATCH = 1 << 17
"""Rows that are read together."""


def selected(relation: Any, columns: Mapping[str, str], /) -> Any:
    """Columns of a relation by their names: SQL, in which `#1` is the first column."""
    names = [name.replace('"', '""') for name in columns]
    return relation.project(", ".join(f'{sql} AS "{name}"' for name, sql in zip(names, columns.values(), strict=True)))


def read_one(relation: Any, asked: Mapping[str, str], /) -> dict[str, Any]:
    """The one row of some aggregates, by their names."""
    row: dict[str, Any] = read_table(
        relation.aggregate(", ".join(f'{sql} AS "{name}"' for name, sql in asked.items()))
    ).to_pylist()[0]
    return row


def read_table(relation: Any, /) -> pa.Table:
    """All rows as an Arrow table."""
    return relation.to_arrow_table()


def read_batches(relation: Any, /) -> Generator[pa.RecordBatch, None, None]:
    """The rows in Arrow batches; nothing else may be asked of the connection before the end, or before it is closed."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its older name
    reader = read(BATCH)
    try:
        yield from reader
    finally:
        reader.close()


def opened(table: pa.Table, /) -> nw.DataFrame[Any]:
    """An Arrow table as narwhals has it."""
    frame = pl.from_arrow(readable(table))
    assert isinstance(frame, pl.DataFrame)
    return nw.from_native(frame, eager_only=True)


def number_sql(value: float, /) -> str:
    """A 64-bit float: DuckDB reads 0.1 as a decimal."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def present_sql(column: str, /, *, floats: bool) -> str:
    """Whether an entry is neither null nor NaN."""
    return f"{column} IS NOT NULL AND NOT isnan({column})" if floats else f"{column} IS NOT NULL"


def finite_sql(column: str, /, *, floats: bool) -> str:
    """Whether an entry is a finite number."""
    return f"isfinite({column})" if floats else f"{column} IS NOT NULL"


def cell_sql(column: str, cells: Cells, /) -> dict[str, str]:
    """Number of the cell of a column's value, as `cells.cell_of`, and its place there, as `cells.place_of`."""
    value = f"CAST({column} AS DOUBLE)"
    if cells.domain is not None:
        low, high = map(number_sql, cells.domain)
        value = f"least(greatest({value}, {low}), {high})"
    value = f"{value} * {number_sql(1.0 / cells.width)}"
    return {
        "value": f"CAST(floor({value}) AS BIGINT)",
        "place": f"CAST(floor(({value} - floor({value})) * {number_sql(float(PLACES))}) AS BIGINT)",
    }
