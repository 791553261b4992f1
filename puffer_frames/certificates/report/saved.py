"""Where a report goes."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.numbers.arguments import check_flag


def check_path(path: object, /, *, overwrite: object) -> Path:
    """The place of a report.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For what is no path of an .html file, and for a file that is there, unless it may be replaced.
    """
    check_flag(overwrite, "overwrite")
    if not isinstance(path, (str, Path)):
        raise ArgumentTypeError(
            "the path of the report",
            rule="a str or a Path",
            got=f"a {type(path).__name__}",
            hint='Write report("release.html").',
        )
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(
            "the path of the report",
            rule="one that ends in .html",
            got="another one",
            hint='Write report("release.html"), and print it from a browser.',
        )
    if os.path.lexists(place) and not overwrite:
        raise ArgumentError(
            "the path of the report",
            rule="that of a new file",
            got="one that is there",
            hint="Say overwrite=True to replace it.",
        )
    return place


def digest_of_file(path: object, /) -> tuple[str, str]:
    """The name of a file, and the SHA-256 of its bytes.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For what is no path of a file.
    OSError
        Where it cannot be read.
    """
    if not isinstance(path, (str, Path)):
        raise ArgumentTypeError(
            "file", rule="a str or a Path", got=f"a {type(path).__name__}", hint='Write file="released.parquet".'
        )
    if Path(path).is_dir():
        raise ArgumentError("file", rule="a single file", got="a folder", hint="Leave it out, or name one file.")
    with Path(path).open("rb") as content:
        return Path(path).name, hashlib.file_digest(content, "sha256").hexdigest()
