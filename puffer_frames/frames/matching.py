"""Is this frame or file the release, and are these the rows that were released before?"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import UncoveredFrameError
from puffer_frames.frames.columns import Frame, NativeFrame, column
from puffer_frames.frames.levels import FIRST
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.roles import Roles, row_numbers
from puffer_frames.frames.stamps import entries as entries_module
from puffer_frames.frames.stamps.entries import Entries, entries_of
from puffer_frames.frames.stamps.fingerprint import row_hashes
from puffer_frames.frames.stamps.parquet import read_parquet_files
from puffer_frames.frames.table import open_table
from puffer_frames.noise.stream import Numbers


def compare(
    frame: NativeFrame | str | Path, /, *, known: Collection[str], rows: int, value: str
) -> Literal["intact", "derived", "uncovered"]:
    """Compare a frame, or a Parquet file or folder, with the columns, rows and fingerprint of a release."""
    if isinstance(frame, (str, Path)):
        frame = read_parquet_files(frame, known=known)
        if frame is None:
            return "uncovered"
    table = open_table(frame)
    if not set(table.names) <= {*known, FIRST}:
        return "uncovered"
    table = table.run()
    found = table.with_levels(known=known, rows=rows)
    if not set(found.names) <= set(known):
        return "uncovered"
    if set(found.names) < set(known) or not table.is_in_place(known=known) or found.fingerprint(like=value) != value:
        return "derived"
    return "intact"


def unknown_names(frame: NativeFrame, /, *, known: Collection[str], rows: int) -> list[str]:
    """Columns of a frame, levels of its index that are data among them, that are not known."""
    found = open_table(frame).with_levels(known=known, rows=rows)
    return [name for name in found.names if name not in known]


def require_rows(frame: NativeFrame, /) -> None:
    """Raise UncoveredFrameError for a plan that was not run."""
    if open_table(frame).is_plan:
        raise UncoveredFrameError(
            "the release",
            rule="collected or written: a plan holds the raw rows and the key",
            got="a lazy frame",
            hint="Run it: released.puffer.collect(), or released.puffer.sink_parquet(path).",
        )


FEWEST = 32
"""How many different rows tell a set of rows from the rows of other records.

Other records, drawn independently from any law, give the same rows in any order with a chance of at most
32! / 32**32 < 2e-13. For n rows with counts c are likeliest under their own frequencies, where the chance is
n! / n**n * prod(c**c / c!). One row more of a kind changes it by (1 + 1/c)**c / (1 + 1/n)**n <= 1, so it is largest
where every count is 1.
"""
_FIRST = 4096
"""Rows that are looked at first for different ones."""
_WORDS = 2
"""Words of 64 bits in the hash of a row: only the curator, who has the rows, compares hashes."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowsIdentity:
    """What tells the rows of a frame from those of another one: hashes of raw values, to be kept with the data."""

    rows: str
    """The digest of the rows in any order."""
    order: str
    """The digest of the rows in their order."""
    telling: bool
    """Whether other records will not give the same rows: `FEWEST` of them are different, or they are numbered."""
    numbers: Numbers | None
    """The numbers of the rows; None where no column names them."""
    words: Numbers | None
    """A hash of each numbered row, its number included, from a start of the caller's."""

    @classmethod
    def of(cls, table: LocalTable, roles: Roles, /, *, start: int) -> RowsIdentity:
        """The identity of the secret, public and given columns, and of the numbers of the rows.

        Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError for a column that is not there, one with two roles,
        and rows without a number of their own.

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
    """The entries of a column; equal numbers and truth values have equal entries, and so have both zeros."""
    dtype = frame.schema[name]
    if dtype.is_float() or dtype.is_boolean() or (name in roles.public and dtype.is_decimal()):
        floats = np.asarray(column(frame, name).cast(nw.Float64).to_numpy(), dtype=np.float64)
        return Entries("number", floats + 0.0, entries_module.floats)  # -0.0 + 0.0 is 0.0
    return entries_of(frame, name)
