"""A public column as a channel sees it: a few inputs, and how often each occurs with each secret."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, CalibrationError, RareLevelsWarning, warn
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.mechanisms.channel.problem import cost_matrix
from puffer_frames.noise.channel import MOST_LEVELS
from puffer_frames.priors.pairs import Groups
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Counts, Level, LevelCounts, Summary

RARE = 5
"""A level of fewer rows, over all secrets, is rare."""
OTHER = "other"
"""The level that rare ones are merged into."""

LevelTable = Mapping[Secret, NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputColumn:
    """The inputs of a channel, and what of the column belongs to each."""

    levels: tuple[Level, ...]
    """A level for each input; of cells their medians."""
    counts: LevelTable
    """Rows of each input, per secret, shape (inputs,)."""
    cost: FloatArray
    """Cost of each level in place of each input, shape (inputs, inputs)."""
    public: bool
    """Whether the levels were declared, and are not learned from the table."""
    edges: FloatArray | None = None
    """Of numbers: the input of a value is the number of these that are at most the value, shape (inputs - 1,)."""
    in_cells: bool = False
    """Whether an input stands for several numbers."""
    costs: Mapping[Secret, FloatArray] | None = None
    """Of cells, for a channel that sees the secret: the cost by secret, for the rows of each cell that have it."""
    codes: Mapping[Level, int] | None = None
    """Of labels: the input of each."""
    is_partial: bool = False
    """Whether the levels are tuples of labels, and not all tuples there are."""

    @property
    def pooled(self) -> NDArray[np.int64]:
        """Rows of each input in the whole table, as often as a row is in a group of secrets."""
        return np.sum(list(self.counts.values()), axis=0)

    def grouped(self, groups: Groups, /) -> InputColumn:
        """The rows of each group of secrets; a secret may be in several."""
        return replace(self, counts={own: np.sum([self.counts[s] for s in of], axis=0) for own, of in groups.items()})

    def counted(self, pair: Counts, /) -> NDArray[np.int64]:
        """Rows of each input among numbers that occur so often."""
        assert self.edges is not None
        values, often = pair
        places = np.searchsorted(self.edges, values, side="right")
        return np.bincount(places, weights=often, minlength=len(self.levels)).astype(np.int64)

    def has(self, values: FloatArray, /) -> bool:
        """Whether numbers may be in the column; cells hold all."""
        return self.in_cells or bool(np.isin(values, np.array(self.levels, dtype=np.float64)).all())

    def unsure(self, pair: Counts, /, *, radius: float) -> int:
        """Rows of a table that was counted in cells of its own which lie on both sides of an edge."""
        assert self.edges is not None
        if not radius:
            return 0
        values, often = pair
        starts = _cell_starts(values, radius)
        lasts = np.nextafter(starts + 2 * radius, -np.inf)
        apart = np.searchsorted(self.edges, starts, side="right") != np.searchsorted(self.edges, lasts, side="right")
        return int(often[apart].sum())

    def labelled(self, other: LevelCounts, /) -> LevelTable:
        """Rows of each input in another table.

        Raises CalibrationError for a level that the column does not have.
        """
        assert self.codes is not None
        unknown = [level not in self.codes for level in other.levels]
        if any(unknown):
            rows = sum(int(counts[unknown].sum()) for counts in other.counts.values())
            raise _other_levels(rows)
        places = np.array([self.codes[level] for level in other.levels], dtype=np.intp)
        found = {}
        for secret, counts in other.counts.items():
            found[secret] = np.zeros(len(self.levels), dtype=np.int64)
            np.add.at(found[secret], places, counts)
        return found


def label_column(
    found: LevelCounts, options: Channel, /, *, declared: Sequence[Level] | None, merge_rare: int | None
) -> InputColumn:
    """A column of labels.

    - `declared` (sequence of levels): All that there may be, whether they occur or not.
    - `merge_rare`: Levels of fewer rows, over all secrets, are one level, "other".
    Raises ArgumentError for a level that was not declared, a column of one level, and one of more than 256.
    Warns RareLevelsWarning for levels of fewer than 5 rows.
    """
    levels = list(found.levels if declared is None else declared)
    typed = {(type(level), level) for level in levels}  # 1 is not True
    unknown = [level for level in found.levels if (type(level), level) not in typed]
    if unknown:
        raise ArgumentError(
            "domain",
            rule="all levels of the column",
            got=f"a list without {len(unknown)} of them",
            hint="Add them, or merge them into a declared one first.",
        )
    rows = dict.fromkeys(levels, 0)
    for k, level in enumerate(found.levels):
        rows[level] = sum(int(counts[k]) for counts in found.counts.values())
    rare = [level for level in levels if level is not None and merge_rare is not None and rows[level] < merge_rare]
    inputs = [level for level in levels if level not in rare]
    if rare and OTHER not in inputs:
        inputs.append(OTHER)
    codes = {level: inputs.index(OTHER if level in rare else level) for level in levels}
    _check_number(len(inputs))
    few = tuple(level for level in found.levels if level not in rare and rows[level] < RARE)
    if few:
        warn(RareLevelsWarning(few, fewest=RARE))
    column = InputColumn(
        levels=tuple(inputs),
        counts={},
        cost=cost_matrix(inputs, options.cost),
        public=declared is not None and merge_rare is None,  # which levels are rare is learned
        codes=codes,
    )
    return replace(column, counts=column.labelled(found))


def tuple_column(
    found: LevelCounts, options: Channel, /, *, columns: Sequence[str], declared: Mapping[str, Sequence[Level]]
) -> InputColumn:
    """Several columns of labels as one of tuples: those that occur, or all tuples where levels are declared.

    - `found`: Of tuples.
    - `columns` (sequence of str): Their names.
    - `declared` (mapping of column to levels): All that there may be. A column without has those that occur.
    Raises ArgumentError for a level that was not declared, a single tuple, and more than 256.
    """
    tuples = [cast(tuple[Level, ...], level) for level in found.levels]
    per_column = [declared.get(name, sorted({t[k] for t in tuples})) for k, name in enumerate(columns)]  # type: ignore[type-var]
    for name, own, levels in zip(columns, zip(*tuples, strict=True), per_column, strict=True):
        if missing := set(own) - set(levels):
            raise ArgumentError(
                "domain",
                rule=f"all levels of the column {name!r}",
                got=f"a list without {len(missing)} of them",
                hint="Add them, or merge them into a declared one first.",
            )
    every = math.prod(map(len, per_column))
    if every > MOST_LEVELS and declared:
        _check_number(every, of="combinations of levels")
    levels = list(itertools.product(*per_column)) if declared else tuples
    _check_number(len(levels), of="combinations of levels")
    rows = np.sum(list(found.counts.values()), axis=0)
    if few := tuple(level for level, count in zip(found.levels, rows, strict=True) if count < RARE):
        warn(RareLevelsWarning(few, fewest=RARE, of="combination"))
    column = InputColumn(
        levels=tuple(levels),
        counts={},
        cost=cost_matrix(levels, options.cost),
        public=all(name in declared for name in columns),
        codes={level: k for k, level in enumerate(levels)},
        is_partial=len(levels) < every,
    )
    return replace(column, counts=column.labelled(found))


def number_column(summary: Summary, options: Channel, /, *, declared: Sequence[float] | None) -> InputColumn:
    """A column of numbers: each of them an input, or cells of about equal shares where there are many.

    Raises ArgumentError for a column of one value, and for declared levels that are not all that occur.
    """
    summary = summary.at_middles()
    values = np.unique(np.concatenate([pair[0] for pair in summary.counts.values()]))
    if declared is not None:
        levels = np.unique(np.array(declared, dtype=np.float64))
        if summary.radius or not np.isin(values, levels).all():
            raise ArgumentError(
                "domain",
                rule="all values of the column, or its bounds (low, high)",
                got="a list without some of them",
                hint="Declare all values that there may be.",
            )
        values = levels
    _check_number(min(values.size, MOST_LEVELS))
    if summary.radius or values.size > MOST_LEVELS:
        return in_cells(summary, values, options)
    cost = cost_matrix(values.tolist(), options.cost)
    column = InputColumn(
        levels=tuple(values.tolist()), counts={}, cost=cost, public=declared is not None, edges=values[1:]
    )
    return _counted(column, summary)


def _counted(column: InputColumn, summary: Summary) -> InputColumn:
    return replace(column, counts={secret: column.counted(pair) for secret, pair in summary.counts.items()})


def in_cells(summary: Summary, values: FloatArray, options: Channel, /) -> InputColumn:
    """Cells of about equal shares; an output is the median of a cell, and costs what it costs each of its rows."""
    rows = np.zeros(values.size)
    for own, often in summary.counts.values():
        rows[np.searchsorted(values, own)] += often
    before = np.cumsum(rows) - 0.5 * rows
    cell = np.minimum((before * options.cells / rows.sum()).astype(np.intp), options.cells - 1)
    starts = np.flatnonzero(np.append(True, cell[1:] != cell[:-1]))
    ends = np.append(starts[1:], values.size)
    medians = np.array([_median(values[a:b], rows[a:b]) for a, b in zip(starts, ends, strict=True)])
    single, costs = cost_matrix(medians.tolist(), options.cost), None
    if isinstance(options.cost, str) and options.cost in ("auto", "absolute"):
        away = np.abs(values[:, None] - medians[None, :])
        single = _mean_costs(away, rows, starts, np.zeros_like(single))
        if options.sees_secret:
            costs = {}
            for secret, (own, often) in summary.counts.items():
                mine = np.zeros(values.size)
                mine[np.searchsorted(values, own)] = often
                costs[secret] = _mean_costs(away, mine, starts, single)
    column = InputColumn(
        levels=tuple(medians.tolist()),
        counts={},
        cost=single,
        public=False,
        edges=_cell_starts(values[starts[1:]], summary.radius),
        in_cells=True,
        costs=costs,
    )
    return _counted(column, summary)


def _mean_costs(away: FloatArray, rows: FloatArray, starts: NDArray[np.intp], empty: FloatArray) -> FloatArray:
    """What each output costs the rows of each cell on average; as `empty` says for a cell without rows."""
    often = np.add.reduceat(rows, starts)[:, None]
    total = np.add.reduceat(away * rows[:, None], starts)
    return np.where(often > 0, total / np.where(often > 0, often, 1.0), empty)


def _cell_starts(values: FloatArray, radius: float) -> FloatArray:
    """Where the cells of a grid begin, whose centres these are; a centre beyond a public bound was moved to the bound.

    Values that were not counted in cells are their own.
    """
    return np.floor(values / (2 * radius)) * (2 * radius) if radius else values


def _median(values: FloatArray, rows: FloatArray) -> float:
    return float(values[np.searchsorted(np.cumsum(rows), 0.5 * rows.sum())])


def _check_number(levels: int, *, of: str = "levels") -> None:
    """Raise ArgumentError for a column of one level, and of too many; several have combinations of these."""
    if not 2 <= levels <= MOST_LEVELS:
        several = of != "levels"
        raise ArgumentError(
            "the public columns together" if several else "the public column",
            rule=f"{'of' if several else 'one of'} 2 to {MOST_LEVELS} {of}",
            got=f"{levels:,}",
            hint="Leave a constant column out, or keep it."
            if levels < 2
            else "Leave mechanism out: each label is then drawn by itself."
            if several
            else "Release a coarser column.",
        )


def _other_levels(rows: int) -> CalibrationError:
    return CalibrationError(
        "the levels of the public column",
        rule="those of the plan",
        got=f"others in {rows:,} row{'s' * (rows != 1)}",
        hint="Calibrate again, with all levels that there may be in domain={column: [...]}.",
    )


def known_numbers(column: InputColumn, summary: Summary, /) -> None:
    """Raise CalibrationError for numbers that the column of a plan does not have; cells hold all."""
    if column.in_cells or column.edges is None:
        return
    rows = 0
    for values, often in summary.counts.values():
        rows += int(often[~np.isin(values, np.array(column.levels, dtype=np.float64))].sum())
    if rows:
        raise _other_levels(rows)
