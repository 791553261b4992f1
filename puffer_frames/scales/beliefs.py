"""The adversary's beliefs: which priors a table gives, and which theorem fits them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.loss.engine import Laws
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import described, is_array
from puffer_frames.numbers.threads import watched
from puffer_frames.papers.catalogue import (
    BERNOULLI,
    COUPLING,
    GAUSSIAN,
    KANTOROVICH,
    MIXTURE,
    MIXTURES,
    THEOREMS,
    TRANSLATION,
    UBM,
    Theorem,
)
from puffer_frames.priors.fitting import (
    NARROWEST,
    common_variance_preferred,
    em_step,
    fit_best,
    fit_finer,
    fit_mixture,
    group_moments,
)
from puffer_frames.priors.law_set import WIDEST, is_too_wide
from puffer_frames.priors.prior import FloatArray, Prior, Secret, gaussian_priors
from puffer_frames.priors.summary import Counts
from puffer_frames.scales.learned import POPULATION, Belief, LearnedBelief, OtherTable, Population, observed_belief

FEW_VALUES = 256
"""Up to this many distinct values the observed frequencies are the model."""
MOST_COMPONENTS = 5
FINER = "gmm, more components"
_FITS = "mixtures per secret"
_HALVINGS = 64
ONLY = "only"
"""Beside a mapping: no other belief than the mappings."""
WORDS = ("fitted", "empirical", POPULATION, ONLY)
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

    - `counts` (mapping of secret to (values, counts)): Distinct values and how often each occurs.
    - `theorem`: A name of the catalogue; `FINER`, for gmm with more components than 5 where BIC asks for them; or
      "auto": two values, bernoulli; at most 256, or more than 100 secrets, kantorovich; else Gaussian mixtures with the
      number of components of the smallest BIC: translation where every secret has one and a common variance has the
      smaller BIC, gaussian where every secret has one, gmm else.
    - `components`: Number of components of "gmm", "coupling" or "ubm"; by default by BIC, up to 5.
    - `coupled`: "auto" takes no other theorems than those of a coupling: translation or, without a model, kantorovich.
    - `radius`: How far a value may be from the one it was counted as; the observed frequencies are known up to it.
    """
    empirical = observed_belief(counts, radius=radius)
    if theorem == FINER:
        return MIXTURE, _finer_mixtures(counts), empirical
    if theorem == "auto":
        values = _different(counts)
        if (values <= FEW_VALUES or len(counts) > MANY_SECRETS) and components is None:
            return (BERNOULLI if values == 2 else KANTOROVICH), empirical, empirical
        fitted = _mixtures(counts, components)
        simple = all(prior.means.size == 1 for prior in fitted.values())
        if simple and components is None and common_variance_preferred(list(counts.values())):
            means = np.array([prior.mean for prior in fitted.values()])
            stds = np.array([prior.std for prior in fitted.values()])
            return TRANSLATION, gaussian_priors(counts, means, _pooled(stds, counts)), empirical
        if coupled:
            return KANTOROVICH, empirical, empirical
        return GAUSSIAN if simple else MIXTURE, fitted, empirical
    chosen = THEOREMS[theorem]
    if chosen.discrete:
        return chosen, empirical, empirical
    if chosen in (MIXTURE, COUPLING):
        return chosen, _mixtures(counts, components), empirical
    if chosen is UBM:
        return chosen, _adapted(counts, components), empirical
    means, stds = group_moments(list(counts.values()))
    return chosen, gaussian_priors(counts, means, _pooled(stds, counts) if chosen is TRANSLATION else stds), empirical


def _different(counts: Mapping[Secret, Counts]) -> int:
    """Number of different values; where one secret alone has more than `FEW_VALUES`, only those of that one."""
    most = max(values.size for values, _ in counts.values())
    return most if most > FEW_VALUES else np.unique(np.concatenate([values for values, _ in counts.values()])).size


def check_components(components: int | None, /, *, theorem: str) -> int | None:
    """Return the number of components; raise ArgumentError unless it is positive and a mixture is asked for."""
    if components is None:
        return None
    if theorem not in ("auto", *(each.name for each in MIXTURES)):
        raise ArgumentError(
            "components",
            rule='given with theorem="gmm", "coupling" or "ubm" only',
            got=f"theorem={theorem!r}",
            hint="Leave it out.",
        )
    if isinstance(components, bool) or not isinstance(components, Integral) or components < 1:
        raise ArgumentError(
            "components",
            rule="a whole number of at least 1",
            got=described(components),
            hint="Leave it out to choose by BIC.",
        )
    return int(components)


BeliefEntry: TypeAlias = str | Belief | LearnedBelief


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """One belief that the guarantee covers."""

    laws: Laws | Sequence[Laws]
    """A law or a set of laws per secret, or several such mappings."""
    words: str
    """What it is, in a sentence."""
    learned: LearnedBelief | None = None
    """What it was learned as, where it is wider than one law per secret, or from another table."""


def read_beliefs(beliefs: Any, /, *, is_frame: Callable[[object], bool]) -> list[Any]:
    """The entries of an argument; raises ArgumentTypeError for another word or object, and for none."""
    alone = isinstance(beliefs, (str, Mapping, LearnedBelief)) or is_frame(beliefs)
    entries = [beliefs] if alone else _entries(beliefs)
    for entry in entries:
        word = isinstance(entry, str) and entry in WORDS
        if not (word or isinstance(entry, (Mapping, LearnedBelief)) or is_frame(entry)):
            raise _not_a_belief(_called(entry))
    if all(isinstance(entry, str) and entry == ONLY for entry in entries):
        raise _not_a_belief(repr(ONLY) if entries else "none")
    return [Population() if isinstance(entry, str) and entry == POPULATION else entry for entry in entries]


def name_beliefs(
    entries: Sequence[BeliefEntry],
    /,
    *,
    fitted: Belief,
    empirical: Belief,
    model: str,
    counts: Mapping[Secret, Counts],
    bounds: Bounds | None,
    radius: float,
) -> dict[str, Covered]:
    """The beliefs that the guarantee must cover, by name.

    - `entries` (sequence): Of `read_beliefs`. Mappings and other tables are named "given 1", "other table", ... and add
      to the words "fitted" and "empirical", unless a word or a wider belief is named, or "only": then what is named is
      all. Where the model is the observed frequencies, "fitted" is "empirical".
    - `model`: The fitted model, in words.
    - `counts` (mapping of secret to (values, counts)): Of the secrets that the protected pairs name.
    - `bounds` (low, high): To which values are clipped, if they are.
    - `radius`: How far a value may be from the one that it was counted as.
    Raises ArgumentTypeError, ArgumentError for a belief that lacks a secret of a protected pair.
    """
    covered: dict[str, Covered] = {}
    for name, (words, entry) in _named(entries, fitted="" if fitted is empirical else model).items():
        if isinstance(entry, LearnedBelief):
            laws = entry.laws(counts, bounds=bounds, radius=radius)
            covered[name] = Covered(laws=laws, words=words, learned=entry)
        elif isinstance(entry, Mapping):
            covered[name] = Covered(laws=_check_given(entry, secrets=list(counts)), words=words)
        else:
            covered[name] = Covered(laws=fitted if name == "fitted" else empirical, words=words)
    return covered


def words_of(entries: Sequence[BeliefEntry], /, *, fitted: str) -> tuple[dict[str, str], list[BeliefEntry]]:
    """The names and words that `name_beliefs` gives these entries, and those whose laws follow from the table.

    `fitted` is the fitted model in words; it is empty where the model is the observed frequencies.
    """
    learned = [entry for entry in entries if isinstance(entry, LearnedBelief) and not isinstance(entry, OtherTable)]
    return {name: words for name, (words, _) in _named(entries, fitted=fitted).items()}, [*_words(entries), *learned]


def _words(entries: Sequence[BeliefEntry]) -> list[str]:
    """The words among the entries, or those that mappings and other tables add to."""
    adding = all(isinstance(entry, (Mapping, OtherTable)) for entry in entries)
    return ["fitted", "empirical"] if adding else [entry for entry in entries if isinstance(entry, str)]


def _named(entries: Sequence[BeliefEntry], *, fitted: str) -> dict[str, tuple[str, BeliefEntry]]:
    """The beliefs by name, each in words and as it was asked for."""
    named: dict[str, tuple[str, BeliefEntry]] = {}
    for word in _words(entries):
        if word == "fitted" and fitted:
            named["fitted"] = f"the fitted model ({fitted})", word
        elif word != ONLY:
            named["empirical"] = "the observed frequencies", word
    for entry in entries:
        if isinstance(entry, Mapping):
            name = f"given {1 + sum(known.startswith('given') for known in named)}"
            named[name] = f"side knowledge ({name})", entry
        elif isinstance(entry, LearnedBelief):
            title = next(t for k in count(1) if (t := entry.title if k == 1 else f"{entry.title} {k}") not in named)
            named[title] = entry.words, entry
    return named


def clipped_to(beliefs: Sequence[BeliefEntry], /, *, domain: Bounds | None, extent: Bounds) -> Bounds | None:
    """The bounds to which values are clipped before the noise: public ones, or where a belief needs some the extent.

    Raises ArgumentError for side knowledge of values that they cut off: it is not the law of what is released. Clipping
    comes before the noise, so it can make two laws easier to tell apart.
    """
    clips = any(isinstance(entry, LearnedBelief) and entry.clips for entry in beliefs)
    bounds = extent if domain is None and clips else domain
    if clips and bounds is not None and is_too_wide(*bounds):
        raise ArgumentError(
            "the domain, or the range of the column,",
            rule=f"narrower than {WIDEST:g} for beliefs about clipped values",
            got="a wider one",
            hint="Divide the column by a constant first.",
        )
    if bounds is not None:
        _check_within([belief for belief in beliefs if isinstance(belief, Mapping)], bounds)
    return bounds


def _check_within(beliefs: Iterable[Belief], bounds: Bounds) -> None:
    low, high = bounds
    for belief in beliefs:
        for prior in belief.values():
            if isinstance(prior, Prior) and not low <= prior.ends[0] <= prior.ends[1] <= high:
                raise ArgumentError(
                    "a belief beside domain",
                    rule="of atoms within the domain, to which values are clipped before the noise",
                    got="a Prior with others" if prior.is_discrete else "a Gaussian, which no domain holds",
                    hint="Clip the values of the Prior to the domain, or leave domain out.",
                )


def _called(entry: object) -> str:
    if isinstance(entry, type):
        return f"the class {entry.__name__}, without ()"
    return repr(entry) if isinstance(entry, str) else f"a {type(entry).__name__}"


def _entries(beliefs: Any) -> list[Any]:
    try:
        entries = list(beliefs)
        if not is_array(beliefs) or all(isinstance(entry, str) and entry in WORDS for entry in entries):
            return entries  # what an array of data holds belongs into no message
    except TypeError:
        pass
    raise _not_a_belief(_called(beliefs))


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
        rule='"fitted", "empirical", "population", Population(), Contamination(), Bootstrap(), mappings of secret to '
        'Prior or frames ("only" beside these: nothing else)',
        got=got,
        hint='Leave it out for ("fitted", "empirical"). For other data give a frame of the same columns, or '
        "{secret: Prior.empirical(numbers)} with one for each secret.",
    )


def _mixtures(counts: Mapping[Secret, Counts], components: int | None) -> dict[Secret, Prior]:
    return {secret: _fit(*pair, components) for secret, pair in watched(counts.items(), label=_FITS)}


def _fit(values: FloatArray, counts: NDArray[np.int64], components: int | None) -> Prior:
    if components is None:
        return fit_best(values, counts, most=MOST_COMPONENTS)[0]
    return fit_mixture(values, counts, components=components)


def _adapted(counts: Mapping[Secret, Counts], components: int | None) -> dict[Secret, Prior]:
    """A mixture of all rows, and the same for each secret with the means of its own rows: one step of EM.

    A step that would change the order of the components is halved until it does not: they are matched by their order.
    """
    pooled = [np.concatenate(each) for each in zip(*counts.values(), strict=True)]
    fit = _fit(pooled[0], pooled[1], components)
    stds = np.maximum(fit.stds, NARROWEST * (fit.std or 1.0))
    found = dict[Secret, Prior]()
    for secret, (values, numbers) in counts.items():
        step = em_step(values, numbers / numbers.sum(), fit.weights, fit.means, stds)[1][1] - fit.means
        step[fit.stds == 0] = 0.0  # an atom stays at its value
        for _ in range(_HALVINGS):
            if (np.diff(fit.means + step) > 0).all():
                break
            step /= 2
        found[secret] = Prior.mixture(fit.weights, fit.means + step, fit.stds)
    return found


def _finer_mixtures(counts: Mapping[Secret, Counts]) -> dict[Secret, Prior]:
    found = dict[Secret, Prior]()
    for secret, pair in watched(counts.items(), label=_FITS):
        fits = (fit_best(*pair, most=MOST_COMPONENTS), fit_finer(*pair))
        found[secret] = min(fits, key=lambda fit: fit[1])[0]
    return found


def _pooled(stds: FloatArray, counts: Mapping[Secret, Counts]) -> FloatArray:
    """The standard deviation of all secrets together about their own means, once for each of them."""
    sizes = np.array([float(pair[1].sum()) for pair in counts.values()])
    widest = float(stds.max()) or 1.0
    pooled = widest * math.sqrt(float(sizes @ (stds / widest) ** 2) / float(sizes.sum()))
    return np.full_like(stds, pooled)
