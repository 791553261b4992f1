"""The linear program of a channel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array

from puffer_frames.errors import CalibrationError
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.scales.channels.problem import Law, Laws, Problem

_TOLERANCE = 1e-10
_LARGEST = 24.0
"""A larger epsilon or cap is taken for this one, which asks for more: HiGHS tells e**24 from nothing, and not e**40."""
_ABSENT = 1e-9
"""Weight of the cost of levels that no row has, so that they too become something near."""


_Entries: TypeAlias = tuple[NDArray[Any], NDArray[Any] | float]
"""Columns, and coefficients."""


@dataclass
class _Rows:
    """Rows of a sparse matrix, each at most its bound."""

    count: int = 0
    places: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = field(default_factory=list)
    bounds: list[FloatArray] = field(default_factory=list)

    def add(self, entries: list[_Entries], bound: float = 0.0) -> None:
        """Rows with these columns and coefficients, each of shape (rows,) or (rows, entries)."""
        size = entries[0][0].shape[0]
        rows = self.count + np.arange(size)
        for columns, numbers in entries:
            shape = columns.shape
            placed = rows if len(shape) == 1 else np.broadcast_to(rows[:, None], shape)
            wide = np.broadcast_to(numbers, shape).ravel()
            held = np.flatnonzero(wide)
            self.places.append((placed.ravel()[held], columns.ravel()[held], wide[held]))
        self.bounds.append(np.full(size, bound))
        self.count += size

    def matrix(self, columns: int) -> csr_array:
        """As a sparse matrix."""
        rows, places, numbers = (np.concatenate(parts) for parts in zip(*self.places, strict=True))
        return coo_array((numbers, (rows, places)), shape=(self.count, columns)).tocsr()


class _Program:
    """Variables: what the channel has beside a constant column, at the places that are free; then the constant of each
    output, where anything bounds it from below, and what else the constraints need for each output.
    """

    def __init__(self, problem: Problem, free: NDArray[np.bool_]) -> None:
        self.problem = problem
        self.free = free
        self.inputs_of, self.outputs_of = np.nonzero(free)
        self.columns = self.inputs_of.size
        self.cells = np.full(free.shape, -1)
        self.cells[free] = np.arange(self.columns)
        self.rows, self.same = _Rows(), _Rows()
        widened = any(law.is_widened for laws in problem.beliefs for law in laws.values())
        self.low = self.more() if widened or problem.cap is not None or not free.all() else None
        self.high = self.more() if widened else None

    def more(self) -> NDArray[np.intp]:
        """A further variable for each output."""
        self.columns += self.problem.outputs
        return np.arange(self.columns - self.problem.outputs, self.columns)

    def build(self) -> None:
        """All constraints but that rows sum to one."""
        self._bounds()
        for laws in self.problem.beliefs:
            means = {secret: self._named(self.mean(law.shares)) for secret, law in laws.items()}
            if self.problem.target.delta:
                self._sticks(laws, means)
            elif self.problem.takes_star(laws):
                self._star(laws, means)
            else:
                for one, other in self.problem.ordered_pairs(laws):
                    most, least = self.most(laws[one], means[one]), self.least(laws[other], means[other], -self._odds)
                    self.rows.add([*most, *least])

    def _named(self, entries: list[_Entries]) -> NDArray[np.intp]:
        """Further variables that are these sums."""
        found = self.more()
        self.same.add([(found, -1.0), *entries])
        return found

    def _bounds(self) -> None:
        """W <= e^cap low, and W <= high, where W is low and what is beside it."""
        cells = self.cells[self.free]
        if self.problem.cap is not None and self.low is not None:
            self.rows.add([(cells, 1.0), (self.low[self.outputs_of], 1.0 - math.exp(min(self.problem.cap, _LARGEST)))])
        if self.high is not None and self.low is not None:
            high, low = self.high[self.outputs_of], self.low[self.outputs_of]
            self.rows.add([(cells, 1.0), (low, 1.0), (high, -1.0)])

    @property
    def _odds(self) -> float:
        return math.exp(min(self.problem.target.epsilon, _LARGEST))

    def mean(self, shares: FloatArray) -> list[_Entries]:
        """The probability of each output under a law of the input; an entry for each free place, and the constant."""
        numbers = np.where(self.free, shares[:, None], 0.0).T
        found: list[_Entries] = [(np.maximum(self.cells, 0).T, numbers)]
        return found if self.low is None else [*found, (self.low, 1.0)]

    def most(self, law: Law, mean: NDArray[np.intp], times: float = 1.0) -> list[_Entries]:
        """The largest probability of each output under the laws around one, whose own is `mean`."""
        return self._mixed(law, mean, times, own=self.high, other=self.low)

    def least(self, law: Law, mean: NDArray[np.intp], times: float = 1.0) -> list[_Entries]:
        """The smallest one."""
        return self._mixed(law, mean, times, own=self.low, other=self.high)

    @staticmethod
    def _mixed(
        law: Law,
        mean: NDArray[np.intp],
        times: float,
        *,
        own: NDArray[np.intp] | None,
        other: NDArray[np.intp] | None,
    ) -> list[_Entries]:
        found: list[_Entries] = [(mean, times * float(1 - law.replaced))]
        if own is not None and law.is_widened:
            found.append((own, times * float(law.replaced + law.moved)))
        if other is not None and law.moved:
            found.append((other, -times * float(law.moved)))
        return found

    def _star(self, laws: Laws, means: Mapping[Secret, NDArray[np.intp]]) -> None:
        """Between m and e^epsilon m for every secret."""
        middle = self.more()
        for secret, law in laws.items():
            self.rows.add([(middle, 1.0), *self.least(law, means[secret], -1.0)])
            self.rows.add([(middle, -self._odds), *self.most(law, means[secret])])

    def _sticks(self, laws: Laws, means: Mapping[Secret, NDArray[np.intp]]) -> None:
        """What exceeds e^epsilon times the other adds up to at most delta."""
        for one, other in self.problem.ordered_pairs(laws):
            slack = self.more()
            most, least = self.most(laws[one], means[one]), self.least(laws[other], means[other], -self._odds)
            self.rows.add([(slack, -1.0), *most, *least])
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
    HiGHS by SciPy: dual simplex, feasibility tolerance 1e-10. docs/theory.md, section 16.
    """
    free = np.ones(problem.cost.shape, dtype=bool) if allowed is None else allowed
    program = _Program(problem, free)
    program.build()
    weights = np.where(problem.pooled > 0, problem.pooled, _ABSENT / problem.inputs)
    unit = float(problem.cost.max()) or 1.0
    price = np.zeros(program.columns)
    price[: free.sum()] = (weights[:, None] * problem.cost / unit)[free]
    if program.low is not None:
        price[program.low] = weights @ problem.cost / unit
    equal = _equalities(program)
    found: Any = linprog(  # type: ignore[call-overload]
        price,
        A_ub=program.rows.matrix(program.columns),
        b_ub=np.concatenate(program.rows.bounds),
        A_eq=equal.matrix(program.columns),
        b_eq=np.concatenate(equal.bounds),
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
    matrix = np.zeros(problem.cost.shape)
    matrix[free] = found.x[: free.sum()].clip(0.0)
    if program.low is not None:
        matrix += found.x[program.low].clip(0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, problem.expected_cost(matrix)


def _equalities(program: _Program) -> _Rows:
    """Rows sum to one, and means are kept."""
    problem, equal = program.problem, program.same
    summed: list[_Entries] = [(np.maximum(program.cells, 0), np.where(program.free, 1.0, 0.0))]
    if program.low is not None:
        summed.append((np.broadcast_to(program.low, problem.cost.shape), 1.0))
    equal.add(summed, bound=1.0)
    if problem.kept is not None and problem.kept_means is not None:
        for statistic, mean in zip(problem.kept, problem.kept_means, strict=True):
            parts = program.mean(problem.pooled)
            equal.add(
                [(columns.T.reshape(1, -1), _times(numbers, columns, statistic)) for columns, numbers in parts],
                bound=float(mean),
            )
    return equal


def _times(numbers: NDArray[Any] | float, columns: NDArray[Any], statistic: FloatArray) -> FloatArray:
    """Coefficients of the outputs, times a statistic of the output."""
    shaped = statistic if columns.ndim == 1 else statistic[:, None]
    product: FloatArray = np.broadcast_to(numbers, columns.shape) * shaped
    return product.T.reshape(1, -1)
