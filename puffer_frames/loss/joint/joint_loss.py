"""The pure loss of several columns with independent Laplace noise, on a grid of lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import combinations, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.atoms.discrete import DiscreteLoss
from puffer_frames.loss.outcome import Bracket
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import MEANS_ERROR, FloatArray, Secret

Scales: TypeAlias = Sequence[float] | FloatArray
"""One per column."""
Axes: TypeAlias = tuple[int, ...]
"""Numbers of columns."""

_EXP, _PRODUCT, _STEP, _ADDED = 8.0, 0.2, 4000.0, 1.5
"""Nanoseconds, about: an exponential, a number in a product of matrices; a step of a sweep, a number in it."""
_TOGETHER, _ROWS_TOGETHER = 1 << 17, 1 << 15
"""Nodes, of all laws, and rows that are evaluated together, unless one law has more."""
_WIDE = 2.0**-6
"""Slabs of so many scales have no narrow parts to lose digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointLaw:
    """A law of several columns: rows, and their probabilities."""

    points: FloatArray
    """Shape (rows, columns)."""
    weights: FloatArray
    """They sum to 1, shape (rows,)."""
    widths: tuple[float, ...] = ()
    """Per column that of the cells whose rows a row stands for, with their means, and 0 for a column of values; empty
    where all are of values. A cell begins at a multiple of its width."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Where the coordinates of rows lie among the lines of one axis."""

    slabs: NDArray[np.intp]
    """The line to the left, never the last one, shape (rows,)."""
    widths: FloatArray
    """Widths of the slabs between the lines."""
    lefts: FloatArray
    """Distance to the line on the left."""
    rights: FloatArray
    """Distance to the line on the right."""
    inside: NDArray[np.bool_]
    """Whether a row is on no line."""
    on_lines: NDArray[np.intp] | None
    """The line that each row is on; None where some row is on none."""

    @classmethod
    def of(cls, values: FloatArray, lines: FloatArray, /) -> _Axis:
        slabs = np.clip(np.searchsorted(lines, values, side="right") - 1, 0, lines.size - 2)
        lefts, rights = values - lines[slabs], lines[slabs + 1] - values
        inside = (lefts > 0) & (rights > 0)
        on_lines = None if inside.any() else slabs + (lefts > 0)
        return cls(slabs, np.diff(lines), lefts, rights, inside, on_lines)

    def parts(self, scale: float, /) -> tuple[FloatArray, FloatArray]:
        """The weights with which a row stands on its two lines, as seen from outside the slab.

        Where no slab is narrow, 1 - e**(-2 x) is (1 - e**-x) (1 + e**-x): for either axis a density is right to 320
        unit roundoffs more, which are among those of `JointLoss.rounding`.
        """
        whole = np.expm1(-2 * self.widths / scale)[self.slabs]
        left, right = np.exp(-self.lefts / scale), np.exp(-self.rights / scale)
        if float(self.widths.min()) >= _WIDE * scale:
            whole = -1 / whole
            return left * (1 - right) * (1 + right) * whole, right * (1 - left) * (1 + left) * whole
        with np.errstate(divide="ignore", invalid="ignore"):
            left *= np.expm1(-2 * self.rights / scale) / whole
            right *= np.expm1(-2 * self.lefts / scale) / whole
        if not whole.all():  # a slab is nothing beside the scale: a row stands on the left line
            left, right = np.where(whole == 0, 1.0, left), np.where(whole == 0, 0.0, right)
        return left, right


class PlacedLaws:
    """Laws on a grid of at least two lines per axis, which begin and end at or beyond all rows.

    An axis of labels has the numbers of all levels for lines, and the kernel of randomised response: 1 for the level
    itself, :math:`e^{-1/b}` for every other one.
    """

    def __init__(self, laws: Sequence[JointLaw], lines: Sequence[FloatArray], *, labels: Collection[int] = ()) -> None:
        self.lines = lines
        self._labels = labels
        self._count = len(laws)
        self._weights = np.concatenate([law.weights for law in laws])
        self._owners = np.repeat(np.arange(len(laws)), [law.weights.size for law in laws])
        points = np.concatenate([law.points for law in laws])
        self._axes = [_Axis.of(points[:, k], line) for k, line in enumerate(lines)]
        self._all = self._cells(slice(None))
        self._last: tuple[tuple[float, ...], list[tuple[FloatArray, FloatArray] | None]] = (), []
        self.on_lines = all(axis.on_lines is not None for axis in self._axes)
        """Whether every row is on a node."""

    def at_nodes(self, scales: Scales, /) -> FloatArray:
        r"""The density :math:`\sum_i p_i \prod_k e^{-|y_k - x_{ik}|/b_k}` of each law at every node, exact but for
        rounding.

        Shape laws + nodes.
        """
        found = self._standing((), self._parts(scales))
        for k in reversed(range(len(self.lines))):  # the first axis last, so that the sums lie in order
            found = self._spread(found, k, 1 + k, scales[k])
        return found

    def bounds(self, scales: Scales, /) -> FloatArray:
        """At every corner of every cell what bounds the densities within the cell, in units of the interpolation there.

        Shape laws + (2,) * columns + cells. On each axis what a row adds within its own slab is as large at both ends.
        """
        slabs, parts = [axis.inside.any() for axis in self._axes], self._parts(scales)
        sizes = [line.size + (line.size - 1) * held for line, held in zip(self.lines, slabs, strict=True)]
        found = np.zeros((self._count, *sizes))  # along each axis what stands on lines, then what is within slabs
        for within in product(*((False, True) if held else (False,) for held in slabs)):
            axes = tuple(k for k, inside in enumerate(within) if inside)
            if not axes or self._inside(axes).any():
                ends = [line.size for line in self.lines]
                part = [slice(end, None) if inside else slice(end) for end, inside in zip(ends, within, strict=True)]
                found[(slice(None), *part)] = self._standing(axes, parts)
        for done, k in enumerate(reversed(range(len(self.lines)))):
            line, before = self.lines[k], (slice(None),) * (1 + done + k)
            nodes = self._spread(found[(*before, slice(line.size))], k, len(before), scales[k])
            found, own = np.stack([nodes[(*before, slice(b, b + line.size - 1))] for b in (0, 1)], axis=1), found
            if slabs[k]:
                growth = np.sinh(np.diff(line) / (2 * scales[k])).reshape([-1] + [1] * (len(self.lines) - 1 - k))
                found += (own[(*before, slice(line.size, None))] * growth)[:, None]
        return found

    def _inside(self, axes: Axes) -> NDArray[np.bool_]:
        return np.logical_and.reduce([self._axes[k].inside for k in axes])

    def _cells(self, chosen: NDArray[np.bool_] | slice) -> _Cells:
        at = [axis.slabs if axis.on_lines is None else axis.on_lines for axis in self._axes]
        shape = (self._count, *(axis.widths.size + (axis.on_lines is not None) for axis in self._axes))
        places = np.ravel_multi_index([own[chosen] for own in (self._owners, *at)], shape)
        return _Cells(chosen, shape, places, self._weights[chosen])

    def _parts(self, scales: Scales) -> list[tuple[FloatArray, FloatArray] | None]:
        """The weights of the rows on their two lines, for each axis, None where all rows are on lines; those at the
        last scales are asked for again.
        """
        at = tuple(map(float, scales))
        if self._last[0] != at:
            both = zip(self._axes, at, strict=True)
            self._last = at, [axis.parts(scale) if axis.on_lines is None else None for axis, scale in both]
        return self._last[1]

    def _standing(self, within: Axes, parts: Sequence[tuple[FloatArray, FloatArray] | None]) -> FloatArray:
        """What stands on the lines of all axes but some; of the rows inside the slabs of these, by slab there."""
        cells = self._cells(self._inside(within)) if within else self._all
        split = {k: part for k, part in enumerate(parts) if part is not None and k not in within}
        found = np.zeros([self._count, *(line.size - (k in within) for k, line in enumerate(self.lines))])
        for corner in product((0, 1), repeat=len(split)):
            sides = dict(zip(split, corner, strict=True))
            weights = reduce(np.multiply, [split[k][side][cells.chosen] for k, side in sides.items()], cells.weights)
            at = tuple(slice(sides.get(k, 0), sides.get(k, 0) + size) for k, size in enumerate(cells.shape[1:]))
            found[(slice(None), *at)] += np.bincount(cells.places, weights, math.prod(cells.shape)).reshape(cells.shape)
        return found

    def _spread(self, standing: FloatArray, column: int, axis: int, scale: float) -> FloatArray:
        """What stands on the lines of a column, an axis of the array, seen from all its lines."""
        if column in self._labels:
            return _mixed(standing, axis, math.exp(-1 / scale))
        return _swept(standing, axis, self.lines[column], scale)


def in_groups(
    laws: Iterable[JointLaw], lines: Sequence[FloatArray], /, *, labels: Collection[int] = ()
) -> list[PlacedLaws]:
    """The laws on a grid, in their order: those of few rows, on few nodes, together."""
    most = max(_TOGETHER // math.prod(line.size for line in lines), 1)
    groups, rows = list[list[JointLaw]](), 0
    for law in laws:
        rows += law.weights.size
        if not groups or len(groups[-1]) == most or rows > _ROWS_TOGETHER:
            groups.append([])
            rows = law.weights.size
        groups[-1].append(law)
    return [PlacedLaws(group, lines, labels=labels) for group in groups]


@dataclass(frozen=True, slots=True)
class _Cells:
    """The places of some of the laws' rows: by line on axes whose rows all lie on lines, by slab on others."""

    chosen: NDArray[np.bool_] | slice
    """Which rows."""
    shape: tuple[int, ...]
    """Laws, and lines or slabs per axis."""
    places: NDArray[np.intp]
    weights: FloatArray


def _mixed(sums: FloatArray, axis: int, other: float) -> FloatArray:
    """Sums over the levels of an axis: what stands at a level, and this part of what stands at all others."""
    return other * sums.sum(axis=axis, keepdims=True) + (1 - other) * sums


def _swept(sums: FloatArray, axis: int, lines: FloatArray, scale: float) -> FloatArray:
    """Sums over the lines of an axis of what stands there times the kernel: one sweep forward and one back, or on small
    grids one product of matrices, which takes less time.
    """
    moved = np.moveaxis(sums, axis, 0)
    given = np.ascontiguousarray(moved).reshape(lines.size, -1)
    if lines.size * (_EXP + _PRODUCT * given.shape[1]) < 2 * (_STEP + _ADDED * given.shape[1]):
        found = np.exp(np.abs(lines[:, None] - lines) / -scale) @ given
        return np.moveaxis(found.reshape(moved.shape), 0, axis)
    decays = np.exp(-np.diff(lines) / scale)
    found, buffer = given.copy(), np.empty(given.shape[1])
    for k, decay in enumerate(decays, 1):
        found[k] += np.multiply(decay, found[k - 1], out=buffer)
    buffer[:] = 0.0
    for k in range(decays.size - 1, -1, -1):  # what all later lines add
        buffer += given[k + 1]
        buffer *= decays[k]
        found[k] += buffer
    return np.moveaxis(found.reshape(moved.shape), 0, axis)


MOST_NODES = 2_000_000
"""The most nodes of an exact grid of all coordinates; of a larger one, some lines are chosen."""
_MOST_LINES = 2_000
"""The most lines of an axis: a sweep takes a step for each."""
_FIRST_NODES = 8_000
_MOST_CORNERS = 16_000_000
"""The most corners of all cells; each takes some floats for each secret."""
_ROUNDS = 12
_NEAR = 1e-4
"""A bracket is narrow enough where its ends differ by this part."""
_MOST_ALONE = 1 << 23
"""Secrets times values of one column, which are held as a table."""
_MANY_ROWS = 1 << 15
_MANY_NODES = 1 << 16
"""Laws of so many rows, or on so many nodes, are evaluated in two threads."""
LARGEST_REACH = 600.0
"""The ranges in units of the scales add up to at most this: beyond, sums of kernels leave the range of floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointWorst:
    """A point of the released columns, and the pair with the largest loss there."""

    point: FloatArray
    """Shape (columns,)."""
    pair: Pair
    """The likelier secret first."""
    loss: float
    """Log of the ratio of the densities at the point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRows:
    """Rows that are replaced by anything on a domain, each with a probability that depends on its secret alone."""

    shares: Mapping[Secret, float]
    domain: Mapping[int, tuple[float, float]]
    """Per column of numbers; no coordinate is outside."""
    levels: Mapping[int, int] = field(default_factory=dict)
    """How many levels each column of labels has, whether or not rows have them."""

    def of(self, column: int, /) -> WrongRows:
        """The same of one column by itself."""
        return replace(
            self,
            domain={0: self.domain[column]} if column in self.domain else {},
            levels={0: self.levels[column]} if column in self.levels else {},
        )

    def lines(self, column: int, axis: FloatArray, /) -> FloatArray:
        """The coordinates of an axis with the ends and the middle of the domain."""
        if column in self.levels:
            return np.arange(self.levels[column], dtype=np.float64)
        if column not in self.domain:
            return axis
        low, high = self.domain[column]
        return np.union1d(axis, [low, low + (high - low) / 2, high])

    def widths(self, ranges: FloatArray, /) -> list[float]:
        """The widths of the domain; of labels the ranges."""
        ends = {k: high - low for k, (low, high) in self.domain.items()}
        return [1.0 if k in self.levels else ends.get(k, float(width)) for k, width in enumerate(ranges)]

    def farthest(self, column: int, axis: FloatArray, /) -> FloatArray:
        """The largest distance of each coordinate to anything on the domain."""
        if column not in self.domain:
            return np.ones(axis.size)
        low, high = self.domain[column]
        return np.maximum(axis - low, high - axis)


class JointLoss:
    r"""Largest :math:`|\log f_s / f_t|` over pairs and released rows.

    With scales b the densities are, but for a constant, :math:`f_s(y) = \sum_i p_i \prod_k e^{-|y_k - x_{ik}|/b_k}`.

    - `labels`: Whose values are numbers of levels. For these the distance is 1 for another level.
    - `wrong`: With which probability each row is replaced by anything, whatever its value.
    - `most_nodes`: A grid of all coordinates with more nodes is thinned to some of its lines.

    The supremum is at a node of the product grid of all coordinates. On fewer lines the values at nodes are exact too,
    and in every cell a bound follows from those at its corners; so it is of replaced rows, whatever the lines. Of rows
    that were counted in cells, whose edges are the lines, the loss is bounded from their means.
    **Rounding**: counted, in both ends.
    See docs/theory.md, section 17.
    """

    def __init__(
        self,
        laws: Mapping[Secret, JointLaw],
        *,
        pairs: Pairs,
        labels: Collection[int] = (),
        wrong: WrongRows | None = None,
        most_nodes: int = MOST_NODES,
    ) -> None:
        self.laws, self.labels, self.wrong, self._most = laws, labels, wrong, most_nodes
        self._asked = pairs
        self.columns = next(iter(laws.values())).points.shape[1]
        self._secrets = list(laws)
        listed = tuple(combinations(laws, 2)) if pairs == "all" and wrong is not None else pairs
        self._pairs = None if listed == "all" else [pair for a, b in listed for pair in ((a, b), (b, a))]
        self._alike = len({law.widths for law in laws.values()}) == 1
        self._widths = np.max([law.widths or (0.0,) * self.columns for law in laws.values()], axis=0)
        self.coordinates = [
            _two(_edges(np.unique(np.concatenate([law.points[:, k] for law in laws.values()])), width))
            for k, width in enumerate(self._widths.tolist())
        ]
        if wrong is not None:
            self.coordinates = [wrong.lines(k, axis) for k, axis in enumerate(self.coordinates)]
        self._take(self._first_lines())

    @property
    def ranges(self) -> list[float]:
        """The range of each column."""
        lows = np.min([law.points.min(axis=0) for law in self.laws.values()], axis=0)
        highs = np.max([law.points.max(axis=0) for law in self.laws.values()], axis=0)
        lows, highs = lows - self._widths, highs + self._widths
        found: list[float] = (highs - lows).tolist() if self.wrong is None else self.wrong.widths(highs - lows)
        return [min(1.0, width) if k in self.labels else width for k, width in enumerate(found)]

    @property
    def is_whole(self) -> bool:
        """Whether all coordinates are lines, so that nodes alone are exact."""
        return self.wrong is None and not self._widths.any() and all(placed.on_lines for placed in self._placed)

    @cached_property
    def alone(self) -> DiscreteLoss | None:
        """The engine of one column, where there is no other: exact, and for scales that are as small as one likes."""
        (axis, *others), count = self.coordinates, len(self.laws)
        if others or self.labels or self.wrong is not None or self._widths.any() or count * axis.size > _MOST_ALONE:
            return None
        table, most = np.zeros((count, axis.size)), 1
        for row, law in zip(table, self.laws.values(), strict=True):
            places = np.searchsorted(axis, law.points[:, 0])
            row += np.bincount(places, law.weights, axis.size)
            most = max(most, int(np.bincount(places).max()))
        pairs = self._asked if self._asked == "all" else tuple(self._asked)
        error = (most + 4) * UNIT_ROUNDOFF  # of a sum of so many weights
        return DiscreteLoss.of_table(self._secrets, axis, table, pairs=pairs, error=error)

    def nodes(self, scales: Scales, /) -> dict[Secret, FloatArray]:
        """The density of each secret at all nodes, but for a constant."""
        return dict(zip(self._secrets, self._each(lambda placed: placed.at_nodes(scales)), strict=True))

    def worst(self, scales: Scales, /) -> JointWorst:
        """The node of the grid with the largest loss; a lower bound, but for rounding."""
        loss, place, pair = self._worst_of_all(scales) if self._pairs is None else self._worst_of_pairs(scales)
        where = np.unravel_index(place, [line.size for line in self.lines])
        point = np.array([line[k] for line, k in zip(self.lines, where, strict=True)])
        return JointWorst(point=point, pair=pair, loss=loss)

    def worst_pair(self, scales: Scales, /) -> Pair:
        """The pair of `worst`; any where no density is in the range of floats."""
        if self.alone is not None:
            return self.alone.pure(float(scales[0])).pair
        return self.worst(scales).pair if self.is_in_range(scales) else (self._secrets[0], self._secrets[-1])

    def _worst_of_all(self, scales: Scales) -> tuple[float, int, Pair]:
        """The largest and the smallest density at each node; those of all secrets are not held at once."""
        found = (nodes.ravel() for nodes in self._each(lambda placed: placed.at_nodes(scales)))
        most = least = next(found)
        first, last = np.zeros(most.size, dtype=np.int32), np.zeros(most.size, dtype=np.int32)
        for k, nodes in enumerate(found, 1):
            first[nodes > most] = k
            last[nodes < least] = k
            most, least = np.maximum(most, nodes), np.minimum(least, nodes)
        most /= least
        place = int(most.argmax())
        return math.log(most[place]), place, (self._secrets[first[place]], self._secrets[last[place]])

    def _each(self, work: Callable[[PlacedLaws], FloatArray]) -> Iterator[FloatArray]:
        """What the work gives for each law, two groups of laws at a time."""
        rows = max(law.weights.size for law in self.laws.values())
        large = rows >= _MANY_ROWS or math.prod(line.size for line in self.lines) >= _MANY_NODES
        for start in range(0, len(self._placed), 2):
            for found in each_of(self._placed[start : start + 2], work, large=large):
                yield from found

    def _worst_of_pairs(self, scales: Scales) -> tuple[float, int, Pair]:
        nodes = self.nodes(scales)
        tops = {secret: np.log(self._at_most(secret, found)) for secret, found in nodes.items()}
        logs = {secret: np.log(self._at_least(secret, found, scales)) for secret, found in nodes.items()}
        best: tuple[float, int, Pair] = (-math.inf, 0, (None, None))
        for a, b in self._pairs or ():
            apart = tops[a] - logs[b]
            place = int(apart.argmax())
            if (found := float(apart.ravel()[place])) > best[0]:
                best = found, place, (a, b)
        return best

    def is_in_range(self, scales: Scales, /) -> bool:
        """Whether the sums of kernels at these scales are in the range of floats."""
        return self._reach(scales) <= LARGEST_REACH * (1 + 2.0**-20)

    def bracket(self, scales: Scales, /, *, enough: float) -> Bracket:
        """Bounds of the loss; lines are added until the upper one is at most `enough`, or near the lower one."""
        if self.alone is not None:
            return self.alone.pure(float(scales[0])).bracket
        if not self.is_in_range(scales):
            return Bracket(lower=0.0, upper=self._reach(scales) * (1 + 2.0**-40))
        error = self.rounding(scales) + self._between_means(scales)
        for _ in range(_ROUNDS):
            lower = self.worst(scales).loss
            if self.is_whole:
                return _widened(lower, lower, error)
            cells = self._cell_bounds(scales)
            upper = max(lower, float(cells.max()))
            near = max(enough, lower + _NEAR * abs(lower))
            if upper + error <= near or not self._refine(cells > near, scales):
                break
        return _widened(lower, upper, error)

    def _cell_bounds(self, scales: Scales) -> FloatArray:
        """Upper bounds of the loss within each cell."""
        cells = tuple(line.size - 1 for line in self.lines)
        found = np.full(cells, -math.inf)
        if self._pairs is None:  # those of all secrets need not be held at once
            most = reduce(np.maximum, self._each(lambda placed: placed.bounds(scales)))
            least = reduce(np.minimum, self._each(lambda placed: placed.at_nodes(scales)))
            sides = [(most, least)]
        else:
            factor = 1.0 if self.wrong is None else self._between_corners(scales)
            bounds = zip(self._secrets, self._each(lambda placed: placed.bounds(scales)), strict=True)
            tops = {s: self._at_most(s, bound, factor) for s, bound in bounds}
            nodes = {s: self._at_least(s, found, scales) for s, found in self.nodes(scales).items()}
            sides = [(tops[a], nodes[b]) for a, b in self._pairs]
        for most, least in sides:
            for corner in product((0, 1), repeat=self.columns):
                part = tuple(slice(bit, bit + size) for bit, size in zip(corner, cells, strict=True))
                found = np.maximum(found, np.log(most[corner]) - np.log(least[part]))
        return found

    def _at_most(self, secret: Secret, densities: FloatArray, factor: FloatArray | float = 1.0) -> FloatArray:
        """The densities where the replaced rows of a secret are at the node itself; times a factor within a cell."""
        if self.wrong is None:
            return densities
        share = self.wrong.shares[secret]
        return (1 - share) * densities + share * factor

    def _at_least(self, secret: Secret, densities: FloatArray, scales: Scales) -> FloatArray:
        """The densities at nodes where the replaced rows of a secret are in the farthest corner of the domain."""
        if self.wrong is None:
            return densities
        share, axes = self.wrong.shares[secret], enumerate(zip(self.lines, scales, strict=True))
        away = reduce(np.add.outer, [self.wrong.farthest(k, line) / scale for k, (line, scale) in axes])
        return (1 - share) * densities + share * np.exp(-away)

    def _between_corners(self, scales: Scales) -> FloatArray:
        """By how much 1 exceeds what is interpolated between the corners of each cell where these hold 1, at most."""
        axes = enumerate(zip(self.lines, scales, strict=True))
        own = [np.ones(1) if k in self.labels else np.cosh(np.diff(line) / (2 * scale)) for k, (line, scale) in axes]
        return reduce(np.multiply.outer, own)

    def rounding(self, scales: Scales, /) -> float:
        """Largest error of a log-ratio: sums of positive terms, each with the error of its decays and parts."""
        steps = sum(line.size for line in self.lines)
        rows = max(law.weights.size for law in self.laws.values())
        return UNIT_ROUNDOFF * (16 * steps + 24 * self._reach(scales) + 4 * rows + 3000)

    def _between_means(self, scales: Scales) -> float:
        """By how much the loss of rows that were counted in cells differs from that of the means of the cells, at most.

        No line is within a cell, so the kernel at a node is the exponential of a linear function there: its mean is at
        least that at the mean, and at most e**(spread**2 / 8) times as large, by Hoeffding's lemma. Where lines may be
        anywhere, each row moves by a width.
        """
        if not self._widths.any():
            return 0.0
        spread = float(sum(width / scale for width, scale in zip(self._widths, scales, strict=True)))
        if self.wrong is not None or not self._alike:
            return 2 * spread * (1 + 2.0**-20)
        farthest = [float(np.abs(axis).max()) for axis in self.coordinates]
        rounding = sum(far / scale for far, scale in zip(farthest, scales, strict=True))
        return (spread**2 / 8 + 2 * (MEANS_ERROR * spread + 4 * UNIT_ROUNDOFF * rounding)) * (1 + 2.0**-20)

    def _reach(self, scales: Scales) -> float:
        """The loss of a row under any law is at most this."""
        return float(sum(width / scale for width, scale in zip(self.ranges, scales, strict=True)))

    def _first_lines(self) -> list[FloatArray]:
        sizes = [axis.size for axis in self.coordinates]
        most = min(self._most, 20 * MOST_NODES // len(self.laws))  # of many secrets, whose densities are held at once
        if math.prod(sizes) <= most and max(sizes) <= _MOST_LINES:
            return list(self.coordinates)
        lines_per_axis = min(_MOST_LINES, max(4, int(_FIRST_NODES ** (1 / self.columns))))
        return [axis if k in self.labels else _spread(axis, lines_per_axis) for k, axis in enumerate(self.coordinates)]

    def _refinable(self, column: int, line: FloatArray) -> NDArray[np.intp]:
        """The slabs of an axis that a further line can be in, as numbers above 0."""
        if self.wrong is None or column in self.labels:
            return _between(self.coordinates[column], line)
        middles = (line[:-1] + line[1:]) / 2
        return ((line[:-1] < middles) & (middles < line[1:])).astype(np.intp)

    def cross(self, point: FloatArray, /) -> None:
        """Add lines through a point whose coordinates rows have."""
        self._take([np.union1d(line, [x]) for line, x in zip(self.lines, point, strict=True)])

    def _take(self, lines: list[FloatArray]) -> None:
        self.lines = lines
        """The lines of each axis."""
        self._placed = in_groups(self.laws.values(), lines, labels=self.labels)

    def _refine(self, wrong: NDArray[np.bool_], scales: Scales) -> bool:
        """Add lines through the cells whose bound is too large, across their longest side; False where none can be."""
        lines, more = self.lines, []
        between = [self._refinable(k, line) for k, line in enumerate(lines)]
        places = np.argwhere(wrong)
        sides = np.stack(
            [
                np.where(held[places[:, k]] > 0, np.diff(line)[places[:, k]] / scale, 0.0)
                for k, (line, held, scale) in enumerate(zip(lines, between, scales, strict=True))
            ]
        )
        longest = sides.max(axis=0)
        for k, line in enumerate(lines):
            chosen = np.unique(places[(sides[k] >= 0.7 * longest) & (sides[k] > 0), k])
            if self.wrong is None or k in self.labels:
                more.append(_middles(self.coordinates[k], line, chosen))
            else:
                more.append((line[chosen] + line[chosen + 1]) / 2)
        if not any(found.size for found in more):
            return False
        lines = [np.union1d(line, found) for line, found in zip(lines, more, strict=True)]
        if 2**self.columns * math.prod(line.size for line in lines) > _MOST_CORNERS:
            return False
        self._take(lines)
        return True


def _widened(lower: float, upper: float, error: float) -> Bracket:
    return Bracket(lower=max(0.0, lower - error), upper=max(0.0, upper + error))


def _edges(values: FloatArray, width: float) -> FloatArray:
    """The edges of the cells that hold some values; of no width the values themselves."""
    if not width:
        return values
    numbers = np.floor(values / width)
    return np.union1d(numbers, numbers + 1) * width


def _two(axis: FloatArray) -> FloatArray:
    """At least two coordinates, so that there is a cell."""
    return axis if axis.size > 1 else np.append(axis, np.nextafter(axis, np.inf))


def _spread(axis: FloatArray, count: int) -> FloatArray:
    """Some coordinates, half of them at equal ranks, half of them at equal steps, and both ends."""
    if axis.size <= count:
        return axis
    ranks = np.linspace(0, axis.size - 1, count // 2 + 1).round().astype(np.intp)
    steps = np.searchsorted(axis, np.linspace(axis[0], axis[-1], count // 2 + 1)).clip(0, axis.size - 1)
    return axis[np.union1d(ranks, steps)]


def _between(axis: FloatArray, lines: FloatArray) -> NDArray[np.intp]:
    """How many coordinates are strictly between neighbouring lines."""
    places = np.searchsorted(axis, lines)
    return np.diff(places) - 1


def _middles(axis: FloatArray, lines: FloatArray, slabs: NDArray[np.intp]) -> FloatArray:
    """The coordinate nearest to the middle of each of these slabs."""
    if not slabs.size:
        return np.zeros(0)
    low, high = np.searchsorted(axis, lines[slabs]) + 1, np.searchsorted(axis, lines[slabs + 1]) - 1
    middle = np.searchsorted(axis, (lines[slabs] + lines[slabs + 1]) / 2)
    return axis[np.clip(middle, low, high)]
