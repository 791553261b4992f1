"""Stable noise far from 0: no low bit, no gap and no rounding tells the value; every sum is exact."""

import math
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import pytest
from conftest import few, thinned
from scipy import stats

from puffer_frames import Noise
from puffer_frames.noise import adding
from puffer_frames.noise.adding import add_noise, grid_noise
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.noise.totals import answer_row, with_noise

FINE = 52
"""On a grid of 2**-52 of the scale about half of the noise is beyond 2**52 steps."""
ALPHAS = [1.0, 1.1, 1.7]
ROWS = 4000
LARGEST = math.nextafter(math.inf, 0)


class Given:
    """A stream whose first pairs are given, so that rare rows are frequent; the others are random."""

    def __init__(self, first, second=None, seed=0):
        rng = np.random.default_rng(seed)
        own = rng.integers(0, 2**64, size=len(first), dtype=np.uint64)
        second = own if second is None else np.asarray(second, dtype=np.uint64)
        self._first = np.stack([np.asarray(first, dtype=np.uint64), second], axis=1)
        self._further = rng.integers(0, 2**64, size=(4, len(first), 2), dtype=np.uint64)

    def pairs(self, rows, attempts):
        rows, attempts = np.broadcast_arrays(np.asarray(rows), attempts)
        return np.where((attempts == 0)[..., None], self._first[rows], self._further[attempts % 4, rows])


def stream(seed=5):
    return ReleaseKey.of(seed).stream(Purpose.NOISE, "x")


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_parity_of_a_value_does_not_show(alpha):
    # ties to even: an odd value plus an even float beyond 2^53 was a multiple of 4, an even one of 2
    sampler = Stable(scale=1.0, alpha=alpha).sampler(resolution=FINE)
    for k in (0, 1, 2, 3):
        steps = np.abs(add_noise(np.full(ROWS, k * sampler.grid), sampler, stream=stream(k))) / sampler.grid
        far = steps[(steps > 2.0**53 + 8) & (steps < 2.0**54)]
        assert far.size > 100
        assert stats.binomtest(int((far % 4 == 0).sum()), far.size).pvalue > 1e-4


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("modulus", [2, 8, 3, 5])
def test_far_noise_has_uniform_residues(alpha, modulus):
    drawn = grid_noise(Stable(scale=1.37, alpha=alpha).sampler(resolution=FINE), range(ROWS), stream=stream())
    far = [math.floor(n) for n in drawn if abs(n) >= 2**52]
    assert len(far) > 500
    assert stats.chisquare(np.bincount([n % modulus for n in far], minlength=modulus)).pvalue > 1e-4


@few(1)
@pytest.mark.parametrize(
    "exponent", [17, 19, 21, pytest.param(18, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.slow)]
)
def test_cauchy_noise_attains_every_step_beyond_its_first_word(exponent):
    # the first word alone leaves 2^(2 k - 33) steps between the sizes near 2^k scales
    sampler = Stable(scale=1.0, alpha=1.0).sampler()
    place = 2 ** (63 - exponent)
    first = np.repeat(place + np.arange(3), 20_000)
    drawn = [math.floor(n) for n in grid_noise(sampler, range(first.size), stream=Given(first))]
    sizes = np.sort(np.array(drawn) % 2**62)
    low, high = sizes[0], sizes[-1]
    reached = np.unique(sizes)
    assert high - low > 2 ** (2 * exponent - 33)
    steps = min(high - low + 1, 2000)
    assert len(np.unique((reached - low) * steps // (high - low + 1))) == steps


LEADING = 26
"""Bits of a far size that come from the transformation."""


def cells(noise):
    """The cells of far noise that some noise is in: its binade and its leading bits."""
    return {(n.bit_length(), n >> n.bit_length() - LEADING) for n in map(math.floor, map(abs, noise))}


@pytest.mark.parametrize(("alpha", "scale"), thinned(ALPHAS, [1.0, 1.37, 1.999]))
def test_far_noise_is_uniform_in_a_cell(alpha, scale):
    sampler = Stable(scale=scale, alpha=alpha).sampler(resolution=FINE)
    same = Given([2**30] * 20_000, [2**62] * 20_000)
    drawn = grid_noise(sampler, range(20_000), stream=same)
    ((bits, leading),) = cells(drawn)
    assert bits > 60
    places = [((math.floor(n) << LEADING) - (leading << bits)) * 100 >> bits for n in drawn]
    assert stats.chisquare(np.bincount(places, minlength=100)).pvalue > 1e-4


@pytest.mark.parametrize(("alpha", "scale"), thinned(ALPHAS, [1.0, 1.37, 1.999]))
def test_no_cell_of_far_noise_is_out_of_reach(alpha, scale):
    sampler = Stable(scale=scale, alpha=alpha).sampler(resolution=FINE)
    first = np.linspace(2**30, 2**30 * (1 + 2**-16), 20_000).astype(np.uint64)
    found = cells(grid_noise(sampler, range(first.size), stream=Given(first, [2**62] * first.size)))
    numbers = sorted(leading + (bits << LEADING - 1) for bits, leading in found)
    assert len(numbers) > 200
    assert numbers == list(range(numbers[0], numbers[-1] + 1))


@pytest.mark.parametrize(
    ("size", "scale", "alpha"), thinned([0.0, 1.0, 1e-12, 1e18, 1e300], [1e-290, 1.0, 3.1e290], ALPHAS, often=3)
)
def test_every_sum_is_exact_and_rounded_once(alpha, size, scale):
    values = size * np.random.default_rng(1).normal(size=600)
    sampler = Stable(scale=scale, alpha=alpha).sampler(resolution=30 if scale < 1e-200 else FINE)
    exact = grid_noise(sampler, range(600), stream=stream())
    released = add_noise(values, sampler, stream=stream())
    totals = with_noise([Fraction(x) for x in values], _Fixed(sampler), stream=stream())
    for x, n, y, total in zip(values, exact, released, totals, strict=True):
        assert n.denominator == 2
        sum_ = (round(Fraction(x) / Fraction(sampler.grid)) + n) * Fraction(sampler.grid)
        assert total == sum_
        assert y == (float(sum_) if abs(sum_) <= LARGEST else math.copysign(LARGEST, sum_))


class _Fixed:
    """A noise with a sampler of its own grid."""

    def __init__(self, sampler):
        self._sampler = sampler

    def sampler(self):
        return self._sampler


@few(1)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_far_noise_does_not_depend_on_chunks_order_or_threads(alpha, monkeypatch):
    sampler = Stable(scale=2.3, alpha=alpha).sampler(resolution=FINE)
    values = np.random.default_rng(0).normal(size=ROWS)
    whole = add_noise(values, sampler, stream=stream())
    rows = np.random.default_rng(1).permutation(ROWS)
    assert np.array_equal(add_noise(values[rows], sampler, stream=stream(), rows=rows), whole[rows])
    exact = grid_noise(sampler, rows, stream=stream())
    for block, chunk in ((1_000, 1_000), (777, 99), (1 << 18, 501)):
        monkeypatch.setattr(adding, "BLOCK_ROWS", block)
        monkeypatch.setattr(adding, "CHUNK_ROWS", chunk)
        for threads in (1, 2, 5):
            assert np.array_equal(add_noise(values, sampler, stream=stream(), threads=threads), whole)
        assert grid_noise(sampler, rows, stream=stream()) == exact


@few(1)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_far_noise_has_the_law(alpha):
    noise = Stable(scale=1.0, alpha=alpha)
    drawn = add_noise(np.zeros(20_000), noise.sampler(resolution=FINE), stream=stream())
    expected = 40_000 * float(noise.survival(np.array(2.0)))
    far = np.abs(drawn[np.abs(drawn) >= 2.0])
    assert stats.kstest(far, lambda x: 1 - noise.survival(x) / noise.survival(np.array(2.0))).pvalue > 1e-4
    for factor in (0.7, 1.0, 1.3):
        found = np.count_nonzero(np.abs(drawn * factor) >= 2.0)
        assert (abs(found - expected) < 5 * expected**0.5) == (factor == 1.0)


@pytest.mark.parametrize(
    ("noise", "steps"),
    [
        (Laplace(scale=1.37), [3165856663862, 990269871813, -446270722195, 139025499476, -148222761439]),
        (Gaussian(scale=1.37), [2306863204662, 973090002629, -497810329747, 173385237844, -182582499807]),
        (Stable(scale=1.37, alpha=1.7), [1054874844, -6144439, 571292694, 437993926, -1392527487]),
    ],
    ids=str,
)
def test_the_noise_of_a_seed_does_not_change(noise, steps):
    assert grid_noise(noise.sampler(), range(5), stream=stream()) == [k + Fraction(1, 2) for k in steps]


def test_noise_near_0_is_the_transformation():
    sampler = Stable(scale=1.37, alpha=1.7).sampler()
    pairs = stream().pairs(range(300), 0)
    drawn = grid_noise(sampler, range(300), stream=stream())
    with mpmath.workdps(40):
        for (first, second), n in zip(pairs.tolist(), drawn, strict=True):
            alpha, gap = mpmath.mpf(1.7), mpmath.pi / 2 * ((first % 2**63) * 2 + 1) / 2**64
            angle, wait = mpmath.pi / 2 - gap, -mpmath.log((second + mpmath.mpf(0.5)) / 2**64)
            size = mpmath.sin(alpha * angle) / mpmath.cos(angle) ** (1 / alpha)
            size *= (mpmath.cos((1 - alpha) * angle) / wait) ** ((1 - alpha) / alpha)
            steps = abs(size) * sampler.scale / sampler.grid
            assert abs(abs(n) - steps) < 1
            assert (n > 0) == (first < 2**63)


@pytest.mark.parametrize(
    "noise", [Stable(scale=2e305, alpha=1.0), Stable(scale=2e305, alpha=1.9), Laplace(scale=1e308)]
)
def test_sums_beyond_the_floats_are_the_largest_one(noise):
    sampler = noise.sampler()
    first = np.arange(2**14, dtype=np.uint64) << np.uint64(30) | np.arange(2**14, dtype=np.uint64) << np.uint64(63)
    words = Given(first) if isinstance(noise, Stable) else stream()
    released = add_noise(np.full(2**14, 1e300), sampler, stream=words)
    assert np.isfinite(released).all()
    assert {-LARGEST, LARGEST} <= set(released.tolist())
    if isinstance(noise, Stable):
        totals = with_noise([Fraction(0)] * 50, noise, stream=words)
        assert max(totals) > LARGEST
        assert answer_row(max(totals), None, by=Fraction(1))[0] == LARGEST


def test_values_of_very_different_sizes_under_stable_noise():
    """Hundreds of orders of magnitude between the steps of the search, and no float overflows unseen."""
    frame = pd.DataFrame({"s": [0, 1, 2, 0], "x": [2.1e16, -1.9e150, 8.0e-192, 0.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        plan = frame.puffer.calibrate(secret="s", public="x", epsilon=2.0, mechanism=Noise(Stable(alpha=1.3)))
    assert plan.verified["empirical"].pure_loss.upper <= 2.0
    assert plan.scale < 1.9e150
