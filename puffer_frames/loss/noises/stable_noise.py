"""Exact privacy loss of atoms under symmetric stable noise; elsewhere the bound by a coupling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from puffer_frames.loss.noises.coupled import CoupledLoss
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtraction_error
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, Prior, Secret

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
        return sum(self._atoms[s] for s in pair) <= MOST_ATOMS

    @cached_property
    def _atoms(self) -> dict[Secret, float]:
        """How many each prior has; infinitely many where it has widths."""
        return {s: prior.means.size if prior.is_discrete else math.inf for s, prior in self._priors.items()}

    @cached_property
    def _binding(self) -> list[Pair]:
        return _that_may_bind(self._exact, self._priors)

    def _of_atoms(self, scale: float) -> tuple[float, float, Pair]:
        assert isinstance(self._noise, Stable)
        pairs = self._binding
        if not pairs:
            return 0.0, 0.0, self._exact[0]
        place = {s: k for k, s in enumerate(dict.fromkeys(s for pair in pairs for s in pair))}
        mixtures = [self._mixture(self._priors[s], scale) for s in place]
        shape = stable_shape(self._noise.alpha)
        farthest = max(float(np.abs(atoms).max()) for _, atoms in mixtures)
        moved = 2.0 * subtraction_error(np.concatenate([p.means for p in self._priors.values()]), self._centre) / scale
        slack = 2.0 * shape.steepest * (moved + 8.0 * UNIT_ROUNDOFF * farthest)  # rounding of the atoms' places
        lower, upper, worst = largest_log_ratio(
            mixtures,
            [(place[i], place[j]) for i, j in pairs],
            shape,
            tolerance=_TOLERANCE,
        )
        return max(lower - slack, 0.0), upper + slack, pairs[worst]

    def _mixture(self, prior: Prior, scale: float) -> tuple[FloatArray, FloatArray]:
        return prior.weights, (prior.means - self._centre) / scale


def _that_may_bind(pairs: list[Pair], priors: Mapping[Secret, Prior]) -> list[Pair]:
    """The pairs of different priors; of those of two point masses, the one farthest apart.

    The loss of a shift d, sup_y log f(y) - log f(y - d), grows with d: where it is positive, y lies nearer to 0 than
    y - d, and a symmetric unimodal density of y - d falls as d grows.
    """
    points = [(i, j) for i, j in pairs if priors[i].means.size == 1 == priors[j].means.size]
    apart = {(i, j): abs(float(priors[i].means[0] - priors[j].means[0])) for i, j in points}
    farthest = max(apart, key=apart.__getitem__, default=None)
    return [(i, j) for i, j in pairs if priors[i] != priors[j] and ((i, j) not in apart or (i, j) == farthest)]
