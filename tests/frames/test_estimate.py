"""Estimates from released frames of every kind, and from what became of them."""

import math
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, laid_out, sweep, thinned, without_spark
from scipy import stats

import puffer_frames
from puffer_frames import (
    Channel,
    Laplace,
    Layout,
    Noise,
    PufferError,
    Stable,
    Strata,
    Unit,
    calibrate,
    certificate_of,
    estimate,
    privatize,
    read_certificate,
    write_parquet,
)
from puffer_frames.certificates.report.page import _OF_NOISE
from puffer_frames.errors import ArgumentError, ArgumentTypeError, UncoveredFrameError
from puffer_frames.verbs.estimating.estimated import Estimate
from puffer_frames.verbs.estimating.laws import Unfolding
from puffer_frames.verbs.estimating.released_columns import NoisyColumn

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from certificate_cases import CASES, release_of_case

ROWS = 4000
RNG = np.random.default_rng(5)
GROUP = RNG.choice(["a", "b"], ROWS)
SCORE = RNG.integers(0, 12, ROWS) + (GROUP == "a")
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": SCORE,
        "height": 2 * SCORE + RNG.integers(0, 9, ROWS),
        "town": RNG.choice(["x", "y", "z"], ROWS, p=[0.6, 0.3, 0.1]),
        "rooms": RNG.integers(1, 5, ROWS) + SCORE // 4,
        "wing": RNG.integers(1, 4, ROWS),
        "hobby": RNG.choice(["go", "tag", "golf"], ROWS, p=[0.7, 0.2, 0.1]),
    }
)
ASKED = {"secret": "group", "public": "score", "epsilon": 1.0, "layout": Layout(keep=["town", "rooms"]), "rng": 3}
PAIRS = [((0.6, 0.3), ("go", "tag")), ((0.7, 0.5), ("x", "y"))]
"""Columns of two levels: the shares of the first one by secret."""
NEAR = 3.9
"""Standard errors that a right estimate is within, but for 1 in 10,000."""


def released(frame=PEOPLE, **options):
    return privatize(frame, **ASKED | options)


def check(found, truth, *, most=NEAR):
    """Every number is near its truth in standard errors, which are not 0."""
    errors = np.ravel(found.standard_error)
    assert (errors > 0).all()
    assert (np.abs(np.ravel(found.value) - np.ravel(truth)) < most * errors).all()


@without_spark
def test_every_kind_of_frame(make_frame, kind):
    """The same release gives the same numbers, in a frame of its library."""
    options = {"layout": Layout(keep=["town", "rooms"]), "epsilon": 1.0, "rng": 3}
    raw = make_frame({name: PEOPLE[name].tolist() for name in PEOPLE})
    frame = privatize(raw, secret="group", public="score", **options)
    frame = frame.puffer.collect() if isinstance(frame, pl.LazyFrame) else frame
    own, reference = estimate(frame), estimate(released())
    by = own.mean("score", by="town")
    assert by.value == pytest.approx(reference.mean("score", by="town").value, rel=1e-12)
    assert by.labels == {"town": ("x", "y", "z")}
    table = by.to_frame()
    assert type(table).__module__.partition(".")[0] == type(frame).__module__.partition(".")[0]
    columns = table.column_names if hasattr(table, "column_names") else list(table.columns)
    assert list(columns) == ["town", "value", "standard_error", "low", "high"]
    assert own.regress("score", on="rooms").value == pytest.approx(reference.regress("score", on="rooms").value)
    if hasattr(frame, "puffer"):
        assert frame.puffer.estimate().var("score").value == own.var("score").value


def test_spark_frames_are_a_clear_error(spark):
    frame = released(spark.createDataFrame(PEOPLE))
    with pytest.raises(PufferError, match="toPandas"):
        estimate(frame)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_means_variances_and_covariances(noise):
    own = estimate(
        released(public=["score", "height"], mechanism=Noise(noise), delta=1e-4 * (noise == "gaussian"), epsilon=6.0)
    )
    check(own.mean("score"), PEOPLE["score"].mean())
    check(own.mean("height", by=["town", "rooms"]), PEOPLE.groupby(["town", "rooms"])["height"].mean())
    check(own.var("height"), PEOPLE["height"].var())
    check(own.var("height", by="town", ddof=0), PEOPLE.groupby("town")["height"].var(ddof=0))
    matrix = own.cov(["score", "height"])
    check(matrix, PEOPLE[["score", "height"]].cov())
    assert matrix.value[0, 1] == own.cov("score", "height").value == matrix["score", "height"].value
    check(own.cov("rooms", "height", ddof=0), np.cov(PEOPLE["rooms"], PEOPLE["height"], ddof=0)[0, 1])
    kept = own.mean("rooms")
    assert (kept.value, kept.standard_error) == (PEOPLE["rooms"].mean(), 0)
    assert own.mean("score").interval(0.5).low > own.mean("score").interval(0.9).low


def test_regressions_with_noisy_and_kept_columns():
    own = estimate(released(public=["score", "height"], epsilon=2.0))
    for y, on in (("height", ["score", "rooms"]), ("rooms", ["height"]), ("height", ["rooms"])):
        design = np.column_stack([np.ones(ROWS), PEOPLE[on]])
        truth = np.linalg.lstsq(design, PEOPLE[y].to_numpy(float), rcond=None)[0]
        found = own.regress(y, on=on)
        check(found, truth)
        assert found.labels == {"term": ("intercept", *on)}
        assert found[on[0]].value == found.value[1]
        assert found.covariance.shape == (len(on) + 1,) * 2
        assert np.sqrt(np.diag(found.covariance)) == pytest.approx(found.standard_error)
    naive = np.polyfit(released(public=["score", "height"], epsilon=2.0)["score"], PEOPLE["rooms"], 1)
    assert (
        abs(naive[0] - own.regress("rooms", on="score").value[1])
        > 3 * own.regress("rooms", on="score").standard_error[1]
    )


def test_intervals_of_regressions_and_populations():
    own = estimate(released(public=["score", "height"], epsilon=0.7))
    fit = own.regress("height", on="score")
    low, high = fit.interval()
    assert fit["score"].interval() == (low[1], high[1])
    below, above = fit["score"].value - low[1], high[1] - fit["score"].value
    assert below > 0
    assert above > 1.01 * below  # the noise hides more of a steeper slope
    assert fit.to_frame(0.5)["high"].iloc[1] < high[1]
    few = estimate(released().head(12), target="population")
    mean = few.mean("rooms")
    expected = stats.t.interval(0.9, 11, PEOPLE["rooms"].head(12).mean(), PEOPLE["rooms"].head(12).sem())
    assert mean.interval(0.9) == pytest.approx(expected)
    assert few.cov(["rooms", "score"])["rooms", "rooms"].freedom == 11


def test_intervals_of_unfolded_laws_have_both_sides():
    """Of resamples that are all on one side of the estimate."""
    parts = {"what": "", "value": 10.0, "standard_error": 2.0, "labels": {}, "rows": 9, "target": "table"}
    resamples = np.linspace(12.0, 20.0, 41)[:, None]
    assert Estimate(**parts, library="pandas", resamples=resamples).interval() == pytest.approx((0.2, 19.8))
    assert Estimate(**parts, library="pandas", resamples=resamples, least=3.0).interval().low == 3
    rough = Estimate(**parts, library="pandas", resamples=resamples, rough=np.array([25.0]))
    assert rough.interval() == pytest.approx((0.2, 22.8))  # from 2 x 10 - 19.8 to 25 + 10 - 12.2


@pytest.mark.slow
def test_intervals_of_quantiles_near_their_refusal():
    rng, held = np.random.default_rng(3), []
    values = np.round(rng.gamma(2, 5, 2000))
    truth = np.quantile(values, [0.1, 0.9], method="inverted_cdf")
    for seed in range(40):
        noise = Laplace(scale=20.0)
        column = NoisyColumn(
            values=values + np.random.default_rng(seed).laplace(0, 20.0, 2000),
            noises=(noise,),
            places=np.zeros(2000, dtype=np.intp),
        )
        asked = Unfolding.of(support=1, resamples=40, rng=0, population=False)
        try:
            found = asked.law(column).quantiles(np.array([0.1, 0.9]))
        except PufferError:
            continue
        parts = {"what": "", "standard_error": 2.0, "labels": {}, "rows": 2000, "target": "table", "library": "pandas"}
        own = Estimate(**parts, value=found.values, resamples=found.resamples, rough=found.rough)
        low, high = own.interval()
        held.append((low <= truth) & (truth <= high))
    assert len(held) > 20
    assert np.mean(held, axis=0).min() > 0.9


def test_what_the_page_says_of_wide_columns_works():
    """It printed support=1 for every column of numbers: an error beyond 1,024 values, whose hint was support=1."""
    frame = PEOPLE.assign(X=np.random.default_rng(9).gamma(6, 500, ROWS).round())
    figures = estimate(frame.puffer.privatize(secret="group", public="X", epsilon=1.0))
    printed = re.findall(r"\.((?:quantile|histogram)\([^)]*\))", _OF_NOISE)
    assert len(printed) == 2
    for call in printed:
        assert eval(f"figures.{call}", {"figures": figures}).value is not None
    with pytest.raises(ArgumentError, match=r"more than 1,024 points[\s\S]*Leave it out"):
        figures.quantile("X", 0.5, support=1)


def test_quantiles_and_histograms():
    own = estimate(released(epsilon=0.2))
    q = [0.1, 0.25, 0.5, 0.75, 0.9]
    truth = PEOPLE["score"].quantile(q).to_numpy()
    found = own.quantile("score", q, support=1, resamples=20, rng=1)
    naive = released(epsilon=0.2)["score"].quantile(q).to_numpy()
    assert np.abs(found.value - truth).max() <= 1
    assert np.abs(naive - truth).max() > 2
    assert found.labels == {"q": tuple(q)}
    again = own.quantile("score", q, support=1, resamples=2, rng=np.random.default_rng(1))
    assert found.value.tolist() == again.value.tolist()
    low, high = found.interval()
    assert (low <= found.value).all()
    assert (found.value <= high).all()
    median = own.quantile("score", support=range(13), resamples=20)
    assert {type(number) for number in (median.value, *median.interval())} == {float}
    assert abs(own.quantile("score").value - median.value) < 1
    groups = own.quantile("score", [0.25, 0.75], by="town", support=1, resamples=10)
    assert groups.labels == {"town": ("x", "x", "y", "y", "z", "z"), "q": (0.25, 0.75) * 3}
    assert own.quantile("score", by="town", resamples=10).labels == {"town": ("x", "y", "z")}
    bins = own.histogram("score", [-0.5, 3.5, 6.5, 12.5], support=range(13), resamples=10)
    counts = np.histogram(PEOPLE["score"], [-0.5, 3.5, 6.5, 12.5])[0]
    assert 0.5 * np.abs(bins.value - counts).sum() / ROWS < 0.04
    assert bins.value.sum() == pytest.approx(ROWS)
    assert bins.labels == {"from": (-0.5, 3.5, 6.5), "to": (3.5, 6.5, 12.5)}
    assert (bins.standard_error > 0).all()
    assert own.histogram("score", 4, resamples=5).value.shape == (4,)
    closed = own.histogram("score", [0, 6, 12], support=range(13), resamples=5)  # ends as in NumPy
    parts = own.histogram("score", [-0.5, 5.5, 12.5], support=range(13), resamples=5)
    assert closed.value == pytest.approx(parts.value)


def test_columns_without_noise_have_their_own_figures():
    own = estimate(released())
    rooms = PEOPLE["rooms"]
    assert own.quantile("rooms", [0.2, 0.9]).value.tolist() == rooms.quantile([0.2, 0.9], "higher").tolist()
    assert own.histogram("rooms", [0.5, 2.5, 9.5]).value.tolist() == np.histogram(rooms, [0.5, 2.5, 9.5])[0].tolist()
    assert not own.quantile("rooms").standard_error
    towns = own.value_counts("town")
    assert dict(zip(towns.labels["town"], towns.value, strict=True)) == PEOPLE["town"].value_counts().to_dict()
    assert not towns.standard_error.any()
    drawn = estimate(released(), target="population")
    assert drawn.value_counts("town").standard_error == pytest.approx(
        [np.sqrt(count * (1 - count / ROWS)) for count in towns.value]
    )
    assert drawn.quantile("rooms", 0.3, resamples=200).interval().low <= rooms.quantile(0.3)
    assert drawn.mean("rooms").standard_error == pytest.approx(rooms.std() / np.sqrt(ROWS))


@few(2)
@pytest.mark.parametrize(
    "done",
    [
        laid_out(ASKED, clip=(0, 12)),
        laid_out(ASKED, round=True),
        laid_out(ASKED, clip=(0.5, 11.2), round=True),
        {"mechanism": Noise(Stable(alpha=1.3))},
    ],
    ids=["clipped", "rounded", "both", "heavy tails"],
)
def test_values_that_have_no_moments_have_quantiles(done):
    own = estimate(released(**done))
    found = own.quantile("score", [0.2, 0.5, 0.8], support=range(13), resamples=10)
    assert np.abs(found.value - PEOPLE["score"].quantile([0.2, 0.5, 0.8])).max() <= 1
    with pytest.raises(PufferError, match="quantile"):
        own.mean("score")


def test_processed_values_are_in_the_certificate(tmp_path):
    frame = released(**laid_out(ASKED, clip=(float("-inf"), 11.123456789), round=True))
    certificate = frame.puffer.certificate
    assert certificate.processed == {"score": {"round": True, "clip": (float("-inf"), 11.123456789)}}
    certificate.save(tmp_path / "c.json")
    assert puffer_frames.Certificate.load(tmp_path / "c.json") == certificate
    assert "processed" not in released().puffer.certificate.to_dict()


def test_noise_by_stratum_and_labels_by_stratum():
    frame = released(
        public=["score", "hobby"], layout=Layout(keep="rooms"), given=Strata("town", minimum=1), epsilon=0.8
    )
    certificate = frame.puffer.certificate
    assert len({found["scales"]["score"] for found in certificate.strata}) == 3
    own = estimate(frame)
    check(own.mean("score", by="town"), PEOPLE.groupby("town")["score"].mean())
    check(own.var("score"), PEOPLE["score"].var())
    check(own.regress("rooms", on="score"), np.polyfit(PEOPLE["score"], PEOPLE["rooms"], 1)[::-1])
    assert abs(own.quantile("score", support=1).value - PEOPLE["score"].median()) <= 1
    hobbies = own.value_counts("hobby")
    check(hobbies, [(PEOPLE["hobby"] == level).sum() for level in hobbies.labels["hobby"]])
    assert hobbies.value.sum() == pytest.approx(ROWS)


def test_counts_behind_channels():
    for public, extra in (("hobby", {}), ("wing", {"layout": Layout(keep="town")})):
        frame = released(public=public, **extra, mechanism=Channel(publish_matrix=True))
        found = estimate(frame).value_counts(public)
        truth = [(PEOPLE[public] == level).sum() for level in found.labels[public]]
        check(found, truth)
        assert found.covariance.shape == (len(truth),) * 2
    labels = estimate(released(public=["score", "hobby"], mechanism="noise")).value_counts("hobby")
    check(labels, [(PEOPLE["hobby"] == level).sum() for level in labels.labels["hobby"]])


def of_people():
    """A table of staff with weights, and what its figures by job are."""
    rng, rows = np.random.default_rng(1), 3000
    sex = rng.choice(["f", "m"], rows)
    job = np.where(rng.random(rows) < np.where(sex == "f", 0.5, 0.3), "a", rng.choice(["b", "c"], rows))
    age = rng.integers(20, 60, rows) + 2 * (sex == "f")
    pay = (10 + 0.3 * age + 4 * (job == "b") - 2 * (job == "c") + rng.normal(0, 4, rows)).round()
    return pd.DataFrame({"sex": sex, "job": job, "age": age, "pay": pay, "weight": rng.choice([1.0, 2.0, 5.0], rows)})


def of_labels(own):
    """Figures that rest on random labels."""
    means = own.mean("pay", by="job"), own.mean("pay", by="job", weights="weight")
    slopes = own.regress("pay", on=["job", "age"]), own.regress("pay", on=["job", "age"], weights="weight")
    return [*means, *slopes, own.var("pay", by="job")]


@sweep(25, 400)
@pytest.mark.parametrize("how", ["beside numbers", "by a channel"])
def test_means_and_regressions_by_random_labels(how, count):
    people = of_people()
    if how == "by a channel":
        asked = {"public": "job", "epsilon": 0.3, "mechanism": Channel(publish_matrix=True)}
        layout = Layout(keep=["age", "pay", "weight"])
    else:
        asked = {"public": ["job", "age", "pay"], "epsilon": 3.0, "mechanism": "noise"}
        layout = Layout(keep="weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = calibrate(people, secret="sex", **asked)
        releases = [plan.release(people, rng=seed, layout=layout) for seed in range(count)]
    found = [of_labels(estimate(release)) for release in releases]
    naive = np.mean([release.groupby("job")["pay"].mean() for release in releases], axis=0)
    if how == "by a channel":  # groups as they were released are mixtures
        assert np.abs(naive - people.groupby("job")["pay"].mean()).max() > 0.5
    design = np.column_stack([np.ones(3000), people["job"] == "b", people["job"] == "c", people["age"]]).astype(float)
    weight, pay = people["weight"].to_numpy(), people["pay"].to_numpy()
    truth = [
        [pay[people["job"] == level].mean() for level in "abc"],
        [np.average(pay[people["job"] == level], weights=weight[people["job"] == level]) for level in "abc"],
        np.linalg.lstsq(design, pay, rcond=None)[0],
        np.linalg.lstsq(design * weight[:, None] ** 0.5, pay * weight**0.5, rcond=None)[0],
        [pay[people["job"] == level].var(ddof=1) for level in "abc"],
    ]
    assert [list(each.labels) for each in found[0]] == [["job"]] * 2 + [["term"]] * 2 + [["job"]]
    assert found[0][2].labels["term"] == ("intercept", "job_b", "job_c", "age")
    for k, true in enumerate(truth):
        values = np.array([each[k].value for each in found])
        errors = np.array([each[k].standard_error for each in found])
        ends = np.array([each[k].interval() for each in found])
        assert (np.abs(values.mean(axis=0) - true) < 4.5 * values.std(axis=0) / count**0.5).all()
        assert errors.mean(axis=0) == pytest.approx(values.std(axis=0), rel=2.5 / count**0.5)
        covered = ((ends[:, 0] <= true) & (true <= ends[:, 1])).mean(axis=0)
        # 17 intervals: 4 standard errors of a share of 400; those of the means held in .938 to .960 of 900 others
        assert (np.abs(covered - 0.95) <= (4 * (0.95 * 0.05 / count) ** 0.5 if count == 400 else 0.16)).all()


def test_the_mean_of_a_channel_whose_table_is_published_and_what_it_keeps():
    frame = released(public="wing", mechanism=Channel(publish_matrix=True), layout=Layout(keep=["town", "rooms"]))
    own = estimate(frame)
    check(own.mean("wing"), PEOPLE["wing"].mean())
    check(own.mean("wing", by="town"), PEOPLE.groupby("town")["wing"].mean())
    check(own.mean("rooms", by="wing"), PEOPLE.groupby("wing")["rooms"].mean())
    check(own.regress("rooms", on="wing"), np.polyfit(PEOPLE["wing"], PEOPLE["rooms"], 1)[::-1])
    kept = estimate(released(public="hobby", mechanism=Channel(preserve="marginal"))).value_counts("hobby")
    check(kept, PEOPLE["hobby"].value_counts().sort_index())
    mean = released(public="score", mechanism=Channel(preserve="mean"))
    check(estimate(mean).mean("score"), PEOPLE["score"].mean())
    assert "upper bound" in str(kept)
    with pytest.raises(PufferError, match="channel"):
        estimate(mean[mean["town"] == "x"]).mean("score")


def test_a_group_that_may_have_no_rows_has_no_mean():
    people = of_people()
    people["job"] = people["job"].where(people.index != 7, "rare")
    frame = privatize(people, secret="sex", public=["job", "age"], epsilon=1.0, mechanism="noise", rng=1)
    means = estimate(frame).mean("age", by="job")
    rare = means["rare"]
    assert math.isnan(rare.value)
    assert math.isnan(rare.interval().low)
    assert math.isfinite(means["a"].value)


@sweep(25, 400)
def test_correlations(count):
    people = of_people()
    plan = calibrate(people, secret="sex", public=["age", "pay"], epsilon=1.0, mechanism="noise")
    found = [estimate(plan.release(people, rng=seed)).corr(["age", "pay"]) for seed in range(count)]
    values, errors = (np.array([getattr(each, part)[0, 1] for each in found]) for part in ("value", "standard_error"))
    true = people["age"].corr(people["pay"])
    assert found[0].value.diagonal().tolist() == [1.0, 1.0]
    assert abs(values.mean() - true) < 4.5 * values.std() / count**0.5
    assert errors.mean() == pytest.approx(values.std(), rel=2.5 / count**0.5)
    assert abs((np.abs(values - true) < 1.96 * errors).mean() - 0.95) <= (0.03 if count == 400 else 0.16)


def test_counts_behind_a_channel_of_several_columns():
    first, other = (np.where(RNG.random(ROWS) < np.where(GROUP == "a", *shares), *names) for shares, names in PAIRS)
    people = pd.DataFrame({"group": GROUP, "hobby": first, "town": other})
    asked = {"public": ["hobby", "town"], "mechanism": Channel(publish_matrix=True), "epsilon": 0.5, "rng": 1}
    own = estimate(privatize(people, secret="group", **asked))
    pairs = own.value_counts(["town", "hobby"])
    assert list(pairs.labels) == ["town", "hobby"]
    truth = people.groupby(["town", "hobby"]).size()
    check(pairs, [truth[pair] for pair in zip(*pairs.labels.values(), strict=True)])
    for name in ("hobby", "town"):
        alone = own.value_counts(name)
        check(alone, [(people[name] == level).sum() for level in alone.labels[name]])
        level = alone.labels[name][0]
        parts = [k for k, found in enumerate(pairs.labels[name]) if found == level]
        assert alone[level].value == pytest.approx(pairs.value[parts].sum())
        assert alone[level].standard_error ** 2 == pytest.approx(pairs.covariance[np.ix_(parts, parts)].sum())
    with pytest.raises(PufferError, match="one channel"):
        estimate(released()).value_counts(["town", "rooms"])


def test_a_release_that_was_written_filtered_and_sorted(tmp_path):
    frame = released()
    path = tmp_path / "released.parquet"
    write_parquet(frame, path)
    certificate, again = read_certificate(path), pl.read_parquet(path)
    with pytest.raises(UncoveredFrameError, match="certificate"):
        estimate(again)
    assert estimate(again, certificate).mean("score").value == estimate(frame).mean("score").value
    assert not estimate(again, certificate).mean("score").notes
    some = again.filter(pl.col("town") == "x").sort("score")
    found = estimate(some, certificate)
    check(found.mean("score"), PEOPLE.loc[PEOPLE["town"] == "x", "score"].mean())
    assert "left out" in found.mean("score").notes[0]
    pandas = frame[frame["town"] != "x"]
    assert pandas.puffer.estimate().mean("score").rows == (PEOPLE["town"] != "x").sum()
    assert estimate(frame.drop(columns="rooms")).mean("score").value == estimate(frame).mean("score").value
    with pytest.raises(UncoveredFrameError, match="columns of the certificate"):
        estimate(frame.assign(age=3))
    with pytest.raises(UncoveredFrameError, match="collected or written"):
        estimate(again.lazy(), certificate)


CHANGES = {
    "rounded": lambda frame: frame.assign(score=frame["score"].round(3)),
    "multiplied on the grid": lambda frame: frame.assign(score=3 * frame["score"]),
    "negated": lambda frame: frame.assign(score=-frame["score"]),
    "shifted": lambda frame: frame.assign(score=frame["score"] + 10),
    "clipped at a released value": lambda frame: frame.assign(score=frame["score"].clip(frame["score"].iloc[0])),
    "sorted by itself": lambda frame: frame.assign(score=np.sort(frame["score"])),
    "narrower": lambda frame: frame.assign(score=frame["score"].astype(np.float32)),
    "resampled": lambda frame: frame.sample(ROWS, replace=True, random_state=1, ignore_index=True),
    "one row": lambda frame: frame.iloc[[0] * ROWS].reset_index(drop=True),
    "half twice": lambda frame: pd.concat([frame.head(ROWS // 2)] * 2, ignore_index=True),
    "a kept column permuted": lambda frame: frame.assign(town=frame["town"].sample(frac=1, random_state=1).to_numpy()),
    "a kept column overwritten": lambda frame: frame.assign(town="z"),
}
REFUTED = ("rounded", "clipped at a released value", "narrower", "resampled", "one row", "half twice")
"""Without all rows or columns."""


@pytest.mark.parametrize("name", CHANGES)
def test_where_all_rows_are_there_the_fingerprint_decides(name):
    with pytest.raises(UncoveredFrameError, match="as it was made"):
        CHANGES[name](released()).puffer.estimate()


@pytest.mark.parametrize("name", CHANGES)
def test_where_rows_are_missing_it_is_refuted_or_assumed(name):
    frame = CHANGES[name](released()).tail(ROWS - 9)
    if name in REFUTED:
        with pytest.raises(UncoveredFrameError, match="the values of 'score' must be as"):
            frame.puffer.estimate().mean("score")
        return
    own = frame.puffer.estimate()
    for found in (
        own.mean("score", by="town"),
        own.mean("score", by="town")[own.mean("score", by="town").labels["town"][0]],
    ):
        assert len(found.assumptions) == 2
        assert str(found).count("  assumed ") == 2


def test_rows_in_another_order_and_without_a_column():
    """The index undoes a sort; without a column nothing can be compared, which is said."""
    frame = released()
    moved = frame.sort_values("score").puffer.estimate()
    assert moved.mean("score").value == pytest.approx(frame.puffer.estimate().mean("score").value, rel=1e-12)
    assert moved.mean("score").assumptions == ()
    with pytest.raises(UncoveredFrameError, match="another order"):
        frame.sort_values("score", ignore_index=True).puffer.estimate()
    fewer = frame.drop(columns="rooms").puffer.estimate()
    assert len(fewer.var("score").assumptions) == len(fewer.value_counts("town").assumptions) == 1
    assert "assumed" in str(fewer)


def test_repeated_and_changed_rows_are_found():
    # By the noise of a column that the estimate is not of
    frame = released(given=Strata("town", minimum=1), layout=Layout(keep="rooms")).sample(
        ROWS // 2, replace=True, random_state=1
    )
    with pytest.raises(UncoveredFrameError, match="equal ones"):
        frame.reset_index(drop=True).puffer.estimate().value_counts("rooms")
    for changed in (lambda v: v + 0.5, lambda v: v * 0 + 4):
        frame = released(**laid_out(ASKED, round=True))
        frame["score"] = changed(frame["score"])
        with pytest.raises(UncoveredFrameError, match="the values of 'score' must be as"):
            frame.tail(ROWS - 1).puffer.estimate().quantile("score")
    part = released(**laid_out(ASKED, clip=(0.0, 11.0))).tail(ROWS - 1)
    assert part.puffer.estimate().quantile("score", support=1, resamples=2).value >= 0  # many values at the bounds


def test_a_refined_release_is_taken_by_itself(tmp_path):
    plan, key = calibrate(PEOPLE, **{k: v for k, v in ASKED.items() if k not in ("layout", "rng")}), tmp_path / "key"
    once = plan.release(PEOPLE, layout=Layout(keep=["town"], refine_key=key))
    twice = plan.refine(PEOPLE, once, epsilon=2.5, key=key)
    check(estimate(twice).mean("score"), PEOPLE["score"].mean(), most=6)  # what is refined has no seed
    assert estimate(twice).mean("score").standard_error < 0.7 * estimate(once).mean("score").standard_error
    moved = twice.sample(frac=0.5, random_state=1)
    check(moved.puffer.estimate().var("score"), PEOPLE["score"].var(), most=6)  # of half of the rows


def test_the_population_has_wider_intervals():
    frame = released()
    one, other = estimate(frame), estimate(frame, target="population")
    for statistic in ("mean", "var"):
        found = [getattr(own, statistic)("score") for own in (one, other)]
        assert found[0].value == found[1].value
        assert found[0].standard_error < found[1].standard_error
    slopes = [own.regress("rooms", on="score") for own in (one, other)]
    assert (slopes[0].standard_error < slopes[1].standard_error).all()
    assert "population" in str(slopes[1])
    many = PEOPLE.assign(who=PEOPLE["group"] + (PEOPLE.groupby("group").cumcount() // 2).astype(str))
    rows = privatize(many, **ASKED | {"layout": Layout(keep=()), "unit": Unit("who", rows="independent")})
    check(estimate(rows).mean("score"), PEOPLE["score"].mean())


def test_texts():
    own = estimate(released(domain={"score": (0, 8)}))
    assert "with noise         score" in str(own)
    mean = own.mean("score", by="town")
    assert str(mean).startswith("Estimate: mean of score by town\n")
    assert "clipped" in str(mean)
    assert "<table>" in mean._repr_html_()
    many = own.quantile("score", np.linspace(0.01, 0.99, 40), resamples=5)
    assert "and 16 more" in str(many)
    assert "intervals hold less often" in " ".join(many.notes)
    assert "intervals hold less often" in " ".join(own.histogram("score", resamples=5).notes)
    assert not own.histogram("rooms", resamples=5).notes  # without noise
    with pytest.raises(UncoveredFrameError, match='read_certificate\\("FILE"\\)'):
        estimate(PEOPLE)


STATISTICS = {
    "mean": lambda own, name: own.mean(name),
    "var": lambda own, name: own.var(name),
    "quantile": lambda own, name: own.quantile(name, [0.2, 0.7], resamples=3),
    "histogram": lambda own, name: own.histogram(name, 4, resamples=3),
    "value_counts": lambda own, name: own.value_counts(name),
}


OF_ROWS = [name for name, asked in CASES.items() if asked["verb"] in ("privatize", "release")]


@few(16)
@pytest.mark.parametrize("name", thinned([*OF_ROWS, "sum", "series"], few=[n for n in OF_ROWS if "stable" not in n]))
def test_every_kind_of_certificate_has_a_number_or_a_refusal(name):
    """Numbers are finite with standard errors, and at least one statistic is there or the refusal says why."""
    frame = release_of_case(name)
    certificate = certificate_of(frame)
    if certificate.answers:
        with pytest.raises(PufferError, match="table of answers"):
            estimate(frame)
        return
    own, got = estimate(frame), {}
    for statistic, ask in STATISTICS.items():
        for column in certificate.public:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", category=puffer_frames.WideNoiseWarning)
                try:
                    found = ask(own, column)
                except PufferError as error:
                    got[statistic, column] = str(error)
                    continue
            assert np.isfinite(np.ravel(found.value)).all()
            assert (np.ravel(found.standard_error) >= 0).all()
            got[statistic, column] = None
    noisy = [column for column in certificate.scales if not any(s.key == "remap" for s in certificate.statements)]
    for column in noisy:
        for statistic in ("quantile", "histogram"):  # of few rows the noise hides the spread
            assert got[statistic, column] is None or "swamps" in got[statistic, column]
        whole = name == "release, dates"  # rounding then moves the noise alone
        plain = (whole or column not in certificate.processed) and "stable" not in certificate.noise
        assert (got["mean", column] is None) == (got["var", column] is None) == plain
    for column, said in certificate.channels.items():
        known = "matrix" in said or "count" in said or said["preserve"] == "marginal"
        assert (got["value_counts", column] is None) == known


KEPT_BESIDE_NOISE = {
    "day": pd.date_range("2020", periods=400),
    "hours": pd.to_timedelta(np.arange(400), unit="h"),
    "tiny": np.full(400, 1e-308),
    "one": np.ones(400),
    "huge": np.where(np.arange(400) % 2, 1e308, 1.0),
}


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_what_a_channel_keeps_of_the_rows_is_not_that_of_a_population():
    """Of 60 intervals at 95 % for a population 47 held, and of those of means 41 of 55."""
    held = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        group = rng.random(1500) < 0.5
        frame = pd.DataFrame({"g": group, "x": np.where(rng.random(1500) < np.where(group, 0.3, 0.6), 1, 0)})
        asked = {"secret": "g", "public": "x", "epsilon": 0.3, "rng": seed}
        found = privatize(frame, **asked, mechanism=Channel(preserve="marginal"))
        low, high = estimate(found, target="population").value_counts("x")[1].interval()
        held += low <= 0.45 * 1500 <= high
    assert held >= 53
    mean = privatize(frame, **asked, mechanism=Channel(preserve="mean"))
    assert math.isfinite(estimate(mean).mean("x").standard_error)
    with pytest.raises(PufferError, match='"table" for a mean that the channel keeps'):
        estimate(mean, target="population").mean("x")


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_kept_columns_that_no_figure_can_be_of(library):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 400), "x": rng.integers(0, 5, 400), **KEPT_BESIDE_NOISE})
    frame = frame if library == "pandas" else pl.from_pandas(frame)
    released = privatize(
        frame,
        secret="g",
        public="x",
        epsilon=1.0,
        mechanism="noise",
        layout=Layout(keep=[*KEPT_BESIDE_NOISE]),
        allow_zero_noise=True,
    )
    asked = estimate(released)
    for call in (asked.mean, asked.var, asked.value_counts, lambda name: asked.regress("x", on=name)):
        for name in ("day", "hours"):
            with pytest.raises(ArgumentTypeError, match="of numbers or labels; got dtype"):
                call(name)
    with pytest.raises(ArgumentError, match="weights"):
        asked.mean("x", weights="tiny")
    with pytest.raises(ArgumentError, match="of different values, for a correlation"):
        asked.corr("x", "one")
    with pytest.raises(ArgumentError, match="beyond 1e301"):
        asked.mean("huge")
