"""The discrete engine and search against an oracle that shares no code with them."""

import math

import numpy as np
import pytest
from conftest import sweep
from oracle import hockey_stick as oracle_hockey_stick
from oracle import pure_loss as oracle_pure_loss

from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.loss.atoms import discrete
from puffer_frames.loss.atoms.discrete import DiscreteLoss, SparseAtoms
from puffer_frames.loss.atoms.recursion import log_densities, positive_part
from puffer_frames.numbers.arguments import Target
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


@pytest.mark.parametrize(("factor", "unsafe"), [(1 - search.RELATIVE_TOLERANCE, True), (1 + 2 * ABOVE, False)])
def test_oracle_finds_the_lower_end_and_a_wasteful_search(factor, unsafe):
    def find(p, q, *, epsilon, delta):
        return smallest_scale({0: p, 1: q}, epsilon=epsilon, delta=delta) * factor

    found = disagreements(find)
    assert (found[0] > 0, found[1] > SOME // 2) == (unsafe, not unsafe)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_scale_zero_only_where_the_raw_column_is_private(delta):
    p, q = [(0.5, 0.0, 0.0), (0.5, 1.0, 0.0)], [(0.4, 0.0, 0.0), (0.6, 1.0, 0.0)]
    exact = math.log(1.25)
    enough, too_little = exact * 1.001, exact * (0.999 if delta == 0 else 0.9)
    assert smallest_scale({0: as_prior(p), 1: as_prior(q)}, epsilon=enough, delta=delta) == 0
    assert smallest_scale({0: as_prior(p), 1: as_prior(q)}, epsilon=too_little, delta=delta) > 0


# Many laws of few atoms: looking at some places finds the same pure loss as the table of all.
def random_priors(rng):
    """Laws of different numbers of atoms: normal, in clusters, on few points, with an outlier, or far from 0."""
    kind = rng.integers(5)
    priors = {}
    for k in range(int(rng.integers(2, 30))):
        n = int(rng.integers(1, 12))
        values = rng.normal(rng.normal() / 3, 1, n)
        if kind == 1:
            values = rng.integers(0, 3, n) * 100 + values / 100
        if kind == 2:
            values = np.round(values)
        if kind == 3 and k == 0:
            values[0] = 1e6
        if kind == 4:
            values += 1e9
        values = np.unique(values)
        weights = 10.0 ** -rng.integers(0, 9, values.size) if rng.random() < 0.3 else rng.integers(1, 9, values.size)
        priors[k] = Prior.empirical(values, weights)
    return priors


@pytest.fixture
def few_looks(monkeypatch):
    monkeypatch.setattr(discrete, "_LOOKS", 3)
    monkeypatch.setattr(discrete, "_LEAST_TABLE", 0)
    monkeypatch.setattr(discrete, "_FEW", 0)


def both(priors, scale):
    """By looks, and by the table."""
    loss = DiscreteLoss(priors, pairs="all")
    looks = loss.pure(scale)
    loss._sparse = None
    return looks, loss.pure(scale)


@sweep(80, 3000)
@pytest.mark.usefixtures("few_looks")
def test_the_same_as_the_table(count):
    rng = np.random.default_rng(4)
    for case in range(count):
        priors, scale = random_priors(rng), 10.0 ** rng.uniform(-3, 3)
        looks, table = both(priors, scale)
        assert looks.bracket.lower <= table.bracket.upper, case
        assert table.bracket.lower <= looks.bracket.upper, case
        assert looks.bracket.upper - looks.bracket.lower <= 1e-11 * (1 + looks.bracket.upper), case
        two = DiscreteLoss({s: priors[s] for s in looks.pair}, pairs=(looks.pair,)).pure(scale).bracket
        assert two.upper >= looks.bracket.lower - 1e-12, case  # the pair is one of the worst


@pytest.mark.usefixtures("few_looks")
@pytest.mark.parametrize("scale", [1e-308, 1e-200, 1e200, 1e300])
def test_scales_at_the_ends_of_the_floats(scale):
    priors = random_priors(np.random.default_rng(1))
    looks, table = both(priors, scale)
    assert looks.bracket.lower <= table.bracket.upper
    assert not math.isnan(looks.bracket.lower)
    assert looks.bracket.upper >= table.bracket.lower


@pytest.mark.usefixtures("few_looks")
def test_a_bound_that_is_too_tight_is_found(monkeypatch):
    """A planted fault: neighbours that are taken to be nearer than they are end the search too early."""
    monkeypatch.setattr(SparseAtoms, "_below", lambda self, place, known, least, scale: least)
    rng = np.random.default_rng(4)
    low = [(looks, table) for looks, table in (both(random_priors(rng), 1.0) for _ in range(60))]
    assert any(looks.bracket.upper < table.bracket.lower for looks, table in low)


def test_few_atoms_of_many_laws_are_not_put_into_a_table(monkeypatch):
    rng = np.random.default_rng(0)
    priors = {k: Prior.empirical(rng.normal(size=20)) for k in range(200)}
    loss = DiscreteLoss(priors, pairs="all")
    monkeypatch.setattr(loss, "_weights", None)
    assert loss.pure(1.8).bracket.upper > 0
    assert not DiscreteLoss({k: priors[k] for k in range(5)}, pairs="all")._sparse.pays


@pytest.mark.usefixtures("few_looks")
def test_laws_that_are_all_the_same():
    """A pair has two ends; distances are beyond the floats."""
    priors = {k: Prior.empirical([-1.7e308, 0.0, 1.7e308]) for k in range(4)}
    looks, table = both(priors, 1e307)
    assert looks.pair == table.pair == (0, 1)
    assert looks.bracket.lower == 0.0
