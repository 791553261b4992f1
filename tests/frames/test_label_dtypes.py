"""Columns of labels keep their types."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from label_requests import channel, opened, released

from puffer_frames.errors import ArgumentTypeError, PriorError
from puffer_frames.frames.table import open_table

TEXT = ["low", "middle", "high", "low"] * 60
GROUP = ["p", "q", "r"] * 80
PANDAS = {
    "object": pd.Series(TEXT, dtype=object),
    "str": pd.Series(TEXT),
    "python strings": pd.Series(TEXT, dtype="string[python]"),
    "Arrow strings": pd.Series(TEXT, dtype="string[pyarrow]"),
    "Arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "Arrow dictionary": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
    "surrogates": pd.Series([f"{text}\ud800" for text in TEXT], dtype=object),
    "booleans": pd.Series(TEXT) == "low",
    "nullable booleans": (pd.Series(TEXT) == "low").astype("boolean"),
    "Arrow booleans": (pd.Series(TEXT) == "low").astype(pd.ArrowDtype(pa.bool_())),
    "small integers": pd.Series([len(text) for text in TEXT], dtype="int8"),
    "nullable integers": pd.Series([len(text) for text in TEXT], dtype="UInt16"),
    "Arrow integers": pd.Series([len(text) for text in TEXT], dtype="int16[pyarrow]"),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_dtypes_stay(name):
    series = PANDAS[name]
    counted, found = released(pd.DataFrame({"group": GROUP, "x": series}), "x")
    assert found.frame["x"].dtype == series.dtype
    assert set(found.frame["x"]) == set(counted.levels) == set(series)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_text_of_pandas(missing):
    frame = pd.DataFrame({"group": GROUP, "x": pd.Series([missing, *TEXT[1:]], dtype=object)})
    assert opened(frame, "x", nulls="level").level_counts("x").levels == ("high", "low", "middle", None)
    assert opened(frame, "x", nulls="drop").level_counts("x").levels == ("high", "low", "middle")
    with pytest.raises(PriorError, match="1 row with one"):
        opened(frame, "x").level_counts("x")


CATEGORIES = {
    "text": (["unused", "middle", "low", "high"], TEXT),
    "integers": ([9, 6, 4, 3], [len(text) for text in TEXT]),
    "text and booleans": (["unused", "1", True], ["1", True] * 120),
    "booleans": ([True, False], [text == "low" for text in TEXT]),
}


@pytest.mark.parametrize("name", CATEGORIES)
@pytest.mark.parametrize("ordered", [False, True])
def test_pandas_categories_are_those_of_the_outputs(name, ordered):
    categories, values = CATEGORIES[name]
    dtype = pd.CategoricalDtype(categories, ordered=ordered)
    frame = pd.DataFrame({"group": GROUP, "x": pd.Categorical(values, dtype=dtype)})
    counted, found = released(frame, "x")
    levels = tuple(sorted(set(values), key=lambda level: (type(level).__name__, level)))
    assert counted.levels == levels
    assert {type(level) for level in counted.levels} == set(map(type, values))
    expected = [category for category in categories if category in values] if ordered else list(levels)
    column = found.frame["x"]
    assert column.dtype == pd.CategoricalDtype(pd.Index(expected, dtype=dtype.categories.dtype), ordered=ordered)
    assert column.cat.categories.tolist() == expected
    assert set(column) == set(values)


def test_a_missing_category_and_other_outputs():
    dtype = pd.CategoricalDtype(["a", "b", "unused"])
    frame = pd.DataFrame({"group": GROUP, "x": pd.Categorical(["a", "b", None, "a"] * 60, dtype=dtype)})
    counted, found = released(frame, "x", nulls="level", outputs=("a", "other", None))
    assert counted.levels == ("a", "b", None)
    assert found.frame["x"].cat.categories.tolist() == ["a", "other"]
    assert {*found.frame["x"].dropna()} == {"a", "other"}
    assert found.frame["x"].isna().any()


POLARS = {"text": pl.String(), "categories": pl.Categorical(), "Enum": pl.Enum(["unused", "middle", "low", "high"])}


@pytest.mark.parametrize("name", POLARS)
@pytest.mark.parametrize("lazy", [False, True])
def test_polars_dtypes(name, lazy):
    dtype = POLARS[name]
    frame = pl.DataFrame({"group": GROUP, "x": pl.Series(["unused", *TEXT[1:]]).cast(dtype)})[1:]
    counted, found = released(frame.lazy() if lazy else frame, "x", outputs=("low", "middle", "merged"))
    rows = found.frame.collect() if lazy else found.frame
    assert counted.levels == ("high", "low", "middle")
    assert rows.schema["x"] == (pl.Enum(["middle", "low", "merged"]) if name == "Enum" else dtype)
    if lazy:
        assert found.frame.collect_schema() == rows.schema
    assert set(rows["x"].cast(pl.String)) == {"low", "middle", "merged"}
    assert (
        rows["x"].cast(pl.String).to_list()
        == released(frame["group", "x"].cast({"x": pl.String}), "x", ("low", "middle", "merged"))[1]
        .frame["x"]
        .to_list()
    )


ARROW = {
    "text": pa.string(),
    "large text": pa.large_string(),
    "text views": pa.string_view(),
    "dictionary": pa.dictionary(pa.int8(), pa.string()),
    "ordered dictionary": pa.dictionary(pa.int32(), pa.large_string(), ordered=True),
}


@pytest.mark.parametrize("name", ARROW)
def test_arrow_types_stay(name):
    kind = ARROW[name]
    dictionary = pa.types.is_dictionary(kind)
    texts = ["unused", *TEXT]
    column = pa.array(texts).dictionary_encode().cast(kind) if dictionary else pa.array(texts, kind)
    table = pa.table({"group": ["p", *GROUP], "x": column}).slice(1)
    assert open_table(table).kind_of("x") == "labels"
    counted, found = released(table, "x")
    assert counted.levels == ("high", "low", "middle")
    views = name == "text views" and int(pa.__version__.partition(".")[0]) < 18  # which casts nothing to them
    assert found.frame.schema.field("x").type == (pa.large_string() if views else kind)
    assert set(found.frame["x"].to_pylist()) == set(TEXT)
    if dictionary:
        chunks = found.frame["x"].chunks
        assert all(set(chunk.dictionary.to_pylist()) <= set(TEXT) for chunk in chunks)


def test_an_arrow_dictionary_of_integers():
    column = pa.array([len(text) for text in TEXT]).dictionary_encode()
    table = pa.table({"group": GROUP, "x": column})
    counted, found = released(table, "x")
    assert counted.levels == (3, 4, 6)
    assert found.frame.schema.field("x").type == column.type
    merged, _ = released(pa.table({"group": GROUP, "x": pa.array([5] * 240, pa.int8())}), "x", outputs=(1000, 2))
    assert merged.levels == (5,)


@pytest.mark.parametrize("by", [None, "id"])
def test_duckdb_enums(by):
    duckdb = pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
    table = pa.table({"group": GROUP, "x": TEXT, "id": range(240)})
    connection = duckdb.connect()
    connection.execute("CREATE TYPE mood AS ENUM ('unused', 'middle', 'low', 'high')")
    connection.register("rows", table)
    relation = connection.sql('SELECT "group", CAST(x AS mood) AS x, id FROM rows')
    counted, found = released(relation, "x", by=by)
    assert counted.levels == ("high", "low", "middle")
    assert pa.types.is_dictionary(found.frame.schema.field("x").type)
    theirs = released(table, "x", by=by)[1].frame
    assert found.frame["x"].to_pylist() == theirs["x"].to_pylist()


def test_columns_of_other_types():
    frame = pl.DataFrame({"group": GROUP, "x": [[1]] * 240, "y": [0.5] * 240})
    with pytest.raises(ArgumentTypeError, match="'x' must be of strings"):
        opened(frame, "x")
    with pytest.raises(ArgumentTypeError, match=r"'y' must be of strings.*floats that are not integers"):
        opened(frame, "y").level_counts("y")
    with pytest.raises(ArgumentTypeError, match="'x' must be of strings"):
        opened(pd.DataFrame({"group": GROUP, "x": pd.Series(["1", True] * 120, dtype=object)}), "x")
    with pytest.raises(ArgumentTypeError, match="must be of one type"):
        released(frame.with_columns(x=pl.lit(1)), "x", outputs=("1", True))


def test_what_is_counted_is_what_is_released():
    values = np.array(TEXT, dtype=object)
    frame = pd.DataFrame({"group": GROUP, "x": pd.Series(values, dtype=object, copy=False)}, copy=False)
    rows = opened(frame, "x")
    counted = rows.level_counts("x")
    values[:] = "written meanwhile"
    frame["x"] = "written meanwhile"
    found = rows.release([channel("x", counted.levels, stays=1.0)])
    assert found.frame["x"].tolist() == TEXT
