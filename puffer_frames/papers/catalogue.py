"""The published theorems by the names that users give them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.family import NoiseFamily
from puffer_frames.noise.laplace import Laplace
from puffer_frames.numbers.arguments import Target, check_word
from puffer_frames.numbers.rounding import subtract_up
from puffer_frames.papers.bernoulli import bernoulli_scale
from puffer_frames.papers.bounded import bounded_scales
from puffer_frames.papers.gaussian import coupling_scale, gaussian_scale, mixture_scale, translation_scale, ubm_scale
from puffer_frames.papers.kantorovich import kantorovich_scale, relaxed_scale
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import Prior, Secret


class PublishedScale(Protocol):
    """A published condition, solved for the scale; None where the condition does not exist."""

    def __call__(self, priors: Mapping[Secret, Prior], target: Target, /, *, pairs: Pairs) -> float | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Theorem:
    """A sufficient condition and what there is to say of it."""

    name: str
    """What a certificate calls it; of one for columns the argument `theorem`."""
    source: str
    """Paper key and number."""
    condition: str = ""
    """The scale it asks for, in words."""
    model: str = ""
    """The priors that it assumes, in words."""
    scale: PublishedScale | None = None
    """The function that computes the scale of Laplace noise, for which it is published, from priors; None where it
    rests on something else than priors."""
    discrete: bool = False
    """True where its priors are the observed frequencies, with no model."""
    coupled: bool = False
    """True where it rests on a coupling within a distance, so that it holds for every noise (docs/theory.md, section 4,
    "Any noise")."""
    whole_rows: bool = False
    """True where it is about whole rows of several columns, not about one of them."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled by its name in this module, as a plan file has it: a copy would be another theorem."""
        name = next((name for name, each in globals().items() if each is self), None)
        return name or object.__reduce_ex__(self, protocol)

    def scale_for(
        self,
        priors: Mapping[Secret, Prior],
        target: Target,
        /,
        *,
        noise: NoiseFamily,
        pairs: Pairs,
        distance: float | None = None,
    ) -> float | None:
        """The scale that it asks for of a noise; None where it has no condition. The largest W-infinity distance of
        discrete priors, or the range that is to be hidden, may be known; of an infinite range there is no condition.
        """
        if self.scale is None:
            return None
        if self.scale in (_kantorovich, _bounded) and distance is not None:
            return noise.hide(distance, target) if distance < math.inf else None
        if noise == PUBLISHED_FOR:
            return self.scale(priors, target, pairs=pairs)
        if not self.coupled:
            return None
        distance = self.scale(priors, Target(epsilon=1.0, delta=target.delta), pairs=pairs)
        return None if distance is None else noise.hide(distance, target)


PUBLISHED_FOR = Laplace()
"""The noise that the theorems are published for."""


def _pure(published: Callable[..., float], /) -> PublishedScale:
    """A condition for pure privacy, which is more than any delta."""
    return lambda priors, target, /, *, pairs: published(priors, epsilon=target.epsilon, pairs=pairs)


def _with_delta(published: Callable[..., float], /) -> PublishedScale:
    """A condition that does not exist without a delta."""

    def scale(priors: Mapping[Secret, Prior], target: Target, /, *, pairs: Pairs) -> float | None:
        return published(priors, epsilon=target.epsilon, delta=target.delta, pairs=pairs) if target.delta else None

    return scale


_kantorovich = _pure(kantorovich_scale)


def _gaussian(priors: Mapping[Secret, Prior], target: Target, /, *, pairs: Pairs) -> float:
    return gaussian_scale(priors, epsilon=target.epsilon, delta=target.delta, pairs=pairs)


def _units_gaussian(priors: Mapping[Secret, Prior], target: Target, /, *, pairs: Pairs) -> float | None:
    single = all(prior.means.size == 1 for prior in priors.values())
    return _gaussian(priors, target, pairs=pairs) if single else None


def _bounded(priors: Mapping[Secret, Prior], target: Target, /, *, pairs: Pairs) -> float:
    del pairs
    lows, highs = zip(*(prior.ends for prior in priors.values()), strict=True)
    return bounded_scales({0: subtract_up(max(highs), min(lows))}, epsilon=target.epsilon)[0]


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
    scale=_pure(bernoulli_scale),
    discrete=True,
    coupled=True,
)
TRANSLATION = Theorem(
    name="translation",
    source="[D24] Remark 1",
    condition="largest difference of means / epsilon",
    model="a Gaussian per secret, one variance for all",
    scale=_pure(translation_scale),
    coupled=True,
)
GAUSSIAN = Theorem(
    name="gaussian",
    source="[D24] Theorem 1; at delta 0 its pure form, E exp(|Z|/b) = e^epsilon",
    condition="from differences of means and of standard deviations",
    model="a Gaussian per secret",
    scale=_gaussian,
)
MIXTURE = Theorem(
    name="gmm",
    source="[D24] Theorem 2",
    condition="mean component distance under the optimal W2 plan / epsilon",
    model="a Gaussian mixture per secret",
    scale=_with_delta(mixture_scale),
)
COUPLING = Theorem(
    name="coupling",
    source="[D24] (31), (35)",
    condition="mean of [1 - e^(epsilon - distance / b)]+ over the plan at most delta",
    model="a Gaussian mixture per secret",
    scale=_with_delta(coupling_scale),
)
RELAXED = Theorem(
    name="relaxed",
    source="[D22] Theorem 2, [DLYZ] (20), in both orders",
    condition="mean of e^(distance / b) over the plan, given either end, at most e^epsilon",
    model="the observed frequencies of each secret",
    scale=_pure(relaxed_scale),
    discrete=True,
)
UBM = Theorem(
    name="ubm",
    source="[D24] Corollary 2",
    condition="mean distance of the components of one number / epsilon",
    model="a Gaussian mixture of all rows, its means adapted to each secret",
    scale=_pure(ubm_scale),
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

JOINT = Theorem(
    name="joint",
    source="docs/theory.md, section 17",
    condition="the smallest weighted sum of scales that the exact joint loss confirms",
    model="the observed frequencies of whole rows of each secret",
    discrete=True,
    whole_rows=True,
)

COUPLED = Theorem(
    name="kantorovich",
    source="docs/theory.md, section 17; of one column [SWC17] section 3, [D22]",
    condition="ratio of the column x largest W-infinity distance of whole rows in these ratios / epsilon",
    model="the observed frequencies of whole rows of each secret",
    discrete=True,
    coupled=True,
    whole_rows=True,
)

# For what one unit adds to a sum or count

REPORTED_VALUES = Theorem(name="reports", source="[DLYZ] Theorem 1", scale=_kantorovich, coupled=True)
REPORTED_ABSENCE = Theorem(name="reports", source="[DLYZ] Theorem 2", scale=_kantorovich, coupled=True)
PRESENCE = Theorem(name="presence", source="[DLYZ] Theorem 3 (13)")
LARGEST_CONTRIBUTION = Theorem(name="largest contribution", source="[DLYZ] (14)", coupled=True)
REPLACEMENT = Theorem(name="replacement", source="[DLYZ] Theorem 4", scale=_kantorovich, coupled=True)
GAUSSIAN_UNITS = Theorem(name="gaussian", source="[D24] Theorem 1; pure form", scale=_units_gaussian)

# For a state of a series

QUILT = Theorem(name="Markov quilt, exact influences", source="[SWC17] MQMExact")
QUILT_CLASS = Theorem(name="Markov quilt, influences bounded for every chain", source="docs/theory.md, section 14")
QUILT_APPROX = Theorem(name="Markov quilt, influences bounded by mixing", source="[SWC17] MQMApprox")
EXACT_COUNT = Theorem(name="exact law of one count", source="docs/theory.md, section 10")
EXACT_NETWORK = Theorem(name="exact law of the answers", source="docs/theory.md, section 10")
TRANSPORT = Theorem(name="transport along the chain", source="docs/theory.md, section 10")
GROUP = Theorem(name="group privacy of a whole piece", source="[SWC17] section 5")
WASSERSTEIN = Theorem(name="Wasserstein mechanism", source="[SWC17] section 3")
NEIGHBOURS = Theorem(name="influences of neighbours", source="[GK16], as in [SWC17]; docs/theory.md, section 10")
ENTRY = Theorem(name="one entry, as if nothing depended on it", source="[SWC17]")

MIXTURES = (MIXTURE, COUPLING, UBM)
"""Theorems whose fitted model depends on how many components are asked for."""
THEOREMS: Mapping[str, Theorem] = {
    t.name: t for t in (TRANSLATION, GAUSSIAN, MIXTURE, COUPLING, UBM, KANTOROVICH, RELAXED, BERNOULLI, BOUNDED)
}
"""The theorems for columns, by the argument `theorem`."""
MECHANISMS: Mapping[str, Theorem] = {
    "transport": TRANSPORT,
    "quilt": QUILT,
    "quilt-approx": QUILT_APPROX,
    "exact": EXACT_COUNT,
    "group": GROUP,
    "wasserstein": WASSERSTEIN,
    "gk16": NEIGHBOURS,
    "entry": ENTRY,
}
"""The mechanisms for series, by the argument `mechanism`."""
ALONE = ("transport", "exact", "wasserstein", "gk16", "entry")
"""Mechanisms whose releases do not add up."""


def check_theorem(name: str, /, *, noise: NoiseFamily = PUBLISHED_FOR) -> str:
    """Return the name of a theorem or "auto"; raise ArgumentError for another, or one that this noise has not."""
    check_word(name, "theorem", ("auto", *THEOREMS))
    if noise.coupled_only and name != "auto" and not THEOREMS[name].coupled:
        known = ", ".join(f'"{known}"' for known, theorem in THEOREMS.items() if theorem.coupled)
        raise ArgumentError(
            "theorem",
            rule=f'"auto" or one of a coupling within a distance ({known}) with {noise.name} noise',
            got=repr(name),
            hint='Use Noise(theorem="kantorovich").',
        )
    return name
