"""A frame or file beside the columns and the fingerprint of a release."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Literal

from puffer_frames.errors import UncoveredFrameError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.levels import FIRST
from puffer_frames.frames.stamps.parquet import read_parquet_files
from puffer_frames.frames.table import open_table


def compare(
    frame: NativeFrame | str | Path, /, *, known: Collection[str], rows: int, value: str
) -> Literal["intact", "derived", "uncovered"]:
    """Compare a frame, or a Parquet file or folder, with the columns, rows and fingerprint of a release."""
    if isinstance(frame, (str, Path)):
        frame = read_parquet_files(frame, known=known)
        if frame is None:
            return "uncovered"
    table = open_table(frame)
    if not set(table.names) <= {*known, FIRST}:
        return "uncovered"
    table = table.run()
    found = table.with_levels(known=known, rows=rows)
    if not set(found.names) <= set(known):
        return "uncovered"
    if set(found.names) < set(known) or not table.is_in_place(known=known) or found.fingerprint(like=value) != value:
        return "derived"
    return "intact"


def unknown_names(frame: NativeFrame, /, *, known: Collection[str], rows: int) -> list[str]:
    """Columns of a frame, levels of its index that are data among them, that are not known."""
    found = open_table(frame).with_levels(known=known, rows=rows)
    return [name for name in found.names if name not in known]


def require_rows(frame: NativeFrame, /) -> None:
    """Raise UncoveredFrameError for a plan that was not run."""
    if open_table(frame).is_plan:
        raise UncoveredFrameError(
            "the release",
            rule="collected or written: a plan holds the raw rows and the key",
            got="a lazy frame",
            hint="Run it: released.puffer.collect(), or released.puffer.sink_parquet(path).",
        )
