"""Guarantees that condition on columns: the same strata on every kind of frame, and what is refused."""

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import LOCAL_KINDS, build_frame, run, thinned
from kinds import both_releases, entries, other_kind

import puffer_frames
from puffer_frames import Certificate, Contamination, Layout, Noise, Strata, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, ColumnNotFoundError, PriorError

ROWS = 1_200
RNG = np.random.default_rng(40)
GROUP = RNG.choice(["p", "q"], ROWS)
TOWN = RNG.choice(["a", "b", "c"], ROWS, p=[0.6, 0.3, 0.1])
COLUMNS = {
    "group": GROUP,
    "town": TOWN,
    "old": RNG.choice([True, False], ROWS),
    "floor": RNG.integers(0, 3, ROWS),
    "whole": RNG.integers(1, 3, ROWS).astype(float),
    "grade": RNG.integers(0, 6, ROWS) + (GROUP == "p") * (1 + (TOWN == "a")),
    "mark": RNG.integers(0, 5, ROWS) + (GROUP == "q"),
    "job": np.where((GROUP == "p") & (RNG.random(ROWS) < 0.3), "cook", RNG.choice(["cook", "clerk", "smith"], ROWS)),
    "gaps": [None if k % 7 == 0 else "ab"[k % 2] for k in range(ROWS)],
    "copy": GROUP,
    "id": RNG.permutation(ROWS),
}
REQUESTS = {
    "labels": {"given": "town"},
    "one scale": {"given": Strata("town", scale="one")},
    "booleans": {"given": "old"},
    "integers": {"given": ["floor"]},
    "whole floats": {"given": "whole"},
    "two columns": {"given": Strata(["town", "old"], minimum=20)},
    "small": {"given": Strata(["town", "old", "floor"], minimum=30)},
    "several": {"given": "town", "public": ["grade", "mark"]},
    "pairs": {"given": "town", "pairs": [("q", "p")]},
    "missing": {"given": "gaps", "nulls": "drop"},
    "bounded": {"given": "town", "mechanism": Noise(theorem="bounded")},
    "belief": {"given": "town", "beliefs": Contamination(0.01)},
    "labels beside numbers": {"given": Strata("town", minimum=200), "public": ["job", "grade"]},
    "labels only": {"given": "town", "public": ["job", "copy"], "secret": "old"},
    "delta": {"given": "town", "mechanism": Noise("gaussian"), "delta": 1e-5},
}


def plan(frame, **options):
    return puffer_frames.calibrate(frame, **{"secret": "group", "public": "grade", "epsilon": 0.8} | options)


@functools.cache
def planned(kind, name):
    return plan(build_frame(kind, COLUMNS), **REQUESTS[name])


CASES = [*thinned(LOCAL_KINDS, REQUESTS), pytest.param("spark", "two columns")]
FEW = thinned(LOCAL_KINDS, few=("pandas-pyarrow", "polars-lazy", "duckdb"))


@pytest.mark.parametrize(("kind", "name"), CASES, indirect=["kind"])
def test_same_strata_and_same_release(kind, make_frame, name):
    frame = make_frame(COLUMNS)
    made, other = plan(frame, **REQUESTS[name]), planned(other_kind(kind), name)
    assert made.strata == other.strata
    assert len(made.strata) > 1
    released, _ = both_releases(made, other, kind, frame, COLUMNS)
    certificate = certificate_of(released)
    given = REQUESTS[name]["given"]
    columns = given.columns if isinstance(given, Strata) else given
    assert certificate.given == ((columns,) if isinstance(columns, str) else tuple(columns))
    assert set(certificate.given) <= set(certificate_of(released).to_dict()["given"])
    assert not certificate.kept
    assert certificate.scales == made.scales
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert puffer_frames.verify(released) == "unsigned: cannot be trusted"


@pytest.mark.parametrize("kind", ["polars-lazy"], indirect=True)
def test_the_noise_of_a_row_is_that_of_its_stratum(make_frame):
    frame = make_frame(COLUMNS)
    made = plan(frame, given=Strata("town", minimum=1))
    released = [np.asarray(run(made.release(frame, rng=seed))["grade"]) for seed in range(20)]
    repeats = np.array(released) - COLUMNS["grade"]
    for (town,), scales in made.strata.items():
        found = np.abs(repeats[:, town == TOWN])
        error = found.std() / np.sqrt(found.size)
        assert abs(found.mean() - scales["grade"]) < 5 * error
    largest = max(scales["grade"] for scales in made.strata.values())
    assert min(scales["grade"] for scales in made.strata.values()) < largest == made.scale


@pytest.mark.parametrize("kind", FEW, indirect=True)
def test_each_stratum_has_the_scale_that_it_would_have_alone(make_frame):
    made = plan(make_frame(COLUMNS), given=Strata("town", minimum=1))
    for (town,), scales in made.strata.items():
        there = town == TOWN
        part = {name: np.asarray(values, dtype=object)[there].tolist() for name, values in COLUMNS.items()}
        assert scales == plan(make_frame(part)).scales
    one = plan(make_frame(COLUMNS), given=Strata("town", scale="one"))
    assert {tuple(scales.values()) for scales in one.strata.values()} == {(made.scale,)}
    assert certificate_of(run(one.release(make_frame(COLUMNS), layout=Layout(row_id="id")))).strata == ()


def test_small_strata_and_those_with_nothing_to_hide():
    rows = COLUMNS | {"town": np.where((TOWN == "c") & (GROUP == "p"), "d", TOWN)}
    frame = build_frame("pandas", rows)
    made = plan(frame, given=Strata("town", minimum=1))
    assert made.strata["c",] == made.strata["d",] == made.scales  # no pair meets there
    certificate = certificate_of(made.release(frame))
    told = {statement.key: statement.text for statement in certificate.statements}
    assert "2 of 4 strata" in told["given-lacking"]
    assert "strata-unbound" in told
    assert "strata-small" not in told
    small = plan(frame, given=Strata("town", minimum=250))
    values = np.asarray(COLUMNS["grade"])
    assert small.strata["b",]["grade"] > (values.max() - values.min()) / 0.8 * 0.999  # noise for the whole range
    assert "any amount" in str(small)


@pytest.mark.parametrize("kind", FEW, indirect=True)
def test_other_rows_have_the_strata_of_the_plan(make_frame):
    frame = make_frame(COLUMNS)
    made = pickle.loads(pickle.dumps(plan(frame, given="town")))
    order = RNG.permutation(ROWS)
    moved = make_frame({name: np.asarray(values, dtype=object)[order].tolist() for name, values in COLUMNS.items()})
    made.release(moved, layout=Layout(row_id="id"))  # the same rows
    strange = make_frame(COLUMNS | {"town": np.where(TOWN == "c", "e", TOWN)})
    with pytest.raises(CalibrationError, match="other rows"):
        made.release(strange)
    with pytest.raises(CalibrationError, match="strata"):
        made.release(strange, allow_other_frame=True, layout=Layout(row_id="id"))
    swapped = make_frame(COLUMNS | {"grade": np.asarray(COLUMNS["grade"]) + 3 * (GROUP == "q") * (TOWN == "b")})
    with pytest.raises(CalibrationError, match="loss"):
        made.release(swapped, allow_other_frame=True, layout=Layout(row_id="id"))
    drifted = run(made.release(swapped, allow_other_frame=True, allow_drift=True, layout=Layout(row_id="id")))
    assert certificate_of(drifted).observed["grade"].pure_loss.lower > 0.8


@pytest.mark.parametrize("kind", FEW, indirect=True)
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"given": "twon"}, ColumnNotFoundError),
        ({"given": "group"}, ArgumentError),
        ({"given": "grade"}, ArgumentError),
        ({"given": ["town", "town"]}, ArgumentError),
        ({"given": "town", "mechanism": Noise(remap=True)}, ArgumentError),
        ({"given": "town", "mechanism": "channel"}, ArgumentError),
        ({"given": "town", "public": "copy", "secret": "old"}, ArgumentError),
        ({"given": "town", "beliefs": "population"}, ArgumentError),
        ({"given": "gaps"}, PriorError),
        ({"given": "id"}, ArgumentError),
    ],
)
def test_what_is_refused(make_frame, options, error):
    with pytest.raises(error):
        plan(make_frame(COLUMNS), **options)


def test_a_given_column_is_not_kept_too():
    frame = build_frame("pandas", COLUMNS)
    with pytest.raises(ArgumentError, match="given"):
        puffer_frames.privatize(
            frame, secret="group", public="grade", epsilon=1.0, given="town", layout=Layout(keep="town")
        )
    for wrong in ({"scale": "two"}, {"minimum": 0}, {"minimum": "many"}):
        with pytest.raises(ArgumentError):
            Strata("town", **wrong)


def test_releases_that_condition_do_not_add_up():
    frame = build_frame("pandas", COLUMNS)
    first, second = (plan(frame, epsilon=0.5, given="town").release(frame) for _ in "12")
    for table in (None, frame):
        with pytest.raises(CalibrationError, match="conditions"):
            puffer_frames.compose([first, second], frame=table)
    asked = {"public": ["grade", "mark"], "given": "town", "mechanism": Noise(theorem="bounded")}
    bounded = [plan(frame, epsilon=0.5, **asked).release(frame) for _ in "12"]
    assert puffer_frames.compose(bounded).epsilon == pytest.approx(1.0)
    with pytest.raises(CalibrationError, match="given columns"):
        puffer_frames.compose(bounded, frame=frame)


RNG_OF_STRATA = np.random.default_rng(21)
GROUP_OF_STRATA = RNG_OF_STRATA.choice(["p", "q"], ROWS)
TOWN_OF_STRATA = RNG_OF_STRATA.choice(["a", "b", "c", "d", "e"], ROWS, p=[0.5, 0.4, 0.06, 0.03, 0.01])
COLUMNS_OF_STRATA = {
    "group": GROUP_OF_STRATA,
    "town": TOWN_OF_STRATA,
    "flat": RNG_OF_STRATA.choice(["up", "down"], ROWS, p=[0.9, 0.1]),
    "score": RNG_OF_STRATA.integers(0, 6, ROWS) + 2 * (GROUP_OF_STRATA == "p"),
    "floor": RNG_OF_STRATA.integers(0, 3, ROWS),
    "id": np.arange(ROWS),
}
# Small strata under one label: in the guarantee, and in what is released.
FRAME = pd.DataFrame(COLUMNS_OF_STRATA)
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
    assert ((released["town"] == "other") == np.isin(TOWN_OF_STRATA, ["c", "d", "e"])).all()
    for (town,), scales in plan.strata.items():
        part = FRAME[(released["town"] == town).to_numpy()]
        assert 0.999 < loss_in(part, scales["score"]) <= 1.0
    said = {statement.key: statement.text for statement in certificate_of(released).statements}
    assert said["strata-merged"].startswith("3 strata were merged into one, since at least one of them has fewer than ")
    assert "strata-small" not in said
    other = plan.release(FRAME.sample(frac=1, random_state=1, ignore_index=True), rng=1)
    assert set(other["town"]) == {"a", "b", "other"}
    # A scale that was found for merged strata protects nobody where the label itself is released
    scale = puffer_frames.calibrate(FRAME, given=STRATA, **OPTIONS).strata["other",]["score"]
    assert max(loss_in(FRAME[town == TOWN_OF_STRATA], scale) for town in "cde") > 1.0


@pytest.mark.parametrize("kind", [*FEW, "spark"], indirect=True)
def test_merged_strata_of_every_kind_of_frame(make_frame):
    asked = OPTIONS | {"given": STRATA, "rng": 4, "layout": Layout(row_id="id")}
    expected = puffer_frames.privatize(FRAME, **asked)
    released = run(puffer_frames.privatize(make_frame(COLUMNS_OF_STRATA), **asked))
    rows = dict(entries(released))
    assert sorted(zip(map(str, rows["town"]), rows["score"])) == sorted(zip(expected["town"], expected["score"]))


def test_single_small_strata_and_nothing_to_merge():
    rows = FRAME.assign(town=np.where(np.isin(TOWN_OF_STRATA, ["c", "d"]), "a", TOWN_OF_STRATA))
    plan = puffer_frames.calibrate(rows, given=STRATA, **OPTIONS)
    assert set(plan.strata) == {("a",), ("other",)}  # e has joined b
    lacking = FRAME.assign(town=np.where(GROUP_OF_STRATA == "p", "a", "z"))
    with pytest.warns(puffer_frames.SuspectValuesWarning, match="'town' will say 'other' in all rows"):
        made = puffer_frames.calibrate(lacking, given=STRATA, **OPTIONS)
    assert set(made.strata) == {("other",)}
    plan = puffer_frames.calibrate(FRAME, given=Strata("town", minimum=1, merge=True), **OPTIONS)
    assert plan.strata == puffer_frames.calibrate(FRAME, given=Strata("town", minimum=1), **OPTIONS).strata
    assert "strata-merged" not in {s.key for s in certificate_of(plan.release(FRAME)).statements}


def test_a_stratum_that_is_called_other():
    """It stays one of its own where it is not small; a label in one of two columns cannot be taken for another."""
    rows = FRAME.assign(town=np.where(TOWN_OF_STRATA == "a", "other", TOWN_OF_STRATA))
    plan = puffer_frames.calibrate(rows, given=STRATA, **OPTIONS)
    assert set(plan.strata) == {("b",), ("other",), ("other (merged)",)}
    assert plan.strata["other",] == puffer_frames.calibrate(FRAME, given=STRATA, **OPTIONS).strata["a",]
    own = puffer_frames.calibrate(FRAME, given=STRATA, **OPTIONS)
    with pytest.raises(CalibrationError, match="must be strata of the plan"):  # of later rows it is an unknown one
        own.release(FRAME.assign(town=FRAME["town"].where(FRAME.index > 30, "other")), allow_other_frame=True)
    released = plan.release(rows)
    is_small = np.isin(TOWN_OF_STRATA, ["c", "d", "e"])
    assert (released["town"] == np.where(is_small, "other (merged)", rows["town"])).all()
    text = {one.key: one.text for one in certificate_of(released).statements}["strata-merged"]
    assert text.startswith("3 strata were merged into one, since at least one of them has fewer than 50 rows")
    assert "their rows have the label 'other (merged)' in" in text
    small = FRAME.assign(town=np.where(TOWN_OF_STRATA == "e", "other", TOWN_OF_STRATA))
    assert set(puffer_frames.calibrate(small, given=STRATA, **OPTIONS).strata) == {("a",), ("b",), ("other",)}
    two = FRAME.assign(
        town=np.select([TOWN_OF_STRATA == "b", TOWN_OF_STRATA == "e"], ["b", "e"], "other"),
        flat=np.where(TOWN_OF_STRATA == "e", "up", "down"),
    )
    found = puffer_frames.calibrate(two, given=Strata(["town", "flat"], minimum=50, merge=True), **OPTIONS)
    assert set(found.strata) == {("other", "down"), ("other", "other")}  # the smallest joins: b


def test_several_columns_of_merged_strata_and_what_is_refused():
    plan = puffer_frames.calibrate(FRAME, given=Strata(["town", "flat"], minimum=40, merge=True), **OPTIONS)
    assert ("other", "other") in plan.strata
    released = plan.release(FRAME, rng=1)
    assert ((released["town"] == "other") == (released["flat"] == "other")).all()
    with pytest.raises(CalibrationError, match="strata of the plan"):
        plan.release(FRAME.assign(town=np.where(TOWN_OF_STRATA == "a", "new", TOWN_OF_STRATA)), allow_other_frame=True)
    assert plan.check(FRAME).verdict == "covered"
    with pytest.raises(ArgumentError, match="columns of text"):
        puffer_frames.calibrate(FRAME, given=Strata("floor", merge=True), **OPTIONS)
    floors = FRAME.assign(floor=FRAME["floor"].astype("category"))
    with pytest.raises(ArgumentError, match="categories of text"):  # they were said to be merged, and were not
        puffer_frames.calibrate(floors, given=Strata("floor", merge=True), **OPTIONS)
    with pytest.raises(ArgumentTypeError, match="merge"):
        Strata("town", merge="yes")


def test_noise_of_strata_that_drowns_the_values_is_on_the_certificate():
    """The plan warned, and the certificate of the release said nothing."""
    certificate = certificate_of(
        puffer_frames.privatize(FRAME, given=Strata("town", minimum=1), **OPTIONS | {"epsilon": 0.05})
    )
    assert certificate.useless == ("score",)
    found = certificate.estimated["score"]
    assert found.constant_error_is_bound
    assert found.constant_error > np.abs(FRAME["score"] - FRAME["score"].median()).mean()


def test_merged_strata_are_not_released_as_they_were():
    merged, plain = (
        certificate_of(puffer_frames.privatize(FRAME, given=given, **OPTIONS)) for given in (STRATA, "town")
    )
    assert "given, as they were: town" in str(plain)
    assert "as they were: town" not in str(merged)
    assert "The guarantee is given town, released with merged strata" in " ".join(str(merged).split())


def test_a_given_column_that_tells_the_secret_is_not_called_kept():
    frame = pd.DataFrame({"sex": np.where(np.arange(400) % 3, "f", "m"), "age": np.arange(400) % 37})
    frame = frame.sample(frac=1.0, random_state=0, ignore_index=True)
    frame["title"] = np.where(frame["sex"] == "f", "Mrs", "Mr")
    told = "'title' is given, and released as it is, .*Leave it out of given or release"
    with pytest.warns(puffer_frames.KeptColumnWarning, match=f"(?s){told}"):
        released = puffer_frames.privatize(frame, secret="sex", public="age", given="title", epsilon=1.0)
    said = " ".join(str(certificate_of(released)).split())
    assert "NOT beside given columns that tell more" in said
    assert "From title, which is given, sex can be told" in said


def test_a_kept_and_a_given_column_that_tell_the_secret_together_are_released_as_they_are():
    rng = np.random.default_rng(0)
    sex, town = rng.choice(["f", "m"], 400), rng.choice(["x", "y"], 400)
    frame = pd.DataFrame({"sex": sex, "town": town, "age": rng.integers(20, 60, 400) + 20 * (sex == "f")})
    frame["same"] = (sex == "f") == (town == "x")
    asked = {"secret": "sex", "public": "age", "given": "town", "epsilon": 1.0}
    with pytest.warns(puffer_frames.KeptColumnWarning, match="(?s)are released as they are, .*out of keep and given"):
        released = puffer_frames.privatize(frame, **asked, layout=puffer_frames.Layout(keep="same"))
    assert "From same and town, which are released as they are, sex can be told" in " ".join(
        str(certificate_of(released)).split()
    )


def test_many_rows_of_merged_strata_are_said(tmp_path):
    """A ward of 47 rows took one of 723 with it, the plan said "as they are", and nobody was told."""
    rng = np.random.default_rng(19)
    sex, small = rng.choice(["f", "m"], 1500), rng.random(1500) < 0.02
    frame = pd.DataFrame({"sex": sex, "age": np.round(rng.normal(45, 12, 1500) + 3 * (sex == "m"))})
    frame["ward"] = np.where(small, "icu", rng.choice(["medicine", "surgery"], 1500))
    asked = {"secret": "sex", "public": "age", "epsilon": 1.0, "given": Strata("ward", merge=True)}
    with pytest.warns(puffer_frames.SuspectValuesWarning) as told:
        plan = puffer_frames.calibrate(frame, **asked)
    released = plan.release(frame)
    rows = int((released["ward"] == "other").sum())
    assert rows > 700
    share = f"in {rows} of 1,500 rows ({100 * rows / 1500:.3g} %): 2 of 3 strata are merged"
    assert f"the given column 'ward' will say 'other' {share}" in str(told[0].message)
    plan.save(tmp_path / "plan.json")
    for each in (plan, puffer_frames.load_plan(tmp_path / "plan.json")):
        text = " ".join(str(each).split())
        assert f"ward, 2 strata are merged: {rows} of 1,500 rows" in text
        assert "ward, released as they are" not in text
    few = frame.assign(ward=np.select([small & (sex == "f"), small], ["icu", "er"], rng.choice(["a", "b"], 1500)))
    asked["given"] = Strata("ward", minimum=5, merge=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", puffer_frames.SuspectValuesWarning)
        assert ("other",) in puffer_frames.calibrate(few, **asked).strata


@pytest.mark.parametrize("constant", ["a", "b"])
def test_plans_with_a_constant_column_in_a_stratum_are_saved(tmp_path, constant):
    """The others have its share of epsilon there, and the losses of all strata are found in the order of their rows."""
    town = np.where(RNG.random(ROWS) < 0.4, "a", "b")
    columns = {"town": town, "mark": np.where(town == constant, 7, COLUMNS["mark"])}
    frame = pd.DataFrame({"group": GROUP, "grade": COLUMNS["grade"], "job": COLUMNS["job"]} | columns)
    for public in (["mark", "grade"], ["grade", "mark", "job"]):
        made = plan(frame, public=public, given="town")
        made.save(tmp_path / "plan.json", overwrite=True)
        assert puffer_frames.load_plan(tmp_path / "plan.json").scales == made.scales
