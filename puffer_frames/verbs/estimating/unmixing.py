r"""How often each level occurs behind a channel whose probabilities are known.

With counts c of the released levels and the probability A[i, j] of level j for input i, :math:`E\,c = A^\top n`, so
that :math:`B c` with the left inverse :math:`B = (A^\top)^+` is an unbiased estimate of the counts n of the inputs. It
may be negative. Its covariance is :math:`B \operatorname{Cov}(c) B^\top`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray

_LEAST_SINGULAR = 1e-6
"""Below this, two mixtures of inputs have released levels that cannot be told apart."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnmixedCounts:
    """Rows per input, and the covariance of the estimate."""

    counts: FloatArray
    """Shape (inputs,)."""
    covariance: FloatArray
    """Shape (inputs, inputs)."""


def is_unmixable(matrix: FloatArray, /) -> bool:
    """Whether different shares of inputs always have different shares of released levels."""
    inputs, outputs = matrix.shape
    return inputs <= outputs and bool(np.linalg.svd(matrix, compute_uv=False)[-1] > _LEAST_SINGULAR)


def unmixed(counts: FloatArray, matrix: FloatArray, /, *, population: bool) -> UnmixedCounts:
    r"""Rows per input.

    Parameters
    ----------
    counts : array, shape (outputs,)
        Rows per released level.
    matrix : array, shape (inputs, outputs)
        Probabilities of released levels; `is_unmixable`.
    population : bool
        Whether the rows are draws of a population: then Cov(c) is that of a multinomial. Else it is
        :math:`\sum_i n_i (\operatorname{diag} A_i - A_i A_i^\top)`, with estimates of n that are cut at 0.
    """
    inverse = np.linalg.pinv(matrix.T)
    found = inverse @ counts
    if population:
        spread = np.diag(counts) - np.outer(counts, counts) / counts.sum()
    else:
        held = found.clip(0.0)
        spread = np.diag(held @ matrix) - (matrix * held[:, None]).T @ matrix
    return UnmixedCounts(counts=found, covariance=inverse @ spread @ inverse.T)


def response_shares(levels: int, cap: float | None, /) -> tuple[float, float]:
    """The probability that randomised response keeps a label, and that it becomes a certain other one.

    `cap` is the largest log-ratio of the two, None for labels that stay as they are.
    """
    if cap is None or levels < 2:
        return 1.0, 0.0
    kept = 1.0 / (1.0 + (levels - 1) * math.exp(-cap))
    return kept, (1.0 - kept) / (levels - 1)


def unmixed_response(
    counts: FloatArray, levels: int, cap: float | None, /, *, population: bool
) -> tuple[FloatArray, FloatArray]:
    """Rows per level behind randomised response, and their variances, for any of its levels.

    Parameters
    ----------
    counts : array
        Rows per released level, of those that occur.
    levels : int
        How many there are.
    cap : float or None
        As in `response_shares`.
    population : bool
        As in `unmixed`.
    """
    kept, other = response_shares(levels, cap)
    rows = float(counts.sum())
    found = (counts - rows * other) / (kept - other)
    if population:
        spread = counts * (1.0 - counts / rows)
    else:
        held = found.clip(0.0, rows)
        spread = held * kept * (1.0 - kept) + (rows - held) * other * (1.0 - other)
    return found, spread / (kept - other) ** 2
