"""A checked request for a release: from summaries of the table to a calibration, without seeing a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from puffer_frames.arguments import check_delta, check_epsilon, check_flag
from puffer_frames.beliefs import Belief, check_components, learn, name_beliefs
from puffer_frames.calibration import Calibration
from puffer_frames.frames.columns import Name
from puffer_frames.frames.summary import Summary
from puffer_frames.joint import check_joint, select_bounded
from puffer_frames.noise.family import Family, noise_family
from puffer_frames.pairs import check_pairs
from puffer_frames.postprocessing import Bounds, check_bounds
from puffer_frames.priors import Secret
from puffer_frames.selection import check_calibration, select_scale
from puffer_frames.theorems.catalogue import check_theorem


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What `privatize` and `calibrate` are asked for, apart from the frame. Make one with `of`."""

    secret: tuple[str, ...]
    """Names of the secret columns."""
    public: tuple[str, ...]
    """Names of the columns to release."""
    epsilon: float
    """Privacy parameter epsilon."""
    delta: float
    """Privacy parameter delta."""
    pairs: str | Iterable[Sequence[Secret]]
    """"all", or pairs of secrets, checked against the secrets of the table."""
    theorem: str
    """Name of the theorem, or "auto"."""
    calibration: str
    """"exact" or "theorem"."""
    family: Family
    """Noise family."""
    beliefs: str | Belief | Iterable[str | Belief]
    """The adversaries."""
    components: int | None
    """Number of components of a mixture; None for BIC."""
    nulls: str
    """"raise" or "drop"."""
    domain: Mapping[str, Bounds]
    """Public bounds of public columns."""
    allow_zero_noise: bool
    """Whether a release without noise is allowed."""

    @classmethod
    def of(
        cls,
        *,
        secret: tuple[str, ...],
        public: tuple[str, ...],
        epsilon: float,
        delta: float,
        pairs: str | Iterable[Sequence[Secret]],
        theorem: str,
        calibration: str,
        noise: str,
        alpha: float | None,
        beliefs: str | Belief | Iterable[str | Belief],
        components: int | None,
        nulls: str,
        domain: Mapping[Name, Sequence[float]] | None,
        allow_zero_noise: bool,
    ) -> Request:
        """Check what can be checked before a row is read.

        Raises
        ------
        ArgumentError, ArgumentTypeError
            For an argument out of range.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        family = noise_family(noise, alpha=alpha)
        family.check(epsilon=epsilon, delta=delta)
        check_theorem(theorem, family=family)
        check_calibration(calibration)
        check_flag(allow_zero_noise, "allow_zero_noise")
        return cls(
            secret=secret,
            public=public,
            epsilon=epsilon,
            delta=delta,
            pairs=pairs,
            theorem=theorem,
            calibration=calibration,
            family=family,
            beliefs=beliefs,
            components=check_components(components, theorem=theorem),
            nulls=nulls,
            domain=check_bounds(domain, role="domain", columns=public, finite=True),
            allow_zero_noise=allow_zero_noise,
        )

    def plan(self, summaries: Mapping[str, Summary], /) -> Calibration:
        """The calibration for a table with these summaries, one per public column.

        Raises
        ------
        ArgumentError, ArgumentTypeError, PriorError, CalibrationError
            As `puffer_frames.calibrate`.
        """
        first = summaries[self.public[0]]
        checked = check_pairs(self.pairs, list(first.counts))
        named = list(first.counts) if checked == "all" else list(dict.fromkeys(s for pair in checked for s in pair))
        counts = {c: {label: summary.counts[label] for label in named} for c, summary in summaries.items()}
        calibration = self.calibration
        if len(self.public) > 1:
            check_joint(theorem=self.theorem, components=self.components, beliefs=self.beliefs)
            calibration = "theorem"
            selections = select_bounded(
                counts,
                domain=self.domain,
                radius={c: summary.radius for c, summary in summaries.items()},
                epsilon=self.epsilon,
                delta=self.delta,
                pairs=checked,
                allow_zero_noise=self.allow_zero_noise,
                family=self.family,
            )
        else:
            chosen, fitted, empirical = learn(
                counts[self.public[0]],
                theorem=self.theorem,
                components=self.components,
                coupled=self.family.alpha is not None,
                radius=first.radius,
            )
            covered = name_beliefs(self.beliefs, fitted=fitted, empirical=empirical, secrets=named)
            selections = {
                self.public[0]: select_scale(
                    covered,
                    theorem=chosen,
                    assumed=fitted,
                    epsilon=self.epsilon,
                    delta=self.delta,
                    pairs=checked,
                    calibration=calibration,
                    allow_zero_noise=self.allow_zero_noise,
                    family=self.family,
                )
            }
        return Calibration(
            epsilon=self.epsilon,
            delta=self.delta,
            secret=self.secret,
            public=self.public,
            pairs=checked,
            calibration=calibration,
            noise=self.family,
            nulls=self.nulls,
            domain=self.domain,
            selections=selections,
            rows_per_secret=first.rows_per_secret,
            checksum="".join(summary.checksum() for summary in summaries.values()),
        )
