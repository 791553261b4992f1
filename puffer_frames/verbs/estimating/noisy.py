"""A released column as estimates need it: its values, and the law of the noise in every row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, IndexArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyColumn:
    """Values x + N that were released, N independent from row to row; a column without noise is one of them."""

    values: FloatArray
    """Released values, shape (rows,), in units of the column."""
    noises: tuple[NoiseFamily | None, ...]
    """The laws of the noise; None for none."""
    places: IndexArray
    """Which of them each row has, shape (rows,)."""
    bounds: Bounds | None = None
    """To which noisy values were clipped before they were released."""
    to_integers: bool = False
    """Whether noisy values were rounded before that."""

    @classmethod
    def exact(cls, values: FloatArray, /) -> NoisyColumn:
        """A column that was released as it is."""
        return cls(values=values, noises=(None,), places=np.zeros(values.size, dtype=np.intp))

    @property
    def is_processed(self) -> bool:
        """Whether something was done to the noisy values."""
        return self.to_integers or self.bounds is not None

    @property
    def is_exact(self) -> bool:
        """Whether the values are those of the table."""
        return not self.is_processed and all(noise is None for noise in self.noises)

    @property
    def variances(self) -> FloatArray:
        """E N^2 per row; infinite for heavy tails."""
        return self._per_row(lambda noise: noise.variance)

    @property
    def fourth_moments(self) -> FloatArray:
        """E N^4 per row."""
        return self._per_row(lambda noise: noise.fourth_moment)

    def rows(self, chosen: IndexArray, /) -> NoisyColumn:
        """Some of its rows."""
        return replace(self, values=self.values[chosen], places=self.places[chosen])

    def inner(self, place: int, /) -> FloatArray:
        """The values with one of the laws of noise that were not clipped."""
        low, high = self.bounds or (-np.inf, np.inf)
        return self.values[(self.places == place) & (self.values != low) & (self.values != high)]

    def _per_row(self, moment: Callable[[NoiseFamily], float]) -> FloatArray:
        table = np.array([0.0 if noise is None else moment(noise) for noise in self.noises])
        return table[self.places]
