"""Exact privacy loss of a unit's presence in a sum, for any number of units, under Laplace noise."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.numbers.progress import watched
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, Prior
from puffer_frames.priors.unit_laws import UnitLaws


class Absent:
    """The secret of a unit that is not there."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()
NOTHING = Prior.gaussian(0.0, 0.0)
"""What an absent unit contributes."""


class PresenceLoss:
    r"""Loss of "present with law P" against "absent", for every unit: P * Laplace(b) against Laplace(b).

    The ratio of the densities is :math:`g(y) = E e^{(|y| - |y - D|)/b}`. Each of its terms falls up to the smaller of 0
    and D or rises from there, so g is monotone on either side of 0, smallest at 0 and largest at an end:

    .. math:: \varepsilon^*(b) = \max\{\log E e^{D/b},\; \log E e^{-D/b},\; -\log E e^{-|D|/b}\}

    For k draws added, the first two are k times as large, and k times the third is at least its own value
    (:math:`|D_1 + \dots + D_k| \le |D_1| + \dots + |D_k|`), with equality for values of one sign.

    Notes
    -----
    **Guarantee**: exact for one draw, for sums of values of one sign, and wherever the third term is not the largest;
    otherwise an upper bound, and the first two terms are the lower one. **Cost** per
    evaluation: one exponential per component and term, whatever the number of units. The hockey stick is that of the
    engine of a pair, for the units whose pure loss leaves it open.

    References
    ----------
    docs/theory.md, section 7; it sharpens [DLYZ] Theorem 3 (13), :math:`\log E e^{|D|/b}`, for values of both signs.
    """

    def __init__(self, laws: UnitLaws, /) -> None:
        self._laws = laws
        self._sizes = np.diff(laws.starts)
        self._magnitude = np.maximum.reduceat(np.abs(laws.means) + 40.0 * laws.stds, laws.starts[:-1])
        self._nothing = (self._magnitude == 0).all()
        low, high = (ufunc.reduceat(laws.means, laws.starts[:-1]) for ufunc in (np.minimum, np.maximum))
        atoms = np.maximum.reduceat(laws.stds, laws.starts[:-1]) == 0
        self._closed = (laws.copies == 1) | (atoms & ((low >= 0) | (high <= 0)))

    @property
    def span(self) -> float:
        """The largest contribution, 40 standard deviations of a Gaussian one."""
        return float((self._laws.copies * self._magnitude).max())

    @property
    def resolution(self) -> float:
        """No length: without noise the loss of any contribution but 0 is infinite."""
        return 0.0

    def only(self, pair: Pair, /) -> PresenceLoss:
        """The same for one of the units."""
        return PresenceLoss(self._laws.only(list(self._laws.units).index(pair[0])))

    def losses(self, scale: float, /) -> tuple[FloatArray, FloatArray]:
        """Pure loss of every unit and a bound of its rounding error, shape (units,) each."""
        t, laws = 1.0 / scale, self._laws
        up, down, centre = laws.log_moment(t), laws.log_moment(-t), -laws.log_absolute_moment(-t)
        largest = np.maximum(np.maximum(up, down), np.maximum(centre, 0.0))
        exponents = self._magnitude * t * (1.0 + self._magnitude * t * bool(laws.stds.any()))
        error = UNIT_ROUNDOFF * (self._sizes + 16.0 + 16.0 * exponents)
        return laws.copies * largest, laws.copies * (error + 4 * UNIT_ROUNDOFF * largest)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the units."""
        if scale == 0 or not math.isfinite(1.0 / scale):
            return self._without_noise()
        loss, error = self.losses(scale)
        worst = int(np.argmax(loss + error))
        high = float(loss[worst] + error[worst])
        low = float((self._at_least(scale, loss) - error).max())
        return WorstCase(bracket=Bracket(lower=max(0.0, min(low, high)), upper=high), pair=self._pair(worst))

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        r"""Largest hockey stick over the units; a unit of pure loss L has at most :math:`1 - e^{\varepsilon - L}`."""
        if scale == 0:
            return self._without_noise(limit=1.0)
        loss, error = self.losses(scale)
        bounds = -np.expm1(np.minimum(epsilon - (loss + error), 0.0)) * (1 + 4 * UNIT_ROUNDOFF)
        lower = upper = 0.0
        order = np.argsort(-bounds, kind="stable")
        worst = int(order[0])
        for k in watched(order[bounds[order] > 0], label="units"):
            if bounds[k] <= upper:
                break
            law = self._laws.prior(int(k))
            engine = privacy_loss({0: law, 1: NOTHING}, pairs=((0, 1),))
            found = engine.hockey_stick(scale, epsilon=epsilon).bracket
            lower = max(lower, found.lower)
            if found.upper > upper:
                upper, worst = found.upper, int(k)
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=self._pair(worst))

    @property
    def is_exact(self) -> bool:
        """Whether the pure loss is that of every unit at every scale, and not an upper bound of some."""
        return bool(self._closed.all())

    def _at_least(self, scale: float, loss: FloatArray) -> FloatArray:
        """The losses, of the units that have an upper bound only what the limits at both ends say."""
        if self.is_exact:
            return loss
        ends = np.maximum(self._laws.log_moment(1.0 / scale), self._laws.log_moment(-1.0 / scale))
        return np.where(self._closed, loss, self._laws.copies * ends)

    def _pair(self, k: int) -> Pair:
        return self._laws.units[k], ABSENT

    def _without_noise(self, *, limit: float = math.inf) -> WorstCase:
        """Without noise every contribution but 0 is told from none."""
        worst = int(np.argmax(self._laws.copies * self._magnitude))
        upper = 0.0 if self._nothing else limit
        return WorstCase(bracket=Bracket(lower=0.0, upper=upper), pair=self._pair(worst))
