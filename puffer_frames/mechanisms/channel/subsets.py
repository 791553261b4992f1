"""Columns of many levels: which outputs an input may have, where the program of all would be too large."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from puffer_frames.mechanisms.channel.problem import Problem
from puffer_frames.mechanisms.channel.program import attempt, solve
from puffer_frames.priors.prior import FloatArray

WHOLE = 100
"""Up to so many levels the whole program is solved."""
FEWER = 64
"""Of more levels so many stand for the others, where the larger programs below do not come to an end."""
_FIRST = 4
"""Outputs that every input may have at first."""
_MORE = 6
"""Entries that each input and each output gets in a round."""
_ROUNDS = 6
_ENTRIES = 32
"""No further round with more entries than this, for each input."""
_ITERATIONS = 16_000
"""Of the solver in a round."""
_NEAR = 1.01
"""No further round where a channel costs at most so many times what any other does."""
_GOOD = 1.05
"""Nothing else is tried then."""


def best_of_subsets(problem: Problem, /, *, most: int | None) -> tuple[FloatArray, Sequence[int] | None, float]:
    """The best channel into at most so many outputs, these (None for all), and a lower bound of the error.

    The bound is for every mechanism that sees the value alone. It is that of the program, where all levels are outputs
    and it asks for no more than the guarantee; else that of one with fewer constraints.
    """
    whole = problem.outputs <= WHOLE
    if most is not None and most < problem.outputs:
        outputs = chosen_outputs(problem, most)
        relaxed = problem.relaxed() if whole else replace(problem.relaxed(), cap=None)
        return solve(problem.only(outputs)).matrix, outputs, solve(relaxed).bound
    if not whole:
        return _of_many(problem)
    found = solve(problem, interior=problem.groups is not None)  # of many pairs twice as fast as simplex
    return found.matrix, None, found.bound if problem.is_sharp else min(found.bound, solve(problem.relaxed()).bound)


def _of_many(problem: Problem) -> tuple[FloatArray, Sequence[int] | None, float]:
    """By entries one by one; where that does not come near the optimum, by a few outputs, if that is better."""
    matrix, bound = grown(problem)
    best = np.inf if matrix is None else problem.expected_cost(matrix)
    sure = bound if problem.is_sharp else 0.0
    if matrix is not None and sure and best <= _GOOD * bound:
        return matrix, None, sure
    lower = max(sure, solve(replace(problem.relaxed(), cap=None)).bound)
    if matrix is not None and best <= _GOOD * bound:
        return matrix, None, lower
    outputs = chosen_outputs(problem, FEWER)
    few = problem.only(outputs)
    found = solve(few, interior=True).matrix
    return (found, outputs, lower) if matrix is None or few.expected_cost(found) <= best else (matrix, None, lower)


def grown(problem: Problem, /) -> tuple[FloatArray | None, float]:
    """A channel with few entries beside the constants of its columns, and a lower bound of all from the value alone.

    Entries are added where the reduced costs of the program say that they may help (column generation), for some
    rounds. docs/theory.md, section 16.
    """
    support: NDArray[np.bool_] = np.eye(problem.inputs, dtype=bool)
    support[:, chosen_outputs(problem, _FIRST)] = True
    matrix, bound = None, 0.0
    for _ in range(_ROUNDS):
        found = attempt(problem, support=support, iterations=_ITERATIONS)
        if found is None:
            break
        matrix, bound = found.matrix, max(bound, found.bound)
        more = _most_helpful(np.where(support, 0.0, found.reduced))
        support |= more
        if problem.expected_cost(matrix) <= _NEAR * bound or not more.any() or support.sum() > _ENTRIES * len(support):
            break
    return matrix, bound


def _most_helpful(reduced: FloatArray) -> NDArray[np.bool_]:
    """The entries of the least reduced costs of each input and of each output, where these are negative."""
    found = np.zeros(reduced.shape, dtype=bool)
    for axis in (0, 1):
        places = np.argsort(reduced, axis=axis, kind="stable").take(range(_MORE), axis=axis)
        np.put_along_axis(found, places, True, axis=axis)
    return found & (reduced < 0)


def chosen_outputs(problem: Problem, count: int, /) -> list[int]:
    """Outputs of which the nearest to each input costs little on average: one by one, each the best next one."""
    costs = problem.pooled[:, None] * problem.cost
    chosen: list[int] = []
    reached = np.full(problem.inputs, np.inf)
    for _ in range(count):
        totals = np.minimum(costs, reached[:, None]).sum(axis=0)
        totals[chosen] = np.inf
        chosen.append(int(totals.argmin()))
        reached = np.minimum(reached, costs[:, chosen[-1]])
    return sorted(chosen)
