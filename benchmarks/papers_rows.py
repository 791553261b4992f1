"""Rows of the page about the papers: a statement, the number that it asks for, and the smallest one."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from puffer_frames.core import Prior

NOBODY = Prior.gaussian(0, 0)
"""What a user adds who is absent."""
HEADS = ("asks for", "needed", "times")
NOT_SOUND = "**Not sound**: "


@dataclass(frozen=True, slots=True)
class Row:
    """A statement of a paper, and two numbers: scales of Laplace noise unless the row says otherwise."""

    where: str
    setting: str
    published: float | None
    """What the statement asks for; None where it asks for nothing or does not apply."""
    ours: float | None
    """The smallest scale; None where there is none to set beside it."""
    call: str
    remark: str = ""
    printed: float | str | None = None
    """The number in the paper, or its formula, where the texts have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading of the page, and what stands below it."""

    title: str
    text: str
    parts: Sequence[Callable[[], Iterator[Row]]]
    """Rows that need no table."""
    real: Sequence[Callable[[Path], Iterator[Row]]] = ()
    """Rows on the real tables in a folder."""
    extra: Callable[[], str] | None = None
    """Smaller tables that need no table of data."""
    real_extra: Callable[[Path], str] | None = None
    """Smaller tables on real ones."""
    heads: tuple[str, str, str] = HEADS


def table(found: Sequence[Row], heads: tuple[str, str, str] = HEADS) -> str:
    """Rows in Markdown."""
    first, second, third = heads
    lines = [f"| where | setting | printed | {first} | {second} | {third} | call |", f"|{' --- |' * 7}"]
    for row in found:
        times = f"{row.published / row.ours:.2f}" if row.ours and row.published is not None else "–"
        numbers = " | ".join(map(number, (row.printed, row.published, row.ours)))
        setting = f"{row.setting}. {row.remark[:1].upper()}{row.remark[1:]}" if row.remark else row.setting
        lines.append(f"| {row.where} | {setting} | {numbers} | {times} | `{row.call}` |")
    return "\n".join(lines) + "\n"


def number(value: float | str | None) -> str:
    """As the page has it."""
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:.5g}"


def small_table(heads: Sequence[str], lines: Sequence[Sequence[float | str | None]]) -> str:
    """Numbers in Markdown."""
    body = [" | ".join(map(number, line)) for line in lines]
    return "\n".join(f"| {line} |" for line in (" | ".join(heads), " | ".join("---" for _ in heads), *body)) + "\n"


def asked(frame: pd.DataFrame, name: str, verb: str, /, **arguments: object) -> tuple[pd.DataFrame, str]:
    """What a verb says of a frame, and the call in words; laws, chains and networks are named, not written out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows, and weak guarantees for the sake of the example
        found = getattr(frame.puffer, verb)(**arguments)
    words = [
        f"{k}={k if isinstance(v, dict) or k in ('chain', 'network') else repr(v)}"
        for k, v in arguments.items()
        if k != "rng"
    ]
    return found, f"{name}.puffer.{verb}({', '.join(words)})".replace("'", '"')
