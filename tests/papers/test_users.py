"""Sums over users, [DLYZ], [D24] section III-B; their numbers in docs/theory.md are in test_theory_page.py."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from puffer_frames.core import Prior, pure_loss, w_infinity
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    bernoulli_presence_scale,
    gaussian_presence_scale,
    kantorovich_scale,
    presence_bound_scale,
    presence_scale,
    sum_of_users,
    tau_star,
    value_scale,
)

ABSENT = Prior.gaussian(0, 0)
P4 = Prior.mixture([0.4, 0.1, 0, 0.1, 0.4], [1, 2, 3, 4, 5], [0] * 5)
Q4 = Prior.mixture([0, 0.05, 0.9, 0.05, 0], [1, 2, 3, 4, 5], [0] * 5)


def test_values_and_absence():
    assert value_scale([(5, 3)], epsilon=1.0) == 2
    assert value_scale([(5, None)], epsilon=1.0) == 5
    assert presence_bound_scale({4: P4}, epsilon=1.0) == 5
    assert kantorovich_scale({"P": P4, "Q": Q4}, epsilon=1.0) == 2


def test_laws_of_sums_by_enumeration():
    laws = [Prior.bernoulli(0.3), P4, Prior.empirical([-1, 2.5, 7], [1, 2, 4]), ABSENT]
    found, chances = sum_of_users(laws), {}
    for atoms in itertools.product(*(zip(law.means.tolist(), law.levels[0].tolist()) for law in laws)):
        value, mass = sum(x for x, _ in atoms), math.prod(Fraction(level) for _, level in atoms)
        chances[value] = chances.get(value, 0) + mass / math.prod(law.levels[1] for law in laws)
    assert found.means.tolist() == sorted(chances)
    levels, total = found.levels
    assert [Fraction(int(level), int(total)) for level in levels] == [chances[value] for value in sorted(chances)]
    assert w_infinity(sum_of_users([P4, *laws[:1]]), sum_of_users([Q4, *laws[:1]])) == 2  # [DLYZ] Figure 6
    with pytest.raises(PriorError, match="at least one user"):
        sum_of_users([])


def test_presence_of_values_of_one_sign_is_exact():
    """(13) is the pure loss itself for D >= 0."""
    for epsilon in (0.1, 1.0):
        scale = presence_scale({4: P4}, epsilon=epsilon)
        assert pure_loss(P4, ABSENT, scale=scale).upper <= epsilon * (1 + 1e-12)
        assert pure_loss(P4, ABSENT, scale=scale * (1 - 1e-6)).lower > epsilon


def test_lemma_6_is_never_below_the_exact_scale():
    for p in np.linspace(0, 1, 11):
        for q in np.linspace(0, 1, 11):
            priors = {"p": Prior.bernoulli(p), "q": Prior.bernoulli(q)}
            exact = bernoulli_exact_scale(priors, epsilon=0.7) if p != q else 0.0
            assert bernoulli_neighbour_scale(p, q, epsilon=0.7) >= exact
    assert bernoulli_neighbour_scale(0.4, 0.4, epsilon=1.0) == 0


def test_binary_presence_is_the_root_of_13():
    for p in (0.1, 0.5, 0.9):
        closed = bernoulli_presence_scale(p, epsilon=0.5)
        assert closed == pytest.approx(1 / math.log((math.exp(0.5) - (1 - p)) / p), rel=1e-12)
        assert presence_scale({0: Prior.bernoulli(p)}, epsilon=0.5) == pytest.approx(closed, rel=1e-9)
    assert bernoulli_presence_scale(0.0, epsilon=0.5) == 0


def test_gaussian_users_are_figure_2():
    """(|mu| + (sqrt K - sqrt(K - 1)) sigma tau) / epsilon for K identical users, mu = 1, delta = 0.3."""
    for users in (1, 5, 40):
        for variance in (1, 9, 25):
            laws = {k: Prior.gaussian(1, math.sqrt(variance)) for k in range(users)}
            spread = math.sqrt(users) - math.sqrt(users - 1)
            expected = 1 + spread * math.sqrt(variance) * tau_star(0.3)
            found = gaussian_presence_scale(laws, epsilon=1.0, delta=0.3)
            assert found == pytest.approx(expected, rel=1e-12)


def test_gaussian_presence_holds_for_the_sum():
    """The condition spends the randomness of all users: the laws of the sums with and without one are compared."""
    from puffer_frames.core import hockey_stick

    laws = {k: Prior.gaussian(1, 2) for k in range(5)}
    scale = gaussian_presence_scale(laws, epsilon=1.0, delta=1e-3)
    with_all, without_one = Prior.gaussian(5, math.sqrt(20)), Prior.gaussian(4, 4)
    assert hockey_stick(with_all, without_one, epsilon=1.0, scale=scale).upper <= 1e-3


def test_removal_of_a_class_is_not_protected(adult):
    """Without the White rows the sum of all rows moves by 281,922: at 10.44 a loss of about 27,000."""
    white = adult.education_num[adult.race == "White"]
    assert white.sum() / presence_scale({0: Prior.empirical(white)}, epsilon=1.0) == pytest.approx(27_000, rel=0.01)


def test_the_presence_of_a_listed_unit():
    """[DLYZ] section V: the pair (P4, absent) alone, though another unit could add more."""
    rows = [1, 1, 1, 1, 2, 4, 5, 5, 5, 5]
    frame = pd.DataFrame({"who": [3] * 4 + [4] * 10, "score": [50] * 4 + rows})
    asked = {"unit": "who", "value": "score", "contribution": "draw"}
    for epsilon, scale in ((0.1, 30.556039), (0.5, 6.515437), (1.0, 3.469770)):
        for pair in ((4, None), (None, 4)):
            found = frame.puffer.aggregate(**asked, pairs=[pair], epsilon=epsilon)
            assert found["scale"].iloc[0] == pytest.approx(scale, rel=1e-6)
    both = frame.puffer.aggregate(**asked, pairs=[(4, None), (3, None)], epsilon=1.0, query=("sum", "count"))
    every = frame.puffer.aggregate(**asked, epsilon=1.0, query=("sum", "count"))
    assert both["scale"].tolist() == every["scale"].tolist()
    text = " ".join(str(found.puffer.certificate).split())
    assert "whether each of these units of who is in the table at all: 4;" in text
    assert "Whether a unit that is not listed is in the table. That the listed ones are" in text
    count = frame.puffer.aggregate(unit="who", query="count", pairs=[(4, None)], epsilon=1.0).puffer.certificate
    assert "Several releases of the count of the same rows and listed pairs add up" in " ".join(str(count).split())
    assert found.puffer.certificate.pairs == ((None, 4),)


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([(4, 3)], ArgumentTypeError),
        ([(9, None)], ArgumentError),
        ([], ArgumentError),
        ("x", ArgumentTypeError),
        ([4], ArgumentTypeError),
        (5, ArgumentTypeError),
        ([(None, None)], ArgumentTypeError),
        ([([], None)], ArgumentError),
    ],
)
def test_what_is_no_unit_and_none(pairs, error):
    frame = pd.DataFrame({"who": [3, 3, 4, 4], "score": [1, 2, 3, 4]})
    with pytest.raises(error, match="pairs"):
        frame.puffer.aggregate(unit="who", value="score", pairs=pairs, epsilon=1.0)
    with pytest.raises(ArgumentError, match='left out for protect="presence" without a unit'):
        frame.puffer.aggregate(value="score", pairs=pairs, epsilon=1.0, domain=(0, 9))


def test_listed_units_with_other_laws():
    """As if the others were not there; the population of several units is less certain than that of one."""
    frame = pd.DataFrame({"who": [3] * 4 + [4] * 10, "score": [50] * 4 + [1, 1, 1, 1, 2, 4, 5, 5, 5, 5]})
    asked = {"unit": "who", "value": "score", "pairs": [(4, None)], "epsilon": 1.0}
    for options in ({}, {"noise": "gaussian", "delta": 1e-6}, {"laws": "gaussian"}):
        found = frame.puffer.aggregate(**asked, **options)["scale"].iloc[0]
        alone = frame[frame["who"] == 4].puffer.aggregate(**asked, **options)["scale"].iloc[0]
        assert found == pytest.approx(alone, rel=1e-6)
        assert found < 0.9 * frame.puffer.aggregate(**{**asked, "pairs": "all"}, **options)["scale"].iloc[0]
    draw = {"contribution": "draw", "laws": "population", "domain": (0, 60)}
    found, every = (
        frame.puffer.aggregate(**asked | {"pairs": p}, **draw)["scale"].iloc[0] for p in ([(4, None)], "all")
    )
    assert frame[frame["who"] == 4].puffer.aggregate(**asked, **draw)["scale"].iloc[0] < found < every


def test_rounded_decimals_cost_gaussian_noise_next_to_nothing():
    """A tenth is no float: what its rounding can tell takes a share of delta as small as the rounding."""
    scales = []
    for step in (0.1, 0.125):
        frame = pd.DataFrame({"u": ["a", "a", "b"], "v": [step, 2 * step, 8 * step]})
        asked = {"unit": "u", "value": "v", "epsilon": [1.0], "delta": 1e-4, "noise": "gaussian"}
        scales.append(frame.puffer.aggregate(**asked)["scale"].iloc[0] / step)
    assert scales[0] == pytest.approx(scales[1], rel=1e-7)
