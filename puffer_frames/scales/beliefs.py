"""The adversary's beliefs: which priors a table gives, and which theorem fits them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.numbers.progress import watched
from puffer_frames.papers.catalogue import BERNOULLI, GAUSSIAN, KANTOROVICH, MIXTURE, THEOREMS, TRANSLATION, Theorem
from puffer_frames.priors.fitting import common_variance_preferred, fit_best, fit_mixture
from puffer_frames.priors.moments import group_moments
from puffer_frames.priors.prior import FloatArray, Prior, Secret, gaussian_priors, observed_priors
from puffer_frames.priors.summary import Counts

Belief: TypeAlias = Mapping[Secret, Prior]

FEW_VALUES = 256
"""Up to this many distinct values the observed frequencies are the model."""
MOST_COMPONENTS = 5
_FITS = "mixtures per secret"
MOST_ENTRIES = 1 << 23
"""Secrets times cells are about so many at most."""
ONLY = "only"
"""Beside a mapping: no other belief than the mappings."""
MANY_SECRETS = 100
"""With more secrets, "auto" takes the observed frequencies: all pairs of mixtures would take too long."""


def learn(
    counts: Mapping[Secret, Counts],
    /,
    *,
    theorem: str,
    components: int | None = None,
    coupled: bool = False,
    radius: float = 0.0,
) -> tuple[Theorem, Belief, Belief]:
    """Return the theorem, the priors that it assumes, and the observed frequencies.

    Parameters
    ----------
    counts : mapping of secret to (values, counts)
        Distinct values and how often each occurs.
    theorem : str
        A name of the catalogue, or "auto": two values, bernoulli; at most 256, or more than 100 secrets,
        kantorovich; else Gaussian mixtures
        with the number of components of the smallest BIC: translation where every secret has one and a common
        variance has the smaller BIC, gaussian where every secret has one, gmm else.
    components : int, optional
        Number of components of "gmm"; by default by BIC, up to 5.
    coupled : bool
        "auto" takes no other theorems than those of a coupling: translation or, without a model, kantorovich.
    radius : float
        How far a value may be from the one it was counted as; the observed frequencies are known up to it.
    """
    empirical = observed_belief(counts, radius=radius)
    if theorem == "auto":
        values = np.unique(np.concatenate([pair[0] for pair in counts.values()])).size
        if (values <= FEW_VALUES or len(counts) > MANY_SECRETS) and components is None:
            return (BERNOULLI if values == 2 else KANTOROVICH), empirical, empirical
        fitted = _mixtures(counts, components)
        if all(prior.means.size == 1 for prior in fitted.values()):
            same = components is None and common_variance_preferred(list(counts.values()))
            if same:
                means = np.array([prior.mean for prior in fitted.values()])
                stds = np.array([prior.std for prior in fitted.values()])
                return TRANSLATION, gaussian_priors(counts, means, _pooled(stds, counts)), empirical
        if coupled:
            return KANTOROVICH, empirical, empirical
        simple = all(prior.means.size == 1 for prior in fitted.values())
        return GAUSSIAN if simple else MIXTURE, fitted, empirical
    chosen = THEOREMS[theorem]
    if chosen.discrete:
        return chosen, empirical, empirical
    if chosen is MIXTURE:
        return chosen, _mixtures(counts, components), empirical
    means, stds = group_moments(list(counts.values()))
    return chosen, gaussian_priors(counts, means, _pooled(stds, counts) if chosen is TRANSLATION else stds), empirical


def observed_belief(counts: Mapping[Secret, Counts], /, *, radius: float) -> Belief:
    """The observed frequencies of each secret, known up to a radius."""
    coarse, wider = _merged(counts, radius=radius)
    return observed_priors(coarse, radius=wider)


def _merged(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[Mapping[Secret, Counts], float]:
    """Values that were counted in cells, in wider ones where there are many secrets: the engine's tables hold both."""
    low = min(float(values[0]) for values, _ in counts.values())
    high = max(float(values[-1]) for values, _ in counts.values())
    cells = (high - low) / (2 * radius) if radius else 0.0
    times = math.ceil(len(counts) * cells / MOST_ENTRIES)
    if times <= 1:
        return counts, radius
    start, width = low - radius, 2 * radius * times
    sizes = np.array([values.size for values, _ in counts.values()])
    places = np.floor((np.concatenate([values for values, _ in counts.values()]) - start) / width)
    begins = np.cumsum(sizes) - sizes
    fresh = np.append(True, places[1:] != places[:-1])
    fresh[begins] = True
    first = np.flatnonzero(fresh)
    centres = start + (places[first] + 0.5) * width
    often = np.add.reduceat(np.concatenate([often for _, often in counts.values()]), first)
    cuts = np.searchsorted(first, np.append(begins, fresh.size)).tolist()
    merged = {secret: (centres[a:b], often[a:b]) for secret, a, b in zip(counts, cuts[:-1], cuts[1:], strict=True)}
    return merged, radius * (times + 1)  # one cell more than enough for those that the rounding moved


def check_components(components: int | None, /, *, theorem: str) -> int | None:
    """Return the number of components; raise ArgumentError unless it is positive and a mixture is asked for."""
    if components is None:
        return None
    if theorem not in ("auto", "gmm"):
        raise ArgumentError(
            "components", rule='given with theorem="gmm" only', got=f"theorem={theorem!r}", hint="Leave it out."
        )
    if isinstance(components, bool) or not isinstance(components, Integral) or components < 1:
        raise ArgumentError(
            "components",
            rule="a whole number of at least 1",
            got=repr(components),
            hint="Leave it out to choose by BIC.",
        )
    return int(components)


def name_beliefs(
    beliefs: str | Belief | Iterable[str | Belief], /, *, fitted: Belief, empirical: Belief, secrets: Sequence[Secret]
) -> dict[str, Belief]:
    """Return the beliefs that the guarantee must cover, by name.

    Parameters
    ----------
    beliefs : "fitted", "empirical", a mapping of secret to Prior, or several of these
        Mappings are named "given 1", "given 2", ... and add to both words, unless one of the words is named, or "only":
        then what is named is all. Where the model is the observed frequencies, "fitted" is "empirical".
    fitted, empirical : mapping of secret to Prior
    secrets : sequence
        The secrets that the protected pairs name.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        For another word or object, for no belief, or for a mapping that lacks a secret of a protected pair.
    """
    entries = [beliefs] if isinstance(beliefs, (str, Mapping)) else _entries(beliefs)
    odd = next((entry for entry in entries if not isinstance(entry, Mapping) and not _is_word(entry)), None)
    if odd is not None:
        raise _not_a_belief(repr(odd) if isinstance(odd, str) else f"a {type(odd).__name__}")
    given = [entry for entry in entries if isinstance(entry, Mapping)]
    words = [entry for entry in entries if not isinstance(entry, Mapping)]
    if not entries or (not given and words == [ONLY]):
        raise _not_a_belief(repr(ONLY) if entries else "none")
    named: dict[str, Belief] = {}
    for word in words or ("fitted", "empirical"):
        if word == "empirical" or (word == "fitted" and fitted is empirical):
            named["empirical"] = empirical
        elif word == "fitted":
            named["fitted"] = fitted
    return named | {f"given {k}": _check_given(belief, secrets=secrets) for k, belief in enumerate(given, start=1)}


def check_within(beliefs: Iterable[Belief], bounds: tuple[float, float], /) -> None:
    """Raise ArgumentError for side knowledge of values that the domain cuts off: it is not the law of what is released.

    Clipping comes before the noise, so it can make two laws easier to tell apart.
    """
    low, high = bounds
    for belief in beliefs:
        for prior in belief.values():
            if not prior.is_discrete or prior.means.min() < low or prior.means.max() > high:
                raise ArgumentError(
                    "a belief beside domain",
                    rule="of atoms within the domain, to which values are clipped before the noise",
                    got="a Prior with others" if prior.is_discrete else "a Gaussian, which no domain holds",
                    hint="Clip the values of the Prior to the domain, or leave domain out.",
                )


def _is_word(entry: object) -> bool:
    return isinstance(entry, str) and entry in ("fitted", "empirical", ONLY)


def _entries(beliefs: Any) -> list[Any]:
    try:
        return list(beliefs)
    except TypeError:
        raise _not_a_belief(f"a {type(beliefs).__name__}") from None


def _check_given(belief: Mapping[Any, Any], *, secrets: Sequence[Secret]) -> Belief:
    """The priors of the given secrets."""
    for secret in secrets:
        if secret not in belief:
            raise ArgumentError(
                "a belief",
                rule="a prior for every secret of the protected pairs",
                got=f"none for {secret!r}",
                hint="Add a Prior for it, or list the pairs to protect without it.",
            )
    for prior in belief.values():
        if not isinstance(prior, Prior):
            raise _not_a_belief(f"a mapping to {type(prior).__name__}")
    return {secret: belief[secret] for secret in secrets}


def _not_a_belief(got: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        "beliefs",
        rule='"fitted", "empirical" or mappings of secret to Prior ("only" beside a mapping: nothing else)',
        got=got,
        hint='Leave it out for ("fitted", "empirical").',
    )


def _mixtures(counts: Mapping[Secret, Counts], components: int | None) -> dict[Secret, Prior]:
    if components is None:
        return {s: fit_best(*pair, most=MOST_COMPONENTS)[0] for s, pair in watched(counts.items(), label=_FITS)}
    return {s: fit_mixture(*pair, components=components) for s, pair in watched(counts.items(), label=_FITS)}


def _pooled(stds: FloatArray, counts: Mapping[Secret, Counts]) -> FloatArray:
    """The standard deviation of all secrets together about their own means, once for each of them."""
    sizes = np.array([float(pair[1].sum()) for pair in counts.values()])
    widest = float(stds.max()) or 1.0
    pooled = widest * math.sqrt(float(sizes @ (stds / widest) ** 2) / float(sizes.sum()))
    return np.full_like(stds, pooled)
