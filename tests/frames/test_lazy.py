"""A lazy frame stays lazy: the same noise in every run, rows that cannot change unnoticed, one pass into a file."""

import pickle

import numpy as np
import polars as pl
import pytest
from conftest import few, laid_out, run
from polars.io.plugins import register_io_source
from spark_rows import few_cells

import puffer_frames
from puffer_frames import Layout, Noise, RowOrderWarning, verify
from puffer_frames.errors import ArgumentError, CalibrationError, PriorError, UncoveredFrameError
from puffer_frames.frames.plans import trace

ROWS = 1000
FAILED = (CalibrationError, pl.exceptions.ComputeError)
"""Some versions of Polars wrap the errors of a source."""
ASKED = {"secret": "group", "public": "score", "layout": Layout(keep="note"), "epsilon": 0.05}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several blocks in a small table."""
    monkeypatch.setattr(trace, "BLOCK", 64)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {
            "note": ["x", None, "ζ", "y"] * (ROWS // 4),
            "score": rng.integers(0, 6, ROWS),
            "id": rng.permutation(ROWS) * 7 - 50,
            "group": rng.choice(["a", "b", "c"], ROWS),
        }
    )


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_every_run_gives_a_row_its_own_noise(table, engine):
    eager = table.puffer.privatize(**ASKED, rng=1)
    released = table.lazy().puffer.privatize(**ASKED, rng=1)
    assert isinstance(released, pl.LazyFrame)
    assert released.collect_schema() == eager.schema
    assert released.collect(engine=engine).equals(eager)
    assert released.collect(engine=engine).equals(eager)
    second = pl.col("note") == "y"
    assert released.filter(second).collect(engine=engine).equals(eager.filter(second))
    for rows in (0, 1, 64, 100, ROWS, 2 * ROWS):
        assert released.head(rows).collect(engine=engine).equals(eager.head(rows))
    assert released.slice(70, 100).collect(engine=engine).equals(eager.slice(70, 100))
    assert released.tail(3).collect(engine=engine).equals(eager.tail(3))
    assert released.select("note").collect(engine=engine).equals(eager.select("note"))
    assert pl.concat([released, released]).collect(engine=engine).equals(pl.concat([eager, eager]))
    assert released.select(pl.col("score").mean()).collect(engine=engine).item() == pytest.approx(eager["score"].mean())


def test_fresh_noise_in_every_release(table):
    first, second = (table.lazy().puffer.privatize(**ASKED).collect() for _ in range(2))
    assert (first["score"] != second["score"]).all()


def test_collected_with_its_certificate(table):
    eager = table.puffer.privatize(**ASKED, rng=1).puffer.certificate
    plan = table.lazy().puffer.calibrate(**{name: ASKED[name] for name in ("secret", "public", "epsilon")})
    for released in (
        table.lazy().puffer.privatize(**ASKED, rng=1),
        plan.release(table.lazy(), layout=Layout(keep="note"), rng=1),
    ):
        collected = released.puffer.collect()
        assert collected.puffer.verify() == "unsigned: cannot be trusted"
        assert collected.puffer.certificate == eager


def test_a_plan_is_no_release(table):
    released = table.lazy().puffer.privatize(**ASKED)
    with pytest.raises(UncoveredFrameError, match="collected or written"):
        _ = released.puffer.certificate
    with pytest.raises(UncoveredFrameError, match="collected or written"):
        released.puffer.verify()
    for other in (released.filter(pl.col("score") > 0), table.lazy()):
        with pytest.raises(UncoveredFrameError, match="a lazy frame that privatize returned"):
            other.puffer.collect()
        with pytest.raises(UncoveredFrameError, match="a lazy frame that privatize returned"):
            other.puffer.sink_parquet("nowhere.parquet")


@pytest.mark.parametrize("save", [pickle.dumps, lambda plan: plan.serialize()])
def test_a_plan_is_not_saved(table, save):
    """It holds the key."""
    with pytest.raises((UncoveredFrameError, pl.exceptions.ComputeError), match="run, not saved"):
        save(table.lazy().puffer.privatize(**ASKED))


def test_one_pass_into_a_file(table, tmp_path):
    path = tmp_path / "released.parquet"
    beside = tmp_path / "released.parquet.partial"
    beside.write_text("of somebody else")
    for write in ("sink_parquet", "write_parquet"):
        getattr(table.lazy().puffer.privatize(**ASKED, rng=1).puffer, write)(path)
        assert pl.read_parquet(path).equals(table.puffer.privatize(**ASKED, rng=1))
        certificate = puffer_frames.read_certificate(path)
        assert certificate.verify(path) == "unsigned: cannot be trusted"
        assert certificate == table.puffer.privatize(**ASKED, rng=1).puffer.certificate
    assert sorted(tmp_path.iterdir()) == [path, beside]


def test_plans_that_are_ordered_filtered_or_shuffled(table, tmp_path):
    path = tmp_path / "people.parquet"
    table.write_parquet(path, row_group_size=90)
    released = pl.scan_parquet(path).filter(pl.col("note").is_not_null()).puffer.privatize(**ASKED, rng=1)
    rows = table.filter(pl.col("note").is_not_null())
    assert released.collect().equals(rows.puffer.privatize(**ASKED, rng=1))
    plan = table.lazy().unique(maintain_order=True).sort("id", maintain_order=True)
    assert len(plan.puffer.privatize(**ASKED).puffer.collect()) == ROWS
    released = table.lazy().select(pl.all().shuffle(seed=None)).puffer.privatize(**ASKED)
    with pytest.raises(CalibrationError, match="the same rows in the same order"):
        released.puffer.collect()


CHANGES = {
    "a value": lambda rows: rows.with_columns(score=pl.when(pl.col("id") == 20).then(3).otherwise("score")),
    "a secret": lambda rows: rows.with_columns(group=pl.when(pl.col("id") == 20).then(pl.lit("d")).otherwise("group")),
    "a row less": lambda rows: rows.slice(1),
    "a last row less": lambda rows: rows.head(ROWS - 1),
    "a row more": lambda rows: pl.concat([rows, rows.head(1)]),
    "the last rows twice": lambda rows: pl.concat([rows, rows.tail(ROWS % 64)]),
    "another order": lambda rows: rows.reverse(),
    "two rows": lambda rows: pl.concat([rows.slice(1, 1), rows.head(1), rows.slice(2)]),
}
ORDERS = ("another order", "two rows")
"""Rows that are numbered may come in these."""


class Changing:
    """A source of rows that can be exchanged, as files and databases can."""

    def __init__(self, rows):
        self.rows = rows
        self.plan = register_io_source(self.read, schema=rows.schema)

    def read(self, with_columns, predicate, n_rows, batch_size):
        found = self.rows.head(n_rows) if n_rows is not None else self.rows
        yield found if with_columns is None else found.select(with_columns)


@few(7, rest="apart")
@pytest.mark.parametrize(
    ("name", "row_id"), [*((name, None) for name in CHANGES), *((name, "id") for name in CHANGES if name not in ORDERS)]
)
def test_a_source_that_changes_is_an_error(table, tmp_path, name, row_id):
    source, target = Changing(table), tmp_path / "released.parquet"
    released = source.plan.puffer.privatize(**laid_out(ASKED, row_id=row_id))
    before = released.collect()
    source.rows = CHANGES[name](table)
    runs = [
        released.collect,
        released.puffer.collect,
        released.head(ROWS - 1).collect,
        lambda: released.puffer.sink_parquet(target),
    ]
    if name in ("a row more", "the last rows twice", "a last row less") and not row_id:
        runs.pop(2)  # those of these rows that it gives are the same, or in a block that is
    for again in runs:
        with pytest.raises(FAILED, match="other rows than when the noise was calibrated"):
            again()
    for again in (released.puffer.collect, lambda: released.puffer.sink_parquet(target)):
        with pytest.raises(CalibrationError):
            again()
    assert not list(tmp_path.iterdir())
    source.rows = table
    assert released.collect().equals(before)


@pytest.mark.parametrize("left", [0, 64, 640])
def test_whole_blocks_that_are_missing_are_noticed(table, left):
    source = Changing(table)
    released = source.plan.puffer.privatize(**ASKED)
    source.rows = table.head(left)
    for rows in (left + 1, left + 64, ROWS, 2 * ROWS):
        with pytest.raises(FAILED, match="other rows"):
            released.head(rows).collect()


def test_no_changed_row_leaves_before_the_change_is_noticed(table):
    """Blocks are compared before they are given on."""
    source, seen = Changing(table), []
    released = source.plan.puffer.privatize(**ASKED)
    source.rows = table.with_columns(score=pl.when(pl.int_range(pl.len()) == 200).then(99).otherwise("score"))
    watched = released.map_batches(lambda batch: seen.append(batch) or batch, streamable=True)
    with pytest.raises(FAILED, match="the same rows"):
        watched.collect(engine="streaming")
    assert sum(map(len, seen)) <= 192


UNORDERED = {
    "unique": lambda plan: plan.unique(),
    "sort": lambda plan: plan.sort("score"),
    "group_by": lambda plan: plan.group_by("id", "group", "note").agg(pl.col("score").sum()),
    "join": lambda plan: plan.join(plan.select("id"), on="id"),
}


@pytest.mark.filterwarnings("ignore::puffer_frames.RowOrderWarning")  # a plan that is sorted by the column
@pytest.mark.parametrize("name", UNORDERED)
def test_plans_in_no_order_need_numbers(table, name):
    plan = UNORDERED[name](table.lazy())
    with pytest.raises(ArgumentError, match="row_id") as caught:
        plan.puffer.privatize(**ASKED)
    assert "collect the frame first" in str(caught.value)
    released = plan.puffer.privatize(**laid_out(ASKED, row_id="id"), rng=1)
    noise = dict(zip(*table.puffer.privatize(**laid_out(ASKED, keep="id", row_id="id"), rng=1).select("id", "score")))
    again = plan.puffer.privatize(**laid_out(ASKED, keep="id", row_id="id"), rng=1).collect()
    assert dict(zip(again["id"], again["score"])) == noise
    assert sorted(released.collect()["score"]) == sorted(noise.values())
    assert set(released.head(10).collect()["score"]) <= set(noise.values())


def test_numbers_are_checked(table):
    plan = table.lazy()
    for wrong, got in (
        (plan.with_columns(id=pl.lit(1)), "999 rows with that of another"),
        (plan.with_columns(id=pl.when(pl.col("id") > 0).then("id")), "without one"),
        (plan.with_columns(id=pl.Series([2**64 - 1 - k for k in range(ROWS)], dtype=pl.UInt64)), "larger integers"),
    ):
        with pytest.raises(ArgumentError, match=got):
            wrong.puffer.privatize(**laid_out(ASKED, row_id="id"))


def test_what_is_wrong_with_the_rows(table):
    plan = table.lazy()
    with pytest.raises(ArgumentError, match="shuffle"):
        plan.puffer.privatize(**laid_out(ASKED, shuffle=True))
    with pytest.raises(PriorError, match="0 rows"):
        plan.filter(pl.col("score") > 100).puffer.privatize(**ASKED)
    with pytest.raises(PriorError, match="250 rows with one"):
        plan.with_columns(score=pl.when(pl.col("note") != "y").then("score").otherwise(None)).with_columns(
            score=pl.when(pl.col("note").is_null()).then(0).otherwise("score")
        ).puffer.privatize(**ASKED)
    with pytest.raises(PriorError, match="all miss"):
        plan.with_columns(score=pl.lit(None, dtype=pl.Int64)).puffer.privatize(**ASKED, nulls="drop")


def test_names_that_polars_reads_as_patterns(table):
    odd = table.rename({"group": "^.*$", "score": "*", "note": "^n$"})
    asked = {"secret": "^.*$", "public": "*", "layout": Layout(keep="^n$"), "epsilon": 0.05, "rng": 1}
    assert run(odd.lazy().puffer.privatize(**asked)).equals(odd.puffer.privatize(**asked))
    asked |= {"public": ""}
    nameless = odd.rename({"*": ""})
    assert run(nameless.lazy().puffer.privatize(**asked)).equals(nameless.puffer.privatize(**asked))


def test_columns_of_many_values(table, monkeypatch):
    """Counted in cells, as in memory."""
    few_cells(monkeypatch)
    rng = np.random.default_rng(4)
    many = pl.DataFrame({"g": rng.choice(["a", "b"], 2000), "x": rng.normal(size=2000)})
    many = many.with_columns(x=pl.col("x") + (pl.col("g") == "a"))
    asked = {"secret": "g", "public": "x", "epsilon": 0.5, "mechanism": Noise(theorem="gaussian"), "rng": 1}
    collected = many.lazy().puffer.privatize(**asked).puffer.collect()
    assert collected.equals(many.puffer.privatize(**asked))
    assert verify(collected) == "unsigned: cannot be trusted"
    assert "counted in cells" in str(collected.puffer.certificate)


def test_signs_of_zero_and_128_bits_of_the_secret(table):
    # Also in the number of runs, which a warning is about
    whole = table.with_columns(group=(pl.col("group") == "a").cast(pl.Float64))
    zero = (pl.col("group") == 0) & (pl.int_range(pl.len()) % 2 == 0)
    signed = whole.with_columns(group=pl.when(zero).then(-pl.col("group")).otherwise("group"))
    assert len(set(signed["group"].to_numpy().view(np.uint64))) == 3
    ours, theirs = (rows.lazy().puffer.privatize(**ASKED, rng=1).puffer.collect() for rows in (signed, whole))
    assert ours.equals(theirs)
    assert ours.puffer.certificate == theirs.puffer.certificate
    with pytest.warns(RowOrderWarning):
        signed.sort("group", maintain_order=True).lazy().puffer.privatize(**ASKED)
    wide = table.with_columns(group=2 ** pl.col("score").clip(0, 1).cast(pl.Int128) * 2**70)
    asked = ASKED | {"public": "id"}
    source = Changing(wide)
    released = source.plan.puffer.privatize(**asked, rng=1)
    assert released.puffer.collect().equals(wide.puffer.privatize(**asked, rng=1))
    source.rows = wide.with_columns(pl.col("group") * 2)
    with pytest.raises(CalibrationError, match="other rows"):
        released.puffer.collect()


ROWS_ALONE = {
    "a row index": lambda rows: rows.with_row_index().select("index"),
    "a range": lambda rows: rows.select(pl.int_range(pl.len())),
    "a constant": lambda rows: rows.select(pl.repeat(1, pl.len())),
    "some rows of an index": lambda rows: rows.with_row_index().filter(pl.col("index") >= 90).drop("score", "note"),
}


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("name", ROWS_ALONE)
def test_rows_without_any_released_column(table, name, engine):
    eager = table.puffer.privatize(**ASKED, rng=1)
    released = table.lazy().puffer.privatize(**ASKED, rng=1)
    assert ROWS_ALONE[name](released).collect(engine=engine).equals(ROWS_ALONE[name](eager))
