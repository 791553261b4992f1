"""Polars frames in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from puffer_frames.frames.columns import Frame, Name, NativeFrame, check_column_names
from puffer_frames.frames.extensions import stored_plan
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import FIRST, are_in_place, are_labels
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.stamps.attach import attribute_of, put_attribute
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True)
class PolarsTable(LocalTable):
    """A polars.DataFrame. It may have the index of a pandas frame as a column, from a file."""

    @property
    def labels(self) -> Sequence[Name]:
        """Text."""
        names: list[str] = self.native.columns
        return names

    def opened(self) -> Frame:
        """As it is, but for extension types."""
        check_process()
        check_column_names(self.names)
        return nw.from_native(stored_plan(self.native), eager_only=True)

    def metadata(self) -> dict[str, Any] | None:
        """From the attribute."""
        return attribute_of(self.native)

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """As an attribute."""
        return put_attribute(self.native, metadata)

    def with_values(self, columns: Mapping[str, FloatArray], /) -> PolarsTable:
        """Column by column."""
        return PolarsTable(self.native.with_columns([pl.Series(name, values) for name, values in columns.items()]))

    def to_arrow(self) -> Any:
        """Column by column."""
        return self.native.to_arrow()

    def with_levels(self, *, known: Collection[str], rows: int) -> PolarsTable:
        """Without an index that is no data."""
        labelled = FIRST in self.labels and FIRST not in known
        return PolarsTable(self.native.drop(FIRST)) if labelled and are_labels(self.native[FIRST], rows=rows) else self

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Whether such an index is 0, 1, ..., n - 1."""
        return FIRST not in self.labels or FIRST in known or are_in_place(self.native[FIRST])
