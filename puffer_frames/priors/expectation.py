"""Expectation and maximisation: the likelihood of a Gaussian mixture, step by step and leap by leap."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from puffer_frames.priors.prior import FloatArray

NARROWEST = 1e-6
"""A component this narrow, in standard deviations of the data, is an atom, unless values lie closer together."""
_WIDEST = 50.0
"""Logarithm of the standard deviation after a leap."""
_TINY = float(np.finfo(np.float64).tiny)

Components: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Weights, means and standard deviations."""


def climb(
    x: FloatArray,
    p: FloatArray,
    start: Components,
    /,
    *,
    lightest: float,
    tolerance: float,
    most_steps: int,
    narrowest: float = NARROWEST,
) -> Components:
    """Steps of EM until one changes the likelihood by less than the tolerance, with a leap after every two.

    A leap goes on in the direction of both steps, as far as they say (SQUAREM, scheme S3 of [VR08]); where the
    likelihood is lower there than after the first of them, EM goes on from the second.
    """
    now, farthest, steps = start, 4.0, 0
    while True:
        states, likelihoods = [now], list[float]()
        while len(states) < 3:
            likelihood, following = em_step(x, p, *states[-1], narrowest=narrowest)
            steps += 1
            if (likelihoods and abs(likelihood - likelihoods[-1]) < tolerance) or steps >= most_steps:
                return _without_light(following, lightest)
            kept = _without_light(following, lightest)
            if kept[0].size < following[0].size:
                states, likelihoods = [kept], []
                continue
            states.append(following)
            likelihoods.append(likelihood)
        leap, length = _leap(*states, farthest=farthest, narrowest=narrowest)
        reached, following = em_step(x, p, *leap, narrowest=narrowest)
        steps += 1
        if reached >= likelihoods[-1]:
            now, farthest = following, 4.0 * farthest if length == farthest else farthest
        else:
            now, farthest = states[-1], max(4.0, farthest / 4.0)


def _without_light(components: Components, lightest: float) -> Components:
    weights, means, stds = components
    kept = weights > lightest
    return components if kept.all() else (weights[kept] / weights[kept].sum(), means[kept], stds[kept])


def _leap(
    first: Components, second: Components, third: Components, *, farthest: float, narrowest: float
) -> tuple[Components, float]:
    """Where two steps lead to, in log weights, means and log standard deviations, and how many steps far that is."""
    at = [np.array((np.log(np.maximum(w, _TINY)), m, np.log(s))) for w, m, s in (first, second, third)]
    step, change = at[1] - at[0], at[2] - 2.0 * at[1] + at[0]
    size = float(np.linalg.norm(change))
    length = min(max(1.0, float(np.linalg.norm(step)) / size), farthest) if size > 0 else 1.0
    weights, means, stds = at[0] + 2.0 * length * step + length**2 * change
    weights = np.exp(weights - weights.max())
    return (weights / weights.sum(), means, np.maximum(np.exp(np.minimum(stds, _WIDEST)), narrowest)), length


def em_step(
    x: FloatArray,
    p: FloatArray,
    weights: FloatArray,
    means: FloatArray,
    stds: FloatArray,
    /,
    *,
    narrowest: float = NARROWEST,
) -> tuple[float, Components]:
    """Mean log-likelihood (up to a constant) and the parameters after one E-step and one M-step."""
    z = (x - means[:, None]) / stds[:, None]
    squares = z * z
    with np.errstate(divide="ignore"):  # a component without weight
        logs = np.log(weights / stds)[:, None] - 0.5 * squares
    top = logs.max(axis=0)
    densities = np.exp(logs - top)
    sums = densities.sum(axis=0)
    likelihood = float(p @ (top + np.log(sums)))
    shares = densities * (p / sums)
    weights = shares.sum(axis=1)
    claimed = np.maximum(weights, _TINY)
    # Moments about the old mean in units of the old width: no cancellation for narrow components far out.
    shift = (shares * z).sum(axis=1) / claimed
    variances = (shares * squares).sum(axis=1) / claimed - shift**2
    widths = np.maximum(stds * np.sqrt(np.maximum(variances, 0)), narrowest)
    return likelihood, (weights, means + stds * shift, widths)
