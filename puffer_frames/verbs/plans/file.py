"""The file of a plan: JSON under a header, written whole or not at all, and encrypted where there is a password.

It holds the records of a plan, some of which have a form of their own. A field that is added to one of these records
travels without a change here. A new record is added to `RECORDS`, or to those of its mechanism; a field without a
default needs, in `ADDED`, the value that it has in files of earlier versions. A test holds both
(tests/unit/test_kept_plan_files.py).
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from puffer_frames.certificates.version import __version__
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PlanFileError
from puffer_frames.frames.null_values import Dropped, Sampled
from puffer_frames.frames.stamps.whole_file import replacing
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.mechanisms import registry
from puffer_frames.mechanisms.request import Request
from puffer_frames.mechanisms.seam import Compared
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.postprocessing import Replacement
from puffer_frames.noise.stable import Stable
from puffer_frames.numbers.arguments import Target, as_path
from puffer_frames.numbers.records import (
    PLAN_BYTES,
    Codec,
    Form,
    UnclearJsonError,
    array_of,
    file_content,
    parsed,
    readable,
    refused,
)
from puffer_frames.papers import catalogue
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.prior import FloatArray, Prior
from puffer_frames.priors.summary import JointCounts, LevelCounts
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import Bootstrap, Contamination, OtherTable, Population
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.repeats import Repeats, Unit
from puffer_frames.scales.strata import Strata, StrataChoices

RECORDS: tuple[type, ...] = (
    Request,
    Target,
    Repeats,
    Unit,
    Strata,
    Laplace,
    Gaussian,
    Stable,
    Population,
    Contamination,
    Bootstrap,
    OtherTable,
    LevelCounts,
    JointCounts,
    LawSet,
    Choice,
    StrataChoices,
    Verification,
    Bracket,
    Remap,
    Replacement,
    Compared,
    Dropped,
    Sampled,
)
"""Every dataclass that a plan can hold beside its mechanism's own; `Prior` and `Theorem` have a form of their own."""

ADDED: Mapping[str, Mapping[str, object]] = {Request.__name__: {"merged": (), "null_values": {}}}
"""Values of fields without a default that were added after a version whose files may lack them, per record."""


def _plain_prior(prior: Prior) -> dict[str, Any]:
    """Weights follow from the levels; atoms have no standard deviations."""
    stds = {} if prior.is_discrete else {"stds": prior.stds.tolist()}
    cells = {"in_cells": True} if prior.in_cells else {}
    means, levels = map(_listed, (prior.means, prior.levels[0]))
    return {"radius": prior.radius, **cells, "means": means, **stds, "levels": levels}


_MANY = 1 << 17
"""So many numbers are written as the bytes of their array, not compressed: no small file takes much memory."""


def _listed(values: np.ndarray[Any, Any]) -> list[Any] | dict[str, str]:
    """Numbers, all positive unless they are floats, in JSON types."""
    if values.size < _MANY or values.dtype == object:
        return values.tolist()
    kind = values.dtype if values.dtype.kind == "f" else np.min_scalar_type(values.max())
    return {kind.name: base64.b64encode(values.astype(kind.newbyteorder("<")).tobytes()).decode()}


def _of_listed(plain: Any, kinds: tuple[str, ...]) -> list[Any]:
    """Raises ValueError, TypeError for what is none."""
    if isinstance(plain, list):
        return plain
    ((kind, text),) = dict(plain).items()
    if kind not in kinds:
        raise ValueError("numbers of another kind")
    values = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.dtype(kind).newbyteorder("<"))
    return values.tolist()


def _as_prior(plain: Mapping[str, Any]) -> Prior:
    """Raises ValueError, TypeError, KeyError for what is no prior."""
    if not set(plain) <= {"radius", "in_cells", "means", "stds", "levels"} or plain.get("in_cells", True) is not True:
        raise ValueError("another entry")
    means = array_of(_of_listed(plain["means"], ("float64",)), "float64")
    stds = array_of(plain["stds"], "float64") if "stds" in plain else np.zeros(means.size)
    listed, radius = _of_listed(plain["levels"], ("uint8", "uint16", "uint32", "uint64")), plain["radius"]
    if not all(type(level) is int and level > 0 for level in listed) or not isinstance(radius, float):
        raise ValueError("no numbers")
    total = sum(listed)
    levels = np.array(listed, dtype=np.int64 if total < 2**53 else object)
    if not (means.ndim == 1 and means.size and means.shape == stds.shape == levels.shape):
        raise ValueError("different lengths")
    finite, in_cells = np.isfinite([means, stds]).all() and 0 <= radius < math.inf, "in_cells" in plain
    if not (finite and (stds >= 0).all() and (np.diff(means) >= 0).all()):
        raise ValueError("no prior")
    if in_cells and not _are_means_of_cells(means, stds, radius):
        raise ValueError("means of no cells")
    weights = (levels / total).astype(np.float64)
    return Prior(weights=weights, means=means, stds=stds, levels=(levels, total), radius=radius, in_cells=in_cells)


def _are_means_of_cells(means: FloatArray, stds: FloatArray, radius: float) -> bool:
    """Whether there are cells of such a radius, and one atom at most in each."""
    power = radius > 0 and math.frexp(radius)[0] == 0.5
    return power and not stds.any() and bool((np.diff(np.floor(means / (2 * radius))) >= 1).all())


def codec() -> Codec:
    """How plans are written: with the records of every mechanism."""
    constants = {name.lower(): each for name, each in vars(catalogue).items() if isinstance(each, Theorem)}
    records: dict[str, type] = {kind.__name__: kind for kind in RECORDS}
    for mechanism in registry.MECHANISMS:
        records |= mechanism.records
    return Codec(
        records=records,
        constants={Theorem.__name__: constants},
        forms={Prior.__name__: Form(plain=_plain_prior, value=_as_prior)},
        added=ADDED,
    )


FORMAT = "puffer_frames plan"
SCHEMA = "1.0"
"""Version of the file: another first number is another meaning; a larger second one adds fields."""
PRIVATE = "this file holds exact statistics of every secret; keep it with the data, and publish the certificate only"
SEALED = "this file is encrypted; its password opens exact statistics of every secret"

_PRIVATE = "keep private"
"""The first field of every plan file."""
_PLAIN = (_PRIVATE, "format", "schema", "version", "digest", "plan")
_LOCKED = (_PRIVATE, "format", "schema", "version", "encryption", "content")
_CIPHER, _KDF = "AES-256-GCM", "scrypt"
_COST, _BLOCK, _LANES = 1 << 17, 8, 1
_MOST_ENTRIES = 1 << 24
_LEAST_COST, _MOST_COST, _MOST_LANES = 1 << 14, 1 << 20, 4
"""Parameters of scrypt: less is too weak, more takes the memory of whoever opens the file (128 B x cost x block)."""


def write_plan(path: str | Path, plan: Any, /, *, password: str | bytes | None, overwrite: bool = True) -> None:
    """Write a plan in JSON types.

    Raises ArgumentError, ArgumentTypeError for a path that is not that of a file, a file that is there and may not be
    replaced, for a password that is none, and for a plan that is too large to be read again; OSError where the file
    cannot be written there.
    """
    key = None if password is None else _checked(password)
    document = _header(PRIVATE) | {"digest": digest_of(plan, schema=SCHEMA), "plan": plan}
    text = readable(document) + "\n"
    entries = text.count(",")
    if key is not None:
        text = readable(_locked(text.encode(), key)) + "\n"
    if len(text) > PLAN_BYTES or entries > _MOST_ENTRIES:
        rule = f"of at most {PLAN_BYTES >> 20} MiB and {_MOST_ENTRIES:,} entries, to be read again"
        hint = "Round the columns before the plan is made: it holds every different row. Or release by it unsaved."
        raise ArgumentError("the plan", rule=rule, got=f"{len(text) / (1 << 20):.0f} MiB", hint=hint)
    with replacing(path, private=True, new=not overwrite) as file:
        left = memoryview(text.encode())
        while left:
            left = left[file.write(left) :]


def _header(private: str) -> dict[str, Any]:
    """What both kinds of files begin with."""
    return {_PRIVATE: private, "format": FORMAT, "schema": SCHEMA, "version": __version__}


def _read(place: Path) -> bytes:
    try:
        return file_content(place, most=PLAN_BYTES)
    except UnclearJsonError as error:
        raise refused(f"a file with {error}") from None


_SAY = 'Say password="..."; for the command --password-file FILE, or the variable PUFFER_PASSWORD.'


def read_plan(path: str | Path, /, *, password: str | bytes | None) -> Any:
    """Read what `write_plan` wrote.

    Raises PlanFileError for a file that is no plan, of a later version, that was changed or cut short, or has another
    password; OSError where there is no such file, or it cannot be read.
    """
    key = None if password is None else _checked(password)
    document = _document(_read(as_path(path)))
    if "encryption" in document:
        if key is None:
            raise _password("given for a file that is encrypted", "none", _SAY)
        document = _document(_opened(document, key))
        if "encryption" in document:
            raise refused("a file within a file")
    elif key is not None:  # else whoever puts another file in its place need not know the password
        raise _password(
            "left out for a file that is not encrypted", "one", "Leave it out, if you trust the file as it is."
        )
    _check_names(document, _PLAIN)
    if document["digest"] != digest_of(document["plan"], schema=document["schema"]):
        raise refused("a file that was changed: its digest is another one")
    return document["plan"]


def digest_of(plan: Any, /, *, schema: str) -> str:
    """SHA-256 of the content. It finds accidents; whoever edits the file on purpose can compute it anew."""
    text = json.dumps({"format": FORMAT, "schema": schema, "plan": plan}, separators=(",", ":"), allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _document(content: bytes) -> dict[str, Any]:
    """The object that a file holds, of a version that is known."""
    try:
        if content.count(b",") > _MOST_ENTRIES:  # each takes a hundred bytes of memory, and three of the file
            raise UnclearJsonError(f"more than {_MOST_ENTRIES:,} entries")
        found = parsed(content)
    except UnclearJsonError as error:
        raise refused(f"a file with {error}") from None
    except ValueError:  # errors of JSON and of its encoding are values
        raise refused("a file that is no JSON, or was cut short") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise refused("a file of another format")
    schema = found.get("schema")
    first = schema.partition(".")[0] if isinstance(schema, str) else ""
    if not (first.isascii() and first.isdigit() and 0 < len(first) < 4):
        raise refused("a file without a version")
    if int(first) > int(SCHEMA.partition(".")[0]):
        rule = f"of schema {SCHEMA.partition('.')[0]}, which this version of the package knows"
        hint = "Read it with a later version of puffer_frames."
        raise PlanFileError("the plan file", rule=rule, got=f"schema {first}", hint=hint)
    return found


def _check_names(document: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if set(document) != set(names):
        raise refused("a file with a field more or less")


# Encryption


def _locked(content: bytes, key: bytes) -> dict[str, Any]:
    """The content under AES-GCM, which authenticates the header too."""
    salt, nonce = os.urandom(16), os.urandom(12)
    how = {"cipher": _CIPHER, "key from": _KDF, "cost": _COST, "block": _BLOCK, "lanes": _LANES}
    how |= {"salt": base64.b64encode(salt).decode(), "nonce": base64.b64encode(nonce).decode()}
    header = _header(SEALED) | {"encryption": how}
    cipher = AESGCM(_derived(key, salt, cost=_COST, lanes=_LANES))
    return header | {"content": base64.b64encode(cipher.encrypt(nonce, content, _canonical(header))).decode()}


def _opened(document: Mapping[str, Any], key: bytes) -> bytes:
    """The content; raises PlanFileError."""
    _check_names(document, _LOCKED)
    how = document["encryption"]
    names = {"cipher", "key from", "cost", "block", "lanes", "salt", "nonce"}
    if not isinstance(how, dict) or set(how) != names or (how["cipher"], how["key from"]) != (_CIPHER, _KDF):
        raise refused("a file that is encrypted in another way")
    cost, lanes = how["cost"], how["lanes"]
    whole = all(type(how[name]) is int for name in ("cost", "block", "lanes"))
    known = whole and how["block"] == _BLOCK and 1 <= lanes <= _MOST_LANES
    if not (known and _LEAST_COST <= cost <= _MOST_COST and cost & (cost - 1) == 0):
        raise refused("a file whose key takes another amount of work")
    try:
        salt, nonce, sealed = (
            base64.b64decode(text, validate=True) for text in (how["salt"], how["nonce"], document["content"])
        )
    except (ValueError, TypeError):
        raise refused("a file that was changed or cut short") from None
    if (len(salt), len(nonce)) != (16, 12):
        raise refused("a file that was changed or cut short")
    header = {name: entry for name, entry in document.items() if name != "content"}
    try:
        return AESGCM(_derived(key, salt, cost=cost, lanes=lanes)).decrypt(nonce, sealed, _canonical(header))
    except (InvalidTag, ValueError):
        raise _password(
            "the one that the file was saved with",
            "another one, or a file that was changed or cut short",
            "Try the password again; where it is the right one, take another copy of the file.",
        ) from None


def _derived(key: bytes, salt: bytes, *, cost: int, lanes: int) -> bytes:
    return Scrypt(salt=salt, length=32, n=cost, r=_BLOCK, p=lanes).derive(key)


def _canonical(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _checked(password: object) -> bytes:
    """A password as bytes: of a text its normal form, so that it is the same from every keyboard."""
    if isinstance(password, str):
        try:
            password = unicodedata.normalize("NFC", password).encode()
        except UnicodeEncodeError:
            raise ArgumentError(
                "password", rule="a text of whole characters", got="another one", hint="Type it again."
            ) from None
    if not isinstance(password, bytes):
        hint = "Leave it out for a file that is not encrypted."
        raise ArgumentTypeError("password", rule="a text, bytes or None", got=f"a {type(password).__name__}", hint=hint)
    if not password:
        raise ArgumentError(
            "password", rule="of at least one character", got="none", hint="Leave it out for no encryption."
        )
    return password


def _password(rule: str, got: str, hint: str) -> PlanFileError:
    return PlanFileError("the password of the plan file", rule=rule, got=got, hint=hint)
