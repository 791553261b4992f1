"""Arrow columns without what is beside their entries, before and after a release, and types that Polars lacks."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from puffer_frames.errors import ColumnTypeError

_UUID = "arrow.uuid"
"""Polars reads them as the bytes that they are."""
DIGITS = 38
"""The most digits of a Polars decimal. In a plan over a Parquet file its schema may have more."""
_EXTENSION: Any = getattr(pl, "BaseExtension", ())
"""Dtypes of Polars (from 1.36 on) that PyArrow may not know, or that end the process on the way back."""


def _is_odd(kind: pa.DataType) -> bool:
    """Whether it is a dictionary of dictionaries, or one of decimals whose last digits are left out."""
    if pa.types.is_dictionary(kind):
        return pa.types.is_dictionary(kind.value_type)
    return pa.types.is_decimal(kind) and kind.scale < 0


_UNREAD = (
    _is_odd,
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


def check_types(schema: pa.Schema, /, *, digits: int) -> None:
    """Raise ArgumentTypeError for a column of a type that Polars lacks, also a nested one.

    Decimals of 256 bits are read up to so many digits; of extension types Polars says itself what it reads.
    """
    for field in schema:
        unread = _unread(stored_type(field.type))
        if unread is None or isinstance(unread, pa.BaseExtensionType):
            continue
        if not pa.types.is_decimal256(unread):
            raise _error(field.name, f"the type {str(unread).partition('<')[0]}")
        if unread.precision > digits:
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
    """The same of a pandas frame with Arrow columns, which pandas and PyArrow must be able to take rows of, too."""
    places = [k for k, dtype in enumerate(frame.dtypes) if isinstance(dtype, pd.ArrowDtype)]
    for k in places:
        found = stored_array(frame.iloc[:, k].array, name=str(frame.columns[k]))
        if found.dtype != frame.dtypes.iloc[k]:
            frame = frame.copy(deep=False)
            frame.isetitem(k, found)
    return frame


def stored_array(array: Any, /, *, name: str) -> Any:
    """An Arrow array of pandas, without extension types and views; raises ArgumentTypeError as `readable`."""
    column = readable(pa.table({name: array.__arrow_array__()})).column(0)
    wide = bare_type(column.type, views=False)
    try:
        return pd.arrays.ArrowExtensionArray(column if wide.equals(bare_type(column.type)) else column.cast(wide))
    except pa.ArrowNotImplementedError:  # older versions of PyArrow, of nested views
        raise _error(name, f"the type {str(column.type).partition('<')[0]} of views") from None


_PANDAS = b"pandas"
_HELD = ("index_columns", "columns", "creator", "pandas_version")
_HELD_OF_COLUMN = ("name", "field_name", "pandas_type", "numpy_type")


def as_kept(column: Any, own: pa.DataType, /) -> Any:
    """A released column, or a chunked one, in the type of the given column, unless that cannot hold its entries."""
    column, own = own_entries(column), stored_type(own)
    own = bare_type(own, ordered=not own.num_fields)  # the order of levels in nested entries is lost on the way
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


def in_level_order(column: Any, given: Any, /) -> Any:
    """A column, or a chunked one, whose levels are in the order of those of a given ordered dictionary, others last."""
    if not (pa.types.is_dictionary(column.type) and pa.types.is_dictionary(given.type) and given.type.ordered):
        return column
    kind = pa.dictionary(column.type.index_type, column.type.value_type, ordered=True)  # an older pandas loses this
    entries = column.cast(kind.value_type)
    found = entries.unique().drop_null()
    chunks = given.unify_dictionaries().chunks if isinstance(given, pa.ChunkedArray) else [given]
    levels = pa.array([], kind.value_type) if not chunks else chunks[0].dictionary.cast(kind.value_type).unique()
    used = levels.filter(pc.is_in(levels, value_set=found))
    used = pa.concat_arrays([used, found.filter(pc.invert(pc.is_in(found, value_set=used)))])
    places = pc.index_in(entries, value_set=used).cast(kind.index_type)
    chunks = places.chunks if isinstance(places, pa.ChunkedArray) else [places]
    arrays = [pa.DictionaryArray.from_arrays(chunk, used, ordered=True) for chunk in chunks]
    return pa.chunked_array(arrays, type=kind) if isinstance(places, pa.ChunkedArray) else arrays[0]


def own_entries(column: Any, /) -> Any:
    """A column, or a chunked one, with its entries alone, nested ones included.

    Dictionaries hold what is used, in their order; there is one NaN; nested fields have no metadata.
    """
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([own_entries(chunk) for chunk in column.chunks], type=bare_type(column.type))
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _own_dictionary(column)
    if pa.types.is_floating(kind):
        return _one_nan(column)
    if isinstance(kind, pa.BaseExtensionType):
        storage = own_entries(column.storage)
        return pa.ExtensionArray.from_storage(kind, storage) if storage.type.equals(kind.storage_type) else column
    return _own_nested(column) if kind.num_fields else _nothing_under_nulls(column)


def _nothing_under_nulls(column: Any) -> Any:
    """A flat column with zeros, or empty texts, where entries are missing: what was there before may be there still."""
    if not column.null_count or pa.types.is_null(column.type):
        return column
    places = pa.array(np.arange(len(column)), mask=np.asarray(column.is_null()))
    try:
        return column.take(places)
    except pa.ArrowNotImplementedError:  # views of text
        wide = pa.large_binary() if pa.types.is_binary_view(column.type) else pa.large_string()
        return column.cast(wide).take(places).cast(column.type)


def _own_dictionary(column: Any) -> Any:
    values, kind = own_entries(column.dictionary), column.type
    places = _nothing_under_nulls(column.indices)
    used = np.unique(places.drop_null().to_numpy(zero_copy_only=False)).astype(np.int64)
    if used.size < len(values):  # Polars 1 gives the levels of other columns too
        table = np.zeros(len(values), dtype=np.int64)
        table[used] = np.arange(used.size)
        missing = np.asarray(places.is_null())
        filled = places.fill_null(0).to_numpy(zero_copy_only=False)
        numbers = table[filled] if len(values) else np.zeros(filled.size, dtype=np.int64)
        values, places = values.take(pa.array(used)), pa.array(numbers, type=kind.index_type, mask=missing)
    return pa.DictionaryArray.from_arrays(places, values, ordered=kind.ordered)


def _one_nan(column: Any) -> Any:
    """Floats whose NaN has the usual bits; under a missing entry there is nothing."""
    values = column.to_numpy(zero_copy_only=False)
    there = np.isnan(values)
    if not there.any():
        return column
    return pa.array(np.where(there, values.dtype.type(np.nan), values), column.type, mask=np.asarray(column.is_null()))


def _own_nested(column: Any) -> Any:
    """Lists, maps and structs, with their entries made by `own_entries`; of other kinds as they are."""
    kind = bare_type(column.type)
    null = column.is_null()
    if pa.types.is_struct(kind):
        parts = [own_entries(part) for part in column.flatten()]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=null)
    missing = np.asarray(null)
    if pa.types.is_fixed_size_list(kind):
        values = column.values[column.offset * kind.list_size :][: len(column) * kind.list_size]  # noqa: PD011 - of PyArrow
        places = pa.array(np.arange(len(values)), mask=np.repeat(missing, kind.list_size))
        return pa.FixedSizeListArray.from_arrays(own_entries(values.take(places)), type=kind, mask=null)
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)):
        return column
    starts = column.offsets.to_numpy()
    lengths = np.where(missing, 0, np.diff(starts))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if pa.types.is_map(kind):
        places = pa.array(np.arange(ends[-1]) + np.repeat(starts[:-1] - ends[:-1], lengths))
        parts = [own_entries(part.take(places)) for part in (column.keys, column.items)]
        offsets = pa.array(ends, pa.int32(), mask=np.append(missing, False))
        return pa.MapArray.from_arrays(offsets, *parts, type=kind)
    entries = own_entries(column.flatten())
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), entries, type=kind, mask=null)
    return pa.LargeListArray.from_arrays(pa.array(ends), entries, type=kind, mask=null)


def bare_type(kind: pa.DataType, /, *, views: bool = True, ordered: bool = True) -> pa.DataType:
    """A type without metadata of nested fields, and with the usual names of the entries of lists and maps.

    Views of text and bytes are plain ones unless they may stay: PyArrow takes no rows of them. So are dictionaries
    without an order, unless that may stay.
    """
    own = partial(bare_type, views=views, ordered=ordered)

    def inner(field: pa.Field, name: str) -> pa.Field:
        return pa.field(name, own(field.type), field.nullable)

    if pa.types.is_struct(kind):
        return pa.struct([inner(field, field.name) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(own(kind.key_type), own(kind.item_type), keys_sorted=kind.keys_sorted)
    if pa.types.is_list(kind):
        return pa.list_(inner(kind.value_field, "item"))
    if pa.types.is_large_list(kind):
        return pa.large_list(inner(kind.value_field, "item"))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(inner(kind.value_field, "item"), kind.list_size)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, own(kind.value_type), ordered=kind.ordered and ordered)
    return kind if views else _PLAIN.get(kind, kind)


_PLAIN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}


def bare_table(table: Any, metadata: dict[Any, Any], /) -> Any:
    """A table with the entries of its columns alone, and of its metadata what pandas says of columns and index.

    `metadata` is added.
    """
    columns = [own_entries(column) for column in table.columns]
    fields = [
        pa.field(field.name, column.type, field.nullable) for field, column in zip(table.schema, columns, strict=True)
    ]
    held = _of_pandas(table) | metadata
    return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=held or None))


def _of_pandas(table: Any) -> dict[bytes, bytes]:
    """What pandas needs to read its frame again: no attributes, and no names of the levels of its column labels."""
    try:
        held = json.loads((table.schema.metadata or {}).get(_PANDAS, b""))
        found = {key: held[key] for key in _HELD if key in held}
        found["columns"] = [
            {key: column[key] for key in _HELD_OF_COLUMN if key in column} | {"metadata": _of_column(column)}
            for column in held["columns"]
            if column["field_name"] in table.column_names
        ]
        levels = held.get("column_indexes", [])
        found["column_indexes"] = [
            {"name": None, "field_name": None, "metadata": None}
            | {key: level[key] for key in ("pandas_type", "numpy_type") if key in level}
            for level in levels
        ]
        names = [level for level in found["index_columns"] if isinstance(level, dict) or level in table.column_names]
        found["index_columns"] = names
    except (ValueError, KeyError, TypeError, RecursionError):  # somebody else's text
        return {}
    return {_PANDAS: json.dumps(found).encode()}


def _of_column(column: Any) -> Any:
    held = column.get("metadata")
    return (
        {key: held[key] for key in ("num_categories", "ordered", "timezone", "unit") if key in held} if held else None
    )


def arrow_family(kind: pa.DataType, /) -> str | None:
    """One of "text", "bool" and "int", of a dictionary too; None for others."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "bool"
    return "int" if pa.types.is_integer(kind) else None
