"""Factors by which one step of a Markov chain multiplies the ratio of two densities."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray

LARGEST_FACTOR = 1e200
"""Larger factors are infinite."""
TOLERANCE = 1e-10
"""Relative tolerance of a factor; it is rounded up."""
_ROUNDS, _RAYS = 80, 100
_SHORTEST_RAY, _LONGEST_RAY = 2.0**-6, 2.0**40
_NEAR = 1e-9
"""A limit is near enough where a step changes the logs of the factors by no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportStep:
    """A transition, for every pair of states that it may start from."""

    p: FloatArray
    """The transition matrix."""
    ratios: FloatArray
    """Log of the largest ratio of the probabilities of a state, per pair."""

    @classmethod
    def of(cls, p: FloatArray, /) -> TransportStep:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(p)
            ratios = np.where(p[:, None, :] > 0, logs[:, None, :] - logs[None, :, :], -np.inf).max(axis=2)
        return cls(p=p, ratios=ratios * (1 + 1e-13) + 1e-13)

    def room(self, g: FloatArray, factors: FloatArray, /) -> FloatArray:
        """At least 1 where the factors suffice: mass in excess goes to all places where some is missing.

        The shares of the places are the same for every origin, so that the places are full alike.
        """
        over = self.p[:, None, :] - factors[:, :, None] * self.p[None, :, :]
        excess = np.maximum(over, 0.0)
        missing = np.subtract(excess, over, out=over)
        asked = excess @ g
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shares = np.divide(missing, asked, out=asked)
        shares[missing == 0.0] = 0.0
        room: FloatArray = shares.sum(axis=2)
        room[~excess.any(axis=2)] = np.inf
        return room

    def least_factors(self, g: FloatArray, least: FloatArray, near: FloatArray, /) -> FloatArray:
        """The least factors that suffice and are no less than given ones, up to the tolerance above.

        They are probably not much less than those with the logs `near`. Infinite where none is found.
        """
        low = np.log(least)
        at_low = self._height(g, low)
        at_near = self._height(g, near)
        far = np.clip(self.ratios, near, math.log(10 * LARGEST_FACTOR))
        enough = at_near >= 0
        high, at_high = np.where(enough, near, far), np.where(enough, at_near, 30.0)
        low, at_low = np.where(enough, low, near), np.where(enough, at_low, at_near)
        high, at_high = np.where(at_low >= 0, low, high), np.where(at_low >= 0, at_low, at_high)
        last = np.zeros(low.shape)
        for _ in range(_ROUNDS):  # regula falsi after Illinois
            if float((high - low).max()) <= TOLERANCE:
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                middle = high - at_high * (high - low) / (at_high - at_low)
            margin = np.minimum(0.25 * TOLERANCE, 0.25 * (high - low))
            middle = np.clip(np.where(np.isfinite(middle), middle, low), low + margin, high - margin)
            height = self._height(g, middle)
            enough = height >= 0
            at_low, at_high = (
                np.where(enough, np.where(last == 1, 0.5 * at_low, at_low), height),
                np.where(enough, height, np.where(last == -1, 0.5 * at_high, at_high)),
            )
            high, low = np.where(enough, middle, high), np.where(enough, low, middle)
            last = np.where(enough, 1, -1)
        found = np.exp(high)
        return np.where(self.room(g, found) >= 1, found, np.inf)

    def limit_above(self, costs: FloatArray, most: FloatArray, start: FloatArray, up: float, /) -> FloatArray:
        """Factors that suffice for every later step, little more than needed.

        Parameters
        ----------
        costs : array, shape (states, states)
            What a state in the place of another one costs, counted once.
        most : array, shape (states, states)
            Factors that are known to suffice, whatever others do; infinite where none are.
        start : array, shape (states, states)
            Factors that may suffice too, and be smaller.
        up : float
            A factor for the rounding of a step.
        """
        ends, ones = np.log(most), np.ones_like(start)

        def suffice(tried: FloatArray) -> bool:
            factors = np.exp(tried)
            room = self.room(with_costs(factors, costs), factors / up)
            return bool(((room >= 1) | (tried >= ends)).all())

        logs = np.minimum(np.log(start), ends)
        logs, length = logs if suffice(logs) else ends, 1.0
        if not np.isfinite(logs).all():
            return np.full_like(start, np.inf)
        for _ in range(_RAYS):
            found = np.log(self.least_factors(with_costs(np.exp(logs), costs), ones, logs) * up)
            lower = np.minimum(found, logs)
            ray = logs - lower
            if not float(ray.max()) > _NEAR:
                break
            if suffice(np.maximum(lower - length * ray, 0.0)):
                while length < _LONGEST_RAY and suffice(np.maximum(lower - 4 * length * ray, 0.0)):
                    length *= 4
            else:
                length /= 4
                while length > _SHORTEST_RAY and not suffice(np.maximum(lower - length * ray, 0.0)):
                    length /= 4
            logs = np.maximum(lower - (length if length > _SHORTEST_RAY else 0.0) * ray, 0.0)
        limit: FloatArray = np.exp(logs)
        return limit

    def rising_limit(self, costs: FloatArray, found: FloatArray, grown: FloatArray, up: float, /) -> FloatArray:
        """The same from factors of one step that grew so much last; infinite where none are found on their way."""
        start, ray = np.log(found), grown / max(float(grown.max()), 1e-300)
        for k in range(-30, 9):
            factors = np.exp(start + 2.0**k * ray)
            if (self.room(with_costs(factors, costs), factors / up) >= 1).all():
                return self.limit_above(costs, np.full_like(factors, np.inf), factors, up)
        return np.full_like(found, np.inf)

    def _height(self, g: FloatArray, logs: FloatArray) -> FloatArray:
        """Log of the room for factors with these logs, from -30 to 30."""
        with np.errstate(divide="ignore"):
            height: FloatArray = np.clip(np.log(self.room(g, np.exp(logs))), -30.0, 30.0)
        return height


def with_costs(factors: FloatArray, costs: FloatArray) -> FloatArray:
    """What mass that is moved from a state to another one is counted with; 1 where it stays."""
    found: FloatArray = factors * costs
    np.fill_diagonal(found, 1.0)
    return found
