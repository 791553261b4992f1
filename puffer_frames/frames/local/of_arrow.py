"""PyArrow tables: opened as Polars frames without a copy, and given back as tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa

from puffer_frames.frames.arrow import arrow_family, as_kept, bare_table
from puffer_frames.frames.columns import Frame, Name, NativeFrame, check_column_names
from puffer_frames.frames.extensions import readable, stored_type
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import FIRST, are_in_place, are_labels, with_ranges
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.numbers.json_text import CERTIFICATE_BYTES, parsed
from puffer_frames.priors.prior import FloatArray

_KEY = b"puffer_frames"
"""Entry of a schema's metadata that holds a certificate, which a Parquet file keeps."""


@dataclass(frozen=True, slots=True)
class ArrowTable(LocalTable):
    """A pyarrow.Table. The index of a pandas frame may be a column, or a range in the metadata."""

    @property
    def labels(self) -> Sequence[Name]:
        """Text."""
        names: list[str] = self.native.column_names
        return names

    def kind_of(self, name: str, /) -> str:
        """By its type in the schema."""
        own = stored_type(self.native.schema.field(self.names.index(name)).type)  # of two of one name the first
        family = "text" if pa.types.is_dictionary(own) else arrow_family(own)
        return {"text": "labels", "bool": "booleans"}.get(family or "", "numbers")

    def opened(self) -> Frame:
        """The columns as a Polars frame; raises ArgumentTypeError for a type that Polars lacks."""
        check_process()
        check_column_names(self.names)
        frame = pl.from_arrow(readable(self.native))
        assert isinstance(frame, pl.DataFrame)
        return nw.from_native(frame, eager_only=True)

    def as_given(self, frame: pl.DataFrame, /) -> NativeFrame:
        """A Polars frame as a table; columns of this one keep their types, unless these cannot hold them."""
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        own = {field.name: field for field in self.native.schema}
        columns, fields = [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            columns.append(as_kept(column, own[field.name].type if field.name in own else field.type))
            fields.append(pa.field(field.name, columns[-1].type))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def metadata(self) -> dict[str, Any] | None:
        """From the metadata of the schema."""
        text = (self.native.schema.metadata or {}).get(_KEY)
        try:
            found = None if text is None else parsed(text, most=CERTIFICATE_BYTES)
        except ValueError:  # somebody else's text under this name
            return None
        return found if isinstance(found, dict) else None

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """A new table, with the dict in the metadata of its schema."""
        return bare_table(self.native, {_KEY: json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode()})

    def with_values(self, columns: Mapping[str, FloatArray], /) -> ArrowTable:
        """In the types that the columns have."""
        table = self.native
        for name, values in columns.items():
            place = self.names.index(name)
            field = table.schema.field(place)
            table = table.set_column(place, field, pa.array(values, type=field.type))
        return ArrowTable(table)

    def to_arrow(self) -> Any:
        """As it is."""
        return self.native

    def with_levels(self, *, known: Collection[str], rows: int) -> ArrowTable:
        """With a range that is data, and without an index that is none."""
        table = with_ranges(self.native, known=known)
        if FIRST in table.column_names and FIRST not in known:
            check_column_names(table.column_names)
            if are_labels(pl.Series(table[FIRST]), rows=rows):
                table = table.drop_columns([FIRST])
        return ArrowTable(table)

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Whether such an index is 0, 1, ..., n - 1."""
        if FIRST not in self.names or FIRST in known:
            return True
        return are_in_place(pl.Series(self.native[FIRST]))
