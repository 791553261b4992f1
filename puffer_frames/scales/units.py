"""The scales of the statistics that an aggregate releases."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.noise.family import Noise
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.target import Target
from puffer_frames.priors.law_set import WIDEST, LawSet, is_too_wide
from puffer_frames.priors.pairs import Pairs, check_pairs
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.unit_laws import UnitLaws
from puffer_frames.priors.unit_rows import UnitRows
from puffer_frames.scales.choice import Choice, Proposal, choose
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.scales.protection import MOST_UNITS, Protection, of_presence, of_replacement, of_sets, of_values

LawsArgument: TypeAlias = str | Mapping[Secret, Prior] | LearnedBelief
DeclaredValues: TypeAlias = tuple[tuple[float, float | None], ...]


def choose_scales(
    rows: UnitRows,
    target: Target,
    /,
    *,
    asked: tuple[str, ...],
    protect: str,
    pairs: str | Iterable[Sequence[Any]],
    values: DeclaredValues | None,
    laws: LawsArgument,
    domain: Bounds | None,
    belief: str,
    added: bool,
    noise: Noise,
    calibration: str,
    integer: bool,
    allow_zero_noise: bool,
) -> dict[str, Choice]:
    """The scale of each statistic that is asked for; several share the target evenly.

    Parameters
    ----------
    rows : UnitRows
    target : Target
    asked : tuple of str
        The queries.
    values : tuple of pairs of values, optional
        Those that a unit may report, where these are protected.
    belief : str
        How the laws of the units are called.
    added : bool
        Whether a unit adds all its rows.
    protect, pairs, laws, domain, noise, calibration, integer, allow_zero_noise
        As in `puffer_frames.aggregate`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, CalibrationError
        As `aggregate`.
    """
    statistics = tuple(dict.fromkeys("sum" if name == "mean" else name for name in asked))
    counted = "count" in statistics and not (protect == "replacement" and not added)
    noisy = max(1, len([name for name in statistics if name != "count"]) + counted)
    share, found = target.share(noisy), {}
    units = list(laws) if isinstance(laws, Mapping) else rows.units
    checked = _pairs_of_units(pairs, units) if protect == "replacement" else "all"
    present = None
    if protect == "presence" and not (isinstance(pairs, str) and pairs == "all"):
        present = _listed_units(pairs, rows.units)
    for statistic in statistics:
        if values is not None and statistic == "sum":
            most = float(rows.sizes.max()) if added else 1.0
            protection = of_values(values, rows=most, noise=noise)
        elif isinstance(laws, LearnedBelief) and statistic == "sum":
            sets = _sets(rows, laws, domain=domain)
            sets = {unit: sets[unit] for unit in present or sets}
            protection = of_sets(sets, checked if protect == "replacement" else None, noise=noise)
        else:
            contributions = _laws(rows, laws, statistic=statistic, added=added)
            if protect == "replacement":
                protection = of_replacement(contributions, checked, noise=noise)
            else:
                protected = contributions if present is None else contributions.some(present)
                protection = of_presence(protected, noise=noise)
        found[statistic] = _choose(
            protection,
            share,
            belief=belief,
            noise=noise,
            calibration=calibration,
            integer=integer,
            allow_zero_noise=allow_zero_noise,
        )
    return found


def _choose(
    protection: Protection,
    target: Target,
    *,
    belief: str,
    noise: Noise,
    calibration: str,
    integer: bool,
    allow_zero_noise: bool,
) -> Choice:
    held = target.pure if protection.pure_only else target
    asked = held if integer else noise.unrounded(held)  # integers are on their grid already
    distance, adds_up_from = protection.distance, 0.0
    if not protection.fixed:
        adds_up_from = noise.hide_on_grid(distance, target) if distance < math.inf else math.inf
    proposal = Proposal(
        theorem=protection.theorem,
        engines={belief: protection.engine},
        published=protection.published(target),
        on_grid=protection.published(Target(epsilon=asked.epsilon, delta=target.delta)),
        adds_up_from=adds_up_from,
        remarks=protection.remarks,
    )
    return choose(
        proposal,
        target,
        asked=asked,
        quoted=target,
        noise=noise,
        calibration=calibration,
        allow_zero_noise=allow_zero_noise,
    )


def _pairs_of_units(pairs: str | Iterable[Sequence[Any]], units: Sequence[Secret]) -> Pairs:
    """Pairs of units that may replace one another."""
    if len(units) < 2:
        raise ArgumentError(
            "the units",
            rule="at least two where each may be replaced by another",
            got=f"{len(units)}",
            hint='Say protect="presence" to hide whether the one unit is there.',
        )
    return check_pairs(pairs, units)


def _listed_units(pairs: object, units: Sequence[Secret]) -> list[Secret]:
    """The units of listed pairs of a unit and None, absent."""
    found, known = [], set(units)
    for pair in pairs if isinstance(pairs, Iterable) else [pairs]:
        entries = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
        named = [entry for entry in entries if entry is not None]
        if len(entries) != 2 or len(named) != 1:
            raise ArgumentTypeError(
                "pairs",
                rule='pairs of a unit and None (absent) for protect="presence"',
                got="another pair",
                hint='Write pairs=[("ann", None)], or leave them out for every unit.',
            )
        if not isinstance(named[0], Hashable) or named[0] not in known:
            raise ArgumentError(
                "pairs",
                rule="pairs of units of the frame and None",
                got=repr(named[0]),
                hint="Write the unit as it stands in the frame.",
            )
        found.append(named[0])
    if not found:
        raise ArgumentError("pairs", rule="at least one", got="none", hint="Leave pairs out for every unit.")
    return list(dict.fromkeys(found))


def _sets(rows: UnitRows, belief: LearnedBelief, *, domain: Bounds | None) -> Mapping[Secret, LawSet]:
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


def _laws(rows: UnitRows, laws: LawsArgument, *, statistic: str, added: bool) -> UnitLaws:
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
