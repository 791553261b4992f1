"""The loss of any noise by a coupling: that of a shift by the W-infinity distance of two priors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Self

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.mixtures.mixture import MixtureLoss
from puffer_frames.loss.outcome import Bracket, WorstCase
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret
from puffer_frames.priors.transport import shift_distance, w_infinity

_UP = 1 + 16 * UNIT_ROUNDOFF


class CoupledSetsLoss:
    """Upper bound of the loss of several sets of laws under a noise of any family.

    Intervals of the same level are paired: a value of the one and a value of the other are at most as far apart as the
    farther ends. What hides a shift by the largest such distance hides the pair.
    See docs/theory.md, section 4, "Any noise", and section 14.
    """

    def __init__(self, sets: Mapping[Secret, LawSet], /, *, pairs: Pairs, noise: NoiseFamily) -> None:
        self._sets, self._noise = dict(sets), noise
        self._pairs = list(combinations(sets, 2)) if pairs == "all" else list(pairs)
        self._distances = {pair: set_distance(*(self._sets[secret] for secret in pair)) for pair in self._pairs}
        self._worst = max(self._distances, key=lambda pair: self._distances[pair])
        self.span = self.resolution = self._distances[self._worst]

    def only(self, pair: Pair, /) -> CoupledSetsLoss:
        return CoupledSetsLoss({s: self._sets[s] for s in pair}, pairs=(pair,), noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
        """At most the loss of a shift by the largest distance."""
        shift = self._shift(scale)
        upper = 0.0 if shift == 0 else self._noise.shift_loss(shift) if shift < math.inf else math.inf
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=self._worst)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """At most the hockey stick of such a shift."""
        shift = self._shift(scale)
        if isinstance(self._noise, Gaussian) and shift < math.inf:
            upper = shift_hockey_stick(shift, epsilon=epsilon)
        else:
            upper = 0.0 if self.pure(scale).bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=self._worst)

    def _shift(self, scale: float) -> float:
        if not self.span:
            return 0.0
        with np.errstate(over="ignore"):
            return float(np.float64(self.span) / scale * _UP) if scale else math.inf


_BESIDE = 1e-9
"""Intervals whose levels are so near are paired too: the levels have rounding errors."""


def set_distance(one: LawSet, other: LawSet, /) -> float:
    """A distance that a value of the one and one of the other, well coupled, never exceed, whichever laws they have."""
    order = [np.lexsort((each.lows, each.highs)) for each in (one, other)]
    ends = [np.cumsum(each.weights[k]) for each, k in zip((one, other), order, strict=True)]
    begins = [np.append(0.0, end[:-1]) for end in ends]
    first = np.searchsorted(ends[1], begins[0] - _BESIDE)
    last = np.minimum(np.searchsorted(begins[1], ends[0] + _BESIDE, side="right"), ends[1].size) - 1
    a, b = ((each.lows[k], each.highs[k]) for each, k in zip((one, other), order, strict=True))
    farthest = 0.0
    least, most = _running(b[0], first, last, np.minimum), _running(b[1], first, last, np.maximum)
    for distance in (a[1] - least, most - a[0]):
        farthest = max(farthest, float(distance.max()))
    return farthest * _UP


def _running(values: FloatArray, first: IndexArray, last: IndexArray, extreme: np.ufunc) -> FloatArray:
    """The extreme of values[first[k] : last[k] + 1] for each k."""
    starts = np.column_stack([first, np.maximum(last, first) + 1]).ravel()
    padded = np.append(values, values[-1])
    return extreme.reduceat(padded, np.minimum(starts, padded.size - 1))[::2]


_NO_NOISE = 1e-100
"""Below this fraction of the span of the priors the noise is bounded by none at all: distances leave the floats."""


class CoupledLoss:
    r"""Upper bound of the pure privacy loss of several priors under a noise of any scale.

    - `noise`: A family whose shifts have a bounded loss (`Noise.shift_loss`).

    Discrete priors, and priors that are shifts of one another, have the loss of a shift by their W-infinity distance;
    pairs that have none (Gaussians of different variances, say) an infinite one.
    See docs/theory.md, section 4, "Any noise".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs, noise: NoiseFamily) -> None:
        self._priors, self._noise, self._asked = dict(priors), noise, pairs
        self._pairs = list(combinations(priors, 2)) if pairs == "all" else list(pairs)
        self._exact = [pair for pair in self._pairs if self._is_exact(pair)]
        self._distance = {pair: self._coupled(pair) for pair in self._pairs if not self._is_exact(pair)}
        means = np.unique(np.concatenate([prior.means for prior in priors.values()]))
        widths = [float(prior.stds.max()) for prior in priors.values()]
        self._centre = float(means[means.size // 2])
        self.span = float(means[-1] - means[0]) + max(widths) or 1.0
        self.resolution = max(float(np.diff(means).min(initial=self.span)), self.span * _NO_NOISE)

    def only(self, pair: Pair, /) -> Self:
        return type(self)({s: self._priors[s] for s in pair}, pairs=(pair,), noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
        if scale <= self.span * _NO_NOISE:
            return self._raw().pure(0.0).for_scale(scale)
        lower, upper, worst = 0.0, 0.0, self._pairs[0]
        if self._exact:
            lower, upper, worst = self._of_atoms(scale)
        for pair, distance in self._distance.items():
            high = self._noise.shift_loss(distance / scale) if distance < math.inf else math.inf
            if high > upper:
                upper, worst = high, pair
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=worst)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if scale <= self.span * _NO_NOISE:
            return self._raw().hockey_stick(0.0, epsilon=epsilon).for_scale(scale)
        return self.pure(scale).as_stick(epsilon)

    def _is_exact(self, pair: Pair) -> bool:
        """Whether `_of_atoms` knows more of a pair."""
        del pair
        return False

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        raise NotImplementedError

    def _coupled(self, pair: Pair) -> float:
        p, q = (self._priors[s] for s in pair)
        return w_infinity(p, q) if p.is_discrete and q.is_discrete else shift_distance(p, q)

    def _raw(self) -> DiscreteLoss | MixtureLoss:
        if all(prior.is_discrete for prior in self._priors.values()):
            return DiscreteLoss(self._priors, pairs=self._asked)
        return MixtureLoss(self._priors, pairs=self._asked)
