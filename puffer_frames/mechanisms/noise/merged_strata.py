"""Small strata merged into one: in the guarantee, and in the released columns too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.merged import merged_frame
from puffer_frames.frames.null_values import with_nulls
from puffer_frames.frames.table import Table, open_table
from puffer_frames.mechanisms.channel.column import OTHER
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.request import Request
from puffer_frames.priors.pairs import check_pairs
from puffer_frames.scales.strata import Stratum


def with_merged(request: Request, frame: NativeFrame, table: Table, /) -> tuple[Request, NativeFrame, Table]:
    """The request and the frame with small strata under one label, where that was asked for.

    A stratum is small that has fewer rows than the minimum of a secret that is protected, also none. One that has the
    label in all its columns joins them. Where they are small together, too, the smallest of the others do.

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
    rows = {z: [part.rows_per_secret.get(secret, 0) for secret in named] for z, part in parts.items()}
    merged = _merged(rows, minimum=request.given.minimum)
    if not merged:
        return request, frame, table
    changed = merged_frame(frame, request.given_columns, merged, label=OTHER)
    return replace(request, merged=merged), changed, open_table(changed)


def _merged(rows: Mapping[Stratum, Sequence[int]], *, minimum: int) -> tuple[Stratum, ...]:
    """The small strata, one that has their label already, and while these are too few together the smallest of the
    others; `rows` are per secret.
    """
    small = [z for z, found in rows.items() if min(found) < minimum]
    if not small:
        return ()
    small += [z for z in rows if set(z) == {OTHER} and z not in small]
    others = sorted((z for z in rows if z not in small), key=lambda z: sum(rows[z]), reverse=True)
    while others and (len(small) < 2 or min(map(sum, zip(*(rows[z] for z in small), strict=True))) < minimum):
        small.append(others.pop())
    return tuple(small)


def as_planned(request: Request, frame: NativeFrame, /) -> NativeFrame:
    """A frame with null for codes, and strata merged, as in a plan; without a column, which is an error later, it is
    left as it is.
    """
    frame = with_nulls(frame, request.null_values)
    names = open_table(frame).names
    if not request.merged or not set(request.given_columns) <= set(names):
        return frame
    return merged_frame(frame, request.given_columns, request.merged, label=OTHER)
