"""A native frame as the library needs it: one interface to every kind of frame, and the list of the kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.counted_units import PlanTable
from puffer_frames.frames.dates import days_of
from puffer_frames.frames.lists import is_of_lists, list_texts
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.tally import CompleteRows as CompleteRows  # beside the table that it is of
from puffer_frames.numbers.arguments import check_word

Table: TypeAlias = LocalTable | PlanTable
"""A native frame of some kind, whose rows were not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of frame: how it is told from others, and where it is opened. No library is imported to find out."""

    library: str
    """Package of the class of such frames."""
    frame: str
    """Name of this class."""
    table: str
    """Module and class in `puffer_frames.frames` that opens one as a `Table`, by its class method `of`."""

    def has(self, frame: object, /) -> bool:
        """Whether a frame is of this kind."""
        return any(
            one.__name__ == self.frame and one.__module__.partition(".")[0].lstrip("_") == self.library
            for one in type(frame).__mro__
        )

    def open(self, frame: NativeFrame, /) -> Table:
        """The frame as a table."""
        module, _, name = self.table.partition(":")
        return getattr(import_module(f"puffer_frames.frames.{module}"), name).of(frame)


KINDS = (
    Kind(library="pandas", frame="DataFrame", table="local.kinds:PandasTable"),
    Kind(library="polars", frame="DataFrame", table="local.kinds:PolarsTable"),
    Kind(library="polars", frame="LazyFrame", table="plans.lazy:LazyTable"),
    Kind(library="pyarrow", frame="Table", table="local.kinds:ArrowTable"),
    Kind(library="pyspark", frame="DataFrame", table="spark.table:SparkTable"),
    Kind(library="duckdb", frame="DuckDBPyRelation", table="duckdb:DuckTable"),
)
"""Every kind of frame. A further one is a folder and a line."""


def is_frame(found: object, /) -> bool:
    """Whether it is a frame of one of the `KINDS`."""
    return any(kind.has(found) for kind in KINDS)


def library_of(frame: object, /) -> str:
    """The package of a frame of one of the `KINDS`."""
    return next(kind.library for kind in KINDS if kind.has(frame))


def check_library(name: str, /) -> None:
    """Raise ArgumentError for what is no library of one of the `KINDS`."""
    check_word(name, "library", tuple(dict.fromkeys(kind.library for kind in KINDS)))


_SMALL = {"duckdb": "pyarrow", "pyspark": "pandas"}
"""Libraries whose small frames are of another one."""


def small_frame(columns: Mapping[str, Sequence[Any]], /, *, library: str) -> NativeFrame:
    """A frame in memory, of a library of one of the `KINDS`."""
    backend: Any = _SMALL.get(library, library)
    return nw.from_dict(dict(columns), backend=backend).to_native()


def frame_of(records: Sequence[Any], kind: type, /, *, library: str) -> NativeFrame:
    """Records of one kind as a small frame, a column for each field."""
    names = [each.name for each in fields(kind)]
    return small_frame({name: [getattr(record, name) for record in records] for name in names}, library=library)


def small_rows(frame: NativeFrame, /) -> list[dict[str, Any]]:
    """The rows of such a frame, with None for what is not a number."""
    named: list[dict[str, Any]] = nw.from_native(frame, eager_only=True).rows(named=True)
    return [{name: None if entry != entry else entry for name, entry in row.items()} for row in named]


def values_in_memory(frame: NativeFrame, name: str, /) -> Any:
    """The values of a column as an array, without missing ones; raises ArgumentTypeError for a plan."""
    if open_table(frame).is_plan or library_of(frame) == "duckdb":
        raise ArgumentTypeError(
            "the frame", rule="in memory, for a picture", got="a plan", hint="Collect it first, or a sample of it."
        )
    column = nw.from_native(frame, eager_only=True)[name].drop_nulls()
    if (found := days_of(column, name=name)) is not None:
        return found.to_numpy()
    if isinstance(column.dtype, nw.List) and is_of_lists((lists := column.to_polars()).dtype):
        return list_texts(lists).to_numpy()
    return np.asarray(column.to_list() if column.dtype in (nw.Categorical, nw.String, nw.Enum) else column.to_numpy())


def open_table(frame: NativeFrame, /) -> Table:
    """A frame of any of the `KINDS` as a table.

    Raises ArgumentTypeError for any other object.
    """
    check_frame(frame)
    return next(kind for kind in KINDS if kind.has(frame)).open(frame)


def check_frame(frame: object, /) -> None:
    """Raise ArgumentTypeError for an object of none of the `KINDS`."""
    if is_frame(frame):
        return
    raise ArgumentTypeError(
        "the frame",
        rule="a pandas or Polars DataFrame, a PyArrow table, a Spark DataFrame or a DuckDB relation",
        got=f"a {type(frame).__module__.partition('.')[0]} {type(frame).__name__}",
        hint="Convert it first: polars.DataFrame(data), for Dask frame.compute().",
    )
