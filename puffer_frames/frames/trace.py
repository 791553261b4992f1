"""What identifies the rows of a plan, so that one that changes between two runs is noticed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import polars as pl
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import GCM
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError

_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
_MASK = 2**64 - 1
_NONCE = 12
"""Bytes that number the messages of a key."""

Bits: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """How the entries of a block become one number."""

    ordered: bool
    """Whether rows in another order are others."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Of the authentication code of ordered rows, drawn for each trace."""
    seed: int = field(default_factory=lambda: secrets.randbits(64), repr=False)
    """Of the hash of text."""

    def bits(self, column: pl.Series, /) -> list[Bits]:
        """64 bits for each entry, those of equal entries equal; and where entries are missing, which ones."""
        missing = [column.is_null().to_numpy().astype(np.uint64)] if column.null_count() else []
        if column.dtype.is_float() or column.dtype.is_integer():
            wide = pl.Float64 if column.dtype.is_float() else pl.UInt64 if column.dtype == pl.UInt64 else pl.Int64
            plain = column.cast(wide, strict=False)
            return [(plain.fill_null(0) if plain.null_count() else plain).to_numpy().view(np.uint64), *missing]
        named = column.cast(pl.String) if isinstance(column.dtype, pl.Categorical | pl.Enum) else column
        return [named.hash(self.seed).to_numpy(), *missing]

    def mark(self, first: int, columns: Sequence[Bits], /) -> int:
        """The number of the block that begins with a row, for the `bits` of its columns.

        For ordered rows the code GMAC with 128 bits; otherwise the sum of a hash of 64 bits of every row.
        """
        return self._code(first, columns) if self.ordered else _sum(columns)

    def _code(self, first: int, columns: Sequence[Bits]) -> int:
        cipher = Cipher(AES256(self.key), GCM(first.to_bytes(_NONCE, "big"))).encryptor()
        for bits in columns:
            cipher.authenticate_additional_data(np.ascontiguousarray(bits).view(np.uint8).data)
        cipher.authenticate_additional_data(repr([bits.size for bits in columns]).encode())
        cipher.finalize()
        return int.from_bytes(cipher.tag, "big")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """What one run of a plan left: the same for every run that gives the same rows, in the same order if it matters."""

    marker: Marker
    rows: int
    """Number of rows."""
    marks: tuple[int, ...]
    """Of each block, in order; one of all rows where their order does not matter."""
    runs: int
    """Number of runs of equal secrets."""

    @classmethod
    def of(cls, marker: Marker, marks: Sequence[int], /, *, rows: int, runs: int) -> Trace:
        """From the marks of all blocks."""
        return cls(marker=marker, rows=rows, marks=_together(marks, marker), runs=runs)


class Guard:
    """Compares a run of a plan with the trace of an earlier one, before its rows are used."""

    def __init__(self, trace: Trace, /) -> None:
        self._trace = trace
        self._marks: list[int] = []
        self._rows = 0

    def mark(self, first: int, block: pl.DataFrame, /) -> int:
        """The mark of a block, to be seen in order."""
        marker = self._trace.marker
        return marker.mark(first, [bits for column in block for bits in marker.bits(column)])

    def see(self, mark: int, rows: int, /) -> None:
        """Take in the next block; raises CalibrationError where it is another one than in the earlier run."""
        place = len(self._marks)
        self._marks.append(mark)
        self._rows += rows
        if self._trace.marker.ordered and (place >= len(self._trace.marks) or self._trace.marks[place] != mark):
            raise self._changed()

    def end(self) -> None:
        """Raise CalibrationError where rows are missing, or, in no order, others than in the earlier run."""
        if self._rows != self._trace.rows or _together(self._marks, self._trace.marker) != self._trace.marks:
            raise self._changed()

    def _changed(self) -> CalibrationError:
        ordered = self._trace.marker.ordered
        rows = "rows in the same order" if ordered else "rows"
        other_way = ', or name a column that numbers the rows (row_id="id")' if ordered else ""
        return CalibrationError(
            "the plan",
            rule=f"one that gives the same {rows} in every run",
            got="other rows than when the noise was calibrated",
            hint=f"Collect the frame first{other_way}.",
        )


def _together(marks: Sequence[int], marker: Marker) -> tuple[int, ...]:
    return tuple(marks) if marker.ordered else (sum(marks) & _MASK,)


def mixed(columns: Sequence[Bits], /) -> Bits:
    """64 bits of all entries of a row; for one column these are its own."""
    found = columns[0]
    for more in columns[1:]:
        found = found * _FACTOR
        found ^= found >> _SHIFT
        found += more
    return found


def _sum(columns: Sequence[Bits]) -> int:
    """64 bits: a sum over the rows of a hash of their entries."""
    found = mixed(columns) * _FACTOR
    found ^= found >> _SHIFT
    found *= _FACTOR
    return int(found.sum(dtype=np.uint64))
