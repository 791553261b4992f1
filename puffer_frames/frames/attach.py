"""Metadata on frames, and the fingerprint that ties it to their values."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from puffer_frames.frames.columns import NativeFrame, is_spark, labels_of, open_frame
from puffer_frames.frames.unordered import UNORDERED, RowSums, is_unordered, plain_entries

_KEY = "puffer_frames"
_ATTRIBUTE = "_puffer_frames_metadata"


def write_metadata(frame: NativeFrame, metadata: dict[str, Any], /) -> None:
    """Attach a JSON-like dict: in `attrs` on pandas, as a private attribute on Polars and Spark."""
    if not is_spark(frame) and open_frame(frame).implementation.is_pandas():
        frame.attrs = {**frame.attrs, _KEY: metadata}
    else:
        setattr(frame, _ATTRIBUTE, metadata)


def read_metadata(frame: NativeFrame, /) -> dict[str, Any] | None:
    """Return what `write_metadata` attached, or None."""
    found = (
        frame.attrs.get(_KEY) if not is_spark(frame) and hasattr(frame, "attrs") else getattr(frame, _ATTRIBUTE, None)
    )
    return found if isinstance(found, dict) else None


def column_names(frame: NativeFrame, /) -> tuple[str, ...]:
    """Names of the columns as text, without reading a row of a lazy frame."""
    return tuple(str(name) for name in labels_of(frame))


def fingerprint(frame: NativeFrame, /, *, like: str = "") -> str:
    """SHA-256 over the sorted names and the values of the columns, equal on pandas and Polars.

    Numbers and booleans enter as 64-bit floats, times as microseconds, everything else as text; a missing entry
    is the same in every library. The index of a pandas frame does not enter. Of a Spark frame, whose rows have no
    order, and for `like` another one of a Spark frame, it is `unordered.RowSums.digest`.
    """
    if is_spark(frame):
        from puffer_frames.frames.spark import sum_frame

        return sum_frame(frame).digest(column_names(frame))
    opened = open_frame(frame)
    if is_unordered(like):
        return RowSums.of(opened).digest(opened.columns)
    digest = hashlib.sha256()
    for name in sorted(opened.columns):
        digest.update(f"{name!r}:".encode())
        entries = plain_entries(opened, name)
        digest.update(entries.data if isinstance(entries, np.ndarray) else repr(entries).encode())
    return digest.hexdigest()


def fingerprint_text(value: str, /) -> str:
    """How a fingerprint is shown."""
    if is_unordered(value):
        return f"sha256 {value.removeprefix(UNORDERED)[:16]}… of the rows in any order"
    return f"sha256 {value[:16]}…"


def forget_accessor(frame: NativeFrame, /, *, name: str) -> None:
    """Drop an accessor that Polars cached on the frame: the cycle would keep a large frame alive."""
    getattr(frame, "__dict__", {}).pop(name, None)
