"""Integral of [f_i - e^epsilon f_j]_+ for discrete priors under Laplace noise, in closed form."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from puffer_frames.loss.atoms.recursion import AtomDensities
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior

LARGEST_EPSILON = 500.0
"""Beyond it e^epsilon leaves the range of floats; the hockey stick at this epsilon is then an upper bound."""

_TINY = 1e-300
_LEAST_NORMAL = 2.0**-1022
_FINEST = 2.0**-1074


def positive_part(
    tables: AtomDensities, i: IndexArray, j: IndexArray, /, *, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    r"""Bounds of :math:`\int [f_i - e^\varepsilon f_j]_+ dy` for the ordered pairs (i[k], j[k]).

    Between the atoms k and k + 1, at a distance s b from the left one and with g their distance,
    :math:`2b (f_i - e^\varepsilon f_j) = D e^{-s} + E e^{s - g}` with :math:`D = A_i - e^\varepsilon A_j` at the
    left atom and :math:`E = B_i - e^\varepsilon B_j` at the right one. Its integral is (D + E)(1 - e^{-g}) where
    the sign does not change; where it changes from + to -, at :math:`e^{2s} = -D e^g / E`, the positive part has
    the integral D (1 - e^{-s})^2, and mirrored.

    - `i`, `j`: index arrays, shape (pairs,).
    Returns: lower, upper (arrays, shape (pairs,)).

    **Rounding**: the integral grows with D and with E, so that it is bounded by its values at the ends of their
    error intervals, however large e^epsilon is. An interval at both of whose ends the log-ratio is certainly at
    most epsilon contributes exactly 0 (the ratio is monotone between atoms).
    """
    level = min(epsilon, LARGEST_EPSILON)
    lower, upper = np.zeros(i.size), np.zeros(i.size)
    with np.errstate(invalid="ignore"):  # where neither has a density, the ratio is no number, and nothing is certain
        largest = np.array([(tables.log_f[a] - tables.log_f[b]).max() for a, b in zip(i, j, strict=True)])
        live = ~(largest <= level - 2 * float(tables.error(np.array(tables.farthest))))
        if live.any():
            lower[live], upper[live] = _live_part(tables, i[live], j[live], level)
    return (lower if level == epsilon else np.zeros_like(lower)), upper


def _live_part(tables: AtomDensities, i: IndexArray, j: IndexArray, level: float) -> tuple[FloatArray, FloatArray]:
    """`positive_part` for pairs whose log-ratio may exceed the level somewhere."""
    excess = tables.log_f[i] - tables.log_f[j]
    certain = excess + tables.error(tables.log_f[i]) + tables.error(tables.log_f[j]) <= level
    d, d_error = _difference(tables, tables.log_a, i, j, level)
    e, e_error = _difference(tables, tables.log_b, i, j, level)
    dead = certain[:, :-1] & certain[:, 1:]
    dead |= (d + d_error <= 0)[:, :-1] & (e + e_error <= 0)[:, 1:]
    alive = np.nonzero(~dead)
    gaps = tables.gaps[alive[1]]
    integrals, inside = [], np.zeros(dead.shape)
    for sign in (-1, 1):
        low_d, low_e = d + sign * d_error, e + sign * e_error
        inside[alive] = _between(low_d[:, :-1][alive], low_e[:, 1:][alive], gaps)
        total = inside.sum(axis=1)
        for tail, gone in ((low_e[:, 0], certain[:, 0]), (low_d[:, -1], certain[:, -1])):
            total += np.where(gone, 0.0, np.maximum(tail, 0.0))
        integrals.append(0.5 * total * (1 + sign * UNIT_ROUNDOFF * (tables.gaps.size.bit_length() + 40)))
    upper = np.minimum(integrals[1], 1.0)
    return np.clip(integrals[0], 0.0, upper), upper


def _between(left: FloatArray, right: FloatArray, g: FloatArray) -> FloatArray:
    """Integral over [0, g] of the positive part of left e^{-s} + right e^{s - g}."""
    decay = np.exp(-g)
    from_left, from_right = left + right * decay > 0, left * decay + right > 0
    found: FloatArray = np.where(from_left & from_right, (left + right) * -np.expm1(-g), 0.0)
    for own, other, positive in (
        (left, right, from_left & ~from_right),
        (right, left, from_right & ~from_left),
    ):
        crossed = np.flatnonzero(positive)
        found[crossed] = own[crossed] * _up_to_crossing(own[crossed], other[crossed], g[crossed])
    return found


def _up_to_crossing(positive: FloatArray, negative: FloatArray, g: FloatArray) -> FloatArray:
    """(1 - e^{-s})^2 with e^{2s} = -positive e^g / negative."""
    with np.errstate(divide="ignore"):
        s = np.clip(0.5 * (g + np.log(positive / np.abs(negative))), 0.0, g)
    return np.square(np.expm1(-s))


def raw_positive_part(
    p: FloatArray, q: FloatArray, /, *, epsilon: float, error: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Bounds of sum [p - e^epsilon q]_+ along the last axis: the hockey stick without noise.

    The weights are right up to a factor of e^error, and those below 2**-1022 within 2**-1074.
    """
    level = min(epsilon, LARGEST_EPSILON)
    scaled = math.exp(level) * q
    difference, slack = p - scaled, (4 * UNIT_ROUNDOFF + math.expm1(error)) * (p + scaled)
    subnormal = np.minimum(p, q) < _LEAST_NORMAL
    slack = np.where(subnormal & ((p > 0) | (q > 0)), slack + 2 * _FINEST * (1.0 + math.exp(level)), slack)
    alive = difference > -slack
    total = np.where(alive, np.maximum(difference, 0.0), 0.0).sum(axis=-1)
    rounding = np.where(alive, slack, 0.0).sum(axis=-1) + (p.shape[-1].bit_length() + 8) * UNIT_ROUNDOFF * total
    upper = np.minimum(total + rounding, 1.0)
    lower = np.clip(total - rounding, 0.0, upper)
    return (lower if level == epsilon else np.zeros_like(lower)), upper


def raw_of_integers(p: Prior, q: Prior, /, *, epsilon: float) -> float:
    """Sum of [p - e^epsilon q]_+, rounded up: what p has and q lacks is a fraction of the levels of p, rounded once."""
    shared = np.isin(p.means, q.means)
    levels, total = p.levels
    lonely = levels[~shared]
    alone = Fraction(int(lonely.sum() if total < 2**62 else sum(lonely.tolist())), int(total))
    mass = float(alone)
    mass = mass if Fraction(mass) >= alone else math.nextafter(mass, math.inf)
    other = q.weights[np.searchsorted(q.means, p.means[shared])]
    rest = float(raw_positive_part(p.weights[shared], other, epsilon=epsilon)[1]) if shared.any() else 0.0
    return min(1.0, math.nextafter(mass + rest, math.inf) if rest else mass)


def _difference(
    tables: AtomDensities, log_table: FloatArray, i: IndexArray, j: IndexArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """exp(table_i) - e^epsilon exp(table_j), and a bound of its error."""
    log_p, log_q = log_table[i], log_table[j]
    p, q = np.exp(log_p), np.exp(log_q + epsilon)  # a factor of its own would come too late where q underflows
    return p - q, _error(tables, log_p, p) + _error(tables, log_q, q) + _TINY


def _error(tables: AtomDensities, logarithm: FloatArray, value: FloatArray) -> FloatArray:
    """Bound of the error of exp(logarithm + level); the value is below `_TINY` where the logarithm is cut off."""
    logarithm = np.maximum(logarithm, -2.0 * LARGEST_EPSILON - 800.0)
    return (tables.error(logarithm) + UNIT_ROUNDOFF * (8.0 + 2.0 * LARGEST_EPSILON + np.abs(logarithm))) * value
