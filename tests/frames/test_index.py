"""A pandas index is released only where it is asked for, and then it is a column of the release."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import polars.selectors as cs
import pyarrow.parquet as pq
import pytest
from conftest import build_frame

from puffer_frames import Layout, certificate_of, privatize, read_certificate
from puffer_frames.errors import ArgumentError, UncoveredFrameError
from puffer_frames.frames.table import open_table

ROWS = 200
PANDAS = pytest.mark.parametrize("kind", ["pandas", "pandas-nullable", "pandas-pyarrow"])


def release(frame, **options):
    asked = {"secret": "group", "public": "score", "layout": Layout(keep="note"), "epsilon": 0.05, "rng": 7}
    return privatize(frame, **asked | options)


SECRETS = {
    "the secret": lambda group, n: pd.Index(group),
    "the secret by name": lambda group, n: pd.Index(group, name="group"),
    "named like a kept column": lambda group, n: pd.Index(group, name="note"),
    "numbers of the secret": lambda group, n: pd.Index(pd.factorize(group)[0]),
    "the secret beside numbers": lambda group, n: pd.MultiIndex.from_arrays([range(n), group]),
    "numbers with the secret": lambda group, n: pd.Index(pd.factorize(group)[0] * n + np.arange(n)),
    "named numbers": lambda group, n: pd.Index(np.arange(n)[::-1], name="id"),
    "numbers below 0": lambda group, n: pd.RangeIndex(-n, 0),
    "moments": lambda group, n: pd.date_range("2020-01-01", periods=n),
}


@PANDAS
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_in_the_index_is_uncovered(kind, people, tmp_path, name):
    released = release(build_frame(kind, people))
    certificate = released.puffer.certificate
    changed = released.set_axis(SECRETS[name](people["group"], ROWS), axis=0)
    assert certificate.verify(changed) == "uncovered"
    with pytest.raises(UncoveredFrameError):
        _ = changed.puffer.certificate
    path = tmp_path / "changed.parquet"
    changed.to_parquet(path)
    assert certificate.verify(path) == "uncovered"
    assert certificate.verify(pq.read_table(path)) == "uncovered"
    assert certificate.verify(pd.read_parquet(path)) == "uncovered"
    if name != "numbers below 0":  # pandas keeps a range beside the columns, where Polars does not look
        assert certificate.verify(pl.read_parquet(path)) == "uncovered"
        assert certificate.verify(pl.scan_parquet(path)) == "uncovered"


STEPS = {
    "head": lambda f: f.head(20),
    "tail": lambda f: f.tail(20),
    "one row": lambda f: f.tail(1),
    "no row": lambda f: f[f["score"] > 1e9],
    "sort": lambda f: f.sort_values("score"),
    "filter": lambda f: f[f["score"] > 3],
    "sample": lambda f: f.sample(frac=1, random_state=1),
    "backwards": lambda f: f[::-1],
    "three times": lambda f: pd.concat([f, f, f.head(20)]),
    "by a kept column": lambda f: f.groupby("note").mean(),
}


READERS = {
    "Polars": pl.read_parquet,
    "a plan of Polars": pl.scan_parquet,
    "PyArrow": pq.read_table,
    "DuckDB": lambda path: duckdb.read_parquet(str(path)),
}


@pytest.mark.parametrize("reader", READERS)
def test_an_index_that_pandas_has_stored_is_released_only_by_name(people, tmp_path, reader):
    frame, path = pd.DataFrame(people).drop(columns="note"), tmp_path / "people.parquet"
    asked = {"public": "rest", "layout": None}
    for name, known in ((None, True), ("person", reader == "PyArrow")):
        frame.sample(frac=1, random_state=1).rename_axis(name).to_parquet(path)
        found = READERS[reader](path)
        if known:
            with pytest.raises(ArgumentError, match=f"an index of pandas as a column.*{name or '__index_level_0__'}"):
                release(found, **asked)
        else:
            release(found, **asked)
        release(found, public=["score", name or "__index_level_0__"], layout=None)
    with pytest.raises(ArgumentError, match="public must be written out"):
        release(pl.DataFrame(people).with_row_index("__index_level_1__"), **asked | {"public": cs.numeric()})


@PANDAS
@pytest.mark.parametrize("step", STEPS)
def test_numbers_of_the_rows_are_no_data(kind, people, tmp_path, step):
    released = release(build_frame(kind, people))
    certificate = released.puffer.certificate
    changed = STEPS[step](released)
    path = tmp_path / "changed.parquet"
    changed.to_parquet(path)
    readers = (pd.read_parquet, pl.read_parquet, pl.scan_parquet, pq.read_table)
    for found in (changed, path, *(read(path) for read in readers)):
        assert certificate.verify(found) == "derived"


def test_an_index_that_is_a_kept_column_or_numbers_the_rows(people):
    released = release(pd.DataFrame(people))
    certificate = released.puffer.certificate
    assert certificate.verify(released.set_index("note")) == "unsigned: cannot be trusted"
    assert certificate.verify(released.set_index("note").rename_axis(index="other")) == "uncovered"
    assert certificate.verify(released.set_index("note", drop=False)) == "uncovered"
    released = release(pd.DataFrame(people), layout=Layout(keep="note", index="keep"))
    assert certificate_of(released).kept == ("note",)
    assert certificate_of(released).verify(pl.from_pandas(released)) == "unsigned: cannot be trusted"


LABELS = {
    "a range": (pd.RangeIndex(5, 5 + ROWS), ["__index_level_0__"]),
    "a named range": (pd.RangeIndex(5, 5 + ROWS, name="id"), ["id"]),
    "numbers of the rows, named": (pd.RangeIndex(ROWS, name="id"), ["id"]),
    "backwards": (pd.Index(range(ROWS)[::-1]), ["__index_level_0__"]),
    "text": (pd.Index([f"r{k}" for k in range(ROWS)], name="row"), ["row"]),
    "a number as a name": (pd.Index([f"r{k}" for k in range(ROWS)], name=7), ["7"]),
    "levels": (pd.MultiIndex.from_product([range(100), ["u", "v"]], names=["id", None]), ["id", "__index_level_1__"]),
    "instants": (pd.date_range("2020-01-01", periods=ROWS, tz="Europe/Berlin", name="at"), ["at"]),
    "categories": (pd.CategoricalIndex(["u", "v"] * 100, name="kind"), ["kind"]),
    "intervals": (pd.interval_range(0, ROWS, name="span"), ["span"]),
    "months": (pd.period_range("2000-01", periods=ROWS, freq="M", name="month"), ["month"]),
}


@pytest.mark.filterwarnings("ignore:The DataFrame has non-str index name")
@pytest.mark.parametrize("name", LABELS)
def test_a_kept_index_is_part_of_the_release(people, tmp_path, name):
    index, levels = LABELS[name]
    frame = pd.DataFrame(people).set_axis(index, axis=0)
    released = release(frame, layout=Layout(keep="note", index="keep"))
    certificate = certificate_of(released)
    assert released.index.identical(index)
    assert certificate.kept == ("note", *levels)
    ours, theirs = tmp_path / "ours.parquet", tmp_path / "theirs.parquet"
    released.puffer.write_parquet(ours)
    released.to_parquet(theirs)
    assert read_certificate(ours) == certificate
    for same in (released, ours, theirs, pd.read_parquet(ours), pd.read_parquet(theirs)):
        assert certificate.verify(same) == "unsigned: cannot be trusted"
    if name not in ("intervals", "months"):  # types of pandas alone
        assert certificate.verify(pl.read_parquet(ours)) == "unsigned: cannot be trusted"
        assert certificate.verify(pq.read_table(theirs)) == "unsigned: cannot be trusted"
    if index.names[0] is not None and index.nlevels == 1:
        assert certificate.verify(released.reset_index()) == "unsigned: cannot be trusted"
    assert certificate.verify(released.reset_index(drop=True)) == "derived"
    assert certificate.verify(released[::-1]) == "derived"
    other = released.set_axis(index.take([1, 0, *range(2, ROWS)]), axis=0)
    assert certificate.verify(other) == "derived"


@pytest.mark.parametrize(
    "names", [["note"], ["group"], ["score"], ["id", "id"], ["__index_level_1__", None]], ids=lambda names: str(names)
)
def test_a_level_with_the_name_of_a_column_is_an_error(people, names):
    index = pd.MultiIndex.from_product([range(100), ["u", "v"]]) if len(names) == 2 else pd.RangeIndex(1, ROWS + 1)
    frame = pd.DataFrame(people).set_axis(index.set_names(names), axis=0)
    with pytest.raises(ArgumentError, match="the levels of the index"):
        release(frame, layout=Layout(keep="note", index="keep"))
    assert release(frame, layout=Layout(keep="note", index="drop")).puffer.verify() == "unsigned: cannot be trusted"


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float64", "object", "Int64", "int64[pyarrow]"])
def test_numbers_of_every_type_are_nothing(people, dtype):
    index = pd.Index(range(ROWS), dtype=dtype)
    released = release(pd.DataFrame(people).set_axis(index, axis=0), layout=Layout(keep="note", index="keep"))
    assert certificate_of(released).kept == ("note",)
    assert certificate_of(released).verify(released) == "unsigned: cannot be trusted"
    assert release(pd.DataFrame(people).set_axis(index, axis=0)).puffer.verify() == "unsigned: cannot be trusted"


@pytest.mark.parametrize(
    ("labels", "rows", "data"),
    [
        ([2, 0, 1], 3, False),
        ([0, 0, 1], 3, True),
        ([0, 0, 1, 1], 3, False),
        ([0, 0, 0, 1], 3, True),
        ([3, 0], 3, True),
        ([-1, 0], 3, True),
        ([0, 1, 2, 3, 4], 3, False),
        ([0.0, 2.0], 3, True),
    ],
)
def test_which_labels_are_numbers_of_rows(labels, rows, data):
    frame = pd.DataFrame({"x": range(len(labels))}, index=labels)
    column = pl.DataFrame({"x": range(len(labels)), "__index_level_0__": labels})
    for table in (frame, column):
        found = open_table(table).with_levels(known=["x"], rows=rows)
        assert (list(found.names) == ["x", "__index_level_0__"]) is data
