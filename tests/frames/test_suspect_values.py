"""Columns that seem to hold something else than their values say: numbers as text, marks and codes for missing ones."""

import datetime
import decimal
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import build_frame, few, run

import puffer_frames
from puffer_frames import Layout, SuspectValuesWarning
from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import are_written_numbers, meant_as, merging

ROWS = 400
RNG = np.random.default_rng(0)
SEX = RNG.choice(["f", "m"], ROWS)
AGE = RNG.integers(20, 60, ROWS)


def met(frame, **asked):
    """The warnings of this kind of a plan, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
        puffer_frames.calibrate(frame, epsilon=1, allow_zero_noise=True, **asked)
    return [str(one.message) for one in caught if issubclass(one.category, SuspectValuesWarning)]


MARKED = {
    "a mark": ["?" if k % 20 == 0 else str(a) for k, a in enumerate(AGE)],
    "thousands": [f"{a * 1000:,}" for a in AGE],
    "decimal commas": [f"{a},5" for a in AGE],
    "a currency": [f"${a}" for a in AGE],
    "euros": [f"{a} €" for a in AGE],
    "percent": [f"{a}%" for a in AGE],
    "spaces": [f" {a}" for a in AGE],
    "top codes": [str(a) if a < 55 else "55+" for a in AGE],
    "codes of a currency": [f"EUR {a}" for a in AGE],
    "a unit": [f"{a} kg" for a in AGE],
    "thousands as k": [f"{a}k" for a in AGE],
    "a minus behind": [f"{a}-" if a % 2 else str(a) for a in AGE],
    "another minus": [f"−{a}" if a % 2 else str(a) for a in AGE],
    "other digits": [str(a).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")) for a in AGE],
}
LABELS = {
    "numbers that somebody wrote as text": [str(a) for a in AGE],
    "codes": [f"{a:03d}" for a in AGE],
    "bands": [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in AGE],
    "few counts": ["3+" if a > 50 else str(a % 3) for a in AGE],
    "letters": [f"A{a % 9}" for a in AGE],
    "words": ["?" if a == 20 else "clerk" for a in AGE],
    "ordinals": [f"{a}th" for a in AGE],
    "decades": [f"{a * 10}s" for a in AGE],
    "grades": [f"{a % 4 + 1}{'-+'[a % 2]}" for a in AGE],
    "two units": [f"{a} {'kg' if a % 2 else 'lbs'}" for a in AGE],
    "halves": [f"{a}½" for a in AGE],
    "hours": [f"room {a} 10:00" for a in AGE],
}


@few(4, rest="apart")
@pytest.mark.parametrize("texts", MARKED.values(), ids=MARKED)
def test_text_that_looks_like_numbers(texts):
    assert are_written_numbers(dict.fromkeys(texts))
    (found,) = met(pd.DataFrame({"sex": SEX, "x": texts}), secret="sex", public="x")
    assert "the public column 'x' holds text that looks like numbers" in found
    assert not any(text.strip() in found.partition("Hint")[0].split() for text in texts)


@pytest.mark.parametrize(
    ("odd", "form"),
    [
        *(("2026-02-30", "2026-01-{:02d}"), ("0000-00-00", "2026-01-{:02d}"), ("never", "2026-01-{:02d}")),
        *(("never", "{} Jan 2026"), ("never", "{:02d}-JAN-2026"), ("00.00.00", "{:02d}.01.26")),
        *(("never", "2026-01-{:02d}T00:00:00Z"), ("never", "2026-01-{:02d} 10:11:12.123456789+01:00")),
        *(("never", "01/{:02d}/2026 1:00:00 AM"), ("never", "Jan {}, 2026"), ("never", "{} January 2026 10:30")),
    ],
)
def test_text_that_looks_like_dates(odd, form):
    """A few other texts among the dates do not make labels of them, and the hint leaves these out."""
    texts = [odd if not k % 60 else form.format(a % 28 + 1) for k, a in enumerate(AGE)]
    frame = pd.DataFrame({"sex": SEX, "x": texts})
    (found,) = met(frame, secret="sex", public="x")
    assert "the public column 'x' holds text that looks like dates, and is released as labels" in found
    days = eval(re.search(r"in pandas (.*), in Polars", found)[1], {"pd": pd, "frame": frame})
    assert days.isna().tolist() == [text == odd for text in texts]
    in_polars = pl.DataFrame({"x": texts}).select(eval(re.search(r"in Polars (.*\))[;,]", found)[1], {"pl": pl}))
    assert in_polars["x"].to_list() == [None if day is pd.NaT else day.date() for day in days]
    assert not met(frame.assign(x=days), secret="sex", public="x", nulls="drop")
    read = form == "2026-01-{:02d}"
    assert ("name such texts in --null-values" in found, "dates as 2026-01-31 alone" in found) == (read, not read)


@pytest.mark.parametrize("texts", LABELS.values(), ids=LABELS)
def test_text_that_is_labels(texts):
    assert not met(pd.DataFrame({"sex": SEX, "x": texts}), secret="sex", public="x")


def test_plain_decimals_are_hardly_labels():
    (found,) = met(pd.DataFrame({"sex": SEX, "x": [f"{a}.5" for a in AGE]}), secret="sex", public="x")
    assert "holds text that looks like numbers" in found


def test_domains_that_leave_out_a_code_and_codes_in_cells():
    texts = MARKED["a mark"]
    frame = pd.DataFrame({"sex": SEX, "x": texts})
    assert not met(frame, secret="sex", public="x", domain={"x": sorted(set(texts))})
    frame = pd.DataFrame({"sex": SEX, "x": FAR["9999 among ages"]})
    (told,) = met(frame, secret="sex", public="x", domain={"x": (0, 99)})
    assert "of the rows outside" in told  # the code is one of its ends now, for as many rows
    assert not met(frame, secret="sex", public="x", domain={"x": (0, 9999)})


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
def test_on_every_kind_of_frame(kind):
    frame = build_frame(kind, {"sex": SEX.tolist(), "x": MARKED["top codes"], "y": AGE.tolist()})
    assert len(met(frame, secret="sex", public="x")) == 1
    assert len(met(frame, secret="sex", public=["x", "y"])) == 1
    coded = build_frame(kind, {"sex": ["NA" if s == "f" else s for s in SEX], "y": np.where(AGE < 23, 9999, AGE)})
    assert len(met(coded, secret="sex", public="y")) == 2
    with pytest.warns(SuspectValuesWarning, match="'NA' in"):
        run(puffer_frames.privatize(coded, secret="sex", public="y", domain={"y": (0, 9999)}, epsilon=1))


@pytest.mark.filterwarnings("ignore::puffer_frames.WideNoiseWarning")
@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_release_of_a_release(kind):
    """Its certificate is replaced by one that knows nothing of it."""
    data = {"sex": SEX.tolist(), "x": (AGE + 9 * (SEX == "f")).tolist(), "town": (AGE > 40).tolist()}
    frame = build_frame(kind, data)
    kept = Layout(keep=["town"], shuffle=True)
    released = puffer_frames.privatize(frame, secret="sex", public="x", epsilon=1.0, layout=kept)
    asked = {"secret": "town", "public": "x", "epsilon": 1.0}
    plan = puffer_frames.calibrate(frame, **asked, allow_zero_noise=True)
    for again in (
        lambda: puffer_frames.privatize(released, **asked, allow_zero_noise=True),
        lambda: plan.release(released, allow_other_frame=True, allow_drift=True),
    ):
        with pytest.warns(SuspectValuesWarning, match="the table is itself a release"):
            again()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_too_many_texts_are_numbers(kind):
    frame = build_frame(kind, {"sex": SEX.tolist() * 2, "x": [f"{k:,}" for k in range(1000, 1000 + 2 * ROWS)]})
    with pytest.raises(puffer_frames.errors.ArgumentError, match=r"(?s)at most 512.*numbers first"):
        puffer_frames.privatize(frame, secret="sex", public="x", epsilon=1)


def test_marks_of_several_secrets():
    frame = pd.DataFrame({"sex": SEX, "town": np.where(AGE < 30, "?", "x"), "x": AGE})
    rows = int((AGE < 30).sum())
    for secrets in ("joint", "each"):
        (found,) = met(frame, secret=["sex", "town"], public="x", secrets=secrets)
        assert f"'?' in {rows} rows" in found
    assert not met(frame.assign(town=np.where(AGE < 30, "none", "x")), secret="town", public="x")


@pytest.mark.parametrize("mark", ["None", "NONE", "NaT", "na", "-nan", "(null)", r"\N", "missing", " NA "])
def test_marks_that_programs_write(mark):
    """str(None) and str(NaT), R, C and databases."""
    (found,) = met(pd.DataFrame({"sex": np.where(AGE < 23, mark, SEX), "x": AGE}), secret="sex", public="x")
    assert repr(mark) in found
    assert not met(pd.DataFrame({"sex": np.where(AGE < 23, "unknown", SEX), "x": AGE}), secret="sex", public="x")


FAR = {
    "9999 among ages": np.where(AGE < 23, 9999, AGE),
    "-999 among ages": np.where(AGE < 23, -999, AGE),
    "-1 among incomes": np.where(AGE < 23, -1, 1000 * AGE),
    "9 among ratings": np.where(AGE < 23, 9, AGE % 5 + 1),
    "8 and 9 among ratings": np.where(AGE < 26, AGE % 2 + 8, AGE % 5 + 1),
    "7777, 8888 and 9999": np.choose(np.clip(AGE - 20, 0, 3), [7777, 8888, 9999, AGE]),
    "at both ends": np.choose(np.clip(AGE - 20, 0, 2), [-999, 9999, AGE]),
    "beside an outlier": np.where(AGE < 23, 9999999, np.where(np.arange(ROWS) == 7, 5_000_000, AGE * 1000)),
}
NEAR = {
    "ages": AGE,
    "booleans": AGE < 30,
    "one outlier": np.where(np.arange(ROWS) == 0, 9999, AGE),
    "many zeros": np.where(AGE < 55, 0, AGE),
    "counts": RNG.poisson(0.5, ROWS),
    "heavy tails": RNG.zipf(1.6, ROWS) % 10**9,
    "top-coded": np.minimum(AGE, 50),
    "a few values": np.where(AGE < 30, 100, AGE % 3),
    "-1 among temperatures": np.where(AGE < 23, -1, AGE % 20),
    "6 and 7 beside ratings": np.where(AGE < 26, AGE % 2 + 6, AGE % 5 + 1),
    "8 and 9 beside holes": np.where(AGE < 26, AGE % 2 + 8, AGE % 4 * 2),
    "numbers as long as days": 20_250_100 + AGE,
    "numbers as long as short days": 102_010 + 7 * AGE,
    "numbers within a short month": 100_100 + AGE % 31 + 1,
}


@few(7, rest="apart")
@pytest.mark.parametrize("values", FAR.values(), ids=FAR)
@pytest.mark.parametrize("mechanism", ["noise", "channel"])
def test_codes_among_numbers(values, mechanism):
    (found,) = met(pd.DataFrame({"sex": SEX, "x": values}), secret="sex", public="x", mechanism=mechanism)
    coded = (values > 6_000_000) | ((values > 5999) & (values < 10_000)) | np.isin(values, (-999, -1, 8, 9))
    rows = int(coded.sum())
    assert f"{rows} rows with a value" in found
    assert "999" not in found.partition("Hint")[0]


@pytest.mark.parametrize("values", NEAR.values(), ids=NEAR)
def test_numbers_without_codes(values):
    assert not met(pd.DataFrame({"sex": SEX, "x": values}), secret="sex", public="x")


@pytest.mark.parametrize("mechanism", ["noise", "channel"])
@pytest.mark.parametrize("form", ["%Y%m%d", "%d%m%Y", "%m%d%Y", "%y%m%d"])
def test_days_in_digits(mechanism, form):
    days = [int(datetime.date(2006, 1 + age % 12, 1 + age % 28).strftime(form)) for age in AGE]  # 5012006, and 60105
    frame = pd.DataFrame({"sex": SEX, "x": np.where(AGE == 20, 99_999_999, days)})
    (found,) = met(frame, secret="sex", public="x", mechanism=mechanism)
    assert "'x' holds dates as numbers" in found
    days = eval(re.search(r"in pandas (.*), in Polars", found)[1], {"pd": pd, "frame": frame})
    assert days.isna().tolist() == (AGE == 20).tolist()
    step = eval(re.search(r"in Polars (.*); the", found)[1], {"pl": pl})
    assert pl.from_pandas(frame).select(step)["x"].to_list() == [None if d is pd.NaT else d.date() for d in days]
    assert not met(frame, secret="sex", public="x", mechanism=mechanism, domain={"x": (0, 99_999_999)})


def test_a_code_in_cells():
    rng = np.random.default_rng(1)
    rows = 200_000
    values = np.where(rng.random(rows) < 0.02, 1e7, rng.lognormal(10, 0.8, rows))
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "x": values})
    (found,) = met(frame, secret="sex", public="x")
    assert f"{int((values == 1e7).sum())} rows" in found


def test_numbers_in_text_that_no_single_step_reads():
    values = RNG.lognormal(3, 1, ROWS)
    frame = pd.DataFrame({"sex": SEX, "x": values, "copy": [f"{v:.12f}" for v in values]})
    with pytest.warns(puffer_frames.KeptColumnWarning, match="'copy'"):
        puffer_frames.privatize(frame, secret="sex", public="x", layout=Layout(keep="copy"), epsilon=1)
    texts = [f"1.00{k % 8}.000" if k % 2 else f"1,00{k % 8},000" for k in range(ROWS)]
    (told,) = met(pd.DataFrame({"sex": SEX, "x": texts}), secret="sex", public="x")
    assert "to_numeric" not in told
    assert "It is written in several ways" in told


def test_a_panic_becomes_an_exception():
    class PanicException(BaseException):
        pass

    @short_traceback
    def stopped():
        raise PanicException

    with pytest.raises(RuntimeError, match="PanicException"):
        stopped()


@few(30)
@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
@pytest.mark.parametrize("mechanism", ["noise", "channel"])
def test_a_domain_that_many_values_are_beyond(kind, mechanism):
    """The errors that a plan states are those of the moved values: 46 times too small where most are moved."""
    frame = build_frame(kind, {"sex": SEX, "age": AGE + 5 * (SEX == "m")})
    asked = {"secret": "sex", "public": "age", "mechanism": mechanism}
    (told,) = met(frame, **asked, domain={"age": (40, 70)})
    beyond = np.mean(AGE + 5 * (SEX == "m") < 40)
    assert f"leaves about {beyond:.2%} of the rows outside" in told
    assert met(frame, **asked, domain={"age": (20, 64)}) == []
    rare = np.where(np.arange(ROWS) < 3, 200, AGE)
    assert met(build_frame(kind, {"sex": SEX, "age": rare}), **asked, domain={"age": (20, 64)}) == []
    ends = np.where(np.arange(ROWS) % 2, 20, AGE)  # many values at an end, none beyond
    assert met(build_frame(kind, {"sex": SEX, "age": ends}), **asked, domain={"age": (20, 64)}) == []


@few(30)
@pytest.mark.parametrize("kind", ["pandas", "polars", "polars-lazy", "pyarrow", "duckdb"])
@pytest.mark.parametrize("mechanism", ["noise", "channel"])
def test_rows_that_are_left_out_for_a_missing_value(kind, mechanism, tmp_path):
    """Of 2,200 rows 1,325 were left out, and nobody was told."""
    gap, rare = np.arange(ROWS) % 4 == 0, np.arange(ROWS) < 12
    sex = [None if k < 8 else one for k, one in enumerate(SEX)]
    columns = {"sex": sex, "x": [None if g else float(a) for g, a in zip(gap, AGE, strict=True)]}
    frame, asked = build_frame(kind, columns), {"secret": "sex", "public": "x", "nulls": "drop", "mechanism": mechanism}
    (told,) = met(frame, **asked)
    assert "106 of 400 rows (26.5 %) miss a value and are left out; x misses most, in 100" in told
    few_gaps = build_frame(kind, {"sex": SEX, "x": [None if g else float(a) for g, a in zip(rare, AGE, strict=True)]})
    assert not met(few_gaps, **asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan, own = (puffer_frames.calibrate(of, epsilon=5.0, **asked) for of in (few_gaps, frame))
    assert "12 of 400 rows (3 %)" in str(plan)
    own.save(tmp_path / "plan.json")
    kept = puffer_frames.load_plan(tmp_path / "plan.json")
    assert (kept.dropped, kept.identity()) == (own.dropped, own.identity())
    with pytest.warns(SuspectValuesWarning, match="106 of 400"):
        released = run(kept.release(frame))
    assert "106" not in str(puffer_frames.certificate_of(released))


def test_hints_for_missing_values_can_be_followed():
    """The only public column cannot be left out, and a secret or a given column has no level for what is missing."""
    frame = pd.DataFrame({"sex": SEX, "age": AGE, "job": np.resize(["a", "b"], ROWS), "place": "x"})
    gap = np.arange(ROWS) % 4 == 0
    for column, public, given, leaves, level in [
        ("age", ["age"], (), False, True),
        ("age", ["age", "job"], (), True, True),
        ("sex", ["age"], (), False, False),
        ("place", ["age"], "place", False, False),
    ]:
        part = frame.assign(**{column: frame[column].where(~gap)})
        with pytest.warns(SuspectValuesWarning, match="miss a value") as told:
            puffer_frames.calibrate(part, secret="sex", public=public, given=given, epsilon=5.0, nulls="drop")
        (hint,) = (str(one.message) for one in told if "miss a value" in str(one.message))
        assert ("Leave" in hint, 'nulls="level"' in hint) == (leaves, level)


def test_a_check_of_later_rows_says_how_many_are_left_out():
    frame = pd.DataFrame({"sex": SEX, "x": AGE.astype(float)})
    plan = puffer_frames.calibrate(frame, secret="sex", public="x", epsilon=5.0, nulls="drop")
    with pytest.warns(SuspectValuesWarning, match="100 of 400 rows"):
        plan.check(frame.assign(x=frame["x"].where(np.arange(ROWS) % 4 != 0)))


def test_later_rows_that_a_plan_moves_to_its_range():
    """In another unit all values of a batch come out as one, and the rows lose nothing."""
    frame = pd.DataFrame({"sex": SEX, "age": AGE + (SEX == "m")})
    plan = puffer_frames.calibrate(frame, secret="sex", public="age", epsilon=1, beliefs="population")
    public = puffer_frames.calibrate(frame, secret="sex", public="age", epsilon=1, domain={"age": (0, 100)})
    later = frame.sample(200, random_state=1, ignore_index=True)
    for each, of in ((plan, "range of the public column 'age' in the plan"), (public, "domain of the public column")):
        with pytest.warns(SuspectValuesWarning, match=f"{of}.* leaves about 100.00% of the rows outside"):
            each.release(later.assign(age=later["age"] * 100), allow_other_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan.release(later.assign(age=later["age"] + 1), allow_other_frame=True)


@pytest.mark.parametrize("mechanism", ["noise", "channel"])
def test_plan_and_certificate_say_that_the_errors_are_of_moved_values(mechanism):
    frame = pd.DataFrame({"sex": SEX, "age": AGE + 5 * (SEX == "m")})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = frame.puffer.calibrate(
            secret="sex", public="age", epsilon=1, mechanism=mechanism, domain={"age": (40, 70)}
        )
        published = {"layout": Layout(publish="expected_error")} if mechanism == "channel" else {}
        certificate = puffer_frames.certificate_of(plan.release(frame, **published))
    beyond = np.mean(frame["age"] <= 40)
    said = " ".join(str(plan).split())
    assert f"moved to its ends, in at most {100 * beyond:g} % of the rows; all errors here are those of the" in said
    words = "expected error of the values as moved" if mechanism == "channel" else "error of the values as clipped"
    assert words in " ".join(str(certificate).split())


WRITTEN = {
    "thousands": ("{:,}", lambda k: k * 1001),
    "negative numbers of accounts": ("({})", lambda k: -k),
    "negative prices": ("($ {:,}.50)", lambda k: -k - 0.5),
    "points between thousands": ("1.00{}.000", lambda k: 1_000_000 + 1000 * k),
    "points and commas": ("1.00{}.000,25", lambda k: 1_000_000.25 + 1000 * k),
    "decimal commas": ("{},5", lambda k: k + 0.5),
    "euros": ("{},5 €", lambda k: k + 0.5),
    "apostrophes": ("1'00{}'000", lambda k: 1_000_000 + 1000 * k),
    "codes of a currency": ("EUR -1,00{}.5", lambda k: -1000.5 - k),
    "units": ("{},5 kg", lambda k: k + 0.5),
    "units with a point": ("{}.5 Std.", lambda k: k + 0.5),
    "a minus behind": ("1{}-", lambda k: -10 - k),
    "another minus": ("−{}", lambda k: -k),
    "points before three digits": ("{}.600 €", lambda k: 1000 * k + 600),
    "commas before three digits": ("{},600 EUR", lambda k: 1000 * k + 600),
    "three decimals": ("0,03{} Mio", lambda k: (30 + k) / 1000),
    "three decimals with points": ("0.03{} kg", lambda k: (30 + k) / 1000),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_step_that_a_warning_names_gives_the_numbers_that_were_meant(name):
    """(1) was 1, and 1.001.000 was missing."""
    form, meant = WRITTEN[name]
    digits = np.arange(ROWS) % 8 + 1
    plain = name.startswith("negative numbers")  # beside them others without marks
    texts = [str(k) if plain and row % 2 else form.format(k) for row, k in enumerate(digits)]
    if name == "thousands":
        texts = [form.format(k * 1001) for k in digits]
    frame = pd.DataFrame({"sex": SEX, "x": texts})
    (told,) = met(frame, secret="sex", public="x")
    step = re.search(r"pd\.to_numeric\(.*\"coerce\"\)", told)[0]
    plain_commas = ("decimal commas", "points and commas", "points between thousands")
    assert ("The command reads them with --" in told) == (name in plain_commas)
    expected = [k if plain and row % 2 else meant(k) for row, k in enumerate(digits)]
    assert eval(step, {"pd": pd, "frame": frame}).tolist() == expected
    in_polars = eval(re.search(r"pl\.col.*strict=False\)", told)[0], {"pl": pl})
    assert pl.from_pandas(frame).select(in_polars)["x"].to_list() == expected
    either = name == "thousands" or name.endswith("before three digits")
    assert ("is taken to mark thousands, for three digits follow it in all texts" in told) == either


@pytest.mark.parametrize(("texts", "numbers"), [(["0.25", "1.5"], True), (["12.4", "x"], False), (["7", "8"], False)])
def test_more_decimals_than_labels_may_be_are_numbers_and_whole_numbers_may_be_codes(texts, numbers):
    """A hint was to merge rare ones."""
    texts = [f"{k}{text}" for k in range(1, 401) for text in texts]
    with pytest.raises(ArgumentError, match="at most 512 different levels") as error:
        met(pd.DataFrame({"sex": np.resize(SEX, 800), "x": texts}), secret="sex", public="x")
    assert ("pd.to_numeric(frame['x'], errors=\"coerce\"), in Polars" in str(error.value)) == numbers
    assert ("merge_rare" in str(error.value) or "Leave out names" in str(error.value)) != numbers


def test_the_step_says_what_becomes_of_other_texts():
    """<5 was 5, and "2 of 5" 25."""
    texts = [{20: "<5", 21: "2 of 5", 59: "59+"}.get(a, f"{a} ") for a in AGE]
    frame = pd.DataFrame({"sex": SEX, "x": texts})
    (told,) = met(frame, secret="sex", public="x")
    assert "A number with + behind it becomes that number. Texts with < or > become missing values" in told
    found = eval(re.search(r"pd\.to_numeric\(.*\"coerce\"\)", told)[0], {"pd": pd, "frame": frame})
    assert found.fillna(-1).tolist() == [-1 if a in (20, 21) else a for a in AGE]
    (plain,) = met(frame[~np.isin(AGE, [20, 21, 59])], secret="sex", public="x")
    assert "behind" not in plain
    assert "<" not in plain


@pytest.mark.parametrize(("time", "reads"), [("00:00:00", True), ("10:30:00", False)])
def test_the_command_is_said_to_read_moments_that_are_days_alone(time, reads):
    what, hint = meant_as("x", [f"2026-01-{day:02} {time}" for day in range(1, 29)])
    assert what == "dates"
    assert ("The command reads them with --schema x=Datetime." in hint) == reads


@pytest.mark.parametrize("name", ["count", "it's {x}"])
def test_frequent_labels_are_kept_whatever_the_column_is_called(name):
    frame = pl.DataFrame({name: [f"v{k % 70}" for k in range(300)]})
    expression = re.search(r"in Polars (pl\..*)\.$", merging(name))[1]
    assert frame.select(x=eval(expression, {"pl": pl}))["x"].n_unique() == 61


@pytest.mark.parametrize("kind", ["dates", "decimals", "floats", "times"])
def test_the_hint_of_a_secret_of_another_type_works(kind):
    ages = [int(a) % 4 for a in AGE]
    secret = {
        "dates": [datetime.date(2020, 1, 1 + a) for a in ages],
        "decimals": [decimal.Decimal(a) / 4 for a in ages],
        "floats": [a + 0.5 for a in ages],
        "times": [pd.Timestamp(2020, 1, 1 + a, tz="UTC") for a in ages],
    }[kind]
    frame = pd.DataFrame({"k": secret, "x": AGE})
    for given in (frame, frame.astype({"k": "category"})):
        with pytest.raises(puffer_frames.PufferError) as caught:
            met(given, secret="k", public="x")
        hint = str(caught.value).partition("Hint: ")[2]
        assert hint.startswith("Convert it to strings first")
        assert "categories" not in hint
        met(given.assign(k=given["k"].astype(str)), secret="k", public="x")
