"""A fingerprint of rows that have no order: sums over the rows, equal on every library."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame
from puffer_frames.frames.stamps.entries import Entries, entries_of
from puffer_frames.frames.stamps.parts import Part

UNORDERED = "rows:"
"""What a fingerprint of rows without an order begins with."""
LANES = (0x243F6A8885A308D3, 0x13198A2E03707344)
"""Where the hash of a row starts, per sum: fractional digits of pi."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MISSING = np.uint64(0xA4093822299F31D0)
CHUNK = 1 << 17
"""Rows whose codes are found together."""

Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowSums:
    """Sums of hashes of the rows, modulo 2**64: those of parts of a frame add up to those of the frame.

    The hash of a row (`row_hashes`) starts at a constant of the lane and takes in the entries (`codes`) by ascending
    name of the column.
    """

    rows: int
    """Number of rows."""
    sums: tuple[int, ...]
    """One sum per lane."""

    @classmethod
    def of(cls, frame: Frame, /) -> RowSums:
        """The sums of a frame."""
        entries = [codes(entries_of(frame, name), len(frame)) for name in sorted(frame.columns)]
        hashes = (row_hashes(entries, start=start, rows=len(frame)) for start in LANES)
        return cls(len(frame), tuple(int(row.sum(dtype=np.uint64)) for row in hashes))

    @classmethod
    def joined(cls, parts: Sequence[RowSums], /) -> RowSums:
        """The sums of a frame from those of its parts."""
        sums = tuple(sum(part.sums[k] for part in parts) % 2**64 for k in range(len(LANES)))
        return cls(sum(part.rows for part in parts), sums)

    def digest(self, columns: Sequence[str], /) -> str:
        """SHA-256 over the sorted names, the number of rows and the sums, after the mark `UNORDERED`."""
        return UNORDERED + hashlib.sha256(repr((sorted(columns), self.rows, self.sums)).encode()).hexdigest()


def is_unordered(fingerprint: str, /) -> bool:
    """Whether a fingerprint is one of rows without an order."""
    return fingerprint.startswith(UNORDERED)


def codes(entries: Entries, rows: int, /) -> Hashes:
    """64 bits of each entry, of its family too; those of a missing one are the same in all."""
    salt = _code(entries.family.encode())
    found = [np.empty(0, dtype=np.uint64)]
    for start in range(0, rows, CHUNK):
        part = entries.part(start, min(start + CHUNK, rows))
        bits = part.words.view("<u8").astype(np.uint64) ^ salt
        if part.text is not None:
            bits += spread(_text_codes(part))
        np.add.at(bits, part.places, spread(part.more.view("<u8").astype(np.uint64)))
        if part.missing is not None:
            bits[part.missing] = _MISSING
        found.append(bits)
    return np.concatenate(found)


def _text_codes(part: Part) -> Hashes:
    """BLAKE2b of each text."""
    offsets = np.concatenate([[0], np.cumsum(np.maximum(part.words, 0))])
    buffers = [None, pa.py_buffer(offsets.astype("<i8")), pa.py_buffer(part.text)]
    texts = pl.Series(pl.from_arrow(pa.LargeBinaryArray.from_buffers(pa.large_binary(), part.words.size, buffers)))
    different = texts.unique()
    known = pl.DataFrame({"text": different, "code": pl.Series(map(_code, different), dtype=pl.UInt64)})
    found = texts.to_frame("text").join(known, on="text", how="left", maintain_order="left")
    return found["code"].to_numpy()


def _code(text: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()))


def row_hashes(columns: Sequence[Hashes], /, *, start: int, rows: int) -> Hashes:
    r"""Hashes of rows from 64 bits of each of their entries, in the order of the columns.

    A hash begins with `start` and takes in an entry e by :math:`h \leftarrow \mathrm{mix}(h \oplus e) + h`. Here mix is
    the finaliser of SplitMix64 (`spread`).
    """
    found = np.full(rows, start, dtype=np.uint64)
    for bits in columns:
        found += spread(found ^ bits)
    return found


def spread(bits: Hashes, /) -> Hashes:
    """SplitMix64's finaliser: a bijection of 64 bits in which every bit depends on all."""
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed
