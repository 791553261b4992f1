"""Two-sided geometric noise on the half-integers, prepared for sampling."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

from puffer_frames.noise.cells import Cells

DIGITS = 60
_UNIT = 1 << 128
_TABLE_SPAN = 16
"""The table ends where the probability to go on is 2**-16."""


def rate_of(grid: float, scale: float, /) -> Decimal:
    """The ratio grid / scale, to 60 digits."""
    with localcontext(prec=DIGITS):
        return Decimal(Fraction(grid).numerator) / Decimal(Fraction(grid).denominator) / Decimal(scale)


def geometric_cells(rate: Decimal, /, *, grid: float, bits: int) -> Cells:
    r"""A sampler of :math:`P(N = \pm(k + \tfrac12)) = \tfrac12 (1 - q) q^k` with :math:`q = e^{-rate}`.

    Parameters
    ----------
    rate : Decimal
    grid : float
        Width of the grid, in units of the column.
    bits : int
        log2 of the points of a cell, which is 2**-7 to 2**-6 of 1 / rate.

    Notes
    -----
    **Distance** to this law in total variation: at most 2**-52 per value (`Cells`, with up to 1,420 cells).
    """
    points = 1 << bits
    with localcontext(prec=DIGITS):
        width = points * rate
        stays = int((-width).exp() * _UNIT)  # probability to go beyond a cell
        flat_share = int(points * (1 - (-rate).exp()) * (-(points - 1) * rate).exp() * _UNIT)
    flat, rest, left = [], [], _UNIT
    for _ in range(math.ceil(_TABLE_SPAN * math.log(2) / float(width))):
        beyond = left * stays // _UNIT
        flat.append(left * flat_share // _UNIT)
        rest.append(left - beyond - flat[-1])
        left = beyond
    return Cells.prepare(grid=grid, bits=bits, flat=flat, rest=rest, beyond=left, rate=float(rate))
