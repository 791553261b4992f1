"""A Spark frame is released as pandas releases the same rows."""

import numpy as np
import polars as pl
import pytest
from cases import CASES
from conftest import build_frame, run
from spark_rows import MARK, ROWS, few_cells, make_frame, make_table, release

import puffer_frames
from puffer_frames import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    PriorError,
    PufferError,
    certificate_of,
)


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def frame(spark, table):
    return make_frame(spark, table)


@pytest.fixture(scope="module")
def local(frame):
    return frame.toArrow().to_pandas()


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
