"""The entries of a column: a family of types, and how each part of them is encoded, the same in every library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.stamps import parts, spelling
from puffer_frames.frames.stamps.parts import Part

_ENCODED: dict[Any, tuple[str, Callable[[Any], Part]]] = {
    pl.Boolean: ("boolean", parts.series_units),
    pl.Decimal: ("decimal", lambda part: parts.texts(parts.plain_decimals(part.cast(pl.String)))),
    pl.String: ("text", parts.texts),
    pl.Categorical: ("text", lambda part: parts.texts(part.cast(pl.String))),
    pl.Enum: ("text", lambda part: parts.texts(part.cast(pl.String))),
    pl.Binary: ("bytes", parts.texts),
    pl.Date: ("datetime", parts.series_moments),
    pl.Time: ("time", parts.series_units),
    pl.Duration: ("duration", parts.series_moments),
    pl.Datetime: ("datetime", parts.series_moments),
}
_ARRAYS: dict[str, tuple[str, Callable[[Any], Part]]] = {
    "f": ("number", parts.floats),
    "i": ("number", parts.whole),
    "u": ("number", parts.whole),
    "b": ("boolean", lambda part: Part(words=part.astype("<i8"))),
    "m": ("duration", parts.array_moments),
    "M": ("datetime", parts.array_moments),
}


@dataclass(frozen=True, slots=True)
class Entries:
    """A column, encoded part by part.

    The family is that of the type: boolean, number (integers and floats of any width), decimal, text (categories of
    text too), bytes, datetime (dates too, and without a time zone), instant (with one), time, duration, or other.
    """

    family: str
    source: Any
    """Of a kind that `encode` takes slices of."""
    encode: Callable[[Any], Part]

    def part(self, start: int, stop: int, /) -> Part:
        """Some rows."""
        return self.encode(self.source[start:stop])


def entries_of(frame: nw.DataFrame[Any], name: str, /) -> Entries:
    """The entries of a column of a pandas or Polars frame."""
    native = frame.to_native()
    return (
        series_entries(native[name]) if isinstance(native, pl.DataFrame) else _pandas_entries(nw.to_native(frame[name]))
    )


def series_entries(series: pl.Series, /) -> Entries:
    """Of a Polars column; those of PyArrow and Spark, and many of pandas, are opened as such."""
    series = series.alias("entries")  # Polars reads names like "^x$" as patterns in operations
    dtype = series.dtype
    if dtype.is_float():
        return Entries("number", series, parts.series_floats)
    if dtype.is_integer():
        wide = dtype in (pl.Int128, pl.UInt128)
        return Entries("number", series, parts.series_wide if wide else parts.series_integers)
    if dtype.base_type() not in _ENCODED:
        return Entries(spelling.OTHER, series, _nested)
    family, encode = _ENCODED[dtype.base_type()]
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    return Entries("instant" if zoned else family, series, encode)


def _pandas_entries(series: pd.Series[Any]) -> Entries:
    dtype: Any = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in _ARRAYS and dtype.itemsize <= 8:
        return Entries(*_of_array(series.to_numpy()))
    if isinstance(dtype, pd.DatetimeTZDtype):
        _, source, encode = _of_array(series.dt.tz_convert(None).to_numpy())
        return Entries("instant", source, encode)
    if isinstance(dtype, pd.SparseDtype):
        return _pandas_entries(pd.Series(series.array.to_dense()))
    if isinstance(dtype, pd.CategoricalDtype):
        return _category_entries(series)
    arrow = isinstance(dtype, (pd.StringDtype, pd.ArrowDtype)) or hasattr(dtype, "numpy_dtype")
    if arrow and (opened := _opened(series.array.__arrow_array__)) is not None:
        return series_entries(opened)
    if isinstance(dtype, np.dtype) and pd.api.types.infer_dtype(series, skipna=True) == "string":
        opened = _opened(lambda: pa.array(series, pa.large_string(), from_pandas=True))
        if opened is not None:
            return series_entries(opened)
    entries = [None if spelling.is_null(entry) else entry for entry in series.tolist()]
    family = spelling.family_of_all(entries)
    return Entries(family, entries, lambda part: spelling.encode(family, part))


def _of_array(values: NDArray[Any]) -> tuple[str, NDArray[Any], Callable[[Any], Part]]:
    family, encode = _ARRAYS[values.dtype.kind]
    return family, values, encode


def _category_entries(series: pd.Series[Any]) -> Entries:
    """Those of the categories, each as often as it occurs."""
    codes: NDArray[Any] = series.cat.codes.to_numpy()
    labels = _pandas_entries(pd.Series(series.cat.categories))
    if isinstance(labels.source, pl.Series) and len(labels.source):
        return Entries(labels.family, codes, lambda part: labels.encode(_taken(labels.source, part)))
    own = [*series.cat.categories, None]  # the last one has the code -1
    return Entries(labels.family, codes, lambda part: spelling.encode(labels.family, [own[code] for code in part]))


def _taken(labels: pl.Series, codes: NDArray[Any]) -> pl.Series:
    """The labels of codes, of which -1 is a missing one."""
    return labels.gather(pl.Series(codes.astype(np.int64)).replace(-1, None))


def _opened(make: Callable[[], Any]) -> pl.Series | None:
    """An array of PyArrow as a Polars column; None for types and text that one of them does not have."""
    try:
        found = pl.from_arrow(make())
    except (UnicodeError, TypeError, NotImplementedError, pa.ArrowException):
        return None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    assert isinstance(found, pl.Series)
    return found


def _nested(series: pl.Series) -> Part:
    """Lists, structures and objects, spelled out; PyArrow keeps the nanoseconds in them, but for those of a time."""
    kept, dtype = _times_as_numbers(series.dtype), series.dtype
    try:
        found = (series if kept == dtype else series.cast(kept)).to_arrow().to_pylist()
    except (pa.ArrowException, pl.exceptions.PolarsError):
        kept, found = dtype, series.to_list()
    if kept != dtype:
        found = [_numbers_as_times(entry, dtype) for entry in found]
    return spelling.encode(spelling.OTHER, [None if spelling.is_null(entry) else entry for entry in found])


def _times_as_numbers(dtype: Any) -> Any:
    """The same type with whole numbers for times of day."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _times_as_numbers(field.dtype) for field in dtype.fields})
    if isinstance(dtype, pl.List):
        return pl.List(_times_as_numbers(dtype.inner))
    if isinstance(dtype, pl.Array):
        return pl.Array(_times_as_numbers(dtype.inner), dtype.size)
    return pl.Int64() if isinstance(dtype, pl.Time) else dtype


def _numbers_as_times(entry: Any, dtype: Any) -> Any:
    """The entry with times again."""
    if entry is None:
        return None
    if isinstance(dtype, pl.Struct):
        return {field.name: _numbers_as_times(entry[field.name], field.dtype) for field in dtype.fields}
    if isinstance(dtype, (pl.List, pl.Array)):
        return [_numbers_as_times(own, dtype.inner) for own in entry]
    return spelling.TimeOfDay(entry) if isinstance(dtype, pl.Time) else entry
