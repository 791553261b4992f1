"""Public columns of dates: read as days on every kind of frame, and released as dates again."""

import re
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import run, without_spark
from kinds import entries, release

import puffer_frames
from puffer_frames import Channel, Layout, Noise, Sequential, Unit, certificate_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError, ColumnTypeError, PriorError
from puffer_frames.noise.laplace import Laplace
from puffer_frames.verbs.estimating.released_columns import rounded_moments

ROWS = 600
YEAR = (date(2020, 1, 1), date(2021, 1, 1))
RNG = np.random.default_rng(4)
GROUP = RNG.choice(["a", "b"], ROWS).tolist()
DAYS = [3600 + int(k) for k in RNG.integers(0, 200, ROWS) + 40 * (np.array(GROUP) == "a")]
DATES = [date(1970, 1, 1) + timedelta(days=k) for k in DAYS]
MOMENTS = [datetime(each.year, each.month, each.day) for each in DATES]
COLUMNS = {"group": GROUP, "day": DATES, "id": list(range(ROWS))}
MONTHS = [each.replace(day=1) for each in DATES]
ASKED = {"public": "day", "epsilon": 1.0, "mechanism": "noise"}


def pandas_of(**columns):
    return pd.DataFrame(COLUMNS | columns)


@pytest.fixture(scope="module")
def expected():
    """What the same noise makes of the days as numbers."""
    out = release(pl.DataFrame(COLUMNS | {"day": DAYS}), **ASKED, layout=Layout(round=True))
    return out["day"].cast(pl.Int64).to_list(), certificate_of(out).scales


def days_in(frame):
    return [(date(each.year, each.month, each.day) - date(1970, 1, 1)).days for each in dict(entries(frame))["day"]]


@pytest.mark.parametrize("stored", [DATES, MOMENTS], ids=["dates", "moments"])
@pytest.mark.parametrize("layout", [Layout(), Layout(row_id="id")], ids=["by place", "by number"])
def test_dates_are_released_as_dates(kind, make_frame, expected, stored, layout):
    """With the noise of days, in the type that they had; numbers of rows of Spark differ from their places."""
    frame = make_frame(COLUMNS | {"day": stored})
    if kind == "spark" and stored is MOMENTS:
        with pytest.raises(ColumnTypeError, match=r"moments of a time zone[^$]*to_date\(column\)"):
            release(frame, **ASKED, layout=layout)
        frame = frame.withColumn("day", frame["day"].cast("timestamp_ntz"))
    out = run(release(frame, **ASKED, layout=layout))
    days, scales = expected
    if kind != "spark" or layout.row_id:
        assert sorted(days_in(out)) == sorted(days)
    assert certificate_of(out).scales == scales
    assert puffer_frames.verify(out) == "unsigned: cannot be trusted"
    assert type_of(out) == type_of(frame.to_arrow_table() if kind == "duckdb" else frame)


def type_of(frame):
    if hasattr(frame, "toArrow"):
        return frame.schema["day"].dataType
    if isinstance(frame, pl.LazyFrame):
        return frame.collect_schema()["day"]
    return frame.schema.field("day").type if isinstance(frame, pa.Table) else frame["day"].dtype


def test_times_of_the_day_are_refused_in_spark(spark, expected):
    """A TIMESTAMP of Spark is a moment of a zone; its day is the one of the session's."""
    times = [each + timedelta(hours=5) for each in MOMENTS]
    frame = spark.createDataFrame(pa.table(COLUMNS | {"day": times}))
    plain = frame.withColumn("day", frame["day"].cast("timestamp_ntz"))
    for one, said in ((plain, "times of the day"), (frame, "moments of a time zone")):
        with pytest.raises(ColumnTypeError, match=f"got {said}") as caught:
            release(one, **ASKED)
        step = re.search(r"in Spark (\S+),", str(caught.value))[1]
        days = one.selectExpr("*", step.replace("column", "day") + " AS of").drop("day").withColumnRenamed("of", "day")
        assert certificate_of(release(days, **ASKED)).scales == expected[1]


TYPES = [pa.date64(), pa.timestamp("s"), pa.timestamp("ns")]


@pytest.mark.parametrize("frame", [
    *(pandas_of(day=np.array(DATES, dtype=f"datetime64[{unit}]")) for unit in ("s", "ms", "us", "ns")),
    *(pl.DataFrame(COLUMNS).with_columns(pl.col("day").cast(pl.Datetime(unit))) for unit in ("ms", "us", "ns")),
    *(pa.table(COLUMNS).set_column(1, "day", pa.array(DATES).cast(kind)) for kind in TYPES),
    pandas_of(day=pd.array(pa.array(DATES), dtype=pd.ArrowDtype(pa.date32()))),
])  # fmt: skip
def test_every_type_of_dates_is_kept(expected, frame):
    out = release(frame, **ASKED)
    assert days_in(out) == expected[0]
    assert type_of(out) == type_of(frame)


def test_what_is_said_of_dates(tmp_path):
    plan = puffer_frames.calibrate(pandas_of(day=MOMENTS), secret="group", **ASKED)
    assert "day: all figures are in days, since 1970-01-01" in str(plan)
    plan.save(tmp_path / "plan.json")
    again = puffer_frames.load_plan(tmp_path / "plan.json")
    assert again.kinds["day"] == "dates"
    out = again.release(pandas_of(), rng=1)  # other objects, the same dates
    assert days_in(out) == days_in(plan.release(pandas_of(day=MOMENTS), rng=1))
    said = {one.key: one.text for one in certificate_of(out).statements}
    assert said["dates"].startswith("These columns hold dates, which were read as days since 1970-01-01: day.")
    assert said["after"].endswith("day rounded to whole days.")
    record = certificate_of(out).to_dict()
    assert record["facts"]["dates"] == ["day"]
    for facts in (
        record["facts"] | {"dates": []},
        {name: of for name, of in record["facts"].items() if name != "dates"},
    ):
        with pytest.raises(ArgumentError, match="certificate's record must be"):
            puffer_frames.Certificate.from_dict(record | {"facts": facts})
    numbers = pandas_of(day=[int(f"{day:%Y%m%d}") for day in COLUMNS["day"]])
    with pytest.raises(ColumnTypeError, match="of dates, as in the plan; got a column of numbers") as caught:
        again.release(numbers)
    step = re.search(r"in pandas (pd.*\)), in Polars", str(caught.value))[1].replace("%Y-%m-%d", "%Y%m%d")
    mended = numbers.assign(day=eval(step, {"pd": pd, "frame": numbers}))
    assert days_in(again.release(mended, rng=1)) == days_in(out)


def test_bounds_of_dates_are_printed_as_dates_and_kept_as_days(tmp_path):
    """Facts have numbers. Where the noise drowns the dates, it is said as of other columns."""
    ends, clip = (date(1979, 12, 1), date(1980, 5, 1)), (date(1979, 1, 1), date(1981, 1, 1))
    asked = {"secret": "group", **ASKED, "domain": {"day": ends}}
    plan = puffer_frames.calibrate(pandas_of(), **asked)
    found = certificate_of(plan.release(pandas_of(), layout=Layout(clip={"day": clip})))
    text = " ".join(str(found).split())
    assert "clipped before the noise: day to [1979-12-01, 1980-05-01]." in text
    assert "day clipped to [1979-01-01, 1981-01-01]" in text
    assert found.facts.clipped["day"] == (3621.0, 3773.0)
    assert puffer_frames.Certificate.from_dict(found.to_dict()) == found
    asked["mechanism"] = Channel()
    listed = certificate_of(puffer_frames.privatize(pandas_of(), layout=Layout(publish=["levels"]), **asked))
    assert "levels 1979-12-01, 1979-12-02, " in " ".join(str(listed).split())
    drowned = certificate_of(puffer_frames.privatize(pandas_of(), **ASKED | {"secret": "group", "epsilon": 0.05}))
    assert drowned.useless == ("day",)
    drowned.report(tmp_path / "page.html")
    assert "the noise drowns the values" in (tmp_path / "page.html").read_text(encoding="utf-8")


@without_spark
def test_times_of_the_day_are_refused(make_frame):
    with pytest.raises(ColumnTypeError, match="got times of the day"):
        release(make_frame(COLUMNS | {"day": [each + timedelta(hours=5) for each in MOMENTS]}), **ASKED)


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_NS"])
@pytest.mark.parametrize("row_id", [None, "i"])
def test_infinite_dates_of_duckdb_are_refused(kind, row_id):
    """In Arrow each is a day some million years away."""
    duckdb = pytest.importorskip("duckdb")
    case = f"CASE i WHEN 7 THEN '-infinity' WHEN 9 THEN 'infinity' ELSE '2020-01-' || (11 + i % 9 + i % 2) END::{kind}"
    rows = duckdb.sql(f"SELECT i, {case} AS day, i % 2 AS of FROM range(200) t(i)")
    asked = {"secret": "of", "public": "day", "epsilon": 1.0, "layout": Layout(row_id=row_id)}
    with pytest.raises(PriorError, match="2 rows with an infinity"):
        puffer_frames.privatize(rows, **asked)


@pytest.mark.parametrize("zone", [None, UTC])
def test_the_hint_for_times_works(expected, zone):
    times = [each.replace(tzinfo=zone) + timedelta(hours=5) for each in MOMENTS]
    frame = pandas_of(day=times)
    with pytest.raises(ColumnTypeError) as caught:
        release(frame, **ASKED)
    steps = re.search(r"in pandas (\S+), in Polars (\S+), in PyArrow (\S+),", str(caught.value)).groups()
    days = eval(f'frame["day"]{steps[0]}', {"frame": frame})
    assert days_in(release(frame.assign(day=days), **ASKED)) == expected[0]
    wide = pl.DataFrame(COLUMNS | {"day": times})
    days = eval(f'pl.col("day"){steps[1]}', {"pl": pl})
    assert days_in(release(wide.with_columns(days), **ASKED)) == expected[0]
    table = wide.to_arrow()
    days = eval(f'table["day"]{steps[2]}', {"table": table, "pa": pa})
    assert days_in(release(table.set_column(1, "day", days), **ASKED)) == expected[0]


@without_spark
def test_missing_dates_and_codes_for_them(make_frame):
    gaps = [None if k % 9 == 0 else each for k, each in enumerate(DATES)]
    asked = {**ASKED, "layout": Layout(row_id="id")}
    with pytest.raises(PriorError, match="67 rows with one"):
        release(make_frame(COLUMNS | {"day": gaps}), **asked)
    out = run(release(make_frame(COLUMNS | {"day": gaps}), **asked, nulls="drop"))
    coded = make_frame(COLUMNS | {"day": [date(2199, 12, 31) if each is None else each for each in gaps]})
    for code in (date(2199, 12, 31), "2199-12-31"):
        assert days_in(run(release(coded, **asked, nulls="drop", null_values={"day": code}))) == days_in(out)


def test_bounds_are_dates():
    low, high = date(1979, 11, 1), date(1981, 1, 1)
    near = Layout(clip={"day": (low, date(1980, 3, 1))})
    out = release(pandas_of(), **ASKED, domain={"day": (low, high)}, layout=near)
    assert low <= min(out["day"]) < max(out["day"]) == date(1980, 3, 1)
    assert certificate_of(out).processed["day"]["clip"] == (3591.0, 3712.0)
    for missing in (pd.NaT, np.datetime64("NaT", "D")):
        with pytest.raises((ArgumentError, ArgumentTypeError), match="domain must be"):
            release(pandas_of(), **ASKED, domain={"day": (low, missing)})
    months = sorted({*MONTHS, date(1979, 1, 1)})
    moments = pd.to_datetime(pd.Series(months))
    for levels in (months, moments, pd.Index(moments), moments.to_numpy(), pl.Series(months)):
        asked = {"public": "day", "domain": {"day": levels}, "mechanism": "channel"}
        out = release(pl.DataFrame(COLUMNS | {"day": MONTHS}), **asked)
        assert set(out["day"]) <= set(months)
    assert release(pandas_of(), **ASKED, domain={"day": np.array([low, high], "M8[D]")}, layout=near) is not None


def test_dates_may_be_clipped_at_one_end():
    out = release(pandas_of(), **ASKED, layout=Layout(clip={"day": (date(1979, 12, 1), float("inf"))}))
    assert min(days_in(out)) == 3621


@pytest.mark.parametrize("ends", [(3591, 3711.5), ("1979-11-01", "1981-01-01"), (3591, date(1981, 1, 1)), range(9)])
def test_only_dates_are_bounds_of_dates(ends):
    """Numbers were taken for days since 1970, and texts for levels."""
    for asked in ({"domain": {"day": ends}}, {"layout": Layout(clip={"day": ends})}):
        with pytest.raises(ArgumentError, match=r"(?s)of dates for 'day', .*\(date\(1950, 1, 31\), date\(1999, 12, 31"):
            release(pandas_of(), **ASKED, **asked)


@pytest.mark.parametrize(
    "asked", [{"domain": {"x": YEAR}}, {"layout": Layout(clip=YEAR)}, {"layout": Layout(clip={"x": YEAR})}]
)
def test_dates_are_no_bounds_of_numbers(asked):
    """Days since 1970 would be taken for the unit of the column, and all its values moved to one end."""
    frame = pd.DataFrame({"s": ["a", "b"] * 20, "x": [float(k % 7 + 3 * (k % 2)) for k in range(40)]})
    with pytest.raises(ColumnTypeError, match=r"must be of dates, as (clip|domain) has them; got a column of numbers"):
        release(frame, secret="s", public="x", epsilon=0.5, **asked)
    with pytest.raises(ColumnTypeError):
        frame.puffer.calibrate(secret="s", public="x", epsilon=0.5).release(frame, layout=Layout(clip=YEAR))


@pytest.mark.parametrize("unit", ["D", "s", "us", "ns"])
def test_bounds_and_codes_may_be_moments_of_numpy(unit):
    """Of nanoseconds NumPy gives a number, not a date."""
    low, high = (np.datetime64(day, unit) for day in ("1979-11-01", "1981-01-01"))
    code = np.datetime64(DATES[0]).astype(f"datetime64[{unit}]")
    out = release(pandas_of(), **ASKED, layout=Layout(clip=(low, high)), null_values={"day": code}, nulls="drop")
    assert certificate_of(out).processed["day"]["clip"] == (3591.0, 4018.0)
    assert len(out) == ROWS - DAYS.count(DAYS[0])
    for none in (pd.NaT, np.datetime64("NaT", unit)):
        with pytest.raises(ArgumentTypeError, match="clip must be"):
            release(pandas_of(), **ASKED, layout=Layout(clip=(none, high)))


@pytest.mark.parametrize(("dtype", "last"), [(pl.Date, date(9999, 12, 31)), (pl.Datetime("ns"), date(2262, 4, 11))])
def test_noise_beyond_the_calendar_becomes_its_end(dtype, last):
    frame = pl.DataFrame(COLUMNS).with_columns(pl.col("day").cast(dtype))
    wide = {
        "epsilon": 1e-4,
        "mechanism": Noise(theorem="bounded"),
        "domain": {"day": (date(1978, 3, 20), date(1980, 12, 14))},
    }
    out = release(frame, public="day", **wide)
    assert out["day"].cast(pl.Date).max() == last
    with pytest.raises(ArgumentError, match="without clip and round, for a mean"):
        out.puffer.estimate().mean("day")


@without_spark
@pytest.mark.parametrize("mechanism", [Channel(publish_matrix=True), Noise(remap=True)])
def test_other_mechanisms_release_dates(make_frame, mechanism):
    frame = make_frame(COLUMNS | {"day": MONTHS})
    out = run(release(frame, public="day", epsilon=1.0, mechanism=mechanism))
    assert set(days_in(out)) <= {(each - date(1970, 1, 1)).days for each in MONTHS}


@without_spark
@pytest.mark.parametrize("asked", [{"given": "town"}, {"public": ["day", "x"]}, {"unit": Unit("who", rows="repeated")}])
def test_what_else_is_asked_of_dates(kind, make_frame, asked):
    """As of the same days as numbers."""
    columns = {
        "group": GROUP,
        "day": DATES,
        "x": [k % 5 for k in DAYS],
        "town": ["x", "y", "z"] * 200,
        "id": range(ROWS),
    }
    columns |= {name: [entry for entry in columns[name] for _ in range(2)] for name in ("group", "day", "x", "town")}
    columns |= {"who": [k // 2 for k in range(2 * ROWS)], "id": RNG.permutation(2 * ROWS).tolist()}
    order = np.argsort(columns["id"])
    columns = {name: [entries[k] for k in order] for name, entries in columns.items()}
    asked = {**ASKED, "layout": Layout(row_id="id"), **asked}
    out = run(release(make_frame(columns), **asked))
    days = [(each - date(1970, 1, 1)).days for each in columns["day"]]
    expected = release(pl.DataFrame(columns | {"day": days}), **asked)
    assert days_in(out) == [round(day) for day in dict(entries(expected))["day"]]


def test_a_whole_table_keeps_its_dates():
    frame = pl.DataFrame(COLUMNS | {"when": MOMENTS, "x": RNG.integers(0, 4, ROWS)}).drop("id")
    options = {"public": "rest", "epsilon": 1.0, "mechanism": Sequential(holdout=0.5, components=1), "rng": None}
    out = release(frame, **options)
    plan = puffer_frames.calibrate(frame, secret="group", **{name: of for name, of in options.items() if name != "rng"})
    losses = plan.loss(out)
    assert losses.to_numpy().max() <= 1.0
    assert (plan.loss(out.to_pandas()).to_numpy() == losses.to_numpy()).all()
    assert (out.schema["day"], out.schema["when"]) == (pl.Date, pl.Datetime("us"))
    assert set(out["day"]) <= set(DATES)
    assert set(out["when"]) <= set(MOMENTS)
    assert not puffer_frames.audit(frame, out).failures
    assert out.puffer.quality(frame).columns["similarity"].min() > 0.8


@without_spark
def test_missing_dates_of_a_whole_table_stay_missing(make_frame):
    gaps = [None if k % 4 == 0 else each for k, each in enumerate(MONTHS)]
    columns = {"group": GROUP, "day": gaps, "x": [k % 3 for k in DAYS], "id": range(ROWS)}
    options = {"mechanism": Sequential(holdout=0, components=1, allow_unaudited=True), "layout": Layout(row_id="id")}
    out = run(release(make_frame(columns), public=["day", "x"], epsilon=1.0, nulls="level", **options))
    days = [None if pd.isna(each) else date(each.year, each.month, each.day) for each in dict(entries(out))["day"]]
    assert set(days) <= {*MONTHS, None}
    assert 0.1 < days.count(None) / ROWS < 0.4


def test_dates_of_python_in_polars():
    out = release(pl.DataFrame(COLUMNS | {"day": pl.Series(DATES, dtype=pl.Object)}), **ASKED)
    assert out["day"].dtype == pl.Date


def test_what_a_release_of_dates_is_good_for():
    """Estimates are in days. The mean counts the rounding in, since raw dates are whole days."""
    frame = pandas_of(day=MOMENTS)
    plan = puffer_frames.calibrate(frame, secret="group", **ASKED)
    released = [plan.release(frame, rng=seed) for seed in range(20)]
    means = [out.puffer.estimate().mean("day") for out in released]
    errors = np.array([(one.value - np.mean(DAYS)) / one.standard_error for one in means])
    assert abs(errors.mean()) < 0.5
    assert 0.7 < errors.std() < 1.3
    low, high = released[0].puffer.estimate().quantile("day", 0.5).interval()
    assert low < np.median(DAYS) < high
    assert not puffer_frames.audit(frame, plan.release(frame)).failures
    raw = puffer_frames.audit(frame, frame[["day"]], certificate=certificate_of(released[0]))
    assert {"raw columns", "noise law"} <= set(raw.failures)


@pytest.mark.parametrize("scale", [0.3, 2.0, 999.0, 1001.0])
def test_moments_of_rounded_noise(scale):
    """P(K = k) = sinh(x / 2) e^(-x |k|) for k other than 0, x = 1 / scale, and the sums of k^2 q^k and k^4 q^k."""
    x, q = 1 / scale, np.exp(-1 / scale)
    second = 2 * np.sinh(x / 2) * q * (1 + q) / (1 - q) ** 3
    fourth = 2 * np.sinh(x / 2) * q * (1 + 11 * q + 11 * q**2 + q**3) / (1 - q) ** 5
    assert rounded_moments(Laplace(scale=scale)) == pytest.approx((second, fourth), rel=1e-6)


def test_dates_as_text_are_told_from_labels():
    """And the step that the hint names reads them."""
    texts = [each.strftime("%d.%m.%Y") for each in (DATES[0] + timedelta(days=int(k)) for k in RNG.permutation(ROWS))]
    frame = pandas_of(day=texts)
    with pytest.raises(ArgumentError, match="at most 512 different levels") as caught:
        release(frame, public="day")
    steps = re.search(r"in pandas (.*), in Polars (.*), elsewhere", str(caught.value)).groups()
    days = eval(steps[0], {"pd": pd, "frame": frame})
    assert days.dt.strftime("%d.%m.%Y").tolist() == texts
    assert pl.DataFrame({"day": texts}).select(eval(steps[1], {"pl": pl}))["day"].to_list() == days.dt.date.tolist()
    release(frame.assign(day=days), **ASKED)


@pytest.mark.parametrize("mechanism", ["noise", "channel", Sequential(holdout=0.5, components=1)])
def test_tables_of_beliefs_hold_dates_too(mechanism):
    """Weeks since 1970 under the name of a column of dates are laws of nothing."""
    frame = pl.DataFrame(COLUMNS | {"x": RNG.integers(0, 4, ROWS)}).drop("id")
    public = ["day", "x"] if isinstance(mechanism, Sequential) else "day"
    asked = {"public": public, "epsilon": 1.0, "mechanism": mechanism, "secret": "group"}
    weeks = frame.with_columns(day=pl.Series([day // 7 for day in DAYS]))
    for table, other, said in ((frame, weeks, "of dates"), (weeks, frame, "of numbers")):
        with pytest.raises(ColumnTypeError, match=f"'day' of a table in beliefs must be {said}"):
            puffer_frames.calibrate(table, beliefs=("fitted", other), **asked)
    moments = frame.with_columns(pl.col("day").cast(pl.Datetime("ms")))
    puffer_frames.calibrate(frame, beliefs=("fitted", moments), **asked)
