"""How many rows a unit has, where several of them are protected together."""

from __future__ import annotations

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.table import Table
from puffer_frames.frames.units.sizes import UnitSizes
from puffer_frames.mechanisms.request import Request


def with_units(request: Request, table: Table, /, *, declared: bool = True) -> Request:
    """The request for units of at most as many rows as those of the table have, or as were declared.

    Raises
    ------
    ArgumentError
        For a unit with rows of two secrets, with more rows than were declared, and for rows that were said to be
        the same where they differ, or where units have different numbers of them.
    ArgumentTypeError, PriorError
        For a column that cannot name units, and rows without one.
    """
    unit = request.unit
    if unit is None:
        return request
    if unit.over == "sample" and not isinstance(table, LocalTable):
        raise ArgumentError(
            "unit",
            rule='Unit(..., over="raise") for a frame that is not in memory',
            got='over="sample"',
            hint="Leave out rows of large units first, or collect the frame.",
        )
    repeated = unit.rows == "repeated"
    values = request.public if repeated else ()
    found = table.unit_sizes(unit=unit.column, groups=request.secret, values=values, nulls=request.nulls)
    if found.mixed & set(request.secret):
        raise ArgumentError(
            f"the unit column {unit.column!r}",
            rule="one whose rows of a unit all have the same secret",
            got="a unit with two secrets",
            hint="Several rows can only protect a secret that they share: mend the table, or leave unit out.",
        )
    if repeated:
        _check_repeated(found)
    if unit.over == "sample":
        assert unit.most is not None
        return request.for_units(unit.most)
    most = unit.most if declared else None
    if most is not None and found.largest > most:
        raise ArgumentError(
            f"the unit column {unit.column!r}",
            rule=f"of at most {most} rows per unit",
            got="a unit with more",
            hint='Say over="sample" to use so many at random, or declare a larger number.',
        )
    return request.for_units(most or max(1, found.largest))


def _check_repeated(found: UnitSizes) -> None:
    """Raise ArgumentError where two rows of a unit differ in a public column, or units have other numbers of rows."""
    if found.mixed:
        raise ArgumentError(
            "unit",
            rule='Unit(..., rows="repeated") only where all rows of a unit hold the same values',
            got=f"a unit with two values of {min(found.mixed)!r}",
            hint='Say rows="independent", if they are so given the secret, or rows="any".',
        )
    if found.smallest < found.largest:  # else a unit would count as often as it has rows
        raise ArgumentError(
            "unit",
            rule='Unit(..., rows="repeated") only where all units have the same number of rows',
            got="units of different sizes",
            hint="Release one row of each unit instead: its rows are all the same.",
        )
