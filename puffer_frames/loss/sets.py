"""Sets of laws: their exact pure loss under Laplace noise, and upper bounds of their hockey stick."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.atoms.recursion import LARGEST_EPSILON, LEAST, AtomDensities, filled, log_densities
from puffer_frames.loss.noises.coupled import CoupledSetsLoss
from puffer_frames.loss.outcome import Bracket, WorstCase
from puffer_frames.noise.families import GAUSSIAN
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.law_set import LawSet
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret

_LOG_LEAST = float(np.log(LEAST))
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Extremes:
    r"""Both densities of several sets of laws, as coefficients per cell between neighbouring positions.

    At a distance s b from the left end of a cell of width g b, with the largest density f_max and the smallest f_min
    that a law of the set can have there,

    .. math::
        2b f_{\max} = A + B e^{s - g} + C e^{-s}, \qquad 2b f_{\min} = D e^{s - g} + E e^{-s},

    for an interval gives its largest density where it is nearest, and its smallest from its farther end: an atom at its
    midpoint, times :math:`e^{-h/b}` with half its length h.
    """

    gaps: FloatArray
    """Widths g of the cells, shape (cells,)."""
    log_a: FloatArray
    """log A rounded up: weight of the intervals that hold the cell, shape (sets, cells), as the others."""
    slack_a: FloatArray
    """By how much log A may be too large."""
    log_b: FloatArray
    log_c: FloatArray
    log_d: FloatArray
    log_e: FloatArray
    units: float
    """Rounding error: a logarithm v of a density is right within UNIT_ROUNDOFF * units * (|v| + 12) + fixed."""
    fixed: float

    def error(self, value: FloatArray) -> FloatArray:
        """Bound of the absolute error of the logarithm of a density, given the logarithm."""
        return UNIT_ROUNDOFF * self.units * (np.abs(value) + 12.0) + self.fixed

    def largest(self) -> tuple[FloatArray, FloatArray]:
        """Log f_max at the left and the right ends of the cells."""
        left = np.logaddexp(self.log_a, np.logaddexp(self.log_c, self.log_b - self.gaps))
        right = np.logaddexp(self.log_a, np.logaddexp(self.log_c - self.gaps, self.log_b))
        return left, right

    def smallest(self) -> tuple[FloatArray, FloatArray]:
        """Log f_min there."""
        left = np.logaddexp(self.log_e, self.log_d - self.gaps)
        right = np.logaddexp(self.log_e - self.gaps, self.log_d)
        return left, right


def positions_of(sets: Sequence[LawSet], /) -> FloatArray:
    """The ends and midpoints of all intervals."""
    lows, highs = (np.concatenate([getattr(each, name) for each in sets]) for name in ("lows", "highs"))
    return np.unique(np.concatenate([lows, highs, lows + _halves(lows, highs)]))


def _halves(lows: FloatArray, highs: FloatArray) -> FloatArray:
    return 0.5 * highs - 0.5 * lows


class Intervals:
    """The intervals of several sets of laws, prepared once for many scales."""

    def __init__(self, sets: Sequence[LawSet], /) -> None:
        self._sizes = np.array([each.weights.size for each in sets])
        self._weights, lows, highs = (
            np.concatenate([getattr(each, name) for each in sets]) for name in ("weights", "lows", "highs")
        )
        self._halves = _halves(lows, highs)
        ends, places = np.unique(np.concatenate([lows, highs, lows + self._halves]), return_inverse=True)
        self.positions = ends
        self._lows, self._highs, self._middles = np.split(places, 3)
        self._rows = np.repeat(np.arange(len(sets)), self._sizes)
        self._weights_error = max(each.weights_error for each in sets)
        self._moved = 2.0 * float(np.spacing(np.abs(ends).max()))
        self._log_weights = np.log(self._weights)
        self._near_high, self._near_low = self._table(self._highs), self._table(self._lows)
        self._held, self._slack = self._holding()

    def at(self, scale: float, /) -> Extremes:
        """The densities under Laplace noise of a scale above 0, for which no cell is infinitely wide.

        **Cost**: linear in sets times positions.
        """
        near_high, near_low = (
            log_densities(self.positions, table, scale=scale) for table in (self._near_high, self._near_low)
        )
        far = self._far(scale)
        tables = near_high, near_low, far
        return Extremes(
            gaps=far.gaps,
            log_a=self._held,
            slack_a=self._slack,
            log_b=near_low.log_b[:, 1:],
            log_c=near_high.log_a[:, :-1],
            log_d=far.log_b[:, 1:],
            log_e=far.log_a[:, :-1],
            units=max(table.roundoffs for table in tables) + 8.0,
            fixed=far.weights_error + self._moved / scale,
        )

    def _table(self, places: IndexArray) -> FloatArray:
        """Weights at these places, shape (sets, positions)."""
        table = np.zeros((self._sizes.size, self.positions.size))
        np.add.at(table, (self._rows, places), self._weights)
        return table

    def _holding(self) -> tuple[FloatArray, FloatArray]:
        """Log of the weight of the intervals that hold each cell, rounded up, and by how much it may be too large.

        Summed from whichever side has the smaller error: a running sum has that of all the sums before it.
        """
        wide = self._lows < self._highs
        rows, weights = self._rows[wide], self._weights[wide]
        changes, size = np.zeros((2, self._sizes.size, self.positions.size))
        for places, sign in ((self._lows[wide], 1.0), (self._highs[wide], -1.0)):
            np.add.at(changes, (rows, places), sign * weights)
            np.add.at(size, (rows, places), weights)
        meeting = np.bincount(np.concatenate([self._lows[wide], self._highs[wide]]), minlength=1).max()
        forward = np.cumsum(changes[:, :-1], axis=1)
        backward = -np.cumsum(changes[:, :0:-1], axis=1)[:, ::-1]
        unit = UNIT_ROUNDOFF * (2.0 + float(meeting))
        from_left = unit * np.cumsum(np.abs(forward) + size[:, :-1], axis=1)
        from_right = unit * np.cumsum((np.abs(backward) + size[:, 1:])[:, ::-1], axis=1)[:, ::-1]
        nearer = from_left < from_right
        held, error = np.where(nearer, forward, backward), np.where(nearer, from_left, from_right)
        most, least = np.maximum(held + error, 0.0), np.maximum(held - error, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = np.where(most > 0, np.log(most) - np.log(least), 0.0)
            return np.log(most), slack

    def _far(self, scale: float) -> AtomDensities:
        """The smallest densities: atoms at the midpoints."""
        halves = self._halves / scale
        logs = self._log_weights - halves
        error = self._weights_error + 4 * UNIT_ROUNDOFF * (4.0 - float(logs.min()))
        key = self._rows * self.positions.size + self._middles
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.append(True, np.diff(key[order]) != 0))
        logs = np.logaddexp.reduceat(logs[order], starts)
        rows, places = np.divmod(key[order][starts], self.positions.size)
        table = np.zeros((self._sizes.size, self.positions.size))
        if logs.min() > _LOG_LEAST:
            table[rows, places] = np.exp(logs)
            return log_densities(self.positions, table, scale=scale, weights_error=error)
        exponents = np.zeros(table.shape, dtype=np.intp)
        powers = np.floor(logs / _LOG_2)
        table[rows, places] = np.exp(logs - powers * _LOG_2)
        exponents[rows, places] = powers.astype(np.intp)
        return log_densities(self.positions, table, filled(table, exponents), scale=scale, weights_error=error)


_WIDEST = 1000.0
"""Beyond so many scales the exponentials of a cell leave the floats."""
_LARGEST = 500.0
"""No logarithm is moved by a larger epsilon."""
_NEAR = 1e-9
"""A maximum so near the end of a cell, relative to its width, counts as inside for the upper bound only."""


def largest_inside(e: Extremes, i: IndexArray, j: IndexArray, cells: IndexArray, /) -> tuple[FloatArray, FloatArray]:
    r"""Bounds of the supremum of log f_max,i/f_min,j in each cell, its ends included; shape (pairs, cells).

    With z the exponential of the place, measured from the middle of the cell, the ratio is
    :math:`(B z^2 + A z + C)/(D z^2 + E)`. Its only stationary point is a maximum, of the value

    .. math:: \lambda = \frac{BE + CD + \sqrt{(BE - CD)^2 + A^2 D E}}{2 D E},

    which grows with A, B and C and falls with D and E: the relative errors of these are its own.
    """
    a, b, c, slack = (table[i, cells] for table in (e.log_a, e.log_b, e.log_c, e.slack_a))
    d, f, gaps = e.log_d[j, cells], e.log_e[j, cells], e.gaps[cells]
    most = np.logaddexp(a, np.logaddexp(c, b - gaps)), np.logaddexp(a, np.logaddexp(c - gaps, b))
    least = np.logaddexp(f, d - gaps), np.logaddexp(f - gaps, d)
    ends = np.maximum(most[0] - least[0], most[1] - least[1])
    error = e.error(np.abs(most[0]) + np.abs(most[1]) + gaps) + e.error(np.abs(least[0]) + np.abs(least[1]) + gaps)
    with np.errstate(invalid="ignore", divide="ignore"):  # empty parts: then there is no maximum inside
        be, cd = b + f, c + d
        difference = np.maximum(be, cd) + np.log(-np.expm1(-np.abs(be - cd)))
        difference = np.where(np.isnan(difference), -np.inf, difference)
        root = 0.5 * np.logaddexp(2 * difference, 2 * a + d + f + gaps)
        place = np.logaddexp(difference, root) - 0.5 * gaps
        beside = np.abs(np.where(be >= cd, place - a - d, a + f - place)) - 0.5 * gaps
        peak = np.logaddexp(np.logaddexp(be, cd), root) - _LOG_2 - d - f
    known = np.isfinite(peak)
    inside, outside = known & (beside < -_NEAR * gaps), ~known | ~(beside <= _NEAR * gaps)
    size = sum(np.where(np.isfinite(part), np.abs(part), 0.0) for part in (a, b, c, d, f)) + gaps
    error = error + np.where(outside, 0.0, 16 * UNIT_ROUNDOFF * (size + 4.0))
    upper = np.where(outside, ends, np.maximum(ends, peak)) + error
    lower = np.where(inside, np.maximum(ends, peak), ends) - error - slack
    return lower, upper


def positive_integral(e: Extremes, i: IndexArray, j: IndexArray, /, *, epsilon: float) -> FloatArray:
    r"""Upper bound of the integral of :math:`[f_{\max, i} - e^\varepsilon f_{\min, j}]_+`, shape (pairs,).

    It grows with A, B and C and falls with D and E, which are taken at the ends of their errors.
    """
    i, j = i[:, 0], j[:, 0]
    a = _above(e, e.log_a[i])
    b = _above(e, e.log_b[i]) - _below(e, e.log_d[j] + epsilon)
    c = _above(e, e.log_c[i]) - _below(e, e.log_e[j] + epsilon)
    inside = _between(a, b, c, e.gaps)
    most, least = e.largest(), e.smallest()
    left = _above(e, most[0][i, 0]) - _below(e, least[0][j, 0] + epsilon)
    right = _above(e, most[1][i, -1]) - _below(e, least[1][j, -1] + epsilon)
    total = inside.sum(axis=1) + np.maximum(left, 0.0) + np.maximum(right, 0.0)
    return np.minimum(0.5 * total * (1 + UNIT_ROUNDOFF * (e.gaps.size + 40.0)), 1.0)


def _above(e: Extremes, logarithm: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(logarithm), e.error(logarithm), 0.0)
    return np.exp(logarithm + error) * (1 + 8 * UNIT_ROUNDOFF)


def _below(e: Extremes, logarithm: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        error = np.where(np.isfinite(logarithm), e.error(np.abs(logarithm) + 2 * _LARGEST), 0.0)
    return np.exp(logarithm - error) * (1 - 8 * UNIT_ROUNDOFF)


def _between(a: FloatArray, b: FloatArray, c: FloatArray, g: FloatArray) -> FloatArray:
    """Upper bound of the integral over [0, g] of the positive part of a + b e^{s - g} + c e^{-s}, with a >= 0."""
    narrow = np.minimum(g, _WIDEST)
    q = np.exp(-0.5 * narrow)
    p, r = b * q, c * q
    square = a * a - 4 * p * r
    root = np.sqrt(np.maximum(square, 0.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        start = np.where(r < 0, np.log(-2 * r) - np.log(a + root), -np.inf) + 0.5 * narrow
        end = np.where(p < 0, np.log(a + root) - np.log(-2 * p), np.inf) + 0.5 * narrow
    start, end = np.clip(start, 0.0, narrow), np.clip(end, 0.0, narrow)
    empty = ((square < 0) & (p < 0) & (r < 0)) | ~(end > start)  # positive everywhere where neither is negative
    length = end - start
    parts = a * length, -b * np.exp(end - narrow) * np.expm1(-length), -c * np.exp(-start) * np.expm1(-length)
    found = np.maximum(sum(parts), 0.0) + 64 * UNIT_ROUNDOFF * sum(np.abs(part) for part in parts)
    integral = np.where(empty, 0.0, found)
    crude = a * g + np.maximum(b, 0.0) + np.maximum(c, 0.0)
    return np.where(g > _WIDEST, crude, integral)


_MOST_ENTRIES = 1 << 23
"""Sets times positions of one table; beyond it each pair has a table of its own."""
_MOST_CELLS = 1 << 24
"""With more ordered pairs times cells, each pair has a table of its own for the hockey stick."""
_CHUNK = 1 << 20
"""Entries of the largest temporary table."""
MOST_PAIRS = 5000
"""The most pairs that are compared one by one."""
_NO_NOISE = 1e-12
"""Below this share of the span, the loss of noise is bounded by none at all."""


class LaplaceSetsLoss:
    r"""Privacy loss of several sets of laws: the largest over every law of one and every law of the other.

    .. math:: \varepsilon^*(b) = \max_{s, t} \sup_y \log f_{\max, s}(y) / f_{\min, t}(y)

    Both densities are attained, by laws that may differ from one y to another, so the pure loss is exact. The hockey
    stick has the integral of :math:`[f_{\max, s} - e^\varepsilon f_{\min, t}]_+` as an upper bound, and that of the
    pair of the largest and the smallest law as a lower one.

    **Cost** per evaluation: linear in sets times intervals, and in ordered pairs times the cells that might hold the
    supremum.
    See docs/theory.md, section 14.
    """

    def __init__(self, sets: Mapping[Secret, LawSet], /, *, pairs: Pairs) -> None:
        self._sets, self._pairs, self._secrets = dict(sets), pairs, list(sets)
        lows, highs = zip(*(each.ends for each in sets.values()), strict=True)
        self.span: float = max(highs) - min(lows)
        if len(sets) > 2 and not self._in_one_table:
            check_pairs_of_sets(len(sets), pairs)

    @property
    def resolution(self) -> float:
        """Smallest distance between two ends of intervals."""
        ends = np.unique(np.concatenate([part for each in self._sets.values() for part in (each.lows, each.highs)]))
        return float(np.diff(ends).min(initial=self.span)) or self.span

    def only(self, pair: Pair, /) -> LaplaceSetsLoss:
        return LaplaceSetsLoss({secret: self._sets[secret] for secret in pair}, pairs=(pair,))

    def pure(self, scale: float, /) -> WorstCase:
        """Largest log f_max/f_min over the ordered pairs and over y."""
        if scale <= self.span * _NO_NOISE:
            return self._raw(math.inf)
        found = [group._pure(scale) for group in self._groups()]
        _, upper, pair = max(found, key=lambda each: each[1])
        return WorstCase(bracket=Bracket(lower=max(each[0] for each in found), upper=upper), pair=pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        if scale <= self.span * _NO_NOISE:
            return self._raw(1.0)
        pure = self.pure(scale)
        if pure.bracket.upper <= epsilon:
            return WorstCase(bracket=Bracket(lower=0.0, upper=0.0), pair=pure.pair)
        many = len(self._secrets) > 2 and self._ends[0].size * self._intervals.positions.size > _MOST_CELLS
        found = [group._stick(scale, epsilon) for group in (self._one_by_one() if many else self._groups())]
        upper, pair = max(found, key=lambda each: each[0])
        lower = self._of_outermost(pair, scale, epsilon)
        return WorstCase(bracket=Bracket(lower=lower, upper=max(lower, upper)), pair=pair)

    def _raw(self, most: float) -> WorstCase:
        """Without noise: laws that share no value, unless every law is the one constant."""
        pair = (self._secrets[0], self._secrets[1]) if self._pairs == "all" else self._pairs[0]
        return WorstCase(bracket=Bracket(lower=0.0, upper=most if self.span else 0.0), pair=pair)

    def _groups(self) -> list[LaplaceSetsLoss]:
        """All pairs at once where one table holds them, else one by one."""
        return [self] if len(self._secrets) == 2 or self._in_one_table else self._one_by_one()

    def _one_by_one(self) -> list[LaplaceSetsLoss]:
        """Each pair for itself; raises CalibrationError for too many."""
        check_pairs_of_sets(len(self._secrets), self._pairs)
        first, second = self._ends
        return [self.only((self._secrets[i], self._secrets[j])) for i, j in zip(first, second, strict=True) if i < j]

    @cached_property
    def _in_one_table(self) -> bool:
        return len(self._secrets) * positions_of(list(self._sets.values())).size <= _MOST_ENTRIES

    @cached_property
    def _intervals(self) -> Intervals:
        return Intervals(list(self._sets.values()))

    @cached_property
    def _ends(self) -> tuple[IndexArray, IndexArray]:
        """Places of the ordered pairs, both orders."""
        if self._pairs == "all":
            first, second = np.nonzero(~np.eye(len(self._secrets), dtype=bool))
            return first, second
        number = {secret: k for k, secret in enumerate(self._secrets)}
        ends = np.array([(number[a], number[b]) for a, b in self._pairs], dtype=np.intp)
        return np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])

    def _pure(self, scale: float) -> tuple[float, float, Pair]:
        """Lower and upper bound, and the pair of the upper one."""
        extremes = self._intervals.at(scale)
        if not extremes.gaps.size:
            return 0.0, 0.0, self._pair(0)
        first, second = self._ends
        pairs, cells = _candidates(extremes, first, second)
        low, high = largest_inside(extremes, first[pairs], second[pairs], cells)
        worst = int(high.argmax())
        return max(0.0, float(low.max())), max(0.0, float(high[worst])), self._pair(int(pairs[worst]))

    def _stick(self, scale: float, epsilon: float) -> tuple[float, Pair]:
        extremes = self._intervals.at(scale)
        first, second = self._ends
        step = max(1, _CHUNK // max(1, extremes.gaps.size))
        level, upper, worst = min(epsilon, LARGEST_EPSILON), 0.0, 0
        for start in range(0, first.size, step):
            part = slice(start, start + step)
            high = positive_integral(extremes, first[part, None], second[part, None], epsilon=level)
            if high.max() > upper:
                upper, worst = float(high.max()), start + int(high.argmax())
        return upper, self._pair(worst)

    def _of_outermost(self, pair: Pair, scale: float, epsilon: float) -> float:
        """The hockey stick of the law of the upper ends of one and of the lower ends of the other, and mirrored."""
        lower = 0.0
        for up, down in (pair, pair[::-1]):
            laws = [(self._sets[up], self._sets[up].highs), (self._sets[down], self._sets[down].lows)]
            positions, places = np.unique(np.concatenate([ends for _, ends in laws]), return_inverse=True)
            table = np.zeros((2, positions.size))
            for row, part in enumerate(np.split(places, [laws[0][1].size])):
                np.add.at(table[row], part, laws[row][0].weights)
            error = max(each.weights_error for each, _ in laws) + 8 * UNIT_ROUNDOFF
            outermost = DiscreteLoss.of_table((up, down), positions, table, pairs=((up, down),), error=error)
            lower = max(lower, outermost.hockey_stick(scale, epsilon=epsilon).bracket.lower)
        return lower

    def _pair(self, k: int) -> Pair:
        first, second = self._ends
        return self._secrets[int(first[k])], self._secrets[int(second[k])]


def check_pairs_of_sets(secrets: int, pairs: Pairs, /, *, most: int = MOST_PAIRS) -> None:
    """Raise CalibrationError for more pairs than are compared one by one."""
    listed = secrets * (secrets - 1) // 2 if pairs == "all" else len(pairs)
    if listed > most:
        raise CalibrationError(
            "the pairs of secrets with beliefs that are wider than one law per secret",
            rule=f"at most {most:,}, for columns of many different values and for other noise than Laplace's",
            got=f"{listed:,}",
            hint="List the pairs that matter, or leave out these beliefs.",
        )


def _candidates(extremes: Extremes, first: IndexArray, second: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Ordered pairs and cells that may hold the largest ratio of all.

    f_max is convex between positions, so largest at an end; and the logarithm of f_min falls by at most the distance.
    """
    largest, smallest = extremes.largest(), extremes.smallest()
    most, least = np.maximum(*largest), 0.5 * (smallest[0] + smallest[1] - extremes.gaps)
    seen = max(float(_of_two(high, low, first, second).max()) for high, low in zip(largest, smallest, strict=True))
    seen -= 1e-9 * (1 + abs(seen))
    cells = np.flatnonzero(_of_two(most, least, first, second) >= seen)
    step = max(1, _CHUNK // first.size)
    found = [
        (pairs, part[places])
        for part in (cells[k : k + step] for k in range(0, cells.size, step))
        for pairs, places in [np.nonzero(most[:, part][first] - least[:, part][second] >= seen)]
    ]
    return np.concatenate([pairs for pairs, _ in found]), np.concatenate([places for _, places in found])


def _of_two(most: FloatArray, least: FloatArray, first: IndexArray, second: IndexArray) -> FloatArray:
    """The largest difference in each column of an entry of `most` and of `least` in the rows of a pair, or of any two.

    Over all pairs only the two largest and the two smallest entries matter.
    """
    if first.size < len(most) * (len(most) - 1) or len(most) == 2:
        return (most[first] - least[second]).max(axis=0)
    columns = np.arange(most.shape[1])
    tops, bottoms = np.argpartition(-most, 1, axis=0)[:2], np.argpartition(least, 1, axis=0)[:2]
    best = np.full(columns.size, -np.inf)
    for top in tops:
        for bottom in bottoms:
            found = most[top, columns] - least[bottom, columns]
            best = np.maximum(best, np.where(top != bottom, found, -np.inf))
    return best


_MOST_POSITIONS = 512
"""Sets of more ends are widened to a grid of so many steps."""
_FINENESS = 6.0
"""Cells are at most this part of the noise's scale wide."""
_MOST_EDGES = 8192
"""With more cells, the noise is so small beside the span that the loss of a shift bounds it well enough."""
_ROUNDS, _PARTS, _TOLERANCE = 3, 6, 1e-3
"""Cells where the sign of the difference is not known are split so often, in so many parts, until they hold little."""
_REACH = 12.0
"""This many scales beyond the outermost value the noise has a probability below 1e-32."""
_BEYOND = 1e-30
_NONE = math.sqrt(2 * math.pi)


class _Densities(NamedTuple):
    """Densities of one set of laws, per cell: times the scale, which is the unit of lengths."""

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

    **Cost** per evaluation: cells times intervals per secret, and cells times ordered pairs.
    See docs/theory.md, section 14.
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
        if edges is None or epsilon > LARGEST_EPSILON:
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
