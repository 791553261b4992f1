"""Series of states in pieces between gaps, and the rows of units: what the numeric half sees of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray, IndexArray, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRows:
    """What is known of the rows of series: their pieces, unit after unit in the order of time, and counts of states."""

    states: Sequence[Secret]
    """Names of the states, ascending."""
    units: Sequence[Secret]
    """Names of the units; one, None, without a column of units."""
    lengths: IndexArray
    """Number of rows of each piece, shape (pieces,)."""
    unit_of: IndexArray
    """Number of the unit of each piece."""
    first: IndexArray
    """Number of the first state of each piece."""
    skipped: IndexArray
    """Times without a state before each piece, shape (pieces,): since the piece before it; for the first of a unit
    since the unit's first row, with or without a state."""
    bridged: bool
    """Whether the chain runs on through the gaps; otherwise each piece starts anew, independent of the others."""
    counts: NDArray[np.int64]
    """How often each state occurs in each unit, shape (units, states); in all together, where a plan was not asked for
    more, shape (1, states)."""
    transitions: NDArray[np.int64]
    """How often each state was followed by each, within pieces, shape (states, states)."""
    impossible: bool = False
    """Whether the rows are the nodes of networks, none of which allows their states."""

    @property
    def rows(self) -> int:
        """Number of rows with a state."""
        return int(self.lengths.sum())

    @property
    def starts(self) -> IndexArray:
        """Number of the row that each piece begins with, and the number of rows, shape (pieces + 1,)."""
        return np.append(0, np.cumsum(self.lengths))

    def extents(self, *, from_start: bool = False) -> list[tuple[int, int]]:
        """The different (times from first to last, rows) of stretches that depend on no other, longest first.

        The first time is that of the first state; `from_start`: that of the unit's first row, with or without a state,
        as a law of the first state asks for.
        """
        if self.bridged:
            rows = np.bincount(self.unit_of, self.lengths, minlength=len(self.units)).astype(np.int64)
            missing_times = self.skipped if from_start else np.where(self._begins, 0, self.skipped)
            times = rows + np.bincount(self.unit_of, missing_times, minlength=len(self.units)).astype(np.int64)
        else:
            rows = times = self.lengths
        order = np.lexsort((rows, times))[::-1]
        times, rows = times[order], rows[order]
        other = np.append(True, (times[1:] != times[:-1]) | (rows[1:] != rows[:-1]))
        return list(zip(times[other].tolist(), rows[other].tolist(), strict=True))

    def patterns(self, *, from_start: bool = False) -> list[NDArray[np.bool_]]:
        """At which of its times a stretch has a row, each different one once, those of most rows first.

        The first time is as in `extents`.
        """
        if not self.bridged:
            return [np.ones(length, dtype=bool) for length in sorted(set(self.lengths.tolist()), reverse=True)]
        found = {}
        ends = np.append(np.flatnonzero(self._begins), self.lengths.size)
        for begin, end in pairwise(ends.tolist()):
            skipped = self.skipped[begin:end].copy()
            skipped[0] *= from_start
            runs = np.stack((skipped, self.lengths[begin:end]), axis=1).ravel()
            found[runs.tobytes()] = runs
        seen = [np.repeat(np.arange(runs.size) % 2 == 1, runs) for runs in found.values()]
        return sorted(seen, key=lambda times: -int(times.sum()))

    def bridges(self, *, from_start: bool) -> int:
        """How many gaps the chain runs on through; those before the first state of a unit only with `from_start`."""
        return int(((self.skipped > 0) & (from_start | ~self._begins)).sum()) if self.bridged else 0

    def most_within(self, spans: IndexArray, /) -> NDArray[np.int64]:
        """The largest number of rows of a unit within so many consecutive times, an entry per span.

        As many are in a window that begins where a piece does: any other one can be moved there without losing a row.
        The number of pieces times the longest span has to be below 2**62.
        """
        far = int(spans.max()) + 1
        apart = np.where(self._begins, far, np.minimum(self.skipped, far))
        begins = np.cumsum(apart + np.append(0, self.lengths[:-1]), dtype=np.int64)
        knots = np.stack((begins, begins + self.lengths), axis=1).ravel()
        starts = self.starts
        before = np.stack((starts[:-1], starts[1:]), axis=1).ravel()
        most = np.empty(spans.size, dtype=np.int64)
        for k, span in enumerate(spans.tolist()):
            place = np.searchsorted(knots, begins + span, side="right") - 1
            rows = before[place] + np.where(place % 2 == 0, begins + span - knots[place], 0)  # inside a piece, or after
            most[k] = (rows - starts[:-1]).max()
        return most

    @property
    def times(self) -> float:
        """How many times there are from the first to the last row of all units together, with and without a row."""
        return float(self.lengths.sum()) + float(np.where(self._begins, 0, self.skipped).astype(float).sum())

    def timeline(self, *, apart: int) -> tuple[IndexArray, IndexArray]:
        """All times from the first to the last row of every unit on one line, and the number of rows before each place.

        Units lie `apart` from one another and from both ends of the line.
        """
        gaps = np.where(self._begins, apart, self.skipped)
        begins = np.cumsum(gaps + np.append(0, self.lengths[:-1]))
        ends = begins + self.lengths
        held = np.zeros(int(ends[-1]) + apart + 1, dtype=np.int64)
        held[begins] += 1
        held[ends] -= 1
        before = np.append(0, np.cumsum(np.cumsum(held[:-1])))
        first = begins[self._begins]
        last = ends[np.append(np.flatnonzero(self._begins)[1:] - 1, ends.size - 1)]
        inside = np.zeros(held.size, dtype=np.int64)
        inside[first] += 1
        inside[last] -= 1
        return np.flatnonzero(np.cumsum(inside)), before

    def first_states(self) -> NDArray[np.int64]:
        """How often each state begins a stretch that depends on no other.

        Where the chain runs on through gaps, a unit whose first row has no state begins with none.
        """
        first = self.first[self._begins & (self.skipped == 0)] if self.bridged else self.first
        return np.bincount(first, minlength=len(self.states))

    @property
    def _begins(self) -> NDArray[np.bool_]:
        """Which pieces are the first of a unit."""
        return np.append(True, self.unit_of[1:] != self.unit_of[:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRows:
    """Different values of each unit, ascending. An entry of `units` may stand for several units that add the same."""

    units: Sequence[Secret]
    """Names of the units, or of the first of several, shape (units,)."""
    values: FloatArray
    """The values of a unit, unit after unit, shape (values,); 0 where no column was named."""
    times: IndexArray
    """In how many rows of its unit each value is, shape (values,)."""
    starts: IndexArray
    """Start of each unit's values, and the end of the last, shape (units + 1,)."""
    groups: Sequence[tuple[Secret, ...]]
    """Names of the groups, one tuple of labels each."""
    group_of: IndexArray
    """Number of the group of each unit."""
    often: IndexArray
    """How many units each entry stands for, shape (units,)."""
    moved: float = 0.0
    """Share of the rows whose value was clipped."""

    def with_different_values(self) -> UnitRows:
        """From values of which some neighbours within a unit may be equal."""
        fresh = np.append(True, self.values[1:] != self.values[:-1])[: self.values.size]
        fresh[self.starts[:-1]] = True
        if fresh.all():
            return self
        places = np.flatnonzero(fresh)
        times, starts = np.add.reduceat(self.times, places), np.searchsorted(places, self.starts)
        return replace(self, values=self.values[places], times=times, starts=starts)

    @property
    def sizes(self) -> IndexArray:
        """The number of rows of each unit, shape (units,)."""
        return np.add.reduceat(self.times, self.starts[:-1])

    def totals(self, *, added: bool) -> tuple[FloatArray, FloatArray]:
        """The sum of each group up to rounding, and its count: of rows, or of units with the mean of their rows."""
        unit = np.repeat(np.arange(len(self.units)), np.diff(self.starts))
        weights = self.times * self.often[unit] / (1 if added else self.sizes[unit])
        group, groups = self.group_of[unit], len(self.groups)
        found = [np.bincount(group, each, groups).astype(np.float64) for each in (weights * self.values, weights)]
        return found[0], found[1]

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.often.sum())
