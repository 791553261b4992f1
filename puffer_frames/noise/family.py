"""A family of noises: what the argument `noise` names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from puffer_frames.errors import ArgumentError
from puffer_frames.noise import gaussian, stable
from puffer_frames.noise.adding import Sampler
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.priors import FloatArray
from puffer_frames.rounding import divide_up, up


class Noise(Protocol):
    """A symmetric law with a scale, added to every value."""

    @property
    def scale(self) -> float:
        """In units of the column."""

    @property
    def expected_absolute_error(self) -> float:
        """E|N|, in units of the column."""

    def log_density(self, z: FloatArray, /) -> FloatArray:
        """Log of the density at distances z."""

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density."""

    def survival(self, z: FloatArray, /) -> FloatArray:
        """P(N > z)."""

    def cdf(self, z: FloatArray, /) -> FloatArray:
        """P(N <= z)."""

    def quantile(self, probability: float, /) -> float:
        """The z with P(N <= z) = probability."""

    def sampler(self) -> Sampler:
        """The noise on its grid, prepared for sampling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The noises of one kind, of every scale."""

    name: str
    """The argument `noise`."""
    title: str
    """Its name in a sentence."""
    symbol: str
    """The usual letter of its scale, and what the scale is."""
    alpha: float | None = None
    """Exponent of stability, of stable noise."""
    on_grid: str
    """How near the noise of a release is to the ideal law, in words."""
    rounding: tuple[float, float]
    """What rounding the values to the grid costs: subtracted from epsilon, and a fraction of delta."""

    def at(self, scale: float, /) -> Noise:
        """The noise of a scale."""
        if self.alpha is not None:
            return Stable(scale=scale, alpha=self.alpha)
        return Laplace(scale=scale) if self.name == "laplace" else Gaussian(scale=scale)

    def unit(self, *, epsilon: float, delta: float) -> float:
        """Smallest scale that is (epsilon, delta)-private for a shift of 1, rounded up."""
        if self.alpha is not None:
            return stable.unit_scale(epsilon=epsilon, alpha=self.alpha)
        return divide_up(1.0, epsilon) if self.name == "laplace" else gaussian.unit_scale(epsilon=epsilon, delta=delta)

    def for_distance(self, distance: float, /, *, epsilon: float, delta: float) -> float:
        """Smallest scale that is private for values this far apart before they are put on the grid, rounded up."""
        epsilon, delta = self.request(epsilon=epsilon, delta=delta)
        return up(Fraction(distance) * Fraction(self.unit(epsilon=epsilon, delta=delta)))

    def request(self, *, epsilon: float, delta: float) -> tuple[float, float]:
        """The epsilon and delta that unrounded values must meet so that those on the grid meet the ones asked for."""
        lost, share = self.rounding
        return math.nextafter(epsilon - lost, 0.0), delta * (1.0 - share)

    def cost_of_shift(self, shift: float, /) -> tuple[float, float]:
        """Epsilon and delta that hide a shift of this many scales, rounded up."""
        if self.alpha is not None:
            return shift * stable_shape(self.alpha).steepest * _ROUND_UP, 0.0
        if self.name == "laplace":
            return shift * _ROUND_UP, 0.0
        return shift * (_FAR + 0.5 * shift) * _ROUND_UP, _BEYOND_FAR

    def check(self, *, epsilon: float, delta: float) -> None:
        """Raise ArgumentError for an epsilon or delta that this noise cannot have."""
        if self.name == "gaussian" and delta == 0:
            raise ArgumentError(
                "delta",
                rule="greater than 0 with Gaussian noise",
                got="0",
                hint="The log-ratio of Gaussians of different means or variances has no bound, at any scale: say "
                'delta=1e-6, or take noise="laplace" for pure privacy.',
            )
        if self.name == "gaussian" and (delta < _LEAST_DELTA or epsilon > _LARGEST_EPSILON):
            raise ArgumentError(
                "epsilon and delta",
                rule=f"at most {_LARGEST_EPSILON:g} and at least {_LEAST_DELTA:g} with Gaussian noise",
                got=f"{epsilon:g} and {delta:g}",
                hint="Values from 0.1 to 2, and a delta of 1e-6 or 1e-9, are usual.",
            )
        if self.name == "stable" and delta:
            raise ArgumentError(
                "delta",
                rule="0 with stable noise",
                got=f"{delta:g}",
                hint="Leave it out: stable noise is calibrated to pure privacy, which is more.",
            )
        if epsilon <= 2 * self.rounding[0]:
            raise ArgumentError(
                "epsilon",
                rule=f"greater than {2 * self.rounding[0]:g}, for a grid of floats",
                got=f"{epsilon:g}",
                hint="Values from 0.1 to 2 are usual.",
            )


_ROUND_UP = 1 + 2.0**-50
_FAR, _BEYOND_FAR = 38.0, 1e-300
"""The log-ratio of Gaussians a shift s apart exceeds s (x + s/2) with probability Phi(-x), and Phi(-38) < 1e-300."""
_LEAST_DELTA = 1e-290
_LARGEST_EPSILON = 700.0
_GRID = "the noise has AES-256 in counter mode for its random bits and lies on a grid, a power of two of at most"

LAPLACE = Family(
    name="laplace",
    title="Laplace",
    symbol="scale b",
    on_grid=f"{_GRID} 2^-40 of the scale; its law is that of Laplace noise rounded to it, up to a total variation of "
    "2^-50 per value, and the rounding of the values to the grid is paid for",
    rounding=(2.0**-40, 2.0**-40),
)
"""Rounding moves a value by g/2 <= 2^-41 b: e^(-r/b) f^ <= f <= e^(r/b) f^ with r = g/2 (theory section 13)."""

GAUSSIAN = Family(
    name="gaussian",
    title="Gaussian",
    symbol="scale (standard deviation) theta",
    on_grid=f"{_GRID} 2^-40 of the scale; its law is that of Gaussian noise rounded to it, up to a total variation of "
    "2^-48 per value, and the rounding of the values to the grid is paid for",
    rounding=(2.0**-34, 2.0**-33),
)
"""A shift of g/2 <= 2^-41 theta is (2^-35, d)-private with d < Phi(-63) < 1e-860. Twice: epsilon + 2^-34 and
e^(2^-35) delta + d (1 + e^(epsilon + 2^-35)), so delta (1 - 2^-33) suffices for delta >= 1e-290, epsilon <= 700."""


def stable_family(alpha: float, /) -> Family:
    """Symmetric stable noises of one exponent.

    Rounding moves a value by g/2 <= 2^-31 gamma: the log-density changes by at most the steepest slope times that.
    """
    return Family(
        name="stable",
        title=f"{alpha:g}-stable",
        symbol="scale gamma",
        alpha=alpha,
        on_grid=f"{_GRID} 2^-30 of the scale; it is a transformation in 64-bit floats, whose distance to the ideal law "
        "is not proved; the rounding of the values to the grid is paid for",
        rounding=(2.0**-stable.RESOLUTION * stable_shape(alpha).steepest, 0.0),
    )


def noise_family(noise: str, /, *, alpha: float | None = None) -> Family:
    """The family that `noise` and `alpha` name.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For another name, and for an alpha that is missing, out of range or not for this noise.
    """
    if isinstance(noise, str) and noise == "stable":
        return stable_family(stable.check_alpha(alpha))
    known = {"laplace": LAPLACE, "gaussian": GAUSSIAN}
    if not isinstance(noise, str) or noise not in known:
        raise ArgumentError(
            "noise", rule='"laplace", "gaussian" or "stable"', got=repr(noise), hint='Leave it out for "laplace".'
        )
    if alpha is not None:
        raise ArgumentError(
            "alpha", rule='given with noise="stable" only', got=f"noise={noise!r}", hint="Leave it out."
        )
    return known[noise]
