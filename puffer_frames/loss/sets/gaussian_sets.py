"""Hockey stick of sets of laws under Gaussian noise: a proved upper bound, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.noises.coupled import CoupledSetsLoss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.loss.sets.laplace_sets import positions_of
from puffer_frames.noise.families import GAUSSIAN
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Secret

_MOST_POSITIONS = 512
"""Sets of more ends are widened to a grid of so many steps."""
_FINENESS = 6.0
"""Cells are at most this part of the noise's scale wide."""
_MOST_EDGES = 8192
"""With more cells, the noise is so small beside the span that the loss of a shift bounds it well enough."""
_ROUNDS, _PARTS, _TOLERANCE = 3, 6, 1e-3
"""Cells where the sign of the difference is not known are split so often, in so many parts, until they hold little."""
_REACH = 12.0
"""So many scales beyond the outermost value the noise has a probability below 1e-32."""
_BEYOND = 1e-30
_NONE = math.sqrt(2 * math.pi)
_LARGEST_EPSILON = 500.0


class _Densities(NamedTuple):
    """Of one set of laws, per cell: times the scale, which is the unit of lengths."""

    most: FloatArray
    """Integral of f_max, rounded up."""
    least: FloatArray
    """Integral of f_min, rounded down."""
    highest: FloatArray
    """Bound of f_max from above."""
    lowest: FloatArray
    """Bound of f_min from below."""
    floor: FloatArray
    """Bound of f_max from below."""
    ceiling: FloatArray
    """Bound of f_min from above."""


class GaussianSetsLoss:
    r"""Upper bound of the hockey stick of several sets of laws under Gaussian noise.

    .. math:: \delta^* \le \max_{s, t} \int [f_{\max, s}(y) - e^\varepsilon f_{\min, t}(y)]_+ dy

    In cells where the difference keeps its sign the integral is that of the difference; in others it is at most the
    width times the largest difference. The bound of a coupling is taken where it is smaller.

    Notes
    -----
    **Cost** per evaluation: cells times intervals per secret, and cells times ordered pairs.

    References
    ----------
    docs/theory.md, section 14.
    """

    def __init__(self, sets: Mapping[Secret, LawSet], /, *, pairs: Pairs) -> None:
        self._sets = dict(sets)
        self._pairs = list(combinations(sets, 2)) if pairs == "all" else list(pairs)
        self._coupled = CoupledSetsLoss(sets, pairs=tuple(self._pairs), noise=GAUSSIAN)
        self._wide = _on_grid(self._sets)
        self._positions = positions_of(list(self._wide.values()))
        self.span, self.resolution = self._coupled.span, self._coupled.resolution

    def only(self, pair: Pair, /) -> GaussianSetsLoss:
        return GaussianSetsLoss({secret: self._sets[secret] for secret in pair}, pairs=(pair,))

    def pure(self, scale: float, /) -> WorstCase:
        """No bound, but for laws that are all the same constant."""
        return self._coupled.pure(scale)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """At most the integral of what exceeds, and at most that of a shift."""
        coupled = self._coupled.hockey_stick(scale, epsilon=epsilon)
        edges = self._edges(scale)
        if edges is None or epsilon > _LARGEST_EPSILON:
            return coupled
        left, right, factor = edges[:-1], edges[1:], math.exp(epsilon)
        found = {secret: _densities(law, left, right, scale) for secret, law in self._wide.items()}
        orders = [order for pair in self._pairs for order in (pair, pair[::-1])]
        cells = [_exceeding(found[s], found[t], (right - left) / scale, factor) for s, t in orders]
        bounds = np.array([known + float(open_.sum()) for known, open_ in cells])
        upper, worst = 0.0, self._pairs[0]
        for k in np.argsort(-bounds, kind="stable").tolist():
            if bounds[k] <= upper:
                break
            known, open_ = cells[k]
            above = self._narrowed(orders[k], left, right, open_, scale=scale, factor=factor, known=known, floor=upper)
            if above > upper:
                upper, worst = above, self._pairs[k // 2]
        upper = min(1.0, upper * (1 + UNIT_ROUNDOFF * (edges.size + 40)) + _BEYOND)
        if upper >= coupled.bracket.upper:
            return coupled
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=worst)

    def _narrowed(
        self,
        pair: Pair,
        left: FloatArray,
        right: FloatArray,
        open_: FloatArray,
        *,
        scale: float,
        factor: float,
        known: float,
        floor: float,
    ) -> float:
        """What is known, and what the cells hold where the sign of the difference is not, from narrower ones; less
        narrow where it is at most the floor.
        """
        for _ in range(_ROUNDS):
            split, rest = open_ > 0, float(open_.sum())
            if rest <= _TOLERANCE * known or known + rest <= floor:
                break
            cuts = left[split, None] + (right - left)[split, None] * np.linspace(0.0, 1.0, _PARTS + 1)
            cuts[:, -1] = right[split]
            left, right = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
            p, q = (_densities(self._wide[secret], left, right, scale) for secret in pair)
            decided, open_ = _exceeding(p, q, (right - left) / scale, factor)
            known += decided
        return known + float(open_.sum())

    def _edges(self, scale: float) -> FloatArray | None:
        """Ends of the cells; None where they would be too many."""
        if not scale or (self._positions[-1] - self._positions[0]) / scale > _MOST_EDGES / _FINENESS - 4 * _REACH:
            return None
        first, last = self._positions[0] - _REACH * scale, self._positions[-1] + _REACH * scale
        steps = math.ceil((last - first) / scale * _FINENESS)
        return np.union1d(self._positions, np.linspace(first, last, steps + 1))


def _on_grid(sets: Mapping[Secret, LawSet]) -> dict[Secret, LawSet]:
    """The same sets, or wider ones whose ends lie on a grid."""
    positions = positions_of(list(sets.values()))
    if positions.size <= _MOST_POSITIONS:
        return dict(sets)
    grid = np.linspace(positions[0], positions[-1], _MOST_POSITIONS)
    found = {}
    for secret, law in sets.items():
        below = np.searchsorted(grid, law.lows, side="right") - 1
        above = np.minimum(np.searchsorted(grid, law.highs), grid.size - 1)
        found[secret] = LawSet.of(
            law.weights,
            np.minimum(grid[below], law.lows),
            np.maximum(grid[above], law.highs),
            weights_error=law.weights_error,
        )
    return found


def _densities(law: LawSet, left: FloatArray, right: FloatArray, scale: float) -> _Densities:
    """Each interval is nearest at its closer end, and farthest at its other one; the noise falls with the distance.

    No end and no midpoint of an interval lies strictly inside a cell.
    """
    lows, highs, weights = law.lows, law.highs, law.weights
    middles = lows + (0.5 * highs - 0.5 * lows)
    farthest = max(float(np.abs(left).max()), float(np.abs(right).max()))
    slack = law.weights_error + 64 * UNIT_ROUNDOFF * (_REACH**2 + farthest / scale)
    y, z = left[:, None], right[:, None]
    before, after, passed = highs <= y, lows >= z, middles <= y
    inside = (~before & ~after) @ weights / _NONE
    # distances of the nearer and of the farther end of an interval, at the near and at the far end of the cell from it
    near = np.where(before, y - highs, np.where(after, lows - z, 0.0)) / scale
    off = np.where(before, z - highs, np.where(after, lows - y, 0.0)) / scale
    least_far = np.where(passed, y - lows, highs - z) / scale
    most_far = np.where(passed, z - lows, highs - y) / scale
    outside = (before | after) / _NONE
    rounding = 4 * UNIT_ROUNDOFF
    return _Densities(
        most=((ndtr(-near) - ndtr(-off)) @ weights + inside * (right - left) / scale) * (1 + slack) + rounding,
        least=np.maximum((ndtr(-least_far) - ndtr(-most_far)) @ weights * (1 - slack) - rounding, 0.0),
        highest=((np.exp(-0.5 * near**2) * outside) @ weights + inside) * (1 + slack),
        floor=((np.exp(-0.5 * off**2) * outside) @ weights + inside) * (1 - slack),
        lowest=np.exp(-0.5 * most_far**2) @ weights / _NONE * (1 - slack),
        ceiling=np.exp(-0.5 * least_far**2) @ weights / _NONE * (1 + slack),
    )


def _exceeding(p: _Densities, q: _Densities, widths: FloatArray, factor: float) -> tuple[float, FloatArray]:
    """The integral of [p - factor q]_+ over cells where the sign is known, and bounds of it over each other cell."""
    certain = p.floor >= factor * q.ceiling
    largest = np.maximum(p.highest - factor * q.lowest, 0.0) * widths
    whole = np.maximum(p.most - factor * q.least, 0.0)
    return float(np.minimum(whole, largest)[certain].sum()), np.where(certain, 0.0, largest)
