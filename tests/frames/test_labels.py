"""Public columns of labels in every kind of frame: the same counts, the same released labels, and their dtypes."""

import functools
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import FRAME_KINDS, build_frame, thinned
from kinds import entries, fingerprint, other_kind

from puffer_frames import KeptColumnWarning, Layout, Noise, Unit, calibrate, privatize
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, ColumnTypeError, PriorError
from puffer_frames.frames.plans.source import collect_plan
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.noise.channel import ChannelTable, LabelChannel, NumberChannel
from puffer_frames.noise.column_noise import ColumnNoise
from puffer_frames.noise.stream import ReleaseKey

ROWS = 900


RNG = np.random.default_rng(11)


ODD = ["", "a\0b", "a\0c", 'it\'s "odd"; --', "ζ 日本", "1"]


COLUMNS = {
    "group": RNG.choice(["p", "q", "r"], ROWS),
    "text": RNG.choice(["low", "middle", "high"], ROWS),
    "odd": RNG.choice(np.array(ODD, dtype=object), ROWS),
    "flag": RNG.random(ROWS) < 0.4,
    "some": [None if k % 9 == 0 else "xyz"[k * k % 7 % 3] for k in range(ROWS)],
    "grade": RNG.integers(-2, 3, ROWS),
    "score": RNG.integers(0, 6, ROWS),
    "note": RNG.permutation(["u", "v"] * (ROWS // 2)),
    "id": RNG.permutation(ROWS) * 7 - 100,
}


def channel(column, levels, outputs=None, *, stays=0.75):
    """Keeps a level with some probability, and gives any output otherwise."""
    outputs = levels if outputs is None else outputs
    weights = np.full((len(levels), len(outputs)), int(2**62 * (1 - stays)) // len(outputs), dtype=np.int64)
    places = np.arange(len(levels))
    weights[places, places % len(outputs)] += 2**62 - weights.sum(axis=1)
    codes = {level: k for k, level in enumerate(levels)}
    return LabelChannel.of(
        column, key=ReleaseKey.of(1), codes=codes, outputs=tuple(outputs), table=ChannelTable(weights)
    )


def opened(frame, name, *, nulls="raise", secret="group", keep=(), by=None, layout=None, coded=None, public=None):
    public = (name,) if public is None else public
    coded = public if coded is None else coded
    roles = Roles(secret=(secret,), public=public, keep=keep, row_id=by, coded=coded)
    return open_table(frame).complete(roles, nulls=nulls, layout=layout or RowOrder())


def released(frame, name, outputs=None, **options):
    rows = opened(frame, name, **options)
    counted = rows.level_counts(name)
    return counted, rows.release([channel(name, counted.levels, outputs)])


CASES = [
    (name, by, nulls)
    for by in (None, "id")
    for name, nulls in [
        ("text", "raise"),
        ("odd", "raise"),
        ("flag", "raise"),
        ("grade", "raise"),
        ("some", "level"),
        ("some", "drop"),
    ]
]


def run(frame):
    """In memory, for a plan."""
    return collect_plan(frame) if isinstance(frame, pl.LazyFrame) else frame


def plain(counted):
    return counted.levels, {secret: found.tolist() for secret, found in counted.counts.items()}


@functools.cache
def elsewhere(kind, name, by, nulls):
    counted, found = released(build_frame(kind, COLUMNS), name, by=by, nulls=nulls, keep=("note",))
    return counted, entries(run(found.frame))


@pytest.fixture(scope="module")
def frame(make_frame):
    return make_frame(COLUMNS)


@pytest.mark.parametrize(
    ("kind", "case"), thinned(FRAME_KINDS, CASES, often=3), indirect=["kind"], ids=lambda part: str(part)
)
def test_same_counts_and_same_labels(kind, frame, case):
    name, by, nulls = case
    counted, found = released(frame, name, by=by, nulls=nulls, keep=("note",))
    theirs, labels = elsewhere(other_kind(kind), name, by, nulls)
    assert plain(counted) == plain(theirs)
    assert counted.checksum() == theirs.checksum()
    assert entries(run(found.frame)) == labels
    assert found.sample == {}
    assert found.rows == sum(counted.rows_per_secret.values())
    if kind not in ("polars-lazy", "spark"):
        assert found.fingerprint == fingerprint(build_frame("polars", dict(labels)))


def expected(name, nulls, *, by=None):
    """Row by row, in plain Python: the output of row r is that of its level and its number."""
    secret, column = COLUMNS["group"], list(COLUMNS[name])
    rows = [k for k in range(ROWS) if nulls != "drop" or column[k] is not None]
    levels = sorted({column[k] for k in rows} - {None}) + [None] * (None in [column[k] for k in rows])
    counts = {
        s: [sum(secret[k] == s and column[k] == level for k in rows) for level in levels] for s in ("p", "q", "r")
    }
    move = channel(name, levels)
    draw = move.prepared()
    numbers = list(range(len(rows))) if by is None else [int(COLUMNS[by][k]) for k in rows]
    found = [
        draw({name: np.array([levels.index(column[k])], dtype=np.uint16)}, np.array([number]))[name][0]
        for k, number in zip(rows, numbers)
    ]
    return (tuple(levels), counts), [levels[code] for code in found]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_counts_and_labels_one_row_at_a_time(case):
    name, by, nulls = case
    counted, found = released(pl.DataFrame(COLUMNS, strict=False), name, by=by, nulls=nulls)
    counts, labels = expected(name, nulls, by=by)
    assert plain(counted) == counts
    assert found.frame[name].to_list() == labels


def test_which_columns_hold_labels_and_of_which_type(frame):
    for name, kind in (("odd", str), ("flag", bool), ("grade", int)):
        assert {type(level) for level in opened(frame, name).level_counts(name).levels} == {kind}
    table = open_table(frame)
    found = {name: table.kind_of(name) for name in COLUMNS}
    labels = dict.fromkeys(("group", "text", "odd", "some", "note"), "labels")
    assert found == dict.fromkeys(COLUMNS, "numbers") | labels | {"flag": "booleans"}


def test_missing_labels(frame):
    with pytest.raises(PriorError, match=f"'some' must be without nulls; got {ROWS // 9} rows with one"):
        opened(frame, "some").level_counts("some")
    assert opened(frame, "some", nulls="level").level_counts("some").levels == ("x", "y", "z", None)
    with pytest.raises(PriorError, match="secret column 'some'"):
        opened(frame, "text", secret="some", nulls="level").level_counts("text")
    with pytest.raises(ArgumentError, match='"raise" or "drop" where a public column holds numbers; got \'level\''):
        opened(frame, "text", public=("text", "score"), coded=("text",), nulls="level")


def test_levels_that_were_not_counted(frame):
    rows = opened(frame, "text", by="id")
    with pytest.raises(
        CalibrationError, match=r"'text' must be one of the levels that were counted; got .*row"
    ) as info:
        run(rows.release([channel("text", ["low", "middle"])]).frame)
    assert "high" not in str(info.value)
    with pytest.raises(CalibrationError, match="with another one"):
        run(opened(frame, "some", nulls="level").release([channel("some", ["x", "y", "z"])]).frame)
    with pytest.raises(CalibrationError, match="with another one"):  # 1 is not True
        run(opened(frame, "flag").release([channel("flag", [0, 1])]).frame)


def test_too_many_levels(make_frame):
    many = make_frame({"group": ["p", "q"] * 1000, "text": [str(k % 513) for k in range(2000)]})
    with pytest.raises(ArgumentError, match="'text' must be one of at most 512 different levels; got more"):
        opened(many, "text").level_counts("text")
    most = make_frame({"group": ["p", "q"] * 1000, "text": [str(k % 512) for k in range(2000)]})
    assert len(opened(most, "text").level_counts("text").levels) == 512


def test_labels_beside_numbers(frame):
    rows = opened(frame, "text", public=("text", "score", "flag"), coded=("text", "flag"), by="id")
    assert list(rows.summaries({})) == ["score"]
    rows.warnings([300, 300, 300], list)
    key = ReleaseKey.of(1)
    plain = ColumnNoise(column="score", noise=None, key=key, domain=None, remap=None, bounds=None, to_integers=False)
    cells = NumberChannel(
        column="score",
        key=key,
        edges=np.array([1.5]),
        outputs=np.array([10.0, 20.0]),
        table=ChannelTable(np.diag([2**62] * 2)),
    )
    for numbers, values in ((plain, COLUMNS["score"]), (cells, np.where(COLUMNS["score"] < 1.5, 10.0, 20.0))):
        text, flag = channel("text", ["high", "low", "middle"]), channel("flag", [False, True])
        found = rows.release([text, numbers, flag])
        columns = dict(entries(run(found.frame)))
        assert columns["score"] == values.tolist()
        assert columns["text"] == dict(elsewhere("polars", "text", "id", "raise")[1])["text"]
        assert set(found.sample) <= {"score"}


def test_merged_levels_and_outputs_of_another_type(frame):
    merged = LabelChannel.of(
        "grade",
        key=ReleaseKey.of(1),
        codes={-2: 0, -1: 0, 0: 1, 1: 1, 2: 1},
        outputs=("negative", None),
        table=ChannelTable(np.diag([2**62] * 2)),
    )
    rows = opened(frame, "grade")
    assert dict(entries(run(rows.release([merged]).frame)))["grade"] == [
        "negative" if grade < 0 else None for grade in COLUMNS["grade"]
    ]


def test_whole_floats_are_integers(make_frame):
    values = [1.0, 2.0, None, 1.0] * 50
    frame = make_frame({"group": ["p", "q"] * 100, "value": values})
    counted, found = released(frame, "value", nulls="level")
    assert counted.levels == (1, 2, None)
    assert {type(level) for level in counted.levels} == {int, type(None)}
    assert set(dict(entries(run(found.frame)))["value"]) == {1, 2, None}


def test_a_row_keeps_its_output_in_another_order(make_frame, kind):
    order = np.random.default_rng(3).permutation(ROWS)
    shuffled = make_frame({name: [values[k] for k in order] for name, values in COLUMNS.items()})
    _, found = released(shuffled, "odd", by="id")
    labels = dict(elsewhere(other_kind(kind), "odd", "id", "raise")[1])["odd"]
    assert dict(entries(run(found.frame)))["odd"] == [labels[k] for k in order]


def test_a_kept_copy_and_sorted_rows_are_warned_of(make_frame):
    text = sorted(COLUMNS["text"])
    frame = make_frame({"group": COLUMNS["group"], "text": text, "copy": text, "place": np.arange(ROWS)})
    found = opened(frame, "text", keep=("copy", "place")).warnings(
        [300] * 3, lambda: [channel("text", ["high", "low", "middle"])]
    )
    told = {w.kept for w in found if isinstance(w, KeptColumnWarning) and w.determines == "text"}
    assert told == {"copy", "place"}
    others = [w for w in found if not isinstance(w, KeptColumnWarning)]
    assert hasattr(frame, "toArrow") or [w.reasons for w in others] == [("public",)]


def test_rows_in_random_order_are_not_warned_of(frame):
    draws = [channel("text", ["high", "low", "middle"])]
    assert opened(frame, "text", keep=("note",)).warnings([300] * 3, lambda: draws) == []


def test_shuffled_releases_and_runs_of_a_plan():
    for kind in ("pandas", "polars", "pyarrow", "duckdb"):
        found = released(build_frame(kind, COLUMNS), "text", layout=RowOrder(shuffle=True), keep=("id",))[1].frame
        order = ReleaseKey.of(1).permutation(ROWS)
        columns = dict(entries(found))
        assert columns["text"] == [dict(elsewhere("polars", "text", None, "raise")[1])["text"][k] for k in order]
        assert columns["id"] == COLUMNS["id"][order].tolist()
    found = released(pl.LazyFrame(COLUMNS, strict=False), "text", keep=("id",))[1].frame
    assert found.collect_schema()["text"] == pl.String
    once = found.collect()
    assert found.collect().equals(once)
    assert found.filter(pl.col("text") == "low").collect().equals(once.filter(pl.col("text") == "low"))
    assert found.select("text").head(10).collect().equals(once.select("text").head(10))


# Columns of labels keep their types.
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


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_text_of_pandas(missing):
    frame = pd.DataFrame({"group": GROUP, "x": pd.Series([*TEXT[:-1], missing], dtype=object)})
    assert opened(frame, "x", nulls="level").level_counts("x").levels == ("high", "low", "middle", None)
    assert opened(frame, "x", nulls="drop").level_counts("x").levels == ("high", "low", "middle")
    with pytest.raises(PriorError, match="1 row with one"):
        opened(frame, "x").level_counts("x")


@pytest.mark.parametrize("later", [1, b"low"])
def test_pandas_objects_that_are_not_all_texts(later):
    frame = pd.DataFrame({"group": GROUP, "x": pd.Series([*TEXT[:-1], later], dtype=object)})
    with pytest.raises(ColumnTypeError, match="of entries of one type; got texts and others"):
        opened(frame, "x").level_counts("x")


@pytest.mark.parametrize(("one", "other"), [(True, 1), ("1", 1), (b"a", "a"), (1, 1.0)])
@pytest.mark.parametrize("role", ["secret", "given", "unit"])
def test_pandas_objects_of_several_types_are_never_one_label(role, one, other):
    """Narwhals takes a column for text whose first entries are: 1 and True were one secret, and one stratum."""
    mixed = pd.Series(["a"] * 120 + [one, other] * 60, dtype=object)
    frame = pd.DataFrame({"group": list("fm") * 120, "x": [k * k % 7 + k % 2 for k in range(240)], "mixed": mixed})
    options = {
        "secret": {"secret": "mixed"},
        "given": {"secret": "group", "given": "mixed"},
        "unit": {"secret": "group", "unit": Unit("mixed", rows="any")},
    }[role]
    with pytest.raises(ColumnTypeError, match="'mixed' must be of entries of one type; got texts and others"):
        privatize(frame, public="x", epsilon=1.0, **options)


def test_a_kept_column_of_texts_and_bytes_is_released_as_it_is_and_not_written(tmp_path):
    mixed = pd.Series(["a", b"a"] * 120, dtype=object)
    frame = pd.DataFrame({"group": list("fm") * 120, "x": [k * k % 7 + k % 2 for k in range(240)], "mixed": mixed})
    frame["group"] = frame["group"].sample(frac=1, random_state=0, ignore_index=True)
    released = privatize(frame, secret="group", public="x", epsilon=0.1, layout=Layout(keep="mixed"))
    assert list(map(type, released["mixed"])) == [str, bytes] * 120
    with pytest.raises(ColumnTypeError, match="got texts and bytes"):
        released.puffer.write_parquet(tmp_path / "released.parquet")
    assert not (tmp_path / "released.parquet").exists()


CATEGORIES = {
    "text": (["unused", "low", "high", "middle"], TEXT),
    "integers": ([9, 4, 6, 3], [len(text) for text in TEXT]),
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
    frame = pl.DataFrame({"group": GROUP, "x": [[0.5]] * 240, "y": [0.5] * 240})
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


LISTED = {"group": COLUMNS["group"].tolist(), "way": [["bus", "car"][: 1 + k * k % 7 % 2] for k in range(ROWS)]}


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy", "duckdb"])
def test_lists_become_columns_of_yes_and_no(kind):
    """By the step that the hint names, which gives one column for each answer."""
    frame = build_frame(kind, LISTED)
    asked = {"secret": "group", "epsilon": 1.0, "allow_zero_noise": True}
    with pytest.raises(ArgumentTypeError) as caught:
        privatize(frame, public="way", **asked)
    hint = str(caught.value)
    if kind == "duckdb":
        step = re.search(r"in DuckDB (\w+)\(column, x\)", hint)[1]
        wide = frame.project(", ".join(['"group"', *(f"{step}(way, '{x}') AS {x}" for x in ("bus", "car"))]))
    elif kind == "pandas":
        wide = eval(re.search(r"in pandas (\S+),", hint)[1], {"frame": frame})
    else:
        frame = frame.collect()
        wide = eval(re.search(r"in Polars (.*), in Spark", hint)[1], {"frame": frame, "pl": pl})
    assert set(wide.columns) == {"group", "bus", "car"}
    out = run(privatize(wide, public=["bus", "car"], mechanism="channel", **asked))
    assert len(out) == ROWS


@pytest.mark.parametrize(
    ("digits", "dtype", "nullable", "arrow"),
    [
        (11, "float16", None, "halffloat[pyarrow]"),
        (24, "float32", "Float32", "float[pyarrow]"),
        (53, "float64", "Float64", "double[pyarrow]"),
    ],
)
def test_floats_that_merge_integers_are_no_secrets(kind, make_frame, digits, dtype, nullable, arrow):
    """As pandas reads integers beside a missing one, and Stata numbers: two secrets had become one."""
    if digits == 11 and (kind in ("pandas-nullable", "duckdb", "spark") or not hasattr(pl, "Float16")):
        pytest.skip("it has no floats of 16 bits")  # older versions of Polars make 32 of them
    own = {"pandas-nullable": nullable, "pandas-pyarrow": arrow}
    words = "beyond 2**53" if digits == 53 else f"of {dtype[-2:]} bits beyond 2**{digits}"
    for value, fits in ((2.0**digits, False), (2.0**digits - 1, True)):
        codes = np.where(COLUMNS["flag"], value, 5.0).astype(dtype)
        frame = make_frame({"code": codes, "a": COLUMNS["note"], "x": COLUMNS["score"]})
        frame = frame.astype({"code": own[kind]}) if kind in own else frame
        for asked in ({"secret": "code"}, {"secret": "a", "given": "code"}):
            asked = {"public": "x", "epsilon": 1.0, "mechanism": Noise(theorem="bounded"), **asked}
            if fits:
                calibrate(frame, **asked)
            else:
                with pytest.raises(ColumnTypeError, match=re.escape(f"floats {words}, which merge integers")):
                    calibrate(frame, **asked)
