"""The search for the smallest scale ends on the private side, wherever it begins."""

import math

import numpy as np
import pytest
from conftest import thinned

from puffer_frames.core import Bracket, Prior, hockey_stick, smallest_scale
from puffer_frames.errors import ArgumentTypeError
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.numbers.target import Target
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


def test_a_flat_loss_ends_the_search_at_its_floor():
    loss = Flat()
    found = search.smallest_scale_of(loss, Target.of(1.0, 0.0))
    assert found == pytest.approx(search._FINEST * math.exp(-1.0))
    assert loss.looks < 20


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


def test_rounding_among_all_pairs_is_paid_for_at_once():
    loss = Rounded(7e-7)
    found = search.smallest_scale_of(loss, Target.of(1.0, 0.0))
    assert 1 + 7e-7 <= found <= 1 + 7e-7 + 2 * CLOSE
    assert loss.looks <= 5


@pytest.mark.parametrize("priors", [[Prior.bernoulli(0.1), Prior.bernoulli(0.3)], {0: 1.5, 1: 2.5}])
def test_other_things_than_priors_are_a_clear_error(priors):
    with pytest.raises(ArgumentTypeError, match=r"mapping of secrets to priors|must be a Prior"):
        smallest_scale(priors, epsilon=1.0)


def test_other_things_than_two_priors_are_a_clear_error():
    with pytest.raises(ArgumentTypeError, match="a prior must be a Prior"):
        hockey_stick(Prior.bernoulli(0.1), 0.3, epsilon=1.0, scale=1.0)
