"""A released plan: a source of rows for Polars that draws the noise in every run, the same in each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from puffer_frames.errors import PufferError, UncoveredFrameError, told_of
from puffer_frames.frames.coded import released_dtype
from puffer_frames.frames.dates import from_days, plain_numbers
from puffer_frames.frames.draws import NUMBER, Draws, read_series, written_series
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.local.own import entries_alone, own_series
from puffer_frames.frames.plans.trace import Compared
from puffer_frames.frames.stamps.fingerprint import Fingerprint
from puffer_frames.frames.stamps.parquet import as_file_metadata
from puffer_frames.frames.stamps.whole_file import Naming, replacing
from puffer_frames.frames.tally import other_rows
from puffer_frames.noise.adding import Levels, Reals
from puffer_frames.noise.stream import Rows
from puffer_frames.noise.usefulness import sampled
from puffer_frames.numbers.threads import ahead
from puffer_frames.priors.prior import FloatArray

_ATTRIBUTE = "_puffer_frames_source"
_SAMPLED = 1 << 10
"""The most values of a batch that are kept to estimate what the noise hides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A released plan, as Polars reads it: it holds the raw rows and the key of the release."""

    compared: Compared
    """The rows, which are compared with the earlier run."""
    columns: Mapping[str, str]
    """Names of the released columns, in their order, by those of the rows."""
    draws: Draws
    """What is done to the public ones."""
    read: Mapping[str, str]
    """Names in the rows of the columns that the draws read, by their own; those that are not released stay here."""
    used: Mapping[str, pl.DataType]
    """Dtypes of kept columns of Enums, with the categories that the rows have."""
    named: bool
    dates: Mapping[str, pl.DataType] = field(default_factory=dict)
    """Dtypes of the released columns of dates, which the rows have in days."""
    first: list[Callable[[], None]] = field(default_factory=list)
    """Called before a run of Polars' own gives its first row: what it raises keeps the rows back."""

    def plan(self, watch: Watch | None = None, /) -> pl.LazyFrame:
        """The released plan."""
        schema = self.compared.rows.collect_schema()
        writes = self.draws.writes
        released = {
            own: self._dtype(own, schema[name]) if own in writes else self.used.get(name, schema[name])
            for name, own in self.columns.items()
        }
        watched = watch or Watch()

        def read(
            with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, _batch: int | None
        ) -> Iterator[pl.DataFrame]:
            batches = self._batches(n_rows)
            for batch in watched.over(self._begun(batches) if watch is None else batches):
                wanted = batch if predicate is None else batch.filter(predicate)
                yield wanted if with_columns is None else _only(wanted, with_columns)

        found = register_io_source(read, schema=released, is_pure=True)
        setattr(found, _ATTRIBUTE, self)
        return found

    def _dtype(self, name: str, given: pl.DataType) -> pl.DataType:
        if name in self.dates:
            return self.dates[name]
        levels = self.draws.writes[name]
        return pl.Float64() if levels is None else released_dtype(given, levels, name=name)

    def numbers(self) -> list[str]:
        """Names of the released columns of noisy numbers."""
        return [name for name, levels in self.draws.writes.items() if levels is None]

    def __reduce__(self) -> NoReturn:
        """The key of a release is in memory only."""
        raise UncoveredFrameError(
            "a released plan",
            rule="run, not saved: it holds the raw rows and the key",
            got="an attempt to serialize it",
            hint="Write what it gives: released.puffer.sink_parquet(path).",
        )

    def _begun(self, batches: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """The same batches; Polars may hand over each as soon as it has it, so that nothing can be taken back later."""
        for k, batch in enumerate(batches):
            for call in self.first if k == 0 else ():
                call()
            yield batch

    def _batches(self, most: int | None) -> Iterator[pl.DataFrame]:
        """Released rows, at most so many; with row numbers in no order, nothing before all rows were compared."""
        if most is not None and self.named:
            yield pl.concat(list(self._moved(None))).head(most)
            return
        rows = self.compared.trace.rows
        left = rows if most is None else min(most, rows)
        for batch in self._moved(most):
            yield batch.head(left)
            left -= len(batch)
            if left <= 0 and most is not None:
                return

    def _moved(self, most: int | None) -> Iterator[pl.DataFrame]:
        """Released rows: one thread makes the next ones while these are used; more would wait for one another."""
        held, given = deque[pl.DataFrame](), 0
        draw, writes = self.draws.prepared(), self.draws.writes

        def move(compared: tuple[int, Rows, pl.DataFrame]) -> tuple[int, pl.DataFrame]:
            sure, numbers, batch = compared

            def read(name: str, levels: Levels | None) -> Reals:
                return read_series(batch[self.read[name]], levels, name=name)

            drawn = draw(read, numbers)
            columns = {
                own: written_series(drawn[own], writes[own], batch[name].dtype, name=own)
                if own in writes
                else self._kept(batch[name])
                for name, own in self.columns.items()
            }
            columns |= {own: from_days(columns[own].to_numpy(), dtype) for own, dtype in self.dates.items()}
            return sure, pl.DataFrame(columns)

        for sure, moved in ahead(map(move, self._compared(most))):
            held.append(moved)
            while held and given + len(held[0]) <= sure:
                given += len(held[0])
                yield held.popleft()
        yield from held

    def _kept(self, entries: pl.Series) -> pl.Series:
        """Entries of a kept column, in an Enum of what the rows had when they were counted."""
        if entries.dtype in (pl.String, pl.Binary, pl.Categorical) and not entries.null_count():
            return entries
        try:
            return entries_alone(entries, self.used.get(entries.name))
        except pl.exceptions.PolarsError:  # another category
            raise other_rows("the noise", hint="Collect the frame first", named=self.named) from None

    def _compared(self, most: int | None) -> Iterator[tuple[int, Rows, pl.DataFrame]]:
        """How many rows so far are sure to be those of the earlier run; the numbers and the entries of the next."""
        first = 0
        names = dict.fromkeys([*self.columns, *self.read.values(), *([NUMBER] * self.named)])
        for sure, batch in self.compared.batches(list(names), most=most):
            numbers = batch[NUMBER].to_numpy() if self.named else range(first, first + len(batch))
            first += len(batch)
            yield sure, numbers, batch


def _only(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Some columns of the rows; where there are none, still as many rows, which `select` would forget."""
    if names:
        return rows.select(rows[name] for name in names)
    found = rows[:, :1].clone()
    found.drop_in_place(found.columns[0])
    return found


class Watch:
    """Sees the batches of a run, and keeps the error that ends it: Polars may wrap it in one of its own."""

    def __init__(self, seen: Callable[[pl.DataFrame], None] | None = None, /) -> None:
        self.ended = False
        """Whether the last run came to its end."""
        self._seen = seen
        self._error: PufferError | None = None

    def over(self, batches: Iterator[pl.DataFrame], /) -> Iterator[pl.DataFrame]:
        """The same batches."""
        self.ended = False
        try:
            for batch in batches:
                if self._seen is not None:
                    self._seen(batch)
                yield batch
        except Exception as error:
            told = told_of(error, "a run of the released plan")
            if isinstance(error, PufferError):  # which Polars 1.35 hides in one of its own
                self._error = error
            if told is error:
                raise
        else:
            self.ended = True
            return
        raise told

    def run(self, source: Source, execute: Callable[[pl.LazyFrame], Any], /) -> Any:
        """What `execute` makes of the released plan."""
        return self.result(lambda: execute(source.plan(self)))

    def result(self, execute: Callable[[], Any], /) -> Any:
        """What `execute` makes of a plan over the batches."""
        try:
            return execute()
        except pl.exceptions.PolarsError:
            if self._error is None:
                raise
            raise self._error from None


def collect_plan(frame: pl.LazyFrame, /) -> pl.DataFrame | None:
    """The rows of a released plan; None for any other frame."""
    source = _source_of(frame)
    if source is None:
        return None
    rows: pl.DataFrame = Watch().run(source, lambda plan: plan.collect(engine="streaming"))
    return pl.DataFrame({column.name: own_series(column) for column in rows})


def sink_plan(
    frame: pl.LazyFrame,
    path: str | Path,
    metadata: Callable[[str, Mapping[str, FloatArray]], dict[str, Any]],
    /,
    *,
    durable: bool = False,
    new: bool = False,
    naming: Naming = nullcontext,
) -> bool:
    """Write a released plan to a Parquet file, in one pass; False for any other frame.

    `metadata` gets the fingerprint of the rows, and some of the noisy values. A run that fails leaves no file. A
    durable file is on the disk before it has its name, and a new one replaces none.
    """
    source = _source_of(frame)
    if source is None:
        return False
    taken = Fingerprint()
    parts: dict[str, list[FloatArray]] = {name: [] for name in source.numbers()}

    def seen(batch: pl.DataFrame) -> None:
        taken.update(nw.from_native(batch, eager_only=True))
        for name, sample in parts.items():
            sample.append(sampled(plain_numbers(batch[name]), most=_SAMPLED).copy())

    def entry(_context: object) -> dict[str, str]:
        sample = {name: np.concatenate(values) for name, values in parts.items()}
        return as_file_metadata(metadata(taken.hexdigest(), sample))

    watch = Watch(seen)
    # Polars writes to a descriptor of its own, which a late thread may still use
    with replacing(path, durable=durable, new=new, naming=naming) as file:
        watch.run(source, lambda plan: plan.sink_parquet(file, metadata=entry, engine="streaming"))
    return True


def _source_of(frame: object) -> Source | None:
    check_process()
    found = getattr(frame, _ATTRIBUTE, None)
    return found if isinstance(found, Source) else None


def before_first_row(frame: Any, call: Callable[[], None], /) -> None:
    """Have every run of Polars' own of a released plan call this before it gives a row."""
    source = getattr(frame, _ATTRIBUTE, None)
    if isinstance(source, Source):
        source.first.append(call)
