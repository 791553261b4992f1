"""The columns of a plan in a frame that it was not made from."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.columns import as_names
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import Table
from puffer_frames.mechanisms.request import Request
from puffer_frames.numbers.records import refused

KINDS = ("labels", "booleans", "numbers")
"""What a column may hold."""


def kinds_of(table: Table, request: Request, /) -> dict[str, str]:
    """What the secret, given and public columns of a request hold."""
    names = dict.fromkeys((*request.secret, *request.given_columns, *request.public))
    return {name: table.kind_of(name) for name in names}


def check_kinds(kinds: Mapping[str, str], request: Request, /) -> None:
    """Raise PlanFileError for kinds of other columns, or what is no kind."""
    known = {*request.secret, *request.given_columns, *request.public}
    if not set(kinds) <= known or not set(kinds.values()) <= set(KINDS):
        raise refused("kinds of other columns")


def check_columns(
    table: Table, request: Request, roles: Roles, /, *, kinds: Mapping[str, str], coded: Collection[str] = ()
) -> None:
    """Check that a frame has the columns of a plan, and that they hold what they held there.

    Parameters
    ----------
    table : Table
    request : Request
    roles : Roles
        What the columns are for in this frame.
    kinds : mapping of column to str
        Of the plan, as `kinds_of`.
    coded : collection of str
        Columns that are released through a channel: there truth values are labels, and not numbers.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError
        For a column with two roles.
    ArgumentTypeError
        For a column of labels that holds numbers, and the other way round.
    """
    roles.check_names(table.names)
    if request.unit is not None:
        as_names(request.unit.column, table.names, role="unit")
    for name, known in kinds.items():
        found = table.kind_of(name)
        both_numbers = {known, found} == {"booleans", "numbers"} and name not in coded
        if found != known and not both_numbers:
            role = "secret" if name in request.secret else "public" if name in request.public else "given"
            raise ColumnTypeError(
                f"the {role} column {name!r}",
                rule=f"of {known}, as in the plan",
                got=f"a column of {found}",
                hint="Convert it to what it was when the plan was made, or calibrate this frame.",
            )
