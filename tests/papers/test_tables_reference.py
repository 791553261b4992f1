"""The reference numbers of the note on tables, section B7: two small tables whose outputs are all enumerated."""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from conftest import table

from puffer_frames.mechanisms.sequential.law import NetworkLaw, Rows, information, mixture, smoothed_tree
from puffer_frames.mechanisms.sequential.release import (
    SequentialPlan,
    Step,
    Walk,
    hockey_stick,
    in_units,
    largest_mean,
    lift,
    log_likelihoods,
    release,
)
from puffer_frames.noise.stream import ReleaseKey

NAMES = {7: "relationship", 6: "occupation", 14: "income"}
SEX = 9
DIGITS = 1.001e-6 / 2
"""Half of the last digit of a reference number."""
NO_LIFT = (50.0, 40.0, 1.0)

# kappa, (epsilon, sigma, k), max |L|, delta(.3), delta(.5), delta(1), KL both ways, AUC, mean lambda by column
THREE_COLUMNS = [
    (0.5, NO_LIFT, 2.991293, (0.297799, 0.262324, 0.178060), (0.384292, 0.503869), 0.739111, (0, 0, 0)),
    (
        *(0.5, (1, 0.25, 1), 0.720386, (0.035332, 0.013639, 0)),
        *((0.046782, 0.048660), 0.586884, (0.293627, 0.140684, 0.031138)),
    ),
    (
        *(0.5, (0.5, 0.25, 1), 0.5, (0.033447, 0, 0)),
        *((0.044512, 0.045110), 0.585328, (0.293627, 0.140684, 0.050232)),
    ),
    (
        *(0.5, (0.5, 0.5, 1), 0.5, (0.052454, 0, 0)),
        *((0.069010, 0.068985), 0.604810, (0.235600, 0.157470, 0.074804)),
    ),
    (
        *(0.5, (0.5, 0.25, 0), 0.5, (0.048583, 0, 0)),
        *((0.062422, 0.062740), 0.599987, (0.601573, 0.451456, 0.292362)),
    ),
    (0.8, NO_LIFT, 5.116313, (0.529452, 0.503529, 0.434749), (0.962799, 1.527621), 0.854313, (0, 0, 0)),
    (
        *(0.8, (1, 0.25, 1), 0.735010, (0.040347, 0.016405, 0)),
        *((0.049951, 0.052264), 0.589433, (0.414348, 0.252363, 0.135258)),
    ),
    (
        *(0.8, (0.5, 0.25, 1), 0.5, (0.036609, 0, 0)),
        *((0.046672, 0.047304), 0.586998, (0.414348, 0.256671, 0.153478)),
    ),
]


@cache
def columns():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[*NAMES, SEX])
    return {column: pd.Categorical(frame[column]) for column in [*NAMES, SEX]}


def rows_of(names):
    held = columns()
    return Rows(
        codes=np.stack([held[column].codes for column in names], axis=1).astype(np.intp),
        secrets=held[SEX].codes.astype(np.intp),
        sizes=tuple(len(held[column].categories) for column in names),
        groups=2,
    )


@cache
def one_tree():
    return NetworkLaw(trees=(smoothed_tree(rows_of(NAMES), (-1, 0, 0), smoothing=20.0),), shares=np.ones((1, 2)))


@cache
def two_trees():
    income = np.eye(2)[columns()[14].codes]
    return mixture(rows_of([7, 6]), [(-1, 0)] * 2, income, smoothing=20.0)


def plan_of(law, kept, epsilon, most, reader_cap):
    """Each level stays with one probability, and becomes any otherwise; one context."""
    steps = []
    for column, size in enumerate(law.sizes):
        table = in_units(np.broadcast_to(kept * np.eye(size) + (1 - kept) / size, (1, 2, size, size)))
        centres = np.zeros((1, 2 * size))
        steps.append(Step(column=column, most=most, reader_cap=reader_cap, centres=centres, weights=table))
    return SequentialPlan(epsilon=epsilon, laws=(law,), steps=tuple(steps), reserve=epsilon / (4 * len(steps)))


def all_rows(sizes):
    return np.array(list(itertools.product(*map(range, sizes))))


def mean_lifts(plan, rows, shares):
    """The mean share of lifts by column, over what was released before."""
    walk, found = Walk(plan, len(rows)), []
    for step in plan.steps:
        channels = walk.channels(step, walk.laws_of(step.column))
        weights = shares @ np.exp(walk.logs[0])
        found.append(float(weights @ (1 - 1 / channels.scale) / weights.sum()))
        walk.see(channels, rows[:, step.column])
    return found


def measured(plan):
    """max |L|, delta at .3, .5 and 1, KL both ways, AUC, by all outputs."""
    first, second = np.exp(log_likelihoods(plan, all_rows(plan.laws[0].sizes))[0])
    assert first.sum() == pytest.approx(1, abs=1e-12)
    assert second.sum() == pytest.approx(1, abs=1e-12)
    losses = np.log(first / second)
    sticks = [
        max((a - np.exp(e) * b).clip(0).sum() for a, b in ((first, second), (second, first))) for e in (0.3, 0.5, 1)
    ]
    above = (losses[:, None] > losses) + (losses[:, None] == losses) / 2
    return abs(losses).max(), sticks, (first @ losses, -second @ losses), first @ above @ second


@pytest.mark.parametrize(("kept", "asked", "largest", "sticks", "entropies", "auc", "lifts"), THREE_COLUMNS)
def test_three_columns(kept, asked, largest, sticks, entropies, auc, lifts):
    plan = plan_of(one_tree(), kept, *asked)
    found = measured(plan)
    assert found[0] == pytest.approx(largest, abs=DIGITS)
    assert found[1] == pytest.approx(sticks, abs=DIGITS)
    assert found[2] == pytest.approx(entropies, abs=DIGITS)
    assert found[3] == pytest.approx(auc, abs=DIGITS)
    assert found[0] <= asked[0] + 1e-9
    shares = np.bincount(rows_of(NAMES).secrets) / len(rows_of(NAMES).secrets)
    assert mean_lifts(plan, all_rows(one_tree().sizes), shares) == pytest.approx(lifts, abs=DIGITS)


def test_the_law_of_three_columns():
    law, rows = one_tree(), rows_of(NAMES)
    husband, executive = (list(columns()[k].categories).index(v) for k, v in ((7, "Husband"), (6, "Exec-managerial")))
    first, second, third = law.trees[0].tables
    assert law.log_likelihood(rows.codes, rows.secrets).mean() == pytest.approx(-3.953941, abs=DIGITS)
    found = first[1, 0, husband], second[1, husband, executive], third[1, husband, 1]
    assert found == pytest.approx((0.605232, 0.165782, 0.448605), abs=DIGITS)
    gains = information(rows)
    assert (gains[0, 1], gains[0, 2], gains[1, 2]) == pytest.approx((0.038067, 0.090979, 0.063775), abs=DIGITS)


def test_two_trees():
    law, rows = two_trees(), rows_of([7, 6])
    assert law.shares.T.ravel() == pytest.approx((0.890478, 0.109522, 0.694278, 0.305722), abs=DIGITS)
    assert law.log_likelihood(rows.codes, rows.secrets).mean() == pytest.approx(-3.519231, abs=1e-6)  # -3.5192315
    largest, sticks, _, auc = measured(plan_of(law, 0.8, *NO_LIFT))
    assert (largest, sticks[2], auc) == pytest.approx((4.216294, 0.429969, 0.849590), abs=DIGITS)
    plan = plan_of(law, 0.8, 0.5, 0.25, 1.0)
    largest, sticks, _, auc = measured(plan)
    assert (largest, sticks[0], auc) == pytest.approx((0.484363, 0.033411, 0.578470), abs=DIGITS)


def test_releases_have_the_law_of_their_likelihood():
    law, count = two_trees(), 40_000
    plan = plan_of(law, 0.8, 0.5, 0.25, 1.0)
    expected = count * np.exp(log_likelihoods(plan, all_rows(law.sizes))[0])
    for secret in range(2):
        own = np.full(count, secret)
        out = release(plan, law.sample(own, np.random.default_rng(1)), own, key=ReleaseKey.of(secret), names="ab")
        drawn = np.bincount(np.ravel_multi_index(out.T.astype(int), law.sizes), minlength=expected.shape[1])
        statistic = ((drawn - expected[secret]) ** 2 / expected[secret]).sum()
        assert 50 < statistic < 145  # 89 degrees of freedom


TWO, THREE = [(0.5, 0.3, 0.2), (0.3, 0.5, 0.2)], [(0.5, 0.3, 0.2), (0.3, 0.5, 0.2), (0.35, 0.35, 0.3)]


@pytest.mark.parametrize(
    ("laws", "cap", "share"),
    [(TWO, 1, 0.146316), (TWO, 2, 0.101897), (TWO, np.inf, 0.082064), (TWO, 0, 0.447002), (THREE, 1, 0.198712)],
)
@pytest.mark.parametrize("beliefs", [1, 2])
def test_lifts(laws, cap, share, beliefs):
    laws = np.array(laws)
    added = lift(np.stack([laws[:, None]] * beliefs), np.full((beliefs, len(laws), len(laws), 1), 0.25), cap)[:, 0]
    total = added.sum(axis=1)
    assert total == pytest.approx([total[0]] * len(laws), rel=1e-12)
    assert total[0] / (1 + total[0]) == pytest.approx(share, abs=DIGITS)
    raised = laws + added
    assert (raised[:, None] / raised).max() <= np.exp(0.25)
    if cap == 1:
        expected = (0.268941, 0.731059, 0) if len(laws) == 2 else (0.245247, 0.564631, 0.190122)
        assert added[0] / total[0] == pytest.approx(expected, abs=DIGITS)
    if cap == 1 and len(laws) == 2:
        assert raised[0] / (1 + total[0]) == pytest.approx((0.466192, 0.363071, 0.170737), abs=DIGITS)
    if len(laws) == 3:
        assert added[2] / total[2] == pytest.approx((0.465029, 0.465029, 0.069942), abs=DIGITS)


@pytest.mark.parametrize(("mean", "bound"), [(0.0, 7.25e-5), (1e-4, 2.73e-4), (1e-3, 1.430e-3)])
def test_bounds_of_simulated_deltas(mean, bound):
    assert largest_mean(mean, 200_000, 5e-7) == pytest.approx(bound, rel=2e-3)


def test_delta_of_simulated_losses():
    first, second = np.exp(log_likelihoods(plan_of(one_tree(), 0.5, *NO_LIFT), all_rows(one_tree().sizes))[0])
    drawn = np.random.default_rng(0).choice(first.size, 100_000, p=first / first.sum())
    # 0.262324 is the larger of both directions
    exact = (first - np.exp(0.5) * second).clip(0).sum()
    assert hockey_stick(np.log(first / second)[drawn], 0.5) == pytest.approx(exact, abs=0.004)
