"""Types of the columns of a release in Spark. This module imports pyspark."""

from __future__ import annotations

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

from puffer_frames.frames.coded import fits, natural
from puffer_frames.frames.noisy import NoiseStep

BINARY = "UTF8_BINARY"
"""The collation of text that is compared letter by letter."""

_NATURAL = {str: StringType, bool: BooleanType, int: LongType, float: DoubleType}


def released_schema(rows: Any, step: NoiseStep, /) -> StructType:
    """Noisy columns are 64-bit floats, labels as they were where that can hold the outputs, the others as they were."""
    dtypes, writes = nw.from_native(rows).collect_schema(), step.draws.writes

    def released(alias: str) -> DataType:
        name, given = step.written.get(alias), rows.schema[alias].dataType
        if name is None:
            return _bare(given)
        levels = writes[name]
        if levels is None:
            return DoubleType()
        return given if fits(dtypes[alias], levels) else _NATURAL[natural(levels, name=name)]()

    return StructType([StructField(alias, released(alias)) for alias in step.gives])


def _bare(kind: DataType) -> DataType:
    """A type without metadata of nested fields."""
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _bare(field.dataType), field.nullable) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind
