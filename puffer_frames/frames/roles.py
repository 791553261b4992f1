"""What the columns of a release are for, and the rows that are complete in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentError, ColumnTypeError, PriorError
from puffer_frames.frames.columns import (
    Frame,
    check_one_type,
    check_rows,
    column,
    missing,
    not_found,
    rows_text,
    to_numbers,
)
from puffer_frames.noise.channel import MOST_LEVELS
from puffer_frames.noise.stream import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """What becomes of the order of the rows, and of a pandas index."""

    index: str | None = None
    """"keep", "drop", or no decision."""
    shuffle: bool = False
    """Whether the rows come in a random order."""

    def __post_init__(self) -> None:
        if self.index is not None and not (isinstance(self.index, str) and self.index in ("keep", "drop")):
            got = repr(self.index) if isinstance(self.index, (str, int, float)) else f"a {type(self.index).__name__}"
            raise ArgumentError("index", rule='"keep", "drop" or None', got=got, hint='Write Layout(index="drop").')
        if self.shuffle and self.index == "keep":
            raise ArgumentError(
                "index",
                rule='None or "drop" beside shuffle=True: a kept index tells the order of the rows',
                got='"keep"',
                hint='Write index="drop", or leave out shuffle.',
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Names of columns, by what is done with them."""

    secret: tuple[str, ...]
    """Dropped; last the given columns, for rows are counted per secret and stratum."""
    public: tuple[str, ...]
    """Released with noise."""
    keep: tuple[str, ...] = ()
    """Released as they are; last the given columns."""
    given: tuple[str, ...] = ()
    """Columns on which the guarantee conditions: their joint value is the stratum of a row."""
    counted: tuple[str, ...] = ()
    """Public columns of labels by which rows are counted as by secrets; they stand last among these."""
    row_id: str | None = None
    """Numbers the rows, if any does: the noise follows it."""
    coded: tuple[str, ...] = ()
    """The public columns that hold labels; the others hold numbers."""
    most_levels: int = MOST_LEVELS
    """They may have so many different ones."""
    capped: tuple[str, int] | None = None
    """A column that names the unit of each row, and how many rows of one are used: of more, some at random. A frame
    without it, the rows of a belief, is used whole.
    """

    @classmethod
    def of(
        cls,
        *,
        secret: tuple[str, ...],
        public: tuple[str, ...],
        given: tuple[str, ...] = (),
        keep: tuple[str, ...] = (),
        row_id: str | None = None,
        coded: tuple[str, ...] = (),
    ) -> Roles:
        """With the given columns where they belong."""
        return cls(
            secret=(*secret, *given), public=public, keep=(*keep, *given), given=given, row_id=row_id, coded=coded
        )

    def counting(self, labels: tuple[str, ...], /) -> Roles:
        """With public columns of labels, of which all but one where there are no numbers are counted as secrets are."""
        numbers = [name for name in self.public if name not in labels]
        counted = labels if numbers else labels[1:]
        return replace(self, secret=(*self.secret, *counted), coded=labels, counted=counted)

    def without_given(self) -> Roles:
        """For what kept columns, or the order, tell of the secret alone, or of a public column."""
        if self.own == len(self.secret):
            return self
        return replace(self, secret=self.secret[: self.own], given=(), counted=())

    @property
    def own(self) -> int:
        """How many of the secret columns are secret."""
        return len(self.secret) - len(self.given) - len(self.counted)

    @property
    def groups(self) -> tuple[str, ...]:
        """The columns that rows are counted by, in words."""
        roles = ["secret"] * self.own + ["given"] * len(self.given) + ["public"] * len(self.counted)
        return tuple(f"the {role} column {name!r}" for role, name in zip(roles, self.secret, strict=True))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns that hold labels, secret and public ones."""
        return (*self.secret, *self.coded)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The public columns that hold numbers."""
        return tuple(name for name in self.public if name not in self.coded)

    def plain(self, *roles: str) -> dict[str, str]:
        """The names of the columns by plain ones, in which no engine finds a pattern: `secret_0`, ..., `public_0`, ...

        Of the secret, public and kept columns, or of some of these.
        """
        named = {"secret": self.secret, "public": self.public, "keep": self.keep}
        return {f"{role}_{k}": name for role in roles or named for k, name in enumerate(named[role])}

    def read_as(self, names: Iterable[str], /) -> dict[str, str]:
        """The plain names of columns that a draw reads, by their own: of a kept column as it is kept."""
        found = {name: alias for role in ("secret", "keep", "public") for alias, name in self.plain(role).items()}
        return {name: found[name] for name in names}

    def check_names(self, columns: Sequence[str], /) -> None:
        """Check that the columns exist and that their roles do not overlap.

        Raises ColumnNotFoundError, ArgumentError.
        """
        self._check_given()
        own = self.secret[: self.own]
        named = {"secret": own, "given": self.given, "public": self.public, "keep": self.keep}
        for role, name in ((role, name) for role, names in named.items() for name in names):
            if name not in columns:
                raise not_found(role, name, columns)
        if not self.own or not self.public:
            role = "public" if self.own else "secret"
            raise ArgumentError(role, rule="the name of a column", got="none", hint=f'Write {role}="column".')
        for name in self.public:
            if name in self.secret[: self.own]:
                raise ArgumentError(
                    "public",
                    rule="another column than the secret",
                    got=f"{name!r} for both",
                    hint="The public column is released with noise, the secret is dropped: name two columns.",
                )
        for role, names in named.items():  # after that: a public column of labels is among the secret ones, too
            if len(set(names)) < len(names):
                raise ArgumentError(
                    role, rule="different columns", got="one named twice", hint="Name each column once."
                )
        for name in self.keep:
            if (name in self.secret and name not in self.given) or name in self.public:
                raise ArgumentError(
                    "keep",
                    rule="columns other than the secret and the public one",
                    got=repr(name),
                    hint="A kept column is released as it is; leave this one out of keep.",
                )
        if self.row_id in (*self.secret, *self.public):
            raise ArgumentError(
                "row_id",
                rule="another column than the secret and the public one",
                got=repr(self.row_id),
                hint="Name a column that tells the rows apart, such as a record number.",
            )

    def _check_given(self) -> None:
        for name in self.given:
            if self.given.count(name) > 1:
                raise ArgumentError(
                    "given", rule="different columns", got="one named twice", hint="Name each column once."
                )
            if self.secret.count(name) > 1 or name in self.public or self.keep.count(name) > 1:
                raise ArgumentError(
                    "given",
                    rule="columns other than the secret, the public and the kept ones",
                    got=repr(name),
                    hint="A given column is released as it is; name it only there.",
                )

    def check_dtypes(self, schema: Mapping[str, nw.dtypes.DType], /) -> None:
        """Check that secrets and coded columns hold labels, other public ones numbers, and row numbers are integers.

        Raises ArgumentTypeError.
        """
        for name, what in zip(self.secret, self.groups, strict=True):
            check_labels(schema[name], what)
        for name in self.coded:
            check_labels(schema[name], f"the public column {name!r}")
        for name in self.numbers:
            check_numbers(schema[name], name, role="public")
        self.check_row_id(schema)

    def check_row_id(self, schema: Mapping[str, nw.dtypes.DType], /) -> None:
        """Raise ArgumentTypeError unless the column that numbers the rows holds integers, or there is none."""
        if self.row_id is not None and not schema[self.row_id].is_integer():
            raise ColumnTypeError(
                f"the row_id column {self.row_id!r}",
                rule="of integers",
                got=f"dtype {type(schema[self.row_id]).__name__}",
                hint="Number the rows with integers, from a source that does not change.",
            )

    def check_numbers(self, *, missing: int, repeated: int, outside: bool) -> None:
        """Check what was found in the column that numbers the rows.

        Raises ArgumentError for rows without a number, with that of another row, or with one that 64 bits do not hold.
        """
        got = f"{rows_text(missing)} without one" if missing else f"{rows_text(repeated)} with that of another"
        if missing or repeated or outside:
            raise ArgumentError(
                f"the row_id column {self.row_id!r}",
                rule="a different integer of 64 bits in every row",
                got=got if missing or repeated else "larger integers",
                hint="Name a column that tells the rows apart: equal numbers would have equal noise.",
            )


def kind_of(dtype: nw.dtypes.DType, /) -> str:
    """The word "labels", "booleans", or "numbers" for any other dtype."""
    return "booleans" if isinstance(dtype, nw.Boolean) else "labels" if is_of_labels(dtype) else "numbers"


def is_of_labels(dtype: nw.dtypes.DType, /) -> bool:
    """Whether a column of this dtype holds text, categories or booleans."""
    return isinstance(dtype, (nw.String, nw.Categorical, nw.Enum, nw.Boolean))


def check_labels(dtype: nw.dtypes.DType, what: str, /, *, floats: bool = True) -> None:
    """Raise ArgumentTypeError unless a column of this dtype holds labels; floats may still be whole numbers."""
    if not (is_of_labels(dtype) or dtype.is_integer() or (floats and dtype.is_float())):
        raise ColumnTypeError(
            what,
            rule="of strings, categories, booleans or integers",
            got=f"dtype {type(dtype).__name__}",
            hint=f"Convert it to {'integers' if dtype.is_float() else 'strings'} first.",
        )


def check_numbers(dtype: nw.dtypes.DType, name: str, /, *, role: str) -> None:
    """Raise ArgumentTypeError unless a column of this dtype holds numbers or booleans."""
    if not (dtype.is_integer() or dtype.is_float() or isinstance(dtype, nw.Boolean)):
        raise ColumnTypeError(
            f"the {role} column {name!r}",
            rule="of integers, floats or booleans",
            got=f"dtype {type(dtype).__name__}",
            hint=to_numbers(name, dtype, role=role),
        )


def check_distinct(roles: Mapping[str, Sequence[str]], /) -> None:
    """Raise ArgumentError where one column has two roles."""
    seen: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in seen:
                raise ArgumentError(
                    role,
                    rule=f"another column than {seen[name]}",
                    got=f"{name!r} for both" if seen[name] != role else f"{name!r} twice",
                    hint="Name each column once.",
                )
            seen[name] = role


def prepare(frame: Frame, roles: Roles, /, *, nulls: str) -> Frame:
    """Check columns and dtypes; leave out the rows with a missing secret or public value for `nulls="drop"`.

    Raises ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError.
    """
    check_nulls(nulls, roles)
    roles.check_names(frame.columns)
    check_rows(len(frame))
    roles.check_dtypes(frame.schema)
    for what, name in zip(roles.groups, roles.secret, strict=True):
        if isinstance(frame.schema[name], nw.String):
            check_one_type(column(frame, name), what)
    names, entry = (*roles.secret, *roles.public), "a secret or public value"
    return complete_rows(frame, names, entry=entry) if nulls == "drop" else frame


def complete_rows(frame: Frame, names: Sequence[str], /, *, entry: str = "an entry") -> Frame:
    """The rows of a frame in memory without a missing entry in these columns; PriorError where there is none."""
    whole = np.ones(len(frame), dtype=bool)
    for name in names:
        whole &= ~missing(column(frame, name))
    if not whole.any():
        raise no_complete_row(entry)
    return frame if whole.all() else frame.filter(whole.tolist())


def complete_plan(frame: Any, names: Iterable[str], /) -> Any:
    """The same of a lazy frame of narwhals."""
    schema = frame.collect_schema()
    for name in names:
        there = ~nw.col(name).is_null()
        frame = frame.filter(there & ~nw.col(name).is_nan() if schema[name].is_float() else there)
    return frame


def check_nulls(nulls: str, roles: Roles, /) -> None:
    """Raise ArgumentError unless the word is "raise" or "drop", or "level" where all public columns hold labels."""
    if nulls in ("raise", "drop") or (nulls == "level" and not roles.numbers):
        return
    if nulls == "level":
        raise no_level("where a public column holds numbers")
    rule = '"raise" or "drop"' if roles.numbers else '"raise", "drop" or "level"'
    raise ArgumentError("nulls", rule=rule, got=repr(nulls), hint=_DEFAULT)


_DEFAULT = 'Leave it out for "raise".'


def no_level(where: str, /) -> ArgumentError:
    """The error of missing entries that cannot be a level."""
    hint = f'{_DEFAULT} Whole tables take them as a level: name two columns or more, and say mechanism="sequential".'
    return ArgumentError("nulls", rule=f'"raise" or "drop" {where}', got="'level'", hint=hint)


def no_complete_row(entry: str = "a secret or public value", /) -> PriorError:
    """The error of a frame whose rows are all left out, for such an entry is missing."""
    return PriorError(
        "the frame",
        rule="of at least one complete row",
        got=f"rows that all miss {entry}",
        hint="Check how the file was read.",
    )


def row_numbers(frame: Frame, roles: Roles, /) -> Numbers | None:
    """The numbers of the rows, of a checked dtype; None where no column names them.

    Raises ArgumentError unless every row has one of its own, of 64 bits.
    """
    if roles.row_id is None:
        return None
    entries = column(frame, roles.row_id)
    null = missing(entries)
    outside = not null.all() and not -(2**63) <= int(entries.min()) <= int(entries.max()) < 2**63
    roles.check_numbers(missing=int(null.sum()), repeated=0, outside=outside)
    numbers = np.asarray(entries.cast(nw.Int64).to_numpy(), dtype=np.int64)
    roles.check_numbers(missing=0, repeated=numbers.size - np.unique(numbers).size, outside=False)
    return numbers
