"""The same wrong request of every kind of frame: the same error with the same text, which shows no public value."""

import functools

import numpy as np
import pytest
from conftest import FRAME_KINDS, build_frame, thinned
from kinds import ROWS, make_columns, other_kind, release

from puffer_frames import Layout, Noise, PufferError
from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnNotFoundError, NoNoiseNeededError, PriorError

MARK = 8_675_309
"""A public value that no message may show."""
REAL = np.random.default_rng(6).normal(size=ROWS)
PLACES = np.arange(ROWS)


def columns():
    """With columns in which something is wrong."""
    made = make_columns()
    return made | {
        "score": made["score"] + MARK,
        "text": [str(number) for number in made["id"]],
        "one": ["a"] * ROWS,
        "holes": [None if k % 6 == 0 else label for k, label in enumerate(made["group"])],
        "gone": np.where(PLACES % 8 == 0, np.nan, REAL),
        "endless": np.where(PLACES % 9 == 0, np.inf, REAL),
        "half": made["code"] / 2,
        "large": made["score"] + 2**53,
        "day": np.datetime64("2020-01-01", "us") + np.where(made["old"], 0, 86_400_000_000).astype("m8[us]"),
        "twice": [5, 5, 5, *range(100, 97 + ROWS)],
        "unnumbered": [None, None, 5, *range(100, 97 + ROWS)],
    }


COLUMNS = columns()
WRONG = {
    "no such column": ({"public": "scores"}, ColumnNotFoundError, "'scores'"),
    "no such secret": ({"secret": "Group"}, ColumnNotFoundError, "'Group'"),
    "no such kept column": ({"layout": Layout(keep="notes")}, ColumnNotFoundError, "'notes'"),
    "no such row_id": ({"layout": Layout(row_id="idd")}, ColumnNotFoundError, "'idd'"),
    "the secret is public": ({"secret": "score"}, ArgumentError, "'score' for both"),
    "the secret is kept": ({"layout": Layout(keep="group")}, ArgumentError, "'group'"),
    "the public column is kept": ({"layout": Layout(keep=["note", "score"])}, ArgumentError, "'score'"),
    "a column twice": ({"public": ["score", "score"]}, ArgumentError, "one named twice"),
    "one secret": ({"secret": "one"}, ArgumentError, "1"),
    "text beside noise": ({"public": "note", "mechanism": "noise"}, ArgumentTypeError, "dtype String"),
    "text beside remap": ({"public": "note", "mechanism": Noise(remap=True)}, ArgumentTypeError, "dtype String"),
    "times as the secret": ({"secret": "day"}, ArgumentTypeError, "dtype Datetime"),
    "fractions as the secret": ({"secret": "half"}, ArgumentTypeError, "floats that are not integers"),
    "text numbers the rows": ({"layout": Layout(row_id="text")}, ArgumentTypeError, "dtype String"),
    "floats number the rows": ({"layout": Layout(row_id="height")}, ArgumentTypeError, "dtype Float32"),
    "two columns number the rows": ({"layout": Layout(row_id=["id", "some"])}, ArgumentTypeError, "several"),
    "the public column numbers the rows": ({"layout": Layout(row_id="score")}, ArgumentError, "'score'"),
    "rows of one number": ({"layout": Layout(row_id="twice")}, ArgumentError, "2 rows with that of another"),
    "missing in the public column": ({"public": "some"}, PriorError, "120 rows with one"),
    "NaN in the public column": ({"public": "gone"}, PriorError, "150 rows with one"),
    "missing in the secret": ({"secret": "holes"}, PriorError, "200 rows with one"),
    "infinities": ({"public": "endless"}, PriorError, "134 rows with an infinity"),
    "infinities, the rest dropped": (
        {"public": ["endless", "gone"], "nulls": "drop"},
        PriorError,
        "117 rows with an infinity",
    ),
    "integers that floats would merge": ({"public": "large"}, PriorError, "larger integers"),
    "nulls": ({"nulls": "ignore"}, ArgumentError, "'ignore'"),
    "epsilon": ({"epsilon": -1}, ArgumentError, "-1"),
    "Gaussian noise without delta": ({"mechanism": Noise("gaussian")}, ArgumentError, "0"),
    "a pair of no secret": ({"pairs": [("a", "B")]}, ArgumentError, "'B'"),
    "bounds of no public column": ({"domain": {"height": (0, 1)}}, ArgumentError, "bounds for 'height'"),
    "bounds in the wrong order": ({"layout": Layout(clip=(2, 1))}, ArgumentError, "(2, 1)"),
    "a theorem of two values": ({"mechanism": Noise(theorem="bernoulli")}, PriorError, "7 values"),
    "a theorem of one column": (
        {"public": ["score", "height"], "mechanism": Noise(theorem="gmm")},
        ArgumentError,
        "'gmm'",
    ),
    "already private": ({"epsilon": 50.0, "delta": 0.9}, NoNoiseNeededError, "values that are already private"),
    "a seed that is none": ({"rng": "seed"}, ArgumentTypeError, "a str"),
}


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


def refusal(frame, options):
    with pytest.raises(PufferError) as caught:
        release(frame, **options)
    return type(caught.value), str(caught.value)


@functools.cache
def refused_elsewhere(elsewhere, name):
    return refusal(build_frame(elsewhere, COLUMNS), WRONG[name][0])


@pytest.mark.parametrize(("kind", "name"), thinned(FRAME_KINDS, WRONG, often=3), indirect=["kind"])
def test_same_error(kind, frame, name):
    options, error, got = WRONG[name]
    found, text = refusal(frame, options)
    assert issubclass(found, error)
    assert f"; got {got}" in text
    assert str(MARK)[:4] not in text
    assert (found, text) == refused_elsewhere(other_kind(kind), name)


def test_rows_without_a_number(kind, frame):
    """Integers of which some are missing are floats in the NumPy dtypes of pandas, which number no rows."""
    found, text = refusal(frame, {"layout": Layout(row_id="unnumbered")})
    if kind == "pandas":
        assert (issubclass(found, ArgumentTypeError), "; got dtype Float64" in text) == (True, True)
        return
    assert (found, "; got 2 rows without one" in text) == (ArgumentError, True)
    elsewhere = build_frame("pandas-nullable" if kind == "polars" else "polars", COLUMNS)
    assert text == refusal(elsewhere, {"layout": Layout(row_id="unnumbered")})[1]


@pytest.mark.parametrize("nulls", ["raise", "drop"])
def test_no_rows(kind, make_frame, nulls):
    none = {name: np.array(COLUMNS[name])[:0] for name in ("group", "score")}
    found, text = refusal(make_frame(none), {"nulls": nulls})
    assert found is PriorError
    assert "0 rows" in text
    assert text == refusal(build_frame(other_kind(kind), none), {"nulls": nulls})[1]


def test_no_complete_row(kind, make_frame):
    rows = {"group": ["a", None, "b", None], "score": [None, 1, None, 2]}
    found, text = refusal(make_frame(rows), {"nulls": "drop"})
    assert found is PriorError
    assert text == refusal(build_frame(other_kind(kind), rows), {"nulls": "drop"})[1]
