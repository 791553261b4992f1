"""[GK16]: noise for one value of a series whose neighbours tell little of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError, cholesky_banded, solve_banded

from puffer_frames.errors import CalibrationError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.papers.quilt.nodes import QuiltScale
from puffer_frames.papers.quilt.scales import Chain, check_length, largest_over
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.prior import FloatArray

_ROUND_UP = 1 + 2.0**-26
"""Above the rounding of the linear system wherever its answer is below the length of the series."""


@short_traceback
def neighbour_scale(chains: MarkovChain | Sequence[MarkovChain], /, *, length: int, epsilon: float) -> float:
    r"""Laplace scale of [GK16] for a query that is 1-Lipschitz per value.

    .. math:: b = \max_\theta \max_i \sum_j 2 \left[(1 - \Gamma)^{-1}\right]_{ji} / \varepsilon

    with :math:`\Gamma_{kj}` half the largest :math:`\log P(X_k = x \mid \text{others})` less the same for another value
    of neighbour j.

    Parameters
    ----------
    chains : MarkovChain or sequence of MarkovChain
        The adversary's beliefs; the scale covers all.
    length : int
        Number of values of the series.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        Multiply it by the Lipschitz constant, as that of `quilt_scale`.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an epsilon, length or chain out of range.
    CalibrationError
        Where the spectral norm of :math:`\Gamma` is not below 1: the rule says nothing then.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of "X_i = s" against "X_i = t" for every i; half of the scale has it
    too (docs/theory.md, section 10, "Neighbours alone"). **Rounding**: up. **Cost**: O(length + states^3).

    References
    ----------
    [GK16], as in [SWC17].

    Examples
    --------
    >>> round(neighbour_scale(MarkovChain.of([[0.6, 0.4], [0.4, 0.6]]), length=100, epsilon=1.0), 4)
    3.8873
    """
    length, epsilon = check_length(length), check_epsilon(epsilon)

    def found(chain: Chain) -> QuiltScale:
        return QuiltScale(sigma=2 * neighbour_sum(chain, length=length) / epsilon, quilts=())

    return check_found(largest_over(chains, found).sigma)


def neighbour_sum(chain: Chain, /, *, length: int) -> float:
    """Largest column sum of the inverse of 1 - Gamma of so many values, rounded up."""
    assert isinstance(chain, MarkovChain)  # a box of chains is refused with its mechanism
    if length == 1:
        return 1.0
    from_left, from_right = _influences(chain, length)
    try:
        # I - Gamma' Gamma is positive definite; of a tridiagonal Gamma without a diagonal it has two bands
        bands = np.zeros((3, length))
        bands[2] = 1.0
        bands[2, :-1] -= from_left[1:] ** 2
        bands[2, 1:] -= from_right[:-1] ** 2
        bands[0, 2:] = -from_left[1:-1] * from_right[1:-1]
        cholesky_banded(bands)
    except (LinAlgError, ValueError):  # ValueError: infinite
        raise CalibrationError(
            'mechanism="gk16"',
            rule="for chains whose matrix of influences has a spectral norm below 1",
            got="a norm of 1 or more",
            hint='Use mechanism="quilt", which has no such condition.',
        ) from None
    system = np.ones((3, length))
    system[0, 1:], system[2, :-1] = -from_left[1:], -from_right[:-1]
    return float(solve_banded((1, 1), system, np.ones(length)).max()) * _ROUND_UP


def _influences(chain: MarkovChain, length: int) -> tuple[FloatArray, FloatArray]:
    """Influences of the neighbours before and after each value; infinite where a transition is impossible."""
    if not (chain.transition > 0).all():
        return np.full(length, np.inf), np.full(length, np.inf)
    step, twice = np.log(chain.transition), np.log(chain.transition @ chain.transition)
    left, right = np.zeros(length), np.zeros(length)
    # between l and r, log P(x | l, r) = log P(l, x) + log P(x, r) - log P^2(l, r)
    left[1:-1] = max(float(np.ptp(into[:, None] - twice, axis=0).max()) for into in step.T)
    right[1:-1] = max(float(np.ptp(out - twice, axis=1).max()) for out in step)
    left[-1] = float(np.ptp(step, axis=0).max())
    if isinstance(chain.initial, str) and chain.initial == "any":
        right[0] = max(float(np.ptp(step - row, axis=1).max()) for row in step)
    else:
        first = chain.stationary if isinstance(chain.initial, str) else np.asarray(chain.initial)
        right[0] = float(np.ptp(step[first > 0] - np.log(first @ chain.transition), axis=1).max())
    return left / 2, right / 2
