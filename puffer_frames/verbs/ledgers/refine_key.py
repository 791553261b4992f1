"""The file of a curator who refines releases: a key, and which release was refined into which."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.noise.stream import KEY_BYTES, ReleaseKey
from puffer_frames.numbers.arguments import check_kind
from puffer_frames.numbers.presentation import plain
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.ledgers.entries import now
from puffer_frames.verbs.ledgers.locked_lines import BrokenLineError, LockedLines, locked

SCHEMA = "1.0"
_FILE = "the key file"
_OTHERS = 0o077
"""Bits of a mode by which others may read or write a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined:
    """What became of a release."""

    result: str
    """Fingerprint of the refined release."""
    epsilon: float
    scales: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RefineKey:
    """An open key file, which nobody else can use meanwhile."""

    key: ReleaseKey
    refined: Mapping[str, Refined]
    """What became of releases, by their fingerprints."""
    rows: Mapping[str, str]
    """Codes of the original values of releases, by their fingerprints."""
    _check: bytes = field(repr=False)
    _file: LockedLines = field(repr=False)

    def code(self, values: Mapping[str, FloatArray], /) -> str:
        """A code of original values, row by row: keyed, so that nobody without the file can try values on it."""
        found = hashlib.blake2b(key=self._check, digest_size=32)
        for name, column in sorted(values.items()):
            found.update(f"{name!r}:{column.size}:".encode(errors="surrogatepass"))
            found.update((column + 0.0).astype("<f8").tobytes())
        return found.hexdigest()

    def note(self, release: str, values: Mapping[str, FloatArray], /) -> None:
        """Write down the original values of a release, in a code, before anybody has it."""
        self._file.append({"schema": SCHEMA, "released": release, "rows": self.code(values), "time": now()})

    def find(self, links: Sequence[Mapping[str, Any]], /, *, epsilon: float, scales: Mapping[str, float]) -> str:
        """The fingerprint of what the last release of a chain was refined into; empty for the first time.

        Raises CalibrationError where it was refined otherwise, and where this file did not make the chain.
        """
        for before, after in pairwise(links):
            made = self.refined.get(before["fingerprint"])
            if made is None or (made.result, made.scales) != (after["fingerprint"], after["scales"]):
                rule = "the one that the release was refined with before"
                hint = "Give the same key= for all refinements of a release."
                raise CalibrationError(_FILE, rule=rule, got="one that does not know it", hint=hint)
        found = self.refined.get(links[-1]["fingerprint"])
        if found is None:
            return ""
        if (found.epsilon, found.scales) != (epsilon, dict(scales)):
            raise CalibrationError(
                "the release",
                rule="the latest of those that refine one another",
                got=f"one that was refined already, at epsilon {plain(found.epsilon)}",
                hint="Refine that one: two refinements of one release are not covered together.",
            )
        return found.result

    def write(
        self,
        release: str,
        result: str,
        /,
        *,
        epsilon: float,
        scales: Mapping[str, float],
        values: Mapping[str, FloatArray],
    ) -> None:
        """Write down what a release was refined into, before anybody has it."""
        line = {"refined": release, "result": result, "epsilon": epsilon, "scales": dict(scales)}
        line |= {"rows": self.code(values)}
        self._file.append({"schema": SCHEMA, **line, "time": now()})


@contextmanager
def opened(path: str | Path, /) -> Iterator[RefineKey]:
    """Open a key file, or make one that only its owner can read.

    Raises ArgumentError, ArgumentTypeError for something else than a key file, and for one that others can read.
    """
    check_kind(path, str | Path, "key", rule="the path of a file", hint='Write key="refine.key".')
    with locked(Path(path), what=_FILE, mode=0o600) as file:
        _check_mode(Path(path))
        lines = _records(file)
        if not lines:
            key, check = (secrets.token_bytes(KEY_BYTES).hex() for _ in range(2))
            lines = [{"schema": SCHEMA, "key": key, "check": check, "time": now()}]
            file.append(lines[0])
            file = file.after()
        yield _read(lines, file)


def _check_mode(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & _OTHERS:
        rule = "a file that only its owner can read and write"
        hint = f"Who has the key can undo the refinement: chmod 600 {path.name}."
        raise ArgumentError(_FILE, rule=rule, got="one that others can", hint=hint)


def _records(file: LockedLines) -> list[Mapping[str, Any]]:
    try:
        return [line for _, line in file.found.records()[0]]
    except BrokenLineError:
        raise _refused() from None


def _read(lines: list[Mapping[str, Any]], file: LockedLines) -> RefineKey:
    first, *others = lines
    made = [line for line in others if "refined" in line]
    try:
        key, check = ReleaseKey(bytes.fromhex(first["key"])), bytes.fromhex(first["check"])
        refined = {
            str(line["refined"]): Refined(
                result=str(line["result"]), epsilon=float(line["epsilon"]), scales=dict(line["scales"])
            )
            for line in made
        }
        rows = {str(line["result" if "refined" in line else "released"]): str(line["rows"]) for line in others}
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _refused() from None
    if any(str(line.get("schema")).partition(".")[0] != "1" for line in lines) or len(refined) < len(made):
        raise _refused()
    return RefineKey(key, refined, rows, check, file)


def _refused() -> ArgumentError:
    hint = "Bring back the file as it was; for releases that were never refined name a new one."
    return ArgumentError(_FILE, rule="one that refine has written, or none yet", got="another file", hint=hint)
