"""Rows of a Spark frame, and what the tests of Spark do with them."""

import numpy as np
import polars as pl

import puffer_frames
from puffer_frames.frames import cells, summary

ROWS = 1200
MARK = 8_675_309
"""A public value that no message may show."""


def make_table():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], ROWS)
    return pl.DataFrame(
        {
            "group": group,
            "old": rng.random(ROWS) < 0.5,
            "code": rng.integers(0, 3, ROWS).astype(float),
            "score": rng.integers(0, 6, ROWS) + (group == "a"),
            "height": rng.normal(170, 9, ROWS).astype(np.float32),
            "smokes": rng.random(ROWS) < 0.3,
            "some": [None if k % 10 == 0 else k * k % 17 for k in range(ROWS)],
            "note": ["x", None, "ζ"] * (ROWS // 3),
            "id": rng.permutation(ROWS) * 3 - 700,
        }
    )


def make_frame(spark, table):
    return spark.createDataFrame(table.to_arrow()).repartition(2).sortWithinPartitions("id").localCheckpoint()


def release(frame, **options):
    return puffer_frames.privatize(frame, **{"secret": "group", "public": "score", "epsilon": 0.05, "rng": 7} | options)


def released_rows(frame, *by):
    """The rows as Arrow has them, sorted."""
    return pl.from_arrow(frame.toArrow()).sort(*by)


def few_cells(monkeypatch):
    monkeypatch.setattr(summary, "EXACT_ROWS", 100)
    for name in ("MOST_CELLS", "FEWEST_CELLS"):
        monkeypatch.setattr(cells, name, 64)
