"""The command `puffer`."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from puffer_frames.doors.command.jobs import JOBS, metrics_of
from puffer_frames.doors.command.outcome import (
    DONE,
    FILES,
    LOG,
    WRONG,
    Outcome,
    StoppedError,
    failed,
    keep_stderr,
    log_step,
    logging_to_stderr,
    say,
    write_metrics,
)
from puffer_frames.doors.command.parser import Request
from puffer_frames.errors import shows_all


def main(words: Sequence[str] | None = None, /) -> int:
    """Run the command, and return its exit code, as `outcome` has it: no error leaves this function.

    The words are by default those that the process was started with.
    """
    if words is None:
        keep_stderr()
    listed = list(sys.argv[1:] if words is None else words)
    machine = "--json" in listed
    try:
        request = Request.of(listed)
        machine, as_json = machine or request.flag("json"), request.logs_json
    except SystemExit as end:  # help or the version was printed
        return end.code if isinstance(end.code, int) else WRONG
    except Exception as error:
        return _said(failed(error), [], machine=machine).code
    with logging_to_stderr(louder=request.louder, as_json=as_json) as logged:
        clock, metrics, source = time.perf_counter(), None, None
        try:
            with _stopped_by_signals(own=words is None):
                metrics, source = metrics_of(request), request.path_or_none("input")
                outcome = JOBS[request.subcommand](request)
        except SystemExit:
            raise
        except BaseException as error:  # a panic of Polars is no Exception
            if shows_all() and not isinstance(error, KeyboardInterrupt):
                raise
            outcome = failed(error, source=source)
        outcome = _said(outcome, logged.warnings, machine=machine, as_json=as_json)
        wrong = as_json and outcome.code != DONE
        log_step(_whole_run(outcome, time.perf_counter() - clock), level=logging.ERROR if wrong else logging.INFO)
        if metrics is not None:
            try:
                write_metrics(metrics, request.subcommand, logged.steps)
            except Exception as error:
                LOG.warning("the metrics were not written: %s", failed(error).text)
    return outcome.code


def _whole_run(outcome: Outcome, seconds: float) -> dict[str, Any]:
    found = {"step": "run", "verdict": outcome.status, "exit": outcome.code, "seconds": round(seconds, 3)}
    return found | {name: outcome.more[name] for name in ("error",) if name in outcome.more}


@contextmanager
def _stopped_by_signals(*, own: bool) -> Iterator[None]:
    """Let SIGTERM end the block as SIGINT does: what is not whole is gone, and what was reserved still counts.

    Only in a process of its own. After the block it is decided how the run has ended, and a signal changes nothing.
    """
    if not own or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: object) -> None:
        raise StoppedError(number)

    # a process in the background of a shell is told to ignore SIGINT
    heeded = [each for each in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(each) != signal.SIG_IGN]
    for each in heeded:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each in heeded:
            signal.signal(each, signal.SIG_IGN)


def _said(outcome: Outcome, warned: list[dict[str, str]], *, machine: bool, as_json: bool = False) -> Outcome:
    """Print how it ended; where that cannot be written, what was done stays done, and an exit code of 0 becomes 3."""
    try:
        if machine or not (as_json and "error" in outcome.more):
            say(outcome, warned, machine=machine)
    except OSError as error:
        LOG.error(failed(error).text)
        outcome = replace(outcome, code=outcome.code or FILES)
    return outcome
