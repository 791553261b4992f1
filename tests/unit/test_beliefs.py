"""Which theorem a table gets, and which adversaries the scale satisfies."""

import numpy as np
import pandas as pd
import pytest

from puffer_frames import ArgumentError, ArgumentTypeError, Prior

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


def test_256_values_are_few(rng):
    values = np.arange(257.0)[rng.integers(0, 257, ROWS)]
    assert plan_of(table([values, values[::-1]]), allow_zero_noise=True).theorem != "kantorovich"
    values = values.clip(max=255)
    assert plan_of(table([values, values[::-1]]), allow_zero_noise=True).theorem == "kantorovich"


def test_the_scale_satisfies_every_belief(rng):
    frame = table([rng.normal(size=ROWS), rng.normal(1, 1, ROWS)])
    given = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(5, 1)}
    plan = plan_of(frame, theorem="gaussian", beliefs=("fitted", "empirical", given))
    assert list(plan.verified) == ["fitted", "empirical", "given 1"]
    assert plan.binding_belief == "given 1"
    assert plan.scale == max(plan.scale_per_belief.values()) == pytest.approx(5.0, rel=1e-6)
    assert all(measured.pure_loss.upper <= 1 for measured in plan.verified.values())
    for belief in ("fitted", "empirical", given):
        alone = plan_of(frame, theorem="gaussian", beliefs=belief)
        (name,) = alone.verified
        assert alone.scale == pytest.approx(plan.scale_per_belief["given 1" if belief is given else name], rel=1e-7)


def test_raised_by_the_empirical_belief_without_a_warning():
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(scaled=False, as_frame=True).frame
    for calibration in ("exact", "theorem"):  # warnings are errors here
        plan = frame.puffer.calibrate(secret="sex", public="s2", epsilon=1.0, calibration=calibration)
        assert plan.published_loss.pure_loss.lower <= 1
        assert plan.binding_belief == "empirical"
        assert plan.scale > plan.published_scale
        text = " ".join(str(plan).split())
        assert "; sound " in text
        assert "under its own priors" in text
        verb = "needs" if calibration == "exact" else "confirms"
        assert f"empirical belief {verb}" in text


def test_discrete_theorems_have_one_belief(people):
    plan = pd.DataFrame(people).puffer.calibrate(secret="group", public="score", epsilon=0.05)
    assert list(plan.beliefs) == ["empirical"]
    assert plan.priors == plan.beliefs["empirical"]


def test_only_named_secrets_need_a_prior(people):
    given = {"a": Prior.gaussian(0, 1), "b": Prior.gaussian(1, 1)}
    frame = pd.DataFrame(people)
    options = {"secret": "group", "public": "score", "epsilon": 1.0, "beliefs": given}
    assert frame.puffer.calibrate(pairs=[("a", "b")], **options).scale == pytest.approx(1.0, rel=1e-6)
    with pytest.raises(ArgumentError, match="none for 'c'"):
        frame.puffer.calibrate(**options)


@pytest.mark.parametrize("beliefs", ["mine", ("fitted", "mine"), (), None, 3, [{"a": 1, "b": 2, "c": 3}]])
def test_bad_beliefs(people, beliefs):
    with pytest.raises(ArgumentTypeError, match="beliefs"):
        pd.DataFrame(people).puffer.calibrate(secret="group", public="score", epsilon=1.0, beliefs=beliefs)


@pytest.mark.parametrize("options", [{"components": 0, "theorem": "gmm"}, {"components": 2, "theorem": "gaussian"}])
def test_bad_components(people, options):
    with pytest.raises(ArgumentError, match="components"):
        pd.DataFrame(people).puffer.calibrate(secret="group", public="score", epsilon=1.0, **options)


def test_releases_add_up_only_under_a_coupling(rng):
    shifts = table([(v := rng.normal(size=ROWS)), v + 1])
    certified = plan_of(shifts, theorem="translation", calibration="theorem", beliefs="fitted").release(
        shifts, shuffle=True
    )
    assert certified.puffer.certificate.adds_up
    wide = table([v, 3 * v])
    certified = plan_of(wide, theorem="gaussian", calibration="theorem", beliefs="fitted").release(wide, shuffle=True)
    assert not certified.puffer.certificate.adds_up
