"""The hockey stick of several columns with independent Laplace noise, between proved bounds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.joint.boxes import NEAR, Boxes
from puffer_frames.loss.joint.joint_loss import JointLoss
from puffer_frames.loss.joint.lines import Scales
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.loss.units.least_law import least_stick_of_rows
from puffer_frames.loss.units.loss_law import LossLaw
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Secret

_NEAR_ENOUGH = 1e-2
"""How near bounds are that are compared with another number."""
_STEPS = 48.0
"""For several rows cells are cut until the ratio is known to this part of its standard deviation."""
_LEAST_MASS, _NARROW = 1e-14, 1e-12
_LARGEST_EPSILON = 500.0
"""Beyond it e^epsilon leaves the range of floats: nothing is known."""


class JointStick:
    r"""Largest :math:`\int [f_s - e^\varepsilon f_t]_+` over pairs, both orders.

    Parameters
    ----------
    loss : JointLoss
        Of the same laws, with all coordinates for lines (`JointLoss.is_whole`).
    pairs : "all" or pairs of secrets
    levels : mapping of column number to int
        How many levels each column of labels has, which may be more than the laws have.
    rows : int
        Of so many independent rows of a unit: the law of the loss of one is composed (`LossLaw`).

    Notes
    -----
    Between neighbouring coordinates the densities are sums of :math:`e^{\pm y_k / b_k}` in each column, so that the
    ratio of two of them is monotone along every axis. So its bounds in a cell are those at the corners, and what a cell
    contributes lies between :math:`[P - e^\varepsilon Q]_+` and its chord (`RatioCells.points`), where P and Q are the
    probabilities of the cell. Cells where the ratio crosses epsilon are halved.

    **Rounding**: counted, in both ends. **Cost** per evaluation: that of the densities at all nodes, and as many
    halvings as the bounds need.

    References
    ----------
    docs/theory.md, section 17.
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
                rest = RatioCells(
                    mass=masses[s][~wide] * (1 + grown),
                    mass_low=masses[s][~wide] * (1 - grown),
                    other=masses[t][~wide] * (1 - grown),
                    other_high=masses[t][~wide] * (1 + grown),
                    low=least[~wide] - grown,
                    high=most[~wide] + grown,
                )
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
            if more > 0:  # the levels that no law has are one slot
                parts = line.size - 1 + 1 / other
                nodes = {s: _with_absent(found, k, parts) for s, found in nodes.items()}
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
        found: FloatArray = reduce(np.multiply.outer, [slot.weight for slot in self.slots])
        return found

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


def _with_absent(nodes: FloatArray, axis: int, parts: float) -> FloatArray:
    """The densities at a level that no law has, after the others: the sum over all levels is (levels - 1 + e^{1/b})
    times it.
    """
    absent = nodes.sum(axis=axis, keepdims=True) / parts
    return np.concatenate([nodes, absent], axis=axis)


def _spread(masses: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The standard deviation of the log-ratio, about."""
    middle, shares = 0.5 * (low + high), masses / masses.sum()
    return math.sqrt(max(float((shares * (middle - (shares * middle).sum()) ** 2).sum()), 0.0))
