"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import numpy as np

from puffer_frames.loss.noises.coupled import CoupledLoss
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, Prior

MOST_ATOMS = 1024
"""Pairs of priors with more atoms have the bound by their W-infinity distance."""
_TOLERANCE = 1e-9


class StableNoiseLoss(CoupledLoss):
    r"""Pure privacy loss of several priors under symmetric alpha-stable noise of any scale gamma.

    Parameters
    ----------
    priors : mapping of secret to Prior
    pairs : "all" or tuple of pairs
    noise : Stable

    Notes
    -----
    **Exact** for pairs of discrete priors with up to 1,024 atoms in all (`puffer_frames.noise.log_ratio`). Other pairs
    have the upper bound of their coupling. **Cost** per evaluation: some thousand cells, O(K) each for K atoms.

    References
    ----------
    [ZA]; docs/theory.md, section 4, "Any noise"; docs/theory.md, section 11.
    """

    def _is_exact(self, pair: Pair) -> bool:
        both = [self._priors[s] for s in pair]
        return all(prior.is_discrete for prior in both) and sum(prior.means.size for prior in both) <= MOST_ATOMS

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        assert isinstance(self._noise, Stable)
        secrets = list(dict.fromkeys(s for pair in self._exact for s in pair))
        mixtures = [self._mixture(self._priors[s], scale) for s in secrets]
        places = [(secrets.index(i), secrets.index(j)) for i, j in self._exact]
        different = [k for k, (i, j) in enumerate(self._exact) if self._priors[i] != self._priors[j]]
        if not different:
            return 0.0, 0.0, self._exact[0]
        shape = stable_shape(self._noise.alpha)
        lower, upper, worst = largest_log_ratio(mixtures, [places[k] for k in different], shape, tolerance=_TOLERANCE)
        farthest = max(float(np.abs(atoms).max()) for _, atoms in mixtures)
        moved = 2.0 * subtraction_error(np.concatenate([p.means for p in self._priors.values()]), self._centre) / scale
        slack = 2.0 * shape.steepest * (moved + 8.0 * UNIT_ROUNDOFF * farthest)  # rounding of the atoms' places
        return max(lower - slack, 0.0), upper + slack, self._exact[different[worst]]

    def _mixture(self, prior: Prior, scale: float) -> tuple[FloatArray, FloatArray]:
        return prior.weights, (prior.means - self._centre) / scale
