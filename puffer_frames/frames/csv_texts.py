"""CSV files: read as text, of which each column becomes numbers where nothing is lost by that."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from puffer_frames.errors import ArgumentError, SuspectValuesWarning, TableFileError, warn
from puffer_frames.frames.columns import not_found, rows_text
from puffer_frames.frames.hints import MISSING
from puffer_frames.frames.selection import REST

_FIRST = 1000
"""Rows that mostly say whether a column holds numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRoles:
    """What the columns of a CSV file are for, by which it is decided what their texts mean."""

    exact: tuple[str, ...] = ()
    """Secret, given, unit and kept columns. They become numbers or booleans only where these are written as the texts
    are: `1` and `01` are two secrets, and a kept `02116` is released as it is."""
    alike: tuple[str, ...] = ()
    """Those of them that say which rows belong together: a number that is written in two ways is warned about."""
    public: tuple[str, ...] = ()
    """They become numbers, however these are written, where all texts but those for missing values are numbers. "rest"
    alone is every column without another role."""
    plain: tuple[str, ...] = ()
    """Columns of numbers that are used and not released."""
    text: tuple[str, ...] = ()
    """Columns that hold labels in the plan, or in the table, that these rows go with."""
    alone: bool = False
    """Whether columns without a role are left out, if those with one are all there."""


AS_THEY_ARE = TextRoles()
"""Without roles every column whose texts are numbers becomes one of numbers."""


def read_csv(path: Path, /, *, types: Mapping[str, Any], roles: TextRoles) -> pl.DataFrame:
    """The rows of a CSV file.

    Raises
    ------
    TableFileError
        For what is no table in UTF-8 with commas, has no rows, or rows with more or fewer fields than the first line,
        and for texts that do not fit the given types.
    ArgumentError
        For two columns of one name.
    ColumnNotFoundError
        For a given type of a column that the file does not have.
    """
    numeric = {name: dtype for name, dtype in types.items() if dtype.is_numeric()}
    parsed = {name: dtype.base_type() for name, dtype in types.items() if name not in numeric}
    zoned = [name for name, dtype in types.items() if getattr(dtype, "time_zone", None) is not None]
    try:
        check_names_of(path.name, _names(path))
        table = pl.read_csv(path, infer_schema=False, schema_overrides=parsed)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError, csv.Error):
        raise what_is_wrong(path) or _unfit(path) from None
    names = table.columns
    if len(names) > 1 and table.to_series(-1).null_count() and (wrong := what_is_wrong(path)) is not None:
        raise wrong  # Polars reads a row with too few fields, such as one that was cut off, as one with nulls
    if roles.alone:
        _check_commas(path, names)
    for name in types:
        if name not in names:
            raise not_found("schema", name, names)
    if not len(table):
        raise _refused(path, "a table with rows", "a first line with names alone", "See whether the file is whole.")
    if roles.public == (REST,) and REST not in names:
        roles = replace(roles, public=tuple(name for name in names if name not in {*roles.exact, *roles.plain}))
    wanted = {*roles.exact, *roles.public, *roles.plain}
    kept = [name for name in names if name in wanted] if roles.alone and wanted <= set(names) else names

    def read(name: str) -> pl.Series:
        texts = table[name].alias("texts")
        if name in numeric:
            return _typed(name, texts, numeric[name])
        if name in zoned:  # Polars reads such texts as moments in UTC, without saying so
            return texts.dt.replace_time_zone("UTC")
        return texts if name in parsed else _by_role(name, texts, roles)

    return pl.DataFrame({name: read(name) for name in kept})


def _by_role(name: str, texts: pl.Series, roles: TextRoles) -> pl.Series:
    """A column without a given type: what becomes of its texts depends on what it is for."""
    if name in roles.text:
        return texts
    if name in roles.exact:
        return _exact(name, texts, alike=name in roles.alike)
    if name in roles.public:
        return _public(name, texts)
    found = _values(texts)
    return texts if found is None else found


def check_names_of(file: str, names: Sequence[str], /) -> None:
    """Raise ArgumentError where two columns of a file have one name."""
    if len(set(names)) < len(names):
        twice = next(name for k, name in enumerate(names) if name in names[:k])
        raise ArgumentError(
            f"the column names of {file!r}",
            rule="different from one another",
            got=f"{twice!r} twice",
            hint="Rename or drop one of the two columns in the file.",
        )


def _check_commas(path: Path, names: Sequence[str]) -> None:
    """Raise TableFileError for a table with something else than commas between its fields, or in UTF-16."""
    if any("\0" in name for name in names) and (wrong := what_is_wrong(path)) is not None:
        raise wrong
    other = next((mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        raise _refused(
            path,
            "a table with commas between its fields",
            f"one column, with {other!r} in its name",
            f"Convert it: pl.read_csv({path.name!r}, separator={other!r}, infer_schema=False).write_csv('commas.csv').",
        )


def _names(path: Path) -> list[str]:
    """The names of the columns as the file has them; Polars would make duplicates different."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return next((row for row in csv.reader(lines) if row), [])


def _values(texts: pl.Series) -> pl.Series | None:
    """As whole numbers, other numbers or booleans; None where a text is none of these, or all are missing."""
    if texts.null_count() == len(texts):
        return None
    for dtype in (pl.Int64, pl.Int128, pl.Float64):
        if all(
            (found := part.cast(dtype, strict=False)).null_count() == part.null_count()
            for part in (texts.head(_FIRST), texts)
        ):
            return found
    lower = texts.head(_FIRST).str.to_lowercase()
    if lower.drop_nulls().is_in(["true", "false"]).all():
        lower = texts.str.to_lowercase()
        if lower.drop_nulls().is_in(["true", "false"]).all():
            return lower == "true"
    return None


def _exact(name: str, texts: pl.Series, *, alike: bool) -> pl.Series:
    """As numbers or booleans that are written as these texts are, or else as the texts."""
    found = None if "-0.0" in texts else _values(texts)  # equal to 0.0 as a number
    if found is not None and found.dtype != pl.Int128 and found.cast(pl.String).eq_missing(texts).all():
        return found
    if alike:
        different = texts.drop_nulls().unique()
        numbers = different.filter(different.cast(pl.Float64, strict=False).is_not_null())
        exact = _exact_numbers(numbers)
        if len(numbers) > len(exact):
            dtype = _type_of(different, len(exact))
            mend = f"Say --schema {name}={dtype}" if dtype else "Write each in one way"
            warn(
                SuspectValuesWarning(
                    f"the column {name!r}",
                    rule="written in one way for each number",
                    got=f"{len(numbers)} texts for {len(exact)} numbers (as 1 and 01), each a value of its own",
                    hint=f"{mend} if they mean the same, and --schema {name}=String if they do not.",
                )
            )
    return texts


def _exact_numbers(texts: pl.Series) -> set[Decimal | float]:
    """The numbers that these texts are; floats alone would make one of two large ones."""
    near = texts.cast(pl.Float64)
    doubled = near.is_duplicated()
    return {*near.filter(~doubled).to_list(), *map(Decimal, texts.filter(doubled).to_list())}


def _type_of(texts: pl.Series, numbers: int) -> str | None:
    """A type for `--schema` with which these texts are so many numbers; None for none."""
    there = _without_marks(texts).drop_nulls()
    for word, dtype in (("Int64", pl.Int64), ("Float64", pl.Float64)):
        found = there.cast(dtype, strict=False)
        whole = not found.null_count() and bool((found % 1 == 0).all())  # no secret is a fraction
        if whole and found.n_unique() == numbers:
            return word
    return None


def _public(name: str, texts: pl.Series) -> pl.Series:
    """As numbers or booleans where all texts but those for missing values are, or else as the texts."""
    found = _values(texts)
    if found is None:
        found = _values(_without_marks(texts))
        if found is None:
            return texts
        _warn_of_marks(name, found.null_count() - texts.null_count())
    if found.dtype != pl.Boolean and (coded := int(texts.str.contains(r"^[+-]?0[0-9]").sum())):
        warn(
            SuspectValuesWarning(
                f"the public column {name!r}",
                rule="of numbers without leading zeros",
                got=f"{rows_text(coded)} with one, read as numbers like the others",
                hint=f"Say --schema {name}=String if they are codes, to release them as labels.",
            )
        )
    return found


def _typed(name: str, texts: pl.Series, dtype: Any) -> pl.Series:
    """As numbers of a given type, without the texts for missing values."""
    if dtype == pl.Decimal:
        places = texts.str.extract(r"\.([0-9]*)$").drop_nulls()
        dtype = pl.Decimal(38, max(map(len, places), default=0))
    found = texts.cast(dtype, strict=False)
    if found.null_count() > texts.null_count():
        there = _without_marks(texts)
        if other := found.null_count() - there.null_count():
            raise TableFileError(
                f"the column {name!r}",
                rule=f"of the type {dtype} of the schema, or empty",
                got=f"{rows_text(other)} with another text",
                hint=f"Mend these texts in the file, or read the column as text: --schema {name}=String.",
            )
        _warn_of_marks(name, found.null_count() - texts.null_count())
    return found


def _without_marks(texts: pl.Series) -> pl.Series:
    """With nulls for the texts that stand for missing values."""
    return texts.set(texts.str.strip_chars().is_in(list(MISSING)), None)


def _warn_of_marks(name: str, rows: int) -> None:
    warn(
        SuspectValuesWarning(
            f"the column {name!r}",
            rule="of numbers",
            got=f"{rows_text(rows)} with a text that stands for a missing value (NA, ?, . or the like), read as null",
            hint=f"Say --nulls drop to leave those rows out, or --schema {name}=String if all texts are labels.",
        )
    )


def what_is_wrong(path: Path, /) -> TableFileError | None:
    """What keeps a file from being read as CSV, without a value of it: encoding, nothing in it, rows of other lengths.

    **Cost**: one slow pass; it is asked when a file could not be read.
    """
    decoder, lines, text = codecs.getincrementaldecoder("utf-8-sig")(), 1, ""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            try:
                if block.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in block:
                    raise UnicodeError
                text = decoder.decode(block)
                lines += text.count("\n")
            except UnicodeError as error:
                start = getattr(error, "start", 0)
                line = lines + block[:start].count(b"\n")
                utf16 = b"\0" in block
                return _refused(
                    path,
                    "text in UTF-8",
                    f"another encoding{', such as UTF-16' if utf16 else f', first in line {line}'}",
                    f"Convert it: iconv -f {'UTF-16' if utf16 else 'WINDOWS-1252'} -t UTF-8 {path.name} > utf8.csv.",
                )
    if path.stat().st_size < 1 << 10 and not text.strip():
        return _refused(path, "a table with rows", "an empty file", "See whether the file is whole.")
    with path.open(encoding="utf-8-sig", newline="") as lines_of:
        return _odd_row(path, csv.reader(lines_of))


def _odd_row(path: Path, rows: Any) -> TableFileError | None:
    first: list[str] = []
    try:
        for row in rows:
            first = first or row
            if row and len(row) != len(first):
                comment = first[0].startswith(("#", "%", "//"))
                return _refused(
                    path,
                    f"rows of {len(first)} fields, as many as the first line names",
                    f"{len(row)} field{'s' * (len(row) != 1)} in line {rows.line_num}"
                    + (", and a first line that looks like a comment" if comment else ""),
                    "Delete the lines above the names of the columns."
                    if comment
                    else "Put a field with a comma in it between quotation marks."
                    if len(row) > len(first)
                    else "See whether the file is whole: a line that is cut off lacks fields. An empty field has its "
                    "comma, too.",
                )
    except csv.Error:
        pass
    return None


def _unfit(path: Path) -> TableFileError:
    return _refused(
        path,
        "a CSV file whose values fit its columns",
        "something else",
        "See whether quotation marks are closed, and the types of --schema are those of the columns.",
    )


def _refused(path: Path, rule: str, got: str, hint: str) -> TableFileError:
    return TableFileError(f"the input {path.name!r}", rule=rule, got=got, hint=hint)
