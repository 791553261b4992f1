"""What the loss engine answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from puffer_frames.loss.bracket import Bracket
from puffer_frames.pairs import Pair


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstCase:
    """A loss maximised over pairs of secrets."""

    bracket: Bracket
    """Bounds of the maximum."""
    pair: Pair
    """The pair with the largest upper bound."""

    def at_most(self) -> WorstCase:
        """What the loss without noise says of that with some noise: it is at most as large."""
        return WorstCase(bracket=Bracket(lower=0.0, upper=self.bracket.upper), pair=self.pair)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the engine measured at one scale under one belief, maximised over pairs and orders."""

    pure_loss: Bracket
    """The pure loss sup |log f_i/f_j|."""
    hockey_stick: Bracket
    """delta* at the requested epsilon."""


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
