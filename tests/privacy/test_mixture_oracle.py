"""The mixture engine and search against an oracle that shares no code with them."""

import numpy as np
import pytest
from conftest import few, sweep
from oracle import hockey_stick as oracle_hockey_stick
from oracle import pure_loss as oracle_pure_loss

from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.loss.mixtures import refine

PAIRS = 200
ABOVE = 1e-5
FEW = 12
"""Of a sweep that is among the slow tests at length: four pairs of each style."""


def random_mixture(rng, components, *, widths=(-1, 1), spread=2.0):
    weights, stds = rng.dirichlet(np.ones(components)), 10 ** rng.uniform(*widths, components)
    return [(float(w), float(m), float(s)) for w, m, s in zip(weights, rng.normal(size=components) * spread, stds)]


def random_pair(rng, style):
    """Two mixtures of 1 to 3 components, in units of a scale near 1."""
    k, m = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    if style == "near-equal":
        p, size = random_mixture(rng, k), 10 ** rng.uniform(-6, -1)
        return p, [(w, x + size * rng.normal() * s, s * (1 + size * rng.normal())) for w, x, s in p]
    if style == "widths from 1e-4 to 1e4":
        return random_mixture(rng, k, widths=(-4, 4)), random_mixture(rng, m, widths=(-4, 4))
    if style == "narrow against wide":
        return random_mixture(rng, k, widths=(-4, -1)), random_mixture(rng, m, widths=(2, 4))
    if style == "far apart":
        return tuple(random_mixture(rng, n, spread=10 ** rng.uniform(2, 6)) for n in (k, m))
    p, q = random_mixture(rng, k), random_mixture(rng, m)
    if style == "atoms":
        p[0], q[-1] = (*p[0][:2], 0.0), (*q[-1][:2], 0.0)
    return p, q


STYLES = ["plain", "near-equal", "widths from 1e-4 to 1e4", "narrow against wide", "far apart", "atoms"]


def as_prior(components):
    return Prior.mixture(*zip(*components))


def cases(count):
    rng = np.random.default_rng(7)
    for k in range(count):
        p, q = random_pair(rng, STYLES[k % len(STYLES)])
        yield p, q, float(10 ** rng.uniform(-2, 0.6)), float(10 ** rng.uniform(-0.7, 0.7))


def pure_losses_outside(count):
    """For each case, whether the bracket misses the oracle's value."""
    for p, q, _, scale in cases(count):
        pure, truth = pure_loss(as_prior(p), as_prior(q), scale=scale), oracle_pure_loss(p, q, scale=scale)
        yield not pure.lower - 1e-14 <= truth * (1 + 1e-12) <= pure.upper * (1 + 1e-11) + 1e-14


def sticks_outside(count):
    for p, q, epsilon, scale in cases(count):
        stick = hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=scale)
        truth = oracle_hockey_stick(p, q, epsilon=epsilon, scale=scale)
        yield not stick.lower - 1e-15 <= truth <= stick.upper + 1e-15


@sweep(FEW, PAIRS)
def test_brackets_hold_the_oracle_values(count):
    assert (sum(pure_losses_outside(count)), sum(sticks_outside(count))) == (0, 0)


@sweep(FEW, PAIRS)
def test_brackets_are_narrow(count):
    for p, q, epsilon, scale in cases(count):
        pure = pure_loss(as_prior(p), as_prior(q), scale=scale)
        assert pure.width <= max(1e-4 * pure.upper, 1e-12)
        stick = hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=scale)
        assert stick.width <= max(1e-4 * stick.upper, 5e-14)  # the rounding of differences of masses


@few(1)
@sweep(6, 36)
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
def test_scales_are_private_and_the_smallest(delta, count):
    for p, q, epsilon, _ in cases(count):
        scale = smallest_scale({0: as_prior(p), 1: as_prior(q)}, epsilon=epsilon, delta=delta)

        def loss(b):
            return oracle_hockey_stick(p, q, epsilon=epsilon, scale=b) if delta else oracle_pure_loss(p, q, scale=b)  # noqa: B023

        if scale:
            assert loss(scale) <= (delta or epsilon) * (1 + 1e-12)
            assert loss(scale * (1 - ABOVE)) > (delta or epsilon)
        elif delta:
            raw = hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=0)
            assert raw.upper <= delta
            assert loss(1e-3 * min([s for _, _, s in p + q if s] or [1.0])) <= delta * (1 + 1e-6)


def test_oracle_finds_a_plain_grid_maximum(monkeypatch):
    monkeypatch.setattr(refine, "_MOST_LEVELS", 1)
    monkeypatch.setattr(refine, "wedge", lambda left, right, *_: np.maximum(left, right))
    monkeypatch.setattr(refine, "parabola", lambda left, right, *_: np.maximum(left, right))
    assert any(pure_losses_outside(60))


def test_oracle_finds_a_lost_order(monkeypatch):
    right = refine.positive_mass

    def one_order(p, q, **options):
        return right(p, q, **options) if p.means[0, 0] <= q.means[0, 0] else (0.0, 0.0)

    monkeypatch.setattr("puffer_frames.loss.mixtures.mixture.positive_mass", one_order)
    assert any(sticks_outside(60))


def test_oracle_finds_a_forgotten_tail(monkeypatch):
    monkeypatch.setattr(refine, "_tails", lambda *_: ([np.empty(0)], [np.empty(0)], 0.0))
    assert any(sticks_outside(60))
