"""Python objects as entries: of a family of types where all are of one, and spelled out where they are not."""

from __future__ import annotations

import datetime
import hashlib
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.frames.stamps.parts import Part, counted, numbers, plain_decimals, texts

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


def family_of_all(entries: Sequence[Any], /) -> str:
    """The family of objects, None among them: their own where it is one, else `OTHER`."""
    found = {family_of(entry) for entry in entries if entry is not None}
    return found.pop() if len(found) == 1 else OTHER


def encode(family: str, entries: Sequence[Any], /) -> Part:
    """Objects of one family, None where one is missing."""
    return _ENCODE[family](entries)


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
    return counted(ticks[:, 0], _missing(entries), ticks[:, 1])


def _units(unit: Callable[[Any], int]) -> Callable[[Sequence[Any]], Part]:
    """An encoder of what is a whole number of some unit."""

    def encoded(entries: Sequence[Any]) -> Part:
        units = np.array([0 if entry is None else unit(entry) for entry in entries], dtype="<i8")
        return counted(units, _missing(entries))

    return encoded


def _missing(entries: Sequence[Any]) -> Any:
    missing = np.array([entry is None for entry in entries], dtype=bool)
    return missing if missing.any() else None


def _text(entries: Sequence[str | None]) -> Part:
    """Also text that UTF-8 does not hold."""
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
_ENCODE: Mapping[str, Callable[[Sequence[Any]], Part]] = {
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
