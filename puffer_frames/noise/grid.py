"""The grid that released values lie on: a power of two, far finer than the scale."""

from __future__ import annotations

import math

from puffer_frames.errors import CalibrationError

RESOLUTION = 40
"""The grid is at most 2**-40 of the scale."""
CELL_WIDTH = 6
"""A cell of the sampler is 2**-6 to 2**-7 of the scale."""
_FINEST_EXPONENT = -1073
"""Half of the grid must be a float."""


def grid_of(scale: float, /, *, resolution: int = RESOLUTION) -> float:
    """The largest power of two that is at most 2**-resolution of the scale.

    Raises CalibrationError for a scale so small that no float is that fine.
    """
    exponent = math.frexp(scale)[1] - 1 - resolution
    if exponent < _FINEST_EXPONENT:
        raise CalibrationError(
            "the scale of the noise",
            rule="at least 2**-1033, for a grid of floats finer than it",
            got="a smaller one",
            hint="Multiply the column by a constant before the release.",
        )
    return math.ldexp(1.0, exponent)
