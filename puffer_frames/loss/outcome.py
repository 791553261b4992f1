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


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What the engine measured at one scale under one belief, maximised over pairs and orders."""

    pure_loss: Bracket
    """The pure loss sup |log f_i/f_j|."""
    hockey_stick: Bracket
    """delta* at the requested epsilon."""
