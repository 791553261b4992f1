"""Optimal transport in one dimension, and the order of fractions of long integers, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from conftest import sweep
from scipy.optimize import linprog

from puffer_frames.core import Prior, transport_plan, w_infinity
from puffer_frames.errors import PriorError
from puffer_frames.priors.transport import ranks, w_infinity_diameter


def brute_force(p, q):
    """W-infinity by walking along both cumulative distributions in exact fractions."""
    p, q = (
        [(x, Fraction(int(n), prior.levels[1])) for x, n in zip(prior.means, prior.levels[0], strict=True)]
        for prior in (p, q)
    )
    largest, (x, a), (y, b) = 0.0, p.pop(0), q.pop(0)
    while True:
        largest = max(largest, abs(x - y))
        step = min(a, b)
        a, b = a - step, b - step
        if not a:
            if not p:
                return largest
            x, a = p.pop(0)
        if not b:
            y, b = q.pop(0)


def random_priors(rng, count, *, most=8):
    for _ in range(count):
        n = int(rng.integers(1, most))
        yield Prior.empirical(rng.integers(0, 20, n), rng.integers(1, 5, n))


def test_distances_are_exact():
    rng = np.random.default_rng(1)
    for p, q in zip(random_priors(rng, 300), random_priors(rng, 300), strict=True):
        assert w_infinity(p, q) == brute_force(p, q) == w_infinity(q, p)
    rng = np.random.default_rng(2)
    for _ in range(50):
        priors = list(random_priors(rng, 5))
        assert w_infinity_diameter(priors) == max(brute_force(p, q) for p in priors for q in priors)
    # 3 x 0.1 and 0.3 are one level, though the floats differ
    p = Prior.mixture([0.1, 0.1, 0.1, 0.7], [0, 1, 2, 10], [0, 0, 0, 0])
    q = Prior.mixture([0.3, 0.7], [2, 10], [0, 0])
    assert w_infinity(p, q) == 2
    n = 2**40
    p, q = Prior.empirical([0, 5], [n, n + 1]), Prior.empirical([0, 5], [n + 1, n])
    assert w_infinity(p, q) == 5
    assert w_infinity(p, Prior.empirical([0, 5], [2 * n, 2 * n + 2])) == 0
    # the published scan over the alphabet {0, 10}, in one order, gives 0
    assert w_infinity(Prior.empirical([10]), Prior.empirical([0])) == 10


@pytest.mark.parametrize(("x", "y"), [(1e16, 0.3), (0.1, -0.7), (1.0, 3e-17)])
def test_distance_is_rounded_up(x, y):
    distance = w_infinity(Prior.empirical([x]), Prior.empirical([y]))
    assert Fraction(distance) >= Fraction(x) - Fraction(y)
    assert Fraction(math.nextafter(distance, 0)) < Fraction(x) - Fraction(y)


def test_a_grid_of_levels_finds_the_same_distance(monkeypatch):
    """Large priors are searched where the distance can be; the answer is that of all levels."""
    rng = np.random.default_rng(2)
    cases = []
    for m in (2, 5, 9):
        sizes = rng.integers(1, 3000, m)
        cases.append([Prior.empirical(rng.standard_t(2, n).round(int(rng.integers(0, 6)))) for n in sizes])
    cases.append([Prior.empirical([10]), Prior.empirical([0])])
    cases.append([Prior.mixture([0.1, 0.9], [0, 1], [0, 0]), Prior.mixture([0.3, 0.7], [0, 5], [0, 0])])
    cases.append([Prior.empirical(np.arange(5000)), Prior.empirical(np.r_[np.arange(4999), 10**6])])
    expected = [w_infinity_diameter(priors) for priors in cases]
    monkeypatch.setattr("puffer_frames.priors.transport._FEW_LEVELS", 0)
    assert [w_infinity_diameter(priors) for priors in cases] == expected
    monkeypatch.setattr("puffer_frames.priors.transport._GRID", 13)
    assert [w_infinity_diameter(priors) for priors in cases] == expected


def test_the_plan_moves_the_one_law_to_the_other():
    rng = np.random.default_rng(3)
    for p, q in zip(random_priors(rng, 200), random_priors(rng, 200), strict=True):
        plan = transport_plan(p, q)
        assert (plan[:, 2] > 0).all()
        assert (np.diff(plan[:, :2], axis=0) >= 0).all()
        assert len(np.unique(plan[:, :2], axis=0)) == len(plan) < p.means.size + q.means.size
        for side, law in enumerate((p, q)):
            sums = [math.fsum(plan[plan[:, side] == x, 2]) for x in law.means]
            assert sums == pytest.approx(law.weights, rel=1e-14)
        assert np.abs(plan[:, 0] - plan[:, 1]).max() == brute_force(p, q)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_the_plan_is_the_cheapest_for_convex_costs(power):
    rng = np.random.default_rng(4)
    for p, q in zip(random_priors(rng, 20), random_priors(rng, 20), strict=True):
        rows, columns = p.means.size, q.means.size
        cost = np.abs(p.means[:, None] - q.means).ravel() ** power
        sums = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
        found = linprog(cost, A_eq=sums[:-1], b_eq=np.concatenate([p.weights, q.weights])[:-1])
        x, y, mass = transport_plan(p, q).T
        assert (np.abs(x - y) ** power * mass).sum() == pytest.approx(found.fun, rel=1e-9, abs=1e-9)


def test_plans_of_ties_of_huge_counts_and_of_other_priors():
    p = Prior.mixture([0.1, 0.1, 0.1, 0.7], [0, 1, 2, 10], [0, 0, 0, 0])
    q = Prior.mixture([0.3, 0.7], [2, 10], [0, 0])
    assert transport_plan(p, q).tolist() == [[0, 2, 0.1], [1, 2, 0.1], [2, 2, 0.1], [10, 10, 0.7]]
    n = 2**70
    plan = transport_plan(Prior.empirical([0, 5], [n, n]), Prior.empirical([0, 5], [3, 1]))
    assert plan.tolist() == [[0, 0, 0.5], [5, 0, 0.25], [5, 5, 0.25]]
    with pytest.raises(PriorError, match="discrete"):
        transport_plan(Prior.empirical([0]), Prior.gaussian(0, 1))
    with pytest.raises(PriorError, match="discrete"):
        w_infinity(Prior.gaussian(0, 1), Prior.empirical([0]))


# The order of fractions of long integers, against exact fractions.
def a_total(rng):
    return int(
        rng.choice(
            np.array(
                [
                    int(rng.integers(1, 30)),
                    int(rng.integers(1, 2**62)),
                    int.from_bytes(rng.bytes(400), "big") + 1,
                    7 ** int(rng.integers(1, 300)),
                    2 ** int(rng.integers(1, 400)),
                ],
                dtype=object,
            )
        )
    )


def numerators(rng, total):
    """Near 0, 1, a third and a half, and next to such numbers of other totals."""
    found = {total}
    for _ in range(int(rng.integers(0, 12))):
        tiny = Fraction(1, 2 ** int(rng.integers(1, 500)))
        shares = [Fraction(int(rng.integers(1, 6)), 6), tiny, 1 - tiny, Fraction(float(rng.uniform())), Fraction(1, 2)]
        number = int(shares[rng.integers(len(shares))] * total) + int(rng.integers(-1, 2))
        if 1 <= number <= total:
            found.add(number)
    return np.array(sorted(found), dtype=object)


@sweep(400, 20_000)
def test_ranks_are_those_of_exact_fractions(count):
    rng = np.random.default_rng(5)
    for case in range(count):
        totals = [a_total(rng) for _ in range(int(rng.integers(1, 6)))]
        lists = [(numerators(rng, total), total) for total in totals]
        values = [Fraction(int(number), total) for numbers, total in lists for number in numbers]
        place = {value: k for k, value in enumerate(sorted(set(values)))}
        assert np.concatenate(ranks(lists)).tolist() == [place[value] for value in values], case


def test_fractions_that_logarithms_of_forty_places_cannot_tell_apart():
    n = 3**200
    one, other = np.array([n // 7, n // 5, n]), np.array([n // 7 + 1, n // 5, n])
    assert [r.tolist() for r in ranks([(one, n), (other, n)])] == [[0, 2, 3], [1, 2, 3]]
    assert [r.tolist() for r in ranks([(one * 2, 2 * n), (one * 3, 3 * n)])] == [[0, 1, 2], [0, 1, 2]]
