"""A comparison as lines of a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_SHOWN = {
    "epsilon": "epsilon",
    "belief": "belief",
    "mechanism": "mechanism",
    "noise": "noise",
    "theorem": "theorem",
    "column": "column",
    "published_scale": "published",
    "verdict": "verdict",
    "scale": "scale",
    "error": "error",
    "error_constant": "/ constant",
    "bound": "bound",
    "reason": "",
}
"""The fields that are printed, and their heads; `--json` has all."""


def in_columns(rows: Sequence[Mapping[str, Any]], /) -> str:
    """A line per row, under a line of heads; fields in columns, numbers to five digits."""
    lines = [list(_SHOWN.values()), *([_text(row[name]) for name in _SHOWN] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _text(entry: Any) -> str:
    return "" if entry is None else f"{entry:.5g}" if isinstance(entry, float) else str(entry)
