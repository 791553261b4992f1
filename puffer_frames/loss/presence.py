"""Exact privacy loss of a unit's presence in a sum, for any number of units, under Laplace noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import fft

from puffer_frames.loss.atoms.discrete import MOST_PAIRS_IN_CELLS, DiscreteLoss
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import RatioCells
from puffer_frames.loss.outcome import Bracket, Loss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.numbers.threads import watched
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret
from puffer_frames.priors.unit_laws import UnitLaws, first_of_equals, lattice_places, most_sums, rows_of

CELLS = 1 << 22
"""Entries of the table units x positions; more positions than it holds are put on a grid."""
FEWEST = 64
"""The grid has at least so many cells."""


class RowsLoss(DiscreteLoss):
    r"""Pure loss of all pairs of units, whose laws are the observed frequencies of their rows.

    Units with the same rows have one law, and are looked at once. Values of too many different sizes are moved to the
    centres of a grid of width h, by at most h/2; then :math:`|\varepsilon^* - \hat\varepsilon^*| \le h/b`, which the
    bracket holds.

    - `units`: sequence, shape (units,).
    - `values` (array, shape (rows,)): Unit after unit.
    - `starts` (array, shape (units + 1,)): Where each unit's rows begin, and the end of the last.
    See docs/theory.md, section 3, "All pairs at once"; docs/theory.md, section 13.
    """

    def __init__(self, units: Sequence[Secret], values: FloatArray, starts: IndexArray, /) -> None:
        positions, cells = np.unique(values, return_inverse=True)
        self._moved = 0.0
        most = max(FEWEST, CELLS // len(units))
        if positions.size > most:
            low, width = float(positions[0]), float(positions[-1] - positions[0]) / most
            cells = np.minimum(((values - low) / width).astype(np.intp), most - 1)
            positions = np.asarray(low + (np.arange(most) + 0.5) * width, dtype=np.float64)
            rounding = 8 * UNIT_ROUNDOFF * (abs(low) + most * width)
            self._moved = float(np.abs(values - positions[cells]).max()) + rounding
        self._units, first = len(units), np.arange(len(units))
        if self._units > MOST_PAIRS_IN_CELLS:
            first = first_of_equals(cells, starts, positions.size)
            first = first if first.size > 1 else np.arange(2)  # a pair has two ends, where all say the same
        if first.size < self._units:
            rows, starts = rows_of(first, starts)
            cells = cells[rows]
        named = [units[k] for k in first.tolist()]
        self._prepare(named, positions, partial(_frequencies, cells, starts, positions.size), "all")

    def only(self, pair: Pair, /) -> DiscreteLoss:
        two = RowsLoss.__new__(RowsLoss)
        two._moved, two._units = self._moved, 2
        table = np.concatenate([self._weights(slice(self._numbers[s], self._numbers[s] + 1)) for s in pair])
        two._prepare(list(pair), self._positions, lambda rows: table[rows], "all")
        return two

    def pure(self, scale: float, /) -> WorstCase:
        found = super().pure(scale)
        if not self._moved:
            return found
        if scale == 0:
            return WorstCase(bracket=Bracket(lower=0.0, upper=math.inf), pair=found.pair)
        moved = 2 * self._moved / scale * (1 + 4 * UNIT_ROUNDOFF)
        lower = max(0.0, math.nextafter(found.bracket.lower - moved, 0.0))
        upper = math.nextafter(found.bracket.upper + moved, math.inf)
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        return self.pure(scale).as_stick(epsilon)

    def ratio_cells(self, scale: float, /) -> list[tuple[Pair, RatioCells]] | None:
        """As for all units, also those whose rows are those of another."""
        return None if self._units > MOST_PAIRS_IN_CELLS else super().ratio_cells(scale)


def _frequencies(cells: IndexArray, starts: IndexArray, width: int, rows: slice) -> FloatArray:
    """Table of the frequencies of some units, shape (units, width)."""
    first, last, _ = rows.indices(starts.size - 1)
    ends = starts[first : last + 1]
    sizes = np.diff(ends)
    flat = np.repeat(np.arange(sizes.size), sizes) * width + cells[ends[0] : ends[-1]]
    return np.bincount(flat, minlength=sizes.size * width).reshape(-1, width) / sizes[:, None]


MOST_PLACES = 1 << 18
"""Points of the grid of a sum, at the most."""

_POINTS_PER_SPREAD = 3500.0
"""Points of the grid per root mean square of the sum, for one row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumLaw:
    r"""Law of the sum S of k independent rows, each of them moved to the two grid points beside it.

    A row x between the points l and l + h becomes l + h with probability (x - l)/h, and l otherwise, so its mean stays.
    The sum becomes S + Z with E[Z | S] = 0 and :math:`E Z^2 \le k h^2/4`. The second derivative of
    :math:`\psi(s) = e^{-|s|/b}` is nowhere above 1/b^2, as its kink bends down. So
    :math:`\psi(s + z) \le \psi(s) + \psi'(s) z + z^2/(2 b^2)`, and

    .. math:: E \psi(S) \ge E \psi(S + Z) - \frac{k h^2}{8 b^2}
    """

    lowest: float
    """Smallest sum, in units of the value."""
    step: float
    """Distance of the grid, h."""
    weights: FloatArray
    """Probability of each grid point of the sum, shape (places,); each with a rounding error, and below 0 for that."""
    moved: float
    """Bound of the root of E Z^2."""
    error: float
    """Bound of the root of the sum of the squares of the errors of the weights."""

    @classmethod
    def of_rows(cls, values: FloatArray, weights: FloatArray, copies: int, /, *, spread: float) -> SumLaw:
        """The law of the sum of so many draws.

        - `values`, `weights` (array, shape (components,)): Atoms of one draw, ascending, and their probabilities.
        - `spread`: Root of E S^2, which says how fine the grid must be.

        **Cost**: two transforms of at most 2**18 points. **Rounding**: a transform of n points, a power of two, has an
        error of at most 7 log2(n) u in the Euclidean norm, relative to the result (Higham, Accuracy and Stability,
        section 24.1); 16 log2(n) u are paid for.
        """
        reach = float(values[-1] - values[0])
        most = max(1, (MOST_PLACES - 1) // copies)
        places = lattice_places(values)
        if places[-1] > most or not np.isfinite(places[-1]):
            cells = min(most, max(64.0, _POINTS_PER_SPREAD * copies**0.5 * reach / spread))
            places = (values - values[0]) / reach * int(cells)
        cells = max(1, round(float(places[-1])))
        step = reach / cells
        below = np.clip(np.floor(places), 0, cells - 1).astype(np.intp)
        right = np.clip(places - below, 0.0, 1.0)
        row = np.zeros(cells + 1)
        np.add.at(row, below, weights * (1.0 - right))
        np.add.at(row, below + 1, weights * right)
        width = cells * copies + 1
        size = 1 << (width - 1).bit_length()
        found = fft.irfft(fft.rfft(row, size) ** copies, size)[:width]
        once = 16.0 * math.log2(size + 1) * UNIT_ROUNDOFF
        entry = math.sqrt(size) * once + (64.0 * values.size + 16.0) * UNIT_ROUNDOFF  # of one number of the transform
        return cls(
            lowest=copies * float(values[0]),
            step=step,
            weights=found,
            moved=step * math.sqrt(copies * float(np.sum(weights * right * (1.0 - right)))) * (1.0 + 1e-9),
            error=copies * entry * (1.0 + entry) ** copies + 2.0 * once,
        )

    def mean_decay(self, scale: float, /) -> tuple[float, float]:
        r"""Bounds of :math:`E e^{-|S|/b}`; the upper one from :math:`|\psi(s + z) - \psi(s)| \le |z|/b`."""
        sums = self.lowest + self.step * np.arange(self.weights.size)
        decay = np.exp(-np.abs(sums) / scale)
        found = float(decay @ self.weights)
        reach = float(max(abs(sums[0]), abs(sums[-1])))
        places = 32.0 * UNIT_ROUNDOFF * ((reach + self.step) / scale)  # of the sums themselves
        rounding = math.sqrt(float(decay @ decay)) * self.error + UNIT_ROUNDOFF * (self.weights.size + 64.0) + places
        steep = self.moved / scale
        return found - (0.5 * steep * steep + rounding) * (1.0 + 1e-9), found + (steep + rounding) * (1.0 + 1e-9)


class Absent:
    """The secret of a unit that is not there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()
NOTHING = Prior.gaussian(0.0, 0.0)
"""What an absent unit contributes."""

_MOST_PLACES = 1 << 23
"""Grid points of the laws of sums that are worked out, of all units together."""

_MOST_ENGINES = 64
"""Units whose engine is kept for the next scale."""

_SOON_ADDED, _MOST_SLOW = 1e7, 4
"""Steps of work that the law of a sum takes where it is worked out for every unit, and units where it may take more."""


class PresenceLoss:
    r"""Loss of "present with law P" against "absent", for every unit: P * Laplace(b) against Laplace(b).

    The ratio of the densities is :math:`g(y) = E e^{(|y| - |y - D|)/b}`. Each of its terms falls up to the smaller of 0
    and D or rises from there, so g is monotone on either side of 0, smallest at 0 and largest at an end:

    .. math:: \varepsilon^*(b) = \max\{\log E e^{D/b},\; \log E e^{-D/b},\; -\log E e^{-|D|/b}\}

    For k draws added, S, the first two are k times as large, and the third is at most k times as large
    (:math:`|D_1 + \dots + D_k| \le |D_1| + \dots + |D_k|`), with equality for values of one sign, and at most
    :math:`E|S|/b \le \sqrt{E S^2}/b` (Jensen). Where it decides, the law of S is worked out.

    **Guarantee**: exact for one draw, for sums of values of one sign, wherever the third term is not the largest, and
    up to the grid of `SumLaw` for the units that decide, while there is room for their laws; otherwise an upper bound,
    and the first two terms are the lower one. **Cost** per evaluation: one exponential per component and term, whatever
    the number of units, and one per grid point of a sum that is worked out. The hockey stick is that of the engine of a
    pair, for the units whose pure loss leaves it open.

    References
    ----------
    docs/theory.md, section 7; it sharpens [DLYZ] Theorem 3 (13), :math:`\log E e^{|D|/b}`, for values of both signs.
    """

    resolution = 0.0  # without noise the loss of any contribution but 0 is infinite

    def __init__(self, laws: UnitLaws, /) -> None:
        self._laws = laws
        self._sizes = np.diff(laws.starts)
        self._magnitude = np.maximum.reduceat(np.abs(laws.means) + 40.0 * laws.stds, laws.starts[:-1])
        self._nothing = (self._magnitude == 0).all()
        low, high = (ufunc.reduceat(laws.means, laws.starts[:-1]) for ufunc in (np.minimum, np.maximum))
        atoms = np.maximum.reduceat(laws.stds, laws.starts[:-1]) == 0
        self._closed = (laws.copies == 1) | (atoms & ((low >= 0) | (high <= 0)))
        self._spread = self._root_mean_square()
        self._sums: dict[int, SumLaw] = {}
        self._room = _MOST_PLACES
        self._engines: dict[int, Loss] = {}
        self._slow = 0
        self.span = float((laws.copies * self._magnitude).max())

    def only(self, pair: Pair, /) -> PresenceLoss:
        return PresenceLoss(self._laws.only(list(self._laws.units).index(pair[0])))

    def losses(self, scale: float, /) -> tuple[FloatArray, FloatArray]:
        """Pure loss of every unit, or an upper bound, and a bound of its rounding error, shape (units,) each."""
        t, laws = 1.0 / scale, self._laws
        centre = -laws.log_absolute_moment(-t)
        centre = np.where(self._closed, centre, np.minimum(centre, self._spread * t / laws.copies))
        largest = np.maximum(self._ends(scale) / laws.copies, centre)
        exponents = self._magnitude * t * (1.0 + self._magnitude * t * bool(laws.stds.any()))
        error = UNIT_ROUNDOFF * (self._sizes + 16.0 + 16.0 * exponents)
        return laws.copies * largest, laws.copies * (error + 4 * UNIT_ROUNDOFF * largest)

    def pure(self, scale: float, /) -> WorstCase:
        if scale == 0 or not math.isfinite(1.0 / scale):
            return self._without_noise()
        loss, error = self.losses(scale)
        ends, doubtful = self._ends(scale), ~self._closed
        lower, upper = np.where(doubtful, np.minimum(ends, loss), loss) - error, loss + error
        doubtful &= loss > ends
        while doubtful[worst := int(np.argmax(upper))]:
            lower[worst], upper[worst] = self._closer(
                worst, scale, lower[worst], upper[worst], ends[worst] + error[worst]
            )
            doubtful[worst] = False
        low, high = float(lower.max()), float(upper[worst])
        return WorstCase(bracket=Bracket(lower=max(0.0, min(low, high)), upper=high), pair=self._pair(worst))

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        r"""Largest hockey stick over the units; a unit of pure loss L has at most :math:`1 - e^{\varepsilon - L}`."""
        if scale == 0:
            return self._without_noise(limit=1.0)
        loss, error = self.losses(scale)
        ends, upper_loss = self._ends(scale), loss + error
        bounds = _most_delta(upper_loss, epsilon)
        lower = upper = 0.0
        order = np.argsort(-bounds, kind="stable")
        worst = int(order[0])
        for k in watched(order[bounds[order] > 0].tolist(), label="units"):
            if bounds[k] <= upper:
                break
            if not self._closed[k] and loss[k] > ends[k]:
                _, closer = self._closer(k, scale, 0.0, upper_loss[k], ends[k] + error[k])
                bounds[k] = _most_delta(closer, epsilon)
                if bounds[k] <= upper:
                    continue
            engine = self._engine(k)
            found = (
                engine.hockey_stick(scale, epsilon=epsilon).bracket if engine else Bracket(lower=0.0, upper=bounds[k])
            )
            lower = max(lower, found.lower)
            if found.upper > upper:
                upper, worst = found.upper, k
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    @property
    def is_exact(self) -> bool:
        """Whether the pure loss is that of every unit at every scale, and not an upper bound of some."""
        return bool(self._closed.all())

    def _ends(self, scale: float) -> FloatArray:
        """Logs of the ratio at both ends, the larger one of every unit, shape (units,); at least 0."""
        ends = np.maximum(self._laws.log_moment(1.0 / scale), self._laws.log_moment(-1.0 / scale))
        return self._laws.copies * np.maximum(ends, 0.0)

    def _root_mean_square(self) -> FloatArray:
        """Root of E S^2 of the sum S of a unit, rounded up; no term is negative, so none cancels."""
        laws, starts = self._laws, self._laws.starts[:-1]
        unit = self._magnitude + (self._magnitude == 0)  # of squares that neither overflow nor vanish
        means, stds = (part / np.repeat(unit, self._sizes) for part in (laws.means, laws.stds))
        square = np.add.reduceat(laws.weights * (means**2 + stds**2), starts)
        mean = np.abs(np.add.reduceat(laws.weights * means, starts)) + UNIT_ROUNDOFF * (self._sizes + 4.0)
        k, rounded_up = laws.copies, 1.0 + UNIT_ROUNDOFF * (self._sizes + 16.0)
        return unit * np.sqrt(k * square + k * (k - 1.0) * mean**2) * rounded_up

    def _closer(self, k: int, scale: float, lower: float, upper: float, ends: float) -> tuple[float, float]:
        """Bounds of the pure loss of unit number k by the law of its sum, where there is room for one more."""
        law = self._sums.get(k)
        if law is None:
            part = slice(self._laws.starts[k], self._laws.starts[k + 1])
            copies = int(self._laws.copies[k])
            if copies >= MOST_PLACES or self._laws.stds[part].any() or self._room <= 0:
                return lower, upper
            values, weights = self._laws.means[part], self._laws.weights[part]
            law = self._sums[k] = SumLaw.of_rows(values, weights, copies, spread=float(self._spread[k]))
            self._room -= law.weights.size
        least, most = law.mean_decay(scale)
        if least > 0:
            upper = min(upper, max(ends, -math.log(least) * (1 + 4 * UNIT_ROUNDOFF)))
        return max(lower, -math.log(most) * (1 - 4 * UNIT_ROUNDOFF)), upper

    def _engine(self, k: int) -> Loss | None:
        """Engine of unit number k against nothing; none where its sum takes long, but for the first of these."""
        if (known := self._engines.get(k)) is not None:
            return known
        values = self._laws.means[self._laws.starts[k] : self._laws.starts[k + 1]]
        copies = int(self._laws.copies[k])
        if copies > 1 and most_sums(values, copies) * values.size * copies > _SOON_ADDED:
            if self._slow == _MOST_SLOW:
                return None
            self._slow += 1
        elif len(self._engines) >= _MOST_ENGINES:
            return privacy_loss({0: self._laws.prior(k), 1: NOTHING}, pairs=((0, 1),))
        return self._engines.setdefault(k, privacy_loss({0: self._laws.prior(k), 1: NOTHING}, pairs=((0, 1),)))

    def _pair(self, k: int) -> Pair:
        return self._laws.units[k], ABSENT

    def _without_noise(self, *, limit: float = math.inf) -> WorstCase:
        """Without noise every contribution but 0 is told from none."""
        worst = int(np.argmax(self._laws.copies * self._magnitude))
        upper = 0.0 if self._nothing else limit
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=self._pair(worst))


def _most_delta(loss: Any, epsilon: float) -> Any:
    r"""Largest hockey stick of a pure loss L: :math:`1 - e^{\varepsilon - L}`, rounded up."""
    return -np.expm1(np.minimum(epsilon - loss, 0.0)) * (1 + 4 * UNIT_ROUNDOFF)
