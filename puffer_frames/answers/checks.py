"""Checks of a request for aggregates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real

from puffer_frames.arguments import as_float, check_probability
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.units import check_columns
from puffer_frames.noise.family import LAPLACE, Family
from puffer_frames.priors import Prior, Secret

QUERIES = ("sum", "count", "mean")


def check_queries(query: str | Sequence[str], /, *, protect: str, divisor: float | None) -> tuple[str, ...]:
    """The queries of a request; sum and count too for a mean without a public divisor."""
    listed = (query,) if isinstance(query, str) else tuple(query) if isinstance(query, Sequence) else (None,)
    if not listed or any(name not in QUERIES for name in listed) or len(set(listed)) < len(listed):
        raise ArgumentError(
            "query",
            rule='"sum", "count", "mean" or ("sum", "count")',
            got=repr(query) if isinstance(query, str) else f"a {type(query).__name__} of other words",
            hint='Leave it out for "sum".',
        )
    if "count" in listed and protect == "value":
        raise ArgumentError(
            "query",
            rule='"sum" or "mean" for protect="value"',
            got="'count'",
            hint='A unit\'s value does not change a count: say protect="presence".',
        )
    if divisor is not None and "mean" not in listed:
        raise ArgumentError(
            "divisor", rule='given for query="mean" only', got=f"one for {listed[0]!r}", hint="Leave it out."
        )
    if divisor is not None:
        positive = isinstance(divisor, Real) and not isinstance(divisor, bool) and 0 < as_float(divisor) < math.inf
        if not positive:
            raise ArgumentError(
                "divisor",
                rule="a positive number",
                got=_shown(divisor),
                hint="Give the public head count, for example 100.",
            )
    if "mean" in listed and divisor is None:
        if protect in ("value", "replacement"):
            raise ArgumentError(
                "divisor",
                rule=f'given for query="mean" and protect="{protect}"',
                got="none",
                hint="Give a public head count, or ask for the sum.",
            )
        return ("sum", "count", "mean")
    return listed


def _shown(argument: object) -> str:
    return repr(argument) if isinstance(argument, (int, float)) else f"a {type(argument).__name__}"


def check_words(*, contribution: str, laws: object, nulls: str) -> None:
    """Raise ArgumentError for words that are not known."""
    if not isinstance(contribution, str) or contribution not in ("draw", "rows"):
        raise ArgumentError(
            "contribution", rule='"draw" or "rows"', got=repr(contribution), hint='Leave it out for "draw".'
        )
    if not isinstance(laws, Mapping) and not (isinstance(laws, str) and laws in ("empirical", "gaussian")):
        raise ArgumentError(
            "laws",
            rule='"empirical", "gaussian" or a mapping of unit to Prior',
            got=repr(laws) if isinstance(laws, str) else f"a {type(laws).__name__}",
            hint='Leave it out for "empirical".',
        )
    if not isinstance(nulls, str) or nulls not in ("raise", "drop"):
        raise ArgumentError("nulls", rule='"raise" or "drop"', got=repr(nulls), hint='Leave it out for "raise".')


def check_count(asked: tuple[str, ...], /, *, protect: str, contribution: str) -> None:
    """Raise ArgumentError for a count that cannot change."""
    if "count" in asked and protect == "replacement" and contribution == "draw":
        raise ArgumentError(
            "query",
            rule='"sum" or "mean" for protect="replacement", where each unit adds one row',
            got="'count'",
            hint="A count of units needs no noise, for it is the same whichever law a unit has: leave it out, or say "
            "allow_zero_noise=True.",
        )


def check_integer(asked: tuple[str, ...], /, *, family: Family, delta: float) -> None:
    """Raise ArgumentError for what has no noise on the integers."""
    if family != LAPLACE or delta or "mean" in asked:
        raise ArgumentError(
            "integer",
            rule="for sums and counts with Laplace noise and delta 0",
            got="mean" if "mean" in asked else f"{family.title} noise and delta {delta:g}",
            hint="Leave it out, and round the answers: that costs nothing.",
        )


def check_integer_belief(laws: object, /, *, pairs: object, protect: str) -> None:
    """Noise on the integers hides integers alone: laws of other values, and pairs of values, are refused."""
    listed = not isinstance(pairs, str) and protect in ("value", "value-or-absence")
    if not (isinstance(laws, str) and laws == "empirical") or listed:
        raise ArgumentError(
            "integer",
            rule='left out unless laws="empirical", and pairs of values are given by domain',
            got="pairs of values" if listed else "other laws",
            hint="Leave it out, and round the answers: that costs nothing.",
        )


def check_names(names: Mapping[str, tuple[str, ...]], /, *, asked: tuple[str, ...]) -> None:
    """Raise ArgumentError for a sum of nothing, and a column with two roles."""
    if not names["value"] and set(asked) != {"count"}:
        raise ArgumentError("value", rule="the name of a column", got="none", hint='Write value="column".')
    check_columns(names)


def check_presence(probability: float | Mapping[Secret, float] | None, /, *, units: Sequence[Secret]) -> None:
    """Raise ArgumentError, ArgumentTypeError for other than probabilities of known units."""
    if probability is None:
        return
    if isinstance(probability, Mapping) and not (probability and set(probability) <= set(units)):
        raise ArgumentError(
            "presence_probability",
            rule="a probability, or a mapping of units of the frame to probabilities",
            got="a mapping of others" if probability else "an empty mapping",
            hint="Leave it out: it does not matter.",
        )
    for number in probability.values() if isinstance(probability, Mapping) else [probability]:
        check_probability(number, "presence_probability")


def check_support(laws: Mapping[Secret, Prior], /, *, low: float, high: float) -> None:
    """Laws of what a unit adds hold only values that it can add."""
    for law in laws.values():
        if isinstance(law, Prior) and law.is_discrete and not (low <= law.means.min() and law.means.max() <= high):
            raise ArgumentError(
                "laws",
                rule="of values within the domain",
                got="a Prior with others",
                hint="Widen the domain, or clip the values of the Prior.",
            )
