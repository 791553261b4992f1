"""The Markov Quilt Mechanism for a small Bayesian network."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from typing import TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, short_traceback
from puffer_frames.numbers.arguments import check_epsilon, check_found
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.papers.quilt.nodes import Quilt
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.prior import IndexArray

Counted: TypeAlias = int | Mapping[Hashable, Iterable[int]]

_FEW, _NEAR = 24, 12
"""In a network of more than a few nodes, quilts of one or two nodes are sought among so many of the nearest ones, and
larger quilts have at most so many nodes."""
_SLACK = 1e-6
"""More than rounding changes of an influence."""
_ROUND_UP = 1 + 16 * UNIT_ROUNDOFF


@short_traceback
def network_quilt_scale(network: BayesianNetwork, /, *, counted: Counted, epsilon: float) -> float:
    r"""Laplace scale of the Markov Quilt Mechanism for a count of nodes in a Bayesian network.

    .. math:: \sigma = \max_i \min_{\text{quilts } Q \text{ of } i} \frac{\text{card}}{\varepsilon - e(Q)}, \qquad
              e(Q) = \max_{a, b, q} \log \frac{P(X_Q = q \mid X_i = a)}{P(X_Q = q \mid X_i = b)}

    card is the number of counted nodes that the quilt does not separate from the node i. Quilts are all sets of at most
    two nodes, the Markov blanket, and the nodes at one distance from i in the moral graph.

    Parameters
    ----------
    network : BayesianNetwork
        The adversary's belief.
    counted : int, or mapping of node to states
        Which states the count is of: one number for all nodes, or states per node; nodes left out are not counted.
    epsilon : float
        Greater than 0.

    Returns
    -------
    float
        For the count; 2 times it for a histogram of states.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an argument out of range, and a network whose nodes depend on too many others.

    Notes
    -----
    **Guarantee**: pure epsilon-Pufferfish privacy of "X_i = a" against "X_i = b" for every node and all states that are
    possible. **Rounding**: up. **Cost**: an elimination of the nodes per quilt.

    References
    ----------
    [SWC17] Definition 4.2 and Theorem 4.3; docs/theory.md, section 10, "The Markov Quilt Mechanism".

    Examples
    --------
    >>> pairs = {"ann": [0.9, 0.1], "ben": [[0.8, 0.2], [0.3, 0.7]]}
    >>> home = BayesianNetwork.of(pairs, parents={"ben": ["ann"]})
    >>> network_quilt_scale(home, counted=1, epsilon=1.0)
    2.0000000000000036
    """
    target = check_epsilon(epsilon)
    counts = [bool(np.ptp(adds)) for adds in what_counts(network, counted)]
    quilts = network_quilts(network, counts, epsilon=target)
    return check_found(max(quilt.card / (target - quilt.influence) for quilt in quilts) * _ROUND_UP)


def network_quilts(network: BayesianNetwork, counts: Sequence[bool], /, *, epsilon: float) -> tuple[Quilt, ...]:
    """The quilt of each node that asks for the least Laplace noise, each different one once; `counts` says which nodes
    are counted.
    """
    used = dict[Quilt, None]()
    for node in range(len(network)):
        chosen = Quilt(card=sum(counts[k] for k in network.inside(node, ())), influence=0.0)
        best = chosen.card / epsilon
        of_one = cache(partial(_influence, network, node))
        for card, quilt in sorted(_quilts(network, node, counts), key=lambda each: (each[0], len(each[1]))):
            if card / epsilon >= best:
                break
            # some nodes of a quilt tell no more than all of them
            least = max((of_one((k,)) for k in quilt if len(quilt) > 1), default=0.0) - _SLACK
            if least >= epsilon or card / (epsilon - least) >= best:
                continue
            influence = of_one(quilt)
            if influence < epsilon and card / (epsilon - influence) < best:
                best, chosen = card / (epsilon - influence), Quilt(card=card, influence=influence)
        used[chosen] = None
    return tuple(used)


def what_counts(network: BayesianNetwork, counted: Counted, /) -> list[IndexArray]:
    """What each state of each node adds to the count, 0 or 1; raises ArgumentError for what is no state."""
    if not isinstance(network, BayesianNetwork):
        raise ArgumentTypeError(
            "the network",
            rule="a BayesianNetwork",
            got=f"a {type(network).__name__}",
            hint="Make one with BayesianNetwork.of.",
        )
    given = counted if isinstance(counted, Mapping) else {name: [counted] for name in network.names}
    unknown = [name for name in given if name not in network.names]
    if unknown:
        raise ArgumentError("counted", rule="of nodes of the network", got=repr(unknown[0]), hint="Name another one.")
    found = []
    for name, states in zip(network.names, network.states, strict=True):
        own = given.get(name, ())
        listed = list(own) if isinstance(own, Iterable) else [own]
        whole = all(isinstance(state, int | np.integer) and not isinstance(state, bool) for state in listed)
        if not (whole and all(0 <= state < states for state in listed)):
            raise ArgumentError(
                "counted",
                rule=f"of states from 0 to {states - 1} for the node {name!r}",
                got=repr(listed),
                hint="Write counted=1, or counted={node: [1, 2]}.",
            )
        adds = np.zeros(states, dtype=np.intp)
        adds[listed] = 1
        found.append(adds)
    if not any(adds.any() for adds in found):
        raise ArgumentError("counted", rule="at least one state", got="none", hint="Write counted=1.")
    return found


def _quilts(network: BayesianNetwork, node: int, counts: Sequence[bool]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Sets that separate some nodes from the others, and how many counted ones are on the side of the node."""
    rings, others = list(_rings(network, node)), [k for k in range(len(network)) if k != node]
    if len(network) > _FEW:
        others = [k for ring in rings for k in sorted(ring)][:_NEAR]
        rings = [ring for ring in rings if len(ring) <= _NEAR]
    sets = [frozenset(chosen) for size in (0, 1, 2) for chosen in combinations(others, size)]
    seen = set[frozenset[int]]()
    for quilt in (*sets, *rings):
        inside = network.inside(node, quilt)
        wall = frozenset(k for k in quilt if network.neighbours[k] & inside)
        if wall not in seen:
            seen.add(wall)
            yield sum(counts[k] for k in inside), tuple(sorted(wall))


def _rings(network: BayesianNetwork, node: int) -> Iterator[frozenset[int]]:
    """The nodes at each distance: the Markov blanket first."""
    reached, ring = {node}, {node}
    while ring := set().union(*(network.neighbours[k] for k in ring)) - reached:
        yield frozenset(ring)
        reached |= ring


def _influence(network: BayesianNetwork, node: int, quilt: tuple[int, ...]) -> float:
    """Largest log-ratio of the probabilities of a quilt's states, given two states of the node; rounded up."""
    if not quilt:
        return 0.0
    try:
        joint = network.joint([node, *quilt]).reshape(network.states[node], -1)
    except ArgumentError:  # a table that is too large: another quilt, or none, has to do
        return math.inf
    joint = joint[joint.any(axis=1)]
    given = joint / joint.sum(axis=1, keepdims=True)
    given = given[:, given.any(axis=0)]
    with np.errstate(divide="ignore"):
        logs = np.log(given)
    largest = float((logs.max(axis=0) - logs.min(axis=0)).max())
    return largest + 4.0 * network.rounding + 8.0 * UNIT_ROUNDOFF * (1.0 + float(np.abs(logs[given > 0]).max()))
