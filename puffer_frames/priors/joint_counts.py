"""How often each row of several public columns occurs with each secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.apart import Groups
from puffer_frames.priors.level_counts import Level
from puffer_frames.priors.prior import FloatArray, Secret

JointRows = tuple[FloatArray, NDArray[np.int64]]
"""Different rows, or cells of them, in ascending order, shape (different, columns), and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCounts:
    """Counts of the different rows of the public columns per secret, sorted by secret and by row."""

    columns: tuple[str, ...]
    """Names of the public columns."""
    counts: Mapping[Secret, JointRows]
    labels: Mapping[int, tuple[Level, ...]] = field(default_factory=dict)
    """Levels of the columns of labels, by their place: their values are numbers of levels."""
    widths: Mapping[int, float] = field(default_factory=dict)
    """Widths of the cells that columns were counted in, by their place: powers of two. A cell begins at a multiple of
    its width, and a row stands for the rows in one cell on each axis: its values are their means."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    @classmethod
    def merged(cls, parts: Sequence[JointCounts], /) -> JointCounts:
        """The rows of all parts."""
        counts = {}
        for secret in dict.fromkeys(secret for part in parts for secret in part.counts):
            found = [part.counts[secret] for part in parts if secret in part.counts]
            points, places = np.unique(np.concatenate([points for points, _ in found]), axis=0, return_inverse=True)
            often = np.zeros(len(points), dtype=np.int64)
            np.add.at(often, places.ravel(), np.concatenate([counts for _, counts in found]))
            counts[secret] = points, often
        return replace(parts[0], counts=counts)

    def grouped(self, groups: Groups, /) -> JointCounts:
        """The rows of each group of secrets; a secret may be in several."""
        parts = [replace(self, counts={own: self.counts[s]}) for own, of in groups.items() for s in of]
        return JointCounts.merged(parts)

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.columns!r};".encode())
        for place, levels in self.labels.items():
            digest.update(f"{place}:{levels!r};".encode())
        for secret, (points, counts) in self.counts.items():
            digest.update(f"{secret!r}:{counts.size};".encode())
            digest.update(points.astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()
