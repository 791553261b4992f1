"""JSON: read so that it has one meaning, and written for a person: short parts on one line, long lists in lines."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

PLAN_BYTES, CERTIFICATE_BYTES, CONFIG_BYTES = 64 << 20, 4 << 20, 16 << 20
"""Most bytes of a text: read as JSON it takes up to ten times as many."""
WIDTH = 120
_STEP = 2
_SHOWN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = json.JSONEncoder(allow_nan=False)


def file_content(path: str | Path, /, *, most: int) -> bytes:
    """What is in a file; raises OSError, and UnclearJsonError for a pipe, a device, or more than so many bytes."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise UnclearJsonError("no end: a pipe or a device")
        found = file.read(most + 1)
    check_size(found, most=most)
    return found


def check_size(text: str | bytes, /, *, most: int) -> None:
    """Raise UnclearJsonError for a longer text."""
    if len(text) > most:
        raise UnclearJsonError(f"more than {most / (1 << 20):g} MiB")


def parsed(text: str | bytes, /, *, most: int | None = None) -> Any:
    """What a text of JSON says, where every reader must find the same.

    - `text`: Bytes are UTF-8, with or without its mark.
    Raises UnclearJsonError for a key that stands twice in one object: of such a key some readers take the first entry,
    others the last. For NaN, infinities, numbers beyond the floats, integers of thousands of digits, lists in lists
    without end, and a longer text than `most`; ValueError for a text that is no JSON, is cut short, or is followed by
    another one; for bytes that are no UTF-8.
    """
    if most is not None:
        check_size(text, most=most)
    try:
        return json.loads(
            text.decode("utf-8-sig") if isinstance(text, bytes) else text,
            object_pairs_hook=_without_repetition,
            parse_constant=_finite,
            parse_float=_finite,
        )
    except (json.JSONDecodeError, UnicodeDecodeError, UnclearJsonError):
        raise
    except RecursionError:
        raise UnclearJsonError("lists nested too deeply") from None
    except ValueError:  # Python's limit for integers
        raise UnclearJsonError("an integer of thousands of digits") from None


class UnclearJsonError(ValueError):
    """JSON that two readers may understand in two ways; its text says what is in it."""


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnclearJsonError("a key twice")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise UnclearJsonError("NaN or an infinite number")
    return number


def readable(value: Any, /) -> str:
    """A value in JSON types as text; raises ValueError for NaN and infinities."""
    return "".join(_parts(value, 0, _STEP))


def _parts(value: Any, used: int, indent: int) -> list[str]:
    """The text of a value that begins after so many characters, its further lines indented by so many."""
    if not isinstance(value, (dict, list)) or not value:
        return [_short(value)]
    most, margin, last = WIDTH - used - 1, " " * indent, " " * (indent - _STEP)
    if isinstance(value, list) and not any(isinstance(entry, (dict, list)) for entry in value):
        text = _short(value)
        return [text] if len(text) <= most else ["[\n", _filled(value, text, margin), "\n", last, "]"]
    if _is_small(value, most) and len(text := _short(value)) <= most:
        return [text]
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    found = [opening]
    entries = [(f"{_short(key)}: ", entry) for key, entry in value.items()] if isinstance(value, dict) else None
    for k, (head, entry) in enumerate(entries or [("", entry) for entry in value]):
        found += [",\n" if k else "\n", margin, head, *_parts(entry, indent + len(head), indent + _STEP)]
    return [*found, "\n", last, closing]


def _is_small(value: Any, most: int) -> bool:
    """Whether a value may be a text of so many characters: no long one is made to find that it is."""
    left = most - 3 * len(value)
    entries = value.values() if isinstance(value, dict) else value
    return left > 0 and all(_is_small(entry, left) for entry in entries if isinstance(entry, (dict, list)))


def _filled(entries: list[Any], text: str, margin: str) -> str:
    """Entries, whose text on one line is given, in lines as long as may be."""
    numbers = not any(isinstance(entry, str) for entry in entries)
    parts = text[1:-1].split(", ") if numbers else [_short(entry) for entry in entries]
    lines, line, room = list[str](), list[str](), WIDTH - len(margin)
    left = room
    for part in parts:
        if len(part) + 1 > left and line:
            lines.append(margin + ", ".join(line))
            line, left = [], room
        line.append(part)
        left -= len(part) + 2
    return ",\n".join([*lines, margin + ", ".join(line)])


def _short(value: Any) -> str:
    """On one line; what a terminal would not show as it is, and half of a surrogate pair, as an escape."""
    text = _SHOWN.encode(value)
    return text if text.isprintable() else _ESCAPED.encode(value)
