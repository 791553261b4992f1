"""A frame in memory, opened when its rows are asked for, and what is given back: noisy columns in, secret out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl

from puffer_frames.errors import ArgumentError, PufferWarning, RowOrderWarning
from puffer_frames.frames.arrow import in_level_order
from puffer_frames.frames.coded import Coded, Numbered, as_series, fits, in_order_of, natural, some_entries, used_levels
from puffer_frames.frames.columns import (
    Frame,
    Name,
    NativeFrame,
    check_column_names,
    check_depth,
    check_one_type,
    column,
)
from puffer_frames.frames.dates import has_dates, in_days, with_dates
from puffer_frames.frames.draws import Draws, Released
from puffer_frames.frames.forked import check_process
from puffer_frames.frames.levels import FIRST, are_in_place, check_level_names, is_trivial
from puffer_frames.frames.lists import as_lists, has_lists, in_texts, is_of_lists, list_texts, with_lists
from puffer_frames.frames.local.engine import LocalSecrets, LocalValues, count_codes, count_joint
from puffer_frames.frames.local.looks import warn_of_kept, warn_of_order
from puffer_frames.frames.local.own import (
    entries_alone,
    own_array,
    own_frame,
    own_index,
    own_labels,
    own_series,
    used_dtype,
)
from puffer_frames.frames.local.units import capped, local_unit_sizes, read_series, read_units
from puffer_frames.frames.roles import Roles, RowOrder, kind_of, prepare, row_numbers
from puffer_frames.frames.series import SeriesColumns
from puffer_frames.frames.stamps.fingerprint import fingerprint
from puffer_frames.frames.summary import levels_of
from puffer_frames.frames.tally import Cells, CompleteRows
from puffer_frames.frames.units import UnitColumns, UnitSizes
from puffer_frames.noise.adding import Codes, Draw, Levels, Reals
from puffer_frames.noise.channel import MOST_LEVELS
from puffer_frames.noise.stream import Numbers
from puffer_frames.noise.usefulness import sampled
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.priors.series_rows import SeriesRows, UnitRows
from puffer_frames.priors.summary import Level


def coded_column(frame: Frame, name: str, /, *, most: int = MOST_LEVELS) -> Coded:
    """A checked column; raises ArgumentError for too many levels, ArgumentTypeError for entries of several types."""
    entries = column(frame, name)
    native = entries.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        places = native.cat.codes.to_numpy()
        categories = nw.from_native(pd.Series(native.cat.categories), series_only=True)
        found = [*levels_of(categories, name=name), None]
        return Coded.numbered(np.where(places < 0, len(found) - 1, places), found, name=name, most=most)
    check_one_type(entries, f"the public column {name!r}")
    if has_lists(entries):
        return Coded.of(list_texts(entries.to_polars()), name=name, most=most)
    try:
        return Coded.of(entries.to_polars(), name=name, most=most)
    except UnicodeEncodeError:  # text that UTF-8 cannot hold, and that pandas 2.2 takes for equal
        numbers: dict[Level, int] = {}
        entry_of = [None if null else str.__str__(entry) for entry, null in zip(native, native.isna(), strict=True)]
        places = np.array([numbers.setdefault(entry, len(numbers)) for entry in entry_of], dtype=np.int64)
        return Coded.numbered(places, list(numbers), name=name, most=most)


@dataclass(frozen=True, slots=True, kw_only=True)
class Relabelled:
    """A released column of labels."""

    codes: Codes
    """Number of each row's output."""
    levels: Levels
    """The outputs."""
    name: str
    """The name of the column."""

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


def real_values(frame: Frame, name: str, /) -> Reals:
    """A checked public column as an array: of integers that are 64-bit floats too, or of these."""
    entries = column(frame, name)
    if entries.dtype.is_integer() and not isinstance(entries.dtype, (nw.Int128, nw.UInt128)):
        integers = np.asarray(entries.to_numpy())
        if integers.dtype.kind in "iu":
            return integers
    return np.asarray(entries.cast(nw.Float64).to_numpy(), dtype=np.float64)


def check_index(frame: Frame, index: str | None, /) -> None:
    """Require a decision on a pandas index that is not 0, 1, ..., n - 1.

    Raises ArgumentError for a non-trivial index and no decision, and for a kept level with the name of a column.
    """
    if index is None and frame.implementation.is_pandas() and not is_trivial(frame.to_native().index):
        raise ArgumentError(
            "the index of the frame",
            rule="0, 1, ..., n - 1, or decided on by Layout(index=...)",
            got=f"other labels ({type(frame.to_native().index).__name__}), as filtered and sorted frames have them",
            hint='Write Layout(index="drop") to number the rows anew, or "keep" to release the labels as they are.',
        )
    if index == "keep" and frame.implementation.is_pandas():
        check_level_names(frame.to_native())


def build_release(
    frame: Frame,
    native: NativeFrame,
    /,
    *,
    columns: Mapping[str, FloatArray | Relabelled],
    keep: Sequence[str],
    index: str | None,
    order: IndexArray | None,
) -> NativeFrame:
    """A new frame of the same library with the given columns and the kept ones, in the frame's order of columns.

    The columns are 64-bit floats of the column's own dtype family (NumPy, nullable or pyarrow in pandas), or labels in
    its own dtype. `order` rearranges the rows. `native` is the frame as it was given, with all its rows and labels. No
    memory is shared with either: what is dropped is gone.
    """
    names = [name for name in frame.columns if name in columns or name in keep]
    noisy = {name: _in_order(values, order) for name, values in columns.items()}
    if frame.implementation.is_pandas():
        return _pandas_release(frame, native, names, noisy=noisy, index=index, order=order)
    rows, found = frame.to_native(), dict[str, pl.Series]()
    for name in names:
        released = noisy.get(name)
        if isinstance(released, Relabelled):
            found[name] = released.as_polars(rows[name].dtype)
        else:
            found[name] = own_series(rows[name], order) if released is None else pl.Series(released)
    return pl.DataFrame(found)


def _pandas_release(
    frame: Frame,
    native: pd.DataFrame,
    names: Sequence[str],
    /,
    *,
    noisy: Mapping[str, FloatArray | Relabelled],
    index: str | None,
    order: IndexArray | None,
) -> pd.DataFrame:
    rows, all_names = frame.to_native(), list(frame.columns)
    places = [all_names.index(name) for name in names]
    labels = own_index(rows.index, order) if index == "keep" else pd.RangeIndex(len(rows))
    found: dict[int, pd.Series[Any]] = {}
    for place, name in zip(places, names, strict=True):
        released = noisy.get(name)
        if isinstance(released, Relabelled):
            array = released.as_pandas(rows.iloc[:, place].dtype)
            if isinstance(array.dtype, pd.ArrowDtype):
                given = rows.iloc[:, place].array.__arrow_array__()
                array = pd.arrays.ArrowExtensionArray(in_level_order(array.__arrow_array__(), given))
            found[place] = pd.Series(array, index=labels, dtype=array.dtype, copy=False)
        elif released is not None:
            dtype = frame[name].head(0).cast(nw.Float64).to_native().dtype
            found[place] = pd.Series(released, index=labels, dtype=dtype, copy=False)
        else:
            values = own_array(rows.iloc[:, place], order)
            found[place] = pd.Series(values, index=labels, dtype=values.dtype, copy=False)
    table = pd.DataFrame(found, index=labels, copy=False)
    table.columns = own_labels(native.columns[places])
    return table


def _in_order(values: FloatArray | Relabelled, order: IndexArray | None) -> FloatArray | Relabelled:
    """Without noise they are still those of the frame."""
    if isinstance(values, Relabelled):
        return values if order is None else replace(values, codes=values.codes[order])
    values = values if order is None else values[order]
    return values if values.flags.owndata else values.copy()


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
    series = [
        as_lists(entries, schema[name], levels=entries).alias(name)
        if is_of_lists(schema[name])
        else pl.Series(name, list(entries), dtype=schema[name])
        for name, entries in labels.items()
    ]
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


@dataclass(frozen=True, slots=True)
class LocalTable(ABC):
    """A frame in memory; what depends on its library is in the class of that library."""

    native: NativeFrame
    """As it was given."""

    is_plan = False
    """Whether a release of this kind is a plan that holds the raw rows, until it is run."""

    @classmethod
    def of(cls, frame: NativeFrame, /) -> Self:
        """Nothing is looked at yet."""
        return cls(frame)

    @property
    def labels(self) -> Sequence[Name]:
        """Labels of the columns, as the frame has them; no row of a plan is read."""
        return list(self.native.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.labels)

    def kind_of(self, name: str, /) -> str:
        """One of "labels" (text or categories), "booleans" and "numbers" (any other); raises KeyError for no column.

        By its dtype; a column of objects is looked at.
        """
        return "labels" if self.has_lists(name) else kind_of(column(self.opened(), name).dtype)

    def has_lists(self, name: str, /) -> bool:
        """Whether a column holds lists that can be released as labels."""
        return has_lists(column(self.opened(), name))

    def has_dates(self, name: str, /) -> bool:
        """Whether a column holds dates, or times."""
        return has_dates(column(self.opened(), name))

    def opened(self) -> Frame:
        """The frame as narwhals has it, its columns named by text.

        Raises ArgumentError for column labels that are equal as text, ArgumentTypeError for a type that Polars lacks;
        ForkedProcessError in a process that has no threads of Polars.
        """
        check_process()
        check_column_names(self.names)
        return nw.from_native(self.readable(), eager_only=True)

    @abstractmethod
    def readable(self) -> NativeFrame:
        """A Polars or pandas frame of the same rows, its columns named by text."""

    def apart(self) -> Self:
        """As a frame in which no column is set or taken away when that is done to the given one."""
        return self

    def as_given(self, frame: NativeFrame, /) -> NativeFrame:
        """A native frame of the library that this one is opened with, as one of its own kind."""
        return frame

    @abstractmethod
    def metadata(self) -> dict[str, Any] | None:
        """What `with_metadata` attached, or None."""

    @abstractmethod
    def with_metadata(self, metadata: dict[str, Any], /) -> NativeFrame:
        """The native frame with a JSON-like dict attached: the same one where its library allows that."""

    def values(self, name: str, /) -> FloatArray:
        """A column of 64-bit floats without missing ones."""
        return real_values(self.opened(), name).astype(np.float64)

    def coded(self, name: str, /) -> Coded:
        """A column of labels or whole numbers by its levels; raises ArgumentError for too many."""
        return coded_column(self.opened(), name)

    @abstractmethod
    def with_values(self, columns: Mapping[str, FloatArray], /) -> Self:
        """A new frame of this kind with other values in some columns of 64-bit floats; all else is as it was."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """The frame as a PyArrow table, for a file."""

    def in_days(self, names: Collection[str], /) -> LocalTable:
        """With days in place of the dates of some columns."""
        frame, dates = in_days(self.opened(), names)
        return replace(self, native=frame.to_native()) if dates else self

    def kept_levels(self) -> tuple[str, ...]:
        """The levels of its index, where a release that keeps it releases them."""
        return ()

    @abstractmethod
    def with_levels(self, *, known: Collection[str], rows: int) -> Self:
        """With the levels of a pandas index as columns, and without those that are no data.

        No data are 0, 1, ..., n - 1, and the numbers of the rows of a release of so many rows: what is left of them
        after a sort or a filter. A level with one of the `known` names is data.
        """

    def is_in_place(self, *, known: Collection[str]) -> bool:
        """Whether the labels of rows that `with_levels` leaves out are 0, 1, ..., n - 1, in this order.

        In any other order they are no data of the table, and still tell something: an order of the rows.
        """
        return FIRST not in self.names or FIRST in known or are_in_place(pl.Series(self.native[FIRST]))

    def by_place(self) -> Self:
        """In the order of an index that numbers its rows, where there is one."""
        return self

    def run(self) -> Self:
        """The same rows, in memory for a plan: they are asked for more than once."""
        return self

    in_memory = run

    def fingerprint(self, *, like: str = "") -> str:
        """What ties a certificate to the rows, to be compared with the fingerprint `like`."""
        return fingerprint(self.opened(), like=like)

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> LocalRows:
        """Check the columns and leave out incomplete rows for `nulls="drop"`; for "level" a missing label is a level.

        Rows with a layout can be released: each has a number that no other has and that does not change, by `row_id`,
        or else by position; a pandas index requires a decision. Raises ArgumentError for a layout that this frame
        cannot have.
        """
        table = self.apart()
        opened = table.opened()
        if layout is not None:
            check_index(opened, layout.index)
        frame, dates = in_days(opened, roles.numbers)
        frame, lists = in_texts(frame, roles.coded)
        frame, beyond = prepare(frame, roles, nulls=nulls), (0, 0)
        if roles.capped is not None and roles.capped[0] in frame.columns:  # a table of a belief may have no units
            of = len(frame)
            frame = capped(frame, *roles.capped)
            beyond = (of - len(frame), of)
        for name in roles.keep if layout is not None else ():
            check_depth(column(frame, name), name=name)
        if layout is not None:  # what is counted is what is released, whoever writes to the given frame meanwhile
            frame = own_frame(frame, [*roles.numbers, *roles.secret, *([roles.row_id] if roles.row_id else [])])
        return LocalRows(
            frame=frame,
            table=table,
            names=tuple(opened.columns),
            roles=roles,
            layout=layout or RowOrder(),
            nulls=nulls,
            secrets=LocalSecrets.of(frame, roles.secret),
            coded={name: coded_column(frame, name, most=roles.most_levels) for name in roles.coded},
            numbers=row_numbers(frame, roles),
            dates=dates,
            lists=lists,
            beyond=beyond,
        )

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """What units add; of a plan each different contribution once, unless units are asked for by name.

        Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing values, an empty frame, and a unit in
        two groups.
        """
        return read_units(self.opened(), asked)

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """How many rows the units have, and in which of the columns their rows differ. Rows without a unit, or with a
        missing group, are left out for `nulls="drop"`; else a missing unit is a PriorError.
        """
        frame, _ = in_days(self.opened(), values)
        return local_unit_sizes(frame, unit=unit, groups=groups, values=values, nulls=nulls)

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """The pieces of the series of all units, and counts of their states.

        Raises ArgumentError, ArgumentTypeError, PriorError for dtypes, missing entries, an empty frame, a time that
        occurs twice, times without a usual step or between two of its multiples, and a state that is not listed.
        """
        return read_series(self.opened(), asked)

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """A small frame in memory, with columns of labels, each like the column of that name, and of numbers."""
        return self.as_given(build_answers(self.opened(), labels=labels, numbers=numbers, names=self.labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows(CompleteRows):
    """Complete rows in memory."""

    frame: Frame
    """The frame; if it is to be released, nobody else holds the memory of the columns that are read."""
    table: LocalTable
    """With all its rows."""
    layout: RowOrder
    secrets: LocalSecrets
    coded: Mapping[str, Coded]
    """The columns of labels: they are read once, so that what is counted is what is released."""
    numbers: Numbers | None
    """Numbers of the rows; None for 0, 1, ..., n - 1."""
    lists: Mapping[str, pl.DataType]
    """Dtypes of the columns of texts that are lists in the table."""

    def values_of(self, name: str, /) -> LocalValues:
        return LocalValues.of(self.frame, self.secrets, name)

    def counted(self, names: Mapping[str, str], cells: Mapping[str, Cells], /) -> nw.DataFrame[Any]:
        return count_joint(self.frame, self.secrets, names, cells)

    def counted_levels(self, name: str, /) -> tuple[nw.DataFrame[Any], Sequence[Level]]:
        coded = self.coded[name]
        counted = count_codes(self.secrets, coded.codes)
        return counted, [coded.levels[code] for code in counted["value"].to_list()]

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        labels = [name for name in names if name in self.roles.labels]
        coded = {name: self.coded.get(name) or coded_column(self.frame, name) for name in labels}
        columns = {name: coded.get(name) or column(self.frame, name).to_polars() for name in names}
        return some_entries(columns, most, coded=labels)

    def warnings(self, counts: Sequence[int], draws: Callable[[], Sequence[Draw]], /) -> list[PufferWarning]:
        """By windows of neighbouring rows; all rows where these raise suspicion."""
        found = [] if self.layout.shuffle else self._warn_of_order(counts)
        keeps_index, in_order = self.layout.index == "keep", not self.layout.shuffle
        asked = {"keeps_index": keeps_index, "in_order": in_order}
        return [*found, *warn_of_kept(self.frame, self.roles, **asked, read=self._read, draws=draws)]

    def _warn_of_order(self, counts: Sequence[int]) -> list[RowOrderWarning]:
        roles = self.roles.without_given()
        secrets = self.secrets if roles is self.roles else LocalSecrets.of(self.frame, roles.secret)
        return warn_of_order(self.frame, secrets, roles, self.coded, counts=counts)

    def _read(self, name: str, levels: Levels | None) -> Reals:
        """A column as a draw reads it: numbers without a copy, labels as they were counted."""
        if levels is None:
            return real_values(self.frame, name)
        if name not in self.coded and name in self.roles.secret:
            return self.secrets.codes(self.roles.secret.index(name), levels, name=name)
        return (self.coded.get(name) or coded_column(self.frame, name)).among(levels, name=name)

    def values(self, name: str, /) -> FloatArray:
        """A public column of numbers, as a release rounds it to the grid."""
        return real_values(self.frame, name).astype(np.float64)

    def is_kept_in(self, released: LocalTable, /, *, kept: Collection[str]) -> bool:
        """Whether kept columns and levels of a release of these rows, in their order, are those of this frame."""
        if not kept:
            return True
        index = "keep" if set(kept) - set(self.roles.keep) else None
        own = build_release(self.frame, self.table.native, columns={}, keep=self.roles.keep, index=index, order=None)
        tables = (self.table.of(self.table.as_given(own)), released)
        found = [table.with_levels(known=kept, rows=len(self.frame)).opened() for table in tables]
        if any(not set(kept) <= set(frame.columns) for frame in found):
            return False
        first, second = (fingerprint(frame.select(list(kept))) for frame in found)
        return first == second

    def release(self, draws: Sequence[Draw], /) -> Released:
        """In memory, one pass per draw; the key of the release gives a random order too."""
        rows, found = len(self.frame), Draws.of(draws, public=self.roles.public)
        key, writes = found.key, found.writes
        found.check(self.coded)
        drawn = found.prepared()(self._read, self.numbers if key.numbers is None else key.numbers)
        columns = {name: written(values, writes[name], name=name) for name, values in drawn.items()}
        frame = build_release(
            self.frame,
            self.table.native,
            columns=columns,
            keep=self.roles.keep,
            index=self.layout.index,
            order=key.permutation(rows) if self.layout.shuffle else None,
        )
        released = self.table.of(self.table.as_given(with_lists(with_dates(frame, self.dates), self.lists, writes)))
        levels = released.kept_levels() if self.layout.index == "keep" else ()
        return Released(
            frame=released.native,
            rows=rows,
            sample={name: sampled(values) for name, values in columns.items() if not isinstance(values, Relabelled)},
            fingerprint=(released.with_levels(known=levels, rows=rows) if levels else released).fingerprint(),
            levels=levels,
        )
