r"""Linear regression on noisy columns, corrected for their errors: least squares of the values behind them.

With W = X + N, y = z + e, and D the diagonal of the variances of N,

.. math:: \hat\beta = \Big(\sum W_i W_i^\top - D_i\Big)^{-1} \sum W_i y_i,

and the corrected scores :math:`s_i = W_i (y_i - W_i^\top \beta) + D_i \beta` have the expectation
:math:`X_i (z_i - X_i^\top \beta)` whatever X is. The covariance of the estimate is the sandwich of their covariance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.moments import combined
from puffer_frames.verbs.estimating.noisy import NoisyColumn

CLEAR = 3.0
"""The spread behind the noise must be so many standard errors from 0, in every direction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Coefficients of a linear regression, the intercept first."""

    coefficients: FloatArray
    """Shape (columns + 1,)."""
    covariance: FloatArray
    """Of the coefficients, shape (columns + 1, columns + 1)."""


def clearance(on: Sequence[NoisyColumn], /) -> float:
    """How many standard errors the spread of the columns is from 0, where the noise hides most of it.

    That is in the direction in which what is left of the noisy spread is smallest; infinite without noise, and minus
    infinity where nothing is left, or the noisy columns are dependent.
    """
    noisy = np.cov(np.stack([column.values for column in on]), bias=True).reshape(len(on), len(on))
    hidden = np.array([float(column.variances.mean()) for column in on])
    spread = np.sqrt(np.diag(noisy))
    if not (spread > 0).all() or np.linalg.cond(noisy / np.outer(spread, spread)) > 1 / np.finfo(float).eps:
        return -math.inf
    root = np.linalg.cholesky(noisy / np.outer(spread, spread))
    inverse = np.linalg.inv(root)
    left, directions = np.linalg.eigh(np.eye(len(on)) - inverse @ np.diag(hidden / spread**2) @ inverse.T)
    if left[0] <= 0:
        return -math.inf
    values, second, fourth = combined(list(on), (inverse.T @ directions[:, 0]) / spread)
    squares = (values - values.mean()) ** 2 - second
    error = math.sqrt(max(4 * float(second @ squares), 0.0) + float((fourth - second**2).sum()))
    return float(squares.sum()) / error if error else math.inf


def regression(y: NoisyColumn, on: Sequence[NoisyColumn], /, *, population: bool) -> Regression:
    r"""Regress y on some columns, any of them with noise.

    Parameters
    ----------
    y : NoisyColumn
    on : sequence of NoisyColumn
        With a positive `clearance`.
    population : bool
        Whether the rows are draws of a population; else the coefficients are those of the raw rows.

    Notes
    -----
    For the population the meat of the sandwich is :math:`\sum s_i s_i^\top`. For the table it is what the noise adds,
    with :math:`r = z - X^\top\beta`, :math:`v = e - N^\top\beta`:

    .. math:: \operatorname{Cov}(s \mid X, z) = X X^\top E v^2 - X r\,(D\beta)^\top - D\beta\,(X r)^\top + D r^2
        + E v^2 N N^\top - D\beta\beta^\top D,

    each term estimated without bias: :math:`X X^\top` by :math:`W W^\top - D`, Xr by s, r^2 by
    :math:`(y - W^\top\beta)^2 - E v^2`. **Cost**: some passes over the rows.
    """
    n = y.values.size
    centres = np.array([0.0, *(float(column.values.mean()) for column in on)])
    middle = float(y.values.mean())
    noisy = np.column_stack(
        [np.ones(n), *(column.values - centre for column, centre in zip(on, centres[1:], strict=True))]
    )
    z = y.values - middle
    hidden = np.column_stack([np.zeros(n), *(column.variances for column in on)])
    fourth = np.column_stack([np.zeros(n), *(column.fourth_moments for column in on)])
    gram = noisy.T @ noisy - np.diag(hidden.sum(axis=0))
    beta = np.linalg.solve(gram, noisy.T @ z)
    residuals = z - noisy @ beta
    scores = noisy * residuals[:, None] + hidden * beta
    if population:
        meat = scores.T @ scores
    else:
        v = y.variances + hidden @ beta**2
        pull = hidden * beta
        cross = scores.T @ pull
        meat = (noisy * v[:, None]).T @ noisy + pull.T @ pull - cross - cross.T
        own = (residuals**2 - v) @ hidden + (beta**2 * (fourth - 3 * hidden**2)).sum(axis=0)
        meat[np.diag_indices_from(meat)] += own
    bread = np.linalg.inv(gram)
    covariance = bread @ meat @ bread.T
    # back to columns that are not centred: the intercept is the value at 0
    move = np.eye(beta.size)
    move[0] -= centres
    coefficients = move @ beta
    coefficients[0] += middle
    return Regression(coefficients=coefficients, covariance=move @ covariance @ move.T)
