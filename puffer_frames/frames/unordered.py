"""A fingerprint of rows that have no order: sums over the rows, equal on every library."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.columns import Frame, column
from puffer_frames.priors import FloatArray

UNORDERED = "rows:"
"""What a fingerprint of rows without an order begins with."""
LANES = (0x243F6A8885A308D3, 0x13198A2E03707344)
"""Where the hash of a row starts, per sum: fractional digits of pi."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MISSING = np.array([np.nan]).view(np.uint64)[0]
_PLAIN = (pl.Float64, pl.Int64, pl.Int32)

Hashes: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class RowSums:
    r"""Sums of hashes of the rows, modulo 2**64: those of parts of a frame add up to those of the frame.

    The hash of a row starts at a constant of the lane and takes in the columns by ascending name,
    :math:`h \leftarrow \mathrm{mix}(h \oplus e) + h`, where e is the entry in 64 bits (`plain_entries`, text as its
    BLAKE2b) and mix the finaliser of SplitMix64.
    """

    rows: int
    """Number of rows."""
    sums: tuple[int, ...]
    """One sum per lane."""

    @classmethod
    def of(cls, frame: Frame, /) -> RowSums:
        """The sums of a frame."""
        entries = [_bits(plain_entries(frame, name)) for name in sorted(frame.columns)]
        sums = []
        for start in LANES:
            row = np.full(len(frame), start, dtype=np.uint64)
            for bits in entries:
                row += spread(row ^ bits)
            sums.append(int(row.sum(dtype=np.uint64)))
        return cls(len(frame), tuple(sums))

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


def plain_entries(frame: Frame, name: str, /) -> FloatArray | list[int | None] | list[str | None]:
    """The entries of a column as every library has them: numbers and booleans as 64-bit floats, times as
    microseconds, everything else as text; missing ones as NaN or None.
    """
    entries = own_entries(frame, name)
    return as_floats(entries) if isinstance(entries, np.ndarray) else entries


def own_entries(frame: Frame, name: str, /) -> NDArray[Any] | list[int | None] | list[str | None]:
    """As `plain_entries`, but numbers and booleans may be of a dtype of their own; `as_floats` makes them equal."""
    native = frame.to_native()
    if isinstance(native, pl.DataFrame) and (plain := native[name]).dtype in _PLAIN and not plain.null_count():
        return plain.to_numpy()  # batches of a plan take this way often
    values_of = column(frame, name)
    truth = isinstance(values_of.dtype, nw.Boolean)
    if truth or values_of.dtype.is_numeric():
        wide = isinstance(values_of.dtype, (nw.Decimal, nw.Int128, nw.UInt128))
        if not values_of.null_count() and not (wide and frame.implementation.is_polars()):
            own: NDArray[Any] = values_of.to_numpy()
            return own
        numbers = values_of.cast(nw.Float64) if frame.implementation.is_polars() else values_of
        filled = np.array(numbers.fill_null(False if truth and numbers is values_of else 0).to_numpy(), dtype="<f8")
        filled[values_of.is_null().to_numpy().astype(bool)] = np.nan
        return filled
    if isinstance(values_of.dtype, (nw.Date, nw.Datetime)):
        times = values_of.cast(nw.Datetime("us")) if isinstance(values_of.dtype, nw.Date) else values_of
        microseconds: list[int | None] = times.dt.timestamp("us").to_list()
        return microseconds
    return [None if is_null(entry) else str(entry) for entry in values_of.to_list()]


def as_floats(entries: NDArray[Any], /) -> FloatArray:
    """Numbers as 64-bit floats, with one NaN for all."""
    values = np.ascontiguousarray(entries, dtype="<f8")
    if entries.dtype.kind in "biu":
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    if math.isnan(total):
        values = values.copy()
        values[np.isnan(values)] = np.nan
    return values


def is_null(entry: Any) -> bool:
    """True for None, NaN and pandas.NA."""
    return entry is None or type(entry).__name__ == "NAType" or entry != entry


def _bits(entries: FloatArray | list[int | None] | list[str | None]) -> Hashes:
    """Entries in 64 bits each."""
    if isinstance(entries, np.ndarray):
        return entries.view(np.uint64)
    codes = {entry: _code(entry) for entry in set(entries)}
    return np.array([codes[entry] for entry in entries], dtype=np.uint64)


def _code(entry: int | str | None) -> int:
    if isinstance(entry, str):
        return int.from_bytes(hashlib.blake2b(entry.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return int(_MISSING) if entry is None else entry % 2**64


def spread(bits: Hashes, /) -> Hashes:
    """SplitMix64's finaliser: a bijection of 64 bits in which every bit depends on all."""
    bits = bits + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    mixed: Hashes = bits ^ (bits >> np.uint64(31))
    return mixed
