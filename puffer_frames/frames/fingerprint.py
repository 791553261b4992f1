"""The fingerprint that ties a certificate to the values of a frame."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame, NativeFrame, is_spark, open_frame
from puffer_frames.frames.unordered import UNORDERED, RowSums, as_floats, is_unordered, own_entries

PART = 1 << 17
"""Rows whose entries are hashed together; a column is the hash of its parts."""
MANY = 16
"""So many parts are hashed in two threads."""
_CHUNK = 1 << 14
"""Entries whose copies stay in the processor's cache."""


class Fingerprint:
    """SHA-256 over the names and values of the columns, rows after rows; equal on pandas and Polars.

    Numbers and booleans enter as 64-bit floats, times as microseconds, everything else as text; a missing entry
    is the same in every library. The order of the columns and the index of a pandas frame do not enter.
    """

    def __init__(self) -> None:
        self._parts: dict[str, list[hashlib._Hash]] = {}
        self._rows = 0

    def update(self, frame: Frame, /) -> None:
        """Take in the next rows."""
        ends = [0, *range(-self._rows % PART or PART, len(frame), PART), len(frame)]
        slices = [slice(*part) for part in pairwise(ends) if part[0] < part[1]]
        for name in frame.columns:
            parts = self._parts.setdefault(name, [])
            entries = own_entries(frame, name)
            fresh = [hashlib.sha256() for _ in slices]
            if self._rows % PART and slices:
                fresh[0] = parts.pop()
            pieces = [entries[part] for part in slices]
            if len(slices) < MANY:
                list(map(_take, fresh, pieces))
            else:
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(_take, fresh, pieces))
            parts += fresh
        self._rows += len(frame)

    def hexdigest(self) -> str:
        """Of the rows taken in so far."""
        digest = hashlib.sha256()
        for name in sorted(self._parts):
            digest.update(f"{name!r}:".encode())
            for part in self._parts[name]:
                digest.update(part.digest())
        return digest.hexdigest()


def _take(digest: hashlib._Hash, entries: NDArray[Any] | list[int | None] | list[str | None]) -> None:
    if isinstance(entries, np.ndarray):
        step = entries.size if entries.dtype == np.float64 else _CHUNK
        for start in range(0, entries.size, step):
            digest.update(as_floats(entries[start : start + step]).data)
    else:
        digest.update("".join(f"{entry!r}," for entry in entries).encode("utf-8", "surrogatepass"))


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
