"""The draws of a release on the columns that they read, also batch by batch, and what a frame gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa

from puffer_frames.frames.arrow import as_kept, own_entries
from puffer_frames.frames.coded import Coded, as_series, check_levels, codes_in
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.dates import arrow_from_days
from puffer_frames.frames.roles import Roles
from puffer_frames.noise.adding import Arrays, Columns, Draw, Levels, Move, Reals
from puffer_frames.noise.stream import Numbers, ReleaseKey, Rows
from puffer_frames.priors.prior import FloatArray

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
        """The draws of a release of these columns.

        Raises ValueError where a public column is written by none or by several, and would leave as it is or twice; and
        where any other column is written.
        """
        written = [name for draw in draws for name in draw.writes]
        if sorted(written) != sorted(public):
            raise ValueError("each public column must be written by exactly one draw, and no other column by any.")
        if any(len(levels or ()) > _MOST for draw in draws for levels in (*draw.reads.values(), *draw.writes.values())):
            raise ValueError(f"a column that is drawn must have at most {_MOST} levels.")
        return cls(each=tuple(draws))

    @property
    def key(self) -> ReleaseKey:
        return self.each[0].key

    @property
    def reads(self) -> tuple[tuple[str, Levels | None], ...]:
        """The columns that are read, with their levels; a column may be read in two ways."""
        return tuple(dict.fromkeys(read for draw in self.each for read in draw.reads.items()))

    def check(self, coded: Mapping[str, Coded], /) -> None:
        """Raise CalibrationError for columns with levels that no draw knows."""
        read = [(name, levels) for name, levels in self.reads if levels is not None and name in coded]
        check_levels({name: coded[name].others(levels) for name, levels in read})

    @property
    def writes(self) -> Columns:
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


NUMBER = "number"
"""Column beside the released ones: of the row's number."""
PLACE_BITS = 33
"""Spark numbers rows by partition, shifted by so many bits, plus the place in the partition."""
TOGETHER, MOST_BYTES = 1 << 16, 1 << 24
"""Batches are put together to so many rows, or bytes: a call of NumPy costs as much as many of its values."""


def gathered(batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer and larger batches."""
    held, rows, size = list[pa.RecordBatch](), 0, 0
    for batch in batches:
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= TOGETHER or size >= MOST_BYTES:
            yield from _joined(held)
            held, rows, size = [], 0, 0
    yield from _joined(held)


def _joined(batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    return batches if len(batches) < 2 else pa.Table.from_batches(batches).combine_chunks().to_batches()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseStep:
    """Adds the noise of a release. Spark sends it to the tasks, and with it the key.

    Expects the column `NUMBER`, the columns that it gives, and those that the draws read.
    """

    draws: Draws
    """What is done to the public columns."""
    roles: Roles
    names: Sequence[str]
    """Names of all columns of the frame."""
    dates: Mapping[str, pa.DataType]
    """Types of the public columns of days that leave as dates."""
    firsts: Sequence[int] | None = None
    """Number of the first row of each partition, where rows are numbered by partition; None for final numbers."""
    also: tuple[str, ...] = ()
    """Plain names of further columns, which leave last."""

    @property
    def read(self) -> dict[str, str]:
        """Plain names of the columns that the draws read, by their own."""
        return self.roles.read_as(name for name, _ in self.draws.reads)

    @property
    def written(self) -> dict[str, str]:
        """Own names of the public columns, by the plain ones."""
        return self.roles.plain("public")

    @property
    def gives(self) -> tuple[str, ...]:
        """Plain names of the columns that leave, in their order."""
        plain = {name: alias for alias, name in self.roles.plain("keep", "public").items()}
        return (*(plain[name] for name in self.names if name in plain), *self.also)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it expects."""
        return tuple(dict.fromkeys((NUMBER, *self.gives, *self.read.values())))

    def noise(self, batches: Iterator[pa.RecordBatch], /) -> Iterator[pa.RecordBatch]:
        """The batches with noise: a function of each row and its number alone."""
        draw, writes = self.draws.prepared(), self.draws.writes
        plain, written, gives = self.read, self.written, self.gives
        for batch in gathered(batches):

            def read(name: str, levels: Levels | None, batch: pa.RecordBatch = batch) -> Reals:
                return read_series(_entries(batch.column(plain[name])), levels, name=name)

            drawn, columns = draw(read, self._numbers(batch.column(NUMBER))), []
            for alias in gives:
                name, given = written.get(alias), batch.column(alias)
                if name is None:
                    columns.append(own_entries(given))
                    continue
                found = _written(drawn[name], writes[name], given, name=name)
                if name in self.dates:  # of which a missing one is NaN
                    found = arrow_from_days(found.to_numpy(zero_copy_only=False), self.dates[name])
                columns.append(found)
            yield pa.RecordBatch.from_arrays(columns, list(gives))

    def _numbers(self, column: pa.Array) -> Numbers:
        numbers: Numbers = np.array(column.to_numpy(zero_copy_only=False), dtype=np.int64)
        if self.firsts is None:
            return numbers
        firsts: Numbers = np.array(self.firsts, dtype=np.int64)
        return firsts[numbers >> PLACE_BITS] + (numbers & ((1 << PLACE_BITS) - 1))


def _written(values: Reals, levels: Levels | None, given: pa.Array, *, name: str) -> pa.Array:
    """A column as a draw wrote it, in its own memory."""
    if levels is None:
        return pa.array(values if values.flags.owndata else values.copy(), type=pa.float64())
    found = written_series(values, levels, _entries(given[:0]).dtype, name=name)  # the dtype alone: texts are copied
    return as_kept(found.to_arrow(compat_level=pl.CompatLevel.oldest()), given.type)


def _entries(column: pa.Array) -> pl.Series:
    entries = pl.from_arrow(column)
    assert isinstance(entries, pl.Series)
    return entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A released frame, and what its certificate says of it."""

    frame: NativeFrame
    """A frame of the kind that was given."""
    rows: int
    """Number of rows."""
    sample: Mapping[str, FloatArray]
    """Some released values of each column of numbers; none of a plan."""
    fingerprint: str
    """What ties the certificate to the values; empty for a plan, whose values are not known yet."""
    levels: tuple[str, ...] = ()
    """Names of the levels of a pandas index that was kept: they are released as they were."""
