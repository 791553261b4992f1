"""How many different sums draws of a few values have, from the lattice that the values lie on."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.priors.prior import FloatArray

_MOST_DIGITS = 4


def lattice_places(values: FloatArray, /) -> FloatArray:
    """Places of ascending values that print with four decimals at the most, in steps of their common distance.

    Values that do not are at infinity.
    """
    for digits in range(_MOST_DIGITS + 1):
        if np.abs(values).max() >= 2.0**53 / 10.0**digits:
            break
        whole = np.rint(values * 10.0**digits)
        if (whole / 10.0**digits == values).all():
            steps = (whole - whole[0]).astype(np.int64)
            places: FloatArray = (steps // max(1, int(np.gcd.reduce(steps)))).astype(float)
            return places
    return np.full(values.size, np.inf)


def most_sums(values: FloatArray, copies: int, /) -> float:
    """Bound of the number of different sums of so many draws of ascending values."""
    if copies == 1:
        return float(values.size)
    size = 1 + int(np.count_nonzero(np.diff(values)))
    if size == 1:
        return 1.0
    on_lattice = float(lattice_places(values)[-1]) * copies + 1.0
    if size + copies >= 100:
        return on_lattice
    return min(
        on_lattice, math.exp(math.lgamma(size + copies) - math.lgamma(copies + 1) - math.lgamma(size)) * (1 + 1e-9)
    )
