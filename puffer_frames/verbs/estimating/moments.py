r"""Means, variances, covariances and regressions of the values behind noisy ones, with their standard errors.

For independent symmetric noise of variance v, known per row: :math:`E\,y = x`, :math:`E[y^2 - v] = x^2`, and products
of different columns need no correction. Two standard errors:

- of the *table*: only the noise is random. The figure is that of the raw rows, and its interval is for that.
- of the *population*: the rows are independent draws too. It is the sample deviation of the corrected terms.

Linear regression is corrected for the errors of noisy columns: least squares of the values behind them. With W = X + N,
y = z + e, and D the diagonal of the variances of N,

.. math:: \hat\beta = \Big(\sum W_i W_i^\top - D_i\Big)^{-1} \sum W_i y_i,

and the corrected scores :math:`s_i = W_i (y_i - W_i^\top \beta) + D_i \beta` have the expectation
:math:`X_i (z_i - X_i^\top \beta)` whatever X is. The covariance of the estimate is the sandwich of their covariance.
Intervals are those of `Scores`, which hold where the noise hides most of the spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.estimated import CLEAR, CorrelationScores, Scores
from puffer_frames.verbs.estimating.released_columns import NoisyColumn

_LEAST_SPREAD = 1e-14
"""Share of the noisy spread that rounding alone may leave in a direction."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Regression:
    """Coefficients of a linear regression, the intercept first."""

    coefficients: FloatArray
    """Shape (columns + 1,)."""
    covariance: FloatArray
    """Covariance of the coefficients, shape (columns + 1, columns + 1)."""
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
    """Start of each row's entries, shape (rows,)."""


def regression(
    y: NoisyColumn, on: Sequence[NoisyColumn], /, *, population: bool, weights: RowWeights | None = None
) -> Regression | None:
    r"""Regress y on some columns, any of them with noise.

    - `population`: Whether the rows are draws of a population; else the coefficients are those of the raw rows.
    - `weights`: Weights of the entries of the columns, where a row has several entries or a weight of its own.
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
    if not rows.hidden.any() and (
        weights is None or (weights.members == 1.0).all()
    ):  # nothing is hidden: least squares, with its normal intervals
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
    """Variances of the noise of y."""
    centres: FloatArray
    """The means, shape (columns + 1,), 0 for the ones."""
    middle: float
    """The mean of y."""
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


@dataclass(frozen=True, slots=True)
class Figure:
    """A number and its standard error."""

    value: float
    error: float
    freedom: float = math.inf
    """Degrees of freedom of Student's t in its interval; infinite for a normal one."""


UNKNOWN = Figure(math.nan, math.nan)
"""The figure of too few rows."""


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
    - `variances` (array, shape (rows,)): Variance of the noise of each value.
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


def variance_of_members(
    column: NoisyColumn, weights: FloatArray, /, *, population: bool, ddof: int
) -> tuple[Figure, Scores]:
    r"""The variance of the raw values in a group that rows belong to with weights; and its scores.

    The mean over the group of :math:`z_i = (y_i - m)^2 - v_i`, whose noise has the variance
    :math:`4 (x_i - m)^2 v_i + E N_i^4 - v_i^2`. What the mean m errs by changes it to second order alone: by the square
    of that, which is added.
    """
    design, v = np.ones(column.values.size), column.variances
    mean, scores = mean_of_members(column.values[:, None], v, weights, design, population=population)
    total = float(weights.sum())
    if math.isnan(mean.value) or total <= max(ddof, 1):
        return UNKNOWN, scores
    squares = (column.values - mean.value) ** 2 - v
    noise = 4 * v * squares + column.fourth_moments - v**2
    found, scores = mean_of_members(squares[:, None], noise, weights, design, population=population)
    share = (total - population) / (total - ddof)
    scores = replace(scores, constant=scores.constant * share**2, linear=scores.linear * share)
    return Figure((found.value + mean.error**2) * share, found.error * share), scores


def correlation_of(first: NoisyColumn, second: NoisyColumn, /, *, population: bool) -> tuple[Figure, Scores]:
    r"""The correlation of the values of two columns with independent noise, and its scores; NaN if a spread is hidden.

    The estimate is that of the corrected covariance and variances. With A and B the noisy values, in standard
    deviations of the raw ones, and v, w the variances of their noise, its variance is to first order that of

    .. math:: C - \frac r2 (P + Q) = \frac1n \sum AB - \frac r2 (A^2 - v + B^2 - w).

    For the table the variances of these sums have the terms :math:`a^2 w + b^2 v + vw`, :math:`4 a^2 v + E N^4 - v^2`
    and :math:`4 b^2 w + E M^4 - w^2`, each estimated without bias, and C shares :math:`2 a b v` with P, :math:`2 a b w`
    with Q. For the population they are those of the terms themselves.
    """
    n = first.values.size
    spreads = [variance_of(column, population=False, ddof=0) for column in (first, second)]
    if any(not spread.value > CLEAR * spread.error for spread in spreads):
        return UNKNOWN, Scores(constant=math.nan, linear=0.0, square=0.0)
    sizes = [math.sqrt(spread.value) for spread in spreads]
    a, b = ((column.values - column.values.mean()) / size for column, size in zip((first, second), sizes, strict=True))
    v, w = (column.variances / size**2 for column, size in zip((first, second), sizes, strict=True))
    r = float(a @ b) / n
    squares = a**2 - v, b**2 - w
    if population:
        sums = np.cov([a * b, *squares], ddof=0) / n
    else:
        tails = first.fourth_moments / sizes[0] ** 4 - v**2, second.fourth_moments / sizes[1] ** 4 - w**2
        products = max(float(squares[0] @ w), 0.0) + max(float(squares[1] @ v), 0.0) + float(v @ w)
        own = (max(4 * float(o @ z), 0.0) + float(t.sum()) for o, z, t in zip((v, w), squares, tails, strict=True))
        sums = np.diag([products, *own])
        sums[0, 1:] = sums[1:, 0] = 2 * float((a * b) @ v), 2 * float((a * b) @ w)
        sums /= n**2
    pull = np.array([1.0, -r / 2, -r / 2])
    constant, linear, square = pull @ sums @ pull, -sums[1:].sum(axis=0) @ pull, sums[1:, 1:].sum() / 4
    if not (v.any() or w.any()):  # nothing is hidden: the normal interval
        linear = square = 0.0
    scores = CorrelationScores(
        constant=float(constant),
        linear=float(linear),
        square=float(square),
        value=r,
        sums=sums,
        cuts=(CLEAR * spreads[0].error / spreads[0].value, CLEAR * spreads[1].error / spreads[1].value),
    )
    return Figure(r, math.sqrt(max(scores.constant, 0.0))), scores
