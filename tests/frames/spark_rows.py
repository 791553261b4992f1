"""Rows of a Spark frame in two partitions, and what the tests of Spark do with them."""

import polars as pl
from kinds import make_columns

from puffer_frames.frames import summary


def make_table():
    return pl.DataFrame(make_columns())


def make_frame(spark, table):
    return spark.createDataFrame(table.to_arrow()).repartition(2).sortWithinPartitions("id").localCheckpoint()


def released_rows(frame, *by):
    """The rows as Arrow has them, sorted."""
    return pl.from_arrow(frame.toArrow()).sort(*by)


def without_looks(monkeypatch):
    """Kept columns are not looked at, which is half of the time of a release: test_kept.py is about the looks."""
    from puffer_frames.frames.spark import table

    monkeypatch.setattr(table, "warn_of_kept_in_spark", lambda rows, roles, count, draws: iter(()))


def few_cells(monkeypatch):
    monkeypatch.setattr(summary, "EXACT_ROWS", 100)
    for name in ("MOST_CELLS", "FEWEST_CELLS"):
        monkeypatch.setattr(summary, name, 64)
