"""What units add to a sum or count: the scale that hides it, and the exact totals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from puffer_frames.answers.noisy import AnswerNoise, AnswerRow, answer_row, exact_sum, quotient_row, with_noise
from puffer_frames.answers.protection import Protection, check_values, of_presence, of_replacement, of_values
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.units import UnitRows
from puffer_frames.laws import UnitLaws
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.discrete_laplace import DiscreteLaplace
from puffer_frames.noise.family import Family
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.pairs import Pairs, check_pairs
from puffer_frames.priors import IndexArray, Prior, Secret
from puffer_frames.search import smallest_scale_of
from puffer_frames.selection import confirmed, measure, require_noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The scale of one statistic, and why."""

    protection: Protection
    """What it hides."""
    noise: AnswerNoise | None
    """The noise at the scale; None where none is needed."""
    scale: float
    """Scale of the noise of the sum or count."""
    published: float | None
    """Scale that the theorem asks for."""
    verified: Verification
    """What the engine measured."""
    adds_up: bool
    """Whether the epsilons of several releases add."""

    @property
    def expected_error(self) -> float:
        """Mean absolute noise."""
        return self.noise.expected_absolute_error if self.noise is not None else 0.0


def choose_scales(
    rows: UnitRows,
    /,
    *,
    asked: tuple[str, ...],
    protect: str,
    pairs: str | Iterable[Sequence[Any]],
    laws: str | Mapping[Secret, Prior],
    added: bool,
    domain: tuple[float, float] | None,
    family: Family,
    epsilon: float,
    delta: float,
    calibration: str,
    integer: bool,
    allow_zero_noise: bool,
) -> dict[str, Chosen]:
    """The scale of each statistic that is asked for; several share epsilon and delta evenly.

    Raises
    ------
    ArgumentError, ArgumentTypeError, CalibrationError
        As `aggregate`.
    """
    statistics = tuple(dict.fromkeys("sum" if name == "mean" else name for name in asked))
    counted = "count" in statistics and not (protect == "replacement" and not added)
    noisy = max(1, len([name for name in statistics if name != "count"]) + counted)
    share = epsilon if noisy == 1 else math.nextafter(epsilon / noisy, 0.0)
    share_of_delta = delta / noisy
    values = None
    if protect in ("value", "value-or-absence"):
        values = check_values(pairs, domain, absence=protect == "value-or-absence")
    elif protect == "replacement":
        known = list(laws) if isinstance(laws, Mapping) else rows.units
        checked: Pairs = check_pairs(pairs, known)
    elif not (isinstance(pairs, str) and pairs == "all"):
        raise ArgumentError(
            "pairs",
            rule='left out for protect="presence"',
            got="pairs",
            hint="Every unit is protected against absence.",
        )
    plan = {}
    for statistic in statistics:
        if values is not None and statistic == "sum":
            most = float(np.diff(rows.starts).max()) if added else 1.0
            protection = of_values(values, rows=most, family=family)
        else:
            contributions = _laws(rows, laws, statistic=statistic, added=added)
            if protect == "replacement":
                protection = of_replacement(contributions, checked, family=family)
            else:
                protection = of_presence(contributions, family=family)
        plan[statistic] = _choose(
            protection,
            family=family,
            epsilon=share,
            delta=share_of_delta,
            calibration=calibration,
            integer=integer,
            allow_zero_noise=allow_zero_noise,
        )
    return plan


def _laws(rows: UnitRows, laws: str | Mapping[Secret, Prior], *, statistic: str, added: bool) -> UnitLaws:
    """Law of every unit's contribution to a sum, or to a count (a point mass)."""
    if statistic == "count":
        sizes = np.diff(rows.starts).astype(float) if added else np.ones(len(rows.units))
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
    return make(rows.units, rows.values, rows.starts, added=added)


def _choose(
    protection: Protection,
    *,
    family: Family,
    epsilon: float,
    delta: float,
    calibration: str,
    integer: bool,
    allow_zero_noise: bool,
) -> Chosen:
    published = protection.published(epsilon, delta)
    exact = {"epsilon": epsilon, "delta": 0.0 if protection.pure_only else delta}
    request = exact if integer else dict(zip(exact, family.request(**exact), strict=True))
    engine = protection.engine
    if calibration == "exact":
        scale = smallest_scale_of(engine, **request)
    else:
        proposed = max(published or 0.0, protection.published(request["epsilon"], delta) or 0.0)
        scale = confirmed(engine, proposed, **request)
    verified, _, _ = measure(engine, scale, epsilon=epsilon)
    require_noise(scale, ["own law"], epsilon=epsilon, delta=delta, allow_zero_noise=allow_zero_noise)
    noise = None if scale == 0 else DiscreteLaplace(scale=scale) if integer else family.at(scale)
    needed = (
        family.for_distance(protection.distance, epsilon=epsilon, delta=delta)
        if protection.distance < math.inf
        else math.inf
    )
    return Chosen(
        protection=protection,
        noise=noise,
        scale=scale,
        published=published,
        verified=verified,
        adds_up=needed <= scale,
    )


def noisy_answers(
    rows: UnitRows,
    plan: Mapping[str, Chosen],
    /,
    *,
    asked: tuple[str, ...],
    added: bool,
    divisor: float | None,
    key: ReleaseKey,
) -> list[AnswerRow]:
    """A row per group and query."""
    noisy = {}
    for statistic, chosen in plan.items():
        exact = _counts(rows, added=added) if statistic == "count" else _sums(rows, added=added, key=key)
        noisy[statistic] = with_noise(exact, chosen.noise, stream=key.stream(statistic))
    table = []
    for group in range(len(rows.groups)):
        for name in asked:
            if name == "mean" and divisor is None:
                table.append(quotient_row(noisy["sum"][group], noisy["count"][group]))
                continue
            statistic = "sum" if name == "mean" else name
            by = Fraction(divisor) if name == "mean" and divisor is not None else Fraction(1)
            table.append(answer_row(noisy[statistic][group], plan[statistic].noise, by=by))
    return table


def _counts(rows: UnitRows, *, added: bool) -> list[Fraction]:
    weights = np.diff(rows.starts) if added else np.ones(len(rows.units), dtype=np.intp)
    counts = np.zeros(len(rows.groups), dtype=np.int64)
    np.add.at(counts, rows.group_of, weights)
    return [Fraction(int(count)) for count in counts]


def _sums(rows: UnitRows, *, added: bool, key: ReleaseKey) -> list[Fraction]:
    """Sum of what the units of each group add, without rounding error that could depend on the others."""
    if added:
        contributions, group = rows.values, np.repeat(rows.group_of, np.diff(rows.starts))
    else:
        contributions, group = rows.values[rows.starts[:-1] + _drawn(rows, key=key)], rows.group_of
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(len(rows.groups) + 1))
    ordered = contributions[order]
    return [exact_sum(ordered[ends[k] : ends[k + 1]].tolist()) for k in range(len(rows.groups))]


def _drawn(rows: UnitRows, *, key: ReleaseKey) -> IndexArray:
    """One row of each unit: a random word times the number of rows, its high half; uniform up to rows / 2**64."""
    words = key.stream("row of a unit").words(range(len(rows.units)))
    sizes = np.diff(rows.starts).astype(np.uint64)
    half = np.uint64(32)
    low = (words & np.uint64(0xFFFFFFFF)) * sizes >> half
    return (((words >> half) * sizes + low) >> half).astype(np.intp)
