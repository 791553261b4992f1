"""What a frame says of its secrets: how often each public value, or cell of values, occurs with each of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from puffer_frames.errors import ArgumentError, ColumnTypeError
from puffer_frames.frames.columns import check_no_nulls, meant_as, merging, missing, to_floats
from puffer_frames.noise.channel import MOST_LEVELS
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, Secret
from puffer_frames.priors.summary import Counts, JointCounts, Level, LevelCounts, Summary

FEWEST_CELLS, MOST_CELLS = 1 << 12, 1 << 16
"""A column of many rows and values is counted in so many cells, between its extremes."""
MOST_PASSES = 3
"""How often, at most, values are counted again in narrower cells because they lie in few of them."""
FINENESS = 256
"""A cell is at most this part of the column's standard deviation, as far as `MOST_CELLS` allows."""
_BELOW = 0.9
"""A share of that part, so that the last digits of a standard deviation of 1 do not decide between two widths."""
MOST_FILLED = 1 << 20
_MOST_WORK = 1 << 24
"""A column is counted again in cells that are narrow against the noise, or value by value, as long as so few cells hold
values; and so few times the secrets squared, for every pair is looked at."""
PLACES = 1 << 16
"""Places in a cell, whose sum is kept beside the number of its values: a mean is off by less than two places, which
are `MEANS_ERROR`."""
_LARGEST = sys.float_info.max
_CHUNK = 1 << 15
"""Cells whose means are found together: memory that is new costs more than the arithmetic."""

Integers: TypeAlias = NDArray[np.int64]


def cell_width(low: float, high: float, /, *, std: float) -> float:
    """Width of the cells between the extremes of a column: a power of two, so that cells and centres are exact.

    It is at least `least_width`.
    """
    span = min(high - low, _LARGEST)
    fine = min(_BELOW * std / FINENESS if std > 0 else _LARGEST, span / FEWEST_CELLS)
    few = max(span / (MOST_CELLS - 2), least_width(low, high))
    return max(2.0 ** (math.frexp(few)[1]), 2.0 ** (math.frexp(fine)[1] - 1) if fine else 0.0)


def least_width(low: float, high: float, /) -> float:
    """Cells are no narrower: 2**-51 of the largest value and 2**-1000."""
    return max(2.0**-51 * max(abs(low), abs(high)), 2.0**-1000)


def finer_width(width: float, /, *, full: int, least: float) -> float:
    """A width at which values that lie in fewer cells than half of `FEWEST_CELLS` lie in up to twice as many as that.

    Values in clusters, with heavy tails or beside an outlier fill few of the cells between their extremes.
    """
    if full >= FEWEST_CELLS // 2:
        return width
    finer = 2.0 ** (math.frexp(width * full / (2 * FEWEST_CELLS))[1])
    return finer if least < finer < width else width


def most_filled(secrets: int, /) -> int:
    """How many cells, or values, a column is counted in again at the most."""
    return min(MOST_FILLED, _MOST_WORK // secrets**2)


def width_for(scale: float, width: float, /, *, fewest: int, filled: int, most: int, least: float) -> float:
    """A width of cells for noise of this scale; the one given where it is narrow enough, or none narrower is possible.

    A scale has to hold the fewest cells, and holds four times as many of a narrower width. Values of all secrets fill
    so many cells of the width given. There are at most as many narrower ones.
    """
    if not scale or width <= scale / fewest:
        return width
    wanted = max(2.0 ** (math.frexp(scale / (4 * fewest))[1] - 1), 2.0 ** math.ceil(math.log2(least)))
    few = width * 2.0 ** math.ceil(math.log2(filled / max(most, 1)))
    return min(max(wanted, few), width)


def width_of_few(low: float, high: float, /, *, cells: float) -> float:
    """Width of about so many cells, or of half as many, between the extremes of a column."""
    width = max(min(high - low, _LARGEST) / max(cells - 2, 1), least_width(low, high))
    return 2.0 ** math.ceil(math.log2(width))


def cell_of(width: float, domain: Bounds | None, /, name: str = "value") -> nw.Expr:
    """Number of the cell of a column: cell k holds the values from k widths on."""
    return _in_widths(width, domain, name).floor().cast(nw.Int64)


def place_of(width: float, domain: Bounds | None, /, name: str = "value") -> nw.Expr:
    """Place of a column in its cell: a whole number of parts of the width, of which there are `PLACES`."""
    value = _in_widths(width, domain, name)
    return ((value - value.floor()) * float(PLACES)).floor().cast(nw.Int64)


def means_of(numbers: Integers, sums: Integers, counts: Integers, width: float, /) -> FloatArray:
    """Means of the values of some cells, within `MEANS_ERROR` of a width but for their own rounding.

    - `numbers` (array, shape (cells,)): The cells' numbers.
    - `sums`, `counts` (array, shape (cells,)): Sums of the places of their values, and how many these are.
    """
    means = np.empty(numbers.size)
    for start in range(0, numbers.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        own = numbers[part].astype(np.float64)
        found = (own + (sums[part] / counts[part] + 0.5) / PLACES) * width
        np.minimum(found, np.nextafter((own + 1) * width, -np.inf), out=means[part])
    return means


def _in_widths(width: float, domain: Bounds | None, name: str) -> nw.Expr:
    value = nw.col(name).cast(nw.Float64)
    if domain is not None:
        value = value.clip(*domain)
    return value * (1.0 / width)


Codes: TypeAlias = NDArray[np.intp]
"""Numbers of secrets."""

EXACT_ROWS = 1 << 17
"""Up to so many rows, and for columns of at most half as many different values, each value is counted by itself."""

_MOST_COUNTS = 1 << 20
"""The most different values, all secrets together."""
_LONG = 1 << 14
"""Rows of a table of counts from which on its labels are numbered first."""


class Values(Protocol):
    """A public column and its secrets, as an engine counts them: columns `secret_0`, ..., `value` and `count`."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def exceeds(self, different: int, /) -> bool:
        """Whether the column is known at once to have more different values."""

    def counted(self, most: int, /) -> nw.DataFrame[Any]:
        """Rows per secret and value; where these are more than `most`, perhaps not all of them."""

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell, `cell_of` the column `value`, and the sums of `place_of` as `place`."""

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest value; raises PriorError as `to_floats`."""

    def std(self) -> float:
        """Standard deviation of the values."""


def count_values(values_of: Values, /, *, groups: Sequence[str], public: str, domain: Bounds | None) -> Summary:
    """Count the values of one public column per secret by any engine; the errors name the columns.

    With a domain (low, high), values beyond it count as its ends.

    Raises PriorError for nulls, NaN and infinities, and integers beyond 2**53; ArgumentTypeError for a secret of floats
    that are not integers.
    """
    few, most = EXACT_ROWS // 2, _MOST_COUNTS
    large = values_of.rows > EXACT_ROWS
    counted = None if large and values_of.exceeds(few) else values_of.counted(most)
    if counted is None or (large and (len(counted) > most or int(counted["value"].n_unique()) > few)):
        return _in_cells(values_of, groups=groups, public=public, domain=domain)
    return _of_values(counted, groups=groups, public=public, domain=domain)


def _of_values(counted: nw.DataFrame[Any], /, *, groups: Sequence[str], public: str, domain: Bounds | None) -> Summary:
    """Each different value by itself."""
    counts = counted["count"].to_numpy().astype(np.int64)
    values = to_floats(counted["value"], counts, name=public)
    if domain is not None:
        values = values.clip(*domain)
    labels, codes = _numbered(counted, counts, groups=groups)
    return Summary(counts=_parts(labels, *_by_value(codes, values + 0.0, counts)), radius=0.0)  # one zero


def _in_cells(values_of: Values, *, groups: Sequence[str], public: str, domain: Bounds | None) -> Summary:
    """Counts on a grid, and the means of its cells; on a finer one while the values lie in few of its cells."""
    ends = values_of.ends(public)
    low, high = (ends if domain is None else ends.clip(*domain)).tolist()
    width = cell_width(low, high, std=values_of.std())
    counted = values_of.in_cells(width, domain)
    for _ in range(MOST_PASSES):
        finer = finer_width(width, full=_full(counted["value"]), least=least_width(low, high))
        if finer == width:
            break
        width, counted = finer, values_of.in_cells(finer, domain)
    return _of_cells(counted, width, groups=groups)


def _full(cells_of_rows: nw.Series[Any]) -> int:
    """How many cells hold values, or hardly more than is asked: the first rows mostly have enough."""
    some = int(cells_of_rows.head(_LONG).n_unique())
    return some if some >= FEWEST_CELLS else int(cells_of_rows.n_unique())


def count_in_cells(
    values_of: Values, width: float, /, *, groups: Sequence[str], public: str, domain: Bounds | None
) -> Summary:
    """Count the values of a column in cells of this width, a power of two; with a width of 0 each value by itself."""
    if width:
        return _of_cells(values_of.in_cells(width, domain), width, groups=groups)
    return _of_values(values_of.counted(_MOST_COUNTS), groups=groups, public=public, domain=domain)


def _of_cells(counted: nw.DataFrame[Any], width: float, /, *, groups: Sequence[str]) -> Summary:
    counts, numbers, places = (
        counted[name].to_numpy().astype(np.int64, copy=False) for name in ("count", "value", "place")
    )
    labels, codes = _numbered(counted, counts, groups=groups)
    codes, found, often, sums = _by_cell(codes, numbers, counts, places)
    means = means_of(found, sums, often, width)
    return Summary(counts=_parts(labels, codes, means, often), radius=0.5 * width)


def _by_value(codes: Codes, values: FloatArray, counts: Integers) -> tuple[Codes, FloatArray, Integers]:
    """Codes, different values of each and how often each occurs, in ascending order."""
    order = np.lexsort((values, codes))
    codes, values = codes[order], values[order]
    fresh = np.flatnonzero(np.append(True, (codes[1:] != codes[:-1]) | (values[1:] != values[:-1])))
    return codes[fresh], values[fresh], np.add.reduceat(counts[order], fresh)


def _by_cell(
    codes: Codes, numbers: Integers, counts: Integers, places: Integers
) -> tuple[Codes, Integers, Integers, Integers]:
    """Codes, different cells of each, how often each occurs and its places, in ascending order."""
    later, same = codes[1:] > codes[:-1], codes[1:] == codes[:-1]
    if not (later | (same & (numbers[1:] > numbers[:-1]))).all():
        codes, numbers, counts, places = _sorted_by_all_cores(codes, numbers, counts, places)
    fresh = np.append(True, (codes[1:] != codes[:-1]) | (numbers[1:] != numbers[:-1]))
    if fresh.all():
        return codes, numbers, counts, places
    first = np.flatnonzero(fresh)
    return codes[first], numbers[first], np.add.reduceat(counts, first), np.add.reduceat(places, first)


def _sorted_by_all_cores(
    codes: Codes, numbers: Integers, counts: Integers, places: Integers
) -> tuple[Codes, Integers, Integers, Integers]:
    """By code and number, by Polars: as one whole number, where that is less than 2**63."""
    table = pl.DataFrame({"code": codes, "number": numbers, "count": counts, "place": places})
    least, span = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
    fits = span * (int(codes.max()) + 1) < 1 << 63
    keys = [pl.col("code") * span + (pl.col("number") - least)] if fits else ["code", "number"]
    codes, numbers, counts, places = (column.to_numpy() for column in table.sort(keys).get_columns())
    return codes, numbers, counts, places


def _parts(labels: Sequence[Secret], codes: Codes, values: FloatArray, often: Integers) -> dict[Secret, Counts]:
    """Values of each secret and how often each occurs, by secret."""
    bounds = np.searchsorted(codes, np.arange(len(labels) + 1)).tolist()
    parts = {label: (values[a:b], often[a:b]) for label, (a, b) in zip(labels, pairwise(bounds), strict=True)}
    return {label: parts[label] for label in sorted(parts, key=sort_key)}


def count_rows(
    table: nw.DataFrame[Any],
    /,
    *,
    groups: Sequence[str],
    public: Sequence[str],
    domain: Mapping[str, Bounds],
    widths: Mapping[str, float],
) -> JointCounts:
    """Rows per secret and row of several public columns of numbers.

    - `table`: Columns `secret_0`, ..., `value_0`, ..., and `count`, as an engine counts them.
    - `domain` (mapping of column to (low, high)): Values beyond it count as its ends.
    - `widths` (mapping of column to float): Widths of the cells whose numbers stand for values, with sums
      `place_0`, ...
    Raises PriorError, ArgumentTypeError as `count_values`.
    """
    counts = table["count"].to_numpy().astype(np.int64)
    columns = []
    for k, name in enumerate(public):
        values = to_floats(table[f"value_{k}"], counts, name=name)
        columns.append((values.clip(*domain[name]) if name in domain and name not in widths else values) + 0.0)
    labels, codes = _numbered(table, counts, groups=groups)
    ranked = sorted(range(len(labels)), key=lambda k: sort_key(labels[k]))
    codes = np.argsort(ranked)[codes]
    sums = {f"place_{k}": table[f"place_{k}"].to_numpy() for k, name in enumerate(public) if name in widths}
    rows = pl.DataFrame({"code": codes, "count": counts, **{str(k): c for k, c in enumerate(columns)}, **sums})
    rows = rows.sort("code", *map(str, range(len(columns))))  # by all cores
    codes, counts = rows["code"].to_numpy(), rows["count"].to_numpy()
    points = np.stack([rows[str(k)].to_numpy() for k in range(len(columns))], axis=1)
    differs = (codes[1:] != codes[:-1]) | (points[1:] != points[:-1]).any(axis=1)
    fresh = np.flatnonzero(np.append(True, differs))
    points, codes, counts = points[fresh], codes[fresh], np.add.reduceat(counts, fresh)  # zeros are one now
    for k, name in enumerate(public):
        if name in widths:
            numbers, places = points[:, k].astype(np.int64), np.add.reduceat(rows[f"place_{k}"].to_numpy(), fresh)
            points[:, k] = means_of(numbers, places, counts, widths[name])
    bounds = np.searchsorted(codes, np.arange(len(labels) + 1))
    parts = {labels[k]: (points[a:b], counts[a:b]) for k, (a, b) in zip(ranked, pairwise(bounds), strict=True)}
    return JointCounts(
        columns=tuple(public), counts=parts, widths={k: widths[n] for k, n in enumerate(public) if n in widths}
    )


def count_levels(
    table: nw.DataFrame[Any],
    levels: Sequence[Level],
    /,
    *,
    groups: Sequence[str],
    public: str,
    nulls: str,
    most: int = MOST_LEVELS,
) -> LevelCounts:
    """Rows per secret and level of a public column of labels.

    - `table`: Columns `secret_0`, ..., and `count`, as an engine counts them.
    - `levels` (sequence of Level): The level of each row of the table.
    - `nulls`: For "level" a missing entry is a level.
    - `most` (int): The column may have so many.
    Raises PriorError for nulls; ArgumentError for more levels.
    """
    counts = table["count"].to_numpy().astype(np.int64)
    labels = _secrets(table, counts, groups=groups)
    if nulls != "level":
        hint = (
            'Say nulls="level" to make "missing" a level of its own, or nulls="drop" to leave those rows out; '
            "that a value is missing can itself reveal the secret."
        )
        absent = int(counts[[level is None for level in levels]].sum())
        check_no_nulls(f"the public column {public!r}", absent, hint=hint, rows=int(counts.sum()))
    different = sorted_levels(levels)
    check_few_levels(len(different), name=public, most=most)
    columns = {level: k for k, level in enumerate(different)}
    rows: dict[Secret, int] = {label: k for k, label in enumerate(sorted(set(labels), key=sort_key))}
    found = np.zeros((len(rows), len(different)), dtype=np.int64)
    np.add.at(found, ([rows[label] for label in labels], [columns[level] for level in levels]), counts)
    return LevelCounts(levels=different, counts={label: found[k] for label, k in rows.items()})


def sorted_levels(levels: Iterable[Level], /) -> tuple[Level, ...]:
    """The different ones by type and value, a missing one last."""
    different = set(levels)
    last = (None,) if None in different else ()
    return (*sorted((level for level in different if level is not None), key=sort_key), *last)


def check_few_levels(different: float, /, *, name: str, role: str = "public", most: int = MOST_LEVELS) -> None:
    """Raise ArgumentError for so many different levels."""
    if different > most:
        raise too_many_levels(name, role=role)


def too_many_levels(
    name: str, /, *, role: str = "public", seen: Sequence[object] = (), hint: str | None = None
) -> ArgumentError:
    """The error of too many different levels, some of which were seen; their number is not told."""
    meant = meant_as(name, seen)
    return ArgumentError(
        f"the {role} column {name!r}",
        rule=f"one of at most {MOST_LEVELS} different levels",
        got="more",
        hint=meant[1] if meant else hint or f"Leave out names and identifiers. {merging(name)}",
    )


def levels_of(keys: nw.Series[Any], /, *, name: str) -> list[Level]:
    """Entries of a public column of labels as strings, booleans or integers, None for missing ones."""
    return _entries(keys, f"the public column {name!r}", hint="Convert it to strings first.")


def _secrets(table: nw.DataFrame[Any], counts: NDArray[np.int64], *, groups: Sequence[str]) -> list[Any]:
    """The secret of each row of a table of counts."""
    columns = [_labels(table[f"secret_{k}"], counts, what=what) for k, what in enumerate(groups)]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _numbered(
    table: nw.DataFrame[Any], counts: NDArray[np.int64], *, groups: Sequence[str]
) -> tuple[list[Any], NDArray[np.intp]]:
    """The different secrets of a table of counts, and the number of that of each row."""
    keys = [table[f"secret_{k}"] for k in range(len(groups))]
    if len(table) < _LONG or not all(key.dtype.is_integer() or key.dtype == nw.String for key in keys):
        labels = _secrets(table, counts, groups=groups)
        numbers: dict[Secret, int] = {label: k for k, label in enumerate(dict.fromkeys(labels))}
        return list(numbers), np.fromiter(map(numbers.__getitem__, labels), dtype=np.intp, count=len(labels))
    codes, columns = np.zeros(len(table), dtype=np.intp), list[list[Any]]()
    for key, what in zip(keys, groups, strict=True):
        _check_there(key, counts, what=what)
        encoded = key.to_arrow().dictionary_encode()
        found = _labels(nw.from_native(pa.chunked_array([encoded.dictionary]), series_only=True), counts, what=what)
        own = encoded.indices.to_numpy().astype(np.intp)
        if len(keys) == 1:
            return found, own
        held, codes = np.unique(codes * len(found) + own, return_inverse=True)
        columns = [[column[k] for k in held // len(found)] for column in columns]
        columns.append([found[k] for k in held % len(found)])
    return list(zip(*columns, strict=True)), codes


def _labels(keys: nw.Series[Any], counts: NDArray[np.int64], *, what: str) -> list[Any]:
    """Values of one secret or given column as strings, booleans or integers."""
    _check_there(keys, counts, what=what)
    of = "secret is one of" if what.startswith("the secret") else "column of labels has"
    hint = f"Convert it to strings first, and merge them if they are many: a {of} a few values."
    return _entries(keys, what, hint=hint)


def _check_there(keys: nw.Series[Any], counts: NDArray[np.int64], *, what: str) -> None:
    """Raise PriorError for missing entries."""
    absent = missing(keys)
    if absent.any():
        hint = 'Say nulls="drop" to leave those rows out, or give them a value of their own such as "unknown".'
        check_no_nulls(what, int(counts[absent].sum()), hint=hint, rows=int(counts.sum()))


def _entries(keys: nw.Series[Any], what: str, *, hint: str) -> list[Any]:
    """Strings, booleans or integers; None for missing ones."""
    nulls = missing(keys).tolist()
    if not keys.dtype.is_float():
        labels = [None if null else entry for entry, null in zip(keys.to_list(), nulls, strict=True)]
        kinds = {type(label) for label in labels if label is not None}
        odd = next((kind.__name__ for kind in kinds if not issubclass(kind, (str, bool, int))), None)
        if odd is None:
            return [str.__str__(label) if isinstance(label, str) else label for label in labels]  # not what it prints
    else:
        floats = np.asarray(keys.cast(nw.Float64).to_numpy(), dtype=np.float64)
        unlike = unlike_integers(floats[~np.array(nulls, dtype=bool)], keys.dtype, hint=hint)
        if unlike is None:
            return [None if null else int(value) for value, null in zip(floats.tolist(), nulls, strict=True)]
        odd, hint = unlike
    raise ColumnTypeError(
        what,
        rule="of strings, categories, booleans or integers",
        got=odd if " " in odd else f"categories of type {odd}",
        hint=hint,
    )


def unlike_integers(floats: FloatArray, dtype: nw.dtypes.DType, /, *, hint: str) -> tuple[str, str] | None:
    """What a column of floats holds, and what to do, unless each is an integer that no other has become.

    This depends on the dtype of the column: 2**24 + 1 becomes 2**24 in 32 bits. Fractions have the hint that is given.
    """
    if not (np.isfinite(floats).all() and (floats == np.rint(floats)).all()):
        return "floats that are not integers", hint
    bits, digits = {"Float16": (" of 16 bits", 11), "Float32": (" of 32 bits", 24)}.get(str(dtype), ("", 53))
    if (np.abs(floats) < 2.0**digits).all():
        return None
    source = 'where it comes from: of pandas.read_csv with dtype={"column": "string"}; in Excel write it as text.'
    return f"floats{bits} beyond 2**{digits}, which merge integers", f"Read the column as text or as integers {source}"


def sort_key(label: Secret) -> tuple[tuple[str, Any], ...]:
    """Sort key of a label, entry by entry for several secret columns; labels of different types are kept apart."""
    return tuple((type(entry).__name__, entry) for entry in (label if isinstance(label, tuple) else (label,)))
