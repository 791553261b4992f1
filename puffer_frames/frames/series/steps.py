"""The steps from one time of a series to the next: the usual one, and how many of it others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ColumnTypeError, PriorError
from puffer_frames.frames.hints import to_times

LATEST = 2**61
"""Integer times are within this of 0, so that their differences are 64-bit integers."""
_NEAR = 1e-9
"""Relative difference of two steps of float times that counts as none."""
_USUAL = 0.5
"""Where fewer than this share of the steps are the usual one, there is no usual step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The usual step between two times."""

    usual: Any
    """An integer or a float, in units of the times."""

    @classmethod
    def of(cls, sizes: NDArray[Any], often: NDArray[Any], /, *, time: str, units: bool, bridged: bool) -> Step:
        """The most frequent of different steps, ascending, that occur so often.

        Raises
        ------
        ArgumentError
            For a time that occurs twice, and times without a usual step or between two of its multiples.
        """
        what = f"the times of a series (column {time!r})"
        if sizes.size and sizes[0] == 0:
            raise ArgumentError(
                what,
                rule="different from one another",
                got=f"{int(often[0])} that occur twice" + (" within a unit" if units else ""),
                hint='Name the column whose series a row belongs to (unit="subject"), or drop the duplicates.',
            )
        if not sizes.size:
            return cls(usual=1)
        found = cls(usual=sizes[int(np.argmax(often))])
        whole, odd = found.whole(sizes)
        with np.errstate(over="ignore"):
            far = sizes.dtype.kind == "f" and not (whole * often).sum() < LATEST
        if far:
            raise ArgumentError(
                what,
                rule="apart by less than 2**61 steps",
                got="more",
                hint="Look for a time that is far from the others, or number the times 0, 1, 2, ... in a column of its "
                "own.",
            )
        plain = (whole == 1) & ~odd
        share = often[plain].sum() / often.sum()
        if odd.any() if bridged else (sizes < found.usual)[odd].any() or share < _USUAL:
            raise ArgumentError(
                what,
                rule="apart by one step"
                + (", or by a whole number of steps where some are missing" if bridged else ""),
                got=f"{int(often[~plain].sum())} of {int(often.sum())} differences of another length",
                hint="Number the times of each series 0, 1, 2, ... in a column of its own (calendar months, say, "
                "differ in length).",
            )
        return found

    def whole(self, steps: NDArray[Any], /) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """How many usual steps others are, rounded, and whether they are no whole number of them."""
        if steps.dtype.kind == "i":
            return steps // self.usual, steps % self.usual != 0
        with np.errstate(over="ignore", invalid="ignore"):
            number = np.floor(steps / self.usual + 0.5)
            return number, np.abs(steps / self.usual - number) > _NEAR * steps / self.usual

    def apart(self, steps: NDArray[Any], /) -> NDArray[np.int64]:
        """Steps in units of the usual one; at least 2 where they are no multiple of it."""
        number, odd = self.whole(steps)
        apart: NDArray[np.int64] = np.where(odd, number + 1, number).astype(np.int64)
        return apart

    def apart_by(self, step: nw.Expr, /, *, floats: bool) -> nw.Expr:
        """The same of a column of a plan."""
        if not floats:
            usual = int(self.usual)
            rest = step % usual
            near = ((step - rest).cast(nw.Float64) / usual).round().cast(nw.Int64)  # not exact beyond 2**53
            number = near + ((step - rest - near * usual).cast(nw.Float64) / usual).round().cast(nw.Int64)
            return number + (rest != 0).cast(nw.Int64)
        ratio = step / (step * 0.0 + float(self.usual))  # by a column: a number is made its reciprocal by Polars
        number = (ratio + 0.5).floor()
        odd = (ratio - number).abs() > _NEAR * ratio
        return number.cast(nw.Int64) + odd.cast(nw.Int64)


def check_times(name: str, dtype: nw.dtypes.DType, /, *, finite: bool = True) -> None:
    """Raise ArgumentTypeError for times that are no numbers, dates or datetimes."""
    if not (isinstance(dtype, (nw.Date, nw.Datetime)) or dtype.is_integer() or (dtype.is_float() and finite)):
        raise ColumnTypeError(
            f"the time column {name!r}",
            rule="of integers, finite floats, dates or datetimes",
            got="infinities" if dtype.is_float() else f"dtype {type(dtype).__name__}",
            hint=to_times(dtype),
        )


def check_integer_times(name: str, low: int, high: int, /) -> None:
    """Raise PriorError for integers of which a difference may not fit into 64 bits."""
    if max(abs(low), abs(high)) > LATEST:
        raise PriorError(
            f"the time column {name!r}",
            rule="within 2**61 of 0",
            got="larger integers",
            hint="Subtract the first time from all.",
        )
