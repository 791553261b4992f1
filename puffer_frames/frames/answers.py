"""A small frame of answers, of the library that the table came in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import Frame, NativeFrame


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
    like: Frame, /, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]
) -> NativeFrame:
    """A frame with columns of labels, with the dtype of the column of that name, and of numbers.

    None in a column of numbers is a missing entry.
    """
    columns = {}
    for name, entries in {**labels, **numbers}.items():
        series = nw.new_series("column", list(entries), backend=like.implementation)
        if name in labels and name in like.columns:
            series = _as(series, like.schema[name], like[name], missing=None in entries)
        columns[name] = series
    return nw.from_dict(columns, backend=like.implementation).to_native()


def _as(series: nw.Series[Any], dtype: Any, like: nw.Series[Any], *, missing: bool) -> nw.Series[Any]:
    """Labels in the dtype of their column; in one that can hold a missing entry, where there is one."""
    if like.implementation.is_pandas():
        if missing and dtype.is_integer():
            return nw.from_native(series.to_native().astype("Int64"), series_only=True)
        if missing and dtype == nw.Boolean:
            return series
        return nw.from_native(series.to_native().astype(like.to_native().dtype), series_only=True)
    return series.cast(dtype)
