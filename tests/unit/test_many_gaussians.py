"""Many Gaussians at once: what the bands leave out is proved not to be the worst."""

import functools
from collections import Counter
from itertools import combinations, combinations_with_replacement

import numpy as np
import pytest
from conftest import few, sweep, thinned

import puffer_frames.priors.bands
from puffer_frames.core import Prior, fit_gaussian, smallest_scale
from puffer_frames.errors import CalibrationError
from puffer_frames.loss.engine import MOST_SECRETS, privacy_loss
from puffer_frames.loss.mixtures.mixture import FEWEST_BANDED, ManyGaussiansLoss, MixtureLoss
from puffer_frames.loss.noises.gaussian_noise import GaussianNoiseLoss, ManyWidenedLoss
from puffer_frames.noise.families import GAUSSIAN
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.gaussian import gaussian_scale
from puffer_frames.priors.bands import Bands, PairOfBands
from puffer_frames.priors.fitting import group_moments
from puffer_frames.priors.prior import gaussian_priors, observed_priors
from puffer_frames.scales.search import smallest_scale_of

STYLES = {
    "plain": lambda rng, n: (2 * rng.normal(size=n), 10 ** rng.uniform(-1, 1, n)),
    "stds from 1e-4 to 1e4": lambda rng, n: (2 * rng.normal(size=n), 10 ** rng.uniform(-4, 4, n)),
    "equal means": lambda rng, n: (np.full(n, 3.0), 10 ** rng.uniform(-2, 2, n)),
    "equal stds": lambda rng, n: (rng.normal(size=n), np.full(n, 2.0)),
    "two stds": lambda rng, n: (rng.normal(size=n), rng.integers(1, 3, n) * 1.0),
    "far apart": lambda rng, n: (1e5 * rng.normal(size=n), 10 ** rng.uniform(-1, 1, n)),
    "near-equal": lambda rng, n: (1e-3 * rng.normal(size=n), 1 + 1e-3 * rng.normal(size=n)),
    "atoms among them": lambda rng, n: (rng.normal(size=n), rng.uniform(0.1, 2, n) * (rng.random(n) < 0.7)),
    "stds that go to 0": lambda rng, n: (rng.normal(size=n), 10.0 ** rng.uniform(-100, 0, n)),
    "stds that grow with the means": lambda rng, n: (np.linspace(1, 9, n), np.sqrt(np.linspace(1, 9, n))),
    "a repeated prior": lambda rng, n: (np.repeat([0.0, 1.0], (n - 1, 1)), np.repeat([1.0, 2.0], (n - 1, 1))),
}


def priors_of(style, n, seed=0):
    means, stds = STYLES[style](np.random.default_rng(seed), n)
    return {k: Prior.gaussian(float(mean), float(std)) for k, (mean, std) in enumerate(zip(means, stds, strict=True))}


def assert_alike(found, expected, *, width=1e-7):
    assert found.bracket.lower <= expected.bracket.upper
    assert expected.bracket.lower <= found.bracket.upper
    assert found.bracket.upper == pytest.approx(expected.bracket.upper, rel=width, abs=1e-13)


@pytest.mark.parametrize(("style", "scale"), thinned(STYLES, [0.1, 1.0, 20.0]))
@sweep(3, 30)
def test_pure_loss_is_that_of_the_pairs_one_by_one(style, scale, count):
    for n in (2, count):
        priors = priors_of(style, n, seed=n)
        found, expected = (loss.pure(scale) for loss in (ManyGaussiansLoss(priors), MixtureLoss(priors, pairs="all")))
        assert_alike(found, expected)
        if expected.bracket.lower:
            assert found.bracket.width <= 2e-7 * found.bracket.upper + 1e-13
            pair = MixtureLoss(priors, pairs=(found.pair,)).pure(scale)
            assert pair.bracket.upper == pytest.approx(expected.bracket.upper, rel=1e-7, abs=1e-13)


@few(6)
@pytest.mark.parametrize(
    ("engines", "style", "point"),
    [
        *thinned([(ManyGaussiansLoss, MixtureLoss)], STYLES, [(0.3, 0.1), (1.0, 1.0), (5.0, 0.5)]),
        *thinned([(ManyWidenedLoss, GaussianNoiseLoss)], STYLES, [(0.3, 0.1), (1.0, 1.0), (30.0, 0.2)]),
    ],
    ids=str,
)
@sweep(2, 12)
def test_hockey_stick_is_that_of_the_pairs_one_by_one(engines, style, point, count):
    scale, epsilon = point
    for n in (2, count):
        priors = priors_of(style, n, seed=n)
        many, one_by_one = engines[0](priors), engines[1](priors, pairs="all")
        assert_alike(many.hockey_stick(scale, epsilon=epsilon), one_by_one.hockey_stick(scale, epsilon=epsilon))
        assert engines[0] is ManyGaussiansLoss or many.pure(scale).bracket == one_by_one.pure(scale).bracket


@pytest.mark.parametrize("style", STYLES)
@sweep(2, 9)
def test_without_noise(style, count):
    priors = priors_of(style, count)
    many, one_by_one = ManyGaussiansLoss(priors), MixtureLoss(priors, pairs="all")
    assert many.pure(0.0).bracket == one_by_one.pure(0.0).bracket
    found, expected = (loss.hockey_stick(0.0, epsilon=0.5).bracket for loss in (many, one_by_one))
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    assert found.upper <= expected.upper * 1.01 or expected.lower > 0.5  # far from private


@pytest.mark.parametrize(("engine", "scale"), [(ManyGaussiansLoss, 1e-60), (ManyWidenedLoss, 1e-120)])
def test_no_noise_hardly_any_and_equal_priors(engine, scale):
    many = engine(priors_of("plain", 9))
    assert many.pure(0.0).bracket.lower == many.pure(scale).bracket.upper == np.inf
    assert many.hockey_stick(scale, epsilon=1.0).bracket.upper == many.hockey_stick(0.0, epsilon=1.0).bracket.upper
    assert many.hockey_stick(scale, epsilon=1.0).bracket.lower == 0
    equal = engine({k: Prior.gaussian(1.0, 2.0) for k in range(9)})
    assert equal.pure(1.0).bracket.upper == equal.hockey_stick(1.0, epsilon=0.1).bracket.upper == 0
    if engine is ManyGaussiansLoss:
        assert equal.pure(0.0).bracket.upper == smallest_scale_of(equal, Target(epsilon=1.0, delta=0.0)) == 0


def test_tiny_stds_and_other_units():
    priors = {k: Prior.gaussian(k, std) for k, std in enumerate([1e-290, 1.0, 2.0])}
    assert ManyGaussiansLoss(priors).pure(0.0).bracket.lower == np.inf
    assert ManyGaussiansLoss(priors).pure(3.0).bracket.upper < np.inf
    for unit in (2.0**-400, 2.0**400):
        plain, other = priors_of("plain", 9), {}
        for k, prior in plain.items():
            other[k] = Prior.gaussian(float(prior.means[0]) * unit, float(prior.stds[0]) * unit)
        assert ManyGaussiansLoss(other).pure(unit).bracket == ManyGaussiansLoss(plain).pure(1.0).bracket


@few(2)
@pytest.mark.parametrize(
    ("style", "delta"),
    [
        *((style, 0.0) for style in ("plain", "equal means", "atoms among them", "two stds")),
        ("two stds", 1e-4),
        *(pytest.param(style, 1e-4, marks=pytest.mark.slow) for style in ("plain", "equal means", "atoms among them")),
    ],
)
def test_scales_are_those_of_the_pairs_one_by_one(style, delta):
    priors = priors_of(style, 9)
    expected = smallest_scale_of(MixtureLoss(priors, pairs="all"), Target(epsilon=0.7, delta=delta))
    assert smallest_scale(priors, epsilon=0.7, delta=delta) == pytest.approx(expected, rel=5e-8)
    if delta:
        expected = smallest_scale_of(GaussianNoiseLoss(priors, pairs="all"), Target(epsilon=0.7, delta=delta))
        found = smallest_scale(priors, epsilon=0.7, delta=delta, noise="gaussian")
        assert found == pytest.approx(expected, rel=5e-8)


@functools.cache
def losses_of_a_pair(many, scale, epsilon, i, j):
    """Lower ends of its brackets: a pair lies in many pairs of bands."""
    pair = many.only((i, j))
    return pair.pure(scale).bracket.lower, pair.hockey_stick(scale, epsilon=epsilon).bracket.lower


@sweep(1, 4)
def test_bounds_of_bands_hold_for_all_their_members(count):
    rng = np.random.default_rng(3)
    for style in ("atoms among them", "near-equal", "plain", "stds from 1e-4 to 1e4")[:count]:
        priors = priors_of(style, 12, seed=5)
        many, scale, epsilon = ManyGaussiansLoss(priors), float(10 ** rng.uniform(-1, 1)), 0.6
        stds = np.array([prior.stds[0] for prior in priors.values()])
        tail = many._largest_tail(scale)[0]
        losses = functools.partial(losses_of_a_pair, many, scale, epsilon)
        bands = [many._bands.band(level, place) for level in (0, 1, 2) for place in range(3)]
        for a, b in combinations_with_replacement(sorted(bands, key=lambda band: band.low_std), 2):
            if a is not b and a.high_std >= b.low_std:
                continue
            most = max(many._peak(PairOfBands(a, b), scale, 0.0), tail)
            stick = many._positive_part(PairOfBands(a, b), scale, epsilon, 0.0)
            members = [np.flatnonzero((stds >= band.low_std) & (stds <= band.high_std)) for band in (a, b)]
            for i in members[0]:
                for j in set(members[1]) - {i}:
                    pure_loss, hockey_stick = losses(int(i), int(j))
                    assert pure_loss <= most
                    assert hockey_stick <= stick


def test_parts_hold_every_pair_once():
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 7, 20):
        bands = Bands(rng.normal(size=n), rng.permutation(n) + 1.0)
        found, queue = Counter(), [bands.all_pairs]
        while queue:
            pair = queue.pop()
            if pair.decided:
                found[pair.narrow.low_std, pair.wide.low_std] += 1
            else:
                queue += bands.parts(pair, blur=lambda band: band.high_std - band.low_std)
        assert found == Counter(combinations_with_replacement(np.arange(n) + 1.0, 2))


def test_bands_know_their_extremes():
    rng = np.random.default_rng(1)
    means, stds = rng.normal(size=33), rng.integers(1, 12, 33) * 1.0
    bands = Bands(means, stds)
    for level in range(5):
        for place in range(2 if level < 4 else 1):
            band = bands.band(level, place)
            inside = (stds >= band.low_std) & (stds <= band.high_std)
            assert (band.low_mean, band.high_mean) == (means[inside].min(), means[inside].max())
            assert (means[band.lowest], means[band.highest]) == (band.low_mean, band.high_mean)


def test_too_many_pairs_that_no_bound_tells_apart(monkeypatch):
    monkeypatch.setattr(puffer_frames.priors.bands, "MOST_BOUNDS", 5)
    with pytest.raises(CalibrationError, match="cannot tell from the worst"):
        ManyGaussiansLoss(priors_of("equal means", 60)).pure(200.0)


@sweep(1, 3)
def test_many_secrets_are_accepted(count):
    priors = priors_of("plain", count * MOST_SECRETS + 1)
    scale = smallest_scale(priors, epsilon=1.0)
    assert privacy_loss(priors).pure(scale).bracket.upper <= 1.0
    assert privacy_loss(priors).pure(scale * (1 - 1e-6)).bracket.lower > 1.0
    scale = smallest_scale(priors, epsilon=1.0, delta=1e-6, noise="gaussian")
    loss = privacy_loss(priors, noise=GAUSSIAN)
    assert loss.hockey_stick(scale, epsilon=1.0).bracket.upper <= 1e-6
    assert loss.hockey_stick(scale * (1 - 1e-6), epsilon=1.0).bracket.lower > 1e-6
    mixtures = {k: Prior.mixture([0.5, 0.5], [k, k + 1], [1, 1]) for k in range(MOST_SECRETS + 1)}
    with pytest.raises(CalibrationError, match="one by one"):
        privacy_loss(mixtures)


def test_few_are_compared_one_by_one():
    assert isinstance(privacy_loss(priors_of("plain", FEWEST_BANDED - 1)), MixtureLoss)
    assert isinstance(privacy_loss(priors_of("plain", FEWEST_BANDED)), ManyGaussiansLoss)
    assert isinstance(privacy_loss(priors_of("plain", FEWEST_BANDED), pairs=((0, 1),)), MixtureLoss)
    assert isinstance(privacy_loss(priors_of("plain", FEWEST_BANDED - 1), noise=GAUSSIAN), GaussianNoiseLoss)
    assert isinstance(privacy_loss(priors_of("plain", FEWEST_BANDED), noise=GAUSSIAN), ManyWidenedLoss)


@pytest.mark.parametrize(("style", "epsilon"), thinned(STYLES, [0.1, 1.0, 5.0]))
def test_pure_form_over_all_pairs_is_the_largest_of_the_pairs(style, epsilon):
    priors = priors_of(style, 30)
    one_by_one = max(gaussian_scale(priors, epsilon=epsilon, pairs=[pair]) for pair in combinations(priors, 2))
    assert gaussian_scale(priors, epsilon=epsilon) == pytest.approx(one_by_one, rel=1e-11)


def groups(seed=0, n=40):
    rng = np.random.default_rng(seed)
    for k in range(n):
        values = np.unique(np.round(rng.normal(size=1 + k % 7) * 10.0 ** (k % 5), 3) - 0.0)
        yield k, (values + 1e6 * (k % 2), rng.integers(1, 9, values.size))


def test_priors_of_many_groups_are_those_of_each():
    counts = dict(groups())
    made = gaussian_priors(counts, *group_moments(list(counts.values())))
    for secret, pair in counts.items():
        single = fit_gaussian(*pair)
        assert made[secret].means == pytest.approx(single.means, rel=1e-15)
        assert made[secret].stds == pytest.approx(single.stds, rel=1e-12)
        assert made[secret].levels == single.levels
    counts = dict(groups(1)) | {"zero": (np.array([-0.0]), np.array([3]))}
    for secret, prior in observed_priors(counts).items():
        single = Prior.empirical(*counts[secret])
        assert prior == single
        assert prior.levels[1] == single.levels[1]
        assert np.array_equal(prior.levels[0], single.levels[0])
        assert not np.signbit(prior.means[prior.means == 0]).any()
        assert not any(array.flags.writeable for array in (prior.weights, prior.means, prior.stds))
