"""Which theorem a table gets, and which adversaries the scale satisfies."""

import re

import numpy as np
import pandas as pd
import pytest

from puffer_frames import Layout, Noise
from puffer_frames.core import Prior
from puffer_frames.errors import ArgumentError, ArgumentTypeError

ROWS = 4000


def table(values):
    return pd.DataFrame({"s": ["a"] * ROWS + ["b"] * ROWS, "x": np.concatenate(values)})


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(5)


def plan_of(frame, **options):
    return frame.puffer.calibrate(**{"secret": "s", "public": "x", "epsilon": 1.0} | options)


def test_auto_takes_the_simplest_model(rng):
    normal = [rng.normal(size=ROWS), rng.normal(0.5, 1, ROWS)]
    assert plan_of(table([v > 0 for v in normal]), allow_zero_noise=True).theorem == "bernoulli"
    assert plan_of(table([v.round(1) for v in normal])).theorem == "kantorovich"
    assert plan_of(table(normal)).theorem == "translation"
    assert plan_of(table([normal[0], 3 * normal[1]])).theorem == "gaussian"
    two_humps = np.where(rng.random(ROWS) < 0.5, normal[0], 9 + normal[1])
    assert plan_of(table([normal[0], two_humps])).theorem == "gmm"
    values = np.arange(257.0)[rng.integers(0, 257, ROWS)]
    assert plan_of(table([values, values[::-1]]), allow_zero_noise=True).theorem != "kantorovich"
    values = values.clip(max=255)
    assert plan_of(table([values, values[::-1]]), allow_zero_noise=True).theorem == "kantorovich"


def test_the_scale_satisfies_every_belief(rng):
    frame = table([rng.normal(size=ROWS), rng.normal(1, 1, ROWS)])
    given = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(5, 1)}
    plan = plan_of(frame, mechanism=Noise(theorem="gaussian"), beliefs=("fitted", "empirical", given))
    assert list(plan.verified) == ["fitted", "empirical", "given 1"]
    assert plan.binding_belief == "given 1"
    assert plan.scale == max(plan.scale_per_belief.values()) == pytest.approx(5.0, rel=1e-6)
    assert all(measured.pure_loss.upper <= 1 for measured in plan.verified.values())
    for belief, name in (("fitted", "fitted"), ("empirical", "empirical"), (("only", given), "given 1")):
        alone = plan_of(frame, mechanism=Noise(theorem="gaussian"), beliefs=belief)
        assert list(alone.verified) == [name]
        assert alone.scale == pytest.approx(plan.scale_per_belief[name], rel=1e-7)


def test_a_mapping_hardens_and_never_weakens(rng):
    """It adds to both words; words that are named, and "only", restrict."""
    frame = table([rng.normal(size=ROWS), rng.normal(1, 1, ROWS)])
    weak = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(0.001, 1)}
    usual = plan_of(frame, mechanism=Noise(theorem="gaussian"))
    for beliefs in (weak, [weak], (weak, weak)):
        plan = plan_of(frame, mechanism=Noise(theorem="gaussian"), beliefs=beliefs)
        assert list(plan.beliefs)[:2] == ["fitted", "empirical"]
        assert plan.scale == usual.scale
    for beliefs, names in {
        ("empirical", "w"): ["empirical", "given 1"],
        ("w", "fitted"): ["fitted", "given 1"],
        ("only", "w"): ["given 1"],
        ("only", "w", "w"): ["given 1", "given 2"],
    }.items():
        listed = [weak if entry == "w" else entry for entry in beliefs]
        assert list(plan_of(frame, mechanism=Noise(theorem="gaussian"), beliefs=listed).beliefs) == names


def test_the_loss_under_the_observed_law_is_measured_whatever_was_asked_for(rng):
    """An oracle's densities: the loss of the observed frequencies at the scale of a belief that is too weak."""
    values = rng.integers(0, 5, ROWS), rng.integers(1, 7, ROWS)
    frame = table(values)
    weak = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(0.5, 1)}
    plan = plan_of(frame, beliefs=("only", weak))
    points = np.arange(0, 8)  # the loss of atoms is largest at one of them
    kernel = [np.exp(-np.abs(points[:, None] - part) / plan.scale).mean(axis=1) for part in values]
    true = np.abs(np.log(kernel[0] / kernel[1])).max()
    assert true > 1
    observed = plan.choice.observed.pure_loss
    assert observed.lower == pytest.approx(true, rel=1e-9)
    assert observed.upper == pytest.approx(true, rel=1e-9)
    assert f"pure loss {true:.6g}: MORE than was asked for" in " ".join(str(plan).split())
    certificate = plan.release(frame, layout=Layout(shuffle=True)).puffer.certificate
    assert certificate.observed["x"].pure_loss.upper == observed.upper
    assert f"frequencies of these rows: pure loss {true:.6g}, more than" in " ".join(str(certificate).split())
    assert "more than was asked for" in " ".join(str(certificate).split())


def test_raised_by_the_empirical_belief_without_a_warning():
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(scaled=False, as_frame=True).frame
    for calibration in ("exact", "theorem"):  # warnings are errors here
        plan = frame.puffer.calibrate(secret="sex", public="s2", epsilon=1.0, mechanism=Noise(calibration=calibration))
        assert plan.published_loss.pure_loss.lower <= 1
        assert plan.binding_belief == "empirical"
        assert plan.scale > plan.published_scale
        text = " ".join(str(plan).split())
        assert "; sound " in text
        assert "under its own priors" in text
        verb = "needs" if calibration == "exact" else "confirms"
        assert f"empirical belief {verb}" in text


def test_side_knowledge_beside_a_domain_is_of_what_the_domain_holds(rng):
    """Values are clipped before the noise: a law of unclipped ones may be harder to tell apart (1.057 for 1 here)."""
    s, t = Prior.empirical([4, 6, 15], [13, 15, 43]), Prior.empirical([3, 11, 13], [2, 14, 28])
    frame = table([rng.integers(0, 14, ROWS), rng.integers(0, 14, ROWS)])
    for given in ({"a": s, "b": t}, {"a": Prior.gaussian(3, 1), "b": Prior.gaussian(4, 1)}):
        with pytest.raises(ArgumentError, match="belief beside domain"):
            plan_of(frame, beliefs=("only", given), domain={"x": (0, 13)})
    clipped = {"a": Prior.empirical([4, 6, 13], [13, 15, 43]), "b": t}
    scale = plan_of(frame, beliefs=("only", clipped), domain={"x": (0, 13)}).scale
    assert scale > plan_of(frame, beliefs=("only", {"a": s, "b": t})).scale


def test_what_needs_a_prior(people):
    plan = pd.DataFrame(people).puffer.calibrate(secret="group", public="score", epsilon=0.05)
    assert list(plan.beliefs) == ["empirical"]
    assert plan.priors == plan.beliefs["empirical"]
    given = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(1, 1)}
    frame = pd.DataFrame(people)
    options = {"secret": "group", "public": "score", "epsilon": 1.0, "beliefs": ("only", given)}
    assert frame.puffer.calibrate(pairs=[("a", "b")], **options).scale == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(ArgumentError, match="none for 'c'"):
        frame.puffer.calibrate(**options)


@pytest.mark.parametrize(
    "beliefs", ["mine", ("fitted", "mine"), (), None, 3, "only", ["only"], [{"a": 1, "b": 2, "c": 3}]]
)
def test_bad_beliefs(people, beliefs):
    with pytest.raises(ArgumentTypeError, match="beliefs"):
        pd.DataFrame(people).puffer.calibrate(secret="group", public="score", epsilon=1.0, beliefs=beliefs)


def test_columns_as_beliefs(people):
    frame = pd.DataFrame(people)
    options = {"secret": "group", "public": "score", "epsilon": 1.0}
    assert list(frame.puffer.calibrate(**options, beliefs=pd.Series(["empirical"])).beliefs) == ["empirical"]
    by_group = dict(iter(frame.groupby("group")["score"]))
    for column in (frame["group"], frame["group"].to_numpy(), by_group):
        with pytest.raises(ArgumentTypeError, match=r"a frame of the same columns, or .*Prior.empirical\(n") as told:
            frame.puffer.calibrate(**options, beliefs=column)
        assert not re.search("'[abc]'", str(told.value))
    given = {group: Prior.empirical(scores) for group, scores in by_group.items()}
    assert list(frame.puffer.calibrate(**options, beliefs=("only", given)).beliefs) == ["given 1"]
    labels = frame.assign(score=(frame["score"] > 1).map({True: "high", False: "low"}))
    by_group = dict(iter(labels.groupby("group")["score"]))
    with pytest.raises(ArgumentTypeError, match=r"column.value_counts\(\).to_dict\(\)"):
        labels.puffer.calibrate(**options, beliefs=by_group)
    given = {group: column.value_counts().to_dict() for group, column in by_group.items()}
    assert list(labels.puffer.calibrate(**options, beliefs=("only", given)).beliefs) == ["given 1"]


def test_releases_add_up_only_under_a_coupling(rng):
    shifts = table([(v := rng.normal(size=ROWS)), v + 1])
    certified = plan_of(
        shifts, mechanism=Noise(theorem="translation", calibration="theorem"), beliefs="fitted"
    ).release(shifts, layout=Layout(shuffle=True))
    assert certified.puffer.certificate.adds_up
    wide = table([v, 3 * v])
    certified = plan_of(wide, mechanism=Noise(theorem="gaussian", calibration="theorem"), beliefs="fitted").release(
        wide, layout=Layout(shuffle=True)
    )
    assert not certified.puffer.certificate.adds_up
