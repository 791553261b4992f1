"""The mechanism that docs/extend.md adds goes through every verb, file and kind of frame, as the page writes it."""

import contextlib
import io
import re
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import puffer_frames
from puffer_frames import Certificate, Layout, audit, calibrate, certificate_of, compose, load_plan, privatize
from puffer_frames.errors import ArgumentError, CalibrationError, NoNoiseNeededError, PlanFileError
from puffer_frames.mechanisms import registry

PAGE = (Path(__file__).parents[2] / "docs" / "extend.md").read_text(encoding="utf-8")
PAGE = PAGE.partition("\n## How to add a mechanism\n")[2].partition("\n## ")[0]
FILE, USE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
_, OUTPUT = re.findall(r"```text\n(.*?)```", PAGE, flags=re.S)
EPSILON = 0.2


@pytest.fixture(scope="module")
def page():
    """The file of the page as a module, its mechanism in the registry."""
    module = types.ModuleType("puffer_frames.mechanisms.merging")
    sys.modules[module.__name__] = module  # where dataclasses look for the names in annotations
    exec(compile(FILE, "docs/extend.md", "exec"), module.__dict__)
    before = registry.MECHANISMS
    registry.MECHANISMS = (module.MergingMechanism(), *before)
    yield module
    registry.MECHANISMS = before
    del sys.modules[module.__name__]


def table():
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], 1200)
    rare = np.where(group == "a", "r", "s")
    return {
        "group": group,
        "town": np.where(rng.random(1200) < 0.06, rare, rng.choice(["x", "y", "z"], 1200)),
        "number": np.arange(1200) % 7,
    }


def asked(page, **options):
    return {"secret": "group", "public": "town", "epsilon": EPSILON, "mechanism": page.Merging()} | options


def test_the_page_prints_what_it_says(page):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(USE, {"np": np, "pd": pd, "Merging": page.Merging})
    assert said.getvalue() == OUTPUT


def rows_of(frame):
    """A release as lists, run where it is a plan."""
    if hasattr(frame, "toArrow"):
        frame = frame.toArrow()
    if hasattr(frame, "collect"):
        frame = frame.collect()
    return {
        name: frame[name].to_pylist() if hasattr(frame[name], "to_pylist") else list(frame[name])
        for name in ("town", "number")
    }


def test_every_kind_of_frame_gives_the_same(page, make_frame, kind):
    columns = table()
    released = rows_of(privatize(make_frame(columns), **asked(page, layout=Layout(keep="number"))))
    merged = ["other" if town in ("r", "s") else town for town in columns["town"].tolist()]
    assert sorted(released["town"]) == sorted(merged)
    if kind != "spark":  # whose rows have no order
        assert released == {"town": merged, "number": columns["number"].tolist()}


@pytest.fixture
def people():
    return pd.DataFrame(table())


@pytest.fixture
def plan(page, people):
    return calibrate(people, **asked(page))


def test_its_loss_is_what_the_frequencies_say(plan, people):
    shares = pd.crosstab(people["group"], people["town"].replace({"r": "other", "s": "other"}), normalize="index")
    loss = np.abs(np.log(shares.loc["a"] / shares.loc["b"])).max()
    measured = plan.observed["town"].pure_loss
    assert measured.lower <= loss <= measured.upper <= EPSILON
    assert certificate_of(plan.release(people)).verified["town"]["empirical"].pure_loss.upper == measured.upper


def test_a_plan_is_shown_saved_loaded_and_checked(plan, people, tmp_path):
    for password in (None, "long and odd"):
        path = tmp_path / f"plan {password}.json"
        plan.save(path, password=password)
        again = load_plan(path, password=password)
        assert str(again) == str(plan)
        assert again.identity() == plan.identity()
        assert again.release(people).equals(plan.release(people))
    assert "2 of 5 labels" in str(plan)
    assert "<table" in plan._repr_html_()
    plan.report(tmp_path / "plan.html")
    assert plan.check(people).verdict == "covered"
    drifted = people.assign(town=np.where(people["group"] == "a", "x", "y"))
    assert plan.check(drifted).verdict == "recalibrate"
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(drifted)
    with pytest.raises(CalibrationError, match="within"):
        plan.release(drifted, allow_other_frame=True)
    told = certificate_of(plan.release(drifted, allow_other_frame=True, allow_drift=True))
    assert told.facts.exceeds
    with pytest.raises(CalibrationError, match="levels that were counted"):
        plan.release(people.assign(town="new"), allow_other_frame=True)


def test_an_edited_file_is_not_believed(plan, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"s"', '"x"', 1), encoding="utf-8")
    with pytest.raises(PlanFileError):
        load_plan(path)


def test_its_certificate_is_one_like_others(plan, people, tmp_path):
    released = plan.release(people, layout=Layout(keep="number"))
    certificate = certificate_of(released)
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    assert "merging" in certificate.theorem
    assert certificate.verify(released) == "unsigned: cannot be trusted"
    assert "The 2 rarest labels of town were merged" in str(certificate)
    certificate.report(tmp_path / "page.html")
    report = audit(people, released, level=0.9999999)
    assert report.passed
    with pytest.raises(CalibrationError, match="joint guarantee"):
        compose([released, plan.release(people)])


def test_a_comparison_has_a_row_of_it(page, people):
    ways = [page.Merging(), "channel"]
    found = people.puffer.compare(secret="group", public="town", epsilon=EPSILON, mechanism=ways, beliefs="empirical")
    assert found["mechanism"].tolist() == ["channel", "merging"]
    merging = found.iloc[1]
    assert 0 < merging["loss_observed"] <= EPSILON
    assert merging["error"] == calibrate(people, **asked(page)).expected_error["town"]


@pytest.mark.parametrize("what", ["curve", "privacy_profile", "robustness"])
def test_what_it_lacks_is_an_error_with_a_hint(plan, what):
    with pytest.raises(ArgumentError, match=f"{what}.* must be one of noise"):
        getattr(plan, what)()


def test_what_does_not_go_together_is_refused(page, people):
    with pytest.raises(ArgumentError, match="one column of labels"):
        calibrate(people, **asked(page, public="number"))
    with pytest.raises(NoNoiseNeededError):
        calibrate(people.assign(town="x"), **asked(page))
    assert calibrate(people, secret="group", public="town", epsilon=1.0).channels  # other requests go on as before
    assert puffer_frames.calibrate(people, secret="group", public="number", epsilon=0.01).scales
