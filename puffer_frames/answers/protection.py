"""What of a unit stays hidden in an aggregate: the engine, the published condition, and the words for each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any, cast

from puffer_frames.arguments import as_float
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.laws import UnitLaws
from puffer_frames.loss.engine import privacy_loss
from puffer_frames.loss.outcome import Loss
from puffer_frames.loss.presence import ABSENT, NOTHING, PresenceLoss
from puffer_frames.loss.rows import RowsLoss
from puffer_frames.noise.family import LAPLACE, Family
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.priors import Prior, Secret
from puffer_frames.rounding import divide_up, up
from puffer_frames.theorems.gaussian import gaussian_scale
from puffer_frames.theorems.users import presence_scale, value_scale
from puffer_frames.transport import rows_diameter, w_infinity, w_infinity_diameter

KINDS = ("value", "value-or-absence", "presence", "replacement")
FEW = 400
"""Units up to here have a prior each, and their pairs are compared one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """One statistic whose units are to be protected."""

    engine: Loss
    """The exact loss of the protected pairs."""
    published: Callable[[float, float], float | None]
    """Scale that the theorem asks for, of epsilon and delta; None where it has no condition."""
    theorem: str
    """Name of the theorem."""
    source: str
    """Paper and number."""
    distance: float
    """Distance of an almost-sure coupling of every pair; infinite where there is none."""
    upper_bound: bool = False
    """Whether the engine's pure loss is an upper bound of the exact one, so that less noise might do."""
    pure_only: bool = False
    """Whether the engine knows the pure loss alone, to which a request with delta is then held."""


def check_protect(protect: str, /) -> str:
    """Return the kind of protection; raise ArgumentError for another word."""
    if not isinstance(protect, str) or protect not in KINDS:
        known = ", ".join(f'"{kind}"' for kind in KINDS)
        raise ArgumentError("protect", rule=f"one of {known}", got=repr(protect), hint='Leave it out for "presence".')
    return protect


def of_values(pairs: Sequence[tuple[float, float | None]], /, *, rows: float, family: Family) -> Protection:
    """Which of two declared values a unit reports in each of its rows, or none (None)."""
    priors: dict[Secret, Prior] = {ABSENT: NOTHING}
    listed: list[Pair] = []
    for pair in pairs:
        for value in pair:
            if value is not None:
                priors[value] = Prior.gaussian(rows * value, 0.0)
        listed.append((pair[0], ABSENT if pair[1] is None else pair[1]))
    named = {secret for pair in listed for secret in pair}
    added = [tuple(None if value is None else rows * value for value in pair) for pair in pairs]
    distance = value_scale(added, epsilon=1.0)
    absence = ABSENT in named
    return Protection(
        engine=privacy_loss({s: p for s, p in priors.items() if s in named}, pairs=tuple(listed), family=family),
        published=_of_distance(distance, family),
        theorem="reports",
        source="[DLYZ] Theorem 2" if absence else "[DLYZ] Theorem 1",
        distance=distance,
    )


def of_presence(laws: UnitLaws, /, *, family: Family) -> Protection:
    """Present with its law, or absent."""
    distance = float(laws.largest().max())
    if family == LAPLACE:
        engine = PresenceLoss(laws)
        return Protection(
            engine=engine,
            upper_bound=not engine.is_exact,
            published=lambda epsilon, delta: presence_scale(laws, epsilon=epsilon),  # noqa: ARG005
            theorem="presence",
            source="[DLYZ] Theorem 3 (13)",
            distance=distance,
        )
    if len(laws) <= FEW:
        priors = laws.priors()
    else:  # a coupling within the largest contribution holds for every noise
        priors = {"the largest contribution": Prior.gaussian(_finite(distance, family), 0.0)}
    pairs = tuple((unit, ABSENT) for unit in priors)
    return Protection(
        engine=privacy_loss({**priors, ABSENT: NOTHING}, pairs=pairs, family=family),
        published=_of_distance(distance, family),
        theorem="largest contribution",
        source="[DLYZ] (14)",
        distance=distance,
    )


def of_replacement(laws: UnitLaws, pairs: Pairs, /, *, family: Family) -> Protection:
    """The law of one unit or that of another."""
    many = len(laws) > FEW
    rows = laws.is_discrete and not laws.given and bool((laws.copies == 1).all())
    if pairs == "all" and many and not (rows and family == LAPLACE):
        raise ArgumentError(
            "the units whose laws must be indistinguishable",
            rule=f"at most {FEW}, unless their laws are observed frequencies of one row each and the noise is Laplace",
            got=f"{len(laws):,}",
            hint='List the pairs that matter, or take laws="empirical" with contribution="draw".',
        )
    if pairs == "all" and many:
        distance = rows_diameter(laws.means, laws.starts)
        return Protection(
            engine=RowsLoss(laws.units, laws.means, laws.starts),
            published=_of_distance(distance, family),
            theorem="replacement",
            source="[DLYZ] Theorem 4",
            distance=distance,
            pure_only=True,
        )
    named = list(laws.units) if pairs == "all" else list(dict.fromkeys(unit for pair in pairs for unit in pair))
    numbers = {unit: k for k, unit in enumerate(laws.units)}
    priors = {unit: laws.prior(numbers[unit]) for unit in named}
    engine = privacy_loss(priors, pairs=pairs, family=family)
    if all(prior.is_discrete for prior in priors.values()):
        distance = (
            w_infinity_diameter(list(priors.values()))
            if pairs == "all"
            else max(w_infinity(priors[a], priors[b]) for a, b in pairs)
        )
        published = _of_distance(distance, family)
        return Protection(
            engine=engine, published=published, theorem="replacement", source="[DLYZ] Theorem 4", distance=distance
        )

    def gaussian(epsilon: float, delta: float) -> float | None:
        single = all(prior.means.size == 1 for prior in priors.values())
        return (
            gaussian_scale(priors, epsilon=epsilon, delta=delta, pairs=pairs) if single and family == LAPLACE else None
        )

    return Protection(
        engine=engine, published=gaussian, theorem="gaussian", source="[D24] Theorem 1; pure form", distance=math.inf
    )


def check_values(
    pairs: str | Iterable[Sequence[Any]], domain: Sequence[float] | None, /, *, absence: bool
) -> tuple[tuple[float, float | None], ...]:
    """The declared pairs of values, or the extremes of the domain.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        Where neither is given, and for pairs of something else.
    """
    if isinstance(pairs, str):
        if pairs == "all" and domain is not None:
            low, high = domain
            return ((low, None), (high, None)) if absence else ((low, high),)
        raise ArgumentError(
            "the values that a unit may report",
            rule="declared by domain or pairs",
            got="neither" if pairs == "all" else f"pairs={pairs!r}",
            hint="Write domain=(0, 100) with what anybody knows of the column, not its observed extremes.",
        )
    listed = [_value_pair(pair, absence=absence) for pair in pairs] if isinstance(pairs, Iterable) else []
    good = [pair for pair in listed if pair is not None]
    if not listed or len(good) < len(listed):
        raise ArgumentTypeError(
            "pairs",
            rule="pairs of a value and None (absent)" if absence else "pairs of two different values",
            got=f"a {type(pairs).__name__}" + (" with another entry" if listed else ""),
            hint="Write pairs=[(5, None)]." if absence else "Write pairs=[(3, 5)].",
        )
    low, high = (-math.inf, math.inf) if domain is None else domain
    if not all(low <= value <= high for pair in good for value in pair if value is not None):
        raise ArgumentError(
            "pairs",
            rule="of values within the domain",
            got="others",
            hint="A value is clipped to the domain before it is added: widen it, or leave pairs out.",
        )
    return tuple(good)


def _value_pair(pair: object, *, absence: bool) -> tuple[float, float | None] | None:
    """A value and another one, or None for absent; None for what is no such pair."""
    entries: list[Any] = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
    if absence and len(entries) == 2 and entries[0] is None:
        entries.reverse()
    numbers: list[Any] = entries[:1] if absence else entries
    if len(entries) != 2 or (absence and entries[1] is not None):
        return None
    if not all(_is_finite(v) for v in numbers):
        return None
    first, second = float(numbers[0]), None if absence else float(numbers[1])
    return None if first == second else (first, second)


def _is_finite(number: Any) -> bool:
    return isinstance(number, Real) and not isinstance(number, bool) and math.isfinite(as_float(cast(float, number)))


def _of_distance(distance: float, family: Family) -> Callable[[float, float], float | None]:
    def scale(epsilon: float, delta: float) -> float | None:
        if math.isinf(distance):
            return None
        if family == LAPLACE:
            return divide_up(distance, epsilon)
        return up(Fraction(distance) * Fraction(family.unit(epsilon=epsilon, delta=delta)))

    return scale


def _finite(distance: float, family: Family) -> float:
    if math.isinf(distance):
        raise ArgumentError(
            "laws",
            rule=f"of bounded contributions with {family.title} noise and more than {FEW} units",
            got="Gaussian laws",
            hint='Leave noise="laplace", or take laws="empirical".',
        )
    return distance
