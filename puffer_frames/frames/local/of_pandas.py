"""pandas frames: labels of any kind, an index that may be data, and `attrs`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa

from puffer_frames.frames.columns import Frame, Name, NativeFrame, check_column_names
from puffer_frames.frames.extensions import stored_pandas
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import is_trivial, kept_levels, level_names, with_levels
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.priors.prior import FloatArray

_KEY = "puffer_frames"


@dataclass(frozen=True, slots=True)
class PandasTable(LocalTable):
    """A pandas.DataFrame."""

    @property
    def labels(self) -> Sequence[Name]:
        """Of any kind."""
        return list(self.native.columns)

    def opened(self) -> Frame:
        """With labels that are no text as text."""
        check_process()
        check_column_names(self.names)
        plain = all(isinstance(label, str) for label in self.labels)
        named = self.native if plain else self.native.set_axis(list(self.names), axis=1)
        return nw.from_native(stored_pandas(named), eager_only=True)

    def apart(self) -> PandasTable:
        """Another frame with the same columns."""
        return PandasTable(self.native.copy(deep=False))

    def metadata(self) -> dict[str, Any] | None:
        """From `attrs`."""
        found = self.native.attrs.get(_KEY)
        return found if isinstance(found, dict) else None

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """In `attrs`, which pandas takes along and writes to Parquet files.

        Other attributes, and names of the levels of the column labels, would leave with it: the frame loses them.
        """
        self.native.attrs = {_KEY: metadata}
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
        kinds = {type(label) for label in self.labels}
        as_text = len(kinds) > 1 or bool(kinds & {tuple, bytes})
        frame = self.native.set_axis(list(self.names), axis=1) if as_text else self.native
        return pa.Table.from_pandas(frame, preserve_index=bool(self.kept_levels()))

    def kept_levels(self) -> tuple[str, ...]:
        """None where the index is 0, 1, ..., n - 1 without a name."""
        return kept_levels(self.native)

    def with_levels(self, *, known: Collection[str], rows: int) -> PandasTable:
        """With the levels of the index that are data."""
        return PandasTable(with_levels(self.native, known=known, rows=rows))

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Whether an index that is no data is 0, 1, ..., n - 1."""
        return is_trivial(self.native.index) or bool(set(level_names(self.native.index)) & set(known))

    def by_place(self) -> PandasTable:
        """By an index of one level of whole numbers."""
        index = self.native.index
        sortable = index.nlevels == 1 and pd.api.types.is_integer_dtype(index.dtype)
        return PandasTable(self.native.sort_index()) if sortable else self
