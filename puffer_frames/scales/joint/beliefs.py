"""The adversary's beliefs about whole rows of several columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.joint_counts import JointCounts
from puffer_frames.priors.prior import Secret
from puffer_frames.scales.beliefs import ONLY
from puffer_frames.scales.learned import Bootstrap, Contamination, LearnedBelief

EMPIRICAL = "empirical"


@dataclass(frozen=True, slots=True, kw_only=True)
class JointBelief:
    """One belief that the guarantee covers."""

    tables: tuple[JointCounts, ...]
    """Frequencies of rows; the guarantee is under those of each."""
    words: str
    """What it is, in a sentence."""
    learned: LearnedBelief | None = None
    """The entry that it was learned from, where there is one."""
    shares: Mapping[Secret, float] | None = None
    """With which probability each row of a secret is replaced by anything on the domain, where there is one."""

    def clipped(self, bounds: Mapping[int, Bounds], /) -> JointBelief:
        """With the values of each column within its bounds."""
        tables = []
        for table in self.tables:
            counts = {}
            for secret, (points, often) in table.counts.items():
                inside = points.copy()
                for k, (low, high) in bounds.items():
                    inside[:, k] = inside[:, k].clip(low, high)
                counts[secret] = inside, often
            tables.append(replace(table, counts=counts))
        return replace(self, tables=tuple(tables))


def check_entries(entries: Sequence[Any], /) -> None:
    """Raise ArgumentError for beliefs that are not about whole rows."""
    known = (ONLY, "fitted", EMPIRICAL)
    if any(not isinstance(entry, (JointCounts, Bootstrap, Contamination)) and entry not in known for entry in entries):
        raise ArgumentError(
            "beliefs",
            rule='"empirical", frames, Bootstrap() and Contamination() for several public columns',
            got="others",
            hint="For later rows say Contamination(share=0.02), or a larger share, which covers more of them. For any "
            'law within domain={column: (low, high)} say Noise(theorem="bounded"), and leave beliefs out.',
        )


def joint_beliefs(entries: Sequence[Any], joint: JointCounts, /) -> dict[str, JointBelief]:
    """The beliefs by name. Frames add to the observed frequencies, unless "only" or another belief is named.

    Raises
    ------
    ArgumentError
        For a frame that lacks a secret.
    """
    check_entries(entries)
    named: dict[str, JointBelief] = {}
    words = any(isinstance(entry, str) and entry != ONLY for entry in entries)
    if words or all(isinstance(entry, JointCounts) for entry in entries):
        named[EMPIRICAL] = JointBelief(tables=(joint,), words="the observed frequencies of whole rows of these columns")
    for entry in entries:
        if isinstance(entry, JointCounts):
            number = 1 + sum(name.startswith("other table") for name in named)
            name = "other table" if number == 1 else f"other table {number}"
            named[name] = JointBelief(tables=(_like(entry, joint),), words="the frequencies of rows of another table")
        elif isinstance(entry, Contamination):
            shares = {secret: entry.share_of(secret, rows) for secret, rows in joint.rows_per_secret.items()}
            named[entry.title] = JointBelief(tables=(joint,), words=entry.words, learned=entry, shares=shares)
        elif isinstance(entry, Bootstrap):
            named[entry.title] = JointBelief(tables=_resampled(entry, joint), words=entry.words, learned=entry)
    return named


def joint_words(entries: Sequence[Any], /) -> dict[str, str]:
    """The names and words that `joint_beliefs` gives these entries."""
    none = JointCounts(columns=(), counts={}, labels={})
    empty = [replace(entry, counts={}) if isinstance(entry, JointCounts) else entry for entry in entries]
    return {name: belief.words for name, belief in joint_beliefs(empty, none).items()}


def _like(other: JointCounts, joint: JointCounts) -> JointCounts:
    """The secrets of a table in another one."""
    missing = next((secret for secret in joint.counts if secret not in other.counts), None)
    if missing is not None:
        raise ArgumentError(
            "a frame among the beliefs",
            rule="one with every secret of the protected pairs",
            got=f"one without {missing!r}",
            hint="List the pairs to protect without this secret, or leave the frame out.",
        )
    return replace(other, counts={secret: other.counts[secret] for secret in joint.counts})


def _resampled(entry: Bootstrap, joint: JointCounts) -> tuple[JointCounts, ...]:
    rng, tables = np.random.default_rng(int(entry.seed)), []
    for _ in range(int(entry.resamples)):
        counts = {}
        for secret, (points, often) in joint.counts.items():
            drawn = rng.multinomial(int(often.sum()), often / often.sum())
            counts[secret] = points[drawn > 0], drawn[drawn > 0]
        tables.append(replace(joint, counts=counts))
    return tuple(tables)
