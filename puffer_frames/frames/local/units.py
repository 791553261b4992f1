"""The rows of units: whose record a row is, what it says, and in which group it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ColumnTypeError, PriorError
from puffer_frames.frames.columns import Frame, check_labelled, check_rows, column, to_floats
from puffer_frames.frames.local.numbered import by_unit, numbered
from puffer_frames.frames.local.prepare import missing
from puffer_frames.frames.roles import check_labels, check_numbers, is_of_labels
from puffer_frames.frames.units.asked import UnitColumns, check_one_group, group_units
from puffer_frames.frames.units.sizes import UnitSizes
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.unit_rows import UnitRows


def read_units(frame: Frame, asked: UnitColumns, /) -> UnitRows:
    """Read the rows of every unit.

    Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing values, an empty frame, and a unit in two
    groups.
    """
    check_rows(len(frame))
    complete = frame if asked.nulls == "raise" else complete_rows(frame, asked.all)
    n = len(complete)
    values = np.zeros(n) if asked.value is None else _values(complete, asked.value).clip(asked.low, asked.high)
    if asked.unit is None:
        codes, units = np.arange(n), list[Secret](range(n))
    else:
        codes, units = factorise(complete, asked.unit)
    order, starts = by_unit(codes, values, units=len(units))
    groups, group_of = _groups(complete, asked.by, order, starts)
    times, often = np.ones(n, dtype=np.intp), np.ones(len(units), dtype=np.intp)
    return UnitRows.of(units, values[order], starts, times=times, groups=groups, group_of=group_of, often=often)


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
    check_labelled(name, int(missing(entries).sum()))
    if entries.dtype.is_float():
        entries = _whole(entries, name)
    return numbered(entries)


def _whole(entries: nw.Series[Any], name: str) -> nw.Series[Any]:
    floats = np.asarray(entries.cast(nw.Float64).to_numpy(), dtype=np.float64)
    if not (np.isfinite(floats).all() and (floats == np.rint(floats)).all() and (np.abs(floats) < 2.0**53).all()):
        raise ColumnTypeError(
            f"the column {name!r}",
            rule="of strings, categories, booleans or integers",
            got="floats that are not integers",
            hint="Convert it to strings first.",
        )
    return entries.cast(nw.Int64)


def _values(frame: Frame, name: str) -> FloatArray:
    check_numbers(frame.schema[name], name, role="value")
    return to_floats(column(frame, name), np.ones(len(frame), dtype=np.int64), name=name, role="value")


def complete_rows(frame: Frame, names: Sequence[str], /) -> Frame:
    """The rows without a missing entry in the named columns; PriorError where there is none."""
    whole = np.ones(len(frame), dtype=bool)
    for name in names:
        whole &= ~missing(column(frame, name))
    if not whole.any():
        raise PriorError(
            "the frame",
            rule="of at least one complete row",
            got="rows that all miss an entry",
            hint="Check how the file was read.",
        )
    return frame if whole.all() else frame.filter(whole.tolist())


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
