"""Whatever becomes of its tasks, a Spark frame has one noise for each row, and its certificate."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import thinned
from kinds import ROWS, fingerprint, release
from spark_rows import few_cells, make_frame, make_table, released_rows, without_looks

import puffer_frames
from puffer_frames import Certificate, Layout, Noise, certificate_of
from puffer_frames.errors import CalibrationError, UncoveredFrameError
from puffer_frames.noise.stream import Purpose, ReleaseKey


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def frame(spark, table):
    """Columns are kept here to tell the rows apart."""
    with pytest.MonkeyPatch.context() as patch:
        without_looks(patch)
        yield make_frame(spark, table)


@pytest.fixture(scope="module")
def local(frame):
    return frame.toArrow().to_pandas()


# Tasks

NUMBERED = {"layout": Layout(row_id="id", keep="id")}


@pytest.fixture(scope="module")
def expected(frame):
    """The rows of a numbered release, sorted."""
    return released_rows(release(frame, **NUMBERED), "id")


@pytest.mark.parametrize(
    ("files", "by", "partitions", "size"),
    [(5, "note", "3", "4096"), pytest.param(1, None, "1", "1g", marks=pytest.mark.slow)],
)
def test_partitions_files_and_settings_do_not_change_the_noise(
    spark, frame, expected, tmp_path, files, by, partitions, size
):
    frame.repartition(files).write.parquet(str(tmp_path / "rows"))
    spark.conf.set("spark.sql.shuffle.partitions", partitions)
    spark.conf.set("spark.sql.files.maxPartitionBytes", size)
    try:
        other = spark.read.parquet(str(tmp_path / "rows"))
        assert released_rows(release(other.repartition(by) if by else other, **NUMBERED), "id").equals(expected)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.conf.unset("spark.sql.files.maxPartitionBytes")


def failing_once(flag):
    """A task that fails in the middle of its rows, once, if the flag is there; the next attempt finds them in another
    order, as after a shuffle.
    """

    def run(batches):
        from pyspark import TaskContext

        again = TaskContext.get().attemptNumber() > 0
        for k, batch in enumerate(batches):
            if k == 1 and flag.exists():
                flag.unlink()
                raise RuntimeError("a lost task")
            yield batch.take(np.arange(batch.num_rows)[::-1]) if again else batch

    return run


DRAWN = {"noise": {}, "levels": {"public": "note", "nulls": "level", "epsilon": 0.01}}


@pytest.mark.parametrize(("what", "by"), thinned(DRAWN, [None, "id"]))
def test_a_retried_task_draws_the_same(frame, tmp_path, what, by):
    """Once for each row: in a task that failed, in other partitions, and in other orders."""
    flag, asked = tmp_path / "fail", DRAWN[what] | {"layout": Layout(row_id=by, keep="id")}
    source = frame.mapInArrow(failing_once(flag), frame.schema)
    released = release(source, **asked, rng=None)
    once = released_rows(released, "id")
    assert what == "noise" or set(once["note"]) == {"x", "ζ", None}
    flag.touch()
    if by:  # not materialised: the source is read again, on another path, and its task fails
        again = released_rows(released.repartition(4), "id")
    else:  # a step after the noise fails
        again = released_rows(released.mapInArrow(failing_once(flag), released.schema), "id")
    assert not flag.exists()  # a task failed, and was run again
    assert again.equals(once)
    assert released_rows(released.filter("id > 500"), "id").equals(once.filter(pl.col("id") > 500))
    assert certificate_of(released).verify(once) == "unsigned: cannot be trusted"
    if by:
        other = frame.repartition(5, "note").sortWithinPartitions("score")
        ours, theirs = (released_rows(release(each, **asked, rng=7), "id") for each in (other, frame))
        assert ours.equals(theirs)


def test_a_task_that_fails_during_the_release(frame, expected, tmp_path):
    flag = tmp_path / "fail"
    flag.touch()
    source = frame.mapInArrow(failing_once(flag), frame.schema)
    released = release(source, **NUMBERED)
    assert not flag.exists()
    assert released_rows(released, "id").equals(expected)


@pytest.mark.parametrize("reliable", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_rows_that_change_are_materialised_once(spark, frame, tmp_path, reliable):
    context = spark.sparkContext
    changing = frame.repartition(3).withColumn("id", _clock())
    if reliable:
        context.setCheckpointDir(str(tmp_path))
    try:
        released = release(changing, layout=Layout(keep="id"))
    finally:
        context._jsc.sc().setCheckpointDir(None)
    assert any(tmp_path.rglob("part-*")) is reliable
    assert released_rows(released, "id").equals(released_rows(released, "id"))
    assert puffer_frames.verify(released) == "unsigned: cannot be trusted"


def _clock():
    """A column that every evaluation gives other values."""
    from pyspark.sql import functions

    return functions.expr("reflect('java.lang.System', 'nanoTime')")


def test_keys_and_rows_between_the_passes(frame, tmp_path):
    changing = frame.withColumn("score", (_clock().cast("long") / 1000).cast("long") % 3)
    with pytest.raises(CalibrationError, match="same in every pass"):
        release(changing, layout=Layout(row_id="id"), epsilon=1e-3)
    first, second = (
        released_rows(release(frame, layout=Layout(row_id="id", keep="id"), rng=None), "id") for _ in range(2)
    )
    assert (first["score"] != second["score"]).mean() > 0.99


def test_the_key_is_in_no_plan_and_no_error(frame, capsys):
    key = ReleaseKey.of(7)
    derived = {part.hex() for part in key.derive(Purpose.NOISE, "score")}
    secrets = {key._key.hex(), repr(key._key)[2:-1], *derived}
    released = release(frame, layout=Layout(row_id="id"))

    def fail(batches):
        raise RuntimeError("broken")

    released.explain(True)
    shown = capsys.readouterr().out
    with pytest.raises(Exception, match="broken") as caught:
        released.mapInArrow(fail, released.schema).collect()
    shown += str(caught.value) + repr(released)
    assert "MapInArrow noise(" in shown
    assert not [secret for secret in secrets if secret in shown]


def test_no_rows_reach_the_driver(spark, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    few_cells(monkeypatch)
    normal = np.random.default_rng(1).normal(size=(2, 2000))
    table = pl.DataFrame({"group": ["a", "b"] * 1000, "value": normal[0], "other": normal[1]})
    frame = spark.createDataFrame(table.to_arrow())
    sizes = []
    native = DataFrame.toArrow

    def counted(self):
        found = native(self)
        sizes.append(found.num_rows)
        return found

    def refused(self, *args):
        raise AssertionError("rows collected")

    monkeypatch.setattr(DataFrame, "toArrow", counted)
    for name in ("collect", "toPandas", "toLocalIterator", "take", "head", "first", "tail"):
        monkeypatch.setattr(DataFrame, name, refused)
    puffer_frames.privatize(
        frame, secret="group", public=["value", "other"], epsilon=0.1, mechanism=Noise(theorem="bounded")
    )
    assert 0 < max(sizes) <= 2 * 64


# Certificates


def test_certificates_of_spark_frames(spark, frame, tmp_path):
    released = release(frame, layout=Layout(keep=["note"]))
    certificate = certificate_of(released)
    path = tmp_path / "release"
    released.write.parquet(str(path))
    certificate.save(tmp_path / "release.json")
    assert Certificate.load(tmp_path / "release.json") == certificate
    assert certificate.fingerprint.startswith("rows:")
    assert "in any order" in str(certificate)
    files = spark.read.parquet(str(path))
    local = pd.read_parquet(path)
    for same in (
        path,
        files,
        files.orderBy("score"),
        pl.read_parquet(path / "*.parquet"),
        local,
        local.sort_values("score", ignore_index=True),
    ):
        assert certificate.verify(same) == "unsigned: cannot be trusted"
    assert certificate.attach(files) is files
    assert puffer_frames.verify(files) == "unsigned: cannot be trusted"
    for other in (files.limit(100), files.selectExpr("round(score) AS score", "note"), local.head(7), local[["score"]]):
        assert certificate.verify(other) == "derived"
    more = files.selectExpr("*", "1 AS raw")
    assert certificate.verify(more) == "uncovered"
    with pytest.raises(UncoveredFrameError, match="raw"):
        certificate.attach(more)
    with pytest.raises(UncoveredFrameError, match="without one"):
        certificate_of(files.limit(1))
    ordered = certificate_of(
        release(local.assign(group=np.random.default_rng(1).permutation(["a", "b"] * (ROWS // 2))), secret="group")
    )
    assert ordered.verify(files.select("score")) == "derived"


@pytest.mark.slow
def test_kept_columns_of_every_kind_are_in_the_fingerprint(spark, tmp_path):
    n = 60
    start = datetime.datetime(2020, 1, 1, 12, 30, 15, 123456)
    table = {
        "group": np.random.default_rng(1).permutation(list("ab") * (n // 2)).tolist(),
        "score": [k * k % 7 for k in range(n)],
        "day": [None if k == 3 else datetime.date(2020, 1, 1) + datetime.timedelta(k) for k in range(n)],
        "at": [start - datetime.timedelta(days=400 * k) for k in range(n)],
        "price": [decimal.Decimal(k) / 4 for k in range(n)],
        "tags": [["x", str(k)] for k in range(n)],
        "gone": [None if k % 2 else float(k) for k in range(n)],
        "yes": [None if k % 5 == 0 else k % 2 == 0 for k in range(n)],
        "narrow": list(range(n)),
    }
    arrow = pl.DataFrame(table).with_columns(pl.col("narrow").cast(pl.Int8)).to_arrow()
    keep = [name for name in table if name not in ("group", "score")]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        _kept_columns(spark, arrow, keep, tmp_path / "release")
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def _kept_columns(spark, arrow, keep, path):
    released = release(spark.createDataFrame(arrow), layout=Layout(keep=keep))
    assert [field.dataType.simpleString() for field in released.schema.fields][:1] == ["double"]
    released.write.parquet(str(path))
    certificate = certificate_of(released)
    assert certificate.verify(path) == "unsigned: cannot be trusted"
    assert certificate.verify(spark.read.parquet(str(path))) == "unsigned: cannot be trusted"


@pytest.mark.parametrize("changed", [("x", 2, 1.5), ("y", 0, "w"), ("x", 1, 0.0), ("y", 2, None)])
def test_the_fingerprint_sees_every_entry(changed):
    table = pl.DataFrame({"x": [1.0, None, 3.0], "y": ["u", "v", "w"]})
    name, place, value = changed
    other = table.with_columns(pl.Series(name, [value if k == place else v for k, v in enumerate(table[name])]))
    first, second = fingerprint(table, like="rows:"), fingerprint(other, like="rows:")
    assert first != second
    assert first == fingerprint(table[::-1], like="rows:") == fingerprint(table.select("y", "x"), like="rows:")
    assert first == fingerprint(table.to_pandas(), like="rows:")
    assert fingerprint(pl.concat([table, table[:1]]), like="rows:") != fingerprint(
        pl.concat([table, table[1:2]]), like="rows:"
    )
