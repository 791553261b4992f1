"""Density of discrete priors plus Laplace noise at all atoms, in linear time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puffer_frames.loss.atoms.tilted import steps
from puffer_frames.numbers.rounding import UNIT_ROUNDOFF
from puffer_frames.priors.prior import FloatArray, IndexArray

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
        """Of entries of the tables."""
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

    Notes
    -----
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
