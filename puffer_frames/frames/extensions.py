"""Columns of types that Polars lacks: extension types, as what they store, and others, which are errors."""

from __future__ import annotations

from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from puffer_frames.errors import ColumnTypeError

_UUID = "arrow.uuid"
"""Polars reads them as the bytes that they are."""
DIGITS = 38
"""Of decimals of Polars, at most. In a plan over a Parquet file its schema may have more."""
_EXTENSION: Any = getattr(pl, "BaseExtension", ())
"""Dtypes of Polars (from 1.36 on) that PyArrow may not know, or that end the process on the way back."""
_UNREAD = (
    pa.types.is_union,
    pa.types.is_interval,
    pa.types.is_decimal256,
    pa.types.is_run_end_encoded,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
"""Types that Polars lacks, some of which end the process there."""


def readable(table: pa.Table, /) -> pa.Table:
    """A table whose columns Polars has: those of an extension type as what they store, but UUIDs as they are.

    Raises ArgumentTypeError for a column of another type.
    """
    for k, field in enumerate(table.schema):
        stored = stored_type(field.type)
        if (unread := _unread(stored)) is not None:
            raise _error(field.name, f"the type {str(unread).partition('<')[0]}")
        if not stored.equals(field.type):
            column = pa.chunked_array([chunk.storage for chunk in table.column(k).chunks], type=stored)
            table = table.set_column(k, pa.field(field.name, stored, field.nullable), column)
    return table


def check_decimals(schema: pa.Schema, /, *, most: int) -> None:
    """Raise ArgumentTypeError for a column of decimals with 256 bits and more than so many digits, also nested ones."""
    for field in schema:
        unread = _unread(stored_type(field.type))
        if unread is not None and pa.types.is_decimal256(unread) and unread.precision > most:
            raise _error(field.name, f"decimals of {unread.precision} digits in 256 bits")


def _error(name: str, got: str) -> ColumnTypeError:
    return ColumnTypeError(
        f"the column {name!r}",
        rule="of a type that Polars has",
        got=got,
        hint="Convert it to text, numbers or times first, or leave it out of the table.",
    )


def stored_type(kind: pa.DataType, /) -> pa.DataType:
    """The type that a column of an extension type stores; of another one, and of UUIDs, its own."""
    if not isinstance(kind, pa.BaseExtensionType) or kind.extension_name == _UUID:
        return kind
    return kind.storage_type


def _unread(kind: pa.DataType) -> pa.DataType | None:
    """A type that Polars lacks: this one, or one in it; extension types are read where nothing is around them."""
    if any(is_one(kind) for is_one in _UNREAD):
        return kind
    inner = [kind.value_type] if pa.types.is_dictionary(kind) else [kind.field(k).type for k in range(kind.num_fields)]
    found = (own if isinstance(own, pa.BaseExtensionType) else _unread(own) for own in inner)
    return next((own for own in found if own is not None), None)


def stored_plan(frame: Any, /) -> Any:
    """A Polars frame or plan, whose columns of an extension type are what they store.

    Raises ArgumentTypeError for a column with such a type in it.
    """
    schema = dict(frame.collect_schema())
    extended = [k for k, dtype in enumerate(schema.values()) if isinstance(dtype, _EXTENSION)]
    for name, dtype in schema.items():
        digits = max((own.precision or 0 for own in _inner(dtype) if isinstance(own, pl.Decimal)), default=0)
        if digits > DIGITS:
            raise _error(name, f"decimals of {digits} digits")
        if dtype.is_nested() and any(isinstance(own, _EXTENSION) for own in _inner(dtype)):
            raise _error(name, "an extension type in a nested one")
    return frame.with_columns(pl.nth(k).ext.storage() for k in extended) if extended else frame


def _inner(dtype: Any) -> list[Any]:
    """All types in a nested one."""
    if not dtype.is_nested():
        return [dtype]
    if isinstance(dtype, pl.Struct):
        own = [field.dtype for field in dtype.fields]
    else:
        own = [getattr(dtype, name) for name in ("inner", "key", "value") if hasattr(dtype, name)]
    return [each for one in own for each in _inner(one)]


def stored_pandas(frame: pd.DataFrame, /) -> pd.DataFrame:
    """The same of a pandas frame with Arrow columns."""
    places = [k for k, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)]
    for k in places:
        found = pa.table({str(frame.columns[k]): frame.iloc[:, k].array.__arrow_array__()})
        column = readable(found).column(0)
        if not column.type.equals(found.column(0).type):
            frame = frame.copy(deep=False)
            frame.isetitem(k, pd.arrays.ArrowExtensionArray(column))
    return frame
