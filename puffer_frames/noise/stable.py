"""Symmetric alpha-stable noise: characteristic function exp(-|gamma t|^alpha)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, short_traceback
from puffer_frames.noise.adding import Open, grid_of
from puffer_frames.noise.family import ON_GRID, ROUND_UP, NoiseFamily
from puffer_frames.noise.log_ratio import largest_log_ratio
from puffer_frames.noise.stable_shape import derivatives, stable_shape
from puffer_frames.noise.stream import Rows, Stream, Words, Workspace
from puffer_frames.numbers.arguments import Target, as_float, check_count
from puffer_frames.numbers.rounding import root_from_below, up
from puffer_frames.priors.prior import FloatArray

RESOLUTION = 30
"""The grid is at most 2**-30 of the scale: coarser than the errors of the sampler by a factor of a million."""
_FAR, _FAR_FOR_CAUCHY = 2.0**52, 2.0**42
"""Grid steps from which on a float is too coarse for the size of the noise. Cauchy's law comes from one random number
rather than two, so its floats are spread less evenly."""
_LEADING = 26
"""Bits of a far size that are kept: about half of a float's, so that every cell of sizes holds many floats."""
LARGEST_ALPHA = 1.995
"""Above it the density is a small difference of large terms, and pure privacy costs more than it is worth."""
_TOLERANCE = 1e-10
_PLACE = math.pi / 2 * 2.0**-64
"""The distance pi/2 - |V| is a number below 2**64 in this unit."""


@short_traceback
@dataclass(frozen=True, slots=True, kw_only=True)
class Stable(NoiseFamily):
    r"""Symmetric alpha-stable noise of scale gamma, 1 <= alpha < 2; alpha = 1 is Cauchy's law.

    Notes
    -----
    Independent noises of scales gamma_i sum to one of scale :math:`(\sum \gamma_i^\alpha)^{1/\alpha}`, which is what it
    is for: see `share`. On one machine, at the same pure epsilon, whether it costs more than Laplace noise depends on
    the laws. For two known values and epsilon = 1, E|N| is 1.55 times as large for the best alpha, about 1.7. For laws
    that overlap it can be smaller (adult table, age by race, alpha = 1.7: 8.23 against 8.26 at epsilon = 1, 2.24
    against 3.17 at 4), and so it can for large epsilons. As alpha nears 2, it grows without bound.

    References
    ----------
    [ZA]; docs/theory.md, section 11.

    Examples
    --------
    >>> noise = Stable(scale=2.0, alpha=1.5)
    >>> round(noise.expected_absolute_error, 6), round(float(noise.cdf(2.0)), 6)
    (3.41093, 0.756342)
    """

    name: ClassVar[str] = "stable"
    symbol: ClassVar[str] = "scale gamma"
    on_grid: ClassVar[str] = (
        f"{ON_GRID} 2^-30 of the scale. The noise is computed in 64-bit floats; how near it is to exact stable noise "
        "is not proved"
    )
    takes_delta: ClassVar[bool] = False

    scale: float = 1.0
    """gamma, in units of the column; left out, the noise stands for its family."""
    alpha: float
    """Exponent of stability, from 1 (Cauchy) to 1.995."""

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    @property
    def title(self) -> str:
        return f"{self.alpha:g}-stable"

    @property
    def rounding(self) -> tuple[float, float]:
        """Rounding moves a value by g/2 <= 2^-31 gamma: the log-density changes by at most the steepest slope times
        that.
        """
        return 2.0**-RESOLUTION * stable_shape(self.alpha).steepest, 0.0

    @property
    def expected_absolute_error(self) -> float:
        """E|N| = 2 gamma Gamma(1 - 1/alpha) / pi, in units of the column; infinite for alpha = 1."""
        return 2 * self.scale / math.pi * math.gamma(1 - 1 / self.alpha) if self.alpha > 1 else math.inf

    def log_density(self, z: FloatArray, /) -> FloatArray:
        x = np.abs(np.asarray(z, dtype=float)) / self.scale
        return stable_shape(self.alpha).log_density(x)[0] - math.log(self.scale)

    def score(self, z: FloatArray, /) -> FloatArray:
        x = np.abs(np.asarray(z, dtype=float)).reshape(-1) / self.scale
        if self.alpha == 1.0:
            ratio = -2.0 * x / (1.0 + x * x)
        else:
            density, slope = derivatives(x, alpha=self.alpha, orders=(0, 1)).values
            ratio = slope / density
        return np.sign(z) * ratio.reshape(np.shape(z)) / self.scale

    def survival(self, z: FloatArray, /) -> FloatArray:
        x = np.asarray(z, dtype=float) / self.scale
        if self.alpha == 1.0:
            beyond = np.arctan2(1.0, np.abs(x)) / math.pi
        else:
            beyond = derivatives(np.abs(x).reshape(-1), alpha=self.alpha, orders=(-1,)).values[0].reshape(x.shape)
        return np.where(x > 0, beyond, 1.0 - beyond)

    def quantile(self, probability: float, /) -> float:
        tail = min(probability, 1.0 - probability)
        if not 0 < tail < 0.5:
            return 0.0 if tail == 0.5 else math.nan
        return math.copysign(self.scale * _unit_quantile(tail, alpha=self.alpha), probability - 0.5)

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
        each = self.scale * as_float(all_but(contributors, drop_outs)) ** (-1 / self.alpha)
        return Stable(scale=math.nextafter(each * (1 + 2**-50), math.inf), alpha=self.alpha)

    def unit(self, target: Target, /) -> float:
        return unit_scale(epsilon=target.epsilon, alpha=self.alpha)

    def hide_counts(self, change: float, target: Target, /, *, bins: int) -> float:
        """The loss of each count is held to that of its share of the whole change."""
        share = Fraction(2 if bins > 1 else 1) * Fraction(change) / bins
        return up(share * Fraction(self.unit(Target(epsilon=math.nextafter(target.epsilon / bins, 0.0)))))

    @property
    def unproved_counts(self) -> bool:
        """The loss of several shares of a change is largest for equal shares: proved for Cauchy's law alone."""
        return self.alpha > 1

    def cost_of_shift(self, shift: float, /) -> tuple[float, float]:
        """The log-ratio of a shift is at most the shift times the steepest slope of the log-density."""
        return shift * stable_shape(self.alpha).steepest * ROUND_UP, 0.0

    def shift_loss(self, shift: float, /) -> float:
        return shift_loss(shift, alpha=self.alpha)[1]

    def sampler(self, *, resolution: int = RESOLUTION) -> StableSampler:
        return StableSampler(grid=grid_of(self.scale, resolution=resolution), scale=self.scale, alpha=self.alpha)


@dataclass(frozen=True, slots=True, kw_only=True)
class StableSampler:
    r"""Chambers' and Mallows' and Stuck's transformation, rounded to the midpoints of the grid's cells.

    .. math::
        N = \frac{\sin \alpha V}{(\cos V)^{1/\alpha}} \left(\frac{\cos (1 - \alpha) V}{W}\right)^{(1 - \alpha)/\alpha}

    with V uniform on (-pi/2, pi/2) and W exponential, from two words a row. For alpha = 1 there is no W, and V has 127
    bits.

    **Distance**: the transformation is evaluated in 64-bit floats, with relative errors of some 2**-48, and what is
    released of it is a half-integer multiple of the grid, 2**-30 of the scale. A bound in total variation is not
    proved. **Far from 0**, from 2**52 grid steps on (2**42 for alpha = 1), only the 26 leading bits of the size come
    from the transformation. The others are further random bits, so that the noise is uniform on the integers of a cell
    2**-25 of its size or narrower: no step is out of reach, and the noise is an integer plus 1/2 of any length.
    """

    grid: float
    """Width of the grid, in units of the column."""
    scale: float
    """gamma, in units of the column."""
    alpha: float
    """Exponent of stability."""

    def draw(self, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, /) -> Open:
        """Write the noise of the rows, any number where it is far from 0 and so left open."""
        del workspace
        pairs = stream.pairs(rows, 0)
        first = pairs[:, 0]
        sizes = self._sizes(first, pairs[:, 1])
        far = sizes >= (_FAR if self.alpha > 1 else _FAR_FOR_CAUCHY)
        sizes[far] = 0.0
        np.floor(sizes, out=sizes)
        sizes += 0.5
        out[:] = np.where(_upward(first), sizes, -sizes)
        return Open.of(np.flatnonzero(far), rows, first)

    def settle(self, left: Open, stream: Stream, /) -> list[Fraction]:
        sizes = self._sizes(left.words, stream.pairs(left.rows, 0)[:, 1])
        further = np.hstack([stream.pairs(left.rows, attempt) for attempt in (1, 2)])
        magnitudes = map(_far_size, sizes.tolist(), further.tolist())
        return [size if up else -size for size, up in zip(magnitudes, _upward(left.words).tolist(), strict=True)]

    def _sizes(self, first: Words, second: Words) -> FloatArray:
        """|N| in units of the grid, before it is cut to a half-integer."""
        places = (first << np.uint64(1)).astype(float)
        if self.alpha == 1.0:
            places += (second.astype(float) + 0.5) * 2.0**-63  # near 0 these are its leading bits
            size = 1.0 / np.tan(places * _PLACE)
        else:
            gap = (places + 1.0) * _PLACE
            wait = -np.log((second.astype(float) + 0.5) * 2.0**-64)
            angle = math.pi / 2 - gap
            size = np.sin(self.alpha * angle) * np.sin(gap) ** (-1 / self.alpha)
            size *= (np.cos((1 - self.alpha) * angle) / wait) ** ((1 - self.alpha) / self.alpha)
        return np.abs(size) * (self.scale / self.grid)


def _upward(first: Words) -> NDArray[np.bool_]:
    """Whether the noise is positive."""
    return first >> np.uint64(63) == 0


def _far_size(size: float, words: list[int]) -> Fraction:
    """A size plus 1/2 whose bits after the leading ones are random: at most 132 of them, of the 256 in four words."""
    spread = math.frexp(size)[1] - _LEADING
    bits = 0
    for word in words:
        bits = bits << 64 | word
    whole = int(size) >> spread << spread | bits & (1 << spread) - 1
    return Fraction(2 * whole + 1, 2)


@lru_cache(maxsize=256)
def _unit_quantile(tail: float, /, *, alpha: float) -> float:
    """What noise of scale 1 exceeds with a probability below 1/2; some 0.1 s, once per pair of arguments."""
    unit = Stable(scale=1.0, alpha=alpha)

    def beyond(log_x: float) -> float:
        return math.log(float(unit.survival(np.array(math.exp(log_x))))) - math.log(tail)

    return math.exp(float(scipy.optimize.brentq(beyond, -40.0, 600.0 / alpha, xtol=1e-13)))


_FARTHEST = 600.0
"""Logarithm of the largest shift, in units of the scale, that a loss is computed of."""


@lru_cache(maxsize=256)
def unit_scale(*, epsilon: float, alpha: float) -> float:
    r"""c(epsilon, alpha): the smallest scale that is epsilon-private for a shift of 1, rounded up.

    .. math:: c = 1/r, \quad \max_x \log f(x) / f(x + r) = \varepsilon

    **Cost**: some 0.3 s, once per pair of arguments. **Rounding**: the upper bound of the loss at the scale is at most
    epsilon; the scale is within 1e-8 of one where the lower bound exceeds it. Raises ArgumentError where it would be
    below e^-600, near which the densities leave the range of floats.
    See [ZA]; docs/theory.md, section 11.
    """

    def loss(log_shift: float) -> float:
        return shift_loss(math.exp(log_shift), alpha=alpha)[1] - epsilon

    high = math.log(epsilon) + 1.0
    while high <= _FARTHEST and loss(high) <= 0:
        high += 1.0
    if high > _FARTHEST:
        rule = "small enough for a scale in the range of floats, with stable noise"
        raise ArgumentError("epsilon", rule=rule, got=f"{epsilon:g}", hint="Values from 0.1 to 2 are usual.")
    low = high - 1.0
    while loss(low) > 0:
        low -= 1.0
    return math.exp(-root_from_below(loss, low, high, tolerance=1e-10)) * (1 + 4e-16)


def shift_loss(shift: float, /, *, alpha: float) -> tuple[float, float]:
    """Bounds of the pure loss of a shift, in units of the scale."""
    one = np.ones(1)
    pair = [(one, np.zeros(1)), (one, np.array([shift]))]
    lower, upper, _ = largest_log_ratio(pair, [(0, 1)], stable_shape(alpha), tolerance=_TOLERANCE)
    return lower, upper


def all_but(contributors: int, drop_outs: int, /) -> int:
    """How many contributors surely add their noise; raises ArgumentError unless there is one."""
    contributors = check_count(contributors, "contributors", at_least=1)
    drop_outs = check_count(drop_outs, "drop_outs", at_least=0)
    if not contributors > drop_outs:
        raise ArgumentError(
            "drop_outs",
            rule="at least 0 and less than the number of contributors",
            got=f"{drop_outs} of {contributors}",
            hint="Plan for the contributors that surely add their noise.",
        )
    return contributors - drop_outs


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
