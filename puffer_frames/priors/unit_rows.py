"""The rows of units: whose record a row is, what it adds, and in which group it is counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from puffer_frames.priors.prior import FloatArray, IndexArray, Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRows:
    """Rows sorted by unit, and by value within a unit. An entry may stand for several units that add the same."""

    units: Sequence[Secret]
    """Names of the units, or of the first of several, shape (units,)."""
    values: FloatArray
    """Value of each row; zeros where no column was named."""
    starts: IndexArray
    """Where each unit's rows begin, and the end of the last, shape (units + 1,)."""
    groups: Sequence[tuple[Secret, ...]]
    """Names of the groups, one tuple of labels each."""
    group_of: IndexArray
    """Number of the group of each unit."""
    often: IndexArray
    """How many units each entry stands for, shape (units,)."""

    @property
    def count(self) -> int:
        """The number of units."""
        return int(self.often.sum())
