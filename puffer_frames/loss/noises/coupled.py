"""The loss of any noise by a coupling: that of a shift by the W-infinity distance of two priors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Self

import numpy as np

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.mixtures.mixture import MixtureLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.transport import shift_distance, w_infinity

_NO_NOISE = 1e-100
"""Below this fraction of the span of the priors the noise is bounded by none at all: distances leave the floats."""


class CoupledLoss:
    r"""Upper bound of the pure privacy loss of several priors under a noise of any scale.

    Parameters
    ----------
    priors : mapping of secret to Prior
    pairs : "all" or tuple of pairs
    noise : Noise
        A family whose shifts have a bounded loss (`Noise.shift_loss`).

    Notes
    -----
    Discrete priors, and priors that are shifts of one another, have the loss of a shift by their W-infinity distance;
    pairs that have none (Gaussians of different variances, say) an infinite one.

    References
    ----------
    docs/theory.md, section 4, "Any noise".
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
        """The same for one of the pairs."""
        return type(self)({s: self._priors[s] for s in pair}, pairs=(pair,), noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y."""
        if scale <= self.span * _NO_NOISE:
            raw = self._raw().pure(0.0)
            return raw.at_most() if scale else raw
        lower, upper, worst = 0.0, 0.0, self._pairs[0]
        if self._exact:
            lower, upper, worst = self._of_atoms(scale)
        for pair, distance in self._distance.items():
            high = self._noise.shift_loss(distance / scale) if distance < math.inf else math.inf
            if high > upper:
                upper, worst = high, pair
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=worst)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """What the pure loss says of the hockey stick: 0 where it is at most epsilon, nothing otherwise."""
        if scale <= self.span * _NO_NOISE:
            raw = self._raw().hockey_stick(0.0, epsilon=epsilon)
            return raw.at_most() if scale else raw
        pure = self.pure(scale)
        upper = 0.0 if pure.bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=pure.pair)

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
