"""Bounds of shares of rows, and what they prove of epsilon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta


def share_at_least(hits: ArrayLike, rows: ArrayLike, alpha: float, /) -> NDArray[np.float64]:
    """Clopper-Pearson lower bounds of shares, each at confidence 1 - alpha.

    They hold for independent rows with probabilities of their own too: the mean of these is then bounded.

    References
    ----------
    Hoeffding, *On the distribution of the number of successes in independent trials*, Ann. Math. Stat. 27, 1956,
    Theorem 4: of all such rows with one mean, equal ones have the heaviest tails.
    """
    of, among = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(rows, dtype=float))
    return np.where(of > 0, beta.ppf(alpha, np.maximum(of, 1), among - of + 1), 0.0)


def share_at_most(hits: ArrayLike, rows: ArrayLike, alpha: float, /) -> NDArray[np.float64]:
    """The upper bounds; 1 where there are no rows."""
    of, among = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(rows, dtype=float))
    upper = beta.ppf(1 - alpha, of + 1, np.maximum(among - of, 1))
    return np.where(of < among, upper, 1.0)


def epsilon_at_least(least: NDArray[np.float64], most: NDArray[np.float64], delta: float, /) -> NDArray[np.float64]:
    """What epsilon must be at least where one secret has a share of at least `least`, the other one of at most `most`.

    From P(B | s) <= e^epsilon P(B | t) + delta: log((least - delta) / most); 0 where that is negative.
    """
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(np.maximum(least - delta, 0.0)) - np.log(np.maximum(most, 1e-300))
    return np.maximum(found, 0.0)
