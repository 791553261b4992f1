"""Rows of several columns in boxes, so that few of them stand for many."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.joint_counts import JointRows
from puffer_frames.priors.prior import FloatArray


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
