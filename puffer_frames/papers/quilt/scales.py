"""The Markov Quilt Mechanism: noise for one value of a correlated series."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found, check_word
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.papers.quilt.influence import FixedStart, Influence, distances, far_enough, stationary_influence
from puffer_frames.papers.quilt.nodes import Nodes, QuiltScale, empty_quilt, fixed_nodes
from puffer_frames.priors.markov import ChainBox, MarkovChain
from puffer_frames.priors.prior import FloatArray, IndexArray

_POWERS = 7
"""Contraction is looked at over 1, 2, 4, ..., 2**(_POWERS - 1) steps."""
_UP = 1 + 1e-11
_FARTHEST = 1 << 20


def box_quilts(box: ChainBox, /, *, length: int, epsilon: float, most: int | None = None) -> QuiltScale:
    r"""The scale that serves every chain of a box; quilts that hold `most` nodes or more are not looked for.

    The log-ratio of what lies on a side, a steps away, for two states here is at most the projective diameter of the
    matrix of a steps, whatever the law before is:

    .. math:: \Delta(P^a) = \max_{i,j,x,y} \log\frac{P^a_{ix} P^a_{jy}}{P^a_{jx} P^a_{iy}}
              \le \tanh(\Delta_m/4)^{\lfloor a/m \rfloor - 1} \Delta_m

    by Birkhoff's theorem, with a bound :math:`\Delta_m` for the products of m matrices of the box. The same holds where
    the matrix changes from step to step within the box.
    See docs/theory.md, section 14.
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


Chain: TypeAlias = MarkovChain | ChainBox

_ROUND_UP = 1 + 16 * UNIT_ROUNDOFF
_LARGEST_DELTA = 1 - 1e-9
_LONGEST = 2**62


@short_traceback
def quilt_scale(chains: MarkovChain | Sequence[MarkovChain], /, *, length: int, epsilon: float) -> float:
    r"""Laplace scale of the Markov Quilt Mechanism for a query that is 1-Lipschitz per value.

    .. math:: \sigma = \max_\theta \max_i \min_{\text{quilts of } i} \frac{\text{card}}{\varepsilon - e}

    over the quilts {i - a, i + b}, {i - a}, {i + b} and none, with their exact max-influence e.

    Parameters
    ----------
    chains : MarkovChain or sequence of MarkovChain
        The adversary's beliefs; the scale covers all.
    length : int
        Number of values of the series, T.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Multiply it by the Lipschitz constant: 2 for a histogram of counts (one changed value moves two), 2/T for
        relative frequencies, 1 for one count, (high - low)/T for a mean.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an epsilon, length or chain out of range.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of "X_i = s" against "X_i = t" for every i and all states. Releases
    with the same quilts add up ([SC17]). Where the length does not let any quilt help, the answer is T/epsilon.
    **Rounding**: up. **Cost**: powers of the matrix up to epsilon sigma, whatever the length; a given initial law,
    or any, costs a check per node until it has settled; where that takes too long, the influence of a quilt is bounded
    by one number for all nodes and starts.
    Where distances beyond 2,048 matter, those beyond 512 are looked at in steps of 1/256 of themselves, which can raise
    the scale by about as much.

    References
    ----------
    [SWC17] Theorem 4.2 and MQMExact; docs/theory.md, section 10. For other networks: `network_quilt_scale`.

    Examples
    --------
    >>> chain = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])
    >>> round(quilt_scale(chain, length=100, epsilon=1.0), 5)
    31.73779
    """
    return check_found(largest_over(chains, lambda chain: exact_quilts(chain, length=length, epsilon=epsilon)).sigma)


@short_traceback
def quilt_approx_scale(
    chains: MarkovChain | Sequence[MarkovChain], /, *, length: int, epsilon: float, rule: str = "tight"
) -> float:
    r"""Laplace scale of MQMApprox: the influence of a quilt is bounded by how fast the chain mixes.

    .. math:: e \le c\, r(a) + r(b), \qquad r(t) = \log\frac{1 + \Delta_t}{1 - \Delta_t}

    with c = 1 for a stationary start and 2 otherwise. "published": :math:`\Delta_t = e^{-\rho t} / \pi`, with
    :math:`\rho = 1 - |\lambda_2(P)|` for reversible chains and :math:`\rho = (1 - \lambda_2(P P^*)) / 2` for others;
    "tight": :math:`\Delta_t = s^t (1 - \pi) / \pi` with :math:`s = \sqrt{\lambda_2(P P^*)}`. :math:`\pi` is the
    smallest stationary probability.

    Parameters
    ----------
    chains : MarkovChain or sequence of MarkovChain
        Irreducible.
    length : int
    epsilon : float
        Greater than 0.
    rule : "tight" or "published"

    Returns
    -------
    float
        As `quilt_scale`.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an argument out of range.
    PriorError
        For a reducible chain.

    Notes
    -----
    **Guarantee**: as `quilt_scale`. **Cost**: that of one eigenvalue problem.

    References
    ----------
    [SWC17] Lemmas 4.8 to C.1 (MQMApprox); docs/theory.md, section 10, "Influence bounded by mixing".

    Examples
    --------
    >>> chain = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])
    >>> round(quilt_approx_scale(chain, length=100, epsilon=1.0, rule="published"), 5)
    44.80331
    """
    found = largest_over(chains, lambda chain: approx_quilts(chain, length=length, epsilon=epsilon, rule=rule))
    return check_found(found.sigma)


def largest_over(chains: Chain | Sequence[Chain], quilts: Callable[[Any], QuiltScale], /) -> QuiltScale:
    """The largest scale over the beliefs, with the quilts of all."""
    several = isinstance(chains, Iterable)
    listed = list(chains) if several and not isinstance(chains, (MarkovChain, ChainBox)) else [chains]
    if not listed or not all(isinstance(chain, (MarkovChain, ChainBox)) for chain in listed):
        raise ArgumentTypeError(
            "chains",
            rule="a MarkovChain or several",
            got="others",
            hint="Write MarkovChain.of([[0.9, 0.1], [0.4, 0.6]]).",
        )
    found = [quilts(chain) for chain in listed]
    every = dict.fromkeys(quilt for scale in found for quilt in scale.quilts)
    return QuiltScale(sigma=max(scale.sigma for scale in found), quilts=tuple(every))


def exact_quilts(chain: Chain, /, *, length: int, epsilon: float, most: int | None = None) -> QuiltScale:
    """The scale of one chain with exact influences, or of a box of chains with bounds of them.

    Quilts that hold `most` nodes or more are not looked for: those that are observed may be fewer than `length`.
    """
    epsilon, length = check_epsilon(epsilon), check_length(length)
    if isinstance(chain, ChainBox):
        return box_quilts(chain, length=length, epsilon=epsilon, most=most)
    most = length if most is None else min(most, length)
    if length == 1:
        return empty_quilt(length, epsilon)
    if chain.initial == "stationary" if isinstance(chain.initial, str) else False:
        if not chain.is_primitive:  # two states of different classes tell one another apart at every distance
            return empty_quilt(length, epsilon)
        steps = distances(min(most, far_enough(chain, epsilon=epsilon, length=length)))
        return Nodes(stationary_influence(chain, steps), epsilon=epsilon, length=length).solve()
    steps = distances(min(most, far_enough(chain, epsilon=epsilon, length=length)))
    start = FixedStart(chain=chain, steps=steps)
    nodes = start.different(length)
    if nodes is None:
        return Nodes(start.any_start(), epsilon=epsilon, length=length).solve()
    return fixed_nodes(start, nodes, epsilon=epsilon, length=length)


def approx_quilts(
    chain: MarkovChain,
    /,
    *,
    length: int,
    epsilon: float,
    rule: str,
    most: int | None = None,
    factor: float | None = None,
) -> QuiltScale:
    """The scale of one chain with influences bounded by its mixing; `most` as in `exact_quilts`.

    `factor` is the c of `quilt_approx_scale`, by default that of the chain's start; [SWC17] prints 2 for every start.
    """
    epsilon, length = check_epsilon(epsilon), check_length(length)
    most = length if most is None else min(most, length)
    check_word(rule, "rule", ("tight", "published"))
    if not chain.is_irreducible:
        raise PriorError(
            "a chain whose influence is bounded by its mixing",
            rule="irreducible (every state reaches every other one), whatever its start",
            got="one that never comes back to some states",
            hint='Use mechanism="quilt", or quilt_scale: their influences are exact.',
        )
    smallest = float(chain.stationary.min()) * (1 - 64 * chain.states**2 * UNIT_ROUNDOFF)
    base, start = _mixing(chain, rule=rule, smallest=smallest)
    if factor is None:
        factor = 1.0 if isinstance(chain.initial, str) and chain.initial == "stationary" else 2.0
    if length == 1 or base >= 1:
        return empty_quilt(length, epsilon)

    def ratio(steps: IndexArray) -> FloatArray:
        far = np.exp(steps * math.log(base)) * start if base > 0 else np.zeros(steps.size)
        far *= 1 + 64 * UNIT_ROUNDOFF * (1 + steps)
        bound = np.full(steps.size, np.inf)
        near = far < _LARGEST_DELTA
        bound[near] = (np.log1p(far[near]) - np.log1p(-far[near])) * _ROUND_UP
        return bound

    best, m = math.inf, 1
    while m < length and m < epsilon * best:
        worst = float((1 + factor) * ratio(np.array([m]))[0])
        best = min(best, (2 * m - 1) / (epsilon - worst)) if worst < epsilon else best
        m *= 2
    steps = distances(max(1, min(length - 1, most, math.ceil(min(epsilon * best, float(length))) + 1)))
    side = ratio(steps)[:, None]
    influence = Influence(steps=steps, left=factor * side, right=side)
    return Nodes(influence, epsilon=epsilon, length=length).solve()


def _mixing(chain: MarkovChain, *, rule: str, smallest: float) -> tuple[float, float]:
    """Delta_t = base^t * start of a rule, rounded up."""
    law, backwards = chain.stationary, chain.reversal
    root = np.sqrt(law)
    if chain.is_reversible:
        symmetric = chain.transition * root[:, None] / root
        eigenvalues = np.linalg.eigvalsh((symmetric + symmetric.T) / 2)
        uneven = chain.states * float(np.abs(symmetric - symmetric.T).max())  # reversible up to so much
        second = float(np.sort(np.abs(eigenvalues))[-2]) + uneven
        slowness = 1 - second
    else:
        both = chain.transition @ backwards
        symmetric = both * root[:, None] / root
        eigenvalues = np.linalg.eigvalsh((symmetric + symmetric.T) / 2)
        product = max(0.0, float(eigenvalues[-2]))
        second, slowness = math.sqrt(product + 1e-14), (1 - product) / 2
    error = 64 * chain.states * UNIT_ROUNDOFF
    if rule == "published":
        return math.exp(-(slowness - error)), 1 / smallest
    return second + error if second > error else 0.0, (1 - smallest) / smallest


def check_length(length: int, /) -> int:
    """Return the number of values of a series; raise ArgumentError unless it is a positive integer."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or not 1 <= length <= _LONGEST:
        got = f"a {type(length).__name__}" if not isinstance(length, int) else "more" if length > 1 else f"{length!r}"
        raise ArgumentError(
            "length", rule=f"a whole number from 1 to {_LONGEST:,}", got=got, hint="Give the number of values."
        )
    return int(length)
