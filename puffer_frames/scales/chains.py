"""The adversary's belief about a correlated series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from puffer_frames.errors import ArgumentError, PriorError, short_traceback
from puffer_frames.loss.atoms.counts import CountLoss
from puffer_frames.loss.atoms.tilted import Law, normalised
from puffer_frames.numbers.presentation import lower_text
from puffer_frames.numbers.target import Target
from puffer_frames.papers.quilt.networks import Counted, what_counts
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.law_set import confidence_left
from puffer_frames.priors.markov import MarkovChain, chains_not_refuted, estimate_transition
from puffer_frames.priors.network import BayesianNetwork
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.learned import POPULATION, Population
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


ChainArgument: TypeAlias = str | ArrayLike | MarkovChain | Population | Sequence[ArrayLike | MarkovChain]
"""A transition matrix, a chain, several of them, "estimated", or all that the series do not refute."""


def believed_chains(
    chain: ChainArgument, rows: SeriesRows, *, initial: str | ArrayLike, floor: float | None
) -> list[Chain]:
    """The chains of an argument: estimated from the series, one, several, or a box of them.

    Raises ArgumentError, PriorError for another number of states than those of the series, and for what is no
    transition matrix.
    """
    size = len(rows.states)
    if size < 2:
        raise ArgumentError(
            "the states",
            rule="at least two",
            got=str(size),
            hint="With one state there is nothing to hide; list all that are possible in states=[...].",
        )
    population = as_population(chain)
    if population is not None:
        return [chains_not_refuted(_transitions(rows), alpha=confidence_left(population.confidence, secrets=1))]
    listed = _as_several(chain)
    if any(isinstance(one, MarkovChain) for one in listed) and not (
        isinstance(initial, str) and initial == "stationary"
    ):
        raise ArgumentError(
            "initial",
            rule="left out where a MarkovChain, or a class of them, is given: each has its own",
            got=repr(initial) if isinstance(initial, str) else "a law",
            hint="Say it in MarkovChain.of.",
        )
    start = _initial(initial, rows, floor=floor)
    if isinstance(chain, str):
        transitions = _transitions(rows)
        least = 1.0 / max(int(transitions.sum()), size) if floor is None else _floor(floor, size)
        listed = [estimate_transition(transitions, floor=least)]
    chains: list[Chain] = [
        one if isinstance(one, MarkovChain) else MarkovChain.of(one, initial=start) for one in listed
    ]
    for one in chains:
        if one.states != size:
            raise ArgumentError(
                "chain",
                rule=f"of the {size} states of the series",
                got=f"{one.states}",
                hint="List all possible states in the order of the matrix: states=[...].",
            )
    return chains


def as_population(chain: object, /) -> Population | None:
    """What an argument says of a population; None for another argument."""
    return (
        Population()
        if isinstance(chain, str) and chain == POPULATION
        else (chain if isinstance(chain, Population) else None)
    )


def _transitions(rows: SeriesRows) -> IndexArray:
    """How often each transition was seen; raises PriorError where none was."""
    transitions = rows.transitions
    if not transitions.any() and any(seen > 1 for _, seen in rows.extents()):
        raise PriorError(
            "a chain that is learned from the table",
            rule="for series with states at neighbouring times",
            got="none of them: a time without a state lies between any two with one",
            hint="Give the chain: chain=[[0.9, 0.1], [0.1, 0.9]].",
        )
    return transitions


def _as_several(chain: ChainArgument) -> list[ArrayLike | MarkovChain]:
    """The chains or matrices of an argument that may name one or several."""
    if isinstance(chain, (str, MarkovChain)):
        return [chain]
    listed = list(chain) if isinstance(chain, (Sequence, np.ndarray)) else []
    if any(isinstance(one, MarkovChain) or _depth(one) == 2 for one in listed):
        return listed
    return [cast(ArrayLike, chain)]


def _depth(entries: object) -> int:
    """Number of dimensions of nested lists or arrays, as far as their first entries tell."""
    if isinstance(entries, np.ndarray):
        return entries.ndim
    return 1 + (_depth(entries[0]) if entries else 0) if isinstance(entries, (list, tuple)) else 0


def _initial(initial: str | ArrayLike, rows: SeriesRows, *, floor: float | None) -> ArrayLike | str:
    if isinstance(initial, str) and initial == "estimated":
        first = rows.first_states()
        if not first.any():
            raise PriorError(
                'initial="estimated"',
                rule="for series of which at least one has a state in its first row",
                got="none",
                hint='Leave initial out for "stationary", or give the law of the first state.',
            )
        least = 1.0 / max(int(first.sum()), first.size) if floor is None else _floor(floor, first.size)
        law: FloatArray = estimate_transition(first[None], floor=least)[0]
        return law
    return initial


def _floor(floor: float, size: int) -> float:
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0 <= floor <= 1 / size:
        raise ArgumentError(
            "floor",
            rule=f"from 0 to 1 / (number of states), here {lower_text(1 / size, digits=3)}",
            got=f"{floor!r}",
            hint="Leave it out for 1 / (number of transitions).",
        )
    return float(floor)
