"""A public column that is counted where it lies, by an engine whose results alone reach memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.frames.columns import to_floats
from puffer_frames.frames.summary import Summary, count_values
from puffer_frames.postprocessing import Bounds
from puffer_frames.priors import FloatArray

_INFINITY = float("inf")
_MARGIN = 4
"""An estimate of the number of different values, of relative error 0.05, is never so many times too large."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValues:
    """A public column and its secrets in Spark, or in a Polars plan."""

    table: nw.LazyFrame[Any]
    """Columns `secret_0`, ..., `value`."""
    found: Mapping[str, Any]
    """What one pass over the rows found of the column: `missing` and `infinite` rows, `ends` (the smallest and largest
    finite value, or None), `std`, and an estimate of how many values are `different`."""
    rows: int
    """Number of rows."""
    collect: Callable[[nw.LazyFrame[Any]], nw.DataFrame[Any]]
    """Brings a small table to memory."""

    def exceeds(self, different: int, /) -> bool:
        """Whether the estimate leaves no doubt."""
        return bool(self.found["different"] > _MARGIN * different)

    def counted(self, most: int, /) -> nw.DataFrame[Any]:
        """Rows per secret and value, at most one more than asked for."""
        return self.collect(self._grouped(self.table).head(most + 1))

    def in_cells(self, cell: nw.Expr, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell."""
        return self.collect(self._grouped(self.table.with_columns(value=cell)))

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest finite value; what is missing or infinite is an error."""
        found = [(end, 1) for end in self.found["ends"] if end is not None]
        found += [(entry, n) for entry, n in ((None, self.found["missing"]), (_INFINITY, self.found["infinite"])) if n]
        dtype = self.table.collect_schema()["value"]
        series = nw.new_series("value", [entry for entry, _ in found], dtype, backend="polars")
        return to_floats(series, np.array([n for _, n in found], dtype=np.int64), name=name)

    def std(self) -> float:
        """Standard deviation of the values."""
        return float(self.found["std"])

    @staticmethod
    def _grouped(table: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        return table.group_by(table.collect_schema().names()).agg(nw.len().alias("count"))


def found_summaries(
    found: Mapping[str, Any],
    table_of: Callable[[int], nw.LazyFrame[Any]],
    /,
    *,
    secret: Sequence[str],
    public: Sequence[str],
    domain: Mapping[str, Bounds],
    collect: Callable[[nw.LazyFrame[Any]], nw.DataFrame[Any]],
) -> dict[str, Summary]:
    """Summaries of all public columns, number k in `table_of(k)`; `found` has the entries `missing_k` and so on."""
    names = ("missing", "infinite", "ends", "std", "different")
    return {
        name: count_values(
            FoundValues(
                table=table_of(k),
                found={key: found[f"{key}_{k}"] for key in names},
                rows=found["rows"],
                collect=collect,
            ),
            secret=secret,
            public=name,
            domain=domain.get(name),
        )
        for k, name in enumerate(public)
    }
