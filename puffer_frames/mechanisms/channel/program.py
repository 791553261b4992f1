"""The linear program of a channel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from puffer_frames.errors import CalibrationError
from puffer_frames.mechanisms.channel.problem import Law, Laws, Problem
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.priors.prior import FloatArray, Secret

TOTAL = 1 << TOTAL_BITS
_DIGITS = 40
_PASSES = 8
_LARGEST = 1000.0
"""e to more than this is far beyond the ratio of two weights."""

Weights = list[list[int]]
"""Integers by input and output."""


def exp_below(number: float, /) -> Fraction:
    """A rational number at most e to a number, as a float and as it is printed, nearer than 1 part in 10**38."""
    number = min(float(number), _LARGEST)
    with localcontext() as context:
        context.prec = _DIGITS
        found = Fraction(min(Decimal(number), Decimal(repr(number))).exp())
    return found * (1 - Fraction(1, 10 ** (_DIGITS - 2)))


def both_least(number: float, /) -> Fraction:
    """A float, or as it is printed, whichever is less."""
    return min(Fraction(number), Fraction(repr(number)))


def in_integers(matrix: FloatArray, problem: Problem, /) -> NDArray[np.int64]:
    """The channel in units of 2**-62, every constraint met exactly; a row sums to 2**62.

    Each column is lifted by a constant, the least that its constraints need, and all is scaled to make room: a constant
    column meets every constraint with room to spare (docs/theory.md, section 16).

    Raises CalibrationError where that does not succeed.
    """
    reserve = matrix.size + 1
    for _ in range(_PASSES):
        weights = _floored(matrix, TOTAL - reserve)
        lifts = _lifts(weights, problem)
        spread = _spread(lifts, problem)
        left = reserve - sum(spread)
        if left >= 0:
            for k, more in enumerate(_rest(left, problem)):
                spread[k] += more
            lifted = [[entry + lift for entry, lift in zip(row, spread, strict=True)] for row in weights]
            check(lifted, problem)
            return np.array(lifted, dtype=np.int64)
        reserve = 2 * sum(spread) + matrix.size
        if reserve > TOTAL >> 1:
            break
    raise _failed("a solution that cannot be made exact")


def _floored(matrix: FloatArray, total: int) -> Weights:
    """Rounded down; what is left of a row goes to its largest entry."""
    rows = []
    for row in matrix.tolist():
        entries = [int(Fraction(entry) * total) for entry in row]
        largest = max(range(len(row)), key=row.__getitem__)
        entries[largest] += total - sum(entries)
        if entries[largest] < 0:
            raise _failed("a row that does not sum to 1")
        rows.append(entries)
    return rows


def _spread(lifts: list[Fraction], problem: Problem) -> list[int]:
    """The lifts rounded up; where means are to be kept, in proportion to a law that keeps them."""
    if problem.constant is None:
        return [-(-lift.numerator // lift.denominator) for lift in lifts]
    needed = Fraction(0)
    for lift, share in zip(lifts, problem.constant.tolist(), strict=True):
        if lift > 0 and not share:
            raise _failed("a level that the kept means exclude")
        if lift > 0:
            needed = max(needed, lift / Fraction(share))
    return [-((-needed * Fraction(share)).__floor__()) for share in problem.constant.tolist()]


def _rest(left: int, problem: Problem) -> list[int]:
    """What is left of the reserve: to the output that is the best constant, or by a law that keeps the means."""
    best = int((problem.pooled @ problem.cost).argmin())
    if problem.constant is None:
        return [left if k == best else 0 for k in range(problem.outputs)]
    shares = [int(Fraction(share) * left) for share in problem.constant.tolist()]
    shares[int(problem.constant.argmax())] += left - sum(shares)
    return shares


class _Ends:
    """The largest and the smallest probability of an output under the laws around those of a belief."""

    def __init__(self, laws: Laws, column: list[int], problem: Problem) -> None:
        ends = max(column), min(column)
        self.most, self.least = {}, {}
        for secret, law in laws.items():
            high, low = ends if problem.groups is None else _ends(column, problem, secret)
            own = _mean(law, column)
            stays, moved = 1 - law.replaced, law.moved * (high - low)
            self.most[secret] = stays * own + law.replaced * high + moved
            self.least[secret] = stays * own + law.replaced * low - moved


def _mean(law: Law, column: list[int]) -> Fraction:
    return Fraction(sum(n * w for n, w in zip(law.counts, column, strict=True) if n), sum(law.counts))


def _ends(column: list[int], problem: Problem, secret: Secret) -> tuple[int, int]:
    """The largest and the smallest weight of the inputs of a secret."""
    own = [column[k] for k in problem.inputs_of(secret)]
    return max(own), min(own)


def _ratios(column: list[int], problem: Problem) -> Iterator[tuple[float, int, int]]:
    """Caps, and two weights of an output each, of which the first may be at most e^cap times the second."""
    if problem.groups is None:
        if problem.cap is not None:
            yield problem.cap, max(column), min(column)
        return
    if problem.cap is not None:
        ends = {secret: _ends(column, problem, secret) for secret in problem.groups}
        yield from ((problem.cap, ends[one][0], ends[other][1]) for one, other in problem.other_pairs)
    if problem.reader_cap is not None:
        for inputs in problem.same_values:
            own = [column[k] for k in inputs]
            yield problem.reader_cap, max(own), min(own)


def _columns(weights: Weights) -> list[list[int]]:
    return [list(column) for column in zip(*weights, strict=True)]


def _lifts(weights: Weights, problem: Problem) -> list[Fraction]:
    """The least constant that each column needs."""
    odds = exp_below(problem.target.epsilon)
    columns = _columns(weights)
    caps = {cap: exp_below(cap) for cap in (problem.cap, problem.reader_cap) if cap is not None}
    lifts = [
        max(
            (
                (high - caps[cap] * low) / (caps[cap] - 1)
                for cap, high, low in _ratios(column, problem)
                if high > caps[cap] * low
            ),
            default=Fraction(0),
        )
        for column in columns
    ]
    for laws in problem.beliefs:
        ends = [_Ends(laws, column, problem) for column in columns]
        if not problem.target.delta:
            lifts = [
                max(lift, excess / (odds - 1))
                for lift, excess in zip(lifts, _excesses(ends, laws, problem, odds), strict=True)
            ]
            continue
        allowed = both_least(problem.target.delta) * TOTAL
        for one, other in problem.ordered_pairs(laws):
            parts = [max(Fraction(0), end.most[one] - odds * end.least[other]) for end in ends]
            if (total := sum(parts)) > allowed:
                share = (total - allowed) / total
                lifts = [max(lift, share * part / (odds - 1)) for lift, part in zip(lifts, parts, strict=True)]
    return lifts


def _excesses(ends: list[_Ends], laws: Laws, problem: Problem, odds: Fraction) -> Iterator[Fraction]:
    """How much the largest probability of an output exceeds e^epsilon times the smallest, over the protected pairs."""
    pairs = None if problem.takes_star(laws) else problem.ordered_pairs(laws)
    for end in ends:
        if pairs is None:
            yield max(end.most.values()) - odds * min(end.least.values())
        else:
            yield max(end.most[one] - odds * end.least[other] for one, other in pairs)


def check(weights: Weights, problem: Problem, /) -> None:
    """Raise CalibrationError unless integers are a channel that meets every constraint, in rationals, from scratch."""
    found = fault(weights, problem)
    if found is not None:
        raise _failed(found)


def fault(weights: Weights, problem: Problem, /) -> str | None:
    """A constraint that a channel breaks, decided in rationals; None where it meets all."""
    if any(sum(row) != TOTAL or min(row) < 0 for row in weights):
        return "rows that do not sum to 2**62"
    odds, columns = exp_below(problem.target.epsilon), _columns(weights)
    caps = {cap: exp_below(cap) for cap in (problem.cap, problem.reader_cap) if cap is not None}
    if any(high > caps[cap] * low for column in columns for cap, high, low in _ratios(column, problem)):
        return "a loss of more than the cap"
    allowed = both_least(problem.target.delta) * TOTAL
    for laws in problem.beliefs:
        ends = [_Ends(laws, column, problem) for column in columns]
        for one, other in problem.ordered_pairs(laws):
            if sum(max(Fraction(0), end.most[one] - odds * end.least[other]) for end in ends) > allowed:
                return "a loss of more than was asked for"
    return None


def _failed(got: str) -> CalibrationError:
    return CalibrationError(
        "the channel",
        rule="one that meets every constraint exactly",
        got=got,
        hint="Merge rare levels, or ask for a larger epsilon.",
    )


_TOLERANCE = 1e-10
_ABSENT = 1e-9
"""Weight of the cost of levels that no row has, so that they too become something near."""
_DEAREST = 1e9
"""A cost is at most so many times the error of the best constant, for the solver: it is never paid."""
_ROUNDING = 1e-13
"""Rounding of a bound's sums, in units of the error of the best constant."""
_ITERATIONS, _ITERATIONS_EACH = 5_000, 10
"""Iterations of a solver at most: so many, and so many for each row and column of the program."""
_CHEAPEST = (0.0, 1e-9)
"""Prices below this are nothing: where they are 1e-12 and 1 the simplex method may go round in circles."""
_LARGEST_LOGS = (20.0, 8.0)
"""Losses beyond the first are asked for as this, which is more than was asked for: the solver's largest number is 1e15.
Where it fails all the same, losses beyond the next one are."""


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
    """Variables: what the channel has beside a constant column; then the constant of each output, where anything bounds
    it from below, and what else the constraints need for each output.
    """

    def __init__(self, problem: Problem, largest: float, support: NDArray[np.bool_] | None) -> None:
        self.problem = problem
        self.largest = largest
        self.support = np.ones(problem.cost.shape, dtype=bool) if support is None else support
        self.cells = np.arange(problem.cost.size).reshape(problem.cost.shape)
        self.columns = problem.cost.size
        self.rows, self.same = _Rows(), _Rows()
        widened = any(law.is_widened for laws in problem.beliefs for law in laws.values())
        plain, seen = problem.groups is None, problem.groups or {}
        self.low = self.more() if plain and (widened or problem.cap is not None) else None
        self.high = self.more() if plain and widened else None
        ended = seen if widened or problem.cap is not None else {}
        self.lows, self.highs = ({secret: self.more() for secret in ended} for _ in range(2))

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
                    self.rows.add([*self.end(laws, one, means[one]), *self.end(laws, other, means[other], -self._odds)])

    def _named(self, entries: list[_Entries]) -> NDArray[np.intp]:
        """Further variables that are these sums."""
        found = self.more()
        self.same.add([(found, -1.0), *entries])
        return found

    def _bounds(self) -> None:
        """W <= e^cap low, and W <= high, where W is low and what is beside it."""
        if self.problem.groups is not None:
            self._seen_bounds()
        if self.low is None:
            return
        inputs, outputs = np.nonzero(self.support)
        cells, low = self.cells[inputs, outputs], self.low[outputs]
        if self.problem.cap is not None:
            self.rows.add([(cells, 1.0), (low, 1.0 - self._exp(self.problem.cap))])
        if self.high is not None:
            self.rows.add([(cells, 1.0), (low, 1.0), (self.high[outputs], -1.0)])

    def _seen_bounds(self) -> None:
        """low_s <= W(.|x, s) <= high_s <= e^cap low_t, and W(.|x, s) <= e^reader_cap W(.|x, t)."""
        problem = self.problem
        for secret, inputs in (problem.groups or {}).items() if self.lows else ():
            for k in inputs:
                self.rows.add([(self.cells[k], 1.0), (self.highs[secret], -1.0)])
                self.rows.add([(self.lows[secret], 1.0), (self.cells[k], -1.0)])
        if problem.cap is not None:
            for one, other in problem.other_pairs:
                self.rows.add([(self.highs[one], 1.0), (self.lows[other], -self._exp(problem.cap))])
        if problem.reader_cap is None:
            return
        for inputs in problem.same_values:
            least = self.more()
            for k in inputs:
                self.rows.add([(least, 1.0), (self.cells[k], -1.0)])
                self.rows.add([(self.cells[k], 1.0), (least, -self._exp(problem.reader_cap))])

    @property
    def _odds(self) -> float:
        return self._exp(self.problem.target.epsilon)

    def _exp(self, loss: float) -> float:
        return math.exp(min(loss, self.largest))

    def mean(self, shares: FloatArray) -> list[_Entries]:
        """The probability of each output under a law of the input."""
        found: list[_Entries] = [(self.cells.T, shares[None, :])]
        return found if self.low is None else [*found, (self.low, 1.0)]

    def end(self, laws: Laws, secret: Secret, mean: NDArray[np.intp], times: float = 1.0) -> list[_Entries]:
        """The largest probability of each output under the laws around that of a secret, which has this mean; of a
        negative number of times the smallest.
        """
        law, own, other = laws[secret], self.highs.get(secret, self.high), self.lows.get(secret, self.low)
        own, other = (other, own) if times < 0 else (own, other)
        found: list[_Entries] = [(mean, times * float(1 - law.replaced))]
        if own is not None and law.is_widened:
            found.append((own, times * float(law.replaced + law.moved)))
        if other is not None and law.moved:
            found.append((other, -times * float(law.moved)))
        return found

    def _star(self, laws: Laws, means: Mapping[Secret, NDArray[np.intp]]) -> None:
        """Between m and e^epsilon m for every secret."""
        middle = self.more()
        for secret in laws:
            self.rows.add([(middle, 1.0), *self.end(laws, secret, means[secret], -1.0)])
            self.rows.add([(middle, -self._odds), *self.end(laws, secret, means[secret])])

    def _sticks(self, laws: Laws, means: Mapping[Secret, NDArray[np.intp]]) -> None:
        """What exceeds e^epsilon times the other adds up to at most delta."""
        for one, other in self.problem.ordered_pairs(laws):
            slack = self.more()
            ends = *self.end(laws, one, means[one]), *self.end(laws, other, means[other], -self._odds)
            self.rows.add([(slack, -1.0), *ends])
            self.rows.add([(slack[None, :], 1.0)], bound=self.problem.target.delta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """What the solver found."""

    matrix: FloatArray
    """A channel in floats, shape (inputs, outputs)."""
    bound: float
    """No channel that meets the constraints costs less."""
    reduced: FloatArray
    """Reduced costs of the entries: where one is negative, a larger entry may cost less. Shape (inputs, outputs)."""


def solve(problem: Problem, /, *, interior: bool = False) -> Solution:
    """The channel of least expected cost; by interior points, where there are many entries with costs of their own.

    Raises CalibrationError where the solver fails.

    HiGHS by SciPy, feasibility tolerance 1e-10: dual simplex, or interior points and crossover; where one fails at any
    scaling, the other one. The bound is that of the dual solution, whatever its quality. docs/theory.md, section 16.
    """
    for by_points, largest, cheapest in itertools.product((interior, not interior), _LARGEST_LOGS, _CHEAPEST):
        found = attempt(problem, largest=largest, interior=by_points, cheapest=cheapest)
        if found is not None:
            return found
    raise CalibrationError(
        "the linear program of the channel",
        rule="solved",
        got="a failure of HiGHS",
        hint="Merge rare levels, or release fewer outputs: Channel(outputs=16).",
    )


def attempt(
    problem: Problem,
    /,
    *,
    support: NDArray[np.bool_] | None = None,
    iterations: int | None = None,
    largest: float = _LARGEST_LOGS[0],
    interior: bool = False,
    cheapest: float = 0.0,
) -> Solution | None:
    """As `solve`; None where the solver fails, or needs more iterations.

    - `support` (shape (inputs, outputs)): Other entries are no more than the constant of their column. The bound is of
      all channels.
    - `iterations`: By default far more than programs need whose solver does not go round in circles.
    - `largest`: Losses beyond this are asked for as this.
    - `interior`: By interior points.
    - `cheapest`: Changes that add less than this share of the error of the best constant are free. The bound stays one.
    """
    prices, unit = _prices(problem)
    prices = np.where(prices < cheapest, 0.0, prices)
    program = _Program(problem, largest, support)
    program.build()
    method = "highs-ipm" if interior else "highs-ds"
    found, bound, reduced = _solution(program, prices, method=method, iterations=iterations)
    if found is None:
        return None
    matrix: FloatArray = found[: problem.cost.size].clip(0.0).reshape(problem.cost.shape)
    if program.low is not None:
        matrix += found[program.low].clip(0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    if problem.kept is None and problem.expected_cost(matrix) > unit:
        matrix = np.eye(problem.outputs)[[int((problem.pooled @ problem.cost).argmin())] * problem.inputs]
    exact = max(problem.target.epsilon, problem.cap or 0.0) <= largest
    return Solution(matrix=matrix, bound=bound * unit * exact, reduced=reduced)


def _solution(
    program: _Program, prices: FloatArray, *, method: str, iterations: int | None
) -> tuple[FloatArray | None, float, FloatArray]:
    """Variables, None where the solver fails, a bound of their price, and the reduced costs of the entries."""
    price = np.zeros(program.columns)
    price[: prices.size] = prices.ravel()
    if program.low is not None:
        price[program.low] = prices.sum(axis=0)
    equal = _equalities(program)
    above, same = program.rows.matrix(program.columns), equal.matrix(program.columns)
    most, sums = np.concatenate(program.rows.bounds), np.concatenate(equal.bounds)
    held = np.ones(program.columns, dtype=bool)
    held[program.cells[~program.support]] = False
    most_iterations = iterations or _ITERATIONS + _ITERATIONS_EACH * (len(most) + len(sums) + program.columns)
    options: dict[str, Any] = {
        "maxiter": most_iterations,
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
    }
    found: Any = scipy.optimize.linprog(  # type: ignore[call-overload]
        price[held], A_ub=above[:, held], b_ub=most, A_eq=same[:, held], b_eq=sums, method=method, options=options
    )
    if found.status or found.x is None:
        return None, 0.0, prices
    variables = np.zeros(program.columns)
    variables[held] = found.x
    left, right = found.ineqlin.marginals.clip(None, 0.0), found.eqlin.marginals
    reduced = price - above.T @ left - same.T @ right
    bound = float(left @ most + right @ sums) + _least(program, reduced)
    absent = _ABSENT if (program.problem.pooled <= 0).any() else 0.0
    return variables, max(0.0, bound - absent - _ROUNDING), reduced[program.cells]


def _prices(problem: Problem) -> tuple[FloatArray, float]:
    """What an output in place of an input adds to the error, and its unit: the error of the best constant."""
    costs, pooled = problem.cost, problem.pooled
    unit = float((pooled @ costs).min()) or float(costs.max()) or 1.0
    dearest = costs.max(axis=1)
    absent = _ABSENT / problem.inputs * costs / np.where(dearest > 0, dearest, 1.0)[:, None]
    with np.errstate(over="ignore"):
        present = np.minimum(pooled[:, None] * (costs / unit), _DEAREST)
    return np.where(pooled[:, None] > 0, present, absent), unit


def _least(program: _Program, reduced: FloatArray) -> float:
    """The least that variables add with these reduced costs, by which any dual solution bounds every channel.

    For each input, and for the constants, probabilities sum to at most one. Other variables are at most 2.
    """
    cells, low = program.cells, program.low
    rows = reduced[cells].min(axis=1).clip(None, 0.0)
    constant = 0.0 if low is None else min(0.0, float(reduced[low].min()))
    others = np.ones(reduced.size, dtype=bool)
    others[cells] = False
    if low is not None:
        others[low] = False
    return float(rows.sum()) + constant + 2.0 * float(reduced[others].clip(None, 0.0).sum())


def _equalities(program: _Program) -> _Rows:
    """Rows sum to one, and means are kept."""
    problem, equal = program.problem, program.same
    summed: list[_Entries] = [(program.cells, 1.0)]
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
