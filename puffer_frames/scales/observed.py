"""The observed frequencies as a belief."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from puffer_frames.priors.prior import Prior, Secret, observed_priors
from puffer_frames.priors.summary import Counts, extent_of, in_parts, in_wider_cells

Belief: TypeAlias = Mapping[Secret, Prior]
"""One law per secret."""

MOST_ENTRIES = 1 << 23
"""Secrets times cells are about so many at most."""
_FEW_CELLS = 1 << 24
"""So many are marked in a table; of more those that hold values are sorted."""


def observed_belief(counts: Mapping[Secret, Counts], /, *, radius: float) -> Belief:
    """The observed frequencies of each secret, as a `Summary` has them."""
    coarse, wider = _merged(counts, radius=radius)
    return observed_priors(coarse, radius=wider)


def _merged(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[Mapping[Secret, Counts], float]:
    """Values that were counted in cells, in wider ones where there are many secrets: the engine's tables hold both."""
    low, high = extent_of(counts, radius=radius)
    cells = (high - low) / (2 * radius) if radius else 0.0
    if len(counts) * cells > MOST_ENTRIES:  # of which a column in clusters or with an outlier fills few
        cells = _filled(counts, low, 2 * radius, most=cells)
    times = math.ceil(len(counts) * cells / MOST_ENTRIES)
    if times <= 1:
        return counts, radius
    wider = radius * 2.0 ** math.ceil(math.log2(times))
    return in_wider_cells(counts, radius=wider), wider


def _filled(counts: Mapping[Secret, Counts], low: float, width: float, /, *, most: float) -> int:
    """How many cells hold values, of so many from the lowest one on."""
    first = math.floor(low / width)
    if most > _FEW_CELLS:
        return int(np.unique(np.floor(np.concatenate([values for values, _ in counts.values()]) / width)).size)
    held = np.zeros(int(most) + 2, dtype=bool)
    for secrets in in_parts(counts):
        keys = np.floor(np.concatenate([counts[secret][0] for secret in secrets]) / width) - first
        held[keys.astype(np.intp)] = True
    return int(held.sum())
