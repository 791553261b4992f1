"""Titled rows of label and text, for terminals and notebooks, and small pictures as SVG without scripts."""

from __future__ import annotations

import html
import math
import textwrap
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

Rows: TypeAlias = Sequence[tuple[str, str]]

_WIDTH = 100
_DIGITS = 6
_LARGEST = 30.0
"""Beyond this epsilon, odds are no figure that anybody reads."""
_GUARD = 40
"""Digits beyond those that are printed: what rounding up decides by."""


def shown(name: str, /) -> str:
    """A name with escapes for what a terminal or a page would not print as it is: control characters and the like."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(name))


def shown_names(names: Iterable[str], /) -> str:
    """Names in a list."""
    return ", ".join(map(shown, names))


def plain(number: float, /) -> str:
    """A number with all its digits: rounded, an epsilon or a bound would be another one."""
    return repr(float(number)).removesuffix(".0")


def odds_text(what: str, /, *, epsilon: float, delta: float) -> str:
    """What epsilon and delta mean for whoever looks at `what`, and believes what the guarantee is for."""
    factor = f"e^{plain(epsilon)}"
    if epsilon < _LARGEST:
        places = _decimals(math.expm1(epsilon), digits=3)  # three digits of what it is above 1
        with localcontext(prec=places + _GUARD):
            factor += f" = {_raised(Decimal(epsilon).exp(), places):,}"
    if delta:
        return (
            f"to a reader with a belief named below, whatever is looked for in {what}: its probability under one "
            f"secret is at most {factor} times that under another, plus {plain(delta)}"
        )
    return (
        f"to a reader with a belief named below, {what} can change the odds of one secret against another by at most "
        f"{factor}: from 50 % to at most {_percent(epsilon)}"
    )


def _percent(epsilon: float) -> str:
    """The probability that odds of e^epsilon : 1 are, rounded up, with digits that tell it from 50 % and from 100 %."""
    if epsilon >= _LARGEST:
        return "100 %"
    rest = 100 / (1 + math.exp(epsilon))
    places = max(_decimals(50 - rest), _decimals(rest) - 1)
    with localcontext(prec=places + _GUARD):
        odds = Decimal(epsilon).exp()
        return f"{_raised(100 * odds / (1 + odds), places)} %"


def _raised(number: Decimal, places: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)


def _decimals(number: float, *, digits: int = 2) -> int:
    """Decimal places that show so many digits of a number, at least the whole ones."""
    return max(0, digits - 1 - math.floor(math.log10(number))) if number > 0 else 0


def as_text(title: str, rows: Rows, /) -> str:
    """Rows under a title, labels in one column, long texts wrapped; line breaks of a text are kept."""
    margin = max(len(label) for label, _ in rows) + 4
    lines = [title]
    for label, text in rows:
        head = f"  {label:<{margin - 2}}"
        for part in text.splitlines() or [""]:
            preformatted = part != part.lstrip() or "  " in part
            wrapped = [part] if preformatted else textwrap.wrap(part, _WIDTH - margin, break_on_hyphens=False) or [""]
            for line in wrapped:
                lines.append((head + line).rstrip())
                head = " " * margin
    return "\n".join(lines)


def as_html(title: str, rows: Rows, /, *, pictures: Sequence[str] = ()) -> str:
    """The same as a table for notebooks: pictures first, texts in columns as they are, long ones folded.

    The pictures are SVG (`puffer_frames.numbers.presentation`).
    """
    shown_first = "".join(pictures)
    body = f'<tr><td colspan="2" style="text-align:left">{shown_first}</td></tr>' if shown_first else ""
    for label, texts in _groups(rows):
        head = f'<th style="{_HEAD}{_RED * (label == WARNING)}">{html.escape(label)}</th>'
        cells = "".join(map(_cell, texts))
        if label in _FOLDED:
            cells = f"<details><summary>{len(texts)} more</summary>{cells}</details>"
        body += f'<tr>{head}<td style="text-align:left{_RED * (label == WARNING)}">{cells}</td></tr>'
    return f"<table><caption style='text-align:left;font-weight:bold'>{html.escape(title)}</caption>{body}</table>"


_HEAD = "text-align:left;vertical-align:top;white-space:nowrap;padding-right:1em"
WARNING = "WARNING"
"""The label of texts that are shown in red."""
_RED = ";color:#a40e26"
_FOLDED = ("technical",)
"""Labels whose texts are for specialists."""
_LONG, _MANY = 320, 8
"""Longer texts, and tables of more lines, are folded."""


def _groups(rows: Rows) -> list[tuple[str, list[str]]]:
    """The texts of each label; a row without one belongs to the row before."""
    found: list[tuple[str, list[str]]] = []
    for label, text in rows:
        if label or not found:
            found.append((label, []))
        found[-1][1].append(text)
    return found


def _cell(text: str) -> str:
    """A text, or lines in columns."""
    lines = text.splitlines()
    if any("  " in row for row in lines):
        table = f'<pre style="margin:0;text-align:left;overflow-x:auto">{html.escape(text)}</pre>'
        return _folded(f"{len(lines)} lines", table) if len(lines) > _MANY else table
    whole = f'<div style="text-align:left;white-space:pre-wrap">{html.escape(text)}</div>'
    if len(text) <= _LONG:
        return whole
    return _folded(textwrap.shorten(text, _LONG // 3, placeholder=" …"), whole)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{html.escape(summary)}</summary>{body}</details>"


class Printed:
    """What prints as a title and rows: in a terminal as text, in a notebook as HTML."""

    __slots__ = ()

    def _shown(self) -> tuple[str, Rows]:
        raise NotImplementedError

    def __str__(self) -> str:
        return as_text(*self._shown())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(*self._shown())


def bracket_text(lower: float, upper: float, /) -> str:
    """A number known from both sides, to the digits that both share (at least four)."""
    if lower == upper:
        return f"{upper:.6g}"
    if lower == 0:
        return f"at most {upper_text(upper)}"
    for digits in range(12, 3, -1):
        if f"{lower:.{digits}g}" == f"{upper:.{digits}g}":
            return f"{upper:.{min(digits, 6)}g}"
    return f"between {lower_text(lower)} and {upper_text(upper)}"


def upper_text(bound: float, /, *, digits: int = _DIGITS) -> str:
    """An upper bound: its last digit is raised where rounding would make it smaller."""
    return f"{rounded_up(bound, digits=digits):.{digits}g}"


def lower_text(bound: float, /, *, digits: int = _DIGITS) -> str:
    """A lower bound: what lies beyond its last digit is cut off."""
    if not 0 < bound < math.inf:
        return f"{bound:.{digits}g}"
    with localcontext(prec=digits, rounding=ROUND_FLOOR):
        return f"{float(+Decimal(bound)):.{digits}g}"


def rounded_up(number: float, /, *, digits: int) -> float:
    """The smallest number with so many significant digits that is not below this one."""
    if not 0 < number < math.inf:
        return number
    with localcontext(prec=digits, rounding=ROUND_CEILING):
        return float(+Decimal(number))


def at_most(bound: float, /, *, digits: int = 3) -> tuple[float, str]:
    """A bound with so many digits, and the same in words; raised where they make it smaller by more than rounding."""
    near = float(f"{bound:.{digits}g}")
    up = near if near >= bound * (1 - 1e-12) else rounded_up(bound, digits=digits)
    return up, f"at most {up:.{digits}g}" if math.isfinite(up) else "no bound"


def pairs_text(pairs: str | Sequence[tuple[object, object]], /, *, apart: bool = False) -> str:
    """The protected pairs in words; apart where each of several columns is protected by itself."""
    if apart:
        return "every pair of values of each by itself"
    if isinstance(pairs, str):
        return "every pair of values"
    shown = ", ".join(f"{a!r} / {b!r}" for a, b in pairs[:6])
    return shown + (f" and {len(pairs) - 6} more pairs" if len(pairs) > 6 else "")


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
