"""Units of plans are counted where their rows lie: the same scales, answers and errors as for the rows in memory."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from conftest import build_frame, sweep
from kinds import entries

import puffer_frames
from puffer_frames import ArgumentError, ArgumentTypeError, PriorError, PufferError, certificate_of
from puffer_frames.frames.plans import units
from puffer_frames.noise.totals import exact_sum

PLANS = ["polars-lazy", "duckdb", pytest.param("spark", marks=pytest.mark.slow)]


def ask(frame, **options):
    """What comes back of a release, or the error."""
    try:
        found = puffer_frames.aggregate(frame, rng=3, **{"epsilon": 1.0} | options)
    except PufferError as error:
        return type(error), str(error)
    return entries(found), str(certificate_of(found))


def random_table(rng):
    """Units of every dtype with few or many rows, and values with all that goes wrong."""
    rows = int(rng.integers(1, 60))
    owner = rng.integers(0, rng.integers(1, rows + 1), size=rows)
    town = owner % 3 if rng.random() < 0.9 else rng.integers(0, 3, size=rows)
    value = rng.choice([0, 1, 2, 5], size=rows) if rng.random() < 0.6 else np.round(rng.normal(size=rows), 1)
    names = [
        owner.tolist(),
        [f"ζ{k:02}" for k in owner],
        [bool(k % 2) for k in owner],
        pl.Series([f"n{k}" for k in owner], dtype=pl.Categorical),
    ]
    data = {
        "who": names[rng.integers(4)],
        "town": [f"t{k}" for k in town],
        "old": owner % 2 == 0,
        "what": value.tolist(),
    }
    for name in ("who", "town", "what"):
        if rng.random() < 0.15:
            spoiled = list(data[name])
            spoiled[rng.integers(rows)] = None
            data[name] = spoiled
    if rng.random() < 0.1:
        data["what"] = [float("nan" if k == 0 else "inf") if k < 2 else float(k) for k in range(rows)]
    return data


def random_request(rng):
    found = {"nulls": rng.choice(["raise", "drop"]), "protect": rng.choice(["presence", "replacement"])}
    found["unit"] = None if rng.random() < 0.15 else "who"
    found["query"] = ["sum", "count", ("sum", "count")][rng.integers(3)]
    if found["query"] != "count" or rng.random() < 0.5:
        found["value"] = "what"
    if rng.random() < 0.6:
        found["by"] = [["town"], ["old"], ["old", "town"]][rng.integers(3)]
    if found["unit"] is None or rng.random() < 0.2:
        found["domain"] = (-1, 4)
    if rng.random() < 0.2:
        found["laws"] = "gaussian"
    return found


@sweep(60, 600)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_the_same_as_in_memory(plan, count, monkeypatch, request):
    rng = np.random.default_rng(11)
    errors = 0
    spark = request.getfixturevalue("spark") if plan == "spark" else None
    for _ in range(count // 10 if spark else count):
        monkeypatch.setattr(units, "_PART", int(rng.choice([3, 1 << 24])))
        data, options = random_table(rng), random_request(rng)
        plain = {name: list(column) for name, column in data.items()} if spark else data
        found = ask(build_frame(plan, plain, spark), **options)
        expected = ask(build_frame("polars", plain), **options)
        if isinstance(expected[0], type):  # of two faults either may be found first
            errors += 1
            assert isinstance(found[0], type), options
        else:
            assert found == expected, options
    assert errors < 0.8 * count


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
def test_units_that_add_the_same_are_drawn_apart(plan):
    """contribution="draw": 400 units with the same four rows, of which each is drawn by 100 or so."""
    who = np.repeat(np.arange(400), 4)
    frame = build_frame(plan, {"who": who.tolist(), "what": [0.0, 1.0, 1000.0, 1e6] * 400})
    asked = {"unit": "who", "value": "what", "contribution": "draw", "protect": "replacement", "rng": 4}
    released = puffer_frames.aggregate(frame, epsilon=1.0, allow_zero_noise=True, **asked)
    assert dict(entries(released))["scale"] == [0.0]
    total = int(dict(entries(released))["answer"][0])
    drawn = [total // 10**6, total // 1000 % 1000, total % 1000]
    assert all(60 < count < 140 for count in drawn)


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
def test_units_by_name_have_the_rows_of_their_own(plan, monkeypatch):
    monkeypatch.setattr(units, "_PART", 2)
    data = {"who": ["a", "a", "b", "b", "c", "c"], "what": [0, 4, 0, 4, 1, 9]}
    asked = {"unit": "who", "value": "what", "protect": "replacement"}
    for pairs in ([("a", "b")], [("b", "c")]):
        found, expected = (
            ask(build_frame(k, data), **asked, pairs=pairs, allow_zero_noise=True) for k in (plan, "polars")
        )
        assert found == expected
    laws = {name: puffer_frames.Prior.empirical([0.0, 1.0]) for name in "abc"}
    found, expected = (
        ask(build_frame(k, data), unit="who", value="what", laws=laws, contribution="draw", domain=(0, 9))
        for k in (plan, "polars")
    )
    assert found == expected
    assert ask(build_frame(plan, data), unit="who", value="what", laws={"a": laws["a"]})[0] is ArgumentError


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        ({"who": [1.5, 2.0], "what": [1, 2]}, ArgumentTypeError, "unit column 'who'"),
        ({"who": ["a", "b"], "what": ["x", "y"]}, ArgumentTypeError, "value column 'what'"),
        ({"who": [1, 2], "what": [2**60, 1]}, PriorError, "within 2**53 of 0"),
        ({"who": [1, 2], "what": [1e302, 1]}, PriorError, "within 1e301 of 0"),
        ({"who": [1, 1], "what": [1, 2]}, ArgumentError, "at least two"),
    ],
)
def test_errors_of_plans(plan, data, error, said):
    found = ask(build_frame(plan, data), unit="who", value="what", protect="replacement")
    assert found[0] is error
    assert said in found[1]


def test_a_plan_of_no_rows():
    frame = pl.LazyFrame({"who": [], "what": []}, schema={"who": pl.Int64, "what": pl.Float64})
    assert ask(frame, unit="who", value="what")[0] is PriorError


def test_sums_of_many_equal_units_are_exact():
    """A value times the number of units that add it, where the product is no float."""
    rng = np.random.default_rng(2)
    values = np.append(
        rng.normal(size=300) * 10.0 ** rng.integers(-300, 290, size=300), [5e-324, -5e-324, 1e295, -1e295]
    )
    often = rng.integers(1, 2 ** rng.integers(1, 40, size=values.size))
    for part in (slice(None), slice(0, 3), slice(300, 302)):
        exact = sum(Fraction(v) * int(n) for v, n in zip(values[part], often[part], strict=True))
        found = exact_sum(values[part], often[part])
        assert abs(found - exact) <= abs(exact) * Fraction(2) ** -100
    with pytest.raises(PriorError, match="in the range of floats"):
        exact_sum(np.array([1e301, -1e301]), np.array([2**40, 2**40]))
