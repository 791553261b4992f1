"""What Spark frames have of their own: cells that Spark counts, dtypes and names, and what they are refused."""

import numpy as np
import polars as pl
import pytest
from cases import CASES
from conftest import build_frame, few, sweep, thinned
from kinds import release
from spark_rows import few_cells, make_frame, make_table

import puffer_frames
from puffer_frames import Layout, Noise, PufferError, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.summary import EXACT_ROWS
from puffer_frames.mechanisms.noise import rows_seen


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def frame(spark, table):
    return make_frame(spark, table)


def test_the_rows_of_every_kinds_cases_lie_in_two_partitions(spark):
    """So that their numbers go on from one partition to the next."""
    frame = build_frame("spark", {"place": range(10)}, spark)
    assert frame.selectExpr("spark_partition_id() AS partition").distinct().count() == 2


@few(1)
@pytest.mark.parametrize("domain", [{"value": (-1.0, 2.0)}, None])
@sweep(2_000, 140_000)
def test_many_values_are_counted_in_the_same_cells(spark, tmp_path, monkeypatch, domain, count):
    """Of few rows they are in few cells."""
    monkeypatch.setattr(rows_seen, "most_filled", lambda secrets: 0)  # no value is counted by itself
    if count < EXACT_ROWS:
        few_cells(monkeypatch)
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, count)
    table = pl.DataFrame({"group": group, "value": rng.standard_t(4, count) + 0.5 * group})
    table.write_parquet(tmp_path / "table.parquet", row_group_size=count // 4)
    ours = spark.read.parquet(str(tmp_path / "table.parquet"))
    plans = [
        puffer_frames.calibrate(
            f, secret="group", public="value", epsilon=1.0, mechanism=Noise(theorem="gaussian"), domain=domain
        )
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


IN_SPARK = [name for name in CASES if name not in ELSEWHERE]


@pytest.mark.parametrize("case", thinned(IN_SPARK, few=IN_SPARK[::5]))
def test_every_table_has_the_same_answer(spark, case):
    make, options = CASES[case]
    made = make()[-1]
    local = made if isinstance(made, pl.DataFrame) else pl.from_pandas(made)
    plain = local.with_columns(pl.col(pl.Enum).cast(pl.String), pl.col(pl.UInt64).cast(pl.Int64)).to_arrow()
    asked = {"secret": "group", "public": "x", "epsilon": 1.0} | options
    asked.pop("layout", None)  # a plan keeps nothing; tests of kept columns are in test_kept.py
    answers = []
    for frame in (local, spark.createDataFrame(plain)):
        try:
            plan = puffer_frames.calibrate(frame, **asked)
            answers.append((str(plan), plan.checksum))
        except PufferError as error:
            fact, _, hint = str(error).replace("Unknown", "Duration").partition("\n\n")
            answers.append((type(error), fact, hint if case != "durations" else ""))  # Spark's are of no known dtype
    assert answers[0] == answers[1]


def test_index_and_shuffle(frame):
    with pytest.raises(ArgumentError, match="index"):
        release(frame, layout=Layout(index="drop"))
    with pytest.raises(ArgumentError, match="orderBy"):
        release(frame, layout=Layout(shuffle=True))


def test_what_spark_frames_do_not_do(spark, frame, tmp_path):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ArgumentTypeError, match="streaming"):
        release(stream, secret="timestamp", public="value")
    with pytest.raises(ArgumentTypeError, match="streaming"):
        puffer_frames.aggregate(stream, query="count", epsilon=1.0)
    with pytest.raises(ArgumentTypeError, match="Spark DataFrame"):
        puffer_frames.write_parquet(release(frame, layout=Layout(row_id="id")), tmp_path / "x.parquet")


def test_names_with_dots_and_backticks_and_of_other_case(spark, table):
    names = ["a.b", "`", "A.B", "score", "Score", "^x$", "some", "note", "number"]
    local = table.rename(dict(zip(table.columns, names)))
    frame = spark.createDataFrame(table.to_arrow()).toDF(*names)
    options = {
        "secret": ["a.b", "`"],
        "public": "Score",
        "layout": Layout(keep=["^x$", "A.B"], row_id="number"),
        "epsilon": 0.5,
    }
    ours, theirs = release(frame, **options), release(local, **options)
    assert ours.columns == theirs.columns == ["A.B", "Score", "^x$"]
    assert certificate_of(ours).verify(theirs) == "unsigned: cannot be trusted"
