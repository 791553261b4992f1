"""The files of a Parquet folder, the ones that readers skip too."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

_SUMMARIES = ("_metadata", "_common_metadata")
_CHECKSUM_HEAD = b"crc\0"
_LEAST_BLOCK = 512
"""Bytes that Hadoop's checksum of 4 bytes is of; smaller blocks would leave room for a table."""
_FRAME_BYTES = 12
"""Of a Parquet file without data beside its footer: the mark at both ends, and a length."""
_NULL = "__HIVE_DEFAULT_PARTITION__"


def data_files(folder: Path, /, *, known: Collection[str]) -> list[Path] | None:
    """The Parquet files of a folder and of those in it, by name; None where another file may hold data.

    A reader skips what begins with "_" or ".". Of such files these hold none: empty ones, checksums of a file beside
    them, and summaries of the known columns.
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
    from pyarrow import parquet as pq

    try:
        return pq.read_schema(path)
    except (pa.ArrowInvalid, OSError) as error:
        if getattr(error, "errno", None) is not None:  # a file that cannot be read at all
            raise
        return None


def partition_columns(files: list[Path], folder: Path, /) -> list[dict[str, Any]]:
    """What the names of the folders on the way to each file say, "key=value": whole numbers where all of them are."""
    found: list[dict[str, Any]] = [dict(_keys(path.relative_to(folder).parts[:-1])) for path in files]
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


def _keys(parts: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    for part in parts:
        key, equals, value = part.partition("=")
        if equals:
            yield unquote(key), None if value == _NULL else unquote(value)


def _holds_no_data(path: Path, known: Collection[str]) -> bool:
    """Of a file that readers skip."""
    if not path.is_file():
        return False
    if path.stat().st_size == 0:
        return True
    if path.name in _SUMMARIES:
        return _is_summary(path, known)
    return path.name.startswith(".") and path.suffix == ".crc" and _is_checksum(path)


def _is_summary(path: Path, known: Collection[str]) -> bool:
    """Whether a Parquet file of the known columns holds its footer and nothing else: no page of entries has room."""
    from pyarrow import parquet as pq

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
