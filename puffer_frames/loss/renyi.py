"""Rényi divergence of two priors under Laplace noise."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import logsumexp

from puffer_frames.errors import ArgumentError, CalibrationError, short_traceback
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.loss_law import KnownInCells
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.arguments import check_number, check_scale
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import Prior, check_priors

_MOST_ORDER = 1e6
"""Of larger orders rounding is more than the divergence."""


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
    order, scale = check_number(order, "order"), check_scale(scale)
    if not 1 < order <= _MOST_ORDER or not scale:
        what, got = ("order", f"{order:g}") if scale else ("scale", "0")
        rule = f"greater than 1 and at most {_MOST_ORDER:g}" if scale else "greater than 0"
        raise ArgumentError(what, rule=rule, got=got, hint="Order 2 and scale 1 are valid.")
    check_priors((p, q))
    engine = privacy_loss({0: p, 1: q}, noise=Laplace())
    known = dict(engine.ratio_cells(scale) or ()) if isinstance(engine, KnownInCells) else {}
    if (0, 1) not in known:
        raise CalibrationError(
            "the scale", rule="one at which the law of the loss is known", got="less", hint="Raise it."
        )
    cells = known[0, 1]
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
