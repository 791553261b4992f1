"""Secrets of pandas are numbered and counted as numbers: the counts are those of the rows one by one."""

import random
from collections import Counter
from itertools import pairwise

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from kinds import opened
from summaries import summary_of

from puffer_frames.errors import PriorError
from puffer_frames.frames.coded import by_unit, numbered
from puffer_frames.frames.local.engine import LocalSecrets, LocalValues
from puffer_frames.frames.local.table import coded_column
from puffer_frames.frames.summary import levels_of, sort_key

ROWS = 2000
RNG = np.random.default_rng(5)
SECRETS = {
    "text": pd.Series(RNG.choice(["a", "b", "", "ζ" * 20], ROWS)),
    "objects": pd.Series(RNG.choice(np.array(["x", "yes"], dtype=object), ROWS), dtype=object),
    "categories": pd.Series(RNG.choice(["low", "high"], ROWS)).astype(pd.CategoricalDtype(["none", "low", "high"])),
    "booleans": pd.Series(RNG.random(ROWS) < 0.3).astype("boolean"),
    "integers": pd.Series(RNG.integers(-2, 2, ROWS)),
    "whole floats": pd.Series(RNG.integers(0, 3, ROWS).astype(np.float32)),
    "one value": pd.Series(["only"] * ROWS),
}
VALUES = {
    "integers": pd.Series(RNG.integers(0, 9, ROWS)),
    "nullable": pd.Series(RNG.integers(0, 9, ROWS)).astype("Int64"),
    "arrow": pd.Series(RNG.integers(0, 9, ROWS) / 4).astype("double[pyarrow]"),
    "32-bit floats": pd.Series(RNG.integers(0, 9, ROWS).astype(np.float32) / 4),
    "booleans": pd.Series(RNG.random(ROWS) < 0.5),
    "every second one": pd.Series(RNG.integers(0, 9, 2 * ROWS)[::2]),
}


def counts_of(frame, names):
    counts = summary_of(frame, secret=names, public="value").counts
    return {(s, float(v)): int(n) for s, (vs, ns) in counts.items() for v, n in zip(vs, ns, strict=True)}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(
    "names", [*([name] for name in SECRETS), ["text", "booleans"], ["categories", "integers", "objects", "text"]]
)
def test_counts_are_those_of_the_rows(names, value):
    frame = pd.DataFrame({**{name: SECRETS[name] for name in names}, "value": VALUES[value]})
    rows = frame[names[0]] if len(names) == 1 else zip(*(frame[name] for name in names), strict=True)
    assert counts_of(frame, names) == Counter(zip(rows, map(float, frame["value"]), strict=True))


@pytest.mark.parametrize("names", [["text"], ["integers", "booleans"]])
def test_runs_of_the_secret(names):
    for rows in (1, 2, ROWS):
        frame = pd.DataFrame({name: SECRETS[name].head(rows) for name in names})
        secrets = LocalSecrets.of(opened(frame), names)
        assert secrets.runs(rows) == 1 + sum(a != b for a, b in pairwise(frame.itertuples(index=False)))


@pytest.mark.filterwarnings("ignore::puffer_frames.SuspectValuesWarning")
def test_a_secret_of_pandas_is_looked_up_once(monkeypatch):
    """Further public columns, and the order of the rows, are read with the numbers."""
    frame = pd.DataFrame({"secret": SECRETS["text"], "x": VALUES["integers"], "y": VALUES["nullable"]})
    calls, factorize = [], pd.Series.factorize
    monkeypatch.setattr(pd.Series, "factorize", lambda self, **ask: calls.append(self.name) or factorize(self, **ask))
    frame.puffer.privatize(secret="secret", public=["x", "y"], epsilon=1.0)
    assert len(calls) == 1


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_entries_are_counted(missing):
    frame = pd.DataFrame({"secret": [*SECRETS["text"][1:], missing], "value": VALUES["integers"]})
    with pytest.raises(PriorError, match="1 row with one"):
        counts_of(frame, ["secret"])
    for dtype in ("Int64", "float64", "Float64", "boolean"):
        values = pd.Series([None, True, *[False] * (ROWS - 3), None], dtype="object").astype(dtype)
        frame = pd.DataFrame({"secret": SECRETS["text"], "value": values})
        table = opened(frame)
        values_of = LocalValues.of(table, LocalSecrets.of(table, ["secret"]), "value")
        with pytest.raises(PriorError, match="2 rows with one"):
            values_of.ends("value")
        with pytest.raises(PriorError, match="2 rows with one"):
            summary_of(frame, secret=["secret"], public="value")
    for dtype in ("Int64", "int64[pyarrow]"):
        large = pd.Series([2**60 + 1, None, *[1] * (ROWS - 2)], dtype=dtype)
        with pytest.raises(PriorError, match="larger integers"):
            counts_of(pd.DataFrame({"secret": SECRETS["text"], "value": large}), ["secret"])


ROWS_OF_NUMBERED = 3000  # more labels than are sorted as Python has them


# Labels are numbered in the order in which Python sorts them, whatever column they come from.
def text(*, characters="aAbZ09 é\u0301ßΩ中\U0001f600\ue000\x00\uffff~"):
    draw = random.Random(3)
    return ["".join(draw.choices(characters, k=draw.randint(0, 5))) for _ in range(ROWS_OF_NUMBERED)]


def integers(kind):
    rng = np.random.default_rng(1)
    return {
        "close": rng.integers(-ROWS_OF_NUMBERED, ROWS_OF_NUMBERED, ROWS_OF_NUMBERED),
        "far": np.append(rng.integers(-(2**63), 2**63 - 1, ROWS_OF_NUMBERED), [-(2**63), 2**63 - 1]),
        "last": 2**63 - 1 - rng.integers(0, ROWS_OF_NUMBERED, ROWS_OF_NUMBERED),
        "first": rng.integers(-(2**63), ROWS_OF_NUMBERED - 2**63, ROWS_OF_NUMBERED),
        "small": rng.integers(-128, 128, ROWS_OF_NUMBERED).astype(np.int8),
        "unsigned": rng.integers(0, 2**64, ROWS_OF_NUMBERED, dtype=np.uint64),
        "beyond": np.uint64(2**63 - ROWS_OF_NUMBERED)
        + rng.integers(0, 2 * ROWS_OF_NUMBERED, ROWS_OF_NUMBERED).astype(np.uint64),
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


def test_text_of_subclasses_of_numpy_and_beyond_utf_8():
    entries = text(characters="aé中")
    check(pd.Series([np.str_(entry) for entry in entries], dtype=object), entries)
    column = pd.Series([Masked("flu"), Masked("hiv"), "none"] * 9, dtype=object)
    check(column, ["flu", "hiv", "none"] * 9)
    assert levels_of(nw.from_native(column[:3], series_only=True), name="g") == ["flu", "hiv", "none"]
    frame = pd.DataFrame({"g": pd.Series([Masked("flu\ud800"), Masked("hiv\ud800"), "none"], dtype=object)})
    coded = coded_column(nw.from_native(frame, eager_only=True), "g")
    assert coded.levels == ("flu\ud800", "hiv\ud800", "none")
    entries = text(characters="aé中\ud800\udfff\U0001f600")
    check(pd.Series(entries, dtype=object), entries)


class Masked(str):
    """Text that does not print itself, as in logs."""

    def __str__(self):
        return "***"

    __repr__ = __str__


def test_mixed_categories_and_integers_of_128_bits():
    numbers = np.random.default_rng(2).integers(0, 2500, ROWS_OF_NUMBERED).tolist()
    entries = [number if number % 3 else f"s{number}" for number in numbers]
    check(pd.Series(pd.Categorical(entries)), entries)
    entries = [int(number) * 2**40 for number in integers("far")]
    check(pl.Series(entries, dtype=pl.Int128), entries)


@pytest.mark.parametrize("make", [pd.Series, pl.Series, lambda entries: pd.Series(entries, dtype="boolean")])
def test_booleans(make):
    check(make([True, False, True]), [True, False, True])


@pytest.mark.parametrize("values", [[0.0, -0.0, 1.0, -1.0], [0.5], [1e300, -1e300, 5e-324]])
def test_rows_by_unit_and_value(values):
    rng = np.random.default_rng(4)
    codes, drawn = rng.permutation(np.append(np.arange(40), rng.integers(0, 40, 300))), rng.choice(values, 340)
    order, starts = by_unit(codes, drawn, units=40)
    assert order.tolist() == np.lexsort((drawn, codes)).tolist()
    assert starts.tolist() == np.searchsorted(np.sort(codes), np.arange(41)).tolist()
