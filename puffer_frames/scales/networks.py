"""The smallest noise for a count of nodes in a small Bayesian network."""

from __future__ import annotations

import numpy as np

from puffer_frames.errors import short_traceback
from puffer_frames.loss.atoms.counts import CountLoss
from puffer_frames.loss.atoms.tilted import Law, normalised
from puffer_frames.numbers.target import Target
from puffer_frames.papers.quilt.networks import Counted, what_counts
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.pairs import Pair
from puffer_frames.scales.search import smallest_scale_of


@short_traceback
def network_scale(network: BayesianNetwork, /, *, counted: Counted, epsilon: float, delta: float = 0.0) -> float:
    r"""Smallest Laplace scale for a count of nodes in a Bayesian network.

    The law of :math:`F = \sum_j 1[X_j \in C_j]` given :math:`X_i = a` is worked out by the elimination of the other
    nodes, for every node and state; the scale is the smallest at which every pair of states of every node is
    indistinguishable.

    Parameters
    ----------
    network : BayesianNetwork
        The adversary's belief.
    counted : int, or mapping of node to states
        As in `network_quilt_scale`.
    epsilon : float
        Greater than 0.
    delta : float
        0 for pure privacy.

    Returns
    -------
    float
        0 where the count tells nothing.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an argument out of range, and a network whose nodes depend on too many others.

    Notes
    -----
    **Guarantee**: (epsilon, delta)-Pufferfish privacy of "X_i = a" against "X_i = b" for every node and all states that
    are possible, for one release of the count. **Cost**: an elimination per node, and the search.

    References
    ----------
    [SWC17] Theorem 3.2 (Wasserstein mechanism), with the exact scale in the place of the distance over epsilon;
    docs/theory.md, section 10, "The Markov Quilt Mechanism".

    Examples
    --------
    >>> pairs = {"ann": [0.9, 0.1], "ben": [[0.8, 0.2], [0.3, 0.7]]}
    >>> home = BayesianNetwork.of(pairs, parents={"ben": ["ann"]})
    >>> round(network_scale(home, counted=1, epsilon=1.0), 4)
    1.503
    """
    target = Target.of(epsilon, delta)
    adds, laws, ends = what_counts(network, counted), list[Law](), [0]
    secrets, pairs = list[tuple[int, int]](), list[Pair]()
    for node in range(len(network)):
        table = network.counts([node], adds)
        possible = np.flatnonzero(table.any(axis=1))
        if possible.size < 2:
            continue
        held = table[possible]
        states = [(node, int(state)) for state in possible]
        laws.append(normalised(held / held.sum(axis=1, keepdims=True)))
        secrets += states
        ends.append(len(secrets))
        pairs += [(one, other) for k, one in enumerate(states) for other in states[k + 1 :]]
    if not pairs:
        return 0.0
    rows = Law(np.concatenate([law.mantissas for law in laws]), np.concatenate([law.exponents for law in laws]))
    error = 2.0 * network.rounding
    loss = CountLoss.of_times(secrets, rows, np.array(ends, dtype=np.intp), pairs=tuple(pairs), error=error)
    return smallest_scale_of(loss, target)
