import math

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf
from scipy.special import logsumexp

from puffer_frames.core import Prior, hockey_stick, pure_loss
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms import discrete
from puffer_frames.loss.atoms.discrete import DiscreteLoss, on_one_grid
from puffer_frames.loss.atoms.recursion import log_at_atoms, log_densities
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF


def direct_log_density(x, weights, scale):
    return logsumexp(-np.abs(x[:, None] - x[None, :]) / scale, b=weights, axis=1)


@pytest.mark.parametrize("scale", [1e-4, 0.01, 1.0, 300.0])
@pytest.mark.parametrize("n", [2, 50, 1000, pytest.param(4500, marks=pytest.mark.slow)])
def test_recursion_equals_direct_sums(scale, n):
    rng = np.random.default_rng(n)
    x = np.unique(rng.normal(size=n) * 5)
    weights = np.stack([rng.dirichlet(np.ones(x.size)), np.eye(x.size)[0]])
    tables = log_densities(x, weights, scale=scale)
    for row, w in zip(tables.log_f, weights, strict=True):
        direct = direct_log_density(x, w, scale)
        assert np.abs(row - direct).max() <= (tables.error(row) + 1e-12 * np.abs(direct)).max()


@pytest.mark.parametrize("seed", range(4))
def test_densities_in_one_block_are_within_their_error(seed):
    """Beside sums with 60 digits: weights to 2**-300, spans to 300 scales, far from 0 or not."""
    rng = np.random.default_rng(seed)
    with mp.workdps(60):
        for _ in range(12):
            x = np.unique(rng.normal(size=6) * 10.0 ** rng.uniform(-3, 6) + rng.choice([0.0, 1e9]))
            weights = rng.random((2, x.size)) * 2.0 ** -rng.integers(0, 300, size=(2, x.size))
            scale = (x[-1] - x[0] + 1e-9) / 10.0 ** rng.uniform(-2, math.log10(299))
            found, roundoffs = log_at_atoms(x, weights, scale=scale)
            tables = log_densities(x, weights, scale=scale)
            assert roundoffs == pytest.approx(tables.roundoffs)
            for row, own, error in zip(weights, found, tables.error(tables.log_f), strict=True):
                for k, value in enumerate(x):
                    terms = (mpf(w) * exp(-abs(mpf(value) - mpf(y)) / mpf(scale)) for w, y in zip(row, x, strict=True))
                    assert abs(log(sum(terms)) - mpf(own[k])) <= mpf(error[k])


def test_densities_in_one_block_are_refused_where_floats_do_not_hold_them():
    x = np.array([0.0, 1.0])
    assert log_at_atoms(x, np.array([[1.0, 0.0]]), scale=1 / 300) is None
    assert log_at_atoms(np.arange(4097.0), np.ones((1, 4097)), scale=1e9) is None
    assert log_at_atoms(x, np.array([[2.0**-890, 0.0]]), scale=1 / 250) is None
    assert log_at_atoms(x, np.array([[2.0**-890, 0.0]]), scale=1.0) is not None


def test_values_on_a_grid_are_numbered_as_by_unique(monkeypatch):
    monkeypatch.setattr(discrete, "_ALONE", 100)
    rng = np.random.default_rng(2)
    values = (rng.integers(-20, 20, 500) + 0.5) * 2.0**-7
    positions, places = on_one_grid(values, width=2.0**-7)
    expected = np.unique(values, return_inverse=True)
    assert np.array_equal(positions, expected[0])
    assert np.array_equal(places, expected[1])
    assert on_one_grid(values, width=0.0) is None
    assert on_one_grid(values[:99], width=2.0**-7) is None  # few
    assert on_one_grid(values, width=2.0**-6) is None  # two in a cell
    assert on_one_grid(np.append(values, 1e9), width=2.0**-7) is None  # far apart


def test_recursion_is_finite_where_sums_of_exponentials_are_not():
    x = np.array([0.0, 1.0, 2000.0, 1e9])
    tables = log_densities(x, np.eye(4)[[0, 3]], scale=1.0)
    assert tables.log_f[0, 3] == pytest.approx(-1e9, rel=1e-15)
    assert tables.log_f[1, 0] == pytest.approx(-1e9, rel=1e-15)


def test_blocks_survive_positions_that_differences_cannot_tell_apart():
    x = np.array([-1e16, 1.0, 1.0 + 1e-9, 1.0 + 2e-9])
    tables = log_densities(x, np.full((1, 4), 0.25), scale=1e-12)
    assert np.isfinite(tables.log_f).all()
    assert tables.log_f[0, 1] == pytest.approx(math.log(0.25), rel=1e-12)


def test_brackets_are_narrow_and_hold_the_known_value():
    # point masses: loss |x - y|/b; hockey stick 1 - e^{(eps - d/b)/2}
    p, q = Prior.empirical([0.0]), Prior.empirical([3.0])
    loss = pure_loss(p, q, scale=2.0)
    assert 1.5 in loss
    assert loss.width < 1e-12
    stick = hockey_stick(p, q, epsilon=0.5, scale=2.0)
    assert 1 - math.exp(-0.5) in stick
    assert stick.width < 1e-12


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 100.0, 400.0])
@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-3])
def test_brackets_stay_narrow_for_large_epsilon(epsilon, delta):
    # two point masses at distance 1: delta* = 1 - e^{(eps - 1/b)/2}
    scale = 1 / (epsilon - 2 * math.log1p(-delta))
    stick = hockey_stick(Prior.empirical([0.0]), Prior.empirical([1.0]), epsilon=epsilon, scale=scale)
    assert stick.lower - 1e-12 * epsilon <= delta <= stick.upper + 1e-12 * epsilon
    assert stick.width < 1e-10 * epsilon


def test_raw_column():
    p, q = Prior.bernoulli(0.2), Prior.bernoulli(0.9)
    assert math.log(8) in pure_loss(p, q, scale=0)
    assert 0.8 - 0.1 * math.e in hockey_stick(p, q, epsilon=1.0, scale=0)
    assert pure_loss(p, Prior.bernoulli(0), scale=0).lower == math.inf
    assert pure_loss(p, p, scale=0).lower == 0


def test_huge_epsilon_and_tiny_scale_stay_bounded():
    p, q = Prior.empirical([0.0, 1.0]), Prior.empirical([0.5])
    stick = hockey_stick(p, q, epsilon=1e4, scale=1e-5)
    assert 0 <= stick.lower <= stick.upper <= 1
    assert hockey_stick(p, q, epsilon=1.0, scale=1e-9).lower == pytest.approx(1.0)


def test_all_pairs_at_once_equals_the_largest_pair():
    rng = np.random.default_rng(5)
    priors = {s: Prior.empirical(rng.integers(0, 9, 6), rng.integers(1, 9, 6)) for s in "abcde"}
    pairs = tuple((s, t) for s in "abcde" for t in "abcde" if s < t)
    together, listed = DiscreteLoss(priors, pairs="all"), DiscreteLoss(priors, pairs=pairs)
    for scale in (0.3, 1.0, 5.0):
        each = {(s, t): pure_loss(priors[s], priors[t], scale=scale).upper for s, t in pairs}
        worst = together.pure(scale)
        assert worst.bracket.upper == pytest.approx(max(each.values()), rel=1e-12)
        assert each[tuple(sorted(worst.pair))] == pytest.approx(max(each.values()), rel=1e-12)
        assert listed.pure(scale).bracket.upper == pytest.approx(max(each.values()), rel=1e-12)
        stick = together.hockey_stick(scale, epsilon=0.2)
        assert stick.bracket == listed.hockey_stick(scale, epsilon=0.2).bracket
        s, t = stick.pair
        assert hockey_stick(priors[s], priors[t], epsilon=0.2, scale=scale).upper == pytest.approx(stick.bracket.upper)


def test_chunks_change_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    priors = {s: Prior.empirical(rng.integers(0, 30, 40)) for s in range(7)}
    whole = DiscreteLoss(priors, pairs="all")
    expected = whole.pure(1.0), whole.hockey_stick(1.0, epsilon=0.1)
    blocks = whole.pure(0.01)  # a span of 2,900 scales
    for name in ("_CHUNK", "_CACHED"):
        monkeypatch.setattr(discrete, name, 50)
    for alone in (1 << 20, 1):  # one thread, and two
        monkeypatch.setattr(discrete, "_ALONE", alone)
        assert (whole.pure(1.0), whole.hockey_stick(1.0, epsilon=0.1)) == expected
        assert whole.pure(0.01) == blocks


def test_rounding_bound_is_small_on_large_tables():
    rng = np.random.default_rng(7)
    loss = pure_loss(Prior.empirical(rng.normal(size=20_000)), Prior.empirical(rng.normal(size=20_000)), scale=1.0)
    assert loss.width < 1e5 * UNIT_ROUNDOFF


@pytest.mark.parametrize("scale", [-1.0, math.inf, math.nan])
def test_bad_scales_are_refused(scale):
    p = Prior.bernoulli(0.5)
    with pytest.raises(ArgumentError, match="scale"):
        pure_loss(p, p, scale=scale)
    with pytest.raises(ArgumentError, match="scale"):
        hockey_stick(p, p, epsilon=1.0, scale=scale)
