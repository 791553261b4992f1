"""The hockey stick of several columns with independent Laplace noise, between proved bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.joint.joint_loss import JointLoss, Scales
from puffer_frames.loss.loss_law import LossLaw, RatioCells, least_stick_of_rows
from puffer_frames.loss.outcome import Bracket, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Secret

_LEVELS = 40
_MOST_BOXES = 200_000
"""Beyond so many halvings at once the bounds are left as they are."""
_MOST_NARROWED = 60_000
"""The same where boxes are cut until the ratio is nearly constant."""
_LEAST_MASS = 1e-14
NEAR = 3e-3
"""Bounds are near where they differ by this part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    r"""Boxes that no row lies inside of along any axis.

    Along an axis of width h, in units of the scale, a density is :math:`A e^y + B e^{-y}`. So in the middle it is the
    sum of both ends divided by :math:`2 \cosh(h/2)`.
    """

    first: FloatArray
    """The density of the first law at the corners, up to a constant; shape (2**axes, boxes), the last axis fastest."""
    second: FloatArray
    """The same for the second law."""
    widths: FloatArray
    """Shape (axes, boxes); 0 along an axis where both ends are one."""
    weights: FloatArray
    """The probability of a box is this times the sum over its corners."""
    error: float
    """Largest relative rounding error of a ratio of densities."""

    def cells(self) -> RatioCells:
        """What is known of the two laws, from above."""
        ratio = np.log(self.first) - np.log(self.second)
        grown = self.error + 64 * UNIT_ROUNDOFF
        mass, other = self.weights * self.first.sum(axis=0), self.weights * self.second.sum(axis=0)
        return _cells(mass, other, ratio.min(axis=0), ratio.max(axis=0), error=grown)

    @property
    def swapped(self) -> Boxes:
        """The second law against the first."""
        return replace(self, first=self.second, second=self.first)

    def narrowed(self, width: float, /) -> Boxes:
        """Boxes cut until the log-ratio changes by at most `width` in each, those of next to no probability aside."""
        boxes, settled = self, list[Boxes]()
        for _ in range(_LEVELS):
            ratio = np.log(boxes.first) - np.log(boxes.second)
            mass = boxes.weights * np.maximum(boxes.first.sum(axis=0), boxes.second.sum(axis=0))
            split = (np.ptp(ratio, axis=0) > width) & (mass > _LEAST_MASS) & (boxes.widths > 0).any(axis=0)
            if not split.any() or 2 * int(split.sum()) > _MOST_NARROWED:
                break
            settled.append(boxes._take(~split))
            boxes = boxes._take(split)._halves()
        return _joined([*settled, boxes])

    def hockey_stick(
        self, epsilon: float, /, *, near: float = NEAR, enough: float = 0.0, refuted: float = 1.0
    ) -> Bracket:
        """Bounds of the integral of the positive part over the boxes.

        They are made tighter until they differ by this part, the upper one is at most `enough`, or the lower one is
        more than `refuted`.
        """
        boxes, settled = self, (0.0, 0.0)
        for level in range(_LEVELS):
            lower, upper = boxes._bounds(epsilon)
            low, high = settled[0] + float(lower.sum()), settled[1] + float(upper.sum())
            apart = upper - lower
            if high <= enough or low > refuted or level == _LEVELS - 1:
                break
            goal = near * max(enough, low)
            split = (apart > 0.25 * goal / max(1, apart.size)) & (boxes.widths > 0).any(axis=0)
            if float(apart.sum()) <= goal or not split.any() or 2 * int(split.sum()) > _MOST_BOXES:
                break
            settled = settled[0] + float(lower[~split].sum()), settled[1] + float(upper[~split].sum())
            boxes = boxes._take(split)._halves()
        slack = UNIT_ROUNDOFF * (lower.size + self.weights.size + 64)
        upper_end = min(1.0, high * (1 + slack))
        return Bracket(lower=min(max(0.0, low * (1 - slack)), upper_end), upper=upper_end)

    def _bounds(self, epsilon: float) -> tuple[FloatArray, FloatArray]:
        """What each box contributes: from below the difference of its probabilities, from above its chord."""
        cells = self.cells()
        lower = np.maximum(cells.mass_low - math.exp(epsilon) * cells.other_high, 0.0)
        logs, masses = cells.points()
        upper = (masses * np.maximum(-np.expm1(epsilon - logs), 0.0)).reshape(2, -1).sum(axis=0)
        upper *= 1 + 16 * UNIT_ROUNDOFF
        return np.minimum(lower, upper), upper

    def _take(self, chosen: NDArray[np.bool_]) -> Boxes:
        return replace(self, **{name: getattr(self, name)[..., chosen] for name in _TABLES})

    def _halves(self) -> Boxes:
        """Both halves of every box, across the axis along which the ratio changes most."""
        axes = len(self.widths)
        ratio = (np.log(self.first) - np.log(self.second)).reshape((2,) * axes + (-1,))
        changes = np.stack([np.abs(np.diff(ratio, axis=k)).max(axis=tuple(range(axes))) for k in range(axes)])
        chosen = np.where(self.widths > 0, changes, -1.0).argmax(axis=0)
        parts = [self._take(chosen == k)._across(k) for k in range(axes) if (chosen == k).any()]
        return replace(_joined(parts), error=self.error + 8 * UNIT_ROUNDOFF)

    def _across(self, axis: int) -> Boxes:
        axes, width = len(self.widths), self.widths[axis]
        grown = 2 * np.cosh(0.5 * width)
        sides = []
        for corners in (self.first, self.second):
            table = np.moveaxis(corners.reshape((2,) * axes + (-1,)), axis, 0)
            middle = (table[0] + table[1]) / grown
            halves = [np.stack(pair) for pair in ((table[0], middle), (middle, table[1]))]
            joined = np.concatenate([np.moveaxis(half, 0, axis) for half in halves], axis=-1)
            sides.append(joined.reshape(2**axes, -1))
        widths = self.widths.copy()
        widths[axis] = 0.5 * width
        weights = self.weights * (np.tanh(0.25 * width) / np.tanh(0.5 * width))
        return replace(
            self,
            first=sides[0],
            second=sides[1],
            widths=np.concatenate([widths, widths], axis=1),
            weights=np.concatenate([weights, weights]),
        )


def _cells(mass: FloatArray, other: FloatArray, low: FloatArray, high: FloatArray, *, error: float) -> RatioCells:
    """From probabilities and log-ratios with this relative error."""
    return RatioCells(
        mass=mass * (1 + error),
        mass_low=mass * (1 - error),
        other=other * (1 - error),
        other_high=other * (1 + error),
        low=low - error,
        high=high + error,
    )


_TABLES = ("first", "second", "widths", "weights")


def _joined(parts: Sequence[Boxes]) -> Boxes:
    tables = {name: np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in _TABLES}
    return Boxes(**tables, error=max(part.error for part in parts))


_NEAR_ENOUGH = 1e-2
"""How near bounds are that are compared with another number."""
_STEPS = 48.0
"""For several rows cells are cut until the ratio is known to this part of its standard deviation."""
_LEAST_MASS, _NARROW = 1e-14, 1e-12
_LARGEST_EPSILON = 500.0
"""Beyond it e^epsilon leaves the range of floats: nothing is known."""


class JointStick:
    r"""Largest :math:`\int [f_s - e^\varepsilon f_t]_+` over pairs, both orders.

    - `loss`: The joint loss of the same laws, with all coordinates for lines (`JointLoss.is_whole`).
    - `levels` (mapping of column number to int): How many levels each column of labels has, which may be more than the
      laws have.
    - `rows`: Number of independent rows of a unit; the law of the loss of one row is composed (`LossLaw`).

    Between neighbouring coordinates the densities are sums of :math:`e^{\pm y_k / b_k}` in each column, so that the
    ratio of two of them is monotone along every axis. So its bounds in a cell are those at the corners, and what a cell
    contributes lies between :math:`[P - e^\varepsilon Q]_+` and its chord (`RatioCells.points`), where P and Q are the
    probabilities of the cell. Cells where the ratio crosses epsilon are halved.

    **Rounding**: counted, in both ends. **Cost** per evaluation: that of the densities at all nodes, and as many
    halvings as the bounds need.
    See docs/theory.md, section 17.
    """

    def __init__(self, loss: JointLoss, /, *, pairs: Pairs, levels: Mapping[int, int], rows: int = 1) -> None:
        self._loss, self._levels, self._rows = loss, levels, rows
        self._pairs = list(combinations(loss.laws, 2)) if pairs == "all" else list(pairs)

    def hockey_stick(self, scales: Scales, /, *, epsilon: float, enough: float = 0.0) -> WorstCase:
        """Bounds of the largest hockey stick.

        With `enough` the upper one is no tighter than it takes to see that it is at most this. Where it is not, it is
        one of some pair, and perhaps not of all.
        """
        if not self._pairs:
            return WorstCase(bracket=Bracket(lower=0.0, upper=0.0), pair=(None, None))
        unknown = WorstCase(bracket=Bracket(lower=0.0, upper=1.0), pair=self._pairs[0])
        if not self._loss.is_in_range(scales) or epsilon > _LARGEST_EPSILON:
            return unknown
        if self._rows > 1:
            return self._of_rows(scales, epsilon, enough)
        lower, upper, worst = 0.0, 0.0, self._pairs[0]
        for pair, boxes in self.crossing(scales, epsilon):
            near = _NEAR_ENOUGH if enough else NEAR
            found = boxes.hockey_stick(epsilon, near=near, enough=max(enough, lower), refuted=enough or 1.0)
            lower = max(lower, found.lower)
            if found.upper > upper:
                upper, worst = found.upper, pair
            if 0 < enough < lower:  # the rest could only be more
                break
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=worst)

    def _of_rows(self, scales: Scales, epsilon: float, enough: float) -> WorstCase:
        """The bound for several rows; no tighter than it takes to see that it is at most `enough`, or more."""
        upper, worst, binding = 0.0, self._pairs[0], None
        for pair, cells in self.ratio_cells(scales):
            law = LossLaw.of_cells(cells, epsilon=epsilon)
            found = law.at_most(self._rows, epsilon)
            if found > max(upper, enough):
                found = min(found, law.rows(self._rows).hockey_stick(epsilon))
            if found > upper:
                upper, worst, binding = found, pair, cells
            if 0 < enough < upper:
                break
        lower = 0.0 if binding is None or enough else least_stick_of_rows(binding, epsilon, rows=self._rows)
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=worst)

    def ratio_cells(self, scales: Scales, /) -> Iterator[tuple[Pair, RatioCells]]:
        """For each ordered pair the law of the loss of a row."""
        grid = _Grid.of(self._loss, scales, self._levels)
        grown = self._loss.rounding(scales) + 64 * UNIT_ROUNDOFF
        logs = {s: np.log(nodes) for s, nodes in grid.nodes.items()}
        masses = {s: grid.of_corners(nodes, np.add) * grid.weights() for s, nodes in grid.nodes.items()}
        for a, b in self._pairs:
            low, high = (grid.of_corners(logs[a] - logs[b], least) for least in (np.minimum, np.maximum))
            width = max(_spread(masses[a], low, high) / _STEPS, _NARROW)
            wide = (high - low > width) & (np.maximum(masses[a], masses[b]) > _LEAST_MASS)
            cut = grid.boxes(a, b, np.nonzero(wide), error=grown).narrowed(width)
            for (s, t), least, most, boxes in (((a, b), low, high, cut), ((b, a), -high, -low, cut.swapped)):
                rest = _cells(masses[s][~wide], masses[t][~wide], least[~wide], most[~wide], error=grown)
                yield (s, t), rest.beside(boxes.cells())

    def crossing(self, scales: Scales, epsilon: float, /) -> Iterator[tuple[Pair, Boxes]]:
        """For each ordered pair the cells where the log-ratio exceeds epsilon somewhere."""
        grid = _Grid.of(self._loss, scales, self._levels)
        error = self._loss.rounding(scales)
        logs = {s: np.log(nodes) for s, nodes in grid.nodes.items()}
        for a, b in self._pairs:
            ratio = logs[a] - logs[b]
            for (s, t), above in (((a, b), ratio > epsilon - error), ((b, a), ratio < error - epsilon)):
                if above.any():
                    yield (s, t), grid.boxes(s, t, grid.touching(above), error=error)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slots:
    """The cells along one axis: between neighbouring lines and beyond the outermost ones, or the levels themselves."""

    left: NDArray[np.intp]
    """Number of the line on the left."""
    right: NDArray[np.intp]
    """Number of the line on the right; that on the left beyond the outermost ones, and of levels."""
    width: FloatArray
    """In units of the scale; 0 where both lines are one."""
    weight: FloatArray
    """The probability of a slot is this times the sum of the kernels at both lines."""


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """The densities at all nodes, and the cells between them."""

    nodes: Mapping[Secret, FloatArray]
    slots: Sequence[_Slots]

    @classmethod
    def of(cls, loss: JointLoss, scales: Scales, levels: Mapping[int, int]) -> _Grid:
        nodes, slots = loss.nodes(scales), list[_Slots]()
        for k, (line, scale) in enumerate(zip(loss.lines, scales, strict=True)):
            if k not in levels:
                slots.append(_between(line, float(scale)))
                continue
            count = max(levels[k], line.size)
            other, more = math.exp(-1 / scale), count - line.size
            weight = np.full(line.size + (more > 0), 0.5 / (1 + (count - 1) * other))
            if more > 0:  # the levels that no law has are one slot: 1 / (levels - 1 + e^{1/b}) of the sum over all
                parts = line.size - 1 + 1 / other
                absent = {s: found.sum(axis=k, keepdims=True) / parts for s, found in nodes.items()}
                nodes = {s: np.concatenate([found, absent[s]], axis=k) for s, found in nodes.items()}
                weight[-1] *= more
            every = np.arange(weight.size)
            slots.append(_Slots(left=every, right=every, width=np.zeros(weight.size), weight=weight))
        return cls(nodes=nodes, slots=slots)

    def of_corners(self, nodes: FloatArray, join: np.ufunc, /) -> FloatArray:
        """Something of the corners of each cell: the largest, the smallest, or their sum."""
        for axis, slot in enumerate(self.slots):
            nodes = join(np.take(nodes, slot.left, axis=axis), np.take(nodes, slot.right, axis=axis))
        return nodes

    def weights(self) -> FloatArray:
        """What the sum over the corners of each cell is to be multiplied by."""
        return reduce(np.multiply.outer, [slot.weight for slot in self.slots])

    def touching(self, above: NDArray[np.bool_], /) -> list[NDArray[np.intp]]:
        """The cells with a corner among some nodes."""
        for axis, slot in enumerate(self.slots):
            above = np.take(above, slot.left, axis=axis) | np.take(above, slot.right, axis=axis)
        return list(np.nonzero(above))

    def boxes(self, s: Secret, t: Secret, cells: Sequence[NDArray[np.intp]], /, *, error: float) -> Boxes:
        """Some cells with the densities of two secrets at their corners."""
        ends = [(slot.left[place], slot.right[place]) for slot, place in zip(self.slots, cells, strict=True)]
        corners = [
            tuple(end[bit] for end, bit in zip(ends, bits, strict=True)) for bits in product((0, 1), repeat=len(ends))
        ]
        first, second = (np.stack([self.nodes[each][corner] for corner in corners]) for each in (s, t))
        return Boxes(
            first=first,
            second=second,
            widths=np.stack([slot.width[place] for slot, place in zip(self.slots, cells, strict=True)]),
            weights=reduce(np.multiply, [slot.weight[place] for slot, place in zip(self.slots, cells, strict=True)]),
            error=error,
        )


def _between(line: FloatArray, scale: float) -> _Slots:
    r"""With the kernel :math:`e^{-|y - x|/b}/2b` at both ends l, r of a slot that x is not inside of, its integral is
    the sum of both :math:`e^{-|.-x|/b}` times :math:`\tanh((r - l)/2b)/2`; beyond the outermost line 1/2 of that there.
    """
    count, width = line.size, np.diff(line) / scale
    return _Slots(
        left=np.concatenate([[0], np.arange(count)]).astype(np.intp),
        right=np.concatenate([np.arange(count), [count - 1]]).astype(np.intp),
        width=np.concatenate([[0.0], width, [0.0]]),
        weight=np.concatenate([[0.25], 0.5 * np.tanh(0.5 * width), [0.25]]),
    )


def _spread(masses: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The standard deviation of the log-ratio, about."""
    middle, shares = 0.5 * (low + high), masses / masses.sum()
    return math.sqrt(max(float((shares * (middle - (shares * middle).sum()) ** 2).sum()), 0.0))
