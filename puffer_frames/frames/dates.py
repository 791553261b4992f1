"""Columns of dates as whole days since 1970-01-01, and back: what counts rows and draws noise sees numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.columns import Frame, NativeFrame, column
from puffer_frames.numbers.arguments import is_array
from puffer_frames.priors.prior import FloatArray

EPOCH = date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = date.min.toordinal() - EPOCH, date.max.toordinal() - EPOCH
"""Ends of the calendar of Python, which every library can show."""
_NANOSECONDS = 106_751
"""So many days before and after 1970 fit into 64 bits of nanoseconds."""
ENDS = (FIRST_DAY, -_NANOSECONDS, _NANOSECONDS, LAST_DAY)
"""Days that may stand for what noise moved beyond the calendar."""
_COUNTS_NANOSECONDS = re.compile(r"\bns\b")


def to_dates(name: str, /) -> str:
    """How to come to dates from texts, or from numbers."""
    return (
        f"Convert it to dates first: in pandas pd.to_datetime(frame[{name!r}].astype(str), format='%Y-%m-%d'), in "
        f"Polars pl.col({name!r}).cast(pl.String).str.to_date('%Y-%m-%d'), of numbers such as 20250131 with '%Y%m%d'."
    )


def day_of(entry: Any, /) -> Any:
    """A date as its day; anything else, no time among it, as it is."""
    if isinstance(entry, np.datetime64) and not np.isnat(entry):
        return int(entry.astype("datetime64[D]").astype(np.int64))  # item() gives nanoseconds as a number
    return entry.toordinal() - EPOCH if isinstance(entry, date) and entry is not pd.NaT else entry


def bounds_in_days(given: Any, /) -> Any:
    """Bounds, or levels, of one column or by column, with days in place of dates."""
    if isinstance(given, Mapping):
        return {name: bounds_in_days(of) for name, of in given.items()}
    if is_array(given) and getattr(given, "ndim", 1) == 1:
        return list(map(day_of, given))
    return type(given)(map(day_of, given)) if isinstance(given, (list, tuple)) else given


def dates_among(schema: Mapping[str, nw.dtypes.DType], names: Iterable[str], /) -> tuple[str, ...]:
    """The columns of dates among some; raises ColumnTypeError for moments of a time zone, whose day depends on it."""
    found = tuple(name for name in names if name in schema and isinstance(schema[name], (nw.Date, nw.Datetime)))
    for name in found:
        if getattr(schema[name], "time_zone", None) is not None:
            raise no_dates(name, "moments of a time zone")
    return found


def no_dates(name: str, got: str, /) -> ColumnTypeError:
    """The error of a column of times that are no dates."""
    return ColumnTypeError(
        f"the public column {name!r}",
        rule="of dates, or of times at midnight without a time zone",
        got=got,
        hint="Take the day of each first: in pandas .dt.tz_localize(None).dt.normalize(), in Polars .dt.date(), in "
        "PyArrow .cast(pa.date32()), in Spark to_date(column), in DuckDB CAST(column AS DATE). If the time of day "
        "matters, convert to a number, such as the hours since a moment that everybody knows.",
    )


def days(entries: Any, /) -> Any:
    """A Polars series or expression of dates as whole days."""
    return entries.cast(pl.Date).to_physical().cast(pl.Int64)


def days_of(entries: nw.Series[Any], /, *, name: str) -> pl.Series | None:
    """A column in memory as whole days; None for one that does not hold dates, of a dtype or as objects of Python.

    Raises ColumnTypeError for times of a zone, or of the day.
    """
    if isinstance(entries.dtype, nw.Object):
        found = _dates_of_python(entries)
        return None if found is None else days(found)
    if not dates_among({name: entries.dtype}, [name]):
        return None
    given = entries.to_polars()
    if (given.cast(pl.Date).cast(given.dtype) != given).any():
        raise no_dates(name, "times of the day")
    return days(given)


def has_dates(entries: nw.Series[Any], /) -> bool:
    """Whether a column in memory holds dates, or times."""
    is_temporal = isinstance(entries.dtype, (nw.Date, nw.Datetime))
    return is_temporal or (isinstance(entries.dtype, nw.Object) and _dates_of_python(entries) is not None)


def _dates_of_python(entries: nw.Series[Any]) -> pl.Series | None:
    listed = [None if null else entry for entry, null in zip(entries.to_list(), entries.is_null(), strict=True)]
    return pl.Series(listed, dtype=pl.Date) if {type(entry) for entry in listed} - {type(None)} == {date} else None


def in_days(frame: Frame, names: Iterable[str], /) -> tuple[Frame, dict[str, Any]]:
    """A frame in memory with days in place of the dates of some columns, and the dtypes that these had."""
    native, dtypes = frame.to_native(), {}
    for name in names:
        found = days_of(column(frame, name), name=name) if name in frame.columns else None
        if found is None:
            continue
        dtypes[name] = native[name].dtype
        if isinstance(native, pl.DataFrame):
            native = native.with_columns(found.alias(name))
            continue
        missing = found.is_null().to_numpy()
        values: Any = found.fill_null(0).to_numpy()
        if not dtypes.keys() - {name}:
            native = native.copy(deep=False)
        whole = pd.arrays.IntegerArray(values.copy(), missing) if missing.any() else values
        native.isetitem(native.columns.get_loc(name), pd.Series(whole, index=native.index))
    return (nw.from_native(native, eager_only=True) if dtypes else frame), dtypes


def from_days(values: FloatArray, dtype: Any, /) -> pl.Series:
    """Days as dates of a dtype of Polars, or as Date for one of another library, each to the nearest whole day.

    What noise moves beyond the calendar, or beyond what the dtype holds, becomes its end; NaN is a missing one.
    """
    low, high = (-_NANOSECONDS, _NANOSECONDS) if _COUNTS_NANOSECONDS.search(str(dtype)) else (FIRST_DAY, LAST_DAY)
    whole = pl.Series(np.rint(values).clip(low, high), nan_to_null=True).cast(pl.Int32).cast(pl.Date)
    return whole.cast(dtype) if isinstance(dtype, pl.DataType) and dtype != pl.Object else whole


def arrow_from_days(values: FloatArray, kind: pa.DataType, /) -> pa.Array:
    """The same as an array of PyArrow."""
    return from_days(values, kind).to_arrow().cast(kind)


def with_dates(frame: NativeFrame, dtypes: Mapping[str, Any], /) -> NativeFrame:
    """A released pandas or Polars frame with dates of these dtypes in place of days."""
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(from_days(frame[name].to_numpy(), of).alias(name) for name, of in dtypes.items())
    names = [str(label) for label in frame.columns]
    for name, dtype in dtypes.items():
        place = names.index(name)
        values = frame.iloc[:, place].to_numpy(dtype=np.float64)
        if isinstance(dtype, pd.ArrowDtype):
            array: Any = pd.arrays.ArrowExtensionArray(arrow_from_days(values, dtype.pyarrow_dtype))
        elif dtype == np.dtype(object):
            array = np.array(from_days(values, dtype).to_list(), dtype=object)
        else:
            array = from_days(values, dtype).to_numpy().astype(dtype)
        frame.isetitem(place, pd.Series(array, index=frame.index, dtype=dtype))
    return frame


def plain_numbers(entries: pl.Series, /) -> FloatArray:
    """A released column of numbers, or of dates in days, as an array."""
    return (days(entries) if entries.dtype.is_temporal() else entries).to_numpy()
