"""Units whose rows say the same: their laws are worked out once."""

from __future__ import annotations

import numpy as np

from puffer_frames.priors.prior import IndexArray

_KEYS = 2**62
"""Keys of several rows are below it, so that they are 64-bit integers."""

_SPREAD = 4
"""Keys below so many times their number are looked up in a table."""


def first_of_equals(cells: IndexArray, starts: IndexArray, width: int, /) -> IndexArray:
    """Numbers of the units whose rows are not those of an earlier one, ascending.

    Parameters
    ----------
    cells : array of int, shape (rows,)
        From 0 to width - 1, ascending within a unit.
    starts : array, shape (units + 1,)
        Where each unit's rows begin, and the end of the last.
    width : int

    Notes
    -----
    **Cost**: units of one size at a time, as many rows as fit into 64 bits by one sort; no further ones where all
    units differ already.
    """
    sizes = np.diff(starts)
    by_size = np.argsort(sizes, kind="stable") if np.ptp(sizes) else np.arange(sizes.size)
    found, often = np.unique(sizes[by_size], return_counts=True)
    first = []
    for size, units in zip(found.tolist(), np.split(by_size, np.cumsum(often)[:-1]), strict=True):
        keys, most = np.zeros(units.size, dtype=np.int64), 1
        for row in range(size):
            if most * width >= _KEYS:
                most, keys = _renumbered(keys)
                if most == units.size:
                    break
            keys = keys * width + cells[starts[units] + row]
            most *= width
        first.append(units[_first_places(keys, most)])
    return np.sort(np.concatenate(first))


def _first_places(keys: IndexArray, most: int) -> IndexArray:
    """Where each key is for the first time; keys are below `most`."""
    if most > _SPREAD * keys.size:
        return np.unique(keys, return_index=True)[1]
    places = np.full(most, -1, dtype=np.intp)
    places[keys[::-1]] = np.arange(keys.size)[::-1]  # the first place is written last
    return places[places >= 0]


def rows_of(units: IndexArray, starts: IndexArray, /) -> tuple[IndexArray, IndexArray]:
    """Places of the rows of some units, unit after unit; and where each begins among these, and the end of the last."""
    sizes = np.diff(starts)[units]
    own = np.append(0, np.cumsum(sizes)).astype(np.intp)
    return np.arange(own[-1]) + np.repeat(starts[units] - own[:-1], sizes), own


def _renumbered(keys: IndexArray) -> tuple[int, IndexArray]:
    """How many different ones there are, and the place of each among them."""
    different, places = np.unique(keys, return_inverse=True)
    return different.size, places
