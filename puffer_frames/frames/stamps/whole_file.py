"""A file that is written whole or not at all."""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from io import FileIO
from pathlib import Path

from puffer_frames.errors import ArgumentError

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


@contextmanager
def replacing(path: str | Path, /, *, private: bool = False, durable: bool = False) -> Iterator[FileIO]:
    """A file to write that takes the place of `path` at the end of the block; where that fails, all is as before.

    A link is followed, and the new file has the mode of the one that it replaces; a private one belongs to whoever
    writes it and has the mode 0600. A private or durable one is on the disk before it has its name. On Linux it has no
    name until it is whole, so that nothing is left of a process that is killed.

    Raises
    ------
    ArgumentError
        For a folder, a device and whatever else is not a file.
    OSError
        Where the file cannot be written there.
    """
    place = Path(os.path.realpath(path))
    old = _status(place)
    mode = 0o600 if private else 0o666
    durable = durable or private
    descriptor = _unnamed(place.parent, mode)
    if descriptor is not None:
        with FileIO(descriptor, "wb") as file:
            _make_like(file, None if private else old)
            yield file
            if durable:
                os.fsync(descriptor)
            _name(descriptor, place)
    else:
        with _hidden(place) as name:
            with FileIO(os.open(name, _NEW, mode), "wb") as file:
                _make_like(file, None if private else old)
                yield file
                if durable:
                    os.fsync(file.fileno())
            name.replace(place)
    if durable:
        sync_folder(place.parent)


def sync_folder(folder: Path) -> None:
    """Put the name of a file on the disk, where the system does that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # not every file system does
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _status(place: Path) -> os.stat_result | None:
    """That of the file that is there; None for none."""
    try:
        found = place.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ArgumentError(
            "the path",
            rule="that of a file, new or to replace",
            got=next((name for test, name in _KINDS if test(found.st_mode)), "something else"),
            hint='Name a file in a local folder: "released.parquet".',
        )
    os.close(os.open(place, os.O_WRONLY))  # what may not be written may not be replaced
    return found


def _make_like(file: FileIO, old: os.stat_result | None) -> None:
    if old is not None and hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(file.fileno(), old.st_uid, old.st_gid)
        os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode))


def _unnamed(folder: Path, mode: int) -> int | None:
    """The descriptor of a new file without a name; None where the system or the file system has none."""
    if not hasattr(os, "O_TMPFILE") or not Path("/proc/self/fd").is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            return None
        raise


def _name(descriptor: int, place: Path) -> None:
    """Give a file its name, which another file may have: to that of a moment, and from it to its own."""
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        try:
            _link(descriptor, folder, place.name)
        except FileExistsError:
            moment = _other_name()
            _link(descriptor, folder, moment)
            try:
                os.replace(moment, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(moment, dir_fd=folder)
                raise
    finally:
        os.close(folder)


def _link(descriptor: int, folder: int, name: str) -> None:
    os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)


@contextmanager
def _hidden(place: Path) -> Iterator[Path]:
    """A name in the same folder, whose file is gone at the end of the block or of Python."""
    name = place.with_name(_other_name())
    remove = partial(name.unlink, missing_ok=True)
    atexit.register(remove)
    try:
        yield name
    finally:
        remove()
        atexit.unregister(remove)


def _other_name() -> str:
    return f".{secrets.token_hex(8)}.partial"
