"""Noisy answers: exact totals on the grid of the noise, and what the released table says beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from puffer_frames.errors import PriorError
from puffer_frames.noise.adding import grid_noise
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import DiscreteLaplace
from puffer_frames.noise.stream import Stream
from puffer_frames.numbers.rounding import divide_up, nearest
from puffer_frames.priors.prior import FloatArray, IndexArray

COLUMNS = ("answer", "scale", "expected_error", "lower_95", "upper_95")
_UPPER = 0.975
"""The interval of the noise leaves out this much less than 1 on either side."""

_WHOLE = 2.0**62
"""Sums of integers below it are exact in 64 bits."""

AnswerNoise: TypeAlias = NoiseFamily | DiscreteLaplace
AnswerRow: TypeAlias = tuple[float | None, ...]


def exact_sum(values: FloatArray, often: IndexArray, /) -> Fraction:
    """Sum without rounding error that could depend on the other values (twice a correctly rounded sum).

    Each value is added so many times, shape of both (values,).

    Raises PriorError for a sum beyond the range of floats.
    """
    rows = int(often.sum())
    if rows * float(np.abs(values).max(initial=0.0)) < _WHOLE and (values == np.rint(values)).all():
        return Fraction(int(values.astype(np.int64) @ often))
    terms = values.tolist() if rows == values.size else _multiples(values, often).tolist()
    try:
        rounded = math.fsum(terms)
        rest = math.fsum([*terms, -rounded])
    except (OverflowError, ValueError):  # a partial sum, or terms, beyond the range
        raise PriorError(
            "the sum", rule="in the range of floats", got="a larger one", hint="Divide the column by a constant first."
        ) from None
    return Fraction(rounded) + Fraction(rest)


def _multiples(values: FloatArray, often: IndexArray) -> FloatArray:
    """Products without rounding error, several of each value: halves of a value have at most 27 bits."""
    high = (values.view(np.int64) & ~np.int64(2**27 - 1)).view(np.float64)
    some = often & (2**26 - 1)
    parts = [(values - high, some), (high, some), (values - high, often - some), (high, often - some)]
    with np.errstate(over="ignore"):
        products: FloatArray = np.concatenate([part * number for part, number in parts if number.any()])
    return products


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
