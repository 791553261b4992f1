"""The best quilts of the nodes of a series, from tables of their influence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from puffer_frames.numbers.rounding import divide_up
from puffer_frames.papers.quilt.influence import FixedStart, Influence
from puffer_frames.priors.prior import IndexArray

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
