"""Pure loss of all pairs of many laws of few atoms each, under Laplace noise, without a table of all positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

_LOOKS = 256
"""Places at which all laws are evaluated together."""
_FEW = 8
"""Laws are sparse where the table of their own atoms is so many times smaller than that of all positions."""
_LEAST_TABLE = 1 << 18
"""Entries of a table that is filled faster than it is avoided."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseAtoms:
    r"""Laws f_i of few atoms each, and the largest :math:`\log f_i(y)/f_j(y)` over all pairs and all y.

    Between atoms the ratio is monotone, and at an atom of f_j alone its slope jumps up: it is largest at an atom of
    f_i, or constant up to one. There f_i is known. The least log f_j(y) of all laws is 1/b-Lipschitz in y: where it is
    known at some places, it is bounded between them. Places whose bound is above the largest ratio found are looked at
    next.
    """

    positions: FloatArray
    """All positions, ascending, shape (n,)."""
    places: IndexArray
    """Number of the position of each atom, law after law, ascending within one, shape (atoms,)."""
    weights: FloatArray
    """Weights of the atoms, each at least 2**-900."""
    starts: IndexArray
    """Where the atoms of each law begin, and the end of the last."""

    @property
    def pays(self) -> bool:
        """Whether the laws are many, and their atoms few."""
        laws, n = self.starts.size - 1, self.positions.size
        return laws * n >= _LEAST_TABLE and _FEW * laws * int(np.diff(self.starts).max()) <= laws * n

    def largest(self, scale: float, /) -> tuple[float, float, int, int]:
        """The largest log-ratio, a bound of its rounding error, and the numbers of the two laws.

        Notes
        -----
        **Cost**: O(atoms) and O(laws) times the places that are looked at: some hundreds, seldom all. **Rounding**: a
        sum of k positive terms, one after the other, each with an exponential of a distance d of relative error
        2 d u: d e^-d is below 1/2; so at most 8 u per term. A logarithm v adds at most 4 |v| u, for |v| is at least the
        distance that counts.
        """
        sides = _Sides.of(self._padded, scale)
        law, place = self._law, self.places
        own = sides.at_atoms[law, np.arange(law.size) - self.starts[law]]
        fresh = self._spread()
        looked, least, lowest = fresh[:0], np.zeros(0), fresh[:0]
        while True:
            found, laws = self._least(sides, fresh, scale)
            order = np.argsort(np.append(looked, fresh))
            looked = np.append(looked, fresh)[order]
            least, lowest = np.append(least, found)[order], np.append(lowest, laws)[order]
            after = np.minimum(np.searchsorted(looked, place), looked.size - 1)
            known = looked[after] == place
            bound = own - np.maximum(
                self._below(place, looked[after], least[after], scale),
                self._below(place, looked[after - 1], least[after - 1], scale),
            )
            ratios = own[known] - least[after[known]]
            best = int(ratios.argmax())
            fresh = np.unique(place[~known & (bound > ratios[best])])
            if not fresh.size:
                break
            fresh = fresh[:: -(-fresh.size // _LOOKS)]
        at = np.flatnonzero(known)[best]
        farthest = max(float(np.abs(own).max()), float(np.abs(least).max()))
        error = UNIT_ROUNDOFF * (16.0 * (sides.at_atoms.shape[1] + 4.0) + 8.0 * farthest)
        return float(ratios[best]), 2.0 * error, int(law[at]), int(lowest[after[at]])

    def _below(self, place: IndexArray, known: IndexArray, least: FloatArray, scale: float) -> FloatArray:
        """Lower bounds of the least logarithm at places, from known ones."""
        with np.errstate(over="ignore"):
            bound: FloatArray = least - np.abs(self.positions[place] - self.positions[known]) / scale
        return bound

    @cached_property
    def _law(self) -> IndexArray:
        """Number of the law of each atom."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @cached_property
    def _padded(self) -> tuple[FloatArray, FloatArray]:
        """Positions and weights of the atoms, shape (laws, most atoms); behind the last one it again with weight 0."""
        sizes = np.diff(self.starts)[:, None]
        column = np.arange(sizes.max())
        held = self.starts[:-1, None] + np.minimum(column, sizes - 1)
        return self.positions[self.places[held]], np.where(column < sizes, self.weights[held], 0.0)

    def _spread(self) -> IndexArray:
        """Places that lie evenly between the others, in number and in distance; the outermost ones among them."""
        n = self.positions.size
        by_number = np.linspace(0, n - 1, _LOOKS).astype(np.intp)
        ends = 0.5 * self.positions[0], 0.5 * self.positions[-1]
        evenly = 2.0 * np.linspace(*ends, _LOOKS)  # halved, so that no distance is beyond the floats
        by_distance = np.minimum(np.searchsorted(self.positions, evenly), n - 1)
        return np.unique(np.concatenate([by_number, by_distance]))

    def _least(self, sides: _Sides, places: IndexArray, scale: float) -> tuple[FloatArray, IndexArray]:
        """The least log f of all laws at places, and whose it is."""
        laws, n = self.starts.size - 1, self.positions.size
        keys = self._law * n + self.places  # ascending
        asked = np.arange(laws)[:, None] * n + places
        left = np.searchsorted(keys, asked.ravel(), side="right").reshape(asked.shape) - 1 - self.starts[:-1, None]
        logs = sides.at(left, self.positions[places], scale)
        lowest = logs.argmin(axis=0)
        return logs[lowest, np.arange(places.size)], lowest


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sides:
    """What the atoms to the left and to the right of each atom add to 2b f there, the atom itself among both."""

    positions: FloatArray
    log_a: FloatArray
    log_b: FloatArray
    at_atoms: FloatArray
    """Log 2b f at the atoms."""

    @classmethod
    def of(cls, padded: tuple[FloatArray, FloatArray], scale: float, /) -> _Sides:
        positions, weights = padded
        with np.errstate(divide="ignore", under="ignore", over="ignore"):
            decay = np.exp(-np.diff(positions, axis=1) / scale)
            a, b = weights.copy(), weights.copy()
            for k in range(1, weights.shape[1]):
                a[:, k] += decay[:, k - 1] * a[:, k - 1]
            for k in range(weights.shape[1] - 2, -1, -1):
                b[:, k] += decay[:, k] * b[:, k + 1]
            both = a.copy()
            both[:, :-1] += decay * b[:, 1:]
            return cls(positions=positions, log_a=np.log(a), log_b=np.log(b), at_atoms=np.log(both))

    def at(self, left: IndexArray, points: FloatArray, scale: float, /) -> FloatArray:
        """Log 2b f at points, of which so many atoms less one are to the left or there, shape (laws, points)."""
        laws, most = self.positions.shape
        row = np.arange(laws)[:, None]
        before, after = np.maximum(left, 0), np.minimum(left + 1, most - 1)
        with np.errstate(invalid="ignore", over="ignore"):
            to_left, to_right = points - self.positions[row, before], self.positions[row, after] - points
            ours = self.log_a[row, before] - to_left / scale
            theirs = self.log_b[row, after] - to_right / scale
        ours[left < 0] = -np.inf
        theirs[(left == most - 1) | (to_right < 0)] = -np.inf  # none is there, or only what fills the row
        logs: FloatArray = np.logaddexp(ours, theirs)
        return logs
