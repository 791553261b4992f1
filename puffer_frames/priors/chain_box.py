"""Sets of Markov chains: every transition matrix between two bounds, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from puffer_frames.priors.prior import FloatArray, IndexArray

_WIDER = 1e-10
"""The bounds are moved outwards by this share, for the error of the inverse beta function and of sums."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainBox:
    """Every chain whose transition matrix lies between two bounds, whatever the law of its first state is."""

    least: FloatArray
    """Lower bounds of the entries, shape (states, states), rows from, columns to."""
    most: FloatArray
    """Upper bounds."""

    @property
    def initial(self) -> str:
        """Any law of the first state."""
        return "any"

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self.least)


def chains_not_refuted(transitions: IndexArray, /, *, alpha: float) -> ChainBox:
    r"""The transition matrices that series do not refute: a box that misses the true one with probability alpha.

    For n transitions from a state, k of which go to another, Clopper and Pearson's bounds

    .. math:: B^{-1}(\gamma; k, n - k + 1) \le P \le 1 - B^{-1}(\gamma; n - k, k + 1)

    with gamma = alpha / (2 entries N), N being the number of all transitions: how many of them leave a state depends on
    the chain, so the bounds must hold for every such number at once.

    Parameters
    ----------
    transitions : array of int, shape (states, states)
        How often each was seen, of series that all follow one matrix.
    alpha : float

    References
    ----------
    docs/theory.md, section 14.
    """
    seen = np.asarray(transitions, dtype=np.float64)
    states, leaving = seen.shape[0], seen.sum(axis=1, keepdims=True)
    entries = 2 if states == 2 else states * states  # of two, each row has one bound of either side
    tail = alpha / (2 * entries * max(1.0, float(seen.sum())))
    staying = leaving - seen
    least = np.where(seen > 0, betaincinv(np.maximum(seen, 1.0), staying + 1, tail), 0.0) * (1 - _WIDER)
    above = np.where(staying > 0, betaincinv(np.maximum(staying, 1.0), seen + 1, tail), 0.0) * (1 - _WIDER)
    most = 1 - above
    rest = most.sum(axis=1, keepdims=True) - most
    others = least.sum(axis=1, keepdims=True) - least
    return ChainBox(
        least=np.maximum(least, (1 - rest) * (1 - _WIDER) - _WIDER),
        most=np.minimum(most, (1 - others) * (1 + _WIDER) + _WIDER),
    )
