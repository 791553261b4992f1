"""The noise families, by the words that users give them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, TypeAlias

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.stable import Stable

NoiseArgument: TypeAlias = Literal["laplace", "gaussian"] | NoiseFamily

LAPLACE, GAUSSIAN = Laplace(), Gaussian()
WORDS: Mapping[str, NoiseFamily] = {noise.name: noise for noise in (LAPLACE, GAUSSIAN)}
"""Families with nothing else to choose than the scale."""


def family_titled(title: str, /) -> NoiseFamily | None:
    """The family that a certificate names, at scale 1; None for a title that is none of these."""
    found = re.fullmatch(r"([\d.]+)-stable", title)
    return Stable(alpha=float(found[1])) if found else next((n for n in WORDS.values() if n.title == title), None)


def noise_family(noise: NoiseArgument, /, *, role: str = "noise") -> NoiseFamily:
    """The family that an argument names: a word, or a noise without a scale; raises ArgumentError for another."""
    if isinstance(noise, NoiseFamily):
        if noise.scale != 1.0:
            raise ArgumentError(
                role,
                rule="a noise without a scale, which is what is looked for",
                got=f"one of scale {noise.scale:g}",
                hint="Leave the scale out: Stable(alpha=1.7).",
            )
        return noise
    if not isinstance(noise, str) or noise not in WORDS:
        known = ", ".join(f'"{word}"' for word in WORDS)
        raise ArgumentError(
            role,
            rule=f"{known} or a noise such as puffer_frames.Stable(alpha=1.7)",
            got=repr(noise) if isinstance(noise, str) else f"a {type(noise).__name__}",
            hint='Leave it out for "laplace".',
        )
    return WORDS[noise]
