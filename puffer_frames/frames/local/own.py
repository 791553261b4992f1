"""Columns that share no memory with the rows they came from: there may be more in it than is released."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.arrow import own_entries, stored_array
from puffer_frames.frames.columns import Frame
from puffer_frames.frames.stamps.entries import plain_entry, with_other
from puffer_frames.priors.prior import IndexArray

_OLD = int(pl.__version__.partition(".")[0]) < 2
"""Polars 1 loses the type of lists of text on the way through Arrow."""
_INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
_PLAIN = {str, bytes, int, bool, type(None), type(pd.NA), type(pd.NaT), pd.Timestamp, datetime.date, datetime.datetime}
"""Types of objects with which nothing rides along."""
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
            arrays = list(pool.map(lambda name: own_array(native[name]), numbers))
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
    taken = entries_alone(series.alias("column").gather(places))  # Polars reads names like "^x$" as patterns
    return taken.alias(series.name)


def entries_alone(column: pl.Series, dtype: pl.DataType | None = None, /) -> pl.Series:
    """A Polars column without what is beside its entries, as `arrow.own_entries`; in a dtype with their categories."""
    dtype = used_dtype(column) if dtype is None else dtype
    if column.dtype in (pl.String, pl.Binary) or column.dtype.is_nested():
        try:
            if _OLD and column.dtype.is_nested():
                raise pa.ArrowException
            arrow = own_entries(column.to_arrow(compat_level=pl.CompatLevel.oldest()))
            return pl.Series(pl.from_arrow(arrow)).cast(without_enums(dtype)).cast(dtype)
        except pa.ArrowException:  # 128-bit integers in lists, which PyArrow does not have
            return pl.Series("column", _with_one_nan(column.to_list()), dtype=without_enums(dtype)).cast(dtype)
    if column.dtype == pl.Object:
        return pl.Series("column", [plain_entry(entry) for entry in column.to_list()], dtype=pl.Object)
    if isinstance(column.dtype, (pl.Categorical, pl.Enum)):
        return column.cast(pl.String).cast(dtype)  # without the categories of other rows
    if column.null_count():  # what was there before may lie under a missing entry
        column = column.gather(pl.int_range(len(column), dtype=pl.UInt32, eager=True))
    if column.dtype.is_float() and (there := column.is_nan()).any():
        return column.set(there, math.nan)
    return column


def _with_one_nan(entry: Any) -> Any:
    """An entry of Python with the usual bits in every NaN."""
    if isinstance(entry, list):
        return [_with_one_nan(each) for each in entry]
    if isinstance(entry, dict):
        return {key: _with_one_nan(each) for key, each in entry.items()}
    return math.nan if isinstance(entry, float) and math.isnan(entry) else entry


def used_dtype(column: pl.Series, /) -> pl.DataType:
    """The dtype of a column, in which an Enum, also a nested one, has the categories that rows have, in their order."""
    dtype = column.dtype
    if isinstance(dtype, pl.Enum):
        used = set(column.unique().drop_nulls().to_list())
        return pl.Enum([category for category in dtype.categories.to_list() if category in used])
    if isinstance(dtype, pl.List):
        return pl.List(used_dtype(column.explode()))
    if isinstance(dtype, pl.Array):
        return pl.Array(used_dtype(column.explode()), dtype.size)
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: used_dtype(column.struct.field(field.name)) for field in dtype.fields})
    return dtype


def without_enums(dtype: pl.DataType) -> pl.DataType:
    """With text in place of every Enum, from which all categories can be read again."""
    return with_other(dtype, pl.Enum, pl.String())


def own_array(column: Any, order: IndexArray | None = None, /) -> Any:
    """The values of a pandas column or index, in some order; categories and dictionaries hold what rows have."""
    dtype = column.dtype
    if isinstance(dtype, pd.SparseDtype):  # which Parquet does not have, and whose filling need not be in any row
        return own_array(pd.Series(column.array.to_dense()), order)
    if isinstance(dtype, np.dtype):
        values: NDArray[Any] = column.to_numpy()
        values = values.copy() if order is None else values[order]
        return _own_objects(values) if dtype.kind == "O" else _one_nan(values)
    places = np.arange(len(column)) if order is None else order
    array = stored_array(column.array, name=str(column.name)) if isinstance(dtype, pd.ArrowDtype) else column.array
    if isinstance(array, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)):
        missing = np.asarray(column.isna())
        filled = column.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return type(array)(_one_nan(filled[places]), missing[places])
    taken = array.take(places)
    if isinstance(dtype, pd.CategoricalDtype):
        used = taken.remove_unused_categories()
        return _own_categories(used) if used.categories.dtype == object else used
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        return pd.array(_own_objects(taken.to_numpy(dtype=object)), dtype=dtype)
    if isinstance(dtype, pd.ArrowDtype):
        return pd.arrays.ArrowExtensionArray(own_entries(pa.chunked_array(taken.__arrow_array__())))
    return taken


def _own_categories(used: Any) -> Any:
    """With plain objects for categories; those that only an equality of their own told apart are one."""
    own = own_index(used.categories)
    if own.is_unique:
        return used.rename_categories(own)
    numbers = dict[Any, int]()
    codes = np.array([numbers.setdefault(entry, len(numbers)) for entry in own] + [-1])  # -1 for a missing entry
    return pd.Categorical.from_codes(
        codes[used.codes], pd.Index(list(numbers), dtype=object, tupleize_cols=False), ordered=used.ordered
    )


def own_index(index: Any, order: IndexArray | None = None, /) -> Any:
    """A pandas index of its own, in some order."""
    if isinstance(index, pd.MultiIndex):
        levels = [own_index(index.get_level_values(k), order) for k in range(index.nlevels)]
        return pd.MultiIndex.from_arrays(levels, names=index.names)
    if order is None and isinstance(index, (pd.RangeIndex, pd.DatetimeIndex, pd.TimedeltaIndex)):
        return index.copy(deep=True)  # with its frequency
    values = own_array(index, order)
    dtype = index.dtype if isinstance(index.dtype, np.dtype) else values.dtype
    return pd.Index(values, dtype=dtype, name=index.name, tupleize_cols=False)


def own_labels(labels: Any, /) -> Any:
    """The labels of pandas columns, without those of other columns in their levels, and without names of these."""
    if isinstance(labels, pd.MultiIndex):
        return labels.remove_unused_levels().set_names([None] * labels.nlevels)
    own = labels.remove_unused_categories() if isinstance(labels, pd.CategoricalIndex) else labels.copy(deep=True)
    return own.rename(None)


def _one_nan(values: NDArray[Any]) -> NDArray[Any]:
    """An array of one's own with the usual bits in every NaN."""
    if values.dtype.kind == "c":
        parts = values.view(values.real.dtype)
        parts[np.isnan(parts)] = np.nan
    elif values.dtype.kind == "f":
        values[np.isnan(values)] = np.nan
    return values


def _own_objects(values: NDArray[Any]) -> NDArray[Any]:
    """An array of one's own with plain objects."""
    if not set(map(type, values)) <= _PLAIN:
        for k, entry in enumerate(values):
            values[k] = plain_entry(entry)
    return values
