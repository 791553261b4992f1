"""Codes that stand for missing values become null before anything else reads a frame; labels that are merged."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from numbers import Real
from operator import or_
from typing import Any, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, SuspectValuesWarning, warn
from puffer_frames.frames.columns import Name, NativeFrame, as_names, check_column_names
from puffer_frames.frames.table import library_of, open_table
from puffer_frames.numbers.presentation import shown
from puffer_frames.priors.summary import Level

Code: TypeAlias = str | bool | int | float
"""Dates are kept as texts, "9999-12-31"."""
Codes: TypeAlias = Mapping[str, tuple[Code, ...]]
"""Codes by column."""
NullValuesArgument: TypeAlias = Mapping[Name, Code | date | Iterable[Code | date]] | None


class ReadCode(str):
    """A text that the reader of a file has read as null already: the release says so, and no row has it."""

    __slots__ = ()


_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_MOST = 2**63
"""Larger integers are in no column of integers."""
_MUCH = 0.05
"""There is a warning where a larger share of the rows is left out."""


def check_codes(given: Any, labels: Sequence[Name], /, *, columns: Sequence[str]) -> dict[str, tuple[Code, ...]]:
    """The argument `null_values`; `columns` are those that may have codes.

    Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError for a column that is not there, or has no role, and for
    what is no code.
    """
    if not isinstance(given, Mapping | None):
        raise ArgumentTypeError(
            "null_values",
            rule="a mapping of column to the codes that stand for a missing value",
            got=f"a {type(given).__name__}",
            hint='Write null_values={"income": [9999999]}.',
        )
    found = {}
    for label, entries in (given or {}).items():
        (name,) = as_names((label,), labels, role="null_values")
        if name not in columns:
            raise ArgumentError(
                "null_values",
                rule="codes of secret, public, given and unit columns",
                got=f"some of {name!r}",
                hint="Leave them out: other columns are not read, and kept ones are released as they are.",
            )
        listed = [entries] if isinstance(entries, str) or not isinstance(entries, Iterable) else list(entries)
        found[name] = tuple(dict.fromkeys(_checked(code) for code in listed))
        if not listed:
            raise ArgumentError("null_values", rule="codes", got=f"none of {name!r}", hint="Leave the column out.")
    return found


def _checked(code: Any) -> Code:
    code = code.astype("datetime64[us]") if isinstance(code, np.datetime64) else code  # item() of others is a number
    code = code.item() if isinstance(code, np.generic) else code
    code = code.isoformat()[:10] if isinstance(code, date) and code is not pd.NaT else code
    if isinstance(code, float) and code.is_integer():
        code = int(code)
    if isinstance(code, (str, bool)) or (isinstance(code, (int, float)) and math.isfinite(code) and abs(code) < _MOST):
        return code
    raise ArgumentTypeError(
        "null_values",
        rule="texts, truth values and finite numbers below 2**63",
        got="another number" if isinstance(code, (int, float)) else f"a {type(code).__name__}",
        hint="Null and NaN are missing as they are; write the codes as the column has them.",
    )


def with_nulls(frame: NativeFrame, codes: Codes, /) -> NativeFrame:
    """The frame with null in place of codes; a column that it lacks is an error later."""
    places = _places(frame, codes)
    if not places:
        return frame
    frame = _by_letters(frame)
    if isinstance(frame, pd.DataFrame):  # integers and truth values of NumPy have no null
        kinds = {"i": "Int64", "u": "UInt64", "b": "boolean"}
        plain = {k: dtype.kind for k in places if isinstance(dtype := frame.dtypes.iloc[k], np.dtype)}
        frame = frame.astype({frame.columns[k]: kinds[kind] for k, kind in plain.items() if kind in kinds})
    given = nw.from_native(frame)
    dtypes = given.collect_schema().dtypes()
    columns = []
    for place, own in places.items():
        if _is_of_objects(frame, dtypes[place]):
            frame = _without(own, frame, place)
        else:
            columns.append(nw.when(~_is_one_of(place, own, dtypes[place])).then(nw.nth(place)))
    return nw.to_native(nw.from_native(frame).with_columns(*columns)) if columns else frame


def coded(frame: NativeFrame, given: NullValuesArgument, /) -> tuple[NativeFrame, Codes]:
    """The frame with null in place of the codes of any of its columns, and these; raises and warns as the others."""
    table = open_table(frame)
    codes = check_codes(given, table.labels, columns=table.names)
    if codes:
        warn_of_unused(frame, codes)
    return with_nulls(frame, codes), codes


def warn_of_unused(frame: NativeFrame, codes: Codes, /) -> None:
    """Warn of codes that are in no row, as misspelled ones are."""
    if not codes:
        return
    places, dtypes = _places(frame, codes), nw.from_native(frame).collect_schema().dtypes()
    pairs = [(place, code) for place, own in places.items() for code in own]
    tried = [(place, code) for place, code in pairs if not _is_of_objects(frame, dtypes[place])]
    used = {(place, code) for place, code in {*pairs} - {*tried} if _are_among([code], frame, place).any()}
    if tried:
        asked = [_is_one_of(p, [code], dtypes[p]).any().alias(f"code_{k}") for k, (p, code) in enumerate(tried)]
        how: dict[str, Any] = {"engine": "streaming"} if isinstance(frame, pl.LazyFrame) else {}
        row = nw.from_native(_by_letters(frame)).lazy().select(*asked).collect(**how).row(0)
        used |= {one for one, found in zip(tried, row, strict=True) if found}
    names = open_table(frame).names
    for name, own in codes.items():
        there = [code for code in own if not isinstance(code, ReadCode)] if name in names else []
        unused = [code for code in there if (names.index(name), code) not in used]
        if unused:
            place = names.index(name)
            odd = _is_of_objects(frame, dtypes[place]) or any(code not in places.get(place, ()) for code in unused)
            mend = (
                "Write numbers without quotation marks, and texts with them" if odd else "See how the column has them"
            )
            warn(
                SuspectValuesWarning(
                    f"null_values of the column {name!r}",
                    "name codes that are in no row: " + ", ".join(map(repr, unused)),
                    hint=f"{mend}; if none of them occurs in these rows, ignore this.",
                )
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """Rows that are left out, for a value that is read is missing."""

    rows: int
    of: int
    """How many rows there are."""
    column: str
    """The one that misses most."""
    missing: int
    """In how many rows."""

    def fits(self, columns: Collection[str], /, *, kept: int) -> bool:
        """Whether these may be the rows that a plan of so many rows leaves out."""
        return self.column in columns and 0 < self.missing <= self.rows <= self.of - kept

    @property
    def is_much(self) -> bool:
        """Whether so many are left out that there is a warning."""
        return self.rows > _MUCH * self.of

    @property
    def text(self) -> str:
        """How many, and which column misses most."""
        share = f"{self.rows:,} of {self.of:,} rows ({100 * self.rows / self.of:.3g} %)"
        return f"{share} miss a value and are left out; {shown(self.column)} misses most, in {self.missing:,}"

    def warn(self, *, public: Collection[str]) -> None:
        """Warn of many."""
        if self.is_much:
            hint = f'Fill in what is missing in {self.column!r}, as with "unknown".'
            if self.column in public:
                hint = f"{f'Leave {self.column!r} out, or fill' if len(public) > 1 else 'Fill'} in what is missing."
                hint += (
                    ' nulls="level" keeps the rows of columns of labels, and of whole tables (mechanism="sequential").'
                )
            hint += " Who is left out may depend on the secret."
            warn(SuspectValuesWarning("the frame", f"has missing values: {self.text}", hint=hint))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """Rows that are left out, for their unit has more than are used."""

    rows: int
    of: int
    """How many complete rows there are."""
    unit: str
    most: int
    """How many of each unit are used."""

    @property
    def text(self) -> str:
        """How many, and of which units."""
        share = f"{self.rows:,} of {self.of:,} rows ({100 * self.rows / self.of:.3g} %)"
        return f"{share} are left out, for at most {self.most:,} of one {shown(self.unit)} are used"

    def warn(self) -> None:
        """Warn of many."""
        if self.rows > _MUCH * self.of:
            warn(
                SuspectValuesWarning(
                    f"the unit column {self.unit!r}",
                    f"has more rows of some units than are used: {self.text}",
                    hint="Declare more rows per unit in Unit(most=...), which takes more noise, or have one row of "
                    "each unit with a summary of its rows.",
                )
            )


def dropped_rows(frame: NativeFrame, columns: Collection[str], /) -> Dropped | None:
    """Which rows of any frame nulls="drop" leaves out; None for none. One pass over the rows of a plan."""
    names, given = open_table(frame).names, nw.from_native(frame).lazy()
    dtypes = given.collect_schema().dtypes()
    read = [name for name in dict.fromkeys(columns) if name in names]  # the others are levels of an index
    places = [names.index(name) for name in read]
    gaps = [nw.nth(p).is_null() | nw.nth(p).is_nan() if dtypes[p].is_float() else nw.nth(p).is_null() for p in places]
    if not gaps:
        return None
    counted = [reduce(or_, gaps), *gaps]
    asked = [gap.cast(nw.Int64).sum().alias(f"gap_{k}") for k, gap in enumerate(counted)]
    how: dict[str, Any] = {"engine": "streaming"} if isinstance(frame, pl.LazyFrame) else {}
    found = given.select(nw.len().alias("rows"), *asked).collect(**how).to_dict(as_series=False)
    rows, incomplete, *missing = (int(number) for (number,) in found.values())
    most = max(range(len(read)), key=missing.__getitem__)
    return Dropped(rows=incomplete, of=rows, column=read[most], missing=missing[most]) if incomplete else None


def _by_letters(frame: NativeFrame) -> NativeFrame:
    """Text of DuckDB without its collation, by which `NA` may be equal to `na`."""
    table: Any = open_table(frame)
    return table.plain({name: name for name in table.names}) if library_of(frame) == "duckdb" else frame


def codes_text(codes: Codes, /) -> str:
    """Columns, and how many codes each has; a list of codes may have been made after a look at the table."""
    return ", ".join(f"{shown(name)} ({len(own)} code{'s' * (len(own) > 1)})" for name, own in codes.items())


def _places(frame: NativeFrame, codes: Codes) -> dict[int, list[Code]]:
    """The codes that a column of its dtype can hold, by the place of the column: names may be patterns to an engine."""
    if not codes:
        return {}
    names = open_table(frame).names
    check_column_names(names)
    dtypes = nw.from_native(frame).collect_schema().dtypes()
    places = {names.index(name): of for name, of in codes.items() if name in names}
    own = {
        place: [*of] if _is_of_objects(frame, dtypes[place]) else [code for code in of if _fits(code, dtypes[place])]
        for place, of in places.items()
    }
    return {place: of for place, of in own.items() if of}


def _fits(code: Code, dtype: nw.dtypes.DType) -> bool:
    if isinstance(code, str):
        return isinstance(dtype, _TEXTS) or (_is_of_dates(dtype) and _is_date(code))
    return isinstance(dtype, nw.Boolean) if isinstance(code, bool) else dtype.is_numeric()


def _is_of_objects(frame: NativeFrame, dtype: nw.dtypes.DType) -> bool:
    """Whether a column may hold entries of several types: categories and dictionaries of other libraries are texts."""
    return isinstance(dtype, (nw.Categorical, nw.Enum, nw.Object)) and library_of(frame) in ("pandas", "pyarrow")


def _without(codes: Sequence[Code], frame: Any, place: int) -> NativeFrame:
    """The frame with null for the codes in a column of objects, categories or a dictionary."""
    found = _are_among(codes, frame, place)
    if isinstance(frame, pa.Table):
        return frame.set_column(place, frame.field(place), _without_some(found, frame.column(place)))
    native, frame = frame.iloc[:, place], frame.copy(deep=False)
    if isinstance(native.dtype, pd.ArrowDtype):  # `mask` of pandas fills gaps of dictionaries
        kept = pd.arrays.ArrowExtensionArray(_without_some(found, _arrow(native)))
        frame.isetitem(place, pd.Series(kept, index=frame.index))
    else:
        frame.isetitem(place, native.mask(found))
    return frame


def _without_some(found: NDArray[np.bool_], entries: pa.ChunkedArray) -> pa.ChunkedArray:
    parts, start = [], 0
    for part in entries.chunks:
        own = part.indices
        own = pc.if_else(pa.array(found[start : start + len(own)]), pa.scalar(None, own.type), own)
        parts.append(pa.DictionaryArray.from_arrays(own, part.dictionary, ordered=part.type.ordered))
        start += len(own)
    return pa.chunked_array(parts, type=entries.type)


def _arrow(native: Any) -> pa.ChunkedArray:
    return native if isinstance(native, pa.ChunkedArray) else pa.chunked_array(native.array.__arrow_array__())


def _are_among(codes: Iterable[Code], frame: Any, place: int) -> NDArray[np.bool_]:
    """Which objects, categories or entries of a dictionary are codes, by type and value."""
    keys = {_key(code) for code in codes} | {_key(np.float32(code)) for code in codes if isinstance(code, float)}
    native = frame.column(place) if isinstance(frame, pa.Table) else frame.iloc[:, place]
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        parts = [(native.cat.categories.tolist(), native.cat.codes.to_numpy())]
    elif isinstance(native, pd.Series) and native.dtype == object:
        parts = [(own := native.tolist(), np.arange(len(own)))]
    else:
        parts = [(part.dictionary.to_pylist(), _indices(part)) for part in _arrow(native).chunks]
    found = (np.array([*(_key(entry) in keys for entry in own), False])[at] for own, at in parts)  # -1 is missing
    return np.concatenate([np.empty(0, np.bool_), *found])


def _indices(part: Any) -> NDArray[np.int64]:
    """Those of a dictionary, -1 for a missing one: they may be of a type without a sign."""
    return cast(NDArray[np.int64], part.indices.cast(pa.int64()).fill_null(-1).to_numpy())


def _key(entry: Any) -> tuple[type, object] | None:
    """A text, truth value, number or day with its type: 1, "1" and True are three; None for what no code can mean."""
    if isinstance(entry, bool | np.bool_):
        return bool, bool(entry)
    if isinstance(entry, Real | Decimal):
        return int, entry
    if isinstance(entry, date) and entry is not pd.NaT:
        return str, entry.isoformat().removesuffix("T00:00:00")
    return (str, entry) if isinstance(entry, str) else None


def _is_of_dates(dtype: nw.dtypes.DType) -> bool:
    return isinstance(dtype, (nw.Date, nw.Datetime)) and getattr(dtype, "time_zone", None) is None


def _is_date(code: str) -> bool:
    with suppress(ValueError):
        return bool(date.fromisoformat(code))
    return False


def _is_one_of(place: int, codes: Sequence[Code], dtype: nw.dtypes.DType) -> Any:
    column = nw.nth(place)
    if _is_of_dates(dtype):
        moments = [datetime.fromisoformat(str(code)) for code in codes]
        return reduce(or_, (column == (one if isinstance(dtype, nw.Datetime) else one.date()) for one in moments))
    # an Enum knows its own texts alone; narwhals looks at the first entries of objects, and later ones may be no texts
    texts = column.cast(nw.String) if isinstance(dtype, (nw.Categorical, nw.Enum)) else column
    # floats of 32 bits have no .1, but what such a float has of it
    nearest = {float(np.float32(code)) for code in codes if isinstance(code, float)}
    return reduce(or_, (texts == code for code in (*codes, *nearest)))


def merged_frame(
    frame: NativeFrame, columns: Sequence[str], strata: Sequence[Sequence[Level]], /, *, label: str
) -> NativeFrame:
    """The frame with one label in place of those of some strata, in all columns."""
    parts = [
        nw.all_horizontal(
            *(nw.col(name).cast(nw.String) == nw.lit(cast(str, level)) for name, level in zip(columns, z, strict=True)),
            ignore_nulls=False,
        )
        for z in strata
    ]
    is_small = nw.any_horizontal(*parts, ignore_nulls=False)
    return nw.to_native(
        nw.from_native(frame).with_columns(
            nw.when(is_small).then(nw.lit(label)).otherwise(nw.col(name).cast(nw.String)).alias(name)
            for name in columns
        )
    )
