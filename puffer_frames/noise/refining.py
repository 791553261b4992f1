"""Less noise on released values, drawn given the first noise, so that both releases tell no more than the second.

Let M and N be two-sided geometric noise on half-integers, P(N = ±(k + 1/2)) = (1 - p) p^k / 2, with q < p for M. Then N
is M + W in law, with W on the integers and independent of M (docs/theory.md, section 17). M given N = n > 0, with
m = n - 1/2 and r = q/p, is drawn from independent G and K, geometric with ratios r and p q:

- with probability (p - q) / ((1 - q)(1 + p)) it is -(K + 1/2);
- else it is G + 1/2 where G < m;
- else n + K with probability (1 - r) / (1 - p q), and n itself with the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np

from puffer_frames.noise.adding import CELL_WIDTH, half_integers
from puffer_frames.noise.cells import Cells
from puffer_frames.noise.family import ON_GRID
from puffer_frames.noise.laplace import DIGITS, geometric_cells, rate_of
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.priors.prior import FloatArray

MOST_TIMES = 2.0**10
"""The first scale is at most so many times the refined one: the grid stays that of the first."""
LEAST_STEP = 1 - 2.0**-7
"""A scale is at most so much of the one before."""
GRID_COST = 2.0**-40 * MOST_TIMES
"""What rounding a value to the grid of the first release costs at most, of epsilon, at the refined scale."""

Number = TypeVar("Number", Fraction, Decimal)


@dataclass(frozen=True, slots=True)
class Branches(Generic[Number]):
    """With which probability the refined noise is where; both do not depend on the first noise."""

    opposite: Number
    """On the other side of 0."""
    beyond: Number
    """Beyond the first noise or at it, by a geometric step; counts where G is at least m."""


def branches(p: Number, q: Number, /) -> Branches[Number]:
    """The probabilities for the ratios p of the first noise and q < p of the refined one, exact in fractions."""
    whole = (1 - q) * (1 + p)
    return Branches(opposite=(p - q) / whole, beyond=(1 - q / p) / whole)


def refined(
    noise: FloatArray, /, *, grid: float, old: float, new: float, key: ReleaseKey, name: str, column: str
) -> FloatArray:
    """Less noise, given the noise.

    - `noise` (array of float, shape (n,)): Half-integers in units of the grid, below 2**52: Laplace noise of scale
      `old` on the grid.
    - `grid`: Width of the grid, in units of the column, at most 2**-40 of `old`.
    - `old`, `new`: Scales; new is at most 127/128 of old, and the grid at most 2**-30 of it.
    - `key`, `name`, `column`: The draw is a function of these and of the noise.
    Returns: Laplace noise of scale `new` on the same grid. Both noises together are a randomised function of it.

    **Distance** of the draw to the law above in total variation: at most 2**-50 per value (two of `Cells`, and two
    bounds that are multiples of 2**-64). **Cost**: three to four times that of adding noise.
    """
    first, second = rate_of(grid, old), rate_of(grid, new)
    with localcontext(prec=DIGITS):
        found = branches((-first).exp(), (-second).exp())
        opposite, beyond = (int(share * (1 << 64)) for share in (found.opposite, found.opposite + found.beyond))
        rates = (second - first, second + first)
    streams = [key.stream(Purpose.REFINEMENT, f"{name} {part} {column}") for part in ("branch", "near", "far")]
    rows = range(noise.size)
    near, far = (
        np.abs(half_integers(_cells(rate, grid), rows, stream=stream)) - 0.5
        for rate, stream in zip(rates, streams[1:], strict=True)
    )
    words, size = streams[0].words(rows), np.abs(noise)
    stays = np.where(words < np.uint64(beyond), size + far, size)
    same_side = np.where(near < size - 0.5, near + 0.5, stays)
    found_size: FloatArray = np.where(words < np.uint64(opposite), -far - 0.5, same_side)
    return np.copysign(1.0, noise) * found_size


def _cells(rate: Decimal, grid: float) -> Cells:
    return geometric_cells(rate, grid=grid, bits=math.floor(-math.log2(rate)) - CELL_WIDTH)


def on_first_grid(refined: int, /) -> str:
    """How near the noise is to the ideal law after so many refinements, in words."""
    return (
        f"{ON_GRID} 2^-30 of the scale, that of the first release. But for this rounding the noise of a value, here "
        "and in the releases that this one refines, is exact Laplace noise, except with a probability of at most "
        f"{refined + 1} x 2^-50"
    )
