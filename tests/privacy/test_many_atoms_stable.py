"""Stable noise on many atoms: cells that hold atoms, and groups of atoms by their means, miss no loss."""

from functools import cache

import noise_oracle as oracle
import numpy as np
import pytest
from conftest import few, sweep
from scipy.interpolate import CubicSpline
from scipy.special import logsumexp

from puffer_frames import Stable
from puffer_frames.core import Prior, pure_loss, smallest_scale
from puffer_frames.loss.noises import stable_noise
from puffer_frames.loss.noises import stable_noise as module
from puffer_frames.loss.noises.stable_noise import StableNoiseLoss
from puffer_frames.noise import log_ratio
from puffer_frames.noise.stable_shape import stable_shape

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "log-normal": lambda rng, n: rng.lognormal(0, 2, n),
    "clusters": lambda rng, n: rng.integers(0, 4, n) + rng.normal(0, 1e-6, n),
    "an outlier": lambda rng, n: np.append(rng.normal(size=n - 1), 1e4),
    "integers": lambda rng, n: rng.integers(0, n // 2, n).astype(float),
}
ALPHAS = (1.0, 1.3, 1.7)


@cache
def table(alpha):
    """The oracle's log-density, by a spline in asinh x."""
    at = np.linspace(0.0, 20.0, 6001)
    return CubicSpline(at, np.log(oracle.float_density(alpha, np.sinh(at))))


def log_density(prior, y, alpha, scale):
    x = np.abs(y[:, None] - prior.means) / scale
    kernel = -np.log(np.pi * (1 + x * x)) if alpha == 1 else table(alpha)(np.arcsinh(x))
    return logsumexp(kernel, b=prior.weights, axis=1)


def scan(p, q, alpha, scale):
    """The largest loss that is seen: on a grid, and around the best places of it."""
    means = np.unique(np.concatenate([p.means, q.means]))
    means = means[:: 1 + means.size // 1000 * 10]
    near, far = scale * np.geomspace(0.3, 1e3, 15), scale * np.geomspace(0.1, 1e6, 90)
    around = (means[:, None] + np.concatenate([-near, [0.0], near])).ravel()
    y, step = np.unique(np.concatenate([around.min() - far, around, around.max() + far])), scale
    for _ in range(7):
        size = np.abs(log_density(p, y, alpha, scale) - log_density(q, y, alpha, scale))
        best = y[np.argsort(-size)[:12]]
        y, step = np.unique(np.concatenate([best + step * k / 8 for k in range(-8, 9)])), step / 6
    return float(np.abs(log_density(p, y, alpha, scale) - log_density(q, y, alpha, scale)).max())


def case(shape, seed, count=150):
    rng = np.random.default_rng([seed, len(shape)])
    first = SHAPES[shape](rng, count)
    moved = rng.random(count) < rng.random()
    priors = {0: Prior.empirical(first), 1: Prior.empirical(np.where(moved, SHAPES[shape](rng, count), first))}
    scale = float(np.exp(rng.uniform(-3, 2)) * np.quantile(np.abs(first - np.median(first)), 0.7))
    return priors, ALPHAS[seed % 3], scale


def brackets(cases):
    """Brackets of some cases, and what the oracle sees of each."""
    for priors, alpha, scale in cases:
        loss = StableNoiseLoss(priors, pairs="all", noise=Stable(alpha=alpha))
        yield loss.pure(scale).bracket, scan(*priors.values(), alpha, scale)


@pytest.fixture
def as_of_many(monkeypatch):
    """Every prior of more than 24 atoms is one of many, in wide groups."""
    monkeypatch.setattr(stable_noise, "MOST_ATOMS", 24)
    monkeypatch.setattr(stable_noise, "_NODES_PER_SCALE", 4)


@few(1)
@pytest.mark.parametrize("seed", range(9))
@pytest.mark.parametrize("shape", SHAPES)
def test_cells_that_hold_atoms_miss_nothing(monkeypatch, shape, seed):
    monkeypatch.setattr(log_ratio, "_FEW_ATOMS", 16)
    for found, seen in brackets([case(shape, seed)]):
        assert found.lower <= seen * (1 + 1e-5) + 1e-9
        assert seen <= found.upper + 1e-9
        assert found.width <= 2e-9 * found.upper + 1e-8


@few(1)
@pytest.mark.parametrize("seed", range(30))
def test_groups_of_atoms_miss_nothing(as_of_many, seed):
    for found, seen in brackets(case(shape, seed) for shape in SHAPES):
        assert found.lower <= seen * (1 + 1e-5) + 1e-9
        assert seen <= found.upper + 1e-9
        assert found.width <= 0.2


@sweep(1, 3)
def test_groups_that_cost_nothing_are_found(monkeypatch, as_of_many, count):
    """The oracle can fail: values are taken to lie at the means of their groups."""
    monkeypatch.setattr(module, "cost_of_means", lambda *_, **__: (0.0, 0.0))
    cases = [case(shape, seed) for seed in range(count) for shape in ("normal", "log-normal", "integers")]
    assert sum(seen > found.upper + 1e-7 or found.lower > seen * (1 + 1e-5) + 1e-7 for found, seen in brackets(cases))


@few(2)
@pytest.mark.parametrize("seed", range(20))
def test_the_cost_bounds_what_a_group_can_do(seed):
    """Of one group at every distance, in units of the scale."""
    rng, alpha = np.random.default_rng(seed), ALPHAS[seed % 3]
    means = np.sort(rng.uniform(0, 10.0 ** rng.uniform(-2, -0.1), 40))
    weights = rng.dirichlet(np.full(40, 0.2)) + 1e-12
    node = module.fewer_nodes(weights, means, width=10.0)
    assert node.means.size == 1
    y = np.concatenate([-np.geomspace(1e-3, 1e3, 400), np.linspace(0, 1, 99), 1 + np.geomspace(1e-3, 1e3, 400)])
    one = Prior.mixture([1.0], node.means, [0.0])
    many = Prior.mixture(weights / weights.sum(), means, np.zeros(40))
    apart = log_density(many, y, alpha, 1.0) - log_density(one, y, alpha, 1.0)
    below, above = node.cost(stable_shape(alpha), 1.0)
    assert -below - 1e-9 <= apart.min()
    assert apart.max() <= above + 1e-9


def test_many_values_need_less_noise_than_their_distance():
    rng = np.random.default_rng(0)
    priors = {k: Prior.empirical(rng.normal(0.3 * k, 1.0, 3000)) for k in range(2)}
    noise = Stable(alpha=1.0)
    scale = smallest_scale(priors, epsilon=1.0, noise=noise)
    assert scan(*priors.values(), 1.0, scale) <= 1.0 + 1e-9
    assert scan(*priors.values(), 1.0, 0.995 * scale) > 1.0
    assert 10 * scale < StableNoiseLoss(priors, pairs="all", noise=noise)._coupled((0, 1)) * 0.9595  # c(1, 1)


def test_all_pairs_of_many_secrets_are_those_that_are_listed():
    rng = np.random.default_rng(4)
    priors = {k: Prior.empirical(rng.normal(0.1 * k, 1.0, 9)) for k in range(7)}
    noise = Stable(alpha=1.4)
    listed = [(i, j) for i in range(7) for j in range(i)]
    for scale in (0.3, 1.0, 5.0):
        every = StableNoiseLoss(priors, pairs="all", noise=noise).pure(scale)
        named = StableNoiseLoss(priors, pairs=tuple(listed), noise=noise).pure(scale)
        assert every.bracket.lower == pytest.approx(named.bracket.lower, rel=1e-8)
        assert every.bracket.upper == pytest.approx(named.bracket.upper, rel=1e-8)
        assert set(every.pair) == set(named.pair)


@pytest.mark.parametrize("unit", [1e-250, 1e-160, 1.0, 1e200])
def test_groups_cost_the_same_in_any_unit(unit):
    """Both ends of a group: squares of distances below 1e-160 are no longer floats, those above 1e154 neither."""
    ends = np.arange(1500) * 1e-7
    values = np.concatenate([ends, 0.0154 - ends[::-1]])
    p = Prior.empirical(np.append(values, 1e5) * unit, np.append(np.ones(3000), 3000.0))
    q = Prior.empirical(np.array([values.mean(), 1e5]) * unit, [1, 9])
    found = pure_loss(p, q, scale=unit, noise=Stable(alpha=1.0))
    assert found.lower <= 1.60947061523 <= found.upper
    assert found.width < 1e-3


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e160, 1e300])
def test_two_values_of_any_size(unit):
    values = [0.0, unit]
    priors = {0: Prior.empirical(values, [1, 3]), 1: Prior.empirical(values, [3, 1])}
    assert smallest_scale(priors, epsilon=0.5, noise=Stable(alpha=1.0)) == pytest.approx(0.8899014 * unit, rel=1e-6)
    assert pure_loss(*priors.values(), scale=1e300 * unit if unit < 1 else 1e305, noise=Stable(alpha=1.0)).upper < 1e-3


def test_both_laws_of_a_ratio_pay():
    """One is larger and the other smaller than its groups say; of all pairs the largest of either counts."""
    laws, unsure = [(np.ones(1), np.zeros(1))] * 2, [(0.01, 0.02), (0.05, 0.03)]
    for ratios, most in (([(0, 1)], 0.02 + 0.05), (None, 0.03 + 0.05)):
        found = log_ratio.largest_log_ratio(laws, ratios, stable_shape(1.5), tolerance=1e-9, unsure=unsure)
        assert found[0] == 0
        assert found[1] == pytest.approx(most, abs=1e-6)
        assert found[2] == (0, 1)
