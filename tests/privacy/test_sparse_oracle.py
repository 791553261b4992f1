"""Many laws of few atoms: looking at some places finds the same pure loss as the table of all."""

import math

import numpy as np
import pytest
from conftest import sweep

from puffer_frames.core import Prior
from puffer_frames.loss.atoms import discrete
from puffer_frames.loss.atoms.discrete import DiscreteLoss, SparseAtoms


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
