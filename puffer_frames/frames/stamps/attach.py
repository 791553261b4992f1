"""Metadata on frames that have no place for it: a private attribute, which every operation of their library loses."""

from __future__ import annotations

from typing import Any

from puffer_frames.frames.columns import NativeFrame

_ATTRIBUTE = "_puffer_frames_metadata"


def put_attribute(frame: NativeFrame, metadata: dict[str, Any], /) -> NativeFrame:
    """The frame with a JSON-like dict attached."""
    setattr(frame, _ATTRIBUTE, metadata)
    return frame


def attribute_of(frame: NativeFrame, /) -> dict[str, Any] | None:
    """What `put_attribute` attached, or None."""
    return getattr(frame, _ATTRIBUTE, None)
