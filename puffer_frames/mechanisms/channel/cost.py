"""What an output in place of an input costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.columns import LARGEST_INTEGER
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray


def is_numeric(levels: Sequence[Level], /) -> bool:
    """Whether levels are numbers that floats tell apart, none missing.

    Truth values are labels, and so are columns with integers beyond 2**53: these name something.
    """
    return all(
        isinstance(level, (int, float, np.number)) and not isinstance(level, bool) and _is_told(level)
        for level in levels
    )


def _is_told(number: Any) -> bool:
    return isinstance(number, (float, np.floating)) or abs(int(number)) <= LARGEST_INTEGER


def cost_word(levels: Sequence[Level], cost: Any, /) -> str:
    """What a cost is: "absolute", "change", "share" (of the labels that differ), or "given"."""
    if not isinstance(cost, str) or cost != "auto":
        return cost if isinstance(cost, str) else "given"
    if any(isinstance(level, tuple) for level in levels):
        return "share"
    return "absolute" if is_numeric(levels) else "change"


def cost_matrix(levels: Sequence[Level], cost: Any, /) -> FloatArray:
    """The cost of each level in place of each, shape (levels, levels): by default the distance of numbers, 1 for
    another label, and for tuples of labels the share of those that differ.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a distance of labels, and for a function or matrix that gives anything but finite numbers of at least 0.
    """
    word = cost_word(levels, cost)
    if word == "share":
        return np.array([[np.mean([a != b for a, b in zip(x, y, strict=True)]) for y in levels] for x in levels])  # type: ignore[arg-type]
    if word == "change":
        return 1.0 - np.eye(len(levels))
    if word == "absolute":
        if not is_numeric(levels):
            raise ArgumentError(
                "cost",
                rule='"change", a function or a matrix for a column of labels, or of integers beyond 2**53',
                got='"absolute"',
                hint='Leave it out for "change".',
            )
        numbers = np.array(levels, dtype=np.float64)
        return np.abs(numbers[:, None] - numbers[None, :])
    given = _asked(cost, levels) if callable(cost) else cost
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "cost",
            rule="a function that gives numbers, or a matrix of numbers",
            got="something else",
            hint="Leave it out, or write cost=lambda x, y: abs(rank[x] - rank[y]).",
        ) from None
    if found.shape != (len(levels), len(levels)):
        raise ArgumentError(
            "cost",
            rule=f"a matrix of {len(levels)} rows and columns, one for each level",
            got=f"shape {found.shape}",
            hint="The levels, in their order, are plan.channels[column].inputs.",
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError(
            "cost", rule="finite and at least 0", got="other numbers", hint="Take 0 for a level in its own place."
        )
    return found


def _asked(cost: Callable[[Level, Level], Any], levels: Sequence[Level]) -> list[list[Any]]:
    """What a function says of every pair of levels; the text of its error is often the level that it does not know."""
    try:
        return [[cost(x, y) for y in levels] for x in levels]
    except Exception as error:
        raise ArgumentError(
            "cost",
            rule="a function that knows every pair of levels",
            got=f"one that raises a {type(error).__name__} for some pair of {len(levels)} levels",
            hint='Calibrate with cost="change" first: plan.channels[column].inputs lists the levels.',
        ) from None
