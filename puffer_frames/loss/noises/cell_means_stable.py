"""Privacy loss under stable noise of values that were counted in cells, by the means of the cells."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.noises.fewer_nodes import cost_of_means
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.noise.stable_shape import StableShape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import MEANS_ERROR, Prior, Secret

_WIDEST = 0.25
"""Cells that are wider, in scales, are known by their middles alone."""


class StableCellMeansLoss:
    """Bounds of the pure loss for all values that lie in their cells and have the given means there.

    Their densities are those of as many values at the means, but for an error of second order in the width h of the
    cells: the variance within a cell is at most h²/4 (`cost_of_means`).

    Parameters
    ----------
    means : Loss
        Of as many values at the means.
    coarse : Loss
        Of values anywhere in their cells: for cells that are wide against the noise.
    priors : mapping of secret to Prior
        The means of cells of one width.
    shape : StableShape
        Of the noise.

    References
    ----------
    docs/theory.md, section 13, on means of cells.
    """

    def __init__(self, means: Loss, coarse: Loss, /, *, priors: Mapping[Secret, Prior], shape: StableShape) -> None:
        self._means, self._coarse, self._priors, self._shape = means, coarse, priors, shape
        self._width = 2 * max(prior.radius for prior in priors.values())
        farthest = max(float(np.abs(prior.means).max()) for prior in priors.values()) + self._width
        self._moved = MEANS_ERROR * self._width + 4 * UNIT_ROUNDOFF * farthest

    @property
    def span(self) -> float:
        """A length from which a search for the scale may start."""
        return self._coarse.span

    @property
    def resolution(self) -> float:
        """Below half the width of a cell nothing is known."""
        return self._coarse.resolution

    def only(self, pair: Pair, /) -> StableCellMeansLoss:
        """The same for one of the pairs."""
        alone = {secret: self._priors[secret] for secret in pair}
        return StableCellMeansLoss(self._means.only(pair), self._coarse.only(pair), priors=alone, shape=self._shape)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y."""
        if not scale or self._width > _WIDEST * scale:
            return self._coarse.pure(scale)
        found, width = self._means.pure(scale), self._width / scale
        cost = sum(cost_of_means(self._shape, variance=0.25 * width**2, extent=width, moved=self._moved / scale))
        lower, upper = max(found.bracket.lower - cost, 0.0), found.bracket.upper + cost
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """What the pure loss says of the hockey stick: 0 where it is at most epsilon, nothing otherwise."""
        if not scale or self._width > _WIDEST * scale:
            return self._coarse.hockey_stick(scale, epsilon=epsilon)
        pure = self.pure(scale)
        upper = 0.0 if pure.bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=pure.pair)
