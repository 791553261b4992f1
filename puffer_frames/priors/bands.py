"""Gaussians sorted by standard deviation in a tree of bands, and the search for the pair that needs the most noise."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from itertools import count
from typing import NamedTuple

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

MOST_BOUNDS = 100_000
"""With more pairs of bands that cannot be told from the worst, the search is given up."""


class Band(NamedTuple):
    """Gaussians whose standard deviations are neighbours, by their extremes."""

    low_std: float
    high_std: float
    low_mean: float
    high_mean: float
    lowest: int
    """Number of the Gaussian with the lowest mean."""
    highest: int
    """Number of the Gaussian with the highest mean."""
    level: int
    """0 where all standard deviations are equal."""
    place: int
    """Among the bands of its level, by standard deviation."""


class PairOfBands(NamedTuple):
    """Two bands, the narrower first, or one twice."""

    narrow: Band
    wide: Band

    @property
    def distance(self) -> float:
        """Largest distance of the means of two members, rounded up."""
        return max(self.wide.high_mean - self.narrow.low_mean, self.narrow.high_mean - self.wide.low_mean) * (
            1 + 2 * UNIT_ROUNDOFF
        )

    @property
    def farthest(self) -> tuple[int, int]:
        """Two members at this distance."""
        narrow, wide = self
        if wide.high_mean - narrow.low_mean >= narrow.high_mean - wide.low_mean:
            return narrow.lowest, wide.highest
        return narrow.highest, wide.lowest

    @property
    def decided(self) -> bool:
        """Whether all pairs of members have the same two standard deviations."""
        return self.narrow.level == self.wide.level == 0


class Bands:
    """A binary tree of bands; the lowest level has one for each standard deviation.

    - `means`, `stds`: array, shape (n,).

    **Cost**: one sort.
    """

    def __init__(self, means: FloatArray, stds: FloatArray, /) -> None:
        order = np.lexsort((means, stds))
        stds = stds[order]
        starts = np.flatnonzero(np.append(True, stds[1:] != stds[:-1]))
        lowest, highest = order[starts], order[np.append(starts[1:], order.size) - 1]
        self._means = means
        self._levels = [(stds[starts], stds[starts], lowest, highest)]
        while self._levels[-1][0].size > 1:
            self._levels.append(self._above(*self._levels[-1]))

    def _above(
        self, low: FloatArray, high: FloatArray, lowest: IndexArray, highest: IndexArray
    ) -> tuple[FloatArray, FloatArray, IndexArray, IndexArray]:
        """The level above: neighbours are joined in twos."""
        first = np.arange(0, low.size, 2)
        second = np.minimum(first + 1, low.size - 1)
        a, b = lowest[first], lowest[second]
        c, d = highest[first], highest[second]
        below = np.where(self._means[b] < self._means[a], b, a)
        beyond = np.where(self._means[d] > self._means[c], d, c)
        return low[first], high[second], below, beyond

    def band(self, level: int, place: int, /) -> Band:
        """One band."""
        low, high, lowest, highest = (table[place] for table in self._levels[level])
        means = float(self._means[lowest]), float(self._means[highest])
        return Band(float(low), float(high), *means, int(lowest), int(highest), level, place)

    @property
    def all_pairs(self) -> PairOfBands:
        """All Gaussians, twice."""
        whole = self.band(len(self._levels) - 1, 0)
        return PairOfBands(whole, whole)

    def halves(self, band: Band, /) -> list[Band]:
        """The bands below."""
        size = self._levels[band.level - 1][0].size
        return [self.band(band.level - 1, k) for k in (2 * band.place, 2 * band.place + 1) if k < size]

    def parts(self, pair: PairOfBands, /, *, blur: Callable[[Band], float]) -> list[PairOfBands]:
        """Pairs of bands that have the same pairs of members: the band of the larger blur is halved."""
        narrow, wide = pair
        if narrow == wide:
            halves = self.halves(narrow)
            return [PairOfBands(a, b) for k, a in enumerate(halves) for b in halves[k:]]
        if wide.level == 0 or (narrow.level and blur(narrow) > blur(wide)):
            return [PairOfBands(half, wide) for half in self.halves(narrow)]
        return [PairOfBands(narrow, half) for half in self.halves(wide)]


def largest_loss(
    bands: Bands,
    /,
    *,
    bound: Callable[[PairOfBands, float], float],
    blur: Callable[[Band], float],
    measure: Callable[[int, int], tuple[float, float]],
    guesses: Iterable[tuple[int, int]],
    tolerance: float,
    enough: float,
) -> tuple[float, float, tuple[int, int]]:
    """Lower and upper bound of the largest loss over all pairs of Gaussians, and the pair that has it.

    - `bound` (function of a pair of bands and of a level): Upper bound of the loss of all pairs of members; where it is
      below the level, it need not be sharp.
    - `blur` (function of a band): By how much it makes bounds larger than losses.
    - `measure` (function of two numbers): Lower and upper bound of the loss of one pair.
    - `guesses` (pairs of numbers): Pairs to measure first.
    - `tolerance`: Pairs whose loss is proved to be at most this fraction above the largest one seen may be left out.
    - `enough`: A loss proved to be above this is not bounded any closer.
    Raises CalibrationError where more than `MOST_BOUNDS` pairs of bands would have to be bounded.

    A loss that grows with the distance of the means is bounded over two bands by that of their farthest members, at
    the standard deviations of the bands. Best first: the pair of bands with the largest bound is replaced by its
    parts, until that bound is at most the upper bound of a pair that was measured, or within the tolerance.
    """
    lower, upper, worst = 0.0, 0.0, (0, 1)
    measured = set[tuple[int, int]]()

    def take(pair: tuple[int, int]) -> None:
        nonlocal lower, upper, worst
        if pair in measured:
            return
        measured.add(pair)
        low, high = measure(*pair)
        lower = max(lower, low)
        if high > upper:
            upper, worst = high, pair

    for pair in guesses:
        take(pair)
    ties = count()
    queue = [(-bound(bands.all_pairs, upper), next(ties), bands.all_pairs)]
    while queue:
        most = -queue[0][0]
        if most <= max(upper, lower * (1 + tolerance)) or lower > enough:
            upper = max(upper, most)
            break
        if next(ties) > MOST_BOUNDS:
            raise CalibrationError(
                "the pairs of secrets",
                rule=f"at most {MOST_BOUNDS:,} that bounds cannot tell from the worst one",
                got="more",
                hint='Take Noise(theorem="kantorovich") with delta 0, or list the pairs that matter.',
            )
        _, _, pair_of_bands = heapq.heappop(queue)
        for part in [pair_of_bands] if pair_of_bands.decided else bands.parts(pair_of_bands, blur=blur):
            value = min(most, bound(part, upper))
            if value <= upper:
                continue
            if part.decided:
                take(part.farthest)
            else:
                heapq.heappush(queue, (-value, next(ties), part))
    return min(lower, upper), upper, worst
