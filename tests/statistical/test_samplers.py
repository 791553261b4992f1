"""Keyed noise has its law: at its scale, in its tails, cell by cell; and the tests fail at 0.7 and 1.3 times it."""

import functools

import numpy as np
import pandas as pd
import pytest
from conftest import few, thinned
from scipy import stats

import puffer_frames
from puffer_frames import Noise
from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.families import noise_family
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey

SCALE = 1.7
NOISES = {
    "laplace": Laplace(scale=SCALE),
    "gaussian": Gaussian(scale=SCALE),
    "cauchy": Stable(scale=SCALE, alpha=1.0),
    "stable 1.7": Stable(scale=SCALE, alpha=1.7),
}
MANY, SOME = 1 << 22, 20_000
UNLIKELY = 1e-4


def drawn(noise, n, *, seed=0, column="x"):
    sampler = noise.sampler()
    out = add_noise(np.zeros(n), sampler, stream=ReleaseKey.of(seed).stream(Purpose.NOISE, column))
    steps = np.abs(out) / sampler.grid
    assert (steps % 1 == 0.5)[steps < 2**51].all()
    return out


@pytest.fixture(scope="module", params=NOISES)
def case(request):
    noise = NOISES[request.param]
    return noise, drawn(noise, MANY)


@functools.cache
def cdf(noise):
    """Of stable noise from a table, which is found to be as good as the values: those take quadrature."""
    if not isinstance(noise, Stable) or noise.alpha == 1:
        return noise.cdf
    places = noise.scale * np.sinh(np.linspace(-14, 14, 4001))
    found = noise.cdf(places)
    between = np.random.default_rng(2).normal(size=50) * 3 * noise.scale
    assert np.abs(np.interp(between, places, found) - noise.cdf(between)).max() < 1e-5
    return lambda y: np.interp(y, places, found)


def p_value(noise, sample, factor=1.0):
    return stats.kstest(sample[:SOME] / factor, cdf(noise)).pvalue


@few(2)
def test_distribution(case):
    noise, sample = case
    assert p_value(noise, sample) > UNLIKELY


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_the_test_of_the_distribution_can_fail(case, factor):
    noise, sample = case
    assert p_value(noise, sample, factor) < UNLIKELY


def test_mean_error_and_variance(case):
    noise, sample = case
    error, expected = np.abs(sample).mean(), noise.expected_absolute_error
    variance = {"Laplace": 2 * SCALE**2, "Gaussian": SCALE**2}.get(type(noise).__name__)
    if variance:
        assert error == pytest.approx(expected, rel=0.003)
        assert sample.var() == pytest.approx(variance, rel=0.005)
    elif expected < np.inf:
        assert error == pytest.approx(expected, rel=0.02)
    assert abs((sample > 0).mean() - 0.5) < 5 * 0.5 / MANY**0.5


def tail_z(noise, sample, probability, factor=1.0):
    """Standardised number of values beyond the quantiles of this probability on either side."""
    end = factor * noise.quantile(1 - probability)
    found, asked = (np.abs(sample) > end).sum(), 2 * probability * sample.size
    return (found - asked) / asked**0.5


@pytest.mark.parametrize("probability", [1e-2, 1e-4, 1e-5, 1e-6])
def test_tails(case, probability):
    noise, sample = case
    assert abs(tail_z(noise, sample, probability)) < 5


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_the_test_of_the_tails_can_fail(case, factor):
    noise, sample = case
    assert abs(tail_z(noise, sample, 1e-3, factor)) > 5


def test_rows_and_columns_are_independent(case):
    noise, sample = case
    ranks = cdf(noise)(sample[:SOME]) - 0.5
    other = cdf(noise)(drawn(noise, SOME, column="y")) - 0.5
    for shift in (1, 2, 7):
        assert abs(np.corrcoef(ranks[shift:], ranks[:-shift])[0, 1]) < 5 / SOME**0.5
        assert abs(np.corrcoef(np.abs(ranks[shift:]), np.abs(ranks[:-shift]))[0, 1]) < 5 / SOME**0.5
    assert abs(np.corrcoef(ranks, other)[0, 1]) < 5 / SOME**0.5


# ----------------------------------------------------------------------- every cell of a coarse grid
# At 2^-40 a wrong probability of one cell is invisible; at 2^-6 to 2^-12 the mass function is counted as a whole.


def cell_counts(noise, resolution, *, seed, n=MANY):
    sampler = noise.sampler(resolution=resolution)
    out = add_noise(np.zeros(n), sampler, stream=ReleaseKey.of(seed).stream(Purpose.NOISE, "coarse")) / sampler.grid
    width = sampler.grid / noise.scale
    number = int(float(noise.quantile(1 - 25 * max(1, 1 / width) / n)) / sampler.grid)
    ends = np.arange(number + 1) * sampler.grid
    masses = 2 * -np.diff(np.append(noise.survival(np.maximum(ends, 1e-300)), 0.0))
    masses[0] = 1 - masses[1:].sum()
    counted = np.bincount(np.minimum(np.abs(out) - 0.5, number).astype(int), minlength=number + 1)
    return counted, masses * n, (out > 0).sum()


def chi_square(counted, expected):
    return stats.chisquare(counted, expected * counted.sum() / expected.sum()).pvalue


@few(3)
@pytest.mark.parametrize(
    ("resolution", "law", "scale"), thinned([6, 7, 8, 10, 12], [Laplace, Gaussian], [1.0, 1.37, 1.9999], often=2)
)
def test_every_cell_of_a_coarse_grid(law, scale, resolution):
    counted, expected, upward = cell_counts(law(scale=scale), resolution, seed=resolution)
    assert expected[:-1].min() > 5
    assert chi_square(counted, expected) > UNLIKELY
    assert abs(upward - MANY / 2) < 5 * MANY**0.5 / 2


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_every_cell_of_a_coarse_grid_of_stable_noise(alpha):
    counted, expected, _ = cell_counts(Stable(scale=1.37, alpha=alpha), 6, seed=2, n=1 << 20)
    assert chi_square(counted, expected) > UNLIKELY


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("fault", ["twice the first cell", "cells one too far"])
def test_the_count_of_cells_finds_faults(kind, fault):
    counted, expected, _ = cell_counts(kind(scale=1.37), 8, seed=1)
    if fault == "twice the first cell":
        expected[0] *= 2
    else:
        expected[1:] = expected[:-1].copy()
    assert chi_square(counted, expected) < UNLIKELY


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_places_within_the_cells_of_the_table(kind):
    # the rejection bends the law within a cell by less than 2 in 100; all cells together show it
    counted, expected, _ = cell_counts(kind(scale=1.37), 8, seed=1)
    places = np.arange(counted.size) % 4
    counted, expected = np.bincount(places, counted), np.bincount(places, expected)
    assert chi_square(counted, expected) > UNLIKELY
    assert chi_square(counted, np.full(4, expected.mean())) < UNLIKELY  # what comes without rejection


# ----------------------------------------------------------------------------------------- a release


@few(1)
@pytest.mark.parametrize(
    "request_",
    [{}, {"mechanism": Noise("gaussian"), "delta": 1e-5}, {"mechanism": Noise(Stable(alpha=1.6))}],
    ids=lambda r: str(r),
)
def test_a_release_has_noise_of_the_certified_scale(request_):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"s": rng.choice(["a", "b"], SOME), "x": rng.integers(0, 5, SOME).astype(float)})
    frame.loc[frame["s"] == "b", "x"] += 1
    released = frame.puffer.privatize(secret="s", public="x", epsilon=1.0, rng=1, **request_)
    family = noise_family(request_["mechanism"].family if request_ else "laplace")
    noise = family.at(released.puffer.certificate.scales["x"])
    sample = (released["x"] - frame["x"]).to_numpy()
    assert p_value(noise, sample) > UNLIKELY
    for factor in (0.7, 1.3):
        assert p_value(noise, sample, factor) < UNLIKELY
    assert puffer_frames.verify(released) == "unsigned: cannot be trusted"
