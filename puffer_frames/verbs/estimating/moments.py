r"""Means, variances and covariances of the values behind noisy ones, with their standard errors.

For independent symmetric noise of variance v, known per row: :math:`E\,y = x`, :math:`E[y^2 - v] = x^2`, and products
of different columns need no correction. Two standard errors:

- of the *table*: only the noise is random. The figure is that of the raw rows, and its interval is for that.
- of the *population*: the rows are independent draws too. It is the sample deviation of the corrected terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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

    Parameters
    ----------
    column : NoisyColumn
    population : bool
        Whether the rows are draws of a population.
    ddof : int
        The table's own divisor is n - ddof.

    Notes
    -----
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
