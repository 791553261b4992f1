"""Sums, means and counts over units, so that one unit's value, presence or law stays hidden."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from puffer_frames.certificates.build import of_choices, of_table
from puffer_frames.certificates.of_aggregate import AggregateFacts, aggregate_statements, aggregate_subject
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.sentences import warnings_of
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.local.numbered import plain_label
from puffer_frames.frames.table import Table, open_table
from puffer_frames.noise.discrete_laplace import DiscreteLaplace
from puffer_frames.noise.totals import COLUMNS, AnswerNoise
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.unit_rows import UnitRows
from puffer_frames.scales.cautions import warn_of_weakness
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.units import choose_scales
from puffer_frames.verbs.answers.aggregate_request import AggregateRequest
from puffer_frames.verbs.answers.curves import curve_of, errors_at, one_by_one
from puffer_frames.verbs.answers.unit_answers import noisy_answers
from puffer_frames.verbs.requests.arguments import AggregateArguments, takes


@takes(AggregateArguments)
def aggregate(frame: NativeFrame, arguments: AggregateArguments, /) -> NativeFrame:
    r"""Release a sum, count or mean over units that hides what one unit adds.

    Every unit adds a random :math:`D_i` with a law of its own, independent of the others. What one of them adds (a
    value, its law, or whether it is there at all) changes the odds of the answer by at most :math:`e^\varepsilon`.

    Parameters
    ----------
    frame : frame
        Of pandas, Polars, PyArrow, DuckDB or Spark. Never changed. The rows of lazy Polars, DuckDB and Spark frames are
        counted where they lie; units of float labels are refused there.
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
    epsilon : float or several
        Greater than 0. Several give a curve: nothing is drawn or spent.
    delta : float
        0 for pure privacy, or far below 1 / (number of units).
    pairs : "all" or iterable of pairs
        Of different values for "value", of a value and None for "value-or-absence", within the domain if there is one
        (or give `domain` alone, whose extremes are then the worst); of units for "replacement"; of a unit and None for
        "presence".
    laws : "empirical", "gaussian", "population", Population(), Contamination() or mapping of unit to Prior
        The law of one row of the unit (of its whole contribution, where given): its observed frequencies, the Gaussian
        of its mean and standard deviation, any that its rows do not refute, its frequencies with a share of wrong
        rows, or your own.
    contribution : "rows" or "draw"
        "rows": each unit adds all its k rows, taken as k independent draws from its law. "draw": one of them, drawn at
        random.
    by : column name or several
        One answer per group of rows. All rows of a unit lie in one group. The groups are public.
    domain : (low, high), optional
        Public bounds of the value, to which it is clipped first. Where each row is a unit that may be absent, the scale
        is that of the larger bound, and the domain must be given: without it the scale would tell the largest value.
    divisor : float, optional
        Public divisor of a mean, independent of what is protected.
    calibration : "exact" or "theorem"
        The smallest scale that the engine confirms, or the published one, raised where it is not confirmed.
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
        As in `privatize`.
    integer : bool
        Release integers (discrete Laplace noise): for values that are integers, Laplace noise and delta 0.
    nulls : "raise" or "drop"
        What to do with rows that miss a unit, value or group.
    allow_zero_noise : bool
        Allow an answer without noise where none is needed.
    about : mapping, optional
        As in `privatize`.
    ledger : str, Path or Ledger(...), optional
        As in `privatize`.
    rng : None, int or numpy.random.Generator
        A seed makes the release reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        In memory; from Spark pandas, from DuckDB PyArrow. A row per group and query: `by`, `query`, `answer`, `scale`,
        `expected_error` (mean absolute noise), `lower_95` and `upper_95` (the answer without noise lies between them
        with probability 0.95). The answer without noise is that of one row per unit, drawn at random, for
        contribution="draw". A mean by a noisy count has no scale, and is missing where that count is not positive.
        Certificate attached. For several epsilons, a row per epsilon and query: `epsilon`, `query`, `scale`,
        `expected_error` and `reach_95` (the noise is within it with probability 0.95), without a certificate: scales
        may tell of the rows, so that the curve is yours alone.

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
    LedgerError
        Where the release is beyond the limit of its ledger.

    Notes
    -----
    **Guarantee**: for every unit and pair, :math:`P(\text{answers} \in B \mid s) \le e^\varepsilon
    P(\text{answers} \in B \mid t) + \delta`, both orders, whatever the laws of the other units are. The exact scale is
    that of the unit alone: adding what the others add is data processing. One scale serves all groups. **Cost**: one
    sort of the rows; some passes over the laws. **Limits**: beyond 400 different laws (1,500 where all rows are added)
    replacement takes observed frequencies of one row each and Laplace noise, or listed pairs, and presence with other
    noise is held to the largest contribution. Where the law of its sum is needed, a unit adds at most 6,553 rows, or
    rows of at most 65,536 different sums. Values lie within 1e301 of 0.

    References
    ----------
    [DLYZ] Theorems 1 to 4; [D24] section III-B; docs/theory.md, section 7.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> visits = pd.DataFrame({"patient": list("aabbcc"), "visits": [1, 2, 2, 4, 0, 3]})
    >>> answer = visits.puffer.aggregate(unit="patient", value="visits", query="sum", epsilon=1.0, rng=7)
    >>> list(answer.columns), round(float(answer["scale"].iloc[0]), 3)
    (['query', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 6.162)
    """
    table, several = open_table(frame), one_by_one(arguments)
    if several is not None:
        return _curve(table, several)
    request = AggregateRequest.of(arguments, table.labels)
    rows = table.read_units(request.columns)
    warn_of_weakness(request.target, rows=rows.count, of="units")
    choices = _choices(request, rows)
    noises = {name: _noise(request, choice.scale) for name, choice in choices.items()}
    facts = _facts(request, choices)
    statements = aggregate_statements(facts)
    certificate = Certificate(
        **of_table(request.by, ("query", *COLUMNS), table.names),
        **of_choices(
            choices,
            request.target,
            noises=noises,
            family="discrete Laplace" if request.integer else request.noise.title,
            calibration=request.calibration,
            seeded=request.drawing.seeded,
        ),
        subject=aggregate_subject(
            request.protect,
            unit=request.unit,
            value=request.value,
            asked=request.queries,
            listed=request.listed,
            domain=request.domain,
        ),
        secret=("row",) if request.unit is None else (request.unit,),
        secret_values=(),
        secret_count=0,
        pairs=tuple((plain_label(one), plain_label(other)) for one, other in request.listed) or "all",
        beliefs=(request.belief,),
        statements=statements,
        facts=facts.stated,
        warnings=warnings_of(statements),
        rows=len(rows.groups) * len(request.queries),
        fingerprint="",
    ).said(request.drawing.about)
    reserved = request.drawing.reserve(certificate, frame)
    labels, numbers = _table(request, rows, noises)
    return reserved.put_answers(certificate, table.answers(labels=labels, numbers=numbers))


def _curve(table: Table, several: Sequence[AggregateArguments]) -> NativeFrame:
    """Scales and errors at several epsilons; 0 where no noise is needed, for nothing is released."""
    requests = [AggregateRequest.of(replace(one, allow_zero_noise=True), table.labels) for one in several]
    rows = table.read_units(requests[0].columns)
    found = []
    for request in requests:
        noises = {name: _noise(request, choice.scale) for name, choice in _choices(request, rows).items()}
        means = Fraction(0 if request.divisor is None else float(request.divisor))
        divisors = {query: means if query == "mean" else Fraction(1) for query in request.queries}
        found += errors_at(request.target.epsilon, noises, divisors)
    return curve_of(table, found)


def _choices(request: AggregateRequest, rows: UnitRows) -> dict[str, Choice]:
    """The scale of each statistic."""
    request.check_values(rows.values)
    return choose_scales(
        rows,
        request.target,
        asked=request.queries,
        protect=request.protect,
        pairs=request.pairs,
        values=request.values,
        laws=request.laws,
        domain=request.domain,
        belief=request.belief,
        added=request.added,
        noise=request.noise,
        calibration=request.calibration,
        integer=request.integer,
        allow_zero_noise=request.allow_zero_noise,
    )


def _facts(request: AggregateRequest, choices: Mapping[str, Choice]) -> AggregateFacts:
    return AggregateFacts(
        choices=choices,
        target=request.target,
        noise=request.noise,
        present=request.protect == "presence" and bool(request.listed),
        listed=bool(request.listed),
        by_law=request.by_law,
        laws=None if isinstance(request.laws, Mapping) else request.laws,
        added=request.added,
        unit=request.unit is not None,
        grouped=bool(request.by),
        integer=request.integer,
        divisor=request.divisor,
        nulls=request.nulls,
        domain=request.domain,
        seeded=request.drawing.seeded,
    )


def _noise(request: AggregateRequest, scale: float) -> AnswerNoise | None:
    if not scale:
        return None
    return DiscreteLaplace(scale=scale) if request.integer else request.noise.at(scale)


def _table(
    request: AggregateRequest, rows: UnitRows, noises: dict[str, AnswerNoise | None]
) -> tuple[dict[str, list[Secret]], dict[str, list[Any]]]:
    """Labels of the groups, and numbers: a row per group and query."""
    answers = noisy_answers(
        rows,
        noises,
        asked=request.queries,
        added=request.added,
        divisor=request.divisor,
        key=request.drawing.key(),
    )
    labels = {name: [group[k] for group in rows.groups for _ in request.queries] for k, name in enumerate(request.by)}
    numbers: dict[str, list[Any]] = {"query": list(request.queries) * len(rows.groups)}
    numbers |= {name: list(column) for name, column in zip(COLUMNS, zip(*answers, strict=True), strict=True)}
    if request.integer:
        numbers["answer"] = [int(answer) for answer in numbers["answer"]]
    return labels, numbers
