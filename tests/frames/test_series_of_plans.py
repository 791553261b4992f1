"""Series of plans are counted by windows where their rows lie: the same as for the rows in memory."""

import datetime

import numpy as np
import polars as pl
import pytest
from conftest import build_frame, few, sweep, thinned
from kinds import entries

import puffer_frames
from puffer_frames import PufferError, certificate_of
from puffer_frames.errors import CalibrationError
from puffer_frames.frames.plans import series as plan_series
from puffer_frames.frames.plans import units
from puffer_frames.frames.series import timeline

PLANS = ["polars-lazy", "duckdb", pytest.param("spark", marks=pytest.mark.slow)]
START = datetime.datetime(2026, 3, 1, 12)


def ask(frame, **options):
    """What comes back of a release, or the error."""
    try:
        found = puffer_frames.histogram(frame, rng=3, epsilon=1.0, **options)
    except PufferError as error:
        return type(error), str(error)
    return entries(found), str(certificate_of(found))


def random_table(rng):
    """Series of one or several units, with gaps, in random order, with times of every dtype."""
    rows, states = [], rng.choice(["a", "b", "c"], size=2 + int(rng.integers(2)), replace=False)
    for who in range(int(rng.integers(1, 6))):
        times = np.flatnonzero(rng.random(int(rng.integers(2, 60))) < rng.choice([0.7, 0.95, 1.0]))
        rows += [(who, int(t) + 7 * who, str(rng.choice(states))) for t in times]
    rows = [rows[k] for k in rng.permutation(len(rows))] or [(0, 0, "a")]
    who, time, state = (list(column) for column in zip(*rows, strict=True))
    step = int(rng.choice([1, 5, 60, 10**6]))
    times = [
        [step * t for t in time],
        [0.1 * t for t in time],
        [START + datetime.timedelta(minutes=t * (step % 7 + 1)) for t in time],
        [(START + datetime.timedelta(days=t)).date() for t in time],
        [2**59 + step * t for t in time],
    ][rng.integers(5)]
    if rng.random() < 0.1:
        times[rng.integers(len(times))] = times[rng.integers(len(times))]
    if rng.random() < 0.1 and isinstance(times[0], int):
        times[rng.integers(len(times))] += 3
    data = {"who": [f"n{k}" for k in who] if rng.random() < 0.5 else who, "time": times, "state": state}
    for name, chance in (("who", 0.03), ("time", 0.03), ("state", 0.5)):
        for k in range(len(rows)):
            if rng.random() < chance / 5 and rng.random() < chance:
                data[name][k] = None
    if rng.random() < 0.2:
        data["state"] = [None if s is None else s == "a" for s in data["state"]]
    return data


def random_request(rng):
    found = {"state": "state", "time": "time", "nulls": rng.choice(["raise", "drop"], p=[0.3, 0.7])}
    if rng.random() < 0.8:
        found |= {"unit": "who", "per": rng.choice(["pooled", "unit", "both"])}
    found["gaps"] = rng.choice(["bridge", "independent"])
    found["mechanism"] = rng.choice(["quilt", "group"])
    if rng.random() < 0.3:
        found["floor"] = 0.01
    if rng.random() < 0.1:
        found["states"] = ["c", "a", "b"]
    if rng.random() < 0.2:
        found["initial"] = "estimated"
    return found


@sweep(12, 400)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_the_same_as_in_memory(plan, count, monkeypatch, request):
    rng = np.random.default_rng(3)
    errors = 0
    spark = request.getfixturevalue("spark") if plan == "spark" else None
    for _ in range(count // 10 if spark else count):
        monkeypatch.setattr(units, "_PART", int(rng.choice([9, 1 << 24])))
        monkeypatch.setattr(timeline, "_MOST_PLACES", int(rng.choice([4, -(1 << 20)])))  # on a line, or by windows
        data, options = random_table(rng), random_request(rng)
        found = ask(build_frame(plan, data, spark), **options)
        expected = ask(build_frame("polars", data), **options)
        if isinstance(expected[0], type):  # of two faults either may be found first
            errors += 1
            assert isinstance(found[0], type), options
        else:
            assert found == expected, options
    assert errors < 0.6 * count


def test_a_line_gives_what_a_sort_gives(monkeypatch):
    """In memory, integer times are laid out on a line, of which few places are looked at together."""
    rng, used, of = np.random.default_rng(4), [], timeline.Timeline.of
    monkeypatch.setattr(timeline, "_CHUNK", 7)
    for _ in range(25):
        frame, asked = build_frame("polars", random_table(rng)), random_request(rng)
        with monkeypatch.context() as changed:
            changed.setattr(timeline.Timeline, "of", lambda *rows, states: used.append(of(*rows, states=states)))
            sorted_ = ask(frame, **asked)
        assert ask(frame, **asked) == sorted_
    assert sum(line is not None for line in used) > 7


@few(2)
@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
@pytest.mark.parametrize("power", [40, 53, 56, 60])
@pytest.mark.parametrize("step", [1, 3])
def test_times_far_apart(plan, power, step):
    """Places beyond 2**53 are exact, whatever the engine divides by."""
    times = [0, step, *(2**power // step * step + step * k for k in range(500))]
    data = {"time": times, "state": [k % 2 for k in range(502)]}
    asked = {"state": "state", "time": "time", "chain": [[0.9, 0.1], [0.1, 0.9]], "bins": [1]}
    assert ask(build_frame(plan, data), **asked) == ask(build_frame("polars", data), **asked)


def test_nanoseconds_are_told_apart():
    times = np.arange(0, 70, 7).astype("datetime64[ns]")
    frame = pl.LazyFrame({"time": times, "state": list("ab") * 5})
    found = ask(frame, state="state", time="time", chain=[[0.5, 0.5], [0.5, 0.5]])
    assert "without gaps" in " ".join(found[1].split())


def test_labels_of_a_kind_of_their_own():
    """Categories keep their dtype in the answers."""
    frame = pl.LazyFrame({"time": range(6), "state": pl.Series(list("abaabb"), dtype=pl.Enum(["b", "a"]))})
    released = puffer_frames.histogram(frame, state="state", time="time", epsilon=1.0)
    assert released.schema["state"] == pl.Enum(["b", "a"])


ASKED = {"state": "state", "time": "time", "chain": [[0.7, 0.3], [0.3, 0.7]]}
STATES = list("abbaabab")


@few(8)
@pytest.mark.parametrize(
    "times",
    [
        [5e-324 * k for k in range(8)],
        [1.8644382215259798 * k for k in (0, 1, 2, 3, 4, 5, 6, 268471900000000000)],
        pl.Series([5_000_000 + k for k in range(8)], dtype=pl.Int32).cast(pl.Date),
        pl.Series([k * 10**20 for k in range(8)], dtype=pl.Int128),
        pl.Series([-(2**61) + k for k in range(7)] + [2**61], dtype=pl.Int64),
        pl.Series([1000 * k for k in range(8)], dtype=pl.Int64).cast(pl.Datetime("ns", "Europe/Berlin")),
    ],
)
@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
@pytest.mark.parametrize("gaps", ["bridge", "independent"])
def test_odd_times(plan, times, gaps):
    data = {"time": times, "state": STATES}
    try:
        frame = build_frame(plan, data)
        frame.limit(0)
    except Exception as error:
        pytest.skip(str(error))
    found, expected = (ask(f, **ASKED, gaps=gaps) for f in (frame, pl.DataFrame(data)))
    assert found == expected or (found[0] is expected[0] and isinstance(found[0], type))


def test_states_are_compared_letter_by_letter_in_duckdb():
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("create table t(time bigint, state varchar collate nocase)")
    rows = [(k, "xXyX"[k * k % 4]) for k in range(40)]
    connection.executemany("insert into t values (?, ?)", rows)
    expected = pl.DataFrame(rows, schema=["time", "state"], orient="row")
    found, known = (ask(frame, state="state", time="time") for frame in (connection.sql("from t"), expected))
    assert found == known


@few(1)
@pytest.mark.parametrize("start", ["2020-03-28 20:00", "2020-10-24 20:00"])
def test_hours_of_no_zone_in_spark(spark, start):
    """An hour that clocks skip, or have twice, is an hour like others where there is no zone."""
    hours = [datetime.datetime.fromisoformat(start) + datetime.timedelta(hours=k) for k in range(24)]
    zone = spark.conf.get("spark.sql.session.timeZone")
    rows = [(str(hour), "ab"[k * k % 3 % 2]) for k, hour in enumerate(hours)]
    try:
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        frame = spark.createDataFrame(rows, ["time", "state"]).selectExpr(
            "cast(time as timestamp_ntz) as time", "state"
        )
        found = ask(frame, **ASKED)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert found == ask(pl.DataFrame({"time": hours, "state": [state for _, state in rows]}), **ASKED)


def test_states_are_compared_letter_by_letter_in_spark(spark):
    rows = [(k, "xXyX"[k * k % 4]) for k in range(40)]
    frame = spark.createDataFrame(rows, ["time", "state"]).selectExpr("time", "collate(state, 'UTF8_LCASE') as state")
    expected = pl.DataFrame(rows, schema=["time", "state"], orient="row")
    assert ask(frame, state="state", time="time") == ask(expected, state="state", time="time")


@pytest.mark.parametrize(
    ("run", "per", "who"), thinned([2, 3, 4, 5, 6], ["pooled", "unit"], [[0, 1], ["a", "b"], [0, 10**6]], often=2)
)
def test_rows_that_change_between_two_passes(run, per, who):
    """The passes are: a look, the ends of units that are numbers, the first and last times, the states, a sample, and
    the places of all rows.
    """
    whole = pl.DataFrame({"who": who * 20, "time": [k // 2 for k in range(40)], "state": list("abba") * 10})
    runs = iter([False] * run)
    frame = whole.lazy().map_batches(lambda rows: rows.head(30) if next(runs, True) else rows, schema=whole.schema)
    found = ask(frame, state="state", time="time", unit="who", per=per)
    if run >= 6 - (who[0] == "a"):  # there is no further pass
        assert found == ask(whole, state="state", time="time", unit="who", per=per)
    else:
        assert found[0] is CalibrationError


@pytest.mark.parametrize(("dtype", "apart"), thinned([pl.Int8, pl.UInt16, pl.Int64, pl.UInt64], [1, 7, 50]))
def test_units_that_are_numbers_are_places_where_they_lie_close_together(monkeypatch, dtype, apart):
    """Either way the series are the same."""
    rng = np.random.default_rng(apart)
    who = rng.integers(0, 120 // apart, 600) * apart - (0 if dtype in (pl.UInt16, pl.UInt64) else 60)
    whole = pl.DataFrame(
        {"who": pl.Series(who, dtype=dtype), "time": 3 * rng.permutation(600), "state": rng.choice(["a", "b"], 600)}
    )
    asked = {"state": "state", "time": "time", "unit": "who", "gaps": "independent", "per": "pooled"}
    found, by_place = [], plan_series._by_place
    for most in (8, 10**9):  # of rows per unit: the second one leaves no room for arrays
        seen = []
        monkeypatch.setattr(plan_series, "_ROWS_PER_UNIT", 1 if most == 8 else most)
        monkeypatch.setattr(plan_series, "_by_place", lambda *args: seen.append(1) or by_place(*args))  # noqa: B023
        found.append(ask(whole.lazy(), **asked))
        assert bool(seen) == (most == 8 and dtype != pl.UInt64)
    assert found[0] == found[1] == ask(whole, **asked)
