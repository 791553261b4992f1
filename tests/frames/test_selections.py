"""Columns by a selection: the rest, selectors of Polars, functions of a pandas frame."""

import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pytest
from conftest import run
from kinds import entries, names

from puffer_frames import Layout, Strata, Unit, calibrate, certificate_of, compare, privatize
from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, FaultError

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "group": RNG.choice(["a", "b"], 200),
        "score": RNG.integers(0, 5, 200),
        "age": RNG.integers(20, 30, 200),
        "town": RNG.choice(["x", "y"], 200),
        "id": range(200),
    }
)
ASKED = {"secret": "group", "epsilon": 0.05}
pytestmark = pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")


@pytest.mark.parametrize("public", [{}, {"public": "rest"}, {"public": ["rest"]}])
def test_the_rest_is_every_column_without_another_role(make_frame, public):
    frame = make_frame(TABLE.to_dict("list"))
    found = privatize(frame, **ASKED, **public, layout=Layout(keep="town", row_id="id"), rng=1)
    named = privatize(frame, **ASKED, public=["score", "age"], layout=Layout(keep="town", row_id="id"), rng=1)
    assert names(found) == ["score", "age", "town"]
    assert sorted(zip(*dict(entries(found)).values(), strict=True)) == sorted(
        zip(*dict(entries(named)).values(), strict=True)
    )
    assert certificate_of(run(found)).public == ("score", "age")


def test_the_rest_leaves_out_given_and_unit_columns():
    few = TABLE[["group", "score", "town", "id"]]
    assert calibrate(few, **ASKED, given="town", unit=None, nulls="drop").public == ("score", "id")
    assert calibrate(few.drop(columns="id"), **ASKED, given=Strata("town")).public == ("score",)
    units = few.drop(columns="town").assign(id=few["id"] // 2, group=few["id"] // 2 % 2)
    assert calibrate(units, **ASKED, unit=Unit("id", rows="independent")).public == ("score",)
    with pytest.raises(ArgumentError, match=r"^given must be left out for a release with unit; got 'town'"):
        privatize(few, **ASKED, given="town", unit=Unit("id", rows="independent"))
    assert "release score, age" in str(calibrate(TABLE[["group", "score", "age"]], **ASKED))
    with pytest.raises(ArgumentError, match="public must be a column besides the secret, given, kept"):
        privatize(TABLE, **ASKED, layout=Layout(keep=["score", "age", "town", "id"]))


def test_a_column_of_that_name_is_meant_by_it():
    frame = TABLE[["group", "score", "age"]].rename(columns={"age": "rest"})
    assert calibrate(frame, **ASKED, public=["rest"]).public == ("rest",)
    assert calibrate(frame.drop(columns="score"), **ASKED).public == ("rest",)
    for public in ({}, {"public": "rest"}):  # the others were left out without a word
        with pytest.raises(ArgumentError, match="beside others"):
            calibrate(frame, **ASKED, **public)


@pytest.mark.parametrize("lazy", [False, True])
def test_selectors_of_polars(lazy):
    frame = pl.DataFrame(TABLE).lazy() if lazy else pl.DataFrame(TABLE)
    asked = {"epsilon": 1.0, "rng": 1}
    found = frame.puffer.privatize(
        secret=cs.first(),
        public=cs.integer() - cs.by_name("id"),
        layout=Layout(keep=[cs.starts_with("t"), "id"], row_id="id"),
        **asked,
    )
    layout = Layout(keep=["town", "id"], row_id="id")
    named = frame.puffer.privatize(secret="group", public=["score", "age"], layout=layout, **asked)
    assert certificate_of(run(found)).public == ("score", "age")
    assert found.lazy().collect().equals(named.lazy().collect())


def test_expressions_and_functions_that_select_columns():
    frame = pl.DataFrame(TABLE)
    for public in (pl.col("score", "age"), pl.col("^score|age$"), pl.all().exclude("group", "town", "id")):
        assert calibrate(frame, **ASKED, public=public).public == ("score", "age")
    assert calibrate(frame, secret=pl.col("group"), public="score", given=cs.by_name("town"), epsilon=1.0)
    found = compare(frame, secret=cs.by_name("group"), public=[cs.by_name("score")], beliefs="empirical")
    assert set(found["column"]) == {"score"}
    plan = calibrate(TABLE, secret=lambda frame: frame.columns[0], public=lambda frame: ["score", "age"], epsilon=0.05)
    assert (plan.secret, plan.public) == (("group",), ("score", "age"))
    assert calibrate(TABLE, **ASKED, public=lambda frame: frame.columns[1:3]).public == ("score", "age")
    numbered = TABLE.set_axis(range(5), axis=1)
    assert calibrate(numbered, secret=0, public=lambda frame: [1], epsilon=0.05).public == ("1",)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pd.Index, iter, lambda mask: lambda frame: mask])
@pytest.mark.parametrize("labels", [list(TABLE), range(5)])
def test_booleans_are_no_names(make, labels):
    """In a frame with columns 0 and 1 they would be taken for these."""
    frame = TABLE.set_axis(labels, axis=1)
    with pytest.raises(ArgumentTypeError, match="public must be the names of columns; got booleans"):
        privatize(frame, secret=labels[3], public=make([True, False]), epsilon=1.0)


@pytest.mark.parametrize(
    ("make", "public", "error", "words"),
    [
        (pl.DataFrame, pl.col("score") + 1, ArgumentTypeError, "an expression that selects columns"),
        (pl.DataFrame, pl.col("score").alias("age"), ArgumentTypeError, "an expression that selects columns"),
        (pl.DataFrame, pl.col("none"), ColumnNotFoundError, "public must be a column of the frame"),
        (pd.DataFrame, [], ArgumentError, "public must be the name of a column; got none"),
        (pl.DataFrame, cs.boolean(), ArgumentError, "public must be the name of a column; got none"),
        (pl.DataFrame, lambda frame: "score", ArgumentTypeError, "a function with a pandas frame"),
        (pd.DataFrame, cs.integer(), ArgumentTypeError, "a selector with a Polars frame"),
        (pd.DataFrame, lambda frame: frame.none, FaultError, "without errors"),
        (pd.DataFrame, lambda frame: "none", ColumnNotFoundError, "public must be a column of the frame"),
        (pd.DataFrame, lambda frame: None, ArgumentTypeError, "a column name or a list of them"),
    ],
)
def test_what_selects_no_columns(make, public, error, words):
    for verb in (privatize, calibrate, compare):
        with pytest.raises(error, match=words):
            verb(make(TABLE), **ASKED, public=public)
