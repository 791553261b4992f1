"""The scales of the statistics that an aggregate releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias, cast

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.loss.displaced import DisplacedLoss, NearbyLoss, PureOnly
from puffer_frames.loss.engine import belief_loss, privacy_loss
from puffer_frames.loss.noises.coupled import set_distance
from puffer_frames.loss.outcome import Loss
from puffer_frames.loss.presence import ABSENT, NOTHING, PresenceLoss, RowsLoss
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.gaussian import Gaussian
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.noise.totals import exact_sum
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import (
    GAUSSIAN_UNITS,
    LARGEST_CONTRIBUTION,
    PRESENCE,
    PUBLISHED_FOR,
    REPLACEMENT,
    REPORTED_ABSENCE,
    REPORTED_VALUES,
    Theorem,
)
from puffer_frames.papers.users import presence_scale, value_scale
from puffer_frames.priors.law_set import WIDEST, LawSet, is_too_wide
from puffer_frames.priors.pairs import Pair, Pairs
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.series_rows import UnitRows
from puffer_frames.priors.transport import rows_diameter, w_infinity, w_infinity_diameter
from puffer_frames.priors.unit_laws import PARTS, SPECKS, UnitLaws, without_specks
from puffer_frames.scales.learned import LearnedBelief

MOST_UNITS = 400
"""Units up to here have a prior each, and their pairs are compared one by one."""

_ROUNDING = 1e-9
"""What a sum of decimals is off by, relative to it, is less."""
MOST_SUMS = 1500
"""Up to here units that add all their rows have a prior each, and are compared all at once, for pure privacy."""

Condition = Callable[[Target], float | None]
"""The scale that a theorem asks for; None where it has no condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One statistic whose units are to be protected."""

    engine: Loss
    """The exact loss of the protected pairs."""
    theorem: Theorem
    """The theorem that proposes a scale."""
    published: Condition
    """The scale that it asks for."""
    distance: float
    """Distance of an almost-sure coupling of every pair; infinite where there is none."""
    fixed: bool = False
    """Whether what a unit adds is one of two values, with no randomness that several releases could average away."""
    upper_bound: bool = False
    """Whether the engine's pure loss is an upper bound of the exact one, so that less noise might do."""
    pure_only: bool = False
    """Whether the engine knows the pure loss alone, to which a request with delta is then held."""

    @property
    def remarks(self) -> frozenset[str]:
        """As in `scales.choice.Choice`."""
        words = {"upper bound": self.upper_bound, "pure only": self.pure_only}
        return frozenset(word for word, holds in words.items() if holds)


def of_values(pairs: Sequence[tuple[float, float | None]], /, *, rows: float, noise: NoiseFamily) -> Protection:
    """Which of two declared values a unit reports in each of its rows, or none (None)."""
    priors: dict[Secret, Prior] = {ABSENT: NOTHING}
    listed: list[Pair] = []
    for pair in pairs:
        for value in pair:
            if value is not None:
                priors[value] = Prior.gaussian(rows * value, 0.0)
        listed.append((pair[0], ABSENT if pair[1] is None else pair[1]))
    named = {secret for pair in listed for secret in pair}
    distance = value_scale([tuple(None if v is None else rows * v for v in pair) for pair in pairs], epsilon=1.0)
    return Protection(
        engine=privacy_loss({s: p for s, p in priors.items() if s in named}, pairs=tuple(listed), noise=noise),
        theorem=REPORTED_ABSENCE if ABSENT in named else REPORTED_VALUES,
        published=_hide(distance, noise),
        distance=distance,
        fixed=True,
    )


def of_presence(laws: UnitLaws, /, *, noise: NoiseFamily) -> Protection:
    """Present with its law, or absent."""
    distance, different = float(laws.largest().max()), laws.different()
    if noise == PUBLISHED_FOR:
        engine = PresenceLoss(different)
        return Protection(
            engine=engine,
            theorem=PRESENCE,
            published=lambda target: presence_scale(different, epsilon=target.epsilon),
            distance=distance,
            upper_bound=not engine.is_exact,
        )
    blur = (0.0, 0.0)
    if len(different) <= MOST_UNITS:
        priors, blur = _sums(different, range(len(different)), noise=noise)
    elif math.isinf(distance):
        raise ArgumentError(
            "laws",
            rule=f"of bounded contributions with {noise.title} noise and more than {MOST_UNITS} units",
            got="Gaussian laws",
            hint='Leave noise="laplace", or take laws="empirical".',
        )
    else:  # a coupling within the largest contribution holds for every noise
        priors = {"the largest contribution": Prior.gaussian(distance, 0.0)}
    pairs = tuple((unit, ABSENT) for unit in priors)
    return Protection(
        engine=_of_priors({**priors, ABSENT: NOTHING}, pairs, noise=noise, blur=blur),
        theorem=LARGEST_CONTRIBUTION,
        published=_hide(distance, noise),
        distance=distance,
    )


def of_replacement(laws: UnitLaws, pairs: Pairs, /, *, noise: NoiseFamily) -> Protection:
    """The law of one unit or that of another."""
    if pairs == "all":
        different = laws.different()  # pairs of equal laws have no loss
        laws = different if len(different) > 1 else laws.first(2)
        if len(laws) > MOST_UNITS:
            return _of_many(laws, noise)
    named = list(laws.units) if pairs == "all" else list(dict.fromkeys(unit for pair in pairs for unit in pair))
    numbers = {unit: k for k, unit in enumerate(laws.units)}
    chosen = [numbers[unit] for unit in named]
    priors, blur = _sums(laws, chosen, noise=noise)
    engine = _of_priors(priors, pairs, noise=noise, blur=blur)
    if all(prior.is_discrete for prior in priors.values()):
        distance = (
            w_infinity_diameter(list(priors.values()))
            if pairs == "all"
            else max(w_infinity(priors[a], priors[b]) for a, b in pairs)
        )
        if any(blur) or any(prior.radius for prior in priors.values()):
            distance = min(distance + 2 * blur[1], laws.coupled_distance(chosen))
            engine = NearbyLoss(engine, distance=distance, noise=noise)
        return Protection(engine=engine, theorem=REPLACEMENT, published=_hide(distance, noise), distance=distance)
    return Protection(
        engine=engine,
        theorem=GAUSSIAN_UNITS,
        published=lambda target: GAUSSIAN_UNITS.scale_for(priors, target, noise=noise, pairs=pairs),
        distance=math.inf,
    )


def of_sets(sets: Mapping[Secret, LawSet], pairs: Pairs | None, /, *, noise: NoiseFamily) -> Protection:
    """Any law of the set of a unit: present or absent, or for pairs of units that of one or of the other."""
    listed: Pairs = pairs or tuple((unit, ABSENT) for unit in sets)
    sets = sets if pairs else {**sets, ABSENT: LawSet.anything(0.0, 0.0)}
    named = list(combinations(sets, 2)) if listed == "all" else listed
    distance = max(set_distance(sets[one], sets[other]) for one, other in named)
    return Protection(
        engine=belief_loss(
            {unit: sets[unit] for unit in dict.fromkeys(u for pair in named for u in pair)}, pairs=listed, noise=noise
        ),
        theorem=REPLACEMENT if pairs else LARGEST_CONTRIBUTION,
        published=_hide(distance, noise),
        distance=distance,
        upper_bound=noise != PUBLISHED_FOR,
    )


def _of_many(laws: UnitLaws, noise: NoiseFamily) -> Protection:
    """All pairs of so many different laws that they are not compared one by one."""
    observed = laws.is_discrete and not laws.given and noise == PUBLISHED_FOR
    if observed and (laws.copies > 1).any() and len(laws) <= MOST_SUMS:
        everyone = range(len(laws))
        priors, blur = _sums(laws, everyone, noise=noise)
        distance = min(w_infinity_diameter(list(priors.values())) + 2 * blur[1], laws.coupled_distance(everyone))
        near = NearbyLoss(_of_priors(priors, "all", noise=noise, blur=blur), distance=distance, noise=noise)
        return Protection(
            engine=PureOnly(near),
            theorem=REPLACEMENT,
            published=_hide(distance, noise),
            distance=distance,
            pure_only=True,
        )
    if not (observed and (laws.copies == 1).all()):
        raise ArgumentError(
            "the units whose laws must be indistinguishable",
            rule=f"of at most {MOST_UNITS} different laws, or with Laplace noise and observed laws of {MOST_SUMS:,} "
            "where all rows are added and of any number for one row each",
            got=f"{len(laws):,}",
            hint='List the pairs that matter, or take laws="empirical" with contribution="draw".',
        )
    values, starts = laws.rows()
    distance = rows_diameter(values, starts)
    return Protection(
        engine=RowsLoss(laws.units, values, starts),
        theorem=REPLACEMENT,
        published=_hide(distance, noise),
        distance=distance,
        pure_only=True,
    )


def _sums(
    laws: UnitLaws, numbers: Sequence[int], *, noise: NoiseFamily
) -> tuple[dict[Secret, Prior], tuple[float, float]]:
    """Laws of units as priors, and how far a sum on a grid is moved at random, where the noise hides that."""
    hidden = noise.cost_of_blur(0.0, 0.0) is not None
    return laws.blurred_priors(numbers, parts=PARTS if hidden else 1)


def _of_priors(priors: Mapping[Secret, Prior], pairs: Pairs, *, noise: NoiseFamily, blur: tuple[float, float]) -> Loss:
    """The engine; Gaussian noise needs a delta, which what no float holds is a part of."""
    held = dict(priors)
    if isinstance(noise, Gaussian):
        held = {secret: without_specks(prior) if prior.is_discrete else prior for secret, prior in priors.items()}
    engine = privacy_loss(held, pairs=pairs, noise=noise)
    lost = 0.0 if all(held[secret] is priors[secret] for secret in priors) else SPECKS
    return DisplacedLoss(engine, radius=0.0, noise=noise, lost=lost, blur=blur) if lost or any(blur) else engine


def _hide(distance: float, noise: NoiseFamily) -> Condition:
    """The scale that hides a distance, where there is one."""
    return lambda target: None if math.isinf(distance) else noise.hide(distance, target)


LawsArgument: TypeAlias = str | Mapping[Secret, Prior] | LearnedBelief


def sets_of(rows: UnitRows, belief: LearnedBelief, /, *, domain: Bounds | None) -> Mapping[Secret, LawSet]:
    """What one row of each unit may be like, on the domain or the range of the table."""
    bounds = domain or (float(rows.values.min()), float(rows.values.max()))
    if len(rows.units) > MOST_UNITS or is_too_wide(*bounds):
        raise ArgumentError(
            "laws",
            rule=f'"empirical" for more than {MOST_UNITS} units, and for values as far apart as {WIDEST:g}',
            got=f"a {type(belief).__name__} for {len(rows.units):,} units",
            hint="Take classes of rows as units, or leave laws out.",
        )
    ends = zip(rows.units, rows.starts[:-1], rows.starts[1:], strict=True)
    counts = {unit: (rows.values[a:b], rows.times[a:b]) for unit, a, b in ends}
    return cast(Mapping[Secret, LawSet], belief.laws(counts, bounds=bounds, radius=0.0))


def contributions(rows: UnitRows, laws: LawsArgument, /, *, statistic: str, added: bool) -> UnitLaws:
    """Law of every unit's contribution to a sum, or to a count (a point mass)."""
    if statistic == "count":
        sizes = rows.sizes.astype(float) if added else np.ones(len(rows.units))
        return UnitLaws.of_rows(rows.units, sizes, np.arange(sizes.size + 1), added=False)
    if isinstance(laws, Mapping):
        unknown = next((unit for unit in rows.units if unit not in laws), None)
        if unknown is not None or not all(isinstance(law, Prior) for law in laws.values()):
            raise ArgumentError(
                "laws",
                rule="a mapping with a Prior for every unit of the frame",
                got=f"none for {unknown!r}" if unknown is not None else "something else than a Prior",
                hint="Write laws={unit: Prior.empirical([...]), ...}.",
            )
        if any(law.radius for law in laws.values()):
            raise ArgumentError(
                "laws",
                rule="of exact values (radius 0)",
                got="a Prior with a radius",
                hint="Leave radius out of Prior.empirical.",
            )
        return UnitLaws.of_priors(laws)
    make = UnitLaws.of_rows if laws == "empirical" else UnitLaws.of_gaussians
    return make(rows.units, rows.values, rows.starts, times=rows.times, added=added)


def units_ruled_out(rows: UnitRows, laws: LawsArgument, /, *, added: bool) -> int:
    """How many units add what the law that was given for them makes impossible; 0 where none were given."""
    if not isinstance(laws, Mapping):
        return 0
    found = 0
    for k, unit in enumerate(rows.units):
        part = slice(int(rows.starts[k]), int(rows.starts[k + 1]))
        law, values, times = laws[unit], rows.values[part], rows.times[part]
        adds = np.array([float(exact_sum(values, times))]) if added else values
        atoms = np.concatenate([[-np.inf], law.means, [np.inf]])
        after = np.searchsorted(atoms, adds)
        near = np.minimum(adds - atoms[after - 1], atoms[after] - adds)
        beyond = (near > _ROUNDING * np.abs(adds)).any()  # a sum of decimals is not quite the decimal of the sum
        found += bool(not law.stds.any() and beyond) * int(rows.often[k])
    return found
