"""Several public columns, domains, missing values, order of rows, and what is done after the noise."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import LOCAL_KINDS, laid_out, run
from kinds import column, names

import puffer_frames
from puffer_frames import (
    Layout,
    Noise,
    RowOrderWarning,
    aggregate,
    calibrate,
    certificate_of,
    histogram,
    privatize,
    verify,
)
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.side_by_side import read_columns
from puffer_frames.papers import bounded_scales

ROWS = 400


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], ROWS)
    left = rng.integers(0, 2, ROWS)
    right = np.where(group == "a", left, 1 - left)  # equal marginals, opposite dependence
    return {"group": group, "left": left, "right": right, "note": list(range(ROWS))}


def joint_loss(frame, scales):
    """Largest |log-ratio| of the joint densities of two columns over the product of their values, by brute force."""
    grid = list(itertools.product(*(np.unique(frame[name]) for name in scales)))
    densities = []
    for _, rows in frame.groupby("group"):
        atoms = rows[list(scales)].to_numpy(dtype=float)
        b = np.array(list(scales.values()))
        densities.append([np.exp(-(np.abs(np.array(y) - atoms) / b).sum(axis=1)).mean() for y in grid])
    return float(np.abs(np.log(np.array(densities[0]) / np.array(densities[1]))).max())


def test_joint_release_hides_what_the_columns_tell_together(table):
    frame = pd.DataFrame(table)
    options = {"secret": "group", "epsilon": 1.0}
    exact = frame.puffer.calibrate(public=["left", "right"], **options)
    assert 0.999 < joint_loss(frame, exact.scales) <= 1.0
    plan = frame.puffer.calibrate(public=["left", "right"], mechanism=Noise(theorem="bounded"), **options)
    assert bounded_scales({"left": 1, "right": 1}, epsilon=1.0) == {"left": 2.0, "right": 2.0}
    assert all(2.0 <= scale <= 2.0 * (1 + 1e-11) for scale in plan.scales.values())  # the grid costs 2^-40 of epsilon
    assert joint_loss(frame, plan.scales) <= 1.0
    alone = {c: frame.puffer.calibrate(public=c, allow_zero_noise=True, **options).scale for c in ("left", "right")}
    assert joint_loss(frame, {name: max(scale, 0.05) for name, scale in alone.items()}) > 10  # they do not add up
    certificate = plan.release(frame).puffer.certificate
    assert certificate.adds_up
    assert "rests on the bounded-column rule, not on these figures" in " ".join(str(certificate).split())
    with pytest.raises(ArgumentError, match="scales"):
        _ = plan.scale


@pytest.mark.parametrize("kind", [*LOCAL_KINDS, pytest.param("spark", marks=pytest.mark.slow)], indirect=True)
def test_joint_release_of_every_kind_of_frame(make_frame, table):
    asked = {"secret": "group", "public": ["right", "left"], "epsilon": 1.0, "rng": 5, "layout": Layout(keep="note")}
    released = run(puffer_frames.privatize(make_frame(table), **asked))
    assert names(released) == ["left", "right", "note"]
    assert verify(released) == "unsigned: cannot be trusted"
    noise, other = (column(released, name) - table[name] for name in ("left", "right"))
    assert abs(np.corrcoef(noise, other)[0, 1]) < 0.2


def test_domain_clips_before_the_noise_and_sets_the_range(table):
    frame = pd.DataFrame(table | {"left": np.random.default_rng(4).permutation(np.linspace(-50, 50, ROWS))})
    options = {"secret": "group", "public": ["left", "right"], "epsilon": 1.0, "domain": {"left": (0, 10)}}
    plan = frame.puffer.calibrate(**options, mechanism=Noise(theorem="bounded"))
    assert plan.scales == pytest.approx({"left": 20.0, "right": 2.0}, rel=1e-11)
    noisy = plan.release(frame, rng=1)["left"]
    assert np.array_equal(noisy, plan.release(frame.assign(left=frame["left"].clip(0, 10)), rng=1)["left"])
    certificate = plan.release(frame).puffer.certificate
    assert certificate.beliefs == ("any prior on the domain", "any prior within the observed range")
    assert "clipped before the noise: left to [0, 10]" in " ".join(str(certificate).split())
    one = frame.puffer.calibrate(secret="group", public="left", epsilon=0.1, domain={"left": (0, 10)})
    assert max(prior.means.max() for prior in one.priors.values()) == 10


@pytest.mark.parametrize("options", [{"mechanism": Noise(theorem="gmm")}, {"beliefs": {"a": Prior.bernoulli(0.5)}}])
def test_a_joint_release_takes_no_theorem_of_one_column(table, options):
    with pytest.raises(ArgumentError, match="several public columns"):
        pd.DataFrame(table).puffer.privatize(secret="group", public=["left", "right"], epsilon=1.0, **options)


def test_labels_that_are_not_text_and_constant_columns(table, people):
    frame = pd.DataFrame(table).assign(left=1, right=2)
    with pytest.raises(CalibrationError, match="allow_zero_noise"):
        frame.puffer.privatize(secret="group", public=["left", "right"], epsilon=1.0)
    frame = pd.DataFrame(people).set_axis([0, 1.5, ("note", 2)], axis=1)
    released = frame.puffer.privatize(secret=0, public=1.5, epsilon=0.05, layout=Layout(keep=[("note", 2)]))
    assert list(released.columns) == [1.5, ("note", 2)]
    columns = pd.MultiIndex.from_product([["people"], ["group", "score", "note"]], names=["level", "name"])
    released = frame.set_axis(columns, axis=1).puffer.privatize(
        secret=("people", "group"), public=("people", "score"), epsilon=0.05
    )
    assert released.columns.equals(columns[[1]])
    assert released.columns.names == [None, None]  # they may be anything
    assert released.puffer.verify() == "unsigned: cannot be trusted"


def test_clip_and_round_leave_the_calibration_as_it_is(make_frame, people):
    frame = make_frame(people)
    options = {"secret": "group", "public": "score", "epsilon": 0.05, "rng": 4}
    plain, released, one_sided = (
        run(puffer_frames.privatize(frame, **options, **more))
        for more in ({}, {"layout": Layout(clip=(0, 5), round=True)}, {"layout": Layout(clip={"score": (0, math.inf)})})
    )
    assert np.array_equal(column(released, "score"), np.rint(column(plain, "score")).clip(0, 5))
    assert column(one_sided, "score").min() == 0
    certificate = certificate_of(released)
    assert certificate.scales == certificate_of(plain).scales
    assert "rounded to integers and score clipped to [0, 5]" in " ".join(str(certificate).split())


def test_dropped_rows(make_frame, people):
    scores = [None if k % 10 == 0 else int(v) for k, v in enumerate(people["score"])]
    frame = make_frame(people | {"score": scores})
    complete = make_frame({name: [v for k, v in enumerate(values) if k % 10] for name, values in people.items()})
    options = {"secret": "group", "public": "score", "epsilon": 0.05, "rng": 4, "layout": Layout(keep="note")}
    released = run(puffer_frames.privatize(frame, nulls="drop", **options))
    expected = run(puffer_frames.privatize(complete, **options))
    assert certificate_of(released).fingerprint == certificate_of(expected).fingerprint
    assert len(column(released, "score")) == 180
    text = str(certificate_of(released))
    assert "rows with a missing secret or public value may have been left out" in " ".join(text.split())
    assert "20 " not in text


def test_rows_sorted_by_the_secret_are_warned_about(people):
    frame = pd.DataFrame(people).sort_values("group", ignore_index=True)
    options = {"secret": "group", "public": "score", "epsilon": 0.05, "layout": Layout(keep="note")}
    with pytest.warns(RowOrderWarning, match="shuffle=True") as caught:
        frame.puffer.privatize(**options)
    warning = caught.pop(RowOrderWarning)
    assert warning.filename == __file__
    assert warning.message.share < 0.1
    released = frame.puffer.privatize(rng=3, **laid_out(options, shuffle=True))  # warnings are errors
    straight = pl.DataFrame(frame).puffer.privatize(rng=3, **laid_out(options, shuffle=True))
    assert released.puffer.certificate.fingerprint == straight.puffer.certificate.fingerprint
    assert sorted(released["note"]) == sorted(frame["note"])
    assert list(released["note"]) != list(frame["note"])
    assert released.index.equals(pd.RangeIndex(200))


# Column names that no file, stream or certificate can hold are refused on every kind of frame.
DATA = {"group": ["a", "b", "b", "a"] * 30, "x": [1, 2, 3, 5] * 30, "t": list(range(120))}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "lazy": pl.LazyFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_with_nul(kind):
    frame = KINDS[kind]({**DATA, "no\0te": DATA["x"]})
    for verb, options in (
        (privatize, {"secret": "group", "public": "x"}),
        (calibrate, {"secret": "group", "public": "x"}),
        (aggregate, {"value": "x", "domain": (0, 1)}),
        (histogram, {"state": "group", "time": "t"}),
    ):
        with pytest.raises(ArgumentError, match="without the character NUL"):
            verb(frame, epsilon=1.0, **options)


@pytest.mark.parametrize("name", ["\ud800", "x\udfff"])
def test_half_of_a_surrogate_pair(name):
    frame = pd.DataFrame(DATA)
    frame.columns = pd.Index(["group", "x", name], dtype=object)
    with pytest.raises(ArgumentError, match="UTF-8"):
        privatize(frame, secret="group", public="x", epsilon=1.0)


# Secrets that a library takes for equal are told apart.
@pytest.mark.parametrize("dtype", [object, "string[python]"])
@pytest.mark.parametrize(
    "labels",
    [["a\0b", "a\0c", "a"], ["\ud800x", "\ud800y", "x"], ["\ud800", "'\\ud800'", "x"]],
    ids=["NUL", "half of a pair", "what prints as half of a pair"],
)
def test_text_that_differs_in_an_odd_character(labels, dtype):
    """pandas 2 numbers the first two alike in columns of objects, pandas 3 the last."""
    texts = pd.Series(labels * 40, dtype=dtype)
    frame = pd.DataFrame({"secret": texts, "x": [0, 5, 9] * 40, "y": [0, 0, 1] * 40})
    plan = puffer_frames.calibrate(frame, secret="secret", public="x", epsilon=1.0)
    assert plan.rows_per_secret == dict.fromkeys(labels, 40)
    assert plan.scale == pytest.approx(9.0, rel=1e-6)
    several = puffer_frames.calibrate(frame, secret=["y", "secret"], public="x", epsilon=1.0)
    assert len(several.rows_per_secret) == 3
    shown = read_columns(frame, role="table", known=(), rows=120)["secret"]
    assert sorted(shown.levels) == sorted(labels)


def test_several_columns_with_missing_and_mixed_objects():
    frame = pd.DataFrame(
        {
            "a": pd.Series(["p\0q", "p\0r"] * 60, dtype=object),
            "b": pd.Series(["u", "v", "v"] * 40, dtype=object),
            "x": [0, 1, 2, 3] * 30,
        }
    )
    plan = puffer_frames.calibrate(frame, secret=["a", "b"], public="x", epsilon=1.0)
    assert set(plan.rows_per_secret) == {(a, b) for a in ("p\0q", "p\0r") for b in ("u", "v")}
