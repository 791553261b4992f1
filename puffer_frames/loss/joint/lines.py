"""A product grid of lines, rows split onto its nodes, and sums of Laplace kernels at every node."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray

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
    """Of the slabs between the lines."""
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
    """Where some of the rows of the laws are: by line on axes whose rows are all on lines, by slab on others."""

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
