"""Weights far below the range of floats: mantissas and exponents."""

from __future__ import annotations

import numpy as np

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
    pairs = [_quotient(int(level), int(total)) for level in levels[small]]
    mantissas[small], exponents[small] = [m for m, _ in pairs], [e for _, e in pairs]
    return mantissas, exponents.astype(np.intp)


def _quotient(level: int, total: int) -> tuple[float, int]:
    exponent = level.bit_length() - total.bit_length()
    return (level << -exponent) / total, exponent


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
    taken: IndexArray = np.take_along_axis(exponents, source, axis=1)
    return taken


def steps(exponents: IndexArray, /) -> IndexArray:
    """Largest change of the exponents of any row from one column to the next, summed up from the left."""
    changes = np.abs(np.diff(exponents, axis=1)).max(axis=0)
    return np.concatenate([[0], np.cumsum(changes)])
