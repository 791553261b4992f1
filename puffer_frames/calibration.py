"""A calibration: which theorem, which scale, what was verified, and the release that it allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from puffer_frames._version import __version__
from puffer_frames.certificate import Certificate
from puffer_frames.errors import ArgumentError, CalibrationError
from puffer_frames.frames.attach import fingerprint
from puffer_frames.frames.columns import Frame, NativeFrame, as_names, check_dtypes, check_names, open_frame
from puffer_frames.frames.summary import summarise
from puffer_frames.frames.write import build_release, check_index, float_values
from puffer_frames.loss.outcome import Verification
from puffer_frames.noise.laplace import RandomSource, add_laplace, check_rng, expected_absolute_error
from puffer_frames.pairs import Pair, Pairs
from puffer_frames.presentation import Rows, as_html, as_text, measured_text, pairs_text
from puffer_frames.priors import Prior, Secret
from puffer_frames.selection import Selection, is_refuted
from puffer_frames.theorems.catalogue import Theorem

_SHOWN_SECRETS = 12


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
    published: Theorem
    """The theorem, and what there is to say of it."""
    calibration: str
    """"exact" or "theorem"."""
    selection: Selection
    """The scale and why; its parts are attributes of the calibration too."""
    scales: Mapping[str, float]
    """Laplace scale per released column, in its units."""
    priors: Mapping[Secret, Prior]
    """Prior per secret that the theorem assumes."""
    beliefs: Mapping[str, Mapping[Secret, Prior]]
    """Priors per secret, per belief that the guarantee covers."""
    rows: int
    """Rows of the frame it was made from."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret."""
    checksum: str
    """SHA-256 of the counts it was made from."""

    @property
    def scale(self) -> float:
        """The scale, where one column is released.

        Raises
        ------
        ArgumentError
            Where there are several: use `scales`.
        """
        if len(self.scales) > 1:
            raise ArgumentError(
                "the number of public columns",
                rule="one for the attribute scale",
                got=str(len(self.scales)),
                hint="Use the mapping scales.",
            )
        return next(iter(self.scales.values()))

    @property
    def theorem(self) -> str:
        """Name of the theorem."""
        return self.published.name

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
    def expected_error(self) -> Mapping[str, float]:
        """Mean absolute noise per released column, in its units."""
        return {name: expected_absolute_error(scale) for name, scale in self.scales.items()}

    def release(
        self,
        frame: NativeFrame,
        /,
        *,
        keep: str | Sequence[str] = (),
        index: str | None = None,
        rng: RandomSource = None,
        allow_other_frame: bool = False,
    ) -> NativeFrame:
        """Draw noise once and return the released frame with its certificate attached.

        Parameters
        ----------
        frame : pandas or Polars frame
            The one that the calibration was made from.
        keep : str or sequence of str
            Further columns to release as they are, outside the guarantee.
        index : None, "keep" or "drop"
            What to do with a pandas index other than 0, 1, ..., n - 1.
        rng : None, int or Generator
            None for fresh noise. A seed makes the noise reproducible, hence not private.
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
        opened = open_frame(frame)
        check_names(opened, secret=self.secret, public=self.public, keep=as_names(keep))
        check_dtypes(opened, secret=self.secret, public=self.public[0])
        summary = summarise(opened, secret=self.secret, public=self.public[0])
        if summary.checksum() != self.checksum and not allow_other_frame:
            raise CalibrationError(
                "the frame",
                rule="the one that the calibration was made from",
                got="a frame with other rows",
                hint="Calibrate this frame, or say allow_other_frame=True to use the beliefs learned from the first.",
            )
        return release_checked(self, opened, keep=as_names(keep), index=index, rng=rng)

    def __str__(self) -> str:
        return as_text(self._title(), self._rows())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._rows())

    def _title(self) -> str:
        delta = "pure" if self.delta == 0 else f"delta = {self.delta:g}"
        columns = f"release {', '.join(self.public)}, hide {', '.join(self.secret)}"
        return f"Plan: {columns}; epsilon = {self.epsilon:g}, {delta}"

    def _rows(self) -> Rows:
        scale = max(self.scales.values())
        exact = "smallest confirmed" if self.calibration == "exact" else "published, raised where not confirmed"
        ratio = ""
        if self.published_scale and 0 < scale < self.published_scale:
            ratio = f", {self.published_scale / scale:.2f} times less than published"
        rows = [
            ("pairs", pairs_text(self.pairs)),
            ("theorem", f"{self.theorem}: {self.published.model} ({self.published.source})"),
            ("published scale", self._published_text()),
            ("scale used", f"{scale:.6g} ({exact}{ratio})"),
            ("expected error", f"{max(self.expected_error.values()):.6g} (mean absolute noise)"),
            ("worst pair", f"{self.worst_pair[0]!r} / {self.worst_pair[1]!r}, {self.binding_belief} belief"),
        ]
        for belief, measured in self.verified.items():
            binds = ", binds" if belief == self.binding_belief and len(self.verified) > 1 else ""
            loss = measured_text(measured, epsilon=self.epsilon, delta=self.delta)
            rows.append((f"{belief} belief", f"needs {self.scale_per_belief[belief]:.6g}{binds}; verified: {loss}"))
        rows.append(("secrets", self._secrets_text()))
        rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
        return rows

    def _published_text(self) -> str:
        if self.published_scale is None or self.published_loss is None:
            return "none: the theorem has no condition at delta 0"
        refuted = is_refuted(self.published_loss, epsilon=self.epsilon, delta=self.delta)
        loss = measured_text(self.published_loss, epsilon=self.epsilon, delta=self.delta)
        verdict = "NOT private" if refuted else "sound"
        return f"{self.published_scale:.6g} ({self.published.condition}); {verdict} under its own priors: {loss}"

    def _secrets_text(self) -> str:
        shown = list(self.priors.items())[:_SHOWN_SECRETS]
        names = [repr(secret) for secret, _ in shown]
        width = max(len(name) for name in names)
        lines = [f"{'':<{width}}  {'rows':>9}  {'parts':>7}  {'mean':>12}  {'std':>12}"]
        for name, (secret, prior) in zip(names, shown, strict=True):
            n = self.rows_per_secret[secret]
            lines.append(f"{name:<{width}}  {n:>9,}  {prior.means.size:>7,}  {prior.mean:>12.6g}  {prior.std:>12.6g}")
        if len(self.priors) > len(shown):
            lines.append(f"and {len(self.priors) - len(shown)} more")
        return "\n".join(lines)


def release_checked(
    calibration: Calibration, frame: Frame, /, *, keep: tuple[str, ...], index: str | None, rng: RandomSource
) -> NativeFrame:
    """Release a frame whose columns have been checked against the calibration."""
    check_index(frame, index)
    generator = check_rng(rng)
    noisy = {
        name: add_laplace(float_values(frame, name), scale=scale, rng=generator)
        for name, scale in calibration.scales.items()
    }
    released = build_release(frame, columns=noisy, keep=keep, index=index)
    certificate = Certificate(
        epsilon=calibration.epsilon,
        delta=calibration.delta,
        secret=calibration.secret,
        public=calibration.public,
        kept=keep,
        pairs=calibration.pairs,
        beliefs=tuple(calibration.beliefs),
        theorem=calibration.theorem,
        source=calibration.published.source,
        published_scale=calibration.published_scale,
        calibration=calibration.calibration,
        noise="Laplace",
        scales=calibration.scales,
        expected_error=calibration.expected_error,
        verified=calibration.verified,
        adds_up=calibration.selection.adds_up,
        assumptions=_assumptions(calibration, keep=keep),
        reproducible=rng is not None,
        rows=len(frame),
        version=__version__,
        fingerprint=fingerprint(released),
    )
    return certificate.attach(released)


def _assumptions(calibration: Calibration, *, keep: tuple[str, ...]) -> tuple[str, ...]:
    statements = [
        "records are independent of one another; the guarantee is per record, a unit of several rows has less",
        f"the adversary's prior of each secret is {_beliefs_text(calibration)}; that it was learned from the table, "
        "and that the scale is published, is outside the guarantee",
        "the noise is ideal Laplace noise; its 64-bit floats leave traces in the lowest bits",
    ]
    if calibration.selection.adds_up:
        statements.append("several releases of the same values: their epsilons add")
    else:
        statements.append("one release: a second release of the same values is outside the guarantee")
    if keep:
        statements.append(f"released as they were, outside the guarantee: {', '.join(keep)}")
    return tuple(statements)


def _beliefs_text(calibration: Calibration) -> str:
    """The beliefs in words."""
    words = []
    for belief in calibration.beliefs:
        if belief == "empirical":
            words.append("the observed frequencies")
        elif belief == "fitted":
            words.append(f"the fitted model ({calibration.published.model})")
        else:
            words.append(f"side knowledge ({belief})")
    return " or ".join(words)
