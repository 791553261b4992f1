"""Bars as SVG, made as strings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from puffer_frames.certificates.report.markup import escaped

_WIDTH = 360
_ROW = 34
_LONGEST = 30
"""So many characters of a label are shown; the text beside the picture has all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    label: str
    value: float
    """Not negative; infinity is a bar of the whole width."""
    text: str
    """The value in words."""
    soft: bool = False
    """Whether it is what the others are compared with."""
    alarm: bool = False
    """Whether it is more than was asked for: then it is red."""


def bars(name: str, title: str, rows: Sequence[Bar], /, *, largest: float = 0.0, mark: float | None = None) -> str:
    """A figure of horizontal bars from 0, a line of text above each.

    Parameters
    ----------
    name : str
        Unique on the page.
    title : str
        What is shown; read out, with every bar, by a screen reader, and printed below.
    rows : sequence of Bar
    largest : float
        What the whole width stands for, where no bar is longer.
    mark : float, optional
        Where a line crosses the bars.
    """
    finite = [row.value for row in rows if math.isfinite(row.value)]
    top = max([largest, *finite, *([] if mark is None else [mark])])
    top *= 1.15 if len(finite) < len(rows) else 1.0  # what has no bound is longer than all that has one
    height = _ROW * len(rows) + 4
    parts = [
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {_WIDTH} {height}">',
        f'<title id="{name}-t">{escaped(title)}</title>',
        f'<desc id="{name}-d">{escaped("; ".join(f"{row.label}: {row.text}" for row in rows))}</desc>',
    ]
    for k, row in enumerate(rows):
        y = _ROW * k
        length = _WIDTH * min(1.0, row.value / top) if top else 0.0
        kind = "alarm" if row.alarm else "rest" if row.soft else "bar"
        label = row.label if len(row.label) <= _LONGEST else row.label[: _LONGEST - 1] + "…"
        parts.append(f'<text x="0" y="{y + 13}">{escaped(label)}</text>')
        parts.append(f'<text x="{_WIDTH}" y="{y + 13}" text-anchor="end">{escaped(row.text)}</text>')
        parts.append(f'<rect class="{kind}" x="0" y="{y + 18}" width="{max(length, 1):.1f}" height="10"/>')
        if mark is not None and top:
            x = _WIDTH * mark / top
            parts.append(f'<line class="mark" x1="{x:.1f}" y1="{y + 15}" x2="{x:.1f}" y2="{y + 31}"/>')
    return f"<figure>{''.join(parts)}</svg><figcaption>{escaped(title)}</figcaption></figure>"


def beside(*figures: str) -> str:
    """Figures side by side, where there is room; nothing for none."""
    found = "".join(figures)
    return f'<div class="pictures">{found}</div>' if found else ""


def aside(figure: str, /) -> str:
    """A figure at the right of what follows, where there is room; nothing for none."""
    return f'<div class="aside">{figure}</div>' if figure else ""
