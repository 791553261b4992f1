"""Every law that a sample does not refute: a confidence band of its distribution function."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtr

from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, middles
from puffer_frames.priors.summary import Counts

RATIO = 1.1
"""Ranks grow by this factor from both ends to the middle."""
_WIDER = 1e-10
"""The levels are moved outwards by this share of them, for the error of the inverse beta function."""


def band_ranks(n: int, /) -> IndexArray:
    """The ranks that are looked at, of a sample of n: 1, 2, 3, ... in geometric steps, and their mirrors."""
    lower, rank = [], 1
    while rank <= (n + 1) // 2:
        lower.append(rank)
        rank = max(rank + 1, int(rank * RATIO))
    return np.unique(np.array([*lower, *(n + 1 - i for i in lower)], dtype=np.intp))


def rank_band(counts: Counts, /, *, alpha: float, low: float, high: float, radius: float = 0.0) -> LawSet:
    r"""The laws on [low, high] whose distribution function lies in a band that holds the true one.

    With probability at least 1 - alpha over the sample, whatever the true law is:

    .. math::
        F(x) \ge B^{-1}(\gamma/2; i, n+1-i) \ (x \ge x_{(i)}), \quad
        F(x) \le B^{-1}(1-\gamma/2; i, n+1-i) \ (x < x_{(i)}), \quad \gamma = \alpha / |R|

    for the ranks i in R (`band_ranks`), which depend on n alone.

    Parameters
    ----------
    counts : (values, counts)
        Of one secret: different values, ascending, all in [low, high].
    alpha : float
        Probability that the band misses the true law.
    low, high : float
        The domain, to which values are clipped.
    radius : float
        Half the width of the cells that values were counted in, or 0.

    Notes
    -----
    **Cost**: O(log n / log 1.1) ranks, however many values there are.

    References
    ----------
    docs/theory.md, section 14.
    """
    values, often = counts
    upto = np.cumsum(often)
    ranks, order, weights = _levels(int(upto[-1]), alpha)
    seen = middles(values[np.searchsorted(upto, ranks)], radius)
    is_least = order < ranks.size  # the last piece has none
    before = np.append(low, np.maximum(seen - radius, low))
    after = np.append(np.minimum(seen + radius, high), high)
    passed: IndexArray = np.cumsum(is_least) - is_least  # lower bounds of F that lie below the piece
    return LawSet.of(weights, before[np.arange(order.size) - passed], after[passed], weights_error=4 * _WIDER)


@lru_cache(maxsize=1024)
def _levels(n: int, alpha: float) -> tuple[IndexArray, IndexArray, FloatArray]:
    """The ranks, and what `_pieces` makes of the bounds of F there."""
    ranks = band_ranks(n)
    tail, mirrored = alpha / ranks.size / 2, n + 1 - ranks
    least, most = betaincinv(ranks, mirrored, tail), betainccinv(ranks, mirrored, tail)
    # 1 - F has the bounds of the mirrored ranks, so that levels near 1 are as exact as those near 0
    below = np.concatenate([least * (1 - _WIDER), most * (1 + _WIDER)])
    above = np.concatenate([most[::-1] * (1 + _WIDER), least[::-1] * (1 - _WIDER)])
    return ranks, *_pieces(below, above)


def _pieces(levels: FloatArray, above: FloatArray) -> tuple[IndexArray, FloatArray]:
    """The order of the levels, and then none; and the lengths of the pieces that end there, and at 1.

    Levels come with their distances from 1, so that those near 1 are as exact as those near 0.
    """
    order = np.lexsort((-above, np.minimum(levels, 0.5)))
    levels, above = levels[order], above[order]
    lower = int(np.searchsorted(levels, 0.5))
    from_below, from_above = np.append(0.0, levels[:lower]), np.append(above[lower:], 0.0)
    middle = max(1.0 - from_above[0] - from_below[-1], 0.0)
    weights = np.concatenate([np.diff(from_below), [middle], -np.diff(from_above)])
    return np.append(order, levels.size), weights


def confidence_left(confidence: float, /, *, secrets: int) -> float:
    """Probability that the band of one of so many secrets may miss."""
    return math.nextafter((1 - confidence) / secrets, 0.0)


def is_refuted(law: Prior, counts: Counts, /, *, laws: int = 1) -> bool:
    r"""Whether a sample is further from a law than 5 % of all samples of it are, where so many laws are asked about.

    .. math:: \max_i |F(e_i) - F_n(e_i)| > \sqrt{\log(40\, l) / (2 n)}

    for l laws and n records. The e_i lie half way between neighbouring values, so that rounded values refute nothing.
    By the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart the chance to refute any of l laws that the samples
    are of is at most 5 %. A law that was fitted to the sample is nearer to it.
    """
    values, often = counts
    edges, size = values[:-1] / 2 + values[1:] / 2, float(often.sum())
    if not edges.size:
        return False
    below = np.zeros(edges.size)
    for weight, mean, std in zip(law.weights, law.means, law.stds, strict=True):
        below += weight * (ndtr((edges - mean) / std) if std else edges >= mean)
    distance = float(np.abs(below - np.cumsum(often)[:-1] / size).max())
    return distance > math.sqrt(math.log(40 * laws) / (2 * size))
