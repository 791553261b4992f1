"""Gaussian noise: density exp(-z^2 / 2 theta^2) / (theta sqrt(2 pi))."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr, ndtr, ndtri

from puffer_frames.noise.cells import Cells
from puffer_frames.noise.grid import CELL_WIDTH, RESOLUTION, grid_of
from puffer_frames.priors import FloatArray
from puffer_frames.rounding import UNIT_ROUNDOFF

_END = 9.25
"""The last cell begins here; what lies beyond has probability 2**-64."""
_NODES = 8
_ROUND_UP = 1.0 + 1e-11
_INVISIBLE = -40.0
"""So many standard deviations out, a Gaussian tail is below the smallest float."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    r"""Gaussian noise of scale (standard deviation) theta.

    Examples
    --------
    >>> round(Gaussian(scale=1.0).expected_absolute_error, 6), round(Gaussian(scale=2.0).quantile(0.975), 6)
    (0.797885, 3.919928)
    """

    scale: float
    """theta, in units of the column."""

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = theta sqrt(2 / pi), in units of the column."""
        return self.scale * math.sqrt(2 / math.pi)

    def log_density(self, z: FloatArray, /) -> FloatArray:
        """Log of the density at distances z."""
        log_density: FloatArray = -0.5 * (z / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))
        return log_density

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density, -z / theta^2."""
        score: FloatArray = -z / self.scale / self.scale
        return score

    def survival(self, z: FloatArray, /) -> FloatArray:
        """P(N > z)."""
        survival: FloatArray = ndtr(-np.asarray(z) / self.scale)
        return survival

    def cdf(self, z: FloatArray, /) -> FloatArray:
        """P(N <= z)."""
        return self.survival(-np.asarray(z))

    def quantile(self, probability: float, /) -> float:
        """The z with P(N <= z) = probability."""
        return self.scale * float(ndtri(probability))

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

    Parameters
    ----------
    shift : float
        mu, at least 0, in units of the noise's scale.
    epsilon : float

    Notes
    -----
    **Rounding**: up, by the error of the evaluation.

    References
    ----------
    [BW18] Theorem 8.

    Examples
    --------
    >>> round(shift_hockey_stick(1.0, epsilon=1.0), 6)
    0.126937
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


def unit_scale(*, epsilon: float, delta: float) -> float:
    """Smallest scale of Gaussian noise that is (epsilon, delta)-private for a shift of 1, rounded up.

    References
    ----------
    [BW18], algorithm 1.

    Examples
    --------
    >>> round(unit_scale(epsilon=1.0, delta=1e-5), 4)
    3.7306
    """

    def beyond(log_shift: float) -> float:
        found = shift_hockey_stick(math.exp(log_shift), epsilon=epsilon)
        return math.log(found) - math.log(delta) if found > 0 else -math.inf

    low, high = -1.0, 1.0
    while beyond(low) > 0:
        low -= 2.0
    while beyond(high) <= 0:
        high += 2.0

    def finite(log_shift: float) -> float:
        return max(-1e6, beyond(log_shift))

    root = float(brentq(finite, low, high, xtol=1e-13, rtol=1e-14))
    step = 1e-13
    while beyond(root) > -1e-12:
        root -= step
        step *= 2
    return math.exp(-root) * _ROUND_UP
