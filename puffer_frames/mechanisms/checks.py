"""Checks of single arguments of a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.columns import Name, as_names
from puffer_frames.mechanisms.arguments import Options
from puffer_frames.numbers.arguments import check_word
from puffer_frames.priors.level_counts import Level
from puffer_frames.scales.repeats import Unit
from puffer_frames.scales.strata import Strata

PUBLISHED = ("expected_error", "lower_bound", "levels")


def check_mechanism(mechanism: object, known: Sequence[str], /) -> None:
    """Raise ArgumentError, ArgumentTypeError unless this is the options of a mechanism, or a word for one."""
    if isinstance(mechanism, str) and mechanism == "remap":
        hint = "Write mechanism=Noise(remap=True)."
        raise ArgumentError("mechanism", rule="a word or a record", got="'remap'", hint=hint)
    if not isinstance(mechanism, Options):
        check_word(mechanism, "mechanism", known)


def check_publish(words: object, /) -> tuple[str, ...]:
    """The words of `publish`; raises ArgumentError for another one."""
    listed = (words,) if isinstance(words, str) else tuple(words) if isinstance(words, Iterable) else (words,)
    return tuple(check_word(word, "publish", PUBLISHED) for word in listed)


def check_merge(rows: object, /) -> int | None:
    """Return the number of rows below which a level is merged; raises ArgumentError."""
    if rows is None or (isinstance(rows, int) and not isinstance(rows, bool) and rows >= 1):
        return rows
    raise ArgumentError(
        "merge_rare", rule="a whole number of at least 1", got=repr(rows), hint="Write Channel(merge_rare=5)."
    )


def split_domain(domain: Any, /, *, columns: Sequence[str]) -> tuple[Any, dict[str, tuple[Level, ...]]]:
    """The bounds of numbers, and the declared levels of other columns.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For levels of a column that is not public, one twice, and what is no level.
    """
    if not isinstance(domain, Mapping):
        return domain, {}
    bounds, declared = {}, {}
    for name, entries in domain.items():
        found = _as_levels(entries) if isinstance(entries, Iterable) and not isinstance(entries, str) else None
        if found is None or str(name) not in columns:
            bounds[name] = entries
        elif not all(isinstance(level, (str, int, float, NoneType)) for level in found):
            raise ArgumentTypeError(
                "domain",
                rule="of texts, numbers, truth values or None, where it lists levels",
                got="another type",
                hint="List the levels as the column has them.",
            )
        elif len({(type(level), level) for level in found}) < len(found):
            raise ArgumentError("domain", rule="of different levels", got="one twice", hint="List each level once.")
        else:
            declared[str(name)] = found
    return bounds, declared


def check_secrets(word: object, pairs: object, /) -> bool:
    """Whether the word is "each"; raises ArgumentError for another one than "joint", and for pairs beside "each"."""
    if check_word(word, "secrets", ("joint", "each")) == "joint":
        return False
    if isinstance(pairs, str) and pairs == "all":
        return True
    raise ArgumentError("pairs", rule='"all" beside secrets="each"', got="others", hint="Leave it out.")


def read_given(given: Any, labels: Sequence[Name], /) -> tuple[Strata | None, tuple[str, ...]]:
    """The columns on which the guarantee conditions; raises ColumnNotFoundError, ArgumentError, ArgumentTypeError."""
    if isinstance(given, Strata):
        names = as_names(given.columns, labels, role="given")
        if not names:
            raise ArgumentError("given", rule="the name of a column", got="none", hint='Write Strata("column").')
        return given, names
    names = as_names(given, labels, role="given")
    return (Strata(names), names) if names else (None, ())


def check_unit(unit: Any, labels: Sequence[Name], /) -> Unit | None:
    """Return a unit whose column is there; raises ColumnNotFoundError, ArgumentTypeError."""
    if unit is None:
        return None
    if not isinstance(unit, Unit):
        raise ArgumentTypeError(
            "unit",
            rule='Unit(column, rows="independent", "repeated" or "any")',
            got=f"a {type(unit).__name__}",
            hint="How the rows of a unit depend on one another is an assumption that only you can make: "
            '"independent" given the secret, "repeated" for one value in all rows, "any" for no assumption.',
        )
    return replace(unit, column=as_names(unit.column, labels, role="unit")[0])


def _as_levels(entries: Any, /) -> tuple[Level, ...] | None:
    """The levels that a domain declares; None for the bounds (low, high) of numbers."""
    listed = [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]
    bounds = len(listed) == 2 and all(isinstance(e, (int, float)) and not isinstance(e, bool) for e in listed)
    return None if bounds else tuple(listed)
