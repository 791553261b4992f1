"""Privacy loss of priors whose atoms are known up to a radius, from that of the atoms as given."""

from __future__ import annotations

import math

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian, shift_hockey_stick
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair


class PureOnly:
    """The loss of an engine that finds the worst of all pairs at once in the pure sense, but not for a delta."""

    def __init__(self, loss: Loss, /) -> None:
        self._loss = loss

    @property
    def span(self) -> float:
        return self._loss.span

    @property
    def resolution(self) -> float:
        """As of the engine."""
        return self._loss.resolution

    def only(self, pair: Pair, /) -> Loss:
        """The engine of one of the pairs, also for a delta."""
        return self._loss.only(pair)

    def pure(self, scale: float, /) -> WorstCase:
        return self._loss.pure(scale)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        return self.pure(scale).as_stick(epsilon)


class NearbyLoss:
    r"""Bounds of the loss of laws that lie within a distance of W-infinity, from an engine and from the distance.

    The loss is at most that of a shift by the distance ([DLYZ] Theorem 1). Where the engine knows the laws up to a
    radius only, and the laws are nearer to one another than that, the distance says more.
    """

    def __init__(self, loss: Loss, /, *, distance: float, noise: NoiseFamily) -> None:
        self._loss, self._distance, self._noise = loss, distance, noise

    @property
    def span(self) -> float:
        return min(self._loss.span, self._distance)

    @property
    def resolution(self) -> float:
        """As of the engine, and no more than the distance."""
        return min(self._loss.resolution, self._distance)

    def only(self, pair: Pair, /) -> NearbyLoss:
        return NearbyLoss(self._loss.only(pair), distance=self._distance, noise=self._noise)

    def pure(self, scale: float, /) -> WorstCase:
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


_ROUND_UP = 1 + 16 * UNIT_ROUNDOFF

_MOST_SPENT, _LEAST_SPENT = 1e-3, 1e-12
"""Share of a hockey stick that is spent on the displacement, where noise of unbounded loss needs some."""


class DisplacedLoss:
    r"""Bounds of the loss for every true position of the atoms within the radius.

    Where noise hides a shift by the radius with (eta, d), the law of the true positions and that of the given ones are
    as close: :math:`P(B) \le e^\eta \hat P(B) + d`, and the other way round. So
    :math:`(\hat\varepsilon, \hat\delta)` for the given positions is
    :math:`(\hat\varepsilon + 2\eta, e^\eta \hat\delta + d(1 + e^{\hat\varepsilon + \eta}))` for
    the true ones. For Laplace noise eta is radius/b and d is 0. Outcomes of the probability `lost` that the given laws
    leave out add to d. Values that are moved at random besides, with mean 0, cost less than their farthest move: `blur`
    is the spread of the move and the farthest one (`Noise.cost_of_blur`).

    References
    ----------
    docs/theory.md, section 13.
    """

    def __init__(
        self,
        loss: Loss,
        /,
        *,
        radius: float,
        noise: NoiseFamily,
        lost: float = 0.0,
        blur: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._loss, self._radius, self._noise, self._lost, self._blur = loss, radius, noise, lost, blur

    @property
    def span(self) -> float:
        return self._loss.span + 2 * self._radius

    @property
    def resolution(self) -> float:
        """Below the radius nothing is known."""
        return max(self._loss.resolution, self._radius)

    def only(self, pair: Pair, /) -> DisplacedLoss:
        return DisplacedLoss(
            self._loss.only(pair), radius=self._radius, noise=self._noise, lost=self._lost, blur=self._blur
        )

    def pure(self, scale: float, /) -> WorstCase:
        found = self._loss.pure(scale)
        eta, beyond = self._blurred(scale, *self._cost(scale))
        upper = math.inf if beyond else (found.bracket.upper + 2 * eta) * _ROUND_UP
        lower = 0.0 if beyond else max(0.0, (found.bracket.lower - 2 * eta) * (2 - _ROUND_UP))
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        eta, beyond = self._cost(scale)
        if beyond:  # a part of the hockey stick itself is spent, which costs far less epsilon
            found = self._loss.hockey_stick(scale, epsilon=epsilon).bracket
            shift = self._radius / scale if scale else math.inf
            share = min(_MOST_SPENT, max(_LEAST_SPENT, shift)) * found.upper / (1 + math.exp(epsilon))
            eta, beyond = self._noise.cost_of_shift_at(shift, delta=share)
        eta, beyond = self._blurred(scale, eta, beyond)
        if not eta <= 0.5 * epsilon:
            pair = self._loss.hockey_stick(scale, epsilon=epsilon).pair
            return WorstCase(bracket=Bracket(lower=0.0, upper=1.0), pair=pair)
        worst = self._loss.hockey_stick(scale, epsilon=epsilon - 2 * eta)
        growth = math.exp(eta)
        upper = (growth * worst.bracket.upper + beyond * (1 + math.exp(epsilon))) * _ROUND_UP
        at_least = self._loss.hockey_stick(scale, epsilon=epsilon + 2 * eta).bracket.lower
        lower = max(0.0, (at_least - beyond * (1 + math.exp(epsilon + 2 * eta))) / growth) * (2 - _ROUND_UP)
        return WorstCase(bracket=Bracket(lower=lower, upper=max(upper, lower)), pair=worst.pair)

    def _cost(self, scale: float) -> tuple[float, float]:
        if not self._radius:
            return 0.0, 0.0
        shift = self._radius / scale if scale else math.inf
        return self._noise.cost_of_shift(shift) if math.isfinite(shift) else (math.inf, 1.0)

    def _blurred(self, scale: float, eta: float, beyond: float) -> tuple[float, float]:
        """The cost of the radius with that of what is lost and of what is moved at random."""
        beyond += self._lost
        if not any(self._blur):
            return eta, beyond
        found = self._noise.cost_of_blur(self._blur[0] / scale, self._blur[1] / scale) if scale else None
        if found is None or not math.isfinite(found[0]):
            return math.inf, 1.0
        return eta + found[0], (beyond + found[1]) * math.exp(min(eta + found[0], 700.0))
