"""What the loss engine answers: numbers known from below and from above."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import bracket_text, plain, upper_text
from puffer_frames.priors.pairs import Pair


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


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """A loss maximised over pairs of secrets."""

    bracket: Bracket
    """Bounds of the maximum."""
    pair: Pair
    """The pair with the largest upper bound."""

    def for_scale(self, scale: float, /) -> WorstCase:
        """What the loss without noise says of that with noise of a scale: with some it is at most as large."""
        return WorstCase(bracket=Bracket(lower=0.0, upper=self.bracket.upper), pair=self.pair) if scale else self

    def as_stick(self, epsilon: float, /) -> WorstCase:
        """What this pure loss says of the hockey stick: 0 where it is at most epsilon, otherwise between 0 and 1."""
        upper = 0.0 if self.bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=self.pair)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the engine measured at one scale under one belief, maximised over pairs and orders."""

    pure_loss: Bracket
    """The pure loss sup |log f_i/f_j|."""
    hockey_stick: Bracket
    """delta* at `epsilon`."""
    epsilon: float
    """The epsilon that it was measured at: the requested one, or the share of it that one of several columns has."""

    @classmethod
    def proved(cls, *, pure: float, delta: float, epsilon: float) -> Verification:
        """Losses that are proved to be at most so much, and that were not measured."""
        pure_loss, hockey_stick = (Bracket(lower=0.0, upper=upper) for upper in (pure, delta))
        return cls(pure_loss=pure_loss, hockey_stick=hockey_stick, epsilon=epsilon)

    def of_rows(self, rows: int, /) -> Verification:
        """A bound for so many independent rows together."""
        if rows == 1:
            return self
        pure, stick = (each.upper * rows for each in (self.pure_loss, self.hockey_stick))
        return Verification.proved(pure=pure, delta=min(1.0, stick), epsilon=self.epsilon * rows)

    def loss(self, *, delta: float) -> Bracket:
        """The hockey stick where there is a delta, else the pure loss."""
        return self.hockey_stick if delta else self.pure_loss

    def confirms(self, target: Target, /) -> bool:
        """Whether the engine has proved that the scale is private."""
        return self.loss(delta=target.delta).upper <= target.most

    def refutes(self, target: Target, /) -> bool:
        """Whether the engine has proved that the scale is not private."""
        return self.loss(delta=target.delta).lower > target.most


class Loss(Protocol):
    """Privacy loss of fixed priors and pairs, as a function of the scale of the noise."""

    @property
    def span(self) -> float:
        """A length, in units of the column, from which a search for the scale may start."""

    @property
    def resolution(self) -> float:
        """A length far below which noise no longer mixes the parts of a prior."""

    def only(self, pair: Pair, /) -> Loss:
        """The same for one of the pairs."""

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """Largest hockey stick over the pairs."""


class PureLoss(ABC):
    """A loss of which the pure one alone is known: it says what the hockey stick may be."""

    @abstractmethod
    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        return self.pure(scale).as_stick(epsilon)


def measured_text(measured: Verification, /, *, delta: float) -> str:
    """What the engine measured: the pure loss, and where delta is asked for the hockey stick first."""
    pure, stick = measured.pure_loss, measured.hockey_stick
    loss = f"pure loss {bracket_text(pure.lower, pure.upper)}"
    if delta == 0:
        return loss
    most = (
        f"at most {plain(delta)}"
        if (stick.lower, stick.upper) == (0, delta)
        else bracket_text(stick.lower, stick.upper)
    )
    found = f"delta {most} at epsilon {upper_text(measured.epsilon)}"
    return found if pure.upper == float("inf") else f"{found}, {loss}"


def excess_text(measured: Verification, target: Target, /, *, rows: int = 1) -> str:
    """What the engine measured where it does not confirm what was asked for, and how it compares to that.

    Of rows of a unit that share what was asked for, the sum: pure losses of independent rows add, deltas at most.
    """
    known = measured.refutes(target) and (rows == 1 or not target.delta)
    compared = "more than was asked for" if known else "which is not known to be within what was asked for"
    return f"{measured_text(measured.of_rows(rows), delta=target.delta)}, {compared}"


def largest_auc(epsilon: float, delta: float = 0.0, /) -> float:
    r"""The largest AUC of any guess between two (epsilon, delta)-indistinguishable laws, or a law and a mixture.

    .. math:: 1 - (1 - \delta)^2 / (1 + e^{\varepsilon})

    Notes
    -----
    **Guarantee**. A ROC curve lies below the lines from (0, delta) to (f, 1 - f) to (1 - delta, 1), where f is
    (1 - delta) / (1 + e^epsilon), and below 1: this is the area below them. Averages of laws keep both inequalities.
    """
    return 1 - (1 - delta) ** 2 / (1 + math.exp(min(epsilon, 700.0)))
