"""What answers would cost at several epsilons: their scales and errors, before one is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import Table
from puffer_frames.noise.totals import AnswerNoise, AnswerRow, answer_row
from puffer_frames.verbs.requests.arguments import AggregateArguments, HistogramArguments

_COLUMNS = ("epsilon", "query", "scale", "expected_error", "reach_95")

Arguments = TypeVar("Arguments", AggregateArguments, HistogramArguments)


def one_by_one(arguments: Arguments, /, *, compared: bool = False) -> list[Arguments] | None:
    """The arguments with each of several epsilons; None where there is one, and no mechanisms are compared.

    Raises
    ------
    ArgumentError
        For an empty list, and a ledger, into which nothing would be written.
    """
    given: Any = arguments.epsilon
    several = isinstance(given, Sequence) and not isinstance(given, str)
    if not (several or getattr(given, "ndim", 0) > 0):
        if not compared:
            return None
        given = [given]
    pairs: Any = getattr(arguments, "pairs", None)
    once: dict[str, Any] = {"pairs": list(pairs)} if isinstance(pairs, Iterator) else {}  # it can be read once
    found = [replace(arguments, epsilon=epsilon, **once) for epsilon in given]
    if not found:
        raise ArgumentError("epsilon", rule="one number, or several", got="none", hint="Write epsilon=[0.1, 1.0].")
    if arguments.ledger is not None:
        raise ArgumentError(
            "ledger",
            rule="left out where several epsilons or mechanisms are compared",
            got="one",
            hint="Nothing is released then: choose one epsilon and mechanism, and name the ledger with them.",
        )
    return found


def errors_at(
    epsilon: float, noises: Mapping[str, AnswerNoise | None], asked: Mapping[str, Fraction], /
) -> list[AnswerRow | tuple[object, ...]]:
    """A row of a curve per query; `asked` are their public divisors, 0 for one whose error depends on the answer."""
    found: list[AnswerRow | tuple[object, ...]] = []
    for query, divisor in asked.items():
        if not divisor:
            found.append((float(epsilon), query, None, None, None))
            continue
        _, scale, error, _, reach = answer_row(Fraction(0), noises["sum" if query == "mean" else query], by=divisor)
        found.append((float(epsilon), query, scale, error, reach))
    return found


def curve_of(table: Table, rows: Sequence[Sequence[object]], /) -> NativeFrame:
    """A small frame of the rows of a curve, or of those of several mechanisms."""
    names = _COLUMNS if len(rows[0]) == len(_COLUMNS) else ("mechanism", *_COLUMNS, "loss", "reason")
    columns = zip(names, map(list, zip(*rows, strict=True)), strict=True)
    return table.answers(labels={}, numbers=dict(columns))
