"""Labels are numbered in the order in which Python sorts them, whatever column they come from."""

import random

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from puffer_frames.frames.local.numbered import by_unit, numbered
from puffer_frames.frames.summary import sort_key

ROWS = 3000  # more labels than are sorted as Python has them


def text(*, characters="aAbZ09 é\u0301ßΩ中\U0001f600\ue000\x00\uffff~"):
    draw = random.Random(3)
    return ["".join(draw.choices(characters, k=draw.randint(0, 5))) for _ in range(ROWS)]


def integers(kind):
    rng = np.random.default_rng(1)
    return {
        "close": rng.integers(-ROWS, ROWS, ROWS),
        "far": np.append(rng.integers(-(2**63), 2**63 - 1, ROWS), [-(2**63), 2**63 - 1]),
        "last": 2**63 - 1 - rng.integers(0, ROWS, ROWS),
        "first": rng.integers(-(2**63), ROWS - 2**63, ROWS),
        "small": rng.integers(-128, 128, ROWS).astype(np.int8),
        "unsigned": rng.integers(0, 2**64, ROWS, dtype=np.uint64),
        "beyond": np.uint64(2**63 - ROWS) + rng.integers(0, 2 * ROWS, ROWS).astype(np.uint64),
    }[kind]


def check(entries, expected):
    codes, labels = numbered(nw.from_native(entries, series_only=True))
    assert labels == sorted(set(expected), key=sort_key)
    assert {type(label) for label in labels} == {type(entry) for entry in expected}
    assert codes.dtype == np.intp
    assert [labels[code] for code in codes.tolist()] == list(expected)


@pytest.mark.parametrize("kind", ["close", "far", "last", "first", "small", "unsigned", "beyond"])
@pytest.mark.parametrize(
    "column",
    [
        pd.Series,
        pl.Series,
        pd.Categorical,
        lambda entries: pd.Series(entries, dtype=pd.ArrowDtype(pa.array(entries).type)),
        lambda entries: pd.Series(
            pd.array(entries, dtype=entries.dtype.name.replace("int", "Int").replace("uI", "UI"))
        ),
    ],
)
def test_integers(column, kind):
    entries = integers(kind)
    check(pd.Series(column(entries)) if column is pd.Categorical else column(entries), entries.tolist())


@pytest.mark.parametrize(
    "column",
    [
        pd.Series,
        lambda entries: pd.Series(entries, dtype=object),
        lambda entries: pd.Series(entries, dtype="string[python]"),
        lambda entries: pd.Series(pd.array(entries, dtype=pd.ArrowDtype(pa.string()))),
        lambda entries: pd.Series(pd.Categorical(entries, categories=[*dict.fromkeys(entries), "unused"])),
        pl.Series,
        lambda entries: pl.Series(entries, dtype=pl.Categorical),
        lambda entries: pl.Series(entries, dtype=pl.Enum(["unused", *dict.fromkeys(entries)])),
        lambda entries: pl.concat([pl.Series(entries[:9]), pl.Series(entries[9:])], rechunk=False),
    ],
)
@pytest.mark.parametrize("characters", ["ab", "aAbZ09 é\u0301ßΩ中\U0001f600\ue000\x00\uffff~"])
def test_text(column, characters):
    entries = text(characters=characters)
    check(column(entries), entries)


def test_text_of_numpy():
    entries = text(characters="aé中")
    check(pd.Series([np.str_(entry) for entry in entries], dtype=object), entries)


def test_text_that_utf_8_cannot_hold():
    entries = text(characters="aé中\ud800\udfff\U0001f600")
    check(pd.Series(entries, dtype=object), entries)


def test_categories_of_several_types():
    numbers = np.random.default_rng(2).integers(0, 2500, ROWS).tolist()
    entries = [number if number % 3 else f"s{number}" for number in numbers]
    check(pd.Series(pd.Categorical(entries)), entries)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, lambda entries: pd.Series(entries, dtype="boolean")])
def test_booleans(make):
    check(make([True, False, True]), [True, False, True])


def test_integers_of_128_bits():
    entries = [int(number) * 2**40 for number in integers("far")]
    check(pl.Series(entries, dtype=pl.Int128), entries)


@pytest.mark.parametrize("values", [[0.0, -0.0, 1.0, -1.0], [0.5], [1e300, -1e300, 5e-324]])
def test_rows_by_unit_and_value(values):
    rng = np.random.default_rng(4)
    codes, drawn = rng.permutation(np.append(np.arange(40), rng.integers(0, 40, 300))), rng.choice(values, 340)
    order, starts = by_unit(codes, drawn, units=40)
    assert order.tolist() == np.lexsort((drawn, codes)).tolist()
    assert starts.tolist() == np.searchsorted(np.sort(codes), np.arange(41)).tolist()
