r"""Rows whose labels are random, as members of every group: with weights whose mean is 1 in their own and 0 in others.

With the probability A[x, y] of the released label y for the raw label x, and the left inverse :math:`B = (A^\top)^+`,
the weight :math:`w_g(y) = B_{gy}` has :math:`E[w_g(Y) \mid x] = 1\{x = g\}`. So with independent noise in z,
:math:`\sum_i w_g(Y_i)\,t(Z_i)` has the mean that the sum over the raw rows of the group has, whatever their values are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError, ArgumentTypeError
from puffer_frames.priors.prior import FloatArray
from puffer_frames.verbs.estimating.estimated import Scores
from puffer_frames.verbs.estimating.levels import as_level, inverse_of, prepared_notes, response_of, unknown_channel
from puffer_frames.verbs.estimating.moments import Figure, mean_of_members
from puffer_frames.verbs.estimating.noisy import NoisyColumn
from puffer_frames.verbs.estimating.regression import RowWeights
from puffer_frames.verbs.estimating.released_columns import ReleasedColumns

_MOST_ENTRIES = 50_000_000
"""Rows times groups."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Weights of rows in groups."""

    levels: tuple[tuple[Any, ...], ...]
    """Of the columns, for each group."""
    weights: FloatArray
    """Shape (rows, groups)."""
    notes: tuple[str, ...] = ()

    def numbers(self, place: int, name: str, /) -> FloatArray:
        """The levels of one of the columns as numbers, per group; raises ArgumentTypeError for labels."""
        levels = [level[place] for level in self.levels]
        if not are_numbers(levels):
            raise ArgumentTypeError(
                f"the column {name!r}",
                rule="of numbers",
                got="labels",
                hint="Name it as by=, or write .value_counts(column).",
            )
        return np.array(levels, dtype=np.float64)

    def beside(self, other: Members, /) -> Members:
        """Groups by the columns of both, whose draws are independent; those without any weight are left out."""
        rows, count = len(self.weights), len(self.levels) * len(other.levels)
        if rows * count > _MOST_ENTRIES:
            raise ArgumentError(
                "the columns of labels",
                rule=f"of few groups: {_MOST_ENTRIES:,} rows times groups at most",
                got=f"{count:,} groups of {rows:,} rows",
                hint="Name fewer columns, or those with fewer levels.",
            )
        weights = (self.weights[:, :, None] * other.weights[:, None, :]).reshape(rows, count)
        there = np.flatnonzero(np.any(weights != 0.0, axis=0))
        levels = [own + more for own in self.levels for more in other.levels]
        notes = tuple(dict.fromkeys(self.notes + other.notes))
        return Members(levels=tuple(levels[k] for k in there.tolist()), weights=weights[:, there], notes=notes)


def members_of(columns: ReleasedColumns, names: Sequence[str], /) -> Members:
    """The groups by some columns of labels, random ones or as they were.

    Raises ArgumentError where the certificate does not tell what was done to the labels.
    """
    found = Members(levels=((),), weights=np.ones((columns.rows, 1)))
    order: list[str] = []
    for name in names:
        if name in order:
            continue
        together = tuple(columns.certificate.channels.get(name, {}).get("columns", (name,)))
        own = tuple(each for each in names if each in together)
        found = found.beside(_of_one_draw(columns, own, together))
        order += own
    places = [order.index(name) for name in names]
    levels = tuple(tuple(level[place] for place in places) for level in found.levels)
    return Members(levels=levels, weights=found.weights, notes=found.notes)


def _of_one_draw(columns: ReleasedColumns, names: Sequence[str], together: Sequence[str]) -> Members:
    """Groups by columns that one channel drew, by one of randomised response, or by one that was kept."""
    channel = columns.certificate.channels.get(names[0])
    if channel is None:
        columns.require_kept(names[0])
        coded = columns.table.coded(names[0])
        weights = np.zeros((columns.rows, len(coded.levels)))
        weights[np.arange(columns.rows), coded.codes] = 1.0
        return Members(levels=tuple((level,) for level in coded.levels), weights=weights)
    if "count" in channel:
        coded, places, shares = response_of(columns, names[0])
        weights = np.empty((columns.rows, len(coded.levels)))
        for stratum, (kept, other) in enumerate(shares):
            own = places == stratum
            weights[own] = -other / (kept - other)
            weights[own, coded.codes[own]] = (1.0 - other) / (kept - other)
        return Members(levels=tuple((level,) for level in coded.levels), weights=weights)
    if "matrix" not in channel:
        raise unknown_channel(names[0], sees_secret=channel.get("sees") == "secret")
    inverse, released = inverse_of(columns, channel, together)
    inputs = [as_level(level) for level in channel["inputs"]]
    parts = [tuple(level[together.index(name)] for name in names) for level in inputs]
    levels = tuple(dict.fromkeys(parts))
    sums = np.array([[float(part == level) for part in parts] for level in levels])
    return Members(levels=levels, weights=(sums @ inverse)[:, released].T, notes=prepared_notes(columns))


def are_numbers(levels: Sequence[Any], /) -> bool:
    """Whether levels are numbers, none of them a truth value."""
    return all(isinstance(level, (int, float)) and not isinstance(level, bool) for level in levels)


def means_of_members(
    columns: ReleasedColumns,
    name: str,
    by: Sequence[str],
    own: NoisyColumn | None,
    design: FloatArray,
    /,
    *,
    population: bool,
) -> tuple[list[tuple[Any, ...]], list[tuple[Figure, Scores]], tuple[str, ...]]:
    """The mean of a column in each group, where labels of groups or the column itself are random; with notes.

    `own` is the column where it has noise or was kept, None for one of a channel.
    """
    members = members_of(columns, by if own is not None else [*by, name])
    values = members.numbers(len(by), name)[None, :] if own is None else own.values[:, None]
    variances = np.zeros(columns.rows) if own is None else own.variances
    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, level in enumerate(members.levels):
        groups.setdefault(level[: len(by)], []).append(place)
    found = [
        mean_of_members(
            values[:, places] if own is None else values,
            variances,
            members.weights[:, places],
            design,
            population=population,
        )
        for places in groups.values()
    ]
    return list(groups), found, members.notes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """The columns of a regression, with an entry for each level that a random label of a row may stand for."""

    y: NoisyColumn
    on: tuple[NoisyColumn, ...]
    names: tuple[str, ...]
    """Of the terms: a column of numbers has one, one of labels one for each level but the first."""
    weights: RowWeights | None
    notes: tuple[str, ...]


def terms_of(
    columns: ReleasedColumns, y: str, on: Sequence[str], numbers: dict[str, NoisyColumn], design: FloatArray | None, /
) -> Terms:
    """The terms of a regression of one column on others; `numbers` are those with noise, and kept ones of numbers."""
    random = [name for name in (y, *on) if name in columns.certificate.channels]
    if not random and design is None and all(name in numbers for name in (y, *on)):
        return Terms(y=numbers[y], on=tuple(numbers[name] for name in on), names=tuple(on), weights=None, notes=())
    members = members_of(columns, random)
    if not np.allclose(members.weights.sum(axis=1), 1.0):
        raise ArgumentError(
            "the labels of the release",
            rule="all levels that there are, for a regression on them",
            got="fewer",
            hint="Write .mean(column, by=labels), or leave these columns out.",
        )
    rows, count = columns.rows, len(members.levels)
    entries = np.repeat(np.arange(rows), count)

    def levels_of(name: str) -> list[Any]:
        """The level of each entry."""
        if name in random:
            return [level[random.index(name)] for level in members.levels] * rows
        levels = columns.table.coded(name).levels
        return [levels[code] for code in columns.table.coded(name).codes[entries].tolist()]

    def parts(name: str) -> list[tuple[str, NoisyColumn]]:
        if name in numbers:
            return [(name, numbers[name].rows(entries))]
        own = levels_of(name)
        if are_numbers(own):
            return [(name, NoisyColumn.exact(np.array(own, dtype=np.float64)))]
        different = sorted(set(own), key=lambda level: (level is None, str(level)))
        place_of = {level: k for k, level in enumerate(different)}
        places = np.array([place_of[level] for level in own])
        return [
            (f"{name}_{level}", NoisyColumn.exact((places == k + 1).astype(np.float64)))
            for k, level in enumerate(different[1:])
        ]

    if y in random:
        members.numbers(random.index(y), y)
    made = [part for name in on for part in parts(name)]
    weights = RowWeights(
        members=members.weights.ravel(),
        design=np.ones(rows * count) if design is None else design[entries],
        starts=np.arange(rows) * count,
    )
    return Terms(
        y=parts(y)[0][1],
        on=tuple(column for _, column in made),
        names=tuple(name for name, _ in made),
        weights=weights,
        notes=members.notes,
    )
