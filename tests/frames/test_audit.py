"""Audits of every kind of frame, what they refuse, and what they print."""

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import LOCAL_KINDS, build_frame, thinned

import puffer_frames
from puffer_frames import Layout, Noise, Strata, Unit, certificate_of
from puffer_frames.verbs.auditing.guesses import claimed

BOUNDED = Noise(theorem="bounded")
IN_MEMORY = [kind for kind in LOCAL_KINDS if kind not in ("polars-lazy", "duckdb")]
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0, "mechanism": "noise"}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 300)
    score = rng.integers(0, 9, 300) + (group == "b")
    return {"group": group.tolist(), "score": score.tolist(), "note": rng.choice(["x", "y"], 300).tolist()}


def unseeded(released):
    """Its certificate, as if the noise came from no seed."""
    return replace(puffer_frames.certificate_of(released), reproducible=False)


@pytest.fixture(scope="module")
def released(data):
    frame = pd.DataFrame(data)
    return frame, frame.puffer.privatize(**ASKED, rng=1)


@pytest.mark.parametrize("kind", thinned(IN_MEMORY, few=("pandas", "polars")))
def test_every_kind_gives_the_same_report(kind, data, released):
    frame = build_frame(kind, data)
    mine = puffer_frames.privatize(frame, **ASKED, rng=1)
    report = puffer_frames.audit(frame, mine, rng=2)
    assert report.failures == ("seed",)
    assert str(report) == str(puffer_frames.audit(*released, rng=2))
    assert type(report.frame).__module__.partition(".")[0] == type(frame).__module__.partition(".")[0]
    assert puffer_frames.audit(frame, mine, certificate=unseeded(mine), rng=2).passed


@pytest.mark.parametrize("public", ["score", "note", ["score", "size"]])
def test_a_batch_is_held_to_what_its_certificate_guarantees(public, data):
    """Which says no loss of its own but one beyond that; on a wider range that of any law."""
    frame = pd.DataFrame(data).assign(size=np.arange(300) % 4)
    plan = frame.puffer.calibrate(**ASKED | {"public": public, "mechanism": "auto" if public == "note" else BOUNDED})
    batch = frame.iloc[20:].reset_index(drop=True)
    within = plan.release(batch, allow_other_frame=True)
    assert puffer_frames.audit(batch, within, rng=2).passed
    assert claimed(certificate_of(within)) == (1.0, 0.0)
    if public != "note":
        wider = plan.release(batch.assign(score=3 * batch["score"]), allow_other_frame=True, allow_drift=True)
        epsilon, delta = claimed(certificate_of(wider))
        assert (epsilon, delta) == (pytest.approx(3.05 if public == "score" else 2.05, abs=0.051), 0.0)


@pytest.mark.parametrize("kind", ["polars-lazy", "duckdb"])
def test_rows_must_be_in_memory(kind, data, released):
    frame, certificate = build_frame(kind, data), unseeded(released[1])
    with pytest.raises(puffer_frames.errors.ArgumentTypeError, match="original must be a frame in memory"):
        puffer_frames.audit(frame, released[1])
    with pytest.raises(puffer_frames.errors.ArgumentTypeError, match="released must be a frame in memory"):
        puffer_frames.audit(released[0], frame, certificate=certificate)


@pytest.mark.parametrize(
    ("change", "options", "error", "words"),
    [
        (lambda frame, out: (frame.head(200), out), {}, "ArgumentError", "the original must be the table"),
        (lambda frame, out: (frame, out.head(0)), {}, "ArgumentError", "released must be a release with rows"),
        (lambda frame, out: (frame.drop(columns="group"), out), {}, "ColumnNotFoundError", "secret must be"),
        (lambda frame, out: (frame, frame), {}, "UncoveredFrameError", "certificate"),
        (lambda frame, out: (frame, out), {"secret": "sex"}, "ColumnNotFoundError", "secret must be"),
        (lambda frame, out: (frame, out), {"level": 1.0}, "ArgumentError", "level must be"),
        (lambda frame, out: (frame, out), {"level": True}, "ArgumentError", "level must be"),
        (lambda frame, out: (frame, out), {"rng": "x"}, "ArgumentTypeError", "rng must be"),
        (lambda frame, out: (frame, out), {"certificate": "x"}, "ArgumentTypeError", "certificate must be"),
    ],
)
def test_what_is_refused(released, change, options, error, words):
    with pytest.raises(getattr(puffer_frames.errors, error), match=words):
        puffer_frames.audit(*change(*released), **options)


def test_what_is_no_audit_shows_no_value(data):
    frame = pd.DataFrame(data).assign(person=range(300))
    asked = {
        "unit": "person",
        "value": "score",
        "query": "sum",
        "protect": "presence",
        "epsilon": 1.0,
        "domain": (-9, 9),
    }
    with pytest.raises(puffer_frames.errors.ArgumentError, match="answers about all rows"):
        puffer_frames.audit(frame, frame.puffer.aggregate(**asked, rng=1))
    frame = pd.DataFrame(data).assign(score=lambda table: 123456.0 + table["score"])
    out = frame.puffer.privatize(**ASKED, rng=1)
    with pytest.raises(puffer_frames.PufferError) as raised:
        puffer_frames.audit(frame.head(100), out)
    assert "12345" not in str(raised.value)


def test_the_report(released):
    frame, out = released
    report = frame.puffer.audit(out, certificate=unseeded(out), rng=3)
    assert "keep private" in str(report)
    assert str(report).startswith("Audit")
    assert "<table>" in report._repr_html_()
    (pair,) = report.pairs
    assert {pair.secret, pair.other} == {"a", "b"}
    assert pair.rows == 300
    assert pair.advantage_low <= pair.advantage <= pair.advantage_high
    assert pair.accuracy_after == pytest.approx((1 + pair.advantage) / 2)
    assert pair.advantage_bound == pytest.approx((np.e - 1) / (np.e + 1))
    assert report.frame["epsilon_low"].tolist() == [pair.epsilon_low]
    checks = {each.name: each for each in report.checks}
    assert checks["loss at the scale"].found == pytest.approx(1.0, abs=1e-6)  # the smallest scale loses all of epsilon
    assert (again := frame.puffer.audit(out, certificate=unseeded(out), rng=3)).passed == report.passed
    # As text: from Python 3.13 on a record that holds NaN equals nothing, not even itself.
    assert repr((again.checks, again.pairs)) == repr((report.checks, report.pairs))
    assert repr(frame.puffer.audit(out, rng=3).checks) == repr(out.puffer.audit(frame, rng=3).checks)


def test_kept_columns_and_unique_rows(data):
    frame = pd.DataFrame(data).assign(id=range(300))
    with pytest.warns(puffer_frames.KeptColumnWarning):
        out = frame.assign(copy=frame["group"].str.upper()).puffer.privatize(
            **ASKED, layout=Layout(keep=["copy", "id"]), rng=1
        )
    report = puffer_frames.audit(frame.assign(copy=frame["group"].str.upper()), out, rng=2)
    checks = {each.name: each for each in report.checks}
    assert checks["raw columns"].why == "copy is group"
    assert checks["singling out"].found == 1.0
    assert checks["kept columns"].result == "information"
    assert checks["kept columns"].found > 0.9


def test_columns_that_the_certificate_does_not_know(released):
    frame, out = released
    checks = {
        each.name: each.result
        for each in puffer_frames.audit(frame, out.assign(more=frame["score"]), certificate=unseeded(out)).checks
    }
    assert checks["columns"] == checks["raw columns"] == "failed"
    lacking = {each.name: each.result for each in puffer_frames.audit(frame.drop(columns="score"), out).checks}
    assert lacking["columns"] == "failed"
    assert lacking["noise law"] == "not applicable"


def test_odd_columns_and_a_kept_index_beside(data):
    # Columns of any type may stand in the original
    frame = pl.DataFrame(data).with_columns(
        lists=pl.lit([1, 2]),
        structs=pl.struct("score", "note"),
        day=pl.lit(datetime.date(2020, 1, 1)),
        truth=pl.col("score") > 4,
        exact=pl.col("score").cast(pl.Decimal(10, 2)),
        category=pl.col("note").cast(pl.Categorical),
        gaps=pl.when(pl.col("score") > 2).then(pl.col("note")),
    )
    out = frame.puffer.privatize(**ASKED, rng=1)
    assert puffer_frames.audit(frame, out, rng=1).failures == ("seed",)
    out = frame.puffer.privatize(secret="truth", public="gaps", epsilon=1.0, nulls="level", rng=1)
    assert puffer_frames.audit(frame, out, certificate=unseeded(out), rng=1).passed
    frame = pd.DataFrame(data).set_index(pd.Index(np.arange(300) * 7, name="number"))
    out = frame.puffer.privatize(**ASKED, layout=Layout(index="keep"), rng=1)
    assert puffer_frames.audit(frame, out, certificate=unseeded(out), rng=1).passed


def test_shuffled_rows_of_strata_pass():
    """The scale of each row was that of the released stratum at its place, which is another row's."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "town": rng.choice(["u", "v"], 400, p=[0.8, 0.2])})
    frame["x"] = rng.integers(0, 6, 400) + 5 * ((frame["group"] == "a") & (frame["town"] == "u"))
    asked = {"secret": "group", "public": "x", "epsilon": 1.0, "given": Strata("town", minimum=5)}
    released = frame.puffer.privatize(**asked, mechanism="noise", layout=Layout(shuffle=True))
    report = puffer_frames.audit(frame, released, level=0.999999, rng=0)
    assert report.passed
    assert [each.found for each in report.checks if each.name == "loss at the scale"] == pytest.approx([1.0])


@pytest.mark.parametrize(
    "more", [{"unit": Unit("unit", rows="independent")}, {"unit": Unit("unit", rows="any")}, {"releases": 2}]
)
def test_the_loss_is_that_of_all_rows_and_releases(more):
    """That of one was laid beside an epsilon for all of them: half of it was not found."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"unit": np.repeat(np.arange(150), 2), "group": np.repeat(rng.choice(["a", "b"], 150), 2)})
    frame["x"] = rng.integers(0, 4, 300) + (frame["group"] == "a")
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    asked = {"secret": "group", "public": "x", "epsilon": 1.0, "mechanism": "noise"}
    released = frame.puffer.privatize(**asked, **more)
    certificate = certificate_of(released)
    for epsilon, result in ((1.0, "passed"), (0.9, "failed")):
        said = replace(certificate, epsilon=epsilon, verified={}, observed={})
        (check,) = [
            e for e in puffer_frames.audit(frame, released, certificate=said).checks if e.name == "loss at the scale"
        ]
        assert check.result == result
