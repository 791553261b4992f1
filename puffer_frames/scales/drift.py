"""A plan on other rows than those that it was made from: are they still within the guarantee?"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from puffer_frames.errors import CalibrationError
from puffer_frames.loss.engine import Laws, belief_loss
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.rounding import subtract_up
from puffer_frames.priors.law_set import LawSet, is_too_wide
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.choice import Choice, measure
from puffer_frames.scales.columns import ANY_LAW, FEW_SECRETS
from puffer_frames.scales.joint.coupled import any_joint_loss
from puffer_frames.scales.learned import Contamination, LearnedBelief, Population
from puffer_frames.scales.search import smallest_scale_of
from puffer_frames.scales.strata import worst


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

    - `target`: What the scale was held to.
    - `rows`: Number of independent rows of a unit that the losses are for.
    - `factor`: How much larger the scale of each of several noisy copies is than one for all.

    **Cost**: a search for the scale per belief.
    """
    unrounded, leanings = noise.unrounded(target), []
    used = choice.scale / factor * (1 - 2.0**-50) if factor > 1 else choice.scale
    for name, laws in all_laws(choice).items():
        try:
            engine = belief_loss(laws, pairs="all" if name == ANY_LAW else pairs, noise=noise, rows=rows)
            verification, by_pure, by_stick = measure(engine, used, unrounded)
        except CalibrationError:  # too many pairs
            continue
        try:
            scale = smallest_scale_of(engine, unrounded, near=used) * factor
        except CalibrationError:
            scale = math.inf
        pair = by_stick if target.delta else by_pure
        loss = verification.loss(delta=target.delta).upper
        leanings.append(Leaning(belief=name, covered=name in choice.beliefs, scale=scale, loss=loss, pair=pair))
    return leanings


def joint_leanings(choices: Mapping[str, Choice], target: Target, /) -> list[Leaning]:
    """The same for columns whose scales were found together: what was measured, and the loss under any law.

    With a log-ratio of at most L everywhere, the hockey stick is at most 1 - e^(epsilon - L).
    """
    choice = next(iter(choices.values()))
    measured = dict(choice.verified)
    if choice.observed is not None and "empirical" not in measured:
        measured["empirical"] = choice.observed
    found = _measured(measured, choice, scales={}, delta=target.delta)
    most = any_joint_loss(choices.values())
    if target.delta:
        most = max(0.0, -math.expm1(target.epsilon - most)) * (1 + 2.0**-40)
    anything = Leaning(belief=ANY_LAW, covered=False, scale=math.nan, loss=most, pair=choice.worst_pair)
    return [*found, anything]


def strata_leanings(choice: Choice, /, *, delta: float) -> list[Leaning]:
    """The same for a column whose scales are those of strata: the largest scale and loss of any of them."""
    return _measured(choice.verified, choice, scales=choice.scale_per_belief, delta=delta)


def _measured(
    measured: Mapping[str, Verification], choice: Choice, *, scales: Mapping[str, float], delta: float
) -> list[Leaning]:
    """What was measured of a column with the choice; the pair is the worst one of all."""
    return [
        Leaning(
            belief=name,
            covered=name in choice.verified,
            scale=scales.get(name, math.nan),
            loss=found.loss(delta=delta).upper,
            pair=choice.worst_pair,
        )
        for name, found in measured.items()
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
    width = subtract_up(choice.bounds[1], choice.bounds[0])
    anything = {secret: LawSet.anything(0.0, width) for secret in list(counts)[:2]}  # the same for every pair
    covered = {name: laws for name, laws in choice.beliefs.items() if not name.startswith("any prior")}
    return {"empirical": choice.empirical} | others | {ANY_LAW: anything} | covered


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was measured on rows that the plan was not made from."""

    observed: Mapping[str, Verification]
    """The loss under their own observed frequencies, per column; none of a column where it could not be computed."""
    exceeded: Mapping[str, str]
    """Columns, or all together, that are not known to be within what was asked for, and what was found, in words."""
    ranges: Mapping[str, float] = field(default_factory=dict)
    """The most that a value of a column tells of its secret under any law on the range of these rows, where the noise
    is for a narrower one: the pure loss where delta is 0, else delta."""

    @classmethod
    def of_strata(cls, parts: Sequence[Batch], /) -> Batch:
        """The largest losses of some strata."""
        observed = {
            name: worst(part.observed[name] for part in parts if name in part.observed)
            for name in dict.fromkeys(name for part in parts for name in part.observed)
        }
        exceeded = {name: text for part in parts for name, text in part.exceeded.items()}
        ranges: dict[str, float] = {}
        for name, loss in (each for part in parts for each in part.ranges.items()):
            ranges[name] = max(loss, ranges.get(name, 0.0))
        return cls(observed=observed, exceeded=exceeded, ranges=ranges)

    def excess(self) -> Batch:
        """What may be published: no loss but those beyond what was asked for, which nobody may hide.

        Every other one moves with the secret of each row, and is not there where no two secrets are. On a wider range
        the loss of any law is said instead.
        """
        whole = ", ".join(self.observed) in self.exceeded
        told = {name for name in self.observed if (whole or name in self.exceeded) and name not in self.ranges}
        return replace(self, observed={name: found for name, found in self.observed.items() if name in told})

    def beside(self, other: Batch, /) -> Batch:
        """With what was measured of another column."""
        observed, exceeded = {**self.observed, **other.observed}, {**self.exceeded, **other.exceeded}
        return replace(self, observed=observed, exceeded=exceeded)


_ROUNDING = 1e-9


def is_within(measured: Verification, known: Verification, /, *, delta: float) -> bool:
    """Whether a loss may be one that was known before: its lower bound is not above the known upper one."""
    return measured.loss(delta=delta).lower <= known.loss(delta=delta).upper * (1 + _ROUNDING) + _ROUNDING


def protected_here(
    rows: Collection[Secret], /, *, known: Collection[Secret], pairs: Pairs
) -> tuple[Sequence[Secret], Pairs, int]:
    """The protected secrets and pairs of a plan that rows with these secrets have, and how many secrets they lack.

    Raises CalibrationError for a secret that the plan does not know.
    """
    strange = [secret for secret in rows if secret not in known]
    if strange:
        raise CalibrationError(
            "the secrets of the frame",
            rule="secrets of the plan",
            got=f"{strange[0]!r}" + (f" and {len(strange) - 1} more" if len(strange) > 1 else ""),
            hint="Calibrate a frame that has these secrets too, or leave out their rows.",
        )
    named = known if pairs == "all" else dict.fromkeys(secret for pair in pairs for secret in pair)
    present = [secret for secret in named if secret in rows]
    listed: Pairs = "all" if pairs == "all" else tuple(p for p in pairs if p[0] in present and p[1] in present)
    return present, listed, len(named) - len(present)


def drifted(batch: Batch, target: Target, /, *, moved: str, more: str) -> CalibrationError:
    """The error of rows that are not within the guarantee: `moved` says which columns did, `more` how to cover more."""
    names, found = zip(*batch.exceeded.items(), strict=True)
    several = len(names) > 1 or names[0] not in (*batch.observed, *batch.ranges)
    under = " in these rows" if batch.ranges else " under the frequencies of these rows"
    return CalibrationError(
        f"the loss of column{'s' * several} {', '.join(map(repr, names))}{under}",
        rule=f"within {target}",
        got="; ".join(dict.fromkeys(found)) + moved,
        hint=f"Calibrate these rows, or say allow_drift=True: the certificate then states the loss. {more}".strip(),
    )
