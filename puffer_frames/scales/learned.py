"""Beliefs that are wider than one law per secret: what the people behind the table may be like."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import ClassVar, TypeAlias, cast

import numpy as np

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.loss.engine import Laws
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import as_float, keep_own
from puffer_frames.priors.law_set import LawSet, confidence_left, rank_band
from puffer_frames.priors.prior import Prior, Secret, middles, observed_priors
from puffer_frames.priors.summary import Counts, extent_of, in_wider_cells

Belief: TypeAlias = Mapping[Secret, Prior]
"""One law per secret."""

MOST_ENTRIES = 1 << 23
"""Secrets times cells are about so many at most."""


def observed_belief(counts: Mapping[Secret, Counts], /, *, radius: float) -> Belief:
    """The observed frequencies of each secret, as a `Summary` has them."""
    coarse, wider = _merged(counts, radius=radius)
    return observed_priors(coarse, radius=wider)


def _merged(counts: Mapping[Secret, Counts], /, *, radius: float) -> tuple[Mapping[Secret, Counts], float]:
    """Values that were counted in cells, in wider ones where there are many secrets: the engine's tables hold both."""
    low, high = extent_of(counts, radius=radius)
    cells = (high - low) / (2 * radius) if radius else 0.0
    if len(counts) * cells > MOST_ENTRIES:  # of which a column in clusters or with an outlier fills few
        cells = np.unique(np.floor(np.concatenate([values for values, _ in counts.values()]) / (2 * radius))).size
    times = math.ceil(len(counts) * cells / MOST_ENTRIES)
    if times <= 1:
        return counts, radius
    wider = radius * 2.0 ** math.ceil(math.log2(times))
    return in_wider_cells(counts, radius=wider), wider


POPULATION = "population"
"""The word for `Population()`."""
ROOT = "2/sqrt(n)"
ROOT_WORDS = "min(1/2, 2/sqrt(n)) for n rows of its secret"
_LEAST_SHARE = 1e-12
_MOST_RESAMPLES = 1000


class LearnedBelief(ABC):
    """What the adversary may take the laws of the public value for, learned from the table."""

    title: ClassVar[str]
    """Its name in plans and certificates."""
    clips: ClassVar[bool]
    """Whether it is about clipped values: then every released value is clipped to the bounds."""

    @abstractmethod
    def laws(
        self, counts: Mapping[Secret, Counts], /, *, bounds: Bounds | None, radius: float
    ) -> Laws | Sequence[Laws]:
        """A law or a set of laws per secret, or several such mappings.

        - `bounds` (low, high): To which values are clipped: public ones, or where a belief needs some those of the
          table.
        - `radius`: How far a value may be from the one that it was counted as.
        """

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, in a sentence."""


@short_traceback
@dataclass(frozen=True, slots=True)
class Population(LearnedBelief):
    r"""Every law that the table does not refute: a guarantee for the population that its rows were drawn from.

    The rows of each secret are taken as independent draws from a population. A band holds its distribution function
    with the given confidence, whatever it is, for all secrets together; the guarantee is under every law in the band.

    Parameters
    ----------
    confidence : float
        Between 0 and 1.

    Raises
    ------
    ArgumentError
        For another confidence.

    Notes
    -----
    The claim is for values that are clipped to `domain`, or without one to the range of the table. Rows that repeat a
    person void it. One confidence holds for one certificate, not for several together.

    References
    ----------
    docs/theory.md, section 14.

    Examples
    --------
    >>> Population(confidence=0.99)
    Population(confidence=0.99)
    """

    title: ClassVar[str] = "population"
    clips: ClassVar[bool] = True

    confidence: float = 0.95

    def __post_init__(self) -> None:
        good = isinstance(self.confidence, (int, float)) and not isinstance(self.confidence, bool)
        if not (good and 0 < as_float(self.confidence) < 1):
            raise ArgumentError(
                "confidence",
                rule="a number between 0 and 1",
                got=repr(self.confidence) if good else f"a {type(self.confidence).__name__}",
                hint="0.95 is usual.",
            )

    def laws(
        self, counts: Mapping[Secret, Counts], /, *, bounds: Bounds | None, radius: float
    ) -> Mapping[Secret, LawSet]:
        """A confidence band per secret."""
        alpha = confidence_left(float(self.confidence), secrets=len(counts))
        assert bounds is not None  # a belief that clips has some
        low, high = bounds
        return {
            secret: rank_band(pair, alpha=alpha, low=low, high=high, radius=radius) for secret, pair in counts.items()
        }

    @property
    def words(self) -> str:
        return f"any that the table does not refute with {100 * self.confidence:g} % confidence"


@short_traceback
@dataclass(frozen=True, slots=True)
class Contamination(LearnedBelief):
    r"""The observed frequencies, where each row is replaced by anything with probability eta, whatever its value.

    .. math:: (1 - \eta_s) \hat P_s + \eta_s R_s, \quad R_s \text{ any law on the domain}

    Rows that are chosen by their values are not covered: docs/guarantee.md.

    Parameters
    ----------
    share : "2/sqrt(n)", float or mapping of secret to float
        eta: for the n rows of each secret :math:`\min(1/2, 2/\sqrt n)`, or a number above 0 and at most 1.

    Raises
    ------
    ArgumentError
        For another share, and for a mapping that lacks a secret of a protected pair.

    References
    ----------
    docs/theory.md, section 14.

    Examples
    --------
    >>> Contamination(share=0.01)
    Contamination(share=0.01)
    """

    title: ClassVar[str] = "contaminated"
    clips: ClassVar[bool] = True

    share: str | float | Mapping[Secret, float] = ROOT

    def __post_init__(self) -> None:
        keep_own(self, "share")
        shares = list(self.share.values()) if isinstance(self.share, Mapping) else [self.share]
        for share in shares:
            if not (isinstance(share, str) and share == ROOT and share is self.share) and not _is_share(share):
                raise ArgumentError(
                    "share",
                    rule=f'"{ROOT}", or a number from {_LEAST_SHARE:g} to 1, or a mapping of secret to such numbers',
                    got=repr(share) if isinstance(share, (str, int, float)) else f"a {type(share).__name__}",
                    hint="0.01 replaces one record in a hundred by anything, whatever its value.",
                )

    def laws(
        self, counts: Mapping[Secret, Counts], /, *, bounds: Bounds | None, radius: float
    ) -> Mapping[Secret, LawSet]:
        """An interval per value, and the whole domain with the share."""
        assert bounds is not None  # a belief that clips has some
        low, high = bounds
        found = {}
        for secret, (means, often) in counts.items():
            values, total = middles(means, radius), int(often.sum())
            eta = self.share_of(secret, total)
            found[secret] = LawSet.of(
                np.append((1 - eta) / total * often, eta),
                np.append(np.maximum(values - radius, low), low),
                np.append(np.minimum(values + radius, high), high),
                weights_error=1e-14,
            )
        return found

    def share_of(self, secret: Secret, rows: int, /) -> float:
        """The probability for a secret of so many rows."""
        if isinstance(self.share, Mapping):
            if secret not in self.share:
                raise ArgumentError(
                    "share",
                    rule="a number for every secret of the protected pairs",
                    got=f"none for {secret!r}",
                    hint="Add one, or give one number for all.",
                )
            return float(self.share[secret])
        return min(0.5, 2.0 / math.sqrt(rows)) if isinstance(self.share, str) else float(self.share)

    @property
    def words(self) -> str:
        share = f"{self.share}"
        if isinstance(self.share, Mapping):
            share = "as given for its secret"
        elif isinstance(self.share, str):
            share = ROOT_WORDS
        return f"the observed frequencies, where {replaced_rows(share)}"


@short_traceback
@dataclass(frozen=True, slots=True)
class Bootstrap(LearnedBelief):
    """The observed frequencies of resamples of the rows: how much the scale leans on single rows.

    No theorem says that the guarantee holds for the population; for that there is `Population`.

    Parameters
    ----------
    resamples : int
        How many, each of as many rows per secret as the table has.
    seed : int
        Seed of the resamples. The same seed and table give the same plan.

    Raises
    ------
    ArgumentError
        For another number of resamples, or another seed.

    References
    ----------
    docs/theory.md, section 14.

    Examples
    --------
    >>> Bootstrap()
    Bootstrap(resamples=20, seed=0)
    """

    title: ClassVar[str] = "bootstrap"
    clips: ClassVar[bool] = False

    resamples: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        for name, most in (("resamples", _MOST_RESAMPLES), ("seed", None)):
            found = getattr(self, name)
            least = 1 if name == "resamples" else 0
            whole = isinstance(found, Integral) and not isinstance(found, bool)
            if not whole or found < least or (most is not None and found > most):
                raise ArgumentError(
                    name,
                    rule=f"a whole number of at least {least}" + (f" and at most {most:,}" if most else ""),
                    got=repr(found) if isinstance(found, (int, float)) else f"a {type(found).__name__}",
                    hint="Write Bootstrap(resamples=20, seed=0).",
                )

    def laws(self, counts: Mapping[Secret, Counts], /, *, bounds: Bounds | None, radius: float) -> Sequence[Laws]:
        """One mapping per resample."""
        del bounds
        rng = np.random.default_rng(int(self.seed))
        resamples = [
            observed_belief({secret: resampled(pair, rng) for secret, pair in counts.items()}, radius=radius)
            for _ in range(int(self.resamples))
        ]
        # the rows of a cell that are drawn have another mean than all of its rows
        return [{secret: prior.at_middles() for secret, prior in laws.items()} for laws in resamples]

    @property
    def words(self) -> str:
        return f"the frequencies of any of {self.resamples} resamples of the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherTable(LearnedBelief):
    """The observed frequencies of another table with the same columns: last year's, say."""

    title: ClassVar[str] = "other table"
    clips: ClassVar[bool] = False

    counts: Mapping[Secret, Counts] = field(repr=False)
    radius: float

    def laws(self, counts: Mapping[Secret, Counts], /, *, bounds: Bounds | None, radius: float) -> Laws:
        """Its frequencies; raises ArgumentError where it lacks a secret of a protected pair."""
        del radius
        own = of_secrets(self.counts, counts)
        found = {secret: (middles(values, self.radius), often) for secret, (values, often) in own.items()}
        if bounds is not None:
            found = {secret: (values.clip(*bounds), often) for secret, (values, often) in found.items()}
        return {secret: Prior.empirical(values, often, radius=self.radius) for secret, (values, often) in found.items()}

    @property
    def words(self) -> str:
        return "the frequencies of another table"


def of_secrets(counts: Mapping[Secret, Counts], secrets: Iterable[Secret], /) -> dict[Secret, Counts]:
    """What another table has of these secrets; raises ArgumentError where it lacks one."""
    missing = next((secret for secret in secrets if secret not in counts), None)
    if missing is not None:
        raise ArgumentError(
            "a frame among the beliefs",
            rule="one with every secret of the protected pairs",
            got=f"one without {missing!r}",
            hint="List the pairs to protect without this secret, or leave the frame out.",
        )
    return {secret: counts[secret] for secret in secrets}


def replaced_rows(probability: str, /) -> str:
    """What contamination is, in words: not rows that somebody chooses by their values."""
    return f"each row is replaced by anything with probability {probability}, whatever its value"


def said_of(words: str, /, *, others: bool) -> str:
    """The words of a belief or a radius on a certificate of these rows, or of others than those of the plan."""
    return words.replace(ROOT_WORDS, f"{ROOT_WORDS} in the table of the plan") if others else words


def _is_share(share: object) -> bool:
    number = isinstance(share, (int, float)) and not isinstance(share, bool)
    return number and _LEAST_SHARE <= as_float(cast(float, share)) <= 1


def resampled(pair: Counts, rng: np.random.Generator, /) -> Counts:
    """As many draws of the values, or rows, by their frequencies."""
    values, often = pair
    total = int(often.sum())
    drawn = rng.multinomial(total, often / total)
    return values[drawn > 0], drawn[drawn > 0]
