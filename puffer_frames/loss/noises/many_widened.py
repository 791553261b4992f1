"""Exact privacy loss of many Gaussian priors under Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from puffer_frames.loss.mixtures.many_gaussians import ManyGaussiansLoss
from puffer_frames.loss.noises.gaussian_noise import NO_NOISE, GaussianNoiseLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import Prior, Secret


class ManyWidenedLoss:
    """Privacy loss of Gaussians and atoms, one per secret, over all pairs, under Gaussian noise of any scale.

    The noise widens them, and nothing else is added: this is `GaussianNoiseLoss` without a loop over the pairs, by the
    bounds of `ManyGaussiansLoss` that hold without noise.

    Parameters
    ----------
    priors : mapping of secret to Prior
        One component each.

    Notes
    -----
    **Cost** per evaluation: one sort, and mostly some hundred pairs of Gaussians.

    References
    ----------
    [D24] section VI-B (16); docs/theory.md, section 3, "Many Gaussians".
    """

    def __init__(self, priors: Mapping[Secret, Prior], /) -> None:
        self._priors = priors
        self._many = ManyGaussiansLoss(priors)
        self.span = self._many.span or 1.0
        self.resolution = max(self._many.resolution, self.span * NO_NOISE)

    def only(self, pair: Pair, /) -> GaussianNoiseLoss:
        """The same for one of the pairs."""
        return GaussianNoiseLoss({s: self._priors[s] for s in pair}, pairs=(pair,))

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs: infinite, unless all priors are equal."""
        if scale <= self.span * NO_NOISE:
            raw = self._many.pure(0.0)
            return raw.at_most() if scale else raw
        return self._many.widened(scale).pure(0.0)

    @np.errstate(over="ignore")  # distances of very many scales: their squares are infinite
    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """Largest integral of [f_i - e^epsilon f_j]_+ over the pairs, both orders."""
        if scale <= self.span * NO_NOISE:
            raw = self._many.hockey_stick(0.0, epsilon=epsilon)
            return raw.at_most() if scale else raw
        return self._many.widened(scale).hockey_stick(0.0, epsilon=epsilon)
