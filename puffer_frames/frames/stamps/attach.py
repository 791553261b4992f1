"""Metadata on frames that have no place for it: a private attribute, which every operation of their library loses."""

from __future__ import annotations

from typing import Any, Protocol

from puffer_frames.frames.columns import NativeFrame

_ATTRIBUTE = "_puffer_frames_metadata"
_RUN = "_puffer_frames_run"


class Runs(Protocol):
    """What is to be told of each run of a released plan."""

    def begin(self) -> None:
        """Before it; raises where it may not be run."""

    def end(self, certificate: Any, /) -> None:
        """After it, with the certificate of what it gave."""


def put_attribute(frame: NativeFrame, metadata: dict[str, Any], /) -> NativeFrame:
    """The frame with a JSON-like dict attached."""
    setattr(frame, _ATTRIBUTE, metadata)
    return frame


def attribute_of(frame: NativeFrame, /) -> dict[str, Any] | None:
    """What `put_attribute` attached, or None."""
    return getattr(frame, _ATTRIBUTE, None)


def when_run(frame: NativeFrame, runs: Runs, /) -> None:
    """Have the runs of a released plan told of."""
    setattr(frame, _RUN, runs)


def runs_of(frame: NativeFrame, /) -> Runs | None:
    """What `when_run` was given, or None."""
    return getattr(frame, _RUN, None)
