"""The adversary's belief about a correlated series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from puffer_frames.errors import ArgumentError, PriorError
from puffer_frames.numbers.arguments import described
from puffer_frames.numbers.presentation import lower_text
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.law_set import confidence_left
from puffer_frames.priors.markov import MarkovChain, chains_not_refuted, estimate_transition
from puffer_frames.priors.prior import IndexArray
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.scales.learned import POPULATION, Population

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
    if isinstance(chain, str) and chain == POPULATION:
        return Population()
    return chain if isinstance(chain, Population) else None


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
        return estimate_transition(first[None], floor=least)[0]
    return initial


def _floor(floor: float, size: int) -> float:
    if isinstance(floor, bool) or not isinstance(floor, (int, float)) or not 0 <= floor <= 1 / size:
        raise ArgumentError(
            "floor",
            rule=f"from 0 to 1 / (number of states), here {lower_text(1 / size, digits=3)}",
            got=described(floor),
            hint="Leave it out for 1 / (number of transitions).",
        )
    return float(floor)
