"""The fingerprint that ties a certificate to the values of a frame."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from puffer_frames.frames.columns import Frame
from puffer_frames.frames.stamps.entries import Entries, entries_of
from puffer_frames.frames.stamps.unordered import UNORDERED, RowSums, is_unordered

PART = 1 << 17
"""Rows whose entries are hashed together; a column is the hash of its parts."""
MANY = 16
"""So many parts are hashed in two threads."""


class _Hash:
    """SHA-256 of a part of a column: of the words of its entries, and of what these leave out."""

    def __init__(self) -> None:
        self.present = False
        self._words = hashlib.sha256()
        self._rest = hashlib.sha256()

    def take(self, entries: Entries, start: int, stop: int, first: int, /) -> None:
        """Take in some entries, the first of which has a number in the part."""
        part = entries.part(start, stop)
        self.present |= part.present
        self._words.update(part.words.data)
        self._rest.update(part.text or b"")
        self._rest.update(np.column_stack([part.places + first, part.more.view("<i8")]).data)

    def digest(self) -> bytes:
        """Of the entries taken in so far."""
        return self._words.digest() + self._rest.digest()


@dataclass(slots=True)
class _Column:
    """What was taken in of a column."""

    families: dict[str, None] = field(default_factory=dict)
    """Of its entries that are there, in their order."""
    parts: list[_Hash] = field(default_factory=list)


class Fingerprint:
    """SHA-256 over the names, families and values of the columns, rows after rows; equal on every library.

    The family is that of a column's type (`entries.Entries`), and its values enter with all their bits; a missing entry
    is the same in every library, and a column of none but these has no family. Neither the order of the columns enters
    nor the index of a pandas frame (`levels.with_levels` makes columns of it).
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._rows = 0

    def update(self, frame: Frame, /) -> None:
        """Take in the next rows."""
        ends = [0, *range(-self._rows % PART or PART, len(frame), PART), len(frame)]
        slices = [part for part in pairwise(ends) if part[0] < part[1]]
        firsts = [(self._rows + start) % PART for start, _ in slices]
        for name in frame.columns:
            column = self._columns.setdefault(name, _Column())
            entries = entries_of(frame, name)
            fresh = [column.parts[-1] if first else _Hash() for first in firsts]

            def take(found: _Hash, rows: tuple[int, int], first: int, entries: Entries = entries) -> None:
                found.take(entries, *rows, first)

            if len(slices) < MANY:
                list(map(take, fresh, slices, firsts))
            else:
                with ThreadPoolExecutor(2) as pool:
                    list(pool.map(take, fresh, slices, firsts))
            if any(part.present for part in fresh):
                column.families[entries.family] = None
            column.parts += fresh[1:] if firsts and firsts[0] else fresh
        self._rows += len(frame)

    def hexdigest(self) -> str:
        """Of the rows taken in so far."""
        digest = hashlib.sha256(f"{self._rows}:".encode())
        for name, column in sorted(self._columns.items()):
            digest.update(f"{name!r}:{[*column.families]!r}:".encode())
            if column.families:
                digest.update(b"".join(part.digest() for part in column.parts))
        return digest.hexdigest()


def fingerprint(frame: Frame, /, *, like: str = "") -> str:
    """The fingerprint of a frame in memory; for `like` one of rows in no order it is `unordered.RowSums.digest`."""
    if is_unordered(like):
        return RowSums.of(frame).digest(frame.columns)
    found = Fingerprint()
    found.update(frame)
    return found.hexdigest()


def fingerprint_text(value: str, /) -> str:
    """How a fingerprint is shown."""
    if is_unordered(value):
        return f"sha256 {value.removeprefix(UNORDERED)[:16]}… of the rows in any order"
    return f"sha256 {value[:16]}…"
