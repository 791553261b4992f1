"""What the page of a plan shows as pictures, whatever its mechanism: exact statistics of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Verification
from puffer_frames.numbers.presentation import at_most, plain, upper_text
from puffer_frames.numbers.svg import bars


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
