"""What is asked for: epsilon and delta, as one record."""

from __future__ import annotations

import math
from dataclasses import dataclass

from puffer_frames.numbers.arguments import check_delta, check_epsilon


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
