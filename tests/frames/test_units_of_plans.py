"""Units and series of plans are counted where their rows lie: the same answers and errors as for the rows in memory."""

import datetime
import functools
from fractions import Fraction

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pytest
from conftest import build_frame, few, sweep, thinned
from kinds import entries

import puffer_frames
from puffer_frames import PufferError, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, PriorError
from puffer_frames.frames import series as series_module
from puffer_frames.frames.counted_units import Tallies
from puffer_frames.frames.plans import lazy as lazy_module
from puffer_frames.frames.plans import lazy as plan_series
from puffer_frames.noise.totals import exact_sum

PLANS = ["polars-lazy", "duckdb", pytest.param("spark", marks=pytest.mark.slow)]


def ask(frame, *, verb=puffer_frames.aggregate, **options):
    """What comes back of a release, or the error."""
    try:
        found = verb(frame, rng=3, **{"epsilon": 1.0} | options)
    except PufferError as error:
        return type(error), str(error)
    return entries(found), str(certificate_of(found))


def random_table(rng):
    """Units of every dtype with few or many rows, and values with all that goes wrong."""
    rows = int(rng.integers(1, 60))
    owner = rng.integers(0, rng.integers(1, rows + 1), size=rows)
    town = owner % 3 if rng.random() < 0.9 else rng.integers(0, 3, size=rows)
    value = rng.choice([0, 1, 2, 5], size=rows) if rng.random() < 0.6 else np.round(rng.normal(size=rows), 1)
    names = [
        owner.tolist(),
        [f"ζ{k:02}" for k in owner],
        [bool(k % 2) for k in owner],
        pl.Series([f"n{k}" for k in owner], dtype=pl.Categorical),
    ]
    data = {
        "who": names[rng.integers(4)],
        "town": [f"t{k}" for k in town],
        "old": owner % 2 == 0,
        "what": value.tolist(),
    }
    for name in ("who", "town", "what"):
        if rng.random() < 0.15:
            spoiled = list(data[name])
            spoiled[rng.integers(rows)] = None
            data[name] = spoiled
    if rng.random() < 0.1:
        data["what"] = [float("nan" if k == 0 else "inf") if k < 2 else float(k) for k in range(rows)]
    return data


def random_request(rng):
    found = {"nulls": rng.choice(["raise", "drop"]), "protect": rng.choice(["presence", "replacement"])}
    found["unit"] = None if rng.random() < 0.15 else "who"
    found["query"] = ["sum", "count", ("sum", "count")][rng.integers(3)]
    if found["query"] != "count" or rng.random() < 0.5:
        found["value"] = "what"
    if rng.random() < 0.6:
        found["by"] = [["town"], ["old"], ["old", "town"]][rng.integers(3)]
    if found["unit"] is None or rng.random() < 0.2:
        found["domain"] = (-1, 4)
    if rng.random() < 0.2:
        found["laws"] = "gaussian"
    return found


def is_error_alike(ask, plan, data, options, spark):
    """Whether the rows in memory are an error; so is the plan then, and else the same comes back of it."""
    found, expected = (ask(build_frame(kind, data, spark), **options) for kind in (plan, "polars"))
    if isinstance(expected[0], type):  # of two faults either may be found first
        assert isinstance(found[0], type), options
        return True
    assert found == expected, options
    return False


@sweep(15, 600)
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_the_same_as_in_memory(plan, count, monkeypatch, request):
    rng = np.random.default_rng(11)
    errors = 0
    spark = request.getfixturevalue("spark") if plan == "spark" else None
    for _ in range(count // 10 if spark else count):
        monkeypatch.setattr(lazy_module, "_PART", int(rng.choice([3, 1 << 24])))
        data, options = random_table(rng), random_request(rng)
        plain = {name: list(column) for name, column in data.items()} if spark else data
        errors += is_error_alike(ask, plan, plain, options, spark)
    assert errors < 0.8 * count


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
def test_units_that_add_the_same_are_drawn_apart(plan):
    """contribution="draw": 400 units with the same four rows, of which each is drawn by 100 or so."""
    who = np.repeat(np.arange(400), 4)
    frame = build_frame(plan, {"who": who.tolist(), "what": [0.0, 1.0, 1000.0, 1e6] * 400})
    asked = {"unit": "who", "value": "what", "contribution": "draw", "protect": "replacement", "rng": 4}
    released = puffer_frames.aggregate(frame, epsilon=1.0, allow_zero_noise=True, **asked)
    assert dict(entries(released))["scale"] == [0.0]
    total = int(dict(entries(released))["answer"][0])
    drawn = [total // 10**6, total // 1000 % 1000, total % 1000]
    assert all(60 < count < 140 for count in drawn)


@pytest.mark.filterwarnings("ignore:the given laws make")
@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
def test_units_by_name_have_the_rows_of_their_own(plan, monkeypatch):
    monkeypatch.setattr(lazy_module, "_PART", 2)
    data = {"who": ["a", "a", "b", "b", "c", "c"], "what": [0, 4, 0, 4, 1, 9]}
    asked = {"unit": "who", "value": "what", "protect": "replacement"}
    for pairs in ([("a", "b")], [("b", "c")]):
        found, expected = (
            ask(build_frame(k, data), **asked, pairs=pairs, allow_zero_noise=True) for k in (plan, "polars")
        )
        assert found == expected
    laws = {name: puffer_frames.core.Prior.empirical([0.0, 1.0]) for name in "abc"}
    found, expected = (
        ask(build_frame(k, data), unit="who", value="what", laws=laws, contribution="draw", domain=(0, 9))
        for k in (plan, "polars")
    )
    assert found == expected
    assert ask(build_frame(plan, data), unit="who", value="what", laws={"a": laws["a"]})[0] is ArgumentError


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
@pytest.mark.parametrize(("levels", "longest"), [(2, 1024), (6, 16_384), (7, 1023), (16, 40_000)])
def test_units_of_more_rows_than_a_count_holds(plan, levels, longest, monkeypatch):
    rng = np.random.default_rng(levels + longest)
    monkeypatch.setattr(lazy_module, "_PART", 1 << 14)
    owner = np.concatenate(
        [np.zeros(longest, np.int64), np.ones(longest // 2, np.int64), rng.integers(2, 3000, 70_000)]
    )
    value = np.concatenate([np.full(longest, levels - 1), rng.integers(0, levels, owner.size - longest)])
    order = rng.permutation(owner.size)
    data = {"who": owner[order], "what": value[order]}
    asked = {"unit": "who", "value": "what", "query": ("sum", "count"), "protect": "presence"}
    assert ask(build_frame(plan, data), **asked) == ask(pl.DataFrame(data), **asked)


@pytest.mark.parametrize("bits", [1, 3, 10])
def test_counts_add_up_to_the_rows_only_where_none_is_too_large(bits):
    rng = np.random.default_rng(bits)
    for _ in range(60):
        tallies = Tallies(levels=pl.Series(np.arange(rng.integers(1, 17))), bits=bits)
        times = rng.integers(0, 2 ** int(rng.integers(0, bits + 8)), len(tallies.levels))
        rows = nw.from_native(pl.DataFrame({"value": tallies.levels.gather(np.repeat(np.arange(times.size), times))}))
        sums = rows.with_columns(**tallies.words()).select(nw.sum(*tallies.words())).to_native()
        counts = tallies.read(sums)[0]
        if times.max(initial=0) >> bits:
            assert counts.sum() < times.sum()
        else:
            np.testing.assert_array_equal(counts, times)


@pytest.mark.parametrize("plan", ["polars-lazy", "duckdb"])
@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        ({"who": [1.5, 2.0], "what": [1, 2]}, ArgumentTypeError, "unit column 'who'"),
        ({"who": ["a", "b"], "what": ["x", "y"]}, ArgumentTypeError, "value column 'what'"),
        ({"who": [1, 2], "what": [2**60, 1]}, PriorError, "within 2**53 of 0"),
        ({"who": [1, 2], "what": [1e302, 1]}, PriorError, "within 1e301 of 0"),
        ({"who": [1, 1], "what": [1, 2]}, ArgumentError, "at least two"),
    ],
)
def test_errors_of_series(plan, data, error, said):
    found = ask(build_frame(plan, data), unit="who", value="what", protect="replacement")
    assert issubclass(found[0], error)
    assert said in found[1]


@pytest.mark.parametrize("plan", PLANS)
def test_a_plan_of_one_row(plan, request):
    asked = {"unit": "who", "value": "what", "query": ("sum", "count")}
    data = {"who": ["a"], "what": [3]}
    spark = request.getfixturevalue("spark") if plan == "spark" else None
    assert ask(build_frame(plan, data, spark), **asked) == ask(build_frame("polars", data), **asked)


def test_a_plan_of_no_rows():
    frame = pl.LazyFrame({"who": [], "what": []}, schema={"who": pl.Int64, "what": pl.Float64})
    assert ask(frame, unit="who", value="what")[0] is PriorError


def test_sums_of_many_equal_units_are_exact():
    """A value times the number of units that add it, where the product is no float."""
    rng = np.random.default_rng(2)
    values = np.append(
        rng.normal(size=300) * 10.0 ** rng.integers(-300, 290, size=300), [5e-324, -5e-324, 1e295, -1e295]
    )
    often = rng.integers(1, 2 ** rng.integers(1, 40, size=values.size))
    for part in (slice(None), slice(0, 3), slice(300, 302)):
        exact = sum(Fraction(v) * int(n) for v, n in zip(values[part], often[part], strict=True))
        found = exact_sum(values[part], often[part])
        assert abs(found - exact) <= abs(exact) * Fraction(2) ** -100
    with pytest.raises(PriorError, match="in the range of floats"):
        exact_sum(np.array([1e301, -1e301]), np.array([2**40, 2**40]))


MADE = {
    "polars-lazy": pl.LazyFrame,
    "duckdb": lambda data: pytest.importorskip("duckdb").from_arrow(pl.DataFrame(data).to_arrow()),
}


@pytest.mark.parametrize("plan", MADE)
def test_rows_as_units_have_no_names_in_a_plan(plan):
    """Rows of a plan have no numbers, by which laws and pairs could be theirs."""
    frame = MADE[plan]({"what": [3.0, 1.0, 3.0, 2.0, 3.0]})
    asked = {"value": "what", "protect": "replacement"}
    laws = {0: puffer_frames.core.Prior.empirical([0.0, 1.0])}
    for options in ({"pairs": [(0, 1)]}, {"laws": laws}, {"laws": "population", "domain": (0, 9)}):
        assert ask(frame, **asked, **options)[0] is ArgumentTypeError
    assert dict(ask(frame, **asked)[0])["scale"] == pytest.approx([2.0])


def test_lists_ascend_whatever_the_order_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"who": rng.integers(0, 6, 200), "what": rng.normal(size=200).round(3)})
    connection = duckdb.connect()
    connection.execute("set default_order='DESC'")
    connection.execute("set default_null_order='NULLS FIRST'")
    connection.register("given", rows.to_arrow())
    options = {"unit": "who", "value": "what"}
    assert ask(connection.sql("from given"), **options) == ask(rows, **options)
    options |= {"laws": "population", "contribution": "draw", "domain": (-3, 3), "protect": "replacement"}
    found, expected = (dict(ask(frame, **options)[0])["scale"] for frame in (connection.sql("from given"), rows))
    assert found == expected


LETTERS = {"who": ["a", "A", "a", "A", "b", "B"], "grp": list("ppqqrr"), "what": [1.0, 2.0, 3.0, 9.0, 1.0, 5.0]}


@pytest.mark.parametrize("default", [False, True])
def test_labels_are_compared_letter_by_letter_in_duckdb(default):
    """A collation does not make one unit of two, nor one secret."""
    connection = pytest.importorskip("duckdb").connect()
    if default:
        connection.execute("set default_collation='nocase'")
    word = "" if default else " collate nocase"
    connection.execute(f"create table t(who varchar{word}, grp varchar{word}, what double)")
    rows = list(zip(*LETTERS.values(), strict=True))
    connection.executemany("insert into t values (?, ?, ?)", rows)
    options = {"unit": "who", "value": "what"}
    assert ask(connection.sql("from t"), **options) == ask(pl.DataFrame(LETTERS), **options)
    assert ask(connection.sql("from t"), **options, by="grp")[0] is ArgumentError
    secret = {"secret": "who", "public": "what", "epsilon": 1.0}
    found, expected = (puffer_frames.calibrate(f, **secret) for f in (connection.sql("from t"), pl.DataFrame(LETTERS)))
    assert found.scale == expected.scale
    assert found.scale != puffer_frames.calibrate(pl.DataFrame(LETTERS | {"who": list("aaaabb")}), **secret).scale


def test_integers_beyond_64_bits_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    for column in ("who", "what"):
        rows = duckdb.sql("select i % 3 as who, i % 5 as what from range(60) r(i)")
        given = rows.project(
            ", ".join(f"{name}::hugeint as {name}" if name == column else name for name in rows.columns)
        )
        assert issubclass(ask(given, unit="who", value="what")[0], ArgumentTypeError)


@pytest.mark.parametrize("plan", MADE)
def test_a_table_without_values(plan):
    missing = {"who": ["a", "a", "b"], "what": pl.Series([None] * 3, dtype=pl.Float64)}
    assert ask(MADE[plan](missing), unit="who", value="what")[0] is PriorError
    assert ask(MADE[plan](missing), unit="who", value="what", nulls="drop")[0] is PriorError
    later = {"who": ["a", "b"] * 40_000, "what": pl.Series([None] * 79_990 + [1.0, 2.0] * 5, dtype=pl.Float64)}
    options = {"unit": "who", "value": "what", "nulls": "drop"}
    assert ask(MADE[plan](later), **options) == ask(pl.DataFrame(later), **options)
    assert ask(pl.LazyFrame(), query="count")[0] is PriorError


@pytest.mark.parametrize("rows", [40, 400])
def test_integers_of_128_bits_of_polars(rows):
    data = {"who": [k % 7 for k in range(rows)], "what": pl.Series([k % 29 for k in range(rows)], dtype=pl.Int128)}
    assert ask(pl.LazyFrame(data), unit="who", value="what") == ask(pl.DataFrame(data), unit="who", value="what")


def changing(data, change):
    """A plan whose rows are others in every run but the first."""
    runs = iter([lambda rows: rows])
    whole = pl.DataFrame(data)
    return whole.lazy().map_batches(lambda rows: next(runs, change)(rows), schema=whole.schema)


@pytest.mark.parametrize("nulls", ["raise", "drop"])
@pytest.mark.parametrize(
    "change", [lambda rows: rows.head(5), lambda rows: pl.concat([rows, rows]), lambda rows: rows.clear()]
)
@pytest.mark.parametrize("values", [2, 30])
def test_rows_that_change_between_two_passes(change, nulls, values):
    data = {"who": [k % 5 for k in range(60)], "what": [float(k % values) for k in range(60)]}
    for options in ({"unit": "who", "value": "what"}, {"unit": "who", "query": "count"}, {"query": "count"}):
        found = ask(changing(data, change), nulls=nulls, **options)
        assert found[0] is CalibrationError
        assert "the same in every pass" in found[1]


# Series of plans are counted by windows where their rows lie: the same as for the rows in memory.
START = datetime.datetime(2026, 3, 1, 12)


ask_histogram = functools.partial(ask, verb=puffer_frames.histogram)


def random_series(rng):
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


def random_histogram(rng):
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
def test_series_are_the_same_as_in_memory(plan, count, monkeypatch, request):
    rng = np.random.default_rng(3)
    errors = 0
    spark = request.getfixturevalue("spark") if plan == "spark" else None
    for _ in range(count // 10 if spark else count):
        monkeypatch.setattr(lazy_module, "_PART", int(rng.choice([9, 1 << 24])))
        monkeypatch.setattr(series_module, "_MOST_PLACES", int(rng.choice([4, -(1 << 20)])))  # on a line, or by windows
        data, options = random_series(rng), random_histogram(rng)
        errors += is_error_alike(ask_histogram, plan, data, options, spark)
    assert errors < 0.6 * count


def test_a_line_gives_what_a_sort_gives(monkeypatch):
    """In memory, integer times are laid out on a line, of which few places are looked at together."""
    rng, used, of = np.random.default_rng(4), [], series_module.Timeline.of
    monkeypatch.setattr(series_module, "_CHUNK", 7)
    for _ in range(25):
        frame, asked = build_frame("polars", random_series(rng)), random_histogram(rng)
        with monkeypatch.context() as changed:
            changed.setattr(series_module.Timeline, "of", lambda *rows, states: used.append(of(*rows, states=states)))
            sorted_ = ask_histogram(frame, **asked)
        assert ask_histogram(frame, **asked) == sorted_
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
    assert ask_histogram(build_frame(plan, data), **asked) == ask_histogram(build_frame("polars", data), **asked)


def test_nanoseconds_and_labels_of_a_kind_of_their_own():
    times = np.arange(0, 70, 7).astype("datetime64[ns]")
    frame = pl.LazyFrame({"time": times, "state": list("ab") * 5})
    found = ask_histogram(frame, state="state", time="time", chain=[[0.5, 0.5], [0.5, 0.5]])
    assert "without gaps" in " ".join(found[1].split())
    # Categories keep their dtype in the answers
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
    found, expected = (ask_histogram(f, **ASKED, gaps=gaps) for f in (frame, pl.DataFrame(data)))
    assert found == expected or (found[0] is expected[0] and isinstance(found[0], type))


def test_states_are_compared_letter_by_letter_in_duckdb():
    connection = pytest.importorskip("duckdb").connect()
    connection.execute("create table t(time bigint, state varchar collate nocase)")
    rows = [(k, "xXyX"[k * k % 4]) for k in range(40)]
    connection.executemany("insert into t values (?, ?)", rows)
    expected = pl.DataFrame(rows, schema=["time", "state"], orient="row")
    found, known = (ask_histogram(frame, state="state", time="time") for frame in (connection.sql("from t"), expected))
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
        found = ask_histogram(frame, **ASKED)
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert found == ask_histogram(pl.DataFrame({"time": hours, "state": [state for _, state in rows]}), **ASKED)


def test_states_are_compared_letter_by_letter_in_spark(spark):
    rows = [(k, "xXyX"[k * k % 4]) for k in range(40)]
    frame = spark.createDataFrame(rows, ["time", "state"]).selectExpr("time", "collate(state, 'UTF8_LCASE') as state")
    expected = pl.DataFrame(rows, schema=["time", "state"], orient="row")
    assert ask_histogram(frame, state="state", time="time") == ask_histogram(expected, state="state", time="time")


@pytest.mark.parametrize(
    ("run", "per", "who"), thinned([2, 3, 4, 5, 6], ["pooled", "unit"], [[0, 1], ["a", "b"], [0, 10**6]], often=2)
)
def test_rows_that_change_between_two_passes_of_series(run, per, who):
    """The passes are: a look, the ends of units that are numbers, the first and last times, the states, a sample, and
    the places of all rows.
    """
    whole = pl.DataFrame({"who": who * 20, "time": [k // 2 for k in range(40)], "state": list("abba") * 10})
    runs = iter([False] * run)
    frame = whole.lazy().map_batches(lambda rows: rows.head(30) if next(runs, True) else rows, schema=whole.schema)
    found = ask_histogram(frame, state="state", time="time", unit="who", per=per)
    if run >= 6 - (who[0] == "a"):  # there is no further pass
        assert found == ask_histogram(whole, state="state", time="time", unit="who", per=per)
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
        found.append(ask_histogram(whole.lazy(), **asked))
        assert bool(seen) == (most == 8 and dtype != pl.UInt64)
    assert found[0] == found[1] == ask_histogram(whole, **asked)
