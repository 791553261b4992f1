r"""Means, variances and covariances of the values behind noisy ones, with their standard errors.

For independent symmetric noise of variance v, known per row: :math:`E\,y = x`, :math:`E[y^2 - v] = x^2`, and products
of different columns need no correction. Two standard errors:

- of the *table*: only the noise is random. The figure is that of the raw rows, and its interval is for that.
- of the *population*: the rows are independent draws too. It is the sample deviation of the corrected terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.estimated import CLEAR, Scores
from puffer_frames.verbs.estimating.noisy import NoisyColumn


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its standard error."""

    value: float
    error: float
    freedom: float = math.inf
    """Degrees of freedom of Student's t in its interval; infinite for a normal one."""


UNKNOWN = Figure(math.nan, math.nan)
"""Of too few rows."""


def mean_of(column: NoisyColumn, /, *, population: bool) -> Figure:
    r"""The mean of the values behind noisy ones, without bias: that of the noisy ones.

    Its variance is :math:`\sum v_i / n^2` for the table, and that of the noisy values over n for the population.
    """
    n = column.values.size
    if n < 1 + population:
        return UNKNOWN
    variance = float(column.values.var(ddof=1)) if population else float(column.variances.mean())
    return Figure(float(column.values.mean()), math.sqrt(variance / n), n - 1 if population else math.inf)


def variance_of(column: NoisyColumn, /, *, population: bool, ddof: int = 1) -> Figure:
    r"""The variance of the values behind noisy ones, without bias: that of the noisy ones less that of the noise.

    .. math:: \hat\sigma^2 = \frac{1}{n - 1} \sum (y_i - \bar y)^2 - \frac1n \sum v_i

    - `population`: Whether the rows are draws of a population.
    - `ddof`: The table's own divisor is n - ddof.

    The variance of the estimate for the table is :math:`\sum (4 (x_i - \bar x)^2 v_i + E N_i^4 - v_i^2) / (n - 1)^2` up
    to the share 1/n of it. The estimate may be negative where the noise is much larger than the spread.
    """
    n = column.values.size
    if n <= max(ddof, 1):
        return UNKNOWN
    v = column.variances
    squares = (column.values - column.values.mean()) ** 2 - v
    value = float((squares.sum() + v.sum() / n) / (n - 1))
    if population:
        total = n * float(squares.var())
    else:
        total = max(4 * float(v @ squares), 0.0) + float((column.fourth_moments - v**2).sum())
    error = math.sqrt(total) / (n - 1) if n > 2 or not population else math.nan  # two rows are as far from their mean
    share = (n - 1) / (n - ddof)
    return Figure(value * share, error * share, n - 1 if population else math.inf)


def covariance_of(first: NoisyColumn, second: NoisyColumn, /, *, population: bool, ddof: int = 1) -> Figure:
    r"""The covariance of the values of two columns with independent noise, without bias: that of the noisy ones.

    Its variance for the table is :math:`\sum (d_i^2 w_i + e_i^2 v_i + v_i w_i) / (n - 1)^2` for the distances d, e of
    the raw values from their means and the variances v, w of the noise.
    """
    n = first.values.size
    if n <= max(ddof, 1):
        return UNKNOWN
    d, e = (column.values - column.values.mean() for column in (first, second))
    v, w = first.variances, second.variances
    if population:
        total = n * float((d * e).var())
    else:
        known = float((v * w).sum())
        total = max(float((d**2 - v) @ w), 0.0) + max(float((e**2 - w) @ v), 0.0) + known
    error = math.sqrt(total) / (n - ddof) if n > 2 or not population else math.nan
    return Figure(float(d @ e) / (n - ddof), error, n - 1 if population else math.inf)


def mean_of_members(
    values: FloatArray, variances: FloatArray, weights: FloatArray, design: FloatArray, /, *, population: bool
) -> tuple[Figure, Scores]:
    r"""The mean of the raw values in a group that rows belong to with weights, as a ratio of sums; and its scores.

    With :math:`P_i = \sum_g w_{ig} (z_{ig} - m)`, :math:`Q_i = \sum_g w_{ig}` and design weights :math:`\omega`, the
    score :math:`\sum \omega_i (P_i - t Q_i)` has for the table the variance

    .. math:: \sum \omega_i^2 \Big((P_i - t Q_i)^2 - \sum_g w_{ig} (z_{ig} - m - t)^2 + v_i Q_i\Big),

    each term without bias, and for the population :math:`\sum \omega_i^2 (P_i - t Q_i)^2`.

    - `values` (array, shape (rows, levels) or (rows, 1)): Released values, or those of the levels that make up the
      group.
    - `variances` (array, shape (rows,)): Of the noise of the values.
    - `weights` (array, shape (rows, levels)): As `Members` has them.
    - `design` (array, shape (rows,)): Weights of the rows themselves, at least 0.
    - `population`: Whether the rows are draws of a population.

    A group whose weight is within three standard errors of 0 has no mean: NaN.
    """
    members = weights.sum(axis=1)
    total = float(design @ members)
    squares = design**2
    square = float(squares @ (members**2 if population else members**2 - members))
    if not total > CLEAR * math.sqrt(max(square, 0.0)):
        return UNKNOWN, Scores(constant=math.nan, linear=0.0, square=0.0)
    mean = float(design @ (weights * values).sum(axis=1)) / total
    apart = values - mean
    pull = (weights * apart).sum(axis=1)
    if population:
        constant, linear = float(squares @ pull**2), -2.0 * float(squares @ (pull * members))
    else:
        constant = float(squares @ (pull**2 - (weights * apart**2).sum(axis=1) + variances * members))
        linear = 2.0 * float(squares @ (pull - pull * members))
    if np.allclose(members, 1.0):  # the divisor is known
        linear = square = 0.0
    constant = max(constant, 0.0)
    scores = Scores(constant=constant / total**2, linear=linear / total**2, square=max(square, 0.0) / total**2)
    return Figure(mean, math.sqrt(constant) / total), scores


def correlation_of(first: NoisyColumn, second: NoisyColumn, /, *, population: bool) -> Figure:
    r"""The correlation of the values of two columns with independent noise; NaN where it hides the spread of one.

    The estimate is that of the corrected covariance and variances. With A and B the noisy values, in standard
    deviations of the raw ones, and v, w the variances of their noise, its variance for the table is

    .. math:: \frac{1}{n^2} \sum v\,E(b - ra)^2 + w\,E(a - rb)^2 + vw + \frac{r^2}{4} (E N^4 - v^2 + E M^4 - w^2),

    with :math:`E(b - ra)^2 = (B - rA)^2 - w - r^2 v`: what the noise does to the sum of
    :math:`ab - r (a^2 + b^2) / 2` to first order. For the population it is the variance of these terms.
    """
    n = first.values.size
    spreads = [variance_of(column, population=False, ddof=0) for column in (first, second)]
    if any(not spread.value > CLEAR * spread.error for spread in spreads):
        return UNKNOWN
    sizes = [math.sqrt(spread.value) for spread in spreads]
    a, b = ((column.values - column.values.mean()) / size for column, size in zip((first, second), sizes, strict=True))
    v, w = (column.variances / size**2 for column, size in zip((first, second), sizes, strict=True))
    r = float(a @ b) / n
    if population:
        total = n * float((a * b - r / 2 * (a**2 - v + b**2 - w)).var())
    else:
        tails = first.fourth_moments / sizes[0] ** 4 - v**2, second.fourth_moments / sizes[1] ** 4 - w**2
        total = max(float(v @ ((b - r * a) ** 2 - w - r**2 * v)), 0.0)
        total += max(float(w @ ((a - r * b) ** 2 - v - r**2 * w)), 0.0)
        total += float(v @ w) + r**2 / 4 * float(tails[0].sum() + tails[1].sum())
    return Figure(r, math.sqrt(total) / n)
