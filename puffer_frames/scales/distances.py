"""How far the frequencies of later rows are from those of a plan, and what of it may be chance."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.priors.prior import FloatArray, middles
from puffer_frames.priors.summary import Counts

CONFIDENCE = 0.95
_UP = 1.0 + 1e-12


def ks_distance(one: Counts, other: Counts, /, *, radius: tuple[float, float] = (0.0, 0.0)) -> float:
    r"""The Kolmogorov-Smirnov distance of two empirical laws, or of values in cells at least so much.

    .. math:: \sup_x |F(x) - G(x)|

    Parameters
    ----------
    one, other : (values, counts)
        Different values, ascending, and how often each occurs.
    radius : (float, float)
        Half the width of the cells that the values of each were counted in, or 0.

    Examples
    --------
    >>> ks_distance((np.array([0.0, 1.0]), np.array([1, 1])), (np.array([1.0]), np.array([5])))
    0.5
    """
    return max(0.0, _above(one, other, *radius), _above(other, one, radius[1], radius[0]))


def _above(one: Counts, other: Counts, radius: float, other_radius: float) -> float:
    """By how much the first distribution function is above the second at most: where it steps up."""
    values, often = middles(one[0], radius), one[1]
    others, often_other = middles(other[0], other_radius), other[1]
    least = np.cumsum(often) / often.sum()
    upto = np.append(0.0, np.cumsum(often_other) / often_other.sum())
    most: FloatArray = upto[np.searchsorted(others - other_radius, values + radius, side="right")]
    return float((least - most).max())


def chance_bound(rows: int, other_rows: int, /, *, secrets: int) -> float:
    r"""What the distance of two samples of one population exceeds in 5 % of all cases at most, for all secrets at once.

    Each sample of n rows is within :math:`\sqrt{\log(4m/0.05) / 2n}` of the law of the population, but for a
    probability of 0.05 / 2m, whatever that law is (Dvoretzky, Kiefer and Wolfowitz, with the constant of Massart 1990).

    Parameters
    ----------
    rows, other_rows : int
        Sizes of the samples.
    secrets : int
        m.

    Examples
    --------
    >>> round(chance_bound(1000, 500, secrets=2), 4)
    0.1216
    """
    need = math.log(4 * secrets / (1 - CONFIDENCE))
    return min(1.0, (math.sqrt(need / (2 * rows)) + math.sqrt(need / (2 * other_rows))) * _UP)
