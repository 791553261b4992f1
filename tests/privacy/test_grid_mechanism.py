"""The law of a released value on its grid, summed up exactly on coarse grids, is as private as the calibration says."""

import numpy as np
import pytest
from conftest import few
from scipy.stats import laplace, norm

from puffer_frames.core import Prior, hockey_stick, pure_loss
from puffer_frames.noise.families import GAUSSIAN, LAPLACE
from puffer_frames.noise.grid import grid_of

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
