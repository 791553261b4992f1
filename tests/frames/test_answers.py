"""Aggregates and histograms on every kind of frame: the same numbers for the same key, dtypes of labels kept."""

import datetime
import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import FRAME_KINDS, build_frame, thinned, without_spark
from kinds import entries, other_kind

import puffer_frames
from puffer_frames import Certificate, Contamination, MarkovChain, Stable, certificate_of, verify
from puffer_frames.core import BayesianNetwork, Prior
from puffer_frames.errors import ArgumentError, WeakGuaranteeWarning

VISITS = {
    "patient": ["a", "a", "b", "c", "c", "c", "d", "e"],
    "visits": [1, 2, 4, 0, 3, 3, 2, 5],
    "town": ["x", "x", "x", "y", "y", "y", "y", "x"],
    "year": [1, 1, 1, 2, 2, 2, 2, 1],
}
DAYS = {
    "person": ["a"] * 30 + ["b"] * 30,
    "minute": [*range(30), *range(5, 20), *range(40, 55)],
    "activity": (["sleep"] * 5 + ["eat"] * 2 + ["work"] * 3) * 6,
}
CHAIN = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]


def checked(released):
    """The certificate, which is that of the rows and is read again as it was written."""
    certificate = certificate_of(released)
    assert verify(released) == "unsigned: cannot be trusted"
    assert Certificate.from_dict(certificate.to_dict()) == certificate
    return certificate


def library(frame):
    """Where a frame of answers comes from; those of a relation are an Arrow table, and in Spark a pandas frame."""
    found = type(frame).__module__.partition(".")[0].lstrip("_")
    return {"duckdb": "pyarrow", "pyspark": "pandas"}.get(found, found)


AGGREGATES = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "by": "town"},
    {"epsilon": 1.0, "by": ["town", "year"], "query": "mean"},
    {"epsilon": 1.0, "query": ("sum", "count"), "integer": True},
    {"epsilon": 0.5, "protect": "replacement"},
    {"epsilon": 0.5, "protect": "value", "domain": (0, 5), "query": "mean", "divisor": 5},
    {"epsilon": 0.5, "contribution": "rows", "query": "count"},
    {"epsilon": 1.0, "delta": 1e-6, "noise": "gaussian"},
]


@pytest.mark.parametrize(("kind", "options"), thinned(FRAME_KINDS, AGGREGATES, often=2), indirect=["kind"], ids=str)
def test_aggregates_are_the_same_on_every_frame(kind, make_frame, options):
    frame, other = make_frame(VISITS), build_frame(other_kind(kind), VISITS)
    released, expected = (
        puffer_frames.aggregate(f, unit="patient", value="visits", rng=5, **options) for f in (frame, other)
    )
    assert library(released) == library(frame)
    assert entries(released) == entries(expected)
    assert "patient" in str(checked(released))


HISTOGRAMS = [
    {"epsilon": 1.0},
    {"epsilon": 1.0, "per": "both"},
    {"epsilon": 1.0, "per": "unit", "counts": False, "chain": CHAIN},
    {"epsilon": 1.0, "mechanism": "quilt-approx", "chain": CHAIN, "counts": False},
    {"epsilon": 1.0, "mechanism": "exact", "bins": ["work"], "gaps": "independent"},
    {"epsilon": 1.0, "mechanism": "group"},
    {"epsilon": 1.0, "noise": Stable(alpha=1.5), "chain": CHAIN, "initial": "any"},
    {"epsilon": 1.0, "noise": "gaussian", "delta": 1e-6, "chain": CHAIN, "initial": "estimated"},
]


@pytest.mark.parametrize(("kind", "options"), thinned(FRAME_KINDS, HISTOGRAMS, often=2), indirect=["kind"], ids=str)
def test_histograms_are_the_same_on_every_frame(kind, make_frame, options):
    frame, other = make_frame(DAYS), build_frame(other_kind(kind), DAYS)
    released, expected = (
        puffer_frames.histogram(f, state="activity", time="minute", unit="person", rng=5, **options)
        for f in (frame, other)
    )
    assert library(released) == library(frame)
    assert entries(released) == entries(expected)
    assert "activity" in str(checked(released))


PUPILS = {"pupil": [3, 1, 2], "flu": ["no", "yes", "no"]}
SICK = [[0.9, 0.1], [0.5, 0.5]]
SCHOOL = BayesianNetwork.of({1: [0.9, 0.1], 2: SICK, 3: SICK}, parents={2: [1], 3: [1]})


@pytest.mark.parametrize("kind", FRAME_KINDS, indirect=True)
def test_nodes_of_a_network_are_the_same_on_every_frame(kind, make_frame):
    frame, other = make_frame(PUPILS), build_frame(other_kind(kind), PUPILS)
    asked = {"state": "flu", "unit": "pupil", "network": SCHOOL, "epsilon": 1.0, "rng": 5}
    released, expected = (puffer_frames.histogram(f, **asked) for f in (frame, other))
    assert library(released) == library(frame)
    assert entries(released) == entries(expected)
    assert "the flu of each pupil, every pair of states" in str(checked(released))
    with pytest.raises(ArgumentError, match="a node with 2 rows"):
        puffer_frames.histogram(make_frame({"pupil": [3, 1, 2, 3], "flu": ["no", "yes", "no", "yes"]}), **asked)
    with pytest.raises(ArgumentError, match="no row of the node 2"):
        puffer_frames.histogram(make_frame({"pupil": [3, 1], "flu": ["no", "yes"]}), **asked)


def test_rows_may_come_in_any_order():
    for data, ask in ((VISITS, _visits), (DAYS, _days)):
        frame = pd.DataFrame(data)
        shuffled = frame.sample(frac=1, random_state=3)
        pd.testing.assert_frame_equal(ask(frame), ask(shuffled))
        pd.testing.assert_frame_equal(shuffled, frame.loc[shuffled.index])


def _visits(frame):
    return frame.puffer.aggregate(unit="patient", value="visits", by="town", epsilon=1.0, rng=1)


def _days(frame):
    return frame.puffer.histogram(state="activity", time="minute", unit="person", epsilon=1.0, rng=1)


def test_labels_keep_their_dtype():
    frame = pl.DataFrame(VISITS).with_columns(pl.col("town").cast(pl.Enum(["x", "y", "z"])))
    released = frame.puffer.aggregate(unit="patient", value="visits", by=["town", "year"], epsilon=1.0)
    assert released.schema["town"] == pl.Enum(["x", "y"])  # levels of no row may be anything
    assert released.schema["year"] == pl.Int64
    categories = pd.DataFrame(VISITS).astype({"town": "category", "year": "int8"})
    released = categories.puffer.aggregate(unit="patient", value="visits", by=["town", "year"], epsilon=1.0)
    assert released.dtypes["town"] == categories.dtypes["town"]
    assert released.dtypes["year"] == np.int8


def test_other_columns_may_have_the_names_of_answers():
    """An input column called "scale" has no say in the dtype of the answers."""
    for make in (pd.DataFrame, pl.DataFrame):
        frame = make({**VISITS, "scale": list("abcdefgh"), "query": [1] * 8})
        asked = {"unit": "patient", "value": "visits", "contribution": "draw"}
        released = frame.puffer.aggregate(**asked, epsilon=1.0, rng=1)
        assert float(released["scale"][0]) == pytest.approx(5.0)
        assert released["query"].to_list() == ["sum"]


def test_answers_are_the_totals_plus_noise():
    """With every unit of one row, the sum is that of the rows; the noise has the stated error."""
    frame = pd.DataFrame({"who": range(500), "what": np.tile(np.arange(50.0), 10), "group": np.arange(500) // 50})
    asked = {"unit": "who", "value": "what", "by": "group", "epsilon": 1.0, "domain": (0, 49)}
    table = pd.concat([frame.puffer.aggregate(**asked, rng=k) for k in range(40)])
    assert len(table) == 400
    errors = table["answer"] - 1225
    assert table["scale"].nunique() == 1
    assert np.abs(errors).mean() == pytest.approx(table["expected_error"].iloc[0], rel=0.15)
    held = (table["lower_95"] <= 1225) & (table["upper_95"] >= 1225)
    assert held.mean() == pytest.approx(0.95, abs=0.04)


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_a_unit_adds_one_of_its_rows():
    """contribution="draw": each row of a unit is drawn equally often."""
    units = np.repeat(np.arange(10), 4)
    frame = pd.DataFrame({"who": units, "group": units, "what": [0.0, 1000.0, 2000.0, 3000.0] * 10})
    asked = {"unit": "who", "value": "what", "by": "group", "epsilon": 500.0, "contribution": "draw"}
    drawn = np.concatenate([frame.puffer.aggregate(**asked, rng=k)["answer"] for k in range(40)])
    counts = np.bincount((drawn / 1000).round().astype(int), minlength=4)
    assert np.abs(counts - 100).max() < 40


@pytest.mark.filterwarnings("ignore::puffer_frames.errors.WeakGuaranteeWarning")
def test_counts_of_rows_and_of_units():
    frame = pd.DataFrame(VISITS)
    for contribution, count in (("draw", 5), ("rows", 8)):
        released = frame.puffer.aggregate(
            unit="patient", query="count", contribution=contribution, epsilon=200.0, integer=True, rng=1
        )
        assert released["answer"].tolist() == [count]
        assert released["answer"].dtype == np.int64


def test_every_row_is_a_unit_without_one():
    frame = pd.DataFrame({"what": [1.0, 5.0, 2.0]})
    for ends in ((0, 8), (-8, 3)):  # the domain decides, whatever the largest value of the table is
        asked = {"value": "what", "domain": ends, "epsilon": 0.5}
        for query in ("sum", "mean"):
            released = frame.puffer.aggregate(**asked, query=query)
            assert released["scale"].iloc[0] == pytest.approx(16 * (1 + (query == "mean")), rel=1e-7)
    asked = {"value": "what", "domain": (0, 8), "epsilon": 0.5}
    for laws in ("empirical", "gaussian"):  # units of one row each are rows
        numbered = frame.assign(who=[7, 8, 9]).puffer.aggregate(unit="who", laws=laws, **asked)
        assert numbered["scale"].iloc[0] == frame.puffer.aggregate(laws=laws, **asked)["scale"].iloc[0]
    numbered = frame.assign(who=[7, 8, 9])
    for unit, laws in itertools.product((None, "who"), ("empirical", "population", Contamination(0.1))):
        belief = {"unit": unit, "laws": laws, "contribution": "draw"}
        with pytest.raises(ArgumentError, match="tell the largest value of the table"):
            numbered.puffer.aggregate(value="what", epsilon=0.5, **belief)
        assert numbered.puffer.aggregate(**asked, **belief)["scale"].iloc[0] == pytest.approx(16, rel=1e-7)
    assert frame.puffer.aggregate(query="count", epsilon=0.5)["scale"].iloc[0] == pytest.approx(2, rel=1e-7)
    assert frame.puffer.aggregate(value="what", epsilon=0.5, protect="replacement")["scale"].iloc[0] == pytest.approx(8)


@pytest.mark.parametrize("kind", ["pandas", "polars-lazy", "duckdb"])
def test_a_domain_that_moves_values_and_noise_above_the_answer(kind):
    """Warnings are for the curator alone: the certificate has the same sentences without them."""
    data = {"who": [k // 2 for k in range(40)], "what": [float(k) for k in range(40)]}
    frame = build_frame(kind, data)
    asked = {"unit": "who", "value": "what", "query": ("sum", "count"), "epsilon": 10.0}
    with pytest.warns(puffer_frames.SuspectValuesWarning, match=r"value column 'what' leaves about 25.00% of the rows"):
        puffer_frames.aggregate(frame, domain=(0, 29), **asked)
    with pytest.warns(puffer_frames.WideNoiseWarning) as told:
        found = puffer_frames.aggregate(frame, **asked | {"epsilon": 0.01})
    assert [(one.message.columns, one.message.reason) for one in told] == [(("sum",), "answer"), (("count",), "answer")]
    assert certificate_of(found).warnings == ()
    town = build_frame(kind, data | {"town": [k // 4 for k in range(40)]})
    with pytest.warns(puffer_frames.WideNoiseWarning, match="'count' is larger on average .* for 10 of 10 answers"):
        puffer_frames.aggregate(town, unit="who", by="town", query="count", epsilon=0.1)
    day = build_frame(kind, {"minute": [*range(90)], "state": [*"ab", *"aabbc" * 17, *"cba"]})
    series = {"state": "state", "time": "minute", "mechanism": "group", "states": ["a", "b", "c"]}
    with pytest.warns(puffer_frames.WideNoiseWarning, match="is larger on average .* for 3 of 3 answers"):
        puffer_frames.histogram(day, **series, epsilon=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        puffer_frames.aggregate(frame, domain=(0, 39), **asked)
        puffer_frames.histogram(day, **series, epsilon=10.0)


def test_sum_and_count_share_epsilon():
    frame = pd.DataFrame(VISITS)
    asked = {"unit": "patient", "value": "visits", "contribution": "draw", "rng": 3}
    joint = frame.puffer.aggregate(**asked, query="mean", epsilon=1.0)
    alone = frame.puffer.aggregate(**asked, query="sum", epsilon=0.5)
    assert joint["query"].tolist() == ["sum", "count", "mean"]
    assert joint["scale"].iloc[0] == pytest.approx(alone["scale"].iloc[0], rel=2e-8)
    assert joint["scale"].iloc[1] == pytest.approx(2, rel=1e-7)
    assert joint["answer"].iloc[2] == pytest.approx(joint["answer"].iloc[0] / joint["answer"].iloc[1])
    assert joint["scale"].isna().tolist() == [False, False, True]


def test_counts_that_cannot_change_and_means_by_counts_below_0():
    frame = pd.DataFrame(VISITS)
    asked = {"unit": "patient", "value": "visits", "contribution": "draw", "epsilon": 1.0, "protect": "replacement"}
    both = frame.puffer.aggregate(**asked, query=("sum", "count"), allow_zero_noise=True)
    assert both["scale"].tolist() == [frame.puffer.aggregate(**asked)["scale"].iloc[0], 0.0]
    assert both["answer"].iloc[1] == 5
    frame = pd.DataFrame({"who": ["a"], "what": [1.0]})
    counts, means = zip(
        *(
            frame.puffer.aggregate(unit="who", value="what", query="mean", epsilon=0.1, domain=(0, 1), rng=k)[
                "answer"
            ].iloc[1:]
            for k in range(40)
        ),
        strict=True,
    )
    assert {count > 0 for count in counts} == {True, False}
    assert [np.isnan(mean) for mean in means] == [count <= 0 for count in counts]


def test_given_laws_and_values_or_absence():
    frame = pd.DataFrame(VISITS)
    asked = {
        "unit": "patient",
        "value": "visits",
        "contribution": "draw",
        "epsilon": 1.0,
        "protect": "value-or-absence",
    }
    scales = [frame.puffer.aggregate(**asked, pairs=pairs)["scale"].iloc[0] for pairs in ([(5, None)], [(None, 5)])]
    assert scales == pytest.approx([5, 5], rel=1e-8)
    given = frame.puffer.aggregate(**{**asked, "protect": "value"}, pairs=np.array([[1, 3], [0, 4]]))
    assert given["scale"].iloc[0] == pytest.approx(4, rel=1e-8)
    laws = {who: Prior.gaussian(1, 2) for who in "abcdefg"}
    asked = {"unit": "patient", "value": "visits", "laws": laws, "epsilon": 1.0}
    released = frame.puffer.aggregate(**asked)
    assert released["scale"].iloc[0] == pytest.approx(2.0, rel=1e-8)
    with pytest.raises(ArgumentError, match="'e'"):
        frame.puffer.aggregate(**{**asked, "laws": {who: laws[who] for who in "abcd"}})


def test_what_certificates_of_units_say():
    frame = pd.DataFrame(VISITS).query("patient in ['a', 'c']")  # the others have one value only
    asked = {"unit": "patient", "value": "visits", "contribution": "draw", "epsilon": 1.0}
    assert not frame.puffer.aggregate(**asked).puffer.certificate.adds_up
    assert frame.puffer.aggregate(**asked, protect="value", domain=(0, 5)).puffer.certificate.adds_up
    published = frame.puffer.aggregate(**asked, protect="replacement", calibration="theorem")
    assert published.puffer.certificate.adds_up
    assert published["scale"].iloc[0] == pytest.approx(2, rel=1e-9)
    asked = {"value": "visits", "contribution": "draw", "protect": "replacement", "epsilon": 1.0}
    released = pd.DataFrame(VISITS).puffer.aggregate(unit="town", **asked)
    said = " ".join(released.puffer.certificate.assumptions)
    assert "The removal of a whole class of rows, where that is the unit: only the row that is drawn" in said


def test_a_unit_in_two_groups_is_an_error():
    frame = pd.DataFrame({**VISITS, "town": ["x", "y", "x", "y", "y", "y", "y", "x"]})
    with pytest.raises(ArgumentError, match="a unit with rows in two groups"):
        frame.puffer.aggregate(unit="patient", value="visits", by="town", epsilon=1.0)


def test_times_of_every_kind_show_gaps_to_the_nanosecond():
    numbers = [0, 1, 2, 3, 10, 11, 12, 13, 14]
    start = datetime.datetime(2026, 1, 1)
    kinds = {
        "integers": numbers,
        "floats": [0.1 * n for n in numbers],
        "datetimes": [start + datetime.timedelta(minutes=n) for n in numbers],
        "dates": [(start + datetime.timedelta(days=n)).date() for n in numbers],
    }
    for make in (pd.DataFrame, pl.DataFrame):
        for name, times in kinds.items():
            frame = make({"t": times, "s": list("abababbab")})
            released = frame.puffer.histogram(state="s", time="t", epsilon=1.0, chain=[[0.5, 0.5], [0.5, 0.5]], rng=1)
            said = " ".join(released.puffer.certificate.assumptions)
            assert "1 series with 1 gap (6 times). The chain runs on through the gaps" in said, name
    frame = pd.DataFrame({"t": pd.to_datetime(np.arange(0, 70, 7)), "s": list("ab") * 5})
    for made in (frame, pl.DataFrame({"t": frame["t"].to_numpy(), "s": frame["s"].to_numpy()})):
        released = made.puffer.histogram(state="s", time="t", epsilon=1.0, chain=[[0.5, 0.5], [0.5, 0.5]])
        assert "without gaps" in " ".join(released.puffer.certificate.assumptions)


def test_times_without_a_step_are_refused():
    """Months differ in length, and so do days where the clocks change: the step is not the chain's."""
    months = pd.date_range("2025-01-01", periods=12, freq="MS")
    days = pd.date_range("2026-03-25", periods=12, freq="D", tz="Europe/Berlin")
    for times in (months, days):
        frame = pd.DataFrame({"t": times, "s": list("ab") * 6})
        with pytest.raises(ArgumentError, match="differences of another length"):
            frame.puffer.histogram(state="s", time="t", epsilon=1.0)
    shaken = pd.DataFrame({"t": np.cumsum(np.random.default_rng(1).uniform(1, 2, 20)), "s": list("ab") * 10})
    for gaps in ("bridge", "independent"):
        with pytest.raises(ArgumentError, match="apart by one step"):
            shaken.puffer.histogram(state="s", time="t", epsilon=1.0, gaps=gaps)


def test_gaps_and_the_group():
    frame = pd.DataFrame({"t": range(9), "s": ["a", "b", None, "a", "b", "a", None, "b", "a"]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "nulls": "drop", "mechanism": "group"}
    assert frame.puffer.histogram(**asked)["scale"].iloc[0] == pytest.approx(7)
    assert frame.puffer.histogram(**asked, gaps="independent")["scale"].iloc[0] == pytest.approx(3)
    exact = frame.puffer.histogram(**{**asked, "mechanism": "exact"}, chain=[[0.5, 0.5], [0.5, 0.5]])
    assert exact["scale"].iloc[0] == pytest.approx(1)
    frame = pd.DataFrame({"t": range(9), "s": list("abbaababa")})
    released = frame.puffer.histogram(
        state="s", time="t", epsilon=1.0, mechanism="group", chain=[[1.0, 0.0], [0.0, 1.0]]
    )
    assert "may depend on one another in any way" in " ".join(str(released.puffer.certificate).split())
    gapped = frame.drop(index=[3, 4]).puffer.histogram(state="s", time="t", epsilon=1.0, mechanism="group")
    said = " ".join(gapped.puffer.certificate.assumptions)
    assert "may depend on one another in any way" in said
    assert "gap" not in said  # whatever happened there
    assert "chain" not in said
    assert "quilt" not in said


def test_the_certificate_of_a_network_names_the_listed_pairs_of_states():
    network = BayesianNetwork.of({"ann": [0.2, 0.3, 0.5], "ben": [0.5, 0.3, 0.2]})
    pupils = pd.DataFrame({"who": ["ann", "ben"], "s": ["x", "z"]})
    asked = {"state": "s", "unit": "who", "network": network, "states": ["x", "y", "z"], "epsilon": 1.0}
    certificate = puffer_frames.histogram(pupils, **asked, pairs=[("y", "x")]).puffer.certificate
    assert certificate.subject == "the s of each who, 'y' / 'x'"
    assert (certificate.secret_values, certificate.secret_count) == (("x", "y"), 2)
    assert Certificate.from_dict(certificate.to_dict()) == certificate


def test_given_laws_that_the_table_refutes_are_warned_about():
    visits = pd.DataFrame({"patient": list("aabbcc"), "visits": [50, 50, 2, 4, 0, 2]})
    laws = {unit: Prior.empirical([0, 1, 2]) for unit in "abc"}
    with pytest.warns(WeakGuaranteeWarning, match="what 2 of the units add"):
        puffer_frames.aggregate(visits, unit="patient", value="visits", epsilon=1.0, laws=laws)
    with pytest.warns(WeakGuaranteeWarning, match="what 1 of the units add"):
        puffer_frames.aggregate(
            visits.iloc[:4], unit="patient", value="visits", epsilon=1.0, laws=laws | {"b": Prior.gaussian(3, 1)}
        )
    tenths = visits.assign(visits=[0.1, 0.2, 0.1, 0.2, 0.1, 0.2])
    puffer_frames.aggregate(
        tenths, unit="patient", value="visits", epsilon=1.0, laws=dict.fromkeys("abc", Prior.empirical([0, 0.3]))
    )
    day = pd.DataFrame({"minute": range(6), "state": list("abcabb")})
    turns = [[0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]
    asked = {"state": "state", "time": "minute", "epsilon": 1.0}
    with pytest.warns(WeakGuaranteeWarning, match="a step of the series"):
        puffer_frames.histogram(day, chain=turns, **asked)
    puffer_frames.histogram(day.iloc[:5], chain=turns, **asked)
    puffer_frames.histogram(day, chain=turns, **asked, mechanism="group")


@pytest.mark.filterwarnings("ignore:the given chain make")
def test_a_certificate_names_every_start():
    frame = pd.DataFrame({"t": range(9), "s": list("abbaababa")})
    chain = [[0.8, 0.2], [0.3, 0.7]]
    chains = [MarkovChain.of(chain), MarkovChain.of(chain, initial=[0.5, 0.5]), MarkovChain.of(chain, initial="any")]
    for options, start in (
        ({"chain": chains}, "stationary or given or any"),
        ({"chain": chain}, "stationary"),
        ({"chain": chain, "initial": "estimated"}, "estimated"),
        ({"chain": chain, "initial": [0.5, 0.5]}, "given"),
    ):
        released = frame.puffer.histogram(state="s", time="t", epsilon=1.0, **options)
        said = " ".join(released.puffer.certificate.assumptions)
        assert f"Its start is {start}, its transition matrix given" in said
        assert "impossible" not in said
    never = frame.puffer.histogram(
        state="s", time="t", epsilon=1.0, chain=[[1.0, 0.0], [1.0, 0.0]], initial=[0.5, 0.5], mechanism="quilt"
    )
    assert (
        "What the given start makes impossible at a time is not hidden there." in never.puffer.certificate.assumptions
    )


def test_deltas_of_several_releases_add_too():
    frame = pd.DataFrame({"t": range(9), "s": list("abbaababa")})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": [[0.8, 0.2], [0.3, 0.7]]}
    for options, added in (
        ({"mechanism": "quilt"}, "their epsilons add"),
        ({"noise": "gaussian", "delta": 1e-6}, "epsilons and deltas add"),
    ):
        assert added in " ".join(frame.puffer.histogram(**asked, **options).puffer.certificate.assumptions)


def test_several_matrices_and_other_noise():
    # Quilts are chosen for Laplace noise; the empty one can be better for another
    frame = pd.DataFrame({"t": range(6), "s": list("abcabc")})
    chain = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    for options in ({"noise": Stable(alpha=1.5)}, {"noise": "gaussian", "delta": 1e-5}):
        for epsilon in (0.5, 5.0):
            asked = {"state": "s", "time": "t", "epsilon": epsilon, "chain": chain, **options}
            quilt, group = (frame.puffer.histogram(**asked, mechanism=m)["scale"].iloc[0] for m in ("quilt", "group"))
            assert quilt <= group
    frame = pd.DataFrame({"t": range(100), "s": list("ab") * 50})
    matrices = [[[p, 1 - p], [1 - p, p]] for p in (0.5, 0.7, 0.9)]
    for chains, mechanism, scale in (
        (matrices, "transport", 8.6404994),
        (matrices, "quilt", 31.737789),
        (np.array(matrices), "auto", 31.737789),
        ([matrices[0], MarkovChain.of(matrices[2])], "quilt", 31.737789),
    ):
        released = frame.puffer.histogram(state="s", time="t", epsilon=1.0, chain=chains, mechanism=mechanism)
        assert released["scale"].iloc[0] == pytest.approx(scale, rel=1e-6)


@without_spark
@pytest.mark.parametrize("owner", [[True, False], [1, 2], ["p", "q"]])
def test_units_beside_the_pooled_histogram(make_frame, owner):
    frame = make_frame({"t": [0, 0, 1, 1, 2, 2], "s": list("abbaab"), "who": owner * 3})
    released = puffer_frames.histogram(frame, state="s", time="t", unit="who", per="both", epsilon=1.0)
    assert dict(entries(released))["who"] == [None] * 2 + [label for label in sorted(owner) for _ in "ab"]


def test_noise_families_of_a_histogram():
    """Gaussian noise in Euclidean distance, stable noise coordinate by coordinate: docs/theory.md, section 11."""
    frame = pd.DataFrame({"t": range(100), "s": list("abc") * 33 + ["a"]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": np.full((3, 3), 1 / 3)}
    cauchy = frame.puffer.histogram(**asked, noise=Stable(alpha=1))["scale"].iloc[0]
    assert cauchy == pytest.approx(2 / 3 / (2 * np.sinh(1 / 6)), rel=1e-6)  # one node, change 2, three counts
    one = frame.puffer.histogram(**asked, noise=Stable(alpha=1), bins=["a"])["scale"].iloc[0]
    assert one == pytest.approx(0.959518, abs=1e-6)
    normal = frame.puffer.histogram(**asked, noise="gaussian", delta=1e-5)["scale"].iloc[0]
    single = frame.puffer.histogram(**asked, noise="gaussian", delta=1e-5, bins=["a"])["scale"].iloc[0]
    assert normal == pytest.approx(np.sqrt(2) * single, rel=1e-9)
    two = frame.assign(s=frame["s"].replace("c", "b"))
    asked["chain"] = np.full((2, 2), 0.5)
    normal = two.puffer.histogram(**asked, noise="gaussian", delta=1e-5)["scale"].iloc[0]
    assert normal == pytest.approx(single, rel=1e-9)


def test_a_rare_state_that_the_table_tells_is_warned_of_and_on_the_certificate():
    states = ["eat", "sleep"] * 50
    frame = pd.DataFrame({"t": range(101), "s": [*states, "clinic"]})
    asked = {"state": "s", "time": "t", "epsilon": 1.0, "chain": np.full((3, 3), 1 / 3), "mechanism": "quilt"}
    with pytest.warns(puffer_frames.RareLevelsWarning, match="1 state of the series has fewer than 5 rows"):
        told = frame.puffer.histogram(**asked)
    listed = frame.puffer.histogram(**asked, states=["clinic", "eat", "sleep"])
    keys = [{each.key for each in one.puffer.certificate.statements} for one in (told, listed)]
    assert ["states-read" in each for each in keys] == [True, False]
