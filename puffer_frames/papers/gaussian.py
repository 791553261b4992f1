"""Gaussian priors and mixtures of them: Theorems 1 and 2 and Corollary 2 of [D24], and pure privacy in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import scipy
from scipy.special import lambertw, log_ndtr, ndtr, ndtri

from puffer_frames.errors import ArgumentError, PriorError, short_traceback
from puffer_frames.numbers.arguments import check_delta, check_epsilon, check_found
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, divide_up, subtract_up
from puffer_frames.priors.bands import Bands, largest_loss
from puffer_frames.priors.pairs import Pair, Pairs, pairs_of
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret

_ROUND_UP = 1 + 32 * UNIT_ROUNDOFF
_ROOT_TOLERANCE = 1e-12
_SMALL = 1e-12
"""An epsilon below is within some rounding errors of the numbers that it is compared with."""


@short_traceback
def tau_star(delta: float, /) -> float:
    r"""Quantile of :math:`|Z|`, Z standard normal, that is exceeded with probability delta.

    .. math:: \tau^*(\delta) = \Phi^{-1}(1 - \delta/2)

    Parameters
    ----------
    delta : float
        Greater than 0, less than 1.

    Returns
    -------
    float
        Rounded up.

    Raises
    ------
    ArgumentError
        For a delta out of range (at 0 it is infinite).

    References
    ----------
    [D24] (20).

    Examples
    --------
    >>> round(tau_star(0.05), 6)
    1.959964
    """
    delta = _positive(delta)
    half = 0.5 * delta  # of the smallest float, 0
    return -float(ndtri(half)) * _ROUND_UP if half else tau_star_bound(delta)


@short_traceback
def tau_star_bound(delta: float, /) -> float:
    r"""Upper bound of `tau_star` by the Lambert W function.

    .. math:: \tau^*(\delta) \le \sqrt{W\left(\frac{2}{\pi \delta^2}\right)}

    Parameters
    ----------
    delta : float
        Greater than 0, less than 1.

    Returns
    -------
    float
        Rounded up; within 1 % of `tau_star` for delta below 1e-9.

    Raises
    ------
    ArgumentError
        For a delta out of range.

    Notes
    -----
    **Proof**: :math:`\delta/2 = \Phi(-\tau) \le e^{-\tau^2/2} / (\tau \sqrt{2\pi})`, so
    :math:`\tau^2 e^{\tau^2} \le 2 / (\pi \delta^2)`, and W is increasing.

    Examples
    --------
    >>> tau_star(1e-5) < tau_star_bound(1e-5) < 1.01 * tau_star(1e-5) + 0.02
    True
    """
    delta = _positive(delta)
    argument = 2.0 / (math.pi * delta * delta) if delta > 1e-150 else math.inf
    if math.isinf(argument):  # W(v) <= log v for v >= e
        return math.sqrt(math.log(2.0 / math.pi) - 2.0 * math.log(delta)) * _ROUND_UP
    return math.sqrt(float(lambertw(argument).real)) * _ROUND_UP


@short_traceback
def translation_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale for priors that are shifts of one another.

    .. math:: b = \max_{(i, j)} |\mu_i - \mu_j| / \varepsilon

    Parameters
    ----------
    priors : mapping of secret to Prior
        Equal up to a shift: the same weights, standard deviations and distances between components.
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
        For priors that are not shifts of one another.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy; the epsilons of several releases add. **Rounding**: up.
    **Cost**: a range of the means where all pairs are asked for.

    References
    ----------
    [D24] Remark 1.

    Examples
    --------
    >>> translation_scale({"s": Prior.gaussian(0, 3), "t": Prior.gaussian(2, 3)}, epsilon=0.5)
    4.0
    """
    epsilon = check_epsilon(epsilon)
    checked = pairs_of(priors, pairs)
    if not _are_shifts(list(priors.values())):
        raise PriorError(
            "the priors of the translation theorem",
            rule="shifts of one another",
            got="priors of different shapes",
            hint='Use Noise(theorem="gaussian"), or "auto".',
        )
    where = {secret: float(prior.means[0]) for secret, prior in priors.items()}
    if checked == "all":
        return check_found(divide_up(subtract_up(max(where.values()), min(where.values())), epsilon))
    farthest = max(subtract_up(*sorted((where[a], where[b]), reverse=True)) for a, b in checked)
    return check_found(divide_up(farthest, epsilon))


def _are_shifts(priors: Sequence[Prior]) -> bool:
    """Whether the priors are the same up to their first means."""
    if any(prior.means.size != priors[0].means.size for prior in priors):
        return False
    stds, means, weights = (np.stack([getattr(p, name) for p in priors]) for name in ("stds", "means", "weights"))
    shapes = means - means[:, :1]
    alike = (stds == stds[0]).all() and (shapes == shapes[0]).all()
    return bool(alike and np.allclose(weights, weights[0], rtol=1e-12, atol=0))


@short_traceback
def gaussian_scale(
    priors: Mapping[Secret, Prior],
    /,
    *,
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Secret]] = "all",
) -> float:
    r"""Published Laplace scale for Gaussian priors; for delta = 0 the pure closed form.

    .. math::
        b &= \max_{(i, j)} \left( |\mu_i - \mu_j| + \tau^*(\delta) |\sigma_i - \sigma_j| \right) / \varepsilon
        \qquad (\delta > 0) \\
        b &: \; \log E\, e^{|Z|/b} = \varepsilon, \quad Z \sim N(\mu_i - \mu_j, |\sigma_i^2 - \sigma_j^2|)
        \qquad (\delta = 0)

    Parameters
    ----------
    priors : mapping of secret to Prior
        One Gaussian (or one atom) each.
    epsilon : float
        Greater than 0.
    delta : float
        From 0 to less than 1.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, in units of the column; 0 for equal priors.

    Raises
    ------
    ArgumentError
        For an epsilon, delta or secret out of range.
    PriorError
        For a prior with several components.

    Notes
    -----
    **Guarantee**: (epsilon, delta)-Pufferfish privacy under the Gaussian priors. For delta > 0 several releases have
    (sum of epsilons, largest delta); the pure form does not add up. **Rounding**: up. **Cost**: for all pairs and
    delta > 0 two ranges; for delta = 0 a search in bands of standard deviations, mostly some hundred roots; for
    listed pairs a loop over them that a bound makes short.

    References
    ----------
    [D24] Theorem 1 for delta > 0; docs/theory.md, section 3, "Pure epsilon for Gaussian priors", for delta = 0.

    Examples
    --------
    >>> priors = {"s": Prior.gaussian(0, 1), "t": Prior.gaussian(1, 2)}
    >>> round(gaussian_scale(priors, epsilon=0.5, delta=1e-3), 3), round(gaussian_scale(priors, epsilon=0.5), 5)
    (8.581, 3.64336)
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    checked = pairs_of(priors, pairs)
    if any(prior.means.size != 1 for prior in priors.values()):
        raise PriorError(
            "the priors of the gaussian theorem",
            rule="of one component each",
            got="a mixture of several",
            hint='Use Noise(theorem="gmm"), or "auto".',
        )
    means = np.array([prior.means[0] for prior in priors.values()])
    stds = np.array([prior.stds[0] for prior in priors.values()])
    number = {secret: k for k, secret in enumerate(priors)}
    listed = None
    if checked != "all":
        listed = np.array([number[a] for a, _ in checked]), np.array([number[b] for _, b in checked])
    if delta == 0:
        return check_found(_pure_scale(means, stds, listed, epsilon=epsilon))
    tau = tau_star(delta)
    rounding = 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        if listed is None:  # max of |x| + tau |y| over pairs is the larger range of mean +- tau std
            widest = max(float(np.ptp(means + tau * stds)), float(np.ptp(means - tau * stds)))
            rounding = 4 * UNIT_ROUNDOFF * float(np.abs(means).max() + tau * stds.max()) if widest else 0.0
        else:
            i, j = listed
            widest = float((np.abs(means[i] - means[j]) + tau * np.abs(stds[i] - stds[j])).max())
    return check_found((widest + rounding) / epsilon * _ROUND_UP)


def log_moment(mean: float, variance: float, t: float, /) -> float:
    r"""Log E exp(t |Z|) for Z ~ N(mean, variance) and t >= 0.

    .. math:: E e^{t|Z|} = e^{mt + vt^2/2} \Phi(m/\sqrt v + \sqrt v t) + e^{-mt + vt^2/2} \Phi(-m/\sqrt v + \sqrt v t)
    """
    if variance == 0:
        return abs(mean) * t
    std = math.sqrt(variance)
    centre, shift = abs(mean) / std, std * t
    up = abs(mean) * t + float(log_ndtr(centre + shift))
    down = -abs(mean) * t + float(log_ndtr(shift - centre))
    return 0.5 * variance * t * t + float(np.logaddexp(up, down))


def _pure_scale(
    means: FloatArray, stds: FloatArray, pairs: tuple[IndexArray, IndexArray] | None, *, epsilon: float
) -> float:
    """Largest root over the pairs; a pair is solved only where the largest one so far does not cover it."""
    extent = float(max(np.abs(means).max(), stds.max()))
    unit = math.ldexp(1.0, math.frexp(extent)[1] - 1) if extent else 1.0  # keeps squares in range
    means, stds = means / unit, stds / unit

    def solve(distance: float, narrow: float, wide: float, level: float) -> float:
        variance = (wide - narrow) * (wide + narrow)
        covered = not (distance or variance) or (level > 0 and log_moment(distance, variance, 1 / level) <= epsilon)
        return level if covered else _root(distance, variance, epsilon=epsilon)

    def of_pair(i: int, j: int, level: float) -> float:
        narrow, wide = sorted((float(stds[i]), float(stds[j])))
        return solve(abs(float(means[i] - means[j])), narrow, wide, level)

    if pairs is None:  # log E exp(t |Z|) grows with the distance and with the difference of the variances
        _, largest, _ = largest_loss(
            Bands(means, stds),
            bound=lambda pair, level: solve(pair.distance, pair.narrow.low_std, pair.wide.high_std, level),
            blur=lambda band: (band.high_std - band.low_std) * (band.high_std + band.low_std),
            measure=lambda i, j: (of_pair(i, j, 0.0),) * 2,
            guesses=[],
            tolerance=_ROOT_TOLERANCE,
            enough=math.inf,
        )
        return largest * unit
    largest = 0.0
    for i, j in zip(*pairs, strict=True):
        largest = max(largest, of_pair(i, j, largest))
    return largest * unit


def _root(mean: float, variance: float, *, epsilon: float) -> float:
    """Scale b with log E exp(|Z|/b) = epsilon, on the private side.

    |m| t + v t^2/2 <= log E exp(t|Z|) <= |m| t + v t^2/2 + log(2 Phi(sqrt(v) t)) brackets the root.
    """
    if variance == 0:
        return divide_up(mean, epsilon)

    if epsilon < _SMALL:
        return _small_root(mean, variance, epsilon=epsilon)

    def beyond(log_t: float) -> float:
        return log_moment(mean, variance, math.exp(log_t)) - epsilon

    highest = (math.sqrt(mean * mean + 2 * variance * epsilon) + mean) / variance
    highest = min(highest, 2 * epsilon / (math.sqrt(mean * mean + 2 * variance * epsilon) + mean)) * (1 + 1e-9)
    high = math.log(highest)
    low = high - 1.0
    while beyond(low) > 0:
        low -= 1.0
    root = (
        float(scipy.optimize.brentq(beyond, low, high, xtol=_ROOT_TOLERANCE, rtol=1e-14)) if beyond(high) > 0 else high
    )
    step = _ROOT_TOLERANCE
    while beyond(root) > -32 * UNIT_ROUNDOFF * (1 + epsilon):
        root -= step
        step *= 2
    return math.exp(-root) * _ROUND_UP


def _small_root(mean: float, variance: float, *, epsilon: float) -> float:
    r"""The scale for an epsilon that floats do not tell from the rounding of :math:`\log E e^{t|Z|}`.

    |Z| is a function of Z without steps above 1, so that :math:`\log E e^{t|Z|} \le t E|Z| + v t^2 / 2`, the two first
    terms of its series at 0: the root of this bound is on the private side, and within a part of epsilon of the scale.
    """
    std = math.sqrt(variance)
    z = mean / std
    expected = std * (math.sqrt(2 / math.pi) * math.exp(-0.5 * z * z) + z * math.erf(z / math.sqrt(2)))
    return 0.5 * (expected + math.sqrt(expected * expected + 2 * variance * epsilon)) / epsilon * _ROUND_UP


def _positive(delta: float) -> float:
    delta = check_delta(delta)
    if delta == 0:
        raise ArgumentError("delta", rule="greater than 0", got="0", hint="For pure privacy use gaussian_scale.")
    return delta


_MIXTURE_ROUND_UP = 1 + 64 * UNIT_ROUNDOFF


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
    return check_found(largest / epsilon * _MIXTURE_ROUND_UP)


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
    return unit * (math.sqrt(max(a + b - least, 0.0) + slack) + tau * math.sqrt(b + slack)) * _MIXTURE_ROUND_UP


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
    found = scipy.optimize.linprog(
        cost, A_eq=sums[:-1], b_eq=np.concatenate([p.weights, q.weights])[:-1], method="highs-ds"
    )
    return np.asarray(found.x, dtype=np.float64).reshape(rows, columns)


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
    return check_found(largest / epsilon * _MIXTURE_ROUND_UP)


def _listed(pairs: Pairs, priors: Mapping[Secret, Prior]) -> list[Pair]:
    return list(combinations(priors, 2)) if pairs == "all" else list(pairs)
