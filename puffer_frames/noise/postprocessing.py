"""What is done to released values with public constants: it costs nothing."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.numbers.arguments import as_float, by_name
from puffer_frames.numbers.presentation import end_text
from puffer_frames.priors.prior import FloatArray

Bounds: TypeAlias = tuple[float, float]
BoundsArgument: TypeAlias = Sequence[float | date] | Mapping[Hashable, Sequence[float | date]] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replacement:
    """Each noisy value becomes one of a few: a function of the noisy value alone."""

    values: FloatArray
    """What can be released, shape (n,), ascending."""
    thresholds: FloatArray
    """Shape (n - 1,), ascending and finite: up to the first one a noisy value becomes the first value, and so on."""

    def __call__(self, noisy: FloatArray, /) -> FloatArray:
        """What the noisy values become."""
        return self.values[np.searchsorted(self.thresholds, noisy)]


def check_bounds(
    bounds: BoundsArgument, /, *, role: str, columns: Sequence[str], finite: bool, example: str = ""
) -> dict[str, Bounds]:
    """Return (low, high) per column; a single pair holds for every column, but where they must be finite.

    `example` is what a hint writes; by default what is asked for here.

    Raises ArgumentError, ArgumentTypeError for an unknown column, or bounds that are not two numbers in ascending
    order.
    """
    if bounds is None:
        return {}
    if finite and not isinstance(bounds, Mapping):
        raise ArgumentTypeError(
            role,
            rule="a mapping of column to (low, high)",
            got=f"a {type(bounds).__name__}",
            hint=f"Write {role}={{{next(iter(columns), 'column')!r}: (0, 100)}}, or of labels a list of all levels.",
        )
    given = by_name(bounds, role) if isinstance(bounds, Mapping) else dict.fromkeys(columns, bounds)
    example = example or ("{{{!r}: (0, 100)}}" if finite else "(0, 100)")
    checked: dict[str, Bounds] = {}
    for name, pair in given.items():
        if name not in columns:
            raise ArgumentError(
                role, rule="bounds for public columns", got=f"bounds for {name!r}", hint="Name public columns only."
            )
        numbers: list[Any] = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else []
        if len(numbers) != 2 or not all(isinstance(n, Real) and not isinstance(n, bool) for n in numbers):
            raise ArgumentTypeError(
                role,
                rule="(low, high) or a mapping of column to (low, high), each two integers, floats or dates",
                got="others",
                hint=f"Write {role}={example.format(name)}.",
            )
        low, high = as_float(numbers[0]), as_float(numbers[1])
        known = "what anybody knows of the column, not its observed extremes"
        if not low < high or (finite and not (np.isfinite(low) and np.isfinite(high))):
            raise ArgumentError(
                role,
                rule="two numbers, or dates, with low < high" + (", both finite" if finite else ""),
                got=f"({low:g}, {high:g})",
                hint=f"Write {role}={example.format(name)} with {known}.",
            )
        checked[name] = (low, high)
    return checked


def postprocess(values: FloatArray, /, *, bounds: Bounds | None, to_integers: bool) -> FloatArray:
    """Round to integers, then clip to the bounds."""
    rounded = np.rint(values) if to_integers else values
    return rounded if bounds is None else rounded.clip(*bounds)


def in_words(bounds: Mapping[str, Bounds], *, to_integers: bool, days: Collection[str] = ()) -> str:
    """What was done, for the certificate; empty where nothing was."""
    parts = ["rounded to integers"] if to_integers else [f"{name} rounded to whole days" for name in days]
    for name, ends in bounds.items():
        low, high = (end_text(end, is_day=True) if name in days else f"{end:g}" for end in ends)
        parts.append(f"{name} clipped to [{low}, {high}]")
    return " and ".join(parts)
