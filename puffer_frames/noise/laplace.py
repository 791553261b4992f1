"""Laplace noise: density exp(-|z|/b) / 2b."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from puffer_frames.noise.cells import Cells
from puffer_frames.noise.discrete_laplace import geometric_cells, rate_of
from puffer_frames.noise.family import ON_GRID, ROUND_UP, NoiseFamily
from puffer_frames.noise.grid import CELL_WIDTH, RESOLUTION, grid_of
from puffer_frames.numbers.rounding import divide_up
from puffer_frames.numbers.target import Target
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace(NoiseFamily):
    r"""Laplace noise of scale b: density :math:`e^{-|z|/b} / 2b`, standard deviation :math:`\sqrt2\, b`.

    Examples
    --------
    >>> Laplace(scale=2.0).expected_absolute_error, round(Laplace(scale=2.0).quantile(0.975), 6)
    (2.0, 5.991465)
    """

    name: ClassVar[str] = "laplace"
    coupled_only: ClassVar[bool] = False

    scale: float = 1.0
    """b, in units of the column; left out, the noise stands for its family."""

    @property
    def title(self) -> str:
        return "Laplace"

    @property
    def symbol(self) -> str:
        return "scale b"

    @property
    def on_grid(self) -> str:
        return (
            f"{ON_GRID} 2^-40 of the scale; its law is that of Laplace noise rounded to it, up to a total variation of "
            "2^-50 per value, and the rounding of the values to the grid is paid for"
        )

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
