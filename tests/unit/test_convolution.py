"""Density, score and survival of a Gaussian plus Laplace noise against mpmath."""

import numpy as np
import pytest
from mpmath import mp, mpf

from puffer_frames.loss.mixtures.curve import central_sharpness, convolve, survival
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF


def reference(z, s, b):
    """log 2b f, score, log of the prior's density over f, and survival, at enough digits for e^{x^2/2} Phi(-x)."""
    with mp.workdps(60 + int(max(0, 6 * np.log10(s / b)))):
        z, s, b = mpf(z), mpf(s), mpf(b)

        def cdf(t):
            return mp.erfc(-t / mp.sqrt(2)) / 2

        p = mp.exp(s * s / 2 / b / b - z / b) * cdf(z / s - s / b)
        q = mp.exp(s * s / 2 / b / b + z / b) * cdf(-z / s - s / b)
        prior = mp.exp(-z * z / 2 / s / s) / s / mp.sqrt(2 * mp.pi)
        return mp.log(p + q), (q - p) / (p + q) / b, mp.log(2 * b * prior / (p + q)), cdf(-z / s) + (p - q) / 2


def random_points(count):
    rng = np.random.default_rng(8)
    for k in range(count):
        b, x = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-6, 6)
        s = b * x
        near_bend = s * x * (1 + 0.3 * rng.normal() / (1 + x))
        far = (s + b) * 10 ** rng.uniform(-8, 3) * rng.choice([-1, 1])
        yield float((s * rng.normal() * 3, b * rng.normal() * 5, near_bend, far)[k % 4]), float(s), float(b)


def test_errors_are_within_their_bounds():
    for z, s, b in random_points(400):
        log_f, score, log_sharpness, beyond = reference(z, s, b)
        found = convolve(np.array([[z]]), np.array([[s]]), scale=b)
        bound = float(found.error()[0, 0])
        assert abs(found.log_density[0, 0] - log_f) <= bound
        flat = 1 - (found.score_left[0, 0] * b) ** 2
        assert abs(found.score_left[0, 0] - score) * b <= bound * flat + 4 * UNIT_ROUNDOFF
        assert abs(found.log_sharpness[0, 0] - log_sharpness) <= 4 * bound + 1e-13 * abs(log_sharpness)
        if z >= 0 and log_f > -600:
            assert abs(survival(np.array([[z]]), np.array([[s]]), scale=b)[0, 0] / beyond - 1) <= bound


def test_sharpness_is_largest_at_the_mean():
    z = np.linspace(-5, 5, 401)[None, :]
    for s in (0.01, 1.0, 30.0):
        table = convolve(z * s, np.array([[s]]), scale=1.0).log_sharpness[0]
        largest = float(central_sharpness(np.array([[s]]), scale=1.0)[0, 0])
        assert np.exp(table.max()) == pytest.approx(largest, rel=1e-12)
        assert table.argmax() == 200
        assert (np.diff(table[:201]) >= -1e-12).all()


def test_atoms_have_both_limits_of_the_score():
    table = convolve(np.array([[-1.0, 0.0, 1.0]]), np.array([[0.0]]), scale=2.0)
    assert table.log_density[0].tolist() == [-0.5, 0.0, -0.5]
    assert table.score_left[0].tolist() == [0.5, 0.5, -0.5]
    assert table.score_right[0].tolist() == [0.5, -0.5, -0.5]
