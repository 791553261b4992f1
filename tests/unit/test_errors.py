"""Every wrong request is a clear error that changes nothing and shows no public value."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import build_frame

import puffer_frames
from puffer_frames import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PriorError,
    PufferError,
    privatize,
)

MARK = 8_675_309
"""A public value that no message may show."""


@pytest.fixture
def data():
    return {"race": ["a", "b", "a", "b", "b", "a", "b", "b"] * 5, "wage": [MARK, 1, 2, 3] * 10, "town": ["x"] * 40}


def fails(frame, error, *parts, **options):
    """The request raises the error; its text has the house's form, the parts, and no public value."""
    request = {"secret": "race", "public": "wage", "epsilon": 1.0} | options
    with pytest.raises(error) as caught:
        privatize(frame, **request)
    text = str(caught.value)
    assert isinstance(caught.value, PufferError)
    assert " must be " in text
    assert "; got " in text
    assert "\n\nHint: " in text
    assert str(MARK) not in text
    assert "8675309" not in text.replace(",", "").replace("_", "")
    for part in parts:
        assert part in text
    return caught.value


REQUESTS = [
    ({"public": "wages"}, ColumnNotFoundError, ["wages", "Did you mean 'wage'"]),
    ({"secret": "Race"}, ColumnNotFoundError, ["Race", "Did you mean 'race'"]),
    ({"keep": "twon"}, ColumnNotFoundError, ["twon", "'town'"]),
    ({"public": "zzz"}, ColumnNotFoundError, ["'race', 'wage', 'town'"]),
    ({"secret": "wage"}, ArgumentError, ["another column than the secret"]),
    ({"secret": []}, ArgumentError, ["secret"]),
    ({"secret": ["race", "race"]}, ArgumentError, ["one named twice"]),
    ({"secret": "town"}, ArgumentError, ["two different values"]),
    ({"public": [["wage"]]}, ArgumentTypeError, ["a column name"]),
    ({"public": 7}, ColumnNotFoundError, ["7"]),
    ({"public": None}, ArgumentTypeError, ["NoneType"]),
    ({"public": ["wage", "wage"]}, ArgumentError, ["one named twice"]),
    (
        {"public": "town", "mechanism": "noise"},
        ArgumentTypeError,
        ["of integers, floats or booleans", "String", 'mechanism="channel"'],
    ),
    ({"public": "town"}, ArgumentError, ["2 to 256 levels", "got 1"]),
    ({"epsilon": 0}, ArgumentError, ["epsilon", "greater than 0"]),
    ({"epsilon": -1}, ArgumentError, ["epsilon"]),
    ({"epsilon": math.inf}, ArgumentError, ["epsilon", "inf"]),
    ({"epsilon": math.nan}, ArgumentError, ["epsilon", "nan"]),
    ({"epsilon": "1"}, ArgumentTypeError, ["epsilon", "str"]),
    ({"epsilon": True}, ArgumentTypeError, ["epsilon", "bool"]),
    ({"delta": 1.0}, ArgumentError, ["delta", "less than 1"]),
    ({"delta": -1e-9}, ArgumentError, ["delta"]),
    ({"delta": math.nan}, ArgumentError, ["delta"]),
    ({"delta": None}, ArgumentTypeError, ["delta", "NoneType"]),
    ({"pairs": [("a", "B")]}, ArgumentError, ["'B'", "'a', 'b'"]),
    ({"pairs": [("a", "a")]}, ArgumentError, ["two different secrets"]),
    ({"pairs": []}, ArgumentTypeError, ["no pair"]),
    ({"pairs": "any"}, ArgumentTypeError, ["'any'"]),
    ({"pairs": ["ab"]}, ArgumentTypeError, ["pairs"]),
    ({"pairs": 3}, ArgumentTypeError, ["int"]),
    ({"pairs": [("a", "b", "c")]}, ArgumentTypeError, ["not a pair"]),
    ({"pairs": [(["a"], "b")]}, ArgumentTypeError, ["pairs"]),
    ({"theorem": "wasserstein"}, ArgumentError, ["kantorovich"]),
    ({"theorem": "bernoulli"}, PriorError, ["4 values"]),
    ({"calibration": "best"}, ArgumentError, ["exact"]),
    ({"keep": "race"}, ArgumentError, ["keep", "'race'"]),
    ({"keep": ["wage"]}, ArgumentError, ["keep"]),
    ({"index": "reset"}, ArgumentError, ["index"]),
    ({"nulls": "keep"}, ArgumentError, ["nulls"]),
    ({"clip": 3}, ArgumentTypeError, ["clip"]),
    ({"clip": (2, 1)}, ArgumentError, ["low < high"]),
    ({"clip": {"town": (0, 1)}}, ArgumentError, ["'town'"]),
    ({"domain": {"wage": (0, math.inf)}}, ArgumentError, ["both finite"]),
    ({"domain": {"race": (0, 1)}}, ArgumentError, ["'race'"]),
    ({"components": 2, "theorem": "kantorovich"}, ArgumentError, ["components"]),
    ({"beliefs": "mine"}, ArgumentTypeError, ["'mine'"]),
    ({"rng": "seed"}, ArgumentTypeError, ["rng", "str"]),
    ({"rng": -1}, ArgumentTypeError, ["rng"]),
    ({"rng": True}, ArgumentTypeError, ["rng", "bool"]),
    ({"epsilon": 50.0, "delta": 0.9}, CalibrationError, ["already private", "allow_zero_noise"]),
]


@pytest.mark.parametrize(("options", "error", "parts"), REQUESTS, ids=[str(r[0]) for r in REQUESTS])
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_wrong_arguments(data, kind, options, error, parts):
    frame = build_frame(kind, data)
    fails(frame, error, *parts, **options)
    assert list(frame.columns) == list(data)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_empty_frame(data, kind):
    fails(build_frame(kind, data).head(0), PriorError, "non-empty", "0 rows")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_nulls_in_the_public_column(data, kind):
    fails(build_frame(kind, data | {"wage": [MARK, None, 2, 3] * 10}), PriorError, "nulls and NaN", "10 rows")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_nulls_in_the_secret(data, kind):
    fails(build_frame(kind, data | {"race": ["a", "b", None, "b"] * 10}), PriorError, "'race'", "10 rows")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(("value", "part"), [(math.nan, "NaN"), (math.inf, "infinity"), (-math.inf, "infinity")])
def test_numbers_that_are_not_finite(data, make, value, part):
    fails(make(data | {"wage": np.array([float(MARK), value, 2, 3] * 10)}), PriorError, part, "10 rows")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_integers_that_floats_would_merge(data, make):
    fails(make(data | {"wage": [2**53 + 1, 1, 2, MARK] * 10}), PriorError, "2**53")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_secret_of_other_dtypes(data, make):
    fails(make(data | {"race": [0.5, 1.0] * 20}), ArgumentTypeError, "'race'", "not integers")
    fails(make(data | {"race": [pd.Timestamp(2020, 1, 1), pd.Timestamp(2021, 1, 1)] * 20}), ArgumentTypeError, "'race'")


@pytest.mark.parametrize("index", [range(1, 41), range(39, -1, -1), list("ab") * 20])
def test_undecided_index(data, index):
    error = fails(pd.DataFrame(data, index=index), ArgumentError, "index", 'index="drop"')
    assert error.what == "the index of the frame"


def test_undecided_multi_index(data):
    frame = pd.DataFrame(data, index=pd.MultiIndex.from_product([range(20), ["x", "y"]]))
    fails(frame, ArgumentError, "MultiIndex")


@pytest.mark.parametrize("frame", [{"race": ["a"]}, [1, 2], None, pd.Series([1, 2])])
def test_not_a_frame(frame):
    fails(frame, ArgumentTypeError, "a pandas or Polars DataFrame")


def test_errors_are_of_the_usual_python_kinds(data):
    frame = pd.DataFrame(data)
    assert isinstance(fails(frame, KeyError, public="x"), ColumnNotFoundError)
    assert isinstance(fails(frame, ValueError, epsilon=0), ArgumentError)
    assert isinstance(fails(frame, TypeError, epsilon="1"), ArgumentTypeError)


def test_errors_carry_their_parts_and_pickle():
    error = ArgumentError("epsilon", rule="positive", got="0", hint="Use 1.")
    again = pickle.loads(pickle.dumps(error))
    assert (again.what, again.rule, again.got, again.hint) == ("epsilon", "positive", "0", "Use 1.")
    assert str(again) == "epsilon must be positive; got 0.\n\nHint: Use 1."


def test_warnings_have_a_base():
    assert issubclass(puffer_frames.PufferWarning, UserWarning)
