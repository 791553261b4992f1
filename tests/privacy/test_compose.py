"""Several releases of the same records: what they guarantee together, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import table

from puffer_frames import (
    Bootstrap,
    Certificate,
    Contamination,
    Layout,
    Ledger,
    Noise,
    Population,
    Strata,
    Unit,
    aggregate,
    calibrate,
    certificate_of,
    compose,
    load_plan,
    privatize,
)
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, ColumnNotFoundError, LedgerError

ROWS = 1200
RNG = np.random.default_rng(8)
GROUP = RNG.choice(["a", "b", "c"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "sex": RNG.choice(["f", "m"], ROWS),
        "score": RNG.integers(0, 6, ROWS) + (GROUP == "a"),
        "visits": RNG.integers(0, 4, ROWS),
        "job": RNG.choice(["x", "y", "z"], ROWS),
        "still": 3,
    }
)

APART = PEOPLE.assign(score=PEOPLE["score"] * (PEOPLE["group"] == "a"))


def release(public="score", frame=PEOPLE, **options):
    return privatize(frame, **{"secret": "group", "public": public, "epsilon": 0.3} | options)


def bounded(public="score", **options):
    return release([public, "still"], mechanism=Noise(theorem="bounded"), allow_zero_noise=True, **options)


def test_noise_for_ranges_adds_to_itself_and_to_any_one_release():
    alone = [release(mechanism=Noise(theorem="bounded")), release("job")]
    assert certificate_of(alone[0]).scales["score"] == pytest.approx(np.ptp(PEOPLE["score"]) / 0.3)
    assert compose(alone).epsilon == pytest.approx(0.6)
    ranges = [bounded("score"), bounded("visits", epsilon=0.5)]
    found = compose(ranges)
    assert (found.epsilon, found.delta, found.releases) == (pytest.approx(0.8), 0, 2)
    several = release(["score", "visits"])
    for one in (release("score", epsilon=0.3), release("job"), several, release("score", delta=1e-6)):
        both = compose([*ranges, one])
        assert both.epsilon == pytest.approx(1.1)
        assert both.delta == certificate_of(one).delta
        assert "all but one" in both.rule
    gaussian = release(["score", "visits"], mechanism=Noise("gaussian"), delta=1e-6)
    assert compose([gaussian, gaussian]).delta == pytest.approx(2e-6)
    assert compose([certificate_of(each) for each in ranges]) == found
    assert "kept columns" not in found.rule
    assert "not beside kept columns" in compose([*ranges, release("score", layout=Layout(keep="visits"))]).rule


def test_coupled_releases_of_one_column_add():
    coupled = [
        release(mechanism=Noise(theorem="kantorovich", calibration="theorem"), epsilon=epsilon)
        for epsilon in (0.3, 0.4)
    ]
    assert all(certificate_of(each).adds_up for each in coupled)
    found = compose(coupled)
    assert found.epsilon == pytest.approx(0.7)
    assert "coupling" in found.rule
    assert compose([*coupled, bounded("visits")]).epsilon == pytest.approx(1.0)
    other = release("visits", mechanism=Noise(theorem="kantorovich", calibration="theorem"))
    given = [
        release(
            mechanism=Noise(theorem="kantorovich"),
            epsilon=0.05,
            beliefs=("only", {s: Prior.empirical([k, x]) for k, s in enumerate("abc")}),
        )
        for x in (4, 5)
    ]
    for pair in ([coupled[0], other], given, [coupled[0], release(epsilon=0.05)]):
        with pytest.raises(CalibrationError, match="randomness of the values"):
            compose(pair)


def translated(**options):
    """Without what was measured of its rows, for which it would be refused."""
    return without_losses(certificate_of(release(mechanism=Noise(theorem="translation"), beliefs="fitted", **options)))


def without_losses(found):
    return replace(found, observed={}, facts=replace(found.facts, exceeds=False))


def test_laws_of_clipped_values_are_others():
    """Certified 2 for both together, with a loss of 2.199 under the laws that the first one names."""
    ends = {"score": (2, 4)}
    assert compose([translated(domain=ends), translated(domain=ends)]).epsilon == pytest.approx(0.6)
    for others in (
        [translated(), translated(domain=ends)],
        [translated(domain=ends), translated(domain={"score": (1, 4)})],
    ):
        with pytest.raises(CalibrationError, match="clipped in some of them"):
            compose(others)


def law_at(x):
    return {s: Prior.empirical([k, x]) for k, s in enumerate("abc")}


PLANNED = {
    "contamination": (Contamination(0.01), Contamination(0.2)),
    "population": (Population(0.5), Population(0.99)),
    "bootstrap": (Bootstrap(2, seed=1), Bootstrap(2, seed=2)),
    "mappings": (law_at(1), law_at(10)),
    "frames": (APART, PEOPLE),
}


@pytest.mark.parametrize("name", PLANNED)
def test_planned_releases_under_two_beliefs_of_one_name(name):
    """Epsilon 1 under "contaminated" for shares of 0.01 and 0.2: under the second the two lose 1.80 together."""
    alone = name in ("contamination", "population", "bootstrap")  # the others add to the observed frequencies
    pair = [release(beliefs=entry, releases=2) for entry in PLANNED[name]]
    if alone:
        with pytest.raises(CalibrationError, match="different ones of one name"):
            compose(pair)
        pair = [release(beliefs=(entry, "empirical"), releases=2) for entry in PLANNED[name]]
    assert all(len(certificate_of(one).beliefs) > 1 for one in pair)
    assert compose(pair).beliefs == ("empirical",)


def test_laws_that_planned_releases_and_ranges_are_for():
    # What was measured of the rows is left out, for which they would be refused
    pair = [certificate_of(release(beliefs=("only", law_at(x)), releases=2)) for x in (1, 10)]
    with pytest.raises(CalibrationError, match="different ones of one name"):
        compose([without_losses(one) for one in pair])
    # Whatever the first release calls it: a domain that the others do not have
    asked = {"mechanism": Noise("gaussian", theorem="bounded"), "delta": 1e-6, "allow_zero_noise": True}
    pair = [release(["score", "still"], domain={"score": (0, 9)}, **asked), release(["visits", "still"], **asked)]
    assert compose(pair).beliefs == compose([*pair, bounded()]).beliefs == ()


def test_planned_releases_of_fitted_models():
    """The model of a theorem is one; mixtures of more or fewer components are several."""
    frame = PEOPLE.assign(score=PEOPLE["score"] + RNG.normal(0, 0.3, ROWS))
    models = {"translation": Noise(theorem="translation"), "gmm": Noise(theorem="gmm", components=1)}
    fitted = {name: release(frame=frame, mechanism=noise, releases=2) for name, noise in models.items()}
    other = release(frame=frame, mechanism=Noise(theorem="gmm", components=2), releases=2)
    for pair, beliefs in (
        ([fitted["translation"]] * 2, ("fitted", "empirical")),
        ([fitted["gmm"], other], ("empirical",)),
        ([fitted["translation"], other], ("empirical",)),
    ):
        assert compose([replace(certificate_of(one), fingerprint="") for one in pair]).beliefs == beliefs


def test_a_column_of_labels_is_another_than_one_of_numbers():
    """Of x in 0 and .001, beside y, as numbers and then as labels: the exact loss of the labels is 1."""
    places = [
        (s, x, k % 10)
        for s, rows in (("a", (50, 10)), ("b", (10, 50)))
        for x, n in zip((0, 0.001), rows)
        for k in range(n)
    ]
    frame = pd.DataFrame(places, columns=["group", "x", "y"]).sample(frac=1, random_state=0, ignore_index=True)
    labels, coarse = frame.assign(x=frame["x"].astype(str)), frame.assign(x=(frame.index % 3).astype(str))
    numbers = release(["x", "y"], frame, mechanism=Noise(theorem="kantorovich", weights={"x": 1, "y": 1}))
    assert compose([numbers, release(["x", "y"], frame)]).epsilon < 10
    text = release(["x", "y"], labels, epsilon=1.0, mechanism=Noise(weights={"x": 1.0, "y": 1e-9}))
    with pytest.raises(CalibrationError, match="randomness of the values"):
        compose([numbers, text])
    with pytest.raises(CalibrationError, match="randomness of the values"):  # nor is one of other labels
        compose([release(["x", "y"], coarse, mechanism=Noise(theorem="kantorovich")), text])


def test_a_column_of_dates_is_another_than_one_of_numbers():
    """A scale in seconds is large beside one in days: planned in days, both would be taken for one of the plan."""
    days, more = PEOPLE["score"], PEOPLE["visits"]
    dates = PEOPLE.assign(score=pd.Timestamp(0) + pd.to_timedelta(days, unit="D"), visits=pd.Timestamp(0))
    dates["visits"] += pd.to_timedelta(more, unit="D")
    seconds = PEOPLE.assign(score=days * 86400, visits=more * 86400)
    both = {"public": ["score", "visits"], "mechanism": Noise(theorem="kantorovich")}
    for asked in ({"releases": 2}, both, {"mechanism": Noise(theorem="kantorovich", calibration="theorem")}):
        planned = release(frame=dates, epsilon=0.5, **asked)
        assert compose([planned, release(frame=dates, epsilon=0.5, **asked)]).epsilon <= 1.0
        other = release(frame=seconds, epsilon=1.5, **{**asked, "releases": 1})
        with pytest.raises(CalibrationError, match="randomness of the values"):
            compose([planned, other])
    pair = [release(frame=dates), release(frame=PEOPLE)]
    with pytest.raises(CalibrationError, match="of dates in one release and numbers in another"):
        compose(pair, frame=dates)


def test_other_secrets_and_tables_without_the_columns():
    coarse = PEOPLE.assign(group=PEOPLE["group"].replace("c", "b"))
    with pytest.raises(CalibrationError, match="different values of the secret"):
        compose([bounded(), bounded(frame=coarse)])
    with pytest.raises(ColumnNotFoundError):
        compose([release(), release()], frame=PEOPLE.drop(columns="score"))
    entries = pd.Categorical([["a", 1][place % 2] for place in range(90)])
    frame = pd.DataFrame({"s": entries, "x": [place * 7 % 11 + place % 2 for place in range(90)]})
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    released = privatize(frame, secret="s", public="x", epsilon=1)
    assert released.puffer.certificate.secret_count == 2


def of_other_rows():
    """A plan of wider values: noise for the range of these rows need not hide them."""
    plan = PEOPLE.assign(score=PEOPLE["score"] * 5).puffer.calibrate(secret="group", public="score", epsilon=0.3)
    return plan.release(PEOPLE, allow_other_frame=True, allow_drift=True)


def within():
    """A batch that loses no more than was asked for: its certificate says no loss."""
    plan = PEOPLE.puffer.calibrate(secret="group", public="score", epsilon=0.5, mechanism=Noise(calibration="theorem"))
    return plan.release(PEOPLE.head(900), allow_other_frame=True)


@pytest.mark.parametrize(
    ("releases", "match"),
    [
        (lambda: [release(), release()], "randomness of the values"),
        (lambda: [release("score"), release("visits", epsilon=0.02)], "randomness of the values"),
        (lambda: [release("job"), release("score")], "randomness of the values"),
        (lambda: [release(), release(secret="sex")], "different secrets"),
        (lambda: [bounded(), bounded(pairs=[("a", "b")])], "different protected pairs"),
        (lambda: [bounded(), bounded(rng=1)], "came from a seed"),
        (lambda: [bounded(), release(frame=PEOPLE.head(900))], "different numbers of rows"),
        (lambda: [bounded(), of_other_rows()], "a plan of other rows"),
        (lambda: [bounded(), release(beliefs=("only", APART))], "observed frequencies"),
        (lambda: [bounded(about={"dataset": "1"}), bounded(about={"dataset": "2"})], "different data sets"),
        (lambda: [aggregate(PEOPLE, value="score", domain=(0, 6), epsilon=1.0)] * 2, "a table"),
    ],
)
def test_refused(releases, match):
    with pytest.raises((CalibrationError, ArgumentTypeError), match=match):
        compose(releases())


def test_what_is_no_list_of_releases():
    one = release()
    for wrong in (one, certificate_of(one), 3, None):
        with pytest.raises(ArgumentTypeError, match="releases"):
            compose(wrong)
    for few in ([], [one]):
        with pytest.raises(ArgumentError, match="two or more"):
            compose(few)
    with pytest.raises(ArgumentTypeError):
        compose([one, 3])


def test_from_the_table():
    first, second = release(epsilon=0.4), release(["score", "visits"], epsilon=0.3)
    found = compose([first, second], frame=PEOPLE)
    scales = [certificate_of(each).scales for each in (first, second)]
    total = {"score": 1 / (1 / scales[0]["score"] + 1 / scales[1]["score"]), "visits": scales[1]["visits"]}
    nodes = [(x, y) for x in range(7) for y in range(4)]
    own = []
    for _, part in PEOPLE.groupby("group"):
        away = [
            np.abs(part["score"] - x) / total["score"] + np.abs(part["visits"] - y) / total["visits"] for x, y in nodes
        ]
        own.append([np.exp(-each).mean() for each in away])
    logs = np.log(own)
    assert found.epsilon == pytest.approx((logs.max(axis=0) - logs.min(axis=0)).max(), rel=1e-9)
    assert found.delta == 0
    assert "epsilon = " in str(found)
    assert compose([first, second], frame=pl.DataFrame(PEOPLE)).epsilon == found.epsilon
    assert isinstance(certificate_of(first), Certificate)


def test_rows_that_lack_a_value_are_left_out_of_the_table(tmp_path):
    frame = PEOPLE.assign(score=PEOPLE["score"].where(PEOPLE.index > 30))
    book = Ledger(tmp_path / "releases.jsonl", limit=1.0)
    both = [release(frame=frame, nulls="drop", ledger=book, about={"dataset": "people"}) for _ in "12"]
    found = compose(both, frame=frame).epsilon
    assert 0.3 < found == compose(both, frame=frame.dropna()).epsilon == book.total(frame=frame).epsilon
    with pytest.raises(CalibrationError, match="another number of rows"):
        compose(both, frame=PEOPLE)


@pytest.mark.parametrize(
    ("releases", "frame", "match"),
    [
        (lambda: [release(), release(mechanism=Noise("gaussian"), delta=1e-6)], PEOPLE, "noise other than Laplace"),
        (lambda: [release(), release("job")], PEOPLE, "noise other than Laplace"),
        (lambda: [release(), release(domain={"score": (0, 5)})], PEOPLE, "clipped before the noise"),
        (lambda: [release(), release()], PEOPLE.head(100), "another number of rows"),
        (lambda: [release(pairs=[("a", "b")])] * 2, PEOPLE.assign(group=PEOPLE["group"].replace("b", "c")), "pairs"),
        (lambda: [release(), bounded()], PEOPLE, "a column without noise"),
        (lambda: [within(), within()], PEOPLE.head(900), "does not tell whether this is their table"),
    ],
)
def test_what_the_table_does_not_help(releases, frame, match):
    with pytest.raises((CalibrationError, ArgumentError), match=match):
        compose(releases(), frame=frame)


@pytest.mark.parametrize(("releases", "loss"), [(2, 1.529573), (3, 1.733519), (4, 1.892606)])
def test_education_by_race_again_and_again(releases, loss):
    people = table("adult.data", header=None, skipinitialspace=True, usecols=[4, 8]).set_axis(["years", "race"], axis=1)
    made = people.puffer.calibrate(secret="race", public="years", epsilon=1.0)
    certificates = [certificate_of(made.release(people)) for _ in range(releases)]
    assert compose(certificates, frame=people).epsilon == pytest.approx(loss, abs=2e-5)
    with pytest.raises(CalibrationError, match="randomness of the values"):
        compose(certificates)


def test_three_columns_by_race_lose_more_than_their_sum():
    columns = {"age": 0, "years": 4, "race": 8, "hours": 12}
    people = table("adult.data", header=None, skipinitialspace=True, usecols=list(columns.values()))
    people = people.set_axis(list(columns), axis=1)
    released = [people.puffer.privatize(secret="race", public=c, epsilon=1.0) for c in ("age", "years", "hours")]
    assert compose(released, frame=people).epsilon == pytest.approx(3.464, abs=2e-3)
    with pytest.raises(CalibrationError, match="randomness of the values"):
        compose(released)


@pytest.mark.parametrize("columns", ["score", ["score", "visits"]])
def test_another_table_of_as_many_rows(columns):
    """A column in other units, or with a code that was taken out: certified 1.001 for both, with a loss of 2.017."""
    before = PEOPLE.assign(score=PEOPLE["score"] * 1000)
    releases = [release(columns, before), release(columns)]
    with pytest.raises(CalibrationError, match="another loss than was measured"):
        compose(releases, frame=PEOPLE)
    planned = release(releases=2)  # its loss is that of two noisy copies
    assert compose([planned, planned, planned], frame=PEOPLE).epsilon > 0.3


def test_rows_that_were_left_out_may_be_others_in_another_column(tmp_path):
    """True loss of a record in both: 1.418 where the epsilons added to 0.7."""
    draw = np.random.default_rng(0)
    secret = np.array(["f", "m"] * 600)
    x = np.where(draw.random(1200) < np.where(secret == "f", 0.7, 0.3), 10.0, 0.0)
    y = draw.integers(0, 11, 1200).astype(float)
    missing = ((secret == "f") & (x == 0)) | ((secret == "m") & (x == 10))
    y[missing] = np.nan
    x[draw.choice(1200, missing.sum(), replace=False)] = np.nan
    frame = pd.DataFrame({"s": secret, "x": x, "y": y}).sample(frac=1, random_state=1, ignore_index=True)
    ranged = Noise(theorem="bounded", calibration="theorem")
    first = privatize(frame, secret="s", public="x", epsilon=0.5, nulls="drop")
    second = privatize(frame, secret="s", public="y", epsilon=0.2, nulls="drop", mechanism=ranged)
    assert first.puffer.certificate.rows == second.puffer.certificate.rows
    assert first.puffer.certificate.facts.dropped
    with pytest.raises(CalibrationError, match="different rows may have been left out"):
        compose([first, second])
    book = Ledger(tmp_path / "releases.jsonl", limit=0.7)
    named = {"about": {"dataset": "people"}, "ledger": book, "nulls": "drop"}
    privatize(frame, secret="s", public="x", epsilon=0.5, **named)
    with pytest.raises(LedgerError):
        privatize(frame, secret="s", public="y", epsilon=0.2, mechanism=ranged, **named)
    both = frame.dropna(ignore_index=True)
    a, b = (
        privatize(both, secret="s", public=name, epsilon=e, mechanism=m)
        for name, e, m in (("x", 0.5, Noise()), ("y", 0.2, ranged))
    )
    assert compose([a, b]).epsilon == 0.7


def test_laws_of_another_table_are_not_said_to_add():
    """Two tables have one name: under the first the two releases lose 5.0 where the epsilons add to 2."""
    group = np.repeat(["f", "m"], 300)
    tables = (np.repeat([0.0, 1.0, 0.0, 1.0], [200, 100, 100, 200]), np.repeat([0.0, 4.0], 300))
    table, other = (
        pd.DataFrame({"s": group, "x": x}).sample(frac=1, random_state=0, ignore_index=True) for x in tables
    )
    published = Noise(theorem="kantorovich", calibration="theorem")
    for beliefs, adds in ((("empirical",), True), (("empirical", other), False)):
        plan = calibrate(table, secret="s", public="x", epsilon=1, mechanism=published, beliefs=beliefs)
        found = plan.release(table).puffer.certificate
        assert found.adds_up is adds
        assert any(one.key == "adds-up" for one in found.statements) is adds


PAIRED = Noise(theorem="kantorovich", calibration="theorem")
RARE = pd.DataFrame({"group": ["a", "b"] * 1000, "x": 0.0, "visits": 0.0, "sex": ["f", "f", "m", "m"] * 500, "id": 0})
RARE = RARE.assign(id=RARE.index // 4 * 2 + (RARE["group"] == "b"))
FIRST = RARE.assign(x=RARE.index // 2 % 2, visits=RARE.index // 4 % 2)
FIRST.loc[FIRST.index % 8 == 0, "x"], FIRST.loc[FIRST.index < 2, "x"] = 1, 5
RARE.loc[RARE.index.isin(range(0, 22, 2)), "x"] = 5.0


@pytest.mark.parametrize(
    "asked",
    [
        {"public": "x", "mechanism": PAIRED},
        {"public": "x", "mechanism": Noise(theorem="bounded")},
        {"public": "x", "mechanism": Noise(theorem="bounded"), "given": Strata("sex")},
        {"public": ["x", "visits"], "mechanism": Noise(theorem="bounded")},
        {"public": ["x", "visits"], "mechanism": Noise(theorem="kantorovich"), "allow_drift": True},
        {"public": "x", "mechanism": Noise(), "unit": Unit("id", rows="any")},
    ],
    ids=["pairing", "range", "strata", "columns", "paired rows", "units"],
)
def test_what_a_plan_knows_of_several_releases_is_not_said_of_other_rows(asked):
    """By a pairing: one release of the other rows loses 0.96 of 1, two lose 5.49."""
    drift = {"allow_drift": asked.pop("allow_drift")} if "allow_drift" in asked else {}
    first, other = (frame.sample(frac=1, random_state=0, ignore_index=True) for frame in (FIRST, RARE))
    plan = calibrate(first, secret="group", epsilon=1, **asked)
    own, late = plan.release(first), [plan.release(other, allow_other_frame=True, **drift) for _ in "12"]
    keys = {one.key for one in own.puffer.certificate.statements}
    assert keys & {"adds-up", "adds-up-rows"}
    assert compose([own, plan.release(first)]).epsilon == 2
    found = late[0].puffer.certificate
    keys = {one.key for one in found.statements}
    assert not found.adds_up
    assert "other-rows-again" in keys
    assert not keys & {"adds-up", "adds-up-rows", "no-noise"}
    assert found == Certificate.from_dict(found.to_dict())
    with pytest.raises(CalibrationError):
        compose(late)


@pytest.mark.parametrize(("times", "exceeds"), [(1, False), (3, True)])
def test_of_other_rows_the_planned_releases_hold_where_these_were_measured(times, exceeds):
    """The certificate said that of several releases nothing is known, and that three have the guarantee."""
    first, other = (frame.sample(frac=1, random_state=0, ignore_index=True) for frame in (FIRST, RARE))
    plan = calibrate(first, secret="group", public="x", epsilon=1, releases=3, mechanism=Noise(theorem="bounded"))
    other = other.assign(x=times * other["x"])
    certificate = certificate_of(plan.release(other, allow_other_frame=True, allow_drift=True))
    assert certificate.facts.exceeds == exceeds
    said = {one.key for one in certificate.statements} & {"other-rows-again", "planned-releases", "adds-up"}
    assert said == {"other-rows-again" if exceeds else "planned-releases"}


def test_no_noise_is_needed_for_the_table_of_the_plan_alone():
    first, other = (frame.sample(frac=1, random_state=0, ignore_index=True) for frame in (FIRST, RARE))
    asked = {"secret": "group", "public": "visits", "epsilon": 1, "allow_zero_noise": True}
    plan = calibrate(first, **asked)
    texts = {one.key: one.text for one in plan.release(other, allow_other_frame=True).puffer.certificate.statements}
    assert "no-noise" not in texts
    assert texts["without-noise"].startswith("No noise was needed for visits in the table of the plan")
    assert plan.release(first).puffer.certificate.warnings == ("no-noise",)


def test_plans_of_several_copies_and_of_strata_are_saved(tmp_path):
    """Their own file was refused: a scale of one copy is rounded, columns have the pairs of different strata."""
    draw = np.random.default_rng(1)
    third = draw.choice(list("fmo"), 400)
    x, y = draw.integers(0, 6, 400) + (third == "f") * 2, draw.integers(0, 4, 400) + (third == "m")
    rows = pd.DataFrame({"s": third, "x": x, "y": y, "g": draw.choice(["A", "B"], 400)})
    strata = calibrate(rows, secret="s", public=["x", "y"], epsilon=1, given=Strata("g", minimum=10))
    assert strata.fitted.choices["x"].worst_pair != strata.fitted.choices["y"].worst_pair
    strata.save(tmp_path / "strata.json")
    assert load_plan(tmp_path / "strata.json").scales == strata.scales
    secret = draw.choice(["f", "m"], 300)
    frame = pd.DataFrame({"s": secret, "b": draw.random(300) < np.where(secret == "f", 0.9, 0.2)})
    for releases in (2, 3, 4):
        plan = calibrate(
            frame, secret="s", public="b", epsilon=1, releases=releases, mechanism=Noise(calibration="theorem")
        )
        plan.save(tmp_path / f"{releases}.json")
        assert load_plan(tmp_path / f"{releases}.json").scales == plan.scales
