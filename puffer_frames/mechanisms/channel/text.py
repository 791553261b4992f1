"""A plan of a channel as titled rows of text."""

from __future__ import annotations

import math
from dataclasses import dataclass

from puffer_frames.loss.outcome import measured_text
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelPlan
from puffer_frames.mechanisms.channel.options import label_text
from puffer_frames.numbers.presentation import Rows, lower_text, odds_text, pairs_text, plain, shown_names, upper_text
from puffer_frames.priors.level_counts import Level

_SHOWN = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Errors of noise with the same guarantee for the observed laws alone."""

    noise: float
    """Mean absolute noise."""
    remap: float
    """Mean absolute error after the posterior median."""


def channel_title(plan: ChannelPlan, /) -> str:
    """The first line."""
    target = plan.request.target
    delta = "pure" if target.delta == 0 else f"delta = {plain(target.delta)}"
    columns = f"release {shown_names(plan.request.public)}, hide {shown_names(plan.request.secret)}"
    return f"Plan: {columns}; epsilon = {plain(target.epsilon)}, {delta}"


def channel_rows(plan: ChannelPlan, compared: Compared | None, /) -> Rows:
    """Labels and texts, in order."""
    target, channel = plan.request.target, plan.channel
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(_released(plan), epsilon=target.epsilon, delta=target.delta)),
        ("mechanism", _mechanism(plan)),
        ("withstands", _withstood(plan)),
        ("expected error", f"{channel.expected_error:.6g} ({_unit(plan)})"),
        (
            "beside it",
            f"the best constant in place of every value {channel.constant_error:.6g}; {_bound(plan)}",
        ),
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


def _released(plan: ChannelPlan) -> str:
    several = len(plan.request.public) > 1
    return "the released values of one row together" if several else "one released value"


def _bound(plan: ChannelPlan) -> str:
    if plan.column.is_partial:
        return "what a mechanism with other rows of labels might reach is not known"
    if plan.column.in_cells:
        return "what a mechanism without these cells might reach is not known"
    seen = "these values" if len(plan.request.public) > 1 else "this value"
    released = "" if isinstance(plan.options.cost, str) else " and releases its levels"
    bound = lower_text(plan.channel.lower_bound)
    return f"no mechanism with this guarantee that sees {seen} alone{released} is below {bound}"


def _mechanism(plan: ChannelPlan) -> str:
    inputs, outputs = len(plan.channel.inputs), len(plan.channel.outputs)
    what = "cells of values" if plan.column.in_cells else "levels"
    of = "of the medians " if plan.column.in_cells else ""
    kept = {None: "", "mean": f", the mean {of}kept on average", "marginal": ", the shares kept on average"}
    return f"channel from a linear program: {inputs} {what} to {outputs}{kept[plan.options.preserve]}"


def _withstood(plan: ChannelPlan) -> str:
    parts = [] if plan.radius is None else [f"wrong values in {plan.radius}"]
    if plan.options.cap is not None:
        parts.append(f"any law at all, with a loss of at most {plain(plan.options.cap)}")
    if plan.is_brittle:
        parts.append(f"nothing{' else' * bool(parts)} but the beliefs below: THE VALUE ITSELF IS NOT PROTECTED")
    return "; ".join(parts) or "any law at all, with the loss that was asked for"


def _unit(plan: ChannelPlan) -> str:
    cost = plan.options.cost
    if not isinstance(cost, str):
        return "mean of the given cost"
    if len(plan.request.public) > 1 and cost == "auto":
        return "share of changed labels"
    return "mean absolute error" if plan.column.edges is not None and cost != "change" else "share of changed values"


def _losses(plan: ChannelPlan) -> str:
    delta = plan.request.target.delta
    pure = plan.largest_loss
    largest = "no bound" if pure == math.inf else f"pure loss at most {upper_text(pure)}"
    population = measured_text(plan.population, delta=delta)
    return (
        f"under the observed law: {measured_text(plan.observed, delta=delta)}; under every law of these levels that "
        f"the table does not refute at {100 * CONFIDENCE:g} %: {population}; under any law of these levels: {largest}"
    )


def _rows_text(plan: ChannelPlan) -> str:
    listed = list(plan.rows_per_secret.items())
    texts = [f"{secret!r} {rows:,}" for secret, rows in listed[:_SHOWN]]
    return ", ".join(texts) + (f" and {len(listed) - _SHOWN} more secrets" if len(listed) > _SHOWN else "")


def _levels_text(plan: ChannelPlan) -> str:
    levels = [_level_text(level) for level in plan.channel.outputs]
    more = f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else ""
    source = "declared" if plan.column.public else "learned from the table"
    return f"{', '.join(levels[:_SHOWN])}{more} ({source})"


def _level_text(level: Level) -> str:
    if isinstance(level, tuple):
        return f"({', '.join(map(_level_text, level))})"
    return label_text(level) if isinstance(level, (str, type(None))) else f"{level:g}"
