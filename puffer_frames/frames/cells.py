"""The cells that a large column of many values is counted in."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray

FEWEST_CELLS, MOST_CELLS = 1 << 12, 1 << 16
"""A column of many rows and values is counted in so many cells, between its extremes."""
MOST_PASSES = 3
"""Where the values lie in few of the cells, they are counted again in narrower ones, so often at the most."""
FINENESS = 256
"""A cell is at most this part of the column's standard deviation, as far as `MOST_CELLS` allows."""
_BELOW = 0.9
"""Of that part, so that the last digits of a standard deviation of 1 do not decide between two widths."""
MOST_FILLED = 1 << 20
_MOST_WORK = 1 << 24
"""A column is counted again in cells that are narrow against the noise, or value by value, as long as so few cells hold
values; and so few times the secrets squared, for every pair is looked at."""
PLACES = 1 << 16
"""Places in a cell, whose sum is kept beside the number of its values: a mean is off by less than two places, which
are `MEANS_ERROR`."""
_LARGEST = sys.float_info.max
_CHUNK = 1 << 15
"""Cells whose means are found together: memory that is new costs more than the arithmetic."""

Integers: TypeAlias = NDArray[np.int64]


def cell_width(low: float, high: float, /, *, std: float) -> float:
    """Width of the cells between the extremes of a column: a power of two, so that cells and centres are exact.

    It is at least `least_width`.
    """
    span = min(high - low, _LARGEST)
    fine = min(_BELOW * std / FINENESS if std > 0 else _LARGEST, span / FEWEST_CELLS)
    few = max(span / (MOST_CELLS - 2), least_width(low, high))
    return max(2.0 ** (math.frexp(few)[1]), 2.0 ** (math.frexp(fine)[1] - 1) if fine else 0.0)


def least_width(low: float, high: float, /) -> float:
    """Cells are no narrower: 2**-51 of the largest value and 2**-1000."""
    return max(2.0**-51 * max(abs(low), abs(high)), 2.0**-1000)


def finer_width(width: float, /, *, full: int, least: float) -> float:
    """A width at which values that lie in fewer cells than half of `FEWEST_CELLS` lie in up to twice as many as that.

    Values in clusters, with heavy tails or beside an outlier fill few of the cells between their extremes.
    """
    if full >= FEWEST_CELLS // 2:
        return width
    finer = 2.0 ** (math.frexp(width * full / (2 * FEWEST_CELLS))[1])
    return finer if least < finer < width else width


def most_filled(secrets: int, /) -> int:
    """How many cells, or values, a column is counted in again at the most."""
    return min(MOST_FILLED, _MOST_WORK // secrets**2)


def width_for(scale: float, width: float, /, *, fewest: int, filled: int, most: int, least: float) -> float:
    """A width of cells for noise of this scale; the one given where it is narrow enough, or none narrower is possible.

    A scale has to hold the fewest cells, and holds four times as many of a narrower width. Values of all secrets fill
    so many cells of the width given. Of narrower ones there are at most so many.
    """
    if not scale or width <= scale / fewest:
        return width
    wanted = max(2.0 ** (math.frexp(scale / (4 * fewest))[1] - 1), 2.0 ** math.ceil(math.log2(least)))
    few = width * 2.0 ** math.ceil(math.log2(filled / max(most, 1)))
    return min(max(wanted, few), width)


def width_of_few(low: float, high: float, /, *, cells: float) -> float:
    """Width of about so many cells, or of half as many, between the extremes of a column."""
    width = max(min(high - low, _LARGEST) / max(cells - 2, 1), least_width(low, high))
    return 2.0 ** math.ceil(math.log2(width))


def cell_of(width: float, domain: Bounds | None, /, name: str = "value") -> nw.Expr:
    """Number of the cell of a column: cell k holds the values from k widths on."""
    return _in_widths(width, domain, name).floor().cast(nw.Int64)


def place_of(width: float, domain: Bounds | None, /, name: str = "value") -> nw.Expr:
    """Place of a column in its cell: a whole number of parts of the width, of which there are `PLACES`."""
    value = _in_widths(width, domain, name)
    return ((value - value.floor()) * float(PLACES)).floor().cast(nw.Int64)


def cells_of_rows(
    names: Sequence[str], widths: Mapping[str, float], domain: Mapping[str, Bounds], /
) -> dict[str, nw.Expr]:
    """Numbers of cells in place of those of the columns `value_0`, ..., that have a width, and places `place_0`, ..."""
    found = dict[str, nw.Expr]()
    for k, name in enumerate(names):
        if name in widths:
            cell = widths[name], domain.get(name), f"value_{k}"
            found |= {f"value_{k}": cell_of(*cell), f"place_{k}": place_of(*cell)}
    return found


def means_of(numbers: Integers, sums: Integers, counts: Integers, width: float, /) -> FloatArray:
    """Means of the values of some cells, within `MEANS_ERROR` of a width but for their own rounding.

    - `numbers` (array, shape (cells,)): The cells' numbers.
    - `sums`, `counts` (array, shape (cells,)): Sums of the places of their values, and how many these are.
    """
    means = np.empty(numbers.size)
    for start in range(0, numbers.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        own = numbers[part].astype(np.float64)
        found = (own + (sums[part] / counts[part] + 0.5) / PLACES) * width
        np.minimum(found, np.nextafter((own + 1) * width, -np.inf), out=means[part])
    return means


def _in_widths(width: float, domain: Bounds | None, name: str) -> nw.Expr:
    value = nw.col(name).cast(nw.Float64)
    if domain is not None:
        value = value.clip(*domain)
    return value * (1.0 / width)
