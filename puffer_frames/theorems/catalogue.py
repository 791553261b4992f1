"""The published theorems by the names that users give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.family import LAPLACE, Family
from puffer_frames.pairs import Pairs
from puffer_frames.priors import Prior, Secret
from puffer_frames.rounding import subtract_up, up
from puffer_frames.theorems.bernoulli import bernoulli_scale
from puffer_frames.theorems.bounded import bounded_scales
from puffer_frames.theorems.gaussian import gaussian_scale, translation_scale
from puffer_frames.theorems.kantorovich import kantorovich_scale
from puffer_frames.theorems.mixture import mixture_scale


class PublishedScale(Protocol):
    """A published condition, solved for the scale; None where the condition does not exist."""

    def __call__(
        self, priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs
    ) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A published sufficient condition and what there is to say of it."""

    name: str
    """The argument `theorem`."""
    source: str
    """Paper key and number."""
    condition: str
    """The scale it asks for, in words."""
    model: str
    """The priors that it assumes, in words."""
    scale: PublishedScale
    """The function that computes it."""
    discrete: bool
    """True where its priors are the observed frequencies, with no model."""
    coupled: bool
    """True where it rests on a coupling within a distance, so that it holds for every noise (theory section 4)."""

    def scale_for(
        self, priors: Mapping[Secret, Prior], /, *, family: Family, epsilon: float, delta: float, pairs: Pairs
    ) -> float | None:
        """The scale that it asks for of a noise; None where it has no condition."""
        if family == LAPLACE:
            return self.scale(priors, epsilon=epsilon, delta=delta, pairs=pairs)
        if not self.coupled:
            return None
        distance = self.scale(priors, epsilon=1.0, delta=delta, pairs=pairs)
        return (
            None if distance is None else up(Fraction(distance) * Fraction(family.unit(epsilon=epsilon, delta=delta)))
        )


def _kantorovich(priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs) -> float:
    del delta  # pure privacy is (epsilon, delta)-privacy for every delta
    return kantorovich_scale(priors, epsilon=epsilon, pairs=pairs)


def _bernoulli(priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs) -> float:
    del delta
    return bernoulli_scale(priors, epsilon=epsilon, pairs=pairs)


def _translation(priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs) -> float:
    del delta
    return translation_scale(priors, epsilon=epsilon, pairs=pairs)


def _mixture(priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs) -> float | None:
    return mixture_scale(priors, epsilon=epsilon, delta=delta, pairs=pairs) if delta else None


def _bounded(priors: Mapping[Secret, Prior], /, *, epsilon: float, delta: float, pairs: Pairs) -> float:
    del delta, pairs
    ends = [(float(prior.means[0]), float(prior.means[-1])) for prior in priors.values()]
    width = subtract_up(max(high for _, high in ends), min(low for low, _ in ends))
    return bounded_scales({0: width}, epsilon=epsilon)[0]


KANTOROVICH = Theorem(
    name="kantorovich",
    source="[SWC17] section 3, [D22], [DLYZ] Prop. 2",
    condition="largest W-infinity distance / epsilon",
    model="the observed frequencies of each secret",
    scale=_kantorovich,
    discrete=True,
    coupled=True,
)
BERNOULLI = Theorem(
    name="bernoulli",
    source="[DLYZ] Lemma 5",
    condition="distance of the two values / epsilon",
    model="the observed frequencies of each secret",
    scale=_bernoulli,
    discrete=True,
    coupled=True,
)
TRANSLATION = Theorem(
    name="translation",
    source="[D24] Remark 1",
    condition="largest difference of means / epsilon",
    model="a Gaussian per secret, one variance for all",
    scale=_translation,
    discrete=False,
    coupled=True,
)
GAUSSIAN = Theorem(
    name="gaussian",
    source="[D24] Theorem 1; at delta 0 its pure form, E exp(|Z|/b) = e^epsilon",
    condition="from differences of means and of standard deviations",
    model="a Gaussian per secret",
    scale=gaussian_scale,
    discrete=False,
    coupled=False,
)
MIXTURE = Theorem(
    name="gmm",
    source="[D24] Theorem 2",
    condition="mean component distance under the optimal W2 plan / epsilon",
    model="a Gaussian mixture per secret",
    scale=_mixture,
    discrete=False,
    coupled=False,
)
BOUNDED = Theorem(
    name="bounded",
    source="sum of |X - X'| / b over the columns, any coupling",
    condition="number of columns x range / epsilon",
    model="values within the range, jointly whatever they are",
    scale=_bounded,
    discrete=True,
    coupled=True,
)

THEOREMS: Mapping[str, Theorem] = {t.name: t for t in (TRANSLATION, GAUSSIAN, MIXTURE, KANTOROVICH, BERNOULLI, BOUNDED)}


def check_theorem(name: str, /, *, family: Family = LAPLACE) -> str:
    """Return the name of a theorem or "auto"; raise ArgumentError for another, or one that this noise has not."""
    if name not in ("auto", *THEOREMS):
        known = ", ".join(f'"{known}"' for known in ("auto", *THEOREMS))
        raise ArgumentError("theorem", rule=f"one of {known}", got=repr(name), hint='Leave it out for "auto".')
    if family.alpha is not None and name != "auto" and not THEOREMS[name].coupled:
        known = ", ".join(f'"{known}"' for known, theorem in THEOREMS.items() if theorem.coupled)
        raise ArgumentError(
            "theorem",
            rule=f'"auto" or one of a coupling within a distance ({known}) with stable noise',
            got=repr(name),
            hint='Use theorem="kantorovich".',
        )
    return name
