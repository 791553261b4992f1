"""Beliefs beyond the table on every kind of frame: same scales, clipped values, other tables, wrong arguments."""

import functools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, run

from puffer_frames import (
    Bootstrap,
    Contamination,
    Noise,
    Population,
    Stable,
    aggregate,
    calibrate,
    certificate_of,
    histogram,
    privatize,
)
from puffer_frames.core import Prior
from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CalibrationError,
    ColumnNotFoundError,
    SuspectValuesWarning,
)
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.scales.search import RELATIVE_TOLERANCE

RNG = np.random.default_rng(5)
ROWS = 600
DATA = {"who": RNG.choice(["a", "b", "c"], ROWS).tolist(), "x": RNG.integers(0, 9, ROWS).tolist()}
PEOPLE = pd.DataFrame(DATA)
LATER = PEOPLE.assign(x=PEOPLE["x"] + (PEOPLE["who"] == "a") * 3)
ASK = {"secret": "who", "public": "x", "epsilon": 1.0}
BELIEFS = ("fitted", Population(), Contamination(0.05), Bootstrap(3), LATER)


@functools.cache
def expected_plan():
    return calibrate(PEOPLE, **ASK, beliefs=BELIEFS)


def test_every_kind_of_frame_has_the_same_scales(make_frame):
    plan, expected = calibrate(make_frame(DATA), **ASK, beliefs=BELIEFS), expected_plan()
    assert plan.scale_per_belief == expected.scale_per_belief
    assert list(plan.scale_per_belief) == ["empirical", "population", "contaminated", "bootstrap", "other table"]
    assert plan.choice.wider == expected.choice.wider
    rows = plan.robustness()
    library = type(make_frame(DATA)).__module__.partition(".")[0]
    assert type(rows).__module__.partition(".")[0] == {"pyspark": "pandas", "duckdb": "pyarrow"}.get(library, library)
    assert len(rows) == len(expected.robustness())


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_another_table_of_any_library(library):
    other = {"pandas": LATER, "polars": pl.from_pandas(LATER), "pyarrow": pl.from_pandas(LATER).to_arrow()}[library]
    plan = calibrate(PEOPLE, **ASK, beliefs=("empirical", other))
    laws = {label: Prior.empirical(rows["x"]) for label, rows in LATER.groupby("who")}
    alone = calibrate(LATER, **ASK, beliefs="empirical")
    assert plan.scale_per_belief["other table"] == pytest.approx(alone.scale, rel=2 * RELATIVE_TOLERANCE)
    assert privacy_loss(laws).pure(plan.scale).bracket.upper <= 1.0
    assert set(calibrate(PEOPLE, **ASK, beliefs=other).scale_per_belief) == {"empirical", "other table"}


def test_the_range_of_the_table_clips_but_does_not_change_it():
    plan = calibrate(PEOPLE, **ASK, beliefs="population", delta=0.0)
    far = PEOPLE.assign(x=1000)
    with pytest.warns(SuspectValuesWarning, match="about 100.00% of the rows outside"):
        released = plan.release(far, allow_other_frame=True, allow_drift=True, rng=3)
    noise = plan.release(far.assign(x=8), allow_other_frame=True, allow_drift=True, rng=3)
    assert (released["x"] == noise["x"]).all()  # 1,000 is released as 8, the largest value of the table
    certificate = certificate_of(released)
    assert "clipped-to-range" in {statement.key for statement in certificate.statements}
    assert " 8" not in next(s.text for s in certificate.statements if s.key == "clipped-to-range")
    one = privatize(PEOPLE, **ASK, beliefs="population", rng=3)
    scale = certificate_of(one).scales["x"]
    two = calibrate(PEOPLE, **ASK, beliefs=("only", Population()))
    assert two.scale == scale
    plain = np.asarray(PEOPLE["x"], dtype=float)
    assert np.abs(np.asarray(one["x"]) - plain).max() < 60 * scale


def test_what_populations_hold_and_anything_at_all_needs():
    plan = calibrate(PEOPLE, **ASK, beliefs=("empirical", "population", Bootstrap(5, seed=1)))
    assert plan.binding_belief == "population"
    assert plan.scale_per_belief["empirical"] < plan.scale_per_belief["bootstrap"] < plan.scale_per_belief["population"]
    scales = [calibrate(PEOPLE, **ASK, beliefs=Population(confidence)).scale for confidence in (0.5, 0.9, 0.99)]
    assert scales == sorted(scales)
    wide = calibrate(PEOPLE, **ASK, beliefs="population", domain={"x": (-5, 20)}).scale
    assert wide > calibrate(PEOPLE, **ASK, beliefs="population").scale
    assert calibrate(PEOPLE, **ASK, beliefs=Contamination(1.0)).scale == pytest.approx(8.0, rel=1e-6)
    one = calibrate(PEOPLE, **ASK, beliefs=Contamination({"a": 0.1, "b": 0.1, "c": 0.1})).scale
    assert one == calibrate(PEOPLE, **ASK, beliefs=Contamination(0.1)).scale
    with pytest.raises(ArgumentError, match="none for 'c'"):
        calibrate(PEOPLE, **ASK, beliefs=Contamination({"a": 0.1, "b": 0.1}))
    scales = {seed: calibrate(PEOPLE, **ASK, beliefs=Bootstrap(4, seed)).scale for seed in (0, 1)}
    assert scales == {seed: calibrate(PEOPLE, **ASK, beliefs=Bootstrap(4, seed)).scale for seed in (0, 1)}
    assert scales[0] != scales[1]


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_delta_needs_no_more_than_pure_privacy_or_a_shift(noise):
    plan = calibrate(PEOPLE, **ASK, delta=1e-3, mechanism=Noise(noise), beliefs=("empirical", "population"))
    assert plan.scale == plan.scale_per_belief["population"]
    assert plan.verified["population"].hockey_stick.upper <= 1e-3
    if noise == "laplace":
        assert plan.scale < calibrate(PEOPLE, **ASK, beliefs="population").scale
    else:
        assert (
            plan.scale
            < calibrate(
                pd.DataFrame({"who": ["a", "b"], "x": [0, 8]}), **ASK, delta=1e-3, mechanism=Noise("gaussian")
            ).scale
        )


def test_stable_noise_is_held_to_a_coupling():
    plan = calibrate(PEOPLE, **ASK, mechanism=Noise(Stable(alpha=1.5)), beliefs=("empirical", "population"))
    assert plan.verified["population"].pure_loss.upper <= 1.0
    assert plan.scale_per_belief["population"] > plan.scale_per_belief["empirical"]


def test_columns_of_many_values_are_counted_in_cells():
    rng = np.random.default_rng(0)
    large = pd.DataFrame({"who": rng.choice(["a", "b"], 150_000), "x": rng.normal(size=150_000)})
    plan = calibrate(large, **ASK, beliefs=("empirical", "population"))
    exact = calibrate(large.head(131_000), **ASK, beliefs=("empirical", "population"))
    assert plan.choice.empirical["a"].radius > 0
    assert exact.choice.empirical["a"].radius == 0
    assert plan.scale_per_belief["population"] == pytest.approx(exact.scale_per_belief["population"], rel=0.2)


@pytest.mark.parametrize(
    ("beliefs", "error", "words"),
    [
        ("populace", ArgumentTypeError, "'populace'"),
        ((), ArgumentTypeError, "none"),
        ("only", ArgumentTypeError, "'only'"),
        (Population, ArgumentTypeError, "the class Population"),
        (LATER[["x"]], ColumnNotFoundError, "who"),
        (LATER[LATER["who"] != "c"], ArgumentError, "one without 'c'"),
    ],
)
def test_wrong_beliefs(beliefs, error, words):
    with pytest.raises(error, match=words):
        calibrate(PEOPLE, **ASK, beliefs=beliefs)


@pytest.mark.filterwarnings("ignore:the range of the public column 'x'")
def test_contamination_of_a_later_batch_is_that_of_the_plan():
    plan = calibrate(PEOPLE, **ASK, beliefs=Contamination("2/sqrt(n)"))
    texts = [
        next(each.text for each in certificate_of(release).statements if each.key == "beliefs")
        for release in (plan.release(PEOPLE), plan.release(LATER, allow_other_frame=True, allow_drift=True))
    ]
    assert ["for n rows of its secret in the table of the plan," in text for text in texts] == [False, True]


@pytest.mark.parametrize("confidence", [0, 1, 1.5, -0.1, float("nan"), "0.95", None, True])
def test_wrong_confidence(confidence):
    with pytest.raises(ArgumentError, match="confidence"):
        Population(confidence)


@pytest.mark.parametrize("share", [0, 1.5, -0.1, float("nan"), "1/n", None, True, {"a": "2/sqrt(n)"}, {"a": 0}, 1e-13])
def test_wrong_share(share):
    with pytest.raises(ArgumentError, match="share"):
        Contamination(share)


@pytest.mark.parametrize(("resamples", "seed"), [(0, 0), (1001, 0), (2.5, 0), (True, 0), (3, -1), (3, "a")])
def test_wrong_resamples(resamples, seed):
    with pytest.raises(ArgumentError, match=r"resamples|seed"):
        Bootstrap(resamples, seed)


def test_several_columns_take_none():
    both = PEOPLE.assign(y=PEOPLE["x"])
    asked = {"secret": "who", "public": ["x", "y"], "epsilon": 1.0, "mechanism": Noise(theorem="bounded")}
    with pytest.raises(ArgumentError, match="left out for several public columns"):
        calibrate(both, **asked, beliefs="population")
    plan = calibrate(both, **asked)
    assert set(plan.choices["x"].wider) == {"population", "any law"}


def test_side_knowledge_beyond_the_range_or_the_floats_is_refused():
    given = {label: Prior.empirical([0, 20]) for label in "abc"}
    with pytest.raises(ArgumentError, match="within the domain"):
        calibrate(PEOPLE, **ASK, beliefs=("population", given))
    small = pd.DataFrame({"who": list("ab") * 20, "x": [0.0, 1, 2, 0] * 10})
    far = pd.DataFrame({"who": list("ab") * 20, "x": [0.0, 1e300, 2e300, 0] * 10})
    given = {"a": Prior.empirical([0.0]), "b": Prior.empirical([2e300])}
    for belief in (far, given):
        with pytest.raises(CalibrationError, match="finite scale"):
            calibrate(small, secret="who", public="x", epsilon=1e-9, beliefs=["empirical", belief])


def test_certificate_has_the_figures_rounded_up_to_two_digits():
    plan = calibrate(PEOPLE, secret="who", public="x", epsilon=0.1)
    certificate = certificate_of(plan.release(PEOPLE))
    for laws, shown in certificate.wider["x"].items():
        exact = plan.choice.wider[laws].pure_loss.upper
        assert exact <= shown <= exact * 1.1
        assert float(f"{shown:.2g}") == shown
    text = " ".join(str(certificate).split())
    loss = f"{certificate.wider['x']['population']:g}"
    assert re.search(rf"under any law that the table does not refute at 95 %: [^;]*\(pure loss at most {loss}\)", text)


def test_sums_over_classes():
    ask = {"unit": "who", "value": "x", "contribution": "draw", "epsilon": 0.1, "domain": (0, 8)}
    for protect in ("presence", "replacement"):
        scales = {
            str(laws): certificate_of(aggregate(PEOPLE, **ask, protect=protect, laws=laws)).scales["sum"]
            for laws in ("empirical", "population", Population(0.5))
        }
        assert scales["empirical"] < scales["Population(confidence=0.5)"] < scales["population"] <= 80.0 + 1e-6
    same = calibrate(PEOPLE, **ASK | {"epsilon": 0.1}, beliefs="population", domain={"x": (0, 8)}).scale
    assert scales["population"] == pytest.approx(same, rel=1e-7)
    with pytest.raises(ArgumentError, match="contribution"):
        aggregate(PEOPLE, **ask | {"contribution": "rows"}, laws="population")


def test_all_chains_that_the_series_do_not_refute():
    rng = np.random.default_rng(1)
    scales = []
    for length in (300, 3_000, 30_000):
        states = [0]
        for _ in range(length - 1):
            states.append(int(rng.random() < (0.2, 0.7)[states[-1]]))
        day = pd.DataFrame({"t": range(length), "s": states})
        found = certificate_of(histogram(day, state="s", time="t", epsilon=1.0, chain="population"))
        truth = certificate_of(
            histogram(day, state="s", time="t", epsilon=1.0, chain=[[0.8, 0.2], [0.3, 0.7]], initial="any")
        )
        scales.append(found.scales["count"])
        assert found.scales["count"] >= truth.scales["count"]
    assert scales == sorted(scales, reverse=True)
    for wrong in ({"mechanism": "exact"}, {"initial": [0.5, 0.5]}, {"floor": 0.1}):
        with pytest.raises(ArgumentError):
            histogram(day, state="s", time="t", epsilon=1.0, chain="population", **wrong)


def test_too_many_pairs_is_an_error_and_the_figure_is_left_out():
    rng = np.random.default_rng(2)
    many = pd.DataFrame({"who": rng.permutation(np.repeat(np.arange(400), 30)), "x": rng.normal(size=12_000)})
    with pytest.raises(CalibrationError, match="pairs"):
        calibrate(many, **ASK, beliefs="population")
    plan = calibrate(many, **ASK)
    assert set(plan.choice.wider) == {"any law"}
    assert "refute at 95 %: not measured" in " ".join(str(plan).split())
    assert run(plan.release(many)) is not None


@few(1)
@pytest.mark.parametrize(
    "ask", [{"mechanism": Noise("gaussian"), "delta": 1e-5}, {"mechanism": Noise(Stable(alpha=1.5))}, {}]
)
def test_figures_never_refuse_a_request(ask, monkeypatch):
    """Any law at all is the same for every pair, however many are listed; that of the population may be left out."""
    monkeypatch.setattr("puffer_frames.loss.engine.MOST_PAIRS_OF_SETS", 5)
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"who": rng.permutation(np.repeat(np.arange(4), 30)), "x": rng.integers(0, 2, 120)})
    pairs = [(a, b) for a in range(4) for b in range(a)]  # six
    plan = calibrate(people, secret="who", public="x", epsilon=0.1, pairs=pairs, beliefs="empirical", **ask)
    assert ("population" in plan.choice.wider) == (ask == {})
    assert "any law" in plan.choice.wider
    assert {"empirical", "any law"} <= set(plan.robustness()["belief"])


def test_sums_over_many_units_or_too_far_values():
    many = pd.DataFrame({"who": np.arange(500), "x": np.arange(500) % 7})
    with pytest.raises(ArgumentError, match="500 units"):
        aggregate(
            many, unit="who", value="x", epsilon=1.0, laws="population", contribution="draw", protect="replacement"
        )
    with pytest.raises(ArgumentError, match="far apart"):
        aggregate(
            PEOPLE, unit="who", value="x", epsilon=1.0, laws="population", contribution="draw", domain=(-1e300, 1e300)
        )
