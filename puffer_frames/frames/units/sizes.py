"""How many rows units have, and in which columns these differ: of a plan by one group-by where its rows lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from puffer_frames.frames.columns import check_labelled
from puffer_frames.frames.units.asked import check_unit

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
    schema = frame.collect_schema()
    check_unit(schema[UNIT], f"the unit column {unit!r}")
    if nulls != "drop":
        counted = _one(frame.select(rows=nw.len(), known=nw.col(UNIT).count()))
        check_labelled(unit, int(counted["rows"]) - int(counted["known"]))
    for alias in (UNIT, *groups):
        frame = frame.filter(~nw.col(alias).is_null())
        if schema[alias].is_float():
            frame = frame.filter(~nw.col(alias).is_nan())
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


def plain_names(groups: Sequence[str], values: Sequence[str], /) -> tuple[dict[str, str], dict[str, str]]:
    """Plain names of columns, in which no engine finds a pattern, with what they stand for."""
    return {f"group_{k}": name for k, name in enumerate(groups)}, {f"value_{k}": name for k, name in enumerate(values)}


def _one(frame: Any) -> dict[str, Any]:
    """The one row of a small lazy frame."""
    found: dict[str, Any] = frame.collect(backend="pyarrow").to_native().to_pylist()[0]
    return found
