"""How much a scale leans on the law of the table: what other beliefs would need, and lose at it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.engine import Laws, belief_loss
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.target import Target
from puffer_frames.priors.law_set import LawSet, is_too_wide
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.columns import ANY_LAW, FEW_SECRETS
from puffer_frames.scales.joint.measured_rows import any_joint_loss
from puffer_frames.scales.learned import Contamination, LearnedBelief, Population
from puffer_frames.scales.search import smallest_scale_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """What one belief says of a scale."""

    belief: str
    covered: bool
    """Whether the guarantee is under this belief."""
    scale: float
    """The smallest scale that it confirms; infinite where there is none."""
    loss: float
    """Upper bound at the scale used: the pure loss where delta is 0, else the delta at epsilon."""
    pair: Pair
    """The pair with the largest loss."""


def leanings(
    choice: Choice, target: Target, /, *, noise: NoiseFamily, pairs: Pairs, rows: int = 1, factor: float = 1.0
) -> list[Leaning]:
    """What the covered beliefs say of the scale of a column, and beside them those that are there for every table.

    - `choice`: Of a column.
    - `target`: That the scale was held to.
    - `rows`: Of how many independent rows of a unit the losses are.
    - `factor`: How much larger the scale of each of several noisy copies is than one for all.

    **Cost**: a search for the scale per belief.
    """
    asked, found = noise.unrounded(target), []
    used = choice.scale / factor * (1 - 2.0**-50) if factor > 1 else choice.scale
    for name, laws in all_laws(choice).items():
        try:
            engine = belief_loss(laws, pairs="all" if name == ANY_LAW else pairs, noise=noise, rows=rows)
            verification, by_pure, by_stick = measure(engine, used, asked)
        except CalibrationError:  # too many pairs
            continue
        try:
            scale = smallest_scale_of(engine, asked, near=used) * factor
        except CalibrationError:
            scale = math.inf
        found.append(
            Leaning(
                belief=name,
                covered=name in choice.beliefs,
                scale=scale,
                loss=(verification.hockey_stick if target.delta else verification.pure_loss).upper,
                pair=by_stick if target.delta else by_pure,
            )
        )
    return found


def joint_leanings(choices: Mapping[str, Choice], target: Target, /) -> list[Leaning]:
    """The same for columns whose scales were found together: what was measured, and the loss under any law.

    With a log-ratio of at most L everywhere, the hockey stick is at most 1 - e^(epsilon - L).
    """
    choice = next(iter(choices.values()))
    measured = dict(choice.verified)
    if choice.observed is not None and "empirical" not in measured:
        measured["empirical"] = choice.observed
    found = [
        Leaning(
            belief=name,
            covered=name in choice.verified,
            scale=math.nan,
            loss=(loss.hockey_stick if target.delta else loss.pure_loss).upper,
            pair=choice.worst_pair,
        )
        for name, loss in measured.items()
    ]
    most = any_joint_loss(choices.values())
    if target.delta:
        most = max(0.0, -math.expm1(target.epsilon - most)) * (1 + 2.0**-40)
    anything = Leaning(belief=ANY_LAW, covered=False, scale=math.nan, loss=most, pair=choice.worst_pair)
    return [*found, anything]


def strata_leanings(choice: Choice, /, *, delta: float) -> list[Leaning]:
    """The same for a column whose scales are those of strata: the largest scale and loss of any of them."""
    return [
        Leaning(
            belief=name,
            covered=True,
            scale=choice.scale_per_belief.get(name, math.nan),
            loss=(found.hockey_stick if delta else found.pure_loss).upper,
            pair=choice.worst_pair,
        )
        for name, found in choice.verified.items()
    ]


def all_laws(choice: Choice) -> Mapping[str, Laws | Sequence[Laws]]:
    """The covered beliefs, and those that are there for every table."""
    assert choice.bounds is not None
    counts = {secret: (prior.means, prior.levels[0]) for secret, prior in choice.empirical.items()}
    radius = max(prior.radius for prior in choice.empirical.values())
    if is_too_wide(*choice.bounds):
        return {"empirical": choice.empirical} | dict(choice.beliefs)
    always: dict[str, LearnedBelief] = {}
    if len(counts) <= FEW_SECRETS:
        always = {"population": Population(), "contaminated": Contamination()}
    others = {name: one.laws(counts, bounds=choice.bounds, radius=radius) for name, one in always.items()}
    anything = {secret: LawSet.anything(*choice.bounds) for secret in list(counts)[:2]}  # the same for every pair
    covered = {name: laws for name, laws in choice.beliefs.items() if not name.startswith("any prior")}
    return {"empirical": choice.empirical} | others | {ANY_LAW: anything} | covered
