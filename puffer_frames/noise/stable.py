"""Symmetric alpha-stable noise: characteristic function exp(-|gamma t|^alpha)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq

from puffer_frames.arguments import as_float
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.noise.adding import Open
from puffer_frames.noise.grid import grid_of
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.rotated import derivatives
from puffer_frames.noise.stable_shape import stable_shape
from puffer_frames.noise.stream import Rows, Stream, Words, Workspace
from puffer_frames.priors import FloatArray

RESOLUTION = 30
"""The grid is at most 2**-30 of the scale: coarser than the errors of the sampler by a factor of a million."""
LARGEST_ALPHA = 1.995
"""Above it the density is a small difference of large terms, and pure privacy costs more than it is worth."""
_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Stable:
    r"""Symmetric alpha-stable noise of scale gamma, 1 <= alpha < 2; alpha = 1 is Cauchy's law.

    Notes
    -----
    Independent noises of scales gamma_i sum to one of scale :math:`(\sum \gamma_i^\alpha)^{1/\alpha}`, which is what it
    is for: see `share`. On one machine, at the same pure epsilon, it costs more than Laplace noise (E|N| 1.55 times as
    large at epsilon = 1 for the best alpha, about 1.7), and the more the nearer alpha is to 2.

    References
    ----------
    [ZA]; theory section 11.

    Examples
    --------
    >>> noise = Stable(scale=2.0, alpha=1.5)
    >>> round(noise.expected_absolute_error, 6), round(float(noise.cdf(2.0)), 6)
    (3.41093, 0.756342)
    """

    scale: float
    """gamma, in units of the column."""
    alpha: float
    """Exponent of stability."""

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = 2 gamma Gamma(1 - 1/alpha) / pi, in units of the column; infinite for alpha = 1."""
        return 2 * self.scale / math.pi * math.gamma(1 - 1 / self.alpha) if self.alpha > 1 else math.inf

    def log_density(self, z: FloatArray, /) -> FloatArray:
        """Log of the density at distances z."""
        x = np.abs(np.asarray(z, dtype=float)) / self.scale
        log_density: FloatArray = stable_shape(self.alpha).log_density(x)[0] - math.log(self.scale)
        return log_density

    def score(self, z: FloatArray, /) -> FloatArray:
        """Derivative of the log-density."""
        x = np.abs(np.asarray(z, dtype=float)).reshape(-1) / self.scale
        if self.alpha == 1.0:
            ratio = -2.0 * x / (1.0 + x * x)
        else:
            density, slope = derivatives(x, alpha=self.alpha, orders=(0, 1)).values
            ratio = slope / density
        score: FloatArray = np.sign(z) * ratio.reshape(np.shape(z)) / self.scale
        return score

    def survival(self, z: FloatArray, /) -> FloatArray:
        """P(N > z)."""
        x = np.asarray(z, dtype=float) / self.scale
        if self.alpha == 1.0:
            beyond = np.arctan2(1.0, np.abs(x)) / math.pi
        else:
            beyond = derivatives(np.abs(x).reshape(-1), alpha=self.alpha, orders=(-1,)).values[0].reshape(x.shape)
        return np.where(x > 0, beyond, 1.0 - beyond)

    def cdf(self, z: FloatArray, /) -> FloatArray:
        """P(N <= z)."""
        return self.survival(-np.asarray(z, dtype=float))

    def quantile(self, probability: float, /) -> float:
        """The z with P(N <= z) = probability."""
        tail = min(probability, 1.0 - probability)
        if not 0 < tail < 0.5:
            return 0.0 if tail == 0.5 else math.nan

        unit = Stable(scale=1.0, alpha=self.alpha)

        def beyond(log_x: float) -> float:
            return math.log(float(unit.survival(np.array(math.exp(log_x))))) - math.log(tail)

        root = float(brentq(beyond, -40.0, 600.0 / self.alpha, xtol=1e-13))
        return math.copysign(self.scale * math.exp(root), probability - 0.5)

    def share(self, contributors: int, /, *, drop_outs: int = 0) -> Stable:
        r"""The noise that each contributor adds so that the sum has this noise.

        .. math:: \gamma_{each} = \gamma (n - d)^{-1/\alpha}

        Parameters
        ----------
        contributors : int
            Number n of contributors.
        drop_outs : int
            Number d of contributors whose noise may be missing; with fewer missing the sum has more noise than asked.

        Raises
        ------
        ArgumentError
            Unless n > d >= 0.

        Examples
        --------
        >>> round(Stable(scale=1.0, alpha=1.5).share(8).scale, 12)
        0.25
        """
        if not contributors > drop_outs >= 0:
            raise ArgumentError(
                "drop_outs",
                rule="at least 0 and less than the number of contributors",
                got=f"{drop_outs} of {contributors}",
                hint="Plan for the contributors that surely add their noise.",
            )
        each = self.scale * (contributors - drop_outs) ** (-1 / self.alpha)
        return Stable(scale=math.nextafter(each * (1 + 2**-50), math.inf), alpha=self.alpha)

    def sampler(self, *, resolution: int = RESOLUTION) -> StableSampler:
        """Noise on the grid `grid_of(gamma)`, prepared for sampling."""
        return StableSampler(grid=grid_of(self.scale, resolution=resolution), scale=self.scale, alpha=self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableSampler:
    r"""Chambers' and Mallows' and Stuck's transformation, rounded to the midpoints of the grid's cells.

    .. math::
        N = \frac{\sin \alpha V}{(\cos V)^{1/\alpha}} \left(\frac{\cos (1 - \alpha) V}{W}\right)^{(1 - \alpha)/\alpha}

    with V uniform on (-pi/2, pi/2) and W exponential, from two words a row.

    Notes
    -----
    **Distance**: the transformation is evaluated in 64-bit floats, with relative errors of some 2**-48, and what is
    released of it is a half-integer multiple of the grid, 2**-30 of the scale. A bound in total variation is not
    proved.
    """

    grid: float
    """Width of the grid, in units of the column."""
    scale: float
    """gamma, in units of the column."""
    alpha: float
    """Exponent of stability."""

    def draw(self, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, /) -> Open:
        """Write the noise of the rows; none is left open."""
        del workspace
        pairs = stream.pairs(rows, 0)
        out[:] = self._noise(pairs[:, 0], pairs[:, 1])
        none = np.zeros(0, dtype=np.int64)
        return Open(places=none, rows=none, words=none.astype(np.uint64))

    def settle(self, left: Open, stream: Stream, /) -> FloatArray:
        """Nothing is left open."""
        del stream
        return left.places.astype(float)

    def _noise(self, first: Words, second: Words) -> FloatArray:
        upward = first >> np.uint64(63) == 0
        gap = ((first << np.uint64(1)).astype(float) + 1.0) * (math.pi / 2 * 2.0**-64)  # pi/2 - |V|
        if self.alpha == 1.0:
            size = 1.0 / np.tan(gap)
        else:
            wait = -np.log((second.astype(float) + 0.5) * 2.0**-64)
            angle = math.pi / 2 - gap
            size = np.sin(self.alpha * angle) * np.sin(gap) ** (-1 / self.alpha)
            size *= (np.cos((1 - self.alpha) * angle) / wait) ** ((1 - self.alpha) / self.alpha)
        cells = np.floor(np.abs(size) * (self.scale / self.grid)) + 0.5
        noise: FloatArray = np.where(upward, cells, -cells)
        return noise


@lru_cache(maxsize=256)
def unit_scale(*, epsilon: float, alpha: float) -> float:
    r"""c(epsilon, alpha): the smallest scale that is epsilon-private for a shift of 1, rounded up.

    .. math:: c = 1/r, \quad \max_x \log f(x) / f(x + r) = \varepsilon

    Notes
    -----
    **Cost**: some 0.3 s, once per pair of arguments. **Rounding**: the upper bound of the loss at the scale is at most
    epsilon; the scale is within 1e-8 of one where the lower bound exceeds it.

    References
    ----------
    [ZA]; theory section 11.

    Examples
    --------
    >>> round(unit_scale(epsilon=1.0, alpha=1.0), 5), round(unit_scale(epsilon=1.0, alpha=1.5), 5)
    (0.95952, 0.99388)
    """

    def loss(log_shift: float) -> float:
        return shift_loss(math.exp(log_shift), alpha=alpha)[1] - epsilon

    high = math.log(epsilon) + 1.0
    while loss(high) <= 0:
        high += 1.0
    low = high - 1.0
    while loss(low) > 0:
        low -= 1.0
    root = float(brentq(loss, low, high, xtol=1e-10, rtol=1e-14))
    step = 1e-10
    while loss(root) > 0:
        root -= step
        step *= 2
    return math.exp(-root) * (1 + 4e-16)


def shift_loss(shift: float, /, *, alpha: float) -> tuple[float, float]:
    """Bounds of the pure loss of a shift, in units of the scale."""
    one = np.ones(1)
    pair = [(one, np.zeros(1)), (one, np.array([shift]))]
    lower, upper, _ = largest_log_ratio(pair, [(0, 1)], stable_shape(alpha), tolerance=_TOLERANCE)
    return lower, upper


def check_alpha(alpha: float | None, /) -> float:
    """Return alpha as a float; raise unless 1 <= alpha <= 1.995."""
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.integer, np.floating)):
        raise ArgumentTypeError(
            "alpha", rule="a number", got=f"a {type(alpha).__name__}", hint="Write alpha=1.7 for stable noise."
        )
    if not 1 <= alpha <= LARGEST_ALPHA:
        raise ArgumentError(
            "alpha",
            rule=f"from 1 to {LARGEST_ALPHA}",
            got=f"{as_float(alpha):g}",
            hint="Use alpha=1.7, or Gaussian noise for 2.",
        )
    return float(alpha)
