"""The mixture engine and search against an oracle that shares no code with them."""

import functools
import math
from itertools import combinations, permutations

import numpy as np
import pytest
from conftest import few, sweep
from mpmath import mp, mpf
from noise_oracle import hockey_stick as oracle_gaussian_noise
from oracle import hockey_stick as oracle_hockey_stick
from oracle import pure_loss as oracle_pure_loss

from puffer_frames.core import Prior, hockey_stick, pure_loss, smallest_scale
from puffer_frames.loss.mixtures import mixture, refine
from puffer_frames.loss.mixtures.curve import Curve
from puffer_frames.loss.mixtures.mixture import ManyGaussiansLoss, MixtureLoss, SharedCells
from puffer_frames.loss.mixtures.refine import largest_log_ratio, positive_mass
from puffer_frames.loss.noises.gaussian_noise import ManyWidenedLoss
from puffer_frames.priors.bands import Bands

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


# Quick bounds of many mixtures: never inside the proved brackets of a pair, and the worst pair is the same.
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


# Many Gaussians against an oracle that shares no code with the engine, over all pairs in both orders.
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


def many_cases(count):
    """Each set with so many of the requests, in turn."""
    return [(k, *REQUESTS[(k + turn) % len(REQUESTS)]) for turn in range(count) for k in range(len(SETS))]


def pure_brackets(count=1):
    """Brackets of the engine, and what they are to hold."""
    return ((engine(*SETS[k]).pure(scale).bracket, largest_loss(k, scale)) for k, scale, _ in many_cases(count))


def stick_brackets(kind=ManyGaussiansLoss, count=1):
    oracle = oracle_gaussian_noise if kind is ManyWidenedLoss else oracle_hockey_stick
    for k, scale, epsilon in many_cases(count):
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
positive_part = mixture.positive_mass


@pytest.mark.usefixtures("unlucky")
@sweep(1, len(REQUESTS))
def test_brackets_hold_whatever_is_measured_first(count):
    assert not missed_pure(pure_brackets(count))
    assert not missed_sticks(stick_brackets(count=count))
    assert not missed_sticks(stick_brackets(ManyWidenedLoss, count))


@pytest.mark.usefixtures("unlucky")
def test_oracle_of_many_finds_a_forgotten_tail(monkeypatch):
    monkeypatch.setattr(ManyGaussiansLoss, "_largest_tail", lambda *_: (0.0, (0, 1)))
    monkeypatch.setattr(mixture, "largest_log_ratio", lambda *_, **__: (0.0, 0.0))
    assert missed_pure(pure_brackets())


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_forgotten_peak(monkeypatch):
    monkeypatch.setattr(ManyGaussiansLoss, "_peak", lambda *_: 0.0)
    assert missed_pure(pure_brackets(len(REQUESTS)))


@pytest.mark.usefixtures("unlucky")
def test_oracle_finds_a_forgotten_width_of_bands(monkeypatch):
    monkeypatch.setattr(mixture, "_growth", lambda *_: (0.0, 0.0))
    monkeypatch.setattr(mixture, "_above", lambda band, _: (0.0, band.low_std))
    monkeypatch.setattr(mixture, "_below", lambda band, _: (0.0, band.low_std))
    assert missed_pure(pure_brackets()) or missed_sticks(stick_brackets())
    assert missed_sticks(stick_brackets(ManyWidenedLoss))


@pytest.mark.usefixtures("unlucky")
def test_oracle_of_many_finds_a_lost_order(monkeypatch):
    def one_order(p, q, **options):
        return positive_part(p, q, **options) if p.stds[0, 0] > q.stds[0, 0] else (0.0, 0.0)

    monkeypatch.setattr(mixture, "positive_mass", one_order)
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
            by_variance, by_width = mixture._growth(band, scale)
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
    monkeypatch.setattr(mixture, "_ROUND_UP", 1.0)
    assert rounded_down() > 0
