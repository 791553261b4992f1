"""A released column beside the original one, as arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.family import NoiseFamily
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedColumn:
    """What was certified of a column, and what its rows were before and after; labels are their numbers."""

    name: str
    before: FloatArray
    """Original values, clipped as the certificate says, shape (n,)."""
    after: FloatArray
    """Released values, shape (n,)."""
    scale: FloatArray
    """Of the noise of each row, in units of the column, shape (n,); 0 for none. Of a channel not used."""
    noise: NoiseFamily | None
    """The family; None for a channel."""
    kept: FloatArray | None = None
    """Of labels with randomised response: the probability that a row keeps its own, shape (n,)."""
    levels: int = 0
    """Of labels: how many there are."""
    ends: tuple[FloatArray, FloatArray] | None = None
    """Between which the certified distribution function at the row's noise lay; None where that is not known."""
    continuous: bool = False
    """Whether the noise of each row is known: nothing was done to the noisy values."""

    @property
    def is_numbers(self) -> bool:
        """Whether the values have an order."""
        return self.levels == 0

    def part(
        self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]] | np.ndarray[tuple[int], np.dtype[np.intp]], /
    ) -> ReleasedColumn:
        """Some of its rows."""
        return ReleasedColumn(
            name=self.name,
            before=self.before[rows],
            after=self.after[rows],
            scale=self.scale[rows],
            noise=self.noise,
            kept=None if self.kept is None else self.kept[rows],
            levels=self.levels,
            ends=None if self.ends is None else (self.ends[0][rows], self.ends[1][rows]),
            continuous=self.continuous,
        )

    def log_likelihood(self, values: FloatArray, points: FloatArray, /) -> FloatArray:
        """Log of the certified density of the `points` given original `values`, shape (points, values).

        All rows have the first row's scale: the rows of one stratum. A channel whose table is not known is taken to
        keep most labels, which makes a worse guesser, and never a wrong bound.
        """
        if self.noise is None:
            kept = float(self.kept[0]) if self.kept is not None else 0.8
            others = (1 - kept) / max(self.levels - 1, 1)
            same = points[:, None] == values[None, :]
            found: FloatArray = np.where(same, math.log(max(kept, 1e-300)), math.log(max(others, 1e-300)))
            return found
        scale = float(self.scale[0]) or 1e-9 * (float(np.ptp(self.before)) or 1.0)
        return self.noise.at(scale).log_density(points[:, None] - values[None, :])

    def simulated(self, rng: np.random.Generator, /) -> FloatArray:
        """About what another release of the same rows is: where a guesser looks, before it sees the release."""
        rows = self.before.size
        if self.noise is None:
            kept = np.full(rows, 0.8) if self.kept is None else self.kept
            return np.where(rng.random(rows) < kept, self.before, rng.integers(0, max(self.levels, 1), rows))
        draws = rng.normal(size=rows) if self.noise.name == "gaussian" else rng.laplace(size=rows)
        return self.before + self.scale * draws
