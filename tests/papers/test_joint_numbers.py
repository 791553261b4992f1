"""Several columns and releases: numbers of the theory that are computed here a second way, or on the tables."""

import itertools
import math

import numpy as np
import pytest
from conftest import few, sweep, table
from scipy.integrate import dblquad, quad

from puffer_frames import calibrate
from puffer_frames.core import Prior, pure_loss
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss
from puffer_frames.loss.joint.joint_stick import JointStick


def laws(frame, secret, public):
    found = {}
    for label, part in frame.groupby(secret):
        counts = part.groupby(public).size()
        points = np.array(counts.index.tolist(), dtype=np.float64).reshape(len(counts), -1)
        found[label] = JointLaw(points=points, weights=counts.to_numpy() / len(part))
    return found


def of_students(public):
    return laws(table("student-mat.csv", sep=";"), "sex", public)


pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")

# --- delta


@pytest.mark.parametrize(
    ("public", "low", "high"), [(["G1", "G2"], 0.00265105, 0.00265131), (["G1", "G2", "G3"], 0.02711, 0.02801)]
)
def test_hockey_stick_of_students(public, low, high):
    """F over M; iterated quadrature gave .00265105, random draws .0273 with three columns."""
    stick = JointStick(JointLoss(of_students(public), pairs="all"), pairs="all", levels={})
    boxes = dict(stick.crossing([2.0] * len(public), 0.3))
    found = boxes["F", "M"].hockey_stick(0.3)
    assert found.width < 0.004 * found.upper
    assert found.lower <= high
    assert low <= found.upper


@few(2)
@pytest.mark.parametrize(
    ("secret", "delta", "total"),
    [
        ("student", 1e-5, 1.615),
        ("student", 1e-3, 1.452),
        ("student", 1e-2, 1.033),
        ("sex", 1e-5, 2.141),
        pytest.param("sex", 1e-3, 1.530, marks=pytest.mark.slow),
        pytest.param("sex", 1e-2, 0.9955, marks=pytest.mark.slow),
        pytest.param("race", 1e-5, 3.610, marks=pytest.mark.slow),
        pytest.param("race", 1e-3, 3.080, marks=pytest.mark.slow),
        pytest.param("race", 1e-2, 2.362, marks=pytest.mark.slow),
    ],
)
def test_sums_of_scales_with_delta(secret, delta, total):
    if secret == "student":
        frame, secret, public = table("student-mat.csv", sep=";"), "sex", ["G1", "G2", "G3"]
    else:
        columns = {"age": 0, "education_num": 4, "race": 8, "sex": 9, "hours": 12}
        frame = table("adult.data", header=None, skipinitialspace=True, usecols=list(columns.values()))
        frame, public = frame.set_axis(list(columns), axis=1), ["age", "education_num", "hours"]
    plan = calibrate(frame, secret=secret, public=public, epsilon=1.0, delta=delta)
    assert sum(plan.scales[c] / frame[c].std(ddof=0) for c in public) == pytest.approx(total, rel=2e-3)
    found = plan.choices[public[0]].verified["empirical"]
    assert 0.95 * delta <= found.hockey_stick.lower <= found.hockey_stick.upper <= delta
    assert found.pure_loss.lower > 1.0


# --- several releases


def together(values, weights, copies):
    """The law of a value in several columns."""
    return JointLaw(points=np.repeat(np.array(values, dtype=float)[:, None], copies, axis=1), weights=weights)


@pytest.mark.parametrize(("releases", "loss"), [(2, 1.529573), (3, 1.733519), (4, 1.892606)])
def test_releases_of_education(adult, releases, loss):
    """At the exact scale 2.226604 of one; as one release at a part of it."""
    counts = {s: np.unique(part.education_num, return_counts=True) for s, part in adult.groupby("race")}
    several = {s: together(x, n / n.sum(), releases) for s, (x, n) in counts.items()}
    found = JointLoss(several, pairs="all").bracket([2.226604] * releases, enough=0.0)
    assert found.lower == pytest.approx(loss, abs=2e-6)
    assert found.upper == pytest.approx(loss, abs=2e-6)
    priors = {s: Prior.empirical(*law) for s, law in counts.items()}
    one = [pure_loss(p, q, scale=2.226604 / releases) for p, q in itertools.combinations(priors.values(), 2)]
    assert max(each.upper for each in one) == pytest.approx(loss, abs=2e-6)


@sweep(20, 400)
def test_laplace_releases_of_one_value_lose_as_much_as_one_release(count):
    """With 1 / scale the sum of those of the releases. The two engines round differently, by some 1e-13."""
    for seed in range(count):
        rng = np.random.default_rng([1, seed])
        releases = 2 + seed % 2
        values = np.sort(rng.choice(20, 5, replace=False)).astype(float)
        weights = rng.dirichlet(np.ones(5), 2)
        scales = rng.uniform(0.7, 8.0, releases)
        several = {s: together(values, w, releases) for s, w in enumerate(weights)}
        found = JointLoss(several, pairs="all").worst(scales).loss
        one = JointLoss({s: together(values, w, 1) for s, w in enumerate(weights)}, pairs="all")
        assert found == pytest.approx(one.worst([1 / (1 / scales).sum()]).loss, rel=1e-12)


@sweep(20, 400)
def test_noise_for_a_range_adds_to_any_release(count):
    """Of another column of the same record; the loss of both is at most that of one, and range / scale."""
    for seed in range(count):
        rng = np.random.default_rng([2, seed])
        rows = np.unique(rng.integers(0, 5, (7, 2)), axis=0).astype(float)
        both = {s: JointLaw(points=rows, weights=rng.dirichlet(np.full(len(rows), 0.6)) + 1e-12) for s in (0, 1)}
        scales = rng.uniform(0.4, 5.0, 2)
        alone = {s: JointLaw(points=law.points[:, :1], weights=law.weights) for s, law in both.items()}
        first = JointLoss(alone, pairs="all").worst(scales[:1]).loss
        found = JointLoss(both, pairs="all").worst(scales).loss
        assert found <= first + np.ptp(rows[:, 1]) / scales[1] + 1e-12


def test_how_two_releases_follow_from_one():
    """The kernel K of scales 1.3 and .7: with these probabilities the first is the value of the one release, the second
    is, or it lies between them.
    """
    rates = np.array([1 / 1.3, 1 / 0.7])
    total = rates.sum()
    formula = [*(rates / total) ** 2, 2 * rates.prod() / total**2]
    assert formula == pytest.approx([0.1225, 0.4225, 0.455], abs=5e-7)

    def h(x, y):
        return math.exp(-(rates * np.abs(x - y)).sum())

    constant = rates.prod() / 4 / (total / 2)  # of the releases over that of the one, whose value is 0

    def at(k):
        """A point of h'' where release k is 0 and the other one y: the slope jumps there."""

        def jump(y):
            place = np.array([0.0, y] if k == 0 else [y, 0.0])
            step = 1e-6
            slopes = (h(step, place) - h(0, place)) / step, (h(0, place) - h(-step, place)) / step
            return constant * (slopes[1] - slopes[0]) / (2 * total)

        return sum(quad(jump, *ends)[0] for ends in ((-40, 0), (0, 40)))

    def between(y, x):
        """(T^2 h - h'') / 2T where 0 lies between the releases."""
        place, step = np.array([x, y]), 1e-3
        second = (h(step, place) - 2 * h(0, place) + h(-step, place)) / step**2
        return constant * (total**2 * h(0, place) - second) / (2 * total)

    inside = sum(dblquad(between, *ends, epsabs=1e-7)[0] for ends in ((-30, -2e-3, 2e-3, 30), (2e-3, 30, -30, -2e-3)))
    assert [at(0), at(1)] == pytest.approx(formula[:2], abs=1e-5)
    assert inside == pytest.approx(formula[2], abs=5e-3)  # without a strip around 0


# --- debiasing


def test_the_mean_of_a_function_from_noisy_values():
    """E[g(Y) - b^2 g''(Y)] = g(x)."""
    x, b = 0.8, 1.7

    def g(y):
        return math.sin(y) * math.exp(-y * y / 50)

    def bend(y):  # its second derivative
        wave, fall = (math.sin(y), math.cos(y)), math.exp(-y * y / 50)
        return fall * (wave[0] * (y * y / 625 - 1 / 25 - 1) - wave[1] * 2 * y / 25)

    def mean(y):
        return (g(y) - b * b * bend(y)) * math.exp(-abs(y - x) / b) / (2 * b)

    found = sum(quad(mean, *ends, limit=200)[0] for ends in ((-80, x), (x, 80)))
    assert found == pytest.approx(g(x), abs=1e-9)
    assert found == pytest.approx(0.708232, abs=5e-7)


# --- another table


def test_joint_loss_of_diabetes():
    """442 people; 1.68 million nodes."""
    datasets = pytest.importorskip("sklearn.datasets", reason="scikit-learn, which holds the table, is not installed")
    people = datasets.load_diabetes(as_frame=True, scaled=False).frame
    found = JointLoss(laws(people, "sex", ["s5", "s6", "bmi"]), pairs="all").bracket([0.5, 15, 4], enough=0.0)
    assert found.lower <= 0.974868 + 6e-7
    assert found.upper == pytest.approx(0.974868, abs=6e-7)
