"""The published theorems by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from puffer_frames.errors import ArgumentError
from puffer_frames.pairs import Pairs
from puffer_frames.priors import Prior, Secret
from puffer_frames.theorems.bernoulli import bernoulli_scale
from puffer_frames.theorems.kantorovich import kantorovich_scale


class PublishedScale(Protocol):
    """A published condition, solved for the scale."""

    def __call__(self, priors: Mapping[Secret, Prior], /, *, epsilon: float, pairs: Pairs) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A published sufficient condition and what there is to say of it."""

    name: str
    """The argument `theorem`."""
    title: str
    """Its name in the literature."""
    source: str
    """Paper key and number."""
    condition: str
    """The scale it asks for, in words."""
    scale: PublishedScale
    """The function that computes it."""


KANTOROVICH = Theorem(
    name="kantorovich",
    title="Kantorovich mechanism",
    source="[SWC17] section 3, [D22], [DLYZ] Prop. 2",
    condition="largest W-infinity distance / epsilon",
    scale=kantorovich_scale,
)
BERNOULLI = Theorem(
    name="bernoulli",
    title="binary values",
    source="[DLYZ] Lemma 5",
    condition="distance of the two values / epsilon",
    scale=bernoulli_scale,
)

THEOREMS: Mapping[str, Theorem] = {theorem.name: theorem for theorem in (KANTOROVICH, BERNOULLI)}


def check_theorem(name: str, /) -> str:
    """Return the name of a theorem or "auto"; raise ArgumentError for another."""
    if name != "auto" and name not in THEOREMS:
        known = ", ".join(f'"{known}"' for known in ("auto", *THEOREMS))
        raise ArgumentError("theorem", rule=f"one of {known}", got=repr(name), hint='Leave it out for "auto".')
    return name
