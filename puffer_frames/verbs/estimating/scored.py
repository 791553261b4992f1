r"""Intervals of a ratio that hold among the answers that are given: Fieller's, given that the denominator is large.

An estimate :math:`\hat\beta = A / B` of sums A and B is refused where B is within `CLEAR` standard errors of 0. For a
coefficient b the score :math:`T = A - bB` has the mean 0, and a variance V(b) that is a quadratic. So
:math:`\tau = T / \sqrt{V}` is standard normal, however much noise there is ([F54]). Given that there is an answer it is
not. With :math:`x = B / \sigma_B` and the correlation r of both, :math:`U = x - r \tau` is independent of tau, and all
that B tells of its own mean. Given U and an answer, tau is standard normal where :math:`U + r \tau` is above `CLEAR`,
and has no other values (as in [LSST16]). The interval is of all b for which tau is in the likeliest 95 % of that law.

No rule whose intervals always have two ends holds for every mean of B ([GH87]). So b is left out where U is so small
that fewer than one release in a hundred would have an answer; then every interval has ends.

References
----------
[F54] E. C. Fieller, Some problems in interval estimation, JRSS B 16 (1954).
[GH87] L. J. Gleser, J. T. Hwang, The nonexistence of 100(1 - alpha)% confidence sets of finite expected diameter in
errors-in-variables and related models, Annals of Statistics 15 (1987).
[LSST16] J. D. Lee, D. L. Sun, Y. Sun, J. E. Taylor, Exact post-selection inference, Annals of Statistics 44 (2016).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from puffer_frames.priors.prior import FloatArray

BoolArray: TypeAlias = NDArray[np.bool_]

CLEAR = 3.0
"""The spread behind the noise must be so many standard errors from 0, in every direction."""
_RARE = float(ndtri(0.01))
"""With a spread so many standard errors above the cut one release in a hundred has an answer."""
_ANGLES = 500
_HALVINGS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    r"""How exact an estimate :math:`\hat\beta = A / B` is.

    The score of the coefficient t above it, :math:`A - (\hat\beta + t) B`, has the variance
    :math:`B^2 (q_0 + q_1 t + q_2 t^2)`.
    """

    constant: float
    linear: float
    square: float
    cut: float = CLEAR
    """There is an answer where B is more than so many standard errors from 0."""

    def interval(self, level: float, /) -> tuple[float, float]:
        """How far below and above the estimate its interval ends."""
        if self.square <= 0 or self.constant <= 0:  # without error of B, or of anything
            reach = -float(ndtri((1 - level) / 2)) * math.sqrt(max(self.constant, 0.0))
            return -reach, reach
        angles = np.linspace(0, math.pi / 2, _ANGLES + 2)[:-1]
        moves = math.sqrt(self.constant / self.square) * np.tan(angles)
        return self._end(-moves, level), self._end(moves, level)

    def _end(self, moves: FloatArray, level: float) -> float:
        """The last one in the interval; the first one is 0, and the last is not in it."""
        held = int(np.flatnonzero(self._hold(moves, level))[-1])
        inside, outside = moves[held : held + 2].tolist()
        for _ in range(_HALVINGS):
            middle = 0.5 * (inside + outside)
            if self._hold(np.array([middle]), level)[0]:
                inside = middle
            else:
                outside = middle
        return float(outside)

    def _hold(self, moves: FloatArray, level: float) -> BoolArray:
        """Whether coefficients that are so far above the estimate are in the interval."""
        variances = self.constant + moves * (self.linear + moves * self.square)
        deviations = np.sqrt(np.maximum(variances, np.finfo(float).tiny))
        tau = -moves / deviations
        r = -(self.linear + 2 * self.square * moves) / (2 * deviations * math.sqrt(self.square))
        tau, r = np.where(r < 0, -tau, tau), np.abs(r).clip(1e-12, 1.0)
        told = 1 / math.sqrt(self.square) - r * tau
        begin = (self.cut - told) / r
        share = ndtr(-begin)
        # the likeliest part is even about 0, unless it starts where the law does
        even = -ndtri((1 - level * share) / 2)
        upper = -ndtri((1 - level) * share)
        within = np.where(even <= -begin, np.abs(tau) <= even, tau <= upper)
        found: BoolArray = (within & (told >= self.cut + _RARE) & (variances > 0)) | (moves == 0)
        return found
