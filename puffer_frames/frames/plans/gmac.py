"""The code of 128 bits that tells whether entries are still the same: GMAC, under a key that leaves no process."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES256
from cryptography.hazmat.primitives.ciphers.modes import GCM
from numpy.typing import NDArray

BYTES = 16
"""Of a code."""
_NONCE_BYTES = 12


def new_key() -> bytes:
    """A key for any number of codes, each with a number of its own."""
    return secrets.token_bytes(32)


class Gmac:
    """The code of what is taken in, one part after another; `number` is used once under a key."""

    def __init__(self, key: bytes, number: int, /) -> None:
        self._context = Cipher(AES256(key), GCM(number.to_bytes(_NONCE_BYTES, "big"))).encryptor()

    def take(self, entries: NDArray[Any], /) -> None:
        """Take in the bytes of an array; where its entries lie apart, they are copied."""
        self._context.authenticate_additional_data(np.ascontiguousarray(entries).view(np.uint8).data)

    def take_text(self, text: str, /) -> None:
        """Take in a text."""
        self._context.authenticate_additional_data(text.encode())

    def code(self) -> bytes:
        """The code; nothing can be taken in after that."""
        self._context.finalize()
        return self._context.tag
