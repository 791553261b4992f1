"""One run of a plan: how its rows are recognised, what its public columns hold, and counts where these are few."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.order import Sample, Windows
from puffer_frames.frames.plans import trace as trace_module
from puffer_frames.frames.plans.trace import Marker, Marking, Trace, in_batches
from puffer_frames.frames.tally import Bits, Codes, Counted, Extent, Tally
from puffer_frames.priors.prior import IndexArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What one run says."""

    trace: Trace
    extents: tuple[Extent, ...]
    """The extent of each public column of numbers."""
    counted: tuple[Counted | None, ...]
    """Rows per secret and value of each of these, where they could be counted at once."""
    different: tuple[int, ...]
    """Number of different entries among the first rows of each public column of labels."""
    unnumbered: int
    """Rows without a number, where a column numbers them."""
    repeated: int
    """Rows with the number of another."""
    sample: Sample
    """Windows of neighbouring rows, as this run had them."""


def survey(
    plan: pl.LazyFrame, /, *, secrets: int, own: int, public: int, few: int, ordered: bool, coded: Sequence[int] = ()
) -> Survey | None:
    """Run a plan once: its columns are the secrets, the public columns, and the numbers of rows that are not ordered.

    None for a plan without rows. A column with more than `few` different values is counted in cells. The public columns
    numbered in `coded` hold labels: they are traced, and not counted. The first `own` secrets are looked at for their
    order; rows are counted by all of them.
    """
    marker, names = Marker(ordered=ordered), plan.collect_schema().names()
    marks, marked = marker.beside(plan, names)
    batches = in_batches(plan.select(*names, *marks))
    begin = _begin(batches)
    if not begin:
        return None
    first = pl.concat(begin)
    places = [secrets + k for k in range(public) if k not in coded]
    looker = _Looker(first, marker, marked=marked, secrets=secrets, own=own, numbers=places, few=few)
    different = tuple(first[:, secrets + k].n_unique() for k in coded)
    del first
    marking, windows = Marking(marker), Windows(own)
    seen, numbers = list[list[_Column]](), list[NDArray[np.int64]]()
    runs, last = 0, None
    for batch in chain(_emptied(begin), batches):
        bits, keys, columns = looker.look(batch)
        marking.take(bits)
        seen.append(columns)
        runs += int(np.count_nonzero(keys[1:] != keys[:-1])) + bool(last is None or keys[0] != last)
        last = keys[-1]
        if not ordered:
            numbers.append(np.array(batch[:, len(names) - 1].drop_nulls().to_numpy(), dtype=np.int64))
        wanted = windows.wanted(len(batch))  # copies of the rows of some windows: a batch is not kept
        shown = [*range(own), *range(secrets, secrets + public)]
        taken = [_entries(batch[:, k], bits[k], wanted, text=k < own) for k in shown]
        windows.take(wanted, taken, rows=len(batch))
    return Survey(
        trace=Trace(marker=marker, rows=marking.rows, marks=marking.end(), runs=runs),
        extents=tuple(_extent(parts) for parts in zip(*seen, strict=True)),
        counted=tuple(tally.counted() if tally else None for tally in looker.tallies),
        different=different,
        unnumbered=0 if ordered else marking.rows - sum(map(len, numbers)),
        repeated=_repeated(numbers),
        sample=windows.sample(),
    )


def _entries(values: pl.Series, bits: Bits, wanted: IndexArray, *, text: bool) -> NDArray[Any]:
    """Wanted entries of a column: texts where they are wanted, or else numbers in their order, or in any."""
    if text and values.dtype in (pl.String, pl.Categorical, pl.Enum):
        return values[wanted].cast(pl.String).to_numpy()
    if values.dtype in (pl.Int128, pl.UInt128):
        return values[wanted].cast(pl.Float64).to_numpy()
    return bits[wanted].view(np.float64 if values.dtype.is_float() else np.int64)


def _begin(batches: Iterator[pl.DataFrame]) -> deque[pl.DataFrame]:
    """The first batches, which say how the rows are counted: some `BLOCK` of rows."""
    begin, rows = deque[pl.DataFrame](), 0
    while rows < trace_module.BLOCK and (batch := next(batches, None)) is not None:
        begin.append(batch)
        rows += len(batch)
    return begin


def _emptied(batches: deque[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The batches, none kept: each may be a part of a much larger block of memory."""
    while batches:
        yield batches.popleft()


def _repeated(parts: list[NDArray[np.int64]]) -> int:
    """How many numbers of rows are those of another one; their list is empty afterwards.

    They take eight bytes a row, less than a hash table of them.
    """
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
    parts.clear()
    numbers.sort()
    return int(np.count_nonzero(numbers[1:] == numbers[:-1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What a batch holds of a public column."""

    missing: int
    infinite: int
    low: Any
    high: Any
    finite: int
    mean: float
    squares: float
    """Sum of the squared distances from the mean."""

    @classmethod
    def of(cls, values: pl.Series, /) -> _Column:
        floats, finite = values.cast(pl.Float64), values
        mean = _mean(floats)
        missing, infinite = values.null_count(), 0
        if values.dtype.is_float() and not math.isfinite(mean):
            missing += int(values.is_nan().sum())
            infinite = int(values.is_infinite().sum())
        if missing or infinite:
            finite = values.filter(values.is_finite() if values.dtype.is_float() else values.is_not_null())
            floats = finite.cast(pl.Float64)
            mean = _mean(floats)
        variance: Any = floats.var(ddof=0)
        return cls(
            missing=missing,
            infinite=infinite,
            low=finite.min(),
            high=finite.max(),
            finite=len(finite),
            mean=mean,
            squares=float(variance or 0.0) * len(finite),
        )

    def joined(self, more: _Column, /) -> _Column:
        finite = self.finite + more.finite
        share = more.finite / finite if finite else 0.0
        away = more.mean - self.mean
        return _Column(
            missing=self.missing + more.missing,
            infinite=self.infinite + more.infinite,
            low=min((end for end in (self.low, more.low) if end is not None), default=None),
            high=max((end for end in (self.high, more.high) if end is not None), default=None),
            finite=finite,
            mean=self.mean + share * away,
            squares=self.squares + more.squares + away * away * share * self.finite,
        )


def _mean(values: pl.Series, /) -> float:
    found: Any = values.mean()
    return float(found or 0.0)


def _extent(parts: Iterable[_Column]) -> Extent:
    whole = reduce(_Column.joined, parts)
    std = math.sqrt(whole.squares / (whole.finite - 1)) if whole.finite > 1 else 0.0
    return Extent(missing=whole.missing, infinite=whole.infinite, low=whole.low, high=whole.high, std=lambda: std)


class _Looker:
    """Looks at the batches of a plan, each by itself, and counts their rows by what the first rows hold.

    - `marked`: Places of what `Marker.bits` takes for each of the frame's own columns.
    - `secrets`, `own`: How many of these are secrets, and how many of them are looked at for their order.
    - `numbers`: Places of the public columns of numbers.
    """

    def __init__(
        self,
        first: pl.DataFrame,
        marker: Marker,
        /,
        *,
        marked: Sequence[int],
        secrets: int,
        own: int,
        numbers: Sequence[int],
        few: int,
    ) -> None:
        self._marker, self._marked, self._secrets, self._own, self._numbers = marker, marked, secrets, own, numbers
        labels = first[:, :secrets]
        keys = marker.key_of([marker.bits(first[:, marked[k]]) for k in range(secrets)])
        codes = None if any(column.null_count() for column in labels) else Codes.of(labels, keys)
        values = [first[:, place] for place in numbers]
        self.tallies = [Tally.of(column, codes, few=few) if codes else None for column in values]

    def look(self, batch: pl.DataFrame, /) -> tuple[list[Bits], Bits, list[_Column]]:
        """The bits of the batch's columns, those of the secrets, and the public columns of numbers; its rows are
        counted.
        """
        held = {place: batch[:, place].rechunk() for place in {*self._numbers, *self._marked}}
        values = [held[place] for place in self._numbers]
        bits = [self._marker.bits(held[place]) for place in self._marked]
        keys = self._marker.key_of(bits[: self._secrets])
        columns = [_Column.of(column) for column in values]
        for tally, column, found in zip(self.tallies, values, columns, strict=True):
            if tally and found.finite == len(column):
                tally.take(column, keys, low=found.low, high=found.high)
            elif tally:
                tally.give_up()
        return bits, self._marker.key_of(bits[: self._own]) if self._own < self._secrets else keys, columns
