"""Several columns together: the figures of docs/theory.md, section 17, on the tables of the papers."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import few, table
from scipy.special import logsumexp

from puffer_frames import Noise, calibrate
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss, PlacedLaws
from puffer_frames.scales.joint.coupled import RowBoxes, coupling_distance
from puffer_frames.scales.joint.exchange import joint_scales

COLUMNS = {"age": 0, "education_num": 4, "race": 8, "sex": 9, "hours": 12}
TABLES = {
    "student": lambda: table("student-mat.csv", sep=";"),
    "adult": lambda: table("adult.data", header=None, skipinitialspace=True, usecols=list(COLUMNS.values())).set_axis(
        list(COLUMNS), axis=1
    ),
    "bank": lambda: table("bank-full.csv", sep=";"),
}
PUBLIC = {
    "student": ["G1", "G2", "G3"],
    "adult": ["age", "education_num", "hours"],
    "bank": ["age", "balance", "duration"],
}


def laws(frame, secret, public):
    found = {}
    for label, part in frame.groupby(secret):
        counts = part.groupby(public).size()
        points = np.array(counts.index.tolist(), dtype=np.float64).reshape(len(counts), -1)
        found[label] = JointLaw(points=points, weights=counts.to_numpy() / len(part))
    return found


@pytest.mark.parametrize(
    ("name", "secret", "scales", "loss"),
    [
        ("student", "sex", (2, 2, 2), 1.296745),
        ("student", "sex", (4, 3, 5), 0.559459),
        ("adult", "sex", (10, 2, 15), 0.839143),
        ("adult", "race", (16, 4, 13), 1.011341),
    ],
)
def test_joint_loss(name, secret, scales, loss):
    found = JointLoss(laws(TABLES[name](), secret, PUBLIC[name]), pairs="all").bracket(scales, enough=0.0)
    assert found.lower == pytest.approx(loss, abs=6e-7)
    assert found.upper - found.lower < 1e-9


def test_on_fewer_lines_than_coordinates():
    """868 million nodes: the bracket holds the loss, and is narrow."""
    loss = JointLoss(laws(TABLES["bank"](), "marital", PUBLIC["bank"]), pairs="all")
    assert not loss.is_whole
    found = loss.bracket((22.84489, 11632.3435, 563.73369), enough=0.0)
    assert found.lower - 1e-6 <= 1.0 <= found.upper + 1e-6
    assert found.upper - found.lower < 2e-4


@few(1)
@pytest.mark.parametrize(
    ("name", "secret", "total"),
    [
        ("student", "sex", 1.6236),
        ("adult", "sex", 2.3417),
        ("adult", "race", 3.6667),
        pytest.param("bank", "marital", 8.1609, marks=pytest.mark.slow),
    ],
)
def test_sums_of_scales(name, secret, total):
    frame = TABLES[name]()
    plan = calibrate(frame, secret=secret, public=PUBLIC[name], epsilon=1.0, mechanism="noise")
    assert plan.theorem == "joint"
    assert sum(plan.scales[c] / frame[c].std(ddof=0) for c in PUBLIC[name]) <= 1.002 * total
    assert 0.9995 < plan.choices[PUBLIC[name][0]].verified["empirical"].pure_loss.lower <= 1.0


def test_scales_of_adult_by_sex():
    plan = calibrate(TABLES["adult"](), secret="sex", public=PUBLIC["adult"], epsilon=1.0, mechanism="noise")
    assert list(plan.scales.values()) == pytest.approx([10.93491, 1.48787, 11.87402], rel=1e-3)


def test_a_step_into_a_far_worse_minimum_is_dropped():
    frame = TABLES["adult"]().head(12_000)
    plan = calibrate(frame, secret="sex", public=PUBLIC["adult"], epsilon=1.0, mechanism="noise")
    assert sum(plan.scales[name] / frame[name].std() for name in plan.scales) < 2.8  # once 707


def test_shares_of_epsilon_are_not_enough():
    """The same bit twice under one secret, opposite bits under the other: 0.208337 is exact for each at 1/2."""
    points = {"same": [(0, 0), (1, 1)], "opposite": [(0, 1), (1, 0)]}
    shares = {"same": np.array([0.5, 0.5]), "opposite": np.array([0.7, 0.3])}
    joint = {s: JointLaw(points=np.array(points[s], dtype=np.float64), weights=shares[s]) for s in points}
    for k in (0, 1):
        alone = {s: JointLaw(points=law.points[:, [k]], weights=law.weights) for s, law in joint.items()}
        assert JointLoss(alone, pairs="all").bracket([0.208337], enough=0.0).upper <= 0.5 + 1e-5
    found = JointLoss(joint, pairs="all").bracket([0.208337, 0.208337], enough=0.0)
    assert found.lower == pytest.approx(4.443261, abs=1e-5)
    enough = joint_scales(joint, epsilon=1.0, pairs="all", weights=[1.0, 1.0], floors=[0.1, 0.1])
    assert enough.loss.upper <= 1.0
    assert min(enough.scales) > 0.5


@pytest.mark.parametrize(("epsilon", "scale"), [(0.1, 2.199237), (0.5, 0.921626), (1.0, 0.603335), (2.0, 0.371950)])
def test_equal_and_opposite_fair_bits(epsilon, scale):
    rows = {"same": [(0, 0), (1, 1)], "opposite": [(0, 1), (1, 0)]}
    joint = {s: JointLaw(points=np.array(p, dtype=np.float64), weights=np.array([0.5, 0.5])) for s, p in rows.items()}
    found = JointLoss(joint, pairs="all").bracket([scale, scale], enough=0.0)
    assert found.lower == pytest.approx(epsilon, abs=1e-5)
    assert found.lower == pytest.approx(math.log(math.cosh(1 / scale)), abs=1e-9)


def test_two_releases_of_one_value_are_two_equal_columns():
    """education-num by race twice, at the exact scale of one release: 1.529573, as one release at half of it."""
    frame = TABLES["adult"]()
    twice = frame.assign(again=frame["education_num"])
    joint = JointLoss(laws(twice, "race", ["education_num", "again"]), pairs="all")
    single = JointLoss(laws(frame, "race", ["education_num"]), pairs="all")
    assert joint.bracket([2.226604] * 2, enough=0.0).lower == pytest.approx(1.529573, abs=2e-6)
    assert single.bracket([2.226604 / 2], enough=0.0).lower == pytest.approx(1.529573, abs=2e-6)
    hours = frame.assign(again=frame["hours"])
    found = JointLoss(laws(hours, "sex", ["hours", "again"]), pairs="all").bracket([8, 12], enough=0.0)
    assert found.lower == pytest.approx(1.126548, abs=6e-7)


def test_two_independent_rows():
    rows = [(0, 0), (0, 1), (1, 0), (1, 1)]
    joint = {
        s: JointLaw(
            points=np.array(rows, dtype=np.float64), weights=np.array([(1 - p) ** 2, p * (1 - p), p * (1 - p), p * p])
        )
        for s, p in {"s": 0.2, "t": 0.9}.items()
    }
    found = JointLoss(joint, pairs="all").bracket([1.2, 1.2], enough=0.0)
    assert found.lower == pytest.approx(1.182057, abs=6e-7)


def test_an_exact_scale_and_a_coupled_one_do_not_add():
    """Atoms 1, 5, 9: a release of loss 1.092217 and one whose coupling allows 2.081813 lose 3.504550 together."""
    first, second = np.array([0.824008, 0.175928, 0.0000635]), np.array([0.847169, 0.003388, 0.149443])
    points = np.array([[1, 1], [5, 5], [9, 9]], dtype=np.float64)
    joint = {s: JointLaw(points=points, weights=w / w.sum()) for s, w in {"s": first, "t": second}.items()}
    alone = {s: JointLaw(points=law.points[:, :1], weights=law.weights) for s, law in joint.items()}
    found = JointLoss(joint, pairs="all").bracket([2.355461, 1.921403], enough=0.0)
    assert found.lower == pytest.approx(3.504550, abs=1e-6)
    assert JointLoss(alone, pairs="all").bracket([2.355461], enough=0.0).lower == pytest.approx(1.092217, abs=1e-6)
    assert found.lower > 1.092217 + 2.081813


@pytest.mark.parametrize("columns", [2, 3])
def test_random_points_between_the_lines_lose_no_more(columns):
    """Continuous rows on few lines: no released row has a larger loss than the upper end says."""
    rng = np.random.default_rng(columns)
    rows = {
        "s": rng.standard_t(3, size=(3000, columns)),
        "t": rng.normal(size=(2000, columns)) @ np.triu(np.full((columns, columns), 0.7)) + 0.3,
    }
    joint = {s: JointLaw(points=x, weights=np.full(len(x), 1 / len(x))) for s, x in rows.items()}
    loss = JointLoss(joint, pairs="all")
    assert not loss.is_whole
    scales = np.full(columns, 1.5)
    found = loss.bracket(scales, enough=0.0)
    assert found.upper - found.lower < 0.02 * found.upper
    own = []
    for y in np.concatenate([rows["s"][:150], rows["t"][:150], rng.normal(size=(100, columns)) * 8]):
        logs = [logsumexp(-(np.abs(x - y) / scales).sum(axis=1)) - math.log(len(x)) for x in rows.values()]
        own.append(abs(logs[0] - logs[1]))
    assert max(own) <= found.upper
    at_worst = loss.worst(scales)
    logs = [
        logsumexp(-(np.abs(rows[s] - at_worst.point) / scales).sum(axis=1)) - math.log(len(rows[s]))
        for s in at_worst.pair
    ]
    assert logs[0] - logs[1] == pytest.approx(at_worst.loss, rel=1e-9)


def test_a_wide_slab():
    """Lines at the ends alone, and a row 150 scales from both: the bound of the cell holds the loss at this row."""
    rows = {"s": np.array([[300.0]]), "t": np.array([[0.0], [600.0]])}
    joint = {s: JointLaw(points=x, weights=np.full(len(x), 1 / len(x))) for s, x in rows.items()}
    placed = {s: PlacedLaws([law], [np.array([0.0, 600.0])]) for s, law in joint.items()}
    upper = np.log(placed["s"].bounds([2.0])[0, :, 0] / placed["t"].at_nodes([2.0])[0]).max()
    assert upper >= JointLoss(joint, pairs="all").bracket([2.0], enough=0.0).lower == pytest.approx(150)


def test_one_pair_of_three_secrets():
    frame = pd.DataFrame({"s": ["a", "b", "c"] * 40, "x": range(120), "y": [k * k % 7 for k in range(120)]})
    some = calibrate(frame, secret="s", public=["x", "y"], epsilon=0.5, pairs=[("a", "b")])
    every = calibrate(frame, secret="s", public=["x", "y"], epsilon=0.5)
    spread = frame[["x", "y"]].std(ddof=0)
    assert sum(some.scales[c] / spread[c] for c in "xy") <= sum(every.scales[c] / spread[c] for c in "xy") * 1.001
    assert set(some.choices["x"].worst_pair) == {"a", "b"}


@pytest.mark.parametrize(
    ("name", "secret", "most"),
    [
        ("student", "sex", 3.88),
        pytest.param("adult", "sex", 6.5, marks=pytest.mark.slow),
        pytest.param("adult", "race", 16.34, marks=pytest.mark.slow),
        pytest.param("bank", "marital", 39.3, marks=pytest.mark.slow),
    ],
)
def test_couplings_of_whole_rows(name, secret, most):
    """The sums of scale / standard deviation, at most those of the figures."""
    frame, public = TABLES[name](), PUBLIC[name]
    made = calibrate(frame, secret=secret, public=public, epsilon=1.0, mechanism=Noise(theorem="kantorovich"))
    assert sum(made.scales[column] / frame[column].std(ddof=0) for column in public) <= most
    assert made.choices[public[0]].verified["empirical"].pure_loss.upper <= 1.0


def test_w_infinity_of_whole_rows():
    frame, ratios = TABLES["student"](), np.array([2.0, 3.0, 3.0])
    boxes = []
    for _, part in frame.groupby("sex"):
        counts = part.groupby(PUBLIC["student"]).size()
        points = np.array(counts.index.tolist(), dtype=float)
        boxes.append(RowBoxes.of((points, counts.to_numpy()), ratios, most=2_000))
    assert coupling_distance(*boxes, ratios) == pytest.approx(7 / 3, abs=1e-9)
