"""Checks of a request for aggregates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import Table
from puffer_frames.noise.families import noise_family
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.totals import AnswerNoise, AnswerRow, answer_row
from puffer_frames.numbers.arguments import Target, as_float, check_word
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.scales.learned import POPULATION, Contamination, Population
from puffer_frames.verbs.requests import AggregateArguments, AnswerArguments, HistogramArguments

_COLUMNS = ("epsilon", "query", "scale", "expected_error", "reach_95")

Arguments = TypeVar("Arguments", AggregateArguments, HistogramArguments)


def one_by_one(arguments: Arguments, /, *, compared: bool = False) -> list[Arguments] | None:
    """The arguments with each of several epsilons; None where there is one, and no mechanisms are compared.

    Raises ArgumentError for an empty list, and a ledger, into which nothing would be written.
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
        rule = "left out where several epsilons or mechanisms are compared"
        hint = "Nothing is released then: choose one epsilon and mechanism, and name the ledger with them."
        raise ArgumentError("ledger", rule=rule, got="one", hint=hint)
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replay:
    """What an audit lays beside the answers of a request; never to be published."""

    exact: FloatArray
    """The answers without noise, in the order of the rows, shape (n,); NaN for none."""
    own_noise: NDArray[np.bool_]
    """Which answers do not follow from others, shape (n,)."""
    again: Callable[[], FloatArray] | None = None
    """Answers with fresh noise, where these are of rows that are drawn at random: then nobody knows the exact ones."""
    rivals: Mapping[str, tuple[Prior, Prior]] = field(default_factory=dict)
    """Two laws of what one unit adds, far apart, that the noise of a statistic must hide."""


QUERIES = ("sum", "count", "mean")
PROTECTIONS = ("presence", "value", "value-or-absence", "replacement")


def check_asked(arguments: AnswerArguments, /) -> tuple[Target, NoiseFamily]:
    """What is asked for, and the noise that is to meet it; raises ArgumentError, ArgumentTypeError."""
    epsilon: Any = arguments.epsilon  # several are a curve, whose requests have one each
    target, noise = Target.of(epsilon, arguments.delta), noise_family(arguments.noise)
    noise.check(target)
    check_word(arguments.nulls, "nulls", ("raise", "drop"))
    return target, noise


def check_queries(query: str | Sequence[str], /, *, protect: str, divisor: float | None) -> tuple[str, ...]:
    """The queries of a request; sum and count too for a mean without a public divisor."""
    listed = (query,) if isinstance(query, str) else tuple(query) if isinstance(query, Sequence) else (None,)
    if not listed or any(name not in QUERIES for name in listed) or len(set(listed)) < len(listed):
        got = repr(query) if isinstance(query, str) else f"a {type(query).__name__} of other words"
        hint = 'Leave it out for "sum".'
        raise ArgumentError("query", rule='"sum", "count", "mean" or ("sum", "count")', got=got, hint=hint)
    if "count" in listed and protect == "value":
        hint = 'A unit\'s value does not change a count: say protect="presence".'
        raise ArgumentError("query", rule='"sum" or "mean" for protect="value"', got="'count'", hint=hint)
    if divisor is not None and "mean" not in listed:
        raise ArgumentError(
            "divisor", rule='given for query="mean" only', got=f"one for {listed[0]!r}", hint="Leave it out."
        )
    if divisor is not None:
        positive = isinstance(divisor, Real) and not isinstance(divisor, bool) and 0 < as_float(divisor) < math.inf
        if not positive:
            hint = "Give the public head count, for example 100."
            raise ArgumentError("divisor", rule="a positive number", got=_shown(divisor), hint=hint)
    if "mean" in listed and divisor is None:
        if protect in ("value", "replacement"):
            rule = f'given for query="mean" and protect="{protect}"'
            raise ArgumentError("divisor", rule=rule, got="none", hint="Give a public head count, or ask for the sum.")
        return ("sum", "count", "mean")
    return listed


def _shown(argument: object) -> str:
    return repr(argument) if isinstance(argument, (int, float)) else f"a {type(argument).__name__}"


def check_laws(laws: object, /) -> None:
    """Raise ArgumentError for what names no laws."""
    word = isinstance(laws, str) and laws in ("empirical", "gaussian", POPULATION)
    if not isinstance(laws, (Mapping, Population, Contamination)) and not word:
        rule = '"empirical", "gaussian", "population", Population(), Contamination() or a mapping of unit to Prior'
        got = repr(laws) if isinstance(laws, str) else f"a {type(laws).__name__}"
        raise ArgumentError("laws", rule=rule, got=got, hint='Leave it out for "empirical".')


def check_count(asked: tuple[str, ...], /, *, protect: str, added: bool) -> None:
    """Raise ArgumentError for a count that cannot change."""
    if "count" in asked and protect == "replacement" and not added:
        raise ArgumentError(
            "query",
            rule='"sum" or "mean" for protect="replacement", where each unit adds one row',
            got="'count'",
            hint="A count of units needs no noise, for it is the same whichever law a unit has: leave it out, or say "
            "allow_zero_noise=True.",
        )


def check_integer(asked: tuple[str, ...], /, *, noise: NoiseFamily, delta: float) -> None:
    """Raise ArgumentError for what has no noise on the integers."""
    if noise != PUBLISHED_FOR or delta or "mean" in asked:
        got = "mean" if "mean" in asked else f"{noise.title} noise and delta {delta:g}"
        hint = "Leave it out, and round the answers: that costs nothing."
        raise ArgumentError("integer", rule="for sums and counts with Laplace noise and delta 0", got=got, hint=hint)


def check_integer_belief(laws: object, /, *, pairs: object, protect: str) -> None:
    """Noise on the integers hides integers alone: laws of other values, and pairs of values, are refused."""
    listed = not isinstance(pairs, str) and protect in ("value", "value-or-absence")
    if not (isinstance(laws, str) and laws == "empirical") or listed:
        rule = 'left out unless laws="empirical", and pairs of values are given by domain'
        hint = "Leave it out, and round the answers: that costs nothing."
        raise ArgumentError("integer", rule=rule, got="pairs of values" if listed else "other laws", hint=hint)


def check_support(laws: Mapping[Secret, Prior], /, *, low: float, high: float) -> None:
    """Laws of what a unit adds hold only values that it can add."""
    for law in laws.values():
        if isinstance(law, Prior) and law.is_discrete and not (low <= law.means.min() and law.means.max() <= high):
            hint = "Widen the domain, or clip the values of the Prior."
            raise ArgumentError("laws", rule="of values within the domain", got="a Prior with others", hint=hint)


def check_values(
    pairs: str | Iterable[Sequence[Any]], domain: Sequence[float] | None, /, *, absence: bool
) -> tuple[tuple[float, float | None], ...]:
    """The declared pairs of values, or the extremes of the domain.

    Raises ArgumentError, ArgumentTypeError where neither is given, and for pairs of something else.
    """
    if isinstance(pairs, str):
        if pairs == "all" and domain is not None:
            low, high = domain
            return ((low, None), (high, None)) if absence else ((low, high),)
        got = "neither" if pairs == "all" else f"pairs={pairs!r}"
        hint = "Write domain=(0, 100) with what anybody knows of the column, not its observed extremes."
        raise ArgumentError("the values that a unit may report", rule="declared by domain or pairs", got=got, hint=hint)
    listed = [_value_pair(pair, absence=absence) for pair in pairs] if isinstance(pairs, Iterable) else []
    good = [pair for pair in listed if pair is not None]
    if not listed or len(good) < len(listed):
        raise ArgumentTypeError(
            "pairs",
            rule="pairs of a value and None (absent)" if absence else "pairs of two different values",
            got=f"a {type(pairs).__name__}" + (" with another entry" if listed else ""),
            hint="Write pairs=[(5, None)]." if absence else "Write pairs=[(3, 5)].",
        )
    low, high = (-math.inf, math.inf) if domain is None else domain
    if not all(low <= value <= high for pair in good for value in pair if value is not None):
        hint = "A value is clipped to the domain before it is added: widen it, or leave pairs out."
        raise ArgumentError("pairs", rule="of values within the domain", got="others", hint=hint)
    return tuple(good)


def _value_pair(pair: object, *, absence: bool) -> tuple[float, float | None] | None:
    """A value and another one, or None for absent; None for what is no such pair."""
    entries: list[Any] = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
    if absence and len(entries) == 2 and entries[0] is None:
        entries.reverse()
    numbers: list[Any] = entries[:1] if absence else entries
    if len(entries) != 2 or (absence and entries[1] is not None):
        return None
    if not all(_is_finite(v) for v in numbers):
        return None
    first, second = float(numbers[0]), None if absence else float(numbers[1])
    return None if first == second else (first, second)


def _is_finite(number: Any) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and math.isfinite(as_float(cast(float, number)))
