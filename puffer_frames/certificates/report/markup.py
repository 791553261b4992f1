"""Elements of HTML and bars of SVG as strings, the page around them and its style: no scripts."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from puffer_frames.numbers.presentation import shown

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --paper: #fff; --bar: #2f6f9f;
  --rest: #7d95a8; --warn: #a40e26; --warn-paper: #fff1f1; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b1; --line: #3d444d; --paper: #14181d;
  --bar: #6cb2e6; --rest: #66798a; --warn: #ff9aa2; --warn-paper: #33191c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.45 system-ui, "Segoe UI", "DejaVu Sans",
  sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: .3rem 0 .8rem; }
h2 { font-size: 1.12rem; margin: 1.5rem 0 .4rem; }
h3 { font-size: 1rem; margin: .8rem 0 .2rem; }
p { margin: .35rem 0; }
ul { margin: .35rem 0; padding-left: 1.2rem; }
table { width: 100%; border-collapse: collapse; margin: .4rem 0; font-size: .93rem; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding: .1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .22rem .5rem .22rem 0; border-top: 1px solid var(--line);
  white-space: pre-line; }
tbody th { font-weight: 600; }
table:not(.wide) th { width: 27%; }
.lead { font-size: 1.08rem; }
.numbers td:nth-child(2) { min-width: 9em; } .numbers td:nth-child(n+3) { min-width: 5.6em; }
.numbers th:first-child { width: 26%; }
.asked th:first-child { width: 16%; } .asked th:nth-child(2) { width: 13%; }
.sign th { padding: 1.6rem .5rem 1.6rem 0; }
.figures td { white-space: pre-wrap; font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9em; }
.notice, .box { border: 2px solid var(--warn); background: var(--warn-paper); padding: .5rem .8rem; }
.notice { font-weight: 700; color: var(--warn); }
.box { margin-top: 1.2rem; }
.box h2 { margin-top: .1rem; color: var(--warn); }
.warnings li, .alarm { color: var(--warn); }
section { clear: both; }
.aside { float: right; width: 45%; max-width: 24rem; margin: 0 0 .6rem 2rem; }
.aside figure { margin: .2rem 0; }
.fit { width: auto; }
.fit td, .fit th + th { padding-left: 1rem; }
.pictures { display: flex; flex-wrap: wrap; gap: .4rem 2rem; }
.pictures section { flex: 1 1 19rem; }
.pictures figure { flex: 1 1 19rem; max-width: 28rem; margin: .4rem 0; }
figcaption { color: var(--soft); font-size: .85rem; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
svg .bar { fill: var(--bar); } svg .rest { fill: var(--rest); }
svg .alarm { fill: var(--warn); } svg .mark { stroke: var(--warn); stroke-width: 1.5; }
@media (max-width: 36rem) {
  .aside { float: none; width: 100%; max-width: 28rem; margin: .4rem 0; }
  .numbers th:first-child, .asked th:first-child { width: 100%; }
  .fit { width: 100%; }
  .fit td { padding-left: 0; }
  .wide thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .wide tr, .wide th, .wide td, table:not(.wide) tr, table:not(.wide) th, table:not(.wide) td { display: block;
    width: 100%; }
  td { border-top: 0; padding-top: 0; }
  .wide td.none { display: none; }
  .wide td::before { content: attr(data-head) ": "; color: var(--soft); }
}
@page { size: A4; margin: 7mm 11mm; }
@media print {
  :root { color-scheme: light; --ink: #000; --soft: #444; --line: #bbb; --paper: #fff; --bar: #2f6f9f; --rest: #7d95a8;
    --warn: #a40e26; --warn-paper: #fff; }
  body { font: 7.8pt/1.22 "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans Condensed", sans-serif; }
  main { max-width: none; padding: 0; }
  h1 { font-size: 13pt; margin: 0 0 2pt; }
  h2 { font-size: 9pt; margin: 1pt 0 0; break-after: avoid; }
  h3 { font-size: 8pt; margin: 3pt 0 0; break-after: avoid; }
  p, ul { margin: .5pt 0; }
  ul { padding-left: 9pt; }
  table { font-size: 7.5pt; margin: 1pt 0; }
  caption, figcaption { font-size: 7pt; padding: 0; }
  th, td { padding: .3pt 4pt .3pt 0; }
  tr, figure, li { break-inside: avoid; }
  .lead { font-size: 9pt; }
  .notice, .box { padding: 2pt 5pt; border-width: 1pt; margin: 3pt 0; }
  .box:not(.warnings) ul, .small ul { columns: 2; column-gap: 12pt; } .box ul { font-size: 7pt; line-height: 1.18; }
  .pictures { gap: 0 14pt; flex-wrap: nowrap; }
  .pictures figure { max-width: 62mm; flex: 1 1 45mm; margin: 1pt 0; }
  .aside { width: 62mm; margin: 0 0 2pt 6mm; }
  .small, .small table { font-size: 6.5pt; line-height: 1.16; }
  table:not(.wide) th { width: 22%; } .small table:not(.wide) th { width: 10%; }
  .asked th:first-child { width: 20%; } .asked th:nth-child(2) { width: 11%; }
  .keep { break-inside: avoid; }
  table.about, .about caption, .about tbody { display: block; }
  .about tr { display: inline-table; table-layout: fixed; width: 48.5%; margin-right: 1.2%; vertical-align: top; }
  table.about th { width: 30%; }
  .sign th { padding: 3pt 4pt 4pt 0; }
}
"""
"""One sheet for screen and print."""


EMPTY = "–"


def escaped(text: str, /) -> str:
    """Text that stays text: control characters with escapes, and what HTML would read as its own."""
    return html.escape("\n".join(map(shown, str(text).split("\n"))), quote=True)


def paragraph(text: str, /, *, kind: str = "") -> str:
    """One paragraph of text, of a class of `STYLE`."""
    return f"<p{_of(kind)}>{escaped(text)}</p>"


def items(texts: Iterable[str], /) -> str:
    """A list."""
    return "<ul>" + "".join(f"<li>{escaped(text)}</li>" for text in texts) + "</ul>"


def named_rows(rows: Iterable[tuple[str, str]], /, *, caption: str, kind: str = "") -> str:
    """A table of two columns: a name in the head of each row, and its text."""
    body = "".join(f'<tr><th scope="row">{escaped(label)}</th><td>{escaped(text)}</td></tr>' for label, text in rows)
    return f"<table{_of(kind)}>{_caption(caption)}<tbody>{body}</tbody></table>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], /, *, caption: str, kind: str = "") -> str:
    """A table with a head; the first cell of a row is the head of the row."""
    head = "".join(f'<th scope="col">{escaped(text)}</th>' for text in heads)
    body = "".join(
        f'<tr><th scope="row">{escaped(row[0]).replace("_", "_<wbr>")}</th>'
        + "".join(
            f'<td data-head="{escaped(name)}"{_of("none" if text == EMPTY else "")}>{escaped(text)}</td>'
            for name, text in zip(heads[1:], row[1:], strict=True)
        )
        + "</tr>"
        for row in rows
    )
    classes = f"wide {kind}".strip()
    return f"<table{_of(classes)}>{_caption(caption)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def section(name: str, title: str, /, *parts: str, kind: str = "") -> str:
    """A part of the page under a heading of the second level; `name` is unique on the page."""
    return (
        f'<section aria-labelledby="{name}"{_of(kind)}><h2 id="{name}">{escaped(title)}</h2>{"".join(parts)}</section>'
    )


def page(title: str, /, *parts: str, notice: str = "") -> str:
    """The whole file; a notice is its first line."""
    first = f'<p class="notice" role="note">{escaped(notice)}</p>' if notice else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"{first}<h1>{escaped(title)}</h1>\n"
        + "\n".join(part for part in parts if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _caption(text: str) -> str:
    return f"<caption>{escaped(text)}</caption>"


def _of(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


_WIDTH = 360
_LINE, _BAR = 14, 20
"""Heights of a line of text, and of a bar with the room around it."""
_LETTERS, _MOST_LINES = 48, 4
"""Characters of the whole width, and lines of a label; the text beside the picture shows all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar."""

    label: str
    value: float
    """At least 0; infinity is a bar of the whole width."""
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
    widths = [max(_LETTERS - len(row.text), _LETTERS // 4) for row in rows]
    labels = [wrap(row.label, k, max_lines=_MOST_LINES) or [""] for row, k in zip(rows, widths, strict=True)]
    height = sum(_LINE * len(lines) + _BAR for lines in labels) + 4
    parts = [
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {_WIDTH} {height}">',
        f'<title id="{name}-t">{escaped(title)}</title>',
        f'<desc id="{name}-d">{escaped("; ".join(f"{row.label}: {row.text}" for row in rows))}</desc>',
    ]
    y = 0
    for row, lines in zip(rows, labels, strict=True):
        length = _WIDTH * min(1.0, row.value / top) if top else 0.0
        kind = "alarm" if row.alarm else "rest" if row.soft else "bar"
        parts.append(f'<text x="{_WIDTH}" y="{y + _LINE - 1}" text-anchor="end">{escaped(row.text)}</text>')
        for text in lines:
            y += _LINE
            parts.append(f'<text x="0" y="{y - 1}">{escaped(text)}</text>')
        parts.append(f'<rect class="{kind}" x="0" y="{y + 4}" width="{max(length, 1):.1f}" height="10"/>')
        if mark is not None and top:
            x = _WIDTH * mark / top
            parts.append(f'<line class="mark" x1="{x:.1f}" y1="{y + 1}" x2="{x:.1f}" y2="{y + 17}"/>')
        y += _BAR
    return f"<figure>{''.join(parts)}</svg><figcaption>{escaped(title)}</figcaption></figure>"


def beside(*figures: str) -> str:
    """Figures side by side, where there is room; nothing for none."""
    found = "".join(figures)
    return f'<div class="pictures">{found}</div>' if found else ""


def aside(figure: str, /) -> str:
    """A figure at the right of what follows, where there is room; nothing for none."""
    return f'<div class="aside">{figure}</div>' if figure else ""
