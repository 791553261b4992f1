"""What the page of a plan shows as pictures, whatever its mechanism: exact statistics of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import small_frame
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import at_most, bars, plain, upper_text

_STEPS = tuple(2.0 ** (k / 2) for k in range(-4, 5))
NO_BOUND = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """What a release costs at one epsilon."""

    column: str
    epsilon: float
    delta: float
    published_scale: float
    """What the theorem asks for; not a number where it has no condition."""
    scale: float
    """What a plan would use; not a number for a channel."""
    published_error: float
    error: float
    bound: float
    """No mechanism that sees the value alone has a smaller error; not a number where none is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePoint:
    """A delta at one epsilon under one belief, from both sides."""

    column: str
    belief: str
    covered: bool
    epsilon: float
    lower: float
    upper: float


def as_epsilons(given: Iterable[float] | None, own: float) -> list[float]:
    """Ascending, each once."""
    if given is None:
        return [own * step for step in _STEPS]
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentTypeError(
            "epsilons", rule="several numbers", got=f"a {type(given).__name__}", hint="Write [0.5, 1, 2]."
        )
    found = sorted({Target.of(epsilon, 0.0).epsilon for epsilon in given})
    if not found:
        raise ArgumentError("epsilons", rule="one number or more", got="none", hint="Leave them out.")
    return found


def from_file(lacks: str, /) -> CalibrationError:
    """The error for a plan from a file that lacks something."""
    return CalibrationError(
        "the plan",
        rule="one that was made from a table, for other epsilons",
        got=f"one from a file, without {lacks}",
        hint="Calibrate the table again with the same request.",
    )


def as_points(points: Sequence[Any], kind: type, library: str) -> NativeFrame:
    """Records of one kind as a frame."""
    names = [each.name for each in fields(kind)]
    return small_frame({name: [getattr(point, name) for point in points] for name in names}, library=library)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnError:
    """The error of a column beside what it can be compared with, in its units."""

    name: str
    error: float
    constant: float
    """Mean error of the median, or of the best constant, in place of every value."""
    spread: float | None
    """Standard deviation; None of labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFigures:
    """The pictures of a plan."""

    whom: str
    what: str
    errors: tuple[ColumnError, ...]
    losses: tuple[tuple[str, float, str], ...]
    """Under which laws, what is lost at most, and the same in words: the pure loss, or delta where there is one."""


def loss_of(found: Verification, /, *, delta: float) -> tuple[float, str]:
    """The largest loss, and the same in words: the pure one, or delta where there is one."""
    bracket: Bracket = found.hockey_stick if delta else found.pure_loss
    return at_most(bracket.upper)


def loss_bars(losses: dict[str, float], delta: float, epsilon: float) -> str:
    """A bar for each law."""
    entries = [
        (name, loss, upper_text(loss, digits=4) if math.isfinite(loss) else "no bound") for name, loss in losses.items()
    ]
    what = f"Delta at epsilon {plain(epsilon)}" if delta else "Pure loss"
    return bars(entries, title=f"{what}; dashed: asked for", mark=delta or epsilon)
