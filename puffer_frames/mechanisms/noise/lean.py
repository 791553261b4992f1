"""A plan without what no release needs: the laws of its beliefs, and what cannot be read back from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from puffer_frames.mechanisms.channel.adversaries import Adversary
from puffer_frames.mechanisms.channel.fitted import ChannelPlan
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.request import Request
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.level_counts import LevelCounts
from puffer_frames.priors.pairs import Pairs
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import LearnedBelief, OtherTable
from puffer_frames.scales.strata import StrataChoices

LAWS = "the laws of its beliefs"
"""What every plan of noise from a file lacks."""


def lean(plan: Plan, /) -> tuple[Plan, tuple[str, ...]]:
    """The plan without laws of beliefs, and what it lacks, in words.

    It keeps the observed frequencies, with which those of later rows are compared, and per belief its name, its words
    and what was measured. Of strata it keeps the scales and what was measured.
    """
    choices = {name: _lean_choice(choice) for name, choice in plan.choices.items()}
    strata = None if plan.strata is None else _lean_strata(plan.strata)
    request = _lean_request(plan.request, plan.pairs)
    return replace(plan, request=request, choices=choices, strata=strata), (LAWS, *_named(plan.request))


def whole(plan: Plan, /) -> Plan:
    """A plan from a file, with the priors of theorems that assume the observed frequencies."""
    choices = {name: replace(choice, priors=choice.priors or choice.empirical) for name, choice in plan.choices.items()}
    return replace(plan, choices=choices)


def lean_channel(plan: ChannelPlan, /) -> tuple[ChannelPlan, tuple[str, ...]]:
    """The plan of a channel without side knowledge and other tables, and what it lacks, in words."""
    options = _lean_options(plan.options, plan)
    mechanism = options if isinstance(plan.request.mechanism, Channel) else plan.request.mechanism
    request = replace(_lean_request(plan.request, plan.pairs), mechanism=mechanism)
    beliefs = {name: _lean_adversary(name, one) for name, one in plan.beliefs.items()}
    channel = replace(plan.channel, problem=replace(plan.channel.problem, beliefs=()))
    lean = replace(plan, request=request, options=options, beliefs=beliefs, channel=channel)
    return lean, _named(plan.request)


def whole_channel(plan: ChannelPlan, /) -> ChannelPlan:
    """The plan of a channel from a file, with the laws that its channel must meet, as far as the file has them."""
    laws = tuple(one for each in plan.beliefs.values() for one in each.laws if all(law.counts for law in one.values()))
    return replace(plan, channel=replace(plan.channel, problem=replace(plan.channel.problem, beliefs=laws)))


def _named(request: Request) -> tuple[str, ...]:
    """Beliefs that cannot be read back, in words."""
    given = sum(isinstance(entry, Mapping) for entry in request.beliefs)
    tables = sum(isinstance(entry, (OtherTable, LevelCounts, JointCounts)) for entry in request.beliefs)
    words = ["side knowledge"] * bool(given) + ["other tables"] * bool(tables)
    return tuple(words)


def _lean_request(request: Request, pairs: Pairs) -> Request:
    """With the pairs as they were read: those that were given may have been read up."""
    return replace(
        request,
        pairs="all" if request.apart else pairs,
        given=None if request.given is None else replace(request.given, columns=request.given_columns),
        beliefs=tuple(_lean_entry(entry) for entry in request.beliefs),
    )


def _lean_entry(entry: Any) -> Any:
    """A belief that was asked for; of side knowledge and other tables what is left is that there were some."""
    if isinstance(entry, Mapping):
        return {}
    if isinstance(entry, OtherTable):
        return replace(entry, counts={})
    if isinstance(entry, LevelCounts):
        return replace(entry, levels=(), counts={})
    if isinstance(entry, JointCounts):
        return replace(entry, counts={}, labels={})
    return entry


def _lean_choice(choice: Choice) -> Choice:
    same = choice.priors is choice.empirical or choice.priors == choice.empirical
    return replace(
        choice,
        priors={} if same else choice.priors,
        beliefs={name: {} for name in choice.beliefs},
        learned=_lean_learned(choice.learned),
    )


def _lean_strata(strata: StrataChoices) -> StrataChoices:
    return replace(
        strata,
        choices={
            z: {name: replace(_lean_choice(choice), priors={}, empirical={}) for name, choice in choices.items()}
            for z, choices in strata.choices.items()
        },
    )


def _lean_learned(learned: Sequence[LearnedBelief]) -> tuple[LearnedBelief, ...]:
    return tuple(_lean_entry(each) for each in learned)


def _lean_options(options: Channel, plan: ChannelPlan) -> Channel:
    """A cost that is a function, or a matrix of any kind, is written as what it says of the levels."""
    return options if isinstance(options.cost, str) else replace(options, cost=plan.column.cost)


def _lean_adversary(name: str, one: Adversary) -> Adversary:
    if name.split(" ")[0] not in ("given", "other"):
        return one
    laws = tuple({secret: replace(law, counts=()) for secret, law in each.items()} for each in one.laws)
    return replace(one, laws=laws)
