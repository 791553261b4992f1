"""What a channel loses: the adversary's beliefs about its levels, and the loss under each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.mechanisms.channel.best import FoundChannel, empirical_laws, stricter
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import InputColumn, Law, Laws, known_numbers
from puffer_frames.mechanisms.channel.program import fault
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Prior, Secret
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
    """The confidence with which the guarantee holds for a population's laws."""


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
        laws = {secret: _law(_of(table, secret, "a frame among the beliefs")) for secret in counts}
        return "other table", Adversary(laws=(laws,), words="the frequencies of another table")
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
            hint="Write {secret: column.value_counts().to_dict()} for a pandas column per secret, and declare all "
            "levels that there may be in domain={column: [...]}.",
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
            got="cells of numbers" if column.in_cells else "none declared",
            hint='Say mechanism="noise", whose belief "population" is for numbers.'
            if column.in_cells
            else "Declare all levels that there may be: domain={column: [...]}.",
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


_ERROR = 1e-12
"""Relative error of a probability of the output: sums of at most 512 products in floats."""
_LARGEST_LOG = 700.0
"""e to more than this is far beyond the ratio of two probabilities, and beyond floats."""


def loss_of_channel(
    counts: Mapping[Secret, NDArray[np.int64]],
    channel: FoundChannel,
    /,
    *,
    pairs: Pairs,
    epsilon: float,
    confidence: float | None = None,
    unsure: Mapping[Secret, Fraction] | None = None,
) -> Verification:
    """The loss for rows of each secret and level, or under every law that they do not refute with this confidence.

    Its lower bound is that under the frequencies themselves; it is no more than the cap, which was checked exactly. Of
    a share of the rows the input may be unsure, as it is where they were counted in other cells; then the loss is that
    of some law with these frequencies.
    """
    weights, cap = np.ldexp(channel.weights.astype(np.float64), -TOTAL_BITS), channel.problem.cap
    laws: dict[Secret, tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]] = {}
    for secret, often in channel.placed(counts).items():
        places = list(channel.problem.inputs_of(secret))
        inputs, often = weights[places], often[places]
        law, (high, low) = often / often.sum() @ inputs, (inputs.max(axis=0), inputs.min(axis=0))
        spread = high - low
        apart = spread * (float(unsure[secret]) if unsure else 0.0)
        away = 0.0 if confidence is None else distance_left(often, secrets=len(counts), confidence=confidence)
        most = np.minimum(law + away * spread + apart, high) * (1 + _ERROR)
        least = np.maximum(law - away * spread - apart, low) * (1 - _ERROR)
        laws[secret] = ((law - apart).clip(0.0), law + apart), most, least
    ordered = permutations(laws, 2) if pairs == "all" else (p for a, b in pairs for p in ((a, b), (b, a)))
    odds = math.exp(min(epsilon, _LARGEST_LOG))
    pure, stick = (0.0, 0.0), (0.0, 0.0)
    for first, second in ordered:
        ((law, _), most, _), ((_, other_law), _, least) = laws[first], laws[second]
        pure = max(pure[0], _ratio(law, other_law) * (1 - _ERROR)), max(pure[1], _ratio(most, least))
        least_delta = float((law - odds * other_law).clip(0.0).sum()) * (1 - _ERROR) - _ERROR
        bound = float((most - odds * (1 - _ERROR) * least).clip(0.0).sum()) * (1 + _ERROR)
        stick = max(stick[0], least_delta), max(stick[1], min(1.0, bound))
    pure_loss = Bracket(lower=pure[0], upper=max(pure))
    return Verification(
        pure_loss=pure_loss if cap is None else _at_most(pure_loss, cap),
        hockey_stick=Bracket(lower=stick[0], upper=max(stick)),
        epsilon=epsilon,
    )


def loss_of_rows(
    counts: Mapping[Secret, NDArray[np.int64]],
    channel: FoundChannel,
    /,
    *,
    pairs: Pairs,
    unsure: Mapping[Secret, Fraction],
) -> Verification:
    """The loss under the frequencies of other rows; whether it is within what was asked for, in whole numbers."""
    target = channel.problem.target
    found = loss_of_channel(counts, channel, pairs=pairs, epsilon=target.epsilon, unsure=unsure)
    laws = {s: Law(counts=tuple(map(int, rows)), moved=unsure[s]) for s, rows in channel.placed(counts).items()}
    plain = replace(channel.problem, beliefs=(laws,), pairs=pairs, cap=None, reader_cap=None)
    if fault(channel.weights.tolist(), plain) is not None:
        return found
    if target.delta:
        return replace(found, hockey_stick=_at_most(found.hockey_stick, target.delta))
    return replace(found, pure_loss=_at_most(found.pure_loss, target.epsilon))


def _at_most(bracket: Bracket, bound: float) -> Bracket:
    return Bracket(lower=min(bracket.lower, bound), upper=min(bracket.upper, bound))


def largest_loss(channel: FoundChannel, /) -> float:
    """The pure loss under any law at all: of the inputs of any secret, or of two different ones that it sees."""
    weights, problem = channel.weights.astype(np.float64), channel.problem
    if problem.groups is None:
        return _within(_ratio(weights.max(axis=0), weights.min(axis=0)), problem.cap)
    ends = {s: (weights[list(own)].max(axis=0), weights[list(own)].min(axis=0)) for s, own in problem.groups.items()}
    return _within(max(_ratio(ends[one][0], ends[other][1]) for one, other in problem.other_pairs), problem.cap)


def reader_loss(channel: FoundChannel, /) -> float:
    """The pure loss to a reader who knows the value: 0 unless the channel sees the secret."""
    if not channel.secrets:
        return 0.0
    weights = channel.weights.astype(np.float64).reshape(len(channel.secrets), len(channel.inputs), -1)
    caps = (channel.problem.reader_cap, channel.problem.cap)
    return _within(_ratio(weights.max(axis=0), weights.min(axis=0)), *caps)


def _within(loss: float, *caps: float | None) -> float:
    """A loss in floats, rounded up; no more than the caps, which were checked exactly."""
    return min(loss * (1 + _ERROR), *(math.inf if cap is None else cap for cap in caps))


def _ratio(most: FloatArray, least: FloatArray) -> float:
    held = most > 0
    if not held.any():
        return 0.0
    if (least[held] <= 0).any():
        return math.inf
    return max(0.0, float(np.log(most[held] / least[held]).max()))
