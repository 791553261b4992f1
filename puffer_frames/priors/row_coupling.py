"""Couplings of two laws of whole rows: pairs of rows, one of each law, that are never far apart."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.summary import JointRows


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBoxes:
    """Boxes that hold all rows of a law. A box with one row is that row."""

    lows: FloatArray
    """Shape (boxes, columns)."""
    highs: FloatArray
    counts: NDArray[np.int64]
    """How many rows are in each box."""
    labels: Collection[int] = ()
    """The columns whose values are numbers of levels: any two of these have the distance 1."""

    @classmethod
    def of(cls, rows: JointRows, ratios: FloatArray, /, *, most: int, labels: Collection[int] = ()) -> RowBoxes:
        """At most so many boxes. The one with the largest sum of side / ratio is halved until there are enough."""
        points, counts = rows
        if len(points) <= most:
            return cls(lows=points, highs=points, counts=counts.astype(np.int64), labels=labels)
        parts = _halved(points, ratios, most, labels)
        return cls(
            lows=np.stack([points[part].min(axis=0) for part in parts]),
            highs=np.stack([points[part].max(axis=0) for part in parts]),
            counts=np.array([counts[part].sum() for part in parts], dtype=np.int64),
            labels=labels,
        )

    def apart(self, other: RowBoxes, ratios: FloatArray, /) -> FloatArray:
        r"""The largest :math:`\sum_k |x_k - x'_k| / r_k` of a row of one box and a row of another, rounded up.

        For labels the distance is 1 for another level.

        Shape (boxes, boxes of the other).
        """
        far = np.zeros((len(self.counts), len(other.counts)))
        span = 0.0
        for k, ratio in enumerate(ratios.tolist()):
            one, two = self.highs[:, None, k] - other.lows[:, k], other.highs[:, k] - self.lows[:, None, k]
            widest = np.maximum(one, two)
            if k in self.labels:
                widest = np.minimum(widest, 1.0)
            far += widest / ratio
            span += float(widest.max()) / ratio
        return far + span * (len(ratios) + 3) * 2.0**-52


def _halved(points: FloatArray, ratios: FloatArray, most: int, labels: Collection[int]) -> Sequence[NDArray[np.intp]]:
    parts: list[NDArray[np.intp]] = []
    waiting: list[tuple[float, int, int, float]] = []

    def add(part: NDArray[np.intp]) -> None:
        lows, highs = points[part].min(axis=0), points[part].max(axis=0)
        widths = highs - lows
        for k in labels:
            widths[k] = min(widths[k], 1.0)
        sides = widths / ratios
        axis = int(sides.argmax())
        heapq.heappush(waiting, (-float(sides.sum()), len(parts), axis, float(lows[axis] / 2 + highs[axis] / 2)))
        parts.append(part)

    add(np.arange(len(points)))
    while len(waiting) < most:
        if not waiting[0][0]:
            break
        _, place, axis, middle = heapq.heappop(waiting)
        part = parts[place]
        values = points[part, axis]
        left = values <= min(middle, np.nextafter(values.max(), -np.inf))
        add(part[left])
        add(part[~left])
    return [parts[place] for _, place, _, _ in waiting]


_MOST_FLOW = 2**31 - 1
"""SciPy's flows are of 32 bits."""


def coupling_distance(
    one: RowBoxes, other: RowBoxes, ratios: FloatArray, /, *, at_least: float = 0.0, near: float = 0.0
) -> float:
    r"""The least distance within which two laws can be coupled: :math:`W_\infty` in the metric of `RowBoxes.apart`.

    - `one`, `other`: Of rows in boxes it is an upper bound for the laws of the rows.
    - `ratios` (array, shape (columns,)): Units of the columns.
    - `at_least`: A smaller distance need not be found.
    - `near`: How much more than the least distance the result may be, as a fraction of it.
    Returns: Never below the distance.

    A coupling within a distance is a flow in whole numbers: from each row of one law, as often as it occurs times the
    rows of the other law, to rows within the distance. **Cost**: some 10 flows with an edge per pair of boxes.
    See docs/theory.md, section 17.
    """
    far = one.apart(other, ratios)
    mine, theirs = int(one.counts.sum()), int(other.counts.sum())
    common = math.gcd(mine, theirs)
    supply, demand = one.counts * (theirs // common), other.counts * (mine // common)
    low = max(at_least, _least(far))
    if has_coupling(far <= low, supply, demand):
        return low
    steps = np.unique(far[far > low])
    first, last = -1, steps.size - 1  # the first is too small, the last is not
    while last - first > 1 and steps[last] > (steps[first] if first >= 0 else low) * (1 + near):
        between = math.sqrt(steps[last]) * math.sqrt(steps[first] if first >= 0 else low)
        middle = min(max(int(np.searchsorted(steps, between)), first + 1), last - 1)
        if has_coupling(far <= steps[middle], supply, demand):
            last = middle
        else:
            first = middle
    return float(steps[last])


def least_distance(one: RowBoxes, other: RowBoxes, ratios: FloatArray, /) -> float:
    """Within less than this nothing couples two laws: the distance from each box to the nearest one of the other."""
    return _least(one.apart(other, ratios))


def _least(far: FloatArray) -> float:
    return max(float(far.min(axis=1).max()), float(far.min(axis=0).max()))


def has_coupling(allowed: NDArray[np.bool_], supply: NDArray[np.int64], demand: NDArray[np.int64], /) -> bool:
    """Whether all of the supply, of each row, can go to the demand, of each column, through what is allowed.

    - `allowed`: array of bool, shape (rows, columns).
    - `supply`: array of int, shape (rows,).
    - `demand` (array of int, shape (columns,)): With the same sum.

    A flow in whole numbers, exact for sums below 2**50. Where they are beyond 32 bits, first in large units, then what
    is left. Of sums so large that more is left than 32 bits hold, the answer may be no where it is yes: more noise.
    """
    total = int(supply.sum())
    shift = max(0, (total // _MOST_FLOW).bit_length())
    flow = _Flow(allowed, supply >> shift, demand >> shift)
    if not shift:
        return flow.sent == total
    unit = 1 << shift
    back = flow.between() * unit
    more, less = supply - back.sum(axis=1), demand - back.sum(axis=0)
    left = int(more.sum())
    if left > _MOST_FLOW:  # far more than the large units leave over
        return False
    return _Flow(allowed, more, less, back=np.minimum(back, left)).sent == left


class _Flow:
    """A largest flow from rows to columns."""

    def __init__(
        self,
        allowed: NDArray[np.bool_],
        supply: NDArray[np.int64],
        demand: NDArray[np.int64],
        *,
        back: NDArray[np.int64] | None = None,
    ) -> None:
        self._shape = rows, columns = allowed.shape
        source, sink = rows + columns, rows + columns + 1
        starts, ends = (each.astype(np.int32) for each in np.nonzero(allowed))
        parts = [
            (np.full(rows, source), np.arange(rows), supply),
            (starts, ends + rows, np.minimum(supply[starts], demand[ends]) if back is None else None),
            (np.arange(columns) + rows, np.full(columns, sink), demand),
        ]
        if back is not None:
            most = np.full(starts.size, int(supply.sum()))
            parts[1] = (starts, ends + rows, most)
            returns = np.nonzero(back)
            parts.append((returns[1] + rows, returns[0], back[returns]))
        tails, heads, capacities = (np.concatenate([part[k] for part in parts]).astype(np.int32) for k in range(3))
        graph = coo_array((capacities, (tails, heads)), shape=(source + 2, source + 2)).tocsr()
        self._found = maximum_flow(graph, source, sink)

    @property
    def sent(self) -> int:
        """How much arrives."""
        return int(self._found.flow_value)

    def between(self) -> NDArray[np.int64]:
        """From each row to each column."""
        rows, columns = self._shape
        return self._found.flow[:rows, rows : rows + columns].toarray().astype(np.int64)
