"""Channels that see the secret by other means: a linear program in W(y|x,s) itself, and checks in fractions.

Nothing here is shared with the library. Rows of weights are secret-major: the levels of the first secret, then those of
the second. Numbers that a user gives (epsilon, delta, caps, radius) are the decimals that they print.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from channel_oracle import TOTAL, Asked, as_printed, cost_table, exp_below
from scipy.optimize import linprog
from scipy.sparse import csr_array


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Asked):
    """What a channel that sees the secret is asked to do."""

    reader_cap: Fraction | None
    """(K): bound of the loss for a reader who knows the value."""
    marginal: bool
    """(=): whether the law of all rows is kept."""
    equal: bool
    """Whether each secret has the same weight in the error."""

    def law(self, s):
        """The law of a secret, exactly."""
        return [Fraction(n, sum(self.counts[s])) for n in self.counts[s]]

    def share(self, s):
        """The weight of a secret in the error."""
        if self.equal:
            return Fraction(1, len(self.counts))
        return Fraction(sum(self.counts[s]), sum(map(sum, self.counts.values())))


def radius_of(given, secret, rows):
    """The radius of a secret: "auto" is 2/sqrt(rows), at most 1/2, rounded up to six digits."""
    if isinstance(given, str):
        squared = Fraction(4 * 10**12, rows)
        found = math.isqrt(math.floor(squared))
        return min(Fraction(1, 2), Fraction(found + (found * found < squared), 10**6))
    return as_printed(given[secret] if isinstance(given, dict) else given)


def task_of(counts, *, levels, epsilon, delta=0.0, pairs="all", options):
    """The task that the arguments of `best_channel` ask for."""
    counts = {s: tuple(map(int, row)) for s, row in counts.items()}
    listed = itertools.combinations(counts, 2) if isinstance(pairs, str) else pairs
    reader_cap = max(epsilon, 1.0) if options.reader_cap == "auto" else options.reader_cap
    return Task(
        counts=counts,
        levels=tuple(levels),
        epsilon=as_printed(epsilon),
        delta=as_printed(delta),
        orders=tuple(order for s, t in listed for order in ((s, t), (t, s))),
        radius={s: radius_of(options.radius, s, sum(row)) for s, row in counts.items()},
        cap=None if options.cap is None else as_printed(options.cap),
        reader_cap=None if reader_cap is None else as_printed(reader_cap),
        cost=cost_table(options.cost, levels),
        marginal=options.preserve == "marginal",
        equal=options.weights == "secrets",
    )


# --- Checks in fractions ----------------------------------------------------------------------------------------------


def by_secret(weights, task):
    """Of each secret its rows of weights, as lists of whole numbers."""
    rows = [[int(w) for w in row] for row in np.asarray(weights).tolist()]
    count = len(task.levels)
    assert len(rows) == count * len(task.counts)
    return {s: rows[k * count : (k + 1) * count] for k, s in enumerate(task.counts)}


def faults(weights, task):
    """What a channel breaks, exactly: an empty list for a good one.

    Without delta the whole ball of each secret is covered by its point masses, output for output: (P) and (C). With
    delta the hockey stick of every two contaminated laws: convex in what replaces rows, so largest at point masses.
    """
    rows = by_secret(weights, task)
    found = [f"{s} {x}: no law" for s in rows for x, row in enumerate(rows[s]) if min(row) < 0 or sum(row) != TOTAL]
    laws = {s: _contaminated(rows[s], task, s) for s in rows}
    for s, t in task.orders:
        found += _pair_faults(laws[s], laws[t], task, f"{s}, {t}")
    for s, t in itertools.permutations(rows, 2):  # the caps are of all secrets, also where some pairs are listed
        found += _cap_faults(rows[s], rows[t], task, f"{s}, {t}")
    if task.marginal:
        found += _marginal_faults(rows, task)
    return found


def _contaminated(rows, task, s):
    """The laws of the outputs of a secret, for each value that may replace its share of rows."""
    plain = [sum(p * w for p, w in zip(task.law(s), column, strict=True)) for column in zip(*rows, strict=True)]
    share = task.radius[s]
    if not share:
        return [plain]
    return [[(1 - share) * q + share * w for q, w in zip(plain, row, strict=True)] for row in rows]


def _pair_faults(ones, others, task, name):
    most = exp_below(task.epsilon)
    if task.delta:
        return [
            f"pair {name}"
            for one, other in itertools.product(ones, others)
            if sum(max(Fraction(0), p - most * q) for p, q in zip(one, other, strict=True)) > task.delta * TOTAL
        ]
    tops, bottoms = map(max, zip(*ones, strict=True)), map(min, zip(*others, strict=True))
    return [f"pair {name}, output {y}" for y, (p, q) in enumerate(zip(tops, bottoms, strict=True)) if p > most * q]


def _cap_faults(ones, others, task, name):
    found = []
    for y in range(len(ones[0])):
        one, other = [row[y] for row in ones], [row[y] for row in others]
        if task.cap is not None and max(one) > exp_below(task.cap) * min(other):
            found.append(f"cap {name}, output {y}")
        if task.reader_cap is not None:
            most = exp_below(task.reader_cap) if task.reader_cap else 1
            found += [f"reader {name}, {x} to {y}" for x, (p, q) in enumerate(zip(one, other)) if p > most * q]
    return found


def _marginal_faults(rows, task):
    """The released law of all rows is the law of all rows, to 1e-14: it is kept for use, not for privacy."""
    total = sum(map(sum, task.counts.values()))
    found = []
    for y in range(len(task.levels)):
        kept = sum(row[y] for row in task.counts.values())
        drawn = sum(n * rows[s][x][y] for s, own in task.counts.items() for x, n in enumerate(own))
        if abs(Fraction(drawn, total * TOTAL) - Fraction(kept, total)) > Fraction(1, 10**14):
            found.append(f"marginal, output {y}")
    return found


def errors_of(weights, task):
    """The expected error of each secret, as fractions."""
    rows = by_secret(weights, task)
    costs = [[Fraction(float(c)) for c in row] for row in task.cost]
    return {
        s: sum(
            p * sum(w * c for w, c in zip(rows[s][x], costs[x], strict=True)) / TOTAL for x, p in enumerate(task.law(s))
        )
        for s in rows
    }


def error_of(weights, task):
    """The expected error, weighed as it was asked for."""
    return sum(task.share(s) * error for s, error in errors_of(weights, task).items())


# --- The linear program -----------------------------------------------------------------------------------------------


class Program:
    """Rows that are at most a bound, rows that equal one; all variables are at least 0."""

    def __init__(self, size):
        self.size, self.most, self.same = size, [], []

    def new(self):
        """A further variable."""
        self.size += 1
        return self.size - 1

    def at_most(self, bound, *terms):
        """The sum of (factor, variable) is at most the bound."""
        self.most.append((terms, bound))

    def equals(self, bound, terms):
        """The sum of (factor, variable) is the bound."""
        self.same.append((tuple(terms), bound))

    def least(self, price):
        """The least of the price of the variables, and the variables."""
        limits = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        sides = {}
        for name, rows in (("ub", self.most), ("eq", self.same)):
            if rows:
                sides |= {f"A_{name}": self._table(rows), f"b_{name}": [bound for _, bound in rows]}
        for way in ("highs-ds", "highs-ipm"):
            answer = linprog(np.pad(price, (0, self.size - price.size)), **sides, method=way, options=limits)
            if answer.status == 0:
                return float(answer.fun), answer.x
        raise AssertionError(answer.message)

    def _table(self, rows):
        places = [(k, at, factor) for k, (terms, _) in enumerate(rows) for factor, at in terms]
        row, column, factor = zip(*places, strict=True)
        return csr_array((factor, (row, column)), shape=(len(rows), self.size))


def least_error(task):
    """The least error, and W by secret, shape (levels, levels).

    With delta and a radius the program asks for more than the guarantee: the sum of what each output is over for its
    own worst point masses; see `least_error_of_all`.
    """
    program, at = _basic(task)
    tops, bottoms = _extremes(program, at, task)
    most = math.exp(task.epsilon)
    for s, t in task.orders:
        over = []
        for y in range(len(task.levels)):
            terms = ((1.0, tops[s][y]), (-most, bottoms[t][y]))
            if task.delta:
                over.append(program.new())
                terms = (*terms, (-1.0, over[-1]))
            program.at_most(0.0, *terms)
        if task.delta:
            program.at_most(float(task.delta), *((1.0, z) for z in over))
    return _solved(program, at, task)


def least_error_of_all(task, *, rounds=30):
    """With delta and a radius: the least error under hockey sticks of at most delta, point masses added as needed.

    At most the true value even where the rounds end early.
    """
    program, at = _basic(task)
    masses = {s: range(len(task.levels)) if task.radius[s] else [None] for s in task.counts}
    needed = {(s, t, masses[s][0], masses[t][0]) for s, t in task.orders}
    for _ in range(rounds):
        for s, t, a, b in needed:
            _stick(program, at, task, (s, a), (t, b))
        value, found = _solved(program, at, task)
        needed = set()
        for s, t in task.orders:
            sticks = {
                (s, t, a, b): np.maximum(
                    _law(found, task, s, a) - math.exp(task.epsilon) * _law(found, task, t, b), 0
                ).sum()
                for a in masses[s]
                for b in masses[t]
            }
            worst = max(sticks, key=sticks.get)
            if sticks[worst] > float(task.delta) + 1e-10:
                needed.add(worst)
        if not needed:
            break
    return value, found


def _stick(program, at, task, one, other):
    over = [program.new() for _ in task.levels]
    for y, z in enumerate(over):
        terms = [(p, at[one[0]][x][y]) for x, p in enumerate(_replaced(task, *one))]
        terms += [(-math.exp(task.epsilon) * p, at[other[0]][x][y]) for x, p in enumerate(_replaced(task, *other))]
        program.at_most(0.0, *terms, (-1.0, z))
    program.at_most(float(task.delta), *((1.0, z) for z in over))


def _replaced(task, s, x):
    """The law of a secret, its share of rows replaced by a point mass."""
    share = float(task.radius[s]) if x is not None else 0.0
    return [(1 - share) * float(p) + share * (k == x) for k, p in enumerate(task.law(s))]


def _law(found, task, s, x):
    return np.array(_replaced(task, s, x)) @ found[s]


def _basic(task):
    """A program with the rows, the caps and the kept law; and the place of W(y|x,s) at [s][x][y]."""
    places = itertools.count()
    levels = range(len(task.levels))
    at = {s: [[next(places) for _ in levels] for _ in levels] for s in task.counts}
    program = Program(next(places))
    for s, x in itertools.product(at, levels):
        program.equals(1.0, ((1.0, place) for place in at[s][x]))
    for (s, t), y in itertools.product(itertools.permutations(at, 2), levels):
        if task.cap is not None:
            for x, other in itertools.product(levels, levels):
                program.at_most(0.0, (1.0, at[s][x][y]), (-math.exp(task.cap), at[t][other][y]))
        if task.reader_cap is not None:
            for x in levels:
                program.at_most(0.0, (1.0, at[s][x][y]), (-math.exp(task.reader_cap), at[t][x][y]))
    if task.marginal:
        rows = sum(map(sum, task.counts.values()))
        for y in levels:
            terms = [(n / rows, at[s][x][y]) for s, own in task.counts.items() for x, n in enumerate(own)]
            program.equals(sum(own[y] for own in task.counts.values()) / rows, terms)
    return program, at


def _extremes(program, at, task):
    """Variables for each secret and output: at least, and at most, its weight under every contaminated law."""
    tops = {s: [program.new() for _ in task.levels] for s in at}
    bottoms = {s: [program.new() for _ in task.levels] for s in at}
    for s, y in itertools.product(at, range(len(task.levels))):
        for mass in range(len(task.levels)) if task.radius[s] else [None]:
            law = [(p, at[s][x][y]) for x, p in enumerate(_replaced(task, s, mass))]
            program.at_most(0.0, *law, (-1.0, tops[s][y]))
            program.at_most(0.0, (1.0, bottoms[s][y]), *((-p, place) for p, place in law))
    return tops, bottoms


def _solved(program, at, task):
    price = np.zeros(program.size)
    levels = range(len(task.levels))
    for s, x, y in itertools.product(at, levels, levels):
        price[at[s][x][y]] = float(task.share(s) * task.law(s)[x]) * task.cost[x, y]
    value, found = program.least(price)
    return value, {s: np.array([[found[place] for place in row] for row in at[s]]) for s in at}
