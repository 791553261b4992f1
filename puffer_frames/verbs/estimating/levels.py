r"""How often each level occurs behind a channel, from what its certificate tells of it.

With counts c of the released levels and the probability A[i, j] of level j for input i, :math:`E\,c = A^\top n`, so
that :math:`B c` with the left inverse :math:`B = (A^\top)^+` is an unbiased estimate of the counts n of the inputs. It
may be negative. Its covariance is :math:`B \operatorname{Cov}(c) B^\top`.

Rows whose labels are random, as members of every group: with weights whose mean is 1 in their own and 0 in others.

With the probability A[x, y] of the released label y for the raw label x, and the left inverse :math:`B = (A^\top)^+`,
the weight :math:`w_g(y) = B_{gy}` has :math:`E[w_g(Y) \mid x] = 1\{x = g\}`. So with independent noise in z,
:math:`\sum_i w_g(Y_i)\,t(Z_i)` has the mean that the sum over the raw rows of the group has, whatever their values are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from puffer_frames.errors import ArgumentError
from puffer_frames.frames.coded import Coded
from puffer_frames.noise.channel import is_unmixable
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.estimating.estimated import Scores
from puffer_frames.verbs.estimating.moments import Figure, RowWeights, mean_of_members, variance_of_members
from puffer_frames.verbs.estimating.released_columns import NoisyColumn, ReleasedColumns, of_labels


def unmixed(counts: FloatArray, matrix: FloatArray, /, *, population: bool) -> tuple[FloatArray, FloatArray]:
    r"""Rows per input, and the covariance of the estimate.

    - `counts` (array, shape (outputs,)): Rows per released level.
    - `matrix` (array, shape (inputs, outputs)): Probabilities of released levels; `is_unmixable`.
    - `population`: Whether the rows are draws of a population: then Cov(c) is that of a multinomial. Else it is
      :math:`\sum_i n_i (\operatorname{diag} A_i - A_i A_i^\top)`, with estimates of n that are cut at 0.
    """
    inverse = np.linalg.pinv(matrix.T)
    found = inverse @ counts
    if population:
        spread = np.diag(counts) - np.outer(counts, counts) / counts.sum()
    else:
        held = found.clip(0.0)
        spread = np.diag(held @ matrix) - (matrix * held[:, None]).T @ matrix
    return found, inverse @ spread @ inverse.T


def response_shares(levels: int, cap: float | None, /) -> tuple[float, float]:
    """The probability that randomised response keeps a label, and that it becomes a certain other one.

    `cap` is the largest log-ratio of the two, None for labels that stay as they are.
    """
    if cap is None or levels < 2:
        return 1.0, 0.0
    kept = 1.0 / (1.0 + (levels - 1) * math.exp(-cap))
    return kept, (1.0 - kept) / (levels - 1)


def unmixed_response(
    counts: FloatArray, kept: float, other: float, /, *, population: bool
) -> tuple[FloatArray, FloatArray]:
    """Rows per level behind randomised response, and their variances, for any of its levels.

    - `counts` (array): Rows per released level, of those that occur.
    - `kept`, `other`: As `response_shares` gives them.
    - `population`: As in `unmixed`.
    """
    rows = float(counts.sum())
    found = (counts - rows * other) / (kept - other)
    if population:
        spread = counts * (1.0 - counts / rows)
    else:
        held = found.clip(0.0, rows)
        spread = held * kept * (1.0 - kept) + (rows - held) * other * (1.0 - other)
    return found, spread / (kept - other) ** 2


_ALIKE = 1e-9
"""Two probabilities this close say nothing of a label."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelFigures:
    """Rows per level."""

    levels: Mapping[str, tuple[Any, ...]]
    """The levels of each column."""
    counts: FloatArray
    errors: FloatArray
    covariance: FloatArray | None = None
    notes: tuple[str, ...] = ()


def counts_of_levels(columns: ReleasedColumns, names: Sequence[str], /, *, population: bool) -> LevelFigures:
    """Estimate the rows per level of a column of labels, or of a channel; of several columns of one draw together.

    Raises ArgumentError where the certificate does not tell what the channel does, and for a column with noise.
    """
    certificate, name = columns.certificate, names[0]
    if name in certificate.scales:
        rule = "of labels, or released through a channel"
        hint = "Write .histogram(column, bins)."
        raise ArgumentError(f"the column {name!r}", rule=rule, got="one of noisy numbers", hint=hint)
    found = certificate.channels.get(name)
    together = tuple((found or {}).get("columns", (name,)))
    if not set(names) <= set(together):
        rule = "one column, or several that went through one channel"
        raise ArgumentError("column", rule=rule, got="several others", hint="Ask for each by itself.")
    if found is not None and "count" in found:
        return _behind_responses(columns, name, population=population)
    keeps = found is not None and found["preserve"] == "marginal" and _is_the_plans(columns)
    if found is not None and "matrix" not in found and not keeps:
        raise unknown_channel(name, sees_secret=found.get("sees") == "secret")
    if found is not None and "matrix" in found and not (keeps and columns.is_lost(name)):
        return _behind_matrix(columns, found, together, names, population=population)
    levels, counts = _released(columns, names)
    errors = np.sqrt(counts * (1 - counts / counts.sum()))
    # the shares of the rows are kept, not of the population: the variances of draw and channel add
    kept_errors = errors * math.sqrt(1 + population)
    own = {name: tuple(level[k] for level in levels) for k, name in enumerate(names)}
    if found is None:
        return LevelFigures(levels=own, counts=counts, errors=errors if population else np.zeros(counts.size))
    return LevelFigures(levels=own, counts=counts, errors=kept_errors, notes=(*_KEPT, *prepared_notes(columns)))


def mean_kept(columns: ReleasedColumns, name: str, /, *, population: bool) -> tuple[Any, ...] | None:
    """The mean of a channel that keeps it on average, with notes; None for another channel.

    The error of the channel alone is not known, and at most that of as many draws of released values. How far the mean
    of the rows is from that of a population depends on the spread of the raw values, which may be any.
    Raises ArgumentError for a population, unless the table of probabilities is published, too.
    """
    found = columns.certificate.channels[name]
    if found["preserve"] != "mean" or "cells" in columns.certificate.facts.prepared or not _is_the_plans(columns):
        return None
    if population and "matrix" in found and not columns.is_lost(name):
        return None
    if population:
        rule = '"table" for a mean that the channel keeps on average'
        hint = "Leave it out: the spread of the raw values is not known, on which intervals for a population rest."
        raise ArgumentError("target", rule=rule, got='"population"', hint=hint)
    values = columns.table.values(name)
    error = float(values.std(ddof=1)) / math.sqrt(values.size) if values.size > 1 else math.nan
    return Figure(float(values.mean()), error), *_KEPT, *prepared_notes(columns)


_KEPT = ("the channel keeps this on average; the standard error is an upper bound, as its probabilities are not known",)


def _released(columns: ReleasedColumns, names: Sequence[str]) -> tuple[list[tuple[Any, ...]], FloatArray]:
    """The released levels, those of several columns together, and how many rows have each."""
    levels, places = _released_levels(columns, names)
    return levels, np.bincount(places, minlength=len(levels)).astype(np.float64)


def _released_levels(columns: ReleasedColumns, names: Sequence[str]) -> tuple[list[tuple[Any, ...]], IndexArray]:
    """The released levels, those of several columns together, and which one each row has."""
    for name in names:
        columns.check_numeric(name)
    if columns.table.kind_of(names[0]) == "numbers":
        values, places = np.unique(columns.table.values(names[0]), return_inverse=True)
        return [(value,) for value in values.tolist()], places
    coded = [columns.table.coded(name) for name in names]
    codes = np.stack([column.codes for column in coded], axis=1)
    found, places = np.unique(codes, axis=0, return_inverse=True)
    levels = [tuple(own.levels[code] for own, code in zip(coded, row, strict=True)) for row in found.tolist()]
    return levels, places.ravel()


def as_level(entry: Any, /) -> tuple[Any, ...]:
    """A level of a certificate, of one column or of several, by column."""
    return tuple(entry) if isinstance(entry, (list, tuple)) else (entry,)


def inverse_of(columns: ReleasedColumns, found: Any, together: Sequence[str], /) -> tuple[FloatArray, IndexArray]:
    """The inverse of a published table, shape (inputs, outputs), and which output each row has.

    Raises ArgumentError for a table that has none, and for levels that it has not.
    """
    matrix = np.array(found["matrix"], dtype=np.float64)
    if not is_unmixable(matrix):
        raise ArgumentError(
            "the published table of probabilities",
            rule="one under which different levels lead to different shares of released ones",
            got="one under which some cannot be told apart",
            hint="No estimate that rests on this column can be made from this release.",
        )
    places = {as_level(level): k for k, level in enumerate(found["levels"])}
    levels, rows = _released_levels(columns, together)
    if not places.keys() >= set(levels):
        raise _changed()
    inverse: FloatArray = np.linalg.pinv(matrix.T).astype(np.float64)
    return inverse, np.array([places[level] for level in levels], dtype=np.intp)[rows]


def _behind_matrix(
    columns: ReleasedColumns, found: Any, together: Sequence[str], names: Sequence[str], *, population: bool
) -> LevelFigures:
    matrix = np.array(found["matrix"], dtype=np.float64)
    _, released = inverse_of(columns, found, together)
    counts = np.bincount(released, minlength=matrix.shape[1]).astype(np.float64)
    made, spread = unmixed(counts, matrix, population=population)
    wanted, sums = _parts_of(found["inputs"], together, names)
    covariance = sums @ spread @ sums.T
    return LevelFigures(
        levels={name: tuple(level[k] for level in wanted) for k, name in enumerate(names)},
        counts=sums @ made,
        errors=np.sqrt(np.diag(covariance).clip(0.0)),
        covariance=covariance,
        notes=prepared_notes(columns),
    )


def _parts_of(
    inputs: Sequence[Any], together: Sequence[str], names: Sequence[str]
) -> tuple[tuple[tuple[Any, ...], ...], FloatArray]:
    """The levels of some of the columns of a channel, and which of its inputs have each, shape (levels, inputs)."""
    parts = [tuple(level[together.index(name)] for name in names) for level in map(as_level, inputs)]
    wanted = tuple(dict.fromkeys(parts))
    return wanted, np.array([[float(part == level) for part in parts] for level in wanted])


def response_of(columns: ReleasedColumns, name: str, /) -> tuple[Coded, IndexArray, list[tuple[float, float]]]:
    """A column of randomised response, the stratum of each row, and the shares of each stratum that has rows.

    The shares are those of `response_shares`. Raises ArgumentError for levels that the certificate has not, and where
    a label says nothing of the raw one.
    """
    certificate, coded = columns.certificate, columns.table.coded(name)
    found = certificate.channels[name]
    levels, caps = int(found["count"]), [found["cap"]]
    places = np.zeros(coded.codes.size, dtype=np.intp)
    if certificate.strata:
        caps, places = [stratum["caps"][name] for stratum in certificate.strata], columns.stratum_of_rows()
    if len(coded.levels) > levels:
        raise _changed()
    shares = [response_shares(levels, cap) for cap in caps]
    if any(shares[place][0] - shares[place][1] < _ALIKE for place in np.unique(places).tolist()):
        rule = "released so that a label says something of the raw one"
        got = "labels that are as likely whatever the raw one is"
        raise ArgumentError(f"the column {name!r}", rule=rule, got=got, hint="Ask the issuer for a larger epsilon.")
    return coded, places, shares


def _behind_responses(columns: ReleasedColumns, name: str, *, population: bool) -> LevelFigures:
    """Behind randomised response, stratum by stratum where it differs."""
    coded, places, shares = response_of(columns, name)
    counts, variances = np.zeros(len(coded.levels)), np.zeros(len(coded.levels))
    for stratum in np.unique(places).tolist():
        own = np.bincount(coded.codes[places == stratum], minlength=len(coded.levels)).astype(np.float64)
        some, spread = unmixed_response(own, *shares[stratum], population=population)
        counts, variances = counts + some, variances + spread
    return LevelFigures(levels={name: coded.levels}, counts=counts, errors=np.sqrt(variances))


def _is_the_plans(columns: ReleasedColumns) -> bool:
    """Whether the rows are those that the channel was made for, all of them."""
    return not columns.derived and not columns.certificate.facts.other_rows


def prepared_notes(columns: ReleasedColumns, /) -> tuple[str, ...]:
    """What was done to the levels before the release."""
    done = {
        "merged": "rare levels were merged into one before the release",
        "cells": "values were put into cells before the release; a level is the median of its cell",
        "clipped": "values beyond the domain were moved to its ends before the release",
    }
    return tuple(text for word, text in done.items() if word in columns.certificate.facts.prepared)


def _require_values(columns: ReleasedColumns, names: Sequence[str], what: str) -> None:
    """Raise ArgumentError for a channel whose levels are medians of cells: figures of these are not of the values."""
    if "cells" in columns.certificate.facts.prepared and set(names) & set(columns.certificate.channels):
        raise ArgumentError(
            f"the column {names[0]!r}",
            rule=f"released with its values, for {what}",
            got="medians of cells, from which the mean of the values in a cell may be far",
            hint='Ask the issuer for mechanism="noise", or for a column of at most 256 different values.',
        )


def unknown_channel(name: str, /, *, sees_secret: bool) -> ArgumentError:
    """The error of a column whose channel has no published table."""
    hint = "Ask the issuer for Channel(publish_matrix=True), which publishes counts of the table too: what the channel "
    hint += "does may then be undone, where it leaves all levels to be told apart, as plan and certificate say."
    if sees_secret:
        hint = 'Ask for preserve="marginal", which keeps the shares on average, or for one by the value alone with '
        hint += "Channel(publish_matrix=True): no table of values undoes a channel that sees the secret."
    rule = "released through a channel whose table of probabilities is published"
    got = "one whose table is not: released levels are biased, and nothing tells by how much"
    return ArgumentError(f"the column {name!r}", rule=rule, got=got, hint=hint)


def _changed() -> ArgumentError:
    rule = "those of the certificate"
    hint = "Estimate from the release as it was made."
    return ArgumentError("the released levels", rule=rule, got="others: they were changed since", hint=hint)


_MOST_ENTRIES = 50_000_000
"""Rows times groups."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Weights of rows in groups."""

    levels: tuple[tuple[Any, ...], ...]
    """The columns' levels in each group."""
    weights: FloatArray
    """Shape (rows, groups)."""
    notes: tuple[str, ...] = ()

    def numbers(self, place: int, name: str, /) -> FloatArray:
        """The levels of one of the columns as numbers, per group; raises ArgumentTypeError for labels."""
        levels = [level[place] for level in self.levels]
        if not are_numbers(levels):
            raise of_labels(name)
        return np.array(levels, dtype=np.float64)

    def beside(self, other: Members, /) -> Members:
        """Groups by the columns of both, whose draws are independent; those without any weight are left out."""
        rows, count = len(self.weights), len(self.levels) * len(other.levels)
        if rows * count > _MOST_ENTRIES:
            rule = f"of few groups: {_MOST_ENTRIES:,} rows times groups at most"
            hint = "Name fewer columns, or those with fewer levels."
            raise ArgumentError("the columns of labels", rule=rule, got=f"{count:,} groups of {rows:,} rows", hint=hint)
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
    levels, sums = _parts_of(channel["inputs"], together, names)
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
    ddof: int | None = None,
) -> tuple[list[tuple[Any, ...]], list[tuple[Figure, Scores]], tuple[str, ...]]:
    """The mean of a column in each group, where labels of groups or the column itself are random; with notes.

    `own` is the column where it has noise or was kept, None for one of a channel. With `ddof` it is the variance.
    """
    if own is None:
        _require_values(columns, [name], "a mean")
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
        if own is None or ddof is None
        else variance_of_members(own, members.weights[:, places], population=population, ddof=ddof)
        for places in groups.values()
    ]
    return list(groups), found, members.notes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Terms:
    """The columns of a regression, with an entry for each level that a random label of a row may stand for."""

    y: NoisyColumn
    on: tuple[NoisyColumn, ...]
    names: tuple[str, ...]
    """Names of the terms: a column of numbers has one, one of labels one for each level but the first."""
    weights: RowWeights | None
    notes: tuple[str, ...]


def terms_of(
    columns: ReleasedColumns, y: str, on: Sequence[str], numbers: dict[str, NoisyColumn], design: FloatArray | None, /
) -> Terms:
    """The terms of a regression of one column on others; `numbers` are those with noise, and kept ones of numbers."""
    random = [name for name in (y, *on) if name in columns.certificate.channels]
    if not random and design is None and all(name in numbers for name in (y, *on)):
        return Terms(y=numbers[y], on=tuple(numbers[name] for name in on), names=tuple(on), weights=None, notes=())
    _require_values(columns, random, "a regression")
    members = members_of(columns, random)
    if not np.allclose(members.weights.sum(axis=1), 1.0):
        rule = "all levels that there are, for a regression on them"
        hint = "Write .mean(column, by=labels), or leave these columns out."
        raise ArgumentError("the labels of the release", rule=rule, got="fewer", hint=hint)
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
