"""How near a release is to its table: column by column, and pair by pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from puffer_frames.errors import ArgumentError, PufferError, short_traceback
from puffer_frames.frames.columns import NativeFrame, check_rows
from puffer_frames.frames.null_values import NullValuesArgument, coded
from puffer_frames.frames.side_by_side import PlainColumn, read_columns
from puffer_frames.frames.table import frame_of, library_of
from puffer_frames.numbers.presentation import Printed, Rows, shown, shown_names
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.attached import attached_to
from puffer_frames.verbs.pictures.matrices import associations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELLS, _LEVELS = 10, 50
"""For pairs, numbers are in so many cells of about equal size, and labels rarer than the first so many are one."""
_MOST_PAIRS, _MOST_ROWS = 3_000, 100_000
"""Beyond this many pairs, and rows for pairs, some are drawn at random, the same in every call."""
_WORST, _CLEAR = 3, 0.3
"""Columns and pairs that are shown; the least correlation whose other sign after a release is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnQuality:
    """How alike a column is before and after a release."""

    name: str
    kind: str
    """"numbers" or "labels"."""
    similarity: float
    """For numbers 1 less the Kolmogorov-Smirnov distance, for labels 1 less the total variation distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuality:
    """How alike two columns together are."""

    first: str
    second: str
    similarity: float
    """For two columns of numbers 1 less half of the difference of their correlations; of others 1 less the total
    variation distance of their joint shares, numbers in ten cells."""
    before: float
    """How much the columns tell of one another in the table: the correlation of numbers, else Cramér's V."""
    after: float
    """The same in the release."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Quality(Printed):
    """How near a release is to its table.

    It holds statistics of the raw table: keep it private.
    """

    of_columns: tuple[ColumnQuality, ...]
    of_pairs: tuple[PairQuality, ...]
    left_out: tuple[str, ...]
    """Columns that only one of the two frames has."""
    codes_unsaid: bool
    """Whether the release took codes for missing values, and the comparison was not told of any."""
    library: str = field(repr=False)

    @property
    def score(self) -> float:
        """The mean of two means, from 0 to 1: that of the similarities of the columns, and that of the pairs."""
        parts = [each.similarity for each in self.of_columns], [each.similarity for each in self.of_pairs]
        return float(np.mean([np.mean(part) for part in parts if part]))

    @property
    def columns(self) -> NativeFrame:
        """A row for each column, the least alike first: a frame of the library of the release."""
        return frame_of(sorted(self.of_columns, key=lambda each: each.similarity), ColumnQuality, library=self.library)

    @property
    def pairs(self) -> NativeFrame:
        """A row for each pair of columns, the least alike first: a frame of the library of the release."""
        return frame_of(sorted(self.of_pairs, key=lambda each: each.similarity), PairQuality, library=self.library)

    def plot(self) -> Figure:
        """Draw how much columns tell of one another before, after, and the difference; needs matplotlib."""
        names = [each.name for each in self.of_columns]
        matrices = []
        for when in ("before", "after"):
            matrix = np.eye(len(names))
            for each in self.of_pairs:
                places = names.index(each.first), names.index(each.second)
                matrix[places] = matrix[places[::-1]] = abs(getattr(each, when))
            matrices.append(matrix)
        return associations(names, *matrices)

    def _shown(self) -> tuple[str, Rows]:
        columns = sorted(self.of_columns, key=lambda each: each.similarity)
        pairs = sorted(self.of_pairs, key=lambda each: each.similarity)
        rows = [
            ("score", f"{self.score:.3f} of 1: the mean of columns and pairs"),
            ("columns", f"{np.mean([each.similarity for each in columns]):.3f} on average; the least alike:"),
            *(("", f"{each.similarity:.3f} {shown(each.name)}") for each in columns[:_WORST]),
        ]
        if pairs:
            rows.append(("pairs", f"{np.mean([each.similarity for each in pairs]):.3f} on average; the least alike:"))
            for each in pairs[:_WORST]:
                told = f"tell {each.before:.2f} of one another before, {each.after:.2f} after"
                rows.append(("", f"{each.similarity:.3f} {shown(each.first)} and {shown(each.second)}: {told}"))
        for each in pairs:
            if each.before * each.after < 0 and abs(each.before) >= _CLEAR:  # of numbers: Cramér's V has no sign
                told = f"{each.before:+.2f} before, {each.after:+.2f} after"
                rows.append(("turned", f"the correlation of {shown(each.first)} and {shown(each.second)}: {told}"))
        if self.left_out:
            rows.append(("left out", f"{shown_names(self.left_out)}: in one of the two frames alone"))
        if self.codes_unsaid:
            unless = "unless the table has nulls in their places, name them: null_values={column: code}"
            rows.append(("codes", f"the release took codes for missing values; {unless}"))
        rows.append(("keep private", "these are statistics of the raw table, which no guarantee covers"))
        return "Quality: the release beside its table", rows


@short_traceback
def compare_tables(
    original: NativeFrame, released: NativeFrame, /, *, null_values: NullValuesArgument = None
) -> Quality:
    r"""How near a release is to its table: each column, and each pair of columns.

    Parameters
    ----------
    original, released : frames in memory: pandas, Polars or PyArrow
        The raw table and a release of it, its rows in any order.
    null_values : mapping of column to a code, or to several
        Codes that stand for a missing value in the raw table, as in `privatize`.

    Returns
    -------
    Quality
        `score`, `columns` and `pairs` (frames, the least alike first), `plot()`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For frames without a common column, or without rows, and for plans, relations and what is no frame.

    Notes
    -----
    A column of numbers: :math:`1 - \sup_x |F(x) - F'(x)|` (Kolmogorov-Smirnov). A column of anything else, and missing
    values as a level of it: :math:`1 - \frac12 \sum_x |p_x - p'_x|`. Two columns of numbers: :math:`1 - |r - r'| / 2`
    with Pearson's r of the rows in which both are finite. Other pairs: one less the total variation of their joint
    shares, numbers in ten cells, missing ones in one of their own. The score is the mean of the mean over columns and
    the mean over pairs, as in the quality report of SDMetrics.

    **Cost**: pairs are computed from at most 100,000 rows, and at most 3,000 pairs, drawn at random where there are
    more: 13 columns of 32,561 rows take a second.

    Examples
    --------
    >>> import pandas as pd, puffer_frames
    >>> table = pd.DataFrame({"town": ["x", "x", "y", "y"], "age": [20, 30, 40, 50]})
    >>> quality = puffer_frames.compare_tables(table, table.assign(town=["x", "y", "y", "y"]))
    >>> quality.columns["similarity"].tolist()
    [0.75, 1.0]
    """
    original, _ = coded(original, null_values)
    tables = [
        read_columns(frame, role=role, known=(), rows=None)
        for frame, role in ((original, "original"), (released, "released"))
    ]
    shared = [_Shared.of(name, tables[0][name], tables[1][name]) for name in tables[1] if name in tables[0]]
    if not shared:
        raise ArgumentError(
            "the frames", rule="a table and its release", got="no column that both have", hint="Pass the table first."
        )
    for values in (shared[0].before, shared[0].after):
        check_rows(values.size)
    left_out = [name for name in dict.fromkeys((*tables[0], *tables[1])) if not all(name in table for table in tables)]
    return Quality(
        of_columns=tuple(map(_of_column, shared)),
        of_pairs=tuple(_of_pairs(shared)),
        left_out=tuple(left_out),
        codes_unsaid=not null_values and _took_codes(released),
        library=library_of(released),
    )


def _took_codes(released: NativeFrame) -> bool:
    try:
        return attached_to(released).facts.recoded
    except PufferError:  # a table without a certificate
        return False


def quality(released: NativeFrame, original: NativeFrame, /, *, null_values: NullValuesArgument = None) -> Quality:
    """How near this release is to the table that it was made from, as `puffer_frames.compare_tables`."""
    return compare_tables(original, released, null_values=null_values)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """A column that both frames have."""

    name: str
    is_numeric: bool
    before: Any
    """Numbers, NaN where one is missing; of other columns numbers of levels, the same in both, a missing entry last."""
    after: Any

    @classmethod
    def of(cls, name: str, before: PlainColumn, after: PlainColumn) -> _Shared:
        both = before, after
        if all(each.numbers is not None and not any(isinstance(x, bool) for x in each.levels) for each in both):
            return cls(name=name, is_numeric=True, before=before.numbers, after=after.numbers)
        places = {level: k for k, level in enumerate(dict.fromkeys(map(str, (*before.levels, *after.levels))))}
        codes = []
        for each in both:
            table = np.array([*(places[str(level)] for level in each.levels), len(places)], dtype=np.intp)
            codes.append(table[each.codes])
        return cls(name=name, is_numeric=False, before=codes[0], after=codes[1])


def _of_column(column: _Shared) -> ColumnQuality:
    if not column.is_numeric:
        return ColumnQuality(name=column.name, kind="labels", similarity=_overlap(column.before, column.after))
    before, after = _there(column.before), _there(column.after)
    if before.size and after.size:
        distance = float(scipy.stats.ks_2samp(before, after, method="asymp").statistic)
    else:
        distance = float(before.size != after.size)
    return ColumnQuality(name=column.name, kind="numbers", similarity=1 - distance)


def _there(values: FloatArray) -> FloatArray:
    return values[~np.isnan(values)]


def _overlap(before: IndexArray, after: IndexArray) -> float:
    """One less the total variation distance of two columns of codes."""
    size = int(max(before.max(), after.max())) + 1
    shares = [np.bincount(codes, minlength=size) / codes.size for codes in (before, after)]
    return float(np.minimum(*shares).sum())


def _of_pairs(shared: Sequence[_Shared]) -> Iterator[PairQuality]:
    some = list(map(_in_some_rows, shared))
    cells = [_in_cells(column) if column.is_numeric else _in_few_levels(column) for column in some]
    pairs = list(combinations(range(len(some)), 2))
    for i, j in (pairs[k] for k in _some_of(len(pairs), _MOST_PAIRS)):
        first, second = some[i], some[j]
        if first.is_numeric and second.is_numeric:
            told = [_correlation(first.before, second.before), _correlation(first.after, second.after)]
            similarity = 1 - abs(told[0] - told[1]) / 2
        else:
            sizes = tuple(max(int(part.max()) for part in cells[k]) + 1 for k in (i, j))
            places = [cells[i][k] * sizes[1] + cells[j][k] for k in (0, 1)]
            similarity = _overlap(*places)
            told = [_told(np.bincount(each, minlength=sizes[0] * sizes[1]).reshape(sizes)) for each in places]
        yield PairQuality(first=first.name, second=second.name, similarity=similarity, before=told[0], after=told[1])


def _in_some_rows(column: _Shared) -> _Shared:
    """The same rows of each column."""
    before, after = (values[_some_of(values.size, _MOST_ROWS)] for values in (column.before, column.after))
    return replace(column, before=before, after=after)


def _some_of(count: int, most: int) -> IndexArray:
    """So many places at most, at random, the same in every call."""
    return np.arange(count) if count <= most else np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _in_cells(column: _Shared) -> list[IndexArray]:
    """Cells of numbers, of about equal size in the table; missing ones are one of their own."""
    there = column.before[np.isfinite(column.before)]
    ends = np.unique(np.quantile(there, np.linspace(0, 1, _CELLS + 1)[1:-1])) if there.size else np.zeros(0)
    return [
        np.where(np.isnan(values), _CELLS, np.searchsorted(ends, values)) for values in (column.before, column.after)
    ]


def _in_few_levels(column: _Shared) -> list[IndexArray]:
    """Codes in which all but the most frequent levels are one."""
    counts = np.bincount(np.concatenate([column.before, column.after]))
    places = np.minimum(np.argsort(np.argsort(-counts, kind="stable"), kind="stable"), _LEVELS)
    return [places[column.before], places[column.after]]


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Pearson's; 0 of a constant."""
    values = np.stack([first, second])
    values = values[:, np.isfinite(values).all(axis=0)]
    if values.shape[1] < 2 or (np.ptp(values, axis=1) == 0).any():
        return 0.0
    return float(np.asarray(np.corrcoef(values))[0, 1])


def _told(counts: Any) -> float:
    """Cramér's V; 0 of a constant."""
    counts = counts[np.ix_(counts.any(axis=1), counts.any(axis=0))]
    return float(scipy.stats.contingency.association(counts, method="cramer")) if min(counts.shape) > 1 else 0.0
