"""Public columns of labels in every kind of frame: the same counts and the same released labels, in the same dtype."""

import functools

import numpy as np
import polars as pl
import pytest
from conftest import FRAME_KINDS, build_frame, thinned
from kinds import entries, fingerprint, other_kind
from label_requests import COLUMNS, ROWS, channel, opened, released

from puffer_frames import KeptColumnWarning
from puffer_frames.errors import ArgumentError, CalibrationError, PriorError
from puffer_frames.frames.plans.source import collect_plan
from puffer_frames.frames.roles import RowOrder
from puffer_frames.frames.table import open_table
from puffer_frames.noise.channel import ChannelTable, LabelChannel, NumberChannel
from puffer_frames.noise.column_noise import ColumnNoise
from puffer_frames.noise.stream import ReleaseKey

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


def test_levels_have_the_types_of_the_column(frame):
    for name, kind in (("odd", str), ("flag", bool), ("grade", int)):
        assert {type(level) for level in opened(frame, name).level_counts(name).levels} == {kind}


def test_which_columns_hold_labels(frame):
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
    many = make_frame({"group": ["p", "q"] * 1000, "text": [str(k % 257) for k in range(2000)]})
    with pytest.raises(ArgumentError, match="'text' must be one of at most 256 different levels; got more"):
        opened(many, "text").level_counts("text")
    most = make_frame({"group": ["p", "q"] * 1000, "text": [str(k % 256) for k in range(2000)]})
    assert len(opened(most, "text").level_counts("text").levels) == 256


def test_labels_beside_numbers(frame):
    rows = opened(frame, "text", public=("text", "score", "flag"), coded=("text", "flag"), by="id")
    assert list(rows.summaries({})) == ["score"]
    rows.warnings([300, 300, 300])
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
    found = opened(frame, "text", keep=("copy", "place")).warnings([300] * 3)
    told = {w.kept for w in found if isinstance(w, KeptColumnWarning) and w.determines == "text"}
    assert told == {"copy", "place"}
    others = [w for w in found if not isinstance(w, KeptColumnWarning)]
    assert hasattr(frame, "toArrow") or [w.reasons for w in others] == [("public",)]


def test_rows_in_random_order_are_not_warned_of(frame):
    assert opened(frame, "text", keep=("note",)).warnings([300] * 3) == []


def test_a_shuffled_release():
    for kind in ("pandas", "polars", "pyarrow", "duckdb"):
        found = released(build_frame(kind, COLUMNS), "text", layout=RowOrder(shuffle=True), keep=("id",))[1].frame
        order = ReleaseKey.of(1).permutation(ROWS)
        columns = dict(entries(found))
        assert columns["text"] == [dict(elsewhere("polars", "text", None, "raise")[1])["text"][k] for k in order]
        assert columns["id"] == COLUMNS["id"][order].tolist()


def test_a_plan_gives_the_same_labels_in_every_run():
    found = released(pl.LazyFrame(COLUMNS, strict=False), "text", keep=("id",))[1].frame
    assert found.collect_schema()["text"] == pl.String
    once = found.collect()
    assert found.collect().equals(once)
    assert found.filter(pl.col("text") == "low").collect().equals(once.filter(pl.col("text") == "low"))
    assert found.select("text").head(10).collect().equals(once.select("text").head(10))
