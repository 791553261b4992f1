"""Series of a Polars plan, laid out on a line by the streaming engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.counted_series import STATE, TIME, numbered_entries
from puffer_frames.frames.series.asked import SeriesColumns, numbers_of_states
from puffer_frames.frames.series.timeline import FIRST_STATE, NO_STATE, Layout, Timeline
from puffer_frames.frames.units.sizes import UNIT
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows

_LOW, _HIGH, _BEGIN = "low", "high", "begin"
_PLACE, _HELD = "place", "held"
_SAMPLED_UNITS, _SAMPLED_ROWS = 64, 4096
"""The step is guessed from so many rows of so many units."""
_CHUNK = 1 << 18
"""Rows of a batch."""
_ROWS_PER_UNIT = 8
"""Arrays have room for as many units between the smallest and the largest as there would be with so few rows each."""


def lay_out(rows: pl.LazyFrame, asked: SeriesColumns, count: int, /) -> SeriesRows | None:
    """Series of so many rows of integer times; None where the times do not suit, or rows are others in a later pass.

    Notes
    -----
    **Cost**: two passes that find the units and the states, and one that finds the places. Units that are numbers close
    together are places in arrays; of others there is a group-by, and a join. **Memory**: a byte per place, and a row
    per unit and piece.
    """
    between = _between(rows, most=count // _ROWS_PER_UNIT)
    units = _by_group(rows) if between is None else _by_place(rows, between)
    if units is None:
        return None
    units = units[np.argsort(numbered_entries(units[UNIT])[0])]
    kinds = rows.group_by(STATE).agg().collect(engine="streaming")
    stated = kinds[STATE].drop_nulls()
    codes, found = numbered_entries(stated)
    number, states = numbers_of_states(found, asked.states)
    layout = Layout.of(units[_LOW].to_numpy(), units[_HIGH].to_numpy(), _since_first(rows, units), rows=count)
    if layout is None:
        return None
    line = layout.empty(len(states))
    named, units = units[UNIT], units.with_columns(pl.Series(_BEGIN, layout.begins[:-1]))
    held = pl.DataFrame({STATE: stated, _HELD: (number[codes] + FIRST_STATE).astype(line.dtype)})
    without = pl.DataFrame({STATE: [None], _HELD: [NO_STATE]}, schema=held.schema)
    known = pl.concat([held, without])
    if between is None:
        placed = _placed(rows, units, step=layout.step)
    else:
        placed = _placed_by_number(rows, units, between, step=layout.step)
    del units  # a row per unit, which the places hold in arrays
    for places, state in placed:
        # batch by batch, since a join in the plan holds several batches more
        own = state.to_frame().join(known, on=STATE, how="left", nulls_equal=True, maintain_order="left")[_HELD]
        if places is None or own.null_count():
            return None
        line[places] = own.to_numpy()
    if np.count_nonzero(line) != count:
        return None
    return Timeline(layout=layout, held=line).series(asked, units=numbered_entries(named)[1], states=states)


def _between(rows: pl.LazyFrame, *, most: int) -> tuple[int, int] | None:
    """The smallest and the largest unit, where they are whole numbers of which there are at most so many between."""
    dtype = rows.collect_schema()[UNIT]
    if not dtype.is_integer() or dtype in (pl.Int128, pl.UInt128, pl.UInt64):
        return None
    ends = rows.select(pl.col(UNIT).min().alias(_LOW), pl.col(UNIT).max().alias(_HIGH)).collect(engine="streaming")
    low, high = ends.row(0)
    return (low, high) if low is not None and high - low < most else None


def _by_group(rows: pl.LazyFrame) -> pl.DataFrame:
    """The first and the last time of each unit."""
    ends = rows.group_by(UNIT).agg(pl.col(TIME).min().alias(_LOW), pl.col(TIME).max().alias(_HIGH))
    return ends.collect(engine="streaming")


def _by_place(rows: pl.LazyFrame, between: tuple[int, int]) -> pl.DataFrame | None:
    """The same for units between two numbers; None where one is not."""
    least, ends = between[0], np.iinfo(np.int64)
    low, high = (np.full(between[1] - least + 1, end) for end in (ends.max, ends.min))
    for batch in _batches(rows.select(pl.col(UNIT).cast(pl.Int64), TIME)):
        units, times = (batch[name].to_numpy() for name in (UNIT, TIME))
        if batch[UNIT].null_count() or not between[0] <= int(units.min()) <= int(units.max()) <= between[1]:
            return None
        np.minimum.at(low, units - least, times)
        np.maximum.at(high, units - least, times)
    there = np.flatnonzero(low <= high)
    unit = pl.Series(there + least).cast(rows.collect_schema()[UNIT])
    return pl.DataFrame({UNIT: unit, _LOW: low[there], _HIGH: high[there]})


def _batches(plan: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """In order: some 60 MB less are held at the peak."""
    batches = plan.collect_batches(chunk_size=_CHUNK, engine="streaming", maintain_order=True)
    return (batch for batch in batches if len(batch))


def _since_first(rows: pl.LazyFrame, units: pl.DataFrame) -> NDArray[np.int64]:
    """Times since the first of their unit, of some rows."""
    some = units.head(_SAMPLED_UNITS)
    found = rows.filter(pl.col(UNIT).is_in(some[UNIT].implode())).head(_SAMPLED_ROWS).select(UNIT, TIME)
    return found.join(some.lazy(), on=UNIT).select(pl.col(TIME) - pl.col(_LOW)).collect()[TIME].to_numpy()


_Placed: TypeAlias = Iterator[tuple[IndexArray | None, pl.Series]]
"""Places of some rows, None where one has none, and their states."""


def _placed(rows: pl.LazyFrame, units: pl.DataFrame, *, step: int) -> _Placed:
    """Of units of any kind, by a join."""
    since = pl.col(TIME) - pl.col(_LOW)
    fits = (since >= 0) & (pl.col(TIME) <= pl.col(_HIGH)) & (True if step == 1 else since % step == 0)
    place = pl.col(_BEGIN) + (since if step == 1 else since // step)
    joined = rows.join(units.lazy(), on=UNIT, how="left").select(pl.when(fits).then(place).alias(_PLACE), STATE)
    for batch in _batches(joined):
        yield None if batch[_PLACE].null_count() else batch[_PLACE].to_numpy(), batch[STATE]


def _placed_by_number(rows: pl.LazyFrame, units: pl.DataFrame, between: tuple[int, int], *, step: int) -> _Placed:
    """Of units that are numbers between these two."""
    least, size = between[0], between[1] - between[0] + 1
    numbers = units[UNIT].cast(pl.Int64).to_numpy() - least
    low, high, begin = (np.zeros(size, dtype=np.int64) for _ in range(3))
    high[:] = -1  # a unit that is not there has no time from 0 to -1
    for own, name in ((low, _LOW), (high, _HIGH), (begin, _BEGIN)):
        own[numbers] = units[name].to_numpy()
    del units, numbers
    high -= low
    for batch in _batches(rows.select(pl.col(UNIT).cast(pl.Int64), TIME, STATE)):
        places, since = batch[UNIT].to_numpy() - least, batch[TIME].to_numpy()
        if batch[UNIT].null_count() or not 0 <= int(places.min()) <= int(places.max()) < size:
            yield None, batch[STATE]
            return
        since = since - low[places]
        steps = since if step == 1 else since // step
        fits = (since >= 0) & (since <= high[places]) & (True if step == 1 else steps * step == since)
        yield begin[places] + steps if fits.all() else None, batch[STATE]
