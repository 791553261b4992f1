"""From a plan of a channel and checked rows to a released frame with its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from puffer_frames.certificates.of_channel import (
    SOURCE,
    ChannelFacts,
    channel_record,
    channel_statements,
    proved_loss,
    wider_losses,
)
from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.sentences import warnings_of
from puffer_frames.certificates.version import __version__
from puffer_frames.errors import ArgumentError, PufferWarning, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.table import CompleteRows
from puffer_frames.numbers.presentation import pairs_text, shown_names
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.channels.column import RARE
from puffer_frames.scales.drift import Batch
from puffer_frames.verbs.plans.channel_plan import ChannelPlan
from puffer_frames.verbs.releasing.refinable import refuse_refinable
from puffer_frames.verbs.requests.checks import PUBLISHED
from puffer_frames.verbs.requests.request import Drawing, RowsRequest


def release_channel(
    plan: ChannelPlan,
    rows: CompleteRows,
    asked: RowsRequest,
    /,
    *,
    frame: NativeFrame,
    rows_per_secret: Mapping[Secret, int],
    batch: Batch | None = None,
) -> NativeFrame:
    """Release rows whose levels are those of the plan.

    Parameters
    ----------
    plan : ChannelPlan
    rows : CompleteRows
    asked : RowsRequest
    frame : NativeFrame
        The whole table, for the limit of a ledger.
    rows_per_secret : mapping of secret to int
        Of the rows that are released.
    batch : Batch, optional
        What was measured on other rows than those that the plan was made from.
    """
    _require_levels(asked)
    refuse_refinable(asked)
    key, warnings = asked.drawing.key(), rows.warnings(list(rows_per_secret.values()))
    for warning in warnings:
        warn(warning)
    secrets = tuple(rows_per_secret)

    def certificate(rows_released: int, levels: tuple[str, ...]) -> Certificate:
        facts = _facts(plan, asked, asked.roles.keep + levels, warnings, rows_per_secret, batch)
        return _certificate(plan, facts, columns=rows.names, rows=rows_released, secrets=secrets)

    reserved = asked.drawing.reserve(certificate(sum(rows_per_secret.values()), ()), frame)
    released = rows.release(plan.draws(key))
    found = certificate(released.rows, released.levels).said(asked.drawing.about)
    return reserved.put(found.of_values(released.fingerprint, {}), released.frame)


def rehearse_channel(plan: ChannelPlan, /) -> None:
    """All of a release but its rows: for a plan from a file, of which this may fail where its parts do not agree."""
    roles = Roles(secret=plan.request.secret, public=plan.request.public)
    drawing = Drawing(rng=0, about={})
    asked = RowsRequest(roles=roles, layout=Layout(), bounds={}, to_integers=False, publish=PUBLISHED, drawing=drawing)
    for draw in plan.draws(drawing.key()):
        draw.prepared()
    _certificate(
        plan, _facts(plan, asked, (), [], plan.rows_per_secret, None), columns=(), rows=0, secrets=plan.secrets
    )


def _facts(
    plan: ChannelPlan,
    asked: RowsRequest,
    kept: tuple[str, ...],
    warnings: Sequence[PufferWarning],
    rows_per_secret: Mapping[Secret, int],
    batch: Batch | None,
) -> ChannelFacts:
    return ChannelFacts(
        columns=plan.request.public,
        options=plan.options,
        channel=plan.channel,
        target=plan.request.target,
        beliefs={name: each.words for name, each in plan.beliefs.items()},
        confidences=[each.confidence for each in plan.beliefs.values() if each.confidence is not None],
        pairs="each" if plan.request.apart else plan.pairs,
        nulls=plan.request.nulls,
        public_levels=plan.column.public,
        in_cells=plan.column.in_cells,
        merged=plan.merged,
        radius=plan.radius,
        brittle=plan.is_brittle,
        clipped=any(name in plan.request.domain for name in plan.request.public),
        keep=kept,
        warnings=warnings,
        rows_per_secret=plan.protected_rows(rows_per_secret),
        rare=int((plan.column.pooled < RARE).sum()) if plan.column.codes is not None else 0,
        population=plan.population,
        largest=plan.largest_loss if plan.options.cap is None else min(plan.largest_loss, plan.options.cap),
        publish=asked.publish,
        shuffled=asked.layout.shuffle,
        seeded=asked.drawing.seeded,
        secrets=len(plan.secrets),
        batch=batch,
    )


def _certificate(
    plan: ChannelPlan, facts: ChannelFacts, *, columns: Sequence[str], rows: int, secrets: tuple[Secret, ...]
) -> Certificate:
    request, kept = plan.request, tuple(facts.keep)
    statements = channel_statements(facts)
    batch = facts.batch
    exceeded = {} if batch is None or not batch.exceeded else dict.fromkeys(request.public, batch.observed[plan.name])
    covered = secrets if plan.pairs == "all" else plan.secrets
    return Certificate(
        subject=f"{shown_names(request.secret)} of each record, {pairs_text(plan.pairs, apart=request.apart)}",
        answers=False,
        epsilon=request.target.epsilon,
        delta=request.target.delta,
        secret=request.secret,
        secret_values=covered[:MOST_VALUES],
        secret_count=len(covered),
        public=request.public,
        kept=kept,
        withheld=tuple(name for name in columns if name not in (*request.public, *kept)),
        pairs="each" if request.apart else plan.pairs,
        beliefs=tuple(plan.beliefs),
        theorem="channel",
        source=SOURCE,
        published_scales={},
        calibration="exact",
        noise="channel",
        scales={},
        expected_error={},
        estimated={},
        verified={name: dict.fromkeys(plan.beliefs, proved_loss(facts)) for name in request.public},
        observed=exceeded,
        adds_up=False,
        statements=statements,
        warnings=warnings_of(statements),
        wider=dict.fromkeys(request.public, wider_losses(facts)),
        reproducible=facts.seeded,
        rows=rows,
        version=__version__,
        fingerprint="",
        channels={name: channel_record(facts) for name in request.public},
    )


def _require_levels(asked: RowsRequest) -> None:
    """What is done to noisy values has no meaning for levels."""
    for name, given in (("clip", bool(asked.bounds)), ("round", asked.to_integers)):
        if given:
            raise ArgumentError(
                name,
                rule="left out for a channel, which releases levels of the column",
                got="one",
                hint="Leave it out.",
            )
