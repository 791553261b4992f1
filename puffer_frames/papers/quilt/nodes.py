"""The best quilts of the nodes of a series, with or without gaps, from tables of their influence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import divide_up
from puffer_frames.papers.quilt.influence import FixedStart, Influence, any_start_influence, stationary_influence
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows

_MOST_NODES = 1 << 22
"""More nodes that differ get the empty quilt."""


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


class Nodes:
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
        """Shorter series, or no quilt on two sides: a node is solved where no quilt found so far covers it."""
        nodes = self._different()
        if nodes is None:
            return empty_quilt(self._length, self._epsilon)
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

    def _different(self) -> IndexArray | None:
        """The nodes that need a look; None where there are too many.

        A node farther from both ends than all distances has the same quilts on two sides as the others like it, and its
        best score on the right side rises from one to the next, that on the left side falls. So the smaller of the two
        is largest where they cross, and quilts of the nodes there are worse than those of the nodes before and after.
        """
        begin, end = int(self._steps[-1]) + 1, self._length - int(self._steps[-1])
        if end - begin < 2:
            return np.arange(1, self._length + 1) if self._length <= _MOST_NODES else None
        if begin + self._length - end > _MOST_NODES:
            return None
        low, high = begin, end
        while high - low > 1:
            middle = (low + high) // 2
            right, left = (
                self.one_sided(self._worst[side].size, away, side=side)
                for side, away in (("right", middle - 1), ("left", self._length - middle))
            )
            scores = [math.inf if quilt is None else quilt.score(self._epsilon) for quilt in (right, left)]
            low, high = (middle, high) if scores[0] < scores[1] else (low, middle)
        return np.concatenate([np.arange(1, begin), [low, high], np.arange(end + 1, self._length + 1)])

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


def fixed_nodes(start: FixedStart, nodes: Iterable[int], *, epsilon: float, length: int) -> QuiltScale:
    """A given law of the first state: a node is searched where its neighbour's quilt does not cover it.

    Nodes that are like another one are left out (`FixedStart.different`).
    """
    steps = start.steps
    empty = Quilt(card=length, influence=0.0)
    sigma, used = 0.0, dict[Quilt, None]()
    place: tuple[int, int] | None = None
    for node in sorted(nodes, key=lambda node: abs(2 * node - length - 1)):
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
    nodes = Nodes(influence, epsilon=epsilon, length=length)
    best = Quilt(card=length, influence=0.0)
    for side, table, away in (("right", influence.right, node - 1), ("left", influence.left, length - node)):
        quilt = nodes.one_sided(table.shape[0], away, side=side)
        if quilt is not None and quilt.score(epsilon) < best.score(epsilon):
            best = quilt
    quilt = nodes.two_sided(influence.left.shape[0], influence.right.shape[0], below=best.score(epsilon))
    return (best, None) if quilt is None else (quilt, nodes.found)


def empty_quilt(length: int, epsilon: float) -> QuiltScale:
    """The empty quilt: every value of the series may change."""
    quilt = Quilt(card=length, influence=0.0)
    return QuiltScale(sigma=quilt.score(epsilon), quilts=(quilt,))


_MOST_SUMS = 2e7
"""Sums of two sides' influences that are looked at: distances on the left times on the right times pairs of states."""
_MOST_GAPPED_NODES, _FEWEST_STEPS = 1e8, 8
"""For nodes with quilts of their own: the most nodes times distances squared, and the fewest distances."""
_MOST_PLACES = 1e7
"""Times of all units, and the room between these."""
_FEWEST_SPANS, _MOST_SPANS, _MOST_LOOKS = 64, 8192, 20_000_000
"""For windows: lengths that are looked at, and the most lengths times pieces."""
_ROUND_UP = 1 + 2**-50


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """The largest number of observed nodes among consecutive ones."""

    spans: IndexArray
    """Numbers of consecutive nodes, ascending."""
    most: NDArray[np.int64]
    """The largest number of observed ones among them."""

    @classmethod
    def of(cls, rows: SeriesRows, /, *, length: int) -> Windows:
        """The windows of all units' rows, up to a number of nodes; a length not looked at counts as the next larger."""
        count = max(_FEWEST_SPANS, min(_MOST_SPANS, _MOST_LOOKS // rows.lengths.size))
        spans = np.arange(1, length + 1) if length <= count else _thinned(length, count)
        return cls(spans=spans, most=rows.most_within(spans))

    def at(self, spans: IndexArray, /) -> NDArray[np.int64]:
        """An upper bound for each number of nodes."""
        return self.most[np.minimum(np.searchsorted(self.spans, spans), self.spans.size - 1)]


def gap_quilt(influence: Influence, windows: Windows, /, *, epsilon: float) -> Quilt | None:
    r"""The quilt {i - a, i + b} that serves all nodes with the least noise; None where no influence is below epsilon.

    .. math:: \min_{a, b} \frac{K(a + b - 1)}{\varepsilon - e(a, b)}

    with K from the windows. The influence is that of a stationary start or of any, so that it does not depend on the
    node. A side that does not fit is left out: then no more nodes are near, K does not grow, and the influence neither,
    since that of a side is at least 0. **Cost**: the sums of all sides.
    See [SWC17] Theorem 4.2; docs/theory.md, section 10, "Gaps".
    """
    steps, best = influence.steps, Quilt(card=0, influence=math.inf)
    least = math.inf
    for k, step in enumerate(steps.tolist()):
        told = (influence.left[k] + influence.right).max(axis=1) * _ROUND_UP
        card = windows.at(steps + (step - 1))
        with np.errstate(divide="ignore"):
            scores = np.where(told < epsilon, card / np.maximum(epsilon - told, 0.0), np.inf)
        at = int(scores.argmin())
        if scores[at] < least:
            least, best = float(scores[at]), Quilt(card=int(card[at]), influence=float(told[at]))
    return best if least < math.inf else None


def node_quilts(influence: Influence, rows: SeriesRows, /, *, epsilon: float) -> QuiltScale | None:
    r"""A quilt {i - a, i + b} of its own for each node i, where there are not too many nodes; otherwise None.

    .. math:: \max_i \min_{a, b} \frac{|\text{observed nodes in } [i - a + 1, i + b - 1]|}{\varepsilon - e(a, b)}

    A side that does not fit is left out, as in `gap_quilt`. **Cost**: distances squared times nodes.
    """
    reach = int(influence.steps[-1])
    places = rows.times + (len(rows.units) + 1) * reach
    if places > _MOST_PLACES:
        return None
    count = int(math.sqrt(_MOST_GAPPED_NODES / places))
    if reach > count and count < _FEWEST_STEPS:
        return None
    kept = np.arange(influence.steps.size)
    if influence.steps.size > count:
        kept = np.unique(np.searchsorted(influence.steps, _thinned(reach, count)))
    steps, told = influence.steps[kept], influence.right[kept]
    nodes, before = rows.timeline(apart=reach)
    scores, cards, held = np.full(nodes.size, np.inf), np.zeros(nodes.size, dtype=np.int64), np.zeros(nodes.size)
    for k, a in zip(kept.tolist(), steps.tolist(), strict=True):
        sides = (influence.left[k] + told).max(axis=1) * _ROUND_UP
        first = before[nodes - a + 1]
        for b, side in zip(steps.tolist(), sides.tolist(), strict=True):
            if side < epsilon:
                card = before[nodes + b] - first
                score = card / (epsilon - side)
                better = score < scores
                scores[better], cards[better], held[better] = score[better], card[better], side
    if not np.isfinite(scores).all():
        return None
    pairs = dict.fromkeys(zip(cards.tolist(), held.tolist(), strict=True))
    quilts = tuple(Quilt(card=card, influence=side) for card, side in pairs)
    return QuiltScale(sigma=max(quilt.score(epsilon) for quilt in quilts), quilts=quilts)


def gap_influence(chain: MarkovChain, windows: Windows, /, *, epsilon: float, length: int) -> Influence:
    """Influences at all distances that a best quilt may have; at fewer of them where there are many.

    They are those of a stationary chain, or of one with any start. Doubling a distance m finds quilts {i - m, i + m};
    one with more than epsilon times their least score observed nodes on a side is no better.
    """
    stationary = isinstance(chain.initial, str) and chain.initial == "stationary"
    table = stationary_influence if stationary else any_start_influence
    best, m = math.inf, 1
    while m < length and windows.at(np.array([m]))[0] < epsilon * best:
        sides = table(chain, np.array([m]))
        told = float((sides.left + sides.right).max())
        if told < epsilon:
            best = min(best, float(windows.at(np.array([2 * m - 1]))[0]) / (epsilon - told))
        m *= 2
    reach = min(m, length - 1)
    count = int(math.sqrt(_MOST_SUMS / (chain.states * (chain.states - 1))))
    return table(chain, np.arange(1, reach + 1) if reach <= count else _thinned(reach, count))


def _thinned(reach: int, count: int) -> IndexArray:
    """Distances from 1 to `reach`, ever farther apart."""
    return np.unique(np.rint(np.geomspace(1, reach, count)).astype(np.intp))
