"""A plan: what is to be released, by which mechanism, and why; and the release that it allows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from puffer_frames.certificates.published import check_path
from puffer_frames.errors import CalibrationError, PlanFileError, PriorError, PufferError, short_traceback
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.frames.files import write_text
from puffer_frames.frames.null_values import Dropped, Sampled, codes_text
from puffer_frames.frames.roles import Roles, RowOrder
from puffer_frames.frames.table import Table, check_library, frame_of, library_of, open_table, small_frame
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms import registry
from puffer_frames.mechanisms.arguments import CalibrateArguments
from puffer_frames.mechanisms.batch_report import BatchReport, more_rows, moved_text, refused_by, report_of
from puffer_frames.mechanisms.file_checks import check_origin, kinds_of
from puffer_frames.mechanisms.request import Request, RowsRequest, as_planned
from puffer_frames.mechanisms.seam import Compared, CurvePoint, Fitted, as_epsilons
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.numbers.arguments import check_flag
from puffer_frames.numbers.presentation import Bars, Printed, Rows, plain, shown_names
from puffer_frames.numbers.records import TAG, refused
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.drift import drifted
from puffer_frames.scales.strata import Stratum
from puffer_frames.verbs.pictures.losses import sheet
from puffer_frames.verbs.plans.file import codec, read_plan, write_plan
from puffer_frames.verbs.plans.plotted import plan_figures, plan_page
from puffer_frames.verbs.refinement import refine_release
from puffer_frames.verbs.release import fit, rehearse, release_rows
from puffer_frames.verbs.requests import Drawing, ReleaseArguments, method_releases, takes, with_names


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Plan(Printed):
    """The plan of a release. Deterministic: the same table and request give the same plan.

    It holds exact statistics of every secret. Keep it with the data; publish the certificate. What its mechanism found
    is an attribute too: of noise `scale`, `theorem`, `published_scale`, `scale_per_belief`, `binding_belief`,
    `worst_pair`, `verified`, `priors`, `beliefs` (where one column is released) and `choices` (by column); of a channel
    `lower_bound`.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.5)
    >>> plan.curve([0.2, 0.5])[["published_scale", "scale", "bound"]].round(3).values.tolist()
    [[5.0, 1.189, 0.216], [2.0, 0.47, 0.055]]
    >>> found = plan.privacy_profile([0.1, 0.5])
    >>> found[found["belief"] == "empirical"][["epsilon", "upper"]].round(3).values.tolist()
    [[0.1, 0.06], [0.5, 0.0]]
    >>> plan.robustness()[["belief", "scale"]].round(2).to_dict("list")
    {'belief': ['empirical', 'population', 'contaminated', 'any law'], 'scale': [0.47, 3.66, 2.28, 8.0]}

    A page to decide by, a file for the rows of another day, and whether the plan covers these:

    >>> folder = tempfile.mkdtemp()
    >>> plan.report(folder + "/plan.html")
    >>> plan.save(folder + "/plan.json", password="long and odd")
    >>> again = puffer_frames.load_plan(folder + "/plan.json", password="long and odd")
    >>> round(again.scale, 3), len(again.release(people))
    (0.47, 100)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 400), "score": rng.integers(0, 5, 400)})
    >>> plan = people.head(300).puffer.calibrate(secret="group", public="score", beliefs="population", epsilon=1.0)
    >>> plan.check(people.tail(100)).verdict, plan.check(people.assign(group="c")).verdict
    ('covered', 'refused')
    """

    fitted: Fitted[Any]
    """What the mechanism found, and why."""
    checksum: str
    """SHA-256 of the counts it was made from."""
    library: str = "pandas"
    """Library of the frame that it was made from."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What its columns held: "labels", "booleans" or "numbers"."""
    left_out: tuple[str, ...] = ()
    """What a plan from a file lacks, in words; empty for one that was made from a table."""
    compared: Compared | None = None
    """What another mechanism would cost, where that was compared."""
    dropped: Dropped | None = None
    """Rows that `nulls="drop"` left out."""
    sampled: Sampled | None = None
    """Rows that `Unit(over="sample")` left out."""

    @classmethod
    def of(cls, frame: NativeFrame, request: Request, /) -> Plan:
        """The plan of a checked request for a frame; raises as `puffer_frames.calibrate`."""
        mechanism, found, fitted = fit(frame, request, None)
        fitted.warn(found.seen)
        return cls(
            fitted=fitted,
            checksum=found.seen.checksum(),
            library=library_of(frame),
            kinds=kinds_of(found.table, found.request),
            compared=mechanism.compared(fitted, found.seen),
            dropped=found.dropped,
            sampled=found.sampled,
        )

    def __getattr__(self, name: str) -> Any:
        """What the mechanism found besides."""
        if name != "fitted" and not name.startswith("_") and hasattr(type(self.fitted), name):
            return getattr(self.fitted, name)
        raise AttributeError(f"this plan has no attribute {name!r}")

    def __eq__(self, other: object) -> bool:
        """Whether both have one `identity`, and one library of the frame: fields with arrays compare to arrays."""
        if not isinstance(other, Plan) or (self.checksum, self.library) != (other.checksum, other.library):
            return False
        return self is other or self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash((self.checksum, self.library))

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *(name for name in dir(type(self.fitted)) if not name.startswith("_"))})

    @property
    def epsilon(self) -> float:
        """Privacy parameter epsilon."""
        return self.fitted.request.target.epsilon

    @property
    def delta(self) -> float:
        """Privacy parameter delta; 0 is pure privacy."""
        return self.fitted.request.target.delta

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of the secret columns."""
        return self.fitted.request.secret

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns to release."""
        return self.fitted.request.public

    @property
    def pairs(self) -> Pairs:
        """The word "all", or the protected pairs of secrets."""
        return self.fitted.pairs

    @property
    def rows_per_secret(self) -> Mapping[Secret, int]:
        """Rows of each secret, complete ones; of each column and value, where each secret column is protected."""
        return self.fitted.rows_per_secret

    @property
    def rows(self) -> int:
        """Rows of the frame it was made from, complete ones."""
        return self.fitted.rows

    @property
    def noise(self) -> NoiseFamily | None:
        """The family of the noise; None where none is added."""
        return self.fitted.family

    @property
    def scales(self) -> Mapping[str, float]:
        """Scale of the noise per released column of numbers, in its units."""
        return self.fitted.scales

    @property
    def strata(self) -> Mapping[Stratum, Mapping[str, float]]:
        """Scale per stratum and column; empty where the guarantee conditions on no columns."""
        return self.fitted.strata_scales

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channel per column that has one: `inputs`, `outputs`, `matrix`, `weights` and its errors."""
        return self.fitted.channels

    @property
    def remap(self) -> Mapping[str, Any]:
        """What noisy values are replaced by, per column with noise; empty unless Noise(remap=True)."""
        return self.fitted.remaps

    @property
    def observed(self) -> Mapping[str, Verification]:
        """The loss under the observed frequencies, per released column."""
        return self.fitted.observed_losses

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean error per released column: absolute, in its units, or the share of changed labels."""
        return self.fitted.expected_error

    @method_releases(ReleaseArguments)
    def release(self, frame: NativeFrame, arguments: ReleaseArguments, /) -> NativeFrame:
        """Draw noise once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars or Spark frame
            The one that the calibration was made from, with its rows in any order.
        layout, ledger, about, rng
            As in `puffer_frames.privatize`.
        allow_other_frame : bool
            Release a frame with other rows than those calibrated on; the guarantee is then under the beliefs
            learned from the first frame. The loss under the frequencies of the new rows is measured; the certificate
            says that it is not beyond what was asked for, and nothing else that depends on the secrets of these rows.
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
        fitted, request = self.fitted, self.fitted.request
        frame = as_planned(request, frame)
        table, drawing = open_table(frame), Drawing.of(arguments)
        asked = RowsRequest.of(arguments.layout, table, request, seeded=drawing.seeded)
        fitted.check_asked(asked)
        rows, seen = self._seen(table, asked.roles, layout=asked.layout)
        same = seen.checksum() == self.checksum
        if not same and not other_rows:
            rule = "the one that the plan was made from"
            hint = "Calibrate this frame, or say allow_other_frame=True to use the beliefs learned from the first."
            raise CalibrationError("the frame", rule=rule, got="a frame with other rows", hint=hint)
        unproved = fitted.check_own(seen, own_rows=same, left_out=self.left_out)
        batch = None if same else fitted.measure(seen)
        if batch is not None and batch.exceeded and not drift:
            moved = moved_text(fitted.findings(seen, rows))
            raise drifted(batch, fitted.target, moved=moved, more="" if moved else more_rows(request, self.kinds))
        if batch is not None or self.dropped is not None:  # of a file nobody was warned, and here others may be missing
            request.dropped(frame)
        if batch is not None or self.sampled is not None:
            request.sampled(rows)
        if batch is not None:
            fitted.warn_of_others(seen, rows)
        return release_rows(
            fitted,
            rows,
            asked,
            drawing,
            frame=frame,
            rows_per_secret=fitted.rows_of(seen),
            batch=None if batch is None else batch.excess(),
            unproved=unproved,
        )

    refine = short_traceback(refine_release)

    def _seen(self, table: Table, roles: Roles, *, layout: RowOrder | None) -> tuple[Any, Any]:
        """Rows, and the counts of them; an error of missing values names what can be done about them here."""
        with self._hints():
            rows = self.fitted.complete(table, roles, kinds=self.kinds, layout=layout)
            return rows, self.fitted.see(rows)

    @contextmanager
    def _hints(self, *more: str) -> Iterator[None]:
        """An error of missing values, in further columns too, names what can be done about them beside a plan."""
        request = self.fitted.request
        try:
            yield
        except PriorError as error:
            if not error.hint.startswith("Say nulls="):
                raise
            read = list(dict.fromkeys((*request.secret, *request.public, *request.given_columns, *more)))
            hint = 'Calibrate with nulls="drop"' + ' or nulls="level"' * ('nulls="level"' in error.hint)
            if not request.null_values:  # which no call of another library leaves out
                hint += f", or leave these rows out first: in pandas frame.dropna(subset={read}, ignore_index=True), "
                hint += f"in Polars frame.fill_nan(None).drop_nulls({read})"
            raise PriorError(error.what, rule=error.rule, got=error.got, hint=f"{hint}.") from None

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
              beliefs as these rows give them, which does not: "fitted", "population", ... "loss of a row" where the
              rows of a unit share epsilon: the limit is the share of one.
            - "new secret", "new level", "new stratum": rows that no release of the plan can have.
            - "rows": of each secret, and how many the table of the plan has.
            - "drift": the Kolmogorov-Smirnov distance of the law of a column given a secret to that of the plan (of
              labels in their alphabetical order), and what it exceeds by chance in 5 % of all cases at most.
            - "beyond the domain" (or the range of the plan): rows whose value is clipped, where it is.
            - "other values": rows of a whole table whose number the plan does not know, or computes otherwise: they are
              replaced.

        Raises
        ------
        ArgumentTypeError
            For what is no frame. What else `release` would raise because of the rows is a reason in the report.

        Notes
        -----
        Nothing is released. The index of a pandas frame is not looked at: `release` asks for `Layout(index=...)` where
        it is filtered or sorted. Values that a release would move, and rows that it would leave out, are warned of. The
        report holds exact statistics of the rows and of the table of the plan: keep it private. **Cost**: the group-bys
        of a release, and an evaluation of the loss per column and belief.

        References
        ----------
        docs/plans.md.
        """
        frame = as_planned(self.fitted.request, frame)
        table, library, fitted = open_table(frame), library_of(frame), self.fitted
        request = fitted.request
        roles = Roles.of(secret=request.secret, public=request.public, given=request.given_columns)
        try:
            rows, seen = self._seen(table, roles, layout=None)
            found, same = fitted.findings(seen, rows), seen.checksum() == self.checksum
            if not same:
                request.dropped(frame)
                request.sampled(rows)
                fitted.warn_of_others(seen, rows)
        except PufferError as error:
            return refused_by(error, library=library)
        return report_of(found, same=same, within=fitted.within, library=library)

    @short_traceback
    def curve(self, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
        """Scale and error against epsilon: published, as this plan would use it, and the bound for the value alone.

        Parameters
        ----------
        epsilons : iterable of float, optional
            By default nine from a quarter of the plan's to four times it.

        Returns
        -------
        frame
            Of the library of the frame that the plan was made from, a row per epsilon: "column", "epsilon", "delta"
            (that of the plan), "published_scale", "scale", "published_error", "error" (with a remap after
            it) and "bound": no mechanism that has the guarantee under the observed law, and sees this column's value
            alone, has a smaller error. Where something is not known it is not a number: the published scale without a
            condition, the bound of more than 64 different values, or where the observed law is none of the beliefs.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For an epsilon out of range, and none.
        CalibrationError
            For several columns, given columns, a plan from a file, and where no scale is found.

        Notes
        -----
        It holds exact statistics of the table, as the plan does. **Cost**: a search per epsilon and belief, and for the
        bound a linear program per epsilon.

        References
        ----------
        docs/theory.md, section 16, for the bound.
        """
        asked = as_epsilons(epsilons, self.epsilon)
        points = list(self.fitted.curve(asked, left_out=self.left_out))
        return frame_of(points, CurvePoint, library=self.library)

    @short_traceback
    def privacy_profile(self, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
        """The privacy profile of the scale that is used: the delta at every epsilon, from both sides, per belief.

        Parameters
        ----------
        epsilons : iterable of float, optional
            By default nine from a quarter of the plan's to four times it.

        Returns
        -------
        frame
            Of the library of the frame that the plan was made from, a row per belief and epsilon: "column", "belief"
            (those of the guarantee, and beside them those of `robustness`), "covered" (whether the guarantee is under
            it), "epsilon", and "lower" and "upper", between which the smallest delta is: of the pair of secrets and the
            order with the largest. The upper one holds for the noise on its grid.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For an epsilon out of range, and none.
        CalibrationError
            For several columns, given columns, and a plan from a file.

        Notes
        -----
        It holds exact statistics of the table, as the plan does. **Cost**: a loss per belief and epsilon.

        References
        ----------
        docs/theory.md, section 3.
        """
        asked, names = as_epsilons(epsilons, self.epsilon), ("column", "belief", "covered", "epsilon", "lower", "upper")
        column, found = ", ".join(self.public), self.fitted.deltas(left_out=self.left_out)
        rows = [(column, belief, covered, each, *at(each)) for belief, covered, at in found for each in asked]
        return small_frame({name: [row[k] for row in rows] for k, name in enumerate(names)}, library=self.library)

    @short_traceback
    def robustness(self) -> NativeFrame:
        """What each belief would need, and what it loses at the scale that is used.

        Returns
        -------
        frame
            Of the library of the frame that the plan was made from (of PyArrow for a DuckDB relation, of pandas for a
            Spark frame), a row per column and belief: "column"; "belief", of which "empirical", "population" (95 %),
            "contaminated" (with probability 2/sqrt(n)) and "any law" are always there, but where there are too many
            pairs; "covered", whether the guarantee is under it; "scale", the smallest that it confirms; "loss" at the
            scale used, the pure one where delta is 0, else the delta at epsilon, of several rows or releases as in the
            plan; "first" and "second", the pair of secrets with the largest loss. Columns whose scales were found
            together have one row per belief about whole rows, without a scale. Strata have one row per belief: the
            largest scale and loss of any stratum.

        Raises
        ------
        CalibrationError
            For a plan from a file, which lacks the laws of its beliefs, but for strata and columns whose scales were
            found together.

        Notes
        -----
        It holds exact statistics of the table, as the plan does. **Cost**: a search for the scale per belief.
        """
        return small_frame(self.fitted.robustness(left_out=self.left_out), library=self.library)

    @short_traceback
    def loss_given(self, frame: NativeFrame, /, columns: str | Sequence[str]) -> NativeFrame:
        """What the noisy values lose to a reader who sees further columns, too, for each value of these.

        Parameters
        ----------
        frame : a frame of any kind
            With the columns of the plan, and these.
        columns : column name or several

        Returns
        -------
        frame
            A row per joint value of the given columns of the plan and these, the largest loss first: the number of
            rows, the "loss" of the noisy values among them, and how far the columns alone change the log-odds of
            a protected pair ("told"); with units both are of all rows of a unit that have this value. A loss is a delta
            where the plan has one.

        Raises
        ------
        ArgumentError, ArgumentTypeError, ColumnNotFoundError, CalibrationError, PriorError
            For columns that are given ones already, a plan of another mechanism, one of units of whose rows nothing is
            assumed, and a frame that it does not know.
        """
        with self._hints(*([columns] if isinstance(columns, str) else columns if isinstance(columns, list) else [])):
            found = self.fitted.loss_given(frame, columns, kinds=self.kinds)
        return small_frame(found, library=self.library)

    plot = short_traceback(sheet)

    @short_traceback
    def save(self, path: str | Path, /, *, password: str | bytes | None = None, overwrite: bool = True) -> None:
        """Write the plan to a file that `load` reads: for the rows of another day, or another machine.

        Parameters
        ----------
        path : str or Path
            Of a file. It is written whole or not at all, and readable by you alone (mode 0600).
        password : str or bytes, optional
            Encrypts the file: AES-256-GCM under a key from scrypt. Without one it is JSON that a person can read.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        PlanFileError
            For a plan with what does not belong to this package: a noise family of your own.
        ArgumentError, ArgumentTypeError
            For a path that is not that of a file, a file that is there and may not be replaced, and a password that is
            none.
        OSError
            Where the file cannot be written there.

        Notes
        -----
        The file holds exact statistics of every secret, as the plan does. It lacks the laws of the beliefs, side
        knowledge and other tables: `left_out` of the plan that is loaded says what (docs/plans.md).
        """
        plain = self._plain()
        _believed(plain)  # what could not be read back is not written
        write_plan(path, plain, password=password, overwrite=check_flag(overwrite, "overwrite"))

    def identity(self) -> str:
        """SHA-256 of all that decides what is drawn, whose frame and whose process it was made in.

        Two plans that are the same but for the library of the frame have one; two that differ in any scale have two.
        """
        try:
            plain = self._plain()
        except PlanFileError:  # a noise family of the user's own
            return hashlib.sha256(repr(self.fitted).encode()).hexdigest()
        for name in ("library", "dropped", "sampled"):
            plain.pop(name, None)
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    @short_traceback
    def report(self, path: str | Path, /, *, audit: object = None, overwrite: bool = False) -> None:
        """Write the plan as a page for whoever decides on the release. It holds exact statistics: keep it private.

        Parameters
        ----------
        path : str or Path
            Of a new .html file. It is written whole or not at all, and readable by you alone (mode 0600).
        audit : object, optional
            What a test of a release by this plan returned; its text is printed as it is.
        overwrite : bool
            Replace a file that is there.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For another path, and a file that is there.
        OSError
            Where the file cannot be written there.

        Notes
        -----
        `certificate.report` writes the page that may be published (docs/certificates.md).
        """
        place = check_path(path, overwrite=overwrite)
        title, rows = self._shown()
        text = plan_page(title, rows, request=self.fitted.request, figures=self.fitted.figures(), audit=audit)
        write_text(text, place, private=True, new=not overwrite)

    @classmethod
    @short_traceback
    def load(cls, path: str | Path, /, *, password: str | bytes | None = None) -> Plan:
        """Read a plan that `save` wrote; as `puffer_frames.load_plan`."""
        return _believed(read_plan(path, password=password))

    def _plain(self) -> dict[str, Any]:
        """In JSON types, without what a file does not hold."""
        fitted, left_out = self.fitted.lean()
        parts: dict[str, Any] = {
            "plan": fitted,
            "checksum": self.checksum,
            "library": self.library,
            "kinds": self.kinds,
        }
        parts["left_out"] = tuple(dict.fromkeys((*self.left_out, *left_out)))
        if fitted.compares:
            parts["compared"] = self.compared
        for name in ("dropped", "sampled"):
            if (part := getattr(self, name)) is not None:
                parts[name] = part
        form = codec()
        return {TAG: fitted.tag, **{name: form.plain(part) for name, part in parts.items()}}

    def _shown(self) -> tuple[str, Rows]:
        """Title and rows of what is shown."""
        target = self.fitted.request.target
        delta = "pure" if target.delta == 0 else f"delta = {plain(target.delta)}"
        more = f" and {len(self.public) - _MOST_NAMED} more columns" * (len(self.public) > _MOST_NAMED)
        columns = f"release {shown_names(self.public[:_MOST_NAMED])}{more}, hide {shown_names(self.secret)}"
        title, rows = f"Plan: {columns}; epsilon = {plain(target.epsilon)}, {delta}", self.fitted.text(self.compared)
        private = "this plan holds exact statistics of every secret; publish the certificate only"
        after = {"keep private": private, "read as missing": codes_text(self.fitted.request.null_values)}
        after["left out"] = "; ".join(each.text for each in (self.dropped, self.sampled) if each is not None)
        dates = [name for name in self.public if self.kinds.get(name) == "dates"]
        after["dates"] = f"{shown_names(dates)}: all figures are in days, since 1970-01-01" if dates else ""
        after["from a file"] = f"without {', '.join(self.left_out)}" if self.left_out else ""
        return title, [*rows, *((label, text) for label, text in after.items() if text)]

    def _figures(self) -> list[Bars]:
        return plan_figures(self.fitted.figures(), self.fitted.request.target)


_MOST_NAMED = 20
"""Columns that the title names."""
_PARTS = {
    "plan": Fitted,
    "checksum": str,
    "library": str,
    "kinds": Mapping,
    "left_out": tuple,
    "dropped": Dropped,
    "sampled": Sampled,
}


def _believed(found: Any, /) -> Plan:
    """The plan that a file holds in JSON types.

    Raises PlanFileError for anything else, and for a plan whose parts do not agree.
    """
    tag = found.get(TAG) if isinstance(found, dict) else None
    kinds = (kind for mechanism in registry.MECHANISMS for kind in mechanism.records.values())
    if str(tag) not in {kind.tag for kind in kinds if issubclass(kind, Fitted)}:
        raise refused("something else than a plan")
    form = codec()
    try:
        parts = {name: form.value(part, (name,)) for name, part in found.items() if name != TAG}
        compared = parts.pop("compared", None)
        known = {"plan", "checksum"} <= parts.keys() <= _PARTS.keys()
        typed = known and all(isinstance(part, _PARTS[name]) for name, part in parts.items())
        if not typed or not isinstance(compared, Compared | None) or parts["plan"].tag != tag:
            raise refused("something else than the parts of a plan")
        fitted = parts.pop("plan")
        check_origin(parts["checksum"], parts.get("kinds", {}), fitted.request)
        check_library(parts.get("library", "pandas"))
        plan = Plan(fitted=fitted.checked(), compared=compared, **parts)
        if plan.dropped is not None and not plan.dropped.fits(fitted.request.read, kept=fitted.rows):
            raise refused("other rows that are left out")
        rehearse(plan.fitted)
        str(plan)  # what cannot be shown is no plan
    except PlanFileError:
        raise
    except (PufferError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise refused("parts that do not agree") from None
    return plan


@short_traceback
def load_plan(path: str | Path, /, *, password: str | bytes | None = None) -> Plan:
    """Read a plan that `save` wrote: `people.puffer.calibrate(...).save("plan.json")`.

    Parameters
    ----------
    path : str or Path
    password : str or bytes, optional
        That with which the file was saved; left out for a file that is not encrypted.

    Returns
    -------
    Plan
        It releases the rows that the plan was made from as that plan does: for a seed, the same numbers. Its
        `left_out` says what it lacks; `robustness()` is an error.

    Raises
    ------
    PlanFileError
        For a file that is no plan of this version of the package or an earlier one, that was changed or cut short,
        whose parts do not agree, or that has another password.
    ArgumentError, ArgumentTypeError
        For a password that is none.
    OSError
        Where there is no such file, or it cannot be read.

    Notes
    -----
    No code is run from the file, and no other classes are made than those of a plan. A digest finds accidents. What a
    release states is computed again from the counts in the file, and a channel is verified in integers; of strata and
    of columns whose scales were found together `release` measures the rows. Whoever may edit the file can still make
    a plan of their own, of another table. With a password they cannot. **Cost**: some evaluations of the loss per
    column; of a channel of at most 32 levels a linear program; with a password 0.4 seconds and 128 MB of memory.

    Examples
    --------
    >>> import tempfile, numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan, path = people.puffer.calibrate(secret="group", public="score", epsilon=0.5), tempfile.mkdtemp() + "/plan"
    >>> plan.save(path)
    >>> again = puffer_frames.load_plan(path)
    >>> again.scale == plan.scale, again.release(people, rng=7).equals(plan.release(people, rng=7)), again.left_out
    (True, True, ('the laws of its beliefs',))
    """
    return _believed(read_plan(path, password=password))


@takes(CalibrateArguments)
def calibrate(frame: NativeFrame, arguments: CalibrateArguments, /) -> Plan:
    """Plan a release without drawing noise; print the result to read the plan.

    Parameters
    ----------
    frame : a frame of any kind
        Of pandas, Polars, PyArrow, DuckDB or Spark.
    secret, public, epsilon, delta, mechanism, beliefs, pairs, secrets, given, unit, releases, domain, nulls, \
    null_values, allow_zero_noise
        As in `privatize`.

    Returns
    -------
    Plan
        Deterministic; its `release(frame)` draws once. It holds exact statistics of every secret: keep it private.

    Raises
    ------
    ColumnNotFoundError, ArgumentError, ArgumentTypeError, PriorError, CalibrationError
        As `privatize`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, puffer_frames
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({"group": rng.choice(["a", "b"], 100), "score": rng.integers(0, 5, 100)})
    >>> plan = people.puffer.calibrate(secret="group", public="score", epsilon=0.1)
    >>> plan.theorem, plan.published_scale, round(plan.scale, 3)
    ('kantorovich', 10.0, 2.205)
    """
    table = open_table(frame)
    return Plan.of(frame, Request.of(with_names(arguments, frame, table.labels), table))
