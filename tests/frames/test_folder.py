"""A folder of Parquet files: every file in it counts, those that readers skip too."""

import json
import shutil

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import run, without_spark
from kinds import ROWS, entries, make_columns
from kinds import release as released_of
from spark_rows import without_looks

from puffer_frames import Layout, certificate_of, privatize
from puffer_frames.errors import ArgumentError

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


def test_an_index_of_pandas_in_every_file(tmp_path):
    released = pd.DataFrame(PEOPLE).puffer.privatize(**ASKED)
    released[:10].to_parquet(tmp_path / "a.parquet")
    released[10:].to_parquet(tmp_path / "b.parquet")
    assert released.puffer.certificate.verify(tmp_path) == "unsigned: cannot be trusted"
    released[10:].set_axis([9] * 9 + [3], axis=0).to_parquet(tmp_path / "b.parquet")
    assert released.puffer.certificate.verify(tmp_path) == "uncovered"


def test_a_single_file_of_another_format(certificate, tmp_path):
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(PEOPLE))
    with pytest.raises(ArgumentError, match="a file of another format"):
        certificate.verify(path)
    with pytest.raises(FileNotFoundError):
        certificate.verify(tmp_path / "nowhere")
