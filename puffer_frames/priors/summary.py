"""How often each public value occurs with each secret: all that the numeric half sees of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.apart import Groups
from puffer_frames.priors.prior import FloatArray, Secret

Counts = tuple[FloatArray, NDArray[np.int64]]
"""Distinct values, ascending, and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of the public values per secret, sorted by secret and by value. It does not grow with the rows."""

    counts: Mapping[Secret, Counts]
    """Different values, or centres of cells, and how many rows have each."""
    radius: float
    """How far a value may be from the one that it was counted as: half the width of a cell, or 0."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    @property
    def extent(self) -> tuple[float, float]:
        """No value is below the first number or above the second one."""
        low = min(float(values[0]) for values, _ in self.counts.values())
        high = max(float(values[-1]) for values, _ in self.counts.values())
        return low - self.radius, high + self.radius

    @classmethod
    def merged(cls, parts: Sequence[Summary], /) -> Summary:
        """The rows of all parts, which were counted in the same way."""
        counts = {}
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            values, places = np.unique(np.concatenate([values for values, _ in found]), return_inverse=True)
            often = np.zeros(values.size, dtype=np.int64)
            np.add.at(often, places, np.concatenate([counts for _, counts in found]))
            counts[secret] = values, often
        return cls(counts=counts, radius=parts[0].radius)

    def grouped(self, groups: Groups, /) -> Summary:
        """The rows of each group of secrets; a secret may be in several."""
        return Summary.merged([replace(self, counts={own: self.counts[s]}) for own, of in groups.items() for s in of])

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.radius!r};".encode())
        for secret, (values, counts) in self.counts.items():
            digest.update(f"{secret!r}:{values.size};".encode())
            digest.update(values.astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()
