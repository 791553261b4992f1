"""How much one value of a Markov chain tells of the values around it: influence tables for quilts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain as one_after_another

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import FloatArray, IndexArray

FINE = 2048
"""Distances up to here are all looked at; beyond, one in 256 more."""
_ALL = 512
_SHARE = 256
_NEVER = -1e300
"""Stands for the log-ratio of two states of which neither is ever reached: a number, so that sums stay numbers."""
_SETTLED = 1e-10
"""A law within this factor of the stationary one stands for all later ones."""
_LONGEST_SEARCH = 1 << 15
"""Nodes until which the law has to settle, for that to be of use."""
_LARGEST_SEARCH = 1 << 21
"""Nodes times distances that are looked at one by one."""
_LOG_ERROR = 2000.0
"""Rounding of two logarithms of numbers in the range of floats, in unit roundoffs."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Influence:
    r"""Log-ratios of what lies on either side, per distance and ordered pair (s, t) of states, rounded up.

    The quilt :math:`\{i - a, i + b\}` has the influence :math:`\max_{s \ne t} U_a(s, t) + D_b(s, t)`: the same pair for
    both sides.
    """

    steps: IndexArray
    """Distances, ascending from 1, shape (n,)."""
    left: FloatArray
    r""":math:`U_a(s, t)`, shape (n, pairs)."""
    right: FloatArray
    r""":math:`D_b(s, t)`, shape (n, pairs)."""


def distances(most: int, /) -> IndexArray:
    """1, ..., most; where that is more than 2,048, all up to 512 and then steps of 1/256."""
    if most <= FINE:
        return np.arange(1, most + 1)
    found = list(range(1, _ALL + 1))
    while found[-1] < most:
        found.append(min(most, found[-1] + max(1, found[-1] // _SHARE)))
    return np.array(found)


class Powers:
    """Powers of a transition matrix, with the pattern of what is possible beside them."""

    def __init__(self, transition: FloatArray, /) -> None:
        self._squares = [(transition, transition > 0)]
        self.size = transition.shape[0]

    def power(self, n: int, /) -> tuple[FloatArray, NDArray[np.bool_]]:
        """P^n and where it is positive."""
        result: tuple[FloatArray, NDArray[np.bool_]] | None = None
        for k in range(n.bit_length()):
            while k >= len(self._squares):
                last = self._squares[-1]
                self._squares.append(_product(last, last))
            if n >> k & 1:
                result = self._squares[k] if result is None else _product(result, self._squares[k])
        assert result is not None
        return result


def _product(
    a: tuple[FloatArray, NDArray[np.bool_]], b: tuple[FloatArray, NDArray[np.bool_]]
) -> tuple[FloatArray, NDArray[np.bool_]]:
    pattern = a[1] if a[1].all() and b[1].all() else a[1].astype(float) @ b[1].astype(float) > 0
    return a[0] @ b[0], pattern


def log_power(power: tuple[FloatArray, NDArray[np.bool_]], /) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Log of a power, and where it is too small for a float to be trusted."""
    matrix, possible = power
    doubtful = possible & (matrix < 1e-290)
    with np.errstate(divide="ignore"):
        return np.where(possible, np.log(matrix), -np.inf), doubtful


def largest_ratios(log_matrix: FloatArray, doubtful: NDArray[np.bool_], /) -> FloatArray:
    """Max over y of log P(s, y)/P(t, y), shape (s, t); 0/0 is left out, c/0 is infinite, doubtful entries too."""
    columns = np.ascontiguousarray(log_matrix.T)
    with np.errstate(invalid="ignore"):
        ratios = columns[:, :, None] - columns[:, None, :]
    if np.isneginf(columns).any():
        ratios[np.isnan(ratios)] = -np.inf
    if doubtful.any():
        ratios[doubtful.T[:, :, None] | doubtful.T[:, None, :]] = np.inf
    return np.maximum(ratios.max(axis=0), _NEVER)


def stationary_influence(chain: MarkovChain, steps: IndexArray, /) -> Influence:
    """The influence in a stationary chain: its left side is the right side of the reversed chain."""
    pairs = off_diagonal(chain.states)
    right = _table(Powers(chain.transition), steps, pairs)
    left = _table(Powers(chain.reversal), steps, pairs)
    return Influence(steps=steps, left=left + 64 * chain.states**2 * UNIT_ROUNDOFF, right=right)


def any_start_influence(chain: MarkovChain, steps: IndexArray, /) -> Influence:
    r"""The influence in a chain whose first state has any law whatever.

    .. math:: U_a(s, t) \le \max_x \log\frac{P^a(x, s)}{P^a(x, t)} + \max_x \log\frac{P^a(x, t)}{P^a(x, s)}

    since the second term bounds :math:`\log p_i(t)/p_i(s)`.
    """
    return FixedStart(chain=chain, steps=steps).any_start()


class FixedStart:
    r"""The influence in a chain whose first state has a given law, or any: the left side depends on the node.

    Any law is a mixture of those that know the first state, and :math:`p_i(t)/p_i(s)` is largest for one of them.
    """

    def __init__(self, *, chain: MarkovChain, steps: IndexArray) -> None:
        self.chain, self.steps = chain, steps
        self._settled: int | None = None
        self._full: int | None = None
        pairs = off_diagonal(self.chain.states)
        self.right = np.empty((self.steps.size, pairs[0].size))
        self._columns = np.empty_like(self.right)
        self._logs = list[tuple[FloatArray, NDArray[np.bool_]]]()
        for k, step, log_p, doubtful in _walk(Powers(self.chain.transition), self.steps):
            slack = rounding(step, self.chain.states)
            self.right[k] = largest_ratios(log_p, doubtful)[pairs] + slack
            self._columns[k] = largest_ratios(log_p.T, doubtful.T)[pairs] + slack
            self._logs.append((log_p, doubtful))
        laws = np.eye(self.chain.states) if isinstance(self.chain.initial, str) else np.array([self.chain.initial])
        self._laws = [(laws, laws > 0)]

    def any_start(self) -> Influence:
        """As `any_start_influence`."""
        first, second = off_diagonal(self.chain.states)
        turned = np.lexsort((first, second))  # where each pair has its states the other way round
        return Influence(steps=self.steps, left=self._columns + self._columns[:, turned], right=self.right)

    def laws(self, node: int, /) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Laws of the state at a node (from 1), one for each of the first state, and where they are positive."""
        step = self.chain.transition, self.chain.transition > 0
        while len(self._laws) < node:
            self._laws.append(_product(self._laws[-1], step))
        return self._laws[node - 1]

    def _possible(self, node: int) -> NDArray[np.bool_]:
        """The states that a node may have."""
        return np.logical_or.reduce(self.laws(node)[1], axis=0)

    def different(self, length: int, /) -> Iterable[int] | None:
        """The nodes of a series that differ from one another; None where there are too many.

        From some node on the law is the stationary one but for a factor near 1, which the tables pay for: then all
        nodes as far from both ends as any distance are alike, and one of them stands for all. Its best quilt is not one
        on one side: that would hold more nodes than the largest distance, beyond which no quilt is of use.
        """
        reach = int(self.steps[-1])
        self._settled = self._settle(min(length, _LONGEST_SEARCH))
        begin, end = length + 1 if self._settled is None else self._settled + reach + 1, length - reach
        if begin >= end:
            begin = end = length
        if (begin + length - end) * self.steps.size > _LARGEST_SEARCH:
            return None
        return one_after_another(range(1, begin + 1), range(end + 1, length + 1))

    def _settle(self, most: int) -> int | None:
        r"""A node whose law is within a factor :math:`e^{\eta}` of the stationary one: later ones are, too, for
        :math:`(1 - \eta)\pi \le p \le (1 + \eta)\pi` holds for pP where it does for p.
        """
        if not self.chain.is_primitive:
            return None
        stationary = np.log(self.chain.stationary)
        for node in (1 << k for k in range(most.bit_length())):
            laws, possible = self.laws(node)
            if possible.all() and float(np.abs(np.log(laws) - stationary).max()) <= _SETTLED:
                return node
        return None

    def _held(self, most: int) -> int | None:
        """A node from which on, up to another one, every state is possible; None where that is not known."""
        if self._full is None and (self.chain.transition > 0).any(axis=0).all():
            self._full = next((node for node in range(1, most + 1) if self._possible(node).all()), None)
        return self._full

    def at(self, node: int, /) -> tuple[FloatArray, FloatArray]:
        """Left table (distances below the node) and right table, for the pairs that are possible at the node."""
        pairs = off_diagonal(self.chain.states)
        late = self._settled is not None and node > self._settled
        known = self._settled if late and self._settled is not None else node
        laws = log_power(self.laws(known))
        possible = self._possible(known)
        both = possible[pairs[0]] & possible[pairs[1]]
        first, second = pairs[0][both], pairs[1][both]
        shift = largest_ratios(laws[0].T, laws[1].T)[second, first]
        shift += rounding(known, self.chain.states) + 8 * _SETTLED * late
        count = int(np.searchsorted(self.steps, node))
        left = self._columns[:count, both].copy()
        held = self._held(known)
        for k in range(0 if held is None else int(np.searchsorted(self.steps, node - held + 1)), count):
            start = self._possible(min(known, node - int(self.steps[k])))
            if not start.all():
                log_p, doubtful = self._logs[k]
                columns = largest_ratios(log_p[start].T, doubtful[start].T)
                left[k] = columns[first, second] + rounding(int(self.steps[k]), self.chain.states)
        return left + shift, self.right[:, both]


def off_diagonal(states: int, /) -> tuple[IndexArray, IndexArray]:
    """The ordered pairs of different states."""
    first, second = np.nonzero(~np.eye(states, dtype=bool))
    return first, second


def rounding(step: int, states: int, /) -> float:
    """Bound of the rounding error of a log-ratio of entries of P^step: positive sums, step products deep."""
    return UNIT_ROUNDOFF * (4.0 * step * (states + 2) + _LOG_ERROR)


def pair_influence(influence: Influence, a: int, b: int, /) -> tuple[float, int]:
    """Influence of the quilt with places a and b in `steps`, and the pair that has it."""
    both = influence.left[a] + influence.right[b]
    worst = int(np.argmax(both))
    return float(both[worst]), worst


def _table(powers: Powers, steps: IndexArray, pairs: tuple[IndexArray, IndexArray]) -> FloatArray:
    table = np.empty((steps.size, pairs[0].size))
    for k, step, log_p, doubtful in _walk(powers, steps):
        table[k] = largest_ratios(log_p, doubtful)[pairs] + rounding(step, powers.size)
    return table


def _walk(powers: Powers, steps: IndexArray) -> Iterator[tuple[int, int, FloatArray, NDArray[np.bool_]]]:
    """Logarithms of the powers, one after the other."""
    current, at = powers.power(int(steps[0])), int(steps[0])
    for k, step in enumerate(steps.tolist()):
        if step > at:
            current, at = _product(current, powers.power(step - at)), step
        yield (k, step, *log_power(current))


def far_enough(chain: MarkovChain, /, *, epsilon: float, length: int) -> int:
    """A distance beyond which no quilt can be better than one already known, at most length - 1.

    Doubling the distance finds a two-sided quilt {i - m, i + m} of score S; a quilt that keeps a node at a distance of
    at least epsilon S has a score of at least S.
    """
    best, m = math.inf, 1
    while m < length and m < epsilon * best:
        steps = np.array([m])
        table = any_start_influence if not isinstance(chain.initial, str) or chain.initial == "any" else None
        influence = table(chain, steps) if table is not None else stationary_influence(chain, steps)
        worst, _ = pair_influence(influence, 0, 0)
        if worst < epsilon:
            best = min(best, (2 * m - 1) / (epsilon - worst))
        m *= 2
    return max(1, min(length - 1, math.ceil(min(epsilon * best, float(length))) + 1))
