"""Noise as a mechanism: what it takes, counts, finds, draws and says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar, Self

from puffer_frames.certificates.sentences import warn_of
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.local.table import LocalRows
from puffer_frames.frames.roles import Roles, RowOrder, no_level
from puffer_frames.frames.table import CompleteRows, Table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import Finding
from puffer_frames.mechanisms.channel.best import error_in_few_cells, error_of_rows
from puffer_frames.mechanisms.file_checks import check_columns
from puffer_frames.mechanisms.noise.certificate import release_certificate
from puffer_frames.mechanisms.noise.checks import check_plan, with_own_words
from puffer_frames.mechanisms.noise.curves import curve_of, deltas_of
from puffer_frames.mechanisms.noise.drift import (
    findings_of,
    losses_given,
    measure_rows,
    restated,
    target_of,
    unproved_beliefs,
)
from puffer_frames.mechanisms.noise.fitted import LAWS, NoiseFit, choices_of, lean, whole
from puffer_frames.mechanisms.noise.options import Noise
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen, with_labels, with_merged, with_tables, with_units
from puffer_frames.mechanisms.noise.text import plan_figures, plan_rows, verdict_of
from puffer_frames.mechanisms.request import Request, RowsRequest, check_given, is_joint
from puffer_frames.mechanisms.seam import (
    ADDS_UP,
    NO_RULE,
    NOTHING_NEEDED,
    Compared,
    ComparedRow,
    Mechanism,
    Reading,
    Spread,
    from_file,
)
from puffer_frames.noise.adding import Draw
from puffer_frames.noise.channel import ChannelTable, LabelChannel, randomised_response
from puffer_frames.noise.column_noise import ByStratum, ColumnNoise
from puffer_frames.noise.families import WORDS
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.arguments import Target
from puffer_frames.papers.catalogue import BOUNDED
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.cautions import LARGER, warn_of_moved, warn_of_width
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.columns import ANY_LAW, POPULATION
from puffer_frames.scales.drift import joint_leanings, leanings, strata_leanings
from puffer_frames.scales.learned import replaced_rows
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.strata import Strata, StrataChoices, Stratum
from puffer_frames.scales.utility import SHIFTED, TIMES


def _at_scales(plan: NoiseFit, asked: RowsRequest, scales: Mapping[str, float], *, key: ReleaseKey) -> tuple[Draw, ...]:
    """Noise on each column of numbers, and randomised response of each column of labels."""
    noise = [
        ColumnNoise(
            column=name,
            noise=plan.noise(scales[name]),
            key=key,
            domain=plan.clipped.get(name),
            remap=plan.remaps[name].step if name in plan.remaps else None,
            bounds=asked.bounds.get(name),
            to_integers=asked.rounds(name),
        )
        for name in plan.scales
    ]
    responses = [
        LabelChannel.of(
            name,
            key=key,
            codes={level: code for code, level in enumerate(levels)},
            outputs=levels,
            table=ChannelTable(randomised_response(len(levels), scales[name])),
        )
        for name, levels in plan.levels.items()
    ]
    return (*noise, *responses)


MANY_ROWS = 2_000
"""A network of columns that is fitted to fewer says little of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedNoise(NoiseFit):
    """Scales per column, and why."""

    @property
    def target(self) -> Target:
        """What the noise of one value must meet."""
        return target_of(self)

    @property
    def family(self) -> NoiseFamily:
        return self.request.noise

    @property
    def strata_scales(self) -> Mapping[Stratum, Mapping[str, float]]:
        """Scale per stratum and column; empty where the guarantee conditions on no columns."""
        return {} if self.strata is None else self.strata.scales

    @property
    def scale(self) -> float:
        """The scale, where one column is released; raises ArgumentError where there are several, as `choice`."""
        return self.choice.scale

    @property
    def choice(self) -> Choice:
        """The scale and why, where one column is released."""
        if len(self.choices) > 1:
            raise ArgumentError(
                "the number of public columns",
                rule="one for this attribute",
                got=str(len(self.choices)),
                hint="Use the mappings scales and choices.",
            )
        return next(iter(self.choices.values()))

    @property
    def theorem(self) -> str:
        """Name of the theorem."""
        return next(iter(self.choices.values())).theorem.name

    text, figures, certificate, lean = plan_rows, plan_figures, release_certificate, lean
    measure, curve, deltas, loss_given = measure_rows, curve_of, deltas_of, losses_given

    # fields of `Choice`, where one column is released
    published_scale = property(attrgetter("choice.published_scale"))
    published_loss = property(attrgetter("choice.published_loss"))
    scale_per_belief = property(attrgetter("choice.scale_per_belief"))
    binding_belief = property(attrgetter("choice.binding_belief"))
    worst_pair = property(attrgetter("choice.worst_pair"))
    verified = property(attrgetter("choice.verified"))
    priors = property(attrgetter("choice.priors"))
    beliefs = property(attrgetter("choice.beliefs"))

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        return self.observed

    def warn(self, seen: RowsSeen, /) -> None:
        """Warn of columns that a constant is nearer to, and of noise that a model, or its mechanism, makes wide."""
        useless, several = self.useless_columns(), len(self.choices) > 1
        if useless:
            request = self.request
            default = ("fitted", "empirical")  # a channel may do worse, or nothing at all, under other beliefs
            known = request.one_draw and all(isinstance(one, str) and one in default for one in request.beliefs)
            another = _ANOTHER + _WEAKER * (request.theorem == BOUNDED.name)
            another = another if not several and known and _channel_error(self) < math.inf else LARGER
            where = " in the rows of the listed secrets" * self.lists_some
            fewer = _FEWER_ROWS if self.rows < MANY_ROWS and (request.nulls, request.mechanism) == _DROPS else _FEWER
            warn_of("useless", useless, where=where, hint=fewer if several else another)
        elif not several and _is_default(self) and _is_beaten(self):
            warn_of_width(
                self.request.public,
                "the noise of {columns} has a larger error than a channel, which has the same epsilon also where "
                f"{replaced_rows('min(1/2, 2/sqrt(rows))')}, and loses less under any law",
                hint='Say mechanism="channel", or see all mechanisms side by side with puffer_frames.compare.',
                reason="mechanism",
            )
        if self.levels and _is_default(self) and _response_is_beaten(self, seen):
            warn_of_width(
                self.request.public,
                "randomised response changes many more of the labels of {columns} than a channel, which has the same "
                f"epsilon also where {replaced_rows('min(1/2, 2/sqrt(rows))')}",
                hint='Say mechanism="channel", which draws these columns together; puffer_frames.compare shows what '
                "both lose under other laws.",
                reason="mechanism",
            )
        if off := [name for name in self.shifted_labels() if name not in useless]:
            warn_of("response-shares", tuple(off), most=SHIFTED, times=TIMES)
        for key, found in self.little_use().items():
            moved = max(abs(own.moved) / (own.constant or 1.0) for own in found.values())
            warn_of(key, tuple(found), share=moved, most=" or less" * (len(found) > 1))
        for name, where in self.partly_useless().items():
            warn_of("useless-strata", (name,), where=where, first=_first(self.request, self.strata))
        fits = {name: choice for name, choice in self.choices.items() if "wide fit" in choice.remarks}
        if fits:
            refuted = any("refuted fit" in choice.remarks for choice in fits.values())
            warn_of("fit-decides", tuple(fits), refuted=", and the table refutes it at 95 %" * refuted)

    def instead(self) -> str | None:
        """Whole tables, for several columns in many rows: numbers beside labels, or noise that a constant is nearer to.

        Joint noise is for readers who know the frequencies of whole rows: it is wide where most rows are different.
        """
        if self.rows < MANY_ROWS or len(self.choices) == 1 or not (self.changed or self.useless_columns()):
            return None
        return "sequential"

    def takes_given(self) -> bool:
        try:
            check_given(replace(self.request, given=Strata("")))
        except ArgumentError:
            return False
        return self.request.one_draw

    def compared_rows(self, told: ComparedRow, spreads: Mapping[str, Spread], seen: RowsSeen, /) -> list[ComparedRow]:
        """Of each column; `told` names a theorem where it has a condition for this belief."""
        noise, together = self.request.noise, all(choice.adds_up for choice in self.choices.values())
        judged = target_of(self).share(self.request.repeats.measured)
        errors = {**self.changed, **self.expected_error}
        published = bool(told.theorem) and not self.is_joint
        return [
            replace(
                told,
                mechanism=self.request.mechanism if self.request.mechanism == "remap" else "noise",
                noise=noise.name if noise.name in WORDS else noise.title,
                theorem=choice.theorem.name if told.theorem else "",
                column=name,
                published_scale=math.nan if not published or choice.published_scale is None else choice.published_scale,
                verdict=verdict_of(choice, judged) if published else told.verdict,
                scale=choice.scale if name in self.scales else math.nan,
                error=errors[name],
                loss_reader=0.0,
                composes=ADDS_UP if together else NO_RULE,
                reason="" if any(self.all_scales.values()) else NOTHING_NEEDED,
                **(spreads.get(name) or Spread(constant=self.constant_share(name))).shares(errors[name]),
                **_compared_losses(self, choice),
            )
            for name, choice in self.choices.items()
        ]

    def complete(
        self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None
    ) -> CompleteRows:
        request = self.request
        check_columns(table, request, roles, kinds=kinds)
        if request.unit is not None and with_units(request, table, declared=False).repeats.rows > request.repeats.rows:
            raise CalibrationError(
                "the units of the frame",
                rule=f"of at most {request.repeats.rows} rows, as the plan has it",
                got="one with more",
                hint="Leave out rows of such units at random, or calibrate with a larger Unit(most=...).",
            )
        return table.complete(request.counting(roles), nulls=request.nulls, layout=layout)

    def see(self, rows: CompleteRows, /) -> RowsSeen:
        seen = RowsSeen.for_plan(rows, self.request, self.clipped, joint=self.is_joint)
        if self.strata is None or self.is_joint or not is_joint(self.request) or self.request.labels:
            return seen
        if not seen.has_few_secrets(len(self.request.secret)):
            return seen
        return seen.with_joint(rows, self.request, self.clipped)  # whole rows were counted, and every stratum is small

    def rows_of(self, seen: RowsSeen, /) -> dict[Secret, int]:
        return seen.rows_of_secrets(len(self.request.secret), given=self.request.given is not None)

    def warn_of_others(self, seen: RowsSeen, rows: CompleteRows, /) -> None:
        warn_of_moved(rows, seen.summaries, self.clipped, ranged=self.clipped.keys() - self.request.domain.keys())

    def findings(self, seen: RowsSeen, rows: CompleteRows, /) -> list[Finding]:
        return findings_of(self, seen, rows.summaries({}) if self.clipped else seen.summaries)

    def check_own(self, seen: RowsSeen, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """The beliefs that were not proved again."""
        return unproved_beliefs(self, seen, own_rows=own_rows) if left_out else ()

    def check_asked(self, asked: RowsRequest, /) -> None:
        """Raise ArgumentError for words of `publish`: the certificate of noise says what may be said.

        Warns of rounding and clipping after the noise that leave clearly less of a column.
        """
        if asked.publish:
            raise ArgumentError(
                "publish", rule="given with a channel", got=repr(asked.publish[0]), hint="Leave it out."
            )
        for key, columns in self.worse_after(asked).items():
            for name, (before, after) in columns.items():
                warn_of(key, (name,), before=before.error, after=after.error, moved=after.moved)

    def originals(self, rows: CompleteRows, /) -> Mapping[str, FloatArray] | None:
        """The values of each column before the noise, as the noise is added to them."""
        if not self.is_refinable or not isinstance(rows, LocalRows):
            return None
        ends, values = self.clipped, {name: rows.values(name) for name in self.scales}
        return {name: found.clip(*ends[name]) if name in ends else found for name, found in values.items()}

    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        """What is done to the values of each column: the same to all rows, or to those of each stratum."""
        strata = self.strata
        if strata is None or strata.one_scale:
            return _at_scales(self, asked, self.all_scales, key=key)
        parts = tuple(_at_scales(self, asked, scales, key=key) for scales in strata.scales.values())
        return (ByStratum(given=strata.given, strata=tuple(strata.choices), parts=parts),)

    def checked(self) -> Self:
        check_plan(self)
        return restated(whole(with_own_words(self)))

    def robustness(self, *, left_out: Sequence[str]) -> Mapping[str, list[Any]]:
        repeats, noise, target = self.request.repeats, self.request.noise, target_of(self)
        factor = repeats.factor(noise)
        if LAWS in left_out and self.strata is None and not self.is_joint:
            raise from_file(LAWS, for_what="what other beliefs need")
        if self.strata is not None:
            parts = {name: strata_leanings(c, delta=self.request.target.delta) for name, c in self.choices.items()}
        elif self.is_joint:
            parts = {", ".join(self.request.public): joint_leanings(self.choices, target)}
        else:
            share, rows = target.share(len(self.choices)), repeats.measured
            parts = {
                name: leanings(choice, share, noise=noise, pairs=self.pairs, rows=rows, factor=factor)
                for name, choice in self.choices.items()
            }
        needs = [(name, leaning) for name, part in parts.items() for leaning in part]
        return {
            "column": [name for name, _ in needs],
            "belief": [need.belief for _, need in needs],
            "covered": [need.covered for _, need in needs],
            "scale": [need.scale for _, need in needs],
            "loss": [
                repeats.of_unit(need.loss, any_law=need.belief == ANY_LAW, delta=target.delta) for _, need in needs
            ],
            "first": [str(need.pair[0]) for _, need in needs],
            "second": [str(need.pair[1]) for _, need in needs],
        }


class NoiseMechanism(Mechanism[RowsSeen]):
    """A random number is added to each value; a label beside them stays, or any other takes its place."""

    name = "noise"
    options = Noise
    records: ClassVar[Mapping[str, type]] = {"Plan": FittedNoise}

    def is_asked(self, mechanism: object, /) -> bool:
        return mechanism in ("noise", "remap")

    def suits(self, public: Sequence[str], table: Table, /) -> bool:
        """What no mechanism before it is for."""
        return True

    def takes(self, request: Request, table: Table, /) -> Request:
        """Numbers, and labels beside them."""
        if not any(table.kind_of(name) == "labels" for name in request.public):
            if request.nulls == "level":
                raise no_level("with noise")
            if request.declared:
                hint = 'Write mechanism="channel".'  # only a channel knows of levels
                raise ArgumentError("domain", rule="(low, high) beside noise", got="a list of levels", hint=hint)
        return with_labels(request, table)

    def read(
        self, request: Request, frame: NativeFrame, table: Table, asked: RowsRequest | None, /
    ) -> Reading[RowsSeen]:
        """Count the rows by value, or whole rows."""
        request, frame, table = with_merged(request, frame, table)
        request = with_units(with_tables(request), table)
        roles, layout = (request.roles(), None) if asked is None else (request.counting(asked.roles), asked.layout)
        rows = table.complete(roles, nulls=request.nulls, layout=layout)
        seen = RowsSeen.of(rows, request)
        warn_of_moved(rows, seen.summaries, request.domain)
        return Reading(request=request, frame=frame, table=table, rows=rows, seen=seen)

    def fit(self, request: Request, seen: RowsSeen, /) -> FittedNoise:
        return FittedNoise.of(request, seen)


def noise_instead(request: Request, summary: Summary, /, *, pairs: Pairs, secrets: Sequence[Secret]) -> Compared | None:
    """What noise would cost, and noise with the posterior median after it, for the observed frequencies alone."""
    (name,) = request.public
    request = replace(request, mechanism="remap", beliefs=["empirical"], allow_zero_noise=True)
    rows = RowsSeen(summaries={name: summary}).protected(request)
    try:
        choice = choices_of(request, rows, pairs=pairs, named=list(secrets))[name]
    except CalibrationError:
        return None
    if not choice.scale:
        return Compared(noise=0.0, remap=0.0)
    noise = request.noise.at(choice.scale)
    return Compared(noise=noise.expected_absolute_error, remap=Remap.pooled(summary, noise).expected_error)


_FEWEST, _HALF, _THIRD = 50, 0.5, 1 / 3
"""With fewer rows no channel is looked for; where noise has less than half the error of a constant, only one with less
than a third of the error of the noise."""


_FEWER = (
    "Release fewer columns together, ask for a larger epsilon, or leave these columns out; the plan has each error."
)
_DROPS = ("drop", "auto")
_FEWER_ROWS = (
    'Release fewer columns together, ask for a larger epsilon, or keep the rows that nulls="drop" leaves out: '
    f"from {MANY_ROWS:,} rows on a whole table is released instead. The plan has each error."
)


def _first(request: Request, strata: StrataChoices | None) -> str:
    """What helps where some strata are of no use; texts alone can be merged."""
    another = "Ask for a larger epsilon"
    if request.given is None or request.given.merge or strata is None or not strata.small:
        return another
    named = repr(strata.given[0] if len(strata.given) == 1 else list(strata.given))
    texts = all(isinstance(level, str) for z in strata.choices for level in z)
    return f"Merge small strata (given=Strata({named}, merge=True)), ask for a larger epsilon" if texts else another


_ANOTHER = (
    'Say mechanism="channel", whose mean absolute error is never larger than that of a constant (a warning says where '
    "its values hardly follow the raw ones), ask for a larger epsilon, or leave the column out."
)

_WEAKER = (
    " Its guarantee is weaker: under the observed frequencies and laws near them, not under any law as of this noise."
)


def _is_default(plan: NoiseFit) -> bool:
    """Whether the mechanism was left to the package, and the belief of the noise is one that a channel covers."""
    request = plan.request
    observed = all(set(choice.beliefs) == {"empirical"} for choice in plan.choices.values())
    return plan.request.one_draw and request.mechanism == "auto" and observed and plan.rows >= _FEWEST


def _is_beaten(plan: NoiseFit) -> bool:
    """Whether a channel of a few cells has a smaller error and a stronger guarantee; then a finer one has, too."""
    (figures,) = plan.column_errors()
    anything = next(iter(plan.choices.values())).wider.get(ANY_LAW)
    if anything is None:
        return False
    share = 1.0 if figures.error > _HALF * figures.constant else _THIRD
    return _channel_error(plan, most=anything.pure_loss.lower) < share * figures.error


def _response_is_beaten(plan: NoiseFit, seen: RowsSeen) -> bool:
    """Whether a channel for several columns of labels, and of nothing else, changes far fewer of these."""
    request, joint = plan.request, seen.protected(plan.request).joint
    unlike = request.nulls == "level" or request.merge_rare is not None or request.repeats.releases > 1
    if plan.scales or joint is None or plan.strata is not None or unlike:
        return False
    error, constant = sum(plan.changed.values()), sum(map(plan.constant_share, plan.levels))
    share = 1.0 if error > _HALF * constant else _THIRD
    return len(plan.levels) * error_of_rows(joint, request.target, pairs=plan.pairs) < share * error


def _channel_error(plan: NoiseFit, *, most: float = math.inf) -> float:
    """The error of a channel of a few cells in place of the noise; infinite where its values are of no use."""
    (summary,) = plan.summaries.values()
    return error_in_few_cells(summary, plan.request.target, pairs=plan.pairs, most=most)


def _compared_losses(plan: FittedNoise, choice: Choice) -> dict[str, Any]:
    """The loss under the observed law, under those that the table does not refute, and under any law."""
    target = plan.request.target
    if plan.strata is not None:
        found = {each.belief: each.loss for each in strata_leanings(choice, delta=target.delta)}
    elif plan.is_joint:
        found = {each.belief: each.loss for each in joint_leanings(plan.choices, target_of(plan))}
    elif len(plan.choices) > 1:  # the theorem proves it; what was measured is of one column alone
        found = {ANY_LAW: target.delta or target.epsilon}
    else:
        measured = {**choice.wider, **({} if choice.observed is None else {"empirical": choice.observed})}
        found = {name: each.loss(delta=target.delta).upper for name, each in measured.items()}
    if plan.is_joint or len(plan.choices) == 1:
        of_unit = plan.request.repeats.of_unit
        found = {laws: of_unit(loss, any_law=laws == ANY_LAW, delta=target.delta) for laws, loss in found.items()}
    names = {"loss_observed": "empirical", "loss_population": POPULATION, "loss_any_law": ANY_LAW}
    return {name: found.get(law, math.nan) for name, law in names.items()}
