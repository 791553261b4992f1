import numpy as np
import pytest

from puffer_frames.core import Prior
from puffer_frames.errors import PriorError


def test_atoms_are_merged_sorted_and_read_as_decimals():
    prior = Prior.empirical([3, 1, 3, -0.0, 0.0])
    assert prior.means.tolist() == [0.0, 1.0, 3.0]
    assert prior.weights.tolist() == [0.4, 0.2, 0.4]
    assert not np.signbit(prior.means[0])
    levels, total = Prior.mixture([0.2, 0.225, 0.5, 0.075], [1, 2, 3, 4], [0, 0, 0, 0]).levels
    assert [level * 40 // total for level in levels] == [8, 9, 20, 3]


def test_mixtures_far_from_zero_and_with_zero_weights():
    prior = Prior.mixture([0.5, 0.5], [1e9 - 1, 1e9 + 1], [2.0, 2.0])
    assert prior.mean == 1e9
    assert prior.std == pytest.approx(5**0.5, rel=1e-12)
    assert Prior.empirical([1, 2, 3], [1, 0, 2]).means.tolist() == [1.0, 3.0]
    assert Prior.bernoulli(0).means.tolist() == [0.0]
    assert Prior.bernoulli(0.25) == Prior.empirical([0, 0, 0, 1])
    assert Prior.bernoulli(0.25) != Prior.bernoulli(0.5)
    with pytest.raises(ValueError, match="read-only"):
        Prior.bernoulli(0.25).weights[0] = 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Prior.empirical([]),
        lambda: Prior.empirical([1, np.nan]),
        lambda: Prior.empirical([1, 2], [1, -1]),
        lambda: Prior.empirical([1, 2], [0, 0]),
        lambda: Prior.empirical([1, 2], [1]),
        lambda: Prior.empirical([[1, 2]]),
        lambda: Prior.mixture([0.5, 0.4], [0, 1], [1, 1]),
        lambda: Prior.mixture([1], [0, 1], [1, 1]),
        lambda: Prior.gaussian(0, -1),
        lambda: Prior.gaussian(np.inf, 1),
        lambda: Prior.bernoulli(1.5),
    ],
)
def test_bad_priors_are_refused(make):
    with pytest.raises(PriorError, match="must be"):
        make()
