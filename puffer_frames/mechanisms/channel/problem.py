"""What a channel must meet: the levels of its column, the laws, what they withstand, and the cost of an error."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ArgumentTypeError, CalibrationError, RareLevelsWarning, warn
from puffer_frames.frames.columns import LARGEST_INTEGER
from puffer_frames.frames.summary import too_many_levels
from puffer_frames.mechanisms.channel.options import Channel
from puffer_frames.noise.channel import MOST_LEVELS, MOST_NUMBERS
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.numbers.arguments import Target
from puffer_frames.priors.pairs import Groups, Pairs
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import OTHER, RARE, Counts, Level, LevelCounts, Summary


def is_numeric(levels: Sequence[Level], /) -> bool:
    """Whether levels are numbers that floats tell apart, none missing.

    Truth values are labels, and so are columns with integers beyond 2**53: these name something.
    """
    return all(
        isinstance(level, (int, float, np.number))
        and not isinstance(level, bool)
        and (isinstance(level, (float, np.floating)) or abs(int(level)) <= LARGEST_INTEGER)
        for level in levels
    )


def cost_word(levels: Sequence[Level], cost: Any, /) -> str:
    """What a cost is: "absolute", "change", "share" (of the labels that differ), or "given"."""
    if not isinstance(cost, str) or cost != "auto":
        return cost if isinstance(cost, str) else "given"
    if any(isinstance(level, tuple) for level in levels):
        return "share"
    return "absolute" if is_numeric(levels) else "change"


def cost_matrix(levels: Sequence[Level], cost: Any, /) -> FloatArray:
    """The cost of each level in place of each, shape (levels, levels): by default the distance of numbers, 1 for
    another label, and for tuples of labels the share of those that differ.

    Raises ArgumentError, ArgumentTypeError for a distance of labels, and for a function or matrix that gives anything
    but finite numbers of at least 0.
    """
    word = cost_word(levels, cost)
    if word == "share":
        return np.array([[np.mean([a != b for a, b in zip(x, y, strict=True)]) for y in levels] for x in levels])  # type: ignore[arg-type]
    if word == "change":
        return 1.0 - np.eye(len(levels))
    if word == "absolute":
        if not is_numeric(levels):
            raise ArgumentError(
                "cost",
                rule='"change", a function or a matrix for a column of labels, or of integers beyond 2**53',
                got='"absolute"',
                hint='Leave it out for "change".',
            )
        numbers = np.array(levels, dtype=np.float64)
        return np.abs(numbers[:, None] - numbers[None, :])
    given = _asked(cost, levels) if callable(cost) else cost
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            "cost",
            rule="a function that gives numbers, or a matrix of numbers",
            got="something else",
            hint="Leave it out, or write cost=lambda x, y: abs(rank[x] - rank[y]).",
        ) from None
    if found.shape != (len(levels), len(levels)):
        raise ArgumentError(
            "cost",
            rule=f"a matrix of {len(levels)} rows and columns, one for each level",
            got=f"shape {found.shape}",
            hint="The levels, in their order, are plan.channels[column].inputs.",
        )
    if not np.isfinite(found).all() or (found < 0).any():
        raise ArgumentError(
            "cost", rule="finite and at least 0", got="other numbers", hint="Take 0 for a level in its own place."
        )
    return found


def _asked(cost: Callable[[Level, Level], Any], levels: Sequence[Level]) -> list[list[Any]]:
    """What a function says of every pair of levels; the text of its error is often the level that it does not know."""
    try:
        return [[cost(x, y) for y in levels] for x in levels]
    except Exception as error:
        raise ArgumentError(
            "cost",
            rule="a function that knows every pair of levels",
            got=f"one that raises a {type(error).__name__} for some pair of {len(levels)} levels",
            hint='Calibrate with cost="change" first: plan.channels[column].inputs lists the levels.',
        ) from None


_FEW_SECRETS = 10
"""Up to so many, pairs are cheap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """A law of the input given a secret, and the laws around it that are covered too."""

    counts: tuple[int, ...]
    """In proportion to the probabilities of the inputs."""
    replaced: Fraction = Fraction(0)
    """The probability with which a row is replaced by anything, whatever its value (contamination)."""
    moved: Fraction = Fraction(0)
    """How far a law may be in total variation."""

    @property
    def is_widened(self) -> bool:
        """Whether other laws are covered too."""
        return bool(self.replaced or self.moved)

    @property
    def shares(self) -> FloatArray:
        """Probabilities of the inputs."""
        total = sum(self.counts)
        return np.array([count / total for count in self.counts])


Laws = Mapping[Secret, Law]
"""One law per secret: a belief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The channel with the least expected error that meets all of this."""

    beliefs: tuple[Laws, ...]
    """The adversaries."""
    target: Target
    pairs: Pairs
    cap: float | None
    """Bound of the loss under any law at all; None for none."""
    pooled: FloatArray
    """Law of the input in the whole table, by which the expected error is meant, shape (inputs,)."""
    cost: FloatArray
    """Cost of each output in place of each input, shape (inputs, outputs)."""
    kept: FloatArray | None = None
    """Linear statistics of the output, shape (statistics, outputs), whose mean under the pooled law is to be kept."""
    kept_means: FloatArray | None = None
    """These means, shape (statistics,)."""
    constant: FloatArray | None = None
    """A law of the output that keeps them, shape (outputs,)."""
    groups: Mapping[Secret, tuple[int, ...]] | None = None
    """For a channel that sees the secret: the inputs of each secret, in the order of its values, of all the same. None
    of one that sees the value alone: every input may be that of any secret."""
    reader_cap: float | None = None
    """For such a channel: a bound of what a reader who knows the value learns of the secret; None for none."""
    times: Mapping[Secret, float] | None = None
    """By what the costs of each secret were multiplied, so that all secrets have the same weight; None for nothing."""
    star: bool | None = None
    """Whether all pairs at delta 0 take the star form: the probability of an output given each secret lies between m
    and e^epsilon m. It has 2 rows for each output and secret where pairs have (secrets - 1), and is the same for single
    laws. Where other laws are covered it holds two laws of one secret together too, which is not asked for. By default
    where it is the same, and for more than 10 secrets."""

    @property
    def inputs(self) -> int:
        """Number of inputs."""
        return int(self.cost.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.cost.shape[1])

    def takes_star(self, laws: Laws, /) -> bool:
        """Whether a belief takes the star form."""
        if self.pairs != "all" or self.star is not None:
            return self.pairs == "all" and bool(self.star)
        return len(laws) > _FEW_SECRETS or not any(law.is_widened for law in laws.values())

    @property
    def is_sharp(self) -> bool:
        """Whether the program asks for no more than the guarantee: its value bounds all that see the value alone."""
        widened = [laws for laws in self.beliefs if any(law.is_widened for law in laws.values())]
        moved = any(law.moved for laws in widened for law in laws.values())
        strict = any(self.takes_star(laws) for laws in widened)
        return self.kept is None and not moved and not strict and not (widened and self.target.delta)

    def inputs_of(self, secret: Secret, /) -> Sequence[int]:
        """The inputs that rows of a secret may have."""
        return range(self.inputs) if self.groups is None else self.groups[secret]

    def times_of(self, secret: Secret, /) -> float:
        """By what the costs of a secret were multiplied."""
        return 1.0 if self.times is None else self.times[secret]

    @property
    def other_pairs(self) -> Sequence[tuple[Secret, Secret]]:
        """Two different secrets each, in both orders, of a channel that sees them."""
        return list(itertools.permutations(self.groups or (), 2))

    @property
    def same_values(self) -> Sequence[tuple[int, ...]]:
        """The inputs of one value and every secret, of a channel that sees these."""
        return list(zip(*(self.groups or {}).values(), strict=True))

    def ordered_pairs(self, laws: Laws, /) -> Sequence[tuple[Secret, Secret]]:
        """The protected pairs of a belief, in both orders."""
        if self.pairs == "all":
            return list(itertools.permutations(laws, 2))
        return list(dict.fromkeys(pair for a, b in self.pairs for pair in ((a, b), (b, a))))

    def only(self, outputs: Sequence[int], /) -> Problem:
        """With some of the outputs alone."""
        kept = None if self.kept is None else self.kept[:, outputs]
        constant = None if self.constant is None else self.constant[list(outputs)]
        return replace(self, cost=self.cost[:, outputs], kept=kept, constant=constant)

    def relaxed(self) -> Problem:
        """What is asked for of single laws alone: its value bounds every mechanism that sees the value alone."""
        beliefs = tuple(
            {s: replace(law, replaced=Fraction(0), moved=Fraction(0)) for s, law in laws.items()}
            for laws in self.beliefs
        )
        return replace(self, beliefs=beliefs, kept=None, kept_means=None, constant=None)

    def expected_cost(self, matrix: FloatArray, /) -> float:
        """Mean cost of a channel under the pooled law."""
        return float(self.pooled @ (matrix * self.cost).sum(axis=1))


MOST_MERGED = 2**16 - 1
"""So many levels may be merged into few: as many as 16 bits tell apart, beside any other."""
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
    """For numbers: a value's input is the number of these edges that are at most the value, shape (inputs - 1,)."""
    in_cells: bool = False
    """Whether an input stands for several numbers."""
    seen: Bounds | None = None
    """For cells: the least and the largest number of the table. None in files that lack it."""
    costs: Mapping[Secret, FloatArray] | None = None
    """For cells and a channel that sees the secret: the cost by secret, over the rows of each cell that have it."""
    codes: Mapping[Level, int] | None = None
    """For labels: the input of each."""
    is_partial: bool = False
    """Whether the levels are tuples of labels, and not all tuples there are."""

    @property
    def pooled(self) -> NDArray[np.int64]:
        """Rows of each input in the whole table, as often as a row is in a group of secrets."""
        return np.sum(list(self.counts.values()), axis=0)

    def rare(self, times: int = 1, /) -> tuple[Level, ...]:
        """Levels of few rows, each in so many groups: of a declared one without any, nobody's value is released."""
        return tuple(level for level, rows in zip(self.levels, self.pooled, strict=True) if 0 < rows < RARE * times)

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
        """Rows of each input in another table; raises CalibrationError for a level that the column lacks."""
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
    name: str, found: LevelCounts, options: Channel, /, *, declared: Sequence[Level] | None, merge_rare: int | None
) -> InputColumn:
    """A column of labels.

    - `declared` (sequence of levels): All that there may be, whether they occur or not.
    - `merge_rare`: Levels of fewer rows, over all secrets, are one level, "other", or "other (merged)" beside one
      of that name.
    Raises ArgumentError for a level that was not declared, a column of one level, and one of more than 512.
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
    rare = {level for level in levels if level is not None and merge_rare is not None and rows[level] < merge_rare}
    inputs = [level for level in levels if level not in rare]
    other = OTHER
    while other in inputs:  # a label of the column that is not rare stays its own
        other += " (merged)"
    if rare:
        inputs.append(other)
    _check_few(inputs, levels, rows, name=name)
    _check_published(len(inputs), options)
    codes = {level: inputs.index(other if level in rare else level) for level in levels}
    column = InputColumn(
        levels=tuple(inputs),
        counts={},
        cost=cost_matrix(inputs, options.cost),
        public=declared is not None and merge_rare is None,  # which levels are rare is learned
        codes=codes,
    )
    column = replace(column, counts=column.labelled(found))
    if rare_levels := column.rare():
        together = sum(rows for rows in column.pooled.tolist() if rows < RARE)
        warn(RareLevelsWarning(rare_levels, fewest=RARE, are_few_together=together < RARE))
    return column


def _check_few(inputs: Sequence[Level], levels: Sequence[Level], rows: Mapping[Level, int], *, name: str) -> None:
    """Raise ArgumentError for too many levels, and say which of them to merge, where that leaves some."""
    if len(inputs) > MOST_LEVELS:
        often = sorted((rows[level] for level in levels), reverse=True)
        least = often[MOST_LEVELS - 1] + 1
        raise too_many_levels(
            name,
            seen=levels,
            hint=f"Say mechanism=Channel(merge_rare={least}) to release levels of fewer rows as one, {OTHER!r}, or a "
            "coarser column. Leave out names and identifiers."
            if often[0] >= least
            else "Leave out names and identifiers, or release a coarser column.",
        )
    if len(inputs) < 2 <= len(levels):
        got, hint = "more rows than any has, or all but one", "Say fewer rows, or leave it out."
        raise ArgumentError("merge_rare", rule="of so few rows that two levels are left", got=got, hint=hint)
    _check_number(len(inputs))


def tuple_column(
    found: LevelCounts, options: Channel, /, *, columns: Sequence[str], declared: Mapping[str, Sequence[Level]]
) -> InputColumn:
    """Several columns of labels as one of tuples: those that occur, or all tuples where levels are declared.

    - `found`: Counts of tuples.
    - `columns` (sequence of str): Their names.
    - `declared` (mapping of column to levels): All that there may be. A column without has those that occur.
    Raises ArgumentError for a level that was not declared, a single tuple, and more than 512.
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
    _check_published(len(levels), options)
    column = InputColumn(
        levels=tuple(levels),
        counts={},
        cost=cost_matrix(levels, options.cost),
        public=all(name in declared for name in columns),
        codes={level: k for k, level in enumerate(levels)},
        is_partial=len(levels) < every,
    )
    column = replace(column, counts=column.labelled(found))
    if rare := column.rare():
        warn(RareLevelsWarning(rare, fewest=RARE, of="combination"))
    return column


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
    _check_number(min(values.size, MOST_NUMBERS))
    if summary.radius or values.size > MOST_NUMBERS:
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
        seen=(float(values[0] - summary.radius), float(values[-1] + summary.radius)),
        costs=costs,
    )
    return _counted(column, summary)


def _mean_costs(away: FloatArray, rows: FloatArray, starts: NDArray[np.intp], empty: FloatArray) -> FloatArray:
    """What each output costs the rows of each cell on average; as `empty` says for a cell without rows."""
    often = np.add.reduceat(rows, starts)[:, None]
    total = np.add.reduceat(away * rows[:, None], starts)
    return np.where(often > 0, total / np.where(often > 0, often, 1.0), empty)


def _cell_starts(values: FloatArray, radius: float) -> FloatArray:
    """The starts of the cells of a grid with these centres; a centre beyond a public bound was moved to the bound.

    Values that were not counted in cells are their own.
    """
    return np.floor(values / (2 * radius)) * (2 * radius) if radius else values


def _median(values: FloatArray, rows: FloatArray) -> float:
    return float(values[np.searchsorted(np.cumsum(rows), 0.5 * rows.sum())])


def _check_number(levels: int, *, of: str = "levels") -> None:
    """Raise ArgumentError for a column of too many levels; several have combinations of these."""
    if levels > MOST_LEVELS:
        several = of != "levels"
        raise ArgumentError(
            "the public columns together" if several else "the public column",
            rule=f"{'of' if several else 'one of'} 1 to {MOST_LEVELS} {of}",
            got=f"{levels:,}",
            hint="Leave mechanism out: each label is then drawn by itself." if several else "Release a coarser column.",
        )


def _check_published(levels: int, options: Channel) -> None:
    """Raise ArgumentError for a table of probabilities that would make a certificate larger than it may be."""
    if options.publish_matrix and levels > MOST_NUMBERS:
        raise ArgumentError(
            "publish_matrix",
            rule=f"left out for more than {MOST_NUMBERS} levels: a certificate does not hold so large a table",
            got="more",
            hint="Leave it out, or merge rare levels: merge_rare=5.",
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
