"""Public columns of lists: each list is a label, and the release has lists again."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import puffer_frames
from puffer_frames import Channel, Layout
from puffer_frames.errors import ColumnTypeError
from puffer_frames.frames.lists import list_texts

RNG = np.random.default_rng(0)
ROWS = 900
SEX = RNG.choice(["f", "m"], ROWS)
ANSWERS = [["bus"], ["bus", "car"], [], [None], [""], ["null"], ["[]"], ['b"u,s\n'], ["bus,car"], None]
WHOLE = [[1], [12], [1, 2], [], [None], [-(2**63)], None]


def drawn(levels, dtype):
    lists = [levels[k] for k in RNG.integers(0, len(levels), ROWS)]
    return pl.DataFrame({"sex": SEX, "a": lists, "x": range(ROWS)}, schema_overrides={"a": dtype})


TEXTS, NUMBERS = drawn(ANSWERS, pl.List(pl.String)), drawn(WHOLE, pl.List(pl.Int64))


@pytest.mark.parametrize(("frame", "levels"), [(TEXTS, ANSWERS), (NUMBERS, WHOLE)])
def test_each_list_is_a_label_of_its_own(frame, levels):
    texts = list_texts(pl.Series(levels, dtype=frame["a"].dtype))
    assert texts.n_unique() == len(levels)
    assert [text is None for text in texts] == [each is None for each in levels]
    released = frame.puffer.privatize(
        secret="sex", public="a", epsilon=1, nulls="level", layout=Layout(keep="x"), mechanism=Channel(radius=0)
    )
    assert released.schema["a"] == frame.schema["a"]
    assert released["a"].n_unique() == len(levels)
    assert (released["a"].eq_missing(frame["a"])).mean() > 0.9
    assert released.puffer.verify().startswith("unsigned")
    assert released.puffer.audit(frame).passed


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.large_string()), pa.list_(pa.int8())])
def test_tables_of_pyarrow_keep_their_type(kind):
    levels = [[1, None], [2], []] if kind.value_type == pa.int8() else [["bus", None], ["car"], []]
    table = pa.table({"sex": SEX, "a": pa.array([levels[k % 3] for k in range(ROWS)], kind)})
    released = puffer_frames.of(table).privatize(secret="sex", public="a", epsilon=1)
    assert released.schema.field("a").type == kind
    assert {str(each) for each in released["a"].to_pylist()} <= set(map(str, levels))


def test_plans_know_lists_from_texts(tmp_path):
    TEXTS.puffer.calibrate(secret="sex", public="a", epsilon=1, nulls="level").save(tmp_path / "plan.json")
    plan = puffer_frames.Plan.load(tmp_path / "plan.json")
    later = plan.release(TEXTS.head(500), allow_other_frame=True)
    assert later.schema["a"] == pl.List(pl.String)
    text = TEXTS.with_columns(list_texts(TEXTS["a"]).alias("a"))
    with pytest.raises(ColumnTypeError, match="must be of lists, as in the plan; got a column of labels"):
        plan.release(text, allow_other_frame=True)


def test_merged_lists_and_their_estimates():
    own = Channel(merge_rare=60, publish_matrix=True, radius=0)
    rare = RNG.permutation([*[3] * 40, *[4] * 40, *np.arange(ROWS - 80) % 3])
    found = {}
    for levels, dtype in (([["bus"], [], [None], ["other"], ["x"]], pl.List(pl.String)), (WHOLE[:5], pl.List(pl.Int8))):
        frame = pl.DataFrame({"sex": SEX, "a": [levels[k] for k in rare]}, schema_overrides={"a": dtype})
        found[dtype] = frame.puffer.privatize(secret="sex", public="a", epsilon=1, mechanism=own)
        assert found[dtype].schema["a"] == pl.List(pl.String)  # of every batch, drawn or not
        assert (found[dtype]["a"] == pl.Series([["other"]])).sum() > 20
    estimated = found[pl.List(pl.String)].puffer.estimate().value_counts("a").value
    assert sum(estimated) == pytest.approx(ROWS)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_lists_beside_other_columns_and_whole_tables():
    frame = NUMBERS.select("sex", pl.col("a").fill_null([]), y=pl.Series(RNG.integers(0, 9, ROWS)))
    for more in ({"public": ["a", "y"]}, {"mechanism": "sequential"}):
        assert frame.puffer.privatize(secret="sex", epsilon=1, **more).schema["a"] == pl.List(pl.Int64)


@pytest.mark.parametrize(
    "frame",
    [
        TEXTS.lazy(),
        TEXTS.to_pandas(),
        TEXTS.with_columns(pl.col("a").cast(pl.List(pl.Categorical))),
        NUMBERS.with_columns(pl.col("a").cast(pl.List(pl.Float64))),
        TEXTS.with_columns(a=pl.concat_list(pl.struct("sex"))),
    ],
    ids=["lazy", "pandas", "categories", "floats", "structures"],
)
def test_other_lists_are_refused(frame):
    with pytest.raises(ColumnTypeError, match="Of others make a column of yes or no"):
        puffer_frames.of(frame).privatize(secret="sex", public="a", epsilon=1)
