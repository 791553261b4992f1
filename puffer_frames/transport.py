"""Optimal transport in one dimension: the W-infinity distance between priors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import PriorError
from puffer_frames.priors import FloatArray, IndexArray, Prior
from puffer_frames.rounding import subtract_up, up


def w_infinity(p: Prior, q: Prior, /) -> float:
    r"""Kantorovich distance of order infinity between two discrete priors.

    .. math:: W_\infty(p, q) = \sup_{0 < u \le 1} |F_p^{-1}(u) - F_q^{-1}(u)|

    Parameters
    ----------
    p, q : Prior
        Discrete priors.

    Returns
    -------
    float
        The distance, in units of the column, rounded up.

    Raises
    ------
    PriorError
        For a prior with a Gaussian component (the distance is then infinite, or not of this form).

    Notes
    -----
    **Cost**: O(n log n) for n atoms. **Rounding**: the cumulative levels are compared as exact fractions.

    References
    ----------
    [D22]; [DLYZ] Prop. 2; theory section 4 (the published scan over the alphabet can miss the supremum).

    Examples
    --------
    >>> w_infinity(Prior.empirical([0]), Prior.empirical([10])) >= 10
    True
    """
    return w_infinity_diameter([p, q])


def shift_distance(p: Prior, q: Prior, /) -> float:
    """Distance of two priors that are shifts of one another, rounded up; infinite where they are not."""
    alike = p.stds.shape == q.stds.shape and np.array_equal(p.stds, q.stds) and np.array_equal(p.weights, q.weights)
    if not alike or (p.means - p.means[0] != q.means - q.means[0]).any():
        return math.inf
    return subtract_up(*sorted((float(p.means[0]), float(q.means[0])), reverse=True))


def w_infinity_diameter(priors: Sequence[Prior], /) -> float:
    r"""Largest W-infinity distance over all pairs of the priors, without a loop over pairs.

    .. math:: \max_{i,j} W_\infty = \sup_u \left( \max_i F_i^{-1}(u) - \min_j F_j^{-1}(u) \right)

    Raises
    ------
    PriorError
        For a prior with a Gaussian component.

    Notes
    -----
    **Cost**: O(m L) for m priors and L distinct cumulative levels of all of them.
    """
    for prior in priors:
        if not prior.is_discrete:
            raise PriorError(
                "the priors of a W-infinity distance",
                rule="discrete (atoms only)",
                got=repr(prior),
                hint="Use Prior.empirical, or a theorem for Gaussian priors.",
            )
    cumulative = _cumulative_levels(priors)
    merged = np.unique(np.concatenate(cumulative))
    highest = np.full(merged.size, -np.inf)
    lowest = np.full(merged.size, np.inf)
    for prior, levels in zip(priors, cumulative, strict=True):
        quantiles = prior.means[np.searchsorted(levels, merged)]
        np.maximum(highest, quantiles, out=highest)
        np.minimum(lowest, quantiles, out=lowest)
    at = int(np.argmax(highest - lowest))
    moved = 2 * Fraction(max(prior.radius for prior in priors))  # both ends may be off
    return up(Fraction(float(highest[at])) - Fraction(float(lowest[at])) + moved)


def rows_diameter(values: FloatArray, starts: IndexArray, /) -> float:
    """`w_infinity_diameter` of the observed frequencies of many units' rows.

    Parameters
    ----------
    values : array, shape (rows,)
        Unit after unit, ascending within a unit.
    starts : array, shape (units + 1,)
        Where each unit's rows begin, and the end of the last.

    Notes
    -----
    Units with the same number of rows have the same levels: their quantiles are the columns of a table. **Cost**:
    O(rows + d L) for d different numbers of rows and L different levels.
    """
    sizes = np.diff(starts)
    ends = []
    for size in np.unique(sizes):
        places = starts[:-1][sizes == size]
        table = values[places[:, None] + np.arange(size)]
        ends.append((np.arange(1, size + 1), int(size), table.max(axis=0), table.min(axis=0)))
    levels = _comparable(tuple((counts, total) for counts, total, _, _ in ends))
    merged = np.unique(np.concatenate(levels))
    highest, lowest = np.full(merged.size, -np.inf), np.full(merged.size, np.inf)
    for own, (_, _, high, low) in zip(levels, ends, strict=True):
        at = np.searchsorted(own, merged)
        np.maximum(highest, high[at], out=highest)
        np.minimum(lowest, low[at], out=lowest)
    at_most = int(np.argmax(highest - lowest))
    return subtract_up(float(highest[at_most]), float(lowest[at_most]))


def _cumulative_levels(priors: Sequence[Prior]) -> list[NDArray[Any]]:
    """Cumulative weights of each prior as numbers whose order and ties are those of the exact fractions."""
    return _comparable(tuple((np.cumsum(prior.levels[0]), prior.levels[1]) for prior in priors))


def _comparable(fractions: Sequence[tuple[NDArray[Any], int]]) -> list[NDArray[Any]]:
    """Fractions (numerators, denominator) as numbers of the same order and with the same ties.

    Two different fractions C/n and C'/n' differ by at least 1/(n n'); while n n' < 2**53 their correctly rounded
    quotients differ too, and equal ones have equal quotients. Otherwise exact integers are used.
    """
    totals = sorted(total for _, total in fractions)
    if totals[-1] * totals[-2 if len(totals) > 1 else -1] < 2**53:
        return [counts / total for counts, total in fractions]
    common = math.lcm(*totals)
    return [counts.astype(object) * (common // total) for counts, total in fractions]
