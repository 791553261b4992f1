"""Channels against checks in whole numbers, another program, exact vertices, and laws at the edge of the ball."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from channel_oracle import TOTAL, error_of, exp_below, faults, least_error, least_error_of_all, task_of, worst_found
from conftest import sweep

from puffer_frames import Channel
from puffer_frames.mechanisms.channel import best

EPSILONS = (0.1, 0.3, 1.0, 2.0)
DELTAS = (0.0, 1e-4, 0.02)
CAPS = (None, 1.0, 3.0, 8.0)
RADII = ("none", "number", "auto", "mapping", "one")
COSTS = ("absolute", "change", "matrix", "function")


def random_counts(rng, *, secrets, levels):
    """A table of counts: laws near each other or far, few rows or many, some levels of no secret at all."""
    shared = rng.dirichlet(np.full(levels, rng.choice([0.5, 2.0])))
    near = rng.choice([1.0, 10.0, 100.0])
    shared[rng.random(levels) < rng.choice([0.0, 0.2])] = 0.0
    shared = shared + (not shared.any())
    table = {}
    for k in range(secrets):
        rows = int(rng.choice([8, 60, 400, 6000]))
        table[f"s{k}"] = rng.multinomial(rows, rng.dirichlet(near * shared / shared.sum() + 1e-9))
    return table


def random_radius(rng, kind, secrets):
    if kind == "mapping":
        return {s: float(rng.choice([0.0, 0.013, 0.1, 0.4, 1.0])) for s in secrets}
    return {"none": 0.0, "number": round(float(rng.uniform(0.001, 0.2)), 4), "auto": "auto", "one": 1.0}[kind]


def random_cost(rng, kind, count):
    """Levels, and what one costs in place of another; labels where any other costs the same."""
    if kind == "absolute":
        return tuple(np.cumsum(rng.choice([0.5, 1.0, 3.0], count)).tolist()), kind
    if kind == "change":
        return tuple(f"l{k}" for k in range(count)), kind
    costs = rng.integers(0, 9, (count, count)) * (1 - np.eye(count))
    return tuple(range(count)), costs if kind == "matrix" else lambda x, y: costs[x, y]


def random_request(seed):
    """Counts and options of `best_channel`: the seed walks along all options, chance does the rest."""
    rng = np.random.default_rng([seed, 8])
    count = int(rng.integers(2, 13))
    counts = random_counts(rng, secrets=int(rng.integers(2, 7)), levels=count)
    levels, cost = random_cost(rng, COSTS[seed // 2 % 4], count)
    listed = list(itertools.combinations(counts, 2))
    some = rng.permutation(len(listed))[: rng.integers(1, len(listed) + 1)]
    options = Channel(radius=random_radius(rng, RADII[seed % 5], counts), cap=CAPS[(seed + seed // 4) % 4], cost=cost)
    return counts, {
        "levels": levels,
        "epsilon": EPSILONS[int(rng.integers(4))],
        "delta": DELTAS[seed % 3],
        "pairs": "all" if seed % 7 < 4 else [listed[k] for k in some],
        "options": options,
    }


def on_all_levels(found):
    """The weights with a column for every level."""
    weights = np.zeros((len(found.inputs), len(found.inputs)), dtype=np.int64)
    weights[:, [found.inputs.index(output) for output in found.outputs]] = found.weights
    return weights


def about(value, task):
    """A number of the program, up to what the repair may cost."""
    return pytest.approx(value, rel=1e-6, abs=1e-9 * max(1.0, float(task.cost.max())))


def check_record(found, task):
    """The record holds what it says."""
    assert found.inputs == task.levels
    assert set(found.outputs) <= set(task.levels)
    assert found.weights.dtype == np.int64
    assert np.array_equal(found.matrix, found.weights / TOTAL)
    assert found.expected_error == pytest.approx(float(error_of(on_all_levels(found), task)), rel=1e-12, abs=1e-15)


def check_laws(weights, task, seed):
    """No contaminated law that is tried loses more."""
    worst = worst_found(weights, task, np.random.default_rng(seed))
    assert worst <= float(task.delta or task.epsilon) + 1e-9, seed
    return worst


def check_least(found, task, seed):
    """The error is the least: neither more nor less than the other program finds."""
    value = least_error(task)[0]
    if task.delta and any(task.radius.values()):
        # The rule may be any sound one between the guarantee itself and the one that treats each output for itself.
        least = least_error_of_all(task, rounds=4)[0]
        near = 1e-6 * value + 1e-9 * max(1.0, float(task.cost.max()))
        assert least - near <= found.expected_error <= value + near, seed
        assert found.lower_bound <= found.expected_error + 1e-12, seed
        return
    assert found.expected_error == about(value, task), seed
    if task.preserve is None:
        assert found.lower_bound == about(value, task), seed
    else:  # of every mechanism, also of those that keep nothing
        assert found.lower_bound <= found.expected_error + 1e-12, seed


@sweep(12, 300)
def test_random_tables(count):
    for seed in range(count):
        counts, asked = random_request(seed)
        task = task_of(counts, **asked)
        found = best.best_channel(counts, **asked)
        check_record(found, task)
        weights = on_all_levels(found)
        assert faults(weights, task) == [], seed
        check_laws(weights, task, seed)
        check_least(found, task, seed)


@pytest.mark.parametrize("preserve", ["mean", "marginal"])
@sweep(4, 60)
def test_what_is_kept(preserve, count):
    """The mean or the share of each level is kept, the constraints hold exactly, and the error is the least."""
    for seed in range(count):
        counts, asked = random_request(seed)
        asked |= {"options": replace(asked["options"], preserve=preserve)}
        if preserve == "mean" and isinstance(asked["levels"][0], str):
            asked |= {"levels": tuple(range(len(asked["levels"])))}
        task = task_of(counts, **asked)
        found = best.best_channel(counts, **asked)
        weights = on_all_levels(found)
        assert faults(weights, task) == [], seed
        released = task.pooled @ (weights / TOTAL)
        if preserve == "marginal":
            assert released == pytest.approx(task.pooled, abs=1e-9), seed
        else:
            values = np.array(task.levels)
            assert released @ values == pytest.approx(task.pooled @ values, abs=1e-9 * np.ptp(values)), seed
        check_least(found, task, seed)


@pytest.mark.parametrize("pairs", ["all", [("s0", "s1")]], ids=str)
def test_two_secrets_have_the_pair_form(pairs):
    """The star form would compare a secret with itself too: where radii differ, that may double the error."""
    counts = {"s0": (11, 3, 4, 7, 25), "s1": (12, 8, 6, 10, 14)}
    options = Channel(radius={"s0": 0.2, "s1": 0.01}, cap=None, cost="change")
    asked = {"levels": tuple(range(5)), "epsilon": 0.5, "pairs": pairs, "options": options}
    task = task_of(counts, **asked)
    found = best.best_channel(counts, **asked)
    assert faults(on_all_levels(found), task) == []
    check_least(found, task, pairs)
    with_itself = replace(task, orders=(*task.orders, ("s0", "s0"), ("s1", "s1")))
    assert found.expected_error == pytest.approx(0.168885, abs=1e-6)
    assert least_error(with_itself)[0] == pytest.approx(0.327164, abs=1e-6)


@pytest.mark.parametrize("radius", [0.05, 1.0])
def test_the_star_form_of_equal_radii_is_exact(radius):
    """The comparison of a secret with itself follows from those with the others."""
    for seed in range(10):
        rng = np.random.default_rng([seed, 4])
        counts = random_counts(rng, secrets=4, levels=5)
        task = task_of(counts, levels=range(5), epsilon=0.5, options=Channel(radius=radius, cap=None))
        pairs = replace(task, orders=tuple(order for order in task.orders if order[0] != order[1]))
        assert least_error(pairs)[0] == about(least_error(task)[0], task), seed


@pytest.mark.parametrize(
    "options", [Channel(), Channel(cap=None), Channel(radius=0, cap=3.0), Channel(radius=0, cap=None)], ids=str
)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_a_real_table(adult, options, delta):
    """Education by race: the constraints hold exactly; without a radius the worst law has the whole loss."""
    found = pd.crosstab(adult["race"], adult["education_num"])
    counts = {s: row.tolist() for s, row in zip(found.index, found.to_numpy())}
    asked = {"levels": found.columns.tolist(), "epsilon": 1.0, "delta": delta, "options": options}
    task = task_of(counts, **asked)
    weights = on_all_levels(best.best_channel(counts, **asked))
    assert faults(weights, task) == []
    worst = check_laws(weights, task, 0)
    assert options.radius or worst == pytest.approx(float(task.delta or task.epsilon), rel=1e-6)


# --- Two levels: the exact optimum ------------------------------------------------------------------------------------


def two_level_optimum(task):
    """The least error of a channel of two levels, without delta: the best vertex of an exact polygon.

    The channel sends the first level to the second with probability f, and the second to the first with g. Every
    constraint is a half-plane u*f + v*g <= w.
    """
    lines = [(-1, 0, 0), (0, -1, 0), (1, 0, 1), (0, 1, 1)]
    columns = [((-1, 0, 1), (0, 1, 0)), ((1, 0, 0), (0, -1, 1))]  # of an output, at each input: u*f + v*g + w
    most = exp_below(task.epsilon)
    for column, (s, t) in itertools.product(columns, task.orders):
        for one, other in itertools.product(_mixed(column, task, s), _mixed(column, task, t)):
            u, v, w = (p - most * q for p, q in zip(one, other))
            lines.append((u, v, -w))
    if task.cap is not None:
        for column, (a, b) in itertools.product(columns, itertools.permutations(range(2))):
            u, v, w = (p - exp_below(task.cap) * q for p, q in zip(column[a], column[b]))
            lines.append((u, v, -w))
    rows = [sum(counts[x] for counts in task.counts.values()) for x in range(2)]
    price = [rows[x] / sum(rows) * float(task.cost[x, 1 - x]) for x in range(2)]
    lines = {_without_denominators(line) for line in lines}
    points = [point for pair in itertools.combinations(lines, 2) if (point := _crossing(*pair))]
    priced = sorted((price[0] * (f / z) + price[1] * (g / z), (f, g, z)) for f, g, z in points)
    return next(least for least, (f, g, z) in priced if all(u * f + v * g <= w * z for u, v, w in lines))


def _mixed(column, task, s):
    """The weight of an output under each law at a corner of the ball of a secret, as a function of f and g."""
    rows, share = task.counts[s], task.radius[s]
    plain = [sum(Fraction(n, sum(rows)) * part[k] for n, part in zip(rows, column)) for k in range(3)]
    return [[(1 - share) * p + share * at for p, at in zip(plain, mass)] for mass in column]


def _without_denominators(line):
    size = math.lcm(*(Fraction(part).denominator for part in line))
    whole = [int(part * size) for part in line]
    return tuple(part // math.gcd(*whole) for part in whole) if any(whole) else (0, 0, 0)


def _crossing(one, other):
    """Where two lines meet: f and g, each times the third number, which is above 0."""
    (a, b, e), (c, d, f) = one, other
    turn = a * d - b * c
    sign = 1 if turn > 0 else -1
    return (sign * (e * d - b * f), sign * (a * f - e * c), sign * turn) if turn else None


@sweep(15, 150)
def test_two_levels(count):
    for seed in range(count):
        rng = np.random.default_rng([seed, 2])
        counts = random_counts(rng, secrets=int(rng.integers(2, 5)), levels=2)
        radius = random_radius(rng, RADII[seed % 5], counts)
        asked = {
            "levels": (0, 1),
            "epsilon": EPSILONS[seed % 4],
            "options": Channel(radius=radius, cap=CAPS[seed // 2 % 4]),
        }
        task = task_of(counts, **asked)
        exact = two_level_optimum(task)
        assert least_error(task)[0] == about(exact, task), seed
        assert best.best_channel(counts, **asked).expected_error == about(exact, task), seed


INCOME = {"F": (9592, 1179), "M": (15128, 6662)}


def test_income_by_sex():
    """The closed form of two levels and two secrets."""
    options = Channel(radius=0, cap=None)
    found = best.best_channel(INCOME, levels=("<=50K", ">50K"), epsilon=1.0, options=options)
    share = {s: Fraction(row[1], sum(row)) for s, row in INCOME.items()}
    most = exp_below(Fraction(1))
    moved = (share["M"] - most * share["F"]) / (most * (1 - share["F"]) - (1 - share["M"]))
    pooled = Fraction(9592 + 15128, 32561)
    assert float(moved) == pytest.approx(0.00474484, abs=5e-9)
    assert on_all_levels(found)[0, 1] / TOTAL == pytest.approx(float(moved), rel=1e-9)
    assert found.expected_error == pytest.approx(float(moved * pooled), rel=1e-9)
    assert found.expected_error == pytest.approx(0.00360224, abs=5e-9)
    assert faults(on_all_levels(found), task_of(INCOME, levels=("<=50K", ">50K"), epsilon=1.0, options=options)) == []
