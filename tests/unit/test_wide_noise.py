"""Warnings of noise that is of little use, and fitted models that decide it."""

import json
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import puffer_frames
from puffer_frames import Channel, Layout, Noise, Strata, Unit, WideNoiseWarning, certificate_of, load_plan
from puffer_frames.core import Prior
from puffer_frames.mechanisms.channel import best
from puffer_frames.mechanisms.noise import rows_seen
from puffer_frames.priors.law_set import is_refuted
from puffer_frames.scales import columns
from puffer_frames.verbs.plans.file import digest_of

RNG = np.random.default_rng(4)
ROWS = 600
GROUP = RNG.choice(["a", "b"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 6, ROWS) + 5 * (GROUP == "a"),
        "far": RNG.integers(0, 400, ROWS).astype(float),
        "pet": np.where(RNG.random(ROWS) < 0.8, "cat", RNG.choice(["dog", "fox"], ROWS)),
    }
)


def warned(call):
    """What a call warns of, by its reason."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = call()
    return made, {each.message.reason: each.message for each in caught if each.category is WideNoiseWarning}


def test_a_constant_that_is_nearer_is_warned_of_by_column():
    options = {"secret": "group", "public": ["score", "far", "pet"], "epsilon": 1.0}
    for call in (PEOPLE.puffer.calibrate, PEOPLE.puffer.privatize):
        found = warned(lambda call=call: call(**options))[1]
        assert set(found) == {"constant"}
        assert found["constant"].columns == ("score", "pet")
        assert "'score', 'pet'" in str(found["constant"])
        assert not any(
            character.isdigit() for character in str(found["constant"])
        )  # an error is a statistic of the table
    plan = PEOPLE.puffer.calibrate(**options)
    away = (PEOPLE["score"] - PEOPLE["score"].median()).abs().mean()
    assert plan.expected_error["score"] > away
    assert not warned(lambda: PEOPLE.puffer.calibrate(**options | {"epsilon": 30.0}))[1]


def test_the_hint_of_a_useless_column_works():
    options = {"secret": "group", "public": "score", "epsilon": 0.7}
    plan, found = warned(lambda: PEOPLE.puffer.calibrate(**options))
    assert 'mechanism="channel"' in str(found["constant"])
    channel = PEOPLE.puffer.calibrate(mechanism="channel", **options).channels["score"]
    assert channel.expected_error <= channel.constant_error < plan.expected_error["score"]
    for beliefs in (puffer_frames.Contamination(share=1.0), "population"):  # a channel: no better, or an error
        _, found = warned(lambda beliefs=beliefs: PEOPLE.puffer.calibrate(beliefs=beliefs, **options))
        assert "channel" not in str(found["constant"])
    _, found = warned(lambda: PEOPLE.puffer.calibrate(mechanism=Noise(theorem="bounded"), **options))
    assert "Its guarantee is weaker" in str(found["constant"])
    units = PEOPLE.assign(who=range(ROWS))
    _, found = warned(lambda: units.puffer.calibrate(unit=Unit("who", rows="independent"), **options))
    assert "channel" not in str(found["constant"])  # which has no units


def test_noise_that_a_channel_beats_is_warned_of():
    table = PEOPLE.assign(far=PEOPLE["far"].round(-1) + 150 * (PEOPLE["group"] == "a"))
    options = {"secret": "group", "public": "far", "epsilon": 2.3}
    plan, found = warned(lambda: table.puffer.calibrate(**options))
    assert set(found) == {"mechanism"}
    assert (
        table.puffer.calibrate(mechanism="channel", **options).channels["far"].expected_error
        < plan.expected_error["far"]
    )
    for named in (
        {"mechanism": "noise"},
        {"mechanism": Noise(theorem="kantorovich")},
        {"mechanism": Noise(puffer_frames.Stable(alpha=1.9))},
    ):
        assert "mechanism" not in warned(lambda named=named: table.puffer.calibrate(**options | named))[1]


def test_labels_that_are_missing_or_alone():
    # Counts of the labels of two secrets were added although one had fewer labels
    table = PEOPLE.assign(pet=np.where((PEOPLE["pet"] == "fox") & (PEOPLE["group"] == "a"), "cat", PEOPLE["pet"]))
    plan = table.puffer.calibrate(secret="group", public=["pet", "score"], epsilon=1.0)
    changed = 1 - table["pet"].value_counts(normalize=True).max()
    assert f"changes {changed:.4g} of them" in " ".join(str(plan).split())
    _, found = warned(
        lambda: PEOPLE.puffer.calibrate(secret="group", public="score", epsilon=1e-4, mechanism=Channel())
    )
    assert found["constant"].columns == ("score",)


def test_a_remap_that_is_a_constant_and_a_stratum_of_no_use():
    remapped = {"secret": "group", "public": "score", "mechanism": Noise(remap=True), "epsilon": 0.01}
    _, found = warned(lambda: PEOPLE.puffer.calibrate(**remapped))
    assert found["constant"].columns == ("score",)
    ward = RNG.integers(0, 3, ROWS)
    wide = np.where(ward == 0, RNG.integers(0, 3, ROWS) + 2.0 * (GROUP == "a"), RNG.integers(0, 900, ROWS))
    table = PEOPLE.assign(ward=ward, wide=wide)
    options = {"secret": "group", "public": "wide", "given": "ward", "epsilon": 1.0, "beliefs": "empirical"}
    plan, found = warned(lambda: table.puffer.calibrate(**options))
    narrow = table[ward == 0]["wide"]
    assert plan.strata[(0,)]["wide"] > (narrow - narrow.median()).abs().mean()
    assert "strata" in str(found["constant"])


def test_a_few_small_strata_are_not_said_to_be_all(tmp_path):
    """Of the rows 90 % had half the error of a constant, and the certificate said that no value is of use."""
    rng = np.random.default_rng(7)
    sex, site = rng.choice(["f", "m"], 1500), rng.choice(["A", "B", "C", "D"], 1500, p=[0.65, 0.3, 0.03, 0.02])
    score = np.clip(np.round(rng.normal(60 + 6 * (sex == "m"), 20)), 0, 100)
    table = pd.DataFrame({"sex": sex, "site": site, "score": score})
    asked = {"secret": "sex", "public": "score", "epsilon": 1.0}
    plan, found = warned(lambda: table.puffer.calibrate(**asked, given="site"))
    constant, noise = (table["score"] - table["score"].median()).abs().mean(), plan.strata
    assert [noise[z,]["score"] > constant for z in "ABCD"] == [False, False, True, True]
    share = f"2 of 4 strata, with {100 * np.isin(site, ['C', 'D']).mean():.3g} % of the rows"
    assert share in str(found["constant"])
    assert "given=Strata('site', merge=True)" in str(found["constant"])
    plan.save(tmp_path / "plan.json")
    for one in (plan, load_plan(tmp_path / "plan.json")):
        certificate = certificate_of(one.release(table))
        assert (certificate.warnings, certificate.useless) == (("useless-strata",), ())
        assert all(share in " ".join(str(each).split()) for each in (certificate, one))
        later = certificate_of(one.release(table[:1400], allow_other_frame=True, allow_drift=True))
        (said,) = [each.text for each in later.statements if each.key == "useless-strata"]
        assert "score in 2 of 4 strata of the table" in said
        one.report(tmp_path / "page.html", overwrite=True)
        assert "drowns" not in (tmp_path / "page.html").read_text()
    assert not warned(lambda: table.puffer.calibrate(**asked, given=Strata("site", merge=True)))[1]
    low, _ = warned(lambda: table.puffer.calibrate(**asked | {"epsilon": 0.05}, given="site"))
    assert certificate_of(low.release(table)).useless == ("score",)


def test_a_constant_per_stratum_is_not_said_to_be_one(tmp_path):
    """Of strata far apart each has a constant that is nearer, and no constant is near to all of them."""
    ward = np.random.default_rng(5).choice(["k", "l"], ROWS)
    table = PEOPLE.assign(ward=ward, far=PEOPLE["score"] + np.where(ward == "k", 0, 1000))
    plan, found = warned(lambda: table.puffer.calibrate(secret="group", public="far", epsilon=0.5, given="ward"))
    assert "2 of 2 strata, with 100 % of the rows" in str(found["constant"])
    plan.save(tmp_path / "plan.json")
    for one in (plan, load_plan(tmp_path / "plan.json")):
        certificate = certificate_of(one.release(table))
        assert (certificate.warnings, certificate.useless) == (("useless-strata",), ())
    old = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    del old["plan"]["plan"]["strata"]["constants"]
    old["digest"] = digest_of(old["plan"], schema=old["schema"])
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    assert not certificate_of(load_plan(tmp_path / "old.json").release(table)).warnings  # as they said before


def test_columns_are_not_blamed_alone_where_rows_were_left_out():
    rng = np.random.default_rng(0)
    sex, job = rng.choice(["f", "m"], 2200), rng.choice(["x", "y", "z"], 2200)
    pay = np.where(rng.random(2200) < 0.4, np.nan, np.exp(rng.normal(10, 1, 2200) + 0.5 * (sex == "m")).round())
    table = pd.DataFrame({"sex": sex, "job": job, "pay": pay})
    _, found = warned(lambda: table.puffer.calibrate(secret="sex", epsilon=0.5, nulls="drop"))
    assert 'keep the rows that nulls="drop" leaves out: from 2,000 rows on' in str(found["constant"])


def test_too_many_secrets_are_warned_of(monkeypatch):
    options = {"secret": "group", "public": ["score", "far"], "epsilon": 1.0}
    exact, found = warned(lambda: PEOPLE.puffer.calibrate(**options))
    assert "rows" not in found
    monkeypatch.setattr(rows_seen, "MOST_SECRETS", 1)
    wide, found = warned(lambda: PEOPLE.puffer.calibrate(**options))
    assert wide.theorem == "bounded"
    assert exact.theorem != "bounded"
    assert found["rows"].columns == ("score", "far")
    with pytest.raises(puffer_frames.errors.CalibrationError, match="Group rare secrets"):
        PEOPLE.puffer.calibrate(mechanism=Noise(theorem="kantorovich"), **options)


def clusters(count, rows, *, width):
    """Values that say nothing of the group, but for the chance with which they fall into the clusters."""
    return pd.DataFrame(
        {"group": RNG.choice(["a", "b"], rows), "x": 100.0 * RNG.integers(0, count, rows) + RNG.normal(0, width, rows)}
    )


@pytest.mark.parametrize("width", [1e-6, 0.01])
def test_tight_clusters_are_fitted(width):
    """Five clusters of width 1e-4 were two components, whose noise was 354 where the observed law needs 0.0004."""
    plan, found = warned(
        lambda: clusters(5, 800, width=width).puffer.calibrate(secret="group", public="x", epsilon=1.0)
    )
    assert "fit" not in found
    assert plan.scale <= 2 * plan.scale_per_belief["empirical"]
    assert all(prior.means.size == 5 for prior in plan.priors.values())


def test_a_refuted_model_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr(columns, "_REFITTED_SECRETS", 0)
    table = clusters(9, 6000, width=1.0)
    options = {"secret": "group", "public": "x", "epsilon": 1.0}
    plan, found = warned(lambda: table.puffer.calibrate(**options))
    observed = table.puffer.calibrate(**options, beliefs="empirical")
    fitted = table.puffer.calibrate(**options, mechanism=Noise(theorem="gmm"), beliefs="fitted")
    assert "fit" not in found
    assert (plan.theorem, set(plan.beliefs)) == ("kantorovich", {"empirical"})
    assert plan.scale == pytest.approx(observed.scale, rel=1e-9)
    assert plan.choice.left_out == fitted.scale > 2 * plan.scale
    assert "left out: the table refutes it" in " ".join(str(plan).split())
    plan.save(tmp_path / "plan.json")
    released = load_plan(tmp_path / "plan.json").release(table)
    assert {"fit-left-out"} <= {statement.key for statement in certificate_of(released).statements}


def test_a_refuted_model_that_was_asked_for_is_warned_of(monkeypatch, tmp_path):
    monkeypatch.setattr(columns, "_REFITTED_SECRETS", 0)
    table = clusters(9, 6000, width=1.0)
    options = {"secret": "group", "public": "x", "epsilon": 1.0, "mechanism": Noise(theorem="gmm")}
    for beliefs in ("fitted", ("fitted", "empirical")):
        plan, found = warned(lambda beliefs=beliefs: table.puffer.calibrate(**options, beliefs=beliefs))
        assert "refutes" in str(found["fit"])
        texts = {statement.key: statement.text for statement in certificate_of(plan.release(table)).statements}
        assert "refutes it at 95 %" in texts["fit-decides"]
        plan.save(tmp_path / "plan.json")
        assert load_plan(tmp_path / "plan.json").choice.remarks == plan.choice.remarks == {"wide fit", "refuted fit"}
    few = clusters(40, 900, width=1.0)  # too few to refute it
    _, found = warned(lambda: few.puffer.calibrate(**options))
    assert "refutes" not in str(found["fit"])
    assert 'beliefs="empirical"' in str(found["fit"])
    wider = few.puffer.calibrate(**options, beliefs=("fitted", "empirical", "population"))
    assert wider.choice.binding_belief == "population"
    assert "fit-decides" not in {statement.key for statement in certificate_of(wider.release(few)).statements}
    assert (
        "fit"
        not in warned(
            lambda: few.puffer.calibrate(**options | {"mechanism": Noise(theorem="auto")}, beliefs="empirical")
        )[1]
    )


@pytest.mark.parametrize("asked", ["exact", "theorem"])
def test_a_refuted_model_that_decides_with_little_more_noise_is_named(asked, tmp_path):
    """Of uniform values: less than twice the noise is no warning, but the plan and the certificate say whose it is."""
    rng = np.random.default_rng(0)
    group = rng.choice(["a", "b"], 2400)
    x = np.where(group == "a", rng.uniform(0, 1, 2400), rng.uniform(0.3, 2, 2400))
    table = pd.DataFrame({"group": group, "x": x, "ward": rng.integers(0, 2, 2400)})
    mechanism = Noise(theorem="gaussian", calibration=asked)
    options = {"secret": "group", "public": "x", "epsilon": 1.0, "mechanism": mechanism}
    plan, found = warned(lambda: table.puffer.calibrate(**options))
    assert "fit" not in found
    times = f"{plan.scale / plan.scale_per_belief['empirical']:.4g} times that of the observed frequencies alone"
    assert (times in " ".join(str(plan).split())) == (asked == "exact")
    plan.save(tmp_path / "plan.json")
    strata = table.puffer.calibrate(**options, given="ward")
    strata.save(tmp_path / "strata.json")
    alike = table.puffer.calibrate(**options, given=Strata("ward", scale="one"))
    loaded = load_plan(tmp_path / "strata.json")
    for one in (plan, load_plan(tmp_path / "plan.json"), strata, loaded, alike):
        texts = {statement.key: statement.text for statement in certificate_of(one.release(table)).statements}
        assert "the table of the plan refutes it at 95 % (Kolmogorov-Smirnov)" in texts["fit-refuted"]
        assert ("at most twice" in texts["fit-refuted"]) == (asked == "exact")
        assert ("decides the noise of some strata" in texts["fit-refuted"]) == (one is strata or one is loaded)
        assert "the table refutes it" in " ".join(str(one).split())
    without = {"beliefs": "empirical"}
    if asked == "theorem":
        without = {"mechanism": replace(mechanism, theorem="kantorovich")}
    hint = 'beliefs="empirical" leaves' if asked == "exact" else 'Noise(theorem="kantorovich") leaves'
    assert hint in " ".join(str(plan).split())
    plain = table.puffer.calibrate(**options | without)
    assert "refutes it" not in str(plain)
    assert "fit-refuted" not in {statement.key for statement in certificate_of(plain.release(table)).statements}


def test_a_plan_of_strata_whose_models_decide_is_kept(tmp_path):
    table = clusters(40, 1200, width=1.0).assign(ward=RNG.integers(0, 2, 1200))
    plan, found = warned(lambda: table.puffer.calibrate(secret="group", public="x", given="ward", epsilon=1.0))
    assert "fit" in found
    plan.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json").choices["x"].remarks == plan.choices["x"].remarks


def test_more_components_where_they_are_needed():
    plan, found = warned(lambda: clusters(8, 1500, width=1.0).puffer.calibrate(secret="group", public="x", epsilon=1.0))
    assert "fit" not in found
    assert max(prior.means.size for prior in plan.priors.values()) > 5
    assert plan.scale <= 2 * plan.scale_per_belief["empirical"]


def test_a_true_law_is_hardly_ever_refuted():
    law = Prior.mixture([0.3, 0.7], [0.0, 5.0], [1.0, 0.5])
    refuted = 0
    for _ in range(400):
        first = RNG.random(200) < 0.3
        values = np.sort(np.where(first, RNG.normal(0, 1, 200), RNG.normal(5, 0.5, 200)))
        refuted += is_refuted(law, (values, np.ones(200, dtype=np.int64)))
    assert refuted <= 400 * 0.05 + 3 * np.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize(("shift", "rows"), [(0.3, 300), (0.3, 20), (0.02, 300), (1.0, 40)])
def test_a_wrong_law_is_refuted_as_the_kolmogorov_smirnov_test_does(shift, rows):
    values = np.sort(RNG.normal(shift, 1, rows))
    found = kstest(values, "norm")
    refuted = is_refuted(Prior.gaussian(0, 1), (values, np.ones(rows, dtype=np.int64)))
    limit = np.sqrt(np.log(40) / (2 * rows))
    if abs(found.statistic - limit) > 1 / rows:  # between neighbouring values, not at them
        assert refuted == (found.statistic > limit)


def test_a_column_that_a_joint_channel_makes_constant_is_warned_of():
    """Together the two are nearer to the values than one constant row, and one of them is a constant."""
    rng = np.random.default_rng(0)
    secret = rng.choice(["a", "b", "c"], 2000)
    place = np.clip(rng.integers(0, 4, 2000) + (secret == "b") * 2, 0, 5)
    frame = pd.DataFrame({"s": secret, "one": np.array(list("pqrstu"))[place], "two": rng.choice(["v", "w"], 2000)})
    asked = {"secret": "s", "public": ["one", "two"], "mechanism": "channel"}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.02))
    assert plan.release(frame)["one"].nunique() == 1
    assert found["constant"].columns == ("one",)
    assert "constant" not in warned(lambda: frame.puffer.calibrate(**asked, epsilon=1.0))[1]


def test_a_channel_whose_values_do_not_follow_the_raw_ones_is_warned_of_and_not_advised():
    """Of two normals it released high values as low ones, and the noise's warning had advised it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": GROUP, "x": rng.normal(size=ROWS) + 1.5 * (GROUP == "a")})
    asked = {"secret": "s", "public": "x"}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.3, mechanism="channel"))
    assert found["correlation"].columns == ("x",)
    correlation, error = plan.channels["x"].utility.correlation, plan.channels["x"].utility.squared
    released = [plan.release(frame, rng=k)["x"] for k in range(20)]
    spread = frame["x"].std()
    assert abs(np.mean([each.corr(frame["x"]) for each in released]) - correlation) < 0.05
    assert abs(np.mean([((each - frame["x"]) ** 2).mean() ** 0.5 / spread for each in released]) - error) < 0.05
    certificate = certificate_of(plan.release(frame))
    assert "channel-loose" in certificate.warnings
    assert "HARDLY FOLLOW" in str(plan)
    assert "HARDLY FOLLOW" in str(certificate)
    assert "channel" not in str(warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.3))[1]["constant"])
    assert not warned(lambda: frame.puffer.calibrate(**asked, epsilon=2.0, mechanism="channel"))[1]


def test_a_remap_whose_values_do_not_follow_or_whose_mean_is_off_is_warned_of():
    """Of claims, most of them none, the mean fell by 61 %, and the plan said that all values can be released."""
    rng = np.random.default_rng(0)
    amounts = np.where(rng.random(ROWS) < 0.7 - 0.2 * (GROUP == "a"), 0, np.exp(rng.normal(7, 1, ROWS)).round(-1))
    asked = {"secret": "s", "public": "x", "mechanism": Noise(remap=True)}
    frame = pd.DataFrame({"s": GROUP, "x": amounts})
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=3.0))
    own, released = plan.utility("x"), [plan.release(frame, rng=k)["x"] for k in range(20)]
    off = np.mean([each.mean() for each in released]) - amounts.mean()
    assert found["tail"].columns == ("x",)
    assert abs(off - own.moved) < 0.05 * abs(off)
    upto = [np.mean([(each <= x).mean() for each in released]) - (amounts <= x).mean() for x in np.unique(amounts)]
    assert abs(np.abs(upto).max() - own.below) < 0.02
    assert "THE MEAN IS OFF" in str(plan)
    assert "remap-means" in certificate_of(plan.release(frame)).warnings
    three = pd.concat([frame, pd.DataFrame({"s": ["c"] * 900, "x": [0.0] * 900})], ignore_index=True)
    three = three.sample(frac=1, random_state=1, ignore_index=True)
    listed = warned(lambda: three.puffer.calibrate(**asked, epsilon=3.0, pairs=[("a", "b")]))[0]
    said = {each.key: each.text for each in certificate_of(listed.release(three)).statements}
    assert "over the rows of the protected secrets that the plan was made from" in said["remap-means"]
    normal = pd.DataFrame({"s": GROUP, "x": rng.normal(size=ROWS) + 1.5 * (GROUP == "a")})
    plan, found = warned(lambda: normal.puffer.calibrate(**asked, epsilon=0.6))
    released = [plan.release(normal, rng=k)["x"] for k in range(20)]
    correlation, error = plan.utility("x").correlation, plan.utility("x").squared
    assert abs(np.mean([each.corr(normal["x"]) for each in released]) - correlation) < 0.05
    squares = [((each - normal["x"]) ** 2).mean() ** 0.5 for each in released]
    assert abs(np.mean(squares) / normal["x"].std() - error) < 0.05
    assert ("correlation" in found, "tail" in found, correlation < 0.5) == (True, False, True)
    assert "channel-loose" in certificate_of(plan.release(normal)).warnings
    fine = warned(lambda: normal.puffer.calibrate(**asked, epsilon=5.0))
    assert not fine[1]


def test_no_channel_is_looked_for_where_secrets_are_many(monkeypatch):
    """Of 300 it took five seconds, and the rest of the plan 0.2."""
    monkeypatch.setattr(best, "find", None)
    frame = pd.DataFrame({"group": np.arange(2000) % 200, "x": np.random.default_rng(0).normal(size=2000)})
    _, found = warned(lambda: frame.puffer.calibrate(secret="group", public="x", epsilon=1.0))
    assert "constant" in found


def test_a_channel_of_labels_whose_shares_are_off_is_warned_of():
    """Of twelve months by job four were left, and nothing was said."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 3000)
    pet = np.where(rng.random(3000) < 0.5, 2 * place + rng.integers(0, 2, 3000), rng.integers(0, 12, 3000))
    frame = pd.DataFrame({"s": np.array(list("abcdef"))[place], "pet": np.array(list("ABCDEFGHIJKL"))[pet]})
    asked = {"secret": "s", "public": "pet"}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.5))
    released = plan.release(frame, rng=0)["pet"]
    before, after = (column.value_counts(normalize=True) for column in (frame["pet"], released))
    assert set(found) == {"shares"}
    off = plan.fitted.shifted_columns["pet"]
    assert off.shift > 0.05
    assert set(off.lost) == set(before.index) - set(after.index)
    lost = len(off.lost)
    assert lost > 0
    certificate = certificate_of(plan.release(frame))
    assert certificate.warnings == ("channel-shares",)
    assert f"{lost} levels hardly ever released" in " ".join(str(certificate).split())
    kept, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.5, mechanism=Channel(preserve="marginal")))
    assert "shares" not in found
    assert not kept.fitted.shifted_columns


@pytest.mark.parametrize(("rare", "away"), [("maternity leave", 0.04), ("endometriosis", 0.015)])
def test_a_level_that_a_channel_never_releases_is_warned_of_and_named_by_the_plan(rare, away):
    """A level of 3.7 % was gone, and one of 1.5 %, and another came twice as often: it is off by less than 0.05."""
    rng, rows = np.random.default_rng(4), 4000
    sex = rng.choice(["f", "m"], rows)
    own = rng.random(rows) < 2 * away
    label = np.where(own & (sex == "f"), rare, rng.choice(["none", "sick leave", "holiday"], rows, p=[0.7, 0.15, 0.15]))
    frame = pd.DataFrame({"sex": sex, "x": label})
    asked = {"secret": "sex", "public": "x", "epsilon": 1.0}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked))
    released = plan.release(frame)
    assert rare not in set(released["x"])
    assert plan.fitted.shifted_columns["x"].shift < 0.05
    assert "1 level is hardly ever released" in str(found["shares"])
    assert f"1 level hardly ever released: {rare}" in " ".join(str(plan).split())
    certificate = certificate_of(released)
    assert certificate.warnings == ("channel-shares",)
    assert rare not in str(certificate)
    assert "shows those that come in it, which need not be all" in " ".join(str(certificate).split())
    assert not warned(lambda: frame.puffer.calibrate(**asked | {"epsilon": 5.0}))[1]


@pytest.mark.parametrize(("fewest", "is_much"), [(30, True), (10, False)])
def test_many_rows_whose_levels_are_merged_are_warned_of(fewest, is_much, tmp_path):
    """Of 70 % of the rows the town was lost, and all figures were those of what was left: an error of 0.07 %."""
    rng, rows = np.random.default_rng(6), 600
    often, towns = rng.choice(["Big City", "Port"], rows), [f"T{k:02d}" for k in rng.integers(0, 30, rows)]
    town = np.where(rng.random(rows) < (0.3 if is_much else 0.95), often, towns)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], rows), "town": town})
    asked = {"secret": "sex", "public": "town", "epsilon": 2.0, "mechanism": Channel(merge_rare=fewest)}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked))
    merged = frame["town"].map(frame["town"].value_counts()) < fewest
    assert ("MANY ROWS LOSE" in str(plan), "shares" in found) == (is_much, is_much)
    share = f"{frame['town'][merged].nunique()} rare levels, of {100 * merged.mean():.3g} % of the rows, into one"
    assert share in " ".join(str(plan).split())
    assert plan.fitted.error_unit.endswith("of the levels as merged")
    assert not is_much or f"with {merged.mean():.0%} of the rows are merged" in str(found["shares"])
    assert list(frame.puffer.compare(**asked)["reason"]) == ["the error is of the levels as merged"]
    certificate = certificate_of(frame.puffer.privatize(**asked, layout=Layout(publish="expected_error")))
    assert certificate.warnings == ("channel-much-merged",) * is_much
    assert "expected error of the levels as merged" in " ".join(str(certificate).split())
    certificate.report(tmp_path / "page.html")
    assert "(of the levels as merged)" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("cost", ["change", lambda x, y: float(x != y)])
def test_numbers_that_a_channel_treats_as_labels_are_warned_of_as_labels_are(cost):
    """Of 24 codes 13 were never released, and the same codes as text were warned of."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 3000)
    code = 10 * np.where(rng.random(3000) < 0.5, 2 * place + rng.integers(0, 2, 3000), rng.integers(0, 12, 3000))
    frame = pd.DataFrame({"s": np.array(list("abcdef"))[place], "code": code})
    asked = {"secret": "s", "public": "code", "epsilon": 0.5}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, mechanism=Channel(cost=cost)))
    released = plan.release(frame, rng=0)
    assert "shares" in found
    assert set(plan.fitted.shifted_columns["code"].lost) == set(code) - set(released["code"])
    assert "channel-shares" in certificate_of(released).warnings
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, mechanism="channel"))
    assert (plan.fitted.shifted_columns, "SHARES OF VALUES ARE OFF" in str(plan)) == ({}, True)


@pytest.mark.parametrize(("sigma", "rows", "is_warned"), [(1.5, 4000, True), (0.3, 4000, False), (1.5, 80, True)])
def test_a_channel_that_loses_the_tail_of_numbers_is_warned_of(sigma, rows, is_warned):
    """Of lognormal incomes means were 22 % too small, and nothing was said."""
    rng = np.random.default_rng(2)
    group = rng.choice(["a", "b"], rows)
    pay = np.exp(rng.normal(8 + 0.2 * sigma * (group == "a"), sigma, rows)).round()
    frame = pd.DataFrame({"group": group, "pay": pay})
    asked = {"secret": "group", "public": "pay", "epsilon": 1.0}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, mechanism="channel"))
    assert ("tail" in found) == is_warned
    raw, after = (part.sum() for part in plan.fitted.means)
    assert raw == pytest.approx(pay.mean())
    released = [plan.release(frame, rng=k) for k in range(5)]
    assert abs(np.mean([each["pay"].mean() for each in released]) - after) < 0.03 * raw
    certificate = certificate_of(released[0])
    assert ("channel-tail" in certificate.warnings) == is_warned
    assert ("VALUES FAR OUT" in str(plan), "VALUES FAR OUT" in str(certificate)) == (is_warned, is_warned)


def _beside(rows, shares):
    rng = np.random.default_rng(21)
    sex = rng.choice(["f", "m"], rows)
    job = np.where(rng.random(rows) < 0.4, np.where(sex == "m", "driver", "nurse"), rng.choice(["clerk", "cook"], rows))
    status = rng.choice([*"abcde"], rows, p=shares)
    region, kids = rng.choice([*"NSEW"], rows), rng.poisson(1.1 + 0.2 * (sex == "m"))
    return pd.DataFrame({"sex": sex, "job": job, "status": status, "region": region, "kids": kids})


def test_labels_beside_numbers_of_which_hardly_anything_is_left_are_warned_of():
    """It changed 97.5 % of what a constant changes, and nothing was said."""
    frame = _beside(1500, [0.2] * 5)
    plan, found = warned(lambda: frame.puffer.calibrate(secret="sex", public=["job", "region", "kids"], epsilon=1.0))
    changed = {name: plan.changed[name] / plan.fitted.constant_share(name) for name in ("job", "region")}
    useless = tuple(name for name, share in changed.items() if share > 0.95)
    assert useless
    assert max(changed[name] for name in useless) < 0.99
    assert set(useless) <= set(found["constant"].columns)
    released = plan.release(frame)
    assert set(useless) <= set(certificate_of(released).facts.useless)
    assert "response-shares" in certificate_of(released).warnings  # as a channel says both
    assert "About as many labels change, or more" in " ".join(str(plan).split())


def test_labels_whose_shares_randomised_response_shifts_are_warned_of():
    """Of 45 % that were employed 35 % were left, of 5 % others 12 % were made, and nothing was said."""
    frame = _beside(1500, [0.45, 0.2, 0.2, 0.1, 0.05])
    plan, found = warned(lambda: frame.puffer.calibrate(secret="sex", public=["status", "kids"], epsilon=1.0))
    assert found["shares"].columns == ("status",)
    off = plan.fitted.shifted_labels()["status"]
    shares = [plan.release(frame, rng=k)["status"].value_counts(normalize=True) for k in range(5)]
    before, after = frame["status"].value_counts(normalize=True), sum(shares) / 5
    assert off.shift == pytest.approx(before["a"] - after["a"], abs=0.03)
    assert off.times == pytest.approx(after["e"] / before["e"], rel=0.15)
    certificate = certificate_of(plan.release(frame))
    assert "response-shares" in certificate.warnings
    assert f"SHARES OF SOME LABELS ARE OFF: status {off.shift_text}" in " ".join(str(plan).split())
    weak = warned(lambda: frame.puffer.calibrate(secret="sex", public=["status", "kids"], epsilon=8.0))[1]
    assert "shares" not in weak


def test_a_channel_that_changes_far_fewer_labels_than_the_default_is_named():
    """By default 47 % and 28 % of two columns of labels were changed, where a channel changes 18 % and 0.4 %."""
    frame, asked = _beside(1500, [0.2] * 5), {"secret": "sex", "public": ["job", "region"], "epsilon": 1.0}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked))
    assert found["mechanism"].columns == ("job", "region")
    channel = frame.puffer.calibrate(**asked, mechanism="channel")
    assert channel.channels["job, region"].expected_error < 0.5 * np.mean(list(plan.changed.values()))
    assert "mechanism" not in warned(lambda: frame.puffer.calibrate(**asked, mechanism="noise"))[1]
    assert "mechanism" not in warned(lambda: frame.puffer.calibrate(**asked | {"epsilon": 6.0}))[1]


def test_a_remap_that_never_releases_many_values_is_warned_of():
    """Of 16 levels 5 were left, and nothing was said."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.choice(["a", "b"], 3000)})
    frame["x"] = np.clip(rng.normal(8, 3, 3000).round() + (frame["s"] == "a"), 0, 15)
    asked = {"secret": "s", "public": "x", "mechanism": Noise(remap=True)}
    plan, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.4))
    lost = (~frame["x"].isin(plan.remap["x"].values)).mean()
    assert set(found) == {"shares"}
    assert plan.utility("x").beyond == pytest.approx(lost, abs=1e-3)
    assert f"{lost:.0%} lie beyond all that come out" in " ".join(str(plan).split())
    assert 0.05 < lost < 0.9
    assert not warned(lambda: frame.puffer.calibrate(**asked, epsilon=1.0))[1]


def test_no_channel_of_many_secrets_is_looked_for_to_advise_it(monkeypatch):
    """With 50 secrets and a delta it took minutes, of a calibration of five seconds."""
    looked = []
    monkeypatch.setattr(best, "find", lambda *_args, **_options: looked.append(1))
    many = pd.DataFrame({"s": np.arange(ROWS) % 21, "x": PEOPLE["far"]})
    _, found = warned(lambda: many.puffer.calibrate(secret="s", public="x", epsilon=0.5, delta=1e-3))
    assert "channel" not in str(found["constant"])
    assert not looked


def test_bounds_after_the_noise_that_values_lie_beyond_are_warned_of():
    """Every value became 1,000, and plan, certificate and page said an error of some units."""
    asked = {"secret": "group", "public": "score", "epsilon": 1.0, "mechanism": "noise"}
    _, found = warned(lambda: PEOPLE.puffer.privatize(layout=Layout(clip=(1000, 2000)), **asked))
    assert f"to {(1000 - PEOPLE['score']).mean():.3g} and moves their mean by" in str(found["clip"])
    released, found = warned(lambda: PEOPLE.puffer.privatize(layout=Layout(clip=(0, 10)), **asked))
    assert "clip" not in found
    said = " ".join(str(certificate_of(released)).split())
    assert "mean absolute noise before values were clipped" in said


@pytest.mark.parametrize("mechanism", [Noise(), Noise(remap=True)])
def test_rounding_that_leaves_nothing_of_a_column_is_warned_of(mechanism, tmp_path):
    """Shares became 0 and 1: an error of 0.3, where a constant has 0.1, and the certificate said 0.03."""
    share = (np.random.default_rng(21).beta(4, 9, ROWS) + 0.01 * (GROUP == "a")).round(3).clip(0, 1)
    frame = PEOPLE.assign(share=share)
    asked = {"secret": "group", "public": "share", "epsilon": 5.0, "mechanism": mechanism}
    released, found = warned(lambda: frame.puffer.privatize(layout=Layout(round=True), **asked))
    away = np.abs(released["share"] - share).mean()
    assert float(str(found["round"]).split(" to ")[2].split()[0]) == pytest.approx(away, rel=0.05)
    certificate = certificate_of(released)
    assert certificate.warnings == ("after-rounding",)
    assert "noise before values were rounded to integers, which may" in " ".join(str(certificate).split())
    assert "at no cost to the guarantee: rounded to integers." in " ".join(str(certificate).split())
    certificate.report(tmp_path / "page.html")
    assert f"{certificate.expected_error['share']:.4g} (before rounding)" in (tmp_path / "page.html").read_text()
    assert 2 * certificate.expected_error["share"] < (released["share"] - share).abs().mean()
    for public, layout in (("share", Layout()), ("score", Layout(round=True))):
        released, found = warned(partial(frame.puffer.privatize, layout=layout, **asked | {"public": public}))
        assert "round" not in found
        assert "before values" not in str(certificate_of(released))


def test_which_constant_is_said():
    """Of cells it was called the best constant, and was the best of their medians: up to 5 % worse."""
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({"s": GROUP, "x": rng.normal(size=ROWS) + (GROUP == "a")})
    asked = {"secret": "s", "public": "x", "epsilon": 1.0}
    for frame, channel, words in (
        (wide, Channel(cells=4), "the best of the medians of the cells in place of every value"),
        (wide.round(), Channel(), "the best constant in place of every value"),
        (wide.round(), Channel(outputs=2), "the best of the released levels in place of every value"),
    ):
        assert words in " ".join(str(frame.puffer.calibrate(mechanism=channel, **asked)).split())


NARROW = PEOPLE[["group", "pet"]].assign(x=RNG.normal(50, 10, ROWS).round() + 4 * (GROUP == "a"))


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
@pytest.mark.parametrize(
    ("asked", "layout", "useless"),
    [
        ({"public": "x"}, {}, ("x",)),
        ({"public": "x"}, {"round": True}, ("x",)),
        ({"public": "x"}, {"clip": (0, 100)}, ("x",)),
        ({"public": ["x", "pet"], "mechanism": "noise"}, {}, ("x", "pet")),
        ({"public": "x", "given": "pet"}, {}, ("x",)),
        ({"public": "pet"}, {}, ("pet",)),
    ],
)
def test_a_useless_column_is_on_certificate_and_page(asked, layout, useless, tmp_path):
    """As the plan found it, also of a plan from a file and of other rows, whose values say nothing here."""
    made, found = warned(lambda: NARROW.puffer.calibrate(secret="group", epsilon=0.05, **asked))
    assert found["constant"].columns == useless
    made.save(tmp_path / "plan.json", overwrite=True)
    rows = NARROW.sample(ROWS // 2, random_state=1, ignore_index=True)
    for plan, frame in ((made, NARROW), (load_plan(tmp_path / "plan.json"), NARROW), (made, rows)):
        others = {"allow_other_frame": True, "allow_drift": True} if frame is rows else {}
        certificate = certificate_of(plan.release(frame, layout=Layout(**layout), **others))
        assert certificate.facts.useless == useless
        assert "useless" in certificate.warnings
        certificate.report(tmp_path / "page.html", overwrite=True)
        page = (tmp_path / "page.html").read_text()
        assert f"values of {', '.join(useless)} as this release, or nearer" in page
        assert ("the noise drowns the values" in page) == bool(certificate.scales)
    plain = certificate.to_dict()
    for facts in ({}, {"useless": ["group"]}):
        rest = {name: entry for name, entry in plain["facts"].items() if name != "useless"}
        with pytest.raises(puffer_frames.errors.ArgumentError, match="facts that its sentences do not say"):
            puffer_frames.Certificate.from_dict(plain | {"facts": rest | facts})


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_an_estimate_from_released_values_is_no_fact():
    """Noise of nine tenths of the error of a constant "drowned the values" in half of the releases."""
    certificate = certificate_of(NARROW.puffer.privatize(secret="group", public="x", epsilon=0.05))
    low = replace(certificate.estimated["x"], constant_error=0.9 * certificate.expected_error["x"])
    fine = replace(certificate, facts=replace(certificate.facts, useless=()), estimated={"x": low})
    assert not fine.useless
    assert "larger than that error" not in str(fine)
    of_others = replace(fine, facts=replace(fine.facts, other_rows=True))
    assert of_others.useless == ("x",)
    assert of_others.estimated_useless == ", as estimated from the released values"


@pytest.mark.filterwarnings("ignore::puffer_frames.PufferWarning")
def test_remapped_and_clipped_values_that_are_lost_are_on_the_certificate():
    frame = NARROW.assign(x=(NARROW["x"] - 50) * 10)
    asked = {"secret": "group", "public": "x"}
    _, found = warned(lambda: frame.puffer.calibrate(**asked, epsilon=0.5, mechanism=Noise(remap=True)))
    released = frame.puffer.privatize(**asked, epsilon=0.5, mechanism=Noise(remap=True))
    assert ("shares" in found, "remap-shares" in certificate_of(released).warnings) == (True, True)
    clipped = frame.puffer.privatize(**asked, epsilon=5.0, layout=Layout(clip=(-50, 50)))
    assert certificate_of(clipped).warnings == ("after-bounds",)
    frame = NARROW.assign(x=RNG.integers(0, 2, ROWS) | (GROUP == "a") & (RNG.random(ROWS) < 0.6))
    released = frame.puffer.privatize(**asked, epsilon=0.5, layout=Layout(clip=(0, 0.9)), rng=1)
    away = (released["x"] - frame["x"]).abs()
    certificate = certificate_of(released)
    assert away.mean() < 0.8 * min(frame["x"].mean(), 1 - frame["x"].mean())  # clipped values are nearer
    assert away[frame["x"] > 0.9].mean() < certificate.expected_error["x"]
    said = {each.key: each.text for each in certificate.statements}
    assert "clipping to bounds left aside" in said["useless"]
    assert "is the one before that" in said["after-bounds"]


def test_names_with_braces_are_names():
    told = WideNoiseWarning(["{x}"], "the correlation of '{x}' and '{0}' is gone from {columns}", hint="", reason="fit")
    assert str(told).startswith("the correlation of '{x}' and '{0}' is gone from '{x}'.")


def test_labels_of_strata_whose_shares_are_off_are_warned_of():
    """Without given columns it was said, and with them nothing."""
    frame = _beside(1500, [0.45, 0.2, 0.2, 0.1, 0.05])
    for given in ("region", Strata("region", scale="one")):
        asked = {"secret": "sex", "public": ["status", "kids"], "given": given, "epsilon": 1.5}
        plan, found = warned(lambda asked=asked: frame.puffer.calibrate(**asked))
        released = [plan.release(frame, rng=k)["status"].value_counts(normalize=True) for k in range(5)]
        before, after = frame["status"].value_counts(normalize=True), sum(released) / 5
        off = plan.fitted.shifted_labels()["status"]
        assert found["shares"].columns == ("status",)
        assert off.shift == pytest.approx((before - after).abs().max(), abs=0.03)
        assert "response-shares" in certificate_of(plan.release(frame)).warnings
        assert f"SHARES OF SOME LABELS ARE OFF: status {off.shift_text}" in " ".join(str(plan).split())
