"""Sums, means and counts over units, so that one unit's value, presence or law stays hidden."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from puffer_frames._version import __version__
from puffer_frames.arguments import check_delta, check_epsilon, check_probability
from puffer_frames.certificate import Certificate
from puffer_frames.errors import ArgumentError, ArgumentTypeError, PriorError
from puffer_frames.frames.answers import build_answers
from puffer_frames.frames.attach import fingerprint
from puffer_frames.frames.columns import Name, NativeFrame, as_names, open_frame
from puffer_frames.frames.units import UnitRows, check_columns, read_units
from puffer_frames.laws import UnitLaws
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.adding import grid_noise
from puffer_frames.noise.discrete_laplace import DiscreteLaplace
from puffer_frames.noise.family import LAPLACE, Family, noise_family
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.pairs import check_pairs
from puffer_frames.postprocessing import check_bounds
from puffer_frames.priors import Prior, Secret
from puffer_frames.protection import (
    Protection,
    check_protect,
    check_values,
    of_presence,
    of_replacement,
    of_values,
)
from puffer_frames.rounding import divide_up
from puffer_frames.search import smallest_scale_of
from puffer_frames.selection import check_calibration, confirmed, measure, require_noise

QUERIES = ("sum", "count", "mean")
_COVERAGE = 0.95


def aggregate(
    frame: NativeFrame,
    /,
    *,
    unit: Name | None = None,
    value: Name | None = None,
    query: str | Sequence[str] = "sum",
    protect: str = "presence",
    epsilon: float,
    delta: float = 0.0,
    pairs: str | Iterable[Sequence[Any]] = "all",
    laws: str | Mapping[Secret, Prior] = "empirical",
    contribution: str = "draw",
    by: Name | Iterable[Name] = (),
    domain: Sequence[float] | None = None,
    divisor: float | None = None,
    presence_probability: float | Mapping[Secret, float] | None = None,
    calibration: str = "exact",
    noise: str = "laplace",
    alpha: float | None = None,
    integer: bool = False,
    nulls: str = "raise",
    allow_zero_noise: bool = False,
    rng: RandomSource = None,
) -> NativeFrame:
    r"""Release a sum, count or mean over units that hides what one unit adds.

    Every unit adds a random :math:`D_i` with a law of its own, independent of the others. What one of them adds (a
    value, its law, or whether it is there at all) changes the odds of the answer by at most :math:`e^\varepsilon`.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame or polars.LazyFrame
        Never changed. A lazy frame is collected.
    unit : column name, optional
        Whose record a row is: strings, categories, booleans, integers. Without it every row is a unit. A class of rows
        can stand for a unit's law: then one record *drawn from* the class is protected, never the removal of the class.
    value : column name
        What is added; not needed for a count.
    query : "sum", "count", "mean", or ("sum", "count")
        Several answers share epsilon and delta evenly. A mean without `divisor` releases sum and count jointly, and
        their quotient.
    protect : str
        "value": which of two values a unit reports. "value-or-absence": whether it reports a value or is absent.
        "presence": whether it is there, with its law, or absent. "replacement": which of two units' laws it has.
    epsilon : float
        Greater than 0.
    delta : float
        0 for pure privacy, or far below 1 / (number of units).
    pairs : "all" or iterable of pairs
        Of values for "value", of a value and None for "value-or-absence" (or give `domain`, whose extremes are then the
        worst); of units for "replacement".
    laws : "empirical", "gaussian" or mapping of unit to Prior
        The law of one row of the unit (of its whole contribution, where given): its observed frequencies, the Gaussian
        of its mean and standard deviation, or your own.
    contribution : "draw" or "rows"
        "draw": each unit adds one of its rows, drawn at random. "rows": all its k rows, taken as k independent draws.
    by : column name or several
        One answer per group of rows. All rows of a unit lie in one group. The groups are public.
    domain : (low, high), optional
        Public bounds of the value, to which it is clipped first.
    divisor : float, optional
        Public divisor of a mean, independent of what is protected.
    presence_probability : float or mapping of unit to float, optional
        Checked, and not needed: the guarantee compares "present" with "absent" whatever their probabilities are.
    calibration : "exact" or "theorem"
        The smallest scale that the engine confirms, or the published one, raised where it is not confirmed.
    noise, alpha : str, float
        As in `privatize`.
    integer : bool
        Release integers (discrete Laplace noise): for values that are integers, Laplace noise and delta 0.
    nulls : "raise" or "drop"
        What to do with rows that miss a unit, value or group.
    allow_zero_noise : bool
        Allow an answer without noise where none is needed.
    rng : None, int or numpy.random.Generator
        A seed makes the release reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame or polars.DataFrame
        A row per group and query: `by`, `query`, `answer`, `scale`, `expected_error` (mean absolute noise), `lower_95`
        and `upper_95` (the answer without noise lies between them with probability 0.95). Certificate attached.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range, and a unit in two groups.
    PriorError
        For an empty frame, missing or infinite values, and integers beyond 2**53.
    CalibrationError
        Where no noise would be added, unless `allow_zero_noise`.

    Notes
    -----
    **Guarantee**: for every unit and pair, :math:`P(\text{answers} \in B \mid s) \le e^\varepsilon
    P(\text{answers} \in B \mid t) + \delta`, both orders, whatever the laws of the other units are. The exact scale is
    that of the unit alone: adding what the others add is data processing. One scale serves all groups. **Cost**: one
    sort of the rows; some passes over the laws.

    References
    ----------
    [DLYZ] Theorems 1 to 4; [D24] section III-B; theory section 7.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> visits = pd.DataFrame({"patient": list("aabbcc"), "visits": [1, 2, 2, 4, 0, 3]})
    >>> answer = visits.puffer.aggregate(unit="patient", value="visits", query="sum", epsilon=1.0, rng=7)
    >>> list(answer.columns), round(float(answer["scale"].iloc[0]), 3)
    (['query', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 3.172)
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    family = noise_family(noise, alpha=alpha)
    family.check(epsilon=epsilon, delta=delta)
    check_protect(protect)
    check_calibration(calibration)
    check_rng(rng)
    asked = _queries(query, protect=protect, divisor=divisor)
    _check_words(contribution=contribution, laws=laws, nulls=nulls)
    if integer:
        _check_integer(asked, family=family, delta=delta)
    opened = open_frame(frame)
    names = {
        "unit": () if unit is None else as_names(unit, frame, role="unit"),
        "value": () if value is None else as_names(value, frame, role="value"),
        "by": as_names(by, frame, role="by"),
    }
    _check_names(names, asked=asked)
    bounds = check_bounds(
        {"value": domain} if domain is not None else None, role="domain", columns=["value"], finite=True
    )
    low, high = bounds.get("value", (-math.inf, math.inf))
    rows = read_units(
        opened,
        unit=next(iter(names["unit"]), None),
        value=next(iter(names["value"]), None),
        by=names["by"],
        nulls=nulls,
        low=low,
        high=high,
    )
    if integer and not (rows.values == np.rint(rows.values)).all():
        raise PriorError(
            f"the value column {names['value'][0]!r}",
            rule="of integers for integer=True",
            got="other numbers",
            hint="Leave integer out.",
        )
    _check_presence(presence_probability)
    plan = _plan(
        rows,
        asked=asked,
        protect=protect,
        pairs=pairs,
        laws=laws,
        added=contribution == "rows",
        domain=bounds.get("value"),
        family=family,
        epsilon=epsilon,
        delta=delta,
        calibration=calibration,
        integer=integer,
        allow_zero_noise=allow_zero_noise,
    )
    key = ReleaseKey.of(rng)
    answers = _answers(rows, plan, asked=asked, added=contribution == "rows", divisor=divisor, integer=integer, key=key)
    labels = {name: [group[k] for group in rows.groups for _ in asked] for k, name in enumerate(names["by"])}
    numbers: dict[str, list[Any]] = {"query": list(asked) * len(rows.groups), **answers}
    if set(labels) & set(numbers):
        raise ArgumentError(
            "by",
            rule="columns with other names than those of the answers",
            got=f"{next(iter(set(labels) & set(numbers)))!r}",
            hint="Rename the column first.",
        )
    released = build_answers(opened, labels=labels, numbers=numbers)
    certificate = Certificate(
        subject=_subject(protect, unit=names["unit"], pairs=pairs, domain=bounds.get("value")),
        answers=True,
        epsilon=epsilon,
        delta=delta,
        secret=names["unit"] or ("row",),
        public=("answer",),
        kept=tuple(name for name in (*labels, *numbers) if name != "answer"),
        pairs="all",
        beliefs=("given" if isinstance(laws, Mapping) else laws,),
        theorem=" and ".join(dict.fromkeys(chosen.protection.theorem for chosen in plan.values())),
        source=" and ".join(dict.fromkeys(chosen.protection.source for chosen in plan.values())),
        published_scales={name: chosen.published for name, chosen in plan.items()},
        calibration=calibration,
        noise="discrete Laplace" if integer else family.title,
        scales={name: chosen.scale for name, chosen in plan.items()},
        expected_error={name: chosen.expected_error for name, chosen in plan.items()},
        verified={name: {"own law": chosen.verified} for name, chosen in plan.items()},
        adds_up=all(chosen.adds_up for chosen in plan.values()),
        assumptions=_assumptions(
            plan,
            protect=protect,
            laws=laws,
            added=contribution == "rows",
            by=names["by"],
            family=family,
            integer=integer,
            divisor=divisor,
            nulls=nulls,
            told=presence_probability is not None,
            domain=bounds.get("value"),
            delta=delta,
        ),
        reproducible=rng is not None,
        rows=len(rows.groups) * len(asked),
        version=__version__,
        fingerprint=fingerprint(released),
    )
    return certificate.attach(released)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The scale of one statistic, and why."""

    protection: Protection
    """What it hides."""
    noise: Any
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


def _plan(
    rows: UnitRows,
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
    """The scale of each statistic."""
    statistics = tuple(dict.fromkeys("sum" if name == "mean" else name for name in asked))
    share = epsilon if len(statistics) == 1 else math.nextafter(epsilon / len(statistics), 0.0)
    share_of_delta = delta / len(statistics)
    values = None
    if protect in ("value", "value-or-absence"):
        values = check_values(pairs, domain, absence=protect == "value-or-absence")
    elif protect == "replacement":
        known = list(laws) if isinstance(laws, Mapping) else rows.units
        checked = check_pairs(pairs, known)
    elif pairs != "all":
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


def _answers(
    rows: UnitRows,
    plan: Mapping[str, Chosen],
    *,
    asked: tuple[str, ...],
    added: bool,
    divisor: float | None,
    integer: bool,
    key: ReleaseKey,
) -> dict[str, list[Any]]:
    """Noisy answers group by group, each with its scale, expected error and interval."""
    noisy = {}
    for statistic, chosen in plan.items():
        exact = _counts(rows, added=added) if statistic == "count" else _sums(rows, added=added, key=key)
        noisy[statistic] = _with_noise(exact, chosen.noise, stream=key.stream(statistic), integer=integer)
    table: dict[str, list[Any]] = {name: [] for name in ("answer", "scale", "expected_error", "lower_95", "upper_95")}
    for group in range(len(rows.groups)):
        for name in asked:
            statistic = "sum" if name == "mean" else name
            by = Fraction(1)
            if name == "mean":
                by = Fraction(divisor) if divisor is not None else noisy["count"][group]
            chosen = plan[statistic]
            answer = float(noisy[statistic][group] / by) if by else None
            joint = name == "mean" and divisor is None
            scale = None if joint else divide_up(chosen.scale, float(by))
            error = None if joint else chosen.expected_error / float(by)
            reach = None if joint else _reach(chosen) / float(by)
            row = (
                int(answer) if integer and answer is not None else answer,
                scale,
                error,
                None if reach is None or answer is None else answer - reach,
                None if reach is None or answer is None else answer + reach,
            )
            for column, entry in zip(table.values(), row, strict=True):
                column.append(entry)
    return table


def _reach(chosen: Chosen) -> float:
    return float(chosen.noise.quantile(0.5 + _COVERAGE / 2)) if chosen.noise is not None else 0.0


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
    return [_exact_sum(ordered[ends[k] : ends[k + 1]].tolist()) for k in range(len(rows.groups))]


def _drawn(rows: UnitRows, *, key: ReleaseKey) -> np.ndarray[Any, np.dtype[np.intp]]:
    """One row of each unit: a random word times the number of rows, its high half; uniform up to rows / 2**64."""
    words = key.stream("row of a unit").words(range(len(rows.units)))
    sizes = np.diff(rows.starts).astype(np.uint64)
    half = np.uint64(32)
    low = (words & np.uint64(0xFFFFFFFF)) * sizes >> half
    return (((words >> half) * sizes + low) >> half).astype(np.intp)


def _exact_sum(values: list[float]) -> Fraction:
    try:
        rounded = math.fsum(values)
        rest = math.fsum([*values, -rounded])
    except OverflowError:
        raise PriorError(
            "the sum", rule="in the range of floats", got="a larger one", hint="Divide the column by a constant first."
        ) from None
    return Fraction(rounded) + Fraction(rest)


def _with_noise(exact: list[Fraction], noise: Any, *, stream: Any, integer: bool) -> list[Fraction]:
    """The sums, rounded to the grid of the noise, plus noise on it."""
    if noise is None:
        return exact
    if integer:
        return [total + draw for total, draw in zip(exact, noise.draw(range(len(exact)), stream=stream), strict=True)]
    sampler = noise.sampler()
    grid = Fraction(sampler.grid)
    drawn = grid_noise(sampler, range(len(exact)), stream=stream)
    return [(round(total / grid) + Fraction(float(n))) * grid for total, n in zip(exact, drawn, strict=True)]


def _queries(query: str | Sequence[str], *, protect: str, divisor: float | None) -> tuple[str, ...]:
    listed = (query,) if isinstance(query, str) else tuple(query) if isinstance(query, Sequence) else (None,)
    if not listed or any(name not in QUERIES for name in listed) or len(set(listed)) < len(listed):
        raise ArgumentError(
            "query",
            rule='"sum", "count", "mean" or ("sum", "count")',
            got=repr(query) if isinstance(query, str) else "others",
            hint='Leave it out for "sum".',
        )
    if "count" in listed and protect == "value":
        raise ArgumentError(
            "query",
            rule='"sum" or "mean" for protect="value"',
            got="'count'",
            hint='A unit\'s value does not change a count: say protect="presence".',
        )
    if divisor is not None and "mean" not in listed:
        raise ArgumentError("divisor", rule='given for query="mean" only', got="one", hint="Leave it out.")
    if divisor is not None:
        positive = isinstance(divisor, Real) and not isinstance(divisor, bool) and 0 < float(divisor) < math.inf
        if not positive:
            raise ArgumentError(
                "divisor", rule="a positive number", got="another", hint="Give the public head count, for example 100."
            )
    if "mean" in listed and divisor is None:
        if protect in ("value", "replacement"):
            raise ArgumentError(
                "divisor",
                rule=f'given for query="mean" and protect="{protect}"',
                got="none",
                hint="Give a public head count, or ask for the sum.",
            )
        return ("sum", "count", "mean")
    return listed


def _check_words(*, contribution: str, laws: object, nulls: str) -> None:
    if contribution not in ("draw", "rows"):
        raise ArgumentError(
            "contribution", rule='"draw" or "rows"', got=repr(contribution), hint='Leave it out for "draw".'
        )
    if not isinstance(laws, Mapping) and laws not in ("empirical", "gaussian"):
        raise ArgumentError(
            "laws",
            rule='"empirical", "gaussian" or a mapping of unit to Prior',
            got=repr(laws) if isinstance(laws, str) else f"a {type(laws).__name__}",
            hint='Leave it out for "empirical".',
        )
    if nulls not in ("raise", "drop"):
        raise ArgumentError("nulls", rule='"raise" or "drop"', got=repr(nulls), hint='Leave it out for "raise".')


def _check_integer(asked: tuple[str, ...], *, family: Family, delta: float) -> None:
    if family != LAPLACE or delta or "mean" in asked:
        raise ArgumentError(
            "integer",
            rule="for sums and counts with Laplace noise and delta 0",
            got="mean" if "mean" in asked else f"{family.title} noise and delta {delta:g}",
            hint="Leave it out, and round the answers: that costs nothing.",
        )


def _check_names(names: Mapping[str, tuple[str, ...]], *, asked: tuple[str, ...]) -> None:
    for role in ("unit", "value"):
        if len(names[role]) > 1:
            raise ArgumentTypeError(role, rule="one column name", got="several", hint=f'Write {role}="column".')
    if not names["value"] and set(asked) != {"count"}:
        raise ArgumentError("value", rule="the name of a column", got="none", hint='Write value="column".')
    check_columns(names)


def _check_presence(probability: float | Mapping[Secret, float] | None) -> None:
    if probability is None:
        return
    for number in probability.values() if isinstance(probability, Mapping) else [probability]:
        check_probability(number, "presence_probability")


def _subject(
    protect: str, *, unit: tuple[str, ...], pairs: str | Iterable[Sequence[Any]], domain: tuple[float, float] | None
) -> str:
    who = f"each {unit[0]}" if unit else "each row"
    listed = (
        "the declared pairs"
        if pairs != "all"
        else "any two"
        if domain is None
        else f"any two of [{domain[0]:g}, {domain[1]:g}]"
    )
    return {
        "value": f"the value that {who} reports, {listed} of values"
        if domain is None or pairs != "all"
        else f"the value that {who} reports, {listed}",
        "value-or-absence": f"whether {who} reports a value or is absent, {listed if pairs != 'all' else 'for every value'}",
        "presence": f"whether {who} is present with its law, or absent",
        "replacement": f"which of two laws {who} has, {'every pair' if pairs == 'all' else listed} of them",
    }[protect]


def _assumptions(
    plan: Mapping[str, Chosen],
    *,
    protect: str,
    laws: str | Mapping[Secret, Prior],
    added: bool,
    by: tuple[str, ...],
    family: Family,
    integer: bool,
    divisor: float | None,
    nulls: str,
    told: bool,
    domain: tuple[float, float] | None,
    delta: float,
) -> tuple[str, ...]:
    of_law = {
        "empirical": "the observed frequencies of its rows",
        "gaussian": "a Gaussian with the moments of its rows",
    }
    law = "the given prior" if isinstance(laws, Mapping) else of_law[str(laws)]
    statements = ["units are independent of one another, and each is counted once; the guarantee is per unit"]
    if added:
        statements.append("a unit adds all its rows, taken as independent draws of its law")
    else:
        statements.append(
            "a unit adds one draw of its law: one of its rows. Where a class of rows is the unit, one record drawn from "
            "the class is protected; the removal of the class is not"
        )
    if protect in ("presence", "replacement"):
        statements.append(
            f"a unit's law is {law}; that it was learned from the table, and that the scale is published, is outside the "
            "guarantee"
        )
    if told:
        statements.append("the probability of being present does not matter: the loss compares present with absent")
    if domain is not None:
        statements.append(f"values were clipped before they were added: to [{domain[0]:g}, {domain[1]:g}]")
    if by:
        statements.append("the groups are public, and a unit lies in one of them")
    if len(plan) > 1:
        statements.append("sum and count share epsilon evenly; together they have the guarantee")
    if divisor is not None:
        statements.append(f"the divisor {divisor:g} is public and independent of what is protected")
    if any(chosen.protection.pure_only for chosen in plan.values()) and delta:
        statements.append("held to pure privacy, which is more than was asked for")
    if nulls == "drop":
        statements.append("rows with a missing entry may have been left out; that an entry is missing is not protected")
    if integer:
        statements.append("the noise is discrete Laplace noise, drawn exactly with AES-256 for its random bits")
    elif any(chosen.scale for chosen in plan.values()):
        statements.append(family.on_grid)
    adding = [name for name, chosen in plan.items() if chosen.adds_up]
    alone = [name for name, chosen in plan.items() if not chosen.adds_up]
    if adding:
        deltas = " and deltas" * (delta > 0)
        statements.append(f"several releases of the same rows: the epsilons{deltas} of {' and '.join(adding)} add")
    if alone:
        statements.append(
            f"one release of {' and '.join(alone)}: a second one of the same rows is outside the guarantee, for the scale "
            "rests on the randomness of what a unit adds"
        )
    return tuple(statements)
