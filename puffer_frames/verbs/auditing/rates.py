"""How often a guesser is right, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.auditing.intervals import share_at_least, share_at_most


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Of a guesser of two secrets, on rows that it has not seen."""

    accuracy: float
    """Share of right guesses where both secrets are equally likely."""
    advantage: float
    """True positive rate less false positive rate."""
    low: float
    """Lower end of a Clopper-Pearson interval of the advantage."""
    high: float
    """Its upper end."""


def rates_of(own: FloatArray, other: FloatArray, /, *, alpha: float) -> Rates:
    """From log-ratios of rows of the one secret and of the other: above 0 the guess is the first one, else the other.

    The interval holds at 1 - alpha: four bounds of alpha / 4, of both rates.
    """
    if not (own.size and other.size):
        return Rates(accuracy=0.5, advantage=0.0, low=-1.0, high=1.0)
    hits, false, each = int((own > 0).sum()), int((other > 0).sum()), alpha / 4
    advantage = hits / own.size - false / other.size
    low = float(share_at_least(hits, own.size, each)) - float(share_at_most(false, other.size, each))
    high = float(share_at_most(hits, own.size, each)) - float(share_at_least(false, other.size, each))
    return Rates(accuracy=0.5 * (1 + advantage), advantage=advantage, low=low, high=high)
