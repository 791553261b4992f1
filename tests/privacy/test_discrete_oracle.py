"""The discrete engine and search against an oracle that shares no code with them."""

import math

import numpy as np
import pytest
from conftest import sweep
from oracle import hockey_stick as oracle_hockey_stick
from oracle import pure_loss as oracle_pure_loss

from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.positive_part import positive_part
from puffer_frames.loss.atoms.recursion import log_densities
from puffer_frames.numbers.target import Target
from puffer_frames.scales import search

PAIRS = 200
SOME = 60
"""Enough for every planted fault."""
ABOVE = 1e-6


def random_pair(rng):
    """Two discrete priors of 1 to 8 atoms, with common and own atoms, as (weight, mean, 0) components."""
    style = rng.integers(4)
    values = {0: rng.integers(0, 10, 12), 1: rng.normal(size=12) * 3, 2: rng.integers(0, 3, 12), 3: rng.pareto(1, 12)}
    pool = np.asarray(values[int(style)], dtype=float) + (1e6 if rng.random() < 0.1 else 0)
    pair = []
    for _ in range(2):
        atoms = rng.choice(pool, int(rng.integers(1, 9)))
        weights = rng.dirichlet(np.full(atoms.size, 0.5)) + 1e-9
        pair.append([(float(w), float(x), 0.0) for w, x in zip(weights / weights.sum(), atoms, strict=True)])
    return pair


def as_prior(components):
    weights, means, stds = zip(*components, strict=True)
    return Prior.mixture(weights, means, stds)


def cases(count):
    rng = np.random.default_rng(2024)
    for k in range(count):
        p, q = random_pair(rng)
        epsilon = float(np.exp(rng.uniform(np.log(0.05), np.log(4))))
        delta = float(10 ** rng.uniform(-6, -1)) if k % 2 else 0.0
        yield p, q, epsilon, delta


def oracle_loss(p, q, *, epsilon, delta, scale):
    """What must be at most `delta`, or at most `epsilon` where delta is 0."""
    return oracle_hockey_stick(p, q, epsilon=epsilon, scale=scale) if delta else oracle_pure_loss(p, q, scale=scale)


def disagreements(find_scale, count=SOME):
    """Cases whose scale the oracle finds not private, and cases whose scale it finds needlessly large."""
    unsafe = wasteful = 0
    for p, q, epsilon, delta in cases(count):
        scale = find_scale(as_prior(p), as_prior(q), epsilon=epsilon, delta=delta)
        allowed = delta or epsilon
        unsafe += oracle_loss(p, q, epsilon=epsilon, delta=delta, scale=scale) > allowed
        if scale:
            below = scale * (1 - ABOVE)
            wasteful += oracle_loss(p, q, epsilon=epsilon, delta=delta, scale=below) <= allowed
    return unsafe, wasteful


@sweep(SOME, PAIRS)
def test_every_scale_is_private_and_the_smallest(count):
    def find(p, q, *, epsilon, delta):
        return smallest_scale({0: p, 1: q}, epsilon=epsilon, delta=delta)

    assert disagreements(find, count) == (0, 0)


@sweep(SOME, PAIRS)
def test_brackets_hold_the_oracle_values(count):
    rng = np.random.default_rng(11)
    for p, q, epsilon, _ in cases(count):
        scale = float(np.exp(rng.uniform(-3, 3)))
        pure = pure_loss(as_prior(p), as_prior(q), scale=scale)
        truth = oracle_pure_loss(p, q, scale=scale)
        assert pure.lower <= truth * (1 + 1e-15)
        assert truth <= pure.upper * (1 + 1e-15)
        assert pure.width <= 1e-10 * max(1, truth)
        stick = hockey_stick(as_prior(p), as_prior(q), epsilon=epsilon, scale=scale)
        truth = oracle_hockey_stick(p, q, epsilon=epsilon, scale=scale)
        assert stick.lower - 1e-16 <= truth <= stick.upper + 1e-16
        assert stick.width <= 1e-11


def test_oracle_finds_an_engine_that_checks_one_order_only(monkeypatch):
    def one_order(self, scale, /, *, epsilon):
        outcome = DiscreteLoss.hockey_stick(self, scale, epsilon=epsilon)
        tables = log_densities(self._positions, self._weights(slice(None)), scale=scale or 1e-9)
        lower, upper = positive_part(tables, *self._pair_numbers(), epsilon=epsilon)
        bracket = type(outcome.bracket)(lower=float(lower.max()), upper=float(upper.max()))
        return type(outcome)(bracket=bracket, pair=outcome.pair)

    class OneOrder(DiscreteLoss):
        hockey_stick = one_order

    def find(p, q, *, epsilon, delta):
        loss = OneOrder({0: p, 1: q}, pairs="all")
        return search.smallest_scale_of(loss, Target(epsilon=epsilon, delta=delta))

    assert disagreements(find)[0] > 0


def test_oracle_finds_a_search_that_returns_the_lower_end():
    def find(p, q, *, epsilon, delta):
        return smallest_scale({0: p, 1: q}, epsilon=epsilon, delta=delta) * (1 - search.RELATIVE_TOLERANCE)

    assert disagreements(find)[0] > 0


def test_oracle_finds_a_wasteful_search():
    def find(p, q, *, epsilon, delta):
        return smallest_scale({0: p, 1: q}, epsilon=epsilon, delta=delta) * (1 + 2 * ABOVE)

    unsafe, wasteful = disagreements(find)
    assert unsafe == 0
    assert wasteful > SOME // 2


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_scale_zero_only_where_the_raw_column_is_private(delta):
    p, q = [(0.5, 0.0, 0.0), (0.5, 1.0, 0.0)], [(0.4, 0.0, 0.0), (0.6, 1.0, 0.0)]
    exact = math.log(1.25)
    enough, too_little = exact * 1.001, exact * (0.999 if delta == 0 else 0.9)
    assert smallest_scale({0: as_prior(p), 1: as_prior(q)}, epsilon=enough, delta=delta) == 0
    assert smallest_scale({0: as_prior(p), 1: as_prior(q)}, epsilon=too_little, delta=delta) > 0
