"""Numbers in words, and data to be shown: as text for a terminal, as HTML for a notebook, as a page. No scripts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

Rows: TypeAlias = Sequence[tuple[str, str]]

_WIDTH, _LEAST_WIDTH = 100, 40
_DIGITS = 6
_LARGEST = 30.0
"""Beyond this epsilon, odds are no figure that anybody reads."""
_GUARD = 40
"""Digits beyond those that are printed: what rounding up decides by."""


def shown(name: str, /) -> str:
    """A name with escapes for what a terminal or a page would not print as it is: control characters and the like."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(name))


def printable(text: str, /) -> str:
    """A text of several lines with such escapes."""
    return "\n".join(map(shown, text.split("\n")))


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


def level_text(level: object, /) -> str:
    """A level of a column, or those of several; no text looks as a missing value does."""
    if isinstance(level, (list, tuple)):
        return f"({', '.join(map(level_text, level))})"
    if level is None:
        return "missing"
    if isinstance(level, float):  # a median of two values has digits that neither has
        return plain(level) if level.is_integer() else f"{level:.12g}"
    if isinstance(level, str) and level.strip("'") == "missing":
        return f"'{level}'"
    return shown(str(level))


def end_text(bound: float, /, *, is_day: bool) -> str:
    """An end of a range; the date, of a column of dates as days since 1970-01-01."""
    return str(np.datetime64(int(bound), "D")) if is_day and float(bound).is_integer() else plain(bound)


def listed(texts: Sequence[str], /, *, most: int, what: str = "") -> str:
    """The first texts, and how many more there are."""
    more = f" and {len(texts) - most:,} more{what}" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def values_text(unit: str | None, /, *, several: bool) -> str:
    """The released values that a guarantee is about: of a unit, of several columns, or one."""
    if unit is not None:
        return f"the released values of all rows of one {shown(unit)} together"
    return "the released values of one row together" if several else "one released value"


def pairs_text(pairs: str | Sequence[tuple[object, object]], /, *, apart: bool = False) -> str:
    """The protected pairs in words; apart where each of several columns is protected by itself."""
    if apart:
        return "every pair of values of each by itself"
    if isinstance(pairs, str):
        return "every pair of values"
    return listed([f"{a!r} / {b!r}" for a, b in pairs], most=6, what=" pairs")


def as_text(title: str, rows: Rows, /) -> str:
    """Rows under a title, labels in one column, long texts wrapped; line breaks of a text are kept."""
    rows = [(shown(label), printable(text)) for label, text in rows]
    margin = max(len(label) for label, _ in rows) + 4
    lines = [shown(title)]
    for label, text in rows:
        head = f"  {label:<{margin - 2}}"
        for part in text.splitlines() or [""]:
            preformatted = part != part.lstrip() or "  " in part
            width = max(_WIDTH - margin, _LEAST_WIDTH)
            wrapped = [part] if preformatted else textwrap.wrap(part, width, break_on_hyphens=False) or [""]
            for line in wrapped:
                lines.append((head + line).rstrip())
                head = " " * margin
    return "\n".join(lines)


def aligned(lines: Sequence[Sequence[str]], /, *, more: int = 0) -> str:
    """Lines of equally many entries in columns, the first to the left, numbers to the right; `more` are left out."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]).rstrip() for line in lines]
    return "\n".join([*texts, f"and {more:,} more"] if more > 0 else texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a figure."""

    label: str
    value: float
    """At least 0; infinity is a bar of the whole width, and what is not a number is none."""
    text: str
    """The value in words."""
    kind: Literal["bar", "rest", "alarm"] = "bar"
    """"rest" is what the others are compared with; what is more than was asked for is an "alarm", and red."""

    @property
    def colour(self) -> str:
        """Where report.css does not say another one: on white and on black, for every common colour blindness."""
        return {"bar": "#2f8fd0", "rest": "#7d95a8", "alarm": "#d9362b"}[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bars:
    """A figure of horizontal bars from 0, the label of each above it. A screen reader reads out the title and all."""

    title: str
    bars: Sequence[Bar]
    largest: float = 0.0
    """What the whole width stands for, where no bar is longer."""
    mark: float | None = None
    """Where a line crosses the bars: what was asked for."""

    @property
    def most(self) -> float:
        """What the whole width stands for."""
        finite = [bar.value for bar in self.bars if math.isfinite(bar.value)]
        # what has no bound is longer than all that has one
        return max([self.largest, self.mark or 0.0, *finite]) * (1.15 if len(finite) < len(self.bars) else 1.0) or 1.0

    def drawn(self) -> list[tuple[Bar, list[str], int, float]]:
        """Each bar with the lines of its label, the height at which it begins, and its length."""
        rows, y = [], 0
        for bar in self.bars:
            lines = textwrap.wrap(bar.label, max(_LETTERS - len(bar.text), _LETTERS // 4), max_lines=_MOST_LINES)
            y += _LINE * max(1, len(lines)) + _BAR
            share = 0.0 if math.isnan(bar.value) else min(1.0, bar.value / self.most)
            rows.append((bar, lines or [""], y - _BAR + 4, round(max(1.0, _WIDE * share), 1)))
        return rows


_WIDE, _LINE, _BAR = 360, 14, 20
"""The width of a figure, and the heights of a line of text, and of a bar with the room around it."""
_LETTERS, _MOST_LINES = 48, 4
"""Characters of the whole width, and lines of a label; the text beside the figure shows all of it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page. The first entry of a row is its head."""

    rows: Sequence[Sequence[str]]
    caption: str
    heads: Sequence[str] = ()
    """Of the columns; without them a row is a name and its text."""
    kind: str = ""
    """A class of report.css."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page under a heading."""

    name: str
    """Unique on the page."""
    title: str
    parts: Sequence[Any]
    """Paragraphs (texts, or what has a `text`), `Table`s, `Bars` at the right of what follows, lists of
    texts, and tuples of `Bars` or `Section`s that stand beside one another. Empty parts are left out."""
    kind: str = ""
    """Classes of report.css."""


def as_html(title: str, rows: Rows, /, *, figures: Sequence[Bars] = ()) -> str:
    """The same as `as_text` as a table for notebooks: figures first, tables as they are, long texts folded."""
    return _template("notebook.html.j2").render(title=title, groups=_groups(rows), figures=figures)


def as_sections(sections: Sequence[Section | tuple[Section, ...] | None], /) -> str:
    """Parts of a page as HTML, some beside one another; None is none."""
    return _template("parts.html.j2").module.sections(sections)


def as_page(title: str, body: str, /, *, notice: str = "") -> str:
    """A whole page, to read, to print and to sign: `body` is of `as_sections`, and a notice is the first line."""
    return _template("report.html.j2").render(title=title, body=body, notice=notice)


@cache
def _template(name: str) -> Any:
    """Every text in a template stays text: what HTML would read as its own is escaped, and what is not printable."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # takes as long as a small release

    found = Environment(
        loader=PackageLoader("puffer_frames", "numbers"),
        autoescape=True,
        finalize=lambda entry: entry if hasattr(entry, "__html__") else printable(str(entry)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return found.get_template(name)


def _groups(rows: Rows) -> list[tuple[str, list[str]]]:
    """The texts of each label; a row without one belongs to the row before."""
    groups: list[tuple[str, list[str]]] = []
    for label, text in rows:
        if label or not groups:
            groups.append((label, []))
        groups[-1][1].append(text)
    return groups


EMPTY = "–"
"""An entry of a table that there is none for."""
WARNING = "WARNING"
"""The label of texts that are shown in red."""


class Printed:
    """What prints as a title and rows: in a terminal as text, in a notebook as HTML, with figures."""

    __slots__ = ()

    def _shown(self) -> tuple[str, Rows]:
        raise NotImplementedError

    def _figures(self) -> Sequence[Bars]:
        return ()

    def __str__(self) -> str:
        return as_text(*self._shown())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return as_html(*self._shown(), figures=self._figures())
