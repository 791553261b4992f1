"""Fits of Gaussians and mixtures beside scikit-learn, and which theorem and model a table gets by them."""

import math

import numpy as np
import pytest
from conftest import few, thinned
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, PriorError
from puffer_frames.priors import fitting
from puffer_frames.priors.fitting import common_variance_preferred, em_step, fit_best, fit_gaussian, fit_mixture

N = 3000


def columns():
    rng = np.random.default_rng(7)
    return {
        "separated": np.r_[rng.normal(0, 1, N // 2), rng.normal(8, 1, N // 4), rng.normal(20, 3, N // 4)],
        "overlapping": np.r_[rng.normal(0, 1, N // 2), rng.normal(1.5, 1, N // 2)],
        "normal": rng.normal(50, 5, N),
        "skewed": rng.exponential(3, N),
        "log-normal": np.exp(rng.normal(0, 1, N)),
        "heavy tails": rng.standard_t(3, N),
        "integers": np.round(rng.gamma(4, 10, N)),
        "two decimals": np.round(rng.normal(0, 1, N), 2),
        "narrow part": np.r_[np.round(rng.normal(0, 1, N), 1), rng.normal(3, 0.05, N // 10)],
    }


COLUMNS = columns()


def counted(column):
    return np.unique(column, return_counts=True)


def scikit_learn(column, *, components, seed=0, grouped=True):
    """GaussianMixture on the rows themselves, from the start that fit_mixture takes."""
    sample = fitting._sample(*counted(column))
    points = fitting._compressed(sample.scores, sample.shares) if grouped else (sample.scores, sample.shares)
    weights, means, stds = fitting._start(*points, components=components, seed=seed)
    model = GaussianMixture(
        components,
        tol=1e-7,
        max_iter=10_000,
        reg_covar=1e-9,
        weights_init=weights / weights.sum(),
        means_init=(sample.mean + sample.std * means)[:, None],
        precisions_init=((sample.std * stds) ** -2.0)[:, None, None],
        init_params="random_from_data",
        random_state=0,
    ).fit(column[:, None])
    order = np.argsort(model.means_[:, 0])
    return model, model.weights_[order], model.means_[order, 0], np.sqrt(model.covariances_[order, 0, 0])


def shape(prior):
    return np.array([prior.weights, prior.means, prior.stds])


# Gaussian


@pytest.mark.parametrize("name", COLUMNS)
def test_gaussians_and_grouped_values_have_the_moments_of_the_rows(name):
    prior = fit_gaussian(*counted(COLUMNS[name]))
    assert prior.means[0] == pytest.approx(np.mean(COLUMNS[name]), rel=1e-12, abs=1e-14)
    assert prior.stds[0] == pytest.approx(np.std(COLUMNS[name]), rel=1e-12)
    sample = fitting._sample(*counted(COLUMNS[name]))
    x, p = fitting._compressed(sample.scores, sample.shares)
    assert x.size <= 1024
    assert p.sum() == pytest.approx(1)
    assert p @ x == pytest.approx(0, abs=1e-13)
    assert p @ x**2 == pytest.approx(1)


def test_gaussian_is_exact_where_its_moments_are():
    assert fit_gaussian([0.1, 0.1, 0.1], [1, 3, 7]) == Prior.gaussian(0.1, 0.0)
    # 1e12 + k is exact, so the moments of 0..9 are exact too.
    prior = fit_gaussian(1e12 + np.arange(10), np.ones(10))
    assert prior.means[0] == 1e12 + 4.5
    assert prior.stds[0] == pytest.approx(math.sqrt(8.25), rel=1e-14)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_gaussian_of_tiny_and_huge_values(unit):
    prior = fit_gaussian(unit * np.array([-1.0, 1.0, 3.0]), [1, 2, 1])
    assert prior.means[0] / unit == pytest.approx(1.0)
    assert prior.stds[0] / unit == pytest.approx(math.sqrt(2))


# Mixture


@few(2)
@pytest.mark.parametrize(("name", "components"), thinned(COLUMNS, [2, 3, 4]))
def test_mixture_agrees_with_scikit_learn_on_the_rows(name, components):
    column = COLUMNS[name]
    prior = fit_mixture(*counted(column), components=components)
    model, weights, means, stds = scikit_learn(column, components=components)
    assert prior.means.shape == means.shape
    # On a flat ridge both stop where a step gains less than 1e-7: leaps get no less far along it.
    assert mean_log_likelihood(column, prior) >= model.score(column[:, None]) - 1e-6
    if components == 4:  # one too many for these columns: where the ridge ends says nothing
        return
    near = 1e-3 if name == "separated" else 1e-2
    assert np.abs((prior.means - means) / stds).max() < near
    assert np.abs(prior.stds / stds - 1).max() < near
    assert np.abs(prior.weights - weights).max() < near


def mean_log_likelihood(column, prior):
    return np.log((prior.weights * norm.pdf(column[:, None], prior.means, prior.stds)).sum(axis=1)).mean()


@pytest.mark.parametrize("name", ["separated", "skewed", "log-normal"])
def test_start_on_grouped_values_is_that_on_the_values(name):
    column = COLUMNS[name]
    _, weights, means, stds = scikit_learn(column, components=3, grouped=False)
    prior = fit_mixture(*counted(column), components=3)
    # Near-converged from starts a little apart: the tolerance is that of the stopping rule.
    assert np.abs((prior.means - means) / stds).max() < 0.02
    assert np.abs(prior.weights - weights).max() < 0.02


def test_frequent_values_are_not_grouped():
    rng = np.random.default_rng(0)
    column = np.r_[rng.normal(size=N), np.full(N // 10, 0.125)]
    sample = fitting._sample(*counted(column))
    x, p = fitting._compressed(sample.scores, sample.shares)
    spike = np.flatnonzero(sample.values == 0.125)[0]
    assert p[x == sample.scores[spike]] == pytest.approx(sample.shares[spike], rel=1e-12)


@pytest.mark.parametrize(("name", "components"), thinned(list(COLUMNS), [1, 2, 4]))
def test_mixture_keeps_mean_and_variance(name, components):
    prior = fit_mixture(*counted(COLUMNS[name]), components=components)
    assert prior.mean == pytest.approx(np.mean(COLUMNS[name]), rel=1e-10, abs=1e-10)
    assert prior.std == pytest.approx(np.std(COLUMNS[name]), rel=1e-10)


def test_mixtures_that_are_known():
    quantiles = norm.ppf((np.arange(3000) + 0.5) / 3000)
    values = np.r_[quantiles, 10 + 0.5 * quantiles]
    counts = np.r_[np.full(3000, 3), np.full(3000, 1)]
    assert shape(fit_mixture(values, counts, components=2)) == pytest.approx(
        np.array([[0.75, 0.25], [0, 10], [1, 0.5]]), abs=2e-3
    )
    data = counted(COLUMNS["skewed"])
    assert fit_mixture(*data, components=1) == fit_gaussian(*data)
    for components in (3, 4, 10):
        prior = fit_mixture([5, 1, 2, 1], [2, 1, 4, 2], components=components)
        assert prior == Prior.empirical([1, 2, 5], [3, 4, 2])
        assert prior.levels[0].tolist() == [3, 4, 2]
    assert fit_mixture([0.1, 0.7], [1, 3], components=5) == Prior.empirical([0.1, 0.7], [1, 3])
    assert fit_mixture([0.1, 0.7], [1, 3], components=1).is_discrete is False
    prior = fit_mixture([0, 1e-5, 2e-5, 1, 1.1], [1, 2, 1, 1, 1], components=2)
    assert prior.stds[0] == pytest.approx(1e-5 / math.sqrt(2), rel=1e-6)


@pytest.mark.parametrize("components", [1, 2, 5])
def test_constant_column(components):
    assert fit_mixture([0.3, 0.3], [4, 5], components=components) == Prior.gaussian(0.3, 0)


def test_atoms_far_values_and_large_offsets():
    rng = np.random.default_rng(0)
    column = np.r_[np.full(2000, 0.1), rng.normal(10, 1, 5000)]
    prior = fit_mixture(*counted(column), components=2)
    assert (prior.means[0], prior.stds[0]) == (0.1, 0.0)
    assert prior.weights[0] == pytest.approx(2 / 7)
    assert prior.stds[1] == pytest.approx(column[2000:].std())
    rng = np.random.default_rng(0)
    column = np.r_[rng.normal(0, 1, 3000), rng.normal(9, 1, 3000), 1e5]
    prior = fit_mixture(*counted(column), components=3)
    assert prior.means == pytest.approx([column[:3000].mean(), column[3000:6000].mean(), 1e5], abs=1e-2)
    assert prior.stds == pytest.approx([column[:3000].std(), column[3000:6000].std(), 0], abs=1e-2)
    rng = np.random.default_rng(0)
    offset = 1e12
    column = offset + np.r_[rng.normal(0, 1, 3000), rng.normal(10, 1, 3000)]
    prior = fit_mixture(*counted(column), components=2)
    assert prior.means - offset == pytest.approx(
        [(column[:3000] - offset).mean(), (column[3000:] - offset).mean()], abs=1e-3
    )
    assert prior.stds == pytest.approx([column[:3000].std(), column[3000:].std()], rel=1e-3)


def test_steps_of_the_iteration():
    x, p = np.array([0.0, 1.0, 2.0]), np.ones(3) / 3
    _, (weights, means, stds) = em_step(x, p, *np.array([[0.5, 0.5], [1.0, 1e6], [1.0, 1.0]]))
    assert weights.tolist() == [1.0, 0.0]
    assert np.isfinite(means).all()
    assert np.isfinite(stds).all()
    data = counted(COLUMNS["overlapping"])
    assert fit_mixture(*data, components=3, max_iterations=1) != fit_mixture(*data, components=3)


# Invariances


@few(1)
@pytest.mark.parametrize("name", ["separated", "skewed", "integers"])
def test_equal_seeds_give_equal_priors(name):
    data = counted(COLUMNS[name])
    assert fit_mixture(*data, components=4, seed=3) == fit_mixture(*data, components=4, seed=3)
    assert fit_best(*data, seed=3) == fit_best(*data, seed=3)


@pytest.mark.parametrize("name", ["separated", "integers"])
def test_indifferent_to_order_and_to_splitting_counts(name):
    values, counts = counted(COLUMNS[name])
    order = np.random.default_rng(0).permutation(values.size)
    whole = fit_mixture(values, 7 * counts, components=3)
    split = fit_mixture(np.r_[values, values[order]], np.r_[2 * counts, 5 * counts[order]], components=3)
    assert split == whole
    assert fit_mixture(values, counts, components=3) == whole


@pytest.mark.parametrize(
    ("name", "moves"),
    thinned(["separated", "skewed", "integers"], [(1e-9, 0), (3.7, -20), (1e200, 0), (1, 1e6), (1024, 2.0**40)]),
)
def test_follows_unit_and_origin(name, moves):
    scale, shift = moves
    values, counts = counted(COLUMNS[name])
    prior = fit_mixture(values, counts, components=3)
    moved = fit_mixture(scale * values + shift, counts, components=3)
    assert moved.weights == pytest.approx(prior.weights, abs=1e-5)
    assert (moved.means - shift) / scale == pytest.approx(prior.means, abs=1e-5 * prior.stds.min())
    assert moved.stds / scale == pytest.approx(prior.stds, rel=1e-5)


@few(2)
@pytest.mark.parametrize("seed", [0, 1, 2, 4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 5, 6, 7))])
def test_awkward_data_give_a_prior_within_the_range_without_a_warning(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([3, 10, 200, 2000]))
    for column in (
        rng.integers(0, 4, n) * 1.0,
        np.exp(rng.normal(0, 8, n)),
        rng.standard_cauchy(n),
        np.r_[np.zeros(n), rng.normal(size=n)],
        rng.choice([0, 1e-300, 2e-300, 1, 3, 1e10], n),
        1 + 1e-9 * rng.normal(size=n),
        1e140 * np.r_[rng.normal(size=n), 1e9],
    ):
        counts = rng.choice([1, 2, 1000, 10**9], column.size)
        for components in (2, 5):
            prior = fit_mixture(column, counts, components=components)
            slack = 1e-9 * np.ptp(column) + 1e-12 * np.abs(column).max()
            assert prior.weights.size <= components
            assert prior.weights.sum() == pytest.approx(1)
            assert column.min() - slack <= prior.means.min() <= prior.means.max() <= column.max() + slack
            assert (prior.stds <= np.ptp(column)).all()
        assert math.isfinite(fit_best(column, counts)[1])


# Errors


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([], []),
        ([1234.5], [1, 2]),
        ([1234.5, math.nan], [1, 1]),
        ([1234.5, math.inf], [1, 1]),
        ([1234.5], [-1]),
        ([1234.5, 1234.5], [0, 0]),
        ([[1234.5]], [[1]]),
    ],
)
def test_bad_data_are_refused_without_showing_them(values, counts):
    for call in (
        lambda: fit_gaussian(values, counts),
        lambda: fit_mixture(values, counts, components=2),
        lambda: fit_best(values, counts),
        lambda: common_variance_preferred([(values, counts)]),
    ):
        with pytest.raises(PriorError) as caught:
            call()
        assert "1234" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"components": 0}, {"components": 2, "tolerance": -1.0}, {"components": 2, "max_iterations": 0}]
)
def test_bad_options(options):
    with pytest.raises(ArgumentError, match="at least"):
        fit_mixture([1, 2, 3], [1, 1, 1], **options)
    with pytest.raises(ArgumentError, match="at least 1"):
        fit_best([1, 2, 3], [1, 1, 1], most=0)


@few(1)
@pytest.mark.parametrize("seed", range(6))
def test_no_number_of_components_after_two_in_vain_is_better(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(100, 3000))
    centres = rng.normal(0, 4, rng.integers(1, 5))
    values, counts = counted(rng.normal(centres[rng.integers(0, centres.size, size)], rng.uniform(0.3, 2)))
    sample = fitting._sample(values, counts)
    scores = [fitting._bic(fit_mixture(values, counts, components=k), sample) for k in range(1, 6)]
    assert fit_best(values, counts)[1] == min(scores)


def bic(prior, values, counts):
    return fitting._bic(prior, fitting._sample(values, counts))


# BIC


@few(1)
@pytest.mark.parametrize(("name", "tolerance"), [("overlapping", 0.5), ("normal", 0.5), ("separated", 10)])
def test_bic_differs_from_scikit_learns_by_a_constant(name, tolerance):
    column = COLUMNS[name]
    values, counts = counted(column)
    theirs = [scikit_learn(column, components=k)[0].bic(column[:, None]) for k in (1, 2, 3)]
    ours = [bic(fit_mixture(values, counts, components=k), values, counts) for k in (1, 2, 3)]
    # The density changes within the cells of the few values next to a gap; a component here is worth 1600 and more.
    assert np.diff(ours) == pytest.approx(np.diff(theirs), abs=tolerance)


def test_bic_by_hand():
    # Cells [-0.5, 0.5], [0.5, 1.5], [1.5, 2.5].
    cells = np.diff(norm.cdf([-0.5, 0.5, 1.5, 2.5], loc=0.8, scale=0.7))
    expected = -2 * (5 * math.log(cells[0]) + 3 * math.log(cells[1]) + 2 * math.log(cells[2])) + 2 * math.log(10)
    assert bic(Prior.gaussian(0.8, 0.7), [0, 1, 2], [5, 3, 2]) == pytest.approx(expected, rel=1e-12)
    expected = -2 * (5 * math.log(0.5) + 3 * math.log(0.3) + 2 * math.log(0.2)) + 8 * math.log(10)
    assert bic(Prior.empirical([0, 1, 5], [5, 3, 2]), [0, 1, 5], [5, 3, 2]) == pytest.approx(expected, rel=1e-12)
    assert bic(Prior.gaussian(3, 0), [3], [10]) == pytest.approx(2 * math.log(10))
    assert math.isfinite(bic(Prior.gaussian(0, 1), [0, 1e9], [10, 1]))


@few(2)
@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(0, 1, 3000)], 1),
        ([(0, 1, 3000), (6, 1, 2000)], 2),
        ([(0, 1, 3000), (0, 5, 2000)], 2),
        ([(0, 1, 2000), (8, 2, 2000), (30, 1, 500)], 3),
        ([(0, 1, 2000), (8, 1, 2000), (16, 1, 2000), (24, 1, 2000)], 4),
    ],
)
@pytest.mark.parametrize("decimals", [1, 15])
def test_best_number_of_components(parts, expected, decimals):
    rng = np.random.default_rng(11)
    column = np.round(np.concatenate([rng.normal(*part) for part in parts]), decimals)
    prior, score = fit_best(*counted(column))
    assert prior.weights.size == expected
    assert prior.stds.min() > 0
    assert score == pytest.approx(bic(prior, *counted(column)), rel=1e-12)


def test_best_takes_an_atom_only_where_there_is_one_and_no_more_than_asked():
    rng = np.random.default_rng(2)
    column = np.r_[np.zeros(3000), np.round(rng.normal(40, 5, 3000), 1)]
    prior, _ = fit_best(*counted(column))
    assert prior.stds[0] == 0
    assert prior.means == pytest.approx([0, 40], abs=0.5)
    rng = np.random.default_rng(4)
    prior, _ = fit_best(*counted(np.r_[rng.normal(0, 1, 300), 4.0]))
    assert prior.stds.min() > 0.5
    assert fit_best(*counted(COLUMNS["separated"]), most=2)[0].weights.size == 2
    assert fit_best([4, 4], [1, 2])[0] == Prior.gaussian(4, 0)


# Common variance


def grouped(*stds, n=500):
    rng = np.random.default_rng(3)
    return [counted(rng.normal(10 * k, std, n)) for k, std in enumerate(stds)]


def test_common_variance_where_it_is_common():
    assert common_variance_preferred(grouped(2, 2, 2))
    assert not common_variance_preferred(grouped(2, 2, 3))
    assert common_variance_preferred(grouped(2, 2.1, n=50))
    assert common_variance_preferred([([0, 1e200], [1, 1]), ([0, 1e200], [1, 1])])
    assert common_variance_preferred([([1], [5]), ([2], [5])])
    assert not common_variance_preferred([([1], [5]), ([2, 3], [5, 5])])
    assert common_variance_preferred(grouped(1))
    with pytest.raises(PriorError, match="at least one secret"):
        common_variance_preferred([])


@pytest.mark.parametrize("stds", [(1, 1), (1, 1.1), (1, 1.2), (1, 1.1, 0.9), (3, 2)])
def test_common_variance_against_the_two_likelihoods(stds):
    groups = grouped(*stds, n=200)
    rows = [np.repeat(*group) for group in groups]
    n = sum(row.size for row in rows)
    pooled = math.sqrt(sum(row.var() * row.size for row in rows) / n)
    own = sum(norm.logpdf(row, row.mean(), row.std()).sum() for row in rows)
    common = sum(norm.logpdf(row, row.mean(), pooled).sum() for row in rows)
    bic_own, bic_common = -2 * own + 2 * len(rows) * math.log(n), -2 * common + (len(rows) + 1) * math.log(n)
    assert common_variance_preferred(groups) is bool(bic_common <= bic_own)
