"""Nested mappings as YAML: texts between double quotes, as JSON has them, which YAML reads alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from puffer_frames.numbers.presentation import shown

Node: TypeAlias = "str | int | float | Sequence[str] | Mapping[str, Node]"

_WORD = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
"""What no reader of YAML takes for anything but a text."""


def yaml_text(node: Mapping[str, Node], /) -> str:
    """A document: keys are plain words, and no text is folded or guessed at."""
    return "\n".join(_lines(node, "")) + "\n"


def _lines(node: Mapping[str, Node], margin: str) -> Iterator[str]:
    for key, value in node.items():
        if isinstance(value, Mapping):
            yield f"{margin}{key}:"
            yield from _lines(value, margin + "  ")
        elif isinstance(value, (str, int, float)):
            yield f"{margin}{key}: {_scalar(value)}"
        else:
            yield f"{margin}{key}:"
            yield from (f"{margin}  - {_scalar(entry)}" for entry in value)


def _scalar(value: str | float) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value):
        return value
    if isinstance(value, str):
        return json.dumps("\n".join(map(shown, value.split("\n"))), ensure_ascii=False)
    text = repr(value)
    mantissa, exponent, power = text.partition("e")
    # YAML 1.1 takes 1e-06 for a text: a float has a point
    return f"{mantissa}.0e{power}" if exponent and "." not in mantissa else text
