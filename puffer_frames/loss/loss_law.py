"""Upper bounds of the hockey stick of one row as masses on a lattice, and of several independent rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from scipy.special import logsumexp

from puffer_frames.loss.outcome import Bracket, Loss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray

_LEAST_LOG = -650.0
"""Below it, e^log leaves the range of floats."""
_FARTHEST = 700.0
_NARROW = 1e-9
"""A cell whose bounds are nearer than this counts as one at the upper one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioCells:
    """A partition of what may be released into cells, for two laws P and Q in this order. Arrays: shape (cells,)."""

    mass: FloatArray
    """At least the probability of a cell under P."""
    mass_low: FloatArray
    """At most that."""
    other: FloatArray
    """At most the probability under Q."""
    other_high: FloatArray
    """At least that."""
    low: FloatArray
    """At most log(P/Q) anywhere in the cell."""
    high: FloatArray
    """At least that."""
    beyond: float = 0.0
    """At least the probability of all else under P, where nothing is known of the ratio."""

    def least_points(self) -> tuple[FloatArray, FloatArray]:
        r"""Log-ratios and masses p with :math:`\int [P - x Q]_+ \ge \sum p (1 - x e^{-\ell})_+`.

        Those of whole cells, which tell less than what is in them; the same holds of several independent rows.
        """
        held = self.mass_low > 0
        with np.errstate(divide="ignore"):
            logs = np.log(self.mass_low[held]) - np.log(self.other_high[held])
        return np.minimum(logs, _FARTHEST) - 8 * UNIT_ROUNDOFF * (1 + _FARTHEST), self.mass_low[held]

    def least_stick(self, epsilon: float, /) -> float:
        """At most the hockey stick."""
        lost = self.mass_low - math.exp(min(epsilon, _FARTHEST)) * self.other_high
        return float(np.maximum(lost, 0.0).sum()) * (1 - UNIT_ROUNDOFF * (lost.size + 16))

    @classmethod
    def of(
        cls, mass: Sequence[FloatArray], other: Sequence[FloatArray], low: FloatArray, high: FloatArray, /
    ) -> RatioCells:
        """From bounds of both probabilities, from below and from above; a ratio without bounds is left to `beyond`."""
        known = np.isfinite(low) & np.isfinite(high)
        return cls(
            mass=mass[1][known],
            mass_low=mass[0][known],
            other=other[0][known],
            other_high=other[1][known],
            low=low[known],
            high=high[known],
            beyond=float(mass[1][~known].sum()) * (1 + UNIT_ROUNDOFF * low.size),
        )

    def beside(self, other: RatioCells, /) -> RatioCells:
        """The cells of two parts of a partition."""
        names = ("mass", "mass_low", "other", "other_high", "low", "high")
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in names}
        return RatioCells(**both, beyond=(self.beyond + other.beyond) * (1 + UNIT_ROUNDOFF))

    def points(self) -> tuple[FloatArray, FloatArray]:
        r"""Log-ratios and masses p with :math:`\int [P - x Q]_+ \le \mathrm{beyond} + \sum p (1 - x e^{-\ell})_+`.

        A cell with the probabilities P and Q contributes a convex function of x, which is P - x Q up to
        :math:`e^{low}` and 0 from :math:`e^{high}` on. Its chord between these is that of two masses at both ends with
        the sums P and Q. **Rounding**: towards the upper end.
        """
        width = self.high - self.low
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            share = -np.expm1(-width)
            kept = self.other * np.exp(np.maximum(self.low, _LEAST_LOG))
            up = (self.mass - kept + 8 * UNIT_ROUNDOFF * (self.mass + kept)) / share
        up = np.where((width > _NARROW) & np.isfinite(up), np.clip(up, 0.0, self.mass), self.mass)
        down = (self.mass - up) * (1 + 2 * UNIT_ROUNDOFF)
        return np.concatenate([self.low, self.high]), np.concatenate([down, up])


@runtime_checkable
class KnownInCells(Protocol):
    """An engine that knows the law of the loss of one row, not only its hockey stick."""

    def ratio_cells(self, scale: float, /) -> Sequence[tuple[Pair, RatioCells]] | None:
        """For every pair in both orders; None where it is not known, or there are too many pairs."""


_FAR = 60.0
"""Log-ratios further above epsilon than this count as infinite."""
_STEPS = 192.0
"""Steps of the lattice in a standard deviation of the loss of one row."""
_MOST_POINTS = 4096
"""The most points of the lattice of one row."""
MOST_ROWS_POINTS = 2048
"""The most points of the lattice of several rows, whose step is doubled beyond."""
_CUT = 1e-24
"""Tails of less mass are added to infinity, or to the lowest point."""
_TINY = 1e-290
"""More than what underflow loses."""
_FINEST = 2.0**-40
_ORDERS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLaw:
    r"""Masses p at equally spaced log-ratios l, with :math:`\delta(\varepsilon) \le p_\infty + \sum p (1 -
    e^{\varepsilon - \ell})_+` for every epsilon.

    *Such bounds of independent rows compose.* For rows with the losses :math:`\ell_1`, :math:`\ell_2` under their first
    laws, :math:`\delta_{12}(\varepsilon) = E\,\delta_1(\varepsilon - \ell_2)`, so that a bound of :math:`\delta_1` may
    take its place, and then one of :math:`\delta_2`: the masses are convolved.
    See docs/theory.md, section 17 (T5).
    """

    step: float
    """A power of two, so that the lattice is exact."""
    first: int
    """Number of the lowest point; its log-ratio is `first * step`."""
    masses: FloatArray
    """Shape (points,)."""
    infinite: float
    """Mass at infinity."""

    @classmethod
    def of_cells(cls, cells: RatioCells, /, *, epsilon: float) -> LossLaw:
        """One row; good for questions up to epsilon."""
        logs, masses = cells.points()
        most = epsilon + _FAR
        finite = logs <= most
        infinite = (cells.beyond + float(masses[~finite].sum()) + _TINY) * (1 + UNIT_ROUNDOFF * (masses.size + 8))
        logs, masses = np.maximum(logs[finite], -most), masses[finite]
        low, high = heavy_ends(logs, masses)
        infinite += float(masses[logs > high].sum()) * (1 + UNIT_ROUNDOFF * masses.size)
        logs, masses = np.maximum(logs[logs <= high], low), masses[logs <= high]
        step = step_of(logs, masses)
        places = np.floor(logs / step)
        beyond = logs - places * step
        shares = (np.exp(-beyond) * np.expm1(beyond - step), np.expm1(-beyond))  # of both neighbours, [x e^-l] kept
        first = int(places.min()) if places.size else 0
        slots = (places - first).astype(np.intp)
        found = np.zeros(int(slots.max(initial=0)) + 2)
        for side, share in enumerate(shares):
            found += np.bincount(slots + side, weights=masses * share / math.expm1(-step), minlength=found.size)
        found *= 1 + UNIT_ROUNDOFF * (masses.size + 32)
        return cls(step=step, first=first, masses=found, infinite=infinite)._trimmed()

    def rows(self, count: int, /) -> LossLaw:
        """The law of the loss of `count` independent rows."""
        found = self
        for bit in f"{count:b}"[1:]:
            found = found._beside(found)
            found = found._beside(self) if bit == "1" else found
        return found

    def hockey_stick(self, epsilon: float, /) -> float:
        """The bound at epsilon."""
        logs = self.step * np.arange(self.first, self.first + self.masses.size)
        above = logs > epsilon
        lost = float((self.masses[above] * -np.expm1(epsilon - logs[above])).sum())
        return min(1.0, (self.infinite + lost) * (1 + UNIT_ROUNDOFF * (self.masses.size + 16)))

    def at_most(self, count: int, epsilon: float, /) -> float:
        r"""A quick bound for so many rows, by Chernoff's inequality.

        :math:`(1 - e^{-u})_+ \le c_t e^{t u}` with :math:`c_t = t^t / (1 + t)^{1 + t}`, and the means of
        :math:`e^{t \ell}` multiply.
        """
        logs = self.step * np.arange(self.first, self.first + self.masses.size) - epsilon / count
        least = math.inf
        for t in _ORDERS:
            constant = t * math.log(t) - (1 + t) * math.log1p(t)
            least = min(least, constant + count * float(logsumexp(t * logs, b=self.masses)))
        infinite = math.log(count * self.infinite) + count * math.log(float(self.masses.sum()) + self.infinite)
        found = math.exp(min(least, 1.0)) + math.exp(min(infinite, 1.0))
        return min(1.0, found * (1 + 1e-9 + 1e-12 * count))

    def _beside(self, other: LossLaw) -> LossLaw:
        one, two = self, other
        while one.step < two.step:
            one = one._coarser()
        while two.step < one.step:
            two = two._coarser()
        totals = [float(law.masses.sum()) + law.infinite for law in (one, two)]
        infinite = one.infinite * totals[1] + two.infinite * totals[0]
        masses = np.convolve(one.masses, two.masses)
        error = 1 + UNIT_ROUNDOFF * (min(one.masses.size, two.masses.size) + 8)
        found = LossLaw(
            step=one.step,
            first=one.first + two.first,
            masses=masses * error,
            infinite=infinite * (1 + UNIT_ROUNDOFF * (max(one.masses.size, two.masses.size) + 8)) + _TINY,
        )._trimmed()
        while found.masses.size > MOST_ROWS_POINTS:
            found = found._coarser()
        return found

    def _trimmed(self) -> LossLaw:
        """Without the tails of next to no mass: the upper one goes to infinity, the lower one moves up."""
        from_below, from_above = np.cumsum(self.masses), np.cumsum(self.masses[::-1])[::-1]
        kept = np.flatnonzero((from_below > _CUT) & (from_above > _CUT))
        if not kept.size:
            return self
        start, stop = int(kept[0]), int(kept[-1]) + 1
        masses = self.masses[start:stop].copy()
        masses[0] += from_below[start - 1] * (1 + UNIT_ROUNDOFF * start) if start else 0.0
        lost = float(from_above[stop]) * (1 + UNIT_ROUNDOFF * from_above.size) if stop < self.masses.size else 0.0
        infinite = (self.infinite + lost) * (1 + 2 * UNIT_ROUNDOFF)
        return LossLaw(step=self.step, first=self.first + start, masses=masses, infinite=infinite)

    def _coarser(self) -> LossLaw:
        """On every other point: the masses of the others go to both neighbours, so that the sums of p, p e^-l stay."""
        first = self.first - self.first % 2
        padded = np.concatenate([np.zeros(self.first - first), self.masses])
        padded = np.concatenate([padded, np.zeros(1 + padded.size % 2)])
        even, odd = padded[::2].copy(), padded[1::2]  # each odd point lies between two even ones
        upper = 1 / (1 + math.exp(-self.step))
        even[:-1] += odd * (math.exp(-self.step) * upper)
        even[1:] += odd * upper
        return LossLaw(
            step=2 * self.step, first=first // 2, masses=even * (1 + 16 * UNIT_ROUNDOFF), infinite=self.infinite
        )


def heavy_ends(logs: FloatArray, masses: FloatArray, /) -> tuple[float, float]:
    """The least and the largest log-ratio of more than next to no mass."""
    heavy = logs[masses > _CUT / max(1, masses.size)]
    return (float(heavy.min()), float(heavy.max())) if heavy.size else (0.0, 0.0)


def step_of(logs: FloatArray, masses: FloatArray, /) -> float:
    """A power of two: a part of the standard deviation, unless the lattice were too long."""
    total = float(masses.sum())
    if not total:
        return 1.0
    mean = float(masses @ logs) / total
    spread = math.sqrt(max(float(masses @ (logs - mean) ** 2) / total, 0.0))
    least, wanted = float(np.ptp(logs)) / _MOST_POINTS, max(spread / _STEPS, _FINEST)
    exponent = math.floor(math.log2(wanted)) if wanted >= least else math.ceil(math.log2(least))
    return 2.0**exponent


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


class UnitLoss:
    r"""The loss of k rows, from that of one.

    The pure loss is k times that of a row, exactly. The hockey stick of a row at every epsilon, from above, is a law of
    its loss on a lattice (`LossLaw`), whose k-fold convolution bounds that of k rows. Beside it stands the simple
    bound k times the hockey stick of a row at epsilon / k, and the smaller of both is taken.

    - `loss`: The engine of one row.

    **Guarantee**: bounds, of which the upper one is near. The rows of a pair may have different laws, as long as the
    loss covers each. A unit of fewer rows loses no more. **Cost** per evaluation: some tens of milliseconds per pair
    that may be the worst.
    See docs/theory.md, section 17 (T5).
    """

    def __init__(self, loss: Loss, /, *, rows: int) -> None:
        self._loss, self._rows = loss, rows
        self.span, self.resolution = loss.span * math.sqrt(rows), loss.resolution

    def only(self, pair: Pair, /) -> UnitLoss:
        return UnitLoss(self._loss.only(pair), rows=self._rows)

    def pure(self, scale: float, /) -> WorstCase:
        found = self._loss.pure(scale)
        lower, upper = (end * self._rows for end in (found.bracket.lower, found.bracket.upper))
        bracket = Bracket(lower=lower * (1 - 2 * UNIT_ROUNDOFF), upper=upper * (1 + 2 * UNIT_ROUNDOFF))
        return WorstCase(bracket=bracket, pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        share = epsilon / self._rows
        cells = self._loss.ratio_cells(scale) if isinstance(self._loss, KnownInCells) and scale else None
        lower, upper, pair = self._together(cells, epsilon) if cells else (0.0, math.inf, None)
        if not cells or upper > self._rows * max(each.least_stick(share) for _, each in cells):
            found = self._loss.hockey_stick(scale, epsilon=math.nextafter(share, 0.0))
            by_shares = min(1.0, found.bracket.upper * self._rows * (1 + 2 * UNIT_ROUNDOFF))
            if by_shares <= upper:
                upper, pair = by_shares, found.pair
        assert pair is not None
        return WorstCase(bracket=Bracket(lower=min(lower, upper), upper=upper), pair=pair)

    def _together(self, cells: Sequence[tuple[Pair, RatioCells]], epsilon: float) -> tuple[float, float, Pair]:
        """The largest bound by a convolution, one from below of the same pair before it, and the pair."""
        laws = [LossLaw.of_cells(each, epsilon=epsilon) for _, each in cells]
        bounds = sorted(((law.at_most(self._rows, epsilon), k) for k, law in enumerate(laws)), reverse=True)
        worst, binding = -1.0, 0
        for bound, k in bounds:
            if bound <= worst:  # nor can the rest be the worst
                break
            upper = min(bound, laws[k].rows(self._rows).hockey_stick(epsilon))
            if upper > worst:
                worst, binding = upper, k
        pair, known = cells[binding]
        return least_stick_of_rows(known, epsilon, rows=self._rows), worst, pair
