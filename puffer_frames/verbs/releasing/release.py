"""From something fitted and checked rows to a released frame with its certificate: the only draw of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import codes_text
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.mechanisms.seam import Fitted, Release
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.papers.catalogue import PUBLISHED_FOR
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.cautions import rarest_rows
from puffer_frames.scales.drift import Batch
from puffer_frames.verbs.ledgers.refine_key import opened
from puffer_frames.verbs.requests import Drawing


def check_refinable(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, /) -> None:
    """Raise ArgumentError for a key file beside a release that cannot be refined."""
    if asked.refine_key is None:
        return
    changed = bool(asked.done) or asked.layout.shuffle or asked.seeded
    if changed or fitted.originals(rows) is None:
        raise ArgumentError(
            "refine_key",
            rule=f"given for {PUBLISHED_FOR.title} noise on numbers of a frame in memory, its rows in their order and "
            "its values not changed after the noise",
            got="another release",
            hint="Leave it out: such a release cannot be refined.",
        )
    with opened(asked.refine_key):
        pass


def note_rows(fitted: Fitted[Any], rows: CompleteRows, asked: RowsRequest, fingerprint: str, /) -> None:
    """Write down the original values of a release, in a code, where it is to be refined."""
    values = None if asked.refine_key is None else fitted.originals(rows)
    if asked.refine_key is not None and values is not None:
        with opened(asked.refine_key) as file:
            file.note(fingerprint, values)


def release_rows(
    fitted: Fitted[Any],
    rows: CompleteRows,
    asked: RowsRequest,
    drawing: Drawing,
    /,
    *,
    frame: NativeFrame,
    rows_per_secret: Mapping[Secret, int],
    batch: Batch | None = None,
    unproved: Sequence[str] = (),
) -> NativeFrame:
    """Release rows that have been checked against the plan.

    Parameters
    ----------
    fitted : Fitted
    rows : CompleteRows
    asked : RowsRequest
    drawing : Drawing
    frame : NativeFrame
        The whole table, for the limit of a ledger.
    rows_per_secret : mapping of secret to int
        Of the rows that are released.
    batch : Batch, optional
        What was measured on other rows than those that the plan was made from.
    unproved : sequence of str
        Beliefs whose laws a plan from a file lacks.
    """
    asked = replace(asked, days=tuple(rows.dates))
    check_refinable(fitted, rows, asked)
    key, warnings = drawing.key(), rows.warnings(list(rows_per_secret.values()))
    for warning in warnings:
        warn(warning)
    secrets = tuple(rows_per_secret) if fitted.pairs == "all" else fitted.secrets

    def certificate(count: int, levels: tuple[str, ...]) -> Certificate:
        release = Release(
            asked=asked,
            columns=rows.names,
            rows=count,
            secrets=secrets,
            kept=tuple(name for name in asked.roles.keep if name not in asked.roles.given) + levels,
            warnings=warnings,
            rows_per_secret=rows_per_secret,
            batch=batch,
            unproved=unproved,
        )
        groups = fitted.protected_rows(rows_per_secret) if fitted.request.pairs == "all" else rows_per_secret
        found = replace(fitted.certificate(release), rarest=rarest_rows(groups))
        return found.of_codes(codes_text(fitted.request.null_values)).of_dates(tuple(rows.dates))

    reserved = drawing.reserve(certificate(sum(rows_per_secret.values()), ()), frame)
    released = rows.release(fitted.draws(asked, key))
    found = certificate(released.rows, released.levels).said(drawing.about)
    note_rows(fitted, rows, asked, released.fingerprint)
    return reserved.put(found.of_values(released.fingerprint, released.sample), released.frame)


def rehearse(fitted: Fitted[Any], /) -> None:
    """All of a release but its rows: for a plan from a file, of which this may fail where its parts do not agree."""
    request = fitted.request
    roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
    asked = RowsRequest(roles=roles, layout=RowOrder(), bounds={}, to_integers=False, publish=(), seeded=True)
    for draw in fitted.draws(asked, ReleaseKey.of(0)):
        draw.prepared()
    release = Release(
        asked=asked,
        columns=(),
        rows=fitted.rows,
        secrets=fitted.secrets,
        kept=(),
        warnings=[],
        rows_per_secret=fitted.rows_per_secret,
    )
    fitted.certificate(release)
