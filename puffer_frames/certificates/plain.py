"""The parts of a certificate's record in JSON types, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.numbers.presentation import shown


def fields_of(record: Any) -> dict[str, Any]:
    """The fields of a record by name."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def as_plain(value: Any) -> Any:
    """Tuples as lists, and text that UTF-8 cannot hold with escapes."""
    if isinstance(value, (tuple, list)):
        return [as_plain(entry) for entry in value]
    return shown(value) if isinstance(value, str) and not value.isprintable() and _is_broken(value) else value


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def measured_plain(found: Verification) -> dict[str, Any]:
    """What the engine measured."""
    return {
        "pure_loss": _numbers(found.pure_loss),
        "hockey_stick": _numbers(found.hockey_stick),
        "epsilon": found.epsilon,
    }


def as_verification(plain: Mapping[str, Any]) -> Verification:
    """What `measured_plain` made of it."""
    return Verification(
        pure_loss=_bracket(plain["pure_loss"]),
        hockey_stick=_bracket(plain["hockey_stick"]),
        epsilon=float(plain["epsilon"]),
    )


def _numbers(bracket: Bracket) -> list[float | str | None]:
    return [number_plain(bracket.lower), number_plain(bracket.upper)]


def number_plain(number: float | None) -> float | str | None:
    """A number as JSON can hold it: infinity as text."""
    return number if number is None or abs(number) < float("inf") else str(number)


def _bracket(numbers: list[float | str]) -> Bracket:
    return Bracket(lower=float(numbers[0]), upper=float(numbers[1]))


def as_label(label: Any) -> Any:
    """A label of a secret: a list stands for several columns."""
    return tuple(label) if isinstance(label, list) else label
