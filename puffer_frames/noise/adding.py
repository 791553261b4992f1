"""Adding noise to a column: each value is rounded to the grid, then moved by grid noise; one pass, block by block."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from puffer_frames.noise.stream import Numbers, Rows, Stream
from puffer_frames.priors import FloatArray

BLOCK_ROWS = 1 << 18
"""Rows that one thread works on at a time."""
MANY_ROWS = 1 << 21
"""From here on two threads are faster than one."""
_WHOLE = 2.0**53
_INVERTIBLE = 2.0**-1022


class Sampler(Protocol):
    """Noise on a grid."""

    @property
    def grid(self) -> float:
        """Width of the grid, a power of two, in units of the column."""

    def fill(self, stream: Stream, rows: Rows, out: FloatArray, /) -> None:
        """Write the noise of the rows, half-integers in units of the grid."""


def add_noise(
    values: FloatArray, sampler: Sampler, /, *, stream: Stream, rows: Numbers | None = None, threads: int | None = None
) -> FloatArray:
    r"""Values on the grid g plus grid noise, :math:`y = g\,(\mathrm{rint}(x / g) + N)`.

    Parameters
    ----------
    values : array, shape (n,)
        Finite, in units of the column.
    sampler : Sampler
    stream : Stream
        Of the release and the column: the same stream gives the same noise to the same row.
    rows : array of int, shape (n,), optional
        Numbers of the rows, in any order; by default 0, ..., n - 1.
    threads : int, optional
        By default one, two from about two million rows on.

    Notes
    -----
    **Guarantee**: g is a power of two, so x/g and the product are exact, the rounding moves a value by at most g/2,
    and the sum is the correctly rounded one: a function of the exact sum alone, hence post-processing of it,
    however large x/g is. **Cost**: some nanoseconds a value; beside the result, under 8 MB.
    """
    out = np.empty(values.size)
    starts = range(0, values.size, BLOCK_ROWS)

    def add(start: int) -> None:
        part = slice(start, min(start + BLOCK_ROWS, values.size))
        numbered = range(part.start, part.stop) if rows is None else rows[part]
        _add_block(values[part], sampler, stream, numbered, out[part])

    if threads is None:
        threads = min(2, os.cpu_count() or 1) if values.size >= MANY_ROWS else 1
    if threads == 1:
        for start in starts:
            add(start)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(add, starts))
    return out


def _add_block(values: FloatArray, sampler: Sampler, stream: Stream, rows: Rows, out: FloatArray) -> None:
    sampler.fill(stream, rows, out)
    with np.errstate(over="ignore", invalid="ignore"):
        on_grid = values * (1 / sampler.grid) if sampler.grid >= _INVERTIBLE else values / sampler.grid
        np.rint(on_grid, out=on_grid)
        total = on_grid.sum()
    if np.isfinite(total):
        out += on_grid
        out *= sampler.grid
    else:  # some value is far beyond any scale: it is on the grid as it is
        out *= sampler.grid
        coarse = np.abs(values) >= _WHOLE * sampler.grid
        out += np.where(coarse, values, np.where(coarse, 0.0, on_grid) * sampler.grid)
