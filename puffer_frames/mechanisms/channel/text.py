"""A plan of a channel as titled rows of text."""

from __future__ import annotations

import math

import numpy as np

from puffer_frames.certificates.text import COSTS
from puffer_frames.loss.outcome import measured_text
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit
from puffer_frames.mechanisms.channel.options import label_text
from puffer_frames.mechanisms.channel.problem import cost_word
from puffer_frames.mechanisms.figures import ColumnError, PlanFigures, loss_bars, loss_of
from puffer_frames.mechanisms.seam import Compared
from puffer_frames.numbers.presentation import (
    Rows,
    at_most,
    bars,
    lower_text,
    matrix,
    odds_text,
    pairs_text,
    plain,
    upper_text,
)
from puffer_frames.priors.summary import Level
from puffer_frames.scales.cautions import moved_text
from puffer_frames.scales.learned import replaced_rows

_SHOWN = 12


def channel_rows(plan: ChannelFit, compared: Compared | None, /) -> Rows:
    """Labels and texts, in order."""
    target, channel = plan.request.target, plan.channel
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(_released(plan), epsilon=target.epsilon, delta=target.delta)),
        ("mechanism", _mechanism(plan)),
        ("withstands", _withstood(plan)),
        *_readers(plan),
        ("expected error", f"{channel.expected_error:.6g} ({_unit(plan)})"),
        *_moved_rows(plan),
        ("beside it", f"{_constant(plan)} in place of every value {channel.constant_error:.6g}; {_bound(plan)}"),
        ("unchanged", f"a {'cell' if plan.column.in_cells else 'level'} with probability {channel.unchanged:.4g}"),
    ]
    if compared is not None:
        rows.append(
            (
                "noise instead",
                f"a mean absolute error of {compared.noise:.6g}, after remap {compared.remap:.6g}; it does not "
                "withstand other laws as the channel does",
            )
        )
    rows += [(f"{name} belief", f"{each.words}: proved in integers") for name, each in plan.beliefs.items()]
    rows.append(("loss", _losses(plan)))
    rows.append(("rows", _rows_text(plan)))
    rows.append(("levels", _levels_text(plan)))
    rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
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


def _released(plan: ChannelFit) -> str:
    several = len(plan.request.public) > 1
    return "the released values of one row together" if several else "one released value"


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


def _unit(plan: ChannelFit) -> str:
    unit = COSTS[cost_word(plan.column.levels, plan.options.cost)]
    return f"{unit}, a mean over the secrets, each with the same weight" if _is_even(plan) else unit


def _is_even(plan: ChannelFit) -> bool:
    """Whether all errors are means over the secrets, and not over the rows."""
    return plan.channel.problem.times is not None


def _losses(plan: ChannelFit) -> str:
    delta = plan.request.target.delta
    pure = plan.largest_loss
    largest = "no bound" if pure == math.inf else f"pure loss at most {upper_text(pure)}"
    population = measured_text(plan.population, delta=delta)
    return (
        f"under the observed law: {measured_text(plan.observed, delta=delta)}; under every law of these levels that "
        f"the table does not refute at {100 * CONFIDENCE:g} %: {population}; under any law of these levels: {largest}"
    )


def _rows_text(plan: ChannelFit) -> str:
    listed = list(plan.rows_per_secret.items())
    texts = [f"{secret!r} {rows:,}" for secret, rows in listed[:_SHOWN]]
    return ", ".join(texts) + (f" and {len(listed) - _SHOWN} more secrets" if len(listed) > _SHOWN else "")


def _levels_text(plan: ChannelFit) -> str:
    levels = [_level_text(level) for level in plan.channel.outputs]
    more = f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else ""
    source = "declared" if plan.column.public else "learned from the table"
    return f"{', '.join(levels[:_SHOWN])}{more} ({source})"


def _level_text(level: Level) -> str:
    if isinstance(level, tuple):
        return f"({', '.join(map(_level_text, level))})"
    return label_text(level) if isinstance(level, (str, type(None))) else f"{level:g}"


def channel_figures(plan: ChannelFit, /) -> PlanFigures:
    """Those of the plan of a channel."""
    channel, delta = plan.channel, plan.request.target.delta
    losses = [
        ("the observed law", *loss_of(plan.observed, delta=delta)),
        (f"every law that the table does not refute at {100 * CONFIDENCE:g} %", *loss_of(plan.population, delta=delta)),
    ]
    if not delta:
        losses.append(("any law of these levels", *at_most(plan.largest_loss)))
    error = ColumnError(name=plan.name, error=channel.expected_error, constant=channel.constant_error, spread=None)
    what = "the released values of one row together" if len(plan.request.public) > 1 else "one released value"
    return PlanFigures(whom="of one record", what=what, errors=(error,), losses=tuple(losses))


def channel_pictures(plan: ChannelFit, /) -> list[str]:
    """The channel as a matrix, its error beside that of a constant, and its loss per law."""
    channel, target = plan.channel, plan.request.target
    errors = [("error", channel.expected_error), ("one constant", channel.constant_error)]
    if channel.lower_bound > 0:
        errors = [("bound", channel.lower_bound), *errors]
    pure = not target.delta
    losses = {
        "observed law": plan.observed.pure_loss.upper if pure else plan.observed.hockey_stick.upper,
        "population 95 %": plan.population.pure_loss.upper if pure else plan.population.hockey_stick.upper,
    }
    return [
        matrix(channel.matrix, title="Probability of each output", said="a row per level, a column per released level"),
        bars([(name, number, f"{number:.4g}") for name, number in errors], title="Mean error"),
        loss_bars(losses | ({"any law": plan.largest_loss} if pure else {}), target.delta, target.epsilon),
    ]
