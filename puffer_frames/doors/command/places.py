"""The files that a run reads and writes: no output is an input, and no file is replaced unasked."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from puffer_frames.certificates.record import Certificate
from puffer_frames.doors.command.outcome import LOG
from puffer_frames.errors import ArgumentError, FileTakenError
from puffer_frames.frames.columns import REST, NativeFrame
from puffer_frames.frames.csv_dialect import PACKED
from puffer_frames.frames.files import BY_PANDAS, PART, SUFFIXES, format_of
from puffer_frames.frames.stamps.whole_file import sync_folder
from puffer_frames.verbs.ledgers.release_ledger import Ledger, LedgerArgument

BESIDE = ".certificate.json"
"""End of the name of a certificate beside a table that holds no metadata."""


def beside(path: Path, /) -> Path:
    """The path of a table's certificate."""
    whole = path if path.name else path.absolute()  # of the working directory
    return whole.parent / (whole.name + BESIDE)


def written(path: Path, /) -> list[Path]:
    """All files that a release to this place writes."""
    return [path, beside(path)] if not path.is_dir() and format_of(path, new=True) == "csv" else [path]


def is_folder(path: Path, text: object, /) -> bool:
    """Whether an output is a folder: it is one, or is written with a slash at its end."""
    return path.is_dir() or str(text).endswith(("/", os.sep))


def check_places(
    outputs: Iterable[Path], /, *, inputs: Mapping[str, Path | None], overwrite: bool, role: str = "the output"
) -> None:
    """Look at the files before anything is read; `inputs` by what they are, or their options.

    Raises ArgumentError for an output that is an input, lies in one or is another output; FileTakenError for one that
    is there, unless it may be replaced, and for a folder that holds something, which never is; FileNotFoundError,
    PermissionError, NotADirectoryError where the folder of an output is missing, or not to be written to.
    """
    listed = list(outputs)
    read = {word: Path(os.path.realpath(path)) for word, path in inputs.items() if path is not None}
    for k, path in enumerate(listed):
        if SUFFIXES.get(path.suffix.lower()) in BY_PANDAS:
            raise _refused("a .parquet, .csv or .arrow file", repr(path.name), "Such files are read alone.")
        if path.name.lower().endswith(PACKED):
            hint = f"Leave {path.suffix} out, and compress the file afterwards."
            raise ArgumentError("the output", rule="a file that is not compressed", got=repr(path.name), hint=hint)
        real = Path(os.path.realpath(path))
        _check_other(real, read, role)
        if any(_same(real, Path(os.path.realpath(other))) for other in listed[:k]):
            raise _refused("another file than the other outputs", "the path of one", "Name another file.")
        if path.is_symlink() and beside(real).is_file():  # the certificate of another run would stay there
            raise _refused("a table itself", "a link to one with a certificate", "Name the table that it leads to.")
        if real.is_dir():
            if any(real.iterdir()):
                raise _taken("a new folder, or an empty one", "one that holds something", "Name another folder.")
        elif os.path.lexists(path) and not overwrite:
            raise _taken("a new file", "one that is there", "Say --overwrite to replace it.")
        if not real.parent.is_dir():
            raise FileNotFoundError(2, os.strerror(2), str(path.parent))
        if not os.access(real.parent, os.W_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13), str(path.parent))


def check_no_empty_lines(path: Path, roles: Mapping[str, list[str]], frame: Any, /, *, coded: bool) -> None:
    """Raise ArgumentError for a CSV file of one column with missing values: most readers skip its empty lines.

    - `roles`: Columns by what they are for.
    - `frame`: The table, of Polars.
    - `coded`: Whether values of it may be read as missing yet.
    """
    names = frame.collect_schema().names()
    used = {name for role, own in roles.items() if role != "public" for name in own}
    public = roles["public"] if roles["public"] not in ([], [REST]) else {*names} - used
    released = [*{*public, *roles["keep"], *roles["given"]}]
    if format_of(path) != "csv" or len(released) != 1 or not {*released} <= {*names}:
        return
    if coded or frame.lazy().select(released).null_count().collect().item():
        rule = "a .parquet or .arrow file, where missing values of the only column are a level"
        hint = "Write a .parquet file, or say --nulls drop."
        raise _refused(rule, "a CSV file, where each of them is an empty line", hint)


@contextmanager
def claimed(path: Path, /) -> Iterator[None]:
    """Let no other run on this machine make this file meanwhile; not on other systems than Linux.

    Without it the first to name the file wins. But a limit of the ledger would count what the others have reserved.
    Raises FileTakenError where another run makes it.
    """
    if sys.platform != "linux":
        yield
        return
    with socket.socket(socket.AF_UNIX) as claim:
        key = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()
        try:
            claim.bind(f"\0puffer_frames/{key}")  # a name in no folder, which the system forgets with the process
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                hint = "When that run has ended, verify what it has released."
                raise _taken("a file that no other run writes", "one that another run is writing", hint) from None
        yield


@contextmanager
def new_folder(path: Path, /) -> Iterator[Path]:
    """The name of a file in a folder that has its own name at the end of the block, and is gone where that fails."""
    real = Path(os.path.realpath(path))
    moment = real.with_name(f".{secrets.token_hex(8)}.partial")
    moment.mkdir()
    try:
        yield moment / PART
        _rename(moment, real)
    finally:
        shutil.rmtree(moment, ignore_errors=True)
    sync_folder(real.parent)


def _rename(moment: Path, real: Path) -> None:
    """Onto an empty folder too, and in one step."""
    try:
        moment.rename(real)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise _taken("a new folder, or an empty one", "one that holds something", "Name another folder.") from None


@dataclass(frozen=True, repr=False)
class FileLedger(Ledger):
    """A ledger of releases to files: one is finished when its file has its name, not when it is drawn."""

    reserved: list[str] = field(default_factory=list)
    """Names of the entries of this run."""
    named: list[bool] = field(default_factory=list)
    """Not empty from when a file has its name; the last is True when all have theirs."""

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

    def finish(self, entry: str, certificate: Certificate, /) -> None:
        """Wait for the file."""

    @contextmanager
    def naming(self, certificate: Certificate, /) -> Iterator[Callable[[], None]]:
        """Finish the entry at the end of the block, in which its files get their names.

        Yields what is to be called when a first one of several has its name. Raises as `finishing`, before the block.
        """
        with self.finishing(self.reserved[-1], certificate):
            yield lambda: self.named.append(False)
            self.named.append(True)

    @contextmanager
    def of_files(self) -> Iterator[None]:
        """Where the block fails before a file has its name, nobody has seen the noise: the entries are withdrawn.

        They are not where that is not certain: a file may have its name, or somebody interrupted the run.
        """
        try:
            yield
        except BaseException as error:
            certain = not self.named and not isinstance(error, (KeyboardInterrupt, SystemExit))
            for entry in self.reserved:
                self._give_up(entry, certain=certain)
            raise

    def _give_up(self, entry: str, /, *, certain: bool) -> None:
        with suppress(Exception):  # the error that is being raised says more
            if certain:
                self.withdraw(entry)
                LOG.info("nothing was written: the entry %s of the ledger is withdrawn", entry)
                return
        if self.named[-1:] == [True]:
            LOG.warning("the release is out: its file has its name; the entry %s of the ledger counts, leave it", entry)
        else:
            LOG.warning("the entry %s of the ledger counts until it is finished or withdrawn", entry)


def _check_other(real: Path, read: Mapping[str, Path], role: str) -> None:
    for word, other in read.items():
        if _same(real, other) or other in real.parents or real in other.parents:
            own = role == "the output"
            rule, got = "another file than every input" + " and output" * (not own), f"the path of {word}"
            got = f"the path of an input, that of {word}" if own else got
            raise ArgumentError(role, rule=rule, got=got, hint="Name another file.")


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _refused(rule: str, got: str, hint: str) -> ArgumentError:
    return ArgumentError("the output", rule=rule, got=got, hint=hint)


def _taken(rule: str, got: str, hint: str) -> FileTakenError:
    return FileTakenError("the output", rule=rule, got=got, hint=hint)
