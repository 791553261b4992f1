"""A public column of labels as numbers of its levels, and numbers as released labels, in Polars columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import rows_text
from puffer_frames.frames.hints import are_written_numbers, from_text
from puffer_frames.frames.summary import check_few_levels, levels_of, sorted_levels
from puffer_frames.noise.channel import Integers, looked_up, places_of
from puffer_frames.noise.draw import Codes, Levels, other_levels
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray

_FIRST = 1 << 16
"""Rows that mostly hold all levels."""
_MOST_SEEN = 1 << 10
"""Different texts that are looked at for numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A column in memory as numbers of its levels."""

    codes: Codes
    """Place of each row's level, shape (rows,)."""
    levels: tuple[Level, ...]
    """The different ones, sorted, a missing one last."""

    @classmethod
    def of(cls, entries: pl.Series, /, *, name: str) -> Coded:
        """From a column of text, categories, booleans or whole numbers; raises ArgumentError for too many levels."""
        entries = entries.cast(pl.String) if entries.dtype == pl.Null else entries
        levels = _levels(entries.head(_FIRST), name=name)
        codes = places_in(levels, entries)
        if _unknown(codes, levels):
            levels = _levels(entries, name=name)
            codes = places_in(levels, entries)
        return cls(codes=codes, levels=levels)

    @classmethod
    def numbered(cls, places: NDArray[np.integer], found: Sequence[Level], /, *, name: str) -> Coded:
        """From the place of each row's level in a list; not all of these need occur."""
        used = np.flatnonzero(np.bincount(places, minlength=len(found))).tolist()
        levels = sorted_levels(found[k] for k in used)
        check_few_levels(len(levels), name=name)
        return cls(codes=places_of(found, levels)[places], levels=levels)

    def among(self, levels: Levels, /, *, name: str) -> Codes:
        """Place of each row's level in another list; raises CalibrationError for levels that are not in it."""
        return translated(self.codes, self.levels, levels, name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbered:
    """A column of numbers in memory."""

    values: FloatArray
    """NaN where one is missing."""
    whole: bool
    """Whether the column's type is one of integers."""


def some_entries(
    columns: Mapping[str, pl.Series | Coded], most: int | None, /, *, coded: Collection[str]
) -> dict[str, Coded | Numbered]:
    """Columns of labels and of numbers, with at most so many rows: of more, some at random, the same in every run."""
    first = next(iter(columns.values()))
    rows = len(first.codes if isinstance(first, Coded) else first)
    chosen = None
    if most is not None and rows > most:
        chosen = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    return {name: _entries(found, chosen, name=name, coded=name in coded) for name, found in columns.items()}


def _entries(found: pl.Series | Coded, chosen: NDArray[np.int64] | None, *, name: str, coded: bool) -> Coded | Numbered:
    if isinstance(found, Coded):
        return found if chosen is None else replace(found, codes=found.codes[chosen])
    some = found if chosen is None else found.gather(chosen)
    if coded:
        return Coded.of(some, name=name)
    values = some.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return Numbered(values=values, whole=some.dtype.is_integer())


def translated(numbers: Integers, found: Sequence[Level], levels: Levels, /, *, name: str) -> Codes:
    """Place of each row's level in a list, from its number in the list of those found.

    Raises CalibrationError for levels that are not in the list.
    """
    places = places_of(found, levels)
    if (places == len(levels)).any():
        counts = np.bincount(numbers, minlength=len(found))
        if unknown := int(counts[places == len(levels)].sum()):
            raise other_levels(name, rows_text(unknown))
    return looked_up(places, numbers)


def codes_in(levels: Levels, entries: pl.Series, /, *, name: str) -> Codes:
    """Place of each entry in a list of different levels; raises CalibrationError for an entry that is not in it."""
    known = known_levels(levels, nw_dtype(entries.dtype))
    codes = places_in(known, entries)
    if unknown := _unknown(codes, known):
        raise other_levels(name, f"at least {rows_text(unknown)}")
    return codes if len(known) == len(levels) else places_of(known, levels)[codes]


def places_in(levels: Sequence[Level], entries: pl.Series, /) -> Codes:
    """Place of each entry in a list of different levels of the column's type; the list's length for any other."""
    entries, other = entries.alias("entries"), len(levels)
    if entries.dtype in (pl.String, pl.Categorical, pl.Enum):
        own: list[Level] = [level for level in levels if level is not None]
        text = entries if entries.dtype == pl.String else entries.cast(pl.String)
        found = text.cast(_enum(own), strict=False).to_physical()
    elif entries.dtype == pl.Boolean:
        own, found = [False, True], entries.cast(pl.UInt8)
    else:
        own = [level for level in levels if level is not None]
        numbers = pl.Series(range(len(own)), dtype=pl.UInt16)
        old = pl.Series(own, dtype=entries.dtype)
        found = entries.replace_strict(old, numbers, default=None, return_dtype=pl.UInt16)
    places = {level: k for k, level in enumerate(levels)}
    table = np.array([*(places.get(level, other) for level in own), other], dtype=np.uint16)
    codes: Codes = found.cast(pl.UInt16).fill_null(len(own)).to_numpy()
    if not np.array_equal(table, np.arange(len(own) + 1)):
        codes = table[codes]
    if None in places and found.null_count():
        null = entries.is_null() | entries.is_nan() if entries.dtype.is_float() else entries.is_null()
        codes = np.where(null.to_numpy(), np.uint16(places[None]), codes)
    return codes


def _levels(entries: pl.Series, *, name: str) -> tuple[Level, ...]:
    found = entries.alias("entries").unique()
    hint = None
    if found.dtype == pl.String and are_written_numbers(texts := found.head(_MOST_SEEN).to_list()):
        hint = from_text(name, texts)
    check_few_levels(len(found) - 2, name=name, hint=hint)  # null and NaN are one
    levels = sorted_levels(levels_of(nw.from_native(found, series_only=True), name=name))
    check_few_levels(len(levels), name=name)
    return levels


def _unknown(places: Codes, levels: Sequence[Level]) -> int:
    """How many rows have another level."""
    return int(np.count_nonzero(places == len(levels)))


def known_levels(levels: Levels, dtype: nw.dtypes.DType, /) -> Sequence[Level]:
    """Those that a column of this dtype may have."""
    return levels if fits(dtype, levels) else [level for level in levels if fits(dtype, [level])]


def as_series(codes: Codes, levels: Levels, dtype: pl.DataType, /, *, name: str) -> pl.Series:
    """Places of levels as a column like one of this dtype; of a level that no row has nothing but an Enum knows."""
    kind = released_dtype(dtype, levels, name=name)
    codes, used = used_levels(codes, levels)
    return pl.Series("released", used, dtype=kind).gather(pl.Series(codes))


def used_levels(codes: Codes, levels: Levels, /) -> tuple[Codes, Levels]:
    """The levels that rows have, in their order, and the places in these.

    What was not drawn would lie in categories, dictionaries and the memory of texts, and in files of these.
    """
    seen = np.zeros(len(levels), dtype=np.bool_)
    seen[codes] = True
    if seen.all():
        return codes, levels
    table = (np.cumsum(seen) - 1).astype(np.uint16)
    return table.take(codes, mode="wrap"), tuple(level for level, there in zip(levels, seen, strict=True) if there)


def released_dtype(dtype: pl.DataType, levels: Levels, /, *, name: str) -> pl.DataType:
    """The same one where it can hold the levels; that of an Enum has no other category."""
    if not fits(nw_dtype(dtype), levels):
        return _NATURAL[natural(levels, name=name)]
    if isinstance(dtype, pl.Enum):
        outputs = [level for level in levels if isinstance(level, str)]
        return _enum(in_order_of(dtype.categories.to_list(), outputs))
    return dtype


def _enum(levels: Sequence[Level]) -> pl.Enum:
    return pl.Enum([level for level in levels if isinstance(level, str)])


def in_order_of(categories: Sequence[Level], outputs: Sequence[Level], /) -> list[Level]:
    """The outputs that are categories in their order, and then the others."""
    return [*(level for level in categories if level in outputs), *(o for o in outputs if o not in categories)]


_NATURAL = {str: pl.String(), bool: pl.Boolean(), int: pl.Int64(), float: pl.Float64()}


def natural(levels: Levels, /, *, name: str) -> type:
    """The type of the released levels of a column; raises ArgumentTypeError where they are of several."""
    kinds = {type(level) for level in levels if level is not None}
    if kinds == {int, float}:
        return float
    if len(kinds) > 1:
        raise ArgumentTypeError(
            f"the released levels of the column {name!r}",
            rule="of one type",
            got=" and ".join(sorted(kind.__name__ for kind in kinds)),
            hint="Write them all as text.",
        )
    return kinds.pop() if kinds else str


def fits(dtype: nw.dtypes.DType, outputs: Iterable[Level], /) -> bool:
    """Whether a column of this dtype can hold the levels."""
    there = [output for output in outputs if output is not None]
    kinds = {type(output) for output in there}
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        return kinds <= {str}
    if isinstance(dtype, nw.Boolean):
        return kinds <= {bool}
    if dtype.is_float():
        return kinds <= {int, float}
    if isinstance(dtype, (nw.Int128, nw.UInt128)) or not dtype.is_integer():
        return kinds <= {int} and dtype.is_integer()
    ends = np.iinfo(str(dtype).lower())
    return kinds <= {int} and all(ends.min <= int(output) <= ends.max for output in there if isinstance(output, int))


def nw_dtype(dtype: pl.DataType, /) -> nw.dtypes.DType:
    """As narwhals has it."""
    return nw.from_native(pl.Series(dtype=dtype), series_only=True).dtype
