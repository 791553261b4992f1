"""Published numbers and counterexamples for discrete priors."""

import numpy as np
import pandas as pd
import pytest

import puffer_frames  # noqa: F401
from puffer_frames.core import Prior, pure_loss, smallest_scale
from puffer_frames.papers import (
    bernoulli_exact_scale,
    bernoulli_neighbour_scale,
    kantorovich_scale,
    relaxed_scale,
)

ABOVE = 1e-6
"""A scale may be this fraction above the minimum, never below it."""


def assert_smallest(scale, priors, *, epsilon, pairs="all"):
    """The scale is private, and no scale below it by the allowed fraction is."""
    pairs = [(s, t) for s in priors for t in priors if str(s) < str(t)] if pairs == "all" else pairs
    loss = {f: max(pure_loss(priors[s], priors[t], scale=scale * f).lower for s, t in pairs) for f in (1, 1 - ABOVE)}
    assert loss[1] <= epsilon < loss[1 - ABOVE]


def by_secret(frame, secret, public):
    return {s: Prior.empirical(values) for s, values in frame.groupby(secret)[public]}


def test_adult_education_by_race(adult):
    plan = adult.puffer.calibrate(secret="race", public="education_num", epsilon=1.0)
    assert plan.published_scale == 6
    assert plan.scale == pytest.approx(2.2266, abs=5e-5)
    assert set(plan.worst_pair) == {"Asian-Pac-Islander", "Other"}
    assert_smallest(plan.scale, by_secret(adult, "race", "education_num"), epsilon=1.0)


@pytest.mark.parametrize(
    ("pair", "published", "exact"),
    [(("Black", "Asian-Pac-Islander"), 3, 1.6487), (("Black", "White"), 3, 0.7994)],
)
def test_adult_education_for_one_pair(adult, pair, published, exact):
    plan = adult.puffer.calibrate(secret="race", public="education_num", epsilon=1.0, pairs=[pair])
    assert plan.published_scale == published
    assert plan.scale == pytest.approx(exact, abs=5e-5)
    assert_smallest(plan.scale, by_secret(adult, "race", "education_num"), epsilon=1.0, pairs=[pair])


def test_cholesterol_by_sex(hungarian):
    plan = hungarian.puffer.calibrate(secret="sex", public="chol", epsilon=1.0)
    assert plan.published_scale == 135
    assert plan.scale == pytest.approx(55.628, abs=5e-4)
    assert_smallest(plan.scale, by_secret(hungarian, "sex", "chol"), epsilon=1.0)


def test_blood_glucose_by_sex():
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(scaled=False, as_frame=True).frame
    plan = frame.puffer.calibrate(secret="sex", public="s6", epsilon=1.0)
    assert plan.published_scale == 10
    assert plan.scale == pytest.approx(6.05, abs=5e-3)
    assert_smallest(plan.scale, by_secret(frame, "sex", "s6"), epsilon=1.0)


def test_means_over_the_plan_in_both_orders():
    """[DLYZ] (20) on Tables 3 and 4; of two values it is Lemma 6, and the truth is below it."""
    users = {"p": Prior.empirical([1, 2, 4, 5], [4, 1, 1, 4]), "q": Prior.empirical([2, 3, 4], [1, 18, 1])}
    table_4 = {"p": Prior.empirical([1, 2, 3, 4], [8, 9, 20, 3]), "q": Prior.empirical([2, 3, 4, 5], [3, 20, 9, 8])}
    found = [relaxed_scale(laws, epsilon=e) for laws in (users, table_4) for e in (0.1, 0.5, 1)]
    assert found == pytest.approx([18.7787, 3.7771, 1.9002, 16.3214, 3.3186, 1.6902], abs=6e-5)
    rng = np.random.default_rng(5)
    for p, q in rng.uniform(0.01, 0.99, size=(20, 2)):
        epsilon = float(rng.choice([0.1, 1, 3]))
        lemma_6 = max(bernoulli_neighbour_scale(*pair, epsilon=epsilon) for pair in ((p, q), (q, p)))
        laws = {"p": Prior.bernoulli(p), "q": Prior.bernoulli(q)}
        assert relaxed_scale(laws, epsilon=epsilon) == pytest.approx(lemma_6, rel=1e-9)
    assert relaxed_scale({"s": users["p"], "t": users["p"]}, epsilon=1) == 0
    tiny = {s: Prior.empirical(np.array(v) * 2.0**-1060) for s, v in {"p": [1, 3, 4], "q": [2, 4, 6]}.items()}
    assert relaxed_scale(tiny, epsilon=0.05) == kantorovich_scale(tiny, epsilon=0.05) > 0


def test_bernoulli_closed_form_equals_the_search_on_any_two_values():
    rng = np.random.default_rng(3)
    for _ in range(100):
        low, width, epsilon = rng.normal() * 10, rng.exponential() * 5, rng.uniform(0.05, 3)
        p = rng.uniform(0, 1, 3).round(3)
        priors = {k: Prior.empirical([low, low + width], [1 - x, x]) for k, x in enumerate(p)}
        closed, searched = bernoulli_exact_scale(priors, epsilon=epsilon), smallest_scale(priors, epsilon=epsilon)
        assert closed * (1 - 1e-9) <= searched <= closed * (1 + ABOVE)
        some = bernoulli_exact_scale(priors, epsilon=epsilon, pairs=[(0, 1)])
        assert some == pytest.approx(smallest_scale(priors, epsilon=epsilon, pairs=[(0, 1)]), rel=ABOVE)


def test_bernoulli_table_from_a_frame():
    frame = pd.DataFrame({"s": ["a"] * 10 + ["b"] * 10, "x": [7] * 8 + [9] * 2 + [7] * 1 + [9] * 9})
    plan = frame.puffer.calibrate(secret="s", public="x", epsilon=1.0)
    assert plan.theorem == "bernoulli"
    assert plan.published_scale == 2
    assert plan.scale == pytest.approx(2 * 0.6908, abs=1e-4)
