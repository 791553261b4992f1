"""The log-density of many atoms under Gaussian noise: bounds of its slope from the posterior mean alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import ndtr

from puffer_frames.loss.mixtures.curve import CellBounds, Curve, Points
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_ENTRIES = 1 << 18
"""Of the largest temporary array, unless a single window holds more: such arrays stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ragged:
    """Positions in windows, one window after the other."""

    atoms: IndexArray
    """Numbers of the positions, shape (entries,)."""
    rows: IndexArray
    """Of which of these windows each is, shape (entries,)."""
    starts: IndexArray
    """Where each window begins among the entries, shape (windows,)."""
    sizes: IndexArray
    """How many positions each window holds, at least 1."""


def ragged(positions: FloatArray, low: FloatArray, high: FloatArray, /) -> Iterator[tuple[slice | IndexArray, Ragged]]:
    """Windows from `low` to `high` in parts, and for each part the ascending positions inside; one without is left out.

    Examples
    --------
    >>> import numpy as np
    >>> (windows, found), = ragged(np.array([0.0, 1.0, 5.0]), np.array([-1.0, 2.0, 0.5]), np.array([1.0, 3.0, 9.0]))
    >>> windows.tolist(), found.atoms.tolist(), found.rows.tolist()
    ([0, 2], [0, 1, 1, 2], [0, 0, 1, 1])
    """
    first = np.searchsorted(positions, low)
    sizes = np.searchsorted(positions, high, side="right") - first
    held = np.flatnonzero(sizes > 0)
    part = np.cumsum(sizes[held]) // _ENTRIES
    for windows in np.split(held, np.flatnonzero(np.diff(part)) + 1) if held.size else ():
        lengths = sizes[windows]
        starts = np.cumsum(lengths) - lengths
        rows = np.repeat(np.arange(windows.size), lengths)
        atoms = np.arange(rows.size) + np.repeat(first[windows] - starts, lengths)
        yield windows, Ragged(atoms=atoms, rows=rows, starts=starts, sizes=lengths)


_MARKS = 160
_CHUNK = 256
MANY_ATOMS = 4096
"""With more, each point and each interval has the atoms near it alone."""
_MOST_TERMS = 1 << 18
"""Of atoms and points: with more, an interval has the atoms near it alone."""
_NEGLIGIBLE = 46.0
"""Atoms whose shares of a density are together below e to minus this are left out: less than rounding."""
_FAR, _BEYOND = 9.5, 1.1e-21
"""The mass of a Gaussian beyond so many standard deviations."""
_LEAST_TAIL = 1e-300

_Found: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]


class SharedWidthCurve(Curve):
    r"""Log-density of atoms plus Gaussian noise of one scale theta.

    With the posterior mean m(y) = E[X | Y = y] the slope is :math:`(\log f)' = (m(y) - y) / \theta^2`, and m never
    falls, since :math:`m' = \mathrm{Var}[X | Y = y] / \theta^2`. So on a cell [l, r] the slope is between
    (m(l) - r) / theta^2 and (m(r) - l) / theta^2: one pass over the atoms per point, none per cell.

    - `weights`, `means`: array, shape (atoms,).
    - `std`: theta.
    - `centre`: Subtracted from every atom.
    """

    def __init__(self, weights: FloatArray, means: FloatArray, /, *, std: float, centre: float) -> None:
        super().__init__(weights, means, np.full_like(means, std), scale=0.0, centre=centre)
        self._std = std
        self._span = float(means[-1] - means[0])

    def marks(self) -> FloatArray:
        """Positions where cells should end."""
        inside = np.linspace(self.means[0, 0], self.means[-1, 0], _MARKS)
        beyond = self._std * np.array([0.5, 1.0, 2.0, 3.0, 4.5, 6.0, 9.0, 14.0, 20.0, 30.0])
        return np.concatenate((self.means[0, 0] - beyond, inside, self.means[-1, 0] + beyond))

    def at(self, y: FloatArray, /) -> Points:
        """Evaluate the curve; `terms` has the row log f, the slopes those of f."""
        log_f, error, mean = (np.empty_like(y) for _ in range(3))
        parts = self._all_atoms if self.means.size <= MANY_ATOMS else self._near_atoms
        for points, found in parts(y):
            log_f[points], error[points], mean[points] = found
        slack = (2.0 * error + self._displaced / self._std) * self._span + self._displaced
        error += 16.0 * UNIT_ROUNDOFF * np.abs(log_f)
        slope = self._std**-2
        log_f -= np.log(self._std)
        error += self._displaced * slope * (np.abs(mean - y) + slack)
        return Points(
            y=y,
            log_f=log_f,
            error=error,
            terms=log_f[None],
            steepest=(mean + slack)[None],
            flattest=(mean - slack)[None],
            log_sharpness=log_f[None],
        )

    def _all_atoms(self, y: FloatArray) -> Iterator[tuple[slice | IndexArray, _Found]]:
        """Log-density, the rounding error of what it is the logarithm of, and posterior mean, from all atoms."""
        for start in range(0, y.size, _CHUNK):
            part = slice(start, start + _CHUNK)
            terms = self._log_weights - 0.5 * np.square((y[part] - self.means) / self._std)
            largest = terms.max(axis=0)
            shares = np.exp(terms - largest)
            total = shares.sum(axis=0)
            shares /= total
            lost = 64.0 + terms.shape[0] + 16.0 * np.einsum("ij,ij->j", shares, np.abs(terms))
            yield part, (largest + np.log(total), UNIT_ROUNDOFF * lost, np.einsum("ij,ik->j", shares, self.means))

    def _near_atoms(self, y: FloatArray) -> Iterator[tuple[slice | IndexArray, _Found]]:
        """The same from all atoms but those that have next to no share of the density at the point.

        An atom at the distance d has the weighted density w exp(-d^2 / 2 theta^2), so that all beyond
        theta (d^2 / theta^2 - 2 log w + 2 x)^.5 have less than e^-x of it together.
        """
        means, log_weights = self.means[:, 0], self._log_weights[:, 0]
        after = np.clip(np.searchsorted(means, y), 1, means.size - 1)
        squares = np.minimum(
            *(np.square((y - means[atom]) / self._std) - 2.0 * log_weights[atom] for atom in (after - 1, after))
        )
        radius = self._std * np.sqrt(squares + 2.0 * _NEGLIGIBLE) * (1.0 + 1e-12)
        for points, near in ragged(means, y - radius, y + radius):
            places = means[near.atoms]
            terms = log_weights[near.atoms] - 0.5 * np.square((y[points][near.rows] - places) / self._std)
            largest = np.maximum.reduceat(terms, near.starts)
            shares = np.exp(terms - largest[near.rows])
            total = np.add.reduceat(shares, near.starts)
            shares /= total[near.rows]
            lost = 65.0 + near.sizes + 16.0 * np.add.reduceat(shares * np.abs(terms), near.starts)
            mean = np.add.reduceat(shares * places, near.starts)
            yield points, (largest + np.log(total), UNIT_ROUNDOFF * lost, mean)

    def mass(self, a: FloatArray, b: FloatArray, /) -> FloatArray:
        return self._masses(a, b)[0] if self.means.size > MANY_ATOMS else super().mass(a, b)

    def _mass_errors(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """As of `Curve`, and what a sum of so many terms loses."""
        if self.means.size > MANY_ATOMS:
            return self._masses(a, b)[1][None]
        lost = UNIT_ROUNDOFF * self.means.size * super().mass(a, b)
        return np.concatenate((super()._mass_errors(a, b), lost[None]))

    def _neighbours(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As of `Curve`; of many atoms and points from the atoms near each interval."""
        if self.means.size * y.size > _MOST_TERMS:
            return self._masses(np.append(-np.inf, y), np.append(y, np.inf))
        found, error = super()._neighbours(y)
        return found, error + UNIT_ROUNDOFF * self.means.size * found

    def _masses(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Masses and bounds of their rounding errors, from the atoms that are not far from the interval."""
        means, weights = self.means[:, 0], self.weights[:, 0]
        total, error = np.zeros_like(a), np.full_like(a, _BEYOND)
        for intervals, near in ragged(means, a - _FAR * self._std, b + _FAR * self._std):
            atoms = near.atoms
            lower, upper = ((ends[intervals][near.rows] - means[atoms]) / self._std for ends in (a, b))
            beyond_a, beyond_b = ndtr(-np.abs(lower)), ndtr(-np.abs(upper))
            inside = np.where(upper <= 0, beyond_b - beyond_a, 1.0 - beyond_a - beyond_b)
            masses = weights[atoms] * np.where(lower >= 0, beyond_a - beyond_b, inside)
            lost = 4.0 * weights[atoms] * ((lower < 0) & (upper > 0))
            for tails in (beyond_a, beyond_b):
                logs = np.log(np.maximum(tails, _LEAST_TAIL))
                lost += weights[atoms] * tails * (16.0 - 8.0 * logs)
            total[intervals] = np.add.reduceat(masses, near.starts)
            error[intervals] += UNIT_ROUNDOFF * (np.add.reduceat(lost, near.starts) + near.sizes * total[intervals])
        return total, error

    def bounds(self, left: Points, right: Points, /) -> CellBounds:
        """Slope and curvature between neighbouring points."""
        slope = self._std**-2
        same = np.zeros_like(left.y)
        return CellBounds(
            least_slope=(left.flattest[0] - right.y) * slope,
            most_slope=(right.steepest[0] - left.y) * slope,
            least_bend=same - slope,
            most_bend=same + (0.25 * (self._span / self._std) ** 2 - 1.0) * slope,
            main_mean=same + np.nan,
            main_std=same,
            rest=same,
        )
