"""Are these the rows that were released before? Asked of a frame in memory, before noise is drawn for it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.frames.columns import Frame, column
from puffer_frames.frames.local.prepare import row_numbers
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.stamps import parts
from puffer_frames.frames.stamps.entries import Entries, entries_of
from puffer_frames.frames.stamps.unordered import row_hashes
from puffer_frames.noise.stream import Numbers

FEWEST = 32
"""So many different rows tell rows from those of other records.

Other records, drawn independently from any law, give the same rows in any order with a chance of at most
32! / 32**32 < 2e-13. For n rows with counts c are likeliest under their own frequencies, where the chance is
n! / n**n * prod(c**c / c!). One row more of a kind changes it by (1 + 1/c)**c / (1 + 1/n)**n <= 1, so it is largest
where every count is 1.
"""
_FIRST = 4096
"""Rows that are looked at first for different ones."""
_WORDS = 2
"""Of 64 bits in the hash of a row: nobody but the curator, who has the rows, compares them."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowsIdentity:
    """What tells the rows of a frame from those of another one: hashes of raw values, to be kept with the data."""

    rows: str
    """Of the rows, in whatever order they stand."""
    order: str
    """Of the rows in their order."""
    telling: bool
    """Whether other records will not give the same rows: `FEWEST` of them are different, or they are numbered."""
    numbers: Numbers | None
    """The numbers of the rows; None where no column names them."""
    words: Numbers | None
    """A hash of each numbered row, its number included, from a start of the caller's."""

    @classmethod
    def of(cls, table: LocalTable, roles: Roles, /, *, start: int) -> RowsIdentity:
        """Of the secret, public and given columns, and of the numbers of the rows.

        Raises
        ------
        ColumnNotFoundError, ArgumentError, ArgumentTypeError
            For a column that is not there, one with two roles, and rows without a number of their own.

        Notes
        -----
        **Cost**: one pass over these columns.
        """
        frame = table.opened()
        roles.check_names(frame.columns)
        numbers = None
        if roles.row_id is not None:
            roles.check_row_id(frame.schema)
            numbers = row_numbers(frame, roles)
        names = sorted({*roles.secret, *roles.public, *([roles.row_id] if roles.row_id is not None else [])})
        entries = [_entries(frame, name, roles) for name in names]
        hashes = np.concatenate([np.empty((0, _WORDS), "<u8"), *row_hashes(entries, len(frame), words=_WORDS)])
        different = any(np.unique(part).size >= FEWEST for part in (hashes[:_FIRST, 0], hashes[:, 0]))
        title = repr((names, len(frame))).encode()
        order = hashlib.sha256(title + hashes.tobytes())
        sums = hashes.sum(axis=0, dtype=np.uint64).tolist()
        own = row_hashes(entries, len(frame), words=1, salt=start.to_bytes(8)) if numbers is not None else ()
        return cls(
            rows=hashlib.sha256(title + repr(sums).encode()).hexdigest(),
            order=order.hexdigest(),
            telling=numbers is not None or different,
            numbers=numbers,
            words=None
            if numbers is None
            else np.concatenate([np.empty(0, "<u8"), *(each[:, 0] for each in own)]).view(np.int64),
        )


def _entries(frame: Frame, name: str, roles: Roles) -> Entries:
    """Of a column; numbers and truth values that are equal have the same, and both zeros too."""
    dtype = frame.schema[name]
    if dtype.is_float() or dtype.is_boolean() or (name in roles.public and dtype.is_decimal()):
        floats = np.asarray(column(frame, name).cast(nw.Float64).to_numpy(), dtype=np.float64)
        return Entries("number", floats + 0.0, parts.floats)  # -0.0 + 0.0 is 0.0
    return entries_of(frame, name)
