"""Comparison: what every mechanism, noise, theorem and belief costs, before anything is drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError, PufferError, PufferWarning, warn
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.null_values import warn_of_unused, with_nulls
from puffer_frames.frames.roles import Roles
from puffer_frames.frames.table import Table, is_frame, library_of, open_table, small_frame
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.channel import mechanism as channels
from puffer_frames.mechanisms.channel.fitted import ChannelFit, Seen, roles_of
from puffer_frames.mechanisms.channel.measure import reader_loss
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.noise import mechanism as noises
from puffer_frames.mechanisms.noise.drift import target_of
from puffer_frames.mechanisms.noise.fitted import NoiseFit
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen, with_units
from puffer_frames.mechanisms.noise.strata_plan import with_labels, with_merged
from puffer_frames.mechanisms.noise.text import spread_of
from puffer_frames.mechanisms.registry import mechanism_for
from puffer_frames.mechanisms.request import Request, is_joint
from puffer_frames.mechanisms.sequential.columns import CodedRows
from puffer_frames.mechanisms.sequential.fitted import TableFit
from puffer_frames.mechanisms.sequential.options import Sequential
from puffer_frames.noise.channel import MOST_LEVELS
from puffer_frames.noise.families import WORDS, noise_family
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.priors.prior import Prior
from puffer_frames.priors.summary import LevelCounts, Summary
from puffer_frames.scales.beliefs import MANY_SECRETS
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import ANY_LAW, POPULATION
from puffer_frames.scales.drift import joint_leanings, strata_leanings
from puffer_frames.verbs.comparing.alternatives import (
    SEEING,
    WITHIN_CAP,
    Alternative,
    Asked,
    of_columns,
    of_labels,
    of_numbers,
)
from puffer_frames.verbs.requests import CompareArguments, takes, with_names

NOTHING_NEEDED = "private as it is: say allow_zero_noise=True"
UNCHANGED = 1 - 1e-12
"""A channel that leaves at least this share as it is changes nothing: the rest is what repairs leave."""
ADDS_UP, LARGEST_ADD, NO_RULE = "epsilons add", "largest losses add", "no rule"
UNKNOWN = math.nan


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """A row of a comparison: one column under one alternative. What is not known is not a number."""

    epsilon: float
    delta: float
    belief: str
    mechanism: str
    noise: str = ""
    theorem: str = ""
    column: str
    published_scale: float = UNKNOWN
    verdict: str = ""
    scale: float = UNKNOWN
    error: float = UNKNOWN
    error_std: float = UNKNOWN
    error_constant: float = UNKNOWN
    bound: float = UNKNOWN
    loss_observed: float = UNKNOWN
    loss_population: float = UNKNOWN
    loss_any_law: float = UNKNOWN
    loss_reader: float = UNKNOWN
    composes: str = ""
    seconds: float = UNKNOWN
    reason: str = ""


NAMES = tuple(each.name for each in fields(ComparedRow))
"""The columns of a comparison, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far a column spreads by itself."""

    std: float = UNKNOWN
    constant: float = UNKNOWN
    """The mean error of its median, or of its most frequent label, in place of every value."""

    @classmethod
    def of(cls, summary: Summary, /) -> Spread:
        """The spread of all rows that were counted."""
        priors = {secret: Prior.empirical(*pair) for secret, pair in summary.counts.items()}
        std, constant = spread_of(priors, summary.rows_per_secret)
        return cls(std=std, constant=constant)


def verdict_of(choice: Choice, target: Target, /) -> str:
    """What the engine says of a published scale, under the priors that its theorem assumes."""
    if choice.published_scale is None or choice.published_loss is None:
        return "not available"
    if choice.published_loss.refutes(target):
        return "refuted"
    return "sound" if choice.published_loss.confirms(target) else "sound up to rounding"


def rows_of(
    plan: NoiseFit, spreads: Mapping[str, Spread], /, *, belief: str, mechanism: str, quoted: bool, seconds: float
) -> list[ComparedRow]:
    """The rows of a plan of noise: of each column.

    - `spreads` (mapping of column to Spread): Spreads of the columns of numbers.
    - `belief`, `mechanism`: What they are called.
    - `quoted`: Whether the theorem has a condition for this belief.
    - `seconds`: What the plan took.
    """
    target, several = plan.request.target, len(plan.choices) > 1
    together = all(choice.adds_up for choice in plan.choices.values())
    judged = target_of(plan).share(plan.request.repeats.measured)
    found, errors, changed = [], plan.expected_error, plan.changed
    for name, choice in plan.choices.items():
        spread = spreads.get(name) or _of_labels(plan, name, choice)
        published = quoted and not plan.is_joint
        error = errors[name] if name in errors else changed[name]
        found.append(
            ComparedRow(
                epsilon=target.epsilon,
                delta=target.delta,
                belief=belief,
                mechanism=mechanism,
                noise=_noise_name(plan),
                theorem=choice.theorem.name if quoted else "",
                column=name,
                published_scale=_number(choice.published_scale) if published else UNKNOWN,
                verdict=verdict_of(choice, judged) if published else "not available",
                scale=choice.scale if name in plan.scales else UNKNOWN,
                error=error,
                error_std=_ratio(error, spread.std),
                error_constant=_ratio(error, spread.constant),
                loss_reader=0.0,
                composes=ADDS_UP if together else NO_RULE,
                seconds=seconds,
                reason="" if any(plan.all_scales.values()) else NOTHING_NEEDED,
                **_figures(plan, choice, several=several),
            )
        )
    return found


def row_of_channel(plan: ChannelFit, spread: Spread | None, /, *, belief: str, seconds: float) -> ComparedRow:
    """The row of a plan of a channel."""
    target, channel, largest = plan.request.target, plan.channel, plan.largest_loss
    by_delta = target.delta > 0
    of_value = channel.lower_bound > 0 and not plan.options.sees_secret  # else it bounds those that see the secret too
    reader = reader_loss(channel)
    return ComparedRow(
        epsilon=target.epsilon,
        delta=target.delta,
        belief=belief,
        mechanism=SEEING if plan.options.sees_secret else "channel",
        theorem="channel",
        column=plan.name,
        verdict="not available",
        error=channel.expected_error,
        error_std=UNKNOWN if spread is None else _ratio(channel.expected_error, spread.std),
        error_constant=_ratio(channel.expected_error, channel.constant_error),
        bound=channel.lower_bound if of_value else UNKNOWN,
        loss_observed=_upper(plan.observed, by_delta=by_delta),
        loss_population=_upper(plan.population, by_delta=by_delta),
        loss_any_law=_as_delta(largest, target) if by_delta else largest,
        loss_reader=_as_delta(reader, target) if by_delta else reader,
        composes=LARGEST_ADD if math.isfinite(largest) else NO_RULE,
        seconds=seconds,
        reason=NOTHING_NEEDED if channel.unchanged >= UNCHANGED else "",
    )


def rows_of_table(
    fitted: TableFit, seen: CodedRows, spreads: Mapping[str, Spread], /, *, belief: str, seconds: float
) -> list[ComparedRow]:
    """The rows of a table that is released column by column: of each column that is drawn."""
    found = []
    for k, name in enumerate(fitted.names):
        numbers, most = name in fitted.kept.distance, np.bincount(seen.codes[:, k]).max() / len(seen.codes)
        spread = spreads[name] if numbers else Spread(constant=1 - float(most))
        error = fitted.kept.distance[name] if numbers else fitted.kept.changed[name]
        found.append(
            ComparedRow(
                epsilon=fitted.request.target.epsilon,
                delta=fitted.request.target.delta,
                belief=belief,
                mechanism="sequential",
                theorem="sequential",
                column=name,
                verdict="not available",
                error=error,
                error_std=_ratio(error, spread.std),
                error_constant=_ratio(error, spread.constant),
                loss_any_law=fitted.cap,
                loss_reader=fitted.reader_loss,
                composes=NO_RULE,
                seconds=seconds,
            )
        )
    return found


def with_bounds(rows: list[ComparedRow], /) -> list[ComparedRow]:
    """The bound that was proved for a channel, on every row with the same guarantee that sees the value alone too."""
    bounds = {(row.epsilon, row.belief): row.bound for row in rows if row.bound > 0}
    return [
        replace(row, bound=UNKNOWN if row.mechanism == SEEING else bounds.get((row.epsilon, row.belief), UNKNOWN))
        for row in rows
    ]


def _figures(plan: NoiseFit, choice: Choice, *, several: bool) -> dict[str, Any]:
    """The loss under the observed law, under those that the table does not refute, and under any law."""
    target = plan.request.target
    by_delta = target.delta > 0
    if plan.strata is not None:
        found = {each.belief: each.loss for each in strata_leanings(choice, delta=target.delta)}
    elif plan.is_joint:
        found = {each.belief: each.loss for each in joint_leanings(plan.choices, target_of(plan))}
    elif several:  # the theorem proves it; what was measured is of one column alone
        found = {ANY_LAW: target.delta or target.epsilon}
    else:
        found = {name: _upper(each, by_delta=by_delta) for name, each in choice.wider.items()}
        found |= {"empirical": UNKNOWN if choice.observed is None else _upper(choice.observed, by_delta=by_delta)}
    if plan.is_joint or not several:
        of_unit = plan.request.repeats.of_unit
        found = {laws: of_unit(loss, any_law=laws == ANY_LAW, delta=target.delta) for laws, loss in found.items()}
    return {
        "loss_observed": found.get("empirical", UNKNOWN),
        "loss_population": found.get(POPULATION, UNKNOWN),
        "loss_any_law": found.get(ANY_LAW, UNKNOWN),
    }


def _of_labels(plan: NoiseFit, name: str, choice: Choice) -> Spread:
    """For a column of labels beside others: the share of the rows that do not have the most frequent label."""
    counts = np.zeros(len(plan.levels[name]))
    for secret, prior in choice.empirical.items():
        counts[prior.means.astype(np.intp)] += prior.weights * plan.rows_per_secret[secret]
    return Spread(constant=1 - float(counts.max() / counts.sum()))


def _noise_name(plan: NoiseFit) -> str:
    """The word of the argument, or what the noise is called."""
    noise = plan.request.noise
    return noise.name if noise.name in WORDS else noise.title


def _upper(found: Verification, *, by_delta: bool) -> float:
    return (found.hockey_stick if by_delta else found.pure_loss).upper


def _as_delta(loss: float, target: Target) -> float:
    """A delta at the epsilon that a log-ratio of at most this has everywhere."""
    return min(1.0, max(0.0, -math.expm1(target.epsilon - loss)) * (1 + 2.0**-40))


def _number(found: float | None) -> float:
    return UNKNOWN if found is None else found


def _ratio(error: float, unit: float) -> float:
    return error / unit if unit > 0 else UNKNOWN


LEVELS_UNASKED = 64
"""Beyond this many different numbers the program of a channel takes longer, and is solved only where asked for."""
PAIRS_UNASKED = 90
"""The same limit for pairs of a level and a secret, for a channel that sees the secret."""
_NOT_THERE = (ArgumentError, ArgumentTypeError)


@takes(CompareArguments)
def compare(frame: NativeFrame, arguments: CompareArguments, /) -> NativeFrame:
    """Set the ways to release columns side by side: how much noise each needs, and what it costs.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table, pyspark.sql.DataFrame or \
    duckdb.DuckDBPyRelation
    secret, public, delta, pairs, secrets, given, unit, releases, domain, nulls, null_values
        As in `privatize`.
    epsilon : float or several
        Each has rows of its own.
    mechanism : "all", "noise", "channel", "sequential", Noise(...), Channel(...), Sequential(...), or several of these
        "noise" has rows for Laplace noise and, with a delta, for Gaussian noise; "all" has these, the remap after
        them, and channels. A record has rows for its options alone. For one column of numbers, theorem="auto" has a row
        for each theorem: kantorovich (and bernoulli, for two values) under the observed law; translation, gaussian and
        gmm under the fitted one; bounded under any law. For several columns it has rows for the joint loss, kantorovich
        and bounded. "sequential" is for several columns, and "all" has it in tables of 2,000 rows or more: its belief
        is the "network" of the plan, an error of numbers is at most this, and columns that are computed from others
        have no row.
    beliefs : "all", or any of those of `privatize`
        Each of them alone has rows, unlike in `privatize`, where all together have to be satisfied. "all" is "fitted",
        "empirical", `Contamination()` and "population".

    Returns
    -------
    frame
        Of the library of the frame (of PyArrow for a DuckDB relation, of pandas for a Spark frame), a row per
        alternative and public column, by epsilon, then by belief, then by error:

        - "epsilon", "delta", "belief": the guarantee; "any law" is any on the domain, or on the range of the table;
        - "mechanism", "noise", "theorem", "column";
        - "published_scale": what the theorem asks for; "verdict": "sound", "refuted", "sound up to rounding" or "not
          available", under the priors that the theorem assumes;
        - "scale": the smallest that is confirmed; of several columns one of those that are found together; of strata
          the largest;
        - "error": mean absolute error in units of the column, of labels the share that changes; "error_std" and
          "error_constant": the same as a share of the standard deviation, and of the error of one constant (the median,
          or the most frequent label) in place of every value: 1 or more is of no use for single values;
        - "bound": no mechanism with this guarantee that sees this value alone has a smaller error, where that is known;
        - "loss_observed", "loss_population" (95 %), "loss_any_law": upper bounds of the pure loss, where delta is
          above 0 of the delta at this epsilon, whatever the guarantee is for; with units, of all rows of a unit;
        - "loss_reader": the same to a reader who knows the true value; 0 but for a channel that sees the secret;
        - "composes": "epsilons add", "largest losses add" or "no rule", of another release like this one;
        - "seconds", which the row took; "reason", why there are no numbers, or that no noise is needed.

    Raises
    ------
    ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError
        As `privatize`, for what no alternative could mend.

    Warns
    -----
    WeakGuaranteeWarning, FewRowsWarning, RareLevelsWarning
        As `privatize`, once.

    Notes
    -----
    What does not apply is left out, unless it was listed as a record: then, and where no scale is found, a row says so
    in "reason". Numbers are those of `calibrate` with the same words. The plain channel of a belief is
    `Channel(radius=0, cap=None)`; "contaminated, any law within 8" are the channel that `privatize` takes by default,
    and `Channel(sees="secret")`. To choose by the smallest error depends on the table, as the scale does: no
    certificate counts it.

    The result holds exact statistics of the table: keep it private. **Cost**: the rows of the frame are counted once;
    a calibration per row (docs/compare.md has times).

    References
    ----------
    docs/compare.md.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> found = people.puffer.compare(secret="group", public="score", epsilon=0.5, beliefs="empirical")
    >>> list(zip(found["belief"], found["mechanism"], found["error"].round(2).tolist()))[:3]
    [('empirical', 'channel', 0.06), ('empirical', 'remap', 0.29), ('empirical', 'noise', 0.47)]
    """
    asked = Asked.of(with_names(arguments, frame, open_table(frame).labels))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counted = Counted.of(frame, asked)
        found, first = _all_rows(counted)
    _warn_again(caught)
    if all(math.isnan(row.error) for row in found):
        raise first or ArgumentError(
            "the comparison",
            rule="one with rows",
            got="words of which none applies to these columns",
            hint="Leave out mechanism and beliefs for all that there are.",
        )
    ordered = _ordered(with_bounds(found))
    return small_frame({name: [getattr(row, name) for row in ordered] for name in NAMES}, library=library_of(frame))


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The rows of a table, counted once for all alternatives."""

    frame: NativeFrame
    table: Table
    base: Request
    """What all have in common, with what was found of labels, units and strata."""
    rows: RowsSeen | None
    """Counts of numbers, and of whole rows of several columns; None for one column of labels."""
    levels: Seen | None
    """Counts of the labels of one column, or the same of numbers; None of several."""
    spreads: dict[str, Spread]
    asked: Asked
    """With the frames among its beliefs read."""

    @classmethod
    def of(cls, frame: NativeFrame, asked: Asked, /) -> Counted:
        """Raises as `compare`."""
        base = Request.of(asked.calibrating(None), open_table(frame).labels)
        warn_of_unused(frame, base.null_values)
        frame = with_nulls(frame, base.null_values)
        table = open_table(frame)
        one = len(base.public) == 1
        if one and table.kind_of(base.public[0]) == "labels":
            roles = roles_of(Roles(secret=base.secret, public=base.public), table)
            rows = table.complete(roles, nulls=base.nulls, layout=None)
            levels = Seen.of(rows, base, coded=True)
            read = _read_beliefs(asked, base, roles.coded)
            return cls(frame=frame, table=table, base=base, rows=None, levels=levels, spreads={}, asked=read)
        base, frame, table = with_merged(with_labels(base, table), frame, table)
        base = with_units(base, table)
        seen = RowsSeen.of(table.complete(base.roles(), nulls=base.nulls, layout=None), base)
        merged = seen.protected(replace(base, apart=False)).summaries
        return cls(
            frame=frame,
            table=table,
            base=base,
            rows=seen,
            levels=Seen(found=seen.summaries[base.public[0]]) if one and base.given is None else None,
            spreads={name: Spread.of(summary) for name, summary in merged.items()},
            asked=_read_beliefs(asked, base, ()),
        )

    def alternatives(self) -> Iterator[Alternative]:
        """The alternatives that may apply to these columns."""
        if len(self.base.public) > 1:
            return of_columns(self.asked, columns=len(self.base.public))
        if self.rows is None:
            return of_labels(self.asked)
        return of_numbers(self.asked, two_values=self.values == 2)

    @property
    def values(self) -> int:
        """Different numbers of one column."""
        assert self.rows is not None
        pairs = self.rows.summaries[self.base.public[0]].counts.values()
        return len({float(value) for values, _ in pairs for value in values[: MOST_LEVELS + 1]})

    @property
    def rows_in_all(self) -> int:
        """Complete rows."""
        assert self.rows is not None
        return sum(self.rows.rows_of_secrets(len(self.base.secret), given=self.base.given is not None).values())

    @property
    def secrets(self) -> int:
        """Values of the secret."""
        assert self.rows is not None
        return len(self.rows.rows_of_secrets(len(self.base.secret), given=self.base.given is not None))

    def pairs(self, options: Channel, /) -> int:
        """How many levels and secrets a channel of one column would see together."""
        assert self.levels is not None
        found = self.levels.found
        levels = len(found.levels) if isinstance(found, LevelCounts) else self.values
        return (options.cells if levels > MOST_LEVELS else levels) * len(found.counts)

    def request(self, one: Alternative, /) -> Request:
        """The request of an alternative; raises as `calibrate`."""
        _, found = mechanism_for(Request.of(self.asked.calibrating(one), self.table.labels), self.table)
        found = replace(found, merged=self.base.merged)
        return found if found.unit is None else found.for_units(self.base.repeats.rows)

    def seen(self, request: Request, /) -> RowsSeen:
        """What this request may know of the rows."""
        assert self.rows is not None
        whole = bool(request.labels) or is_joint(request)
        return self.rows if whole else replace(self.rows, joint=None)


def _read_beliefs(asked: Asked, base: Request, coded: tuple[str, ...]) -> Asked:
    """The same with the frames among the beliefs read, once."""
    read = partial(channels.with_tables, coded=coded) if coded else noises.with_tables
    found = {
        name: read(replace(base, beliefs=[entry])).beliefs[0] if is_frame(entry) else entry
        for name, entry in asked.beliefs.items()
    }
    return replace(asked, beliefs=found)


def _all_rows(counted: Counted) -> tuple[list[ComparedRow], PufferError | None]:
    """The rows of all alternatives, and the first error."""
    found: list[ComparedRow] = []
    first: PufferError | None = None
    for one in counted.alternatives():
        try:
            found += _tried(one, counted)
        except PufferError as error:
            first = first or error
            if one.rows.named or not isinstance(error, _NOT_THERE):
                found += _failed(one, counted, str(error).partition("\n")[0])
    return found, first


def _tried(one: Alternative, counted: Counted) -> list[ComparedRow]:
    """The rows of an alternative; raises as `calibrate`."""
    start = perf_counter()
    options = one.options
    if isinstance(options, Sequential):
        return _of_table(one, counted, start)
    request = counted.request(one)
    if one.rows.has("auto") and one.entries == ("fitted",) and counted.secrets > MANY_SECRETS:
        return _failed(one, counted, f"models of {counted.secrets} secrets take long: name the theorem")
    if isinstance(options, Channel):
        if counted.levels is None:
            raise ArgumentError("public", rule="one column for a channel", got="several", hint="Leave it out.")
        if counted.rows is not None and not one.rows.named and LEVELS_UNASKED < counted.values <= MOST_LEVELS:
            reason = f'{counted.values} levels take up to a minute: say mechanism="channel"'
            return _failed(one, counted, reason)
        unasked = options.sees_secret and one.belief == WITHIN_CAP and not request.apart
        if unasked and (pairs := counted.pairs(options)) > PAIRS_UNASKED:
            reason = f'{pairs} pairs of a level and a secret may take minutes: say mechanism=Channel(sees="secret")'
            return _failed(one, counted, reason)
        plan = ChannelFit.of(request, options, counted.levels)
        spread = counted.spreads.get(plan.name)
        return [row_of_channel(plan, spread, belief=one.belief, seconds=perf_counter() - start)]
    whole = len(request.public) > 1 and one.theorem != BOUNDED.name
    if whole and not is_joint(request):
        raise _not_whole("other noise")
    noisy = NoiseFit.of(request, counted.seen(request))
    if whole and not noisy.is_joint:
        raise _not_whole("a larger table")
    told: dict[str, Any] = {"belief": one.belief, "quoted": one.quoted}
    found = []
    if not options.remap:
        found += rows_of(noisy, counted.spreads, mechanism="noise", seconds=perf_counter() - start, **told)
    if (
        (one.rows.remaps or options.remap)
        and not request.labels
        and request.given is None
        and request.noise in WORDS.values()
    ):
        after = noisy.remapped(counted.seen(request))
        found += rows_of(after, counted.spreads, mechanism="remap", seconds=perf_counter() - start, **told)
    return found


def _of_table(one: Alternative, counted: Counted, start: float) -> list[ComparedRow]:
    if not one.rows.named and counted.rows_in_all < noises.MANY_ROWS:
        rule = f"of {noises.MANY_ROWS:,} rows or more"
        raise ArgumentError("the table", rule=rule, got="fewer", hint='Say mechanism="sequential".')
    request = Request.of(counted.asked.calibrating(one), counted.table.labels)
    mechanism, request = mechanism_for(request, counted.table)
    found = mechanism.read(request, counted.frame, counted.table, None)
    fitted = mechanism.fit(found.request, found.seen)
    assert isinstance(fitted, TableFit)
    took = perf_counter() - start
    return rows_of_table(fitted, found.seen, counted.spreads, belief=one.belief, seconds=took)


def _not_whole(got: str) -> ArgumentError:
    return ArgumentError(
        "the request",
        rule="one with Laplace noise, for the loss of whole rows, of a table whose rows can be counted",
        got=got,
        hint='Say Noise(theorem="bounded").',
    )


def _name_of(options: Noise | Channel | Sequential) -> str:
    if isinstance(options, Sequential):
        return "sequential"
    if isinstance(options, Channel):
        return SEEING if options.sees_secret else "channel"
    return "remap" if options.remap else "noise"


def _failed(one: Alternative, counted: Counted, reason: str) -> list[ComparedRow]:
    """A row that says why there are no numbers."""
    options = one.rows.options
    return [
        ComparedRow(
            epsilon=one.epsilon,
            delta=counted.base.target.delta,
            belief=one.belief,
            mechanism=_name_of(options),
            noise=noise_family(options.family).name if isinstance(options, Noise) else "",
            theorem=one.theorem if one.quoted else "",
            column=", ".join(counted.base.public),
            reason=reason,
        )
    ]


def _ordered(rows: list[ComparedRow]) -> list[ComparedRow]:
    """By epsilon and belief as they were given, then by error: of several columns by the sum of their relative ones."""
    guarantees = list(dict.fromkeys((row.epsilon, row.belief) for row in rows))
    totals: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], int] = {}

    def which(row: ComparedRow) -> tuple[str, ...]:
        return str(row.epsilon), row.belief, row.mechanism, row.noise, row.theorem, row.reason

    for k, row in enumerate(rows):
        error = row.error if math.isnan(row.error_constant) else row.error_constant
        totals[which(row)] = totals.get(which(row), 0.0) + (math.inf if math.isnan(error) else error)
        first.setdefault(which(row), k)

    def place(row: ComparedRow) -> tuple[int, float, int]:
        error = float(f"{totals[which(row)]:.6g}")  # scales are searched to 1e-8 of themselves
        return guarantees.index((row.epsilon, row.belief)), error, first[which(row)]

    return sorted(rows, key=place)


def _warn_again(caught: list[warnings.WarningMessage]) -> None:
    """Each warning of this package once; those of others as they were."""
    said = set()
    for message in caught:
        text = str(message.message)
        if text in said:
            continue
        said.add(text)
        if isinstance(message.message, PufferWarning):
            warn(message.message)
        else:
            warnings.warn_explicit(message.message, message.category, message.filename, message.lineno)
