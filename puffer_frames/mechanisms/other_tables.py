"""Frames among the beliefs: what other tables say of the same columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import is_frame
from puffer_frames.mechanisms.request import Request
from puffer_frames.priors.apart import by_column
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.learned import OtherTable

Found: TypeAlias = Summary | LevelCounts | JointCounts


def with_other_tables(request: Request, count: Callable[[NativeFrame], Found], /) -> Request:
    """The request with the frames among its beliefs counted; raises as for the frame to release."""

    def read(frame: NativeFrame) -> OtherTable | LevelCounts | JointCounts:
        found = count(frame)
        if request.apart:
            found = found.grouped(by_column(found.counts, request.secret))
        return OtherTable(counts=found.counts, radius=found.radius) if isinstance(found, Summary) else found

    if not any(map(is_frame, request.beliefs)):
        return request
    return replace(request, beliefs=[read(entry) if is_frame(entry) else entry for entry in request.beliefs])
