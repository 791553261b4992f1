"""Rows of different lengths: for each of many windows, the positions that lie in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from puffer_frames.priors.prior import FloatArray, IndexArray

_ENTRIES = 1 << 18
"""Of the largest temporary array, unless a single window holds more: such arrays stay in the cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ragged:
    """Positions in windows, one window after the other."""

    atoms: IndexArray
    """Numbers of the positions, shape (entries,)."""
    rows: IndexArray
    """Of which of these windows each is, shape (entries,)."""
    starts: IndexArray
    """Where each window begins among the entries, shape (windows,)."""
    sizes: IndexArray
    """How many positions each window holds, at least 1."""


def ragged(positions: FloatArray, low: FloatArray, high: FloatArray, /) -> Iterator[tuple[slice | IndexArray, Ragged]]:
    """Windows from `low` to `high` in parts, and for each part the ascending positions inside; one without is left out.

    Examples
    --------
    >>> import numpy as np
    >>> (windows, found), = ragged(np.array([0.0, 1.0, 5.0]), np.array([-1.0, 2.0, 0.5]), np.array([1.0, 3.0, 9.0]))
    >>> windows.tolist(), found.atoms.tolist(), found.rows.tolist()
    ([0, 2], [0, 1, 1, 2], [0, 0, 1, 1])
    """
    first = np.searchsorted(positions, low)
    sizes = np.searchsorted(positions, high, side="right") - first
    held = np.flatnonzero(sizes > 0)
    part = np.cumsum(sizes[held]) // _ENTRIES
    for windows in np.split(held, np.flatnonzero(np.diff(part)) + 1) if held.size else ():
        lengths = sizes[windows]
        starts = np.cumsum(lengths) - lengths
        rows = np.repeat(np.arange(windows.size), lengths)
        atoms = np.arange(rows.size) + np.repeat(first[windows] - starts, lengths)
        yield windows, Ragged(atoms=atoms, rows=rows, starts=starts, sizes=lengths)
