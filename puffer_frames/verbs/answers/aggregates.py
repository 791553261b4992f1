"""Sums, means and counts over units, so that one unit's value, presence or law stays hidden."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from puffer_frames.certificates.build import of_choices, of_table, warn_of_weakness
from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.sentences import warn_of, warnings_of
from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.frames.coded import plain_label
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import coded, codes_text
from puffer_frames.frames.table import Table, open_table
from puffer_frames.loss.presence import NOTHING
from puffer_frames.noise.laplace import DiscreteLaplace
from puffer_frames.noise.stream import Purpose, ReleaseKey
from puffer_frames.noise.totals import COLUMNS, AnswerNoise, AnswerRow, answer_row, exact_sum, quotient_row, with_noise
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.pairs import Pairs, check_pairs
from puffer_frames.priors.prior import FloatArray, IndexArray, Prior, Secret
from puffer_frames.priors.series_rows import UnitRows
from puffer_frames.scales import units as protections
from puffer_frames.scales.cautions import MOVED, warn_of_noisy_answers, warn_of_share
from puffer_frames.scales.choice import Choice, Proposal, choose
from puffer_frames.scales.learned import LearnedBelief
from puffer_frames.verbs.answers.aggregate_request import AggregateRequest
from puffer_frames.verbs.answers.checks import Replay, curve_of, errors_at, one_by_one
from puffer_frames.verbs.answers.statements import aggregate_statements, aggregate_subject
from puffer_frames.verbs.requests import AggregateArguments, takes


def _counts(rows: UnitRows, *, added: bool) -> list[Fraction]:
    counts = np.zeros(len(rows.groups), dtype=np.int64)
    np.add.at(counts, rows.group_of, rows.often * rows.sizes if added else rows.often)
    return [Fraction(int(count)) for count in counts]


def _sums(rows: UnitRows, *, added: bool, key: ReleaseKey) -> list[Fraction]:
    """Sum of what the units of each group add, without rounding error that could depend on the others."""
    if added:
        unit = np.repeat(np.arange(len(rows.units)), np.diff(rows.starts))
        contributions, group, often = rows.values, rows.group_of[unit], rows.often[unit] * rows.times
    else:
        unit = np.repeat(np.arange(len(rows.units)), rows.often)
        contributions, group = rows.values[_drawn(rows, unit, key=key)], rows.group_of[unit]
        often = np.ones(unit.size, dtype=np.intp)
    order = np.argsort(group, kind="stable")
    ends = np.searchsorted(group[order], np.arange(len(rows.groups) + 1))
    parts = [order[ends[k] : ends[k + 1]] for k in range(len(rows.groups))]
    return [exact_sum(contributions[part], often[part]) for part in parts]


def _drawn(rows: UnitRows, unit: IndexArray, *, key: ReleaseKey) -> IndexArray:
    """Place of the value of one row of each unit.

    The row is a random word times the number of rows, its high half: uniform up to rows / 2**64.
    """
    words = key.stream(Purpose.ROW_OF_A_UNIT).words(range(unit.size))
    ends = np.cumsum(rows.times)
    sizes = rows.sizes[unit].astype(np.uint64)
    half = np.uint64(32)
    low = (words & np.uint64(0xFFFFFFFF)) * sizes >> half
    drawn = (((words >> half) * sizes + low) >> half).astype(np.intp)
    return np.searchsorted(ends, (ends - rows.times)[rows.starts[unit]] + drawn, side="right")


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
    null_values, about, ledger
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
    frame, codes = coded(frame, arguments.null_values)
    table, several = open_table(frame), one_by_one(arguments)
    if several is not None:
        return _curve(table, several)
    request, rows = _read(arguments, table)
    warn_of_weakness(request.target, rows=rows.count, of="units")
    choices = _choices(request, rows)
    impossible = protections.units_ruled_out(rows, request.laws, added=request.added) if "sum" in choices else 0
    if impossible:
        warn_of("impossible-table", laws="laws make", what=f"what {impossible:,} of the units add")
    noises = {name: _noise(request, choice.scale) for name, choice in choices.items()}
    if rows.moved > MOVED:
        warn_of_share(f"the domain of the value column {request.value!r}", rows.moved, by="answer and certificate")
    _warn_of_noise(request, rows, noises)
    statements = aggregate_statements(request, choices, impossible=bool(impossible))
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
        subject=aggregate_subject(request),
        secret=("row",) if request.unit is None else (request.unit,),
        secret_values=(),
        secret_count=0,
        pairs=tuple((plain_label(one), plain_label(other)) for one, other in request.listed) or "all",
        beliefs=(request.belief,),
        statements=statements,
        facts=Facts(
            seeded=request.drawing.seeded and any(choice.scale for choice in choices.values()),
            dropped=request.nulls == "drop",
        ),
        warnings=warnings_of(statements),
        rows=len(rows.groups) * len(request.queries),
        fingerprint="",
    )
    certificate = certificate.said(request.drawing.about).of_codes(codes_text(codes))
    reserved = request.drawing.reserve(certificate, frame)
    labels, numbers = _table(request, rows, noises)
    return reserved.put_answers(certificate, table.answers(labels=labels, numbers=numbers))


def _read(arguments: AggregateArguments, table: Table) -> tuple[AggregateRequest, UnitRows]:
    request = AggregateRequest.of(arguments, table.labels)
    rows = table.read_units(request.columns)
    return request.of_rows(rows), rows


def _warn_of_noise(request: AggregateRequest, rows: UnitRows, noises: Mapping[str, AnswerNoise | None]) -> None:
    """Warn of queries whose noise is larger than the exact answers."""
    totals = dict(zip(("sum", "count"), rows.totals(added=request.added), strict=True))
    for query in request.queries:
        statistic = "sum" if query == "mean" else query
        noise = None if query == "mean" and request.divisor is None else noises[statistic]
        warn_of_noisy_answers(query, totals[statistic], 0.0 if noise is None else noise.expected_absolute_error)


def replay_aggregate(frame: NativeFrame, arguments: AggregateArguments, scales: Mapping[str, float], /) -> Replay:
    """The answers without noise, and what the noise must hide; raises as `aggregate`."""
    table = open_table(coded(frame, arguments.null_values)[0])
    request, rows = _read(arguments, table)
    statistics = request.statistics

    def answers(scales: Mapping[str, float]) -> FloatArray:
        noises = {name: _noise(request, scales.get(name, 0.0)) for name in statistics}
        return np.array(_table(request, rows, noises)[1]["answer"], dtype=float)

    exact = answers({})
    drawn = "sum" in statistics and not request.added and bool((np.diff(rows.starts) > 1).any())
    return Replay(
        exact=exact,
        own_noise=np.ones(exact.size, dtype=bool),
        again=partial(answers, scales) if drawn else None,
        rivals={} if drawn else {name: _rivals(request, rows, name) for name in statistics},
    )


def _rivals(request: AggregateRequest, rows: UnitRows, statistic: str) -> tuple[Prior, Prior]:
    """Two laws of what one unit adds that the noise must hide, far apart."""
    if request.values is not None and statistic == "sum":
        most = request.most_rows(rows)
        first, second = max(request.values, key=lambda pair: abs(pair[0] - (pair[1] or 0.0)))
        return Prior.gaussian(most * first, 0.0), Prior.gaussian(most * (second or 0.0), 0.0)
    given = "empirical" if isinstance(request.laws, LearnedBelief) else request.laws
    laws = protections.contributions(rows, given, statistic=statistic, added=request.added)
    replaced = request.protect == "replacement"
    if request.listed and request.by_law:
        units = request.listed[0] if replaced else [unit for pair in request.listed for unit in pair]
        laws = laws.some(unit for unit in units if unit is not None)
    means = np.add.reduceat(laws.weights * laws.means, laws.starts[:-1]) * laws.copies
    if replaced:
        return laws.prior(int(means.argmin())), laws.prior(int(means.argmax()))
    return laws.prior(int(np.abs(means).argmax())), NOTHING


def _curve(table: Table, several: Sequence[AggregateArguments]) -> NativeFrame:
    """Scales and errors at several epsilons; 0 where no noise is needed, for nothing is released."""
    requests = [AggregateRequest.of(replace(one, allow_zero_noise=True), table.labels) for one in several]
    rows = table.read_units(requests[0].columns)
    found = []
    for request in [each.of_rows(rows) for each in requests]:
        noises = {name: _noise(request, choice.scale) for name, choice in _choices(request, rows).items()}
        means = Fraction(0 if request.divisor is None else float(request.divisor))
        divisors = {query: means if query == "mean" else Fraction(1) for query in request.queries}
        found += errors_at(request.target.epsilon, noises, divisors)
    return curve_of(table, found)


def _choices(request: AggregateRequest, rows: UnitRows) -> dict[str, Choice]:
    """The scale of each statistic that is asked for; several share the target evenly."""
    request.check_values(rows.values)
    laws, values, added, noise = request.laws, request.values, request.added, request.noise
    statistics = request.statistics
    replaced = request.protect == "replacement"
    counted = "count" in statistics and not (replaced and not added)
    share = request.target.share(max(1, len([name for name in statistics if name != "count"]) + counted))
    units = list(laws) if isinstance(laws, Mapping) else rows.units
    checked = _pairs_of_units(request.pairs, units) if replaced else "all"
    present = None
    if request.protect == "presence" and not (isinstance(request.pairs, str) and request.pairs == "all"):
        present = _listed_units(request.pairs, rows.units)
    found = {}
    for statistic in statistics:
        if values is not None and statistic == "sum":
            protection = protections.of_values(values, rows=request.most_rows(rows), noise=noise)
        elif isinstance(laws, LearnedBelief) and statistic == "sum":
            sets = protections.sets_of(rows, laws, domain=request.domain)
            sets = {unit: sets[unit] for unit in present or sets}
            protection = protections.of_sets(sets, checked if replaced else None, noise=noise)
        else:
            added_by = protections.contributions(rows, laws, statistic=statistic, added=added)
            if replaced:
                protection = protections.of_replacement(added_by, checked, noise=noise)
            else:
                protected = added_by if present is None else added_by.some(present)
                protection = protections.of_presence(protected, noise=noise)
        found[statistic] = _chosen(protection, share, request)
    return found


def _chosen(protection: protections.Protection, target: Target, request: AggregateRequest) -> Choice:
    noise, held = request.noise, target.pure if protection.pure_only else target
    asked = held if request.integer else noise.unrounded(held)  # integers are on their grid already
    distance, adds_up_from = protection.distance, 0.0
    if not protection.fixed:
        adds_up_from = noise.hide_on_grid(distance, target) if distance < math.inf else math.inf
    proposal = Proposal(
        theorem=protection.theorem,
        engines={request.belief: protection.engine},
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
        calibration=request.calibration,
        allow_zero_noise=request.allow_zero_noise,
    )


def _pairs_of_units(pairs: str | Iterable[Sequence[Any]], units: Sequence[Secret]) -> Pairs:
    """Pairs of units that may replace one another."""
    if len(units) < 2:
        rule = "at least two where each may be replaced by another"
        hint = 'Say protect="presence" to hide whether the one unit is there.'
        raise ArgumentError("the units", rule=rule, got=f"{len(units)}", hint=hint)
    return check_pairs(pairs, units)


def _listed_units(pairs: object, units: Sequence[Secret]) -> list[Secret]:
    """The units of listed pairs of a unit and None, absent."""
    found, known = [], set(units)
    for pair in pairs if isinstance(pairs, Iterable) else [pairs]:
        entries = list(pair) if isinstance(pair, Iterable) and not isinstance(pair, str) else []
        named = [entry for entry in entries if entry is not None]
        if len(entries) != 2 or len(named) != 1:
            rule = 'pairs of a unit and None (absent) for protect="presence"'
            hint = 'Write pairs=[("ann", None)], or leave them out for every unit.'
            raise ArgumentTypeError("pairs", rule=rule, got="another pair", hint=hint)
        if not isinstance(named[0], Hashable) or named[0] not in known:
            hint = "Write the unit as it stands in the frame."
            raise ArgumentError("pairs", rule="pairs of units of the frame and None", got=repr(named[0]), hint=hint)
        found.append(named[0])
    if not found:
        raise ArgumentError("pairs", rule="at least one", got="none", hint="Leave pairs out for every unit.")
    return list(dict.fromkeys(found))


def _noise(request: AggregateRequest, scale: float) -> AnswerNoise | None:
    if not scale:
        return None
    return DiscreteLaplace(scale=scale) if request.integer else request.noise.at(scale)


def _table(
    request: AggregateRequest, rows: UnitRows, noises: dict[str, AnswerNoise | None]
) -> tuple[dict[str, list[Secret]], dict[str, list[Any]]]:
    """Labels of the groups, and numbers: a row per group and query."""
    added, divisor, key, noisy = request.added, request.divisor, request.drawing.key(), {}
    for statistic, noise in noises.items():
        exact = _counts(rows, added=added) if statistic == "count" else _sums(rows, added=added, key=key)
        noisy[statistic] = with_noise(exact, noise, stream=key.stream(Purpose.NOISE, statistic))
    answers: list[AnswerRow] = []
    for group, name in product(range(len(rows.groups)), request.queries):
        if name == "mean" and divisor is None:
            answers.append(quotient_row(noisy["sum"][group], noisy["count"][group]))
            continue
        statistic = "sum" if name == "mean" else name
        by = Fraction(float(divisor)) if name == "mean" and divisor is not None else Fraction(1)
        answers.append(answer_row(noisy[statistic][group], noises[statistic], by=by))
    labels = {name: [group[k] for group in rows.groups for _ in request.queries] for k, name in enumerate(request.by)}
    numbers: dict[str, list[Any]] = {"query": list(request.queries) * len(rows.groups)}
    numbers |= {name: list(column) for name, column in zip(COLUMNS, zip(*answers, strict=True), strict=True)}
    if request.integer:
        numbers["answer"] = [int(answer) for answer in numbers["answer"]]
    return labels, numbers
