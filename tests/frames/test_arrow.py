"""What PyArrow tables have of their own: the types of their columns, and the certificate in the schema."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cases import CASES
from conftest import few

import puffer_frames
from puffer_frames import Layout, PufferError, certificate_of, verify
from puffer_frames.errors import ArgumentError, UncoveredFrameError
from puffer_frames.frames.files import read_rows

OLDEST = pl.CompatLevel.oldest()


@pytest.fixture
def table(people):
    more = {"kind": pa.array(["u", "v"] * 100).dictionary_encode(), "day": pa.array(range(200), pa.date32())}
    more |= {"low": pa.array([0.5, None] * 100, pa.float32())}
    return pa.table(people | more)


def release(frame, **options):
    asked = {
        "secret": "group",
        "public": "score",
        "epsilon": 0.05,
        "layout": Layout(keep=["note", "kind", "day", "low"]),
        "rng": 1,
    }
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


def test_types_are_kept_and_the_schema_takes_the_certificate_along(table, tmp_path):
    released = release(table)
    assert isinstance(released, pa.Table)
    assert released.schema.names == ["score", "note", "kind", "day", "low"]
    assert released.schema.field("score").type == pa.float64()
    for name in ("note", "kind", "day", "low"):
        assert released.schema.field(name).type == table.schema.field(name).type
        assert released[name].to_pylist() == table[name].to_pylist()
    assert not table.schema.metadata
    path = tmp_path / "released.parquet"
    pq.write_table(released, path)
    assert puffer_frames.read_certificate(path) == certificate_of(released)
    assert verify(pq.read_table(path)) == "unsigned: cannot be trusted"
    assert verify(released.slice(1)) == "derived"
    with pytest.raises(UncoveredFrameError):
        certificate_of(released.append_column("more", table["score"]))
    counts = puffer_frames.histogram(table, state="kind", time="day", epsilon=1.0)
    assert counts.schema.field("kind").type == table.schema.field("kind").type
    doubled = table.append_column("score", table["score"])
    for more in ({}, {"nulls": "drop", "null_values": {"score": 1}}):
        with pytest.raises(ArgumentError, match="twice"):
            release(doubled, **more)


class Marked(pa.ExtensionType):
    """A type of Python, which Polars knows by name alone."""

    def __init__(self, stored=None):
        super().__init__(stored or pa.string(), "puffer_frames.marked")

    def __arrow_ext_serialize__(self):
        return b"a secret remark"

    @classmethod
    def __arrow_ext_deserialize__(cls, storage, serialized):
        return cls(storage)


@pytest.fixture
def marked():
    """Makes columns of a registered extension type from plain ones."""
    pa.register_extension_type(Marked())
    yield lambda entries: pa.ExtensionArray.from_storage(Marked(pa.array(entries).type), pa.array(entries))
    pa.unregister_extension_type("puffer_frames.marked")


def from_arrow(table):
    """In Polars, where its version can hold extension types."""
    try:
        return pl.from_arrow(table)
    except pl.exceptions.ComputeError:
        pytest.skip("this version of Polars holds no extension types")


OPENINGS = {
    "pyarrow": lambda table: table,
    "polars": from_arrow,
    "polars-lazy": lambda table: from_arrow(table).lazy(),
    "pandas": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}
RNG = np.random.default_rng(0)
AGE = RNG.integers(20, 60, 300)
EXTENSIBLE = pa.table(
    {
        "s": np.where(RNG.random(300) < AGE / 80, "f", "m"),
        "x": AGE + 0.0,
        "k": RNG.choice(["q", "r"], 300),
        "n": range(300),
    }
)


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("name", ["s", "x", "k", "n"])
@pytest.mark.parametrize("opening", OPENINGS)
def test_extension_types_are_what_they_store(marked, opening, name):
    """In every role, and in a column that is not named; they used to end the process."""
    place = EXTENSIBLE.column_names.index(name)
    table = EXTENSIBLE.set_column(place, name, marked(EXTENSIBLE.column(name).to_pylist()))
    for keep in ({"layout": Layout(keep="k")}, {"given": "k"}):
        asked = {"secret": "s", "public": "x", "epsilon": 0.1, "rng": 1} | keep
        found = puffer_frames.privatize(OPENINGS[opening](table), **asked)
        found = found.puffer.collect() if opening == "polars-lazy" else found
        plain = puffer_frames.privatize(EXTENSIBLE, **asked)
        released = pa.table(found.to_arrow() if opening.startswith("polars") else pa.table(found))
        assert released.column("k").cast(pa.string()).to_pylist() == plain.column("k").to_pylist()
        assert released.schema.field("x").type == pa.float64()
        assert "a secret remark" not in str(released.schema)
        assert verify(found, certificate_of(found)) == verify(plain, certificate_of(plain))


UNREAD = {
    "an interval": pa.array([(1, 2, 3)] * 300, pa.month_day_nano_interval()),
    "a union": pa.UnionArray.from_sparse(pa.array([0] * 300, pa.int8()), [pa.array(range(300))]),
    "a wide decimal": pa.array([1] * 300, pa.decimal256(50, 2)),
    "a view of lists": pa.ListViewArray.from_arrays([0] * 300, [1] * 300, pa.array(["a"])),
    "a dictionary of its own": pa.DictionaryArray.from_arrays([0] * 300, pa.array(["a"]).dictionary_encode()),
    "a decimal of tens": pa.array([10] * 300, pa.decimal128(20, 0)).cast(pa.decimal128(20, -1)),
    "a run": pa.RunEndEncodedArray.from_arrays(pa.array([300], pa.int32()), pa.array(["a"])),
}


@pytest.mark.parametrize("name", UNREAD)
def test_types_that_polars_lacks_are_errors(name, tmp_path):
    """In memory, as columns of pandas, and in a file."""
    nested = pa.StructArray.from_arrays([UNREAD[name]], ["inner"]) if name != "a run" else UNREAD[name]
    for column in (UNREAD[name], nested):
        for role in ("s", "x", "k"):
            table = EXTENSIBLE.set_column(EXTENSIBLE.column_names.index(role), role, column)
            said = f"the column '{role}' must be of a type that Polars"
            for opening in ("pyarrow", "pandas"):
                with pytest.raises(puffer_frames.errors.ArgumentTypeError, match=said):
                    puffer_frames.privatize(
                        OPENINGS[opening](table), secret="s", public="x", layout=Layout(keep="k"), epsilon=0.5
                    )
        with pa.ipc.new_file(tmp_path / "in.arrow", table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(PufferError, match=f"{said}|an Arrow file"):  # PyArrow reads no nested dictionary back
            read_rows(tmp_path / "in.arrow", schema={}, streaming=False)


TEXT = EXTENSIBLE["s"].combine_chunks()
VIEWS = {
    "text": lambda: TEXT.cast(pa.string_view()),
    "bytes": lambda: TEXT.cast(pa.binary()).cast(pa.binary_view()),
    "categories": lambda: pa.DictionaryArray.from_arrays([0, 1] * 150, pa.array(["f", "m"], pa.string_view())),
    "lists": lambda: pa.array([[text] for text in TEXT.to_pylist()], pa.list_(pa.string_view())),
    "structures": lambda: pa.StructArray.from_arrays([TEXT.cast(pa.string_view())], ["inner"]),
    "JSON": lambda: pa.ExtensionArray.from_storage(pa.json_(pa.string_view()), TEXT.cast(pa.string_view())),
}


@pytest.mark.skipif(int(pa.__version__.partition(".")[0]) < 19, reason="this PyArrow makes no views, or has no JSON")
@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("role", ["s", "x", "k"])
@pytest.mark.parametrize("kind", VIEWS)
def test_views_of_text_are_text_in_every_role(kind, role):
    """PyArrow takes no rows of them, which pandas needs."""
    place = EXTENSIBLE.column_names.index(role)
    table = EXTENSIBLE.set_column(place, role, VIEWS[kind]())
    frame = OPENINGS["pandas"](table)
    asked = {"secret": "s", "public": "x", "epsilon": 1.0, "nulls": "drop", "layout": Layout(keep="k")}
    asked |= {"mechanism": "channel"} if role == "x" else {}
    if role != "k" and kind in ("bytes", "lists", "structures"):
        with pytest.raises(puffer_frames.errors.ColumnTypeError, match=f"column '{role}' must be of"):
            puffer_frames.privatize(frame, **asked)
        return
    released = puffer_frames.privatize(frame, **asked)
    if role == "k":
        assert released["k"].tolist() == table["k"].to_pylist()
    assert verify(released) == "unsigned: cannot be trusted"


def test_extension_types_in_nested_ones_are_errors(marked):
    inner = pa.StructArray.from_arrays([marked(["q"] * 300)], ["inner"])
    table = EXTENSIBLE.set_column(2, "k", inner)
    for frame in (table, pl.from_arrow(EXTENSIBLE).lazy().with_columns(k=pl.struct(from_arrow(marked(["q"] * 300))))):
        with pytest.raises(
            puffer_frames.errors.ArgumentTypeError, match="the column 'k' must be of a type that Polars"
        ):
            puffer_frames.privatize(frame, secret="s", public="x", layout=Layout(keep="k"), epsilon=0.5)


def test_types_of_duckdb_that_polars_lacks():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("base", EXTENSIBLE)
    for kept in ("INTERVAL 1 SECOND * n", "union_value(n := n)"):
        relation = connection.sql(f"SELECT s, x, n, {kept} AS k FROM base")
        for row_id in (None, "n"):
            with pytest.raises(
                puffer_frames.errors.ArgumentTypeError, match="the column 'k' must be of a type that Polars"
            ):
                puffer_frames.privatize(
                    relation, secret="s", public="x", layout=Layout(keep="k", row_id=row_id), epsilon=0.5
                )


def ordered(kind):
    """Two chunks of an ordered dictionary in which the first level does not come first, in one kind of frame."""
    names = ["lo", "mid", "hi", "never"]
    places = [pa.array(part * 40, pa.int8()) for part in ([2, 1, 0], [None, 0, 2])]
    levels = pa.chunked_array([pa.DictionaryArray.from_arrays(part, names, ordered=True) for part in places])
    rng = np.random.default_rng(3)
    table = pa.table({"g": rng.choice(["a", "b"], 240), "l": levels, "x": rng.integers(0, 5, 240)})
    return table if kind == "arrow" else table.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
@pytest.mark.parametrize("kind", ["arrow", "pandas"])
@pytest.mark.parametrize("role", ["kept", "given", "public", "rest"])
def test_an_ordered_dictionary_keeps_the_order_of_its_levels(kind, role):
    asked = {
        "kept": {"public": "x", "mechanism": "noise", "layout": Layout(keep="l")},
        "given": {"public": "x", "given": "l", "nulls": "drop"},
        "public": {"public": "l", "nulls": "drop", "mechanism": puffer_frames.Channel(radius=0)},
        "rest": {"public": "rest", "nulls": "drop"},
    }
    asked = asked[role] | {"secret": "g", "epsilon": 1.0, "rng": 0, "allow_zero_noise": True}
    released = puffer_frames.privatize(ordered(kind), **asked)
    column = released["l"] if kind == "arrow" else released["l"].array.__arrow_array__()
    assert column.type.ordered
    levels = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
    assert levels == [level for level in ("lo", "mid", "hi") if level in set(column.to_pylist())]
    assert len(levels) > 1
    if role == "kept":
        assert column.to_pylist() == (["hi", "mid", "lo"] * 40 + [None, "lo", "hi"] * 40)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
def test_a_nested_dictionary_whose_order_is_lost_is_not_marked_as_ordered():
    column = ordered("arrow")["l"].combine_chunks()
    table = ordered("arrow").set_column(1, "l", pa.StructArray.from_arrays([column], ["level"]))
    released = puffer_frames.privatize(
        table, secret="g", public="x", epsilon=1.0, layout=Layout(keep="l"), allow_zero_noise=True
    )
    assert released["l"].to_pylist() == table["l"].to_pylist()
    assert not released["l"].type.field(0).type.ordered


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.PufferWarning")
def test_a_column_without_a_name():
    """As PyArrow reads a CSV file that pandas wrote with its index."""
    rng = np.random.default_rng(0)
    table = pa.table({"g": rng.choice(["a", "b"], 200), "": rng.integers(0, 5, 200), "k": rng.integers(0, 3, 200)})
    asked = {"secret": "g", "epsilon": 1.0, "allow_zero_noise": True, "mechanism": "noise"}
    assert puffer_frames.privatize(table, public="rest", **asked).column_names == ["", "k"]
    assert puffer_frames.privatize(table, public="k", layout=Layout(keep=""), **asked)[""].equals(table[""])
