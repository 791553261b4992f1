"""A file that is written whole or not at all."""

from __future__ import annotations

import atexit
import errno
import os
import secrets
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TypeAlias

from puffer_frames.errors import ArgumentError, FileTakenError
from puffer_frames.numbers.arguments import as_path

if sys.platform != "win32":
    import fcntl

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


Naming: TypeAlias = Callable[[], AbstractContextManager[object]]
"""What surrounds the moment in which a file gets its name; an error before it leaves all as before."""


@contextmanager
def replacing(
    path: str | Path,
    /,
    *,
    private: bool = False,
    durable: bool = False,
    new: bool = False,
    naming: Naming = nullcontext,
) -> Iterator[FileIO]:
    """A file to write that takes the place of `path` at the end of the block; where that fails, all is as before.

    An error means that the file does not have its name. A new file never takes the place of another, whoever writes to
    the same path meanwhile. Else a link is followed, and the file has the mode of the one that it replaces; a private
    one belongs to whoever writes it and has the mode 0600. A private or durable one is on the disk before it has its
    name. On Linux it has no name until it is whole, so that nothing is left of a process that is killed.

    Raises ArgumentError for a folder, a device and whatever else is not a file; FileTakenError of a new file, where
    anything is there; OSError where the file cannot be written there.
    """
    path = as_path(path)
    place = Path(os.path.realpath(path.parent)) / path.name if new else Path(os.path.realpath(path))
    old = None if new else _status(place)
    mode = 0o600 if private else 0o666
    durable = durable or private
    descriptor = _unnamed(place.parent, mode)
    if descriptor is not None:
        with FileIO(descriptor, "wb") as file:
            _make_like(file, None if private else old)
            yield file
            if durable:
                os.fsync(descriptor)
            with naming():
                _name(descriptor, place, new=new)
            with suppress(OSError):  # it has its name, and what was to be on the disk is there
                file.close()
    else:
        with _hidden(place) as name:
            with FileIO(os.open(name, _NEW, mode), "wb") as file:
                _make_like(file, None if private else old)
                yield file
                if durable:
                    os.fsync(file.fileno())
            with naming():
                _rename(name, place, new=new)
    if durable:
        sync_folder(place.parent)


@contextmanager
def alone_in(folder: Path, /) -> Iterator[None]:
    """Let nobody else name files in a folder who does so in such a block; not where the system locks no folders."""
    with ExitStack() as held:
        if sys.platform != "win32":
            with suppress(OSError):  # a folder that cannot be read, or a file system without locks
                descriptor = os.open(folder, os.O_RDONLY)
                held.callback(os.close, descriptor)  # and with it goes the lock
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def sync_folder(folder: Path) -> None:
    """Put the name of a file on the disk, where the system does that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # not every file system does
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _status(place: Path) -> os.stat_result | None:
    """The status of the file; None if there is none."""
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


def _name(descriptor: int, place: Path, *, new: bool) -> None:
    """Give a file its name. Where another file may have it: first that of a moment, and from it its own."""
    folder = os.open(place.parent, os.O_RDONLY)
    try:
        try:
            _link(descriptor, folder, place.name)
        except FileExistsError:
            if new:
                raise taken() from None
            moment = _other_name()
            _link(descriptor, folder, moment)
            try:
                os.replace(moment, place.name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(moment, dir_fd=folder)
                raise
    finally:
        os.close(folder)


def _rename(name: Path, place: Path, *, new: bool) -> None:
    """The same for a file that has another name in the folder."""
    if not new:
        name.replace(place)
        return
    try:
        os.link(name, place)  # as os.rename, but an error where there is a file
    except FileExistsError:
        # a network file system that is asked twice says so of the link that it made
        if not os.path.samestat(name.lstat(), place.lstat()):
            raise taken() from None
    except OSError:  # a file system without links: the name is taken by an empty file first
        try:
            os.close(os.open(place, _NEW))
        except FileExistsError:
            raise taken() from None
        try:
            name.replace(place)
        except BaseException:
            place.unlink(missing_ok=True)
            raise


def taken() -> FileTakenError:
    """The error of a new file whose name is that of another one."""
    return FileTakenError(
        "the path",
        rule="that of a new file",
        got="one that is there",
        hint="Say overwrite=True to replace it; on the command line --overwrite.",
    )


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
