"""`compare`: every row is what `calibrate` says, from one count of the rows; what fails does not fail the whole."""

import math
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import made

import puffer_frames
from puffer_frames import Channel, Contamination, Gaussian, Noise, Population, Stable, Strata, Unit
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, CalibrationError, ColumnNotFoundError, FewRowsWarning
from puffer_frames.frames.local.table import LocalTable
from puffer_frames.mechanisms.channel.options import SEEING
from puffer_frames.mechanisms.noise.mechanism import FittedNoise
from puffer_frames.mechanisms.seam import ComparedRow
from puffer_frames.verbs.comparing import compare

ASKED = {"secret": "group", "public": "score"}
ENTRIES = {"fitted": "fitted", "empirical": "empirical", "contaminated": Contamination(), "population": "population"}


def people(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], rows)
    score = np.where(group == "a", rng.integers(0, 6, rows), rng.integers(2, 9, rows))
    job = np.where(rng.random(rows) < 0.3, "x", np.where(group == "a", "y", "z"))
    return pd.DataFrame({"group": group, "score": score, "age": rng.integers(20, 40, rows), "job": job})


@pytest.fixture(scope="module")
def compared():
    return people().puffer.compare(**ASKED, epsilon=[0.5, 1])


def test_every_row_is_that_of_a_plan(compared):
    frame = people()
    for row in compared[compared["epsilon"] == 1].to_dict("records"):
        asked = {**ASKED, "epsilon": 1.0}
        if row["theorem"] == "channel":
            seeing = Channel(sees="secret") if row["mechanism"] == SEEING else Channel()
            options = seeing if row["belief"] not in ENTRIES else Channel(radius=0, cap=None)
            belief = ENTRIES.get(row["belief"], "empirical")
            plan = frame.puffer.calibrate(**asked, mechanism=options, beliefs=belief)
            assert row["error"] == plan.expected_error["score"]
            continue
        noise = Noise(row["noise"], theorem=row["theorem"] or "auto", remap=row["mechanism"] == "remap")
        if row["belief"] == "any law":
            noise = replace(noise, calibration="theorem")
            assert row["loss_any_law"] <= 1
        belief = ENTRIES.get(row["belief"], Contamination(share=1.0))
        plan = frame.puffer.calibrate(**asked, mechanism=noise, beliefs=belief)
        assert (row["scale"], row["error"]) == (plan.scale, plan.expected_error["score"])
        assert row["loss_observed"] == plan.choice.observed.pure_loss.upper
        assert row["loss_any_law"] == plan.choice.wider["any law"].pure_loss.upper
        if row["theorem"]:
            assert row["published_scale"] == pytest.approx(plan.published_scale or math.nan, nan_ok=True)
        else:
            assert math.isnan(row["published_scale"])


def test_rows_are_in_order_within_bounds_and_have_relative_errors(compared):
    assert list(compared.columns) == [each.name for each in fields(ComparedRow)]
    assert compared["epsilon"].is_monotonic_increasing
    for _, group in compared.groupby(["epsilon", "belief"], sort=False):
        assert group["error"].is_monotonic_increasing
        assert group.index.tolist() == list(range(group.index[0], group.index[-1] + 1))
    assert set(compared["noise"]) == {"laplace", ""}
    assert set(compared["theorem"]) == {"translation", "gaussian", "gmm", "kantorovich", "bounded", "channel", ""}
    known = compared[compared["bound"].notna()]
    assert {"empirical", "contaminated"} <= set(known["belief"])
    assert (known["error"] >= known["bound"] * (1 - 1e-12)).all()
    values = people()["score"]
    row = compared.iloc[0]
    assert row["error_std"] == pytest.approx(row["error"] / values.std(ddof=0), rel=1e-12)
    constant = (values - values.median()).abs().mean()
    assert row["error_constant"] == pytest.approx(row["error"] / constant, rel=1e-12)


def test_with_a_delta():
    noises = [
        Noise(family, theorem=theorem) for family in ("laplace", "gaussian") for theorem in ("kantorovich", "gmm")
    ]
    words = {"delta": 1e-3, "beliefs": "empirical", "mechanism": [*noises, "channel"]}
    found = people().puffer.compare(**ASKED, **words).set_index(["mechanism", "noise"])
    plan = people().puffer.calibrate(**ASKED, epsilon=1.0, delta=1e-3, mechanism=Noise("gaussian"))
    row = found.loc["noise", "gaussian"]
    assert (row["scale"], row["loss_observed"]) == (plan.scale, plan.choice.observed.hockey_stick.upper)
    assert row["loss_observed"] <= 1e-3 < row["loss_any_law"]
    assert 1e-3 < found.loc["channel", ""]["loss_any_law"].min() <= 1


def test_the_rows_are_read_once(monkeypatch):
    read = []
    known = LocalTable.complete

    def complete(self, *args, **kwargs):
        read.append(args)
        return known(self, *args, **kwargs)

    monkeypatch.setattr(LocalTable, "complete", complete)
    found = people().puffer.compare(**ASKED, epsilon=[0.5, 1, 2])
    assert len(found) > 30
    assert len(read) == 1


def test_several_columns():
    found = people().puffer.compare(secret="group", public=["score", "age"], mechanism="noise", beliefs="empirical")
    theorems = found["theorem"].drop_duplicates().tolist()
    assert sorted(theorems) == ["bounded", "joint", "kantorovich"]
    plan = people().puffer.calibrate(secret="group", public=["score", "age"], epsilon=1.0)
    joint = found[found["theorem"] == "joint"].set_index("column")["scale"].to_dict()
    assert joint == plan.scales
    assert (found[found["theorem"] == "bounded"]["loss_any_law"] == 1).all()
    assert found["composes"][found["theorem"] == "bounded"].tolist() == ["epsilons add"] * 2
    asked = {"secret": "group", "public": ["score", "age"], "delta": 1e-3, "beliefs": "empirical"}
    found = people().puffer.compare(**asked)
    assert set(found[found["noise"] == "gaussian"]["theorem"]) == {"bounded"}
    named = people().puffer.compare(**asked, mechanism=[Noise(), Noise("gaussian", theorem="kantorovich")])
    assert named[named["reason"] != ""]["noise"].tolist() == ["gaussian"]


def test_a_coupling_is_computed_once():
    """Of more than 4 columns "auto" is the coupling that "kantorovich" asks for."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"s": rng.choice(["a", "b"], 60)} | {f"x{k}": rng.integers(0, 3, 60) for k in range(5)})
    asked = {"secret": "s", "public": [f"x{k}" for k in range(5)], "epsilon": 1.0, "beliefs": "empirical"}
    every = compare(frame, **asked, mechanism="noise")
    whole = every[every["belief"] == "empirical"]
    assert sorted(whole["column"]) == sorted(asked["public"])
    named = compare(frame, **asked, mechanism=Noise(theorem="kantorovich"))
    assert dict(zip(named["column"], named["scale"])) == dict(zip(whole["column"], whole["scale"]))


def test_labels_and_two_values():
    frame = people()
    found = frame.puffer.compare(secret="group", public="job")
    assert sorted(found["mechanism"]) == ["channel"] * 3 + [SEEING]
    found = found[found["mechanism"] == "channel"]
    default = found[found["belief"] == "contaminated, any law within 8"]["error"].item()
    assert default == frame.puffer.calibrate(secret="group", public="job", epsilon=1.0).expected_error["job"]
    beside = frame.puffer.compare(secret="group", public=["job", "age"], beliefs="empirical")
    assert set(beside["theorem"]) == {"joint", "kantorovich", "bounded"}
    assert beside[beside["column"] == "job"]["scale"].isna().all()
    frame = people().assign(score=lambda t: t["score"] > 4)
    found = frame.puffer.compare(**ASKED, beliefs=["fitted", "empirical"])
    assert {"bernoulli", "bounded"} <= set(found["theorem"])
    assert "fitted" not in set(found["belief"])


KINDS = {
    "polars": (pl.from_pandas, pl.DataFrame),
    "lazy": (lambda t: pl.from_pandas(t).lazy(), pl.DataFrame),
    "pyarrow": (lambda t: pa.Table.from_pandas(t, preserve_index=False), pa.Table),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_frames(kind):
    make, expected_type = KINDS[kind]
    asked = {**ASKED, "beliefs": "empirical", "mechanism": ["noise", Noise(remap=True)]}
    found, expected = compare(make(people()), **asked), people().puffer.compare(**asked)
    assert type(found) is expected_type
    assert np.array(found["scale"]).tolist() == expected["scale"].tolist()


def test_a_failing_row_says_why(monkeypatch):
    known = FittedNoise.of

    def of(request, rows):
        if request.theorem == "gmm":
            raise CalibrationError("the request", rule="possible", got="another one", hint="Ask for less.")
        return known(request, rows)

    monkeypatch.setattr(FittedNoise, "of", of)
    found = people().puffer.compare(**ASKED, mechanism="noise")
    failed = found[found["error"].isna()]
    assert failed["theorem"].tolist() == ["gmm"]
    assert failed["reason"].tolist() == ["the request must be possible; got another one."]
    assert found[found["belief"] == "fitted"]["error"].isna().tolist() == [False, False, True]


def test_what_needs_no_noise_says_so():
    frame = pd.DataFrame({"group": ["a", "b"] * 50, "score": [0, 0, 1, 1] * 25})
    found = frame.puffer.compare(**ASKED)
    free = found[found["belief"] == "empirical"]
    assert (free["error"] < 1e-12).all()
    assert free["reason"].str.contains("allow_zero_noise").all()
    assert (found[found["belief"] == "any law"]["scale"] >= 1).all()


def test_any_law_is_any_on_the_domain():
    for words in ({}, {"delta": 1e-3, "mechanism": Noise("gaussian")}):
        found = people().puffer.compare(**ASKED, **words, domain={"score": (-4, 16)}, beliefs="empirical")
        row = found[(found["belief"] == "any law") & (found["mechanism"] == "noise")].iloc[0]
        assert row["loss_any_law"] <= (words.get("delta") or 1.0)
        assert row["scale"] >= 20 or words


def test_models_of_many_secrets_are_fitted_where_they_were_named(monkeypatch):
    monkeypatch.setattr("puffer_frames.verbs.comparing.MANY_SECRETS", 1)
    found = people().puffer.compare(**ASKED, beliefs="fitted")
    assert found[found["belief"] == "fitted"]["error"].isna().all()
    named = people().puffer.compare(**ASKED, beliefs="fitted", mechanism=Noise(theorem="gaussian"))
    assert named["error"].notna().all()


def test_what_was_named_says_why_it_does_not_apply():
    left_out = people().puffer.compare(**ASKED)
    assert "gaussian" not in set(left_out["noise"])
    noises = [Noise(), Noise(Gaussian()), Noise(Stable(alpha=1.7))]
    named = people().puffer.compare(**ASKED, mechanism=noises, beliefs="empirical")
    reasons = dict(zip(named["noise"], named["reason"], strict=True))
    assert "delta must be greater than 0" in reasons["gaussian"]
    assert "1.7-stable" in reasons


def test_a_record_has_rows_for_its_options_alone():
    """With the theorem left open a row for each; the remap, the calibration and the cost of a scale are its own."""
    frame = people()
    listed = [Noise(theorem="bounded"), Noise(remap=True), Channel(cap=2.0)]
    found = frame.puffer.compare(**ASKED, beliefs="empirical", mechanism=listed)
    rows = set(zip(found["mechanism"], found["theorem"], strict=True))
    assert rows == {("noise", "bounded"), ("remap", "kantorovich"), ("remap", "bounded"), ("channel", "channel")}
    published = {"mechanism": Noise(calibration="theorem"), "beliefs": "empirical"}
    rows = frame.puffer.compare(**ASKED, **published)
    plan = frame.puffer.calibrate(**ASKED, **published, epsilon=1.0)
    assert rows[rows["belief"] == "empirical"]["scale"].tolist() == [plan.scale]
    assert plan.scale > frame.puffer.calibrate(**ASKED, epsilon=1.0, beliefs="empirical").scale
    two = {"secret": "group", "public": ["score", "age"], "epsilon": 1.0}
    noise = Noise(weights={"score": 9.0})
    dear = frame.puffer.compare(**two, beliefs="empirical", mechanism=noise)
    joint = dear[dear["theorem"] == "joint"].set_index("column")["scale"].to_dict()
    assert joint == frame.puffer.calibrate(**two, mechanism=noise).scales
    assert joint != frame.puffer.calibrate(**two).scales


def test_a_wide_channel_is_solved_where_it_was_named(monkeypatch):
    monkeypatch.setattr("puffer_frames.verbs.comparing.LEVELS_UNASKED", 4)
    found = people().puffer.compare(**ASKED, beliefs="empirical")
    assert 'say mechanism="channel"' in found[found["mechanism"] == "channel"]["reason"].tolist()[0]
    named = people().puffer.compare(**ASKED, beliefs="empirical", mechanism="channel")
    assert named["reason"].tolist() == [""]


def test_both_kinds_of_channels_with_what_they_lose():
    """The three losses of each: under the planned law, under any, and to a reader who knows the true value."""
    for words in ({}, {"delta": 1e-3}):
        found = people().puffer.compare(**ASKED, **words, beliefs="all", mechanism="channel")
        both = found[found["belief"] == "contaminated, any law within 8"].set_index("mechanism")
        assert set(both.index) == {"channel", SEEING}
        for name, options in (("channel", Channel()), (SEEING, Channel(sees="secret"))):
            plan = people().puffer.calibrate(**ASKED, epsilon=1.0, **words, mechanism=options)
            row, most = both.loc[name], 0.0
            assert row["error"] == plan.expected_error["score"]
            for weights in zip(*plan.channels["score"].matrices.values()):  # of one true value
                most = max(most, *(abs(math.log(p / q)) for p, q in zip(*weights) if p or q))
            if not words:
                assert row["loss_reader"] == pytest.approx(most, abs=1e-9)
                assert row["loss_observed"] <= 1 < row["loss_any_law"] <= 8
            else:
                assert row["loss_reader"] == pytest.approx(max(0.0, -math.expm1(1 - most)), abs=1e-9)
        assert both.loc[SEEING, "error"] < both.loc["channel", "error"]
        assert math.isnan(both.loc[SEEING, "bound"])  # which is of those that see the value alone
    assert (people().puffer.compare(**ASKED, mechanism="noise", beliefs="empirical")["loss_reader"] == 0).all()


def test_a_large_channel_that_sees_the_secret_is_solved_where_it_was_named(monkeypatch):
    monkeypatch.setattr("puffer_frames.verbs.comparing.PAIRS_UNASKED", 17)
    found = people().puffer.compare(**ASKED, mechanism="channel", beliefs=Contamination())
    row = found[found["mechanism"] == SEEING].iloc[0]
    assert math.isnan(row["error"])
    assert row["reason"].startswith("18 pairs of a level and a secret")
    options = Channel(sees="secret", reader_cap=2.0)
    named = people().puffer.compare(**ASKED, mechanism=[options], beliefs="empirical")
    assert named["mechanism"].tolist() == [SEEING]
    assert (
        named["error"].item()
        == people().puffer.calibrate(**ASKED, epsilon=1.0, mechanism=options).expected_error["score"]
    )
    each = people().assign(age=lambda t: t["age"] > 30)
    left_out = each.puffer.compare(secret=["group", "age"], secrets="each", public="score", beliefs=Contamination())
    assert SEEING not in set(left_out["mechanism"])


def test_beliefs_of_every_kind():
    frame = people()
    laws = {"a": Prior.empirical([0, 5]), "b": Prior.empirical([3, 8])}
    entries = [laws, people(seed=1), Population(0.99), Population(0.5)]
    found = frame.puffer.compare(**ASKED, beliefs=entries, mechanism="noise")
    scales = dict(zip(found["belief"], found["scale"], strict=True))
    assert set(scales) == {"given", "other table", "population", "population 2", "any law"}
    assert scales["given"] == frame.puffer.calibrate(**ASKED, epsilon=1.0, beliefs=("only", laws)).scale
    assert scales["population"] > scales["population 2"]


def test_given_columns_units_and_releases():
    frame = people().assign(region=["n", "s"] * 100, person=np.repeat(np.arange(100), 2))
    strata = frame.puffer.compare(**ASKED, given=Strata("region", minimum=5), beliefs="empirical")
    plan = frame.puffer.calibrate(**ASKED, given=Strata("region", minimum=5), epsilon=1.0)
    assert strata[strata["belief"] == "empirical"]["scale"].tolist() == [plan.scale]
    frame["group"] = np.repeat(["a", "b"] * 50, 2)
    units = frame.puffer.compare(**ASKED, unit=Unit("person", rows="independent"), releases=2, beliefs="empirical")
    plan = frame.puffer.calibrate(**ASKED, unit=Unit("person", rows="independent"), releases=2, epsilon=1.0)
    assert units[(units["belief"] == "empirical") & (units["mechanism"] == "noise")]["scale"].tolist() == [plan.scale]


@pytest.mark.parametrize("public", ["score", ["job", "age"]])
def test_missing_entries_are_a_level_in_the_plan_of_a_whole_table(public):
    """What is said to do is nothing that was done."""
    asked = {"public": public, "mechanism": "sequential", "nulls": "level"}
    with pytest.raises(ArgumentError, match="Whole tables take them as a level: make a plan with"):
        people().puffer.compare(secret="group", **asked)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"public": "scor"}, ColumnNotFoundError),
        ({"epsilon": []}, ArgumentError),
        ({"epsilon": [1, -1]}, ArgumentError),
        ({"mechanism": lambda: Noise("foo")}, ArgumentError),
        ({"mechanism": "auto"}, ArgumentError),
        ({"mechanism": "remap"}, ArgumentError),
        ({"mechanism": ["noise", 3]}, ArgumentError),
        ({"mechanism": lambda: Noise(theorem="foo")}, ArgumentError),
        ({"beliefs": ()}, ArgumentError),
        ({"mechanism": Noise("gaussian")}, ArgumentError),
        ({"mechanism": lambda: Noise(Stable(alpha=1.7), remap=True)}, ArgumentError),
        ({"public": "job", "beliefs": "fitted", "mechanism": "noise"}, ArgumentError),
        ({"public": ["job", "age"], "mechanism": Noise(remap=True)}, ArgumentError),
    ],
)
def test_what_no_row_could_mend_is_an_error(words, error):
    with pytest.raises(error):
        people().puffer.compare(**made({**ASKED, **words}))


def test_a_warning_is_given_once_and_the_frame_is_not_changed():
    with pytest.warns(FewRowsWarning) as found:
        people(rows=30).puffer.compare(**ASKED, beliefs="empirical")
    assert len([each for each in found if each.category is FewRowsWarning]) == 1
    frame = people()
    frame.puffer.compare(**ASKED, beliefs="empirical", mechanism="noise")
    pd.testing.assert_frame_equal(frame, people())
    assert "compare" in puffer_frames.__all__
