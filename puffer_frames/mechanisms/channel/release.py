"""A release through a channel: what its certificate says."""

from __future__ import annotations

from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.sentences import warnings_of
from puffer_frames.certificates.version import __version__
from puffer_frames.errors import ArgumentError
from puffer_frames.mechanisms.channel.certificate import (
    SOURCE,
    ChannelFacts,
    channel_record,
    channel_statements,
    proved_loss,
    wider_losses,
)
from puffer_frames.mechanisms.channel.column import RARE
from puffer_frames.mechanisms.channel.fitted import ChannelFit
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.mechanisms.seam import Release
from puffer_frames.numbers.presentation import pairs_text, shown_names


def _facts(plan: ChannelFit, release: Release) -> ChannelFacts:
    asked = release.asked
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
        keep=release.kept,
        warnings=release.warnings,
        rows_per_secret=plan.protected_rows(release.rows_per_secret),
        rare=int((plan.column.pooled < RARE).sum()) if plan.column.codes is not None else 0,
        population=plan.population,
        largest=plan.largest_loss,
        publish=asked.publish,
        shuffled=asked.layout.shuffle,
        seeded=asked.seeded,
        secrets=len(plan.secrets),
        batch=release.batch,
    )


def channel_certificate(plan: ChannelFit, release: Release, /) -> Certificate:
    """The certificate of a release through a channel, its values not known yet."""
    facts, request = _facts(plan, release), plan.request
    kept, covered, batch = tuple(facts.keep), release.secrets, release.batch
    statements = channel_statements(facts)
    exceeded = {} if batch is None or not batch.exceeded else dict.fromkeys(request.public, batch.observed[plan.name])
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
        withheld=tuple(name for name in release.columns if name not in (*request.public, *kept)),
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
        facts=facts.stated,
        warnings=warnings_of(statements),
        wider=dict.fromkeys(request.public, wider_losses(facts)),
        reproducible=facts.seeded,
        rows=release.rows,
        version=__version__,
        fingerprint="",
        channels={name: channel_record(facts) for name in request.public},
    )


def check_channel_asked(asked: RowsRequest, /) -> None:
    """Raise ArgumentError for what is done to noisy values: it has no meaning for levels."""
    for name, given in (("clip", bool(asked.bounds)), ("round", asked.to_integers)):
        if given:
            raise ArgumentError(
                name,
                rule="left out for a channel, which releases levels of the column",
                got="one",
                hint="Leave it out.",
            )
