"""The linear program of a channel."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from puffer_frames.errors import CalibrationError
from puffer_frames.priors.prior import FloatArray
from puffer_frames.scales.channels.problem import Law, Laws, Problem

_TOLERANCE = 1e-10
_ABSENT = 1e-9
"""Weight of the cost of levels that no row has, so that they too become something near."""


@dataclass
class _Rows:
    """Rows of a sparse matrix, each at most its bound."""

    count: int = 0
    places: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = field(default_factory=list)
    bounds: list[FloatArray] = field(default_factory=list)

    def add(self, entries: list[tuple[NDArray[Any], NDArray[Any] | float]], bound: float = 0.0) -> None:
        """Rows with these columns and coefficients, each of shape (rows,) or (rows, entries)."""
        size = entries[0][0].shape[0]
        rows = self.count + np.arange(size)
        for columns, numbers in entries:
            shape = columns.shape
            placed = rows if len(shape) == 1 else np.broadcast_to(rows[:, None], shape)
            self.places.append((placed.ravel(), columns.ravel(), np.broadcast_to(numbers, shape).ravel()))
        self.bounds.append(np.full(size, bound))
        self.count += size

    def matrix(self, columns: int) -> csr_array:
        """As a sparse matrix."""
        rows, places, numbers = (np.concatenate(parts) for parts in zip(*self.places, strict=True))
        return coo_array((numbers, (rows, places)), shape=(self.count, columns)).tocsr()


class _Program:
    """Variables: the channel (inputs x outputs), then what the constraints need for each output."""

    def __init__(self, problem: Problem, allowed: NDArray[np.bool_] | None) -> None:
        self.problem = problem
        self.free = np.ones(problem.cost.shape, dtype=bool) if allowed is None else allowed
        self.cells = np.arange(problem.cost.size).reshape(problem.cost.shape)
        self.columns = problem.cost.size
        self.rows = _Rows()
        bounded = problem.cap is not None or any(
            law.replaced or law.moved for laws in problem.beliefs for law in laws.values()
        )
        self.low = self.more() if bounded else None
        widened = any(law.replaced or law.moved for laws in problem.beliefs for law in laws.values())
        self.high = self.more() if widened else None

    def more(self) -> NDArray[np.intp]:
        """A further variable for each output."""
        self.columns += self.problem.outputs
        return np.arange(self.columns - self.problem.outputs, self.columns)

    def build(self) -> None:
        """All constraints but that rows sum to one."""
        for lines in self._bounds():
            self.rows.add(lines)
        for laws in self.problem.beliefs:
            if self.problem.target.delta:
                self._sticks(laws)
            elif self.problem.pairs == "all":
                self._star(laws)
            else:
                for one, other in self.problem.ordered_pairs(laws):
                    self.rows.add([*self.most(laws[one]), *self.least(laws[other], -self._odds)])

    def _bounds(self) -> Iterator[list[tuple[NDArray[Any], NDArray[Any] | float]]]:
        """low <= W <= high, and W <= e^cap low."""
        cells, shape = self.cells, self.cells.shape
        if self.low is not None:
            low = np.broadcast_to(self.low, shape).ravel()
            yield [(low, 1.0), (cells.ravel(), -1.0)]
            if self.problem.cap is not None:
                yield [(cells.ravel(), 1.0), (low, -math.exp(self.problem.cap))]
        if self.high is not None:
            yield [(cells.ravel(), 1.0), (np.broadcast_to(self.high, shape).ravel(), -1.0)]

    @property
    def _odds(self) -> float:
        return math.exp(self.problem.target.epsilon)

    def most(self, law: Law, times: float = 1.0) -> list[tuple[NDArray[Any], NDArray[Any] | float]]:
        """The largest probability of each output under the laws around one."""
        return self._mixed(law, times, own=self.high, other=self.low)

    def least(self, law: Law, times: float = 1.0) -> list[tuple[NDArray[Any], NDArray[Any] | float]]:
        """The smallest one."""
        return self._mixed(law, times, own=self.low, other=self.high)

    def _mixed(
        self, law: Law, times: float, *, own: NDArray[np.intp] | None, other: NDArray[np.intp] | None
    ) -> list[tuple[NDArray[Any], NDArray[Any] | float]]:
        held = np.flatnonzero(law.shares)
        found: list[tuple[NDArray[Any], NDArray[Any] | float]] = [
            (self.cells[held].T, times * float(1 - law.replaced) * law.shares[held])
        ]
        if law.replaced or law.moved:
            assert own is not None
            found.append((own, times * float(law.replaced + law.moved)))
        if law.moved:
            assert other is not None
            found.append((other, -times * float(law.moved)))
        return found

    def _star(self, laws: Laws) -> None:
        """Between m and e^epsilon m for every secret."""
        middle = self.more()
        for law in laws.values():
            self.rows.add([(middle, 1.0), *self.least(law, -1.0)])
            self.rows.add([(middle, -self._odds), *self.most(law)])

    def _sticks(self, laws: Laws) -> None:
        """What exceeds e^epsilon times the other adds up to at most delta."""
        for one, other in self.problem.ordered_pairs(laws):
            slack = self.more()
            self.rows.add([(slack, -1.0), *self.most(laws[one]), *self.least(laws[other], -self._odds)])
            self.rows.add([(slack[None, :], 1.0)], bound=self.problem.target.delta)


def solve(problem: Problem, /, *, allowed: NDArray[np.bool_] | None = None) -> tuple[FloatArray, float]:
    """The channel of least expected cost in floats, and its cost, which is the least of all by the solver's tolerance.

    Parameters
    ----------
    problem : Problem
    allowed : array of bool, shape (inputs, outputs), optional
        Entries that may be positive apart from a constant column; by default all.

    Raises
    ------
    CalibrationError
        Where the solver fails.

    Notes
    -----
    HiGHS by SciPy: dual simplex, feasibility tolerance 1e-10. All pairs at delta 0 take the star form, two rows for
    each output and secret. docs/theory.md, section 16.
    """
    program = _Program(problem, allowed)
    program.build()
    size, outputs = problem.cost.size, problem.outputs
    weights = np.where(problem.pooled > 0, problem.pooled, _ABSENT / problem.inputs)
    unit = float(problem.cost.max()) or 1.0
    price = np.zeros(program.columns)
    price[:size] = (weights[:, None] * problem.cost / unit).ravel()
    equal = _Rows()
    equal.add([(program.cells, 1.0)], bound=1.0)
    targets = [*equal.bounds]
    if problem.kept is not None and problem.kept_means is not None:
        for statistic, mean in zip(problem.kept, problem.kept_means, strict=True):
            numbers = (problem.pooled[:, None] * statistic[None, :]).reshape(1, -1)
            equal.add([(program.cells.reshape(1, -1), numbers)])
            targets.append(np.array([mean]))
    limits = np.full(program.columns, np.inf)
    if allowed is not None:
        limits[:size][~allowed.ravel()] = 0.0
    found = linprog(
        price,
        A_ub=program.rows.matrix(program.columns),
        b_ub=np.concatenate(program.rows.bounds),
        A_eq=equal.matrix(program.columns),
        b_eq=np.concatenate(targets),
        bounds=np.column_stack([np.zeros(program.columns), limits]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if found.x is None:
        raise CalibrationError(
            "the linear program of the channel",
            rule="solved",
            got=f"status {found.status} of HiGHS",
            hint="Merge rare levels, or release fewer outputs: Channel(outputs=16).",
        )
    matrix = np.clip(found.x[:size].reshape(-1, outputs), 0.0, None)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, problem.expected_cost(matrix)
