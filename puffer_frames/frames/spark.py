"""Spark frames: native aggregates, and the noise in the tasks. The only module that imports pyspark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import DoubleType, LongType, StructField, StructType

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.batches import CHECK, NUMBER, PLACE_BITS, NoiseStep, SumStep, totals
from puffer_frames.frames.columns import check_distinct_names, check_rows
from puffer_frames.frames.found import Extent, FoundValues
from puffer_frames.frames.prepare import check_nulls, no_complete_row
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.summary import Summary, count_values
from puffer_frames.frames.unordered import RowSums
from puffer_frames.mechanism import Mechanism
from puffer_frames.postprocessing import Bounds

SparkFrame: TypeAlias = Any
"""A pyspark.sql.DataFrame, classic or Connect."""
_INFINITY = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTable:
    """A Spark frame under plain names: `c0`, `c1`, ..."""

    frame: SparkFrame
    names: tuple[str, ...]
    schema: Mapping[str, nw.dtypes.DType]
    """Dtype per column, by the frame's own name."""

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
        check_distinct_names(names)
        renamed = frame.toDF(*(f"c{k}" for k in range(len(names))))
        dtypes = nw.from_native(renamed).collect_schema().dtypes()
        return cls(frame=renamed, names=names, schema=dict(zip(names, dtypes, strict=True)))

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
        check_nulls(nulls)
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
            rows = _materialised(rows.withColumn(NUMBER, F.monotonically_increasing_id()))
        found = _look(rows, public=len(roles.public), named=roles.row_id is not None)
        if not found["rows"] and nulls == "drop":
            check_rows(self.frame.limit(1).count())
            raise no_complete_row()
        check_rows(found["rows"])
        if roles.row_id is not None:
            _check_numbers(rows, roles)
        return SparkRows(rows=rows, names=self.names, roles=roles, found=found)

    def _native(self, name: str) -> Any:
        return F.col(f"c{self.names.index(name)}")

    def _column(self, name: str) -> Any:
        """A secret or public column, floats as 64-bit ones."""
        return self._native(name).cast("double") if self.schema[name].is_float() else self._native(name)

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

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """By native group-bys, whose results alone reach the driver."""
        return {
            name: count_values(self._values(k), secret=self.roles.secret, public=name, domain=domain.get(name))
            for k, name in enumerate(self.roles.public)
        }

    def _values(self, k: int) -> FoundValues:
        secrets = [f"secret_{j}" for j in range(len(self.roles.secret))]
        found = self.found
        low, high = found[f"ends_{k}"]
        std = found[f"std_{k}"]
        return FoundValues(
            table=nw.from_native(self.rows.select(*secrets, F.col(f"public_{k}").alias("value"))),
            extent=Extent(
                missing=found[f"missing_{k}"],
                infinite=found[f"infinite_{k}"],
                low=low,
                high=high,
                std=0.0 if std is None else std,
            ),
            rows=found["rows"],
            different=lambda: found[f"different_{k}"],
            collect=_collected,
        )

    def run_share(self, _counts: Sequence[int], /) -> None:
        """The rows have no order of their own."""

    def release(self, mechanisms: Mapping[str, Mechanism], /) -> Released:
        """A plan whose noise is drawn in the tasks; one pass finds its fingerprint and that the rows are the same.

        Raises
        ------
        CalibrationError
            Where the rows are no longer those that were counted.
        """
        named = self.roles.row_id is not None
        plain = {name: f"public_{k}" for k, name in enumerate(self.roles.public)}
        plain |= {name: f"keep_{k}" for k, name in enumerate(self.roles.keep)}
        names = [name for name in self.names if name in plain]
        selected = [F.col(plain[name]) for name in names]
        source = self.rows.select(NUMBER, *selected, *([_hash(len(self.roles.public), len(self.roles.secret))] * named))
        step = NoiseStep(
            mechanisms={plain[name]: mechanism for name, mechanism in mechanisms.items()},
            firsts=None if named else _firsts(self.rows),
        )
        noisy = source.mapInArrow(step.noise, _released_schema(source.schema))
        sums, check = _sum(noisy, names)
        if named and (check, sums.rows) != (self.found[CHECK], self.found["rows"]):
            raise CalibrationError(
                "the rows",
                rule="the same in every pass over the frame",
                got="other rows in the pass of the noise",
                hint="Write the frame or checkpoint it first, or leave out row_id: then it is materialised once.",
            )
        return Released(frame=noisy.select(*selected).toDF(*names), rows=sums.rows, fingerprint=sums.digest(names))


def sum_frame(frame: SparkFrame, /) -> RowSums:
    """The sums behind the fingerprint of a frame, in one pass over it."""
    table = SparkTable.of(frame)
    return _sum(table.frame, table.names)[0]


def _sum(frame: SparkFrame, names: Sequence[str]) -> tuple[RowSums, int]:
    """The sums of the columns, named by position, and the check of the original rows, where it is the last column."""
    step = SumStep(names=tuple(names))
    numbers = StructType([StructField(name, LongType()) for name in step.columns()])
    return totals(frame.mapInArrow(step.sums, numbers).toArrow())


def _look(rows: SparkFrame, *, public: int, named: bool) -> dict[str, Any]:
    """What one pass finds: the number of rows, and of each public column what `FoundValues` asks for."""
    asked = [F.count(F.lit(1)).alias("rows")]
    floats = {field.name for field in rows.schema.fields if isinstance(field.dataType, DoubleType)}
    for k in range(public):
        value = F.col(f"public_{k}")
        missing, infinite = value.isNull(), F.lit(False)
        if f"public_{k}" in floats:
            missing, infinite = missing | F.isnan(value), F.abs(value) == _INFINITY
        finite = F.when(~missing & ~infinite, value)
        asked += [
            F.count(F.when(missing, 1)).alias(f"missing_{k}"),
            F.count(F.when(infinite, 1)).alias(f"infinite_{k}"),
            F.array(F.min(finite), F.max(finite)).alias(f"ends_{k}"),
            F.stddev_samp(finite.cast("double")).alias(f"std_{k}"),
            F.approx_count_distinct(value).alias(f"different_{k}"),
        ]
    if named:
        secrets = sum(name.startswith("secret_") for name in rows.columns)
        asked.append(F.bit_xor(_hash(public, secrets)).alias(CHECK))
    found: dict[str, Any] = rows.agg(*asked).toArrow().to_pylist()[0]
    return found


def _hash(public: int, secrets: int) -> Any:
    """64 bits of a row's number, secrets and public values."""
    names = [NUMBER, *(f"public_{k}" for k in range(public)), *(f"secret_{k}" for k in range(secrets))]
    return F.xxhash64(*names).alias(CHECK)


def _check_numbers(rows: SparkFrame, roles: Roles) -> None:
    """Every row has a number of its own."""
    count = rows.agg(F.count(F.lit(1)), F.count(NUMBER), F.count_distinct(F.col(NUMBER))).toArrow()
    total, present, different = (column[0].as_py() for column in count.columns)
    roles.check_numbers(missing=total - present, repeated=present - different, outside=False)


def _materialised(rows: SparkFrame) -> SparkFrame:
    """The rows computed once: in the checkpoint directory, or with the executors where there is none."""
    context = getattr(rows.sparkSession, "sparkContext", None)  # Spark Connect has none
    reliable = context is not None and context.getCheckpointDir() is not None
    return rows.checkpoint(eager=True) if reliable else rows.localCheckpoint(eager=True)


def _firsts(rows: SparkFrame) -> tuple[int, ...]:
    """Number of the first row of each partition of materialised rows."""
    partition = F.shiftright(F.col(NUMBER), PLACE_BITS).alias("partition")
    counted = rows.groupBy(partition).agg(F.count(F.lit(1)).alias("rows")).toArrow().to_pylist()
    sizes = {part["partition"]: part["rows"] for part in counted}
    return tuple(accumulate((sizes.get(k, 0) for k in range(max(sizes))), initial=0))


def _released_schema(source: StructType) -> StructType:
    """Noisy columns are 64-bit floats, the others as they were."""
    fields = [field for field in source.fields if field.name != NUMBER]
    return StructType(
        [
            StructField(field.name, DoubleType() if field.name.startswith("public_") else field.dataType)
            for field in fields
        ]
    )


def _collected(table: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    return table.collect(backend="polars")
