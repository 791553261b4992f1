"""Sums, means and counts over units, so that one unit's value, presence or law stays hidden."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from puffer_frames._version import __version__
from puffer_frames.answers.checks import (
    check_count,
    check_integer,
    check_integer_belief,
    check_names,
    check_presence,
    check_queries,
    check_support,
    check_words,
)
from puffer_frames.answers.contributions import choose_scales, noisy_answers
from puffer_frames.answers.noisy import COLUMNS
from puffer_frames.answers.protection import check_protect
from puffer_frames.answers.statements import aggregate_statements, aggregate_subject
from puffer_frames.arguments import check_delta, check_epsilon, check_flag
from puffer_frames.certificate import Certificate
from puffer_frames.errors import ArgumentError, PriorError
from puffer_frames.frames.answers import build_answers, check_free_names
from puffer_frames.frames.columns import LARGEST_VALUE, Name, NativeFrame, as_name, as_names, labels_of, open_frame
from puffer_frames.frames.fingerprint import fingerprint
from puffer_frames.frames.units import read_units
from puffer_frames.frames.write import as_given
from puffer_frames.noise.family import noise_family
from puffer_frames.noise.stream import RandomSource, ReleaseKey, check_rng
from puffer_frames.postprocessing import check_bounds
from puffer_frames.priors import Prior, Secret
from puffer_frames.selection import check_calibration


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
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame or pyarrow.Table
        Never changed. A lazy frame is collected.
    unit : column name, optional
        Whose record a row is: strings, categories, booleans, integers. Without it every row is a unit. A class of rows
        can stand for a unit's law: then one record *drawn from* the class is protected, never the removal of the class.
    value : column name
        What is added; not needed for a count.
    query : "sum", "count", "mean", or ("sum", "count")
        Several answers share epsilon and delta evenly, but for one that needs no noise. A mean without `divisor`
        releases sum and count jointly, and their quotient.
    protect : str
        "value": which of two values a unit reports. "value-or-absence": whether it reports a value or is absent.
        "presence": whether it is there, with its law, or absent. "replacement": which of two units' laws it has.
    epsilon : float
        Greater than 0.
    delta : float
        0 for pure privacy, or far below 1 / (number of units).
    pairs : "all" or iterable of pairs
        Of different values for "value", of a value and None for "value-or-absence", within the domain if there is one
        (or give `domain` alone, whose extremes are then the worst); of units for "replacement".
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
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        A row per group and query: `by`, `query`, `answer`, `scale`, `expected_error` (mean absolute noise), `lower_95`
        and `upper_95` (the answer without noise lies between them with probability 0.95). The answer without noise is
        that of one row per unit, drawn at random, for contribution="draw". A mean by a noisy count has no scale, and is
        missing where that count is not positive. Certificate attached.

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
    sort of the rows; some passes over the laws. **Limits**: beyond 400 units, replacement takes observed frequencies of
    one row each and Laplace noise (or listed pairs), and presence with other noise is held to the largest contribution;
    a unit's rows have at most 65,536 different sums, where their law is needed; values lie within 1e301 of 0.

    References
    ----------
    [DLYZ] Theorems 1 to 4; [D24] section III-B; theory section 7.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> visits = pd.DataFrame({"patient": list("aabbcc"), "visits": [1, 2, 2, 4, 0, 3]})
    >>> answer = visits.puffer.aggregate(unit="patient", value="visits", query="sum", epsilon=1.0, rng=7)
    >>> list(answer.columns), round(float(answer["scale"].iloc[0]), 3)
    (['query', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 3.156)
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    family = noise_family(noise, alpha=alpha)
    family.check(epsilon=epsilon, delta=delta)
    check_protect(protect)
    check_calibration(calibration)
    check_rng(rng)
    asked = check_queries(query, protect=protect, divisor=divisor)
    check_words(contribution=contribution, laws=laws, nulls=nulls)
    check_flag(integer, "integer")
    check_flag(allow_zero_noise, "allow_zero_noise")
    if not allow_zero_noise:
        check_count(asked, protect=protect, contribution=contribution)
    if integer:
        check_integer(asked, family=family, delta=delta)
        check_integer_belief(laws, pairs=pairs, protect=protect)
    opened = open_frame(frame)
    names = {
        "unit": () if unit is None else as_name(unit, frame, role="unit"),
        "value": () if value is None else as_name(value, frame, role="value"),
        "by": as_names(by, frame, role="by"),
    }
    check_names(names, asked=asked)
    check_free_names(names["by"], role="by", taken=("query", *COLUMNS))
    bounds = check_bounds(
        {"value": domain} if domain is not None else None, role="domain", columns=["value"], finite=True
    )
    low, high = bounds.get("value", (-math.inf, math.inf))
    if bounds and max(abs(low), abs(high)) > LARGEST_VALUE:
        raise ArgumentError("domain", rule="within 1e301 of 0", got="larger bounds", hint="Divide by a constant first.")
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
    check_presence(presence_probability, units=rows.units)
    if isinstance(laws, Mapping) and bounds and contribution == "draw":
        check_support(laws, low=low, high=high)
    plan = choose_scales(
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
    answers = noisy_answers(
        rows, plan, asked=asked, added=contribution == "rows", divisor=divisor, key=ReleaseKey.of(rng)
    )
    labels = {name: [group[k] for group in rows.groups for _ in asked] for k, name in enumerate(names["by"])}
    numbers: dict[str, list[Any]] = {"query": list(asked) * len(rows.groups)}
    numbers |= {name: list(column) for name, column in zip(COLUMNS, zip(*answers, strict=True), strict=True)}
    if integer:
        numbers["answer"] = [int(answer) for answer in numbers["answer"]]
    released = build_answers(opened, labels=labels, numbers=numbers, names=labels_of(frame))
    certificate = Certificate(
        subject=aggregate_subject(protect, unit=names["unit"], pairs=pairs, domain=bounds.get("value")),
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
        assumptions=aggregate_statements(
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
    return certificate.attach(as_given(released, frame))
