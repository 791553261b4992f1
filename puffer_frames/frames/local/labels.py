"""Columns of labels of frames in memory: as numbers of their levels, and released ones in the dtypes of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.frames.coded import Coded, as_series, fits, in_order_of, natural, used_levels
from puffer_frames.frames.columns import Frame, column
from puffer_frames.frames.local.own import entries_alone
from puffer_frames.frames.summary import levels_of
from puffer_frames.noise.adding import Reals
from puffer_frames.noise.draw import Codes, Levels
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray, IndexArray


def coded_column(frame: Frame, name: str, /) -> Coded:
    """A checked column; raises ArgumentError for too many levels, ArgumentTypeError for categories of other types."""
    entries = column(frame, name)
    native = entries.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        places = native.cat.codes.to_numpy()
        categories = nw.from_native(pd.Series(native.cat.categories), series_only=True)
        found = [*levels_of(categories, name=name), None]
        return Coded.numbered(np.where(places < 0, len(found) - 1, places), found, name=name)
    try:
        return Coded.of(entries.to_polars(), name=name)
    except UnicodeEncodeError:  # text that UTF-8 cannot hold, and that pandas 2.2 takes for equal
        numbers: dict[Level, int] = {}
        entry_of = [None if null else str(entry) for entry, null in zip(native, native.isna(), strict=True)]
        places = np.array([numbers.setdefault(entry, len(numbers)) for entry in entry_of], dtype=np.int64)
        return Coded.numbered(places, list(numbers), name=name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabelled:
    """A released column of labels."""

    codes: Codes
    """Number of each row's output."""
    levels: Levels
    """The outputs."""
    name: str
    """Of the column."""

    def in_order(self, order: IndexArray | None, /) -> Relabelled:
        """Its rows in some order."""
        return self if order is None else replace(self, codes=self.codes[order])

    def as_polars(self, dtype: pl.DataType, /) -> pl.Series:
        """Like a column of this dtype; an Enum has the categories of the rows alone."""
        found = as_series(self.codes, self.levels, dtype, name=self.name)
        return entries_alone(found) if isinstance(dtype, pl.Enum) else found

    def as_pandas(self, dtype: Any, /) -> Any:
        """An array like a column of this dtype, whose categories are those of the rows alone.

        All outputs decide on a dtype that holds them, so that releases of one plan are of one dtype.
        """
        codes, used = used_levels(self.codes, self.levels)
        if not isinstance(dtype, pd.CategoricalDtype):
            return self._plain(codes, used, dtype)
        there: Any = [output for output in used if output is not None]
        if dtype.ordered:
            there = in_order_of(dtype.categories.tolist(), there)
        own = dtype.categories.dtype
        held: Any = own if _fits(own, self.levels) or own == np.dtype(object) else None
        categories = pd.CategoricalDtype(pd.Index(there, dtype=held), ordered=dtype.ordered)
        places = {output: k for k, output in enumerate(there)}
        table = np.array([-1 if output is None else places[output] for output in used], dtype=np.int16)
        return pd.Categorical.from_codes(table[codes], dtype=categories)

    def _plain(self, codes: Codes, used: Levels, dtype: Any) -> Any:
        if not _fits(dtype, self.levels):
            dtype = _NATURAL[natural(self.levels, name=self.name)]
        if isinstance(dtype, np.dtype):
            if dtype.kind in "biu" and None in self.levels:
                dtype = _NULLABLE[dtype.kind]
            else:
                return np.array(used, dtype=dtype)[codes]
        return pd.array(list(used), dtype=dtype).take(codes.astype(np.intp))


def written(values: Reals, levels: Levels | None, /, *, name: str) -> FloatArray | Relabelled:
    """A column as a draw wrote it."""
    if levels is None:
        return values.astype(np.float64, copy=False)
    return Relabelled(codes=values.astype(np.uint16, copy=False), levels=levels, name=name)


_NATURAL = {
    str: pd.Series(["text"]).dtype,
    bool: np.dtype(np.bool_),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
}
_NULLABLE = {"b": pd.BooleanDtype(), "i": pd.Int64Dtype(), "u": pd.UInt64Dtype()}


def _fits(dtype: Any, outputs: Sequence[Level]) -> bool:
    """Whether a pandas column of this dtype can hold the outputs; objects are text."""
    return fits(nw.from_native(pd.Series([], dtype=dtype), series_only=True).dtype, outputs)
