"""Series of states: rows ordered by time, in pieces between gaps."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame, check_rows, column
from puffer_frames.frames.local.prepare import missing
from puffer_frames.frames.local.units import complete_rows, factorise
from puffer_frames.frames.series.asked import SeriesColumns, check_placed, numbers_of_states
from puffer_frames.frames.series.steps import Step, check_integer_times, check_times
from puffer_frames.frames.series.timeline import FIRST_STATE, NO_STATE, Timeline
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows


def read_series(frame: Frame, asked: SeriesColumns, /) -> SeriesRows:
    """Read the series of every unit, ordered by time, in pieces of equally spaced times.

    The step and the first time of a unit are those of its rows, with or without a state. Rows without one are left out
    for `nulls="drop"`: their times are missing then. A unit without any state is left out.

    Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing entries, an empty frame, a time that occurs
    twice, times without a usual step or between two of its multiples, and a state that is not listed.
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
    since: NDArray[np.int64] = place - place[np.append(True, ~same)][owner]
    return since


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
