"""The scales of several columns with the least weighted sum at which their joint loss is at most epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import scipy

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.joint.joint_loss import LARGEST_REACH, JointLaw, JointLoss, JointWorst, WrongRows
from puffer_frames.loss.joint.joint_stick import JointStick
from puffer_frames.loss.outcome import Bracket
from puffer_frames.noise.channel import changed_share
from puffer_frames.numbers.arguments import Target, check_epsilon
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.scales.choice import require_finite
from puffer_frames.scales.search import smallest_scale_of

_FIRST_STEP, _GROWTH = 0.02, 3.0
"""In logs of the scales."""
_NEAR = 5e-4
"""Relative accuracy of the result."""
_MOST_STEPS, _MOST_TRIALS = 12, 16
_FAR = 30.0
"""Stands for the log of a ratio that is 0 or infinite."""


def shrunk(
    loss_of: Callable[[FloatArray], float], scales: FloatArray, least: FloatArray, /, *, most: float
) -> FloatArray:
    """The smallest scales found on the ray of the given ones, none below its least one, whose loss is at most `most`.

    - `loss_of` (function of scales): An upper bound of the loss, or any larger number than `most` where it is more.
    - `scales` (array, shape (columns,)): Known to be private.
    - `least` (array, shape (columns,)): No scale is below its own.

    **Guarantee**: the loss at the result was bounded, or it is the given one. **Cost**: at most 30 bounds.
    """
    private = {0.0: scales}

    @cache
    def excess(log: float) -> float:
        """Log of the loss relative to what it may be."""
        if log == 0:
            return -_FAR
        tried = np.maximum(scales * math.exp(log), least)
        found = loss_of(tried)
        if found <= most:
            private[log] = tried
        return max(-_FAR, math.log(found / most)) if found else -_FAR

    high, step = 0.0, _FIRST_STEP
    for _ in range(_MOST_STEPS):
        low = high - step
        if excess(low) > 0:
            root = float(scipy.optimize.brentq(excess, low, high, xtol=_NEAR / 2, maxiter=_MOST_TRIALS, disp=False))
            if min(private) > root + _NEAR:
                excess(root + _NEAR / 2)
            break
        high, step = low, _GROWTH * step
        if (private[high] <= least).all():
            break
    return private[min(private)]


NEAR = 1e-5
"""Relative accuracy of a scale."""
_LEAST_LOSS = 2.0**-10
"""Part of epsilon, whose inverse is the largest: losses beyond say no more of where the loss is epsilon."""
_FARTHEST = 4.0
"""A step goes no farther, in logs of the scales."""


def on_ray(
    loss: JointLoss,
    scales: FloatArray,
    epsilon: float,
    least: FloatArray,
    *,
    most: FloatArray | None = None,
    near: float = NEAR,
) -> FloatArray:
    """Scales in the same proportions, none below its least one, at which the loss at the nodes is about epsilon."""

    def at(log: float) -> FloatArray:
        return np.maximum(scales * math.exp(log), least)

    def excess(log: float) -> float:
        """Log of the loss in epsilons, not far from 0: it falls about as fast as the scales grow."""
        ratio = loss.worst(at(log)).loss / epsilon
        return math.log(min(max(_LEAST_LOSS, ratio), 1 / _LEAST_LOSS))

    low = high = step = 0.0
    first = last = excess(0.0)
    while last > 0:
        step = _beyond(last, step, near)
        low, first, high = high, last, high + step
        last = excess(high)
        if last > 0 and most is not None and (at(high) >= most).all():
            return most
    while first <= 0:
        if (at(low) <= least).all():
            return at(low)
        step = _beyond(first, step, near)
        high, last, low = low, first, low - step
        first = excess(low)
    found: float = scipy.optimize.brentq(excess, low, high, xtol=near, rtol=near)
    return at(found + near)


def _beyond(excess: float, before: float, near: float) -> float:
    """A step to where a loss that falls as fast as the scales grow is on the other side; twice the one before at least,
    for it may fall slowly.
    """
    return min(max(1.25 * abs(excess) + near, 2 * before), _FARTHEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What scales cost."""

    weights: FloatArray
    """What a unit of the cost of a column counts."""
    levels: Mapping[int, int]
    """Numbers of levels of the columns of labels."""

    def of(self, scales: FloatArray, /) -> float:
        """The weighted sum of the scales, and of the shares of changed labels."""
        costs = np.array(scales, dtype=np.float64)
        for k, count in self.levels.items():
            costs[k] = changed_share(count, float(costs[k]))
        return float(self.weights @ costs)

    def scaled(self, scales: FloatArray, cost: float, /) -> FloatArray:
        """Scales that cost about so much: those of numbers in these proportions, those of labels as they are."""
        numbers = [k for k in range(scales.size) if k not in self.levels]
        own = float(self.weights[numbers] @ scales[numbers])
        found = scales.copy()
        found[numbers] *= max(cost - self.of(scales) + own, 0.0) / own
        return found

    def slope(self, rates: FloatArray, /) -> FloatArray:
        """Its derivatives in the logs of 1 / scale."""
        slopes = -1 / np.asarray(rates, dtype=np.float64)
        for k, count in self.levels.items():
            share = changed_share(count, 1 / float(rates[k]))
            slopes[k] = -share * (1 - share) * float(rates[k])
        return self.weights * slopes


_EXCHANGES = 12
_STEPS = 60
_ROUGHLY = 0.02
"""Relative accuracy of a start on its ray."""
_ASTRAY = 1.5
"""Scales that cost so many times as much as their start are dropped for it."""
_FEW_ROWS = 6_000
"""For laws of more rows than this, the proportions of the scales are found on rows that stand for several."""
_MOST_COMPARED, _MOST_COMPOSED = 20_000_000, 2_000_000
"""Nodes of the grid times laws and pairs of them, and the same for several rows of a unit: of more the scales are those
of pure privacy.
"""
_FEW_NODES = 60_000
"""On a larger grid the proportions are found on some of its lines, and lines through the worst rows are added."""
_RAISES = 60
_TOWARDS, _CHEAPER = (1.0, 0.5), 0.98
"""How far other proportions for a delta are from those of pure privacy, and what they may cost to be looked at."""
_NARROWINGS, _NARROW = 8, 2e-3
"""How near to an unconfirmed scale the confirmed one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointScales:
    """Scales of several columns, and what the engine says of them."""

    scales: tuple[float, ...]
    """One per column, in its units."""
    loss: Bracket
    """The joint loss at these."""
    by_delta: bool = False
    """Whether they rest on the hockey stick: the loss is more than epsilon."""


def joint_scales(
    laws: Mapping[Secret, JointLaw],
    /,
    *,
    epsilon: float,
    pairs: Pairs,
    weights: Sequence[float],
    floors: Sequence[float],
    levels: Mapping[int, int] | None = None,
    near: Sequence[float] | None = None,
    wrong: WrongRows | None = None,
    delta: float = 0.0,
    rows: int = 1,
) -> JointScales:
    r"""Scales that minimise :math:`\sum_k w_k c_k(b_k)` where the joint loss is at most epsilon.

    The cost c of a column of numbers is its scale, that of a column of labels the share of changed labels.

    - `weights`: sequence of float, shape (columns,).
    - `floors` (sequence of float, shape (columns,)): No scale is below its own.
    - `levels` (mapping of column number to int): How many levels each column of labels has.
    - `near` (sequence of float, shape (columns,)): Good scales of laws like these: the search starts there, and only
      there.
    - `wrong`: With which probability each row is replaced by anything, whatever its value.
    - `delta`: Above 0 the scales are shrunk until the hockey stick at epsilon is about this, in their proportions or in
      others that cost less.
    - `rows`: Number of independent rows of a unit that epsilon and delta are for.
    Raises CalibrationError where no scales are confirmed.

    **Exchange method**: minimise under the losses at the worst rows so far, find the worst row of the result, add it.
    The problem is not convex: four starts, and perhaps not the least sum. The guarantee does not rest on that: the
    result is scaled until the engine confirms it. **Rounding**: to the private side.
    See docs/theory.md, section 17.
    """
    asked = Target(epsilon=check_epsilon(epsilon), delta=delta)
    target, costs = asked.share(rows).epsilon, Costs(weights=np.asarray(weights, dtype=np.float64), levels=levels or {})
    loss = JointLoss(laws, pairs=pairs, labels=costs.levels, wrong=wrong)
    if loss.alone is not None and not delta:  # one column that varies
        scale = max(smallest_scale_of(loss.alone, Target(epsilon=target, delta=0.0)), floors[0])
        return JointScales(scales=(scale,), loss=loss.bracket([scale], enough=target))
    least = np.maximum(floors, [len(floors) * width / LARGEST_REACH for width in loss.ranges])
    with np.errstate(over="ignore"):
        most = np.maximum(least, np.array(loss.ranges) * (2 * len(floors)) / target)
    require_finite(float(most.max()), Target(epsilon=target, delta=0.0))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # of scales that are then clipped
        search = _Search(loss, laws, target, pairs, costs, least, most)
        return _by_delta(search, _solved(search, near), asked, rows)


def _solved(search: _Search, near: Sequence[float] | None) -> JointScales:
    """Scales of pure privacy, whose proportions are found on few rows and a coarse grid first."""
    loss, laws, target, costs = search.loss, search.laws, search.epsilon, search.costs
    few = _few(laws, costs.levels)
    coarse = JointLoss(few, pairs=search.pairs, labels=costs.levels, wrong=loss.wrong, most_nodes=_FEW_NODES)
    first = replace(search, loss=coarse, laws=few)
    found = first.best(near)
    if loss.is_whole:
        if few is not laws:
            coarse = JointLoss(laws, pairs=search.pairs, labels=costs.levels, most_nodes=_FEW_NODES)
            first = replace(search, loss=coarse)
            found = first.from_start(found)
        for _ in range(_EXCHANGES):
            worst = loss.worst(found)
            if worst.loss <= target * (1 + NEAR):
                return _confirmed(loss, found, target)
            coarse.cross(worst.point)
            found = first.from_start(found)
    elif few is not laws or loss.wrong is not None:
        found = on_ray(loss, found, target, search.least)
        loss.bracket(found, enough=target)  # puts lines where they are needed
        found = search.from_start(found)
    return _confirmed(loss, on_ray(loss, found, target, search.least), target)


def _by_delta(search: _Search, found: JointScales, target: Target, rows: int) -> JointScales:
    """The scales shrunk to a delta; as they are where that is not known, or would cost too much.

    Their proportions are those of pure privacy, or nearer to those that each column alone has at the delta, where this
    costs less: values that are rarer than delta ask for no noise, however far away they lie.
    """
    loss, pairs, costs, least = search.loss, search.pairs, search.costs, search.least
    compared = math.comb(len(loss.laws), 2) if pairs == "all" else len(pairs)
    nodes = math.prod(line.size for line in loss.lines)
    most = _MOST_COMPARED if rows == 1 else _MOST_COMPOSED
    if not target.delta or not loss.is_whole or nodes * (len(loss.laws) + compared) > most:
        return found
    refuted: list[Pair] = []

    def largest(scales: FloatArray) -> float:
        for some in (tuple(refuted[-1:]), pairs):  # the pair that was refuted last may be so again
            stick = JointStick(loss, pairs=some, levels=costs.levels, rows=rows)
            worst = stick.hockey_stick(scales, epsilon=target.epsilon, enough=target.delta)
            if worst.bracket.upper > target.delta:
                refuted.append(worst.pair)
                break
        found = worst.bracket
        return found.lower if found.lower > target.delta else found.upper

    pure = np.array(found.scales)
    best = shrunk(largest, pure, least, most=target.delta)
    alone = _each_alone(loss, pure, target, pairs, costs.levels)
    others = [] if alone is None else [pure ** (1 - share) * alone**share for share in _TOWARDS]
    for proportions in others:
        tried = np.maximum(costs.scaled(proportions, _CHEAPER * costs.of(best)), least)
        if costs.of(tried) < costs.of(best) and largest(tried) <= target.delta:
            best = min(best, shrunk(largest, tried, least, most=target.delta), key=costs.of)
    if (best >= pure).all():
        return found
    return JointScales(scales=tuple(map(float, best)), loss=loss.bracket(best, enough=target.epsilon), by_delta=True)


def _each_alone(
    loss: JointLoss, pure: FloatArray, target: Target, pairs: Pairs, labels: Collection[int]
) -> FloatArray | None:
    """Scales of the columns of numbers alone, at the delta and an equal part of epsilon, and at most those of pure
    privacy; None where these are the same, and where they are not known.
    """
    found = pure.copy()
    for k in range(loss.columns):
        if k not in labels:
            laws = {s: JointLaw(points=law.points[:, [k]], weights=law.weights) for s, law in loss.laws.items()}
            if (alone := JointLoss(laws, pairs=pairs).alone) is None:
                return None
            share = Target(epsilon=target.epsilon / loss.columns, delta=target.delta)
            found[k] = min(pure[k], smallest_scale_of(alone, share)) or pure[k]
    return None if (found == pure).all() else found


def _confirmed(loss: JointLoss, scales: FloatArray, epsilon: float) -> JointScales:
    """Scales along a ray that the engine confirms, and few below them."""
    low, high = 1.0, 1.0
    bracket = loss.bracket(scales, enough=epsilon)
    for _ in range(_RAISES):
        if bracket.upper <= epsilon:
            break
        low, high = high, high * max(1 + 2.0**-44, min(1.2, bracket.upper / epsilon))
        bracket = loss.bracket(scales * high, enough=epsilon)
    else:
        raise CalibrationError(
            "the joint loss of the columns",
            rule="confirmed at some scales",
            got="bounds that are too far apart",
            hint='Say Noise(theorem="bounded"), or release fewer columns.',
        )
    for _ in range(_NARROWINGS if high / low > 1 + _NARROW else 0):
        middle = math.sqrt(low * high)
        tried = loss.bracket(scales * middle, enough=epsilon)
        if tried.upper <= epsilon:
            high, bracket = middle, tried
        else:
            low = middle
        if high / low <= 1 + _NARROW:
            break
    used = scales * high
    return JointScales(scales=tuple(map(float, used)), loss=bracket)


@dataclass(frozen=True, slots=True)
class _Search:
    """The proportions of the scales."""

    loss: JointLoss
    laws: Mapping[Secret, JointLaw]
    epsilon: float
    pairs: Pairs
    costs: Costs
    least: FloatArray
    most: FloatArray

    def best(self, near: Sequence[float] | None, /) -> FloatArray:
        """From several starts, or from scales that are near."""
        starts = self._starts() if near is None else [np.array(near, dtype=np.float64)]
        ends = [self.from_start(start) for start in starts]
        return min(ends, key=self.costs.of)

    def _starts(self) -> list[FloatArray]:
        """Scales of single columns for a share of epsilon each, then proportions of the weights and of the ranges."""
        weights = self.costs.weights
        count = len(weights)
        single = np.array([self._alone(k, self.epsilon / count) for k in range(count)])
        middle = np.sqrt(single) / np.sqrt(weights)
        return [single, 1 / weights, middle, np.array(self.loss.ranges)]

    def _alone(self, column: int, epsilon: float) -> float:
        laws = {s: JointLaw(points=law.points[:, [column]], weights=law.weights) for s, law in self.laws.items()}
        wrong = None if self.loss.wrong is None else self.loss.wrong.of(column)
        one = JointLoss(laws, pairs=self.pairs, labels=(0,) if column in self.costs.levels else (), wrong=wrong)
        least, most = self.least[[column]], self.most[[column]]
        return float(on_ray(one, least, epsilon, least, most=most)[0])

    def from_start(self, start: FloatArray) -> FloatArray:
        """Scales near a local minimum."""
        first = on_ray(self.loss, start.clip(self.least, self.most), self.epsilon, self.least, near=_ROUGHLY)
        scales, cuts = first, list[_Cut]()
        for _ in range(_EXCHANGES):
            worst = self.loss.worst(scales)
            if cuts and worst.loss <= self.epsilon * (1 + NEAR):
                break
            cuts.append(_Cut(self.laws, worst, self.costs.levels, self.loss.wrong))
            scales = self._least_under(cuts, scales)
        if self.costs.of(scales) > _ASTRAY * self.costs.of(first):  # a step may end in a far worse minimum
            scales = first
        return on_ray(self.loss, scales, self.epsilon, self.least)

    def _least_under(self, cuts: Sequence[_Cut], start: FloatArray) -> FloatArray:
        """Minimise the weighted sum where the losses at some rows are at most epsilon, in logs of 1 / scale."""
        unit = self.costs.of(start)
        found: Any = scipy.optimize.minimize(  # type: ignore[call-overload]
            lambda v: self.costs.of(np.exp(-v)) / unit,
            -np.log(start),
            jac=lambda v: self.costs.slope(np.exp(v)) / unit,
            method="SLSQP",
            bounds=list(zip(-np.log(self.most), -np.log(self.least), strict=True)),
            constraints={
                "type": "ineq",
                "fun": lambda v: np.array([self.epsilon - cut.loss(np.exp(v)) for cut in cuts]),
                "jac": lambda v: np.array([-cut.slope(np.exp(v)) * np.exp(v) for cut in cuts]),
            },
            options={"maxiter": _STEPS, "ftol": 1e-9},
        )
        scales: FloatArray = np.exp(-found.x).clip(self.least, self.most)
        return scales if np.isfinite(scales).all() else start


class _Cut:
    """The loss at one released row of one pair, as a function of 1 / scale."""

    def __init__(
        self, laws: Mapping[Secret, JointLaw], worst: JointWorst, labels: Collection[int], wrong: WrongRows | None
    ) -> None:
        self._last: tuple[FloatArray, float, FloatArray] | None = None
        self._sides = []
        for side, secret in enumerate(worst.pair):
            away, weights = np.abs(laws[secret].points - worst.point), laws[secret].weights
            for k in labels:
                away[:, k] = away[:, k] != 0
            if wrong is not None and wrong.shares[secret]:  # at the row itself, or as far as can be
                share = wrong.shares[secret]
                far = [side * float(wrong.farthest(k, worst.point[[k]])[0]) for k in range(worst.point.size)]
                away, weights = np.vstack([away, far]), np.append((1 - share) * weights, share)
            self._sides.append((away, np.log(weights)))

    def loss(self, rates: FloatArray, /) -> float:
        """Log of the ratio of the densities."""
        return self._at(rates)[0]

    def slope(self, rates: FloatArray, /) -> FloatArray:
        """Its derivatives: the difference of the mean distances given the released row."""
        return self._at(rates)[1]

    def _at(self, rates: FloatArray) -> tuple[float, FloatArray]:
        """Both; those of the last rates are asked for again."""
        if self._last is None or not np.array_equal(self._last[0], rates):
            logs, means = [], []
            for distances, weights in self._sides:
                terms = weights - distances @ rates
                most = terms.max()
                shares = np.exp(terms - most)
                total = shares.sum()
                logs.append(float(most + np.log(total)))
                means.append(shares @ distances / total)
            self._last = rates.copy(), logs[0] - logs[1], means[1] - means[0]
        return self._last[1:]


def _few(laws: Mapping[Secret, JointLaw], labels: Collection[int]) -> Mapping[Secret, JointLaw]:
    """The same laws, or where these have many rows, coarser ones about like them."""
    most = max(law.weights.size for law in laws.values())
    if most <= _FEW_ROWS:
        return laws
    points = np.concatenate([law.points for law in laws.values()])
    steps = max(4, int(_FEW_ROWS ** (1 / points.shape[1])))
    edges = [
        np.unique(points[:, k] if k in labels else np.quantile(points[:, k], np.linspace(0, 1, 3 * steps)))
        for k in range(points.shape[1])
    ]
    return {secret: _coarse(law, edges, labels) for secret, law in laws.items()}


def _coarse(law: JointLaw, edges: Sequence[FloatArray], labels: Collection[int]) -> JointLaw:
    places = [np.searchsorted(edge, law.points[:, k]) for k, edge in enumerate(edges)]
    cells = np.ravel_multi_index(places, [edge.size + 1 for edge in edges])
    _, codes = np.unique(cells, return_inverse=True)
    weights = np.bincount(codes, weights=law.weights)
    points = [np.bincount(codes, weights=law.weights * law.points[:, k]) / weights for k in range(len(edges))]
    points = [np.rint(column) if k in labels else column for k, column in enumerate(points)]
    return JointLaw(points=np.stack(points, axis=1), weights=weights.astype(np.float64))
