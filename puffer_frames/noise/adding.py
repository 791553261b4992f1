"""Adding noise to a column: each value is rounded to the grid, then moved by grid noise; one pass, block by block."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import CalibrationError
from puffer_frames.noise.stream import Numbers, ReleaseKey, Rows, Stream, Words, Workspace, Workspaces
from puffer_frames.numbers.rounding import LARGEST, nearest
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.priors.summary import Level

Reals: TypeAlias = NDArray[np.floating[Any] | np.integer[Any]]
Settled: TypeAlias = FloatArray | list[Fraction]
"""Half-integers: floats, or fractions where floats would not hold them."""

BLOCK_ROWS = 1 << 19
"""Rows that one thread works on at a time; what a chunk leaves open is settled for all of them together."""
CHUNK_ROWS = 1 << 16
"""Rows whose words, noise and values are worked on together: more take more memory, fewer more calls."""
MANY_ROWS = 1 << 21
"""From here on two threads are faster than one."""
_WHOLE = 2.0**53
HALVES = 2.0**52
"""Below it floats hold all half-integers."""
_INVERTIBLE = 2.0**-1022
_ROOMY = 2.0**900
"""On a finer grid no sum of a value within 1e301 and the noise of a float is beyond the range of floats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Rows whose noise takes more than one step."""

    places: Numbers
    """Their places in the chunk."""
    rows: Numbers
    """Their numbers."""
    words: Words
    """Their words."""

    @classmethod
    def of(cls, places: IndexArray, rows: Rows, words: Words, /) -> Open:
        """The open values at some places of a chunk with these rows and words."""
        numbers = rows.start + places if isinstance(rows, range) else rows[places]
        return cls(places=places, rows=numbers, words=words[places])

    @classmethod
    def joined(cls, parts: Sequence[Open], starts: Sequence[int], /) -> Open:
        """The open values of several chunks, which start at these places."""
        return cls(
            places=np.concatenate([part.places + start for part, start in zip(parts, starts, strict=True)]),
            rows=np.concatenate([part.rows for part in parts]),
            words=np.concatenate([part.words for part in parts]),
        )


class Sampler(Protocol):
    """Noise on a grid."""

    @property
    def grid(self) -> float:
        """Width of the grid, a power of two, in units of the column."""

    def draw(self, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, /) -> Open:
        """Write the noise of a chunk of rows, half-integers in units of the grid, and return what is left open."""

    def settle(self, left: Open, stream: Stream, /) -> Settled:
        """The noise of rows that `draw` left open, exact."""


def add_noise(
    values: Reals,
    sampler: Sampler,
    /,
    *,
    stream: Stream,
    rows: Rows | None = None,
    threads: int | None = None,
    workspaces: Workspaces | None = None,
) -> FloatArray:
    r"""Values on the grid g plus grid noise, :math:`y = g\,(\mathrm{rint}(x / g) + N)`.

    - `values` (array of float, or of int to 2**53, shape (n,)): Finite, in units of the column.
    - `stream`: The random words of a release and a column: one stream always gives a row the same noise.
    - `rows` (shape (n,)): Numbers of the rows, in any order; by default 0, ..., n - 1.
    - `threads`: By default one, two from about two million rows on.
    - `workspaces`: Memory of earlier calls.

    **Guarantee**: g is a power of two, so x/g and the product are exact, the rounding moves a value by at most g/2,
    and the sum is the correctly rounded one: a function of the exact sum alone, hence post-processing of it,
    however large x/g and N are. A sum beyond the range of floats becomes the largest float. **Cost**: some nanoseconds
    a value; beside the result, under 10 MB.
    """
    out = np.empty(values.size)
    if threads is None:
        threads = min(2, os.cpu_count() or 1) if values.size >= MANY_ROWS else 1
    numbered: Rows = range(values.size) if rows is None else rows
    starts = list(range(0, values.size, BLOCK_ROWS))

    chunk = CHUNK_ROWS * threads  # threads wait for one another less often
    spare = workspaces or Workspaces()

    def add(mine: Sequence[int]) -> None:
        with spare.lent(min(chunk, values.size)) as workspace:
            for start in mine:
                part = slice(start, start + BLOCK_ROWS)
                _add_block(values[part], sampler, stream, numbered[part], out[part], workspace, chunk=chunk)

    if threads == 1:
        add(starts)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(add, [starts[k::threads] for k in range(threads)]))
    return out


def grid_noise(sampler: Sampler, rows: Rows, /, *, stream: Stream) -> list[Fraction]:
    """The noise of rows alone, in units of the grid, exact."""
    workspace = Workspace(min(CHUNK_ROWS, len(rows)))
    noise: list[Fraction] = []
    for start in range(0, len(rows), CHUNK_ROWS):
        part = rows[start : start + CHUNK_ROWS]
        out = np.empty(len(part))
        left = sampler.draw(stream, part, out, workspace)
        settled = dict(zip(left.places.tolist(), sampler.settle(left, stream), strict=True))
        noise += [Fraction(settled.get(place, near)) for place, near in enumerate(out.tolist())]
    return noise


def half_integers(sampler: Sampler, rows: Rows, /, *, stream: Stream) -> FloatArray:
    """The noise of rows alone, in units of the grid, for samplers whose noise floats hold."""
    workspace, out = Workspace(min(CHUNK_ROWS, len(rows))), np.empty(len(rows))
    for start in range(0, len(rows), CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        left = sampler.draw(stream, rows[part], out[part], workspace)
        out[part][left.places] = sampler.settle(left, stream)
    return out


def on_grid(values: Reals, grid: float, noise: FloatArray, /) -> FloatArray:
    """Values on the grid plus noise in units of the grid, as `add_noise` adds them."""
    out = noise.copy()
    _move(values, grid, out, np.empty_like(out))
    return out


def noise_on_grid(released: FloatArray, values: Reals, grid: float, /) -> FloatArray | None:
    """The noise of released values in units of the grid, exact; None where it is not certain to be.

    A value y = g (rint(x/g) + N) below 2**52 g is a float that was not rounded, so that y/g - rint(x/g) is N. It must
    be a half-integer.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        noise: FloatArray = released / grid - np.rint(values.astype(np.float64) / grid)
        sure = (np.abs(released) < HALVES * grid) & (np.abs(noise) < HALVES) & (np.abs(noise - np.trunc(noise)) == 0.5)
    return noise if sure.all() else None


def _add_block(
    values: Reals, sampler: Sampler, stream: Stream, rows: Rows, out: FloatArray, workspace: Workspace, *, chunk: int
) -> None:
    left, starts = [], range(0, out.size, chunk)
    for start in starts:
        part = slice(start, start + chunk)
        left.append(sampler.draw(stream, rows[part], out[part], workspace))
        _move(values[part], sampler.grid, out[part], workspace.floats[: out[part].size])
    open_ = Open.joined(left, starts)
    if open_.places.size:
        settled, unsettled = sampler.settle(open_, stream), values[open_.places].astype(np.float64)
        if isinstance(settled, list):
            step, given = Fraction(sampler.grid), map(Fraction, unsettled.tolist())
            out[open_.places] = [nearest((round(x / step) + n) * step) for x, n in zip(given, settled, strict=True)]
        else:
            _move(unsettled, sampler.grid, settled, np.empty_like(settled))
            out[open_.places] = settled


def _move(values: Reals, grid: float, noise: FloatArray, on_grid: FloatArray) -> None:
    """Replace noise in units of the grid by values plus noise."""
    if values.dtype != np.float64:
        values = values.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if grid >= _INVERTIBLE:
            np.multiply(values, 1 / grid, out=on_grid)
        else:
            np.divide(values, grid, out=on_grid)
        np.rint(on_grid, out=on_grid)
        if np.isfinite(on_grid.sum()):
            noise += on_grid
            noise *= grid
        else:  # some value is far beyond any scale: it is on the grid as it is
            noise *= grid
            coarse = np.abs(values) >= _WHOLE * grid
            noise += np.where(coarse, values, np.where(coarse, 0.0, on_grid) * grid)
    if grid > _ROOMY:
        np.clip(noise, -LARGEST, LARGEST, out=noise)


RESOLUTION = 40
"""The grid is at most 2**-40 of the scale."""
CELL_WIDTH = 6
"""A cell of the sampler is 2**-6 to 2**-7 of the scale."""
_FINEST_EXPONENT = -1073
"""Half of the grid must be a float."""


def grid_of(scale: float, /, *, resolution: int = RESOLUTION) -> float:
    """The largest power of two that is at most 2**-resolution of the scale.

    Raises CalibrationError for a scale so small that no float is that fine.
    """
    exponent = math.frexp(scale)[1] - 1 - resolution
    if exponent < _FINEST_EXPONENT:
        raise CalibrationError(
            "the scale of the noise",
            rule="at least 2**-1033, for a grid of floats finer than it",
            got="a smaller one",
            hint="Multiply the column by a constant before the release.",
        )
    return math.ldexp(1.0, exponent)


Codes: TypeAlias = NDArray[np.uint16]
"""Places of levels in a list of them."""
Levels: TypeAlias = tuple[Level, ...]
"""Different labels, at most 65,535."""
Columns: TypeAlias = Mapping[str, Levels | None]
"""The levels of columns of labels by name; None for a column of numbers."""
Arrays: TypeAlias = Mapping[str, Reals]
"""A column of labels as `Codes`, one of numbers as integers within 2**53 or as 64-bit floats."""
Move: TypeAlias = Callable[[Arrays, Rows | None], Arrays]
"""From the columns that are read, and the numbers of their rows (by default 0, ..., n - 1), to those that are written.
"""


class Draw(Protocol):
    """What a release does to some public columns; it can be sent to another process, and holds the key.

    It may read any columns that have a role in the release, the secret ones too. Frames hand it the columns, and of
    these only the written and the kept ones leave.
    """

    @property
    def key(self) -> ReleaseKey:
        """Key of the release."""

    @property
    def reads(self) -> Columns:
        """The columns that it sees. A label that is none of these levels is a CalibrationError."""

    @property
    def writes(self) -> Columns:
        """The public columns that it replaces."""

    def prepared(self) -> Move:
        """The function that does it, a part of the rows at a time; the key is made ready once.

        What becomes of a row depends on its entries and its number alone.
        """


def numbered(count: int, rows: Rows | None, /) -> Numbers:
    """The numbers of so many rows; by default 0, ..., count - 1."""
    return np.asarray(np.arange(count) if rows is None else rows, dtype=np.int64)


def other_levels(*columns: str, got: str) -> CalibrationError:
    """The error of columns with levels that a draw does not know, in so many rows."""
    several = len(columns) > 1
    return CalibrationError(
        f"the column{'s' * several} {', '.join(map(repr, columns))}",
        rule=f"{'of' if several else 'one of'} the levels that were counted",
        got=f"{got} with another one",
        hint="Calibrate with these rows, or replace the other levels first.",
    )
