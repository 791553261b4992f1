"""The oracle of channels: good channels pass its checks, and planted faults are found."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from channel_oracle import (
    TOTAL,
    Program,
    as_printed,
    basic,
    exp_below,
    faults,
    least_error,
    least_error_of_all,
    task_of,
    worst_found,
)

from puffer_frames import Channel


def whole(matrix):
    """A channel in whole numbers as near as may be, without any repair."""
    rows = []
    for row in np.clip(matrix, 0, None).tolist():
        weights = [math.floor(Fraction(w) / sum(map(Fraction, row)) * TOTAL) for w in row]
        weights[int(np.argmax(row))] += TOTAL - sum(weights)
        rows.append(weights)
    return np.array(rows)


def nudged(matrix, share=1e-6):
    """A channel that meets what it met nearly: a share of its rows goes to all outputs alike."""
    return whole((1 - share) * matrix + share / len(matrix))


def task_for(seed, *, unseen=False, **options):
    """A task whose secrets differ; no row has the last level where it is to be unseen."""
    rng = np.random.default_rng([seed, 3])
    counts = {f"s{k}": rng.multinomial(900, rng.dirichlet(np.full(6, 1.5))) + 1 for k in range(3)}
    if unseen:
        counts = {s: [*row[:-1], 0] for s, row in counts.items()}
    asked = {name: options.pop(name) for name in ("delta", "pairs") if name in options}
    return task_of(counts, levels=range(6), epsilon=0.5, options=Channel(**({"cap": None} | options)), **asked)


TASKS = [
    {"radius": 0.0},
    {"radius": 0.02},
    {"radius": 0.02, "cap": 2.0},
    {"radius": 0.0, "cap": 1.0},
    {"radius": 1.0},
    {"radius": 0.0, "delta": 0.01},
    {"radius": 0.02, "delta": 0.01},
    {"radius": 0.02, "pairs": [("s0", "s1")]},
]


@pytest.mark.parametrize("options", TASKS, ids=str)
def test_good_channels_pass_and_are_tight(options):
    """The laws tried reach the bound itself, so a channel that loses more would be found."""
    for seed in range(4):
        task = task_for(seed, **options)
        matrix = (least_error_of_all if task.delta else least_error)(task)[1]
        assert faults(nudged(matrix), task) == []
        worst = worst_found(nudged(matrix), task, np.random.default_rng(seed))
        assert worst <= float(task.delta or task.epsilon) + 1e-9
        assert task.cap or worst >= 0.999 * float(task.delta or task.epsilon)


def worse(task, **changes):
    """The best channel of another task."""
    return nudged(least_error(replace(task, **changes))[1])


def loose(task):
    """The program solved to 1e-4, without repair."""
    program = basic(task)
    program.separate()
    return whole(program.solve(tolerance=1e-4, method="highs-ds")[1])


def touched(task):
    """A millionth of one row is moved from one output to another."""
    matrix = least_error(task)[1]
    k = int(np.argmax(matrix[:, 0]))
    moved = np.where(np.arange(len(matrix)) == k, 1e-6, 0.0)[:, None] * (
        np.eye(len(matrix))[1] - np.eye(len(matrix))[0]
    )
    return whole(matrix + moved)


def one_order(task):
    return worse(task, orders=tuple((s, t) for s, t in task.orders if s < t))


def one_secret_less(task):
    return worse(task, orders=tuple(order for order in task.orders if "s2" not in order))


def more_epsilon(task):
    return worse(task, epsilon=task.epsilon + as_printed(1e-4))


def no_radius(task):
    return worse(task, radius=dict.fromkeys(task.radius, Fraction(0)))


def swapped_radius(task):
    return worse(task, radius=dict(zip(task.radius, reversed(task.radius.values()))))


def delta_of_each_output(task):
    """Delta allowed for each output rather than for all of them."""
    return worse(task, delta=task.delta * len(task.levels))


def no_cap(task):
    return worse(task, cap=None)


def cap_of_rows(task):
    """The cap between the outputs of an input, not between the inputs of an output."""
    program = Program(replace(task, cap=None))
    program.stochastic()
    program.separate()
    for x in program.levels:
        for y, other in itertools.permutations(program.levels, 2):
            program.at_most(
                0.0, (1.0, {program.entry(x, y): 1.0}), (-math.exp(task.cap), {program.entry(x, other): 1.0})
            )
    return nudged(program.solve()[1])


def cap_of_sums(task):
    """The cap between the sums of the columns."""
    program = Program(replace(task, cap=None))
    program.stochastic()
    program.separate()
    sums = [{program.entry(x, y): 1.0 for x in program.levels} for y in program.levels]
    for one, other in itertools.permutations(sums, 2):
        program.at_most(0.0, (1.0, one), (-math.exp(task.cap), other))
    return nudged(program.solve()[1])


def a_row_too_heavy(task):
    weights = nudged(least_error(task)[1])
    return weights + np.eye(len(weights), dtype=np.int64)[:1] * (np.arange(len(weights)) == 2)[:, None]


def unseen_level(task):
    """The best channel of the other levels; a level that no row has is released as it is."""
    seen = len(task.levels) - 1
    small = replace(
        task,
        counts={s: row[:seen] for s, row in task.counts.items()},
        levels=task.levels[:seen],
        cost=task.cost[:seen, :seen],
    )
    matrix = np.eye(len(task.levels))
    matrix[:seen, :seen] = least_error(small)[1]
    return nudged(matrix)


MAPPED = {"radius": {"s0": 0.01, "s1": 0.03, "s2": 0.2}}
PLANTED = [
    (loose, {"radius": 0.0}, "pair"),
    (loose, {"radius": 0.02, "cap": 2.0}, ""),
    (touched, {"radius": 0.0}, "pair"),
    (one_order, {"radius": 0.0}, "pair"),
    (one_order, {"radius": 0.02}, "pair"),
    (one_order, {"radius": 0.0, "delta": 0.01}, "pair"),
    (one_secret_less, {"radius": 0.02}, "pair"),
    (more_epsilon, {"radius": 0.0}, "pair"),
    (more_epsilon, {"radius": 0.02}, "pair"),
    (no_radius, {"radius": 0.02}, "pair"),
    (no_radius, {"radius": 0.02, "delta": 0.001}, "pair"),
    (swapped_radius, MAPPED, "pair"),
    (delta_of_each_output, {"radius": 0.0, "delta": 0.01}, "pair"),
    (no_cap, {"radius": 0.0, "cap": 2.0}, "cap"),
    (cap_of_rows, {"radius": 0.0, "cap": 3.0}, "cap"),
    (cap_of_sums, {"radius": 0.0, "cap": 3.0}, "cap"),
    (a_row_too_heavy, {"radius": 0.02}, "row"),
    (unseen_level, {"radius": 0.02, "unseen": True}, "pair"),
    (unseen_level, {"radius": 0.02, "unseen": True, "delta": 0.001}, "pair"),
    (unseen_level, {"radius": 0.0, "unseen": True, "cap": 3.0}, "cap"),
]


@pytest.mark.parametrize(("fault", "options", "kind"), PLANTED)
def test_planted_faults_are_found(fault, options, kind):
    for seed in range(4):
        task = task_for(seed, **options)
        found = faults(fault(task), task)
        assert [line for line in found if line.startswith(kind)], seed


BY_LAWS = [entry for entry in PLANTED if entry[2] == "pair" and entry[0] not in (loose, touched)]


@pytest.mark.parametrize(("fault", "options", "kind"), BY_LAWS)
def test_planted_faults_lose_too_much(fault, options, kind):
    """The laws tried find the same faults, but for those of a few parts in a million."""
    for seed in range(4):
        task = task_for(seed, **options)
        worst = worst_found(fault(task), task, np.random.default_rng(seed))
        assert worst > float(task.delta or task.epsilon) + 1e-6, seed


@pytest.mark.parametrize("power", [0.0001, 0.3, 1.0, 3.0, 8.0, 20.0])
def test_the_power_is_rounded_down(power):
    with mpmath.workdps(80):
        below = exp_below(as_printed(power))
        gap = mpmath.exp(mpmath.mpf(repr(power))) - mpmath.mpf(below.numerator) / below.denominator
        assert 0 < gap < mpmath.mpf(10) ** -39
