"""Cells of a column with many secrets, counted by sorting: where a group is a few rows, this beats a group-by."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.cells import PLACES, cell_of, place_of
from puffer_frames.noise.postprocessing import Bounds

FEWEST_ROWS = 1 << 20
_SAMPLE = 1 << 17
_ROWS_PER_GROUP = 4
"""With fewer rows per group than this, on average, sorting is faster."""
_MOST = 1 << 63
_PLACE_BITS = PLACES.bit_length() - 1


def sorted_cells(table: nw.DataFrame[Any], width: float, domain: Bounds | None, /) -> nw.DataFrame[Any] | None:
    """Rows per secret and cell, and the sums of their places, in ascending order; None where a group-by is better.

    Secret, cell and place make one whole number, so the rows are sorted at once and nothing moves with them. The number
    must be less than 2**63, and the table a frame of Polars with one column of secrets, of whole numbers, beside the
    column `value`.
    """
    key, *others = (name for name in table.columns if name != "value")
    if others or not table.implementation.is_polars() or not table.schema[key].is_integer() or table[key].null_count():
        return None
    cell, place = cell_of(width, domain), place_of(width, domain)
    if not _has_many_groups(table.head(_SAMPLE).select(nw.col(key), cell), len(table)):
        return None
    low, high = int(table[key].min()), int(table[key].max())
    parts = table.select(cell, place.alias("place"))
    least = int(parts["value"].min())
    span = int(parts["value"].max()) - least + 1
    if (high - low + 1) * span * PLACES >= _MOST or not -_MOST <= low <= high < _MOST:
        return None
    group = (pl.col(key).cast(pl.Int64) - low) * span + (pl.col("value") - least)
    whole = parts.to_native().with_columns(table[key].to_native()).select((group * PLACES + pl.col("place")).sort())
    return _counted(whole.to_series().to_numpy(writable=True), key, low=low, least=least, span=span)


def _has_many_groups(sample: nw.DataFrame[Any], rows: int) -> bool:
    """Whether so many rows probably have more than a fourth as many groups."""
    if rows < FEWEST_ROWS:
        return False
    secrets, cells = (int(sample[name].n_unique()) for name in sample.columns)
    return min(secrets * cells, rows * len(sample.unique()) // len(sample)) * _ROWS_PER_GROUP > rows


def _counted(whole: NDArray[np.int64], key: str, *, low: int, least: int, span: int) -> nw.DataFrame[Any]:
    groups = whole >> _PLACE_BITS
    first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    cells = groups[first]
    secrets = cells // span
    cells -= secrets * span
    whole &= PLACES - 1
    found = {
        key: secrets + low,
        "value": cells + least,
        "count": np.diff(first, append=whole.size),
        "place": np.add.reduceat(whole, first),
    }
    return nw.from_native(pl.DataFrame(found), eager_only=True)
