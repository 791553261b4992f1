"""Small Bayesian networks: the adversary's belief about values that depend on one another otherwise than a chain's."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import comb

from puffer_frames.errors import ArgumentError, PriorError, short_traceback
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

MOST_NODES = 200
_LEAST = 1e-12
"""Least probability of a table but 0."""
_DIGITS = 288
"""The product of the least probabilities but 0, one of each table, is at least 1e-288: all products are floats."""
_MOST_ENTRIES = 1 << 22
"""Entries of the largest table that the elimination of nodes may need."""
_SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class BayesianNetwork:
    """Nodes, each with a table of the probabilities of its states given those of its parents. Make one with `of`."""

    names: tuple[Hashable, ...]
    """In the order in which they were given."""
    parents: tuple[tuple[int, ...], ...]
    """Numbers of the parents of each node."""
    tables: tuple[FloatArray, ...]
    """P(state | states of the parents), shape (states of the parents..., states)."""

    @classmethod
    @short_traceback
    def of(
        cls, tables: Mapping[Hashable, ArrayLike], /, *, parents: Mapping[Hashable, Sequence[Hashable]] | None = None
    ) -> BayesianNetwork:
        """Check tables and parents.

        Parameters
        ----------
        tables : mapping of node to array_like, shape (states of its parents..., states)
            Non-negative; the last axis sums to 1 within 1e-6 (then normalised). An entry is 0 or at least 1e-12.
        parents : mapping of node to list of nodes, optional
            In the order of the axes, so no set; none for a node that is left out.

        Raises
        ------
        PriorError
            For other shapes, sums or numbers, nodes that are not there, a circle of parents, more than 200 nodes, and
            tables whose least probabilities but 0, one of each, have a product below 1e-288.

        Examples
        --------
        >>> home = BayesianNetwork.of(
        ...     {"ann": [0.9, 0.1], "ben": [[0.8, 0.2], [0.3, 0.7]]}, parents={"ben": ["ann"]}
        ... )
        >>> home.joint([1]).round(3).tolist()
        [0.75, 0.25]
        """
        if not isinstance(tables, Mapping) or not isinstance(parents, Mapping | None):
            raise _not("a network", "a mapping of node to table, and one of node to parents", "something else")
        if not 1 <= len(tables) <= MOST_NODES:
            raise _not("a network", f"of 1 to {MOST_NODES} nodes", f"{len(tables)}")
        names, given = tuple(tables), dict(parents or {})
        unknown = [node for name, own in given.items() for node in (name, *_listed(own)) if node not in tables]
        if unknown:
            raise _not("the parents of a node", "nodes of the network", repr(unknown[0]))
        number = {name: k for k, name in enumerate(names)}
        listed = tuple(tuple(number[parent] for parent in _listed(given.get(name, ()))) for name in names)
        if any(len(set(own)) < len(own) for own in listed):
            raise _not("the parents of a node", "different nodes", "one twice")
        if _in_a_circle(listed):
            raise _not("the parents of a node", "none of the nodes that depend on it", "a circle")
        arrays = [_numbers(table) for table in tables.values()]
        states = [array.shape[-1] if array.ndim else 0 for array in arrays]
        for name, array, own in zip(names, arrays, listed, strict=True):
            expected = (*(states[parent] for parent in own), max(2, array.shape[-1] if array.ndim else 2))
            if array.shape != expected:
                raise _not(f"the table of {name!r}", f"of shape {expected}", f"shape {array.shape}")
            sums = array.sum(axis=-1, keepdims=True)
            if not ((array >= 0).all() and np.allclose(sums, 1.0, rtol=0.0, atol=_SUM_TOLERANCE)):
                raise _not(f"the table of {name!r}", "of probabilities, its last axis summing to 1", "other numbers")
            array /= sums
            if ((array > 0) & (array < _LEAST)).any():
                raise _not(f"the table of {name!r}", f"of probabilities that are 0 or at least {_LEAST:g}", "less")
            array.setflags(write=False)
        _check_least(arrays)
        return cls(names=names, parents=listed, tables=tuple(arrays))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def states(self) -> list[int]:
        """How many states each node has."""
        return [table.shape[-1] for table in self.tables]

    @property
    def rounding(self) -> float:
        """Relative error of a probability at the most: products of all tables, and sums of positive terms."""
        n = len(self) + 2
        return 4.0 * UNIT_ROUNDOFF * n * (n * n + max(self.states) + 8)

    def allowed(self, states: Sequence[int], /) -> list[bool]:
        """Whether each node may have its state given those of its parents."""
        own = zip(self.tables, self.parents, states, strict=True)
        return [table[(*(states[parent] for parent in parents), state)] > 0 for table, parents, state in own]

    def joint(self, nodes: Sequence[int], /) -> FloatArray:
        """Joint law of different nodes, by their numbers, shape (states of each...); raises as `counts`."""
        return self.counts(nodes, [np.zeros(states, dtype=np.intp) for states in self.states])[..., 0]

    def counts(self, nodes: Sequence[int], adds: Sequence[IndexArray], /) -> FloatArray:
        """Joint law of some nodes and of a sum to which each node adds what its state says, 0, 1, ...

        The last axis of the result is the sum. The other nodes are eliminated one by one, the one with the smallest
        table first.

        Raises
        ------
        ArgumentError
            Where nodes depend on so many others that a table would have more than 4 million entries.
        """
        return _eliminated([self.factor(k, adds[k]) for k in range(len(self))], nodes, self.states)

    @short_traceback
    def to(self, other: BayesianNetwork, /) -> NetworkRange:
        """All networks from this one to another of the same nodes and parents, as the belief of `histogram`.

        Raises
        ------
        PriorError
            For other nodes, parents or numbers of states, and probabilities that are too small.

        Examples
        --------
        >>> low, high = (BayesianNetwork.of({"ann": [1 - p, p]}) for p in (0.1, 0.5))
        >>> len(low.to(high))
        2
        """
        same = isinstance(other, BayesianNetwork) and (self.names, self.parents) == (other.names, other.parents)
        if not same or self.states != other.states:
            raise _not("the other network", "one of the same nodes, parents and states, in the same order", "another")
        _check_least([np.append(*each) for each in zip(self.tables, other.tables, strict=True)])
        return NetworkRange(self, other)

    def factor(self, node: int, adds: IndexArray, /) -> _Factor:
        """The table of a node, and what its states add."""
        nodes = (*self.parents[node], node)
        table = np.zeros((*self.tables[node].shape, int(adds.max()) + 1))
        table[..., np.arange(adds.size), adds] = self.tables[node]
        order = np.argsort(nodes)
        return _Factor(
            nodes=tuple(sorted(nodes)), table=np.ascontiguousarray(np.transpose(table, (*order, len(order))))
        )

    @cached_property
    def neighbours(self) -> list[set[int]]:
        """The Markov blanket of each node: its parents, its children and their other parents."""
        found: list[set[int]] = [set() for _ in self.names]
        for node, parents in enumerate(self.parents):
            for one, other in combinations((*parents, node), 2):
                found[one].add(other)
                found[other].add(one)
        return found

    def inside(self, node: int, quilt: Iterable[int], /) -> set[int]:
        """The nodes that a quilt does not separate from a node, itself among them."""
        walls, found, edge = set(quilt), {node}, [node]
        while edge:
            fresh = self.neighbours[edge.pop()] - walls - found
            found |= fresh
            edge += fresh
        return found


@dataclass(frozen=True, eq=False)
class _Factor:
    """A function of some nodes, ascending, with a sum as the last axis."""

    nodes: tuple[int, ...]
    table: FloatArray

    def times(self, other: _Factor) -> _Factor:
        """Product; the sums add up."""
        nodes = tuple(sorted({*self.nodes, *other.nodes}))
        ours, theirs = self._over(nodes), other._over(nodes)
        if ours.shape[-1] > theirs.shape[-1]:
            ours, theirs = theirs, ours
        shape = np.broadcast_shapes(ours.shape[:-1], theirs.shape[:-1])
        table = np.zeros((*shape, ours.shape[-1] + theirs.shape[-1] - 1))
        for k in np.flatnonzero(ours.any(axis=tuple(range(ours.ndim - 1)))):
            table[..., k : k + theirs.shape[-1]] += ours[..., k : k + 1] * theirs
        return _Factor(nodes=nodes, table=table)

    def without(self, node: int) -> _Factor:
        """Summed up over the states of a node."""
        place = self.nodes.index(node)
        return _Factor(nodes=(*self.nodes[:place], *self.nodes[place + 1 :]), table=self.table.sum(axis=place))

    def _over(self, nodes: tuple[int, ...]) -> FloatArray:
        sizes = dict(zip(self.nodes, self.table.shape, strict=False))
        return self.table.reshape(*(sizes.get(node, 1) for node in nodes), self.table.shape[-1])


class NetworkRange(NamedTuple):
    """All networks whose tables are 1 - w times those of `low` and w times those of `high`, with one w from 0 to 1."""

    low: BayesianNetwork
    high: BayesianNetwork

    def counts(self, node: int, adds: Sequence[IndexArray], /) -> FloatArray:
        r"""`BayesianNetwork.counts` of a node and sum, as a polynomial in w, shape (states, degree + 1, sums).

        With c_m the entries, and d the number of nodes whose tables differ, it is
        :math:`\sum_m \binom{d}{m} w^m (1 - w)^{d - m} c_m`: as if each of these nodes took its table of `high` with
        probability w, c_m is the mean over all choices of m nodes. The m is a second digit of the sum.
        """
        base, factors = 1 + sum(int(own.max()) for own in adds), []
        for k, own in enumerate(adds):
            factor = self.low.factor(k, own)
            if not np.array_equal(self.low.tables[k], self.high.tables[k]):
                gap = np.zeros((*factor.table.shape[:-1], base - factor.table.shape[-1]))
                table = np.concatenate([factor.table, gap, self.high.factor(k, own).table], axis=-1)
                factor = _Factor(nodes=factor.nodes, table=table)
            factors.append(factor)
        found = _eliminated(factors, [node], self.low.states)
        found = found.reshape(found.shape[0], -1, base)
        return found / comb(found.shape[1] - 1, np.arange(found.shape[1]))[:, None]


def _eliminated(factors: list[_Factor], nodes: Sequence[int], states: Sequence[int]) -> FloatArray:
    """The product of all factors, summed up over all nodes but some; the last axis is the sum."""
    left = set(range(len(states))) - set(nodes)
    entries = {k: _entries(factors, k) for k in left}
    while left:
        node = min(left, key=entries.__getitem__)
        _check_entries(entries[node])
        touched = [factor for factor in factors if node in factor.nodes]
        factors = [factor for factor in factors if node not in factor.nodes]
        factors.append(reduce(_Factor.times, touched).without(node))
        left.remove(node)
        entries |= {k: _entries(factors, k) for k in left.intersection(factors[-1].nodes)}
    sums = sum(factor.table.shape[-1] - 1 for factor in factors) + 1
    _check_entries(math.prod(states[node] for node in nodes) * sums)
    whole = reduce(_Factor.times, factors)
    order = [whole.nodes.index(node) for node in nodes]
    return np.transpose(whole.table, (*order, len(order)))


def _entries(factors: Sequence[_Factor], node: int) -> int:
    """Entries of the table that the elimination of a node needs."""
    touched = [factor for factor in factors if node in factor.nodes]
    sizes = {n: size for factor in touched for n, size in zip(factor.nodes, factor.table.shape, strict=False)}
    sums = sum(factor.table.shape[-1] - 1 for factor in touched) + 1
    return int(np.prod([*sizes.values(), sums], dtype=object))


def _check_entries(entries: int) -> None:
    if entries > _MOST_ENTRIES:
        raise ArgumentError(
            "the network",
            rule="one whose nodes depend on few others",
            got="a table of more than 4 million entries",
            hint="Split it, or leave out edges that matter little.",
        )


def _check_least(arrays: Sequence[FloatArray]) -> None:
    if -sum(math.log10(array[array > 0].min()) for array in arrays) > _DIGITS + 1e-6:
        raise _not("the tables", f"of least probabilities whose product is at least 1e-{_DIGITS}", "less")


def _listed(parents: object) -> list[Hashable]:
    listed = list(parents) if isinstance(parents, Sequence) and not isinstance(parents, str) else [[]]
    if not all(isinstance(parent, Hashable) for parent in listed):
        raise _not("the parents of a node", "a list of nodes", f"a {type(parents).__name__}")
    return listed


def _in_a_circle(parents: Sequence[tuple[int, ...]]) -> bool:
    left = set(range(len(parents)))
    while free := {node for node in left if not left & set(parents[node])}:
        left -= free
    return bool(left)


def _numbers(table: ArrayLike) -> FloatArray:
    try:
        return np.array(table, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _not("the table of a node", "of numbers", f"a {type(table).__name__}") from None


def _not(what: str, rule: str, got: str) -> PriorError:
    return PriorError(what, rule=rule, got=got, hint="See puffer_frames.core.BayesianNetwork.of.")
