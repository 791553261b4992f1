"""A calibration: which theorem, which scale, what was verified, and the release that it allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from puffer_frames._version import __version__
from puffer_frames.arguments import check_flag
from puffer_frames.certificate import Certificate
from puffer_frames.errors import ArgumentError, CalibrationError, RowOrderWarning, warn
from puffer_frames.frames.columns import Name, NativeFrame, as_names, as_row_id
from puffer_frames.frames.roles import Layout, Roles
from puffer_frames.frames.table import CompleteRows, open_table
from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanism import Mechanism
from puffer_frames.noise.family import Family
from puffer_frames.noise.stream import RandomSource, ReleaseKey
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.postprocessing import Bounds, BoundsArgument, check_bounds, in_words
from puffer_frames.presentation import Rows, as_html, as_text, measured_text, pairs_text
from puffer_frames.priors import Prior, Secret
from puffer_frames.selection import Selection, is_confirmed, is_refuted

_SHOWN_SECRETS = 12
_CLUSTERED = 0.5
"""Fewer than this share of the runs of a random order: the position tells the secret."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration:
    """The plan of a release. Deterministic: the same table and request give the same plan.

    It holds exact statistics of every secret. Keep it with the data; publish the certificate.
    """

    epsilon: float
    """Privacy parameter epsilon."""
    delta: float
    """Privacy parameter delta; 0 is pure privacy."""
    secret: tuple[str, ...]
    """Names of the secret columns."""
    public: tuple[str, ...]
    """Names of the columns to release."""
    pairs: Pairs
    """"all", or the protected pairs of secrets."""
    calibration: str
    """"exact" or "theorem"."""
    noise: Family
    """The family of the noise."""
    nulls: str
    """"raise", or "drop" for rows with a missing value."""
    domain: Mapping[str, Bounds]
    """Public bounds per column, to which values are clipped before the noise."""
    selections: Mapping[str, Selection]
    """The scale and why, per column; its parts are attributes of the calibration where there is one column."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret."""
    checksum: str
    """SHA-256 of the counts it was made from."""

    @property
    def scales(self) -> Mapping[str, float]:
        """Scale of the noise per released column, in its units."""
        return {name: selection.scale for name, selection in self.selections.items()}

    @property
    def scale(self) -> float:
        """The scale, where one column is released.

        Raises
        ------
        ArgumentError
            Where there are several, as for the other attributes of a single column: use `scales` or `selections`.
        """
        return self.selection.scale

    @property
    def selection(self) -> Selection:
        """The scale and why, where one column is released."""
        if len(self.selections) > 1:
            raise ArgumentError(
                "the number of public columns",
                rule="one for this attribute",
                got=str(len(self.selections)),
                hint="Use the mappings scales and selections.",
            )
        return next(iter(self.selections.values()))

    @property
    def theorem(self) -> str:
        """Name of the theorem."""
        return next(iter(self.selections.values())).theorem.name

    @property
    def published_scale(self) -> float | None:
        """Scale that the theorem asks for, in units of the column; None where its condition does not exist."""
        return self.selection.published_scale

    @property
    def published_loss(self) -> Verification | None:
        """What the engine measured at the published scale, under the priors that the theorem assumes."""
        return self.selection.published_loss

    @property
    def scale_per_belief(self) -> Mapping[str, float]:
        """The scale that each belief alone needs."""
        return self.selection.scale_per_belief

    @property
    def binding_belief(self) -> str:
        """The belief that needs the largest scale."""
        return self.selection.binding_belief

    @property
    def worst_pair(self) -> Pair:
        """The pair of secrets with the largest loss under the binding belief."""
        return self.selection.worst_pair

    @property
    def verified(self) -> Mapping[str, Verification]:
        """What the engine measured at the scale, per belief."""
        return self.selection.verified

    @property
    def priors(self) -> Mapping[Secret, Prior]:
        """Prior per secret that the theorem assumes."""
        return self.selection.priors

    @property
    def beliefs(self) -> Mapping[str, Mapping[Secret, Prior]]:
        """Priors per secret, per belief that the guarantee covers."""
        return self.selection.beliefs

    @property
    def rows(self) -> int:
        """Rows of the frame it was made from, complete ones."""
        return sum(self.rows_per_secret.values())

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean absolute noise per released column, in its units."""
        return {name: self._error(scale) for name, scale in self.scales.items()}

    def _error(self, scale: float) -> float:
        return self.noise.at(scale).expected_absolute_error if scale else 0.0

    def release(
        self,
        frame: NativeFrame,
        /,
        *,
        keep: Name | Iterable[Name] = (),
        index: str | None = None,
        shuffle: bool = False,
        clip: BoundsArgument = None,
        round: bool = False,  # noqa: A002
        rng: RandomSource = None,
        allow_other_frame: bool = False,
        row_id: Name | None = None,
    ) -> NativeFrame:
        """Draw noise once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas, Polars or Spark frame
            The one that the calibration was made from, with its rows in any order.
        keep, index, shuffle, clip, round, rng, row_id
            As in `puffer_frames.privatize`.
        allow_other_frame : bool
            Release a frame with other rows than those calibrated on; the guarantee is then under the beliefs
            learned from the first frame.

        Raises
        ------
        CalibrationError
            Where the frame is another one than that of the calibration.
        ArgumentError, ArgumentTypeError, ColumnNotFoundError, PriorError
            As `puffer_frames.privatize`.
        """
        check_flag(shuffle, "shuffle")
        check_flag(round, "round")
        check_flag(allow_other_frame, "allow_other_frame")
        table = open_table(frame)
        kept, numbered = as_names(keep, frame, role="keep"), as_row_id(row_id, frame)
        roles = Roles(secret=self.secret, public=self.public, keep=kept, row_id=numbered)
        layout = Layout(index=index, shuffle=shuffle)
        rows = table.complete(roles, nulls=self.nulls, layout=layout)
        summaries = rows.summaries(self.domain)
        same = "".join(summary.checksum() for summary in summaries.values()) == self.checksum
        if not same and not allow_other_frame:
            raise CalibrationError(
                "the frame",
                rule="the one that the calibration was made from",
                got="a frame with other rows",
                hint="Calibrate this frame, or say allow_other_frame=True to use the beliefs learned from the first.",
            )
        return release_prepared(
            self,
            rows,
            rows_per_secret=summaries[self.public[0]].rows_per_secret,
            keep=kept,
            layout=layout,
            clip=clip,
            to_integers=round,
            rng=rng,
        )

    def __str__(self) -> str:
        return as_text(self._title(), self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._rows())

    def _title(self) -> str:
        delta = "pure" if self.delta == 0 else f"delta = {self.delta:g}"
        columns = f"release {_names(self.public)}, hide {_names(self.secret)}"
        return f"Plan: {columns}; epsilon = {self.epsilon:g}, {delta}"

    def _rows(self) -> Rows:
        rows = [("pairs", pairs_text(self.pairs))]
        for name, selection in self.selections.items():
            if len(self.selections) > 1:
                rows.append(("column", str(name)))
            rows += self._column_rows(selection)
        rows.append(("secrets", self._secrets_text()))
        rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
        return rows

    def _column_rows(self, selection: Selection) -> list[tuple[str, str]]:
        scale, published = selection.scale, selection.published_scale
        exact = "smallest confirmed" if self.calibration == "exact" else "published, raised where not confirmed"
        ratio = f", {published / scale:.2f} times less than published" if published and 0 < scale < published else ""
        theorem, pair = selection.theorem, selection.worst_pair
        rows = [
            ("theorem", f"{theorem.name}: {theorem.model} ({theorem.source})"),
            ("published scale", self._published_text(selection)),
            ("scale used", f"{scale:.6g} ({exact}{ratio})"),
            ("expected error", f"{self._error(scale):.6g} (mean absolute {self.noise.title} noise)"),
            ("worst pair", f"{pair[0]!r} / {pair[1]!r}, {selection.binding_belief} belief"),
        ]
        for belief, measured in selection.verified.items():
            others = [need for name, need in selection.scale_per_belief.items() if name != belief]
            binds = ", binds" if others and selection.scale_per_belief[belief] > max(others) else ""
            loss = measured_text(measured, epsilon=self.epsilon, delta=self.delta)
            verb = "needs" if self.calibration == "exact" else "confirms"
            needs = f"{verb} {selection.scale_per_belief[belief]:.6g}{binds}; verified: {loss}"
            rows.append((f"{belief} belief", needs))
        return rows

    def _published_text(self, selection: Selection) -> str:
        if selection.published_scale is None or selection.published_loss is None:
            return "none: the theorem has no condition for this noise and delta"
        refuted = is_refuted(selection.published_loss, epsilon=self.epsilon, delta=self.delta)
        loss = measured_text(selection.published_loss, epsilon=self.epsilon, delta=self.delta)
        confirmed = is_confirmed(selection.published_loss, epsilon=self.epsilon, delta=self.delta)
        verdict = "NOT private" if refuted else "sound" if confirmed else "sound up to rounding"
        laplace = self.noise.name == "laplace"
        condition = selection.theorem.condition if laplace else "for a shift by the largest distance of two priors"
        asked = f"{selection.published_scale:.6g} ({condition})"
        return f"{asked}; {verdict} under its own priors: {loss}"

    def _secrets_text(self) -> str:
        priors = next(iter(self.selections.values())).priors
        shown = list(priors.items())[:_SHOWN_SECRETS]
        names = [repr(secret) for secret, _ in shown]
        width = max(len(name) for name in names)
        lines = [f"{'':<{width}}  {'rows':>9}  {'parts':>7}  {'mean':>12}  {'std':>12}"]
        for name, (secret, prior) in zip(names, shown, strict=True):
            n = self.rows_per_secret[secret]
            lines.append(f"{name:<{width}}  {n:>9,}  {prior.means.size:>7,}  {prior.mean:>12.6g}  {prior.std:>12.6g}")
        if len(priors) > len(shown):
            lines.append(f"and {len(priors) - len(shown)} more")
        return "\n".join(lines)


def release_prepared(
    calibration: Calibration,
    table: CompleteRows,
    /,
    *,
    rows_per_secret: Mapping[Secret, int],
    keep: tuple[str, ...],
    layout: Layout,
    clip: BoundsArgument,
    to_integers: bool,
    rng: RandomSource,
) -> NativeFrame:
    """Release rows that have been checked against the calibration."""
    bounds = check_bounds(clip, role="clip", columns=calibration.public, finite=False)
    key = ReleaseKey.of(rng)
    if not layout.shuffle:
        share = table.run_share(list(rows_per_secret.values()))
        if share is not None and share < _CLUSTERED:
            warn(RowOrderWarning(share))
    mechanisms = {
        name: Mechanism(
            column=name,
            family=calibration.noise,
            scale=scale,
            key=key,
            domain=calibration.domain.get(name),
            bounds=bounds.get(name),
            to_integers=to_integers,
        )
        for name, scale in calibration.scales.items()
    }
    released = table.release(mechanisms)
    certificate = Certificate(
        subject=f"{_names(calibration.secret)} of each record, {pairs_text(calibration.pairs)}",
        answers=False,
        epsilon=calibration.epsilon,
        delta=calibration.delta,
        secret=calibration.secret,
        public=calibration.public,
        kept=keep,
        pairs=calibration.pairs,
        beliefs=tuple(dict.fromkeys(b for selection in calibration.selections.values() for b in selection.beliefs)),
        theorem=calibration.theorem,
        source=next(iter(calibration.selections.values())).theorem.source,
        published_scales={name: s.published_scale for name, s in calibration.selections.items()},
        calibration=calibration.calibration,
        noise=calibration.noise.title,
        scales=calibration.scales,
        expected_error=calibration.expected_error,
        verified={name: dict(s.verified) for name, s in calibration.selections.items()},
        adds_up=all(selection.adds_up for selection in calibration.selections.values()),
        assumptions=_assumptions(calibration, keep=keep, done=in_words(bounds, to_integers=to_integers)),
        reproducible=rng is not None,
        rows=released.rows,
        version=__version__,
        fingerprint=released.fingerprint,
    )
    return certificate.attach(released.frame)


def _assumptions(calibration: Calibration, *, keep: tuple[str, ...], done: str) -> tuple[str, ...]:
    adds_up = all(selection.adds_up for selection in calibration.selections.values())
    statements = [
        "records are independent of one another; the guarantee is per record, a unit of several rows has less",
        f"the adversary's prior of each secret is {_beliefs_text(calibration)}; that it was learned from the table, "
        "and that the scale is published, is outside the guarantee",
        *([calibration.noise.on_grid] if any(calibration.scales.values()) else []),
        f"several releases of the same values: their epsilons{' and deltas' * (calibration.delta > 0)} add"
        if adds_up
        else "one release: a second release of the same values is outside the guarantee",
    ]
    if len(calibration.public) > 1:
        statements.append(
            "the columns together have the guarantee, by the bounded-column rule; the engine has confirmed each column "
            "for its share of epsilon, and guarantees of single columns do not add up to that of all"
        )
    if any(prior.radius for s in calibration.selections.values() for b in s.beliefs.values() for prior in b.values()):
        statements.append(
            "values were counted in cells, whose width the scale pays for: the guarantee is under the exact frequencies"
        )
    if calibration.domain:
        ends = "; ".join(f"{name} to [{low:g}, {high:g}]" for name, (low, high) in calibration.domain.items())
        statements.append(f"values were clipped before the noise: {ends}")
    if calibration.nulls == "drop":
        statements.append("rows with a missing value may have been left out; that a value is missing is not protected")
    if done:
        statements.append(f"after the noise, which costs nothing: {done}")
    if calibration.pairs != "all":
        statements.append("only the listed pairs are protected; records with another secret have no guarantee")
    if all(selection.none_needed for selection in calibration.selections.values()):
        statements.append("no noise was needed: the values as they are have this guarantee, and nothing beyond it")
    if keep:
        statements.append(f"released as they were, outside the guarantee: {_names(keep)}")
    return tuple(statements)


def _beliefs_text(calibration: Calibration) -> str:
    """The beliefs in words."""
    words = {"empirical": "the observed frequencies"}
    found = {}
    for selection in calibration.selections.values():
        words["fitted"] = f"the fitted model ({selection.theorem.model})"
        for belief in selection.beliefs:
            side = belief if belief.startswith("any") else f"side knowledge ({belief})"
            found[belief] = words.get(belief, side)
    return " or ".join(found.values())


def _names(names: Iterable[str]) -> str:
    return ", ".join(names)
