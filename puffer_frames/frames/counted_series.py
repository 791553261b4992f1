"""Series of a plan: pieces, transitions and counts of states, by windows where the rows lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from puffer_frames.frames.columns import check_labelled, check_rows
from puffer_frames.frames.counted_units import PlainColumns, UnitEngine, as_text, check_columns
from puffer_frames.frames.found import other_rows
from puffer_frames.frames.local.numbered import numbered
from puffer_frames.frames.local.prepare import no_complete_row
from puffer_frames.frames.series.asked import SeriesColumns, check_placed, numbers_of_states
from puffer_frames.frames.series.steps import Step, check_integer_times, check_times
from puffer_frames.frames.units.asked import check_unit
from puffer_frames.frames.units.sizes import UNIT
from puffer_frames.priors.prior import IndexArray, Secret
from puffer_frames.priors.series_rows import SeriesRows

TIME, STATE = "time", "state"
_STEP, _PLACE, _BEFORE, _NEXT = "step", "place", "before", "next"
_FRESH, _LAST, _SKIPPED, _ROWS = "fresh", "last", "skipped", "rows"


LayOut: TypeAlias = Callable[[Any, SeriesColumns, int], SeriesRows | None]
"""Another way to count series of integer times, without windows; None where they do not suit it."""


def count_series(
    table: PlainColumns, asked: SeriesColumns, engine: UnitEngine, /, *, lay_out: LayOut | None = None
) -> SeriesRows:
    """Series of all units, as `Table.read_series`.

    Notes
    -----
    **Cost**: a pass that counts missing entries; then, unless `lay_out` finds them, one window over the rows of each
    unit for the steps of its times, and three more for the pieces and transitions. **Memory**: a row per piece, and per
    state and the one before it.
    """
    frame, floats, count, stated = _checked(table, asked, engine)
    laid_out = None if lay_out is None or floats else lay_out(nw.to_native(frame), asked, count)
    if laid_out is not None:
        if laid_out.rows != stated:
            raise other_rows("the pass over the times", hint="Write the frame to a table first")
        return laid_out
    parts = engine.parts(nw.to_native(frame), count)
    step = _usual_step(parts, asked, engine)
    found = pl.concat([engine.read(_pieces(part, step, floats=floats)) for part in parts])
    each = pl.concat([engine.read(_by_unit(part)) for part in parts]) if asked.each else None
    if any(int(table[_ROWS].sum()) != stated for table in (found, each) if table is not None):
        raise other_rows("the windows", hint="Write the frame to a table first")
    return _series_rows(found, each, asked)


def _checked(table: PlainColumns, asked: SeriesColumns, engine: UnitEngine) -> tuple[Any, bool, int, int]:
    """The rows, with times as numbers; whether these are floats; and how many rows there are, and with a state."""
    labels = {STATE: asked.state} | ({} if asked.unit is None else {UNIT: asked.unit})
    check_columns(table)
    dtypes = table.dtypes([asked.time, *labels.values()])
    dtype, floats = dtypes[asked.time], dtypes[asked.time].is_float()
    check_times(asked.time, dtype)
    for name in labels.values():
        check_unit(dtypes[name], f"the column {name!r}")
    frame = as_text(nw.from_native(table.plain({TIME: asked.time, **labels})), labels)
    if floats:
        frame = frame.with_columns(nw.col(TIME).cast(nw.Float64))
    found = _look(frame, engine, dtype)
    check_rows(found[_ROWS])
    if asked.nulls == "raise":
        check_labelled(asked.state, found[_ROWS] - found[STATE])
    elif not found[STATE]:
        raise no_complete_row("an entry")
    check_placed(asked.time, found[_ROWS] - found[TIME] + found.get("nan", 0), role="time")
    if asked.unit is None:
        frame = frame.with_columns(nw.lit(0).alias(UNIT))
    else:
        check_placed(asked.unit, found[_ROWS] - found[UNIT], role="unit")
    check_times(asked.time, dtype, finite=not found.get("infinite", 0))
    if dtype.is_integer():
        check_integer_times(asked.time, int(found["low"]), int(found["high"]))
        frame = frame.with_columns(nw.col(TIME).cast(nw.Int64))
    elif not floats:
        frame = nw.from_native(engine.moments(nw.to_native(frame), TIME))
    return frame, floats, found[_ROWS], found[STATE]


def _look(frame: Any, engine: UnitEngine, dtype: nw.dtypes.DType) -> dict[str, Any]:
    """The number of rows, and of the entries that are there; of times that are no numbers, or the ends of integers."""
    time = nw.col(TIME)
    asked = [nw.len().alias(_ROWS), *(nw.col(name).count().alias(name) for name in frame.collect_schema().names())]
    if dtype.is_float():
        odd = {"nan": time.is_nan(), "infinite": time.abs() == np.inf}
        asked += [which.cast(nw.Int64).sum().alias(name) for name, which in odd.items()]
    if dtype.is_integer():
        asked += [time.min().alias("low"), time.max().alias("high")]
    found = engine.read(nw.to_native(frame.select(*asked))).row(0, named=True)
    return {name: int(entry or 0) for name, entry in found.items()}


def _stepped(rows: Any) -> Any:
    """The rows with the step from the time before, which is missing in the first row of a unit."""
    time = nw.col(TIME)
    return nw.from_native(rows).with_columns((time - time.shift(1).over(UNIT, order_by=TIME)).alias(_STEP))


def _usual_step(parts: Any, asked: SeriesColumns, engine: UnitEngine) -> Step:
    counted = []
    for part in parts:
        steps = _stepped(part).filter(~nw.col(_STEP).is_null())
        counted.append(engine.read(nw.to_native(steps.group_by(_STEP).agg(nw.len().cast(nw.Int64).alias(_ROWS)))))
    found = pl.concat(counted).group_by(_STEP).agg(pl.col(_ROWS).sum()).sort(_STEP)
    return Step.of(
        found[_STEP].to_numpy(),
        found[_ROWS].to_numpy(),
        time=asked.time,
        units=asked.unit is not None,
        bridged=asked.bridged,
    )


def _pieces(rows: Any, step: Step, *, floats: bool) -> Any:
    """A row for the first row of each piece and the last one of each unit; of the others, one per state and the one
    before it.
    """
    apart = step.apart_by(nw.col(_STEP), floats=floats)
    frame = _stepped(rows).with_columns(nw.when(nw.col(_STEP).is_null()).then(0).otherwise(apart).alias(_STEP))
    frame = frame.with_columns(nw.col(_STEP).cum_sum().over(UNIT, order_by=TIME).cast(nw.Int64).alias(_PLACE))
    frame = frame.filter(~nw.col(STATE).is_null())
    place, before = nw.col(_PLACE), nw.col(_SKIPPED)
    frame = frame.with_columns(
        nw.col(STATE).shift(1).over(UNIT, order_by=TIME).alias(_BEFORE),
        place.shift(1).over(UNIT, order_by=TIME).alias(_SKIPPED),
        place.shift(-1).over(UNIT, order_by=TIME).alias(_NEXT),
    )
    skipped = nw.when(before.is_null()).then(place).otherwise(place - before - 1)
    frame = frame.with_columns((before.is_null() | (place - before > 1)).alias(_FRESH), skipped.alias(_SKIPPED))
    fresh, last = nw.col(_FRESH), nw.col(_NEXT).is_null()
    frame = frame.select(
        STATE,
        _FRESH,
        last.alias(_LAST),
        nw.when(~fresh).then(nw.col(_BEFORE)).alias(_BEFORE),
        *(nw.when(fresh | last).then(nw.col(name)).alias(name) for name in (UNIT, _PLACE, _SKIPPED)),
    )
    keys = frame.collect_schema().names()
    return nw.to_native(frame.group_by(*keys).agg(nw.len().cast(nw.Int64).alias(_ROWS)))


def _by_unit(rows: Any) -> Any:
    """How often each state occurs in each unit."""
    stated = nw.from_native(rows).filter(~nw.col(STATE).is_null())
    return nw.to_native(stated.group_by(UNIT, STATE).agg(nw.len().cast(nw.Int64).alias(_ROWS)))


def _series_rows(found: pl.DataFrame, each: pl.DataFrame | None, asked: SeriesColumns) -> SeriesRows:
    codes, labels = numbered_entries(found[STATE])
    number, states = numbers_of_states(labels, asked.states)
    codes, size, often = number[codes], len(states), found[_ROWS].to_numpy()
    found = found.with_columns(pl.Series("code", codes))
    fresh = found.filter(_FRESH)
    owner, units = numbered_entries(fresh[UNIT])
    order = np.lexsort((fresh[_PLACE].to_numpy(), owner))
    fresh, owner = fresh[order], owner[order]
    begins, skipped = fresh[_PLACE].to_numpy(), fresh[_SKIPPED].to_numpy()
    last = found.filter(_LAST)
    ends = np.append(begins[1:] - skipped[1:], 0)
    ends[np.append(owner[1:] != owner[:-1], True)] = (
        last[_PLACE].to_numpy()[np.argsort(numbered_entries(last[UNIT])[0])] + 1
    )
    inside = found[_BEFORE].is_not_null().to_numpy()
    before = _numbers(found[_BEFORE].filter(inside), labels, number)
    transitions = np.bincount(before * size + codes[inside], often[inside], minlength=size**2)
    if each is None:
        counts = np.bincount(codes, often, minlength=size)
    else:
        key = numbered_entries(each[UNIT])[0] * size + _numbers(each[STATE], labels, number)
        counts = np.bincount(key, each[_ROWS].to_numpy(), minlength=len(units) * size)
    return SeriesRows(
        states=states,
        units=[None] if asked.unit is None else units,
        lengths=ends - begins,
        unit_of=owner,
        first=fresh["code"].to_numpy(),
        skipped=skipped,
        bridged=asked.bridged,
        counts=counts.reshape(-1, size).astype(np.int64),
        transitions=transitions.reshape(size, size).astype(np.int64),
    )


def numbered_entries(entries: pl.Series, /) -> tuple[IndexArray, list[Secret]]:
    """As `numbered`."""
    return numbered(nw.from_native(entries, series_only=True))


def _numbers(entries: pl.Series, labels: list[Secret], number: IndexArray) -> IndexArray:
    """Numbers of states that are among these labels, each with its number."""
    if not len(entries):
        return np.zeros(0, dtype=np.intp)
    codes, own = numbered_entries(entries)
    known = dict(zip(labels, number.tolist(), strict=True))
    found: IndexArray = np.array([known[label] for label in own], dtype=np.intp)[codes]
    return found
