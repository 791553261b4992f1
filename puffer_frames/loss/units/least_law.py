"""A lower bound of the hockey stick of several independent rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puffer_frames.loss.ratio_cells import RatioCells
from puffer_frames.loss.units.loss_law import MOST_ROWS_POINTS, heavy_ends, step_of
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray

_CUT = 1e-24
"""Tails of less mass are left out."""


def least_stick_of_rows(cells: RatioCells, epsilon: float, /, *, rows: int) -> float:
    """At most the hockey stick of so many rows: cells tell less than what is in them, log-ratios are moved down to a
    lattice, and some mass is left out.
    """
    logs, masses = cells.least_points()
    low, high = heavy_ends(logs, masses)
    heavy = (logs >= low) & (logs <= high)
    if not heavy.any():
        return 0.0
    logs, masses = logs[heavy], masses[heavy]
    step = step_of(logs, masses)
    places = np.floor(logs / step).astype(np.int64)
    first = int(places.min())
    summed: FloatArray = np.bincount(places - first, weights=masses).astype(np.float64)
    summed *= 1 - UNIT_ROUNDOFF * (masses.size + 8)
    one = _LeastLaw(step=step, first=first, masses=summed)
    found = one
    for bit in f"{rows:b}"[1:]:
        found = found.beside(found)
        found = found.beside(one) if bit == "1" else found
    return found.hockey_stick(epsilon)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LeastLaw:
    """Masses on a lattice, as in `LossLaw`, from below."""

    step: float
    first: int
    masses: FloatArray

    def beside(self, other: _LeastLaw, /) -> _LeastLaw:
        one, two = self, other
        while one.step < two.step:
            one = one._coarser()
        while two.step < one.step:
            two = two._coarser()
        masses = np.convolve(one.masses, two.masses)
        masses *= 1 - UNIT_ROUNDOFF * (min(one.masses.size, two.masses.size) + 8)
        held = np.flatnonzero((np.cumsum(masses) > _CUT) & (np.cumsum(masses[::-1])[::-1] > _CUT))
        start, stop = (int(held[0]), int(held[-1]) + 1) if held.size else (0, 1)
        found = _LeastLaw(step=one.step, first=one.first + two.first + start, masses=masses[start:stop])
        while found.masses.size > MOST_ROWS_POINTS:
            found = found._coarser()
        return found

    def hockey_stick(self, epsilon: float, /) -> float:
        logs = self.step * np.arange(self.first, self.first + self.masses.size)
        above = logs > epsilon
        lost = float((self.masses[above] * -np.expm1(epsilon - logs[above])).sum())
        return lost * (1 - UNIT_ROUNDOFF * (self.masses.size + 16))

    def _coarser(self) -> _LeastLaw:
        """On every other point: the masses of the others go to the lower neighbour."""
        padded = np.concatenate([np.zeros(self.first % 2), self.masses])
        padded = np.concatenate([padded, np.zeros(padded.size % 2)])
        masses = (padded[::2] + padded[1::2]) * (1 - 4 * UNIT_ROUNDOFF)
        return _LeastLaw(step=2 * self.step, first=(self.first - self.first % 2) // 2, masses=masses)
