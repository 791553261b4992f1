"""How near a release is to its table: column by column, and pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from scipy.stats import ks_2samp
from scipy.stats.contingency import association

from puffer_frames.errors import ArgumentError, short_traceback
from puffer_frames.frames.columns import NativeFrame, check_rows, column
from puffer_frames.frames.table import library_of, open_table, small_frame
from puffer_frames.numbers.presentation import Rows, as_html, as_text, shown_names
from puffer_frames.priors.prior import FloatArray, IndexArray
from puffer_frames.verbs.pictures.associations import associations

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELLS, _LEVELS = 10, 50
"""For pairs, numbers are in so many cells of about equal size, and labels rarer than the first so many are one."""
_MOST_PAIRS, _MOST_ROWS = 3_000, 100_000
"""Of more pairs, and of more rows for pairs, some are drawn at random, the same in every call."""
_WORST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnQuality:
    """How alike a column is before and after a release."""

    name: str
    kind: str
    """"numbers" or "labels"."""
    similarity: float
    """Of numbers 1 less the Kolmogorov-Smirnov distance, of labels 1 less the total variation distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairQuality:
    """How alike two columns together are."""

    first: str
    second: str
    similarity: float
    """Of two columns of numbers 1 less half of the difference of their correlations; of others 1 less the total
    variation distance of their joint shares, numbers in ten cells."""
    before: float
    """How much the columns tell of one another in the table: the correlation of numbers, else Cramér's V."""
    after: float
    """The same in the release."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Quality:
    """How near a release is to its table.

    It holds statistics of the raw table: keep it private.
    """

    of_columns: tuple[ColumnQuality, ...]
    of_pairs: tuple[PairQuality, ...]
    left_out: tuple[str, ...]
    """Columns that only one of the two frames has, and of lists, structs, bytes and objects."""
    library: str = field(repr=False)

    @property
    def score(self) -> float:
        """The mean of two means, from 0 to 1: that of the similarities of the columns, and that of the pairs."""
        parts = [each.similarity for each in self.of_columns], [each.similarity for each in self.of_pairs]
        return float(np.mean([np.mean(part) for part in parts if part]))

    @property
    def columns(self) -> NativeFrame:
        """A row for each column, the least alike first: a frame of the library of the release."""
        return self._frame(sorted(self.of_columns, key=lambda each: each.similarity))

    @property
    def pairs(self) -> NativeFrame:
        """A row for each pair of columns, the least alike first: a frame of the library of the release."""
        return self._frame(sorted(self.of_pairs, key=lambda each: each.similarity))

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

    def _frame(self, rows: Sequence[ColumnQuality] | Sequence[PairQuality]) -> NativeFrame:
        names = (ColumnQuality if rows and isinstance(rows[0], ColumnQuality) else PairQuality).__slots__
        return small_frame({name: [getattr(row, name) for row in rows] for name in names}, library=self.library)

    def _shown(self) -> tuple[str, Rows]:
        columns = sorted(self.of_columns, key=lambda each: each.similarity)
        pairs = sorted(self.of_pairs, key=lambda each: each.similarity)
        rows = [
            ("score", f"{self.score:.3f} of 1: the mean of columns and pairs"),
            ("columns", f"{np.mean([each.similarity for each in columns]):.3f} on average; the least alike:"),
            *(("", f"{each.similarity:.3f} {each.name}") for each in columns[:_WORST]),
        ]
        if pairs:
            rows.append(("pairs", f"{np.mean([each.similarity for each in pairs]):.3f} on average; the least alike:"))
            for each in pairs[:_WORST]:
                told = f"tell {each.before:.2f} of one another before, {each.after:.2f} after"
                rows.append(("", f"{each.similarity:.3f} {each.first} and {each.second}: {told}"))
        if self.left_out:
            rows.append(("left out", f"{shown_names(self.left_out)}: not in both, or lists and the like"))
        rows.append(("keep private", "these are statistics of the raw table, which no guarantee covers"))
        return "Quality: the release beside its table", rows

    def __str__(self) -> str:
        return as_text(*self._shown())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(*self._shown())


@short_traceback
def compare_tables(original: NativeFrame, released: NativeFrame, /) -> Quality:
    r"""How near a release is to its table: each column, and each pair of columns.

    Parameters
    ----------
    original, released : frames of any kind
        The raw table and a release of it, or of its rows in any order. Plans are collected.

    Returns
    -------
    Quality
        `score`, `columns` and `pairs` (frames, the least alike first), `plot()`.

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        For frames without a common column, or without rows, and for what is no frame.

    Notes
    -----
    A column of numbers: :math:`1 - \sup_x |F(x) - F'(x)|` (Kolmogorov-Smirnov). A column of anything else, and missing
    values as a level of it: :math:`1 - \frac12 \sum_x |p_x - p'_x|`. Two columns of numbers: :math:`1 - |r - r'| / 2`
    with Pearson's r. Other pairs: one less the total variation of their joint shares, numbers in ten cells, missing
    ones in one of their own. The score is the mean of the mean over columns and the mean over pairs, as in the quality
    report of SDMetrics.

    It says nothing of privacy, and nothing of single rows: what a model or an estimate loses is another matter.

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
    first, second = (open_table(frame).in_memory() for frame in (original, released))
    both = [name for name in second.names if name in first.names]
    tables = []
    for table in (first, second):
        frame = table.opened()
        check_rows(len(frame))
        tables.append({name: column(frame, name).to_polars().alias("entries") for name in both})
    before, after = tables
    names = [name for name in both if not any(_is_nested(table[name].dtype) for table in tables)]
    if not names:
        raise ArgumentError(
            "the frames",
            rule="a table and its release",
            got="no column that both have and that can be compared",
            hint="Pass the table first.",
        )
    numbers = {name for name in names if before[name].dtype.is_numeric() and after[name].dtype.is_numeric()}
    columns = []
    for name in names:
        if name in numbers:
            similarity = 1 - float(ks_2samp(_floats(before[name]), _floats(after[name])).statistic)
        else:
            similarity = _overlap(*_codes(before[name], after[name]))
        columns.append(ColumnQuality(name=name, kind="numbers" if name in numbers else "labels", similarity=similarity))
    return Quality(
        of_columns=tuple(columns),
        of_pairs=tuple(_pairs(names, numbers, *(_some(table, names) for table in tables))),
        left_out=tuple(name for name in dict.fromkeys((*first.names, *second.names)) if name not in names),
        library=library_of(released),
    )


def quality(released: NativeFrame, original: NativeFrame, /) -> Quality:
    """How near this release is to the table that it was made from, as `puffer_frames.compare_tables`.

    Parameters
    ----------
    released, original : frames of any kind

    Returns
    -------
    Quality

    Raises
    ------
    ArgumentError, ArgumentTypeError, PriorError
        As `compare_tables`.
    """
    return compare_tables(original, released)


Columns = Mapping[str, pl.Series]


def _is_nested(dtype: pl.DataType) -> bool:
    """Whether entries are lists, structs, bytes or objects, which are not compared."""
    return dtype.is_nested() or dtype in (pl.Object, pl.Binary)


def _some(table: Columns, names: Sequence[str]) -> Columns:
    """Columns in at most so many rows."""
    rows = len(table[names[0]])
    if rows <= _MOST_ROWS:
        return table
    chosen = np.sort(np.random.default_rng(0).choice(rows, _MOST_ROWS, replace=False))
    return {name: table[name].gather(chosen) for name in names}


def _floats(entries: pl.Series) -> FloatArray:
    found = entries.cast(pl.Float64).drop_nulls().drop_nans().to_numpy()
    return found if found.size else np.zeros(1)


def _codes(before: pl.Series, after: pl.Series) -> tuple[IndexArray, IndexArray]:
    """Numbers of the levels of two columns of anything, the same in both; a missing entry is a level."""
    texts = pl.concat([entries.cast(pl.String, strict=False) for entries in (before, after)])
    codes = texts.rank("dense").fill_null(0).cast(pl.Int64).to_numpy().astype(np.intp)
    return codes[: len(before)], codes[len(before) :]


def _in_cells(before: pl.Series, after: pl.Series) -> tuple[IndexArray, IndexArray]:
    """Cells of two columns of numbers, of about equal size in the first; missing ones are one of their own."""
    ends = np.unique(np.quantile(_floats(before), np.linspace(0, 1, _CELLS + 1)[1:-1]))
    values = [entries.cast(pl.Float64).fill_null(np.nan).to_numpy() for entries in (before, after)]
    first, second = (np.where(np.isnan(each), _CELLS, np.searchsorted(ends, each)) for each in values)
    return first, second


def _few(before: IndexArray, after: IndexArray) -> tuple[IndexArray, IndexArray]:
    """The same codes, in which all but the most frequent are one."""
    counts = np.bincount(np.concatenate([before, after]))
    places = np.minimum(np.argsort(np.argsort(-counts, kind="stable"), kind="stable"), _LEVELS)
    return places[before], places[after]


def _overlap(before: IndexArray, after: IndexArray) -> float:
    """One less the total variation distance of two columns of codes."""
    size = int(max(before.max(), after.max())) + 1
    shares = [np.bincount(codes, minlength=size) / codes.size for codes in (before, after)]
    return float(np.minimum(*shares).sum())


def _pairs(names: Sequence[str], numbers: set[str], before: Columns, after: Columns) -> list[PairQuality]:
    pairs = list(combinations(names, 2))
    if len(pairs) > _MOST_PAIRS:
        pairs = [pairs[k] for k in np.sort(np.random.default_rng(0).choice(len(pairs), _MOST_PAIRS, replace=False))]
    codes = {
        name: _in_cells(before[name], after[name]) if name in numbers else _few(*_codes(before[name], after[name]))
        for name in names
    }
    found = []
    for first, second in pairs:
        if {first, second} <= numbers:
            told = [_correlation(table[first], table[second]) for table in (before, after)]
            similarity = 1 - abs(told[0] - told[1]) / 2
        else:
            sizes = [max(int(part.max()) for part in codes[name]) + 1 for name in (first, second)]
            places = [codes[first][k] * sizes[1] + codes[second][k] for k in (0, 1)]
            similarity = _overlap(*places)
            told = [_told(np.bincount(each, minlength=sizes[0] * sizes[1]).reshape(sizes)) for each in places]
        found.append(PairQuality(first=first, second=second, similarity=similarity, before=told[0], after=told[1]))
    return found


def _correlation(first: pl.Series, second: pl.Series) -> float:
    """Pearson's; 0 of a constant."""
    values = np.stack([each.cast(pl.Float64).fill_null(np.nan).to_numpy() for each in (first, second)])
    values = values[:, ~np.isnan(values).any(axis=0)]
    if values.shape[1] < 2 or (np.ptp(values, axis=1) == 0).any():
        return 0.0
    return float(np.corrcoef(values)[0, 1])


def _told(counts: IndexArray) -> float:
    """Cramér's V; 0 of a constant."""
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    return float(association(counts, method="cramer")) if min(counts.shape) > 1 else 0.0
