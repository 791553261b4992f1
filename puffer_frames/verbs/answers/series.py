"""Correlated series: how often each state occurs, with every single state hidden (Markov quilt)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from operator import mul
from typing import Any, cast

import numpy as np

from puffer_frames.certificates.build import of_choices, of_table, warn_of_weakness
from puffer_frames.certificates.facts import Facts
from puffer_frames.certificates.record import MOST_VALUES, Certificate
from puffer_frames.certificates.sentences import warn_of, warnings_of
from puffer_frames.errors import ArgumentError, CalibrationError, PriorError, RareLevelsWarning, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import coded, codes_text
from puffer_frames.frames.table import Table, open_table
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.stream import Purpose
from puffer_frames.noise.totals import COLUMNS, AnswerRow, answer_row, with_noise
from puffer_frames.papers.quilt.scales import Chain
from puffer_frames.priors.markov import ChainBox
from puffer_frames.priors.pairs import check_pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.series_rows import SeriesRows
from puffer_frames.priors.summary import RARE
from puffer_frames.scales.cautions import FEWEST_ROWS, warn_of_noisy_answers
from puffer_frames.scales.chains import believed_chains
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.networks import rivals_of
from puffer_frames.scales.series import choose_noise
from puffer_frames.scales.series_counts import ReleasedCounts, SeriesNoiseRequest
from puffer_frames.verbs.answers.checks import Replay, curve_of, errors_at, one_by_one
from puffer_frames.verbs.answers.series_request import (
    SeriesRequest,
    check_bins,
    check_numbers,
    check_released,
    compared_mechanisms,
    read_nodes,
)
from puffer_frames.verbs.answers.statements import series_statements, series_subject
from puffer_frames.verbs.requests import HistogramArguments, takes

NOT_HIDDEN = "for comparison: a value is hidden only where nothing else depends on it"


@takes(HistogramArguments)
def histogram(frame: NativeFrame, arguments: HistogramArguments, /) -> NativeFrame:
    r"""Release how often each state occurs, or its mean, in series of values that depend on one another.

    What is hidden is the state at any one time, although the states around it tell of it: their dependence is a Markov
    chain. For other dependence `network` says who depends on whom: each row is a node, and its own state is hidden.

    Parameters
    ----------
    frame : frame
        Of pandas, Polars, PyArrow, DuckDB or Spark. Never changed. The rows of lazy Polars, DuckDB and Spark frames are
        counted where they lie; states and units of float labels are refused there.
    state : column name
        Strings, categories, booleans or integers.
    time : column name, optional
        Needed for a series, not for a network. Integers, floats, dates or datetimes, in any order of the rows, apart by
        one step: that which occurs most. The step, and the first time of a series, are those of all its rows, with or
        without a state.
    unit : column name, optional
        Whose series a row belongs to; without it there is one. With `network` the node that a row is, which has one
        row.
    epsilon : float or several
        Greater than 0. Several give a curve: nothing is drawn or spent.
    delta : float
        0, except for Gaussian noise.
    mechanism : "auto", "transport", "quilt", "quilt-approx", "exact", "group", "wasserstein", "gk16", "entry", "all", \
    or several
        "transport": a bound of the loss from step to step: the least noise for series that tend to stay, more than
        needed where states alternate; Laplace noise, one release. "quilt": the Markov Quilt Mechanism with exact
        influences, whose releases add up. "quilt-approx": with influences bounded by how fast the chain mixes. "exact":
        the exact loss of one count (two states, or one of `bins`; at most 2,000 times where there are gaps or the chain
        is slow to forget its state). For a network, "exact" takes all counts together, and sums. "group": the privacy
        of a whole series, which needs no chain, for comparison. "wasserstein": the largest W-infinity distance of the
        laws of one count; limits as for "exact". "gk16": by how much the neighbours of a value tell of it, where that
        is little; one release. "entry": noise for one value, as if no other depended on it; in comparisons only. A
        network has all but "transport", "quilt-approx" and "gk16". "all", or several: a comparison, nothing is drawn or
        spent. "auto": for one chain of at most 12 states with a stationary or given start the least noise of
        "transport", "exact" (one count of two states, or of at most 300 times, without gaps) and "quilt" (with bridged
        gaps); "exact" for a network, where its tables are not too large; "quilt" for everything else and for
        per="both".
    chain : "estimated", "population", Population(), transition matrix, MarkovChain or several
        Rows from, columns to, in ascending order of the states. Several: the guarantee covers each. "population": every
        matrix that the series do not refute with 95 % confidence, and every start; for quilts. Not used, nor are
        `initial` and `floor`, for mechanism="group".
    initial : "stationary", "estimated", "any" or a law
        Law of the state at the first time of a series; "estimated": from the series whose first row has a state.
    floor : float, optional
        Least probability of a transition of the estimated chain, and of an estimated first state; by default
        1 / (number of transitions), and 1 / (number of first states).
    states : list, optional
        All states that anybody may have, in the order of the matrix; by default those observed, ascending: the answer
        then tells which these are.
    bins : list, optional
        The states to release; by default all.
    query : "counts", "sum" or "mean"
        A count of each state; or, of states that are integers, one number: their sum, or their mean.
    counts : bool
        Counts, or relative frequencies.
    per : "pooled", "unit" or "both"
        One histogram of all units, one each, or both, which share epsilon evenly.
    noise : "laplace", "gaussian" or a noise such as Stable(alpha=1.7)
        As in `privatize`.
    gaps : "bridge" or "independent"
        What is believed of times without a row. "bridge": the chain runs on through them. "independent": the series
        starts anew after each, and what lies before tells nothing of what follows.
    network : BayesianNetwork or several, optional
        The reader's belief about values that are no series; the table has one row per node, and the states of a node
        are the first of `states`. Several, of the same nodes and states: the guarantee covers each of them; a range,
        `low.to(high)`: all between them. `chain`, `initial`, `floor`, `per` and `gaps` are for series.
    pairs : "all" or iterable of pairs of states
        For a network: which states of a node are hidden from one another.
    nulls : "raise" or "drop"
        What to do with rows that miss a state. The times of dropped rows are gaps, also before the first state; a unit
        without any state has no histogram. A row that misses its time or unit is an error: it has no place in a series.
    null_values : mapping of column to a code, or to several
        Codes that stand for a missing value, as in `privatize`.
    about : mapping, optional
        As in `privatize`.
    ledger : str, Path or Ledger(...), optional
        As in `privatize`.
    rng : None, int or numpy.random.Generator
        A seed makes the release reproducible, hence not private; for tests.

    Returns
    -------
    pandas.DataFrame, polars.DataFrame or pyarrow.Table
        In memory; from Spark pandas, from DuckDB PyArrow. A row per histogram and state: the unit (where there are
        several histograms), the state (for a sum or mean the `query`), `answer`, `scale`, `expected_error` (mean
        absolute noise), `lower_95` and `upper_95`. Certificate attached. For several epsilons, a row of each:
        `mechanism` (of several), `epsilon`, `query`, `scale`, `expected_error` and `reach_95` of a count or sum, or of
        a frequency or mean of the shortest series (the noise is within it with probability 0.95), without
        a certificate. Several mechanisms add an upper bound of the `loss` ("entry": by transport), and the `reason` why
        a mechanism does not apply.

    Raises
    ------
    ColumnNotFoundError
        For a column that is not there.
    ArgumentError, ArgumentTypeError
        For an argument or dtype out of range, a node of a network with no row or several, a row of no node, a time that
        occurs twice in a series, and times apart by other than whole numbers of steps.
    PriorError
        For an empty frame, missing entries, a matrix that is no transition matrix, a reducible chain with a stationary
        start, and a chain or start to be estimated from rows that do not tell.
    CalibrationError
        Where the chain or network leaves nothing open, and for mechanism="exact" where no noise would be added.
    LedgerError
        Where the release is beyond the limit of its ledger.

    Notes
    -----
    **Guarantee**: for every time and pair of states s, t, and every chain,
    :math:`P(\text{answers} \in B \mid X_i = s) \le e^\varepsilon P(\text{answers} \in B \mid X_i = t)`; the same for
    every node i of a network, and every network. The query changes by at most 2 in all where one value does (by 1 for
    one bin), which the scale holds; of two states the first count is the public total less the second, so that one is
    released. A sum changes by at most the largest state less the smallest. A short series, or an epsilon too small for
    any quilt, gets the noise of group privacy. A scale of quilts or transport for bridged gaps is private for
    independent pieces too, where the start is stationary or any; one of mechanism="exact" is not. **Cost** of
    transport: .1 s for a few states, seconds for many, for slow chains and for gaps; of quilts:
    `puffer_frames.papers.quilt_scale`; of one count of 100 nodes of a network exactly 1 s, by quilts 15 s.

    References
    ----------
    [SWC17]; [SC17] for several releases; docs/theory.md, section 10.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> day = pd.DataFrame({"minute": range(8), "activity": list("aababbba")})
    >>> chain = [[0.6, 0.4], [0.4, 0.6]]
    >>> found = day.puffer.histogram(state="activity", time="minute", epsilon=1.0, chain=chain)
    >>> list(found.columns), round(float(found["scale"].iloc[0]), 3)
    (['activity', 'answer', 'scale', 'expected_error', 'lower_95', 'upper_95'], 1.466)
    """
    frame, codes = coded(frame, arguments.null_values)
    table, compared = open_table(frame), compared_mechanisms(arguments.mechanism)
    if (several := one_by_one(arguments, compared=bool(compared))) is not None:
        return _curve(table, several, compared)
    request = SeriesRequest.of(arguments, table.labels)
    check_released(request.mechanism)
    rows = _rows(request, table)
    released = _released(request, arguments, rows)
    warn_of_weakness(request.target, rows=rows.rows)
    _warn_of_rare_states(rows, listed=bool(arguments.states is not None or request.networks))
    chains = _chains(request, arguments, rows)
    choice = _choice(request, chains, rows, released)
    noise, owners = request.noise.at(choice.scale), _owners(request, rows)
    labels, columns = _labels(request, owners, rows, released), ("query",) * bool(released.reach) + COLUMNS
    impossible = _impossible(chains, rows, mechanism=request.mechanism)
    warn_of_noisy_answers(request.statistic, _exact(request, rows, released)[0], noise.expected_absolute_error)
    statements = series_statements(request, rows, chains, released, choice, impossible=impossible)
    pairs = tuple((rows.states[a], rows.states[b]) for a, b in released.pairs)
    covered = tuple(state for state in rows.states if not pairs or any(state in pair for pair in pairs))
    certificate = Certificate(
        **of_table(labels, columns, table.names),
        **of_choices(
            {request.statistic: choice},
            request.target,
            noises={request.statistic: noise},
            family=request.noise.title,
            calibration="exact" if request.mechanism == "exact" else "mechanism",
            seeded=request.drawing.seeded,
        ),
        subject=series_subject(request, pairs),
        secret=(request.columns.state,),
        secret_values=covered[:MOST_VALUES],
        secret_count=len(covered),
        pairs=pairs or "all",
        beliefs=(request.belief,),
        statements=statements,
        facts=Facts(seeded=request.drawing.seeded, dropped=request.columns.nulls == "drop"),
        warnings=warnings_of(statements),
        rows=len(owners) * max(1, len(released.released)),
        fingerprint="",
    )
    certificate = certificate.said(request.drawing.about).of_codes(codes_text(codes))
    reserved = request.drawing.reserve(certificate, frame)
    numbers = _numbers(request.query, _histograms(request, rows, released, noise))
    return reserved.put_answers(certificate, table.answers(labels=labels, numbers=numbers))


def _warn_of_rare_states(rows: SeriesRows, *, listed: bool) -> None:
    """Warn of states that are rare beside the others: the answer has a row for each that the table has."""
    often = rows.counts.sum(axis=0)
    rare = tuple(state for state, count in zip(rows.states, often, strict=True) if count < RARE)
    if not listed and rare and rows.rows >= FEWEST_ROWS * len(rows.states):
        warn(RareLevelsWarning(rare, fewest=RARE, of="state"))


def _impossible(chains: Sequence[Chain], rows: SeriesRows, *, mechanism: str) -> bool:
    """Whether no chain, or no network, allows what the series are; then there is a warning."""
    if chains and not any(_allows(chain, rows) for chain in chains):
        warn_of("impossible-table", laws="chain makes", what="a state or a step of the series")
        return True
    impossible = rows.impossible and mechanism != "group"  # which holds under any law
    if impossible:
        warn_of("impossible-table", laws="network makes", what="the states of its nodes")
    return impossible


def _allows(chain: Chain, rows: SeriesRows) -> bool:
    if isinstance(chain, ChainBox):  # one that was learned from the series
        return True
    started = isinstance(chain.initial, str) or not rows.first_states()[chain.initial == 0].any()
    return started and not rows.transitions[chain.transition == 0].any()


def replay_histogram(frame: NativeFrame, arguments: HistogramArguments, /) -> Replay:
    """The answers without noise; raises as `histogram`."""
    table = open_table(coded(frame, arguments.null_values)[0])
    request = SeriesRequest.of(arguments, table.labels)
    rows = _rows(request, table)
    released = _released(request, arguments, rows)
    exact = np.array(_numbers(request.query, _histograms(request, rows, released, None))["answer"], dtype=np.float64)
    rivals = {}
    if request.networks and released.bins == 1:
        rivals[request.statistic] = rivals_of(request.networks, released)
    return Replay(exact=exact, own_noise=np.arange(exact.size) % 2 >= released.derived, rivals=rivals)


def _rows(request: SeriesRequest, table: Table) -> SeriesRows:
    """The series, or the nodes of the networks as one series."""
    if request.networks and request.columns.unit is not None:
        return read_nodes(table, request.columns, request.columns.unit, request.networks)
    return table.read_series(request.columns)


def _chains(request: SeriesRequest, arguments: HistogramArguments, rows: SeriesRows) -> list[Chain]:
    """The chains that are believed, where the mechanism asks for them."""
    if not request.chained:
        return []
    return believed_chains(arguments.chain, rows, initial=arguments.initial, floor=arguments.floor)


def _choice(request: SeriesRequest, chains: list[Chain], rows: SeriesRows, released: ReleasedCounts) -> Choice:
    """The scale of the counts."""
    share = request.target.share(2 if request.both else 1)
    asked = SeriesNoiseRequest(
        chains=chains,
        rows=rows,
        counts=released,
        target=share,
        belief=request.belief,
        noise=request.noise,
        networks=request.networks,
    )
    return choose_noise(asked, request.mechanism)


def _curve(table: Table, several: Sequence[HistogramArguments], compared: Sequence[str]) -> NativeFrame:
    """Scales and errors at several epsilons; of compared mechanisms the loss too, or why one does not apply."""
    found, unknown = list[Sequence[object]](), (math.nan,) * 4
    asked = [SeriesRequest.of(replace(one, mechanism="group") if compared else one, table.labels) for one in several]
    rows = _rows(asked[0], table)
    released = _released(asked[0], several[0], rows)
    chains = _chains(replace(asked[0], mechanism="quilt") if compared else asked[0], several[0], rows)
    per_unit = rows.counts if asked[0].per != "pooled" else rows.counts.sum(axis=0, keepdims=True)
    divisor = Fraction(1 if asked[0].counts else int(per_unit.sum(axis=1).min()))
    name = {"counts": "count" if asked[0].counts else "frequency"}.get(asked[0].query, asked[0].query)
    for one, mechanism in product(several, compared or (several[0].mechanism,)):
        try:
            request = SeriesRequest.of(replace(one, mechanism=cast(Any, mechanism)), table.labels)
            if not compared:
                check_released(request.mechanism)
            choice = _choice(request, chains if request.chained else [], rows, released)
        except (ArgumentError, CalibrationError, PriorError) as error:
            if not compared:
                raise
            found.append((mechanism, float(cast(Any, one.epsilon)), name, *unknown, str(error).splitlines()[0]))
            continue
        noise, loss = request.noise.at(choice.scale), choice.verified[request.belief].pure_loss.upper
        (row,) = errors_at(request.target.epsilon, {"sum": noise, name: noise}, {name: divisor})
        found.append((mechanism, *row, loss, NOT_HIDDEN if mechanism == "entry" else "") if compared else row)
    return curve_of(table, found)


def _released(request: SeriesRequest, arguments: HistogramArguments, rows: SeriesRows) -> ReleasedCounts:
    """The numbers that get noise."""
    if request.query == "counts":
        released = ReleasedCounts.of(rows, check_bins(arguments.bins, rows.states))
    else:
        released = ReleasedCounts.of_sum(check_numbers(rows.states, request.query))
    pairs = check_pairs(arguments.pairs, rows.states) if request.networks else "all"
    number = {state: k for k, state in enumerate(rows.states)}
    return released if pairs == "all" else replace(released, pairs=tuple((number[a], number[b]) for a, b in pairs))


def _owners(request: SeriesRequest, rows: SeriesRows) -> list[Secret | None]:
    """The unit of each histogram or sum that is released; None for that of all units."""
    if request.per == "pooled" or request.columns.unit is None:
        return [None]
    return ([None] if request.both else []) + list(rows.units)


def _labels(
    request: SeriesRequest, owners: list[Secret | None], rows: SeriesRows, released: ReleasedCounts
) -> dict[str, list[Any]]:
    """A row per histogram and state, or per sum."""
    states = [rows.states[k] for k in released.released]
    found = {}
    if request.columns.unit is not None and request.per != "pooled":
        found[request.columns.unit] = [owner for owner in owners for _ in states or owners[:1]]
    return found if released.reach else found | {request.columns.state: states * len(owners)}


def _numbers(query: str, rows: list[AnswerRow]) -> dict[str, list[Any]]:
    said: dict[str, list[Any]] = {} if query == "counts" else {"query": [query] * len(rows)}
    return said | {name: list(column) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)}


def _histograms(
    request: SeriesRequest, rows: SeriesRows, released: ReleasedCounts, noise: NoiseFamily | None
) -> list[AnswerRow]:
    """Noisy counts or frequencies, histogram by histogram."""
    flat, totals = _exact(request, rows, released)
    noisy = with_noise(flat, noise, stream=request.drawing.key().stream(Purpose.NOISE, request.statistic))
    table, bins = [], len(flat) // len(totals)
    for k, total in enumerate(totals):
        own = noisy[k * bins : (k + 1) * bins]
        if released.derived:
            own[0] = total - own[1]
        table += [answer_row(number, noise, by=Fraction(1 if request.counts else total)) for number in own]
    return table


def _exact(request: SeriesRequest, rows: SeriesRows, released: ReleasedCounts) -> tuple[list[Fraction], list[int]]:
    """Counts or sums without noise, histogram by histogram, and the number of rows of each."""
    per_unit = rows.counts
    pooled = per_unit.sum(axis=0, keepdims=True)
    exact = np.concatenate({"pooled": [pooled], "unit": [per_unit], "both": [pooled, per_unit]}[request.per])
    if released.reach:
        values = [int(state) for state in rows.states]  # type: ignore[call-overload]  # numbers, as was checked
        flat = [Fraction(sum(map(mul, values, counts))) for counts in exact.tolist()]
    else:
        flat = [Fraction(int(count)) for count in exact[:, list(released.released)].ravel()]
    return flat, exact.sum(axis=1).tolist()
