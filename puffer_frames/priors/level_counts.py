"""How often each level of a public column of labels occurs with each secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.priors.apart import Groups
from puffer_frames.priors.prior import Secret

Level: TypeAlias = str | bool | int | float | tuple[Any, ...] | None
"""A value of a public column that is released through a channel; None is a missing one. A tuple is one of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCounts:
    """Rows per secret and level, sorted by secret and by level, a missing one last."""

    levels: tuple[Level, ...]
    """The levels that occur."""
    counts: Mapping[Secret, NDArray[np.int64]]
    """How many rows of the secret have each level, shape (levels,)."""

    @property
    def rows_per_secret(self) -> dict[Secret, int]:
        """Number of rows of each secret."""
        return {secret: int(counts.sum()) for secret, counts in self.counts.items()}

    def grouped(self, groups: Groups, /) -> LevelCounts:
        """The rows of each group of secrets; a secret may be in several."""
        return replace(self, counts={own: np.sum([self.counts[s] for s in of], axis=0) for own, of in groups.items()})

    def checksum(self) -> str:
        """SHA-256 of the counts: equal for frames with the same rows in any order and any library."""
        digest = hashlib.sha256(f"levels {self.levels!r};".encode(errors="surrogatepass"))
        for secret, counts in self.counts.items():
            digest.update(f"{secret!r}:".encode(errors="surrogatepass"))
            digest.update(counts.astype("<i8").tobytes())
        return digest.hexdigest()
