"""The draw of a release: what it does to the rows, on arrays, whatever the frame that they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError
from puffer_frames.noise.adding import Reals
from puffer_frames.noise.stream import Numbers, ReleaseKey, Rows
from puffer_frames.priors.summary import Level

Codes: TypeAlias = NDArray[np.uint16]
"""Places of levels in a list of them."""
Levels: TypeAlias = tuple[Level, ...]
"""Different labels, at most 65,535."""
Columns: TypeAlias = Mapping[str, Levels | None]
"""The levels of columns of labels by name; None for a column of numbers."""
Arrays: TypeAlias = Mapping[str, Reals]
"""A column of labels as `Codes`, one of numbers as integers within 2**53 or as 64-bit floats."""
Move: TypeAlias = Callable[[Arrays, Rows | None], Arrays]
"""From the columns that are read, and the numbers of their rows (by default 0, ..., n - 1), to those that are written.
"""


class Draw(Protocol):
    """What a release does to some public columns; it can be sent to another process, and holds the key.

    It may read any columns that have a role in the release, the secret ones too. Frames hand it the columns, and of
    these only the written and the kept ones leave.
    """

    @property
    def key(self) -> ReleaseKey:
        """Key of the release."""

    @property
    def reads(self) -> Columns:
        """The columns that it sees. A label that is none of these levels is a CalibrationError."""

    @property
    def writes(self) -> Columns:
        """The public columns that it replaces."""

    def prepared(self) -> Move:
        """The function that does it, a part of the rows at a time; the key is made ready once.

        What becomes of a row depends on its entries and its number alone.
        """


def numbered(count: int, rows: Rows | None, /) -> Numbers:
    """The numbers of so many rows; by default 0, ..., count - 1."""
    return np.asarray(np.arange(count) if rows is None else rows, dtype=np.int64)


def other_levels(column: str, got: str, /) -> CalibrationError:
    """The error of so many rows with levels that a draw does not know."""
    return CalibrationError(
        f"the column {column!r}",
        rule="one of the levels that were counted",
        got=f"{got} with another one",
        hint="Calibrate with these rows, or replace the other levels first.",
    )
