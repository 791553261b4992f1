"""From a native frame to one whose columns are checked and whose rows are complete."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, PriorError
from puffer_frames.frames.columns import Frame, check_rows, column
from puffer_frames.frames.roles import Roles
from puffer_frames.noise.stream import Numbers


def prepare(frame: Frame, roles: Roles, /, *, nulls: str) -> Frame:
    """Check columns and dtypes; leave out the rows with a missing secret or public value for `nulls="drop"`.

    Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError.
    """
    check_nulls(nulls, roles)
    roles.check_names(frame.columns)
    check_rows(len(frame))
    roles.check_dtypes(frame.schema)
    if nulls != "drop":
        return frame
    complete = np.ones(len(frame), dtype=bool)
    for name in (*roles.secret, *roles.public):
        complete &= ~missing(column(frame, name))
    if complete.all():
        return frame
    if not complete.any():
        raise no_complete_row()
    return frame.filter(complete.tolist())


def check_nulls(nulls: str, roles: Roles, /) -> None:
    """Raise ArgumentError unless the word is "raise" or "drop", or "level" where all public columns hold labels."""
    if nulls in ("raise", "drop") or (nulls == "level" and not roles.numbers):
        return
    rule = '"raise" or "drop"' if roles.numbers else '"raise", "drop" or "level"'
    if nulls == "level":
        rule += " where a public column holds numbers"
    raise ArgumentError("nulls", rule=rule, got=repr(nulls), hint='Leave it out for "raise".')


def no_complete_row(entry: str = "a secret or public value", /) -> PriorError:
    """The error of a frame whose rows are all left out, for such an entry is missing."""
    return PriorError(
        "the frame",
        rule="of at least one complete row",
        got=f"rows that all miss {entry}",
        hint="Check how the file was read.",
    )


def row_numbers(frame: Frame, roles: Roles, /) -> Numbers | None:
    """The numbers of the rows, of a checked dtype; None where no column names them.

    Raises ArgumentError unless every row has one of its own, of 64 bits.
    """
    if roles.row_id is None:
        return None
    entries = column(frame, roles.row_id)
    null = missing(entries)
    outside = not null.all() and not -(2**63) <= int(entries.min()) <= int(entries.max()) < 2**63
    roles.check_numbers(missing=int(null.sum()), repeated=0, outside=outside)
    numbers = np.asarray(entries.cast(nw.Int64).to_numpy(), dtype=np.int64)
    roles.check_numbers(missing=0, repeated=numbers.size - np.unique(numbers).size, outside=False)
    return numbers


def missing(values: nw.Series[Any], /) -> NDArray[np.bool_]:
    """Where a column is null or NaN."""
    null: NDArray[np.bool_] = values.is_null().to_numpy().astype(bool)
    if values.dtype.is_float():
        null = null | np.isnan(np.asarray(values.cast(nw.Float64).fill_null(0.0).to_numpy(), dtype=np.float64))
    return null
