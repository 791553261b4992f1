"""Spark frames: native aggregates, and the noise in the tasks. This module and `spark.kept` import pyspark."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias, cast

import narwhals.stable.v2 as nw
import polars as pl
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PufferWarning
from puffer_frames.frames.cells import cells_of_rows
from puffer_frames.frames.coded import Coded, Numbered, known_levels, some_entries
from puffer_frames.frames.columns import Name, NativeFrame, check_column_names, check_rows, rows_text
from puffer_frames.frames.counted_series import count_series
from puffer_frames.frames.counted_units import count_units
from puffer_frames.frames.draws import Draws
from puffer_frames.frames.found import Extent, FoundValues, check_estimate
from puffer_frames.frames.local.of_pandas import PandasTable
from puffer_frames.frames.local.prepare import check_nulls, no_complete_row
from puffer_frames.frames.noisy import NUMBER, NoiseStep
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Roles, RowOrder, kind_of
from puffer_frames.frames.series.asked import SeriesColumns
from puffer_frames.frames.spark.batches import CHECK, SUMS, SummedNoise, SumStep, total_of, totals
from puffer_frames.frames.spark.kept import warn_of_kept_in_spark
from puffer_frames.frames.spark.numbered_rows import first_numbers, materialised
from puffer_frames.frames.spark.passes import changed, check_numbers, counted_rows, estimate, look, row_hash
from puffer_frames.frames.spark.schema import BINARY, released_schema
from puffer_frames.frames.spark.units import SparkUnits
from puffer_frames.frames.stamps.attach import attribute_of, put_attribute
from puffer_frames.frames.stamps.unordered import RowSums
from puffer_frames.frames.summary import count_in_cells, count_levels, count_rows, count_values, levels_of
from puffer_frames.frames.units.asked import UnitColumns
from puffer_frames.frames.units.sizes import UNIT, UnitSizes, plain_names, unit_sizes
from puffer_frames.noise.draw import Draw, other_levels
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import Summary
from puffer_frames.priors.unit_rows import UnitRows

SparkFrame: TypeAlias = Any
"""A pyspark.sql.DataFrame, classic or Connect."""


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
    def _check(layout: RowOrder) -> None:
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

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> SparkRows:
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
        found = look(rows, roles, seed=seed)
        if not found["rows"] and nulls == "drop":
            check_rows(self.frame.limit(1).count())
            raise no_complete_row()
        check_rows(found["rows"])
        if seed is not None:
            check_numbers(rows, roles, seed=seed, check=found[CHECK])
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

    def finer(self, name: str, width: float, domain: Bounds | None, /) -> Summary:
        """By a native group-by."""
        values = self._values(self.roles.public.index(name))
        return count_in_cells(values, width, groups=self.roles.groups, public=name, domain=domain)

    def joint_counts(self, domain: Mapping[str, Bounds], widths: Mapping[str, float], /) -> JointCounts:
        """By one native group-by, whose result alone reaches the driver."""
        names = self.roles.numbers
        table = self._table({f"value_{k}": self.roles.public.index(name) for k, name in enumerate(names)})
        if cells := cells_of_rows(names, widths, domain):
            table = nw.to_native(nw.from_native(table).with_columns(**cells))
        counted = counted_rows(table, None, check=self.found.get(CHECK))
        return count_rows(counted, groups=self.roles.groups, public=names, domain=domain, widths=widths)

    def level_counts(self, name: str, /) -> LevelCounts:
        """By a native group-by, whose result alone reaches the driver."""
        k = self.roles.public.index(name)
        check_estimate(self.found[f"different_{k}"], name=name)
        counted = counted_rows(self._table({"value": k}), None, check=self.found.get(CHECK))
        levels = levels_of(counted["value"], name=name)
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls)

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """Collected: the release compares the rows."""
        named, rows = self.roles.read_as(names), self.rows
        if most is not None and self.found["rows"] > most:
            rows = rows.sample(fraction=most / self.found["rows"], seed=0)
        found = cast(pl.DataFrame, pl.from_arrow(rows.select(*named.values()).toArrow()))
        return some_entries({name: found[alias] for name, alias in named.items()}, most, coded=self.roles.labels)

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
            different=lambda: self._different(k),
            count=lambda cells, most: counted_rows(
                nw.to_native(cells.of(table) if cells else table), most, check=found.get(CHECK)
            ),
        )

    def _different(self, k: int) -> float:
        """An estimate, of this pass where the first one made none."""
        found: float | None = self.found.get(f"different_{k}")
        if found is not None:
            return found
        return estimate(self.rows, f"public_{k}", seed=self.seed, check=self.found.get(CHECK))

    def warnings(self, _counts: Sequence[int], /) -> list[PufferWarning]:
        """Of the kept columns: the rows have no order of their own."""
        return list(warn_of_kept_in_spark(self.rows, self.roles, count=self.found["rows"]))

    def release(self, draws: Sequence[Draw], /) -> Released:
        """A plan whose noise is drawn in the tasks; one pass finds its fingerprint and that the rows are the same.

        Raises CalibrationError where the rows are no longer those that were counted, or have other labels.
        """
        named = self.roles.row_id is not None
        found = Draws.of(draws, public=self.roles.public)
        self._check_levels(found)
        firsts = None if named else first_numbers(self.rows)
        step = NoiseStep.of(found, self.roles, names=self.names, firsts=firsts)
        names = [name for name in self.names if name in (*self.roles.public, *self.roles.keep)]
        rows = self.rows.select(*step.columns)
        if named:
            hashed = self.rows.select(*step.columns, *self._hash())
            sums, check = _sum(hashed, names, noise=replace(step, gives=(*step.gives, CHECK)))
            if (check, sums.rows) != (self.found[CHECK], self.found["rows"]):
                raise changed("the noise")
            noisy = rows.mapInArrow(step.noise, released_schema(rows, step))
        else:
            noisy, sums = _noisy_once(rows, SummedNoise(names=names, noise=step))
        # of the released columns alone, and under an alias: filter and orderBy do not look for names below one
        released = noisy.toDF(*names).alias("released")
        return Released(frame=released, rows=sums.rows, sample={}, fingerprint=sums.digest(names))

    def _check_levels(self, draws: Draws) -> None:
        """Here, since Spark would wrap the error of a task in one of its own."""
        labels = [(name, levels) for name, levels in draws.reads if levels is not None]
        plain = self.roles.read_as(name for name, _ in labels)
        dtypes = nw.from_native(self.rows).collect_schema()
        asked, names = list[Any](), [name for name, _ in labels]
        for name, levels in labels:
            column, known = F.col(plain[name]), known_levels(levels, dtypes[plain[name]])
            there = F.coalesce(column.isin([level for level in known if level is not None]), F.lit(None in known))
            asked.append(F.count(F.when(~there, 1)))
        found = self.rows.agg(*asked).toArrow().columns if asked else []
        for name, column in zip(names, found, strict=True):
            if rows := column[0].as_py():
                raise other_levels(name, rows_text(rows))

    def _hash(self) -> list[Any]:
        """What is compared between the passes, where a column numbers the rows."""
        return [] if self.seed is None else [row_hash(self.rows.columns, self.seed)]


def _sum(frame: SparkFrame, names: Sequence[str], *, noise: NoiseStep | None = None) -> tuple[RowSums, int]:
    """The sums of the columns, named by position, and the check of the original rows, where it is the last column."""
    step = SumStep(names=tuple(names), noise=noise)
    numbers = StructType([StructField(name, LongType()) for name in step.columns()])
    return totals(frame.mapInArrow(step.sums, numbers).toArrow())


def _noisy_once(rows: SparkFrame, step: SummedNoise) -> tuple[SparkFrame, RowSums]:
    """The rows with noise, without their numbers, computed once; and their sums."""
    schema = released_schema(rows, step.noise)
    summed = StructType([*schema.fields, StructField(SUMS, ArrayType(LongType()))])
    noisy = materialised(rows.mapInArrow(step.batches, summed))
    sums = noisy.select(SUMS).filter(F.col(SUMS).isNotNull()).toArrow()
    return noisy.select(*schema.names), total_of(sums.column(SUMS))
