"""k-ary randomised response: a label is kept, or replaced by another level, each with the same probability."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.channel import TOTAL_BITS


def changed_share(levels: int, scale: float, /) -> float:
    r"""The probability :math:`(m - 1) / (m - 1 + e^{1/b})` that a label is replaced, of m levels and a scale b."""
    if not scale or levels < 2:
        return 0.0
    others = (levels - 1) * math.exp(-1 / scale)
    return others / (1 + others)


def randomised_response(levels: int, scale: float, /) -> NDArray[np.int64]:
    r"""The channel whose probability of another level is at least :math:`e^{-1/b}` times that of the level itself.

    Parameters
    ----------
    levels : int
        m, at least 1.
    scale : float
        b; 0 for no change.

    Returns
    -------
    array of int, shape (levels, levels)
        Probabilities in units of 2**-62, equal for all other levels. The largest log-ratio of two rows is at most 1/b.
    """
    total = 1 << TOTAL_BITS
    weights = np.zeros((levels, levels), dtype=np.int64)
    if not scale or levels < 2:
        np.fill_diagonal(weights, total)
        return weights
    share = Fraction(math.exp(-1 / scale)) * (1 + Fraction(1, 2**50))  # at least the exact one
    other = min(math.ceil(total * share / (1 + (levels - 1) * share)) + 1, total // levels)
    weights[:] = other
    np.fill_diagonal(weights, total - (levels - 1) * other)
    return weights
