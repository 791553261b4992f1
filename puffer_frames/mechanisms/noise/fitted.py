"""Noise that was found for a request: from summaries of the table to a scale per column, without seeing a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from puffer_frames.loss.outcome import Verification
from puffer_frames.mechanisms.noise.rows_seen import RowsSeen
from puffer_frames.mechanisms.noise.strata_plan import choices_of, choose_in_strata
from puffer_frames.mechanisms.request import Request, SecretsOfPairs, lacking, lean_entry, lean_request, named_secrets
from puffer_frames.noise.channel import changed_share
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.papers.catalogue import JOINT, PUBLISHED_FOR
from puffer_frames.priors.pairs import Pairs, by_column, check_pairs, pairs_within
from puffer_frames.priors.prior import Secret
from puffer_frames.priors.summary import Level, Summary
from puffer_frames.scales.cautions import (
    warn_of_far_values,
    warn_of_few_rows,
    warn_of_marks,
    warn_of_texts,
    warn_of_weakness,
)
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.remap import Remap
from puffer_frames.scales.strata import StrataChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseFit(SecretsOfPairs):
    """What is to be released, with which noise, and why. It holds exact statistics of every secret."""

    request: Request
    pairs: Pairs
    """"all", or the protected pairs of secrets."""
    choices: Mapping[str, Choice]
    """The scale and why, per column; of strata the largest ones."""
    strata: StrataChoices | None
    """The same per stratum, where the guarantee conditions on columns."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each secret."""
    rows: int
    """Rows of the table, complete ones."""
    levels: Mapping[str, tuple[Level, ...]]
    """The levels of columns of labels, where several columns are released together."""
    remaps: Mapping[str, Remap]
    """What noisy values are replaced by, per column with noise; empty unless the request is for it."""

    @classmethod
    def of(cls, request: Request, rows: RowsSeen, /) -> Self:
        """The plan for a table of which this was seen; raises as `puffer_frames.calibrate`."""
        if rows.joint is None and len(request.public) > 1 and request.repeats.composed:  # each column has its share
            request = replace(request, repeats=replace(request.repeats, composed=False))
        counts = rows.rows_of_secrets(len(request.secret), given=request.given is not None)
        number = sum(counts.values())
        if request.apart:
            groups = by_column(counts, request.secret)
            counts = {group: sum(counts[secret] for secret in of) for group, of in groups.items()}
            pairs = pairs_within(groups)
        else:
            pairs = check_pairs(request.pairs, list(counts), nulls=request.nulls)
        named = named_secrets(pairs, counts)
        strata = None
        if request.given is None:
            choices = choices_of(request, rows.protected(request), pairs=pairs, named=named)
        else:
            choices, strata = choose_in_strata(request, rows, pairs=pairs, named=named)
        warn_of_weakness(request.target, rows=number)
        warn_of_few_rows({label: counts[label] for label in named})
        warn_of_marks(counts)
        joint = rows.joint
        levels = {} if joint is None else {joint.columns[k]: labels for k, labels in joint.labels.items()}
        for name, labels in levels.items():
            warn_of_texts(name, labels)
        for name, summary in rows.summaries.items():
            if name not in levels and name not in request.domain:
                warn_of_far_values(name, summary)
        plan = cls(
            request=request,
            pairs=pairs,
            choices=choices,
            strata=strata,
            rows_per_secret=counts,
            rows=number,
            levels=levels,
            remaps={},
        )
        return plan.remapped(rows) if request.mechanism == "remap" else plan

    def remapped(self, rows: RowsSeen, /) -> Self:
        """The same with the posterior median after the noise, for a table of which this was seen."""
        noises = {name: self.noise(scale) for name, scale in self.scales.items()}
        medians = {n: Remap.pooled(rows.summaries[n], noise) for n, noise in noises.items() if noise is not None}
        return replace(self, request=replace(self.request, mechanism="remap"), remaps=medians)

    @property
    def calibration(self) -> str:
        """How the scale was found; of several columns by the joint loss, or by the theorem of bounded columns."""
        if len(self.choices) == 1:
            return self.request.calibration
        return "exact" if any(choice.theorem.name == JOINT.name for choice in self.choices.values()) else "theorem"

    @property
    def is_joint(self) -> bool:
        """Whether the scales of several columns were found together, for whole rows."""
        return any(choice.theorem.whole_rows for choice in self.choices.values())

    @property
    def lists_some(self) -> bool:
        """Whether the pairs leave secrets out, whose rows the choices do not have."""
        return set(self.secrets) < set(self.rows_per_secret)

    @property
    def is_refinable(self) -> bool:
        """Whether its releases can be refined."""
        others = self.strata is not None or self.levels or self.remaps
        return self.request.noise == PUBLISHED_FOR and not others

    @property
    def scales(self) -> dict[str, float]:
        return {name: choice.scale for name, choice in self.choices.items() if name not in self.request.labels}

    @property
    def all_scales(self) -> dict[str, float]:
        """The same, and of columns of labels 1 / (log-ratio of the probabilities of two labels)."""
        return {name: choice.scale for name, choice in self.choices.items()}

    @property
    def changed(self) -> dict[str, float]:
        """The share of changed labels of each column of labels; of strata the largest."""
        return {name: self.changed_in_strata(name)[1] for name in self.levels}

    def changed_in_strata(self, name: str, /) -> tuple[float, float]:
        """The least and the largest share of changed labels of a column, in any stratum."""
        scales = [self.all_scales[name]]
        if self.strata is not None and not self.strata.one_scale:
            scales = [found[name] for found in self.strata.scales.values()]
        shares = [changed_share(len(self.levels[name]), scale) for scale in scales]
        return min(shares), max(shares)

    @property
    def observed(self) -> dict[str, Verification]:
        """What was measured under the observed frequencies, per column."""
        return {name: choice.observed for name, choice in self.choices.items() if choice.observed is not None}

    @property
    def summaries(self) -> dict[str, Summary]:
        """How often each value of a column of numbers occurs with each of the named secrets."""
        return {
            name: Summary(
                counts={
                    secret: (prior.means, prior.levels[0]) for secret, prior in self.choices[name].empirical.items()
                },
                radius=max(prior.radius for prior in self.choices[name].empirical.values()),
            )
            for name in self.scales
        }

    @property
    def clipped(self) -> dict[str, Bounds]:
        """Bounds to which the values of a column are clipped before the noise: public ones, or those of the table."""
        return {name: c.bounds for name, c in self.choices.items() if c.clips and c.bounds is not None}

    def noise(self, scale: float, /) -> NoiseFamily | None:
        """The noise of a scale; None for none."""
        return self.request.noise.at(scale) if scale else None

    def error_of(self, scale: float, /) -> float:
        """Mean absolute noise of a scale."""
        noise = self.noise(scale)
        return 0.0 if noise is None else noise.expected_absolute_error

    @property
    def expected_error(self) -> dict[str, float]:
        """Mean absolute error per released column, in its units: of the noise, or of what replaces the noisy values."""
        noise = {name: self.error_of(scale) for name, scale in self.scales.items()}
        if self.strata is not None:
            rows = sum(self.strata.rows.values())
            noise = {
                name: sum(self.error_of(scales[name]) * self.strata.rows[z] for z, scales in self.strata.scales.items())
                / rows
                for name in noise
            }
        return noise | {name: remap.expected_error for name, remap in self.remaps.items()}


F = TypeVar("F", bound=NoiseFit)
LAWS = "the laws of its beliefs"
"""What every plan of noise from a file lacks."""


def lean(plan: F, /) -> tuple[F, tuple[str, ...]]:
    """The plan without laws of beliefs, and what it lacks, in words.

    It keeps the observed frequencies, with which those of later rows are compared, and per belief its name, its words
    and what was measured. Of strata it keeps the scales and what was measured.
    """
    choices = {name: _lean_choice(choice) for name, choice in plan.choices.items()}
    strata = None if plan.strata is None else _lean_strata(plan.strata)
    request = lean_request(plan.request, plan.pairs)
    return replace(plan, request=request, choices=choices, strata=strata), (LAWS, *lacking(plan.request))


def whole(plan: F, /) -> F:
    """A plan from a file, with the priors of theorems that assume the observed frequencies."""
    choices = {name: replace(choice, priors=choice.priors or choice.empirical) for name, choice in plan.choices.items()}
    return replace(plan, choices=choices)


def _lean_choice(choice: Choice) -> Choice:
    same = choice.priors is choice.empirical or choice.priors == choice.empirical
    return replace(
        choice,
        priors={} if same else choice.priors,
        beliefs={name: {} for name in choice.beliefs},
        learned=tuple(lean_entry(entry) for entry in choice.learned),
    )


def _lean_strata(strata: StrataChoices) -> StrataChoices:
    return replace(
        strata,
        choices={
            z: {name: replace(_lean_choice(choice), priors={}, empirical={}) for name, choice in choices.items()}
            for z, choices in strata.choices.items()
        },
    )
