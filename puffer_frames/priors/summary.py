"""How often each public value occurs with each secret: all that the numeric half sees of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.apart import Groups
from puffer_frames.priors.prior import FloatArray, Secret, middles

Counts = tuple[FloatArray, NDArray[np.int64]]
"""Distinct values, ascending, and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Counts of the public values per secret, sorted by secret and by value. It does not grow with the rows."""

    counts: Mapping[Secret, Counts]
    """Different values, or the means of those in each cell, and how many rows have each."""
    radius: float
    """Half the width of the cells that values were counted in, or 0. A cell begins at a multiple of the width, which
    is a power of two: it is that of the mean."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    @property
    def extent(self) -> tuple[float, float]:
        """No value is below the first number or above the second one."""
        return extent_of(self.counts, radius=self.radius)

    @classmethod
    def merged(cls, parts: Sequence[Summary], /) -> Summary:
        """The rows of all parts, which were counted in the same way."""
        counts = {}
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            counts[secret] = found[0] if len(found) == 1 else in_wider_cells(_joined(found), radius=parts[0].radius)
        return cls(counts=counts, radius=parts[0].radius)

    def at_middles(self) -> Summary:
        """With the middles of the cells, from which a value is at most the radius away."""
        return replace(
            self, counts={s: (middles(values, self.radius), often) for s, (values, often) in self.counts.items()}
        )

    def grouped(self, groups: Groups, /) -> Summary:
        """The rows of each group of secrets; a secret may be in several."""
        return Summary.merged([replace(self, counts={own: self.counts[s]}) for own, of in groups.items() for s in of])

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.radius!r};".encode())
        for secret, (values, counts) in self.counts.items():
            digest.update(f"{secret!r}:{values.size};".encode())
            digest.update(middles(values, self.radius).astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()


def extent_of(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[float, float]:
    """No value is below the first number or above the second one."""
    low = min(float(values[0]) for values, _ in counts.values())
    high = max(float(values[-1]) for values, _ in counts.values())
    ends = middles(np.array([low, high]), radius)
    return float(ends[0]) - radius, float(ends[1]) + radius


def in_wider_cells(pair: Counts, /, *, radius: float) -> Counts:
    """Values in any order, and how often each occurs, by cells of twice the radius; equal values where it is 0."""
    values, often = pair
    keys = np.floor(values / (2 * radius)) if radius else values
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    counts = np.zeros(first.size, dtype=np.int64)
    np.add.at(counts, places, often)
    if not radius:
        return values[first], counts
    starts = keys[first] * (2 * radius)
    within = np.bincount(places, weights=(values - starts[places]) * often) / counts
    return np.minimum(starts + within, np.nextafter(starts + 2 * radius, -np.inf)), counts


def _joined(pairs: Sequence[Counts]) -> Counts:
    return np.concatenate([values for values, _ in pairs]), np.concatenate([often for _, often in pairs])
