"""Two releases of which the second refines the first: their joint loss, by direct sums, is that of the second.

The first release is drawn from the first noise, the second from the law that `refined` draws given it; the sums know
nothing of the difference W of the two noises, on which the proof rests.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import puffer_frames
from puffer_frames.core import Prior, pure_loss
from puffer_frames.noise.adding import noise_on_grid
from puffer_frames.noise.grid import grid_of
from puffer_frames.noise.refining import branches

RNG = np.random.default_rng(6)
REACH = 60
"""Released values, in steps of the grid, that are looked at."""
PAIRS = [(3.0, 1.0), (2.0, 1.9), (6.0, 0.7), (1.5, 0.5)]


def first_law(p, far):
    """P(N = far), an array of half-integers."""
    return 0.5 * (1 - p) * p ** (np.abs(far) - 0.5)


def given_law(p, q, near, far):
    """P(M = near | N = far) by the branches, for arrays of half-integers."""
    found, r, g = branches(p, q), q / p, p * q
    near, far = near * np.sign(far), np.abs(far)
    at_least = r ** (far - 0.5)
    opposite = found.opposite * (1 - g) * g ** (-near - 0.5)
    inside = (1 - found.opposite) * (1 - r) * r ** np.abs(near - 0.5)
    beyond = at_least * found.beyond * (1 - g) * g ** np.abs(near - far)
    same = at_least * (1 - found.opposite - found.beyond)
    return np.where(near < 0, opposite, np.where(near < far, inside, beyond + same * (near == far)))


def laws():
    """Two laws on whole numbers, as probabilities of -4, ..., 4."""
    weights = RNG.random((2, 9)) * (RNG.random((2, 9)) < 0.6) + 1e-3 * np.eye(9)[[2, 6]]
    return weights / weights.sum(axis=1, keepdims=True)


def joint(weights, kernel):
    """The law of both released values: a sum over the atoms."""
    first, second = np.meshgrid(np.arange(-REACH, REACH) + 0.5, np.arange(-REACH, REACH) + 0.5, indexing="ij")
    return sum(w * kernel(first - x, second - x) for w, x in zip(weights, range(-4, 5), strict=True) if w)


def loss(pair, kernel):
    one, other = (joint(weights, kernel) for weights in pair)
    return np.abs(np.log(one) - np.log(other)).max()


def engine(pair, scale):
    """What the package certifies for one release of this scale."""
    priors = [Prior.empirical(np.arange(-4.0, 5)[w > 0], w[w > 0]) for w in pair]
    return pure_loss(*priors, scale=scale).upper


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_the_joint_loss_is_that_of_the_second_release(old, new):
    p, q = math.exp(-1 / old), math.exp(-1 / new)
    for _ in range(5):
        pair = laws()
        both = loss(pair, lambda far, near: first_law(p, far) * given_law(p, q, near, far))
        alone = loss(pair, lambda far, near: first_law(q, near) + 0 * far)
        assert both == pytest.approx(alone, rel=1e-9)
        assert both <= engine(pair, new) * (1 + 1e-9)  # on whole numbers half-integers see no more than all numbers
        one, other = engine(pair, old), engine(pair, new)
        assert both < one + other


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_an_independent_second_draw_loses_more(old, new):
    """The fault that refining mends: then both are one release of scale 1 / (1 / old + 1 / new)."""
    p, q = math.exp(-1 / old), math.exp(-1 / new)
    worse = 0
    for _ in range(5):
        pair = laws()
        both = loss(pair, lambda far, near: first_law(p, far) * first_law(q, near))
        assert both <= engine(pair, 1 / (1 / old + 1 / new)) * (1 + 1e-9)
        worse += both > engine(pair, new) * 1.05
    assert worse >= 3


def test_a_wrong_branch_is_found():
    """The fault: both noises on one side of 0."""
    p, q = math.exp(-1 / 3.0), math.exp(-1.0)

    def same_side(far, near):
        law = first_law(p, far) * given_law(p, q, near, far)
        mirrored = first_law(p, far) * given_law(p, q, -near, far)
        return np.where(near * far > 0, law + mirrored, 1e-300)

    pair = laws()
    assert loss(pair, same_side) > engine(pair, 1.0) * 1.5


def test_two_refinements_of_one_release_lose_more():
    """Where both repeat the first noise they lose 2/new - 1/old of a distance of 1: 1.5 where one loses 1."""
    steps = 256
    p, q = math.exp(-1 / (2.0 * steps)), math.exp(-1 / steps)
    near, far = (np.float64(0.5 + steps * k) for k in range(2))
    for refinements, most in ((1, 1.0), (2, 1.5)):
        laws_ = [first_law(p, n) * given_law(p, q, n, n) ** refinements for n in (near, far)]
        assert math.log(laws_[0] / laws_[1]) == pytest.approx(most, abs=0.01)


def test_three_releases_in_a_chain():
    """Sums over three released values, each drawn given the one before."""
    p, q, r = (math.exp(-1 / scale) for scale in (4.0, 2.0, 1.0))
    places = np.arange(-9, 9) + 0.5
    grid = np.meshgrid(places, places, places, indexing="ij")

    def law(weights):
        found = 0.0
        for w, x in zip(weights, range(-4, 5), strict=True):
            one, two, three = (axis - x for axis in grid)
            found = found + w * first_law(p, one) * given_law(p, q, two, one) * given_law(q, r, three, two)
        return found

    for _ in range(5):
        pair = laws()
        both = np.abs(np.log(law(pair[0])) - np.log(law(pair[1]))).max()
        assert both <= engine(pair, 1.0) * (1 + 1e-9)


# ------------------------------------------------------------------------------------------- whole releases

ROWS = 60_000
GROUP = RNG.choice(["a", "b"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 6, ROWS) + (GROUP == "a"),
        "other": RNG.integers(0, 9, ROWS) - 2 * (GROUP == "b"),
    }
)


@pytest.mark.parametrize("public", [["score"], ["score", "other"]])
def test_released_noise_has_the_scale_of_the_certificate_and_its_parts_are_independent(public, tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", public=public, epsilon=0.3, mechanism="noise")
    first = plan.release(PEOPLE)
    second = plan.refine(PEOPLE, first, epsilon=0.7, key=tmp_path / "key")
    third = plan.refine(PEOPLE, second, epsilon=1.4, key=tmp_path / "key")
    scales = [each.puffer.certificate.scales for each in (first, second, third)]
    for name in public:
        grid = grid_of(scales[0][name])
        values = PEOPLE[name].to_numpy().astype(float)
        noise = [noise_on_grid(each[name].to_numpy(), values, grid) for each in (first, second, third)]
        for drawn, scale in zip(noise, scales, strict=True):
            assert stats.kstest(np.abs(drawn) * grid, "expon", args=(0, scale[name])).pvalue > 1e-6
            assert abs(np.sign(drawn).sum()) < 5 * ROWS**0.5
        parts = [noise[2], noise[1] - noise[2], noise[0] - noise[1]]
        for one, other in ((0, 1), (0, 2), (1, 2)):
            for of in (np.abs, np.sign):
                assert abs(stats.spearmanr(of(parts[one]), of(parts[other])).statistic) < 5 / ROWS**0.5
    if len(public) > 1:
        assert abs(stats.spearmanr(third["score"] - PEOPLE["score"], third["other"] - PEOPLE["other"]).statistic) < (
            5 / ROWS**0.5
        )
    assert puffer_frames.compose([first, second, third]).epsilon == 1.4
