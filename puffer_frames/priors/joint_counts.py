"""How often each row of several public columns occurs with each secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.prior import FloatArray, Secret

JointRows = tuple[FloatArray, NDArray[np.int64]]
"""Different rows in ascending order, shape (different, columns), and how often each occurs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCounts:
    """Counts of the different rows of the public columns per secret, sorted by secret and by row."""

    columns: tuple[str, ...]
    """Names of the public columns."""
    counts: Mapping[Secret, JointRows]

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, (_, counts) in self.counts.items()}

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"{self.columns!r};".encode())
        for secret, (points, counts) in self.counts.items():
            digest.update(f"{secret!r}:{counts.size};".encode())
            digest.update(points.astype("<f8").tobytes())
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()
