"""What Spark frames have of their own: cells that Spark counts, dtypes and names, and what they are refused."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from cases import CASES
from conftest import build_frame, few, sweep, thinned
from kinds import release
from spark_rows import few_cells, make_frame, make_table, released_rows

import puffer_frames
from puffer_frames import Layout, Noise, PufferError, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, ColumnTypeError
from puffer_frames.frames.draws import TOGETHER, gathered
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.summary import EXACT_ROWS
from puffer_frames.frames.table import open_table
from puffer_frames.mechanisms.noise import rows_seen


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def frame(spark, table):
    return make_frame(spark, table)


def test_two_partitions_and_kept_intervals_of_months(spark):
    # So that their numbers go on from one partition to the next
    frame = build_frame("spark", {"place": range(10)}, spark)
    assert frame.selectExpr("spark_partition_id() AS partition").distinct().count() == 2
    frame = spark.sql("select id % 2 = 0 as g, id % 5 as x, interval '1' month as k from range(100)")
    with pytest.raises(ColumnTypeError, match="'k' must be of a type that Arrow has; got interval month"):
        puffer_frames.privatize(frame, secret="g", public="x", epsilon=1.0, layout=Layout(keep="k"))


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


# Tables that a Spark frame cannot hold, or whose names, index or order it does not have.
ELSEWHERE = {
    name for name in CASES if any(word in name for word in ("named 0", "tuples", "index", "shuffle", "mixed", "lists"))
}
ELSEWHERE |= {"numbers in an object column", "two columns of one name", "subclass of DataFrame", "lazy Polars frame"}
ELSEWHERE |= {"times at midnight", "times of the day"}  # createDataFrame makes them moments; test_dates.py has them


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


def test_what_spark_frames_do_not_do(frame, spark, tmp_path):
    with pytest.raises(ArgumentError, match="index"):
        release(frame, layout=Layout(index="drop"))
    with pytest.raises(ArgumentError, match="orderBy"):
        release(frame, layout=Layout(shuffle=True))
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


# The passes over a Spark frame one by one: what they find is what plain Python finds, and other rows are noticed.
passes = pytest.importorskip(
    "puffer_frames.frames.spark.passes", reason="the extra spark is not installed", exc_type=ImportError
)

LARGEST = 2**63 - 1


def numbered(spark, numbers):
    n = len(numbers)
    frame = {"group": ["a", "b"] * (n // 2), "score": [k % 3 for k in range(n)], "id": pa.array(numbers, pa.int64())}
    return build_frame("spark", frame, spark)


NUMBERS = {
    "ends of 64 bits": [-LARGEST - 1, -LARGEST, LARGEST - 1, LARGEST, -1, 0],
    "ends of words": [-65, -64, -63, -1, 0, 1, 62, 63, 64, 65, 127, 128],
    "far apart": [(k * 0x9E3779B97F4A7C15) % 2**63 - 2**62 for k in range(40)],
}


def complete(spark, numbers):
    roles = Roles.of(secret=("group",), public=("score",), row_id="id")
    return open_table(numbered(spark, numbers)).complete(roles, nulls="raise", layout=None)


@few(1)
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_a_bit_of_its_word(spark, name):
    """Equal numbers are counted in whatever word they are, and missing ones."""
    numbers = NUMBERS[name]
    assert complete(spark, numbers).found["rows"] == len(numbers)
    missing = [None if k % 3 == 0 else n for k, n in enumerate(numbers)]
    with pytest.raises(ArgumentError, match=f"{missing.count(None)} rows without one"):
        complete(spark, numbers + missing)
    for k in range(0, len(numbers), 5):
        with pytest.raises(ArgumentError, match="2 rows with that of another"):
            complete(spark, [*numbers, numbers[k], numbers[k]])


def test_an_estimate_is_made_only_of_integers_that_may_be_many(spark, monkeypatch):
    """Whether cells are used depends on it, never what is released; `summary.EXACT_ROWS` is the limit."""
    from puffer_frames.frames import summary
    from puffer_frames.frames.spark import table

    native, asked = table.estimate, []
    monkeypatch.setattr(table, "estimate", lambda *args, **options: asked.append(args) or native(*args, **options))
    monkeypatch.setattr(summary, "EXACT_ROWS", 200)
    for step, estimates in ((1, 0), (1000, 1)):
        frame = {"group": ["a", "b"] * 500, "score": [k % 90 * step for k in range(1000)], "flag": [True, False] * 500}
        asked.clear()
        own = build_frame("spark", frame, spark)
        puffer_frames.calibrate(
            own, secret="group", public=["score", "flag"], epsilon=0.5, mechanism=Noise(theorem="bounded")
        )
        assert len(asked) == estimates


def test_an_estimate_of_other_rows_is_an_error(spark):
    rows = make_frame(spark, make_table()).selectExpr("id AS number", "score AS public_0", "group AS secret_0")
    found = rows.agg(passes.F.bit_xor(*passes.row_hash(rows.columns, 5))).toArrow().column(0)[0].as_py()
    assert passes.estimate(rows, "public_0", seed=5, check=found) == 7
    with pytest.raises(CalibrationError, match="the pass of the estimate"):
        passes.estimate(rows.limit(1100), "public_0", seed=5, check=found)


@pytest.mark.parametrize("sizes", [[], [0], [3], [1, 0, 2], [TOGETHER, 1], [TOGETHER - 1, 5, 7, TOGETHER]])
def test_batches_are_put_together_in_their_order(sizes):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    batches = [pa.RecordBatch.from_pydict({"x": pa.array(range(e - n, e), pa.int64())}) for e, n in zip(ends, sizes)]
    found = list(gathered(iter(batches)))
    assert [x for batch in found for x in batch.column(0).to_pylist()] == list(range(sum(sizes)))
    assert len(found) <= 1 + sum(sizes) // TOGETHER or len(sizes) < 2


# What can be reached from a release of a Spark frame, and passes over rows that are not the same.
plans = pytest.importorskip(
    "puffer_frames.frames.spark.table", reason="the extra spark is not installed", exc_type=ImportError
)

HIDDEN = ("check", "number", "sums", "secret_0", "public_0", "c0", "id")
"""Names of columns beside the released ones, at some step of the plan."""


def reaches(released, name):
    """Every way that looks for a name that the frame itself does not have."""
    from pyspark.sql import functions

    column = functions.col(f"`{name}`")
    return {
        "filter": lambda: released.filter(column.isNotNull()),
        "orderBy": lambda: released.orderBy(column),
        "sortWithinPartitions": lambda: released.sortWithinPartitions(column),
        "repartition": lambda: released.repartition(2, column),
        "select": lambda: released.select(column),
        "selectExpr": lambda: released.selectExpr(f"max({name})"),
        "after a select": lambda: released.select("score").filter(column.isNotNull()),
        "after a filter": lambda: released.filter("score > 0").orderBy(column),
        "of the alias": lambda: released.filter(f"released.{name} IS NOT NULL"),
        "of the frame": lambda: released.filter(released[name].isNotNull()),
    }


@pytest.mark.parametrize("row_id", ["id", pytest.param(None, marks=pytest.mark.slow)])
@sweep(1, 6)
def test_no_column_but_the_released_ones_can_be_reached(frame, row_id, count):
    """Each name by each way; in the suite the ways one after the other, each with the next name."""
    from pyspark.errors import AnalysisException

    released = release(frame, layout=Layout(row_id=row_id, keep="note"))
    assert released.columns == ["score", "note"]
    assert released.filter("score IS NOT NULL").orderBy("note").count() == frame.count()
    reached = []
    for k, name in enumerate(HIDDEN):
        for j, (way, run) in enumerate(reaches(released, name).items()):
            if (j - k) % len(HIDDEN) >= count:
                continue
            try:
                run()
            except AnalysisException:
                continue
            reached.append((name, way))
    assert reached == []


def test_neither_files_nor_plans_show_the_rows(spark, frame, tmp_path, capsys):
    from pyspark.errors import AnalysisException

    frame.write.parquet(str(tmp_path / "rows"))
    released = release(spark.read.parquet(str(tmp_path / "rows")), layout=Layout(row_id="id"))
    for run in (lambda: released.select("_metadata.row_index"), lambda: released.filter("_metadata.row_index > 3")):
        with pytest.raises(AnalysisException):
            run().count()
    released = release(frame, layout=Layout(row_id="id"))
    for mode in ("extended", "formatted", "cost"):
        released.explain(mode=mode)
    shown = capsys.readouterr().out
    assert "MapInArrow" in shown
    assert "xxhash" not in shown
    assert "check" not in shown


@pytest.mark.parametrize("parts", thinned([1, 7], few=[7]))
def test_without_row_id_the_release_is_computed_once(frame, parts, capsys):
    """What is handed on holds neither the key nor the raw rows; some partitions here have no rows."""
    released = release(frame.limit(5).repartition(parts), nulls="drop", layout=Layout(keep="id"))
    released.explain(mode="extended")
    shown = capsys.readouterr().out
    assert "ExistingRDD" in shown
    assert "MapInArrow" not in shown
    rows = released.toArrow()
    assert puffer_frames.certificate_of(released).verify(pl.from_arrow(rows)) == "unsigned: cannot be trusted"
    assert rows.equals(released.toArrow())


def test_every_release_hashes_rows_in_its_own_way(frame, monkeypatch):
    """So that the hash of a guess cannot be looked up."""
    native, found = plans.look, []
    monkeypatch.setattr(plans, "look", lambda *args, **options: found.append(native(*args, **options)) or found[-1])
    for _ in range(2):
        release(frame, layout=Layout(row_id="id"))
    assert len({one["check"] for one in found}) == len(found) == 2
    assert len({one["rows"] for one in found}) == 1


CHANGES = {
    "a value": lambda rows: rows.with_columns(score=pl.when(pl.col("id") == 200).then(50).otherwise("score")),
    "half of the rows": lambda rows: rows.filter(pl.col("id") % 2 == 0),
    "equal numbers": lambda rows: rows.with_columns(id=pl.lit(2, dtype=pl.Int64)),
}


def changing(frame, flag, change):
    """The rows, or where the flag is there others."""

    def run(batches):
        for batch in batches:
            rows = pl.from_arrow(batch)
            found = change(rows).select(rows.columns).cast(rows.schema) if flag.exists() else rows
            yield from found.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(batch.schema).to_batches()

    return frame.mapInArrow(run, frame.schema)


@few(1)
@pytest.mark.parametrize("names", thinned([tuple(CHANGES), *((name,) for name in CHANGES)], few=[tuple(CHANGES)]))
@pytest.mark.parametrize("cells", [False, True])
def test_a_pass_of_other_rows_is_an_error_whichever_it_is(frame, tmp_path, monkeypatch, names, cells):
    """Otherwise the release is that of the rows. In the suite each pass has the next of the changes."""
    from pyspark.sql.classic.dataframe import DataFrame

    frame = frame.select("group", "score", "id")
    if cells:
        few_cells(monkeypatch)
    flag, native = tmp_path / "changed", DataFrame.toArrow
    passes, other = [], [0]

    def counted(self):
        passes.append(1)
        if len(passes) == other[0]:
            flag.touch()
        try:
            return native(self)
        finally:
            flag.unlink(missing_ok=True)

    monkeypatch.setattr(DataFrame, "toArrow", counted)
    options = {"layout": Layout(row_id="id"), "rng": 1}
    expected = released_rows(release(changing(frame, flag, CHANGES[names[0]]), **options), "score")
    runs, noticed = len(passes) - 1, 0  # without the pass of `released_rows`
    assert runs >= 4
    for run in range(1, runs + 1):
        passes.clear()
        other[0] = run
        change = CHANGES[names[run % len(names)]]
        try:
            released = release(changing(frame, flag, change), **options)
        except (CalibrationError, ArgumentError):
            noticed += 1
        else:
            assert released_rows(released, "score").equals(expected)
    assert noticed == runs
