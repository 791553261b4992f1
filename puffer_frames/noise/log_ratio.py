"""Largest log-ratio of mixtures of atoms under a symmetric, unimodal noise: a proved bracket by branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_MOST_CELLS = 60_000
_MOST_ROUNDS = 200
_FIRST_CELLS = 64
_DOUBLINGS = 60
_PARTS = 4
_SHARE = 0.3
"""Cells are split whose bound is beyond this share of the gap between what is reached and the largest bound."""
_LEAST = 1e-3
"""The tolerance is relative to at least this loss."""


class Shape(Protocol):
    """A symmetric, unimodal density of scale 1."""

    steepest: float
    """A bound of |(log f)'|."""
    most_curved: float
    """A bound of |(log f)''|."""

    def most_curved_beyond(self, x: FloatArray, /) -> FloatArray:
        """A bound of |(log f)''| at all distances from x >= 0 on."""

    def log_density(self, x: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Log of the density at x >= 0, and a bound of its error."""

    def steepest_beyond(self, x: FloatArray, /) -> FloatArray:
        """A bound of |(log f)'| at all distances from x >= 0 on."""


def largest_log_ratio(
    mixtures: Sequence[tuple[FloatArray, FloatArray]],
    ratios: Sequence[tuple[int, int]],
    shape: Shape,
    /,
    *,
    tolerance: float,
) -> tuple[float, float, int]:
    r"""Bounds of :math:`\max_{(i, j)} \sup_y |\log f_i(y) - \log f_j(y)|`, and the pair with the upper one.

    Parameters
    ----------
    mixtures : list of (weights, atoms)
        Atoms in units of the noise's scale.
    ratios : list of (i, j)
        Places in `mixtures`.
    shape : Shape
    tolerance : float
        Relative width that the bracket aims for.

    Notes
    -----
    On a cell every component lies between its values at the points nearest to and farthest from the atom, since the
    density falls on both sides. On a cell of width h a difference of two log-densities is also at most the larger of
    its ends + K h^2 / 8, where K bounds its second derivative beyond the distance of the atoms: that of a mixture is a
    mean of those of its components plus the variance of their slopes. And it is at most the span of the atoms times the
    steepest slope beyond their distance from the cell, since every atom can be moved to any other: that is what ends
    the tails.
    """
    atoms = np.concatenate([x for _, x in mixtures])
    low, high = float(atoms.min()), float(atoms.max())
    edges = np.unique(np.concatenate((atoms, np.linspace(low - 4.0, high + 4.0, _FIRST_CELLS + 1))))
    wings = np.asarray((5.0 + high - low) * 2.0 ** np.arange(_DOUBLINGS), dtype=np.float64)
    edges = np.concatenate(((low - wings)[::-1], edges, high + wings))
    places = np.unique(atoms)
    fresh = np.stack((edges[:-1], edges[1:]))
    waiting, bounds, pairs = np.empty((2, 0)), np.empty(0), np.empty(0, dtype=np.intp)
    best, settled, tested, rounds = 0.0, (0.0, 0), 0, 0
    while fresh.size:
        rounds += 1
        lower, upper, pair, uncertain = _test(fresh, mixtures, ratios, shape, places)
        best, tested = max(best, lower), tested + upper.size
        goal = best + tolerance * max(best, _LEAST)
        final = uncertain & (upper > goal)  # narrower cells would not be known better
        if final.any():
            at = int(np.where(final, upper, -1.0).argmax())
            settled = max(settled, (float(upper[at]), int(pair[at])))
        open_ = ~final & (upper > best + 0.5 * (goal - best))
        waiting = np.concatenate((waiting, fresh[:, open_]), axis=1)
        bounds, pairs = np.concatenate((bounds, upper[open_])), np.concatenate((pairs, pair[open_]))
        top = float(bounds.max(initial=0.0))
        if top <= max(goal, settled[0]) or tested > _MOST_CELLS or rounds > _MOST_ROUNDS:
            break
        chosen = bounds > best + _SHARE * (top - best)
        fresh = _split(waiting[:, chosen])
        kept = ~chosen & (bounds > best + 0.5 * (goal - best))
        waiting, bounds, pairs = waiting[:, kept], bounds[kept], pairs[kept]
    highest, worst = settled
    if bounds.size and float(bounds.max()) > highest:
        highest, worst = float(bounds.max()), int(pairs[bounds.argmax()])
    beyond = (high - low) * float(shape.steepest_beyond(wings[-1:])[0])
    return best, max(highest, beyond, best + tolerance * max(best, _LEAST)), worst


def _test(
    cells: FloatArray,
    mixtures: Sequence[tuple[FloatArray, FloatArray]],
    ratios: Sequence[tuple[int, int]],
    shape: Shape,
    atoms: FloatArray,
) -> tuple[float, FloatArray, IndexArray, NDArray[np.bool_]]:
    """A ratio that is reached, and for each cell an upper bound, its pair, and whether it is as sharp as the floats."""
    left, right = cells
    values = [[_at(mixture, y, shape) for mixture in mixtures] for y in (left, right)]
    away = _nearest(atoms, left, right)
    bend = shape.most_curved_beyond(away) + shape.steepest_beyond(away) ** 2
    with np.errstate(over="ignore"):
        arch = 0.25 * bend * np.square(right - left)
    upper = np.full((len(ratios), left.size), -np.inf)
    best, error = 0.0, np.zeros(left.size)
    ends = [_between(mixture, left, right, shape) for mixture in mixtures]
    for k, (i, j) in enumerate(ratios):
        at = [(np.abs(log[i][0] - log[j][0]), log[i][1] + log[j][1]) for log in values]
        best = max(best, *(float((size - error_).max()) for size, error_ in at))
        error = np.maximum(error, np.maximum(*(error_ for _, error_ in at)))
        smooth = np.maximum(*(size + error_ for size, error_ in at)) + arch
        upper[k] = np.minimum(smooth, np.maximum(ends[i][1] - ends[j][0], ends[j][1] - ends[i][0]))
    span = float(atoms[-1] - atoms[0])
    outside = np.maximum(atoms[0] - right, left - atoms[-1]).clip(0.0)
    upper = np.minimum(upper, span * shape.steepest_beyond(outside))
    pair = upper.argmax(axis=0)
    return best, upper.max(axis=0), pair, (arch < error) | (left >= right)


def _split(cells: FloatArray) -> FloatArray:
    """Each cell in four."""
    left, right = cells
    cuts = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, _PARTS + 1)
    cuts[:, -1] = right
    return np.stack((cuts[:, :-1].ravel(), cuts[:, 1:].ravel()))


def _nearest(atoms: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Distance of cells from the atoms, none of which lies inside one."""
    before = np.searchsorted(atoms, left, side="right") - 1
    after = np.searchsorted(atoms, right, side="left")
    from_left = np.where(before >= 0, left - atoms[np.maximum(before, 0)], np.inf)
    from_right = np.where(after < atoms.size, atoms[np.minimum(after, atoms.size - 1)] - right, np.inf)
    nearest: FloatArray = np.maximum(np.minimum(from_left, from_right), 0.0)
    return nearest


def _at(mixture: tuple[FloatArray, FloatArray], y: FloatArray, shape: Shape) -> tuple[FloatArray, FloatArray]:
    """Log-density of a mixture at points, and a bound of its error."""
    weights, atoms = mixture
    return _mix(weights, *shape.log_density(np.abs(y - atoms[:, None])))


def _between(
    mixture: tuple[FloatArray, FloatArray], left: FloatArray, right: FloatArray, shape: Shape
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds of the log-density of a mixture on cells."""
    weights, atoms = mixture
    x = atoms[:, None]
    least, least_error = _mix(weights, *shape.log_density(np.maximum(np.abs(left - x), np.abs(right - x))))
    nearest = np.maximum(np.maximum(left - x, x - right), 0.0)
    most, most_error = _mix(weights, *shape.log_density(nearest))
    return least - least_error, most + most_error


def _mix(weights: FloatArray, terms: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    total = np.logaddexp.reduce(terms + np.log(weights)[:, None], axis=0)
    return total, errors.max(axis=0) + UNIT_ROUNDOFF * (8.0 * weights.size + 64.0 + 8.0 * np.abs(total))
