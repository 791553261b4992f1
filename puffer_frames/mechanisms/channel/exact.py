"""A channel in integers that meets every constraint exactly: lifted by constants, then verified from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

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
