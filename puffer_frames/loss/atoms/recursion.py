"""Density of discrete priors plus Laplace noise at all atoms, and convolution of laws far beyond the floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior

LEAST = 2.0**-900
"""Weights from here on are floats as they are: times a block of e^600 they neither under- nor overflow."""
NOTHING = -(1 << 24)
"""Exponent that stands beside a mantissa of 0."""


def scaled_weights(prior: Prior, /) -> tuple[FloatArray, IndexArray]:
    """Weights as mantissa * 2**exponent, with correctly rounded mantissas in [1/2, 2).

    Small ones come from the exact levels.
    """
    levels, total = prior.levels
    mantissas, exponents = np.frexp(prior.weights)
    small = np.flatnonzero(prior.weights < LEAST)
    for k in small.tolist():
        exponent = int(levels[k]).bit_length() - int(total).bit_length()
        mantissas[k], exponents[k] = (int(levels[k]) << -exponent) / int(total), exponent
    return mantissas, exponents.astype(np.intp)


def fits_floats(mantissas: FloatArray, exponents: IndexArray, /) -> bool:
    """Whether every weight but 0 is at least `LEAST`."""
    held = mantissas > 0
    return bool((np.ldexp(mantissas[held], exponents[held]) >= LEAST).all())


def filled(mantissas: FloatArray, exponents: IndexArray, /) -> IndexArray:
    """The exponents with those beside a mantissa of 0 taken from the nearest other one to the left, else right."""
    held = mantissas > 0
    columns = np.arange(held.shape[1])
    last = np.maximum.accumulate(np.where(held, columns, -1), axis=1)
    source = np.where(last < 0, held.argmax(axis=1)[:, None], last)
    return np.take_along_axis(exponents, source, axis=1)


def steps(exponents: IndexArray, /) -> IndexArray:
    """Largest change of the exponents of any row from one column to the next, summed up from the left."""
    changes = np.abs(np.diff(exponents, axis=1)).max(axis=0)
    return np.concatenate([[0], np.cumsum(changes)])


_PARTS = 4
"""Tilts are by a quarter of a power of two per step."""
_QUARTERS = 2.0 ** (np.arange(_PARTS) / _PARTS)
_DROPPED = -500
"""Tilted entries below 2**-500 of the largest are left out."""
_KEPT = 2.0**-380
"""Entries of a tilted convolution from here on are kept."""


class Law(NamedTuple):
    """Probabilities `mantissas * 2**exponents`, one law per row; mantissas from 1/2 to 1, or 0 beside `NOTHING`."""

    mantissas: FloatArray
    exponents: IndexArray


class TooSteepError(ArithmeticError):
    """An entry lies so far below its neighbours that no tilt shows it."""


def normalised(values: FloatArray, exponents: IndexArray | int = 0, /) -> Law:
    """The law of `values * 2**exponents`."""
    mantissas, shifts = np.frexp(values)
    return Law(mantissas, np.where(values > 0, exponents + shifts.astype(np.intp), NOTHING))


def convolver() -> Callable[[Law, Law, int], Law]:
    r"""A function that convolves two laws row by row, and remembers which tilts were needed.

    For :math:`\tilde a_j = a_j 2^{-\tau j}` and :math:`\tilde b_j = b_j 2^{-\tau j}` the convolution is
    :math:`\widetilde{a * b}`. Each is divided by its largest entry, and entries below :math:`2^{-500}` are left out:
    what that takes from an entry of the result is at most :math:`2n 2^{-500}`, so that an entry of at least
    :math:`2^{-380}` is right up to a factor of :math:`1 \pm (n + 8) u`, a sum of positive terms. The others are found
    with other tilts.

    Raises TooSteepError for an entry that is not kept with either of the two tilts nearest to its own slope.

    **Cost**: one convolution per row and tilt; one tilt for laws down to 1e-100, and for others about one for every
    200 powers of two of their range.
    """
    tilts = [0]

    def convolve(first: Law, second: Law, size: int) -> Law:
        found = Law(np.zeros((len(first.mantissas), size)), np.full((len(first.mantissas), size), NOTHING))
        open_ = np.stack([_support(a, b, size) for a, b in zip(first.mantissas, second.mantissas, strict=True)])
        for tilt in tilts:
            _add(first, second, tilt, found, open_)
        while open_.any():
            row, at = divmod(int(open_.argmax()), size)
            for tilt in _slopes(first, second, row, at):
                _add(first, second, tilt, found, open_)
                tilts.append(tilt)
            if open_[row, at]:
                raise TooSteepError
        return found

    return convolve


def _support(first: FloatArray, second: FloatArray, size: int) -> NDArray[np.bool_]:
    """Where the convolution of one row is positive."""
    held = np.zeros(size, dtype=bool)
    places = [np.flatnonzero(row) for row in (first, second)]
    if all(place[-1] - place[0] + 1 == place.size for place in places):
        held[sum(place[0] for place in places) : sum(place[-1] for place in places) + 1] = True
    else:
        whole = np.convolve((first > 0).astype(np.float64), (second > 0).astype(np.float64))[:size]
        held[: whole.size] = whole > 0
    return held


def _add(first: Law, second: Law, tilt: int, found: Law, open_: NDArray[np.bool_]) -> None:
    """Write the entries that a tilt shows into `found`, and close them."""
    rows = np.flatnonzero(open_.any(axis=1))
    if not rows.size:
        return
    left, from_left, top_left = _tilted(first, rows, tilt)
    right, from_right, top_right = _tilted(second, rows, tilt)
    start = from_left + from_right
    values = np.stack([np.convolve(a, b) for a, b in zip(left, right, strict=True)])[:, : open_.shape[1] - start]
    window = np.ix_(rows, np.arange(start, start + values.shape[1]))
    fresh = open_[window] & (values >= _KEPT)
    scales = top_left + top_right + tilt * window[1]
    mantissas, shifts = np.frexp(values * _QUARTERS[scales % _PARTS])
    found.mantissas[window] = np.where(fresh, mantissas, found.mantissas[window])
    found.exponents[window] = np.where(fresh, shifts + scales // _PARTS, found.exponents[window])
    open_[window] &= ~fresh


def _tilted(law: Law, rows: IndexArray, tilt: int) -> tuple[FloatArray, int, IndexArray]:
    """The columns with entries that matter, the first of them, and what each row was divided by, in quarters."""
    levels = _PARTS * law.exponents[rows] - tilt * np.arange(law.exponents.shape[1])
    levels[law.mantissas[rows] == 0] = _PARTS * NOTHING * _PARTS
    top = levels.max(axis=1, keepdims=True)
    levels -= top
    kept = np.flatnonzero(levels.max(axis=0) >= _PARTS * _DROPPED)
    part = slice(int(kept[0]), int(kept[-1]) + 1)
    levels = levels[:, part]
    matter = levels >= _PARTS * _DROPPED
    quarters = _QUARTERS[levels % _PARTS]
    values = np.ldexp(law.mantissas[rows, part] * quarters, np.where(matter, levels // _PARTS, 0)) * matter
    return values, part.start, top


def _largest(law: Law, row: int, tilt: int) -> int:
    """Place of the largest entry of a tilted row."""
    levels = _PARTS * law.exponents[row] - tilt * np.arange(law.exponents.shape[1])
    levels[law.mantissas[row] == 0] = _PARTS * NOTHING * _PARTS
    return int(levels.argmax())


def _slopes(first: Law, second: Law, row: int, at: int) -> tuple[int, int]:
    """The two tilts between which the largest tilted entry of the convolution passes a place."""
    held = [law.exponents[row][law.mantissas[row] > 0] for law in (first, second)]
    reach = _PARTS * (int(max(np.ptp(exponents) for exponents in held)) + 1)
    low, high = -reach, reach  # the largest entry lies at or beyond the place for low, at or before it for high
    while high - low > 1:
        tilt = (low + high) // 2
        largest = _largest(first, row, tilt) + _largest(second, row, tilt)
        low, high = (low, tilt) if largest <= at else (tilt, high)
    return low, high


_BLOCK_SPAN = 300.0
"""Widest block in units of the scale: exp(300) and its sums are far from overflow."""
_BLOCK_LENGTH = 4096
"""Longest block: a running sum of n positive terms has a relative error of at most n unit roundoffs."""
_BLOCK_BITS = 300
"""Widest range of the exponents of a block: 2**-300 to exp(600) and its sums are in range."""
_ROOMY = 2.0**-900
_LOG_2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class AtomDensities:
    r"""Logarithms of :math:`2b f` for several priors on one set of positions.

    With :math:`t_k = x_k / b`, :math:`A_k = \sum_{j \le k} \alpha_j e^{-(t_k - t_j)}` and
    :math:`B_k = \sum_{j \ge k} \alpha_j e^{-(t_j - t_k)}`, the density at the atom k is
    :math:`2b f(x_k) = A_k + e^{-(t_{k+1} - t_k)} B_{k+1}`, and between the atoms k and k + 1, at a distance s b
    from the left one, :math:`2b f = A_k e^{-s} + B_{k+1} e^{s - (t_{k+1} - t_k)}`.
    """

    gaps: FloatArray
    """Distances between neighbouring positions in units of b, shape (n - 1,)."""
    log_a: FloatArray
    """log A, shape (priors, n)."""
    log_b: FloatArray
    """log B, shape (priors, n)."""
    log_f: FloatArray
    """log 2b f at the positions, shape (priors, n)."""
    roundoffs: float
    """Rounding error: a value v of `log_f`, `log_a` or `log_b` is right within
    `UNIT_ROUNDOFF * roundoffs * (|v| + 10)`; see `log_densities`."""

    weights_error: float
    """Relative error of the weights themselves, and so of every sum of theirs."""

    farthest: float
    """Largest |log 2b f|."""

    @property
    def error(self) -> LogError:
        """The rounding error of the tables' entries."""
        return LogError(roundoffs=self.roundoffs, weights=self.weights_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogError:
    """Bound on the absolute rounding error of logarithms, as a function of them."""

    roundoffs: float
    weights: float
    """Relative error of the weights."""
    margin: float = 10.0

    def __call__(self, value: FloatArray, /) -> FloatArray:
        """The bound, entry by entry."""
        return UNIT_ROUNDOFF * self.roundoffs * (np.abs(value) + self.margin) + self.weights


def log_densities(
    positions: FloatArray,
    weights: FloatArray,
    exponents: IndexArray | None = None,
    /,
    *,
    scale: float,
    weights_error: float = 0.0,
) -> AtomDensities:
    """Forward and backward recursion A_k = w_k + exp(-(x_k - x_{k-1})/b) A_{k-1} for all priors at once.

    - `positions` (array, shape (n,)): Strictly increasing.
    - `weights` (array, shape (priors, n)): Weight of each prior at each position, 0 where it has no atom; otherwise at
      least 2**-900.
    - `exponents` (array, shape (priors, n)): Where given, the weights are `weights * 2**exponents`, however small, with
      `weights` from 1/4 to 2 or 0.
    - `scale`: Laplace scale b > 0, in units of the positions.
    - `weights_error`: Relative error of the weights.

    Running sums of `w exp((x - start)/b)` in blocks, joined in the logarithm, so that nothing under- or
    overflows: the exponents of a block differ by at most 300 in each row, and the largest of them is left to the
    logarithm. **Rounding**: distances and their quotients by b are right to two units each, and their mean under
    the terms of A is at most -log A (Gibbs' inequality), which gives the share of |v|; a block adds its length
    and at most 10 times its span, and each of the joins at most 8 units of |v|. The constants are generous (exp
    and log are taken to be right to 2 units in the last place). An exponent e adds 3 |e| log 2 units, and
    |e| log 2 is at most |v| + span + 300: 70 more of the constant suffice.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # distances of infinitely many scales: no noise joins them
        return _log_densities(positions, weights, exponents, scale, weights_error)


def log_at_atoms(positions: FloatArray, weights: FloatArray, /, *, scale: float) -> tuple[FloatArray, float] | None:
    r"""What `log_densities` has as `log_f` and `roundoffs`, several times as fast; None where floats do not hold it.

    With :math:`d_k = (x_k - x_0) / b` and :math:`e_k = (x_n - x_k) / b`, in one block of `_BLOCK_SPAN`,

    .. math:: 2b f(x_k) = e^{-d_k} \sum_{j \le k} w_j e^{d_j} + e^{-e_k} \sum_{j > k} w_j e^{e_j}.

    **Rounding**: as in `log_densities`: a sum is right to its number of terms, and each of the four exponentials to
    twice the span and 2 units. No sum is beyond the range of floats, and a term below it is less than 2**-100 of a
    density of `_ROOMY`.
    """
    if not in_one_block(positions, scale):
        return None
    since, left = (positions - positions[0]) / scale, (positions[-1] - positions) / scale
    found = weights * np.exp(since)
    np.cumsum(found, axis=1, out=found)
    found *= np.exp(-since)
    after = weights * np.exp(left)
    np.cumsum(after[:, ::-1], axis=1, out=after[:, ::-1])
    after[:, 1:] *= np.exp(-left[:-1])
    found[:, :-1] += after[:, 1:]
    if not found.min() >= _ROOMY:
        return None
    return np.log(found, out=found), 0.1 * positions.size + float(since[-1]) + 24.0


def in_one_block(positions: FloatArray, scale: float, /) -> bool:
    """Whether floats hold sums over all of the positions."""
    return positions.size <= _BLOCK_LENGTH and float(positions[-1]) - float(positions[0]) < _BLOCK_SPAN * float(scale)


def _log_densities(
    positions: FloatArray, weights: FloatArray, exponents: IndexArray | None, scale: float, weights_error: float
) -> AtomDensities:
    gaps = np.diff(positions) / scale
    mirrored = None if exponents is None else exponents[:, ::-1]
    log_a, blocks, longest, widest = _forward(positions, weights, exponents, scale)
    backward, more_blocks, _, wider = _forward(-positions[::-1], weights[:, ::-1], mirrored, scale)
    log_b = backward[:, ::-1]
    log_f = log_a.copy()
    log_f[:, :-1] = np.logaddexp(log_a[:, :-1], log_b[:, 1:] - gaps)
    roundoffs = 0.1 * longest + max(widest, wider) + 8.0 * (max(blocks, more_blocks) + 2)
    if exponents is not None:
        roundoffs += 4.0 * max(widest, wider) + 70.0
    return AtomDensities(
        gaps=gaps,
        log_a=log_a,
        log_b=log_b,
        log_f=log_f,
        roundoffs=roundoffs,
        weights_error=weights_error,
        farthest=max(float(log_f.max()), -float(log_f.min())),
    )


def _forward(
    x: FloatArray, weights: FloatArray, exponents: IndexArray | None, scale: float
) -> tuple[FloatArray, int, int, float]:
    """Log A at every position, the number of blocks, the length of the longest and the span of the widest."""
    starts = _block_starts(x, exponents, scale)
    ends = np.append(starts[1:], x.size)
    lengths = ends - starts
    distance = (x - np.repeat(x[starts], lengths)) / scale
    sums = weights * np.exp(distance)
    if exponents is not None:
        tops = np.repeat(np.maximum.reduceat(exponents, starts, axis=1), lengths, axis=1)
        np.ldexp(sums, exponents - tops, out=sums)
    for start, end in zip(starts, ends, strict=True):
        np.cumsum(sums[:, start:end], axis=1, out=sums[:, start:end])
    with np.errstate(divide="ignore"):
        log_a = np.log(sums, out=sums)
    log_a -= distance
    if exponents is not None:
        log_a += tops * _LOG_2
    for start, end in zip(starts[1:], ends[1:], strict=True):
        carried = log_a[:, start - 1 : start] - (x[start:end] - x[start - 1]) / scale
        np.logaddexp(log_a[:, start:end], carried, out=log_a[:, start:end])
    return log_a, starts.size, int(lengths.max()), float(distance.max())


def _block_starts(x: FloatArray, exponents: IndexArray | None, scale: float) -> IndexArray:
    """Indices where a block begins: blocks of bounded span, length and range of exponents."""
    cell = np.floor((x - x[0]) / (_BLOCK_SPAN * scale))
    fresh = np.arange(x.size) % _BLOCK_LENGTH == 0
    fresh[1:] |= np.diff(cell) != 0
    if exponents is not None:
        fresh[1:] |= np.diff(steps(exponents) // _BLOCK_BITS) != 0
    starts = np.flatnonzero(fresh)
    ends = np.append(starts[1:], x.size) - 1
    if ((x[ends] - x[starts]) > 2 * _BLOCK_SPAN * scale).any():  # cells coarser than the floats can tell apart
        return np.arange(x.size)
    return starts


LARGEST_EPSILON = 500.0
"""Beyond it e^epsilon leaves the range of floats; the hockey stick at this epsilon is then an upper bound."""

_TINY = 1e-300
_LEAST_NORMAL = 2.0**-1022
_FINEST = 2.0**-1074


def positive_part(
    tables: AtomDensities, i: IndexArray, j: IndexArray, /, *, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    r"""Bounds of :math:`\int [f_i - e^\varepsilon f_j]_+ dy` for the ordered pairs (i[k], j[k]).

    Between the atoms k and k + 1, at a distance s b from the left one and with g their distance,
    :math:`2b (f_i - e^\varepsilon f_j) = D e^{-s} + E e^{s - g}` with :math:`D = A_i - e^\varepsilon A_j` at the
    left atom and :math:`E = B_i - e^\varepsilon B_j` at the right one. Its integral is (D + E)(1 - e^{-g}) where
    the sign does not change; where it changes from + to -, at :math:`e^{2s} = -D e^g / E`, the positive part has
    the integral D (1 - e^{-s})^2, and mirrored.

    - `i`, `j`: index arrays, shape (pairs,).
    Returns: lower, upper (arrays, shape (pairs,)).

    **Rounding**: the integral grows with D and with E, so that it is bounded by its values at the ends of their
    error intervals, however large e^epsilon is. An interval at both of whose ends the log-ratio is certainly at
    most epsilon contributes exactly 0 (the ratio is monotone between atoms).
    """
    level = min(epsilon, LARGEST_EPSILON)
    lower, upper = np.zeros(i.size), np.zeros(i.size)
    with np.errstate(invalid="ignore"):  # where neither has a density, the ratio is no number, and nothing is certain
        largest = np.array([(tables.log_f[a] - tables.log_f[b]).max() for a, b in zip(i, j, strict=True)])
        live = ~(largest <= level - 2 * float(tables.error(np.array(tables.farthest))))
        if live.any():
            lower[live], upper[live] = _live_part(tables, i[live], j[live], level)
    return (lower if level == epsilon else np.zeros_like(lower)), upper


def _live_part(tables: AtomDensities, i: IndexArray, j: IndexArray, level: float) -> tuple[FloatArray, FloatArray]:
    """`positive_part` for pairs whose log-ratio may exceed the level somewhere."""
    excess = tables.log_f[i] - tables.log_f[j]
    certain = excess + tables.error(tables.log_f[i]) + tables.error(tables.log_f[j]) <= level
    d, d_error = _difference(tables, tables.log_a, i, j, level)
    e, e_error = _difference(tables, tables.log_b, i, j, level)
    dead = certain[:, :-1] & certain[:, 1:]
    dead |= (d + d_error <= 0)[:, :-1] & (e + e_error <= 0)[:, 1:]
    alive = np.nonzero(~dead)
    gaps = tables.gaps[alive[1]]
    integrals, inside = [], np.zeros(dead.shape)
    for sign in (-1, 1):
        low_d, low_e = d + sign * d_error, e + sign * e_error
        inside[alive] = _between(low_d[:, :-1][alive], low_e[:, 1:][alive], gaps)
        total = inside.sum(axis=1)
        for tail, gone in ((low_e[:, 0], certain[:, 0]), (low_d[:, -1], certain[:, -1])):
            total += np.where(gone, 0.0, np.maximum(tail, 0.0))
        integrals.append(0.5 * total * (1 + sign * UNIT_ROUNDOFF * (tables.gaps.size.bit_length() + 40)))
    upper = np.minimum(integrals[1], 1.0)
    return np.clip(integrals[0], 0.0, upper), upper


def _between(left: FloatArray, right: FloatArray, g: FloatArray) -> FloatArray:
    """Integral over [0, g] of the positive part of left e^{-s} + right e^{s - g}."""
    decay = np.exp(-g)
    from_left, from_right = left + right * decay > 0, left * decay + right > 0
    integral: FloatArray = np.where(from_left & from_right, (left + right) * -np.expm1(-g), 0.0)
    for near, far, positive in ((left, right, from_left & ~from_right), (right, left, from_right & ~from_left)):
        crossed = np.flatnonzero(positive)
        with np.errstate(divide="ignore"):  # the sign changes at e^{2s} = -near e^g / far
            s = np.clip(0.5 * (g[crossed] + np.log(near[crossed] / np.abs(far[crossed]))), 0.0, g[crossed])
        integral[crossed] = near[crossed] * np.square(np.expm1(-s))
    return integral


def raw_positive_part(
    p: FloatArray, q: FloatArray, /, *, epsilon: float, error: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Bounds of sum [p - e^epsilon q]_+ along the last axis: the hockey stick without noise.

    The weights are right up to a factor of e^error, and those below 2**-1022 within 2**-1074.
    """
    level = min(epsilon, LARGEST_EPSILON)
    scaled = math.exp(level) * q
    difference, slack = p - scaled, (4 * UNIT_ROUNDOFF + math.expm1(error)) * (p + scaled)
    subnormal = np.minimum(p, q) < _LEAST_NORMAL
    slack = np.where(subnormal & ((p > 0) | (q > 0)), slack + 2 * _FINEST * (1.0 + math.exp(level)), slack)
    alive = difference > -slack
    total = np.where(alive, np.maximum(difference, 0.0), 0.0).sum(axis=-1)
    rounding = np.where(alive, slack, 0.0).sum(axis=-1) + (p.shape[-1].bit_length() + 8) * UNIT_ROUNDOFF * total
    upper = np.minimum(total + rounding, 1.0)
    lower = np.clip(total - rounding, 0.0, upper)
    return (lower if level == epsilon else np.zeros_like(lower)), upper


def raw_of_integers(p: Prior, q: Prior, /, *, epsilon: float) -> float:
    """Sum of [p - e^epsilon q]_+, rounded up: what p has and q lacks is a fraction of the levels of p, rounded once."""
    shared = np.isin(p.means, q.means)
    levels, total = p.levels
    lonely = levels[~shared]
    alone = Fraction(int(lonely.sum() if total < 2**62 else sum(lonely.tolist())), int(total))
    mass = float(alone)
    mass = mass if Fraction(mass) >= alone else math.nextafter(mass, math.inf)
    other = q.weights[np.searchsorted(q.means, p.means[shared])]
    rest = float(raw_positive_part(p.weights[shared], other, epsilon=epsilon)[1]) if shared.any() else 0.0
    return min(1.0, math.nextafter(mass + rest, math.inf) if rest else mass)


def _difference(
    tables: AtomDensities, log_table: FloatArray, i: IndexArray, j: IndexArray, epsilon: float
) -> tuple[FloatArray, FloatArray]:
    """exp(table_i) - e^epsilon exp(table_j), and a bound of its error."""
    log_p, log_q = log_table[i], log_table[j]
    p, q = np.exp(log_p), np.exp(log_q + epsilon)  # a factor of its own would come too late where q underflows
    return p - q, _error(tables, log_p, p) + _error(tables, log_q, q) + _TINY


def _error(tables: AtomDensities, logarithm: FloatArray, value: FloatArray) -> FloatArray:
    """Bound of the error of exp(logarithm + level); the value is below `_TINY` where the logarithm is cut off."""
    logarithm = np.maximum(logarithm, -2.0 * LARGEST_EPSILON - 800.0)
    return (tables.error(logarithm) + UNIT_ROUNDOFF * (8.0 + 2.0 * LARGEST_EPSILON + np.abs(logarithm))) * value
