"""The observed frequencies as a belief."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from puffer_frames.priors.prior import Prior, Secret, observed_priors
from puffer_frames.priors.summary import Counts, in_wider_cells

Belief: TypeAlias = Mapping[Secret, Prior]
"""One law per secret."""

MOST_ENTRIES = 1 << 23
"""Secrets times cells are about so many at most."""


def observed_belief(counts: Mapping[Secret, Counts], /, *, radius: float) -> Belief:
    """The observed frequencies of each secret, as a `Summary` has them."""
    coarse, wider = _merged(counts, radius=radius)
    return observed_priors(coarse, radius=wider)


def _merged(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[Mapping[Secret, Counts], float]:
    """Values that were counted in cells, in wider ones where there are many secrets: the engine's tables hold both."""
    low = min(float(values[0]) for values, _ in counts.values())
    high = max(float(values[-1]) for values, _ in counts.values())
    cells = (high - low) / (2 * radius) if radius else 0.0
    if len(counts) * cells > MOST_ENTRIES:  # of which a column in clusters or with an outlier fills few
        cells = min(cells, np.unique(np.concatenate([values for values, _ in counts.values()])).size)
    times = math.ceil(len(counts) * cells / MOST_ENTRIES)
    if times <= 1:
        return counts, radius
    wider = radius * 2.0 ** math.ceil(math.log2(times))
    return {secret: in_wider_cells(pair, radius=wider) for secret, pair in counts.items()}, wider
