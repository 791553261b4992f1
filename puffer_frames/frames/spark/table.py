"""Spark frames: native aggregates, and the noise in the tasks. This module and `spark.kept` import pyspark."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, PufferWarning
from puffer_frames.frames.coded import Change, known_levels, other_levels
from puffer_frames.frames.columns import Name, NativeFrame, check_column_names, check_rows, rows_text
from puffer_frames.frames.counted_series import count_series
from puffer_frames.frames.counted_units import count_units
from puffer_frames.frames.found import Extent, FoundValues, check_estimate, other_rows
from puffer_frames.frames.local.of_pandas import PandasTable
from puffer_frames.frames.local.prepare import check_nulls, no_complete_row
from puffer_frames.frames.noisy import NUMBER, NoiseStep
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Layout, Roles, kind_of
from puffer_frames.frames.series.asked import SeriesColumns
from puffer_frames.frames.spark.batches import CHECK, SumStep, totals
from puffer_frames.frames.spark.kept import warn_of_kept_in_spark
from puffer_frames.frames.spark.numbered_rows import first_numbers, materialised
from puffer_frames.frames.spark.schema import BINARY, released_schema
from puffer_frames.frames.spark.units import SparkUnits
from puffer_frames.frames.stamps.attach import attribute_of, put_attribute
from puffer_frames.frames.stamps.unordered import RowSums
from puffer_frames.frames.strata import strata_columns
from puffer_frames.frames.summary import count_levels, count_rows, count_values, levels_of
from puffer_frames.frames.units.asked import UnitColumns
from puffer_frames.frames.units.sizes import UNIT, UnitSizes, plain_names, unit_sizes
from puffer_frames.noise.channel import LabelChannel
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import Summary
from puffer_frames.priors.unit_rows import UnitRows

SparkFrame: TypeAlias = Any
"""A pyspark.sql.DataFrame, classic or Connect."""
_INFINITY = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTable:
    """A Spark frame under plain names: `c0`, `c1`, ..."""

    native: SparkFrame
    """As it was given."""
    frame: SparkFrame
    names: tuple[str, ...]
    schema: Mapping[str, nw.dtypes.DType]
    """Dtype per column, by the frame's own name."""

    is_plan = False

    @classmethod
    def of(cls, frame: SparkFrame, /) -> SparkTable:
        """Names of Spark may hold dots and backticks, and differ in case alone: columns are renamed by position."""
        if frame.isStreaming:
            raise ArgumentTypeError(
                "the frame",
                rule="a table of fixed rows",
                got="a streaming Spark DataFrame",
                hint="Write the stream to a table, and release that.",
            )
        names = tuple(frame.columns)
        check_column_names(names)
        renamed = frame.toDF(*(f"c{k}" for k in range(len(names))))
        dtypes = nw.from_native(renamed).collect_schema().dtypes()
        return cls(native=frame, frame=renamed, names=names, schema=dict(zip(names, dtypes, strict=True)))

    @property
    def labels(self) -> Sequence[Name]:
        """Text."""
        return self.names

    def kind_of(self, name: str, /) -> str:
        """By the schema."""
        return kind_of(self.schema[name])

    def in_memory(self) -> NoReturn:
        """No row reaches the driver."""
        raise ArgumentTypeError(
            "the frame",
            rule="a pandas or Polars DataFrame here",
            got="a Spark DataFrame",
            hint="On Spark frames privatize, calibrate, aggregate, histogram, verify and certificate_of work. Write a "
            "release by frame.write.parquet(path), with certificate_of(frame).save(another_path) beside it; for the "
            "rest convert it with frame.toPandas().",
        )

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """By one group-by, as `unit_sizes.unit_sizes`."""
        of_groups, of_values = plain_names(groups, values)
        rows = self.plain({UNIT: unit, **of_groups, **of_values})
        return unit_sizes(rows, unit=unit, groups=of_groups, values=of_values, nulls=nulls)

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """By the executors, as `counted_units.count_units`."""
        return count_units(self, asked, SparkUnits())

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """By windows, as `counted_series.count_series`."""
        return count_series(self, asked, SparkUnits())

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """A pandas frame."""
        return PandasTable(self.native.limit(0).toArrow().to_pandas()).answers(labels=labels, numbers=numbers)

    def plain(self, named: Mapping[str, str], /) -> SparkFrame:
        """As `counted_units.PlainColumns`."""
        return self.frame.select(*(self._column(name).alias(alias) for alias, name in named.items()))

    def dtypes(self, names: Sequence[str], /) -> Mapping[str, nw.dtypes.DType]:
        """As `counted_units.PlainColumns`."""
        return {name: self.schema[name] for name in names}

    def run(self) -> SparkTable:
        """It is compared where it lies."""
        return self

    def fingerprint(self, *, like: str = "") -> str:
        """Sums over the rows, which have no order, in one pass."""
        del like
        return _sum(self.frame, self.names)[0].digest(self.names)

    def metadata(self) -> dict[str, Any] | None:
        """From the attribute."""
        return attribute_of(self.native)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """As an attribute."""
        return put_attribute(self.native, metadata)

    def with_levels(self, *, known: Collection[str], rows: int) -> SparkTable:
        """Spark has no index."""
        del known, rows
        return self

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Its rows have no order."""
        del known
        return True

    @staticmethod
    def _check(layout: Layout) -> None:
        """The rows have neither an index nor an order."""
        if layout.index is not None:
            got = repr(layout.index)
            raise ArgumentError("index", rule="None for a Spark frame, which has none", got=got, hint="Leave it out.")
        if layout.shuffle:
            raise ArgumentError(
                "shuffle",
                rule="False for a Spark frame, whose rows have no order of their own",
                got="True",
                hint="Write the release in random order: released.orderBy(rand()).",
            )

    def complete(self, roles: Roles, /, *, nulls: str, layout: Layout | None) -> SparkRows:
        """Numbered by `row_id`, or else, for a release, materialised once and numbered by partition and place."""
        if layout is not None:
            self._check(layout)
        check_nulls(nulls, roles)
        roles.check_names(self.names)
        roles.check_dtypes(self.schema)
        columns = [self._column(name).alias(f"secret_{k}") for k, name in enumerate(roles.secret)]
        columns += [self._column(name).alias(f"public_{k}") for k, name in enumerate(roles.public)]
        columns += [self._native(name).alias(f"keep_{k}") for k, name in enumerate(roles.keep)]
        if roles.row_id is not None:
            columns.append(self._native(roles.row_id).cast("long").alias(NUMBER))
        rows = self.frame
        if nulls == "drop":
            for name in (*roles.secret, *roles.public):
                rows = rows.filter(self._present(name))
        rows = rows.select(*columns)
        if layout is not None and roles.row_id is None:
            rows = materialised(rows.withColumn(NUMBER, F.monotonically_increasing_id()))
        seed = None if roles.row_id is None else secrets.randbits(63)
        found = _look(rows, roles, seed=seed)
        if not found["rows"] and nulls == "drop":
            check_rows(self.frame.limit(1).count())
            raise no_complete_row()
        check_rows(found["rows"])
        if seed is not None:
            _check_numbers(rows, roles, seed=seed, check=found[CHECK])
        return SparkRows(rows=rows, names=self.names, roles=roles, found=found, seed=seed, nulls=nulls)

    def _native(self, name: str) -> Any:
        return F.col(f"c{self.names.index(name)}")

    def _column(self, name: str) -> Any:
        """A secret or public column: floats as 64-bit ones, text that is compared letter by letter."""
        column, dtype = self._native(name), self.frame.schema[self.names.index(name)].dataType
        if getattr(dtype, "collation", BINARY) != BINARY:
            return F.collate(column, BINARY)
        return column.cast("double") if self.schema[name].is_float() else column

    def _present(self, name: str) -> Any:
        present = self._native(name).isNotNull()
        return present & ~F.isnan(self._native(name)) if self.schema[name].is_float() else present


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRows:
    """Complete rows of a Spark frame: columns `secret_0`, ..., `public_0`, ..., `keep_0`, ... and `number`."""

    rows: SparkFrame
    names: tuple[str, ...]
    """The frame's own columns."""
    roles: Roles
    """Rows that no column numbers were materialised."""
    found: Mapping[str, Any]
    """What one pass over the rows found."""
    seed: int | None
    """Of the hash of the rows, where a column numbers them."""
    nulls: str

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """By native group-bys, whose results alone reach the driver."""
        return {
            name: count_values(self._values(k), groups=self.roles.groups, public=name, domain=domain.get(name))
            for k, name in enumerate(self.roles.public)
            if name in self.roles.numbers
        }

    def joint_counts(self, domain: Mapping[str, Bounds], /) -> JointCounts:
        """By one native group-by, whose result alone reaches the driver."""
        names = self.roles.numbers
        table = self._table({f"value_{k}": self.roles.public.index(name) for k, name in enumerate(names)})
        counted = _counted(table, None, check=self.found.get(CHECK))
        return count_rows(counted, groups=self.roles.groups, public=names, domain=domain)

    def level_counts(self, name: str, /) -> LevelCounts:
        """By a native group-by, whose result alone reaches the driver."""
        k = self.roles.public.index(name)
        check_estimate(self.found[f"different_{k}"], name=name)
        counted = _counted(self._table({"value": k}), None, check=self.found.get(CHECK))
        levels = levels_of(counted["value"], name=name)
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls)

    def _table(self, places: Mapping[str, int]) -> SparkFrame:
        """Secrets, the public columns at these places under other names, and what is compared."""
        values = [F.col(f"public_{k}").alias(name) for name, k in places.items()]
        return self.rows.select(*self.roles.plain("secret"), *values, *self._hash())

    def _values(self, k: int) -> FoundValues:
        found = self.found
        low, high = found[f"ends_{k}"]
        std = found[f"std_{k}"]
        table = nw.from_native(self._table({"value": k}))
        return FoundValues(
            dtype=table.collect_schema()["value"],
            extent=Extent(
                missing=found[f"missing_{k}"],
                infinite=found[f"infinite_{k}"],
                low=low,
                high=high,
                std=0.0 if std is None else std,
            ),
            rows=found["rows"],
            different=lambda: found[f"different_{k}"],
            count=lambda cells, most: _counted(
                nw.to_native(cells.of(table) if cells else table), most, check=found.get(CHECK)
            ),
        )

    def warnings(self, _counts: Sequence[int], /) -> list[PufferWarning]:
        """Of the kept columns: the rows have no order of their own."""
        return list(warn_of_kept_in_spark(self.rows, self.roles.without_given()))

    def release(self, mechanisms: Mapping[str, Change], /) -> Released:
        """A plan whose noise is drawn in the tasks; one pass finds its fingerprint and that the rows are the same.

        Raises
        ------
        CalibrationError
            Where the rows are no longer those that were counted, or have other labels.
        """
        named = self.roles.row_id is not None
        plain = {name: alias for alias, name in self.roles.plain("public", "keep").items()}
        names = [name for name in self.names if name in plain]
        selected = [F.col(plain[name]) for name in names]
        step = NoiseStep(
            mechanisms={plain[name]: change for name, change in mechanisms.items()},
            given=[plain[name] for name in strata_columns(mechanisms.values())],
            firsts=None if named else first_numbers(self.rows),
        )
        self._check_levels(mechanisms)
        sums, check = _sum(_noisy(self.rows.select(NUMBER, *selected, *self._hash()), step), names)
        if named and (check, sums.rows) != (self.found[CHECK], self.found["rows"]):
            raise _changed("the noise")
        # of the released columns alone, and under an alias: filter and orderBy do not look for names below one
        released = _noisy(self.rows.select(NUMBER, *selected), step).toDF(*names).alias("released")
        return Released(frame=released, rows=sums.rows, sample={}, fingerprint=sums.digest(names))

    def _check_levels(self, changes: Mapping[str, Change]) -> None:
        """Here, since Spark would wrap the error of a task in one of its own."""
        plain = {name: alias for alias, name in self.roles.plain("public").items()}
        dtypes = nw.from_native(self.rows).collect_schema()
        asked, names = list[Any](), list[str]()
        for name, change in changes.items():
            if isinstance(change, LabelChannel):
                column, known = F.col(plain[name]), known_levels(change, dtypes[plain[name]])
                there = F.coalesce(column.isin([level for level in known if level is not None]), F.lit(None in known))
                asked.append(F.count(F.when(~there, 1)))
                names.append(name)
        found = self.rows.agg(*asked).toArrow().columns if asked else []
        for name, column in zip(names, found, strict=True):
            if rows := column[0].as_py():
                raise other_levels(name, rows_text(rows))

    def _hash(self) -> list[Any]:
        """What is compared between the passes, where a column numbers the rows."""
        return [] if self.seed is None else [_hash(self.rows.columns, self.seed)]


def _sum(frame: SparkFrame, names: Sequence[str]) -> tuple[RowSums, int]:
    """The sums of the columns, named by position, and the check of the original rows, where it is the last column."""
    step = SumStep(names=tuple(names))
    numbers = StructType([StructField(name, LongType()) for name in step.columns()])
    return totals(frame.mapInArrow(step.sums, numbers).toArrow())


def _look(rows: SparkFrame, roles: Roles, *, seed: int | None) -> dict[str, Any]:
    """What one pass finds: the number of rows, and of each public column what `FoundValues` asks for."""
    asked = [F.count(F.lit(1)).alias("rows")]
    floats = {field.name for field in rows.schema.fields if isinstance(field.dataType, DoubleType)}
    for k, name in enumerate(roles.public):
        value = F.col(f"public_{k}")
        asked.append(F.approx_count_distinct(value).alias(f"different_{k}"))
        if name in roles.coded:
            continue
        missing, infinite = value.isNull(), F.lit(False)
        if f"public_{k}" in floats:
            missing, infinite = missing | F.isnan(value), F.abs(value) == _INFINITY
        finite = F.when(~missing & ~infinite, value)
        asked += [
            F.count(F.when(missing, 1)).alias(f"missing_{k}"),
            F.count(F.when(infinite, 1)).alias(f"infinite_{k}"),
            F.array(F.min(finite), F.max(finite)).alias(f"ends_{k}"),
            F.stddev_samp(finite.cast("double")).alias(f"std_{k}"),
        ]
    if seed is not None:
        asked.append(F.bit_xor(_hash(rows.columns, seed)).alias(CHECK))
    found: dict[str, Any] = rows.agg(*asked).toArrow().to_pylist()[0]
    return found


def _hash(columns: Sequence[str], seed: int) -> Any:
    """64 bits of a row's number, public values and secrets, seeded so that nobody can compute them for a guess."""
    names = [name for name in columns if not name.startswith("keep_")]
    return F.xxhash64(F.lit(seed), *names).alias(CHECK)


def _noisy(rows: SparkFrame, step: NoiseStep) -> SparkFrame:
    """The rows with noise, without their numbers."""
    return rows.mapInArrow(step.noise, released_schema(rows, step.mechanisms))


def _check_numbers(rows: SparkFrame, roles: Roles, *, seed: int, check: int) -> None:
    """Every row has a number of its own."""
    asked = [F.count(F.lit(1)), F.count(NUMBER), F.count_distinct(F.col(NUMBER)), F.bit_xor(_hash(rows.columns, seed))]
    total, present, different, found = (column[0].as_py() for column in rows.agg(*asked).toArrow().columns)
    roles.check_numbers(missing=total - present, repeated=present - different, outside=False)
    if found != check:
        raise _changed("the row numbers")


def _counted(table: SparkFrame, most: int | None, *, check: int | None) -> nw.DataFrame[Any]:
    """As `FoundValues.count`; rows that a column numbers are those of the first pass."""
    names = [name for name in table.columns if name != CHECK]
    asked = [F.count(F.lit(1)).alias("count"), *([] if check is None else [F.bit_xor(CHECK).alias(CHECK)])]
    counts = table.groupBy(*names).agg(*asked)
    found: Any = pl.from_arrow((counts if most is None else counts.limit(most + 1)).toArrow())
    whole = check is not None and (most is None or len(found) <= most)
    if whole and np.bitwise_xor.reduce(found[CHECK].to_numpy(), initial=0) != check:
        raise _changed("the counts")
    return nw.from_native(found.drop(CHECK, strict=False), eager_only=True)


def _changed(where: str) -> CalibrationError:
    return other_rows(where, hint="Write the frame or checkpoint it first", named=True)
