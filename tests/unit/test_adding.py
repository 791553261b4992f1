"""The noise of a row is the same in every chunk, order and thread; no value is lost on the grid."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, run

from puffer_frames import Noise
from puffer_frames.errors import CalibrationError
from puffer_frames.noise import adding
from puffer_frames.noise.adding import add_noise, grid_noise
from puffer_frames.noise.cells import Cells
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.grid import grid_of
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey

NOISES = {"laplace": Laplace(scale=2.3), "gaussian": Gaussian(scale=2.3), "stable": Stable(scale=2.3, alpha=1.4)}
ROWS = 100_003


@pytest.fixture(params=NOISES)
def noise(request):
    return NOISES[request.param]


@pytest.fixture
def stream():
    return ReleaseKey.of(11).stream(Purpose.NOISE, "x")


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=ROWS) * 10


def test_noise_does_not_depend_on_chunks_order_or_threads(noise, stream, values, monkeypatch):
    sampler = noise.sampler()
    whole = add_noise(values, sampler, stream=stream)
    rows = np.random.default_rng(1).permutation(ROWS)
    assert np.array_equal(add_noise(values[rows], sampler, stream=stream, rows=rows), whole[rows])
    some = rows[:777]
    assert np.array_equal(add_noise(values[some], sampler, stream=stream, rows=some), whole[some])
    for block, chunk in ((1_000, 1_000), (33_333, 999), (1 << 18, 20_001)):
        monkeypatch.setattr(adding, "BLOCK_ROWS", block)
        monkeypatch.setattr(adding, "CHUNK_ROWS", chunk)
        for threads in (1, 2, 5):
            assert np.array_equal(add_noise(values, sampler, stream=stream, threads=threads), whole)
    assert np.array_equal(
        add_noise(values, noise.sampler(), stream=ReleaseKey.of(11).stream(Purpose.NOISE, "x")), whole
    )
    assert not np.array_equal(add_noise(values, sampler, stream=ReleaseKey.of(12).stream(Purpose.NOISE, "x")), whole)


def test_the_sum_is_exact_on_the_grid(noise, stream, values):
    sampler = noise.sampler()
    out = grid_noise(sampler, range(50), stream=stream)
    released = add_noise(values[:50], sampler, stream=stream)
    for x, n, y in zip(values, out, released):
        on_grid = round(Fraction(float(x)) / Fraction(sampler.grid))
        assert abs(on_grid * Fraction(sampler.grid) - Fraction(float(x))) <= Fraction(sampler.grid) / 2
        exact = (on_grid + Fraction(float(n))) * Fraction(sampler.grid)
        assert float(exact) == y


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e12, 1e16, 1e200, 1.5e300])
def test_values_of_any_size(noise, stream, size):
    values = size * np.array([1.0, -1.0, 0.3, 1 / 3])
    released = add_noise(values, noise.sampler(), stream=stream)
    assert np.isfinite(released).all()
    alone = add_noise(np.zeros(4), noise.sampler(), stream=stream)
    exact = [float(Fraction(float(x)) + Fraction(float(n))) for x, n in zip(values, alone)]
    np.testing.assert_allclose(released, exact, rtol=2**-52, atol=noise.sampler().grid)


@pytest.mark.parametrize("exponent", [-1033, -1000, -3, 0, 5, 900])
def test_the_grid_is_a_power_of_two_fine_enough(exponent):
    for scale in (2.0**exponent, 1.999 * 2.0**exponent):
        grid = grid_of(scale)
        assert np.frexp(grid)[0] == 0.5
        assert Fraction(scale) / 2**41 < Fraction(grid) <= Fraction(scale) / 2**40
        assert grid / 2 > 0


def test_a_scale_below_every_grid_is_refused(noise):
    with pytest.raises(CalibrationError, match="finer than it"):
        grid_of(1e-312)
    with pytest.raises(CalibrationError, match="Multiply the column"):
        type(noise).sampler(type(noise)(**({"scale": 5e-324} | ({"alpha": 1.4} if "alpha" in repr(noise) else {}))))


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
@pytest.mark.parametrize("scale", [1e-300, 3e-200, 1e250])
def test_noise_of_tiny_and_huge_scales_is_the_same_but_for_its_unit(kind, scale, stream):
    unit = 2.0 ** round(np.log2(scale))
    near = add_noise(np.zeros(2000), kind(scale=scale / unit).sampler(), stream=stream)
    assert np.array_equal(add_noise(np.zeros(2000), kind(scale=scale).sampler(), stream=stream), near * unit)


@few(1)
def test_little_memory_beside_the_result(noise, stream):
    values = np.zeros(1_000_000)
    sampler = noise.sampler()
    add_noise(values[:10], sampler, stream=stream)
    tracemalloc.start()
    try:
        released = add_noise(values, sampler, stream=stream, threads=1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - released.nbytes < 8 * 2**20


@few(1)
@pytest.mark.parametrize(
    "request_", [{}, {"mechanism": Noise("gaussian"), "delta": 1e-4}, {"mechanism": Noise(Stable(alpha=1.5))}]
)
def test_one_key_gives_every_library_the_same_noise(request_):
    secrets = np.random.default_rng(0).permutation(["a", "b"] * 100).tolist()
    table = {
        "s": secrets,
        "x": [k % 7 + 2.0 * (s == "b") for k, s in enumerate(secrets)],
        "y": [k % 5 for k in range(200)],
    }
    frames = [pd.DataFrame(table), pl.DataFrame(table), pl.LazyFrame(table), pd.DataFrame(table).convert_dtypes()]
    plan = frames[0].puffer.calibrate(secret="s", public="x", epsilon=0.1, **request_)
    released = [np.asarray(run(plan.release(f, rng=5))["x"].to_numpy(), float) for f in frames]
    assert all(np.array_equal(column, released[0]) for column in released)
    both = frames[0].puffer.privatize(secret="s", public=["x", "y"], epsilon=1.0, rng=5, **request_)
    x, y = both["x"] - frames[0]["x"], both["y"] - frames[0]["y"]
    assert abs(np.corrcoef(np.sign(x), np.sign(y))[0, 1]) < 0.3


@pytest.mark.parametrize(("cells", "bits"), [(1 << 15, 4), (3, 52)])
def test_a_law_that_the_table_does_not_hold_is_refused(cells, bits):
    """Numbers of cells have 16 bits: more would come round as other cells."""
    with pytest.raises(ValueError, match="fewer than 32768 cells of less than"):
        Cells.prepare(grid=1.0, bits=bits, flat=[1] * cells, rest=[1] * cells)
