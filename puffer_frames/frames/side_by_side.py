"""Columns of frames in memory as arrays, and arrays as frames."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentTypeError, ColumnTypeError
from puffer_frames.frames.columns import Frame, NativeFrame, column
from puffer_frames.frames.dates import FIRST_DAY, LAST_DAY, days_of
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.table import open_table
from puffer_frames.priors.prior import FloatArray, IndexArray

_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlainColumn:
    """The entries of a column."""

    codes: IndexArray
    """Numbers of the levels, from 0, shape (n,); -1 for a missing entry."""
    levels: tuple[Any, ...]
    """The levels."""
    numbers: FloatArray | None
    """The entries as floats, NaN for a missing one, 0 and 1 for booleans; None for labels."""

    def part(self, rows: Any, /) -> PlainColumn:
        """Some of its rows; levels without rows stay."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return PlainColumn(codes=self.codes[rows], levels=self.levels, numbers=numbers)

    @property
    def missing(self) -> Any:
        """Which entries are missing, shape (n,)."""
        return self.codes < 0


def read_columns(
    frame: NativeFrame, /, *, role: str, known: Collection[str], rows: int | None
) -> Mapping[str, PlainColumn]:
    """All columns of a frame in memory, by their names as text; levels of a pandas index that are data among them,
    unless `rows` is None.

    Raises ArgumentTypeError for another frame: a plan, a Spark frame, a DuckDB relation.
    """
    table = open_table(frame)
    if not isinstance(table, LocalTable):
        raise ArgumentTypeError(
            role,
            rule="a frame in memory: pandas, Polars or PyArrow",
            got=f"a {type(frame).__module__.partition('.')[0].lstrip('_')} {type(frame).__name__}",
            hint="Collect it first: frame.collect() of Polars, frame.toPandas() of Spark, relation.pl() of DuckDB. "
            "The rows of a release must stay in their order.",
        )
    opened = (table if rows is None else table.with_levels(known=known, rows=rows)).opened()
    return {name: _plain(opened, name) for name in opened.columns}


def _plain(frame: Frame, name: str) -> PlainColumn:
    entries = column(frame, name)
    native = nw.to_native(entries)
    if isinstance(getattr(native, "dtype", None), pd.SparseDtype):  # a release has it dense
        entries = nw.from_native(pd.Series(native.array.to_dense()), series_only=True)
    truths = entries.dtype == nw.Boolean
    numbers = None
    with suppress(ColumnTypeError):  # times of the day
        days = days_of(entries, name=name)
        entries = entries if days is None else nw.from_native(days, series_only=True)
    if entries.dtype.is_numeric() or truths:
        floats = entries.cast(nw.Float64).to_pandas()
        numbers = np.asarray(floats.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)
    if numbers is not None and not truths:
        codes, levels = pd.factorize(numbers)
        return PlainColumn(codes=codes, levels=tuple(levels.tolist()), numbers=numbers)
    listed = np.empty(len(entries) + 1, dtype=object)  # the last is no text: pandas takes some odd texts for equal
    listed[:-1] = _in_calendar(entries).to_list()
    try:
        codes, found = pd.factorize(listed)
    except TypeError:  # lists and structs have no hash
        codes, found = pd.factorize(np.array([None if each is None else repr(each) for each in listed], dtype=object))
    own = (str.__str__(level) if isinstance(level, str) else level for level in found.tolist())
    return PlainColumn(codes=codes[:-1], levels=tuple(own), numbers=numbers)


def _in_calendar(entries: nw.Series[Any]) -> Any:
    """The entries; as numbers where they are times beyond the years of Python, at which Polars panics."""
    native = nw.to_native(entries)
    if not isinstance(native, pl.Series) or not isinstance(native.dtype, (pl.Date, pl.Datetime)):
        return entries
    day = 1 if isinstance(native.dtype, pl.Date) else 86_400 * _PER_SECOND[native.dtype.time_unit]
    numbers = native.to_physical()
    outside = ((numbers <= FIRST_DAY * day) | (numbers >= LAST_DAY * day)).any()
    return numbers if outside else entries


def frame_of(array: NDArray[Any], /) -> NativeFrame:
    """A pandas frame of the columns x0, x1, ... of an array; those of objects get the type of their entries."""
    objects = array.dtype.kind == "O"
    columns: dict[str, Any] = {f"x{k}": list(part) if objects else part.copy() for k, part in enumerate(array.T)}
    return nw.from_dict(columns, backend="pandas").to_native()


def array_of(frame: NativeFrame, /) -> NDArray[Any]:
    """The columns of a frame as those of an array, of objects where one of them holds labels."""
    columns = [column.to_numpy() for column in nw.from_native(frame, eager_only=True).iter_columns()]
    numbers = all(column.dtype.kind in "fiub" for column in columns)
    return np.column_stack(columns if numbers else [column.astype(object) for column in columns])


def in_library(frame: NativeFrame, library: str, /) -> NativeFrame:
    """A frame in memory as one of "pandas" or "polars", which has no index; the same where it is one."""
    opened = nw.from_native(frame, eager_only=True)
    if opened.implementation.name.lower() == library:
        return frame
    return opened.to_pandas() if library == "pandas" else opened.to_polars()
