"""The same release from every kind of frame."""

import gc
import inspect
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import FRAME_KINDS, build_frame, run

import puffer_frames
from puffer_frames import Certificate


def column(frame, name):
    return np.asarray(frame[name].to_numpy(), dtype=float)


def release(frame, **options):
    return run(frame.puffer.privatize(**{"secret": "group", "public": "score", "epsilon": 0.05} | options))


def test_same_seed_same_numbers_on_every_kind_of_frame(people):
    releases = [release(build_frame(kind, people), rng=7, keep="note") for kind in FRAME_KINDS]
    certificates = [released.puffer.certificate for released in releases]
    assert len({certificate.fingerprint for certificate in certificates}) == 1
    assert all(certificate == certificates[0] for certificate in certificates)
    for released in releases:
        assert np.array_equal(column(released, "score"), column(releases[0], "score"))


def test_noise_in_secret_out(make_frame, people):
    frame = make_frame(people)
    released = release(frame)
    assert list(released.columns) == ["score"]
    assert len(released) == 200
    assert not np.array_equal(column(released, "score"), people["score"])
    assert type(released) is (pl.DataFrame if isinstance(frame, pl.LazyFrame) else type(frame))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("pandas", "float64"),
        ("pandas-nullable", "Float64"),
        ("pandas-pyarrow", "double[pyarrow]"),
        ("polars", "Float64"),
        ("polars-lazy", "Float64"),
    ],
)
def test_released_dtype_is_of_the_columns_own_family(people, kind, dtype):
    assert str(release(build_frame(kind, people))["score"].dtype) == dtype


def test_fresh_noise_every_time(make_frame, people):
    frame = make_frame(people)
    assert not np.array_equal(column(release(frame), "score"), column(release(frame), "score"))


def test_kept_columns_come_in_the_frames_order(make_frame, people):
    released = release(make_frame({"note": people["note"], **people}), keep=["note"])
    assert list(released.columns) == ["note", "score"]
    assert list(released["note"]) == people["note"]
    assert released.puffer.certificate.kept == ("note",)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_input_is_unchanged(people, kind):
    frame, twin = build_frame(kind, people), build_frame(kind, people)
    release(frame, keep="note")
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(frame, twin)
        assert frame.attrs == {}
    else:
        assert frame.lazy().collect().equals(twin.lazy().collect())
        assert not hasattr(frame, "_puffer_frames_metadata")


def test_plan_then_release_equals_one_call(make_frame, people):
    frame = make_frame(people)
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=0.05)
    assert np.array_equal(column(run(plan.release(frame, rng=7)), "score"), column(release(frame, rng=7), "score"))
    assert str(plan) == str(frame.puffer.calibrate(secret="group", public="score", epsilon=0.05))


def test_a_plan_releases_the_same_rows_in_any_order_and_no_other(people):
    frame = pd.DataFrame(people)
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=0.05)
    assert len(plan.release(frame.sample(frac=1, random_state=1), index="drop")) == 200
    assert len(plan.release(pl.DataFrame(people))) == 200
    with pytest.raises(puffer_frames.CalibrationError, match="other rows"):
        plan.release(frame.head(100))
    assert len(plan.release(frame.head(100), allow_other_frame=True)) == 100


def test_secret_kinds_give_the_same_scale(people):
    frame = pd.DataFrame(people)
    codes = frame["group"].map({"a": 0, "b": 1, "c": 2})
    enum = pl.Enum(["z", "a", "b", "c"])
    frames = {
        "object": frame.astype({"group": object}),
        "category": frame.astype({"group": pd.CategoricalDtype(["z", "a", "b", "c"])}),
        "integer": frame.assign(group=codes),
        "integral float": frame.assign(group=codes.astype(float)),
        "enum": pl.DataFrame(people).with_columns(pl.col("group").cast(enum)),
        "categorical": pl.DataFrame(people).with_columns(pl.col("group").cast(pl.Categorical)),
    }
    scales = {
        kind: f.puffer.calibrate(secret="group", public="score", epsilon=0.05).scale for kind, f in frames.items()
    }
    assert len(set(scales.values())) == 1
    assert list(frames["integral float"].puffer.calibrate(secret="group", public="score", epsilon=0.05).priors) == [
        0,
        1,
        2,
    ]


def test_several_secret_columns_are_their_joint_value(make_frame, people):
    plan = make_frame(people).puffer.calibrate(secret=["group", "note"], public="score", epsilon=0.05)
    assert len(plan.priors) == 6
    assert ("a", "x") in plan.priors
    one = make_frame(people).puffer.calibrate(
        secret=["group", "note"], public="score", epsilon=0.05, pairs=[(("a", "x"), ("b", "y"))]
    )
    assert one.scale <= plan.scale
    certificate = run(one.release(make_frame(people))).puffer.certificate
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_float32_and_boolean_columns_are_exact(people):
    frame = pl.DataFrame(people)
    narrow = frame.with_columns(pl.col("score").cast(pl.Float32))
    assert release(narrow, rng=1)["score"].to_list() == release(frame, rng=1)["score"].to_list()
    yes_no = frame.with_columns(pl.col("score") > 4)
    assert yes_no.puffer.calibrate(secret="group", public="score", epsilon=0.01).theorem == "bernoulli"


@pytest.mark.parametrize("decision", ["keep", "drop"])
def test_index_is_decided(people, decision):
    frame = pd.DataFrame(people, index=pd.Index(range(200, 0, -1), name="id"))
    released = release(frame, index=decision, rng=7)
    expected = frame.index if decision == "keep" else pd.RangeIndex(200)
    assert released.index.equals(expected)
    assert np.array_equal(released["score"], release(frame.reset_index(drop=True), rng=7)["score"])


def test_zero_noise_when_asked_for(make_frame, people):
    released = release(make_frame(people), epsilon=5, delta=0.9, allow_zero_noise=True)
    assert np.array_equal(column(released, "score"), people["score"])
    assert released.puffer.certificate.scales == {"score": 0.0}


def test_published_scale_on_request(people):
    frame = pd.DataFrame(people)
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=0.05, calibration="theorem")
    assert 0 < plan.published_scale <= plan.scale <= plan.published_scale * (1 + 1e-9)  # the grid costs 2^-40
    certificate = plan.release(frame).puffer.certificate
    assert certificate.adds_up
    assert not release(frame).puffer.certificate.adds_up


def test_published_scale_at_the_edge_is_raised_by_rounding_alone():
    frame = pd.DataFrame({"s": ["a", "b"], "x": [0, 3]})
    plan = frame.puffer.calibrate(secret="s", public="x", epsilon=0.7, calibration="theorem")
    assert plan.published_scale <= plan.scale <= plan.published_scale * (1 + 1e-11)
    assert plan.verified["empirical"].pure_loss.upper <= 0.7


def test_help_and_signature_are_those_of_the_function(people):
    for name in ("privatize", "calibrate", "verify"):
        function, method = getattr(puffer_frames, name), getattr(pd.DataFrame(people).puffer, name)
        assert method.__doc__ == function.__doc__
        assert list(inspect.signature(method).parameters) == list(inspect.signature(function).parameters)[1:]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_are_freed_without_the_garbage_collector(people, make):
    gc.collect()
    gc.disable()
    try:
        frame = make(people)
        released = release(frame)
        released.puffer.certificate, released.puffer.verify()
        alive = weakref.ref(frame), weakref.ref(released)
        del frame, released
        assert [reference() for reference in alive] == [None, None]
    finally:
        gc.enable()
