"""The joint loss of whole rows at some scales, under one belief or another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.joint.joint_loss import JointLoss, WrongRows
from puffer_frames.loss.joint.lines import JointLaw
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import Noise
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.target import Target
from puffer_frames.priors.joint_counts import JointCounts, JointRows
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.joint.beliefs import JointBelief
from puffer_frames.scales.joint.coupled import coupled_loss

MOST_COLUMNS = 4
"""Of more columns the grid is too large."""


def any_joint_loss(choices: Iterable[Choice], /) -> float:
    """The pure loss of a row under any law on the ranges of the columns is at most this; a column without noise is
    constant.
    """
    reach = 0.0
    for choice in choices:
        low, high = choice.bounds or (0.0, 0.0)
        reach += (high - low) / choice.scale if choice.scale else 0.0
    return reach * (1 + 1e-12)


def unrounded(target: Target, /, *, noise: Noise, columns: int) -> Target:
    """What unrounded values of so many columns must meet so that those on the grid meet the target."""
    for _ in range(columns):
        target = noise.unrounded(target)
    return target


def worst_loss(
    belief: JointBelief, scales: Sequence[float], target: Target, *, pairs: Pairs, bounds: Mapping[int, Bounds]
) -> tuple[Verification, Pair]:
    """The largest loss of a belief at scales that were confirmed for it: at most epsilon."""
    varies = [k for k, scale in enumerate(scales) if scale]
    wrong = None if belief.shares is None else wrong_rows(belief.shares, bounds, belief.tables[0], varies)
    found = [measured(table, scales, target, pairs=pairs, wrong=wrong) for table in belief.tables]
    most, pair = max(found, key=lambda one: one[0].pure_loss.upper)
    lower, upper = (min(end, target.epsilon) for end in (most.pure_loss.lower, most.pure_loss.upper))
    none = Bracket(lower=0.0, upper=0.0)
    loss = Verification(pure_loss=Bracket(lower=lower, upper=upper), hockey_stick=none, epsilon=target.epsilon)
    return loss, pair


def measure_jointly(
    joint: JointCounts, scales: Sequence[float], target: Target, /, *, pairs: Pairs, enough: float | None = None
) -> Verification:
    """The joint loss of some rows at these scales; an upper bound of `enough`, by default epsilon, is not made less."""
    return measured(joint, scales, target, pairs=pairs, enough=enough)[0]


def measured(
    joint: JointCounts,
    scales: Sequence[float],
    target: Target,
    *,
    pairs: Pairs,
    enough: float | None = None,
    wrong: WrongRows | None = None,
) -> tuple[Verification, Pair]:
    """The joint loss, and the pair with the largest one."""
    varies = [k for k, scale in enumerate(scales) if scale]
    first = list(joint.counts)[:2]
    bracket, pair = Bracket(lower=0.0, upper=0.0), (first[0], first[-1])
    if any(not scale and varies_in((joint,), k) for k, scale in enumerate(scales)):
        bracket = Bracket(lower=0.0, upper=float("inf"))  # a column without noise in the plan, which varies here
    elif len(varies) > MOST_COLUMNS:
        bracket, pair = _coupled_bracket(joint, scales, pairs=pairs)
    elif varies:
        loss = JointLoss(laws_of(joint, varies), pairs=pairs, labels=levels_of(joint, varies), wrong=wrong)
        used = [scales[k] for k in varies]
        bracket = loss.bracket(used, enough=target.epsilon if enough is None else enough)
        pair = loss.worst(used).pair if loss.is_in_range(used) else pair
    stick = Bracket(lower=0.0, upper=0.0 if bracket.upper <= target.epsilon else 1.0)
    return Verification(pure_loss=bracket, hockey_stick=stick, epsilon=target.epsilon), pair


def _coupled_bracket(joint: JointCounts, scales: Sequence[float], *, pairs: Pairs) -> tuple[Bracket, Pair]:
    """Of more columns than the grid has: at least the loss of one of them, at most what a coupling of whole rows
    proves.
    """
    upper = coupled_loss(joint, scales, pairs=pairs)
    lower, worst = 0.0, (next(iter(joint.counts)), list(joint.counts)[-1])
    for k, scale in enumerate(scales):
        if scale:
            one = JointLoss(laws_of(joint, [k]), pairs=pairs, labels=levels_of(joint, [k]))
            if one.is_in_range([scale]) and (found := one.bracket([scale], enough=0.0).lower) > lower:
                lower, worst = found, one.worst([scale]).pair
    return Bracket(lower=min(lower, upper), upper=upper), worst


def wrong_rows(
    shares: Mapping[Secret, float], bounds: Mapping[int, Bounds], joint: JointCounts, varies: Sequence[int]
) -> WrongRows:
    """Rows that may be anything within the bounds, of columns that vary."""
    domain = {k: bounds[column] for k, column in enumerate(varies) if column in bounds}
    return WrongRows(shares=shares, domain=domain, levels=levels_of(joint, varies))


def levels_of(joint: JointCounts, columns: Sequence[int]) -> dict[int, int]:
    """How many levels the columns of labels among some columns have, by their place there."""
    return {place: len(joint.labels[k]) for place, k in enumerate(columns) if k in joint.labels}


def laws_of(joint: JointCounts, columns: Sequence[int]) -> dict[Secret, JointLaw]:
    """The frequencies of rows of some columns, per secret."""
    return {
        secret: JointLaw(points=points[:, columns], weights=counts / counts.sum())
        for secret, (points, counts) in joint.counts.items()
    }


def varies_in(tables: Sequence[JointCounts], column: int) -> bool:
    """Whether a column has two values in some tables."""
    values, _ = pooled(tables, column)
    return bool(values.min() < values.max())


def pooled(tables: Sequence[JointCounts], column: int) -> tuple[FloatArray, FloatArray]:
    """All values of a column, and how often each occurs; a value may come several times."""
    parts = [part for table in tables for part in table.counts.values()]
    values = np.concatenate([points[:, column] for points, _ in parts])
    return values, np.concatenate([counts.astype(np.float64) for _, counts in parts])


def prior_of(rows: JointRows, column: int) -> Prior:
    """The frequencies of one column."""
    points, counts = rows
    values, codes = np.unique(points[:, column], return_inverse=True)
    return Prior.empirical(values, np.bincount(codes.ravel(), weights=counts).astype(np.int64))
