"""Certificates in Parquet files, from every library to every library."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import run, without_spark

from puffer_frames import Layout, certificate_of, privatize, read_certificate, verify, write_parquet
from puffer_frames.errors import UncoveredFrameError

ORDER = np.random.default_rng(1).permutation(20)
PEOPLE = {"group": np.array(list("aabb") * 5)[ORDER].tolist(), "score": np.array([1, 2, 2, 4] * 5)[ORDER].tolist()}
PEOPLE |= {"note": ["u", "v", "w", "z"] * 5}


def release(frame, index=None):
    return run(privatize(frame, secret="group", public="score", layout=Layout(keep="note", index=index), epsilon=1.0))


@without_spark
def test_the_file_is_verified_by_its_own_certificate(make_frame, tmp_path):
    released = release(make_frame(PEOPLE))
    path = tmp_path / "released.parquet"
    write_parquet(released, path)
    certificate = read_certificate(path)
    assert certificate == certificate_of(released)
    assert certificate.verify(path) == certificate.verify(str(path)) == "unsigned: cannot be trusted"
    for read in (pl.read_parquet, pd.read_parquet, pq.read_table):
        again = read(path)
        assert certificate.verify(again) == "unsigned: cannot be trusted"
        assert verify(certificate.attach(again)) == "unsigned: cannot be trusted"
        assert certificate.verify(nw.from_native(again).sort("score").to_native()) == "derived"


def test_pandas_own_writer_keeps_it(tmp_path):
    path = tmp_path / "released.parquet"
    release(pd.DataFrame(PEOPLE)).to_parquet(path)
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"
    assert pd.read_parquet(path).puffer.verify() == "unsigned: cannot be trusted"


def test_an_index_that_is_kept_is_not_a_column(tmp_path):
    frame = pd.DataFrame(PEOPLE, index=range(5, 25))
    path = tmp_path / "released.parquet"
    release(frame, index="keep").puffer.write_parquet(path)
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"
    assert pd.read_parquet(path).index.tolist() == list(range(5, 25))


def test_other_files_and_frames(tmp_path):
    path = tmp_path / "other.parquet"
    pl.DataFrame(PEOPLE).write_parquet(path)
    with pytest.raises(UncoveredFrameError, match="without one"):
        read_certificate(path)
    with pytest.raises(FileNotFoundError):
        read_certificate(tmp_path / "nowhere.parquet")
    with pytest.raises(UncoveredFrameError):
        pl.DataFrame(PEOPLE).puffer.write_parquet(path)
    certificate = release(pl.DataFrame(PEOPLE)).puffer.certificate
    assert certificate.verify(path) == "uncovered"


def test_answers_too(tmp_path):
    path = tmp_path / "answers.parquet"
    answers = pl.DataFrame(PEOPLE).puffer.aggregate(unit="group", value="score", query="mean", epsilon=1.0)
    answers.puffer.write_parquet(path)
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"


@pytest.mark.parametrize("index", ["drop", "keep"])
@pytest.mark.parametrize(
    "labels",
    [
        [("a", 1), ("a", 2), ("b", "x")],
        [b"s", b"x", "z"],
        [1, 2.5, 0],
        [True, "b", 3],
        list(pd.date_range("2026-01-01", periods=3)),
    ],
)
def test_columns_with_labels_of_any_kind(tmp_path, labels, index):
    """A file of columns named by tuples or bytes was one that its certificate did not cover."""
    frame = pd.DataFrame(PEOPLE)
    frame.columns = (
        pd.MultiIndex.from_tuples(labels) if isinstance(labels[0], tuple) else pd.Index(labels, dtype=object)
    )
    if index == "keep":
        frame.index = range(5, 25)
    secret, public, kept = labels
    released = frame.puffer.privatize(secret=secret, public=public, layout=Layout(keep=kept, index=index), epsilon=1.0)
    released.puffer.write_parquet(tmp_path / "released.parquet")
    certificate = read_certificate(tmp_path / "released.parquet")
    assert certificate.verify(tmp_path / "released.parquet") == "unsigned: cannot be trusted"
    assert released.puffer.verify() == certificate.verify(pd.read_parquet(tmp_path / "released.parquet"))
