"""Rows for every kind of frame, a release of them, and one look at what comes back."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from conftest import build_frame, run

import puffer_frames
from puffer_frames import Layout
from puffer_frames.frames.table import open_table

ROWS = 1200


def make_columns():
    """Columns of the dtypes that a release meets: text, booleans, whole floats, integers, 32-bit floats, missing."""
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], ROWS)
    return {
        "group": group,
        "old": rng.random(ROWS) < 0.5,
        "code": rng.integers(0, 3, ROWS).astype(float),
        "score": rng.integers(0, 6, ROWS) + (group == "a"),
        "height": (np.round(2 * rng.normal(170, 9, ROWS)) / 2).astype(np.float32),  # few values: joint laws are quick
        "smokes": rng.random(ROWS) < 0.3,
        "some": [None if k % 10 == 0 else k * k % 17 for k in range(ROWS)],
        "note": ["x", None, "ζ"] * (ROWS // 3),
        "id": rng.permutation(ROWS) * 3 - 700,
    }


def release(frame, **options):
    return puffer_frames.privatize(frame, **{"secret": "group", "public": "score", "epsilon": 0.05, "rng": 7} | options)


def entries(frame):
    """Column names and entries as Python has them, in the frame's order; None for whatever the kind calls missing."""
    if hasattr(frame, "toArrow"):
        frame = frame.toArrow()
    if hasattr(frame, "to_arrow_table"):
        frame = frame.to_arrow_table()
    if isinstance(frame, pa.Table):
        return list(frame.to_pydict().items())
    if isinstance(frame, pl.LazyFrame | pl.DataFrame):
        return list(frame.lazy().collect().to_dict(as_series=False).items())
    return [(name, [None if pd.isna(entry) else entry for entry in frame[name].tolist()]) for name in frame]


def names(frame):
    return [name for name, _ in entries(frame)]


def column(frame, name):
    return np.array(dict(entries(frame))[name], dtype=float)


def other_kind(kind):
    """Where the expected numbers come from: never the kind under test."""
    return "polars" if kind == "pandas" else "pandas"


def fingerprint(frame, like=""):
    return open_table(frame).fingerprint(like=like)


def opened(frame):
    """A frame in memory as narwhals has it."""
    return open_table(frame).in_memory().opened()


def both_releases(made, other, kind, frame, columns):
    """The release of a plan, and of the plan of another kind from its rows: the same, and in Spark in any order."""
    assert made.checksum == other.checksum
    asked = {"layout": Layout(row_id="id"), "rng": 3}
    pair = run(made.release(frame, **asked)), run(other.release(build_frame(other_kind(kind), columns), **asked))
    found, expected = (dict(entries(released)) for released in pair)
    assert list(found) == list(expected)
    if kind == "spark":
        found, expected = (sorted(zip(*rows.values()), key=repr) for rows in (found, expected))
    assert found == expected
    return pair
