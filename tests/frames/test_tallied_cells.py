"""Cells counted by NumPy are those of a group-by."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from spark_rows import few_cells

from puffer_frames import Noise, calibrate
from puffer_frames.errors import PriorError
from puffer_frames.frames import tally
from puffer_frames.frames.local import engine
from puffer_frames.frames.summary import cell_of, place_of

ROWS, WIDTH = 3000, 2.0**-5


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(tally, "FEWEST_ROWS", 100)
    monkeypatch.setattr(tally, "CHUNK", 700)


def values(seed=5):
    return np.random.default_rng(seed).normal(size=ROWS)


def grouped(rows, domain):
    cells = {"value": cell_of(WIDTH, domain), "place": place_of(WIDTH, domain)}
    return engine.count_groups(rows, rows.columns, added=["place"], **cells).to_native()


def entries(frame):
    """Of both halves of the rows together."""
    frame = frame.with_columns(pl.col("secret_0").cast(pl.String))
    return sorted(frame.group_by("secret_0", "value").agg(pl.col("count", "place").sum()).rows())


CODES = np.random.default_rng(4).integers(0, 7, ROWS)
SECRETS = {
    "text": pl.Series([f"group {k}" for k in CODES]),
    "categories": pl.Series([f"group {k}" for k in CODES], dtype=pl.Categorical),
    "an enum": pl.Series([f"g{k}" for k in CODES], dtype=pl.Enum([f"g{k}" for k in range(9, -1, -1)])),
    "booleans": pl.Series(CODES > 3),
    "integers": pl.Series(CODES - 3),
    "bytes": pl.Series(CODES - 3, dtype=pl.Int8),
    "large integers": pl.Series(CODES.astype(np.uint64) + np.uint64(2**63)),
}


@pytest.mark.parametrize("title", SECRETS)
@pytest.mark.parametrize("domain", [None, (-0.5, 1.5), (-9.0, 9.0)])
def test_they_are_those_of_a_group_by(title, domain):
    rows = nw.from_native(pl.DataFrame({"secret_0": SECRETS[title], "value": values()}))
    found = tally.tallied_cells(rows, WIDTH, domain)
    assert found is not None
    assert found.to_native().schema["secret_0"] == rows.to_native().schema["secret_0"]
    assert entries(found.to_native()) == entries(grouped(rows, domain))


def test_parts_of_a_frame_and_integers_are_counted_alike():
    whole = pl.DataFrame({"secret_0": SECRETS["text"], "value": (values() * 1000).astype(np.int64)})
    rows = nw.from_native(pl.concat([whole[:999], whole[999:]], rechunk=False))
    found = tally.tallied_cells(rows, WIDTH * 512, None).to_native()
    cells = {"value": cell_of(WIDTH * 512, None), "place": place_of(WIDTH * 512, None)}
    assert entries(found) == entries(engine.count_groups(rows, rows.columns, added=["place"], **cells).to_native())


def test_what_does_not_suit_is_left_to_a_group_by(monkeypatch):
    code, own = pl.Series(CODES), pl.Series(values())
    rare = pl.Series(["a"] * (ROWS - 1) + ["b"])
    nulls = pl.Series([None, *SECRETS["text"][1:]])
    monkeypatch.setattr(tally, "_SAMPLE", 100)
    for columns, width in (
        ({"secret_0": code, "secret_1": code, "value": own}, WIDTH),
        ({"secret_0": nulls, "value": own}, WIDTH),
        ({"secret_0": code.cast(pl.Int128), "value": own}, WIDTH),
        ({"secret_0": rare, "value": own}, WIDTH),  # a secret that the sample has not
        ({"secret_0": code, "value": own}, 2.0**-20),  # more counts than are kept
        ({"secret_0": pl.Series(range(ROWS)), "value": own}, WIDTH),
    ):
        assert tally.tallied_cells(nw.from_native(pl.DataFrame(columns)), width, None) is None
    frame = {"secret_0": SECRETS["text"].to_list(), "value": values()}
    assert tally.tallied_cells(nw.from_native(pd.DataFrame(frame)), WIDTH, None) is None
    monkeypatch.setattr(tally, "FEWEST_ROWS", ROWS + 1)
    assert tally.tallied_cells(nw.from_native(pl.DataFrame(frame)), WIDTH, None) is None


@pytest.mark.parametrize("rare", [0, 3])
@pytest.mark.parametrize("library", [pd, pl])
def test_a_plan_is_the_same_either_way(monkeypatch, library, rare):
    rng = np.random.default_rng(8)
    secret = np.where(np.arange(200_000) < rare, "c", rng.choice(["a", "b"], 200_000))
    frame = library.DataFrame({"secret": secret, "value": rng.normal(size=200_000)})
    asked = {"secret": "secret", "public": "value", "epsilon": 1.0, "mechanism": Noise(theorem="kantorovich")}
    tallied = calibrate(frame, **asked)
    monkeypatch.setattr(tally, "FEWEST_ROWS", 10**9)
    assert calibrate(frame, **asked).scale == tallied.scale


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ({3: None}, "1 row with"),
        ({3: None, 4: float("nan")}, "2 rows with"),
        ({3: float("inf"), 4: -float("inf")}, "2 rows with an infinity"),
    ],
)
def test_cells_count_what_is_missing(make_frame, monkeypatch, rows, what):
    few_cells(monkeypatch)
    frame = make_frame({"group": ["a", "b"] * 300, "value": [rows.get(k, k / 7) for k in range(600)]})
    with pytest.raises(PriorError, match=what):
        calibrate(frame, secret="group", public="value", epsilon=1.0)
