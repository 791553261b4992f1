"""The largest loss of several beliefs that are one: resamples of a table, say."""

from __future__ import annotations

from collections.abc import Sequence

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.priors.pairs import Pair


class LargestLoss:
    """The largest of several losses of the same pairs."""

    def __init__(self, losses: Sequence[Loss], /) -> None:
        self._losses = losses
        self.span = max(loss.span for loss in losses)
        self.resolution = min(loss.resolution for loss in losses)

    def only(self, pair: Pair, /) -> LargestLoss:
        """The same for one of the pairs."""
        return LargestLoss([loss.only(pair) for loss in self._losses])

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""
        return _largest([loss.pure(scale) for loss in self._losses])

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """Largest hockey stick over the pairs."""
        return _largest([loss.hockey_stick(scale, epsilon=epsilon) for loss in self._losses])


def _largest(found: Sequence[WorstCase]) -> WorstCase:
    worst = max(found, key=lambda each: each.bracket.upper)
    lower = max(each.bracket.lower for each in found)
    return WorstCase(bracket=Bracket(lower=lower, upper=worst.bracket.upper), pair=worst.pair)
