"""What a plan of a channel says of other rows than its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.loss.outcome import excess_text
from puffer_frames.mechanisms.batch_report import (
    BEYOND,
    RECALIBRATE,
    REFUSED,
    WITHIN,
    Finding,
    beyond,
    drift_finding,
    figure_of,
    finding,
    rows_found,
)
from puffer_frames.mechanisms.channel.column import LevelTable
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit, Seen
from puffer_frames.mechanisms.channel.measure import loss_of_channel, loss_of_rows
from puffer_frames.numbers.records import refused
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.drift import Batch, protected_here


def measure_levels(plan: ChannelFit, seen: Seen, /) -> Batch:
    """The loss under the frequencies of other rows.

    Raises
    ------
    CalibrationError
        For a secret or a level that the plan does not know.
    """
    seen = seen.protected(plan.request)
    return _measured(plan, seen.counts(plan.column), seen.unsure(plan.column))


def check_own_levels(plan: ChannelFit, seen: Seen, /) -> None:
    """Raise PlanFileError where a plan from a file counts the rows that it was made from in another way."""
    counts, known = seen.protected(plan.request).counts(plan.column), plan.column.counts
    same = set(counts) == set(known) and all(np.array_equal(counts[secret], known[secret]) for secret in counts)
    if not same:
        raise refused("other numbers of rows than its own")


def _measured(plan: ChannelFit, counts: LevelTable, unsure: Mapping[Secret, Fraction]) -> Batch:
    present, pairs, absent = protected_here(counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not pairs:
        return Batch(observed={}, exceeded={}, absent=absent)
    target = plan.request.target
    rows = {secret: counts[secret] for secret in present}
    found = loss_of_rows(rows, plan.channel, pairs=pairs, unsure=unsure)
    exceeded = {} if found.confirms(target) else {plan.name: excess_text(found, target)}
    return Batch(observed={plan.name: found}, exceeded=exceeded, absent=absent)


def findings_of_levels(plan: ChannelFit, seen: Seen, raw: Summary | None, /) -> list[Finding]:
    """What there is to say of rows that were counted as those of the plan; `raw` are numbers without clipping."""
    seen = seen.protected(plan.request)
    rows, column = seen.found.rows_per_secret, ", ".join(plan.request.secret)
    strange = [
        finding("new secret", column, secret, number, verdict=REFUSED)
        for secret, number in rows.items()
        if secret not in plan.rows_per_secret
    ]
    try:
        counts = seen.counts(plan.column)
    except CalibrationError:
        strange.append(_new_levels(plan, seen))
        return [*strange, *rows_found(column, plan.rows_per_secret, rows)]
    found = [*strange, *rows_found(column, plan.rows_per_secret, rows)]
    if not strange:
        found += _losses(plan, seen, counts)
    found += _drift(plan, seen, counts)
    if raw is not None and plan.name in plan.request.domain:
        found.append(beyond(plan.name, raw, plan.request.domain[plan.name], public=True, clips=True))
    return found


def _new_levels(plan: ChannelFit, seen: Seen) -> Finding:
    """How many levels the plan does not know, and their rows."""
    if isinstance(seen.found, LevelCounts):
        known = plan.column.codes or {}
        new = [level not in known for level in seen.found.levels]
        rows = sum(int(counts[new].sum()) for counts in seen.found.counts.values())
        return finding("new level", plan.name, f"{sum(new)} levels", rows, verdict=REFUSED)
    numbers = np.array(plan.column.levels, dtype=np.float64)
    strange = {
        secret: (values[~np.isin(values, numbers)], often[~np.isin(values, numbers)])
        for secret, (values, often) in seen.found.counts.items()
    }
    levels = np.unique(np.concatenate([values for values, _ in strange.values()])).size
    rows = sum(int(often.sum()) for _, often in strange.values())
    return finding("new level", plan.name, f"{levels} levels", rows, verdict=REFUSED)


def _losses(plan: ChannelFit, seen: Seen, counts: LevelTable) -> Iterator[Finding]:
    """Under the frequencies of the rows, which decide, and under every law that they do not refute."""
    unsure, target = seen.unsure(plan.column), plan.request.target
    batch = _measured(plan, counts, unsure)
    measured = batch.observed.get(plan.name)
    if measured is None:
        return
    figure = figure_of(measured, delta=target.delta)
    verdict = RECALIBRATE if batch.exceeded else WITHIN
    yield finding("loss", plan.name, "empirical", figure, limit=target.most, verdict=verdict)
    present, pairs, _ = protected_here(counts, known=plan.rows_per_secret, pairs=plan.pairs)
    rows = {secret: counts[secret] for secret in present}
    wider = loss_of_channel(
        rows,
        plan.channel,
        pairs=pairs,
        epsilon=target.epsilon,
        confidence=CONFIDENCE,
        unsure=unsure,
    )
    verdict = WITHIN if wider.confirms(target) else BEYOND
    figure = figure_of(wider, delta=target.delta)
    yield finding("loss", plan.name, "population", figure, limit=target.most, verdict=verdict)


def _drift(plan: ChannelFit, seen: Seen, counts: LevelTable) -> Iterator[Finding]:
    """How far the law of the inputs given each secret is from that of the plan, in an order that is not learned.

    Of merged labels there is no such order.
    """
    if plan.merged:
        return
    order = _order(plan)
    unsure: Mapping[Secret, float] = {secret: float(share) for secret, share in seen.unsure(plan.column).items()}
    places = np.arange(len(order), dtype=np.float64)
    for secret, known in plan.column.counts.items():
        if secret in counts:
            before, after = (places, known[order]), (places, counts[secret][order])
            yield drift_finding(plan.name, secret, before, after, secrets=len(plan.column.counts), apart=unsure[secret])


def _order(plan: ChannelFit) -> list[int]:
    """The inputs by type and value, a missing one last."""
    levels = plan.column.levels
    places = {(type(level), level): k for k, level in enumerate(levels)}
    return [places[type(level), level] for level in sorted_levels(levels)]
