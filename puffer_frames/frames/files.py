"""Tables in files: Parquet, folders of Parquet, CSV and Arrow (IPC), read and written as Polars frames.

Those of Excel, SPSS and Stata are read alone, by pandas.

A message of a reader can hold values of the table, so none is handed on.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from puffer_frames.errors import ArgumentError, FileTakenError, PufferError, TableFileError
from puffer_frames.frames.arrow import DIGITS, check_types
from puffer_frames.frames.columns import LARGEST_INTEGER, NativeFrame
from puffer_frames.frames.csv_dialect import AS_USUAL, PACKED, Dialect
from puffer_frames.frames.csv_texts import AS_THEY_ARE, TextRoles, check_names_of, read_csv
from puffer_frames.frames.levels import index_columns
from puffer_frames.frames.stamps.parquet import (
    as_file_metadata,
    data_files,
    folder_keys,
    in_file_metadata,
    partition_columns,
    read_parquet_metadata,
)
from puffer_frames.frames.stamps.whole_file import Naming, alone_in, replacing, sync_folder, taken

Format: TypeAlias = Literal["parquet", "folder", "csv", "arrow", "Excel", "SPSS", "Stata"]
LevelKind: TypeAlias = Literal["text", "number", "whole", "truth"]

SUFFIXES: Mapping[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "Excel",
    ".sav": "SPSS",
    ".zsav": "SPSS",
    ".dta": "Stata",
}


def _read_spss(path: Path) -> pd.DataFrame:
    """Labels in place of the codes of a column, where codes that rows have are labelled.

    Raises TableFileError where some of these are not, and where two have one label: they may be two secrets or one.
    """
    table, about = import_module("pyreadstat").read_sav(str(path))
    table = table.convert_dtypes(dtype_backend="numpy_nullable")
    for name, labels in about.variable_value_labels.items():
        codes = [code for code in table[name].dropna().unique().tolist() if code != "" or code in labels]
        own = {code: labels[code] for code in codes if code in labels}
        if len(set(own.values())) < len(own):
            raise _same_label(path, "SPSS", read="read_spss(path, convert_categoricals=False)")
        if own and len(own) < len(codes):
            raise _several_types(name)
        if own:
            table[name] = table[name].map(own).astype("category")
    return table


BY_PANDAS: Mapping[str, tuple[Callable[[Path], Any], str]] = {
    "Excel": (
        partial(pd.read_excel, keep_default_na=False, na_values=[""], dtype=object, engine="openpyxl"),
        "openpyxl",
    ),
    "SPSS": (_read_spss, "pyreadstat"),
    "Stata": (pd.read_stata, "pandas"),
}
"""Formats that are read alone: how, and which package has the reader. In Excel only an empty cell is missing: "NA" is a
text, and so is a number that was written as one."""
DTYPES = (
    *("Boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"),
    *("Decimal", "String", "Categorical", "Date", "Datetime", "DatetimeUTC", "Time"),
)
"""Types of Polars that a column of a CSV file may be read as, and moments with a time zone."""
PART = "part-0.parquet"
"""The file of a folder that is written."""


def format_of(path: Path, /, *, new: bool = False) -> Format:
    """By the end of its name; a folder is one of Parquet files. Of a `new` file the error lists what is written alone.

    Raises ArgumentError for another end.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in str(path)):
        raise ArgumentError(
            "the name of a table file", rule="in UTF-8, which its readers take", got="other bytes", hint="Rename it."
        )
    if path.is_dir():
        return "folder"
    found = SUFFIXES.get(path.suffix.lower())
    if path.name.lower().endswith(PACKED):
        return "csv"
    if found is None:
        raise ArgumentError(
            "the name of a table file",
            rule="one that ends in "
            + ", ".join(end for end, kind in SUFFIXES.items() if not (new and kind in BY_PANDAS))
            + ", or that of a folder of Parquet files",
            got=repr(path.name),
            hint="Rename the file, or convert it first.",
        )
    return found


def read_rows(
    path: Path,
    /,
    *,
    schema: Mapping[str, str],
    streaming: bool,
    roles: TextRoles = AS_THEY_ARE,
    dialect: Dialect = AS_USUAL,
    marks: dict[str, list[str]] | None = None,
) -> NativeFrame:
    """The rows of a file: a lazy frame of Parquet, where that is wanted, else one in memory.

    - `schema` (mapping of column to the name of a Polars type): Types of columns of a CSV file; the texts and the roles
      decide the others.
    - `streaming`: Whether a lazy frame is wanted.
    - `roles`: What the columns of a CSV file are for.
    - `dialect`: How a CSV file is written.
    - `marks`: Is given the texts for missing values that each column of a CSV file has.
    Raises FileNotFoundError, OSError where there is no such file, or it cannot be read; TableFileError for a file of
    another format, or with values that do not fit the schema; ArgumentError, ArgumentTypeError for a schema of another
    file, for an unknown type, for two columns of one name, and for a type of a column that Polars lacks;
    ColumnNotFoundError for a column of the schema that the file does not have.
    """
    kind = format_of(path)
    types = _types(schema, kind)
    files = data_files(path, known=()) if kind == "folder" else [path]
    if not files:
        raise _unreadable(path, "a folder of Parquet files and nothing else")
    for file in files:
        _check_names(file, kind)
    with _as_one_of(path, kind):
        if kind == "csv":
            return read_csv(path, types=types, roles=roles, dialect=dialect, marks=marks)
        if kind == "arrow":
            with path.open("rb") as content:  # a path would be a pattern
                return pl.read_ipc(content)
        if kind in BY_PANDAS:
            return _by_pandas(path, kind)
        hive = _partitions(files, path) if kind == "folder" else {}
        lazy = pl.scan_parquet(path, glob=False, hive_partitioning=bool(hive), hive_schema=hive or None)
        lazy.collect_schema()
        return lazy if streaming else lazy.collect()


def _check_names(file: Path, kind: Format) -> None:
    """Raise ArgumentError where two columns of a Parquet or Arrow file have one name, which Polars does not read.

    And ArgumentTypeError for a type that it does not read either.
    """
    _readable(file)
    schema = _schema_in(file, kind)
    if schema is not None:
        check_names_of(file.name, schema.names)
        check_types(schema, digits=0 if kind == "arrow" else DIGITS)


def _schema_in(file: Path, kind: Format) -> pa.Schema | None:
    """That of a Parquet or Arrow file; None for another one, and where it cannot be read, which is said later."""
    if kind == "csv" or kind in BY_PANDAS:
        return None
    try:
        if kind != "arrow":
            return pq.read_schema(file)
        with pa.memory_map(str(file)) as source:
            return pa.ipc.open_file(source).schema
    except (pa.ArrowException, OSError, ValueError):
        return None


def index_columns_in(path: Path, names: Iterable[str], /) -> list[str]:
    """Those of columns of a file that are the index of a pandas frame."""
    kind = format_of(path)
    file = (data_files(path, known=()) or [path])[0] if kind == "folder" else path
    return index_columns(names, _schema_in(file, kind))


def _partitions(files: list[Path], folder: Path) -> dict[str, pl.DataType]:
    """Types of the columns that names of folders hold, as "key=value": texts, unless all are whole numbers as written.

    Raises TableFileError for a file that has such a column too, for files of different columns, and for two names of
    folders that mean the same.
    """
    names: dict[tuple[str, str | None], str] = {}
    for name, meant in (each for file in files for each in folder_keys(file, folder).items()):
        if names.setdefault(meant, name) != name:
            raise TableFileError(
                f"the folders of the column {meant[0]!r}",
                rule="of a different value each",
                got="two names for one value, as %20 is another name for a space",
                hint="Put the files of both into one folder, or rename one of them: %25 stands for %.",
            )
    held = partition_columns(files, folder)
    keys = dict.fromkeys(key for own in held for key in own)
    schemas = [pq.read_schema(file) for file in files]
    for file, schema, own in zip(files, schemas, held, strict=True):
        twice = [key for key in keys if key in schema.names or key not in own]
        other = [
            name for name in {*schema.names, *schemas[0].names} if _type_in(schema, name) != _type_in(schemas[0], name)
        ]
        if twice or other:
            name = (twice or sorted(other))[0]
            raise TableFileError(
                f"the column {name!r} of {str(file.relative_to(folder))!r}",
                rule="in every file of the folder, of one type, or in the names of all their folders",
                got="another" if other and not twice else "one in some of the files, or in both places",
                hint="Rename the column or the folders, or write the files again with the same columns.",
            )
    texts = {key for own in held for key, value in own.items() if isinstance(value, str)}
    return {key: pl.String() if key in texts else pl.Int64() for key in keys}


def _type_in(schema: pa.Schema, name: str) -> pa.DataType | None:
    return schema.field(name).type if name in schema.names else None


def _by_pandas(path: Path, kind: Format) -> pl.DataFrame:
    """The rows of a file that pandas reads: labels of values are categories, and columns of several types an error."""
    read, package = BY_PANDAS[kind]
    if find_spec(package) is None:
        raise ArgumentError(
            "the input",
            rule=f"of a format whose reader is installed, {package} for {kind} files",
            got=f"{path.name!r}, without it",
            hint=f"Install it: pip install {package}. Or write the table as CSV.",
        )
    try:
        with warnings.catch_warnings(action="ignore"):  # they may quote the table
            if kind == "Excel":  # pandas renames a column whose name is there twice
                first = pd.read_excel(path, header=None, nrows=1, dtype=str, keep_default_na=False)
                check_names_of(path.name, [str(name) for name in first.to_numpy().ravel()])
            table = read(path)
    except (PufferError, MemoryError):
        raise
    except Exception as error:  # each reader has errors of its own
        if kind == "Stata" and str(error).lstrip().startswith("Value labels"):
            raise _same_label(path, kind, read="read_stata(path, convert_categoricals=False)") from None
        raise ValueError from None
    columns = {}
    for name, column in table.items():
        try:
            columns[str(name)] = found = _of_one_kind(column)
        except OverflowError:
            raise _several_types(str(name), "whole numbers beyond 64 bits") from None
        except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
            raise _several_types(str(name)) from None
        if found.dtype.is_integer() and not found.cast(pl.Float64).abs().lt(LARGEST_INTEGER).all():
            columns[str(name)] = found.cast(pl.Float64)  # as the file has them: 2**53 may have been 2**53 + 1
        if kind != "Excel" and found.dtype == pl.String:  # SPSS and Stata have no other mark for a missing text
            columns[str(name)] = found.set(found == "", None)
    return pl.DataFrame(columns)


def _several_types(name: str, got: str = "several types") -> TableFileError:
    return TableFileError(
        f"the column {name!r}",
        rule="of one type, and with a label for each value or for none",
        got=got,
        hint="Mend it in the file, or write the table as CSV, where all entries are text.",
    )


def _same_label(path: Path, kind: Format, *, read: str) -> TableFileError:
    return TableFileError(
        f"the input {path.name!r}",
        rule=f"a file of {kind} with a label of its own for every code of a column",
        got="the same label for two codes, which may be two secrets or one",
        hint=f"Rename one of the labels in {kind}; or release the codes, from Python: pandas.{read}.",
    )


def _of_one_kind(column: pd.Series[Any]) -> pl.Series:
    """A column as Polars has it; raises TypeError for objects of several types, some of which PyArrow takes for one."""
    if column.dtype == object:
        kinds = set(map(type, column[column.notna()]))
        if not kinds:
            return pl.Series(str(column.name), [None] * len(column), dtype=pl.Float64)
        if len(kinds) > 1 and kinds != {int, float}:
            raise TypeError
    return pl.from_pandas(column, nan_to_null=True)


def level_kinds(frame: NativeFrame, /) -> dict[str, LevelKind]:
    """What the levels of each column are written as on a command line."""

    def kind(dtype: pl.DataType) -> LevelKind:
        if dtype == pl.Boolean:
            return "truth"
        if dtype.is_integer():
            return "whole"
        return "number" if dtype.is_numeric() else "text"

    return {name: kind(dtype) for name, dtype in frame.collect_schema().items()}


def row_count(frame: NativeFrame, /) -> int | None:
    """The number of rows of a frame in memory."""
    return len(frame) if isinstance(frame, pl.DataFrame) else None


def metadata_in(path: Path, /) -> dict[str, Any] | None:
    """The record in the metadata of a Parquet or Arrow file, or of the first file of a folder; None for nothing.

    Raises OSError, TableFileError, ArgumentError as `read_rows`.
    """
    kind = format_of(path)
    if kind == "csv" or kind in BY_PANDAS:
        _readable(path)
        return None
    if kind == "folder":
        files = data_files(path, known=()) or sorted(path.rglob("*.parquet"))
        if not files:
            raise _unreadable(path, "a folder of Parquet files")
        path, kind = files[0], "parquet"
    _readable(path)
    with _as_one_of(path, kind):
        if kind == "parquet":
            return read_parquet_metadata(path)
        with pa.memory_map(str(path)) as source:
            return in_file_metadata(pa.ipc.open_file(source).schema.metadata)


def check_writable(frame: NativeFrame, names: Collection[str], path: Path, /) -> None:
    """Raise TableFileError for a column that a CSV file cannot hold, before anything is drawn.

    The first and the last time are tried: Polars panics at times beyond its calendar.
    """
    if format_of(path) != "csv":
        return
    lazy = frame.lazy()
    for k, (name, dtype) in enumerate(frame.collect_schema().items()):
        if name not in names:
            continue
        column = lazy.select(pl.nth(k).alias("column"))  # Polars reads names like "^x$" as patterns
        tried = column.head(1)
        if dtype.is_temporal():
            tried = pl.concat([column.min(), column.max()])
        rows = tried.collect()
        try:
            rows.write_csv(io.BytesIO())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            far = " with times beyond the calendar" if isinstance(dtype, (pl.Date, pl.Datetime)) else ""
            raise TableFileError(
                f"the column {name!r}",
                rule="of numbers, text, booleans or times, to be written as CSV",
                got=f"dtype {dtype.base_type()}{far}",
                hint="Write a .parquet file, or leave the column out of keep and public.",
            ) from None


def write_csv(
    frame: NativeFrame,
    path: Path,
    beside: Path,
    text: str,
    /,
    *,
    new: bool,
    naming: Callable[[], AbstractContextManager[Callable[[], object]]],
) -> None:
    """Write a frame in memory, and a text about it beside it: of one writer, whole, and on the disk.

    Nothing has a name before both are on the disk, where a full one would show. Then the text gets its name first, so
    that no table is without one; what `naming` gives is called in between.

    Raises FileTakenError where a new file is there already, and where somebody else wrote the text beside this table;
    OSError where a file cannot be written.
    """
    with ExitStack() as turn:
        with replacing(path, new=new) as file:
            frame.write_csv(file)
            os.fsync(file.fileno())
            turn.enter_context(alone_in(path.parent))
            if new and os.path.lexists(path):
                raise taken()
            named = turn.enter_context(naming())
            write_text(text, beside, new=new)
            named()
            turn.push(lambda kind, *_: beside.unlink() if kind and new and not os.path.lexists(path) else None)
        if beside.read_bytes() != text.encode():  # on a system without locks of folders
            raise FileTakenError(
                "the output",
                rule="written by one process at a time",
                got="a certificate of another one beside this table",
                hint="Write the release again, to another file.",
            )
        sync_folder(path.parent)


def write_arrow(
    frame: NativeFrame, path: Path, metadata: dict[str, Any], /, *, new: bool, naming: Naming = nullcontext
) -> None:
    """Write a frame in memory as an Arrow file, with a JSON-like dict in the metadata of its schema."""
    table = frame.to_arrow()
    table = table.replace_schema_metadata(as_file_metadata(metadata))
    with replacing(path, durable=True, new=new, naming=naming) as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def write_text(text: str, path: Path, /, *, private: bool = False, new: bool = False) -> None:
    """The same for a text; a private one is for whoever writes it alone (mode 0600)."""
    with replacing(path, private=private, durable=True, new=new) as file:
        left = memoryview(text.encode())
        while left:
            left = left[file.write(left) :]


def schema_of(frame: NativeFrame, names: Collection[str], /) -> dict[str, str]:
    """The types of some columns, by the names of `DTYPES` where it has them."""
    found = {name: dtype for name, dtype in frame.collect_schema().items() if name in names}
    zoned = {name for name, dtype in found.items() if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None}
    return {name: "DatetimeUTC" if name in zoned else str(dtype.base_type()) for name, dtype in found.items()}


def _types(schema: Mapping[str, str], kind: Format) -> dict[str, Any]:
    if schema and kind != "csv":
        raise ArgumentError(
            "schema", rule="given for a CSV file alone", got=f"one for the format {kind}", hint="Leave it out."
        )
    unknown = next((word for word in schema.values() if word not in DTYPES), None)
    if unknown is not None:
        raise ArgumentError(
            "schema", rule="of the types " + ", ".join(DTYPES), got=repr(unknown), hint='Write "age=Int64".'
        )
    moments = {"DatetimeUTC": pl.Datetime("us", "UTC")}
    return {name: moments.get(word) or getattr(pl, word) for name, word in schema.items()}


def _readable(path: Path) -> None:
    """Raises OSError."""
    with path.open("rb"):
        pass


@contextmanager
def _as_one_of(path: Path, kind: Format) -> Iterator[None]:
    """Errors of readers, without what they quote."""
    try:
        yield
    except (PufferError, MemoryError):
        raise
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError, ValueError, pl.exceptions.PanicException) as error:
        if getattr(error, "errno", None) is not None:
            raise
        words = {
            "parquet": "a Parquet file",
            "folder": "a folder of Parquet files of one schema",
            "arrow": "an Arrow file",
            "csv": "a CSV file",
        }
        raise _unreadable(path, words.get(kind, f"a file of {kind}")) from None


def _unreadable(path: Path, rule: str) -> TableFileError:
    return TableFileError(
        f"the input {path.name or str(path)!r}",
        rule=rule,
        got="something else",
        hint="See whether the file is whole, and of the format that its name says.",
    )
