"""Gaussian noise on many atoms: fewer atoms with the same moments, and atoms near a point alone, change no bracket."""

import math

import numpy as np
import pytest
from conftest import few
from scipy.stats import norm

from puffer_frames.core import Prior, smallest_scale
from puffer_frames.loss.mixtures import curve
from puffer_frames.loss.noises import gaussian_noise
from puffer_frames.loss.noises import gaussian_noise as module
from puffer_frames.loss.noises.gaussian_noise import GaussianNoiseLoss, fewer_atoms

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(n),
    "log-normal": lambda rng, n: rng.lognormal(0, 2, n),
    "clusters": lambda rng, n: rng.integers(0, 4, n) + rng.normal(0, 1e-6, n),
    "an outlier": lambda rng, n: np.append(rng.normal(size=n - 1), 1e5),
    "an offset": lambda rng, n: 1e12 + rng.normal(size=n),
    "integers": lambda rng, n: rng.integers(0, n // 2, n).astype(float),
}


def priors_of(shape, seed, count=300):
    rng = np.random.default_rng(seed)
    first = SHAPES[shape](rng, count)
    moved = rng.random(count) < rng.random()
    return {0: Prior.empirical(first), 1: Prior.empirical(np.where(moved, SHAPES[shape](rng, count), first))}


def brackets(priors, scales, epsilon):
    loss = GaussianNoiseLoss(priors, pairs="all")
    return [loss.hockey_stick(scale, epsilon=epsilon).bracket for scale in scales]


@pytest.fixture
def as_of_many(monkeypatch):
    """Every prior of more than 24 atoms is one of many."""
    monkeypatch.setattr(gaussian_noise, "MOST_ATOMS", 24)
    monkeypatch.setattr(curve, "MANY_ATOMS", 24)


def scales_of(priors):
    gaps = np.diff(priors[0].means)
    return np.geomspace(max(np.median(gaps), 1e-12) * 0.3, 3 * float(np.ptp(priors[0].means)), 7)


@few(1)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shape", SHAPES)
def test_brackets_are_those_of_all_atoms(shape, seed, monkeypatch):
    priors = priors_of(shape, seed)
    epsilon, scales = (0.2, 1.0, 3.0)[seed % 3], scales_of(priors)
    expected = brackets(priors, scales, epsilon)
    monkeypatch.setattr(gaussian_noise, "MOST_ATOMS", 24)
    for many in (24, 10**9):
        monkeypatch.setattr(curve, "MANY_ATOMS", many)
        for found, exact in zip(brackets(priors, scales, epsilon), expected, strict=True):
            assert found.lower <= exact.upper
            assert exact.lower <= found.upper
            assert found.width <= exact.width + 1e-8 * found.upper + 1e-13 + 1e-14 * np.ptp(priors[0].means) / scales[0]


@few(1)
@pytest.mark.parametrize("seed", range(20))
def test_brackets_hold_an_integral_over_a_grid(as_of_many, seed):
    priors = priors_of("normal", seed, count=60)
    y = np.linspace(-25, 25, 100_001)
    for scale in (0.1, 0.5, 2.0):
        f, g = (
            (prior.weights[:, None] * norm.pdf(y, prior.means[:, None], scale)).sum(axis=0) for prior in priors.values()
        )
        both = [np.maximum(a - math.exp(0.4) * b, 0).sum() * (y[1] - y[0]) for a, b in ((f, g), (g, f))]
        found = brackets(priors, [scale], 0.4)[0]
        assert found.lower - 1e-6 <= max(both) <= found.upper + 1e-6


@few(1)
@pytest.mark.parametrize("seed", range(30))
def test_the_distance_bounds_what_a_set_can_tell(seed):
    rng = np.random.default_rng(seed)
    means = np.sort(rng.uniform(0, 3, 200))
    weights = rng.dirichlet(np.full(200, 0.3))
    weights /= weights.sum()
    fewer = fewer_atoms(weights, means, width=1.0)
    assert fewer.means.size < 40
    y = np.linspace(-12, 15, 20_001)
    for std in (1.0, 1.4, 3.0):
        difference = [
            (w[:, None] * norm.pdf(y, m[:, None], std)).sum(axis=0)
            for w, m in ((weights, means), (fewer.weights, fewer.means))
        ]
        measured = np.abs(difference[0] - difference[1]).sum() * (y[1] - y[0])
        assert measured <= fewer.distance(std) + 1e-14
    assert fewer.distance(1.0) < 1e-12


def test_a_wrong_moment_is_seen(monkeypatch):
    quadrature = module._quadrature

    def wrong(*given):
        nodes, weights = quadrature(*given)
        return nodes + 1e-9, weights

    monkeypatch.setattr(module, "_quadrature", wrong)
    means = np.linspace(0, 3, 200)
    kept = fewer_atoms(np.full(200, 1 / 200), means, width=1.0)
    assert kept.means.tolist() == means.tolist()  # cells that do not match keep their atoms


def test_few_atoms_in_a_cell_stay():
    means = np.array([0.1, 0.2, 5.5, 9.0])
    fewer = fewer_atoms(np.full(4, 0.25), means, width=1.0)
    assert fewer.means.tolist() == means.tolist()
    assert fewer.distance(1.0) == 0


def test_equal_offsets_and_close_atoms_in_a_cell():
    means = np.sort(np.concatenate([np.full(30, 0.25) + np.arange(30) * 1e-17, 0.75 + np.arange(30) * 1e-15]))
    means = np.unique(means)
    weights = np.full(means.size, 1 / means.size)
    fewer = fewer_atoms(weights, means, width=1.0)
    assert fewer.weights.sum() == pytest.approx(1)
    assert np.isfinite(fewer.means).all()
    assert fewer.distance(1.0) < 1e-11


@pytest.mark.parametrize(
    ("delta", "outlier", "least", "most"),
    [(1e-2, False, 0.0057, 0.0058), (1e-2, True, 0.0058, 0.0059), (1e-4, False, 0.277, 0.278)],
)
def test_the_scale_of_5000_values(delta, outlier, least, most):
    """On cells these needed 4.6 times as much, and 7,000 times with the outlier."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=5000), rng.normal(size=5000)
    if outlier:
        first[0] = 1e4
    priors = {0: Prior.empirical(first), 1: Prior.empirical(second)}
    scale = smallest_scale(priors, epsilon=1.0, delta=delta, noise="gaussian")
    assert least < scale < most
    slightly_less = GaussianNoiseLoss(priors, pairs="all").hockey_stick(scale * (1 - 1e-4), epsilon=1.0).bracket
    assert slightly_less.lower > delta
