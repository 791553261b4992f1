"""A small frame of answers, of the library that the table came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import Frame, Name, NativeFrame
from puffer_frames.frames.local.own import used_dtype


def check_free_names(names: Sequence[str], /, *, role: str, taken: Sequence[str]) -> None:
    """Raise ArgumentError where a column of labels has the name of a column of answers."""
    for name in names:
        if name in taken:
            raise ArgumentError(
                role,
                rule="a column with another name than those of the answers",
                got=repr(name),
                hint="Rename the column first.",
            )


def build_answers(
    like: Frame,
    /,
    *,
    labels: Mapping[str, Sequence[Any]],
    numbers: Mapping[str, Sequence[Any]],
    names: Sequence[Name],
) -> NativeFrame:
    """A frame with columns of labels, each like the column of that name, and of numbers.

    None is a missing entry. `names` are the column labels of the native frame, which pandas gets back.
    """
    if like.implementation.is_pandas():
        columns = {name: _like(entries, like[name].to_native().dtype) for name, entries in labels.items()}
        found = pd.DataFrame(columns | {name: pd.Series(list(entries)) for name, entries in numbers.items()})
        return found.rename(columns={str(name): name for name in names if str(name) in labels})
    schema = like.to_native().schema
    series = [pl.Series(name, list(entries), dtype=schema[name]) for name, entries in labels.items()]
    series = [column.cast(used_dtype(column)) if column.dtype == pl.Enum else column for column in series]
    return pl.DataFrame([*series, *(pl.Series(name, list(entries)) for name, entries in numbers.items())])


def _like(entries: Sequence[Any], dtype: Any) -> pd.Series[Any]:
    """Labels in the dtype of their column, or in one that can hold a missing entry, where there is one."""
    if None in entries and isinstance(dtype, np.dtype):
        dtype = {"i": "Int64", "u": "UInt64", "b": "boolean"}.get(dtype.kind, dtype)
    if isinstance(dtype, pd.BooleanDtype):
        entries = [pd.NA if entry is None else entry for entry in entries]
    series: pd.Series[Any] = pd.Series(list(entries), dtype=dtype)
    return series.cat.remove_unused_categories() if isinstance(dtype, pd.CategoricalDtype) else series
