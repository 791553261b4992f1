"""The adversary's beliefs about a column of levels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.mechanisms.channel.best import empirical_laws, stricter
from puffer_frames.mechanisms.channel.column import InputColumn, known_numbers
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import Law, Laws
from puffer_frames.priors.prior import Prior, Secret
from puffer_frames.priors.summary import LevelCounts, Summary
from puffer_frames.scales.learned import Bootstrap, Contamination, LearnedBelief, OtherTable, Population

_UP = 1.0 + 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary:
    """One belief that the guarantee covers."""

    laws: tuple[Laws, ...]
    words: str
    """What it is, in a sentence."""
    confidence: float | None = None
    """Of a population: with which the guarantee holds for its laws."""


def adversaries(
    entries: Sequence[Any], column: InputColumn, options: Channel, /, *, secrets: Sequence[Secret]
) -> dict[str, Adversary]:
    """The beliefs by name, of the secrets that the protected pairs name.

    The words "fitted" and "empirical" are the observed frequencies with the radius of the channel; mappings and other
    tables add to them, unless a word or a wider belief is named, or "only".

    Raises ArgumentError, ArgumentTypeError for a belief that is none of a column of levels, or lacks a secret.
    """
    counts = {secret: column.counts[secret] for secret in secrets}
    others = [entry for entry in entries if not isinstance(entry, str)]
    adding = all(isinstance(entry, (Mapping, OtherTable, LevelCounts)) for entry in entries)
    named: dict[str, Adversary] = {}
    if adding or any(isinstance(entry, str) and entry in ("fitted", "empirical") for entry in entries):
        named["empirical"] = Adversary(laws=(empirical_laws(counts, options),), words="the observed frequencies")
    for entry in others:
        title, found = _read(entry, column, counts)
        number = 1 + sum(known.split(" ")[0] == title.split(" ")[0] for known in named)
        name = f"{title} {number}" if title == "given" or number > 1 else title
        named[name] = found
    return named


def _read(entry: Any, column: InputColumn, counts: Mapping[Secret, NDArray[np.int64]]) -> tuple[str, Adversary]:
    if isinstance(entry, Mapping):
        laws = {secret: _given(_of(entry, secret, "a belief"), column) for secret in counts}
        return "given", Adversary(laws=(laws,), words="side knowledge")
    if isinstance(entry, LevelCounts):
        table = column.labelled(entry)
        return "other table", Adversary(laws=(_plain_laws(table, counts),), words="the frequencies of another table")
    if isinstance(entry, OtherTable):
        return "other table", Adversary(laws=(_of_numbers(entry, column, counts),), words=entry.words)
    if isinstance(entry, Contamination):
        laws = {s: _law(n, replaced=stricter(entry.share_of(s, int(n.sum())))) for s, n in counts.items()}
        return entry.title, Adversary(laws=(laws,), words=f"{entry.words}, within the levels of the column")
    if isinstance(entry, Bootstrap):
        return entry.title, Adversary(laws=_resampled(entry, counts), words=entry.words)
    if isinstance(entry, Population):
        around = _population(entry, column, counts)
        return entry.title, Adversary(laws=(around,), words=entry.words, confidence=entry.confidence)
    assert isinstance(entry, LearnedBelief)
    raise ArgumentTypeError(
        "beliefs", rule="known to a channel", got=f"a {type(entry).__name__}", hint='Write mechanism="noise".'
    )


def _of(table: Mapping[Secret, Any], secret: Secret, what: str) -> Any:
    if secret not in table:
        raise ArgumentError(
            what,
            rule="one with every secret of the protected pairs",
            got=f"none for {secret!r}",
            hint="Add it, or list the pairs to protect without it.",
        )
    return table[secret]


def _law(counts: NDArray[np.int64], *, replaced: Fraction = Fraction(0), moved: Fraction = Fraction(0)) -> Law:
    return Law(counts=tuple(map(int, counts)), replaced=replaced, moved=moved)


def _plain_laws(table: Mapping[Secret, NDArray[np.int64]], counts: Mapping[Secret, Any]) -> Laws:
    return {secret: _law(_of(table, secret, "a frame among the beliefs")) for secret in counts}


def _of_numbers(entry: OtherTable, column: InputColumn, counts: Mapping[Secret, Any]) -> Laws:
    """The laws of another table of numbers. Its own cells may lie across an edge: such rows may be on either side."""
    known_numbers(column, Summary(counts=entry.counts, radius=entry.radius))
    found = {}
    for secret in counts:
        pair = _of(entry.counts, secret, "a frame among the beliefs")
        unsure = Fraction(column.unsure(pair, radius=entry.radius), int(pair[1].sum()))
        found[secret] = _law(column.counted(pair), moved=unsure)
    return found


def _given(law: Any, column: InputColumn) -> Law:
    """Side knowledge of one secret: a Prior of atoms for numbers, a mapping of level to weight for any column."""
    if isinstance(law, Prior) and law.is_discrete and column.edges is not None and column.has(law.means):
        places = np.searchsorted(column.edges, law.means, side="right")
        weights = [(int(place), float(weight)) for place, weight in zip(places, law.weights, strict=True)]
    elif (
        isinstance(law, Mapping)
        and column.codes is not None
        and all(level in column.codes and isinstance(weight, Real) for level, weight in law.items())
    ):
        weights = [(column.codes[level], float(weight)) for level, weight in law.items()]
    else:
        raise ArgumentTypeError(
            "a belief about a column of levels",
            rule="a mapping of secret to {level: weight}, of numbers to a Prior of atoms",
            got="something else, or a level that the column does not have",
            hint="Declare all levels that there may be in domain={column: [...]}.",
        )
    if not all(math.isfinite(weight) and weight >= 0 for _, weight in weights) or not any(w for _, w in weights):
        raise ArgumentError(
            "the weights of a belief", rule="finite, not negative, and not all 0", got="others", hint="Take shares."
        )
    exact = [Fraction(0)] * len(column.levels)
    for place, weight in weights:
        exact[place] += Fraction(weight)
    unit = math.lcm(*(share.denominator for share in exact))
    return Law(counts=tuple(int(share * unit) for share in exact))


def _resampled(entry: Bootstrap, counts: Mapping[Secret, NDArray[np.int64]]) -> tuple[Laws, ...]:
    rng = np.random.default_rng(int(entry.seed))
    return tuple(
        {secret: _law(rng.multinomial(int(n.sum()), n / n.sum())) for secret, n in counts.items()}
        for _ in range(int(entry.resamples))
    )


def _population(entry: Population, column: InputColumn, counts: Mapping[Secret, NDArray[np.int64]]) -> Laws:
    """Every law within a distance that the table does not refute, whatever its size (Weissman et al., 2003)."""
    if not column.public:
        raise ArgumentError(
            'the belief "population"',
            rule="beside declared levels: a level that nobody has seen yet is beyond every distance",
            got="none declared",
            hint="Declare all levels that there may be: domain={column: [...]}.",
        )
    return {
        secret: _law(n, moved=Fraction(distance_left(n, secrets=len(counts), confidence=entry.confidence)))
        for secret, n in counts.items()
    }


def distance_left(counts: NDArray[np.int64], /, *, secrets: int, confidence: float) -> float:
    r"""Total variation that the law of a population has from the observed one at most, with this confidence for all
    secrets: :math:`\tfrac12\sqrt{2 (K \log 2 + \log(m / (1 - \mathrm{confidence}))) / n}`, at most 1.
    """
    needed = counts.size * math.log(2) + math.log(secrets / (1.0 - confidence))
    return min(1.0, 0.5 * math.sqrt(2 * needed / int(counts.sum())) * _UP)
