"""The search for the smallest scale ends on the private side, wherever it begins."""

import math

import numpy as np
import pytest
from conftest import thinned

from puffer_frames.core import Bracket, Prior, hockey_stick, smallest_scale, w_infinity
from puffer_frames.errors import ArgumentTypeError
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.mixtures.mixture import SharedCells
from puffer_frames.loss.noises import gaussian_noise
from puffer_frames.loss.noises.gaussian_noise import GaussianNoiseLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.noise.gaussian import shift_hockey_stick, shift_hockey_sticks
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.transport import monotone_shifts
from puffer_frames.scales import search

CLOSE = 2 * search.RELATIVE_TOLERANCE


def laws(seed):
    """Some priors of atoms or of Gaussians, of one size or of several."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 3, 3) if seed % 3 == 0 else np.ones(3)
    if seed % 2:
        draws = [(rng.dirichlet([1, 1]), s * rng.normal(size=2), s * rng.uniform(0.3, 2, 2)) for s in size]
        return {k: Prior.mixture(*draw) for k, draw in enumerate(draws)}
    return {k: Prior.empirical(s * rng.normal(size=6), rng.integers(1, 9, 6)) for k, s in enumerate(size)}


@pytest.mark.parametrize(("seed", "delta"), thinned(range(2), [0.0, 1e-6]))
def test_it_finds_the_same_scale_from_wherever_it_begins(seed, delta):
    target, loss = Target.of(0.7, delta), privacy_loss(laws(seed), pairs="all")
    expected = search.smallest_scale_of(loss, target)
    assert search.is_private(loss, expected, target)
    assert not search.is_private(loss, expected * (1 - 2 * CLOSE), target)
    for times in (1e-9, 0.5, 1.0 + 1e-7, 1e6):
        found, worst = search.smallest_of(loss, target, near=times * expected)
        assert found == pytest.approx(expected, rel=CLOSE)
        assert worst == search.loss_of(loss, found, target)


def test_it_goes_on_where_the_loss_stays_as_it_is():
    """An atom beside Gaussians under hardly any noise: its density grows until it is e to the epsilon times theirs."""
    gaussian = Prior.gaussian(1.0, 0.8)
    mixed = Prior.mixture([0.5, 0.5], [0.25, 0.25], [0.7, 0.0])
    scale = smallest_scale({0: gaussian, 1: mixed}, epsilon=20, delta=1e-3, noise="gaussian")
    assert 0 < scale < 1e-6
    lost = [
        hockey_stick(gaussian, mixed, epsilon=20, scale=times * scale, noise="gaussian").upper for times in (1, 0.99)
    ]
    assert lost[0] <= 1e-3 < lost[1]


class Flat:
    """A loss that is too large without noise, and is not with any."""

    span = resolution = 1.0
    looks = 0

    def only(self, _pair):
        return self

    def pure(self, scale):
        self.looks += 1
        return WorstCase(bracket=Bracket(lower=0.0, upper=0.5 if scale else math.inf), pair=(0, 1))


def test_flat_losses_and_rounding_end_the_search():
    loss = Flat()
    found = search.smallest_scale_of(loss, Target.of(1.0, 0.0))
    assert found == pytest.approx(search._FINEST * math.exp(-1.0))
    assert loss.looks < 20
    loss = Rounded(7e-7)
    found = search.smallest_scale_of(loss, Target.of(1.0, 0.0))
    assert 1 + 7e-7 <= found <= 1 + 7e-7 + 2 * CLOSE
    assert loss.looks <= 5


class Rounded:
    """A shift of 1, whose loss is a little larger where all pairs are looked at together, as rounding may make it."""

    span = resolution = 1.0
    looks = 0

    def __init__(self, excess):
        self.excess = excess

    def only(self, _pair):
        return Rounded(0.0)

    def pure(self, scale):
        self.looks += 1
        loss = (1 + self.excess) / scale if scale else math.inf
        return WorstCase(bracket=Bracket(lower=0.0, upper=loss), pair=(0, 1))


@pytest.mark.parametrize("priors", [[Prior.bernoulli(0.1), Prior.bernoulli(0.3)], {0: 1.5, 1: 2.5}])
def test_other_things_than_priors_are_a_clear_error(priors):
    with pytest.raises(ArgumentTypeError, match=r"mapping of secrets to priors|must be a Prior"):
        smallest_scale(priors, epsilon=1.0)


def test_other_things_than_two_priors_are_a_clear_error():
    with pytest.raises(ArgumentTypeError, match="a prior must be a Prior"):
        hockey_stick(Prior.bernoulli(0.1), 0.3, epsilon=1.0, scale=1.0)


# Bounds by plans, and what a smaller scale says of a pair, leave out pairs under Gaussian noise, not losses.
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_many_shifts_are_as_one(epsilon):
    shifts = np.array([0.0, 1e-200, 1e-9, 0.01, 0.3, 1.0, 4.0, 9.0, 60.0, 1e4])
    alone = np.array([shift_hockey_stick(shift, epsilon=epsilon) for shift in shifts])
    together = shift_hockey_sticks(shifts, epsilon=epsilon)
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-290)


def random_prior(rng):
    values = rng.choice([rng.integers(-9, 9, 12).astype(float), rng.normal(size=12), np.arange(12.0)])
    return Prior.empirical(values, rng.integers(1, 50, 12))


def test_a_monotone_plan_moves_one_law_to_the_other():
    rng = np.random.default_rng(5)
    for _ in range(40):
        p, q = random_prior(rng), random_prior(rng)
        shifts, shares = monotone_shifts(p, q)
        assert shares.sum() == pytest.approx(1, abs=1e-14)
        assert shifts.max() == pytest.approx(w_infinity(p, q), rel=1e-12, abs=1e-12)
        grid = np.linspace(-30, 30, 200_001)  # W1 is the area between the distribution functions
        steps = [np.append(0, np.cumsum(law.weights))[np.searchsorted(law.means, grid, side="right")] for law in (p, q)]
        area = np.abs(steps[0] - steps[1]).sum() * (grid[1] - grid[0])
        assert shifts @ shares == pytest.approx(area, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("most", [0, 2_000_000])
def test_no_pair_is_left_out_that_has_the_largest_hockey_stick(monkeypatch, most):
    monkeypatch.setattr(gaussian_noise, "_MOST_STEPS", most)
    rng = np.random.default_rng(11)
    priors = {k: random_prior(rng) for k in range(5)}
    loss = GaussianNoiseLoss(priors, pairs="all")
    pairs = [(a, b) for a in priors for b in priors if a < b]
    for scale, epsilon in [(0.5, 1.0), (2.0, 0.3), (7.0, 2.0), (40.0, 0.01)]:
        found = loss.hockey_stick(scale, epsilon=epsilon).bracket
        alone = [
            GaussianNoiseLoss(priors, pairs=(pair,)).hockey_stick(scale, epsilon=epsilon).bracket for pair in pairs
        ]
        assert found.lower <= max(each.upper for each in alone)
        assert found.upper >= max(each.lower for each in alone)
        assert found.upper <= max(each.upper for each in alone) * (1 + 1e-6)


@pytest.mark.parametrize(("atoms", "looks"), [(3, 0), (40, 2), (5000, 0)])
def test_pairs_are_sifted_on_shared_cells_without_losing_the_largest(monkeypatch, atoms, looks):
    """Some of the laws have few atoms, some many, and some so many that fewer stand for them."""
    monkeypatch.setattr(gaussian_noise, "_FEW_LOOKS", looks)
    rng = np.random.default_rng(atoms)
    sizes = [3, 3, atoms, atoms, atoms]
    priors = {k: Prior.empirical(rng.normal(k / 5, 1 + k / 9, n).round(3)) for k, n in enumerate(sizes)}
    pairs = [(a, b) for a in priors for b in priors if a < b]
    loss = GaussianNoiseLoss(priors, pairs="all")
    cases = [(0.3, 1.0), (3.0, 1.0), (1.0, 1.0), (3.0, 0.1), (20.0, 0.1), (60.0, 0.1), (60.0, 3.0)]
    for scale, epsilon in cases[::2] if atoms < 1000 else cases[1:2]:
        found = loss.hockey_stick(scale, epsilon=epsilon)
        alone = {pair: loss.only(pair).hockey_stick(scale, epsilon=epsilon).bracket for pair in pairs}
        assert max(each.lower for each in alone.values()) <= found.bracket.upper
        assert found.bracket.lower <= max(each.upper for each in alone.values())
        largest = max(each.upper for each in alone.values())
        assert found.bracket.upper <= largest * (1 + 1e-6) + 1e-17
        assert alone[found.pair].upper >= largest * (1 - 1e-6) - 1e-17


def test_pairs_are_sifted_only_where_many_are_left(monkeypatch):
    rng = np.random.default_rng(6)
    sifted, laws = [], [Prior.empirical(rng.normal(size=12)) for _ in range(30)]
    shared = SharedCells.of
    monkeypatch.setattr(SharedCells, "of", lambda curves, **told: sifted.append(len(curves)) or shared(curves, **told))
    far = [*laws[:10], Prior.empirical([9.0])]
    GaussianNoiseLoss(dict(enumerate(far)), pairs="all").hockey_stick(3.0, epsilon=1.0)
    assert not sifted  # the point far away is in all pairs that can be the worst
    GaussianNoiseLoss(dict(enumerate(laws)), pairs="all").hockey_stick(1.0, epsilon=0.1)
    assert sifted


def test_bounds_by_plans_hold():
    rng = np.random.default_rng(3)
    priors = {k: random_prior(rng) for k in range(6)}
    loss = GaussianNoiseLoss(priors, pairs="all")
    unit = loss._unit
    for scale, epsilon in [(0.7, 1.0), (3.0, 0.2), (12.0, 0.5)]:
        for pair, bound in loss._plan_bounds(scale / unit, epsilon).items():
            exact = GaussianNoiseLoss(priors, pairs=(pair,)).hockey_stick(scale, epsilon=epsilon).bracket
            assert bound >= exact.lower
            assert bound <= shift_hockey_stick(w_infinity(*(priors[s] for s in pair)) / scale, epsilon=epsilon) * 1.001


@pytest.mark.parametrize("secrets", [2, 6])
@pytest.mark.parametrize(("epsilon", "delta", "scale"), [(20.0, 1e-30, 0.60546), (1.0, 1e-200, 29.996)])
def test_tiny_deltas_are_bounded_by_the_distance(secrets, epsilon, delta, scale):
    """The bound by a plan has rounding of its shares in it, that by the distance has not."""
    points = {k: Prior.empirical([k / (secrets - 1)]) for k in range(secrets)}
    assert smallest_scale(points, epsilon=epsilon, delta=delta, noise="gaussian") == pytest.approx(scale, rel=2e-5)
