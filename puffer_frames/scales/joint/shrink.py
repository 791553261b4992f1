"""Smaller scales in the same proportions, where a delta allows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from puffer_frames.priors.prior import FloatArray

_FIRST_STEP, _GROWTH = 0.02, 3.0
"""In logs of the scales."""
_NEAR = 5e-4
"""Relative accuracy of the result."""
_MOST_STEPS, _MOST_TRIALS = 12, 16
_FAR = 30.0
"""Stands for the log of a ratio that is 0 or infinite."""


def shrunk(
    loss_of: Callable[[FloatArray], float], scales: FloatArray, least: FloatArray, /, *, most: float
) -> FloatArray:
    """The smallest scales found on the ray of the given ones, none below its least one, whose loss is at most `most`.

    Parameters
    ----------
    loss_of : function of scales
        An upper bound of the loss, or any larger number than `most` where it is more.
    scales : array, shape (columns,)
        Known to be private.
    least : array, shape (columns,)
        No scale is below its own.

    Notes
    -----
    **Guarantee**: the loss at the result was bounded, or it is the given one. **Cost**: at most 30 bounds.
    """
    private = {0.0: scales}

    @cache
    def excess(log: float) -> float:
        """Log of the loss relative to what it may be."""
        if log == 0:
            return -_FAR
        tried = np.maximum(scales * math.exp(log), least)
        found = loss_of(tried)
        if found <= most:
            private[log] = tried
        return max(-_FAR, math.log(found / most)) if found else -_FAR

    high, step = 0.0, _FIRST_STEP
    for _ in range(_MOST_STEPS):
        low = high - step
        if excess(low) > 0:
            root = float(brentq(excess, low, high, xtol=_NEAR / 2, maxiter=_MOST_TRIALS, disp=False))
            if min(private) > root + _NEAR:
                excess(root + _NEAR / 2)
            break
        high, step = low, _GROWTH * step
        if (private[high] <= least).all():
            break
    return private[min(private)]
