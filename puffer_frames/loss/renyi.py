"""Rényi divergence of priors under Laplace noise."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from puffer_frames.errors import ArgumentError, CalibrationError, short_traceback
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import KnownInCells, RatioCells
from puffer_frames.loss.outcome import Bracket, Loss, PureLoss, WorstCase
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.arguments import check_delta, check_epsilon, check_number, check_scale
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import Prior, check_priors

_MOST_ORDER = 1e6
"""The largest order; beyond it rounding exceeds the divergence."""


@short_traceback
def renyi_divergence(p: Prior, q: Prior, /, *, order: float, scale: float) -> Bracket:
    r"""Rényi divergence of p from q under added Laplace noise, in this order of the two.

    .. math:: D_\alpha = \frac{1}{\alpha - 1} \log \int f_p(y)^\alpha f_q(y)^{1 - \alpha} \, dy

    Parameters
    ----------
    p, q : Prior
    order : float
        :math:`\alpha`, greater than 1 and at most a million.
    scale : float
        Greater than 0.

    Returns
    -------
    Bracket
        Infinite at most where a density leaves the range of floats.

    Raises
    ------
    ArgumentError
        For an order or scale out of range.
    CalibrationError
        Where the engine does not know the law of the loss: for hardly any noise.

    Notes
    -----
    In a cell with the probabilities P and Q the integral is at least :math:`P^\alpha Q^{1 - \alpha}` by Jensen, and at
    most what the chord of :math:`r^\alpha` between the bounds of the ratio gives. Both are larger for a larger P or a
    smaller Q, so that their own bounds may take their places. It is below the pure loss, and rises to it with the
    order.

    References
    ----------
    docs/theory.md, section 3, "Rényi divergence".
    """
    order, scale = check_order(order), check_scale(scale)
    if not scale:
        raise ArgumentError("scale", rule="greater than 0", got="0", hint="Order 2 and scale 1 are valid.")
    check_priors((p, q))
    engine = privacy_loss({0: p, 1: q}, noise=Laplace())
    known = dict(engine.ratio_cells(scale) or ()) if isinstance(engine, KnownInCells) else {}
    if (0, 1) not in known:
        raise CalibrationError(
            "the scale", rule="one at which the law of the loss is known", got="less", hint="Raise it."
        )
    return _divergence(known[0, 1], order)


@short_traceback
def renyi_epsilon(*, order: float, epsilon: float, delta: float) -> float:
    r"""The epsilon of (epsilon, delta)-privacy that follows from a Rényi divergence of at most `epsilon`.

    .. math:: \varepsilon + \log(1 - 1/\alpha) - \frac{\log(\alpha \delta)}{\alpha - 1}

    Parameters
    ----------
    order, epsilon : float
        As in `smallest_scale`.
    delta : float
        Greater than 0.

    Returns
    -------
    float
        Rounded up, at least 0.

    Raises
    ------
    ArgumentError
        For a number out of range.

    Notes
    -----
    **Guarantee**: with f the densities, L = log f_p/f_q and s the result, the hockey stick is :math:`E_p (1 - e^{s -
    L})_+`, and :math:`(1 - e^{s - L})_+ \le c\, e^{(\alpha - 1)(L - s)}` with c the largest value of the quotient,
    :math:`(\alpha - 1)^{\alpha - 1} \alpha^{-\alpha}`: so it is at most :math:`c\, e^{(\alpha - 1)(\varepsilon - s)}`.

    References
    ----------
    Canonne, Kamath and Steinke, *The discrete Gaussian for differential privacy*, Proposition 12.

    Examples
    --------
    >>> round(renyi_epsilon(order=8.0, epsilon=0.5, delta=1e-5), 4)
    1.7141
    """
    order, epsilon, delta = check_order(order), check_epsilon(epsilon), check_delta(delta)
    if not delta:
        raise ArgumentError("delta", rule="greater than 0", got="0", hint="A value such as 1e-5 is usual.")
    found = epsilon + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(0.0, found + 16 * UNIT_ROUNDOFF * (epsilon + 1 + (800 + math.log(order)) / (order - 1)))


class RenyiLoss(PureLoss):
    """The largest Rényi divergence of an order, both orders of each pair, in the place of the pure loss.

    Where the engine does not know the law of the loss (without noise, for hardly any, for more pairs than it looks at),
    it is bounded by the pure loss.
    """

    def __init__(self, engine: Loss, order: float, /) -> None:
        self._engine, self._order = engine, check_order(order)
        self.span, self.resolution = engine.span, engine.resolution

    def only(self, pair: Pair, /) -> RenyiLoss:
        return RenyiLoss(self._engine.only(pair), self._order)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest divergence over the pairs."""
        known = self._engine.ratio_cells(scale) if isinstance(self._engine, KnownInCells) else None
        if not known:
            above = self._engine.pure(scale)
            return WorstCase(bracket=Bracket(lower=0.0, upper=above.bracket.upper), pair=above.pair)
        found = [(_divergence(cells, self._order), pair) for pair, cells in known]
        bracket, worst = max(found, key=lambda one: one[0].upper)
        pairs = [pair for pair, _ in known]  # each one's reverse comes after it
        return WorstCase(bracket=bracket, pair=pairs[min(pairs.index(worst), pairs.index(worst[::-1]))])


def check_order(order: object, /) -> float:
    """Return the order; raise ArgumentError, ArgumentTypeError for what is none."""
    checked = check_number(order, "order")
    if not 1 < checked <= _MOST_ORDER:
        rule = f"greater than 1 and at most {_MOST_ORDER:g}"
        raise ArgumentError("order", rule=rule, got=f"{checked:g}", hint="Order 2 and scale 1 are valid.")
    return checked


def _divergence(cells: RatioCells, order: float) -> Bracket:
    """The divergence of the first law of some cells from the second."""
    with np.errstate(divide="ignore"):
        others = np.maximum(cells.other_high, np.finfo(float).smallest_subnormal)  # a mass that underflows is below it
        least = order * np.log(cells.mass_low) - (order - 1) * np.log(others)
        logs, masses = cells.points()
        most = np.log(masses) + (order - 1) * logs
    error = UNIT_ROUNDOFF * (16 * order * (1 + float(np.abs(logs).max())) + logs.size + 64)
    low, high = float(logsumexp(least[cells.mass_low > 0])), float(logsumexp(most))
    lower = max((low - error) / (order - 1), 0.0) if math.isfinite(low) else 0.0
    known_above = not cells.beyond and math.isfinite(high)
    return Bracket(lower=lower, upper=max(lower, (high + error) / (order - 1)) if known_above else math.inf)
