"""Ed25519 signatures of a certificate's record."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from puffer_frames.errors import ArgumentTypeError

PrivateKey: TypeAlias = Ed25519PrivateKey | bytes
PublicKey: TypeAlias = Ed25519PublicKey | bytes

_UNSIGNED = ("signature", "derived")
_CONTEXT = b"puffer_frames certificate\0"
"""What is signed begins with this, so that no other text that the key has signed is a certificate."""


def sign(record: Mapping[str, Any], private_key: PrivateKey, /) -> str:
    """The signature of a record in JSON types, in base64; raises ArgumentTypeError for what is no private key."""
    key = _private(private_key)
    return base64.b64encode(key.sign(_message(record))).decode()


def is_signed_by(record: Mapping[str, Any], public_key: PublicKey, /) -> bool:
    """Whether the record holds a signature of this key; raises ArgumentTypeError for what is no public key."""
    key, found = _public(public_key), record.get("signature")
    if not isinstance(found, str):
        return False
    try:
        key.verify(base64.b64decode(found, validate=True), _message(record))
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def _message(record: Mapping[str, Any]) -> bytes:
    """The signed fields as canonical JSON: sorted keys, no spaces, floats as Python prints them."""
    signed = {name: value for name, value in record.items() if name not in _UNSIGNED}
    return _CONTEXT + json.dumps(signed, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _private(key: PrivateKey) -> Ed25519PrivateKey:
    if isinstance(key, bytes):
        try:
            loaded: object = load_pem_private_key(key, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            loaded = None
    else:
        loaded = key
    if not isinstance(loaded, Ed25519PrivateKey):
        raise _not_a_key("private_key", "private", key)
    return loaded


def _public(key: PublicKey) -> Ed25519PublicKey:
    if isinstance(key, bytes):
        try:
            loaded: object = load_pem_public_key(key)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            loaded = None
    else:
        loaded = key
    if not isinstance(loaded, Ed25519PublicKey):
        raise _not_a_key("public_key", "public", key)
    return loaded


def _not_a_key(role: str, kind: str, given: object) -> ArgumentTypeError:
    return ArgumentTypeError(
        role,
        rule=f"an Ed25519 {kind} key of the package cryptography, or its PEM without a password as bytes",
        got="other bytes" if isinstance(given, bytes) else f"a {type(given).__name__}",
        hint="Make one with Ed25519PrivateKey.generate(); its public_key() is the other half.",
    )
