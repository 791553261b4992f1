"""A ledger: what was released of which data set, what that guarantees together, and what may still be released."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from puffer_frames.certificates.about import is_seen
from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import (
    ArgumentError,
    CalibrationError,
    LedgerError,
    LedgerNotFoundError,
    PufferError,
    short_traceback,
)
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.plans.source import before_first_row
from puffer_frames.frames.stamps.parquet import when_run
from puffer_frames.frames.table import open_table, small_frame
from puffer_frames.numbers.arguments import Target, check_delta, check_kind, check_number
from puffer_frames.numbers.presentation import Printed, Rows, plain, shown
from puffer_frames.verbs.ledgers.composition import Composition, batch_of, together
from puffer_frames.verbs.ledgers.entries import Entry, Record, entry_line, read_before, records_of
from puffer_frames.verbs.ledgers.locked_lines import Lines, locked, read_lines

_FILE = "the ledger"


@short_traceback
@dataclass(frozen=True, slots=True, repr=False)
class Ledger(Printed):
    """A file with a line for every release, and a limit for those of one data set together.

    Parameters
    ----------
    path : str or Path
        Of a file, or of none yet; made absolute, so that it is the same file after `os.chdir`.
    limit : float, optional
        The largest epsilon that the releases of one data set may have together. A release beyond it is an error before
        any noise is drawn; so is one of which nothing is known together with the earlier ones.
    delta : float
        The largest delta that they may have together, where there is a limit.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For a limit out of range, and for a delta without a limit.

    Notes
    -----
    All bytes of the file are read each time; lines that this process has checked are compared by one digest of all,
    not checked again. docs/ledger.md says what is in it, and what it does not stop.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames, tempfile
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> book = puffer_frames.Ledger(tempfile.mkdtemp() + "/releases.jsonl", limit=1.0)
    >>> named = {"dataset": "people of 2026"}
    >>> released = people.puffer.privatize(secret="group", public="score", epsilon=0.1, about=named, ledger=book)
    >>> len(book), book.total().epsilon
    (1, 0.1)
    """

    path: Path
    limit: float | None = None
    delta: float = 0.0

    def __post_init__(self) -> None:
        name, hint = "the path of the ledger", 'Write ledger="releases.jsonl".'
        check_kind(self.path, str | Path, name, rule="a str or a Path", hint=hint)
        object.__setattr__(self, "path", Path(self.path).absolute())
        if self.limit is not None:
            limit = check_number(self.limit, "limit")
            if not 0 < limit < math.inf:
                hint = "Give the largest epsilon that the releases of one data set may have together, such as 2."
                raise ArgumentError("the limit", rule="finite and greater than 0", got=f"{limit:g}", hint=hint)
            check_delta(self.delta, "the delta of the limit")
        elif self.delta:
            hint = "Give the limit too: limit=2.0, or --limit 2 of the command."
            raise ArgumentError("the delta of the limit", rule="given with it", got="it alone", hint=hint)

    @short_traceback
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order of their reservation.

        Raises
        ------
        LedgerError
            For a line that no release has written.
        """
        return tuple(one.read(path=self.path) for one in self._records(self._lines()).values())

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self._records(self._lines()))

    def __bool__(self) -> bool:
        return True

    @property
    def frame(self) -> NativeFrame:
        """A pandas frame with a row per entry."""
        rows = [entry.columns() for entry in self]
        names = _COLUMNS if not rows else rows[0]
        return small_frame({name: [row[name] for row in rows] for name in names}, library="pandas")

    @short_traceback
    def total(self, *, dataset: str | None = None, frame: NativeFrame | None = None) -> Composition:
        """What all releases of a data set guarantee together.

        Parameters
        ----------
        dataset : str, optional
            As in `about={"dataset": ...}`; may be left out where the ledger has one.
        frame : pandas, Polars, PyArrow or Spark frame, or DuckDB relation, optional
            The table that they were made from, as for `puffer_frames.compose`.

        Returns
        -------
        Composition

        Raises
        ------
        CalibrationError
            Where nothing is known of these releases together, and why.
        ArgumentError
            For a data set that has no release.
        LedgerError
            For a line that no release has written.

        Notes
        -----
        A release that is not finished counts; one that was withdrawn does not.
        """
        records = self._records(self._lines())
        names = list(dict.fromkeys(one.dataset for one in records.values() if one.counts))
        if dataset is None and len(names) == 1:
            dataset = names[0]
        if dataset not in names:
            listed = ", ".join(repr(shown(name)) for name in names[:6]) + ", ..." * (len(names) > 6)
            rule = "one of the data sets of the ledger"
            hint = f"The ledger has {listed}." if names else "No release was written to this ledger."
            raise ArgumentError("dataset", rule=rule, got="no name" if dataset is None else repr(dataset), hint=hint)
        return together(self._spent(records, dataset), frame=frame)

    @short_traceback
    def withdraw(self, entry: str, /) -> None:
        """Say that a release that is not finished was given to nobody, and never will be; it then counts no longer.

        Parameters
        ----------
        entry : str
            The `entry` of an entry.

        Raises
        ------
        ArgumentError
            For an entry that is not there, or is finished: what was released cannot be taken back.
        LedgerError
            For a line that no release has written.
        """
        with locked(self.path, what=_FILE, before=read_before(self.path)) as file:
            known = self._records(file.found).get(entry)
            if known is None or known.state == "finished":
                got = "one that is" if known else "one that is not in the ledger"
                hint = "Look at the column entry of ledger.frame, or at what puffer ledger list prints."
                raise ArgumentError("the entry", rule="one that is not finished", got=got, hint=hint)
            if known.counts:
                file.append(entry_line(entry, "withdrawn", None))

    def reserve(self, certificate: Certificate, frame: NativeFrame, /, *, known: str = "") -> str:
        """Write down a release before its noise is drawn; the name of its entry. One step for all processes.

        Parameters
        ----------
        certificate : Certificate
            As far as it is known.
        frame : frame of any kind
            The table. Where certificates alone say nothing of several releases it may.
        known : str
            Fingerprint of the release, where it is a repetition of an earlier one: its entry is used again.

        Raises
        ------
        LedgerError
            Where it is beyond the limit, or nothing is known of it together with the earlier ones; nothing is written.
        """
        with locked(self.path, what=_FILE, before=read_before(self.path)) as file:
            records = self._records(file.found)
            again = [one.entry for one in records.values() if known and one.counts and one.is_of(certificate, known)]
            if again:
                return again[-1]
            if self.limit is not None:
                dataset = certificate.dataset or ""
                try:
                    self._check([*self._spent(records, dataset, batch=batch_of(certificate)), certificate], frame)
                except LedgerError as error:
                    raise self._with_hint(error, records, dataset) from None
            name = secrets.token_hex(8)
            file.append(entry_line(name, "reserved", certificate))
        return name

    def finish(self, entry: str, certificate: Certificate, /) -> None:
        """Write down what a reserved release has become, before anybody has it.

        A second time changes nothing, unless the first one did not know the fingerprint.

        Raises
        ------
        LedgerError
            Where it was withdrawn, or is no longer there.
        """
        with self.finishing(entry, certificate):
            pass

    @contextmanager
    def finishing(self, entry: str, certificate: Certificate, /) -> Iterator[None]:
        """The same for a release that somebody has from the end of the block on; nobody withdraws it in between.

        Where the block fails, nothing is written. Raises as `finish`, before the block.
        """
        with locked(self.path, what=_FILE, before=read_before(self.path)) as file:
            known = self._open(self._records(file.found).get(entry))
            yield
            if known.state != "finished" or (certificate.fingerprint and not known.plain.get("fingerprint")):
                file.append(entry_line(entry, "finished", certificate))

    def require_open(self, entry: str, /) -> None:
        """Raise LedgerError where a reserved release was withdrawn, or is no longer there."""
        self._open(self._records(self._lines()).get(entry))

    def _lines(self) -> Lines:
        return read_lines(self.path, what=_FILE, before=read_before(self.path))

    def _records(self, lines: Lines) -> dict[str, Record]:
        return records_of(lines, path=self.path)

    def _spent(self, records: Mapping[str, Record], dataset: str, *, batch: str | None = None) -> list[Certificate]:
        """The certificates of what counts, of one data set; for a declared batch without those of other people."""
        counted = [one for one in records.values() if one.dataset == dataset and one.counts]
        counted = [one for one in counted if batch is None or one.batch in (None, batch)]
        return [one.counted(path=self.path) for one in counted]

    def _open(self, known: Record | None) -> Record:
        if known is None or known.state == "withdrawn":
            got = "one that was withdrawn" if known else "one that is no longer there"
            hint = "Make another release: privatize writes a new entry."
            raise LedgerError("the release", rule="one that its ledger counts", got=got, hint=hint)
        return known

    def _check(self, certificates: Sequence[Certificate], frame: NativeFrame) -> None:
        """Raise LedgerError unless the releases are known to be within the limit: by the rules, else from the table."""
        assert self.limit is not None
        limit = Target.of(self.limit, self.delta)
        try:
            found = together(certificates)
        except CalibrationError as error:
            try:
                found = together(certificates, frame=frame)
            except PufferError:  # of the table too, which may have missing values
                got = f"some of which nothing is known together: {error.got}"
                step = "Less epsilon does not help: release what is needed of a data set once, in one table"
                raise self._refused(certificates, got, step=step) from None
        if found.epsilon > limit.epsilon or found.delta > limit.delta:
            raise self._refused(certificates, f"{_target_text(found.epsilon, found.delta)} with this one")

    def _with_hint(self, error: LedgerError, records: Mapping[str, Record], dataset: str) -> LedgerError:
        """What stands in the way may have been given to nobody."""
        waiting = [one.entry for one in records.values() if one.dataset == dataset and one.state == "not finished"]
        if not waiting:
            return error
        hint = (
            f"Nothing was drawn. The entry {waiting[-1]} is not finished, and counts; its run may still be going. Only "
            "if that run has ended, and its release was given to nobody, say "
            f"puffer_frames.Ledger({str(self.path)!r}).withdraw({waiting[-1]!r})."
        )
        return LedgerError(error.what, rule=error.rule, got=error.got, hint=hint)

    def _refused(self, certificates: Sequence[Certificate], got: str, *, step: str = "Ask for less") -> LedgerError:
        rule = f"within {_target_text(self.limit, self.delta)} together"
        hint = f"Nothing was drawn. {step}, or leave this release out; docs/ledger.md says what adds up."
        return LedgerError(f"the releases of {shown(certificates[-1].dataset or '')!r}", rule=rule, got=got, hint=hint)

    def _shown(self) -> tuple[str, Rows]:
        entries = self.entries()
        names = list(dict.fromkeys(entry.dataset for entry in entries))
        rows = [("limit", f"{_target_text(self.limit, self.delta)} for each data set")] if self.limit else []
        for name in names:
            own = [entry for entry in entries if entry.dataset == name]
            rows.append((shown(name), _total_text([entry.certificate for entry in own if entry.counts])))
            rows += [("", f"{entry.time}: {entry}") for entry in own]
        count = f"{len(entries)} release{'s' * (len(entries) != 1)}"
        return f"Ledger {shown(str(self.path))}: {count}", rows or [("", "no release yet")]


_COLUMNS = (
    *("time", "dataset", "batch", "state", "secret", "columns", "unit", "given"),
    *("epsilon", "delta", "guarantee", "fingerprint", "entry"),
)
"""The columns of a table without rows."""


@short_traceback
def ledger(path: str | Path, /, *, limit: float | None = None, delta: float = 0.0) -> Ledger:
    """Read the ledger of releases in a file.

    Parameters
    ----------
    path : str or Path
        Of the file that `ledger=` named.
    limit, delta : float, optional
        As in `puffer_frames.Ledger`.

    Returns
    -------
    Ledger

    Raises
    ------
    LedgerNotFoundError
        Where there is no such file.
    LedgerError
        For a line that no release has written.
    ArgumentError, ArgumentTypeError
        As `puffer_frames.Ledger`.
    """
    found = Ledger(path, limit, delta)  # type: ignore[arg-type]
    if not found.path.exists():
        rule = "a file that a release has begun"
        hint = "See whether the name is right. A release with ledger=, --ledger of the command, begins a new ledger."
        raise LedgerNotFoundError(f"the ledger {shown(str(path))!r}", rule=rule, got="no such file", hint=hint)
    found.entries()
    return found


def _target_text(epsilon: float | None, delta: float) -> str:
    return f"epsilon {plain(epsilon or 0.0)}" + (f" and delta {plain(delta)}" if delta else "")


def _total_text(certificates: Sequence[Certificate]) -> str:
    if not certificates:
        return "nothing counts"
    try:
        found = together(certificates)
    except CalibrationError as error:
        return f"no guarantee holds for all together, from certificates alone: {error.got}"
    return f"all together: {_target_text(found.epsilon, found.delta)}"


LedgerArgument: TypeAlias = str | os.PathLike[str] | Ledger | None
"""The argument `ledger`."""


def as_ledger(ledger: LedgerArgument, /, *, dataset: str | None) -> Ledger | None:
    """The ledger that a release is written to; raises ArgumentError where the data set of the release has no name."""
    if ledger is None:
        return None
    found = ledger if isinstance(ledger, Ledger) else Ledger(ledger)  # type: ignore[arg-type]
    if dataset is not None and not is_seen(dataset):
        rule = "a name without blanks at its ends and characters that nobody sees, beside a ledger"
        hint = "Write it as in the earlier releases: the ledger counts by this name."
        raise ArgumentError("the data set of about", rule=rule, got="another one", hint=hint)
    if dataset is None:
        hint = 'Write about={"dataset": "survey of 2026"}, the same for all releases of this table.'
        raise ArgumentError("about", rule="given with the name of the data set, beside a ledger", got="none", hint=hint)
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
        """The released frame with its certificate; a plan is finished when it is run, by Polars before a row."""
        released = certificate.put_on(frame)
        if self.ledger is not None and certificate.fingerprint:
            self.ledger.finish(self.entry, certificate)
        elif self.ledger is not None:
            when_run(released, self)
            before_first_row(released, partial(self.end, certificate))
        return released

    def put_answers(self, certificate: Certificate, frame: NativeFrame, /) -> NativeFrame:
        """As `put`, for a small table whose fingerprint the certificate lacks."""
        return self.put(replace(certificate, fingerprint=open_table(frame).fingerprint()), frame)

    def begin(self) -> None:
        """Before `collect` or `sink_parquet` run a plan; raises LedgerError where its entry was withdrawn."""
        if self.ledger is not None:
            self.ledger.require_open(self.entry)

    def end(self, certificate: Certificate, /) -> None:
        """Once is enough, since every run gives the same release."""
        if self.ledger is not None:
            self.ledger.finish(self.entry, certificate)

    def naming(self, certificate: Certificate, /) -> AbstractContextManager[None]:
        """While a file that it was written to gets its name."""
        return nullcontext() if self.ledger is None else self.ledger.finishing(self.entry, certificate)
