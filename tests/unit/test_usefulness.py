"""The error of one constant, as a certificate states it from the released values: right to a quarter, or a bound."""

import numpy as np
import pytest

from puffer_frames.noise.families import WORDS
from puffer_frames.noise.usefulness import usefulness

ROWS = 1 << 15
RNG = np.random.default_rng(5)
COLUMNS = {
    "one value": np.zeros(ROWS),
    "nine in ten are equal": np.where(RNG.random(ROWS) < 0.1, RNG.exponential(5.0, ROWS), 0.0),
    "one in a hundred is far away": np.where(RNG.random(ROWS) < 0.01, 100.0, 0.0),
    "two values": RNG.choice([-1.0, 1.0], ROWS),
    "a normal law": RNG.normal(size=ROWS),
    "an exponential law": RNG.exponential(size=ROWS),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.0, 30.0])
def test_the_error_of_a_constant(name, family, scale):
    """Of a column of equal values noise of scale 30 gave 'about 2.1' where it is 0."""
    values, noise = COLUMNS[name], WORDS[family].at(scale)
    draw = RNG.laplace if family == "laplace" else RNG.normal
    released = values + draw(scale=scale, size=ROWS)
    found = usefulness(released, noise)
    error = float(np.abs(values - np.median(released)).mean())
    if found.constant_error_is_bound:
        assert found.constant_error >= error
    else:
        assert found.constant_error == pytest.approx(error, rel=0.25)
    if scale <= 0.3 and error > 0.5:
        assert not found.constant_error_is_bound  # noise that hides little leaves a figure
