"""Noise for counts and sums of the nodes of a Bayesian network, from their exact laws given the state of one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import gcd, nextafter

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError, short_traceback
from puffer_frames.loss.atoms.counts import CountLoss, CountsLoss, RangeLoss
from puffer_frames.loss.atoms.recursion import normalised
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF, divide_up, up
from puffer_frames.papers.catalogue import EXACT_NETWORK, MECHANISMS, PUBLISHED_FOR
from puffer_frames.papers.quilt.networks import Counted, what_counts
from puffer_frames.priors.network import BayesianNetwork, NetworkRange
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.search import smallest_scale_of
from puffer_frames.scales.series_counts import ReleasedCounts, SeriesNoiseRequest

_MOST_ENTRIES = 1 << 21
"""Entries of all laws of several counts together: each evaluation goes through them."""

Names = list[tuple[int, ...]]
"""Numbers of the network, node and state of each law, and of the pair where pairs are listed."""
Hidden = tuple[tuple[int, int], ...]
"""The pairs of states that are listed; none for all."""


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
    loss = _loss_of_sum([network], [what_counts(network, counted)])
    return 0.0 if loss is None else smallest_scale_of(loss, target)


def exact_of_networks(request: SeriesNoiseRequest, mechanism: str, /) -> Choice:
    """The smallest Laplace scale that the exact loss of all released numbers confirms for every node and network.

    For "wasserstein" the largest W-infinity distance of the laws of one count or sum over epsilon, where that is more.

    Raises ArgumentError for other noise, too large a table, and several counts for "wasserstein"; CalibrationError
    where no noise is needed.
    """
    networks, counts, target, noise = request.networks, request.counts, request.target, request.noise
    ranged = isinstance(networks, NetworkRange)
    if noise != PUBLISHED_FOR or (mechanism == "wasserstein" and (counts.bins > 1 or ranged)):
        raise ArgumentError(
            f'mechanism="{mechanism}"',
            rule="for Laplace noise" + " and one count of listed networks" * (mechanism == "wasserstein"),
            got=f"{counts.bins} counts" + " of a range of networks" * ranged + f" and {noise.title} noise",
            hint='Use mechanism="quilt", and list networks.' if ranged else 'Use mechanism="quilt".',
        )
    asked, (loss, unit) = counts.unrounded(target.pure, noise), exact_loss(networks, counts)
    least = smallest_scale_of(loss, asked)
    if least == 0:
        raise CalibrationError(
            "the network",
            rule="one under which the answers depend on the state of some node",
            got="one whose answers need no noise at this epsilon",
            hint=f'Use mechanism="{"group" if ranged else "quilt"}", or a smaller epsilon.',
        )
    scale, published = up(Fraction(least) * unit), None
    if mechanism == "wasserstein" and isinstance(loss, CountLoss):
        published = divide_up(loss.distance * unit, target.epsilon)
        scale = max(scale, divide_up(loss.distance * unit, asked.epsilon))
    measured = measure(loss, scale if unit == 1 else nextafter(scale / unit, 0.0), target)[0]
    theorem = EXACT_NETWORK if mechanism == "exact" else MECHANISMS[mechanism]
    return request.choice(theorem, scale, measured, published=published)


def loss_of_networks(
    networks: Sequence[BayesianNetwork], counts: ReleasedCounts, scale: float, /, *, whole: float
) -> float:
    """An upper bound of the loss of Laplace noise of some scale: that of the `whole` where no exact one is at hand."""
    try:
        loss, unit = exact_loss(networks, counts)
    except ArgumentError:
        return whole
    return min(whole, loss.pure(scale / unit).bracket.upper)


def rivals_of(networks: Sequence[BayesianNetwork], counts: ReleasedCounts, /) -> tuple[Prior, Prior]:
    """The laws of one count or sum given the states of a node whose means are farthest apart (of a range: its ends)."""
    adds, unit = _adds_of(counts, networks)
    own = [[adds[:states] for states in network.states] for network in networks]
    laws = (law for _, law in _laws(networks, own, counts.pairs))
    far = max(laws, key=lambda law: float(np.ptp(law @ np.arange(law.shape[1]))))
    places = np.arange(far.shape[1]) * float(unit)
    means = far @ places
    first, second = (Prior.mixture(far[k], places, np.zeros(places.size)) for k in (means.argmin(), means.argmax()))
    return first, second


def exact_loss(
    networks: Sequence[BayesianNetwork], counts: ReleasedCounts, /
) -> tuple[CountLoss | CountsLoss | RangeLoss, int]:
    """The loss of all released numbers, in units of a whole number.

    Some node has two possible states. Raises ArgumentError for tables that are too large, and CalibrationError where
    none has those of a listed pair.
    """
    if counts.bins > 1 and not isinstance(networks, NetworkRange):
        return _loss_of_counts(networks, counts.released, counts.pairs), 1
    adds, unit = _adds_of(counts, networks)
    if isinstance(networks, NetworkRange):
        return _loss_of_range(networks, counts, adds), unit
    own = [[adds[:states] for states in network.states] for network in networks]
    loss = _loss_of_sum(networks, own, counts.pairs)
    if loss is None:
        raise _nothing_hidden()
    return loss, unit


def _adds_of(counts: ReleasedCounts, networks: Sequence[BayesianNetwork]) -> tuple[IndexArray, int]:
    """What each state adds to the one number, from 0 on, and its unit."""
    if not counts.reach:
        return (np.arange(max(networks[0].states)) == counts.released[-1]).astype(np.intp), 1
    least, unit = min(counts.values), gcd(*(value - counts.values[0] for value in counts.values))
    if counts.reach // unit * len(networks[0]) * _states_of(networks) > _MOST_ENTRIES:
        raise ArgumentError(
            'mechanism="exact"',
            rule="for a sum of few different values, of few nodes",
            got="laws of more than 2 million entries",
            hint='Use mechanism="quilt", or number wider intervals.',
        )
    return np.array([(value - least) // unit for value in counts.values], dtype=np.intp), unit


def _laws(
    networks: Sequence[BayesianNetwork], adds: Sequence[Sequence[IndexArray]], pairs: Hidden
) -> Iterator[tuple[Names, FloatArray]]:
    """For every node that has two possible states the law of the sum given each of them, shape (states, sums); for
    every listed pair of them where pairs are listed.
    """
    for number, (network, own) in enumerate(zip(networks, adds, strict=True)):
        for node in range(len(network)):
            table = network.counts([node], own)
            for names, possible in _hidden(table, pairs):
                held = table[possible]
                yield [(number, node, *name) for name in names], held / held.sum(axis=1, keepdims=True)


def _hidden(table: FloatArray, pairs: Hidden) -> Iterator[tuple[Names, list[int]]]:
    """The possible states of a node, whose pairs are all hidden, with names; each listed pair by itself."""
    possible = np.flatnonzero(table.any(axis=tuple(range(1, table.ndim)))).tolist()
    if not pairs and len(possible) > 1:
        yield [(state,) for state in possible], possible
    for k, pair in enumerate(pairs):
        if set(pair) <= set(possible):
            yield [(state, k) for state in pair], list(pair)


def _states_of(networks: Sequence[BayesianNetwork]) -> int:
    """How many laws there are at the most."""
    return sum(sum(network.states) for network in networks)


def _error(networks: Sequence[BayesianNetwork]) -> float:
    return 2.0 * max(network.rounding for network in networks)


def _loss_of_sum(
    networks: Sequence[BayesianNetwork], adds: Sequence[Sequence[IndexArray]], hidden: Hidden = ()
) -> CountLoss | None:
    """The loss of one sum of what the states of the nodes add; None where no node has two possible states."""
    nodes = [(states, normalised(law)) for states, law in _laws(networks, adds, hidden)]
    pairs = tuple(pair for states, _ in nodes for pair in combinations(states, 2))
    return CountLoss.of_times(nodes, pairs=pairs, error=_error(networks)) if pairs else None


def _loss_of_range(networks: NetworkRange, counts: ReleasedCounts, adds: IndexArray) -> RangeLoss:
    """The loss of one sum under all networks of a range; raises ArgumentError for several, and too large tables."""
    states, nodes = networks.low.states, len(networks.low)
    sums = nodes * int(adds.max()) + 1
    if counts.bins > 1 or _states_of(networks) * sums * nodes > _MOST_ENTRIES:
        raise ArgumentError(
            "a range of networks",
            rule="for one count or sum of few nodes",
            got=f"{counts.bins} counts of {nodes} nodes",
            hint='Name one state (bins=["a"]), or list networks: network=[low, middle, high].',
        )
    own, laws = [adds[:one] for one in states], list[tuple[Names, FloatArray]]()
    for node in range(nodes):
        law = networks.counts(node, own)
        laws += [([(0, node, *name) for name in names], law[held]) for names, held in _hidden(law, counts.pairs)]
    if not laws:
        raise _nothing_hidden()
    return RangeLoss(laws, error=_error(networks) + 4 * UNIT_ROUNDOFF * nodes * sums * nodes)


def _nothing_hidden() -> CalibrationError:
    """Some node has two possible states, but none has those of a listed pair."""
    return CalibrationError(
        "pairs",
        rule="of states that some node may have",
        got="states that the network makes impossible",
        hint="Leave pairs out for every pair of possible states.",
    )


def _loss_of_counts(networks: Sequence[BayesianNetwork], released: Sequence[int], hidden: Hidden) -> CountsLoss:
    """The loss of several counts: they are the digits of one sum. The last of all counts follows from the others.

    Raises ArgumentError where their laws would have too many entries.
    """
    nodes, states = len(networks[0]), max(networks[0].states)
    base, every = nodes + 1, len(released) == states
    digits = list(released[:-1] if every else released)
    if base ** len(released) * _states_of(networks) > _MOST_ENTRIES:
        raise ArgumentError(
            'mechanism="exact"',
            rule="for one count, or few counts of few nodes",
            got=f"{len(released)} counts of {nodes} nodes",
            hint='Name one state (bins=["a"]), or use mechanism="quilt".',
        )
    adds = np.zeros(states, dtype=np.intp)
    adds[digits] = base ** np.arange(len(digits))
    found = []
    for names, law in _laws(networks, [[adds[:own] for own in network.states] for network in networks], hidden):
        joint = np.zeros((len(names), base ** len(digits), base if every else 1))
        sums = np.arange(law.shape[1])
        left = nodes - sum(sums // base**k % base for k in range(len(digits))) if every else np.zeros_like(sums)
        possible = left >= 0
        joint[:, sums[possible], left[possible]] = law[:, possible]
        found.append((names, joint.reshape(len(names), *[base] * len(released))))
    if not found:
        raise _nothing_hidden()
    return CountsLoss(found, error=_error(networks))
