"""A release to files: the table with its certificate, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from puffer_frames.certificates.record import Certificate
from puffer_frames.doors.command.logs import LOG
from puffer_frames.doors.command.places import beside, new_folder
from puffer_frames.errors import PufferError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.csv_texts import TextRoles
from puffer_frames.frames.files import format_of, read_rows, schema_of, write_arrow, write_csv
from puffer_frames.frames.table import open_table
from puffer_frames.verbs.attached import certificate_of, collect, write_release
from puffer_frames.verbs.ledgers.release_ledger import Ledger
from puffer_frames.verbs.ledgers.reserved import LedgerArgument


@dataclass(frozen=True, repr=False)
class FileLedger(Ledger):
    """A ledger of releases to files: one is finished when its file has its name, not when it is drawn."""

    reserved: list[str] = field(default_factory=list)
    """Names of the entries of this run."""
    drawn: dict[str, Certificate] = field(default_factory=dict)
    """Certificates of those that were drawn."""

    @classmethod
    def of(cls, ledger: LedgerArgument, /) -> FileLedger | None:
        """For the argument `ledger`; raises ArgumentError, ArgumentTypeError."""
        if ledger is None:
            return None
        if isinstance(ledger, Ledger):
            return cls(ledger.path, ledger.limit, ledger.delta)
        return cls(ledger)  # type: ignore[arg-type]

    def reserve(self, certificate: Certificate, frame: NativeFrame, /, *, known: str = "") -> str:
        """As a ledger does."""
        self.reserved.append(super().reserve(certificate, frame, known=known))
        return self.reserved[-1]

    def finish(self, entry: str, certificate: Certificate, /, *, out: bool = False) -> None:
        """Wait for the file."""
        del out
        self.drawn[entry] = certificate

    @contextmanager
    def of_files(self) -> Iterator[Callable[[], None]]:
        """Finish the entries at the end of the block.

        Yields what is to be called when a file has its name. Where the block fails before, nobody has seen the noise:
        the entries are withdrawn. They are not where that is not certain: a file may have its name, or somebody
        interrupted the run.
        """
        named: list[bool] = []
        try:
            yield lambda: named.append(True)
            for entry, certificate in self.drawn.items():
                super().finish(entry, certificate, out=True)
        except BaseException as error:
            certain = not named and not isinstance(error, (KeyboardInterrupt, SystemExit))
            for entry in self.reserved:
                self._give_up(entry, certain=certain)
            raise

    def _give_up(self, entry: str, /, *, certain: bool) -> None:
        with suppress(Exception):  # the error that is being raised says more
            if certain:
                self.withdraw(entry)
                LOG.info("nothing was written: the entry %s of the ledger is withdrawn", entry)
                return
        LOG.warning("the entry %s of the ledger counts until it is finished or withdrawn", entry)


def write(released: NativeFrame, path: Path, /, *, folder: bool, new: bool, named: Callable[[], object]) -> Certificate:
    """Write a release, and return the certificate that lies in the file or beside it.

    A plan goes to Parquet batch by batch; for other formats its rows are collected. The certificate beside a CSV file
    has its name first: a run that is stopped in between leaves no table without one.

    Parameters
    ----------
    released : frame or plan
    path : Path
    folder : bool
        Whether it is that of a folder.
    new : bool
        Whether nothing that is there may be replaced, also what somebody else writes meanwhile.
    named : callable
        Called when a file has its name.

    Raises
    ------
    ArgumentError
        For a file, or a folder, that is there.
    CalibrationError, LedgerError
        As `puffer_frames.privatize` for a plan, when it is run.
    OSError
        Where a file cannot be written.
    """
    kind = "folder" if folder else format_of(path)
    if kind == "folder":
        with new_folder(path) as part:
            certificate = write_release(released, part, durable=True)
    elif kind == "parquet":
        certificate = write_release(released, path, durable=True, new=new)
    else:
        rows = collect(released) if open_table(released).is_plan else released
        certificate = certificate_of(rows)
        if kind == "arrow":
            write_arrow(rows, path, certificate.to_dict(), new=new)
        else:
            text = json.dumps(certificate.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
            write_csv(rows, path, beside(path), text + "\n", new=new, named=named)
    named()
    return certificate


def released_roles(certificate: Certificate, /) -> TextRoles:
    """How the columns of a released CSV file are read: kept texts and labels as they are written."""
    return TextRoles(exact=(*certificate.kept, *certificate.given, *certificate.channels))


def say_types(released: NativeFrame, path: Path, certificate: Certificate, /) -> None:
    """CSV holds no types: say which ones `verify` must be told."""

    def is_derived(types: dict[str, str]) -> bool:
        rows = read_rows(path, schema=types, streaming=False, roles=released_roles(certificate))
        return certificate.verify(rows) == "derived"

    if not is_derived({}):
        return
    types, holds = schema_of(released, certificate.public + certificate.kept + certificate.given), False
    with suppress(PufferError):  # a type that does not read the texts
        holds = not is_derived(types)
    if holds:
        LOG.warning(
            "a CSV file holds no types: verify it with --schema %s", ",".join(f"{k}={v}" for k, v in types.items())
        )
    else:
        LOG.warning("no --schema brings the values of this CSV file back exactly: write a .parquet file to verify it")
