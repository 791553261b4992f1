"""Certificates in the key-value metadata of Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.arrow import is_arrow
from puffer_frames.frames.columns import NativeFrame, is_spark

_KEY = "puffer_frames"
_PANDAS_ATTRIBUTES = b"PANDAS_ATTRS"


def write_parquet_file(frame: NativeFrame, path: str | Path, metadata: dict[str, Any], /) -> None:
    """Write a frame in memory with a JSON-like dict in the metadata of its schema."""
    if is_spark(frame):
        raise ArgumentTypeError(
            "the frame",
            rule="a pandas or Polars DataFrame here",
            got="a Spark DataFrame",
            hint="Write frame.write.parquet(path), and certificate_of(frame).save(another_path) beside it.",
        )
    from pyarrow import parquet as pq

    table = (
        frame
        if is_arrow(frame)
        else pa.Table.from_pandas(frame)
        if isinstance(frame, pd.DataFrame)
        else frame.to_arrow()
    )
    held = {**(table.schema.metadata or {}), **as_file_metadata(metadata)}
    pq.write_table(table.replace_schema_metadata(held), path)


def as_file_metadata(metadata: dict[str, Any], /) -> dict[str, str]:
    """A JSON-like dict as an entry of a file's key-value metadata."""
    return {_KEY: json.dumps(metadata, ensure_ascii=False, allow_nan=False)}


def read_parquet_metadata(path: str | Path, /) -> dict[str, Any] | None:
    """What `write_parquet_file` wrote, or pandas' own writer of a frame with attributes; None for nothing."""
    from pyarrow import parquet as pq

    held = pq.read_metadata(path).metadata or {}
    if _KEY.encode() in held:
        found = json.loads(held[_KEY.encode()])
    else:
        found = json.loads(held.get(_PANDAS_ATTRIBUTES, b"{}")).get(_KEY)
    return found if isinstance(found, dict) else None


def read_parquet_file(path: str | Path, /) -> NativeFrame:
    """The columns of a Parquet file."""
    from pyarrow import parquet as pq

    table = pq.read_table(path)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    frame: NativeFrame = pl.from_arrow(table.drop_columns(index))
    return frame
