"""Noisy answers: exact totals on the grid of the noise, and what the released table says beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from puffer_frames.errors import PriorError
from puffer_frames.noise.adding import grid_noise
from puffer_frames.noise.discrete_laplace import DiscreteLaplace
from puffer_frames.noise.family import Noise
from puffer_frames.noise.stream import Stream
from puffer_frames.numbers.rounding import divide_up, nearest

COLUMNS = ("answer", "scale", "expected_error", "lower_95", "upper_95")
_UPPER = 0.975
"""The interval of the noise leaves out this much less than 1 on either side."""

AnswerNoise: TypeAlias = Noise | DiscreteLaplace
AnswerRow: TypeAlias = tuple[float | None, ...]


def exact_sum(values: Sequence[float], /) -> Fraction:
    """Sum without rounding error that could depend on the other values (twice a correctly rounded sum).

    Raises
    ------
    PriorError
        For a sum beyond the range of floats.
    """
    try:
        rounded = math.fsum(values)
        rest = math.fsum([*values, -rounded])
    except OverflowError:
        raise PriorError(
            "the sum", rule="in the range of floats", got="a larger one", hint="Divide the column by a constant first."
        ) from None
    return Fraction(rounded) + Fraction(rest)


def with_noise(exact: Sequence[Fraction], noise: AnswerNoise | None, /, *, stream: Stream) -> list[Fraction]:
    """Totals, rounded to the grid of the noise, plus noise on it; number k is a function of (key, stream, k)."""
    if noise is None:
        return list(exact)
    if isinstance(noise, DiscreteLaplace):
        return [total + draw for total, draw in zip(exact, noise.draw(range(len(exact)), stream=stream), strict=True)]
    sampler = noise.sampler()
    grid = Fraction(sampler.grid)
    drawn = grid_noise(sampler, range(len(exact)), stream=stream)
    return [(round(total / grid) + n) * grid for total, n in zip(exact, drawn, strict=True)]


def answer_row(noisy: Fraction, noise: AnswerNoise | None, /, *, by: Fraction) -> AnswerRow:
    """The entries of `COLUMNS` for a noisy total divided by a public constant."""
    answer = nearest(noisy / by)
    if noise is None:
        return answer, 0.0, 0.0, answer, answer
    divisor = float(by)
    reach = float(noise.quantile(_UPPER)) / divisor
    error = noise.expected_absolute_error / divisor
    return answer, divide_up(noise.scale, divisor), error, answer - reach, answer + reach


def quotient_row(numerator: Fraction, denominator: Fraction, /) -> AnswerRow:
    """The same for a quotient of two noisy totals: its noise has no scale; None unless the denominator is positive."""
    answer = nearest(numerator / denominator) if denominator > 0 else None
    return answer, None, None, None, None
