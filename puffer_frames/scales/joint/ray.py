"""Scales of several columns in given proportions, at which their joint loss is about epsilon."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from puffer_frames.loss.joint.joint_loss import JointLoss
from puffer_frames.priors.prior import FloatArray

NEAR = 1e-5
"""Relative accuracy of a scale."""
_LEAST_LOSS = 2.0**-10
"""Part of epsilon, whose inverse is the largest: losses beyond say no more of where the loss is epsilon."""
_FARTHEST = 4.0
"""A step goes no farther, in logs of the scales."""


def on_ray(
    loss: JointLoss,
    scales: FloatArray,
    epsilon: float,
    least: FloatArray,
    *,
    most: FloatArray | None = None,
    near: float = NEAR,
) -> FloatArray:
    """Scales in the same proportions, none below its least one, at which the loss at the nodes is about epsilon."""

    def at(log: float) -> FloatArray:
        return np.maximum(scales * math.exp(log), least)

    def excess(log: float) -> float:
        """Log of the loss in epsilons, not far from 0: it falls about as fast as the scales grow."""
        ratio = loss.worst(at(log)).loss / epsilon
        return math.log(min(max(_LEAST_LOSS, ratio), 1 / _LEAST_LOSS))

    low = high = step = 0.0
    first = last = excess(0.0)
    while last > 0:
        step = _beyond(last, step, near)
        low, first, high = high, last, high + step
        last = excess(high)
        if last > 0 and most is not None and (at(high) >= most).all():
            return most
    while first <= 0:
        if (at(low) <= least).all():
            return at(low)
        step = _beyond(first, step, near)
        high, last, low = low, first, low - step
        first = excess(low)
    found: float = brentq(excess, low, high, xtol=near, rtol=near)
    return at(found + near)


def _beyond(excess: float, before: float, near: float) -> float:
    """A step to where a loss that falls as fast as the scales grow is on the other side; twice the one before at least,
    for it may fall slowly.
    """
    return min(max(1.25 * abs(excess) + near, 2 * before), _FARTHEST)
