"""The rows of units: whose record a row is, what it says, in which group it is counted; and series of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.coded import by_unit, numbered
from puffer_frames.frames.columns import Frame, check_labelled, check_one_type, check_rows, column, missing, to_floats
from puffer_frames.frames.roles import check_labels, check_numbers, complete_rows, is_of_labels
from puffer_frames.frames.series import (
    FIRST_STATE,
    NO_STATE,
    SeriesColumns,
    Step,
    Timeline,
    check_integer_times,
    check_placed,
    check_times,
    numbers_of_states,
)
from puffer_frames.frames.summary import unlike_integers
from puffer_frames.frames.units import UnitColumns, UnitSizes, check_one_group, group_units
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.series_rows import SeriesRows, UnitRows


def read_units(frame: Frame, asked: UnitColumns, /) -> UnitRows:
    """Read the rows of every unit."""
    check_rows(len(frame))
    complete = frame if asked.nulls == "raise" else complete_rows(frame, asked.all)
    n = len(complete)
    values, moved = asked.clipped(np.zeros(n) if asked.value is None else _values(complete, asked.value), np.ones(n))
    if asked.unit is None:
        codes, units = np.arange(n), list[Secret](range(n))
    else:
        codes, units = factorise(complete, asked.unit)
    order, starts = by_unit(codes, values, units=len(units))
    groups, group_of = _groups(complete, asked.by, order, starts)
    return UnitRows(
        units=units,
        values=values[order],
        times=np.ones(n, dtype=np.intp),
        starts=starts,
        groups=groups,
        group_of=group_of,
        often=np.ones(len(units), dtype=np.intp),
        moved=moved,
    ).with_different_values()


def local_unit_sizes(
    frame: Frame, /, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str
) -> UnitSizes:
    """How many rows units have, and in which columns their rows differ; raises as `factorise`."""
    check_rows(len(frame))
    complete = frame if nulls == "raise" else complete_rows(frame, [unit, *groups])
    codes, units = factorise(complete, unit)
    sizes = np.bincount(codes, minlength=len(units))
    mixed = [name for name in groups if _differs(codes, factorise(complete, name)[0])]
    for name in values:
        rows = complete if nulls == "raise" else complete_rows(complete, [name])
        own = codes if rows is complete else factorise(rows, unit)[0]
        entries = factorise(rows, name)[0] if is_of_labels(rows.schema[name]) else _values(rows, name)
        if _differs(own, entries):
            mixed.append(name)
    return UnitSizes(largest=int(sizes.max()), smallest=int(sizes.min()), mixed=frozenset(mixed))


def _differs(codes: IndexArray, entries: FloatArray | IndexArray) -> bool:
    """Whether some unit has two different entries."""
    order = np.lexsort((entries, codes))
    same_unit = np.diff(codes[order]) == 0
    return bool((same_unit & (np.diff(entries[order]) != 0)).any())


def capped(frame: Frame, unit: str, most: int, /) -> Frame:
    """At most so many rows of each unit: those with the smallest of some random words, which only places decide."""
    codes, units = factorise(frame, unit)
    words = ReleaseKey.of(0).stream(Purpose.ROW_OF_A_UNIT, unit).words(range(len(codes)))
    order = np.lexsort((words, codes))
    starts = np.searchsorted(codes[order], np.arange(len(units) + 1))
    ranks = np.arange(len(codes)) - np.repeat(starts[:-1], np.diff(starts))
    used = np.zeros(len(codes), dtype=bool)
    used[order[ranks < most]] = True
    return frame if used.all() else frame.filter(used.tolist())


def factorise(frame: Frame, name: str, /) -> tuple[IndexArray, list[Secret]]:
    """Number of each row's label, and the labels in ascending order.

    Raises PriorError, ArgumentTypeError for missing labels, and floats that are not integers.
    """
    check_labels(frame.schema[name], f"the column {name!r}")
    entries = column(frame, name)
    if isinstance(entries.dtype, nw.String):
        check_one_type(entries, f"the column {name!r}")
    check_labelled(name, int(missing(entries).sum()))
    if entries.dtype.is_float():
        entries = _whole(entries, name)
    return numbered(entries)


def _whole(entries: nw.Series[Any], name: str) -> nw.Series[Any]:
    floats = np.asarray(entries.cast(nw.Float64).to_numpy(), dtype=np.float64)
    unlike = unlike_integers(floats, entries.dtype, hint="Convert it to strings first.")
    if unlike is not None:
        rule = "of strings, categories, booleans or integers"
        raise ColumnTypeError(f"the column {name!r}", rule=rule, got=unlike[0], hint=unlike[1])
    return entries.cast(nw.Int64)


def _values(frame: Frame, name: str) -> FloatArray:
    check_numbers(frame.schema[name], name, role="value")
    return to_floats(column(frame, name), np.ones(len(frame), dtype=np.int64), name=name, role="value")


def _groups(
    frame: Frame, by: Sequence[str], order: IndexArray, starts: IndexArray
) -> tuple[list[tuple[Secret, ...]], IndexArray]:
    """Labels of the groups, and the group of every unit, which must be one."""
    parts = []
    for name in by:
        codes, labels = factorise(frame, name)
        ordered = codes[order]
        first = ordered[starts[:-1]]
        check_one_group(differ=bool((np.repeat(first, np.diff(starts)) != ordered).any()))
        parts.append((first, labels))
    return group_units(parts, units=starts.size - 1)


def read_series(frame: Frame, asked: SeriesColumns, /) -> SeriesRows:
    """Read the series of every unit, ordered by time, in pieces of equally spaced times.

    The step and the first time of a unit are those of its rows, with or without a state. Rows without one are left out
    for `nulls="drop"`: their times are missing then. A unit without any state is left out.
    """
    check_rows(len(frame))
    complete = frame if asked.nulls == "raise" else complete_rows(frame, [asked.state])
    codes, found = factorise(complete, asked.state)
    number, states = numbers_of_states(found, asked.states)
    codes = number[codes]
    seen = np.ones(len(frame), dtype=bool) if complete is frame else ~missing(column(frame, asked.state))
    for role, name in (("time", asked.time), ("unit", asked.unit)):
        if name is not None:
            check_placed(name, int(missing(column(frame, name)).sum()), role=role)
    owner, units = (np.zeros(len(frame), dtype=np.intp), [None]) if asked.unit is None else factorise(frame, asked.unit)
    moments = _moments(frame, asked.time)
    if moments.dtype.kind == "i":
        held = np.full(len(frame), NO_STATE)
        held[seen] = codes + FIRST_STATE
        line = Timeline.of(owner, moments, held, states=len(states))
        laid_out = None if line is None else line.series(replace(asked, each=True), units=units, states=states)
        if laid_out is not None:
            return laid_out
    order = np.lexsort((moments, owner))
    since = _since_first(moments[order], owner[order], asked)
    stated = seen[order]
    owner, since = owner[order][stated], since[stated]
    first = np.append(True, owner[1:] != owner[:-1])
    skipped = np.where(first, since, np.diff(since, prepend=0) - 1)
    fresh = first | (skipped > 0)
    starts = np.flatnonzero(fresh)
    present = np.bincount(owner, minlength=len(units)) > 0
    codes, owner, size = codes[(np.cumsum(seen) - 1)[order[stated]]], (np.cumsum(present) - 1)[owner], len(states)
    inside = np.flatnonzero(~fresh)
    return SeriesRows(
        states=states,
        units=[label for label, here in zip(units, present, strict=True) if here],
        lengths=np.diff(starts, append=owner.size),
        unit_of=owner[starts],
        first=codes[starts],
        skipped=skipped[starts],
        bridged=asked.bridged,
        counts=np.bincount(owner * size + codes, minlength=int(present.sum()) * size).reshape(-1, size),
        transitions=np.bincount(codes[inside - 1] * size + codes[inside], minlength=size**2).reshape(size, size),
    )


def _since_first(moments: NDArray[Any], owner: IndexArray, asked: SeriesColumns) -> NDArray[np.int64]:
    """Steps from the first row of its unit to each row, of rows sorted by unit and time."""
    same = owner[1:] == owner[:-1]
    with np.errstate(over="ignore"):
        steps = np.diff(moments)[same]
    sizes, often = np.unique(steps, return_counts=True)
    step = Step.of(sizes, often, time=asked.time, units=asked.unit is not None, bridged=asked.bridged)
    apart = np.zeros(owner.size, dtype=np.int64)
    apart[1:][same] = step.apart(steps)
    place: NDArray[np.int64] = np.cumsum(apart)  # it may wrap around: differences within a unit are right all the same
    return place - place[np.append(True, ~same)][owner]


def _moments(frame: Frame, name: str) -> NDArray[Any]:
    """Times as integers or floats."""
    times = column(frame, name)
    dtype = times.dtype
    if isinstance(dtype, (nw.Date, nw.Datetime)):
        stamps = times.cast(nw.Datetime("us")) if isinstance(dtype, nw.Date) else times
        exact = isinstance(dtype, nw.Datetime) and dtype.time_unit == "ns"
        return np.asarray(stamps.dt.timestamp("ns" if exact else "us").to_numpy(), dtype=np.int64)
    if isinstance(dtype, nw.Object) and all(type(entry) is date for entry in times.to_list()):
        return np.asarray(times.to_list(), dtype="datetime64[us]").astype(np.int64)
    if dtype.is_integer():
        check_integer_times(name, int(times.min()), int(times.max()))
        return np.asarray(times.cast(nw.Int64).to_numpy(), dtype=np.int64)
    floats = np.asarray(times.cast(nw.Float64).to_numpy(), dtype=np.float64) if dtype.is_float() else np.zeros(0)
    check_times(name, dtype, finite=bool(np.isfinite(floats).all()))
    return floats
