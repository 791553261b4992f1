"""The law of refined noise given the first one, in fractions on the whole numbers, and what the floats do with it."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from puffer_frames.noise.adding import add_noise, half_integers, noise_on_grid, on_grid
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.refining import branches, refined
from puffer_frames.noise.stream import Purpose, ReleaseKey

HALF = Fraction(1, 2)
KEY = ReleaseKey(bytes(range(32)))
RATIOS = [(Fraction(3, 4), HALF), (Fraction(9, 10), Fraction(1, 7)), (Fraction(5, 6), Fraction(4, 5))]


def law(p, n):
    """P(N = n) of two-sided geometric noise on half-integers."""
    return (1 - p) * p ** int(abs(n) - HALF) / 2


def difference(p, q, w):
    """P(W = w) of the difference, from the quotient of the characteristic functions."""
    kept = (1 - p) ** 2 / (1 - q) ** 2 * q / p
    return kept * (w == 0) + (1 - kept) * (1 - p) / (1 + p) * p ** abs(w)


def given(p, q, near, far):
    """P(M = near | N = far) as `refined` draws it, branch by branch."""
    found, r, g = branches(p, q), q / p, p * q
    if far < 0:
        near, far = -near, -far
    m = int(far - HALF)
    if near < 0:
        return found.opposite * (1 - g) * g ** int(-near - HALF)
    total = Fraction(0)
    if near < far:  # G = near - 1/2, which is below m
        total += (1 - found.opposite) * (1 - r) * r ** int(near - HALF)
    at_least = r**m  # P(G >= m)
    if near >= far:
        total += at_least * found.beyond * (1 - g) * g ** int(near - far)
    if near == far:
        total += at_least * (1 - found.opposite - found.beyond)
    return total


def halves(most):
    return [k + HALF for k in range(-most, most)]


@pytest.mark.parametrize(("p", "q"), RATIOS)
def test_the_law_given_the_first_noise_is_exact(p, q):
    """P(N = n) P(M = m | N = n) = P(M = m) P(W = n - m), in fractions."""
    for near, far in product(halves(12), halves(6)):
        assert given(p, q, near, far) * law(p, far) == law(q, near) * difference(p, q, int(far - near))


@pytest.mark.parametrize(("p", "q"), RATIOS)
def test_the_branches_are_probabilities(p, q):
    found = branches(p, q)
    assert 0 < found.opposite < 1
    assert 0 < found.beyond < 1 - found.opposite
    for far in (HALF, 7 * HALF):
        inside = sum(given(p, q, near, far) for near in halves(60))
        assert 0 <= 1 - inside < Fraction(1, 10**8) or p > Fraction(4, 5)
    kept = (1 - p) ** 2 / (1 - q) ** 2 * q / p
    assert 0 < kept < 1


def test_the_difference_has_the_quotient_of_the_characteristic_functions():
    """Both sides as functions of cos(angle), in fractions: phi_N = phi_M phi_W, the halves cancel."""
    for (p, q), cosine in product(RATIOS, (Fraction(-1), Fraction(0), Fraction(3, 7), Fraction(1))):
        kept = (1 - p) ** 2 / (1 - q) ** 2 * q / p
        whole = (1 - p) ** 2 / (1 - 2 * p * cosine + p * p)  # of discrete Laplace noise
        finer = (1 - q) ** 2 / (1 - 2 * q * cosine + q * q)
        assert whole == finer * (kept + (1 - kept) * whole)


@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_the_noise_is_found_again_and_put_back(kind):
    noise, rng = Laplace(scale=3.0), np.random.default_rng(1)
    values = rng.integers(-500, 500, 4000).astype(kind) + (rng.random(4000) if kind is np.float64 else 0)
    stream, sampler = KEY.stream(Purpose.NOISE, "x"), noise.sampler()
    released = add_noise(values, sampler, stream=stream)
    found = noise_on_grid(released, values, sampler.grid)
    assert np.array_equal(found, half_integers(sampler, range(4000), stream=stream))
    assert np.array_equal(on_grid(values, sampler.grid, found), released)


def test_noise_that_is_not_certain_is_not_found():
    grid = Laplace(scale=1.0).sampler().grid
    values, far = np.arange(3.0), np.array([0.0, 0.0, 2.0**13])
    good = on_grid(values, grid, np.array([0.5, -7.5, 2.5]))
    assert noise_on_grid(good, values, grid) is not None
    off = np.array([0.0, grid / 2, 0.0])
    for released in (good + off, good + far, good * np.inf):  # off the grid, or where floats do not hold half a step
        assert noise_on_grid(released, values, grid) is None
    assert noise_on_grid(good, values + far, grid) is None


@pytest.mark.parametrize("new", [2.97, 1.5, 3 / 1024])
def test_refined_noise_lies_on_the_grid_and_follows_from_its_key(new):
    sampler = Laplace(scale=3.0).sampler()
    first = half_integers(sampler, range(5000), stream=KEY.stream(Purpose.NOISE, "x"))
    asked = {"grid": sampler.grid, "old": 3.0, "new": new, "column": "x"}
    found = refined(first, key=KEY, name="a", **asked)
    assert (np.abs(found - np.trunc(found)) == 0.5).all()
    assert np.array_equal(found, refined(first, key=KEY, name="a", **asked))
    assert np.array_equal(found[:100], refined(first[:100], key=KEY, name="a", **asked))
    assert np.array_equal(-found, refined(-first, key=KEY, name="a", **asked))
    for other in ({"name": "b", "key": KEY}, {"name": "a", "key": ReleaseKey(bytes(32))}):
        assert not np.array_equal(found, refined(first, **other, **asked))
    kept = np.mean(found == first)
    assert kept == pytest.approx((new / 3) ** 2, abs=4 * ((new / 3) ** 2 / 5000) ** 0.5 + 1e-3)
