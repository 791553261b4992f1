"""The noise that hides every state of a long series in one count of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from puffer_frames.loss.atoms.count_windows import WindowedCountLoss
from puffer_frames.loss.atoms.counts import LONGEST
from puffer_frames.numbers.target import Target
from puffer_frames.priors.markov import MarkovChain
from puffer_frames.scales.search import is_private, scale_between, smallest_scale_of

SHORT = 300
"""Series up to this long are worked out whole."""
_EXACT = 1e-7
"""A scale that may be larger than needed by this fraction; windows grow until it is enough."""
_NEARLY = 1e-3
"""The same where no larger window fits."""
_FIRST = 32
_DECREASES = 40


def loss_in_windows(
    chain: MarkovChain, counted: NDArray[np.bool_], /, *, length: int, target: Target
) -> tuple[WindowedCountLoss, float] | None:
    """The loss of a count of a long series from windows that are large enough, and its scale.

    Enough is a window that confirms the scale below which the loss far from all counts is too large, or one whose loss
    there is no smaller than that of half the window. None where no such window fits into the series; of a series whose
    whole law would be too large, the largest one will do that asks for hardly more.
    """
    whole = length <= LONGEST
    window, before, least = _FIRST, math.inf, 0.0
    last: WindowedCountLoss | None = None
    while loss := WindowedCountLoss.of(chain, counted, length=length, window=window, small=whole):
        if last is None:
            least = _needed_far_away(loss, length, target)
        if least and is_private(loss, least * (1 + _EXACT), target):
            return loss, least * (1 + _EXACT)
        most = loss.pure(least or length / target.epsilon).bracket.upper
        if math.inf > most >= before * (1 - _EXACT):
            return loss, smallest_scale_of(loss, target)
        window, before, last = window * 2, most, loss
    if whole or last is None or not least or not is_private(last, least * (1 + _NEARLY), target):
        return None
    return last, scale_between(last, target, least, least * (1 + _NEARLY))


def _needed_far_away(loss: WindowedCountLoss, length: int, target: Target) -> float:
    """A scale at which the loss far from all counts is epsilon; 0 where there is none."""

    def beyond(log_scale: float) -> float:
        return loss.far_away(math.exp(log_scale)) - target.epsilon

    high = math.log(length / target.epsilon)  # there no loss is larger
    low = next((high - k for k in range(1, _DECREASES) if beyond(high - k) > 0), None)
    return 0.0 if low is None else math.exp(brentq(beyond, low, low + 1, xtol=_EXACT / 8))
