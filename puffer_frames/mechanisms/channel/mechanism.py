"""The channel as a mechanism: what it takes, counts, finds, draws and says."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from puffer_frames.certificates.record import Certificate
from puffer_frames.certificates.text import COSTS
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.summary import sorted_levels
from puffer_frames.frames.table import CompleteRows, Table, open_table
from puffer_frames.loss.outcome import Verification, excess_text, measured_text
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
from puffer_frames.mechanisms.channel.best import FoundChannel, find, placed_laws
from puffer_frames.mechanisms.channel.certificate import (
    SOURCE,
    channel_record,
    channel_statements,
    prepared,
    proved_loss,
    wider_losses,
)
from puffer_frames.mechanisms.channel.checks import check_channel_plan, with_own_words
from puffer_frames.mechanisms.channel.fitted import CONFIDENCE, ChannelFit, Seen, roles_of
from puffer_frames.mechanisms.channel.measure import Adversary, loss_of_channel, loss_of_rows
from puffer_frames.mechanisms.channel.options import Channel, label_text
from puffer_frames.mechanisms.channel.problem import InputColumn, Law, LevelTable, Problem, cost_word
from puffer_frames.mechanisms.file_checks import check_columns
from puffer_frames.mechanisms.request import Found, Request, RowsRequest, lacking, lean_request, with_other_tables
from puffer_frames.mechanisms.seam import (
    NO_BOUND,
    ColumnError,
    Compared,
    CurvePoint,
    Fitted,
    Mechanism,
    Owner,
    PlanFigures,
    ProfilePoint,
    Reading,
    Release,
    as_epsilons,
    as_points,
    from_file,
    loss_bars,
    loss_of,
)
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import (
    Rows,
    at_most,
    bars,
    lower_text,
    matrix,
    odds_text,
    pairs_text,
    plain,
    upper_text,
)
from puffer_frames.numbers.records import refused
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Level, LevelCounts, Summary, joint_levels
from puffer_frames.scales.cautions import LARGER, moved_text, warn_of_moved, warn_of_useless
from puffer_frames.scales.drift import Batch, protected_here
from puffer_frames.scales.learned import replaced_rows

_SHOWN = 12


def channel_rows(plan: ChannelFit, compared: Compared | None, /) -> Rows:
    """Labels and texts, in order."""
    target, channel = plan.request.target, plan.channel
    rows = [
        ("pairs", pairs_text(plan.pairs, apart=plan.request.apart)),
        ("meaning", odds_text(_released(plan), epsilon=target.epsilon, delta=target.delta)),
        ("mechanism", _mechanism(plan)),
        ("withstands", _withstood(plan)),
        *_readers(plan),
        ("expected error", f"{channel.expected_error:.6g} ({_unit(plan)})"),
        *_moved_rows(plan),
        ("beside it", f"{_constant(plan)} in place of every value {channel.constant_error:.6g}; {_bound(plan)}"),
        ("unchanged", f"a {'cell' if plan.column.in_cells else 'level'} with probability {channel.unchanged:.4g}"),
    ]
    if compared is not None:
        rows.append(
            (
                "noise instead",
                f"a mean absolute error of {compared.noise:.6g}, after remap {compared.remap:.6g}; it does not "
                "withstand other laws as the channel does",
            )
        )
    rows += [(f"{name} belief", f"{each.words}: proved in integers") for name, each in plan.beliefs.items()]
    rows.append(("loss", _loss_text(plan)))
    rows.append(("rows", _rows_text(plan)))
    rows.append(("levels", _levels_text(plan)))
    rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
    return rows


def _moved_rows(plan: ChannelFit) -> Rows:
    bounds = plan.request.domain.get(plan.request.public[0])
    if bounds is None:
        return []
    share = None
    if not plan.column.in_cells:
        levels, rows = np.array(plan.column.levels, dtype=np.float64), plan.column.pooled
        share = float(rows[(levels <= bounds[0]) | (levels >= bounds[1])].sum() / rows.sum())
    return [("moved", moved_text(share))]


def _constant(plan: ChannelFit) -> str:
    """Which constant the error of one constant is of."""
    if plan.column.in_cells:
        return "the best of the medians of the cells"
    few = len(plan.channel.outputs) < len(plan.channel.inputs)
    return "the best of the released levels" if few else "the best constant"


def _readers(plan: ChannelFit) -> Rows:
    """What a channel that sees the secret tells to readers who know the value, and its error by secret."""
    if not plan.options.sees_secret:
        return []
    most = plan.options.reader_loss_at(plan.request.target.epsilon)
    told = (
        "NOTHING BOUNDS what a reader learns who knows the value"
        if most is None
        else f"to a reader who knows the value a loss of at most {plain(most)}, and to any reader at most that much "
        "more than publishing the values"
    )
    errors = ", ".join(f"{secret!r} {error:.4g}" for secret, error in list(plan.channel.errors.items())[:_SHOWN])
    return [("sees", f"the secret of the row too: {told}"), ("error by secret", errors)]


def _released(plan: ChannelFit) -> str:
    several = len(plan.request.public) > 1
    return "the released values of one row together" if several else "one released value"


def _bound(plan: ChannelFit) -> str:
    if plan.column.is_partial:
        return "what a mechanism with other rows of labels might reach is not known"
    if plan.column.in_cells:
        return "what a mechanism without these cells might reach is not known"
    seen = "these values" if len(plan.request.public) > 1 else "this value"
    seen = f"{seen} and the secret" if plan.options.sees_secret else f"{seen} alone"
    released = "" if isinstance(plan.options.cost, str) else " and releases its levels"
    more = ", with any number of levels," if plan.options.outputs is not None else ""
    bound = f"{lower_text(plan.channel.lower_bound)}{' in this mean over the secrets' * _is_even(plan)}"
    return f"no mechanism with this guarantee that sees {seen}{released}{more} is below {bound}"


def _mechanism(plan: ChannelFit) -> str:
    inputs, outputs = len(plan.channel.inputs), len(plan.channel.outputs)
    what = "cells of values" if plan.column.in_cells else "levels"
    of = "of the medians " if plan.column.in_cells else ""
    kept = {None: "", "mean": f", the mean {of}kept on average", "marginal": ", the shares kept on average"}
    return f"channel from a linear program: {inputs} {what} to {outputs}{kept[plan.options.preserve]}"


def _withstood(plan: ChannelFit) -> str:
    parts = [] if plan.radius is None else [f"that {replaced_rows(plan.radius)}"]
    if plan.options.cap is not None:
        parts.append(f"any law at all, with a loss of at most {plain(plan.options.cap)}")
    if plan.is_brittle:
        parts.append(f"nothing{' else' * bool(parts)} but the beliefs below: THE VALUE ITSELF IS NOT PROTECTED")
    return "; ".join(parts) or "any law at all, with the loss that was asked for"


def _unit(plan: ChannelFit) -> str:
    unit = COSTS[cost_word(plan.column.levels, plan.options.cost)]
    return f"{unit}, a mean over the secrets, each with the same weight" if _is_even(plan) else unit


def _is_even(plan: ChannelFit) -> bool:
    """Whether all errors are means over the secrets, and not over the rows."""
    return plan.channel.problem.times is not None


def _loss_text(plan: ChannelFit) -> str:
    delta = plan.request.target.delta
    pure = plan.largest_loss
    largest = "no bound" if pure == math.inf else f"pure loss at most {upper_text(pure)}"
    population = measured_text(plan.population, delta=delta)
    return (
        f"under the observed law: {measured_text(plan.observed, delta=delta)}; under every law of these levels that "
        f"the table does not refute at {100 * CONFIDENCE:g} %: {population}; under any law of these levels: {largest}"
    )


def _rows_text(plan: ChannelFit) -> str:
    listed = list(plan.rows_per_secret.items())
    texts = [f"{secret!r} {rows:,}" for secret, rows in listed[:_SHOWN]]
    return ", ".join(texts) + (f" and {len(listed) - _SHOWN} more secrets" if len(listed) > _SHOWN else "")


def _levels_text(plan: ChannelFit) -> str:
    levels = [_level_text(level) for level in plan.channel.outputs]
    more = f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else ""
    source = "declared" if plan.column.public else "learned from the table"
    return f"{', '.join(levels[:_SHOWN])}{more} ({source})"


def _level_text(level: Level) -> str:
    if isinstance(level, tuple):
        return f"({', '.join(map(_level_text, level))})"
    return label_text(level) if isinstance(level, (str, type(None))) else f"{level:g}"


def channel_figures(plan: ChannelFit, /) -> PlanFigures:
    """The figures of a channel's plan."""
    channel, delta = plan.channel, plan.request.target.delta
    losses = [
        ("the observed law", *loss_of(plan.observed, delta=delta)),
        (f"every law that the table does not refute at {100 * CONFIDENCE:g} %", *loss_of(plan.population, delta=delta)),
    ]
    if not delta:
        losses.append(("any law of these levels", *at_most(plan.largest_loss)))
    error = ColumnError(name=plan.name, error=channel.expected_error, constant=channel.constant_error, spread=None)
    return PlanFigures(whom="of one record", what=_released(plan), errors=(error,), losses=tuple(losses))


def channel_pictures(plan: ChannelFit, /) -> list[str]:
    """The channel as a matrix, its error beside that of a constant, and its loss per law."""
    channel, target = plan.channel, plan.request.target
    errors = [("error", channel.expected_error), ("one constant", channel.constant_error)]
    if channel.lower_bound > 0:
        errors = [("bound", channel.lower_bound), *errors]
    losses = {
        "observed law": plan.observed.loss(delta=target.delta).upper,
        "population 95 %": plan.population.loss(delta=target.delta).upper,
    }
    return [
        matrix(channel.matrix, title="Probability of each output", said="a row per level, a column per released level"),
        bars([(name, number, f"{number:.4g}") for name, number in errors], title="Mean error"),
        loss_bars(losses | ({} if target.delta else {"any law": plan.largest_loss}), target.delta, target.epsilon),
    ]


def _lean_adversary(name: str, one: Adversary) -> Adversary:
    if name.split(" ")[0] not in ("given", "other"):
        return one
    laws = tuple({secret: replace(law, counts=()) for secret, law in each.items()} for each in one.laws)
    return replace(one, laws=laws)


def _measured(plan: ChannelFit, counts: LevelTable, unsure: Mapping[Secret, Fraction]) -> Batch:
    present, pairs, absent = protected_here(counts, known=plan.rows_per_secret, pairs=plan.pairs)
    if len(present) < 2 or not pairs:
        return Batch(observed={}, exceeded={}, absent=absent)
    target = plan.request.target
    rows = {secret: counts[secret] for secret in present}
    found = loss_of_rows(rows, plan.channel, pairs=pairs, unsure=unsure)
    exceeded = {} if found.confirms(target) else {plan.name: excess_text(found, target)}
    return Batch(observed={plan.name: found}, exceeded=exceeded, absent=absent)


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
    if plan.merged:
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


_NEARLY = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedChannel(ChannelFit, Fitted[Seen]):
    """The weights of a channel, and what they withstand."""

    tag: ClassVar[str] = "ChannelCalibration"
    unchanged: ClassVar[str] = "a channel, which releases levels of the column"

    @property
    def channels(self) -> Mapping[str, FoundChannel]:
        """The channel of the released column: `inputs`, `outputs`, `matrix`, `weights` and its errors."""
        return {self.name: self.channel}

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        return {self.name: self.observed}

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean cost of an output in place of its input: absolute error, share of changed values, or what was given."""
        return {self.name: self.channel.expected_error}

    @property
    def lower_bound(self) -> Mapping[str, float]:
        """No mechanism with this guarantee that sees the value alone has a smaller error; 0 where no bound is known.

        One that sees the secret or another column too can have less. The bound of a channel that sees the secret is for
        those that see it too. None is known for a column in cells.
        """
        return {self.name: self.channel.lower_bound}

    def warn(self) -> None:
        """Warn of labels that are hardly nearer to the values than one constant, of several columns each by itself."""
        useless: Sequence[str] = self.request.public
        if self.channel.expected_error < _NEARLY * self.channel.constant_error:
            errors = self.column_errors()
            useless = [name for name, (error, constant) in errors.items() if constant and error >= _NEARLY * constant]
        if useless:
            warn_of_useless(useless, hint=LARGER)

    def text(self, compared: Compared | None, /) -> Rows:
        return channel_rows(self, compared)

    def figures(self) -> PlanFigures:
        return channel_figures(self)

    def pictures(self, plan: Owner, /) -> list[str]:
        return channel_pictures(self)

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
        return _measured(self, seen.counts(self.column), seen.unsure(self.column))

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
        """The certificate of a release through a channel, its values not known yet."""
        request, batch = self.request, release.batch
        exceeded = {} if batch is None or not batch.exceeded else batch.observed
        return release.certificate(
            self,
            statements=channel_statements(self, release),
            facts=replace(release.facts(request), prepared=prepared(self)),
            beliefs=tuple(self.beliefs),
            theorem="channel",
            source=SOURCE,
            noise="channel",
            verified={name: dict.fromkeys(self.beliefs, proved_loss(self)) for name in request.public},
            observed=dict.fromkeys(request.public, exceeded[self.name]) if exceeded else {},
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

    def curve(self, plan: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
        """The error against epsilon, and the bound of all that see the value alone."""
        ascending = as_epsilons(epsilons, self.request.target.epsilon)
        laws = tuple(laws for belief in self.beliefs.values() for laws in belief.laws)
        if not all(law.counts for belief in laws for law in belief.values()):
            raise from_file("the laws of its beliefs")
        points = []
        for epsilon in ascending:
            target = Target.of(epsilon, self.request.target.delta)
            channel = find(laws, self.column, target=target, pairs=self.pairs, options=self.options)
            points.append(
                CurvePoint(
                    column=self.name,
                    epsilon=epsilon,
                    delta=target.delta,
                    error=channel.expected_error,
                    bound=NO_BOUND if self.column.in_cells else channel.lower_bound,
                )
            )
        return as_points(points, CurvePoint, plan.library)

    def profile(self, plan: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
        """Delta against epsilon, under the observed law and those that the table does not refute."""
        counts = {secret: self.column.counts[secret] for secret in self.secrets}
        points = []
        for belief, confidence in (("empirical", None), ("population", CONFIDENCE)):
            for epsilon in as_epsilons(epsilons, self.request.target.epsilon):
                found = loss_of_channel(
                    counts, self.channel, pairs=self.pairs, epsilon=epsilon, confidence=confidence
                ).hockey_stick
                points.append(
                    ProfilePoint(
                        column=self.name,
                        belief=belief,
                        covered=belief in self.beliefs,
                        epsilon=epsilon,
                        lower=max(0.0, found.lower),
                        upper=found.upper,
                    )
                )
        return as_points(points, ProfilePoint, plan.library)


class ChannelMechanism(Mechanism[Seen]):
    """A random level of the column in place of each value."""

    name = "channel"
    records: ClassVar[Mapping[str, type]] = {
        "ChannelPlan": FittedChannel,
        **{kind.__name__: kind for kind in (Channel, InputColumn, Adversary, Law, Problem, FoundChannel)},
    }

    def __init__(self, rival: Callable[..., Compared | None], /) -> None:
        """`rival` says what noise would cost."""
        self._rival = rival

    def takes(self, request: Request, table: Table, /) -> Request | None:
        """A request for a channel, and by default that of one column of labels."""
        asked, one = request.mechanism, len(request.public) == 1
        if asked == "auto":
            labels = one and table.kind_of(request.public[0]) == "labels"
            return self._checked(request, table) if labels else None
        if asked == "channel":
            request = replace(request, mechanism=Channel())
        return self._checked(request, table) if isinstance(request.mechanism, Channel) else None

    def _checked(self, request: Request, table: Table) -> Request:
        several = len(request.public) > 1
        if several and any(table.kind_of(name) == "numbers" for name in request.public):
            raise ArgumentError(
                "public",
                rule="one column, or several of labels, where they are released through a channel",
                got=f"{len(request.public)} with numbers among them",
                hint="Leave mechanism out: numbers have noise, and labels beside them randomised response.",
            )
        for name, default, given in (
            ("merge_rare", None, request.merge_rare if several else None),
            ("nulls", "raise", request.nulls if several and request.nulls == "level" else "raise"),
            ("given", (), request.given_columns),
            ("unit", None, request.unit),
            ("releases", 1, request.repeats.releases),
        ):
            if given != default:
                what = " of several columns" if name in ("merge_rare", "nulls") else ", which adds no noise"
                raise ArgumentError(name, rule=f"left out for a channel{what}", got=repr(given), hint="Leave it out.")
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
    return with_other_tables(request, lambda frame: _counted(frame, request, coded))


def _counted(frame: NativeFrame, request: Request, coded: tuple[str, ...]) -> Found:
    """Another table, as its rows are compared with those of the first."""
    together, roles = len(coded) > 1, Roles(secret=request.secret, public=request.public)
    roles = roles.counting(coded) if together else replace(roles, coded=coded)
    rows = open_table(frame).complete(roles, nulls=request.nulls, layout=None)
    if together:
        return joint_levels(rows.level_counts(request.public[0]), own=len(request.secret))
    return rows.level_counts(request.public[0]) if coded else rows.summaries(request.domain)[request.public[0]]
