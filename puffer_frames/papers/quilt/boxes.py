"""How much one value tells of the values around it, under every chain of a box."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.numbers.arguments import check_epsilon
from puffer_frames.papers.quilt.influence import Influence, distances
from puffer_frames.papers.quilt.nodes import Nodes, QuiltScale, empty_quilt
from puffer_frames.priors.chain_box import ChainBox
from puffer_frames.priors.prior import FloatArray, IndexArray

_POWERS = 7
"""Contraction is looked at over 1, 2, 4, ..., 2**(_POWERS - 1) steps."""
_UP = 1 + 1e-11
_FARTHEST = 1 << 20


def box_quilts(box: ChainBox, /, *, length: int, epsilon: float, most: int | None = None) -> QuiltScale:
    r"""The scale that serves every chain of a box; quilts that hold `most` nodes or more are not looked for.

    Notes
    -----
    The log-ratio of what lies on a side, a steps away, for two states here is at most the projective diameter of the
    matrix of a steps, whatever the law before is:

    .. math:: \Delta(P^a) = \max_{i,j,x,y} \log\frac{P^a_{ix} P^a_{jy}}{P^a_{jx} P^a_{iy}}
              \le \tanh(\Delta_m/4)^{\lfloor a/m \rfloor - 1} \Delta_m

    by Birkhoff's theorem, with a bound :math:`\Delta_m` for the products of m matrices of the box. The same holds where
    the matrix changes from step to step within the box.

    References
    ----------
    docs/theory.md, section 14.
    """
    epsilon = check_epsilon(epsilon)
    most = length if most is None else min(most, length)
    rates = _contractions(box)
    if length == 1 or not rates:
        return empty_quilt(length, epsilon)
    best, m = math.inf, 1
    while m < length and m < epsilon * best:
        worst = 2 * float(_diameters(rates, np.array([m]))[0])
        best = min(best, (2 * m - 1) / (epsilon - worst)) if worst < epsilon else best
        m *= 2
        if m > _FARTHEST:
            break
    farthest = math.ceil(min(epsilon * best, float(min(length, _FARTHEST)))) + 1
    steps = distances(max(1, min(length - 1, most, farthest)))
    side = _diameters(rates, steps)[:, None]
    return Nodes(Influence(steps=steps, left=side, right=side), epsilon=epsilon, length=length).solve()


def _contractions(box: ChainBox) -> list[tuple[int, float, float]]:
    """Numbers of steps m with Delta_m and tanh(Delta_m / 4), rounded up."""
    least, most = box.least, box.most
    found = []
    for k in range(_POWERS):
        diameter = _diameter(least, most)
        if diameter < math.inf:
            rate = min(1.0, math.tanh(diameter / 4) * _UP)
            if rate < 1:
                found.append((2**k, diameter, rate))
        least, most = (least @ least) / _UP, np.minimum((most @ most) * _UP, 1.0)
    return found


def _diameter(least: FloatArray, most: FloatArray) -> float:
    """Upper bound of the projective diameter of every matrix between two bounds."""
    if not (least > 0).all():
        return math.inf
    ratios = (np.log(most)[:, None, :] - np.log(least)[None, :, :]).max(axis=2)
    np.fill_diagonal(ratios, 0.0)
    return float((ratios + ratios.T).max()) * _UP


def _diameters(rates: list[tuple[int, float, float]], steps: IndexArray) -> FloatArray:
    """Bounds at these distances: the smallest that any number of steps gives."""
    best = np.full(steps.size, np.inf)
    for m, diameter, rate in rates:
        times = steps // m
        reached = times >= 1
        best[reached] = np.minimum(best[reached], diameter * rate ** (times[reached] - 1.0) * _UP)
    return best
