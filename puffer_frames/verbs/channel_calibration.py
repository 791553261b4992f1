"""A calibration of a channel: what it withstands, what it costs, and the release that it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import open_table
from puffer_frames.loss.outcome import Verification, excess_text
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import Rows
from puffer_frames.scales.channels.best import FoundChannel
from puffer_frames.scales.channels.measure import loss_of_rows
from puffer_frames.scales.drift import Batch, check_drift, protected_here
from puffer_frames.scales.remap import Remap
from puffer_frames.verbs.arguments import ReleaseArguments, method_takes
from puffer_frames.verbs.channel_plan import ChannelPlan, Seen, roles_of
from puffer_frames.verbs.channel_rows import rehearse_channel, release_channel
from puffer_frames.verbs.channel_text import Compared, channel_rows, channel_title
from puffer_frames.verbs.lean_plan import lean_channel, whole_channel
from puffer_frames.verbs.plan_checks import check_channel_plan, check_checksum
from puffer_frames.verbs.planned import Planned
from puffer_frames.verbs.request import RowsRequest, check_columns


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
    left_out: tuple[str, ...] = ()
    """What a plan from a file lacks, in words."""

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
        """No mechanism with this guarantee has a smaller error; 0 for a column in cells, where no bound is known."""
        return {self.plan.name: self.plan.channel.lower_bound}

    @property
    def observed(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies."""
        return {self.plan.name: self.plan.observed}

    @method_takes(ReleaseArguments)
    def release(self, frame: NativeFrame, arguments: ReleaseArguments, /) -> NativeFrame:
        """Draw once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow or Spark frame, or DuckDB relation
            The one that the calibration was made from, with its rows in any order.
        keep, index, shuffle, publish, rng, row_id, about, ledger
            As in `puffer_frames.privatize`.
        clip, round
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
        check_columns(request, asked.roles, table.names)
        roles = roles_of(asked.roles, table)
        rows = table.complete(roles, nulls=request.nulls, layout=asked.layout)
        seen = Seen.of(rows, request, roles)
        same = seen.found.checksum() == self.checksum
        if not same and not other_rows:
            raise CalibrationError(
                "the frame",
                rule="the one that the calibration was made from",
                got="a frame with other rows",
                hint="Calibrate this frame, or say allow_other_frame=True to use the channel of the first.",
            )
        batch = None if same else self._measure(seen)
        if batch is not None and not drift:
            check_drift(batch, request.target)
        counts = seen.found.rows_per_secret
        return release_channel(self.plan, rows, asked, frame=frame, rows_per_secret=counts, batch=batch)

    def _measure(self, seen: Seen) -> Batch:
        """The loss under the frequencies of other rows."""
        seen = seen.protected(self.plan.request)
        counts, unsure = seen.counts(self.plan.column), seen.unsure(self.plan.column)
        present, pairs, absent = protected_here(counts, known=self.rows_per_secret, pairs=self.pairs)
        if len(present) < 2 or not pairs:
            return Batch(observed={}, exceeded={}, absent=absent)
        name, target = self.plan.name, self.plan.request.target
        rows = {secret: counts[secret] for secret in present}
        found = loss_of_rows(rows, self.plan.channel, pairs=pairs, unsure=unsure)
        exceeded = {} if found.confirms(target) else {name: excess_text(found, target)}
        return Batch(observed={name: found}, exceeded=exceeded, absent=absent)

    def _lean(self) -> ChannelCalibration:
        plan, left_out = lean_channel(self.plan)
        return replace(self, plan=plan, left_out=tuple(dict.fromkeys((*self.left_out, *left_out))))

    def _checked(self) -> ChannelCalibration:
        check_checksum(self.checksum)
        found = replace(self, plan=whole_channel(self.plan))
        check_channel_plan(found.plan)
        rehearse_channel(found.plan)
        return found

    def _shown(self) -> tuple[str, Rows]:
        return channel_title(self.plan), channel_rows(self.plan, self.compared)
