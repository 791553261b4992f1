"""Checks of the numbers of a request; epsilon and delta as one record."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError

Entry = TypeVar("Entry")


def check_epsilon(epsilon: float, /, *, zero_allowed: bool = False) -> float:
    """Return epsilon as a float; raise ArgumentError unless it is finite and positive."""
    value = check_number(epsilon, "epsilon")
    if not math.isfinite(value) or value < 0 or (value == 0 and not zero_allowed):
        rule = "finite and at least 0" if zero_allowed else "finite and greater than 0"
        raise ArgumentError("epsilon", rule=rule, got=f"{value:g}", hint="Values from 0.1 to 2 are usual.")
    return value


def check_delta(delta: float, /, name: str = "delta") -> float:
    """Return delta as a float; raise ArgumentError unless 0 <= delta < 1."""
    value = check_number(delta, "delta")
    if not 0 <= value < 1:
        raise ArgumentError(
            name,
            rule="at least 0 and less than 1",
            got=f"{value:g}",
            hint="Use 0 for pure privacy, or a number far below 1 / (number of rows).",
        )
    return value


def check_scale(scale: float, /) -> float:
    """Return the scale as a float; raise ArgumentError unless it is finite and at least 0."""
    value = check_number(scale, "scale")
    if not (math.isfinite(value) and value >= 0):
        raise ArgumentError(
            "scale", rule="finite and at least 0", got=f"{value:g}", hint="Give the Laplace scale b, 0 for no noise."
        )
    return value


_EXAMPLES = {"epsilon": "1.0", "delta": "1e-6", "scale": "1.0"}


def check_number(value: object, name: str, /) -> float:
    """Return a real number as a float; raise ArgumentTypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentTypeError(
            name, rule="a number", got=f"a {type(value).__name__}", hint=f"Write {name}={_EXAMPLES.get(name, '0.5')}."
        )
    return as_float(cast(float, value))


def check_kind(value: Any, kind: Any, name: str, /, *, rule: str, hint: str) -> Any:
    """Return an object of a class, or of one of several; raise ArgumentTypeError for one of another."""
    if not isinstance(value, kind):
        raise ArgumentTypeError(name, rule=rule, got=f"a {type(value).__name__}", hint=hint)
    return value


def check_word(word: object, name: str, known: Sequence[str], /, *, hint: str = "") -> str:
    """Return one of the known words, the first of which is the default unless a hint says otherwise; raise
    ArgumentError for anything else.
    """
    if not isinstance(word, str) or word not in known:
        listed = ", ".join(f'"{one}"' for one in known[:-1]) + f' or "{known[-1]}"'
        raise ArgumentError(
            name,
            rule=listed if len(known) < 3 else f"one of {listed}",
            got=repr(word) if isinstance(word, str) else f"a {type(word).__name__}",
            hint=hint or f'Leave it out for "{known[0]}".',
        )
    return word


def check_flag(value: object, name: str, /) -> bool:
    """Return a truth value; raise ArgumentTypeError for anything else."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(name, rule="True or False", got=f"a {type(value).__name__}", hint="Leave it out.")
    return bool(value)


def check_count(value: object, name: str, /, *, at_least: int, at_most: int | None = None) -> int:
    """Return a whole number; raise ArgumentError for anything else, or one out of range."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if whole and at_least <= value and (at_most is None or value <= at_most):  # type: ignore[operator]
        return int(value)  # type: ignore[call-overload]
    large = whole and value > at_least  # type: ignore[operator]
    shown = "more" if large else f"{value}" if isinstance(value, (int, float)) else f"a {type(value).__name__}"
    rule = f"a whole number of at least {at_least}" + ("" if at_most is None else f" and at most {at_most:,}")
    raise ArgumentError(name, rule=rule, got=shown, hint="Leave it out for the default.")


def described(value: object, /) -> str:
    """A wrong argument in a message: a word or a number as it is; of all else, which may hold a table, the type."""
    if value is None or isinstance(value, (str, int, float)):
        return repr(value)
    return f"a {type(value).__name__}" + (f" of {len(value)}" if isinstance(value, Sized) else "")


def by_name(given: Mapping[Any, Entry], role: str, /) -> dict[str, Entry]:
    """What is given for each column, by its name as text; raises ArgumentError for one that is named twice."""
    found = {str(name): entry for name, entry in given.items()}
    if len(found) < len(given):
        got = "two for one column, as 1 and '1' name the same"
        raise ArgumentError(
            role, rule="a mapping with one entry for each column", got=got, hint="Leave one of them out."
        )
    return found


def is_array(value: object, /) -> bool:
    """Whether it is an array, a column or a frame: what it holds belongs into no message."""
    return hasattr(value, "__array__") and not isinstance(value, np.generic)


def own(given: Any, /) -> Any:
    """What a caller gave, for a record to keep: lists, mappings and arrays may be changed later, these copies not."""
    if isinstance(given, Mapping):
        return {key: own(entry) for key, entry in given.items()}
    if isinstance(given, (list, set, Iterator)):
        return [own(entry) for entry in given]  # a tuple may be the label of one column
    return given.copy() if isinstance(given, np.ndarray) else given


def keep_own(record: object, *names: str) -> None:
    """Give a frozen record copies of its own in these fields."""
    for name in names:
        object.__setattr__(record, name, own(getattr(record, name)))


def as_path(path: object, /) -> Path:
    """The path of a file; raises ArgumentTypeError for anything else."""
    if not isinstance(path, (str, PathLike)):
        got = f"a {type(path).__name__}"
        raise ArgumentTypeError("the path of the file", rule="a str or a Path", got=got, hint='Write "file.parquet".')
    return Path(path)


def as_float(value: float, /) -> float:
    """A real number as a float: infinite where it is beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def check_found(scale: float, /) -> float:
    """Return a scale that was found; raise CalibrationError where it is beyond the range of floats."""
    if not scale < math.inf:
        raise CalibrationError(
            "the scale of the noise",
            rule="in the range of floats",
            got="a larger one",
            hint="Ask for a larger epsilon, or divide the values by a constant first.",
        )
    return scale


def check_probability(number: float, name: str, /) -> Fraction:
    """Return a probability as the fraction that it prints as; raise ArgumentError unless it is from 0 to 1."""
    value = check_number(number, name)
    if not 0 <= value <= 1:
        raise ArgumentError(name, rule="a probability", got=f"{value:g}", hint="Give a number from 0 to 1.")
    return Fraction(str(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """(epsilon, delta)-privacy; with a delta of 0 it is pure."""

    epsilon: float
    """Greater than 0."""
    delta: float = 0.0
    """From 0 to less than 1."""

    @classmethod
    def of(cls, epsilon: float, delta: float = 0.0, /) -> Target:
        """From the arguments of a user; raises ArgumentError, ArgumentTypeError for what is out of range."""
        return cls(epsilon=check_epsilon(epsilon), delta=check_delta(delta))

    @property
    def most(self) -> float:
        """The largest loss that meets it: of the hockey stick where there is a delta, else of the pure loss."""
        return self.delta or self.epsilon

    @property
    def pure(self) -> Target:
        """The same epsilon without a delta."""
        return Target(epsilon=self.epsilon)

    def share(self, parts: int, /) -> Target:
        """What each of so many releases may use, so that together they keep within the whole."""
        if parts == 1:
            return self
        return Target(epsilon=math.nextafter(self.epsilon / parts, 0.0), delta=self.delta / parts)

    def __str__(self) -> str:
        return f"epsilon {self.epsilon:g}" + (f" and delta {self.delta:g}" if self.delta else "")
