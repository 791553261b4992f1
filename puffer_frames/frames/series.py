"""Series of states: rows ordered by time, cut where there is a gap."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
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
"""Differences of integer times up to here are 64-bit integers."""
_NEAR = 1e-9
"""Relative difference of two steps of float times that counts as none."""


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

    @property
    def lengths(self) -> IndexArray:
        """Number of rows of each piece."""
        return np.diff(self.starts)

    def transitions(self) -> NDArray[np.int64]:
        """How often each state was followed by each, within pieces."""
        inside = np.ones(self.codes.size - 1, dtype=bool)
        inside[self.starts[1:-1] - 1] = False
        counts = np.zeros((len(self.states), len(self.states)), dtype=np.int64)
        np.add.at(counts, (self.codes[:-1][inside], self.codes[1:][inside]), 1)
        return counts

    def first_states(self) -> NDArray[np.int64]:
        """How often each state begins a piece."""
        return np.bincount(self.codes[self.starts[:-1]], minlength=len(self.states))

    def counts(self) -> NDArray[np.int64]:
        """How often each state occurs in each unit, shape (units, states)."""
        unit = np.repeat(self.unit_of, self.lengths)
        table = np.zeros((len(self.units), len(self.states)), dtype=np.int64)
        np.add.at(table, (unit, self.codes), 1)
        return table


def read_series(
    frame: Frame, /, *, state: str, time: str, unit: str | None, states: Sequence[Secret] | None, nulls: str
) -> SeriesRows:
    """Read the series of every unit, ordered by time, in pieces of equally spaced times.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For dtypes, missing entries, an empty frame, a time that occurs twice, and a state that is not listed.
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
    fresh = np.ones(owner.size, dtype=bool)
    fresh[1:] = owner[1:] != owner[:-1]
    gaps = np.diff(moments)
    inside = gaps[~fresh[1:]]
    if (inside == 0).any():
        raise ArgumentError(
            f"the times of a series (column {time!r})",
            rule="different from one another",
            got=f"{int((inside == 0).sum())} that occur twice" + (" within a unit" if unit is not None else ""),
            hint='Name the column whose series a row belongs to (unit="subject"), or drop the duplicates.',
        )
    if inside.size:
        sizes, often = np.unique(inside, return_counts=True)
        step = sizes[int(np.argmax(often))]
        fresh[1:] |= np.abs(gaps - step) > _NEAR * step
    starts = np.append(np.flatnonzero(fresh), owner.size)
    return SeriesRows(states=found, codes=codes, starts=starts, units=units, unit_of=owner[starts[:-1]])


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
        return np.asarray(stamps.dt.timestamp("us").to_numpy(), dtype=np.int64)
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
