"""Types of the columns of a release in Spark. This module imports pyspark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from puffer_frames.frames.coded import Change, fits, natural
from puffer_frames.frames.noisy import NUMBER
from puffer_frames.noise.channel import LabelChannel

BINARY = "UTF8_BINARY"
"""The collation of text that is compared letter by letter."""

_NATURAL = {str: StringType, bool: BooleanType, int: LongType, float: DoubleType}


def released_schema(rows: Any, changes: Mapping[str, Change], /) -> StructType:
    """Noisy columns are 64-bit floats, labels as they were where that can hold the outputs, the others as they were."""
    dtypes = nw.from_native(rows).collect_schema()

    def released(field: StructField) -> StructField:
        change = changes.get(field.name)
        if isinstance(change, LabelChannel):
            held = fits(dtypes[field.name], change.outputs)
            return StructField(field.name, field.dataType if held else _NATURAL[natural(change)]())
        return StructField(field.name, DoubleType() if change else _bare(field.dataType))

    return StructType([released(field) for field in rows.schema.fields if field.name != NUMBER])


def _bare(kind: DataType) -> DataType:
    """A type without metadata of nested fields."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _bare(field.dataType), field.nullable) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind
