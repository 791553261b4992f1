"""A delta that is the very mass that one secret has alone: the raw hockey stick adds up whole numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from puffer_frames.core import Prior, hockey_stick, smallest_scale
from puffer_frames.loss.atoms.positive_part import raw_of_integers

ZEROS = Prior.empirical([0] * 1000)


@pytest.mark.parametrize(
    ("alone", "rows", "delta"), [(1, 1000, 1e-3), (1, 2, 0.5), (3, 4, 0.75), (1, 3, math.nextafter(1 / 3, 1))]
)
def test_no_noise_is_needed_at_the_mass_itself(alone, rows, delta):
    priors = {"s": Prior.empirical([0] * (rows - alone) + [1000] * alone), "t": ZEROS}
    assert Fraction(delta) >= Fraction(alone, rows)
    assert smallest_scale(priors, epsilon=1.0, delta=delta) == 0
    assert smallest_scale(priors, epsilon=1.0, delta=math.nextafter(alone / rows, 0) * (1 - 1e-9)) > 0


def test_three_tenths_are_more_than_their_float():
    """0.3 is a little less than 3/10, so it is not met; the next float is."""
    priors = {"s": Prior.empirical([0] * 7 + [10] * 3), "t": ZEROS}
    assert smallest_scale(priors, epsilon=1.0, delta=0.3) > 0
    assert smallest_scale(priors, epsilon=1.0, delta=math.nextafter(0.3, 1)) == 0


def test_the_raw_hockey_stick_holds_the_exact_one_and_is_nearly_it():
    rng = np.random.default_rng(8)
    for _ in range(60):
        values = [rng.choice(12, size=int(rng.integers(1, 40))) for _ in range(2)]
        p, q = (Prior.empirical(value) for value in values)
        epsilon = float(rng.choice([0.0, 0.1, 1.0, 3.0]))
        shares = [{v: Fraction(int((value == v).sum()), value.size) for v in range(12)} for value in values]
        above, below = Fraction(math.nextafter(math.exp(epsilon), 9e9)), Fraction(math.nextafter(math.exp(epsilon), 0))
        highest = sum(max(shares[0][v] - below * shares[1][v], 0) for v in range(12))
        lowest = sum(max(shares[0][v] - above * shares[1][v], 0) for v in range(12))
        found = raw_of_integers(p, q, epsilon=epsilon)
        assert Fraction(found) >= lowest
        assert found <= float(highest) + 1e-14
        if epsilon:
            bracket = hockey_stick(p, q, scale=0.0, epsilon=epsilon)
            assert bracket.upper >= found * (1 - 1e-15)
            assert bracket.lower <= bracket.upper
