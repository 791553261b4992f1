"""Noise whose scale depends on the stratum of a row: on the values of columns that are released as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from puffer_frames.noise.adding import Reals
from puffer_frames.noise.mechanism import Mechanism
from puffer_frames.noise.stream import Numbers, ReleaseKey, Rows
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray, IndexArray

StratumMove: TypeAlias = Callable[[Reals, Rows | None, IndexArray], FloatArray]
"""From values, the numbers of their rows and those of their strata to released values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StratifiedMechanism:
    """The noise of one column of one release, per stratum."""

    column: str
    """Name of the column."""
    given: tuple[str, ...]
    """Names of the columns whose joint value is the stratum."""
    strata: tuple[tuple[Level, ...], ...]
    """Their values, per stratum."""
    parts: tuple[Mechanism, ...]
    """What is done to the values of each stratum."""

    @property
    def key(self) -> ReleaseKey:
        """Key of the release."""
        return self.parts[0].key

    def prepared(self) -> StratumMove:
        """The released value of a row depends on its value, its number and its stratum alone."""
        moves = [part.prepared() for part in self.parts]

        def move(values: Reals, rows: Rows | None, strata: IndexArray) -> FloatArray:
            numbers = numbered(len(values), rows)
            moved = np.empty(len(values), dtype=np.float64)
            for one, places in zip(moves, places_of(strata, len(moves)), strict=True):
                if places.size:
                    moved[places] = one(values[places], numbers[places])
            return moved

        return move


def numbered(count: int, rows: Rows | None, /) -> Numbers:
    """The numbers of so many rows; by default 0, ..., count - 1."""
    return np.asarray(np.arange(count) if rows is None else rows, dtype=np.int64)


def places_of(strata: IndexArray, count: int, /) -> list[IndexArray]:
    """Where the rows of each stratum are, in their order."""
    order = np.argsort(strata, kind="stable")
    ends = np.searchsorted(strata[order], np.arange(count + 1))
    return [order[ends[k] : ends[k + 1]] for k in range(count)]
