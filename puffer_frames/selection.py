"""Which scale to use, and what the engine says of it and of the published one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from puffer_frames.beliefs import Belief
from puffer_frames.errors import ArgumentError, CalibrationError, PriorError, UnsoundTheoremWarning, warn
from puffer_frames.loss.bracket import Bracket
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.outcome import Loss, Verification
from puffer_frames.noise.family import LAPLACE, Family
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.search import is_private, loss_of, smallest_scale_of
from puffer_frames.theorems.catalogue import Theorem
from puffer_frames.theorems.gaussian import translation_scale
from puffer_frames.theorems.kantorovich import kantorovich_scale

_ROUNDING_STEPS = 24
"""A scale at the very edge of privacy is raised by at most 2**(_ROUNDING_STEPS - 48) of itself."""
_EDGE = 2.0**-10
"""A loss that is proved to be beyond the request by more than this share is not at the edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A scale for one column, and why."""

    theorem: Theorem
    """The theorem that proposed a scale, and what there is to say of it."""
    priors: Belief
    """The priors that the theorem assumes."""
    beliefs: Mapping[str, Belief]
    """Priors per secret, per belief that the guarantee covers."""
    published_scale: float | None
    """Scale that the theorem asks for; None where its condition does not exist."""
    published_loss: Verification | None
    """What the engine measured at the published scale, under the belief that the theorem assumes."""
    scale: float
    """Scale to use: confirmed by the engine for every belief."""
    scale_per_belief: Mapping[str, float]
    """The scale that each belief alone needs; under "theorem", the published one or what it is raised to."""
    none_needed: bool
    """Whether every belief would be satisfied without noise."""
    binding_belief: str
    """The belief that needs the largest scale."""
    worst_pair: Pair
    """The pair with the largest loss at the scale under the binding belief."""
    verified: Mapping[str, Verification]
    """What the engine measured at the scale, per belief."""
    adds_up: bool
    """Whether the scale rests on an almost-sure coupling under every belief, so that epsilons of releases add."""


def check_calibration(calibration: str, /) -> str:
    """Return "exact" or "theorem"; raise ArgumentError for another word."""
    if not isinstance(calibration, str) or calibration not in ("exact", "theorem"):
        raise ArgumentError(
            "calibration", rule='"exact" or "theorem"', got=repr(calibration), hint='Leave it out for "exact".'
        )
    return calibration


def select_scale(
    beliefs: Mapping[str, Belief],
    /,
    *,
    theorem: Theorem,
    assumed: Belief,
    epsilon: float,
    delta: float,
    pairs: Pairs,
    calibration: str,
    allow_zero_noise: bool,
    family: Family = LAPLACE,
) -> Selection:
    """Find the scale that every belief confirms.

    Parameters
    ----------
    beliefs : mapping of name to priors
    theorem : Theorem
    assumed : mapping of secret to Prior
        The priors that the theorem assumes.
    epsilon, delta : float
    pairs : "all" or tuple of pairs
    calibration : str
        "exact": the smallest confirmed scale. "theorem": the published one, raised where it is not confirmed.
    allow_zero_noise : bool
        Whether a scale of 0 may be the answer.

    Raises
    ------
    CalibrationError
        Where no noise at all would be added and `allow_zero_noise` is false, and for "theorem" where the published
        condition does not exist.

    Warns
    -----
    UnsoundTheoremWarning
        For "theorem", where the engine refutes the published scale under the theorem's own priors.
    """
    engines = {name: privacy_loss(priors, pairs=pairs, family=family) for name, priors in beliefs.items()}
    own = next((engines[n] for n, b in beliefs.items() if b is assumed), None) or privacy_loss(
        assumed, pairs=pairs, family=family
    )
    published = theorem.scale_for(assumed, family=family, epsilon=epsilon, delta=delta, pairs=pairs)
    asked = dict(zip(("epsilon", "delta"), family.request(epsilon=epsilon, delta=delta), strict=True))
    require_finite(published or 0.0, epsilon=epsilon)
    published_loss = None if published is None else measure(own, published, epsilon=epsilon)[0]
    if calibration == "exact":
        scales = {n: smallest_scale_of(engine, **asked) for n, engine in engines.items()}
    elif published is None:
        raise CalibrationError(
            "the request",
            rule="one for which the theorem has a condition",
            got=f"theorem {theorem.name!r} with {family.title} noise at delta {delta:g}",
            hint='Leave calibration="exact"' + (", or ask for a delta above 0." if family == LAPLACE else "."),
        )
    else:
        on_grid = theorem.scale_for(assumed, family=family, pairs=pairs, **asked)
        proposed = max(published, on_grid or 0.0)
        scales = {n: confirmed(engine, proposed, **asked) for n, engine in engines.items()}
    binding = max(scales, key=lambda name: scales[name])
    scale, measured = _confirmed_by_all(engines, scales[binding], **asked)
    if calibration == "theorem" and published_loss is not None and published is not None:
        _warn_if_refuted(theorem, published, published_loss, epsilon=epsilon, delta=delta, scale=scale)
    require_noise(scale, beliefs, epsilon=epsilon, delta=delta, allow_zero_noise=allow_zero_noise)
    _, by_pure, by_stick = measured[binding]
    distance = max(_distance(belief, pairs=pairs) for belief in beliefs.values())
    return Selection(
        theorem=theorem,
        priors=assumed,
        beliefs=beliefs,
        published_scale=published,
        published_loss=published_loss,
        scale=scale,
        scale_per_belief=scales,
        none_needed=scale == 0
        or (calibration == "theorem" and all(is_private(e, 0.0, **asked) for e in engines.values())),
        binding_belief=binding,
        worst_pair=by_stick if delta else by_pure,
        verified={name: verification for name, (verification, _, _) in measured.items()},
        adds_up=distance < math.inf and family.for_distance(distance, epsilon=epsilon, delta=delta) <= scale,
    )


def require_noise(
    scale: float, beliefs: Iterable[str], /, *, epsilon: float, delta: float, allow_zero_noise: bool
) -> None:
    """Raise CalibrationError for a scale of 0 that was not allowed by name."""
    if scale == 0 and not allow_zero_noise:
        raise CalibrationError(
            "the request",
            rule="one that needs noise",
            got=f"a column that is already private at epsilon {epsilon:g} and delta {delta:g} for these pairs, "
            f"under the belief: {', '.join(beliefs)}",
            hint="Try a smaller epsilon or delta, or say allow_zero_noise=True to release the values as they are.",
        )


def measure(engine: Loss, scale: float, /, *, epsilon: float) -> tuple[Verification, Pair, Pair]:
    """What the engine says of a scale, and the pairs with the largest pure loss and the largest hockey stick."""
    pure = engine.pure(scale)
    if pure.bracket.upper <= epsilon:  # then f_i - e^epsilon f_j is nowhere positive
        none = Bracket(lower=0.0, upper=0.0)
        return Verification(pure_loss=pure.bracket, hockey_stick=none), pure.pair, pure.pair
    stick = engine.hockey_stick(scale, epsilon=epsilon)
    return Verification(pure_loss=pure.bracket, hockey_stick=stick.bracket), pure.pair, stick.pair


def confirmed(engine: Loss, published: float, *, epsilon: float, delta: float) -> float:
    """The published scale, or the smallest one above it that the engine confirms.

    At the very edge of privacy (two point masses, say) the upper bound of the loss exceeds epsilon by its rounding
    error alone; a few steps of relative size 2**-48 and more mend that.
    """
    found = loss_of(engine, published, epsilon=epsilon, delta=delta).bracket
    if found.upper <= (delta or epsilon):
        return published
    raised = published
    at_the_edge = found.lower <= (delta or epsilon) * (1 + _EDGE)
    for k in range(_ROUNDING_STEPS if published and at_the_edge else 0):
        raised = math.nextafter(published * (1 + 2.0 ** (k - 48)), math.inf)
        if is_private(engine, raised, epsilon=epsilon, delta=delta):
            return raised
    smallest = smallest_scale_of(engine, epsilon=epsilon, delta=delta)
    if smallest >= published:
        return smallest
    raised = published * (1 + 2.0 ** (_ROUNDING_STEPS - 48))
    while not is_private(engine, raised, epsilon=epsilon, delta=delta):  # a wide bracket hides that the loss falls
        raised *= 1.5
        require_finite(raised, epsilon=epsilon)
    return raised


def require_finite(scale: float, /, *, epsilon: float) -> None:
    """Raise CalibrationError for a scale beyond the range of floats."""
    if math.isinf(scale):
        raise CalibrationError(
            "the request",
            rule="satisfiable by a scale in the range of floats",
            got=f"a larger one at epsilon {epsilon:g}",
            hint="Ask for a larger epsilon, or divide the column by a constant first.",
        )


def _confirmed_by_all(
    engines: Mapping[str, Loss], scale: float, *, epsilon: float, delta: float
) -> tuple[float, dict[str, tuple[Verification, Pair, Pair]]]:
    """The scale, raised where an engine that needs less does not confirm it, and what every engine says of it."""
    while True:
        measured = {name: measure(engine, scale, epsilon=epsilon) for name, engine in engines.items()}
        doubtful = [name for name, (m, _, _) in measured.items() if not is_confirmed(m, epsilon=epsilon, delta=delta)]
        if not doubtful:
            return scale, measured
        scale = max(confirmed(engines[name], scale, epsilon=epsilon, delta=delta) for name in doubtful)


def is_refuted(measured: Verification, /, *, epsilon: float, delta: float) -> bool:
    """True where the engine has proved that a scale is not private."""
    return measured.hockey_stick.lower > delta if delta else measured.pure_loss.lower > epsilon


def is_confirmed(measured: Verification, /, *, epsilon: float, delta: float) -> bool:
    """True where the engine has proved that a scale is private."""
    return measured.hockey_stick.upper <= delta if delta else measured.pure_loss.upper <= epsilon


def _warn_if_refuted(
    theorem: Theorem, published: float, measured: Verification, *, epsilon: float, delta: float, scale: float
) -> None:
    if not is_refuted(measured, epsilon=epsilon, delta=delta):
        return
    if delta:
        found, asked = f"delta {measured.hockey_stick.lower:.6g}", f"delta {delta:g} at epsilon {epsilon:g}"
    else:
        found, asked = f"a pure loss of {measured.pure_loss.lower:.6g}", f"a pure loss of at most {epsilon:g}"
    warn(UnsoundTheoremWarning(theorem.name, published_scale=published, measured=found, requested=asked, scale=scale))


def _distance(priors: Belief, *, pairs: Pairs) -> float:
    """Distance of the almost-sure coupling of these priors; infinite where there is none (theory section 9)."""
    if all(prior.is_discrete for prior in priors.values()):
        return kantorovich_scale(priors, epsilon=1.0, pairs=pairs)
    try:
        return translation_scale(priors, epsilon=1.0, pairs=pairs)
    except PriorError:
        return math.inf
