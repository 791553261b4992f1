"""A number known from below and from above."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Two proved bounds of one number, rounding error included.

    A calibration relies on `upper`; a claim that a scale is *not* private relies on `lower`.

    Examples
    --------
    >>> 0.5 in Bracket(lower=0.4, upper=0.6)
    True
    """

    lower: float
    """The number is at least this."""
    upper: float
    """The number is at most this."""

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:
            raise ValueError(f"lower must be at most upper; got {self.lower} and {self.upper}.")

    def __contains__(self, number: float) -> bool:
        return self.lower <= number <= self.upper

    @property
    def width(self) -> float:
        """`upper - lower`; 0 where both are infinite."""
        return 0.0 if math.isinf(self.lower) else self.upper - self.lower
