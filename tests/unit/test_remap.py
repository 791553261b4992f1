"""Posterior medians against brute force and integrals, and what plans, releases and certificates make of them."""

from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pandas as pd
import pytest
from conftest import few, sweep
from scipy import stats
from scipy.integrate import quad

from puffer_frames import Layout, Noise, Stable, calibrate, privatize
from puffer_frames.errors import ArgumentError
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.scales import remap
from puffer_frames.scales.remap import Remap

NOISES = {"laplace": Laplace, "gaussian": Gaussian}


@pytest.fixture(params=NOISES)
def family(request):
    return NOISES[request.param]


def random_table(rng):
    """Atoms on a grid, close together or far apart, and counts of different sizes."""
    n = int(rng.integers(1, 12))
    values = np.unique([rng.integers(0, 20, n), rng.normal(size=n), np.exp(3 * rng.normal(size=n))][rng.integers(3)])
    return values.astype(float), rng.integers(1, [3, 1000][rng.integers(2)], values.size)


def density(family, z, scale):
    """Without its constant."""
    return np.exp(-np.abs(z) / scale) if family is Laplace else np.exp(-0.5 * (z / scale) ** 2)


def costs(values, counts, family, scale, y):
    """Posterior expected error of every value, one by one: the row of a noisy value, the column of a released one."""
    away = np.abs(y[:, None] - values)
    near = away.min(axis=1, keepdims=True)
    logs = (near - away) / scale if family is Laplace else (near**2 - away**2) / (2 * scale**2)
    posterior = counts * np.exp(logs)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior @ np.abs(values[:, None] - values)


@sweep(40, 2000)
def test_no_value_has_a_smaller_expected_error(family, count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        values, counts = random_table(rng)
        scale = float(np.exp(2 * rng.normal()))
        remap = Remap.of(values, counts, family(scale=scale))
        y = rng.uniform(values[0] - 5 * scale, values[-1] + 5 * scale, 300)
        all_costs = costs(values, counts, family, scale, y)
        chosen = all_costs[np.arange(y.size), np.searchsorted(values, remap.step(y))]
        assert (chosen <= all_costs.min(axis=1) * (1 + 1e-7) + 1e-12 * np.ptp(values)).all()
        assert np.isin(remap.values, values).all()
        assert remap.values_before == values.size


@sweep(8, 200)
def test_error_and_share_unchanged_against_integrals(family, count):
    """Over y, of the least of all posterior costs: it knows no thresholds."""
    rng = np.random.default_rng(2)
    for _ in range(count):
        values, counts = random_table(rng)
        weights, scale = counts / counts.sum(), float(np.exp(rng.normal()))
        remap = Remap.of(values, counts, family(scale=scale))
        constant = quad(lambda z, scale=scale: density(family, z, scale), 0, 40 * scale)[0] * 2

        def least(y, values=values, weights=weights, scale=scale):
            joint = weights * density(family, y - values, scale)
            return (joint @ np.abs(values[:, None] - values)).min()

        ends = np.concatenate([[values[0] - 40 * scale], values, [values[-1] + 40 * scale]])
        cuts = np.unique(np.concatenate([ends, remap.thresholds]))
        error = sum(quad(least, a, b, epsabs=1e-12)[0] for a, b in pairwise(cuts))
        assert remap.expected_error == pytest.approx(error / constant, rel=1e-6, abs=1e-9)
        bounds = np.concatenate([[-np.inf], remap.thresholds, [np.inf]])
        expected = 0.0
        for value, low, high in zip(remap.values, bounds[:-1], bounds[1:], strict=True):
            law = stats.laplace if family is Laplace else stats.norm
            expected += weights[values == value][0] * np.diff(law.cdf([low - value, high - value], scale=scale))[0]
        assert remap.unchanged == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_thresholds_to_forty_digits():
    """Both sides of the posterior are equal there, by mpmath."""
    values, counts = np.array([0.0, 1.0, 2.5, 7.0, 30.0]), np.array([5, 9, 2, 3, 1])
    for family in NOISES.values():
        remap = Remap.of(values, counts, family(scale=1.25))
        for value, threshold in zip(remap.values, remap.thresholds, strict=False):
            with mpmath.workdps(40):
                away = [(mpmath.mpf(float(threshold)) - x) / mpmath.mpf(1.25) for x in values]
                logs = [-abs(z) if family is Laplace else -z * z / 2 for z in away]
                parts = [int(n) * mpmath.exp(log) for n, log in zip(counts, logs, strict=True)]
                left = mpmath.fsum(part for part, x in zip(parts, values, strict=True) if x <= value)
                assert abs(float(mpmath.log(left) - mpmath.log(mpmath.fsum(parts) - left))) < 1e-11


def test_thresholds_of_few_atoms(family):
    remap = Remap.of(np.array([0.0, 4.0]), np.array([3, 3]), family(scale=1.0))
    assert remap.thresholds == pytest.approx([2.0], abs=1e-12)
    assert remap.step(np.array([-1e300, 1.99, 2.01, 1e300])).tolist() == [0.0, 0.0, 4.0, 4.0]
    # At and below the smaller atom both weigh the same; whichever is taken, the error is that of a constant
    values = np.array([0.0, np.log(2.0)])
    remap = Remap.of(values, np.array([1, 2]), Laplace(scale=1.0))
    assert remap.expected_error == pytest.approx(np.log(2.0) / 3, rel=1e-12)
    assert Remap.of(np.array([0.0, 1.0]), np.array([1, 1]), Laplace(scale=1e9)).expected_error <= 0.5
    remap = Remap.of(np.array([0.0, 1.0]), np.array([1, 99]), Laplace(scale=1.0))
    assert (remap.values.tolist(), remap.thresholds.tolist()) == ([1.0], [])
    assert (remap.expected_error, remap.unchanged) == (pytest.approx(0.01), pytest.approx(0.99))
    both = Remap.of(np.arange(5.0), np.array([1, 1, 60, 1, 1]), Laplace(scale=2.0))
    assert (both.values.tolist(), both.expected_error) == ([2.0], pytest.approx(6 / 64))
    far = Remap.of(np.array([0.0, 1.0]), np.array([1, 99]), Gaussian(scale=0.01))
    assert far.values.tolist() == [0.0, 1.0]
    remap = Remap.of(np.array([3.0, 3.0]), np.array([2, 5]), family(scale=2.0))
    assert (remap.values.tolist(), remap.expected_error, remap.unchanged) == ([3.0], 0.0, 1.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_values_at_the_ends_of_the_floats(family, scale):
    values = np.array([-1.7e308, -1e300, -1.0, 0.0, 1e-300, 2.0, 1e300, 1.7e308])
    remap = Remap.of(values, np.arange(1, 9), family(scale=scale))
    assert np.isfinite(remap.expected_error)
    assert 0 <= remap.unchanged <= 1
    assert np.isfinite(remap.thresholds).all()
    assert (np.diff(remap.thresholds) > 0).all()


@few(2)
@pytest.mark.parametrize("scale", [0.003, 0.1, 1.0, 30.0])
def test_many_atoms_against_direct_sums(family, scale):
    rng = np.random.default_rng(4)
    values = np.unique(rng.normal(size=3000))
    counts = rng.integers(1, 9, values.size)
    remap = Remap.of(values, counts, family(scale=scale))
    bounds = np.concatenate([[-np.inf], remap.thresholds, [np.inf]])
    weights, error = counts / counts.sum(), 0.0
    for released, low, high in zip(remap.values, bounds[:-1], bounds[1:], strict=True):
        share = family(scale=scale).cdf(high - values) - family(scale=scale).cdf(low - values)
        error += float((weights * share) @ np.abs(values - released))
    assert remap.expected_error == pytest.approx(error, rel=1e-10 if family is Laplace else 1e-5)


@few(2)
@pytest.mark.parametrize("scale", [0.003, 0.1, 1.0, 30.0])
def test_close_atoms_under_gaussian_noise_cost_little(monkeypatch, scale):
    rng = np.random.default_rng(5)
    values = np.unique(rng.normal(size=1000))
    found = []
    for most in (1 << 9, 1 << 12):
        monkeypatch.setattr(remap, "MOST_ATOMS", most)
        found.append(Remap.of(values, np.ones(values.size), Gaussian(scale=scale)))
    assert found[0].values.size < values.size
    assert found[1].expected_error * (1 - 1e-6) <= found[0].expected_error <= found[1].expected_error * 1.001


def test_heavy_tails_have_no_thresholds():
    """docs/theory.md, section 15: under Cauchy noise the median goes up and comes down again."""
    weights, y = np.array([0.6, 0.4]), np.array([-50.0, 2.0, 50.0])
    joint = weights / (1 + (y[:, None] - np.array([0.0, 1.0])) ** 2)
    assert (joint[:, 1] > joint[:, 0]).tolist() == [False, True, False]
    assert joint[1, 1] / joint[1, 0] == pytest.approx(5 / 3)
    with pytest.raises(ArgumentError, match="remap=True"):
        Remap.of(np.array([0.0, 1.0]), weights, Stable(alpha=1.7))


# Plans and releases


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(6)
    group = rng.choice(["a", "b", "c"], 500)
    return pd.DataFrame(
        {"group": group, "score": rng.integers(0, 9, 500) + (group == "a"), "age": rng.integers(20, 60, 500)}
    )


ASKED = {"secret": "group", "public": "score", "epsilon": 0.5}


def test_the_plan_holds_the_medians_of_all_rows(people):
    plan = calibrate(people, **ASKED, pairs=[("a", "b")], mechanism=Noise(remap=True))
    values, counts = np.unique(people["score"], return_counts=True)
    direct = Remap.of(values.astype(float), counts, plan.noise.at(plan.scale))
    found = plan.remap["score"]
    assert list(plan.remap) == ["score"]
    assert (found.values.tolist(), found.thresholds.tolist()) == (direct.values.tolist(), direct.thresholds.tolist())
    assert plan.expected_error == {"score": direct.expected_error}
    assert plan.scale == calibrate(people, **ASKED, pairs=[("a", "b")]).scale
    text = " ".join(str(plan).split())
    assert f"remap a mean absolute error of {direct.expected_error:.6g}, {plan.scale:.6g} without it" in text


@pytest.mark.parametrize("mechanism", ["auto", "noise"])
def test_noise_alone_has_none(people, mechanism):
    plan = calibrate(people, **ASKED, mechanism=mechanism)
    assert plan.remap == {}
    assert plan.expected_error == {"score": plan.scale}
    assert "remap" not in str(plan)


@few(1)
@pytest.mark.parametrize("options", [{}, {"mechanism": Noise("gaussian"), "delta": 1e-6}, {"public": ["score", "age"]}])
def test_a_release_is_a_function_of_the_noisy_values_alone(people, options):
    asked = ASKED | options
    remap = replace(asked.get("mechanism", Noise()), remap=True)
    plan = calibrate(people, **asked | {"mechanism": remap})
    noisy, released = privatize(people, **asked, rng=7), plan.release(people, rng=7)
    for name in released:
        assert released[name].tolist() == plan.remap[name].step(noisy[name].to_numpy()).tolist()
        assert set(released[name]) <= set(people[name])


def test_clipping_rounding_and_other_frames(people):
    plan = calibrate(people, **ASKED, mechanism=Noise(remap=True))
    released = plan.release(people, rng=7, layout=Layout(clip=(2.5, 4.5), round=True))
    medians = plan.release(people, rng=7)["score"]
    assert released["score"].tolist() == medians.clip(2.5, 4.5).tolist()
    plan = calibrate(people, **ASKED, domain={"score": (2, 5.5)}, mechanism=Noise(remap=True))
    values, counts = np.unique(people["score"].clip(2, 5.5), return_counts=True)
    direct = Remap.of(values, counts, plan.noise.at(plan.scale))
    assert plan.remap["score"].values.tolist() == direct.values.tolist()
    assert plan.expected_error["score"] == pytest.approx(direct.expected_error, rel=1e-12)
    plan = calibrate(people, **ASKED, mechanism=Noise(remap=True))
    other = people.assign(score=people["score"] + 100).head(300)
    released = plan.release(other, allow_other_frame=True, allow_drift=True, rng=7)
    assert set(released["score"]) <= set(people["score"])


def test_what_is_not_replaced_said_or_taken(people):
    calm = people.assign(score=3, flat=7)
    plan = calibrate(calm, **ASKED, mechanism=Noise(remap=True), allow_zero_noise=True)
    assert (plan.remap, plan.expected_error) == ({}, {"score": 0.0})
    assert set(plan.release(calm)["score"]) == {3.0}
    both = calibrate(calm, **ASKED | {"public": ["age", "flat"]}, mechanism=Noise(remap=True))
    assert list(both.remap) == ["age"]
    plan = calibrate(people, **ASKED, mechanism=Noise(remap=True))
    certificate = plan.release(people).puffer.certificate
    plain = calibrate(people, **ASKED).release(people).puffer.certificate
    assert certificate.expected_error == plain.expected_error == {"score": plan.scale}
    assert (certificate.estimated, bool(plain.estimated)) == ({}, True)
    assert f"{plan.expected_error['score']:.4g}" not in str(certificate)
    with pytest.raises(ArgumentError, match='"laplace" or "gaussian" with remap=True'):
        calibrate(people, **ASKED, mechanism=Noise(Stable(alpha=1.7), remap=True))
