"""The Kantorovich mechanism: noise calibrated to the W-infinity distance between priors, or to means of its plan."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np
import scipy

from puffer_frames.errors import short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, divide_up
from puffer_frames.priors.pairs import pairs_of
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.transport import transport_plan, w_infinity, w_infinity_diameter


@short_traceback
def kantorovich_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale of the Kantorovich (Wasserstein) mechanism.

    .. math:: b = \max_{(i, j)} W_\infty(P_i, P_j) / \varepsilon

    Parameters
    ----------
    priors : mapping of secret to Prior
        Discrete priors.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, in units of the column.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For a prior with a Gaussian component.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of every pair, hence (epsilon, delta) for every delta. It rests on
    an almost-sure coupling, so the epsilons of several releases add. **Rounding**: up. **Cost**: one sort for all
    pairs together; for listed pairs, one merge each.

    References
    ----------
    [SWC17] section 3; [D22]; [DLYZ] Prop. 2.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> kantorovich_scale({"a": Prior.empirical([1, 2]), "b": Prior.empirical([2, 4])}, epsilon=0.5)
    4.0
    """
    epsilon = check_epsilon(epsilon)
    checked = pairs_of(priors, pairs)
    if checked == "all":
        return check_found(divide_up(w_infinity_diameter(list(priors.values())), epsilon))
    return check_found(divide_up(max(w_infinity(priors[a], priors[b]) for a, b in checked), epsilon))


@short_traceback
def relaxed_scale(
    priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: str | Iterable[Sequence[Secret]] = "all"
) -> float:
    r"""Published Laplace scale that takes means over the cheapest plan in the place of its largest distance.

    .. math:: \max_{x'} E[e^{|X - X'| / b} \mid X' = x'] \le e^\varepsilon, \qquad
              \max_x E[e^{|X - X'| / b} \mid X = x] \le e^\varepsilon \quad \text{for every pair}

    Parameters
    ----------
    priors : mapping of secret to Prior
        Discrete priors.
    epsilon : float
        Greater than 0.
    pairs : "all" or iterable of pairs of secrets

    Returns
    -------
    float
        Laplace scale b, at most that of `kantorovich_scale`; of Bernoulli laws that of `bernoulli_neighbour_scale` in
        both orders.

    Raises
    ------
    ArgumentError
        For an epsilon or a secret out of range.
    PriorError
        For a prior with a Gaussian component.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of every pair, for one release: given x', the density of X + noise is
    at most e^epsilon times that of x' + noise, and the mean over x' is the claim; given x, that of the other order.
    Published is the first condition alone. **Rounding**: up. **Cost**: a root for each pair.

    References
    ----------
    [D22] Theorem 2; [DLYZ] (20) and Lemma 6; docs/theory.md, section 4.

    Examples
    --------
    >>> from puffer_frames.core import Prior
    >>> round(relaxed_scale({"s": Prior.bernoulli(0.2), "t": Prior.bernoulli(0.9)}, epsilon=1.0), 4)
    0.9204
    """
    epsilon, checked = check_epsilon(epsilon), pairs_of(priors, pairs)
    listed = combinations(priors, 2) if checked == "all" else checked
    return check_found(max(_relaxed(priors[a], priors[b], epsilon) for a, b in listed))


_LEAST = 1e-280
"""Below it the numbers near a root may be too few for a search: the larger scale of `kantorovich_scale` is taken."""


def _relaxed(p: Prior, q: Prior, epsilon: float) -> float:
    top = divide_up(w_infinity(p, q), epsilon)
    plan = transport_plan(p.at_middles(), q.at_middles())
    moved = np.abs(plan[:, 0] - plan[:, 1]) + 2 * max(p.radius, q.radius)
    if not moved.any():
        return 0.0
    sides = [np.unique(plan[:, side], return_inverse=True)[1] for side in (0, 1)]
    slack = UNIT_ROUNDOFF * (len(plan) + 64) * (1 + epsilon + math.log(len(plan) + 1))

    def excess(scale: float) -> float:
        """Log of the largest mean beyond epsilon; falls with the scale."""
        with np.errstate(over="ignore"):
            grown = plan[:, 2] * np.exp(moved / scale)
        means = [np.bincount(side, grown) / np.bincount(side, plan[:, 2]) for side in sides]
        return min(math.log(max(float(mean.max()) for mean in means)), 1e3) - epsilon + slack

    if excess(top) > 0 or top < _LEAST:
        return top
    low = top
    while excess(low) <= 0:
        low /= 2
    root = float(scipy.optimize.brentq(excess, low, low * 2, xtol=low * 1e-14, rtol=1e-14))
    while excess(root) > 0:
        root = min(root * (1 + 1e-13), top)
    return root
