"""What every kind of frame gives back."""

from __future__ import annotations

from dataclasses import dataclass

from puffer_frames.frames.columns import NativeFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """A released frame, and what its certificate says of it."""

    frame: NativeFrame
    """Of the kind that was given."""
    rows: int
    """Number of rows."""
    fingerprint: str
    """What ties the certificate to the values; empty for a plan, whose values are not known yet."""
