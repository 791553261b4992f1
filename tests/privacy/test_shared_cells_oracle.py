"""Quick bounds of many mixtures: never inside the proved brackets of a pair, and the worst pair is the same."""

import math

import numpy as np
import pytest
from conftest import few, sweep

from puffer_frames.core import Prior
from puffer_frames.loss.mixtures import mixture
from puffer_frames.loss.mixtures.curve import Curve
from puffer_frames.loss.mixtures.mixture import MixtureLoss, SharedCells
from puffer_frames.loss.mixtures.refine import largest_log_ratio, positive_mass


def priors_of(rng, *, count, atoms):
    """Mixtures far apart or nearly equal, wide or narrow, with atoms or without."""
    weights, means, stds = rng.dirichlet(np.ones(4)), rng.normal(size=4) * 3, np.exp(rng.uniform(-3, 1, 4))
    spread = float(rng.choice([0.01, 1.0]))
    for k in range(count):
        own = weights * np.exp(spread * rng.normal(size=4))
        widths = stds * np.exp(0.3 * spread * rng.normal(size=4))
        widths[0] *= not (atoms and k % 2)
        yield Prior.mixture(own / own.sum(), means + spread * rng.normal(size=4), widths)


def curves_of(priors, scale):
    return [Curve(prior.weights, prior.means, prior.stds, scale=scale, centre=0.0) for prior in priors]


@sweep(8, 250)
def test_bounds_hold_the_brackets_of_a_pair(count):
    rng, close = np.random.default_rng(7), []
    for k in range(count):
        scale = (0.0, 0.05, 0.7, 6.0)[k % 4]
        curves = curves_of(priors_of(rng, count=3, atoms=scale > 0 and k % 3 == 0), scale)
        shared = SharedCells.of(curves)
        for i, j in ((0, 1), (0, 2), (1, 2)):
            epsilon = float(rng.choice([0.05, 0.5, 2.0]))
            orders = [positive_mass(*each, epsilon=epsilon, tolerance=1e-8) for each in _orders(curves[i], curves[j])]
            low, high = shared.positive_mass(i, j, epsilon=epsilon)
            assert low <= max(most for _, most in orders) * (1 + 1e-12)
            assert high >= max(least for least, _ in orders) * (1 - 1e-12)
            close.append(high <= 1.1 * low + 1e-12)
            if scale:
                least, most = largest_log_ratio(curves[i], curves[j], tolerance=1e-8)
                low, high = shared.largest_log_ratio(i, j)
                assert low <= most
                assert least <= high
    assert np.mean(close) > 0.8  # else they would decide nothing


def _orders(p, q):
    return (p, q), (q, p)


@few(4)
@pytest.mark.parametrize(("scale", "epsilon"), [(0.0, 0.5), (0.0, 3.0), (0.2, 0.5), (2.0, 0.1)])
@pytest.mark.parametrize("atoms", [False, True])
def test_the_worst_pair_is_that_of_all_pairs(monkeypatch, scale, epsilon, atoms):
    priors = dict(enumerate(priors_of(np.random.default_rng(3), count=7, atoms=atoms)))
    loss = MixtureLoss(priors, pairs="all")
    found = loss.hockey_stick(scale, epsilon=epsilon), loss.pure(scale)
    monkeypatch.setattr(mixture, "_FEW_PAIRS", math.inf)
    alone = loss.hockey_stick(scale, epsilon=epsilon), loss.pure(scale)
    for each, other in zip(found, alone, strict=True):
        assert each.pair == other.pair or not scale  # without noise all pairs that differ in an atom may be the worst
        assert each.bracket.upper == pytest.approx(other.bracket.upper, rel=1e-7)
        assert each.bracket.lower == pytest.approx(other.bracket.lower, rel=1e-7)


@pytest.mark.parametrize("scale", [0.0, 0.2])
@pytest.mark.parametrize("atoms", [False, True])
def test_few_pairs_are_looked_at_closely(monkeypatch, scale, atoms):
    priors = dict(enumerate(priors_of(np.random.default_rng(5), count=12, atoms=atoms)))
    calls, closely = [], mixture.positive_mass

    def counted(*curves, **asked):
        calls.append(curves)
        return closely(*curves, **asked)

    monkeypatch.setattr(mixture, "positive_mass", counted)
    MixtureLoss(priors, pairs="all").hockey_stick(scale, epsilon=0.5)
    share = 0.75 if atoms and not scale else 0.25  # without noise many pairs are the worst, for the mass of an atom
    assert 0 < len(calls) <= share * 2 * 66  # in both orders


def test_a_pair_of_which_nothing_is_known_is_looked_at(monkeypatch):
    priors = dict(enumerate(priors_of(np.random.default_rng(3), count=7, atoms=False)))
    loss = MixtureLoss(priors, pairs="all")
    known = loss.hockey_stick(0.2, epsilon=0.5)
    numbers, quick = set(known.pair), SharedCells.positive_mass

    def unsure(self, i, j, **asked):
        return (math.nan, math.nan) if {i, j} == numbers else quick(self, i, j, **asked)

    monkeypatch.setattr(SharedCells, "positive_mass", unsure)
    assert loss.hockey_stick(0.2, epsilon=0.5).pair == known.pair
