"""Laplace noise: density exp(-|z|/b) / 2b."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from puffer_frames.noise.cells import Cells
from puffer_frames.noise.grid import CELL_WIDTH, RESOLUTION, grid_of
from puffer_frames.priors import FloatArray

_DIGITS = 60
_UNIT = 1 << 128
_TABLE_SPAN = 16
"""The table ends where the probability to go on is 2**-16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    r"""Laplace noise of scale b: density :math:`e^{-|z|/b} / 2b`, standard deviation :math:`\sqrt2\, b`.

    Examples
    --------
    >>> Laplace(scale=2.0).expected_absolute_error, round(Laplace(scale=2.0).quantile(0.975), 6)
    (2.0, 5.991465)
    """

    scale: float
    """b, in units of the column."""

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = b, in units of the column."""
        return self.scale

    def log_density(self, z: FloatArray, /) -> FloatArray:
        """Log of the density at distances z."""
        log_density: FloatArray = -np.abs(z) / self.scale - math.log(2 * self.scale)
        return log_density

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density, -sign(z)/b."""
        score: FloatArray = -np.sign(z) / self.scale
        return score

    def survival(self, z: FloatArray, /) -> FloatArray:
        """P(N > z)."""
        tail = 0.5 * np.exp(-np.abs(z) / self.scale)
        return np.where(np.asarray(z) > 0, tail, 1.0 - tail)

    def cdf(self, z: FloatArray, /) -> FloatArray:
        """P(N <= z)."""
        return self.survival(-np.asarray(z))

    def quantile(self, probability: float, /) -> float:
        """The z with P(N <= z) = probability."""
        tail = min(probability, 1.0 - probability)
        return math.copysign(self.scale * math.log(2 * tail), probability - 0.5) if tail > 0 else math.nan

    def sampler(self, *, resolution: int = RESOLUTION) -> Cells:
        r"""Noise on the grid g = `grid_of(b)`, prepared for sampling.

        .. math:: P(N = \pm(k + \tfrac12) g) = \tfrac12 (1 - q) q^k, \quad q = e^{-g/b}

        which is Laplace noise rounded to the midpoints of the grid's cells.

        Notes
        -----
        **Distance** to this law in total variation: at most 2**-52 per value (`Cells`, with up to 1,420 cells).
        """
        bits, grid = resolution - CELL_WIDTH, grid_of(self.scale, resolution=resolution)
        points = 1 << bits
        with localcontext(prec=_DIGITS):
            ratio = Decimal(Fraction(grid).numerator) / Decimal(Fraction(grid).denominator) / Decimal(self.scale)
            width = points * ratio
            stays = int((-width).exp() * _UNIT)  # probability to go beyond a cell
            flat_share = int(points * (1 - (-ratio).exp()) * (-(points - 1) * ratio).exp() * _UNIT)
        flat, rest, left = [], [], _UNIT
        for _ in range(math.ceil(_TABLE_SPAN * math.log(2) / float(width))):
            beyond = left * stays // _UNIT
            flat.append(left * flat_share // _UNIT)
            rest.append(left - beyond - flat[-1])
            left = beyond
        return Cells.prepare(grid=grid, bits=bits, flat=flat, rest=rest, beyond=left, rate=float(ratio))
