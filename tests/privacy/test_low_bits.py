"""The attack on the low bits of floating-point noise (Mironov 2012): it reads textbook noise, and nothing here."""

import numpy as np
import pytest

from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey

ROWS = 20_000
NOISES = {
    "laplace": Laplace(scale=1.0),
    "laplace of another scale": Laplace(scale=1 / 3),
    "gaussian": Gaussian(scale=1.0),
    "stable": Stable(scale=1.0, alpha=1.5),
}


def textbook(value, seed):
    return value + np.random.default_rng(seed).laplace(size=ROWS)


def ours(value, noise, seed):
    return add_noise(
        np.full(ROWS, float(value)), noise.sampler(), stream=ReleaseKey.of(seed).stream(Purpose.NOISE, "x")
    )


def off_grid(outputs, grid):
    """Share of the outputs that are no multiple of a grid: what an attacker who knows the code tests."""
    with np.errstate(over="ignore"):
        return float((outputs / grid != np.rint(outputs / grid)).mean())


def test_the_attack_reads_textbook_noise():
    # 1 + z in [1/2, 2) is a multiple of 2^-53, 0 + z is not: the low bits tell 0 from 1
    assert off_grid(textbook(1.0, 0), 2.0**-53) == 0
    assert off_grid(textbook(0.0, 0), 2.0**-53) > 0.2


def lowest_bits(outputs, grid):
    """Every output as an odd multiple of half the grid: its lowest bits, as far as they go."""
    multiples = outputs / (grid / 2)
    assert np.array_equal(multiples, np.rint(multiples))
    return multiples.astype(np.int64)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.1, 0.7), (1e-9, 3.0), (-5.3, 5.300000001)])
def test_reachable_outputs_are_the_same_for_neighbouring_inputs(name, values):
    noise = NOISES[name]
    grid = noise.sampler().grid
    for value in values:
        outputs = ours(value, noise, 3)
        near = outputs[np.abs(outputs) < 2.0**50 * grid]
        assert near.size > 0.99 * ROWS
        multiples = lowest_bits(near, grid)
        assert (multiples % 2 == 1).all()  # half-integers of the grid, whatever the input
        assert off_grid(outputs, grid / 2) == 0


@pytest.mark.parametrize("name", NOISES)
def test_the_low_bits_are_uniform_whatever_the_input(name):
    noise = NOISES[name]
    counts = []
    for value in (0.0, 0.1, 1.0):
        multiples = lowest_bits(ours(value, noise, 4), noise.sampler().grid)
        counts.append(np.bincount(((multiples - 1) // 2) % 16, minlength=16))
    for count in counts:
        assert ((count - ROWS / 16) ** 2 / (ROWS / 16)).sum() < 60  # chi-square, 15 degrees of freedom: 4e-7


@pytest.mark.parametrize("name", NOISES)
def test_an_output_far_from_the_noise_is_a_rounded_sum(name):
    noise = NOISES[name]
    near = ours(0.0, noise, 5)
    far = ours(2.0**70, noise, 5)  # beyond 2^53 grid steps: the nearest float of the exact sum
    assert np.array_equal(far, 2.0**70 + near)
