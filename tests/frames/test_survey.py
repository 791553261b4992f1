"""One run of a plan says what its engine's own aggregates say, and no row is counted twice or left out."""

import math
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from conftest import few

from puffer_frames import Noise
from puffer_frames.errors import FaultError
from puffer_frames.frames import summary, tally
from puffer_frames.frames.plans import lazy
from puffer_frames.frames.plans import trace as trace_module
from puffer_frames.frames.plans.survey import survey

ROWS = 3000
BLOCK = 256
FIRST = 2 * BLOCK
"""Rows that say how the others are counted."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Several blocks, chunks and cells in a small table."""
    monkeypatch.setattr(trace_module, "BLOCK", BLOCK)
    monkeypatch.setattr(tally, "CHUNK", 100)
    monkeypatch.setattr(summary, "MOST_CELLS", 256)
    monkeypatch.setattr(summary, "FEWEST_CELLS", 16)


def make(value, *, secret=None):
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b", "ζ"], ROWS) if secret is None else secret
    return pl.DataFrame({"secret_0": group, "public_0": value})


def look(table, *, secrets=1, few=BLOCK // 2, ordered=True):
    return survey(table.lazy(), secrets=secrets, own=secrets, public=1, few=few, ordered=ordered)


RNG = np.random.default_rng(1)
NORMAL = RNG.normal(3, 2, ROWS)
WHOLE = {
    "small integers": RNG.integers(-3, 9, ROWS),
    "8-bit integers": RNG.integers(200, 256, ROWS).astype(np.uint8),
    "booleans": RNG.random(ROWS) < 0.3,
    "a few far away": np.where(np.arange(ROWS) % 600 == 599, 10**9, RNG.integers(0, 5, ROWS)),
    "one value": np.full(ROWS, 7),
}
WIDE = {
    "normal": NORMAL,
    "heavy tails": RNG.standard_t(1.5, ROWS),
    "far from 0": NORMAL + 1e9,
    "32-bit floats": NORMAL.astype(np.float32),
    "many integers": RNG.integers(-(10**6), 10**6, ROWS),
    "first narrow": np.where(np.arange(ROWS) < FIRST, 1e-3, 1.0) * NORMAL,
    "first wide": np.where(np.arange(ROWS) < FIRST, 1.0, 0.3) * NORMAL,
}


def own_counts(table, value):
    counted = table.select(pl.exclude("public_0"), value=value).group_by(pl.all()).agg(pl.len().alias("count"))
    return {tuple(row[:-1]): row[-1] for row in counted.rows()}


def as_counts(counted, name="count"):
    counts, table = {}, counted.table
    for *key, count in table.select(pl.exclude("count", "place"), pl.col(name)).rows():
        assert tuple(key) not in counts
        counts[tuple(key)] = count
    return counts


def own_places(table, width):
    """The sums of the places in the cells."""
    value = pl.col("public_0").cast(pl.Float64) / width
    place = ((value - value.floor()) * summary.PLACES).floor().cast(pl.Int64)
    parts = table.select(pl.exclude("public_0"), value=value.floor().cast(pl.Int64), place=place)
    found = parts.group_by(pl.exclude("place")).agg(pl.col("place").sum())
    return {tuple(row[:-1]): row[-1] for row in found.rows()}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_are_counted(name):
    table = make(WHOLE[name])
    (counted,) = look(table).counted
    assert counted.width is None
    assert counted.table.schema["value"] == table.schema["public_0"]
    assert as_counts(counted) == own_counts(table, pl.col("public_0"))


@pytest.mark.parametrize("name", WIDE)
def test_other_values_are_counted_in_cells(name):
    table = make(WIDE[name])
    (counted,) = look(table).counted
    assert math.frexp(counted.width)[0] == 0.5
    cell = (pl.col("public_0").cast(pl.Float64) / counted.width).floor().cast(pl.Int64)
    assert as_counts(counted) == own_counts(table, cell)
    assert as_counts(counted, "place") == own_places(table, counted.width)


def test_counts_and_places_that_one_number_does_not_hold(monkeypatch):
    """A number holds the rows and the places of some million rows of a cell; then they are put aside."""
    monkeypatch.setattr(tally, "_MOST_PACKED", 5000)
    test_other_values_are_counted_in_cells("normal")


@pytest.mark.parametrize("name", WHOLE | WIDE)
def test_what_a_column_holds(name):
    table = make((WHOLE | WIDE)[name])
    value = table["public_0"].cast(pl.Float64)
    (extent,) = look(table).extents
    assert (extent.missing, extent.infinite) == (0, 0)
    assert (extent.low, extent.high) == (table["public_0"].min(), table["public_0"].max())
    assert extent.std() == pytest.approx(value.std(), rel=1e-9)


def test_missing_and_infinite_values():
    value = [None, math.nan, math.inf, -math.inf] * (ROWS // 4 - 1) + [1.0, 2.0, None, 4.0]
    found = look(make(value))
    (extent,) = found.extents
    assert (extent.missing, extent.infinite) == (2 * (ROWS // 4 - 1) + 1, 2 * (ROWS // 4 - 1))
    assert (extent.low, extent.high) == (1.0, 4.0)
    assert extent.std() == pytest.approx(np.std([1, 2, 4], ddof=1))
    assert found.counted == (None,)
    (nothing,) = look(make([math.nan] * ROWS)).extents
    assert (nothing.low, nothing.high, nothing.std()) == (None, None, 0.0)


UNSUITED = {
    "few floats": make(np.round(NORMAL)),
    "a new secret at the end": make(WHOLE["small integers"], secret=["a"] * (ROWS - 1) + ["b"]),
    "a missing secret": make(WHOLE["small integers"], secret=["a"] * (ROWS - 1) + [None]),
    "a missing secret at first": make(WHOLE["small integers"], secret=[None] + ["a"] * (ROWS - 1)),
    "many secrets": make(WHOLE["small integers"], secret=[str(k) for k in range(ROWS)]),
    "a missing value": make([*WHOLE["small integers"][1:].tolist(), None]),
    "a value that is no number": make([*NORMAL[1:], math.nan]),
    "an infinite value": make([*NORMAL[1:], math.inf]),
    "a huge value": make([*NORMAL[1:], 1e300]),
    "huge integers": make(RNG.integers(2**60, 2**61, ROWS)),
    "wide integers": make(RNG.integers(0, 50, ROWS) * 10**7),
}


@pytest.mark.parametrize("name", UNSUITED)
def test_what_does_not_suit_is_not_counted(name):
    assert look(UNSUITED[name]).counted == (None,)


def test_too_many_values_beside_the_counts(monkeypatch):
    place = np.arange(ROWS)
    beside = (place % 50 == 49) & (place >= FIRST)
    table = make(np.where(beside, 10**6 + place, 3))
    monkeypatch.setattr(tally, "_MOST_BESIDE", int(beside.sum()) - 1)
    assert look(table).counted == (None,)
    monkeypatch.setattr(tally, "_MOST_BESIDE", int(beside.sum()))
    (counted,) = look(table).counted
    assert as_counts(counted) == own_counts(table, pl.col("public_0"))


SECRETS = {
    "booleans": RNG.random(ROWS) < 0.5,
    "integers": RNG.integers(-2, 3, ROWS),
    "whole floats": RNG.integers(-2, 3, ROWS).astype(float) + 0.0,
    "categories": pl.Series(RNG.choice(["a", "b"], ROWS)).cast(pl.Categorical),
    "sixty labels": [f"label {k % 60}" for k in range(ROWS)],
}


@pytest.mark.parametrize("name", SECRETS)
def test_every_kind_of_secret(name):
    table = make(WHOLE["small integers"], secret=SECRETS[name])
    (counted,) = look(table).counted
    assert counted.table.schema["secret_0"] == table.schema["secret_0"]
    assert as_counts(counted) == own_counts(table, pl.col("public_0"))


def test_several_secrets():
    table = pl.DataFrame({"secret_0": SECRETS["integers"], "secret_1": SECRETS["booleans"], "public_0": NORMAL})
    (counted,) = look(table, secrets=2).counted
    assert as_counts(counted) == own_counts(table, (pl.col("public_0") / counted.width).floor().cast(pl.Int64))


def test_secrets_whose_bits_point_to_one_slot(monkeypatch):
    """A table of four slots holds no five secrets."""
    monkeypatch.setattr(tally, "_SLOT_BITS", (2,))
    assert look(make(WHOLE["small integers"], secret=SECRETS["integers"])).counted == (None,)


@pytest.mark.parametrize(
    "secret", ["a" * ROWS, "ab" * (ROWS // 2), "a" * 256 + "b" * (ROWS - 256), "aab" * (ROWS // 3)]
)
def test_runs(secret):
    trace = look(make(NORMAL, secret=list(secret))).trace
    assert trace.runs == 1 + sum(one != other for one, other in pairwise(secret))
    assert trace.rows == ROWS


def test_no_rows():
    assert look(make(NORMAL).head(0)) is None


@few(16, rest="apart")
@pytest.mark.filterwarnings("ignore::puffer_frames.SuspectValuesWarning")
@pytest.mark.parametrize("name", WHOLE | WIDE)
@pytest.mark.parametrize("domain", [None, (-1e10, 1e10), (0.0, 4.0)])
def test_a_plan_is_summarised_as_its_rows(monkeypatch, name, domain):
    """Whether the survey has counted the rows, or the engine counts them."""
    monkeypatch.setattr(summary, "EXACT_ROWS", BLOCK)
    frame = make((WHOLE | WIDE)[name]).rename({"secret_0": "g", "public_0": "x"})
    asked = {
        "secret": "g",
        "public": "x",
        "epsilon": 1.0,
        "mechanism": Noise(theorem="kantorovich"),
        "allow_zero_noise": True,
    }
    asked |= {"domain": {"x": domain}} if domain else {}
    planned, eager = (table.puffer.calibrate(**asked) for table in (frame.lazy(), frame))
    assert planned.checksum == eager.checksum
    if name in WHOLE:
        assert str(planned) == str(eager)
        assert planned.scale == eager.scale
    else:  # the means of narrower cells, put together, are rounded at other places
        assert planned.scale == pytest.approx(eager.scale, rel=1e-6)


def test_a_combination_made_to_look_like_another(monkeypatch):
    """Two integers that a fixed mixture of bits would take for two others, after the rows that say how to count."""
    factor, size = 0x9E3779B97F4A7C15, 2**64

    def half(a):
        return (a * factor % size) ^ ((a * factor % size) >> 32)

    like = (half(1) + 5 - half(2)) % size
    late = np.arange(ROWS) >= FIRST
    first = np.where(late, 2, 1)
    second = np.where(late, like, 5).astype(np.int64)
    table = pl.DataFrame({"secret_0": first, "secret_1": second, "public_0": WHOLE["small integers"]})
    assert look(table, secrets=2).counted == (None,)


@pytest.mark.parametrize("name", ["small integers", "normal", "heavy tails", "many integers"])
def test_what_was_counted_is_not_counted_again(monkeypatch, name):
    def run(*_, **__):
        raise AssertionError("a second run")

    monkeypatch.setattr(summary, "EXACT_ROWS", BLOCK)
    monkeypatch.setattr(lazy, "_counted", run)
    plan = make((WHOLE | WIDE)[name]).lazy()
    asked = {"secret": "secret_0", "public": "public_0", "epsilon": 0.1, "allow_zero_noise": True}
    plan.puffer.calibrate(**asked, mechanism=Noise(theorem="kantorovich"))
    with pytest.raises(FaultError, match="AssertionError"):
        make(UNSUITED["few floats"]["public_0"]).lazy().puffer.calibrate(
            **asked, mechanism=Noise(theorem="kantorovich")
        )
