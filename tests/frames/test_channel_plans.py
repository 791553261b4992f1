"""Plans of channels: other frames, beliefs, what is refused and what is published."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from channel_requests import (
    ATOMS,
    COLUMNS,
    LEVELS,
    MARK,
    REQUESTS,
    ROWS,
    TOWNS,
    elsewhere,
    plan,
    planned_elsewhere,
    release,
)
from conftest import LOCAL_KINDS, build_frame, made, run, thinned, without_spark
from kinds import entries, other_kind

from puffer_frames import Bootstrap, Channel, Contamination, Layout, RowOrderWarning, calibrate, certificate_of
from puffer_frames.certificates.text import certificate_title
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, PriorError


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


# Other frames

RADIUS = "min(1/2, 2/sqrt(n)) for n rows of its secret"


@without_spark
def test_other_rows(make_frame, frame):
    made = planned_elsewhere("polars", "text")
    order = np.random.default_rng(1).permutation(ROWS)
    again = make_frame({name: [values[k] for k in order] for name, values in COLUMNS.items()})
    same = certificate_of(run(made.release(again)))
    assert same.rows == ROWS
    assert same.channels["town"]["radius"] == RADIUS
    fewer = make_frame({name: values[:900] for name, values in COLUMNS.items()})
    with pytest.raises(CalibrationError, match="a frame with other rows"):
        made.release(fewer)
    certificate = certificate_of(run(made.release(fewer, allow_other_frame=True, allow_drift=True)))
    assert certificate.rows == 900
    said = {statement.key: statement.text for statement in certificate.statements}
    assert "channel-other-rows" in said
    assert f"{RADIUS} in the table of the plan, whatever" in said["channel-radius"]  # not of these 900
    assert certificate.channels["town"]["radius"] == f"{RADIUS} in the table of the plan"


def test_the_column_of_an_unknown_level_is_named():
    columns = COLUMNS | {"odd": [str(grade % 2) for grade in COLUMNS["grade"]]}
    made = plan(pl.DataFrame(columns), public=["odd", "town"], mechanism="channel")
    other = pl.DataFrame({**columns, "town": [*columns["town"][:-1], MARK + "!"]})
    with pytest.raises(CalibrationError, match=r"(?s)the levels of 'town' must be .* in domain=\{'town': \[\.\.\.\]\}"):
        made.release(other, allow_other_frame=True)


UNKNOWN = [("text", "town", MARK + "!"), ("integers", "grade", 17), ("few floats", "half", 0.25)]


def test_unknown_levels_in_another_frame(kind, make_frame):
    for name, column, value in UNKNOWN[:1] if kind == "spark" else UNKNOWN:
        made = planned_elsewhere("polars", name)
        other = [*COLUMNS[column][:-1], value]
        with pytest.raises(CalibrationError, match="those of the plan; got others in 1 row") as caught:
            made.release(make_frame({**COLUMNS, column: other}), allow_other_frame=True)
        assert str(value) not in str(caught.value)
    beyond = [*COLUMNS["real"][:-1], 99.0]
    cells = planned_elsewhere("polars", "cells")
    released = run(cells.release(make_frame({**COLUMNS, "real": beyond}), allow_other_frame=True))
    assert set(dict(entries(released))["real"]) <= set(cells.channels["real"].outputs)


def test_missing_values_and_secrets_of_another_frame():
    made = planned_elsewhere("polars", "text")
    other = pl.DataFrame({**COLUMNS, "town": [None, *COLUMNS["town"][1:]]})
    with pytest.raises(PriorError, match="without nulls"):
        made.release(other, allow_other_frame=True)
    frame = pl.DataFrame(COLUMNS)
    with pytest.raises(CalibrationError, match="secrets of the frame must be secrets of the plan; got 's'"):
        made.release(frame.with_columns(group=pl.col("group").replace("r", "s")), allow_other_frame=True)
    fewer = certificate_of(made.release(frame.filter(pl.col("group") != "r"), allow_other_frame=True))
    assert fewer.rows < ROWS
    assert fewer.secret_values == ("p", "q", "r")


def test_drift():
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame, epsilon=0.2)
    drifted = frame.with_columns(town=pl.when(pl.col("group") == "q").then(pl.lit("hull")).otherwise(pl.col("town")))
    with pytest.raises(CalibrationError, match="more than was asked for") as caught:
        made.release(drifted, allow_other_frame=True)
    assert "allow_drift=True" in caught.value.hint
    certificate = certificate_of(made.release(drifted, allow_other_frame=True, allow_drift=True))
    keys = [statement.key for statement in certificate.statements]
    assert "observed-exceeds" in keys
    assert "channel-other-rows" in keys


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_the_same_frequencies_are_no_drift():
    """Decided in whole numbers: a channel without room to spare, on every row twice."""
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame, mechanism=Channel(radius=0, cap=None))
    twice = certificate_of(made.release(pl.concat([frame, frame]), allow_other_frame=True))
    assert "observed-exceeds" not in [statement.key for statement in twice.statements]
    with_delta = plan(frame, mechanism=Channel(radius=0, cap=None), delta=0.01)
    with_delta.release(pl.concat([frame, frame]), allow_other_frame=True)


def test_what_is_not_known_to_be_within_is_an_error():
    """Rows counted in other cells than those of the plan: on which side of an edge some lie is not known."""
    rng, rows = np.random.default_rng(5), 140_000
    group = rng.choice(["a", "b"], rows)
    noise = rng.normal(size=rows)
    frame = pl.DataFrame({"s": group, "x": noise + 0.4 * (group == "a")})
    asked = {"secret": "s", "public": "x", "epsilon": 0.05, "mechanism": Channel(radius=0, cap=None, cells=8)}
    made = calibrate(frame, **asked)
    noise[:7000] = rng.uniform(-1e3, 1e3, 7000)
    stretched = frame.with_columns(x=noise + 0.35 * (group == "a"))
    with pytest.raises(CalibrationError, match="which is not known to be within what was asked for"):
        made.release(stretched, allow_other_frame=True)
    said = certificate_of(made.release(stretched, allow_other_frame=True, allow_drift=True)).statements
    text = next(line.text for line in said if line.key == "observed-exceeds")
    assert "not known to be within what was asked for" in text


def test_the_order_of_other_rows_is_judged_by_their_own_counts():
    """Rows that alternate in a plan of very unequal secrets, and sorted ones in a small batch."""
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame)
    batch = pl.concat([frame.filter(pl.col("group") == g).head(60) for g in ("p", "q", "r")])
    with pytest.warns(RowOrderWarning):
        made.release(batch, allow_other_frame=True, allow_drift=True)
    even = batch.sample(fraction=1.0, shuffle=True, seed=4)
    made.release(even, allow_other_frame=True, allow_drift=True)  # no warning, which would be an error


# Requests


def test_what_is_asked_for_is_paid():
    some, all_of_them = planned_elsewhere("polars", "text, pairs"), planned_elsewhere("polars", "text")
    assert some.expected_error["town"] <= all_of_them.expected_error["town"] * (1 + 1e-9)
    assert some.pairs == (("p", "q"),)
    with pytest.raises(ArgumentError, match="pairs"):
        plan(pl.DataFrame(COLUMNS), pairs=[("p", "z")])
    # Error of the plan for each belief: each adds to what must be withstood
    error = {
        name: planned_elsewhere("polars", name).expected_error["town"]
        for name in ("text", "text, side knowledge", "text, nothing but side knowledge", "text, delta")
    }
    slack = 1 + 1e-9
    assert error["text, delta"] <= error["text"] * slack <= error["text, side knowledge"] * slack**2
    assert error["text, nothing but side knowledge"] <= error["text, side knowledge"] * slack
    errors = [plan(pl.DataFrame(COLUMNS), epsilon=e).expected_error["town"] for e in (0.1, 0.3, 1.0, 3.0)]
    assert errors == sorted(errors, reverse=True)


BELIEFS = {
    "a word": ("empirical", ["empirical"]),
    "the fitted law": ("fitted", ["empirical"]),
    "levels": (LEVELS, ["empirical", "given 1"]),
    "levels twice": ([LEVELS, LEVELS], ["empirical", "given 1", "given 2"]),
    "only levels": (("only", LEVELS), ["given 1"]),
    "a frame": (pl.DataFrame(COLUMNS).head(900), ["empirical", "other table"]),
    "a frame of another library": (pd.DataFrame(COLUMNS).tail(900), ["empirical", "other table"]),
    "two frames": (
        [pl.DataFrame(COLUMNS).head(900), pl.DataFrame(COLUMNS).tail(900)],
        ["empirical", "other table", "other table 2"],
    ),
    "contaminated": (Contamination(0.05), ["contaminated"]),
    "contaminated, and the word": (["empirical", Contamination(0.05)], ["empirical", "contaminated"]),
    "resampled": (Bootstrap(resamples=2), ["bootstrap"]),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_beliefs(name):
    beliefs, names = BELIEFS[name]
    frame = pl.DataFrame(COLUMNS)
    certificate = certificate_of(plan(frame, beliefs=beliefs).release(frame))
    assert list(certificate.beliefs) == names
    assert list(certificate.verified["town"]) == names


WRONG_BELIEFS = {
    "another level": ({**LEVELS, "p": {"bath": 1, MARK + "!": 1}}, ArgumentTypeError),
    "no weight": ({**LEVELS, "p": {"bath": 0}}, ArgumentError),
    "a weight below 0": ({**LEVELS, "p": {"bath": 1, "cork": -1}}, ArgumentError),
    "an infinite weight": ({**LEVELS, "p": {"bath": float("inf")}}, ArgumentError),
    "a weight that is none": ({**LEVELS, "p": {"bath": float("nan")}}, ArgumentError),
    "atoms": (ATOMS, ArgumentTypeError),
    "a secret less": ({"p": LEVELS["p"], "q": LEVELS["q"]}, ArgumentError),
    "every law of learned levels": ("population", ArgumentError),
    "a frame with another level": (pl.DataFrame(COLUMNS).with_columns(town=pl.lit(MARK + "!")), CalibrationError),
    "a frame without a secret": (pl.DataFrame(COLUMNS).filter(pl.col("group") != "r"), ArgumentError),
}


@pytest.mark.parametrize("name", WRONG_BELIEFS)
def test_wrong_beliefs(name):
    beliefs, error = WRONG_BELIEFS[name]
    with pytest.raises(error) as caught:
        plan(pl.DataFrame(COLUMNS), beliefs=beliefs)
    assert MARK not in str(caught.value)


def test_populations_and_distributions_as_beliefs():
    with pytest.raises(ArgumentTypeError, match="Prior of atoms"):
        plan(
            pl.DataFrame(COLUMNS), public="grade", mechanism="channel", beliefs={s: Prior.gaussian(0, 1) for s in "pqr"}
        )
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame, beliefs="population", domain={"town": TOWNS}, epsilon=2.0)
    assert certificate_of(made.release(frame)).beliefs == ("population",)
    with pytest.raises(ArgumentError, match="population"):
        plan(frame, beliefs="population", domain={"town": TOWNS}, mechanism=Channel(merge_rare=5))
    with pytest.raises(ArgumentError, match="population"):
        plan(frame, public="grade", mechanism="channel", beliefs="population", domain={"grade": (-2, 3)})
    made = plan(frame, public="grade", mechanism="channel", beliefs="population", domain={"grade": range(-2, 4)})
    assert list(certificate_of(made.release(frame)).beliefs) == ["population"]


def test_what_is_kept_on_average():
    pooled = np.unique(COLUMNS["town"], return_counts=True)[1] / ROWS
    found = planned_elsewhere("polars", "text, shares kept").channels["town"]
    assert pooled @ found.matrix == pytest.approx(pooled, abs=1e-9)
    found = planned_elsewhere("polars", "integers, mean kept").channels["grade"]
    values, counts = np.unique(COLUMNS["grade"], return_counts=True)
    assert counts @ found.matrix @ values == pytest.approx(counts @ values, abs=1e-6)
    frame = pl.DataFrame(COLUMNS)
    for options in (Channel(preserve="mean"), Channel(preserve="marginal", outputs=2)):
        with pytest.raises(ArgumentError):
            plan(frame, mechanism=options)


def test_costs():
    """A function and its table are one cost, whose order is that of the plan's inputs."""
    frame = pl.DataFrame(COLUMNS)
    order = {level: k for k, level in enumerate(["cork", MARK, "bath", "hull"])}
    inputs = plan(frame).channels["town"].inputs
    matrix = [[abs(order[x] - order[y]) for y in inputs] for x in inputs]
    one = plan(frame, mechanism=Channel(cost=lambda x, y: abs(order[x] - order[y])))
    for cost in (matrix, np.array(matrix)):
        other = plan(frame, mechanism=Channel(cost=cost))
        assert np.array_equal(other.channels["town"].weights, one.channels["town"].weights)
    pooled = np.unique(COLUMNS["town"], return_counts=True)[1] / ROWS
    expected = float((pooled @ (one.channels["town"].matrix * np.array(matrix))).sum())
    assert one.expected_error["town"] == pytest.approx(expected, rel=1e-9)
    changed = plan(frame, public="grade", mechanism=Channel(cost="change")).expected_error["grade"]
    assert 0 < changed < 1
    for cost in ("absolute", [[0]], lambda x, y: -1, lambda x, y: "a", lambda x, y: float("nan")):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="cost") as caught:
            plan(frame, mechanism=Channel(cost=cost))
        assert MARK not in str(caught.value)


REFUSED = {
    "clip": ({"layout": Layout(clip=(0, 1))}, "clip"),
    "clip of a mapping": ({"layout": Layout(clip={"town": (0, 1)})}, "clip"),
    "round": ({"layout": Layout(round=True)}, "round"),
    "numbers among several columns": ({"public": ["town", "grade"], "mechanism": Channel()}, "public"),
    "several columns of numbers": ({"public": ["grade", "half"], "mechanism": "channel"}, "public"),
    "publish": ({"layout": lambda: Layout(publish="counts")}, "publish"),
    "publish, a number": ({"layout": lambda: Layout(publish=3)}, "publish"),
    "mechanism": ({"mechanism": "Channel"}, "mechanism"),
    "mechanism, the class": ({"mechanism": Channel}, "mechanism"),
    "radius": ({"mechanism": Channel(radius={"p": 0.1, "q": 0.1})}, "radius"),
}


@pytest.mark.parametrize(("kind", "name"), thinned(LOCAL_KINDS, REFUSED), indirect=["kind"])
def test_refused(kind, frame, name):
    options, what = REFUSED[name]
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        release(frame, **made(options))
    assert what in caught.value.what
    assert MARK not in str(caught.value)
    with pytest.raises(type(caught.value)) as again:
        release(build_frame(other_kind(kind), COLUMNS), **made(options))
    assert str(again.value) == str(caught.value)


def test_a_channel_that_changes_nothing_is_asked_for():
    frame = pl.DataFrame(COLUMNS)
    brittle = Channel(radius=0, cap=None)
    with pytest.raises(CalibrationError, match="already private") as caught:
        release(frame, epsilon=9.0, mechanism=brittle)
    assert "allow_zero_noise=True" in caught.value.hint
    released = release(frame, epsilon=9.0, mechanism=brittle, allow_zero_noise=True)
    assert released["town"].to_list() == COLUMNS["town"].tolist()


def test_what_is_published():
    frame = pl.DataFrame(COLUMNS)
    made = plan(frame)
    found = {
        words: set(certificate_of(made.release(frame, layout=Layout(publish=words))).channels["town"])
        for words in ((), "levels", ("levels", "expected_error"), ("lower_bound",))
    }
    always = {"cost", "radius", "cap", "preserve"}
    assert found == {
        (): always,
        "levels": always | {"levels"},
        ("levels", "expected_error"): always | {"levels", "expected_error"},
        ("lower_bound",): always | {"lower_bound"},
    }
    printed = certificate_of(made.release(frame, layout=Layout(publish=["expected_error", "lower_bound"]))).channels[
        "town"
    ]
    assert printed["expected_error"] == made.expected_error["town"]
    assert printed["lower_bound"] == made.lower_bound["town"]
    record = certificate_of(elsewhere("polars", "text, shares kept")).channels["town"]
    exact = planned_elsewhere("polars", "text, shares kept").channels["town"]
    assert record["inputs"] == list(exact.inputs)
    assert np.abs(np.array(record["matrix"]) - exact.matrix).max() <= 1e-12


@pytest.mark.filterwarnings("ignore::puffer_frames.RareLevelsWarning")
def test_a_plan_is_read_and_pickled_and_its_frame_stays():
    made = planned_elsewhere("polars", "text")
    text = str(made)
    for part in ("channel from a linear program: 4 levels to 4", "share of changed values", "keep private", "'p' "):
        assert part in " ".join(text.split())
    assert "<table>" in made._repr_html_()
    assert str(pickle.loads(pickle.dumps(made))) == text
    for name in REQUESTS:
        assert "channel from a linear program" in str(planned_elsewhere("pandas", name))
    for kind in ("pandas", "polars", "pyarrow"):
        frame, before = build_frame(kind, COLUMNS), build_frame(kind, COLUMNS)
        release(frame, layout=Layout(keep="note"))
        assert entries(frame) == entries(before)


def test_an_excess_that_no_digits_show_is_one():
    """The rows of the table lose 2 + 4e-17, which is decided in whole numbers: no tolerance is on the side of more."""
    cells = {("a", "p"): 9, ("a", "q"): 4, ("a", "r"): 3, ("b", "q"): 17, ("b", "r"): 7, ("c", "p"): 4, ("c", "r"): 16}
    frame = pd.DataFrame([cell for cell, rows in cells.items() for _ in range(rows)], columns=["s", "v"])
    asked = {"beliefs": ["only", Bootstrap(3)], "mechanism": Channel(radius="auto")}
    plan = calibrate(frame, secret="s", public="v", epsilon=2.0, **asked)
    assert plan.fitted.exceeded
    title = certificate_title(certificate_of(plan.release(frame, layout=Layout(shuffle=True))))
    assert "a pure loss of 2, or just above it, for these rows, where epsilon = 2 was asked for" in title
