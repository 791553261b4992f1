"""A plan of noise without what no release needs: the laws of its beliefs, and what cannot be read back from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from puffer_frames.mechanisms.lean import lacking, lean_entry, lean_request
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.strata import StrataChoices

F = TypeVar("F", bound=NoiseFit)
LAWS = "the laws of its beliefs"
"""What every plan of noise from a file lacks."""


def lean(plan: F, /) -> tuple[F, tuple[str, ...]]:
    """The plan without laws of beliefs, and what it lacks, in words.

    It keeps the observed frequencies, with which those of later rows are compared, and per belief its name, its words
    and what was measured. Of strata it keeps the scales and what was measured.
    """
    choices = {name: _lean_choice(choice) for name, choice in plan.choices.items()}
    strata = None if plan.strata is None else _lean_strata(plan.strata)
    request = lean_request(plan.request, plan.pairs)
    return replace(plan, request=request, choices=choices, strata=strata), (LAWS, *lacking(plan.request))


def whole(plan: F, /) -> F:
    """A plan from a file, with the priors of theorems that assume the observed frequencies."""
    choices = {name: replace(choice, priors=choice.priors or choice.empirical) for name, choice in plan.choices.items()}
    return replace(plan, choices=choices)


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
    return tuple(lean_entry(each) for each in learned)
