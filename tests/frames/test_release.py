"""The same release from every kind of frame."""

import gc
import inspect
import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import LOCAL_KINDS, run
from kinds import column, entries, names

import puffer_frames
from puffer_frames import Certificate, Layout, Noise, certificate_of
from puffer_frames.errors import UncoveredFrameError

ASKED = {"secret": "group", "public": "score", "epsilon": 0.05}


def release(frame, **options):
    return run(puffer_frames.privatize(frame, **ASKED | options))


def test_noise_in_secret_out_and_fresh_noise_every_time(kind, make_frame, people):
    frame = make_frame(people)
    released = release(frame)
    assert names(released) == ["score"]
    assert len(column(released, "score")) == 200
    assert not np.array_equal(column(released, "score"), people["score"])
    assert type(released) is {"polars-lazy": pl.DataFrame, "duckdb": pa.Table}.get(kind, type(frame))
    assert not np.array_equal(column(release(frame), "score"), column(release(frame), "score"))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("pandas", "float64"),
        ("pandas-nullable", "Float64"),
        ("pandas-pyarrow", "double[pyarrow]"),
        ("polars", "Float64"),
        ("polars-lazy", "Float64"),
        ("pyarrow", "double"),
        ("duckdb", "double"),
        ("spark", "double"),
    ],
    indirect=["kind"],
)
def test_released_dtype_is_of_the_columns_own_family(make_frame, people, kind, dtype):
    released = release(make_frame(people))
    if kind == "spark":
        assert released.schema["score"].dataType.typeName() == dtype
    elif kind in ("pyarrow", "duckdb"):
        assert str(released.schema.field("score").type) == dtype
    else:
        assert str(released["score"].dtype) == dtype


def test_input_is_unchanged(make_frame, people):
    frame = make_frame(people)
    release(frame, layout=Layout(keep="note"))
    assert entries(frame) == entries(make_frame(people))
    with pytest.raises(UncoveredFrameError, match="without one"):
        certificate_of(frame)
    if isinstance(frame, pd.DataFrame):
        pd.testing.assert_frame_equal(frame, make_frame(people))
        assert frame.attrs == {}


def test_a_remap_is_the_same_step_on_every_kind(make_frame, people):
    numbered = people | {"id": np.arange(200)[::-1]}
    plan = puffer_frames.calibrate(pd.DataFrame(numbered), **ASKED, mechanism=Noise(remap=True))
    noisy = plan.remap["score"].step(
        column(release(pd.DataFrame(numbered), rng=7, layout=Layout(row_id="id")), "score")
    )
    released = release(make_frame(numbered), rng=7, layout=Layout(row_id="id"), mechanism=Noise(remap=True))
    assert column(released, "score").tolist() == noisy.tolist()
    assert len(set(noisy)) > 1
    assert {statement.key for statement in certificate_of(released).statements} >= {"remap", "remap-values"}


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
    frame, asked = make_frame(people), ASKED | {"secret": ["group", "note"]}
    plan = puffer_frames.calibrate(frame, **asked)
    assert len(plan.priors) == 6
    assert ("a", "x") in plan.priors
    one = puffer_frames.calibrate(frame, **asked, pairs=[(("a", "x"), ("b", "y"))])
    assert one.scale <= plan.scale
    certificate = certificate_of(run(one.release(frame)))
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
    released = release(frame, layout=Layout(index=decision), rng=7)
    expected = frame.index if decision == "keep" else pd.RangeIndex(200)
    assert released.index.equals(expected)
    assert np.array_equal(released["score"], release(frame.reset_index(drop=True), rng=7)["score"])


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_zero_noise_when_asked_for(make_frame, people):
    released = release(make_frame(people), epsilon=5, delta=0.9, allow_zero_noise=True)
    assert np.array_equal(column(released, "score"), people["score"])
    assert certificate_of(released).scales == {"score": 0.0}


def test_published_scale_on_request_and_at_its_edge(people):
    frame = pd.DataFrame(people)
    plan = frame.puffer.calibrate(secret="group", public="score", epsilon=0.05, mechanism=Noise(calibration="theorem"))
    assert 0 < plan.published_scale <= plan.scale <= plan.published_scale * (1 + 1e-9)  # the grid costs 2^-40
    certificate = plan.release(frame).puffer.certificate
    assert certificate.adds_up
    assert not release(frame).puffer.certificate.adds_up
    frame = pd.DataFrame({"s": ["a", "b"], "x": [0, 3]})
    plan = frame.puffer.calibrate(secret="s", public="x", epsilon=0.7, mechanism=Noise(calibration="theorem"))
    assert plan.published_scale <= plan.scale <= plan.published_scale * (1 + 1e-11)
    assert plan.verified["empirical"].pure_loss.upper <= 0.7


@pytest.mark.parametrize("kind", [kind for kind in LOCAL_KINDS if kind not in ("pyarrow", "duckdb")], indirect=True)
def test_the_accessor_gives_what_the_function_gives(make_frame, people):
    frame = make_frame(people)
    released = run(frame.puffer.privatize(**ASKED, layout=Layout(keep="note"), rng=7))
    expected = release(frame, layout=Layout(keep="note"), rng=7)
    assert entries(released) == entries(expected)
    assert released.puffer.certificate == certificate_of(expected)
    assert released.puffer.verify() == "unsigned: cannot be trusted"


def test_help_and_signature_are_those_of_the_function(people):
    for name in ("privatize", "calibrate", "verify"):
        function, method = getattr(puffer_frames, name), getattr(pd.DataFrame(people).puffer, name)
        assert method.__doc__ == function.__doc__
        assert list(inspect.signature(method).parameters) == list(inspect.signature(function).parameters)[1:]


@pytest.mark.parametrize(("make", "rows"), [(pd.DataFrame, 200), (pl.DataFrame, 200), (pl.DataFrame, 50_000)])
def test_frames_are_freed_without_the_garbage_collector(make, rows):
    rng, alive = np.random.default_rng(0), []
    gc.collect()
    gc.disable()
    try:
        for _ in range(4):
            frame = make({"group": rng.integers(0, 2, rows), "score": rng.integers(0, 9, rows)})
            released = release(frame, epsilon=1e-3)
            released.puffer.certificate, released.puffer.verify()
            alive += [weakref.ref(frame), weakref.ref(released)]
            del frame, released
        assert [reference() for reference in alive] == [None] * 8
    finally:
        gc.enable()
