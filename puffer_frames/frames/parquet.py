"""Certificates in the key-value metadata of Parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import NativeFrame, is_spark

_KEY = b"puffer_frames"
_PANDAS_ATTRIBUTES = b"PANDAS_ATTRS"


def write_parquet_file(frame: NativeFrame, path: str | Path, metadata: dict[str, Any], /) -> None:
    """Write an eager frame with a JSON-like dict in the metadata of its schema."""
    if is_spark(frame):
        raise ArgumentTypeError(
            "the frame",
            rule="a pandas or Polars DataFrame here",
            got="a Spark DataFrame",
            hint="Write frame.write.parquet(path), and certificate_of(frame).save(another_path) beside it.",
        )
    if isinstance(frame, pd.DataFrame):
        table = pa.Table.from_pandas(frame)
    else:
        table = (frame.collect() if isinstance(frame, pl.LazyFrame) else frame).to_arrow()
    held = dict(table.schema.metadata or {})
    held[_KEY] = json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    pq.write_table(table.replace_schema_metadata(held), path)


def read_parquet_metadata(path: str | Path, /) -> dict[str, Any] | None:
    """What `write_parquet_file` wrote, or pandas' own writer of a frame with attributes; None for nothing."""
    held = pq.read_schema(path).metadata or {}
    if _KEY in held:
        found = json.loads(held[_KEY])
    else:
        found = json.loads(held.get(_PANDAS_ATTRIBUTES, b"{}")).get(_KEY.decode())
    return found if isinstance(found, dict) else None


def read_parquet_file(path: str | Path, /) -> NativeFrame:
    """The columns of a Parquet file."""
    table = pq.read_table(path)
    index = [name for name in table.column_names if name.startswith("__index_level_")]
    frame: NativeFrame = pl.from_arrow(table.drop_columns(index))
    return frame
