"""A file of JSON lines that several processes add to: one at a time, each on the disk before anybody goes on."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from puffer_frames.errors import ArgumentError, LockedFileError
from puffer_frames.numbers.presentation import shown
from puffer_frames.numbers.records import UnclearJsonError, parsed

_OPEN = os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_CHUNK = 1 << 18
WAIT = 300.0
"""Seconds that a process waits for a file that another one holds: mostly for milliseconds, and longest while a loss is
computed from the table."""
_CUT = {"state": "cut off"}
"""A line that says that the one before it is the beginning of a line: its writer was stopped."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """So many whole lines at the beginning of a file, and what was made of them."""

    size: int = 0
    """Bytes."""
    lines: int = 0
    digest: bytes = hashlib.sha256().digest()
    """SHA-256 of the bytes."""
    made: Any = None


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of a file."""

    whole: Sequence[str]
    """The lines that have an end."""
    rest: str
    """What comes after the last end of a line: nothing, unless a writer was stopped in the middle of a line."""
    before: Beginning = Beginning()
    """What stands before them, and need not be read again: the bytes are those that something was made of."""
    read: Beginning = Beginning()
    """What stood before them, and the whole ones."""

    def records(
        self, read: Callable[[str], Mapping[str, Any] | None] | None = None, /
    ) -> tuple[list[tuple[int, Mapping[str, Any]]], list[int]]:
        """The records with the numbers of their lines, and the numbers of lines that were cut off.

        `read` makes a record of a line, as `parsed_line` does. Raises BrokenLineError for a line that is no record, and
        whose writer was not stopped.
        """
        texts = [*self.whole, *([self.rest] if self.rest else [])]
        records = [(read or parsed_line)(text) for text in texts]
        found, cut = [], []
        for k, record in enumerate(records, start=1):
            number = self.before.lines + k
            if record is None and not texts[k - 1].strip():
                continue
            stopped = k > len(self.whole) or records[k : k + 1] == [_CUT]
            if not record and not (record is None and stopped):
                raise BrokenLineError(number)
            if record is None:
                cut.append(number)
            elif record != _CUT:
                found.append((number, record))
        return found, cut


class BrokenLineError(Exception):
    """A line that is no record; its number is the argument."""


def parsed_line(text: str, /) -> Mapping[str, Any] | None:
    """The record of a line; None for a line that was cut off, and nothing for a whole one that is no record."""
    try:
        found = parsed(text)
    except UnclearJsonError:
        return {}
    except ValueError:
        return None
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class LockedLines:
    """The lines of a file that nobody else can add to meanwhile."""

    found: Lines
    """Before anything was added."""
    _descriptor: int

    def after(self) -> LockedLines:
        """With the lines that were added."""
        return LockedLines(_read(self._descriptor), self._descriptor)

    def append(self, record: Mapping[str, Any], /) -> None:
        """Add a line of JSON, on the disk when this returns; what an earlier writer left behind ends before it."""
        cut = self.found.rest and parsed_line(self.found.rest) is None
        lines = [json.dumps(each, allow_nan=False) for each in ([_CUT] * bool(cut) + [record])]
        text = "\n" * bool(self.found.rest) + "".join(line + "\n" for line in lines)
        size, left = os.fstat(self._descriptor).st_size, memoryview(text.encode())
        try:
            while left:
                left = left[os.write(self._descriptor, left) :]
            os.fsync(self._descriptor)
        except BaseException:  # a full disk
            with suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise


@contextmanager
def locked(path: Path, /, *, what: str, mode: int = 0o666, before: Beginning = Beginning()) -> Iterator[LockedLines]:
    """Read a file and add to it, with everybody else kept out in between; it is made where there is none.

    `what` is the file in words, and `mode` that of a new one; a beginning that the file still has is not read again.
    Raises ArgumentError for something else than a file, LockedFileError where somebody else holds it for longer than
    `WAIT`, and OSError where it cannot be opened or written.
    """
    with _opened(path, os.O_RDWR | os.O_CREAT, what, mode) as descriptor:
        yield LockedLines(_read(descriptor, before), descriptor)


def read_lines(path: Path, /, *, what: str, before: Beginning = Beginning()) -> Lines:
    """The lines of a file, as no writer has half written them; none where there is no file. Raises as `locked`."""
    with suppress(FileNotFoundError), _opened(path, os.O_RDONLY, what, 0) as descriptor:
        return _read(descriptor, before)
    return Lines((), "")


def look(path: Path, /) -> tuple[Lines, str]:
    """The lines of a file, and in words who holds it at this moment: empty for nobody.

    It does not wait: where somebody holds it, the last line may be half written. Raises OSError.
    """
    descriptor = os.open(path, os.O_RDONLY | _OPEN)
    try:
        held = "" if _lock(descriptor) else _holder(path)
        return _read(descriptor), held
    finally:
        os.close(descriptor)


@contextmanager
def _opened(path: Path, flags: int, what: str, mode: int) -> Iterator[int]:
    until = time.monotonic() + WAIT
    while True:
        descriptor = _open(path, flags | _OPEN, what, mode)
        try:
            _wait(descriptor, path, what, until=until)
            if _is_at(path, descriptor):  # nobody has put another file in its place while this one waited
                with _noted(path):
                    yield descriptor
                return
        finally:
            os.close(descriptor)  # and with it goes the lock, also that of a process that is killed


def _wait(descriptor: int, path: Path, what: str, /, *, until: float) -> None:
    pause = 0.001
    while not _lock(descriptor):
        if time.monotonic() > until:
            raise LockedFileError(
                f"{what} {shown(str(path))}",
                rule=f"free within {WAIT:g} seconds",
                got=f"one that is held by {_holder(path)}",
                hint="Nothing was written: try again when that process has ended. If it hangs, end it: the lock goes "
                "with the process, and no file needs to be deleted.",
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _note(path: Path) -> Path:
    """The file that says who holds another one. It is for people: the lock itself is the system's."""
    return path.with_name(f".{path.name}.lock")


@contextmanager
def _noted(path: Path) -> Iterator[None]:
    note, since = _note(path), datetime.now(UTC).isoformat(timespec="seconds")
    with suppress(OSError):  # a folder that cannot be written
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
        with open(note, "w", encoding="utf-8", opener=lambda name, _: os.open(name, flags, 0o644)) as file:
            json.dump({"host": platform.node(), "process": os.getpid(), "since": since}, file)
    try:
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)


def _holder(path: Path) -> str:
    try:
        with _note(path).open("rb") as file:
            found = parsed(file.read(1 << 12))
        return f"process {found['process']:d} on {shown(found['host'])}, since {shown(found['since'])}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def _open(path: Path, flags: int, what: str, mode: int) -> int:
    kind = path.stat().st_mode if path.exists() else stat.S_IFREG
    if not stat.S_ISREG(kind):
        got = "a folder" if stat.S_ISDIR(kind) else "something else"
        raise ArgumentError(what, rule="a file, or none yet", got=got, hint="Name a file in a local folder.")
    new = not path.exists()
    if flags & os.O_CREAT and not path.parent.is_dir():
        hint = "Make that folder first, or name a file in a folder that is there."
        raise ArgumentError(what, rule="a file in a local folder", got="one in a folder that is not there", hint=hint)
    descriptor = os.open(path, flags, mode)
    if new and hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    return False


def _read(descriptor: int, before: Beginning = Beginning()) -> Lines:
    os.lseek(descriptor, 0, os.SEEK_SET)
    digest, left = hashlib.sha256(), before.size
    while left and (part := os.read(descriptor, min(left, _CHUNK))):
        digest.update(part)
        left -= len(part)
    if digest.digest() != before.digest:  # it was edited, cut or replaced
        return _read(descriptor)
    data = b"".join(iter(lambda: os.read(descriptor, _CHUNK), b""))
    size = data.rfind(b"\n") + 1
    digest.update(memoryview(data)[:size])
    *whole, rest = data.decode("utf-8", errors="replace").split("\n")
    read = Beginning(before.size + size, before.lines + len(whole), digest.digest())
    return Lines(tuple(line.removesuffix("\r") for line in whole), rest, before, read)


if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 62
    """A byte that no file has: Windows keeps others from reading what is locked."""

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
