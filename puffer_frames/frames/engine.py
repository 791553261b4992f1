"""Aggregates of frames in memory by the engine that does them fastest: Polars' streaming one, for its frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from puffer_frames.frames.cells import cell_of
from puffer_frames.frames.columns import Frame, to_floats
from puffer_frames.postprocessing import Bounds
from puffer_frames.priors import FloatArray


def count_groups(table: nw.DataFrame[Any], keys: Sequence[str], /, **changed: nw.Expr) -> nw.DataFrame[Any]:
    """Number of rows per combination of the keys, in a column `count`.

    Columns may be changed first, in the same pass: `name=expression`.
    """
    if not table.implementation.is_polars():
        ready = table.with_columns(**changed) if changed else table
        return ready.group_by(list(keys)).agg(nw.len().alias("count"))
    plan = table.lazy().with_columns(**changed) if changed else table.lazy()
    counted = plan.group_by(list(keys)).agg(nw.len().alias("count"))
    return nw.from_native(counted.to_native().collect(engine="streaming"), eager_only=True)


@dataclass(frozen=True, slots=True)
class LocalValues:
    """A public column and its secrets in memory."""

    table: nw.DataFrame[Any]
    """Columns `secret_0`, ..., `value`."""

    @classmethod
    def of(cls, frame: Frame, /, *, secret: Sequence[str], public: str) -> LocalValues:
        """The columns under plain names (Polars reads names like "^x$" as patterns), floats as 64-bit ones."""
        named = [*((name, f"secret_{k}") for k, name in enumerate(secret)), (public, "value")]
        return cls(
            frame.select(
                *(
                    (frame[name].cast(nw.Float64) if frame.schema[name].is_float() else frame[name]).alias(alias)
                    for name, alias in named
                )
            )
        )

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.table)

    def exceeds(self, different: int, /) -> bool:
        """Whether the first rows have more different values already."""
        return int(self.table["value"].head(2 * different).n_unique()) > different

    def counted(self, _most: int, /) -> nw.DataFrame[Any]:
        """Rows per secret and value."""
        return count_groups(self.table, self.table.columns)

    def in_cells(self, width: float, domain: Bounds | None, /) -> nw.DataFrame[Any]:
        """Rows per secret and cell."""
        return count_groups(self.table, self.table.columns, value=cell_of(width, domain))

    def ends(self, name: str, /) -> FloatArray:
        """The smallest and the largest value."""
        column = self.table["value"]
        ends = nw.new_series("value", [column.min(), column.max()], column.dtype, backend=column.implementation)
        missing = column.null_count() or (column.dtype.is_float() and column.is_nan().any())
        if missing or not np.isfinite(ends.cast(nw.Float64).to_numpy()).all():
            to_floats(column, np.ones(len(column), dtype=np.int64), name=name)  # counts what is wrong
        return to_floats(ends, np.ones(2, dtype=np.int64), name=name)

    def std(self) -> float:
        """Standard deviation of the values."""
        with np.errstate(over="ignore", invalid="ignore"):
            return float(self.table["value"].std())
