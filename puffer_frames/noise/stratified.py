"""Noise whose scale depends on the stratum of a row: on the values of columns that are released as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from puffer_frames.noise.adding import Reals
from puffer_frames.noise.mechanism import Mechanism
from puffer_frames.noise.stream import ReleaseKey, Rows
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
            numbers = np.asarray(np.arange(len(values)) if rows is None else rows, dtype=np.int64)
            moved = np.empty(len(values), dtype=np.float64)
            order = np.argsort(strata, kind="stable")
            ends = np.searchsorted(strata[order], np.arange(len(moves) + 1))
            for k, one in enumerate(moves):
                places = order[ends[k] : ends[k + 1]]
                if places.size:
                    moved[places] = one(values[places], numbers[places])
            return moved

        return move
