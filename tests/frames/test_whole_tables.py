"""Whole tables from every kind of frame: the same values for one key, and no secret in what leaves."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from puffer_frames import Layout, Sequential, calibrate, load_plan, privatize
from puffer_frames.errors import (
    ArgumentError,
    CalibrationError,
    PriorError,
    PufferWarning,
    RareLevelsWarning,
    SuspectValuesWarning,
)
from puffer_frames.mechanisms.sequential import fitted, measured

SECRETS = ("secret-of-one", "secret-of-two")
OPTIONS = Sequential(components=1, contexts=2, holdout=0.0)
ROWS = 900


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Few simulated rows: what is tested here does not rest on how good a plan is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitted, "_FEW_SIMULATED", 1500)
        patch.setattr(measured, "_SIMULATED", 1000)
        patch.setattr(measured, "_ROUNDS", 10)
        patch.setattr(fitted, "WARNED", 100.0)
        patch.setattr(fitted, "REFUSED", 100.0)
        yield


def table(*, missing=True):
    rng = np.random.default_rng(0)
    group = rng.choice(SECRETS, ROWS)
    first = group == SECRETS[0]
    town = np.where(rng.random(ROWS) < 0.3, np.where(first, "x", "y"), rng.choice(["x", "y", "z"], ROWS)).tolist()
    age = (rng.integers(18, 60, ROWS) + 5 * first).tolist()
    if missing:
        town = [None if k % 17 == 3 else entry for k, entry in enumerate(town)]
        age = [None if k % 11 == 5 else entry for k, entry in enumerate(age)]
    code = {"x": 10, "y": 20, "z": 30, None: 0}
    return {
        "group": group.tolist(),
        "town": town,
        "code": [code[entry] for entry in town],
        "age": age,
        "pay": rng.lognormal(3, 1, ROWS).round(2).tolist(),
        "owns": (rng.random(ROWS) < np.where(first, 0.7, 0.3)).tolist(),
        "number": list(range(ROWS)),
    }


def asked(**options):
    return {"secret": "group", "epsilon": 1.0, "mechanism": OPTIONS, "nulls": "level"} | options


PUBLIC = ["town", "code", "age", "pay", "owns"]


def values_of(frame):
    """A release as lists, in the order of its numbers."""
    if hasattr(frame, "toArrow"):
        frame = pl.from_arrow(frame.toArrow())
    if hasattr(frame, "collect"):
        frame = frame.collect()
    if isinstance(frame, pa.Table):
        frame = pl.from_arrow(frame)
    if isinstance(frame, pd.DataFrame):
        frame = pl.from_pandas(frame)
    frame = frame.sort("number")
    return {
        name: [None if entry is None or entry != entry else entry for entry in frame[name].to_list()]
        for name in frame.columns
    }


@pytest.fixture(scope="module")
def expected(quick):
    frame = pl.DataFrame(table())
    return values_of(privatize(frame, **asked(public=PUBLIC, layout=Layout(keep="number", row_id="number"), rng=7)))


def test_every_kind_gives_the_same_and_many_columns_by_default(make_frame, kind, expected):
    released = privatize(
        make_frame(table()), **asked(public=PUBLIC, layout=Layout(keep="number", row_id="number"), rng=7)
    )
    assert values_of(released) == expected
    frame = pl.DataFrame(table(missing=False)).drop("number")
    released = privatize(frame, secret="group", epsilon=1.0)
    assert released.puffer.certificate.theorem == "sequential"
    assert privatize(frame.drop("code"), secret="group", epsilon=1.0).puffer.certificate.theorem != "sequential"


def test_what_is_released(expected):
    raw = table()
    assert set(expected) == {*PUBLIC, "number"}
    assert set(expected["town"]) == {"x", "y", "z", None}
    code = {"x": 10, "y": 20, "z": 30, None: 0}
    assert expected["code"] == [code[entry] for entry in expected["town"]]
    for name in ("age", "pay"):
        assert set(expected[name]) <= set(raw[name])
        assert len(set(expected[name])) <= OPTIONS.cells + (name == "age")
    assert all(type(entry) is bool for entry in expected["owns"])
    assert all(entry is None or type(entry) is int for entry in expected["age"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_the_secret_is_in_nothing_that_leaves(make, tmp_path):
    frame = make(table(missing=False) | {"group": table()["group"]})
    released = privatize(frame, **asked(public=PUBLIC))
    path = tmp_path / "released.parquet"
    if isinstance(released, pd.DataFrame):
        released.puffer.write_parquet(path)
        text = released.to_csv()
    elif isinstance(released, pl.DataFrame):
        released.puffer.write_parquet(path)
        text = released.write_csv()
    else:
        pq.write_table(released, path)
        text = str(released.to_pydict())
    # the certificate names the two values that it covers, and no row
    content = path.read_bytes()
    for secret in SECRETS:
        assert secret not in text
        assert content.count(secret.encode()) <= 4


def test_missing_values_are_refused_or_dropped_or_a_level():
    frame = pl.DataFrame(table())
    with pytest.raises(PriorError, match="without missing values") as caught:
        privatize(frame, **asked(public=PUBLIC, nulls="raise"))
    assert 'nulls="level"' in str(caught.value)
    dropped = privatize(frame, **asked(public=PUBLIC, nulls="drop"))
    assert len(dropped) == len(frame.drop_nulls())
    assert dropped.null_count().sum_horizontal().item() == 0
    with pytest.raises(PriorError, match="secret column 'group'"):
        privatize(frame.with_columns(group=pl.lit(None, dtype=pl.String)), **asked(public=PUBLIC))
    one_left = frame.with_columns(town=pl.when(pl.col("group") == SECRETS[0]).then("town"))
    with pytest.raises(ArgumentError, match="got 1 in the rows that are left without missing values"):
        privatize(one_left, **asked(public=PUBLIC, nulls="drop"))


def test_a_column_that_numbers_the_rows_is_warned_about():
    frame = pl.DataFrame(table(missing=False))
    shuffled = frame.with_columns(number=pl.Series(np.random.default_rng(1).permutation(ROWS) + 10_000))
    with pytest.warns(SuspectValuesWarning, match="'number' holds whole numbers, none of them twice"):
        privatize(shuffled, **asked(public=["town", "age", "number"]))


def test_suspect_values_and_rare_levels_are_warned_about(tmp_path):
    data = table(missing=False)
    group = ["NA" if k % 40 == 0 else entry for k, entry in enumerate(data["group"])]
    age = [-999 if k % 20 == 0 else entry for k, entry in enumerate(data["age"])]
    town = ["once" if k == 5 else entry for k, entry in enumerate(data["town"])]
    first, last = np.datetime64("2026-01-01"), np.datetime64("9999-12-31")
    frame = pd.DataFrame({"group": group, "town": town, "age": age, "owns": data["owns"]})
    frame["day"] = np.where(np.arange(ROWS) % 30, first + np.array(data["age"]), last)
    frame["fee"] = [f"{a},5" for a in data["age"]]
    with pytest.warns(PufferWarning) as caught:
        plan = calibrate(frame, **asked(public=["town", "age", "day", "fee", "owns"]))
    told = [str(one.message) for one in caught if isinstance(one.message, (SuspectValuesWarning, RareLevelsWarning))]
    for number, words in enumerate(
        (
            "the public column 'age' has 45 rows with a value that comes often",
            "the public column 'day' has 30 rows with a value that comes often",
            "the secret holds text that may stand for a missing value: 'NA' in 23 rows",
            "1 level of the public column 'town' has fewer than 5 rows",
            "the public column 'fee' holds text that looks like numbers",
        )
    ):
        assert words in told[number]
    assert len(told) == 5
    assert "once" not in str(told)
    plan.save(tmp_path / "plan.json")
    with warnings.catch_warnings(action="ignore"):
        released = load_plan(tmp_path / "plan.json").release(frame)
    assert "rare-levels" in released.puffer.certificate.warnings
    domain = {"age": (-999, 70), "day": (first, last), "fee": sorted(set(frame["fee"]))}
    with pytest.warns(PufferWarning) as caught:
        calibrate(frame, **asked(public=["town", "age", "day", "fee", "owns"], domain=domain))
    assert [one.message.what for one in caught if isinstance(one.message, SuspectValuesWarning)] == ["the secret"]


def test_few_columns_are_released_in_this_way_where_joint_noise_does_badly():
    frame = pl.concat([pl.DataFrame(table(missing=False))] * 3).drop("number")
    for public, epsilon, theorem in (
        (["age", "town"], 1.0, "sequential"),
        (["age", "pay"], 1.0, "sequential"),  # a constant is nearer
        (["age", "code"], 8.0, "joint"),
        ("town", 1.0, "channel"),
    ):
        released = privatize(frame, secret="group", public=public, epsilon=epsilon)
        assert released.puffer.certificate.theorem == theorem, public
    few = privatize(frame.head(1500), secret="group", public=["age", "town"], epsilon=1.0)
    assert few.puffer.certificate.theorem != "sequential"
    many = frame.with_columns(town=(pl.int_range(len(frame)) * 37 % 90).cast(pl.String))  # too many labels for it
    released = privatize(many, secret="group", public=["age", "town"], epsilon=1.0)
    assert released.puffer.certificate.theorem == "joint"


def test_a_comparison_has_its_rows_beside_joint_noise():
    frame = pl.DataFrame(table(missing=False))
    asked_for = {"secret": "group", "public": ["town", "code", "age"], "epsilon": 1.0}
    found = frame.puffer.compare(**asked_for, mechanism=["noise", OPTIONS], beliefs="empirical")
    rows = found.filter(pl.col("mechanism") == "sequential")
    assert rows["column"].to_list() == ["town", "age"]  # code is computed from town
    assert rows["belief"].unique().to_list() == ["network"]
    assert (rows["error"] < rows["error"] / rows["error_constant"]).all()
    plan = calibrate(frame, **asked(public=asked_for["public"], nulls="raise"))
    assert rows["error"].to_list() == [plan.kept.changed["town"], plan.kept.distance["age"]]
    assert rows["loss_reader"].to_list() == [plan.reader_loss] * 2
    every = frame.puffer.compare(**asked_for, beliefs="empirical")
    assert "sequential" not in every["mechanism"].to_list()  # so few rows only where it is asked for


def test_the_plan_is_that_of_the_rows_in_any_order_and_library(tmp_path):
    data = table()
    plan = calibrate(pl.DataFrame(data), **asked(public=PUBLIC))
    order = np.random.default_rng(1).permutation(ROWS)
    mixed = pd.DataFrame(data).iloc[order].reset_index(drop=True).convert_dtypes()
    assert calibrate(mixed, **asked(public=PUBLIC)).identity() == plan.identity()
    plan.save(tmp_path / "plan.json")
    again = load_plan(tmp_path / "plan.json")
    frame = pl.DataFrame(data)
    assert again.release(frame, rng=3).equals(plan.release(frame, rng=3))
    assert again.release(mixed, rng=3) is not None
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(frame.head(600))
    part = plan.release(frame.head(600), allow_other_frame=True, rng=3)
    assert part.equals(plan.release(frame, rng=3).head(600))  # a row's release depends on no other row
    with pytest.raises(CalibrationError, match="levels that were counted"):
        plan.release(frame.with_columns(town=pl.lit("new")), allow_other_frame=True)
    with pytest.raises(CalibrationError, match="secrets of the plan"):
        plan.release(frame.with_columns(group=pl.lit("new")), allow_other_frame=True)


@pytest.mark.parametrize("mechanism", ["noise", OPTIONS])
def test_all_columns_with_other_levels_are_named(mechanism):
    """One was, and after it was mended the next."""
    frame = pd.DataFrame(table(missing=False)).assign(size=["s", "m"] * (ROWS // 2))
    plan = calibrate(frame, **asked(public=["town", "size", "age"], mechanism=mechanism, nulls="raise"))
    other = frame.assign(town=["new", *frame["town"][1:]], size=["new", "old", *frame["size"][2:]])
    with pytest.raises(CalibrationError, match=r"columns 'town', 'size' must be of the levels .* 1 row, 2 rows"):
        plan.release(other, allow_other_frame=True, allow_drift=True)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"delta": 1e-6}, "delta"),
        ({"secrets": "each", "secret": ["group", "owns"], "public": ["town", "age"]}, "secrets"),
        ({"pairs": [SECRETS]}, "pairs"),
        ({"beliefs": "population"}, "beliefs"),
        ({"releases": 2}, "releases"),
        ({"given": "owns", "public": ["town", "age"]}, "given"),
        ({"mechanism": Sequential(known="elsewhere")}, "known"),
        ({"layout": Layout(clip=(0, 9))}, "clip"),
        ({"layout": Layout(round=True)}, "round"),
    ],
)
def test_what_there_is_not(options, name):
    with pytest.raises(ArgumentError, match=name):
        privatize(pl.DataFrame(table()), **asked(public=PUBLIC) | options)


def test_numbers_that_the_plan_does_not_know_are_told(tmp_path):
    """A later table came out with the year of the plan, and incomes a million times too large as those of the plan."""
    people = pd.DataFrame(table(missing=False)).assign(year=2025, number=1)
    plan = people.puffer.calibrate(**asked(public=[*PUBLIC, "year"]))
    same = plan.release(people).puffer.certificate
    assert not any(one.key == "table-other-rows" for one in same.statements)
    with pytest.raises(CalibrationError):
        plan.release(people.assign(year=2026))
    for changed in ({"year": 2026}, {"pay": people["pay"] * 1e6}, {"code": people["code"].replace({20: 10})}):
        later = people.assign(**changed)
        (name,) = changed
        with pytest.warns(SuspectValuesWarning, match=name):
            found = [each for each in plan.check(later).findings if each.check == "other values"]
        rows = (people["town"] == "y").sum() if name == "code" else len(people)
        assert [(each.column, each.found) for each in found] == [(name, rows)]
        with pytest.warns(SuspectValuesWarning, match=name):
            released = plan.release(later, allow_other_frame=True)
        assert any(one.key == "table-other-rows" for one in released.puffer.certificate.statements)
    plan.save(tmp_path / "plan")
    again = load_plan(tmp_path / "plan")
    with pytest.warns(SuspectValuesWarning):
        again.release(people.assign(pay=-1.0), allow_other_frame=True)


def test_a_domain_is_on_the_certificate():
    """The certificate told of few changed values where a domain had moved half of them."""
    people = pd.DataFrame(table(missing=False))
    with pytest.warns(SuspectValuesWarning, match="domain"):
        plan = people.puffer.calibrate(**asked(public=PUBLIC, domain={"age": (30, 40)}))
    released = plan.release(people)
    certificate = released.puffer.certificate
    assert released["age"].between(30, 40).all()
    assert certificate.facts.prepared == ("clipped",)
    assert "beyond the domain were moved" in str(certificate)
    assert "beyond the domain are moved" in str(plan)
