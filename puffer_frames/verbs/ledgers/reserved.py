"""The entry of a release in a ledger while the release is being made."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TypeAlias

from puffer_frames.certificates.about import is_seen
from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.plans.source import ask_before_runs
from puffer_frames.frames.stamps.parquet import when_run
from puffer_frames.frames.table import open_table
from puffer_frames.verbs.ledgers.release_ledger import Ledger

LedgerArgument: TypeAlias = str | os.PathLike[str] | Ledger | None
"""The argument `ledger`."""


def as_ledger(ledger: LedgerArgument, /, *, dataset: str | None) -> Ledger | None:
    """The ledger that a release is written to.

    Raises
    ------
    ArgumentTypeError
        For something else.
    ArgumentError
        Where the data set of the release has no name.
    """
    if ledger is None:
        return None
    found = ledger if isinstance(ledger, Ledger) else Ledger(ledger)  # type: ignore[arg-type]
    if dataset is not None and not is_seen(dataset):
        raise ArgumentError(
            "the data set of about",
            rule="a name without blanks at its ends and characters that nobody sees, beside a ledger",
            got="another one",
            hint="Write it as in the earlier releases: the ledger counts by this name.",
        )
    if dataset is None:
        raise ArgumentError(
            "about",
            rule="given with the name of the data set, beside a ledger",
            got="none",
            hint='Write about={"dataset": "survey of 2026"}, the same for all releases of this table.',
        )
    return found


@dataclass(frozen=True, slots=True)
class Reserved:
    """The entry of a release that is being made; without a ledger there is none."""

    ledger: Ledger | None = None
    entry: str = ""

    @classmethod
    def of(cls, ledger: Ledger | None, certificate: Certificate, frame: NativeFrame, /, *, known: str = "") -> Reserved:
        """Written down before the noise is drawn; raises LedgerError as `Ledger.reserve`."""
        return cls() if ledger is None else cls(ledger, ledger.reserve(certificate, frame, known=known))

    def put(self, certificate: Certificate, frame: NativeFrame, /) -> NativeFrame:
        """The released frame with its certificate; that of a plan is finished when it is run."""
        released = certificate.put_on(frame)
        if self.ledger is not None and certificate.fingerprint:
            self.ledger.finish(self.entry, certificate)
        elif self.ledger is not None:
            when_run(released, self)
            ask_before_runs(released, self.begin)
        return released

    def put_answers(self, certificate: Certificate, frame: NativeFrame, /) -> NativeFrame:
        """The same for a small table, whose fingerprint the certificate lacks."""
        return self.put(replace(certificate, fingerprint=open_table(frame).fingerprint()), frame)

    def begin(self) -> None:
        """Before a released plan is run; raises LedgerError where its entry was withdrawn."""
        if self.ledger is not None:
            self.ledger.require_open(self.entry)

    def end(self, certificate: Certificate, /) -> None:
        """After it was run; once is enough, since every run gives the same release."""
        if self.ledger is not None:
            self.ledger.finish(self.entry, certificate, out=True)  # a file that was written has its name
