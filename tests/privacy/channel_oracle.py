"""Channels by other means: checks in whole numbers, the linear program in pairs, and laws at the edge of the ball.

Nothing here is shared with the library but `Channel.radius_of`, the share of a secret's rows that may be anything.
Numbers that a user gives (epsilon, delta, cap, radius) are the decimals that they print.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

TOTAL = 2**62
DIGITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a channel is asked to do, whatever it sees."""

    counts: dict[Any, tuple[int, ...]]
    """Rows of each level, by secret."""
    levels: tuple[Any, ...]
    """Inputs, and outputs."""
    epsilon: Fraction
    """Bound of the loss."""
    delta: Fraction
    """Allowed hockey stick."""
    orders: tuple[tuple[Any, Any], ...]
    """Ordered pairs of secrets; a secret with itself where the star form asks for it."""
    radius: dict[Any, Fraction]
    """Share of the rows of each secret that may be anything."""
    cap: Fraction | None
    """(L): bound of the loss under any law."""
    cost: np.ndarray
    """What an output in place of an input costs, shape (levels, levels)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Asked):
    """What a channel that sees the value alone is asked to do."""

    preserve: str | None = None
    """None, "mean" or "marginal"."""

    @property
    def law(self):
        """The laws of the secrets."""
        return {s: np.array(row, dtype=float) / sum(row) for s, row in self.counts.items()}

    @property
    def pooled(self):
        """The law of all rows."""
        together = np.sum(list(self.counts.values()), axis=0).astype(float)
        return together / together.sum()


def task_of(counts, *, levels, epsilon, delta=0.0, pairs="all", options):
    """The task that the arguments of `best_channel` ask for."""
    counts = {s: tuple(map(int, row)) for s, row in counts.items()}
    radius = {s: as_printed(options.radius_of(s, sum(row))) for s, row in counts.items()}
    listed = itertools.combinations(counts, 2) if isinstance(pairs, str) else pairs
    orders = [order for s, t in listed for order in ((s, t), (t, s))]
    return Task(
        counts=counts,
        levels=tuple(levels),
        epsilon=as_printed(epsilon),
        delta=as_printed(delta),
        orders=tuple(orders),
        radius=radius,
        cap=None if options.cap is None else as_printed(options.cap),
        cost=cost_table(options.cost, levels),
        preserve=options.preserve,
    )


def as_printed(number):
    """A number as the decimal that it prints."""
    return Fraction(repr(float(number)))


def cost_table(cost, levels):
    """The costs of all outputs in place of all inputs."""
    if isinstance(cost, str):
        if cost == "auto":
            cost = "change" if isinstance(levels[0], str) else "absolute"
        of = (lambda x, y: abs(x - y)) if cost == "absolute" else (lambda x, y: float(x != y))
        return np.array([[of(x, y) for y in levels] for x in levels], dtype=float)
    return np.array([[cost(x, y) for y in levels] for x in levels] if callable(cost) else cost, dtype=float)


def exp_below(power):
    """A rational number of 40 decimals at most e**power, for a power above 0: a part of its series, rounded down."""
    term, total, k = Fraction(1), Fraction(1), 0
    while term > Fraction(1, 10 ** (DIGITS + 5)) or k < 2 * power:
        k += 1
        term *= power / k
        total += term
    return Fraction(math.floor(total * 10**DIGITS), 10**DIGITS)


# --- Checks in whole numbers ------------------------------------------------------------------------------------------


def faults(weights, task):
    """The constraints that a channel breaks, in rational numbers: an empty list for a good one.

    Without delta: (C) of the note on channels, in its exact form for each ordered pair. With delta: the hockey stick of
    every two contaminated laws. It is convex in what replaces the rows, so the largest is at two point masses, and the
    check is exact too.
    """
    rows = [[int(w) for w in row] for row in np.asarray(weights).tolist()]
    found = [f"row {x} is no law" for x, row in enumerate(rows) if min(row) < 0 or sum(row) != TOTAL]
    columns = list(zip(*rows, strict=True))
    if task.cap is not None:
        most = exp_below(task.cap)
        found += [f"cap, output {y}" for y, column in enumerate(columns) if max(column) > most * min(column)]
    size = math.lcm(*(share.denominator for share in task.radius.values()))
    laws = {s: _contaminated(columns, task.counts[s], int(task.radius[s] * size), size) for s in task.counts}
    for s, t in task.orders:
        found += _pair_faults(laws[s], laws[t], (sum(task.counts[s]), sum(task.counts[t])), task, size, f"{s}, {t}")
    return found


def _contaminated(columns, counts, share, size):
    """For each point mass that may replace the share: weights of the outputs, times the rows of the secret and size."""
    plain = [(size - share) * sum(n * w for n, w in zip(counts, column, strict=True)) for column in columns]
    if not share:
        return [plain]
    rows = sum(counts)
    return [
        [weight + share * rows * column[x] for weight, column in zip(plain, columns, strict=True)]
        for x in range(len(counts))
    ]


def _pair_faults(ones, others, rows, task, size, name):
    most = exp_below(task.epsilon)
    up, down = rows[1] * most.denominator, rows[0] * most.numerator
    if not task.delta:
        tops, bottoms = map(max, zip(*ones, strict=True)), map(min, zip(*others, strict=True))
        return [
            f"pair {name}, output {y}"
            for y, (top, bottom) in enumerate(zip(tops, bottoms, strict=True))
            if top * up > bottom * down
        ]
    allowed = task.delta * rows[0] * rows[1] * most.denominator * size * TOTAL
    return [
        f"pair {name}, point masses {a} and {b}"
        for a, one in enumerate(ones)
        for b, other in enumerate(others)
        if sum(max(0, p * up - q * down) for p, q in zip(one, other, strict=True)) > allowed
    ]


def error_of(weights, task):
    """The expected error of a channel, as a fraction."""
    together = [sum(row[x] for row in task.counts.values()) for x in range(len(task.levels))]
    paid = sum(
        together[x] * int(w) * Fraction(float(task.cost[x, y]))
        for x, row in enumerate(np.asarray(weights).tolist())
        for y, w in enumerate(row)
    )
    return paid / (sum(together) * TOTAL)


# --- The linear program -----------------------------------------------------------------------------------------------


class Program:
    """A linear program over a channel and further variables, row by row: all that it holds is at least 0."""

    def __init__(self, task):
        self.task = task
        self.levels = range(len(task.levels))
        self.size = len(task.levels) ** 2
        self.rows, self.bounds = [], []
        self.equal, self.values = [], []

    def entry(self, x, y):
        """The number of the variable W(y|x)."""
        return x * len(self.levels) + y

    def new(self):
        """A further variable."""
        self.size += 1
        return self.size - 1

    def at_most(self, bound, *parts):
        """The sum of the parts, each a factor and a mapping of variable to factor, is at most the bound."""
        row = {}
        for factor, part in parts:
            for place, value in part.items():
                row[place] = row.get(place, 0.0) + factor * value
        self.rows.append(row)
        self.bounds.append(bound)

    def law(self, s, y, x=None):
        """The weight of an output under the law of a secret, a share of which is replaced by a point mass."""
        share = float(self.task.radius[s]) if x is not None else 0.0
        row = {self.entry(k, y): (1 - share) * p for k, p in enumerate(self.task.law[s]) if p}
        if x is not None:
            row[self.entry(x, y)] = row.get(self.entry(x, y), 0.0) + share
        return row

    def masses(self, s):
        """The point masses that may replace rows of a secret."""
        return self.levels if self.task.radius[s] else [None]

    def extremes(self):
        """Variables for each secret and output: at least, and at most, its weight under every contaminated law."""
        tops, bottoms = {}, {}
        for s, y in itertools.product(self.task.counts, self.levels):
            tops[s, y], bottoms[s, y] = self.new(), self.new()
            for x in self.masses(s):
                self.at_most(0.0, (1.0, self.law(s, y, x)), (-1.0, {tops[s, y]: 1.0}))
                self.at_most(0.0, (-1.0, self.law(s, y, x)), (1.0, {bottoms[s, y]: 1.0}))
        return tops, bottoms

    def separate(self):
        """The pairs, output for output; with delta the sum of what is over, which more than suffices."""
        tops, bottoms = self.extremes()
        most = math.exp(self.task.epsilon)
        for s, t in self.task.orders:
            ones = [{tops[s, y]: 1.0} for y in self.levels]
            others = [{bottoms[t, y]: 1.0} for y in self.levels]
            if self.task.delta:
                self.hockey_stick(ones, others)
                continue
            for one, other in zip(ones, others, strict=True):
                self.at_most(0.0, (1.0, one), (-most, other))

    def hockey_stick(self, ones, others):
        """The hockey stick of two laws of outputs is at most delta."""
        over = [self.new() for _ in ones]
        most = math.exp(self.task.epsilon)
        for one, other, more in zip(ones, others, over, strict=True):
            self.at_most(0.0, (1.0, one), (-most, other), (-1.0, {more: 1.0}))
        self.at_most(float(self.task.delta), (1.0, dict.fromkeys(over, 1.0)))

    def at_masses(self, s, t, a, b):
        """The hockey stick of a pair whose replaced rows are two point masses."""
        self.hockey_stick([self.law(s, y, a) for y in self.levels], [self.law(t, y, b) for y in self.levels])

    def capped(self):
        """The cap, for every two inputs."""
        most = math.exp(self.task.cap)
        for y in self.levels:
            for x, other in itertools.permutations(self.levels, 2):
                self.at_most(0.0, (1.0, {self.entry(x, y): 1.0}), (-most, {self.entry(other, y): 1.0}))

    def stochastic(self):
        """Rows sum to 1, and what is to be kept is kept."""
        task, kept = self.task, self.task.pooled
        for x in self.levels:
            self.equal.append({self.entry(x, y): 1.0 for y in self.levels})
            self.values.append(1.0)
        if task.preserve == "marginal":
            self.equal += [{self.entry(x, y): kept[x] for x in self.levels} for y in self.levels]
            self.values += list(kept)
        if task.preserve == "mean":
            values = np.array(task.levels, dtype=float)
            values = values - kept @ values
            self.equal.append({self.entry(x, y): kept[x] * values[y] for x in self.levels for y in self.levels})
            self.values.append(0.0)

    def solve(self, *, tolerance=1e-10, method="highs-ipm"):
        """The least expected error, and the channel."""
        price = np.zeros(self.size)
        for x, y in itertools.product(self.levels, repeat=2):
            price[self.entry(x, y)] = self.task.pooled[x] * self.task.cost[x, y]
        limits = {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
        sides = {"A_eq": self._table(self.equal), "b_eq": self.values}
        if self.rows:
            sides |= {"A_ub": self._table(self.rows), "b_ub": self.bounds}
        for way in dict.fromkeys((method, "highs-ds", "highs-ipm")):
            answer = linprog(price, **sides, method=way, options=limits)
            if answer.status == 0:
                break
        assert answer.status == 0, answer.message
        count = len(self.levels)
        return float(answer.fun), answer.x[: count * count].reshape(count, count)

    def _table(self, rows):
        places = [(k, place, value) for k, row in enumerate(rows) for place, value in row.items()]
        row, column, value = zip(*places, strict=True)
        return csr_array((value, (row, column)), shape=(len(rows), self.size))


def basic(task):
    """A program of what is asked apart from the pairs."""
    program = Program(task)
    program.stochastic()
    if task.cap is not None:
        program.capped()
    return program


def least_error(task):
    """The value of the program that treats each output for itself, and its channel.

    With delta and a radius that is more than the guarantee asks for: see `least_error_of_all`.
    """
    program = basic(task)
    program.separate()
    return program.solve()


def least_error_of_all(task, *, rounds=60):
    """With delta: the least error of any channel whose contaminated laws have hockey sticks of at most delta.

    Point masses are added as they are needed. What is returned is at most the true value even when rounds end early.
    """
    program = basic(task)
    for s, t in task.orders:
        program.at_masses(s, t, program.masses(s)[0], program.masses(t)[0])
    for _ in range(rounds):
        value, matrix = program.solve()
        worst = [(s, t, *_worst_masses(matrix, task, s, t)) for s, t in task.orders]
        needed = [places for *places, over in worst if over > float(task.delta) + 1e-10]
        if not needed:
            break
        for s, t, a, b in needed:
            program.at_masses(s, t, a if task.radius[s] else None, b if task.radius[t] else None)
    return value, matrix


# --- Laws -------------------------------------------------------------------------------------------------------------


def hockey_sticks(ones, others, epsilon):
    """Hockey sticks of laws against laws, shape (ones, others)."""
    return np.maximum(ones[:, None, :] - math.exp(epsilon) * others[None, :, :], 0).sum(axis=2)


def log_ratios(ones, others):
    """The largest logarithm of a ratio of laws against laws; none where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(ones)[:, None, :] - np.log(others)[None, :, :]
    return np.where(ones[:, None, :] > 0, logs, -np.inf).max(axis=2)


def _worst_masses(matrix, task, s, t):
    over = hockey_sticks(_replaced(matrix, task, s), _replaced(matrix, task, t), task.epsilon)
    a, b = np.unravel_index(np.argmax(over), over.shape)
    return int(a), int(b), float(over[a, b])


def _replaced(matrix, task, s, laws=None):
    """Laws of the outputs of a secret, a share of whose rows has other laws; by default every point mass."""
    share = float(task.radius[s])
    if not share:
        return (task.law[s] @ matrix)[None, :]
    return (1 - share) * (task.law[s] @ matrix) + share * (matrix if laws is None else laws @ matrix)


def worst_found(weights, task, rng, *, laws=3000):
    """The largest loss, or hockey stick at epsilon, of the contaminated laws tried: point masses, and random laws."""
    matrix = np.asarray(weights, dtype=float) / TOTAL
    worst = -np.inf
    for s, t in task.orders:
        if s == t:
            continue
        compare = log_ratios if not task.delta else lambda p, q: hockey_sticks(p, q, task.epsilon)
        worst = max(worst, compare(_replaced(matrix, task, s), _replaced(matrix, task, t)).max())
        for spread in (0.05, 0.3, 1.0):
            count = math.ceil(math.sqrt(laws / 3 / len(task.orders)))
            draws = rng.dirichlet(np.full(len(task.levels), spread), size=(2, count))
            ones, others = _replaced(matrix, task, s, draws[0]), _replaced(matrix, task, t, draws[1])
            worst = max(worst, compare(ones, others).max())
    return float(worst)
