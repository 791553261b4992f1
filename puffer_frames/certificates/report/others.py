"""What a report is told besides its certificate: the ledger of releases, and a test of the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from puffer_frames.certificates.fields import Fields
from puffer_frames.certificates.report.words import Claim, claim
from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.numbers.presentation import plain, shown, shown_names

MOST_RELEASES = 12
"""Of more releases the last ones are listed."""


class Entry(Protocol):
    """A release in a ledger."""

    @property
    def state(self) -> str: ...

    @property
    def time(self) -> str: ...

    @property
    def dataset(self) -> str: ...

    @property
    def certificate(self) -> Any: ...


@runtime_checkable
class Book(Protocol):
    """What `puffer_frames.ledger` reads."""

    def entries(self) -> Sequence[Entry]: ...

    def total(self, *, dataset: str | None = None) -> Any: ...


@runtime_checkable
class Test(Protocol):
    """What a test of a release says of itself; its text may hold statistics of the table."""

    @property
    def passed(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """The releases of one data set."""

    heads: tuple[str, ...] = ("When", "Columns", "Secret", "Epsilon", "Delta", "State")
    rows: tuple[tuple[str, ...], ...]
    claims: tuple[Claim, ...]


def releases_of(certificate: Fields, ledger: object, /) -> Releases:
    """The releases of the certificate's data set, which may be published; of no other one.

    Raises
    ------
    ArgumentTypeError
        For what is no ledger.
    ArgumentError
        Where the certificate names no data set, or the ledger has no release of it.
    LedgerError
        For a line that no release has written.
    """
    if not isinstance(ledger, Book):
        raise ArgumentTypeError(
            "ledger",
            rule="a Ledger",
            got=f"a {type(ledger).__name__}",
            hint='Write ledger=puffer_frames.ledger("releases.jsonl").',
        )
    found = [one for one in ledger.entries() if certificate.dataset and one.dataset == certificate.dataset]
    if not found:
        raise ArgumentError(
            "ledger",
            rule="one with releases of the data set that the certificate names",
            got="one without" if certificate.dataset else "a certificate that names no data set",
            hint='Say about={"dataset": ...} when you release.',
        )
    claims = [_total(ledger, certificate.dataset or "")]
    if not any(one.certificate.fingerprint == certificate.fingerprint for one in found):
        claims.append(claim("ledger-lacks"))
    return Releases(rows=tuple(map(_row, found[-MOST_RELEASES:])), claims=(*claims, claim("ledger-only")))


def _row(one: Entry) -> tuple[str, ...]:
    of = one.certificate
    return (one.time, shown_names(of.public), shown_names(of.secret), plain(of.epsilon), plain(of.delta), one.state)


def _total(ledger: Book, dataset: str) -> Claim:
    try:
        found = ledger.total(dataset=dataset)
    except CalibrationError as error:
        return claim("ledger-unknown", reason=shown(str(error.got)))
    except ArgumentError:  # all of them were withdrawn
        return claim("ledger-unknown", reason="none counts")
    total = f"epsilon {plain(found.epsilon)}" + (f", delta {plain(found.delta)}" if found.delta else "")
    return claim("ledger-total", total=total, rule=found.rule)


def audit_claim(audit: object, /) -> Claim:
    """Whether a test passed; nothing else of it, as its figures are not for the public.

    Raises
    ------
    ArgumentTypeError
        For what has no `passed` that is true or false.
    """
    if audit is None:
        return claim("audit-none")
    if not isinstance(audit, Test) or not isinstance(audit.passed, bool):
        raise ArgumentTypeError(
            "audit",
            rule="a report with `passed`, true or false",
            got=f"a {type(audit).__name__}",
            hint="Give what the audit of this release has returned.",
        )
    return claim("audit-passed" if audit.passed else "audit-failed", kind=type(audit).__name__)
