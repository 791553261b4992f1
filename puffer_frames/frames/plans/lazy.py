"""Polars plans: summaries, units and series by the streaming engine, and a released plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, PufferWarning
from puffer_frames.frames import summary
from puffer_frames.frames.arrow import stored_plan
from puffer_frames.frames.coded import Coded, Numbered, some_entries
from puffer_frames.frames.columns import NativeFrame, check_column_names, check_rows
from puffer_frames.frames.counted_units import (
    ROWS,
    STATE,
    TIME,
    VALUE,
    VALUES,
    PlanTable,
    count_series,
    largest,
    least,
    numbered_entries,
)
from puffer_frames.frames.dates import dates_among, days, no_dates
from puffer_frames.frames.draws import NUMBER, Draws, Released
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.local.kinds import PolarsTable
from puffer_frames.frames.local.looks import order_warnings, warn_of_kept_in_plan
from puffer_frames.frames.local.own import used_dtype, without_enums
from puffer_frames.frames.plans.source import Source, Watch
from puffer_frames.frames.plans.survey import Survey, survey
from puffer_frames.frames.plans.trace import Compared
from puffer_frames.frames.roles import Roles, RowOrder, check_nulls, complete_plan, no_complete_row
from puffer_frames.frames.series import FIRST_STATE, NO_STATE, Layout, SeriesColumns, Timeline, numbers_of_states
from puffer_frames.frames.summary import check_few_levels
from puffer_frames.frames.tally import Cells, CompleteRows, FoundValues, in_cells
from puffer_frames.frames.units import UNIT
from puffer_frames.noise.adding import Draw
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows

_PART = 1 << 25
"""About so many rows are in memory together."""


_LOW, _HIGH, _BEGIN = "low", "high", "begin"
_PLACE, _HELD = "place", "held"
_SAMPLED_UNITS, _SAMPLED_ROWS = 64, 4096
"""The step is guessed from so many rows of so many units."""
_CHUNK = 1 << 18
"""Rows of a batch."""
_ROWS_PER_UNIT = 8
"""Arrays have room for as many units between the smallest and the largest as there would be with so few rows each."""


def lay_out(rows: pl.LazyFrame, asked: SeriesColumns, count: int, /) -> SeriesRows | None:
    """Series of so many rows of integer times; None where the times do not suit, or rows are others in a later pass.

    **Cost**: two passes that find the units and the states, and one that finds the places. Units that are numbers close
    together are places in arrays; of others there is a group-by, and a join. **Memory**: a byte per place, and a row
    per unit and piece.
    """
    between = _between(rows, most=count // _ROWS_PER_UNIT)
    if between is None:
        ends = pl.col(TIME).min().alias(_LOW), pl.col(TIME).max().alias(_HIGH)
        units: pl.DataFrame | None = rows.group_by(UNIT).agg(*ends).collect(engine="streaming")
    else:
        units = _by_place(rows, between)
    if units is None:
        return None
    units = units[np.argsort(numbered_entries(units[UNIT])[0])]
    kinds = rows.group_by(STATE).agg().collect(engine="streaming")
    stated = kinds[STATE].drop_nulls()
    codes, found = numbered_entries(stated)
    number, states = numbers_of_states(found, asked.states)
    layout = Layout.of(units[_LOW].to_numpy(), units[_HIGH].to_numpy(), _since_first(rows, units), rows=count)
    if layout is None:
        return None
    line = layout.empty(len(states))
    named, units = units[UNIT], units.with_columns(pl.Series(_BEGIN, layout.begins[:-1]))
    held = pl.DataFrame({STATE: stated, _HELD: (number[codes] + FIRST_STATE).astype(line.dtype)})
    without = pl.DataFrame({STATE: [None], _HELD: [NO_STATE]}, schema=held.schema)
    known = pl.concat([held, without])
    if between is None:
        placed = _placed(rows, units, step=layout.step)
    else:
        placed = _placed_by_number(rows, units, between, step=layout.step)
    del units  # a row per unit, which the places hold in arrays
    for places, state in placed:
        # batch by batch, since a join in the plan holds several batches more
        own = state.to_frame().join(known, on=STATE, how="left", nulls_equal=True, maintain_order="left")[_HELD]
        if places is None or own.null_count():
            return None
        line[places] = own.to_numpy()
    if np.count_nonzero(line) != count:
        return None
    return Timeline(layout=layout, held=line).series(asked, units=numbered_entries(named)[1], states=states)


def _between(rows: pl.LazyFrame, *, most: int) -> tuple[int, int] | None:
    """The smallest and the largest unit, where they are whole numbers of which there are at most so many between."""
    dtype = rows.collect_schema()[UNIT]
    if not dtype.is_integer() or dtype in (pl.Int128, pl.UInt128, pl.UInt64):
        return None
    ends = rows.select(pl.col(UNIT).min().alias(_LOW), pl.col(UNIT).max().alias(_HIGH)).collect(engine="streaming")
    low, high = ends.row(0)
    return (low, high) if low is not None and high - low < most else None


def _by_place(rows: pl.LazyFrame, between: tuple[int, int]) -> pl.DataFrame | None:
    """The first and the last time of each unit between two numbers; None where one is not."""
    least, ends = between[0], np.iinfo(np.int64)
    low, high = (np.full(between[1] - least + 1, end) for end in (ends.max, ends.min))
    for batch in _batches(rows.select(pl.col(UNIT).cast(pl.Int64), TIME)):
        units, times = (batch[name].to_numpy() for name in (UNIT, TIME))
        if batch[UNIT].null_count() or not between[0] <= int(units.min()) <= int(units.max()) <= between[1]:
            return None
        np.minimum.at(low, units - least, times)
        np.maximum.at(high, units - least, times)
    there = np.flatnonzero(low <= high)
    unit = pl.Series(there + least).cast(rows.collect_schema()[UNIT])
    return pl.DataFrame({UNIT: unit, _LOW: low[there], _HIGH: high[there]})


def _batches(plan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """In order: some 60 MB less are held at the peak."""
    batches = plan.collect_batches(chunk_size=_CHUNK, engine="streaming", maintain_order=True)
    return (batch for batch in batches if len(batch))


def _since_first(rows: pl.LazyFrame, units: pl.DataFrame) -> NDArray[np.int64]:
    """Times since the first of their unit, of some rows."""
    some = units.head(_SAMPLED_UNITS)
    found = rows.filter(pl.col(UNIT).is_in(some[UNIT].implode())).head(_SAMPLED_ROWS).select(UNIT, TIME)
    return found.join(some.lazy(), on=UNIT).select(pl.col(TIME) - pl.col(_LOW)).collect()[TIME].to_numpy()


_Placed: TypeAlias = Iterator[tuple[IndexArray | None, pl.Series]]
"""Places of some rows, None where one has none, and their states."""


def _placed(rows: pl.LazyFrame, units: pl.DataFrame, *, step: int) -> _Placed:
    """Rows placed by a join; units may have any type."""
    since = pl.col(TIME) - pl.col(_LOW)
    fits = (since >= 0) & (pl.col(TIME) <= pl.col(_HIGH)) & (True if step == 1 else since % step == 0)
    place = pl.col(_BEGIN) + (since if step == 1 else since // step)
    joined = rows.join(units.lazy(), on=UNIT, how="left").select(pl.when(fits).then(place).alias(_PLACE), STATE)
    for batch in _batches(joined):
        yield None if batch[_PLACE].null_count() else batch[_PLACE].to_numpy(), batch[STATE]


def _placed_by_number(rows: pl.LazyFrame, units: pl.DataFrame, between: tuple[int, int], *, step: int) -> _Placed:
    """Rows placed by the unit's number, where units are integers between these two."""
    least, size = between[0], between[1] - between[0] + 1
    numbers = units[UNIT].cast(pl.Int64).to_numpy() - least
    low, high, begin = (np.zeros(size, dtype=np.int64) for _ in range(3))
    high[:] = -1  # a unit that is not there has no time from 0 to -1
    for own, name in ((low, _LOW), (high, _HIGH), (begin, _BEGIN)):
        own[numbers] = units[name].to_numpy()
    del units, numbers
    high -= low
    for batch in _batches(rows.select(pl.col(UNIT).cast(pl.Int64), TIME, STATE)):
        places, since = batch[UNIT].to_numpy() - least, batch[TIME].to_numpy()
        if batch[UNIT].null_count() or not 0 <= int(places.min()) <= int(places.max()) < size:
            yield None, batch[STATE]
            return
        since = since - low[places]
        steps = since if step == 1 else since // step
        fits = (since >= 0) & (since <= high[places]) & (True if step == 1 else steps * step == since)
        yield begin[places] + steps if fits.all() else None, batch[STATE]


_UNORDERED = re.compile(
    r"^\s*(UNIQUE\[maintain_order: false|AGGREGATE\[maintain_order: false|UNION\[maintain_order: false|MERGE.SORTED"
    r"|[A-Z ]*JOIN\b|SORT BY (?!\[maintain_order: true))",
    flags=re.MULTILINE,
)
"""Steps of a plan that may give their rows in another order in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyTable(PlanTable):
    """A plan whose columns are named by position: Polars reads names like "^x$" as patterns."""

    native: pl.LazyFrame
    names: tuple[str, ...]
    schema: Mapping[str, nw.dtypes.DType]

    is_plan = True
    wraps = True

    @classmethod
    def of(cls, plan: pl.LazyFrame, /) -> LazyTable:
        check_process()
        plan = stored_plan(plan)
        schema = nw.from_native(plan).collect_schema()
        check_column_names(schema.names())
        return cls(native=plan, names=tuple(schema.names()), schema=dict(schema))

    def in_memory(self) -> PolarsTable:
        return PolarsTable(self.native.collect())

    run = in_memory

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """As `counted_units.count_series`: on a line, or by windows."""
        return count_series(self, asked, lay_out=lay_out)

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        return PolarsTable(self.native.collect_schema().to_frame()).answers(labels=labels, numbers=numbers)

    def plain(self, named: Mapping[str, str], /) -> pl.LazyFrame:
        return self.native.select(pl.nth(self.names.index(name)).alias(alias) for alias, name in named.items())

    def lists(self, rows: pl.LazyFrame, groups: Sequence[str], /) -> pl.LazyFrame:
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
        dtype = rows.collect_schema()[name]
        exact = isinstance(dtype, pl.Datetime) and dtype.time_unit == "ns"
        return rows.with_columns(pl.col(name).dt.timestamp("ns" if exact else "us"))

    def read(self, counts: pl.LazyFrame, /) -> pl.DataFrame:
        return counts.collect(engine="streaming")

    @staticmethod
    def _check(layout: RowOrder) -> None:
        """The rows of a plan come in their order."""
        if layout.shuffle:
            raise ArgumentError(
                "shuffle",
                rule="False for a lazy frame, whose rows are never in memory together",
                got="True",
                hint="Collect the frame first.",
            )

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> LazyRows:
        """Numbered by `row_id`, or else by position, for which the plan must give its rows in one order."""
        named = roles.row_id is not None
        if layout is not None:
            self._check(layout)
        check_nulls(nulls, roles)
        roles.check_names(self.names)
        dates = self._dates(roles)
        roles.check_dtypes({**self.schema, **dict.fromkeys(dates, nw.Int64())})
        if layout is not None and not named and _UNORDERED.search(self.native.explain(optimized=False)):
            raise ArgumentError(
                "the plan",
                rule="one whose rows come in the same order in every run, or given a row_id",
                got="one with a group_by, unique, join or sort",
                hint='Name a column that numbers the rows (Layout(row_id="id")), or collect the frame first.',
            )
        secrets, values = roles.plain("secret"), roles.plain("public")
        columns = [*(secrets | values).items(), *([(NUMBER, roles.row_id)] if roles.row_id is not None else [])]
        columns += roles.plain("keep").items()
        rows = self.native.select(self._named(name, alias, dates) for alias, name in columns)
        if nulls == "drop":
            rows = nw.to_native(complete_plan(nw.from_native(rows), (*secrets, *values)))
        given = rows
        if named:
            rows = rows.with_columns(pl.col(NUMBER).cast(pl.Int64, strict=False))
        found = survey(
            rows.select(*secrets, *values, *([NUMBER] * named)),
            secrets=len(secrets),
            own=roles.own,
            public=len(values),
            few=summary.EXACT_ROWS // 2,
            ordered=not named,
            coded=[roles.public.index(name) for name in roles.coded],
        )
        if found is None:
            check_rows(int(self.native.select(pl.len()).collect().item()) if nulls == "drop" else 0)
            raise no_complete_row()
        if named and (found.unnumbered or found.repeated):
            missing = int(given.select(pl.col(NUMBER).null_count()).collect(engine="streaming").item())
            roles.check_numbers(missing=missing, repeated=found.repeated, outside=missing < found.unnumbered)
        return LazyRows(rows=rows, names=self.names, roles=roles, survey=found, nulls=nulls, dates=dates)

    def _dates(self, roles: Roles) -> dict[str, pl.DataType]:
        """The public columns of dates, and their dtypes; raises ColumnTypeError for times of the day."""
        given = self.native.collect_schema()
        found = {name: given[name] for name in dates_among(self.schema, roles.numbers)}
        for name in (name for name, dtype in found.items() if dtype != pl.Date):
            moments = pl.nth(self.names.index(name))
            other = self.native.select((moments.cast(pl.Date).cast(found[name]) != moments).any())
            if other.collect(engine="streaming").item():
                raise no_dates(name, "times of the day")
        return found

    def _named(self, name: str, alias: str, dates: Collection[str]) -> pl.Expr:
        entries = pl.nth(self.names.index(name))
        if name in dates and alias.startswith("public_"):
            entries = days(entries)
        if self.schema[name].is_float() and alias.startswith("public_"):
            entries = entries.cast(pl.Float64)
        if self.schema[name].is_float() and alias.startswith("secret_"):
            entries = pl.when(entries == 0.0).then(0.0).otherwise(entries)  # of zeros there are two
        return entries.alias(alias)


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyRows(CompleteRows):
    """Complete rows of a plan: columns `secret_0`, ..., `public_0`, ..., perhaps `NUMBER`, and `keep_0`, ..."""

    rows: pl.LazyFrame
    survey: Survey
    """What one run found, and every other must repeat."""

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """By one run, which is compared with the survey."""
        watch, named = Watch(), self.roles.read_as(names)
        plan = self._compared().plan(list(named.values()), over=watch.over)
        rows = watch.result(lambda: plan.collect(engine="streaming"))
        return some_entries({name: rows[alias] for name, alias in named.items()}, most, coded=self.roles.labels)

    def _grouped(self, values: Mapping[str, str], watch: Watch) -> pl.LazyFrame:
        """Secrets and some public columns under other names, in a run that is compared with the survey."""
        named = {f"public_{self.roles.public.index(name)}": alias for name, alias in values.items()}
        return self._compared().plan([*self.roles.plain("secret"), *named], over=watch.over).rename(named)

    def check_levels(self, name: str, /) -> None:
        different = self.survey.different[self.roles.coded.index(name)]
        check_few_levels(different, name=name, most=self.roles.most_levels)

    def counted(self, names: Mapping[str, str], cells: Mapping[str, Cells], /) -> nw.DataFrame[Any]:
        watch = Watch()
        return _counted(in_cells(self._grouped(names, watch), cells), None, watch=watch)

    def values_of(self, name: str, /) -> FoundValues:
        k, watch = self.roles.numbers.index(name), Watch()
        column = pl.col(f"public_{self.roles.public.index(name)}")
        different = self.rows.select(column.approx_n_unique())  # decides on no count, but how to count
        table = self._grouped({name: "value"}, watch)
        return FoundValues(
            dtype=nw.from_native(table).collect_schema()["value"],
            extent=self.survey.extents[k],
            rows=self.survey.trace.rows,
            different=lambda: different.collect(engine="streaming").item(),
            count=lambda cells, most: _counted(in_cells(table, {"value": cells} if cells else {}), most, watch=watch),
            before=self.survey.counted[k],
        )

    def _compared(self) -> Compared:
        """The rows, with the trace of the secret and public columns and the numbers of the rows."""
        checked = len(self.roles.secret) + len(self.roles.public) + (self.roles.row_id is not None)
        return Compared(rows=self.rows, checked=checked, trace=self.survey.trace)

    def warnings(self, counts: Sequence[int], draws: Callable[[], Sequence[Draw]], /) -> list[PufferWarning]:
        """Warnings from the survey's windows and first rows of kept columns; from all rows if these raise suspicion."""
        runs, public = self.survey.trace.runs, self.roles.public
        found: list[PufferWarning] = [*order_warnings(self.survey.sample, runs=runs, counts=counts, public=public)]
        if self.roles.keep:
            found += warn_of_kept_in_plan(self.rows, self.roles, rows=self.survey.trace.rows, draws=draws)
        return found

    def release(self, draws: Sequence[Draw], /) -> Released:
        """A plan whose noise is drawn in every run, the same in each."""
        found = Draws.of(draws, public=self.roles.public)
        plain = {name: alias for alias, name in self.roles.plain("public", "keep").items()}
        source = Source(
            columns={plain[name]: name for name in self.names if name in plain},
            draws=found,
            read=self.roles.read_as(name for name, _ in found.reads),
            used=self._used(),
            compared=self._compared(),
            named=self.roles.row_id is not None,
            dates=self.dates,
        )
        return Released(frame=source.plan(), rows=self.survey.trace.rows, sample={}, fingerprint="")

    def _used(self) -> dict[str, pl.DataType]:
        """Dtypes of kept columns of Enums: with the categories that the rows have."""
        schema = self.rows.collect_schema()
        names = [name for name in self.roles.plain("keep") if without_enums(schema[name]) != schema[name]]
        plans = [
            self.rows.select(pl.col(name) if schema[name].is_nested() else pl.col(name).unique()) for name in names
        ]
        found = pl.collect_all(plans, engine="streaming")
        return {name: used_dtype(table[name]) for name, table in zip(names, found, strict=True)}


def _counted(table: pl.LazyFrame, most: int | None, *, watch: Watch) -> nw.DataFrame[Any]:
    """As `FoundValues.count`, of compared rows."""
    names = table.collect_schema().names()
    sums = [pl.col(name).sum() for name in names if name.startswith("place")]
    counts = table.group_by([name for name in names if not name.startswith("place")]).agg(
        pl.len().alias("count"), *sums
    )
    some = counts if most is None else counts.head(most + 1)
    found = watch.result(lambda: some.collect(engine="streaming"))
    if not watch.ended:
        raise AssertionError("rows must be counted to their end")
    return nw.from_native(found, eager_only=True)
