"""What a plan says of other rows: the same on every kind of frame, and what a release of them then does."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from channel_requests import REQUESTS, columns_of, planned
from conftest import build_frame, few, run, thinned, without_spark
from kinds import entries, make_columns

import puffer_frames
from puffer_frames import Channel, Contamination, Layout, Noise, Population, PufferError, Strata, Unit, load_plan
from puffer_frames.certificates.text import headline
from puffer_frames.core import BatchReport, Prior
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, ColumnNotFoundError
from puffer_frames.mechanisms.batch_report import more_rows

ROWS = 900
MARK = "level-8675309"
"""A level that no reason may show."""
pytestmark = pytest.mark.filterwarnings("ignore:the range of the public column:puffer_frames.SuspectValuesWarning")


def night(seed, *, rows=ROWS, shift=0):
    """Rows of one population; with a shift of another one."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    score = rng.integers(0, 8, rows) + (group == "a") * (1 + shift)
    town = np.where(rng.random(rows) < 0.3 + 0.2 * (group == "a"), "bath", rng.choice(["cork", "hull"], rows))
    return {
        "group": group,
        "score": score,
        "size": rng.integers(0, 4, rows),
        "town": np.where((group == "b") & (rng.random(rows) < 0.2 * shift), "hull", town),
        "ward": rng.choice(["n", "s"], rows),
        "id": rng.permutation(rows),
    }


FIRST = night(0)
ASKED = {
    "one column": {"beliefs": "population"},
    "one column, delta": {"delta": 1e-3, "mechanism": Noise("gaussian"), "epsilon": 1.0},
    "side knowledge alone": {"beliefs": ("only", {s: Prior.gaussian(0, 100) for s in "ab"}), "allow_zero_noise": True},
    "a domain": {"domain": {"score": (1, 8)}, "mechanism": Noise(remap=True)},
    "bounded columns": {"public": ["score", "size"], "mechanism": Noise(theorem="bounded")},
    "columns together": {"public": ["score", "size"]},
    "columns with labels": {"public": ["score", "town"]},
    "bounded columns with labels": {"public": ["score", "town"], "mechanism": Noise(theorem="bounded")},
    "strata": {"given": Strata("ward", minimum=10)},
    "several releases": {"releases": 3},
    "labels": {"public": "town", "mechanism": Channel(radius=0.05)},
    "numbers through a channel": {"mechanism": "channel", "domain": {"score": range(12)}},
    "cells": {"mechanism": Channel(cells=3, radius=0.05), "public": "id", "domain": {"id": (0, 2000)}},
}
BATCHES = {
    "the same rows": FIRST,
    "another night": night(1),
    "few rows": night(2, rows=60),
    "another population": night(3, shift=3),
    "one secret": {name: entries[FIRST["group"] == "a"] for name, entries in FIRST.items()},
    "another secret": FIRST | {"group": np.where(np.arange(ROWS) == 5, "c", FIRST["group"])},
    "another label": FIRST | {"town": np.where(np.arange(ROWS) < 7, MARK, FIRST["town"])},
    "another stratum": FIRST | {"ward": np.where(np.arange(ROWS) < 9, "w", FIRST["ward"])},
    "numbers as text": FIRST | {"score": FIRST["score"].astype(str)},
    "labels as numbers": FIRST | {"town": FIRST["size"]},
    "values far out": FIRST | {"score": np.where(np.arange(ROWS) < 4, 99, FIRST["score"])},
    "no rows": {name: entries[:0] for name, entries in FIRST.items()},
    "a column less": {name: entries for name, entries in FIRST.items() if name not in ("score", "town", "id")},
}


def made(frame, name):
    asked = {"secret": "group", "public": "score", "epsilon": 0.6} | ASKED[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return puffer_frames.calibrate(frame, **asked)


PLANS = {name: made(pl.DataFrame(FIRST), name) for name in ASKED}


def released(plan, batch, **allowed):
    """Whether a release of the batch goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            plan.release(batch, rng=7, **allowed)
        except PufferError:
            return False
    return True


@few(20, rest="apart")
@pytest.mark.parametrize(("name", "batch"), thinned(ASKED, BATCHES, often=3))
def test_the_verdict_is_what_a_release_does(name, batch):
    plan, frame = PLANS[name], pl.DataFrame(BATCHES[batch])
    report = plan.check(frame)
    assert isinstance(report, BatchReport)
    assert (report.verdict == "covered") == released(plan, frame, allow_other_frame=True)
    assert (report.verdict != "refused") == released(plan, frame, allow_other_frame=True, allow_drift=True)
    assert report.why
    assert MARK not in str(report)
    assert ("the rows that the plan was made from" in report.why) == released(plan, frame)


def test_every_verdict_is_met():
    found = {PLANS[name].check(pl.DataFrame(batch)).verdict for name in ASKED for batch in BATCHES.values()}
    assert found == {"covered", "recalibrate", "refused"}


OF_EVERY_KIND = [
    ("one column", "another night"),
    ("columns with labels", "another label"),
    ("strata", "another secret"),
    ("labels", "another night"),
    ("labels", "a column less"),
]


def test_of_every_kind_of_frame(make_frame):
    """The same figures and the same reason; the small frame is of the library of the batch."""
    for name, batch in OF_EVERY_KIND:
        report, here = (PLANS[name].check(frame(BATCHES[batch])) for frame in (make_frame, pl.DataFrame))
        assert (report.verdict, report.why) == (here.verdict, here.why)
        assert str(report) == str(here)
        assert figures_in(report.frame) == figures_in(here.frame)


def figures_in(frame):
    """Of a small frame; a figure that there is not is NaN, or what its library calls missing."""
    return [[None if entry != entry else entry for entry in found] for _, found in entries(frame)]


@pytest.mark.parametrize(
    ("library", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("polars-lazy", pl.DataFrame)]
)
def test_the_small_frame(library, kind):
    frame = PLANS["one column"].check(build_frame(library, night(1))).frame
    assert type(frame) is kind
    assert list(frame.columns) == ["check", "column", "about", "found", "limit", "verdict"]


def figures(report, check):
    return {each.about: (each.found, each.limit, each.verdict) for each in report.findings if each.check == check}


def test_rows_of_each_secret_and_of_a_population():
    batch = night(1, rows=100)
    found = figures(PLANS["one column"].check(pl.DataFrame(batch)), "rows")
    counts, plan = (dict(zip(*np.unique(each["group"], return_counts=True))) for each in (batch, FIRST))
    assert found == {secret: (counts[secret], plan[secret], "") for secret in "ab"}
    alone = PLANS["one column"].check(pl.DataFrame(BATCHES["one secret"]))
    assert figures(alone, "rows")["b"] == (0, plan["b"], "absent")
    assert alone.verdict == "covered"
    # From fewer rows more laws are not refuted, and more is lost under the worst of them
    losses = [
        figures(PLANS["one column"].check(pl.DataFrame(night(5, rows=rows))), "loss")["population"][0]
        for rows in (900, 300, 100)
    ]
    assert losses == sorted(losses)
    assert losses[-1] > 0.6


def test_losses_are_those_of_a_certificate():
    """Under the frequencies of the rows, at the scales of the plan."""
    for name in ("one column", "one column, delta", "columns together", "labels"):
        plan, batch = PLANS[name], pl.DataFrame(night(4))
        found = figures(plan.check(batch), "loss")["empirical"][0]
        certificate = puffer_frames.certificate_of(plan.release(batch, allow_other_frame=True, allow_drift=True, rng=7))
        losses = [(one.hockey_stick if plan.delta else one.pure_loss).upper for one in certificate.observed.values()]
        assert set(losses) == ({found} if found > (plan.delta or plan.epsilon) else set())
    assert set(figures(PLANS["one column"].check(batch), "loss")) == {"empirical", "population"}


def test_a_loss_beyond_epsilon_is_not_within_where_the_range_is_wider():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"g": rng.choice(["b", "c"], 600), "x": rng.integers(0, 8, 600) * 10.0})
    noise = puffer_frames.Noise(theorem="bounded")
    plan = puffer_frames.calibrate(frame, secret="g", public="x", epsilon=0.5, mechanism=noise)
    wider = frame.assign(x=frame["x"].where((frame["g"] == "c") | (frame.index > 200), 5000.0))
    found = plan.check(wider).frame.set_index("check").loc["loss"]
    assert (found["verdict"], found["found"] > 10) == ("recalibrate", True)


def test_the_loss_of_one_row_of_a_unit_is_called_so():
    """Beside its share of epsilon: two rows share 1."""
    frame = (
        pd.DataFrame(night(0))
        .assign(unit=lambda one: one.groupby("group").cumcount() // 2)
        .assign(unit=lambda one: one["group"] + one["unit"].astype(str))
    )
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=1.0, unit=Unit("unit", rows="independent"))
    report = plan.check(frame.assign(score=frame["score"] + 4 * (frame["group"] == "a")))
    (loss,) = [each for each in report.findings if each.check.startswith("loss")]
    assert (loss.check, loss.limit) == ("loss of a row", pytest.approx(0.5))
    assert "loss of a row, score" in str(report)
    assert "of score, of one row of a unit, under the frequencies of these rows is" in report.why
    assert "where 0.5 is its share" in report.why


def test_values_beyond_the_domain_are_counted():
    report = PLANS["a domain"].check(pl.DataFrame(BATCHES["values far out"]))
    far = BATCHES["values far out"]["score"]
    rows = int(((far < 1) | (far > 8)).sum())
    assert [(e.check, e.found, e.verdict) for e in report.findings if e.check.startswith("beyond")] == [
        ("beyond the domain", rows, "clipped")
    ]
    beyond = [e for e in PLANS["columns together"].check(pl.DataFrame(far_out())).findings if e.check.startswith("bey")]
    assert [(e.check, e.column, e.found, e.verdict) for e in beyond] == [
        ("beyond the range", "score", 4, ""),
        ("beyond the range", "size", 0, ""),
    ]


def test_rows_that_change_during_the_check_are_a_reason():
    """In the pass that looks how far values lie beyond the domain, too."""
    columns, passes = pl.DataFrame(night(2)), []

    def changing(batch):
        passes.append(1)
        return batch if len(passes) == 1 else batch.reverse()

    lazy = columns.lazy().map_batches(changing, schema=columns.schema)
    assert PLANS["a domain"].check(lazy).verdict == "refused"
    assert len(passes) == 2


def test_values_beyond_the_cells_of_a_channel_are_counted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.choice(["b", "c"], 600), "x": rng.random(600)})
    plan = puffer_frames.calibrate(
        frame, secret="g", public="x", epsilon=1.0, mechanism="channel", allow_zero_noise=True
    )
    far = frame.assign(x=frame["x"].where(frame.index > 9, 1e6))
    for rows, found in ((frame, (0, "")), (far, (10, "clipped"))):
        beyond = plan.check(rows).frame.set_index("check").loc["beyond the range"]
        assert (beyond["found"], beyond["verdict"]) == found


def far_out():
    return BATCHES["values far out"]


def test_drift_is_the_distance_of_kolmogorov_and_smirnov():
    from scipy.stats import ks_2samp

    batch = night(6, rows=500)
    for name, column in (("one column", "score"), ("numbers through a channel", "score")):
        found = figures(PLANS[name].check(pl.DataFrame(batch)), "drift")
        for secret in "ab":
            ours, theirs = (each[column][each["group"] == secret] for each in (FIRST, batch))
            assert found[secret][0] == pytest.approx(ks_2samp(ours, theirs).statistic, abs=1e-12)
    town = figures(PLANS["labels"].check(pl.DataFrame(batch)), "drift")
    places = {"bath": 0, "cork": 1, "hull": 2}
    for secret in "ab":
        ours, theirs = ([places[level] for level in each["town"][each["group"] == secret]] for each in (FIRST, batch))
        assert town[secret][0] == pytest.approx(ks_2samp(ours, theirs).statistic, abs=1e-12)
    beside = figures(PLANS["columns with labels"].check(pl.DataFrame(batch)), "drift")
    assert beside == town | {}  # of the last column of the same names, which is the town


def test_another_population_has_drifted_and_the_same_has_not():
    for name in ("one column", "labels", "columns with labels", "strata"):
        same = figures(PLANS[name].check(pl.DataFrame(night(7))), "drift")
        assert all(found <= limit and verdict == "within" for found, limit, verdict in same.values())
    far = PLANS["one column"].check(pl.DataFrame(night(8, shift=3)))
    assert figures(far, "drift")["a"][2] == "beyond"
    nearer = made(pl.DataFrame(FIRST), "bounded columns").check(pl.DataFrame(night(8, shift=1)))
    if nearer.verdict == "covered" and "beyond" in {each.verdict for each in nearer.findings if each.check == "drift"}:
        assert "has moved by more than chance explains" in nearer.why


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        ({"public": "score"}, "beliefs=Population(0.999) covers more"),
        ({"public": "town", "mechanism": Channel(radius=0, cap=None)}, "and all levels in domain=, covers more"),
        ({"public": ["score", "size"]}, "beliefs=Contamination(share=0.02), or a larger share"),
        ({"public": "score", "given": "ward"}, "beliefs=Contamination(share=0.02), or a larger share"),
    ],
)
def test_rows_that_are_refused(asked, more):
    """By chance alone they lose more: a wider belief covers them. Where a column has drifted, its name is told."""
    plan = puffer_frames.calibrate(pl.DataFrame(FIRST), secret="group", epsilon=0.3, **asked)
    with pytest.raises(CalibrationError) as caught:
        plan.release(pl.DataFrame(night(4, rows=30)), allow_other_frame=True)
    assert more in caught.value.hint
    name = asked["public"] if isinstance(asked["public"], str) else "score"
    far = pl.DataFrame(night(8, shift=3))
    with pytest.raises(
        CalibrationError, match=rf"the law of {name}.* has moved by more than chance explains"
    ) as caught:
        plan.release(far, allow_other_frame=True)
    assert "covers more" not in caught.value.hint
    assert f"the law of {name}" in plan.check(far).why


def test_more_rows_and_columns_of_a_population():
    for confidence, more in ((0.95, "Population(0.999)"), (0.999, "made from more rows")):
        plan = puffer_frames.calibrate(
            pl.DataFrame(FIRST), secret="group", public="score", epsilon=0.3, beliefs=Population(confidence)
        )
        assert more in more_rows(plan.fitted.request, plan.kinds)
    # There is no such law of whole rows: the error says what there is
    frame = pl.DataFrame(FIRST)
    asked = {"secret": "group", "public": ["score", "size"], "epsilon": 1.0, "mechanism": "noise"}
    with pytest.raises(ArgumentError, match="beliefs must be") as caught:
        puffer_frames.calibrate(frame, **asked, beliefs="population")
    assert "Contamination(share=0.02)" in caught.value.hint
    wide = puffer_frames.calibrate(frame, **asked, beliefs=Contamination(share=0.02))
    assert wide.check(pl.DataFrame(night(3, rows=300))).verdict == "covered"


def test_units_with_more_rows():
    frame = pl.DataFrame(FIRST).with_columns(pl.Series("ward", np.repeat(np.arange(300), 3)))
    frame = frame.with_columns(group=pl.when(pl.col("ward") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b")))
    plan = puffer_frames.calibrate(
        frame, secret="group", public="score", epsilon=0.6, mechanism=Noise(theorem="bounded", calibration="theorem"),
        unit=Unit("ward", rows="any", most=3),
    )  # fmt: skip
    more = frame.with_columns(ward=pl.col("ward") // 4 * 2 + pl.col("ward") % 2)
    report = plan.check(more)
    assert (report.verdict, "of at most 3 rows" in report.why) == ("refused", True)
    assert plan.check(frame).verdict == "covered"
    assert plan.check(frame.drop("ward")).verdict == "refused"
    with pytest.raises(ColumnNotFoundError, match="unit"):
        plan.release(frame.drop("ward"), allow_other_frame=True)


def test_each_secret_column():
    frame = pl.DataFrame(FIRST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for public in ("score", "town"):
            asked = {"secret": ["group", "ward"], "secrets": "each", "public": public, "epsilon": 0.3}
            plan = puffer_frames.calibrate(frame, **asked)
            report = plan.check(frame)
            assert report.verdict == "covered"
            assert set(figures(report, "rows")) == {str(key) for key in plan.rows_per_secret}
            new = plan.check(frame.with_columns(ward=pl.lit("w")))
            assert "('ward', 'w')" in figures(new, "new secret")


@without_spark
def test_columns_that_hold_something_else(make_frame):
    """By what they hold, not by the dtypes of a library: the plan is of another kind of frame."""
    text, numbers = make_frame(BATCHES["numbers as text"]), make_frame(BATCHES["labels as numbers"])
    for name in ("one column", "numbers through a channel", "columns with labels"):
        with pytest.raises(ArgumentTypeError, match="of numbers, as in the plan; got a column of labels"):
            PLANS[name].release(text, allow_other_frame=True)
    for name in ("labels", "columns with labels"):
        with pytest.raises(
            ArgumentTypeError, match="'town' must be of labels, as in the plan; got a column of numbers"
        ):
            PLANS[name].release(numbers, allow_other_frame=True)
    secret = make_frame(FIRST | {"group": FIRST["size"]})
    with pytest.raises(ArgumentTypeError, match="the secret column 'group' must be of labels, as in the plan"):
        PLANS["one column"].release(secret, allow_other_frame=True)
    whole = make_frame(FIRST | {"score": FIRST["score"].astype(float)})
    assert entries(run(PLANS["one column"].release(whole, rng=7))) == entries(
        run(PLANS["one column"].release(make_frame(FIRST), rng=7))
    )


def test_truth_values_merged_labels_and_what_is_no_frame():
    frame = pl.DataFrame(FIRST | {"score": FIRST["score"] > 3})
    numbers = frame.with_columns(score=pl.col("score").cast(pl.Int64))
    asked = {"secret": "group", "public": "score", "epsilon": 0.1}
    assert puffer_frames.calibrate(frame, **asked).release(numbers, rng=7).height == ROWS
    plan = puffer_frames.calibrate(frame, **asked, mechanism="channel")
    with pytest.raises(ArgumentTypeError, match="of booleans, as in the plan; got a column of numbers"):
        plan.release(numbers, allow_other_frame=True)
    assert plan.check(numbers).verdict == "refused"
    plan = puffer_frames.calibrate(frame, secret="group", public="size", given="score", epsilon=0.1)
    with pytest.raises(ArgumentTypeError, match="given column 'score' must be of booleans, as in the plan"):
        plan.release(numbers, allow_other_frame=True)
    assert plan.check(numbers).verdict == "refused"
    rare = pl.DataFrame(FIRST | {"town": np.where(np.arange(ROWS) < 3, "rare", FIRST["town"])})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = puffer_frames.calibrate(
            rare, secret="group", public="town", epsilon=0.6, mechanism=Channel(merge_rare=5)
        )
    assert figures(plan.check(rare), "drift") == {}
    for name in ("one column", "labels"):
        with pytest.raises(ArgumentTypeError, match="the frame must be"):
            PLANS[name].check({"group": ["a"]})


def test_a_plan_from_a_file_says_the_same(tmp_path):
    for name, plan in PLANS.items():
        plan.save(tmp_path / "plan")
        again = load_plan(tmp_path / "plan")
        for batch in ("another night", "another population", "another secret", "a column less"):
            frame = pl.DataFrame(BATCHES[batch])
            assert str(again.check(frame)) == str(plan.check(frame)), name


def test_text_and_page():
    report = PLANS["one column"].check(pl.DataFrame(night(1)))
    text = str(report)
    assert text.startswith("Batch: ")
    assert "keep private" in text
    assert repr(report) == text
    assert report._repr_html_().startswith("<table>")
    assert "this report holds exact statistics" in report._repr_html_()
    cannot = PLANS["one column"].check(pl.DataFrame(BATCHES["a column less"]))
    assert math.isnan(cannot.findings[0].found)
    assert "public must be a column of the frame; got 'score'" in str(cannot).replace("\n", " ").replace("  ", "")


def test_rows_that_exceed_the_plan_are_said_in_the_certificate():
    plan, batch = PLANS["one column, delta"], pl.DataFrame(night(3, shift=3))
    report = plan.check(batch)
    assert report.verdict == "recalibrate"
    with pytest.raises(CalibrationError, match="under the frequencies of these rows"):
        plan.release(batch, allow_other_frame=True)
    certificate = puffer_frames.certificate_of(plan.release(batch, allow_other_frame=True, allow_drift=True))
    assert "observed-exceeds" in [statement.key for statement in certificate.statements]


ASKED_OF_PLANS = {
    "numbers": {},
    "several columns": {"public": ["score", "height"]},
    "labels beside numbers": {"public": ["score", "note"], "nulls": "drop"},
    "strata": {"given": Strata("old", minimum=10)},
    "two secrets": {"secret": ["group", "old"], "mechanism": Noise(remap=True)},
    "whole floats as secrets": {"secret": "code", "epsilon": 0.1},
}


# A plan from a file releases every kind of frame as the plan does that it was made from.
@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(make_columns())


def same(plan, frame, path):
    plan.save(path)
    again = load_plan(path)
    first, second = (run(each.release(frame, rng=7, layout=Layout(row_id="id"))) for each in (plan, again))
    assert entries(first) == entries(second)
    assert puffer_frames.certificate_of(first).to_dict() == puffer_frames.certificate_of(second).to_dict()
    return again


@pytest.mark.parametrize("name", ASKED_OF_PLANS)
def test_of_noise(frame, name, tmp_path):
    asked = {"secret": "group", "public": "score", "epsilon": 0.05} | ASKED_OF_PLANS[name]
    plan = puffer_frames.calibrate(frame, **asked)
    again = same(plan, frame, tmp_path / "plan")
    assert list(map(repr, again.rows_per_secret)) == list(map(repr, plan.rows_per_secret))
    assert again.library == plan.library


@pytest.mark.parametrize("name", thinned(list(REQUESTS), few=["text", "cells", "missing level", "rare text"]))
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
def test_of_a_channel(make_frame, name, tmp_path):
    frame = make_frame(columns_of(name))
    plan = puffer_frames.calibrate(frame, **({"secret": "group", "public": "town", "epsilon": 0.5} | planned(name)))
    same(plan, frame, tmp_path / "plan")


def test_a_plan_of_one_kind_of_frame_releases_another(frame, tmp_path):
    """Their rows have one checksum."""
    elsewhere = build_frame("polars", make_columns())
    plan = puffer_frames.calibrate(elsewhere, secret="group", public="score", epsilon=0.05)
    plan.save(tmp_path / "plan")
    released = run(load_plan(tmp_path / "plan").release(frame, rng=7, layout=Layout(row_id="id")))
    assert sorted(dict(entries(released))["score"]) == sorted(
        plan.release(elsewhere, rng=7, layout=Layout(row_id="id"))["score"]
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"public": "score"},
        {"public": "score", "mechanism": Noise("gaussian"), "delta": 1e-3},
        {"public": "town"},
        {"public": ["score", "size"], "mechanism": "noise"},
        {"public": ["score", "town"], "mechanism": Noise(theorem="bounded")},
        {"public": "score", "beliefs": "population"},
        {"public": "score", "mechanism": Noise(theorem="bounded"), "domain": {"score": (0, 9)}},
        {"public": "score", "given": "ward"},
        {"public": "score", "unit": Unit("id", rows="any")},
        {"public": ["score", "town", "size", "ward"], "mechanism": "sequential"},
    ],
    ids=["noise", "delta", "channel", "joint", "bounded rows", "population", "bounded", "strata", "unit", "table"],
)
@few(10)
def test_a_certificate_does_not_move_with_the_secrets_of_a_batch(asked):
    """It is the same record, whatever the secrets of the rows are: beside the release it would tell them."""
    frame, rng = pd.DataFrame(night(0)), np.random.default_rng(5)
    plan = frame.puffer.calibrate(secret="group", epsilon=1.0, **asked)
    batch = frame.head(700)
    mixed = rng.choice(["a", "b"], 700)
    flipped = np.where(np.arange(700) == 3, np.where(mixed == "a", "b", "a"), mixed)
    said = []
    for secrets in (mixed, flipped, "a", "b"):
        own = batch.assign(group=secrets)
        assert plan.check(own).verdict == "covered"
        said.append(plan.release(own, allow_other_frame=True, rng=1).puffer.certificate.to_dict())
        del said[-1]["fingerprint"]
    assert said[0]["secret_values"] == ["a", "b"]
    assert said[0]["observed"] == {}
    assert said[1:] == said[:1] * 3


@pytest.mark.parametrize(
    "asked", [{"public": ["score", "size"]}, {"public": "score", "given": "ward"}, {"public": "town"}]
)
def test_a_certificate_of_a_batch_states_an_excess(asked):
    plan = pd.DataFrame(FIRST).puffer.calibrate(secret="group", epsilon=1.0, **asked)
    found = plan.release(pd.DataFrame(night(3, shift=3)), allow_other_frame=True, allow_drift=True).puffer.certificate
    assert set(found.observed) == set(plan.public)
    assert headline(found).epsilon > 1


def test_what_order_and_kept_columns_of_a_batch_tell_has_no_figures():
    """They tell, or do not; how much is a count of secrets."""
    plan, batch = PLANS["one column"], pd.DataFrame(night(1)).sort_values("group", ignore_index=True)
    with pytest.warns(puffer_frames.errors.PufferWarning):
        released = plan.release(
            batch.assign(code=batch["group"]), layout=Layout(keep="code"), allow_other_frame=True, allow_drift=True
        )
    said = {one.key: one.text for one in released.puffer.certificate.statements}
    for key in ("order-tells", "kept-tells"):
        assert "by how much is not said" in said[key]
        assert not re.search(r"\d", said[key])


def test_few_rows_of_a_secret_are_those_of_the_table_of_the_plan():
    rare = pd.DataFrame(night(0)).assign(group=lambda one: one["group"].where(one.index > 4, "c"))
    with pytest.warns(puffer_frames.errors.FewRowsWarning):
        plan = rare.puffer.calibrate(secret="group", public="score", epsilon=1.0)
    batch = rare[rare["group"] != "c"].reset_index(drop=True)
    found = plan.release(batch, allow_other_frame=True).puffer.certificate
    assert "fewer than 20 rows each in the table of the plan: 'c'." in " ".join(str(found).split())
    assert found.rarest is None


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_delta_is_compared_with_all_released_rows():
    """Not with those of the secrets that listed pairs name, of which a batch would tell how many it has."""
    frame = pd.DataFrame(night(0)).assign(group=lambda one: one["group"].where(one["id"] % 3 > 0, "c"))
    plan = frame.puffer.calibrate(
        secret="group", public="score", epsilon=1.0, delta=1 / 700, mechanism=Noise("gaussian"), pairs=[("a", "b")]
    )
    few = frame[frame["group"] == "c"].reset_index(drop=True)
    for rows, weak in ((frame, True), (frame.head(699), False), (few, False)):
        found = plan.release(rows, allow_other_frame=True, allow_drift=True).puffer.certificate
        assert ("weak-delta" in {one.key for one in found.statements}) == weak
