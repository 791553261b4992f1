r"""The lift: the least that a channel must add to its outputs so that the loss of every row stays within what is left.

A channel W with laws :math:`q_s(y)` becomes :math:`(W + \beta_s)/(1 + B)`, where all :math:`\beta_s \ge 0` sum to B,
:math:`\beta_s \le e^k \beta_t` and :math:`q_s + \beta_s \le e^{a_{st}} (q_t + \beta_t)`.
"""

from __future__ import annotations

import numpy as np

from puffer_frames.mechanisms.sequential.law import sums
from puffer_frames.priors.prior import FloatArray

_MARGIN = 1 - 1e-12
"""Factor of the odds: more than the rounding of the sums below."""
_TURNS = 6
"""Of the search for the least lift of several beliefs; the little that is left is met by a constant."""


def lift(laws: FloatArray, allowed: FloatArray, reader_cap: float, /) -> FloatArray:
    """What is added to each output given each secret, free of the value.

    Parameters
    ----------
    laws : array of float, shape (beliefs, secrets, rows, outputs)
        Laws of the output under each belief.
    allowed : array of float, shape (beliefs, secrets, secrets, rows)
        By how much the loss of a secret against another one may grow, greater than 0.
    reader_cap : float
        Largest loss to a reader who knows the value: k, from 0 to infinity.

    Returns
    -------
    array of float, shape (secrets, rows, outputs)
    """
    odds = np.exp(allowed)[..., None] * _MARGIN
    if reader_cap == 0:
        return np.broadcast_to(_constant(laws, odds), laws.shape[1:])
    if len(laws) > 1:
        return _of_beliefs(laws, odds, reader_cap)
    if len(laws[0]) > 2:
        return _of_many(laws[0], odds[0], reader_cap)
    return _of_two(laws[0], odds[0], reader_cap)


def _pairs(secrets: int) -> list[tuple[int, int]]:
    return [(s, t) for s in range(secrets) for t in range(secrets) if s != t]


def _excess(one: FloatArray, other: FloatArray, odds: FloatArray) -> FloatArray:
    found: FloatArray = one - odds * other
    return np.maximum(found, 0.0, out=found)


def _constant(laws: FloatArray, odds: FloatArray) -> FloatArray:
    """The least lift that is the same for all secrets."""
    found = np.zeros(laws.shape[2:])
    for own, ratio in zip(laws, odds, strict=True):
        for s, t in _pairs(len(own)):
            np.maximum(found, _excess(own[s], own[t], ratio[s, t]) / (ratio[s, t] - 1), out=found)
    return found


def _of_two(laws: FloatArray, odds: FloatArray, reader_cap: float) -> FloatArray:
    found, back = np.zeros_like(laws), np.exp(-reader_cap)
    for s, t in ((0, 1), (1, 0)):  # at most one of the two is exceeded at an output
        more = _excess(laws[s], laws[t], odds[s, t]) / (odds[s, t] - back)
        found[t] += more
        found[s] += back * more
    raised = laws + found
    room = np.stack([odds[0, 1] * raised[1] - raised[0], odds[1, 0] * raised[0] - raised[1]]).clip(0.0)
    return _with_equal_sums(found, room, reader_cap)


def _of_many(laws: FloatArray, odds: FloatArray, reader_cap: float) -> FloatArray:
    pairs = _pairs(len(laws))
    least, back = np.min([odds[s, t] for s, t in pairs], axis=0), np.exp(-reader_cap)
    high = laws.max(axis=0)
    more = _excess(high, laws.min(axis=0), least) / (least - back)
    found = np.where(more > 0, np.maximum(back * more, (high + back * more) / least - laws), 0.0)
    room = np.maximum(least * (laws + found).min(axis=0) - (laws + found), 0.0)
    return _with_equal_sums(found, room, reader_cap)


def _with_equal_sums(
    found: FloatArray, room: FloatArray, reader_cap: float, mean: FloatArray | None = None
) -> FloatArray:
    """Secrets with smaller sums get more where they have room; then all the same, for the reader who knows the value.

    What does not fit goes by a mean law, where one is given.
    """
    own, space = sums(found), sums(room)
    missing = own.max(axis=0) - own
    share = np.divide(missing, space, out=np.zeros_like(space), where=space > 0)
    more = np.minimum(share, 1.0) * room
    if mean is not None:
        more += (missing - sums(more)).clip(0.0) * mean
    found = found + more
    found += more.max(axis=0) / np.expm1(reader_cap)
    return found


def _of_beliefs(laws: FloatArray, odds: FloatArray, reader_cap: float) -> FloatArray:
    found, back, pairs = np.zeros_like(laws[0]), np.exp(-reader_cap), _pairs(len(laws[0]))
    for own, ratio in zip(laws, odds, strict=True):  # what a pair needs by itself is no more than the least lift
        for s, t in pairs:
            np.maximum(found[t], _excess(own[s], own[t], ratio[s, t]) / (ratio[s, t] - back), out=found[t])
    inverse = 1 / odds
    for _ in range(_TURNS):  # upward towards the least lift of all, as many turns whatever the rows are
        for s, t in pairs:
            np.maximum(found[t], back * found[s], out=found[t])
            for own, ratio in zip(laws, inverse, strict=True):
                more = own[s] + found[s]
                more *= ratio[s, t]
                more -= own[t]
                np.maximum(found[t], more, out=found[t])
    room = np.full_like(found, np.inf)
    for own, ratio in zip(laws, odds, strict=True):
        for s, t in pairs:
            np.minimum(room[s], ratio[s, t] * (own[t] + found[t]) - (own[s] + found[s]), out=room[s])
    found = _with_equal_sums(found, room.clip(0.0), reader_cap, laws.mean(axis=(0, 1)))
    rest = _constant(laws + found, odds)
    if np.isfinite(reader_cap):
        for s, t in pairs:
            more = _excess(found[s], found[t], np.exp(reader_cap) * _MARGIN)
            np.maximum(rest, more / np.expm1(reader_cap), out=rest)
    found += rest
    return found
