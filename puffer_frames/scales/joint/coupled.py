"""The scales of several columns whose law a coupling of whole rows keeps private: any number of columns."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.joint.joint_loss import JointLaw, JointLoss, WrongRows
from puffer_frames.loss.joint.joint_stick import JointStick
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, up
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.priors.summary import JointCounts, JointRows
from puffer_frames.scales.beliefs import ONLY
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import Bootstrap, Contamination, LearnedBelief, of_secrets, resampled


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

    - `one`, `other`: Rows in boxes; the distance is an upper bound for the laws of the rows.
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


def _least(far: FloatArray) -> float:
    """Within less than this nothing couples two laws: the distance from each box to the nearest one of the other."""
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
        distance += max(_between_means(table, varies, ratios) for table in tables)
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
        return _largest(boxed, ratios, near=_NEAR) + _between_means(joint, varies, ratios)


def is_coupled_within(
    tables: Sequence[JointCounts], scales: Sequence[float], /, *, epsilon: float, pairs: Pairs
) -> bool:
    """Whether a coupling of whole rows proves this loss at these scales, up to rounding, in each of some tables."""
    varies, most = [k for k, scale in enumerate(scales) if scale], epsilon * (1 + 1e-9)
    laws, ratios = _pairs_of(tables, varies, pairs), np.array([scales[k] for k in varies])
    with np.errstate(over="ignore", under="ignore"):
        left = most - max(_between_means(table, varies, ratios) for table in tables)
        boxed = _boxed(laws, ratios, _edges(len(varies)), _labels_of(tables[0], varies))
        return all(coupling_distance(one, other, ratios, at_least=left) <= left for one, other in boxed)


def _between_means(joint: JointCounts, columns: Sequence[int], ratios: FloatArray) -> float:
    """How far apart two rows of cells may be beyond the means of their cells, at most."""
    found = sum(joint.widths.get(k, 0.0) / ratio for k, ratio in zip(columns, ratios.tolist(), strict=True))
    return 2 * found * (1 + 2.0**-40)


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
        if max(_least(first.apart(second, ratios)) for first, second in boxed) * size < least:
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
    found: Any = scipy.optimize.minimize(
        cost, start, method="Nelder-Mead", options={"maxfev": _TRIALS, "initial_simplex": corners, "fatol": 1e-3}
    )
    return [_ratios_of(logs) for logs in (found.x, starts[0], starts[2])]


def _ratios_of(logs: FloatArray) -> FloatArray:
    return np.exp(np.clip(logs - logs.mean(), -30.0, 30.0))


EMPIRICAL = "empirical"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointBelief:
    """One belief that the guarantee covers."""

    tables: tuple[JointCounts, ...]
    """Frequencies of rows; the guarantee is under those of each."""
    words: str
    """What it is, in a sentence."""
    learned: LearnedBelief | None = None
    """The entry that it was learned from, where there is one."""
    shares: Mapping[Secret, float] | None = None
    """With which probability each row of a secret is replaced by anything on the domain, where there is one."""

    def clipped(self, bounds: Mapping[int, Bounds], /) -> JointBelief:
        """With the values of each column within its bounds."""
        tables = []
        for table in self.tables:
            counts = {}
            for secret, (points, often) in table.counts.items():
                inside = points.copy()
                for k, (low, high) in bounds.items():
                    inside[:, k] = inside[:, k].clip(low, high)
                counts[secret] = inside, often
            tables.append(replace(table, counts=counts))
        return replace(self, tables=tuple(tables))


def check_entries(entries: Sequence[Any], /) -> None:
    """Raise ArgumentError for beliefs that are not about whole rows."""
    known = (ONLY, "fitted", EMPIRICAL)
    if any(not isinstance(entry, (JointCounts, Bootstrap, Contamination)) and entry not in known for entry in entries):
        raise ArgumentError(
            "beliefs",
            rule='"empirical", frames, Bootstrap() and Contamination() for several public columns',
            got="others",
            hint="For later rows say Contamination(share=0.02), or a larger share, which covers more of them. For any "
            'law within domain={column: (low, high)} say Noise(theorem="bounded"), and leave beliefs out.',
        )


def joint_beliefs(entries: Sequence[Any], joint: JointCounts, /) -> dict[str, JointBelief]:
    """The beliefs by name. Frames add to the observed frequencies, unless "only" or another belief is named.

    Raises ArgumentError for a frame that lacks a secret.
    """
    check_entries(entries)
    named: dict[str, JointBelief] = {}
    words = any(isinstance(entry, str) and entry != ONLY for entry in entries)
    if words or all(isinstance(entry, JointCounts) for entry in entries):
        named[EMPIRICAL] = JointBelief(tables=(joint,), words="the observed frequencies of whole rows of these columns")
    for entry in entries:
        if isinstance(entry, JointCounts):
            number = 1 + sum(name.startswith("other table") for name in named)
            name = "other table" if number == 1 else f"other table {number}"
            other = replace(entry, counts=of_secrets(entry.counts, joint.counts))
            named[name] = JointBelief(tables=(other,), words="the frequencies of rows of another table")
        elif isinstance(entry, Contamination):
            shares = {secret: entry.share_of(secret, rows) for secret, rows in joint.rows_per_secret.items()}
            named[entry.title] = JointBelief(tables=(joint,), words=entry.words, learned=entry, shares=shares)
        elif isinstance(entry, Bootstrap):
            rng, rows = np.random.default_rng(int(entry.seed)), joint.counts.items()
            drawn = [{secret: resampled(own, rng) for secret, own in rows} for _ in range(int(entry.resamples))]
            tables = tuple(replace(joint, counts=counts) for counts in drawn)
            named[entry.title] = JointBelief(tables=tables, words=entry.words, learned=entry)
    return named


def joint_words(entries: Sequence[Any], /) -> dict[str, str]:
    """The names and words that `joint_beliefs` gives these entries."""
    none = JointCounts(columns=(), counts={}, labels={})
    empty = [replace(entry, counts={}) if isinstance(entry, JointCounts) else entry for entry in entries]
    return {name: belief.words for name, belief in joint_beliefs(empty, none).items()}


MOST_COLUMNS = 4
"""With more columns the grid is too large."""


def any_joint_loss(choices: Iterable[Choice], /) -> float:
    """The pure loss of a row under any law on the ranges of the columns is at most this; a column without noise is
    constant.
    """
    reach = 0.0
    for choice in choices:
        low, high = choice.bounds or (0.0, 0.0)
        reach += (high - low) / choice.scale if choice.scale else 0.0
    return reach * (1 + 2.0**-42)  # less than noise is given for its grid: a loss of epsilon is printed as epsilon


def unrounded(target: Target, /, *, noise: NoiseFamily, columns: int) -> Target:
    """What unrounded values of so many columns must meet so that those on the grid meet the target."""
    for _ in range(columns):
        target = noise.unrounded(target)
    return target


def worst_loss(
    belief: JointBelief,
    scales: Sequence[float],
    target: Target,
    *,
    pairs: Pairs,
    bounds: Mapping[int, Bounds],
    levels: Mapping[int, int],
    rows: int,
    by_delta: bool,
    confirmed: bool = True,
) -> tuple[Verification, Pair]:
    """The largest losses of a belief: at scales that were `confirmed` for it epsilon or delta, at most."""
    varies = [k for k, scale in enumerate(scales) if scale]
    wrong = None if belief.shares is None else wrong_rows(belief.shares, bounds, belief.tables[0], varies)
    found = [
        measured(table, scales, target, pairs=pairs, wrong=wrong, levels=levels, rows=rows) for table in belief.tables
    ]
    most, pair = max(found, key=lambda one: one[0].loss(delta=by_delta).upper)
    pure, stick = (math.inf, target.delta) if by_delta else (target.epsilon, 0.0)
    if not confirmed:
        pure, stick = math.inf, 1.0
    loss = Verification(
        pure_loss=_at_most([one.pure_loss for one, _ in found], pure),
        hockey_stick=_at_most([one.hockey_stick for one, _ in found], stick),
        epsilon=most.epsilon,
    )
    return loss, pair


def _at_most(found: Sequence[Bracket], proved: float) -> Bracket:
    """The largest of some brackets, each of which is proved to be at most so much."""
    lower, upper = max(one.lower for one in found), max(one.upper for one in found)
    return Bracket(lower=min(lower, proved), upper=min(upper, proved))


def measured(
    joint: JointCounts,
    scales: Sequence[float],
    target: Target,
    /,
    *,
    pairs: Pairs,
    enough: float | None = None,
    wrong: WrongRows | None = None,
    levels: Mapping[int, int] | None = None,
    rows: int = 1,
) -> tuple[Verification, Pair]:
    """The joint loss of some rows at these scales, and the pair with the largest one.

    - `target`: The hockey stick is measured at its epsilon, where it has a delta.
    - `enough`: An upper bound of the pure loss of this, by default epsilon, is not made less.
    - `wrong`: With which probability each row is replaced by anything, whatever its value.
    - `levels` (mapping of column number to int): How many levels the columns of labels are released with, where these
      rows may have fewer.
    - `rows`: Number of independent rows of a unit that the loss is for.
    """
    varies = [k for k, scale in enumerate(scales) if scale]
    first = list(joint.counts)[:2]
    bracket, pair = Bracket(lower=0.0, upper=0.0), (first[0], first[-1])
    stick = None
    if any(not scale and varies_in((joint,), k) for k, scale in enumerate(scales)):
        bracket = Bracket(lower=0.0, upper=float("inf"))  # a column without noise in the plan, which varies here
    elif len(varies) > MOST_COLUMNS:
        bracket, pair = _coupled_bracket(joint, scales, pairs=pairs)
    elif varies:
        labels = levels_of(joint, varies) | {p: levels[k] for p, k in enumerate(varies) if levels and k in levels}
        loss = JointLoss(laws_of(joint, varies), pairs=pairs, labels=labels, wrong=wrong)
        used = [scales[k] for k in varies]
        bracket = loss.bracket(used, enough=target.share(rows).epsilon if enough is None else enough)
        pair = loss.worst_pair(used)
        if target.delta and bracket.upper * rows > target.epsilon and loss.is_whole:
            joint_stick = JointStick(loss, pairs=pairs, levels=labels, rows=rows)
            worst = joint_stick.hockey_stick(used, epsilon=target.epsilon)
            stick, pair = worst.bracket, worst.pair
    if rows > 1:  # the pure losses of independent rows add up
        ends = bracket.lower * rows * (1 - 2 * UNIT_ROUNDOFF), bracket.upper * rows * (1 + 2 * UNIT_ROUNDOFF)
        bracket = Bracket(lower=ends[0], upper=ends[1])
    stick = stick or Bracket(lower=0.0, upper=0.0 if bracket.upper <= target.epsilon else 1.0)
    return Verification(pure_loss=bracket, hockey_stick=stick, epsilon=target.epsilon), pair


def _coupled_bracket(joint: JointCounts, scales: Sequence[float], *, pairs: Pairs) -> tuple[Bracket, Pair]:
    """For more columns than the grid has: at least the loss of one of them, at most what a coupling of whole rows
    proves.
    """
    upper = coupled_loss(joint, scales, pairs=pairs)
    lower, worst = 0.0, (next(iter(joint.counts)), list(joint.counts)[-1])
    for k, scale in enumerate(scales):
        if scale:
            one = JointLoss(laws_of(joint, [k]), pairs=pairs, labels=levels_of(joint, [k]))
            if (found := one.bracket([scale], enough=0.0).lower) > lower:
                lower, worst = found, one.worst_pair([scale])
    return Bracket(lower=min(lower, upper), upper=upper), worst


def wrong_rows(
    shares: Mapping[Secret, float], bounds: Mapping[int, Bounds], joint: JointCounts, varies: Sequence[int]
) -> WrongRows:
    """Rows that are replaced by anything within the bounds, of columns that vary."""
    domain = {k: bounds[column] for k, column in enumerate(varies) if column in bounds}
    return WrongRows(shares=shares, domain=domain, levels=levels_of(joint, varies))


def levels_of(joint: JointCounts, columns: Sequence[int]) -> dict[int, int]:
    """How many levels the columns of labels among some columns have, by their place there."""
    return {place: len(joint.labels[k]) for place, k in enumerate(columns) if k in joint.labels}


def laws_of(joint: JointCounts, columns: Sequence[int]) -> dict[Secret, JointLaw]:
    """The frequencies of rows of some columns, per secret."""
    widths = tuple(joint.widths.get(k, 0.0) for k in columns) if joint.widths else ()
    return {
        secret: JointLaw(points=points[:, columns], weights=counts / counts.sum(), widths=widths)
        for secret, (points, counts) in joint.counts.items()
    }


def varies_in(tables: Sequence[JointCounts], column: int) -> bool:
    """Whether a column has two values in some tables."""
    values, _ = pooled(tables, column)
    return bool(values.min() < values.max())


def pooled(tables: Sequence[JointCounts], column: int) -> tuple[FloatArray, FloatArray]:
    """All values of a column, and how often each occurs; a value may come several times."""
    parts = [part for table in tables for part in table.counts.values()]
    values = np.concatenate([points[:, column] for points, _ in parts])
    return values, np.concatenate([counts.astype(np.float64) for _, counts in parts])


def prior_of(rows: JointRows, column: int) -> Prior:
    """The frequencies of one column."""
    points, counts = rows
    values, codes = np.unique(points[:, column], return_inverse=True)
    return Prior.empirical(values, np.bincount(codes.ravel(), weights=counts).astype(np.int64))
