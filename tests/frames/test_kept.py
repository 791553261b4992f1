"""Kept columns that determine the secret or a public column are warned about, others are not."""

import datetime
import decimal
import fractions
import itertools
import math
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import FRAME_KINDS, LOCAL_KINDS, build_frame, few, run, table, thinned, without_spark

import puffer_frames
from puffer_frames import KeptColumnWarning, Layout, certificate_of
from puffer_frames.frames import kept
from puffer_frames.frames.kept import Column, Evidence, guesses
from puffer_frames.frames.local.looks import plan_evidence

ROWS = 1000
RNG = np.random.default_rng(21)
GROUP = RNG.integers(0, 3, ROWS)
SCORE = RNG.integers(0, 8, ROWS) + (RNG.random(ROWS) < 0.3) * GROUP
REAL = RNG.normal(size=ROWS) + GROUP
LETTER = np.array(["a", "b", "c"])[GROUP]
FLAG, THIRD = RNG.integers(0, 2, ROWS), RNG.integers(0, 3, ROWS)
DAY = datetime.date(2020, 1, 1)


# name: (kept columns, name of the public one, what is warned about)
KEPT = {
    "nothing that tells": ({"k": RNG.integers(0, 5, ROWS)}, "score", []),
    "one value": ({"k": ["x"] * ROWS}, "score", []),
    "other labels of the secret": ({"k": [f"group {k}" for k in GROUP]}, "score", [("k", "group")]),
    "a finer code": (
        {"k": [f"{s}-{k:03}" for s, k in zip(LETTER, RNG.integers(0, 9, ROWS))]},
        "score",
        [("k", "group")],
    ),
    "a finer code, nearly all different": (
        {"k": [f"{s}-{k:05}" for s, k in zip(LETTER, RNG.permutation(ROWS))]},
        "score",
        [("k", "group")],
    ),
    "two errors in a hundred": (
        {"k": np.where(np.arange(ROWS) % 50 == 0, (GROUP + 1) % 3, GROUP)},
        "score",
        [("k", "group")],
    ),
    "half of the rows told": (
        {"k": np.where(RNG.random(ROWS) < 0.5, GROUP, RNG.integers(0, 3, ROWS))},
        "score",
        [("k", "group")],
    ),
    "a fifth of the rows told": (
        {"k": np.where(RNG.random(ROWS) < 0.15, GROUP, RNG.integers(0, 3, ROWS))},
        "score",
        [],
    ),
    "one value in twenty rows": ({"k": np.where(np.arange(ROWS) % 9 == 0, GROUP, 3)}, "score", [("k", "group")]),
    "five errors in a thousand": (
        {"k": np.where(np.arange(ROWS) % 200 == 0, (GROUP + 1) % 3, GROUP)},
        "score",
        [("k", "group")],
    ),
    "a copy of the public column": ({"k": SCORE}, "score", [("k", "score")]),
    "another scale of it": ({"k": 3 - 2 * SCORE}, "score", [("k", "score")]),
    "a copy of real numbers": ({"k": REAL * 9 / 5 + 32}, "real", [("k", "group"), ("k", "real")]),
    "a monotone map of them": ({"k": np.exp(-REAL)}, "real", [("k", "group"), ("k", "real")]),
    "their whole part": ({"k": np.round(20 * REAL)}, "real", [("k", "group"), ("k", "real")]),
    "numbers that have to do with them": ({"k": REAL - GROUP + RNG.normal(size=ROWS)}, "real", []),
    "numbers that have to do with the secret": ({"k": REAL + RNG.normal(size=ROWS)}, "real", [("k", "group")]),
    "two that do so together, among many values": (
        {"k": RNG.permutation(ROWS), "m": THIRD * 300 + RNG.permutation(ROWS) % 300, "n": (THIRD + GROUP) % 3},
        "score",
        [("m and n", "group")],
    ),
    "row numbers": ({"k": RNG.permutation(ROWS)}, "score", []),
    "row numbers of sorted rows": ({"k": np.argsort(np.argsort(GROUP, kind="stable"))}, "score", [("k", "group")]),
    "times of sorted rows": (
        {
            "k": [
                datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=int(k)) for k in np.argsort(np.argsort(GROUP))
            ]
        },
        "score",
        [("k", "group")],
    ),
    "two that do so together": ({"k": THIRD, "m": (THIRD + GROUP) % 3}, "score", [("k and m", "group")]),
    "two, and one that tells nothing": (
        {"id": RNG.permutation(ROWS), "k": THIRD, "m": (THIRD + GROUP) % 3},
        "score",
        [("k and m", "group")],
    ),
    "two, and one of many values": (
        {"many": RNG.integers(0, ROWS // 2, ROWS), "k": THIRD, "m": (THIRD + GROUP) % 3},
        "score",
        [("k and m", "group")],
    ),
    "one by itself, not both": ({"k": FLAG, "m": GROUP}, "score", [("m", "group")]),
    "five numbers that do so together": (
        {name: RNG.normal(size=ROWS) + 0.35 * GROUP for name in "kmnop"},
        "score",
        [("k and m and n and o and p", "group")],
    ),
    "last digits": ({"k": 10 * RNG.permutation(ROWS) + GROUP}, "score", [("k", "group")]),
    "last letters": (
        {"k": [f"{k:04}{letter}" for k, letter in zip(RNG.permutation(ROWS), LETTER)]},
        "score",
        [("k", "group")],
    ),
    "last but one digits": (
        {"k": 100 * RNG.integers(0, 10**5, ROWS) + 30 * GROUP + RNG.integers(0, 30, ROWS)},
        "score",
        [("k", "group")],
    ),
    "cents": (
        {"k": RNG.integers(0, 10**4, ROWS) + (30 * GROUP + RNG.integers(0, 30, ROWS)) / 100},
        "score",
        [("k", "group")],
    ),
    "remainders": ({"k": 7 * RNG.integers(0, 10**6, ROWS) + 2 * GROUP + FLAG}, "score", [("k", "group")]),
    "minutes": (
        {
            "k": [
                datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=int(h), minutes=int(m))
                for h, m in zip(RNG.integers(0, 9999, ROWS), 20 * GROUP + RNG.integers(0, 20, ROWS))
            ]
        },
        "score",
        [("k", "group")],
    ),
    "missing entries": ({"k": [None if k == 0 else "x" if k == 1 else "y" for k in GROUP]}, "score", [("k", "group")]),
    "booleans": ({"k": GROUP == 1}, "score", [("k", "group")]),
}


def found(frame, *others, **options):
    """What the warnings name, in any order; others are of no account."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for other in (puffer_frames.WideNoiseWarning, *others):
            warnings.filterwarnings("ignore", category=other)
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        puffer_frames.privatize(frame, **{"secret": "group", "epsilon": 0.05, "rng": 1} | options)
    assert {w.category for w in caught} <= {KeptColumnWarning}, [str(w.message) for w in caught]
    for w in caught:
        assert repr(w.message.determines) in str(w.message)
        assert all(name == "the index" or repr(name) in str(w.message) for name in w.message.kept.split(" and "))
    return sorted((w.message.kept, w.message.determines) for w in caught)


@pytest.mark.parametrize(("kind", "name"), thinned(LOCAL_KINDS, KEPT), indirect=["kind"])
def test_kept_columns(make_frame, name):
    columns, public, expected = KEPT[name]
    frame = make_frame({"group": LETTER, "score": SCORE, "real": REAL, **columns})
    assert found(frame, public=public, layout=Layout(keep=list(columns))) == expected


BIT, OTHER, SEX = RNG.integers(0, 2, (3, 2000))
BESIDE = {
    "labels": ({"y": np.array(["no", "yes"])[BIT]}, {"k": BIT ^ SEX}, "y"),
    "numbers, in cells": (
        {"y": 10.0 * BIT + RNG.normal(size=2000) + 0.1 * SEX},
        {"f": RNG.integers(0, 9, 2000), "k": BIT ^ SEX},
        "y",
    ),
    "two columns": ({"y": BIT, "z": OTHER}, {"k": BIT ^ OTHER ^ SEX}, "y and z"),
    "two kept ones": ({"y": BIT}, {"k": OTHER, "m": BIT ^ OTHER ^ SEX}, "y"),
    "the public column by itself": ({"y": 9 * SEX + RNG.integers(0, 9, 2000)}, {"k": BIT, "m": OTHER}, None),
    "more noise than difference": ({"y": 9 * SEX + BIT}, {"k": BIT ^ SEX}, None),
}


@pytest.mark.parametrize(("kind", "name"), thinned(FRAME_KINDS, BESIDE), indirect=["kind"])
def test_kept_columns_beside_released_ones(make_frame, name):
    """Measured on what is released: the public column before the noise is no matter."""
    public, columns, expected = BESIDE[name]
    frame = make_frame({"sex": np.array(["f", "m"])[SEX], **public, **columns})
    asked = {"secret": "sex", "public": list(public), "epsilon": 0.5, "allow_zero_noise": True}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released = puffer_frames.privatize(frame, layout=Layout(keep=list(columns)), **asked)
    told = [w.message for w in caught if w.category is KeptColumnWarning]
    assert [w.released for w in told] == [expected] * (expected is not None)
    for warning in told:
        assert warning.share > 0.95
        assert f"together with the released {' and '.join(map(repr, public))} (guesses" in str(warning)
        one = released.puffer.collect() if isinstance(released, pl.LazyFrame) else released
        said = [s.text for s in certificate_of(one).statements if s.key == "kept-tells"]
        assert f"kept, together with the released {expected}, sex can be told (" in said[0]


def test_a_whole_table_and_kept_columns():
    columns = {"y": np.array(["no", "yes"])[BIT], "z": OTHER + SEX, "k": BIT ^ SEX}
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[SEX], **columns})
    with pytest.warns(KeptColumnWarning, match="'sex' can be told from it together with the released 'y'"):
        frame.puffer.privatize(secret="sex", epsilon=1.0, layout=Layout(keep="k"))


@pytest.mark.parametrize("order", ["pqfg", "fgpq", "fpgq"])
def test_pairs_of_kept_columns_in_any_order(order):
    """Both tell the secret, or a public column, which others beside them would hide."""
    rng = np.random.default_rng(0)
    sex, p, (f, g), score = rng.integers(0, 2, 4000), *rng.integers(0, 10, (1, 4000)), rng.integers(0, 10, (2, 4000)), 0
    columns = {"p": p, "q": (p + 5 * sex + rng.integers(0, 5, 4000)) % 10, "f": f, "g": g}
    score = (f + g) % 5 * 2 + sex
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[sex], "score": score, **{name: columns[name] for name in order}})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        released = frame.puffer.privatize(secret="sex", public="score", epsilon=0.5, layout=Layout(keep=list(order)))
    told = {w.message.kept: (w.message.determines, w.message.share) for w in caught if hasattr(w.message, "kept")}
    assert told == {"p and q": ("sex", 1.0)}
    said = [s.text for s in released.puffer.certificate.statements if s.key == "kept-tells"]
    assert said[0].startswith("From p and q, which are kept, sex can be told (")


def test_the_guess_is_that_of_the_columns_named():
    """Of three that tell together, not of these and a fourth one, which has to do with nothing."""
    rows = 3000
    rng = np.random.default_rng(3)
    sex, a, b = rng.integers(0, 2, (3, rows))
    columns = {"a": a, "b": b, "c": a ^ b ^ sex, "d": rng.integers(0, 150, rows)}
    looks = {name: Column(name=name, codes=codes, numbers=None) for name, codes in columns.items()}
    (((names, _), told),) = guesses(looks, {"sex": Column(name="sex", codes=sex, numbers=None)}, {}).items()
    assert (names, told.right) == (("a", "b", "c"), 1.0)


@without_spark
def test_single_columns_of_a_joint_secret(make_frame):
    frame = make_frame({"group": LETTER, "flag": FLAG, "score": SCORE, "real": np.round(REAL), "k": 1 - FLAG})
    assert found(frame, secret=["group", "flag"], public=["score", "real"], layout=Layout(keep="k")) == [("k", "flag")]


IN_SPARK = {
    "one value": None,
    "a finer code": "group",
    "two errors in a hundred": "group",
    "half of the rows told": "group",
    "a fifth of the rows told": None,
    "a copy of the public column": "score",
    "numbers that have to do with them": None,
    "row numbers": None,
    "times of sorted rows": "group",
}
"""Kept columns, and what each tells."""


@pytest.mark.parametrize("rows", [kept.ROWS, 400])
def test_kept_columns_in_spark(spark, monkeypatch, rows):
    """Of many rows some are looked at, and all are asked."""
    monkeypatch.setattr("puffer_frames.frames.spark.passes.ROWS", rows)
    finer = "a finer code, nearly all different"
    columns = {name: KEPT[name][0]["k"] for name in (*IN_SPARK, finer)} | {"sorted": np.argsort(np.argsort(GROUP))}
    frame = build_frame(
        "spark", {"group": LETTER, "score": SCORE, "lists": [[int(k)] for k in GROUP], **columns}, spark
    )
    frame = frame.withColumn("map", maps_of(frame)).withColumn("field", fields_of(frame))
    letters = "concat(if(score % 2 = 0, 'v', 'V'), cast(floor(score / 2) as string))"  # other letters, other scores
    frame = frame.selectExpr("*", f"collate({letters}, 'UTF8_LCASE') as letters")
    tells = {**IN_SPARK, "lists": "group", "map": "group", "sorted": "group", "field": "group", "letters": "score"}
    tells[finer] = "group"
    expected = sorted((name, target) for name, target in tells.items() if target)
    assert found(frame, public="score", layout=Layout(keep=[*columns, "lists", "map", "field", "letters"])) == expected


def maps_of(frame):
    """A column of maps of the secret."""
    from pyspark.sql import functions

    return functions.create_map(functions.lit("a"), frame["group"])


def fields_of(frame):
    """A column of structures, a field of which tells the secret."""
    from pyspark.sql import functions

    return functions.struct(frame["row numbers"].alias("id"), functions.array(frame["group"]).alias("in"))


@pytest.mark.slow
def test_kept_columns_together_in_spark(spark):
    columns, public, expected = KEPT["two, and one of many values"]
    frame = build_frame("spark", {"group": LETTER, "flag": THIRD > 0, "score": SCORE, **columns}, spark)
    asked = {"secret": ["group", "flag"], "public": public, "layout": Layout(keep=list(columns))}
    assert found(frame, **asked) == [("k", "flag"), *expected]


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas"], indirect=True)
def test_kept_row_numbers_are_kept_columns(make_frame):
    """Also of plans, whose rows then have no order."""
    frame = make_frame({"group": LETTER, "score": SCORE, "id": np.argsort(np.argsort(GROUP))})
    assert found(frame, public="score", layout=Layout(keep="id", row_id="id")) == [("id", "group")]


def test_a_kept_index_is_a_kept_column():
    data = {"group": LETTER, "score": SCORE}
    for index in (
        pd.Index([f"town {k}" for k in GROUP]),
        np.argsort(np.argsort(GROUP)),
        pd.MultiIndex.from_arrays([FLAG, GROUP]),
    ):
        frame = pd.DataFrame(data, index=index)
        assert found(frame, public="score", layout=Layout(index="keep")) == [("the index", "group")]
        assert found(frame, public="score", layout=Layout(index="drop")) == []
    for index in (np.random.default_rng(1).permutation(ROWS), None):
        assert found(pd.DataFrame(data, index=index), public="score", layout=Layout(index="keep")) == []


ODD = {
    "lists": [[int(k)] for k in FLAG],
    "lists that tell": [[int(k)] for k in GROUP],
    "dicts": [{"a": int(k)} for k in FLAG],
    "nothing": [None] * ROWS,
    "bytes": [bytes([k]) for k in FLAG],
    "dates": [DAY + datetime.timedelta(days=int(k)) for k in FLAG],
    "durations": [datetime.timedelta(days=int(k)) for k in FLAG],
    "times of day": [datetime.time(int(k)) for k in FLAG],
    "huge numbers": [float("inf") if k else float("nan") for k in FLAG],
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy", "pyarrow"], indirect=True)
def test_entries_of_any_kind(make_frame, name):
    frame = make_frame({"group": LETTER, "score": SCORE, "k": ODD[name]})
    assert found(frame, public="score", layout=Layout(keep="k")) == [("k", "group")] * name.endswith("tell")


class Odd:
    __hash__ = None


@pytest.mark.parametrize(
    "entries",
    [
        [1, "1", None, (2,), [3]] * (ROWS // 5),
        pd.period_range("2020-01", periods=ROWS, freq="M"),
        pd.interval_range(0, ROWS),
        pd.Series(np.arange(ROWS) % 7 * 1j),
        pd.date_range("2020-01-01", periods=ROWS, tz="Europe/Berlin"),
        pd.Series(FLAG, dtype="float16"),
        pd.Categorical(FLAG),
        pd.arrays.SparseArray(FLAG),
    ],
    ids=lambda entries: type(entries).__name__,
)
def test_objects_of_pandas(entries):
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": entries})
    assert found(frame, public="score", layout=Layout(keep="k")) == []
    if not isinstance(entries, list | pd.arrays.SparseArray) and frame["k"].dtype != "float16":
        assert found(frame.set_index("k"), public="score", layout=Layout(index="keep")) == []


HALVES = GROUP * 5000 + RNG.permutation(ROWS)
"""Numbers that differ from row to row; their thousands tell the group."""
DAYS = [DAY + datetime.timedelta(days=int(k)) for k in HALVES]
CODES = [f"{letter}-{k:05}" for letter, k in zip(LETTER, RNG.permutation(ROWS))]


def objects(entries):
    return pd.Series(list(entries), dtype=object)


FORMS = list(enumerate(GROUP.tolist()))
TELLING = {
    "ints": objects(map(int, HALVES)),
    "large ints": objects(int(k) * 10**60 for k in HALVES),
    "ints and floats": objects(int(k) if k % 2 else float(k) for k in HALVES),
    "floats": objects(map(float, HALVES)),
    "dates": objects(DAYS),
    "times": objects(map(pd.Timestamp, DAYS)),
    "times of a zone": objects(pd.Timestamp(day, tz="UTC") for day in DAYS),
    "lengths of time": objects(pd.Timedelta(seconds=int(k)) for k in HALVES),
    "decimals": objects(decimal.Decimal(int(k)) for k in HALVES),
    "fractions": objects(fractions.Fraction(int(k), 7) for k in HALVES),
    "tuples": objects((int(k), "x") for k in HALVES),
    "dicts": objects({"a": int(k), "b": "x" if k % 2 else 1} for k in HALVES),
    "bytes": objects(code.encode() for code in CODES),
    "periods": pd.PeriodIndex(DAYS, freq="D"),
    "period objects": objects(pd.PeriodIndex(DAYS, freq="D")),
    "intervals": pd.arrays.IntervalArray.from_arrays(HALVES, HALVES + 1),
    "complex numbers": HALVES + 1j,
    "sparse numbers": pd.arrays.SparseArray(HALVES.astype(float)),
    "categories of text": pd.Categorical(CODES),
    "categories of ints": pd.Categorical(HALVES),
    "categories of dates": pd.Categorical(DAYS),
    "scales of equal decimals": objects(
        decimal.Decimal(k % 4).scaleb(0) + decimal.Decimal(0).scaleb(-g) for k, g in FORMS
    ),
    "offsets of equal moments": objects(
        datetime.datetime(2020, 1, 1 + k % 4, tzinfo=datetime.UTC).astimezone(
            datetime.timezone(datetime.timedelta(hours=g))
        )
        for k, g in FORMS
    ),
    "types of equal numbers": objects([int, float, float][g](k % 4) for k, g in FORMS),
    "types of equal elements": objects([[int, float, float][g](k % 4)] for k, g in FORMS),
    "lists, tuples and arrays": objects([list, tuple, np.array][g]([k % 4, 0]) for k, g in FORMS),
    "order of keys": objects({key: {"a": k % 4}.get(key, 1) for key in ["abc", "bca", "cab"][g]} for k, g in FORMS),
    "signs of zeros among objects": objects([0.0, -0.0, 0][g] if k % 2 else "x" for k, g in FORMS),
    "kinds of missing entries": objects([None, math.nan, pd.NA][g] for _, g in FORMS),
    "signs of zero": np.where(GROUP == 0, -0.0, 0.0),
    "words": [
        f"{k:04}, {title} {k * 7 % 1000:03}" for k, title in zip(HALVES % 5000, np.array(["Mr", "Ms", "Dr"])[GROUP])
    ],
}
"""What tells the group as it does in a column of numbers or text, in every dtype that pandas has for it."""


@pytest.mark.parametrize("name", TELLING)
def test_values_decide_not_dtypes(name):
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": TELLING[name]})
    assert found(frame, public="score", layout=Layout(keep="k")) == [("k", "group")]
    other = frame.assign(k=frame["k"].sample(frac=1, random_state=1).set_axis(frame.index))
    assert found(other, public="score", layout=Layout(keep="k")) == []


@pytest.mark.parametrize("name", ["ints", "dates", "periods", "categories of ints"])
def test_an_index_of_any_dtype(name):
    frame = pd.DataFrame({"group": LETTER, "score": SCORE}, index=pd.Index(TELLING[name]))
    assert found(frame, public="score", layout=Layout(index="keep")) == [("the index", "group")]


IDS = RNG.permutation(ROWS).tolist()
NESTED = {
    "a field": [{"id": k, "group": letter} for k, letter in zip(IDS, LETTER.tolist())],
    "numbers in a field": [{"id": k, "at": {"day": day}} for k, day in zip(IDS, HALVES.tolist())],
    "an element": [[f"{k}", letter] for k, letter in zip(IDS, LETTER.tolist())],
    "an element at any place": [[f"{k}", letter][:: 1 - k % 2 * 2] for k, letter in zip(IDS, LETTER.tolist())],
    "a length": [[k] * (1 + group) for k, group in zip(IDS, GROUP.tolist())],
    "two fields together": [
        {"id": k, "one": one, "two": (one + group) % 3} for k, one, group in zip(IDS, THIRD.tolist(), GROUP.tolist())
    ],
    "bytes": [code.encode() for code in CODES],
}


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pyarrow", "pandas"], indirect=True)
@pytest.mark.parametrize("name", NESTED)
def test_what_is_nested_is_looked_at(make_frame, name):
    data = {"group": LETTER, "score": SCORE, "k": NESTED[name]}
    assert found(make_frame(data), public="score", layout=Layout(keep="k")) == [("k", "group")]
    data["k"] = [NESTED[name][k] for k in IDS]
    assert found(make_frame(data), public="score", layout=Layout(keep="k")) == []


def test_copies_in_fields_and_categories_of_polars():
    frame = pl.DataFrame(
        {"group": LETTER, "real": REAL, "k": [{"id": i, "x": float(x)} for i, x in zip(IDS, 2 * REAL)]}
    )
    assert found(frame, public="real", layout=Layout(keep="k")) == [("k", "group"), ("k", "real")]
    for dtype in (pl.Categorical, pl.Enum(sorted(CODES))):
        frame = pl.DataFrame({"group": LETTER, "score": SCORE, "k": pl.Series(CODES, dtype=dtype)})
        assert found(frame, public="score", layout=Layout(keep="k")) == [("k", "group")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (range(1, 3), [1, 2]),
        ([decimal.Decimal("NaN1")], [decimal.Decimal(2)]),
        ({"a": (decimal.Decimal("sNaN"),)}, {"a": (decimal.Decimal(2),)}),
        ([decimal.Decimal("1e400")], [decimal.Decimal("2")]),
        ([decimal.Decimal("1e-400")], [decimal.Decimal("2")]),
    ],
)
def test_objects_that_polars_does_not_have(one, other, capfd):
    """It raised other errors, or panicked and wrote to standard error."""
    frame = pd.DataFrame({"group": LETTER, "score": SCORE})
    for flags, expected in ((GROUP % 2, [("k", "group")]), (FLAG % 2, [])):
        frame["k"] = pd.Series([one if flag else other for flag in flags], dtype=object)
        assert found(frame, public="score", layout=Layout(keep="k")) == expected
    assert capfd.readouterr().err == ""


def test_objects_that_cannot_be_read():
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": [Odd() for _ in range(ROWS)]})
    with pytest.warns(puffer_frames.UnreadColumnWarning, match="'k' is kept as it is, .* have neither") as caught:
        frame.puffer.privatize(secret="group", public="score", epsilon=0.05, layout=Layout(keep="k"))
    assert [w.message.kept for w in caught if w.category is puffer_frames.UnreadColumnWarning] == ["k"]
    for long in (
        lambda own: pd.DataFrame({"x": [0] * 50 + [own] + [0] * 50}),
        lambda own: pa.array([0] * 50 + [own] * 50),
    ):
        frames = frame.assign(k=pd.Series([long(int(own)) for own in GROUP], dtype=object))
        with pytest.warns(KeptColumnWarning), pytest.warns(puffer_frames.UnreadColumnWarning):
            frames.puffer.privatize(secret="group", public="score", epsilon=0.05, layout=Layout(keep="k"))
    one_in_each = frame.assign(k=np.array([object(), object(), object()], dtype=object)[GROUP])
    with pytest.warns(KeptColumnWarning), pytest.warns(puffer_frames.UnreadColumnWarning):
        one_in_each.puffer.privatize(secret="group", public="score", epsilon=0.05, layout=Layout(keep="k"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy"], indirect=True)
def test_all_rows_decide(make_frame, monkeypatch):
    """In the sample the kept column determines the secret; among all rows one tells it, another one does not."""
    monkeypatch.setattr(kept, "ROWS", 1 << 10)
    rows = 60_000
    rng = np.random.default_rng(5)
    group = rng.integers(0, 3, rows)
    places = kept_places(rows)
    wrong = np.setdiff1d(np.arange(rows), places)
    other = group.copy()
    other[wrong] = rng.integers(0, 3, wrong.size)
    data = {"group": group, "score": rng.integers(0, 9, rows), "tells": 2 * group, "does not": other}
    assert found(make_frame(data), public="score", layout=Layout(keep=["tells", "does not"])) == [("tells", "group")]


def kept_places(rows):
    """Rows that a sample of 1,024 takes: of frames in memory, and of plans."""
    from puffer_frames.frames.order import window_places

    return np.union1d(window_places(rows, most=1 << 10, windows=4), np.arange(1 << 10))


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas"], indirect=True)
def test_rows_sorted_by_the_secret(make_frame, monkeypatch):
    """The first rows have one secret."""
    monkeypatch.setattr(kept, "ROWS", 1 << 10)
    rows = 60_000
    rng = np.random.default_rng(5)
    group = np.sort(rng.integers(0, 3, rows))
    data = {"group": group, "score": rng.integers(0, 9, rows), "tells": 2 * group, "id": np.arange(rows)}
    frame = make_frame(data | {"flag": rng.integers(0, 2, rows)})
    keep = Layout(keep=["tells", "id", "flag"])
    told = found(frame, puffer_frames.RowOrderWarning, public="score", layout=keep)
    assert told == [("id", "group"), ("tells", "group")]


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy", "duckdb"], indirect=True)
@pytest.mark.parametrize("sampled", [False, True])
def test_numbers_that_count_the_rows_of_each_secret(make_frame, kind, sampled, monkeypatch):
    """Neighbours are told apart by their steps, and a running sum tells each row; in random order nothing does."""
    rows = 10_000 if sampled else 1000
    if sampled:
        monkeypatch.setattr(kept, "ROWS", 1 << 11)
    rng = np.random.default_rng(5)
    arm = rng.choice(["drug", "none"], rows)
    number, total = pd.Series(arm).groupby(arm).cumcount(), np.cumsum(7 * (arm == "drug") + rng.integers(0, 5, rows))
    data = {"arm": arm, "score": rng.integers(0, 9, rows), "number": number.tolist(), "total": total}
    data |= {"other": pd.Series(number).sample(frac=1, random_state=1).tolist()}
    frame = make_frame(data)
    asked = {"secret": "arm", "public": "score", "epsilon": 0.01, "allow_zero_noise": True}
    for keep, words in {
        "number": "between neighbouring rows with equal secrets",
        "total": "between one secret",
    }.items():
        with pytest.warns(KeptColumnWarning) as caught:
            released = run(puffer_frames.privatize(frame, layout=Layout(keep=keep), **asked))
        (told,) = [str(w.message) for w in caught if w.category is KeptColumnWarning]
        assert f"'arm' can be told from it together with the order of the rows (guesses {words}" in told
        assert "shuffle=True" in told
        said = [s.text for s in certificate_of(released).statements if s.key == "kept-tells"]
        assert f"From {keep}, which is kept, together with the order of the rows, arm can be told (" in said[0]
        assert kind == "polars-lazy" or not found(frame, **asked, layout=Layout(keep=keep, shuffle=True))
    assert not found(frame, **asked, layout=Layout(keep="other"))


def brute_force(own, targets):
    groups = {}
    for k, t in zip(own, targets):
        groups.setdefault(k, []).append(t)
    groups = [g for g in groups.values() if len(g) > 1]
    return sum(map(len, groups)), sum(len(g) - max(Counter(g).values()) for g in groups)


@pytest.mark.parametrize(("values", "secrets"), [(3, 2), (40, 5), (400, 3), (10**6, 2)])
def test_evidence_is_that_of_counting(values, secrets):
    rng = np.random.default_rng(values)
    own, targets = rng.integers(0, values, ROWS), rng.integers(0, secrets, ROWS)
    rows, errors = brute_force(own.tolist(), targets.tolist())
    one = Evidence.of(np.unique(own, return_inverse=True)[1], targets)
    other = plan_evidence(pl.LazyFrame({"own": own, "target": targets}), ["own"], "target")
    for evidence in (one, other):
        assert (evidence.rows, evidence.errors) == (rows, errors)
        assert sorted(np.repeat(evidence.target_sizes, evidence.targets)) == sorted(Counter(targets.tolist()).values())
        assert int(evidence.sizes @ evidence.groups) == ROWS


@pytest.mark.parametrize("targets", [[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2]])
@pytest.mark.parametrize("own", [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]])
def test_chance_is_bounded(own, targets):
    """By the probability over all independent targets with these shares, one by one."""
    shares = {t: targets.count(t) / 6 for t in set(targets)}
    chances = Counter()
    for drawn in itertools.product(shares, repeat=6):
        chances[brute_force(own, drawn)[1]] += math.prod(shares[t] for t in drawn)
    evidence = Evidence.of(np.array(own), np.array(targets))
    exact = sum(chance for errors, chance in chances.items() if errors <= evidence.errors)
    assert evidence._log_chance() >= math.log(exact) - 1e-9


def test_chance_is_not_taken_for_a_rule():
    """A secret of which nearly all rows are one; kept values of two rows each; small tables."""
    rng = np.random.default_rng(3)
    for k in range(300):
        rows = int(rng.integers(20, 2000))
        secret = (rng.random(rows) < rng.choice([0.003, 0.02, 0.1, 0.5])).astype(np.int64)
        own = rng.integers(0, [2, 10, rows // 3, rows // 2, rows][k % 5], rows)
        assert not Evidence.of(np.unique(own, return_inverse=True)[1], secret).determines()


@pytest.fixture(scope="module")
def people():
    names = (
        "age workclass fnlwgt education education-num marital occupation relationship race sex gain loss hours country"
    )
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=range(14))
    return frame.set_axis(names.split(), axis=1)


@few(5, rest="apart")
@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas, lambda f: pl.from_pandas(f).lazy()])
@pytest.mark.parametrize(
    ("keep", "public", "expected"),
    [
        ("education", "education-num", [("education", "education-num")]),
        ("education", "age", []),
        ("country", "education-num", [("country", "race")]),
        (
            ["workclass", "occupation", "sex", "country", "fnlwgt", "hours"],
            "age",
            [("country", "race"), ("fnlwgt", "race")],
        ),
    ],
)
def test_adult(people, make, keep, public, expected):
    assert found(make(people), secret="race", public=public, layout=Layout(keep=keep)) == expected


def test_what_is_measured_is_in_the_warning(people):
    """The best guess by brute force, of the very rows: husbands and those of few women are men."""
    shares = pd.crosstab(people["relationship"], people["sex"], normalize="columns")
    right = 0.5 + 0.25 * (shares["Male"] - shares["Female"]).abs().sum()
    with pytest.warns(
        KeptColumnWarning, match=rf"'sex' can be told from it \(.* right in {right:.0%}; without it 50%"
    ) as caught:
        people.puffer.privatize(secret="sex", public="age", layout=Layout(keep="relationship"), epsilon=1.0)
    warning = caught.pop(KeptColumnWarning).message
    assert warning.share == pytest.approx(right, abs=0.01)
    assert "given='relationship'" in str(warning)
    with warnings.catch_warnings():  # the hint works
        warnings.simplefilter("ignore", puffer_frames.FewRowsWarning)
        people.puffer.privatize(secret="sex", public="age", given="relationship", epsilon=1.0)


def test_rare_values_that_tell_and_an_index_that_does_not(people):
    # Few rows, whose secret is nearly certain; the guess in all rows is hardly better than chance
    frame = pd.DataFrame({"sex": people["sex"], "age": people["age"]})
    ward = np.random.default_rng(0).choice(["a", "b"], len(frame)).astype(object)
    ward[np.flatnonzero(frame["sex"] == "Female")[::11]] = "maternity"
    with pytest.warns(
        KeptColumnWarning, match=r"in \d\.\d% of the rows it raises the odds of one secret by a factor of 10"
    ):
        frame.assign(ward=ward).puffer.privatize(secret="sex", public="age", layout=Layout(keep="ward"), epsilon=1.0)
    # The kept index of a part of a table is where its rows were: it tells nothing here
    part = people[people["age"] > 40]
    assert found(part, secret="race", public="age", layout=Layout(index="keep")) == []


def test_columns_and_groups_of_many_secrets_together():
    # One is equal to the other: it tells neither, but both together
    one, two = RNG.integers(0, 2, ROWS), RNG.integers(0, 2, ROWS)
    frame = pl.DataFrame({"one": one, "two": two, "score": SCORE, "same": one == two})
    assert found(frame, secret=["one", "two"], public="score", layout=Layout(keep="same")) == [("same", "one and two")]
    # Every secret is that of two rows; a kept column tells which ones they are
    secret = RNG.permutation(ROWS) // 2
    frame = pl.DataFrame({"who": secret, "score": SCORE, "k": secret // 100, "r": RNG.integers(0, 5, ROWS)})
    asked = {"secret": "who", "public": "score", "layout": Layout(keep=["k", "r"]), "epsilon": 1.0}
    assert found(frame, puffer_frames.FewRowsWarning, **asked) == [("k", "who")]


def test_kept_columns_at_random_are_not_warned_about():
    """Of many levels, unique, skewed; secrets of two columns; small tables."""
    rng = np.random.default_rng(11)

    def drawn(rows):
        kinds = int(rng.integers(1, 51))
        shares = rng.dirichlet(np.full(kinds, rng.choice([0.02, 0.1, 0.5, 2])))
        looks = rng.choice(kinds, rows, p=shares), rng.permutation(rows), rng.integers(0, max(2, rows // 2), rows)
        return looks[rng.integers(3)]

    for _ in range(60):
        rows = int(math.exp(rng.uniform(math.log(5), math.log(5000))))
        columns = [drawn(rows) for _ in range(int(rng.integers(2, 6)))]
        looks = {
            str(k): Column(name=str(k), codes=np.unique(c, return_inverse=True)[1], numbers=c.astype(float))
            for k, c in enumerate(columns)
        }
        assert guesses({k: look for k, look in looks.items() if k != "0"}, {"0": looks["0"]}, {}) == {}


@pytest.mark.parametrize("order", ["kmnr", "nrmk"])
def test_pairs_that_determine_a_public_column(order):
    """Among others, in any order."""
    columns = dict(zip("kmnr", np.random.default_rng(0).integers(0, 9, (4, 4000))))
    frame = pd.DataFrame({"group": np.resize(LETTER, 4000), "score": (columns["k"] + columns["m"]) % 9})
    frame = frame.assign(**{name: columns[name] for name in order})
    asked = {"public": "score", "layout": Layout(keep=list(order)), "allow_zero_noise": True}
    assert [(sorted(names.split(" and ")), aim) for names, aim in found(frame, **asked)] == [(["k", "m"], "score")]
