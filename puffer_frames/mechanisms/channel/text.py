"""What a channel says: the sentences and the record of a release; titled rows of text and figures of a plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from puffer_frames.certificates.build import left_out
from puffer_frames.certificates.facts import Prepared
from puffer_frames.certificates.sentences import say, say_levels
from puffer_frames.certificates.statement import Statement
from puffer_frames.certificates.text import COSTS, odds_of, stated_loss
from puffer_frames.loss.outcome import Verification, measured_text
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, MUCH_MERGED, ChannelFit, LevelShift
from puffer_frames.mechanisms.channel.problem import cost_word
from puffer_frames.mechanisms.seam import (
    ColumnError,
    Compared,
    PlanFigures,
    Release,
    loss_of,
    rows_text,
)
from puffer_frames.numbers.presentation import (
    Rows,
    at_most,
    level_text,
    listed,
    lower_text,
    odds_text,
    pairs_text,
    plain,
    rounded_up,
    shown,
    shown_names,
    upper_text,
)
from puffer_frames.priors.summary import RARE, Level
from puffer_frames.scales.cautions import moved_text
from puffer_frames.scales.learned import replaced_rows, said_of
from puffer_frames.scales.utility import SHIFTED, TIMES

SOURCE = "linear program, verified in integers: docs/theory.md, section 16"


def channel_statements(plan: ChannelFit, release: Release, /) -> tuple[Statement, ...]:
    """What the guarantee rests on and leaves out."""
    parts = (_assumed, _proved, _measured, _not_covered, _done)
    return tuple(statement for part in parts for statement in part(plan, release))


def prepared(plan: ChannelFit, /) -> tuple[Prepared, ...]:
    """What was done to the levels before."""
    done: dict[Prepared, bool] = {
        "merged": plan.merged[0] > 0,
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
    others = release.batch is not None
    words = list(dict.fromkeys(said_of(each.words, others=others) for each in plan.beliefs.values()))
    yield say("beliefs", strata="", beliefs=words[0] if len(words) == 1 else f"one of these: {'; '.join(words)}")
    if _confidences(plan):
        yield say("population-rows")
    if release.batch is not None:
        yield say("channel-other-rows")


def _proved(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    yield say("channel-exact")
    yield from (say("channel-population", confidence=f"{100 * each:.6g}") for each in _confidences(plan))
    if plan.radius is not None:
        yield say("channel-radius", radius=said_of(plan.radius, others=release.batch is not None))
    if plan.options.cap is not None:
        yield say("channel-cap", cap=plain(plan.options.cap))
    if plan.options.sees_secret and (most := plan.options.reader_loss_at(plan.request.target.epsilon)) is not None:
        yield say("channel-reader", most=plain(most))
    yield say("wider", losses=_wider_text(plan, release))
    for found in release.exceeded(plan).values():
        yield say("observed-exceeds", what=shown_names(plan.request.public), found=found)


def wider_losses(plan: ChannelFit, /) -> dict[str, float]:
    """The losses under laws beyond the beliefs, rounded up: they are statistics of the table.

    Where these laws are believed, or more, it was proved that no more is lost than was asked for.
    """
    target = plan.request.target
    delta, most = target.delta, target.most
    population = plan.population.loss(delta=delta).upper
    if any(confidence >= CONFIDENCE for confidence in _confidences(plan)):
        population = min(population, most)
    if delta:
        return {"population": stated_loss(population, most)}
    losses = {"population": min(population, plan.largest_loss), "any law": plan.largest_loss}
    return {laws: stated_loss(loss, most) for laws, loss in losses.items()}


def _wider_text(plan: ChannelFit, release: Release) -> str:
    losses = wider_losses(plan)
    table = "the table" if release.batch is None else "the table of the plan"
    population = f"under any law of these levels that {table} does not refute at 95 %: "
    if plan.request.target.delta:
        at = f"at epsilon {plain(plan.request.target.epsilon)}"
        largest = odds_of(rounded_up(plan.largest_loss, digits=2))
        return f"{population}delta at most {losses['population']:g} {at}; under any law of these levels: {largest}"
    return f"{population}{odds_of(losses['population'])}; under any law of these levels: {odds_of(losses['any law'])}"


def _measured(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    what = f"the rows of the table{' of the plan' * (release.batch is not None)}"
    if useless := plan.useless_columns():
        yield say("useless", columns=shown_names(useless))
    if plan.is_much_merged:
        share, columns = f"{100 * MUCH_MERGED:g} %", shown_names(plan.request.public)
        yield say("channel-much-merged", share=share, columns=columns, rows=what)
    yield from (say(key, columns=shown_names(plan.request.public), rows=what) for key in plan.little_use)
    if shifts := [f"{shown(name)}{_lost(own)}" for name, own in plan.shifted_columns.items()]:
        yield say("channel-shares", rows=what, shifts="; ".join(shifts), most=f"{SHIFTED:g}", times=f"{TIMES:g}")
    if plan.is_lost:
        yield say("channel-lost", columns=shown_names(plan.request.public))


def _lost(own: LevelShift) -> str:
    levels = len(own.lost)
    return f", {levels:,} level{'s' * (levels > 1)} hardly ever released" * (levels > 0)


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
        names, declared = plan.request.public, plan.request.declared
        yield say_levels([name for name in names if name not in declared] or names, declared)
    if plan.options.publish_matrix:
        yield say("channel-matrix")
    if printed := [word for word in ("expected_error", "lower_bound") if word in release.asked.publish]:
        yield say("channel-figures", figures=" and ".join(printed).replace("_", " "))
    yield from release.cautions(plan)
    rare = plan.column.rare(len(plan.request.secret) if plan.request.apart else 1)
    if plan.column.codes is not None and rare:
        yield say("rare-levels", levels=f"{len(rare):,}", fewest=RARE)
    yield from left_out(plan.protected_pairs, release.kept, plan.request.nulls)


def _done(plan: ChannelFit, release: Release) -> Iterator[Statement]:
    kept = {None: "", "mean": " Their mean is kept on average.", "marginal": " Their shares are kept on average."}
    if plan.column.in_cells:
        kept["mean"] = " The mean of the medians of their cells is kept on average, not that of the values."
        kept["marginal"] = " The shares of their cells are kept on average."
    if release.batch is not None:
        kept = dict.fromkeys(kept, "")
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
        "radius": plan.radius and said_of(plan.radius, others=release.batch is not None),
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


_SHOWN = 12


def channel_rows(plan: ChannelFit, compared: Compared | None, /) -> Rows:
    """Labels and texts, in order."""
    target, channel = plan.request.target, plan.channel
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(plan.request.what, epsilon=target.epsilon, delta=target.delta)),
        ("mechanism", _mechanism(plan)),
        ("withstands", _withstood(plan)),
        *_readers(plan),
        ("expected error", f"{channel.expected_error:.6g} ({error_unit(plan)})"),
        *_moved_rows(plan),
        *_merged_rows(plan),
        *_usefulness_rows(plan),
        ("beside it", f"{_constant(plan)} in place of every value {channel.constant_error:.6g}; {_bound(plan)}"),
        ("unchanged", f"a {'cell' if plan.column.in_cells else 'level'} with probability {channel.unchanged:.4g}"),
    ]
    if compared is not None:
        noise = f"a mean absolute error of {compared.noise:.6g}, after remap {compared.remap:.6g}"
        rows.append(("noise instead", f"{noise}; it does not withstand other laws as the channel does"))
    rows += [(f"{name} belief", f"{each.words}: proved in integers") for name, each in plan.beliefs.items()]
    rows.append(("loss", _loss_text(plan)))
    rows.append(("rows", rows_text(plan.rows_per_secret)))
    rows.append(("levels", _levels_text(plan)))
    return rows


def _usefulness_rows(plan: ChannelFit) -> Rows:
    """What the error alone does not tell."""
    rows = [("beside it", own.cautions[key]) for key, own in plan.little_use.items() if key in own.cautions]
    if "channel-tail" in plan.little_use and plan.means is not None:
        raw, released = plan.means
        off = f"the mean is {released.sum():.6g} on average, and {raw.sum():.6g} in the table"
        if plan.column.in_cells:
            low, high = (released - raw)[[0, -1]]
            off += f"; the values of the lowest cell alone move it by {low:+.3g}, those of the highest by {high:+.3g}"
        rows.append(("beside it", f"VALUES FAR OUT COME OUT NEARER TO THE OTHERS: {off}"))
    for name, own in plan.shifted_columns.items():
        lost = f"{_lost(own)}: {listed(list(map(level_text, own.lost)), most=_SHOWN)}" if own.lost else ""
        rows.append(("beside it", f"SHARES OF SOME LEVELS ARE OFF: {shown(name)} {own.shift_text}{lost}"))
    if plan.is_lost:
        rows.append(
            ("table", "SOME LEVELS CANNOT BE TOLD APART: a receiver can correct nothing with the published one")
        )
    return rows


def _moved_rows(plan: ChannelFit) -> Rows:
    bounds = plan.request.domain.get(plan.request.public[0])
    if bounds is None:
        return []
    share = None
    if not plan.column.in_cells:
        levels, rows = np.array(plan.column.levels, dtype=np.float64), plan.column.pooled
        share = float(rows[(levels <= bounds[0]) | (levels >= bounds[1])].sum() / rows.sum())
    return [("moved", moved_text(share))]


def _merged_rows(plan: ChannelFit) -> Rows:
    levels, share = plan.merged
    if not levels:
        return []
    what = f"{levels:,} rare level{'s' * (levels > 1)}, of {100 * share:.3g} % of the rows"
    marked = "MANY ROWS LOSE THEIR LEVEL: " * plan.is_much_merged
    return [("merged", f"{marked}{what}, into one; all errors here are those of the levels as merged")]


def _constant(plan: ChannelFit) -> str:
    """Which constant the error of one constant is of."""
    if plan.column.in_cells:
        return "the best of the medians of the cells"
    few = len(plan.channel.outputs) < len(plan.channel.inputs)
    return "the best of the released levels" if few else "the best constant"


def _readers(plan: ChannelFit) -> Rows:
    """What a channel that sees the secret tells to readers who know the value, and its error by secret."""
    if not plan.options.sees_secret:
        return []
    most = plan.options.reader_loss_at(plan.request.target.epsilon)
    told = (
        "NOTHING BOUNDS what a reader learns who knows the value"
        if most is None
        else f"to a reader who knows the value a loss of at most {plain(most)}, and to any reader at most that much "
        "more than publishing the values"
    )
    errors = ", ".join(f"{secret!r} {error:.4g}" for secret, error in list(plan.channel.errors.items())[:_SHOWN])
    return [("sees", f"the secret of the row too: {told}"), ("error by secret", errors)]


def _bound(plan: ChannelFit) -> str:
    if plan.column.is_partial:
        return "what a mechanism with other rows of labels might reach is not known"
    if plan.column.in_cells:
        return "what a mechanism without these cells might reach is not known"
    seen = "these values" if len(plan.request.public) > 1 else "this value"
    seen = f"{seen} and the secret" if plan.options.sees_secret else f"{seen} alone"
    released = "" if isinstance(plan.options.cost, str) else " and releases its levels"
    more = ", with any number of levels," if plan.options.outputs is not None else ""
    bound = f"{lower_text(plan.channel.lower_bound)}{' in this mean over the secrets' * _is_even(plan)}"
    return f"no mechanism with this guarantee that sees {seen}{released}{more} is below {bound}"


def _mechanism(plan: ChannelFit) -> str:
    inputs, outputs = len(plan.channel.inputs), len(plan.channel.outputs)
    what = "cells of values" if plan.column.in_cells else "levels"
    of = "of the medians " if plan.column.in_cells else ""
    kept = {None: "", "mean": f", the mean {of}kept on average", "marginal": ", the shares kept on average"}
    return f"channel from a linear program: {inputs} {what} to {outputs}{kept[plan.options.preserve]}"


def _withstood(plan: ChannelFit) -> str:
    parts = [] if plan.radius is None else [f"that {replaced_rows(plan.radius)}"]
    if plan.options.cap is not None:
        parts.append(f"any law at all, with a loss of at most {plain(plan.options.cap)}")
    if plan.is_brittle:
        parts.append(f"nothing{' else' * bool(parts)} but the beliefs below: THE VALUE ITSELF IS NOT PROTECTED")
    return "; ".join(parts) or "any law at all, with the loss that was asked for"


def error_unit(plan: ChannelFit, /) -> str:
    """What the expected error is, in words."""
    unit = COSTS[cost_word(plan.column.levels, plan.options.cost)] + ", of the levels as merged" * (plan.merged[0] > 0)
    return f"{unit}, a mean over the secrets, each with the same weight" if _is_even(plan) else unit


def _is_even(plan: ChannelFit) -> bool:
    """Whether all errors are means over the secrets, and not over the rows."""
    return plan.channel.problem.times is not None


def _loss_text(plan: ChannelFit) -> str:
    delta = plan.request.target.delta
    pure = plan.largest_loss
    largest = "no bound" if pure == math.inf else f"pure loss at most {upper_text(pure)}"
    population = measured_text(plan.population, delta=delta)
    return (
        f"under the observed law: {measured_text(plan.observed, delta=delta)}; under every law of these levels that "
        f"the table does not refute at {100 * CONFIDENCE:g} %: {population}; under any law of these levels: {largest}"
    )


def _levels_text(plan: ChannelFit) -> str:
    source = "declared" if plan.column.public else "learned from the table"
    return f"{listed(list(map(level_text, plan.channel.outputs)), most=_SHOWN)} ({source})"


def channel_figures(plan: ChannelFit, /) -> PlanFigures:
    """The figures of a channel's plan."""
    channel, delta = plan.channel, plan.request.target.delta
    losses = [
        ("the observed law", *loss_of(plan.observed, delta=delta)),
        (f"every law that the table does not refute at {100 * CONFIDENCE:g} %", *loss_of(plan.population, delta=delta)),
    ]
    if not delta:
        losses.append(("any law of these levels", *at_most(plan.largest_loss)))
    error = ColumnError(name=plan.name, error=channel.expected_error, constant=channel.constant_error, spread=None)
    return PlanFigures(errors=(error,), losses=tuple(losses))
