"""What a release does to the values of one column: the domain, the noise, and what costs nothing after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from puffer_frames.noise.adding import add_noise
from puffer_frames.noise.draw import Arrays, Columns, Move
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds, Replacement, postprocess
from puffer_frames.noise.stream import Purpose, ReleaseKey, Rows, Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNoise:
    """The noise of one column of one release; it can be sent to another process, and holds the key."""

    column: str
    """Name of the column."""
    noise: NoiseFamily | None
    """With its scale; None for none."""
    key: ReleaseKey
    """Key of the release."""
    domain: Bounds | None
    """Public bounds, to which values are clipped before the noise."""
    remap: Replacement | None
    """What noisy values are replaced by, before anything else is done to them; None for nothing."""
    bounds: Bounds | None
    """Bounds to clip the released values to."""
    to_integers: bool
    """Whether the released values are rounded."""

    @property
    def reads(self) -> Columns:
        """The column."""
        return {self.column: None}

    @property
    def writes(self) -> Columns:
        """The column."""
        return {self.column: None}

    def prepared(self) -> Move:
        """The values with noise."""
        stream = self.key.stream(Purpose.NOISE, self.column)
        sampler = self.noise.sampler() if self.noise is not None else None
        workspaces = Workspaces()

        def move(arrays: Arrays, rows: Rows | None) -> Arrays:
            values = arrays[self.column]
            if self.domain is not None:
                values = values.clip(*self.domain, dtype=np.float64)
            if sampler is not None:
                moved = add_noise(values, sampler, stream=stream, rows=rows, workspaces=workspaces)
            else:
                moved = values.astype(np.float64, copy=False)
            if self.remap is not None:
                moved = self.remap(moved)
            return {self.column: postprocess(moved, bounds=self.bounds, to_integers=self.to_integers)}

        return move
