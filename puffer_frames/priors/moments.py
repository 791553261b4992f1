"""Mean and standard deviation of many groups of values at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray


def group_moments(groups: Sequence[tuple[FloatArray, NDArray[np.int64]]], /) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each group, as `puffer_frames.core.fit_gaussian` has them.

    - `groups` (sequence of (values, counts)): Finite different values, and how often each occurs, at least once.
    Returns: In units of the values; a standard deviation of 0 where there is one value.

    **Cost**: a few passes over all values. **Rounding**: the squares are taken about the mean, and each group is
    measured in a unit of its own, a power of two, to keep huge and tiny squares in range.
    """
    sizes = np.array([values.size for values, _ in groups])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate([values for values, _ in groups])
    counts = np.concatenate([often for _, often in groups])
    shares = counts / np.repeat(np.add.reduceat(counts, starts), sizes)
    exponents = np.frexp(np.maximum.reduceat(np.abs(values), starts))[1]
    y = np.ldexp(values, -np.repeat(exponents, sizes))
    firsts = y[starts]
    means = firsts + np.add.reduceat(shares * (y - np.repeat(firsts, sizes)), starts)
    deviations = y - np.repeat(means, sizes)
    rest = np.add.reduceat(shares * deviations, starts)  # what rounding left in the mean
    deviations -= np.repeat(rest, sizes)
    stds = np.where(sizes > 1, np.sqrt(np.add.reduceat(shares * deviations**2, starts)), 0.0)
    means = np.where(stds > 0, np.ldexp(means + rest, exponents), values[starts])
    return means, np.ldexp(stds, exponents)
