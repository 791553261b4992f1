"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.discrete import DiscreteLoss
from puffer_frames.loss.mixture import MixtureLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import shift_loss
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.priors import FloatArray, Prior, Secret
from puffer_frames.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.transport import shift_distance, w_infinity

MOST_ATOMS = 1024
"""Pairs of priors with more atoms have the bound by their W-infinity distance."""
_TOLERANCE = 1e-9
_NO_NOISE = 1e-100
"""Below this fraction of the span of the priors the noise is bounded by none at all: distances leave the floats."""


class StableNoiseLoss:
    r"""Pure privacy loss of several priors under symmetric alpha-stable noise of any scale gamma.

    Parameters
    ----------
    priors : mapping of secret to Prior
    pairs : "all" or tuple of pairs
    alpha : float

    Notes
    -----
    **Exact** for pairs of discrete priors with up to 1,024 atoms in all (`puffer_frames.noise.log_ratio`). Other pairs
    have the upper bound of their coupling: the loss of a shift by their W-infinity distance, for larger discrete priors
    and for shifts of one another; priors that have none (Gaussians of different variances, say) an infinite one.
    **Cost** per evaluation: some thousand cells, O(K) each for K atoms.

    References
    ----------
    [ZA]; theory sections 4, "Any noise", and 11.
    """

    def __init__(self, priors: Mapping[Secret, Prior], /, *, pairs: Pairs, alpha: float) -> None:
        self._priors, self._alpha = dict(priors), alpha
        self._pairs = list(combinations(priors, 2)) if pairs == "all" else list(pairs)
        self._exact = [pair for pair in self._pairs if self._is_exact(pair)]
        self._distance = {pair: self._coupled(pair) for pair in self._pairs if not self._is_exact(pair)}
        means = np.unique(np.concatenate([prior.means for prior in priors.values()]))
        widths = [float(prior.stds.max()) for prior in priors.values()]
        self._centre = float(means[means.size // 2])
        self.span = float(means[-1] - means[0]) + max(widths) or 1.0
        self.resolution = max(float(np.diff(means).min(initial=self.span)), self.span * _NO_NOISE)

    def only(self, pair: Pair, /) -> StableNoiseLoss:
        """The same for one of the pairs."""
        return StableNoiseLoss({s: self._priors[s] for s in pair}, pairs=(pair,), alpha=self._alpha)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y."""
        if scale <= self.span * _NO_NOISE:
            raw = self._raw().pure(0.0)
            return raw.at_most() if scale else raw
        lower, upper, worst = 0.0, 0.0, self._pairs[0]
        if self._exact:
            lower, upper, worst = self._of_atoms(scale)
        for pair, distance in self._distance.items():
            high = shift_loss(distance / scale, alpha=self._alpha)[1] if distance < math.inf else math.inf
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

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        secrets = list(dict.fromkeys(s for pair in self._exact for s in pair))
        mixtures = [self._mixture(self._priors[s], scale) for s in secrets]
        places = [(secrets.index(i), secrets.index(j)) for i, j in self._exact]
        different = [k for k, (i, j) in enumerate(self._exact) if self._priors[i] != self._priors[j]]
        if not different:
            return 0.0, 0.0, self._exact[0]
        shape = stable_shape(self._alpha)
        lower, upper, worst = largest_log_ratio(mixtures, [places[k] for k in different], shape, tolerance=_TOLERANCE)
        farthest = max(float(np.abs(atoms).max()) for _, atoms in mixtures)
        moved = 2.0 * subtraction_error(np.concatenate([p.means for p in self._priors.values()]), self._centre) / scale
        slack = 2.0 * shape.steepest * (moved + 8.0 * UNIT_ROUNDOFF * farthest)  # rounding of the atoms' places
        return max(lower - slack, 0.0), upper + slack, self._exact[different[worst]]

    def _mixture(self, prior: Prior, scale: float) -> tuple[FloatArray, FloatArray]:
        return prior.weights, (prior.means - self._centre) / scale

    def _is_exact(self, pair: Pair) -> bool:
        both = [self._priors[s] for s in pair]
        return all(prior.is_discrete for prior in both) and sum(prior.means.size for prior in both) <= MOST_ATOMS

    def _coupled(self, pair: Pair) -> float:
        p, q = (self._priors[s] for s in pair)
        return w_infinity(p, q) if p.is_discrete and q.is_discrete else shift_distance(p, q)

    def _raw(self) -> DiscreteLoss | MixtureLoss:
        pairs = tuple(self._pairs)
        if all(prior.is_discrete for prior in self._priors.values()):
            return DiscreteLoss(self._priors, pairs=pairs)
        return MixtureLoss(self._priors, pairs=pairs)
