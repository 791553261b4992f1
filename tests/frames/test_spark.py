"""A Spark frame is released as pandas releases the same rows, whatever becomes of its tasks."""

import datetime
import decimal
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cases import CASES
from conftest import build_frame, run

import puffer_frames
from puffer_frames import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    Certificate,
    ColumnNotFoundError,
    PriorError,
    PufferError,
    UncoveredFrameError,
    certificate_of,
)
from puffer_frames.frames import summary
from puffer_frames.noise.stream import ReleaseKey

ROWS = 1200
MARK = 8_675_309
"""A public value that no message may show."""


@pytest.fixture(scope="module")
def table():
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


@pytest.fixture(scope="module")
def frame(spark, table):
    return spark.createDataFrame(table.to_arrow()).repartition(2).sortWithinPartitions("id").localCheckpoint()


@pytest.fixture(scope="module")
def local(frame):
    return frame.toArrow().to_pandas()


def release(frame, **options):
    return puffer_frames.privatize(frame, **{"secret": "group", "public": "score", "epsilon": 0.05, "rng": 7} | options)


def released_rows(frame, *by):
    """The rows as Arrow has them, sorted."""
    return pl.from_arrow(frame.toArrow()).sort(*by)


REQUESTS = {
    "two secrets": {"secret": ["group", "old"], "epsilon": 0.1},
    "whole floats as the secret": {"secret": "code", "epsilon": 0.01},
    "32-bit floats": {"public": "height", "epsilon": 1.0, "theorem": "gaussian"},
    "booleans": {"public": "smokes", "epsilon": 0.01},
    "two columns": {"public": ["score", "height"], "domain": {"height": (150, 190)}, "epsilon": 1.0},
    "Gaussian noise": {"noise": "gaussian", "delta": 1e-6},
    "clip and round": {"clip": (0, 5), "round": True, "domain": {"score": (1, 5)}},
    "keep": {"keep": ["note", "code", "id"]},
    "incomplete rows": {"public": "some", "nulls": "drop", "epsilon": 0.1},
    "pairs": {"pairs": [("a", "b")], "epsilon": 0.1},
    "no noise": {"epsilon": 5.0, "delta": 0.9, "allow_zero_noise": True},
}


BY = [*((name, "id") for name in REQUESTS), *((name, None) for name in ("keep", "incomplete rows", "two columns"))]


@pytest.mark.parametrize(("name", "by"), BY)
def test_same_certificate_and_same_numbers_as_in_memory(frame, local, name, by):
    options = {"row_id": by} | REQUESTS[name]
    ours, theirs = release(frame, **options), release(local, **options)
    collected = ours.toArrow()
    assert ours.columns == list(theirs.columns)
    assert collected.to_pylist() == pl.from_pandas(theirs).to_arrow().cast(collected.schema).to_pylist()
    one, other = certificate_of(ours), certificate_of(theirs)
    assert one.with_fingerprint("") == other.with_fingerprint("")
    assert one.verify(theirs) == "intact"


@pytest.mark.parametrize("name", ["pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy"])
def test_the_noise_follows_row_id_on_every_kind_of_frame(frame, table, name):
    options = {"row_id": "id", "keep": "id"}
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3).to_dict(as_series=False)
    local = run(release(build_frame(name, shuffled), **options))
    expected = dict(zip(local["id"].to_list() if "polars" in name else list(local["id"]), list(local["score"])))
    assert {row["id"]: row["score"] for row in release(frame, **options).collect()} == expected


def test_the_plan_is_that_of_pandas(frame, table):
    for options in ({"public": "score"}, {"public": "height"}, {"public": ["some", "height"], "nulls": "drop"}):
        asked = {"secret": ["group", "old"], "epsilon": 0.5} | options
        ours, theirs = puffer_frames.calibrate(frame, **asked), puffer_frames.calibrate(table, **asked)
        assert str(ours) == str(theirs)
        assert ours.checksum == theirs.checksum
    plan = puffer_frames.calibrate(table, secret="group", public="score", epsilon=0.05)
    assert plan.release(frame, row_id="id", rng=7).count() == ROWS
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(frame.limit(100))


@pytest.mark.parametrize("domain", [None, {"value": (-1.0, 2.0)}])
def test_many_values_are_counted_in_the_same_cells(spark, tmp_path, domain):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200_000)
    table = pl.DataFrame({"group": group, "value": rng.standard_t(4, 200_000) + 0.5 * group})
    table.write_parquet(tmp_path / "table.parquet", row_group_size=50_000)
    ours = spark.read.parquet(str(tmp_path / "table.parquet"))
    plans = [
        puffer_frames.calibrate(f, secret="group", public="value", epsilon=1.0, theorem="gaussian", domain=domain)
        for f in (table, ours)
    ]
    assert plans[0].checksum == plans[1].checksum
    assert plans[0].beliefs["empirical"][0].radius > 0


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ({3: None}, "1 row with"),
        ({3: None, 4: float("nan")}, "2 rows with"),
        ({3: float("inf"), 4: -float("inf")}, "2 rows with an infinity"),
    ],
)
def test_cells_count_what_is_missing(spark, monkeypatch, rows, what):
    few_cells(monkeypatch)
    values = [rows.get(k, k / 7) for k in range(600)]
    table = pl.DataFrame({"group": ["a", "b"] * 300, "value": values}, strict=False)
    for frame in (table, spark.createDataFrame(table.to_arrow())):
        with pytest.raises(PriorError, match=what):
            puffer_frames.calibrate(frame, secret="group", public="value", epsilon=1.0)


def few_cells(monkeypatch):
    for name, value in {"EXACT_ROWS": 100, "MOST_CELLS": 64, "FEWEST_CELLS": 64}.items():
        monkeypatch.setattr(summary, name, value)


# Tables that a Spark frame cannot hold, or whose names, index or order it does not have.
ELSEWHERE = {name for name in CASES if any(word in name for word in ("named 0", "tuples", "index", "shuffle", "mixed"))}
ELSEWHERE |= {"numbers in an object column", "two columns of one name", "subclass of DataFrame", "lazy Polars frame"}


@pytest.mark.parametrize("case", [name for name in CASES if name not in ELSEWHERE])
def test_every_table_has_the_same_answer(spark, case):
    make, options = CASES[case]
    made = make()[-1]
    local = made if isinstance(made, pl.DataFrame) else pl.from_pandas(made)
    plain = local.with_columns(pl.col(pl.Enum).cast(pl.String), pl.col(pl.UInt64).cast(pl.Int64)).to_arrow()
    asked = {"secret": "group", "public": "x", "epsilon": 1.0} | options
    answers = []
    for frame in (local, spark.createDataFrame(plain)):
        try:
            plan = puffer_frames.calibrate(frame, **asked)
            answers.append((str(plan), plan.checksum))
        except PufferError as error:
            answers.append((type(error), str(error).replace("Unknown", "Duration")))
    assert answers[0] == answers[1]


# Tasks


def test_partitions_files_and_settings_do_not_change_the_noise(spark, frame, tmp_path):
    options = {"row_id": "id", "keep": "id", "rng": 11}
    expected = released_rows(release(frame, **options), "id")
    frame.coalesce(1).write.parquet(str(tmp_path / "one"))
    frame.repartition(5).write.parquet(str(tmp_path / "five"))
    one, five = (spark.read.parquet(str(tmp_path / name)) for name in ("one", "five"))
    for partitions, size, other in (("5", "1g", five.repartition("note")), ("1", "4096", one)):
        spark.conf.set("spark.sql.shuffle.partitions", partitions)
        spark.conf.set("spark.sql.files.maxPartitionBytes", size)
        try:
            assert released_rows(release(other, **options), "id").equals(expected)
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


@pytest.mark.parametrize("by", [None, "id"], ids=["by position", "by row_id"])
def test_a_retried_task_draws_the_same_noise(frame, tmp_path, by):
    flag = tmp_path / "fail"
    source = frame.mapInArrow(failing_once(flag), frame.schema)
    released = release(source, row_id=by, keep="id", rng=None)
    once = released_rows(released, "id")
    flag.touch()
    if by:  # not materialised: the source is read again, on another path, and its task fails
        again = released_rows(released.repartition(4), "id")
    else:  # a step after the noise fails
        again = released_rows(released.mapInArrow(failing_once(flag), released.schema), "id")
    assert not flag.exists()  # a task failed, and was run again
    assert again.equals(once)
    assert released_rows(released.filter("id > 500"), "id").equals(once.filter(pl.col("id") > 500))
    assert certificate_of(released).verify(once) == "intact"


def test_a_task_that_fails_during_the_release(frame, tmp_path):
    flag = tmp_path / "fail"
    flag.touch()
    source = frame.mapInArrow(failing_once(flag), frame.schema)
    released = release(source, row_id="id", keep="id")
    assert not flag.exists()
    assert released_rows(released, "id").equals(released_rows(release(frame, row_id="id", keep="id"), "id"))


@pytest.mark.parametrize("reliable", [False, True])
def test_rows_that_change_are_materialised_once(spark, frame, tmp_path, reliable):
    context = spark.sparkContext
    changing = frame.repartition(3).withColumn("id", _clock())
    if reliable:
        context.setCheckpointDir(str(tmp_path))
    try:
        released = release(changing, keep="id")
    finally:
        context._jsc.sc().setCheckpointDir(None)
    assert any(tmp_path.rglob("part-*")) is reliable
    assert released_rows(released, "id").equals(released_rows(released, "id"))
    assert puffer_frames.verify(released) == "intact"


def _clock():
    """A column that every evaluation gives other values."""
    from pyspark.sql import functions

    return functions.expr("reflect('java.lang.System', 'nanoTime')")


def test_rows_that_change_between_the_passes_are_an_error(frame, tmp_path):
    changing = frame.withColumn("score", (_clock().cast("long") / 1000).cast("long") % 3)
    with pytest.raises(CalibrationError, match="same in every pass"):
        release(changing, row_id="id", epsilon=1e-3)


def test_every_release_has_a_key_of_its_own(frame):
    first, second = (released_rows(release(frame, row_id="id", keep="id", rng=None), "id") for _ in range(2))
    assert (first["score"] != second["score"]).mean() > 0.99


def test_the_key_is_in_no_plan_and_no_error(frame, capsys):
    key = ReleaseKey.of(7)
    secrets = {key._key.hex(), repr(key._key)[2:-1], *(key.derive(f"{part}\0score").hex() for part in ("word", "pair"))}
    released = release(frame, row_id="id")

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
    puffer_frames.privatize(frame, secret="group", public=["value", "other"], epsilon=0.1)
    assert 0 < max(sizes) <= 2 * 64


# What bad input gets


def test_errors_name_no_value(spark, table, frame):
    marked = table.with_columns(pl.col("score") + MARK, pl.col("id").cast(pl.String).alias("text"))
    ours = spark.createDataFrame(marked.to_arrow())
    failures = [
        (ColumnNotFoundError, {"row_id": "idd"}),
        (ColumnNotFoundError, {"public": "scores"}),
        (ArgumentTypeError, {"row_id": "text"}),
        (ArgumentTypeError, {"row_id": "height"}),
        (ArgumentTypeError, {"public": "note"}),
        (ArgumentError, {"row_id": "score"}),
        (ArgumentError, {"row_id": "some"}),
        (ArgumentTypeError, {"row_id": ["id", "some"]}),
        (ArgumentError, {"nulls": "ignore"}),
    ]
    for kind, options in failures:
        texts = []
        for made in (ours, marked):
            with pytest.raises(kind) as caught:
                release(made, **options)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        assert str(MARK)[:4] not in texts[0]


@pytest.mark.parametrize(
    ("spoilt", "what"), [([5, 5, 5], "2 rows with that of another"), ([None, None, 5], "2 rows without one")]
)
def test_row_ids_are_there_and_different(spark, table, spoilt, what):
    ids = pl.Series([*spoilt, *range(100, 97 + ROWS)])
    table = table.with_columns(id=ids)
    for frame in (table, table.to_pandas().astype({"id": "Int64"}), spark.createDataFrame(table.to_arrow())):
        with pytest.raises(ArgumentError, match=what):
            release(frame, row_id="id")


def test_index_and_shuffle(frame):
    with pytest.raises(ArgumentError, match="index"):
        release(frame, index="drop")
    with pytest.raises(ArgumentError, match="orderBy"):
        release(frame, shuffle=True)


def test_what_spark_frames_do_not_do(spark, frame, tmp_path):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ArgumentTypeError, match="streaming"):
        release(stream, secret="timestamp", public="value")
    for ask in (
        lambda: puffer_frames.aggregate(frame, unit="id", value="score", query="sum", epsilon=1.0),
        lambda: puffer_frames.histogram(frame, state="old", time="id", chain=[[0.5, 0.5]] * 2, epsilon=1.0),
        lambda: puffer_frames.write_parquet(release(frame, row_id="id"), tmp_path / "x.parquet"),
    ):
        with pytest.raises(ArgumentTypeError, match="Spark DataFrame"):
            ask()


def test_names_with_dots_and_backticks_and_of_other_case(spark, table):
    names = ["a.b", "`", "A.B", "score", "Score", "^x$", "some", "note", "number"]
    local = table.rename(dict(zip(table.columns, names)))
    frame = spark.createDataFrame(table.to_arrow()).toDF(*names)
    options = {"secret": ["a.b", "`"], "public": "Score", "keep": ["^x$", "A.B"], "epsilon": 0.5, "row_id": "number"}
    ours, theirs = release(frame, **options), release(local, **options)
    assert ours.columns == theirs.columns == ["A.B", "Score", "^x$"]
    assert certificate_of(ours).verify(theirs) == "intact"


# Certificates


def test_certificates_of_spark_frames(spark, frame, tmp_path):
    released = release(frame, keep=["note"])
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
        local.sort_values("score"),
    ):
        assert certificate.verify(same) == "intact"
    assert certificate.attach(files) is files
    assert puffer_frames.verify(files) == "intact"
    for other in (files.limit(100), files.selectExpr("round(score) AS score", "note"), local.head(7), local[["score"]]):
        assert certificate.verify(other) == "derived"
    more = files.selectExpr("*", "1 AS raw")
    assert certificate.verify(more) == "uncovered"
    with pytest.raises(UncoveredFrameError, match="raw"):
        certificate.attach(more)
    with pytest.raises(UncoveredFrameError, match="without one"):
        certificate_of(files.limit(1))
    ordered = certificate_of(release(local.assign(group=["a", "b"] * (ROWS // 2)), secret="group"))
    assert ordered.verify(files.select("score")) == "derived"


def test_kept_columns_of_every_kind_are_in_the_fingerprint(spark, tmp_path):
    n = 60
    start = datetime.datetime(2020, 1, 1, 12, 30, 15, 123456)
    table = {
        "group": list("ab") * (n // 2),
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
    released = release(spark.createDataFrame(arrow), keep=keep)
    assert [field.dataType.simpleString() for field in released.schema.fields][:1] == ["double"]
    released.write.parquet(str(path))
    certificate = certificate_of(released)
    assert certificate.verify(path) == "intact"
    assert certificate.verify(spark.read.parquet(str(path))) == "intact"


@pytest.mark.parametrize("changed", [("x", 2, 1.5), ("y", 0, "w"), ("x", 1, 0.0), ("y", 2, None)])
def test_the_fingerprint_sees_every_entry(changed):
    from puffer_frames.frames.fingerprint import fingerprint

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


def test_pyspark_is_not_imported_without_need():
    code = "import sys, json, puffer_frames; print(json.dumps([m for m in sys.modules if m.startswith('pyspark')]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
