"""From selections of columns to names: nothing behind this door knows of selectors, functions or the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import REST, Name, NativeFrame, as_names, selected
from puffer_frames.mechanisms.arguments import TableArguments, check_layout
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata

Arguments = TypeVar("Arguments", bound=TableArguments)


def with_names(arguments: Arguments, frame: NativeFrame, labels: Sequence[Name], /) -> Arguments:
    """The arguments with names of columns in place of selections, and of the rest.

    Raises
    ------
    ColumnNotFoundError, ArgumentError, ArgumentTypeError
        For what selects no column of this frame, and where there is no rest.
    """
    layout = check_layout(getattr(arguments, "layout", None))
    roles = {"secret": arguments.secret, "given": arguments.given, "keep": layout.keep, "public": arguments.public}
    asked = {role: selected(names, frame, labels, role=role) for role, names in roles.items()}
    public = asked["public"]
    if isinstance(public, (str, list)) and public in (REST, [REST]) and REST not in map(str, labels):
        asked["public"] = _rest(arguments, labels, asked | {"row_id": layout.row_id})
    kept: dict[str, Any] = {"layout": replace(layout, keep=asked.pop("keep"))}
    return replace(arguments, **asked, **(kept if hasattr(arguments, "layout") else {}))


def _rest(arguments: TableArguments, labels: Sequence[Name], asked: dict[str, Any]) -> list[Name]:
    """The columns without another role, in the frame's order."""
    given = asked["given"]
    others = {
        "secret": asked["secret"],
        "given": given.columns if isinstance(given, Strata) else given,
        "keep": asked["keep"],
        "unit": arguments.unit.column if isinstance(arguments.unit, Unit) else (),
        "row_id": () if asked["row_id"] is None else asked["row_id"],
    }
    taken = {name for role, names in others.items() for name in as_names(names, labels, role=role)}
    rest = [label for label in labels if str(label) not in taken]
    if not rest:
        raise ArgumentError(
            "public",
            rule="a column besides the secret, given, kept, unit and row_id ones",
            got="a frame without another one",
            hint="Name the columns to release, and leave them out of the other arguments.",
        )
    return rest
