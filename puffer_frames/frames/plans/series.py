"""Series of a Polars plan, laid out on a line by the streaming engine."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.counted_series import STATE, TIME, numbered_entries
from puffer_frames.frames.counted_units import UNIT
from puffer_frames.frames.series.asked import SeriesColumns, numbers_of_states
from puffer_frames.frames.series.timeline import FIRST_STATE, NO_STATE, Layout, Timeline
from puffer_frames.priors.series_rows import SeriesRows

_LOW, _HIGH, _BEGIN = "low", "high", "begin"
_PLACE, _HELD = "place", "held"
_SAMPLED_UNITS, _SAMPLED_ROWS = 64, 4096
"""The step is guessed from so many rows of so many units."""
_CHUNK = 1 << 18
"""Rows of a batch."""


def lay_out(rows: pl.LazyFrame, asked: SeriesColumns, count: int, /) -> SeriesRows | None:
    """Series of so many rows of integer times; None where the times do not suit, or rows are others in a later pass.

    Notes
    -----
    **Cost**: three group-bys, of which one is of units, and one join. **Memory**: a byte per place, and a row per unit
    and piece.
    """
    ends = rows.group_by(UNIT).agg(pl.col(TIME).min().alias(_LOW), pl.col(TIME).max().alias(_HIGH))
    units = ends.collect(engine="streaming")
    codes, names = numbered_entries(units[UNIT])
    units = units[np.argsort(codes)]
    kinds = rows.group_by(STATE).agg().collect(engine="streaming")
    stated = kinds[STATE].drop_nulls()
    codes, found = numbered_entries(stated)
    number, states = numbers_of_states(found, asked.states)
    layout = Layout.of(units[_LOW].to_numpy(), units[_HIGH].to_numpy(), _since_first(rows, units), rows=count)
    if layout is None:
        return None
    line = layout.empty(len(states))
    units = units.with_columns(pl.Series(_BEGIN, layout.begins[:-1]))
    held = pl.DataFrame({STATE: stated, _HELD: (number[codes] + FIRST_STATE).astype(line.dtype)})
    without = pl.DataFrame({STATE: [None], _HELD: [NO_STATE]}, schema=held.schema)
    placed = _placed(rows, units, pl.concat([held, without]), step=layout.step)
    for batch in placed.collect_batches(chunk_size=_CHUNK, engine="streaming", maintain_order=False):
        if batch[_PLACE].null_count() or batch[_HELD].null_count():
            return None
        line[batch[_PLACE].to_numpy()] = batch[_HELD].to_numpy()
    if np.count_nonzero(line) != count:
        return None
    return Timeline(layout=layout, held=line).series(asked, units=names, states=states)


def _since_first(rows: pl.LazyFrame, units: pl.DataFrame) -> NDArray[np.int64]:
    """Times since the first of their unit, of some rows."""
    some = units.head(_SAMPLED_UNITS)
    found = rows.filter(pl.col(UNIT).is_in(some[UNIT].implode())).head(_SAMPLED_ROWS).select(UNIT, TIME)
    return found.join(some.lazy(), on=UNIT).select(pl.col(TIME) - pl.col(_LOW)).collect()[TIME].to_numpy()


def _placed(rows: pl.LazyFrame, units: pl.DataFrame, held: pl.DataFrame, *, step: int) -> pl.LazyFrame:
    """Of each row its place and what that holds; null where it has none."""
    since = pl.col(TIME) - pl.col(_LOW)
    fits = (since >= 0) & (pl.col(TIME) <= pl.col(_HIGH)) & (True if step == 1 else since % step == 0)
    place = pl.col(_BEGIN) + (since if step == 1 else since // step)
    joined = rows.join(units.lazy(), on=UNIT, how="left").join(held.lazy(), on=STATE, how="left", nulls_equal=True)
    return joined.select(pl.when(fits).then(place).alias(_PLACE), _HELD)
