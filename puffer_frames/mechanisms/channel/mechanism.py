"""The channel as a mechanism: what it takes, counts, finds, draws and says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import ClassVar, Self, TypeVar, cast

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.sentences import warn_of
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Roles, RowOrder, no_level
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.frames.table import CompleteRows, Table, open_table
from puffer_frames.loss.outcome import Verification, excess_text
from puffer_frames.mechanisms.batch_report import (
    BEYOND,
    RECALIBRATE,
    REFUSED,
    WITHIN,
    Finding,
    beyond,
    drift_finding,
    finding,
    new_secrets,
    rows_found,
)
from puffer_frames.mechanisms.channel.best import FoundChannel, best_of_subsets, find, placed_laws, whole_problem
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit, Seen, roles_of
from puffer_frames.mechanisms.channel.measure import Adversary, adversaries, loss_of_channel, loss_of_rows, reader_loss
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import MOST_MERGED, InputColumn, Law, LevelTable, Problem, cost_matrix
from puffer_frames.mechanisms.channel.program import fault
from puffer_frames.mechanisms.channel.text import (
    SOURCE,
    channel_figures,
    channel_record,
    channel_rows,
    channel_statements,
    error_unit,
    prepared,
    proved_loss,
    wider_losses,
)
from puffer_frames.mechanisms.file_checks import agree, check_columns, check_request, check_secrets, require, tried
from puffer_frames.mechanisms.request import Found, Request, RowsRequest, lacking, lean_request, with_other_tables
from puffer_frames.mechanisms.seam import (
    LARGEST_ADD,
    NO_BOUND,
    NO_RULE,
    NOTHING_NEEDED,
    Compared,
    ComparedRow,
    CurvePoint,
    Mechanism,
    Reading,
    Release,
    Spread,
    from_file,
)
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.channel import TOTAL_BITS, ChannelTable
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.records import refused
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Level, LevelCounts, Summary
from puffer_frames.scales.cautions import LARGER, warn_of_moved
from puffer_frames.scales.drift import Batch, protected_here
from puffer_frames.scales.learned import OtherTable
from puffer_frames.scales.utility import SHIFTED, TIMES


def _lean_adversary(name: str, one: Adversary) -> Adversary:
    if name.split(" ")[0] not in ("given", "other"):
        return one
    laws = tuple({secret: replace(law, counts=()) for secret, law in each.items()} for each in one.laws)
    return replace(one, laws=laws)


def _measured(plan: ChannelFit, counts: LevelTable, unsure: Mapping[Secret, Fraction]) -> Batch:
    present, pairs, _ = protected_here(counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not pairs:
        return Batch(observed={}, exceeded={})
    target = plan.request.target
    rows = {secret: counts[secret] for secret in present}
    found = loss_of_rows(rows, plan.channel, pairs=pairs, unsure=unsure)
    exceeded = {} if found.confirms(target) else {plan.name: excess_text(found, target)}
    return Batch(observed={plan.name: found}, exceeded=exceeded)


def _new_levels(plan: ChannelFit, seen: Seen) -> Finding:
    """How many levels the plan does not know, and their rows."""
    if isinstance(seen.found, LevelCounts):
        known = plan.column.codes or {}
        new = [level not in known for level in seen.found.levels]
        rows = sum(int(counts[new].sum()) for counts in seen.found.counts.values())
        return finding("new level", plan.name, f"{sum(new)} levels", rows, verdict=REFUSED)
    numbers = np.array(plan.column.levels, dtype=np.float64)
    strange = {
        secret: (values[~np.isin(values, numbers)], often[~np.isin(values, numbers)])
        for secret, (values, often) in seen.found.counts.items()
    }
    levels = np.unique(np.concatenate([values for values, _ in strange.values()])).size
    rows = sum(int(often.sum()) for _, often in strange.values())
    return finding("new level", plan.name, f"{levels} levels", rows, verdict=REFUSED)


def _known_counts(plan: ChannelFit, seen: Seen) -> LevelTable:
    """Rows of each input; raises CalibrationError, which names the columns with levels that the plan does not know."""
    try:
        return seen.counts(plan.column)
    except CalibrationError as error:
        names: Sequence[str] = plan.request.public
        if len(names) > 1 and isinstance(seen.found, LevelCounts):
            own, others = (list(zip(*levels, strict=True)) for levels in (plan.column.levels, seen.found.levels))
            names = [name for k, name in enumerate(names) if not set(others[k]) <= set(own[k])] or names
        domain = ", ".join(f"{name!r}: [...]" for name in names)
        raise CalibrationError(
            f"the levels of {' and '.join(map(repr, names))}",
            rule=error.rule,
            got=error.got,
            hint=f"Calibrate again, with all levels that there may be in domain={{{domain}}}.",
        ) from None


def _losses(plan: ChannelFit, seen: Seen, counts: LevelTable) -> Iterator[Finding]:
    """Under the frequencies of the rows, which decide, and under every law that they do not refute."""
    unsure, target = seen.unsure(plan.column), plan.request.target
    batch = _measured(plan, counts, unsure)
    measured = batch.observed.get(plan.name)
    if measured is None:
        return
    figure = measured.loss(delta=target.delta).upper
    verdict = RECALIBRATE if batch.exceeded else WITHIN
    yield finding("loss", plan.name, "empirical", figure, limit=target.most, verdict=verdict)
    present, pairs, _ = protected_here(counts, known=plan.rows_per_secret, pairs=plan.pairs)
    rows = {secret: counts[secret] for secret in present}
    wider = loss_of_channel(
        rows, plan.channel, pairs=pairs, epsilon=target.epsilon, confidence=CONFIDENCE, unsure=unsure
    )
    verdict = WITHIN if wider.confirms(target) else BEYOND
    figure = wider.loss(delta=target.delta).upper
    yield finding("loss", plan.name, "population", figure, limit=target.most, verdict=verdict)


def _drift(plan: ChannelFit, seen: Seen, counts: LevelTable) -> Iterator[Finding]:
    """How far each secret's law of the inputs is from the plan's, in an order that is not learned: no merged labels."""
    if plan.merged[0]:
        return
    order = _order(plan)
    unsure: Mapping[Secret, float] = {secret: float(share) for secret, share in seen.unsure(plan.column).items()}
    places = np.arange(len(order), dtype=np.float64)
    for secret, known in plan.column.counts.items():
        if secret in counts:
            before, after = (places, known[order]), (places, counts[secret][order])
            yield drift_finding(plan.name, secret, before, after, secrets=len(plan.column.counts), apart=unsure[secret])


def _order(plan: ChannelFit) -> list[int]:
    """The inputs by type and value, a missing one last."""
    levels = plan.column.levels
    places = {(type(level), level): k for k, level in enumerate(levels)}
    return [places[type(level), level] for level in sorted_levels(levels)]


@dataclass(frozen=True, kw_only=True)
class FittedChannel(ChannelFit):
    """The weights of a channel, and what they withstand."""

    tag: ClassVar[str] = "ChannelCalibration"
    compares: ClassVar[bool] = True
    unchanged: ClassVar[str] = "a channel, which releases levels of the column"

    @property
    def channels(self) -> Mapping[str, FoundChannel]:
        return {self.name: self.channel}

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        return {self.name: self.observed}

    @cached_property  # a certificate asks for it several times, and fractions are slow
    def exceeded(self) -> Mapping[str, str]:
        """As of other rows, in whole numbers: floats do not confirm a loss that is epsilon itself."""
        if "empirical" in self.beliefs or self.observed.confirms(self.target):
            return {}
        return _measured(self, self.column.counts, dict.fromkeys(self.column.counts, Fraction(0))).exceeded

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean cost of an output in place of its input: absolute error, share of changed values, or what was given."""
        return {self.name: self.channel.expected_error}

    @property
    def error_unit(self) -> str:
        return error_unit(self)

    @property
    def lower_bound(self) -> Mapping[str, float]:
        """No mechanism with this guarantee that sees the value alone has a smaller error; 0 where no bound is known.

        One that sees the secret or another column too can have less. The bound of a channel that sees the secret is for
        those that see it too. None is known for a column in cells.
        """
        return {self.name: self.channel.lower_bound}

    def warn(self, _: Seen, /) -> None:
        """Warn of columns hardly nearer to the values than one constant, and of means and shares that are off."""
        if self.is_much_merged:
            warn_of("channel-much-merged", self.request.public, share=self.merged[1])
        if useless := self.useless_columns():
            warn_of("useless", useless, where="", hint=LARGER)
        for key in self.little_use:
            warn_of(key, self.request.public)
        if shifted := {name: len(own.lost) for name, own in self.shifted_columns.items() if name not in useless}:
            lost = sum(shifted.values())
            also = f", and {lost:,} level{'s are' if lost > 1 else ' is'} hardly ever released" * (lost > 0)
            warn_of("channel-shares", tuple(shifted), most=SHIFTED, times=TIMES, lost=also)
        if self.is_lost:
            warn_of("channel-lost", self.request.public)

    text, figures = channel_rows, channel_figures

    def compared_rows(self, told: ComparedRow, spreads: Mapping[str, Spread], seen: Seen, /) -> list[ComparedRow]:
        channel, target, largest = self.channel, self.request.target, self.largest_loss
        of_value = channel.lower_bound > 0 and not self.options.sees_secret  # else it bounds those that see both
        spread, reader = spreads.get(self.name, Spread()), reader_loss(channel)
        return [
            replace(
                told,
                column=self.name,
                error=channel.expected_error,
                bound=channel.lower_bound if of_value else NO_BOUND,
                loss_observed=self.observed.loss(delta=target.delta).upper,
                loss_population=self.population.loss(delta=target.delta).upper,
                loss_any_law=_as_delta(largest, target) if target.delta else largest,
                loss_reader=_as_delta(reader, target) if target.delta else reader,
                composes=LARGEST_ADD if math.isfinite(largest) else NO_RULE,
                reason=NOTHING_NEEDED if channel.unchanged >= _UNCHANGED else _OF_MERGED * (self.merged[0] > 0),
                **replace(spread, constant=channel.constant_error).shares(channel.expected_error),
            )
        ]

    def complete(
        self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None
    ) -> CompleteRows:
        check_columns(table, self.request, roles, kinds=kinds, coded=self.request.public)
        return table.complete(roles_of(roles, table), nulls=self.request.nulls, layout=layout)

    def see(self, rows: CompleteRows, /) -> Seen:
        return Seen.of(rows, self.request, coded=self.column.codes is not None)

    def rows_of(self, seen: Seen, /) -> dict[Secret, int]:
        return dict(seen.found.rows_per_secret)

    def measure(self, seen: Seen, /) -> Batch:
        """The loss under the frequencies of other rows.

        Raises CalibrationError for a secret or a level that the plan does not know.
        """
        seen = seen.protected(self.request)
        return _measured(self, _known_counts(self, seen), seen.unsure(self.column))

    def findings(self, seen: Seen, rows: CompleteRows, /) -> list[Finding]:
        raw = None if self.column.codes is not None else rows.summaries({})[self.name]  # without clipping
        seen = seen.protected(self.request)
        rows_now, column = seen.found.rows_per_secret, ", ".join(self.request.secret)
        strange = [*new_secrets(column, self.rows_per_secret, rows_now)]
        rows_of_secrets = [*rows_found(column, self.rows_per_secret, rows_now)]
        try:
            counts = seen.counts(self.column)
        except CalibrationError:
            return [*strange, _new_levels(self, seen), *rows_of_secrets]
        findings = [*strange, *rows_of_secrets]
        if not strange:
            findings += _losses(self, seen, counts)
        findings += _drift(self, seen, counts)
        domain = self.request.domain.get(self.name)
        if raw is not None and (ends := domain or self.column.seen) is not None:
            findings.append(beyond(self.name, raw, ends, public=domain is not None, clips=True))
        return findings

    def check_own(self, seen: Seen, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """All beliefs were proved in integers; raises PlanFileError for another table than the file says."""
        if own_rows:
            counts, known = seen.protected(self.request).counts(self.column), self.column.counts
            if set(counts) != set(known) or not all(np.array_equal(counts[s], known[s]) for s in counts):
                raise refused("other numbers of rows than its own")
        return ()

    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        return self.keyed(key)

    def certificate(self, release: Release, /) -> Certificate:
        request = self.request
        return release.certificate(
            self,
            statements=channel_statements(self, release),
            facts=replace(release.facts(self), prepared=prepared(self), useless=self.useless_columns()),
            beliefs=tuple(self.beliefs),
            theorem="channel",
            source=SOURCE,
            noise="channel",
            verified={name: dict.fromkeys(self.beliefs, proved_loss(self)) for name in request.public},
            wider=dict.fromkeys(request.public, wider_losses(self)),
            channels={name: channel_record(self, release) for name in request.public},
        )

    def lean(self) -> tuple[Self, tuple[str, ...]]:
        """The plan of a channel without side knowledge and other tables, and what it lacks, in words."""
        options = self.options
        if not isinstance(options.cost, str):  # a function, or a matrix of any kind: what it says of the levels
            options = replace(options, cost=self.column.cost)
        mechanism = options if isinstance(self.request.mechanism, Channel) else self.request.mechanism
        request = replace(lean_request(self.request, self.pairs), mechanism=mechanism)
        beliefs = {name: _lean_adversary(name, belief) for name, belief in self.beliefs.items()}
        channel = replace(self.channel, problem=replace(self.channel.problem, beliefs=()))
        lean = replace(self, request=request, options=options, beliefs=beliefs, channel=channel)
        return lean, lacking(self.request)

    def checked(self) -> Self:
        """From a file, with the laws that its channel must meet, as far as the file has them."""
        every = (laws for belief in self.beliefs.values() for laws in belief.laws)
        known = (laws for laws in every if all(law.counts for law in laws.values()))
        placed = tuple(placed_laws(laws, self.channel.secrets) for laws in known)
        whole = replace(self, channel=replace(self.channel, problem=replace(self.channel.problem, beliefs=placed)))
        check_channel_plan(whole)
        return with_own_words(whole)

    def curve(self, epsilons: Sequence[float], /, *, left_out: Sequence[str]) -> Iterator[CurvePoint]:
        """The error at each epsilon, and the bound of all that see the value alone."""
        laws = tuple(laws for belief in self.beliefs.values() for laws in belief.laws)
        if not all(law.counts for belief in laws for law in belief.values()):
            raise from_file("the laws of its beliefs")
        for epsilon in epsilons:
            target = Target.of(epsilon, self.request.target.delta)
            channel = find(laws, self.column, target=target, pairs=self.pairs, options=self.options)
            bound = NO_BOUND if self.column.in_cells else channel.lower_bound
            error = channel.expected_error
            yield CurvePoint(column=self.name, epsilon=epsilon, delta=target.delta, error=error, bound=bound)

    def deltas(self, *, left_out: Sequence[str]) -> Iterator[tuple[str, bool, Callable[[float], tuple[float, float]]]]:
        """Under the observed law and those that the table does not refute."""
        counts = {secret: self.column.counts[secret] for secret in self.secrets}

        def at(epsilon: float, *, confidence: float | None) -> tuple[float, float]:
            found = loss_of_channel(counts, self.channel, pairs=self.pairs, epsilon=epsilon, confidence=confidence)
            return max(0.0, found.hockey_stick.lower), found.hockey_stick.upper

        for belief, confidence in (("empirical", None), ("population", CONFIDENCE)):
            yield belief, belief in self.beliefs, partial(at, confidence=confidence)


class ChannelMechanism(Mechanism[Seen]):
    """A random level of the column in place of each value."""

    name = "channel"
    options = Channel
    records: ClassVar[Mapping[str, type]] = {
        "ChannelPlan": FittedChannel,
        **{kind.__name__: kind for kind in (Channel, InputColumn, Adversary, Law, Problem, FoundChannel)},
    }

    def __init__(self, rival: Callable[..., Compared | None], /) -> None:
        """`rival` says what noise would cost."""
        self._rival = rival

    def suits(self, public: Sequence[str], table: Table, /) -> bool:
        """One column of labels."""
        return len(public) == 1 and table.kind_of(public[0]) == "labels"

    def takes(self, request: Request, table: Table, /) -> Request:
        """One column, or several of labels."""
        if request.mechanism == self.name:
            request = replace(request, mechanism=Channel())
        several = len(request.public) > 1
        if several and any(table.kind_of(name) == "numbers" for name in request.public):
            raise ArgumentError(
                "public",
                rule="one column, or several of labels, where they are released through a channel",
                got=f"{len(request.public)} with numbers among them",
                hint="Leave mechanism out: numbers have noise, and labels beside them randomised response.",
            )
        if several and request.nulls == "level":
            raise no_level("for a channel of several columns")
        without = "Leave it out: the guarantee is then for"
        for name, default, given, hint in (
            ("merge_rare", None, request.merge_rare if several else None, "Leave it out."),
            ("given", (), request.given_columns, f"{without} readers who do not know these columns."),
            ("unit", None, request.unit, f"{without} one row, and not for several of one person together."),
            ("releases", 1, request.repeats.releases, f"{without} one release, and not for several together."),
        ):
            if given != default:
                what = " of several columns" if name == "merge_rare" else ", which adds no noise"
                got = ", ".join(map(repr, given)) if isinstance(given, tuple) else repr(given)
                raise ArgumentError(name, rule=f"left out for a channel{what}", got=got, hint=hint)
        return request

    def read(self, request: Request, frame: NativeFrame, table: Table, asked: RowsRequest | None, /) -> Reading[Seen]:
        """Count the rows by level, or numbers by value."""
        roles, layout = Roles(secret=request.secret, public=request.public), None
        if asked is not None:
            roles, layout = asked.roles, asked.layout
        roles = roles_of(roles, table)
        request = with_tables(request, coded=roles.coded)
        rows = table.complete(roles, nulls=request.nulls, layout=layout)
        seen = Seen.of(rows, request, coded=bool(roles.coded))
        if isinstance(seen.found, Summary):
            warn_of_moved(rows, {request.public[0]: seen.found}, request.domain)
        return Reading(request=request, frame=frame, table=table, rows=rows, seen=seen)

    def fit(self, request: Request, seen: Seen, /) -> FittedChannel:
        options = request.mechanism if isinstance(request.mechanism, Channel) else Channel()
        return FittedChannel.of(request, options, seen)

    def compared(self, fitted: FittedChannel, seen: Seen, /) -> Compared | None:
        """What noise would cost, for the observed frequencies of numbers alone."""
        if not isinstance(seen.found, Summary):
            return None
        return self._rival(fitted.request, seen.found, pairs=fitted.pairs, secrets=fitted.secrets)


def with_tables(request: Request, /, *, coded: tuple[str, ...]) -> Request:
    """The request with the frames among its beliefs counted; `coded` are the columns that hold labels."""
    roles = Roles(secret=request.secret, public=request.public)
    roles = roles.counting(coded) if len(coded) > 1 else replace(roles, coded=coded, most_levels=MOST_MERGED)

    def count(frame: NativeFrame) -> Found:
        rows = open_table(frame).complete(roles, nulls=request.nulls, layout=None)
        return Seen.of(rows, request, coded=bool(coded)).found

    return with_other_tables(request, count)


_OF_MERGED = "the error is of the levels as merged"
_UNCHANGED = 1 - 1e-12
"""A channel that leaves at least this share as it is changes nothing: the rest is what repairs leave."""


def _as_delta(loss: float, target: Target) -> float:
    """A delta at the epsilon that a log-ratio of at most this has everywhere."""
    return min(1.0, max(0.0, -math.expm1(target.epsilon - loss)) * (1 + 2.0**-40))


F = TypeVar("F", bound=ChannelFit)
_NEAR = 1e-9
"""What rounding may change of a number that is computed anew."""
_MOST_BOUNDED = 32
"""Beyond this many levels the lower bound of the error, a linear program of seconds, is not computed anew."""


def check_channel_plan(plan: ChannelFit, /) -> None:
    """Raise PlanFileError unless the parts of a plan of a channel agree, and the channel meets what it must.

    That is verified in integers. **Cost**: of the last step of `best_channel`, a second for 256 levels.
    """
    request, column, channel = plan.request, plan.column, plan.channel
    check_request(request)
    mechanism = request.mechanism
    options = mechanism if isinstance(mechanism, Channel) else Channel()
    same = replace(options, cost="auto") == replace(plan.options, cost="auto")  # matrices of costs have no one answer
    require(same and (isinstance(mechanism, Channel) or mechanism == "auto"), "another mechanism")
    require(request.given is None and request.unit is None, "given columns or units")
    several = len(request.public) > 1
    shaped = (len(level) if isinstance(level, tuple) else 1 for level in column.levels)
    require(all(parts == len(request.public) for parts in shaped), "levels of another number of columns")
    whole = column.codes == {level: k for k, level in enumerate(column.levels)}
    require(whole or not several, "levels of several columns that are merged")
    check_secrets(plan)
    inputs = len(column.levels)
    typed = {(type(level), level) for level in column.levels}
    require(len(typed) == inputs and tuple(channel.inputs) == tuple(column.levels), "levels that are others, or twice")
    require({(type(level), level) for level in channel.outputs} <= typed, "an output that is no level")
    rows = inputs * (len(column.counts) if plan.options.sees_secret else 1)
    require(channel.weights.shape == (rows, len(channel.outputs)), "weights of another number of levels")
    tried(lambda: ChannelTable(channel.weights), "weights that are no probabilities")
    _check_inputs(plan)
    require(bool(np.isfinite(column.cost).all() and (column.cost >= 0).all()), "costs that are no numbers")
    require(column.cost.shape == (inputs, inputs), "costs of another shape")
    given = plan.options.cost
    if not isinstance(given, str):
        require(np.array_equal(np.asarray(given), column.cost), "another cost of an error")
    elif not column.in_cells or given == "change":
        costs = cost_matrix(column.levels, given)
        require(np.allclose(column.cost, costs, rtol=_NEAR, atol=0.0), "another cost of an error")
    _check_costs_by_secret(plan)
    _check_problem(plan)
    _check_laws(plan)
    _check_figures(plan)


def with_own_words(plan: F, /) -> F:
    """A plan from a file whose beliefs are called what they are called here, not what the file says."""
    known, others = _beliefs_of(plan)
    words = {name: each.words for name, each in known.items()} | others
    return replace(plan, beliefs={name: replace(each, words=words[name]) for name, each in plan.beliefs.items()})


def _check_costs_by_secret(plan: ChannelFit) -> None:
    """They are there where they are used, and the cost of all rows is their mean."""
    column, cost = plan.column, plan.options.cost
    mean = isinstance(cost, str) and cost in ("auto", "absolute")
    require((column.costs is not None) == (column.in_cells and plan.options.sees_secret and mean), "costs by secret")
    if column.costs is None:
        return
    require(set(column.costs) == set(column.counts), "costs of other secrets")
    shapes = (each.shape == column.cost.shape and (each >= 0).all() for each in column.costs.values())
    require(all(shapes), "costs by secret of another shape")
    total = sum(column.counts[secret][:, None] * each for secret, each in column.costs.items())
    require(np.allclose(total, column.pooled[:, None] * column.cost, rtol=_NEAR), "another cost of an error")


def _check_problem(plan: ChannelFit) -> None:
    """What the channel was made to meet follows from the request, the options and the counts."""
    column, found = plan.column, plan.channel
    problem = found.problem
    whole = _whole_problem(plan).only([column.levels.index(level) for level in found.outputs])
    for name in ("target", "pairs", "cap", "star", "groups", "reader_cap"):
        require(getattr(problem, name) == getattr(whole, name), "a channel that was made for something else")
    for stored, own in ((problem.groups or {}, whole.groups or {}), (problem.times or {}, whole.times or {})):
        require(list(stored) == list(own), "secrets in another order")  # which is that of their rows of weights
    near = (math.isclose(problem.times_of(s), whole.times_of(s), rel_tol=_NEAR) for s in problem.groups or ())
    require(all(near), "other weights of secrets")
    for name in ("pooled", "cost", "kept", "kept_means", "constant"):
        stored, own = getattr(problem, name), getattr(whole, name)
        same = stored is own if stored is None or own is None else stored.shape == own.shape
        require(same, "a channel that was made for something else")
        require(own is None or np.allclose(stored, own, rtol=_NEAR, atol=_NEAR), "other shares or costs")


def _whole_problem(plan: ChannelFit) -> Problem:
    """What a channel into all levels must meet; the laws from the file are those of the inputs already."""
    problem = whole_problem((), plan.column, target=plan.request.target, pairs=plan.pairs, options=plan.options)
    return replace(problem, beliefs=plan.channel.problem.beliefs)


def _check_figures(plan: ChannelFit) -> None:
    """The errors and losses of the channel, computed anew."""
    found, column = plan.channel, plan.column
    error = found.problem.expected_cost(np.ldexp(found.weights.astype(np.float64), -TOTAL_BITS))
    require(math.isclose(found.expected_error, error, rel_tol=_NEAR, abs_tol=_NEAR), "an error that is another one")
    require(not found.lower_bound or not (column.in_cells or column.is_partial), "a bound that is not known")
    require(0 <= found.lower_bound <= error * (1 + _NEAR) + _NEAR, "a bound above the error")
    whole = all(law.counts for each in plan.beliefs.values() for laws in each.laws for law in laws.values())
    if found.lower_bound > 0 and len(column.levels) <= _MOST_BOUNDED and whole:
        problem, most = _whole_problem(plan), plan.options.outputs
        if plan.options.preserve == "marginal":
            problem, most = problem.only(np.flatnonzero(plan.column.pooled).tolist()), None
        _, _, bound = best_of_subsets(problem, most=most)
        require(found.lower_bound <= bound * (1 + 1e-6) + _NEAR, "a bound that no program has")
    counts = {secret: column.counts[secret] for secret in plan.secrets}
    for stored, confidence in ((plan.observed, None), (plan.population, CONFIDENCE)):
        again = loss_of_channel(
            counts, found, pairs=plan.pairs, epsilon=plan.request.target.epsilon, confidence=confidence
        )
        ends = zip(_ends(stored), _ends(again), strict=True)
        same = all(math.isclose(*pair, rel_tol=1e-6, abs_tol=_NEAR) for pair in ends)
        require(same and agree(stored, again), "a loss that is another one")


def _ends(found: Verification) -> tuple[float, ...]:
    """Both ends of both losses."""
    return tuple(end for loss in (found.pure_loss, found.hockey_stick) for end in (loss.lower, loss.upper))


def _check_laws(plan: ChannelFit) -> None:
    """The laws of the beliefs, and that the channel meets what it must under them."""
    named, inputs = set(plan.secrets), len(plan.column.levels)
    known, others = _beliefs_of(plan)
    require(set(plan.beliefs) == known.keys() | others.keys(), "beliefs that were not asked for")
    for name, one in plan.beliefs.items():
        for laws in one.laws:
            require(set(laws) == named, "laws of other secrets")
            for law in laws.values():
                counts = all(count >= 0 for count in law.counts) and (not law.counts or sum(law.counts) > 0)
                require(counts and len(law.counts) in (0, inputs), "a law of other levels")
                require(0 <= law.replaced <= 1 and 0 <= law.moved <= 1, "a share beyond 1")
        own = known.get(name)
        require(one.confidence == (None if own is None else own.confidence), "another confidence")
        require(own is None or (len(one.laws) == len(own.laws) and all(map(_same_laws, one.laws, own.laws))), "laws")
    kept = [laws for one in plan.beliefs.values() for laws in one.laws if all(law.counts for law in laws.values())]
    placed = tuple(placed_laws(laws, plan.channel.secrets) for laws in kept)
    require(plan.channel.problem.beliefs == placed, "laws of other beliefs")
    require(fault(plan.channel.weights.tolist(), plan.channel.problem) is None, "a channel that loses more than asked")


def _beliefs_of(plan: ChannelFit) -> tuple[dict[str, Adversary], dict[str, str]]:
    """The beliefs that follow from the counts, and the words of the others by name: a file has no laws of those."""
    entries, words = plan.request.beliefs, dict[str, str]()
    given = (Mapping, OtherTable, LevelCounts)
    known = [entry for entry in entries if not isinstance(entry, given)]
    found = adversaries(known, plan.column, plan.options, secrets=plan.secrets)
    for entry in entries:
        if isinstance(entry, given):
            title = "given" if isinstance(entry, Mapping) else "other table"
            number = 1 + sum(name.split(" ")[0] == title.split(" ")[0] for name in words)
            text = "side knowledge" if title == "given" else "the frequencies of another table"
            words[f"{title} {number}" if title == "given" or number > 1 else title] = text
    return found, words


def _same_laws(stored: Mapping[Secret, Law], own: Mapping[Secret, Law]) -> bool:
    """Whether these are the laws that follow from the counts; shares are floats, whose last digit may be another."""
    return all(
        law.counts == own[secret].counts
        and all(
            abs(float(getattr(law, name)) - float(getattr(own[secret], name))) < _NEAR for name in ("replaced", "moved")
        )
        for secret, law in stored.items()
    )


def _check_inputs(plan: ChannelFit) -> None:
    """What belongs to each input."""
    column, inputs = plan.column, len(plan.column.levels)
    require((column.edges is None) != (column.codes is None), "levels that are both labels and numbers, or neither")
    names, declared = plan.request.public, plan.request.declared
    learned = column.in_cells or plan.request.merge_rare is not None
    require(column.public == (all(name in declared for name in names) and not learned), "levels declared, or learned")
    every = 0
    if len(names) > 1:
        tuples = [cast(tuple[Level, ...], level) for level in column.levels]
        every = math.prod(len(set(declared.get(n, (level[k] for level in tuples)))) for k, n in enumerate(names))
    require(column.is_partial == (inputs < every), "other tuples")
    if column.codes is not None:
        codes = list(column.codes.values())
        require(all(0 <= code < inputs for code in codes), "a label without a level")
        own = {level: k for k, level in enumerate(column.levels)}
        merged = plan.request.merge_rare is not None
        require(merged or column.codes == own, "labels that are merged without a word")
        require(not column.in_cells, "labels in cells")
    if column.edges is not None:
        edges = column.edges
        rising = edges.shape == (inputs - 1,) and bool(np.isfinite(edges).all() and (np.diff(edges) > 0).all())
        numbers = all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in column.levels)
        require(rising and numbers, "numbers whose order is none")
        own = list(column.levels[1:]) == edges.tolist()
        require(own != column.in_cells, "edges of other numbers")
    require(set(column.counts) == set(plan.rows_per_secret), "rows of other secrets")
    for secret, counts in column.counts.items():
        good = counts.shape == (inputs,) and bool((counts >= 0).all())
        require(good and int(counts.sum()) == plan.rows_per_secret[secret], "rows that do not add up")
