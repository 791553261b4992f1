"""A public column that is counted where it lies, by an engine whose results alone reach memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.cells import PLACES, cell_of, place_of
from puffer_frames.frames.columns import to_floats
from puffer_frames.frames.summary import check_few_levels
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray

_INFINITY = float("inf")
_MARGIN = 4
"""An estimate of the number of different values, of relative error 0.05, is never so many times too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What one pass over the rows found of a public column."""

    missing: int
    """Entries that are null or NaN."""
    infinite: int
    low: Any
    """The smallest of the others; None where there is none."""
    high: Any
    """The largest."""
    std: float
    """Their standard deviation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells that values are counted in."""

    width: float
    """A power of two."""
    domain: Bounds | None
    """To which values are clipped first."""

    def of(self, table: nw.LazyFrame[Any], /) -> nw.LazyFrame[Any]:
        """A table with the numbers of the cells in place of its column `value`, and with a column `place`."""
        return table.with_columns(value=cell_of(self.width, self.domain), place=place_of(self.width, self.domain))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Rows per secret and value of a public column."""

    table: pl.DataFrame
    """Columns `secret_0`, ..., `value`, `count`, and for cells the sums of the places as `place`."""
    width: float | None
    """Width of the cells whose numbers stand for the values, a power of two; None for the values themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValues:
    """A public column and its secrets in Spark, in DuckDB, or in a Polars plan."""

    dtype: nw.dtypes.DType
    """Of the values."""
    extent: Extent
    rows: int
    """Number of rows."""
    different: Callable[[], float]
    """An estimate of the number of different values."""
    count: Callable[[Cells | None, int | None], nw.DataFrame[Any]]
    """Rows per secret and value, or cell, in a column `count`, and of cells the sums of the places in a column
    `place`: of all that differ, or where these are more than so many, of some more than that."""
    before: Counted | None = None
    """The rows, where the pass over them has counted them already."""

    def exceeds(self, different: int, /) -> bool:
        """Whether the estimate leaves no doubt; none is made of integers that lie close together."""
        if self.before:
            return self.before.width is not None
        return not self._spans_at_most(different) and self.different() > _MARGIN * different

    def _spans_at_most(self, different: int) -> bool:
        """Whether there are no more integers, or booleans, from the smallest to the largest."""
        low, high = self.extent.low, self.extent.high
        return not self.dtype.is_float() and low is not None and int(high) - int(low) < different

    def counted(self, most: int, /) -> nw.DataFrame[Any]:
        """Rows per secret and value, at most one more than asked for."""
        if self.before and self.before.width is None:
            return nw.from_native(self.before.table, eager_only=True)
        return self.count(None, most)

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell; those of several narrower ones may be given one by one."""
        if self.before and self.before.width is not None and self.before.width <= width and self._within(domain):
            return nw.from_native(_wider(self.before.table, round(width / self.before.width)), eager_only=True)
        return self.count(Cells(width=width, domain=domain), None)

    def _within(self, domain: Bounds | None) -> bool:
        return domain is None or domain[0] <= self.extent.low <= self.extent.high <= domain[1]

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest finite value; what is missing or infinite is an error."""
        extent = self.extent
        found = [(end, 1) for end in (extent.low, extent.high) if end is not None]
        found += [(entry, n) for entry, n in ((None, extent.missing), (_INFINITY, extent.infinite)) if n]
        series = nw.new_series("value", [entry for entry, _ in found], self.dtype, backend="polars")
        return to_floats(series, np.array([n for _, n in found], dtype=np.int64), name=name)

    def std(self) -> float:
        """Standard deviation of the values."""
        return self.extent.std


def _wider(table: pl.DataFrame, times: int) -> pl.DataFrame:
    """Counts in cells so many times as wide; the sums of the places are rounded down."""
    narrow = pl.col("value") % times * pl.col("count") * PLACES + pl.col("place")
    return table.with_columns(value=pl.col("value") // times, place=narrow // times)


def check_estimate(different: float, /, *, name: str) -> None:
    """Raise ArgumentError where such an estimate leaves no doubt that a column of labels has too many levels."""
    check_few_levels(different / _MARGIN, name=name)


def other_rows(where: str, /, *, hint: str, named: bool = False) -> CalibrationError:
    """The error of rows that change between two passes, with a `row_id` or without any; the hint says where to write
    them first.
    """
    return CalibrationError(
        "the rows",
        rule="the same in every pass",
        got=f"other rows in the pass of {where}",
        hint=f"{hint}, or leave out row_id: then the rows are read once." if named else f"{hint}.",
    )
