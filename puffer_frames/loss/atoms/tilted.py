"""Convolution of laws on the integers whose probabilities range far beyond the floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
    """Where the convolution of one row is above 0."""
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
