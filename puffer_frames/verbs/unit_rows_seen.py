"""How many rows a unit has, where several of them are protected together."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.frames.table import Table
from puffer_frames.priors.unit_rows import UnitRows
from puffer_frames.verbs.request import Request


def with_units(request: Request, table: Table, /, *, declared: bool = True) -> Request:
    """The request for units of at most as many rows as those of the table have, or as were declared.

    Raises
    ------
    ArgumentError
        For a unit with rows of two secrets, with more rows than were declared, and for rows that were said to be
        the same where they differ, or where units have different numbers of them.
    ArgumentTypeError
        For a table that is not in memory.
    """
    if request.unit is None:
        return request
    rows = _rows_of_units(request, table)
    if request.unit.rows == "repeated":
        _check_repeated(request, table)
    if request.unit.over == "sample":
        assert request.unit.most is not None
        return request.for_units(request.unit.most)
    most = request.unit.most if declared else None
    if most is not None and rows > most:
        raise ArgumentError(
            f"the unit column {request.unit.column!r}",
            rule=f"of at most {most} rows per unit",
            got="a unit with more",
            hint='Say over="sample" to use so many at random, or declare a larger number.',
        )
    return request.for_units(most or rows)


def _rows_of_units(request: Request, table: Table) -> int:
    """The largest number of rows of a unit; raises as `with_units`."""
    assert request.unit is not None
    if not isinstance(table, LocalTable):
        raise ArgumentTypeError(
            "the frame",
            rule="in memory where several rows of a unit are protected",
            got="a plan",
            hint="Collect it first.",
        )
    name = request.unit.column
    try:
        read = table.read_units(unit=name, value=None, by=request.secret, nulls=request.nulls, low=0.0, high=0.0)
    except ArgumentError:
        raise ArgumentError(
            f"the unit column {name!r}",
            rule="one whose rows of a unit all have the same secret",
            got="a unit with two secrets",
            hint="Several rows can only protect a secret that they share: mend the table, or leave unit out.",
        ) from None
    return int((read.starts[1:] - read.starts[:-1]).max())


def _check_repeated(request: Request, table: Table) -> None:
    """Raise ArgumentError where two rows of a unit differ in a public column."""
    assert request.unit is not None
    assert isinstance(table, LocalTable)
    for name in request.public:
        read = _same_rows(request, table, name)
        if read is None:
            raise ArgumentError(
                "unit",
                rule='Unit(..., rows="repeated") only where all rows of a unit hold the same values',
                got=f"a unit with two values of {name!r}",
                hint='Say rows="independent", if they are so given the secret, or rows="any".',
            )
        if np.ptp(np.diff(read.starts)):  # else a unit would count as often as it has rows
            raise ArgumentError(
                "unit",
                rule='Unit(..., rows="repeated") only where all units have the same number of rows',
                got="units of different sizes",
                hint="Release one row of each unit instead: its rows are all the same.",
            )


def _same_rows(request: Request, table: LocalTable, name: str) -> UnitRows | None:
    """The rows of units, where those of each hold one value of a column; None where they do not."""
    assert request.unit is not None
    unit, nulls = request.unit.column, request.nulls
    if name in request.labels:
        try:
            return table.read_units(unit=unit, value=None, by=(name,), nulls=nulls, low=0.0, high=0.0)
        except ArgumentError:
            return None
    read = table.read_units(unit=unit, value=name, by=(), nulls=nulls, low=-math.inf, high=math.inf)
    return read if (read.values[read.starts[:-1]] == read.values[read.starts[1:] - 1]).all() else None
