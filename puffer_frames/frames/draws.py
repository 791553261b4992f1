"""The draws of a release, handed the columns that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from puffer_frames.frames.coded import as_series, codes_in
from puffer_frames.noise.adding import Reals
from puffer_frames.noise.draw import Arrays, Columns, Draw, Levels, Move
from puffer_frames.noise.stream import ReleaseKey, Rows

Reader: TypeAlias = Callable[[str, Levels | None], Reals]
"""From a column and its levels, or None for numbers, to its array; raises CalibrationError for other levels."""

_MOST = 2**16 - 1
"""Levels that the codes have room for, beside one for any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The draws of a release: each of its public columns is written by one."""

    each: tuple[Draw, ...]
    """Picklable: Spark sends them to its tasks."""

    @classmethod
    def of(cls, draws: Sequence[Draw], /, *, public: Sequence[str]) -> Draws:
        """Those of a release of these columns.

        Raises
        ------
        ValueError
            Where a public column is written by none or by several, and would leave as it is or twice; and where any
            other column is written.
        """
        written = [name for draw in draws for name in draw.writes]
        if sorted(written) != sorted(public):
            raise ValueError("each public column must be written by exactly one draw, and no other column by any.")
        if any(len(levels or ()) > _MOST for draw in draws for levels in (*draw.reads.values(), *draw.writes.values())):
            raise ValueError(f"a column that is drawn must have at most {_MOST} levels.")
        return cls(each=tuple(draws))

    @property
    def key(self) -> ReleaseKey:
        """Key of the release."""
        return self.each[0].key

    @property
    def reads(self) -> tuple[tuple[str, Levels | None], ...]:
        """The columns that are read, with their levels; a column may be read in two ways."""
        return tuple(dict.fromkeys(read for draw in self.each for read in draw.reads.items()))

    @property
    def writes(self) -> Columns:
        """The public columns, with their levels."""
        return {name: levels for draw in self.each for name, levels in draw.writes.items()}

    def prepared(self) -> Callable[[Reader, Rows | None], Arrays]:
        """What is done to a part of the rows at a time: from their columns and numbers to all public columns."""
        moves: list[tuple[Columns, Move]] = [(draw.reads, draw.prepared()) for draw in self.each]

        def drawn(read: Reader, rows: Rows | None) -> Arrays:
            found: dict[str, Reals] = {}
            for reads, move in moves:
                found |= move({name: read(name, levels) for name, levels in reads.items()}, rows)
            return found

        return drawn


def read_series(entries: pl.Series, levels: Levels | None, /, *, name: str) -> Reals:
    """A column as a draw reads it."""
    if levels is None:
        return entries.cast(pl.Float64).to_numpy()
    return codes_in(levels, entries, name=name)


def written_series(values: Reals, levels: Levels | None, given: pl.DataType, /, *, name: str) -> pl.Series:
    """A column as a draw wrote it: numbers as 64-bit floats, labels like a column of the given dtype."""
    if levels is None:
        return pl.Series(values, dtype=pl.Float64)
    return as_series(values.astype(np.uint16, copy=False), levels, given, name=name)
