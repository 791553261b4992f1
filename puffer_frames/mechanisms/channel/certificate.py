"""The sentences and the record of a release through a channel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from puffer_frames.certificates.facts import Facts, Prepared
from puffer_frames.certificates.of_release import absent_secrets, left_out, odds_of, seen, weak
from puffer_frames.certificates.release_facts import is_warned
from puffer_frames.certificates.sentences import say
from puffer_frames.certificates.statement import Statement
from puffer_frames.errors import KeptColumnWarning, PufferWarning, RowOrderWarning
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.mechanisms.channel.best import FoundChannel
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import RARE, cost_word
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import plain, rounded_up, shown_names
from puffer_frames.priors.pairs import ProtectedPairs
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Level
from puffer_frames.scales.drift import Batch

SOURCE = "linear program, verified in integers: docs/theory.md, section 16"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFacts:
    """What the sentences of a release through a channel depend on."""

    columns: Sequence[str]
    options: Channel
    channel: FoundChannel
    target: Target
    beliefs: Mapping[str, str]
    """What each belief is, in a sentence, by its name."""
    confidences: Sequence[float]
    """With which the guarantee holds for the population."""
    pairs: ProtectedPairs
    nulls: str
    public_levels: bool
    """Whether the levels were declared."""
    in_cells: bool
    """Whether an input stands for several numbers."""
    merged: bool
    """Whether rare levels were merged."""
    radius: str | None
    """With which probability each row is replaced, in words; None for never."""
    brittle: bool
    """Whether under some law of the levels the loss may have no bound."""
    clipped: bool
    """Whether values beyond public bounds were moved to them."""
    keep: Sequence[str]
    warnings: Sequence[PufferWarning]
    rows_per_secret: Mapping[Secret, int]
    """Rows of each protected secret that are released."""
    rare: int
    """How many levels have few rows."""
    population: Verification
    """The loss under every law of these levels that the table of the plan does not refute at 95 %."""
    largest: float
    """The pure loss under any law of these levels."""
    publish: Sequence[str]
    """What of the plan the curator chose to print."""
    shuffled: bool
    """Whether the rows were put into a random order."""
    seeded: bool
    secrets: int
    """How many secrets the plan has."""
    batch: Batch | None
    """What was measured on other rows than those that the plan was made from."""

    @property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        done: dict[Prepared, bool] = {"merged": self.merged, "cells": self.in_cells, "clipped": self.clipped}
        return Facts(
            seeded=self.seeded,
            prepared=tuple(word for word, holds in done.items() if holds),
            other_rows=self.batch is not None,
            exceeds=self.batch is not None and bool(self.batch.exceeded),
            dropped=self.nulls == "drop",
            shuffled=self.shuffled,
            order_tells=is_warned(self.warnings, RowOrderWarning),
            kept_tells=is_warned(self.warnings, KeptColumnWarning),
        )

    @property
    def cost(self) -> str:
        """As `cost_word`."""
        return cost_word(self.channel.inputs, self.options.cost)


def channel_statements(facts: ChannelFacts, /) -> tuple[Statement, ...]:
    """What the guarantee rests on and leaves out."""
    parts = (_assumed, _proved, _not_covered, _done)
    return tuple(statement for part in parts for statement in part(facts))


def _assumed(facts: ChannelFacts) -> Iterator[Statement]:
    if facts.seeded:
        yield say("warning-seed")
    yield say("records")
    words = list(dict.fromkeys(facts.beliefs.values()))
    yield say("beliefs", strata="", beliefs=words[0] if len(words) == 1 else f"one of these: {'; '.join(words)}")
    if facts.confidences:
        yield say("population-rows")
    if facts.batch is not None:
        yield say("channel-other-rows")


def _proved(facts: ChannelFacts) -> Iterator[Statement]:
    yield say("channel-exact")
    yield from (say("channel-population", confidence=f"{100 * each:.6g}") for each in facts.confidences)
    if facts.radius is not None:
        yield say("channel-radius", radius=facts.radius)
    if facts.options.cap is not None:
        yield say("channel-cap", cap=plain(facts.options.cap))
    if facts.options.sees_secret and (most := facts.options.reader_loss_at(facts.target.epsilon)) is not None:
        yield say("channel-reader", most=plain(most))
    yield say("wider", losses=_wider_text(facts))
    if facts.batch is not None:
        for found in facts.batch.exceeded.values():
            yield say("observed-exceeds", what=shown_names(facts.columns), found=found)
        yield from absent_secrets(facts.batch, of=facts.secrets)


def wider_losses(facts: ChannelFacts, /) -> dict[str, float]:
    """The losses under laws beyond the beliefs, rounded up: they are statistics of the table."""
    if facts.target.delta:
        return {"population": rounded_up(facts.population.hockey_stick.upper, digits=2)}
    found = {"population": min(facts.population.pure_loss.upper, facts.largest), "any law": facts.largest}
    return {laws: rounded_up(loss, digits=2) for laws, loss in found.items()}


def _wider_text(facts: ChannelFacts) -> str:
    losses = wider_losses(facts)
    table = "the table" if facts.batch is None else "the table of the plan"
    population = f"under any law of these levels that {table} does not refute at 95 %: "
    if facts.target.delta:
        at = f"at epsilon {plain(facts.target.epsilon)}"
        largest = odds_of(rounded_up(facts.largest, digits=2))
        return f"{population}delta at most {losses['population']:g} {at}; under any law of these levels: {largest}"
    return f"{population}{odds_of(losses['population'])}; under any law of these levels: {odds_of(losses['any law'])}"


def _not_covered(facts: ChannelFacts) -> Iterator[Statement]:
    if facts.brittle:
        yield say("channel-brittle")
    if facts.options.sees_secret:
        if facts.options.reader_loss_at(facts.target.epsilon) is None:
            yield say("channel-reader-any")
        yield say("channel-unlike")
    yield say("channel-again" if facts.options.cap is None else "channel-again-capped")
    yield from (say("other-columns"), say("per-record"), say("channel-learned"))
    if facts.confidences:
        yield say("one-confidence")
    yield say("other-knowledge")
    if not facts.public_levels:
        yield say("channel-levels")
    if facts.options.publish_matrix:
        yield say("channel-matrix")
    if printed := [word for word in ("expected_error", "lower_bound") if word in facts.publish]:
        yield say("channel-figures", figures=" and ".join(printed).replace("_", " "))
    yield from seen(facts.warnings)
    yield from weak(facts.target, facts.rows_per_secret, rows=sum(facts.rows_per_secret.values()))
    if facts.rare:
        yield say("rare-levels", levels=f"{facts.rare:,}", fewest=RARE)
    yield from left_out(facts.pairs, facts.keep, facts.nulls)


def _done(facts: ChannelFacts) -> Iterator[Statement]:
    kept = {None: "", "mean": " Their mean is kept on average.", "marginal": " Their shares are kept on average."}
    if facts.in_cells:
        kept["mean"] = " The mean of the medians of their cells is kept on average, not that of the values."
        kept["marginal"] = " The shares of their cells are kept on average."
    yield say(
        "channel" if len(facts.columns) == 1 else "channel-rows",
        what=shown_names(facts.columns),
        kept=kept[facts.options.preserve],
    )
    if facts.nulls == "level":
        yield say("channel-missing")
    yield from (say(f"channel-{word}") for word in facts.stated.prepared)
    if facts.shuffled:
        yield say("shuffled")
    yield say("channel-draw")


def radius_words(options: Channel, secrets: Sequence[Secret], /) -> str | None:
    """With which probability a row of these secrets is replaced, without a count of the table; None for never."""
    if options.radius == "auto":
        return "min(1/2, 2/sqrt(n)) for n rows of its secret"
    if isinstance(options.radius, Mapping):
        return "as given for its secret" if any(map(options.radius.get, secrets)) else None
    return f"{float(options.radius)!r}" if options.radius else None


def proved_loss(facts: ChannelFacts, /) -> Verification:
    """What was proved of every belief: no more than was asked for. The exact figures are statistics of the table."""
    target = facts.target
    most = float("inf") if facts.options.cap is None else facts.options.cap
    pure = target.epsilon if not target.delta else max(target.epsilon, most)
    return Verification(
        pure_loss=Bracket(lower=0.0, upper=pure),
        hockey_stick=Bracket(lower=0.0, upper=target.delta),
        epsilon=target.epsilon,
    )


def channel_record(facts: ChannelFacts, /) -> dict[str, Any]:
    """What the certificate says of the channel, in JSON types."""
    options, channel = facts.options, facts.channel
    record: dict[str, Any] = {
        "cost": facts.cost,
        "radius": facts.radius,
        "cap": options.cap,
        "preserve": options.preserve,
    }
    if options.sees_secret:
        record |= {"sees": "secret", "reader_loss": options.reader_loss_at(facts.target.epsilon)}
        record |= {"weights": "secrets"} if options.weights == "secrets" else {}
    if options.outputs is not None:
        record["outputs"] = options.outputs
    if len(facts.columns) > 1:
        record["columns"] = list(facts.columns)
    if facts.public_levels or "levels" in facts.publish or options.publish_matrix:
        record["levels"] = _in_json(channel.outputs)
    if "expected_error" in facts.publish:
        record["expected_error"] = channel.expected_error
    if "lower_bound" in facts.publish:
        record["lower_bound"] = channel.lower_bound
    if options.publish_matrix:
        record["inputs"] = _in_json(channel.inputs)
        record["matrix"] = [[round(entry, 12) for entry in row] for row in channel.matrix.tolist()]
    return record


def _in_json(levels: Sequence[Level]) -> list[Any]:
    return [list(level) if isinstance(level, tuple) else level for level in levels]
