"""The law of the privacy loss of two priors whose density is known on cells alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.mixtures.curve import Curve, Points
from puffer_frames.loss.mixtures.refine import TAIL_ERROR, Cells, first_points
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_STEPS = 32.0
"""Cells are halved until the ratio is known to this part of its standard deviation."""
_ROUNDS = 12
_MOST_CELLS = 6_000
_LEAST_MASS = 1e-16
"""A cell of less mass is not halved."""


def ratio_cells(p: Curve, q: Curve, /) -> tuple[RatioCells, RatioCells] | None:
    """The cells of P against Q, and of Q against P; None where a density leaves the range of floats.

    Notes
    -----
    **Rounding**: probabilities and bounds are moved to the private side.
    """
    at_p, at_q = first_points(p, q)
    if np.isnan(at_p.error + at_q.error).any():
        return None
    ends, bounds = _tails(p, at_p, at_q)
    cells = Cells.between(at_p, at_q)
    for level in range(_ROUNDS):
        if np.isnan(cells.error).any():
            return None
        low, high = cells.log_ratio(p.bounds(cells.p_left, cells.p_right), q.bounds(cells.q_left, cells.q_right))
        low, high = low - cells.error, high + cells.error
        split = _split(cells, low, high, p.normaliser) & cells.splittable()
        if level == _ROUNDS - 1 or 2 * int(split.sum()) + sum(found.shape[-1] for found in bounds) > _MOST_CELLS:
            split[:] = False
        ends.append(np.stack([cells.p_left.y, cells.p_right.y])[:, ~split])
        bounds.append(np.stack([low, high])[:, ~split])
        if not split.any():
            break
        cells = cells.take(np.flatnonzero(split)).halves(p, q)[0]
    a, b = np.concatenate(ends, axis=1)
    masses = np.stack([_mass(p, a, b), _mass(q, a, b)])
    low, high = np.concatenate(bounds, axis=1)
    return _one(masses, low, high), _one(masses[::-1], -high, -low)


def _tails(p: Curve, at_p: Points, at_q: Points) -> tuple[list[FloatArray], list[FloatArray]]:
    """Ends of the two tails, and bounds of the ratio there: with Laplace noise they are exponentials, without next to
    nothing.
    """
    ends = [np.array([[-np.inf], at_p.y[:1]]), np.array([at_p.y[-1:], [np.inf]])]
    bounds = []
    for k in (0, -1):
        ratio = at_p.log_f[k] - at_q.log_f[k]
        error = at_p.error[k] + at_q.error[k] + TAIL_ERROR if p.scale else np.inf
        bounds.append(np.array([[ratio - error], [ratio + error]]))
    return ends, bounds


def _split(cells: Cells, low: FloatArray, high: FloatArray, normaliser: float) -> NDArray[np.bool_]:
    """Which cells are to be halved: those of some mass, where the ratio is not known to a part of its spread."""
    width, ratio = cells.width / normaliser, 0.5 * (low + high)
    spreads, masses = [], []
    for left, right in ((cells.p_left, cells.p_right), (cells.q_left, cells.q_right)):
        mass = width * np.exp(np.maximum(left.log_f, right.log_f))
        shares = mass / max(float(mass.sum()), 1e-300)
        with np.errstate(invalid="ignore"):
            middle = np.nan_to_num(ratio, posinf=0.0, neginf=0.0)
        spreads.append(math.sqrt(max(float(shares @ (middle - shares @ middle) ** 2), 0.0)))
        masses.append(mass)
    return ((high - low) * _STEPS > min(spreads)) & (np.maximum(masses[0], masses[1]) > _LEAST_MASS)


def _one(masses: FloatArray, low: FloatArray, high: FloatArray) -> RatioCells:
    known = np.isfinite(low) & np.isfinite(high)
    beyond = float(masses[0, 1, ~known].sum()) * (1 + UNIT_ROUNDOFF * low.size)
    return RatioCells(
        mass=masses[0, 1, known],
        mass_low=masses[0, 0, known],
        other=masses[1, 0, known],
        other_high=masses[1, 1, known],
        low=low[known],
        high=high[known],
        beyond=beyond,
    )


def _mass(curve: Curve, a: FloatArray, b: FloatArray) -> FloatArray:
    """Lower and upper bounds of the probabilities of intervals, shape (2, intervals)."""
    mass, error = curve.mass(a, b), curve.mass_errors(a, b)
    found: FloatArray = np.stack([np.maximum(mass - error, 0.0), np.maximum(mass, 0.0) + error])
    return found
