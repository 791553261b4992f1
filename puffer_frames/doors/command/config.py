"""Options from a file, TOML or JSON: the same names, and values as in Python."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from puffer_frames.doors.command.options import GROUPS
from puffer_frames.errors import ArgumentError
from puffer_frames.numbers.json_text import UnclearJsonError, parsed

_MOST_BYTES = 1 << 24


def read_config(path: Path, /, *, known: Collection[str]) -> dict[str, Any]:
    """The entries of the file, by the names of options with "_"; those of a table `unit`, `given` or `channel` too.

    Raises
    ------
    OSError
        Where the file cannot be read.
    ArgumentError
        For a file of another form, and for an entry that is no option of the subcommand.
    """
    if path.suffix.lower() not in (".toml", ".json"):
        raise _refused("a file that ends in .toml or .json", "another one")
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        text = content.decode("utf-8-sig")
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else parsed(text)
    except UnclearJsonError as error:
        raise _refused("JSON that every program reads alike", f"one with {error}") from None
    except (ValueError, RecursionError):  # errors of both formats and of the encoding are values
        raise _refused(f"a whole {path.suffix[1:].upper()} file", "one that cannot be read as that") from None
    if not isinstance(found, dict):
        raise _refused("an object with the names of options", f"a {type(found).__name__}")
    entries: dict[str, Any] = {}
    for key, value in found.items():
        name = key.replace("-", "_")
        table = [(name, value)]
        if name in GROUPS and isinstance(value, dict):
            main = GROUPS[name][1]
            table = [(name if part == main else f"{name}_{part.replace('-', '_')}", x) for part, x in value.items()]
        for entry, content_of in table:
            if entry not in known:
                near = get_close_matches(entry, known, n=1)
                hint = (
                    f"Did you mean {near[0]!r}?" if near else "See the help of the subcommand: puffer release --help."
                )
                raise _refused("one with names of options of this subcommand", repr(entry), hint)
            if entry in entries:
                raise _refused("one that names an option once", f"{entry!r} twice")
            entries[entry] = content_of
    return entries


def _refused(rule: str, got: str, hint: str = "See docs/command.md.") -> ArgumentError:
    return ArgumentError("the config file", rule=rule, got=got, hint=hint)
