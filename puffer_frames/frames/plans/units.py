"""Units of a Polars plan: what each adds, by the streaming engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import polars as pl

from puffer_frames.frames.counted_units import ROWS, VALUE, VALUES, largest, least
from puffer_frames.frames.units.sizes import UNIT

_PART = 1 << 25
"""About so many rows are in memory together."""


class PolarsUnits:
    """As `counted_units.UnitEngine`."""

    wraps: ClassVar[bool] = True

    def lists(self, rows: pl.LazyFrame, groups: Sequence[str], /) -> pl.LazyFrame:
        """One group-by."""
        return rows.group_by(UNIT).agg(
            pl.col(VALUE).drop_nulls().sort().alias(VALUES),
            pl.len().cast(pl.Int64).alias(ROWS),
            *(pl.col(name).min().alias(least(name)) for name in groups),
            *(pl.col(name).max().alias(largest(name)) for name in groups),
        )

    def parts(self, rows: pl.LazyFrame, count: int, /) -> Sequence[pl.LazyFrame]:
        """By a hash of the units, or of the values where each row is a unit."""
        parts = max(1, -(-count // _PART))  # of a table of one row the count may be 0
        names = rows.collect_schema().names()
        key = next((name for name in (UNIT, VALUE) if name in names), None)
        if parts == 1 or key is None:
            return [rows]
        return [rows.filter(pl.col(key).hash() % parts == k) for k in range(parts)]

    def moments(self, rows: pl.LazyFrame, name: str, /) -> pl.LazyFrame:
        """In the unit of the column."""
        dtype = rows.collect_schema()[name]
        exact = isinstance(dtype, pl.Datetime) and dtype.time_unit == "ns"
        return rows.with_columns(pl.col(name).dt.timestamp("ns" if exact else "us"))

    def read(self, counts: pl.LazyFrame, /) -> pl.DataFrame:
        """By the streaming engine."""
        return counts.collect(engine="streaming")
