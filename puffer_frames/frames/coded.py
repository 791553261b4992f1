"""Columns as numbers of their entries, in ascending order where they are labels, and numbers as released labels."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import LARGEST_INTEGER, rows_text
from puffer_frames.frames.order import dense_ranks
from puffer_frames.frames.summary import check_few_levels, levels_of, sort_key, sorted_levels, too_many_levels
from puffer_frames.noise.adding import Codes, Levels, other_levels
from puffer_frames.noise.channel import MOST_LEVELS, Integers, looked_up, places_of
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret
from puffer_frames.priors.summary import Level

_FIRST = 1 << 16
"""Rows that mostly hold all levels."""
_MOST_SEEN = 1 << 10
"""Different texts that are looked at for numbers and dates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coded:
    """A column in memory as numbers of its levels."""

    codes: Codes
    """Place of each row's level, shape (rows,)."""
    levels: tuple[Level, ...]
    """The different ones, sorted, a missing one last."""

    @classmethod
    def of(cls, entries: pl.Series, /, *, name: str, most: int = MOST_LEVELS) -> Coded:
        """From a column of text, categories, booleans or whole numbers; raises ArgumentError for too many levels."""
        entries = entries.cast(pl.String) if entries.dtype == pl.Null else entries
        levels = _levels(entries.head(_FIRST), name=name, most=most)
        codes = places_in(levels, entries)
        if _unknown(codes, levels):
            levels = _levels(entries, name=name, most=most)
            codes = places_in(levels, entries)
        return cls(codes=codes, levels=levels)

    @classmethod
    def numbered(
        cls, places: NDArray[np.integer], found: Sequence[Level], /, *, name: str, most: int = MOST_LEVELS
    ) -> Coded:
        """From the place of each row's level in a list; not all of these need occur."""
        used = np.flatnonzero(np.bincount(places, minlength=len(found))).tolist()
        levels = sorted_levels(found[k] for k in used)
        check_few_levels(len(levels), name=name, most=most)
        return cls(codes=places_of(found, levels)[places], levels=levels)

    def among(self, levels: Levels, /, *, name: str) -> Codes:
        """Place of each row's level in another list; raises CalibrationError for levels that are not in it."""
        return translated(self.codes, self.levels, levels, name=name)

    def others(self, levels: Levels, /) -> int:
        """Rows with a level that is not in another list."""
        lacking = places_of(self.levels, levels) == len(levels)
        return int(np.bincount(self.codes, minlength=len(self.levels))[lacking].sum()) if lacking.any() else 0


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
            raise other_levels(name, got=rows_text(unknown))
    return looked_up(places, numbers)


def check_levels(others: Mapping[str, int], /) -> None:
    """Raise CalibrationError for columns with rows whose level is not in its list; all of them are named."""
    if found := {name: rows for name, rows in others.items() if rows}:
        raise other_levels(*found, got=", ".join(map(rows_text, found.values())))


def codes_in(levels: Levels, entries: pl.Series, /, *, name: str) -> Codes:
    """Place of each entry in a list of different levels; raises CalibrationError for an entry that is not in it."""
    known = known_levels(levels, nw_dtype(entries.dtype))
    codes = places_in(known, entries)
    if unknown := _unknown(codes, known):
        raise other_levels(name, got=f"at least {rows_text(unknown)}")
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


def _levels(entries: pl.Series, *, name: str, most: int) -> tuple[Level, ...]:
    found = entries.alias("entries").unique()
    if len(found) - 2 > most:  # null and NaN are one
        raise too_many_levels(name, seen=found.head(_MOST_SEEN).to_list())
    levels = sorted_levels(levels_of(nw.from_native(found, series_only=True), name=name))
    check_few_levels(len(levels), name=name, most=most)
    return levels


def _unknown(places: Codes, levels: Sequence[Level]) -> int:
    """How many rows have another level."""
    return int(np.count_nonzero(places == len(levels)))


def known_levels(levels: Levels, dtype: nw.dtypes.DType, /) -> Sequence[Level]:
    """The levels that a column of this dtype can hold."""
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


def codes_of(entries: nw.Series[Any], /) -> IndexArray:
    """Numbers from 0, equal for equal entries, of which missing ones are one. What has no hash goes by its text."""
    native = nw.to_native(entries.alias("entries"))  # Polars reads names like "^x$" as patterns
    if isinstance(native, pd.Series):
        try:
            return np.asarray(factorized(native)[0], dtype=np.int64)
        except Exception:  # entries are objects of any kind: lists and arrays of theirs have no hash
            return _text_codes(native.tolist())
    assert isinstance(native, pl.Series)
    if is_plain(entries):
        return np.unique(native.hash().to_numpy(), return_inverse=True)[1]
    return _text_codes(native.to_list())


def ordered_codes_of(entries: nw.Series[Any], /) -> IndexArray:
    """The same in the order of the entries, where these are numbers, times or texts."""
    dtype = entries.dtype
    if not isinstance(dtype, (nw.String, nw.Categorical, nw.Enum)):
        numbers = None if isinstance(dtype, (nw.Int128, nw.UInt128)) else numbers_of(entries)
        return codes_of(entries) if numbers is None else np.unique(numbers, return_inverse=True)[1]
    try:
        texts = entries.alias("entries").to_polars().cast(pl.String)
    except Exception:  # text that UTF-8 does not hold, categories of several types, integers beyond 64 bits
        return codes_of(entries)
    return np.unique(dense_ranks(texts), return_inverse=True)[1]


def is_plain(entries: nw.Series[Any], /) -> bool:
    """Whether every engine can group by such entries."""
    native = nw.to_native(entries)
    if isinstance(native, pl.Series):
        return is_plain_dtype(native.dtype)
    return not isinstance(entries.dtype, (nw.Object, nw.Unknown, nw.List, nw.Struct, nw.Array))


def is_plain_dtype(dtype: pl.DataType, /) -> bool:
    """Whether Polars can group by entries of this dtype."""
    return not (dtype.is_nested() or isinstance(dtype, (pl.Object, pl.Null)))


def _text_codes(entries: list[Any]) -> IndexArray:
    """By text, with the type's name: 1 and "1" differ."""
    return factorized(pd.Series([f"{type(entry).__name__} {entry}" for entry in entries], dtype=object))[0]


def numbers_of(entries: nw.Series[Any], /) -> FloatArray | None:
    """Numbers, texts that are all numbers, and times in their order, NaN where one is missing; None for other kinds."""
    dtype = entries.dtype
    text, temporal = isinstance(dtype, nw.String), isinstance(dtype, (nw.Date, nw.Datetime, nw.Duration, nw.Time))
    if not (text or temporal or dtype.is_numeric() or isinstance(dtype, nw.Boolean)):
        return None
    plain = entries.alias("entries").to_polars()
    return _parsed(plain) if text else order_of(plain)


def order_of(entries: pl.Series, /) -> FloatArray:
    """Numbers in the order of plain entries, NaN where one is missing; texts that are all numbers in that of these."""
    dtype = entries.dtype
    if dtype == pl.String and (parsed := _parsed(entries)) is not None:
        return parsed
    exact = dtype.is_float() or dtype == pl.Boolean
    if not exact and dtype.is_integer():
        low, high = entries.min(), entries.max()
        exact = low is None or -LARGEST_INTEGER <= int(low) <= int(high) <= LARGEST_INTEGER  # type: ignore[arg-type]
    return (entries if exact else entries.rank("dense")).cast(pl.Float64).to_numpy()


def _parsed(texts: pl.Series) -> FloatArray | None:
    """Texts that are all numbers as these."""
    values = texts.cast(pl.Float64, strict=False)
    return values.to_numpy() if values.null_count() == texts.null_count() < len(texts) else None


_SPREAD = 4
"""Integers within so many times their number are looked up in a table, not hashed."""
_FEW = 1 << 10
"""At most this many labels are sorted as Python objects."""


def numbered(entries: nw.Series[Any], /) -> tuple[IndexArray, list[Secret]]:
    """Number of each entry's label, and the labels in the ascending order of `sort_key`.

    - `entries` (shape (rows,)): Text, categories, booleans or integers, none missing.

    **Cost**: integers close together, one pass over a table; else one hash of the rows and one sort of the labels, in
    NumPy or PyArrow. More than 1,024 labels of several types, and integers beyond 64 bits, are sorted by Python.
    """
    native: Any = entries.to_native()
    if isinstance(entries.dtype, (nw.Int128, nw.UInt128)):  # NumPy has no such integers
        return _in_order(*pd.factorize(np.array(entries.to_list(), dtype=object)))
    if entries.dtype.is_integer():
        integers = entries.to_numpy()
        if integers.dtype.kind in "iu":
            return _of_integers(integers)
    if isinstance(native, pl.Series) and not isinstance(entries.dtype, nw.Boolean):
        encoded = native.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode()
        order = pc.sort_indices(encoded.dictionary).to_numpy().astype(np.intp)  # UTF-8 and code points sort alike
        return _ranks(order)[encoded.indices.to_numpy()], encoded.dictionary.take(pa.array(order)).to_pylist()
    return _in_order(*(factorized(native) if isinstance(native, pd.Series) else pd.factorize(native.to_numpy())))


def factorized(entries: pd.Series[Any], /) -> tuple[NDArray[np.intp], Any]:
    """Numbers of the entries, and an entry for each number; objects of different types are kept apart."""
    if entries.dtype != np.dtype(object) and getattr(entries.dtype, "storage", None) != "python":
        return entries.factorize(use_na_sentinel=False)
    # pandas hashes half of a surrogate pair by its repr, and NUL ends a text
    with suppress(UnicodeEncodeError, TypeError):
        if b"\0" not in "".join(entries[entries.notna()]).encode():
            return entries.factorize(use_na_sentinel=False)
    numbers: dict[Any, int] = {}
    found = [None if null else entry for entry, null in zip(entries, entries.isna(), strict=True)]
    codes = np.array([numbers.setdefault((type(entry), entry), len(numbers)) for entry in found], dtype=np.intp)
    return codes, pd.Index([entry for _, entry in numbers], dtype=object)


def _of_integers(integers: NDArray[Any]) -> tuple[IndexArray, list[Secret]]:
    """Numbers and values of integers of at most 64 bits."""
    least, most = int(integers.min()), int(integers.max())
    if most - least >= _SPREAD * integers.size or most >= 2**63:
        return _in_order(*pd.factorize(integers))
    places = integers.astype(np.intp) - least
    here = np.zeros(most - least + 1, dtype=bool)
    here[places] = True
    return (np.cumsum(here) - 1)[places], list[Secret]((np.flatnonzero(here) + least).tolist())


def _in_order(codes: NDArray[Any], found: Any) -> tuple[IndexArray, list[Secret]]:
    """From numbers of labels in any order, and the labels: an array of NumPy or pandas."""
    labels = [plain_label(label) for label in found.tolist()]
    order = _ascending(labels)
    return _ranks(order)[codes], [labels[k] for k in order.tolist()]


def _ranks(order: IndexArray) -> IndexArray:
    """The rank of each place in an order of all places."""
    ranks = np.empty(order.size, dtype=np.intp)
    ranks[order] = np.arange(order.size)
    return ranks


def _ascending(labels: Sequence[Any]) -> IndexArray:
    """Places of different labels, in their ascending order."""
    types = set(map(type, labels)) if len(labels) > _FEW else set()
    if types == {str}:  # UTF-8 and code points sort alike
        with suppress(UnicodeEncodeError):  # text that UTF-8 cannot hold
            return pc.sort_indices(pa.array(labels, type=pa.large_string())).to_numpy().astype(np.intp)
    if types == {int}:
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= min(labels) and max(labels) <= np.iinfo(dtype).max:
                return np.argsort(np.array(labels, dtype=dtype))
    return np.array(sorted(range(len(labels)), key=lambda k: sort_key(labels[k])), dtype=np.intp)


def plain_label(label: Any, /) -> Secret:
    """A label as Python has it; a text with its own characters, whatever a subclass prints."""
    plain: Secret = label.item() if isinstance(label, np.generic) else label
    return str.__str__(plain) if isinstance(plain, str) else plain


def by_unit(codes: IndexArray, values: FloatArray, /, *, units: int) -> tuple[IndexArray, IndexArray]:
    """Places of the rows by unit, ascending in value within one; and where each unit begins, and the end of the last.

    Equal values stay in the order of the rows.

    - `codes` (array of int, shape (rows,)): From 0 to units - 1.
    - `values` (array, shape (rows,)): Finite.

    **Cost**: one sort of the values; the units are only counted (the rows of a sparse matrix, one entry each).
    """
    order = np.argsort(values, kind="stable")
    ones = np.ones(codes.size, dtype=np.int8)
    matrix = sparse.csr_array((ones, (codes[order], np.arange(codes.size))), shape=(units, codes.size))
    return order[matrix.indices], matrix.indptr.astype(np.intp)
