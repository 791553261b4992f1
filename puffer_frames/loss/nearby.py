"""The loss of an engine beside other knowledge: laws that lie near one another; its pure loss for a hockey stick."""

from __future__ import annotations

import math

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick
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


class NearbyLoss:
    r"""Bounds of the loss of laws that lie within a distance of W-infinity, from an engine and from the distance.

    The loss is at most that of a shift by the distance ([DLYZ] Theorem 1). Where the engine knows the laws up to a
    radius only, and the laws are nearer to one another than that, the distance says more.
    """

    def __init__(self, loss: Loss, /, *, distance: float, noise: NoiseFamily) -> None:
        self._loss, self._distance, self._noise = loss, distance, noise

    @property
    def span(self) -> float:
        """A length from which a search for the scale may start."""
        return min(self._loss.span, self._distance)

    @property
    def resolution(self) -> float:
        """As of the engine, and no more than the distance."""
        return min(self._loss.resolution, self._distance)

    def only(self, pair: Pair, /) -> NearbyLoss:
        """The same for one of the pairs."""
        return NearbyLoss(self._loss.only(pair), distance=self._distance, noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""
        most = self._noise.shift_loss(self._distance / scale) if scale else math.inf
        return _at_most(self._loss.pure(scale), most)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        r"""Largest hockey stick over the pairs; that of a pure loss L is at most :math:`1 - e^{\varepsilon - L}`."""
        if not scale:
            return self._loss.hockey_stick(scale, epsilon=epsilon)
        shift = self._distance / scale * (1 + 2.0**-50)
        if isinstance(self._noise, Gaussian):
            most = shift_hockey_stick(shift, epsilon=epsilon)
        else:
            most = -math.expm1(min(0.0, epsilon - self._noise.shift_loss(shift))) * (1 + 2.0**-50)
        if most == 0.0:
            return WorstCase(bracket=Bracket(lower=0.0, upper=0.0), pair=self._loss.pure(scale).pair)
        return _at_most(self._loss.hockey_stick(scale, epsilon=epsilon), most)


def _at_most(found: WorstCase, most: float) -> WorstCase:
    bracket = Bracket(lower=min(found.bracket.lower, most), upper=min(found.bracket.upper, most))
    return WorstCase(bracket=bracket, pair=found.pair)
