"""How a channel changes with epsilon: its error, and the delta that it has at other epsilons."""

from __future__ import annotations

import math
from collections.abc import Iterable

from puffer_frames.frames.columns import NativeFrame
from puffer_frames.mechanisms.channel.best import find
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit
from puffer_frames.mechanisms.channel.measure import loss_of_channel
from puffer_frames.mechanisms.points import NO_BOUND, CurvePoint, ProfilePoint, as_epsilons, as_points, from_file
from puffer_frames.mechanisms.seam import Owner
from puffer_frames.numbers.target import Target


def channel_curve_of(owner: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
    """The error against epsilon, and the bound of all that see the value alone."""
    plan: ChannelFit = owner.fitted
    asked = as_epsilons(epsilons, plan.request.target.epsilon)
    laws = tuple(laws for each in plan.beliefs.values() for laws in each.laws)
    if not all(law.counts for each in laws for law in each.values()):
        raise from_file("the laws of its beliefs")
    points = []
    for epsilon in asked:
        target = Target.of(epsilon, plan.request.target.delta)
        column = plan.column
        found = find(
            laws,
            column.pooled,
            levels=column.levels,
            cost=column.cost,
            target=target,
            pairs=plan.pairs,
            options=plan.options,
            table=column.counts,
            costs=column.costs,
        )
        points.append(
            CurvePoint(
                column=plan.name,
                epsilon=epsilon,
                delta=target.delta,
                published_scale=math.nan,
                scale=math.nan,
                published_error=math.nan,
                error=found.expected_error,
                bound=NO_BOUND if column.in_cells else found.lower_bound,
            )
        )
    return as_points(points, CurvePoint, owner.library)


def channel_profile_of(owner: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
    """The delta of the channel at every epsilon, under the observed law and those that the table does not refute."""
    plan: ChannelFit = owner.fitted
    counts = {secret: plan.column.counts[secret] for secret in plan.secrets}
    points = []
    for belief, confidence in (("empirical", None), ("population", CONFIDENCE)):
        for epsilon in as_epsilons(epsilons, plan.request.target.epsilon):
            found = loss_of_channel(
                counts, plan.channel, pairs=plan.pairs, epsilon=epsilon, confidence=confidence
            ).hockey_stick
            points.append(
                ProfilePoint(
                    column=plan.name,
                    belief=belief,
                    covered=belief in plan.beliefs,
                    epsilon=epsilon,
                    lower=max(0.0, found.lower),
                    upper=found.upper,
                )
            )
    return as_points(points, ProfilePoint, owner.library)
