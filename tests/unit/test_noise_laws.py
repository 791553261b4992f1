"""Noise: the laws of its families, how it is added, and the random words that it is drawn from."""

import copy
import hmac
import itertools
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import few, run
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from scipy import stats
from scipy.special import log_ndtr

import puffer_frames
from puffer_frames import Noise
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.noise import adding
from puffer_frames.noise import stream as module
from puffer_frames.noise.adding import add_noise, grid_noise, grid_of
from puffer_frames.noise.cells import Cells
from puffer_frames.noise.families import GAUSSIAN, LAPLACE, noise_family
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick, unit_scale
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.noise.totals import add_share, shares_p_value
from puffer_frames.numbers.arguments import Target

Z = np.array([-30.0, -4.1, -2.0, -0.3, 0.0, 0.3, 1.0, 2.0, 7.9, 55.0])
SCALE = 1.7
LAWS = {
    "laplace": (Laplace(scale=SCALE), stats.laplace(scale=SCALE)),
    "gaussian": (Gaussian(scale=SCALE), stats.norm(scale=SCALE)),
    "cauchy": (Stable(scale=SCALE, alpha=1.0), stats.cauchy(scale=SCALE)),
    "stable 1.3": (Stable(scale=SCALE, alpha=1.3), stats.levy_stable(1.3, 0, scale=SCALE)),
    "stable 1.8": (Stable(scale=SCALE, alpha=1.8), stats.levy_stable(1.8, 0, scale=SCALE)),
}


@pytest.mark.parametrize("name", LAWS)
def test_law_is_that_of_scipy(name):
    noise, law = LAWS[name]
    z = np.clip(Z, -8, 8) if name == "stable 1.8" else Z  # SciPy's own density is rough in its tails
    rtol = 1e-6 if name.startswith("stable") else 1e-12
    np.testing.assert_allclose(noise.log_density(z), law.logpdf(z), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(noise.survival(z), law.sf(z), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(noise.cdf(z), law.cdf(z), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_quantile_inverts_the_cdf(name):
    noise, _ = LAWS[name]
    for probability in (1e-6, 0.025, 0.4, 0.5, 0.75, 1 - 1e-9):
        assert float(noise.cdf(np.array(noise.quantile(probability)))) == pytest.approx(probability, rel=1e-8)


@pytest.mark.parametrize("name", LAWS)
def test_score_is_the_slope_of_the_log_density(name):
    noise, _ = LAWS[name]
    z, h = np.array([-3.0, -0.4, 0.7, 2.5]), 1e-5
    slope = (noise.log_density(z + h) - noise.log_density(z - h)) / (2 * h)
    np.testing.assert_allclose(noise.score(z), slope, rtol=1e-5)


@pytest.mark.parametrize(("name", "expected"), [("laplace", SCALE), ("gaussian", SCALE * (2 / np.pi) ** 0.5)])
def test_expected_absolute_error(name, expected):
    assert LAWS[name][0].expected_absolute_error == pytest.approx(expected)


def test_expected_absolute_error_of_stable_noise():
    noise = Stable(scale=2.0, alpha=1.6)
    z = np.concatenate((np.linspace(0, 50, 4_001), np.geomspace(50, 1e9, 8_001)[1:]))
    tail = np.trapezoid(noise.survival(z), z)  # E|N| = 2 times the integral of the survival function
    assert noise.expected_absolute_error == pytest.approx(2 * tail, rel=1e-4)
    assert LAWS["cauchy"][0].expected_absolute_error == np.inf


def test_shares_of_contributors_sum_to_the_noise():
    noise = Stable(scale=3.0, alpha=1.5)
    share = noise.share(100, drop_outs=10)
    assert (90 * share.scale**1.5) ** (1 / 1.5) == pytest.approx(3.0, rel=1e-12)
    assert 90 * share.scale**1.5 >= 3.0**1.5
    with pytest.raises(ArgumentError, match="drop_outs must be at least 0"):
        noise.share(5, drop_outs=5)


@pytest.mark.parametrize("noise", ["laplace", "gaussian", Stable(alpha=1.0), Stable(alpha=1.7)])
@pytest.mark.parametrize(("contributors", "drop_outs"), [(1, 0), (40, 8)])
def test_sums_of_shares_have_the_noise(noise, contributors, drop_outs):
    asked = {"scale": 3.0, "contributors": contributors, "drop_outs": drop_outs, "noise": noise}
    sums = sum(add_share(np.full(2000, 7.0), **asked) for _ in range(contributors - drop_outs))
    noises = sums - 7.0 * (contributors - drop_outs)
    law = {"laplace": stats.laplace(scale=3), "gaussian": stats.norm(scale=3)}.get(str(noise))
    law = law or (stats.cauchy(scale=3) if noise.alpha == 1 else stats.levy_stable(1.7, 0, scale=3))
    assert stats.kstest(noises[:300] if noise == Stable(alpha=1.7) else noises, law.cdf).pvalue > 1e-9
    assert shares_p_value(noises, scale=3.0, noise=noise) > 1e-9
    assert shares_p_value(noises / 1.3, scale=3.0, noise=noise) < 1e-3  # too little noise is found
    assert shares_p_value(noises * 1.3, scale=3.0, noise=noise) > 0.5  # more than asked for is no fault


def test_shares_that_are_missing_are_found():
    asked = {"scale": 1.0, "contributors": 20}
    sums = sum(add_share(np.zeros(2000), **asked) for _ in range(14))
    assert shares_p_value(sums, scale=1.0) < 1e-3
    assert np.array_equal(add_share([1.0, 2.0], **asked, rng=1), add_share([1.0, 2.0], **asked, rng=1))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: add_share([1.0], scale=0.0, contributors=2), "scale must be greater than 0"),
        (lambda: add_share(["x"], scale=1.0, contributors=2), "values must be finite"),
        (lambda: add_share([1.0], scale=1.0, contributors=2, drop_outs=2), "drop_outs must be at least 0"),
        (lambda: shares_p_value([], scale=1.0), "noises must be finite"),
    ],
)
def test_shares_that_are_refused(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()


@few(2)
@pytest.mark.parametrize(("shift", "epsilon"), [(0.1, 1.0), (1.0, 1.0), (3.0, 0.5), (8.0, 2.0)])
def test_hockey_stick_of_a_shift_is_the_integral(shift, epsilon):
    y = np.linspace(-40, 40, 400_001)
    positive = np.maximum(stats.norm.pdf(y, loc=shift) - np.exp(epsilon) * stats.norm.pdf(y), 0)
    assert shift_hockey_stick(shift, epsilon=epsilon) == pytest.approx(np.trapezoid(positive, y), rel=1e-6, abs=1e-15)
    assert shift_hockey_stick(0.0, epsilon=epsilon) == 0


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.1, 1e-5, 1e-12, 1e-200])
def test_unit_scale_is_the_smallest_on_the_private_side(epsilon, delta):
    scale = unit_scale(epsilon=epsilon, delta=delta)
    assert shift_hockey_stick(1 / scale, epsilon=epsilon) <= delta
    assert shift_hockey_stick(1 / scale * (1 + 1e-9), epsilon=epsilon) > delta


@pytest.mark.parametrize(
    "noise", ["cauchy", "stable", 3, None, Laplace, Laplace(scale=2.0), Stable(scale=3.0, alpha=1.5)]
)
def test_a_noise_that_is_not_known(noise):
    with pytest.raises(ArgumentError, match="noise"):
        noise_family(noise)


@pytest.mark.parametrize(
    ("alpha", "error"), [(2, ArgumentError), (True, ArgumentTypeError), ("1.5", ArgumentTypeError)]
)
def test_an_exponent_out_of_range(alpha, error):
    with pytest.raises(error, match="alpha"):
        Stable(alpha=alpha)


def test_what_a_noise_cannot_have():
    with pytest.raises(ArgumentError, match="log-ratio of Gaussians"):
        GAUSSIAN.check(Target(epsilon=1.0, delta=0.0))
    with pytest.raises(ArgumentError, match="at most 700"):
        GAUSSIAN.check(Target(epsilon=701.0, delta=0.1))
    with pytest.raises(ArgumentError, match="0 with stable noise"):
        Stable(alpha=1.5).check(Target(epsilon=1.0, delta=0.1))
    with pytest.raises(ArgumentError, match="grid of floats"):
        LAPLACE.check(Target(epsilon=1e-13, delta=0.0))


@pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN], ids=lambda family: family.name)
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (1e-6, 0.3), (600.0, 1e-280)])
def test_rounding_to_the_grid_is_paid_for(family, epsilon, delta):
    unrounded = family.unrounded(Target(epsilon=epsilon, delta=delta))
    less, share = unrounded.epsilon, unrounded.delta
    if family is LAPLACE:  # |x - x^| <= 2^-41 b: epsilon grows by 2^-40, delta by a factor e^(2^-41)
        assert less + 2.0**-40 <= epsilon
        assert share * np.exp(2.0**-41) <= delta
    else:  # the shift 2^-41 is (2^-35, d)-private
        log_d = log_ndtr(2.0**-42 - 2.0**-35 / 2.0**-41)  # the first term of [BW18] Theorem 8
        assert less + 2.0**-34 <= epsilon
        assert log_d + np.log1p(np.exp(epsilon)) <= np.log(delta) + np.log1p(-np.exp(2.0**-35) * (share / delta))


@few(1)
@pytest.mark.parametrize(
    ("family", "step", "epsilon"),
    [
        *((LAPLACE, 2.0**-40, epsilon) for epsilon in (1e-6, 0.1, 1.0)),
        *((Stable(alpha=1.5), 2.0**-30, epsilon) for epsilon in (1e-3, 0.1, 1.0)),
        pytest.param(Stable(alpha=1.5), 2.0**-30, 1e-6, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_distance_is_covered_on_the_grid(family, step, epsilon):
    # values a distance apart are up to a step of the grid farther apart on it
    scale = family.hide_on_grid(3.0, Target(epsilon=epsilon))
    assert scale >= (3.0 + step * scale) * family.unit(Target(epsilon=epsilon)) * (1 - 1e-8 * step * 2**30)
    assert scale <= 3.0 * family.unit(Target(epsilon=epsilon)) * (1 + 4 * step / epsilon)


# The noise of a row is the same in every chunk, order and thread; no value is lost on the grid.
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


# The random words are those of AES-256 in counter mode, of a key, a column and a row, and of nothing else.
KEY = bytes(range(32))
ROWS_OF_STREAM = 70_001


@pytest.fixture
def words():
    return ReleaseKey(KEY).stream(Purpose.NOISE, "x")


def keystream(key, blocks):
    return np.frombuffer(Cipher(AES(key), CTR(bytes(16))).encryptor().update(bytes(16 * blocks)), dtype="<u8")


def hkdf(info):
    """RFC 5869 with SHA-256, for 32 bytes."""
    extracted = hmac.digest(bytes(32), KEY, "sha256")
    return hmac.digest(extracted, info + b"\x01", "sha256")


def test_words_are_the_keystreams_of_the_columns_keys(words):
    assert np.array_equal(words.words(range(100)), keystream(hkdf(b"word\0x"), 50))
    named = ReleaseKey(KEY).stream(Purpose.NOISE, "année")
    assert np.array_equal(
        named.pairs(np.zeros(50, int), np.arange(50)).ravel(), keystream(hkdf(b"pair\0ann\xc3\xa9e"), 50)
    )


def test_words_do_not_depend_on_chunks_order_or_attempts(words):
    whole = words.words(range(ROWS_OF_STREAM))
    cuts = [0, 1, 2, 3, 1000, 1001, 32_768, 65_537, ROWS_OF_STREAM]
    pieces = [words.words(range(a, b)) for a, b in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(pieces), whole)
    rows = np.random.default_rng(0).permutation(ROWS_OF_STREAM)[:5000]
    assert np.array_equal(words.words(rows), whole[rows])
    for first in (0, 7, 10**15, -3, -(10**15), 2**63 - 5):  # consecutive numbers have a way of their own
        in_a_row = np.arange(5) + first
        assert np.array_equal(words.words(in_a_row), words.words(in_a_row[::-1])[::-1])
    rows = np.array([7, 3, 10**12, 7])
    pairs = words.pairs(rows, 2)
    assert np.array_equal(pairs[0], pairs[3])
    assert np.array_equal(words.pairs(rows[2:3], 2), pairs[2:3])
    assert np.array_equal(words.pairs(range(3, 8), 2)[[4, 0]], pairs[:2])
    assert not np.isin(words.pairs(rows, 3), pairs).any()
    several = words.pairs(rows, np.array([[1], [2], [3]]))
    assert all(np.array_equal(several[k], words.pairs(rows, k + 1)) for k in range(3))


def test_words_of_rows_columns_and_keys(words):
    rows = np.array([-(2**63), -(2**62) - 1, -3, -2, -1, 0, 1, 2, 2**62, 2**63 - 1])
    drawn = np.concatenate([words.words(rows), words.pairs(rows, 0).ravel()])
    assert np.unique(drawn).size == 3 * rows.size
    assert np.array_equal(words.words(rows[5:8]), words.words(range(3)))
    streams = [
        ReleaseKey(KEY).stream(Purpose.NOISE, "x"),
        ReleaseKey(KEY).stream(Purpose.NOISE, "y"),
        ReleaseKey(KEY[::-1]).stream(Purpose.NOISE, "x"),
    ]
    drawn = [s.words(range(1000)) for s in streams] + [s.pairs(range(500), 0).ravel() for s in streams]
    assert np.unique(np.concatenate(drawn)).size == 6000
    bits = np.unpackbits(words.words(range(ROWS_OF_STREAM)).view(np.uint8)).reshape(ROWS_OF_STREAM, 64)
    assert abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / ROWS_OF_STREAM**0.5


def test_a_short_write_of_the_cipher_is_found(words, monkeypatch):
    class Short:
        def __init__(self, *args):
            pass

        def encryptor(self):
            return self

        def update_into(self, data, buffer):
            return len(data) - 16

    monkeypatch.setattr(module, "Cipher", Short)
    with pytest.raises(RuntimeError, match="cipher must write"):
        words.words(range(100))
    with pytest.raises(RuntimeError, match="cipher must write"):
        words.pairs(range(100), 0)


def test_two_releases_never_share_a_key(monkeypatch):
    keys = []
    fresh = ReleaseKey.of.__func__

    def recorded(cls, rng):
        keys.append(fresh(cls, rng))
        return keys[-1]

    monkeypatch.setattr(ReleaseKey, "of", classmethod(recorded))
    frame = pd.DataFrame({"s": list("abab") * 20, "x": list(range(8)) * 10}).sample(frac=1, random_state=0)
    frame = frame.reset_index(drop=True)
    plan = puffer_frames.calibrate(frame, secret="s", public="x", epsilon=0.5)
    released = [plan.release(frame)["x"] for _ in range(5)]
    assert len({key.derive(Purpose.ORDER) for key in keys}) == len(keys) == 5
    assert len({float(column[0]) for column in released}) == 5


def test_seeds_and_generators_repeat_and_move_on():
    assert (
        ReleaseKey.of(7).derive(Purpose.NOISE, "a")
        == ReleaseKey.of(np.int64(7)).derive(Purpose.NOISE, "a")
        != ReleaseKey.of(8).derive(Purpose.NOISE, "a")
    )
    generators = [np.random.default_rng(7) for _ in range(2)]
    first = [ReleaseKey.of(generator).derive(Purpose.NOISE, "a") for generator in generators]
    assert first[0] == first[1] != ReleaseKey.of(generators[0]).derive(Purpose.NOISE, "a")


def test_the_key_is_not_shown():
    key = ReleaseKey(KEY)
    shown = f"{key} {key!r} {[key]} {vars(type(key))}"
    assert KEY.hex() not in shown
    assert repr(KEY)[2:-1] not in shown
    assert (
        copy.copy(key).derive(Purpose.NOISE, "a")
        == pickle.loads(pickle.dumps(key)).derive(Purpose.NOISE, "a")
        == key.derive(Purpose.NOISE, "a")
    )
    with pytest.raises(ValueError, match="32 bytes"):
        ReleaseKey(b"short")


def test_the_random_order_has_every_row_once():
    order = ReleaseKey(KEY).permutation(1000)
    assert np.array_equal(np.sort(order), np.arange(1000))
    assert not np.array_equal(order, ReleaseKey(KEY[::-1]).permutation(1000))
    firsts = [ReleaseKey.of(seed).permutation(4)[0] for seed in range(400)]
    assert np.bincount(firsts).min() > 60
