"""The command `puffer`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from puffer_frames.doors.command.jobs import JOBS
from puffer_frames.doors.command.logs import keep_stderr, logging_to_stderr
from puffer_frames.doors.command.outcome import WRONG, Outcome, failed, say
from puffer_frames.doors.command.parser import Request
from puffer_frames.errors import FULL_TRACEBACK


def main(words: Sequence[str] | None = None, /) -> int:
    """Run the command, and return its exit code: no error leaves this function.

    Parameters
    ----------
    words : sequence of str, optional
        By default those that the process was started with.

    Returns
    -------
    int
        0: done, intact or covered. 1: refused for privacy. 2: a request that cannot be. 3: a file that cannot be read
        or written, or a fault. 4: rows that cannot be released as they are. 130: interrupted.
    """
    if words is None:
        keep_stderr()
    listed = list(sys.argv[1:] if words is None else words)
    machine = "--json" in listed
    try:
        request = Request.of(listed)
        machine = machine or request.flag("json")
    except SystemExit as end:  # help or the version was printed
        return end.code if isinstance(end.code, int) else WRONG
    except Exception as error:
        return _end(failed(error), [], machine=machine)
    with logging_to_stderr(louder=request.louder) as warned:
        try:
            outcome = JOBS[request.subcommand](request)
        except SystemExit:
            raise
        except BaseException as error:  # a panic of Polars is no Exception
            if os.environ.get(FULL_TRACEBACK) and not isinstance(error, KeyboardInterrupt):
                raise
            outcome = failed(error)
    return _end(outcome, warned, machine=machine)


def _end(outcome: Outcome, warned: list[dict[str, str]], *, machine: bool) -> int:
    say(outcome, warned, machine=machine)
    return outcome.code
