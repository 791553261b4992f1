"""How a run of the command ends: an exit code, a line for people, an object for machines."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass, field
from typing import Any, TextIO

from puffer_frames.errors import (
    ArgumentError,
    ArgumentTypeError,
    CallError,
    ColumnNotFoundError,
    ColumnTypeError,
    FaultError,
    LockedFileError,
    PlanFileError,
    PriorError,
    PufferError,
    TableFileError,
    as_system_error,
)

DONE, REFUSED, WRONG, FILES, DATA = 0, 1, 2, 3, 4
"""Exit codes: done; refused for privacy; a request that cannot be; files that cannot be read or written; rows that
cannot be released as they are: none at all, missing values, other types."""
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
_FILES = (LockedFileError, PlanFileError, TableFileError)


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
        plain: dict[str, Any] = finite(found)
        return plain


def failed(error: BaseException, /) -> Outcome:
    """The end of a run that raised this.

    Errors of this package say what was wrong. Of an OSError the file and the system's words are shown, of any other
    error its kind alone: its text could quote the table.
    """
    if not (isinstance(error, PufferError) or getattr(error, "errno", None)):  # Polars raises an OSError without it
        error = as_system_error(error) or error
    kind = error.kind if isinstance(error, FaultError) else type(error).__name__
    if isinstance(error, PufferError):
        codes = ((_DATA, DATA), (_WRONG, WRONG), (_FILES, FILES), (PufferError, REFUSED))
        code = next(code for kinds, code in codes if isinstance(error, kinds))
        parts = {"what": error.what, "rule": error.rule, "got": error.got, "hint": error.hint}
        text = one_line(str(error))
    elif isinstance(error, OSError):
        code, parts = FILES, {}
        named = "" if error.filename is None else f": {os.fsdecode(error.filename)!r}"
        text = f"{os.strerror(error.errno) if error.errno else type(error).__name__}{named}"
    elif isinstance(error, KeyboardInterrupt):
        code, parts, text = INTERRUPTED, {}, "stopped by a signal"
        code = 128 + error.number if isinstance(error, StoppedError) else code
    else:
        code, parts = FILES, {}
        text = f"a fault, {kind}; with PUFFER_FULL_TRACEBACK=1 in the environment it is shown in full"
    about = {"kind": kind, "message": text, **parts}
    return Outcome(status=STATUS.get(code, STATUS[INTERRUPTED]), code=code, text=text, more={"error": about})


def say(outcome: Outcome, warnings: list[dict[str, str]], /, *, machine: bool) -> None:
    """Print it: one JSON object on standard output, or a text."""
    if machine:
        _print(json.dumps(outcome.plain(warnings), ensure_ascii=False, allow_nan=False, default=str), sys.stdout)
    elif "error" in outcome.more:
        _print(f"puffer: {outcome.status}: {outcome.text}", sys.stderr)
    else:
        _print(outcome.text, sys.stdout)


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
    except BrokenPipeError:  # the reader has gone; Python would complain once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
