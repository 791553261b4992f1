"""The statistics of audits, beside SciPy and brute force."""

import math

import numpy as np
import pytest
from conftest import few
from scipy import stats

from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.intervals import epsilon_at_least, share_at_least, share_at_most
from puffer_frames.verbs.auditing.checks import is_clustered, is_same, is_same_order, runs_of, unique_share
from puffer_frames.verbs.auditing.guesser import largest_advantage
from puffer_frames.verbs.auditing.noise_tests import (
    label_ends,
    noise_ends,
    p_of_law,
    p_of_seeds,
    p_of_sum,
    repeats,
    uniform_noise,
)


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (10, 10), (3, 17), (40, 400)])
def test_bounds_of_shares_are_those_of_scipy(hits, rows):
    both = stats.binomtest(hits, rows).proportion_ci(confidence_level=0.98, method="exact")
    assert share_at_least(hits, rows, 0.01) == pytest.approx(both.low)
    assert share_at_most(hits, rows, 0.01) == pytest.approx(both.high)


def test_bounds_hold_for_unequal_trials():
    """Of trials with probabilities 0.02, ..., 0.98 the mean of these is below the bound no more often than said."""
    shares = np.linspace(0.02, 0.98, 40)
    exact = np.array([1.0])
    for share in shares:  # the law of the number of hits
        exact = np.convolve(exact, [1 - share, share])
    hits = np.arange(41)
    assert exact[share_at_least(hits, 40, 0.05) > shares.mean()].sum() <= 0.05
    assert exact[share_at_most(hits, 40, 0.05) < shares.mean()].sum() <= 0.05


def test_epsilon_and_advantage():
    found = epsilon_at_least(np.array([0.6, 0.1]), np.array([0.2, 0.3]), 0.1)
    assert found == pytest.approx([math.log(2.5), 0.0])
    # randomised response with epsilon 1 has both error rates 1 / (1 + e)
    assert largest_advantage(1.0, 0.0) == pytest.approx(1 - 2 / (1 + math.e))
    assert largest_advantage(0.0, 0.2) == pytest.approx(0.2)
    assert largest_advantage(1e4, 0.0) == 1.0


def test_noise_that_was_rounded_and_clipped_is_uniform():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, 20_000).astype(float)
    released = np.rint(values + rng.laplace(scale=2.0, size=values.size)).clip(-3, 6)
    low = np.where(released <= -3, -np.inf, released - 0.5) - values
    high = np.where(released >= 6, np.inf, released + 0.5) - values
    scale = np.full(values.size, 2.0)
    assert p_of_law(uniform_noise(noise_ends(low, high, Laplace(), scale), rng)) > 1e-3
    assert p_of_law(uniform_noise(noise_ends(low, high, Laplace(), 1.3 * scale), rng)) < 1e-9


def test_labels_are_uniform():
    rng = np.random.default_rng(1)
    before = rng.integers(0, 4, 20_000).astype(float)
    after = np.where(rng.random(20_000) < 0.6, before, (before + rng.integers(1, 4, 20_000)) % 4)
    for kept, passes in ((0.6, True), (0.66, False)):
        ends = label_ends(before, after, np.full(20_000, kept), 4)
        assert (p_of_law(uniform_noise(ends, rng)) > 1e-3) is passes


@few(2)
@pytest.mark.parametrize("law", ["laplace", "normal"])
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_streams_of_numpy_are_known(law, make):
    drawn = getattr(make(42), law)(size=(300, 2))
    assert p_of_seeds([drawn[:, 0] * 3, drawn[:, 1]])[1] < 1e-9
    fresh = np.random.default_rng(987654321).laplace(size=(2, 300))
    assert p_of_seeds(list(fresh))[1] > 1e-3


def test_repeats_are_counted():
    drawn = np.random.default_rng(2).laplace(size=5000)
    assert repeats(drawn, 1.0, Laplace(), largest=50.0) == (0, 1.0)
    count, p = repeats(np.append(drawn, drawn[:7]), 1.0, Laplace(), largest=50.0)
    assert count == 7
    assert p < 1e-9
    assert repeats(drawn, 1.0, Laplace(), largest=1e12) == (0, 1.0)  # floats of this size hold no noise so fine


def test_rows_in_a_random_order_show_the_scale():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 10, 4000).astype(float)
    released = rng.permutation(values + rng.laplace(scale=0.4, size=4000))
    assert p_of_sum(released, values, Laplace(), 0.4) > 1e-3
    assert p_of_sum(released, values, Laplace(), 0.8) < 1e-9


def test_runs_of_a_random_order():
    """Mean and variance of the number of runs, beside 4,000 random orders."""
    rng, codes = np.random.default_rng(4), np.repeat([0, 1, 2], [30, 20, 10])
    drawn = np.array([runs_of(rng.permutation(codes))[0] for _ in range(4000)])
    _, expected, p = runs_of(codes)
    assert drawn.mean() == pytest.approx(expected, abs=0.3)
    assert p < 1e-9
    low = np.quantile(drawn, 0.05)
    orders = (rng.permutation(codes) for _ in range(4000))
    order = next(each for each in orders if runs_of(each)[0] == low)
    assert runs_of(order)[2] == pytest.approx((drawn <= low).mean(), abs=0.02)
    assert is_clustered(3, expected, p, alpha=0.001)
    assert not is_clustered(30, expected, 1e-9, alpha=0.001)


def test_equal_columns():
    first = np.tile([0, 1, 2], 20)
    assert is_same(first, np.array([2, 0, 1])[first])
    assert not is_same(first, np.minimum(first, 1))
    assert not is_same(np.arange(60), np.arange(60)[::-1])  # as many levels as rows
    values = np.random.default_rng(5).normal(size=60)
    assert is_same_order(values, -np.exp(values))
    assert not is_same_order(values, values[::-1])
    assert unique_share([np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])]) == 0.5
