"""Titled rows of label and text, for terminals and notebooks."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import TypeAlias

from puffer_frames.loss.outcome import Verification

Rows: TypeAlias = Sequence[tuple[str, str]]

_WIDTH = 100


def as_text(title: str, rows: Rows, /) -> str:
    """Rows under a title, labels in one column, long texts wrapped; line breaks of a text are kept."""
    margin = max(len(label) for label, _ in rows) + 4
    lines = [title]
    for label, text in rows:
        head = f"  {label:<{margin - 2}}"
        for part in text.splitlines() or [""]:
            preformatted = part != part.lstrip() or "  " in part
            wrapped = [part] if preformatted else textwrap.wrap(part, _WIDTH - margin) or [""]
            for line in wrapped:
                lines.append((head + line).rstrip())
                head = " " * margin
    return "\n".join(lines)


def as_html(title: str, rows: Rows, /) -> str:
    """The same as a table for notebooks."""
    body = "".join(
        '<tr><th style="text-align:left;vertical-align:top;white-space:nowrap">'
        f'{html.escape(label)}</th><td style="text-align:left;white-space:pre-wrap">{html.escape(text)}</td></tr>'
        for label, text in rows
    )
    return f"<table><caption style='text-align:left;font-weight:bold'>{html.escape(title)}</caption>{body}</table>"


def bracket_text(lower: float, upper: float, /) -> str:
    """A number known from both sides, to the digits that both share (at least four)."""
    if lower == upper:
        return f"{upper:.6g}"
    if lower == 0:
        return f"at most {upper:.6g}"
    for digits in range(12, 3, -1):
        if f"{lower:.{digits}g}" == f"{upper:.{digits}g}":
            return f"{upper:.{min(digits, 6)}g}"
    return f"between {lower:.6g} and {upper:.6g}"


def pairs_text(pairs: str | Sequence[tuple[object, object]], /) -> str:
    """The protected pairs in words."""
    if isinstance(pairs, str):
        return "every pair of values"
    shown = ", ".join(f"{a!r} / {b!r}" for a, b in pairs[:6])
    return shown + (f" and {len(pairs) - 6} more pairs" if len(pairs) > 6 else "")


def measured_text(measured: Verification, /, *, epsilon: float, delta: float) -> str:
    """What the engine measured: the pure loss, and where delta is asked for the hockey stick first."""
    pure, stick = measured.pure_loss, measured.hockey_stick
    loss = f"pure loss {bracket_text(pure.lower, pure.upper)}"
    if delta == 0:
        return loss
    found = f"delta {bracket_text(stick.lower, stick.upper)} at epsilon {epsilon:g}"
    return found if pure.upper == float("inf") else f"{found}, {loss}"
