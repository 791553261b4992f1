"""Columns released through a channel: the same plan and the same levels on every kind of frame."""

import functools
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from channel_requests import (
    COLUMNS,
    GROUP,
    MARK,
    RARE,
    REQUESTS,
    ROWS,
    TOWNS,
    asked,
    columns_of,
    elsewhere,
    plan,
    planned,
    planned_elsewhere,
    release,
)
from conftest import FRAME_KINDS, LOCAL_KINDS, few, run, table, thinned, without_spark
from kinds import entries, other_kind

from puffer_frames import Channel, Layout, RareLevelsWarning, Unit, calibrate, certificate_of, load_plan
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    NoNoiseNeededError,
    PriorError,
    WideNoiseWarning,
)

IN_SPARK = ("text", "missing level", "cells")
CASES = thinned(LOCAL_KINDS, REQUESTS) + [pytest.param("spark", name) for name in IN_SPARK]


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


@pytest.fixture(scope="module")
def rare(make_frame):
    return make_frame(RARE)


@pytest.mark.parametrize(("kind", "name"), CASES, indirect=["kind"])
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
def test_same_levels_and_same_certificate(kind, frame, rare, name):
    released = run(release(rare if columns_of(name) is RARE else frame, **asked(name)))
    other = elsewhere(other_kind(kind), name)
    assert entries(released) == entries(other)
    ours, theirs = certificate_of(released), certificate_of(other)
    if kind == "spark":
        assert ours.fingerprint.startswith("rows:")
        theirs = replace(theirs, fingerprint=ours.fingerprint)
    assert ours == theirs
    assert ours.verify(released) == ours.verify(other) == "unsigned: cannot be trusted"


@pytest.mark.parametrize(("kind", "name"), thinned(LOCAL_KINDS, REQUESTS), indirect=["kind"])
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
def test_same_plan(kind, frame, rare, name):
    made = plan(rare if columns_of(name) is RARE else frame, **planned(name))
    theirs = planned_elsewhere(other_kind(kind), name)
    (column,) = made.public
    assert (str(made), made.checksum) == (str(theirs), theirs.checksum)
    ours, other = made.channels[column], theirs.channels[column]
    assert np.array_equal(ours.weights, other.weights)
    assert (ours.inputs, ours.outputs) == (other.inputs, other.outputs)


@few(10)
@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
def test_a_plan_releases_what_privatize_does(name):
    frame = pd.DataFrame(columns_of(name))
    late = {key: value for key, value in asked(name).items() if key == "layout"}
    released = planned_elsewhere("pandas", name).release(frame, rng=7, **late)
    assert entries(released) == entries(elsewhere("pandas", name))
    assert released.puffer.certificate == certificate_of(elsewhere("pandas", name))


def counted(made, column, columns):
    """Rows of each input per secret, one row at a time."""
    inputs = made.channels[column].inputs
    found = {secret: [0] * len(inputs) for secret in ("p", "q", "r")}
    for secret, value in zip(columns["group"], columns[column], strict=True):
        found[str(secret)][inputs.index(value)] += 1
    return inputs, found


@pytest.mark.parametrize("name", ["text", "integers", "booleans", "few floats", "missing level"])
def test_what_a_plan_says_of_its_channel(name):
    made = planned_elsewhere("polars", name)
    (column,) = made.public
    found = made.channels[column]
    inputs, counts = counted(made, column, COLUMNS)
    assert set(inputs) == set(np.array(COLUMNS[column], dtype=object).tolist())
    assert found.outputs == inputs
    assert [sum(row) for row in found.weights.tolist()] == [2**62] * len(inputs)
    assert found.matrix == pytest.approx(found.weights / 2.0**62, rel=1e-15)
    numeric = name in ("integers", "few floats")
    cost = np.array([[abs(x - y) if numeric else float(x != y) for y in inputs] for x in inputs])
    pooled = np.sum(list(counts.values()), axis=0) / ROWS
    assert made.expected_error == {column: pytest.approx(float((pooled @ (found.matrix * cost)).sum()), rel=1e-9)}
    assert made.lower_bound[column] <= made.expected_error[column] * (1 + 1e-9)
    assert made.lower_bound[column] == pytest.approx(made.expected_error[column], rel=1e-4)
    assert found.constant_error == pytest.approx(float((pooled @ cost).min()), rel=1e-12)
    assert found.unchanged == pytest.approx(float(pooled @ found.matrix.diagonal()), rel=1e-12)
    assert made.rows_per_secret == {secret: sum(row) for secret, row in counts.items()}
    assert made.rows == ROWS
    assert (made.epsilon, made.delta, made.pairs, made.remap) == (0.5, 0.0, "all", {})
    laws = {secret: np.array(row) / sum(row) @ found.matrix for secret, row in counts.items()}
    used = found.weights.any(axis=0)
    loss = max(float(np.log(laws[s][used] / laws[t][used]).max()) for s in laws for t in laws)
    assert loss <= 0.5
    measured = made.observed[column].pure_loss
    assert measured.lower <= loss * (1 + 1e-9)
    assert measured.upper >= loss * (1 - 1e-9)


# Types of the released column


@without_spark
def test_dtypes_stay(kind, frame):
    """Text is text, a truth value one; numbers are 64-bit floats, as after noise."""
    for column, dtypes in {
        "town": {"String", "str", "object", "string", "large_string", "string[pyarrow]"},
        "flag": {"Boolean", "bool", "boolean", "bool[pyarrow]"},
        "grade": {"Float64", "float64", "double", "double[pyarrow]"},
    }.items():
        released = run(release(frame, public=column, mechanism="channel"))
        found = released.schema.field(column).type if isinstance(released, pa.Table) else released[column].dtype
        assert str(found) in dtypes


# Levels


def test_missing_values(frame):
    with pytest.raises(PriorError, match="'pet' must be without nulls; got 134 rows with one") as caught:
        release(frame, public="pet")
    assert 'nulls="level"' in caught.value.hint
    with pytest.raises(ArgumentError, match="nulls"):
        release(frame, public="grade", mechanism="channel", nulls="level")
    with pytest.raises(ArgumentError, match='"raise" or "drop" with noise'):
        release(frame, public="grade", nulls="level")
    with pytest.raises(ArgumentError, match="nulls"):
        release(frame, nulls="keep")


def test_rare_levels(rare):
    with pytest.warns(RareLevelsWarning, match="1 level of the public column has fewer") as caught:
        kept = plan(rare)
    assert [w.message.levels for w in caught if w.category is RareLevelsWarning] == [("rare",)]
    assert not any("'rare'" in str(w.message) for w in caught)
    assert "rare" in kept.channels["town"].inputs
    with pytest.warns(RareLevelsWarning, match="a level that more rows have") as caught:
        merged = plan(rare, mechanism=Channel(merge_rare=5))
    found = [w.message.levels for w in caught if w.category is RareLevelsWarning]
    assert found == [("other",)]  # it has the rows of one rare level
    assert merged.channels["town"].inputs == (*sorted(TOWNS), "other")
    everything = {"rare", *TOWNS}
    with pytest.raises(ArgumentError, match="merge_rare must be of so few rows that two levels are left"):
        plan(rare, mechanism=Channel(merge_rare=ROWS))
    for wrong in (0, -1, 1.5, True, "5"):
        with pytest.raises(ArgumentError, match="merge_rare must be a whole number of at least 1"):
            plan(rare, mechanism=Channel(merge_rare=wrong))
    with pytest.raises(ArgumentError, match="merge_rare must be for a column of labels"):
        plan(rare, public="grade", mechanism=Channel(merge_rare=5))
    assert set(kept.channels["town"].inputs) == everything


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        (
            {"public": "grade", "mechanism": "noise", "nulls": "level"},
            'name two columns or more, and say mechanism="sequential"',
        ),
        (
            {"public": "wage", "beliefs": "population"},
            'Say mechanism="noise", whose belief "population" is for numbers',
        ),
        ({"public": "age", "mechanism": Channel(preserve="mean")}, "Round the numbers first, or leave preserve out"),
        ({"public": "town", "given": "pet"}, "the guarantee is then for readers who do not know these columns"),
        (
            {"public": "town", "unit": Unit("age", rows="any")},
            "for one row, and not for several of one person together",
        ),
        ({"public": "town", "releases": 2}, "for one release, and not for several together"),
        ({"public": "town", "domain": ["bath", "cork"]}, "or of labels a list of all levels"),
    ],
)
def test_hints_of_what_a_channel_is_not(asked, hint):
    """Hints were to merge rare levels of numbers, to declare all incomes, and to leave a unit out."""
    rng = np.random.default_rng(5)
    columns = {
        "sex": rng.choice(["f", "m"], 900),
        "town": rng.choice(TOWNS, 900),
        "pet": rng.choice(["cat", "dog"], 900),
    }
    columns |= {"grade": rng.integers(1, 6, 900), "age": rng.integers(0, 150, 900), "wage": rng.lognormal(8, 1, 900)}
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        calibrate(pl.DataFrame(columns), **{"secret": "sex", "epsilon": 1.0, "mechanism": "channel"} | asked)
    assert hint in caught.value.hint


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
def test_a_level_that_is_called_other_is_not_that_of_the_rare_ones(tmp_path):
    columns = {**RARE, "town": np.where(RARE["town"] == "bath", "other", RARE["town"])}
    made = plan(pl.DataFrame(columns), mechanism=Channel(merge_rare=5))
    assert made.channels["town"].inputs == ("cork", "hull", "other", MARK, "other (merged)")
    made.save(tmp_path / "plan.json")
    released = load_plan(tmp_path / "plan.json").release(pl.DataFrame(columns))
    assert "other" in set(released["town"]) <= {"cork", "hull", "other", MARK, "other (merged)"}


def test_a_level_that_is_called_missing_is_not_printed_as_a_missing_one():
    pets = [(None, "missing", "'missing'", "cat")[k % 4] for k in range(ROWS)]
    made = plan(pl.DataFrame({"group": GROUP, "pet": pets}), public="pet", nulls="level")
    assert "''missing'', cat, 'missing', missing (learned from the table)" in str(made)


def test_a_missing_level_is_not_rare():
    pets = [None if k in (3, 500, 900) else "cd"[k % 2] for k in range(ROWS)]
    frame = pl.DataFrame({"group": GROUP, "pet": pets})
    with pytest.warns(RareLevelsWarning, match=r"(?s)1 level of .*nulls=\"drop\"") as caught:
        assert plan(frame, public="pet", nulls="level", mechanism=Channel(merge_rare=5)).channels["pet"].inputs == (
            "c",
            "d",
            None,
        )
    assert len(caught) == 1


def test_declared_levels():
    frame = pl.DataFrame(COLUMNS)
    declared = ["nowhere", *reversed(TOWNS)]
    made = plan(frame, domain={"town": declared})
    assert made.channels["town"].inputs == tuple(declared)
    levels = certificate_of(made.release(frame)).channels["town"]["levels"]
    assert levels == list(made.channels["town"].outputs)
    with pytest.raises(ArgumentError, match="all levels of the column; got a list without 1 of them") as caught:
        plan(frame, domain={"town": TOWNS[:3]})
    assert MARK not in str(caught.value)
    with pytest.raises(ArgumentError, match="one twice"):
        plan(frame, domain={"town": ["bath", *TOWNS]})
    for level in (math.nan, np.float64("nan")):
        with pytest.raises(ArgumentTypeError, match="got NaN or another type"):
            plan(frame, domain={"town": [*TOWNS, level]})
    with pytest.raises(ArgumentError, match="domain"):
        plan(frame, domain={"note": ["u", "v"]})
    for column in ("town", "flag"):
        with pytest.raises(ArgumentError, match="domain must be a list of levels for a column of labels"):
            plan(frame, public=column, mechanism="channel", domain={column: (0, 1)})


@pytest.mark.parametrize("ends", [[1, 2], (1, 2.0)])
def test_two_levels_that_are_whole_numbers_are_not_taken_for_bounds(ends):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"group": rng.integers(0, 2, 300), "stage": pd.Categorical(rng.integers(1, 3, 300))})
    frame.loc[frame["group"] == 0, "stage"] = 1
    made = plan(frame, public="stage", domain={"stage": ends})
    assert repr(made.channels["stage"].inputs) == repr(tuple(map(int, ends)))
    assert "declared" in str(made)
    assert "beyond the domain" not in " ".join(str(certificate_of(made.release(frame))).split())
    with pytest.raises(ArgumentError, match="all levels of the column; got a list without 1 of them"):
        plan(frame, public="stage", domain={"stage": (1, 3)})
    with pytest.raises(ArgumentError, match="domain must be a list of levels for a column of labels"):
        plan(frame, public="stage", domain={"stage": (1, 2.5)})


def test_declared_missing_levels_numbers_and_arrays():
    frame = pl.DataFrame(COLUMNS)
    pets = [level for level in dict.fromkeys(COLUMNS["pet"]) if level is not None]
    for declared, inputs in ((pets, (*pets, None)), ([None, *pets], (None, *pets))):
        found = plan(frame, public="pet", nulls="level", domain={"pet": declared}).channels["pet"]
        assert found.inputs == inputs
    found = plan(frame, public="grade", mechanism="channel", domain={"grade": range(-3, 6)}).channels["grade"]
    assert found.inputs == tuple(map(float, range(-3, 6)))
    for domain in ([-2, -1, 0], [0.5, 1.5, 2.5], ["a", "b", "c"], [True, False]):
        with pytest.raises(ArgumentError, match="domain"):
            plan(frame, public="grade", mechanism="channel", domain={"grade": domain})
    with pytest.raises(ArgumentError, match=r"\(low, high\) beside noise"):
        plan(frame, public="grade", domain={"grade": range(-3, 6)})
    asked = {"public": "grade", "mechanism": "channel"}
    one, other = (plan(frame, **asked, domain={"grade": d}) for d in (np.arange(-3, 6), range(-3, 6)))
    assert np.array_equal(one.channels["grade"].weights, other.channels["grade"].weights)
    flags = plan(frame, public="flag", mechanism="channel", domain={"flag": np.array([False, True])})
    assert list(map(type, flags.channels["flag"].inputs)) == [bool, bool]
    assert plan(frame, domain={"town": np.array(TOWNS)}).channels["town"].inputs == tuple(TOWNS)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
@pytest.mark.parametrize("epsilon", [20.0, 45.0, 700.0, 1e6])
@pytest.mark.parametrize("cap", [None, 8.0, 45.0, 1e6])
def test_a_large_epsilon_and_a_large_cap(epsilon, cap):
    options = Channel(radius=0 if cap is None else "auto", cap=cap)
    made = plan(pl.DataFrame(COLUMNS), epsilon=epsilon, mechanism=options, allow_zero_noise=True)
    if cap == 8.0:  # each other level with e^-8 of the probability of the level itself
        assert made.expected_error["town"] == pytest.approx(3 / (3 + math.exp(8)), rel=1e-6)
    else:
        assert made.expected_error["town"] < 1e-6
    assert made.release(pl.DataFrame(COLUMNS))["town"].n_unique() == 4


def test_bounds_cells_and_256_values():
    # Values beyond them are moved to them, so that these are among the inputs
    found = planned_elsewhere("polars", "integers, on a domain").channels["grade"]
    assert found.inputs == (-1.0, 0.0, 1.0, 2.0)
    released = dict(entries(elsewhere("polars", "cells, on a domain")))["real"]
    assert -1.0 <= min(released) < max(released) <= 1.5
    made = planned_elsewhere("polars", "cells")
    assert len(made.channels["real"].inputs) == 12
    assert set(dict(entries(elsewhere("polars", "cells")))["real"]) <= set(made.channels["real"].outputs)
    values = np.sort(COLUMNS["real"])
    assert made.channels["real"].inputs == tuple(np.unique(made.channels["real"].inputs))
    assert set(made.channels["real"].inputs) <= set(values)
    edges = made.fitted.column.edges
    shares = np.diff([0, *np.searchsorted(values, edges), ROWS])
    assert (abs(shares - ROWS / 12) <= 1).all()
    for values, inputs in ((256, 256), (257, 32)):
        frame = pl.DataFrame({"group": ["p", "q"] * 2048, "x": [k // 2 % values for k in range(4096)]})
        made = plan(frame, public="x", mechanism=Channel(outputs=2), epsilon=0.01)
        assert len(made.channels["x"].inputs) == inputs
        assert len(made.channels["x"].outputs) <= 2


@without_spark
def test_constant_columns_and_too_many_levels(make_frame):
    group = ["p", "q", "r"] * 514
    one = {"group": group, "town": [MARK] * 1542, "x": [8675309] * 1542}
    for column in ("town", "x"):
        asked = {"public": column, "mechanism": "channel"}
        with pytest.raises(NoNoiseNeededError) as caught:
            release(make_frame(one), **asked)
        assert "8675309" not in str(caught.value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", WideNoiseWarning)
            out = run(release(make_frame(one), **asked, allow_zero_noise=True))
        assert dict(entries(out))[column] == one[column]
        assert "got values that are all the same" in str(caught.value)
    many = {"group": group, "town": [f"{MARK}-{k % 513}" for k in range(1542)]}
    with pytest.raises(ArgumentError, match="'town' must be one of at most 512 different levels; got more") as caught:
        release(make_frame(many))
    assert "8675309" not in str(caught.value)


def test_plans_of_constant_columns_are_saved(tmp_path):
    group = np.random.default_rng(1).choice(["p", "q"], 100)
    frame = pl.DataFrame({"group": group, "town": ["a"] * 100})
    for domain in ({}, {"domain": {"town": ["a", "b"]}}):
        made = plan(frame, mechanism=Channel(preserve="marginal"), allow_zero_noise=True, **domain)
        made.save(tmp_path / "plan.json", overwrite=True)
        assert load_plan(tmp_path / "plan.json").release(frame)["town"].unique().to_list() == ["a"]


@without_spark
def test_more_levels_than_a_channel_has_are_merged(make_frame):
    """From as few rows on as leave a channel; texts of 6 rows are rare."""
    group = ["p", "q", "r"] * 1400
    towns = [f"{MARK}-{k % 600 if k < 3600 else k % 4 + 600}" for k in range(4200)]
    order = np.random.default_rng(1).permutation(4200)
    frame = make_frame({"group": [group[k] for k in order], "town": [towns[k] for k in order]})
    with pytest.raises(ArgumentError, match=r"512 different levels; got more\.[^0-9]*=7\)") as caught:
        release(frame)
    fewest = int(re.search(r"Say mechanism=Channel\(merge_rare=(\d+)\)", str(caught.value))[1])
    out = run(release(frame, mechanism=Channel(merge_rare=fewest)))
    assert {*dict(entries(out))["town"]} <= {"other", *(f"{MARK}-{k}" for k in range(600, 604))}


@without_spark
def test_names_are_not_merged(make_frame):
    frame = make_frame({"group": ["p", "q"] * 300, "town": [f"{MARK}-{k}" for k in range(600)]})
    with pytest.raises(ArgumentError, match="Hint: Leave out names and identifiers, or release a coarser column"):
        release(frame)


def test_every_kind_is_covered():
    assert {case.values[0] for case in CASES if not case.marks} == set(FRAME_KINDS)


# Columns of adult.data through a channel, in one line.

# A table of the papers

ADULT = {"workclass": 1, "education": 3, "marital_status": 5, "occupation": 6, "race": 8, "sex": 9, "income": 14}
PUBLISHED = {
    ("education", "race"): 0.174027,
    ("workclass", "race"): 0.183541,
    ("occupation", "sex"): 0.070032,
    ("income", "sex"): 0.010247,
}
"""Share of changed values at epsilon 1, radius 2/sqrt(n) and cap 8; of many secrets that of the stricter star form."""
ADULT_CASES = [(public, secret) for public in sorted(set(ADULT) - {"race", "sex"}) for secret in ("race", "sex")]


@functools.cache
def people():
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=list(ADULT.values()))
    return frame.set_axis(list(ADULT), axis=1)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
@pytest.mark.parametrize(
    ("public", "secret"),
    [
        pytest.param(*case, marks=() if case in PUBLISHED or case == ("marital_status", "race") else pytest.mark.slow)
        for case in ADULT_CASES
    ],
)
def test_adult_in_one_line(public, secret):
    released = people().puffer.privatize(
        secret=secret, public=public, epsilon=1.0, rng=1, layout=Layout(publish="expected_error")
    )
    changed = float((released[public] != people()[public]).mean())
    expected = released.puffer.certificate.channels[public]["expected_error"]
    assert abs(changed - expected) < 5 * (expected * (1 - expected) / len(released)) ** 0.5
    if (public, secret) in PUBLISHED:
        most = PUBLISHED[public, secret]
        assert expected == pytest.approx(most, abs=1.5e-6) or (secret == "race" and 0.99 * most < expected < most)
    assert list(released.columns) == [public]
