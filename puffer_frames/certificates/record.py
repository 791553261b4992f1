"""The certificate: a record that says what is guaranteed of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from puffer_frames.certificates.checked import check_plain, refused
from puffer_frames.certificates.facts import are_said, facts_of
from puffer_frames.certificates.fields import FORMS, has_facts
from puffer_frames.certificates.published import Published
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.signature import PrivateKey, PublicKey, is_signed_by, sign
from puffer_frames.certificates.small_pictures import certificate_pictures
from puffer_frames.certificates.text import certificate_rows, certificate_title
from puffer_frames.errors import UncoveredFrameError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.matching import compare, require_rows, unknown_names
from puffer_frames.frames.table import open_table
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.usefulness import Usefulness, usefulness
from puffer_frames.numbers.presentation import as_html, as_text, shown
from puffer_frames.numbers.records import CERTIFICATE_BYTES, UnclearJsonError, file_content, parsed
from puffer_frames.priors.prior import FloatArray

MOST_VALUES = 12
"""So many values of the secret are named."""

Verdict: TypeAlias = Literal[
    "intact", "unsigned: cannot be trusted", "intact, signature not checked", "derived", "uncovered", "forged"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Published):
    """What is guaranteed of a release, for which pairs, under which beliefs, and why.

    It holds nothing but what may be published: no mean, variance or count of a single secret.
    """

    def to_dict(self) -> dict[str, Any]:
        """A dict of JSON types, from which `from_dict` makes an equal certificate."""
        plain = {name: form.write(getattr(self, name)) for name, form in FORMS.items() if self.has(name)}
        return {**self.extra, **plain}

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
        check_plain(plain)
        found = of_checked(plain)
        if has_facts(found.schema) and not are_said(found.facts, found.statements, columns=found.public):
            raise refused("facts that its sentences do not say")
        return found

    def save(self, path: str | Path, /) -> None:
        """Write the certificate as JSON, for releases in formats that hold no metadata (CSV)."""
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

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
        return replace(self, signature=sign(self.to_dict(), private_key))

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
                hint="Select the released columns first; what was added is not covered.",
            )

    def of_values(self, value: str, sample: Mapping[str, FloatArray], /) -> Certificate:
        """The same certificate for a release with this fingerprint, and what its values tell of the noise's size.

        `sample` holds some released values per noisy column. Nothing is estimated from values that were replaced,
        clipped or rounded after the noise, or have noise of several scales.
        """
        estimated: dict[str, Usefulness] = {}
        if not (self.strata or self.facts.processed or self.facts.replaced):
            noises = {noise.title: noise for noise in WORDS.values()}
            for name, values in sample.items():
                if self.noise in noises and self.scales[name]:
                    found = usefulness(values, noises[self.noise].at(self.scales[name]))
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

    def put_on(self, frame: NativeFrame, /) -> NativeFrame:
        """The frame with this certificate attached, unchecked: for whoever has just made both."""
        return open_table(frame).with_metadata(self.to_dict())

    def __str__(self) -> str:
        return as_text(certificate_title(self), certificate_rows(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(certificate_title(self), certificate_rows(self), pictures=certificate_pictures(self))


def of_checked(plain: Mapping[str, Any], /) -> Certificate:
    """As `Certificate.from_dict`, of a record that was checked when it was written."""
    try:
        values = {name: form.read(plain[name]) for name, form in FORMS.items() if name in plain}
        found = Certificate(**values, extra={name: entry for name, entry in plain.items() if name not in FORMS})
        facts = found.facts if has_facts(found.schema) else facts_of(found.statements, columns=found.public)
    except (OverflowError, TypeError, ValueError, KeyError):
        raise refused("an entry that is out of range") from None
    return replace(found, facts=facts)
