"""Series of states: rows ordered by time, in pieces between gaps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.columns import Frame, column
from puffer_frames.frames.prepare import missing
from puffer_frames.frames.units import complete_rows, factorise
from puffer_frames.priors import IndexArray, Secret

_LATEST = 2**61
"""Integer times are within this of 0, so that their differences are 64-bit integers."""
_NEAR = 1e-9
"""Relative difference of two steps of float times that counts as none."""
_USUAL = 0.5
"""Where fewer than this share of the steps are the usual one, there is no usual step."""
GAPS = ("bridge", "independent")


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRows:
    """States in the order of time, piece after piece."""

    states: Sequence[Secret]
    """Names of the states, ascending."""
    codes: IndexArray
    """Number of the state of each row, shape (rows,)."""
    starts: IndexArray
    """Where each piece begins, and the end of the last, shape (pieces + 1,)."""
    units: Sequence[Secret]
    """Names of the units; one, None, without a column of units."""
    unit_of: IndexArray
    """Number of the unit of each piece."""
    skipped: IndexArray
    """Missing times between each piece and the one before it, 0 for the first of a unit, shape (pieces,)."""
    bridged: bool
    """Whether the chain runs on through the gaps; otherwise each piece starts anew, independent of the others."""

    @property
    def lengths(self) -> IndexArray:
        """Number of rows of each piece."""
        return np.diff(self.starts)

    def extents(self) -> list[tuple[int, int]]:
        """The different (times from first to last, rows) of stretches that depend on no other, longest first."""
        if self.bridged:
            rows = np.bincount(self.unit_of, self.lengths, minlength=len(self.units)).astype(np.int64)
            times = rows + np.bincount(self.unit_of, self.skipped, minlength=len(self.units)).astype(np.int64)
        else:
            rows = times = self.lengths
        return sorted({(int(t), int(n)) for t, n in zip(times, rows, strict=True)}, reverse=True)

    def transitions(self) -> NDArray[np.int64]:
        """How often each state was followed by each, within pieces."""
        inside = np.ones(self.codes.size - 1, dtype=bool)
        inside[self.starts[1:-1] - 1] = False
        counts = np.zeros((len(self.states), len(self.states)), dtype=np.int64)
        np.add.at(counts, (self.codes[:-1][inside], self.codes[1:][inside]), 1)
        return counts

    def first_states(self) -> NDArray[np.int64]:
        """How often each state begins a stretch that depends on no other."""
        starts = self.starts[:-1]
        if self.bridged:
            starts = starts[np.append(True, self.unit_of[1:] != self.unit_of[:-1])]
        return np.bincount(self.codes[starts], minlength=len(self.states))

    def counts(self) -> NDArray[np.int64]:
        """How often each state occurs in each unit, shape (units, states)."""
        unit = np.repeat(self.unit_of, self.lengths)
        table = np.zeros((len(self.units), len(self.states)), dtype=np.int64)
        np.add.at(table, (unit, self.codes), 1)
        return table


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

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For dtypes, missing entries, an empty frame, a time that occurs twice, times without a usual step or between
        two of its multiples, and a state that is not listed.
    """
    if not len(frame):
        raise PriorError("the frame", rule="non-empty", got="0 rows", hint="Check the filter or the file it came from.")
    named = [state, time, *([unit] if unit is not None else [])]
    complete = frame if nulls == "raise" else complete_rows(frame, named)
    codes, found = factorise(complete, state)
    if states is not None:
        codes, found = _listed(codes, found, states)
    owner, units = (np.zeros(len(complete), dtype=np.intp), [None]) if unit is None else factorise(complete, unit)
    moments = _moments(complete, time)
    order = np.lexsort((moments, owner))
    moments, owner, codes = moments[order], owner[order], codes[order]
    same = owner[1:] == owner[:-1]
    steps = np.diff(moments)
    if (steps[same] == 0).any():
        raise ArgumentError(
            f"the times of a series (column {time!r})",
            rule="different from one another",
            got=f"{int((steps[same] == 0).sum())} that occur twice" + (" within a unit" if unit is not None else ""),
            hint='Name the column whose series a row belongs to (unit="subject"), or drop the duplicates.',
        )
    skipped = np.zeros(owner.size, dtype=np.int64)
    skipped[1:][same] = _skipped(steps[same], time=time, bridged=gaps == "bridge")
    fresh = np.append(True, ~same) | (skipped > 0)
    starts = np.append(np.flatnonzero(fresh), owner.size)
    return SeriesRows(
        states=found,
        codes=codes,
        starts=starts,
        units=units,
        unit_of=owner[starts[:-1]],
        skipped=skipped[starts[:-1]],
        bridged=gaps == "bridge",
    )


def _skipped(steps: NDArray[Any], /, *, time: str, bridged: bool) -> NDArray[np.int64]:
    """Missing times within each step from one row to the next, in units of the usual step; at least 1 for a gap."""
    if not steps.size:
        return np.zeros(0, dtype=np.int64)
    sizes, often = np.unique(steps, return_counts=True)
    usual = sizes[int(np.argmax(often))]
    if steps.dtype.kind == "i":
        whole, odd = steps // usual, steps % usual != 0
    else:
        whole = np.rint(steps / usual)
        odd = np.abs(steps / usual - whole) > _NEAR * steps / usual
    plain = (whole == 1) & ~odd
    if odd.any() if bridged else (steps < usual)[odd].any() or plain.mean() < _USUAL:
        raise ArgumentError(
            f"the times of a series (column {time!r})",
            rule="apart by one step" + (", or by a whole number of steps where some are missing" if bridged else ""),
            got=f"{int((~plain).sum())} of {steps.size} differences of another length",
            hint="Number the times of each series 0, 1, 2, ... in a column of its own (calendar months, say, differ in "
            "length).",
        )
    skipped: NDArray[np.int64] = np.where(odd, whole + 1, whole).astype(np.int64) - 1
    return skipped


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
    null = missing(times)
    if null.any():
        rows = int(null.sum())
        raise PriorError(
            f"the time column {name!r}",
            rule="without nulls",
            got=f"{rows} row{'s' * (rows > 1)} with one",
            hint='Say nulls="drop" to leave those rows out.',
        )
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
        hint="Convert it, for example with pandas.to_datetime, or number the rows.",
    )
