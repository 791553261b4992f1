"""Release through a channel: one random level per row."""

from __future__ import annotations

from dataclasses import replace

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import Table, open_table
from puffer_frames.mechanisms.channel.fitted import ChannelPlan, Seen, roles_of
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.text import Compared
from puffer_frames.mechanisms.noise.cautions import warn_of_useless_channel
from puffer_frames.mechanisms.noise.column_choices import choices_of
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.other_tables import read_other_tables
from puffer_frames.mechanisms.plan_columns import kinds_of
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.scales.remap import Remap
from puffer_frames.verbs.calibrating.channel_calibration import ChannelCalibration
from puffer_frames.verbs.releasing.channel_rows import release_channel


def privatize_levels(frame: NativeFrame, request: Request, options: Channel, asked: RowsRequest, /) -> NativeFrame:
    """As `puffer_frames.privatize`, through a channel."""
    table = open_table(frame)
    roles = roles_of(asked.roles, table)
    request = read_other_tables(request, coded=roles.coded)
    rows = table.complete(roles, nulls=request.nulls, layout=asked.layout)
    seen = Seen.of(rows, request, roles)
    plan = ChannelPlan.of(request, options, seen)
    warn_of_useless_channel(plan)
    return release_channel(plan, rows, asked, frame=frame, rows_per_secret=seen.found.rows_per_secret)


def calibrate_levels(table: Table, request: Request, options: Channel, /, *, library: str) -> ChannelCalibration:
    """As `puffer_frames.calibrate`, for a channel."""
    roles = roles_of(Roles(secret=request.secret, public=request.public), table)
    request = read_other_tables(request, coded=roles.coded)
    rows = table.complete(roles, nulls=request.nulls, layout=None)
    seen = Seen.of(rows, request, roles)
    plan = ChannelPlan.of(request, options, seen)
    warn_of_useless_channel(plan)
    kinds = kinds_of(table, request)
    compared, checksum = _compared(plan, seen), seen.found.checksum()
    return ChannelCalibration(plan=plan, checksum=checksum, compared=compared, kinds=kinds, library=library)


def _compared(plan: ChannelPlan, seen: Seen) -> Compared | None:
    """What noise would cost, for the observed frequencies of numbers alone."""
    if plan.column.edges is None:
        return None
    assert not hasattr(seen.found, "levels")
    request = replace(plan.request, mechanism="remap", beliefs=["empirical"], allow_zero_noise=True)
    rows = RowsSeen(summaries={plan.name: seen.found}).protected(request)
    try:
        choice = choices_of(request, rows, pairs=plan.pairs, named=list(plan.secrets))[plan.name]
    except CalibrationError:
        return None
    if not choice.scale:
        return Compared(noise=0.0, remap=0.0)
    noise = request.noise.at(choice.scale)
    return Compared(noise=noise.expected_absolute_error, remap=Remap.pooled(seen.found, noise).expected_error)
