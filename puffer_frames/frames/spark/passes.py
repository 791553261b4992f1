"""Passes over the rows of a Spark frame by native aggregates. This module imports pyspark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import DoubleType

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.found import other_rows
from puffer_frames.frames.noisy import NUMBER
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.spark.batches import CHECK

SparkFrame: TypeAlias = Any
_INFINITY = float("inf")


def look(rows: SparkFrame, roles: Roles, *, seed: int | None) -> dict[str, Any]:
    """What one pass finds: the number of rows, and of each public column what `FoundValues` asks for.

    The number of different values is estimated here but for integers and booleans, whose ends mostly say enough: an
    aggregate that holds an estimate is not compiled, and takes several times as long (`estimate`).
    """
    asked = [F.count(F.lit(1)).alias("rows")]
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    for k, name in enumerate(roles.public):
        value, floats = F.col(f"public_{k}"), isinstance(kinds[f"public_{k}"], DoubleType)
        if floats or name in roles.coded:
            asked.append(F.approx_count_distinct(value).alias(f"different_{k}"))
        if name in roles.coded:
            continue
        missing, infinite = value.isNull(), F.lit(False)
        if floats:
            missing, infinite = missing | F.isnan(value), F.abs(value) == _INFINITY
        finite = F.when(~missing & ~infinite, value)
        asked += [
            F.count(F.when(missing, 1)).alias(f"missing_{k}"),
            F.count(F.when(infinite, 1)).alias(f"infinite_{k}"),
            F.array(F.min(finite), F.max(finite)).alias(f"ends_{k}"),
            F.stddev_samp(finite.cast("double")).alias(f"std_{k}"),
        ]
    hashes = []
    if seed is not None:
        hashes = [row_hash(rows.columns, seed)]
        asked.append(F.bit_xor(CHECK).alias(CHECK))
    public = [f"public_{k}" for k in range(len(roles.public))]
    found: dict[str, Any] = rows.select(*public, *hashes).agg(*asked).toArrow().to_pylist()[0]
    return found


def estimate(rows: SparkFrame, name: str, *, seed: int | None, check: int | None) -> float:
    """About how many values of a column differ, in a pass of its own; the rows are those of the first one."""
    asked = [F.approx_count_distinct(name), *([] if seed is None else [F.bit_xor(CHECK)])]
    hashes = [] if seed is None else [row_hash(rows.columns, seed)]
    different, *checks = (column[0].as_py() for column in rows.select(name, *hashes).agg(*asked).toArrow().columns)
    if checks and checks[0] != check:
        raise changed("the estimate")
    return float(different)


def row_hash(columns: Sequence[str], seed: int) -> Any:
    """64 bits of a row's number, public values and secrets, seeded so that nobody can compute them for a guess."""
    names = [name for name in columns if not name.startswith("keep_")]
    return F.xxhash64(F.lit(seed), *names).alias(CHECK)


def check_numbers(rows: SparkFrame, roles: Roles, *, seed: int, check: int) -> None:
    """Every row has a number of its own: as many bits are set as there are numbers, 64 of which share a word.

    Of numbers that lie close together the tasks exchange a word for 64 rows; of any others one for each row.
    """
    number = F.col(NUMBER)
    place = number.bitwiseAND(F.lit(63)).cast("int")
    bit = F.call_function("shiftleft", F.lit(1).cast("long"), place)
    # by columns, not expressions: code of many expressions in an aggregate is too long to be compiled
    plain = rows.select(F.shiftright(number, 6).alias("word"), bit.alias("bit"), row_hash(rows.columns, seed))
    words = plain.groupBy("word").agg(
        F.count(F.lit(1)).alias("total"),
        F.count("bit").alias("present"),
        F.bit_or("bit").alias("bits"),
        F.bit_xor(CHECK).alias(CHECK),
    )
    asked = [F.sum("total"), F.sum("present"), F.sum(F.bit_count("bits").cast("long")), F.bit_xor(CHECK)]
    total, present, different, found = (column[0].as_py() or 0 for column in words.agg(*asked).toArrow().columns)
    roles.check_numbers(missing=total - present, repeated=present - different, outside=False)
    if found != check:
        raise changed("the row numbers")


def counted_rows(table: SparkFrame, most: int | None, *, check: int | None) -> nw.DataFrame[Any]:
    """As `FoundValues.count`; rows that a column numbers are those of the first pass."""
    names = [name for name in table.columns if name != CHECK and not name.startswith("place")]
    asked = [F.count(F.lit(1)).alias("count"), *([] if check is None else [F.bit_xor(CHECK).alias(CHECK)])]
    asked += [F.sum(name).alias(name) for name in table.columns if name.startswith("place")]
    counts = table.groupBy(*names).agg(*asked)
    found: Any = pl.from_arrow((counts if most is None else counts.limit(most + 1)).toArrow())
    whole = check is not None and (most is None or len(found) <= most)
    if whole and np.bitwise_xor.reduce(found[CHECK].to_numpy(), initial=0) != check:
        raise changed("the counts")
    return nw.from_native(found.drop(CHECK, strict=False), eager_only=True)


def changed(where: str) -> CalibrationError:
    """The error of a pass that found other rows than the first one."""
    return other_rows(where, hint="Write the frame or checkpoint it first", named=True)
