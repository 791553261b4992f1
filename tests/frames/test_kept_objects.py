"""Kept columns of Python objects, categories and sparse arrays: what is released of them."""

import datetime
import decimal
import math
import pickle
import warnings
from collections import Counter
from enum import Enum
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from test_kept import FLAG, GROUP, LETTER, RNG, ROWS, SCORE, found, objects

import puffer_frames
from puffer_frames import Layout, audit, write_parquet
from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.columns import check_depth
from puffer_frames.frames.local.own import own_array
from puffer_frames.frames.stamps.entries import plain_entry


class Texts(str):
    """With an attribute."""


def test_kept_objects_are_plain():
    texts, keys = [Texts("x") for _ in GROUP], [type("K", (int,), {})(3) for _ in GROUP]
    for text, key, letter in zip(texts, keys, LETTER):
        text.group = key.group = letter
    nans = [decimal.Decimal(f"NaN{k + 1}") for k in GROUP]
    columns = {
        "texts": texts,
        "numbers": keys,
        "dicts": [Counter({text: 1}) for text in texts],
        "lists": [[text] for text in texts],
        "nans": nans,
        "nested": [{"a": (nan,)} for nan in nans],
    }
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, **{name: objects(own) for name, own in columns.items()}})
    assert found(frame, public="score", layout=Layout(keep=list(columns))) == []
    with warnings.catch_warnings(action="ignore"):
        released = frame.puffer.privatize(secret="group", public="score", epsilon=1.0, layout=Layout(keep=[*columns]))
    kept = {name: {repr((type(entry), entry)) for entry in released[name]} for name in columns}
    assert {name: len(entries) for name, entries in kept.items()} == dict.fromkeys(columns, 1)
    assert [type(released[name][0]) for name in ("texts", "numbers", "dicts")] == [str, int, dict]
    assert type(released["lists"][0][0]) is type(next(iter(released["dicts"][0]))) is str


class Pair(NamedTuple):
    first: str
    second: float


class Size(tuple, Enum):
    SMALL = (1, 2)


class Unspoken:
    """It has a text, and an attribute that has none."""

    def __init__(self):
        self.inner = self.Inner()

    class Inner:
        def __repr__(self):
            raise RuntimeError

    def __str__(self):
        return "unspoken"


class Day(datetime.datetime):
    """With an attribute, and with another way to be pickled."""

    def __reduce_ex__(self, _):
        return str, (self.group,)


def test_kept_categories_texts_and_days_are_plain():
    days = [Day(2020, 10, 25, 2, fold=1) for _ in GROUP]
    texts, codes = [Texts(f"x{k % 2}") for k in range(len(LETTER))], [type("B", (bytes,), {})(b"x") for _ in GROUP]
    for day, text, code, letter in zip(days, texts, codes, LETTER, strict=True):
        day.group = text.group = code.group = f"told {letter}"
    columns = {"days": objects(days), "texts": pd.Series(texts, dtype="string[python]")}
    columns |= {"codes": pd.Series(objects(codes), dtype="category")}
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, **columns})
    with warnings.catch_warnings(action="ignore"):
        released = frame.puffer.privatize(secret="group", public="score", epsilon=1.0, layout=Layout(keep=[*columns]))
    assert b"told" not in pickle.dumps(released)
    assert (type(released["days"][0]), released["days"][0], released["days"][0].fold) == (datetime.datetime, days[0], 1)
    assert released["texts"].equals(columns["texts"])
    assert [released[name].dtype.name for name in columns] == ["object", "string", "category"]
    assert type(released["codes"][0]) is bytes
    missing = pd.Index(objects([(math.nan,), (np.float64("nan"),)]), tupleize_cols=False)
    alike = pd.Series(pd.Categorical.from_codes([0, 1, 0], missing))
    assert [type(entry) for (entry,) in own_array(alike)] == [float] * 3
    nanosecond = pd.Timestamp(5)
    assert all(plain_entry(entry) is entry for entry in (nanosecond, pd.Timedelta(5), pd.NaT, pd.Period("2020")))
    assert type(plain_entry(type("I", (np.int64,), {})(3))) is np.int64


class Marked(str):
    """Text that is equal to text with the same mark alone."""

    def __eq__(self, other):
        return str(self) == str(other) and getattr(self, "mark", None) == getattr(other, "mark", None)

    def __hash__(self):
        return str.__hash__(self)


def test_kept_categories_that_are_one_as_text():
    categories = [Marked("x"), Marked("x"), Marked("y")]
    categories[1].mark = "told"
    codes = np.where(RNG.random(ROWS) < 0.1, -1, RNG.integers(0, 3, ROWS))
    kept = pd.Categorical.from_codes(codes, pd.Index(objects(categories), dtype=object), ordered=True)
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": kept})
    released = frame.puffer.privatize(secret="group", public="score", epsilon=0.1, layout=Layout(keep="k"))
    assert released["k"].astype(object).fillna("none").tolist() == [("x", "x", "y", "none")[code] for code in codes]
    assert released["k"].cat.categories.tolist() == ["x", "y"]
    assert released["k"].cat.ordered
    assert released.puffer.certificate.verify(released) == "unsigned: cannot be trusted"


def test_sparse_columns_are_kept_dense(tmp_path):
    flag = pd.Series(pd.arrays.SparseArray(FLAG))
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": flag})
    with warnings.catch_warnings(action="ignore"):
        released = frame.puffer.privatize(secret="group", public="score", epsilon=1.0, layout=Layout(keep="k"))
    assert released["k"].dtype == FLAG.dtype
    assert "k is k" not in str(audit(frame, released))  # it failed: the raw column was read as text
    write_parquet(released, tmp_path / "released.parquet")
    assert pd.read_parquet(tmp_path / "released.parquet")["k"].tolist() == FLAG.tolist()


def test_plain_objects_are_what_they_were():
    hidden, whole = np.ma.array([1.0, 7.0], mask=[False, True]), np.array(Texts("x"), dtype=object)
    plain = [plain_entry(entry) for entry in (Pair(Texts("x"), 1.0), Size.SMALL, np.ma.masked, hidden, whole)]
    assert plain[:3] == [Pair("x", 1.0), Size.SMALL, np.ma.masked]
    assert (type(plain[0]), type(plain[0].first)) == (Pair, str)
    assert (plain[3].tolist(), plain[3].data.tolist()) == ([1.0, None], [1.0, 0.0])
    assert (plain[4].shape, type(plain[4].item())) == ((), str)
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": objects([Unspoken() for _ in LETTER])})
    assert found(frame, public="score", layout=Layout(keep="k")) == []


class Ticket:
    def __init__(self, group):
        self.group = group

    def __str__(self):
        return "ticket"


class Bare:
    __slots__ = ("group",)
    __init__, __str__ = Ticket.__init__, Ticket.__str__


@pytest.mark.parametrize("kind", [Ticket, Bare])
def test_attributes_of_other_objects_are_looked_at(kind):
    frame = pd.DataFrame({"group": LETTER, "score": SCORE, "k": objects(map(kind, LETTER))})
    assert found(frame, public="score", layout=Layout(keep="k")) == [("k", "group")]


def nested(levels):
    entry = []
    for _ in range(levels - 1):
        entry = [entry]
    return entry


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_objects_that_hold_themselves_are_refused(kind, tmp_path):
    """In a pandas column they ended the process."""
    without_end = {"a": []}
    without_end["a"].append(without_end)
    entries = pd.Series([nested(4), None, without_end, "x"] * 25, dtype=object)
    objects = entries if kind == "pandas" else pl.Series(entries.to_list(), dtype=pl.Object)
    columns = {"g": ["a", "b"] * 50, "x": [0, 1, 2, 3] * 25, "k": objects}
    frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
    path = tmp_path / "ledger.jsonl"
    with pytest.raises(ColumnTypeError, match="'k' must be of objects that are nested at most 100 deep"):
        puffer_frames.privatize(
            frame, secret="g", public="x", epsilon=1.0, layout=Layout(keep="k"), ledger=path, about={"dataset": "d"}
        )
    assert not path.exists()
    with pytest.raises(ColumnTypeError):
        check_depth(nw.from_native(pd.Series([nested(102)]), series_only=True), name="k")
    check_depth(nw.from_native(pd.Series([nested(100)]), series_only=True), name="k")
