"""Factors by which one step of a Markov chain multiplies the ratio of two densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray

LARGEST_FACTOR = 1e200
"""Larger factors are infinite."""
TOLERANCE = 1e-10
"""Relative tolerance of a factor; it is rounded up."""
_ROUNDS, _RAYS, _HALVINGS = 80, 60, 12


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
        with np.errstate(divide="ignore", invalid="ignore"):
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

    def limit_above(self, costs: FloatArray, found: FloatArray, grown: FloatArray, up: float, /) -> FloatArray:
        """Factors that suffice for every later step, little more than needed; infinite where none are found.

        They lie on the ray on which the factors grew last, and then on those on which they fall from there.
        """

        def suffice(logs: FloatArray) -> bool:
            factors = np.exp(logs)
            return bool((self.room(with_costs(factors, costs), factors / up) >= 1).all())

        start, ray = np.log(found), grown / max(float(grown.max()), 1e-300)
        far = next((2.0**k for k in range(-30, 9) if suffice(start + 2.0**k * ray)), None)
        if far is None:
            return np.full_like(found, np.inf)
        logs = start + _least(lambda length: suffice(start + length * ray), 0.5 * far, far) * ray
        for _ in range(_RAYS):
            factors = np.exp(logs)
            lower = np.minimum(np.log(self.least_factors(with_costs(factors, costs), found, logs) * up), logs)
            ray = logs - lower
            if not float(ray.max()) > TOLERANCE:
                break
            ray /= float(ray.max())
            far = next((2.0**-k for k in range(-3, 40) if suffice(lower - 2.0**-k * ray)), None)
            if far is None:
                logs = lower
                break
            logs = lower - far * ray
        return np.exp(logs)

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


def _least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """About the least length that is enough, where the larger one is."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
