"""The scales of several columns whose law a coupling of whole rows keeps private: any number of columns."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize

from puffer_frames.errors import CalibrationError
from puffer_frames.numbers.rounding import up
from puffer_frames.priors.joint_counts import JointCounts, JointRows
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray
from puffer_frames.priors.row_coupling import RowBoxes, coupling_distance, least_distance

_NEAR = 4e-3
"""How near to the least distance one is searched for, as a fraction of it."""
_EDGES, _EDGES_OF_MANY, _MOST_BOXES, _LEAST_BOXES = 4_000_000, 1_500_000, 2_000, 24
"""Pairs of boxes of all pairs of secrets, of up to 4 columns and of more; and boxes of the rows of one secret."""
_TRIAL_EDGES, _TRIAL_NEAR = 60_000, 1e-2
"""The same for the search of the ratios."""
_TRIALS = 100


def coupled_scales(
    tables: Sequence[JointCounts],
    varies: Sequence[int],
    /,
    *,
    epsilon: float,
    pairs: Pairs,
    weights: Sequence[float],
    floors: Sequence[float],
    near: Sequence[float] | None = None,
) -> tuple[float, ...]:
    r"""Scales :math:`b_k = r_k W_\infty / \varepsilon`, where :math:`W_\infty` is in the metric
    :math:`\sum_k |x_k - x'_k| / r_k`.

    - `tables` (sequence of JointCounts): The scales hold for the rows of each.
    - `varies` (sequence of int): Numbers of the columns that have a scale.
    - `epsilon`, `pairs`: What is asked for.
    - `weights` (sequence of float, shape (columns with a scale,)): What a unit of a scale costs. The ratios r are
      searched for with these: at least as good as the standard deviations, 1 / weight, and the ranges, and not always
      the best ones.
    - `floors` (sequence of float, shape (columns with a scale,)): No scale is below its own.
    - `near` (sequence of float, shape (columns with a scale,)): Good scales of tables like these: their ratios are
      taken, and no others are searched for.

    See docs/theory.md, section 17.
    """
    laws, labels = _pairs_of(tables, varies, pairs), _labels_of(tables[0], varies)
    units = 1 / np.asarray(weights, dtype=np.float64)
    spans = np.ptp(np.concatenate([points for pair in laws for points, _ in pair]), axis=0)
    spans[list(labels)] = np.minimum(spans[list(labels)], 1.0)
    with np.errstate(over="ignore", under="ignore"):
        if near is None:
            tried = [units * shares for shares in _ratios(laws, units, np.maximum(spans / units, 1e-6), labels)]
        else:
            tried = [np.asarray(near, dtype=np.float64)]
        ratios, distance = _cheapest(laws, tried, units, labels)
    if not math.isfinite(distance):
        raise CalibrationError(
            "the range of the columns",
            rule="one that floats hold in units of their spread",
            got="a wider one",
            hint="Scale the columns, or give smaller bounds in domain.",
        )
    wanted = [up(Fraction(ratio) * Fraction(distance) / Fraction(epsilon)) for ratio in ratios.tolist()]
    return tuple(max(floor, scale) for floor, scale in zip(floors, wanted, strict=True))


def coupled_loss(joint: JointCounts, scales: Sequence[float], /, *, pairs: Pairs) -> float:
    """An upper bound of the loss of whole rows at these scales, which are positive where a column varies."""
    varies = [k for k, scale in enumerate(scales) if scale]
    ratios = np.array([scales[k] for k in varies])
    with np.errstate(over="ignore", under="ignore"):
        boxed = _boxed(_pairs_of([joint], varies, pairs), ratios, _edges(len(varies)), _labels_of(joint, varies))
        return _largest(boxed, ratios, near=_NEAR)


def _labels_of(joint: JointCounts, columns: Sequence[int]) -> Collection[int]:
    """Which of some columns hold labels, by their place there."""
    return [place for place, k in enumerate(columns) if k in joint.labels]


def _edges(columns: int) -> int:
    return _EDGES if columns <= 4 else _EDGES_OF_MANY


def _cheapest(
    laws: Sequence[tuple[JointRows, JointRows]], tried: Sequence[FloatArray], units: FloatArray, labels: Collection[int]
) -> tuple[FloatArray, float]:
    """The ratios with the least sum times distance, and the distance."""
    best, least = (tried[0], math.inf), math.inf
    for ratios in tried:
        boxed, size = _boxed(laws, ratios, _edges(units.size), labels), float((ratios / units).sum())
        if max(least_distance(one, other, ratios) for one, other in boxed) * size < least:
            distance = _largest(boxed, ratios, near=_NEAR)
            if distance * size < least:
                best, least = (ratios, distance), distance * size
    return best


def _pairs_of(tables: Sequence[JointCounts], columns: Sequence[int], pairs: Pairs) -> list[tuple[JointRows, JointRows]]:
    found = []
    for table in tables:
        rows = {secret: (points[:, columns], counts) for secret, (points, counts) in table.counts.items()}
        listed = list(combinations(rows, 2)) if pairs == "all" else pairs
        found += [(rows[a], rows[b]) for a, b in listed]
    return found


def _boxed(
    laws: Sequence[tuple[JointRows, JointRows]], ratios: FloatArray, edges: int, labels: Collection[int]
) -> list[tuple[RowBoxes, RowBoxes]]:
    """With so many pairs of boxes in all."""
    most = int(min(_MOST_BOXES, max(_LEAST_BOXES, math.sqrt(edges / len(laws)))))
    made: dict[int, RowBoxes] = {}  # a law is in several pairs
    for rows in (rows for pair in laws for rows in pair):
        if id(rows) not in made:
            made[id(rows)] = RowBoxes.of(rows, ratios, most=most, labels=labels)
    return [(made[id(a)], made[id(b)]) for a, b in laws]


def _largest(boxed: Sequence[tuple[RowBoxes, RowBoxes]], ratios: FloatArray, *, near: float) -> float:
    found = 0.0
    for one, other in boxed:
        found = coupling_distance(one, other, ratios, at_least=found, near=near)
    return found


def _ratios(
    laws: Sequence[tuple[JointRows, JointRows]], units: FloatArray, spans: FloatArray, labels: Collection[int]
) -> list[FloatArray]:
    """Ratios in the units of the columns: equal ones, those of the ranges, and what a search on few boxes finds."""
    count = units.size
    if count == 1:
        return [np.ones(1)]
    boxed = _boxed(laws, units, _TRIAL_EDGES, labels)

    def cost(logs: FloatArray) -> float:
        ratios = _ratios_of(logs)
        return _largest(boxed, ratios * units, near=_TRIAL_NEAR) * float(ratios.sum())

    starts = [np.zeros(count), np.log(spans) / 2, np.log(spans)]
    start = min(starts, key=cost)
    corners = np.vstack([start, *(start + 0.7 * side for side in np.eye(count))])
    found: Any = minimize(
        cost, start, method="Nelder-Mead", options={"maxfev": _TRIALS, "initial_simplex": corners, "fatol": 1e-3}
    )
    return [_ratios_of(logs) for logs in (found.x, starts[0], starts[2])]


def _ratios_of(logs: FloatArray) -> FloatArray:
    return np.exp(np.clip(logs - logs.mean(), -30.0, 30.0))
