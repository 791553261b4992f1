"""Types of Arrow columns before and after a release."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def as_kept(column: Any, own: pa.DataType, /) -> Any:
    """A released column, or a chunked one, in the type of the given column, unless that cannot hold its entries."""
    column = _own_entries(column)
    found = column.type
    if pa.types.is_floating(found) and not own.equals(found):
        return column  # noise
    families = arrow_family(own), arrow_family(found)
    other = None not in families and families[0] != families[1]
    wider = families[0] == "int" and pa.types.is_integer(own) and not own.equals(found)
    if other or wider:
        return column
    encoded = pa.types.is_dictionary(own) and not pa.types.is_dictionary(found)
    try:
        return (column.dictionary_encode() if encoded else column).cast(own)
    except pa.ArrowNotImplementedError:  # PyArrow 17 makes no text views
        return column


def _own_entries(column: Any) -> Any:
    """A column of a dictionary without the entries that no row has: Polars 1 gives those of other columns too."""
    if not pa.types.is_dictionary(column.type):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if all(len(chunk.indices.drop_null().unique()) == len(chunk.dictionary) for chunk in chunks):
        return column
    return column.cast(column.type.value_type).dictionary_encode()


def arrow_family(kind: pa.DataType, /) -> str | None:
    """One of "text", "bool" and "int", of a dictionary too; None for others."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "bool"
    return "int" if pa.types.is_integer(kind) else None
