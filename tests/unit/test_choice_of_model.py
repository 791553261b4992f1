import math

import numpy as np
import pytest
from conftest import few
from fitted_columns import COLUMNS, counted, scikit_learn
from scipy.stats import norm

from puffer_frames.core import Prior
from puffer_frames.errors import PriorError
from puffer_frames.priors import fitting
from puffer_frames.priors.fitting import common_variance_preferred, fit_best, fit_mixture


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


def test_bic_of_atoms_is_that_of_their_weights():
    expected = -2 * (5 * math.log(0.5) + 3 * math.log(0.3) + 2 * math.log(0.2)) + 8 * math.log(10)
    assert bic(Prior.empirical([0, 1, 5], [5, 3, 2]), [0, 1, 5], [5, 3, 2]) == pytest.approx(expected, rel=1e-12)


def test_bic_of_a_point_mass_on_a_constant_column():
    assert bic(Prior.gaussian(3, 0), [3], [10]) == pytest.approx(2 * math.log(10))


def test_bic_is_finite_where_the_prior_says_impossible():
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


def test_best_takes_an_atom_where_there_is_one():
    rng = np.random.default_rng(2)
    column = np.r_[np.zeros(3000), np.round(rng.normal(40, 5, 3000), 1)]
    prior, _ = fit_best(*counted(column))
    assert prior.stds[0] == 0
    assert prior.means == pytest.approx([0, 40], abs=0.5)


def test_best_does_not_take_single_far_values_for_atoms():
    rng = np.random.default_rng(4)
    prior, _ = fit_best(*counted(np.r_[rng.normal(0, 1, 300), 4.0]))
    assert prior.stds.min() > 0.5


def test_best_tries_no_more_than_asked():
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


def test_common_variance_of_constant_groups():
    assert common_variance_preferred([([1], [5]), ([2], [5])])
    assert not common_variance_preferred([([1], [5]), ([2, 3], [5, 5])])
    assert common_variance_preferred(grouped(1))


def test_no_group():
    with pytest.raises(PriorError, match="at least one secret"):
        common_variance_preferred([])
