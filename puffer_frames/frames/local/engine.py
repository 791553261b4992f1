"""Aggregates of frames in memory by the engine that does them fastest: Polars' streaming one, for pandas too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

from puffer_frames.frames.coded import codes_in, factorized, ordered_codes_of, translated
from puffer_frames.frames.columns import Frame, to_floats
from puffer_frames.frames.summary import PLACES, cell_of, levels_of, place_of
from puffer_frames.frames.tally import Cells, changed_columns, place_named, tallied_cells
from puffer_frames.noise.adding import Codes, Levels
from puffer_frames.noise.postprocessing import Bounds
from puffer_frames.priors.prior import FloatArray, IndexArray

FEWEST_ROWS = 1 << 20
_SAMPLE = 1 << 17
_ROWS_PER_GROUP = 4
"""With fewer rows per group than this, on average, sorting is faster."""
_MOST = 1 << 63
_PLACE_BITS = PLACES.bit_length() - 1


def sorted_cells(table: nw.DataFrame[Any], width: float, domain: Bounds | None, /) -> nw.DataFrame[Any] | None:
    """Rows per secret and cell, and the sums of their places, in ascending order; None where a group-by is better.

    Secret, cell and place make one whole number, so the rows are sorted at once and nothing moves with them. The number
    must be less than 2**63, and the table a frame of Polars with one column of secrets, of whole numbers, beside the
    column `value`.
    """
    key, *others = (name for name in table.columns if name != "value")
    if others or not table.implementation.is_polars() or not table.schema[key].is_integer() or table[key].null_count():
        return None
    cell, place = cell_of(width, domain), place_of(width, domain)
    if not _has_many_groups(table.head(_SAMPLE).select(nw.col(key), cell), len(table)):
        return None
    low, high = int(table[key].min()), int(table[key].max())
    parts = table.select(cell, place.alias("place"))
    least = int(parts["value"].min())
    span = int(parts["value"].max()) - least + 1
    if (high - low + 1) * span * PLACES >= _MOST or not -_MOST <= low <= high < _MOST:
        return None
    group = (pl.col(key).cast(pl.Int64) - low) * span + (pl.col("value") - least)
    whole = parts.to_native().with_columns(table[key].to_native()).select((group * PLACES + pl.col("place")).sort())
    return _counted(whole.to_series().to_numpy(writable=True), key, low=low, least=least, span=span)


def _has_many_groups(sample: nw.DataFrame[Any], rows: int) -> bool:
    """Whether so many rows probably have more than a fourth as many groups."""
    if rows < FEWEST_ROWS:
        return False
    secrets, cells = (int(sample[name].n_unique()) for name in sample.columns)
    return min(secrets * cells, rows * len(sample.unique()) // len(sample)) * _ROWS_PER_GROUP > rows


def _counted(whole: NDArray[np.int64], key: str, *, low: int, least: int, span: int) -> nw.DataFrame[Any]:
    groups = whole >> _PLACE_BITS
    first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    cells = groups[first]
    secrets = cells // span
    cells -= secrets * span
    whole &= PLACES - 1
    found = {
        key: secrets + low,
        "value": cells + least,
        "count": np.diff(first, append=whole.size),
        "place": np.add.reduceat(whole, first),
    }
    return nw.from_native(pl.DataFrame(found), eager_only=True)


def count_groups(
    table: nw.DataFrame[Any], keys: Sequence[str], /, *, added: Sequence[str] = (), **changed: nw.Expr
) -> nw.DataFrame[Any]:
    """Number of rows per combination of the keys, in a column `count`, beside the sums of the columns `added`.

    Columns may be changed first, in the same pass: `name=expression`.
    """
    wanted = [nw.len().alias("count"), *(nw.col(name).sum() for name in added)]
    plan = table.lazy().with_columns(**changed) if changed else table.lazy()
    counted = plan.group_by(list(keys)).agg(*wanted)
    return nw.from_native(counted.to_native().collect(engine="streaming"), eager_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSecrets:
    """The secrets of rows in memory.

    Columns of pandas are numbered once, which takes most of the time of a group-by, and counted as numbers.
    """

    columns: Mapping[str, nw.Series[Any]]
    """`secret_0`, ..., or in Polars the numbers, `code`."""
    labels: pd.DataFrame | None = None
    """The secret of each number."""

    @classmethod
    def of(cls, frame: Frame, names: Sequence[str], /) -> LocalSecrets:
        """Under plain names (Polars reads names like "^x$" as patterns)."""
        columns = {f"secret_{k}": frame[name] for k, name in enumerate(names)}
        if not frame.implementation.is_pandas():
            return cls(columns=columns)
        codes, labels = _numbered([nw.to_native(entries) for entries in columns.values()])
        series = nw.from_native(pl.Series(codes), series_only=True)
        floats = {name: entries.to_native().dtype for name, entries in columns.items() if entries.dtype.is_float()}
        labels = labels.set_axis(list(columns), axis=1).astype(floats)  # an index of pandas has none of 16 bits
        return cls(columns={"code": series}, labels=labels)

    def runs(self, rows: int, /) -> int:
        """Number of runs of equal secrets, none of them missing, among so many rows."""
        changed = np.zeros(rows - 1, dtype=bool)
        for entries in self.columns.values():
            part = entries.alias("secret")
            changed |= (part != part.shift(1)).fill_null(True).to_numpy().astype(bool)[1:]
        return 1 + int(np.count_nonzero(changed))

    def in_order(self, places: IndexArray, /) -> list[IndexArray]:
        """Numbers from 0 of the entries of each column at some places, in the order of the entries."""
        if self.labels is None:
            return [ordered_codes_of(entries[places]) for entries in self.columns.values()]
        codes, own = np.unique(self.columns["code"].to_numpy()[places], return_inverse=True)
        held = self.labels.iloc[codes]
        return [ordered_codes_of(nw.from_native(held[name], series_only=True))[own] for name in held]

    def codes(self, k: int, levels: Levels, /, *, name: str) -> Codes:
        """Places of the labels of a column in a list; raises CalibrationError for labels that are not in it."""
        if self.labels is None:
            return codes_in(levels, nw.to_native(self.columns[f"secret_{k}"]), name=name)
        found = levels_of(nw.from_native(self.labels[f"secret_{k}"], series_only=True), name=name)
        return translated(self.columns["code"].to_numpy(), found, levels, name=name)

    def labelled(self, counted: nw.DataFrame[Any], /) -> nw.DataFrame[Any]:
        """A table of counts with the secrets in place of their numbers."""
        if self.labels is None:
            return counted
        table = self.labels.iloc[counted["code"].to_numpy()].reset_index(drop=True)
        numbers = (
            counted.select([name for name in counted.columns if name != "code"])
            .to_native()
            .to_pandas(use_pyarrow_extension_array=True)
        )
        return nw.from_native(pd.concat([table, numbers], axis=1), eager_only=True)


def _numbered(columns: Sequence[pd.Series[Any]]) -> tuple[NDArray[np.intp], pd.DataFrame]:
    """Numbers of the rows of some columns, equal for equal rows, and a row for each number."""
    codes, found = factorized(columns[0])
    labels = pd.DataFrame({0: found})
    for entries in columns[1:]:
        own, found = factorized(entries)
        codes, held = pd.factorize(codes * len(found) + own)
        labels = labels.iloc[held // len(found)].reset_index(drop=True)
        labels[labels.shape[1]] = found.take(held % len(found))
    return codes, labels


def count_codes(secrets: LocalSecrets, codes: NDArray[np.uint16], /) -> nw.DataFrame[Any]:
    """Rows per secret and number of a level, as `Values.counted`."""
    values = nw.from_native(pl.Series(codes), series_only=True)
    table = nw.from_dict({**secrets.columns, "value": values})
    return secrets.labelled(count_groups(table, table.columns))


def count_joint(
    frame: Frame, secrets: LocalSecrets, names: Mapping[str, str], cells: Mapping[str, Cells], /
) -> nw.DataFrame[Any]:
    """Rows per secret and row of some columns, as `CompleteRows.counted`."""
    values = {alias: _beside(frame, secrets, name) for name, alias in names.items()}
    table = nw.from_dict({**secrets.columns, **values})
    places = list(map(place_named, cells))
    return secrets.labelled(count_groups(table, table.columns, added=places, **changed_columns(cells)))


def _beside(frame: Frame, secrets: LocalSecrets, name: str, /) -> nw.Series[Any]:
    """A column of the library that the secrets are counted in, floats as 64-bit ones."""
    values = frame[name].cast(nw.Float64) if frame.schema[name].is_float() else frame[name]
    if secrets.labels is None:
        return values
    if values.null_count() and not values.dtype.is_float():
        return nw.from_native(values.to_polars(), series_only=True)
    return nw.from_native(pl.Series(values.to_numpy()), series_only=True)


@dataclass(frozen=True, slots=True)
class LocalValues:
    """A public column and its secrets in memory."""

    secrets: LocalSecrets
    table: nw.DataFrame[Any]
    """The columns of the secrets, and `value`."""

    @classmethod
    def of(cls, frame: Frame, secrets: LocalSecrets, public: str, /) -> LocalValues:
        """A column of the frame, with the secrets of its rows."""
        columns = {**secrets.columns, "value": _beside(frame, secrets, public)}
        return cls(secrets, nw.from_dict(columns))

    @property
    def rows(self) -> int:
        return len(self.table)

    def exceeds(self, different: int, /) -> bool:
        return int(self.table["value"].head(2 * different).n_unique()) > different

    def counted(self, _most: int, /) -> nw.DataFrame[Any]:
        return self.secrets.labelled(count_groups(self.table, self.table.columns))

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        counted = sorted_cells(self.table, width, domain)
        if counted is None:
            counted = tallied_cells(self.table, width, domain)
        if counted is None:
            cells = {"value": cell_of(width, domain), "place": place_of(width, domain)}
            counted = count_groups(self.table, self.table.columns, added=["place"], **cells)
        return self.secrets.labelled(counted)

    def ends(self, name: str, /) -> FloatArray:
        column = self.table["value"]
        value, floats = nw.col("value"), column.dtype.is_float()
        missing = [value.null_count().alias("null"), *([value.is_nan().any().alias("nan")] if floats else [])]
        seen = self.table.select(value.min().alias("low"), value.max().alias("high"), *missing)  # in two threads
        low, high, *missing_ones = seen.row(0)
        ends = nw.new_series("value", [low, high], column.dtype, backend=column.implementation)
        if any(missing_ones) or not np.isfinite(ends.cast(nw.Float64).to_numpy()).all():
            to_floats(column, np.ones(len(column), dtype=np.int64), name=name)  # counts what is wrong
        return to_floats(ends, np.ones(2, dtype=np.int64), name=name)

    def std(self) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.table["value"].std())
