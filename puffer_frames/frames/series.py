"""Series of states: their columns, the steps between their times, and one line with a place for each time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnTypeError, PriorError
from puffer_frames.frames.columns import check_no_nulls, to_times
from puffer_frames.priors.prior import IndexArray, Secret
from puffer_frames.priors.series_rows import SeriesRows


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesColumns:
    """What series are read by."""

    state: str
    time: str
    unit: str | None
    """All rows are one series without it."""
    states: Sequence[Secret] | None
    """All states in their order; None for the observed ones, ascending."""
    nulls: str
    """"raise" or "drop": rows without a state."""
    bridged: bool
    """Whether the chain runs on through the gaps."""
    each: bool
    """Whether the counts of each unit are asked for."""


def check_placed(name: str, missing: int, /, *, role: str) -> None:
    """Raise PriorError for rows that belong to no place of a series, so many."""
    hint = (
        f"Fill in the {role}, or leave the rows out before the call if they belong to no series: "
        'nulls="drop" leaves out rows without a state only.'
    )
    check_no_nulls(f"the {role} column {name!r}", missing, hint=hint)


def numbers_of_states(found: list[Secret], states: Sequence[Secret] | None, /) -> tuple[IndexArray, list[Secret]]:
    """Number of each state that was found among all states, and these.

    Raises ArgumentError, ArgumentTypeError for a state that is not listed, or listed twice.
    """
    if states is None:
        return np.arange(len(found)), found
    if isinstance(states, str) or not (isinstance(states, Iterable) and all(isinstance(s, Hashable) for s in states)):
        raise ArgumentTypeError(
            "states",
            rule="a list of states",
            got=f"a {type(states).__name__}",
            hint="Leave it out for the observed states in ascending order.",
        )
    listed = [label.item() if isinstance(label, np.generic) else label for label in states]
    unknown = next((label for label in found if label not in listed), None)
    if unknown is not None or len(set(listed)) < len(listed):
        raise ArgumentError(
            "states",
            rule="a list of all states, each once",
            got=f"a list without {unknown!r}" if unknown is not None else "one listed twice",
            hint="Leave it out for the observed states in ascending order.",
        )
    return np.array([listed.index(label) for label in found], dtype=np.intp), listed


LATEST = 2**61
"""Integer times are within this of 0, so that their differences are 64-bit integers."""
_NEAR = 1e-9
"""Relative difference of two steps of float times that counts as none."""
_USUAL = 0.5
"""The least share of the steps that the usual step must have; below it there is no usual step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The usual step between two times."""

    usual: Any
    """An integer or a float, in units of the times."""

    @classmethod
    def of(cls, sizes: NDArray[Any], often: NDArray[Any], /, *, time: str, units: bool, bridged: bool) -> Step:
        """The most frequent of different steps, ascending, that occur so often.

        Raises ArgumentError for a time that occurs twice, and times without a usual step or between two of its
        multiples.
        """
        what = f"the times of a series (column {time!r})"
        if sizes.size and sizes[0] == 0:
            raise ArgumentError(
                what,
                rule="different from one another",
                got=f"{int(often[0])} that occur twice" + (" within a unit" if units else ""),
                hint='Name the column whose series a row belongs to (unit="subject"), or drop the duplicates.',
            )
        if not sizes.size:
            return cls(usual=1)
        found = cls(usual=sizes[int(np.argmax(often))])
        whole, odd = found.whole(sizes)
        with np.errstate(over="ignore"):
            far = sizes.dtype.kind == "f" and not (whole * often).sum() < LATEST
        if far:
            raise ArgumentError(
                what,
                rule="apart by less than 2**61 steps",
                got="more",
                hint="Look for a time that is far from the others, or number the times 0, 1, 2, ... in a column of its "
                "own.",
            )
        plain = (whole == 1) & ~odd
        share = often[plain].sum() / often.sum()
        if odd.any() if bridged else (sizes < found.usual)[odd].any() or share < _USUAL:
            raise ArgumentError(
                what,
                rule="apart by one step"
                + (", or by a whole number of steps where some are missing" if bridged else ""),
                got=f"{int(often[~plain].sum())} of {int(often.sum())} differences of another length",
                hint="Number the times of each series 0, 1, 2, ... in a column of its own (calendar months, say, "
                "differ in length).",
            )
        return found

    def whole(self, steps: NDArray[Any], /) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """How many usual steps others are, rounded, and whether they are no whole number of them."""
        if steps.dtype.kind == "i":
            return steps // self.usual, steps % self.usual != 0
        with np.errstate(over="ignore", invalid="ignore"):
            number = np.floor(steps / self.usual + 0.5)
            return number, np.abs(steps / self.usual - number) > _NEAR * steps / self.usual

    def apart(self, steps: NDArray[Any], /) -> NDArray[np.int64]:
        """Steps in units of the usual one; at least 2 where they are no multiple of it."""
        number, odd = self.whole(steps)
        return np.where(odd, number + 1, number).astype(np.int64)

    def apart_by(self, step: nw.Expr, /, *, floats: bool) -> nw.Expr:
        """The same of a column of a plan."""
        if not floats:
            usual = int(self.usual)
            rest = step % usual
            near = ((step - rest).cast(nw.Float64) / usual).round().cast(nw.Int64)  # not exact beyond 2**53
            number = near + ((step - rest - near * usual).cast(nw.Float64) / usual).round().cast(nw.Int64)
            return number + (rest != 0).cast(nw.Int64)
        ratio = step / (step * 0.0 + float(self.usual))  # by a column: a number is made its reciprocal by Polars
        number = (ratio + 0.5).floor()
        odd = (ratio - number).abs() > _NEAR * ratio
        return number.cast(nw.Int64) + odd.cast(nw.Int64)


def check_times(name: str, dtype: nw.dtypes.DType, /, *, finite: bool = True) -> None:
    """Raise ArgumentTypeError for times that are no numbers, dates or datetimes."""
    if not (isinstance(dtype, (nw.Date, nw.Datetime)) or dtype.is_integer() or (dtype.is_float() and finite)):
        raise ColumnTypeError(
            f"the time column {name!r}",
            rule="of integers, finite floats, dates or datetimes",
            got="infinities" if dtype.is_float() else f"dtype {type(dtype).__name__}",
            hint=to_times(dtype),
        )


def check_integer_times(name: str, low: int, high: int, /) -> None:
    """Raise PriorError for integers of which a difference may not fit into 64 bits."""
    if max(abs(low), abs(high)) > LATEST:
        raise PriorError(
            f"the time column {name!r}",
            rule="within 2**61 of 0",
            got="larger integers",
            hint="Subtract the first time from all.",
        )


NO_ROW, NO_STATE, FIRST_STATE = 0, 1, 2
"""What a place holds; a state holds its number and `FIRST_STATE`."""
_MOST_PLACES = 4
"""A line has at most so many places per row, and some more."""
_FEWEST_PLACES = 1 << 16
_CHUNK = 1 << 22
"""How many places are handled together."""


Times: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The places of each unit's times on the line."""

    low: Times
    """The first time of each unit, shape (units,)."""
    begins: IndexArray
    """Its place, and the number of places, shape (units + 1,)."""
    step: int
    """From one place to the next, in units of the times."""

    @classmethod
    def of(cls, low: Times, high: Times, some: Times, /, *, rows: int) -> Layout | None:
        """From the first and last time of each unit, and some times since the first; None where there are many places.

        The step is the greatest common divisor: other rows may still lie between two places.
        """
        if float(high.max()) - float(low.min()) >= LATEST:
            return None
        step = int(np.gcd(np.gcd.reduce(high - low), np.gcd.reduce(some, initial=0))) or 1
        places = (high - low) // step + 1
        if float(places.sum(dtype=float)) > _MOST_PLACES * rows + _FEWEST_PLACES:
            return None
        return cls(low=low, begins=np.append(0, np.cumsum(places)), step=step)

    def empty(self, states: int, /) -> NDArray[Any]:
        """A line without rows, for so many states."""
        return np.full(int(self.begins[-1]), NO_ROW, dtype=np.min_scalar_type(FIRST_STATE + states))


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The rows of all units: one unit after the other, each from its first row to its last."""

    layout: Layout
    held: NDArray[Any]
    """What each place holds."""

    @classmethod
    def of(cls, owner: IndexArray, times: Times, held: IndexArray, /, *, states: int) -> Timeline | None:
        """The timeline of rows in memory, by their unit's number; None where places are many or a time occurs twice."""
        units = int(owner.max()) + 1
        low, high = np.full(units, np.iinfo(np.int64).max), np.full(units, np.iinfo(np.int64).min)
        np.minimum.at(low, owner, times)
        np.maximum.at(high, owner, times)
        layout = Layout.of(low, high, np.zeros(0, dtype=np.int64), rows=owner.size)
        if layout is None and float(high.max()) - float(low.min()) >= LATEST:
            return None
        since = times - low[owner]
        if layout is None or (since % layout.step).any():
            layout = Layout.of(low, high, since, rows=owner.size)
        if layout is None:
            return None
        line = layout.empty(states)
        line[layout.begins[owner] + since // layout.step] = held
        found = cls(layout=layout, held=line)
        return found if np.count_nonzero(line) == owner.size else None

    def series(
        self, asked: SeriesColumns, /, *, units: Sequence[Secret], states: Sequence[Secret]
    ) -> SeriesRows | None:
        """The pieces, transitions and counts; None where the usual step is several places.

        Raises ArgumentError as `Step.of`.
        """
        step = Step.of(*self._steps(), time=asked.time, units=asked.unit is not None, bridged=asked.bridged)
        if step.usual != self.layout.step:
            return None
        begins = self.layout.begins
        starts, ends = self._runs(FIRST_STATE)
        owner = np.searchsorted(begins, starts, side="right") - 1
        first = np.append(True, owner[1:] != owner[:-1])
        present = np.zeros(len(units), dtype=bool)
        present[owner] = True
        transitions, often = self._transitions(len(states) + FIRST_STATE)
        counts = self._of_units(often.size)[present] if asked.each else often[None]
        return SeriesRows(
            states=states,
            units=[label for label, here in zip(units, present.tolist(), strict=True) if here],
            lengths=ends - starts,
            unit_of=(np.cumsum(present) - 1)[owner],
            first=self.held[starts].astype(np.intp) - FIRST_STATE,
            skipped=starts - np.where(first, begins[owner], np.append(0, ends[:-1])),
            bridged=asked.bridged,
            counts=counts[:, FIRST_STATE:],
            transitions=transitions[FIRST_STATE:, FIRST_STATE:],
        )

    def _steps(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The different steps between rows of a unit, ascending, in units of the times, and how often each occurs."""
        starts, ends = self._runs(NO_STATE)
        first = np.zeros(starts.size, dtype=bool)
        first[np.searchsorted(starts, self.layout.begins[:-1])] = True
        sizes, often = np.unique((starts[1:] - ends[:-1])[~first[1:]] + 1, return_counts=True)
        if next_ := int((ends - starts - 1).sum()):
            sizes, often = np.append(1, sizes), np.append(next_, often)
        return sizes * self.layout.step, often

    def _runs(self, least: int) -> tuple[IndexArray, IndexArray]:
        """Starts of the runs of one unit's places that hold at least `least`, and the places after their ends."""
        starts, ends = list[IndexArray](), list[IndexArray]()
        earlier, begins = False, self.layout.begins[:-1]
        for a, b in self._chunks():
            inside = self.held[a:b] >= least
            before = np.append(earlier, inside[:-1])
            begin = np.zeros(b - a, dtype=bool)
            begin[begins[np.searchsorted(begins, a) : np.searchsorted(begins, b)] - a] = True
            starts.append(np.flatnonzero(inside & (begin | ~before)) + a)
            ends.append(np.flatnonzero(before & (begin | ~inside)) + a)
            earlier = bool(inside[-1])
        if earlier:
            ends.append(np.array([self.held.size]))
        return np.concatenate(starts), np.concatenate(ends)

    def _transitions(self, kinds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How often each kind of place was followed by each within a unit, and how often each occurs at all."""
        found = np.zeros(kinds**2, dtype=np.int64)
        for a, b in self._chunks():
            part = self.held[a : b + 1].astype(np.intp)
            found += np.bincount(part[:-1] * kinds + part[1:], minlength=kinds**2)
        often = found.reshape(kinds, kinds).sum(axis=1)
        often[self.held[-1]] += 1
        other = self.layout.begins[1:-1]  # from the last row of a unit to the first of the next
        found -= np.bincount(self.held[other - 1].astype(np.intp) * kinds + self.held[other], minlength=kinds**2)
        return found.reshape(kinds, kinds), often

    def _of_units(self, kinds: int) -> NDArray[np.int64]:
        """How often each kind of place occurs in each unit, shape (units, kinds)."""
        begins = self.layout.begins
        found = np.zeros((begins.size - 1, kinds), dtype=np.int64)
        for a, b in self._chunks():
            own = slice(np.searchsorted(begins, a, side="right") - 1, np.searchsorted(begins, b))
            places = np.minimum(begins[1:][own], b) - np.maximum(begins[:-1][own], a)
            part = self.held[a:b] + np.repeat(np.arange(places.size) * kinds, places)
            found[own] += np.bincount(part, minlength=places.size * kinds).reshape(-1, kinds)
        return found

    def _chunks(self) -> Iterator[tuple[int, int]]:
        for a in range(0, self.held.size, _CHUNK):
            yield a, min(a + _CHUNK, self.held.size)
