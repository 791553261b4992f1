"""What is logged while the command runs: to standard error, with levels; warnings as a line each; steps and metrics."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from puffer_frames.doors.command.outcome import finite, one_line
from puffer_frames.errors import FULL_TRACEBACK, ArgumentError, PufferWarning
from puffer_frames.frames.stamps.whole_file import replacing

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
    "loss": "Largest loss that was measured of the rows, and at least epsilon.",
    "step_seconds": "Seconds that a step took.",
}
_HEAD = f"# HELP puffer_exit_code {_METRICS['exit_code']}\n"
"""What a file with metrics begins with: a file that does not is never replaced by one."""


@dataclass(frozen=True, slots=True)
class Logged:
    """What a run has told so far."""

    warnings: list[dict[str, str]] = field(default_factory=list)
    """Those of this package."""
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
    if os.environ.get(FULL_TRACEBACK):
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
    shown.setFormatter(_JsonLines() if as_json else logging.Formatter("puffer: %(levelname)s: %(message)s"))
    shown.setLevel(_LEVELS[max(0, min(_USUAL + louder + as_json, len(_LEVELS) - 1))])
    handlers, before = (shown, _Steps(found.steps)), LOG.level
    LOG.setLevel(min(shown.level, logging.INFO))
    for each in handlers:
        LOG.addHandler(each)

    def show(message: Warning | str, category: type[Warning], *_place: Any) -> None:
        if issubclass(category, PufferWarning):
            found.warnings.append({"kind": category.__name__, "message": one_line(str(message))})
            LOG.warning("%s: %s", category.__name__, found.warnings[-1]["message"])
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
