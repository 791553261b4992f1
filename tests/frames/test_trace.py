"""Marks of rows: any change of an entry or of the order shows, and changes of two rows do not cancel."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.plans import trace
from puffer_frames.frames.plans.trace import Guard, Marker, Marking, Trace

ROWS = 1000
RNG = np.random.default_rng(0)
COLUMNS = {
    "text": pl.Series(RNG.choice(["a", "a longer one than twelve", ""], ROWS)),
    "floats": pl.Series(RNG.normal(size=ROWS)),
    "integers": pl.Series(RNG.integers(-5, 5, ROWS)),
    "unsigned": pl.Series(RNG.integers(0, 2**64, ROWS, dtype=np.uint64)),
    "128 bits": pl.Series([int(k) * 2**70 for k in RNG.integers(0, 9, ROWS)], dtype=pl.Int128),
    "booleans": pl.Series(RNG.random(ROWS) < 0.5),
    "categories": pl.Series(RNG.choice(["a", "b"], ROWS)).cast(pl.Categorical),
    "missing": pl.Series([None if k % 7 == 0 else k % 5 for k in range(ROWS)]),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(trace, "BLOCK", 64)


def bits_of(marker, columns):
    plan = pl.LazyFrame({f"column {k}": column for k, column in enumerate(columns)})
    marked = plan.select(marker.marked(plan, plan.collect_schema().names())).collect()
    return [marker.bits(column) for column in marked]


def traced(marker, columns, *, parts=(0, ROWS)):
    marking = Marking(marker)
    for start, stop in pairwise(parts):
        marking.take(bits_of(marker, [column[start:stop] for column in columns]))
    return Trace(marker=marker, rows=marking.rows, marks=marking.end(), runs=1)


@pytest.mark.parametrize("ordered", [True, False])
def test_the_parts_do_not_matter(ordered):
    marker = Marker(ordered=ordered)
    columns = list(COLUMNS.values())
    whole = traced(marker, columns)
    assert len(whole.marks) == (16 if ordered else 1)
    assert traced(marker, columns, parts=(0, 1, 63, 64, 65, 130, 700, ROWS)) == whole
    assert traced(Marker(ordered=ordered), columns).marks != whole.marks


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_one_other_entry_shows(name, ordered):
    marker, column = Marker(ordered=ordered), COLUMNS[name]
    other = next(k for k in range(ROWS - 1, 0, -1) if column[k] != column[500] and column[k] is not None)
    changed = pl.concat([column[:500], column[other : other + 1], column[501:]])
    beside = pl.Series(range(ROWS))
    assert traced(marker, [beside, changed]).marks != traced(marker, [beside, column]).marks


def test_only_ordered_rows_show_another_order():
    for ordered in (True, False):
        marker, columns = Marker(ordered=ordered), list(COLUMNS.values())
        backwards = traced(marker, [column.reverse() for column in columns])
        assert (backwards.marks == traced(marker, columns).marks) is not ordered


@pytest.mark.parametrize("change", [np.negative, lambda x: 2 * x, lambda x: x + 1, np.zeros_like])
def test_changes_of_two_rows_do_not_cancel(change):
    """The sum of hashes changes by another number for every row, also where one bit of an entry changes."""
    marker, value = Marker(ordered=False), RNG.normal(size=4096)
    number = np.arange(value.size, dtype=np.uint64)
    before, after = (marker.hashed([number, x.view(np.uint64)]) for x in (value, change(value)))
    moved = after - before
    assert np.unique(np.minimum(moved, -moved)).size == value.size
    assert abs(np.unpackbits((before ^ after).view(np.uint8)).mean() - 0.5) < 0.01


def test_rows_are_known_block_by_block():
    marker, column = Marker(ordered=True), COLUMNS["floats"]
    (bits,) = bits_of(marker, [column])
    guard = Guard(traced(marker, [column]))
    assert [guard.see([bits[a:b]]) for a, b in ((0, 63), (63, 64), (64, 200), (200, ROWS))] == [0, 64, 192, 960]
    guard.end()
    guard = Guard(traced(marker, [column]))
    guard.see([bits[:990]])
    with pytest.raises(CalibrationError, match="other rows"):
        guard.end()
