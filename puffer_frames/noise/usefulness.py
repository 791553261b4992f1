"""What a released column still tells: its spread, and the error of one constant, estimated from released values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.presentation import rounded_up
from puffer_frames.priors.prior import FloatArray

FEWEST_ROWS = 50
"""From fewer released values nothing is estimated."""
MOST_VALUES = 1 << 15
"""How many released values are enough."""
_DIGITS = 2
_NODES = 96
"""Points of the integral."""
_CLEAR = 4
"""A figure of at least so many times what the noise may add to it is right to a quarter."""
_SURE, _ABOVE = 3, 2.5
"""Standard errors that a figure is clear of, and that a bound lies above."""
_FINE = 5
"""Points of the kernel's table per radian of its fastest wave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """What the mean absolute noise of a column can be compared with, in its units, rounded to two digits."""

    spread: float
    """Standard deviation of the column without noise."""
    spread_is_bound: bool
    """True where it is smaller than that, and the noise hides how small."""
    constant_error: float
    """Mean absolute error of publishing one constant, the median of the released values, for every row."""
    constant_error_is_bound: bool
    """True where it is smaller than that, and the noise hides how small."""

    @property
    def texts(self) -> list[str]:
        """Spread and error of a constant in words."""
        figures = (self.spread, self.spread_is_bound), (self.constant_error, self.constant_error_is_bound)
        return [f"{'below' if is_bound else 'about'} {figure:.2g}" for figure, is_bound in figures]


def sampled(values: FloatArray, /, *, most: int = MOST_VALUES) -> FloatArray:
    """At most so many values, of places that are random and always the same: every n-th row may be of one kind."""
    if values.size <= most:
        return values
    return values[np.random.default_rng(0).integers(0, values.size, most)]


def usefulness(released: FloatArray, noise: NoiseFamily | None, /, *, as_bounds: bool = False) -> Usefulness | None:
    r"""Estimate spread and error of a constant from released values, which tells nothing that these do not.

    .. math:: \operatorname{Var} X = \operatorname{Var} Y - \operatorname{Var} N, \qquad
        E|X - c| = \frac{2}{\pi} \int_0^\infty \frac{1 - \operatorname{Re} \varphi_Y(t) e^{-itc} / \varphi_N(t)}{t^2} dt

    - `released` (array): Released values without further processing; a random sample of them will do.
    - `noise`: None is returned for one whose tails have no variance, and for fewer than 50 values.
    - `as_bounds`: Some of the values have more noise, which is not known: both figures are given as bounds.

    The integral is cut at T, where the noise hides the rest: beyond, the characteristic function of X is taken as 0,
    which adds up to :math:`2 / (\pi T)`, most for columns of many equal values (.07 of a Laplace scale, a fifth of a
    Gaussian one, of 32,768 values). A figure that is not clear of that, or of three standard errors, is given as a
    bound, which is too low in less than 5 % of all releases. Figures that are clear of these by chance are too large.
    **Cost**: some milliseconds.
    """
    sample = sampled(released)
    if noise is None or sample.size < FEWEST_ROWS or not np.isfinite(sample).all():
        return None
    unit = noise.at(1.0)
    if unit.variance == math.inf:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        units = (sample - np.median(sample)) / noise.scale  # in units of the noise, about the constant
        squares = (units - units.mean()) ** 2
        known = unit.fourth_moment - unit.variance**2  # what the squares of the noise alone vary by
        least = math.sqrt(known) if known < math.inf else 0.0
        variance = _with_error(squares - unit.variance, least=least, as_bound=as_bounds)
        distance = _with_error(*_distance_kernel(units, unit), as_bound=as_bounds)
        figures = [noise.scale * figure for figure in (math.sqrt(max(variance[0], 0.0)), distance[0])]
    if not all(map(math.isfinite, (*figures, variance[0]))):
        return None
    return Usefulness(
        spread=_rounded(figures[0], is_bound=variance[1]),
        spread_is_bound=variance[1],
        constant_error=_rounded(figures[1], is_bound=distance[1]),
        constant_error_is_bound=distance[1],
    )


def _with_error(terms: FloatArray, hidden: float = 0.0, *, least: float = 0.0, as_bound: bool) -> tuple[float, bool]:
    """The mean of the terms, or an upper bound of it, 2.5 standard errors above, where it is not clear of 0, or asked.

    `least` is the least standard deviation that the terms have: samples with a low mean show a lower one.
    `hidden` is how much too large the mean may be. It is too small by at most .35 times that: the least value of
    the integral of cos(ut)/t^2 over t > 1 is -.35, whatever u is.
    """
    mean, error = float(terms.mean()), max(float(terms.std()), least) / math.sqrt(terms.size)
    if not as_bound and mean > _SURE * error + _CLEAR * hidden:
        return mean, False
    return max(mean, 0.0) + _ABOVE * error + 0.35 * hidden, True


def _distance_kernel(y: FloatArray, noise: NoiseFamily) -> tuple[FloatArray, float]:
    """Terms whose mean estimates E|X|, for noise of scale 1: a function of |y|, read from a table.

    Beside them how much the integral may lack beyond its end.
    """
    floor = 2.0 / math.sqrt(y.size)  # of the characteristic function of the noise, below which it hides the rest
    end = noise.last_frequency(floor)
    step = end / _NODES
    t = np.asarray((np.arange(_NODES) + 0.5) * step, dtype=np.float64)
    weight = noise.inverse_characteristic(t) * step / t**2
    far = math.pi / (2 * step)
    table = np.linspace(0.0, far, round(_FINE * far * end))
    terms = (float((step / t**2).sum()) + 1 / end - np.cos(np.outer(table, t)) @ weight) * (2 / math.pi)
    found: FloatArray = np.where(np.abs(y) < far, np.interp(np.abs(y), table, terms), np.abs(y))
    return found, 2 / (math.pi * end)


def _rounded(figure: float, *, is_bound: bool) -> float:
    return rounded_up(figure, digits=_DIGITS) if is_bound else float(f"{figure:.{_DIGITS}g}")
