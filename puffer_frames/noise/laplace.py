"""Laplace noise: density exp(-|z|/b) / 2b."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import ClassVar

import numpy as np

from puffer_frames.noise.adding import CELL_WIDTH, RESOLUTION, grid_of
from puffer_frames.noise.cells import Cells
from puffer_frames.noise.family import ON_GRID, ROUND_UP, NoiseFamily
from puffer_frames.noise.stream import Stream
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import as_decimal, divide_up
from puffer_frames.priors.prior import FloatArray

DIGITS = 60
_UNIT = 1 << 128
_TABLE_SPAN = 16
"""The table ends where the probability to go on is 2**-16."""


def rate_of(grid: float, scale: float, /) -> Decimal:
    """The ratio grid / scale, to 60 digits."""
    with localcontext(prec=DIGITS):
        return as_decimal(Fraction(grid)) / Decimal(scale)


def geometric_cells(rate: Decimal, /, *, grid: float, bits: int) -> Cells:
    r"""A sampler of :math:`P(N = \pm(k + \tfrac12)) = \tfrac12 (1 - q) q^k` with :math:`q = e^{-rate}`.

    - `grid`: Width of the grid, in units of the column.
    - `bits`: log2 of the points of a cell, which is 2**-7 to 2**-6 of 1 / rate.

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


_WORD_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    r"""Two-sided geometric noise of scale b: :math:`P(N = k) = \tanh(1/2b)\, e^{-|k|/b}` on the integers.

    At integers its density ratios are those of Laplace noise of the same scale, so that pure guarantees for
    integer-valued columns carry over as they are (docs/theory.md, section 13).
    """

    scale: float
    """b, in units of the values."""

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = 1 / sinh(1/b)."""
        return 1.0 / math.sinh(1.0 / self.scale) if self.scale > 1 / 700 else 0.0

    def quantile(self, probability: float, /) -> float:
        """Smallest integer k with P(N <= k) >= probability."""
        q = math.exp(-1.0 / self.scale)
        tail = min(probability, 1.0 - probability)
        if tail * (1 + q) >= q:  # P(N >= 1) = q / (1 + q)
            return 0.0
        beyond = -self.scale * math.log(tail * (1 + q))  # P(N > k) = q^(k + 1) / (1 + q); q may round to 1
        return math.copysign(math.ceil(beyond - 1), probability - 0.5)

    def draw(self, rows: Sequence[int], /, *, stream: Stream) -> list[int]:
        """The noise of rows, each a function of (key, column, row).

        **Distance** to the law above: none but that of AES-256 to random bits; the scale is taken as the fraction that
        the float is. **Cost**: some dozens of microseconds a row.
        See Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, NeurIPS 2020, Algorithm 2.
        """
        scale = Fraction(self.scale)
        return [_draw(_Bits(stream, row), scale.numerator, scale.denominator) for row in rows]


class _Bits:
    """The further words of one row, one after the other."""

    def __init__(self, stream: Stream, row: int) -> None:
        self._stream = stream
        self._row = np.array([row], dtype=np.int64)
        self._attempt = 0
        self._left: list[int] = []

    def below(self, n: int) -> int:
        """Uniform on 0, ..., n - 1, by rejection."""
        words = -(-max(1, (n - 1).bit_length()) // _WORD_BITS)
        spare = words * _WORD_BITS - max(1, (n - 1).bit_length())
        while True:
            number = 0
            for _ in range(words):
                number = number << _WORD_BITS | self._word()
            number >>= spare
            if number < n:
                return number

    def _word(self) -> int:
        if not self._left:
            self._left = [int(word) for word in self._stream.pairs(self._row, self._attempt)[0]]
            self._attempt += 1
        return self._left.pop()


def _draw(bits: _Bits, t: int, s: int) -> int:
    """Discrete Laplace of scale t/s."""
    while True:
        remainder = bits.below(t)
        if not _bernoulli_exp(bits, remainder, t):
            continue
        whole = 0
        while _bernoulli_exp(bits, 1, 1):
            whole += 1
        size = (remainder + t * whole) // s
        negative = bits.below(2)
        if size or not negative:
            return -size if negative else size


def _bernoulli_exp(bits: _Bits, numerator: int, denominator: int) -> bool:
    """True with probability exp(-numerator/denominator), which is from 0 to 1."""
    k = 1
    while bits.below(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(NoiseFamily):
    r"""Laplace noise of scale b: density :math:`e^{-|z|/b} / 2b`, standard deviation :math:`\sqrt2\, b`.

    Examples
    --------
    >>> Laplace(scale=2.0).expected_absolute_error, round(Laplace(scale=2.0).quantile(0.975), 6)
    (2.0, 5.991465)
    """

    name: ClassVar[str] = "laplace"
    symbol: ClassVar[str] = "scale b"
    on_grid: ClassVar[str] = (
        f"{ON_GRID} 2^-40 of the scale. But for this rounding the noise of a value is exact Laplace noise, except with "
        "a probability of at most 2^-50"
    )
    coupled_only: ClassVar[bool] = False

    scale: float = 1.0
    """b, in units of the column; left out, the noise stands for its family."""

    @property
    def title(self) -> str:
        return "Laplace"

    @property
    def rounding(self) -> tuple[float, float]:
        """Rounding moves a value by g/2 <= 2^-41 b: e^(-r/b) f^ <= f <= e^(r/b) f^ with r = g/2
        (docs/theory.md, section 13).
        """
        return 2.0**-40, 2.0**-40

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = b, in units of the column."""
        return self.scale

    @property
    def variance(self) -> float:
        """2 b^2."""
        return 2.0 * self.scale * self.scale

    @property
    def fourth_moment(self) -> float:
        """24 b^4."""
        return 24.0 * self.scale**4

    def log_density(self, z: FloatArray, /) -> FloatArray:
        return -np.abs(z) / self.scale - math.log(2 * self.scale)

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density, -sign(z)/b."""
        return -np.sign(z) / self.scale

    def survival(self, z: FloatArray, /) -> FloatArray:
        tail = 0.5 * np.exp(-np.abs(z) / self.scale)
        return np.where(np.asarray(z) > 0, tail, 1.0 - tail)

    def quantile(self, probability: float, /) -> float:
        tail = min(probability, 1.0 - probability)
        return math.copysign(self.scale * math.log(2 * tail), probability - 0.5) if tail > 0 else math.nan

    def unit(self, target: Target, /) -> float:
        """Smallest scale that hides a shift of 1, 1 / epsilon."""
        return divide_up(1.0, target.epsilon)

    def hide(self, distance: float, target: Target, /) -> float:
        """Distance / epsilon, rounded up."""
        return divide_up(distance, target.epsilon)

    def hide_counts(self, change: float, target: Target, /, *, bins: int) -> float:
        """The losses of the counts add up to that of the whole change, which is twice the number of rows."""
        return divide_up((2 if bins > 1 else 1) * change, target.epsilon)

    def cost_of_shift(self, shift: float, /) -> tuple[float, float]:
        """The log-ratio of a shift is at most the shift."""
        return shift * ROUND_UP, 0.0

    def cost_of_blur(self, spread: float, most: float, /) -> tuple[float, float]:  # noqa: ARG002 - of the range alone
        """At most E|Z| (Jensen) below, and half of the square of the spread above (Hoeffding)."""
        return max(spread, 0.5 * spread * spread) * ROUND_UP, 0.0

    def inverse_characteristic(self, t: FloatArray, /) -> FloatArray:
        """1 + t^2."""
        return 1 + t**2

    def last_frequency(self, floor: float, /) -> float:
        """The root of 1 / (1 + t^2) = floor."""
        return math.sqrt(1 / floor - 1)

    def sampler(self, *, resolution: int = RESOLUTION) -> Cells:
        r"""Noise on the grid g = `grid_of(b)`, prepared for sampling.

        .. math:: P(N = \pm(k + \tfrac12) g) = \tfrac12 (1 - q) q^k, \quad q = e^{-g/b}

        which is Laplace noise rounded to the midpoints of the grid's cells.

        Notes
        -----
        **Distance** to this law in total variation: at most 2**-52 per value (`Cells`, with up to 1,420 cells).
        """
        grid = grid_of(self.scale, resolution=resolution)
        return geometric_cells(rate_of(grid, self.scale), grid=grid, bits=resolution - CELL_WIDTH)
