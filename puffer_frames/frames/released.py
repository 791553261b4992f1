"""What every kind of frame gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.priors.prior import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A released frame, and what its certificate says of it."""

    frame: NativeFrame
    """Of the kind that was given."""
    rows: int
    """Number of rows."""
    sample: Mapping[str, FloatArray]
    """Some released values of each column of numbers; none of a plan."""
    fingerprint: str
    """What ties the certificate to the values; empty for a plan, whose values are not known yet."""
    levels: tuple[str, ...] = ()
    """Names of the levels of a pandas index that was kept: they are released as they were."""
