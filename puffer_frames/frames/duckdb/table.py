"""DuckDB relations: counts by SQL, and rows that pass through the mechanism in Arrow batches."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa

from puffer_frames.errors import ArgumentTypeError, CalibrationError, PufferWarning
from puffer_frames.frames import summary
from puffer_frames.frames.coded import Coded, Numbered, some_entries
from puffer_frames.frames.columns import Name, NativeFrame, check_column_names, check_rows
from puffer_frames.frames.counted_series import count_series
from puffer_frames.frames.counted_units import count_units
from puffer_frames.frames.draws import Draws
from puffer_frames.frames.duckdb.looks import warn_of_kept_in_relation, warn_of_order_in_relation
from puffer_frames.frames.duckdb.sql import (
    cell_sql,
    finite_sql,
    number_sql,
    opened,
    present_sql,
    read_batches,
    read_one,
    read_table,
    selected,
)
from puffer_frames.frames.duckdb.units import DuckUnits
from puffer_frames.frames.extensions import readable
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.found import Cells, Extent, FoundValues, check_estimate, other_rows
from puffer_frames.frames.local.of_arrow import ArrowTable
from puffer_frames.frames.local.prepare import check_nulls, no_complete_row
from puffer_frames.frames.noisy import NUMBER, NoiseStep
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Roles, RowOrder, kind_of
from puffer_frames.frames.series.asked import SeriesColumns
from puffer_frames.frames.stamps.fingerprint import Fingerprint
from puffer_frames.frames.summary import count_in_cells, count_levels, count_rows, count_values, levels_of
from puffer_frames.frames.units.asked import UnitColumns
from puffer_frames.frames.units.sizes import UNIT, UnitSizes, plain_names, unit_sizes
from puffer_frames.noise.draw import Draw
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.usefulness import MOST_VALUES
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import Summary
from puffer_frames.priors.unit_rows import UnitRows

Relation: TypeAlias = Any
"""A duckdb.DuckDBPyRelation."""
CHECK, GIVEN = "digest", "given"
"""Columns beside those of the request: a hash of the row, and its number before it is made one of 64 bits."""


@dataclass(frozen=True, slots=True)
class DuckTable:
    """A relation: a query that DuckDB runs anew whenever its rows are asked for.

    The rows that come without a `row_id` are read once, into an Arrow table, and numbered as they come. From there on
    they are released like that table: what a relation without ORDER BY does not promise, its order, is then fixed, and
    it is looked at for what it tells. With a `row_id` nothing is held: SQL counts, and the noise is added batch by
    batch; rows that change between two passes are an error.
    """

    relation: Relation
    names: tuple[str, ...]

    is_plan = False

    @classmethod
    def of(cls, relation: Relation, /) -> DuckTable:
        """Look at the names alone."""
        names = tuple(relation.columns)
        check_column_names(names)
        return cls(relation, names)

    @property
    def labels(self) -> Sequence[Name]:
        """Text."""
        return self.names

    def kind_of(self, name: str, /) -> str:
        """By the schema."""
        return kind_of(self._schema([name])[name])

    def in_memory(self) -> ArrowTable:
        """Read once."""
        return self._read(self.names)

    run = in_memory

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """By one group-by, as `unit_sizes.unit_sizes`."""
        of_groups, of_values = plain_names(groups, values)
        rows = self.plain({UNIT: unit, **of_groups, **of_values})
        return unit_sizes(rows, unit=unit, groups=of_groups, values=of_values, nulls=nulls)

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """By SQL, as `counted_units.count_units`."""
        check_process()
        return count_units(self, asked, DuckUnits())

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """By windows, as `counted_series.count_series`."""
        check_process()
        return count_series(self, asked, DuckUnits())

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """An Arrow table."""
        return self._read(list(labels), limit=0).answers(labels=labels, numbers=numbers)

    def plain(self, named: Mapping[str, str], /) -> Relation:
        """As `counted_units.PlainColumns`."""
        return selected(self.relation, {alias: self._sql(name) for alias, name in named.items()})

    def _sql(self, name: str) -> str:
        """A column by its place: names may differ in case alone. Text is compared letter by letter."""
        place = self.names.index(name)
        text = str(self.relation.types[place]) == "VARCHAR"
        return f'#{place + 1} COLLATE "binary"' if text else f"#{place + 1}"

    def dtypes(self, names: Sequence[str], /) -> Mapping[str, nw.dtypes.DType]:
        """As `counted_units.PlainColumns`."""
        return self._schema(names) if names else {}

    def fingerprint(self, *, like: str = "") -> str:
        """Of the rows as they come."""
        return self.in_memory().fingerprint(like=like)

    def metadata(self) -> dict[str, Any] | None:
        """A relation has no place for any."""
        return None

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """A relation has no place for any."""
        del metadata
        raise ArgumentTypeError(
            "the frame",
            rule="one that a certificate can be attached to",
            got="a DuckDB relation",
            hint="Attach it to the rows: certificate.attach(relation.to_arrow_table()).",
        )

    def with_levels(self, *, known: Collection[str], rows: int) -> DuckTable:
        """Its columns are not looked into before they are read."""
        del known, rows
        return self

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """To be asked of the rows."""
        return self.in_memory().is_in_place(known=known)

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> Any:
        """Numbered by `row_id`; or else, for a release, read once and numbered by position."""
        check_process()
        check_nulls(nulls, roles)
        roles.check_names(self.names)
        if layout is not None and roles.row_id is None:
            named = {*roles.secret, *roles.public, *roles.keep}
            table = self._read([name for name in self.names if name in named])
            return replace(table.complete(roles, nulls=nulls, layout=layout), names=self.names)
        read = [*roles.secret, *roles.public, *roles.keep, *([] if roles.row_id is None else [roles.row_id])]
        schema = self._schema(list(dict.fromkeys(read)))
        roles.check_dtypes(schema)
        rows = selected(self.relation, self._columns(roles, schema))
        if nulls == "drop":
            for alias, name in roles.plain("secret", "public").items():
                rows = rows.filter(present_sql(alias, floats=schema[name].is_float()))
        seed = secrets.randbits(63)
        found = _look(rows, roles, schema, seed=seed)
        if not found["rows"] and nulls == "drop":
            check_rows(len(read_table(self.relation.limit(1))))
            raise no_complete_row()
        check_rows(found["rows"])
        if roles.row_id is not None:
            roles.check_numbers(
                missing=found["rows"] - found["given"],
                repeated=found["numbered"] - found["numbers"],
                outside=found["numbered"] < found["given"],
            )
        return DuckRows(
            rows=rows,
            names=self.names,
            roles=roles,
            schema=schema,
            found=found,
            seed=seed,
            layout=layout or RowOrder(),
            nulls=nulls,
        )

    def _read(self, names: Sequence[str], *, limit: int | None = None) -> ArrowTable:
        check_process()
        if not names:
            return ArrowTable(pa.table({}))
        places = {f"c{k}": f"#{self.names.index(name) + 1}" for k, name in enumerate(names)}
        rows = selected(self.relation, places)
        return ArrowTable(read_table(rows if limit is None else rows.limit(limit)).rename_columns(list(names)))

    def _schema(self, names: Sequence[str]) -> Mapping[str, nw.dtypes.DType]:
        """Dtypes as Arrow has them."""
        places = {f"c{k}": f"#{self.names.index(name) + 1}" for k, name in enumerate(names)}
        table = read_table(selected(self.relation, places).limit(0)).rename_columns(list(names))
        return dict(zip(names, opened(table).schema.dtypes(), strict=True))

    def _columns(self, roles: Roles, schema: Mapping[str, nw.dtypes.DType]) -> dict[str, str]:
        """SQL of the columns of `DuckRows`. Floats are 64-bit ones."""
        found = {}
        for alias, name in roles.plain().items():
            column = self._sql(name)
            wide = not alias.startswith("keep_") and schema[name].is_float()
            found[alias] = f"CAST({column} AS DOUBLE)" if wide else column
        if roles.row_id is not None:
            found[GIVEN] = f"#{self.names.index(roles.row_id) + 1}"
            found[NUMBER] = f"TRY_CAST({found[GIVEN]} AS BIGINT)"
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckRows:
    """Complete rows of a relation: `secret_0`, ..., `public_0`, ..., `keep_0`, ..., and where it has one its number."""

    rows: Relation
    names: tuple[str, ...]
    """The relation's own columns."""
    roles: Roles
    schema: Mapping[str, nw.dtypes.DType]
    found: Mapping[str, Any]
    """What one pass over the rows found."""
    seed: int
    """Of the hash of a row, by which a later pass is compared with the first."""
    layout: RowOrder
    nulls: str

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """By SQL, whose results alone reach memory; raises CalibrationError where the rows change meanwhile."""
        return {
            name: count_values(self._values(k), groups=self.roles.groups, public=name, domain=domain.get(name))
            for k, name in enumerate(self.roles.public)
            if name in self.roles.numbers
        }

    def finer(self, name: str, width: float, domain: Bounds | None, /) -> Summary:
        """By SQL."""
        values = self._values(self.roles.public.index(name))
        return count_in_cells(values, width, groups=self.roles.groups, public=name, domain=domain)

    def joint_counts(self, domain: Mapping[str, Bounds], widths: Mapping[str, float], /) -> JointCounts:
        """By SQL; raises CalibrationError where the rows change meanwhile."""
        names = self.roles.numbers
        columns = {f"value_{k}": f"public_{self.roles.public.index(n)}" for k, n in enumerate(names)}
        for k, name in enumerate(names):
            if name in widths:
                cells = Cells(width=widths[name], domain=domain.get(name))
                columns |= {f"{part}_{k}": sql for part, sql in cell_sql(columns[f"value_{k}"], cells).items()}
        counted = self._counted(columns)
        return count_rows(counted, groups=self.roles.groups, public=names, domain=domain, widths=widths)

    def level_counts(self, name: str, /) -> LevelCounts:
        """By SQL; raises CalibrationError where the rows change meanwhile."""
        k = self.roles.public.index(name)
        check_estimate(self.found[f"different_{k}"], name=name)
        counted = self._counted({"value": f"public_{k}"})
        levels = levels_of(counted["value"], name=name)
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls)

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """By SQL; raises CalibrationError where all rows are read, and are others than those of the first pass."""
        named = self.roles.read_as(names)
        rows = selected(self.rows, {alias: alias for alias in named.values()} | {CHECK: self._hash()})
        some = most is not None and self.found["rows"] > most
        if some:
            rows = rows.query("rows", f"FROM rows USING SAMPLE reservoir({most} ROWS) REPEATABLE (0)")
        found = cast(pl.DataFrame, pl.from_arrow(read_table(rows)))
        if not some and int(found[CHECK].cast(pl.Int128).sum()) % 2**64 != self.found[CHECK]:
            raise _changed("the counts")
        return some_entries({name: found[alias] for name, alias in named.items()}, None, coded=self.roles.labels)

    def _values(self, k: int) -> FoundValues:
        return FoundValues(
            dtype=self.schema[self.roles.public[k]],
            extent=Extent(
                missing=self.found[f"missing_{k}"],
                infinite=self.found[f"infinite_{k}"],
                low=self.found[f"low_{k}"],
                high=self.found[f"high_{k}"],
                std=self._std(k),
            ),
            rows=self.found["rows"],
            different=lambda: self.found[f"different_{k}"],
            count=lambda cells, most: self._counted(
                {"value": f"public_{k}"} if cells is None else cell_sql(f"public_{k}", cells), most
            ),
        )

    def _std(self, k: int) -> float:
        """Of a column of many rows, which may be counted in cells; scaled, so that no square is too large."""
        ends = [abs(float(end)) for end in (self.found[f"low_{k}"], self.found[f"high_{k}"]) if end is not None]
        if self.found["rows"] <= summary.EXACT_ROWS or not ends or not max(ends):
            return 0.0
        value, unit = f"public_{k}", 2.0 ** np.frexp(max(ends))[1]
        finite = finite_sql(value, floats=self.schema[self.roles.public[k]].is_float())
        scaled = f"CAST({value} AS DOUBLE) / {number_sql(unit)}"
        found = read_one(self.rows, {"std": f"stddev_samp({scaled}) FILTER (WHERE {finite})"})["std"]
        return float(found or 0.0) * float(unit)

    def _counted(self, values: Mapping[str, str], most: int | None = None) -> nw.DataFrame[Any]:
        """Rows per secret and values, which SQL says, as `FoundValues.count`; all are those of the first pass."""
        columns = {alias: alias for alias in self.roles.plain("secret")} | dict(values)
        keys = [name for name in columns if not name.startswith("place")]
        sums = [name for name in columns if name.startswith("place")]
        added = "".join(f", CAST(sum({name}) AS BIGINT) AS {name}" for name in sums)
        counts = selected(self.rows, columns | {CHECK: self._hash()}).aggregate(
            f"{', '.join(keys)}, count(*) AS count, sum({CHECK}) AS {CHECK}{added}", ", ".join(keys)
        )
        found = opened(read_table(counts if most is None else counts.limit(most + 1)))
        if (most is None or len(found) <= most) and sum(map(int, found[CHECK].to_list())) % 2**64 != self.found[CHECK]:
            raise _changed("the counts")
        return found.drop(CHECK)

    def _hash(self) -> str:
        return _hash_sql(self.roles, self.seed)

    def warnings(self, counts: Sequence[int], /) -> list[PufferWarning]:
        """Of the order that DuckDB gives the rows now, and of the kept columns."""
        found: list[PufferWarning] = []
        if not self.layout.shuffle:
            found += warn_of_order_in_relation(self.rows, self.roles.without_given(), counts=counts)
        if self.roles.keep:
            found += warn_of_kept_in_relation(self.rows, self.roles, count=self.found["rows"])
        return found

    def release(self, draws: Sequence[Draw], /) -> Released:
        """One pass in Arrow batches, into an Arrow table; one of many rows lies in a file, not in memory.

        Raises CalibrationError where the rows are no longer those that were counted.
        """
        found = Draws.of(draws, public=self.roles.public)
        step = NoiseStep.of(found, self.roles, names=self.names)
        names = [name for name in self.names if name in (*self.roles.public, *self.roles.keep)]
        columns = {alias: alias for alias in step.columns} | {CHECK: self._hash()}
        rows, stamp = self.found["rows"], Fingerprint()
        with closing(read_batches(selected(self.rows, columns))) as batches:
            noisy = (pa.RecordBatch.from_arrays(b.columns, names) for b in step.noise(self._checked(batches)))
            table = readable(_held(_stamped(noisy, stamp), rows=rows))
        numbers = [name for name, levels in found.writes.items() if levels is None]
        if self.layout.shuffle:
            order = found.key.permutation(rows)
            table = table.take(pa.array(order)).combine_chunks()
        some = pa.array(range(0, rows, -(-rows // MOST_VALUES)))
        return Released(
            frame=table,
            rows=rows,
            sample={name: table[name].take(some).to_numpy() for name in numbers},
            fingerprint=ArrowTable(table).fingerprint() if self.layout.shuffle else stamp.hexdigest(),
        )

    def _checked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches without their last column, by which they are compared with the first pass."""
        rows = check = 0
        for batch in batches:
            rows += batch.num_rows
            check += int(batch.column(CHECK).to_numpy().sum(dtype=np.uint64))
            yield batch.select(batch.schema.names[:-1])
        if (rows, check % 2**64) != (self.found["rows"], self.found[CHECK]):
            raise _changed("the noise")


def _stamped(batches: Iterator[pa.RecordBatch], stamp: Fingerprint) -> Iterator[pa.RecordBatch]:
    """The batches, which a fingerprint takes in."""
    for batch in batches:
        stamp.update(opened(readable(pa.Table.from_batches([batch]))))
        yield batch


_MOST_IN_MEMORY = 1 << 20
"""Rows of a release that is held in memory."""


def _held(batches: Iterator[pa.RecordBatch], *, rows: int) -> pa.Table:
    """A table of all batches. Of many rows they lie in a temporary file, mapped to memory, whose name is taken away at
    once: it goes with the table. Windows keeps no file without a name.
    """
    if rows <= _MOST_IN_MEMORY or os.name == "nt":
        return pa.Table.from_batches(batches)
    first = next(batches)
    with tempfile.NamedTemporaryFile(prefix="puffer-", suffix=".arrows") as file:
        with pa.ipc.new_stream(file, first.schema) as writer:
            for batch in chain([first], batches):
                writer.write_batch(batch)
        file.flush()
        return pa.ipc.open_stream(pa.memory_map(file.name)).read_all()


def _hash_sql(roles: Roles, seed: int) -> str:
    """64 bits of a row's secrets, public values and number, seeded so that nobody can compute them for a guess."""
    names = [*roles.plain("secret", "public"), *([] if roles.row_id is None else [NUMBER])]
    return f"hash({seed}, {', '.join(names)})"


def _look(rows: Relation, roles: Roles, schema: Mapping[str, nw.dtypes.DType], *, seed: int) -> dict[str, Any]:
    """What one pass finds: the number of rows, and of each public column what `FoundValues` asks for."""
    asked = {"rows": "count(*)", CHECK: f"sum({_hash_sql(roles, seed)})"}
    for k, name in enumerate(roles.public):
        value, floats = f"public_{k}", schema[name].is_float()
        finite = finite_sql(value, floats=floats)
        asked[f"different_{k}"] = f"approx_count_distinct({value})"
        if name in roles.coded:
            continue
        asked |= {
            f"missing_{k}": f"count(*) FILTER (WHERE NOT ({present_sql(value, floats=floats)}))",
            f"infinite_{k}": f"count(*) FILTER (WHERE isinf({value}))" if floats else "0",
            f"low_{k}": f"min({value}) FILTER (WHERE {finite})",
            f"high_{k}": f"max({value}) FILTER (WHERE {finite})",
        }
    if roles.row_id is not None:
        asked |= {"given": f"count({GIVEN})", "numbered": f"count({NUMBER})"}
    found = read_one(rows, asked)
    if roles.row_id is not None:
        found["numbers"] = _different_numbers(rows, found["numbered"])
    return found | {CHECK: int(found[CHECK] or 0) % 2**64}


def _different_numbers(rows: Relation, present: int) -> int:
    """How many numbers of rows differ: those of 32 neighbours are the bits of one word.

    Raises CalibrationError where not so many rows have one.
    """
    bits = selected(rows, {"word": f"{NUMBER} >> 5", "bit": f"CAST(1 AS BIGINT) << CAST({NUMBER} & 31 AS INTEGER)"})
    words = bits.aggregate("word, bit_or(bit) AS bits, count(bit) AS present", "word")
    sums = {"present": "CAST(sum(present) AS BIGINT)", "different": "CAST(sum(bit_count(bits)) AS BIGINT)"}
    found = read_one(words, sums)
    if (found["present"] or 0) != present:
        raise _changed("the row numbers")
    return int(found["different"] or 0)


def _changed(where: str) -> CalibrationError:
    return other_rows(where, hint="Write the relation to a table first (relation.to_table)", named=True)
