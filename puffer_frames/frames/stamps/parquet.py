"""Certificates with frames and files: a private attribute, and the key-value metadata of Parquet files and folders."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from puffer_frames.errors import ArgumentError, TableFileError
from puffer_frames.frames.arrow import bare_table
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import FIRST, with_ranges
from puffer_frames.frames.stamps.whole_file import Naming, replacing
from puffer_frames.numbers.arguments import as_path
from puffer_frames.numbers.presentation import shown
from puffer_frames.numbers.records import CERTIFICATE_BYTES, parsed

_ATTRIBUTE = "_puffer_frames_metadata"
_RUN = "_puffer_frames_run"


class Runs(Protocol):
    """What is to be told of each run of a released plan."""

    def begin(self) -> None:
        """Before it; raises where it may not be run."""

    def end(self, certificate: Any, /) -> None:
        """After it, with the certificate of what it gave; raises where that may be given to nobody."""

    def naming(self, certificate: Any, /) -> AbstractContextManager[object]:
        """The same for a file, which has its name at the end of the block; raises before."""


def put_attribute(frame: NativeFrame, metadata: dict[str, Any], /) -> NativeFrame:
    """The frame with a JSON-like dict attached."""
    setattr(frame, _ATTRIBUTE, metadata)
    return frame


def attribute_of(frame: NativeFrame, /) -> dict[str, Any] | None:
    """What `put_attribute` attached, or None."""
    return getattr(frame, _ATTRIBUTE, None)


def when_run(frame: NativeFrame, runs: Runs, /) -> None:
    """Have the runs of a released plan told of."""
    setattr(frame, _RUN, runs)


def runs_of(frame: NativeFrame, /) -> Runs | None:
    """What `when_run` was given, or None."""
    return getattr(frame, _RUN, None)


_SUMMARIES = ("_metadata", "_common_metadata")
_CHECKSUM_HEAD = b"crc\0"
_LEAST_BLOCK = 512
"""Bytes that Hadoop's checksum of 4 bytes is of; smaller blocks would leave room for a table."""
_FRAME_BYTES = 12
"""Bytes of a Parquet file beside its data and footer: the mark at both ends, and a length."""
_NULL = "__HIVE_DEFAULT_PARTITION__"


def data_files(folder: Path, /, *, known: Collection[str]) -> list[Path] | None:
    """The Parquet files of a folder and of those in it, by name; None where another file may hold data.

    A reader skips what begins with "_" or ".". Such files hold no rows if they are empty, the checksum of a file beside
    them, or a summary of the known columns.
    """
    files = []
    for path in _walk(folder):
        skipped = any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
        if path.is_symlink() and path.is_dir():
            return None
        if not skipped and parquet_schema(path) is not None:
            files.append(path)
        elif not skipped or not _holds_no_data(path, known):
            return None
    return sorted(files)


def parquet_schema(path: Path, /) -> Any:
    """The schema of a Parquet file; None for another file."""
    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        if getattr(error, "errno", None) is not None:  # a file that cannot be read at all
            raise
        return None


def partition_columns(files: list[Path], folder: Path, /) -> list[dict[str, Any]]:
    """What the names of the folders on the way to each file say, "key=value": whole numbers where all of them are."""
    found: list[dict[str, Any]] = [dict(folder_keys(path, folder).values()) for path in files]
    for key in {key for keys in found for key in keys}:
        if all(_is_whole(keys.get(key)) for keys in found):
            found = [{k: int(v) if k == key and v is not None else v for k, v in keys.items()} for keys in found]
    return found


def _is_whole(text: Any) -> bool:
    """Whether text is a whole number as Python writes it, or missing."""
    return text is None or re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) is not None


def _walk(folder: Path) -> Iterator[Path]:
    """Every file, and every link to a folder."""
    for place, folders, files in os.walk(folder):
        linked = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from (Path(place) / name for name in (*linked, *files))


def folder_keys(file: Path, folder: Path, /) -> dict[str, tuple[str, str | None]]:
    """Key and value of each folder "key=value" on the way to a file."""
    split = {part: part.partition("=") for part in file.relative_to(folder).parts[:-1]}
    return {
        part: (unquote(key), None if value == _NULL else unquote(value))
        for part, (key, equals, value) in split.items()
        if equals
    }


def _holds_no_data(path: Path, known: Collection[str]) -> bool:
    """Whether readers skip this file."""
    if not path.is_file():
        return False
    if path.stat().st_size == 0:
        return True
    if path.name in _SUMMARIES:
        return _is_summary(path, known)
    return path.name.startswith(".") and path.suffix == ".crc" and _is_checksum(path)


def _is_summary(path: Path, known: Collection[str]) -> bool:
    """Whether a Parquet file of the known columns holds its footer and nothing else: no page of entries has room."""
    schema = parquet_schema(path)
    if schema is None or not set(schema.names) <= set(known):
        return False
    return bool(path.stat().st_size <= pq.read_metadata(path).serialized_size + _FRAME_BYTES)


def _is_checksum(path: Path) -> bool:
    """Whether a file is as long as Hadoop's checksums of the file beside it, 4 bytes for each of its blocks."""
    beside = path.with_name(path.name[1 : -len(".crc")])
    with path.open("rb") as file:
        head, block = file.read(4), int.from_bytes(file.read(4))
    if head != _CHECKSUM_HEAD or block < _LEAST_BLOCK or not beside.is_file():
        return False
    return path.stat().st_size == 8 + 4 * -(-beside.stat().st_size // block)


KEY = "puffer_frames"
"""Entry of the metadata of a file, a schema or a pandas frame that holds a certificate."""
_MAGIC = b"PAR1"
_PANDAS_ATTRIBUTES = b"PANDAS_ATTRS"


def write_parquet_file(
    table: Any,
    path: str | Path,
    metadata: dict[str, Any],
    /,
    *,
    durable: bool = False,
    new: bool = False,
    naming: Naming = nullcontext,
) -> None:
    """Write the entries of a PyArrow table with a JSON-like dict in the metadata of its schema."""
    check_process()
    held: dict[Any, Any] = {**as_file_metadata(metadata)}
    if b"pandas" in (table.schema.metadata or {}):  # whose reader attaches it again
        held[_PANDAS_ATTRIBUTES] = json.dumps({KEY: metadata}, allow_nan=False).encode()
    bare = bare_table(table, held)
    with replacing(path, durable=durable, new=new, naming=naming) as file:
        pq.write_table(bare, file)


def as_file_metadata(metadata: dict[str, Any], /) -> dict[str, str]:
    """A JSON-like dict as an entry of a file's key-value metadata."""
    return {KEY: json.dumps(metadata, ensure_ascii=False, allow_nan=False)}


def in_file_metadata(held: Mapping[bytes, bytes] | None, /) -> dict[str, Any] | None:
    """The dict again; None for nothing, and for somebody else's text under this name."""
    try:
        found = parsed((held or {}).get(KEY.encode(), b"null"), most=CERTIFICATE_BYTES)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


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
    path = as_path(path)
    with _whole(path), pq.ParquetFile(path) as file:
        held, of_rows = file.metadata.metadata or {}, file.schema_arrow.metadata or {}
    key = KEY.encode()
    if key in of_rows and of_rows[key] != held.get(key):  # two certificates: which one is read depends on the reader
        return None
    if key in held:
        return in_file_metadata(held)
    try:
        attributes = parsed(held.get(_PANDAS_ATTRIBUTES, b"{}"))
    except ValueError:
        return None
    found = attributes.get(KEY) if isinstance(attributes, dict) else None
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
