"""Certificates in the key-value metadata of Parquet files."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from puffer_frames.errors import ArgumentError, TableFileError
from puffer_frames.frames.arrow import bare_table
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import FIRST, with_ranges
from puffer_frames.frames.stamps.folder import data_files, parquet_schema, partition_columns
from puffer_frames.frames.stamps.whole_file import replacing
from puffer_frames.numbers.json_text import CERTIFICATE_BYTES, parsed
from puffer_frames.numbers.presentation import shown

_KEY, _MAGIC = "puffer_frames", b"PAR1"
_PANDAS_ATTRIBUTES = b"PANDAS_ATTRS"


def write_parquet_file(
    table: Any, path: str | Path, metadata: dict[str, Any], /, *, durable: bool = False, new: bool = False
) -> None:
    """Write the entries of a PyArrow table with a JSON-like dict in the metadata of its schema."""
    from pyarrow import parquet as pq

    check_process()
    held = {key.encode(): text.encode() for key, text in as_file_metadata(metadata).items()}
    if b"pandas" in (table.schema.metadata or {}):  # whose reader attaches it again
        held[_PANDAS_ATTRIBUTES] = json.dumps({_KEY: metadata}, allow_nan=False).encode()
    bare = bare_table(table, held)
    with replacing(path, durable=durable, new=new) as file:
        pq.write_table(bare, file)


def as_file_metadata(metadata: dict[str, Any], /) -> dict[str, str]:
    """A JSON-like dict as an entry of a file's key-value metadata."""
    return {_KEY: json.dumps(metadata, ensure_ascii=False, allow_nan=False)}


@contextmanager
def _whole(path: str | Path) -> Iterator[None]:
    """Raise TableFileError where PyArrow finds a file damaged; one that cannot be opened raises OSError as it does."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        with Path(path).open("rb") as file:
            damaged = file.read(len(_MAGIC)) == _MAGIC
        raise TableFileError(
            f"the file {shown(str(path))!r}",
            rule="a whole Parquet file",
            got="one that is damaged or was cut short" if damaged else "a file of another format",
            hint="Copy it again, or ask whoever sent it for another copy."
            if damaged
            else 'A certificate beside a table is a file of its own: Certificate.load("table.csv.certificate.json").',
        ) from None


def read_parquet_metadata(path: str | Path, /) -> dict[str, Any] | None:
    """What `write_parquet_file` wrote, or pandas' own writer of a frame with attributes; None for nothing."""
    from pyarrow import parquet as pq

    with _whole(path), pq.ParquetFile(path) as file:
        held, of_rows = file.metadata.metadata or {}, file.schema_arrow.metadata or {}
    key = _KEY.encode()
    if key in of_rows and of_rows[key] != held.get(key):  # two certificates: which one is read depends on the reader
        return None
    try:
        if key in held:
            found = parsed(held[key], most=CERTIFICATE_BYTES)
        else:
            attributes = parsed(held.get(_PANDAS_ATTRIBUTES, b"{}"))
            found = attributes.get(_KEY) if isinstance(attributes, dict) else None
    except ValueError:  # somebody else's text under this name
        return None
    return found if isinstance(found, dict) else None


def read_parquet_files(path: str | Path, /, *, known: Collection[str]) -> NativeFrame | None:
    """The rows of a Parquet file, or of all files of a folder; None where the folder holds something else.

    Raises FileNotFoundError where there is nothing; ArgumentError for a file of another format.
    """
    check_process()
    place = Path(path)
    if not place.is_dir():
        if place.is_file() and parquet_schema(place) is None:
            raise ArgumentError(
                "the file",
                rule="a Parquet file or a folder of them",
                got="a file of another format",
                hint="Read it first, and verify the frame: certificate.verify(polars.read_csv(path)).",
            )
        with _whole(place):
            table = _read(place)
        pandas_alone = any(str(field.type).startswith("extension<pandas.") for field in table.schema)
        return table.to_pandas() if pandas_alone else table
    files = data_files(place, known=known)
    if files is None:
        return None
    tables = []
    for file, keys in zip(files, partition_columns(files, place), strict=True):
        with _whole(file):
            table = with_ranges(_read(file), known=known)
        if set(keys) & set(table.column_names):
            return None
        for key, value in keys.items():
            table = table.append_column(key, pa.array([value] * table.num_rows))
        tables.append(table.replace_schema_metadata(None))
    if any(FIRST in table.column_names for table in tables):  # pandas leaves out an index of 0, 1, ..., n - 1
        tables = [t if FIRST in t.column_names else t.append_column(FIRST, pa.array(range(len(t)))) for t in tables]
    try:
        return pa.concat_tables(tables, promote_options="default")
    except pa.ArrowException:  # files of one release have columns of one type
        return pa.table({name: pa.nulls(0) for table in tables for name in table.column_names})


def _read(path: Path) -> Any:
    """The columns of a file. Timestamps of 96 bits are of UTC, which the format does not say."""
    from pyarrow import parquet as pq

    metadata = pq.read_metadata(path).metadata or {}
    by_spark = b"org.apache.spark.version" in metadata
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us" if by_spark else None)
    table = file.read()
    columns = [file.schema.column(k) for k in range(len(file.schema))]
    moments = [c.name for c in columns if c.physical_type == "INT96" and c.path == c.name]
    for name in moments if b"ARROW:schema" not in metadata else ():
        place = table.column_names.index(name)
        values = table.column(place)
        table = table.set_column(place, name, values.cast(pa.timestamp(values.type.unit, "UTC")))
    return table
