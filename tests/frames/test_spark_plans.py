"""What can be reached from a release of a Spark frame, and passes over rows that are not the same."""

import polars as pl
import pytest
from conftest import few, sweep, thinned
from kinds import release
from spark_rows import few_cells, make_frame, make_table, released_rows

import puffer_frames
from puffer_frames import Layout
from puffer_frames.errors import ArgumentError, CalibrationError

plans = pytest.importorskip(
    "puffer_frames.frames.spark.table", reason="the extra spark is not installed", exc_type=ImportError
)

HIDDEN = ("check", "number", "sums", "secret_0", "public_0", "c0", "id")
"""Names of columns beside the released ones, at some step of the plan."""


@pytest.fixture(scope="module")
def table():
    return make_table()


@pytest.fixture(scope="module")
def frame(spark, table):
    return make_frame(spark, table)


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


def test_files_do_not_show_where_the_rows_are(spark, frame, tmp_path):
    from pyspark.errors import AnalysisException

    frame.write.parquet(str(tmp_path / "rows"))
    released = release(spark.read.parquet(str(tmp_path / "rows")), layout=Layout(row_id="id"))
    for run in (lambda: released.select("_metadata.row_index"), lambda: released.filter("_metadata.row_index > 3")):
        with pytest.raises(AnalysisException):
            run().count()


def test_the_plan_of_a_release_has_no_hash_of_the_rows(frame, capsys):
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
