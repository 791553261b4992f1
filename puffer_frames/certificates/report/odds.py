"""What epsilon and delta mean for one person, in numbers that are rounded to the private side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from puffer_frames.numbers.presentation import at_most

BEFORE = 0.1
"""What a reader holds of one secret before the release, in the example."""
_DIGITS = 3
_LARGEST = 700.0
"""Beyond it e^epsilon is no double."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """What a reader may come to hold who gave one of two secrets a probability of 1 in 10."""

    after: float
    """Probability of this secret after the release, at most."""
    chance: float
    """But for a chance of at most this; 0 for pure privacy."""
    seen: float
    """Probability of anything under one secret, at most, where it is `BEFORE` under another."""


def example(epsilon: float, delta: float, /) -> Example:
    r"""The example of (epsilon, delta).

    .. math:: q \le \frac{p \, k}{1 - p + p \, k}, \qquad k = e^{\varepsilon}
        \text{ for } \delta = 0, \text{ else } 2 e^{\varepsilon}

    Notes
    -----
    **Guarantee**. Bayes' rule for delta 0. Else let E be the outputs whose likelihood ratio of s to t is above
    2 e^epsilon. Then P(E | s) - e^epsilon P(E | t) <= delta and P(E | t) < P(E | s) / (2 e^epsilon), so that
    P(E | s) <= 2 delta, and P(E | t) is smaller: but for a chance of 2 delta, the odds change by at most 2 e^epsilon.

    **Rounding**. Upwards, to three digits.
    """
    factor = math.exp(min(epsilon, _LARGEST)) * (2.0 if delta else 1.0)
    after = BEFORE * factor / (1 - BEFORE + BEFORE * factor)
    seen = min(1.0, BEFORE * math.exp(min(epsilon, _LARGEST)) + delta)
    return Example(after=_up(after), chance=_up(2 * delta), seen=_up(seen))


def in_100(probability: float, /) -> str:
    """A probability as so many in 100."""
    return f"{100 * probability:.{_DIGITS}g}"


def _up(probability: float) -> float:
    return min(1.0, at_most(probability, digits=_DIGITS)[0])
