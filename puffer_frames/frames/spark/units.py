"""Units of a Spark frame: what each adds, by the executors. This module imports pyspark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import DateType, TimestampNTZType

from puffer_frames.frames.counted_units import ROWS, VALUE, VALUES, largest, least
from puffer_frames.frames.units.sizes import UNIT


class SparkUnits:
    """As `counted_units.UnitEngine`."""

    wraps: ClassVar[bool] = False

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        """One group-by."""
        return rows.groupBy(UNIT).agg(
            F.sort_array(F.collect_list(VALUE)).alias(VALUES),
            F.count(F.lit(1)).alias(ROWS),
            *(F.min(name).alias(least(name)) for name in groups),
            *(F.max(name).alias(largest(name)) for name in groups),
        )

    def parts(self, rows: Any, _count: int, /) -> Sequence[Any]:
        """The executors share them."""
        return [rows]

    def moments(self, rows: Any, name: str, /) -> Any:
        """Days as numbers, times as microseconds."""
        dtype = rows.schema[name].dataType
        if isinstance(dtype, DateType):
            return rows.withColumn(name, F.unix_date(name).cast("long"))
        if isinstance(dtype, TimestampNTZType):  # of no zone, so that no hour is there twice
            day, minute = F.unix_date(F.to_date(name)).cast("long"), (F.hour(name) * 60 + F.minute(name)).cast("long")
            micros = (F.expr(f"extract(SECOND FROM {name})") * 1_000_000).cast("long")
            return rows.withColumn(name, (day * 1440 + minute) * 60_000_000 + micros)
        return rows.withColumn(name, F.unix_micros(name))

    def read(self, counts: Any, /) -> pl.DataFrame:
        """As an Arrow table."""
        found: Any = pl.from_arrow(counts.toArrow())
        frame: pl.DataFrame = found
        return frame
