"""The hockey stick of several columns together, against direct sums over fine cells that share no code with it.

Cells tell less than values, so that such a sum is at most the true hockey stick, and nearly it where cells are fine.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep
from scipy.stats import laplace

from puffer_frames import Layout, Unit, calibrate
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss
from puffer_frames.loss.joint.joint_stick import JointStick

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")


def random_laws(rng, columns, *, secrets=2, largest=4):
    """Different rows with different weights per secret."""
    laws = {}
    for s in range(secrets):
        rows = np.unique(rng.integers(0, largest, (rng.integers(1, 12), columns)), axis=0).astype(float)
        counts = rng.integers(1, 6, len(rows)) ** rng.integers(1, 4)
        laws[s] = JointLaw(points=rows * 10.0 ** (columns - 2), weights=counts / counts.sum())
    return laws


def on_cells(laws, scales, *, cells, labels=None):
    """Probabilities of a grid of cells under each law; an axis of labels has its levels."""
    labels = labels or {}
    points = np.concatenate([law.points for law in laws.values()])
    axes = []
    for k, b in enumerate(scales):
        if k in labels:
            other = math.exp(-1 / b) / (1 + (labels[k] - 1) * math.exp(-1 / b))
            axes.append(lambda x, m=labels[k], o=other: np.where(np.eye(m)[x.astype(int)] > 0, 1 - (m - 1) * o, o))
            continue
        ends = points[:, k].min() - 6 * b, points[:, k].max() + 6 * b
        edges = np.concatenate([[-np.inf], np.unique([*np.linspace(*ends, cells - 1), *points[:, k]]), [np.inf]])
        axes.append(lambda x, e=edges, b=b: np.diff(laplace.cdf((e[None, :] - x[:, None]) / b), axis=1))
    names = "abcd"[: len(scales)]
    found = []
    for law in laws.values():
        parts = [axis(law.points[:, k]) for k, axis in enumerate(axes)]
        found.append(np.einsum(",".join(["i", *("i" + n for n in names)]) + "->" + names, law.weights, *parts))
    return found


def stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def largest(tables, epsilon):
    return max(stick(p, q, epsilon) for p, q in itertools.permutations(tables, 2))


@pytest.mark.parametrize(("columns", "cells", "slack"), [(1, 20_000, 1e-3), (2, 500, 0.02), (3, 90, 0.06)])
@sweep(6, 150)
def test_bounds_hold_the_sums_over_fine_cells(count, columns, cells, slack):
    compared = 0
    for seed in range(count):
        rng = np.random.default_rng([columns, seed])
        laws = random_laws(rng, columns, secrets=2 + seed % 2)
        scales = 10.0 ** (columns - 2) * rng.choice([0.5, 1.5, 4.0], columns)
        epsilon = float(rng.choice([0.05, 0.4, 1.5]))
        least = largest(on_cells(laws, scales, cells=cells), epsilon)
        loss = JointLoss(laws, pairs="all")
        found = JointStick(loss, pairs="all", levels={}).hockey_stick(scales, epsilon=epsilon).bracket
        assert found.upper >= least * (1 - 1e-12) - 1e-15, (seed, laws, scales)
        assert found.upper - found.lower <= 0.005 * found.upper + 1e-12
        if least > 1e-6:
            compared += 1
            assert found.lower <= least * (1 + slack) + 1e-3 * slack, (seed, laws, scales)
    assert compared >= count // 3


@sweep(6, 100)
def test_bounds_with_labels(count):
    """A column of labels beside a number; one of its levels does not occur."""
    for seed in range(count):
        rng = np.random.default_rng([7, seed])
        rows = {s: np.unique(rng.integers(0, 3, (6, 2)), axis=0).astype(float) for s in (0, 1)}
        laws = {s: JointLaw(points=points, weights=np.full(len(points), 1 / len(points))) for s, points in rows.items()}
        laws = {
            s: JointLaw(points=law.points, weights=np.full(len(law.points), 1 / len(law.points)))
            for s, law in laws.items()
        }
        scales, epsilon = rng.choice([0.6, 1.0, 2.0], 2), float(rng.choice([0.1, 0.5]))
        least = largest(on_cells(laws, scales, cells=4_000, labels={1: 4}), epsilon)
        loss = JointLoss(laws, pairs="all", labels={1: 4})
        found = JointStick(loss, pairs="all", levels={1: 4}).hockey_stick(scales, epsilon=epsilon).bracket
        assert least * (1 - 1e-12) <= found.upper <= least * 1.006 + 1e-9, (seed, scales)


def test_labels_alone_are_sums_over_levels():
    rng = np.random.default_rng(3)
    points = np.array(list(itertools.product(range(3), range(2))), dtype=float)
    laws = {s: JointLaw(points=points, weights=weights) for s, weights in enumerate(rng.dirichlet(np.ones(6), 2))}
    scales, labels = np.array([0.7, 1.3]), {0: 3, 1: 5}
    exact = largest(on_cells(laws, scales, cells=0, labels=labels), 0.2)
    loss = JointLoss(laws, pairs="all", labels=labels)
    found = JointStick(loss, pairs="all", levels=labels).hockey_stick(scales, epsilon=0.2).bracket
    assert found.upper == pytest.approx(exact, rel=1e-10)
    assert exact in found


def test_listed_pairs():
    laws = random_laws(np.random.default_rng(1), 2, secrets=3)
    loss, scales = JointLoss(laws, pairs="all"), np.array([1.0, 1.5])
    of_pairs = {
        pair: JointStick(loss, pairs=(pair,), levels={}).hockey_stick(scales, epsilon=0.3).bracket.upper
        for pair in itertools.combinations(laws, 2)
    }
    every = JointStick(loss, pairs="all", levels={}).hockey_stick(scales, epsilon=0.3)
    assert every.bracket.upper == pytest.approx(max(of_pairs.values()), rel=0.01)
    assert of_pairs[tuple(sorted(every.pair))] == max(of_pairs.values())


def test_nothing_is_known_beyond_the_range_of_floats():
    laws = random_laws(np.random.default_rng(1), 2)
    stick_of = JointStick(JointLoss(laws, pairs="all"), pairs="all", levels={})
    assert stick_of.hockey_stick([1e-4, 1e-4], epsilon=0.5).bracket.upper == 1.0
    assert stick_of.hockey_stick([1.0, 1.0], epsilon=600.0).bracket.upper == 1.0


def rows_of(frame, public):
    """The laws of a table, as the oracle takes them."""
    laws = {}
    for s, part in frame.groupby("s"):
        rows, counts = np.unique(part[public].to_numpy(dtype=float), axis=0, return_counts=True)
        laws[s] = JointLaw(points=rows, weights=counts / counts.sum())
    return laws


@few(1)
@pytest.mark.parametrize("delta", [1e-5, 1e-3, 0.05])
@sweep(2, 30)
def test_scales_of_a_plan(count, delta):
    """The sums at the scales are at most delta, and more than that a little below."""
    for seed in range(count):
        rng = np.random.default_rng([11, seed])
        own = rng.integers(0, 2, 400)
        frame = pd.DataFrame({"s": np.where(own, "p", "q"), "x": rng.integers(0, 5, 400) + own})
        frame["y"] = rng.integers(0, 4, 400) + frame["x"] * rng.integers(0, 2, 400)
        plan = calibrate(frame, secret="s", public=["x", "y"], epsilon=0.5, delta=delta)
        pure = calibrate(frame, secret="s", public=["x", "y"], epsilon=0.5)
        scales = np.array([plan.scales[c] for c in "xy"])
        sticks = [largest(on_cells(rows_of(frame, ["x", "y"]), scales * c, cells=600), 0.5) for c in (1.0, 0.99)]
        assert sticks[0] <= delta, (seed, scales)
        if (scales > [1.001 * 0.5, 1.001 * 0.5]).all():  # above half the smallest step of each column
            assert sticks[1] > delta, (seed, scales)
        assert all(plan.scales[c] <= pure.scales[c] for c in "xy")
        measured = plan.choices["x"].verified["empirical"]
        assert measured.hockey_stick.upper <= delta
        assert sticks[0] <= measured.hockey_stick.upper


def test_several_columns_and_independent_rows_of_a_unit():
    """Two rows with two columns each: sums over all four values."""
    rng = np.random.default_rng(5)
    own = np.repeat(rng.integers(0, 2, 150), 2)
    frame = pd.DataFrame(
        {"s": np.where(own, "p", "q"), "u": np.repeat(np.arange(150), 2), "x": rng.integers(0, 3, 300)}
    )
    frame["y"] = (rng.integers(0, 2, 300) + own * (rng.random(300) < 0.3)).astype(int)
    asked = {"secret": "s", "public": ["x", "y"], "epsilon": 0.5, "delta": 1e-2}
    plan = calibrate(frame, unit=Unit("u", rows="independent"), **asked)
    scales = np.array([plan.scales[c] for c in "xy"])
    laws = rows_of(frame, ["x", "y"])
    sticks = []
    for factor in (1.0, 0.98):
        p, q = (table.ravel() for table in on_cells(laws, scales * factor, cells=45))
        sticks.append(largest([np.outer(p, p), np.outer(q, q)], 0.5))
    assert 0.9e-2 < sticks[0] <= 1e-2 < sticks[1]
    assert plan.choices["x"].verified["empirical"].hockey_stick.upper <= 1e-2


def test_rows_of_a_unit_whose_loss_would_cost_too_much_have_shares(monkeypatch):
    """Then the scales are those of pure privacy for a share of epsilon."""
    rng = np.random.default_rng(5)
    own = np.repeat(rng.integers(0, 2, 60), 2)
    frame = pd.DataFrame({"s": np.where(own, "p", "q"), "u": np.repeat(np.arange(60), 2), "x": rng.integers(0, 3, 120)})
    frame["y"] = (rng.integers(0, 3, 120) + own).astype(int)
    asked = {"secret": "s", "public": ["x", "y"], "unit": Unit("u", rows="independent")}
    pure = calibrate(frame, epsilon=0.5, **asked)
    monkeypatch.setattr("puffer_frames.scales.joint.exchange._MOST_COMPOSED", 0)
    plan = calibrate(frame, epsilon=0.5, delta=1e-3, **asked)
    assert plan.scales == pytest.approx(pure.scales, rel=1e-6)
    keys = {s.key for s in plan.release(frame, layout=Layout(shuffle=True)).puffer.certificate.statements}
    assert {"joint-exact", "pure-only", "measured-of-unit"} <= keys
