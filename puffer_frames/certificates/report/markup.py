"""Elements of HTML as strings, and the page around them: no scripts, nothing from elsewhere."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from puffer_frames.certificates.report.style import STYLE
from puffer_frames.numbers.presentation import shown

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
        f'<tr><th scope="row">{escaped(row[0])}</th>'
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
