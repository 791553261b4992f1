"""Largest log-ratio of mixtures of atoms under a symmetric, unimodal noise: a proved bracket by branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.noise.stable_shape import StableShape
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.numbers.threads import each_of
from puffer_frames.priors.prior import FloatArray, IndexArray

_MOST_CELLS, _FEWER_CELLS, _MOST_WORK = 60_000, 5_000, 1 << 26
"""The most cells, fewer for many atoms, and the most cells times atoms: beyond them a bracket stays as it is."""
_MOST_ROUNDS = 200
_FIRST_CELLS = 64
_FEW_ATOMS = 128
"""Up to so many atoms each is an end of a cell."""
_CHUNK = 1 << 15
"""Densities that are found at once, points times atoms: so many stay in the cache, which is three times as fast."""
_LARGE = 1 << 20
"""Densities from which on two threads pay."""
_WINGS = 30
"""Cells beyond the atoms on either side; each is four times as wide as the one before."""
_PARTS = 4
_SHARE = 0.3
"""Cells are split whose bound is beyond this share of the gap between what is reached and the largest bound."""
_LEAST = 1e-3
"""The tolerance is relative to at least this loss."""


Places: TypeAlias = tuple[int, int]


def largest_log_ratio(
    mixtures: Sequence[tuple[FloatArray, FloatArray]],
    ratios: Sequence[Places] | None,
    shape: StableShape,
    /,
    *,
    tolerance: float,
    unsure: Sequence[tuple[float, float]] = (),
) -> tuple[float, float, Places]:
    r"""Bounds of :math:`\max_{(i, j)} \sup_y |\log f_i(y) - \log f_j(y)|`, and the pair that reaches the lower one.

    - `mixtures` (list of (weights, atoms)): Atoms in units of the noise's scale.
    - `ratios` (list of (i, j), or None): Places in `mixtures`; None for all of them, which are then compared without a
      loop.
    - `tolerance`: Relative width that the bracket aims for.
    - `unsure` (list of (below, above)): By how much each true log-density may be below and above that of the atoms; the
      bounds pay for it.

    On a cell without atoms inside, every component lies between its values at the two ends, since the density falls on
    both sides of its atom; few atoms are all ends of cells. On any cell of width h a difference of two log-densities is
    also at most the larger of its ends + K h^2 / 8, where K bounds its second derivative beyond the distance of the
    atoms: that of a mixture is a mean of those of its components plus the variance of their slopes. And it is at most
    the span of the atoms times the steepest slope beyond their distance from the cell, since every atom can be moved to
    any other: that is what ends the tails. **Cost**: some hundred cells, O(atoms) each.
    """
    atoms = np.concatenate([x for _, x in mixtures])
    low, high = float(atoms.min()), float(atoms.max())
    places = np.unique(atoms)
    every = -(-places.size // _FEW_ATOMS)
    edges = np.unique(np.concatenate((places[::every], np.linspace(low - 4.0, high + 4.0, _FIRST_CELLS + 1))))
    wings = np.asarray((5.0 + high - low) * 4.0 ** np.arange(_WINGS), dtype=np.float64)
    edges = np.concatenate(((low - wings)[::-1], edges, high + wings))
    unsure = unsure or [(0.0, 0.0)] * len(mixtures)
    doubt = _doubt(unsure, ratios)
    beyond = (high - low) * float(shape.steepest_beyond(wings[-1:])[0]) + doubt
    fresh = np.stack((edges[:-1], edges[1:]))
    waiting, bounds = np.empty((2, 0)), np.empty(0)
    most_cells = min(_MOST_CELLS, max(_FEWER_CELLS, _MOST_WORK // atoms.size))
    best, worst, settled, tested, rounds = 0.0, ratios[0] if ratios else (0, 1), 0.0, 0, 0
    while fresh.size:
        rounds += 1
        (lower, reached), upper, uncertain = _test(fresh, mixtures, ratios, shape, places, unsure)
        if lower > best:
            best, worst = lower, reached
        tested += upper.size
        goal = best + tolerance * max(best, _LEAST)
        final = uncertain & (upper > goal)  # narrower cells would not be known better
        settled = max(settled, float(upper[final].max(initial=0.0)))
        open_ = ~final & (upper > best + 0.5 * (goal - best))
        waiting = np.concatenate((waiting, fresh[:, open_]), axis=1)
        bounds = np.concatenate((bounds, upper[open_]))
        top = float(bounds.max(initial=0.0))
        if top <= max(goal, settled) or tested > most_cells or rounds > _MOST_ROUNDS:
            break
        chosen = bounds > best + _SHARE * (top - best)
        fresh = _split(waiting[:, chosen])
        kept = ~chosen & (bounds > best + 0.5 * (goal - best))
        waiting, bounds = waiting[:, kept], bounds[kept]
    goal = best + tolerance * max(best, _LEAST)
    return max(best - 2.0 * doubt, 0.0), max(float(bounds.max(initial=0.0)), settled, beyond, goal), worst


def _doubt(unsure: Sequence[tuple[float, float]], ratios: Sequence[Places] | None) -> float:
    """How unsure the ratios are at the most."""
    if ratios is None:
        return max(below for below, _ in unsure) + max(above for _, above in unsure)
    return max(max(unsure[i][0] + unsure[j][1], unsure[j][0] + unsure[i][1]) for i, j in ratios)


def _test(
    cells: FloatArray,
    mixtures: Sequence[tuple[FloatArray, FloatArray]],
    ratios: Sequence[Places] | None,
    shape: StableShape,
    atoms: FloatArray,
    unsure: Sequence[tuple[float, float]],
) -> tuple[tuple[float, Places], FloatArray, NDArray[np.bool_]]:
    """A ratio that is reached, its pair, and for each cell an upper bound and whether it is as sharp as the floats."""
    left, right = cells
    ends, place = np.unique(cells, return_inverse=True)
    place = place.reshape(cells.shape)
    whole = atoms.size > _FEW_ATOMS
    found = each_of(
        mixtures,
        lambda mixture: _on_cells(mixture, ends, place, shape, whole=whole),
        large=ends.size * sum(held.size for _, held in mixtures) > _LARGE,
    )
    away = _nearest(atoms, left, right)
    bend = shape.most_curved_beyond(away) + shape.steepest_beyond(away) ** 2
    with np.errstate(over="ignore"):
        arch = 0.25 * bend * np.square(right - left)
    compared = _all(found, unsure) if ratios is None else _listed(found, unsure, ratios)
    upper = np.minimum(compared.at_ends + arch, compared.apart)
    span, doubt = float(atoms[-1] - atoms[0]), _doubt(unsure, ratios)
    outside = np.maximum(atoms[0] - right, left - atoms[-1]).clip(0.0)
    upper = np.minimum(upper, span * shape.steepest_beyond(outside) + doubt)
    return compared.reached, upper, (arch < compared.error) | (left >= right)


@dataclass(frozen=True, slots=True)
class _Compared:
    """Log-ratios of mixtures on cells, where each may be as large as it is unsure."""

    reached: tuple[float, Places]
    """One that is reached, and its mixtures."""
    at_ends: FloatArray
    """The largest at the ends of each cell, with its error."""
    error: FloatArray
    """Bound of the error there."""
    apart: FloatArray
    """A bound of all of them on each cell."""


def _listed(found: Sequence[_OnCells], unsure: Sequence[tuple[float, float]], ratios: Sequence[Places]) -> _Compared:
    best, reached = 0.0, ratios[0]
    at_ends, error, apart = np.zeros((3, found[0].least.size))
    for pair in ratios:
        for i, j in (pair, pair[::-1]):
            f, g, doubt = found[i], found[j], unsure[i][1] + unsure[j][0]
            size, rounding = f.at_ends - g.at_ends + doubt, f.error + g.error
            lower = float((size - rounding).max())
            if lower > best:
                best, reached = lower, pair
            error = np.maximum(error, rounding.max(axis=0))
            at_ends = np.maximum(at_ends, (size + rounding).max(axis=0))
            apart = np.maximum(apart, f.most - g.least + doubt)
    return _Compared(reached=(best, reached), at_ends=at_ends, error=error, apart=apart)


def _all(found: Sequence[_OnCells], unsure: Sequence[tuple[float, float]]) -> _Compared:
    logs, (below, above) = np.stack([f.at_ends for f in found]), np.array(unsure).T
    highest, lowest = logs + above[:, None, None], logs - below[:, None, None]
    size, error = highest.max(axis=0) - lowest.min(axis=0), 2.0 * np.stack([f.error for f in found]).max(axis=0)
    end, cell = divmod(int((size - error).argmax()), size.shape[1])
    first, second = sorted((int(highest[:, end, cell].argmax()), int(lowest[:, end, cell].argmin())))
    most = np.stack([f.most for f in found]) + above[:, None]
    least = np.stack([f.least for f in found]) - below[:, None]
    return _Compared(
        reached=(float(size[end, cell] - error[end, cell]), (first, second) if first < second else (0, 1)),
        at_ends=(size + error).max(axis=0),
        error=error.max(axis=0),
        apart=most.max(axis=0) - least.min(axis=0),
    )


def _split(cells: FloatArray) -> FloatArray:
    """Each cell in four."""
    left, right = cells
    cuts = left[:, None] + (right - left)[:, None] * np.linspace(0.0, 1.0, _PARTS + 1)
    cuts[:, -1] = right
    return np.stack((cuts[:, :-1].ravel(), cuts[:, 1:].ravel()))


def _nearest(atoms: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
    """Distance of cells from the atoms; 0 where one lies inside."""
    before = np.searchsorted(atoms, left, side="right") - 1
    after = np.searchsorted(atoms, right, side="left")
    from_left = np.where(before >= 0, left - atoms[np.maximum(before, 0)], np.inf)
    from_right = np.where(after < atoms.size, atoms[np.minimum(after, atoms.size - 1)] - right, np.inf)
    return np.where(after > before + 1, 0.0, np.maximum(np.minimum(from_left, from_right), 0.0))


@dataclass(frozen=True, slots=True)
class _OnCells:
    """Log-density of a mixture."""

    at_ends: FloatArray
    """At the two ends of every cell."""
    error: FloatArray
    """Bound of its error there."""
    least: FloatArray
    """Lower bound on every cell."""
    most: FloatArray
    """Upper bound on every cell."""


def _on_cells(
    mixture: tuple[FloatArray, FloatArray], ends: FloatArray, place: IndexArray, shape: StableShape, *, whole: bool
) -> _OnCells:
    """Log-density of a mixture on cells, `place` of `ends`; with `whole` at their ends alone: cells may hold atoms."""
    weights, atoms = mixture
    if whole:
        at_ends, error = _densities(weights, atoms, ends, shape)
        least, most = np.full(place.shape[1], -np.inf), np.full(place.shape[1], np.inf)
        return _OnCells(at_ends=at_ends[place], error=error[place], least=least, most=most)
    terms, errors = shape.log_density(np.abs(ends - atoms[:, None]))
    terms = terms + np.log(weights)[:, None]
    at_ends, error = _sum(terms, errors)
    left, right = terms[:, place[0]], terms[:, place[1]]
    doubts = np.maximum(errors[:, place[0]], errors[:, place[1]])
    least, least_error = _sum(np.minimum(left, right), doubts)
    most, most_error = _sum(np.maximum(left, right), doubts)
    return _OnCells(at_ends=at_ends[place], error=error[place], least=least - least_error, most=most + most_error)


def _densities(
    weights: FloatArray, atoms: FloatArray, points: FloatArray, shape: StableShape
) -> tuple[FloatArray, FloatArray]:
    """Log-density of a mixture of many atoms at some points, and a bound of its error."""
    found, step, logs = np.empty((2, points.size)), max(1, _CHUNK // atoms.size), np.log(weights)
    for start in range(0, points.size, step):
        part = slice(start, start + step)
        terms, errors = shape.log_density(np.abs(points[part, None] - atoms))
        terms += logs
        largest = terms.max(axis=1)
        terms -= largest[:, None]
        total = largest + np.log(np.exp(terms, out=terms).sum(axis=1))
        found[:, part] = _with_error(total, errors.max(axis=1), atoms.size)
    return found[0], found[1]


def _sum(terms: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Logarithm of a sum, given those of its terms, and a bound of its error."""
    largest = terms.max(axis=0)
    return _with_error(largest + np.log(np.exp(terms - largest).sum(axis=0)), errors.max(axis=0), len(terms))


def _with_error(total: FloatArray, doubt: FloatArray, terms: int) -> tuple[FloatArray, FloatArray]:
    """The logarithm of a sum of so many terms, and a bound of its error, where that of each is the doubt."""
    return total, doubt + UNIT_ROUNDOFF * (8.0 * terms + 64.0 + 8.0 * np.abs(total))
