"""Codes for missing values: in every kind of frame they are what nulls are there."""

import warnings
from datetime import date

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, run
from kinds import entries, release

import puffer_frames
from puffer_frames import Layout, certificate_of
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PriorError,
    SuspectValuesWarning,
)
from puffer_frames.frames.null_values import with_nulls

ROWS = 600
RNG = np.random.default_rng(1)
COLUMNS = {
    "group": RNG.choice(["a", "b", "refused"], ROWS, p=[0.45, 0.45, 0.1]).tolist(),
    "level": RNG.choice([1, 2, -9], ROWS, p=[0.45, 0.45, 0.1]).tolist(),
    "income": RNG.choice([*range(6), 9999999], ROWS).tolist(),
    "weight": RNG.choice([1.5, 2.5, -1.0], ROWS).tolist(),
    "status": RNG.choice(["x", "y", "dk"], ROWS).tolist(),
    "id": RNG.permutation(ROWS).tolist(),
}
CODES = {"group": "refused", "level": [-9], "income": [9999999, "none"], "weight": -1, "status": ["dk"]}
NULLS = {
    name: [None if x in (CODES[name] if isinstance(CODES[name], list) else [CODES[name]]) else x for x in found]
    for name, found in COLUMNS.items()
    if name in CODES
} | {"id": COLUMNS["id"]}
REQUESTS = {
    "numbers": {"public": "income", "nulls": "drop"},
    "integers as secret, floats": {"secret": "level", "public": "weight", "nulls": "drop"},
    "labels": {"public": "status", "nulls": "drop"},
    "given": {"public": "income", "given": "status", "nulls": "drop"},
}


def codes_of(asked):
    names = {asked.get("secret", "group"), asked["public"], asked.get("given")}
    return {name: own for name, own in CODES.items() if name in names}


@pytest.mark.filterwarnings("ignore:null_values:puffer_frames.errors.SuspectValuesWarning")
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_codes_are_nulls(kind, make_frame, asked):
    """The frame with codes is released as the one with nulls; the plan of the one covers the other, from a file too."""
    asked = {"epsilon": 0.05, "layout": Layout(row_id="id")} | asked
    frame, codes = make_frame(COLUMNS), codes_of(asked)
    out = run(release(frame, **asked, null_values=codes))
    expected = run(release(make_frame(NULLS), **asked))
    assert entries(out) == entries(expected)
    assert certificate_of(out).fingerprint == certificate_of(expected).fingerprint
    assert entries(frame)[0][1] == COLUMNS["group"]  # it is nobody's to change


def test_plans_keep_codes(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    asked = {"secret": "group", "public": ["income", "weight"], "epsilon": 1.0, "nulls": "drop"}
    codes = {"income": [9999999], "weight": -1, "group": ["refused"]}
    plan = puffer_frames.calibrate(frame, **asked, null_values=codes)
    assert "read as missing   income (1 code), weight (1 code), group (1 code)" in str(plan)
    plan.save(tmp_path / "plan.json")
    loaded = puffer_frames.load_plan(tmp_path / "plan.json")
    assert loaded.fitted.request.null_values == {"income": (9999999,), "weight": (-1,), "group": ("refused",)}
    out = loaded.release(pl.DataFrame(COLUMNS), rng=1)
    assert len(out) == len(plan.release(frame, rng=1)) < ROWS
    assert loaded.check(frame).verdict == "covered"
    assert plan.loss_given(frame, "status").shape[0] == 3
    said = {one.key: one.text for one in certificate_of(out).statements}["null-values"]
    assert said.endswith("income (1 code), weight (1 code), group (1 code).")
    assert "9999999" not in str(certificate_of(out))
    assert certificate_of(out).facts.recoded


def test_codes_of_a_level():
    """A code may be what becomes the level of missing values; comparisons and other tables read it so, too."""
    frame = pd.DataFrame(COLUMNS)[lambda f: f["group"] != "refused"]
    asked = {"secret": "group", "public": "status", "nulls": "level", "null_values": {"status": "dk"}}
    out = puffer_frames.privatize(frame, **asked, epsilon=1.0, rng=1, layout=Layout(index="drop"))
    assert set(out["status"].dropna()) == {"x", "y"}
    assert out["status"].isna().any()
    plans = [
        puffer_frames.calibrate(frame, **asked, epsilon=1.0, beliefs=b) for b in ("empirical", ["empirical", frame])
    ]
    assert plans[0].expected_error == plans[1].expected_error
    numbers = asked | {"public": "income", "null_values": {"income": 9999999}, "nulls": "drop", "epsilon": 0.05}
    compared = puffer_frames.compare(frame, **numbers, beliefs="empirical", mechanism="noise")
    plan = puffer_frames.calibrate(frame, **numbers, beliefs="empirical")
    assert plan.expected_error["income"] in compared["error"].tolist()


def test_codes_that_libraries_compare_otherwise():
    # Labels of pandas may be anything, and Polars takes some names for patterns
    frame = pd.DataFrame({0: COLUMNS["group"], ("a", 1): COLUMNS["income"]}, dtype=object).infer_objects()
    asked = {"secret": 0, "epsilon": 0.05, "nulls": "drop"}
    out = puffer_frames.privatize(frame, **asked, public=[("a", 1)], null_values={0: "refused", ("a", 1): 9999999})
    assert 0 < len(out) < ROWS
    odd = pl.DataFrame({"^.*$": COLUMNS["group"], "income": COLUMNS["income"]})
    codes = {"^.*$": "refused", "income": 9999999}
    assert len(puffer_frames.privatize(odd, **asked | {"secret": "^.*$"}, public="income", null_values=codes)) == len(
        out
    )
    late = pd.DataFrame({"a": pd.Series(["x"] * 200 + [1, "1"], dtype=object)})  # whose first entries are texts
    assert with_nulls(late, {"a": ("1",)})["a"].tolist()[-2] == 1
    connection = pytest.importorskip("duckdb").connect()
    connection.execute('create table words ("a ""b""" varchar collate nocase)')
    connection.execute("insert into words values ('NA'), ('na'), ('b')")
    found = with_nulls(connection.table("words"), {'a "b"': ("na",)})
    assert [word for (word,) in found.fetchall()] == ["NA", None, "b"]


@pytest.mark.parametrize("library", [pd, pl])
def test_codes_in_no_row(library):
    frame = library.DataFrame(COLUMNS)
    asked = {"secret": "level", "public": "status", "epsilon": 1.0, "nulls": "drop"}
    with pytest.warns(SuspectValuesWarning, match="column 'status' name codes that are in no row: 'DK'"):
        puffer_frames.calibrate(frame, **asked, null_values={"status": ["dk", "DK"]})
    with pytest.warns(SuspectValuesWarning, match="(?s)in no row: '-9'.*Write numbers without quotation marks"):
        puffer_frames.calibrate(frame, **asked, null_values={"level": ["-9"]})


@pytest.mark.parametrize(
    ("kind", "levels", "code"),
    [
        *[
            (kind, [1, 2, 9], code)
            for kind in ("categories", "dictionary", "dictionary in pandas")
            for code in (9, 9.0)
        ],
        *[("categories", [1, 2, "1"], code) for code in (1, "1")],
        *[("categories", [True, "True", "x"], code) for code in (True, "True")],
    ],
)
def test_a_code_of_categories_means_the_level_of_its_type(kind, levels, code):
    entries = [levels[k % 3] for k in range(ROWS)]
    if kind == "categories":
        level = pd.Categorical(pd.Series(entries, dtype=object))
    else:
        level = pa.array(entries).dictionary_encode()
        level = pd.Series(level, dtype=pd.ArrowDtype(level.type)) if kind != "dictionary" else level
    columns = {"level": level, "income": np.where(np.equal(COLUMNS["income"], 9999999), 6, COLUMNS["income"])}
    frame = pa.table(columns) if kind == "dictionary" else pd.DataFrame(columns)
    asked = {"secret": "level", "public": "income", "epsilon": 0.05, "nulls": "drop"}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="null_values", category=SuspectValuesWarning)
        plan = puffer_frames.calibrate(frame, **asked, null_values={"level": [code]})
    kept = [level for level in levels if not (level == code and isinstance(level, str) == isinstance(code, str))]
    assert {*plan.rows_per_secret} == {*kept}
    with pytest.warns(SuspectValuesWarning, match="(?s)in no row.*Write numbers without quotation marks"):
        puffer_frames.calibrate(frame, **asked, null_values={"level": ["2", 3]})


@pytest.mark.parametrize("indices", ["uint8", "uint32", "uint64", "int8"])
@pytest.mark.parametrize("levels", [["x", "1900-01-01"], [date(2020, 1, 1), date(1900, 1, 1)]])
def test_codes_of_dictionaries_of_any_indices(indices, levels):
    """Polars hands over categories and enums with indices without a sign."""
    part = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], indices), pa.array(levels), ordered=True)
    table = pa.table({"a": pa.chunked_array([part, part.slice(1, 1)])})
    found = with_nulls(table, {"a": ("1900-01-01",)})
    assert found["a"].to_pylist() == [levels[0], None, None, None]
    assert found["a"].type == part.type
    frame = pd.DataFrame({"a": pd.Series(table["a"], dtype=pd.ArrowDtype(part.type))})
    found = with_nulls(frame, {"a": ("1900-01-01",)})
    assert found["a"].isna().tolist() == [False, True, True, True]
    assert found["a"].dtype == frame["a"].dtype


@pytest.mark.parametrize(
    ("codes", "error", "match"),
    [
        ([9999999], ArgumentTypeError, "a mapping of column"),
        ({"incme": 1}, ColumnNotFoundError, "Did you mean 'income'"),
        ({"id": 1}, ArgumentError, "codes of secret, public, given and unit columns"),
        ({"income": []}, ArgumentError, "none of 'income'"),
        ({"income": None}, ArgumentTypeError, "a NoneType"),
        ({"income": float("nan")}, ArgumentTypeError, "finite"),
        ({"income": 2**70}, ArgumentTypeError, "below 2"),
        ({"income": 9999999}, PriorError, "without nulls"),
    ],
)
def test_what_is_no_code(codes, error, match):
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(error, match=match):
        puffer_frames.privatize(frame, secret="group", public="income", epsilon=1.0, null_values=codes)


def test_releases_with_other_codes_do_not_add_up():
    """A code that is left out changes the law that the loss is measured under."""
    rows = [
        (group, k)
        for group, often in (("a", (30, 30, 40, 20)), ("b", (30, 30, 20, 40)))
        for k in range(4)
        for _ in range(often[k])
    ]
    frame = pd.DataFrame(rows, columns=["group", "x"]).assign(x=lambda f: f["x"] * f["x"])
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    asked = {"secret": "group", "public": "x", "epsilon": 0.05, "nulls": "drop", "releases": 2}
    plans = [puffer_frames.calibrate(frame, **asked, null_values={"x": code}) for code in (0, 1)]
    first, again, other = (certificate_of(plan.release(frame)) for plan in (plans[0], *plans))
    assert first.rows == other.rows
    for second in (again, other):  # whose certificates do not tell that it has the same codes
        with pytest.raises(CalibrationError, match="codes that were read as missing values"):
            puffer_frames.compose([first, second])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "duckdb"])
def test_a_code_that_floats_of_32_bits_do_not_have(kind):
    frame = build_frame(kind, {"x": [0.5, 0.1, 2.0]})
    narrow = nw.to_native(nw.from_native(frame).with_columns(nw.col("x").cast(nw.Float32)))
    found = nw.from_native(with_nulls(narrow, {"x": (0.1,)}))
    rows = found.lazy().collect()
    assert rows["x"].is_null().to_list() == [False, True, False]


@pytest.mark.filterwarnings("ignore:null_values:puffer_frames.errors.SuspectValuesWarning")
def test_answers_and_comparisons_take_codes(kind, make_frame):
    """They are what nulls are: in the answers, in their certificate, in an audit and beside the release."""
    frame, nulls = make_frame(COLUMNS), make_frame(NULLS)
    summed = {"value": "income", "query": "sum", "domain": (0, 6), "nulls": "drop", "epsilon": 1.0}
    with pytest.warns(SuspectValuesWarning, match="in no row"):
        out = puffer_frames.aggregate(frame, **summed, null_values=CODES | {"level": [-8]}, rng=1)
    assert entries(out) == entries(puffer_frames.aggregate(nulls, **summed, rng=1))
    assert "income (2 codes)" in next(s.text for s in certificate_of(out).statements if s.key == "null-values")
    series = {"state": "status", "time": "id", "nulls": "drop", "epsilon": 1.0}
    series["mechanism"] = "group"
    out = puffer_frames.histogram(frame, **series, null_values={"status": "dk"}, rng=1)
    assert entries(out) == entries(puffer_frames.histogram(nulls, **series, rng=1))
    if kind not in ("polars-lazy", "duckdb", "spark"):
        quality = puffer_frames.compare_tables(frame, nulls, null_values=CODES)
        assert quality.score == 1.0
        assert puffer_frames.compare_tables(frame, nulls).score < 1.0
        request = summed | {"null_values": {"income": 9999999}}
        answer = puffer_frames.aggregate(frame, **request)
        assert puffer_frames.audit(frame, answer, request=request, level=0.9999999).passed
        asked = {"secret": "group", "public": "income", "epsilon": 0.05, "nulls": "drop"} | {
            "null_values": request["null_values"]
        }
        released = puffer_frames.privatize(frame, **asked)
        with pytest.raises(ArgumentError, match="row by row"):
            puffer_frames.audit(frame, released)
        assert puffer_frames.audit(frame, released, null_values=asked["null_values"]).checks
        asked = {"secret": "group", "public": "income", "epsilon": 0.05, "domain": {"income": (0, 9999999)}}
        released = puffer_frames.privatize(frame, **asked)
        with pytest.raises(ArgumentError, match=r"(?s)missing values of 'income', or codes.*null_values"):
            puffer_frames.audit(frame, released, null_values={"income": 9999999})
    with pytest.raises(ColumnNotFoundError):
        puffer_frames.aggregate(frame, **summed, null_values={"wealth": 1})
