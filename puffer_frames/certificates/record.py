"""The certificate: a record that says what is guaranteed of a release, checked, signed and shown."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from pydantic import TypeAdapter, ValidationError

from puffer_frames.certificates.facts import Facts, are_said, facts_of
from puffer_frames.certificates.fields import SCHEMA, Fields, as_json, folded, has_facts, later, numbers_of
from puffer_frames.certificates.published import Published
from puffer_frames.certificates.report.columns import error_figures, robustness_figure
from puffer_frames.certificates.sentences import SENTENCES, WARNINGS, say
from puffer_frames.certificates.text import certificate_rows, certificate_title
from puffer_frames.errors import ArgumentError, ArgumentTypeError, UncoveredFrameError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.dates import ENDS
from puffer_frames.frames.matching import compare, require_rows, unknown_names
from puffer_frames.frames.table import library_of, open_table
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.usefulness import Usefulness, usefulness
from puffer_frames.numbers.arguments import as_path
from puffer_frames.numbers.presentation import Bars, Printed, Rows, shown, shown_names
from puffer_frames.numbers.records import CERTIFICATE_BYTES, UnclearJsonError, file_content, parsed
from puffer_frames.priors.prior import FloatArray

_WITH_WARNINGS = 5
"""From this second number of the schema on a record names the sentences that warn."""
_FEW_DAYS, _WHOLE_DAYS = 2.0, {"round": True, "clip": None}
_COMPOSED = (
    *("adds-up", "adds-up-rows", "one-release", "other-rows-again", "planned-releases"),
    *("channel-again", "channel-again-capped", "table-again"),
)


def _checked(plain: Any, /) -> Certificate:
    """The certificate of a record that this version of the package can read; raises ArgumentError."""
    if not isinstance(plain, Mapping):
        raise refused(f"a {type(plain).__name__}")
    if "schema" not in plain:
        raise refused("none for 'schema'")
    given = str(plain["schema"])
    newest = numbers_of(SCHEMA)[0]
    if numbers_of(given)[0] > newest:
        rule = f"of schema {newest}, which this version of the package knows"
        hint = "Read it with a later version of puffer_frames."
        raise ArgumentError("the certificate's record", rule=rule, got=f"schema {given[:20]}", hint=hint)
    try:
        text = json.dumps(folded(plain), allow_nan=False, ensure_ascii=False).encode()
        found = _reader().validate_json(text)
    except ValidationError as error:
        raise refused(_first_of(error, plain)) from None
    except (TypeError, ValueError, RecursionError):  # of an encoding too
        raise refused("what JSON cannot hold: an infinite number, half of a surrogate pair, or another type") from None
    measured = [each for beliefs in found.verified.values() for each in beliefs.values()]
    if any(_exceeds(each, found.epsilon, found.delta) for each in measured):
        raise refused("a loss that is more than epsilon and delta")
    _check_columns(found)
    _check_sentences(plain["statements"], found)
    _check_facts(plain, found)
    return found


@cache
def _reader() -> TypeAdapter[Certificate]:
    return TypeAdapter(Certificate)


def _first_of(error: ValidationError, plain: Any) -> str:
    """What is wrong, and in which place of the record, without the value there."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = list[str]()
    for step in first["loc"]:
        try:
            plain = plain[step]
        except (LookupError, TypeError):  # a field that is missing, or the member of a union
            if first["type"] == "missing" and isinstance(plain, Mapping):
                return f"none for {step!r}"
            break
        place.append(str(step))
    return f"something else in {'.'.join(place)[:80] or 'the record'!r}"


def _check_facts(plain: Mapping[str, Any], record: Fields) -> None:
    """Facts that other fields have, too."""
    if ("facts" in plain) != has_facts(record.schema):
        raise refused("none for 'facts'" if "facts" not in plain else "facts in a record of an earlier schema")
    facts, given = record.facts, plain.get("facts")
    if given is None:
        return
    if missing := {each.name for each in fields(facts)} - {"extra", *given, *later(Facts)}:
        raise refused(f"none for {min(missing)!r}")
    agree = (
        facts.seeded <= record.reproducible,
        facts.processed == bool(record.processed),
        facts.order_assumed <= bool(record.refines),
        (facts.rows_of_unit is None) == (record.unit is None),
        set(facts.clipped) <= set(record.public),
    )
    if not all(agree):
        raise refused("facts that its other fields do not have")


def _check_sentences(said: Sequence[Mapping[str, str]], record: Fields) -> None:
    """A record without a sentence that every release of its kind has is none."""
    keys = {statement["key"] for statement in said}
    if not set(record.warnings) <= keys:
        raise refused("a warning without its sentence")
    if numbers_of(record.schema)[1] >= _WITH_WARNINGS and not keys & set(WARNINGS) <= set(record.warnings):
        raise refused("a sentence that warns and is not among the warnings")
    wrong = [s["key"] for s in said if s["key"] in SENTENCES and s["kind"] != SENTENCES[s["key"]].kind]
    if wrong:
        raise refused(f"another kind of sentence for {wrong[0]!r}")
    for needed in _mandatory(record):
        if not keys & set(needed):
            raise refused(f"none of the sentences {', '.join(map(repr, needed))}, which it must have")


def _mandatory(record: Fields) -> Iterator[tuple[str, ...]]:
    """Groups of sentences: a record must have at least one sentence of each group."""
    if record.reproducible and (any(record.scales.values()) or record.noise in ("channel", "sequential")):
        yield ("warning-seed",)
    if record.batches:
        yield ("batches",)
    if record.answers:
        yield ("units", "chain", "any-dependence", "network")
        yield ("other-answers",)
        return
    yield ("records", "units")
    yield ("beliefs",)
    yield _COMPOSED
    yield ("other-columns",)
    yield ("learned", "channel-learned")
    if not record.unit:
        yield ("per-record",)
    if record.noise == "sequential":
        yield from ((key,) for key in ("table-loss", "table-readers", "table-planned", "table-laws", "table-some"))
        yield ("table-again",)
        yield from (("table-changed",), ("table-figures",)) if record.changed else ()
    if record.kept:
        yield ("kept",)
    if record.given:
        yield ("given-alone",)
    if record.pairs != "all":
        yield ("secrets-each",) if record.pairs == "each" else ("listed-pairs",)


def _check_columns(record: Fields) -> None:
    """Fields that must agree with one another."""
    columns, channels, public = set(record.scales), set(record.channels), set(record.public)
    if columns != set(record.expected_error) or columns != set(record.published_scales):
        raise refused("scales, errors and published scales of different columns")
    released = columns | channels
    if record.noise in ("none", "sequential"):  # these have neither
        released = set(record.verified)
    if not record.answers and (released != public or columns & channels):
        raise refused("scales or channels of other columns than those that were released")
    table = record.table
    if (record.noise == "sequential") != (table is not None):
        raise refused("a table that was released column by column without its figures, or figures of another release")
    changed = set(record.changed)
    if table and not (set(table.moved or ()) <= changed == set(table.changed_most) and changed in (set(), public)):
        raise refused("shares of changed values of other columns")
    if table and not set(table.in_cells or ()) <= public:
        raise refused("cells of other columns")
    if not set(record.processed) <= columns:
        raise refused("something done to noisy values of a column that has none")
    if public & set(record.kept):
        raise refused("a column that is noisy and kept")
    _check_channels(record)
    _check_strata(record)
    _check_refined(record)


def _check_channels(record: Fields) -> None:
    """Levels are those of the column, or rows of them where several columns are one draw."""
    for name, channel in record.channels.items():
        together = channel.get("columns", [name])
        if name not in together or ("columns" in channel and tuple(together) != record.public):
            raise refused("a channel of other columns than those that were released")
        for level in (*channel.get("levels", ()), *channel.get("inputs", ())):
            parts = level if isinstance(level, list) else [level]
            if isinstance(level, list) != ("columns" in channel) or len(parts) != len(together):
                raise refused("a level of another number of columns")
            if not all(part is None or isinstance(part, str | int | float) for part in parts):
                raise refused("a level that is none")


def _check_strata(record: Fields) -> None:
    if set(record.given) & {*record.public, *record.kept}:
        raise refused("a given column that is noisy, or outside the guarantee")
    for stratum in record.strata:
        same = len(stratum["given"]) == len(record.given) and stratum["scales"].keys() == record.scales.keys()
        if not same or not stratum.get("caps", {}).keys() <= record.channels.keys():
            raise refused("strata of other columns")
        if any(scale > record.scales[name] for name, scale in stratum["scales"].items()):
            raise refused("a scale of a stratum above the largest one")


def _check_refined(record: Fields) -> None:
    """Noise gets less, and the guarantee weaker, from one to the next."""
    names = ("fingerprint", "epsilon", "scales")
    chain = [*record.refines, {name: getattr(record, name) for name in names}]
    for first, second in pairwise(chain):
        if first["scales"].keys() != second["scales"].keys() or first["epsilon"] >= second["epsilon"]:
            raise refused("a release that refines one of other columns, or of a larger epsilon")
        if any(first["scales"][name] < scale for name, scale in second["scales"].items()):
            raise refused("a release that refines one with less noise")
    digests = [each["fingerprint"] for each in chain if each["fingerprint"]]
    if len(set(digests)) < len(digests):
        raise refused("a release that refines itself")


def _exceeds(measured: Verification, epsilon: float, delta: float) -> bool:
    stick = delta and measured.hockey_stick.upper <= delta
    return measured.epsilon > epsilon or (measured.pure_loss.upper > epsilon and not stick)


def refused(got: str, /) -> ArgumentError:
    """The error of a record that nobody could have saved."""
    hint = "Ask whoever issued it for the record as it was saved."
    return ArgumentError("the certificate's record", rule="one of Certificate.to_dict", got=got, hint=hint)


PrivateKey: TypeAlias = Ed25519PrivateKey | bytes
PublicKey: TypeAlias = Ed25519PublicKey | bytes

_UNSIGNED = ("signature", "derived")
_CONTEXT = b"puffer_frames certificate\0"
"""What is signed begins with this, so that no other text that the key has signed is a certificate."""


def is_signed_by(record: Mapping[str, Any], public_key: PublicKey, /) -> bool:
    """Whether the record holds a signature of this key; raises ArgumentTypeError for what is no public key."""
    key, found = _loaded(public_key, Ed25519PublicKey, load_pem_public_key), record.get("signature")
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


def _loaded(key: object, kind: Any, load: Callable[[bytes], object]) -> Any:
    """The key, or that of its PEM."""
    loaded = key
    if isinstance(key, bytes):
        try:
            loaded = load(key)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            loaded = None
    if isinstance(loaded, kind):
        return loaded
    word = "private" if issubclass(Ed25519PrivateKey, kind) else "public"
    if word == "public" and (isinstance(key, Ed25519PrivateKey) or (isinstance(key, bytes) and b"PRIVATE KEY" in key)):
        raise ArgumentTypeError(
            "public_key",
            rule="the public half of the key that signed",
            got="a private key, which is for the issuer alone",
            hint="Never hand it out. Its public half: openssl pkey -in PRIVATE.pem -pubout -out PUBLIC.pem",
        )
    raise ArgumentTypeError(
        f"{word}_key",
        rule=f"an Ed25519 {word} key of the package cryptography, or its PEM without a password as bytes",
        got="other bytes" if isinstance(key, bytes) else f"a {type(key).__name__}",
        hint="Make one with Ed25519PrivateKey.generate(); its public_key() is the other half.",
    )


MOST_VALUES = 12
"""The most values of the secret that a certificate names."""

Verdict: TypeAlias = Literal[
    "intact", "unsigned: cannot be trusted", "intact, signature not checked", "derived", "uncovered", "forged"
]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Certificate(Printed, Published):
    """What is guaranteed of a release, for which pairs, under which beliefs, and why.

    It holds nothing but what may be published: no mean, variance or count of a single secret. Of some
    secrets (the rarest, and in a whole table those that no attack was tried on) it says whether they have fewer than 20
    rows, or at least 20, 100 or 1,000.
    """

    def to_dict(self) -> dict[str, Any]:
        """A dict of JSON types, from which `from_dict` makes an equal certificate."""
        plain: dict[str, Any] = as_json(self)
        return {name: entry for name, entry in plain.items() if name != "facts" or has_facts(self.schema)}

    @classmethod
    @short_traceback
    def from_dict(cls, plain: Mapping[str, Any], /) -> Certificate:
        """The certificate that `to_dict` described.

        Raises
        ------
        ArgumentError
            Where a field is missing, or is not what the JSON Schema of docs/certificate.schema.json says, where facts
            and sentences do not agree, and for the record of a later major version. Fields that this version does not
            know are kept in `extra`.
        """
        found = _checked(plain)
        if not has_facts(found.schema):
            return replace(found, facts=facts_of(found.statements, columns=found.public))
        if not are_said(found.facts, found.statements, columns=found.public):
            raise refused("facts that its sentences do not say")
        return found

    def save(self, path: str | Path, /) -> None:
        """Write the certificate as JSON, for releases in formats that hold no metadata (CSV)."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        as_path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    @short_traceback
    def load(cls, path: str | Path, /) -> Certificate:
        """Read a certificate that `save` wrote; raises ArgumentError as `from_dict`."""
        try:
            plain = parsed(file_content(path, most=CERTIFICATE_BYTES))
        except UnclearJsonError as error:
            raise refused(f"a file with {error}") from None
        except ValueError:  # errors of JSON and of its encoding are values
            raise refused("a file that is no JSON") from None
        return cls.from_dict(plain)

    @short_traceback
    def sign(self, private_key: PrivateKey, /) -> Certificate:
        """The same certificate with an Ed25519 signature: whoever holds the public key finds every edit.

        Parameters
        ----------
        private_key : Ed25519PrivateKey or bytes
            Of the package `cryptography`, or PEM without a password.

        Returns
        -------
        Certificate
            Attach it again: `certificate.sign(key).attach(released)`.

        Raises
        ------
        ArgumentTypeError
            For anything else.

        Examples
        --------
        >>> import numpy as np, pandas as pd, puffer_frames
        >>> from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1)
        >>> key = Ed25519PrivateKey.generate()
        >>> signed = released.puffer.certificate.sign(key)
        >>> signed.verify(released), signed.verify(released, public_key=key.public_key())
        ('intact, signature not checked', 'intact')
        """
        key: Ed25519PrivateKey = _loaded(private_key, Ed25519PrivateKey, partial(load_pem_private_key, password=None))
        public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        named = replace(self, signed_by=hashlib.sha256(public).hexdigest())
        return replace(named, signature=base64.b64encode(key.sign(_message(named.to_dict()))).decode())

    @short_traceback
    def verify(self, frame: NativeFrame | str | Path, /, *, public_key: PublicKey | None = None) -> Verdict:
        """Compare a frame of any kind, or a Parquet file or folder, with the certificate.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow or Spark frame, str or Path
        public_key : Ed25519PublicKey or bytes, optional
            Of whoever signed the certificate; or PEM.

        Returns
        -------
        "intact"
            The columns and values of the release, in its order (in any order for a release of a Spark frame), and a
            signature of the given key.
        "unsigned: cannot be trusted"
            The columns and values that the record names; but it has no signature, so that whoever edited the record, or
            wrote another one for other values, is not found.
        "intact, signature not checked"
            The columns and values of the release; the certificate has a signature, and no key was given.
        "derived"
            Only columns of the release, with other values, rows or order. Post-processing of a release keeps its
            guarantee, but that nothing else was done cannot be checked.
        "uncovered"
            A column that the certificate does not know; labels of a pandas index are a column too, unless they are
            positions of rows. In a folder, also a file that is not part of the release.
        "forged"
            The certificate has no signature of the given key: it was edited, or somebody else signed it, or nobody.

        Notes
        -----
        The fingerprint of a release whose order counts cannot be compared with a Spark frame, which is then "derived".
        Of a file the columns and values are compared. What else lies in it is not (other metadata, levels that no row
        has, bytes between its pages): compare its SHA-256 with that of the file that was published.
        """
        if public_key is not None and not is_signed_by(self.to_dict(), public_key):
            return "forged"
        found = compare(frame, known=self.public + self.kept + self.given, rows=self.rows, value=self.fingerprint)
        if found != "intact":
            return found
        if public_key is not None:
            return "intact"
        return "unsigned: cannot be trusted" if self.signature is None else "intact, signature not checked"

    @short_traceback
    def attach(self, frame: NativeFrame, /, *, derived: bool = False) -> NativeFrame:
        """Attach the certificate to a frame with the columns of the release, and return the frame; a new PyArrow table.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow or Spark frame
        derived : bool
            Attach it to a frame with other values, rows or order than the release too; the record then says so.

        Raises
        ------
        UncoveredFrameError
            For a column that the certificate does not know, and for a derived frame without `derived=True`.
        """
        self.require_known(frame)
        require_rows(frame)
        return self.for_frame(frame, derived=derived).put_on(frame)

    def for_frame(self, frame: NativeFrame, /, *, derived: bool) -> Certificate:
        """The certificate as it is attached to this frame; raises UncoveredFrameError as `attach`."""
        verdict = self.verify(frame)
        if verdict == "uncovered":
            self.require_known(frame)
        if verdict == "derived" and not derived:
            raise UncoveredFrameError(
                "the frame",
                rule="the release as it is, or attached with derived=True",
                got="other values, rows or another order",
                hint="Say derived=True if all that was done to the release is known: the record then says so.",
            )
        return replace(self, derived=verdict == "derived")

    def require_known(self, frame: NativeFrame, /) -> None:
        """Raise UncoveredFrameError for a column that the certificate does not know."""
        unknown = unknown_names(frame, known=self.public + self.kept + self.given, rows=self.rows)
        if unknown:
            raise UncoveredFrameError(
                "the columns of the frame",
                rule="columns of the certificate",
                got=f"{unknown[0]!r}" + (f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""),
                hint=self._hint_of(frame, unknown[0]),
            )

    @staticmethod
    def _hint_of(frame: NativeFrame, unknown: str, /) -> str:
        if library_of(frame) == "pandas" and unknown not in map(str, frame.columns):
            if frame.index.has_duplicates:
                return "Take the release itself: rows drawn again are not of it. Estimates have intervals of their own."
            return "Leave out the index, which is not of the release: frame.reset_index(drop=True)."
        return "Select the released columns first; what was added is not covered."

    def of_values(self, value: str, sample: Mapping[str, FloatArray], /) -> Certificate:
        """The same certificate for a release with this fingerprint, and what its values tell of the noise's size.

        `sample` holds some released values per noisy column. Nothing is estimated from values that were replaced,
        clipped or rounded after the noise, but for dates with noise of two days or more: whole days change next to
        nothing there, unless the calendar has clipped them. Of noise of several scales the smallest is taken away:
        what is left of the others is independent of the values, so that both figures are bounds.
        """
        estimated: dict[str, Usefulness] = {}
        noise = {noise.title: noise for noise in WORDS.values()}.get(self.noise)
        if noise is not None and not self.facts.replaced:
            for name, values in sample.items():
                scales = {self.scales[name], *(stratum["scales"][name] for stratum in self.strata)}
                whole = name in self.facts.dates and min(scales) >= _FEW_DAYS and not np.isin(values, ENDS).any()
                if all(scales) and self.processed.get(name) in (None, _WHOLE_DAYS if whole else None):
                    found = usefulness(values, noise.at(min(scales)), as_bounds=len(scales) > 1)
                    estimated |= {} if found is None else {name: found}
        return replace(self, fingerprint=value, estimated=estimated)

    def said(self, about: Mapping[str, str], /) -> Certificate:
        """The same certificate with what an office says of the release (`check_about`)."""
        stated: dict[str, Any] = dict(about)
        if "batches" in about:
            unit = f" and no {shown(self.unit)}" if self.unit else ""
            batches = say("batches", batch=shown(about["batch"]), dataset=shown(about["dataset"]), unit=unit)
            stated["statements"] = (*self.statements, batches)
        return replace(self, **stated)

    def of_codes(self, codes: str, /) -> Certificate:
        """The same certificate, which says what codes were read as missing values, if any were."""
        if not codes:
            return self
        said = say("null-values", codes=codes)
        return replace(self, facts=replace(self.facts, recoded=True), statements=(*self.statements, said))

    def of_dates(self, names: Sequence[str], /) -> Certificate:
        """The same certificate, which says what columns hold dates, if any do."""
        if not names:
            return self
        dates = tuple(name for name in self.public if name in names)
        said = say("dates", names=shown_names(dates))
        return replace(self, facts=replace(self.facts, dates=dates), statements=(*self.statements, said))

    def put_on(self, frame: NativeFrame, /) -> NativeFrame:
        """The frame with this certificate attached, unchecked: for whoever has just made both."""
        return open_table(frame).with_metadata(self.to_dict())

    def _shown(self) -> tuple[str, Rows]:
        return certificate_title(self), certificate_rows(self)

    def _figures(self) -> list[Bars]:
        return list(filter(None, [*error_figures(self), robustness_figure(self)]))
