"""A calibration: which theorem, which scale, what was verified, and the release that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from puffer_frames.errors import ArgumentError, CalibrationError, PufferError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.table import CompleteRows, Table, check_library, library_of, open_table, small_frame
from puffer_frames.loss.engine import Laws
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.batch_report import BatchReport, refused_by, report_of
from puffer_frames.mechanisms.channel.best import FoundChannel
from puffer_frames.mechanisms.noise.checked_rows import findings_of
from puffer_frames.mechanisms.noise.checks import check_checksum, check_plan
from puffer_frames.mechanisms.noise.curves import curve_of, profile_of
from puffer_frames.mechanisms.noise.drift import measure_rows, restated, target_of, unproved_beliefs
from puffer_frames.mechanisms.noise.figures import PlanFigures, plan_figures
from puffer_frames.mechanisms.noise.fitted import Plan
from puffer_frames.mechanisms.noise.lean import LAWS, lean, whole
from puffer_frames.mechanisms.noise.merged_strata import as_merged
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.noise.small_pictures import plan_pictures
from puffer_frames.mechanisms.noise.text import plan_rows, plan_title
from puffer_frames.mechanisms.noise.unit_rows_seen import with_units
from puffer_frames.mechanisms.plan_columns import check_columns, check_kinds
from puffer_frames.mechanisms.request import Request, RowsRequest, refuse_publish
from puffer_frames.noise.family import Noise
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import Rows
from puffer_frames.priors.pairs import Pair
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.drift import check_drift
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.robustness import joint_leanings, leanings, strata_leanings
from puffer_frames.scales.strata import Stratum
from puffer_frames.verbs.batches.kept_loss import loss_given
from puffer_frames.verbs.plans.planned import Planned
from puffer_frames.verbs.releasing.refinement import refine_release
from puffer_frames.verbs.releasing.rows import rehearse, release_rows
from puffer_frames.verbs.requests.arguments import ReleaseArguments, method_takes


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(Planned):
    """The plan of a release. Deterministic: the same table and request give the same plan.

    It holds exact statistics of every secret. Keep it with the data; publish the certificate.
    """

    plan: Plan
    """What is to be released, with which noise, and why."""
    checksum: str
    """SHA-256 of the counts it was made from."""
    library: str = "pandas"
    """Library of the frame that it was made from."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What its columns held: "labels", "booleans" or "numbers"."""
    left_out: tuple[str, ...] = ()
    """What a plan from a file lacks, in words."""

    @classmethod
    def of(cls, request: Request, rows: CompleteRows, /, *, library: str, kinds: Mapping[str, str]) -> Calibration:
        """From the rows that a request is for, of a frame of this library, whose columns hold this."""
        seen = RowsSeen.of(rows, request)
        return cls(plan=Plan.of(request, seen), checksum=seen.checksum(), library=library, kinds=kinds)

    @property
    def calibration(self) -> str:
        """How the scale was found: "exact" or "theorem"."""
        return self.plan.calibration

    @property
    def noise(self) -> Noise:
        """The family of the noise."""
        return self.plan.request.noise

    @property
    def scales(self) -> Mapping[str, float]:
        """Scale of the noise per released column of numbers, in its units."""
        return self.plan.scales

    @property
    def scale(self) -> float:
        """The scale, where one column is released.

        Raises
        ------
        ArgumentError
            Where there are several, as for the other attributes of a single column: use `scales` or `choices`.
        """
        return self.choice.scale

    @property
    def choices(self) -> Mapping[str, Choice]:
        """The scale and why, per column; its parts are attributes of the calibration where there is one column."""
        return self.plan.choices

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

    @property
    def published_scale(self) -> float | None:
        """Scale that the theorem asks for, in units of the column; None where its condition does not exist."""
        return self.choice.published_scale

    @property
    def published_loss(self) -> Verification | None:
        """What the engine measured at the published scale, under the priors that the theorem assumes."""
        return self.choice.published_loss

    @property
    def scale_per_belief(self) -> Mapping[str, float]:
        """The scale that each belief alone needs."""
        return self.choice.scale_per_belief

    @property
    def binding_belief(self) -> str:
        """The belief that needs the largest scale."""
        return self.choice.binding_belief

    @property
    def worst_pair(self) -> Pair:
        """The pair of secrets with the largest loss under the binding belief."""
        return self.choice.worst_pair

    @property
    def verified(self) -> Mapping[str, Verification]:
        """What the engine measured at the scale, per belief."""
        return self.choice.verified

    @property
    def priors(self) -> Mapping[Secret, Prior]:
        """Prior per secret that the theorem assumes."""
        return self.choice.priors

    @property
    def beliefs(self) -> Mapping[str, Laws | Sequence[Laws]]:
        """Priors, or sets of laws, per secret, per belief that the guarantee covers."""
        return self.choice.beliefs

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean absolute error per released column, in its units: of the noise, or of `remap` where there is one."""
        return self.plan.expected_error

    @property
    def remap(self) -> Mapping[str, Remap]:
        """What noisy values are replaced by, per column with noise; empty unless mechanism="remap"."""
        return self.plan.remaps

    @property
    def strata(self) -> Mapping[Stratum, Mapping[str, float]]:
        """Scale per stratum and column; empty where the guarantee conditions on no columns."""
        return {} if self.plan.strata is None else self.plan.strata.scales

    @property
    def channels(self) -> Mapping[str, FoundChannel]:
        """None: the columns are released with noise."""
        return {}

    @short_traceback
    def robustness(self) -> NativeFrame:
        """What each belief would need, and what it loses at the scale that is used.

        Returns
        -------
        frame
            Of the library of the frame that the plan was made from (of PyArrow for a DuckDB relation, of pandas for a
            Spark frame), a row per column and belief: "column"; "belief", of which "empirical", "population" (95 %),
            "contaminated" (a share of 2/sqrt(n)) and "any law" are always there, but where there are too many pairs;
            "covered", whether the guarantee is under it; "scale", the smallest that it confirms; "loss" at the scale
            used, the pure one where delta is 0, else the delta at epsilon, of several rows or releases as in the plan;
            "first" and "second", the pair of secrets with the largest loss. Of columns whose scales were found
            together a row per belief about whole rows, where the scale is not a number. Of strata a row per belief: the
            largest scale and loss of any stratum.

        Raises
        ------
        CalibrationError
            For a plan from a file, which lacks the laws of its beliefs, but for strata and columns whose scales were
            found together.

        Notes
        -----
        It holds exact statistics of the table, as the plan does. **Cost**: a search for the scale per belief.

        Examples
        --------
        >>> import numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
        >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
        >>> plan.robustness()[["belief", "scale"]].round(2).to_dict("list")
        {'belief': ['empirical', 'population', 'contaminated', 'any law'], 'scale': [0.47, 3.66, 2.28, 8.0]}
        """
        repeats, noise, asked = self.plan.request.repeats, self.noise, target_of(self.plan)
        factor = repeats.factor(noise)
        if LAWS in self.left_out and self.plan.strata is None and not self.plan.is_joint:
            raise CalibrationError(
                "the plan",
                rule="one that was made from a table, for what other beliefs need",
                got=f"one from a file, without {LAWS}",
                hint="Calibrate the table again with the same request.",
            )
        if self.plan.strata is not None:
            found = [
                (name, leaning)
                for name, choice in self.choices.items()
                for leaning in strata_leanings(choice, delta=self.delta)
            ]
        elif self.plan.is_joint:
            found = [(", ".join(self.public), leaning) for leaning in joint_leanings(self.choices, asked)]
        else:
            found = [
                (name, leaning)
                for name, choice in self.choices.items()
                for leaning in leanings(
                    choice,
                    asked.share(len(self.choices)),
                    noise=noise,
                    pairs=self.pairs,
                    rows=repeats.measured,
                    factor=factor,
                )
            ]
        columns: dict[str, list[Any]] = {
            "column": [name for name, _ in found],
            "belief": [each.belief for _, each in found],
            "covered": [each.covered for _, each in found],
            "scale": [each.scale for _, each in found],
            "loss": [each.loss for _, each in found],
            "first": [str(each.pair[0]) for _, each in found],
            "second": [str(each.pair[1]) for _, each in found],
        }
        return small_frame(columns, library=self.library)

    @method_takes(ReleaseArguments)
    def release(self, frame: NativeFrame, arguments: ReleaseArguments, /) -> NativeFrame:
        """Draw noise once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars or Spark frame
            The one that the calibration was made from, with its rows in any order.
        keep, index, shuffle, clip, round, rng, row_id, about, ledger, refine_key
            As in `puffer_frames.privatize`.
        allow_other_frame : bool
            Release a frame with other rows than those calibrated on; the guarantee is then under the beliefs
            learned from the first frame. The loss under the frequencies of the new rows is measured, and is in the
            certificate.
        allow_drift : bool
            Release such a frame even where that loss is more than was asked for; the certificate says so.

        Raises
        ------
        CalibrationError
            Where the frame is another one than that of the calibration, has a secret that the plan does not know, or
            has drifted: its loss is more than was asked for.
        ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError, LedgerError
            As `puffer_frames.privatize`.
        """
        other_rows = check_flag(arguments.allow_other_frame, "allow_other_frame")
        drift = check_flag(arguments.allow_drift, "allow_drift")
        request = self.plan.request
        frame = as_merged(self.plan.request, frame)
        table = open_table(frame)
        asked = RowsRequest.of(arguments, table.labels, request)
        refuse_publish(asked)
        rows = self._complete(table, asked.roles, layout=asked.layout)
        seen = RowsSeen.for_plan(rows, request, self.plan.clipped, joint=self.plan.is_joint)
        same = seen.checksum() == self.checksum
        if not same and not other_rows:
            raise CalibrationError(
                "the frame",
                rule="the one that the calibration was made from",
                got="a frame with other rows",
                hint="Calibrate this frame, or say allow_other_frame=True to use the beliefs learned from the first.",
            )
        unproved = unproved_beliefs(self.plan, seen, own_rows=same) if self.left_out else ()
        batch = None if same else measure_rows(self.plan, seen)
        if batch is not None and not drift:
            check_drift(batch, target_of(self.plan))
        counts = seen.rows_of_secrets(len(request.secret), given=request.given is not None)
        return release_rows(self.plan, rows, asked, frame=frame, rows_per_secret=counts, batch=batch, unproved=unproved)

    refine = short_traceback(refine_release)
    loss_given = short_traceback(loss_given)
    curve = short_traceback(curve_of)
    privacy_profile = short_traceback(profile_of)
    _pictures = plan_pictures

    @short_traceback
    def check(self, frame: NativeFrame, /) -> BatchReport:
        """Say whether the plan covers other rows, and why, without a release.

        Parameters
        ----------
        frame : a frame of any kind
            With the secret, public, given and unit columns of the plan.

        Returns
        -------
        BatchReport
            Its `verdict` is "covered", "recalibrate" or "refused", and `why` a sentence; `frame` holds a row for each
            figure, and `print` shows them:

            - "loss": under the frequencies of these rows, at the scales of the plan, which decides; and under its other
              beliefs as these rows give them, which does not: "fitted", "population", ...
            - "new secret", "new level", "new stratum": rows that no release of the plan can have.
            - "rows": of each secret, and how many the table of the plan has.
            - "drift": the Kolmogorov-Smirnov distance of the law of a column given a secret to that of the plan (of
              labels in their alphabetical order), and what it exceeds by chance in 5 % of all cases at most.
            - "beyond the domain" (or the range of the plan): rows whose value is clipped, where it is.

        Raises
        ------
        ArgumentTypeError
            For what is no frame. What else `release` would raise because of the rows is a reason in the report.

        Notes
        -----
        Nothing is released. The report holds exact statistics of the rows and of the table of the plan: keep it
        private. **Cost**: the group-bys of a release, and an evaluation of the loss per column and belief.

        References
        ----------
        docs/plans.md.

        Examples
        --------
        >>> import numpy as np, pandas as pd, puffer_frames
        >>> rng = np.random.default_rng(0)
        >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "score": rng.integers(0, 5, 400)})
        >>> plan = people.head(300).puffer.calibrate(secret="group", public="score", beliefs="population", epsilon=1.0)
        >>> plan.check(people.tail(100)).verdict, plan.check(people.assign(group="c")).verdict
        ('covered', 'refused')
        """
        frame = as_merged(self.plan.request, frame)
        table, library = open_table(frame), library_of(frame)
        request = self.plan.request
        roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
        try:
            rows = self._complete(table, roles, layout=None)
            seen = RowsSeen.for_plan(rows, request, self.plan.clipped, joint=self.plan.is_joint)
            raw = rows.summaries({}) if self.plan.clipped else seen.summaries
            found = findings_of(self.plan, seen, raw)
        except PufferError as error:
            return refused_by(error, library=library)
        return report_of(found, same=seen.checksum() == self.checksum, library=library)

    def _complete(self, table: Table, roles: Roles, *, layout: Layout | None) -> CompleteRows:
        """The rows of a table that may be those of the plan; raises as `release`."""
        request = self.plan.request
        check_columns(table, request, roles, kinds=self.kinds)
        if request.unit is not None and with_units(request, table, declared=False).repeats.rows > request.repeats.rows:
            raise CalibrationError(
                "the units of the frame",
                rule=f"of at most {request.repeats.rows} rows, as the plan has it",
                got="one with more",
                hint="Leave out rows of such units at random, or calibrate with a larger Unit(most=...).",
            )
        return table.complete(request.counting(roles), nulls=request.nulls, layout=layout)

    def _lean(self) -> Calibration:
        plan, left_out = lean(self.plan)
        return replace(self, plan=plan, left_out=tuple(dict.fromkeys((*self.left_out, *left_out))))

    def _checked(self) -> Calibration:
        check_checksum(self.checksum)
        check_library(self.library)
        check_plan(self.plan)
        check_kinds(self.kinds, self.plan.request)
        found = replace(self, plan=restated(whole(self.plan)))
        rehearse(found.plan)
        return found

    def _figures(self) -> PlanFigures:
        return plan_figures(self.plan)

    def _shown(self) -> tuple[str, Rows]:
        return plan_title(self.plan), plan_rows(self.plan)
