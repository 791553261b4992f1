"""Refined noise has the law of noise of its scale, and what it adds to the first one is independent of it."""

import numpy as np
import pytest
from scipy import stats

from puffer_frames.noise.adding import half_integers
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.refining import refined
from puffer_frames.noise.stream import Purpose, ReleaseKey

ROWS = 400_000
RARE = 1e-6
COARSE = 2.0**-6
MOST = 2000
"""Points of the coarse grid that are counted one by one."""
KEY = ReleaseKey(bytes(range(32)))


def drawn(old, new, *, grid=None, rows=ROWS, name="a"):
    """The first noise and the refined one in units of the grid; a coarse grid shows single points."""
    stream = KEY.stream(Purpose.NOISE, f"{name} {old}")
    if grid is None:
        sampler = Laplace(scale=old).sampler()
        first, grid = half_integers(sampler, range(rows), stream=stream), sampler.grid
    else:
        words, signs = stream.pairs(range(rows), 0).T
        size = np.floor(-np.log((words + 0.5) / 2.0**64) * old / grid) + 0.5
        first = np.where(signs % 2 == 0, size, -size)
    return first, refined(first, grid=grid, old=old, new=new, key=KEY, name=name, column="x"), grid


def chi_square(counts, expected):
    """The probability of counts that are as far from what is expected."""
    few = expected < 10
    counts = np.append(counts[~few], counts[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    return stats.chisquare(counts[expected > 0], expected[expected > 0], sum_check=False).pvalue


def law(scale, grid, points):
    q = np.exp(-grid / scale)
    return 0.5 * (1 - q) * q ** (np.abs(points) - 0.5)


@pytest.mark.parametrize(("old", "new"), [(3.0, 2.97), (3.0, 1.2), (5.0, 0.05)])
def test_its_law_is_that_of_noise_of_its_scale(old, new):
    _, second, grid = drawn(old, new)
    size = np.abs(second) * grid / new
    edges = np.append(-np.log(1 - np.arange(200) / 200), np.inf)
    for side in (second > 0, second < 0):
        counts = np.histogram(size[side], edges)[0]
        assert chi_square(counts, np.full(200, ROWS / 400)) > RARE
    low = (np.abs(second) - 0.5).astype(np.int64) % 64  # of no less noise than the grid
    assert chi_square(np.bincount(low, minlength=64), np.full(64, ROWS / 64)) > RARE


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_another_scale_is_found(factor):
    _, second, grid = drawn(3.0, 1.2)
    edges = np.append(-np.log(1 - np.arange(200) / 200), np.inf)
    counts = np.histogram(np.abs(second) * grid / (1.2 * factor), edges)[0]
    assert chi_square(counts, np.full(200, ROWS / 200)) < RARE


@pytest.mark.parametrize(("old", "new"), [(6.0, 2.0), (6.0, 5.9)])
def test_on_a_coarse_grid_every_point_has_its_probability(old, new):
    first, second, grid = drawn(old, new, grid=COARSE)
    points = np.arange(-MOST, MOST) + 0.5
    for noise, scale in ((first, old), (second, new)):
        inside = np.abs(noise) < MOST
        counts = np.bincount((noise[inside] + MOST - 0.5).astype(int), minlength=2 * MOST)
        assert chi_square(counts, ROWS * law(scale, grid, points)) > RARE


@pytest.mark.parametrize(("old", "new"), [(6.0, 2.0), (6.0, 5.9)])
def test_what_it_adds_is_independent_of_it_and_has_its_law(old, new):
    first, second, grid = drawn(old, new, grid=COARSE)
    added = first - second
    p, q = np.exp(-grid / old), np.exp(-grid / new)
    kept = (1 - p) ** 2 / (1 - q) ** 2 * q / p
    points = np.arange(-MOST, MOST + 1)
    expected = (1 - kept) * (1 - p) / (1 + p) * p ** np.abs(points) + kept * (points == 0)
    inside = np.abs(added) <= MOST
    assert chi_square(np.bincount((added[inside] + MOST).astype(int), minlength=2 * MOST + 1), ROWS * expected) > RARE
    assert dependence(second, added) > RARE


def dependence(second, added):
    """The probability of a table of both, in quantiles, that is as far from independence."""
    rows = np.digitize(second, np.quantile(second, np.arange(1, 8) / 8))
    moved = added[added != 0]
    columns = np.where(added == 0, 0, 1 + np.digitize(added, np.quantile(moved, [0.2, 0.4, 0.6, 0.8])))
    table = np.zeros((8, 6))
    np.add.at(table, (rows, columns), 1)
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue


def test_an_independent_second_draw_is_found():
    """The fault: less noise that does not know of the first."""
    first, _, _ = drawn(6.0, 2.0, grid=COARSE)
    alone, _, _ = drawn(4.0, 3.9, grid=COARSE, name="b")
    assert dependence(alone, first - alone) < RARE


def test_a_draw_that_keeps_the_first_noise_too_often_is_found():
    first, second, grid = drawn(6.0, 2.0, grid=COARSE)
    wrong = np.where(np.arange(ROWS) % 20 == 0, first, second)
    points = np.arange(-MOST, MOST) + 0.5
    inside = np.abs(wrong) < MOST
    counts = np.bincount((wrong[inside] + MOST - 0.5).astype(int), minlength=2 * MOST)
    assert chi_square(counts, ROWS * law(2.0, grid, points)) < RARE
