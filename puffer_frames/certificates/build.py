"""What the certificates of all verbs have in common: the parts that follow from the scales and why."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from puffer_frames.certificates.version import __version__
from puffer_frames.noise.totals import AnswerNoise
from puffer_frames.numbers.arguments import Target
from puffer_frames.scales.choice import Choice


def of_table(labels: Collection[str], numbers: Collection[str], columns: Collection[str], /) -> dict[str, Any]:
    """Fields of a table of answers: its columns of labels and of numbers, and the columns that the frame had."""
    return {
        "answers": True,
        "public": ("answer",),
        "kept": tuple(name for name in (*labels, *numbers) if name != "answer"),
        "withheld": tuple(name for name in columns if name not in (*labels, *numbers)),
        "observed": {},
    }


def of_choices(
    choices: Mapping[str, Choice],
    target: Target,
    /,
    *,
    noises: Mapping[str, AnswerNoise | None],
    family: str,
    calibration: str,
    seeded: bool,
) -> dict[str, Any]:
    """Fields of a certificate by their names.

    Parameters
    ----------
    choices : mapping of column or statistic to Choice
    noises : mapping of the same to the noise, or None for none
    family : str
        The name of the noise in a sentence.
    calibration : str
        How the scales were found.
    seeded : bool
        Whether the noise can be drawn again.
    """
    return {
        "epsilon": target.epsilon,
        "delta": target.delta,
        "theorem": " and ".join(dict.fromkeys(choice.theorem.name for choice in choices.values())),
        "source": " and ".join(dict.fromkeys(choice.theorem.source for choice in choices.values())),
        "published_scales": {name: choice.published_scale for name, choice in choices.items()},
        "calibration": calibration,
        "noise": family,
        "scales": {name: choice.scale for name, choice in choices.items()},
        "expected_error": {
            name: 0.0 if noise is None else noise.expected_absolute_error for name, noise in noises.items()
        },
        "verified": {name: dict(choice.verified) for name, choice in choices.items()},
        "estimated": {},
        "adds_up": all(choice.adds_up for choice in choices.values()),
        "reproducible": seeded,
        "version": __version__,
    }
