"""Noisy answers: exact totals on the grid of the noise, and one client's share of the noise of a sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, gammainccinv, gammaincinv

from puffer_frames.errors import ArgumentError, PriorError, short_traceback
from puffer_frames.noise.adding import add_noise, grid_noise, grid_of
from puffer_frames.noise.families import GAUSSIAN, LAPLACE, NoiseArgument, noise_family
from puffer_frames.noise.family import ROUND_UP, NoiseFamily
from puffer_frames.noise.laplace import DiscreteLaplace
from puffer_frames.noise.stable import Stable, all_but
from puffer_frames.noise.stream import Purpose, RandomSource, ReleaseKey, Stream, Words
from puffer_frames.numbers.arguments import check_scale
from puffer_frames.numbers.rounding import divide_up, nearest
from puffer_frames.priors.prior import FloatArray, IndexArray

COLUMNS = ("answer", "scale", "expected_error", "lower_95", "upper_95")
_UPPER = 0.975
"""The interval of the noise leaves out this much less than 1 on either side."""

_WHOLE = 2.0**62
"""Sums of integers below it are exact in 64 bits."""

AnswerNoise: TypeAlias = NoiseFamily | DiscreteLaplace
AnswerRow: TypeAlias = tuple[float | None, ...]


def exact_sum(values: FloatArray, often: IndexArray, /) -> Fraction:
    """Sum without rounding error that could depend on the other values (twice a correctly rounded sum).

    Each value is added so many times, shape of both (values,).

    Raises PriorError for a sum beyond the range of floats.
    """
    rows = int(often.sum())
    if rows * float(np.abs(values).max(initial=0.0)) < _WHOLE and (values == np.rint(values)).all():
        return Fraction(int(values.astype(np.int64) @ often))
    terms = values.tolist() if rows == values.size else _multiples(values, often).tolist()
    try:
        rounded = math.fsum(terms)
        rest = math.fsum([*terms, -rounded])
    except (OverflowError, ValueError):  # a partial sum, or terms, beyond the range
        raise PriorError(
            "the sum", rule="in the range of floats", got="a larger one", hint="Divide the column by a constant first."
        ) from None
    return Fraction(rounded) + Fraction(rest)


def _multiples(values: FloatArray, often: IndexArray) -> FloatArray:
    """Products without rounding error, several of each value: halves of a value have at most 27 bits."""
    high = (values.view(np.int64) & ~np.int64(2**27 - 1)).view(np.float64)
    some = often & (2**26 - 1)
    parts = [(values - high, some), (high, some), (values - high, often - some), (high, often - some)]
    with np.errstate(over="ignore"):
        products: FloatArray = np.concatenate([part * number for part, number in parts if number.any()])
    return products


def with_noise(exact: Sequence[Fraction], noise: AnswerNoise | None, /, *, stream: Stream) -> list[Fraction]:
    """Totals, rounded to the grid of the noise, plus noise on it; number k is a function of (key, stream, k)."""
    if noise is None:
        return list(exact)
    if isinstance(noise, DiscreteLaplace):
        return [total + draw for total, draw in zip(exact, noise.draw(range(len(exact)), stream=stream), strict=True)]
    sampler = noise.sampler()
    grid = Fraction(sampler.grid)
    drawn = grid_noise(sampler, range(len(exact)), stream=stream)
    return [(round(total / grid) + n) * grid for total, n in zip(exact, drawn, strict=True)]


def answer_row(noisy: Fraction, noise: AnswerNoise | None, /, *, by: Fraction) -> AnswerRow:
    """The entries of `COLUMNS` for a noisy total divided by a public constant."""
    answer = nearest(noisy / by)
    if noise is None:
        return answer, 0.0, 0.0, answer, answer
    divisor = float(by)
    reach = float(noise.quantile(_UPPER)) / divisor
    error = noise.expected_absolute_error / divisor
    return answer, divide_up(noise.scale, divisor), error, answer - reach, answer + reach


def quotient_row(numerator: Fraction, denominator: Fraction, /) -> AnswerRow:
    """The same for a quotient of two noisy totals: its noise has no scale; None unless the denominator is positive."""
    answer = nearest(numerator / denominator) if denominator > 0 else None
    return answer, None, None, None, None


@short_traceback
def add_share(
    values: ArrayLike,
    /,
    *,
    scale: float,
    contributors: int,
    drop_outs: int = 0,
    noise: NoiseArgument = "laplace",
    rng: RandomSource = None,
) -> FloatArray:
    r"""What one client of n sends: its values, each with a share of the noise of their sum over all clients.

    .. math:: \gamma (n - d)^{-1/\alpha}, \quad \sigma (n - d)^{-1/2}, \quad
        \Gamma(\tfrac{1}{n - d}, b) - \Gamma'(\tfrac{1}{n - d}, b)

    Parameters
    ----------
    values : array_like
        What one client has: a number, or one for each sum.
    scale : float
        Scale of the noise of the sum, as its certificate has it.
    contributors, drop_outs : int
        Number n of clients, and d of those whose shares may be missing or known to others.
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
    rng : None, int or numpy.random.Generator
        For tests. Clients with one seed have the same noise, which then protects nothing.

    Returns
    -------
    numpy.ndarray

    Raises
    ------
    ArgumentError
        For a scale that is not positive, unless n > d >= 0, for what are no finite numbers, and for another noise.

    Notes
    -----
    **Guarantee**: the shares of n - d clients sum to the noise of the scale; those of more add independent noise. **Not
    protected** is what one client sends, for a share is small: add under encryption, so that nobody sees it alone.
    Clients who collude, and any one who reads the sum, know their own shares, which count as missing, like those of
    clients who drop out. With k > d missing the scale of the sum is :math:`((n - k)/(n - d))^{1/\alpha}` times the
    certified one (stable; Gaussian with alpha = 2). Laplace shares then sum to a difference of gamma laws of shape
    a = (n - k)/(n - d): the loss of a shift by b is 1.19 for a = .9, 1.44 for .8, and infinite from a = 1/2 down, as
    the density is at 0. **Rounding**: each share is on a grid, at most 2**-30 of its scale (Laplace: 2**-40 of b). That
    rounded shares sum to the certified law is not proved, nor are the gamma quantiles, of 64-bit floats.

    References
    ----------
    [ZA] for stable noise; Acs and Castelluccia, *I have a DREAM!*, IH 2011, for Laplace noise.

    Examples
    --------
    >>> sent = [add_share([1.0], scale=2.0, contributors=50, rng=client) for client in range(50)]
    >>> bool(20 < sum(sent)[0] < 80)
    True
    """
    family, each = _checked(scale, noise), all_but(contributors, drop_outs)
    given = _finite(values, "values")
    stream = ReleaseKey.of(rng).stream(Purpose.NOISE, "share")
    if family == LAPLACE.at(family.scale):
        words = stream.pairs(range(given.size), 0)
        grid = grid_of(family.scale)
        drawn = family.scale * (_gamma(words[:, 0], 1 / each) - _gamma(words[:, 1], 1 / each))
        return (np.rint(given / grid) + np.rint(drawn / grid)) * grid
    share = family.share(contributors, drop_outs=drop_outs) if isinstance(family, Stable) else None
    own = share or family.at(family.scale / math.sqrt(each) * ROUND_UP)
    return add_noise(given, own.sampler(), stream=stream)


@short_traceback
def shares_p_value(noises: ArrayLike, /, *, scale: float, noise: NoiseArgument = "laplace") -> float:
    """The collector's check: the p-value of sums of shares having at least the certified noise.

    Parameters
    ----------
    noises : array_like
        What some sums are beside the true ones, as in rounds in which every client sends its share of 0.
    scale, noise
        As in `add_share`.

    Returns
    -------
    float
        Small where the noise is too small. Exact for independent sums of any number; more noise fails no more often.

    Raises
    ------
    ArgumentError
        As `add_share`.

    Examples
    --------
    >>> sums = sum(add_share([0.0] * 40, scale=2.0, contributors=9, rng=client) for client in range(9))
    >>> shares_p_value(sums, scale=2.0) > 0.01, shares_p_value(sums, scale=6.0) < 0.01
    (True, True)
    """
    family, z = _checked(scale, noise), np.abs(_finite(noises, "noises"))
    sizes = -np.log(np.maximum(2 * family.survival(z), 1e-300))  # exponential under the certified law
    return float(gammainc(z.size, sizes.sum()))


def _checked(scale: float, noise: NoiseArgument) -> NoiseFamily:
    family, positive = noise_family(noise), check_scale(scale)
    if not positive:
        raise ArgumentError("scale", rule="greater than 0", got="0", hint="Give that of the certificate.")
    if family not in (LAPLACE, GAUSSIAN) and not isinstance(family, Stable):
        raise ArgumentError("noise", rule="Laplace, Gaussian or stable", got=family.title, hint="Leave it out.")
    return family.at(positive)


def _finite(numbers: ArrayLike, name: str) -> FloatArray:
    try:
        found = np.atleast_1d(np.asarray(numbers, dtype=float))
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim > 1 or not found.size or not np.isfinite(found).all():
        raise ArgumentError(name, rule="finite numbers, at least one", got="others", hint="Give one for each sum.")
    return found


def _gamma(words: Words, shape: float) -> FloatArray:
    """Gamma numbers of scale 1, by the nearer tail of a random word, so that both are as fine as the word."""
    upper, lower = ((each.astype(float) + 0.5) * 2.0**-64 for each in (words, ~words))
    return np.where(upper < lower, gammainccinv(shape, upper), gammaincinv(shape, lower))
