"""Units of a DuckDB relation: what each adds, by SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from puffer_frames.frames.counted_units import ROWS, VALUE, VALUES, largest, least
from puffer_frames.frames.duckdb.sql import opened, read_table, selected
from puffer_frames.frames.units.sizes import UNIT


class DuckUnits:
    """As `counted_units.UnitEngine`."""

    wraps: ClassVar[bool] = False

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        """One group-by."""
        asked = {
            VALUES: f"list({VALUE} ORDER BY {VALUE} ASC NULLS LAST) FILTER (WHERE {VALUE} IS NOT NULL)",
            ROWS: "count(*)",
        }
        asked |= {least(name): f"min({name})" for name in groups}
        asked |= {largest(name): f"max({name})" for name in groups}
        return rows.aggregate(", ".join([UNIT, *(f"{sql} AS {name}" for name, sql in asked.items())]), UNIT)

    def parts(self, rows: Any, _count: int, /) -> Sequence[Any]:
        """DuckDB has its own way with more rows than memory holds."""
        return [rows]

    def moments(self, rows: Any, name: str, /) -> Any:
        """Nanoseconds where the column has these."""
        nanoseconds = "_NS" in str(rows.types[rows.columns.index(name)]).upper()
        moment = f"epoch_ns({name})" if nanoseconds else f"epoch_us({name})"
        return selected(rows, {own: moment if own == name else own for own in rows.columns})

    def read(self, counts: Any, /) -> pl.DataFrame:
        """As an Arrow table."""
        found: pl.DataFrame = opened(read_table(counts)).to_native()
        return found
