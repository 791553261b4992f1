"""How often each public value occurs with each secret: all that the numeric half sees of a table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.apart import Groups
from puffer_frames.priors.prior import FloatArray, Secret, middles

Counts = tuple[FloatArray, NDArray[np.int64]]
"""Distinct values, ascending, and how often each occurs."""

_CACHED = 1 << 16


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
        counts, several = dict[Secret, Counts](), dict[Secret, Counts]()
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            counts[secret] = found[0]
            if len(found) > 1:
                several[secret] = _joined(found)
        if several:
            counts |= in_wider_cells(several, radius=parts[0].radius)
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


def in_wider_cells(counts: Mapping[Secret, Counts], /, *, radius: float) -> dict[Secret, Counts]:
    """Values of each secret, ascending, and how often each occurs, by cells of twice the radius, or equal values for 0.

    The sums of many secrets are found at once.
    """
    found = dict[Secret, Counts]()
    for secrets in in_parts(counts):
        found |= _in_wider_cells({secret: counts[secret] for secret in secrets}, radius=radius)
    return found


def in_parts(counts: Mapping[Secret, Counts], /) -> Iterator[list[Secret]]:
    """The secrets, some at a time: about so many values that arrays of them stay in the cache."""
    part, size = list[Secret](), 0
    for secret, (values, _) in counts.items():
        part.append(secret)
        size += values.size
        if size >= _CACHED:
            yield part
            part, size = [], 0
    if part:
        yield part


def _in_wider_cells(counts: Mapping[Secret, Counts], *, radius: float) -> dict[Secret, Counts]:
    values = np.concatenate([own for own, _ in counts.values()])
    often = np.concatenate([own for _, own in counts.values()])
    ends = np.cumsum([own.size for own, _ in counts.values()])
    keys = np.floor(values / (2 * radius)) if radius else values
    fresh = np.append(True, keys[1:] != keys[:-1])
    fresh[ends[:-1]] = True
    first = np.flatnonzero(fresh)
    totals = np.add.reduceat(often, first)
    found = values[first]
    if radius:
        begins = keys * (2 * radius)  # of the cells, exact
        starts, within = begins[first], (values - begins) * often
        found = np.minimum(starts + np.add.reduceat(within, first) / totals, np.nextafter(starts + 2 * radius, -np.inf))
    places = pairwise(np.append(0, np.searchsorted(first, ends)).tolist())
    return {secret: (found[a:b], totals[a:b]) for secret, (a, b) in zip(counts, places, strict=True)}


def _joined(pairs: Sequence[Counts]) -> Counts:
    values = np.concatenate([values for values, _ in pairs])
    order = np.argsort(values, kind="stable")
    return values[order], np.concatenate([often for _, often in pairs])[order]
