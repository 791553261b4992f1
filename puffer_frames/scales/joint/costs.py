"""What the scales of several columns cost together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.randomised import changed_share
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What scales cost."""

    weights: FloatArray
    """What a unit of the cost of a column counts."""
    levels: Mapping[int, int]
    """Numbers of levels of the columns of labels."""

    def of(self, scales: FloatArray, /) -> float:
        """The weighted sum of the scales, and of the shares of changed labels."""
        costs = np.array(scales, dtype=np.float64)
        for k, count in self.levels.items():
            costs[k] = changed_share(count, float(costs[k]))
        return float(self.weights @ costs)

    def scaled(self, scales: FloatArray, cost: float, /) -> FloatArray:
        """Scales that cost about so much: those of numbers in these proportions, those of labels as they are."""
        numbers = [k for k in range(scales.size) if k not in self.levels]
        own = float(self.weights[numbers] @ scales[numbers])
        found = scales.copy()
        found[numbers] *= max(cost - self.of(scales) + own, 0.0) / own
        return found

    def slope(self, rates: FloatArray, /) -> FloatArray:
        """Its derivatives in the logs of 1 / scale."""
        slopes = -1 / np.asarray(rates, dtype=np.float64)
        for k, count in self.levels.items():
            share = changed_share(count, 1 / float(rates[k]))
            slopes[k] = -share * (1 - share) * float(rates[k])
        found: FloatArray = self.weights * slopes
        return found
