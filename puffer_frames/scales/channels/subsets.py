"""Programs of many levels: with fewer outputs, and entries near the diagonal."""

from __future__ import annotations

from collections.abc import Sequence

from puffer_frames.priors.prior import FloatArray
from puffer_frames.scales.channels.problem import Problem
from puffer_frames.scales.channels.program import solve


def best_of_subsets(problem: Problem, /, *, most: int | None) -> tuple[FloatArray, Sequence[int] | None, float | None]:
    """The best channel found, its outputs (None for all), and the lower bound where all may be released."""
    matrix, value = solve(problem)
    return matrix, None, value
