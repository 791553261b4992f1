"""Which columns say whose record a row is and what it adds, and how many rows units have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import check_labelled
from puffer_frames.frames.roles import check_labels, complete_plan
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret


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

    def clipped(self, values: FloatArray, rows: NDArray[Any], /) -> tuple[FloatArray, float]:
        """Values within the bounds, and the share of the rows that are beyond them; so many rows have each value."""
        if self.value is None or not values.size:
            return values, 0.0
        beyond = (values < self.low) | (values > self.high)
        return values.clip(self.low, self.high), float(rows[beyond].sum() / rows.sum())


def check_unit(dtype: nw.dtypes.DType, what: str, /) -> None:
    """Raise ArgumentTypeError for a column of other labels than those that a plan compares: not for floats."""
    check_labels(dtype, what, floats=False)


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


UNIT = "unit"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSizes:
    """What a group-by of the units finds."""

    largest: int
    """Rows of a unit at most; 0 where there is no row."""
    smallest: int
    """Rows of a unit at least."""
    mixed: frozenset[str]
    """The columns of which some unit has two values."""


def unit_sizes(
    rows: Any, /, *, unit: str, groups: Mapping[str, str], values: Mapping[str, str], nulls: str
) -> UnitSizes:
    """Count the rows of each unit, and their different values, by narwhals in the engine that has the rows.

    - `rows`: With a column `UNIT`, and the others by plain names.
    - `unit`: Name of the column of units.
    - `groups`, `values` (mapping of plain name to name): Columns of secrets, whose missing entries are left out here,
      and of public values.
    - `nulls`: What becomes of rows without a unit: "drop" leaves them out.
    Raises PriorError for rows without a unit; ArgumentTypeError for units by floats, which a plan does not compare with
    whole numbers.
    """
    frame = nw.from_native(rows)
    check_unit(frame.collect_schema()[UNIT], f"the unit column {unit!r}")
    if nulls != "drop":
        counted = _one(frame.select(rows=nw.len(), known=nw.col(UNIT).count()))
        check_labelled(unit, int(counted["rows"]) - int(counted["known"]))
    frame = complete_plan(frame, (UNIT, *groups))
    columns = [*groups, *values]
    sizes = frame.group_by(UNIT).agg(
        nw.len().alias("rows"), *(nw.col(alias).n_unique().alias(f"different_{alias}") for alias in columns)
    )
    found = _one(
        sizes.select(
            nw.col("rows").max().alias("largest"),
            nw.col("rows").min().alias("smallest"),
            *(nw.col(f"different_{alias}").max() for alias in columns),
        )
    )
    named = {**groups, **values}
    return UnitSizes(
        largest=int(found["largest"] or 0),
        smallest=int(found["smallest"] or 0),
        mixed=frozenset(named[alias] for alias in columns if int(found[f"different_{alias}"] or 0) > 1),
    )


def _one(frame: Any) -> dict[str, Any]:
    """The one row of a small lazy frame."""
    return frame.collect(backend="pyarrow").to_native().to_pylist()[0]
