"""Sets of laws: every law of a value that lies in a random interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import betainccinv, betaincinv, ndtr

from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, middles
from puffer_frames.priors.summary import Counts

WIDEST = 1e300
"""Domains are narrower than this, so that distances and their sums are floats."""


def is_too_wide(low: float, high: float, /) -> bool:
    """Whether distances on a domain leave the floats."""
    return 0.5 * high - 0.5 * low >= 0.5 * WIDEST


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawSet:
    r"""Every law of a variable X with :math:`X \in [l_J, h_J]`, where :math:`P(J = j) = w_j`.

    Of this form are a band of distribution functions, :math:`L \le F \le U` (the intervals between the quantiles of U
    and L), contaminated frequencies (an atom per value, and the whole domain with the share that may be anything), and
    values known up to a radius.
    """

    weights: FloatArray
    """Positive weights, shape (intervals,), summing to 1."""
    lows: FloatArray
    """Lower ends, shape (intervals,), in units of the column."""
    highs: FloatArray
    """Upper ends, at least the lower ones."""
    weights_error: float = 0.0
    """Relative error of each weight."""

    def __post_init__(self) -> None:
        for array in (self.weights, self.lows, self.highs):
            array.setflags(write=False)

    @classmethod
    def of(cls, weights: FloatArray, lows: FloatArray, highs: FloatArray, /, *, weights_error: float = 0.0) -> LawSet:
        """The same with equal intervals merged, sorted by their lower ends, and without those of weight 0."""
        held = weights > 0
        weights, lows, highs = weights[held], lows[held] + 0.0, highs[held] + 0.0
        order = np.lexsort((highs, lows))
        weights, lows, highs = weights[order], lows[order], highs[order]
        starts = np.flatnonzero(np.append(True, (np.diff(lows) != 0) | (np.diff(highs) != 0)))
        return cls(
            weights=np.add.reduceat(weights, starts),
            lows=lows[starts],
            highs=highs[starts],
            weights_error=weights_error,
        )

    @classmethod
    def anything(cls, low: float, high: float, /) -> LawSet:
        """Every law on the domain."""
        return cls(weights=np.ones(1), lows=np.array([float(low)]), highs=np.array([float(high)]))

    @property
    def ends(self) -> tuple[float, float]:
        """No value is below the first number or above the second one."""
        return float(self.lows.min()), float(self.highs.max())

    def __repr__(self) -> str:
        return f"LawSet({self.weights.size} intervals)"


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

    - `counts` (values, counts): The different values of one secret, ascending, all in [low, high].
    - `alpha`: Probability that the band misses the true law.
    - `low`, `high`: The domain, to which values are clipped.
    - `radius`: Half the width of the cells that values were counted in, or 0.

    **Cost**: O(log n / log 1.1) ranks, however many values there are.
    See docs/theory.md, section 14.
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
