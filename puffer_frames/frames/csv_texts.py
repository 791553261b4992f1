"""CSV files: read as text, of which each column becomes numbers where nothing is lost by that."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from puffer_frames.errors import (
    ArgumentError,
    ColumnTypeError,
    PriorError,
    PufferError,
    SuspectValuesWarning,
    TableFileError,
    warn,
)
from puffer_frames.frames.columns import MISSING, REST, not_found, number_in, rows_text
from puffer_frames.frames.csv_dialect import AS_USUAL, FIRST, SEPARATORS, Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRoles:
    """What the columns of a CSV file are for, by which it is decided what their texts mean."""

    exact: tuple[str, ...] = ()
    """Secret, given, unit and kept columns. They become numbers or booleans only where these are written as the texts
    are: `1` and `01` are two secrets, and a kept `02116` is released as it is."""
    alike: tuple[str, ...] = ()
    """The columns among them that say which rows belong together: a number written in two ways is warned about."""
    public: tuple[str, ...] = ()
    """They become numbers, however these are written, where all texts but those for missing values are numbers. "rest"
    alone is every column without another role."""
    plain: tuple[str, ...] = ()
    """Columns of numbers that are used and not released."""
    kept: tuple[str, ...] = ()
    """Columns that are released or used as they are: no text in them stands for a missing value."""
    dates: tuple[str, ...] = ()
    """Columns that become dates where all texts are dates as "2026-01-31"."""
    text: tuple[str, ...] = ()
    """Columns that hold labels in the plan, or in the table, that these rows go with."""
    coded: bool = False
    """Whether texts for missing values stay where they are values of a column, for Python to read them as null."""
    alone: bool = False
    """Whether the values of columns without a role are left out, if those with one are all there; certificates name
    these columns."""
    released: bool = False
    """Whether this is a release, whose fingerprint says what the texts are."""

    def keeps_apart(self, name: str, /) -> bool:
        """Whether two texts of a column are two values, whatever its type."""
        return not self.released and (name in self.exact or name in self.plain or name in self.text)


AS_THEY_ARE = TextRoles()
"""Without roles every column whose texts are numbers becomes one of numbers."""


def read_csv(
    path: Path,
    /,
    *,
    types: Mapping[str, Any],
    roles: TextRoles,
    dialect: Dialect = AS_USUAL,
    marks: dict[str, list[str]] | None = None,
) -> pl.DataFrame:
    """The rows of a CSV file; `marks` is given the texts for missing values that each column has.

    Raises TableFileError for what is no table in UTF-8 with commas, has no rows, or rows with more or fewer fields than
    the first line, and for texts that do not fit the given types; ArgumentError for two columns of one name;
    ColumnNotFoundError for a given type of a column that the file does not have.
    """
    escaped = {name: name.replace('"', '""') for name in types}  # as Polars has it in a line of names
    parsed = {escaped[name]: dtype.base_type() for name, dtype in types.items() if not _is_read_here(dtype)}
    try:
        meant, released = {*roles.exact, *roles.public, *roles.plain, *types}, roles.released or roles == AS_THEY_ARE
        dialect = dialect.for_file(path, names=meant, released=released)
        first = _names(path, dialect)
        source = dialect.source(path)
        table = pl.read_csv(
            source,
            infer_schema=False,
            schema_overrides=parsed,
            separator=dialect.separator,
            comment_prefix=dialect.comment,
            glob=False,  # data[1].csv is no pattern, which would be that of data1.csv
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, csv.Error, *_NOT_PACKED):
        raise what_is_wrong(path, dialect) or _misfit(path, first, types, dialect) from None
    table = table.rename({name.replace('"', '""'): name for name in first if '"' in name}, strict=False)
    names = table.columns
    if roles.alone:
        _check_commas(path, names, dialect)
    _check_marks(path, source, table, dialect)
    if len(names) > 1 and table.to_series(-1).null_count() and (wrong := what_is_wrong(path, dialect)) is not None:
        raise wrong  # Polars reads a row with too few fields, such as one that was cut off, as one with nulls
    for name in (*types, *filter(None, dialect.null_values)):
        if name not in names:
            raise not_found("schema" if name in types else "null_values", name, names)
        if name in roles.kept and name in dialect.null_values:
            rule, hint = "codes of secret, public, given and unit columns", "Kept columns are released as they are."
            raise ArgumentError("null_values", rule=rule, got=f"some of {name!r}", hint=hint)
    if not len(table):
        got, hint = "a first line with names alone", "See whether the file is whole."
        raise PriorError(f"the input {path.name!r}", rule="a table with rows", got=got, hint=hint)
    _check_times(source, table, roles, types, dialect)
    if roles.public == (REST,) and REST not in names:
        roles = replace(roles, public=tuple(name for name in names if name not in {*roles.exact, *roles.plain}))
    wanted = {*roles.exact, *roles.public, *roles.plain}
    alone = roles.alone and wanted <= set(names) and roles.public != (REST,)  # which may mean the others, too
    kept = [name for name in names if name in wanted] if alone else names
    coded = [name for name in kept if name not in roles.kept and table[name].dtype == pl.String]
    held = {name: dialect.marks_in(name, table[name]) for name in coded}
    if marks is not None:
        marks |= {name: own for name, own in held.items() if own}
    return pl.DataFrame(
        {
            name: _column(name, table[name].alias("texts"), types.get(name), roles, dialect, held.get(name, []))
            if name in kept
            else pl.repeat(None, len(table), dtype=pl.Null, eager=True)
            for name in names
        }
    )


def _is_read_here(dtype: Any) -> bool:
    """Whether a type is made of the texts here, and not by Polars."""
    return bool(dtype.is_numeric() or dtype.base_type() == pl.Categorical)


def _column(
    name: str, texts: pl.Series, dtype: Any, roles: TextRoles, dialect: Dialect, marks: Sequence[str]
) -> pl.Series:
    """A column of a given type, or by what it is for; without these marks."""
    if getattr(dtype, "time_zone", None) is not None:  # Polars reads such texts as moments in UTC, without saying so
        return texts.dt.replace_time_zone("UTC")
    if texts.dtype != pl.String:
        return texts
    there = texts.set(texts.is_in(marks), None) if marks else texts
    if dtype is None:
        found = _by_role(name, there, roles, dialect)
    else:
        apart = roles.keeps_apart(name)
        numbers = there if apart else dialect.numbers(there)
        found = _typed(name, numbers, dtype) if dtype.is_numeric() else there.cast(dtype)
        if apart and (other := int(_written_otherwise(found, there).sum())):
            raise _changed(name, dtype, other)
    if roles.coded and (name in roles.alike or name in roles.public):
        for mark, code in dialect.codes_of(name, found.dtype).items():
            found = found.set((texts == mark).fill_null(value=False), code)
    return found


def _by_role(name: str, texts: pl.Series, roles: TextRoles, dialect: Dialect) -> pl.Series:
    """A column without a given type: what becomes of its texts depends on what it is for."""
    if name in roles.text:
        return texts
    if name in roles.dates and (found := _dates(texts)) is not None:
        return found
    if name in roles.exact:
        return _exact(name, texts, alike=name in roles.alike)
    if name in roles.public:
        return _public(name, texts, dialect)
    found = _values(dialect.numbers(texts))
    return texts if found is None else found


def is_code(mark: str, code: object, /) -> bool:
    """Whether a text of a CSV file is a code of a plan: -9.0 is -9."""
    if isinstance(code, (int, float)) and not isinstance(code, bool):
        with suppress(ValueError):
            return float(mark) == code
    return mark.lower() == str(code).lower() if isinstance(code, bool) else mark == str(code)


def check_names_of(file: str, names: Sequence[str], /) -> None:
    """Raise ArgumentError where two columns of a file have one name."""
    if len(set(names)) < len(names):
        second = next(k for k, name in enumerate(names) if name in names[:k])
        raise ArgumentError(
            f"the column names of {file!r}",
            rule="different from one another",
            got=f"one name twice, of columns {names.index(names[second]) + 1} and {second + 1}",  # it may be a value
            hint="Rename or drop one of them in the file; write a first line of names where it has none.",
        )


def _names(path: Path, dialect: Dialect) -> list[str]:
    """The fields of the first line; raises ArgumentError for one name twice, and warns of a line like the others."""
    first, *rows = [row for _, row in islice(dialect.rows(path), FIRST) if row] or [[]]
    check_names_of(path.name, first)
    if _is_row(first, [row for row in rows if len(row) == len(first)]):
        told = "has a first line like those below it, which is read as the names of the columns, and not as a row"
        hint = "If the file has no names, write a first line of them; if it has, ignore this."
        warn(SuspectValuesWarning(f"the input {path.name!r}", told, hint=hint))
    return first


def _is_row(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether most names are texts of their columns, or numbers among theirs: 2019, 2020 and 2021 alone are names."""
    texts, numbers = 0, [number for name in names if (number := number_in(name)) is not None]
    held = len(numbers)
    for name, *below in zip(names, *rows, strict=True):
        if (number := number_in(name)) is None:
            texts += bool(name.strip()) and name in below
        else:
            others = [other for text in below if (other := number_in(text)) is not None]
            held -= not others or not min(others) <= number <= max(others)
    turns = len(numbers) > 1 and numbers not in (sorted(numbers), sorted(numbers, reverse=True))
    return 2 * (held + texts) > len(names) and (texts > 0 or turns)


_BLOCK = 1 << 24
_ENDS = ("\r", "\n", "\r\n")


def _check_marks(path: Path, source: Path | io.BytesIO, table: pl.DataFrame, dialect: Dialect, /) -> None:
    """Raise TableFileError for a carriage return or a quotation mark that Polars has left out, and that says something.

    It leaves out a carriage return before any comma, and quotation marks in a quoted field that are not doubled.
    **Cost**: a pass over the bytes; more where some marks are in fields without quotation marks.
    """
    held, quotes, plain = np.zeros(len(_ENDS), dtype=np.int64), 0, True
    with _begun(source) as file:
        while block := file.read(_BLOCK) + file.readline():  # to the end of a line
            data = np.frombuffer(block, dtype=np.uint8)
            returns, newlines = data == ord("\r"), data == ord("\n")
            held += list(map(np.count_nonzero, (returns, newlines, returns[:-1] & newlines[1:])))
            places = np.flatnonzero(data == ord('"'))
            plain = plain and _are_at_ends(data, places, quotes % 2 == 1, dialect.separator)
            quotes += len(places)
    if not plain or quotes % 2:
        _check_quotes(path, dialect)
    if held[0] and not (held == held[0]).all():
        _check_line_ends(path, source, table, held)


def _are_at_ends(data: NDArray[np.uint8], places: NDArray[np.int64], within: bool, separator: str) -> bool:
    """Whether quotation marks stand at both ends of fields, and in these doubled."""
    if not len(places):
        return True
    first = np.flatnonzero(np.diff(places, prepend=-2) > 1)
    last = np.append(first[1:], len(places)) - 1
    ends = np.zeros(256, dtype=np.bool_)
    ends[[ord(separator), *b"\r\n"]] = True
    beside = np.concatenate([[True], ends[data], [True]])
    before, after = beside[places[first]], beside[places[last] + 2]
    odd, inside = (last - first) % 2 == 0, (first + within) % 2 == 1
    return bool(np.where(inside, ~odd | after, before & (odd | after)).all())


def _check_quotes(path: Path, dialect: Dialect) -> None:
    """Raise TableFileError for a quotation mark in a quoted field that is not doubled; in others it is text."""
    line = 0
    try:
        for end, _ in dialect.rows(path, strict=True):
            line = end
    except csv.Error as error:
        if "limit" not in str(error):  # of the length of a field
            raise _refused(
                path,
                "a CSV file whose fields that begin with a quotation mark end with one, and have it doubled in between",
                f"another one in the row of line {line + 1}",
                'Write "" for each quotation mark in a field between quotation marks.',
            ) from None


def _check_line_ends(path: Path, source: Path | io.BytesIO, table: pl.DataFrame, held: NDArray[np.int64], /) -> None:
    """Raise TableFileError for a carriage return that is no line end, or may be none; `held` are those of the file."""
    texts = pl.DataFrame({str(k): own for k, own in enumerate(table.get_columns()) if own.dtype == pl.String})
    for k, end in enumerate(_ENDS):
        counts = texts.select(pl.all().str.count_matches(end, literal=True).sum()).rows()
        held[k] -= sum(sum(row) for row in counts) + "".join(table.columns).count(end)
    returns, newlines, both = held
    with _begun(source) as file:  # a line of names above rows that all end in "\r\n" hides nothing of them
        first = file.readline()
    names = not first.endswith(b"\r\n") and b'"' not in first
    if returns != both or both not in (0, newlines - names, newlines):
        raise _refused(
            path,
            "a table whose lines end in one way, with any other carriage return between quotation marks",
            _odd_line(source),
            "Put fields with a carriage return between quotation marks, or write all line ends in one way: dos2unix.",
        )


def _odd_line(source: Path | io.BytesIO) -> str:
    """Where a carriage return is within a line, or a line ends otherwise than the first one."""
    quoted, first = False, None
    with _begun(source) as file:
        for number, line in enumerate(file, 1):
            parts = line.split(b'"')
            plain = b"".join(parts[quoted::2])
            quoted ^= len(parts) % 2 == 0
            end = b"" if quoted else b"\r\n" if plain.endswith(b"\r\n") else b"\n"
            if b"\r" in plain.removesuffix(end):
                return f"one outside of them in line {number}"
            first = first or end
            if end and end != first:
                return f"line {number} with another end than those before it"
    return "one outside of them"


def _begun(source: Path | io.BytesIO) -> BinaryIO:
    """The bytes of a source from the first one on."""
    return source.open("rb") if isinstance(source, Path) else io.BytesIO(source.getvalue())


def _check_commas(path: Path, names: Sequence[str], dialect: Dialect) -> None:
    """Raise TableFileError for a table with another separator between its fields, or in UTF-16."""
    if any("\0" in name for name in names) and (wrong := what_is_wrong(path, dialect)) is not None:
        raise wrong
    if len(names) == 1 and (wrong := _other_separator(path, names[0], dialect)) is not None:
        raise wrong


def _other_separator(path: Path, first: str, dialect: Dialect) -> TableFileError | None:
    """What is wrong with a first line that is one field, where another mark is in it."""
    other = next((mark for mark in SEPARATORS if mark in first and mark != dialect.separator), None)
    if other is None:
        return None
    between = "commas" if dialect.separator == "," else repr(dialect.separator)
    return _refused(
        path,
        f"a table with {between} between its fields",
        f"one column, with {other!r} in its name",
        SEPARATORS[other],
    )


def _values(texts: pl.Series) -> pl.Series | None:
    """As whole numbers, other numbers or booleans; None where a text is none of these, or all are missing."""
    if texts.null_count() == len(texts):
        return None
    for dtype in (pl.Int64, pl.Int128, pl.Float64):
        if all(
            (found := part.cast(dtype, strict=False)).null_count() == part.null_count()
            for part in (texts.head(FIRST), texts)
        ):
            return found
    lower = texts.head(FIRST).str.to_lowercase()
    if lower.drop_nulls().is_in(["true", "false"]).all():
        lower = texts.str.to_lowercase()
        if lower.drop_nulls().is_in(["true", "false"]).all():
            return lower == "true"
    return None


def _exact(name: str, texts: pl.Series, *, alike: bool) -> pl.Series:
    """As numbers or booleans that are written as these texts are, or else as the texts."""
    found = None if "-0.0" in texts else _values(texts)  # equal to 0.0 as a number
    if alike and found is not None and found.dtype == pl.Float64 and not found.is_finite().all():
        return texts  # NaN is missing as a number
    if found is not None and found.dtype != pl.Int128 and found.cast(pl.String).eq_missing(texts).all():
        return found
    if alike:
        different = texts.drop_nulls().unique()
        numbers = different.filter(different.cast(pl.Float64, strict=False).is_not_null())
        exact = _exact_numbers(numbers)
        if len(numbers) > len(exact):
            warn(
                SuspectValuesWarning(
                    f"the column {name!r}",
                    f"writes {len(exact)} number{'s' * (len(exact) > 1)} as {len(numbers)} texts (as 1 and 01), each a "
                    "value of its own",
                    hint=f"Write each in one way if they mean the same, and say --schema {name}=String if they do not.",
                )
            )
    return texts


def _exact_numbers(texts: pl.Series) -> set[Decimal | float]:
    """The numbers that these texts are; floats alone would make one of two large ones."""
    near = texts.cast(pl.Float64)
    doubled = near.is_duplicated()
    return {*near.filter(~doubled).to_list(), *map(Decimal, texts.filter(doubled).to_list())}


def _public(name: str, texts: pl.Series, dialect: Dialect) -> pl.Series:
    """As numbers, booleans or dates where all texts but those for missing values are, or else as the texts."""
    numbers = dialect.numbers(texts)
    found = _values(numbers)
    if found is None:
        found = _values(_without_marks(numbers))
        found = _dates(_without_marks(texts)) if found is None else found
        if found is None:
            return texts
        if rows := found.null_count() - texts.null_count():
            _warn_of_marks(name, rows)
    if found.dtype == pl.Float64 and (rows := int(found.is_nan().sum())):
        found = found.fill_nan(None)
        _warn_of_marks(name, rows)
    if found.dtype.is_numeric() and (coded := int(texts.str.contains(r"^[+-]?0[0-9]").sum())):
        warn(
            SuspectValuesWarning(
                f"the public column {name!r}",
                f"has {rows_text(coded)} with a leading zero, read as numbers like the others",
                hint=f"Say --schema {name}=String if they are codes, to release them as labels.",
            )
        )
    if found.dtype == pl.Float64 and dialect.thousands is None:
        _warn_of_groups(name, texts, dialect.decimal)
    return found


def _warn_of_groups(name: str, texts: pl.Series, mark: str) -> None:
    """Warn of decimal marks that look as if they were between thousands: 840 beside 1.590 and 4.089.

    Who writes numbers in one way writes 840.000 beside 1.590, or 1.59 beside 840. Where all numbers have a mark, it
    may be either, and both mean the same numbers in two units.
    """
    there = texts.filter(~texts.str.strip_chars().is_in([*MISSING])).str.strip_chars(" +-")
    marked = there.str.contains(mark, literal=True)
    groups, plain = there.filter(marked), there.filter(~marked)
    if not len(plain) or not plain.str.contains(r"^(0|[1-9][0-9]{0,2})$").all():
        return
    grouped = rf"^[1-9][0-9]{{0,2}}{re.escape(mark)}[0-9]{{3}}$"
    if groups.str.contains(grouped).all() and groups.str.ends_with("0").any():
        warn(
            SuspectValuesWarning(
                f"the public column {name!r}",
                f"has {rows_text(len(groups))} with three digits behind {mark!r}, and numbers below 1,000 without it, "
                f"as where {mark!r} stands between thousands; it was read as the decimal mark",
                hint=f'Say --thousands "{mark}"{" --decimal ." * (mark == ",")} if it stands there, and --schema '
                f"{name}=Float64 if not.",
            )
        )


def _dates(texts: pl.Series) -> pl.Series | None:
    """As dates, where every text is one as "2026-01-31"."""
    if texts.null_count() == len(texts) or not texts.head(FIRST).str.contains(_ISO).all():
        return None
    found = texts.str.to_date("%Y-%m-%d", strict=False)
    return found if texts.str.contains(_ISO).all() and found.null_count() == texts.null_count() else None


_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def _typed(name: str, texts: pl.Series, dtype: Any) -> pl.Series:
    """As numbers of a given type, without the texts for missing values."""
    if dtype == pl.Decimal:
        plain = texts.str.contains(r"^[+-]?[0-9]*\.?[0-9]{0,38}$")  # 1e-5 would be rounded to the places of others
        places = texts.filter(plain).str.extract(r"\.([0-9]*)$").drop_nulls()
        dtype = pl.Decimal(38, max(map(len, places), default=0))
        found = texts.set(~plain, None).cast(dtype, strict=False)
    else:
        found = texts.cast(dtype, strict=False)
    if dtype.is_float():  # two whole numbers beyond 2^53 may be one
        whole = texts.str.replace(r"\.0*$", "").cast(pl.Int128, strict=False)
        found = found.set((found.cast(pl.Int128, strict=False) != whole).fill_null(value=False), None)
    if found.null_count() > texts.null_count():
        there = _without_marks(texts)
        if other := found.null_count() - there.null_count():
            raise _changed(name, dtype, other)
        _warn_of_marks(name, found.null_count() - texts.null_count())
    return found


_DAY, _HOUR = "[+-]?[0-9]{4,}[-/][0-9]{1,2}[-/][0-9]{1,2}", r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?"
_WRITTEN = {
    pl.Date: rf"^{_DAY}$",
    pl.Datetime: rf"^{_DAY}([T ]{_HOUR})?$",
    pl.Time: rf"^{_HOUR}$",
}
"""Texts of times that Polars takes for what they are: it swaps the day and the month of 05/06/2020 or does not, cuts
nanoseconds, and moves what has a zone."""


def _written_form(dtype: Any) -> str:
    """The form of texts of a type of times; empty for another type."""
    form = _WRITTEN.get(dtype.base_type(), "")
    zoned = getattr(dtype, "time_zone", None) is not None
    return form.removesuffix("$") + "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?$" if zoned else form


def _check_times(
    source: Path | io.BytesIO, table: pl.DataFrame, roles: TextRoles, types: Mapping[str, Any], dialect: Dialect
) -> None:
    """Raise ColumnTypeError for a text that a type of times would change; of what is kept apart, of booleans too."""
    how: dict[str, Any] = {"separator": dialect.separator, "comment_prefix": dialect.comment}
    for name, dtype in types.items():
        form, apart = _written_form(dtype), roles.keeps_apart(name) and not _is_read_here(dtype)
        if not (form or apart):
            continue
        with _begun(source) as file:
            texts = pl.read_csv(file, infer_schema=False, columns=[table.columns.index(name)], **how).to_series()
        odd = ~texts.str.contains(form)
        if other := int((odd | _written_otherwise(table[name], texts) if apart else odd).sum()):
            raise _changed(name, dtype, other)


def _written_otherwise(found: pl.Series, texts: pl.Series) -> pl.Series:
    """The rows whose value is not written as their text; moments and times alone may be, each in one way."""
    if found.dtype.base_type() in (pl.Datetime, pl.Time):
        rows = pl.DataFrame({"value": found, "text": texts})
        return rows.select(pl.col("text").n_unique().over("value") > 1).to_series()
    return found.is_not_null() & (found.cast(pl.String).ne_missing(texts) | (texts == "-0.0"))  # it equals 0.0


def _misfit(path: Path, names: Sequence[str], types: Mapping[str, Any], dialect: Dialect) -> PufferError:
    """What is to be raised of a file that Polars could not read: the first column whose texts are not of its type."""
    how: dict[str, Any] = {"separator": dialect.separator, "comment_prefix": dialect.comment, "infer_schema": False}
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, *_NOT_PACKED):
        for name, dtype in types.items():
            if name in names and not _is_read_here(dtype):
                how |= {"columns": [names.index(name)], "ignore_errors": True}
                own = {name.replace('"', '""'): dtype.base_type()}
                texts = pl.read_csv(dialect.source(path), **how).to_series()
                odd = ~texts.str.contains(_written_form(dtype))
                with suppress(pl.exceptions.PolarsError):  # of times, where no text is one
                    typed = pl.read_csv(dialect.source(path), schema_overrides=own, **how).to_series()
                    odd |= typed.is_null() & texts.is_not_null()
                if other := int(odd.sum()):
                    return _changed(name, dtype, other)
    hint = "See whether quotation marks are closed, and the types of --schema are those of the columns."
    return _refused(path, "a CSV file whose values fit its columns", "something else", hint)


def _changed(name: str, dtype: Any, rows: int) -> ColumnTypeError:
    return ColumnTypeError(
        f"the column {name!r}",
        rule=f"of the type {dtype} of the schema, or empty",
        got=f"{rows_text(rows)} with another text, or with one that this type would change",
        hint=f"Mend these texts in the file, or read the column as text: --schema {name}=String.",
    )


def _without_marks(texts: pl.Series) -> pl.Series:
    """With nulls for the texts that stand for missing values."""
    return texts.set(texts.str.strip_chars().is_in(list(MISSING)), None)


def _warn_of_marks(name: str, rows: int) -> None:
    warn(
        SuspectValuesWarning(
            f"the column {name!r}",
            f"has {rows_text(rows)} with a text that stands for a missing value (NA, ?, . or the like), read as null",
            hint=f"A release or a plan with --nulls drop leaves those rows out. Make it with --schema {name}=String "
            "if all texts are labels.",
        )
    )


def what_is_wrong(path: Path, dialect: Dialect = AS_USUAL, /) -> TableFileError | None:
    """What keeps a file from being read as CSV, without a value of it: encoding, nothing in it, rows of other lengths.

    **Cost**: one slow pass; it is asked when a file could not be read.
    """
    usual = codecs.lookup(dialect.encoding).name == "utf-8"
    decoder = codecs.getincrementaldecoder("utf-8-sig" if usual else dialect.encoding)()
    lines, text = 1, ""
    try:
        with dialect.opened(path) as file:
            while block := file.read(1 << 20):
                if found := next((_KINDS[mark] for mark in _KINDS if not text and block.startswith(mark)), None):
                    hint = "Rename it with the ending of its format, such as .csv.gz or .xlsx."
                    return _refused(path, "a CSV file", f"one of the format {found}", hint)
                try:
                    utf16 = not text and b"\0" in block.partition(b"\n")[0]  # later it may be in a field
                    if usual and (block.startswith((b"\xff\xfe", b"\xfe\xff")) or utf16):
                        raise UnicodeError
                    text = decoder.decode(block)
                    lines += text.count("\n")
                except UnicodeError as error:
                    start = getattr(error, "start", 0)
                    line = lines + block[:start].count(b"\n")
                    return _refused(
                        path,
                        f"text in {'UTF-8' if usual else dialect.encoding}",
                        f"another encoding{', such as UTF-16' if utf16 else f', first in line {line}'}",
                        f"Say --encoding {'utf-16' if utf16 else 'windows-1252'}, or the one that it has."
                        if usual or utf16
                        else "Leave --encoding out, for UTF-8; if it is another one, say that.",
                    )
    except _NOT_PACKED:
        return _refused(
            path,
            f"a file in the format of {'zstd' if path.suffix.lower() == '.zst' else 'gzip'}",
            "another",
            "See whether the file is whole.",
        )
    if path.stat().st_size < 1 << 10 and not text.strip():
        return _refused(path, "a table with rows", "an empty file", "See whether the file is whole.")
    return _odd_row(path, dialect)


def _odd_row(path: Path, dialect: Dialect) -> TableFileError | None:
    first: list[str] = []
    with suppress(csv.Error):
        for line, row in dialect.rows(path):
            first = first or row
            if row and len(row) != len(first):
                if len(first) == 1 and (wrong := _other_separator(path, first[0], dialect)) is not None:
                    return wrong
                comment = first[0].startswith(("#", "%", "//"))
                return _refused(
                    path,
                    f"rows of {len(first)} fields, as many as the first line names",
                    f"{len(row)} field{'s' * (len(row) != 1)} in line {line}"
                    + (", and a first line that looks like a comment" if comment else ""),
                    f'Say --comment "{first[0][: 2 if first[0].startswith("//") else 1]}".'
                    if comment
                    else "Put a field with a comma in it between quotation marks."
                    if len(row) > len(first)
                    else "See whether the file is whole: a line that is cut off lacks fields. An empty field has its "
                    "comma, too.",
                )
    return _other_separator(path, first[0], dialect) if len(first) == 1 else None


_KINDS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\3\4": "zip (as Excel's)", b"PAR1": "Parquet"}
"""Formats of files that may have the name of another one, by their first bytes."""
_NOT_PACKED = (gzip.BadGzipFile, EOFError, zlib.error)
"""What is raised of a file whose name says gzip, or zstd."""


def _refused(path: Path, rule: str, got: str, hint: str) -> TableFileError:
    return TableFileError(f"the input {path.name!r}", rule=rule, got=got, hint=hint)
