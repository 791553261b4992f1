"""The law of a row given its secret: a mixture of trees with smoothed tables, and what released values tell of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import xlogy

from puffer_frames.mechanisms.file_checks import require
from puffer_frames.numbers.threads import one_blas_thread
from puffer_frames.priors.prior import FloatArray, IndexArray

_TURNS, _FEW_TURNS = 25, 5
"""Turns of expectation maximisation: for a new law, and for a law of other rows with the same trees."""
_NEW_TREES = (0, 4, 10)
"""Turns that look for the trees anew."""
_OWN_CLASS = 0.8
"""First share of a row in the class that k-means gave it; the rest is spread evenly."""
_POOLED_ROWS, _POOLED_SHARES = 10.0, 5.0
"""Rows of the whole table that are added to the marginals of a component, and to its share given a secret."""
_FACTORS = 16
"""A product of so many messages is scaled again: that of hundreds would be 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A law of the columns in which each depends on one other, its parent, and the secret."""

    parents: tuple[int, ...]
    """Parent of each column; -1 at the root."""
    tables: tuple[FloatArray, ...]
    """P(level | level of the parent, secret) of each column, shape (secrets, levels of the parent, levels). The root
    has a parent of one level."""

    def above(self, column: int, /) -> list[int]:
        """A column, its parent, and so on up to the root."""
        found = [column]
        while (parent := self.parents[found[-1]]) >= 0:
            found.append(parent)
        return found

    def path(self, start: int, end: int, /) -> list[int]:
        """The columns from one to another."""
        up, down = self.above(start), self.above(end)
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return up + down[-2::-1]

    @property
    def order(self) -> list[int]:
        """All columns, parents first."""
        return sorted(range(len(self.parents)), key=lambda column: len(self.above(column)))

    def log_probabilities(self, codes: IndexArray, secrets: IndexArray, /) -> FloatArray:
        """Log-likelihood of each row given its secret."""
        found = np.zeros(len(codes))
        for column, (parent, table) in enumerate(zip(self.parents, self.tables, strict=True)):
            above = codes[:, parent] if parent >= 0 else 0
            found += np.log(table)[secrets, above, codes[:, column]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLaw:
    r"""A mixture of trees: :math:`P(x|s) = \sum_h w_{h|s} \prod_j p_h(x_j | x_{pa_h(j)}, s)`."""

    trees: tuple[Tree, ...]
    shares: FloatArray
    """Share of each tree given the secret, shape (trees, secrets)."""

    @property
    def secrets(self) -> int:
        """Number of secrets."""
        return int(self.shares.shape[1])

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(table.shape[2] for table in self.trees[0].tables)

    def log_joint(self, codes: IndexArray, secrets: IndexArray, /) -> FloatArray:
        """Log-probability of each row and tree given its secret, shape (rows, trees)."""
        parts = [tree.log_probabilities(codes, secrets) for tree in self.trees]
        return np.stack(parts, axis=1) + np.log(self.shares).T[secrets]

    def parts(self, rows: Rows, /) -> FloatArray:
        """The probability that each row is of each tree, shape (rows, trees)."""
        joint = self.log_joint(rows.codes, rows.secrets)
        return np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])

    def log_likelihood(self, codes: IndexArray, secrets: IndexArray, /) -> FloatArray:
        """Log-probability of each row given its secret."""
        return np.logaddexp.reduce(self.log_joint(codes, secrets), axis=1)

    def sample(self, secrets: IndexArray, rng: np.random.Generator, /) -> IndexArray:
        """A row for each of these secrets."""
        component = _drawn(self.shares.T[secrets], rng)
        codes = np.zeros((secrets.size, len(self.sizes)), dtype=np.intp)
        for k, tree in enumerate(self.trees):
            own = np.flatnonzero(component == k)
            for column in tree.order:
                parent = tree.parents[column]
                above = codes[own, parent] if parent >= 0 else 0
                codes[own, column] = _drawn(tree.tables[column][secrets[own], above], rng)
        return codes


def _drawn(laws: FloatArray, rng: np.random.Generator) -> IndexArray:
    """A place in each row of probabilities, for simulations alone."""
    sums = laws.cumsum(axis=1)
    return (rng.random(len(laws))[:, None] * sums[:, -1:] >= sums).sum(axis=1).clip(max=laws.shape[1] - 1)


class Filter:
    """What released values tell of the other columns, for a batch of rows under each secret.

    Sum-product on each tree, one column after the other. Each tree has a focus, the column that was asked for last. All
    messages that point towards the focus are up to date, so that moving it takes one message for each edge of the way.
    """

    def __init__(self, law: NetworkLaw, /) -> None:
        self._trees = [_TreeFilter(tree) for tree in law.trees]
        self._shares = law.shares[:, :, None]
        self._parts: list[FloatArray] = []

    def law_of(self, column: int, /) -> FloatArray:
        """P(level of a column | secret, released values), shape (secrets, rows or 1, levels)."""
        self._parts = [tree.law_of(column) for tree in self._trees]
        return sum(share[:, :, None] * part for share, part in zip(self._shares, self._parts, strict=True))

    def see(self, evidence: FloatArray, /) -> FloatArray:
        """Take in what was released of the column that was asked for last, and return its probability.

        - `evidence` (array of float, shape (secrets, rows, levels)): The probability of the released value given each
          level.
        Returns: The probability of the released value given the secret and those before.
        """
        joint = self._shares * np.stack([np.einsum("srk,srk->sr", part, evidence) for part in self._parts])
        total: FloatArray = joint.sum(axis=0)
        self._shares = joint / total
        for tree in self._trees:
            tree.see(evidence)
        return total


class _TreeFilter:
    def __init__(self, tree: Tree) -> None:
        columns = range(len(tree.parents))
        self.tree = tree
        self.focus = tree.parents.index(-1)
        self.factors: dict[int, FloatArray] = {self.focus: tree.tables[self.focus]}
        self.messages: dict[tuple[int, int], FloatArray] = {}
        self.upward = [np.ascontiguousarray(table.transpose(0, 2, 1)) for table in tree.tables]
        self.seen: set[int] = set()
        self.near = [{k for k in columns if tree.parents[k] == j or tree.parents[j] == k} for j in columns]

    def law_of(self, column: int) -> FloatArray:
        for one, other in pairwise(self.tree.path(self.focus, column)):
            self.move(one, other)
        self.focus = column
        found = self.gathered(column, without=-1)
        if found is None:
            raise RuntimeError("the way from the root must have brought a message.")
        return _scaled(found)

    def see(self, evidence: FloatArray) -> None:
        own = self.factors.get(self.focus)
        self.factors[self.focus] = evidence if own is None else own * evidence
        self.seen.add(self.focus)

    def move(self, one: int, other: int) -> None:
        """The message from a column to the next one on the way."""
        self.messages.pop((other, one), None)  # it is made anew when the focus comes back, and takes memory till then
        inner = self.gathered(one, without=other)
        if inner is None:  # nothing is known on this side
            return
        table = self.tree.tables[other] if self.tree.parents[other] == one else self.upward[one]
        message = _scaled(inner @ table)
        if one in self.seen and self.near[one] == {other}:
            # all on this side is released: its last message becomes a part of the next column
            own = self.factors.get(other)
            self.factors[other] = message if own is None else _scaled(own * message)
            self.near[other].discard(one)
        else:
            self.messages[one, other] = message

    def gathered(self, column: int, without: int) -> FloatArray | None:
        """The product of what a column was told, except by one of its neighbours; None for nothing."""
        found = self.factors.get(column)
        told = [
            self.messages[k, column] for k in sorted(self.near[column]) if k != without and (k, column) in self.messages
        ]
        for k, message in enumerate(told):
            found = message if found is None else found * message
            if k % _FACTORS == _FACTORS - 1:
                found = _scaled(found)
        return found


def _scaled(found: FloatArray) -> FloatArray:
    """As probabilities."""
    return found * (1 / sums(found))


def sums(found: FloatArray, /) -> FloatArray:
    """Over the last axis, which stays; NumPy's own sum of a few numbers each takes several times as long."""
    return found @ np.ones((found.shape[-1], 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A table in codes, whose law is to be found."""

    codes: IndexArray
    """Shape (rows, columns)."""
    secrets: IndexArray
    """Shape (rows,)."""
    sizes: tuple[int, ...]
    """Number of levels of each column."""
    groups: int
    """Number of secrets."""

    def of(self, columns: Sequence[int], weights: FloatArray | None = None, /) -> FloatArray:
        """Rows, or their weights, of each secret and levels of some columns; -1 is a column of one level."""
        shape, places = [self.groups], self.secrets
        for column in columns:
            shape.append(self.sizes[column] if column >= 0 else 1)
            if column >= 0:
                places = places * shape[-1] + self.codes[:, column]
        return np.bincount(places, weights, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def information(rows: Rows, weights: FloatArray | None = None, /) -> FloatArray:
    """I(X_i; X_j | S) of each pair of columns in nats, less its bias, shape (columns, columns)."""
    found = np.zeros((len(rows.sizes),) * 2)
    for i in range(len(found)):
        for j in range(i):
            pair = rows.of((i, j), weights)
            first, second, own = pair.sum(axis=2), pair.sum(axis=1), pair.sum(axis=(1, 2))
            gain = sum(float(xlogy(n, n).sum()) * sign for n, sign in ((pair, 1), (first, -1), (second, -1), (own, 1)))
            bias = (((first > 0).sum(axis=1) - 1) * ((second > 0).sum(axis=1) - 1)).clip(0).sum() / 2
            found[i, j] = found[j, i] = (gain - bias) / own.sum()
    return found


def spanning_tree(gains: FloatArray, /) -> tuple[list[int], tuple[int, ...]]:
    """The tree of the largest sum of gains: its columns in Prim's order from the one of the most, and their parents."""
    start = int(gains.sum(axis=1).argmax())
    order, parents = [start], np.full(len(gains), start)
    parents[start] = -1
    reached = gains[start].copy()
    while len(order) < len(gains):
        reached[order] = -np.inf
        column = int(reached.argmax())
        order.append(column)
        nearer = gains[column] > reached
        nearer[order] = False
        parents[nearer] = column
        reached = np.where(nearer, gains[column], reached)
    return order, tuple(int(parent) for parent in parents)


def smoothed_tree(
    rows: Rows, parents: tuple[int, ...], /, *, smoothing: float, weights: FloatArray | None = None
) -> Tree:
    """The tables of a tree: each is drawn towards that of all secrets, as by so many rows more."""
    tables = []
    for column, parent in enumerate(parents):
        whole = rows.of((column,)).sum(axis=0) + 0.5
        marginal = whole / whole.sum()
        pair = rows.of((parent, column), weights)
        if weights is not None:
            own = pair.sum(axis=(0, 1))
            marginal = (own + _POOLED_ROWS * marginal) / (own.sum() + _POOLED_ROWS)
        pooled = (pair.sum(axis=0) + marginal) / (pair.sum(axis=(0, 2))[:, None] + 1) if parent >= 0 else marginal
        tables.append((pair + smoothing * pooled) / (pair.sum(axis=2, keepdims=True) + smoothing))
    return Tree(parents=parents, tables=tuple(tables))


def mixture(rows: Rows, trees: Sequence[tuple[int, ...]], parts: FloatArray, /, *, smoothing: float) -> NetworkLaw:
    """Trees with these parents, from the share of each row that belongs to each of them, shape (rows, trees)."""
    given = np.stack([rows.of((), part) for part in parts.T])
    pooled = given.sum(axis=1, keepdims=True) / given.sum()
    shares = (given + _POOLED_SHARES * pooled) / (given.sum(axis=0) + _POOLED_SHARES)
    weights = parts.T if len(trees) > 1 else [None]
    found = [smoothed_tree(rows, tree, smoothing=smoothing, weights=w) for tree, w in zip(trees, weights, strict=True)]
    return NetworkLaw(trees=tuple(found), shares=shares)


def fit(rows: Rows, /, *, components: int = 4, smoothing: float = 50.0, seed: int = 0) -> NetworkLaw:
    """The law of a table: trees of most information, several by expectation maximisation from classes of k-means."""
    marks = np.concatenate([np.eye(size)[rows.codes[:, j]] for j, size in enumerate(rows.sizes)], axis=1)
    with one_blas_thread():  # the same sums on every machine
        own = nearest(marks, k_means(marks, components, np.random.default_rng(seed)))
    parts = np.full((len(marks), components), (1 - _OWN_CLASS) / components)
    parts[np.arange(len(marks)), own] += _OWN_CLASS
    trees: list[tuple[int, ...]] = []
    for turn in range(_TURNS if components > 1 else 1):
        if turn in _NEW_TREES:
            trees = [spanning_tree(information(rows, part))[1] for part in parts.T]
        law = mixture(rows, trees, parts, smoothing=smoothing)
        parts = law.parts(rows)
    return law


def refit(law: NetworkLaw, rows: Rows, /, *, smoothing: float = 50.0) -> NetworkLaw:
    """The law of other rows, such as a bootstrap sample, with the same trees."""
    for _ in range(_FEW_TURNS):
        law = mixture(rows, [tree.parents for tree in law.trees], law.parts(rows), smoothing=smoothing)
    return law


def nearest(points: FloatArray, centres: FloatArray, /) -> IndexArray:
    """The centre that is nearest to each point, the first of several.

    Where both are whole numbers below 2**22 or so, this is exact, and cannot depend on the other points.
    """
    return (2 * points @ centres.T - (centres * centres).sum(axis=1)).argmax(axis=1)


def k_means(points: FloatArray, classes: int, rng: np.random.Generator, /, *, turns: int = 15) -> FloatArray:
    """Centres of at most so many classes: Lloyd's algorithm from k-means++."""
    centres: FloatArray = points[rng.integers(len(points))][None, :]
    away = ((points - centres) ** 2).sum(axis=1)
    while len(centres) < classes and away.sum() > 0:
        new = points[np.searchsorted(away.cumsum(), rng.random() * away.sum()).clip(max=len(points) - 1)]
        centres = np.vstack([centres, new])
        away = np.minimum(away, ((points - new) ** 2).sum(axis=1))
    for _ in range(turns):
        own = nearest(points, centres)
        order = np.argsort(own, kind="stable")
        starts = np.unique(own[order], return_index=True)[1]
        sizes = np.diff(np.append(starts, len(points)))
        centres = np.add.reduceat(points[order], starts, axis=0) / sizes[:, None]
    return centres


_NEAR = 1e-12
"""More than the rounding of a sum of probabilities."""


def check_law(law: NetworkLaw, sizes: tuple[int, ...], secrets: int, /) -> None:
    """Raise PlanFileError for a network of other columns or secrets, and for laws that are none."""
    require(bool(law.trees) and law.shares.shape == (len(law.trees), secrets), "a network of other secrets")
    _check_laws(law.shares.T)
    for tree in law.trees:
        parents = tree.parents
        require(len(parents) == len(tree.tables) == len(sizes), "a tree of other columns")
        require(parents.count(-1) == 1 and all(-1 <= k < len(sizes) for k in parents), "a tree that is none")
        for column in range(len(sizes)):
            above = {column}
            while (column := parents[column]) >= 0:
                require(column not in above, "a tree that is none")
                above.add(column)
        for column, table in enumerate(tree.tables):
            parent = parents[column]
            require(table.shape == (secrets, sizes[parent] if parent >= 0 else 1, sizes[column]), "another shape")
            _check_laws(table)


def _check_laws(laws: FloatArray) -> None:
    require(bool((laws > 0).all() and np.isfinite(laws).all()), "a probability that is none")
    check_sums(laws)


def check_sums(laws: FloatArray, /) -> None:
    """Raise PlanFileError for probabilities that do not add up to 1."""
    require(bool((np.abs(laws.sum(axis=-1) - 1) < _NEAR).all()), "probabilities of another sum")
