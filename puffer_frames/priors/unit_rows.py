"""The rows of units: whose record a row is, what it adds, and in which group it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray, IndexArray, Secret


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
    """Where each unit's values begin, and the end of the last, shape (units + 1,)."""
    groups: Sequence[tuple[Secret, ...]]
    """Names of the groups, one tuple of labels each."""
    group_of: IndexArray
    """Number of the group of each unit."""
    often: IndexArray
    """How many units each entry stands for, shape (units,)."""

    @classmethod
    def of(
        cls,
        units: Sequence[Secret],
        values: FloatArray,
        starts: IndexArray,
        /,
        *,
        times: IndexArray,
        groups: Sequence[tuple[Secret, ...]],
        group_of: IndexArray,
        often: IndexArray,
    ) -> UnitRows:
        """From values of which some neighbours may be equal, ascending within a unit."""
        fresh = np.ones(values.size, dtype=bool)
        fresh[1:] = values[1:] != values[:-1]
        fresh[starts[:-1]] = True
        if not fresh.all():
            places = np.flatnonzero(fresh)
            values, times = values[places], np.add.reduceat(times, places)
            starts = np.searchsorted(places, starts)
        return cls(
            units=units, values=values, times=times, starts=starts, groups=groups, group_of=group_of, often=often
        )

    @property
    def sizes(self) -> IndexArray:
        """The number of rows of each unit, shape (units,)."""
        return np.add.reduceat(self.times, self.starts[:-1])

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.often.sum())
