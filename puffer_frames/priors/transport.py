"""Optimal transport in one dimension: the W-infinity distance between priors, and the plan."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key, reduce
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import PriorError, short_traceback
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, subtract_up, up
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, check_priors, middles

_WORD = 64
_PLACES = 40
"""Binary places of the approximate logarithms: with 21 bits before the point they are below 2**61."""
_ONE = 1 << 62
"""The integer that stands for 1."""
_APART = 2
"""Logarithms that differ by so many units in the last place belong to fractions in the same order."""


def ranks(fractions: Sequence[tuple[NDArray[Any], int]], /) -> list[NDArray[np.intp]]:
    """Numbers from 0 in the order of the fractions, equal for equal ones.

    - `fractions` (sequence of (array of int, int)): Numerators, ascending, above 0 and at most the denominator; and the
      denominator, below 2**(2**21).

    The fractions are sorted by approximate logarithms, of a fraction up to a half or of what is missing to 1; those
    too near one another are then compared exactly. **Cost**: that of a sort, and one product of long integers for
    each two that are near and have different denominators.
    """
    keys = np.concatenate([_logarithms(numerators, total) for numerators, total in fractions])
    owners = np.repeat(np.arange(len(fractions)), [numerators.size for numerators, _ in fractions])
    order = np.argsort(keys, kind="stable")
    rises = np.append(False, np.diff(keys[order]) >= _APART)
    flat = [numerator for numerators, _ in fractions for numerator in numerators.tolist()]

    def compared(one: int, other: int) -> int:
        a, b = flat[one], flat[other]
        n, m = fractions[owners[one]][1], fractions[owners[other]][1]
        if n != m:
            a, b = a * m, b * n
        return int(a > b) - int(a < b)

    near = np.flatnonzero(np.diff(np.concatenate([[False], ~rises[1:], [False]])))
    for start, last in near.reshape(-1, 2).tolist():
        group = sorted(order[start : last + 1].tolist(), key=cmp_to_key(compared))
        order[start : last + 1] = group
        rises[start + 1 : last + 1] = [compared(a, b) < 0 for a, b in pairwise(group)]
    found = np.empty(keys.size, dtype=np.intp)
    found[order] = np.cumsum(rises)
    return np.split(found, np.cumsum([numerators.size for numerators, _ in fractions])[:-1])


def _logarithms(numerators: NDArray[Any], total: int) -> NDArray[np.int64]:
    r"""Ascending: :math:`\phi(u)` for a fraction u up to 1/2, :math:`-\phi(1 - u)` above, in units of the last place.

    .. math:: \phi(m 2^e) = e + m - 1, \quad 1 \le m < 2

    The error is below .51 units: heads of 64 bits, three roundings of floats and one to a whole number.
    """
    counts = numerators.tolist()
    lower = bisect_right(counts, total >> 1)
    heads, lengths = _heads(chain(counts[:lower], (total - count for count in counts[lower:]), [total]))
    quotients = heads[:-1] / heads[-1]
    below = quotients < 1.0
    keys: NDArray[np.int64] = (lengths[:-1] - lengths[-1] - below) << _PLACES
    keys += np.rint((np.where(below, 2.0 * quotients, quotients) - 1.0) * 2.0**_PLACES).astype(np.int64)
    keys[lower:] *= -1
    if counts[-1] == total:
        keys[-1] = _ONE
    return keys


def _heads(numbers: Iterable[int]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The first 64 bits of each number, and how many bits it has."""
    heads, lengths = [], []
    for number in numbers:
        length = number.bit_length()
        heads.append(float(number >> length - _WORD if length > _WORD else number << _WORD - length))
        lengths.append(length)
    return np.array(heads), np.array(lengths, dtype=np.int64)


_GRID = 4096
_FEW_LEVELS = 1 << 14
_ROWS_PER_ATOM = 4
"""Priors with no more rows per atom than this are compared row by row: those of one total then share their levels."""
_FEW_UNITS = 64
_LARGEST_TOTAL = 1 << 50
"""The grid times a denominator stays a 64-bit integer up to here."""
_COARSE = 256
"""Levels of a grid for bounds of many pairs; more next to 0 and 1."""


@short_traceback
def w_infinity(p: Prior, q: Prior, /) -> float:
    r"""Kantorovich distance of order infinity between two discrete priors.

    .. math:: W_\infty(p, q) = \sup_{0 < u \le 1} |F_p^{-1}(u) - F_q^{-1}(u)|

    Parameters
    ----------
    p, q : Prior
        Discrete priors.

    Returns
    -------
    float
        The distance, in units of the column, rounded up.

    Raises
    ------
    PriorError
        For a prior with a Gaussian component: the distance is computed between atoms only.

    Notes
    -----
    **Cost**: O(n log n) for n atoms. **Rounding**: the cumulative levels are compared as exact fractions.

    References
    ----------
    [D22]; [DLYZ] Prop. 2; docs/theory.md, section 4, "W-infinity from quantiles": the published scan can miss the
    supremum.

    Examples
    --------
    >>> w_infinity(Prior.empirical([0]), Prior.empirical([10])) >= 10
    True
    """
    return w_infinity_diameter([p, q])


@short_traceback
def transport_plan(p: Prior, q: Prior, /) -> FloatArray:
    r"""How the mass of one discrete prior is moved to make the other: the monotone plan, which is optimal.

    .. math:: \pi^*(x, x') = \left| \{ u \in (0, 1] : F_p^{-1}(u) = x, \; F_q^{-1}(u) = x' \} \right|

    Parameters
    ----------
    p, q : Prior
        Discrete priors.

    Returns
    -------
    array, shape (moves, 3)
        A row per pair of atoms between which mass is moved, ascending: the atom x of p, the atom x' of q, and the mass,
        greater than 0. The masses sum to 1.

    Raises
    ------
    PriorError
        For a prior with a Gaussian component.
    ArgumentTypeError
        For what is no prior.

    Notes
    -----
    Of all plans it has the smallest largest distance, which is `w_infinity`, and the smallest mean of every convex
    function of x - x'. Other plans may have the same largest distance. It is a plan between the atoms as given: a
    `radius` is not in it. **Cost**: O(n log n) for n atoms, in whole numbers. **Rounding**: the levels are compared
    as exact fractions; a mass is rounded once.

    References
    ----------
    [DLYZ] Theorem 4 and Table 6; [D22]; docs/theory.md, section 4.

    Examples
    --------
    >>> transport_plan(Prior.empirical([1, 2], [1, 1]), Prior.empirical([2, 3], [3, 1])).tolist()
    [[1.0, 2.0, 0.5], [2.0, 2.0, 0.25], [2.0, 3.0, 0.25]]
    """
    _check_discrete((p, q))
    common = math.lcm(p.levels[1], q.levels[1])
    levels = [np.cumsum(prior.levels[0].astype(object) * (common // prior.levels[1])) for prior in (p, q)]
    merged = np.unique(np.concatenate(levels))
    ends = [prior.means[np.searchsorted(own, merged)] for prior, own in zip((p, q), levels, strict=True)]
    moved = np.diff(merged, prepend=0) / common
    return np.column_stack([*ends, moved.astype(np.float64)])


def shift_distance(p: Prior, q: Prior, /) -> float:
    """Distance of two priors that are shifts of one another, rounded up; infinite where they are not."""
    alike = p.stds.shape == q.stds.shape and np.array_equal(p.stds, q.stds) and np.array_equal(p.weights, q.weights)
    if not alike or (p.means - p.means[0] != q.means - q.means[0]).any():
        return math.inf
    return subtract_up(*sorted((float(p.means[0]), float(q.means[0])), reverse=True))


def monotone_shifts(p: Prior, q: Prior, /) -> tuple[FloatArray, FloatArray]:
    """How far the monotone plan of two discrete priors moves each share of their mass, and the shares.

    Returns: Distances, rounded up, and shares. The plan is one of two laws that differ from p and q by rounding, of at
    most 2 UNIT_ROUNDOFF times their numbers of atoms in total variation.
    """
    p, q = p.at_middles(), q.at_middles()
    levels = [np.minimum(np.cumsum(prior.weights), 1.0) for prior in (p, q)]
    for own in levels:
        own[-1] = 1.0
    merged = np.unique(np.concatenate(levels))
    ends = [
        prior.means[np.minimum(np.searchsorted(own, merged), own.size - 1)]
        for prior, own in zip((p, q), levels, strict=True)
    ]
    size = np.abs(ends[0]) + np.abs(ends[1])
    return np.abs(ends[0] - ends[1]) + 2.0 * UNIT_ROUNDOFF * size, np.diff(merged, prepend=0.0)


def w_infinity_diameter(priors: Sequence[Prior], /) -> float:
    r"""Largest W-infinity distance over all pairs of the priors, without a loop over pairs.

    .. math:: \max_{i,j} W_\infty = \sup_u \left( \max_i F_i^{-1}(u) - \min_j F_j^{-1}(u) \right)

    Raises PriorError for a prior with a Gaussian component.

    **Cost**: one sort of the cumulative levels of the m priors; of many levels, of those that can hold the largest
    distance.
    """
    _check_discrete(priors)
    moved = 2 * Fraction(max(prior.radius for prior in priors))  # both ends may be off
    values = _values_of(priors)
    levels = [prior.levels[0] for prior in priors]
    totals = [prior.levels[1] for prior in priors]
    if sum(totals) <= _ROWS_PER_ATOM * sum(level.size for level in levels):  # as rows, sorted within each prior
        rows = np.concatenate(values)
        if sum(totals) > rows.size:
            rows = np.repeat(rows, np.concatenate(levels).astype(np.int64))
        steps = _steps_of_rows(rows, np.append(0, np.cumsum(totals)))
    else:
        steps = [Steps(np.cumsum(p.levels[0]), p.levels[1], own, own) for p, own in zip(priors, values, strict=True)]
    highest, lowest = _widest(steps)
    return up(Fraction(highest) - Fraction(lowest) + moved)


def _values_of(priors: Sequence[Prior]) -> list[FloatArray]:
    """Atoms of each prior, or the middles of its cells: those of one width all at once."""
    values = [prior.means for prior in priors]
    if len({prior.radius if prior.in_cells else 0.0 for prior in priors}) > 1:
        return [prior.at_middles().means for prior in priors]
    if not priors[0].in_cells:
        return values
    return np.split(middles(np.concatenate(values), priors[0].radius), np.cumsum([own.size for own in values])[:-1])


def _check_discrete(priors: Sequence[Prior]) -> None:
    check_priors(priors)
    for prior in priors:
        if not prior.is_discrete:
            raise PriorError(
                "the priors of a transport plan, or of a W-infinity distance,",
                rule="discrete (atoms only)",
                got=repr(prior),
                hint="Use Prior.empirical, or a theorem for Gaussian priors.",
            )


def w_infinity_bounds(priors: Sequence[Prior], /) -> FloatArray:
    """Upper bounds of the W-infinity distances of all pairs of discrete priors, shape (priors, priors).

    Between two levels of a grid the distance of the quantiles is at most that between the highest of the one at the end
    and the lowest of the other at the start. **Cost**: O(m^2 L) for m priors and a grid of L levels.
    """
    grid = np.array([level << 400 for level in range(_COARSE + 1)], dtype=object)
    tails = np.array([_COARSE << k for k in range(0, 400, 2)], dtype=object)
    grid, of = np.unique(np.concatenate([grid, tails, (_COARSE << 400) - tails])), _COARSE << 400
    ends, starts = [], []
    priors = [prior.at_middles() for prior in priors]
    for prior in priors:
        counts, total = np.cumsum(prior.levels[0]).astype(object), int(prior.levels[1])
        ends.append(prior.means[np.searchsorted(counts, -(-grid[1:] * total // of))])
        starts.append(prior.means[np.searchsorted(counts, grid[:-1] * total // of + 1)])
    high, low = np.stack(ends), np.stack(starts)
    with np.errstate(over="ignore"):  # of values at both ends of the floats
        one_way = np.stack([(row - low).max(axis=1) for row in high])
    moved = 2 * max(prior.radius for prior in priors)
    return np.maximum(one_way, one_way.T) * (1 + 4 * UNIT_ROUNDOFF) + moved


def rows_diameter(values: FloatArray, starts: IndexArray, /) -> float:
    """`w_infinity_diameter` of the observed frequencies of many units' rows.

    - `values` (array, shape (rows,)): Unit after unit, ascending within a unit.
    - `starts` (array, shape (units + 1,)): Where each unit's rows begin, and the end of the last.

    Units with the same number of rows have the same levels: their quantiles are the columns of a table. **Cost**:
    O(rows + d L) for d different numbers of rows and L different levels.
    """
    return subtract_up(*_widest(_steps_of_rows(values, starts)))


def _steps_of_rows(values: FloatArray, starts: IndexArray) -> list[Steps]:
    """One entry for all units with the same number of rows."""
    sizes = np.diff(starts)
    steps = []
    for size in np.unique(sizes):
        places = starts[:-1][sizes == size]
        if places.size <= _FEW_UNITS:  # no table of them
            units = [values[place : place + size] for place in places]
            high, low = reduce(np.maximum, units), reduce(np.minimum, units)
        else:
            table = values[places[:, None] + np.arange(size)]
            high, low = table.max(axis=0), table.min(axis=0)
        steps.append(Steps(np.arange(1, size + 1), int(size), high, low))
    return steps


class Steps(NamedTuple):
    """Quantile functions with steps at the same levels: the highest and the lowest of them."""

    counts: NDArray[Any]
    """Numerators of the levels, ascending to `total`."""
    total: int
    """Their denominator."""
    high: FloatArray
    """Highest value at each level."""
    low: FloatArray
    """Lowest value at each level."""


def _widest(steps: Sequence[Steps]) -> tuple[float, float]:
    """The ends of the widest gap between two quantile functions at one level.

    Between two neighbours of a grid of levels the gap is at most that between the highest value at the end and the
    lowest at the start, and at least the gap at the end. Only the cells that can hold the widest gap are looked at
    level by level.
    """
    levels = sum(step.counts.size for step in steps)
    if levels <= max(_FEW_LEVELS, _GRID // 16 * len(steps)) or max(step.total for step in steps) > _LARGEST_TOTAL:
        return _widest_of(steps)
    grid, of = np.arange(_GRID + 1), _GRID
    ends = np.stack([np.searchsorted(s.counts, -(-grid[1:] * s.total // of)) for s in steps])
    starts = np.stack([np.searchsorted(s.counts, grid[:-1] * s.total // of + 1) for s in steps])
    highest = np.max([s.high[end] for s, end in zip(steps, ends, strict=True)], axis=0)
    at_least = highest - np.min([s.low[end] for s, end in zip(steps, ends, strict=True)], axis=0)
    at_most = highest - np.min([s.low[start] for s, start in zip(steps, starts, strict=True)], axis=0)
    best = (-math.inf, 0.0, 0.0)
    for cell in np.argsort(-at_most, kind="stable"):
        if at_most[cell] <= best[0] or at_most[cell] < at_least.max():
            break
        parts = [
            Steps(s.counts[a : b + 1], s.total, s.high[a : b + 1], s.low[a : b + 1])
            for s, a, b in zip(steps, starts[:, cell], ends[:, cell], strict=True)
        ]
        high, low = _widest_of(parts, up_to=(int(grid[cell + 1]), of))
        best = max(best, (high - low, high, low))
    return best[1], best[2]


def _widest_of(steps: Sequence[Steps], *, up_to: tuple[int, int] = (1, 1)) -> tuple[float, float]:
    """The same at every level up to a fraction; the steps begin at or below the first level in question."""
    end = np.array([up_to[0]], dtype=object if any(s.counts.dtype == object for s in steps) else np.int64)
    *levels, (last,) = _ranked([*((s.counts, s.total) for s in steps), (end, up_to[1])])
    # a quantile function rises: the highest one at u is the largest value of a step that begins before u
    highest = np.full(last + 1, -math.inf)
    # and the lowest one the smallest value of a step that ends at u or later
    lowest = np.full(last + 1, math.inf)
    for step, ends in zip(steps, levels, strict=True):
        after = np.append(0, ends[:-1] + 1)
        held = np.count_nonzero(after <= last)
        np.maximum.at(highest, after[:held], step.high[:held])
        np.minimum.at(lowest, np.minimum(ends, last), step.low)
    highest = np.maximum.accumulate(highest)
    lowest = np.minimum.accumulate(lowest[::-1])[::-1]
    widest = int(np.argmax(highest - lowest))
    return float(highest[widest]), float(lowest[widest])


def _ranked(fractions: Sequence[tuple[NDArray[Any], int]]) -> list[IndexArray]:
    """Fractions (numerators, denominator) as whole numbers from 0 of the same order and with the same ties.

    Two different fractions C/n and C'/n' differ by at least 1/(n n'); while n n' < 2**53 their correctly rounded
    quotients differ too, and equal ones have equal quotients.
    """
    totals = sorted(total for _, total in fractions)
    if totals[-1] * totals[-2 if len(totals) > 1 else -1] >= 2**53:
        return ranks(fractions)
    found = np.unique(np.concatenate([counts / total for counts, total in fractions]), return_inverse=True)[1]
    return np.split(found, np.cumsum([counts.size for counts, _ in fractions])[:-1])
