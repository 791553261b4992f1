"""A frame in memory, opened when its rows are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from puffer_frames.errors import PufferWarning, RowOrderWarning
from puffer_frames.frames.cells import cells_of_rows
from puffer_frames.frames.coded import Coded, Numbered, some_entries
from puffer_frames.frames.columns import Frame, Name, NativeFrame, column
from puffer_frames.frames.draws import Draws
from puffer_frames.frames.local.answers import build_answers
from puffer_frames.frames.local.engine import LocalSecrets, LocalValues, count_codes, count_joint
from puffer_frames.frames.local.labels import Relabelled, coded_column, written
from puffer_frames.frames.local.looks import warn_of_kept, warn_of_order
from puffer_frames.frames.local.own import own_frame
from puffer_frames.frames.local.prepare import prepare, row_numbers
from puffer_frames.frames.local.series import read_series
from puffer_frames.frames.local.units import capped, local_unit_sizes, read_units
from puffer_frames.frames.local.write import build_release, check_index, real_values
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Roles, RowOrder, kind_of
from puffer_frames.frames.series.asked import SeriesColumns
from puffer_frames.frames.stamps.fingerprint import fingerprint
from puffer_frames.frames.summary import count_in_cells, count_levels, count_rows, count_values
from puffer_frames.frames.units.asked import UnitColumns
from puffer_frames.frames.units.sizes import UnitSizes
from puffer_frames.noise.adding import Reals
from puffer_frames.noise.draw import Draw, Levels
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.stream import Numbers
from puffer_frames.noise.usefulness import evenly
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import Summary
from puffer_frames.priors.unit_rows import UnitRows


@dataclass(frozen=True, slots=True)
class LocalTable(ABC):
    """A frame in memory; what depends on its library is in the class of that library."""

    native: NativeFrame
    """As it was given."""

    is_plan = False

    @classmethod
    def of(cls, frame: NativeFrame, /) -> Self:
        """Nothing is looked at yet."""
        return cls(frame)

    @property
    @abstractmethod
    def labels(self) -> Sequence[Name]:
        """Labels of the columns, as the frame has them."""

    @property
    def names(self) -> tuple[str, ...]:
        """The same as text."""
        return tuple(str(name) for name in self.labels)

    def kind_of(self, name: str, /) -> str:
        """By its dtype; a column of objects is looked at."""
        return kind_of(column(self.opened(), name).dtype)

    @abstractmethod
    def opened(self) -> Frame:
        """The frame as narwhals has it, its columns named by text.

        Raises ArgumentError for column labels that are equal as text; ForkedProcessError In a process that has no
        threads of Polars.
        """

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
        """The frame with a JSON-like dict attached."""

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

    def kept_levels(self) -> tuple[str, ...]:
        """The levels of its index, where a release that keeps it releases them."""
        return ()

    @abstractmethod
    def with_levels(self, *, known: Collection[str], rows: int) -> Self:
        """As `Table.with_levels`."""

    @abstractmethod
    def is_in_place(self, *, known: Collection[str]) -> bool:
        """As `Table.is_in_place`."""

    def by_place(self) -> Self:
        """In the order of an index that numbers its rows, where there is one."""
        return self

    def run(self) -> Self:
        """Its rows are there."""
        return self

    def in_memory(self) -> Self:
        """It is."""
        return self

    def fingerprint(self, *, like: str = "") -> str:
        """Of its columns."""
        return fingerprint(self.opened(), like=like)

    def complete(self, roles: Roles, /, *, nulls: str, layout: RowOrder | None) -> LocalRows:
        """Numbered by `row_id`, or else by position; a release requires a decision on a pandas index."""
        table = self.apart()
        opened = table.opened()
        if layout is not None:
            check_index(opened, layout.index)
        frame = prepare(opened, roles, nulls=nulls)
        if roles.capped is not None and roles.capped[0] in frame.columns:  # a table of a belief may have no units
            frame = capped(frame, *roles.capped)
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
            coded={name: coded_column(frame, name) for name in roles.coded},
            numbers=row_numbers(frame, roles),
        )

    def read_units(self, asked: UnitColumns, /) -> UnitRows:
        """The rows of every unit, as `units.read_units`."""
        return read_units(self.opened(), asked)

    def unit_sizes(self, *, unit: str, groups: Sequence[str], values: Sequence[str], nulls: str) -> UnitSizes:
        """From the rows of the units, as `units.local_unit_sizes`."""
        return local_unit_sizes(self.opened(), unit=unit, groups=groups, values=values, nulls=nulls)

    def read_series(self, asked: SeriesColumns, /) -> SeriesRows:
        """The series of every unit, as `series.read_series`."""
        return read_series(self.opened(), asked)

    def answers(self, *, labels: Mapping[str, Sequence[Any]], numbers: Mapping[str, Sequence[Any]]) -> NativeFrame:
        """A small frame of this kind, with columns of labels, each like the column of that name, and of numbers."""
        return self.as_given(build_answers(self.opened(), labels=labels, numbers=numbers, names=self.labels))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows:
    """Complete rows in memory."""

    frame: Frame
    """Where they are to be released, its columns that are read are nobody else's memory."""
    table: LocalTable
    """With all its rows."""
    names: tuple[str, ...]
    """Names of all columns of the frame."""
    roles: Roles
    layout: RowOrder
    nulls: str
    secrets: LocalSecrets
    coded: Mapping[str, Coded]
    """The columns of labels: they are read once, so that what is counted is what is released."""
    numbers: Numbers | None
    """Numbers of the rows; None for 0, 1, ..., n - 1."""

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """By group-bys of the frame's own library."""
        return {
            name: count_values(
                LocalValues.of(self.frame, self.secrets, name),
                groups=self.roles.groups,
                public=name,
                domain=domain.get(name),
            )
            for name in self.roles.numbers
        }

    def finer(self, name: str, width: float, domain: Bounds | None, /) -> Summary:
        """By a group-by."""
        values = LocalValues.of(self.frame, self.secrets, name)
        return count_in_cells(values, width, groups=self.roles.groups, public=name, domain=domain)

    def joint_counts(self, domain: Mapping[str, Bounds], widths: Mapping[str, float], /) -> JointCounts:
        """By one group-by of all columns."""
        names = self.roles.numbers
        counted = count_joint(self.frame, self.secrets, names, cells_of_rows(names, widths, domain))
        return count_rows(counted, groups=self.roles.groups, public=names, domain=domain, widths=widths)

    def level_counts(self, name: str, /) -> LevelCounts:
        """By a group-by of the secrets and the numbers of the levels."""
        coded = self.coded[name]
        counted = count_codes(self.secrets, coded.codes)
        levels = [coded.levels[code] for code in counted["value"].to_list()]
        return count_levels(counted, levels, groups=self.roles.groups, public=name, nulls=self.nulls)

    def entries(self, names: Sequence[str], most: int | None = None, /) -> dict[str, Coded | Numbered]:
        """Labels as they were counted."""
        labels = [name for name in names if name in self.roles.labels]
        coded = {name: self.coded.get(name) or coded_column(self.frame, name) for name in labels}
        columns = {name: coded.get(name) or column(self.frame, name).to_polars() for name in names}
        return some_entries(columns, most, coded=labels)

    def warnings(self, counts: Sequence[int], /) -> list[PufferWarning]:
        """By windows of neighbouring rows; all rows where these raise suspicion."""
        found = [] if self.layout.shuffle else self._warn_of_order(counts)
        return [*found, *warn_of_kept(self.frame, self.roles, keeps_index=self.layout.index == "keep")]

    def _warn_of_order(self, counts: Sequence[int]) -> list[RowOrderWarning]:
        codes = {name: coded.codes for name, coded in self.coded.items()}
        roles = self.roles.without_given()
        secrets = self.secrets if roles is self.roles else LocalSecrets.of(self.frame, roles.secret)
        return warn_of_order(self.frame, secrets, roles, codes, counts=counts)

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
        released = self.table.of(self.table.as_given(frame))
        levels = released.kept_levels() if self.layout.index == "keep" else ()
        return Released(
            frame=released.native,
            rows=rows,
            sample={name: evenly(values) for name, values in columns.items() if not isinstance(values, Relabelled)},
            fingerprint=(released.with_levels(known=levels, rows=rows) if levels else released).fingerprint(),
            levels=levels,
        )
