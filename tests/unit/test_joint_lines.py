"""Rows split onto lines, beside sums of kernels with 50 digits."""

import math

import numpy as np
import polars as pl
import pytest
from mpmath import exp, mp, mpf

from puffer_frames.loss.joint import joint_loss
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss, PlacedLaws
from puffer_frames.scales.joint.exchange import on_ray


def direct(law, point, scales):
    terms = (
        mpf(weight) * exp(-sum(abs(mpf(y) - mpf(x)) / mpf(b) for y, x, b in zip(point, row, scales, strict=True)))
        for row, weight in zip(law.points, law.weights, strict=True)
    )
    return sum(terms)


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("on_lines", [(), (0,), (0, 1)])
def test_densities_at_nodes(narrow, on_lines):
    """On some axes all rows are on lines; slabs are narrow, or each at least 1/64 of the scale."""
    rng = np.random.default_rng(3)
    lines = [np.linspace(-1.7, 2.1, 6), np.linspace(-2, 2, 5)]
    points = rng.uniform([line[0] for line in lines], [line[-1] for line in lines], size=(20, 2))
    points[:3] = lines[0][-1], lines[1][0]  # on a node, with the last line of an axis
    for k in on_lines:
        points[:, k] = rng.choice(lines[k], size=20)
    law = JointLaw(points=points, weights=rng.dirichlet(np.ones(20)))
    placed = PlacedLaws([law], lines)
    assert placed.on_lines == (on_lines == (0, 1))
    finest = min(np.diff(line).min() for line in lines)
    scales = [finest * (5000 if narrow else 60), finest * (8 if narrow else 1.0)]
    (found,) = placed.at_nodes(scales)
    with mp.workdps(50):
        for i, first in enumerate(lines[0]):
            for j, second in enumerate(lines[1]):
                exact = direct(law, (first, second), scales)
                assert abs(mpf(found[i, j]) / exact - 1) <= 40 * 2.0**-53


def test_a_slab_that_is_nothing_beside_the_scale():
    law = JointLaw(points=np.array([[0.0], [1e-300], [2e-300]]), weights=np.full(3, 1 / 3))
    (found,) = PlacedLaws([law], [np.array([0.0, 2e-300, 1.0])]).at_nodes([1e30])
    assert found == pytest.approx(1.0)


def test_two_threads_find_the_same(monkeypatch):
    rng = np.random.default_rng(4)
    laws = {s: JointLaw(points=rng.normal(size=(200, 2)), weights=np.full(200, 0.005)) for s in "abcde"}
    worst = JointLoss(laws, pairs="all").worst([0.5, 0.7])
    monkeypatch.setattr(joint_loss, "_MANY_ROWS", 1)
    threaded = JointLoss(laws, pairs="all")
    again = threaded.worst([0.5, 0.7])
    assert (again.loss, again.pair) == (worst.loss, worst.pair)
    assert np.array_equal(again.point, worst.point)
    bracket = threaded.bracket([0.5, 0.7], enough=1.0)
    monkeypatch.setattr(joint_loss, "_MANY_ROWS", 1 << 15)
    assert JointLoss(laws, pairs="all").bracket([0.5, 0.7], enough=1.0) == bracket


@pytest.mark.parametrize(
    "loss_at",
    [
        lambda b: 3.0 / b,
        lambda b: min(1.001, 2e3 / b),  # hardly above epsilon for long
        lambda b: 0.999 if b > 1e-3 else 2e-3 / b,  # hardly below it for long
        lambda b: 40.0 if b < 7 else 1e-9,  # a step, which is nowhere epsilon
        lambda b: math.inf if b < 0.1 else 5 / b**0.1,
    ],
)
@pytest.mark.parametrize("start", [1e-2, 1.0, 1e2])
def test_the_scale_on_a_ray_is_found_in_a_few_looks(loss_at, start):
    looks = []

    class Fake:
        def worst(self, scales):
            looks.append(float(scales[0]))
            return joint_loss.JointWorst(point=scales, pair=("a", "b"), loss=loss_at(looks[-1]))

    found = float(on_ray(Fake(), np.array([start]), 1.0, np.array([1e-9]))[0])
    assert loss_at(found * 1.0001) <= 1.0
    assert loss_at(found / 1.0001) > 1.0
    assert len(looks) <= 40


@pytest.mark.filterwarnings("ignore::puffer_frames.WeakGuaranteeWarning")  # delta is large for so few rows
def test_values_rarer_than_delta_ask_for_no_noise():
    """Nor for a column of labels beside them."""
    rng = np.random.default_rng(0)
    secret, count = rng.integers(0, 2, 1500), 1500
    value = rng.normal(0.2 * secret, 1.0).round(1)
    value[0] = 100.0
    frame = pl.DataFrame({"s": secret, "x": value, "y": rng.integers(0, 5, count) + secret})
    asked = {"secret": "s", "epsilon": 1.0, "delta": 0.01}
    found = frame.puffer.calibrate(public=["x", "y"], **asked)
    assert found.scales["x"] < 1.0
    assert found.scales["y"] < 2.5
    near = frame.with_columns(x=pl.Series(np.append(0.0, value[1:]))).puffer.calibrate(public=["x", "y"], **asked)
    spread = [math.sqrt(np.var(value[1:])), float(frame["y"].std())]
    costs = [scales["x"] / spread[0] + scales["y"] / spread[1] for scales in (found.scales, near.scales)]
    assert costs[0] < 1.5 * costs[1]
    labels = frame.with_columns(y=pl.col("y").cast(pl.String)).puffer.calibrate(public=["x", "y"], **asked)
    assert labels.scales["x"] < 1.0


def test_one_column_of_many_equal_rows():
    """The weights of a value are summed; the loss of two points a scale apart is 1."""
    laws = {
        s: JointLaw(points=np.full((9999, 1), y), weights=np.full(9999, 1 / 9999)) for s, y in (("a", 0.0), ("b", 1.0))
    }
    loss = JointLoss(laws, pairs="all")
    bracket = loss.bracket([1.0], enough=1.0)
    assert bracket.lower <= 1.0 <= bracket.upper <= 1 + 1e-11
    assert set(loss.worst_pair([1.0])) == {"a", "b"}
    assert loss.bracket([1e-6], enough=1.0).upper == pytest.approx(1e6)
