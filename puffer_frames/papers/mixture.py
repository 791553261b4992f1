"""Gaussian mixture priors: Theorem 2 and Corollary 2 of [D24], as published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.special import log_ndtr, ndtr

from puffer_frames.errors import PriorError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.papers.gaussian import tau_star
from puffer_frames.priors.pairs import Pair, Pairs, pairs_of
from puffer_frames.priors.prior import FloatArray, Prior, Secret

_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF


@short_traceback
def mixture_scale(
    priors: Mapping[Secret, Prior],
    /,
    *,
    epsilon: float,
    delta: float,
    pairs: str | Iterable[Sequence[Secret]] = "all",
) -> float:
    r"""Published Laplace scale for Gaussian mixture priors. It is **not** always private.

    .. math:: b = \max_{(i, j)} \sum_{m, l} w^*_{ml}
        \left( |\mu_{im} - \mu_{jl}| + \tau^*(\delta) |\sigma_{im} - \sigma_{jl}| \right) / \varepsilon

    with the plan w* between the components that minimises
    :math:`\sum w_{ml} [(\mu_{im} - \mu_{jl})^2 + (\sigma_{im} - \sigma_{jl})^2]`.

    Parameters
    ----------
    priors : mapping of secret to Prior
    epsilon : float
        Greater than 0.
    delta : float
        Greater than 0, less than 1.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, in units of the column.

    Raises
    ------
    ArgumentError
        For an epsilon, delta or secret out of range.

    Notes
    -----
    **Guarantee**: none. For the priors N(0,1)/2 + N(100,1)/2 and N(0,1)/2 + N(200,1)/2 it gives 50 at epsilon 1 and
    every delta, where delta* is 0.184: the proof treats factors as equal that the adversary can choose. Check it with
    `hockey_stick`; `privatize` always does. **Cost**: a linear programme for each pair whose bound is beyond what the
    pairs before it ask for, mostly a few.

    References
    ----------
    [D24] Theorem 2; docs/theory.md, section 4, "Why Theorem 2 and Corollary 2 of [D24] fail".

    Examples
    --------
    >>> p = Prior.mixture([0.5, 0.5], [0, 100], [1, 1])
    >>> q = Prior.mixture([0.5, 0.5], [0, 200], [1, 1])
    >>> round(mixture_scale({"s": p, "t": q}, epsilon=1.0, delta=1e-3), 9)
    50.0
    """
    epsilon, tau = check_epsilon(epsilon), tau_star(delta)
    bounds = {(a, b): _at_most(priors[a], priors[b], tau) for a, b in _listed(pairs_of(priors, pairs), priors)}
    largest = 0.0
    for a, b in sorted(bounds, key=bounds.__getitem__, reverse=True):
        if bounds[a, b] <= largest:
            break
        p, q = priors[a], priors[b]
        means = np.abs(p.means[:, None] - q.means)
        stds = np.abs(p.stds[:, None] - q.stds)
        with np.errstate(over="ignore", invalid="ignore"):
            found = float((component_plan(p, q) * (means + tau * stds)).sum())
        found = math.inf if math.isnan(found) else found  # a difference beyond the range of floats
        largest = max(largest, min(found, bounds[a, b]))  # a solver does not see differences far below the largest
    return check_found(largest / epsilon * _ROUND_UP)


def _at_most(p: Prior, q: Prior, tau: float) -> float:
    r"""A bound of :math:`\sum w^* (|\Delta\mu| + \tau |\Delta\sigma|)`, without the plan w*.

    Let A and B be the mean squares of the differences under w*. The monotone plan of the means has the least A, a, and
    some B, say b; that of the standard deviations has the least B, b'. As w* has the least A + B, which is at most
    a + b, A is at most a + b - b' and B at most b; a mean is at most the root of the mean square. In units of the
    largest difference, rounding of the cumulative weights moves each mean square by the slack at the most.
    """
    unit = _unit(p, q)
    means, stds = [np.subtract.outer(x, y) / unit for x, y in ((p.means, q.means), (p.stds, q.stds))]
    if not (np.isfinite(means).all() and np.isfinite(stds).all()):
        return math.inf
    a, b = _monotone(p, q, p.means, q.means, means, stds)
    _, least = _monotone(p, q, p.stds, q.stds, means, stds)
    slack = 8 * (p.means.size + q.means.size) ** 2 * UNIT_ROUNDOFF
    return unit * (math.sqrt(max(a + b - least, 0.0) + slack) + tau * math.sqrt(b + slack)) * _ROUND_UP


def _monotone(
    p: Prior, q: Prior, p_keys: FloatArray, q_keys: FloatArray, means: FloatArray, stds: FloatArray
) -> tuple[float, float]:
    """Mean squares of the differences of means and of standard deviations, coupled in the order of these keys."""
    first, second = np.argsort(p_keys), np.argsort(q_keys)
    p_ends, q_ends = (np.cumsum(prior.weights[order]).clip(max=1.0) for prior, order in ((p, first), (q, second)))
    p_ends[-1] = q_ends[-1] = 1.0
    ends = np.union1d(p_ends, q_ends)
    i, j = first[np.searchsorted(p_ends, ends)], second[np.searchsorted(q_ends, ends)]
    mass = np.diff(ends, prepend=0.0)
    return float(mass @ np.square(means[i, j])), float(mass @ np.square(stds[i, j]))


def _unit(p: Prior, q: Prior) -> float:
    """About the largest difference of the means and of the standard deviations."""
    return max(float(np.ptp(np.concatenate([p.means, q.means]))), float(max(p.stds.max(), q.stds.max()))) or 1.0


def component_plan(p: Prior, q: Prior, /) -> FloatArray:
    """Coupling of the components with the least mean squared W2 distance, shape (components of p, of q)."""
    rows, columns = p.means.size, q.means.size
    unit = _unit(p, q)
    cost = (((p.means[:, None] - q.means) / unit) ** 2 + ((p.stds[:, None] - q.stds) / unit) ** 2).ravel()
    sums = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    found = linprog(cost, A_eq=sums[:-1], b_eq=np.concatenate([p.weights, q.weights])[:-1], method="highs-ds")
    plan: FloatArray = np.asarray(found.x, dtype=np.float64).reshape(rows, columns)
    return plan


@short_traceback
def coupling_scale(
    priors: Mapping[Secret, Prior],
    /,
    *,
    epsilon: float,
    delta: float,
    pairs: str | Iterable[Sequence[Secret]] = "all",
) -> float:
    r"""Published Laplace scale of the condition that the proof of [D24] Theorem 1 rests on, for any coupling.

    .. math:: E[1 - e^{\varepsilon - |X - X'| / b}]_+ \le \delta \quad \text{for every pair}

    Of two Gaussians :math:`X - X' = \Delta\mu + \Delta\sigma Z`, by their Monge map; components of mixtures are coupled
    by the plan of `mixture_scale`.

    Parameters
    ----------
    priors : mapping of secret to Prior
    epsilon : float
        Greater than 0.
    delta : float
        Greater than 0, less than 1.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b; of Gaussians less than that of `gaussian_scale`.

    Raises
    ------
    ArgumentError
        For an epsilon, delta or secret out of range.

    Notes
    -----
    **Guarantee**: (epsilon, delta)-Pufferfish privacy of every pair, for one release: [D24] Theorem 2 as it should be.
    The plan of components is right up to what the solver leaves, some 1e-9 of its mass, which costs as much of delta.

    References
    ----------
    [D24] (31), (35); docs/theory.md, section 4.

    Examples
    --------
    >>> round(coupling_scale({"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 2)}, epsilon=1.0, delta=1e-5), 4)
    4.5501
    """
    epsilon, tau = check_epsilon(epsilon), tau_star(delta)
    largest = 0.0
    for a, b in _listed(pairs_of(priors, pairs), priors):
        p, q = priors[a], priors[b]
        means, stds = (np.abs(np.subtract.outer(*own)).ravel() for own in ((p.means, q.means), (p.stds, q.stds)))
        top = float((means + tau * stds).max()) / epsilon  # no component is beyond with more than delta there
        if top <= largest:
            continue
        law = means, stds, component_plan(p, q).ravel()
        if _beyond(largest, *law, epsilon=epsilon) <= delta:
            continue
        low = top
        while low > largest and _beyond(low, *law, epsilon=epsilon) <= delta:
            top, low = low, max(low / 2, largest)
        while top / low > 1 + 1e-12:
            middle = math.sqrt(top * low)
            low, top = (low, middle) if _beyond(middle, *law, epsilon=epsilon) <= delta else (middle, top)
        largest = top
    return check_found(largest * _ROUND_UP)


def _beyond(scale: float, means: FloatArray, stds: FloatArray, weights: FloatArray, *, epsilon: float) -> float:
    r"""At least :math:`E[1 - e^{\varepsilon - |D|/b}]_+` for D = N(means, stds^2) with these weights."""
    if scale == 0:
        return 1.0 if (means + stds).any() else 0.0
    u, s, total = means / scale, stds / scale, 0.0
    for sign in (1, -1):  # D > 0 and D < 0; in units of the scale
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(s > 0, (sign * u - epsilon) / s, np.where(sign * u > epsilon, np.inf, -np.inf))
            logs = epsilon - sign * u + s * s / 2 + log_ndtr(np.where(s > 0, z - s, z))
        whole = ndtr(z)
        rounding = 8 * UNIT_ROUNDOFF * whole * (4 + epsilon + u + s * s)
        total += float(weights @ (np.maximum(whole - np.exp(np.minimum(logs, 0.0)), 0.0) + rounding))
    return total


@short_traceback
def ubm_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale for mixtures with shared weights and variances. It is **not** always private.

    .. math:: b = \max_{(i, j)} \sum_m \alpha_m |\mu_{im} - \mu_{jm}| / \varepsilon

    Parameters
    ----------
    priors : mapping of secret to Prior
        Mixtures with the same weights and standard deviations, component by component in the order of the means.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, in units of the column.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For priors of other weights or standard deviations.

    Notes
    -----
    **Guarantee**: none; the counterexample is that of `mixture_scale`, where the pure loss is 1.891 at epsilon 1.

    References
    ----------
    [D24] Corollary 2; docs/theory.md, section 4, "Why Theorem 2 and Corollary 2 of [D24] fail".

    Examples
    --------
    >>> p = Prior.mixture([0.5, 0.5], [0, 100], [1, 1])
    >>> q = Prior.mixture([0.5, 0.5], [0, 200], [1, 1])
    >>> round(ubm_scale({"s": p, "t": q}, epsilon=1.0), 9)
    50.0
    """
    epsilon = check_epsilon(epsilon)
    compared = _listed(pairs_of(priors, pairs), priors)
    first = next(iter(priors.values()))
    for prior in priors.values():
        same = prior.means.shape == first.means.shape and np.array_equal(prior.stds, first.stds)
        if not (same and np.allclose(prior.weights, first.weights, rtol=1e-12, atol=0)):
            raise PriorError(
                "the priors of a universal background model",
                rule="of the same weights and standard deviations",
                got="different ones",
                hint="Use mixture_scale.",
            )
    largest = max(float(first.weights @ np.abs(priors[a].means - priors[b].means)) for a, b in compared)
    return check_found(largest / epsilon * _ROUND_UP)


def _listed(pairs: Pairs, priors: Mapping[Secret, Prior]) -> list[Pair]:
    return list(combinations(priors, 2)) if pairs == "all" else list(pairs)
