"""Privacy loss of any counts or sums of a Markov chain under Laplace noise, by transport from step to step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError
from puffer_frames.loss.outcome import Bracket, PureLoss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.pairs import Pair
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

        - `costs` (array, shape (states, states)): What a state in the place of another one costs, counted once.
        - `most` (array, shape (states, states)): Factors that are known to suffice, whatever others do; infinite where
          none are.
        - `start` (array, shape (states, states)): Factors that may suffice too, and be smaller.
        - `up`: A factor for the rounding of a step.
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
        return np.exp(logs)

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


MOST_STATES = 64
_MOST_WORK = 1e7
"""Times whose factors all differ, times the states to the fourth power and some more."""
_FEW_STEPS, _MOST_STEPS = 60, 2000
"""For many equal steps this many are taken before a limit is looked for, however far away. It is taken after the first
ones where most times are farther from both ends of the series than the factors need to settle."""
_FAR_FROM_ENDS, _SETTLED_AFTER = 8, 40.0
_GRID = 1e-9
"""Logs of factors between times of which not all are counted are rounded up to a multiple, so that they recur."""
_LEAST, _LARGEST_MOVE = 1e-290, 400.0
"""Probabilities that are smaller, and moves of more scales, have no bound here."""
_STILL = 1e-10
"""A law that moves so little in all times together does not move, up to an error that is paid for."""
_NEAR_LIMIT, _BEYOND_LIMIT = 1e-3, 1e-3
"""A limit is guessed once so little is left to it, and somewhat beyond, so that one step more does not exceed it."""


class TransportedLoss(PureLoss):
    r"""An upper bound of the pure loss of all released numbers together, of "X_t = a" against "X_t = b" at any time.

    Let :math:`f_a(y)` be the density of the released numbers of the next s times given the state a before them, and
    :math:`f_a \le B_{s}(a, b) f_b`, :math:`B_0 = 1`. Where a state i in the place of j moves the released numbers by
    :math:`D_{ij}` in all, and C moves the mass P(a, i) from i to j, :math:`\sum_j C_{ij} = P(a, i)`,

    .. math:: \sum_i C_{ij} e^{D_{ij}/b} B_{s-1}(i, j) \le B_s(a, b) P(b, j) \text{ for all } j

    is enough for the next step. The times before are those of the chain read backwards. The loss at a time is at most
    :math:`D_{ab}/b + \log B(a, b)` of both sides.

    - `chains` (sequence of MarkovChain): Beliefs, each with a stationary or given start.
    - `change` (array, shape (states, states)): D, in units of the released numbers.
    - `times` (shape (times,)): The length of the longest series, which serves shorter ones; or which times of one
      series are counted. Other times move nothing, so that a length is an upper bound for series with gaps.
    Raises ArgumentError for more than 64 states, a chain with any start, and too long a series with a given one.

    **Cost** per evaluation: O(n k^4) for k states, where n is the number of times until the factors have settled; for
    a given start all times.
    See docs/theory.md, section 10, "Transport along the chain".
    """

    resolution = 1.0

    def __init__(self, chains: Sequence[MarkovChain], change: FloatArray, /, *, times: int | NDArray[np.bool_]) -> None:
        self._seen = None if isinstance(times, int) or times.all() else times
        self._times = times if isinstance(times, int) else times.size
        _check(chains, self._times, given_times=self._seen is not None)
        self._change = change
        self._limits = dict[float, list[FloatArray | None]]()
        self._chains = [_Sides.of(chain, self._times) for chain in chains]
        self.hides = any(possible.sum() > 1 for sides in self._chains for possible in sides.possible)
        """Whether the state is open at some time."""
        self.span = float(change.max()) * self._times

    def only(self, pair: Pair, /) -> TransportedLoss:
        """The same: the bound is of all pairs of states."""
        del pair
        return self

    def pure(self, scale: float, /) -> WorstCase:
        """An upper bound for all times and pairs of states."""
        if not scale:
            return WorstCase(bracket=Bracket(lower=0.0, upper=math.inf), pair=(0, 1))
        moved = self._change / scale
        if not moved.max() <= _LARGEST_MOVE:
            return WorstCase(bracket=Bracket(lower=0.0, upper=math.inf), pair=(0, 1))
        if self._seen is None:
            near = min(self._limits, key=lambda known: abs(known / scale - 1), default=0.0)
            power, factor = 1 + 4 * max(near / scale - 1, 0.0), 1 + 1e-10 * (near > scale)  # for a smaller scale
            limits = [limit if limit is None else limit**power * factor for limit in self._limits.get(near, ())]
            bounds = [sides.largest(moved, self._times, limits[2 * k :]) for k, sides in enumerate(self._chains)]
            most = max(bound for bound, _ in bounds)
            self._limits[scale] = [limit for _, both in bounds for limit in both]
            most = min(most, float(moved.max()) * self._times * (1 + 4 * UNIT_ROUNDOFF))  # if all states change
        else:
            most = max(sides.largest_of(moved, self._seen) for sides in self._chains)
        return WorstCase(bracket=Bracket(lower=0.0, upper=most), pair=(0, 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """A chain, and the chain read backwards from each time."""

    forward: FloatArray
    backward: Sequence[FloatArray]
    """From the second time to the first, from the third to the second, ...; the last one serves all later times."""
    possible: Sequence[NDArray[np.bool_]]
    """Which states there may be at the first time, the second, ...; the last one serves all later times."""
    error: float
    """Relative error of the probabilities."""

    @classmethod
    def of(cls, chain: MarkovChain, times: int, /) -> _Sides:
        k = chain.states
        if isinstance(chain.initial, str):
            error, all_states = 16 * k * k * UNIT_ROUNDOFF, np.ones(k, dtype=bool)
            return cls(forward=chain.transition, backward=[chain.reversal], possible=[all_states], error=error)
        law, backward, possible = np.asarray(chain.initial), list[FloatArray](), [np.asarray(chain.initial) > 0]
        moved = 0.0
        for _ in range(times - 1):
            joint = law[:, None] * chain.transition
            if joint[joint > 0].min() < _LEAST:
                raise _refused("probabilities that floats hold with all digits", "smaller ones")
            after = joint.sum(axis=0)
            there = after > 0  # of other states nothing is asked, whatever comes before them
            if too_many_steps(len(backward), k):
                raise _refused("shorter series, where the start is given", f"{times:,} times and {k} states")
            backward.append(np.divide(joint.T, after[:, None], out=np.full((k, k), 1.0 / k), where=there[:, None]))
            possible.append(there)
            if np.array_equal(there, law > 0):
                moved = times * float(np.abs(np.log(after[there] / law[there])).max())
                if moved <= _STILL:  # every later law is as near to the one before it
                    break
            law = after
        error = 4 * (k + 2) * times * UNIT_ROUNDOFF + 4 * min(moved, _STILL)
        return cls(forward=chain.transition, backward=backward, possible=possible, error=error)

    def largest(
        self, moved: FloatArray, times: int, near: Sequence[FloatArray | None], /
    ) -> tuple[float, list[FloatArray | None]]:
        """The largest bound of all times, which all are counted; moved is the change in scales.

        Near are limits of both sides for another scale; the second result are those for this one.
        """
        costs, steps = _costs(moved), times - 1
        limits, factors = list[FloatArray | None](), list[list[FloatArray]]()
        for k, rows in enumerate(([self.forward], self.backward)):
            start = near[k] if k < len(near) else None
            limits.append(_limit(rows[0], costs, start, steps=steps, error=self.error) if len(rows) == 1 else None)
            factors.append(
                list(_growing_factors(rows, costs, steps=steps, error=self.error))
                if (limit := limits[-1]) is None
                else [np.ones_like(costs), limit]
            )
        after, before = factors
        found = [
            self._at(time, moved, before[min(time, len(before) - 1)], after[min(times - 1 - time, len(after) - 1)])
            for time in sorted({*range(min(times, len(before))), *range(max(0, times - len(after)), times)})
        ]
        return max(found) * (1 + 16 * UNIT_ROUNDOFF) + 64 * UNIT_ROUNDOFF, limits

    def largest_of(self, moved: FloatArray, seen: NDArray[np.bool_], /) -> float:
        """The same where only some times are counted."""
        costs = _costs(moved)
        after = list(_factors([self.forward], costs, seen[:0:-1], error=self.error))[::-1]
        before = _factors(self.backward, costs, seen[:-1], error=self.error)
        found = [
            self._at(time, moved * counts, one, other)
            for time, (counts, one, other) in enumerate(zip(seen, before, after, strict=True))
        ]
        return max(found) * (1 + 16 * UNIT_ROUNDOFF) + 64 * UNIT_ROUNDOFF

    def _at(self, time: int, moved: FloatArray, before: FloatArray, after: FloatArray) -> float:
        """The bound at a time, from the factors of both sides."""
        there = self.possible[min(time, len(self.possible) - 1)]
        pairs = there[:, None] & there[None, :] & ~np.eye(there.size, dtype=bool)
        return float((moved + np.log(before) + np.log(after))[pairs].max(initial=0.0))


def _costs(moved: FloatArray) -> FloatArray:
    """By how much the noise hides a move less than none, rounded up; moved is given in scales."""
    return np.exp(moved) * (1 + 4 * UNIT_ROUNDOFF * (moved + 2))


def _limit(
    p: FloatArray, costs: FloatArray, start: FloatArray | None, *, steps: int, error: float
) -> FloatArray | None:
    r"""Factors that serve any number of steps by this matrix; None where most times lie near the ends of the series.

    They are at most :math:`e^{(w-1)D/b} \max_j P^w(a, j) / P^w(b, j)` for every w: the ratio of what both states tell
    of the state after w steps, and all states up to there, which is what a quilt gives.
    """
    values = np.sort(np.abs(np.linalg.eigvals(p)))
    if steps <= _MOST_STEPS or (1.0 - float(values[-2])) * steps < _SETTLED_AFTER:
        return None
    most, power, k = np.full_like(p, np.inf), np.eye(len(p)), len(p)
    every = float(np.log(costs.max()))
    for w in range(1, min(steps, _MOST_STEPS)):
        power = power @ p
        with np.errstate(divide="ignore", invalid="ignore"):
            told = np.where(power[:, None, :] > 0, power[:, None, :] / power[None, :, :], 0.0).max(axis=2)
        rounding = 1 + 4 * w * (error + (k + 2) * UNIT_ROUNDOFF)
        most = np.minimum(most, np.exp(min((w - 1) * every * rounding, 700.0)) * told * rounding)
        if not float(np.log(most.max())) > w * every:
            break
    np.fill_diagonal(most, 1.0)
    if not most.max() <= LARGEST_FACTOR:
        return None
    return TransportStep.of(p).limit_above(costs, most, most if start is None else start, _rounded_up(k, error))


def _growing_factors(
    rows: Sequence[FloatArray], costs: FloatArray, *, steps: int, error: float
) -> Iterator[FloatArray]:
    """B_0, B_1, ..., each at least the one before; the last one serves all later steps. All times are counted.

    The matrix of the step s is the entry s - 1 of the rows, or the last one.
    """
    found = np.ones_like(costs)
    earlier = np.zeros_like(costs)
    yield found
    up = _rounded_up(len(costs), error)
    for number in range(steps):
        if number < len(rows):
            step = TransportStep.of(rows[number])
        past = number - len(rows)
        if past in (_FEW_STEPS, _MOST_STEPS) and steps > _MOST_STEPS:
            far = step.rising_limit(costs, found, earlier, up)
            left = np.log(far / found).max() / max(float(earlier.max()), 1e-300)
            if past == _MOST_STEPS or left * _FAR_FROM_ENDS < steps:
                yield far
                return
        near = np.log(found) + 2 * earlier + TOLERANCE
        new = np.maximum(step.least_factors(with_costs(found, costs), found / up, near) * up, found)
        if not new.max() <= LARGEST_FACTOR:
            yield np.full_like(found, np.inf)
            return
        grown = np.log(new / found)
        limit = _guess(new, grown, earlier) if number >= len(rows) - 1 else None
        found, earlier = new, grown
        if limit is not None and (step.room(with_costs(limit, costs), limit / up) >= 1).all():
            yield limit
            return
        yield found


def _factors(
    rows: Sequence[FloatArray], costs: FloatArray, counted: NDArray[np.bool_], *, error: float
) -> Iterator[FloatArray]:
    """B_0, B_1, ...; whether the time that a step leads to is counted is the entry of the step."""
    found, least = np.ones_like(costs), np.ones_like(costs)
    yield found
    up = _rounded_up(len(costs), error)
    known = dict[tuple[bytes, bool], FloatArray]()
    for number, counts in enumerate(counted.tolist()):
        if number < len(rows):
            step = TransportStep.of(rows[number])
            known.clear()
        key = found.tobytes(), counts
        if key not in known:
            g = with_costs(found, costs if counts else least)
            logs = np.log(step.least_factors(g, least, np.log(found)) * up)
            known[key] = np.exp(np.ceil(logs / _GRID) * _GRID) * (1 + 4 * UNIT_ROUNDOFF)  # they come again
        found = known[key]
        if not found.max() <= LARGEST_FACTOR:
            yield from (np.full_like(found, np.inf) for _ in range(number, len(counted)))
            return
        yield found


def _rounded_up(states: int, error: float) -> float:
    """A factor for the rounding of a step, and twice the error of the probabilities of both rows."""
    return 1 + 4 * error + 8 * (states + 8) * UNIT_ROUNDOFF


def _guess(found: FloatArray, grown: FloatArray, earlier: FloatArray) -> FloatArray | None:
    """A little more than where a geometric growth ends; None far from it."""
    most, before = float(grown.max()), float(earlier.max())
    if most == 0.0:
        return found
    if not most < before:
        return None
    left = grown * (most / (before - most)) * (1 + _BEYOND_LIMIT) + 1e-12
    if float(left.max()) > _NEAR_LIMIT:
        return None
    return found * np.exp(np.where(np.eye(len(found), dtype=bool), 0.0, left))


def _check(chains: Sequence[MarkovChain], times: int, *, given_times: bool) -> None:
    """Raise ArgumentError for what has no such bound, or none in a short time."""
    for chain in chains:
        k = chain.states
        if isinstance(chain.initial, str) and chain.initial == "any":
            rule, got = "a stationary or a given start", "any start"
        elif k > MOST_STATES:
            rule, got = f"chains of at most {MOST_STATES} states", f"{k}"
        elif given_times and too_many_steps(times, k):
            rule, got = "shorter series with gaps", f"{times:,} times and {k} states"
        else:
            continue
        raise _refused(rule, got)


def _refused(rule: str, got: str) -> ArgumentError:
    return ArgumentError('mechanism="transport"', rule=f"for {rule}", got=got, hint='Use mechanism="quilt".')


def too_many_steps(times: int, states: int, /) -> bool:
    """Whether so many times, all with factors of their own, would take too long."""
    return times * (states**4 + 2000) > _MOST_WORK
