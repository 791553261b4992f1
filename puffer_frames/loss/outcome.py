"""What the loss engine answers."""

from __future__ import annotations

from dataclasses import dataclass

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
