"""The certificate of a table in a file: in its metadata, or beside it."""

from __future__ import annotations

from pathlib import Path

from puffer_frames.certificates.record import Certificate
from puffer_frames.doors.command.places import beside
from puffer_frames.errors import ArgumentError, UncoveredFrameError
from puffer_frames.frames.files import metadata_in


def certificate_of_file(path: Path, /, *, given: Path | None) -> Certificate:
    """That of a file of its own, where one is given; else of the metadata; else of the file beside the table.

    Raises
    ------
    UncoveredFrameError
        Where there is none, and where it is not what a certificate is.
    ArgumentError, TableFileError, OSError
        For a table that cannot be read.
    """
    if given is not None:
        return _loaded(given)
    plain = metadata_in(path)
    if plain is not None:
        try:
            return Certificate.from_dict(plain)
        except ArgumentError as error:
            raise _broken(error) from None
    if beside(path).is_file():
        return _loaded(beside(path))
    raise UncoveredFrameError(
        "the table",
        rule="one with a certificate in its metadata, or beside it",
        got="one without",
        hint=f"Name it: --certificate FILE. Beside a table it is {beside(path).name!r}.",
    )


def is_whole(verdict: str, /) -> bool:
    """Whether this verdict means that nothing was changed."""
    return verdict.startswith(("intact", "unsigned"))


def _loaded(path: Path) -> Certificate:
    try:
        return Certificate.load(path)
    except ArgumentError as error:
        raise _broken(error) from None


def _broken(error: ArgumentError) -> UncoveredFrameError:
    return UncoveredFrameError(error.what, rule=error.rule, got=error.got, hint=error.hint)
