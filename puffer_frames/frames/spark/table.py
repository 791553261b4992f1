"""Spark frames: native aggregates, and the noise in the tasks. This module and `spark.passes` import pyspark."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NoReturn, cast

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnTypeError, PufferWarning
from puffer_frames.frames.coded import Coded, Numbered, check_levels, fits, known_levels, natural, some_entries
from puffer_frames.frames.columns import NativeFrame, check_column_names, check_rows
from puffer_frames.frames.counted_units import ROWS, VALUE, VALUES, PlanTable, largest, least
from puffer_frames.frames.dates import dates_among, no_dates
from puffer_frames.frames.draws import NUMBER, PLACE_BITS, Draws, NoiseStep, Released
from puffer_frames.frames.local.kinds import PandasTable
from puffer_frames.frames.roles import Roles, RowOrder, check_nulls, complete_plan, no_complete_row
from puffer_frames.frames.spark.batches import CHECK, SUMS, SummedNoise, SumStep, total_of, totals
from puffer_frames.frames.spark.passes import (
    SparkFrame,
    changed,
    check_numbers,
    counted_rows,
    estimate,
    look,
    row_hash,
    warn_of_kept_in_spark,
)
from puffer_frames.frames.stamps.fingerprint import RowSums
from puffer_frames.frames.tally import Cells, CompleteRows, Extent, FoundValues, check_estimate, in_cells
from puffer_frames.frames.units import UNIT
from puffer_frames.noise.adding import Draw

BINARY = "UTF8_BINARY"
"""The collation of text that is compared letter by letter."""

_NATURAL = {str: StringType, bool: BooleanType, int: LongType, float: DoubleType}


def released_schema(rows: Any, step: NoiseStep, /) -> StructType:
    """Noisy columns are 64-bit floats, labels as they were where that can hold the outputs, the others as they were."""
    dtypes, written, writes = nw.from_native(rows).collect_schema(), step.written, step.draws.writes

    def released(alias: str) -> DataType:
        name, given = written.get(alias), rows.schema[alias].dataType
        if name is None:
            return _bare(given)
        if name in step.dates:
            return DateType() if pa.types.is_date(step.dates[name]) else TimestampNTZType()
        levels = writes[name]
        if levels is None:
            return DoubleType()
        return given if fits(dtypes[alias], levels) else _NATURAL[natural(levels, name=name)]()

    return StructType([StructField(alias, released(alias)) for alias in step.gives])


def _bare(kind: DataType) -> DataType:
    """A type without metadata of nested fields."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _bare(field.dataType), field.nullable) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def materialised(rows: Any, /) -> Any:
    """The rows computed once: in the checkpoint directory, or with the executors where there is none."""
    context = getattr(rows.sparkSession, "sparkContext", None)  # Spark Connect has none
    reliable = context is not None and context.getCheckpointDir() is not None
    return rows.checkpoint(eager=True) if reliable else rows.localCheckpoint(eager=True)


def first_numbers(rows: Any, /) -> tuple[int, ...]:
    """Number of the first row of each partition of materialised rows."""
    partition = F.shiftright(F.col(NUMBER), PLACE_BITS).alias("partition")
    counted = rows.groupBy(partition).agg(F.count(F.lit(1)).alias("rows")).toArrow().to_pylist()
    sizes = {part["partition"]: part["rows"] for part in counted}
    return tuple(accumulate((sizes.get(k, 0) for k in range(max(sizes))), initial=0))


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTable(PlanTable):
    """A Spark frame under plain names: `c0`, `c1`, ..."""

    native: SparkFrame
    frame: SparkFrame
    names: tuple[str, ...]
    schema: Mapping[str, nw.dtypes.DType]

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

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        return PandasTable(self.native.limit(0).toArrow().to_pandas()).answers(labels=labels, numbers=numbers)

    def plain(self, named: Mapping[str, str], /) -> SparkFrame:
        return self.frame.select(*(self._column(name).alias(alias) for alias, name in named.items()))

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        return rows.groupBy(UNIT).agg(
            F.sort_array(F.collect_list(VALUE)).alias(VALUES),
            F.count(F.lit(1)).alias(ROWS),
            *(F.min(name).alias(least(name)) for name in groups),
            *(F.max(name).alias(largest(name)) for name in groups),
        )

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
        return cast(pl.DataFrame, pl.from_arrow(counts.toArrow()))

    def run(self) -> SparkTable:
        """It is compared where it lies."""
        return self

    def fingerprint(self, *, like: str = "") -> str:
        """Sums over the rows, which have no order, in one pass."""
        del like
        return _sum(self.frame, self.names)[0].digest(self.names)

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
        dates = self._dates(roles)
        roles.check_dtypes({**self.schema, **dict.fromkeys(dates, nw.Int64())})
        for name in roles.keep:
            own = self.native.schema[self.names.index(name)].dataType.simpleString()
            if "interval year" in own or "interval month" in own:  # Arrow carries no months to Python
                hint = "Convert it to a number of months first."
                raise ColumnTypeError(f"the column {name!r}", rule="of a type that Arrow has", got=own, hint=hint)
        columns = [self._column(name, wide=False).alias(f"secret_{k}") for k, name in enumerate(roles.secret)]
        for k, name in enumerate(roles.public):
            own = F.unix_date(F.to_date(self._native(name))).cast("long") if name in dates else self._column(name)
            columns.append(own.alias(f"public_{k}"))
        columns += [self._native(name).alias(f"keep_{k}") for k, name in enumerate(roles.keep)]
        if roles.row_id is not None:
            columns.append(self._native(roles.row_id).cast("long").alias(NUMBER))
        rows = self.frame.select(*columns)
        if nulls == "drop":
            rows = nw.to_native(complete_plan(nw.from_native(rows), roles.plain("secret", "public")))
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
        return SparkRows(rows=rows, names=self.names, roles=roles, found=found, seed=seed, nulls=nulls, dates=dates)

    def _dates(self, roles: Roles) -> dict[str, pa.DataType]:
        """The public columns of dates, as Arrow has them; raises ColumnTypeError for times of the day."""
        names = dates_among(self.schema, roles.numbers)
        moments = [name for name in names if isinstance(self.schema[name], nw.Datetime)]
        for name in moments:
            own = self._native(name)
            other = self.frame.filter(F.to_date(own).cast("timestamp_ntz") != own)
            if other.limit(1).count():
                raise no_dates(name, "times of the day")
        return {name: pa.timestamp("us") if name in moments else pa.date32() for name in names}

    def _native(self, name: str) -> Any:
        return F.col(f"c{self.names.index(name)}")

    def _column(self, name: str, *, wide: bool = True) -> Any:
        """A secret or public column: text that is compared letter by letter, and, if wide, floats as 64-bit ones."""
        column, dtype = self._native(name), self.frame.schema[self.names.index(name)].dataType
        if getattr(dtype, "collation", BINARY) != BINARY:
            return F.collate(column, BINARY)
        return column.cast("double") if wide and self.schema[name].is_float() else column


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRows(CompleteRows):
    """Complete rows of a Spark frame: columns `secret_0`, ..., `public_0`, ..., `keep_0`, ... and `number`."""

    rows: SparkFrame
    """Those that no column numbers were materialised."""
    found: Mapping[str, Any]
    """What one pass over the rows found."""
    seed: int | None
    """The seed of the rows' hash, where a column numbers the rows."""

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
        return self.rows.select(*self.roles.plain("secret"), *values, *row_hash(self.rows.columns, self.seed))

    def check_levels(self, name: str, /) -> None:
        different = self.found[f"different_{self.roles.public.index(name)}"]
        check_estimate(different, name=name, most=self.roles.most_levels)

    def counted(self, names: Mapping[str, str], cells: Mapping[str, Cells], /) -> nw.DataFrame[Any]:
        table = self._table({alias: self.roles.public.index(name) for name, alias in names.items()})
        return counted_rows(in_cells(table, cells), None, check=self.found.get(CHECK))

    def values_of(self, name: str, /) -> FoundValues:
        k, found = self.roles.public.index(name), self.found
        low, high = found[f"ends_{k}"]
        std = found[f"std_{k}"]
        table = self._table({"value": k})
        return FoundValues(
            dtype=nw.from_native(table).collect_schema()["value"],
            extent=Extent(
                missing=found[f"missing_{k}"],
                infinite=found[f"infinite_{k}"],
                low=low,
                high=high,
                std=lambda: 0.0 if std is None else std,
            ),
            rows=found["rows"],
            different=lambda: self._different(k),
            count=lambda cells, most: counted_rows(
                in_cells(table, {"value": cells} if cells else {}), most, check=found.get(CHECK)
            ),
        )

    def _different(self, k: int) -> float:
        """An estimate, of this pass where the first one made none."""
        found: float | None = self.found.get(f"different_{k}")
        if found is not None:
            return found
        return estimate(self.rows, f"public_{k}", seed=self.seed, check=self.found.get(CHECK))

    def warnings(self, _counts: Sequence[int], draws: Callable[[], Sequence[Draw]], /) -> list[PufferWarning]:
        """Warnings of the kept columns; rows of Spark have no order of their own."""
        return warn_of_kept_in_spark(self.rows, self.roles, count=self.found["rows"], draws=draws)

    def release(self, draws: Sequence[Draw], /) -> Released:
        """A plan whose noise is drawn in the tasks; one pass finds its fingerprint and that the rows are the same."""
        named = self.roles.row_id is not None
        found = Draws.of(draws, public=self.roles.public)
        self._check_levels(found)
        firsts = None if named else first_numbers(self.rows)
        step = NoiseStep(draws=found, roles=self.roles, names=self.names, dates=self.dates, firsts=firsts)
        names = [name for name in self.names if name in (*self.roles.public, *self.roles.keep)]
        rows = self.rows.select(*step.columns)
        if named:
            hashed = self.rows.select(*step.columns, *row_hash(self.rows.columns, self.seed))
            sums, check = _sum(hashed, names, noise=replace(step, also=(CHECK,)))
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
        check_levels({name: column[0].as_py() for name, column in zip(names, found, strict=True)})


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
