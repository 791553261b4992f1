"""Series of states: rows ordered by time, in pieces between gaps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.columns import Frame, check_rows, column, rows_text
from puffer_frames.frames.hints import to_times
from puffer_frames.frames.local.prepare import missing
from puffer_frames.frames.local.units import complete_rows, factorise
from puffer_frames.priors.prior import IndexArray, Secret
from puffer_frames.priors.series_rows import SeriesRows

_LATEST = 2**61
"""Integer times are within this of 0, so that their differences are 64-bit integers."""
_NEAR = 1e-9
"""Relative difference of two steps of float times that counts as none."""
_USUAL = 0.5
"""Where fewer than this share of the steps are the usual one, there is no usual step."""


def read_series(
    frame: Frame,
    /,
    *,
    state: str,
    time: str,
    unit: str | None,
    states: Sequence[Secret] | None,
    nulls: str,
    gaps: str,
) -> SeriesRows:
    """Read the series of every unit, ordered by time, in pieces of equally spaced times.

    The step and the first time of a unit are those of its rows, with or without a state. Rows without one are left out
    for `nulls="drop"`: their times are missing then. A unit without any state is left out.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For dtypes, missing entries, an empty frame, a time that occurs twice, times without a usual step or between
        two of its multiples, and a state that is not listed.
    """
    check_rows(len(frame))
    complete = frame if nulls == "raise" else complete_rows(frame, [state])
    codes, found = factorise(complete, state)
    if states is not None:
        codes, found = _listed(codes, found, states)
    seen = np.ones(len(frame), dtype=bool) if complete is frame else ~missing(column(frame, state))
    for role, name in (("time", time), ("unit", unit)):
        if name is not None:
            _check_placed(frame, name, role=role)
    owner, units = (np.zeros(len(frame), dtype=np.intp), [None]) if unit is None else factorise(frame, unit)
    moments = _moments(frame, time)
    order = np.lexsort((moments, owner))
    since = _since_first(moments[order], owner[order], time=time, units=unit is not None, bridged=gaps == "bridge")
    stated = seen[order]
    owner, since = owner[order][stated], since[stated]
    first = np.append(True, owner[1:] != owner[:-1])
    skipped = np.where(first, since, np.diff(since, prepend=0) - 1)
    fresh = first | (skipped > 0)
    starts = np.append(np.flatnonzero(fresh), owner.size)
    present = np.bincount(owner, minlength=len(units)) > 0
    return SeriesRows(
        states=found,
        codes=codes[(np.cumsum(seen) - 1)[order[stated]]],
        starts=starts,
        units=[label for label, here in zip(units, present, strict=True) if here],
        unit_of=(np.cumsum(present) - 1)[owner[starts[:-1]]],
        skipped=skipped[starts[:-1]],
        bridged=gaps == "bridge",
    )


def _since_first(
    moments: NDArray[Any], owner: IndexArray, /, *, time: str, units: bool, bridged: bool
) -> NDArray[np.int64]:
    """Steps from the first row of its unit to each row, of rows sorted by unit and time."""
    same = owner[1:] == owner[:-1]
    with np.errstate(over="ignore"):
        steps = np.diff(moments)[same]
    if (steps == 0).any():
        raise ArgumentError(
            f"the times of a series (column {time!r})",
            rule="different from one another",
            got=f"{int((steps == 0).sum())} that occur twice" + (" within a unit" if units else ""),
            hint='Name the column whose series a row belongs to (unit="subject"), or drop the duplicates.',
        )
    apart = np.zeros(owner.size, dtype=np.int64)
    apart[1:][same] = _apart(steps, time=time, bridged=bridged)
    place: NDArray[np.int64] = np.cumsum(apart)  # it may wrap around: differences within a unit are right all the same
    since: NDArray[np.int64] = place - place[np.append(True, ~same)][owner]
    return since


def _apart(steps: NDArray[Any], /, *, time: str, bridged: bool) -> NDArray[np.int64]:
    """The steps from one row to the next in units of the usual one; at least 2 where they are not equal to it."""
    if not steps.size:
        return np.zeros(0, dtype=np.int64)
    sizes, often = np.unique(steps, return_counts=True)
    usual = sizes[int(np.argmax(often))]
    if steps.dtype.kind == "i":
        whole, odd = steps // usual, steps % usual != 0
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            whole = np.rint(steps / usual)
            odd = np.abs(steps / usual - whole) > _NEAR * steps / usual
            far = not whole.sum() < _LATEST
        if far:
            raise ArgumentError(
                f"the times of a series (column {time!r})",
                rule="apart by less than 2**61 steps",
                got="more",
                hint="Look for a time that is far from the others, or number the times 0, 1, 2, ... in a column of its "
                "own.",
            )
    plain = (whole == 1) & ~odd
    if odd.any() if bridged else (steps < usual)[odd].any() or plain.mean() < _USUAL:
        raise ArgumentError(
            f"the times of a series (column {time!r})",
            rule="apart by one step" + (", or by a whole number of steps where some are missing" if bridged else ""),
            got=f"{int((~plain).sum())} of {steps.size} differences of another length",
            hint="Number the times of each series 0, 1, 2, ... in a column of its own (calendar months, say, differ in "
            "length).",
        )
    apart: NDArray[np.int64] = np.where(odd, whole + 1, whole).astype(np.int64)
    return apart


def _check_placed(frame: Frame, name: str, /, *, role: str) -> None:
    """Raise PriorError for rows that belong to no place of a series."""
    rows = int(missing(column(frame, name)).sum())
    if rows:
        raise PriorError(
            f"the {role} column {name!r}",
            rule="without nulls",
            got=f"{rows_text(rows)} with one",
            hint=f"Fill in the {role}, or leave the rows out before the call if they belong to no series: "
            'nulls="drop" leaves out rows without a state only.',
        )


def _listed(codes: IndexArray, found: list[Secret], states: Sequence[Secret]) -> tuple[IndexArray, list[Secret]]:
    if isinstance(states, str) or not (isinstance(states, Iterable) and all(isinstance(s, Hashable) for s in states)):
        raise ArgumentTypeError(
            "states",
            rule="a list of states",
            got=f"a {type(states).__name__}",
            hint="Leave it out for the observed states in ascending order.",
        )
    listed = list(states)
    unknown = next((label for label in found if label not in listed), None)
    if unknown is not None or len(set(listed)) < len(listed):
        raise ArgumentError(
            "states",
            rule="a list of all states, each once",
            got=f"none for {unknown!r}" if unknown is not None else "one listed twice",
            hint="Leave it out for the observed states in ascending order.",
        )
    place = np.array([listed.index(label) for label in found], dtype=np.intp)
    return place[codes], listed


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
        if max(abs(int(times.min())), abs(int(times.max()))) > _LATEST:
            raise PriorError(
                f"the time column {name!r}",
                rule="within 2**61 of 0",
                got="larger integers",
                hint="Subtract the first time from all.",
            )
        return np.asarray(times.cast(nw.Int64).to_numpy(), dtype=np.int64)
    if dtype.is_float():
        floats = np.asarray(times.cast(nw.Float64).to_numpy(), dtype=np.float64)
        if np.isfinite(floats).all():
            return floats
    raise ArgumentTypeError(
        f"the time column {name!r}",
        rule="of integers, finite floats, dates or datetimes",
        got="infinities" if dtype.is_float() else f"dtype {type(dtype).__name__}",
        hint=to_times(dtype),
    )
