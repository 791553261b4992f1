"""The passes over a Spark frame one by one: what they find is what plain Python finds, and other rows are noticed."""

import pyarrow as pa
import pytest
from conftest import build_frame, few
from spark_rows import make_frame, make_table

import puffer_frames
from puffer_frames import Noise
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.noisy import TOGETHER, gathered
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import open_table

passes = pytest.importorskip(
    "puffer_frames.frames.spark.passes", reason="the extra spark is not installed", exc_type=ImportError
)

LARGEST = 2**63 - 1


def numbered(spark, numbers):
    n = len(numbers)
    frame = {"group": ["a", "b"] * (n // 2), "score": [k % 3 for k in range(n)], "id": pa.array(numbers, pa.int64())}
    return build_frame("spark", frame, spark)


NUMBERS = {
    "ends of 64 bits": [-LARGEST - 1, -LARGEST, LARGEST - 1, LARGEST, -1, 0],
    "ends of words": [-65, -64, -63, -1, 0, 1, 62, 63, 64, 65, 127, 128],
    "far apart": [(k * 0x9E3779B97F4A7C15) % 2**63 - 2**62 for k in range(40)],
}


def complete(spark, numbers):
    roles = Roles.of(secret=("group",), public=("score",), row_id="id")
    return open_table(numbered(spark, numbers)).complete(roles, nulls="raise", layout=None)


@few(1)
@pytest.mark.parametrize("name", NUMBERS)
def test_every_number_is_a_bit_of_its_word(spark, name):
    """Equal numbers are counted in whatever word they are, and missing ones."""
    numbers = NUMBERS[name]
    assert complete(spark, numbers).found["rows"] == len(numbers)
    missing = [None if k % 3 == 0 else n for k, n in enumerate(numbers)]
    with pytest.raises(ArgumentError, match=f"{missing.count(None)} rows without one"):
        complete(spark, numbers + missing)
    for k in range(0, len(numbers), 5):
        with pytest.raises(ArgumentError, match="2 rows with that of another"):
            complete(spark, [*numbers, numbers[k], numbers[k]])


def test_an_estimate_is_made_only_of_integers_that_may_be_many(spark, monkeypatch):
    """Whether cells are used depends on it, never what is released; `summary.EXACT_ROWS` is the limit."""
    from puffer_frames.frames import summary
    from puffer_frames.frames.spark import table

    native, asked = table.estimate, []
    monkeypatch.setattr(table, "estimate", lambda *args, **options: asked.append(args) or native(*args, **options))
    monkeypatch.setattr(summary, "EXACT_ROWS", 200)
    for step, estimates in ((1, 0), (1000, 1)):
        frame = {"group": ["a", "b"] * 500, "score": [k % 90 * step for k in range(1000)], "flag": [True, False] * 500}
        asked.clear()
        own = build_frame("spark", frame, spark)
        puffer_frames.calibrate(
            own, secret="group", public=["score", "flag"], epsilon=0.5, mechanism=Noise(theorem="bounded")
        )
        assert len(asked) == estimates


def test_an_estimate_of_other_rows_is_an_error(spark):
    rows = make_frame(spark, make_table()).selectExpr("id AS number", "score AS public_0", "group AS secret_0")
    found = rows.agg(passes.F.bit_xor(passes.row_hash(rows.columns, 5))).toArrow().column(0)[0].as_py()
    assert passes.estimate(rows, "public_0", seed=5, check=found) == 7
    with pytest.raises(CalibrationError, match="the pass of the estimate"):
        passes.estimate(rows.limit(1100), "public_0", seed=5, check=found)


@pytest.mark.parametrize("sizes", [[], [0], [3], [1, 0, 2], [TOGETHER, 1], [TOGETHER - 1, 5, 7, TOGETHER]])
def test_batches_are_put_together_in_their_order(sizes):
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    batches = [pa.RecordBatch.from_pydict({"x": pa.array(range(e - n, e), pa.int64())}) for e, n in zip(ends, sizes)]
    found = list(gathered(iter(batches)))
    assert [x for batch in found for x in batch.column(0).to_pylist()] == list(range(sum(sizes)))
    assert len(found) <= 1 + sum(sizes) // TOGETHER or len(sizes) < 2
