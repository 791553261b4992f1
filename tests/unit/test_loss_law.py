"""Laws of the loss on a lattice, and plans for several independent rows of a unit with a delta."""

import math

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Layout, Noise, Unit, calibrate, compose, privatize
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import LossLaw, RatioCells, UnitLoss
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.scales.repeats import Repeats

pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
RNG = np.random.default_rng(8)
TABLE = pd.DataFrame({"u": np.repeat(np.arange(300), 4), "s": np.repeat(RNG.choice(["a", "b"], 300), 4)})
TABLE = TABLE.assign(x=RNG.integers(0, 9, 1200) + (TABLE["s"] == "a") * RNG.integers(0, 3, 1200))
ASKED = {"secret": "s", "public": "x", "epsilon": 1.0, "delta": 1e-5, "unit": Unit("u", rows="independent")}


def of_points(logs, masses, *, beyond=0.0):
    """Exactly known log-ratios with these probabilities."""
    logs, masses = np.array(logs), np.array(masses)
    other = masses * np.exp(-logs)
    return RatioCells(mass=masses, mass_low=masses, other=other, other_high=other, low=logs, high=logs, beyond=beyond)


def exactly(logs, masses, epsilon, *, beyond=0.0):
    return beyond + float((np.array(masses) * np.maximum(-np.expm1(epsilon - np.array(logs)), 0.0)).sum())


@pytest.mark.parametrize("epsilon", [0.0, 0.03, 0.4, 1.1])
def test_points_between_those_of_the_lattice_are_bounded(epsilon):
    logs, masses = [-0.61, -0.1, 0.033, 0.5, 1.2], [0.2, 0.3, 0.3, 0.15, 0.04]
    law = LossLaw.of_cells(of_points(logs, masses, beyond=0.01), epsilon=1.0)
    exact = exactly(logs, masses, epsilon, beyond=0.01)
    assert exact <= law.hockey_stick(epsilon) <= exact + 1e-3


def test_two_rows_of_points_and_a_coarser_lattice():
    logs, masses = [-0.61, -0.1, 0.033, 0.5, 1.2], [0.2, 0.3, 0.3, 0.15, 0.05]
    law = LossLaw.of_cells(of_points(logs, masses), epsilon=1.0).rows(2)
    exact = exactly(np.add.outer(logs, logs).ravel(), np.outer(masses, masses).ravel(), 0.7)
    assert exact <= law.hockey_stick(0.7) <= exact * 1.002
    law = LossLaw.of_cells(of_points([-0.3, 0.1, 0.2], [0.3, 0.3, 0.4]), epsilon=1.0)
    coarser = law._coarser()
    assert coarser.step == 2 * law.step
    assert coarser.masses.sum() == pytest.approx(law.masses.sum(), rel=1e-14)
    for epsilon in np.linspace(-0.4, 0.4, 50):
        assert coarser.hockey_stick(epsilon) >= law.hockey_stick(epsilon) * (1 - 1e-12)


def test_a_narrow_loss_far_from_zero_needs_few_points():
    """Next to no noise can leave one log-ratio: the lattice is then fine, and begins at the lowest of its points."""
    logs, masses = [0.036, 0.036 + 2e-10], [0.5, 0.5]
    law = LossLaw.of_cells(of_points(logs, masses), epsilon=1.0)
    assert law.masses.size < 1000
    exact = exactly(np.add.outer(logs, logs).ravel(), np.outer(masses, masses).ravel(), 0.05)
    assert exact <= law.rows(2).hockey_stick(0.05) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("rows", [2, 30, 1000])
def test_the_quick_bound_is_one(rows):
    law = LossLaw.of_cells(of_points([-0.02, 0.0, 0.021], [0.3, 0.4, 0.3], beyond=1e-9), epsilon=1.0)
    for epsilon in (0.1, 1.0, 3.0):
        assert law.rows(rows).hockey_stick(epsilon) <= law.at_most(rows, epsilon) * (1 + 1e-9)


def test_a_cell_counts_as_two_masses_with_its_probabilities():
    p, q = np.array([0.5]), np.array([0.4])
    cells = RatioCells(mass=p, mass_low=p, other=q, other_high=q, low=np.array([0.1]), high=np.array([0.4]))
    logs, masses = cells.points()
    assert masses.sum() == pytest.approx(0.5)
    assert (masses * np.exp(-logs)).sum() == pytest.approx(0.4)
    least_logs, least = cells.least_points()
    for epsilon in (-0.2, 0.15, 0.3):
        assert exactly(least_logs, least, epsilon) <= exactly(logs, masses, epsilon) * (1 + 1e-12)
        assert cells.least_stick(epsilon) == pytest.approx(max(0.0, 0.5 - 0.4 * math.exp(epsilon)))


def test_pure_losses_of_units():
    loss = UnitLoss(privacy_loss({k: Prior.empirical([0.0, 1.0, 1.0]) for k in (0, 1)}), rows=50)
    assert loss.hockey_stick(0.7, epsilon=0.01).bracket.upper <= 1e-11
    assert loss.pure(0.7).bracket.upper <= 1e-11
    loss = privacy_loss({0: Prior.bernoulli(0.2), 1: Prior.bernoulli(0.9)})
    one, five = loss.pure(1.2).bracket, UnitLoss(loss, rows=5).pure(1.2).bracket
    assert five.lower <= 5 * one.upper
    assert five.upper == pytest.approx(5 * one.upper, rel=1e-14)
    assert UnitLoss(loss, rows=5).hockey_stick(1.2, epsilon=5 * one.upper).bracket.upper <= 1e-12


def test_values_known_up_to_a_radius_cost_it_once_per_row():
    """Laplace noise hides a shift of k rows at k times the cost, Gaussian noise at its root."""
    values = {0: [0.0, 1.0, 4.0], 1: [0.0, 2.0, 4.0]}
    for noise, radius in ((Laplace(), 0.01), (Gaussian(), 0.0005)):
        exact, known = (
            privacy_loss({s: Prior.empirical(x, radius=r) for s, x in values.items()}, noise=noise, rows=10)
            for r in (0.0, radius)
        )
        at = [loss.hockey_stick(4.0, epsilon=0.3).bracket.upper for loss in (exact, known)]
        assert at[0] < at[1] < 1.6 * at[0]


def test_a_plan_for_all_rows_of_a_unit():
    plan = calibrate(TABLE, **ASKED)
    shares = calibrate(TABLE, **ASKED, mechanism=Noise(calibration="theorem"))
    measured = plan.verified["empirical"]
    assert measured.epsilon == pytest.approx(1.0)
    assert 0.99e-5 < measured.hockey_stick.upper <= 1e-5
    assert shares.verified["empirical"].epsilon == pytest.approx(0.25)
    assert "of all rows of a unit together" in " ".join(str(plan).split())
    table = plan.robustness().set_index("belief")
    assert table.loc["empirical", "scale"] == pytest.approx(plan.scale, rel=1e-6)
    assert table.loc["empirical", "loss"] <= 1e-5


def test_a_secret_without_a_rare_value_of_the_others():
    counts = {("a", 0): 27, ("a", 7): 1, ("b", 0): 20, ("b", 7): 4, ("c", 0): 22}
    frame = pd.DataFrame([row for row, often in counts.items() for _ in range(often)], columns=["s", "x"])
    frame["u"] = np.arange(len(frame)) // 2
    plan = calibrate(frame, **(ASKED | {"epsilon": 2.5, "delta": 0.02}))
    assert 0.0199 < plan.verified["empirical"].hockey_stick.upper <= 0.02


def test_two_planned_releases_of_all_rows():
    one, two = (calibrate(TABLE, **ASKED, releases=n) for n in (1, 2))
    assert two.scale == pytest.approx(2 * one.scale, rel=1e-6)
    gaussian = [calibrate(TABLE, **ASKED, mechanism=Noise("gaussian"), releases=n).scale for n in (1, 2)]
    assert gaussian[1] == pytest.approx(math.sqrt(2) * gaussian[0], rel=1e-6)
    table = two.robustness().set_index("belief")
    assert table.loc["empirical", "scale"] == pytest.approx(two.scale, rel=1e-6)
    released = [two.release(TABLE, layout=Layout(shuffle=True)) for _ in "12"]
    assert compose(released).delta == 1e-5


def test_what_units_do_not_allow():
    released = [privatize(TABLE, **ASKED, layout=Layout(shuffle=True)) for _ in "12"]
    assert not any(each.puffer.certificate.adds_up for each in released)
    with pytest.raises(CalibrationError, match="units"):
        compose(released)
    repeats = Repeats(rows=10**6, assumed="independent", releases=10**6, composed=True)
    with pytest.raises(ArgumentError, match="grid"):
        repeats.asked(calibrate(TABLE, **ASKED).fitted.request.target, noise=Gaussian(), columns=1)


def test_other_rows_are_held_to_the_loss_of_all_rows_of_a_unit():
    plan = calibrate(TABLE, **ASKED)
    twice = pd.concat([TABLE, TABLE.assign(u=TABLE["u"] + 1000)], ignore_index=True)
    again = plan.release(twice, allow_other_frame=True, layout=Layout(shuffle=True)).puffer.certificate
    assert (again.facts.exceeds, again.observed) == (False, {})
    (loss,) = [each for each in plan.check(twice).findings if each.check == "loss"]
    assert loss.found <= 1e-5
    far = TABLE.assign(x=TABLE["x"] + 40 * (TABLE["s"] == "a"))
    with pytest.raises(CalibrationError, match="loss"):
        plan.release(far, allow_other_frame=True, layout=Layout(shuffle=True))


def test_several_columns_have_shares_where_their_joint_loss_is_not_known():
    frame = TABLE.assign(y=RNG.integers(0, 3, 1200))
    for more, epsilon in (
        (dict[str, str](), 1.0),
        ({"mechanism": Noise(theorem="bounded")}, 0.125),
        ({"mechanism": Noise("gaussian")}, 0.125),
    ):
        plan = calibrate(frame, **(ASKED | {"public": ["x", "y"]} | more))
        assert plan.choices["x"].verified["empirical"].epsilon == pytest.approx(epsilon)
    plan = calibrate(frame, **(ASKED | {"public": ["x", "y"], "mechanism": Noise(theorem="kantorovich")}))
    assert plan.choices["x"].verified["empirical"].pure_loss.upper <= 0.25


def test_several_beliefs_hold_together():
    other = TABLE.assign(x=TABLE["x"] + 2 * (TABLE["s"] == "b"))
    plan = calibrate(TABLE, **ASKED, beliefs=("fitted", "empirical", "population", other))
    assert all(found.hockey_stick.upper <= 1e-5 for found in plan.verified.values())
    assert plan.scale >= max(plan.scale_per_belief.values()) * (1 - 1e-12)
    assert len(plan.scale_per_belief) >= 3
