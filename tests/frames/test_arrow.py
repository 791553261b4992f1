"""What PyArrow tables have of their own: the types of their columns, and the certificate in the schema."""

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import CASES
from conftest import few

import puffer_frames
from puffer_frames import PufferError, certificate_of, verify
from puffer_frames.errors import ArgumentError, UncoveredFrameError

OLDEST = pl.CompatLevel.oldest()


@pytest.fixture
def table(people):
    more = {"kind": pa.array(["u", "v"] * 100).dictionary_encode(), "day": pa.array(range(200), pa.date32())}
    more |= {"low": pa.array([0.5, None] * 100, pa.float32())}
    return pa.table(people | more)


def release(frame, **options):
    asked = {"secret": "group", "public": "score", "epsilon": 0.05, "keep": ["note", "kind", "day", "low"], "rng": 1}
    return puffer_frames.privatize(frame, **asked | options)


def first_in_polars(frames):
    return next((frame for frame in frames if isinstance(frame, pl.DataFrame)), None)


IN_POLARS = [name for name, (make, _) in CASES.items() if first_in_polars(make()) is not None]


@few(22, rest="apart")
@pytest.mark.filterwarnings("ignore::puffer_frames.RowOrderWarning", "ignore::puffer_frames.KeptColumnWarning")
@pytest.mark.parametrize("case", IN_POLARS)
def test_every_table_has_the_same_answer(case):
    make, options = CASES[case]
    made = first_in_polars(make())
    asked = {"secret": "group", "public": "x", "epsilon": 1.0, "rng": 1} | options
    answers = []
    for frame in (made, made.to_arrow(compat_level=OLDEST)):
        try:
            released = puffer_frames.privatize(frame, **asked)
            answers.append((list(pl.Series(released["x"])), certificate_of(released)))
            assert verify(released) == "unsigned: cannot be trusted"
        except PufferError as error:
            answers.append((type(error), str(error)))
    assert answers[0] == answers[1]


def test_types_are_kept(table):
    released = release(table)
    assert isinstance(released, pa.Table)
    assert released.schema.names == ["score", "note", "kind", "day", "low"]
    assert released.schema.field("score").type == pa.float64()
    for name in ("note", "kind", "day", "low"):
        assert released.schema.field(name).type == table.schema.field(name).type
        assert released[name].to_pylist() == table[name].to_pylist()
    assert not table.schema.metadata


def test_the_schema_takes_the_certificate_along(table, tmp_path):
    released = release(table)
    path = tmp_path / "released.parquet"
    pq.write_table(released, path)
    assert puffer_frames.read_certificate(path) == certificate_of(released)
    assert verify(pq.read_table(path)) == "unsigned: cannot be trusted"
    assert verify(released.slice(1)) == "derived"
    with pytest.raises(UncoveredFrameError):
        certificate_of(released.append_column("more", table["score"]))


def test_labels_of_answers_keep_their_type(table):
    counts = puffer_frames.histogram(table, state="kind", time="day", epsilon=1.0)
    assert counts.schema.field("kind").type == table.schema.field("kind").type


def test_two_columns_of_one_name(table):
    doubled = table.append_column("score", table["score"])
    with pytest.raises(ArgumentError, match="twice"):
        release(doubled)
