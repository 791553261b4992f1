"""Laws whose tails lie beyond the range of floats, against multiple precision: the loss rests on these tails."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from conftest import few
from mpmath import mp, mpf

from puffer_frames import MarkovChain, Stable
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms.counts import count_loss
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.presence import PresenceLoss
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.transport import transport_plan, w_infinity, w_infinity_bounds, w_infinity_diameter
from puffer_frames.priors.unit_laws import UnitLaws, sum_of_draws
from puffer_frames.scales.search import smallest_scale_of

DIGITS = 60


def stationary(transition):
    """Of two states, exactly from the floats of the matrix."""
    away, back = mpf(float(transition[0][1])), mpf(float(transition[1][0]))
    return [back / (away + back), away / (away + back)]


def tail_loss(transition, length, scale):
    """Largest |log E[e^(F t) | X_i = 0] - log E[e^(F t) | X_i = 1]| over i, t = 1/b and -1/b: F counts state 1."""
    with mp.workdps(DIGITS):
        matrix = [[mpf(float(p)) for p in row] for row in transition]
        worst = mpf(0)
        for t in (1 / mpf(scale), -1 / mpf(scale)):
            factor = [mpf(1), mp.exp(t)]
            start = stationary(transition)
            up_to = [[start[s] * factor[s] for s in (0, 1)]]
            after = [[mpf(1), mpf(1)]]
            likely = [start]
            for _ in range(length - 1):
                up_to.append([factor[s] * sum(up_to[-1][r] * matrix[r][s] for r in (0, 1)) for s in (0, 1)])
                after.append([sum(matrix[s][r] * factor[r] * after[-1][r] for r in (0, 1)) for s in (0, 1)])
                likely.append([sum(likely[-1][r] * matrix[r][s] for r in (0, 1)) for s in (0, 1)])
            for i in range(length):
                means = [up_to[i][s] * after[length - 1 - i][s] / likely[i][s] for s in (0, 1)]
                worst = max(worst, abs(mp.log(means[0] / means[1])))
        return float(worst)


def laws_of_count(transition, length, i):
    """The laws of the count of state 1 given X_i = 0 and X_i = 1, as lists of mpf."""
    matrix = [[mpf(float(p)) for p in row] for row in transition]
    sides = []
    for steps, reverse in ((i, True), (length - 1 - i, False)):
        start = stationary(transition)
        table = [[mpf(1)] + [mpf(0)] * length for _ in (0, 1)]  # of the others on this side, given the state at i
        for _ in range(steps):
            moved = [table[0], [mpf(0), *table[1][:-1]]]  # one more where the neighbour is state 1
            backwards = [[start[r] * matrix[r][s] / start[s] for r in (0, 1)] for s in (0, 1)]
            step = backwards if reverse else matrix
            table = [[step[s][0] * a + step[s][1] * b for a, b in zip(*moved)] for s in (0, 1)]
        sides.append(table)
    laws = []
    for s in (0, 1):
        law = [mpf(0)] * (length + 1)
        for c, p in enumerate(sides[0][s]):
            for d, q in enumerate(sides[1][s]):
                if p and q:
                    law[c + d + s] += p * q
        laws.append(law)
    return laws


def loss_of(laws, scale):
    """Largest |log f/g| at the integers, for Laplace noise on laws of mpf on 0, 1, 2, ..."""
    with mp.workdps(DIGITS):
        decay = mp.exp(-1 / mpf(scale))
        densities = []
        for law in laws:
            left, right, sums = mpf(0), mpf(0), [mpf(0)] * len(law)
            for k, w in enumerate(law):
                left = left * decay + w
                sums[k] += left
            for k, w in reversed(list(enumerate(law))):
                sums[k] += right
                right = (right + w) * decay
            densities.append(sums)
        return float(max(abs(mp.log(f / g)) for f, g in zip(*densities)))


def binomial(copies, p):
    with mp.workdps(DIGITS):
        p = mpf(p.numerator) / p.denominator
        return [mp.binomial(copies, j) * p**j * (1 - p) ** (copies - j) for j in range(copies + 1)]


@few(1)
@pytest.mark.parametrize(
    ("transition", "length", "epsilon"),
    [
        ([[0.14, 0.86], [0.555, 0.445]], 400, 5.0),
        pytest.param([[0.14, 0.86], [0.555, 0.445]], 1500, 5.0, marks=pytest.mark.slow),
        ([[0.86, 0.14], [0.607, 0.393]], 300, 1.0),
        pytest.param([[0.86, 0.14], [0.607, 0.393]], 900, 0.5, marks=pytest.mark.slow),
        ([[0.999999, 1e-6], [0.5, 0.5]], 120, 2.0),
    ],
)
def test_counts_of_long_series_are_held_to_their_tails(transition, length, epsilon):
    chain = MarkovChain.of(transition)
    loss = count_loss([chain], [False, True], length=length)
    scale = smallest_scale_of(loss, Target(epsilon=epsilon, delta=0.0))
    assert tail_loss(transition, length, scale) <= epsilon
    assert loss.pure(scale * (1 - 1e-6)).bracket.lower > epsilon
    for factor in (0.5, 1.0, 3.0):
        found = loss.pure(factor * scale).bracket
        assert tail_loss(transition, length, factor * scale) <= found.upper
        assert found.width <= 1e-7 * found.upper


@pytest.mark.parametrize("transition", [[[0.14, 0.86], [0.555, 0.445]], [[0.99999, 1e-5], [1e-4, 0.9999]]])
def test_the_loss_of_a_count_with_tiny_tails(transition):
    length = 100
    loss = count_loss([MarkovChain.of(transition)], [False, True], length=length)
    with mp.workdps(DIGITS):
        laws = [laws_of_count(transition, length, i) for i in range(0, length, 18)]
    for i, pair in zip(range(0, length, 18), laws):
        alone = loss.only(((0, i, 0), (0, i, 1)))
        for scale in (0.05, 0.4, 6.0):
            assert loss_of(pair, scale) in alone.pure(scale).bracket
            assert alone.pure(scale).bracket.width < 1e-8


def test_chains_whose_states_are_too_far_apart_are_refused():
    far = MarkovChain.of([[0.5, 0.5, 0.0], [1.0 - 1e-200, 0.0, 1e-200], [0.5, 0.5, 0.0]])
    with pytest.raises(ArgumentError, match="floats would lose"):
        count_loss([far], [False, True, False], length=40)


@pytest.mark.parametrize(("copies", "ones", "epsilon"), [(1300, (650, 663), 3.0), (2000, (2, 1999), 40.0)])
def test_sums_of_many_binary_rows(copies, ones, epsilon):
    """1,300 rows with shares of 1/2 and 51%: probabilities down to 1e-400 and 1e-6000."""
    rows = [Prior.empirical([0.0, 1.0], [copies - n, n]) for n in ones]
    loss = privacy_loss({k: sum_of_draws(prior, copies) for k, prior in enumerate(rows)})
    laws = [binomial(copies, Fraction(n, copies)) for n in ones]
    scale = smallest_scale_of(loss, Target(epsilon=epsilon, delta=0.0))
    assert loss_of(laws, scale) <= epsilon
    assert loss_of(laws, scale * (1 - 1e-6)) > epsilon
    for factor in (0.6, 1.7):
        assert loss_of(laws, factor * scale) in loss.pure(factor * scale).bracket


def test_the_aggregate_of_many_binary_rows():
    values = [1.0] * 650 + [0.0] * 650 + [1.0] * 663 + [0.0] * 637
    frame = pd.DataFrame({"who": [0] * 1300 + [1] * 1300, "what": values})
    options = {"unit": "who", "value": "what", "protect": "replacement", "contribution": "rows"}
    scale = float(frame.puffer.aggregate(epsilon=3.0, **options)["scale"].iloc[0])
    laws = [binomial(1300, Fraction(n, 1300)) for n in (650, 663)]
    assert 3.0 * (1 - 1e-6) < loss_of(laws, scale) <= 3.0
    with pytest.raises(ArgumentError, match="2\\*\\*-1022"):
        frame.puffer.aggregate(epsilon=3.0, noise=Stable(alpha=1.5), **options)


def test_hockey_sticks_of_scaled_weights_are_those_of_plain_ones():
    """The same law with and without an atom of 1e-400."""
    one, most = 1, 10**400
    plain = {0: Prior.empirical([0.0, 1.0], [1, 1]), 1: Prior.empirical([0.0, 1.0], [1, 3])}
    tiny = {
        0: Prior.of_levels(np.array([0.0, 1.0, 2.0]), np.array([most, most, one], dtype=object)),
        1: Prior.of_levels(np.array([0.0, 1.0, 2.0]), np.array([most, 3 * most, one], dtype=object)),
    }
    for scale in (0.0, 0.3, 2.0):
        for epsilon in (0.1, 0.5):
            found, expected = (DiscreteLoss(p, pairs="all").hockey_stick(scale, epsilon=epsilon) for p in (tiny, plain))
            assert found.bracket.upper == pytest.approx(expected.bracket.upper, rel=1e-12)
            assert found.bracket.lower == pytest.approx(expected.bracket.lower, rel=1e-12)
    assert DiscreteLoss(tiny, pairs="all").pure(0.0).bracket.upper == pytest.approx(np.log(2))


def convolved(levels, copies):
    """Coefficients of the power of a polynomial, one factor after the other."""
    law = {Fraction(0): 1}
    for _ in range(copies):
        new = {}
        for total, weight in law.items():
            for value, level in levels.items():
                new[total + value] = new.get(total + value, 0) + weight * level
        law = new
    return law


def test_sums_of_draws_are_exact():
    """Short and long fields, the recurrence, and values far apart; tenths are tenths."""
    rng = np.random.default_rng(1)
    for unit, high, copies in ((1, 9, 7), (1, 3, 90), (10, 6, 5), (1, 10**9, 4), (8, 40, 3)):
        for _ in range(4):
            whole = np.unique(rng.integers(-high, high + 1, 3))
            counts = rng.integers(1, 5, whole.size)
            found = sum_of_draws(Prior.empirical(whole / unit, counts), copies)
            divisor = int(np.gcd.reduce(counts))
            levels = {Fraction(int(x), unit): int(n) for x, n in zip(whole, counts)}
            expected = convolved(levels, copies)
            totals = sorted(expected)
            assert found.levels[1] % sum(expected.values()) == 0 or divisor > 1
            shares = [Fraction(int(level), int(found.levels[1])) for level in found.levels[0]]
            assert shares == [Fraction(expected[x], sum(expected.values())) for x in totals]
            moved = max(abs(Fraction(float(x)) - total) for x, total in zip(found.means, totals))
            assert moved <= found.radius
            assert found.radius <= 1e-13 * max(1.0, np.abs(found.means).max())


def test_distances_of_sums_of_many_rows():
    """Those of the plans, whose levels have one common denominator; and never above the bounds of all pairs."""
    rng = np.random.default_rng(2)
    laws = [sum_of_draws(Prior.empirical(rng.integers(0, 60, n).astype(float)), n) for n in (24, 24, 24, 31, 7, 40)]
    pairs = [[np.abs(np.subtract(*transport_plan(p, q).T[:2])).max() for q in laws] for p in laws]
    assert [[w_infinity(p, q) for q in laws] for p in laws] == pairs
    assert w_infinity_diameter(laws) == np.max(pairs)
    bounds = w_infinity_bounds(laws)
    assert (bounds >= pairs).all()
    assert (bounds <= 2 * np.array(pairs) + 100).all()


def test_presence_of_both_signs_is_bracketed():
    """The sum of k draws lies between the two ends and k times the loss of one draw."""
    rng = np.random.default_rng(3)
    for _ in range(6):
        values = np.sort(rng.integers(-3, 6, 4)).astype(float)
        loss = PresenceLoss(UnitLaws.of_rows([0], values, np.array([0, 4]), added=True))
        exact = privacy_loss({0: sum_of_draws(Prior.empirical(values), 4), 1: Prior.gaussian(0.0, 0.0)})
        for scale in (0.5, 3.0, 40.0):
            found, true = loss.pure(scale).bracket, exact.pure(scale).bracket
            assert found.lower <= true.upper
            assert true.lower <= found.upper


@pytest.mark.parametrize(
    ("values", "says"),
    [(np.random.default_rng(0).normal(size=400), True), (np.array([-2, 1, 1]), False), (np.array([2, 1, 1]), False)],
)
def test_certificates_say_where_the_loss_is_an_upper_bound(values, says):
    frame = pd.DataFrame({"who": 0, "what": values})
    released = frame.puffer.aggregate(unit="who", value="what", contribution="rows", epsilon=0.2)
    assert ("is an upper bound" in str(released.attrs)) is says
