"""A calibration of a channel: what it withstands, what it costs, and the release that it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from puffer_frames.errors import CalibrationError, PufferError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.table import CompleteRows, Table, check_library, library_of, open_table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import BatchReport, refused_by, report_of
from puffer_frames.mechanisms.channel.best import FoundChannel
from puffer_frames.mechanisms.channel.checked_levels import check_own_levels, findings_of_levels, measure_levels
from puffer_frames.mechanisms.channel.checks import check_channel_plan
from puffer_frames.mechanisms.channel.curves import channel_curve_of, channel_profile_of
from puffer_frames.mechanisms.channel.fitted import ChannelPlan, Seen, roles_of
from puffer_frames.mechanisms.channel.text import Compared, channel_rows, channel_title
from puffer_frames.mechanisms.noise.checks import check_checksum
from puffer_frames.mechanisms.noise.figures import PlanFigures, channel_figures
from puffer_frames.mechanisms.noise.lean import lean_channel, whole_channel
from puffer_frames.mechanisms.noise.small_pictures import channel_pictures
from puffer_frames.mechanisms.plan_columns import check_columns, check_kinds
from puffer_frames.mechanisms.request import RowsRequest
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import Rows
from puffer_frames.scales.drift import check_drift
from puffer_frames.scales.remap import Remap
from puffer_frames.verbs.plans.planned import Planned
from puffer_frames.verbs.releasing.channel_rows import rehearse_channel, release_channel
from puffer_frames.verbs.requests.arguments import ReleaseArguments, method_takes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChannelCalibration(Planned):
    """The plan of a release through a channel. Deterministic: the same table and request give the same plan.

    It holds exact statistics of every secret. Keep it with the data; publish the certificate.
    """

    plan: ChannelPlan
    """What is to be released, through which channel, and why."""
    checksum: str
    """SHA-256 of the counts it was made from."""
    compared: Compared | None
    """What noise with the same guarantee would cost; None of labels."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What its columns held: "labels", "booleans" or "numbers"."""
    left_out: tuple[str, ...] = ()
    """What a plan from a file lacks, in words."""
    library: str = "pandas"
    """Library of the frame that it was made from."""

    @property
    def channels(self) -> Mapping[str, FoundChannel]:
        """The channel of the released column: `inputs`, `outputs`, `matrix`, `weights` and its errors."""
        return {self.plan.name: self.plan.channel}

    @property
    def remap(self) -> Mapping[str, Remap]:
        """None: a channel needs no posterior median."""
        return {}

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean cost of an output in place of its input: absolute error, share of changed values, or what was given."""
        return {self.plan.name: self.plan.channel.expected_error}

    @property
    def lower_bound(self) -> Mapping[str, float]:
        """No mechanism with this guarantee that sees the value alone has a smaller error; 0 where no bound is known.

        One that sees the secret or another column too can have less. None is known for a column in cells.
        """
        return {self.plan.name: self.plan.channel.lower_bound}

    @property
    def observed(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies."""
        return {self.plan.name: self.plan.observed}

    curve = short_traceback(channel_curve_of)
    privacy_profile = short_traceback(channel_profile_of)

    @method_takes(ReleaseArguments)
    def release(self, frame: NativeFrame, arguments: ReleaseArguments, /) -> NativeFrame:
        """Draw once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow or Spark frame, or DuckDB relation
            The one that the calibration was made from, with its rows in any order.
        keep, index, shuffle, publish, rng, row_id, about, ledger
            As in `puffer_frames.privatize`.
        clip, round, refine_key
            Not for a channel.
        allow_other_frame : bool
            Release a frame with other rows than those calibrated on, of the same levels and secrets; the guarantee is
            then under the beliefs learned from the first frame.
        allow_drift : bool
            Release such a frame even where its loss under its own frequencies is more than was asked for; the
            certificate says so.

        Raises
        ------
        CalibrationError
            Where the frame is another one than that of the calibration, has a level or a secret that the plan does not
            know, or has drifted.
        ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError, LedgerError
            As `puffer_frames.privatize`.
        """
        other_rows = check_flag(arguments.allow_other_frame, "allow_other_frame")
        drift = check_flag(arguments.allow_drift, "allow_drift")
        request = self.plan.request
        table = open_table(frame)
        asked = RowsRequest.of(arguments, table.labels, request)
        rows, roles = self._complete(table, asked.roles, layout=asked.layout)
        seen = Seen.of(rows, request, roles)
        same = seen.found.checksum() == self.checksum
        if not same and not other_rows:
            raise CalibrationError(
                "the frame",
                rule="the one that the calibration was made from",
                got="a frame with other rows",
                hint="Calibrate this frame, or say allow_other_frame=True to use the channel of the first.",
            )
        if same:
            check_own_levels(self.plan, seen)
        batch = None if same else measure_levels(self.plan, seen)
        if batch is not None and not drift:
            check_drift(batch, request.target)
        counts = seen.found.rows_per_secret
        return release_channel(self.plan, rows, asked, frame=frame, rows_per_secret=counts, batch=batch)

    @short_traceback
    def check(self, frame: NativeFrame, /) -> BatchReport:
        """Say whether the plan covers other rows, and why, without a release; as `Calibration.check`.

        Parameters
        ----------
        frame : a frame of any kind
            With the secret and public columns of the plan.

        Returns
        -------
        BatchReport
            Its "loss" is that under the frequencies of these rows, which decides, and under every law of the levels
            that they do not refute at 95 % ("population"). The "drift" is that of the levels of the plan in their
            order; there is none of merged ones.

        Raises
        ------
        ArgumentTypeError
            For what is no frame. What else `release` would raise because of the rows is a reason in the report.
        """
        table, library = open_table(frame), library_of(frame)
        request, roles = self.plan.request, Roles(secret=self.plan.request.secret, public=self.plan.request.public)
        try:
            rows, roles = self._complete(table, roles, layout=None)
            seen = Seen.of(rows, request, roles)
            raw = None if roles.coded else rows.summaries({})[self.plan.name]
            found = findings_of_levels(self.plan, seen, raw)
        except PufferError as error:
            return refused_by(error, library=library)
        return report_of(found, same=seen.found.checksum() == self.checksum, library=library)

    def _complete(self, table: Table, roles: Roles, *, layout: Layout | None) -> tuple[CompleteRows, Roles]:
        """The rows of a table that may be those of the plan, and what their columns are for; raises as `release`."""
        check_columns(table, self.plan.request, roles, kinds=self.kinds, coded=self.public)
        roles = roles_of(roles, table)
        return table.complete(roles, nulls=self.plan.request.nulls, layout=layout), roles

    def _lean(self) -> ChannelCalibration:
        plan, left_out = lean_channel(self.plan)
        return replace(self, plan=plan, left_out=tuple(dict.fromkeys((*self.left_out, *left_out))))

    def _checked(self) -> ChannelCalibration:
        check_checksum(self.checksum)
        check_library(self.library)
        check_kinds(self.kinds, self.plan.request)
        found = replace(self, plan=whole_channel(self.plan))
        check_channel_plan(found.plan)
        rehearse_channel(found.plan)
        return found

    def _figures(self) -> PlanFigures:
        return channel_figures(self.plan)

    def _shown(self) -> tuple[str, Rows]:
        return channel_title(self.plan), channel_rows(self.plan, self.compared)

    def _pictures(self) -> list[str]:
        return channel_pictures(self.plan)
