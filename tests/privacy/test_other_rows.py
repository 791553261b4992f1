"""A plan on other rows than those that it was made from: nothing that exceeds the guarantee is released unsaid."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import table

from puffer_frames import Noise
from puffer_frames.errors import CalibrationError

COLUMNS = ["age", "race", "education_num"]
ASK = {"secret": "race", "public": "education_num", "epsilon": 1.0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], 900)
    return pd.DataFrame({"group": group, "x": rng.integers(0, 6, 900) + (group == "a"), "y": rng.integers(0, 9, 900)})


@pytest.fixture(scope="module")
def plan(people):
    return people.puffer.calibrate(secret="group", public="x", epsilon=1.0)


def true_loss(frame, scale, *, public="x", secret="group"):
    """Pure loss of the observed frequencies by sums over all rows: for atoms it is largest at an atom."""
    points = np.unique(frame[public])
    laws = [
        np.exp(-np.abs(points[:, None] - part.to_numpy()) / scale).mean(axis=1)
        for _, part in frame.groupby(secret)[public]
    ]
    logs = np.log(laws)
    return (logs.max(axis=0) - logs.min(axis=0)).max()


def test_a_secret_that_the_plan_has_never_seen_is_an_error(people, plan):
    batch = people.assign(group=people["group"].replace("c", "new"))
    for options in ({}, {"allow_drift": True}):
        with pytest.raises(CalibrationError, match="got 'new'"):
            plan.release(batch, allow_other_frame=True, **options)


def test_drift_is_an_error_that_names_the_loss(people, plan):
    batch = people.assign(x=people["x"] + 40 * (people["group"] == "b"))
    loss = true_loss(batch, plan.scale)
    assert loss > 5
    with pytest.raises(CalibrationError, match=f"pure loss {loss:.6g}") as caught:
        plan.release(batch, allow_other_frame=True)
    assert "allow_drift=True" in caught.value.hint
    certificate = plan.release(batch, allow_other_frame=True, allow_drift=True).puffer.certificate
    found = certificate.observed["x"].pure_loss
    assert found.lower == pytest.approx(loss, rel=1e-9)
    keys = [statement.key for statement in certificate.statements]
    assert {"other-rows", "observed-exceeds"} <= set(keys)
    assert f"{loss:.6g}" in str(certificate)


def test_a_batch_within_the_guarantee_has_its_own_line(people):
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, mechanism=Noise(calibration="theorem"))
    batch = people.sample(frac=0.9, random_state=2, ignore_index=True)
    certificate = plan.release(batch, allow_other_frame=True).puffer.certificate
    assert certificate.observed["x"].pure_loss.upper == pytest.approx(true_loss(batch, plan.scale), rel=1e-9)
    assert certificate.observed["x"] != certificate.verified["x"]["empirical"]
    assert "observed frequencies of the released rows: pure loss" in " ".join(str(certificate).split())
    assert "other-rows" in {statement.key for statement in certificate.statements}
    own = plan.release(people).puffer.certificate
    assert "other-rows" not in {statement.key for statement in own.statements}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_every_kind_of_frame(people, plan, kind):
    batch = people.assign(x=people["x"] * 3)
    with pytest.raises(CalibrationError, match="pure loss"):
        plan.release(kind(batch.to_dict("list")), allow_other_frame=True)


def test_a_secret_that_the_batch_lacks(people, plan):
    batch = people[people["group"] == "a"].reset_index(drop=True)
    certificate = plan.release(batch, allow_other_frame=True).puffer.certificate
    assert certificate.observed == {}  # one secret: nothing to compare
    assert "2 of 3 secrets of the plan do not occur" in " ".join(str(certificate).split())
    assert certificate.secret_values == ("a",)


def test_a_secret_of_a_listed_pair_that_the_batch_lacks(people):
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, pairs=[("a", "b")])
    batch = people[people["group"] != "b"].reset_index(drop=True)
    text = " ".join(str(plan.release(batch, allow_other_frame=True).puffer.certificate).split())
    assert "1 of 2 secrets of the plan do not occur in these rows: no two are left to compare." in text


def test_a_table_that_has_the_cells_of_another_is_another():
    """Values at the left and at the right edge of cells, and their centres: the counts are the same."""
    rng = np.random.default_rng(0)
    group, cell, width = rng.choice(["a", "b"], 140_000), rng.integers(0, 70_000, 140_000), 0.125
    inside = np.where(group == "a", 0.0, 0.12) + rng.uniform(0, 0.004, 140_000)
    raw = pl.DataFrame({"group": group, "x": cell * width + inside})
    centres = raw.with_columns(x=(pl.col("x") / width).floor() * width + width / 2)
    plan = centres.puffer.calibrate(secret="group", public="x", epsilon=0.1, allow_zero_noise=True)
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(raw)


def test_listed_pairs_alone_are_measured(people):
    plan = people.puffer.calibrate(
        secret="group", public="x", epsilon=1.0, pairs=[("a", "b")], mechanism=Noise(calibration="theorem")
    )
    batch = people.assign(x=people["x"] + 40 * (people["group"] == "c"))
    plan.release(batch, allow_other_frame=True)
    with pytest.raises(CalibrationError, match="pure loss"):
        plan.release(people.assign(x=people["x"] + 40 * (people["group"] == "b")), allow_other_frame=True)


def test_several_columns_are_held_to_their_range(people):
    """The bounded-column rule holds for values within the range: marginal losses would not show what leaves it."""
    asked = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "mechanism": Noise(theorem="bounded")}
    plan = people.puffer.calibrate(**asked)
    rng = np.random.default_rng(0)
    batch = people.assign(x=rng.permutation(np.where(np.arange(900) == 0, 60, people["x"])))
    with pytest.raises(CalibrationError, match="a wider range than the plan was made for"):
        plan.release(batch, allow_other_frame=True)
    certificate = plan.release(batch, allow_other_frame=True, allow_drift=True).puffer.certificate
    assert "a wider range than the plan was made for" in " ".join(str(certificate).split())
    plan.release(people.head(800), allow_other_frame=True)
    bounded = people.puffer.calibrate(**asked, domain={"x": (0, 6), "y": (0, 8)})
    bounded.release(batch, allow_other_frame=True)  # values are clipped to the domain


def test_delta_is_what_is_compared_where_there_is_one(people):
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, delta=1e-4)
    with pytest.raises(CalibrationError, match=r"delta .* at epsilon 1"):
        plan.release(people.assign(x=people["x"] * 4), allow_other_frame=True)


def test_the_batches_of_the_adult_table():
    """Losses of a plan made from the first quarter on the three others, by sums over all rows."""
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[0, 4, 8])
    frame = frame.set_axis(["age", "education_num", "race"], axis=1)
    first, *others = (frame.iloc[start : start + 8140].reset_index(drop=True) for start in range(0, 32_560, 8140))
    plan = first.puffer.calibrate(**ASK)
    for batch in others:
        loss = true_loss(batch, plan.scale, public="education_num", secret="race")
        if loss > 1:
            with pytest.raises(CalibrationError, match=f"pure loss {loss:.6g}"):
                plan.release(batch, allow_other_frame=True)
        released = plan.release(batch, allow_other_frame=True, allow_drift=True)
        assert released.puffer.certificate.observed["education_num"].pure_loss.upper == pytest.approx(loss, rel=1e-9)
