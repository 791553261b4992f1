"""Discrete Laplace noise: integers with P(k) proportional to exp(-|k|/b)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from puffer_frames.noise.cells import Cells
from puffer_frames.noise.stream import Stream

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

    Examples
    --------
    >>> round(DiscreteLaplace(scale=2.0).expected_absolute_error, 6), DiscreteLaplace(scale=2.0).quantile(0.975)
    (1.919035, 6.0)
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
        beyond = math.log(tail * (1 + q)) / math.log(q)  # P(N > k) = q^(k + 1) / (1 + q)
        return math.copysign(math.ceil(beyond - 1), probability - 0.5)

    def draw(self, rows: Sequence[int], /, *, stream: Stream) -> list[int]:
        """The noise of rows, each a function of (key, column, row).

        Notes
        -----
        **Distance** to the law above: none but that of AES-256 to random bits; the scale is taken as the fraction that
        the float is. **Cost**: some dozens of microseconds a row.

        References
        ----------
        Canonne, Kamath, Steinke, *The discrete Gaussian for differential privacy*, NeurIPS 2020, Algorithm 2.
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
