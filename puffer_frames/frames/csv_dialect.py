"""How a CSV file is written: its marks, its encoding, and its texts for missing values."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa

from puffer_frames.errors import ArgumentError, SuspectValuesWarning, warn

FIRST = 1000
"""Rows that mostly say how a file is written, and whether a column holds numbers."""

_LONGEST = 2**31 - 1
"""Characters of a field that the module `csv` reads."""
PACKED = (".csv.gz", ".csv.zst")
"""Ends of names of CSV files that are compressed."""
_WORDS = {"tab": "\t", "\\t": "\t"}
"""Separators as words, which a shell passes on."""
SEPARATORS = {
    ";": 'Say --separator ";", and --decimal "," if its numbers have one.',
    "\t": "Say --separator tab.",
    "|": 'Say --separator "|".',
    ",": 'Say --separator ",".',
}
"""Marks that a file may have between its fields, and how to say so."""
_SAVED = (
    "Take the file as it was released: another program has saved this one, and may have changed its values. A release "
    "has commas between its fields, and decimal points."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a CSV file is written, where it is not in UTF-8 with commas and decimal points.

    Raises ArgumentError for marks that are none, or that are equal, and an encoding that Python does not know.
    """

    separator: str = ","
    """Between fields; "tab" is one too."""
    is_given: bool = False
    """Whether the separator was asked for: a comma that was not may turn out to be another mark."""
    decimal: str = "."
    thousands: str | None = None
    """Between groups of three digits of a number."""
    encoding: str = "utf-8"
    null_values: Mapping[str | None, tuple[str, ...]] = field(default_factory=dict)
    """Texts that stand for a missing value, by column; of None in every column."""
    comment: str | None = None
    """What lines begin with that are left out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", _WORDS.get(self.separator, self.separator))
        for name, value, marks in (
            ("separator", self.separator, None),
            ("decimal", self.decimal, ".,"),
            ("thousands", self.thousands or " ", ".,' \u00a0\u202f_"),
        ):
            fits = (
                value in marks if marks is not None else value.isascii() and not (value.isalnum() or value in '"\n\r')
            )
            if len(value) != 1 or not fits:
                rule = "one character, such as ; or tab" if marks is None else f"one of {' '.join(marks[:3])}"
                raise ArgumentError(name, rule=rule, got="another text", hint="Leave it out for the usual one.")
        quoted = self.thousands == "." or self.is_given  # decimal commas are in fields between quotation marks
        if self.decimal == self.thousands or (self.decimal == self.separator and not quoted):
            other = "thousands" if self.decimal == self.thousands else "separator"
            hint = 'Say --separator, too; --separator "," where such numbers stand between quotation marks.'
            hint = hint if other == "separator" else "Say another one for --thousands, or leave it out."
            raise ArgumentError("decimal", rule=f"another mark than {other}", got="the same", hint=hint)
        try:
            "".encode(self.encoding)  # rot13 and hex are no encodings of texts
        except (LookupError, ValueError):
            raise ArgumentError(
                "encoding", rule="one that Python knows", got=repr(self.encoding), hint="Write latin-1, or utf-16."
            ) from None
        if self.comment is not None and not self.comment.strip():
            raise ArgumentError("comment", rule="what a line begins with", got="nothing", hint='Write "#".')

    @classmethod
    def of(cls, found: Mapping[str, Any], /) -> Dialect:
        """From options by their names."""
        given = {name: found[name] for name in DIALECT if name in found and name != "null_values"}
        for name, value in given.items():
            if not isinstance(value, str):
                raise ArgumentError(name, rule="a text", got=f"a {type(value).__name__}", hint=f'Write {name} = "...".')
        if given.get("thousands") == ".":
            given.setdefault("decimal", ",")
        return cls(null_values=marks_of(found.get("null_values", ())), is_given="separator" in given, **given)

    def opened(self, path: Path, /) -> BinaryIO:
        """The bytes of a file, decompressed."""
        if path.suffix.lower() == ".zst":
            with pa.input_stream(str(path), compression="zstd") as file:
                try:
                    return io.BytesIO(file.read())
                except OSError as error:
                    raise gzip.BadGzipFile from error
        return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]

    def source(self, path: Path, /) -> Path | io.BytesIO:
        """What Polars reads, in UTF-8; raises UnicodeError."""
        if codecs.lookup(self.encoding).name == "utf-8" and not path.name.lower().endswith(PACKED):
            return path
        with self.opened(path) as file:
            return io.BytesIO(file.read().decode(self.encoding).encode())

    def lines(self, path: Path, /) -> Iterator[str]:
        """The lines but for comments, with their ends; raises UnicodeError."""
        encoding = "utf-8-sig" if codecs.lookup(self.encoding).name == "utf-8" else self.encoding
        with self.opened(path) as file, io.TextIOWrapper(file, encoding=encoding, newline="") as text:
            yield from (line for line in text if self.comment is None or not line.startswith(self.comment))

    def rows(self, path: Path, /, *, strict: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The number of a line, and its fields, one by one; raises UnicodeError and csv.Error."""
        reader = csv.reader(self.lines(path), delimiter=self.separator, strict=strict)
        usual = csv.field_size_limit(_LONGEST)
        try:
            for row in reader:
                yield reader.line_num, row
        finally:
            csv.field_size_limit(usual)

    def for_file(self, path: Path, /, *, names: Collection[str], released: bool) -> Dialect:
        """With the only mark between the names of the first line, where no separator was given and rows confirm it.

        A first line that is one of `names` as a whole is that name. Warns SuspectValuesWarning of what is assumed, for
        a release with another hint: no option is of its marks. Raises UnicodeError.
        """
        line = next((line for line in self.lines(path) if line.strip("\r\n")), "").strip("\r\n")
        plain = re.sub(r'"[^"]*"', "", line)
        marks = [mark for mark in SEPARATORS if mark in plain]
        if self.is_given or self.separator != "," or len(marks) != 1 or marks == [","] or '"' in plain or line in names:
            return self
        found = replace(self, separator=marks[0])
        with suppress(csv.Error):
            lengths = [len(row) for _, row in islice(found.rows(path), FIRST) if row]
            if len(lengths) > 1 and len(set(lengths)) == 1:
                told = f"has no comma between its names, and is read with {marks[0]!r} between its fields"
                hint = _SAVED if released else SEPARATORS[marks[0]]
                warn(SuspectValuesWarning(f"the input {path.name!r}", told, hint=hint))
                return found
        return self

    def marks_in(self, name: str, texts: pl.Series, /) -> list[str]:
        """The texts for missing values that this column has."""
        marks = [*self.null_values.get(None, ()), *self.null_values.get(name, ())]
        return texts.filter(texts.is_in(marks)).unique(maintain_order=True).to_list() if marks else []

    def codes_of(self, name: str, dtype: pl.DataType, /) -> dict[str, Any]:
        """The texts for missing values of one column that its type writes so itself, with the values that they are."""
        marks = self.null_values.get(name, ()) if dtype.is_numeric() or dtype == pl.String else ()
        texts = {mark: pl.Series([mark]) for mark in marks}
        plain = {mark: self.numbers(text) if dtype.is_numeric() else text for mark, text in texts.items()}
        found = {mark: text.cast(dtype, strict=False)[0] for mark, text in plain.items()}
        written = {mark: (str(code), str(code).removesuffix(".0")) for mark, code in found.items() if code is not None}
        return {mark: found[mark] for mark, forms in written.items() if mark in forms}

    def numbers(self, texts: pl.Series, /) -> pl.Series:
        """Numbers as Polars reads them: without marks between thousands, and with a decimal point."""
        point = re.escape(self.decimal)
        if self.thousands is not None:
            grouped = rf"^\s*[+-]?\d{{1,3}}(?:{re.escape(self.thousands)}\d{{3}})+(?:{point}\d*)?\s*$"
            plain = texts.str.replace_all(self.thousands, "", literal=True)
            texts = texts.zip_with(~texts.str.contains(grouped).fill_null(value=False), plain)
        if self.decimal != ".":  # a point that is left is neither mark
            texts = texts.str.replace_all(r"\.(\d)|(\d)\.", "${1}${2},,")
            texts = texts.str.replace(rf"^(\s*[+-]?\d*){point}(\d+)", "${1}.${2}")
        return texts


AS_USUAL = Dialect()
DIALECT = ("separator", "decimal", "thousands", "encoding", "null_values", "comment")
"""The fields of `Dialect`, which are options of the command."""


def marks_of(entries: Any, /) -> dict[str | None, tuple[str, ...]]:
    """Texts for missing values by column, of None in every one: from texts as `NA` or `income=9`, or as in Python."""
    marks: dict[str | None, tuple[str, ...]] = {}
    if isinstance(entries, Mapping):
        for name, codes in entries.items():
            listed = codes if isinstance(codes, (list, tuple)) else [codes]
            if not listed or not all(isinstance(code, (str, int, float)) for code in listed):
                raise _no_codes("others, or none")
            marks[name] = tuple(str(code).lower() if isinstance(code, bool) else str(code) for code in listed)
        return marks
    for entry in _listed(entries):
        name, equals, mark = entry.rpartition("=")
        key = name if equals else None
        marks[key] = (*marks.get(key, ()), mark)
    return marks


def _no_codes(got: str) -> ArgumentError:
    rule, hint = "texts, or texts and numbers by column", 'Write ["NA"], or {income = [-9]}.'
    return ArgumentError("null_values", rule=rule, got=got, hint=hint)


_AMBIGUOUS = re.compile(r"=[^,]*,\d+(?:,|$)")


def _listed(entries: Any) -> Iterable[str]:
    """Texts, of which one may be several with commas between them."""
    texts = [entries] if isinstance(entries, str) else entries
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise _no_codes("others")
    if any(_AMBIGUOUS.search(text) for text in texts):
        raise ArgumentError(
            "null_values",
            rule="codes of a column with its name before each, and a point for the decimals",
            got="a number after the code of a column: its second code, its decimals, or a code of every column",
            hint="Write the name and = before each code of a column, and codes of every column first.",
        )
    return [part for text in texts for part in text.split(",")]
