"""The random words are those of AES-256 in counter mode, of a key, a column and a row, and of nothing else."""

import copy
import hmac
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

import puffer_frames
from puffer_frames.noise import stream as module
from puffer_frames.noise.stream import Purpose, ReleaseKey

KEY = bytes(range(32))
ROWS = 70_001


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


def test_words_do_not_depend_on_the_chunks_or_the_order(words):
    whole = words.words(range(ROWS))
    cuts = [0, 1, 2, 3, 1000, 1001, 32_768, 65_537, ROWS]
    pieces = [words.words(range(a, b)) for a, b in itertools.pairwise(cuts)]
    assert np.array_equal(np.concatenate(pieces), whole)
    rows = np.random.default_rng(0).permutation(ROWS)[:5000]
    assert np.array_equal(words.words(rows), whole[rows])
    assert np.array_equal(words.words(range(10**15, 10**15 + 5)), words.words(np.arange(10**15, 10**15 + 5)))


def test_pairs_are_addressed_by_row_and_attempt(words):
    rows = np.array([7, 3, 10**12, 7])
    pairs = words.pairs(rows, 2)
    assert np.array_equal(pairs[0], pairs[3])
    assert np.array_equal(words.pairs(rows[2:3], 2), pairs[2:3])
    assert np.array_equal(words.pairs(range(3, 8), 2)[[4, 0]], pairs[:2])
    assert not np.isin(words.pairs(rows, 3), pairs).any()
    several = words.pairs(rows, np.array([[1], [2], [3]]))
    assert all(np.array_equal(several[k], words.pairs(rows, k + 1)) for k in range(3))


def test_every_integer_of_64_bits_is_a_row(words):
    rows = np.array([-(2**63), -(2**62) - 1, -3, -2, -1, 0, 1, 2, 2**62, 2**63 - 1])
    drawn = np.concatenate([words.words(rows), words.pairs(rows, 0).ravel()])
    assert np.unique(drawn).size == 3 * rows.size
    assert np.array_equal(words.words(rows[5:8]), words.words(range(3)))


def test_columns_and_keys_have_words_of_their_own():
    streams = [
        ReleaseKey(KEY).stream(Purpose.NOISE, "x"),
        ReleaseKey(KEY).stream(Purpose.NOISE, "y"),
        ReleaseKey(KEY[::-1]).stream(Purpose.NOISE, "x"),
    ]
    drawn = [s.words(range(1000)) for s in streams] + [s.pairs(range(500), 0).ravel() for s in streams]
    assert np.unique(np.concatenate(drawn)).size == 6000


def test_words_are_uniform_bits(words):
    bits = np.unpackbits(words.words(range(ROWS)).view(np.uint8)).reshape(ROWS, 64)
    assert abs(bits.mean(axis=0) - 0.5).max() < 5 * 0.5 / ROWS**0.5


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
