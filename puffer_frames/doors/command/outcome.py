"""How a run of the command ends, and what is logged while it runs: for people, and as objects for machines."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from puffer_frames.doors.command.options import as_options
from puffer_frames.errors import (
    FULL_TRACEBACK,
    ArgumentError,
    ArgumentTypeError,
    CallError,
    ColumnNotFoundError,
    ColumnTypeError,
    FaultError,
    FileTakenError,
    LedgerNotFoundError,
    LockedFileError,
    PlanFileError,
    PriorError,
    PufferError,
    PufferWarning,
    TableFileError,
    as_system_error,
    shows_all,
)
from puffer_frames.frames.stamps.whole_file import replacing
from puffer_frames.numbers.presentation import printable

DONE, REFUSED, WRONG, FILES, DATA = 0, 1, 2, 3, 4
"""Exit codes: done, intact or covered; refused for privacy; a request that cannot be; files, or standard output, that
cannot be read or written, or a fault; rows that cannot be released as they are: none at all, missing values, other
types."""
INTERRUPTED = 130
"""By SIGINT; of another signal 128 and its number."""
STATUS = {
    REFUSED: "refused",
    WRONG: "wrong request",
    FILES: "input or output",
    DATA: "data",
    INTERRUPTED: "interrupted",
}

_WRONG = (ArgumentError, ArgumentTypeError, CallError, ColumnNotFoundError)
_DATA = (ColumnTypeError, PriorError)
_FILES = (FileTakenError, LedgerNotFoundError, LockedFileError, PlanFileError, TableFileError)


class StoppedError(KeyboardInterrupt):
    """A signal has ended the run."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What is said at the end."""

    status: str
    """In a word: "released", "planned", "unsigned: cannot be trusted", "refused", ..."""
    text: str
    """For people, on standard output; of a failure on standard error."""
    code: int = DONE
    more: dict[str, Any] = field(default_factory=dict)
    """What the object for machines holds beside."""

    def plain(self, warnings: list[dict[str, str]], /) -> dict[str, Any]:
        """For machines, in JSON types."""
        found = {"status": self.status, "exit": self.code, **self.more, "warnings": warnings}
        return finite(found)


def failed(error: BaseException, /, *, source: Path | None = None) -> Outcome:
    """The end of a run that raised this, while it may have read a table.

    Errors of this package say what was wrong. An OSError shows the file and the system's words. Any other error shows
    its kind alone: its text could quote the table.
    """
    if not (isinstance(error, PufferError) or getattr(error, "errno", None)):  # Polars raises an OSError without it
        error = as_system_error(error) or error
    kind = error.kind if isinstance(error, FaultError) else type(error).__name__
    if kind == "ComputeError" and source is not None:  # of Polars, while it reads
        error = TableFileError(
            f"the input {source.name!r}",
            rule="a table whose rows can all be read",
            got="a damaged one, or a fault while it was read",
            hint=f"Copy or write it again; with {FULL_TRACEBACK}=1 in the environment the fault is shown in full.",
        )
        kind = type(error).__name__
    if isinstance(error, PufferError):
        codes = ((_DATA, DATA), (_FILES, FILES), (_WRONG, WRONG), (PufferError, REFUSED))
        code = next(code for kinds, code in codes if isinstance(error, kinds))
        rule, hint = map(as_options, (error.rule, error.hint))
        parts = {"what": error.what, "rule": rule, "got": error.got, "hint": hint}
        text = one_line(str(error).replace(error.rule, rule).replace(error.hint, hint))
    elif isinstance(error, OSError):
        code, parts = FILES, {}
        named = "" if error.filename is None else f": {os.fsdecode(error.filename)!r}"
        text = f"{os.strerror(error.errno) if error.errno else type(error).__name__}{named}"
    elif isinstance(error, KeyboardInterrupt):
        code, parts, text = INTERRUPTED, {}, "stopped by a signal"
        code = 128 + error.number if isinstance(error, StoppedError) else code
    else:
        code, parts = FILES, {}
        text = f"a fault, {kind}; with {FULL_TRACEBACK}=1 in the environment it is shown in full"
    about = {"kind": kind, "message": text, **parts}
    return Outcome(status=STATUS.get(code, STATUS[INTERRUPTED]), code=code, text=text, more={"error": about})


def say(outcome: Outcome, warnings: list[dict[str, str]], /, *, machine: bool) -> None:
    """Print it: one JSON object on standard output, or a text. Raises OSError where that is not written down."""
    if machine:
        _print(json.dumps(outcome.plain(warnings), ensure_ascii=False, allow_nan=False, default=str), sys.stdout)
    elif "error" in outcome.more:
        _print(f"puffer: {outcome.status}: {outcome.text}", sys.stderr)
    else:
        is_whole = outcome.status in ("certificate", "plan")  # which may be JSON, or a page
        _print(outcome.text if is_whole else printable(outcome.text), sys.stdout)


def finite(found: Any, /) -> Any:
    """With null for what JSON does not have: the expected error of noise with heavy tails is infinite."""
    if isinstance(found, dict):
        return {key: finite(entry) for key, entry in found.items()}
    if isinstance(found, (list, tuple)):
        return [finite(entry) for entry in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def one_line(text: str, /) -> str:
    """A text without line breaks."""
    return " ".join(text.split())


def _print(text: str, stream: TextIO) -> None:
    """Whatever characters the stream can show; half of a surrogate pair, as file names can have, as an escape."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)
    except OSError as error:  # the reader has gone, or the disk is full; Python would complain once more when it ends
        _give_up(stream)
        if stream is sys.stdout and not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, os.strerror(error.errno or 0), "standard output") from None


def _give_up(stream: TextIO) -> None:
    """What is still to be written is lost."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


LOG = logging.getLogger("puffer_frames.doors.command")
_LEVELS = (logging.CRITICAL, logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
_USUAL = 2
_METRICS = {
    "exit_code": "Exit code of the last run.",
    "finished_seconds": "When the last run ended, in seconds since 1970.",
    "seconds": "Seconds that the last run took.",
    "rows": "Rows that were read or written.",
    "epsilon": "Epsilon that was asked for.",
    "delta": "Delta that was asked for.",
    "loss": "Largest loss that was measured or proved of the rows, and at least epsilon.",
    "step_seconds": "Seconds that a step took.",
}
_HEAD = f"# HELP puffer_exit_code {_METRICS['exit_code']}\n"
"""What a file with metrics begins with: a file that does not is never replaced by one."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What a run has told so far."""

    warnings: list[dict[str, str]] = field(default_factory=list)
    """The warnings of this package."""
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    """What was done: its name as `step`, its seconds, and what is known of it. No value of a column."""


@contextmanager
def step(name: str, /) -> Iterator[dict[str, Any]]:
    """Log what the block does, when it is done: its seconds, and what it puts into the mapping that it is given."""
    clock, known = time.perf_counter(), dict[str, Any]()
    try:
        yield known
    except BaseException:
        known["verdict"] = "failed"
        raise
    finally:
        log_step({"step": name, **known, "seconds": round(time.perf_counter() - clock, 3)})


def log_step(found: Mapping[str, Any], /, *, level: int = logging.INFO) -> None:
    """Log a step."""
    forms = {"how": "{1}", "verdict": "{1}", "rows": "{1} rows", "seconds": "{1} seconds"}
    known = {name: entry for name, entry in found.items() if name not in ("step", "error") and entry is not None}
    text = ", ".join(forms.get(name, "{0} {1}").format(name, entry) for name, entry in known.items())
    LOG.log(level, "%s: %s", found["step"], text, extra={"step": finite(dict(found))})


def keep_stderr() -> None:
    """Keep standard error of this process for Python.

    When Polars panics, its Rust code writes to it by itself, and can quote the table.
    """
    if shows_all():
        return
    with suppress(OSError, AttributeError):  # a process may have no standard error
        own = os.dup(sys.stderr.fileno())
        sys.stderr = os.fdopen(own, "w", encoding=sys.stderr.encoding, errors=sys.stderr.errors, buffering=1)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        what = getattr(record, "step", None) or {"message": record.getMessage()}
        return json.dumps({"time": when, "level": record.levelname.lower(), **what}, allow_nan=False)


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


class _Steps(logging.Handler):
    """Keeps the steps, whatever is shown."""

    def __init__(self, kept: list[Mapping[str, Any]]) -> None:
        super().__init__(logging.INFO)
        self.kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        if hasattr(record, "step"):
            self.kept.append(record.step)


@contextmanager
def logging_to_stderr(*, louder: int, as_json: bool = False) -> Iterator[Logged]:
    """Log lines of a level; gives what is logged, which grows. As JSON the steps are shown without being asked for."""
    shown, found = logging.StreamHandler(sys.stderr), Logged()
    shown.setFormatter(_JsonLines() if as_json else _Lines("puffer: %(levelname)s: %(message)s"))
    shown.setLevel(_LEVELS[max(0, min(_USUAL + louder + as_json, len(_LEVELS) - 1))])
    handlers, before = (shown, _Steps(found.steps)), LOG.level
    LOG.setLevel(min(shown.level, logging.INFO))
    for each in handlers:
        LOG.addHandler(each)

    def show(message: Warning | str, category: type[Warning], *_place: Any) -> None:
        told = {"kind": category.__name__, "message": as_options(one_line(str(message)))}
        if issubclass(category, PufferWarning):
            if told not in found.warnings:  # a file may be read several times
                found.warnings.append(told)
                LOG.warning("%s: %s", told["kind"], told["message"])
        else:  # of another library, which may quote the table
            LOG.debug("a %s of another library", category.__name__)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = show  # type: ignore[assignment]
            yield found
    finally:
        for each in handlers:
            LOG.removeHandler(each)
        LOG.setLevel(before)
        try:
            sys.stderr.flush()
        except OSError:  # a full disk: Python would flush once more when it ends, and exit with 120
            _give_up(sys.stderr)


def check_metrics(path: Path, /) -> None:
    """Raise ArgumentError for a file that is there and holds something else than metrics."""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(len(_HEAD))
        if head not in (b"", _HEAD.encode()):
            rule, got = "a new file, or one with metrics of puffer", "another file"
            raise ArgumentError("--metrics", rule=rule, got=got, hint="Name another file: it is replaced by each run.")


def write_metrics(path: Path, subcommand: str, steps: Iterable[Mapping[str, Any]], /) -> None:
    """Write what is known of a run in the text format of Prometheus; raises OSError."""
    known: dict[str, Any] = {"finished_seconds": round(time.time(), 3)}
    times: dict[str, Any] = {}
    for each in steps:
        known |= {name: entry for name, entry in each.items() if isinstance(entry, (int, float))}
        if each["step"] != "run":
            times[each["step"]] = each["seconds"]
    known["exit_code"] = known.pop("exit")
    lines = []
    for name, text in _METRICS.items():
        label = f'subcommand="{subcommand}"'
        values = {f'{label},step="{one}"': entry for one, entry in times.items()} if name == "step_seconds" else {}
        if name in known:
            values = {label: known[name]}
        if values:
            lines += [f"# HELP puffer_{name} {text}", f"# TYPE puffer_{name} gauge"]
            lines += [f"puffer_{name}{{{labels}}} {entry}" for labels, entry in values.items()]
    with replacing(path) as file:
        file.write(("\n".join(lines) + "\n").encode())
