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
from puffer_frames.presentation import Rows, as_html, as_text, bracket_text, pairs_text
from puffer_frames.priors import Prior, Secret

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
    theorem: str
    """The theorem that proposed a scale."""
    source: str
    """Paper and number of the theorem."""
    condition: str
    """What the theorem asks for, in words."""
    calibration: str
    """"exact" or "theorem"."""
    published_scale: float
    """Scale that the theorem asks for, in units of the column."""
    scales: Mapping[str, float]
    """Laplace scale per released column, in its units."""
    beliefs: Mapping[str, Mapping[Secret, Prior]]
    """Priors per secret, per belief."""
    binding_belief: str
    """The belief that needs the largest scale."""
    worst_pair: Pair
    """The pair of secrets with the largest loss under the binding belief."""
    verified: Mapping[str, Verification]
    """What the engine measured at the scale, per belief."""
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
    def priors(self) -> Mapping[Secret, Prior]:
        """Prior per secret under the belief that the theorem assumes."""
        return next(iter(self.beliefs.values()))

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
        published = f"{self.published_scale:.6g} = {self.condition} ({self.theorem}: {self.source})"
        exact = "smallest confirmed" if self.calibration == "exact" else "published, confirmed by the exact engine"
        ratio = ""
        if 0 < scale < self.published_scale:
            ratio = f", {self.published_scale / scale:.2f} times less than published"
        rows = [
            ("pairs", pairs_text(self.pairs)),
            ("published scale", published),
            ("scale used", f"{scale:.6g} ({exact}{ratio})"),
            ("expected error", f"{max(self.expected_error.values()):.6g} (mean absolute noise)"),
            ("worst pair", f"{self.worst_pair[0]!r} / {self.worst_pair[1]!r}, {self.binding_belief} belief"),
        ]
        for belief, measured in self.verified.items():
            pure, stick = measured.pure_loss, measured.hockey_stick
            rows.append(("verified", f"{belief} belief: pure loss {bracket_text(pure.lower, pure.upper)}"))
            rows.append(("", f"delta at epsilon {self.epsilon:g}: {bracket_text(stick.lower, stick.upper)}"))
        rows.append(("secrets", self._secrets_text()))
        rows.append(("keep private", "this plan holds exact statistics of every secret; publish the certificate only"))
        return rows

    def _secrets_text(self) -> str:
        shown = list(self.priors.items())[:_SHOWN_SECRETS]
        names = [repr(secret) for secret, _ in shown]
        width = max(len(name) for name in names)
        lines = [f"{'':<{width}}  {'rows':>9}  {'values':>7}  {'mean':>12}  {'std':>12}"]
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
        source=calibration.source,
        published_scale=calibration.published_scale,
        calibration=calibration.calibration,
        noise="Laplace",
        scales=calibration.scales,
        expected_error=calibration.expected_error,
        verified=calibration.verified,
        adds_up=_adds_up(calibration),
        assumptions=_assumptions(calibration, keep=keep),
        reproducible=rng is not None,
        rows=len(frame),
        version=__version__,
        fingerprint=fingerprint(released),
    )
    return certificate.attach(released)


def _adds_up(calibration: Calibration) -> bool:
    """Whether the scale rests on an almost-sure coupling (theory section 9)."""
    return min(calibration.scales.values()) >= calibration.published_scale


def _assumptions(calibration: Calibration, *, keep: tuple[str, ...]) -> tuple[str, ...]:
    statements = [
        "records are independent of one another; the guarantee is per record, a unit of several rows has less",
        "the adversary's prior of each secret is the one that the table shows; that it was learned from the table, "
        "and that the scale is published, is outside the guarantee",
        "the noise is ideal Laplace noise; its 64-bit floats leave traces in the lowest bits",
    ]
    if _adds_up(calibration):
        statements.append("several releases of the same values: their epsilons add")
    else:
        statements.append("one release: a second release of the same values is outside the guarantee")
    if keep:
        statements.append(f"released as they were, outside the guarantee: {', '.join(keep)}")
    return tuple(statements)
