"""How far two samples are apart, and what of it may be chance."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from puffer_frames.mechanisms.batch_report import chance_bound, ks_distance

SAMPLES = st.lists(st.integers(-5, 5), min_size=1, max_size=30)


def brute_force(one, other):
    """By every point where a distribution function steps."""
    points = [*one, *other]
    share = [[np.mean(np.asarray(sample) <= x) for x in points] for sample in (one, other)]
    return float(np.abs(np.subtract(*share)).max())


def counted(sample, *, width=0.0):
    """Values and counts, or the centres of cells."""
    values = np.asarray(sample, dtype=float)
    if width:
        values = (np.floor(values / width) + 0.5) * width
    return np.unique(values, return_counts=True)


@settings(deadline=None)
@given(SAMPLES, SAMPLES)
def test_the_distance_of_two_samples(one, other):
    expected = brute_force(one, other)
    assert ks_distance(counted(one), counted(other)) == pytest.approx(expected, abs=1e-12)
    assert ks_distance(counted(other), counted(one)) == pytest.approx(expected, abs=1e-12)


@settings(deadline=None)
@given(SAMPLES, SAMPLES, st.sampled_from([0.0, 1.0, 2.0, 8.0]), st.sampled_from([0.0, 1.0, 4.0]))
def test_values_in_cells_are_at_least_as_far_apart(one, other, width, other_width):
    """Wherever the values of a cell are: what is not known is not called a distance."""
    found = ks_distance(
        counted(one, width=width), counted(other, width=other_width), radius=(width / 2, other_width / 2)
    )
    assert found <= brute_force(one, other) + 1e-12


def test_what_may_be_chance():
    """Two samples of one law are farther apart in fewer than 5 % of all cases; so are those of several secrets."""
    rng = np.random.default_rng(0)
    for secrets in (1, 3):
        bound, beyond = chance_bound(60, 90, secrets=secrets), 0
        for _ in range(300):
            pairs = [(rng.integers(0, 20, 60), rng.integers(0, 20, 90)) for _ in range(secrets)]
            beyond += any(ks_distance(counted(one), counted(other)) > bound for one, other in pairs)
        assert beyond <= 15


def test_each_sample_is_within_its_own_part():
    """2 exp(-2 n t^2) is the probability left to each of the 2 m samples."""
    for rows, secrets in ((10, 1), (5000, 7)):
        t = chance_bound(10**9, rows, secrets=secrets) - chance_bound(10**9, 10**9, secrets=secrets) / 2
        assert t == pytest.approx(min(1, math.sqrt(math.log(2 * 2 * secrets / 0.05) / (2 * rows))), rel=1e-6)
    assert chance_bound(1, 1, secrets=1) == 1.0
