"""Frames among the beliefs: what other tables say of the same columns."""

from __future__ import annotations

from dataclasses import replace

from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import is_frame, open_table
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.request import Request, is_joint
from puffer_frames.priors.apart import by_column
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.labelled_rows import joint_levels
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.learned import OtherTable


def read_other_tables(request: Request, /, *, coded: tuple[str, ...] = ()) -> Request:
    """The request with the frames among its beliefs read.

    Raises
    ------
    ColumnNotFoundError, PriorError, ArgumentTypeError
        As for the frame to release.
    """
    known = len(request.public) == 1 or is_joint(request) or coded
    if not known or not any(is_frame(entry) for entry in request.beliefs):
        return request
    return replace(
        request, beliefs=[_read(entry, request, coded) if is_frame(entry) else entry for entry in request.beliefs]
    )


def _read(frame: object, request: Request, coded: tuple[str, ...]) -> OtherTable | LevelCounts | JointCounts:
    found = _counted(frame, request, coded)
    if request.apart:
        found = found.grouped(by_column(found.counts, request.secret))
    return OtherTable(counts=found.counts, radius=found.radius) if isinstance(found, Summary) else found


def _counted(frame: object, request: Request, coded: tuple[str, ...]) -> Summary | LevelCounts | JointCounts:
    roles = Roles(secret=request.secret, public=request.public, coded=coded)
    together = bool(coded) and len(coded) > 1
    roles = roles.counting(coded) if together else request.counting(roles)
    rows = open_table(frame).complete(roles, nulls=request.nulls, layout=None)
    if together:
        return joint_levels(rows.level_counts(request.public[0]), own=len(request.secret))
    if request.labels:
        joint = RowsSeen.of(rows, replace(request, beliefs=())).joint
        assert joint is not None
        return joint
    if coded:
        return rows.level_counts(request.public[0])
    if len(request.public) > 1:
        return rows.joint_counts(request.domain)
    return rows.summaries(request.domain)[request.public[0]]
