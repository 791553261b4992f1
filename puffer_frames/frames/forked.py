"""Whether the threads of Polars are there: a child that was forked after they had started has none, and would wait."""

from __future__ import annotations

import os
import threading

import polars as pl

from puffer_frames.errors import ForkedProcessError

LIMIT = 5.0
"""Seconds; what is tried takes some hundredths of one."""


class _Threads:
    """What is known of them in this process. It changes with a fork alone, and thus belongs to the process."""

    def __init__(self) -> None:
        self._there: bool | None = True

    def forget(self) -> None:
        """In a child that was forked nothing is known."""
        self._there = None

    def are_there(self) -> bool:
        """Tried once in a child."""
        if self._there is None:
            done = threading.Event()
            threading.Thread(target=_try, args=(done,), daemon=True).start()
            self._there = done.wait(LIMIT)
        return self._there


_THREADS = _Threads()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_THREADS.forget)


def check_process() -> None:
    """Raise ForkedProcessError in a child that has no threads of Polars; free elsewhere."""
    if not _THREADS.are_there():
        raise ForkedProcessError(
            "the process",
            rule="one that was not forked after Polars had started its threads",
            got="a forked one, in which they are gone",
            hint='Start worker processes by "spawn" or "forkserver": multiprocessing.get_context("spawn").',
        )


def _try(done: threading.Event) -> None:
    """Both engines, in a thread that may never come back."""
    table = pl.DataFrame({"key": [1, 2]})
    table.group_by("key").len()
    table.lazy().group_by("key").len().collect(engine="streaming")
    done.set()
