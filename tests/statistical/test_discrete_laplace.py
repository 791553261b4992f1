"""Discrete Laplace noise: its full mass function, and the two families of faults that a test must see."""

import functools

import numpy as np
import pytest
from conftest import few, sweep
from scipy.stats import chisquare

from puffer_frames.noise.discrete_laplace import DiscreteLaplace
from puffer_frames.noise.stream import Purpose, ReleaseKey

ROWS = 20_000


@functools.cache
def drawn(scale, *, seed=1, rows=ROWS):
    return np.array(
        DiscreteLaplace(scale=scale).draw(range(rows), stream=ReleaseKey.of(seed).stream(Purpose.NOISE, "sum"))
    )


def p_value(draws, scale):
    """Chi-square of the mass function tanh(1/2b) exp(-|k|/b), tails pooled."""
    reach = max(1, int(scale * np.log(draws.size / 40)))
    inner = np.arange(-reach, reach + 1)
    mass = np.tanh(0.5 / scale) * np.exp(-np.abs(inner) / scale)
    tail = 0.5 * (1 - mass.sum())
    seen = np.array([(draws < -reach).sum(), *((draws == k).sum() for k in inner), (draws > reach).sum()])
    return chisquare(seen, draws.size * np.array([tail, *mass, tail])).pvalue


@few(2)
@sweep(2_000, ROWS)
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.5, 17.3])
def test_mass_function(scale, count):
    draws = drawn(scale, rows=count)
    assert p_value(draws, scale) > 1e-3
    assert p_value(draws, 0.7 * scale) < 1e-6
    assert p_value(draws, 1.3 * scale) < 1e-6


@sweep(2_000, ROWS)
def test_moments_and_quantiles(count):
    for scale in (1.0, 2.5):
        noise, draws = DiscreteLaplace(scale=scale), drawn(scale, rows=count)
        assert np.abs(draws).mean() == pytest.approx(noise.expected_absolute_error, rel=0.05)
        for probability in (0.9, 0.975):
            k = noise.quantile(probability)
            q = np.exp(-1 / scale)
            below = 1 - q ** (k + 1) / (1 + q)
            assert below >= probability
            assert k == 0 or below - np.tanh(0.5 / scale) * q**k < probability
            assert noise.quantile(1 - probability) == -k


def test_rows_are_functions_of_the_key():
    noise, stream = DiscreteLaplace(scale=4.0), ReleaseKey.of(3).stream(Purpose.NOISE, "sum")
    together = noise.draw(range(50), stream=stream)
    assert [noise.draw([row], stream=stream)[0] for row in reversed(range(50))] == together[::-1]
    assert noise.draw(range(50), stream=ReleaseKey.of(4).stream(Purpose.NOISE, "sum")) != together


@sweep(2_000, ROWS)
def test_neighbouring_rows_are_independent(count):
    draws = drawn(2.5, rows=count).astype(float)
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4 / np.sqrt(count)
