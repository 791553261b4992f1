"""The fingerprint that ties a certificate to the values of a frame, in order or as sums over the rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame
from puffer_frames.frames.stamps.entries import Entries, Part, entries_of

UNORDERED = "rows:"
"""What a fingerprint of rows without an order begins with."""
LANES = 32
"""Words of 64 bits in the hash of a row. To find other rows with the same sums is a generalised birthday problem: in a
group of 2**n elements Wagner's algorithm takes 2**(2 sqrt(n)) steps, 2**90 for 2,048 bits; for 128 bits a minute."""
_CODE = 24
"""Bytes of the code of an entry."""
CHUNK = 1 << 15
"""Rows that are hashed together."""

Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowSums:
    """Sums of hashes of the rows, lane by lane modulo 2**64: those of parts of a frame add up to those of the frame.

    The hash of a row takes in the entries by ascending name of the column.
    """

    rows: int
    """Number of rows."""
    sums: tuple[int, ...]
    """One sum per lane."""

    @classmethod
    def of(cls, frame: Frame, /) -> RowSums:
        """The sums of a frame."""
        sums = np.zeros(LANES, dtype=np.uint64)
        for hashes in row_hashes([entries_of(frame, name) for name in sorted(frame.columns)], len(frame), words=LANES):
            sums += hashes.sum(axis=0, dtype=np.uint64)
        return cls(len(frame), tuple(map(int, sums)))

    @classmethod
    def joined(cls, parts: Sequence[RowSums], /) -> RowSums:
        """The sums of a frame from those of its parts."""
        sums = tuple(sum(part.sums[k] for part in parts) % 2**64 for k in range(LANES))
        return cls(sum(part.rows for part in parts), sums)

    def digest(self, columns: Sequence[str], /) -> str:
        """SHA-256 over the sorted names, the number of rows and the sums, after the mark `UNORDERED`."""
        return UNORDERED + hashlib.sha256(repr((sorted(columns), self.rows, self.sums)).encode()).hexdigest()


def is_unordered(fingerprint: str, /) -> bool:
    """Whether a fingerprint is one of rows without an order."""
    return fingerprint.startswith(UNORDERED)


def row_hashes(columns: Sequence[Entries], rows: int, /, *, words: int, salt: bytes = b"") -> Iterator[Hashes]:
    """SHAKE128 of the entries of each row after the salt, shape (rows, words), for some rows at a time."""
    width = _CODE * len(columns)
    for start in range(0, rows if columns else 0, CHUNK):
        stop = min(start + CHUNK, rows)
        coded = memoryview(np.concatenate([codes(each, each.part(start, stop)) for each in columns], axis=1).tobytes())
        hashes = (hashlib.shake_128(salt + coded[k : k + width]).digest(8 * words) for k in range(0, len(coded), width))
        yield np.frombuffer(b"".join(hashes), dtype="<u8").reshape(-1, words)


def codes(entries: Entries, part: Part, /) -> Hashes:
    """24 bytes of each entry, as three words: its 8 bytes and a hash of its family, or a hash where these are not all.

    Those of a missing entry are the same in all families.
    """
    family = entries.family.encode()
    found = np.empty((part.words.size, _CODE // 8), dtype="<u8")
    found[:] = np.frombuffer(_hashed(b"", family), dtype="<u8")
    if part.text is None:
        found[:, 0] = part.words.view("<u8")
    else:
        found[:] = _text_codes(part, family)
    left = dict.fromkeys(part.places.tolist(), b"")
    for place, more in zip(part.places.tolist(), part.more, strict=True):
        left[place] += more.tobytes()
    for place, more in left.items():
        found[place] = np.frombuffer(_hashed(part.words[place].tobytes() + more, family), dtype="<u8")
    if part.missing is not None:
        found[part.missing] = 0
    return found


def _hashed(entry: bytes, family: bytes) -> bytes:
    return hashlib.blake2b(entry, digest_size=_CODE, person=family).digest()


def _text_codes(part: Part, family: bytes) -> Hashes:
    """BLAKE2b of each text."""
    offsets = np.concatenate([[0], np.cumsum(np.maximum(part.words, 0))])
    buffers = [None, pa.py_buffer(offsets.astype("<i8")), pa.py_buffer(part.text)]
    texts = pa.LargeBinaryArray.from_buffers(pa.large_binary(), part.words.size, buffers).dictionary_encode()
    hashes = b"".join(_hashed(text, family) for text in texts.dictionary.to_pylist())
    return np.frombuffer(hashes, dtype="<u8").reshape(-1, _CODE // 8)[texts.indices.to_numpy()]


PART = 1 << 17
"""Rows whose entries are hashed together; a column is the hash of its parts."""
MANY = 16
"""From this many parts on, two threads hash them."""


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
        """The digest of the entries taken in so far."""
        return self._words.digest() + self._rest.digest()


@dataclass(slots=True)
class _Column:
    """What was taken in of a column."""

    families: dict[str, None] = field(default_factory=dict)
    """The families of the entries seen so far, in order."""
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
        """The digest of the rows taken in so far, in hexadecimal."""
        digest = hashlib.sha256(f"{self._rows}:".encode())
        for name, column in sorted(self._columns.items()):
            digest.update(f"{name!r}:{[*column.families]!r}:".encode())
            if column.families:
                digest.update(b"".join(part.digest() for part in column.parts))
        return digest.hexdigest()


def fingerprint(frame: Frame, /, *, like: str = "") -> str:
    """The fingerprint of a frame in memory; for `like` one of rows in no order it is `fingerprint.RowSums.digest`."""
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
