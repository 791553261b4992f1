"""The channel as a mechanism: what it takes, counts, finds, draws and says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from puffer_frames.certificates.record import Certificate
from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import CompleteRows, Table, open_table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import Finding
from puffer_frames.mechanisms.channel.adversaries import Adversary
from puffer_frames.mechanisms.channel.best import FoundChannel
from puffer_frames.mechanisms.channel.checked_levels import check_own_levels, findings_of_levels, measure_levels
from puffer_frames.mechanisms.channel.checks import check_channel_plan, with_own_words
from puffer_frames.mechanisms.channel.column import InputColumn
from puffer_frames.mechanisms.channel.curves import channel_curve_of, channel_profile_of
from puffer_frames.mechanisms.channel.fitted import ChannelFit, Seen, roles_of
from puffer_frames.mechanisms.channel.lean import lean_channel, whole_channel
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import Law, Problem
from puffer_frames.mechanisms.channel.release import channel_certificate, check_channel_asked
from puffer_frames.mechanisms.channel.text import channel_figures, channel_pictures, channel_rows
from puffer_frames.mechanisms.figures import PlanFigures
from puffer_frames.mechanisms.other_tables import Found, with_other_tables
from puffer_frames.mechanisms.plan_columns import check_columns
from puffer_frames.mechanisms.request import Request, RowsRequest
from puffer_frames.mechanisms.seam import Compared, Fitted, Mechanism, Owner, Reading, Release
from puffer_frames.noise.draw import Draw
from puffer_frames.noise.stream import ReleaseKey
from puffer_frames.numbers.presentation import Rows
from puffer_frames.priors.labelled_rows import joint_levels
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Summary
from puffer_frames.scales.cautions import LARGER, warn_of_moved, warn_of_useless
from puffer_frames.scales.drift import Batch

_NEARLY = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedChannel(ChannelFit, Fitted[Seen]):
    """The weights of a channel, and what they withstand."""

    tag: ClassVar[str] = "ChannelCalibration"

    @property
    def channels(self) -> Mapping[str, FoundChannel]:
        """The channel of the released column: `inputs`, `outputs`, `matrix`, `weights` and its errors."""
        return {self.name: self.channel}

    @property
    def observed_losses(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies."""
        return {self.name: self.observed}

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean cost of an output in place of its input: absolute error, share of changed values, or what was given."""
        return {self.name: self.channel.expected_error}

    @property
    def lower_bound(self) -> Mapping[str, float]:
        """No mechanism with this guarantee that sees the value alone has a smaller error; 0 where no bound is known.

        One that sees the secret or another column too can have less. Of a channel that sees the secret the bound is for
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
        """Labels and texts, in order."""
        return channel_rows(self, compared)

    def figures(self) -> PlanFigures:
        """What its report shows as pictures."""
        return channel_figures(self)

    def pictures(self, plan: Owner, /) -> list[str]:
        """Small ones, for notebooks."""
        return channel_pictures(self)

    def complete(
        self, table: Table, roles: Roles, /, *, kinds: Mapping[str, str], layout: RowOrder | None
    ) -> CompleteRows:
        """The rows of a table that may be those of the plan."""
        check_columns(table, self.request, roles, kinds=kinds, coded=self.request.public)
        return table.complete(roles_of(roles, table), nulls=self.request.nulls, layout=layout)

    def see(self, rows: CompleteRows, /) -> Seen:
        """Count rows as those of the plan were."""
        return Seen.of(rows, self.request, coded=self.column.codes is not None)

    def rows_of(self, seen: Seen, /) -> dict[Secret, int]:
        """Rows of each secret among them."""
        return dict(seen.found.rows_per_secret)

    def measure(self, seen: Seen, /) -> Batch:
        """The loss under the frequencies of other rows."""
        return measure_levels(self, seen)

    def findings(self, seen: Seen, rows: CompleteRows, /) -> list[Finding]:
        """What there is to say of other rows."""
        raw = None if self.column.codes is not None else rows.summaries({})[self.name]
        return findings_of_levels(self, seen, raw)

    def check_own(self, seen: Seen, /, *, own_rows: bool, left_out: Sequence[str]) -> tuple[str, ...]:
        """All beliefs were proved in integers; raises PlanFileError for another table than the file says."""
        if own_rows:
            check_own_levels(self, seen)
        return ()

    def check_asked(self, asked: RowsRequest, /) -> None:
        """Raise ArgumentError for what is done to noisy values."""
        check_channel_asked(asked)

    def draws(self, asked: RowsRequest, key: ReleaseKey, /) -> tuple[Draw, ...]:
        """What is done to the values of each public column."""
        return self.keyed(key)

    def certificate(self, release: Release, /) -> Certificate:
        """What is guaranteed of a release, its values not known yet."""
        return channel_certificate(self, release)

    def lean(self) -> tuple[Self, tuple[str, ...]]:
        """Without side knowledge and other tables."""
        return lean_channel(self)

    def checked(self) -> Self:
        """From a file: with what follows from its parts, which agree."""
        found = whole_channel(self)
        check_channel_plan(found)
        return with_own_words(found)

    def curve(self, plan: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
        """The error against epsilon."""
        return channel_curve_of(plan, epsilons)

    def profile(self, plan: Owner, epsilons: Iterable[float] | None, /) -> NativeFrame:
        """Delta against epsilon."""
        return channel_profile_of(plan, epsilons)


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
        """Find the channel."""
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
