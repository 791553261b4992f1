"""The Markov Quilt Mechanism: noise for one value of a correlated series."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.arguments import check_epsilon
from puffer_frames.chains import MarkovChain
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.priors import FloatArray, IndexArray
from puffer_frames.rounding import UNIT_ROUNDOFF, divide_up
from puffer_frames.theorems.influence import (
    FixedStart,
    Influence,
    any_start_influence,
    distances,
    far_enough,
    stationary_influence,
)

_ROUND_UP = 1 + 16 * UNIT_ROUNDOFF
_LARGEST_DELTA = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Quilt:
    """A set of nodes that separates those near a value from the rest."""

    card: int
    """Number of nodes near the value, itself included."""
    influence: float
    """How much the quilt tells of the value: a bound of its log-ratios."""

    def score(self, epsilon: float, /) -> float:
        """Card / (epsilon - influence), rounded up; infinite where the influence is not below epsilon."""
        room = math.nextafter(epsilon - self.influence, -math.inf) if self.influence else epsilon
        return divide_up(self.card, room) if room > 0 else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class QuiltScale:
    """The scale that hides every node of a series, per unit of the query's Lipschitz constant."""

    sigma: float
    """Largest score of the nodes."""
    quilts: tuple[Quilt, ...]
    """The quilts in use: every node of the series has one of them with at most this score."""


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
    **Rounding**: up. **Cost**: powers of the matrix up to epsilon sigma, whatever the length; a given initial law
    costs a check per node. Distances beyond 2,048 are thinned to one in 256, which can raise the scale by as much.

    References
    ----------
    [SWC17] Theorem 4.2 and MQMExact; theory section 10. General Bayesian networks are out of scope.

    Examples
    --------
    >>> chain = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])
    >>> round(quilt_scale(chain, length=100, epsilon=1.0), 5)
    31.73779
    """
    return largest_over(chains, lambda chain: exact_quilts(chain, length=length, epsilon=epsilon)).sigma


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
    [SWC17] Lemmas 4.8 to C.1 (MQMApprox); theory section 10 (the rule for reversible chains does not hold for others).

    Examples
    --------
    >>> chain = MarkovChain.of([[0.9, 0.1], [0.1, 0.9]])
    >>> round(quilt_approx_scale(chain, length=100, epsilon=1.0, rule="published"), 5)
    44.80331
    """
    return largest_over(chains, lambda chain: approx_quilts(chain, length=length, epsilon=epsilon, rule=rule)).sigma


def largest_over(
    chains: MarkovChain | Sequence[MarkovChain], quilts: Callable[[MarkovChain], QuiltScale], /
) -> QuiltScale:
    """The largest scale over the beliefs, with the quilts of all."""
    listed = [chains] if isinstance(chains, MarkovChain) else list(chains)
    if not listed or not all(isinstance(chain, MarkovChain) for chain in listed):
        raise ArgumentTypeError(
            "chains",
            rule="a MarkovChain or several",
            got="others",
            hint="Write MarkovChain.of([[0.9, 0.1], [0.4, 0.6]]).",
        )
    found = [quilts(chain) for chain in listed]
    every = dict.fromkeys(quilt for scale in found for quilt in scale.quilts)
    return QuiltScale(sigma=max(scale.sigma for scale in found), quilts=tuple(every))


def exact_quilts(chain: MarkovChain, /, *, length: int, epsilon: float) -> QuiltScale:
    """The scale of one chain with exact influences."""
    epsilon, length = check_epsilon(epsilon), check_length(length)
    if length == 1:
        return _empty(length, epsilon)
    if chain.initial == "stationary" if isinstance(chain.initial, str) else False:
        if not chain.is_primitive:  # two states of different classes tell one another apart at every distance
            return _empty(length, epsilon)
        steps = distances(far_enough(chain, epsilon=epsilon, length=length))
        return _Nodes(stationary_influence(chain, steps), epsilon=epsilon, length=length).solve()
    steps = distances(far_enough(chain, epsilon=epsilon, length=length))
    if isinstance(chain.initial, str):
        return _Nodes(any_start_influence(chain, steps), epsilon=epsilon, length=length).solve()
    return _fixed(FixedStart(chain=chain, steps=steps), epsilon=epsilon, length=length)


def approx_quilts(chain: MarkovChain, /, *, length: int, epsilon: float, rule: str) -> QuiltScale:
    """The scale of one chain with influences bounded by its mixing."""
    epsilon, length = check_epsilon(epsilon), check_length(length)
    if rule not in ("tight", "published"):
        raise ArgumentError("rule", rule='"tight" or "published"', got=repr(rule), hint='Leave it out for "tight".')
    smallest = float(chain.stationary.min()) * (1 - 64 * chain.states**2 * UNIT_ROUNDOFF)
    base, start = _mixing(chain, rule=rule, smallest=smallest)
    factor = 1.0 if isinstance(chain.initial, str) and chain.initial == "stationary" else 2.0
    if length == 1 or base >= 1:
        return _empty(length, epsilon)

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
    steps = distances(max(1, min(length - 1, math.ceil(min(epsilon * best, float(length))) + 1)))
    side = ratio(steps)[:, None]
    influence = Influence(steps=steps, left=factor * side, right=side)
    return _Nodes(influence, epsilon=epsilon, length=length).solve()


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


class _Nodes:
    """Nodes that differ only in how far the ends of the series are.

    The tables may have fewer distances to the left, or to the right, than there are steps.
    """

    def __init__(self, influence: Influence, /, *, epsilon: float, length: int) -> None:
        self._steps = influence.steps
        self._left, self._right = influence.left, influence.right
        self._epsilon, self._length = epsilon, length
        before, after = self._left.shape[0], self._right.shape[0]
        self._bound = np.full((before, after), -np.inf)
        self._card = (self._steps[:before, None] + self._steps[None, :after] - 1).astype(float)
        self._scores = np.full((before, after), np.inf)
        self._worst = {"left": self._left.max(axis=1, initial=0.0), "right": self._right.max(axis=1, initial=0.0)}
        self.found = (0, 0)
        k = 1
        while k <= min(before, after):
            self._cut(int(np.argmax(self._left[k - 1] + self._right[k - 1])))
            k *= 2

    def solve(self) -> QuiltScale:
        """The largest score over the nodes, and quilts that all of them can have."""
        quilt = self.two_sided(self._steps.size, self._steps.size)
        score = quilt.score(self._epsilon) if quilt is not None else math.inf
        if quilt is not None and self._length >= 2 * math.ceil(self._epsilon * score) - 1:
            return QuiltScale(sigma=score, quilts=(quilt,))
        return self._all_nodes()

    def _all_nodes(self) -> QuiltScale:
        """Shorter series: a node is solved where no quilt found so far covers it."""
        nodes = np.arange(1, self._length + 1)
        before = np.searchsorted(self._steps, nodes - 1, side="right")
        after = np.searchsorted(self._steps, self._length - nodes, side="right")
        empty = Quilt(card=self._length, influence=0.0)
        reach = np.full(nodes.size, empty.score(self._epsilon))
        best: list[Quilt] = [empty] * nodes.size
        for k in range(nodes.size):
            for count, away, side in (
                (after[k], nodes[k] - 1, "right"),
                (before[k], self._length - nodes[k], "left"),
            ):
                quilt = self.one_sided(int(count), int(away), side=side)
                if quilt is not None and quilt.score(self._epsilon) < reach[k]:
                    reach[k], best[k] = quilt.score(self._epsilon), quilt
        sigma = 0.0
        while True:
            k = int(np.argmax(reach))
            if reach[k] <= sigma:
                break
            quilt = self.two_sided(int(before[k]), int(after[k]), below=float(reach[k]))
            if quilt is None or quilt.score(self._epsilon) >= reach[k]:
                sigma = float(reach[k])  # the largest upper bound is attained
                break
            score = quilt.score(self._epsilon)
            a, b = self.found
            fits = (before > a) & (after > b) & (reach > score)
            reach[fits] = score
            for place in np.flatnonzero(fits):
                best[int(place)] = quilt
            sigma = max(sigma, score)
        return QuiltScale(sigma=float(reach.max()), quilts=tuple(dict.fromkeys(best)))

    def one_sided(self, count: int, away: int, /, *, side: str) -> Quilt | None:
        """The best quilt of one node on one side; `away` nodes lie on the open one."""
        if not count:
            return None
        worst = self._worst[side][:count]
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(worst < self._epsilon, (away + self._steps[:count]) / (self._epsilon - worst), np.inf)
        k = int(np.argmin(scores))
        if math.isinf(scores[k]):
            return None
        return Quilt(card=away + int(self._steps[k]), influence=max(0.0, float(worst[k])))

    def two_sided(self, before: int, after: int, *, below: float = math.inf) -> Quilt | None:
        """The best two-sided quilt within these many distances; None where none scores below a number.

        The table holds the influence for some pairs of states only, a lower bound. Its best quilt is evaluated in full;
        a pair that refutes it joins the table, until none does.
        """
        while before and after:
            part = self._scores[:before, :after]
            place = int(np.argmin(part))
            a, b = divmod(place, after)
            if part[a, b] >= below or math.isinf(part[a, b]):
                return None
            both = self._left[a] + self._right[b]
            worst = int(np.argmax(both))
            if both[worst] <= self._bound[a, b]:
                self.found = a, b
                return Quilt(card=int(self._card[a, b]), influence=max(0.0, float(both[worst])))
            self._cut(worst)
        return None

    def _cut(self, pair: int) -> None:
        np.maximum(self._bound, self._left[:, pair][:, None] + self._right[:, pair][None, :], out=self._bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            np.divide(self._card, self._epsilon - self._bound, out=self._scores)
        self._scores[self._bound >= self._epsilon] = np.inf


def _fixed(start: FixedStart, *, epsilon: float, length: int) -> QuiltScale:
    """A given law of the first state: a node is searched where its neighbour's quilt does not cover it."""
    steps = start.steps
    empty = Quilt(card=length, influence=0.0)
    sigma, used = 0.0, dict[Quilt, None]()
    place: tuple[int, int] | None = None
    order = sorted(range(1, length + 1), key=lambda node: abs(2 * node - length - 1))
    for node in order:
        left, right = start.at(node)
        before, after = left.shape[0], int(np.searchsorted(steps, length - node, side="right"))
        if not left.shape[1]:
            continue  # one state only is possible: nothing to hide
        if place is not None and place[0] < before and place[1] < after:
            worst = float((left[place[0]] + right[place[1]]).max())
            held = Quilt(card=int(steps[place[0]] + steps[place[1]] - 1), influence=max(0.0, worst))
            if held.score(epsilon) <= sigma:
                used[held] = None
                continue
        around = Influence(steps=steps, left=left[:before], right=right[:after])
        quilt, found = _search_node(around, node=node, length=length, epsilon=epsilon)
        place = found or place
        used[quilt] = None
        sigma = max(sigma, quilt.score(epsilon))
        if sigma >= empty.score(epsilon):  # no node needs more
            used[empty] = None
            break
    return QuiltScale(sigma=sigma, quilts=tuple(used))


def _search_node(
    influence: Influence, *, node: int, length: int, epsilon: float
) -> tuple[Quilt, tuple[int, int] | None]:
    """The best quilt of one node, and its places where it has two sides."""
    nodes = _Nodes(influence, epsilon=epsilon, length=length)
    best = Quilt(card=length, influence=0.0)
    for side, table, away in (("right", influence.right, node - 1), ("left", influence.left, length - node)):
        quilt = nodes.one_sided(table.shape[0], away, side=side)
        if quilt is not None and quilt.score(epsilon) < best.score(epsilon):
            best = quilt
    quilt = nodes.two_sided(influence.left.shape[0], influence.right.shape[0], below=best.score(epsilon))
    return (best, None) if quilt is None else (quilt, nodes.found)


def _empty(length: int, epsilon: float) -> QuiltScale:
    """The empty quilt: every value of the series may change."""
    quilt = Quilt(card=length, influence=0.0)
    return QuiltScale(sigma=quilt.score(epsilon), quilts=(quilt,))


def check_length(length: int, /) -> int:
    """Return the number of values of a series; raise ArgumentError unless it is a positive integer."""
    if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 1:
        raise ArgumentError("length", rule="a positive integer", got=f"{length!r}", hint="Give the number of values.")
    return int(length)
