"""Exact law of a count of states in a Markov chain, given the state at one time, or windows around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from puffer_frames.errors import ArgumentError
from puffer_frames.loss.atoms.discrete import DiscreteLoss, largest_ratio
from puffer_frames.loss.atoms.recursion import NOTHING, Law, TooSteepError, convolver, normalised
from puffer_frames.loss.outcome import Bracket, PureLoss, WorstCase
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret

LONGEST = 2000
"""Longest series whose whole law is worked out; the tables have (states x length^2) entries."""
_LEAST = 2.0**-500
"""Least share of a state in the probability of a count up to a time: below, products would leave the floats."""
_LEAST_DENSITY = 1e-280
"""Below it the sum that a density is has lost terms to underflow."""
_LEAST_FACTOR = 1e-140
"""Below it a product of two probabilities is lost to underflow."""
_HALVINGS, _MOST_PARTS = 20, 4096
_EVEN = 1e-9
"""A range is halved while its bound is larger by more than this share than the loss of some network."""
_CHUNK = 1 << 20
"""Entries of the largest temporary table."""


class CountLoss(DiscreteLoss):
    """Loss of pairs of states at the same time: the states of a time are neighbouring rows, all of whose pairs count.
    See docs/theory.md, section 3, "All pairs at once".
    """

    _starts: IndexArray
    """Where the rows of each time begin, and the end of the last."""

    @classmethod
    def of_times(
        cls, times: Sequence[tuple[Sequence[Secret], Law]], /, *, pairs: tuple[Pair, ...], error: float
    ) -> Self:
        """From the names of the states of each time, and the law of counts 0, 1, ... of each of them."""
        engine, rows = cls.__new__(cls), _stacked([law for _, law in times])
        positions = np.arange(rows.mantissas.shape[1], dtype=np.float64)
        engine._prepare_table([s for states, _ in times for s in states], positions, *rows, pairs=pairs, error=error)
        engine._starts = np.cumsum([0, *(len(states) for states, _ in times)])
        return engine

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over y: the highest less the lowest density of every time."""
        lower, upper, pair = 0.0, -np.inf, (self._secrets[0], self._secrets[1])
        most = max(1, _CHUNK // self._positions.size)
        at = 0
        while at < self._starts.size - 1:
            end = max(at + 1, int(np.searchsorted(self._starts, self._starts[at] + most, side="right")) - 1)
            log_f, error = self._log_densities(slice(int(self._starts[at]), int(self._starts[end])), scale)
            groups = self._starts[at:end] - self._starts[at]
            highest, lowest = (ufunc.reduceat(log_f, groups, axis=0) for ufunc in (np.maximum, np.minimum))
            low, high, place = largest_ratio(highest, lowest, error)
            lower = max(lower, low)
            if high > upper:
                upper, (time, y) = high, divmod(place, self._positions.size)
                of_time = slice(int(self._starts[at + time]), int(self._starts[at + time + 1]))
                column = log_f[of_time.start - self._starts[at] : of_time.stop - self._starts[at], y]
                ends = int(column.argmax()), int(column.argmin())
                first, second = sorted(ends if ends[0] != ends[1] else (0, 1))
                pair = self._secrets[of_time.start + first], self._secrets[of_time.start + second]
            at = end
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=pair)

    @property
    def distance(self) -> float:
        """Largest W-infinity distance of two laws of one time, where masses that differ by rounding alone are equal.

        A level in the lower half compares the masses up to it, one in the upper half the masses beyond it: so both are
        right up to a factor.
        """
        slack = 4 * (self._error + UNIT_ROUNDOFF * self._positions.size)
        farthest = 0.0
        for start, end in pairwise(self._starts.tolist()):
            rows = slice(start, end)
            with np.errstate(divide="ignore"):
                logs, exponents = np.log(self._weights(rows)), self._exponents(rows)
            logs = logs if exponents is None else logs + exponents * math.log(2)
            upto = np.logaddexp.accumulate(logs, axis=1)
            beyond = np.full_like(upto, -np.inf)
            beyond[:, :-1] = np.logaddexp.accumulate(logs[:, :0:-1], axis=1)[:, ::-1]
            total = upto[:, -1:].copy()
            upto, beyond = upto - total, beyond - total
            for one, other in permutations(range(end - start), 2):
                at = np.flatnonzero(logs[one] > -np.inf)
                low = upto[one, at] < -math.log(2)
                reached = np.empty(at.size, dtype=np.intp)
                reached[low] = np.searchsorted(upto[other], upto[one, at[low]] - slack)
                reached[~low] = np.searchsorted(-beyond[other], -beyond[one, at[~low]] - slack)
                farthest = max(farthest, float((self._positions[reached] - self._positions[at]).max()))
        return farthest


class CountsLoss(PureLoss):
    r"""Loss of several counts, each with Laplace noise of the same scale, of "X_i = s" against "X_i = t".

    Along one count, between two whole numbers, each density is :math:`A e^{y/b} + B e^{-y/b}`: a ratio of two of them
    is a Moebius function of :math:`e^{2y/b}`, so monotone; beyond the counts it is constant. So the largest ratio is at
    whole numbers.
    """

    resolution = 1.0

    def __init__(self, laws: Sequence[tuple[Sequence[Secret], FloatArray]], /, *, error: float) -> None:
        """`laws` has for each i the names of "X_i = s", and a law of each, shape (states, counts, ..., counts), or its
        coefficients. They are right up to a factor of `exp(error)`.
        """
        self._laws, self._error = laws, error
        self.span = 2.0 * (laws[0][1].shape[-1] - 1)

    def only(self, pair: Pair, /) -> Self:
        """The same for all pairs of the i that the pair is of."""
        return type(self)([own for own in self._laws if pair[0] in own[0]], error=self._error)

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs and over the whole numbers."""
        lower, upper, pair = 0.0, -np.inf, (self._laws[0][0][0], self._laws[0][0][1])
        for secrets, law in self._laws:
            density = law
            for _ in range(law.ndim - 1 if scale else 0):  # each count in turn: its axis goes to the end
                places = np.arange(law.shape[1])
                with np.errstate(under="ignore"):
                    kernel = np.exp(-np.abs(places[:, None] - places) / scale)
                    density = np.tensordot(density, kernel, axes=(1, 0))
            logs = density.reshape(len(secrets), -1)
            logs = logs[:, logs.any(axis=0)]
            least = float(logs[logs > 0].min())
            with np.errstate(divide="ignore"):
                logs = np.log(logs)
            place = int((logs.max(axis=0) - logs.min(axis=0)).argmax())
            found = float(np.ptp(logs[:, place])) if least >= _LEAST_DENSITY else np.inf
            error = self._rounding(scale, law) + 4 * UNIT_ROUNDOFF * abs(math.log(least))
            lower = max(lower, found - error) if found < np.inf else lower
            if found + error > upper:
                upper = found + error
                first, second = sorted((int(logs[:, place].argmax()), int(logs[:, place].argmin())))
                pair = secrets[first], secrets[second if second > first else first - 1]
        return WorstCase(bracket=Bracket(lower=lower, upper=upper), pair=pair)

    def _rounding(self, scale: float, law: FloatArray) -> float:
        """The rounding of a ratio: that of the probabilities, and of each sum over a count with its exponentials."""
        counts = law.shape[1]
        steps = (law.ndim - 1) * (counts + counts / scale + 4) if scale else 0.0
        return 2.0 * (self._error + UNIT_ROUNDOFF * (steps + 8))


class RangeLoss(CountsLoss):
    r"""Loss of one count or sum of "X_i = s" against "X_i = t" under every network of a range.

    With Bernstein coefficients :math:`a_m` of :math:`P(X_i = s) f(y \mid X_i = s)` and :math:`p_m` of
    :math:`P(X_i = s)`, :math:`b_m` and :math:`q_m` those of t, the ratio of two densities is one of the polynomials
    :math:`\sum a_m q_{k - m}` and :math:`\sum b_m p_{k - m}` of degree 2d, whose coefficients are at least 0: so it is
    at most the largest ratio of two coefficients of one k. The first and the last k are the ends of the range. Where
    another k is larger the range is halved (de Casteljau), as long as that helps.

    The coefficients have the shape (states, degree + 1, sums).
    """

    def pure(self, scale: float, /) -> WorstCase:
        """Largest |log f_i/f_j| over the pairs, over the whole numbers and over the range."""
        found = WorstCase(bracket=Bracket(lower=0.0, upper=0.0), pair=(self._laws[0][0][0], self._laws[0][0][1]))
        places = np.arange(self._laws[0][1].shape[2])
        kernel = np.exp(-np.abs(places[:, None] - places) / scale) if scale else np.eye(places.size)
        steps = self._laws[0][1].shape[1] * (_HALVINGS + 4) + places.size * (1 + (1 / scale if scale else 0)) + 16
        error = 2 * (self._error + UNIT_ROUNDOFF * steps)
        for secrets, law in self._laws:
            every = np.concatenate([law @ kernel, law.sum(axis=2, keepdims=True)], axis=2)
            lost = scale and float(every[law.any(axis=2)].min()) < _LEAST_FACTOR  # a product may underflow
            for one, other in permutations(range(len(secrets)), 2):
                bracket = Bracket(lower=0.0, upper=math.inf)
                if not lost:
                    bracket = _over_the_range(every[[one, other]], least=found.bracket.lower)
                if bracket.upper + error > found.bracket.upper:
                    pair = secrets[min(one, other)], secrets[max(one, other)]
                    lower = max(found.bracket.lower, bracket.lower - error)
                    found = WorstCase(bracket=Bracket(lower=lower, upper=bracket.upper + error), pair=pair)
        return found


def _over_the_range(laws: FloatArray, *, least: float) -> Bracket:
    """Log of the largest ratio of the density of the first secret to that of the second one.

    `laws` has their coefficients at each place, and after these those of their probabilities, shape (2, degree + 1,
    places + 1). A part of the range is left out where its bound is no larger than what some network has, or `least`.
    """
    degree = laws.shape[1] - 1
    binomials = comb(degree, np.arange(degree + 1))[:, None]
    halves = comb(np.arange(degree + 1)[:, None], np.arange(degree + 1)) / 2.0 ** np.arange(degree + 1)[:, None]
    upper, left = 0.0, [laws]
    for depth in range(_HALVINGS + 1):
        parts, left = left, []
        for part in parts:
            products = np.zeros((2, 2 * degree + 1, laws.shape[2] - 1))
            for m, mass in enumerate((part * binomials)[::-1, :, -1].T):
                products[:, m : m + degree + 1] += mass[:, None, None] * (part * binomials)[:, :, :-1]
            with np.errstate(divide="ignore"):
                logs = np.log(products[:, products.any(axis=0)])
            places = np.broadcast_to(np.arange(2 * degree + 1)[:, None], products.shape[1:])[products.any(axis=0)]
            ratio = logs[0] - logs[1]
            most = float(ratio.max())
            least = max(least, float(ratio[places % max(1, 2 * degree) == 0].max(initial=0.0)))
            if most > least * (1 + _EVEN) and depth < _HALVINGS and len(left) < _MOST_PARTS:
                left += [halves @ part, halves[::-1, ::-1] @ part]
            else:
                upper = max(upper, most)
    return Bracket(lower=min(least, upper), upper=upper)


def check_length(length: int, /) -> None:
    """Raise ArgumentError for a series of too many times."""
    if length > LONGEST:
        raise ArgumentError(
            'the length of a series for mechanism="exact"',
            rule=f"at most {LONGEST:,} where it has gaps, or where the chain is slow to forget its state",
            got=f"{length:,}",
            hint='Use mechanism="quilt".',
        )


def count_loss(
    chains: Sequence[MarkovChain], counted: Sequence[bool], /, *, length: int, observed: NDArray[np.bool_] | None = None
) -> CountLoss | None:
    r"""Privacy loss of one count, of "X_i = s" against "X_i = t" for every i and all states.

    The law of :math:`F = \sum_i 1[X_i \in C]` given :math:`X_i = s` is the convolution of the law of the count up to i
    (a forward recursion over states and counts) and of the one after i (a backward recursion). The sum is over the
    observed times, i is any time.

    - `chains` (sequence of MarkovChain): Beliefs, each with a stationary or given start.
    - `counted` (sequence of bool, shape (states,)): Which states are counted.
    - `length`: Number of times, T.
    - `observed` (array of bool, shape (T,)): The times whose states are in the count; all without it.
    Returns: None where no time has two possible states.
    Raises ArgumentError for a series of more than 2,000 values, a chain with any start, or one with probabilities so
    far apart that floats with exponents of their own lose some.

    **Cost**: O(T^2 k^2) for the recursions and O(T^3 k) for the convolutions, some times that where probabilities lie
    below 1e-120. **Rounding**: `count_rounding`, which the loss holds.
    """
    check_length(length)
    seen = np.ones(length, dtype=bool) if observed is None else observed
    times = list[tuple[list[Secret], Law]]()
    weights = np.asarray(counted, dtype=bool)
    for number, chain in enumerate(chains):
        if isinstance(chain.initial, str) and chain.initial == "any":
            raise ArgumentError(
                'initial for mechanism="exact"',
                rule='"stationary", "estimated" or a law',
                got="'any'",
                hint='Use mechanism="quilt", or give the law of the first state.',
            )
        start = chain.stationary if isinstance(chain.initial, str) else np.asarray(chain.initial)
        try:
            for i, (possible, law) in enumerate(_laws(chain.transition, start, weights, seen)):
                if possible.size > 1:
                    times.append(([(number, i, int(s)) for s in possible], law))
        except TooSteepError as steep:
            raise ArgumentError(
                "the chain",
                rule="one without a probability 1e-120 times as large as those of neighbouring counts or states",
                got="a smaller one, which floats would lose",
                hint='Use mechanism="quilt".',
            ) from steep
    if not times:
        return None
    pairs = tuple(pair for states, _ in times for pair in combinations(states, 2))
    return CountLoss.of_times(times, pairs=pairs, error=count_rounding(chains, length=length))


def count_rounding(chains: Sequence[MarkovChain], /, *, length: int) -> float:
    """What rounding can change of the log of a probability: sums of positive terms, `length` steps deep.

    Each step of a recursion adds one rounding per state and some, the convolution one per term and some; the start has
    at most 64 for each pair of states.
    """
    states = chains[0].states
    return 2 * UNIT_ROUNDOFF * (length * (states + 4) + 64 * states**2 + 32)


def _laws(
    transition: FloatArray, start: FloatArray, weights: NDArray[np.bool_], seen: NDArray[np.bool_]
) -> list[tuple[IndexArray, Law]]:
    """For each time the states that are possible then, and a law of the count for each of them."""
    after = backward(transition, weights, seen)
    up_to = forward(transition, start, weights, seen)
    convolve = convolver()
    found = []
    for i in range(seen.size):
        possible = np.flatnonzero(up_to[i].mantissas.any(axis=1))
        before, rest = (Law(law.mantissas[possible], law.exponents[possible]) for law in (up_to[i], after[-1 - i]))
        joint = convolve(before, rest, int(seen.sum()) + 1)
        top = joint.exponents.max(axis=1, keepdims=True)
        reached = np.ldexp(joint.mantissas, joint.exponents - top).sum(axis=1, keepdims=True)
        found.append((possible, normalised(joint.mantissas / reached, joint.exponents - top)))
    return found


def forward(
    transition: FloatArray, start: FloatArray, weights: NDArray[np.bool_], seen: NDArray[np.bool_]
) -> list[Law]:
    """P(X_i = x, count of the first i = c) for i = 1, ..., T, each of shape (states, times seen + 1)."""
    table = np.zeros((start.size, int(seen.sum()) + 1))
    table[np.arange(start.size), weights.astype(int) * seen[0]] = start
    laws = [normalised(table)]
    for here in seen[1:]:
        law = _step(transition.T, laws[-1])
        laws.append(_shifted(law, weights) if here else law)
    return laws


def backward(
    transition: FloatArray, weights: NDArray[np.bool_], seen: NDArray[np.bool_], *, ends: FloatArray | float = 1.0
) -> list[Law]:
    """P(count of the last r = c | X = x before them) for r = 0, ..., T - 1, each of shape (states, times seen + 1).

    With an indicator of states `ends` it is the probability of that count together with one of these states at the end.
    """
    table = np.zeros((transition.shape[0], int(seen.sum()) + 1))
    table[:, 0] = ends
    laws = [normalised(table)]
    for there in seen[:0:-1]:
        laws.append(_step(transition, _shifted(laws[-1], weights) if there else laws[-1]))
    return laws


def _shifted(law: Law, weights: NDArray[np.bool_]) -> Law:
    """One more in the count of the counted states; the last entry is still 0."""
    mantissas, exponents = law.mantissas.copy(), law.exponents.copy()
    for table in (mantissas, exponents):
        table[weights] = np.roll(table[weights], 1, axis=1)
    return Law(mantissas, exponents)


def _step(matrix: FloatArray, law: Law) -> Law:
    """`matrix @ law`: the exponents of a count are taken out, and no state may be too far below the others."""
    tops = law.exponents.max(axis=0)
    table = np.ldexp(law.mantissas, np.maximum(law.exponents - tops, NOTHING))
    moved = matrix @ table
    held = (matrix > 0).astype(np.float64) @ (law.mantissas > 0) > 0
    smallest = min(float(part[part > 0].min()) for part in (matrix, table))
    if smallest < _LEAST or not (held == (moved > 0)).all() or (table[law.mantissas > 0] < _LEAST).any():
        raise TooSteepError
    return normalised(moved, np.where(moved > 0, tops, NOTHING))


_MOST_ENTRIES, _MOST_SMALL = 1 << 25, 1 << 22
"""Entries of the laws of all windows, and of small ones."""
_LEAST_MEAN = 1e-200
"""Means from here on have not lost digits, where the largest one is about 1."""
_FIRST_TIMES = 8
_SETTLED = 1e-10
"""A law of the state within this factor of the stationary one stands for all later ones."""


class WindowedCountLoss(CountLoss):
    r"""Bounds of the privacy loss of one count F of a series of T times, each of which is counted.

    Let x be the state w times before i, z the state w times after it, and N the count between. Given x and z, the rest
    of F is independent of :math:`X_i` and N: F with Laplace noise is a random function of x, z and N with Laplace
    noise. So the loss is at most

    .. math:: \max_{x, z} \max_y \log\frac{\sum_n P(x, z, N = n \mid X_i = s) e^{-|y - n|/b}}
                                          {\sum_n P(x, z, N = n \mid X_i = t) e^{-|y - n|/b}},

    and within w of an end of the series the window reaches to that end. It is at least
    :math:`|\log E[e^{\pm F/b} \mid X_i = s] / E[e^{\pm F/b} \mid X_i = t]|`, the loss at y beyond 0 and T.

    **Cost**: that of 2w times, whatever T is.
    See docs/theory.md, section 10, "One count, exactly".
    """

    covers: int
    """Length from which on a series has the same windows."""
    _series: _Series

    @classmethod
    def of(
        cls, chain: MarkovChain, counted: NDArray[np.bool_], /, *, length: int, window: int, small: bool = False
    ) -> WindowedCountLoss | None:
        """None where windows do not fit between the ends, are too large, or tell too little to be of use."""
        most = _MOST_SMALL if small else _MOST_ENTRIES
        series = _Series.of(chain, counted, length=length, window=window, most=most)
        if series is None:
            return None
        try:
            groups = list(_groups(series, window))
        except TooSteepError:
            return None
        times = [([(0, i, int(s)) for s in series.possible(i)], law) for i, law in groups]
        error = count_rounding([chain], length=2 * window + 1) + series.error
        engine = cls.of_times(times, pairs=(), error=error)
        engine._series = series
        engine.covers = max(2 * window + 1, window + len(series.laws))
        return engine

    def only(self, _pair: Pair, /) -> WindowedCountLoss:
        """All of it: a pair of states has several windows."""
        return self

    def pure(self, scale: float, /) -> WorstCase:
        """Bounds of the largest |log f_s/f_t|."""
        found = super().pure(scale)
        lower = min(self.far_away(scale), found.bracket.upper) if scale else 0.0
        return WorstCase(bracket=Bracket(lower=lower, upper=found.bracket.upper), pair=found.pair)

    @np.errstate(divide="ignore", invalid="ignore")  # with hardly any noise all means leave the floats
    def far_away(self, scale: float, /) -> float:
        """A lower bound of the loss: that at y beyond all counts, of the first times, the middle and the last one."""
        series = self._series
        slack = 2 * (count_rounding([series.chain], length=series.length) + series.error)
        most = 0.0
        for signed in (series.counted - 1.0, -1.0 * series.counted):
            weight = np.exp(signed / scale)
            ahead = series.chain.transition * weight
            for time in (*range(1, min(len(series.laws), _FIRST_TIMES) + 1), (series.length + 1) // 2, series.length):
                held = series.possible(time)
                before = _product(series.law(1) * weight, ahead, time - 1)
                after = _product(np.ones(series.chain.states), ahead.T, series.length - time)
                means = before[held] * after[held] / series.law(time)[held]
                if means.min() > _LEAST_MEAN:
                    most = max(most, math.log(means.max() / means.min()) - slack)
        return most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Series:
    """A chain, what is counted, and the laws of its first states."""

    chain: MarkovChain
    counted: NDArray[np.bool_]
    length: int
    laws: FloatArray
    """Laws of the state at times 1, 2, ...; the last one holds for all later times."""
    error: float
    """How far the log of a law may be off."""

    @classmethod
    def of(
        cls, chain: MarkovChain, counted: NDArray[np.bool_], /, *, length: int, window: int, most: int
    ) -> _Series | None:
        """None where the state does not settle, and where windows do not fit or are too large."""
        middle = length - 2 * window
        if middle < 1 or not chain.is_primitive:
            return None
        laws, error = np.array([chain.stationary]), 0.0
        if not isinstance(chain.initial, str):
            listed, far = [np.asarray(chain.initial, dtype=np.float64)], np.inf
            while far > _SETTLED and len(listed) < length - window:
                listed.append(listed[-1] @ chain.transition)
                with np.errstate(divide="ignore"):
                    far = float(np.abs(np.log(listed[-1]) - np.log(chain.stationary)).max())
            if far > _SETTLED:
                return None
            laws, error = np.array(listed), 2 * _SETTLED + count_rounding([chain], length=len(listed))
        k = chain.states
        if not _all_reached(chain.transition, window):
            return None
        groups = 2 * window * k + max(1, len(laws) - window) * k**2
        if groups * k * (2 * window + 1) > most:
            return None
        return cls(chain=chain, counted=counted, length=length, laws=laws, error=error)

    def law(self, time: int) -> FloatArray:
        """The law of the state at a time, from 1."""
        return self.laws[min(time, len(self.laws)) - 1]

    def possible(self, time: int) -> IndexArray:
        """The states that a time may have."""
        return np.flatnonzero(self.law(time))


def _all_reached(transition: FloatArray, window: int) -> bool:
    """Whether every state is reached from every other in so many steps: then later too."""
    reached = transition > 0
    for _ in range(window.bit_length() - 1):
        reached = reached.astype(np.float64) @ reached.astype(np.float64) > 0
    return bool(reached.all())


def _product(row: FloatArray, matrix: FloatArray, times: int) -> FloatArray:
    """Row times a power of a matrix, up to a factor; entries are at most 1."""
    while times:
        if times & 1:
            row = row @ matrix
        row = row / row.max()
        matrix = matrix @ matrix
        matrix = matrix / matrix.max()
        times >>= 1
    return row


def _groups(series: _Series, window: int) -> Iterator[tuple[int, Law]]:
    """A time, and for each of its states the law of the count in a window with known states at its ends."""
    chain, weights = series.chain, series.counted
    seen = np.ones(window + 1, dtype=bool)
    seen[-1] = False
    states = np.eye(chain.states)
    start = series.law(1)
    until = [backward(chain.transition, weights, seen, ends=state)[-1] for state in states]
    since = [forward(chain.transition, row, weights, seen[:-1])[-1] for row in chain.transition]
    convolve = convolver()

    def joint(time: int, before: Law, after: Law) -> tuple[int, Law]:
        possible = series.possible(time)
        first, second = (Law(law.mantissas[possible], law.exponents[possible]) for law in (before, after))
        both = convolve(first, second, before.mantissas.shape[1] + after.mantissas.shape[1] - 1)
        return time, normalised(both.mantissas / series.law(time)[possible, None], both.exponents)

    for time, before in enumerate(forward(chain.transition, start, weights, seen[:-1]), start=1):
        yield from (joint(time, before, after) for after in until)
    for before in since:
        for after in until:
            yield from (joint(time, before, after) for time in range(window + 1, max(window + 1, len(series.laws)) + 1))
    for left, after in enumerate(backward(chain.transition, weights, np.ones(window, dtype=bool))):
        yield from (joint(series.length - left, before, after) for before in since)


def _stacked(laws: Sequence[Law]) -> Law:
    """One below the other, with probabilities of 0 at counts that some do not reach."""
    size = max(law.mantissas.shape[1] for law in laws), sum(law.mantissas.shape[0] for law in laws)
    found = Law(np.zeros(size[::-1]), np.full(size[::-1], NOTHING))
    row = 0
    for law in laws:
        rows, columns = law.mantissas.shape
        found.mantissas[row : row + rows, :columns] = law.mantissas
        found.exponents[row : row + rows, :columns] = law.exponents
        row += rows
    return found
