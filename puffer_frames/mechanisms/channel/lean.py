"""A plan of a channel without what cannot be read back from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from puffer_frames.mechanisms.channel.adversaries import Adversary
from puffer_frames.mechanisms.channel.best import placed_laws
from puffer_frames.mechanisms.channel.fitted import ChannelFit
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.lean import lacking, lean_request

F = TypeVar("F", bound=ChannelFit)


def lean_channel(plan: F, /) -> tuple[F, tuple[str, ...]]:
    """The plan of a channel without side knowledge and other tables, and what it lacks, in words."""
    options = _lean_options(plan.options, plan)
    mechanism = options if isinstance(plan.request.mechanism, Channel) else plan.request.mechanism
    request = replace(lean_request(plan.request, plan.pairs), mechanism=mechanism)
    beliefs = {name: _lean_adversary(name, one) for name, one in plan.beliefs.items()}
    channel = replace(plan.channel, problem=replace(plan.channel.problem, beliefs=()))
    lean = replace(plan, request=request, options=options, beliefs=beliefs, channel=channel)
    return lean, lacking(plan.request)


def whole_channel(plan: F, /) -> F:
    """The plan of a channel from a file, with the laws that its channel must meet, as far as the file has them."""
    laws = tuple(one for each in plan.beliefs.values() for one in each.laws if all(law.counts for law in one.values()))
    placed = tuple(placed_laws(one, plan.channel.secrets) for one in laws)
    return replace(plan, channel=replace(plan.channel, problem=replace(plan.channel.problem, beliefs=placed)))


def _lean_options(options: Channel, plan: ChannelFit) -> Channel:
    """A cost that is a function, or a matrix of any kind, is written as what it says of the levels."""
    return options if isinstance(options.cost, str) else replace(options, cost=plan.column.cost)


def _lean_adversary(name: str, one: Adversary) -> Adversary:
    if name.split(" ")[0] not in ("given", "other"):
        return one
    laws = tuple({secret: replace(law, counts=()) for secret, law in each.items()} for each in one.laws)
    return replace(one, laws=laws)
