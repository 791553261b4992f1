"""Public columns that are counted where they lie: by an engine, or by NumPy for few secrets and near values."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError, PufferWarning
from puffer_frames.frames.coded import Coded, Numbered
from puffer_frames.frames.columns import to_floats
from puffer_frames.frames.draws import Released
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.summary import (
    PLACES,
    Values,
    cell_of,
    cell_width,
    check_few_levels,
    count_in_cells,
    count_levels,
    count_rows,
    count_values,
    levels_of,
    place_of,
)
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.priors.summary import JointCounts, Level, LevelCounts, Summary

_INFINITY = float("inf")
_MARGIN = 4
"""An estimate of the number of different values, of relative error 0.05, is never so many times too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """What one pass over the rows found of a public column."""

    missing: int
    """Entries that are null or NaN."""
    infinite: int
    low: Any
    """The smallest of the others; None where there is none."""
    high: Any
    """The largest."""
    std: Callable[[], float]
    """Their standard deviation, for which an engine may read them again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Cells that values are counted in."""

    width: float
    """A power of two."""
    domain: Bounds | None
    """To which values are clipped first."""


def cells_of_rows(
    names: Sequence[str], widths: Mapping[str, float], domain: Mapping[str, Bounds], /
) -> dict[str, Cells]:
    """Cells of the columns `value_0`, ..., that have a width."""
    found = {f"value_{k}": name for k, name in enumerate(names) if name in widths}
    return {value: Cells(width=widths[name], domain=domain.get(name)) for value, name in found.items()}


def place_named(value: str, /) -> str:
    """Name of the places of the column `value`, or `value_0`, ..."""
    return value.replace("value", "place")


def changed_columns(cells: Mapping[str, Cells], /) -> dict[str, nw.Expr]:
    """Numbers of the cells in place of some columns, and the places of these."""
    found = dict[str, nw.Expr]()
    for value, own in cells.items():
        cell = own.width, own.domain, value
        found |= {value: cell_of(*cell), place_named(value): place_of(*cell)}
    return found


def in_cells(table: Any, cells: Mapping[str, Cells], /) -> Any:
    """A native lazy table with these columns changed."""
    return nw.to_native(nw.from_native(table).with_columns(**changed_columns(cells))) if cells else table


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Rows per secret and value of a public column."""

    table: pl.DataFrame
    """Columns `secret_0`, ..., `value`, `count`, and for cells the sums of the places as `place`."""
    width: float | None
    """Width of the cells whose numbers stand for the values, a power of two; None for the values themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValues:
    """A public column and its secrets in Spark, in DuckDB, or in a Polars plan."""

    dtype: nw.dtypes.DType
    """The dtype of the values."""
    extent: Extent
    rows: int
    """Number of rows."""
    different: Callable[[], float]
    """An estimate of the number of different values."""
    count: Callable[[Cells | None, int | None], nw.DataFrame[Any]]
    """Rows per secret and value, or cell, in a column `count`, and of cells the sums of the places in a column
    `place`: of all that differ, or where these are more than so many, of some more than that."""
    before: Counted | None = None
    """The rows, where the pass over them has counted them already."""

    def exceeds(self, different: int, /) -> bool:
        """Whether the estimate leaves no doubt; none is made of integers that lie close together."""
        if self.before:
            return self.before.width is not None
        return not self._spans_at_most(different) and self.different() > _MARGIN * different

    def _spans_at_most(self, different: int) -> bool:
        """Whether there are no more integers, or booleans, from the smallest to the largest."""
        low, high = self.extent.low, self.extent.high
        return not self.dtype.is_float() and low is not None and int(high) - int(low) < different

    def counted(self, most: int, /) -> nw.DataFrame[Any]:
        if self.before and self.before.width is None:
            return nw.from_native(self.before.table, eager_only=True)
        return self.count(None, most)

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell; those of several narrower ones may be given one by one."""
        if self.before and self.before.width is not None and self.before.width <= width and self._within(domain):
            return nw.from_native(_wider(self.before.table, round(width / self.before.width)), eager_only=True)
        return self.count(Cells(width=width, domain=domain), None)

    def _within(self, domain: Bounds | None) -> bool:
        return domain is None or domain[0] <= self.extent.low <= self.extent.high <= domain[1]

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest finite value; what is missing or infinite is an error."""
        extent = self.extent
        found = [(end, 1) for end in (extent.low, extent.high) if end is not None]
        found += [(entry, n) for entry, n in ((None, extent.missing), (_INFINITY, extent.infinite)) if n]
        series = nw.new_series("value", [entry for entry, _ in found], self.dtype, backend="polars")
        return to_floats(series, np.array([n for _, n in found], dtype=np.int64), name=name)

    def std(self) -> float:
        return self.extent.std()


def _wider(table: pl.DataFrame, times: int) -> pl.DataFrame:
    """Counts in cells so many times as wide; the sums of the places are rounded down."""
    narrow = pl.col("value") % times * pl.col("count") * PLACES + pl.col("place")
    return table.with_columns(value=pl.col("value") // times, place=narrow // times)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteRows(Protocol):
    """The complete rows of the columns of one request.

    Of rows that are counted where they lie, only the results of the counts reach memory. Each count raises
    CalibrationError where the rows are others than those of the first pass.
    """

    names: tuple[str, ...]
    """Names of all columns of the frame."""
    roles: Roles
    nulls: str
    dates: Mapping[str, Any]
    """The public columns that hold dates, with their types: they are read as days, and released as dates again."""
    beyond: tuple[int, int] = (0, 0)
    """Rows that are left out, for their unit has more than are used, and how many there are with them."""

    def values_of(self, name: str, /) -> Values:
        """A public column of numbers."""

    def counted(self, names: Mapping[str, str], cells: Mapping[str, Cells], /) -> nw.DataFrame[Any]:
        """Rows per secret and value of some public columns, which are given other names, under which some have cells:
        then the numbers of these stand for their values, with the sums of the places.
        """

    def check_levels(self, name: str, /) -> None:
        """Raise ArgumentError where the first pass leaves no doubt that a column of labels has too many levels."""
        del name

    def counted_levels(self, name: str, /) -> tuple[nw.DataFrame[Any], Sequence[Level]]:
        """Rows per secret and level of a public column of labels, and the levels of these."""
        self.check_levels(name)
        counted = self.counted({name: "value"}, {})
        return counted, levels_of(counted["value"], name=name)

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """What the rows say of each public column of numbers; raises PriorError, ArgumentTypeError."""
        return {
            name: count_values(self.values_of(name), groups=self.roles.groups, public=name, domain=domain.get(name))
            for name in self.roles.numbers
        }

    def finer(self, name: str, width: float, domain: Bounds | None, /) -> Summary:
        """What the rows say of a column that `summaries` has counted in cells, in cells of another width."""
        return count_in_cells(self.values_of(name), width, groups=self.roles.groups, public=name, domain=domain)

    def joint_counts(self, domain: Mapping[str, Bounds], widths: Mapping[str, float], /) -> JointCounts:
        """How often each row of the public columns of numbers occurs, those with a width in cells; raises PriorError,
        ArgumentTypeError.
        """
        names = self.roles.numbers
        values = {name: f"value_{k}" for k, name in enumerate(names)}
        counted = self.counted(values, cells_of_rows(names, widths, domain))
        return count_rows(counted, groups=self.roles.groups, public=names, domain=domain, widths=widths)

    def level_counts(self, name: str, /) -> LevelCounts:
        """Rows per secret and level of a column of labels; raises PriorError, ArgumentError for too many levels."""
        (counted, levels), most = self.counted_levels(name), self.roles.most_levels
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls, most=most)

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """Secret and public columns, of all rows or of at most so many, which are then chosen at random.

        Raises CalibrationError where all rows are read, and are others than those of the first pass.
        """

    def warnings(self, counts: Sequence[int], draws: Callable[[], Sequence[Draw]], /) -> list[PufferWarning]:
        """What the order of the rows, if it is released, and the kept columns tell, alone and beside the public ones.

        - `counts`: Rows per secret.
        - `draws`: As those of the release, with another key.
        """

    def release(self, draws: Sequence[Draw], /) -> Released:
        """The public columns, each as one of the draws writes it, and the kept ones, in the frame's order of columns.

        What else the draws read stays behind. Labels are in the column's own dtype where it can hold them. Raises
        CalibrationError for a label that a draw does not know, and for rows that are no longer those that were counted.
        """


def check_estimate(different: float, /, *, name: str, most: int) -> None:
    """Raise ArgumentError where such an estimate leaves no doubt that a column of labels has too many levels."""
    check_few_levels(different / _MARGIN, name=name, most=most)


def other_rows(where: str, /, *, hint: str, named: bool = False) -> CalibrationError:
    """The error of rows that change between two passes, with a `row_id` or without any; the hint says where to write
    them first.
    """
    return CalibrationError(
        "the rows",
        rule="the same in every pass",
        got=f"other rows in the pass of {where}",
        hint=f"{hint}, or leave out row_id: then the rows are read once." if named else f"{hint}.",
    )


CHUNK = 1 << 15
"""Rows whose numbers stay in the processor's cache."""
_SLOT_BITS = (8, 12, 16)
"""The numbers of slots that are tried: small tables stay in the cache."""
_MULTIPLIERS = [np.uint64(odd) for odd in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93)]
_MOST_COUNTS = 1 << 19
_MOST_BESIDE = 1 << 16
"""Rows whose values lie beside the counts, at most."""
_EXACT = 1 << 52
_ONE_ROW, _MOST_PACKED = 1 << 39, 1 << 23
"""A row of a cell adds so much to its count, besides its place; of so many rows the places add up to less."""

Bits: TypeAlias = NDArray[np.uint64]
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """Numbers 0, 1, ... of the secrets of some rows, by a table that 64 bits of a secret point into."""

    rows: pl.DataFrame
    """A row of each secret, in the order of their codes."""
    multiplier: np.uint64
    shift: np.uint64
    """64 less the bits of a slot's number."""
    bits: Bits
    """The bits of each slot's secret; in an empty slot, bits that do not point there."""
    codes: IndexArray
    """Code of the secret in each slot."""

    @classmethod
    def of(cls, secrets: pl.DataFrame, bits: Bits, /) -> Codes | None:
        """For the secrets of these rows; None where there are too many."""
        place = pl.int_range(pl.len()).alias("place")
        firsts = secrets.select(place, pl.all()).unique(secrets.columns, keep="first")["place"].to_numpy()
        for width, multiplier in product(_SLOT_BITS, _MULTIPLIERS):
            shift = np.uint64(64 - width)
            slots = _slots(bits[firsts], multiplier, shift)
            if np.unique(slots).size == slots.size:
                taken, codes = np.zeros(1 << width, np.uint64), np.zeros(1 << width, np.int64)
                taken[0] = 1  # 0 points there, and 1 does not
                taken[slots], codes[slots] = bits[firsts], np.arange(slots.size)
                return cls(rows=secrets[firsts], multiplier=multiplier, shift=shift, bits=taken, codes=codes)
        return None

    def __call__(self, bits: Bits, scratch: Scratch, /) -> IndexArray | None:
        """Codes of the rows; None where a secret is new."""
        slots = _slots(bits, self.multiplier, self.shift, out=scratch.slots[: bits.size])
        found = self.bits.take(slots, out=scratch.bits[: bits.size], mode="wrap")
        return self.codes.take(slots, out=scratch.codes[: bits.size], mode="wrap") if (found == bits).all() else None


def _slots(bits: Bits, multiplier: np.uint64, shift: np.uint64, *, out: Bits | None = None) -> IndexArray:
    slots = np.multiply(bits, multiplier, out=out)
    slots >>= shift
    return slots.view(np.int64)


class Scratch:
    """Buffers for a chunk of rows, used again for the next one: memory that is new costs more than the arithmetic."""

    __slots__ = ("bits", "cells", "codes", "floats", "floors", "places", "slots")

    def __init__(self, rows: int, /) -> None:
        self.slots, self.bits = np.empty((2, rows), dtype=np.uint64)
        self.codes, self.cells, self.places = np.empty((3, rows), dtype=np.int64)
        self.floats, self.floors = np.empty((2, rows))


class Tally:
    """Counts the rows of a plan by secret and whole number, or cell.

    - `codes`: Codes of the secrets.
    - `first`, `cells`: Number of the first cell, and how many are counted; values beside them are kept.
    - `width`: Width of the cells, a power of two; 1 for whole numbers.
    - `exact`: Dtype of the values where the cells are the values themselves.
    """

    def __init__(self, codes: Codes, /, *, first: int, cells: int, width: float, exact: pl.DataType | None) -> None:
        self._codes, self._first, self._cells, self._width, self._exact = codes, first, cells, width, exact
        self._counts = np.zeros(len(codes.rows) * cells, dtype=np.int64)
        self._sums = np.zeros((2, 0 if exact else self._counts.size), dtype=np.int64)
        self._packed = 0
        self._beside: list[Numbers] = []
        self._left = _MOST_BESIDE
        self._scratch = Scratch(CHUNK)

    @classmethod
    def of(cls, values: pl.Series, codes: Codes, /, *, few: int) -> Tally | None:
        """For a column that begins with these values; None where it does not suit.

        More than `few` different values are counted in cells, of half the width that these values ask for.
        """
        low: Any = values.min()
        high: Any = values.max()
        if low is None or not -_EXACT < low <= high < _EXACT:
            return None
        exact = values.n_unique() <= few
        if exact and values.dtype.is_float():
            return None
        if not exact:
            std: Any = values.cast(pl.Float64).std()
            width = 0.5 * cell_width(float(low), float(high), std=float(std or 0.0))
            return cls.in_cells(low, high, width, codes, margin=0.5)
        return cls.in_cells(low, high, 1.0, codes, margin=1.0, exact=values.dtype)

    @classmethod
    def in_cells(
        cls,
        low: float,
        high: float,
        width: float,
        codes: Codes,
        /,
        *,
        margin: float = 0.0,
        exact: pl.DataType | None = None,
    ) -> Tally | None:
        """For values from low to high in cells of this width; None where it does not suit.

        Values beside them, by at most the margin times high - low, are counted as well as they.
        """
        beside = margin * (float(high) - float(low))
        first, last = (math.floor(end / width) for end in (float(low) - beside, float(high) + beside))
        cells = last - first + 1
        if max(-first, last) >= _EXACT or len(codes.rows) * cells > _MOST_COUNTS:
            return None
        return cls(codes, first=first, cells=cells, width=width, exact=exact)

    def take(self, values: pl.Series, secrets: Bits, /, *, low: float, high: float) -> None:
        """Count rows with finite values from low to high, if that is possible."""
        far = _EXACT * self._width
        if self._left < 0 or not -far < low <= high < far:
            self.give_up()
            return
        inside = self._first * self._width <= low <= high < (self._first + self._cells) * self._width
        plain = values.cast(pl.Float64 if self._exact is None else pl.Int64).to_numpy()
        for start in range(0, plain.size, CHUNK):
            codes = self._codes(secrets[start : start + CHUNK], self._scratch)
            if codes is None:
                self.give_up()
                return
            cells, places = self._found(plain[start : start + CHUNK])
            self._add(codes, cells, places, inside=inside)

    def _found(self, values: NDArray[Any]) -> tuple[Numbers, Numbers | None]:
        """Numbers of the cells of some values, and the places in them."""
        scratch, rows = self._scratch, values.size
        cells, places = scratch.cells[:rows], scratch.places[:rows]
        if self._exact is not None:
            return np.subtract(values, self._first, out=cells), None
        floats, floors = scratch.floats[:rows], scratch.floors[:rows]
        np.multiply(values, 1.0 / self._width, out=floats)
        np.floor(floats, out=floors)
        floats -= floors
        floats *= PLACES
        np.copyto(cells, floors, casting="unsafe")
        cells -= self._first
        np.copyto(places, floats, casting="unsafe")
        return cells, places

    def give_up(self) -> None:
        """Count nothing any more."""
        self._left = -1

    def _add(self, codes: IndexArray, cells: Numbers, places: Numbers | None, *, inside: bool) -> None:
        if not inside:
            outside = (cells < 0) | (cells >= self._cells)
            beside = [codes[outside], cells[outside] + self._first]
            beside.append(np.zeros_like(beside[0]) if places is None else places[outside])
            codes, cells = codes[~outside], cells[~outside]
            places = None if places is None else places[~outside]
            self._beside.append(np.stack(beside))
            self._left -= beside[0].size
        codes *= self._cells
        codes += cells
        if places is None:
            np.add.at(self._counts, codes, 1)
            return
        places += _ONE_ROW
        if self._packed + codes.size > _MOST_PACKED:
            self._unpack()
        np.add.at(self._counts, codes, places)
        self._packed += codes.size

    def _unpack(self) -> None:
        """Add the counts in cells, which hold rows and places at once, to the sums of both."""
        self._sums += np.divmod(self._counts, _ONE_ROW)
        self._counts[:] = 0
        self._packed = 0

    def counted(self) -> Counted | None:
        """The counts; None where some rows could not be counted."""
        if self._left < 0:
            return None
        counts = self._counts
        if self._exact is None:
            self._unpack()
            counts = self._sums[0]
        held = np.flatnonzero(counts)
        beside = np.concatenate([np.zeros((3, 0), dtype=np.int64), *self._beside], axis=1)
        pairs, which, others = np.unique(beside[:2], axis=1, return_inverse=True, return_counts=True)
        cells = np.concatenate([held % self._cells + self._first, pairs[1]])
        rows = self._codes.rows[np.concatenate([held // self._cells, pairs[0]])]
        count = pl.Series("count", np.concatenate([counts[held], others]))
        if self._exact is not None:
            return Counted(table=rows.with_columns(pl.Series("value", cells).cast(self._exact), count), width=None)
        places = np.zeros(others.size, dtype=np.int64)
        np.add.at(places, which.ravel(), beside[2])
        place = pl.Series("place", np.concatenate([self._sums[1, held], places]))
        return Counted(table=rows.with_columns(pl.Series("value", cells), count, place), width=self._width)


FEWEST_ROWS = 1 << 18
_BLOCK = 1 << 17
_SAMPLE = 1 << 16
"""Rows, spread over the table, that are to hold every secret."""


def tallied_cells(table: nw.DataFrame[Any], width: float, domain: Bounds | None, /) -> nw.DataFrame[Any] | None:
    """Rows per secret and cell, and the sums of their places, of either half of the rows; None where a group-by is
    better.

    The table is a frame of Polars with one column of secrets beside the finite values of the column `value`. Secrets of
    text are told apart by a hash of 64 bits under a key that nobody knows.
    """
    key, *others = (name for name in table.columns if name != "value")
    if others or not table.implementation.is_polars() or len(table) < FEWEST_ROWS:
        return None
    frame: pl.DataFrame = table.to_native()
    marker = None if frame[key].null_count() else _marker(frame.schema[key])
    if marker is None:
        return None
    sample = frame.select(key)[np.arange(0, len(frame), -(-len(frame) // _SAMPLE))]
    codes = Codes.of(sample, marker(sample.to_series()))
    low, high = _cell_ends(frame, domain)
    if codes is None or Tally.in_cells(low, high, width, codes) is None:
        return None

    def counted(rows: pl.DataFrame) -> Counted | None:
        tally = Tally.in_cells(low, high, width, codes)
        assert tally is not None
        for block in rows.iter_slices(_BLOCK):
            values = block["value"].rechunk().cast(pl.Float64)
            values = values if domain is None else values.clip(*domain)
            tally.take(values, marker(block[key]), low=low, high=high)
        return tally.counted()

    half = len(frame) // 2
    parts = each_of([frame[:half], frame[half:]], counted, large=True)
    tables = [part.table for part in parts if part is not None]
    return nw.from_native(pl.concat(tables), eager_only=True) if len(tables) == len(parts) else None


def _cell_ends(frame: pl.DataFrame, domain: Bounds | None) -> tuple[float, float]:
    """The smallest and the largest value, moved into the domain."""
    ends = frame.select(low=pl.col("value").min(), high=pl.col("value").max()).row(0)
    low, high = np.clip(np.array(ends, dtype=np.float64), *(domain or (None, None))).tolist()
    return low, high


def _marker(dtype: pl.DataType) -> Callable[[pl.Series], Bits] | None:
    """What gives 64 bits to each secret, equal to equal ones alone; None for secrets that have no such bits at once."""
    if dtype in (pl.String, pl.Boolean):
        seed = secrets.randbits(64)
        return lambda labels: labels.hash(seed).to_numpy()
    if dtype in (pl.Categorical, pl.Enum):
        return lambda labels: labels.to_physical().cast(pl.UInt64).to_numpy()
    if dtype.is_integer() and dtype not in (pl.Int128, pl.UInt128):
        wide = pl.UInt64 if dtype == pl.UInt64 else pl.Int64
        return lambda labels: labels.rechunk().cast(wide).to_numpy().view(np.uint64)
    return None
