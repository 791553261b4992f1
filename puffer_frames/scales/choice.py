"""One way to a scale: a theorem proposes it, the engines confirm it for every belief, and what they say is measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from puffer_frames.errors import CalibrationError, NoNoiseNeededError, UnsoundTheoremWarning, warn
from puffer_frames.loss.engine import Laws
from puffer_frames.loss.outcome import Bracket, Loss, Verification, WorstCase
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target, check_word
from puffer_frames.numbers.presentation import lower_text, upper_text
from puffer_frames.papers.catalogue import Theorem
from puffer_frames.priors.law_set import is_refuted
from puffer_frames.priors.pairs import Pair
from puffer_frames.scales.learned import Belief, LearnedBelief
from puffer_frames.scales.search import is_private, loss_of, smallest_of_each, smallest_scale_of

_ROUNDING_STEPS = 24
"""A scale at the very edge of privacy is raised by at most 2**(_ROUNDING_STEPS - 48) of itself."""
_LEAST_STEP = 1.0 / 64
"""Steps below this share of what the loss exceeds epsilon by are left out: they cannot mend it."""
_NEARLY = 2.0
"""Up to so many times the epsilon asked for, the loss at the published scale says where the smallest one is."""
_USUAL = 0.5
"""The smallest scale is often about so many times the published one: it is looked for there first."""
_EDGE = 2.0**-10
"""A loss that is proved to be beyond the request by more than this share is not at the edge."""
ULPS = 2.0**-49
"""Roundings of one scale that came about in two ways are within this share of one another."""
_SAME = 1e-9
"""A published scale that was raised by at most this share of it, for the grid of the noise, still decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A scale for one column or answer, and why."""

    theorem: Theorem
    """The theorem that proposed a scale, and what there is to say of it."""
    published_scale: float | None
    """Scale that the theorem asks for; None where its condition does not exist."""
    published_loss: Verification | None = None
    """What the engine measured at the published scale, under the belief that the theorem assumes; None: not judged."""
    scale: float
    """Scale to use: confirmed by the engine for every belief, or proved by the theorem."""
    scale_per_belief: Mapping[str, float] = field(default_factory=dict)
    """The scale that each belief alone needs; under "theorem", the published one or what it is raised to."""
    none_needed: bool = False
    """Whether every belief would be satisfied without noise."""
    binding_belief: str
    """The belief that needs the largest scale."""
    worst_pair: Pair = (None, None)
    """The pair with the largest loss at the scale under the binding belief; of a series none."""
    verified: Mapping[str, Verification]
    """What the engine measured at the scale, per belief."""
    adds_up: bool
    """Whether the scale rests on an almost-sure coupling under every belief, so that epsilons of releases add."""
    remarks: frozenset[str] = frozenset()
    """What its statements say of it beside: "upper bound", "pure only", "group noise", "by delta"; of a fitted model
    that needs more than twice the noise of the observed frequencies "wide fit", and where the table refutes it, too,
    "refuted fit"."""

    # Of a column

    left_out: float | None = None
    """Scale that the fitted model needs, where it is left out of the beliefs since the table refutes it."""
    priors: Belief = field(default_factory=dict)
    """The priors that the theorem assumes."""
    beliefs: Mapping[str, Laws | Sequence[Laws]] = field(default_factory=dict)
    """Priors, or sets of laws, per secret, per belief that the guarantee covers."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What each belief is, in a sentence."""
    learned: tuple[LearnedBelief, ...] = ()
    """The beliefs among them that are wider than one law per secret, or come from another table."""
    bounds: Bounds | None = None
    """The domain of wider laws: public bounds, or the ends of the column."""
    clips: bool = False
    """Whether values are clipped to it before the noise: it is public, or a belief is about clipped values."""
    empirical: Belief = field(default_factory=dict)
    """The observed frequencies."""
    observed: Verification | None = None
    """What the engine measured under the observed frequencies, whatever was asked for; None where there are too many
    pairs."""
    wider: Mapping[str, Verification] = field(default_factory=dict)
    """What it measured under every law that the table does not refute at 95 % ("population"), and under any law on the
    domain, or the range of the table ("any law")."""

    def rests_on_refuted(self, *, published: bool) -> bool:
        """Whether a fitted model that the table refutes decides the scale; `published`: the theorem's was asked for."""
        needs = dict(self.scale_per_belief)
        own, others = needs.pop("fitted", 0.0), max(needs.values(), default=0.0)
        at_theorem = published and max(own, self.published_scale or 0.0) >= others * (1 - _SAME)
        if self.theorem.discrete or not (own > others or at_theorem):
            return False
        observed = {secret: (law.means, law.levels[0]) for secret, law in self.empirical.items()}
        return any(is_refuted(law, observed[secret], laws=len(observed)) for secret, law in self.priors.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a theorem proposes, and the engines that may confirm it."""

    theorem: Theorem
    engines: Mapping[str, Loss]
    """One per belief that the guarantee covers."""
    published: float | None
    """The scale that the theorem asks for; None where it has no condition."""
    on_grid: float | None
    """The same for what unrounded values must meet."""
    own: Loss | None = None
    """The engine of the priors that the theorem assumes, which judges the published scale; None: it is not judged."""
    held_to: Target | None = None
    """What the theorem's scale is judged by; None: the target."""
    adds_up_from: float
    """From this scale on the epsilons of several releases add; infinite where no coupling says so."""
    remarks: frozenset[str] = frozenset()
    """As in `Choice`."""


def check_calibration(calibration: str, /) -> str:
    """Return "exact" or "theorem"; raise ArgumentError for another word."""
    return check_word(calibration, "calibration", ("exact", "theorem"))


def choose(
    proposal: Proposal,
    target: Target,
    /,
    *,
    asked: Target,
    noise: NoiseFamily,
    calibration: str,
    allow_zero_noise: bool,
    quoted: Target | None = None,
) -> Choice:
    """Find the scale that every belief confirms.

    - `target`: What was asked for, or the share of it.
    - `asked`: What the engines, which know nothing of the grid of the noise, must confirm.
    - `calibration`: "exact": the smallest confirmed scale. "theorem": the published one, raised where it is not
      confirmed.
    - `allow_zero_noise`: Whether a scale of 0 may be the answer.
    - `quoted`: Where the losses are measured; by default as `asked`.
    Raises CalibrationError where no noise at all would be added and `allow_zero_noise` is false, and for "theorem"
    where the published condition does not exist.
    Warns UnsoundTheoremWarning for "theorem", where the engine refutes the published scale under the theorem's own
    priors.
    """
    published, engines = proposal.published, proposal.engines
    require_finite(published or 0.0, target)
    judged = None
    if proposal.own is not None and published is not None:
        judged = measure(proposal.own, published, proposal.held_to or target)[0]
    near = _near(published or 0.0, judged, asked)
    scales, known = _scales(proposal, target, asked=asked, noise=noise, calibration=calibration, near=near)
    binding = max(scales, key=lambda name: scales[name])
    least = scales[binding]
    if least < proposal.adds_up_from <= least * (1 + ULPS):  # two roundings of one scale: the larger one adds up
        least, known = proposal.adds_up_from, {}
    scale, measured = _confirmed_by_all(
        engines, least, asked, quoted=quoted or asked, known={k: known[k] for k in known if k == binding}
    )
    if calibration == "theorem" and judged is not None and published is not None:
        _warn_if_refuted(proposal.theorem, published, judged, target, scale=scale)
    require_noise(scale, engines, target, allow_zero_noise=allow_zero_noise)
    _, by_pure, by_stick = measured[binding]
    free = calibration == "theorem" and all(is_private(engine, 0.0, asked) for engine in engines.values())
    return Choice(
        theorem=proposal.theorem,
        published_scale=published,
        published_loss=judged,
        scale=scale,
        scale_per_belief=scales,
        none_needed=scale == 0 or free,
        binding_belief=binding,
        worst_pair=by_stick if target.delta else by_pure,
        verified={name: verification for name, (verification, _, _) in measured.items()},
        adds_up=proposal.adds_up_from <= scale,
        remarks=proposal.remarks,
    )


def _near(published: float, judged: Verification | None, asked: Target) -> float:
    """A scale near which the smallest one may be, or 0: a pure loss falls about as fast as the scale grows."""
    if judged is None or asked.delta or not 0 < judged.pure_loss.upper <= _NEARLY * asked.epsilon:
        return _USUAL * published if published < math.inf else 0.0
    return published * judged.pure_loss.upper / asked.epsilon


def _scales(
    proposal: Proposal, target: Target, *, asked: Target, noise: NoiseFamily, calibration: str, near: float
) -> tuple[dict[str, float], dict[str, WorstCase]]:
    """The scale that each belief alone needs, and the loss of that belief there, where it is known."""
    if calibration == "exact":
        found = smallest_of_each(proposal.engines, asked, near=near)
        return {name: scale for name, (scale, _) in found.items()}, {name: worst for name, (_, worst) in found.items()}
    if proposal.published is None:
        raise CalibrationError(
            "the request",
            rule="one for which the theorem has a condition",
            got=f"theorem {proposal.theorem.name!r} with {noise.title} noise at delta {target.delta:g}",
            hint='Leave calibration="exact"'
            + (", or ask for a delta above 0." if noise.takes_delta and not target.delta else "."),
        )
    proposed = max(proposal.published, proposal.on_grid or 0.0)
    return {name: confirmed(engine, proposed, asked) for name, engine in proposal.engines.items()}, {}


def require_noise(
    scale: float, beliefs: Iterable[str], target: Target, /, *, allow_zero_noise: bool, where: str = ""
) -> None:
    """Raise CalibrationError for a scale of 0 that was not allowed by name; `where` says in which rows it is enough."""
    if scale == 0 and not allow_zero_noise:
        raise NoNoiseNeededError(
            "the request",
            rule="one that needs noise",
            got=f"values that are already private{where} at epsilon {target.epsilon:g} and delta {target.delta:g} for "
            f"these pairs, under the belief: {', '.join(beliefs)}",
            hint="Try a smaller epsilon or delta, or say allow_zero_noise=True to release the values as they are.",
        )


def measure(
    engine: Loss, scale: float, target: Target, /, *, pure: WorstCase | None = None, stick: WorstCase | None = None
) -> tuple[Verification, Pair, Pair]:
    """What the engine says of a scale, and the pairs with the largest pure loss and the largest hockey stick; either of
    these may be known.
    """
    pure, epsilon = pure or engine.pure(scale), target.epsilon
    if pure.bracket.upper <= epsilon:  # then f_i - e^epsilon f_j is nowhere positive
        none = Bracket(lower=0.0, upper=0.0)
        return Verification(pure_loss=pure.bracket, hockey_stick=none, epsilon=epsilon), pure.pair, pure.pair
    try:
        stick = stick or engine.hockey_stick(scale, epsilon=epsilon)
    except CalibrationError:  # of more secrets than it compares pairs of: delta is a figure beside the pure loss
        if target.delta:
            raise
        most = -math.expm1(epsilon - pure.bracket.upper) * (1 + 2.0**-48)  # f_i <= e^upper f_j
        stick = WorstCase(bracket=Bracket(lower=0.0, upper=min(1.0, most)), pair=pure.pair)
    return Verification(pure_loss=pure.bracket, hockey_stick=stick.bracket, epsilon=epsilon), pure.pair, stick.pair


def confirmed(engine: Loss, published: float, target: Target, /) -> float:
    """The published scale, or the smallest one above it that the engine confirms.

    At the very edge of privacy (two point masses, say) the upper bound of the loss exceeds epsilon by its rounding
    error alone; a few steps of relative size 2**-48 and more mend that.
    """
    found = loss_of(engine, published, target).bracket
    if found.upper <= target.most:
        return published
    raised = published
    at_the_edge = found.lower <= target.most * (1 + _EDGE)
    beyond = _LEAST_STEP * (found.upper / target.most - 1.0)
    for k in range(_ROUNDING_STEPS if published and at_the_edge else 0):
        if 2.0 ** (k - 48) < beyond:
            continue
        raised = math.nextafter(published * (1 + 2.0 ** (k - 48)), math.inf)
        if is_private(engine, raised, target):
            return raised
    smallest = smallest_scale_of(engine, target)
    if smallest >= published:
        return smallest
    raised = published * (1 + 2.0 ** (_ROUNDING_STEPS - 48))
    while not is_private(engine, raised, target):  # a wide bracket hides that the loss falls
        raised *= 1.5
        require_finite(raised, target)
    return raised


def require_finite(scale: float, target: Target, /) -> None:
    """Raise CalibrationError for a scale beyond the range of floats."""
    if math.isinf(scale):
        raise CalibrationError(
            "the request",
            rule="satisfiable by a scale in the range of floats",
            got=f"a larger one at epsilon {target.epsilon:g}",
            hint="Ask for a larger epsilon, or divide the column by a constant first.",
        )


def _confirmed_by_all(
    engines: Mapping[str, Loss], scale: float, asked: Target, *, quoted: Target, known: Mapping[str, WorstCase]
) -> tuple[float, dict[str, tuple[Verification, Pair, Pair]]]:
    """The scale, raised where an engine that needs less does not confirm it, and what every engine says of it.

    What some engines say of the scale as it is given may be `known`: `loss_of` it.
    """
    kind = "stick" if asked.delta else "pure"
    if asked.delta and asked.epsilon != quoted.epsilon:
        known = {}
    while True:
        told = {name: {kind: worst} for name, worst in known.items()}
        measured = {name: measure(engine, scale, quoted, **told.get(name, {})) for name, engine in engines.items()}
        doubtful = [name for name, (found, _, _) in measured.items() if not found.confirms(asked)]
        if not doubtful or len(engines) == 1:  # the only one has confirmed it
            return scale, measured
        scale, known = max(confirmed(engines[name], scale, asked) for name in doubtful), {}


def _warn_if_refuted(
    theorem: Theorem, published: float, measured: Verification, target: Target, *, scale: float
) -> None:
    if not measured.refutes(target):
        return
    if target.delta:
        found = f"delta {lower_text(measured.hockey_stick.lower)}"
        asked = f"delta {upper_text(target.delta)} at epsilon {upper_text(target.epsilon)}"
    else:
        found = f"a pure loss of {lower_text(measured.pure_loss.lower)}"
        asked = f"a pure loss of at most {upper_text(target.epsilon)}"
    warn(UnsoundTheoremWarning(theorem.name, published_scale=published, measured=found, requested=asked, scale=scale))
