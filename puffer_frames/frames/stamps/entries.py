"""The entries of a column: a family of types, and 8 bytes for each, the same in every library."""

from __future__ import annotations

import datetime
import hashlib
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray

ABSENT = np.iinfo(np.int64).min
"""What stands for a missing time or truth value."""
_SECOND, _MILLISECOND = 10**6, 10**3
_PER_UNIT = {"D": 86_400 * _SECOND, "s": _SECOND, "ms": _MILLISECOND, "us": 1}
_EXACT = 2**53
"""Whole numbers up to here are 64-bit floats."""


def _none() -> NDArray[Any]:
    return np.empty(0, dtype="<i8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some entries of one family.

    A number is the nearest 64-bit float; a moment or a duration is in microseconds, a time of day in nanoseconds; of
    text there is the number of bytes. What is left over follows by place.
    """

    words: NDArray[Any]
    """8 bytes for each entry; NaN, `ABSENT` or -1 for a missing one."""
    missing: NDArray[np.bool_] | None = None
    """Which are; None for none."""
    places: NDArray[Any] = field(default_factory=_none)
    """Places of what the words leave out, ascending; twice for what another 8 bytes leave out again."""
    more: NDArray[Any] = field(default_factory=_none)
    """8 bytes of what they leave out."""
    text: bytes | memoryview | None = None
    """The bytes of all texts, one after another; None where the entries are none."""

    @property
    def present(self) -> bool:
        """Whether any entry is there."""
        return self.words.size > 0 and (self.missing is None or not bool(self.missing.all()))


def floats(values: NDArray[Any], /) -> Part:
    """Floats, with one NaN for all, which is a missing entry."""
    words: FloatArray = np.ascontiguousarray(values, dtype="<f8")
    with np.errstate(over="ignore", invalid="ignore"):
        total = words.sum()
    if not math.isnan(total):
        return Part(words=words)
    missing = np.isnan(words)  # infinities of both signs have no sum either
    words = np.where(missing, np.nan, words)
    return Part(words=words, missing=missing if missing.any() else None)


def expansion(number: int, /) -> list[float]:
    """Floats whose sum is a whole number, each the nearest to what the earlier ones leave.

    Raises OverflowError for a number that no float is near.
    """
    parts = [float(number)]
    while number := number - int(parts[-1]):
        parts.append(float(number))
    return parts


def numbers(values: list[int | float | None], /) -> Part:
    """Numbers of Python, of any size; None is missing."""
    found = [[math.nan] if v is None else [v] if isinstance(v, float) else expansion(v) for v in values]
    places = [place for place, parts in enumerate(found) for _ in parts[1:]]
    more = [part for parts in found for part in parts[1:]]
    first = floats(np.array([parts[0] for parts in found], dtype="<f8"))
    return Part(
        words=first.words, missing=first.missing, places=np.array(places, "<i8"), more=np.array(more, dtype="<f8")
    )


def counted(units: NDArray[Any], missing: NDArray[np.bool_] | None, rest: NDArray[Any] | None = None, /) -> Part:
    """Whole numbers of some unit, and what they leave out, where that is not 0."""
    words = np.ascontiguousarray(units, dtype="<i8")
    left = words == ABSENT if rest is None else (words == ABSENT) | (rest != 0)
    if missing is not None:
        words = np.where(missing, ABSENT, words)
        left &= ~missing
    if not left.any():
        return Part(words=words, missing=missing)
    places = np.flatnonzero(left)
    more = np.zeros(places.size, dtype="<i8") if rest is None else rest[places]
    return Part(words=words, missing=missing, places=places, more=more)


def texts(series: pl.Series, /) -> Part:
    """Text or bytes."""
    missing = _missing(series)
    filled = series if missing is None else series.fill_null("" if series.dtype == pl.String else b"")
    array: Any = filled.to_arrow(compat_level=pl.CompatLevel.oldest())
    array = array.cast(pa.large_binary() if series.dtype == pl.Binary else pa.large_string())
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, dtype="<i8")[array.offset : array.offset + len(array) + 1] if len(array) else [0]
    words = np.diff(offsets)
    if missing is not None:
        words[missing] = -1
    text = memoryview(data)[int(offsets[0]) : int(offsets[-1])] if data is not None else b""
    return Part(words=words, missing=missing, text=text)


def plain_decimals(decimals: pl.Series, /) -> pl.Series:
    """Decimals as text, without zeros at their end, and with one zero."""
    short = decimals.str.replace(r"(\.\d*?)0+$", "$1").str.strip_suffix(".")
    return short.replace("-0", "0")


def _missing(series: pl.Series) -> NDArray[np.bool_] | None:
    return series.is_null().to_numpy() if series.null_count() else None


def _filled(integers: pl.Series) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Integers, 0 for a missing one, and which are missing."""
    missing = _missing(integers)
    return (integers if missing is None else integers.fill_null(0)).to_numpy(), missing


def series_floats(series: pl.Series, /) -> Part:
    """Polars floats."""
    wide = series.cast(pl.Float64)
    return floats((wide.fill_null(math.nan) if wide.null_count() else wide).to_numpy())


def whole(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Part:
    """Integers of at most 64 bits."""
    words: NDArray[Any] = np.ascontiguousarray(values, dtype="<f8")
    places = more = _none()
    if values.dtype.itemsize == 8 and values.size and not -_EXACT <= int(values.min()) <= int(values.max()) <= _EXACT:
        rest = np.ascontiguousarray(values, dtype=f"<{values.dtype.kind}8").view("<u8") - _modulo(words)
        places = np.flatnonzero(rest)
        more = rest[places].view("<i8").astype("<f8")
    if missing is not None:
        words = np.where(missing, np.nan, words)
    return Part(words=words, missing=missing, places=places, more=more)


def _modulo(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Whole floats from -2**63 to 2**64, modulo 2**64."""
    far = numbers >= 2.0**63
    if not far.any():
        return numbers.astype("<i8").view("<u8")
    low = np.where(far, 0, numbers).astype("<i8").view("<u8")
    high: NDArray[np.uint64] = np.where(far, numbers - 2.0**63, 0).astype("<u8") + (far.astype("<u8") << np.uint64(63))
    return low + high


def series_units(series: pl.Series, /) -> Part:
    """Polars truth values, and times of day in their nanoseconds."""
    return counted(*_filled(series.to_physical().cast(pl.Int64)))


def series_moments(series: pl.Series, /) -> Part:
    """Polars dates, moments and durations."""
    return microseconds(*_filled(series.to_physical().cast(pl.Int64)), unit=getattr(series.dtype, "time_unit", "D"))


def array_moments(values: NDArray[Any], /) -> Part:
    """NumPy moments and durations."""
    missing = np.isnat(values)
    unit, step = np.datetime_data(values.dtype)
    native = values.astype(values.dtype.newbyteorder("="))
    units = np.where(missing, 0, native.view("i8"))
    assert step == 1
    return microseconds(units, missing if missing.any() else None, unit=unit)


def microseconds(units: NDArray[Any], missing: NDArray[np.bool_] | None, *, unit: str) -> Part:
    """Microseconds modulo 2**64, and the rest: nanoseconds, and a thousand for each 2**64 that they leave out."""
    if unit == "ns":
        whole = np.floor_divide(units, _MILLISECOND)
        return counted(whole, missing, units - whole * _MILLISECOND)
    factor = _PER_UNIT[unit]
    whole = units * factor
    turns = np.rint((units.astype(float) * factor - whole.astype(float)) / 2.0**64).astype("<i8")
    return counted(whole, missing, turns * _MILLISECOND)


OTHER = "other"
"""The family of entries that no other has."""
_MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class TimeOfDay:
    """In nanoseconds, which `datetime.time` does not have."""

    nanoseconds: int
    tzinfo: None = None


_KINDS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "boolean"),
    ((int, np.integer), "number"),
    ((float, np.float64, np.float32, np.float16), "number"),
    ((Decimal,), "decimal"),
    ((str,), "text"),
    ((bytes, bytearray, memoryview), "bytes"),
    ((datetime.date, np.datetime64), "datetime"),
    ((datetime.time, TimeOfDay), "time"),
    ((datetime.timedelta, np.timedelta64), "duration"),
)


def is_null(entry: Any, /) -> bool:
    """True for None, NaN, pandas.NA and NaT."""
    if entry is None or entry is pd.NA or entry is pd.NaT:
        return True
    if isinstance(entry, Decimal):
        return entry.is_nan()
    return isinstance(entry, (float, np.floating, np.datetime64, np.timedelta64)) and bool(entry != entry)


_HEAP = 1 << 9
"""Flag of a type that is written in Python."""
_SCALARS: tuple[Any, ...] = (str, bytes, int, float, complex)
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset)
_MADE_AGAIN: tuple[Any, ...] = (
    *(pd.Timestamp, pd.Timedelta, datetime.datetime, datetime.date, datetime.time, datetime.timedelta),
    *(Decimal, bytearray, np.generic),
)


def plain_entry(entry: Any, /) -> Any:
    """An object without what rides along, nested ones too: attributes of its class, bits of a NaN, masked values."""
    if isinstance(entry, Enum) or entry is np.ma.masked:
        return entry
    if isinstance(entry, Decimal) and entry.is_nan():
        return Decimal("NaN")
    if isinstance(entry, (float, np.floating)) and entry != entry:
        return math.nan
    if isinstance(entry, np.ndarray):  # which may be a view of a larger one
        masked, blank = isinstance(entry, np.ma.MaskedArray), cast(Any, np.zeros((), entry.dtype))
        own = np.array(np.ma.filled(entry, blank) if masked else entry, order="C")
        if own.dtype.kind == "f":
            own[np.isnan(own)] = np.nan
        if own.dtype == object:
            np.frompyfunc(plain_entry, 1, 1)(own, out=own)
        return np.ma.array(own, mask=np.ma.getmaskarray(entry).copy()) if masked else own
    if isinstance(entry, dict):
        return {plain_entry(key): plain_entry(own) for key, own in dict.items(entry)}
    for kind in _CONTAINERS:
        if isinstance(entry, kind):
            found = kind(plain_entry(own) for own in kind.__iter__(entry))
            named = hasattr(type(entry), "_fields") and not type(entry).__dictoffset__  # no attributes but the fields
            return tuple.__new__(type(entry), found) if kind is tuple and named else found
    if not type(entry).__flags__ & _HEAP or type(entry) in _MADE_AGAIN or entry is pd.NaT:
        return entry
    return _plain_scalar(entry)


def _plain_scalar(entry: Any) -> Any:
    """The same as an object of the class beneath, by its own way to be pickled, not by that of the class above."""
    for kind in _SCALARS:
        if isinstance(entry, kind):
            return kind(*kind.__getnewargs__(entry))
    for kind in _MADE_AGAIN:
        if isinstance(entry, kind):
            parts = vars(kind).get("__reduce_ex__")  # with the fold of a time, which the other way lacks
            make, own = (parts(entry, 4) if parts else kind.__reduce__(entry))[:2]
            return (kind if make is type(entry) else make)(*own)
    return entry


def family_of(entry: Any, /) -> str:
    """The family of an object that is not missing."""
    for types, name in _KINDS:
        if isinstance(entry, types):
            return _refined(entry, name)
    return OTHER


def _refined(entry: Any, name: str) -> str:
    """Moments with and without a time zone are two families; what the bits of a family do not hold is of none."""
    if name == "datetime" and getattr(entry, "tzinfo", None) is not None:
        return "instant"
    beyond = (name == "number" and not isinstance(entry, (float, np.floating)) and abs(int(entry)) >= 1 << 1023) or (
        name == "time" and entry.tzinfo is not None
    )
    return OTHER if beyond else name


def spelled(entry: Any, /) -> str:
    """An object as text, with its family: the same for a list, a tuple and an array, and for the same mapping."""
    if isinstance(entry, (pd.Series, pd.Index, pl.Series)):
        entry = entry.to_list()
    if isinstance(entry, np.ndarray):
        entry = np.asarray(entry)  # parts of a matrix are matrices again
        entry = list(entry) if entry.dtype.kind in "mM" or entry.ndim > 1 else entry.tolist()
    if isinstance(entry, (list, tuple)):
        return "[" + ",".join(map(spelled, entry)) + "]"
    if isinstance(entry, Mapping):
        return "{" + ",".join(f"{spelled(key)}:{spelled(value)}" for key, value in entry.items()) + "}"
    if is_null(entry):
        return "missing"
    family = family_of(entry)
    if family == OTHER:
        whole = repr(entry)
        if is_shortened(entry, whole):
            with suppress(pickle.PicklingError, TypeError, AttributeError):
                whole = hashlib.sha256(pickle.dumps(entry, protocol=5)).hexdigest()
        return f"{type(entry).__qualname__}:{whole}"
    if family in ("datetime", "instant", "duration"):
        return f"{family}:{_ticks(entry)!r}"
    if family == "number":
        return f"number:{_number(entry)}"
    return f"{family}:{_PLAIN[family](entry)!r}"


def is_shortened(entry: Any, text: str, /) -> bool:
    """Whether the text of an object may leave some of it out: that of frames, sparse matrices, long arrays."""
    return not isinstance(entry, (str, np.generic)) and (hasattr(entry, "shape") or "..." in text)


def _number(entry: Any) -> str:
    """Equal for equal whole numbers and floats."""
    if isinstance(entry, (float, np.floating)):
        value = float(entry)
        signed = value == 0 and math.copysign(1, value) < 0
        return repr(value) if signed or not value.is_integer() else str(int(value))
    return str(int(entry))


def _ticks(entry: Any) -> tuple[int, int]:
    """Microseconds, and nanoseconds beyond them, of a moment (of UTC, where it has a zone) or a duration."""
    if isinstance(entry, (np.datetime64, np.timedelta64)):
        entry = pd.Timestamp(entry) if isinstance(entry, np.datetime64) else pd.Timedelta(entry)
    if isinstance(entry, pd.Timedelta):
        return entry.value // 1000, entry.value % 1000
    if isinstance(entry, datetime.timedelta):
        return entry // _MICROSECOND, 0
    nanoseconds = 0
    if not isinstance(entry, datetime.datetime):  # a date is its midnight
        return (entry.toordinal() - _EPOCH.toordinal()) * 86_400 * 10**6, 0
    if isinstance(entry, pd.Timestamp):
        entry, nanoseconds = entry.to_pydatetime(warn=False), entry.nanosecond
    epoch = _EPOCH if entry.tzinfo is None else _EPOCH.replace(tzinfo=datetime.UTC)
    return (entry - epoch) // _MICROSECOND, nanoseconds


def _decimals(entries: Sequence[Decimal | None]) -> pl.Series:
    return pl.Series([None if entry is None else format(entry, "f") for entry in entries], dtype=pl.String)


def _moments(entries: Sequence[Any]) -> Part:
    found = [(0, 0) if entry is None else _ticks(entry) for entry in entries]
    ticks = np.array(found, dtype="<i8").reshape(-1, 2)
    return counted(ticks[:, 0], _missing_objects(entries), ticks[:, 1])


def _units(unit: Callable[[Any], int]) -> Callable[[Sequence[Any]], Part]:
    """An encoder of what is a whole number of some unit."""

    def encoded(entries: Sequence[Any]) -> Part:
        units = np.array([0 if entry is None else unit(entry) for entry in entries], dtype="<i8")
        return counted(units, _missing_objects(entries))

    return encoded


def _missing_objects(entries: Sequence[Any]) -> Any:
    missing = np.array([entry is None for entry in entries], dtype=bool)
    return missing if missing.any() else None


def _text(entries: Sequence[str | None]) -> Part:
    """A text; UTF-8 need not be able to hold it."""
    return texts(
        pl.Series([None if e is None else e.encode("utf-8", "surrogatepass") for e in entries], dtype=pl.Binary)
    )


def _nanoseconds(time: datetime.time | TimeOfDay) -> int:
    if isinstance(time, TimeOfDay):
        return time.nanoseconds
    return (((time.hour * 60 + time.minute) * 60 + time.second) * 10**6 + time.microsecond) * 1000


def _plain_number(entry: Any) -> int | float | None:
    if entry is None:
        return None
    return float(entry) if isinstance(entry, (float, np.floating)) else int(entry)


_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "boolean": bool,
    "decimal": lambda entry: plain_decimals(_decimals([entry])).item(),
    "text": str,
    "bytes": bytes,
    "time": _nanoseconds,
}
_ENCODE: Mapping[str, Callable[[Sequence[Any]], Part]] = {  # of objects of a family, None for a missing one
    "boolean": _units(int),
    "number": lambda entries: numbers([_plain_number(entry) for entry in entries]),
    "decimal": lambda entries: texts(plain_decimals(_decimals(entries))),
    "text": _text,
    "bytes": lambda entries: texts(pl.Series([e if e is None else bytes(e) for e in entries], dtype=pl.Binary)),
    "time": _units(_nanoseconds),
    "datetime": _moments,
    "instant": _moments,
    "duration": _moments,
    OTHER: lambda entries: _text([None if entry is None else spelled(entry) for entry in entries]),
}


_ENCODED: dict[Any, tuple[str, Callable[[Any], Part]]] = {
    pl.Boolean: ("boolean", series_units),
    pl.Decimal: ("decimal", lambda part: texts(plain_decimals(part.cast(pl.String)))),
    pl.String: ("text", texts),
    pl.Categorical: ("text", lambda part: texts(part.cast(pl.String))),
    pl.Enum: ("text", lambda part: texts(part.cast(pl.String))),
    pl.Binary: ("bytes", texts),
    pl.Date: ("datetime", series_moments),
    pl.Time: ("time", series_units),
    pl.Duration: ("duration", series_moments),
    pl.Datetime: ("datetime", series_moments),
}
_ARRAYS: dict[str, tuple[str, Callable[[Any], Part]]] = {
    "f": ("number", floats),
    "i": ("number", whole),
    "u": ("number", whole),
    "b": ("boolean", lambda part: Part(words=part.astype("<i8"))),
    "m": ("duration", array_moments),
    "M": ("datetime", array_moments),
}


@dataclass(frozen=True, slots=True)
class Entries:
    """A column, encoded part by part.

    The family is that of the type: boolean, number (integers and floats of any width), decimal, text (categories of
    text too), bytes, datetime (dates too, and without a time zone), instant (with one), time, duration, or other.
    """

    family: str
    source: Any
    """Data that `encode` takes slices of."""
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
    """The entries of a Polars column; PyArrow, Spark and many pandas columns are opened as such."""
    series = series.alias("entries")  # Polars reads names like "^x$" as patterns in operations
    dtype = series.dtype
    if dtype.is_float():
        return Entries("number", series, series_floats)
    if dtype.is_integer():
        wide = dtype in (pl.Int128, pl.UInt128)
        return Entries("number", series, lambda part: numbers(part.to_list()) if wide else whole(*_filled(part)))
    if dtype.base_type() not in _ENCODED:
        return Entries(OTHER, series, _nested)
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
    entries = [None if is_null(entry) else entry for entry in series.tolist()]
    families = {family_of(entry) for entry in entries if entry is not None}
    family = families.pop() if len(families) == 1 else OTHER
    return Entries(family, entries, _ENCODE[family])


def _of_array(values: NDArray[Any]) -> tuple[str, NDArray[Any], Callable[[Any], Part]]:
    family, encode = _ARRAYS[values.dtype.kind]
    return family, values, encode


def _category_entries(series: pd.Series[Any]) -> Entries:
    """The entries of the categories, each as often as it occurs."""
    codes: NDArray[Any] = series.cat.codes.to_numpy()
    labels = _pandas_entries(pd.Series(series.cat.categories))
    if isinstance(labels.source, pl.Series) and len(labels.source):
        return Entries(labels.family, codes, lambda part: labels.encode(_taken(labels.source, part)))
    own = [*series.cat.categories, None]  # the last one has the code -1
    return Entries(labels.family, codes, lambda part: _ENCODE[labels.family]([own[code] for code in part]))


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
    kept, dtype = with_other(series.dtype, pl.Time, pl.Int64()), series.dtype
    try:
        found = (series if kept == dtype else series.cast(kept)).to_arrow().to_pylist()
    except (pa.ArrowException, pl.exceptions.PolarsError):
        kept, found = dtype, series.to_list()
    if kept != dtype:
        found = [_numbers_as_times(entry, dtype) for entry in found]
    return _ENCODE[OTHER]([None if is_null(entry) else entry for entry in found])


def with_other(dtype: Any, kind: type[pl.DataType], other: pl.DataType, /) -> Any:
    """A dtype with another one in place of every one of a kind, nested ones too."""
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: with_other(field.dtype, kind, other) for field in dtype.fields})
    if isinstance(dtype, pl.List):
        return pl.List(with_other(dtype.inner, kind, other))
    if isinstance(dtype, pl.Array):
        return pl.Array(with_other(dtype.inner, kind, other), dtype.size)
    return other if isinstance(dtype, kind) else dtype


def _numbers_as_times(entry: Any, dtype: Any) -> Any:
    """The entry with times again."""
    if entry is None:
        return None
    if isinstance(dtype, pl.Struct):
        return {field.name: _numbers_as_times(entry[field.name], field.dtype) for field in dtype.fields}
    if isinstance(dtype, (pl.List, pl.Array)):
        return [_numbers_as_times(own, dtype.inner) for own in entry]
    return TimeOfDay(entry) if isinstance(dtype, pl.Time) else entry
