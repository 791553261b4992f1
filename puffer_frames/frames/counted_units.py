"""The units and series of a plan: what units add, and transitions of states, by group-bys where the rows lie."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.coded import numbered
from puffer_frames.frames.columns import Name, NativeFrame, check_labelled, check_rows, to_floats
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.roles import Roles, RowOrder, check_numbers, complete_plan, kind_of, no_complete_row
from puffer_frames.frames.series import (
    SeriesColumns,
    Step,
    check_integer_times,
    check_placed,
    check_times,
    numbers_of_states,
)
from puffer_frames.frames.stamps.parquet import attribute_of, put_attribute
from puffer_frames.frames.tally import CompleteRows, other_rows
from puffer_frames.frames.units import (
    UNIT,
    UnitColumns,
    UnitSizes,
    check_one_group,
    check_unit,
    group_units,
    unit_sizes,
)
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.series_rows import SeriesRows, UnitRows
from puffer_frames.priors.unit_laws import rows_of

VALUE = "value"
VALUES, ROWS, UNITS, LAST = "values", "rows", "units", "last"
"""What a unit adds, how many rows it has, how many units add the same, and the last of these."""


_LOOK, _FEW = 1 << 16, 16
"""Rows that are looked at for their values, and how many of these are few: each is counted by itself."""
_IN_WORD = 6
"""How many counts share a word: each has at least ten bits."""


class PlanTable(Protocol):
    """What the tables share whose rows are counted where they lie. The names are those of `local.table.LocalTable`."""

    __slots__ = ()

    is_plan: ClassVar[bool] = False
    wraps: ClassVar[bool] = False
    """Whether sums of 64-bit integers that are too large go on at the other end, rather than fail."""

    native: Any
    """As it was given."""
    names: tuple[str, ...]
    """The table's own."""
    schema: Mapping[str, nw.dtypes.DType]
    """Dtype per column, by the table's own name, where it is known at once."""

    def plain(self, named: Mapping[str, str], /) -> Any:
        """A native lazy frame of some columns, from plain name to name. Text is compared letter by letter."""

    def dtypes(self, names: Sequence[str], /) -> Mapping[str, nw.dtypes.DType]:
        """Dtypes of columns as they are read."""
        return {name: self.schema[name] for name in names}

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        """A row per `UNIT`: its `VALUES`, a list in ascending order without missing ones; its number of `ROWS`; and the
        least and the largest entry of each column of groups, as `least` and `largest` say.
        """

    def parts(self, rows: Any, _count: int, /) -> Sequence[Any]:
        """The rows, so many, in parts that fit into memory: all rows of a `UNIT`, or of a `VALUE`, are in one. Most
        engines do that themselves.
        """
        return [rows]

    def moments(self, rows: Any, name: str, /) -> Any:
        """The rows with a column of dates or datetimes as integers: microseconds, or nanoseconds where it has these."""

    def read(self, counts: Any, /) -> pl.DataFrame:
        """The rows of a plan."""

    def in_memory(self) -> Any:
        """The same rows as a table in memory; ArgumentTypeError where that is not done."""

    def run(self) -> Any: ...

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> CompleteRows: ...

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame: ...

    def metadata(self) -> dict[str, Any] | None:
        return attribute_of(self.native)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        return put_attribute(self.native, metadata)

    @property
    def labels(self) -> Sequence[Name]:
        return self.names

    def fingerprint(self, *, like: str = "") -> str:
        return self.in_memory().fingerprint(like=like)

    def is_in_place(self, *, known: Collection[str]) -> bool:
        return self.in_memory().is_in_place(known=known)

    def kind_of(self, name: str, /) -> str:
        return kind_of(self.dtypes([name])[name])

    def has_lists(self, name: str, /) -> bool:
        """None that is released."""
        del name
        return False

    def has_dates(self, name: str, /) -> bool:
        return isinstance(self.dtypes([name])[name], (nw.Date, nw.Datetime))

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        of_groups = {f"group_{k}": name for k, name in enumerate(groups)}
        of_values = {f"value_{k}": name for k, name in enumerate(values)}
        rows = self.plain({UNIT: unit, **of_groups, **of_values})
        return unit_sizes(rows, unit=unit, groups=of_groups, values=of_values, nulls=nulls)

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        check_process()
        return count_units(self, asked)

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        check_process()
        return count_series(self, asked)

    def with_levels(self, *, known: Collection[str], rows: int) -> Self:
        del known, rows
        return self


def least(group: str, /) -> str:
    """Name of a column with the least entry of a group among the rows of a unit."""
    return f"least_{group}"


def largest(group: str, /) -> str:
    """Name of a column with the largest one."""
    return f"largest_{group}"


def count_units(engine: PlanTable, asked: UnitColumns, /) -> UnitRows:
    """Units by what they add.

    **Cost**: a pass that counts rows and missing labels, and one that puts the values of each unit together, in parts
    where the engine asks for that. **Memory**: that of a part, and of the different contributions.
    """
    groups = {f"group_{k}": name for k, name in enumerate(asked.by)}
    labels = ({} if asked.unit is None else {UNIT: asked.unit}) | groups
    values = {} if asked.value is None else {VALUE: asked.value}
    check_rows(len(engine.names))  # a table without a column has no rows
    named = labels | values or {VALUE: engine.names[0]}  # rows can be counted where there is a column
    if asked.unit is None and asked.named:
        raise ArgumentTypeError(
            "the frame",
            rule="in memory where rows are units that have laws or pairs of their own",
            got="a plan",
            hint="Name a column of units, or collect the frame first.",
        )
    _check_dtypes(engine, labels, asked)
    frame = whole = as_text(nw.from_native(engine.plain(named)), labels)
    if asked.nulls == "drop":
        frame = complete_plan(frame, (*labels, *values))
    count = _complete(frame, labels, engine)
    if not count:
        check_rows(_complete(whole, {}, engine))
        raise no_complete_row("an entry")
    frame = complete_plan(frame, labels)  # a label that is missing now was there before: the number of rows shows it
    fewer = engine.parts(nw.to_native(frame), count * 2 // 3)  # packed counts take less memory than lists
    found = _with_few_values(frame, fewer, count, asked, list(groups), engine)
    if found is None:
        parts = engine.parts(nw.to_native(frame), count)
        plans = [_counts(part, asked, list(groups), engine) for part in parts]
        found = _Found.together([_Found.of(engine.read(plan), asked) for plan in plans])
    if found.count != count:
        raise other_rows("the units", hint="Write the frame to a table first")
    return found.as_two().rows(asked, list(groups))


def as_text(frame: Any, labels: Mapping[str, str], /) -> Any:
    """Categories of columns of labels as text."""
    schema = frame.collect_schema()
    categories = [name for name in labels if isinstance(schema[name], (nw.Categorical, nw.Enum))]
    return frame.with_columns(nw.col(*categories).cast(nw.String)) if categories else frame


def _check_dtypes(table: PlanTable, labels: Mapping[str, str], asked: UnitColumns) -> None:
    dtypes = table.dtypes(asked.all)
    for alias, name in labels.items():
        check_unit(dtypes[name], f"the unit column {name!r}" if alias == UNIT else f"the column {name!r}")
    if asked.value is not None:
        check_numbers(dtypes[asked.value], asked.value, role="value")


def _complete(frame: Any, labels: dict[str, str], engine: PlanTable) -> int:
    """The number of rows; raises PriorError for missing labels."""
    asked = [nw.len().alias(ROWS), *(nw.col(name).count().alias(name) for name in labels)]
    found = engine.read(nw.to_native(frame.select(*asked))).row(0, named=True)
    count = int(found[ROWS])
    for alias, name in labels.items():
        check_labelled(name, count - int(found[alias]))
    return count


def _with_few_values(
    frame: Any, parts: Sequence[Any], count: int, asked: UnitColumns, groups: list[str], engine: PlanTable
) -> _Found | None:
    """How often each unit has each value; None where a look at some rows finds many different values."""
    if asked.unit is None or asked.value is None:
        return None
    seen = engine.read(nw.to_native(frame.select(UNIT, VALUE).head(_LOOK)))
    levels = seen[VALUE].drop_nulls().unique().sort()
    if not 0 < len(levels) <= _FEW:
        return None
    widest, units = count.bit_length(), seen[UNIT].n_unique()
    bits = min(62 // min(len(levels), _IN_WORD), widest) if engine.wraps else widest
    long = 2 * units < len(seen) and count // units >> bits > 0  # most units have more rows than such a count holds
    tallies, found = Tallies(levels=levels, bits=widest if long else bits), []
    for part in parts:
        sums = _sums(part, tallies, asked, groups, engine)
        one = _Found.of_tallies(sums, tallies)
        if one is None and int(sums[ROWS].to_numpy().max()) >> tallies.bits:  # a count may not have held its rows
            tallies = replace(tallies, bits=widest)
            one = _Found.of_tallies(_sums(part, tallies, asked, groups, engine), tallies)
        if one is None:
            return None
        found.append(one)
    return _Found.together(found)


def _sums(rows: Any, tallies: Tallies, asked: UnitColumns, groups: list[str], engine: PlanTable) -> pl.DataFrame:
    """The sums of the words by unit, and which units have the same."""
    words = tallies.words()
    each = nw.from_native(rows).with_columns(**words)
    each = each.group_by(UNIT).agg(nw.len().alias(ROWS), *map(nw.sum, words), *_ends(groups))
    each = each.with_columns(nw.col(ROWS, *words).cast(nw.Int64))
    return engine.read(_alike(each, [*words, ROWS], asked, groups))


def _ends(groups: list[str]) -> list[nw.Expr]:
    ends = [nw.col(name).min().alias(least(name)) for name in groups]
    return [*ends, *(nw.col(name).max().alias(largest(name)) for name in groups)]


def _alike(each: Any, keys: list[str], asked: UnitColumns, groups: list[str]) -> Any:
    """The number of units with the same entries, the first and the last; each unit where they are asked for by name."""
    if asked.named:
        return nw.to_native(each.with_columns(nw.lit(1).alias(UNITS)))
    names = nw.col(UNIT).min(), nw.col(UNIT).max().alias(LAST)
    counted = each.group_by(*keys, *map(least, groups), *map(largest, groups)).agg(nw.len().alias(UNITS), *names)
    return nw.to_native(counted)


def _counts(rows: Any, asked: UnitColumns, groups: list[str], engine: PlanTable) -> Any:
    """A plan of the number of units by what they add and by group; of each unit, where they are asked for by name."""
    if asked.unit is None:
        keys, frame = [*([] if asked.value is None else [VALUE]), *groups], nw.from_native(rows)
        counted = frame.group_by(*keys).agg(nw.len().alias(UNITS)) if keys else frame.select(nw.len().alias(UNITS))
        return nw.to_native(counted)
    if asked.value is None:
        each = nw.from_native(rows).group_by(UNIT).agg(nw.len().cast(nw.Int64).alias(ROWS), *_ends(groups))
        return _alike(each, [ROWS], asked, groups)
    return _alike(nw.from_native(engine.lists(rows, groups)), [VALUES, ROWS], asked, groups)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tallies:
    """How often each of a few values is, several counts in a word of 62 bits: one sum adds them all.

    A count of 2**bits or more is carried into the next one, or lost at the end of its word. Either way the sum of the
    counts falls: it is the number of rows only where no count was too large and no row has another value.
    """

    levels: pl.Series
    """The values."""
    bits: int
    """Bits of a count."""

    def words(self) -> dict[str, nw.Expr]:
        """What a row adds to each word, by its name: a power of two for a value in the word."""
        held, levels = 62 // self.bits, self.levels.to_list()
        found = {}
        for word in range(-(-len(levels) // held)):
            adds: Any = nw.lit(0, dtype=nw.Int64)
            for place, level in enumerate(levels[word * held : (word + 1) * held]):
                power = nw.lit(1 << place * self.bits, dtype=nw.Int64)
                adds = nw.when(nw.col(VALUE) == level).then(power).otherwise(adds)
            found[f"word_{word}"] = adds
        return found

    def read(self, sums: pl.DataFrame, /) -> IndexArray:
        """The counts, shape (entries, levels)."""
        held = 62 // self.bits
        counts = np.zeros((len(sums), len(self.levels)), dtype=np.int64)
        for level in range(len(self.levels)):
            word = sums[f"word_{level // held}"].to_numpy()
            counts[:, level] = word >> level % held * self.bits & (1 << self.bits) - 1
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What was found in a part: an entry for each different contribution, or for each unit."""

    entries: pl.DataFrame
    """Without the lists of values."""
    values: pl.Series
    """The different values of each entry, ascending, entry after entry."""
    times: IndexArray
    """In how many rows each is."""
    sizes: IndexArray
    """How many values each entry has."""

    @classmethod
    def of(cls, found: pl.DataFrame, asked: UnitColumns, /) -> _Found:
        """Equal values of a list are counted, so that a part is as small as it can be."""
        ones = np.ones(len(found), dtype=np.int64)
        if asked.value is None:
            times = ones if asked.unit is None else found[ROWS].to_numpy()
            return cls(entries=found, values=pl.Series(np.zeros(len(found))), times=times, sizes=ones)
        if asked.unit is None:
            return cls(entries=found.drop(VALUE), values=found[VALUE], times=ones, sizes=ones)
        sizes = found[VALUES].list.len().fill_null(0).cast(pl.Int64).to_numpy()
        values = found[VALUES].filter(pl.Series(sizes > 0)).explode()
        fresh = (values != values.shift()).fill_null(True).to_numpy().copy()
        starts = np.append(0, np.cumsum(sizes))
        fresh[starts[:-1][sizes > 0]] = True
        places = np.flatnonzero(fresh)
        return cls(
            entries=found.drop(VALUES),
            values=values.gather(places),
            times=np.diff(places, append=fresh.size),
            sizes=np.diff(np.searchsorted(places, starts)),
        )

    @classmethod
    def of_tallies(cls, found: pl.DataFrame, tallies: Tallies, /) -> _Found | None:
        """From how often each of some values is; None where some rows have other values, or are too many."""
        times = tallies.read(found)
        if (times.sum(axis=1) != found[ROWS].to_numpy()).any():
            return None
        entry, level = np.nonzero(times)
        return cls(
            entries=found.drop(list(tallies.words())),
            values=tallies.levels.gather(level),
            times=times[entry, level],
            sizes=np.bincount(entry, minlength=len(found)),
        )

    @classmethod
    def together(cls, parts: Sequence[_Found], /) -> _Found:
        """Several parts as one."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            entries=pl.concat([part.entries for part in parts]),
            values=pl.concat([part.values for part in parts]),
            times=np.concatenate([part.times for part in parts]),
            sizes=np.concatenate([part.sizes for part in parts]),
        )

    def as_two(self) -> _Found:
        """The first of units that all add the same, and the others: that there are two is not lost."""
        if len(self.entries) > 1 or self.entries[UNITS].item() == 1:
            return self
        others = replace(self, entries=self.entries.with_columns(pl.col(UNITS) - 1))
        if LAST in self.entries.columns:
            others = replace(others, entries=others.entries.with_columns(pl.col(LAST).alias(UNIT)))
        dtype = self.entries.schema[UNITS]
        first = replace(self, entries=self.entries.with_columns(pl.lit(1, dtype=dtype).alias(UNITS)))
        return _Found.together([first, others])

    @property
    def often(self) -> IndexArray:
        """How many units each entry stands for."""
        return self.entries[UNITS].cast(pl.Int64).to_numpy()

    @property
    def count(self) -> int:
        """The number of rows."""
        return (
            int(self.often @ self.entries[ROWS].to_numpy()) if ROWS in self.entries.columns else int(self.often.sum())
        )

    def rows(self, asked: UnitColumns, groups: list[str], /) -> UnitRows:
        """In the order of the names of the units, or of the first of some that add the same."""
        values, moved = self._floats(asked)
        names, order = self._in_order(asked, groups, values)
        held, starts = rows_of(order, np.append(0, np.cumsum(self.sizes)))
        group_names, group_of = self._groups(asked, groups)
        return UnitRows(
            units=names,
            values=values[held],
            times=self.times[held],
            starts=starts,
            groups=group_names,
            group_of=group_of[order],
            often=self.often[order],
            moved=moved,
        ).with_different_values()

    def _floats(self, asked: UnitColumns) -> tuple[FloatArray, float]:
        if asked.value is None:
            return np.zeros(self.times.size), 0.0
        values, counts = self.values, self.times * np.repeat(self.often, self.sizes)
        missing = self.count - int(counts.sum())
        if missing:
            values, counts = values.extend_constant(None, 1), np.append(counts, missing)
        floats = to_floats(nw.from_native(values, series_only=True), counts, name=asked.value, role="value")
        return asked.clipped(floats, counts)

    def _in_order(self, asked: UnitColumns, groups: list[str], values: FloatArray) -> tuple[list[Secret], IndexArray]:
        if asked.unit is not None:
            codes, names = numbered_entries(self.entries[UNIT])
            return names, np.argsort(codes)
        keys = [values, *(numbered_entries(self.entries[name])[0] for name in reversed(groups))]
        return list(range(len(values))), np.lexsort(keys)

    def _groups(self, asked: UnitColumns, groups: list[str]) -> tuple[list[tuple[Secret, ...]], IndexArray]:
        parts = []
        for name in groups:
            own = name if asked.unit is None else least(name)
            if asked.unit is not None:
                check_one_group(differ=bool((self.entries[own] != self.entries[largest(name)]).any()))
            parts.append(numbered_entries(self.entries[own]))
        return group_units(parts, units=len(self.entries))


TIME, STATE = "time", "state"
_STEP, _PLACE, _BEFORE, _NEXT = "step", "place", "before", "next"
_FRESH, _SKIPPED = "fresh", "skipped"


LayOut: TypeAlias = Callable[[Any, SeriesColumns, int], SeriesRows | None]
"""Another way to count series of integer times, without windows; None where they do not suit it."""


def count_series(engine: PlanTable, asked: SeriesColumns, /, *, lay_out: LayOut | None = None) -> SeriesRows:
    """Series of all units, as `LocalTable.read_series`.

    **Cost**: a pass that counts missing entries; then, unless `lay_out` finds them, one window over the rows of each
    unit for the steps of its times, and three more for the pieces and transitions. **Memory**: a row per piece, and per
    state and the one before it.
    """
    frame, floats, count, stated = _checked(engine, asked)
    laid_out = None if lay_out is None or floats else lay_out(nw.to_native(frame), asked, count)
    if laid_out is not None:
        if laid_out.rows != stated:
            raise other_rows("the pass over the times", hint="Write the frame to a table first")
        return laid_out
    parts = engine.parts(nw.to_native(frame), count)
    step = _usual_step(parts, asked, engine)
    found = pl.concat([engine.read(_pieces(part, step, floats=floats)) for part in parts])
    each = pl.concat([engine.read(_by_unit(part)) for part in parts]) if asked.each else None
    if any(int(table[ROWS].sum()) != stated for table in (found, each) if table is not None):
        raise other_rows("the windows", hint="Write the frame to a table first")
    return _series_rows(found, each, asked)


def _checked(engine: PlanTable, asked: SeriesColumns) -> tuple[Any, bool, int, int]:
    """The rows, with times as numbers; whether these are floats; and how many rows there are, and with a state."""
    labels = {STATE: asked.state} | ({} if asked.unit is None else {UNIT: asked.unit})
    check_rows(len(engine.names))  # a table without a column has no rows
    dtypes = engine.dtypes([asked.time, *labels.values()])
    dtype, floats = dtypes[asked.time], dtypes[asked.time].is_float()
    check_times(asked.time, dtype)
    for name in labels.values():
        check_unit(dtypes[name], f"the column {name!r}")
    frame = as_text(nw.from_native(engine.plain({TIME: asked.time, **labels})), labels)
    if floats:
        frame = frame.with_columns(nw.col(TIME).cast(nw.Float64))
    found = _look(frame, engine, dtype)
    check_rows(found[ROWS])
    if asked.nulls == "raise":
        check_labelled(asked.state, found[ROWS] - found[STATE])
    elif not found[STATE]:
        raise no_complete_row("an entry")
    check_placed(asked.time, found[ROWS] - found[TIME] + found.get("nan", 0), role="time")
    if asked.unit is None:
        frame = frame.with_columns(nw.lit(0).alias(UNIT))
    else:
        check_placed(asked.unit, found[ROWS] - found[UNIT], role="unit")
    check_times(asked.time, dtype, finite=not found.get("infinite", 0))
    if dtype.is_integer():
        check_integer_times(asked.time, int(found["low"]), int(found["high"]))
        frame = frame.with_columns(nw.col(TIME).cast(nw.Int64))
    elif not floats:
        frame = nw.from_native(engine.moments(nw.to_native(frame), TIME))
    return frame, floats, found[ROWS], found[STATE]


def _look(frame: Any, engine: PlanTable, dtype: nw.dtypes.DType) -> dict[str, Any]:
    """The number of rows, and of the entries that are there; of times that are no numbers, or the ends of integers."""
    time = nw.col(TIME)
    asked = [nw.len().alias(ROWS), *(nw.col(name).count().alias(name) for name in frame.collect_schema().names())]
    if dtype.is_float():
        odd = {"nan": time.is_nan(), "infinite": time.abs() == np.inf}
        asked += [which.cast(nw.Int64).sum().alias(name) for name, which in odd.items()]
    if dtype.is_integer():
        asked += [time.min().alias("low"), time.max().alias("high")]
    found = engine.read(nw.to_native(frame.select(*asked))).row(0, named=True)
    return {name: int(entry or 0) for name, entry in found.items()}


def _stepped(rows: Any) -> Any:
    """The rows with the step from the time before, which is missing in the first row of a unit."""
    time = nw.col(TIME)
    return nw.from_native(rows).with_columns((time - time.shift(1).over(UNIT, order_by=TIME)).alias(_STEP))


def _usual_step(parts: Any, asked: SeriesColumns, engine: PlanTable) -> Step:
    counted = []
    for part in parts:
        steps = _stepped(part).filter(~nw.col(_STEP).is_null())
        counted.append(engine.read(nw.to_native(steps.group_by(_STEP).agg(nw.len().cast(nw.Int64).alias(ROWS)))))
    found = pl.concat(counted).group_by(_STEP).agg(pl.col(ROWS).sum()).sort(_STEP)
    return Step.of(
        found[_STEP].to_numpy(),
        found[ROWS].to_numpy(),
        time=asked.time,
        units=asked.unit is not None,
        bridged=asked.bridged,
    )


def _pieces(rows: Any, step: Step, *, floats: bool) -> Any:
    """A row for the first row of each piece and the last one of each unit; of the others, one per state and the one
    before it.
    """
    apart = step.apart_by(nw.col(_STEP), floats=floats)
    frame = _stepped(rows).with_columns(nw.when(nw.col(_STEP).is_null()).then(0).otherwise(apart).alias(_STEP))
    frame = frame.with_columns(nw.col(_STEP).cum_sum().over(UNIT, order_by=TIME).cast(nw.Int64).alias(_PLACE))
    frame = frame.filter(~nw.col(STATE).is_null())
    place, before = nw.col(_PLACE), nw.col(_SKIPPED)
    frame = frame.with_columns(
        nw.col(STATE).shift(1).over(UNIT, order_by=TIME).alias(_BEFORE),
        place.shift(1).over(UNIT, order_by=TIME).alias(_SKIPPED),
        place.shift(-1).over(UNIT, order_by=TIME).alias(_NEXT),
    )
    skipped = nw.when(before.is_null()).then(place).otherwise(place - before - 1)
    frame = frame.with_columns((before.is_null() | (place - before > 1)).alias(_FRESH), skipped.alias(_SKIPPED))
    fresh, last = nw.col(_FRESH), nw.col(_NEXT).is_null()
    frame = frame.select(
        STATE,
        _FRESH,
        last.alias(LAST),
        nw.when(~fresh).then(nw.col(_BEFORE)).alias(_BEFORE),
        *(nw.when(fresh | last).then(nw.col(name)).alias(name) for name in (UNIT, _PLACE, _SKIPPED)),
    )
    keys = frame.collect_schema().names()
    return nw.to_native(frame.group_by(*keys).agg(nw.len().cast(nw.Int64).alias(ROWS)))


def _by_unit(rows: Any) -> Any:
    """How often each state occurs in each unit."""
    stated = nw.from_native(rows).filter(~nw.col(STATE).is_null())
    return nw.to_native(stated.group_by(UNIT, STATE).agg(nw.len().cast(nw.Int64).alias(ROWS)))


def _series_rows(found: pl.DataFrame, each: pl.DataFrame | None, asked: SeriesColumns) -> SeriesRows:
    codes, labels = numbered_entries(found[STATE])
    number, states = numbers_of_states(labels, asked.states)
    codes, size, often = number[codes], len(states), found[ROWS].to_numpy()
    found = found.with_columns(pl.Series("code", codes))
    fresh = found.filter(_FRESH)
    owner, units = numbered_entries(fresh[UNIT])
    order = np.lexsort((fresh[_PLACE].to_numpy(), owner))
    fresh, owner = fresh[order], owner[order]
    begins, skipped = fresh[_PLACE].to_numpy(), fresh[_SKIPPED].to_numpy()
    last = found.filter(LAST)
    ends = np.append(begins[1:] - skipped[1:], 0)
    ends[np.append(owner[1:] != owner[:-1], True)] = (
        last[_PLACE].to_numpy()[np.argsort(numbered_entries(last[UNIT])[0])] + 1
    )
    inside = found[_BEFORE].is_not_null().to_numpy()
    before = _numbers(found[_BEFORE].filter(inside), labels, number)
    transitions = np.bincount(before * size + codes[inside], often[inside], minlength=size**2)
    if each is None:
        counts = np.bincount(codes, often, minlength=size)
    else:
        key = numbered_entries(each[UNIT])[0] * size + _numbers(each[STATE], labels, number)
        counts = np.bincount(key, each[ROWS].to_numpy(), minlength=len(units) * size)
    return SeriesRows(
        states=states,
        units=[None] if asked.unit is None else units,
        lengths=ends - begins,
        unit_of=owner,
        first=fresh["code"].to_numpy(),
        skipped=skipped,
        bridged=asked.bridged,
        counts=counts.reshape(-1, size).astype(np.int64),
        transitions=transitions.reshape(size, size).astype(np.int64),
    )


def numbered_entries(entries: pl.Series, /) -> tuple[IndexArray, list[Secret]]:
    """As `numbered`."""
    return numbered(nw.from_native(entries, series_only=True))


def _numbers(entries: pl.Series, labels: list[Secret], number: IndexArray) -> IndexArray:
    """Numbers of states that are among these labels, each with its number."""
    if not len(entries):
        return np.zeros(0, dtype=np.intp)
    codes, own = numbered_entries(entries)
    known = dict(zip(labels, number.tolist(), strict=True))
    return np.array([known[label] for label in own], dtype=np.intp)[codes]
