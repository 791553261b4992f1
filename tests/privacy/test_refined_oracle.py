"""Two releases of which the second refines the first: their joint loss, by direct sums, is that of the second.

The first release is drawn from the first noise, the second from the law that `refined` draws given it; the sums know
nothing of the difference W of the two noises, on which the proof rests.
"""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import table
from scipy import stats

import puffer_frames
from puffer_frames import Noise
from puffer_frames.core import Prior, pure_loss
from puffer_frames.errors import CalibrationError
from puffer_frames.noise.adding import grid_of, noise_on_grid
from puffer_frames.noise.refining import branches

RNG = np.random.default_rng(6)
REACH = 60
"""Released values, in steps of the grid, that are looked at."""
PAIRS = [(3.0, 1.0), (2.0, 1.9), (6.0, 0.7), (1.5, 0.5)]


def first_law(p, far):
    """P(N = far), an array of half-integers."""
    return 0.5 * (1 - p) * p ** (np.abs(far) - 0.5)


def given_law(p, q, near, far):
    """P(M = near | N = far) by the branches, for arrays of half-integers."""
    found, r, g = branches(p, q), q / p, p * q
    near, far = near * np.sign(far), np.abs(far)
    at_least = r ** (far - 0.5)
    opposite = found.opposite * (1 - g) * g ** (-near - 0.5)
    inside = (1 - found.opposite) * (1 - r) * r ** np.abs(near - 0.5)
    beyond = at_least * found.beyond * (1 - g) * g ** np.abs(near - far)
    same = at_least * (1 - found.opposite - found.beyond)
    return np.where(near < 0, opposite, np.where(near < far, inside, beyond + same * (near == far)))


def laws():
    """Two laws on whole numbers, as probabilities of -4, ..., 4."""
    weights = RNG.random((2, 9)) * (RNG.random((2, 9)) < 0.6) + 1e-3 * np.eye(9)[[2, 6]]
    return weights / weights.sum(axis=1, keepdims=True)


def joint(weights, kernel):
    """The law of both released values: a sum over the atoms."""
    first, second = np.meshgrid(np.arange(-REACH, REACH) + 0.5, np.arange(-REACH, REACH) + 0.5, indexing="ij")
    return sum(w * kernel(first - x, second - x) for w, x in zip(weights, range(-4, 5), strict=True) if w)


def loss(pair, kernel):
    one, other = (joint(weights, kernel) for weights in pair)
    return np.abs(np.log(one) - np.log(other)).max()


def engine(pair, scale):
    """What the package certifies for one release of this scale."""
    priors = [Prior.empirical(np.arange(-4.0, 5)[w > 0], w[w > 0]) for w in pair]
    return pure_loss(*priors, scale=scale).upper


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_the_joint_loss_is_that_of_the_second_release(old, new):
    p, q = math.exp(-1 / old), math.exp(-1 / new)
    for _ in range(5):
        pair = laws()
        both = loss(pair, lambda far, near: first_law(p, far) * given_law(p, q, near, far))
        alone = loss(pair, lambda far, near: first_law(q, near) + 0 * far)
        assert both == pytest.approx(alone, rel=1e-9)
        assert both <= engine(pair, new) * (1 + 1e-9)  # on whole numbers half-integers see no more than all numbers
        one, other = engine(pair, old), engine(pair, new)
        assert both < one + other


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_an_independent_second_draw_loses_more(old, new):
    """The fault that refining mends: then both are one release of scale 1 / (1 / old + 1 / new)."""
    p, q = math.exp(-1 / old), math.exp(-1 / new)
    worse = 0
    for _ in range(5):
        pair = laws()
        both = loss(pair, lambda far, near: first_law(p, far) * first_law(q, near))
        assert both <= engine(pair, 1 / (1 / old + 1 / new)) * (1 + 1e-9)
        worse += both > engine(pair, new) * 1.05
    assert worse >= 3


def test_a_wrong_branch_is_found():
    """The fault: both noises on one side of 0."""
    p, q = math.exp(-1 / 3.0), math.exp(-1.0)

    def same_side(far, near):
        law = first_law(p, far) * given_law(p, q, near, far)
        mirrored = first_law(p, far) * given_law(p, q, -near, far)
        return np.where(near * far > 0, law + mirrored, 1e-300)

    pair = laws()
    assert loss(pair, same_side) > engine(pair, 1.0) * 1.5


def test_two_refinements_of_one_release_lose_more():
    """Where both repeat the first noise they lose 2/new - 1/old of a distance of 1: 1.5 where one loses 1."""
    steps = 256
    p, q = math.exp(-1 / (2.0 * steps)), math.exp(-1 / steps)
    near, far = (np.float64(0.5 + steps * k) for k in range(2))
    for refinements, most in ((1, 1.0), (2, 1.5)):
        laws_ = [first_law(p, n) * given_law(p, q, n, n) ** refinements for n in (near, far)]
        assert math.log(laws_[0] / laws_[1]) == pytest.approx(most, abs=0.01)


def test_three_releases_in_a_chain():
    """Sums over three released values, each drawn given the one before."""
    p, q, r = (math.exp(-1 / scale) for scale in (4.0, 2.0, 1.0))
    places = np.arange(-9, 9) + 0.5
    grid = np.meshgrid(places, places, places, indexing="ij")

    def law(weights):
        found = 0.0
        for w, x in zip(weights, range(-4, 5), strict=True):
            one, two, three = (axis - x for axis in grid)
            found = found + w * first_law(p, one) * given_law(p, q, two, one) * given_law(q, r, three, two)
        return found

    for _ in range(5):
        pair = laws()
        both = np.abs(np.log(law(pair[0])) - np.log(law(pair[1]))).max()
        assert both <= engine(pair, 1.0) * (1 + 1e-9)


# ------------------------------------------------------------------------------------------- whole releases

ROWS = 60_000
GROUP = RNG.choice(["a", "b"], ROWS)
PEOPLE = pd.DataFrame(
    {
        "group": GROUP,
        "score": RNG.integers(0, 6, ROWS) + (GROUP == "a"),
        "other": RNG.integers(0, 9, ROWS) - 2 * (GROUP == "b"),
    }
)


@pytest.mark.parametrize("public", [["score"], ["score", "other"]])
def test_released_noise_has_the_scale_of_the_certificate_and_its_parts_are_independent(public, tmp_path):
    plan = PEOPLE.puffer.calibrate(secret="group", public=public, epsilon=0.3, mechanism="noise")
    first = plan.release(PEOPLE)
    second = plan.refine(PEOPLE, first, epsilon=0.7, key=tmp_path / "key")
    third = plan.refine(PEOPLE, second, epsilon=1.4, key=tmp_path / "key")
    scales = [each.puffer.certificate.scales for each in (first, second, third)]
    for name in public:
        grid = grid_of(scales[0][name])
        values = PEOPLE[name].to_numpy().astype(float)
        noise = [noise_on_grid(each[name].to_numpy(), values, grid) for each in (first, second, third)]
        for drawn, scale in zip(noise, scales, strict=True):
            assert stats.kstest(np.abs(drawn) * grid, "expon", args=(0, scale[name])).pvalue > 1e-9
            assert abs(np.sign(drawn).sum()) < 6 * ROWS**0.5
        parts = [noise[2], noise[1] - noise[2], noise[0] - noise[1]]
        for one, other in ((0, 1), (0, 2), (1, 2)):
            for of in (np.abs, np.sign):
                assert abs(stats.spearmanr(of(parts[one]), of(parts[other])).statistic) < 6 / ROWS**0.5
    if len(public) > 1:
        assert abs(stats.spearmanr(third["score"] - PEOPLE["score"], third["other"] - PEOPLE["other"]).statistic) < (
            6 / ROWS**0.5
        )
    assert puffer_frames.compose([first, second, third]).epsilon == 1.4


# A plan on other rows than those that it was made from: nothing that exceeds the guarantee is released unsaid.
COLUMNS = ["age", "race", "education_num"]
ASK = {"secret": "race", "public": "education_num", "epsilon": 1.0}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], 900)
    return pd.DataFrame({"group": group, "x": rng.integers(0, 6, 900) + (group == "a"), "y": rng.integers(0, 9, 900)})


@pytest.fixture(scope="module")
def plan(people):
    return people.puffer.calibrate(secret="group", public="x", epsilon=1.0)


def true_loss(frame, scale, *, public="x", secret="group"):
    """Pure loss of the observed frequencies by sums over all rows: for atoms it is largest at an atom."""
    points = np.unique(frame[public])
    laws = [
        np.exp(-np.abs(points[:, None] - part.to_numpy()) / scale).mean(axis=1)
        for _, part in frame.groupby(secret)[public]
    ]
    logs = np.log(laws)
    return (logs.max(axis=0) - logs.min(axis=0)).max()


def test_secrets_that_the_plan_or_the_batch_lacks(people, plan):
    batch = people.assign(group=people["group"].replace("c", "new"))
    for options in ({}, {"allow_drift": True}):
        with pytest.raises(CalibrationError, match="got 'new'"):
            plan.release(batch, allow_other_frame=True, **options)
    batch = people[people["group"] == "a"].reset_index(drop=True)
    certificate = plan.release(batch, allow_other_frame=True).puffer.certificate
    assert certificate.observed == {}  # one secret: nothing to compare
    assert certificate.secret_values == ("a", "b", "c")
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, pairs=[("a", "b")])
    batch = people[people["group"] != "b"].reset_index(drop=True)
    assert plan.release(batch, allow_other_frame=True).puffer.certificate.observed == {}


def test_drift_is_an_error_that_names_the_loss(people, plan):
    batch = people.assign(x=people["x"] + 40 * (people["group"] == "b"))
    loss = true_loss(batch, plan.scale)
    assert loss > 5
    with pytest.raises(CalibrationError, match=f"pure loss {loss:.6g}") as caught:
        plan.release(batch, allow_other_frame=True)
    assert "allow_drift=True" in caught.value.hint
    certificate = plan.release(batch, allow_other_frame=True, allow_drift=True).puffer.certificate
    found = certificate.observed["x"].pure_loss
    assert found.lower == pytest.approx(loss, rel=1e-9)
    keys = [statement.key for statement in certificate.statements]
    assert {"other-rows", "observed-exceeds"} <= set(keys)
    assert f"{loss:.6g}" in str(certificate)


def test_a_batch_within_the_guarantee_states_no_loss_of_its_own(people):
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, mechanism=Noise(calibration="theorem"))
    batch = people.sample(frac=0.9, random_state=2, ignore_index=True)
    certificate = plan.release(batch, allow_other_frame=True).puffer.certificate
    (loss,) = [each for each in plan.check(batch).findings if each.about == "empirical"]
    assert loss.found == pytest.approx(true_loss(batch, plan.scale), rel=1e-9)
    assert certificate.observed == {}
    assert "observed frequencies of the released rows" not in " ".join(str(certificate).split())
    assert "other-rows" in {statement.key for statement in certificate.statements}
    own = plan.release(people).puffer.certificate
    assert "other-rows" not in {statement.key for statement in own.statements}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_every_kind_of_frame(people, plan, kind):
    batch = people.assign(x=people["x"] * 3)
    with pytest.raises(CalibrationError, match="pure loss"):
        plan.release(kind(batch.to_dict("list")), allow_other_frame=True)


def test_a_table_that_has_the_cells_of_another_is_another():
    """Values at the left and at the right edge of cells, and their centres: the counts are the same."""
    rng = np.random.default_rng(0)
    group, cell, width = rng.choice(["a", "b"], 140_000), rng.integers(0, 70_000, 140_000), 0.125
    inside = np.where(group == "a", 0.0, 0.12) + rng.uniform(0, 0.004, 140_000)
    raw = pl.DataFrame({"group": group, "x": cell * width + inside})
    centres = raw.with_columns(x=(pl.col("x") / width).floor() * width + width / 2)
    plan = centres.puffer.calibrate(secret="group", public="x", epsilon=0.1, allow_zero_noise=True)
    with pytest.raises(CalibrationError, match="other rows"):
        plan.release(raw)


def test_listed_pairs_and_delta_are_what_is_measured(people):
    plan = people.puffer.calibrate(
        secret="group", public="x", epsilon=1.0, pairs=[("a", "b")], mechanism=Noise(calibration="theorem")
    )
    batch = people.assign(x=people["x"] + 40 * (people["group"] == "c"))
    plan.release(batch, allow_other_frame=True)
    with pytest.raises(CalibrationError, match="pure loss"):
        plan.release(people.assign(x=people["x"] + 40 * (people["group"] == "b")), allow_other_frame=True)
    plan = people.puffer.calibrate(secret="group", public="x", epsilon=1.0, delta=1e-4)
    with pytest.raises(CalibrationError, match=r"delta .* at epsilon 1"):
        plan.release(people.assign(x=people["x"] * 4), allow_other_frame=True)


def test_several_columns_are_held_to_their_range(people):
    """The bounded-column rule holds for values within the range: marginal losses would not show what leaves it."""
    asked = {"secret": "group", "public": ["x", "y"], "epsilon": 1.0, "mechanism": Noise(theorem="bounded")}
    plan = people.puffer.calibrate(**asked)
    rng = np.random.default_rng(0)
    batch = people.assign(x=rng.permutation(np.where(np.arange(900) == 0, 60, people["x"])))
    with pytest.raises(CalibrationError, match="a wider range than the plan was made for"):
        plan.release(batch, allow_other_frame=True)
    certificate = plan.release(batch, allow_other_frame=True, allow_drift=True).puffer.certificate
    assert "The range of x is wider in these rows than in the table of the plan" in " ".join(str(certificate).split())
    plan.release(people.head(800), allow_other_frame=True)
    bounded = people.puffer.calibrate(**asked, domain={"x": (0, 6), "y": (0, 8)})
    bounded.release(batch, allow_other_frame=True)  # values are clipped to the domain


def test_the_batches_of_the_adult_table():
    """Losses of a plan made from the first quarter on the three others, by sums over all rows."""
    frame = table("adult.data", header=None, skipinitialspace=True, usecols=[0, 4, 8])
    frame = frame.set_axis(["age", "education_num", "race"], axis=1)
    first, *others = (frame.iloc[start : start + 8140].reset_index(drop=True) for start in range(0, 32_560, 8140))
    plan = first.puffer.calibrate(**ASK)
    for batch in others:
        loss = true_loss(batch, plan.scale, public="education_num", secret="race")
        if loss > 1:
            with pytest.raises(CalibrationError, match=f"pure loss {loss:.6g}"):
                plan.release(batch, allow_other_frame=True)
        (found,) = [each for each in plan.check(batch).findings if each.about == "empirical"]
        assert found.found == pytest.approx(loss, rel=1e-9)
        certificate = plan.release(batch, allow_other_frame=True, allow_drift=True).puffer.certificate
        assert [each.pure_loss.upper for each in certificate.observed.values()] == [found.found] * int(loss > 1)
