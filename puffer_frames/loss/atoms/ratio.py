"""The law of the privacy loss of two discrete priors under Laplace noise, in cells."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.loss.atoms.recursion import AtomDensities
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_STEPS = 96.0
"""Cells are cut until the ratio changes by at most this part of its standard deviation."""
_MOST_PIECES = 192
"""Of the interval between two atoms."""
_LEAST = -60.0
"""Log of a density so small that an interval with it is not cut."""


def ratio_cells(tables: AtomDensities, i: int, j: int, /) -> RatioCells:
    r"""The cells for the prior i against the prior j.

    At a distance s, in units of the scale, from the left one of two neighbouring atoms, which are g apart, 2b times a
    density is :math:`A e^{-s} + B e^{s - g}`. So the ratio of two densities is monotone between two atoms, and its
    bounds are its values at the ends. Beyond the outermost atoms it is constant.

    Notes
    -----
    **Rounding**: probabilities and bounds are moved to the private side by the errors of the tables. The logs of A and
    B have errors of u R (\|log\| + 10), and under the shares that both have in a density at a distance s the mean of
    \|log\| is at most \|log f\| + g + log 2.
    """
    pieces = _pieces(tables, i, j)
    gap = np.repeat(np.arange(tables.gaps.size), pieces)
    number = np.arange(gap.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    g, count = tables.gaps[gap], pieces[gap]
    starts, stops = g * (number / count), g * ((number + 1) / count)
    first, second = (_Side(tables, k, gap, starts, stops, g / count) for k in (i, j))
    at_start, at_end = first.start - second.start, first.end - second.end
    error = first.error + second.error + UNIT_ROUNDOFF * (np.abs(at_start) + np.abs(at_end))
    with np.errstate(invalid="ignore"):
        low, high = np.minimum(at_start, at_end) - error, np.maximum(at_start, at_end) + error
    ends = [_tail(tables, tables.log_b[:, 0], i, j), _tail(tables, tables.log_a[:, -1], i, j)]
    tails = np.array(ends).T
    masses = [np.append(side.mass, tails[k]) for k, side in enumerate((first, second))]
    errors = [np.append(side.relative, tails[2 + k]) for k, side in enumerate((first, second))]
    low, high = np.append(low, tails[4] - tails[5]), np.append(high, tails[4] + tails[5])
    known = np.isfinite(low) & np.isfinite(high)  # the rest is left to what lies beyond
    mass = masses[0] * (1 + errors[0])
    return RatioCells(
        mass=mass[known],
        mass_low=np.maximum(masses[0] * (1 - errors[0]), 0.0)[known],
        other=np.maximum(masses[1] * (1 - errors[1]), 0.0)[known],
        other_high=(masses[1] * (1 + errors[1]))[known],
        low=low[known],
        high=high[known],
        beyond=float(mass[~known].sum()) * (1 + UNIT_ROUNDOFF * mass.size),
    )


class _Side:
    """One of the two laws on pieces of intervals."""

    def __init__(
        self, tables: AtomDensities, k: int, gap: IndexArray, starts: FloatArray, ends: FloatArray, width: FloatArray
    ) -> None:
        a, b, g = tables.log_a[k][gap], tables.log_b[k][gap + 1], tables.gaps[gap]
        self.start, self.end = np.logaddexp(a - starts, b - (g - starts)), np.logaddexp(a - ends, b - (g - ends))
        """Log of 2b times the density at both ends."""
        farthest = np.maximum(np.abs(self.start), np.abs(self.end))
        self.error = UNIT_ROUNDOFF * (tables.roundoffs + 8) * (farthest + 2 * g + 12) + tables.weights_error
        self.relative = 2 * self.error + UNIT_ROUNDOFF * (64 + 8 * g)
        self.mass = -0.5 * np.expm1(-width) * (np.exp(a - starts) + np.exp(b - (g - ends)))
        """The probability: half the integral over s."""


def _tail(tables: AtomDensities, logs: FloatArray, i: int, j: int) -> list[float]:
    """Probabilities beyond an outermost atom and their relative errors, the log-ratio there and its error."""
    errors = [float(tables.error(logs[[k]])[0]) + 8 * UNIT_ROUNDOFF for k in (i, j)]
    masses = [0.5 * math.exp(logs[k]) for k in (i, j)]
    return [*masses, *(2 * error for error in errors), float(logs[i] - logs[j]), sum(errors)]


def _pieces(tables: AtomDensities, i: int, j: int) -> IndexArray:
    """Into how many pieces each interval is cut."""
    logs = tables.log_f[i]
    with np.errstate(invalid="ignore"):
        ratio = np.nan_to_num(logs - tables.log_f[j], posinf=0.0, neginf=0.0)
    mass = 0.5 * -np.expm1(-tables.gaps) * np.exp(np.maximum(logs[1:], logs[:-1]))
    weights = np.concatenate([[0.5 * math.exp(logs[0])], mass, [0.5 * math.exp(logs[-1])]])
    middles = np.concatenate([ratio[:1], 0.5 * (ratio[1:] + ratio[:-1]), ratio[-1:]])
    weights = weights / weights.sum()
    spread = math.sqrt(float(weights @ (middles - weights @ middles) ** 2))
    change = np.where(np.maximum(logs[1:], logs[:-1]) > _LEAST, np.abs(np.diff(ratio)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = np.nan_to_num(np.ceil(change * _STEPS / spread), posinf=_MOST_PIECES)
    found: IndexArray = np.clip(wanted, 1, _MOST_PIECES).astype(np.intp)
    return found
