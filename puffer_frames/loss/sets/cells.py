"""One cell between neighbouring positions: the supremum of f_max/f_min, and the integral of what exceeds a level."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.loss.sets.extremes import Extremes
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_LOG_2 = math.log(2.0)
_WIDEST = 1000.0
"""Beyond so many scales the exponentials of a cell leave the floats."""
_LARGEST = 500.0
"""No logarithm is moved by a larger epsilon."""
_NEAR = 1e-9
"""A maximum so near the end of a cell, relative to its width, counts as inside for the upper bound only."""


def largest_inside(e: Extremes, i: IndexArray, j: IndexArray, cells: IndexArray, /) -> tuple[FloatArray, FloatArray]:
    r"""Bounds of the supremum of log f_max,i/f_min,j in each cell, its ends included; shape (pairs, cells).

    With z the exponential of the place, measured from the middle of the cell, the ratio is
    :math:`(B z^2 + A z + C)/(D z^2 + E)`. Its only stationary point is a maximum, of the value

    .. math:: \lambda = \frac{BE + CD + \sqrt{(BE - CD)^2 + A^2 D E}}{2 D E},

    which grows with A, B and C and falls with D and E: the relative errors of these are its own.
    """
    a, b, c, slack = (table[i, cells] for table in (e.log_a, e.log_b, e.log_c, e.slack_a))
    d, f, gaps = e.log_d[j, cells], e.log_e[j, cells], e.gaps[cells]
    most = np.logaddexp(a, np.logaddexp(c, b - gaps)), np.logaddexp(a, np.logaddexp(c - gaps, b))
    least = np.logaddexp(f, d - gaps), np.logaddexp(f - gaps, d)
    ends = np.maximum(most[0] - least[0], most[1] - least[1])
    error = e.error(np.abs(most[0]) + np.abs(most[1]) + gaps) + e.error(np.abs(least[0]) + np.abs(least[1]) + gaps)
    with np.errstate(invalid="ignore", divide="ignore"):  # empty parts: then there is no maximum inside
        be, cd = b + f, c + d
        difference = np.maximum(be, cd) + np.log(-np.expm1(-np.abs(be - cd)))
        difference = np.where(np.isnan(difference), -np.inf, difference)
        root = 0.5 * np.logaddexp(2 * difference, 2 * a + d + f + gaps)
        place = np.logaddexp(difference, root) - 0.5 * gaps
        beside = np.abs(np.where(be >= cd, place - a - d, a + f - place)) - 0.5 * gaps
        peak = np.logaddexp(np.logaddexp(be, cd), root) - _LOG_2 - d - f
    known = np.isfinite(peak)
    inside, outside = known & (beside < -_NEAR * gaps), ~known | ~(beside <= _NEAR * gaps)
    size = sum(np.where(np.isfinite(part), np.abs(part), 0.0) for part in (a, b, c, d, f)) + gaps
    error = error + np.where(outside, 0.0, 16 * UNIT_ROUNDOFF * (size + 4.0))
    upper = np.where(outside, ends, np.maximum(ends, peak)) + error
    lower = np.where(inside, np.maximum(ends, peak), ends) - error - slack
    return lower, upper


def positive_integral(e: Extremes, i: IndexArray, j: IndexArray, /, *, epsilon: float) -> FloatArray:
    r"""Upper bound of the integral of :math:`[f_{\max, i} - e^\varepsilon f_{\min, j}]_+`, shape (pairs,).

    It grows with A, B and C and falls with D and E, which are taken at the ends of their errors.
    """
    i, j = i[:, 0], j[:, 0]
    a = _above(e, e.log_a[i])
    b = _above(e, e.log_b[i]) - _below(e, e.log_d[j] + epsilon)
    c = _above(e, e.log_c[i]) - _below(e, e.log_e[j] + epsilon)
    inside = _between(a, b, c, e.gaps)
    most, least = e.largest(), e.smallest()
    left = _above(e, most[0][i, 0]) - _below(e, least[0][j, 0] + epsilon)
    right = _above(e, most[1][i, -1]) - _below(e, least[1][j, -1] + epsilon)
    total = inside.sum(axis=1) + np.maximum(left, 0.0) + np.maximum(right, 0.0)
    bound: FloatArray = np.minimum(0.5 * total * (1 + UNIT_ROUNDOFF * (e.gaps.size + 40.0)), 1.0)
    return bound


def _above(e: Extremes, logarithm: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(logarithm), e.error(logarithm), 0.0)
    grown: FloatArray = np.exp(logarithm + error) * (1 + 8 * UNIT_ROUNDOFF)
    return grown


def _below(e: Extremes, logarithm: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(logarithm), e.error(np.abs(logarithm) + 2 * _LARGEST), 0.0)
    shrunk: FloatArray = np.exp(logarithm - error) * (1 - 8 * UNIT_ROUNDOFF)
    return shrunk


def _between(a: FloatArray, b: FloatArray, c: FloatArray, g: FloatArray) -> FloatArray:
    """Upper bound of the integral over [0, g] of the positive part of a + b e^{s - g} + c e^{-s}, with a >= 0."""
    narrow = np.minimum(g, _WIDEST)
    q = np.exp(-0.5 * narrow)
    p, r = b * q, c * q
    square = a * a - 4 * p * r
    root = np.sqrt(np.maximum(square, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        start = np.where(r < 0, np.log(-2 * r) - np.log(a + root), -np.inf) + 0.5 * narrow
        end = np.where(p < 0, np.log(a + root) - np.log(-2 * p), np.inf) + 0.5 * narrow
    start, end = np.clip(start, 0.0, narrow), np.clip(end, 0.0, narrow)
    empty = ((square < 0) & (p < 0) & (r < 0)) | ~(end > start)  # positive everywhere where neither is negative
    length = end - start
    parts = a * length, -b * np.exp(end - narrow) * np.expm1(-length), -c * np.exp(-start) * np.expm1(-length)
    found = np.maximum(sum(parts), 0.0) + 64 * UNIT_ROUNDOFF * sum(np.abs(part) for part in parts)
    integral = np.where(empty, 0.0, found)
    crude = a * g + np.maximum(b, 0.0) + np.maximum(c, 0.0)
    bound: FloatArray = np.where(g > _WIDEST, crude, integral)
    return bound
