"""Metadata on frames."""

from __future__ import annotations

from typing import Any

import pandas as pd

from puffer_frames.frames.arrow import is_arrow, metadata_of, with_metadata
from puffer_frames.frames.columns import NativeFrame, labels_of

_KEY = "puffer_frames"
_ATTRIBUTE = "_puffer_frames_metadata"


def write_metadata(frame: NativeFrame, metadata: dict[str, Any], /) -> NativeFrame:
    """The frame with a JSON-like dict attached: in `attrs` on pandas, as a private attribute on Polars and Spark; a new
    table, with the dict in its schema, of PyArrow.
    """
    if is_arrow(frame):
        return with_metadata(frame, metadata)
    if isinstance(frame, pd.DataFrame):
        frame.attrs = {**frame.attrs, _KEY: metadata}
    else:
        setattr(frame, _ATTRIBUTE, metadata)
    return frame


def read_metadata(frame: NativeFrame, /) -> dict[str, Any] | None:
    """Return what `write_metadata` attached, or None."""
    if is_arrow(frame):
        found = metadata_of(frame)
    else:
        found = frame.attrs.get(_KEY) if isinstance(frame, pd.DataFrame) else getattr(frame, _ATTRIBUTE, None)
    return found if isinstance(found, dict) else None


def column_names(frame: NativeFrame, /) -> tuple[str, ...]:
    """Names of the columns as text, without reading a row of a lazy frame."""
    return tuple(str(name) for name in labels_of(frame))


def forget_accessor(frame: NativeFrame, /, *, name: str) -> None:
    """Drop an accessor that Polars cached on the frame: the cycle would keep a large frame alive."""
    getattr(frame, "__dict__", {}).pop(name, None)
