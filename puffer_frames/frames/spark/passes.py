"""Passes over the rows of a Spark frame by native aggregates, kept columns too. This module imports pyspark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from puffer_frames.errors import CalibrationError, PufferWarning
from puffer_frames.frames.draws import NUMBER
from puffer_frames.frames.kept import LETTERS, MOST_PARTS, PLACES, ROWS, Evidence
from puffer_frames.frames.local.looks import evidence_of, evidence_plans, kept_warnings, released_in
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.spark.batches import CHECK
from puffer_frames.frames.tally import other_rows
from puffer_frames.noise.adding import Draw

SparkFrame: TypeAlias = Any
"""A pyspark.sql.DataFrame, classic or Connect."""
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
    hashes = row_hash(rows.columns, seed)
    asked += [F.bit_xor(CHECK).alias(CHECK)] * len(hashes)
    public = [f"public_{k}" for k in range(len(roles.public))]
    return rows.select(*public, *hashes).agg(*asked).toArrow().to_pylist()[0]


def estimate(rows: SparkFrame, name: str, *, seed: int | None, check: int | None) -> float:
    """About how many values of a column differ, in a pass of its own; the rows are those of the first one."""
    hashes = row_hash(rows.columns, seed)
    asked = [F.approx_count_distinct(name), *[F.bit_xor(CHECK)] * len(hashes)]
    different, *checks = (column[0].as_py() for column in rows.select(name, *hashes).agg(*asked).toArrow().columns)
    if checks and checks[0] != check:
        raise changed("the estimate")
    return float(different)


def row_hash(columns: Sequence[str], seed: int | None) -> list[Any]:
    """64 bits of a row's number, public values and secrets, seeded so that nobody can compute them for a guess; none
    without a seed: no column numbers the rows then, and they are not compared between the passes.
    """
    names = [name for name in columns if not name.startswith("keep_")]
    return [] if seed is None else [F.xxhash64(F.lit(seed), *names).alias(CHECK)]


def check_numbers(rows: SparkFrame, roles: Roles, *, seed: int, check: int) -> None:
    """Every row has a number of its own: as many bits are set as there are numbers, 64 of which share a word.

    Tasks exchange one word for 64 rows where the numbers lie close together, else one word per row.
    """
    number = F.col(NUMBER)
    place = number.bitwiseAND(F.lit(63)).cast("int")
    bit = F.call_function("shiftleft", F.lit(1).cast("long"), place)
    # by columns, not expressions: code of many expressions in an aggregate is too long to be compiled
    plain = rows.select(F.shiftright(number, 6).alias("word"), bit.alias("bit"), *row_hash(rows.columns, seed))
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
    text = next((field.name for field in table.schema.fields if field.dataType == StringType()), None)
    # a key of bytes has no small map before the large one, in which many cells find no room
    keys = [F.col(name).cast("binary").alias(name) if name == text else F.col(name) for name in names]
    counts = table.groupBy(*keys).agg(*asked)
    counts = counts if text is None else counts.withColumn(text, F.col(text).cast("string"))
    found: Any = pl.from_arrow((counts if most is None else counts.limit(most + 1)).toArrow())
    whole = check is not None and (most is None or len(found) <= most)
    if whole and np.bitwise_xor.reduce(found[CHECK].to_numpy(), initial=0) != check:
        raise changed("the counts")
    return nw.from_native(found.drop(CHECK, strict=False), eager_only=True)


def changed(where: str) -> CalibrationError:
    """The error of a pass that found other rows than the first one."""
    return other_rows(where, hint="Write the frame or checkpoint it first", named=True)


_UNGROUPED = ("map", "variant", "collate")


def warn_of_kept_in_spark(
    rows: SparkFrame, roles: Roles, /, *, count: int, draws: Callable[[], Sequence[Draw]]
) -> list[PufferWarning]:
    """Warn of kept columns of rows named `number`, `secret_0`, ..., `public_0`, ..., `keep_0`, ...

    The driver gets aggregates, and of a sample of the rows the kept columns, of long texts the beginning, the public
    ones, what the draws read, and hashes of the secrets.
    """
    if not roles.keep:
        return []
    keep, targets = roles.plain("keep"), roles.without_given().plain("secret", "public")
    drawn, step = draws(), -(-count // ROWS)
    read = roles.read_as({name: None for draw in drawn for name in draw.reads}).values()
    names, parts = dict[str, str](), list[Any]()
    for own, name in keep.items():
        for k, part in enumerate(_parts(F.col(own), rows.schema[own].dataType)):
            names[f"{own}_{k}" if k else own] = name
            parts.append(part)
    asked = [part.alias(alias) for alias, part in zip(names, parts, strict=True)]
    asked += [F.hex(F.xxhash64(_groupable(rows, t))).alias(t) if t.startswith("secret_") else F.col(t) for t in targets]
    some = rows if step == 1 else rows.filter(F.pmod(F.xxhash64(F.col(NUMBER)), F.lit(step)) == 0)
    table: Any = pl.from_arrow(some.select(*asked, *(F.col(name).alias(f"read_{name}") for name in read)).toArrow())
    whole = rows.select(*targets, *(_groupable(rows, own) for own in keep))

    @cache
    def counted(own: tuple[str, ...], target: str, k: int) -> Any:
        return evidence_plans(whole, own, target)[k].toArrow()

    def ask(own: Sequence[str], target: str) -> Evidence | None:
        if not set(own) <= set(keep):
            return None
        first = next(iter(keep))  # how many rows the targets have is the same for all kept columns
        return evidence_of(counted(tuple(own), target, 0), counted((first,), target, 1))

    return kept_warnings(
        {name: nw.from_native(table[name], series_only=True) for name in (*names, *targets)},
        roles,
        names,
        released=released_in(table.select(pl.col(f"read_{name}").alias(name) for name in read), drawn, roles),
        in_order=False,
        ask=None if step == 1 else ask,
        of_all=True,
    )


def _parts(column: Any, kind: DataType) -> list[Any]:
    """Numbers and times as they are; text, of others too, up to a length; fields, and the first elements of arrays."""
    if isinstance(kind, (NumericType, BooleanType, DateType, TimestampType, TimestampNTZType)):
        return [column]
    text = F.hex(column) if isinstance(kind, BinaryType) else column.cast("string")
    rest = F.hex(F.xxhash64(text))  # what is cut off still differs
    found = [F.when(F.length(text) <= LETTERS, text).otherwise(F.concat(F.substring(text, 1, LETTERS), rest))]
    inner = list[tuple[Any, DataType]]()
    if isinstance(kind, StructType):
        inner = [(column.getField(field.name), field.dataType) for field in kind.fields]
    elif isinstance(kind, ArrayType):
        inner = [(F.get(column, F.lit(k)), kind.elementType) for k in range(PLACES)]
        inner.append((F.size(column), IntegerType()))
    for part, of_part in inner:
        found += _parts(part, of_part)
    return found[: MOST_PARTS + 1]


def _groupable(rows: SparkFrame, name: str) -> Any:
    """A column, as text where Spark cannot group by it or by what is in it, or takes other letters for the same."""
    kind = rows.schema[name].dataType.simpleString()
    return F.col(name).cast("string").alias(name) if any(word in kind for word in _UNGROUPED) else F.col(name)
