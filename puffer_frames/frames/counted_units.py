"""The rows of units of a plan: what units add, each different contribution once, by group-bys where the rows lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from puffer_frames.frames.columns import check_labelled, check_rows, to_floats
from puffer_frames.frames.local.numbered import numbered
from puffer_frames.frames.local.prepare import no_complete_row
from puffer_frames.frames.roles import check_numbers
from puffer_frames.frames.units.asked import UnitColumns, check_one_group, check_unit, group_units
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.unit_rows import UnitRows

UNIT, VALUE = "unit", "value"
VALUES, ROWS, UNITS, LAST = "values", "rows", "units", "last"
"""What a unit adds, how many rows it has, how many units add the same, and the last of these."""


class PlainColumns(Protocol):
    """A table whose columns can have plain names, in which no engine finds a pattern."""

    @property
    def names(self) -> tuple[str, ...]:
        """The table's own."""

    def plain(self, named: Mapping[str, str], /) -> Any:
        """A native lazy frame of some columns, from plain name to name."""


class UnitEngine(Protocol):
    """What an engine does by itself."""

    def lists(self, rows: Any, groups: Sequence[str], /) -> Any:
        """A row per `UNIT`: its `VALUES`, a list in ascending order without missing ones; its number of `ROWS`; and the
        least and the largest entry of each column of groups, as `least` and `largest` say.
        """

    def parts(self, rows: Any, count: int, /) -> Sequence[Any]:
        """The rows, so many, in parts that fit into memory: all rows of a `UNIT`, or of a `VALUE`, are in one."""

    def moments(self, rows: Any, name: str, /) -> Any:
        """The rows with a column of dates or datetimes as integers: microseconds, or nanoseconds where it has these."""

    def read(self, counts: Any, /) -> pl.DataFrame:
        """The rows of a plan."""


def least(group: str, /) -> str:
    """Name of a column with the least entry of a group among the rows of a unit."""
    return f"least_{group}"


def largest(group: str, /) -> str:
    """Name of a column with the largest one."""
    return f"largest_{group}"


def count_units(table: PlainColumns, asked: UnitColumns, engine: UnitEngine, /) -> UnitRows:
    """Units by what they add.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For dtypes, missing values, an empty frame, and a unit in two groups.

    Notes
    -----
    **Cost**: a pass that counts missing labels, and one that puts the values of each unit together, in parts where the
    engine asks for that. **Memory**: that of a part, and of the different contributions.
    """
    groups = {f"group_{k}": name for k, name in enumerate(asked.by)}
    labels = ({} if asked.unit is None else {UNIT: asked.unit}) | groups
    values = {} if asked.value is None else {VALUE: asked.value}
    named = labels | values or {VALUE: table.names[0]}  # rows can be counted where there is a column
    frame = _checked(nw.from_native(table.plain(named)), labels, asked)
    count = _complete(frame, labels, asked.nulls)
    for name in (*labels, *(values if asked.nulls == "drop" else {})):
        frame = frame.filter(_present(frame, name))
    parts = engine.parts(nw.to_native(frame), count)
    found = [engine.read(_counts(part, asked, list(groups), engine)) for part in parts]
    counted = pl.concat(found) if asked.named or len(found) == 1 else _merged(pl.concat(found))
    if not len(counted):
        raise no_complete_row()
    return _unit_rows(counted, asked, list(groups))


def _checked(frame: Any, labels: dict[str, str], asked: UnitColumns) -> Any:
    """Categories as text; raises ArgumentTypeError for other dtypes than those of the roles."""
    schema = frame.collect_schema()
    for alias, name in labels.items():
        what = f"the unit column {name!r}" if alias == UNIT else f"the column {name!r}"
        check_unit(schema[alias], what)
        if isinstance(schema[alias], (nw.Categorical, nw.Enum)):
            frame = frame.with_columns(nw.col(alias).cast(nw.String))
    if asked.value is not None:
        check_numbers(schema[VALUE], asked.value, role="value")
    return frame


def _complete(frame: Any, labels: dict[str, str], nulls: str) -> int:
    """The number of rows; raises PriorError for missing labels, unless rows with one are left out."""
    asked = [nw.len().alias(ROWS), *(nw.col(name).count().alias(name) for name in labels)]
    found = frame.select(*asked).collect(backend="pyarrow").to_native().to_pylist()[0]
    count = int(found[ROWS])
    check_rows(count)
    if nulls == "raise":
        for alias, name in labels.items():
            check_labelled(name, count - int(found[alias]))
    return count


def _present(frame: Any, name: str) -> Any:
    there = ~nw.col(name).is_null()
    return there & ~nw.col(name).is_nan() if frame.collect_schema()[name].is_float() else there


def _counts(rows: Any, asked: UnitColumns, groups: list[str], engine: UnitEngine) -> Any:
    """A plan of the number of units by what they add and by group; of each unit, where they are asked for by name."""
    if asked.unit is None:
        keys, frame = [*([] if asked.value is None else [VALUE]), *groups], nw.from_native(rows)
        counted = frame.group_by(*keys).agg(nw.len().alias(UNITS)) if keys else frame.select(nw.len().alias(UNITS))
        return nw.to_native(counted)
    if asked.value is None:
        ends = [nw.col(name).min().alias(least(name)) for name in groups]
        ends += [nw.col(name).max().alias(largest(name)) for name in groups]
        each = nw.from_native(rows).group_by(UNIT).agg(nw.len().cast(nw.Int64).alias(ROWS), *ends)
    else:
        each = nw.from_native(engine.lists(rows, groups))
    if asked.named:
        return nw.to_native(each.with_columns(nw.lit(1).alias(UNITS)))
    keys = [VALUES] * (asked.value is not None) + [ROWS, *map(least, groups), *map(largest, groups)]
    return nw.to_native(
        each.group_by(*keys).agg(nw.len().alias(UNITS), nw.col(UNIT).min(), nw.col(UNIT).max().alias(LAST))
    )


def _merged(found: pl.DataFrame) -> pl.DataFrame:
    """The counts of several parts together."""
    names = [pl.col(UNIT).min(), pl.col(LAST).max()] if LAST in found.columns else []
    return found.group_by(pl.exclude(UNITS, UNIT, LAST)).agg(pl.col(UNITS).sum(), *names)


def _unit_rows(found: pl.DataFrame, asked: UnitColumns, groups: list[str]) -> UnitRows:
    if len(found) == 1 and found[UNITS].item() > 1:
        found = _as_two(found)
    names, order = _in_order(found, asked, groups)
    found = found[order]
    often = found[UNITS].cast(pl.Int64).to_numpy()
    values, sizes = _values(found, asked, often)
    starts = np.append(0, np.cumsum(sizes))
    parts = []
    for name in groups:
        own = name if asked.unit is None else least(name)
        check_one_group(differ=asked.unit is not None and bool((found[own] != found[largest(name)]).any()))
        parts.append(numbered(nw.from_native(found[own], series_only=True)))
    group_names, group_of = group_units(parts, units=len(found))
    return UnitRows(
        units=names,
        values=values.clip(asked.low, asked.high),
        starts=starts,
        groups=group_names,
        group_of=group_of,
        often=often,
    )


def _as_two(found: pl.DataFrame) -> pl.DataFrame:
    """The first of units that all add the same, and the others: that there are two is not lost."""
    first = found.with_columns(pl.lit(1, dtype=found.schema[UNITS]).alias(UNITS))
    others = found.with_columns(pl.col(UNITS) - 1)
    if LAST in found.columns:
        others = others.with_columns(pl.col(LAST).alias(UNIT))
    return pl.concat([first, others])


def _in_order(found: pl.DataFrame, asked: UnitColumns, groups: list[str]) -> tuple[list[Secret], IndexArray]:
    """Names of the units, or of the first of some that add the same, and their places in the order of the names."""
    if asked.unit is not None:
        codes, names = numbered(nw.from_native(found[UNIT], series_only=True))
        return names, np.argsort(codes)
    keys = [numbered(nw.from_native(found[name], series_only=True))[0] for name in groups]
    if asked.value is not None:
        keys.append(found[VALUE].to_numpy())
    return list(range(len(found))), np.lexsort(keys[::-1]) if keys else np.arange(len(found))


def _values(found: pl.DataFrame, asked: UnitColumns, often: IndexArray) -> tuple[FloatArray, IndexArray]:
    """The values of all rows of each entry, and how many it has."""
    if asked.value is None:
        sizes = np.ones(len(found), dtype=np.int64) if asked.unit is None else found[ROWS].to_numpy()
        return np.broadcast_to(np.float64(0.0), int(sizes.sum())), sizes
    if asked.unit is None:
        entries, counts, sizes = found[VALUE], often, np.ones(len(found), dtype=np.int64)
    else:
        lists: Any = found[VALUES].fill_null([]).to_arrow(compat_level=pl.CompatLevel.oldest())
        sizes = np.diff(lists.offsets.to_numpy())
        entries, counts = pl.Series(lists.flatten()), np.repeat(often, sizes)
        missing = int(((found[ROWS].to_numpy() - sizes) * often).sum())
        if missing:
            entries, counts = entries.extend_constant(None, 1), np.append(counts, missing)
    return to_floats(nw.from_native(entries, series_only=True), counts, name=asked.value, role="value"), sizes
