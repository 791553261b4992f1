r"""Linear regression on noisy columns, corrected for their errors: least squares of the values behind them.

With W = X + N, y = z + e, and D the diagonal of the variances of N,

.. math:: \hat\beta = \Big(\sum W_i W_i^\top - D_i\Big)^{-1} \sum W_i y_i,

and the corrected scores :math:`s_i = W_i (y_i - W_i^\top \beta) + D_i \beta` have the expectation
:math:`X_i (z_i - X_i^\top \beta)` whatever X is. The covariance of the estimate is the sandwich of their covariance.
Intervals are those of `scored.Scores`, which hold where the noise hides most of the spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.estimated import CLEAR, Scores
from puffer_frames.verbs.estimating.noisy import NoisyColumn

_LEAST_SPREAD = 1e-14
"""Share of the noisy spread that rounding alone may leave in a direction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Coefficients of a linear regression, the intercept first."""

    coefficients: FloatArray
    """Shape (columns + 1,)."""
    covariance: FloatArray
    """Of the coefficients, shape (columns + 1, columns + 1)."""
    scores: tuple[Scores, ...]
    """How exact each coefficient is."""
    clearance: float
    """How many standard errors the spread behind the noise is from 0, where the noise hides most of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowWeights:
    """Rows that are there several times, once for each level that a random label may stand for."""

    members: FloatArray
    """Weights whose mean is 1 for the raw level and 0 for others, shape (entries,)."""
    design: FloatArray
    """Weights of the rows themselves, at least 0, shape (entries,)."""
    starts: IndexArray
    """Where the entries of each row begin, shape (rows,)."""


def regression(
    y: NoisyColumn, on: Sequence[NoisyColumn], /, *, population: bool, weights: RowWeights | None = None
) -> Regression | None:
    r"""Regress y on some columns, any of them with noise.

    - `population`: Whether the rows are draws of a population; else the coefficients are those of the raw rows.
    - `weights`: Of the entries of the columns, where rows have several, or weights of their own.
    Returns: None where no spread is left without the noise in some direction, or columns are dependent.

    For the population the meat of the sandwich is :math:`\sum s_i s_i^\top`. For the table it is what the noise adds,
    with :math:`r = z - X^\top\beta`, :math:`v = e - N^\top\beta`:

    .. math:: \operatorname{Cov}(s \mid X, z) = X X^\top E v^2 - X r\,(D\beta)^\top - D\beta\,(X r)^\top + D r^2
        + E v^2 N N^\top - D\beta\beta^\top D,

    each term estimated without bias: :math:`X X^\top` by :math:`W W^\top - D`, Xr by s, r^2 by
    :math:`(y - W^\top\beta)^2 - E v^2`. With weights :math:`w_g` of the levels that a random label may stand for, the
    scores are :math:`\sum_g w_g s_g`, and the meat is :math:`\sum s s^\top - \sum_g w_g (s_g s_g^\top - C_g)` with C
    the one above. **Cost**: three passes over the entries for each coefficient.
    """
    rows = _CentredRows.of(y, on, weights)
    if not rows.has_spread():
        return None
    gram = rows.gram()
    bread = np.linalg.inv(gram).astype(np.float64)
    beta = bread @ (rows.noisy.T @ (rows.y if rows.shares is None else rows.shares * rows.y))
    meat = rows.meat(beta, population=population)
    covariance: FloatArray = bread @ meat @ bread.T
    # back to columns that are not centred: the intercept is the value at 0
    move = np.eye(beta.size)
    move[0] -= rows.centres
    coefficients = move @ beta
    coefficients[0] += rows.middle
    found = np.empty((beta.size, 3))
    for k, functional in enumerate(move):
        pull, variance = bread.T @ functional, float(functional @ covariance @ functional)
        reach = math.sqrt(variance) if variance > 0 else 1.0
        # where this coefficient is another one, the others are what is likeliest then
        step = covariance @ functional / reach if variance > 0 else bread @ functional / float(functional @ pull)
        below, above = (pull @ rows.meat(beta + moved, population=population) @ pull for moved in (-step, step))
        middle = pull @ meat @ pull
        found[k] = middle, (above - below) / (2 * reach), ((above + below) / 2 - middle) / reach**2
    if not rows.hidden.any() and rows.are_known():  # nothing is hidden: least squares, with its normal intervals
        found[:, 1:] = 0.0
    sizes = 1 / np.sqrt(np.maximum(found[:, 2], np.finfo(float).tiny))  # of B, in standard errors
    clearance = float(sizes.min())
    if (found[:, 0] <= 0)[found[:, 2] > 0].any():  # more noise than the estimate of its own error withstands
        return None
    return Regression(
        coefficients=coefficients,
        covariance=move @ covariance @ move.T,
        # where the smallest of them is cut, the others are cut in proportion
        scores=tuple(
            Scores(constant=own[0], linear=own[1], square=own[2], cut=CLEAR * size / clearance)
            for own, size in zip(found.tolist(), sizes.tolist(), strict=True)
        ),
        clearance=clearance,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CentredRows:
    """Columns less their means, after a column of ones."""

    noisy: FloatArray
    """Shape (rows, columns + 1); so have the next two."""
    hidden: FloatArray
    """Variances of the noise."""
    fourth: FloatArray
    """Fourth moments of the noise."""
    y: FloatArray
    """Shape (rows,)."""
    variances: FloatArray
    """Of the noise of y."""
    centres: FloatArray
    """The means, shape (columns + 1,), 0 for the ones."""
    middle: float
    """That of y."""
    weights: RowWeights | None

    @classmethod
    def of(cls, y: NoisyColumn, on: Sequence[NoisyColumn], weights: RowWeights | None, /) -> _CentredRows:
        """From columns."""
        centres = np.array([0.0, *(float(column.values.mean()) for column in on)])
        middle, n = float(y.values.mean()), y.values.size
        pairs = zip(on, centres[1:], strict=True)
        return cls(
            noisy=np.column_stack([np.ones(n), *(column.values - centre for column, centre in pairs)]),
            hidden=np.column_stack([np.zeros(n), *(column.variances for column in on)]),
            fourth=np.column_stack([np.zeros(n), *(column.fourth_moments for column in on)]),
            y=y.values - middle,
            variances=y.variances,
            centres=centres,
            middle=middle,
            weights=weights,
        )

    @property
    def shares(self) -> FloatArray | None:
        """What an entry counts for in sums over the raw rows."""
        return None if self.weights is None else self.weights.members * self.weights.design

    def are_known(self) -> bool:
        """Whether no label is random."""
        return self.weights is None or bool((self.weights.members == 1.0).all())

    def gram(self) -> FloatArray:
        """The sums of squares and products of the values behind the noise, estimated without bias."""
        noisy, hidden, shares = self.noisy, self.hidden, self.shares
        if shares is not None:
            noisy, hidden = noisy * shares[:, None], hidden * shares[:, None]
        return noisy.T @ self.noisy - np.diag(hidden.sum(axis=0))

    def has_spread(self) -> bool:
        """Whether there is some in every direction behind the noise."""
        shares = 1.0 if self.shares is None else np.abs(self.shares)[:, None]
        spread = np.sqrt((shares * self.noisy**2).sum(axis=0))
        if not (spread > 0).all():
            return False
        return bool(np.linalg.eigvalsh(self.gram() / np.outer(spread, spread))[0] > _LEAST_SPREAD)

    def meat(self, beta: FloatArray, /, *, population: bool) -> FloatArray:
        """The covariance of the sum of the scores at some coefficients, in which it is quadratic."""
        residuals = self.y - self.noisy @ beta
        pull = self.hidden * beta
        scores = self.noisy * residuals[:, None] + pull
        if self.weights is None:
            return (
                scores.T @ scores if population else self._meat_of_noise(beta, residuals, scores, np.ones(len(scores)))
            )
        parts = np.add.reduceat(scores * self.weights.members[:, None], self.weights.starts, axis=0)
        parts *= self.weights.design[self.weights.starts, None]
        found: FloatArray = parts.T @ parts
        if not population:
            shares = self.weights.members * self.weights.design**2
            found += self._meat_of_noise(beta, residuals, scores, shares) - (scores * shares[:, None]).T @ scores
        return found

    def _meat_of_noise(
        self, beta: FloatArray, residuals: FloatArray, scores: FloatArray, shares: FloatArray, /
    ) -> FloatArray:
        """What the noise of numbers adds, as a sum over the entries with some shares."""
        pull = self.hidden * beta
        v = self.variances + self.hidden @ beta**2
        cross = (scores * shares[:, None]).T @ pull
        found: FloatArray = (self.noisy * (v * shares)[:, None]).T @ self.noisy - cross - cross.T
        found += (pull * shares[:, None]).T @ pull
        own = ((residuals**2 - v) * shares) @ self.hidden
        own += beta**2 * (shares @ (self.fourth - 3 * self.hidden**2))
        found[np.diag_indices_from(found)] += own
        return found
