"""Convolution of laws on the integers whose probabilities range far beyond the floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.scaled import NOTHING
from puffer_frames.priors import FloatArray, IndexArray

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


class TooSteep(ArithmeticError):
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

    Raises
    ------
    TooSteep
        For an entry that is not kept with either of the two tilts nearest to its own slope.

    Notes
    -----
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
                raise TooSteep
        return found

    return convolve


def _support(first: FloatArray, second: FloatArray, size: int) -> NDArray[np.bool_]:
    """Where the convolution of one row is above 0."""
    held = np.zeros(size, dtype=bool)
    places = [np.flatnonzero(row) for row in (first, second)]
    if all(place[-1] - place[0] + 1 == place.size for place in places):
        held[sum(place[0] for place in places) : sum(place[-1] for place in places) + 1] = True
    else:
        whole = np.convolve(*((row > 0).astype(np.float64) for row in (first, second)))[:size]
        held[: whole.size] = whole > 0
    return held


def _add(first: Law, second: Law, tilt: int, found: Law, open_: NDArray[np.bool_]) -> None:
    """Write the entries that a tilt shows into `found`, and close them."""
    for row in np.flatnonzero(open_.any(axis=1)):
        a, from_a, top_a = _tilted(first, row, tilt)
        b, from_b, top_b = _tilted(second, row, tilt)
        values, start = np.convolve(a, b), from_a + from_b
        places = start + np.flatnonzero(values >= _KEPT)
        places = places[open_[row, places]]
        scales = top_a + top_b + tilt * places
        mantissas, shifts = np.frexp(values[places - start] * _QUARTERS[scales % _PARTS])
        found.mantissas[row, places] = mantissas
        found.exponents[row, places] = shifts + scales // _PARTS
        open_[row, places] = False


def _tilted(law: Law, row: int, tilt: int) -> tuple[FloatArray, int, int]:
    """The entries of a row that matter, from the first to the last, where they begin, and what they were divided by."""
    levels = _levels(law, row, tilt)
    top = int(levels.max())
    levels -= top
    kept = np.flatnonzero(levels >= _PARTS * _DROPPED)
    part = slice(int(kept[0]), int(kept[-1]) + 1)
    levels = levels[part]
    values = np.ldexp(law.mantissas[row, part] * _QUARTERS[levels % _PARTS], np.maximum(levels // _PARTS, NOTHING))
    values[levels < _PARTS * _DROPPED] = 0.0
    return values, part.start, top


def _levels(law: Law, row: int, tilt: int) -> IndexArray:
    """Exponents of a tilted row, in quarters."""
    levels: IndexArray = _PARTS * law.exponents[row] - tilt * np.arange(law.exponents.shape[1])
    levels[law.mantissas[row] == 0] = _PARTS * NOTHING * _PARTS
    return levels


def _slopes(first: Law, second: Law, row: int, at: int) -> tuple[int, int]:
    """The two tilts between which the largest tilted entry of the convolution passes a place."""
    held = [law.exponents[row][law.mantissas[row] > 0] for law in (first, second)]
    reach = _PARTS * (int(max(np.ptp(exponents) for exponents in held)) + 1)
    low, high = -reach, reach  # the largest entry lies at or beyond the place for low, at or before it for high
    while high - low > 1:
        tilt = (low + high) // 2
        largest = int(_levels(first, row, tilt).argmax()) + int(_levels(second, row, tilt).argmax())
        low, high = (low, tilt) if largest <= at else (tilt, high)
    return low, high
