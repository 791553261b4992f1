"""Privacy loss of several rows of a unit that are independent draws given its secret."""

from __future__ import annotations

import math
from collections.abc import Sequence

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import Loss, WorstCase
from puffer_frames.loss.ratio_cells import KnownInCells, RatioCells
from puffer_frames.loss.units.least_law import least_stick_of_rows
from puffer_frames.loss.units.loss_law import LossLaw
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair


class UnitLoss:
    r"""The loss of k rows, from that of one.

    The pure loss is k times that of a row, exactly. The hockey stick of a row at every epsilon, from above, is a law of
    its loss on a lattice (`LossLaw`), whose k-fold convolution bounds that of k rows. Beside it stands the simple
    bound k times the hockey stick of a row at epsilon / k, and the smaller of both is taken.

    Parameters
    ----------
    loss : Loss
        Of one row.
    rows : int

    Notes
    -----
    **Guarantee**: bounds, of which the upper one is near. The rows of a pair may have different laws, as long as the
    loss covers each. A unit of fewer rows loses no more. **Cost** per evaluation: some tens of milliseconds per pair
    that may be the worst.

    References
    ----------
    docs/theory.md, section 17 (T5).
    """

    def __init__(self, loss: Loss, /, *, rows: int) -> None:
        self._loss, self._rows = loss, rows

    @property
    def span(self) -> float:
        """A length from which a search for the scale may start."""
        return self._loss.span * math.sqrt(self._rows)

    @property
    def resolution(self) -> float:
        """As that of one row."""
        return self._loss.resolution

    def only(self, pair: Pair, /) -> UnitLoss:
        """The same for one of the pairs."""
        return UnitLoss(self._loss.only(pair), rows=self._rows)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest pure loss over the pairs."""
        found = self._loss.pure(scale)
        lower, upper = (end * self._rows for end in (found.bracket.lower, found.bracket.upper))
        bracket = Bracket(lower=lower * (1 - 2 * UNIT_ROUNDOFF), upper=upper * (1 + 2 * UNIT_ROUNDOFF))
        return WorstCase(bracket=bracket, pair=found.pair)

    def hockey_stick(self, scale: float, /, *, epsilon: float) -> WorstCase:
        """Bounds of the largest hockey stick over the pairs."""
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
