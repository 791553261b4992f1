"""Which columns say whose record a row is, what it adds, and in which group it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.errors import ArgumentError, ColumnTypeError
from puffer_frames.frames.roles import check_labels
from puffer_frames.priors.prior import IndexArray, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitColumns:
    """What the rows of units are read by."""

    unit: str | None
    """Each row is a unit of its own without it."""
    value: str | None
    """What is added; rows are only counted without it."""
    by: tuple[str, ...]
    """The groups."""
    nulls: str
    """"raise" or "drop"."""
    low: float
    """Values are clipped to at least this,"""
    high: float
    """and to at most this."""
    named: bool
    """Whether units are asked for by name. Else an engine may give units that add the same as one of them."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels, that of the units first."""
        return (*([] if self.unit is None else [self.unit]), *self.by)

    @property
    def all(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.labels, *([] if self.value is None else [self.value]))


def check_unit(dtype: nw.dtypes.DType, what: str, /) -> None:
    """Raise ArgumentTypeError for a column of other labels than those that a plan compares: not for floats."""
    check_labels(dtype, what)
    if dtype.is_float():
        raise ColumnTypeError(
            what,
            rule="of strings, categories, booleans or integers",
            got=f"dtype {type(dtype).__name__}",
            hint="Convert it to integers first.",
        )


def check_one_group(*, differ: bool) -> None:
    """Raise ArgumentError where the rows of some unit differ in their group."""
    if differ:
        raise ArgumentError(
            "by",
            rule="columns in which all rows of a unit agree",
            got="a unit with rows in two groups",
            hint="A unit may be counted once: give it the group of its first row, or leave by out.",
        )


def group_units(
    parts: Sequence[tuple[IndexArray, Sequence[Secret]]], /, *, units: int
) -> tuple[list[tuple[Secret, ...]], IndexArray]:
    """Names of the groups, and the number of the group of each unit.

    `parts` are, of each column of groups, the number of each unit's label, and the labels in ascending order.
    """
    if not parts:
        return [()], np.zeros(units, dtype=np.intp)
    found, group_of = np.unique(np.stack([codes for codes, _ in parts], axis=1), axis=0, return_inverse=True)
    names = [tuple(labels[code] for code, (_, labels) in zip(row, parts, strict=True)) for row in found]
    return names, group_of.reshape(-1)
