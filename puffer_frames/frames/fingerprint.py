"""The fingerprint that ties a certificate to the values of a frame."""

from __future__ import annotations

import hashlib

import numpy as np

from puffer_frames.frames.columns import Frame, NativeFrame, is_spark, open_frame
from puffer_frames.frames.unordered import UNORDERED, RowSums, is_unordered, plain_entries


class Fingerprint:
    """SHA-256 over the names and values of the columns, block of rows by block; equal on pandas and Polars.

    Numbers and booleans enter as 64-bit floats, times as microseconds, everything else as text; a missing entry
    is the same in every library. The order of the columns and the index of a pandas frame do not enter.
    """

    def __init__(self) -> None:
        self._columns: dict[str, hashlib._Hash] = {}

    def update(self, frame: Frame, /) -> None:
        """Take in the next rows."""
        for name in frame.columns:
            digest = self._columns.setdefault(name, hashlib.sha256())
            entries = plain_entries(frame, name)
            if isinstance(entries, np.ndarray):
                digest.update(entries.data)
            else:
                digest.update("".join(f"{entry!r}," for entry in entries).encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        """Of the rows taken in so far."""
        digest = hashlib.sha256()
        for name in sorted(self._columns):
            digest.update(f"{name!r}:{self._columns[name].hexdigest()};".encode())
        return digest.hexdigest()


def fingerprint(frame: NativeFrame, /, *, like: str = "") -> str:
    """The fingerprint of a frame; a lazy one is collected.

    Of a Spark frame, whose rows have no order, and for `like` another one of a Spark frame, it is
    `unordered.RowSums.digest`.
    """
    if is_spark(frame):
        from puffer_frames.frames.spark import sum_frame

        return sum_frame(frame).digest(tuple(frame.columns))
    opened = open_frame(frame)
    if is_unordered(like):
        return RowSums.of(opened).digest(opened.columns)
    found = Fingerprint()
    found.update(opened)
    return found.hexdigest()


def fingerprint_text(value: str, /) -> str:
    """How a fingerprint is shown."""
    if is_unordered(value):
        return f"sha256 {value.removeprefix(UNORDERED)[:16]}… of the rows in any order"
    return f"sha256 {value[:16]}…"
