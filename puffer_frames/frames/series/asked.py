"""Which columns say what state a series is in, when, and whose it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.columns import rows_text
from puffer_frames.priors.prior import IndexArray, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesColumns:
    """What series are read by."""

    state: str
    time: str
    unit: str | None
    """All rows are one series without it."""
    states: Sequence[Secret] | None
    """All states in their order; None for the observed ones, ascending."""
    nulls: str
    """"raise" or "drop": rows without a state."""
    bridged: bool
    """Whether the chain runs on through the gaps."""
    each: bool
    """Whether the counts of each unit are asked for."""


def check_placed(name: str, missing: int, /, *, role: str) -> None:
    """Raise PriorError for rows that belong to no place of a series, so many."""
    if missing:
        raise PriorError(
            f"the {role} column {name!r}",
            rule="without nulls",
            got=f"{rows_text(missing)} with one",
            hint=f"Fill in the {role}, or leave the rows out before the call if they belong to no series: "
            'nulls="drop" leaves out rows without a state only.',
        )


def numbers_of_states(found: list[Secret], states: Sequence[Secret] | None, /) -> tuple[IndexArray, list[Secret]]:
    """Number of each state that was found among all states, and these.

    Raises ArgumentError, ArgumentTypeError for a state that is not listed, or listed twice.
    """
    if states is None:
        return np.arange(len(found)), found
    if isinstance(states, str) or not (isinstance(states, Iterable) and all(isinstance(s, Hashable) for s in states)):
        raise ArgumentTypeError(
            "states",
            rule="a list of states",
            got=f"a {type(states).__name__}",
            hint="Leave it out for the observed states in ascending order.",
        )
    listed = [label.item() if isinstance(label, np.generic) else label for label in states]
    unknown = next((label for label in found if label not in listed), None)
    if unknown is not None or len(set(listed)) < len(listed):
        raise ArgumentError(
            "states",
            rule="a list of all states, each once",
            got=f"a list without {unknown!r}" if unknown is not None else "one listed twice",
            hint="Leave it out for the observed states in ascending order.",
        )
    return np.array([listed.index(label) for label in found], dtype=np.intp), listed
