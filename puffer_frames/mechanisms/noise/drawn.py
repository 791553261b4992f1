"""What pictures need of a plan, and the curves that they draw: plain numbers, no axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import logsumexp

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.columns import NativeFrame
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.priors.prior import FloatArray, Prior, Secret
from puffer_frames.scales.choice import Choice

POINTS = 601
REACH = 4.0
"""So many scales beyond the values the noisy ones are drawn."""


class Planned(Protocol):
    """A plan of any kind."""

    @property
    def epsilon(self) -> float:
        """Privacy parameter epsilon."""

    @property
    def delta(self) -> float:
        """Privacy parameter delta."""

    @property
    def public(self) -> tuple[str, ...]:
        """Names of the columns to release."""

    @property
    def secret(self) -> tuple[str, ...]:
        """Names of the secret columns."""

    @property
    def channels(self) -> Mapping[str, Any]:
        """The channel of each column that has one."""

    @property
    def fitted(self) -> Any:
        """What the mechanism found."""

    @property
    def expected_error(self) -> Mapping[str, float]:
        """Mean absolute error per column."""

    def curve(self, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
        """Scale and error against epsilon."""

    def privacy_profile(self, epsilons: Iterable[float] | None = None, /) -> NativeFrame:
        """Delta against epsilon."""


class NoisePlan(Planned, Protocol):
    """A plan of noise."""

    @property
    def choices(self) -> Mapping[str, Choice]:
        """The scale and why, per column."""

    @property
    def noise(self) -> NoiseFamily:
        """The family of the noise."""

    @property
    def scales(self) -> Mapping[str, float]:
        """Scale per column of numbers."""

    def robustness(self) -> NativeFrame:
        """What each belief loses at the scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyColumn:
    """A column of numbers of a plan of noise."""

    name: str
    laws: Mapping[Secret, Prior]
    """The observed frequencies of each secret."""
    noise: NoiseFamily | None
    """With its scale; None for none."""
    worst: tuple[Secret, Secret]
    """The pair of secrets with the largest loss."""

    @classmethod
    def of(cls, plan: NoisePlan, column: str | None, /) -> NoisyColumn:
        """Raises ArgumentError for a plan without such a column, and for one from which the frequencies are missing."""
        names: list[str] = list(getattr(plan, "scales", {}))
        name = column if column is not None else next(iter(names), "")
        if name not in names:
            listed = f": {', '.join(names)}" if names else ""
            raise ArgumentError(
                "column",
                rule=f"a column of numbers that the plan releases with noise{listed}",
                got=repr(name) if name else "none",
                hint="Name one of these." if names else "Draw pictures.channel(plan) for a channel.",
            )
        choice, scale = plan.choices[name], plan.scales[name]
        laws = choice.empirical
        if not laws:
            raise ArgumentError(
                "the plan", rule="one that knows its table", got="one without frequencies", hint="Calibrate the table."
            )
        known = list(laws)
        worst = choice.worst_pair if set(choice.worst_pair) <= set(known) else (known[0], known[-1])
        return cls(name=name, laws=laws, noise=plan.noise.at(scale) if scale else None, worst=worst)

    @property
    def extent(self) -> tuple[float, float]:
        """Ends of the values."""
        return (
            min(float(law.means[0]) for law in self.laws.values()),
            max(float(law.means[-1]) for law in self.laws.values()),
        )

    @property
    def released(self) -> FloatArray:
        """Values that may be released, for the x axis."""
        low, high = self.extent
        reach = 0.0 if self.noise is None else REACH * self.noise.scale
        return np.linspace(low - reach, high + reach, POINTS)

    def shown(self, most: int, /) -> list[Secret]:
        """The secrets of the worst pair first, then the others in their order."""
        others = [secret for secret in self.laws if secret not in self.worst]
        return [*dict.fromkeys(self.worst), *others][:most]

    def log_density(self, secret: Secret, y: FloatArray, /) -> FloatArray:
        """Log of the density of the noisy value given a secret."""
        assert self.noise is not None
        law = self.laws[secret]
        with np.errstate(divide="ignore"):
            weights = np.log(law.weights)
        found: FloatArray = np.empty(y.size)
        for part in np.array_split(np.arange(y.size), max(1, y.size * law.means.size // 2_000_000)):
            found[part] = logsumexp(weights + self.noise.log_density(y[part, None] - law.means), axis=1)
        return found

    def shares(self, secret: Secret, edges: FloatArray, /) -> FloatArray:
        """Share of the values of a secret in each bin."""
        law = self.laws[secret]
        found, _ = np.histogram(law.means, bins=edges, weights=law.weights)
        return found


def coupling(p: Prior, q: Prior, /) -> FloatArray:
    """The monotone coupling of two discrete laws, shape (atoms of p, atoms of q): its largest step is the least."""
    ends_p, ends_q = np.cumsum(p.weights), np.cumsum(q.weights)
    starts_p, starts_q = ends_p - p.weights, ends_q - q.weights
    overlap = np.minimum(ends_p[:, None], ends_q) - np.maximum(starts_p[:, None], starts_q)
    return overlap.clip(0.0)


def coarse(values: FloatArray, most: int, /) -> FloatArray:
    """Edges of bins for so many values at most: a bin for each where they are few."""
    atoms = np.unique(values)
    if atoms.size == 1:
        return np.array([atoms[0] - 0.5, atoms[0] + 0.5])
    if atoms.size <= most:
        middle = 0.5 * (atoms[1:] + atoms[:-1])
        return np.concatenate([[2 * atoms[0] - middle[0]], middle, [2 * atoms[-1] - middle[-1]]])
    return np.linspace(atoms[0], atoms[-1], most + 1)


def columns_of(rows: Sequence[Mapping[str, Any]], names: Sequence[str], /) -> dict[str, FloatArray]:
    """Columns of numbers of the rows of a small frame; None is not a number."""
    return {name: np.array([np.nan if row[name] is None else row[name] for row in rows], dtype=float) for name in names}
