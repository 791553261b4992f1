"""Frames in memory of pandas, Polars and PyArrow, each opened as a Polars frame, and given back as it came."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa

from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.arrow import (
    arrow_family,
    as_kept,
    bare_table,
    in_level_order,
    readable,
    stored_pandas,
    stored_plan,
    stored_type,
)
from puffer_frames.frames.columns import Name, NativeFrame, check_column_names
from puffer_frames.frames.dates import in_days
from puffer_frames.frames.levels import (
    FIRST,
    are_labels,
    is_trivial,
    kept_levels,
    level_names,
    with_levels,
    with_ranges,
)
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.stamps.parquet import KEY, as_file_metadata, attribute_of, in_file_metadata, put_attribute
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True)
class PolarsTable(LocalTable):
    """A polars.DataFrame. It may have the index of a pandas frame as a column, from a file."""

    def readable(self) -> NativeFrame:
        return stored_plan(self.native)

    def metadata(self) -> dict[str, Any] | None:
        return attribute_of(self.native)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        return put_attribute(self.native, metadata)

    def with_values(self, columns: Mapping[str, FloatArray], /) -> PolarsTable:
        return PolarsTable(self.native.with_columns([pl.Series(name, values) for name, values in columns.items()]))

    def to_arrow(self) -> Any:
        return self.native.to_arrow()

    def with_levels(self, *, known: Collection[str], rows: int) -> PolarsTable:
        """Without an index that is no data."""
        labelled = FIRST in self.labels and FIRST not in known
        return PolarsTable(self.native.drop(FIRST)) if labelled and are_labels(self.native[FIRST], rows=rows) else self


@dataclass(frozen=True, slots=True)
class ArrowTable(LocalTable):
    """A pyarrow.Table. The index of a pandas frame may be a column, or a range in the metadata."""

    @property
    def labels(self) -> Sequence[Name]:
        return self.native.column_names

    def kind_of(self, name: str, /) -> str:
        own = stored_type(self.native.schema.field(self.names.index(name)).type)  # of two of one name the first
        if (pa.types.is_list(own) or pa.types.is_large_list(own)) and self.has_lists(name):
            return "labels"
        family = "text" if pa.types.is_dictionary(own) else arrow_family(own)
        return {"text": "labels", "bool": "booleans"}.get(family or "", "numbers")

    def readable(self) -> NativeFrame:
        frame = pl.from_arrow(readable(self.native))
        assert isinstance(frame, pl.DataFrame)
        frame.columns = list(self.names)  # Polars numbers a column without a name
        return frame

    def as_given(self, frame: pl.DataFrame, /) -> NativeFrame:
        """A Polars frame as a table; columns of this one keep their types, unless these cannot hold them."""
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        own = {field.name: field for field in self.native.schema}
        columns, fields = [], []
        for field, column in zip(table.schema, table.columns, strict=True):
            found = as_kept(column, own[field.name].type if field.name in own else field.type)
            columns.append(in_level_order(found, self.native.column(field.name)) if field.name in own else found)
            fields.append(pa.field(field.name, columns[-1].type))
        return pa.Table.from_arrays(columns, schema=pa.schema(fields))

    def metadata(self) -> dict[str, Any] | None:
        return in_file_metadata(self.native.schema.metadata)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """A new table, with the dict in the metadata of its schema."""
        return bare_table(self.native, as_file_metadata(metadata))

    def with_values(self, columns: Mapping[str, FloatArray], /) -> ArrowTable:
        table = self.native
        for name, values in columns.items():
            place = self.names.index(name)
            field = table.schema.field(place)
            table = table.set_column(place, field, pa.array(values, type=field.type))
        return ArrowTable(table)

    def in_days(self, names: Collection[str], /) -> LocalTable:
        """As the Polars frame that it is opened as."""
        frame, dates = in_days(self.opened(), names)
        return PolarsTable(frame.to_native()) if dates else self

    def to_arrow(self) -> Any:
        return self.native

    def with_levels(self, *, known: Collection[str], rows: int) -> ArrowTable:
        """With a range that is data, and without an index that is none."""
        table = with_ranges(self.native, known=known)
        if FIRST in table.column_names and FIRST not in known:
            check_column_names(table.column_names)
            if are_labels(pl.Series(table[FIRST]), rows=rows):
                table = table.drop_columns([FIRST])
        return ArrowTable(table)


@dataclass(frozen=True, slots=True)
class PandasTable(LocalTable):
    """A pandas.DataFrame."""

    def readable(self) -> NativeFrame:
        plain = all(isinstance(label, str) for label in self.labels)
        named = self.native if plain else self.native.set_axis(list(self.names), axis=1)
        return stored_pandas(named)

    def apart(self) -> PandasTable:
        return PandasTable(self.native.copy(deep=False))

    def metadata(self) -> dict[str, Any] | None:
        found = self.native.attrs.get(KEY)
        return found if isinstance(found, dict) else None

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """In `attrs`, which pandas takes along and writes to Parquet files.

        Other attributes, and names of the levels of the column labels, would leave with it: the frame loses them.
        """
        self.native.attrs = {KEY: metadata}
        self.native.columns = self.native.columns.set_names([None] * self.native.columns.nlevels)
        return self.native

    def with_values(self, columns: Mapping[str, FloatArray], /) -> PandasTable:
        """In the dtypes that the columns have; column labels of any kind are found by their places."""
        frame = self.native.copy()
        for name, values in columns.items():
            place = self.names.index(name)
            dtype = frame.dtypes.iloc[place]
            frame.isetitem(place, pd.Series(values, index=frame.index, dtype=dtype, copy=True))
        return PandasTable(frame)

    def to_arrow(self) -> Any:
        """With the index as columns, for every reader, unless it only numbers the rows.

        PyArrow names columns with labels of several levels, or of bytes, otherwise than their certificate does, and
        does not bring back labels of several types.
        """
        own = {type(label) for label in self.labels}
        as_text = len(own) > 1 or bool(own & {tuple, bytes})
        frame = self.native.set_axis(list(self.names), axis=1) if as_text else self.native
        for name, (_, entries) in zip(self.names, frame.items(), strict=True):
            kinds = set(map(type, entries)) if entries.dtype == object else set()
            if all(any(issubclass(kind, one) for kind in kinds) for one in (str, bytes)):  # "a" and b"a" would be one
                raise ColumnTypeError(
                    f"the column {name!r}",
                    rule="of entries of one type, to be written",
                    got="texts and bytes",
                    hint="Convert it to strings before the release.",
                )
        return pa.Table.from_pandas(frame, preserve_index=bool(self.kept_levels()))

    def kept_levels(self) -> tuple[str, ...]:
        """None where the index is 0, 1, ..., n - 1 without a name."""
        return kept_levels(self.native)

    def with_levels(self, *, known: Collection[str], rows: int) -> PandasTable:
        return PandasTable(with_levels(self.native, known=known, rows=rows))

    def is_in_place(self, *, known: Collection[str]) -> bool:
        return is_trivial(self.native.index) or bool(set(level_names(self.native.index)) & set(known))

    def by_place(self) -> PandasTable:
        """By an index of one level of whole numbers."""
        index = self.native.index
        sortable = index.nlevels == 1 and pd.api.types.is_integer_dtype(index.dtype)
        return PandasTable(self.native.sort_index()) if sortable else self
