"""Sets of laws under other noise than Laplace's, and boxes of chains, against laws and chains drawn from them."""

import math
from itertools import product

import numpy as np
import pytest
from conftest import sweep
from scipy.stats import beta, norm
from sequence_oracle import influence

from puffer_frames import Stable
from puffer_frames.loss.noises.coupled import CoupledSetsLoss
from puffer_frames.loss.sets.gaussian_sets import GaussianSetsLoss
from puffer_frames.papers.quilt.scales import _contractions, _diameters
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.markov import ChainBox, chains_not_refuted


def random_set(rng, high):
    """Intervals in the order of a band, or as they come."""
    size = int(rng.integers(1, 12))
    ends = np.sort(rng.uniform(0, high, (2, size)), axis=0)
    if rng.random() < 0.5:
        ends = np.sort(ends, axis=1)
    return LawSet.of(rng.dirichlet(np.ones(size)), *np.round(ends, 1))


def drawn_law(rng, law):
    """Atoms of a law of the set: in each interval a mixture of some points, often of its ends."""
    share = rng.choice([0.0, 1.0, rng.random()], size=(3, law.weights.size))
    parts = rng.dirichlet(np.ones(3), law.weights.size).T
    return (law.lows + share * (law.highs - law.lows)).ravel(), (law.weights * parts).ravel()


def density(ys, atoms, weights, scale):
    return norm.pdf((ys[:, None] - atoms) / scale) @ weights / scale


@sweep(25, 200)
def test_gaussian_noise_holds_drawn_laws_and_is_near_the_integral(count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        high = float(rng.integers(2, 9))
        laws = {name: random_set(rng, high) for name in "st"}
        scale, epsilon = float(rng.uniform(0.5, 4)), float(rng.uniform(0.1, 2))
        found = GaussianSetsLoss(laws, pairs="all").hockey_stick(scale, epsilon=epsilon).bracket.upper
        ys = np.linspace(-8 * scale, high + 8 * scale, 3001)
        step, factor = ys[1] - ys[0], math.exp(epsilon)
        for _ in range(8):
            p, q = (density(ys, *drawn_law(rng, law), scale) for law in laws.values())
            for one, other in ((p, q), (q, p)):
                assert np.maximum(one - factor * other, 0).sum() * step <= found + 1e-9
        extremes = []
        for law in laws.values():
            near = np.maximum(np.maximum(law.lows - ys[:, None], ys[:, None] - law.highs), 0)
            far = np.maximum(np.abs(ys[:, None] - law.lows), np.abs(ys[:, None] - law.highs))
            extremes.append([norm.pdf(away / scale) @ law.weights / scale for away in (near, far)])
        whole = max(np.maximum(extremes[i][0] - factor * extremes[j][1], 0).sum() * step for i, j in ((0, 1), (1, 0)))
        assert found <= min(1.0, whole) * 1.05 + 1e-6


def test_gaussian_noise_on_a_grid_of_many_ends():
    rng = np.random.default_rng(3)
    ends = np.sort(np.sort(rng.uniform(0, 8, (2, 900)), axis=0), axis=1)
    laws = {"s": LawSet.of(np.full(900, 1 / 900), *ends), "t": LawSet.of(np.full(900, 1 / 900), *(ends + 1.0))}
    found = GaussianSetsLoss(laws, pairs="all").hockey_stick(3.0, epsilon=0.3).bracket.upper
    ys = np.linspace(-24, 33, 3001)
    p, q = (
        density(ys, atoms, law.weights, 3.0)
        for atoms, law in ((laws["s"].lows, laws["s"]), (laws["t"].highs, laws["t"]))
    )
    exact = np.maximum(q - math.exp(0.3) * p, 0).sum() * (ys[1] - ys[0])
    assert exact <= found <= 1.6 * exact  # one law need not be the worst everywhere


@sweep(20, 200)
def test_stable_noise_holds_drawn_laws(count):
    noise = Stable(alpha=1.5)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        high = float(rng.integers(2, 9))
        laws = {name: random_set(rng, high) for name in "st"}
        scale = float(rng.uniform(0.5, 4))
        found = CoupledSetsLoss(laws, pairs="all", noise=noise).pure(scale).bracket.upper
        ys = np.linspace(-8 * scale, high + 8 * scale, 401)
        for _ in range(5):
            logs = [
                np.log(np.exp(noise.at(scale).log_density(np.abs(ys[:, None] - atoms))) @ weights)
                for atoms, weights in (drawn_law(rng, law) for law in laws.values())
            ]
            assert np.abs(logs[0] - logs[1]).max() <= found + 1e-6


def drawn_matrix(rng, box):
    """A transition matrix of a box, entries often at their bounds."""
    for _ in range(1000):
        share = rng.choice([0.0, 1.0, rng.random()], size=box.least.shape)
        rows = box.least + share * (box.most - box.least)
        rows[:, -1] = 1 - rows[:, :-1].sum(axis=1)
        if ((rows >= box.least - 1e-12) & (rows <= box.most + 1e-12)).all():
            return rows
    return None


def box_about(rng, states):
    rows = 0.5 * rng.dirichlet(np.ones(states), states) + 0.5 / states
    width = rng.uniform(0.005, 0.1)
    return ChainBox(least=np.maximum(rows - width, 1e-3), most=np.minimum(rows + width, 1.0))


@sweep(12, 150)
def test_every_chain_of_a_box_tells_no_more(count):
    tried = 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        box = box_about(rng, 2 + seed % 2)
        bounds = _diameters(_contractions(box), np.arange(1, 7))
        for _ in range(4):
            transition = drawn_matrix(rng, box)
            if transition is None:
                continue
            start = rng.dirichlet(np.full(box.states, 0.5))
            for before, after in product((0, 1, 2), (0, 1, 3)):
                quilt = tuple(time for time, there in ((3 - before, before), (3 + after, after)) if there)
                if quilt:
                    told = sum(bounds[away - 1] for away in (before, after) if away)
                    assert influence(transition, start, 6, 3, quilt) <= told + 1e-12
                    tried += 1
    assert tried > 5 * count


@pytest.mark.parametrize("rows", [[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]])
@sweep(300, 5000)
def test_the_box_misses_the_matrix_of_at_most_one_series_in_twenty(rows, count):
    rng, transition = np.random.default_rng(2), np.array(rows)
    missed = 0
    for _ in range(count):
        states, uniform = [0], rng.random(int(rng.integers(5, 120)))
        for u in uniform:
            states.append(int(np.searchsorted(np.cumsum(transition[states[-1]]), u, side="right")))
        seen = np.zeros(transition.shape, dtype=np.intp)
        np.add.at(seen, (states[:-1], states[1:]), 1)
        box = chains_not_refuted(seen, alpha=0.05)
        missed += not ((box.least <= transition) & (transition <= box.most)).all()
    assert missed <= count * 0.05 + 2 * math.sqrt(count * 0.05 * 0.95)


def test_the_box_has_the_bounds_of_clopper_and_pearson():
    seen = np.array([[30, 10], [5, 55]])
    box = chains_not_refuted(seen, alpha=0.1)
    tail = 0.1 / (2 * 2 * 100)
    assert box.least[0, 0] == pytest.approx(beta.ppf(tail, 30, 11), rel=1e-6)
    assert box.most[1, 0] == pytest.approx(beta.isf(tail, 6, 55), rel=1e-6)
    assert box.least.sum(axis=1) + box.most.sum(axis=1) == pytest.approx(2.0, abs=1e-6)
