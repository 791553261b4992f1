"""The channel of least expected error for a column of levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, PriorError, short_traceback
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import (
    InputColumn,
    Law,
    Laws,
    Problem,
    cost_matrix,
    in_cells,
    is_numeric,
    number_column,
)
from puffer_frames.mechanisms.channel.program import attempt, in_integers, solve
from puffer_frames.noise.channel import MOST_INPUTS, MOST_LEVELS, MOST_NUMBERS, TOTAL_BITS
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.pairs import Pairs, check_pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import JointCounts, Level, Summary
from puffer_frames.scales.utility import Utility

WHOLE = 100
"""Up to so many levels the whole program is solved."""
FEWER = 64
"""Beyond this many levels, this many stand for the others: the larger programs below do not come to an end."""
_FIRST = 4
"""Outputs that every input may have at first."""
_MORE = 6
"""Entries that each input and each output gets in a round."""
_ROUNDS = 6
_ENTRIES = 32
"""No further round with more entries than this, for each input."""
_LARGE = 1 << 10
"""More than 256 levels have two rounds, as a third takes 20 seconds of 512 and fails; with more levels times secrets
than this one round, and half of the outputs: more take minutes."""
_ITERATIONS = 16_000
"""The solver's iterations in a round."""
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
    outputs = chosen_outputs(problem, _effort(problem)[1])
    few = problem.only(outputs)
    found = solve(few, interior=True).matrix
    return (found, outputs, lower) if matrix is None or few.expected_cost(found) <= best else (matrix, None, lower)


def _effort(problem: Problem) -> tuple[int, int]:
    """Rounds of `grown`, and outputs of what is solved where these do not do."""
    if problem.inputs <= MOST_NUMBERS:
        return _ROUNDS, FEWER
    return (2, FEWER) if problem.inputs * max(map(len, problem.beliefs)) <= _LARGE else (1, FEWER // 2)


def grown(problem: Problem, /) -> tuple[FloatArray | None, float]:
    """A channel with few entries beside the constants of its columns, and a lower bound of all from the value alone.

    Entries are added where the reduced costs of the program say that they may help (column generation), for some
    rounds. docs/theory.md, section 16.
    """
    support: NDArray[np.bool_] = np.eye(problem.inputs, dtype=bool)
    support[:, chosen_outputs(problem, _FIRST)] = True
    matrix, bound = None, 0.0
    for _ in range(_effort(problem)[0]):
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


CountsArgument = Mapping[Secret, ArrayLike]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundChannel:
    """A channel, exact, and what is known of it. It holds statistics of every secret."""

    inputs: tuple[Level, ...]
    """Levels of the column."""
    outputs: tuple[Level, ...]
    """Levels that are released."""
    weights: NDArray[np.int64]
    """Probability of each output given each input in units of 2**-62, shape (inputs, outputs); rows sum to 2**62. Of a
    channel that sees the secret: the rows of the inputs of the first secret, then those of the second, and so on."""
    expected_error: float
    """Mean cost under the pooled law of the table: absolute error, share of changed levels, or what `cost` says."""
    lower_bound: float
    """No mechanism with this guarantee that sees the value alone has a smaller one: a bound of the program's value, or
    that of one that asks for less; 0 for a column in cells, where none is known. One that sees the secret or another
    column too can have less. Of a channel that sees the secret: none that sees the record, and keeps the caps given
    the value and the secret."""
    problem: Problem = field(repr=False)
    """What it was made to meet."""

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The secrets that it sees, in the order of their rows of `weights`; none where it sees the value alone."""
        return tuple(self.problem.groups or ())

    @property
    def matrix(self) -> FloatArray:
        """The probabilities as floats, shape (inputs, outputs): of a channel that sees the secret the mean over it."""
        whole = np.ldexp(self.weights.astype(np.float64), -TOTAL_BITS)
        if not self.secrets:
            return whole
        shape = len(self.secrets), len(self.inputs)
        shares = self.problem.pooled.reshape(shape)
        known = shares.sum(axis=0) > 0
        shares = np.where(known, shares / np.where(known, shares.sum(axis=0), 1.0), 1 / len(self.secrets))
        return (shares[:, :, None] * whole.reshape(*shape, -1)).sum(axis=0)

    @property
    def matrices(self) -> Mapping[Secret, FloatArray]:
        """The probabilities given each secret, of a channel that sees it; empty otherwise."""
        whole = np.ldexp(self.weights.astype(np.float64), -TOTAL_BITS)
        return {secret: whole[list(self.problem.inputs_of(secret))] for secret in self.secrets}

    def placed(self, counts: Mapping[Secret, NDArray[Any]], /) -> dict[Secret, NDArray[Any]]:
        """Rows of each level and secret, at the inputs of that secret."""
        return placed(counts, self.secrets)

    @property
    def constant_error(self) -> float:
        """Mean cost of releasing the best constant."""
        return float((self.problem.pooled @ self.problem.cost).min())

    @property
    def unchanged(self) -> float:
        """Probability that a value of the table is released as it is."""
        places = {level: k for k, level in enumerate(self.outputs)}
        joint = self.joint
        return float(sum(joint[k, places[level]] for k, level in enumerate(self.inputs) if level in places))

    @property
    def joint(self) -> FloatArray:
        """The share of the rows with each input and output."""
        shares = self.problem.pooled.reshape(-1, len(self.inputs)).sum(axis=0)
        found: FloatArray = shares[:, None] * self.matrix / shares.sum()
        return found

    @property
    def utility(self) -> Utility:
        """What it makes of numbers; of cells by their medians."""
        raw, released = (np.array(levels, dtype=np.float64) for levels in (self.inputs, self.outputs))
        return Utility.of(np.repeat(raw, released.size), np.tile(released, raw.size), self.joint.ravel())

    @property
    def errors(self) -> dict[Secret, float]:
        """Mean cost by secret, of a channel that sees it."""
        found = {}
        for secret, matrix in self.matrices.items():
            own = list(self.problem.inputs_of(secret))
            shares, cost = self.problem.pooled[own], self.problem.cost[own] / self.problem.times_of(secret)
            found[secret] = float(shares @ (matrix * cost).sum(axis=1) / shares.sum())
        return found


@short_traceback
def best_channel(
    counts: CountsArgument,
    /,
    *,
    levels: Sequence[Any],
    epsilon: float,
    delta: float = 0.0,
    pairs: Pairs = "all",
    options: Channel | None = None,
) -> FoundChannel:
    r"""The channel of least expected error that keeps each pair of secrets (epsilon, delta)-indistinguishable.

    Parameters
    ----------
    counts : mapping of secret to array of int, shape (levels,)
        How many rows have each level.
    levels : sequence
        The levels: numbers, or labels.
    epsilon, delta, pairs
        As in `privatize`.
    options : Channel, optional

    Returns
    -------
    FoundChannel

    Raises
    ------
    ArgumentError, ArgumentTypeError
        For an argument out of range.
    PriorError
        For a secret without rows.
    CalibrationError
        Where the program cannot be solved, or no exact channel is found near its solution.

    Notes
    -----
    **Guarantee**: with q_s the law of the output given secret s, :math:`q_s(B) \le e^\varepsilon q_t(B) + \delta` for
    each pair and each set B of outputs, for every law that `options.radius` covers; in exact integers. **Cost**: a
    linear program of (levels)^2 variables: under a second for 16 levels, seconds for 64, up to a
    minute for 512 and two secrets or 256 and five.

    References
    ----------
    docs/theory.md, section 16.

    Examples
    --------
    >>> from puffer_frames import Channel
    >>> options, counts = Channel(radius=0), {"a": [60, 40], "b": [20, 80]}
    >>> found = best_channel(counts, levels=["no", "yes"], epsilon=1.0, options=options)
    >>> found.matrix.round(3).tolist(), round(found.expected_error, 3)
    ([[1.0, 0.0], [0.032, 0.968]], 0.019)
    """
    chosen = options or Channel()
    target = Target.of(epsilon, delta)
    table = _table(counts, levels)
    laws = empirical_laws(table, chosen)
    column = InputColumn(levels=tuple(levels), counts=table, cost=cost_matrix(levels, chosen.cost), public=True)
    return find((laws,), column, target=target, pairs=check_pairs(pairs, list(table)), options=chosen)


def empirical_laws(table: Mapping[Secret, NDArray[Any]], options: Channel, /) -> Laws:
    """The observed laws with what the options say of them."""
    return {
        secret: Law(
            counts=tuple(int(entry) for entry in entries),
            replaced=stricter(options.radius_of(secret, int(entries.sum()))),
        )
        for secret, entries in table.items()
    }


def stricter(share: float, /) -> Fraction:
    """A float, or as it is printed, whichever is more."""
    return min(Fraction(1), max(Fraction(share), Fraction(repr(share))))


def placed(counts: Mapping[Secret, NDArray[Any]], secrets: Sequence[Secret], /) -> dict[Secret, NDArray[Any]]:
    """Rows of each level and secret, at the inputs that are a level and one of these secrets; as they are for none."""
    if not secrets:
        return dict(counts)
    found = {}
    for secret, rows in counts.items():
        whole = np.zeros((len(secrets), len(rows)), dtype=rows.dtype)
        whole[secrets.index(secret)] = rows
        found[secret] = whole.ravel()
    return found


def placed_laws(laws: Laws, secrets: Sequence[Secret], /) -> Laws:
    """Laws of the levels as laws of each level and one of these secrets."""
    return {
        secret: replace(law, counts=tuple(placed({secret: np.array(law.counts, dtype=object)}, secrets)[secret]))
        if law.counts
        else law
        for secret, law in laws.items()
    }


def seeing(problem: Problem, column: InputColumn, options: Channel, /) -> Problem:
    """The problem of a channel that sees the secret: each level and secret is an input, with a cost of its own."""
    secrets, levels = tuple(column.counts), problem.inputs
    if levels > WHOLE:
        raise ArgumentError(
            "sees",
            rule=f'"value" for a column of more than {WHOLE} levels',
            got=f"{levels} levels",
            hint="Merge rare levels, or release fewer cells.",
        )
    if levels * len(secrets) > MOST_INPUTS:
        raise ArgumentError(
            "sees",
            rule=f'"value" for more than {MOST_INPUTS:,} pairs of a level and a secret',
            got=f"{levels * len(secrets):,}",
            hint="Merge rare levels or secrets.",
        )
    rows = np.array(list(column.counts.values()), dtype=np.float64)
    shares = rows / rows.sum()
    even = options.weights == "secrets"
    times = 1 / (len(secrets) * shares.sum(axis=1)) if even else np.ones(len(secrets))
    costs = problem.cost if column.costs is None else np.array([column.costs[secret] for secret in secrets])
    return replace(
        problem,
        beliefs=tuple(placed_laws(laws, secrets) for laws in problem.beliefs),
        pooled=shares.ravel(),
        cost=(times[:, None, None] * costs).reshape(-1, problem.cost.shape[1]),
        groups={secret: tuple(range(k * levels, (k + 1) * levels)) for k, secret in enumerate(secrets)},
        reader_cap=options.reader_cap_at(problem.target.epsilon),
        times=dict(zip(secrets, times.tolist(), strict=True)) if even else None,
    )


def whole_problem(
    beliefs: tuple[Laws, ...], column: InputColumn, /, *, target: Target, pairs: Pairs, options: Channel
) -> Problem:
    """What a channel into all levels must meet."""
    shares = column.pooled / column.pooled.sum()
    problem = Problem(
        beliefs=beliefs,
        target=target,
        pairs=pairs,
        cap=options.cap,
        pooled=shares,
        cost=column.cost,
        **_kept_statistics(options, column.levels, shares),
    )
    return seeing(problem, column, options) if options.sees_secret else problem


def find(
    beliefs: tuple[Laws, ...], column: InputColumn, /, *, target: Target, pairs: Pairs, options: Channel
) -> FoundChannel:
    """As `best_channel`, for several beliefs."""
    levels, problem = column.levels, whole_problem(beliefs, column, target=target, pairs=pairs, options=options)
    if options.preserve == "marginal":  # a level that no row has is never released, and is an output all the same
        used = np.flatnonzero(column.pooled).tolist()
        matrix, _, bound = best_of_subsets(problem.only(used), most=None)
        outputs, reduced, weights = None, problem, np.zeros(problem.cost.shape, dtype=np.int64)
        weights[:, used] = in_integers(matrix, problem.only(used))
    else:
        matrix, outputs, bound = best_of_subsets(problem, most=options.outputs)
        reduced = problem if outputs is None else problem.only(outputs)
        weights = in_integers(matrix, reduced)
    return FoundChannel(
        inputs=levels,
        outputs=levels if outputs is None else tuple(levels[k] for k in outputs),
        weights=weights,
        expected_error=reduced.expected_cost(np.ldexp(weights.astype(np.float64), -TOTAL_BITS)),
        lower_bound=bound,
        problem=reduced,
    )


def _kept_statistics(options: Channel, levels: Sequence[Level], shares: FloatArray, /) -> dict[str, Any]:
    """What is to be kept on average."""
    if options.preserve is None:
        return {}
    if options.preserve == "mean" and not is_numeric(levels):
        raise ArgumentError(
            "preserve", rule='None or "marginal" for a column of labels', got='"mean"', hint='Write "marginal".'
        )
    if options.outputs is not None:
        raise ArgumentError(
            "outputs", rule="left out beside preserve", got=str(options.outputs), hint="Leave out one of the two."
        )
    if len(levels) > WHOLE:
        raise ArgumentError(
            "preserve",
            rule=f"for a column of at most {WHOLE} levels, all of which can be released",
            got=f"{len(levels)}",
            hint="Round the numbers first, or leave preserve out."
            if is_numeric(levels)
            else "Merge rare levels, as merge_rare=5 does, or leave preserve out.",
        )
    if options.preserve == "mean":
        centre = np.array(levels, dtype=np.float64)
        statistics, constant = (centre - float(shares @ centre))[None, :], _with_mean(centre, shares)
    else:
        statistics, constant = np.eye(len(levels))[shares > 0][:-1], shares
    if not statistics.size:  # of one level with rows, which is the only one released
        return {}
    return {"kept": statistics, "kept_means": statistics @ shares, "constant": constant}


def _with_mean(numbers: FloatArray, shares: FloatArray) -> FloatArray:
    """A law of all these numbers with the mean of another one: half that, half an even law and one of its ends."""
    even, end = numbers.mean(), np.zeros(numbers.size)
    mean = float(shares @ numbers)
    end[numbers.argmin() if even > mean else numbers.argmax()] = 1.0
    part = (even - mean) / (even - float(end @ numbers))
    return 0.5 * shares + 0.5 * ((1 - part) / numbers.size + part * end)


def _table(counts: CountsArgument, levels: Sequence[Any]) -> Mapping[Secret, NDArray[Any]]:
    """The counts as arrays; raises ArgumentError, ArgumentTypeError and PriorError for what is none."""
    if not isinstance(counts, Mapping) or not isinstance(levels, Sequence) or isinstance(levels, str):
        raise ArgumentTypeError(
            "counts",
            rule="a mapping of secret to counts, beside a list of levels",
            got=f"a {type(counts).__name__} beside a {type(levels).__name__}",
            hint='Write best_channel({"a": [60, 40], "b": [20, 80]}, levels=["no", "yes"], epsilon=1.0).',
        )
    try:
        table = {secret: np.asarray(entries) for secret, entries in counts.items()}
    except ValueError:  # lists of several lengths
        table = {secret: np.array([]) for secret in counts}
    _check(table, levels)
    return table


def _check(table: Mapping[Secret, NDArray[Any]], levels: Sequence[Any]) -> None:
    if len(table) < 2 or not 1 <= len(levels) <= MOST_LEVELS:
        raise ArgumentError(
            "counts",
            rule=f"of at least two secrets, and of 1 to {MOST_LEVELS} levels",
            got=f"{len(table)} secrets, {len(levels)} levels",
            hint="Merge rare levels, or release a coarser column.",
        )
    for secret, entries in table.items():
        if entries.shape != (len(levels),) or entries.dtype.kind not in "iu" or (entries < 0).any():
            raise ArgumentError(
                f"the counts of the secret {secret!r}",
                rule="whole numbers of at least 0, one for each level",
                got=f"shape {entries.shape}, dtype {entries.dtype}",
                hint="Count the rows of each level.",
            )
        if not entries.sum():
            raise PriorError(
                f"the secret {secret!r}", rule="of at least one row", got="none", hint="Leave this secret out."
            )
    try:
        different = len(set(levels))
    except TypeError:
        raise ArgumentTypeError("levels", rule="labels or numbers", got="lists", hint="Write them as text.") from None
    if different < len(levels):
        raise ArgumentError("levels", rule="different ones", got="one twice", hint="Add their counts.")


def least_error(summary: Summary, target: Target, /, *, pairs: Any) -> float:
    """A lower bound of the mean absolute error of what is private under the observed law and sees the value alone."""
    options = Channel(radius=0, cap=None)
    column = number_column(summary, options, declared=None)
    laws = empirical_laws(column.counts, options)
    return find((laws,), column, target=target, pairs=pairs, options=options).lower_bound


_ROWS, _ENTRIES_OF_ROWS = 36, 128
"""A channel for so many different rows of labels, and so many in all secrets together, is found in a second; of 80 rows
and 6 secrets it takes 8."""
_CELLS, _SECRETS, _MOST_SECRETS = 12, 20, 150
"""A channel of so few cells is found in a tenth of a second, and its error bounds that of a finer one. With delta and
more secrets than the first number it takes seconds to minutes; otherwise the time grows with their square, 1.5 seconds
for the second number."""


def error_in_few_cells(summary: Summary, target: Target, /, *, pairs: Pairs, most: float = math.inf) -> float:
    """The error of a channel of a few cells that loses less than `most` under any law; infinite where there is none, or
    none whose released values follow the raw ones, and where it would take long to find.
    """
    options, middles, secrets = Channel(cells=_CELLS), summary.at_middles(), len(summary.counts)
    is_long = secrets > (_SECRETS if target.delta > 0 or most == math.inf else _MOST_SECRETS)
    if options.cap is None or most <= options.cap or is_long:
        return math.inf
    values = np.unique(np.concatenate([values_of_secret for values_of_secret, _ in middles.counts.values()]))
    column = in_cells(middles, values, options)
    laws = empirical_laws(column.counts, options)
    try:
        found = find((laws,), column, target=target, pairs=pairs, options=options)
    except CalibrationError:
        return math.inf
    return math.inf if found.utility.is_loose else found.expected_error


def error_of_rows(joint: JointCounts, target: Target, /, *, pairs: Pairs) -> float:
    """The share of labels that a channel for whole rows of labels changes; infinite where there is none, and where it
    would take long to find.
    """
    options = Channel()
    tables = {s: dict(zip(map(tuple, rows.tolist()), often, strict=True)) for s, (rows, often) in joint.counts.items()}
    levels = sorted({row for own in tables.values() for row in own})
    if len(levels) > _ROWS or len(levels) * len(tables) > _ENTRIES_OF_ROWS:
        return math.inf
    counts = {secret: np.array([own.get(row, 0) for row in levels], dtype=np.int64) for secret, own in tables.items()}
    column = InputColumn(levels=tuple(levels), counts=counts, cost=cost_matrix(levels, options.cost), public=True)
    laws = empirical_laws(counts, options)
    try:
        return find((laws,), column, target=target, pairs=pairs, options=options).expected_error
    except CalibrationError:
        return math.inf
