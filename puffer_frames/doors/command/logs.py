"""What is logged while the command runs: to standard error, with levels; warnings as a line each."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from puffer_frames.doors.command.outcome import one_line
from puffer_frames.errors import FULL_TRACEBACK, PufferWarning

LOG = logging.getLogger("puffer_frames.doors.command")
_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_USUAL = 2


def keep_stderr() -> None:
    """Keep standard error of this process for Python.

    When Polars panics, its Rust code writes to it by itself, and can quote the table.
    """
    if os.environ.get(FULL_TRACEBACK):
        return
    with suppress(OSError, AttributeError):  # a process may have no standard error
        own = os.dup(sys.stderr.fileno())
        sys.stderr = os.fdopen(own, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


@contextmanager
def logging_to_stderr(*, louder: int) -> Iterator[list[dict[str, str]]]:
    """Log lines of a level; gives the list of the warnings of this package, which grows."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("puffer: %(levelname)s: %(message)s"))
    before, seen = LOG.level, list[dict[str, str]]()
    LOG.setLevel(_LEVELS[max(0, min(_USUAL + louder, len(_LEVELS) - 1))])
    LOG.addHandler(handler)

    def show(message: Warning | str, category: type[Warning], *_place: Any) -> None:
        if issubclass(category, PufferWarning):
            seen.append({"kind": category.__name__, "message": one_line(str(message))})
            LOG.warning("%s: %s", category.__name__, seen[-1]["message"])
        else:  # of another library, which may quote the table
            LOG.debug("a %s of another library", category.__name__)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show  # type: ignore[assignment]
            yield seen
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(before)
