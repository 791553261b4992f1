"""Arithmetic that rounds to the private side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one operation on 64-bit floats."""
LARGEST = math.nextafter(math.inf, 0.0)
"""The largest float."""


def up(exact: Fraction | Decimal, /) -> float:
    """Smallest float that is at least the given number."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    if math.isinf(nearest):
        return nearest
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < Fraction(exact) else nearest


def as_written(number: float, /) -> Fraction:
    """A float as the shortest decimal that is read as it, which is what was asked for: 0.1 is a tenth."""
    return Fraction(repr(float(number)))


def up_as_written(exact: Fraction, /) -> float:
    """Smallest float that is written as at least the given number: three times 0.1 is 0.3."""
    found = math.nextafter(up(exact), -math.inf)
    while math.isfinite(found) and as_written(found) < exact:
        found = math.nextafter(found, math.inf)
    return found + 0.0  # no -0.0


def sum_as_written(numbers: Iterable[float], /) -> float:
    """The sum in decimals, as the numbers were asked for: a limit that is shared out can be used up."""
    return up_as_written(sum(map(as_written, numbers), Fraction(0)))


def nearest(exact: Fraction, /) -> float:
    """The float nearest to a number; beyond the range of floats the largest one, with the number's sign."""
    try:
        return float(exact)
    except OverflowError:
        return LARGEST if exact > 0 else -LARGEST


def subtract_up(high: float, low: float, /) -> float:
    """`high - low` rounded towards infinity."""
    return up(Fraction(high) - Fraction(low))


def divide_up(numerator: float, denominator: float, /) -> float:
    """`numerator / denominator` rounded towards infinity."""
    return up(Fraction(numerator) / Fraction(denominator))


def subtraction_error(numbers: NDArray[np.float64], centre: float, /) -> float:
    """Largest rounding error of `numbers - centre`: the rest of Knuth's two-sum, which is exact."""
    rounded = numbers - centre
    back = rounded - numbers
    return float(np.abs((numbers - (rounded - back)) - (centre + back)).max())
