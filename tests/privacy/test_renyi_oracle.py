"""Rényi divergences of discrete and mixture laws under Laplace noise, by integrals of the densities."""

import itertools
import math

import numpy as np
import pytest
from conftest import sweep
from scipy.integrate import quad
from scipy.stats import laplace, norm

from puffer_frames.core import Prior, pure_loss
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.engine import renyi_divergence


def density(prior, y, scale):
    """Of a sum of Gaussians with Laplace noise: log-sums, so that nothing under- or overflows."""
    found = 0.0
    for weight, mean, std in zip(prior.weights, prior.means, prior.stds):
        if std == 0:
            found += weight * laplace.pdf(y, mean, scale)
            continue
        z, r = (y - mean) / std, std / scale
        sides = (norm.logcdf(sign * z - r) - sign * z * r + r * r / 2 for sign in (1, -1))
        found += weight * sum(math.exp(side) for side in sides) / (2 * scale)
    return found


def by_integral(p, q, *, order, scale):
    ends = [*p.means.tolist(), *q.means.tolist()]
    far = 40 * scale + 12 * float(max(p.stds.max(), q.stds.max()))
    places = np.unique([min(ends) - far, *ends, max(ends) + far]).tolist()

    def integrand(y):
        f, g = density(p, y, scale), density(q, y, scale)
        return math.exp(order * math.log(f) - (order - 1) * math.log(g)) if f and g else 0.0

    whole = sum(quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=400)[0] for a, b in itertools.pairwise(places))
    return math.log(whole) / (order - 1)


def laws(rng, kind):
    atoms = rng.integers(2, 5)
    means = np.sort(rng.choice(9, atoms, replace=False)).astype(float)
    stds = rng.uniform(0.2, 2, atoms) * (rng.random(atoms) < 0.6) if kind == "mixture" else np.zeros(atoms)
    return Prior.mixture(rng.dirichlet(np.ones(atoms)), means, stds)


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@sweep(8, 500)
def test_brackets_hold_the_integral(count):
    rng = np.random.default_rng(0)
    for k in range(count):
        p, q = (laws(rng, ("discrete", "mixture")[k % 2]) for _ in "12")
        order, scale = float(rng.choice([1.01, 1.5, 2, 4, 10])), float(rng.choice([0.7, 2, 5]))
        found = renyi_divergence(p, q, order=order, scale=scale)
        true = by_integral(p, q, order=order, scale=scale)
        assert found.lower - 1e-8 <= true <= found.upper + 1e-8
        assert found.width <= 2e-3 * (1 + true)
        assert found.upper <= pure_loss(p, q, scale=scale).upper * (1 + 1e-9) + 1e-9


def test_two_points_in_closed_form():
    """exp((α - 1) D) = α/(2α - 1) e^((α - 1)t) + (α - 1)/(2α - 1) e^(-αt) for a shift of t scales."""
    order, shift = 3.0, 0.5
    found = renyi_divergence(Prior.empirical([0]), Prior.empirical([1]), order=order, scale=1 / shift)
    parts = order * math.exp((order - 1) * shift) + (order - 1) * math.exp(-order * shift)
    assert found.lower - 1e-12 <= math.log(parts / (2 * order - 1)) / (order - 1) <= found.upper + 1e-12
    for wrong in ({"order": 1.0, "scale": 1.0}, {"order": 2.0, "scale": 0.0}, {"order": math.inf, "scale": 1.0}):
        with pytest.raises(ArgumentError):
            renyi_divergence(Prior.empirical([0]), Prior.empirical([1]), **wrong)


def test_renyi_brackets_at_the_edges_of_floats():
    """An order beyond 10^6 was [0, 0], and an infinite lower end stood where the pure loss is finite."""
    p, q = Prior.empirical([0, 1, 2, 3]), Prior.empirical([5, 6, 7])
    with pytest.raises(ArgumentError, match="at most 1e"):
        renyi_divergence(p, q, order=1e12, scale=0.1)
    found = renyi_divergence(p, q, order=2, scale=0.001)
    assert found.lower <= pure_loss(p, q, scale=0.001).upper
    assert found.lower <= found.upper
