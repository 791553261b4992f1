"""A native frame as the library needs it: one interface to every kind of frame, and the list of the kinds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentTypeError
from puffer_frames.frames.columns import Name, NativeFrame
from puffer_frames.frames.dates import days_of
from puffer_frames.frames.lists import is_of_lists, list_texts
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.series import SeriesColumns
from puffer_frames.frames.tally import CompleteRows as CompleteRows  # beside the table that it is of
from puffer_frames.frames.units import UnitColumns, UnitSizes
from puffer_frames.numbers.arguments import check_word
from puffer_frames.priors.series_rows import SeriesRows, UnitRows


class Table(Protocol):
    """A native frame of some kind, whose rows were not looked at."""

    @property
    def labels(self) -> Sequence[Name]:
        """Labels of the columns, as the frame has them; no row of a plan is read."""

    @property
    def names(self) -> tuple[str, ...]:
        """The same as text."""

    @property
    def is_plan(self) -> bool:
        """Whether a release of this kind is a plan that holds the raw rows, until it is run."""

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> CompleteRows:
        """Check the columns and leave out incomplete rows for `nulls="drop"`; for "level" a missing label is a level.

        Rows with a layout can be released: each has a number that no other has and that does not change. Raises
        ArgumentError for a layout that this frame cannot have.
        """

    def kind_of(self, name: str, /) -> str:
        """One of "labels" (text or categories), "booleans" and "numbers" (any other); raises KeyError for no column."""

    def has_lists(self, name: str, /) -> bool:
        """Whether a column holds lists that can be released as labels."""

    def has_dates(self, name: str, /) -> bool:
        """Whether a column holds dates, or times."""

    def in_memory(self) -> LocalTable:
        """The same rows in memory, where the rows of units and series are read; ArgumentTypeError where that is not
        done.
        """

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """How many rows the units have, and in which of the columns their rows differ. Rows without a unit, or with a
        missing group, are left out for `nulls="drop"`; else a missing unit is a PriorError.
        """

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """What units add; of a plan each different contribution once, unless units are asked for by name.

        Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing values, an empty frame, and a unit in
        two groups.
        """

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """The pieces of the series of all units, and counts of their states.

        Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing entries, an empty frame, a time that
        occurs twice, times without a usual step or between two of its multiples, and a state that is not listed.
        """

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """A small frame in memory, with columns of labels, each like the column of that name, and of numbers."""

    def run(self) -> Table:
        """The same rows, in memory for a plan: they are asked for more than once."""

    def fingerprint(self, *, like: str = "") -> str:
        """What ties a certificate to the rows, to be compared with the fingerprint `like`."""

    def metadata(self) -> dict[str, Any] | None:
        """What `with_metadata` attached, or None."""

    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """The native frame with a JSON-like dict attached: the same one where its library allows that."""

    def with_levels(self, *, known: Collection[str], rows: int) -> Table:
        """With the levels of a pandas index as columns, and without those that are no data.

        No data are 0, 1, ..., n - 1, and the numbers of the rows of a release of so many rows: what is left of them
        after a sort or a filter. A level with one of the `known` names is data.
        """

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Whether the labels of rows that `with_levels` leaves out are 0, 1, ..., n - 1, in this order.

        In any other order they are no data of the table, and still tell something: an order of the rows.
        """


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
