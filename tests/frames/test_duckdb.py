"""What DuckDB relations have of their own: SQL, names, sources of every kind, rows that change, and their order."""

import errno
import io
import os
import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import CASES
from conftest import few, laid_out, made
from kinds import entries, make_columns, release
from spark_rows import few_cells
from test_own import ASKED, KEPT, MARKS, bare, memory
from test_own import people as people_to_drop

import puffer_frames
from puffer_frames import KeptColumnWarning, Layout, Noise, PufferError, RowOrderWarning, certificate_of, verify
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    PriorError,
    TableFileError,
    UncoveredFrameError,
)
from puffer_frames.frames import duckdb as duckdb_module
from puffer_frames.frames import duckdb as tables
from puffer_frames.frames import kept
from puffer_frames.frames.summary import EXACT_ROWS
from puffer_frames.mechanisms.noise import rows_seen

duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")

OLDEST = pl.CompatLevel.oldest()
TABLE = pa.table(make_columns())


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture
def relation(connection):
    return connection.from_arrow(TABLE)


def first_in_polars(frames):
    return next((frame for frame in frames if isinstance(frame, pl.DataFrame)), None)


ELSEWHERE = {"two columns of one name", "durations"}
"""What DuckDB has not: columns of one name, and durations without months."""
IN_POLARS = [n for n, (make, _) in CASES.items() if n not in ELSEWHERE and first_in_polars(make()) is not None]


def answer_of(verb, frame, options):
    try:
        found = verb(frame, **{"secret": "group", "public": "x", "epsilon": 1.0} | made(options))
    except PufferError as error:
        return type(error), str(error)
    return entries(found) if isinstance(found, pa.Table) else (str(found), found.checksum)


@pytest.mark.filterwarnings("ignore::puffer_frames.RowOrderWarning", "ignore::puffer_frames.KeptColumnWarning")
@few(9)
@pytest.mark.parametrize("case", IN_POLARS)
def test_every_table_has_the_same_answer_as_in_arrow(connection, case):
    make, options = CASES[case]
    table = first_in_polars(make()).to_arrow(compat_level=OLDEST)
    relation = connection.from_arrow(table)
    assert answer_of(puffer_frames.privatize, relation, options | {"rng": 1}) == answer_of(
        puffer_frames.privatize, table, options | {"rng": 1}
    )
    planned = {name: value for name, value in options.items() if name != "layout"}
    assert answer_of(puffer_frames.calibrate, relation, planned) == answer_of(puffer_frames.calibrate, table, planned)


@few(1, rest="apart")
@pytest.mark.parametrize("domain", [None, {"value": (-1.0, 2.0)}])
def test_many_values_are_counted_in_the_same_cells(connection, domain):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, EXACT_ROWS + 1)
    table = pa.table({"group": group, "value": rng.standard_t(4, EXACT_ROWS + 1) + 0.5 * group})
    plans = [
        puffer_frames.calibrate(
            f, secret="group", public="value", epsilon=1.0, mechanism=Noise(theorem="gaussian"), domain=domain
        )
        for f in (table, connection.from_arrow(table))
    ]
    assert plans[0].checksum == plans[1].checksum
    assert plans[0].scale == plans[1].scale
    assert plans[0].beliefs["empirical"][0].radius > 0


@few(1, rest="apart")
@pytest.mark.parametrize("factor", [1e300, 1e-300])
def test_cells_of_very_large_and_small_values(connection, monkeypatch, factor):
    few_cells(monkeypatch)
    monkeypatch.setattr(rows_seen, "most_filled", lambda secrets: 0)  # no value is counted by itself
    table = pa.table({"group": ["a", "b"] * 300, "value": [factor * (k * k % 599 - 300) / 300 for k in range(600)]})
    plans = [
        puffer_frames.calibrate(f, secret="group", public="value", epsilon=1.0, mechanism=Noise(theorem="gaussian"))
        for f in (table, connection.from_arrow(table))
    ]
    assert plans[1].beliefs["empirical"]["a"].radius > 0
    assert plans[1].scale == pytest.approx(plans[0].scale, rel=0.05)


@pytest.mark.parametrize("row_id", [None, "number"])
def test_names_with_quotes_and_of_other_case(connection, row_id):
    names = ['a"b', "'", 'A"B', "score", "Score", "^x$", "#1", "select", "number"]
    table = TABLE.rename_columns(names)
    options = {
        "secret": ['a"b', "'"],
        "public": "Score",
        "layout": Layout(keep=["^x$", 'A"B', "select"]),
        "epsilon": 0.5,
    }
    quoted = (f'#{k + 1} AS "{name.replace(chr(34), 2 * chr(34))}"' for k, name in enumerate(names))
    relation = connection.from_arrow(TABLE).project(", ".join(quoted))
    assert relation.columns == names
    ours, theirs = (release(f, **laid_out(options, row_id=row_id)) for f in (relation, table))
    assert ours.column_names == theirs.column_names == ['A"B', "Score", "^x$", "select"]
    assert entries(ours) == entries(theirs)
    assert certificate_of(ours) == certificate_of(theirs)


def test_relations_of_every_source(connection, tmp_path):
    frame = pd.DataFrame(make_columns()).astype({"group": object, "note": object})  # DuckDB 1.1 has no other text
    expected = entries(release(TABLE, layout=Layout(row_id="id")))
    path = tmp_path / "it's a table.parquet"
    pl.from_arrow(TABLE).write_parquet(path)
    connection.from_arrow(TABLE).create("kept_table")
    sources = [
        connection.read_parquet(str(path)),
        connection.from_df(frame),
        connection.sql("SELECT * FROM frame"),
        connection.table("kept_table"),
        connection.table("kept_table").filter("id > -1e9").order("id % 7"),
    ]
    for k, source in enumerate(sources):
        released = release(source, layout=Layout(row_id="id"))
        assert verify(released) == "unsigned: cannot be trusted"
        assert sorted(entries(released)[0][1]) == sorted(expected[0][1])
        assert k == len(sources) - 1 or entries(released) == expected
    assert connection.sql("SHOW TABLES").fetchall() == [("kept_table",)]


@pytest.mark.parametrize("row_id", [None, "id"])
def test_rows_with_nulls_are_left_out(connection, relation, row_id):
    options = {"public": ["some", "height"], "domain": {"height": (150, 190)}, "nulls": "drop", "epsilon": 1.0}
    ours, theirs = (release(f, **options, layout=Layout(keep="note", row_id=row_id)) for f in (relation, TABLE))
    assert entries(ours) == entries(theirs)
    with pytest.raises(PriorError, match="120 rows with one"):
        release(relation, public="some", layout=Layout(row_id=row_id))
    with pytest.raises(PriorError, match="complete row"):
        release(relation.project("*, NULL::DOUBLE AS gone"), public="gone", nulls="drop", layout=Layout(row_id=row_id))
    with pytest.raises(PriorError, match="0 rows"):
        release(relation.filter("1 = 0"), nulls="drop", layout=Layout(row_id=row_id))


CHANGING = {
    "public values": 'SELECT "group", (random() * 5)::INTEGER AS score, id FROM rows',
    "secrets": "SELECT CASE WHEN random() < 0.5 THEN 'a' ELSE 'b' END AS \"group\", score, id FROM rows",
    "numbers": 'SELECT "group", score, id * 1000 + (random() * 999)::INTEGER AS id FROM rows',
    "rows": 'SELECT "group", score, id FROM rows WHERE random() < 0.9',
}


@pytest.mark.parametrize("name", CHANGING)
def test_rows_that_change_are_noticed(connection, relation, name):
    changing = relation.query("rows", CHANGING[name])
    with pytest.raises(CalibrationError, match="other rows in the pass of"):
        release(changing, layout=Layout(row_id="id"), epsilon=1e-3)  # of 0.05 random secrets may need no noise
    assert verify(release(changing, epsilon=1e-3)) == "unsigned: cannot be trusted"  # read once


@pytest.mark.parametrize("change", ["UPDATE kept SET score = score + 1 WHERE id = -700", "DELETE FROM kept"])
def test_a_table_that_changes_after_it_was_counted_is_noticed(connection, relation, monkeypatch, change):
    relation.create("kept")

    def changed(*args, **options):
        connection.execute(change)
        return []

    monkeypatch.setattr(tables, "warn_of_order_in_relation", changed)
    with pytest.raises(CalibrationError, match="other rows in the pass of the noise"):
        release(connection.table("kept"), layout=Layout(row_id="id"))


@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("CASE WHEN id % 100 = 0 THEN NULL ELSE id END", "without one"),
        ("id // 4", "with that of another"),
        ("(id + 1000)::UBIGINT + 9223372036854775807::UBIGINT", "larger integers"),
    ],
)
def test_row_numbers(relation, number, what):
    with pytest.raises(ArgumentError, match=what):
        release(relation.project(f"* EXCLUDE (id), {number} AS id"), layout=Layout(row_id="id"))


def test_row_numbers_are_integers(relation):
    with pytest.raises(ArgumentTypeError, match="of integers"):
        release(relation, layout=Layout(row_id="height"))


@pytest.mark.parametrize("batch", [100, 1 << 17])
@pytest.mark.parametrize("row_id", [None, "id"])
def test_rows_in_the_order_of_the_secret(relation, monkeypatch, row_id, batch):
    monkeypatch.setattr(duckdb_module, "BATCH", batch)
    in_order = relation.order('"group"')
    with pytest.warns(RowOrderWarning) as caught:
        warned = release(in_order, layout=Layout(row_id=row_id))
    with pytest.warns(RowOrderWarning) as elsewhere:
        release(in_order.to_arrow_table(), layout=Layout(row_id=row_id))
    assert str(caught.pop(RowOrderWarning).message) == str(elsewhere.pop(RowOrderWarning).message)
    mixed = release(in_order, layout=Layout(row_id=row_id, shuffle=True))
    values = [np.array(dict(entries(frame))["score"]) for frame in (warned, mixed)]
    assert (np.sort(values[0]) == np.sort(values[1])).all()
    assert (values[0] != values[1]).any()


@pytest.mark.parametrize("rows", [1 << 8, 1 << 16])
def test_kept_columns_that_tell(relation, monkeypatch, rows):
    monkeypatch.setattr(kept, "ROWS", rows)
    telling = relation.project('*, upper("group") AS copy, score + 1 AS more')
    with pytest.warns(KeptColumnWarning) as caught:
        release(telling, layout=Layout(row_id="id", keep=["copy", "more", "note"]))
    told = [warning.message for warning in caught if warning.category is KeptColumnWarning]
    found = {(warning.kept, warning.determines) for warning in told}
    assert found - {("more", "group")} == {("copy", "group"), ("more", "score")}  # the score tells the group, too


def test_a_column_of_categories_is_a_secret(relation):
    enum = relation.project("* EXCLUDE (\"group\"), \"group\"::ENUM ('c', 'b', 'a') AS \"group\"")
    assert entries(release(enum, layout=Layout(row_id="id"))) == entries(release(TABLE, layout=Layout(row_id="id")))
    assert entries(release(enum, layout=Layout(keep="note"))) == entries(release(TABLE, layout=Layout(keep="note")))


@pytest.mark.filterwarnings("ignore::puffer_frames.RowOrderWarning", "ignore::puffer_frames.KeptColumnWarning")
@pytest.mark.parametrize("name", KEPT)
def test_nothing_of_dropped_rows_is_left_in_batches(connection, name):
    data = people_to_drop(kept=KEPT[name])
    relation = connection.from_arrow(pa.table(data | {"id": list(range(len(data["kept"])))}))
    for shuffle in (False, True):
        released = puffer_frames.privatize(relation, **ASKED, layout=Layout(keep="kept", row_id="id", shuffle=shuffle))
        assert released.num_rows < len(data["kept"])
        held = memory(bare(released))
        assert not [mark for mark in MARKS if mark in held]


def test_a_relation_of_a_release_is_verified(connection, relation, tmp_path):
    released = release(relation, layout=Layout(row_id="id", keep="note"))
    puffer_frames.write_parquet(released, tmp_path / "released.parquet")
    certificate = certificate_of(released)
    again = connection.read_parquet(str(tmp_path / "released.parquet"))
    assert certificate.verify(again) == verify(again, certificate) == "unsigned: cannot be trusted"
    assert certificate.verify(again.limit(5)) == "derived"
    assert certificate.verify(relation) == "uncovered"
    for ask in (certificate_of, verify, lambda frame: puffer_frames.write_parquet(frame, tmp_path / "x.parquet")):
        with pytest.raises(UncoveredFrameError, match="without one"):
            ask(again)
    with pytest.raises(ArgumentTypeError, match="to_arrow_table"):
        certificate.attach(again)
    assert verify(certificate.attach(again.to_arrow_table())) == "unsigned: cannot be trusted"


def test_a_large_release_lies_in_a_file_without_a_name(connection, relation, tmp_path, monkeypatch):
    """It is the one that is held in memory: rows, kept categories and certificate."""
    kinds = relation.project("*, (CASE WHEN id % 2 = 0 THEN 'even' ELSE 'odd' END)::ENUM('even', 'odd') AS half")
    asked = {"layout": Layout(row_id="id", keep="half"), "rng": 3}
    held = release(kinds, **asked)
    monkeypatch.setattr(tables, "_MOST_IN_MEMORY", 10)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = pa.total_allocated_bytes()
    found = release(kinds, **asked)
    assert not list(tmp_path.iterdir())
    assert pa.total_allocated_bytes() - before < found.nbytes / 2
    assert found.equals(held)
    assert certificate_of(found).fingerprint == certificate_of(held).fingerprint
    puffer_frames.write_parquet(found, tmp_path / "out.parquet")
    assert puffer_frames.read_certificate(tmp_path / "out.parquet").verify(found) == "unsigned: cannot be trusted"
    assert connection.sql("SELECT count(*) FROM found").fetchall() == [(found.num_rows,)]


def test_a_large_release_that_fits_on_no_disk(relation, monkeypatch):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tables, "_MOST_IN_MEMORY", 10)
    with monkeypatch.context() as mapped:
        mapped.setattr(tables.mmap, "mmap", full)
        with pytest.raises(TableFileError, match="No space left") as caught:
            release(relation, layout=Layout(row_id="id"))
    assert "Set TMPDIR" in str(caught.value)
    monkeypatch.setattr(duckdb_module, "BATCH", 100)
    monkeypatch.setattr(tempfile, "TemporaryFile", type("Full", (io.BytesIO,), {"write": full}))
    with pytest.raises(TableFileError, match="No space left"):
        release(relation, layout=Layout(row_id="id"))
    assert relation.count("id").fetchall() == [(TABLE.num_rows,)]  # the connection can be used again
