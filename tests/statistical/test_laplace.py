"""Seeded noise has the calibrated law: it passes at its scale and fails at 0.7 and 1.3 times it."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import puffer_frames  # noqa: F401

ROWS = 20_000
LIMIT = 1e-4


@pytest.fixture(scope="module")
def noise_and_scale():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.choice(["a", "b"], ROWS), "x": rng.integers(0, 5, ROWS).astype(float)})
    frame.loc[frame["s"] == "b", "x"] += 1
    released = frame.puffer.privatize(secret="s", public="x", epsilon=1.0, rng=1)
    return released["x"] - frame["x"], released.puffer.certificate.scales["x"]


def p_value(noise, scale):
    return stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue


def test_noise_has_the_certified_scale(noise_and_scale):
    noise, scale = noise_and_scale
    assert p_value(noise, scale) > LIMIT
    assert abs(noise).mean() == pytest.approx(scale, rel=0.03)


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_the_test_can_fail(noise_and_scale, factor):
    noise, scale = noise_and_scale
    assert p_value(noise, factor * scale) < LIMIT


def test_noise_of_neighbouring_rows_is_uncorrelated(noise_and_scale):
    noise, _ = noise_and_scale
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 4 / ROWS**0.5
