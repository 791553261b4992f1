"""Moments and regressions behind noise: unbiased, and with the right standard errors."""

import functools
import itertools
import math

import numpy as np
import pytest
from conftest import few, sweep
from scipy import stats

from puffer_frames import Gaussian, Laplace, Stable
from puffer_frames.verbs.estimating.estimated import CLEAR, Scores
from puffer_frames.verbs.estimating.moments import correlation_of, covariance_of, mean_of, regression, variance_of
from puffer_frames.verbs.estimating.released_columns import NoisyColumn

RNG = np.random.default_rng(5)
ROWS = 400
X = np.sort(RNG.gamma(2.0, 3.0, ROWS))
Z = 0.7 * X + RNG.normal(0, 2, ROWS)
Y = 1.0 + 2.0 * X - 0.5 * Z + RNG.gamma(1.0, 2.0, ROWS)
PLACES = np.arange(ROWS) % 3
REPEATS = 1000
NOISES = {
    "Laplace": (Laplace(scale=2.0),),
    "Gaussian": (Gaussian(scale=2.5),),
    "strata": (Laplace(scale=0.7), None, Laplace(scale=3.0)),
}
FOUR = 4.0
"""A mean of independent repeats is within so many standard errors of its expectation, but for 1 in 16,000."""


def noise_of(noises, rng, places=PLACES):
    """Independent noise, by NumPy."""
    found = np.zeros(places.size)
    for k, noise in enumerate(noises):
        rows = places % len(noises) == k
        if isinstance(noise, Laplace):
            found[rows] = rng.laplace(0, noise.scale, rows.sum())
        elif isinstance(noise, Gaussian):
            found[rows] = rng.normal(0, noise.scale, rows.sum())
    return found


def column(values, noises):
    return NoisyColumn(values=values, noises=noises, places=PLACES % len(noises))


def released(x, noises, rng):
    return column(x + noise_of(noises, rng), noises)


def figures(statistic, *columns, seed):
    """The values of a statistic in many releases of the same rows, and its standard errors."""
    rng = np.random.default_rng(seed)
    found = [statistic(*(released(x, noises, rng) for x, noises in columns)) for _ in range(REPEATS)]
    return np.array([figure.value for figure in found]), np.array([figure.error for figure in found])


def check(values, errors, truth):
    """Unbiased, and the standard error is the standard deviation, each up to chance."""
    spread = values.std(ddof=1)
    assert abs(values.mean() - truth) < FOUR * spread / math.sqrt(REPEATS)
    kurtosis = ((values - values.mean()) ** 4).mean() / spread**4
    chance = FOUR * math.sqrt((kurtosis - 1) / REPEATS)
    assert math.sqrt((errors**2).mean()) / spread == pytest.approx(1, abs=chance / 2)


@pytest.mark.parametrize("noises", NOISES.values(), ids=list(NOISES))
def test_means(noises):
    check(*figures(lambda own: mean_of(own, population=False), (X, noises), seed=1), X.mean())


@pytest.mark.parametrize("noises", NOISES.values(), ids=list(NOISES))
@pytest.mark.parametrize("ddof", [0, 1])
def test_variances(noises, ddof):
    check(*figures(lambda own: variance_of(own, population=False, ddof=ddof), (X, noises), seed=2), X.var(ddof=ddof))


@pytest.mark.parametrize("noises", NOISES.values(), ids=list(NOISES))
@pytest.mark.parametrize("others", [(Laplace(scale=1.5),), (None,)], ids=["noisy", "kept"])
def test_covariances(noises, others):
    found = figures(lambda a, b: covariance_of(a, b, population=False), (X, noises), (Z, others), seed=3)
    check(*found, np.cov(X, Z)[0, 1])


def test_the_population_is_estimated_with_the_chance_of_its_rows():
    """Fresh rows in every release; an exponential law of mean 3."""
    rng, noise = np.random.default_rng(4), (Laplace(scale=1.0),)
    found = {"mean": [], "variance": [], "covariance": []}
    for _ in range(REPEATS):
        x, z = rng.exponential(3.0, (2, ROWS))
        own, other = released(x, noise, rng), released(x + z, noise, rng)
        found["mean"].append(mean_of(own, population=True))
        found["variance"].append(variance_of(own, population=True))
        found["covariance"].append(covariance_of(own, other, population=True))
    for name, truth in (("mean", 3.0), ("variance", 9.0), ("covariance", 9.0)):
        values, errors = (np.array([getattr(each, part) for each in found[name]]) for part in ("value", "error"))
        assert abs(values.mean() - truth) < FOUR * values.std() / math.sqrt(REPEATS)
        assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.1)


def test_the_identities_hold_term_by_term():
    """E[y^2 - v] = x^2 by quadrature over the law itself."""
    for noise in (Laplace(scale=1.3), Gaussian(scale=1.3)):
        z, step = np.linspace(-80, 80, 2_000_001, retstep=True)
        density = np.exp(noise.log_density(z))
        for power, moment in ((2, noise.variance), (4, noise.fourth_moment)):
            assert step * float(density @ z**power) == pytest.approx(moment, rel=1e-6)
    assert Stable(scale=1.0, alpha=1.5).fourth_moment == math.inf


@functools.cache
def coefficients(seed, y_noises, noises, repeats=REPEATS, *, fault=None):
    """Coefficients and standard errors in many releases, with a planted fault."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(repeats):
        on = [released(x, own, rng) for x, own in zip((X, Z), noises, strict=True)]
        y = released(Y, y_noises, rng)
        if fault is not None:  # the noise that the estimate believes in
            on = [column(own.values, fault(own.noises)) for own in on]
        fit = regression(y, on, population=False)
        found.append((fit.coefficients, np.sqrt(np.diag(fit.covariance))))
    return np.array([one for one, _ in found]), np.array([one for _, one in found])


TRUTH = np.linalg.lstsq(np.column_stack([np.ones(ROWS), X, Z]), Y, rcond=None)[0]
LITTLE = ((Laplace(scale=0.6),), (Gaussian(scale=0.8),))


def biased(found):
    """By how many standard errors of the mean the estimates are off."""
    return np.abs(found.mean(axis=0) - TRUTH) / (found.std(axis=0) / math.sqrt(len(found)))


@few(2)
@pytest.mark.parametrize("y", [(None,), (Laplace(scale=2.0),), NOISES["strata"]], ids=["kept", "noisy", "strata"])
@pytest.mark.parametrize("on", [LITTLE, ((Laplace(scale=0.4), None), (None,))], ids=["noisy", "some noisy"])
def test_regressions(y, on):
    found, errors = coefficients(6, y, on)
    # the inverse of a noisy matrix is off by a share of 1/n
    off = np.abs(found.mean(axis=0) - TRUTH)
    assert (off < 0.1 * found.std(axis=0)).all()
    assert np.sqrt((errors**2).mean(axis=0)) == pytest.approx(found.std(axis=0), rel=0.1)
    covered = (np.abs(found - TRUTH) < 1.96 * errors).mean(axis=0)
    assert (np.abs(covered - 0.95) < 0.03).all()


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(lambda own: (None,) * len(own), id="2b^2 forgotten"),
        pytest.param(lambda own: tuple(noise.at(noise.scale / math.sqrt(2)) for noise in own), id="b^2 for 2b^2"),
        pytest.param(lambda own: tuple(noise.at(noise.scale * 1.3) for noise in own), id="1.3 times the scale"),
    ],
)
def test_wrong_corrections_are_found(fault):
    right, _ = coefficients(7, (None,), LITTLE, repeats=300)
    wrong, _ = coefficients(7, (None,), LITTLE, repeats=300, fault=fault)
    assert biased(right).max() < FOUR
    assert biased(wrong).max() > 2 * FOUR
    rng = np.random.default_rng(8)
    spreads = [
        variance_of(column(released(X, LITTLE[0], rng).values, fault(LITTLE[0])), population=False) for _ in range(900)
    ]
    values = np.array([each.value for each in spreads])
    assert abs(values.mean() - X.var(ddof=1)) > FOUR * values.std() / 30


def test_without_noise_it_is_least_squares():
    exact = [NoisyColumn.exact(x) for x in (X, Z)]
    fit = regression(NoisyColumn.exact(Y), exact, population=False)
    assert fit.coefficients == pytest.approx(TRUTH, rel=1e-10)
    assert np.abs(fit.covariance).max() < 1e-20
    robust = regression(NoisyColumn.exact(Y), exact, population=True)
    design = np.column_stack([np.ones(ROWS), X, Z])
    residuals = Y - design @ TRUTH
    bread = np.linalg.inv(design.T @ design)
    white = bread @ (design.T * residuals**2) @ design @ bread  # HC0
    assert robust.covariance == pytest.approx(white, rel=1e-8)
    few = regression(NoisyColumn.exact(Y[:9]), [NoisyColumn.exact(X[:9])], population=True)
    assert few.clearance > 1e9
    reach = stats.norm.ppf(0.975) * math.sqrt(few.covariance[1, 1])
    assert few.scores[1].interval(0.95) == pytest.approx((-reach, reach))
    assert fit.clearance > 1e9
    assert variance_of(exact[0], population=False).error == 0


def test_swamped_and_dependent_columns_are_not_clear():
    rng, y = np.random.default_rng(9), NoisyColumn.exact(Y)
    swamped = [regression(y, [released(X, (Laplace(scale=60.0),), rng)], population=False) for _ in range(20)]
    assert all(fit is None or fit.clearance < 3 for fit in swamped)
    for on in ([X, 2 * X], [np.ones(ROWS)]):
        assert regression(y, [NoisyColumn.exact(x) for x in on], population=False) is None
    assert regression(y, [released(X, (Laplace(scale=1.0),), rng)], population=False).clearance > 10


def answers(noise, releases, *, seed, y_noise=2.0):
    """Of the releases that are not refused: whether the interval of the slope holds, and the normal one."""
    rng, held, normal = np.random.default_rng(seed), [], []
    slope = np.polyfit(X, Y, 1)[0]
    for _ in range(releases):
        on = [released(X, (Laplace(scale=noise),), rng)]
        fit = regression(released(Y, (Laplace(scale=y_noise),), rng), on, population=False)
        if fit is not None and fit.clearance > CLEAR:
            low, high = fit.coefficients[1] + np.array(fit.scores[1].interval(0.95))
            assert math.isfinite(high - low)
            held.append(low <= slope <= high)
            normal.append(abs(fit.coefficients[1] - slope) <= 1.96 * math.sqrt(fit.covariance[1, 1]))
    return np.array(held), np.array(normal)


@sweep(250, 4000)
def test_intervals_of_slopes_hold_among_the_answers_near_the_refusal(count):
    held, normal = answers(5.5, count, seed=11)
    assert 0.1 < held.size / count < 0.6
    sure = FOUR * math.sqrt(0.95 * 0.05 / held.size)
    assert 0.95 - min(sure, 0.02 if count == 4000 else 1) <= held.mean()
    assert normal.mean() < 0.95 - sure  # the interval that takes no note of the refusal


def test_intervals_of_slopes_far_from_the_refusal():
    held, _ = answers(2.5, 250, seed=12)
    assert held.size == 250
    assert abs(held.mean() - 0.95) < FOUR * math.sqrt(0.95 * 0.05 / 250)


@sweep(800, 4000)
@pytest.mark.parametrize("noise", [(5.6, 4.4), (6.0, 0.0)], ids=["both noisy", "one noisy"])
def test_intervals_of_correlations_hold_among_the_answers_near_the_refusal(noise, count):
    rng, held, normal = np.random.default_rng(15), [], []
    noises = [(Laplace(scale=scale) if scale else None,) for scale in noise]
    true = np.corrcoef(X, Z)[0, 1]
    for _ in range(count):
        figure, scores = correlation_of(*map(released, (X, Z), noises, (rng, rng)), population=False)
        if not math.isnan(figure.value):
            low, high = figure.value + np.array(scores.interval(0.95))
            assert -1 <= low <= high <= 1
            held.append(low <= true <= high)
            normal.append(abs(figure.value - true) <= 1.96 * figure.error)
    assert 0.03 < len(held) / count < 0.2
    sure = FOUR * math.sqrt(0.95 * 0.05 / len(held))
    assert 0.95 - min(sure, 0.02 if count == 4000 else 1) <= np.mean(held)
    assert np.mean(normal) < 0.95 - sure  # the interval that takes no note of the refusal


def test_intervals_of_correlations_far_from_the_refusal():
    """Those of the estimate and its standard error."""
    rng = np.random.default_rng(16)
    for noises, population in (((Laplace(scale=0.3),), False), ((None,), True)):
        figure, scores = correlation_of(released(X, noises, rng), released(Z, noises, rng), population=population)
        reach = 1.96 * figure.error
        assert scores.interval(0.95) == pytest.approx((-reach, reach), rel=0.05)


@pytest.mark.parametrize(("mean", "correlation"), [(1.5, -0.8), (3.0, -0.8), (3.0, 0.0), (4.5, 0.95)])
def test_score_intervals_hold_given_an_answer(mean, correlation):
    """Of normal sums A and B with the ratio 2, drawn given that B is clear of 0."""
    rng, held, truth = np.random.default_rng(13), [], 2.0
    while len(held) < 100:
        score, own = rng.standard_normal((2, 100_000))
        b = mean + correlation * score + math.sqrt(1 - correlation**2) * own
        clear = np.flatnonzero(b > CLEAR)[: 100 - len(held)]
        for t, denominator in zip(score[clear], b[clear], strict=True):  # A - 2 B and B have the deviation 1
            estimate = (t + truth * denominator) / denominator
            moved = estimate - truth
            # var(A - b B) = var(T) - 2 (b - 2) cov(T, B) + (b - 2)^2 var(B)
            constant, linear = 1 - 2 * moved * correlation + moved**2, 2 * moved - 2 * correlation
            scores = Scores(constant=constant / denominator**2, linear=linear / denominator**2, square=denominator**-2)
            low, high = scores.interval(0.95)
            held.append(low <= -moved <= high)
    assert np.mean(held) > 0.95 - FOUR * math.sqrt(0.95 * 0.05 / 100)


def test_score_intervals_far_from_the_refusal_are_those_of_fieller():
    scores = Scores(constant=0.04, linear=-0.003, square=0.0004, cut=3.0)
    z = 1.959963984540054
    roots = np.roots([1 - z**2 * 0.0004, z**2 * 0.003, -(z**2) * 0.04])
    assert scores.interval(0.95) == pytest.approx(tuple(sorted(roots.tolist())), rel=1e-6)
    exact = Scores(constant=0.04, linear=0.0, square=0.0).interval(0.95)
    assert exact == pytest.approx((-0.2 * z, 0.2 * z))


@pytest.mark.parametrize("rows", [2, 5])
def test_means_of_few_draws_of_a_population(rows):
    """Normal draws: Student's intervals hold for any number of rows."""
    rng, held = np.random.default_rng(14), []
    for _ in range(2000):
        figure = mean_of(NoisyColumn.exact(rng.normal(3.0, 1.0, rows)), population=True)
        reach = stats.t.ppf(0.975, figure.freedom) * figure.error
        held.append(abs(figure.value - 3.0) <= reach)
    assert np.mean(held) == pytest.approx(0.95, abs=FOUR * math.sqrt(0.95 * 0.05 / 2000))
    assert math.isnan(variance_of(NoisyColumn.exact(X[:2]), population=True).error)


def test_few_rows():
    for rows, statistic in itertools.product(
        (0, 1), (variance_of, lambda own, population: mean_of(own, population=True))
    ):
        assert math.isnan(statistic(NoisyColumn.exact(X[:rows]), population=False).value)
    assert mean_of(NoisyColumn.exact(X[:1]), population=False).value == X[0]
