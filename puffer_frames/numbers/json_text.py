"""JSON for a person to read: short parts on one line, long lists of numbers in lines."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 120
_STEP = 2


def readable(value: Any, /) -> str:
    """A value in JSON types as text; raises ValueError for NaN and infinities."""
    return "".join(_parts(value, 0, _STEP))


def _parts(value: Any, used: int, indent: int) -> list[str]:
    """The text of a value that begins after so many characters, its further lines indented by so many."""
    if not isinstance(value, (dict, list)) or not value:
        return [_short(value)]
    short = _if_short(value, WIDTH - used - 1)
    if short is not None:
        return [short]
    margin = " " * indent
    if isinstance(value, list) and not any(isinstance(entry, (dict, list)) for entry in value):
        return ["[\n", *_filled([_short(entry) for entry in value], margin), "\n", " " * (indent - _STEP), "]"]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    found = [opening]
    entries = [(f"{_short(key)}: ", entry) for key, entry in value.items()] if isinstance(value, dict) else None
    for k, (head, entry) in enumerate(entries or [("", entry) for entry in value]):
        found += [",\n" if k else "\n", margin, head, *_parts(entry, indent + len(head), indent + _STEP)]
    return [*found, "\n", " " * (indent - _STEP), closing]


def _if_short(value: Any, most: int) -> str | None:
    """The value on one line, where it fits."""
    if _size(value, most) > most:
        return None
    text = _short(value)
    return text if len(text) <= most else None


def _size(value: Any, most: int) -> int:
    """At most the length of the text, counted up to `most`: so that no long text is made to find that it is."""
    if not isinstance(value, (dict, list)):
        return len(value) if isinstance(value, str) else 1
    total = 2
    for entry in value.values() if isinstance(value, dict) else value:
        total += 2 + _size(entry, most - total)
        if total > most:
            break
    return total


def _filled(entries: list[str], margin: str) -> list[str]:
    """Entries in lines as long as may be."""
    lines, line = list[str](), margin
    for k, entry in enumerate(entries):
        text = entry + "," * (k + 1 < len(entries))
        if len(line) + len(text) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = margin
        line += text + " "
    return ["\n".join([*lines, line.rstrip()])]


def _short(value: Any) -> str:
    """On one line; what a terminal would not show as it is, and half of a surrogate pair, as an escape."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text if text.isprintable() else json.dumps(value, allow_nan=False)
