"""What tells the secret beside the noise: equal columns, the order of rows, rows that are unique."""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

from puffer_frames.priors.prior import FloatArray, IndexArray

_FEWER = 0.5
"""Fewer than this share of the runs of a random order: the position tells the secret."""
_LEVELS = 8
"""A column with as many rows per level, at least, can be known again by its levels alone."""


def is_same(first: IndexArray, second: IndexArray, /) -> bool:
    """Whether two columns, as numbers of their levels, are equal but for the names of the levels.

    Columns of almost as many levels as rows are equal by that in any case, and never are here.
    """
    levels = int(np.unique(first).size)
    if first.size != second.size or levels < 2 or levels * _LEVELS > first.size:
        return False
    if int(np.unique(second).size) != levels:
        return False
    return int(np.unique(first.astype(np.int64) * (int(second.max()) + 1) + second).size) == levels


def is_same_order(first: FloatArray, second: FloatArray, /) -> bool:
    """Whether two columns of numbers are one increasing or decreasing function of each other, ties included."""
    if first.size != second.size or first.size < _LEVELS or np.unique(first).size < 3:
        return False
    ranks, others = stats.rankdata(first), stats.rankdata(second)
    return bool((ranks == others).all() or (ranks == first.size + 1 - others).all())


def runs_of(codes: IndexArray, /) -> tuple[int, float, float]:
    """Runs of equal secrets, how many a random order has on average, and the p-value of so few.

    In a random order of n rows with counts c the number of equal neighbours has mean sum c (c - 1) / n; its law is near
    a normal one.
    """
    counts = np.bincount(codes).astype(float)
    n = float(codes.size)
    found = 1 + int(np.count_nonzero(codes[1:] != codes[:-1]))
    if n < _LEVELS or np.count_nonzero(counts) < 2:
        return found, float(found), 1.0
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    expected = (n * (n + 1) - squares) / n
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
    if variance <= 0:
        return found, expected, 1.0
    return found, expected, float(stats.norm.cdf((found + 0.5 - expected) / math.sqrt(variance)))


def is_clustered(found: int, expected: float, p: float, /, *, alpha: float) -> bool:
    """Whether the order tells the secret: clearly, and not by chance."""
    return found < _FEWER * expected and p < alpha


def unique_share(codes: list[IndexArray], /) -> float:
    """Share of rows that no other row is equal to in all of these columns."""
    rows = np.column_stack(codes)
    _, counts = np.unique(rows, axis=0, return_counts=True)
    return float(np.count_nonzero(counts == 1)) / len(rows)
