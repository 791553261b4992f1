"""Small strata under one label: in the guarantee, and in what is released."""

import numpy as np
import pandas as pd
import pytest
from conftest import LOCAL_KINDS, build_frame, run, thinned

import puffer_frames
from puffer_frames import Layout, Strata, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError

RNG = np.random.default_rng(21)
ROWS = 1_200
GROUP = RNG.choice(["p", "q"], ROWS)
TOWN = RNG.choice(["a", "b", "c", "d", "e"], ROWS, p=[0.5, 0.4, 0.06, 0.03, 0.01])
COLUMNS = {
    "group": GROUP,
    "town": TOWN,
    "flat": RNG.choice(["up", "down"], ROWS, p=[0.9, 0.1]),
    "score": RNG.integers(0, 6, ROWS) + 2 * (GROUP == "p"),
    "floor": RNG.integers(0, 3, ROWS),
    "id": np.arange(ROWS),
}
FRAME = pd.DataFrame(COLUMNS)
STRATA = Strata("town", minimum=50, merge=True)
OPTIONS = {"secret": "group", "public": "score", "epsilon": 1.0}


def loss_in(part, scale):
    laws = [np.bincount(one["score"], minlength=8) / len(one) for _, one in part.groupby("group")]
    kernel = np.exp(-np.abs(np.subtract.outer(np.arange(8), np.arange(8))) / scale)
    logs = [np.log(kernel @ law) for law in laws]
    return float(np.abs(logs[0] - logs[1]).max())


def test_the_released_label_is_the_one_that_was_calibrated():
    plan = puffer_frames.calibrate(FRAME, given=STRATA, **OPTIONS)
    released = plan.release(FRAME, layout=Layout(keep="id"), rng=1)
    assert set(released["town"]) == {"a", "b", "other"}
    assert ((released["town"] == "other") == np.isin(TOWN, ["c", "d", "e"])).all()
    for (town,), scales in plan.strata.items():
        part = FRAME[(released["town"] == town).to_numpy()]
        assert 0.999 < loss_in(part, scales["score"]) <= 1.0
    said = {statement.key: statement.text for statement in certificate_of(released).statements}
    assert said["strata-merged"].startswith("3 strata were merged into one, since at least one of them has fewer than ")
    assert "strata-small" not in said
    other = plan.release(FRAME.sample(frac=1, random_state=1, ignore_index=True), rng=1)
    assert set(other["town"]) == {"a", "b", "other"}


def test_without_merging_a_small_stratum_loses_more():
    """A scale that was found for merged strata protects nobody where the label itself is released."""
    scale = puffer_frames.calibrate(FRAME, given=STRATA, **OPTIONS).strata["other",]["score"]
    assert max(loss_in(FRAME[town == TOWN], scale) for town in "cde") > 1.0


def test_a_single_small_stratum_joins_the_smallest_of_the_others():
    rows = FRAME.assign(town=np.where(np.isin(TOWN, ["c", "d"]), "a", TOWN))
    plan = puffer_frames.calibrate(rows, given=STRATA, **OPTIONS)
    assert set(plan.strata) == {("a",), ("other",)}  # e has joined b
    lacking = FRAME.assign(town=np.where(GROUP == "p", "a", "z"))
    made = puffer_frames.calibrate(lacking, given=STRATA, **OPTIONS)
    assert set(made.strata) == {("other",)}


def test_a_stratum_that_is_called_other():
    """Rows with the label cannot be told from merged ones; a label in one of two columns can."""
    rows = FRAME.assign(town=np.select([TOWN == "b", TOWN == "e"], ["b", "e"], "other"))
    plan = puffer_frames.calibrate(rows, given=STRATA, **OPTIONS)
    assert set(plan.strata) == {("b",), ("other",)}
    text = {one.key: one.text for one in certificate_of(plan.release(rows)).statements}["strata-merged"]
    assert text.startswith("2 strata were merged into one, since at least one of them has fewer than 50 rows")
    two = rows.assign(flat=np.where(rows["town"] == "e", "up", "down"))
    found = puffer_frames.calibrate(two, given=Strata(["town", "flat"], minimum=50, merge=True), **OPTIONS)
    assert set(found.strata) == {("other", "down"), ("other", "other")}  # the smallest joins: b


def test_nothing_to_merge():
    plan = puffer_frames.calibrate(FRAME, given=Strata("town", minimum=1, merge=True), **OPTIONS)
    assert plan.strata == puffer_frames.calibrate(FRAME, given=Strata("town", minimum=1), **OPTIONS).strata
    assert "strata-merged" not in {s.key for s in certificate_of(plan.release(FRAME)).statements}


def test_several_columns_and_other_rows():
    plan = puffer_frames.calibrate(FRAME, given=Strata(["town", "flat"], minimum=40, merge=True), **OPTIONS)
    assert ("other", "other") in plan.strata
    released = plan.release(FRAME, rng=1)
    assert ((released["town"] == "other") == (released["flat"] == "other")).all()
    with pytest.raises(CalibrationError, match="strata of the plan"):
        plan.release(FRAME.assign(town=np.where(TOWN == "a", "new", TOWN)), allow_other_frame=True)
    assert plan.check(FRAME).verdict == "covered"


@pytest.mark.parametrize("kind", thinned(LOCAL_KINDS, few=("pandas-pyarrow", "polars-lazy", "duckdb")), indirect=True)
def test_every_kind_of_frame(make_frame):
    expected = puffer_frames.privatize(FRAME, given=STRATA, rng=4, layout=Layout(row_id="id"), **OPTIONS)
    released = run(
        puffer_frames.privatize(make_frame(COLUMNS), given=STRATA, rng=4, layout=Layout(row_id="id"), **OPTIONS)
    )
    assert [str(town) for town in list(released["town"])] == expected["town"].tolist()
    assert np.array_equal(np.asarray(released["score"], dtype=float), expected["score"])


def test_in_spark(spark):
    frame = build_frame("spark", COLUMNS, spark)
    expected = puffer_frames.privatize(FRAME, given=STRATA, rng=4, layout=Layout(row_id="id"), **OPTIONS)
    released = (
        puffer_frames.privatize(frame, given=STRATA, rng=4, layout=Layout(row_id="id"), **OPTIONS).toArrow().to_pandas()
    )
    columns = ["town", "score"]
    assert sorted(map(tuple, released[columns].to_numpy())) == sorted(map(tuple, expected[columns].to_numpy()))


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="columns of text"):
        puffer_frames.calibrate(FRAME, given=Strata("floor", merge=True), **OPTIONS)
    with pytest.raises(ArgumentTypeError, match="merge"):
        Strata("town", merge="yes")
