"""A folder of Parquet files: every file in it counts, those that readers skip too."""

import json
import shutil

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run, without_spark
from kinds import ROWS, entries, make_columns
from kinds import release as released_of
from spark_rows import without_looks

from puffer_frames import Layout, certificate_of, privatize, read_certificate, verify, write_parquet
from puffer_frames.errors import ArgumentError, UncoveredFrameError

NAMES = ("group", "score", "note")
PEOPLE = {"group": list("aabb") * 5, "score": [1, 2, 2, 4] * 5, "note": ["u"] * 8 + ["v"] * 8 + [None] * 4}
ASKED = {"secret": "group", "public": "score", "layout": Layout(keep="note"), "epsilon": 1.0}


@pytest.fixture(scope="module")
def released(make_frame):
    return run(privatize(make_frame(PEOPLE), **ASKED))


@pytest.fixture(scope="module")
def rows(released):
    return pl.DataFrame(dict(entries(released)))


@pytest.fixture(scope="module")
def certificate(released):
    return certificate_of(released)


@pytest.fixture
def folder(rows, tmp_path):
    """The release in two files of a folder."""
    place = tmp_path / "release"
    (place / "more").mkdir(parents=True)
    rows[:7].write_parquet(place / "a.parquet")
    rows[7:].write_parquet(place / "more" / "b.parquet")
    return place


def raw(path):
    pl.DataFrame(PEOPLE).write_parquet(path)


def checksum(path, of, head=b"crc\0", more=0):
    path.write_bytes(head + (512).to_bytes(4) + bytes(4 * -(-of.stat().st_size // 512) + more))


def summary(path, name):
    pq.write_metadata(pa.schema([("score", pa.float64()), (name, pa.string())]), path)


def folder_of(path):
    path.mkdir()
    return path


HARMLESS = {
    "a marker": lambda folder: (folder / "_SUCCESS").touch(),
    "a marker of another name": lambda folder: (folder / "more" / ".done").touch(),
    "a checksum": lambda folder: checksum(folder / ".a.parquet.crc", folder / "a.parquet"),
    "a checksum of a marker": lambda folder: (
        (folder / "_SUCCESS").touch(),
        checksum(folder / "._SUCCESS.crc", folder / "_SUCCESS"),
    ),
    "a summary": lambda folder: summary(folder / "_metadata", "note"),
    "a common summary": lambda folder: summary(folder / "_common_metadata", "note"),
    "an empty folder": lambda folder: folder_of(folder / "_temporary"),
}
HARMFUL = {
    "a file that readers skip": lambda folder: raw(folder / "_raw.parquet"),
    "a hidden file": lambda folder: raw(folder / ".raw.parquet"),
    "a file in a folder that readers skip": lambda folder: raw(folder_of(folder / "_delta_log") / "raw.parquet"),
    "a file in a hidden folder": lambda folder: raw(folder_of(folder / ".old") / "raw.parquet"),
    "a marker with text": lambda folder: (folder / "_SUCCESS").write_text("secret"),
    "a file of another format": lambda folder: (folder / "raw.csv").write_text("group\na\n"),
    "an empty file": lambda folder: (folder / "empty.parquet").touch(),
    "raw rows": lambda folder: raw(folder / "c.parquet"),
    "a checksum of nothing": lambda folder: checksum(folder / ".c.parquet.crc", folder / "a.parquet"),
    "a checksum too long": lambda folder: checksum(folder / ".a.parquet.crc", folder / "a.parquet", more=4),
    "a checksum that is none": lambda folder: checksum(folder / ".a.parquet.crc", folder / "a.parquet", head=b"data"),
    "a summary of another column": lambda folder: summary(folder / "_metadata", "group"),
    "a summary that is none": lambda folder: (folder / "_metadata").write_text("secret"),
    "a column by the name of a folder": lambda folder: shutil.copy(
        folder / "a.parquet", folder_of(folder / "group=a") / "a.parquet"
    ),
    "a linked folder": lambda folder: (folder / "link").symlink_to(folder / "more"),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_files_without_data_are_harmless(certificate, folder, name):
    assert certificate.verify(folder) == "unsigned: cannot be trusted"
    HARMLESS[name](folder)
    assert certificate.verify(folder) == certificate.verify(str(folder)) == "unsigned: cannot be trusted"


@pytest.mark.parametrize("name", HARMFUL)
def test_files_with_data_count(certificate, folder, name):
    HARMFUL[name](folder)
    assert certificate.verify(folder) == "uncovered"


def test_other_files_of_the_same_columns(certificate, folder):
    (folder / "more" / "b.parquet").unlink()
    assert certificate.verify(folder) == "derived"
    pl.DataFrame({"score": ["text"], "note": ["u"]}).write_parquet(folder / "b.parquet")
    assert certificate.verify(folder) == "derived"
    shutil.rmtree(folder)
    folder.mkdir()
    assert certificate.verify(folder) == "derived"


@without_spark
def test_folders_that_are_columns(make_frame, tmp_path):
    people = {**PEOPLE, "note": [3] * 8 + [-7] * 8 + [None] * 4, "kind": ["u=1/é"] * 10 + ["w"] * 10}
    released = run(privatize(make_frame(people), **ASKED | {"layout": Layout(keep=["note", "kind"])}))
    rows = pl.DataFrame(dict(entries(released)))
    places = ["note=3/kind=u%3D1%2F%C3%A9", "note=-7/kind=u%3D1%2F%C3%A9", "note=-7/kind=w"]
    places.append("note=__HIVE_DEFAULT_PARTITION__/kind=w")
    for k, (start, stop) in enumerate([(0, 8), (8, 10), (10, 16), (16, 20)]):
        # readers take the files by name, which here is that of their place
        place = tmp_path / "release" / str(k) / places[k]
        place.mkdir(parents=True)
        rows[start:stop].drop("note", "kind").write_parquet(place / "part.parquet")
    certificate = certificate_of(released)
    assert certificate.verify(tmp_path / "release") == "unsigned: cannot be trusted"
    (tmp_path / "release" / "0" / "note=3").rename(tmp_path / "release" / "0" / "note=4")
    assert certificate.verify(tmp_path / "release") == "derived"


def test_spark_writes_folders(spark, tmp_path, monkeypatch):
    without_looks(monkeypatch)
    frame = spark.createDataFrame(pl.DataFrame(make_columns()).to_arrow()).localCheckpoint()
    released = released_of(frame, layout=Layout(keep=["note", "id"]))
    certificate = certificate_of(released)
    released.write.parquet(str(tmp_path / "plain"))
    released.write.partitionBy("note").parquet(str(tmp_path / "by"))
    assert sorted(path.name for path in (tmp_path / "by").glob("note=*")) == [
        "note=__HIVE_DEFAULT_PARTITION__",
        "note=x",
        "note=ζ",
    ]
    assert [path for path in (tmp_path / "by").rglob("*") if path.suffix == ".crc"]
    for name in ("plain", "by"):
        assert certificate.verify(tmp_path / name) == "unsigned: cannot be trusted"
        frame.limit(ROWS).write.parquet(str(tmp_path / name / "_raw"))
        assert certificate.verify(tmp_path / name) == "uncovered"


def test_an_index_in_every_file_and_a_file_of_another_format(tmp_path):
    released = pd.DataFrame(PEOPLE).puffer.privatize(**ASKED)
    released[:10].to_parquet(tmp_path / "a.parquet")
    released[10:].to_parquet(tmp_path / "b.parquet")
    assert released.puffer.certificate.verify(tmp_path) == "unsigned: cannot be trusted"
    released[10:].set_axis([9] * 9 + [3], axis=0).to_parquet(tmp_path / "b.parquet")
    assert released.puffer.certificate.verify(tmp_path) == "uncovered"
    path = tmp_path / "other.parquet"
    pl.DataFrame(PEOPLE_OF_PARQUET).write_parquet(path)
    with pytest.raises(UncoveredFrameError, match="without one"):
        read_certificate(path)
    with pytest.raises(FileNotFoundError):
        read_certificate(tmp_path / "nowhere.parquet")
    with pytest.raises(UncoveredFrameError):
        pl.DataFrame(PEOPLE_OF_PARQUET).puffer.write_parquet(path)
    certificate = release(pl.DataFrame(PEOPLE_OF_PARQUET)).puffer.certificate
    assert certificate.verify(path) == "uncovered"


def test_a_single_file_of_another_format(certificate, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(PEOPLE))
    with pytest.raises(ArgumentError, match="a file of another format"):
        certificate.verify(path)
    with pytest.raises(FileNotFoundError):
        certificate.verify(tmp_path / "nowhere")


# Certificates in Parquet files, from every library to every library.
ORDER = np.random.default_rng(1).permutation(20)
PEOPLE_OF_PARQUET = {
    "group": np.array(list("aabb") * 5)[ORDER].tolist(),
    "score": np.array([1, 2, 2, 4] * 5)[ORDER].tolist(),
}
PEOPLE_OF_PARQUET |= {"note": ["u", "v", "w", "z"] * 5}


def release(frame, index=None):
    return run(privatize(frame, secret="group", public="score", layout=Layout(keep="note", index=index), epsilon=1.0))


@without_spark
def test_the_file_is_verified_by_its_own_certificate(make_frame, tmp_path):
    released = release(make_frame(PEOPLE_OF_PARQUET))
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


def test_pandas_own_writer_kept_indices_and_answers(tmp_path):
    path = tmp_path / "released.parquet"
    release(pd.DataFrame(PEOPLE_OF_PARQUET)).to_parquet(path)
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"
    assert pd.read_parquet(path).puffer.verify() == "unsigned: cannot be trusted"
    frame = pd.DataFrame(PEOPLE_OF_PARQUET, index=range(5, 25))
    path = tmp_path / "released.parquet"
    release(frame, index="keep").puffer.write_parquet(path)
    assert read_certificate(path).verify(path) == "unsigned: cannot be trusted"
    assert pd.read_parquet(path).index.tolist() == list(range(5, 25))
    path = tmp_path / "answers.parquet"
    answers = pl.DataFrame(PEOPLE_OF_PARQUET).puffer.aggregate(unit="group", value="score", query="mean", epsilon=1.0)
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
    frame = pd.DataFrame(PEOPLE_OF_PARQUET)
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
