"""Loss of one count of a long Markov chain, from windows around each time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.atoms.counts import CountLoss, backward, count_rounding, forward
from puffer_frames.loss.atoms.tilted import NOTHING, Law, TooSteepError, convolver, normalised
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.outcome import WorstCase
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import FloatArray, IndexArray, Secret

_MOST_ENTRIES, _MOST_SMALL = 1 << 25, 1 << 22
"""Entries of the laws of all windows, and of small ones."""
_LEAST = 1e-200
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

    Notes
    -----
    **Cost**: that of 2w times, whatever T is.

    References
    ----------
    docs/theory.md, section 10, "One count, exactly".
    """

    covers: int
    """Length from which on a series has the same windows."""
    _series: _Series

    def __init__(self) -> None:
        """Empty: use `of`."""

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
        secrets: list[Secret] = [(0, i, int(s)) for i, _ in groups for s in series.possible(i)]
        ends = np.append(0, np.cumsum([law.mantissas.shape[0] for _, law in groups]))
        error = count_rounding([chain], length=2 * window + 1) + series.error
        engine = cls()
        engine._fill(secrets, _stacked([law for _, law in groups]), ends.astype(np.intp), pairs=(), error=error)
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
                if means.min() > _LEAST:
                    most = max(most, math.log(means.max() / means.min()) - slack)
        return most


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Series:
    """A chain, what is counted, and the laws of its first states."""

    chain: MarkovChain
    counted: NDArray[np.bool_]
    length: int
    laws: FloatArray
    """Of the state at times 1, 2, ...; the last one is that of all later times."""
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
        """Of the state at a time, from 1."""
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
