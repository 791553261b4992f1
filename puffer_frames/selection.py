"""Which theorem applies, which scale it takes, and what the engine says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.loss.engine import Loss, privacy_loss
from puffer_frames.loss.outcome import Verification
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.priors import Prior, Secret
from puffer_frames.search import is_private, smallest_scale_of
from puffer_frames.theorems.catalogue import BERNOULLI, KANTOROVICH, THEOREMS, Theorem

_ROUNDING_STEPS = 24
"""A scale at the very edge of privacy is raised by at most 2**(_ROUNDING_STEPS - 48) of itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A scale for one column, and why."""

    theorem: Theorem
    published_scale: float
    """Scale that the theorem asks for."""
    scale: float
    """Scale to use: confirmed by the engine for every belief."""
    binding_belief: str
    """The belief with the largest exact scale (under calibration "theorem": with the largest loss)."""
    worst_pair: Pair
    """The pair with the largest loss at the scale under the binding belief."""
    verified: Mapping[str, Verification]
    """What the engine measured at the scale, per belief."""


def choose_theorem(priors: Mapping[Secret, Prior], /, *, theorem: str) -> Theorem:
    """Return the theorem of that name, or the one that fits the priors best for "auto"."""
    if theorem != "auto":
        return THEOREMS[theorem]
    values = np.unique(np.concatenate([prior.means for prior in priors.values()]))
    return BERNOULLI if values.size == 2 else KANTOROVICH


def check_calibration(calibration: str, /) -> str:
    """Return "exact" or "theorem"; raise ArgumentError for another word."""
    if calibration not in ("exact", "theorem"):
        raise ArgumentError(
            "calibration", rule='"exact" or "theorem"', got=repr(calibration), hint='Leave it out for "exact".'
        )
    return calibration


def select_scale(
    beliefs: Mapping[str, Mapping[Secret, Prior]],
    /,
    *,
    theorem: Theorem,
    epsilon: float,
    delta: float,
    pairs: Pairs,
    calibration: str,
    allow_zero_noise: bool,
) -> Selection:
    """Find the scale that every belief confirms.

    Parameters
    ----------
    beliefs : mapping of name to priors
        The first one is the belief that the theorem assumes.
    theorem : Theorem
    epsilon, delta : float
    pairs : "all" or tuple of pairs
    calibration : str
        "exact": the smallest confirmed scale. "theorem": the published one, raised where it is not confirmed.
    allow_zero_noise : bool
        Whether a scale of 0 may be the answer.

    Raises
    ------
    CalibrationError
        Where no noise at all would be added and `allow_zero_noise` is false.
    """
    published = theorem.scale(next(iter(beliefs.values())), epsilon=epsilon, pairs=pairs)
    engines = {name: privacy_loss(priors, pairs=pairs) for name, priors in beliefs.items()}
    if calibration == "exact":
        scales = {n: smallest_scale_of(engine, epsilon=epsilon, delta=delta) for n, engine in engines.items()}
    else:
        scales = {n: _confirmed(engine, published, epsilon=epsilon, delta=delta) for n, engine in engines.items()}
    binding = max(scales, key=lambda name: scales[name])
    scale = scales[binding]
    if scale == 0 and not allow_zero_noise:
        raise CalibrationError(
            "the request",
            rule="one that needs noise",
            got=f"a column that is already private at epsilon {epsilon:g} and delta {delta:g} for these pairs",
            hint="Try a smaller epsilon or delta, or say allow_zero_noise=True to release the values as they are.",
        )
    worst = {n: engine.pure(scale) for n, engine in engines.items()}
    sticks = {n: engine.hockey_stick(scale, epsilon=epsilon) for n, engine in engines.items()}
    return Selection(
        theorem=theorem,
        published_scale=published,
        scale=scale,
        binding_belief=binding,
        worst_pair=(sticks if delta > 0 else worst)[binding].pair,
        verified={n: Verification(pure_loss=worst[n].bracket, hockey_stick=sticks[n].bracket) for n in engines},
    )


def _confirmed(engine: Loss, published: float, *, epsilon: float, delta: float) -> float:
    """The published scale, or the smallest one above it that the engine confirms.

    At the very edge of privacy (two point masses, say) the upper bound of the loss exceeds epsilon by its rounding
    error alone; a few steps of relative size 2**-48 and more mend that.
    """
    if is_private(engine, published, epsilon=epsilon, delta=delta):
        return published
    for k in range(_ROUNDING_STEPS):
        raised = math.nextafter(published * (1 + 2.0 ** (k - 48)), math.inf)
        if is_private(engine, raised, epsilon=epsilon, delta=delta):
            return raised
    return max(published, smallest_scale_of(engine, epsilon=epsilon, delta=delta))
