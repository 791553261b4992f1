"""PyArrow tables: opened as Polars frames without a copy, and given back as tables."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pyarrow as pa

ArrowTable = pa.Table
KEY = b"puffer_frames"
"""Entry of a schema's metadata that holds a certificate."""


def is_arrow(frame: object, /) -> bool:
    """Whether a frame is a PyArrow table."""
    return isinstance(frame, pa.Table)


def from_arrow(table: Any, /) -> pl.DataFrame:
    """The columns of a table as a Polars frame."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def to_arrow(frame: pl.DataFrame, /, *, like: Any) -> Any:
    """A Polars frame as a table; columns that `like` has have its types, unless they are the noisy ones."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    fields = []
    for field in table.schema:
        own = like.schema.field(field.name).type if field.name in like.column_names else field.type
        noisy = pa.types.is_floating(field.type) and not own.equals(field.type)
        fields.append(field if noisy else field.with_type(own))
    return table.cast(pa.schema(fields))


def with_metadata(table: Any, metadata: dict[str, Any], /) -> Any:
    """The table with a JSON-like dict in the metadata of its schema, where a Parquet file keeps it."""
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: text})


def metadata_of(table: Any, /) -> Any:
    """What `with_metadata` left, or None."""
    text = (table.schema.metadata or {}).get(KEY)
    return None if text is None else json.loads(text)
