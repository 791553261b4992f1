"""Small strata merged into one: in the guarantee, and in the released columns too."""

from __future__ import annotations

from dataclasses import replace

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.merged import merged_frame
from puffer_frames.frames.table import Table, open_table
from puffer_frames.priors.pairs import check_pairs
from puffer_frames.scales.channels.column import OTHER
from puffer_frames.verbs.request import Request
from puffer_frames.verbs.rows_seen import RowsSeen


def with_merged(request: Request, frame: NativeFrame, table: Table, /) -> tuple[Request, NativeFrame, Table]:
    """The request and the frame with small strata under one label, where that was asked for.

    A stratum is small that has fewer rows than the minimum of a secret that is protected, also none.

    Raises
    ------
    ArgumentError
        For given columns of other than text, and where no strata are left.
    """
    if request.given is None or not request.given.merge:
        return request, frame, table
    for name in request.given_columns:
        if table.kind_of(name) != "labels":
            raise ArgumentError(
                "given",
                rule="columns of text or categories, to merge strata",
                got=repr(name),
                hint="Write the values as text first, or leave out merge=True.",
            )
    seen = RowsSeen.of(table.complete(request.roles(), nulls=request.nulls, layout=None), request)
    counts = seen.rows_of_secrets(len(request.secret), given=True)
    pairs = check_pairs(request.pairs, list(counts))
    named = list(counts) if pairs == "all" else list(dict.fromkeys(secret for pair in pairs for secret in pair))
    parts = seen.by_stratum(len(request.secret))
    rows = {z: part.rows_per_secret for z, part in parts.items()}
    small = tuple(z for z, found in rows.items() if min(found.get(s, 0) for s in named) < request.given.minimum)
    if len(small) < 2 and not any(OTHER in z for z in small):
        return request, frame, table
    merged = merged_frame(frame, request.given_columns, small, label=OTHER)
    return replace(request, merged=small), merged, open_table(merged)


def as_merged(request: Request, frame: NativeFrame, /) -> NativeFrame:
    """A frame with strata merged as in a plan; one that lacks a column, which is an error later, as it is."""
    names = open_table(frame).names
    if not request.merged or not set(request.given_columns) <= set(names):
        return frame
    return merged_frame(frame, request.given_columns, request.merged, label=OTHER)
