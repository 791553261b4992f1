"""Which levels are released: all, or where the program would be too large, those that stand for the others best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from puffer_frames.priors.prior import FloatArray
from puffer_frames.scales.channels.problem import Problem
from puffer_frames.scales.channels.program import solve

WHOLE = 100
"""Up to so many levels all may be released."""
FEWER = 64
"""Of more levels, so many: an optimum seldom uses more."""


def best_of_subsets(problem: Problem, /, *, most: int | None) -> tuple[FloatArray, Sequence[int] | None, float]:
    """The best channel into at most so many outputs, these (None for all), and a lower bound of any mechanism's error.

    The bound is the value of the program, where all levels are outputs and it asks for no more than the guarantee; else
    that of one with fewer constraints.
    """
    whole = problem.outputs <= WHOLE
    count = min(problem.outputs, (problem.outputs if whole else FEWER) if most is None else most)
    if count == problem.outputs:
        matrix, value = solve(problem)
        return matrix, None, value if problem.is_sharp else min(value, solve(problem.relaxed())[1])
    outputs = chosen_outputs(problem, count)
    matrix, _ = solve(problem.only(outputs))
    return matrix, outputs, solve(problem.relaxed() if whole else replace(problem.relaxed(), cap=None))[1]


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
