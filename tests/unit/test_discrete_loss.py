"""The loss of discrete priors; equal laws of units are found, and looking at them once changes no loss."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import few
from mpmath import exp, log, mp, mpf
from scipy.special import logsumexp

from puffer_frames.core import Prior, hockey_stick, pure_loss
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms import discrete
from puffer_frames.loss.atoms.discrete import DiscreteLoss, on_one_grid
from puffer_frames.loss.atoms.recursion import log_at_atoms, log_densities
from puffer_frames.loss.presence import PresenceLoss, RowsLoss
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.papers.users import presence_scale
from puffer_frames.priors.unit_laws import UnitLaws, first_of_equals, rows_of


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


def test_densities_where_sums_and_differences_of_floats_fail():
    x = np.array([0.0, 1.0, 2000.0, 1e9])
    tables = log_densities(x, np.eye(4)[[0, 3]], scale=1.0)
    assert tables.log_f[0, 3] == pytest.approx(-1e9, rel=1e-15)
    assert tables.log_f[1, 0] == pytest.approx(-1e9, rel=1e-15)
    x = np.array([-1e16, 1.0, 1.0 + 1e-9, 1.0 + 2e-9])
    tables = log_densities(x, np.full((1, 4), 0.25), scale=1e-12)
    assert np.isfinite(tables.log_f).all()
    assert tables.log_f[0, 1] == pytest.approx(math.log(0.25), rel=1e-12)


def test_brackets_hold_the_known_value():
    # point masses: loss |x - y|/b; hockey stick 1 - e^{(eps - d/b)/2}
    p, q = Prior.empirical([0.0]), Prior.empirical([3.0])
    loss = pure_loss(p, q, scale=2.0)
    assert 1.5 in loss
    assert loss.width < 1e-12
    stick = hockey_stick(p, q, epsilon=0.5, scale=2.0)
    assert 1 - math.exp(-0.5) in stick
    assert stick.width < 1e-12
    p, q = Prior.bernoulli(0.2), Prior.bernoulli(0.9)
    assert math.log(8) in pure_loss(p, q, scale=0)
    assert 0.8 - 0.1 * math.e in hockey_stick(p, q, epsilon=1.0, scale=0)
    assert pure_loss(p, Prior.bernoulli(0), scale=0).lower == math.inf
    assert pure_loss(p, p, scale=0).lower == 0
    p, q = Prior.empirical([0.0, 1.0]), Prior.empirical([0.5])
    stick = hockey_stick(p, q, epsilon=1e4, scale=1e-5)
    assert 0 <= stick.lower <= stick.upper <= 1
    assert hockey_stick(p, q, epsilon=1.0, scale=1e-9).lower == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 100.0, 400.0])
@pytest.mark.parametrize("delta", [0.9, 0.3, 1e-3])
def test_brackets_stay_narrow_for_large_epsilon(epsilon, delta):
    # two point masses at distance 1: delta* = 1 - e^{(eps - 1/b)/2}
    scale = 1 / (epsilon - 2 * math.log1p(-delta))
    stick = hockey_stick(Prior.empirical([0.0]), Prior.empirical([1.0]), epsilon=epsilon, scale=scale)
    assert stick.lower - 1e-12 * epsilon <= delta <= stick.upper + 1e-12 * epsilon
    assert stick.width < 1e-10 * epsilon


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


# Equal laws of units are found, and looking at them once changes no loss.
def units(rng, *, number, sizes, values):
    sizes = rng.integers(1, sizes + 1, number)
    starts = np.append(0, np.cumsum(sizes))
    rows = [np.sort(rng.choice(values, size)) for size in sizes]
    return np.concatenate(rows), starts


def firsts(values, starts):
    """By a dictionary of tuples."""
    seen = {}
    for k, (start, end) in enumerate(pairwise(starts.tolist())):
        seen.setdefault(tuple(values[start:end].tolist()), k)
    return sorted(seen.values())


@pytest.mark.parametrize("sizes", [1, 3, 40])
@pytest.mark.parametrize("width", [1, 3, 2**20])
def test_first_units_of_equal_rows(sizes, width):
    rng = np.random.default_rng(sizes)
    cells, starts = units(rng, number=300, sizes=sizes, values=np.unique(rng.integers(0, width, 5)))
    assert first_of_equals(cells, starts, width).tolist() == firsts(cells, starts)


def test_rows_of_units_that_differ_late_and_of_some_units():
    cells = np.zeros((3, 50), dtype=np.intp)
    cells[1, -1] = cells[2, -1] = 2**20 - 1
    assert first_of_equals(cells.ravel(), np.arange(0, 151, 50), 2**20).tolist() == [0, 1]
    rows, starts = rows_of(np.array([0, 2]), np.array([0, 2, 3, 6]))
    assert rows.tolist() == [0, 1, 3, 4, 5]
    assert starts.tolist() == [0, 2, 5]


@pytest.mark.parametrize("added", [False, True])
def test_presence_of_units_with_equal_laws(added):
    values, starts = units(np.random.default_rng(7), number=500, sizes=3, values=[-2.0, 0.5, 3.0])
    laws = UnitLaws.of_rows(range(500), values, starts, added=added)
    few = laws.different()
    assert list(few.units) == firsts(values, starts)
    assert presence_scale(few, epsilon=0.7) == presence_scale(laws, epsilon=0.7)
    for scale in (0.0, 0.1, 4.0, 1e9):
        assert PresenceLoss(few).pure(scale) == PresenceLoss(laws).pure(scale)
    assert PresenceLoss(few).hockey_stick(4.0, epsilon=0.3) == PresenceLoss(laws).hockey_stick(4.0, epsilon=0.3)


def test_given_and_gaussian_laws_are_left():
    values, starts = units(np.random.default_rng(8), number=50, sizes=3, values=[-2.0, 0.5, 3.0])
    laws = UnitLaws.of_gaussians(range(50), values, starts, times=np.ones(values.size, dtype=int), added=False)
    assert laws.different() is laws
    one = UnitLaws.of_rows(range(50), values, starts, added=False)
    given = UnitLaws.of_priors(one.priors())
    assert given.different() is given


@pytest.mark.parametrize("different", [1, 2, 9])
def test_replacement_of_units_with_equal_laws(different, monkeypatch):
    rng = np.random.default_rng(different)
    row = rng.integers(0, different, 300)
    row[:different] = np.arange(different)
    values = np.sort(rng.choice(6, (different, 4)), axis=1)[row].ravel().astype(float)
    few = RowsLoss(range(300), values, np.arange(0, 1201, 4))
    monkeypatch.setattr("puffer_frames.loss.presence.MOST_PAIRS_IN_CELLS", 300)
    every = RowsLoss(range(300), values, np.arange(0, 1201, 4))
    for scale in (0.0, 0.5, 4.0):
        assert few.pure(scale) == every.pure(scale)
    monkeypatch.undo()
    assert few.ratio_cells(1.0) is None


def test_quantile_of_stable_noise_scales():
    unit = Stable(scale=1.0, alpha=1.5).quantile(0.975)
    for scale in (0.25, 1.0, 512.0):
        assert Stable(scale=scale, alpha=1.5).quantile(0.975) == scale * unit
        assert Stable(scale=scale, alpha=1.5).quantile(0.025) == pytest.approx(-scale * unit, rel=1e-12)
    assert float(Stable(scale=1.0, alpha=1.5).survival(np.array([unit]))[0]) == pytest.approx(0.025, rel=1e-9)


NOISES = {"laplace": {}, "laplace with delta": {"delta": 1e-3}, "gaussian": {"noise": "gaussian", "delta": 1e-5}}


@few(5, rest="apart")
@pytest.mark.parametrize("protect", ["presence", "replacement"])
@pytest.mark.parametrize("noise", [*NOISES, "stable"])
def test_many_users_need_the_noise_of_their_different_laws(protect, noise):
    """Beyond 400 units too, where pairs of units were not compared, or not with this noise."""
    asked = {"value": "value", "query": "sum", "protect": protect, "epsilon": 1.0, "unit": "user", "rng": 1}
    asked |= NOISES.get(noise, {"noise": Stable(alpha=1.5)})
    rows = np.array([[1, 1], [1, 4], [2, 5], [5, 5], [3, 3]])
    found = []
    for repeats in (2, 150):
        users = np.tile(rows, (repeats, 1))
        table = pd.DataFrame({"user": np.repeat(np.arange(len(users)), 2), "value": users.ravel()})
        found.append(table.puffer.aggregate(**asked, contribution="rows").puffer.certificate.scales["sum"])
    assert found[0] == found[1] > 0


def test_users_of_one_law_need_no_noise():
    table = pd.DataFrame({"user": np.arange(500), "value": 3})
    asked = {"value": "value", "query": "sum", "protect": "replacement", "epsilon": 1.0, "unit": "user"}
    released = table.puffer.aggregate(**asked, allow_zero_noise=True)
    assert released.puffer.certificate.scales["sum"] == 0
