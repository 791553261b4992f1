"""The attack on the low bits of floating-point noise (Mironov 2012): it reads textbook noise, and nothing here."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import few
from scipy.stats import laplace, norm

from puffer_frames import Channel, Contamination
from puffer_frames.core import Prior, hockey_stick, pure_loss
from puffer_frames.noise.adding import add_noise, grid_of
from puffer_frames.noise.families import GAUSSIAN, LAPLACE
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


# The law of a released value on its grid, summed up exactly on coarse grids, is as private as the calibration says.
CASES = 40


def random_prior(rng):
    atoms = rng.uniform(0, 3, rng.integers(1, 5))
    return Prior.empirical(atoms, rng.integers(1, 9, atoms.size))


def law_on_grid(prior, *, scale, grid, law, ends):
    """Probability of every output: those of a half-integer of the grid around the rounded atoms."""
    outputs = np.arange(-ends, ends) + 0.5
    steps = outputs[:, None] - np.rint(prior.means / grid)
    upper = law.sf((np.abs(steps) - 0.5) * grid, scale=scale) - law.sf((np.abs(steps) + 0.5) * grid, scale=scale)
    return upper @ prior.weights


@pytest.mark.parametrize("resolution", [3, 5])
def test_the_pure_loss_on_the_grid_is_at_most_the_continuous_one_and_its_cost(resolution):
    rng = np.random.default_rng(resolution)
    closest = np.inf
    for _ in range(CASES):
        p, q, scale = random_prior(rng), random_prior(rng), rng.uniform(0.3, 3)
        grid = grid_of(scale, resolution=resolution)
        on_grid = [law_on_grid(r, scale=scale, grid=grid, law=laplace, ends=int(12 * scale / grid)) for r in (p, q)]
        loss = np.abs(np.log(on_grid[0] / on_grid[1])).max()
        continuous = pure_loss(p, q, scale=scale)
        assert loss <= continuous.upper + grid / scale + 1e-9
        closest = min(closest, continuous.upper + grid / scale - loss)
    assert closest < 0.2 * 2.0**-resolution  # the cost is needed: some pair comes near


@few(2)
@pytest.mark.parametrize("resolution", [3, 5])
@pytest.mark.parametrize(("family", "law"), [(LAPLACE, laplace), (GAUSSIAN, norm)], ids=["laplace", "gaussian"])
def test_the_hockey_stick_on_the_grid_is_at_most_that_of_the_rounded_values(family, law, resolution):
    rng = np.random.default_rng(10 + resolution)
    for _ in range(CASES):
        p, q, scale, epsilon = random_prior(rng), random_prior(rng), rng.uniform(0.3, 3), rng.uniform(0.05, 1)
        grid = grid_of(scale, resolution=resolution)
        f, g = (law_on_grid(r, scale=scale, grid=grid, law=law, ends=int(40 * scale / grid)) for r in (p, q))
        delta = max(np.maximum(a - np.exp(epsilon) * b, 0).sum() for a, b in ((f, g), (g, f)))
        rounded = [Prior.empirical(np.rint(r.means / grid) * grid, r.levels[0]) for r in (p, q)]
        assert delta <= hockey_stick(*rounded, epsilon=epsilon, scale=scale, noise=family.name).upper + 1e-12
        if family is LAPLACE:  # e^(r/b) delta(epsilon - 2r/b) with r = g/2
            paid = epsilon - grid / scale
            if paid > 0:
                bound = hockey_stick(p, q, epsilon=paid, scale=scale).upper * np.exp(0.5 * grid / scale)
                assert delta <= bound + 1e-12


ROWS_OF_VALUE, SHARE, EPSILON = 500, 0.2, 0.5
# What contamination covers, and what it does not: rows replaced whatever their values, and rows chosen by them.
COUNTS = {"a": np.array([90, 210, 200]), "b": np.array([80, 220, 200])}
LEVELS = "pqr"
TABLE = pd.DataFrame(
    [(s, level, float(k)) for s, counts in COUNTS.items() for k, level in enumerate(LEVELS) for _ in range(counts[k])],
    columns=["s", "label", "number"],
).sample(frac=1, random_state=0, ignore_index=True)
PAGE = Path(__file__).parents[2] / "docs" / "guarantee.md"


def channel():
    """Law of the output for each input."""
    plan = TABLE.puffer.calibrate(
        secret="s", public="label", epsilon=EPSILON, mechanism=Channel(radius=SHARE, cap=None)
    )
    found = plan.channels["label"]
    assert "".join(found.inputs) == LEVELS
    return np.array(found.matrix)


def noise():
    """Densities at the values, where the largest ratio of Laplace mixtures is."""
    plan = TABLE.puffer.calibrate(secret="s", public="number", epsilon=EPSILON, beliefs=Contamination(share=SHARE))
    return np.exp(-np.abs(np.subtract.outer(np.arange(3), np.arange(3))) / plan.scale)


def largest(kernel, laws):
    """The largest loss of two secrets with any of these laws each."""
    ends = {s: np.array(found) @ kernel for s, found in laws.items()}
    pairs = [(one, other) for one in ends["a"] for other in ends["b"]]
    return max(np.abs(np.log(one / other)).max() for one, other in pairs)


def replaced(s):
    """Each row by one value, whatever its own: the extreme laws of contamination."""
    return [(1 - SHARE) * COUNTS[s] / ROWS_OF_VALUE + SHARE * np.eye(3)[k] for k in range(3)]


def chosen(s):
    """Up to as many rows of one value, by another one."""
    found = []
    for old, new in product(range(3), repeat=2):
        moved = min(int(SHARE * ROWS_OF_VALUE), int(COUNTS[s][old]))
        found.append((COUNTS[s] + moved * (np.eye(3)[new] - np.eye(3)[old])) / ROWS_OF_VALUE)
    return found


@pytest.mark.parametrize(("kernel", "loss"), [(channel, 1.10), (noise, 0.99)], ids=["channel", "noise"])
def test_rows_that_are_chosen_by_their_values(kernel, loss):
    found = kernel()
    assert largest(found, {s: replaced(s) for s in COUNTS}) <= EPSILON * (1 + 1e-9)
    assert largest(found, {s: chosen(s) for s in COUNTS}) == pytest.approx(loss, abs=0.005)
    assert (
        f"{loss:.2f}"
        in PAGE.read_text(encoding="utf-8").split("chosen by their values")[1].split("**Three figures**")[0]
    )
