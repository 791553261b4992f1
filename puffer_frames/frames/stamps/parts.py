"""Some entries of a column in 8 bytes each, and what these leave out: the same in every library."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
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


def series_floats(series: pl.Series, /) -> Part:
    """Polars floats."""
    wide = series.cast(pl.Float64)
    return floats((wide.fill_null(math.nan) if wide.null_count() else wide).to_numpy())


def series_integers(series: pl.Series, /) -> Part:
    """Polars integers of at most 64 bits."""
    missing = _missing(series)
    return whole(series.to_numpy() if missing is None else series.fill_null(0).to_numpy(), missing)


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


def series_wide(series: pl.Series, /) -> Part:
    """Polars integers of 128 bits."""
    return numbers(series.to_list())


def series_units(series: pl.Series, /) -> Part:
    """Polars truth values, and times of day in their nanoseconds."""
    missing = _missing(series)
    units = series.to_physical().cast(pl.Int64)
    return counted((units if missing is None else units.fill_null(0)).to_numpy(), missing)


def series_moments(series: pl.Series, /) -> Part:
    """Polars dates, moments and durations."""
    missing = _missing(series)
    units = series.to_physical().cast(pl.Int64)
    values = (units if missing is None else units.fill_null(0)).to_numpy()
    return microseconds(values, missing, unit=getattr(series.dtype, "time_unit", "D"))


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
