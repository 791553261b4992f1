"""DuckDB relations: counts by SQL, and rows that pass through the mechanism in Arrow batches."""

from __future__ import annotations

import mmap
import os
import secrets
import tempfile
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from typing import Any, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentTypeError, PufferWarning, RowOrderWarning, TableFileError
from puffer_frames.frames import kept
from puffer_frames.frames.arrow import readable
from puffer_frames.frames.coded import Coded, Numbered, some_entries
from puffer_frames.frames.columns import NativeFrame, check_column_names, check_rows, to_floats
from puffer_frames.frames.counted_units import ROWS, VALUE, VALUES, PlanTable, largest, least
from puffer_frames.frames.dates import dates_among, no_dates, plain_numbers
from puffer_frames.frames.draws import NUMBER, Draws, NoiseStep, Released
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.local.kinds import ArrowTable
from puffer_frames.frames.local.looks import evidence_of, evidence_plans, order_warnings, warn_of_kept_in_sample
from puffer_frames.frames.order import Windows
from puffer_frames.frames.roles import Roles, RowOrder, check_nulls, complete_plan, no_complete_row
from puffer_frames.frames.stamps.fingerprint import Fingerprint
from puffer_frames.frames.summary import PLACES
from puffer_frames.frames.tally import Cells, CompleteRows, Extent, FoundValues, check_estimate, other_rows, place_named
from puffer_frames.frames.units import UNIT
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.usefulness import MOST_VALUES
from puffer_frames.numbers.threads import ahead
from puffer_frames.priors.prior import FloatArray, IndexArray

BATCH = 1 << 17
"""Rows that are read together."""


def selected(relation: Any, columns: Mapping[str, str], /) -> Any:
    """Columns of a relation by their names: SQL, in which `#1` is the first column."""
    names = [name.replace('"', '""') for name in columns]
    return relation.project(", ".join(f'{sql} AS "{name}"' for name, sql in zip(names, columns.values(), strict=True)))


def read_one(relation: Any, asked: Mapping[str, str], /) -> dict[str, Any]:
    """The one row of some aggregates, by their names."""
    aggregates = ", ".join(f'{sql} AS "{name}"' for name, sql in asked.items())
    return read_table(relation.aggregate(aggregates)).to_pylist()[0]


def read_table(relation: Any, /) -> pa.Table:
    """All rows as an Arrow table."""
    return relation.to_arrow_table()


def read_batches(relation: Any, /) -> Generator[pa.RecordBatch, None, None]:
    """The rows in Arrow batches; nothing else may be asked of the connection before the end, or before it is closed."""
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its older name
    reader = read(BATCH)
    try:
        yield from reader
    finally:
        reader.close()


def opened(table: pa.Table, /) -> nw.DataFrame[Any]:
    """An Arrow table as narwhals has it."""
    frame = pl.from_arrow(readable(table))
    assert isinstance(frame, pl.DataFrame)
    return nw.from_native(frame, eager_only=True)


def number_sql(value: float, /) -> str:
    """A 64-bit float: DuckDB reads 0.1 as a decimal."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def finite_sql(column: str, /, *, floats: bool) -> str:
    """Whether an entry is a finite number."""
    return f"isfinite({column})" if floats else f"{column} IS NOT NULL"


def cell_sql(column: str, cells: Cells, /, alias: str = "value") -> dict[str, str]:
    """Number of the cell of a column's value, as `summary.cell_of`, and its place there, as `summary.place_of`."""
    value = f"CAST({column} AS DOUBLE)"
    if cells.domain is not None:
        low, high = map(number_sql, cells.domain)
        value = f"least(greatest({value}, {low}), {high})"
    value = f"{value} * {number_sql(1.0 / cells.width)}"
    return {
        alias: f"CAST(floor({value}) AS BIGINT)",
        # whole, as a float: those have the fastest sum, which is exact for up to 2**37 rows of a cell
        place_named(alias): f"floor(({value} - floor({value})) * {number_sql(float(PLACES))})",
    }


def warn_of_order_in_relation(rows: Any, roles: Roles, /, *, counts: Sequence[int]) -> list[RowOrderWarning]:
    """Warn of the row order; one pass gives the rows, with columns `secret_0`, ... and `public_0`, ..."""
    own, public = list(roles.plain("secret")), roles.plain("public")
    coded = [alias for alias, name in public.items() if name in roles.coded]
    columns = {name: name for name in own}
    columns |= {name: name if name in coded else f"CAST({name} AS DOUBLE)" for name in public}
    windows, seed, runs, last = Windows(len(own)), secrets.randbits(63), 0, None
    for batch in read_batches(selected(rows, columns)):
        if not batch.num_rows:
            continue
        frame: Any = pl.from_arrow(batch)
        bits = [_bits(frame[name], seed) for name in own]
        wanted = windows.wanted(len(frame))
        some = frame[wanted]
        values = [_bits(some[name], seed) if name in coded else some[name].to_numpy() for name in public]
        labels = [_label(frame[name], found, wanted) for name, found in zip(own, bits, strict=True)]
        windows.take(wanted, [*labels, *values], rows=len(frame))
        keys = bits[0] if len(bits) == 1 else pl.DataFrame(bits).hash_rows(seed).to_numpy()
        runs += int(np.count_nonzero(keys[1:] != keys[:-1])) + (keys[0] != last)
        last = keys[-1]
    return order_warnings(windows.sample(), runs=runs, counts=counts, public=roles.public)


def _label(entries: pl.Series, bits: NDArray[np.uint64], wanted: IndexArray) -> NDArray[Any]:
    """Wanted entries of a secret as texts or numbers, which have an order; else a hash of each."""
    if entries.dtype in (pl.String, pl.Categorical, pl.Enum):
        return entries[wanted].cast(pl.String).to_numpy()
    return entries[wanted].to_numpy() if entries.dtype.is_numeric() and not entries.null_count() else bits[wanted]


def _bits(entries: pl.Series, seed: int) -> NDArray[np.uint64]:
    """A hash of each entry; that of a category is one of its text, in every batch the same."""
    plain = entries.cast(pl.String) if entries.dtype in (pl.Categorical, pl.Enum) else entries
    return plain.hash(seed).to_numpy()


def warn_of_kept_in_relation(
    rows: Any, roles: Roles, /, *, count: int, in_order: bool, draws: Callable[[], Sequence[Draw]]
) -> list[PufferWarning]:
    """Warn of kept columns of `count` numbered rows: some are looked at, and all where these raise suspicion."""
    step = -(-count // kept.ROWS)
    some = rows if step == 1 else rows.filter(f"hash({NUMBER} // 2) % {step} = 0")
    names = (*roles.without_given().plain("secret", "public"), *roles.plain("keep"))
    sample = opened(read_table(selected(some, {name: name for name in names}))).to_polars()
    ask = None if step == 1 else lambda own, target: evidence_of(*map(read_table, evidence_plans(rows, own, target)))
    return warn_of_kept_in_sample(sample, roles, in_order=in_order, draws=draws, ask=ask)


Relation: TypeAlias = Any
"""A duckdb.DuckDBPyRelation."""
CHECK, GIVEN = "digest", "given"
"""Columns beside those of the request: a hash of the row, and its number before it is made one of 64 bits."""


@dataclass(frozen=True, slots=True)
class DuckTable(PlanTable):
    """A relation: a query that DuckDB runs anew whenever its rows are asked for.

    The rows that come without a `row_id` are read once, into an Arrow table, and numbered as they come. From there on
    they are released like that table: what a relation without ORDER BY does not promise, its order, is then fixed, and
    it is looked at for what it tells. With a `row_id` nothing is held: SQL counts, and the noise is added batch by
    batch; rows that change between two passes are an error.
    """

    native: Relation
    names: tuple[str, ...]

    @classmethod
    def of(cls, relation: Relation, /) -> DuckTable:
        names = tuple(relation.columns)
        check_column_names(names)
        return cls(relation, names)

    def in_memory(self) -> ArrowTable:
        return self._read(self.names)

    run = in_memory

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        return self._read(list(labels), limit=0).answers(labels=labels, numbers=numbers)

    def plain(self, named: Mapping[str, str], /) -> Relation:
        return selected(self.native, {alias: self._sql(name) for alias, name in named.items()})

    def _sql(self, name: str) -> str:
        """A column by its place: names may differ in case alone. Text is compared letter by letter."""
        place = self.names.index(name)
        text = str(self.native.types[place]) == "VARCHAR"
        return f'#{place + 1} COLLATE "binary"' if text else f"#{place + 1}"

    def dtypes(self, names: Sequence[str], /) -> Mapping[str, nw.dtypes.DType]:
        """As Arrow has them."""
        return dict(zip(names, opened(self._read(names, limit=0).native).schema.dtypes(), strict=True))

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        asked = {
            VALUES: f"list({VALUE} ORDER BY {VALUE} ASC NULLS LAST) FILTER (WHERE {VALUE} IS NOT NULL)",
            ROWS: "count(*)",
        }
        asked |= {least(name): f"min({name})" for name in groups}
        asked |= {largest(name): f"max({name})" for name in groups}
        return rows.aggregate(", ".join([UNIT, *(f"{sql} AS {name}" for name, sql in asked.items())]), UNIT)

    def moments(self, rows: Any, name: str, /) -> Any:
        """Nanoseconds where the column has these."""
        nanoseconds = "_NS" in str(rows.types[rows.columns.index(name)]).upper()
        moment = f"epoch_ns({name})" if nanoseconds else f"epoch_us({name})"
        return selected(rows, {own: moment if own == name else own for own in rows.columns})

    def read(self, counts: Any, /) -> pl.DataFrame:
        return opened(read_table(counts)).to_native()

    def metadata(self) -> dict[str, Any] | None:
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

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> Any:
        """Numbered by `row_id`; or else, for a release, read once and numbered by position."""
        check_process()
        check_nulls(nulls, roles)
        roles.check_names(self.names)
        if layout is not None and roles.row_id is None:
            named = {*roles.secret, *roles.public, *roles.keep}
            self._dates(roles, self.dtypes(roles.public))
            table = self._read([name for name in self.names if name in named])
            return replace(table.complete(roles, nulls=nulls, layout=layout), names=self.names)
        read = [*roles.secret, *roles.public, *roles.keep, *([] if roles.row_id is None else [roles.row_id])]
        schema = self.dtypes(list(dict.fromkeys(read)))
        dates = self._dates(roles, schema)
        schema = {**schema, **dict.fromkeys(dates, nw.Int64())}
        roles.check_dtypes(schema)
        rows = selected(self.native, self._columns(roles, schema, dates))
        if nulls == "drop":
            rows = nw.to_native(complete_plan(nw.from_native(rows), roles.plain("secret", "public")))
        seed = secrets.randbits(63)
        found = _look(rows, roles, schema, seed=seed)
        if not found["rows"] and nulls == "drop":
            check_rows(len(read_table(self.native.limit(1))))
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
            dates=dates,
        )

    def _read(self, names: Sequence[str], *, limit: int | None = None) -> ArrowTable:
        check_process()
        if not names:
            return ArrowTable(pa.table({}))
        places = {f"c{k}": f"#{self.names.index(name) + 1}" for k, name in enumerate(names)}
        rows = selected(self.native, places)
        return ArrowTable(read_table(rows if limit is None else rows.limit(limit)).rename_columns(list(names)))

    def _dates(self, roles: Roles, schema: Mapping[str, nw.dtypes.DType]) -> dict[str, pa.DataType]:
        """The public columns of dates, and their types.

        Raises ColumnTypeError for times of the day; PriorError for infinite dates, which Arrow has as days.
        """
        names = dates_among(schema, roles.numbers)
        for name in names:
            time = self._sql(name)
            days = selected(self.native, {"infinite": f"isinf({time})", "other": f"CAST({time} AS DATE) <> {time}"})
            found = read_one(days, {"infinite": "count(*) FILTER (WHERE infinite)", "other": "bool_or(other)"})
            if found["infinite"]:
                to_floats(nw.new_series("x", [np.inf], backend="polars"), np.array([found["infinite"]]), name=name)
            if found["other"]:
                raise no_dates(name, "times of the day")
        return {field.name: field.type for field in self._read(names, limit=0).native.schema}

    def _columns(self, roles: Roles, schema: Mapping[str, nw.dtypes.DType], dates: Collection[str]) -> dict[str, str]:
        """SQL of the columns of `DuckRows`. Public floats are 64-bit ones."""
        found = {}
        for alias, name in roles.plain().items():
            column = self._sql(name)
            wide = alias.startswith("public_") and schema[name].is_float()
            found[alias] = f"CAST({column} AS DOUBLE)" if wide else column
            if name in dates and alias.startswith("public_"):
                found[alias] = f"CAST({column} AS DATE) - DATE '1970-01-01'"
        if roles.row_id is not None:
            found[GIVEN] = f"#{self.names.index(roles.row_id) + 1}"
            found[NUMBER] = f"TRY_CAST({found[GIVEN]} AS BIGINT)"
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class DuckRows(CompleteRows):
    """Complete rows of a relation: `secret_0`, ..., `public_0`, ..., `keep_0`, ..., and where it has one its number."""

    rows: Relation
    schema: Mapping[str, nw.dtypes.DType]
    found: Mapping[str, Any]
    """What one pass over the rows found."""
    seed: int
    """The seed of a row's hash, which compares a later pass with the first."""
    layout: RowOrder

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        named = self.roles.read_as(names)
        rows = selected(self.rows, {alias: alias for alias in named.values()} | {CHECK: self._hash()})
        some = most is not None and self.found["rows"] > most
        if some:
            rows = rows.query("rows", f"FROM rows USING SAMPLE reservoir({most} ROWS) REPEATABLE (0)")
        found = cast(pl.DataFrame, pl.from_arrow(read_table(rows)))
        if not some:
            self._compare(len(found), _folded(found[CHECK], self.roles), where="the counts")
        return some_entries({name: found[alias] for name, alias in named.items()}, None, coded=self.roles.labels)

    def check_levels(self, name: str, /) -> None:
        different = self.found[f"different_{self.roles.public.index(name)}"]
        check_estimate(different, name=name, most=self.roles.most_levels)

    def counted(self, names: Mapping[str, str], cells: Mapping[str, Cells], /) -> nw.DataFrame[Any]:
        columns = {alias: f"public_{self.roles.public.index(name)}" for name, alias in names.items()}
        for alias, own in cells.items():
            columns |= cell_sql(columns[alias], own, alias)
        return self._counted(columns)

    def values_of(self, name: str, /) -> FoundValues:
        k = self.roles.public.index(name)
        return FoundValues(
            dtype=self.schema[name],
            extent=Extent(
                missing=self.found[f"missing_{k}"],
                infinite=self.found[f"infinite_{k}"],
                low=self.found[f"low_{k}"],
                high=self.found[f"high_{k}"],
                std=lambda: self._std(k),
            ),
            rows=self.found["rows"],
            different=lambda: self.found[f"different_{k}"],
            count=lambda cells, most: self._counted(
                {"value": f"public_{k}"} if cells is None else cell_sql(f"public_{k}", cells), most
            ),
        )

    def _std(self, k: int) -> float:
        """The standard deviation of a column; scaled, so that no square overflows."""
        ends = [abs(float(end)) for end in (self.found[f"low_{k}"], self.found[f"high_{k}"]) if end is not None]
        if not ends or not max(ends):
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
            f"{', '.join(keys)}, count(*) AS count, {_folded_sql(CHECK, self.roles)} AS {CHECK}{added}", ", ".join(keys)
        )
        found = opened(read_table(counts if most is None else counts.limit(most + 1)))
        if most is None or len(found) <= most:
            rows, check = int(found["count"].sum()), _folded(found[CHECK].to_native(), self.roles)
            self._compare(rows, check, where="the counts")
        return found.drop(CHECK)

    def _compare(self, rows: int, check: int, *, where: str) -> None:
        """Raise CalibrationError where a pass has found other rows than the first one."""
        if (rows, check) != (self.found["rows"], self.found[CHECK]):
            raise other_rows(where, hint=_HINT, named=True)

    def _hash(self) -> str:
        return _hash_sql(self.roles, self.seed)

    def warnings(self, counts: Sequence[int], draws: Callable[[], Sequence[Draw]], /) -> list[PufferWarning]:
        """Warnings of the order in which DuckDB now gives the rows, and of the kept columns."""
        found: list[PufferWarning] = []
        if not self.layout.shuffle:
            found += warn_of_order_in_relation(self.rows, self.roles.without_given(), counts=counts)
        if self.roles.keep:
            asked = {"count": self.found["rows"], "in_order": not self.layout.shuffle}
            found += warn_of_kept_in_relation(self.rows, self.roles, **asked, draws=draws)
        return found

    def release(self, draws: Sequence[Draw], /) -> Released:
        """One pass in Arrow batches, into an Arrow table; one of many rows lies in a file, not in memory."""
        found = Draws.of(draws, public=self.roles.public)
        step = NoiseStep(draws=found, roles=self.roles, names=self.names, dates=self.dates)
        names = [name for name in self.names if name in (*self.roles.public, *self.roles.keep)]
        columns = {alias: alias for alias in step.columns} | {CHECK: self._hash()}
        rows, stamp = self.found["rows"], Fingerprint()
        with (
            closing(read_batches(selected(self.rows, columns))) as batches,
            closing(ahead(step.noise(self._checked(batches)), wait=True)) as drawn,
        ):
            noisy = (pa.RecordBatch.from_arrays(b.columns, names) for b in drawn)
            table = readable(_held(_stamped(noisy, stamp), rows=rows))
        numbers = [name for name, levels in found.writes.items() if levels is None]
        if self.layout.shuffle:
            order = found.key.permutation(rows)
            table = table.take(pa.array(order)).combine_chunks()
        return Released(
            frame=table,
            rows=rows,
            sample={name: _spread(table[name], -(-rows // MOST_VALUES)) for name in numbers},
            fingerprint=ArrowTable(table).fingerprint() if self.layout.shuffle else stamp.hexdigest(),
        )

    def _checked(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches without their last column, by which they are compared with the first pass."""
        rows = check = 0
        for batch in batches:
            rows += batch.num_rows
            check = _folded(batch.column(CHECK), self.roles, check)
            yield batch.select(batch.schema.names[:-1])
        self._compare(rows, check, where="the noise")


def _spread(column: pa.ChunkedArray, step: int) -> FloatArray:
    """Every so many of the entries, without a copy of all of them."""
    firsts = accumulate(map(len, column.chunks), initial=0)
    chunks = (plain_numbers(pl.Series(chunk)) for chunk in column.chunks)
    parts = [chunk[-first % step :: step] for first, chunk in zip(firsts, chunks, strict=False)]
    return np.concatenate(parts)


def _stamped(batches: Iterator[pa.RecordBatch], stamp: Fingerprint) -> Iterator[pa.RecordBatch]:
    """The batches, which a fingerprint takes in."""
    for batch in batches:
        stamp.update(opened(readable(pa.Table.from_batches([batch]))))
        yield batch


_MOST_IN_MEMORY = 1 << 20
"""Rows of a release that is held in memory."""


def _held(batches: Iterator[pa.RecordBatch], *, rows: int) -> pa.Table:
    """A table of all batches. Many rows lie in a temporary file without a name, mapped to memory: it goes with the
    table, or with the process. Windows keeps no file without a name.
    """
    if rows <= _MOST_IN_MEMORY or os.name == "nt":
        return pa.Table.from_batches(batches)
    first = next(batches)
    with tempfile.TemporaryFile() as file:
        with _on_disk():
            writer = pa.ipc.new_stream(file, first.schema)
        for batch in chain([first], batches):  # whose own errors are not those of this file
            with _on_disk():
                writer.write_batch(batch)
        with _on_disk():
            writer.close()
            file.flush()
            held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return pa.ipc.open_stream(pa.py_buffer(held)).read_all()


@contextmanager
def _on_disk() -> Iterator[None]:
    """Say what it was that a disk did not take."""
    try:
        yield
    except OSError as error:
        raise TableFileError(
            "the temporary file of a large release",
            rule="written whole",
            got=error.strerror or type(error).__name__,
            hint="Set TMPDIR to a folder with more room. What the ledger has of this release can be withdrawn.",
        ) from None


def _hash_sql(roles: Roles, seed: int) -> str:
    """64 bits of a row's secrets, public values and number, seeded so that nobody can compute them for a guess."""
    names = {name: alias for alias, name in roles.plain("secret", "public").items()}
    return f"hash({', '.join([str(seed), *names.values(), *([] if roles.row_id is None else [NUMBER])])})"


def _folded_sql(hashes: str, roles: Roles) -> str:
    """One number of the hashes of all rows: their sum, or where no two rows are equal what takes half the time."""
    return f"CAST(sum({hashes}) % {2**64} AS UBIGINT)" if roles.row_id is None else f"bit_xor({hashes})"


def _folded(hashes: Any, roles: Roles, before: int = 0) -> int:
    """The same of a column, after what came before."""
    fold = np.add if roles.row_id is None else np.bitwise_xor
    return int(fold.reduce(hashes.to_numpy(), initial=np.uint64(before)))


_HINT = "Write the relation to a table first (relation.to_table)"


def _look(rows: Relation, roles: Roles, schema: Mapping[str, nw.dtypes.DType], *, seed: int) -> dict[str, Any]:
    """What one pass finds: the number of rows, and of each public column what `FoundValues` asks for."""
    asked = {"rows": "count(*)", CHECK: _folded_sql(_hash_sql(roles, seed), roles)}
    for k, name in enumerate(roles.public):
        value, floats = f"public_{k}", schema[name].is_float()
        finite = finite_sql(value, floats=floats)
        asked[f"different_{k}"] = f"approx_count_distinct({value})"
        if name in roles.coded:
            continue
        asked |= {
            f"missing_{k}": f"count(*) FILTER (WHERE {value} IS NULL{f' OR isnan({value})' if floats else ''})",
            f"infinite_{k}": f"count(*) FILTER (WHERE isinf({value}))" if floats else "0",
            f"low_{k}": f"min({value}) FILTER (WHERE {finite})",
            f"high_{k}": f"max({value}) FILTER (WHERE {finite})",
        }
    if roles.row_id is not None:
        asked |= {"given": f"count({GIVEN})", "numbered": f"count({NUMBER})"}
    found = read_one(rows, asked)
    found[CHECK] = found[CHECK] or 0
    if roles.row_id is not None:
        found["numbers"] = _different_numbers(rows, _hash_sql(roles, seed), check=found[CHECK])
    return found


def _different_numbers(rows: Relation, digest: str, *, check: int) -> int:
    """How many numbers of rows differ, in a pass of its own: those of 32 neighbours are the bits of one word.

    Raises CalibrationError where the rows are others than those of the first pass.
    """
    bits = {"word": f"{NUMBER} >> 5", "bit": f"CAST(1 AS BIGINT) << CAST({NUMBER} & 31 AS INTEGER)", CHECK: digest}
    words = selected(rows, bits).aggregate(f"word, bit_or(bit) AS bits, bit_xor({CHECK}) AS {CHECK}", "word")
    found = read_one(words, {"different": "CAST(sum(bit_count(bits)) AS BIGINT)", CHECK: f"bit_xor({CHECK})"})
    if (found[CHECK] or 0) != check:
        raise other_rows("the row numbers", hint=_HINT, named=True)
    return int(found["different"] or 0)
