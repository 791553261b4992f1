"""Arithmetic that rounds to the private side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray


def share_at_least(hits: ArrayLike, rows: ArrayLike, alpha: float, /) -> NDArray[np.float64]:
    """Clopper-Pearson lower bounds of shares, each at confidence 1 - alpha.

    They hold for independent rows with probabilities of their own too: the mean of these is then bounded.

    References
    ----------
    Hoeffding, *On the distribution of the number of successes in independent trials*, Ann. Math. Stat. 27, 1956,
    Theorem 4: of all such rows with one mean, equal ones have the heaviest tails.
    """
    of, among = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(rows, dtype=float))
    return np.where(of > 0, scipy.stats.beta.ppf(alpha, np.maximum(of, 1), among - of + 1), 0.0)


def share_at_most(hits: ArrayLike, rows: ArrayLike, alpha: float, /) -> NDArray[np.float64]:
    """The upper bounds; 1 where there are no rows."""
    of, among = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(rows, dtype=float))
    upper = scipy.stats.beta.ppf(1 - alpha, of + 1, np.maximum(among - of, 1))
    return np.where(of < among, upper, 1.0)


def epsilon_at_least(least: NDArray[np.float64], most: NDArray[np.float64], delta: float, /) -> NDArray[np.float64]:
    """What epsilon must be at least where one secret has a share of at least `least`, the other one of at most `most`.

    From P(B | s) <= e^epsilon P(B | t) + delta: log((least - delta) / most); 0 where that is negative.
    """
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(np.maximum(least - delta, 0.0)) - np.log(np.maximum(most, 1e-300))
    return np.maximum(found, 0.0)


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


def as_decimal(exact: Fraction, /) -> Decimal:
    """A fraction to the digits of the context."""
    return Decimal(exact.numerator) / Decimal(exact.denominator)


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


def root_from_below(
    function: Callable[[float], float], low: float, high: float, /, *, tolerance: float, most: float = 0.0
) -> float:
    """A root of a rising function by Brent's method, moved down until the function is at most so much there."""
    root, step = float(scipy.optimize.brentq(function, low, high, xtol=tolerance, rtol=1e-14)), tolerance
    while function(root) > most:
        root -= step
        step *= 2
    return root


def subtraction_error(numbers: NDArray[np.float64], centre: float, /) -> float:
    """Largest rounding error of `numbers - centre`: the rest of Knuth's two-sum, which is exact."""
    rounded = numbers - centre
    back = rounded - numbers
    return float(np.abs((numbers - (rounded - back)) - (centre + back)).max())
