"""Many Gaussians against an oracle that shares no code with the engine, over all pairs in both orders."""

import functools
from itertools import combinations, permutations

import numpy as np
import pytest
from conftest import sweep
from mpmath import mp, mpf
from noise_oracle import hockey_stick as oracle_gaussian_noise
from oracle import hockey_stick as oracle_hockey_stick
from oracle import pure_loss as oracle_pure_loss

from puffer_frames.core import Prior
from puffer_frames.loss.mixtures import many_gaussians
from puffer_frames.loss.mixtures.many_gaussians import ManyGaussiansLoss
from puffer_frames.loss.noises.gaussian_noise import ManyWidenedLoss
from puffer_frames.priors.bands import Bands

SETS = [
    ([0.0, 3.0], [1.0, 0.2]),  # two secrets
    ([0.0, 0.3, -0.4, 1.0, 0.2], [1.0, 1.1, 0.9, 3.0, 0.05]),
    ([0.0] * 5, [0.02, 0.5, 1.0, 1.2, 0.7]),  # the centre binds
    ([0.0] * 4, [0.5, 1.0, 4.0, 30.0]),  # the tails bind
    ([0.0, 1.0, 5.0, 5.5, -2.0], [2.0] * 5),
    ([0.0, 1e3, -1e3, 5.0, 2e3], [1.0, 2.0, 0.5, 9.0, 1.5]),
    ([0.0, 1.0, 2.0, 0.5, 0.1], [0.0, 0.0, 1.0, 1e-3, 1e-6]),  # atoms, and nearly atoms
]
"""Means and standard deviations."""
REQUESTS = [(0.4, 0.5), (3.0, 0.1)]
"""Scales and epsilons."""


def engine(means, stds, kind=ManyGaussiansLoss):
    return kind({k: Prior.gaussian(*pair) for k, pair in enumerate(zip(means, stds, strict=True))})


def pairs(means, stds):
    """Each pair once: an oracle looks at both orders of it."""
    return combinations([[(1.0, mean, std)] for mean, std in zip(means, stds, strict=True)], 2)


@functools.cache
def largest_loss(k, scale):
    """Of all pairs of a set."""
    return max(oracle_pure_loss(p, q, scale=scale) for p, q in pairs(*SETS[k]))


@functools.cache
def largest_stick(oracle, k, scale, epsilon):
    """Of all pairs of a set."""
    return max(oracle(p, q, epsilon=epsilon, scale=scale) for p, q in pairs(*SETS[k]))


def cases(count):
    """Each set with so many of the requests, in turn."""
    return [(k, *REQUESTS[(k + turn) % len(REQUESTS)]) for turn in range(count) for k in range(len(SETS))]


def pure_brackets(count=1):
    """Brackets of the engine, and what they are to hold."""
    return ((engine(*SETS[k]).pure(scale).bracket, largest_loss(k, scale)) for k, scale, _ in cases(count))


def stick_brackets(kind=ManyGaussiansLoss, count=1):
    oracle = oracle_gaussian_noise if kind is ManyWidenedLoss else oracle_hockey_stick
    for k, scale, epsilon in cases(count):
        found = engine(*SETS[k], kind).hockey_stick(scale, epsilon=epsilon).bracket
        yield found, largest_stick(oracle, k, scale, epsilon)


def missed_pure(brackets):
    """Whether a pure loss is outside of its bracket."""
    return any(
        not found.lower - 1e-14 <= truth * (1 + 1e-12) <= found.upper * (1 + 1e-11) + 1e-14 for found, truth in brackets
    )


def missed_sticks(brackets):
    """Whether a hockey stick is outside of its bracket."""
    return any(not found.lower - 1e-15 <= truth <= found.upper + 1e-15 for found, truth in brackets)


@sweep(1, len(REQUESTS))
def test_brackets_hold_the_largest_of_all_pairs_and_are_narrow(count):
    pure, sticks = list(pure_brackets(count)), list(stick_brackets(count=count))
    under_gaussian_noise = list(stick_brackets(ManyWidenedLoss, count))
    assert not missed_pure(pure)
    assert not missed_sticks(sticks)
    assert not missed_sticks(under_gaussian_noise)
    for found, truth in pure:
        assert found.width <= 1e-7 * truth
    for found, truth in sticks + under_gaussian_noise:
        assert found.width <= max(1e-7 * truth, 5e-14)


@pytest.fixture
def unlucky(monkeypatch):
    """The pairs measured first are not the worst ones, so that all depends on the bounds."""
    monkeypatch.setattr(ManyGaussiansLoss, "_guesses", lambda _: [(0, 1)])
    monkeypatch.setattr(ManyGaussiansLoss, "_largest_tail", lambda loss, scale: (tail(loss, scale)[0], (0, 1)))


tail = ManyGaussiansLoss._largest_tail
positive_part = many_gaussians.positive_mass


@pytest.mark.usefixtures("unlucky")
@sweep(1, len(REQUESTS))
def test_brackets_hold_whatever_is_measured_first(count):
    assert not missed_pure(pure_brackets(count))
    assert not missed_sticks(stick_brackets(count=count))
    assert not missed_sticks(stick_brackets(ManyWidenedLoss, count))


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_forgotten_tail(monkeypatch):
    monkeypatch.setattr(ManyGaussiansLoss, "_largest_tail", lambda *_: (0.0, (0, 1)))
    monkeypatch.setattr(many_gaussians, "largest_log_ratio", lambda *_, **__: (0.0, 0.0))
    assert missed_pure(pure_brackets())


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_forgotten_peak(monkeypatch):
    monkeypatch.setattr(ManyGaussiansLoss, "_peak", lambda *_: 0.0)
    assert missed_pure(pure_brackets(len(REQUESTS)))


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_forgotten_width_of_bands(monkeypatch):
    monkeypatch.setattr(many_gaussians, "_growth", lambda *_: (0.0, 0.0))
    monkeypatch.setattr(many_gaussians, "_above", lambda band, _: (0.0, band.low_std))
    monkeypatch.setattr(many_gaussians, "_below", lambda band, _: (0.0, band.low_std))
    assert missed_pure(pure_brackets()) or missed_sticks(stick_brackets())
    assert missed_sticks(stick_brackets(ManyWidenedLoss))


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_lost_order(monkeypatch):
    def one_order(p, q, **options):
        return positive_part(p, q, **options) if p.stds[0, 0] > q.stds[0, 0] else (0.0, 0.0)

    monkeypatch.setattr(many_gaussians, "positive_mass", one_order)
    assert missed_sticks(stick_brackets())
    assert missed_sticks(stick_brackets(ManyWidenedLoss))


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_distance_of_the_nearest_members(monkeypatch):
    band = Bands.band

    def wrong(self, level, place):
        found = band(self, level, place)
        middle = 0.5 * (found.low_mean + found.high_mean)
        return found._replace(low_mean=middle, high_mean=middle)

    monkeypatch.setattr(Bands, "band", wrong)
    assert missed_pure(pure_brackets()) or missed_sticks(stick_brackets())
    assert missed_sticks(stick_brackets(ManyWidenedLoss))


def rounded_down():
    """How many of the numbers that bounds are made of lie below the exact ones."""
    rng, below = np.random.default_rng(0), 0
    for _ in range(200):
        stds = np.sort(rng.uniform(0.5, 1.5) * (1 + 10 ** rng.uniform(-16, 0) * rng.random(4)))
        means, scale = rng.normal(size=4) * 10 ** rng.uniform(-3, 3), float(10 ** rng.uniform(-1, 1))
        pair = Bands(means, stds).all_pairs
        band = pair.narrow
        with mp.workdps(60):
            b, high, low = mpf(scale), mpf(band.high_std), mpf(band.low_std)
            by_variance, by_width = many_gaussians._growth(band, scale)
            below += by_variance < (high**2 - low**2) / (2 * b**2)
            below += by_width < mp.log(high / low)
            below += pair.distance < mpf(float(means.max())) - mpf(float(means.min()))
            tails = [
                abs(mpf(float(means[i])) - mpf(float(means[j]))) / b
                + abs(mpf(float(stds[i])) ** 2 - mpf(float(stds[j])) ** 2) / (2 * b**2)
                for i, j in permutations(range(4), 2)
            ]
            below += tail(engine(means.tolist(), stds.tolist()), scale)[0] < max(tails)
    return below


def test_bounds_are_rounded_up(monkeypatch):
    assert rounded_down() == 0
    monkeypatch.setattr(many_gaussians, "_ROUND_UP", 1.0)
    assert rounded_down() > 0
