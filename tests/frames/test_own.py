"""A release holds no memory in which there is more than what is released."""

import datetime
import decimal
import io
import pickle

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import build_frame, laid_out, run, without_spark
from pyarrow import parquet

import puffer_frames
from puffer_frames import Channel, Layout
from puffer_frames.frames.arrow import own_entries
from puffer_frames.frames.local.own import own_array, own_labels, own_series
from puffer_frames.frames.local.table import Relabelled

pytestmark = [
    pytest.mark.filterwarnings("ignore::puffer_frames.errors.RowOrderWarning"),
    pytest.mark.filterwarnings("ignore::puffer_frames.errors.KeptColumnWarning"),
    pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning"),
]  # tables made by hand

ROWS = 60
GONE = 7
"""Place of a row that is dropped: it has no public value."""
LOST = "text of the dropped row, long enough for a buffer of its own"
NUMBER = 0x5EC2E75EC2E7
"""A kept value of the dropped row."""
RAW = 0x2E7A8C2E7A8C
"""A public value of many rows."""
ASKED = {"secret": "group", "public": "score", "epsilon": 0.1, "nulls": "drop", "rng": 1}


def people(**more):
    score = [RAW if k % 5 == 0 else RAW + k % 7 + 2 * (k % 2) for k in range(ROWS)]
    score[GONE] = None
    return {"group": ["secret a", "secret b"] * (ROWS // 2), "score": score, **more}


KEPT = {
    "whole numbers": [NUMBER if k == GONE else k for k in range(ROWS)],
    "floats": [float(NUMBER) if k == GONE else k / 2 for k in range(ROWS)],
    "text": [LOST if k == GONE else f"this is the text of row number {k}" for k in range(ROWS)],
    "bytes": [LOST.encode() if k == GONE else f"these are the bytes of row number {k}".encode() for k in range(ROWS)],
    "lists": [[LOST] if k == GONE else [f"this is the text of row number {k}"] for k in range(ROWS)],
    "structures": [{"a": LOST} if k == GONE else {"a": f"this is the text of row {k}"} for k in range(ROWS)],
}
MARKS = [LOST.encode(), NUMBER.to_bytes(8, "little"), np.float64(NUMBER).tobytes(), b"secret a"]
MARKS += [RAW.to_bytes(8, "little"), np.float64(RAW).tobytes()]


def memory(frame):
    """The bytes of everything that the columns of a frame hold on to."""
    if isinstance(frame, pl.DataFrame):
        ipc = io.BytesIO()
        frame.write_ipc(ipc, compat_level=pl.CompatLevel.newest())
        arrow = (column.to_arrow(compat_level=pl.CompatLevel.newest()) for column in frame)
        return pickle.dumps(frame) + ipc.getvalue() + b"".join(map(of_arrow, arrow))
    if hasattr(frame, "to_arrow_table"):
        frame = frame.to_arrow_table()
    if isinstance(frame, pa.Table):
        return b"".join(of_arrow(chunk) for column in frame.columns for chunk in column.chunks)
    arrays = [frame.iloc[:, k].array for k in range(frame.shape[1])]
    return pickle.dumps(frame) + b"".join(map(of_pandas, [*arrays, frame.index.array]))


def of_arrow(array):
    found = b"".join(buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
    return found + (of_arrow(array.dictionary) if pa.types.is_dictionary(array.type) else b"")


def of_pandas(array):
    if hasattr(array, "__arrow_array__") and isinstance(array.dtype, pd.ArrowDtype | pd.StringDtype):
        arrow = array.__arrow_array__()
        return b"".join(map(of_arrow, arrow.chunks if isinstance(arrow, pa.ChunkedArray) else [arrow]))
    parts = [array._data, array._mask] if hasattr(array, "_mask") else [np.asarray(array)]
    return b"".join(whole(part).tobytes() for part in parts if part.dtype != object)


def bare(released):
    """A release without its certificate, which names the values of the secret."""
    if isinstance(released, pa.Table):
        return released.replace_schema_metadata(None)
    if isinstance(released, pd.DataFrame):
        released.attrs = {}
    return released


def whole(array):
    """The array at the bottom of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@without_spark
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_nothing_of_dropped_rows_and_raw_columns_is_left(kind, make_frame, name, shuffle):
    frame = make_frame(people(kept=KEPT[name]))
    shuffle = shuffle and kind != "polars-lazy"  # whose rows are never in memory together
    released = run(puffer_frames.privatize(frame, **ASKED, layout=Layout(keep="kept", index="drop", shuffle=shuffle)))
    held = memory(bare(released))
    assert not [mark for mark in MARKS if mark in held]
    raw = memory(frame.collect() if isinstance(frame, pl.LazyFrame) else frame)
    assert [mark for mark in MARKS if mark in raw]  # so it would be seen


@without_spark
def test_nothing_of_rows_that_a_slice_left_out(kind, make_frame):
    names = list(KEPT) if "pandas" not in kind else ["whole numbers", "floats", "text"]
    frame = make_frame(people(**{name: KEPT[name] for name in names}))
    if kind == "duckdb":
        part = frame.limit(ROWS, offset=GONE + 1)
    else:
        part = frame.iloc[GONE + 1 :] if isinstance(frame, pd.DataFrame) else frame.slice(GONE + 1)
    released = run(puffer_frames.privatize(part, **ASKED, layout=Layout(keep=names, index="drop")))
    assert not [mark for mark in MARKS if mark in memory(bare(released))]


GONE_LEVEL = "the level of few, which is long enough for a buffer of its own"
LEVELS = [f"{part} is a level of many, which is long enough as well" for part in ("this", "that")]
AS_LABELS = {
    "pandas": lambda f: f.astype({"level": "category"}),
    "pandas-pyarrow": lambda f: f.assign(level=pd.array(pa.array(f["level"]).dictionary_encode())),
    "polars": lambda f: f.with_columns(pl.col("level").cast(pl.Enum([GONE_LEVEL, *LEVELS]))),
    "pyarrow": lambda f: f.set_column(1, "level", f["level"].dictionary_encode()),
}


@without_spark
@pytest.mark.parametrize("labels", [False, True], ids=["text", "categories"])
@pytest.mark.parametrize("number", [False, True], ids=["labels", "numbers"])
def test_nothing_of_a_level_that_a_channel_does_not_release(kind, make_frame, labels, number):
    """Text, dictionaries, categories and numbers: what is not an output is in no buffer."""
    level = [GONE_LEVEL if k % 10 == 3 else LEVELS[k // 2 % 2] for k in range(ROWS)]
    score = [RAW if k % 10 == 3 else k // 2 % 2 for k in range(ROWS)]
    frame = make_frame({"group": ["secret a", "secret b"] * (ROWS // 2), "level": level, "score": score})
    frame = AS_LABELS.get(kind, lambda same: same)(frame) if labels else frame
    public = "score" if number else "level"
    released = run(
        puffer_frames.privatize(frame, secret="group", public=public, epsilon=0.1, mechanism=Channel(outputs=1))
    )
    marks = [GONE_LEVEL.encode(), LEVELS[0].encode(), LEVELS[1].encode(), *MARKS[3:]]
    if not number:
        left = [mark for mark in marks[:3] if mark in memory(bare(released))]
        assert len(left) == 1
        assert left != [GONE_LEVEL.encode()]
    assert not [mark for mark in MARKS[3:] if mark in memory(bare(released))]
    if number:
        assert GONE_LEVEL.encode() not in memory(bare(released))
    raw = memory(frame.collect() if isinstance(frame, pl.LazyFrame) else frame)
    assert GONE_LEVEL.encode() in raw  # so it would be seen


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "pandas-nullable", "pandas-pyarrow"])
def test_nothing_is_left_under_a_missing_entry(kind):
    hidden = pa.array(np.array(KEPT["whole numbers"]), mask=np.arange(ROWS) == GONE)
    table = pa.table(people(kept=hidden))
    if kind == "pandas-nullable":
        data = pd.arrays.IntegerArray(np.array(KEPT["whole numbers"]), np.arange(ROWS) == GONE)
        frame = table.to_pandas().assign(kept=data)
    else:
        frame = pl.from_arrow(table) if kind == "polars" else table
        frame = table.to_pandas(types_mapper=pd.ArrowDtype) if kind == "pandas-pyarrow" else frame
    released = puffer_frames.privatize(frame, **ASKED, layout=Layout(keep="kept"))
    assert not [mark for mark in MARKS[:3] if mark in memory(released)]


def test_pandas_columns_are_on_their_own():
    frame = pd.DataFrame(people(one=range(ROWS), two=range(ROWS))).dropna()
    raw = frame.copy()
    released = frame.puffer.privatize(**ASKED, layout=Layout(keep=["one", "two"], index="drop"))
    for name in released:
        values = released[name].to_numpy()
        assert not any(np.shares_memory(values, frame[other].to_numpy()) for other in frame)
        assert whole(values).ndim == 1
        assert whole(values).size == len(released)
    pd.testing.assert_frame_equal(frame, raw)


def test_levels_hold_no_other_labels():
    labels = pd.MultiIndex.from_tuples([("who", "group"), ("what", "score"), ("what", "kept")])
    index = pd.MultiIndex.from_arrays([KEPT["text"], range(ROWS)], names=["name", "place"])
    frame = pd.DataFrame(people(kept=KEPT["floats"])).set_axis(labels, axis=1).set_axis(index, axis=0)
    asked = {
        "secret": ("who", "group"),
        "public": ("what", "score"),
        "layout": Layout(keep=[("what", "kept")], index="keep"),
    }
    released = frame.puffer.privatize(**ASKED | asked)
    assert "group" not in released.columns.levels[1]
    assert "who" not in released.columns.levels[0]
    assert LOST not in released.index.levels[0]
    assert LOST.encode() not in pickle.dumps(released)
    assert sorted(released.index) == sorted(index.delete(GONE))
    assert released.puffer.verify() == "unsigned: cannot be trusted"


def test_labels_nans_and_arrays_among_objects():
    labels = pd.CategoricalIndex(["group", "score"])
    assert list(own_labels(labels[1:]).categories) == ["score"]
    entries = [decimal.Decimal("sNaN"), decimal.Decimal(1), float("nan"), None]
    own = own_array(pd.Series(entries, dtype=object))
    assert list(map(repr, own)) == ["Decimal('NaN')", "Decimal('1')", "nan", "None"]
    rows = np.arange(20).reshape(4, 5)
    found = own_array(pd.Series(list(rows)))
    assert all(entry.base is None for entry in found)
    assert [entry.tolist() for entry in found] == rows.tolist()


@pytest.mark.parametrize("where", ["column", "index"])
def test_categories_of_dropped_rows_are_left_out(where):
    """So are those that no row had."""
    categories = pd.Categorical(KEPT["text"], categories=[*KEPT["text"], "of no row"])
    frame = pd.DataFrame(people(kept=categories))
    options = {"layout": Layout(keep="kept", index="drop")}
    if where == "index":
        frame, options = frame.set_index("kept"), {"layout": Layout(index="keep")}
    released = frame.puffer.privatize(**ASKED | options)
    found = released["kept"].cat.categories if where == "column" else released.index.categories
    assert list(found) == [text for text in KEPT["text"] if text != LOST]
    assert LOST.encode() not in pickle.dumps(released)
    assert released.puffer.verify() == "unsigned: cannot be trusted"


@pytest.mark.parametrize("frame", ["polars", "pyarrow"])
def test_categories_of_polars_and_pyarrow(frame):
    if pl.__version__ < "2":
        pytest.skip("Polars 1 holds all categories of a process in one place")
    table = pa.table(people(kept=pa.array(KEPT["text"]).dictionary_encode()))
    table = table.set_column(0, "group", table["group"].dictionary_encode())
    frame = pl.from_arrow(table) if frame == "polars" else table
    released = puffer_frames.privatize(frame, **ASKED, layout=Layout(keep="kept"))
    assert not [mark for mark in MARKS if mark in memory(bare(released))]
    kept = released["kept"].to_list() if isinstance(released, pl.DataFrame) else released["kept"].to_pylist()
    assert kept == [text for text in KEPT["text"] if text != LOST]


COLUMNS = [
    pd.Series([1, 2, 3]),
    pd.Series([1, None, 3], dtype="Int64"),
    pd.Series([True, None, False], dtype="boolean"),
    pd.Series([0.5, None, 1.5], dtype="Float32"),
    pd.Series(["a", None, "b"]),
    pd.Series(["a", None, "b"], dtype="string[python]"),
    pd.Series(["a", None, "b"], dtype=object),
    pd.Series(["a", None, "b"], dtype="category"),
    pd.Series([[1], None, [2, 3]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    pd.Series(pd.date_range("2020", periods=3, tz="UTC")),
    pd.Series(pd.period_range("2020", periods=3, freq="M")),
    pd.Series(pd.interval_range(0, 3)),
    pd.Series(pd.arrays.SparseArray([0, 0, 1])),
    pd.Series(pd.to_timedelta([1, None, 3])),
]


@pytest.mark.parametrize("order", [None, [2, 0, 1]])
@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.dtype))
def test_values_and_types_are_kept(column, order):
    found = own_array(column, None if order is None else np.array(order))
    expected = column if order is None else column.iloc[order]
    pd.testing.assert_series_equal(pd.Series(found, dtype=column.dtype), expected.reset_index(drop=True))


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: str(column.dtype))
def test_a_kept_column_and_index_have_their_types(column):
    column = pd.concat([column] * 20, ignore_index=True).rename("kept")
    frame = pd.DataFrame({"group": list("ab") * 30, "score": [k % 7 for k in range(60)], "kept": column})
    asked = {
        "secret": "group",
        "public": "score",
        "layout": Layout(keep="kept"),
        "epsilon": 0.1,
        "allow_zero_noise": True,
    }
    sparse = isinstance(column.dtype, pd.SparseDtype)  # Parquet has none
    dense = column.sparse.to_dense() if sparse else column
    pd.testing.assert_series_equal(frame.puffer.privatize(**asked)["kept"], dense)
    if isinstance(column.iloc[0], list):
        return  # pandas has no index of lists
    index, plain = (pd.MultiIndex.from_arrays([pd.Index(each, name="label"), range(60)]) for each in (column, dense))
    for labels, expected in ((index.get_level_values(0), plain.get_level_values(0)), (index, plain)):
        released = frame.set_axis(labels, axis=0).puffer.privatize(**laid_out(asked, index="keep"))
        pd.testing.assert_index_equal(released.index, expected, exact=True)


MOMENT = datetime.datetime(2020, 1, 1)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a", None, ""]),
        pl.Series([b"a", None, b""]),
        pl.Series(["a", None, "b"], dtype=pl.Categorical),
        pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
        pl.Series([1, None, 2**100], dtype=pl.Int128),
        pl.Series([[1], None, [2**100]], dtype=pl.List(pl.Int128)),
        pl.Series([["a"], None, []], dtype=pl.List(pl.Categorical)),
        pl.Series([[1, 2], None, [3, 4]], dtype=pl.Array(pl.Int64, 2)),
        pl.Series([[MOMENT], None, []], dtype=pl.List(pl.Datetime("ns", "Europe/Berlin"))),
        pl.Series([{"a": "x", "b": [MOMENT]}, None, {"a": None, "b": None}]),
        pl.Series([None, None, None]),
        pl.Series([], dtype=pl.List(pl.String)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_values_and_types_of_polars_are_kept(column):
    named = column.alias("^x$")
    found = own_series(named)
    assert (found.name, found.dtype) == ("^x$", column.dtype)
    assert found.equals(named, null_equal=True)
    order = np.arange(len(column))[::-1]
    assert own_series(named, order).equals(column.reverse(), null_equal=True)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_release_without_noise_is_a_copy(kind):
    frame = build_frame(kind, {"group": ["a", "b"] * 10, "score": [float(k // 2) for k in range(20)]})
    released = puffer_frames.privatize(
        frame, secret="group", public="score", epsilon=5.0, delta=0.5, allow_zero_noise=True
    )
    first, second = (np.asarray(table["score"]) for table in (frame, released))
    assert np.array_equal(first, second)
    assert not np.shares_memory(first, second)


LEAK = "a name that must not leave"
PAYLOADS = {"float64": ("u8", 0x7FF80000DEADBEEF), "float32": ("u4", 0x7FC5BEEF), "float16": ("u2", 0x7E5A)}


def marked_nan(dtype):
    """Floats, some of which are a NaN with bits of its own."""
    bits, payload = PAYLOADS[dtype]
    found = (np.arange(ROWS) % 4).astype(dtype)
    found.view(bits)[::3] = payload
    return found


def labelled_table():
    """Kept columns of Arrow with metadata: floats, lists, structs, and ordered labels with a level of no row."""
    note = {b"note": LEAK.encode()}
    floats = pa.array(marked_nan("float64"), from_pandas=False)
    ends = pa.array(range(ROWS + 1), pa.int32())
    places = pa.array(np.arange(ROWS) % 2 + 1, pa.int8())
    labels = pa.DictionaryArray.from_arrays(places, [LEAK, "z", "y"], ordered=True)
    fields = [pa.field("p", pa.float64(), metadata=note), pa.field("q", labels.type, metadata=note)]
    columns = people() | {
        "wide": floats,
        "narrow": pa.array(marked_nan("float32"), from_pandas=False),
        "lists": pa.ListArray.from_arrays(ends, floats, type=pa.list_(pa.field(LEAK, pa.float64(), metadata=note))),
        "structs": pa.StructArray.from_arrays([floats, labels], fields=fields),
        "labels": labels,
    }
    table = pa.table(columns)
    fields = [field.with_metadata(note) for field in table.schema]
    held = {**note, b"pandas": b'{"attributes": "' + LEAK.encode() + b'"}'}
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, metadata=held)).slice(GONE + 1)


def labelled_frame():
    """The same in pandas, with attributes and a name of the column labels."""
    categories = pd.Categorical(["y", "z"] * (ROWS // 2), categories=["z", LEAK, "y"], ordered=True)
    arrow = {name: labelled_table()[name] for name in ("lists", "labels")}
    columns = {"wide": marked_nan("float64"), "narrow": marked_nan("float32"), "categories": categories}
    frame = pd.DataFrame(people(**columns)).iloc[GONE + 1 :].reset_index(drop=True)
    frame = frame.assign(**{name: pd.array(values, dtype=pd.ArrowDtype(values.type)) for name, values in arrow.items()})
    frame.attrs, frame.columns.name = {"note": LEAK}, LEAK
    return frame


def labelled_polars():
    """The same in Polars, with Enums."""
    enum = pl.Enum(["z", LEAK, "y"])
    rows = ROWS - GONE - 1
    return pl.from_arrow(labelled_table()).with_columns(
        enums=pl.Series(["y", "z"] * rows)[:rows].cast(enum),
        lists_of_enums=pl.Series([["y"], []] * rows, dtype=pl.List(enum))[:rows],
    )


@pytest.mark.parametrize(
    "frame",
    [labelled_table, labelled_frame, labelled_polars, lambda: labelled_polars().lazy()],
    ids=["pyarrow", "pandas", "polars", "polars-lazy"],
)
def test_nothing_but_entries_leaves(frame, tmp_path):
    """No level of no row, no metadata, no bits of a NaN: in memory, in files, and after attaching again."""
    given = frame()
    names = given.column_names if isinstance(given, pa.Table) else nw.from_native(given).collect_schema().names()
    keep = [name for name in names if name not in ("group", "score")]
    released = run(puffer_frames.privatize(given, **ASKED, layout=Layout(keep=keep)))
    if isinstance(released, pd.DataFrame):
        assert released["categories"].cat.categories.tolist() == ["z", "y"]
        released.attrs["note"], released.columns.name = LEAK, LEAK  # somebody adds it again
    elif isinstance(released, pa.Table):
        assert released["labels"].type.ordered
        released = released.replace_schema_metadata({**released.schema.metadata, b"note": LEAK})
    else:
        assert released.schema["enums"] == pl.Enum(["z", "y"])
        assert released.schema["lists_of_enums"] == pl.List(pl.Enum(["y"]))
    puffer_frames.write_parquet(released, tmp_path / "released.parquet")
    attached = puffer_frames.certificate_of(released).attach(released)
    assert puffer_frames.verify(attached) == "unsigned: cannot be trusted"
    written = parquet.read_table(tmp_path / "released.parquet")
    plain = pa.BufferOutputStream()
    parquet.write_table(written, plain, compression="none")
    held = memory(bare(attached)) + pickle.dumps(written) + (tmp_path / "released.parquet").read_bytes()
    held += plain.getvalue().to_pybytes() + repr(getattr(attached, "schema", "")).encode()
    assert not [mark for mark in (LEAK.encode(), b"\xef\xbe\xad\xde", b"\xef\xbe\xc5\x7f") if mark in held]
    written_by = puffer_frames.read_certificate(tmp_path / "released.parquet")
    assert written_by.verify(written) == "unsigned: cannot be trusted"


def test_one_nan_in_other_columns_of_pandas():
    wide, half = marked_nan("float64"), marked_nan("float16")
    columns = {"half": half, "complex": wide * 1j, "objects": np.array(["x", *wide[1:]], dtype=object)}
    columns["masked"] = pd.arrays.FloatingArray(wide.copy(), np.zeros(ROWS, dtype=bool))
    for name, values in columns.items():
        found = np.asarray(own_array(pd.Series(values))) if name != "masked" else own_array(pd.Series(values))._data
        entries = found[1:].astype("complex128" if name == "complex" else "float64")
        parts = entries.view("float64")
        assert np.isnan(parts).any()
        assert set(parts[np.isnan(parts)].view("u8").tolist()) == {np.array([np.nan]).view("u8")[0]}, name


REDACTED = np.arange(200) < 50


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("name", ["text", "number"])
def test_nothing_lies_under_missing_entries_of_polars(name, lazy, tmp_path):
    """Values that were set to null before the release were in its memory, and so in IPC files and pickles."""
    rng = np.random.default_rng(0)
    columns = {"text": [f"SECRET {k:04}" for k in range(200)], "number": [77777777] * 50 + [7] * 150}
    frame = pl.DataFrame({"s": rng.choice(["a", "b"], 200), "x": rng.integers(0, 9, 200), **columns})
    hidden = pl.when(pl.Series(~REDACTED)).then(pl.col(name)).alias(name)
    frame = frame.lazy().with_columns(hidden) if lazy else frame.with_columns(hidden)
    released = run(
        frame.puffer.privatize(secret="s", public="x", layout=Layout(keep=name), epsilon=1.0, allow_zero_noise=True)
    )
    assert released[name].null_count() == 50
    released.write_ipc(tmp_path / "released.arrow", compression="uncompressed")
    held = (tmp_path / "released.arrow").read_bytes()
    marks = [f"SECRET {k:04}".encode() for k in range(50)] if name == "text" else [(77777777).to_bytes(8, "little")]
    assert not any(mark in held or mark in pickle.dumps(released) for mark in marks)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.int64(), pa.timestamp("us")])
def test_nothing_lies_under_missing_entries_of_arrow(kind):
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if pa.types.is_string_view(kind) and int(pa.__version__.partition(".")[0]) < 18:
        pytest.skip("this PyArrow makes no views of text from buffers")
    column = pa.array([f"SECRET {k:04}" for k in range(200)] if text else [77777777] * 200, kind)
    validity = pa.py_buffer(np.packbits(~REDACTED, bitorder="little"))
    hidden = pa.Array.from_buffers(kind, 200, [validity, *column.buffers()[1:]])
    own = own_entries(hidden)
    assert own.equals(hidden)
    held = b"".join(buffer.to_pybytes() for buffer in own.buffers()[1:] if buffer)
    assert b"SECRET 0000" not in held
    assert held.count((77777777).to_bytes(4, "little")) == (0 if text else 150)


LABEL = "a label of two rows, long enough for a buffer of its own"
COMMON = [f"common label number {k}" for k in range(3)]
LABELLED = {
    "pandas category": lambda table: table.astype({"label": "category"}),
    "ordered category": lambda table: table.astype(
        {"label": pd.CategoricalDtype([*COMMON, LABEL][::-1], ordered=True)}
    ),
    "pandas text": lambda table: table,
    "Arrow dictionary": lambda table: table.astype({"label": pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))}),
    "Arrow text": lambda table: table.astype({"label": pd.ArrowDtype(pa.string())}),
    "PyArrow": pa.Table.from_pandas,
    "PyArrow dictionary": lambda table: pa.Table.from_pandas(table.astype({"label": "category"})),
    "Enum": lambda table: pl.from_pandas(table).cast({"label": pl.Enum([*COMMON, LABEL][::-1])}),
    "Categorical": lambda table: pl.from_pandas(table).cast({"label": pl.Categorical}),
    "Polars text": pl.from_pandas,
    "plan with an Enum": lambda table: pl.from_pandas(table).cast({"label": pl.Enum([*COMMON, LABEL][::-1])}).lazy(),
    "plan": lambda table: pl.from_pandas(table).lazy(),
}


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.RareLevelsWarning")
@pytest.mark.parametrize("name", LABELLED)
def test_a_label_that_a_channel_never_gives_is_not_released(name):
    rng = np.random.default_rng(0)
    labels = rng.choice(COMMON, 1000)
    table = pd.DataFrame({"sex": rng.choice(["f", "m"], 1000), "label": np.where(np.arange(1000) < 2, LABEL, labels)})
    frame = LABELLED[name](table)
    plan = puffer_frames.calibrate(frame, secret="sex", public="label", epsilon=1.0)
    outputs = list(plan.channels["label"].outputs)
    assert LABEL not in outputs or not any(row[outputs.index(LABEL)] for row in plan.channels["label"].matrix)
    released = run(plan.release(frame))
    there = released["label"].to_pylist() if isinstance(released, pa.Table) else released["label"].to_list()
    assert set(there) == set(COMMON)
    if isinstance(released, pl.DataFrame):
        assert LABEL not in str(released.schema)
        if isinstance(released.schema["label"], pl.Enum):
            assert released.schema["label"].categories.to_list() == COMMON[::-1]  # their order stays
    elif name == "ordered category":
        assert released["label"].cat.categories.to_list() == COMMON[::-1]
    assert LABEL.encode() not in memory(bare(released))


def test_a_label_that_no_row_drew_is_not_released():
    """The dtype goes by all outputs, so that every release of a plan has it."""
    drawn = Relabelled(codes=np.array([2, 0, 2], dtype=np.uint16), levels=("c", "b", "a"), name="x")
    assert drawn.as_polars(pl.Enum(["b", "a", "unused", "c"])).dtype == pl.Enum(["a", "c"])
    assert drawn.as_pandas(pd.CategoricalDtype(["b", "a", "c"], ordered=True)).categories.tolist() == ["a", "c"]
    assert drawn.as_pandas(pd.CategoricalDtype(["b", "a", "c"])).tolist() == ["a", "c", "a"]
    numbers = Relabelled(codes=np.array([1, 1], dtype=np.uint16), levels=(1000, 5, None), name="x")
    assert numbers.as_pandas(np.dtype("int8")).tolist() == [5, 5]
    assert numbers.as_pandas(np.dtype("int8")).dtype == "Int64"
    assert numbers.as_polars(pl.Int8()).dtype == pl.Int64
