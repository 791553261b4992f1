"""Gaussian noise: density exp(-z^2 / 2 theta^2) / (theta sqrt(2 pi))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.adding import CELL_WIDTH, RESOLUTION, grid_of
from puffer_frames.noise.cells import Cells
from puffer_frames.noise.family import ON_GRID, ROUND_UP, NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, root_from_below, up
from puffer_frames.priors.prior import FloatArray

_END = 9.25
"""The last cell begins here; what lies beyond has probability 2**-64."""
_NODES = 8
_ROUND_UP = 1.0 + 1e-11
_FAR, _BEYOND_FAR = 38.0, 1e-300
"""The log-ratio of Gaussians a shift s apart exceeds s (x + s/2) with probability Phi(-x), and Phi(-38) < 1e-300."""
_LEAST_DELTA = 1e-290
_LARGEST_EPSILON = 700.0
_SMALLEST_SHIFT, _TINIEST = 1e-150, 1e-300
"""What smaller shifts and hockey sticks are rounded up to."""
_INVISIBLE = -40.0
"""Beyond this many standard deviations a Gaussian tail is below the smallest float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian(NoiseFamily):
    r"""Gaussian noise of scale (standard deviation) theta.

    Examples
    --------
    >>> round(Gaussian(scale=1.0).expected_absolute_error, 6), round(Gaussian(scale=2.0).quantile(0.975), 6)
    (0.797885, 3.919928)
    """

    name: ClassVar[str] = "gaussian"
    symbol: ClassVar[str] = "standard deviation theta"
    on_grid: ClassVar[str] = (
        f"{ON_GRID} 2^-40 of the scale. But for this rounding the noise of a value is exact Gaussian noise, except "
        "with a probability of at most 2^-48"
    )
    needs_delta: ClassVar[bool] = True
    coupled_only: ClassVar[bool] = False

    scale: float = 1.0
    """theta, in units of the column; left out, the noise stands for its family."""

    @property
    def title(self) -> str:
        return "Gaussian"

    @property
    def rounding(self) -> tuple[float, float]:
        """A shift of g/2 <= 2^-41 theta is (2^-35, d)-private with d < Phi(-63) < 1e-860. Twice: epsilon + 2^-34 and
        e^(2^-35) delta + d (1 + e^(epsilon + 2^-35)), so delta (1 - 2^-33) suffices for delta >= 1e-290,
        epsilon <= 700.
        """
        return 2.0**-34, 2.0**-33

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = theta sqrt(2 / pi), in units of the column."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> float:
        """theta^2."""
        return self.scale * self.scale

    @property
    def fourth_moment(self) -> float:
        """3 theta^4."""
        return 3.0 * self.scale**4

    def log_density(self, z: FloatArray, /) -> FloatArray:
        return -0.5 * (z / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density, -z / theta^2."""
        return -z / self.scale / self.scale

    def survival(self, z: FloatArray, /) -> FloatArray:
        return ndtr(-np.asarray(z) / self.scale)

    def quantile(self, probability: float, /) -> float:
        return self.scale * float(ndtri(probability))

    def unit(self, target: Target, /) -> float:
        return unit_scale(epsilon=target.epsilon, delta=target.delta)

    def hide_counts(self, change: float, target: Target, /, *, bins: int) -> float:
        """The counts move in Euclidean distance by sqrt(2) times the number of rows."""
        reach = math.sqrt(2) * (1 + 2**-50) if bins > 1 else 1.0
        return up(Fraction(reach) * Fraction(change) * Fraction(self.unit(target)))

    def cost_of_shift(self, shift: float, /) -> tuple[float, float]:
        return shift * (_FAR + 0.5 * shift) * ROUND_UP, _BEYOND_FAR

    def cost_of_shift_at(self, shift: float, /, *, delta: float) -> tuple[float, float]:
        """Noise beyond t scales has the probability delta; the log-ratio up to there is at most s (t + s/2)."""
        if not _BEYOND_FAR < delta < 0.5:
            return self.cost_of_shift(shift)
        return shift * (-float(ndtri(delta)) + 0.5 * shift) * _ROUND_UP, delta * _ROUND_UP**4

    def cost_of_blur(self, spread: float, most: float, /) -> tuple[float, float]:
        """Half of the square of t spreads (Hoeffding) wherever the noise and the move are within t = 38 and `most`."""
        farthest = (_FAR + most) * spread
        return 0.5 * farthest * farthest * _ROUND_UP, _BEYOND_FAR

    def check(self, target: Target, /) -> None:
        NoiseFamily.check(self, target)
        if target.delta < _LEAST_DELTA or target.epsilon > _LARGEST_EPSILON:
            raise ArgumentError(
                "epsilon and delta",
                rule=f"at most {_LARGEST_EPSILON:g} and at least {_LEAST_DELTA:g} with Gaussian noise",
                got=f"{target.epsilon:g} and {target.delta:g}",
                hint="Values from 0.1 to 2, and a delta of 1e-6 or 1e-9, are usual.",
            )

    def inverse_characteristic(self, t: FloatArray, /) -> FloatArray:
        """Exp(t^2 / 2)."""
        return np.exp(t**2 / 2)

    def last_frequency(self, floor: float, /) -> float:
        """The root of exp(-t^2 / 2) = floor."""
        return math.sqrt(-2 * math.log(floor))

    def sampler(self, *, resolution: int = RESOLUTION) -> Cells:
        r"""Noise on the grid g = `grid_of(theta)`, prepared for sampling: Gaussian noise rounded to cell midpoints.

        Notes
        -----
        **Distance** to the rounded Gaussian in total variation: at most 2**-48 per value. The probabilities of the
        cells, :math:`\int_{hw}^{(h+1)w} e^{-z^2/2} dz`, and of their flat parts have relative errors below
        16 + 2 z^2 units of roundoff each, 2**-48.2 in all; the sampler adds 2**-52 (`Cells`); a grid point has the
        density at its middle instead of the integral over its cell, a relative difference of
        g^2 (1 + z^2) / 24 theta^2, 2**-80; beyond 9.25 theta lies 2**-64.
        """
        bits, grid = resolution - CELL_WIDTH, grid_of(self.scale, resolution=resolution)
        step = grid / self.scale
        width = step * 2.0**bits
        starts = width * np.arange(math.ceil(_END / width) + 1)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        inside = 0.5 * width * (nodes[:, None] + 1.0)
        masses = 0.5 * width * np.exp(-0.5 * starts**2) * (weights @ np.exp(-inside * (starts + 0.5 * inside)))
        lasts = starts + width - 0.5 * step
        flat = np.minimum(np.exp(-0.5 * lasts**2) * width, masses) if bits else masses
        unit = masses[0]
        return Cells.prepare(
            grid=grid,
            bits=bits,
            flat=[int(mass) for mass in np.ldexp(flat / unit, 100)],
            rest=[int(mass) for mass in np.ldexp((masses - flat) / unit, 100)],
            slope=0.5 * step**2,
        )


def shift_hockey_stick(shift: float, /, *, epsilon: float) -> float:
    r"""Hockey stick of Gaussian noise of scale 1 and the same, shifted: the analytic Gaussian mechanism.

    .. math:: \delta = \Phi(\mu/2 - \varepsilon/\mu) - e^\varepsilon \Phi(-\mu/2 - \varepsilon/\mu)

    - `shift`: mu, at least 0, in units of the noise's scale.

    **Rounding**: up, by the error of the evaluation.

    [BW18] Theorem 8.
    """
    if shift == 0:
        return 0.0
    near, far = 0.5 * shift - epsilon / shift, -0.5 * shift - epsilon / shift
    # with R(x) = sqrt(pi/2) erfcx(x / sqrt 2): Phi(near) = phi(near) R(-near), and e^epsilon phi(far) = phi(near)
    if near < _INVISIBLE:
        return math.ulp(0.0)
    if near < 0:
        mills = [float(erfcx(-x / math.sqrt(2))) for x in (near, far)]
        rounding = UNIT_ROUNDOFF * (16.0 + 2 * near**2) * mills[0]
        return 0.5 * math.exp(-0.5 * near**2) * (mills[0] - mills[1] + rounding)
    lost = math.exp(epsilon + float(log_ndtr(far)))
    return min(1.0, float(ndtr(near)) - lost * (1 - UNIT_ROUNDOFF * (16.0 + 8 * epsilon)) + 8 * UNIT_ROUNDOFF)


def shift_hockey_sticks(shifts: FloatArray, /, *, epsilon: float) -> FloatArray:
    """`shift_hockey_stick` of many shifts at once, rounded up."""
    shifts = np.maximum(shifts, _SMALLEST_SHIFT)
    near, far = 0.5 * shifts - epsilon / shifts, -0.5 * shifts - epsilon / shifts
    with np.errstate(over="ignore", under="ignore"):
        tails = [erfcx(-np.minimum(x, 0.0) / math.sqrt(2)) for x in (near, far)]
        rounding = UNIT_ROUNDOFF * (16.0 + 2 * near**2) * tails[0]
        below = 0.5 * np.exp(-0.5 * near**2) * (tails[0] - tails[1] + rounding)
        lost = np.exp(epsilon + log_ndtr(far)) * (1 - UNIT_ROUNDOFF * (16.0 + 8 * epsilon))
        above = np.minimum(1.0, ndtr(near) - lost + 8 * UNIT_ROUNDOFF)
    return np.where(near < 0, np.maximum(below, _TINIEST), above)


def unit_scale(*, epsilon: float, delta: float) -> float:
    """Smallest scale of Gaussian noise that is (epsilon, delta)-private for a shift of 1, rounded up.
    See [BW18], algorithm 1.
    """

    def beyond(log_shift: float) -> float:
        stick = shift_hockey_stick(math.exp(log_shift), epsilon=epsilon)
        return max(-1e6, math.log(stick) - math.log(delta)) if stick > 0 else -1e6

    low, high = -1.0, 1.0
    while beyond(low) > 0:
        low -= 2.0
    while beyond(high) <= 0:
        high += 2.0
    return math.exp(-root_from_below(beyond, low, high, tolerance=1e-13, most=-1e-12)) * _ROUND_UP
