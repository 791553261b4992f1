r"""The release of rows column by column, and the exact loss of what was released.

The lift: the least that a channel must add to its outputs so that the loss of every row stays within what is left.
A channel W with laws :math:`q_s(y)` becomes :math:`(W + \beta_s)/(1 + B)`, where all :math:`\beta_s \ge 0` sum to B,
:math:`\beta_s \le e^k \beta_t` and :math:`q_s + \beta_s \le e^{a_{st}} (q_t + \beta_t)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from puffer_frames.mechanisms.sequential.law import Filter, NetworkLaw, nearest, sums
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.noise.stream import Numbers, Purpose, ReleaseKey
from puffer_frames.numbers.threads import each_of, one_blas_thread
from puffer_frames.priors.prior import FloatArray, IndexArray

_MARGIN = 1 - 1e-12
"""Factor of the odds: more than the rounding of the sums below."""
_TURNS = 6
"""Turns of the search for the least lift of several beliefs; the little that is left is met by a constant."""


def lift(laws: FloatArray, allowed: FloatArray, reader_cap: float, /) -> FloatArray:
    """What is added to each output given each secret, free of the value.

    - `laws` (array of float, shape (beliefs, secrets, rows, outputs)): Laws of the output under each belief.
    - `allowed` (array of float, shape (beliefs, secrets, secrets, rows)): By how much the loss of a secret against
      another one may grow, greater than 0.
    - `reader_cap`: Largest loss to a reader who knows the value: k, from 0 to infinity.
    Returns: array of float, shape (secrets, rows, outputs).
    """
    odds = np.exp(allowed)[..., None] * _MARGIN
    if reader_cap == 0:
        return np.broadcast_to(_constant(laws, odds), laws.shape[1:])
    if len(laws) > 1:
        return _of_beliefs(laws, odds, reader_cap)
    if len(laws[0]) > 2:
        return _of_many(laws[0], odds[0], reader_cap)
    return _of_two(laws[0], odds[0], reader_cap)


def _excess(one: FloatArray, other: FloatArray, odds: FloatArray) -> FloatArray:
    found: FloatArray = one - odds * other
    return np.maximum(found, 0.0, out=found)


def _constant(laws: FloatArray, odds: FloatArray) -> FloatArray:
    """The least lift that is the same for all secrets."""
    found = np.zeros(laws.shape[2:])
    for own, ratio in zip(laws, odds, strict=True):
        for s, t in permutations(range(len(own)), 2):
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
    pairs = permutations(range(len(laws)), 2)
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
    found, back, pairs = np.zeros_like(laws[0]), np.exp(-reader_cap), list(permutations(range(len(laws[0])), 2))
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


Whole = NDArray[np.int64]
_BLOCK = 4096
"""Rows that are worked on together."""
_GRID = 1e6
"""Features are rounded to this part of 1: whole numbers, whose distances floats hold exactly."""
_SPREAD = 3.0
"""By how much the differences between secrets count more than their mean in the choice of a context."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """How one column is released: a base table for each context, a class of what the released values tell of it."""

    column: int
    most: float
    """By how much the loss may grow with this column."""
    reader_cap: float
    """Largest loss to a reader who knows the raw value."""
    centres: FloatArray
    """Centres of the contexts, shape (contexts, secrets * levels): whole numbers."""
    weights: Whole
    """Probabilities in units of 2**-62, shape (contexts, secrets, levels, outputs)."""
    moves: FloatArray | None = None
    """Probability of each level and output together given each secret, lifts included, of rows that were simulated from
    the first belief: shape (secrets, levels, outputs). None in files of earlier versions."""

    @cached_property
    def by_input(self) -> FloatArray:
        """The same as floats."""
        return np.ldexp(self.weights.astype(np.float64), -TOTAL_BITS)

    @cached_property
    def by_output(self) -> FloatArray:
        """The same, shape (contexts, secrets, outputs, levels)."""
        return np.ascontiguousarray(self.by_input.transpose(0, 1, 3, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialPlan:
    """All that a release needs, and all that its likelihood needs."""

    epsilon: float
    laws: tuple[NetworkLaw, ...]
    """The beliefs, each of which the loss is bounded for; contexts are those of the first."""
    steps: tuple[Step, ...]
    """The columns in the order of their release."""
    reserve: float
    """What is left to each later column at least."""


def in_units(tables: FloatArray, /) -> Whole:
    """Probabilities in units of 2**-62, whose sum over the last axis is exactly 1: the largest takes the rest."""
    whole = np.rint(np.ldexp(tables, TOTAL_BITS)).astype(np.int64)
    rest = (1 << TOTAL_BITS) - whole.sum(axis=-1, keepdims=True)
    largest = whole.argmax(axis=-1)[..., None]
    np.put_along_axis(whole, largest, np.take_along_axis(whole, largest, axis=-1) + rest, axis=-1)
    return whole


def features(laws: FloatArray, /) -> FloatArray:
    """What contexts are classes of, whole numbers; laws of shape (secrets, rows, levels) give (rows, features)."""
    roots = np.sqrt(laws)
    mean = roots.mean(axis=0)
    return np.rint(_GRID * (mean + _SPREAD * (roots - mean))).transpose(1, 0, 2).reshape(laws.shape[1], -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChannels:
    """The channel of one column for each row of a batch."""

    step: Step
    contexts: IndexArray
    added: FloatArray
    """Lifts, shape (secrets, rows, outputs)."""

    @property
    def scale(self) -> FloatArray:
        """One more than the sum of the lifts, shape (rows,)."""
        return 1 + self.added[0].sum(axis=1)

    def weights(self, codes: IndexArray, secrets: IndexArray, /) -> Whole:
        """Probabilities of the outputs of each row in units of 2**-62, shape (rows, outputs)."""
        rows = np.arange(codes.size)
        row = (self.step.by_input[self.contexts, secrets, codes] + self.added[secrets, rows]) / self.scale[:, None]
        return in_units(row)

    def evidence(self, released: IndexArray, /) -> FloatArray:
        """The probability of what was released given each secret and level, shape (secrets, rows, levels)."""
        rows = np.arange(released.size)
        table = self.step.by_output[self.contexts, :, released].transpose(1, 0, 2)
        return (table + self.added[:, rows, released][:, :, None]) / self.scale[:, None]


class Walk:
    """A batch of rows on its way along the columns. Nothing of it depends on a row but what was released of the row."""

    def __init__(self, plan: SequentialPlan, rows: int, /, *, others: Sequence[NetworkLaw] = ()) -> None:
        self._plan, self._rows, self._later = plan, rows, len(plan.laws[0].sizes)
        self._filters = [Filter(law) for law in (*plan.laws, *others)]
        self.logs = np.zeros((len(self._filters), plan.laws[0].secrets, rows))
        """Log-probability of what was released under each law given each secret."""

    def laws_of(self, column: int, /) -> FloatArray:
        """The laws of a column given each secret and what was released, shape (laws, secrets, rows, levels)."""
        found = [each.law_of(column) for each in self._filters]
        return np.stack([np.broadcast_to(law, (law.shape[0], self._rows, law.shape[2])) for law in found])

    def channels(self, step: Step, laws: FloatArray, /) -> RowChannels:
        """The channels of the next column, of which `laws_of` gave the laws."""
        plan, later = self._plan, self._later - 1
        contexts = nearest(features(laws[0]), step.centres)
        beliefs = len(plan.laws)
        outputs = np.empty((*laws[:beliefs].shape[:3], step.weights.shape[3]))
        order = np.argsort(contexts, kind="stable")
        for own in np.split(order, np.flatnonzero(np.diff(contexts[order])) + 1):
            outputs[:, :, own] = laws[:beliefs][:, :, own] @ step.by_input[contexts[own[0]]]
        losses = self.logs[:beliefs, :, None] - self.logs[:beliefs, None]
        allowed = np.minimum(step.most, plan.epsilon - later * plan.reserve - losses)
        return RowChannels(step=step, contexts=contexts, added=lift(outputs, allowed, step.reader_cap))

    def see(self, channels: RowChannels, released: IndexArray, /) -> None:
        """Take in what was released."""
        evidence = channels.evidence(released)
        self._later -= 1
        self.logs += np.log([each.see(evidence) for each in self._filters])


def drawn(weights: Whole, words: NDArray[np.unsignedinteger], /) -> IndexArray:
    """The output of each row by a word of 62 bits."""
    return (weights.cumsum(axis=1) <= words.astype(np.int64)[:, None]).sum(axis=1)


def release(
    plan: SequentialPlan,
    codes: NDArray[np.integer],
    secrets: NDArray[np.integer],
    /,
    *,
    key: ReleaseKey,
    names: Sequence[str],
    rows: Numbers | None = None,
) -> NDArray[np.uint16]:
    """Released codes of rows: a function of the row, its number and the key, whatever other rows there are.

    - `codes`: array of int, shape (rows, columns).
    - `secrets`: array of int, shape (rows,).
    - `names` (sequence of str): Names of the columns, each of which has random words of its own.
    - `rows` (array of int): Numbers of the rows; 0, 1, ... by default.
    """
    return released_with_logs(plan, codes, secrets, key=key, names=names, rows=rows)[0]


def released_with_logs(
    plan: SequentialPlan,
    codes: NDArray[np.integer],
    secrets: NDArray[np.integer],
    /,
    *,
    key: ReleaseKey,
    names: Sequence[str],
    rows: Numbers | None = None,
    others: Sequence[NetworkLaw] = (),
) -> tuple[NDArray[np.uint16], FloatArray]:
    """As `release`, and the `log_likelihoods` of what is released."""
    numbers = np.arange(len(codes)) if rows is None else rows
    streams = [key.stream(Purpose.NOISE, names[step.column]) for step in plan.steps]
    out = np.empty(codes.shape, dtype=np.uint16)

    def work(part: slice) -> FloatArray:
        walk, own = Walk(plan, part.stop - part.start, others=others), secrets[part].astype(np.intp)
        for step, stream in zip(plan.steps, streams, strict=True):
            channels = walk.channels(step, walk.laws_of(step.column))
            words = stream.words(numbers[part]) >> np.uint64(64 - TOTAL_BITS)
            released = drawn(channels.weights(codes[part, step.column].astype(np.intp), own), words)
            walk.see(channels, released)
            out[part, step.column] = released
        return walk.logs

    with one_blas_thread():  # its threads and ours would wait for each other
        logs = each_of(blocks(len(codes)), work, large=True)
    nothing = np.zeros((len(plan.laws) + len(others), plan.laws[0].secrets, 0))
    return out, np.concatenate([nothing, *logs], axis=2)


def blocks(rows: int, /) -> list[slice]:
    """Parts of rows that are worked on together."""
    return [slice(start, min(start + _BLOCK, rows)) for start in range(0, rows, _BLOCK)]


def log_likelihoods(
    plan: SequentialPlan, released: NDArray[np.integer], /, *, others: Sequence[NetworkLaw] = ()
) -> FloatArray:
    """Log-probability of released rows given each secret, under the beliefs of the plan and under other laws.

    Returns: The differences between two secrets are the losses: at most epsilon for the beliefs of the plan.
    """

    def work(part: slice) -> FloatArray:
        walk = Walk(plan, part.stop - part.start, others=others)
        for step in plan.steps:
            channels = walk.channels(step, walk.laws_of(step.column))
            walk.see(channels, released[part, step.column].astype(np.intp))
        return walk.logs

    with one_blas_thread():
        return np.concatenate(each_of(blocks(len(released)), work, large=True), axis=2)


def hockey_stick(losses: FloatArray, epsilon: float, /) -> float:
    """Least delta beside an epsilon, from the losses of rows that were drawn given the first secret: their mean."""
    return float(np.clip(-np.expm1(epsilon - losses), 0.0, None).mean())


def largest_mean(mean: float, rows: int, failure: float, /) -> float:
    """Upper bound of an expectation in [0, 1] from the mean of independent rows, but for this probability.
    See Hoeffding (1963), theorem 1, in its form with relative entropy.
    """
    low, high = mean, 1.0
    most = -np.log(failure) / rows
    for _ in range(100):
        middle = (low + high) / 2
        entropy = sum(p * np.log(p / q) for p, q in ((mean, middle), (1 - mean, 1 - middle)) if p > 0 and q > 0)
        low, high = (middle, high) if entropy <= most else (low, middle)
    return high
