"""What every noise family offers: its law, its calibration to a shift, and its sampler."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.adding import Sampler
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import upper_text
from puffer_frames.numbers.rounding import up
from puffer_frames.priors.prior import FloatArray

ROUND_UP = 1 + 2.0**-50
"""Makes the product of two floats at least the exact one."""
ON_GRID = (
    "How the noise is drawn: its random bits come from AES-256 in counter mode, a standard cipher. Values and noise "
    "are rounded to a grid, and epsilon covers what this costs; its step is a power of two of at most"
)


class NoiseFamily(ABC):
    """A symmetric, unimodal law with a scale, added to every value; with a scale of 1 it stands for its family.

    A family is a frozen dataclass with the field `scale: float = 1.0` (docs/extend.md shows one).
    """

    __slots__ = ()

    name: ClassVar[str]
    """The word of the argument `noise`."""
    symbol: ClassVar[str]
    """The usual letter of its scale, and what the scale is."""
    on_grid: ClassVar[str]
    """How near the noise of a release is to the ideal law, in words."""
    needs_delta: ClassVar[bool] = False
    """Whether its log-ratios have no bound, so that it hides nothing without a delta."""
    takes_delta: ClassVar[bool] = True
    """Whether it can be calibrated to a delta."""
    coupled_only: ClassVar[bool] = True
    """Whether a guarantee rests on atoms or a coupling within a distance, not on mixtures of Gaussians."""

    @property
    def unproved_counts(self) -> bool:
        """Whether `hide_counts` rests on something that is not proved."""
        return False

    @property
    @abstractmethod
    def scale(self) -> float:
        """In units of the column."""

    @property
    @abstractmethod
    def title(self) -> str:
        """Its name in a sentence."""

    @property
    @abstractmethod
    def rounding(self) -> tuple[float, float]:
        """What rounding the values to the grid costs: subtracted from epsilon, and a fraction of delta."""

    # The law

    @property
    @abstractmethod
    def expected_absolute_error(self) -> float:
        """E|N|, in units of the column."""

    @property
    def variance(self) -> float:
        """In squared units of the column; infinite for heavy tails, and for a family without a characteristic function
        (`last_frequency`).
        """
        return math.inf

    @property
    def fourth_moment(self) -> float:
        """E N^4, in units of the column to the fourth power; infinite for heavy tails."""
        return math.inf

    @abstractmethod
    def log_density(self, z: FloatArray, /) -> FloatArray:
        """Log of the density at distances z."""

    @abstractmethod
    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density."""

    @abstractmethod
    def survival(self, z: FloatArray, /) -> FloatArray:
        """P(N > z)."""

    def cdf(self, z: FloatArray, /) -> FloatArray:
        """P(N <= z)."""
        return self.survival(-np.asarray(z, dtype=float))

    @abstractmethod
    def quantile(self, probability: float, /) -> float:
        """The z with P(N <= z) = probability."""

    @abstractmethod
    def sampler(self) -> Sampler:
        """The noise on its grid, prepared for sampling."""

    # Its calibration

    @abstractmethod
    def unit(self, target: Target, /) -> float:
        """Smallest scale that hides a shift of 1, rounded up."""

    @abstractmethod
    def cost_of_shift(self, shift: float, /) -> tuple[float, float]:
        """Epsilon and delta that hide a shift of this many scales, rounded up."""

    def cost_of_shift_at(self, shift: float, /, *, delta: float) -> tuple[float, float]:  # noqa: ARG002 - for others
        """The same with about this delta, where another one costs less epsilon."""
        return self.cost_of_shift(shift)

    def cost_of_blur(self, spread: float, most: float, /) -> tuple[float, float] | None:  # noqa: ARG002 - for others
        r"""Epsilon and delta that hide a random move of the value, in scales; None where no bound is known.

        The move is a sum of independent ones, each with mean 0 whatever the value: `most` is the sum of their ranges
        :math:`h_i`, `spread` the root of :math:`\sum_i h_i^2/4`.
        """
        return None

    def shift_loss(self, shift: float, /) -> float:
        """Upper bound of the pure loss of a shift of this many scales."""
        epsilon, delta = self.cost_of_shift(shift)
        return math.inf if delta else epsilon

    def at(self, scale: float, /) -> Self:
        """The noise of the family with this scale."""
        return replace(self, scale=scale)  # type: ignore[type-var]

    def hide(self, distance: float, target: Target, /) -> float:
        """Smallest scale that is private for values this far apart, rounded up."""
        return up(Fraction(distance) * Fraction(self.unit(target)))

    def hide_counts(self, change: float, target: Target, /, *, bins: int) -> float:
        """A scale that hides so many rows that go from one count to another among so many, rounded up.

        Each count is hidden with a share of the target.
        """
        return self.hide(change, target.share(bins))

    def unrounded(self, target: Target, /, *, values: int = 1) -> Target:
        """What so many unrounded values must meet so that those on the grid meet the target."""
        lost, share = self.rounding
        return Target(
            epsilon=math.nextafter(target.epsilon - values * lost, 0.0), delta=target.delta * (1.0 - share) ** values
        )

    def hide_on_grid(self, distance: float, target: Target, /) -> float:
        """Smallest scale that is private for values this far apart before they are put on the grid, rounded up."""
        return up(Fraction(distance) * Fraction(self.unit(self.unrounded(target))))

    def check(self, target: Target, /) -> None:
        """Raise ArgumentError for what this noise cannot meet."""
        if self.needs_delta and target.delta == 0:
            raise ArgumentError(
                "delta",
                rule=f"greater than 0 with {self.title} noise",
                got="0",
                hint="The log-ratio of Gaussians of different means or variances has no bound, at any scale: say "
                "delta=1e-6, or take Laplace noise for pure privacy.",
            )
        if not self.takes_delta and target.delta:
            raise ArgumentError(
                "delta",
                rule=f"0 with {self.name} noise",
                got=f"{target.delta:g}",
                hint=f"Leave it out: {self.name} noise is calibrated to pure privacy, which is more.",
            )
        if target.epsilon <= 2 * self.rounding[0]:
            raise ArgumentError(
                "epsilon",
                rule=f"greater than {upper_text(2 * self.rounding[0])}, for a grid of floats",
                got=f"{target.epsilon:g}",
                hint="Values from 0.1 to 2 are usual.",
            )

    # What its characteristic function tells of released values; for families of finite variance

    def inverse_characteristic(self, t: FloatArray, /) -> FloatArray:
        """1 / E exp(itN) for a scale of 1."""
        raise NotImplementedError

    def last_frequency(self, floor: float, /) -> float:
        """The t where E exp(itN) of a scale of 1 falls to the floor."""
        raise NotImplementedError
