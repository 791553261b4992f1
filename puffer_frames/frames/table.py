"""A native frame as a release needs it: one interface to frames in memory, plans and Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from puffer_frames.frames.columns import Frame, NativeFrame, is_lazy, is_spark, labels_of, open_frame
from puffer_frames.frames.engine import LocalSecrets, LocalValues
from puffer_frames.frames.fingerprint import fingerprint
from puffer_frames.frames.lazy import LazyTable
from puffer_frames.frames.prepare import prepare, row_numbers, run_share
from puffer_frames.frames.released import Released
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.summary import Summary, count_values
from puffer_frames.frames.write import as_given, build_release, check_index, float_values
from puffer_frames.mechanism import Mechanism
from puffer_frames.noise.stream import Numbers
from puffer_frames.postprocessing import Bounds


class CompleteRows(Protocol):
    """The complete rows of the columns of one request."""

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """What the rows say of each public column; raises PriorError, ArgumentTypeError."""

    def run_share(self, counts: Sequence[int], /) -> float | None:
        """Share of the runs of equal secrets that a random order has; None for rows without an order."""

    def release(self, mechanisms: Mapping[str, Mechanism], /) -> Released:
        """The public columns with noise and the kept ones, in the frame's order of columns."""


class Table(Protocol):
    """A native frame whose rows were not looked at."""

    def complete(self, roles: Roles, /, *, nulls: str, layout: Layout | None) -> CompleteRows:
        """Check the columns and leave out incomplete rows for `nulls="drop"`.

        Rows with a layout can be released: each has a number that no other has and that does not change. Raises
        ArgumentError for a layout that this frame cannot have.
        """


def open_table(frame: NativeFrame, /) -> Table:
    """Wrap a pandas, Polars, PyArrow or Spark frame.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        For any other object, and for column labels that are equal as text.
    """
    if is_spark(frame):
        from puffer_frames.frames.spark import SparkTable

        return SparkTable.of(frame)
    if is_lazy(frame):
        return LazyTable.of(frame)
    return LocalTable(frame=open_frame(frame), native=frame)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTable:
    """A frame in memory."""

    frame: Frame
    native: NativeFrame
    """As it was given."""

    def complete(self, roles: Roles, /, *, nulls: str, layout: Layout | None) -> LocalRows:
        """Numbered by `row_id`, or else by position; a release requires a decision on a pandas index."""
        if layout is not None:
            check_index(self.frame, layout.index)
        frame = prepare(self.frame, roles, nulls=nulls)
        return LocalRows(
            frame=frame,
            native=self.native,
            roles=roles,
            layout=layout or Layout(),
            secrets=LocalSecrets.of(frame, roles.secret),
            numbers=row_numbers(frame, roles),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalRows:
    """Complete rows in memory."""

    frame: Frame
    native: NativeFrame
    roles: Roles
    layout: Layout
    secrets: LocalSecrets
    numbers: Numbers | None
    """Numbers of the rows; None for 0, 1, ..., n - 1."""

    def summaries(self, domain: Mapping[str, Bounds], /) -> dict[str, Summary]:
        """By group-bys of the frame's own library."""
        return {
            name: count_values(
                LocalValues.of(self.frame, self.secrets, name),
                secret=self.roles.secret,
                public=name,
                domain=domain.get(name),
            )
            for name in self.roles.public
        }

    def run_share(self, counts: Sequence[int], /) -> float:
        """As `prepare.run_share`."""
        return run_share(self.secrets, counts=counts)

    def release(self, mechanisms: Mapping[str, Mechanism], /) -> Released:
        """In memory, one pass per column; the key of the release gives a random order too."""
        rows = len(self.frame)
        key = next(iter(mechanisms.values())).key
        frame = build_release(
            self.frame,
            columns={
                name: mechanism.prepared()(float_values(self.frame, name), self.numbers)
                for name, mechanism in mechanisms.items()
            },
            keep=self.roles.keep,
            index=self.layout.index,
            order=key.permutation(rows) if self.layout.shuffle else None,
            labels=labels_of(self.native),
        )
        return Released(frame=as_given(frame, self.native), rows=rows, fingerprint=fingerprint(frame))
