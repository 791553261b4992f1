"""Columns that share no memory with the rows they came from: there may be more in it than is released."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame
from puffer_frames.priors.prior import IndexArray

_OLD = int(pl.__version__.partition(".")[0]) < 2
"""Polars 1 loses the type of lists of text on the way through Arrow."""
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_NUMPY = (*_INTEGERS, pl.Float32, pl.Float64)
"""Types of numbers whose memory is that of a NumPy array."""


def own_frame(frame: Frame, names: Iterable[str], /) -> Frame:
    """A frame of its own, whose columns of numbers and booleans with these names share no memory with the given one.

    What else is written to the frame or to those columns, by another thread or through a NumPy array, does not show.
    **Cost**: that of copying the columns.
    """
    numbers = [name for name in names if frame.schema[name].is_numeric() or isinstance(frame.schema[name], nw.Boolean)]
    native: Any = frame.to_native()
    with ThreadPoolExecutor(2) as pool:
        if frame.implementation.is_pandas():
            arrays = list(pool.map(lambda name: own_array(native[name], None), numbers))
            native = native.copy(deep=False)
            for name, values in zip(numbers, arrays, strict=True):
                own = pd.Series(values, index=native.index, copy=False)
                native.isetitem(native.columns.get_loc(name), own)
        else:
            native = native.with_columns(pool.map(_own_numbers, map(native.__getitem__, numbers)))
    return nw.from_native(native, eager_only=True)


def _own_numbers(series: pl.Series) -> pl.Series:
    """A Polars column of numbers."""
    if series.null_count() or series.dtype not in _NUMPY:
        return own_series(series)
    return pl.Series(series.name, np.array(series.to_numpy()), dtype=series.dtype)


def own_series(series: pl.Series, order: IndexArray | None = None, /) -> pl.Series:
    """A Polars column of its own, in some order of the rows.

    What a filter or a slice leaves of text and lists still lies beside what it dropped, also in a pickle; and under a
    missing entry there may be one that was there before.
    """
    places = pl.int_range(len(series), dtype=pl.UInt32, eager=True) if order is None else pl.Series(order)
    column = series.alias("column")  # Polars reads names like "^x$" as patterns in operations
    taken = column.gather(places)
    if column.dtype in (pl.String, pl.Binary) or column.dtype.is_nested():
        try:
            if _OLD and column.dtype.is_nested():
                raise pa.ArrowException
            arrow = taken.to_arrow(compat_level=pl.CompatLevel.oldest())
            taken = pl.Series(pl.from_arrow(arrow)).cast(column.dtype)
        except pa.ArrowException:  # 128-bit integers in lists, which PyArrow does not have
            taken = pl.Series("column", taken.to_list(), dtype=column.dtype)
    elif column.dtype == pl.Categorical:
        taken = taken.cast(pl.String).cast(column.dtype)  # without the categories of other rows
    return taken.alias(series.name)


def own_array(column: Any, given: Any, order: IndexArray | None = None, /) -> Any:
    """The values of a pandas column or index, in some order; `given` is the same before rows were dropped.

    Categories that dropped rows alone have go with them; those that no row had are part of the type, and stay.
    """
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        values: NDArray[Any] = column.to_numpy()
        if order is None and dtype.kind != "O":
            return values.copy()
    places = np.arange(len(column)) if order is None else order
    if isinstance(dtype, np.dtype):
        return _own_objects(values[places]) if dtype.kind == "O" else values[places]
    array = column.array
    if isinstance(array, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)):
        missing = np.asarray(column.isna())
        filled = column.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return type(array)(filled[places], missing[places])
    taken = array.take(places)
    if isinstance(dtype, pd.CategoricalDtype) and len(given) > len(column):
        return taken.set_categories(dtype.categories[~_used(given) | _used(taken)])
    return taken


def own_index(index: Any, given: Any, order: IndexArray | None = None, /) -> Any:
    """A pandas index of its own, in some order, without labels of dropped rows alone."""
    if isinstance(index, pd.MultiIndex):
        levels = [(index.get_level_values(k), given.get_level_values(k)) for k in range(index.nlevels)]
        return pd.MultiIndex.from_arrays([own_index(*level, order) for level in levels], names=index.names)
    if order is None and isinstance(index, (pd.RangeIndex, pd.DatetimeIndex, pd.TimedeltaIndex)):
        return index.copy(deep=True)  # with its frequency
    values = own_array(index, given, order)
    dtype = values.dtype if isinstance(index.dtype, pd.CategoricalDtype) else index.dtype
    return pd.Index(values, dtype=dtype, name=index.name, tupleize_cols=False)


def own_labels(labels: Any, /) -> Any:
    """The labels of pandas columns, without those of other columns in their levels or categories."""
    if isinstance(labels, pd.MultiIndex):
        return labels.remove_unused_levels()
    return labels.remove_unused_categories() if isinstance(labels, pd.CategoricalIndex) else labels.copy(deep=True)


def _used(categories: Any) -> NDArray[np.bool_]:
    """Which of its categories a column has."""
    found = pd.Categorical(categories)
    counts: NDArray[np.bool_] = np.bincount(found.codes + 1, minlength=len(found.categories) + 1)[1:] > 0
    return counts


def _own_objects(values: NDArray[Any]) -> NDArray[Any]:
    """Arrays among objects may be views of a larger one."""
    if pd.api.types.infer_dtype(values, skipna=True) == "mixed":
        for k, entry in enumerate(values):
            if isinstance(entry, np.ndarray):
                values[k] = entry.copy()
    return values
