"""What a plan says of itself beside others: a row of a comparison for each of its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel.fitted import ChannelFit
from puffer_frames.mechanisms.noise.drift import target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.text import spread_of
from puffer_frames.noise.families import WORDS
from puffer_frames.numbers.target import Target
from puffer_frames.priors.prior import Prior
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import ANY_LAW, POPULATION
from puffer_frames.scales.robustness import joint_leanings, strata_leanings

NOTHING_NEEDED = "private as it is: say allow_zero_noise=True"
UNCHANGED = 1 - 1e-12
"""Of a channel that changes nothing: what cannot be told from that is left of any repair."""
ADDS_UP, LARGEST_ADD, NO_RULE = "epsilons add", "largest losses add", "no rule"
UNKNOWN = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row of a comparison: one column under one alternative. What is not known is not a number."""

    epsilon: float
    delta: float
    belief: str
    mechanism: str
    noise: str = ""
    theorem: str = ""
    column: str
    published_scale: float = UNKNOWN
    verdict: str = ""
    scale: float = UNKNOWN
    error: float = UNKNOWN
    error_std: float = UNKNOWN
    error_constant: float = UNKNOWN
    bound: float = UNKNOWN
    loss_observed: float = UNKNOWN
    loss_population: float = UNKNOWN
    loss_any_law: float = UNKNOWN
    composes: str = ""
    seconds: float = UNKNOWN
    reason: str = ""


NAMES = tuple(each.name for each in fields(ComparedRow))
"""The columns of a comparison, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far a column spreads by itself."""

    std: float = UNKNOWN
    constant: float = UNKNOWN
    """The mean error of its median, or of its most frequent label, in place of every value."""

    @classmethod
    def of(cls, summary: Summary, /) -> Spread:
        """Of all rows that were counted."""
        priors = {secret: Prior.empirical(*pair) for secret, pair in summary.counts.items()}
        std, constant = spread_of(priors, summary.rows_per_secret)
        return cls(std=std, constant=constant)


def verdict_of(choice: Choice, target: Target, /) -> str:
    """What the engine says of a published scale, under the priors that its theorem assumes."""
    if choice.published_scale is None or choice.published_loss is None:
        return "not available"
    if choice.published_loss.refutes(target):
        return "refuted"
    return "sound" if choice.published_loss.confirms(target) else "sound up to rounding"


def rows_of(
    plan: NoiseFit, spreads: Mapping[str, Spread], /, *, belief: str, mechanism: str, quoted: bool, seconds: float
) -> list[ComparedRow]:
    """The rows of a plan of noise: of each column.

    Parameters
    ----------
    plan : Plan
    spreads : mapping of column to Spread
        Of columns of numbers.
    belief, mechanism : str
        What they are called.
    quoted : bool
        Whether the theorem has a condition for this belief.
    seconds : float
        What the plan took.
    """
    target, several = plan.request.target, len(plan.choices) > 1
    together = all(choice.adds_up for choice in plan.choices.values())
    judged = target_of(plan).share(plan.request.repeats.measured)
    found, errors, changed = [], plan.expected_error, plan.changed
    for name, choice in plan.choices.items():
        spread = spreads.get(name) or _of_labels(plan, name, choice)
        published = quoted and not plan.is_joint
        error = errors[name] if name in errors else changed[name]
        found.append(
            ComparedRow(
                epsilon=target.epsilon,
                delta=target.delta,
                belief=belief,
                mechanism=mechanism,
                noise=_noise_name(plan),
                theorem=choice.theorem.name if quoted else "",
                column=name,
                published_scale=_number(choice.published_scale) if published else UNKNOWN,
                verdict=verdict_of(choice, judged) if published else "not available",
                scale=choice.scale if name in plan.scales else UNKNOWN,
                error=error,
                error_std=_ratio(error, spread.std),
                error_constant=_ratio(error, spread.constant),
                composes=ADDS_UP if together else NO_RULE,
                seconds=seconds,
                reason="" if any(plan.all_scales.values()) else NOTHING_NEEDED,
                **_figures(plan, choice, several=several),
            )
        )
    return found


def row_of_channel(plan: ChannelFit, spread: Spread | None, /, *, belief: str, seconds: float) -> ComparedRow:
    """The row of a plan of a channel."""
    target, channel, largest = plan.request.target, plan.channel, plan.largest_loss
    by_delta = target.delta > 0
    return ComparedRow(
        epsilon=target.epsilon,
        delta=target.delta,
        belief=belief,
        mechanism="channel",
        theorem="channel",
        column=plan.name,
        verdict="not available",
        error=channel.expected_error,
        error_std=UNKNOWN if spread is None else _ratio(channel.expected_error, spread.std),
        error_constant=_ratio(channel.expected_error, channel.constant_error),
        bound=channel.lower_bound if channel.lower_bound > 0 else UNKNOWN,
        loss_observed=_upper(plan.observed, by_delta=by_delta),
        loss_population=_upper(plan.population, by_delta=by_delta),
        loss_any_law=_as_delta(largest, target) if by_delta else largest,
        composes=LARGEST_ADD if math.isfinite(largest) else NO_RULE,
        seconds=seconds,
        reason=NOTHING_NEEDED if channel.unchanged >= UNCHANGED else "",
    )


def with_bounds(rows: list[ComparedRow], /) -> list[ComparedRow]:
    """The bound that was proved for a channel, on every row with the same guarantee that sees the value alone too."""
    bounds = {(row.epsilon, row.belief): row.bound for row in rows if row.bound > 0}
    return [replace(row, bound=bounds.get((row.epsilon, row.belief), UNKNOWN)) for row in rows]


def _figures(plan: NoiseFit, choice: Choice, *, several: bool) -> dict[str, Any]:
    """The loss under the observed law, under those that the table does not refute, and under any law."""
    target = plan.request.target
    by_delta = target.delta > 0
    if plan.strata is not None:
        found = {each.belief: each.loss for each in strata_leanings(choice, delta=target.delta)}
    elif plan.is_joint:
        found = {each.belief: each.loss for each in joint_leanings(plan.choices, target_of(plan))}
    elif several:  # the theorem proves it; what was measured is of one column alone
        found = {ANY_LAW: target.delta or target.epsilon}
    else:
        found = {name: _upper(each, by_delta=by_delta) for name, each in choice.wider.items()}
        found |= {"empirical": UNKNOWN if choice.observed is None else _upper(choice.observed, by_delta=by_delta)}
    return {
        "loss_observed": found.get("empirical", UNKNOWN),
        "loss_population": found.get(POPULATION, UNKNOWN),
        "loss_any_law": found.get(ANY_LAW, UNKNOWN),
    }


def _of_labels(plan: NoiseFit, name: str, choice: Choice) -> Spread:
    """Of a column of labels beside others: which share of the rows the most frequent label is not."""
    counts = np.zeros(len(plan.levels[name]))
    for secret, prior in choice.empirical.items():
        counts[prior.means.astype(np.intp)] += prior.weights * plan.rows_per_secret[secret]
    return Spread(constant=1 - float(counts.max() / counts.sum()))


def _noise_name(plan: NoiseFit) -> str:
    """The word of the argument, or what the noise is called."""
    noise = plan.request.noise
    return noise.name if noise.name in WORDS else noise.title


def _upper(found: Verification, *, by_delta: bool) -> float:
    return (found.hockey_stick if by_delta else found.pure_loss).upper


def _as_delta(loss: float, target: Target) -> float:
    """A delta at the epsilon that a log-ratio of at most this has everywhere."""
    return min(1.0, max(0.0, -math.expm1(target.epsilon - loss)) * (1 + 2.0**-40))


def _number(found: float | None) -> float:
    return UNKNOWN if found is None else found


def _ratio(error: float, unit: float) -> float:
    return error / unit if unit > 0 else UNKNOWN
