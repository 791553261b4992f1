"""Exact law of a count of states in a Markov chain, given the state at one time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from puffer_frames.chains import MarkovChain
from puffer_frames.errors import ArgumentError
from puffer_frames.loss.discrete import DiscreteLoss
from puffer_frames.pairs import Pair
from puffer_frames.priors import FloatArray, Secret
from puffer_frames.rounding import UNIT_ROUNDOFF

_SMALLEST = 1e-250
"""Smaller probabilities come near to underflow, and the tails of the loss rest on them."""
LONGEST = 2000
"""Longest series; the tables have (states x length^2) entries."""


def count_loss(chains: Sequence[MarkovChain], counted: Sequence[bool], /, *, length: int) -> DiscreteLoss | None:
    r"""Privacy loss of one count, of "X_i = s" against "X_i = t" for every i and all states.

    The law of :math:`F = \sum_i 1[X_i \in C]` given :math:`X_i = s` is the convolution of the law of the count up to i
    (a forward recursion over states and counts) and of the one after i (a backward recursion).

    Parameters
    ----------
    chains : sequence of MarkovChain
        Beliefs, each with a stationary or given start.
    counted : sequence of bool, shape (states,)
        Which states are counted.
    length : int
        Number of values, T.

    Returns
    -------
    DiscreteLoss or None
        None where no time has two possible states.

    Raises
    ------
    ArgumentError
        For a series of more than 2,000 values, or a chain with any start.

    Notes
    -----
    **Cost**: O(T^2 k^2) for the recursions and O(T^3 k) for the convolutions. **Rounding**: `count_rounding`.
    """
    if length > LONGEST:
        raise ArgumentError(
            'the length of a series for mechanism="exact"',
            rule=f"at most {LONGEST:,}",
            got=f"{length:,}",
            hint='Use mechanism="quilt".',
        )
    secrets: list[Secret] = []
    rows: list[FloatArray] = []
    pairs: list[Pair] = []
    weights = np.asarray(counted, dtype=bool)
    for number, chain in enumerate(chains):
        if isinstance(chain.initial, str) and chain.initial == "any":
            raise ArgumentError(
                'initial for mechanism="exact"',
                rule='"stationary", "estimated" or a law',
                got="'any'",
                hint='Use mechanism="quilt", or give the law of the first state.',
            )
        start = chain.stationary if isinstance(chain.initial, str) else np.asarray(chain.initial)
        up_to = _forward(chain.transition, start, weights, length)
        after = _backward(chain.transition, weights, length)
        for i in range(length):
            reached = up_to[i].sum(axis=1)
            possible = np.flatnonzero(reached > 0)
            for s in possible:
                secrets.append((number, i, int(s)))
                law = np.convolve(up_to[i][s, : i + 2] / reached[s], after[length - 1 - i][s, : length - i])
                rows.append(np.pad(law, (0, length + 1 - law.size)))
            pairs += [((number, i, int(s)), (number, i, int(t))) for s in possible for t in possible if s < t]
    if not pairs:
        return None
    table = np.stack(rows)
    if bool(((table > 0) & (table < _SMALLEST)).any()):
        raise ArgumentError(
            "the chain",
            rule=f"one whose counts all have a probability of at least {_SMALLEST:g}, or 0",
            got="smaller ones, which floats would lose",
            hint='Use mechanism="quilt".',
        )
    positions = np.arange(length + 1, dtype=np.float64)
    return DiscreteLoss.of_table(secrets, positions, table, pairs=tuple(pairs))


def count_rounding(chains: Sequence[MarkovChain], /, *, length: int) -> float:
    """What the rounding of the laws can change of a log-ratio: sums of positive terms, `length` steps deep."""
    states = chains[0].states
    return 4 * UNIT_ROUNDOFF * (length * (states + 4) + 64 * states**2)


def _forward(transition: FloatArray, start: FloatArray, weights: NDArray[np.bool_], length: int) -> list[FloatArray]:
    """P(X_i = x, count of the first i = c) for i = 1, ..., T, each of shape (states, T + 1)."""
    table = np.zeros((start.size, length + 1))
    table[np.arange(start.size), weights.astype(int)] = start
    tables = [table]
    for _ in range(length - 1):
        moved = transition.T @ tables[-1]
        moved[weights] = np.roll(moved[weights], 1, axis=1)  # the last entry is still 0
        tables.append(moved)
    return tables


def _backward(transition: FloatArray, weights: NDArray[np.bool_], length: int) -> list[FloatArray]:
    """P(count of the next r = c | X = x) for r = 0, ..., T - 1, each of shape (states, T + 1)."""
    table = np.zeros((transition.shape[0], length + 1))
    table[:, 0] = 1.0
    tables = [table]
    for _ in range(length - 1):
        counted = tables[-1].copy()
        counted[weights] = np.roll(counted[weights], 1, axis=1)
        tables.append(transition @ counted)
    return tables
