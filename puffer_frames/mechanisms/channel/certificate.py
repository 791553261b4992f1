"""The sentences and the record of a release through a channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from puffer_frames.certificates.facts import Prepared
from puffer_frames.certificates.of_release import absent_secrets, left_out, seen, weak
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.text import odds_of
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel.fitted import ChannelFit
from puffer_frames.mechanisms.channel.problem import RARE, cost_word
from puffer_frames.mechanisms.seam import Release
from puffer_frames.numbers.presentation import plain, rounded_up, shown_names
from puffer_frames.priors.summary import Level

SOURCE = "linear program, verified in integers: docs/theory.md, section 16"


def channel_statements(plan: ChannelFit, release: Release, /) -> tuple[Statement, ...]:
    """What the guarantee rests on and leaves out."""
    parts = (_assumed, _proved, _not_covered, _done)
    return tuple(statement for part in parts for statement in part(plan, release))


def prepared(plan: ChannelFit, /) -> tuple[Prepared, ...]:
    """What was done to the levels before."""
    done: dict[Prepared, bool] = {
        "merged": plan.merged,
        "cells": plan.column.in_cells,
        "clipped": any(name in plan.request.domain for name in plan.request.public),
    }
    return tuple(word for word, holds in done.items() if holds)


def _confidences(plan: ChannelFit) -> list[float]:
    """With which the guarantee holds for the population."""
    return [each.confidence for each in plan.beliefs.values() if each.confidence is not None]


def _assumed(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    if release.asked.seeded:
        yield say("warning-seed")
    yield say("records")
    words = list(dict.fromkeys(each.words for each in plan.beliefs.values()))
    yield say("beliefs", strata="", beliefs=words[0] if len(words) == 1 else f"one of these: {'; '.join(words)}")
    if _confidences(plan):
        yield say("population-rows")
    if release.batch is not None:
        yield say("channel-other-rows")


def _proved(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    yield say("channel-exact")
    yield from (say("channel-population", confidence=f"{100 * each:.6g}") for each in _confidences(plan))
    if plan.radius is not None:
        yield say("channel-radius", radius=plan.radius)
    if plan.options.cap is not None:
        yield say("channel-cap", cap=plain(plan.options.cap))
    if plan.options.sees_secret and (most := plan.options.reader_loss_at(plan.request.target.epsilon)) is not None:
        yield say("channel-reader", most=plain(most))
    yield say("wider", losses=_wider_text(plan, release))
    if release.batch is not None:
        for found in release.batch.exceeded.values():
            yield say("observed-exceeds", what=shown_names(plan.request.public), found=found)
        yield from absent_secrets(release.batch, of=len(plan.secrets))


def wider_losses(plan: ChannelFit, /) -> dict[str, float]:
    """The losses under laws beyond the beliefs, rounded up: they are statistics of the table."""
    if plan.request.target.delta:
        return {"population": rounded_up(plan.population.hockey_stick.upper, digits=2)}
    found = {"population": min(plan.population.pure_loss.upper, plan.largest_loss), "any law": plan.largest_loss}
    return {laws: rounded_up(loss, digits=2) for laws, loss in found.items()}


def _wider_text(plan: ChannelFit, release: Release) -> str:
    losses = wider_losses(plan)
    table = "the table" if release.batch is None else "the table of the plan"
    population = f"under any law of these levels that {table} does not refute at 95 %: "
    if plan.request.target.delta:
        at = f"at epsilon {plain(plan.request.target.epsilon)}"
        largest = odds_of(rounded_up(plan.largest_loss, digits=2))
        return f"{population}delta at most {losses['population']:g} {at}; under any law of these levels: {largest}"
    return f"{population}{odds_of(losses['population'])}; under any law of these levels: {odds_of(losses['any law'])}"


def _not_covered(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    if plan.is_brittle:
        yield say("channel-brittle")
    if plan.options.sees_secret:
        if plan.options.reader_loss_at(plan.request.target.epsilon) is None:
            yield say("channel-reader-any")
        yield say("channel-unlike")
    yield say("channel-again" if plan.options.cap is None else "channel-again-capped")
    yield from (say("other-columns"), say("per-record"))
    unprinted = " This certificate does not print them."
    yield say("channel-learned", printed="" if plan.options.publish_matrix else unprinted)
    if _confidences(plan):
        yield say("one-confidence")
    yield say("other-knowledge")
    if not plan.column.public:
        yield say("channel-levels")
    if plan.options.publish_matrix:
        yield say("channel-matrix")
    if printed := [word for word in ("expected_error", "lower_bound") if word in release.asked.publish]:
        yield say("channel-figures", figures=" and ".join(printed).replace("_", " "))
    yield from seen(release.warnings)
    rows = plan.protected_rows(release.rows_per_secret)
    yield from weak(plan.request.target, rows, rows=sum(rows.values()))
    if plan.column.codes is not None and (rare := int((plan.column.pooled < RARE).sum())):
        yield say("rare-levels", levels=f"{rare:,}", fewest=RARE)
    yield from left_out(plan.protected_pairs, release.kept, plan.request.nulls)


def _done(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    kept = {None: "", "mean": " Their mean is kept on average.", "marginal": " Their shares are kept on average."}
    if plan.column.in_cells:
        kept["mean"] = " The mean of the medians of their cells is kept on average, not that of the values."
        kept["marginal"] = " The shares of their cells are kept on average."
    yield say(
        "channel" if len(plan.request.public) == 1 else "channel-rows",
        what=shown_names(plan.request.public),
        kept=kept[plan.options.preserve],
    )
    if plan.request.nulls == "level":
        yield say("channel-missing")
    yield from (say(f"channel-{word}") for word in prepared(plan))
    if release.asked.layout.shuffle:
        yield say("shuffled")
    yield say("channel-draw")


def proved_loss(plan: ChannelFit, /) -> Verification:
    """What was proved of every belief: no more than was asked for. The exact figures are statistics of the table."""
    target = plan.request.target
    most = float("inf") if plan.options.cap is None else plan.options.cap
    pure = target.epsilon if not target.delta else max(target.epsilon, most)
    return Verification.proved(pure=pure, delta=target.delta, epsilon=target.epsilon)


def channel_record(plan: ChannelFit, release: Release, /) -> dict[str, Any]:
    """What the certificate says of the channel, in JSON types."""
    options, channel, publish = plan.options, plan.channel, release.asked.publish
    record: dict[str, Any] = {
        "cost": cost_word(channel.inputs, options.cost),
        "radius": plan.radius,
        "cap": options.cap,
        "preserve": options.preserve,
    }
    if options.sees_secret:
        record |= {"sees": "secret", "reader_loss": options.reader_loss_at(plan.request.target.epsilon)}
        record |= {"weights": "secrets"} if options.weights == "secrets" else {}
    if options.outputs is not None:
        record["outputs"] = options.outputs
    if len(plan.request.public) > 1:
        record["columns"] = list(plan.request.public)
    if plan.column.public or "levels" in publish or options.publish_matrix:
        record["levels"] = _in_json(channel.outputs)
    if "expected_error" in publish:
        record["expected_error"] = channel.expected_error
    if "lower_bound" in publish:
        record["lower_bound"] = channel.lower_bound
    if options.publish_matrix:
        record["inputs"] = _in_json(channel.inputs)
        record["matrix"] = [[round(entry, 12) for entry in row] for row in channel.matrix.tolist()]
    return record


def _in_json(levels: Sequence[Level]) -> list[Any]:
    return [list(level) if isinstance(level, tuple) else level for level in levels]
