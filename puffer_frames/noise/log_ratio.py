"""Largest log-ratio of mixtures of atoms under a symmetric, unimodal noise: a proved bracket by branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from puffer_frames.priors import FloatArray
from puffer_frames.rounding import UNIT_ROUNDOFF

_MOST_CELLS = 400_000
_FIRST_CELLS = 64
_DOUBLINGS = 60
_PARTS = 4
_LEAST = 1e-3
"""The tolerance is relative to at least this loss."""


class Shape(Protocol):
    """A symmetric, unimodal density of scale 1."""

    steepest: float
    """A bound of |(log f)'|."""
    most_curved: float
    """A bound of |(log f)''|."""

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
    its ends + K h^2 / 8, where K bounds its second derivative: that of a mixture is a mean of those of its components
    plus the variance of their slopes. And it is at most the span of the atoms times the steepest slope beyond their
    distance from the cell, since every atom can be moved to any other: that is what ends the tails.
    """
    atoms = np.concatenate([x for _, x in mixtures])
    low, high = float(atoms.min()), float(atoms.max())
    edges = np.unique(np.concatenate((atoms, np.linspace(low - 4.0, high + 4.0, _FIRST_CELLS + 1))))
    wings = np.asarray((5.0 + high - low) * 2.0 ** np.arange(_DOUBLINGS), dtype=np.float64)
    edges = np.concatenate(((low - wings)[::-1], edges, high + wings))
    left, right = edges[:-1], edges[1:]
    best, settled, tested = 0.0, 0.0, 0
    bounds = np.zeros(0)
    worst = settled_pair = 0
    while left.size:
        values = [[_at(mixture, y, shape) for mixture in mixtures] for y in (left, right)]
        arch = 0.25 * (shape.most_curved + shape.steepest**2) * np.square(right - left)
        upper = np.full((len(ratios), left.size), -np.inf)
        uncertain = np.zeros(left.size)
        ends = [_between(mixture, left, right, shape) for mixture in mixtures]
        for k, (i, j) in enumerate(ratios):
            at = [(np.abs(log[i][0] - log[j][0]), log[i][1] + log[j][1]) for log in values]
            best = max(best, *(float((size - error).max()) for size, error in at))
            uncertain = np.maximum(uncertain, np.maximum(*(error for _, error in at)))
            smooth = np.maximum(*(size + error for size, error in at)) + arch
            upper[k] = np.minimum(smooth, np.maximum(ends[i][1] - ends[j][0], ends[j][1] - ends[i][0]))
        upper = np.minimum(upper, (high - low) * shape.steepest_beyond(np.maximum(low - right, left - high).clip(0.0)))
        bounds = upper.max(axis=0)
        top = int(bounds.argmax())
        worst = int(upper[:, top].argmax())
        tested += left.size
        if float(bounds.max()) <= best + tolerance * max(best, _LEAST) or tested > _MOST_CELLS:
            break
        kept = bounds > best + 0.5 * tolerance * max(best, _LEAST)
        fine = kept & (arch < uncertain)  # narrower cells would not be known better
        if fine.any() and float(bounds[fine].max()) > settled:
            settled, settled_pair = (
                float(bounds[fine].max()),
                int(upper[:, int(np.where(fine, bounds, -1).argmax())].argmax()),
            )
        kept &= ~fine
        steps = np.linspace(0.0, 1.0, _PARTS + 1)
        cuts = left[kept, None] + (right - left)[kept, None] * steps
        cuts[:, -1] = right[kept]
        left, right = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        if (left >= right).all():
            break
    if settled > float(bounds.max(initial=0.0)):
        worst = settled_pair
    highest = max(settled, float(bounds.max(initial=0.0)), best + tolerance * max(best, _LEAST))
    highest = max(highest, (high - low) * float(shape.steepest_beyond(wings[-1:])[0]))
    return best, highest, worst


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
