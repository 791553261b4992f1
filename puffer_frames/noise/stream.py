"""Random words that are a function of (release key, purpose, name, row): AES-256 in counter mode."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import CTR, ECB
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentTypeError

RandomSource = None | int | np.random.Generator
Words: TypeAlias = NDArray[np.uint64]
Numbers: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = range | Numbers
"""Numbers of rows: a range of step 1, or any."""

KEY_BYTES = 32
BLOCK = 16
"""Bytes of a cipher block: two words."""
_ZEROS = bytes(1 << 18)
_WORD = np.dtype("<u8")


class Workspace:
    """Buffers for a chunk of rows, to be used again for the next one."""

    __slots__ = ("cells", "floats", "places", "rows", "words")

    def __init__(self, rows: int, /) -> None:
        self.rows = rows
        self.words = np.empty(rows + 6, dtype=_WORD)
        self.places = np.empty(rows, dtype=np.uint64)
        self.floats = np.empty(rows)
        self.cells = np.empty(rows, dtype=np.int16)


class Workspaces:
    """Workspaces that are lent to one call after the other, of any thread: memory that is new costs more than noise."""

    __slots__ = ("_spare",)

    def __init__(self) -> None:
        self._spare: list[Workspace] = []

    @contextmanager
    def lent(self, rows: int, /) -> Iterator[Workspace]:
        """One for chunks of so many rows."""
        try:
            workspace = self._spare.pop()
        except IndexError:
            workspace = Workspace(rows)
        if workspace.rows < rows:
            workspace = Workspace(rows)
        yield workspace
        self._spare.append(workspace)


class Purpose(Enum):
    """What the random words of a release are for: all of its uses, each with a label for either keystream.

    No label holds a NUL and no two are equal, so a label, a NUL and a name together tell the label and the name.
    """

    NOISE = ("word", "pair")
    """The noise of a column, or of a statistic of an answer; the name is that of the column or the statistic."""
    ORDER = ("order word", "order pair")
    """The random order of the rows; the name is the number of the attempt."""
    ROW_OF_A_UNIT = ("unit word", "unit pair")
    """The row that stands for each unit, without a name; under a public key, with the name of the column of units, the
    rows of a unit that are used."""
    REFINEMENT = ("refinement word", "refinement pair")
    """Less noise on values that were released, with a key for many releases; the name is the fingerprint of the release
    that is refined, which part of the draw it is, and the column."""
    ROWS_OF_A_PLAN = ("rows word", "rows pair")
    """The key of some rows, from the key of a transformer; the name is their plan, and what is told of the rows."""


class ReleaseKey:
    """The 256 secret bits of one release: never printed or part of a certificate.

    With `numbers` the key is for the rows of one frame in memory, whose noise follows these numbers in place of those
    that the frame gives them.
    """

    __slots__ = ("_key", "numbers")

    def __init__(self, key: bytes, /, *, numbers: Numbers | None = None) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key must have {KEY_BYTES} bytes; got {len(key)}.")
        self._key, self.numbers = bytes(key), numbers

    @classmethod
    def of(cls, rng: RandomSource | ReleaseKey, /) -> ReleaseKey:
        """A fresh key from the operating system, or one that follows from a seed or a Generator; a key is itself.

        Raises ArgumentTypeError unless `rng` is None, a non-negative int or a Generator (which moves on by 32 bytes).
        """
        check_rng(rng)
        if isinstance(rng, ReleaseKey):
            return rng
        if rng is None:
            return cls(secrets.token_bytes(KEY_BYTES))
        if isinstance(rng, np.random.Generator):
            return cls(rng.bytes(KEY_BYTES))
        return cls(hashlib.sha256(f"puffer_frames seed {int(rng)}".encode()).digest())

    def stream(self, purpose: Purpose, name: str = "", /) -> Stream:
        """The random words of one use of the key."""
        return Stream(*self.derive(purpose, name))

    def derive(self, purpose: Purpose, name: str = "", /) -> tuple[bytes, bytes]:
        """The two keys of 256 bits of one use (HKDF with SHA-256): keys of different uses are independent.

        Every use of the release's key comes through here. Two names never have the same bytes: a lone surrogate, which
        UTF-8 refuses, has bytes that no other text has.
        """
        first, second = (
            HKDF(
                algorithm=SHA256(), length=KEY_BYTES, salt=None, info=f"{label}\0{name}".encode(errors="surrogatepass")
            ).derive(self._key)
            for label in purpose.value
        )
        return first, second

    def of_rows(self, told: str, /, *, numbers: Numbers | None = None) -> ReleaseKey:
        """The key of the release of some rows, by their plan and what is told of them."""
        return ReleaseKey(self.derive(Purpose.ROWS_OF_A_PLAN, told)[0], numbers=numbers)

    def permutation(self, n: int, /) -> NDArray[np.intp]:
        """A random order of n rows: rows sorted by a random word, drawn anew where two words are equal."""
        attempt = 0
        while True:
            words = self.stream(Purpose.ORDER, str(attempt)).words(range(n))
            order = np.argsort(words, kind="stable")
            ranked = words[order]
            if not (ranked[1:] == ranked[:-1]).any():
                return order
            attempt += 1

    def __repr__(self) -> str:
        return "ReleaseKey(256 bits, not shown)"


class Stream:
    """Random words of the rows of one use of a release's key; each is addressed, in any order, any number of times.

    - `first`, `second`: The keys of its two keystreams, from `ReleaseKey.derive`.

    Row r has the word at place r mod 2 of the block r // 2 of the first keystream, and further pairs of words
    ``block (row, attempt)`` of the second one. The four keystreams of two columns have four keys. That the words are
    uniform and independent is the assumption that AES-256 is a pseudorandom permutation.
    """

    __slots__ = ("_first", "_second")

    def __init__(self, first: bytes, second: bytes, /) -> None:
        self._first = AES256(first)
        self._second = AES256(second)

    def words(self, rows: Rows, workspace: Workspace | None = None, /) -> Words:
        """One word for each of the rows; in the buffer of the workspace, if there is one, until its next use."""
        if not isinstance(rows, range):
            blocks = _encrypt(self._first, 0, rows // 2)
            return np.take_along_axis(blocks, (rows % 2)[:, None], axis=1)[:, 0]
        start, count = rows.start, len(rows)
        skipped = start % 2
        length = 8 * (count + skipped)
        buffer = np.empty((length + 2 * BLOCK) // 8, dtype=_WORD) if workspace is None else workspace.words
        view = buffer.data.cast("B")
        cipher = Cipher(self._first, CTR((start // 2).to_bytes(BLOCK, "big"))).encryptor()
        written = 0
        while written < length:
            step = min(len(_ZEROS), length - written)
            got = cipher.update_into(memoryview(_ZEROS)[:step], view[written : written + step + BLOCK])
            _require(got, step)
            written += got
        return buffer[skipped : skipped + count]

    def pairs(self, rows: Rows, attempts: Numbers | int, /) -> Words:
        """Two further words for each of the rows, of one attempt, or of several, which broadcast against the rows."""
        return _encrypt(self._second, np.asarray(rows, dtype=np.int64), attempts)


def _encrypt(algorithm: AES256, high: Numbers | int, low: Numbers | int) -> Words:
    """The keystream blocks with these 128-bit counters, as pairs of words."""
    counters = np.empty((*np.broadcast_shapes(np.shape(high), np.shape(low)), 2), dtype=">u8")
    counters[..., 0], counters[..., 1] = high, low
    length = counters.nbytes
    buffer = np.empty(length // 8 + 2, dtype=_WORD)
    cipher = Cipher(algorithm, ECB()).encryptor()  # noqa: S305 - a block per counter is counter mode
    _require(cipher.update_into(counters.data.cast("B"), buffer.data.cast("B")) if length else 0, length)
    return buffer[: length // 8].reshape(counters.shape)


def _require(written: int, asked: int) -> None:
    """What is in the buffer must have come from the cipher."""
    if written != asked:
        raise RuntimeError(f"the cipher must write {asked} bytes; it wrote {written}.")


def check_rng(rng: RandomSource | ReleaseKey, /) -> RandomSource | ReleaseKey:
    """Return `rng`; raise ArgumentTypeError unless it is None, a non-negative int or a Generator.

    The key of a release is let through: the package itself gives one, to draw the noise of the same rows again.
    """
    if rng is None or isinstance(rng, (np.random.Generator, ReleaseKey)):
        return rng
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return rng
    raise ArgumentTypeError(
        "rng",
        rule="None, a non-negative int or a numpy.random.Generator",
        got=f"a {type(rng).__name__}",
        hint="Leave it out: a release needs fresh noise.",
    )
