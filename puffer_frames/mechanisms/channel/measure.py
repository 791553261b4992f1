"""What a channel loses, under the observed law, under laws that the table does not refute, and under any law."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from puffer_frames.loss.outcome import Bracket, Verification
from puffer_frames.mechanisms.channel.adversaries import distance_left
from puffer_frames.mechanisms.channel.best import FoundChannel
from puffer_frames.mechanisms.channel.problem import Law
from puffer_frames.mechanisms.channel.program import fault
from puffer_frames.noise.channel import TOTAL_BITS
from puffer_frames.priors.pairs import Pairs
from puffer_frames.priors.prior import FloatArray, Secret

_ERROR = 1e-12
"""Relative error of a probability of the output: sums of at most 256 products in floats."""
_LARGEST_LOG = 700.0
"""e to more than this is far beyond the ratio of two probabilities, and beyond floats."""


def measured_loss(
    counts: Mapping[Secret, NDArray[np.int64]],
    weights: NDArray[np.int64],
    /,
    *,
    pairs: Pairs,
    epsilon: float,
    confidence: float | None = None,
    unsure: Mapping[Secret, Fraction] | None = None,
    groups: Mapping[Secret, Sequence[int]] | None = None,
) -> Verification:
    """The loss under these frequencies, or under every law that they do not refute with this confidence.

    Its lower bound is that under the frequencies themselves. Of a share of the rows the input may be unsure, as it is
    where they were counted in other cells; then it is that of some law with these frequencies.
    """
    channel = np.ldexp(weights.astype(np.float64), -TOTAL_BITS)
    laws: dict[Secret, tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]] = {}
    for secret, often in counts.items():
        inputs = channel if groups is None else channel[list(groups[secret])]
        often = often if groups is None else often[list(groups[secret])]
        own, (high, low) = often / often.sum() @ inputs, (inputs.max(axis=0), inputs.min(axis=0))
        spread = high - low
        apart = spread * (float(unsure[secret]) if unsure else 0.0)
        away = 0.0 if confidence is None else distance_left(often, secrets=len(counts), confidence=confidence)
        most = np.minimum(own + away * spread + apart, high) * (1 + _ERROR)
        least = np.maximum(own - away * spread - apart, low) * (1 - _ERROR)
        laws[secret] = ((own - apart).clip(0.0), own + apart), most, least
    named = (
        [(a, b) for a in laws for b in laws if a != b]
        if pairs == "all"
        else [p for a, b in pairs for p in ((a, b), (b, a))]
    )
    odds = math.exp(min(epsilon, _LARGEST_LOG))
    pure, stick = (0.0, 0.0), (0.0, 0.0)
    for one, other in named:
        ((own, _), most, _), ((_, own_other), _, least) = laws[one], laws[other]
        pure = max(pure[0], _ratio(own, own_other) * (1 - _ERROR)), max(pure[1], _ratio(most, least))
        found = float((own - odds * own_other).clip(0.0).sum()) * (1 - _ERROR) - _ERROR
        bound = float((most - odds * (1 - _ERROR) * least).clip(0.0).sum()) * (1 + _ERROR)
        stick = max(stick[0], found), max(stick[1], min(1.0, bound))
    return Verification(
        pure_loss=Bracket(lower=pure[0], upper=max(pure)),
        hockey_stick=Bracket(lower=stick[0], upper=max(stick)),
        epsilon=epsilon,
    )


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
    """The same of a channel for rows of each secret and level; no more than its cap, which was checked exactly."""
    found = measured_loss(
        channel.placed(counts),
        channel.weights,
        pairs=pairs,
        epsilon=epsilon,
        confidence=confidence,
        unsure=unsure,
        groups=channel.problem.groups,
    )
    cap = channel.problem.cap
    return found if cap is None else replace(found, pure_loss=_at_most(found.pure_loss, cap))


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
