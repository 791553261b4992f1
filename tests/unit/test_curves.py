"""`plan.curve` and `plan.privacy_profile`: what a plan would be at other epsilons, and its delta there."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few

from puffer_frames import Channel, Noise, Plan, Unit, WideNoiseWarning, calibrate
from puffer_frames.core import Prior, hockey_stick
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError

ASKED = {"secret": "group", "public": "score"}
EPSILONS = (0.3, 1.0, 2.5)


def people(rows=200):
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], rows)
    score = np.where(group == "a", rng.integers(0, 6, rows), rng.integers(2, 9, rows))
    return pd.DataFrame({"group": group, "score": score, "job": np.where(score > 4, "x", group)})


WORDS = [
    {},
    {"delta": 1e-3, "mechanism": Noise("gaussian")},
    {"mechanism": Noise(remap=True), "beliefs": "population"},
    {"mechanism": Noise(theorem="gaussian", calibration="theorem")},
    {"releases": 3},
    {"mechanism": Noise(theorem="gmm"), "delta": 1e-3},
    {"unit": Unit("pair", rows="independent"), "delta": 1e-3},
]


@few(2)
@pytest.mark.parametrize("words", WORDS, ids=str)
def test_a_curve_is_that_of_plans(words):
    words = {**words, "allow_zero_noise": True}
    frame = people().sort_values("group", ignore_index=True).iloc[:180].assign(pair=np.arange(180) // 2)
    frame = frame[frame.groupby("pair")["group"].transform("nunique") == 1].sample(frac=1, random_state=0)
    frame = frame.reset_index(drop=True)
    plan = frame.puffer.calibrate(**ASKED, epsilon=1.0, **words)
    for row in plan.curve(EPSILONS).to_dict("records"):
        other = frame.puffer.calibrate(**ASKED, epsilon=row["epsilon"], **words)
        assert row["scale"] == pytest.approx(other.scale, rel=1e-7)
        assert row["error"] == pytest.approx(other.expected_error["score"], rel=1e-7)
        published = math.nan if other.published_scale is None else other.published_scale
        assert row["published_scale"] == pytest.approx(published, rel=1e-12, nan_ok=True)
        assert not row["error"] < row["bound"]


def test_the_bound_is_that_of_the_best_channel_where_one_is_proved():
    plan = people().puffer.calibrate(**ASKED, epsilon=1.0)
    for row in plan.curve(EPSILONS).to_dict("records"):
        best = people().puffer.calibrate(**ASKED, epsilon=row["epsilon"], mechanism=Channel(radius=0, cap=None))
        assert row["bound"] == pytest.approx(best.lower_bound["score"], rel=1e-9)
    assert plan.curve([1, 1.0])["epsilon"].tolist() == [1.0]
    assert plan.curve()["epsilon"].tolist() == pytest.approx([2 ** (k / 2) for k in range(-4, 5)])
    wide = people().assign(score=np.random.default_rng(1).normal(size=200))
    assert wide.puffer.calibrate(**ASKED, epsilon=1.0).curve([1])["bound"].isna().all()
    assert people().puffer.calibrate(**ASKED, epsilon=1.0, beliefs="population").curve([1])["bound"].isna().all()


def test_a_profile_is_the_hockey_stick_of_the_priors():
    plan = people().puffer.calibrate(**ASKED, epsilon=1.0)
    rows = plan.privacy_profile(EPSILONS)
    groups = {secret: rows["score"].to_numpy() for secret, rows in people().groupby("group")}
    p, q = (Prior.empirical(values) for values in groups.values())
    for row in rows[rows["belief"] == "empirical"].to_dict("records"):
        found = hockey_stick(p, q, epsilon=row["epsilon"], scale=plan.scale)
        assert row["covered"]
        assert row["lower"] == pytest.approx(found.lower, abs=1e-9)
        assert found.upper <= row["upper"] <= found.upper + 1e-9
    assert (rows["lower"] <= rows["upper"]).all()
    assert set(rows["belief"]) == {"empirical", "population", "contaminated", "any law"}
    for _, group in rows.groupby("belief"):
        assert group["upper"].is_monotonic_decreasing
    plan = people().puffer.calibrate(**ASKED, epsilon=1.0, delta=1e-3, mechanism=Noise("gaussian"))
    rows = plan.privacy_profile([1.0])
    assert rows[rows["covered"]]["upper"].max() == pytest.approx(1e-3, rel=1e-5)
    assert rows[rows["covered"]]["upper"].max() <= 1e-3


def test_the_curve_and_the_profile_of_a_channel():
    plan = pl.from_pandas(people()).puffer.calibrate(secret="group", public="job", epsilon=1.0)
    curve = plan.curve([0.5, 1.0])
    assert type(curve) is pl.DataFrame
    assert curve["error"].to_list()[1] == plan.expected_error["job"]
    assert curve["error"][0] > curve["error"][1] >= curve["bound"][1]
    assert curve["scale"].is_nan().all()
    profile = plan.privacy_profile([0.5, 1.0])
    own = profile.filter(pl.col("belief") == "empirical")
    assert own["upper"].to_list()[1] < 1e-9 < own["lower"].to_list()[0]
    assert profile["covered"].to_list() == [True, True, False, False]


def test_what_has_no_curve(tmp_path):
    frame = people().assign(other=lambda t: 9 - t["score"])
    both = frame.puffer.calibrate(secret="group", public=["score", "other"], epsilon=1.0)
    plan = frame.puffer.calibrate(**ASKED, epsilon=1.0)
    plan.save(tmp_path / "plan.json")
    for one in (both, Plan.load(tmp_path / "plan.json")):
        for ask in (one.curve, one.privacy_profile):
            with pytest.raises(CalibrationError):
                ask([1.0])
    for wrong, error in (
        ([], ArgumentError),
        ([0], ArgumentError),
        (1.0, ArgumentTypeError),
        ("12", ArgumentTypeError),
    ):
        with pytest.raises(error):
            plan.curve(wrong)


def test_the_curve_of_a_channel_from_a_file(tmp_path):
    asked = {"secret": "group", "public": "job", "epsilon": 1.0}
    plan = people().puffer.calibrate(**asked)
    plan.save(tmp_path / "plan.json")
    assert type(plan).load(tmp_path / "plan.json").curve([1.0]).equals(plan.curve([1.0]))
    given = people().puffer.calibrate(**asked, beliefs={"a": {"a": 1, "x": 1}, "b": {"b": 1, "x": 2}})
    given.save(tmp_path / "given.json")
    with pytest.raises(CalibrationError):
        type(plan).load(tmp_path / "given.json").curve([1.0])
    assert math.isnan(plan.curve([1.0])["published_scale"][0])


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_figures_of_listed_pairs_are_of_the_rows_that_they_name():
    rng = np.random.default_rng(3)
    secret = rng.choice(list("abc"), 600, p=[0.79, 0.2, 0.01])
    value = np.where(secret == "a", rng.choice([0, 900], 600), 10 * rng.integers(0, 5, 600) + 10 * (secret == "b"))
    asked = {"secret": "g", "public": "x", "epsilon": 0.5, "pairs": [("b", "c")]}
    frame = pd.DataFrame({"g": secret, "x": value})
    with pytest.warns(WideNoiseWarning, match="constant in the rows of the listed secrets"):
        calibrate(frame, **asked | {"epsilon": 0.1}, mechanism="noise")
    plan = calibrate(frame, **asked, domain={"x": (0, 50)}, mechanism=Noise(remap=True))
    text = " ".join(str(plan).split())
    assert "in the rows of the listed secrets" in text
    assert "moved to its ends;" in text
    assert "the range is that in the rows of the listed secrets" in " ".join(
        str(calibrate(frame, **asked, mechanism=Noise(theorem="bounded"))).split()
    )
    assert plan.release(frame).puffer.certificate.rarest == 0
    curve = plan.curve([0.5, 1.0])
    assert curve["error"].isna().tolist() == [False, True]
    assert curve["error"][0] == plan.expected_error["x"]
    channel = calibrate(frame, **asked, domain={"x": (0, 50)}, mechanism=Channel(radius=0, cap=None))
    assert curve["bound"][0] <= channel.expected_error["x"]
