"""Small pictures for notebooks: SVG as text, without scripts, in the colour of the letters around them."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

ACCENT, OTHER = "#2f8fd0", "#d9722e"
"""Blue and orange that stand out on white and on black, for every common colour blindness."""
_WIDE, _HIGH = 300, 110
_LETTERS = 'font-size="10" font-family="sans-serif" fill="currentColor"'
_NAMES, _NUMBERS = 92, 64
"""Room for the names left of bars, and for the numbers right of them."""
_ROW = 17
_MOST_CELLS = 32


def bars(entries: Sequence[tuple[str, float, str]], /, *, title: str, mark: float | None = None) -> str:
    """Bars from 0, one below the other.

    - `entries` (sequence of (name, number, text)): The text stands beside the bar. An infinite number is a bar to the
      end, one that is not a number is none.
    - `title`: Above them; with the texts it is what a screen reader says.
    - `mark`: A dashed line: what was asked for.
    """
    finite = [number for _, number, _ in entries if math.isfinite(number)]
    most = max([*finite, mark or 0.0, 0.0]) or 1.0
    if any(math.isinf(number) for _, number, _ in entries):
        most *= 1.3
    room, parts = _WIDE - _NAMES - _NUMBERS, []
    for k, (name, number, text) in enumerate(entries):
        y = 16 + _ROW * k
        width = 0.0 if math.isnan(number) else room * min(1.0, max(0.0, number) / most)
        parts.append(f'<text x="{_NAMES - 5}" y="{y + 10}" text-anchor="end" {_LETTERS}>{html.escape(name)}</text>')
        parts.append(f'<rect x="{_NAMES}" y="{y}" width="{width:.1f}" height="12" fill="{ACCENT}"/>')
        place = _NAMES + width + 4
        parts.append(f'<text x="{place:.1f}" y="{y + 10}" {_LETTERS}>{html.escape(text)}</text>')
    high = 20 + _ROW * len(entries)
    if mark is not None:
        x = _NAMES + room * min(1.0, mark / most)
        dashes = f'stroke="{OTHER}" stroke-dasharray="3 2"'
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="13" y2="{high - 3}" {dashes}/>')
    said = "; ".join(f"{name} {text}" for name, _, text in entries)
    return _svg(parts, high, title=title, said=said)


def line(x: ArrayLike, y: ArrayLike, /, *, title: str, band: float, said: str) -> str:
    """A line along x, and a band from -band to band around 0.

    - `x`, `y`: array_like, shape (n,).
    - `band`: Greater than 0.
    - `said`: What a screen reader says.
    """
    along, found = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    reach = 1.15 * max(band, float(np.abs(found).max(initial=0.0)))
    across = (along - along[0]) / (float(along[-1] - along[0]) or 1.0)
    places = zip(34 + across * (_WIDE - 40), _level(found, reach), strict=True)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
    low, high = (float(_level(np.array(edge), reach)) for edge in (-band, band))
    parts = [
        f'<rect x="34" y="{high:.1f}" width="{_WIDE - 40}" height="{low - high:.1f}" fill="{ACCENT}" opacity="0.18"/>',
        f'<polyline points="{points}" fill="none" stroke="{OTHER}" stroke-width="1.5"/>',
        f'<text x="30" y="{high + 3:.1f}" text-anchor="end" {_LETTERS}>{band:.3g}</text>',
        f'<text x="30" y="{low + 3:.1f}" text-anchor="end" {_LETTERS}>-{band:.3g}</text>',
        f'<text x="34" y="{_HIGH - 2}" {_LETTERS}>{along[0]:.4g}</text>',
        f'<text x="{_WIDE - 6}" y="{_HIGH - 2}" text-anchor="end" {_LETTERS}>{along[-1]:.4g}</text>',
    ]
    return _svg(parts, _HIGH, title=title, said=said)


def matrix(table: ArrayLike, /, *, title: str, said: str) -> str:
    """Shares from 0 to 1 as squares, the darker the larger; of more than 32 rows or columns nothing."""
    shares = np.asarray(table, dtype=float)
    rows, columns = shares.shape
    if max(rows, columns) > _MOST_CELLS:
        return ""
    side = min(14.0, (_WIDE - 8) / columns, 160.0 / rows)
    parts = [
        f'<rect x="{4 + side * j:.1f}" y="{16 + side * i:.1f}" width="{side:.1f}" height="{side:.1f}" '
        f'fill="{ACCENT}" fill-opacity="{share:.2f}"/>'
        for (i, j), share in np.ndenumerate(shares)
        if share >= 0.005
    ]
    frame = f'<rect x="4" y="16" width="{side * columns:.1f}" height="{side * rows:.1f}" fill="none"'
    parts.append(f'{frame} stroke="currentColor" stroke-opacity="0.4"/>')
    return _svg(parts, math.ceil(20 + side * rows), title=title, said=said)


def _level(values: np.ndarray, reach: float) -> np.ndarray:
    """The height of numbers from -reach to reach in the picture."""
    middle = (16 + _HIGH - 14) / 2
    return middle - values / reach * (_HIGH - 30) / 2


def _svg(parts: Sequence[str], high: int, *, title: str, said: str) -> str:
    head = f'<text x="4" y="10" font-weight="bold" {_LETTERS}>{html.escape(title)}</text>'
    label = html.escape(f"{title}: {said}", quote=True)
    return (
        f'<svg role="img" aria-label="{label}" width="{_WIDE}" height="{high}" viewBox="0 0 {_WIDE} {high}" '
        'xmlns="http://www.w3.org/2000/svg" style="margin:2px 14px 2px 0;vertical-align:top">'
        f"{head}{''.join(parts)}</svg>"
    )
