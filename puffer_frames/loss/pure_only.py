"""The pure loss of an engine in the place of its hockey stick, where there are too many pairs to look at each."""

from __future__ import annotations

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.priors.pairs import Pair


class PureOnly:
    """The loss of an engine that finds the worst of all pairs at once in the pure sense, but not for a delta."""

    def __init__(self, loss: Loss, /) -> None:
        self._loss = loss

    @property
    def span(self) -> float:
        """A length from which a search for the scale may start."""
        return self._loss.span

    @property
    def resolution(self) -> float:
        """As of the engine."""
        return self._loss.resolution

    def only(self, pair: Pair, /) -> Loss:
        """The engine of one of the pairs, also for a delta."""
        return self._loss.only(pair)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""
        return self._loss.pure(scale)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """What the pure loss says: 0 where it is at most epsilon, otherwise between 0 and 1."""
        found = self.pure(scale)
        upper = 0.0 if found.bracket.upper <= epsilon else 1.0
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=found.pair)
