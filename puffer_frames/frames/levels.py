"""The index of a pandas frame, where it is data: its levels are columns, named as Parquet names them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError
from puffer_frames.numbers.records import parsed

FIRST = "__index_level_0__"
"""Name of an index of one level without a name."""


def is_trivial(index: Any, /) -> bool:
    """Whether an index is 0, 1, ..., n - 1."""
    if index.nlevels > 1:
        return False
    if bool(index.equals(pd.RangeIndex(len(index)))):
        return True
    return _is_whole(index) and np.array_equal(index, np.arange(len(index)))


def level_names(index: Any, /) -> tuple[str, ...]:
    """The names of the levels as text; those without one are numbered."""
    return tuple(_numbered(k) if name is None else str(name) for k, name in enumerate(index.names))


def kept_levels(frame: pd.DataFrame, /) -> tuple[str, ...]:
    """The levels of a release that keeps its index: none where it is 0, 1, ..., n - 1 without a name."""
    return () if is_trivial(frame.index) and frame.index.name is None else level_names(frame.index)


def check_level_names(frame: pd.DataFrame, /) -> None:
    """Raise ArgumentError where a level that is released would have the name of a column, or of another level."""
    levels, columns = kept_levels(frame), [str(name) for name in frame.columns]
    for k, name in enumerate(levels):
        if name in columns or name in levels[:k]:
            raise ArgumentError(
                "the levels of the index",
                rule="named differently from the columns and from one another",
                got=f"{name!r} twice",
                hint='Rename the level (frame.rename_axis(index="row")), or write Layout(index="drop").',
            )


def are_labels(entries: pl.Series, /, *, rows: int) -> bool:
    """Whether a column is an index that is no data: 0, 1, ..., n - 1, or some of the numbers of so many rows."""
    return entries.dtype.is_integer() and not entries.null_count() and _are_labels(entries.to_numpy(), rows)


def are_in_place(entries: pl.Series, /) -> bool:
    """Whether a column is 0, 1, ..., n - 1."""
    return not entries.null_count() and np.array_equal(entries.to_numpy(), np.arange(len(entries)))


def with_ranges(table: Any, /, *, known: Collection[str]) -> Any:
    """A table with the ranges that pandas left in its metadata as columns, unless they only number the rows."""
    for name, values in _ranges(table):
        if name in known or not np.array_equal(values, np.arange(values.size)):
            table = table.append_column(name, pa.array(values))
    return table


def with_levels(frame: pd.DataFrame, /, *, known: Collection[str], rows: int) -> pd.DataFrame:
    """The frame with the levels of its index as columns, unless they are no data: as `LocalTable.with_levels`."""
    names, columns = level_names(frame.index), [str(name) for name in frame.columns]
    if not set(names) & set(known) and _no_data(frame.index, rows):
        return frame
    found = frame.set_axis(columns, axis=1)
    for k, name in enumerate(names):
        free = name if name not in found.columns else _numbered(k)
        found.insert(found.shape[1], free, frame.index.get_level_values(k).array, allow_duplicates=True)
    return found


def _no_data(index: Any, rows: int) -> bool:
    if is_trivial(index):
        return True
    if index.nlevels > 1 or index.name is not None:
        return False
    return len(index) == 0 or (_is_whole(index) and _are_labels(index.to_numpy(), rows))


def _is_whole(index: Any) -> bool:
    """Whether all labels are whole numbers, of any library's type."""
    return pd.api.types.is_integer_dtype(index.dtype) and not index.hasnans


def _are_labels(values: NDArray[Any], rows: int) -> bool:
    """Whether whole numbers are 0, 1, ..., n - 1, or those of rows, each as often as the rows come."""
    if not values.size or np.array_equal(values, np.arange(values.size)):
        return True
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= rows:
        return False
    return int(np.bincount(values.astype(np.int64)).max()) <= -(-values.size // rows)


def _ranges(table: Any) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """The ranges that pandas left in the metadata of a table, by name; raises ArgumentError for unclear metadata."""
    try:
        levels = parsed((table.schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
        ranges = [level for level in levels if isinstance(level, dict) and level.get("kind") == "range"]
        found = [(level["name"], range(level["start"], level["stop"], level["step"])) for level in ranges]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ArgumentError(
            "the pandas metadata of the table",
            rule="JSON as pandas writes it",
            got="another text",
            hint="Take it away first: table.replace_schema_metadata(None).",
        ) from None
    for name, labels in found:
        # a range of another length: the table has lost rows, and with them this index
        if labels[: table.num_rows] == labels and len(labels[: table.num_rows]) == table.num_rows:
            yield FIRST if name is None else str(name), np.arange(labels.start, labels.stop, labels.step)


def _numbered(k: int) -> str:
    return f"__index_level_{k}__"
