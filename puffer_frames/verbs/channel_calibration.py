"""A calibration of a channel: what it withstands, what it costs, and the release that it allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from puffer_frames.errors import CalibrationError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.table import open_table
from puffer_frames.loss.outcome import Verification, measured_text
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import as_html, as_text
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.channels.best import FoundChannel
from puffer_frames.scales.channels.measure import measured_loss
from puffer_frames.scales.remap import Remap
from puffer_frames.verbs.arguments import ReleaseArguments, method_takes
from puffer_frames.verbs.channel_plan import ChannelPlan, Seen, roles_of
from puffer_frames.verbs.channel_rows import release_channel
from puffer_frames.verbs.channel_text import Compared, channel_rows, channel_title
from puffer_frames.verbs.request import RowsRequest


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChannelCalibration:
    """The plan of a release through a channel. Deterministic: the same table and request give the same plan.

    It holds exact statistics of every secret. Keep it with the data; publish the certificate.
    """

    plan: ChannelPlan
    """What is to be released, through which channel, and why."""
    checksum: str
    """SHA-256 of the counts it was made from."""
    compared: Compared | None
    """What noise with the same guarantee would cost; None of labels."""

    @property
    def epsilon(self) -> float:
        """Privacy parameter epsilon."""
        return self.plan.request.target.epsilon

    @property
    def delta(self) -> float:
        """Privacy parameter delta; 0 is pure privacy."""
        return self.plan.request.target.delta

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of the secret columns."""
        return self.plan.request.secret

    @property
    def public(self) -> tuple[str, ...]:
        """Name of the column to release."""
        return self.plan.request.public

    @property
    def pairs(self) -> Pairs:
        """The word "all", or the protected pairs of secrets."""
        return self.plan.pairs

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
        """No mechanism with this guarantee has a smaller error."""
        return {self.plan.name: self.plan.channel.lower_bound}

    @property
    def observed(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies."""
        return {self.plan.name: self.plan.observed}

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]:
        """Rows of each secret, complete ones."""
        return self.plan.rows_per_secret

    @property
    def rows(self) -> int:
        """Rows of the frame it was made from, complete ones."""
        return sum(self.rows_per_secret.values())

    @method_takes(ReleaseArguments)
    def release(self, frame: NativeFrame, arguments: ReleaseArguments, /) -> NativeFrame:
        """Draw once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars, PyArrow or Spark frame, or DuckDB relation
            The one that the calibration was made from, with its rows in any order.
        keep, index, shuffle, publish, rng, row_id, about
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
        ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError
            As `puffer_frames.privatize`.
        """
        other_rows = check_flag(arguments.allow_other_frame, "allow_other_frame")
        drift = check_flag(arguments.allow_drift, "allow_drift")
        request = self.plan.request
        table = open_table(frame)
        asked = RowsRequest.of(arguments, table.labels, secret=request.secret, public=request.public)
        roles = roles_of(asked.roles, table)
        rows = table.complete(roles, nulls=request.nulls, layout=asked.layout)
        seen = Seen.of(rows, request, roles)
        batch = None
        if seen.found.checksum() != self.checksum:
            if not other_rows:
                raise CalibrationError(
                    "the frame",
                    rule="the one that the calibration was made from",
                    got="a frame with other rows",
                    hint="Calibrate this frame, or say allow_other_frame=True to use the channel of the first.",
                )
            batch = self._measure(seen, drift=drift)
        return release_channel(self.plan, rows, asked, rows_per_secret=seen.found.rows_per_secret, batch=batch)

    def _measure(self, seen: Seen, *, drift: bool) -> Verification:
        """The loss under the frequencies of other rows."""
        counts = seen.counts(self.plan.column)
        unknown = [secret for secret in counts if secret not in self.rows_per_secret]
        if unknown:
            raise CalibrationError(
                "the secrets of the frame",
                rule="those of the plan",
                got=f"{len(unknown)} that it does not know",
                hint="Calibrate a frame with all secrets.",
            )
        named = [secret for secret in self.plan.secrets if secret in counts]
        pairs: Pairs = (
            "all" if self.pairs == "all" else tuple(p for p in self.pairs if p[0] in counts and p[1] in counts)
        )
        found = measured_loss(
            {secret: counts[secret] for secret in named},
            self.plan.channel.weights,
            pairs=pairs,
            epsilon=self.epsilon,
            unsure=seen.unsure(self.plan.column),
        )
        if not drift and found.refutes(self.plan.request.target):
            raise CalibrationError(
                "the loss under the frequencies of these rows",
                rule="at most what was asked for",
                got=measured_text(found, delta=self.delta),
                hint="Calibrate this frame, or say allow_drift=True: the certificate will give this figure.",
            )
        return found

    def __str__(self) -> str:
        return as_text(channel_title(self.plan), channel_rows(self.plan, self.compared))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(channel_title(self.plan), channel_rows(self.plan, self.compared))
