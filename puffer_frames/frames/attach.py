"""Metadata on frames, and the fingerprint that ties it to their values."""

from __future__ import annotations

import hashlib
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.frames.columns import NativeFrame, column, labels_of, open_frame

_KEY = "puffer_frames"
_ATTRIBUTE = "_puffer_frames_metadata"


def write_metadata(frame: NativeFrame, metadata: dict[str, Any], /) -> None:
    """Attach a JSON-like dict: in `attrs` on pandas, as a private attribute on Polars."""
    if open_frame(frame).implementation.is_pandas():
        frame.attrs = {**frame.attrs, _KEY: metadata}
    else:
        setattr(frame, _ATTRIBUTE, metadata)


def read_metadata(frame: NativeFrame, /) -> dict[str, Any] | None:
    """Return what `write_metadata` attached, or None."""
    found = frame.attrs.get(_KEY) if hasattr(frame, "attrs") else getattr(frame, _ATTRIBUTE, None)
    return found if isinstance(found, dict) else None


def column_names(frame: NativeFrame, /) -> tuple[str, ...]:
    """Names of the columns as text, without reading a row of a lazy frame."""
    return tuple(str(name) for name in labels_of(frame))


def fingerprint(frame: NativeFrame, /) -> str:
    """SHA-256 over the sorted names and the values of the columns, equal on pandas and Polars.

    Numbers and booleans enter as 64-bit floats, times as microseconds, everything else as text; a missing entry
    is the same in every library. The index of a pandas frame does not enter.
    """
    opened = open_frame(frame)
    digest = hashlib.sha256()
    for name in sorted(opened.columns):
        digest.update(f"{name!r}:".encode())
        values_of = column(opened, name)
        truth = isinstance(values_of.dtype, nw.Boolean)
        if truth or values_of.dtype.is_numeric():
            numbers = values_of.cast(nw.Float64) if opened.implementation.is_polars() else values_of
            filled = numbers.fill_null(False if truth and numbers is values_of else 0)
            values = np.array(filled.to_numpy(), dtype="<f8")
            values[values_of.is_null().to_numpy().astype(bool) | np.isnan(values)] = np.nan
            digest.update(values.data)
        elif isinstance(values_of.dtype, (nw.Date, nw.Datetime)):
            times = values_of.cast(nw.Datetime("us")) if isinstance(values_of.dtype, nw.Date) else values_of
            digest.update(repr(times.dt.timestamp("us").to_list()).encode())
        else:
            digest.update(repr([None if is_null(entry) else str(entry) for entry in values_of.to_list()]).encode())
    return digest.hexdigest()


def is_null(entry: Any) -> bool:
    """True for None, NaN and pandas.NA."""
    return entry is None or type(entry).__name__ == "NAType" or entry != entry


def forget_accessor(frame: NativeFrame, /, *, name: str) -> None:
    """Drop an accessor that Polars cached on the frame: the cycle would keep a large frame alive."""
    getattr(frame, "__dict__", {}).pop(name, None)
