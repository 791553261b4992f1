"""What the sentences of a release of rows depend on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from puffer_frames.certificates.facts import Facts, Joint, RowsOfUnit
from puffer_frames.errors import KeptColumnWarning, PufferWarning, RowOrderWarning
from puffer_frames.loss.outcome import excess_text
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target
from puffer_frames.numbers.presentation import rounded_up
from puffer_frames.priors.pairs import ProtectedPairs
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.choice import Choice
from puffer_frames.scales.drift import Batch
from puffer_frames.scales.joint.coupled import any_joint_loss
from puffer_frames.scales.repeats import Repeats
from puffer_frames.scales.strata import StrataChoices


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """What the sentences of a release depend on."""

    choices: Mapping[str, Choice]
    """The scale and why, per column."""
    target: Target
    noise: NoiseFamily
    pairs: ProtectedPairs
    domain: Mapping[str, Bounds]
    nulls: str
    secrets: int
    """How many secrets the plan has."""
    batch: Batch | None
    """What was measured on other rows than those that the plan was made from."""
    remapped: Sequence[str]
    """Names of the columns whose noisy values were replaced by values of the column."""
    keep: Sequence[str]
    """Names of the kept columns, and of the kept levels of an index."""
    warnings: Sequence[PufferWarning]
    """What was seen of the order of the rows and of kept columns."""
    rows_per_secret: Mapping[Secret, int]
    """Rows of each protected secret that are released."""
    unproved: Sequence[str]
    """Beliefs whose laws a plan from a file lacks."""
    done: str
    """What was done after the noise, in words."""
    seeded: bool
    """Whether the noise came from a seed."""
    responses: Mapping[str, tuple[int, float, float]]
    """Of columns of labels with randomised response the number of levels, and the least and largest share of changed
    labels in any stratum."""
    repeats: Repeats
    """How many rows of a unit and how many releases the guarantee is for."""
    unit: str
    """Name of the unit's column, or empty."""
    merged: int
    """How many strata were merged into one."""
    sampled: bool
    """Whether rows of units beyond those were left out."""
    strata: StrataChoices | None
    """The scales per stratum, where the guarantee conditions on columns."""
    shuffled: bool = False
    """Whether the rows were put into a random order."""
    refines: Sequence[str] = ()
    """Fingerprints of earlier releases with more noise."""
    order_noted: bool = True
    """Whether it is certain that the rows stood in the same order in these."""

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return sum(self.rows_per_secret.values())

    @property
    def several(self) -> bool:
        """Whether there are several columns."""
        return len(self.choices) > 1

    @property
    def joint(self) -> bool:
        """Whether the scales of several columns were found together, for whole rows."""
        return any(choice.theorem.whole_rows for choice in self.choices.values())

    @property
    def coupled(self) -> bool:
        """Whether these rest on a coupling."""
        return self.joint and all(choice.theorem.coupled for choice in self.choices.values())

    @property
    def joint_any_law(self) -> float:
        """The pure loss of a row under any law on the ranges, rounded up to two digits."""
        return rounded_up(any_joint_loss(self.choices.values()), digits=2)

    @property
    def any_law_of_rows(self) -> float | None:
        """The pure loss of a row under any law on the ranges, in any stratum, rounded up to two digits.

        None where it is not known.
        """
        if not isinstance(self.noise, Laplace) or self.repeats.shares > 1:
            return None
        listed = [self.choices]
        if self.strata is not None and not self.strata.one_scale:
            ends = {name: choice.bounds for name, choice in self.choices.items()}
            listed = [
                {name: replace(choice, bounds=ends[name]) for name, choice in choices.items()}
                for choices in self.strata.choices.values()
            ]
        copies = self.repeats.factor(self.noise) * self.repeats.measured
        return rounded_up(copies * max(any_joint_loss(choices.values()) for choices in listed), digits=2)

    @property
    def noisy(self) -> bool:
        """Whether any column has noise."""
        return any(choice.scale for choice in self.choices.values())

    @property
    def coarse(self) -> bool:
        """Whether values that take the place of noisy ones are centres of cells."""
        return any(prior.radius for name in self.remapped for prior in self.choices[name].empirical.values())

    @property
    def ranged(self) -> list[str]:
        """Columns that were clipped to the range of the table of the plan."""
        return [name for name, choice in self.choices.items() if choice.clips and name not in self.domain]

    @property
    def exceeding(self) -> Mapping[str, str]:
        """Columns that are not known to be within what was asked for under the observed frequencies, in words.

        Only side knowledge alone can lead to that: every other belief is held to what was asked for.
        """
        if self.batch is not None:
            return self.batch.exceeded
        found, target = {}, self.repeats.asked(self.target, noise=self.noise, columns=len(self.choices))
        for name, choice in self.choices.items():
            bounded = self.several and not self.joint
            if bounded or "empirical" in choice.verified or choice.observed is None:
                continue
            if not choice.observed.confirms(target):
                found[name] = excess_text(choice.observed, target)
            if self.joint:  # one loss of all columns
                break
        return found

    @property
    def stated(self) -> Facts:
        """What the certificate states as fields."""
        by_delta = any("by delta" in choice.remarks for choice in self.choices.values())
        whole: Joint = "coupled" if self.coupled else "delta" if by_delta else "exact"
        return Facts(
            seeded=self.seeded and self.noisy,
            clipped={**self.domain, **dict.fromkeys(self.ranged)},
            replaced=("cells" if self.coarse else "values") if self.remapped else None,
            processed=bool(self.done),
            joint=whole if self.joint else "rule" if self.several else None,
            other_rows=self.batch is not None,
            exceeds=bool(self.exceeding),
            unmeasured=self.batch is None and any(choice.observed is None for choice in self.choices.values()),
            rows_of_unit=cast(RowsOfUnit, self.repeats.assumed) if self.unit else None,
            sampled=self.sampled,
            dropped=self.nulls == "drop",
            shuffled=self.shuffled,
            order_tells=is_warned(self.warnings, RowOrderWarning),
            kept_tells=is_warned(self.warnings, KeptColumnWarning),
            order_assumed=bool(self.refines) and not self.order_noted,
        )


def is_warned(warnings: Sequence[PufferWarning], kind: type[PufferWarning], /) -> bool:
    """Whether there is a warning of this kind."""
    return any(isinstance(warning, kind) for warning in warnings)
