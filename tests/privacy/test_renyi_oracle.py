"""Rényi divergences of discrete and mixture laws under Laplace noise, by integrals of the densities."""

import itertools
import math

import numpy as np
import pytest
from conftest import sweep
from scipy.integrate import quad
from scipy.stats import laplace, norm

from puffer_frames.core import Prior, pure_loss, renyi_divergence, renyi_epsilon, smallest_scale
from puffer_frames.errors import ArgumentError


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


def lost(y, p, q, scale, epsilon):
    return max(density(p, y, scale) - math.exp(epsilon) * density(q, y, scale), 0.0)


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


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@sweep(4, 200)
def test_the_scale_of_an_order_by_the_integral(count):
    """And the epsilon that follows for a delta, by the integral of the hockey stick."""
    rng = np.random.default_rng(1)
    for k in range(count):
        p, q = (laws(rng, ("discrete", "mixture")[k % 2]) for _ in "12")
        order, epsilon = float(rng.choice([1.5, 2, 8])), float(rng.choice([0.1, 0.5, 2]))
        scale = smallest_scale({"s": p, "t": q}, epsilon=epsilon, order=order)
        if scale < 0.05:
            continue  # nearly the divergence without noise
        most = max(by_integral(*pair, order=order, scale=scale) for pair in ((p, q), (q, p)))
        assert epsilon * (1 - 2e-3) - 1e-4 <= most <= epsilon + 1e-8
        stick, far = renyi_epsilon(order=order, epsilon=epsilon, delta=0.01), 40 * scale + 30
        places = itertools.pairwise(sorted({-far, far, *p.means.tolist(), *q.means.tolist()}))
        assert sum(quad(lost, *ends, args=(p, q, scale, stick), limit=200)[0] for ends in places) <= 0.01


def of_two_releases(p, q, *, order, scales):
    """Of both releases of one value together, by Gauss quadrature between the atoms."""
    x, w = np.polynomial.legendre.leggauss(12)
    ends, factors = np.unique([*p.means, *q.means]), []
    for scale in scales:
        far = scale * np.array([0.25, 0.5, 1, 2, 4, 8, 16, 40])
        cuts = np.concatenate([ends[0] - far[::-1], *[np.linspace(a, b, 9)[:-1] for a, b in itertools.pairwise(ends)]])
        cuts = np.concatenate([cuts, [ends[-1]], ends[-1] + far])
        y = (cuts[:-1, None] + np.diff(cuts)[:, None] * (x + 1) / 2).ravel()
        weights = (np.diff(cuts)[:, None] * w / 2).ravel()
        factors.append((weights, *(laplace.pdf(y[:, None], law.means, scale) for law in (p, q))))
    (w1, p1, q1), (w2, p2, q2) = factors
    f, g = (p1 * p.weights) @ p2.T, (q1 * q.weights) @ q2.T
    return math.log((np.outer(w1, w2) * f**order * g ** (1 - order)).sum()) / (order - 1)


@sweep(6, 100)
def test_two_releases_are_at_most_one_of_their_scales_together(count):
    rng = np.random.default_rng(2)
    for _ in range(count):
        p, q = (laws(rng, "discrete") for _ in "12")
        order, scales = float(rng.choice([1.5, 2, 4])), rng.choice([0.7, 2, 5], 2)
        one = renyi_divergence(p, q, order=order, scale=1 / (1 / scales).sum())
        both = of_two_releases(p, q, order=order, scales=scales)
        assert (
            max(renyi_divergence(p, q, order=order, scale=b).lower for b in scales) - 1e-8 <= both <= one.upper + 1e-8
        )
        far = float(np.abs(p.means[:, None] - q.means).max())  # any coupling is within it: these add
        shift = (Prior.empirical([0.0]), Prior.empirical([far]))
        assert both <= sum(renyi_divergence(*shift, order=order, scale=b).upper for b in scales)


def test_divergences_of_exact_scales_need_not_add():
    """An atom at 1, and one of which a tenth each is at 0 and 2: two releases at .5 have 3.2, not 1."""
    p, q = Prior.empirical([0, 1, 2], [1, 8, 1]), Prior.empirical([1])
    scale = smallest_scale({"s": p, "t": q}, epsilon=0.5, order=2)
    assert of_two_releases(p, q, order=2, scales=[scale, scale]) == pytest.approx(3.2036, abs=1e-3)


def test_an_order_is_of_laplace_noise_without_a_delta():
    laws = {"s": Prior.empirical([0]), "t": Prior.empirical([1])}
    for wrong in ({"order": 1}, {"order": 2, "delta": 1e-5}, {"order": 2, "noise": "gaussian", "delta": 1e-5}):
        with pytest.raises(ArgumentError, match="order"):
            smallest_scale(laws, **{"epsilon": 1.0, **wrong})
    with pytest.raises(ArgumentError, match="delta"):
        renyi_epsilon(order=2, epsilon=1, delta=0)
    three = {**laws, "u": Prior.empirical([0, 3])}  # the pair that binds decides, in whichever order
    assert smallest_scale(three, epsilon=0.5, order=4) == pytest.approx(
        max(smallest_scale({a: three[a], b: three[b]}, epsilon=0.5, order=4) for a, b in ("st", "su", "tu")), rel=1e-6
    )


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
